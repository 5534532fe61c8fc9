// SPDX-License-Identifier: MIT
/*
 * Element-wise operations: of two tensors, and functions of one.
 */
#include <errno.h>

#include "npu_parts.h"

struct ew {
	const char *name;
	enum npu_ew_op op;
	const struct npu_tensor *a, *b, *y;	/* of a function b is a */
	const struct npu_table *table;
};

static bool type_fits(const struct ew *e)
{
	enum npu_prec type = e->a->shape.type;

	if (e->b->shape.type != type || e->y->shape.type != type)
		return false;
	if (e->op == NPU_EW_MUL || e->op == NPU_EW_DIV || e->op == NPU_EW_TABLE)
		return type == NPU_PREC_FP16;
	return type == NPU_PREC_FP16 || type == NPU_PREC_FP32 || type == NPU_PREC_INT32;
}

static bool b_is_column(const struct ew *e)
{
	const struct npu_shape *a = &e->a->shape, *b = &e->b->shape;

	return !e->table && b->cols == 1 && a->cols > 1 && b->rows == a->rows &&
	       a->type == NPU_PREC_FP16 && b->type == a->type;
}

static int check(struct npu_rec *rec, const struct ew *e)
{
	const struct npu_shape *a = &e->a->shape, *b = &e->b->shape, *y = &e->y->shape;

	if (!type_fits(e))
		return npu_rec_fail(rec, -EINVAL, "%s: no mode for %s and %s to %s", e->name,
				    npu_prec_name(a->type), npu_prec_name(b->type), npu_prec_name(y->type));
	if (a->rows != y->rows || a->cols != y->cols || (b->cols != a->cols && !b_is_column(e)) ||
	    (b->rows != a->rows && b->rows != 1))
		return npu_rec_fail(rec, -EINVAL, "%s: %u x %u and %u x %u to %u x %u do not fit",
				    e->name, a->rows, a->cols, b->rows, b->cols, y->rows, y->cols);
	/* In place is corrupted on silicon (rocket-userspace). */
	if (npu_tensor_overlap(e->a, e->y) || npu_tensor_overlap(e->b, e->y))
		return npu_rec_fail(rec, -EINVAL, "%s: the result shares memory with an operand",
				    e->name);
	return 0;
}

static struct npu_ew_operand operand(const struct npu_tensor *t, uint32_t row, uint32_t col)
{
	return (struct npu_ew_operand){
		.iova = npu_tensor_iova(t) + npu_tensor_place(t, row, col),
		.pitch = t->pitch,
	};
}

static int add_task(struct npu_rec *rec, const struct ew *e, uint32_t row, uint32_t col)
{
	const struct npu_shape *s = &e->y->shape;
	bool b_is_row = e->b->shape.rows == 1 && s->rows > 1;
	struct npu_ew_task t = {
		.type = s->type, .op = e->op, .b_is_row = b_is_row,
		.rows = (uint32_t)min_u64(s->rows - row, NPU_FLY_ROWS),
		.cols = (uint32_t)min_u64(s->cols - col, NPU_FLY_COLS),
		.a = operand(e->a, row, col), .y = operand(e->y, row, col),
		.b = operand(e->b, b_is_row ? 0 : row, col),
		.table = e->table, .upload = e->table && npu_rec_wants_table(rec, e->table),
	};

	return npu_prog_ew(npu_rec_prog(rec), &t);
}

static void add_tasks(struct npu_rec *rec, const struct ew *e)
{
	for (uint32_t row = 0; row < e->y->shape.rows; row += NPU_FLY_ROWS)
		for (uint32_t col = 0; col < e->y->shape.cols; col += NPU_FLY_COLS)
			if (!npu_rec_room(rec) || add_task(rec, e, row, col))
				return;
}

