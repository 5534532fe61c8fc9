/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress of the task that an RK3588 NPU core executes against virtual time,
 * while its clock and its share of the memory change.
 */
#ifndef HW_NPU_RK3588_NPU_PROGRESS_H
#define HW_NPU_RK3588_NPU_PROGRESS_H

#include "qemu/timer.h"
#include "compute/timing.h"
#include "rk3588_npu_env.h"

typedef struct NpuProgress {
    const NpuEnv *env;
    QEMUTimer *timer;       /* fires at the next event */
    bool counting;          /* follows the clock and the share of the memory */
    bool fixed;             /* cycles are ns of a fixed latency */
    uint64_t cycles;
    uint64_t bytes;
    uint64_t left;          /* 1e-9 cycles; 0 at the end */
    uint64_t rate;          /* cycles per second since @since */
    int64_t since;
    uint32_t events;        /* bitmap: have passed, or never come */
    uint64_t event_left[NPU_EVENT_NUM];     /* left when they come */
} NpuProgress;

extern const VMStateDescription vmstate_npu_progress;

void npu_progress_init(NpuProgress *p, const NpuEnv *env, QEMUTimer *timer);
void npu_progress_realize(NpuProgress *p);
void npu_progress_unrealize(NpuProgress *p);

/* Start counting down; @fixed_ns replaces the cycles unless it is 0. */
void npu_progress_start(NpuProgress *p, const NpuCost *cost,
                        uint64_t fixed_ns);
/* Go on with what a migration brought. */
void npu_progress_resume(NpuProgress *p);
/*
 * Bitmap of NpuEvent that have come since; unless this was the end, the timer
 * is set to the next event.
 */
uint32_t npu_progress_update(NpuProgress *p);
/* The clock has changed, or was gated. */
void npu_progress_clock(NpuProgress *p);
/* Nothing counts down any more; what is left stays as it is. */
void npu_progress_freeze(NpuProgress *p);
/* Nothing is left, and the memory is free for others. */
void npu_progress_stop(NpuProgress *p);

#endif
