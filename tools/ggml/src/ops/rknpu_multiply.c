// SPDX-License-Identifier: MIT
/*
 * Owns products with packed weights: a recording for some rows and fewer, and as many products at once as it holds.
 * Activations are fp16 or int8, with a scale for each row: others may be of somebody else, and as large as they like.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ops.h"

/* Bytes of results that lie in the NPU's memory at once: a vocabulary is wide. */
#define MOST_RESULTS	(64u << 20)
/* The same of parts, of which recordings have a multiple of so many rows. */
#define MOST_PARTS	(24u << 20)
#define PART_STEP	4u

/* The tensors of a run: activations, and the results of each. */
enum { X, Y };

/* ---- activations and results ---- */

static float row_to_fp16(uint16_t *dst, const float *src, uint32_t k)
{
	float wanted = rknpu_scale_for(rknpu_to_fp16(dst, src, k, 1));

	if (wanted != 1)
		rknpu_to_fp16(dst, src, k, wanted);
	return wanted;
}

static int write_fp16(struct npu_tensor *x, const struct rknpu_rows *r, uint32_t k, struct rknpu_scale *s)
{
	uint16_t *fp16;
	int ret = -ENOMEM;

	if (r->x_type == GGML_TYPE_F16)
		return rknpu_write_rows(x, r->m, r->x, r->x_stride / sizeof(*fp16));
	fp16 = malloc((size_t)r->m * k * sizeof(*fp16));
	s->row = malloc(r->m * sizeof(*s->row));
	if (fp16 && s->row) {
		for (uint32_t m = 0; m < r->m; m++)
			s->row[m] = row_to_fp16(fp16 + (size_t)m * k, rknpu_x_row(r, m), k);
		ret = rknpu_write_rows(x, r->m, fp16, 0);
	}
	free(fp16);
	return ret;
}

static void row_to_int8(int8_t *dst, const struct rknpu_rows *r, uint32_t m, uint32_t k, float *floats,
			float *scale)
{
	const void *src = rknpu_x_row(r, m);

	if (r->x_type == GGML_TYPE_F16)
		ggml_fp16_to_fp32_row(src, floats, k);
	else
		memcpy(floats, src, k * sizeof(*floats));
	*scale = rknpu_to_int8(dst, floats, k);
}

static int write_int8(struct npu_tensor *x, const struct rknpu_rows *r, uint32_t k, struct rknpu_scale *s)
{
	int8_t *bytes = malloc((size_t)r->m * k);
	float *floats = malloc(k * sizeof(*floats));
	int ret = -ENOMEM;

	s->row = malloc(r->m * sizeof(*s->row));
	if (bytes && floats && s->row) {
		for (uint32_t m = 0; m < r->m; m++)
			row_to_int8(bytes + (size_t)m * k, r, m, k, floats, &s->row[m]);
		ret = rknpu_write_rows(x, r->m, bytes, 0);
	}
	free(bytes);
	free(floats);
	return ret;
}

static int write_x(struct npu_tensor *x, const struct rknpu_rows *r, struct rknpu_scale *s)
{
	const struct rknpu_weights *w = r->out[0].w;
	int ret;

	if (w->type == NPU_PREC_INT8)
		return write_int8(x, r, w->from.k, s);
	ret = write_fp16(x, r, w->from.k, s);
	return ret ? ret : rknpu_parts_sum(r, s);
}

/* Sums are read to where the floats are to be. */
static int read_int32(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows,
		      const struct rknpu_scale *s)
{
	int ret = rknpu_read_rows(y, rows, out->y, out->y_stride / sizeof(float));

	for (uint32_t m = 0; !ret && m < rows; m++) {
		float *to = rknpu_y_row(out, m);

		for (uint32_t i = 0; i < out->w->from.n; i++) {
			int32_t sum;

			memcpy(&sum, &to[i], sizeof(sum));
			to[i] = (float)sum * (s->row[m] * out->w->row_scale[i]);
		}
	}
	return ret;
}

static int read_y(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows,
		  const struct rknpu_scale *s)
{
	int ret;

	if (out->w->part)
		return rknpu_parts_read(y, out, rows, s);
	if (out->w->type == NPU_PREC_INT8)
		return read_int32(y, out, rows, s);
	ret = rknpu_read_rows(y, rows, out->y, out->y_stride / sizeof(float));
	for (uint32_t m = 0; !ret && m < rows; m++) {
		float scale = rknpu_scale_of(s, m) * out->w->scale;

		for (uint32_t i = 0; scale != 1 && i < out->w->from.n; i++)
			rknpu_y_row(out, m)[i] *= scale;
	}
	return ret;
}

