// SPDX-License-Identifier: MIT
/*
 * The operation matmul: tiles that fit the convolution buffer, all read from and written
 * to tensors in place, and sums of several programs.
 */
#include <errno.h>

#include "npu_parts.h"

/*
 * CBUF holds 16 rows of 4096 halves beside their weights, and 160 of 1024. With many rows a
 * few additions cost less than fetching all weights for each few rows.
 */
#define SPLIT_ROWS	64u
#define SPLIT_STEP	1024u
/*
 * With fewer rows for each core, fetching weights takes longer than multiplying: three cores did 460 GOP/s,
 * and had 25 GB/s (rocket-userspace). Fewer bytes than these are fetched twice more while a job starts.
 */
#define CORE_ROWS	32u
#define MANY_BYTES	(UINT64_C(1) << 20)
/* Programs write whole groups of so many columns, or of 32. */
#define KERNELS		16u

bool npu_product_types_fit(const struct npu_tensor *x, const struct npu_weights *w,
			   const struct npu_tensor *y)
{
	enum npu_prec out = y->shape.type;

	if (w->type == NPU_PREC_INT4 && npu_dev_chip(w->dev)->int4_halves && x->shape.type == NPU_PREC_FP16)
		return out == NPU_PREC_FP16 || out == NPU_PREC_FP32;
	if (x->shape.type != w->type || (w->depthwise && out == NPU_PREC_INT32))
		return false;
	if (w->type == NPU_PREC_INT4)
		return out == NPU_PREC_INT16;
	if (w->type != NPU_PREC_INT8)
		return out == w->type || out == NPU_PREC_FP32;
	return w->rq.scale ? out == NPU_PREC_INT8 : out == NPU_PREC_INT32 && !w->has_bias;
}

bool npu_act_folds(enum npu_act act, const struct npu_tensor *y)
{
	const struct npu_table *table = npu_table_of(act);

	if (act <= NPU_ACT_RELU)
		return !act || y->shape.type != NPU_PREC_INT16;
	return table && !npu_table_of_patterns(table) && y->shape.type == NPU_PREC_FP16;
}

static int check(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		 const struct npu_tensor *y, const struct npu_rec_matmul_opts *opts)
{
	if (w->kw)
		return npu_rec_fail(rec, -EINVAL, "matmul: the weights are those of a convolution");
	if (!npu_product_types_fit(x, w, y))
		return npu_rec_fail(rec, -EINVAL,
				    "matmul: no mode for x of %s, weights of %s%s%s, y of %s",
				    npu_prec_name(x->shape.type), npu_prec_name(w->type),
				    w->rq.scale ? " requantised" : "", w->has_bias ? " with bias" : "",
				    npu_prec_name(y->shape.type));
	if (x->shape.rows != y->shape.rows || x->shape.cols != w->k || y->shape.cols != w->n)
		return npu_rec_fail(rec, -EINVAL,
				    "matmul: x %u x %u, weights %u x %u, y %u x %u do not fit",
				    x->shape.rows, x->shape.cols, w->n, w->k, y->shape.rows,
				    y->shape.cols);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "matmul: x and y share memory");
	if (w->type == NPU_PREC_INT4 && w->k > w->k_step)
		return npu_rec_fail(rec, -EINVAL, "matmul: no mode that adds the parts of INT4 weights");
	if ((y->shape.type == NPU_PREC_INT8 || y->shape.type == NPU_PREC_BF16) && w->k > w->k_step)
		return npu_rec_fail(rec, -EINVAL, "matmul: no mode for y of %s of %u columns, more than %u",
				    npu_prec_name(y->shape.type), w->k, NPU_TASK_MAX_K);
	if (opts && !npu_act_folds(opts->act, y))
		return npu_rec_fail(rec, -EINVAL, "matmul: %s cannot be folded into y of %s",
				    npu_act_name(opts->act), npu_prec_name(y->shape.type));
	return 0;
}

static bool is_float(const struct npu_weights *w)
{
	return w->type != NPU_PREC_INT8 && w->type != NPU_PREC_INT4;
}

/* A stretch of the columns of @x, and the weights that belong to it. */
struct stretch {
	uint32_t k0, k, kp;
	bool bias, relu;
	const struct npu_table *table;
	uint64_t record;	/* of @table */
};

