/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LUT of the RK3576 NPU's DPU: what its registers ask for.
 */
#ifndef HW_NPU_COMPUTE_RK3576_LUT_H
#define HW_NPU_COMPUTE_RK3576_LUT_H

#include "lut.h"

const char *npu_rk3576_lut(NpuLutUse *u, const uint32_t *regs,
                           const NpuLut *lut);

#endif
