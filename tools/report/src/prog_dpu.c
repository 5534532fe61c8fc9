// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of the DPU's stages BS, BN and EW.
 */
#include <math.h>

#include "report.h"

/* BS_CFG and BN_CFG */
#define ALU_BYPASS	NPU_MASK_DPU_BS_CFG_ALU_BYPASS
#define MUL_BYPASS	NPU_MASK_DPU_BS_CFG_MUL_BYPASS
#define MUL_PRELU	NPU_MASK_DPU_BS_CFG_MUL_PRELU
#define RELU_BYPASS	NPU_MASK_DPU_BS_CFG_RELU_BYPASS
#define ALU_FROM_MEMORY	NPU_MASK_DPU_BS_CFG_ALU_SRC
/* of EW_CFG as well */
#define ALGO(a)		NPU_PUT(DPU_BS_CFG_ALU_ALGO, NPU_CODE_ALU_##a)

/* EW_CFG: nothing but the operation */
#define EW_CVT_BYPASS	NPU_MASK_DPU_EW_CFG_OP_CVT_BYPASS
#define EW_ONLY		(NPU_MASK_DPU_EW_CFG_LUT_BYPASS | EW_CVT_BYPASS | NPU_MASK_DPU_EW_CFG_RELU_BYPASS)
#define EW_MUL		NPU_MASK_DPU_EW_CFG_OP_TYPE
#define EW_CVT_AWAY	NPU_MASK_DPU_EW_CFG_CVT_ROUND
#define EW_CVT_FIRST	NPU_MASK_DPU_EW_CFG_CVT_TYPE

#define BN_SHIFT_NEG(n)	NPU_PUT(DPU_DATA_FORMAT_BN_MUL_SHIFT_NEG, n)

static void prelu_shift(struct trial *t)
{
	const double v[] = { 10, 20, -10, -20 };
	const double shifted[] = { 5, 10, -15, -30 }, spared[] = { 10, 20, -15, -30 };
	struct rp_fly f = { RP_INT32, RP_INT32, .n = RP_COUNT(v) };

	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_BN_CFG, ALU_BYPASS | MUL_PRELU | RELU_BYPASS);
	rp_set(t, OFF_DPU_BN_MUL_CFG, 3 << 16 | 1 << 8);
	rp_bits(t, OFF_DPU_DATA_FORMAT, BN_SHIFT_NEG(63), BN_SHIFT_NEG(1));
	rp_fly_run(t, &f);
	rp_model(t, "what PReLU spares is shifted", shifted);
	rp_other_reading(t, "what PReLU spares is left alone", spared);
}

/* (v * 3 + 1) / 2 before its sum is rounded, or v * 3 / 2, rounded, plus 1. */
static void bn_wide(struct trial *t)
{
	const double v[] = { 1, 3, 5, 7 };
	double wide[4], narrow[4];
	struct rp_fly f = { RP_INT32, RP_INT32, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 4; i++) {
		wide[i] = rp_even(v[i] * 3 + 1, 1);
		narrow[i] = rp_even(v[i] * 3, 1) + 1;
	}
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_BN_CFG, RELU_BYPASS | ALGO(ADD));
	rp_set(t, OFF_DPU_BN_ALU_CFG, 1);
	rp_set(t, OFF_DPU_BN_MUL_CFG, 3 << 16 | 1 << 8);
	rp_fly_run(t, &f);
	rp_model(t, "BN adds to the wide product and shifts the sum", wide);
	rp_other_reading(t, "BN shifts the product, then adds", narrow);
}

