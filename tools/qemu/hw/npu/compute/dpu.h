/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DPU of the RK3588 NPU: post-processing stages and output conversion.
 */
#ifndef HW_NPU_COMPUTE_DPU_H
#define HW_NPU_COMPUTE_DPU_H

#include "types.h"

/* Do the DPU's modes go with the enabled blocks? */
const char *npu_dpu_check_modes(const NpuTask *t, const uint32_t *regs);
/* All stages and the output, after the input's precision and shape. */
const char *npu_dpu_decode(NpuTask *t, const uint32_t *regs,
                           const NpuTaskOptions *opt);

/* Fill the channels that exist only as padding, and the tail of atoms. */
void npu_dpu_fill_padding(const NpuTask *t, uint8_t *out);

/* A block of CORE results: @rows positions from @row, @cols from @col. */
typedef struct NpuBlock {
    uint32_t row, rows;
    uint32_t col, cols;
    uint32_t pitch;         /* elements from row to row */
    union {
        const int32_t *i;
        const float *f;
    };
} NpuBlock;

/* Run the stages over @b and store its channels below orig_channels. */
void npu_dpu_store(const NpuTask *t, const NpuOperands *in, const NpuBlock *b,
                   uint8_t *out);

#endif
