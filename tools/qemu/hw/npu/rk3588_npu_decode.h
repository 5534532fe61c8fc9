/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the decoders of the RK3588 NPU's blocks share.  Each returns NULL, or
 * the reason why its block cannot do what the registers ask for.
 */
#ifndef HW_NPU_RK3588_NPU_DECODE_H
#define HW_NPU_RK3588_NPU_DECODE_H

#include "rk3588_npu_task.h"

#define GET(regs, reg, field)   FIELD_EX32((regs)[R_##reg], reg, field)

#define REFUSE_IF(cond, text)   \
    do {                        \
        if (cond) {             \
            return text;        \
        }                       \
    } while (0)

static inline uint32_t npu_dma_addr(const uint32_t *regs, uint32_t addr)
{
    return addr + (regs[R_PC_TASK_DMA_BASE_ADDR] & PC_BASE_ADDRESS_MASK);
}

/* False if the cube is too big for the host buffer of a task. */
bool npu_cube_init(NpuCube *cube, uint32_t surfaces, uint32_t height,
                   uint64_t row_bytes, bool surf_inner);

/* Positions from the start of one surface of feature data to the next. */
static inline int64_t npu_feature_surf_pitch(const NpuFeature *f)
{
    return (int64_t)f->group_lines * f->dma_width + f->surf_stride;
}

/* What a convolution hands to its DPU. */
bool npu_cna_is_float(const NpuConv *c);
uint8_t npu_cna_dpu_precision(const NpuConv *c);
/* Can the blocks put out what DATA_FORMAT asks for? */
const char *npu_cna_check_output(const NpuTask *t, const uint32_t *regs);
/* What makes a convolution hang on silicon as well. */
const char *npu_cna_find_stall(const uint32_t *regs);
/* CNA and CORE: all that a convolution needs before its DPU. */
const char *npu_cna_decode(NpuTask *t, const uint32_t *regs);
/* Packed pixels and the converter that they need. */
const char *npu_cvt_decode(NpuConv *c, const uint32_t *regs);
/* Precision of a flying DPU; its main feed, after the rest of the DPU. */
const char *npu_flying_precision(NpuDpu *d, const uint32_t *regs);
const char *npu_flying_decode(NpuTask *t, const uint32_t *regs);
/* Pooling. */
const char *npu_ppu_decode(NpuTask *t, const uint32_t *regs);
/* What makes pooling from memory hang on silicon as well. */
const char *npu_ppu_find_stall(const uint32_t *regs);
/* BS or BN, whichever @idx says. */
const char *npu_stage_decode(NpuTask *t, const uint32_t *regs, unsigned idx);
/* What BS or BN would wait for in vain. */
const char *npu_stage_stall(const uint32_t *regs, bool rdma);
/* EW and, where it reads memory, its operand; after the rest of the DPU. */
const char *npu_ew_decode(NpuTask *t, const uint32_t *regs,
                          const NpuLut *lut);
/* The tables behind EW, and how they are indexed. */
const char *npu_lut_decode(NpuTask *t, const uint32_t *regs,
                           const NpuLut *lut);
/* Does EW want operands from memory? */
bool npu_ew_reads(const uint32_t *regs);

#endif
