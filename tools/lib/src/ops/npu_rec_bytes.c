// SPDX-License-Identifier: MIT
/*
 * Element-wise operations of bytes: by tasks of the DPU alone, or by convolutions of one position. There the
 * sum of two tensors is that of two surfaces, one of each, and a function looks up what a convolution makes of a
 * single weight.
 *
 * On an RK3576 gregordinary found no way to the second operand of EW, and computes sums of this
 * form on boards. Rockchip's compilers have both operands of sums and products there; a product has no other form.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "npu_parts.h"

/* Columns of a surface. */
#define LANES		16u
#define MAX_WEIGHT	127
#define MIN_WEIGHT	64

/* Elements are all alike: what lies one behind the other in memory is a run of positions. */
struct runs {
	uint32_t n, positions;
};

static bool is_dense(const struct npu_tensor *t)
{
	return t->pitch == npu_rows_stored(t->shape.rows);
}

static struct runs runs_of(const struct npu_tensor *y, bool dense)
{
	uint32_t surfaces = (uint32_t)round_up(y->shape.cols, NPU_TENSOR_COLS) / LANES;
	uint32_t rows = npu_rows_stored(y->shape.rows);

	return dense ? (struct runs){ 1, rows * surfaces } : (struct runs){ surfaces, rows };
}

static uint64_t at(const struct npu_tensor *t, uint32_t run, uint32_t position)
{
	return npu_tensor_iova(t) + ((uint64_t)run * t->pitch + position) * npu_tensor_atom_bytes(t);
}

static bool same_bytes(const struct npu_tensor *a, const struct npu_tensor *b)
{
	return a->shape.type == NPU_PREC_INT8 && b->shape.type == NPU_PREC_INT8 &&
	       a->shape.rows == b->shape.rows && a->shape.cols == b->shape.cols;
}

/* ---- tasks of the DPU alone ---- */

/* What is appended for a part of @y; false ends. */
typedef bool (*fly_fn)(struct npu_rec *rec, const void *arg, struct npu_ew_task *t, uint32_t row, uint32_t col);

static struct npu_ew_operand operand(const struct npu_tensor *t, uint32_t row, uint32_t col)
{
	return (struct npu_ew_operand){ .iova = npu_tensor_iova(t) + npu_tensor_place(t, row, col), .pitch = t->pitch };
}

static void fly(struct npu_rec *rec, const struct npu_tensor *y, fly_fn add, const void *arg)
{
	const struct npu_chip *chip = npu_dev_chip(y->dev);
	const struct npu_shape *s = &y->shape;

	for (uint32_t row = 0; row < s->rows; row += chip->rows)
		for (uint32_t col = 0; col < s->cols && npu_rec_room(rec); col += chip->kernels) {
			struct npu_ew_task t = {
				.type = NPU_PREC_INT8, .rows = (uint32_t)min_u64(s->rows - row, chip->rows),
				.cols = (uint32_t)min_u64(s->cols - col, chip->kernels), .y = operand(y, row, col),
			};

			if (!add(rec, arg, &t, row, col))
				return;
		}
}

/* ---- sums ---- */

struct sum {
	const struct npu_tensor *a, *b, *y;
	const struct npu_byte_sum *how;
	const struct npu_weights *w;	/* of the run's task */
};

static bool is_byte(int32_t v, int32_t least)
{
	return v >= least && v <= INT8_MAX;
}

static int check_shapes(struct npu_rec *rec, const char *what, const struct npu_tensor *a,
			const struct npu_tensor *b, const struct npu_tensor *y)
{
	if (same_bytes(a, y) && same_bytes(b, y))
		return 0;
	return npu_rec_fail(rec, -EINVAL, "%s: %u x %u of %s and %u x %u of %s to %u x %u of %s do not fit", what,
			    a->shape.rows, a->shape.cols, npu_prec_name(a->shape.type), b->shape.rows, b->shape.cols,
			    npu_prec_name(b->shape.type), y->shape.rows, y->shape.cols, npu_prec_name(y->shape.type));
}