static struct npu_plan make_plan(const struct npu_tensor *x, const struct npu_weights *w,
				 const struct npu_rec_matmul_opts *opts)
{
	const struct npu_chip *chip = npu_dev_chip(w->dev);
	uint32_t max_n = opts ? (uint32_t)round_up(opts->max_n, npu_kernel_group(chip, w->type)) : 0;

	return npu_plan_make(chip, w->type, x->shape.rows, w->n, (uint32_t)min_u64(w->k, w->k_step),
			     opts ? opts->max_m : 0, max_n);
}

static int add_tile(struct npu_rec *rec, const struct npu_tile *t, const struct npu_tensor *x,
		    const struct npu_weights *w, const struct npu_tensor *y,
		    const struct stretch *s)
{
	uint32_t np = (uint32_t)round_up(w->n_all ? w->n_all : w->n,
					  npu_kernel_group(npu_dev_chip(w->dev), w->type));
	struct npu_conv_task task;

	npu_matmul_task(&task, w->type, y->shape.type, t->mp, t->np, s->kp);
	task.in_h_full = x->pitch;
	task.out_h_full = y->pitch;
	task.in_iova = npu_tensor_iova(x) + npu_tensor_place(x, t->m0, s->k0);
	task.weight_iova = w->mem->iova + w->offset + ((uint64_t)np * s->k0 + (uint64_t)(w->n_from + t->n0) * s->kp) *
						  npu_prec_bits(w->type) / 8;
	task.out_iova = npu_tensor_iova(y) + npu_tensor_place(y, t->m0, t->n0);
	task.relu = s->relu;
	task.table_iova = s->record;
	task.has_bias = s->bias;
	if (s->bias || npu_operands_always(w))
		npu_operands_set(w, w->n_from + t->n0, &task);
	if (y->shape.type == NPU_PREC_INT8)
		task.rq = w->rq;
	return npu_prog_conv_table(npu_rec_prog(rec), &task, s->table,
				   s->table && npu_rec_wants_table(rec, s->table));
}

/* Stops soon after what a recording can hold: there may be billions of tiles. */
static int add_tiles(struct npu_rec *rec, const struct npu_plan *plan,
		     const struct npu_tensor *x, const struct npu_weights *w,
		     const struct npu_tensor *y, const struct stretch *s)
{
	int ret = npu_rec_writes(rec, y);

	for (uint64_t i = 0; !ret && i < plan->ntiles && npu_rec_room(rec); i++) {
		struct npu_tile t = npu_plan_tile(plan, i);

		if (add_tile(rec, &t, x, w, y, s))
			break;
	}
	return ret;
}

/* Sums of several programs: what one gave, and what there was with and without it. */
struct sums {
	struct npu_tensor *part, *sum[2];
};

static int alloc_sums(struct npu_rec *rec, struct sums *s, const struct npu_weights *w,
		      const struct npu_tensor *y)
{
	enum npu_prec type = is_float(w) ? NPU_PREC_FP32 : NPU_PREC_INT32;
	const struct npu_shape *h = &y->shape;
	int ret = npu_rec_sums(rec, type, h->rows, h->cols, &s->part);

	if (!ret)
		ret = npu_rec_sums(rec, type, h->rows, h->cols, &s->sum[0]);
	if (!ret)
		ret = npu_rec_sums(rec, type, h->rows, h->cols, &s->sum[1]);
	return ret;
}

static void free_sums(struct sums *s)
{
	npu_tensor_free(s->part);
	npu_tensor_free(s->sum[0]);
	npu_tensor_free(s->sum[1]);
}

/* From the sum at full width to what was asked for. */
static int finish_sum(struct npu_rec *rec, const struct npu_tensor *sum, struct npu_tensor *y,
		      enum npu_act act)
{
	struct npu_tensor *half = NULL;
	int ret;

	if (!npu_table_of(act))
		return npu_rec_copy(rec, sum, y, act == NPU_ACT_RELU);
	ret = npu_rec_temp(rec, NPU_PREC_FP16, y->shape.rows, y->shape.cols, &half);
	if (!ret)
		ret = npu_rec_copy(rec, sum, half, false);
	if (!ret)
		ret = npu_rec_function(rec, npu_table_of(act), half, y);
	npu_tensor_free(half);
	return ret;
}

