/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNA and CORE of the RK3576 NPU: what their registers ask for.
 */
#ifndef HW_NPU_COMPUTE_RK3576_CONV_H
#define HW_NPU_COMPUTE_RK3576_CONV_H

#include "types.h"

const char *npu_rk3576_conv(NpuTask *t, const uint32_t *regs,
                            const NpuTaskOptions *opt);

#endif
