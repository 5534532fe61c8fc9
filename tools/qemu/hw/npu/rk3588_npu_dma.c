/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory accesses of an RK3588 NPU core through its IOMMU.
 */
#include "qemu/osdep.h"
#include "rk3588_npu_dma.h"

NpuMemResult npu_dma(const NpuEnv *env, unsigned bank, uint32_t iova,
                     void *buf, size_t len, bool write)
{
    switch (rk_iommu_dma(env->iommu, bank, iova, buf, len, write)) {
    case RK_DMA_OK:
        return NPU_MEM_OK;
    case RK_DMA_FAULT:
        return NPU_MEM_BLOCKED;
    default:
        return write ? NPU_MEM_WRITE_ERROR : NPU_MEM_READ_ERROR;
    }
}

bool npu_dma_span(void *opaque, uint64_t iova, size_t offset, size_t len)
{
    NpuSpanDma *d = opaque;

    d->result = npu_dma(d->env, NPU_BANK_DATA, iova, d->buf + offset, len,
                        d->write);
    return d->result == NPU_MEM_OK;
}
