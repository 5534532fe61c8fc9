// SPDX-License-Identifier: MIT
/*
 * Operations over the columns of each row: sums as products with ones, and maxima.
 */
#include <errno.h>
#include <stdlib.h>

#include "npu_parts.h"

/* Of 1/16384 a half still has all bits. */
#define MEAN_COLS	16384u
/* Maxima are over whole pairs of atoms: whether padding counts is not known. */
#define MAX_UNIT	16u

static int check(struct npu_rec *rec, const char *name, const struct npu_tensor *x,
		 const struct npu_tensor *y, bool wide)
{
	enum npu_prec out = y->shape.type;

	if (x->shape.type != NPU_PREC_FP16 ||
	    (out != NPU_PREC_FP16 && !(wide && out == NPU_PREC_FP32)))
		return npu_rec_fail(rec, -EINVAL, "%s: no mode for %s to %s", name,
				    npu_prec_name(x->shape.type), npu_prec_name(out));
	if (x->shape.rows != y->shape.rows || y->shape.cols != 1)
		return npu_rec_fail(rec, -EINVAL, "%s: %u x %u to %u x %u do not fit", name,
				    x->shape.rows, x->shape.cols, y->shape.rows, y->shape.cols);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "%s: the result shares memory with the operand",
				    name);
	return 0;
}

struct reduction {
	const struct npu_tensor *x, *y;
	float factor;
};

static int sum_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct reduction *r = arg;
	struct npu_tensor x = npu_part(r->x, row, rows, 0, r->x->shape.cols);
	struct npu_tensor y = npu_part(r->y, row, rows, 0, 1);
	const struct npu_weights *w = NULL;
	int ret = npu_rec_fill_weights(rec, 1, x.shape.cols, r->factor, &w);

	return ret ? ret : npu_rec_matmul_tasks(rec, &x, w, &y, NULL);
}

static int append_sum(struct npu_rec *rec, const char *name, const struct npu_tensor *x,
		      struct npu_tensor *y, float factor)
{
	const struct reduction r = { x, y, factor };
	int ret = npu_rec_begin(rec, name);

	if (!ret)
		ret = check(rec, name, x, y, true);
	if (!ret)
		ret = npu_rec_by_rows(rec, x->shape.rows, &r, sum_rows);
	return ret ? ret : npu_rec_commit(rec);
}

int npu_rec_reduce_sum(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y)
{
	return append_sum(rec, "reduce sum", x, y, 1);
}

int npu_rec_reduce_mean(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y)
{
	if (x->shape.cols > MEAN_COLS) {
		int ret = npu_rec_begin(rec, "reduce mean");

		return ret ? ret : npu_rec_fail(rec, -E2BIG, "reduce mean: %u columns exceed the limit %u",
						x->shape.cols, MEAN_COLS);
	}
	return append_sum(rec, "reduce mean", x, y, 1 / (float)x->shape.cols);
}

/* ---- maxima ---- */

/* A row that takes away what lies behind the last column. */
int npu_rec_mask_row(struct npu_rec *rec, uint32_t cols,
		     struct npu_tensor **out)
{
	uint32_t stored = (uint32_t)round_up(cols, NPU_TENSOR_COLS);
	float *v = malloc(stored * sizeof(*v));
	int ret = v ? npu_rec_tensor(rec, NPU_PREC_FP16, 1, stored, out) : -ENOMEM;

	for (uint32_t i = 0; v && i < stored; i++)
		v[i] = i < cols ? NPU_HALF_MAX : -NPU_HALF_MAX;
	if (!ret)
		ret = npu_tensor_write_f32(*out, v, 0, 1);
	free(v);
	return ret ? npu_rec_fail(rec, ret, "no memory for a row of %u", cols) : 0;
}

/* A copy of @x with the least number behind the last column. */
static int fence(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor **out)
{
	struct npu_tensor *row = NULL, whole = *x;
	int ret = npu_rec_mask_row(rec, x->shape.cols, &row);

	whole.shape.cols = (uint32_t)round_up(x->shape.cols, NPU_TENSOR_COLS);
	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, x->shape.rows, whole.shape.cols, out);
	if (!ret)
		ret = npu_rec_ew(rec, NPU_EW_MIN, &whole, row, *out);
	npu_tensor_free(row);
	return ret;
}

