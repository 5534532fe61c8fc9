/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PPU of the RK3588 NPU: pooling.
 */
#ifndef HW_NPU_COMPUTE_PPU_H
#define HW_NPU_COMPUTE_PPU_H

#include "types.h"

/* Pooling. */
const char *npu_ppu_decode(NpuTask *t, const uint32_t *regs);
/* What makes pooling from memory hang on silicon as well. */
const char *npu_ppu_find_stall(const uint32_t *regs);
/* Pooling by the PPU. */
bool npu_ppu_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
