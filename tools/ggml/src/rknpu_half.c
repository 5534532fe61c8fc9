// SPDX-License-Identifier: MIT
/*
 * Halves: conversion of rows of floats, and powers of 2 that keep them in range.
 */
#include <math.h>
#include <string.h>

#include "rknpu_ggml.h"

/* Exponents that need no scale, and the one that a scale aims at. */
#define LEAST_EXP	(-4)
#define MOST_EXP	14
#define GOOD_EXP	8
/* What is smaller becomes 0: the factor would not be a float. */
#define SMALLEST_EXP	(-100)

float rknpu_scale_for(float largest)
{
	int e;

	if (!(largest > 0) || isinf(largest))
		return 1;
	e = ilogbf(largest);
	e = e < SMALLEST_EXP ? SMALLEST_EXP : e;
	return e >= LEAST_EXP && e <= MOST_EXP ? 1 : scalbnf(1, e - GOOD_EXP);
}

/* The patterns of magnitudes are ordered as their values are, and NaN is above infinity. */
float rknpu_to_half(uint16_t *dst, const float *src, size_t n, float scale)
{
	uint32_t most = 0, bits;
	float by = 1 / scale, largest;
	_Float16 h;

	for (size_t i = 0; i < n; i++) {
		memcpy(&bits, &src[i], sizeof(bits));
		bits &= 0x7fffffff;
		most = bits > most ? bits : most;
		h = (_Float16)(src[i] * by);
		memcpy(&dst[i], &h, sizeof(h));
	}
	memcpy(&largest, &most, sizeof(largest));
	return isnan(largest) ? INFINITY : largest;
}
