/* SPDX-License-Identifier: MIT */
/*
 * Whether tensors take and give floats as the conversions of single numbers do, for bits of any kind,
 * rows that are not dense, and columns that end inside an atom.
 */
#ifndef FLOATS_H
#define FLOATS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"

#define FLOATS_ROWS	70u
#define FLOATS_COLS	150u
#define FLOATS_LD	157u

static inline uint32_t floats_next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed ^ *seed >> 16;
}

/* Any bits; ties; what rounds up to infinity; NaN of all kinds. */
static inline float floats_any(uint32_t *seed, uint32_t i)
{
	uint32_t bits = floats_next(seed);
	float v;

	if (i % 4 == 1)
		return (float)(int32_t)(bits % 1024 - 512) / 4;
	if (i % 61 == 2)
		bits |= 0x7f800000;
	if (i % 4 == 3)
		bits = (bits & 0xbfff8000) | 0x30008000;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline bool floats_element(const void *raw, size_t i, enum npu_prec type, float v)
{
	if (type == NPU_PREC_INT8)
		return ((const int8_t *)raw)[i] == (isnan(v) ? 0 : (int8_t)rintf(fminf(fmaxf(v, -128), 127)));
	return ((const uint16_t *)raw)[i] == (type == NPU_PREC_FP16 ? npu_f32_to_f16(v) : npu_f32_to_bf16(v));
}

static inline bool floats_number(const void *raw, size_t i, enum npu_prec type, float scale, float got)
{
	float want = (type == NPU_PREC_INT8 ? ((const int8_t *)raw)[i] :
		      type == NPU_PREC_FP16 ? npu_f16_to_f32(((const uint16_t *)raw)[i]) :
					      npu_bf16_to_f32(((const uint16_t *)raw)[i])) * scale;

	return isnan(want) ? isnan(got) : want == got;
}

/* Elements that are wrong, or a negative errno. */
static inline long floats_wrong(struct npu_dev *dev, enum npu_prec type, float scale)
{
	uint32_t seed = 5 + type;
	float *f = malloc(FLOATS_ROWS * FLOATS_LD * sizeof(*f)), *back = calloc(FLOATS_ROWS * FLOATS_LD, sizeof(*back));
	uint16_t *raw = calloc(FLOATS_ROWS * FLOATS_COLS, sizeof(*raw));
	struct npu_tensor *t = NULL;
	long wrong = 0, ret;

	for (uint32_t i = 0; i < FLOATS_ROWS * FLOATS_LD; i++)
		f[i] = floats_any(&seed, i);
	ret = npu_tensor_new(dev, type, FLOATS_ROWS, FLOATS_COLS, &t);
	ret = ret ? ret : npu_tensor_write_f32(t, f, FLOATS_LD, scale);
	ret = ret ? ret : npu_tensor_read(t, raw, 0);
	ret = ret ? ret : npu_tensor_read_f32(t, back, FLOATS_LD, scale);
	for (uint32_t r = 0; r < FLOATS_ROWS && !ret; r++)
		for (uint32_t c = 0; c < FLOATS_LD; c++) {
			size_t at = r * FLOATS_LD + c, i = r * FLOATS_COLS + c;

			if (c < FLOATS_COLS)
				wrong += !floats_element(raw, i, type, f[at] / scale) ||
					 !floats_number(raw, i, type, scale, back[at]);
			else
				wrong += back[at] != 0;
		}
	npu_tensor_free(t);
	free(f);
	free(back);
	free(raw);
	return ret ? ret : wrong;
}

#endif /* FLOATS_H */
