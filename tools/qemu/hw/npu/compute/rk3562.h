/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the RK3562 NPU as tasks of the RK3588's.
 */
#ifndef HW_NPU_COMPUTE_RK3562_H
#define HW_NPU_COMPUTE_RK3562_H

#include "types.h"

/* Write @moved, or say why that cannot be. */
const char *npu_rk3562_move(uint32_t *moved, const uint32_t *regs,
                            uint32_t enable);
/* Of the last atom of a line that the DPU writes; 0: all. */
uint32_t npu_rk3562_last_bytes(const uint32_t *regs);
/*
 * What the RK3588's registers cannot say of @t, which has been decoded from the
 * moved ones; or what is wrong with it.
 */
const char *npu_rk3562_finish(NpuTask *t, const uint32_t *regs);

#endif