/* ---- recordings ---- */

static uint32_t result_columns(const struct rknpu_weights *w)
{
	return w->n * rknpu_weights_parts(w);
}

/* Of those before it, how many have as many columns: results want memory of their own. */
static uint32_t alike(const struct rknpu_run *run, uint32_t i)
{
	uint32_t which = 0;

	for (uint32_t j = 0; j < i; j++)
		which += result_columns(run->w[j]) == result_columns(run->w[i]);
	return which;
}

static int add_product(struct rknpu_run *run, uint32_t i)
{
	const struct rknpu_weights *w = run->w[i];
	struct npu_shape y = { w->type == NPU_PREC_INT8 ? NPU_PREC_INT32 : NPU_PREC_FP32, run->m, result_columns(w) };
	int ret = rknpu_run_tensor(run, Y + i, y, alike(run, i));

	if (!ret && !w->part)
		return npu_rec_matmul(run->rec, run->t[X], w->npu, run->t[Y + i], NULL);
	return ret ? ret : rknpu_parts_record(run->rec, run->t[X], w, run->t[Y + i]);
}

static int record(struct rknpu_run *run)
{
	const struct rknpu_weights *w = run->w[0];
	struct npu_shape x = { w->type == NPU_PREC_INT8 ? NPU_PREC_INT8 : NPU_PREC_FP16, run->m, w->from.k };
	int ret = rknpu_run_tensor(run, X, x, 0);

	for (uint32_t i = 0; !ret && i < run->n; i++)
		ret = add_product(run, i);
	return ret;
}

/* Of parts there is no room for many. */
static uint32_t run_rows(const struct rknpu_rows *r)
{
	if (r->out[0].w->part && r->m > 1)
		return (r->m + PART_STEP - 1) / PART_STEP * PART_STEP;
	return rknpu_run_rows(r->m);
}

static int run_for(struct rknpu_context *ctx, const struct rknpu_rows *r, struct rknpu_run **out)
{
	struct rknpu_run want = { .ctx = ctx, .record = record, .m = run_rows(r), .n = r->n };

	for (uint32_t i = 0; i < r->n; i++)
		want.w[i] = r->out[i].w;
	return rknpu_run_get(&want, out);
}

/* ---- products ---- */

static int multiply_rows(struct rknpu_context *ctx, const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_scale scale = { 0 };
	struct rknpu_run *run;
	int ret = run_for(ctx, r, &run);

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	ret = write_x(run->t[X], r, &scale);
	if (!ret)
		ret = rknpu_run_compute(run);
	for (uint32_t i = 0; !ret && i < r->n; i++)
		ret = read_y(run->t[Y + i], &r->out[i], r->m, &scale);
	free(scale.row);
	free(scale.sums);
	if (ret)
		rknpu_run_failed(run, ret, why, size);
	return ret;
}

static bool results_fit(const struct rknpu_rows *r)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; i < r->n; i++)
		columns += result_columns(r->out[i].w);
	return run_rows(r) * columns * sizeof(float) <= (r->out[0].w->part ? MOST_PARTS : MOST_RESULTS);
}

/* Less at a time, if a recording cannot hold the tasks of all, or for less memory. */
int rknpu_multiply(struct rknpu_context *ctx, const struct rknpu_rows *r, char *why, size_t size)
{
	uint32_t parts = r->n > 1 ? r->n : 2, half = r->m / 2;
	bool small = r->m == 1 && r->n == 1;
	int ret = -E2BIG;

	if (small || results_fit(r))
		ret = multiply_rows(ctx, r, why, size);
	if (ret != -E2BIG || small)
		return ret;
	ret = 0;
	for (uint32_t i = 0; !ret && i < parts; i++) {
		struct rknpu_rows part = *r;

		part.n = 1;
		if (r->n > 1) {
			part.out[0] = r->out[i];
		} else {
			part.m = i ? r->m - half : half;
			part.x = rknpu_x_row(r, i ? half : 0);
			part.out[0].y = rknpu_y_row(&r->out[0], i ? half : 0);
		}
		ret = rknpu_multiply(ctx, &part, why, size);
	}
	return ret;
}
