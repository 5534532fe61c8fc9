/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a task of the NPU costs in clock cycles and memory traffic, and how
 * cores share the memory.  Plain C without a machine, as the task itself.
 */
#ifndef HW_NPU_COMPUTE_TIMING_H
#define HW_NPU_COMPUTE_TIMING_H

#include "types.h"

/* Ends of blocks before the end of their task, which is DPU's or PPU's. */
typedef enum NpuEvent {
    NPU_EVENT_FEATURE,      /* CNA has fetched the feature data */
    NPU_EVENT_WEIGHT,       /* CNA has fetched the weights */
    NPU_EVENT_CSC,          /* CNA has fed the last of them to CORE */
    NPU_EVENT_CORE,
    NPU_EVENT_NUM,
} NpuEvent;

typedef struct NpuCost {
    uint64_t cycles;                /* while memory is fast enough */
    uint64_t bytes;                 /* to and from memory */
    uint64_t at[NPU_EVENT_NUM];     /* cycles after the start; 0 = none */
} NpuCost;

void npu_task_cost(const NpuTask *t, NpuCost *cost);

/*
 * Divide @total bytes per second (0 = unlimited) among @n users: whoever wants
 * less than an equal share gets what it wants, others share the rest equally.
 */
void npu_share_memory(const uint64_t *demand, uint64_t *grant, unsigned n,
                      uint64_t total);

#endif