static int check_sum(struct npu_rec *rec, const struct sum *s)
{
	const struct npu_byte_sum *how = s->how;
	const struct npu_chip *chip = npu_dev_chip(s->y->dev);

	if (!chip->adds_bytes && !chip->flies_bytes)
		return npu_rec_fail(rec, -EOPNOTSUPP, "add bytes: no programs for it on the %s", chip->name);
	if (check_shapes(rec, "add bytes", s->a, s->b, s->y))
		return -EINVAL;
	if (npu_tensor_overlap(s->a, s->b) || npu_tensor_overlap(s->a, s->y) || npu_tensor_overlap(s->b, s->y))
		return npu_rec_fail(rec, -EINVAL, "add bytes: tensors share memory");
	if (how->act > NPU_ACT_RELU)
		return npu_rec_fail(rec, -EINVAL, "add bytes: %s cannot be folded into a sum", npu_act_name(how->act));
	if (!is_byte(how->a_weight, -MAX_WEIGHT) || !is_byte(how->b_weight, -MAX_WEIGHT) ||
	    !is_byte(how->a_zp, INT8_MIN) || !is_byte(how->b_zp, INT8_MIN) || npu_requant_check(&how->rq))
		return npu_rec_fail(rec, -ERANGE, "add bytes: weights %d and %d, zero points %d and %d, scale %u, shift %u, zp %d",
				    how->a_weight, how->b_weight, how->a_zp, how->b_zp, how->rq.scale, how->rq.shift,
				    how->rq.zp);
	return 0;
}

/*
 * Two sets of kernels: the array takes surfaces by rising addresses, and either operand may be the
 * lower one.
 */
static int sum_weights(struct npu_rec *rec, const struct sum *s, struct npu_weights **out)
{
	int8_t src[2 * LANES][2 * LANES] = { 0 };
	const struct npu_byte_sum *how = s->how;
	int32_t bias[2 * LANES];
	struct npu_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_INT8, .n = 2 * LANES, .k = 2 * LANES, .bias = bias, .rq = how->rq,
	};
	int ret;

	for (uint32_t i = 0; i < LANES; i++) {
		src[i][i] = (int8_t)how->a_weight;
		src[i][LANES + i] = (int8_t)how->b_weight;
		src[LANES + i][i] = (int8_t)how->b_weight;
		src[LANES + i][LANES + i] = (int8_t)how->a_weight;
	}
	for (uint32_t i = 0; i < 2 * LANES; i++)
		bias[i] = -(how->a_weight * how->a_zp + how->b_weight * how->b_zp);
	ret = npu_rec_weights(rec, &d, src, out);
	return ret ? npu_rec_fail(rec, ret, "add bytes: no memory for weights") : 0;
}

static int add_task(struct npu_rec *rec, const struct sum *s, uint32_t run, uint32_t position, uint32_t n)
{
	uint64_t a = at(s->a, run, position), b = at(s->b, run, position);
	uint32_t set = b < a ? LANES : 0;
	struct npu_conv_task t;

	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, n, LANES, 2 * LANES);
	t.in_iova = min_u64(a, b);
	t.in_pitch = (uint32_t)((max_u64(a, b) - t.in_iova) / npu_tensor_atom_bytes(s->a));
	t.weight_iova = s->w->mem->iova + set * s->w->kp;
	t.out_iova = at(s->y, run, position);
	t.has_bias = true;
	t.rq = s->w->rq;
	t.relu = s->how->act == NPU_ACT_RELU;
	npu_operands_set(s->w, set, &t);
	return npu_prog_conv(npu_rec_prog(rec), &t);
}

static int sum_tasks(struct npu_rec *rec, const struct sum *s)
{
	struct runs r = runs_of(s->y, is_dense(s->a) && is_dense(s->b) && is_dense(s->y));
	uint32_t most = npu_dev_chip(s->y->dev)->rows;

	for (uint32_t run = 0; run < r.n; run++)
		for (uint32_t i = 0; i < r.positions && npu_rec_room(rec); i += most)
			if (add_task(rec, s, run, i, (uint32_t)min_u64(r.positions - i, most)))
				return 0;
	return 0;
}

/* Where their space is known, the weights go there. */
static int convolve_sum(struct npu_rec *rec, struct sum *s)
{
	struct npu_weights *w = NULL;
	int ret = sum_weights(rec, s, &w);

	if (!ret)
		ret = npu_rec_reads_weights(rec, w);
	s->w = w;
	if (!ret)
		ret = sum_tasks(rec, s);
	npu_weights_free(w);
	return ret;
}

