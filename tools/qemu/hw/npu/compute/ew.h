/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EW, the third stage of the RK3588 NPU's DPU.
 */
#ifndef HW_NPU_COMPUTE_EW_H
#define HW_NPU_COMPUTE_EW_H

#include "types.h"

/* Does EW want operands from memory? */
bool npu_ew_reads(const uint32_t *regs);
/* One for all positions of a channel? */
bool npu_ew_per_channel(const uint32_t *regs);
/* Bytes of a position in a surface of operands. */
uint32_t npu_ew_atom(const NpuDpu *d);
/* EW and, where it reads memory, its operand; after the rest of the DPU. */
const char *npu_ew_decode(NpuTask *t, const uint32_t *regs,
                          const NpuLut *lut);

/* EW on @n elements of channel @channel from output position @pos on. */
void npu_ew_ints(const NpuTask *t, const NpuOperands *in, int32_t *v,
                 unsigned n, uint32_t channel, uint32_t pos);
void npu_ew_floats(const NpuTask *t, const NpuOperands *in, float *v,
                   unsigned n, uint32_t channel, uint32_t pos);

#endif
