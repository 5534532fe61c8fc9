/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weights of packed pixels as the RK3576 and RK3562 NPUs store them.
 */
#ifndef HW_NPU_COMPUTE_ARGB_H
#define HW_NPU_COMPUTE_ARGB_H

#include "types.h"

/* Do kernels come row by row, else tap by tap? */
bool npu_argb_by_rows(const NpuConv *c);
/* Bytes of a kernel in memory. */
uint32_t npu_argb_kernel_bytes(const NpuConv *c);
/* As those of pixels that fill atoms; NULL if the host has no memory. */
uint8_t *npu_argb_weights(const NpuConv *c, const uint8_t *stored);

#endif