static bool add(struct npu_rec *rec, const void *arg, struct npu_ew_task *t, uint32_t row, uint32_t col)
{
	const struct sum *s = arg;

	t->a = operand(s->a, row, col);
	t->b = operand(s->b, row, col);
	return !npu_prog_add_bytes(npu_rec_prog(rec), t, s->how);
}

static int append_sum(struct npu_rec *rec, struct sum *s)
{
	int ret = npu_rec_reads(rec, s->a);

	if (!ret)
		ret = npu_rec_reads(rec, s->b);
	if (!ret)
		ret = npu_rec_writes(rec, s->y);
	if (ret || !npu_dev_chip(s->y->dev)->flies_bytes)
		return ret ? ret : convolve_sum(rec, s);
	fly(rec, s->y, add, s);
	return 0;
}

int npu_rec_add_bytes(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		      const struct npu_byte_sum *how, struct npu_tensor *y)
{
	struct npu_byte_sum h = { 0 };
	struct sum s = { .a = a, .b = b, .y = y, .how = &h };
	int ret = npu_rec_begin(rec, "add bytes");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &h, act, how);
	if (!ret)
		ret = check_sum(rec, &s);
	if (!ret)
		ret = append_sum(rec, &s);
	return ret ? ret : npu_rec_commit(rec);
}

/* ---- products ---- */

struct product {
	const struct npu_tensor *a, *b, *y;
	const struct npu_byte_product *how;
	uint64_t record;	/* what each task reads of @how */
};

static int check_product(struct npu_rec *rec, const struct product *m)
{
	const struct npu_byte_product *how = m->how;
	const struct npu_chip *chip = npu_dev_chip(m->y->dev);

	if (!chip->multiplies_bytes)
		return npu_rec_fail(rec, -EOPNOTSUPP, "mul bytes: no programs for it on the %s", chip->name);
	if (check_shapes(rec, "mul bytes", m->a, m->b, m->y))
		return -EINVAL;
	if (npu_tensor_overlap(m->a, m->y) || npu_tensor_overlap(m->b, m->y))
		return npu_rec_fail(rec, -EINVAL, "mul bytes: the result shares memory with an operand");
	if (!is_byte(how->a_zp, INT8_MIN) || !is_byte(how->b_zp, INT8_MIN) || npu_requant_check(&how->rq))
		return npu_rec_fail(rec, -ERANGE, "mul bytes: zero points %d and %d, scale %u, shift %u, zp %d",
				    how->a_zp, how->b_zp, how->rq.scale, how->rq.shift, how->rq.zp);
	return 0;
}

int npu_rec_record(struct npu_rec *rec, const uint8_t *record, uint32_t bytes, uint64_t *iova)
{
	struct npu_tensor *t = NULL;
	int ret = npu_rec_temp(rec, NPU_PREC_INT8, 1, bytes, &t);

	if (!ret) {
		ret = npu_tensor_write(t, record, 0);
		if (ret)
			npu_rec_fail(rec, ret, "operands cannot be written");
	}
	if (!ret)
		ret = npu_rec_reads(rec, t);
	if (!ret)
		*iova = npu_tensor_iova(t);
	npu_tensor_free(t);
	return ret;
}

static struct npu_ew_operand from(const struct npu_tensor *t, uint32_t run, uint32_t position, uint32_t pitch)
{
	return (struct npu_ew_operand){ .iova = at(t, run, position), .pitch = pitch };
}

/* Surfaces, and the positions of one that has them all, are even numbers: see map_tasks(). */
static void product_tasks(struct npu_rec *rec, const struct product *m)
{
	bool dense = is_dense(m->a) && is_dense(m->b) && is_dense(m->y);
	struct runs r = runs_of(m->y, dense);
	uint32_t most = npu_dev_chip(m->y->dev)->rows, share = dense ? 2 : 1;

	for (uint32_t run = 0; run < r.n; run++)
		for (uint32_t i = 0; i < r.positions && npu_rec_room(rec); i += share * most) {
			uint32_t n = (uint32_t)min_u64(r.positions - i, share * most) / share;
			struct npu_ew_task t = {
				.type = NPU_PREC_INT8, .rows = n, .cols = share * LANES, .a = from(m->a, run, i, n),
				.b = from(m->b, run, i, n), .y = from(m->y, run, i, n),
			};

			if (npu_prog_mul_bytes(npu_rec_prog(rec), &t, m->how, m->record))
				return;
		}
}