/*
 * In between, all columns that programs write are added: the memory may have been used before,
 * and a copy takes more of them than there are.
 */
static int add_sums(struct npu_rec *rec, const struct npu_tensor *sum, const struct npu_tensor *part,
		    struct npu_tensor *to, bool last)
{
	struct npu_tensor a = *sum, b = *part, c = *to;

	if (last)
		return npu_rec_ew(rec, NPU_EW_ADD, sum, part, to);
	a.shape.cols = (uint32_t)round_up(sum->shape.cols, KERNELS);
	b.shape.cols = a.shape.cols;
	c.shape.cols = a.shape.cols;
	return npu_rec_ew(rec, NPU_EW_ADD, &a, &b, &c);
}

uint32_t npu_sum_step(uint32_t rows, const struct npu_weights *w)
{
	return rows > SPLIT_ROWS && w->k_step > SPLIT_STEP ? SPLIT_STEP : w->k_step;
}

/* Sums are never formed in place: that is corrupted on silicon (rocket-userspace). */
static int add_stretches(struct npu_rec *rec, const struct npu_plan *plan, const struct sums *s,
			 const struct npu_tensor *x, const struct npu_weights *w,
			 struct npu_tensor *y, enum npu_act act)
{
	bool direct = act == NPU_ACT_NONE && y->shape.type == s->part->shape.type;
	struct npu_tensor *sum = s->sum[0];
	int ret = 0;

	for (uint32_t k = 0, i = 0; !ret && k < w->k; k += w->k_step, i++) {
		struct stretch part = {
			.k0 = k, .k = (uint32_t)min_u64(w->k_step, w->k - k),
			.kp = (uint32_t)min_u64(w->k_step, w->kp - k), .bias = !k && w->has_bias,
		};
		bool last = k + part.k == w->k;
		struct npu_tensor *to = last && direct ? y : s->sum[i % 2];

		ret = add_tiles(rec, plan, x, w, i ? s->part : sum, &part);
		if (!ret && i)
			ret = add_sums(rec, sum, s->part, to, to == y);
		sum = i ? to : sum;
	}
	return ret || direct ? ret : finish_sum(rec, sum, y, act);
}

/* All columns at once. */
static int append_whole(struct npu_rec *rec, const struct npu_plan *plan, const struct npu_tensor *x,
			const struct npu_weights *w, const struct npu_tensor *y, const struct npu_table *table,
			bool relu)
{
	struct stretch all = { .k = w->k, .kp = w->kp, .bias = w->has_bias, .relu = relu, .table = table };
	int ret = npu_rec_table_record(rec, w->dev, table, &all.record);

	return ret ? ret : add_tiles(rec, plan, x, w, y, &all);
}

int npu_rec_look_up_products(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
			     const struct npu_tensor *y, const struct npu_table *table)
{
	struct npu_plan plan = make_plan(x, w, NULL);
	int ret = npu_rec_reads(rec, x);

	if (!ret)
		ret = npu_rec_reads_weights(rec, w);
	return ret ? ret : append_whole(rec, &plan, x, w, y, table, false);
}

static int append(struct npu_rec *rec, const struct npu_plan *plan, const struct npu_tensor *x,
		  const struct npu_weights *w, struct npu_tensor *y, enum npu_act act)
{
	struct sums sums = { 0 };
	int ret;

	if (w->k <= w->k_step) {
		ret = append_whole(rec, plan, x, w, y, npu_table_of(act), act == NPU_ACT_RELU);
	} else {
		ret = alloc_sums(rec, &sums, w, y);
		if (!ret)
			ret = add_stretches(rec, plan, &sums, x, w, y, act);
		free_sums(&sums);
	}
	return ret ? ret : npu_rec_clear_rest(rec, npu_table_of(act), y);
}