/* BS adds beyond 32 bits, then BN takes 1 off. */
static void stage_saturates(struct trial *t)
{
	const double v[] = { 2147483647, 2147483000, -5, 100 };
	double sat[4], wide[4], wrap[4];
	struct rp_fly f = { RP_INT32, RP_INT32, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 4; i++) {
		double sum = v[i] + 2147483647.0;

		sat[i] = fmin(sum, 2147483647.0) - 1;
		wide[i] = fmin(sum - 1, 2147483647.0);
		wrap[i] = (int32_t)(uint32_t)(int64_t)(sum - 1);
	}
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_BS_CFG, MUL_BYPASS | RELU_BYPASS | ALGO(ADD));
	rp_set(t, OFF_DPU_BS_ALU_CFG, 0x7fffffff);
	rp_set(t, OFF_DPU_BN_CFG, MUL_BYPASS | RELU_BYPASS | ALGO(MINUS));
	rp_set(t, OFF_DPU_BN_ALU_CFG, 1);
	rp_fly_run(t, &f);
	rp_model(t, "sums saturate to 32 bits between BS and BN", sat);
	rp_other_reading(t, "sums are wider between BS and BN", wide);
	rp_other_reading(t, "sums wrap between BS and BN", wrap);
}

static void stage_waits(struct trial *t)
{
	const double v[] = { 1, 2, 3, 4 };
	struct rp_fly f = { RP_INT32, RP_INT32, .n = RP_COUNT(v) };

	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_BS_CFG, MUL_BYPASS | RELU_BYPASS | ALU_FROM_MEMORY | ALGO(ADD));
	rp_set(t, OFF_RDMA_BRDMA_CFG, 4 << 1);
	rp_fly_run(t, &f);
	rp_model_hangs(t, "a stage waits for operands that nothing fetches");
	rp_other_reading(t, "operands that nothing fetches are 0", v);
}

/* ---- EW ---- */

static void ew_div(struct trial *t)
{
	const double v[] = { 1, 2, 10, 1, -7, 22, 355, 1 };
	const double d[] = { 3, 3, 7, 10, 9, 7, 113, 49 };
	double exact[8], recip[8], half[8];
	struct rp_fly f = { RP_FP32, RP_FP32, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 8; i++) {
		float r = 1.0f / (float)d[i];

		exact[i] = (float)v[i] / (float)d[i];
		recip[i] = (float)v[i] * r;
		half[i] = (float)v[i] * (float)(_Float16)r;
	}
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_ONLY | ALGO(DIV));
	rp_fly_operand(t, &f, d);
	rp_fly_run(t, &f);
	rp_model(t, "quotients are exact to one rounding", exact);
	rp_other_reading(t, "quotients are products with a rounded reciprocal", recip);
	rp_other_reading(t, "quotients are products with a reciprocal of a half", half);
}

/* 5 is taken from, or is at most: what shifts, and by which sign? */
static void truncate_alu(struct trial *t, uint32_t algo, bool largest, const char *shifts,
			 const char *none)
{
	const double v[] = { 8, -8, 100, -100, 12, -12, 1, -1 };
	double by_sign[8], plain[8];
	struct rp_fly f = { RP_INT32, RP_INT32, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 8; i++) {
		plain[i] = largest ? fmax(v[i], 5) : v[i] - 5;
		by_sign[i] = rp_even(plain[i], plain[i] < 0 ? 1 : 2);
	}
	rp_clear(t);
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_ONLY | algo);
	for (unsigned int i = 0; i < 8; i++)
		rp_set(t, OFF_DPU_EW_OP_VALUE_0 + 4 * i, 5);
	rp_set(t, OFF_DPU_EW_CVT_SCALE, 2 << 22 | 1);
	rp_bits(t, OFF_DPU_DATA_FORMAT, 0x3ff << 16, 1 << 16);
	rp_fly_run(t, &f);
	rp_model(t, shifts, by_sign);
	rp_other_reading(t, none, plain);
}