int npu_rec_table_record(struct npu_rec *rec, struct npu_dev *dev, const struct npu_table *table, uint64_t *iova)
{
	uint8_t record[NPU_TABLE_RECORD];

	*iova = 0;
	if (!table || !npu_dev_chip(dev)->convolves_tables)
		return 0;
	npu_table_record(table, record);
	return npu_rec_record(rec, record, sizeof(record), iova);
}

/* ---- functions of products with ones, where the LUT takes what convolutions give ---- */

/* Columns that are multiplied with @n ones. */
static int new_identity(struct npu_rec *rec, uint32_t n, struct npu_weights **out)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = n, .k = n };
	uint16_t one[NPU_TENSOR_COLS][NPU_TENSOR_COLS] = { 0 };
	int ret;

	d.ld = NPU_TENSOR_COLS;
	for (uint32_t i = 0; i < n; i++)
		one[i][i] = npu_f32_to_f16(1);
	ret = npu_rec_weights(rec, &d, one, out);
	return ret ? npu_rec_fail(rec, ret, "no memory for weights") : 0;
}

/* Elements are all alike: what has no gaps may have its columns in as many surfaces as products take. */
static bool flatten(struct npu_tensor *t)
{
	uint64_t rows = npu_rows_stored(t->shape.rows);

	if (t->pitch != rows)
		return false;
	rows *= div_up(t->shape.cols, NPU_TENSOR_COLS);
	if (rows > INT32_MAX || rows % NPU_TENSOR_ROWS)
		return false;
	t->shape.rows = (uint32_t)rows;
	t->shape.cols = NPU_TENSOR_COLS;
	t->pitch = (uint32_t)rows;
	return true;
}

static int look_up(struct npu_rec *rec, const struct ew *e, const struct npu_weights *ones)
{
	struct npu_tensor x = *e->a, y = *e->y;
	int ret = 0;

	if (flatten(&x) && flatten(&y))
		return npu_rec_look_up_products(rec, &x, ones, &y, e->table);
	for (uint32_t col = 0; !ret && col < e->y->shape.cols; col += NPU_TENSOR_COLS) {
		x = npu_part(e->a, 0, e->a->shape.rows, col, NPU_TENSOR_COLS);
		y = npu_part(e->y, 0, e->y->shape.rows, col, NPU_TENSOR_COLS);
		ret = npu_rec_look_up_products(rec, &x, ones, &y, e->table);
	}
	return ret;
}

static int convolve_table(struct npu_rec *rec, const struct ew *e)
{
	struct npu_weights *ones = NULL;
	int ret = new_identity(rec, NPU_TENSOR_COLS, &ones);

	if (!ret)
		ret = look_up(rec, e, ones);
	npu_weights_free(ones);
	return ret;
}

/* What lies behind the last column is multiplied with 0. */
static int clear_by_products(struct npu_rec *rec, const struct npu_tensor *y)
{
	uint32_t n = y->shape.cols % NPU_TENSOR_COLS;
	struct npu_tensor last = npu_part(y, 0, y->shape.rows, y->shape.cols - n, n), *kept = NULL;
	struct npu_weights *ones = NULL;
	int ret = new_identity(rec, n, &ones);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, y->shape.rows, n, &kept);
	if (!ret)
		ret = npu_rec_matmul_tasks(rec, &last, ones, kept, NULL);
	if (!ret)
		ret = npu_rec_matmul_tasks(rec, kept, ones, &last, NULL);
	npu_tensor_free(kept);
	npu_weights_free(ones);
	return ret;
}

static int append_tasks(struct npu_rec *rec, const struct ew *e)
{
	int ret = check(rec, e);

	if (!ret && e->table && npu_dev_chip(e->y->dev)->convolves_tables)
		return convolve_table(rec, e);
	if (!ret)
		ret = npu_rec_reads(rec, e->a);
	if (!ret)
		ret = npu_rec_reads(rec, e->b);
	if (!ret)
		ret = npu_rec_writes(rec, e->y);
	if (!ret)
		add_tasks(rec, e);
	return ret;
}

