// SPDX-License-Identifier: MIT
/*
 * Activations into the NPU and results out of it: halves with a scale for all, or bytes with one
 * for each row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

const void *rknpu_x_row(const struct rknpu_rows *r, uint32_t m)
{
	return (const char *)r->x + m * r->x_stride;
}

float *rknpu_y_row(const struct rknpu_result *y, uint32_t m)
{
	return (float *)((char *)y->y + m * y->y_stride);
}

static float convert(uint16_t *dst, const struct rknpu_rows *r, uint32_t k, float scale)
{
	float most = 0;

	for (uint32_t m = 0; m < r->m; m++) {
		float largest = rknpu_to_half(dst + (size_t)m * k, rknpu_x_row(r, m), k, scale);

		most = largest > most ? largest : most;
	}
	return most;
}

static int write_halves(struct npu_tensor *x, const struct rknpu_rows *r, uint32_t k, float *scale)
{
	uint16_t *halves;
	float wanted;
	int ret;

	*scale = 1;
	if (r->x_type == GGML_TYPE_F16)
		return npu_tensor_write(x, r->x, r->x_stride / sizeof(*halves));
	halves = malloc((size_t)r->m * k * sizeof(*halves));
	if (!halves)
		return -ENOMEM;
	wanted = rknpu_scale_for(convert(halves, r, k, 1));
	if (wanted != 1)
		convert(halves, r, k, wanted);
	*scale = wanted;
	ret = npu_tensor_write(x, halves, 0);
	free(halves);
	return ret;
}

static void row_to_int8(int8_t *dst, const struct rknpu_rows *r, uint32_t m, uint32_t k, float *floats,
			float *scale)
{
	const float *src = rknpu_x_row(r, m);

	if (r->x_type == GGML_TYPE_F16) {
		ggml_fp16_to_fp32_row(rknpu_x_row(r, m), floats, k);
		src = floats;
	}
	*scale = rknpu_to_int8(dst, src, k);
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
		ret = npu_tensor_write(x, bytes, 0);
	}
	free(bytes);
	free(floats);
	return ret;
}

int rknpu_write_x(struct npu_tensor *x, const struct rknpu_rows *r, struct rknpu_scale *s)
{
	const struct rknpu_weights *w = r->out[0].w;

	if (w->type == NPU_PREC_INT8)
		return write_int8(x, r, w->from.k, s);
	return write_halves(x, r, w->from.k, &s->all);
}

/* Sums are read to where the floats are to be. */
static int read_int32(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows,
		      const struct rknpu_scale *s)
{
	int ret = npu_tensor_read(y, out->y, out->y_stride / sizeof(float));

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

int rknpu_read_y(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows,
		 const struct rknpu_scale *s)
{
	float scale = s->all * out->w->scale;
	int ret;

	if (out->w->type == NPU_PREC_INT8)
		return read_int32(y, out, rows, s);
	ret = npu_tensor_read(y, out->y, out->y_stride / sizeof(float));
	for (uint32_t m = 0; !ret && scale != 1 && m < rows; m++)
		for (uint32_t i = 0; i < out->w->from.n; i++)
			rknpu_y_row(out, m)[i] *= scale;
	return ret;
}
