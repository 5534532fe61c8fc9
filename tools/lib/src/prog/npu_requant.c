// SPDX-License-Identifier: MIT
/*
 * Requantisation of int32 accumulators to int8 as the DPU's output converter
 * does it.
 */
#include <errno.h>

#include "npu_task.h"

#define SCALE_MAX	0x7fff
#define SHIFT_MAX	47

int npu_requant_check(const struct npu_requant *rq)
{
	if (rq->scale < 1 || rq->scale > SCALE_MAX || rq->shift > SHIFT_MAX)
		return -ERANGE;
	if (rq->zp < -128 || rq->zp > 127)
		return -ERANGE;
	return 0;
}

int npu_requant_from_double(double factor, int32_t zp, struct npu_requant *rq)
{
	double frac, scale;
	int exp, shift;

	if (!(factor >= 0x1p-32) || factor > 16383.0 || zp < -128 || zp > 127)
		return -ERANGE;
	/* factor = frac * 2^exp, frac in [0.5, 1): scale = frac * 2^15 */
	frac = factor;
	for (exp = 0; frac >= 1.0; exp++)
		frac /= 2;
	for (; frac < 0.5; exp--)
		frac *= 2;
	scale = frac * 0x1p15;
	shift = 15 - exp;
	scale = (double)(int64_t)(scale + 0.5);
	if (scale > SCALE_MAX) {
		scale /= 2;
		shift--;
	}
	rq->scale = (uint16_t)scale;
	rq->shift = (uint8_t)shift;
	rq->zp = zp;
	return 0;
}

int8_t npu_requant_apply(const struct npu_requant *rq, int64_t acc)
{
	int64_t p = acc * rq->scale;
	int64_t q = p + rq->zp, half, rest;

	if (rq->shift) {
		/* Arithmetic shift floors; the rest is then never negative. */
		half = INT64_C(1) << (rq->shift - 1);
		q = p >> rq->shift;
		rest = p - q * (half * 2);
		q += rq->zp;
		if (rest > half || (rest == half && (q & 1)))
			q++;
	}
	if (q > 127)
		q = 127;
	if (q < -128)
		q = -128;
	return (int8_t)q;
}
