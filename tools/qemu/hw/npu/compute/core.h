/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What direct and depthwise convolutions of the RK3588 NPU have in common.
 */
#ifndef HW_NPU_COMPUTE_CORE_H
#define HW_NPU_COMPUTE_CORE_H

#include "types.h"

bool npu_conv_is_float(const NpuConv *c);
/* Input coordinates of the first tap for output position @pos. */
void npu_conv_window(const NpuConv *c, uint32_t pos, int32_t *y, int32_t *x);
/* Feature atom of surface @s at (y, x), or NULL where there is padding. */
const uint8_t *npu_conv_atom(const NpuConv *c, const uint8_t *feature,
                             uint32_t s, int32_t y, int32_t x);
/*
 * What the CORE hands over: CPEND, then truncation, then int32.  Only in this
 * order does Mesa's arithmetic add up (row core.cpend-order).  @pend is the
 * operand of CPEND times the sum of the window.
 */
int32_t npu_core_result(const NpuConv *c, int64_t acc, int64_t pend);

#endif
