/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the RK3588 NPU's DPU and its write DMA: atoms one after the other,
 * which each side counts by a shape of its own.
 */
#ifndef HW_NPU_COMPUTE_STREAM_H
#define HW_NPU_COMPUTE_STREAM_H

#include "types.h"

/*
 * Decode the output in memory of @surfaces that the DPU hands over, of which
 * the first @computed of a group hold more than padding.
 */
const char *npu_stream_decode(NpuTask *t, const uint32_t *regs,
                              uint32_t surfaces, uint32_t computed);

/* Arrange what the DPU handed over, @from, as the write DMA does. */
void npu_stream_write(const NpuTask *t, const uint8_t *from, uint8_t *out);

/* Of a precision of the DPU; nibbles and what is unknown are not asked for. */
uint32_t npu_element_bytes(uint8_t precision);

#endif
