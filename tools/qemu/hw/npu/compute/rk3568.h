/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the RK3568 NPU as tasks of the RK3588's.
 */
#ifndef HW_NPU_COMPUTE_RK3568_H
#define HW_NPU_COMPUTE_RK3568_H

#include "types.h"

/* Why a task hangs the bus, or NULL (row pc.rdma-burst). */
const char *npu_rk3568_stall(const uint32_t *regs, uint32_t enable);
/* Write @moved, or say why that cannot be. */
const char *npu_rk3568_move(uint32_t *moved, const uint32_t *regs,
                            uint32_t enable);
/* The pad value of averages, which is there four times, as on the RK3576. */
const char *npu_rk3568_move_pad(uint32_t *moved, const uint32_t *regs);
/* Can a convolution put out what DATA_FORMAT asks for? */
const char *npu_rk3568_check_output(const NpuTask *t, const uint32_t *regs);
/* What is wrong with @t, which has been decoded from @regs. */
const char *npu_rk3568_check_task(const NpuTask *t, const uint32_t *regs);

#endif
