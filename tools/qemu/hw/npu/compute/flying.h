/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DPU of the RK3588 NPU with its main input from memory.
 */
#ifndef HW_NPU_COMPUTE_FLYING_H
#define HW_NPU_COMPUTE_FLYING_H

#include "types.h"

/* Precision and shape of a flying DPU; its feed, after the rest of the DPU. */
const char *npu_flying_precision(NpuDpu *d, const uint32_t *regs);
const char *npu_flying_shape(NpuTask *t, const uint32_t *regs);
const char *npu_flying_decode(NpuTask *t, const uint32_t *regs);
/* Does ERDMA fetch a half of the main input? */
bool npu_flying_pairs(const uint32_t *regs);
/* The DPU's stages over a cube from memory. */
bool npu_flying_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
