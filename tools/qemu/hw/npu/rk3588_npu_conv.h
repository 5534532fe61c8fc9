/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The convolution arithmetic of the RK3588 NPU: CNA and CORE.
 */
#ifndef HW_NPU_RK3588_NPU_CONV_H
#define HW_NPU_RK3588_NPU_CONV_H

#include "rk3588_npu_task.h"

/* Convolve and hand every block of accumulators to the DPU stages. */
bool npu_conv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