int npu_rec_ew(struct npu_rec *rec, enum npu_ew_op op, const struct npu_tensor *a,
	       const struct npu_tensor *b, struct npu_tensor *y)
{
	return append_tasks(rec, &(struct ew){ "part of an operation", op, a, b, y, NULL });
}

int npu_rec_function(struct npu_rec *rec, const struct npu_table *table,
		     const struct npu_tensor *x, struct npu_tensor *y)
{
	return append_tasks(rec, &(struct ew){ "table", NPU_EW_TABLE, x, x, y, table });
}

static int write_ones(struct npu_rec *rec, uint32_t cols, struct npu_tensor **out)
{
	static const float one[NPU_WIDE_ATOM / sizeof(uint16_t)] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, cols, out);

	if (ret)
		return ret;
	ret = npu_tensor_write_f32(*out, one, 0, 1);
	return ret ? npu_rec_fail(rec, ret, "no row of %u ones", cols) : 0;
}

/* A product with 1 and with 0, which is never formed in place. */
static int clear_rest(struct npu_rec *rec, const struct npu_tensor *last)
{
	struct npu_tensor *ones = NULL, *kept = NULL;
	int ret = write_ones(rec, last->shape.cols, &ones);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, last->shape.rows, last->shape.cols, &kept);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MUL, last, ones, kept);
	if (!ret)
		ret = npu_rec_copy_raw(rec, kept, last);
	npu_tensor_free(ones);
	npu_tensor_free(kept);
	return ret;
}

int npu_rec_clear_rest(struct npu_rec *rec, const struct npu_table *table, const struct npu_tensor *y)
{
	uint32_t rest = y->shape.cols % npu_tensor_lanes(y);
	struct npu_tensor last = npu_part(y, 0, y->shape.rows, y->shape.cols - rest, rest);

	if (!rest || !table || npu_table_keeps_zero(table))
		return 0;
	return npu_dev_chip(y->dev)->convolves_tables ? clear_by_products(rec, y) : clear_rest(rec, &last);
}

static int append_widened(struct npu_rec *rec, const struct ew *e)
{
	const struct npu_shape *a = &e->a->shape;
	struct npu_tensor *wide = NULL;
	struct ew with_wide = *e;
	int ret = npu_rec_temp(rec, a->type, a->rows, a->cols, &wide);

	if (!ret)
		ret = npu_rec_broadcast_col(rec, e->b, wide);
	with_wide.b = wide;
	if (!ret)
		ret = append_tasks(rec, &with_wide);
	npu_tensor_free(wide);
	return ret;
}

static int append_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct ew *all = arg;
	struct npu_tensor a = npu_part(all->a, row, rows, 0, all->a->shape.cols);
	struct npu_tensor b = npu_part(all->b, row, rows, 0, all->b->shape.cols);
	struct npu_tensor y = npu_part(all->y, row, rows, 0, all->y->shape.cols);
	struct ew e = *all;
	int ret;

	e.a = &a;
	e.y = &y;
	if (all->b->shape.rows > 1)
		e.b = &b;
	if (b_is_column(&e))
		return append_widened(rec, &e);
	ret = append_tasks(rec, &e);
	return ret ? ret : npu_rec_clear_rest(rec, e.table, &y);
}

static int append(struct npu_rec *rec, const struct ew *e)
{
	int ret = npu_rec_begin(rec, e->name);

	if (!ret)
		ret = check(rec, e);
	if (!ret)
		ret = npu_rec_by_rows(rec, e->y->shape.rows, e, append_rows);
	return ret ? ret : npu_rec_commit(rec);
}

int npu_rec_add(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y)
{
	return append(rec, &(struct ew){ "add", NPU_EW_ADD, a, b, y, NULL });
}

int npu_rec_sub(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y)
{
	return append(rec, &(struct ew){ "sub", NPU_EW_SUB, a, b, y, NULL });
}

