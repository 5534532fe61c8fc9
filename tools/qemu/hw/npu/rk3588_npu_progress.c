/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress of the task that an RK3588 NPU core executes against virtual time,
 * while its clock and its share of the memory change.
 *
 * Work is counted in units of 1e-9 cycles, so that ns times Hz is exact.  A
 * task that gets less memory than it could use slows down as a whole.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "migration/vmstate.h"
#include "rk3588_npu_progress.h"

/* 46 seconds at 200 MHz; no software waits that long. */
#define NPU_MAX_CYCLES      (INT64_MAX / NANOSECONDS_PER_SECOND)

static uint64_t npu_nominal_rate(const NpuProgress *p)
{
    if (!npu_clocked(p->env)) {
        return 0;
    }
    return p->fixed ? NANOSECONDS_PER_SECOND : p->env->clock_hz;
}

/* Bytes per second with which memory does not slow the task down. */
static uint64_t npu_demand(const NpuProgress *p, uint64_t rate)
{
    if (!rate || !p->bytes || !p->left) {
        return 0;
    }
    return MAX(p->bytes * rate / p->cycles, 1);
}

static void npu_set_rate(NpuProgress *p)
{
    uint64_t rate = npu_nominal_rate(p);
    uint64_t demand = npu_demand(p, rate);
    uint64_t grant = npu_ctl_granted(p->env->ctl, p->env->core_index);

    /* In KiB per second, or the product overflows. */
    if (rate && grant < demand) {
        rate = MAX(rate * (grant / KiB) / MAX(demand / KiB, 1), 1);
    }
    p->rate = rate;
}

static void npu_account(NpuProgress *p)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t delta = MAX(now - p->since, 0);

    p->since = now;
    if (!p->rate || !delta) {
        return;
    }
    if (delta >= DIV_ROUND_UP(p->left, p->rate)) {
        p->left = 0;
    } else {
        p->left -= delta * p->rate;
    }
}

/* The next event that is still to come, or the end. */
static uint64_t npu_next_stop(const NpuProgress *p)
{
    uint64_t stop = 0;
    unsigned i;

    for (i = 0; i < NPU_EVENT_NUM; i++) {
        if (!(p->events & (1u << i))) {
            stop = MAX(stop, p->event_left[i]);
        }
    }
    return stop;
}

static void npu_arm(NpuProgress *p)
{
    uint64_t togo = p->left - MIN(npu_next_stop(p), p->left);
    uint64_t ns;

    if (!p->rate) {
        timer_del(p->timer);
        return;
    }
    ns = DIV_ROUND_UP(togo, p->rate);
    timer_mod(p->timer, p->since + MIN(ns, INT64_MAX / 2));
}

static void npu_announce(NpuProgress *p)
{
    npu_ctl_set_demand(p->env->ctl, p->env->core_index,
                       npu_demand(p, npu_nominal_rate(p)));
    npu_set_rate(p);
}

void npu_progress_start(NpuProgress *p, const NpuCost *cost,
                        uint64_t fixed_ns)
{
    unsigned i;

    p->counting = true;
    p->fixed = fixed_ns;
    p->cycles = MIN(fixed_ns ? fixed_ns : cost->cycles, NPU_MAX_CYCLES);
    p->bytes = fixed_ns ? 0 : cost->bytes;
    p->left = p->cycles * NANOSECONDS_PER_SECOND;
    p->since = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    p->events = 0;
    for (i = 0; i < NPU_EVENT_NUM; i++) {
        /* A fixed time is divided in proportion. */
        double part = (double)cost->at[i] / cost->cycles;
        uint64_t at = fixed_ns ? part * fixed_ns : cost->at[i];

        p->event_left[i] =
            (p->cycles - MIN(at, p->cycles)) * NANOSECONDS_PER_SECOND;
        p->events |= cost->at[i] ? 0 : 1u << i;
    }
    npu_announce(p);
    npu_arm(p);
}

void npu_progress_resume(NpuProgress *p)
{
    p->counting = true;
    npu_account(p);
    npu_announce(p);
    npu_arm(p);
}

uint32_t npu_progress_update(NpuProgress *p)
{
    uint32_t passed = 0;
    unsigned i;

    npu_account(p);
    for (i = 0; i < NPU_EVENT_NUM; i++) {
        if (p->left <= p->event_left[i]) {
            passed |= 1u << i;
        }
    }
    passed &= ~p->events;
    p->events |= passed;
    if (p->left) {
        npu_arm(p);
    } else {
        npu_progress_stop(p);
    }
    return passed;
}

/* The share of the memory has changed. */
static void npu_progress_changed(void *opaque)
{
    NpuProgress *p = opaque;

    if (p->counting && p->left) {
        npu_account(p);
        npu_set_rate(p);
        npu_arm(p);
    }
}

void npu_progress_clock(NpuProgress *p)
{
    npu_ctl_set_clock(p->env->ctl, p->env->core_index,
                      npu_clocked(p->env) ? p->env->clock_hz : 0);
    if (p->counting && p->left) {
        npu_progress_resume(p);
    }
}

void npu_progress_freeze(NpuProgress *p)
{
    p->counting = false;
}

void npu_progress_stop(NpuProgress *p)
{
    p->left = 0;
    npu_ctl_set_demand(p->env->ctl, p->env->core_index, 0);
}

void npu_progress_init(NpuProgress *p, const NpuEnv *env, QEMUTimer *timer)
{
    p->env = env;
    p->timer = timer;
}

void npu_progress_realize(NpuProgress *p)
{
    npu_ctl_set_share_cb(p->env->ctl, p->env->core_index,
                         npu_progress_changed, p);
}

void npu_progress_unrealize(NpuProgress *p)
{
    npu_ctl_set_share_cb(p->env->ctl, p->env->core_index, NULL, NULL);
}

static int npu_progress_post_load(void *opaque, int version_id)
{
    NpuProgress *p = opaque;

    return p->bytes && !p->cycles ? -EINVAL : 0;
}

const VMStateDescription vmstate_npu_progress = {
    .name = "rk3588-npu-core/progress",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = npu_progress_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(fixed, NpuProgress),
        VMSTATE_UINT64(cycles, NpuProgress),
        VMSTATE_UINT64(bytes, NpuProgress),
        VMSTATE_UINT64(left, NpuProgress),
        VMSTATE_UINT64(rate, NpuProgress),
        VMSTATE_INT64(since, NpuProgress),
        VMSTATE_UINT32(events, NpuProgress),
        VMSTATE_UINT64_ARRAY(event_left, NpuProgress, NPU_EVENT_NUM),
        VMSTATE_END_OF_LIST()
    }
};