static void ew_truncate(struct trial *t)
{
	const double v[] = { 8, -8, 100, -100, 12, -12, 1, -1 };
	double by_sign[8], one[8];
	struct rp_fly f = { RP_INT32, RP_INT32, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 8; i++) {
		by_sign[i] = rp_even(v[i] * 5, v[i] < 0 ? 1 : 2);
		one[i] = rp_even(v[i] * 5, 2);
	}
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_ONLY | EW_MUL);
	for (unsigned int i = 0; i < 8; i++)
		rp_set(t, OFF_DPU_EW_OP_VALUE_0 + 4 * i, 5);
	rp_set(t, OFF_DPU_EW_CVT_SCALE, 2 << 22 | 1);
	rp_bits(t, OFF_DPU_DATA_FORMAT, 0x3ff << 16, 1 << 16);
	rp_fly_run(t, &f);
	rp_model(t, "EW_TRUNCATE shifts products by their sign", by_sign);
	rp_other_reading(t, "EW_TRUNCATE shifts all products alike", one);
	truncate_alu(t, ALGO(MINUS), false, "EW_TRUNCATE shifts differences",
		     "EW_TRUNCATE leaves differences alone");
	truncate_alu(t, ALGO(MAX), true, "EW_TRUNCATE shifts maxima",
		     "EW_TRUNCATE leaves maxima alone");
}

/* Operands times 3, over 2, with an offset of 5; the main input is 0. */
static void ew_cvt(struct trial *t)
{
	const double zero[8] = { 0 }, e[] = { 1, 3, -1, -3, 2, 5, -5, 7 };
	double sum[8], last[8], first[8], away[8], down[8];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(e) };

	for (unsigned int i = 0; i < 8; i++) {
		sum[i] = rp_even(e[i] * 3 + 10, 1);
		last[i] = rp_even(e[i] * 3, 1) + 5;
		first[i] = rp_even((e[i] + 5) * 3, 1);
		away[i] = rp_away(e[i] * 3 + 10, 1);
		down[i] = ceil(e[i] * 3 / 2 - 0.5) + 5;
	}
	rp_fly(t, &f, zero);
	rp_set(t, OFF_DPU_EW_CFG, (EW_ONLY & ~EW_CVT_BYPASS) | ALGO(ADD));
	rp_fly_operand(t, &f, e);
	rp_set(t, OFF_DPU_EW_CVT_OFFSET, 5);
	rp_set(t, OFF_DPU_EW_CVT_SCALE, 1 << 16 | 3);
	rp_fly_run(t, &f);
	rp_model(t, "the operand's offset is in what is rounded, ties go to even", sum);
	rp_other_reading(t, "the operand's offset comes last", last);
	rp_other_reading(t, "the operand's offset comes first", first);
	rp_other_reading(t, "the operand's ties go away from zero", away);
	rp_other_reading(t, "the operand's ties go down", down);
	for (unsigned int i = 0; i < 8; i++)
		away[i] = rp_away((e[i] + 5) * 3, 1);
	rp_clear(t);
	rp_fly(t, &f, zero);
	rp_set(t, OFF_DPU_EW_CFG, (EW_ONLY & ~EW_CVT_BYPASS) | ALGO(ADD));
	rp_fly_operand(t, &f, e);
	rp_bits(t, OFF_DPU_EW_CFG, EW_CVT_FIRST | EW_CVT_AWAY, EW_CVT_FIRST | EW_CVT_AWAY);
	rp_set(t, OFF_DPU_EW_CVT_OFFSET, 5);
	rp_set(t, OFF_DPU_EW_CVT_SCALE, 1 << 16 | 3);
	rp_fly_run(t, &f);
	rp_model(t,
		 "bit 31 of EW_CFG adds the operand's offset first, bit 30 rounds away from zero",
		 away);
	rp_other_reading(t, "bits 30 and 31 of EW_CFG change nothing", last);
	rp_other_reading(t, "bit 31 of EW_CFG adds first, bit 30 changes nothing", first);
}

