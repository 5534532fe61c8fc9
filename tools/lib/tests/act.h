/* SPDX-License-Identifier: MIT */
/*
 * What functions by table must give, for unit tests and selftests.
 */
#ifndef ACT_H
#define ACT_H

#include <math.h>

#include "npu.h"

static inline double act_exact(enum npu_act act, double x)
{
	switch (act) {
	case NPU_ACT_SIGMOID:
		return 1 / (1 + exp(-x));
	case NPU_ACT_TANH:
		return tanh(x);
	case NPU_ACT_EXP:
		return x < -16 ? 0 : x > 0 ? 1 : exp(x);
	case NPU_ACT_SILU:
		return x / (1 + exp(-x));
	default:
		return x * 0.5 * erfc(-x * M_SQRT1_2);
	}
}

/* The bounds of enum npu_act, for y = act(x). */
static inline double act_bound(enum npu_act act, double x, double y)
{
	switch (act) {
	case NPU_ACT_SIGMOID:
		return 0x1p-11;
	case NPU_ACT_TANH:
	case NPU_ACT_EXP:
		return 0x1p-10;
	default:
		return 0x1p-11 * (fabs(x) + fabs(y)) + 0x1p-25;
	}
}

#endif /* ACT_H */
