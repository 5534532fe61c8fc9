/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Direct convolution of the RK3588 NPU.
 */
#ifndef HW_NPU_COMPUTE_CONV_H
#define HW_NPU_COMPUTE_CONV_H

#include "types.h"

/* Convolve and hand every block of accumulators to the DPU stages. */
bool npu_conv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
