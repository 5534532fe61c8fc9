// SPDX-License-Identifier: MIT
/*
 * RMSNorm and LayerNorm over rows. Rows are divided by their largest magnitude first, so that
 * no square leaves the range of halves.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "npu_parts.h"

/* A mean of squares, one of which is 1, is above 2^-14 then: see NPU_ACT_RSQRT. */
#define NORM_COLS	8192u
/* Columns of a value per row: all have it. */
#define WIDE		32u
/* Below it squares of what is divided by it lose bits. */
#define MIN_ROOT	0x1p-13

struct temps {
	struct npu_tensor *a, *b, *c;	/* with columns that fill the memory */
	struct npu_tensor *col[3];	/* M x WIDE */
	struct npu_tensor *root;	/* the same: the root of epsilon */
	struct npu_tensor *floor;	/* 1 x M: the same */
	struct npu_tensor *minus;	/* 1 x N: -1 */
	struct npu_tensor *most, *least, *both, *size;	/* 1 x M */
	const struct npu_weights *mean;
};

static int filled(struct npu_rec *rec, uint32_t rows, uint32_t cols, double v,
		  struct npu_tensor **out)
{
	size_t n = (size_t)rows * cols;
	float *src = malloc(n * sizeof(*src));
	int ret = src ? npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, out) : -ENOMEM;

	for (size_t i = 0; src && i < n; i++)
		src[i] = (float)v;
	if (!ret)
		ret = npu_tensor_write_f32(*out, src, 0, 1);
	free(src);
	return ret ? npu_rec_fail(rec, ret, "no memory for %u x %u constants", rows, cols) : 0;
}

static int alloc_temps(struct npu_rec *rec, struct temps *t, const struct npu_tensor *x, double root)
{
	uint32_t rows = x->shape.rows, cols = (uint32_t)round_up(x->shape.cols, NPU_TENSOR_COLS);
	struct npu_tensor **vector[] = { &t->most, &t->least, &t->both, &t->size };
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, &t->a);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, &t->b);
	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, cols, &t->c);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(t->col); i++)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, rows, WIDE, &t->col[i]);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(vector); i++)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, rows, vector[i]);
	if (!ret)
		ret = filled(rec, rows, WIDE, root, &t->root);
	if (!ret)
		ret = filled(rec, 1, rows, root, &t->floor);
	if (!ret)
		ret = filled(rec, 1, x->shape.cols, -1, &t->minus);
	if (!ret)
		ret = npu_rec_fill_weights(rec, WIDE, x->shape.cols, 1 / (float)x->shape.cols, &t->mean);
	return ret;
}

static void free_temps(struct temps *t)
{
	struct npu_tensor *all[] = {
		t->a, t->b, t->c, t->col[0], t->col[1], t->col[2], t->root, t->floor, t->minus, t->most,
		t->least, t->both, t->size,
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		npu_tensor_free(all[i]);
}

static struct npu_tensor columns(const struct npu_tensor *t, const struct npu_tensor *x)
{
	struct npu_tensor part = *t;

	part.shape.cols = x->shape.cols;
	return part;
}

/* t->size: the largest magnitude of each row, and the root of epsilon at least. */
static int append_size(struct npu_rec *rec, const struct npu_tensor *x, struct temps *t)
{
	struct npu_tensor a = columns(t->a, x);
	int ret = npu_rec_ew(rec, NPU_EW_MUL, x, t->minus, &a);

	if (!ret)
		ret = npu_rec_row_max(rec, x, t->most);
	if (!ret)
		ret = npu_rec_row_max(rec, &a, t->least);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MAX, t->most, t->least, t->both);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MAX, t->both, t->floor, t->size);
	return ret;
}

/* t->col[0]: 1 / sqrt(mean of squares of @b + epsilon / size^2), from 1/sqrt(2) to sqrt(N) */
static int append_factor(struct npu_rec *rec, const struct npu_tensor *b, struct temps *t)
{
	struct npu_tensor a = columns(t->a, b), **col = t->col;
	int ret = npu_rec_ew(rec, NPU_EW_MUL, b, b, &a);

	if (!ret)
		ret = npu_rec_matmul_tasks(rec, &a, t->mean, col[0], NULL);
	if (!ret)
		ret = npu_rec_broadcast_row(rec, t->size, col[1]);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_DIV, t->root, col[1], col[2]);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MUL, col[2], col[2], col[1]);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_ADD, col[0], col[1], col[2]);
	if (!ret)
		ret = npu_rec_function(rec, npu_table_of(NPU_ACT_RSQRT), col[2], col[0]);
	return ret;
}

/* y = b * a * gamma + beta, as far as there are any. */
static int append_affine(struct npu_rec *rec, const struct npu_tensor *a, struct npu_tensor *b,
			 const struct npu_norm_opts *opts, struct npu_tensor *y, struct temps *t)
{
	struct npu_tensor c = columns(t->c, a);
	struct npu_tensor *norm = opts->gamma || opts->beta ? &c : y;
	struct npu_tensor *scaled = !opts->gamma ? norm : opts->beta ? b : y;
	int ret = npu_rec_ew(rec, NPU_EW_MUL, b, a, norm);

	if (!ret && opts->gamma)
		ret = npu_rec_ew(rec, NPU_EW_MUL, norm, opts->gamma, scaled);
	if (!ret && opts->beta)
		ret = npu_rec_ew(rec, NPU_EW_ADD, scaled, opts->beta, y);
	return ret;
}

