/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoding a register snapshot of the RK3576 NPU into a validated task.
 */
#ifndef HW_NPU_COMPUTE_RK3576_H
#define HW_NPU_COMPUTE_RK3576_H

#include "types.h"

/* NULL, or why @t, which is cleared, cannot become what @regs ask for. */
const char *npu_rk3576_decode(NpuTask *t, const uint32_t *regs,
                              uint32_t enable, const NpuTaskOptions *opt);

#endif
