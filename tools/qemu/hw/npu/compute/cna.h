/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNA and CORE of the RK3588 NPU: a whole convolution.
 */
#ifndef HW_NPU_COMPUTE_CNA_H
#define HW_NPU_COMPUTE_CNA_H

#include "types.h"

/* What a convolution hands to its DPU. */
uint8_t npu_cna_dpu_precision(const NpuConv *c);
/* Can the blocks put out what DATA_FORMAT asks for? */
const char *npu_cna_check_output(const NpuTask *t, const uint32_t *regs);
/* What makes a convolution hang on silicon as well. */
const char *npu_cna_find_stall(const uint32_t *regs);
/* CNA and CORE: all that a convolution needs before its DPU. */
const char *npu_cna_decode(NpuTask *t, const uint32_t *regs);

/*
 * What is wrong with the task's banks of CBUF, or NULL.  Silicon computes
 * garbage then; the model does if they are others, not if they are too few.
 */
const char *npu_task_cbuf_short(const NpuTask *t);
/* What DATA_ENTRIES should be; Mesa has another value for some sizes. */
uint32_t npu_task_cbuf_entries(const NpuTask *t);
bool npu_task_cbuf_entries_usual(const NpuTask *t);

/* Convert what has to be converted, convolve, post-process. */
bool npu_cna_run(const NpuTask *t, const NpuOperands *in, uint8_t *out);

#endif
