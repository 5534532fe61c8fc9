// SPDX-License-Identifier: MIT
/*
 * Unit tests of fp16 and bf16 conversion: every value, and every point where rounding
 * changes its mind.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"
#include "tap.h"

/* Value of a finite half from the definition of the format. */
static double value(uint16_t h)
{
	int exp = h >> 10 & 0x1f, mant = h & 0x3ff;
	double v = exp ? ldexp(1024 + mant, exp - 25) : ldexp(mant, -24);

	return h & 0x8000 ? -v : v;
}

static bool is_nan(uint16_t h)
{
	return (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
}

static void test_exact(void)
{
	int wrong = 0, trip = 0;

	for (unsigned int h = 0; h < 0x10000; h++) {
		float f = npu_f16_to_f32((uint16_t)h);

		if (is_nan((uint16_t)h)) {
			wrong += !isnan(f);
			trip += !is_nan(npu_f32_to_f16(f)) ||
				(npu_f32_to_f16(f) ^ h) & 0x8000;
			continue;
		}
		if ((h & 0x7fff) == 0x7c00)
			wrong += !isinf(f) || (f < 0) != (h >> 15);
		else
			wrong += (double)f != value((uint16_t)h) || !!signbit(f) != h >> 15;
		trip += npu_f32_to_f16(f) != h;
	}
	tap_ok(!wrong, "all 65536 values widen exactly");
	tap_ok(!trip, "and come back");
}

/* @lo and @lo + 1 are neighbours; what lies between goes to the nearer one. */
static bool boundary(uint16_t lo, double mid, uint16_t sign)
{
	uint16_t even = lo & 1 ? lo + 1 : lo, hi = lo + 1;
	double s = sign ? -1 : 1;
	float fmid = (float)mid;

	if (npu_f64_to_f16(s * mid) != (even | sign) ||
	    npu_f64_to_f16(s * nextafter(mid, 0)) != (lo | sign) ||
	    npu_f64_to_f16(s * nextafter(mid, INFINITY)) != (hi | sign))
		return false;
	return npu_f32_to_f16((float)s * fmid) == (even | sign) &&
	       npu_f32_to_f16((float)s * nextafterf(fmid, 0)) == (lo | sign) &&
	       npu_f32_to_f16((float)s * nextafterf(fmid, INFINITY)) == (hi | sign);
}

static void test_boundaries(void)
{
	int bad = 0;

	for (unsigned int h = 0; h < 0x7c00; h++) {
		/* 65520 is where the next value would have been 65536. */
		double next = h == 0x7bff ? 65536 : value((uint16_t)(h + 1));
		double mid = (value((uint16_t)h) + next) / 2;

		bad += !boundary((uint16_t)h, mid, 0) || !boundary((uint16_t)h, mid, 0x8000);
	}
	tap_ok(!bad, "all 31744 ties go to even, and their neighbours to the nearer value");
}

static void test_special(void)
{
	tap_ok(npu_f64_to_f16(1e300) == 0x7c00 && npu_f64_to_f16(-INFINITY) == 0xfc00 &&
	       npu_f64_to_f16(1e-300) == 0 && npu_f64_to_f16(-0.0) == 0x8000 &&
	       npu_f32_to_f16(1e-45f) == 0 && npu_f64_to_f16(1.0) == 0x3c00,
	       "infinity, zero and one");
}

/* Every pattern, the points halfway to the next one, and their neighbours. */
static void test_bf16(void)
{
	int exact = 0, wrong = 0;

	for (uint32_t h = 0; h < 0x10000; h++) {
		float f = npu_bf16_to_f32((uint16_t)h), half, below, above;
		uint32_t bits = h << 16 | 0x8000;

		if (isnan(f)) {
			exact += !isnan(npu_bf16_to_f32(npu_f32_to_bf16(f)));
			continue;
		}
		exact += npu_f32_to_bf16(f) != h;
		if (isinf(f))
			continue;
		memcpy(&half, &bits, sizeof(half));
		bits--;
		memcpy(&below, &bits, sizeof(below));
		bits += 2;
		memcpy(&above, &bits, sizeof(above));
		wrong += npu_f32_to_bf16(half) != h + (h & 1);
		wrong += npu_f32_to_bf16(below) != h || npu_f32_to_bf16(above) != h + 1;
	}
	tap_ok(!exact, "bf16 is exact in fp32 and back: %d are not", exact);
	tap_ok(!wrong, "fp32 to bf16 is the nearest, ties to even: %d are not", wrong);
}

int main(void)
{
	test_exact();
	test_boundaries();
	test_special();
	test_bf16();
	return tap_done();
}