static bool multiply(struct npu_rec *rec, const void *arg, struct npu_ew_task *t, uint32_t row, uint32_t col)
{
	const struct product *m = arg;

	t->a = operand(m->a, row, col);
	t->b = operand(m->b, row, col);
	return !npu_prog_mul_bytes(npu_rec_prog(rec), t, m->how, 0);
}

static int append_product(struct npu_rec *rec, struct product *m)
{
	bool flies = npu_dev_chip(m->y->dev)->flies_bytes;
	uint8_t record[NPU_PRODUCT_RECORD];
	int ret = npu_rec_reads(rec, m->a);

	npu_product_record(m->how, record);
	if (!ret)
		ret = npu_rec_reads(rec, m->b);
	if (!ret)
		ret = npu_rec_writes(rec, m->y);
	if (!ret && !flies)
		ret = npu_rec_record(rec, record, sizeof(record), &m->record);
	if (!ret && flies)
		fly(rec, m->y, multiply, m);
	else if (!ret)
		product_tasks(rec, m);
	return ret;
}

int npu_rec_mul_bytes(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		      const struct npu_byte_product *how, struct npu_tensor *y)
{
	struct npu_byte_product h = { 0 };
	struct product m = { .a = a, .b = b, .y = y, .how = &h };
	int ret = npu_rec_begin(rec, "mul bytes");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &h, rq, how);
	if (!ret)
		ret = check_product(rec, &m);
	if (!ret)
		ret = append_product(rec, &m);
	return ret ? ret : npu_rec_commit(rec);
}

/* ---- functions ---- */

struct map {
	const struct npu_tensor *x, *y;
	const int8_t *value;
	const struct npu_weights *w;	/* that make a step of the table of a byte's */
};

static int check_map(struct npu_rec *rec, const struct map *m)
{
	if (!same_bytes(m->x, m->y))
		return npu_rec_fail(rec, -EINVAL, "map bytes: %u x %u of %s to %u x %u of %s do not fit",
				    m->x->shape.rows, m->x->shape.cols, npu_prec_name(m->x->shape.type),
				    m->y->shape.rows, m->y->shape.cols, npu_prec_name(m->y->shape.type));
	if (npu_tensor_overlap(m->x, m->y))
		return npu_rec_fail(rec, -EINVAL, "map bytes: x and y share memory");
	return 0;
}

static int map_weights(struct npu_rec *rec, struct npu_weights **out)
{
	int8_t src[2 * LANES][2 * LANES] = { 0 };
	struct npu_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_INT8, .n = 2 * LANES, .k = 2 * LANES, .rq = { .scale = 1 },
	};
	int ret;

	for (uint32_t i = 0; i < 2 * LANES; i++)
		src[i][i] = NPU_MAP_STEP;
	ret = npu_rec_weights(rec, &d, src, out);
	return ret ? npu_rec_fail(rec, ret, "map bytes: no memory for weights") : 0;
}

/* Two surfaces of @n positions from @run and @position on; of one run, the halves of it. */
static int map_task(struct npu_rec *rec, const struct map *m, bool dense, uint32_t run, uint32_t position,
		    uint32_t n)
{
	struct npu_conv_task t;

	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, n, 2 * LANES, 2 * LANES);
	t.in_pitch = dense ? n : m->x->pitch;
	t.out_pitch = dense ? n : m->y->pitch;
	t.in_iova = at(m->x, run, position);
	t.out_iova = at(m->y, run, position);
	t.weight_iova = m->w->mem->iova;
	t.has_bias = true;
	t.rq = m->w->rq;
	npu_operands_set(m->w, 0, &t);
	return npu_prog_map(npu_rec_prog(rec), &t, m->value);
}

/* Surfaces, and the positions of one that has them all, are even numbers. */
static int map_tasks(struct npu_rec *rec, const struct map *m)
{
	bool dense = is_dense(m->x) && is_dense(m->y);
	struct runs r = runs_of(m->y, dense);
	uint32_t most = npu_dev_chip(m->y->dev)->rows, share = dense ? 2 : 1;

	for (uint32_t run = 0; run < r.n; run += 2)
		for (uint32_t i = 0; i < r.positions && npu_rec_room(rec); i += share * most)
			if (map_task(rec, m, dense, run, i, (uint32_t)min_u64(r.positions - i, share * most) / share))
				return 0;
	return 0;
}

