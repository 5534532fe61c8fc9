/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tasks of the RK3568 NPU the model computes.
 */
#ifndef HW_NPU_COMPUTE_RK3568_H
#define HW_NPU_COMPUTE_RK3568_H

#include "types.h"

/* Bytes of a position in a surface. */
#define RK3568_ATOM             8

/* NULL, or why no task of these blocks can be computed. */
const char *npu_rk3568_check_blocks(uint32_t enable);
/* NULL, or why @t, which has been decoded, is more than is known. */
const char *npu_rk3568_check_task(const NpuTask *t);

#endif
