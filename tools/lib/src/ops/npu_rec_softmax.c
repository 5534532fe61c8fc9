// SPDX-License-Identifier: MIT
/*
 * Softmax over rows, and the mask of what a row may not see.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "npu_parts.h"

/* exp(-18) is below half of the least half. */
#define REACH		18.0
#define MIN_SCALE	0x1p-11f
#define MAX_SCALE	8.0f
/* Of a mask, that are in memory at once. */
#define MASK_FLOATS	(1u << 18)

/*
 * The table has half of the exponent, and the product makes the rest: so small results have
 * more bits than the table's entries.
 */
static double half_exp(double x, void *arg)
{
	return exp(x * *(double *)arg / 2);
}

int npu_rec_exp_table(struct npu_rec *rec, float scale, struct npu_table **out)
{
	double s = (double)scale;
	int ret;

	if (!(scale >= MIN_SCALE && scale <= MAX_SCALE))
		return npu_rec_fail(rec, -EINVAL, "softmax: a scale of %g is not from 2^-11 to 8",
				    (double)scale);
	ret = npu_table_new(half_exp, &s, -REACH / s, 0, out);
	return ret ? npu_rec_fail(rec, ret, "softmax: no table") : 0;
}

static void store_mask_rows(const struct npu_tensor *mask, uint32_t row, uint32_t rows, uint32_t seen, float *v)
{
	uint32_t cols = mask->shape.cols;
	struct npu_tensor part = npu_part(mask, row, rows, 0, cols);

	for (size_t i = 0; i < (size_t)rows * cols; i++)
		v[i] = i % cols < seen + row + i / cols ? NPU_HALF_MAX : -NPU_HALF_MAX;
	npu_tensor_store_f32(&part, v, cols, 1);
}

/*
 * Least for columns that a row may not see, else largest. Floats of all rows may be more than there is memory for.
 * But the caches are cleaned once: the atoms of some rows lie all over the tensor.
 */
int npu_rec_causal_mask(struct npu_rec *rec, uint32_t rows, uint32_t cols,
			uint32_t seen, struct npu_tensor **out)
{
	uint32_t step = (uint32_t)min_u64(rows, round_up(MASK_FLOATS / cols + 1, NPU_TENSOR_ROWS));
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, out);
	float *v = ret ? NULL : malloc((size_t)step * cols * sizeof(*v));

	if (!ret && !v)
		return npu_rec_fail(rec, -ENOMEM, "no memory for a mask of %u x %u", rows, cols);
	if (!ret)
		ret = npu_tensor_begin(*out, true);
	for (uint32_t row = 0; !ret && row < rows; row += step)
		store_mask_rows(*out, row, (uint32_t)min_u64(step, rows - row), seen, v);
	if (!ret)
		ret = npu_tensor_end(*out);
	free(v);
	return ret < 0 ? npu_rec_fail(rec, ret, "no mask of %u x %u", rows, cols) : ret;
}

int npu_softmax_temps_new(struct npu_rec *rec, struct npu_softmax_temps *t,
			  const struct npu_tensor *x)
{
	uint32_t rows = x->shape.rows, cols = (uint32_t)round_up(x->shape.cols, NPU_TENSOR_COLS);
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, &t->a);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, &t->b);
	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, rows, &t->max);
	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, 1, &t->sum);
	return ret;
}

void npu_softmax_temps_free(struct npu_softmax_temps *t)
{
	npu_tensor_free(t->a);
	npu_tensor_free(t->b);
	npu_tensor_free(t->max);
	npu_tensor_free(t->sum);
}

/* One group of kernels may be cut anywhere between groups of columns. */
static int append_sum(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *sum)
{
	const struct npu_weights *ones = NULL;
	struct npu_weights cut;
	int ret = npu_rec_fill_weights(rec, 1, x->shape.cols, 1, &ones);

	if (ret)
		return ret;
	cut = *ones;
	cut.k_step = npu_sum_step(x->shape.rows, ones);
	return npu_rec_matmul_tasks(rec, x, &cut, sum, NULL);
}

/*
 * Behind the last column, too, the sum is not 0, so that what is there stays a number. Rows may
 * be fewer than the temporaries have.
 */
