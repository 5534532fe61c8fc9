/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks whose surfaces have less than 16 bytes of a position.
 */
#ifndef HW_NPU_COMPUTE_NARROW_H
#define HW_NPU_COMPUTE_NARROW_H

#include "types.h"

typedef bool (*NpuRunFn)(const NpuTask *t, const NpuOperands *in,
                         uint8_t *out);

/*
 * Let @run compute @t in surfaces of NPU_ATOM bytes.  False if it gave up or
 * the host has no memory.
 */
bool npu_narrow_run(const NpuTask *t, const NpuOperands *in, uint8_t *out,
                    NpuRunFn run);

#endif
