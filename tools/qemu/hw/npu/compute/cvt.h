/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed pixels and the input converter of the RK3588 NPU's CNA.
 */
#ifndef HW_NPU_COMPUTE_CVT_H
#define HW_NPU_COMPUTE_CVT_H

#include "types.h"

/* Packed pixels and the converter that they need. */
const char *npu_cvt_decode(NpuConv *c, const uint32_t *regs);
/* Feature atoms from raw data, to be freed; NULL if there is no memory. */
uint8_t *npu_cvt_run(const NpuConv *c, const uint8_t *raw);

#endif
