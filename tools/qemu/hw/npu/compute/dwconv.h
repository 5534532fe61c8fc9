/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Depthwise convolution of the RK3588 NPU.
 */
#ifndef HW_NPU_COMPUTE_DWCONV_H
#define HW_NPU_COMPUTE_DWCONV_H

#include "types.h"

/* As npu_conv_run() where every channel has its own kernel. */
bool npu_dwconv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
