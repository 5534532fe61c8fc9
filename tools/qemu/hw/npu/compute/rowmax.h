/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maxima over the channels of each position, by the RK3588 NPU's DPU.
 */
#ifndef HW_NPU_COMPUTE_ROWMAX_H
#define HW_NPU_COMPUTE_ROWMAX_H

#include "types.h"

bool npu_row_max_wanted(const uint32_t *regs);
/* After the DPU's stages: what goes to memory. */
const char *npu_row_max_decode(NpuTask *t, const uint32_t *regs);
/* From the DPU's cube @from. */
void npu_row_max_write(const NpuTask *t, const uint8_t *from, uint8_t *out);

#endif
