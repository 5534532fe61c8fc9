/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DPU and DPU_RDMA of the RK3576 NPU: what their registers ask for.
 */
#ifndef HW_NPU_COMPUTE_RK3576_DPU_H
#define HW_NPU_COMPUTE_RK3576_DPU_H

#include "types.h"

/* After the convolution, or alone. */
const char *npu_rk3576_dpu(NpuTask *t, const uint32_t *regs,
                           const NpuTaskOptions *opt);

#endif