int npu_rec_softmax_tasks(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			  const struct npu_table *table, const struct npu_softmax_temps *t)
{
	uint32_t rows = x->shape.rows, cols = x->shape.cols;
	struct npu_tensor a = npu_part(t->a, 0, rows, 0, cols), b = npu_part(t->b, 0, rows, 0, cols);
	struct npu_tensor whole = npu_part(t->a, 0, rows, 0, t->a->shape.cols);
	struct npu_tensor sum = npu_part(t->sum, 0, rows, 0, 1), max = npu_part(t->max, 0, 1, 0, rows);
	int ret = npu_rec_row_max(rec, x, &max);

	if (!ret)
		ret = npu_rec_broadcast_row(rec, &max, &whole);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_SUB, x, &a, &b);
	if (!ret)
		ret = npu_rec_function(rec, table, &b, &a);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MUL, &a, &a, &b);
	if (!ret)
		ret = append_sum(rec, &b, &sum);
	if (!ret)
		ret = npu_rec_broadcast_col(rec, &sum, &whole);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_DIV, &b, &a, y);
	return ret;
}

static int append(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		  const struct npu_table *table)
{
	struct npu_softmax_temps t = { 0 };
	int ret = npu_softmax_temps_new(rec, &t, x);

	if (!ret)
		ret = npu_rec_softmax_tasks(rec, x, y, table, &t);
	if (!ret)
		ret = npu_rec_clear_rest(rec, table, y);
	npu_softmax_temps_free(&t);
	return ret;
}

static int check(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y,
		 const struct npu_softmax_opts *opts)
{
	const struct npu_shape *a = &x->shape, *b = &y->shape;

	if (a->type != NPU_PREC_FP16 || b->type != NPU_PREC_FP16)
		return npu_rec_fail(rec, -EINVAL, "softmax: no mode for %s to %s", npu_prec_name(a->type),
				    npu_prec_name(b->type));
	if (a->rows != b->rows || a->cols != b->cols || (opts->causal && a->rows > a->cols))
		return npu_rec_fail(rec, -EINVAL, "softmax: %u x %u to %u x %u do not fit%s", a->rows,
				    a->cols, b->rows, b->cols, opts->causal ? " a causal mask" : "");
	if (a->cols > NPU_SOFTMAX_COLS)
		return npu_rec_fail(rec, -E2BIG, "softmax: %u columns exceed the limit %u", a->cols,
				    NPU_SOFTMAX_COLS);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "softmax: x and y share memory");
	return 0;
}

/* The first row sees @seen columns. */
static int append_causal(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			 const struct npu_table *table, uint32_t seen)
{
	const struct npu_shape *s = &x->shape;
	struct npu_tensor *mask = NULL, *masked = NULL;
	int ret = npu_rec_causal_mask(rec, s->rows, s->cols, seen, &mask);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, s->rows, s->cols, &masked);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MIN, x, mask, masked);
	if (!ret)
		ret = append(rec, masked, y, table);
	npu_tensor_free(mask);
	npu_tensor_free(masked);
	return ret;
}

struct softmax {
	const struct npu_tensor *x, *y;
	bool causal;
	const struct npu_table *table;
};

static int append_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct softmax *s = arg;
	const struct npu_shape *all = &s->x->shape;
	struct npu_tensor x = npu_part(s->x, row, rows, 0, all->cols);
	struct npu_tensor y = npu_part(s->y, row, rows, 0, all->cols);

	return s->causal ? append_causal(rec, &x, &y, s->table, all->cols - all->rows + row + 1) :
			   append(rec, &x, &y, s->table);
}

int npu_rec_softmax(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		    const struct npu_softmax_opts *opts)
{
	struct npu_softmax_opts o;
	struct npu_table *table = NULL;
	int ret = npu_rec_begin(rec, "softmax");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &o, causal, opts);
	if (!ret)
		ret = check(rec, x, y, &o);
	if (!ret)
		ret = npu_rec_exp_table(rec, o.scale ? o.scale : 1, &table);
	if (!ret) {
		struct softmax s = { x, y, o.causal, table };

		ret = npu_rec_by_rows(rec, x->shape.rows, &s, append_rows);
	}
	npu_table_free(table);
	return ret ? ret : npu_rec_commit(rec);
}