static void max_task(struct npu_rec *rec, const struct npu_tensor *x, uint32_t row, uint32_t col,
		     const struct npu_tensor *v)
{
	struct npu_row_max_task t = {
		.cols = (uint32_t)min_u64(x->shape.cols - col, NPU_FLY_COLS),
		.out_iova = npu_tensor_iova(v) + row * sizeof(uint16_t),
	};
	uint32_t rows = (uint32_t)min_u64(x->shape.rows - row, NPU_FLY_ROWS);

	t.from = (struct npu_atoms){
		.iova = npu_tensor_iova(x) + npu_tensor_place(x, row, col),
		.width = rows, .height = 1, .line = rows, .surf = x->pitch,
		.surfaces = (uint32_t)round_up(t.cols, MAX_UNIT) / 8,
	};
	npu_prog_row_max(npu_rec_prog(rec), &t);
}

static int max_of_columns(struct npu_rec *rec, const struct npu_tensor *x, uint32_t col,
			  struct npu_tensor *v)
{
	int ret = npu_rec_reads(rec, x);

	if (!ret)
		ret = npu_rec_writes(rec, v);
	for (uint32_t row = 0; !ret && row < x->shape.rows && npu_rec_room(rec); row += NPU_FLY_ROWS)
		max_task(rec, x, row, col, v);
	return ret;
}

/* Those of further columns one after the other, in two places in turns. */
static int max_of_many(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *v)
{
	struct npu_tensor *most[2] = { NULL, NULL }, *more = NULL;
	uint32_t rows = x->shape.rows;
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, rows, &most[0]);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, rows, &most[1]);
	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, rows, &more);
	if (!ret)
		ret = max_of_columns(rec, x, 0, most[0]);
	for (uint32_t i = 1; !ret && i * NPU_FLY_COLS < x->shape.cols; i++) {
		bool last = (i + 1) * NPU_FLY_COLS >= x->shape.cols;

		ret = max_of_columns(rec, x, i * NPU_FLY_COLS, more);
		if (!ret)
			ret = npu_rec_ew(rec, NPU_EW_MAX, most[(i - 1) % 2], more,
					 last ? v : most[i % 2]);
	}
	npu_tensor_free(most[0]);
	npu_tensor_free(most[1]);
	npu_tensor_free(more);
	return ret;
}

int npu_rec_row_max(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *v)
{
	struct npu_tensor *fenced = NULL;
	int ret = 0;

	if (x->shape.cols % MAX_UNIT) {
		ret = fence(rec, x, &fenced);
		x = fenced;
	}
	if (!ret)
		ret = x->shape.cols <= NPU_FLY_COLS ? max_of_columns(rec, x, 0, v) :
						      max_of_many(rec, x, v);
	npu_tensor_free(fenced);
	return ret;
}

static int max_rows(struct npu_rec *rec, const void *arg, uint32_t row, uint32_t rows)
{
	const struct reduction *r = arg;
	struct npu_tensor x = npu_part(r->x, row, rows, 0, r->x->shape.cols);
	struct npu_tensor y = npu_part(r->y, row, rows, 0, 1), *v = NULL;
	int ret = npu_rec_temp(rec, NPU_PREC_FP16, 1, rows, &v);

	if (!ret)
		ret = npu_rec_row_max(rec, &x, v);
	if (!ret)
		ret = npu_rec_broadcast_row(rec, v, &y);
	npu_tensor_free(v);
	return ret;
}

int npu_rec_reduce_max(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y)
{
	const struct reduction r = { .x = x, .y = y };
	int ret = npu_rec_begin(rec, "reduce max");

	if (!ret)
		ret = check(rec, "reduce max", x, y, false);
	if (!ret)
		ret = npu_rec_by_rows(rec, x->shape.rows, &r, max_rows);
	return ret ? ret : npu_rec_commit(rec);
}