static int append_rms(struct npu_rec *rec, const struct npu_tensor *x,
		      const struct npu_norm_opts *opts, struct npu_tensor *y, struct temps *t)
{
	struct npu_tensor a = columns(t->a, x), b = columns(t->b, x);
	int ret = append_size(rec, x, t);

	if (!ret)
		ret = npu_rec_broadcast_row(rec, t->size, t->a);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_DIV, x, &a, &b);
	if (!ret)
		ret = append_factor(rec, &b, t);
	if (!ret)
		ret = npu_rec_broadcast_col(rec, t->col[0], t->a);
	if (!ret)
		ret = append_affine(rec, &a, &b, opts, y, t);
	return ret;
}

/*
 * y = x less the mean of each row, but 0 behind the last column: a mean there would exceed a half
 * when it is divided by a size that is small.
 */
static int append_centred(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			  struct temps *t)
{
	struct npu_tensor a = columns(t->a, x);
	int ret = npu_rec_matmul_tasks(rec, x, t->mean, t->col[0], NULL);

	if (!ret)
		ret = npu_rec_broadcast_col(rec, t->col[0], &a);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_SUB, x, &a, y);
	return ret;
}

/* The second time takes away what the rounding of the first mean has left. */
static int append_layer(struct npu_rec *rec, const struct npu_tensor *x,
			const struct npu_norm_opts *opts, struct npu_tensor *y, struct temps *t)
{
	struct npu_tensor *centred = NULL, c = columns(t->c, x);
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, x->shape.rows, x->shape.cols, &centred);

	if (!ret)
		ret = append_centred(rec, x, &c, t);
	if (!ret)
		ret = append_centred(rec, &c, centred, t);
	if (!ret)
		ret = append_rms(rec, centred, opts, y, t);
	npu_tensor_free(centred);
	return ret;
}

static bool row_fits(const struct npu_tensor *row, const struct npu_tensor *x,
		     const struct npu_tensor *y)
{
	return !row || (row->shape.type == NPU_PREC_FP16 && row->shape.rows == 1 &&
			row->shape.cols == x->shape.cols && !npu_tensor_overlap(row, y));
}

static int check(struct npu_rec *rec, const char *name, const struct npu_tensor *x,
		 const struct npu_norm_opts *opts, const struct npu_tensor *y)
{
	const struct npu_shape *a = &x->shape, *b = &y->shape;

	if (a->type != NPU_PREC_FP16 || b->type != NPU_PREC_FP16)
		return npu_rec_fail(rec, -EINVAL, "%s: no mode for %s to %s", name, npu_prec_name(a->type),
				    npu_prec_name(b->type));
	if (a->rows != b->rows || a->cols != b->cols || !row_fits(opts->gamma, x, y) ||
	    !row_fits(opts->beta, x, y))
		return npu_rec_fail(rec, -EINVAL, "%s: %u x %u to %u x %u, or a row, do not fit", name,
				    a->rows, a->cols, b->rows, b->cols);
	if (a->cols > NORM_COLS)
		return npu_rec_fail(rec, -E2BIG, "%s: %u columns exceed the limit %u", name, a->cols,
				    NORM_COLS);
	if (!(opts->epsilon >= 0 && opts->epsilon <= 1))
		return npu_rec_fail(rec, -EINVAL, "%s: an epsilon of %g is not from 0 to 1", name,
				    (double)opts->epsilon);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "%s: x and y share memory", name);
	return 0;
}

typedef int (*norm_fn)(struct npu_rec *rec, const struct npu_tensor *x,
		       const struct npu_norm_opts *opts, struct npu_tensor *y, struct temps *t);

struct norm {
	norm_fn fn;
	const struct npu_tensor *x;
	const struct npu_norm_opts *opts;
	const struct npu_tensor *y;
};

static int append_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct norm *n = arg;
	struct npu_tensor x = npu_part(n->x, row, rows, 0, n->x->shape.cols);
	struct npu_tensor y = npu_part(n->y, row, rows, 0, n->y->shape.cols);
	struct temps t = { 0 };
	int ret = alloc_temps(rec, &t, &x, fmax(sqrt((double)n->opts->epsilon), MIN_ROOT));

	if (!ret)
		ret = n->fn(rec, &x, n->opts, &y, &t);
	free_temps(&t);
	return ret;
}

static int append(struct npu_rec *rec, const char *name, norm_fn fn, const struct npu_tensor *x,
		  const struct npu_norm_opts *opts, struct npu_tensor *y)
{
	struct npu_norm_opts o;
	struct norm n = { fn, x, &o, y };
	int ret = npu_rec_begin(rec, name);

	if (!ret)
		ret = NPU_REC_TAKE(rec, &o, epsilon, opts);
	if (!ret)
		ret = check(rec, name, x, n.opts, y);
	if (!ret)
		ret = npu_rec_by_rows(rec, x->shape.rows, &n, append_rows);
	return ret ? ret : npu_rec_commit(rec);
}

int npu_rec_rms_norm(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		     const struct npu_norm_opts *opts)
{
	return append(rec, "rms norm", append_rms, x, opts, y);
}

int npu_rec_layer_norm(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
		       const struct npu_norm_opts *opts)
{
	return append(rec, "layer norm", append_layer, x, opts, y);
}
