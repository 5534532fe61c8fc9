// SPDX-License-Identifier: MIT
/*
 * Owns products whose weights are multiplied in parts of their columns: the results of all parts lie side by side, and the
 * CPU adds them up, with a scale for each part where weights have those.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ops.h"

/* ---- recordings ---- */

static int add_part(struct npu_rec *rec, struct npu_tensor *x, const struct rknpu_weights *w, struct npu_tensor *y,
		    uint32_t part)
{
	uint32_t from = part * w->part, left = w->from.k - from, rows = npu_tensor_shape(x).rows;
	struct npu_tensor *x_part = NULL, *y_part = NULL;
	struct npu_weights *npu = NULL;
	int ret = npu_tensor_view(x, 0, rows, from, left < w->part ? left : w->part, &x_part);

	if (!ret)
		ret = npu_tensor_view(y, 0, rows, part * w->n, w->n, &y_part);
	if (!ret)
		ret = npu_weights_part(w->npu, part, &npu);
	if (!ret)
		ret = npu_rec_matmul(rec, x_part, npu, y_part, NULL);
	npu_tensor_free(x_part);
	npu_tensor_free(y_part);
	npu_weights_free(npu);
	return ret;
}

int rknpu_parts_record(struct npu_rec *rec, struct npu_tensor *x, const struct rknpu_weights *w, struct npu_tensor *y)
{
	int ret = 0;

	for (uint32_t part = 0; !ret && part < rknpu_weights_parts(w); part++)
		ret = add_part(rec, x, w, y, part);
	return ret;
}

/* ---- activations ---- */

/* The numbers that the NPU has: halves, divided by the scale. */
static void add_up(float *sums, const void *x, enum ggml_type type, uint32_t k, uint32_t part, float by)
{
	_Float16 h;

	for (uint32_t i = 0; i < k; i++) {
		if (type == GGML_TYPE_F16)
			memcpy(&h, (const char *)x + i * sizeof(h), sizeof(h));
		else
			h = (_Float16)(((const float *)x)[i] * by);
		sums[i / part] += (float)h;
	}
}

int rknpu_parts_sum(const struct rknpu_rows *r, struct rknpu_scale *s)
{
	const struct rknpu_weights *w = r->out[0].w;
	uint32_t parts = rknpu_weights_parts(w);
	bool wanted = false;

	for (uint32_t i = 0; i < r->n; i++)
		wanted = wanted || r->out[i].w->offsets;
	if (!wanted)
		return 0;
	s->sums = calloc((size_t)r->m * parts, sizeof(*s->sums));
	for (uint32_t m = 0; s->sums && m < r->m; m++)
		add_up(s->sums + (size_t)m * parts, rknpu_x_row(r, m), r->x_type, w->from.k, w->part,
		       1 / rknpu_scale_of(s, m));
	return s->sums ? 0 : -ENOMEM;
}

/* ---- results ---- */

static void part_scales(float *scale, const struct rknpu_weights *w, uint32_t part)
{
	for (uint32_t i = 0; i < w->from.n; i++)
		scale[i] = w->row_scale ? w->row_scale[i] : (float)w->scales[(size_t)part * w->n + i];
}

static int read_part(struct npu_tensor *y, const struct rknpu_weights *w, uint32_t part, float *scale, float *sum)
{
	struct npu_tensor *view;
	int ret = npu_tensor_view(y, 0, npu_tensor_shape(y).rows, part * w->n, w->n, &view);

	if (ret)
		return ret;
	part_scales(scale, w, part);
	ret = npu_tensor_read_scaled(view, sum, 0, scale, part);
	npu_tensor_free(view);
	return ret;
}

/* @x has the sums of each part of a row; @offset has room for the columns. */
static void add_offsets(float *sum, const struct rknpu_weights *w, uint32_t part, uint32_t rows, const float *x,
			float *offset)
{
	for (uint32_t i = 0; i < w->from.n; i++)
		offset[i] = (float)w->offsets[(size_t)part * w->n + i];
	for (uint32_t m = 0; m < rows; m++, sum += w->n) {
		float by = x[(size_t)m * rknpu_weights_parts(w) + part];

		for (uint32_t i = 0; i < w->from.n; i++)
			sum[i] += by * offset[i];
	}
}

int rknpu_parts_read(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows, const struct rknpu_scale *s)
{
	const struct rknpu_weights *w = out->w;
	float *sum = malloc((size_t)npu_tensor_shape(y).rows * w->n * sizeof(*sum));
	float *scale = calloc(w->n, sizeof(*scale));
	int ret = sum && scale ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < rknpu_weights_parts(w); i++) {
		ret = read_part(y, w, i, scale, sum);
		if (!ret && w->offsets)
			add_offsets(sum, w, i, rows, s->sums, scale);
	}
	for (uint32_t m = 0; !ret && m < rows; m++) {
		const float *row = sum + (size_t)m * w->n;
		float by = rknpu_scale_of(s, m);

		for (uint32_t i = 0; i < w->from.n; i++)
			rknpu_y_row(out, m)[i] = row[i] * by;
	}
	free(sum);
	free(scale);
	return ret;
}
