/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DPU of the RK3588 NPU: post-processing stages and output conversion.
 */
#ifndef HW_NPU_RK3588_NPU_DPU_H
#define HW_NPU_RK3588_NPU_DPU_H

#include "rk3588_npu_task.h"

/* ALU_ALGO codes of BS, BN and EW. */
enum {
    NPU_ALU_MAX = 0,
    NPU_ALU_MIN = 1,
    NPU_ALU_ADD = 2,
    NPU_ALU_DIV = 3,
    NPU_ALU_MINUS = 4,
    NPU_ALU_ABS = 5,
    NPU_ALU_NEG = 6,
    NPU_ALU_FLOOR = 7,
    NPU_ALU_CEIL = 8,
};

/* value / 2^shift, rounded to nearest; ties go to even, or upwards. */
int64_t npu_round_shift(int64_t value, unsigned shift, bool ties_up);
/*
 * The same in the converters of the DPU, where the other ties go away from
 * zero: measured with OUT_CVT on RK3588, whatever the TRM says.
 */
int64_t npu_cvt_shift(int64_t value, unsigned shift, bool ties_away);
/* The same with a shift for either sign, ties to even. */
int64_t npu_sign_shift(int64_t v, unsigned shift, unsigned shift_neg);

int32_t npu_sat32(int64_t v);

/* Is it known what multiplies floats of this precision? */
static inline bool npu_mul_known(uint8_t precision)
{
    return precision == NPU_PREC_FP16 || precision == NPU_PREC_FP32;
}

/* Does the model know what this ALU_ALGO of EW does? */
bool npu_alu_known(uint32_t algo, bool is_float);
int32_t npu_alu_int(uint8_t algo, int32_t v, int32_t operand);
float npu_alu_float(uint8_t algo, float v, float operand);
/* max(v, 0), and min(v, cmp) with @relux. */
int32_t npu_relu_int(int32_t v, bool relux, uint32_t cmp);
float npu_relu_float(float v, bool relux, uint32_t cmp);

float npu_bits_to_float(uint32_t bits);
uint16_t npu_fp32_to_fp16(float f);
float npu_fp16_to_fp32(uint16_t h);
uint16_t npu_fp32_to_bf16(float f);
float npu_bf16_to_fp32(uint16_t h);

/* Operands of a channel in BS or BN. */
typedef struct NpuStageOperand {
    uint32_t alu;
    uint16_t mul;
} NpuStageOperand;

NpuStageOperand npu_stage_operand(const NpuTask *t, const NpuOperands *in,
                                  unsigned stage, uint32_t channel);
int32_t npu_stage_int(const NpuStage *s, int32_t v, const NpuStageOperand *op);
float npu_stage_float(const NpuStage *s, float v, const NpuStageOperand *op);
/* What CPEND adds to every weight of the kernel of a channel. */
int32_t npu_cpend_operand(const NpuTask *t, const NpuOperands *in,
                          uint32_t channel);

/* Fill the channels that exist only as padding, and the tail of atoms. */
void npu_dpu_fill_padding(const NpuTask *t, uint8_t *out);

/* A block of CORE results: @rows positions from @row, @cols from @col. */
typedef struct NpuBlock {
    uint32_t row, rows;
    uint32_t col, cols;
    uint32_t pitch;         /* elements from row to row */
    union {
        const int32_t *i;
        const float *f;
    };
} NpuBlock;

/* Run the stages over @b and store its channels below orig_channels. */
void npu_dpu_store(const NpuTask *t, const NpuOperands *in, const NpuBlock *b,
                   uint8_t *out);

/* The DPU's stages over a cube from memory. */
bool npu_flying_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

/* Pooling by the PPU. */
bool npu_ppu_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

/* EW on one element of channel @channel at output position @pos. */
int32_t npu_ew_int(const NpuTask *t, const NpuOperands *in, int32_t v,
                   uint32_t channel, uint32_t pos);
float npu_ew_float(const NpuTask *t, const NpuOperands *in, float v,
                   uint32_t channel, uint32_t pos);

#endif
