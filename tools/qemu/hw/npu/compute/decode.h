/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the decoders of the RK3588 NPU's blocks share.  Each returns NULL, or
 * the reason why its block cannot do what the registers ask for.
 */
#ifndef HW_NPU_COMPUTE_DECODE_H
#define HW_NPU_COMPUTE_DECODE_H

#include "regs.h"

#define GET(regs, reg, field)   FIELD_EX32((regs)[R_##reg], reg, field)

#define REFUSE_IF(cond, text)   \
    do {                        \
        if (cond) {             \
            return text;        \
        }                       \
    } while (0)

static inline uint32_t npu_dma_addr(const uint32_t *regs, uint32_t addr)
{
    return addr + (regs[R_PC_TASK_DMA_BASE_ADDR] & PC_BASE_ADDRESS_MASK);
}

/* Strides are whole atoms. */
static inline uint32_t npu_stride(uint32_t value, uint32_t atom)
{
    return value & -atom;
}

#endif