int npu_rec_matmul_tasks(struct npu_rec *rec, const struct npu_tensor *x,
			 const struct npu_weights *w, struct npu_tensor *y,
			 const struct npu_rec_matmul_opts *opts)
{
	struct npu_plan plan;
	int ret = check(rec, x, w, y, opts);

	if (!ret)
		ret = npu_rec_reads(rec, x);
	if (!ret)
		ret = npu_rec_reads_weights(rec, w);
	if (ret)
		return ret;
	plan = make_plan(x, w, opts);
	return append(rec, &plan, x, w, y, opts ? opts->act : NPU_ACT_NONE);
}

/* ---- shared by cores ---- */

struct product {
	const struct npu_tensor *x;
	const struct npu_weights *w;
	const struct npu_tensor *y;
	const struct npu_rec_matmul_opts *opts;
};

static int append_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct product *p = arg;
	struct npu_tensor x = npu_part(p->x, row, rows, 0, p->x->shape.cols);
	struct npu_tensor y = npu_part(p->y, row, rows, 0, p->y->shape.cols);

	return npu_rec_matmul_tasks(rec, &x, p->w, &y, p->opts);
}

/* Columns of each share. */
static uint32_t share_columns(const struct npu_weights *w, uint32_t shares)
{
	uint32_t unit = (uint32_t)max_u64(NPU_TENSOR_COLS, npu_kernel_group(npu_dev_chip(w->dev), w->type));

	return (uint32_t)round_up(div_up(w->n, shares), unit);
}

static int append_columns(struct npu_rec *rec, const struct product *p, uint32_t shares)
{
	uint32_t n = p->w->n, step = share_columns(p->w, shares);
	int ret = 0;

	for (uint32_t i = 0; !ret && i * step < n; i++) {
		struct npu_tensor y = npu_part(p->y, 0, p->y->shape.rows, i * step,
					       (uint32_t)min_u64(step, n - i * step));
		struct npu_weights w = *p->w;

		w.n_all = n;
		w.n_from = i * step;
		w.n = y.shape.cols;
		ret = npu_rec_select_core(rec, i);
		if (!ret)
			ret = npu_rec_matmul_tasks(rec, p->x, &w, &y, p->opts);
	}
	return ret;
}

/* Are they so many that each core would rather fetch its part? */
static bool many_weights(const struct npu_weights *w, uint32_t cores)
{
	return (uint64_t)w->n * w->kp * npu_prec_bits(w->type) / 8 >= MANY_BYTES &&
	       div_up(w->n, share_columns(w, cores)) == cores;
}

/* By columns no core fetches all weights, and by rows none waits for another one's. */
static int append_shared(struct npu_rec *rec, const struct product *p)
{
	uint32_t rows = p->x->shape.rows, cores = npu_rec_shares(rec, UINT32_MAX);
	uint32_t by_cols = npu_rec_shares(rec, (uint32_t)div_up(p->w->n, NPU_TENSOR_COLS));
	bool too_few = npu_rec_shares(rec, rows / NPU_TENSOR_ROWS) < cores;
	bool few = npu_rec_shares(rec, rows / CORE_ROWS) < cores;

	if (by_cols > 1 && (too_few || (few && many_weights(p->w, cores))))
		return append_columns(rec, p, by_cols);
	return npu_rec_by_rows(rec, rows, p, append_rows);
}

int npu_rec_matmul(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		   struct npu_tensor *y, const struct npu_rec_matmul_opts *opts)
{
	struct npu_rec_matmul_opts o;
	const struct product p = { x, w, y, &o };
	int ret = npu_rec_begin(rec, "matmul");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &o, max_n, opts);
	if (!ret)
		ret = check(rec, x, w, y, &o);
	if (!ret)
		ret = npu_rec_bind_weights(rec, w);
	if (!ret)
		ret = append_shared(rec, &p);
	return ret ? ret : npu_rec_commit(rec);
}

/* The encoder knows. */
bool npu_can_multiply(struct npu_dev *dev, enum npu_prec in, enum npu_prec out)
{
	struct npu_prog *p = npu_prog_new_for(npu_dev_chip(dev), 0);
	struct npu_conv_task t;
	bool can;

	npu_matmul_task(&t, in, out, 4, 64, 64);
	t.has_bias = out == NPU_PREC_INT8 || in == NPU_PREC_FP16;
	can = p && !npu_prog_conv(p, &t);
	npu_prog_free(p);
	return can;
}
