// SPDX-License-Identifier: MIT
/*
 * Functions by the LUT: two tables of 512 steps that meet at index 0, for halves.
 *
 * BN makes an index of the operand, EW looks it up, and OUT_CVT makes a number of the
 * code that it found. The registers are those of rocket-userspace's activations, which
 * were validated on RK3588.
 */
#include <math.h>

#include "npu_internal.h"

#define STEPS		512
#define STEP_SHIFT	5
#define EDGE		(STEPS << STEP_SHIFT)	/* indices are -EDGE to EDGE */
#define ALU_ADD		2
#define MUX		2
#define TABLE_WRITE	1

/*
 * Numbers are index = x * per_one + zero. Zero is not index 0, where both tables end: an
 * operand of exactly 0 there gave spikes on silicon (rocket-userspace).
 */
struct npu_table {
	double (*f)(double x);
	int32_t per_one;	/* a power of 2 */
	int32_t zero;
	uint32_t bits;		/* codes are f(x) - lo in units of 2^-bits */
	int32_t lo;
};

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double exp_to_one(double x)
{
	return x < 0 ? exp(x) : 1;
}

static double normal(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

#define STEP		(1 << STEP_SHIFT)
#define HALF_STEP	(STEP / 2)

static const struct npu_table sigmoid_table = { sigmoid, 1024, HALF_STEP, 15, 0 };
static const struct npu_table tanh_table = { tanh, 2048, HALF_STEP, 14, -1 };
/* The bend at 0 is where a step ends. */
static const struct npu_table exp_table = { exp_to_one, 2048, EDGE - STEP, 15, 0 };
static const struct npu_table normal_table = { normal, 2048, HALF_STEP, 15, 0 };

const struct npu_table *npu_table_of(enum npu_act act)
{
	switch (act) {
	case NPU_ACT_SIGMOID:
		return &sigmoid_table;
	case NPU_ACT_TANH:
		return &tanh_table;
	case NPU_ACT_EXP:
		return &exp_table;
	default:
		return NULL;
	}
}

const struct npu_table *npu_table_normal(void)
{
	return &normal_table;
}

/* From 1 on, because an entry of 0 was read as 4.0 on silicon (rocket-userspace). */
static int16_t code(const struct npu_table *t, int32_t index)
{
	double x = (double)(index - t->zero) / t->per_one;
	double c = rint(ldexp(t->f(x) - t->lo, (int)t->bits)) + 1;

	return (int16_t)(c < 1 ? 1 : c > INT16_MAX ? INT16_MAX : c);
}

static uint32_t float_bits(float f)
{
	union { float f; uint32_t u; } v = { .f = f };

	return v.u;
}

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

/* Slopes beyond the edges stay 0: the function goes on as it is there. */
void npu_prog_set_table(struct npu_prog *p, const struct npu_table *t)
{
	SET(p, DPU_BN_CFG_BYPASS, 0);
	SET(p, DPU_BN_CFG_ALU_BYPASS, 0);
	SET(p, DPU_BN_CFG_MUL_BYPASS, 0);
	SET(p, DPU_BN_CFG_RELU_BYPASS, 1);
	SET(p, DPU_BN_CFG_ALU_ALGO, ALU_ADD);
	SET(p, DPU_BN_ALU_CFG_OPERAND, float_bits((float)t->zero));
	SET(p, DPU_BN_MUL_CFG_MUL_OPERAND, npu_f32_to_f16((float)t->per_one));
	SET(p, DPU_EW_CFG_BYPASS, 0);
	SET(p, DPU_EW_CFG_LUT_BYPASS, 0);
	SET(p, DPU_LUT_CFG_LO_LE_MUX, MUX);
	SET(p, DPU_LUT_CFG_OFLOW_PRIORITY, 1);
	SET(p, DPU_LUT_CFG_HYBRID_PRIORITY, 1);
	SET(p, DPU_LUT_INFO_LE_INDEX_SELECT, STEP_SHIFT);
	SET(p, DPU_LUT_INFO_LO_INDEX_SELECT, STEP_SHIFT);
	SET(p, DPU_LUT_LE_START_INDEX, -EDGE);
	SET(p, DPU_LUT_LE_END_INDEX, 0);
	SET(p, DPU_LUT_LO_START_INDEX, 0);
	SET(p, DPU_LUT_LO_END_INDEX, EDGE);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, t->lo * (1 << t->bits) - 1);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_SHIFT_CVT_TYPE, 1);
	SET(p, DPU_OUT_CVT_SHIFT_MINUS_EXP, t->bits);
}

static void upload_half(struct npu_prog *p, const struct npu_table *t, uint32_t id, int32_t start)
{
	SET(p, DPU_LUT_ACCESS_CFG_ACCESS_TYPE, TABLE_WRITE);
	SET(p, DPU_LUT_ACCESS_CFG_TABLE_ID, id);
	npu_prog_emit(p, NPU_R_DPU_LUT_ACCESS_CFG);
	for (int32_t i = 0; i <= STEPS; i++) {
		SET(p, DPU_LUT_ACCESS_DATA_DATA, code(t, start + (i << STEP_SHIFT)));
		npu_prog_emit(p, NPU_R_DPU_LUT_ACCESS_DATA);
	}
}

/* The registers stay behind as the program had them: a read access, which changes nothing. */
void npu_prog_upload_table(struct npu_prog *p, const struct npu_table *t)
{
	upload_half(p, t, 0, -EDGE);
	upload_half(p, t, 1, 0);
	SET(p, DPU_LUT_ACCESS_CFG_ACCESS_TYPE, 0);
	SET(p, DPU_LUT_ACCESS_CFG_TABLE_ID, 0);
	SET(p, DPU_LUT_ACCESS_DATA_DATA, 0);
}
