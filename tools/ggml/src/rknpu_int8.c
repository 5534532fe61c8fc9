// SPDX-License-Identifier: MIT
/*
 * Bytes: rows of floats refitted to 8 bits with a scale for each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

enum npu_prec rknpu_prec_of(enum ggml_type type)
{
	const char *want = getenv("RKNPU_GGML_WEIGHTS");

	return want && !strcmp(want, "int8") && ggml_is_quantized(type) ? NPU_PREC_INT8 : NPU_PREC_FP16;
}

static float largest_of(const float *src, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n; i++)
		/* NaN is none of the two, and stays. */
		most = fabsf(src[i]) <= most ? most : fabsf(src[i]);
	return most;
}

float rknpu_to_int8(int8_t *dst, const float *src, size_t n)
{
	float most = largest_of(src, n), by = 127 / most;

	/* A row of zeros, or of so little that the factor is no float. */
	if (!isfinite(by) || !isfinite(most)) {
		memset(dst, 0, n);
		return isfinite(most) ? 0 : NAN;
	}
	for (size_t i = 0; i < n; i++)
		dst[i] = (int8_t)rintf(src[i] * by);
	return most / 127;
}
