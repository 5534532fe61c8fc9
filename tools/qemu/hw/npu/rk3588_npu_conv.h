/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The convolution arithmetic of the RK3588 NPU: CNA and CORE.
 */
#ifndef HW_NPU_RK3588_NPU_CONV_H
#define HW_NPU_RK3588_NPU_CONV_H

#include "rk3588_npu_task.h"

/* Convert what has to be converted, convolve, post-process. */
bool npu_cna_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);
/* Convolve and hand every block of accumulators to the DPU stages. */
bool npu_conv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);
/* The same where every channel has its own kernel. */
bool npu_dwconv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

bool npu_conv_cancelled(const NpuOperands *in);
/* Input coordinates of the first tap for output position @pos. */
void npu_conv_window(const NpuConv *c, uint32_t pos, int32_t *y, int32_t *x);
/* Feature atom of surface @s at (y, x), or NULL where there is padding. */
const uint8_t *npu_conv_atom(const NpuConv *c, const uint8_t *feature,
                             uint32_t s, int32_t y, int32_t x);
/* Feature atoms from raw data, to be freed; NULL if there is no memory. */
uint8_t *npu_cvt_run(const NpuConv *c, const uint8_t *raw);
/*
 * What the CORE hands over: CPEND, then truncation, then int32.  Only in this
 * order does Mesa's arithmetic add up (inferred).  @pend is the operand of
 * CPEND times the sum of the window.
 */
int32_t npu_core_result(const NpuConv *c, int64_t acc, int64_t pend);

#endif
