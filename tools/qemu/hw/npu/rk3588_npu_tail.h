/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a chain's results, which is in memory some time after the
 * interrupt (property rk-delay.result-ns, row pc.results).
 */
#ifndef HW_NPU_RK3588_NPU_TAIL_H
#define HW_NPU_RK3588_NPU_TAIL_H

#include "qemu/timer.h"
#include "rk3588_npu_env.h"

typedef struct NpuTail {
    const NpuEnv *env;
    QEMUTimer timer;
    VMChangeStateEntry *vm_change;
    uint32_t iova;
    size_t len;
    uint8_t *data;      /* NULL: all is in memory */
} NpuTail;

void npu_tail_realize(NpuTail *tail, const NpuEnv *env);
void npu_tail_unrealize(NpuTail *tail);

/* How long the end of the results takes this time; 0: not at all. */
uint32_t npu_tail_ns(const NpuTail *tail);
void npu_tail_hold(NpuTail *tail, uint32_t iova, const uint8_t *data,
                   size_t len, uint32_t ns);
/* The core goes on, and finds its results in memory. */
void npu_tail_land(NpuTail *tail);
/* Reset or loss of power. */
void npu_tail_drop(NpuTail *tail);

#endif
