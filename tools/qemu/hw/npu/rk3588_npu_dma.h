/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory accesses of an RK3588 NPU core through its IOMMU.
 */
#ifndef HW_NPU_RK3588_NPU_DMA_H
#define HW_NPU_RK3588_NPU_DMA_H

#include "rk3588_npu_env.h"

/*
 * Core 0 has two AXI masters and so two translation banks, the second one for
 * commands and weights (row iommu.second-bank).  Other cores have one.
 */
enum {
    NPU_BANK_DATA = 0,
    NPU_BANK_PROGRAM = 1,
};

/* How far an access or a load came; the caller acts on it. */
typedef enum NpuMemResult {
    NPU_MEM_OK,
    NPU_MEM_BLOCKED,        /* until the IOMMU calls for a retry */
    NPU_MEM_READ_ERROR,
    NPU_MEM_WRITE_ERROR,
    NPU_MEM_NO_HOST_MEMORY,
    NPU_MEM_UNIMPLEMENTED,
} NpuMemResult;

NpuMemResult npu_dma(const NpuEnv *env, unsigned bank, uint32_t iova,
                     void *buf, size_t len, bool write);

/* A walk over the rows of a cube. */
typedef struct NpuSpanDma {
    const NpuEnv *env;
    uint8_t *buf;
    bool write;
    NpuMemResult result;    /* of the last access */
} NpuSpanDma;

/* An NpuSpanFn; @opaque is an NpuSpanDma. */
bool npu_dma_span(void *opaque, uint64_t iova, size_t offset, size_t len);

#endif
