/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command streams of an RK3588 NPU core: reads them from memory and writes the
 * registers they name, up to the op-enable that makes a task of them.
 */
#ifndef HW_NPU_RK3588_NPU_FETCH_H
#define HW_NPU_RK3588_NPU_FETCH_H

#include "rk3588_npu_dma.h"
#include "rk3588_npu_groups.h"

typedef struct NpuFetch {
    const NpuEnv *env;
    NpuGroups *groups;
    uint32_t per_amount;    /* property: commands */
    uint32_t addr;
    uint32_t left;          /* bytes */
    uint32_t next_addr;     /* the segment that the stream names */
    uint32_t next_amount;
    uint32_t next_meet;     /* other cores that it waits for */
} NpuFetch;

typedef enum NpuFetchResult {
    NPU_FETCH_END,          /* the segment has no op-enable */
    NPU_FETCH_ENABLE,       /* of the blocks told */
    NPU_FETCH_LATER,        /* read ahead: the rest is for the segment's time */
    NPU_FETCH_BLOCKED,      /* until the IOMMU calls for a retry */
    NPU_FETCH_READ_ERROR,
    NPU_FETCH_BLOCK_ENABLE, /* of one block, which the model cannot do */
} NpuFetchResult;

extern const VMStateDescription vmstate_npu_fetch;

void npu_fetch_init(NpuFetch *f, const NpuEnv *env, NpuGroups *groups);
/* The next read begins at @addr; @amount is as registers have it. */
void npu_fetch_point_at(NpuFetch *f, uint32_t addr, uint32_t amount);
/*
 * Read on; reading ahead (@ahead) stops at what would reach the task in
 * flight.  @enable is set with NPU_FETCH_ENABLE.
 */
NpuFetchResult npu_fetch_read(NpuFetch *f, bool ahead, uint32_t *enable);

#endif
