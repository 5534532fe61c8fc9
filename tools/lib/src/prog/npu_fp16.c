// SPDX-License-Identifier: MIT
/*
 * Conversion between bit patterns of IEEE binary16 and bf16 and C's float types.
 */
#include <string.h>

#include "npu.h"

#define F64_MANT_BITS	52
#define F16_MANT_BITS	10
#define F16_MIN_EXP	(-14)
#define F16_MAX_EXP	15

/* Drop @drop low bits of @v, to nearest, ties to even; @drop 1 to 63. */
static uint64_t round_shift(uint64_t v, unsigned int drop)
{
	uint64_t half = UINT64_C(1) << (drop - 1);
	uint64_t rest = v & (2 * half - 1);
	uint64_t q = v >> drop;

	if (rest > half || (rest == half && (q & 1)))
		q++;
	return q;
}

uint16_t npu_f64_to_f16(double d)
{
	uint64_t bits, mant;
	uint16_t sign;
	int exp;

	memcpy(&bits, &d, sizeof(bits));
	sign = (uint16_t)(bits >> 48 & 0x8000);
	exp = (int)(bits >> F64_MANT_BITS & 0x7ff);
	mant = bits & ((UINT64_C(1) << F64_MANT_BITS) - 1);

	if (exp == 0x7ff && mant)
		return sign | 0x7e00 | (uint16_t)(mant >> (F64_MANT_BITS - F16_MANT_BITS));
	exp -= 1023;
	if (exp > F16_MAX_EXP)
		return sign | 0x7c00;
	/* Less than half of the smallest subnormal, 2^-24. */
	if (exp < F16_MIN_EXP - F16_MANT_BITS - 1)
		return sign;

	/*
	 * A rounding carry out of the mantissa runs into the exponent above
	 * it, which is the right next number, infinity included.
	 */
	if (exp < F16_MIN_EXP) {
		mant |= UINT64_C(1) << F64_MANT_BITS;
		return sign | (uint16_t)round_shift(mant, (unsigned int)(F64_MANT_BITS -
						    F16_MANT_BITS + F16_MIN_EXP - exp));
	}
	return sign + (uint16_t)(((exp + 15) << F16_MANT_BITS) +
				 round_shift(mant, F64_MANT_BITS - F16_MANT_BITS));
}

uint16_t npu_f32_to_f16(float f)
{
	return npu_f64_to_f16((double)f);
}

float npu_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exp = h >> F16_MANT_BITS & 0x1f;
	uint32_t mant = h & 0x3ff;
	uint32_t bits;
	float f;

	if (exp == 0x1f) {
		bits = sign | 0x7f800000 | mant << 13;
	} else if (exp) {
		bits = sign | (exp + 112) << 23 | mant << 13;
	} else {
		/* Zero or subnormal: mant * 2^-24 is exact in fp32. */
		f = (float)mant * 0x1p-24f;
		memcpy(&bits, &f, sizeof(bits));
		bits |= sign;
	}
	memcpy(&f, &bits, sizeof(f));
	return f;
}

uint16_t npu_f32_to_bf16(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	/* A NaN must not become infinite. */
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)round_shift(bits, 16);
}

float npu_bf16_to_f32(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}
