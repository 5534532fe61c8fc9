/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the RK3576's NPU, R_RK3576_<block>_<register> and so on, and
 * what its decoders share.
 */
#ifndef HW_NPU_COMPUTE_RK3576_REGS_H
#define HW_NPU_COMPUTE_RK3576_REGS_H

#include "decode.h"

#define NPU_REG(block, reg, offset)                                         \
    REG32(RK3576_##block##_##reg, offset)
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    FIELD(RK3576_##block##_##reg, field, lsb, width)
#include "npu/rk3576_regs.h"

enum {
#define NPU_SIZE(name, value)           RK3576_##name = (value),
#define NPU_CODE(set, name, value)      RK3576_##set##_##name = (value),
#include "npu/rk3576_regs.h"
};

#define GET76(regs, reg, field)     GET(regs, RK3576_##reg, field)
#define ADDR76(regs, reg)           npu_dma_addr(regs, (regs)[R_RK3576_##reg])

/* Registers whose meaning is not known are what compilers write, or refused. */
#define REFUSE_OTHER(reg, value, text)                                      \
    REFUSE_IF(regs[R_RK3576_##reg] != (value), text)

#endif