/* Would the converter, had it a say, make 7 of an operand of 1? */
static void ew_bypass(struct trial *t)
{
	const double v[] = { 10, 20, 30, 40 }, e[] = { 1, -2, 300, -400 };
	double sum[4];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 4; i++)
		sum[i] = v[i] + e[i];
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_ONLY | ALGO(ADD));
	rp_fly_operand(t, &f, e);
	rp_set(t, OFF_DPU_EW_CVT_OFFSET, 5);
	rp_set(t, OFF_DPU_EW_CVT_SCALE, 2);
	rp_fly_run(t, &f);
	rp_model(t, "halfwords that go round the converter count as they are", sum);
	rp_other_reading(t, "halfwords that go round the converter are 0", v);
}

static void erdma_halves(struct trial *t)
{
	const double v[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, e[] = { 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4 };
	double sum[8];
	struct rp_fly f = { RP_FP16, RP_FP16, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < 8; i++)
		sum[i] = v[i] + e[i];
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, (EW_ONLY & ~EW_CVT_BYPASS) | ALGO(ADD));
	rp_fly_operand(t, &f, e);
	rp_fly_run(t, &f);
	rp_model(t, "a flying DPU computes with halves of ERDMA alone", sum);
	rp_other_reading(t, "halves of ERDMA alone are 0", v);
}

static double half_of(double q, int bits)
{
	int exp;

	frexp(q, &exp);
	exp -= bits + 1;
	return (double)(_Float16)ldexp(trunc(ldexp(q, -exp)), exp);
}

/* Each is above a tie by another one of the bits behind it. */
static void div_halves(struct trial *t)
{
	const double v[] = { 17, 9, 5, 3, 19, 5, 7, 34 };
	const double d[] = { 11, 7, 3, 5, 11, 7, 9, 11 };
	static const char *const cut[] = {
		"quotients of halves are cut to 11 bits of fraction, then rounded",
		"quotients of halves are cut to 12 bits of fraction, then rounded",
		"quotients of halves are cut to 13 bits of fraction, then rounded",
		"quotients of halves are cut to 14 bits of fraction, then rounded",
	};
	double want[8];
	struct rp_fly f = { RP_FP16, RP_FP16, .n = RP_COUNT(v) };

	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_ONLY | ALGO(DIV));
	rp_fly_operand(t, &f, d);
	/* Neither side is widened. */
	rp_bits(t, OFF_RDMA_FEATURE_MODE_CFG, 1 << 3, 0);
	rp_bits(t, OFF_DPU_OUT_CVT_SCALE, 1 << 16, 0);
	rp_fly_run(t, &f);
	for (unsigned int i = 0; i < 8; i++)
		want[i] = half_of(v[i] / d[i], 13);
	rp_model(t, cut[2], want);
	for (int bits = 11; bits <= 14; bits++) {
		for (unsigned int i = 0; i < 8; i++)
			want[i] = half_of(v[i] / d[i], bits);
		if (bits != 13)
			rp_other_reading(t, cut[bits - 11], want);
	}
	for (unsigned int i = 0; i < 8; i++)
		want[i] = (double)(_Float16)(v[i] / d[i]);
	rp_other_reading(t, "quotients of halves are exact to one rounding", want);
}

const struct rp_program rp_dpu[] = {
	RP_TRY("stage-waits", "a stage whose operands nothing fetches", stage_waits),
	RP_TRY("prelu-shift", "shift of what PReLU spares", prelu_shift),
	RP_TRY("bn-wide", "sum and shift of BN", bn_wide),
	RP_TRY("stage-saturates", "integers beyond 32 bits between stages", stage_saturates),
	RP_TRY("ew-div", "division of floats", ew_div),
	RP_TRY("erdma-halves", "halves that ERDMA alone fetches for a flying DPU", erdma_halves),
	RP_TRY("ew-truncate", "EW_TRUNCATE by the sign of results", ew_truncate),
	RP_TRY("ew-bypass", "EW operands that go round the converter", ew_bypass),
	RP_TRY("ew-cvt", "order and ties of the EW operand's conversion", ew_cvt),
	RP_TRY("div-halves", "division of halves that nothing widens", div_halves),
	{ 0 }
};