int npu_rec_mul(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y)
{
	return append(rec, &(struct ew){ "mul", NPU_EW_MUL, a, b, y, NULL });
}

/* What nobody wrote may be 0, and 0 / 0 would spoil products that leave it out. */
int npu_rec_div(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y)
{
	uint32_t lanes = npu_tensor_lanes(a);
	int ret = 0;

	if (a->shape.cols % lanes) {
		ret = npu_rec_begin(rec, "div");
		if (!ret)
			ret = npu_rec_fail(rec, -EINVAL, "div: %u columns are no multiple of %u",
					   a->shape.cols, lanes);
	}
	return ret ? ret : append(rec, &(struct ew){ "div", NPU_EW_DIV, a, b, y, NULL });
}

int npu_rec_max(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y)
{
	return append(rec, &(struct ew){ "max", NPU_EW_MAX, a, b, y, NULL });
}

int npu_rec_min(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		struct npu_tensor *y)
{
	return append(rec, &(struct ew){ "min", NPU_EW_MIN, a, b, y, NULL });
}

/* y = x * table(x) */
static int append_gated(struct npu_rec *rec, const char *name, const struct npu_table *table,
			const struct npu_tensor *x, struct npu_tensor *y)
{
	struct npu_tensor *gate, from = *x, to;
	int ret;

	ret = npu_rec_tensor(rec, NPU_PREC_FP16, y->shape.rows, y->shape.cols, &gate);
	if (ret)
		return npu_rec_fail(rec, ret, "%s: no memory for what is between", name);
	/* Whole atoms, of which nothing has to be cleared. */
	to = *gate;
	from.shape.cols = (uint32_t)round_up(x->shape.cols, npu_tensor_lanes(x));
	to.shape.cols = (uint32_t)round_up(y->shape.cols, npu_tensor_lanes(gate));
	ret = append(rec, &(struct ew){ name, NPU_EW_TABLE, &from, &from, &to, table });
	if (!ret)
		ret = append(rec, &(struct ew){ name, NPU_EW_MUL, x, gate, y, NULL });
	npu_tensor_free(gate);
	return ret;
}

const char *npu_act_name(enum npu_act act)
{
	static const char * const name[] = {
		[NPU_ACT_NONE] = "no activation", [NPU_ACT_RELU] = "relu", [NPU_ACT_SIGMOID] = "sigmoid",
		[NPU_ACT_TANH] = "tanh", [NPU_ACT_EXP] = "exp", [NPU_ACT_SILU] = "silu",
		[NPU_ACT_GELU] = "gelu", [NPU_ACT_SIN] = "sin", [NPU_ACT_COS] = "cos",
		[NPU_ACT_SQRT] = "sqrt", [NPU_ACT_RSQRT] = "rsqrt", [NPU_ACT_RECIPROCAL] = "reciprocal",
	};

	return (unsigned int)act < ARRAY_SIZE(name) ? name[act] : "an unknown activation";
}

int npu_rec_act(struct npu_rec *rec, enum npu_act act, const struct npu_tensor *x,
		struct npu_tensor *y)
{
	int ret = npu_rec_begin(rec, "act");

	if (ret)
		return ret;
	if (act == NPU_ACT_SILU)
		return append_gated(rec, "silu", npu_table_of(NPU_ACT_SIGMOID), x, y);
	if (act == NPU_ACT_GELU)
		return append_gated(rec, "gelu", npu_table_normal(), x, y);
	if (!npu_table_of(act))
		return npu_rec_fail(rec, -EINVAL, "act: no table for %s", npu_act_name(act));
	return append(rec, &(struct ew){ npu_act_name(act), NPU_EW_TABLE, x, x, y, npu_table_of(act) });
}

int npu_rec_table(struct npu_rec *rec, const struct npu_table *table, const struct npu_tensor *x,
		  struct npu_tensor *y)
{
	return append(rec, &(struct ew){ "table", NPU_EW_TABLE, x, x, y, table });
}