/* Tasks that load the LUT copy an atom of the scratch. */
static int load_map(struct npu_rec *rec, const int8_t *value)
{
	struct npu_tensor *scratch = NULL;
	int ret = npu_rec_temp(rec, NPU_PREC_INT8, 1, 2 * LANES, &scratch);

	if (!ret)
		ret = npu_rec_writes(rec, scratch);
	npu_rec_forget_table(rec);
	if (!ret)
		npu_prog_load_map(npu_rec_prog(rec), value, at(scratch, 0, 0), at(scratch, 1, 0));
	npu_tensor_free(scratch);
	return ret;
}

static int convolve_map(struct npu_rec *rec, struct map *m)
{
	struct npu_weights *w = NULL;
	int ret = map_weights(rec, &w);

	if (!ret)
		ret = npu_rec_reads_weights(rec, w);
	if (!ret)
		ret = load_map(rec, m->value);
	m->w = w;
	if (!ret && npu_rec_room(rec))
		ret = map_tasks(rec, m);
	npu_weights_free(w);
	return ret;
}

static bool look_up(struct npu_rec *rec, const void *arg, struct npu_ew_task *t, uint32_t row, uint32_t col)
{
	const struct map *m = arg;

	t->a = operand(m->x, row, col);
	return !npu_prog_map_bytes(npu_rec_prog(rec), t);
}

static int fly_map(struct npu_rec *rec, const struct map *m)
{
	int ret = load_map(rec, m->value);

	if (!ret)
		fly(rec, m->y, look_up, m);
	return ret;
}

static int append_map(struct npu_rec *rec, struct map *m)
{
	int ret = npu_rec_reads(rec, m->x);

	if (!ret)
		ret = npu_rec_writes(rec, m->y);
	if (ret)
		return ret;
	return npu_dev_chip(m->y->dev)->flies_bytes ? fly_map(rec, m) : convolve_map(rec, m);
}

int npu_rec_map_bytes(struct npu_rec *rec, const int8_t value[256], const struct npu_tensor *x,
		      struct npu_tensor *y)
{
	struct map m = { .x = x, .y = y, .value = value };
	int ret = npu_rec_begin(rec, "map bytes");

	if (!ret)
		ret = check_map(rec, &m);
	if (!ret)
		ret = append_map(rec, &m);
	return ret ? ret : npu_rec_commit(rec);
}

void npu_byte_map(double (*f)(double x, void *arg), void *arg, const struct npu_byte_scales *s, int8_t value[256])
{
	for (int32_t x = INT8_MIN; x <= INT8_MAX; x++) {
		double y = rint(f((x - s->x_zp) * s->x, arg) / s->y) + s->y_zp;

		value[x - INT8_MIN] = (int8_t)(isnan(y) ? s->y_zp : fmin(fmax(y, INT8_MIN), INT8_MAX));
	}
}

/* ---- weights of real factors ---- */

/* The larger one is at least MIN_WEIGHT, so that 64 quotients can be tried. */
int npu_byte_sum_from_double(double a, double b, int32_t zp, struct npu_byte_sum *how)
{
	double big = fmax(fabs(a), fabs(b)), small = fmin(fabs(a), fabs(b)), off = INFINITY;
	int32_t one = 0, other = 0;
	struct npu_requant rq;

	if (!isfinite(a) || !isfinite(b) || !(big > 0))
		return -ERANGE;
	for (int32_t w = MAX_WEIGHT; w >= MIN_WEIGHT; w--) {
		int32_t v = (int32_t)rint(w * (small / big));
		double error = fabs((double)v / w - small / big);

		if (error >= off)
			continue;
		off = error;
		one = w;
		other = v;
	}
	if (npu_requant_from_double(big / one, zp, &rq))
		return -ERANGE;
	how->rq = rq;
	how->a_weight = (int32_t)copysign(fabs(a) == big ? one : other, a);
	how->b_weight = (int32_t)copysign(fabs(a) == big ? other : one, b);
	return 0;
}
