/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PPU and PPU_RDMA of the RK3576 NPU: what their registers ask for.
 */
#ifndef HW_NPU_COMPUTE_RK3576_PPU_H
#define HW_NPU_COMPUTE_RK3576_PPU_H

#include "types.h"

const char *npu_rk3576_ppu(NpuTask *t, const uint32_t *regs);

#endif
