/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One operation of an ALU, multiplier or ReLU of the RK3588 NPU's DPU.
 */
#ifndef HW_NPU_COMPUTE_ALU_H
#define HW_NPU_COMPUTE_ALU_H

#include "regs.h"

/* Is it known what multiplies floats of this precision? */
static inline bool npu_mul_known(uint8_t precision)
{
    return precision == NPU_PREC_FP16 || precision == NPU_PREC_BF16 ||
           precision == NPU_PREC_FP32;
}

/* Does the model know what this ALU_ALGO of EW does? */
bool npu_alu_known(uint32_t algo, bool is_float);
int32_t npu_alu_int(uint8_t algo, int32_t v, int32_t operand);
/* The same for maximum, minimum, sum and difference with a wide product. */
int64_t npu_alu_wide(uint8_t algo, int64_t v, int32_t operand);
float npu_alu_float(uint8_t algo, float v, float operand);
/* The same for @n elements and one operand. */
void npu_alu_ints(uint8_t algo, int32_t *v, unsigned n, int32_t operand);
/* max(v, 0), and min(v, cmp) with @relux. */
void npu_relu_ints(int32_t *v, unsigned n, bool relux, uint32_t cmp);
void npu_relu_floats(float *v, unsigned n, bool relux, uint32_t cmp);

#endif
