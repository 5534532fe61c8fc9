// SPDX-License-Identifier: MIT
/*
 * Tensors as numbers: from and to floats with a scale, and where the largest is.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "npu_compute.h"

/* rintf() in the default mode rounds ties to even. */
static int8_t to_int8(float v)
{
	return isnan(v) ? 0 : v > 127 ? 127 : v < -128 ? -128 : (int8_t)rintf(v);
}

static void store(uint8_t *p, enum npu_prec type, float v)
{
	uint16_t h;

	switch (type) {
	case NPU_PREC_INT8:
		*p = (uint8_t)to_int8(v);
		break;
	case NPU_PREC_FP16:
		h = npu_f32_to_f16(v);
		memcpy(p, &h, sizeof(h));
		break;
	case NPU_PREC_BF16:
		h = npu_f32_to_bf16(v);
		memcpy(p, &h, sizeof(h));
		break;
	default:
		memcpy(p, &v, sizeof(v));
	}
}

static float load(const uint8_t *p, enum npu_prec type)
{
	int32_t i;
	uint16_t h;
	float v;

	switch (type) {
	case NPU_PREC_INT8:
		return (int8_t)*p;
	case NPU_PREC_FP16:
		memcpy(&h, p, sizeof(h));
		return npu_f16_to_f32(h);
	case NPU_PREC_BF16:
		memcpy(&h, p, sizeof(h));
		return npu_bf16_to_f32(h);
	case NPU_PREC_INT16:
		memcpy(&h, p, sizeof(h));
		return (int16_t)h;
	case NPU_PREC_INT32:
		memcpy(&i, p, sizeof(i));
		return (float)i;
	default:
		memcpy(&v, p, sizeof(v));
		return v;
	}
}

/* As load(), and words without rounding. */
static double load_exact(const uint8_t *p, enum npu_prec type)
{
	int32_t i;

	if (type != NPU_PREC_INT32)
		return load(p, type);
	memcpy(&i, p, sizeof(i));
	return i;
}

static uint8_t *element(const struct npu_tensor *t, uint32_t row, uint32_t col)
{
	uint32_t lanes = npu_tensor_lanes(t);

	return npu_tensor_atom(t, col / lanes, row) +
	       col % lanes * npu_prec_bytes(t->shape.type);
}

static bool args_ok(const struct npu_tensor *t, size_t *ld, float scale)
{
	*ld = *ld ? *ld : t->shape.cols;
	return *ld >= t->shape.cols && scale > 0 && isfinite(scale) && t->shape.type != NPU_PREC_INT4;
}

static uint64_t payload(const struct npu_tensor *t)
{
	return (uint64_t)t->shape.rows * t->shape.cols * npu_prec_bytes(t->shape.type);
}

int npu_tensor_write_f32(struct npu_tensor *t, const float *src, size_t ld, float scale)
{
	int ret;

	if (!args_ok(t, &ld, scale) || t->shape.type == NPU_PREC_INT32 || t->shape.type == NPU_PREC_INT16)
		return -EINVAL;
	ret = npu_tensor_begin(t, true);
	if (ret)
		return ret;
	for (uint32_t r = 0; r < t->shape.rows; r++)
		for (uint32_t c = 0; c < t->shape.cols; c++)
			store(element(t, r, c), t->shape.type, src[r * ld + c] / scale);
	npu_dev_stats(t->dev)->packed += payload(t);
	return npu_tensor_end(t);
}

int npu_tensor_read_f32(struct npu_tensor *t, float *dst, size_t ld, float scale)
{
	int ret;

	if (!args_ok(t, &ld, scale))
		return -EINVAL;
	ret = npu_tensor_begin(t, false);
	if (ret)
		return ret;
	for (uint32_t r = 0; r < t->shape.rows; r++)
		for (uint32_t c = 0; c < t->shape.cols; c++)
			dst[r * ld + c] = load(element(t, r, c), t->shape.type) * scale;
	npu_dev_stats(t->dev)->unpacked += payload(t);
	return 0;
}

static uint32_t largest(const struct npu_tensor *t, uint32_t row)
{
	double most = -INFINITY;
	uint32_t at = UINT32_MAX;

	for (uint32_t c = 0; c < t->shape.cols; c++) {
		double v = load_exact(element(t, row, c), t->shape.type);

		if (v > most || (at == UINT32_MAX && v == most)) {
			most = v;
			at = c;
		}
	}
	return at == UINT32_MAX ? 0 : at;
}

int npu_tensor_argmax(struct npu_tensor *t, uint32_t *col)
{
	int ret = t->shape.type == NPU_PREC_INT4 ? -EINVAL : npu_tensor_begin(t, false);

	for (uint32_t r = 0; !ret && r < t->shape.rows; r++)
		col[r] = largest(t, r);
	return ret;
}
