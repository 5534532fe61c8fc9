/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BS and BN, the first two stages of the RK3588 NPU's DPU.
 */
#ifndef HW_NPU_COMPUTE_STAGE_H
#define HW_NPU_COMPUTE_STAGE_H

#include "types.h"

/* BS or BN, whichever @idx says. */
const char *npu_stage_decode(NpuTask *t, const uint32_t *regs, unsigned idx);
/* What BS or BN would wait for in vain. */
const char *npu_stage_stall(const uint32_t *regs, bool rdma);

/* Is CPEND on, but not to be waited for? */
bool npu_stage_skips_cpend(const uint32_t *regs, bool rdma);

/* Bytes of the per-channel operands of a stage, 0 if it reads none. */
size_t npu_task_stage_bytes(const NpuTask *t, unsigned stage);

/* Operands of a channel in BS or BN. */
typedef struct NpuStageOperand {
    uint32_t alu;
    uint16_t mul;
} NpuStageOperand;

NpuStageOperand npu_stage_operand(const NpuTask *t, const NpuOperands *in,
                                  unsigned stage, uint32_t channel);
/* BS or BN on @n elements of the channel whose operands are @op. */
void npu_stage_ints(const NpuStage *s, int32_t *v, unsigned n,
                    const NpuStageOperand *op);
void npu_stage_floats(const NpuStage *s, float *v, unsigned n,
                      const NpuStageOperand *op);
/* What CPEND adds to every weight of the kernel of a channel. */
int32_t npu_cpend_operand(const NpuTask *t, const NpuOperands *in,
                          uint32_t channel);

#endif
