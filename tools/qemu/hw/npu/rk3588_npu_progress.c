/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress of the task that an RK3588 NPU core executes against virtual time,
 * while its clock and its share of the memory change.
 *
 * Work is counted in units of 1e-9 cycles, so that ns times Hz is exact.  A
 * task that gets less memory than it could use slows down as a whole.
 */
#include "qemu/osdep.h"
#include "rk3588_npu_internal.h"

/* 46 seconds at 200 MHz; no software waits that long. */
#define NPU_MAX_CYCLES      (INT64_MAX / NANOSECONDS_PER_SECOND)

static uint64_t npu_nominal_rate(const Rk3588NpuState *s)
{
    if (!npu_clocked(s)) {
        return 0;
    }
    return s->run_fixed ? NANOSECONDS_PER_SECOND : s->clock_hz;
}

/* Bytes per second with which memory does not slow the task down. */
static uint64_t npu_demand(const Rk3588NpuState *s, uint64_t rate)
{
    if (!rate || !s->run_bytes || !s->run_left) {
        return 0;
    }
    return MAX(s->run_bytes * rate / s->run_cycles, 1);
}

static void npu_set_rate(Rk3588NpuState *s)
{
    uint64_t rate = npu_nominal_rate(s);
    uint64_t demand = npu_demand(s, rate);
    uint64_t grant = npu_ctl_granted(s->ctl, s->core_index);

    /* In KiB per second, or the product overflows. */
    if (rate && grant < demand) {
        rate = MAX(rate * (grant / KiB) / MAX(demand / KiB, 1), 1);
    }
    s->run_rate = rate;
}

static void npu_account(Rk3588NpuState *s)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t delta = MAX(now - s->run_since, 0);

    s->run_since = now;
    if (!s->run_rate || !delta) {
        return;
    }
    if (delta >= DIV_ROUND_UP(s->run_left, s->run_rate)) {
        s->run_left = 0;
    } else {
        s->run_left -= delta * s->run_rate;
    }
}

/* The next event that is still to come, or the end. */
static uint64_t npu_next_stop(const Rk3588NpuState *s)
{
    uint64_t stop = 0;
    unsigned i;

    for (i = 0; i < NPU_EVENT_NUM; i++) {
        if (!(s->run_events & (1u << i))) {
            stop = MAX(stop, s->run_event_left[i]);
        }
    }
    return stop;
}

static void npu_arm(Rk3588NpuState *s)
{
    uint64_t togo = s->run_left - MIN(npu_next_stop(s), s->run_left);
    uint64_t ns;

    if (!s->run_rate) {
        timer_del(&s->timer);
        return;
    }
    ns = DIV_ROUND_UP(togo, s->run_rate);
    timer_mod(&s->timer, s->run_since + MIN(ns, INT64_MAX / 2));
}

static void npu_announce(Rk3588NpuState *s)
{
    npu_ctl_set_demand(s->ctl, s->core_index,
                       npu_demand(s, npu_nominal_rate(s)));
    npu_set_rate(s);
}

void npu_progress_start(Rk3588NpuState *s, const NpuCost *cost,
                        uint64_t fixed_ns)
{
    unsigned i;

    s->run_fixed = fixed_ns;
    s->run_cycles = MIN(fixed_ns ? fixed_ns : cost->cycles, NPU_MAX_CYCLES);
    s->run_bytes = fixed_ns ? 0 : cost->bytes;
    s->run_left = s->run_cycles * NANOSECONDS_PER_SECOND;
    s->run_since = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    s->run_events = 0;
    for (i = 0; i < NPU_EVENT_NUM; i++) {
        /* A fixed time is divided in proportion. */
        double part = (double)cost->at[i] / cost->cycles;
        uint64_t at = fixed_ns ? part * fixed_ns : cost->at[i];

        s->run_event_left[i] =
            (s->run_cycles - MIN(at, s->run_cycles)) * NANOSECONDS_PER_SECOND;
        s->run_events |= cost->at[i] ? 0 : 1u << i;
    }
    npu_announce(s);
    npu_arm(s);
}

void npu_progress_resume(Rk3588NpuState *s)
{
    npu_account(s);
    npu_announce(s);
    npu_arm(s);
}

uint32_t npu_progress_update(Rk3588NpuState *s)
{
    uint32_t passed = 0;
    unsigned i;

    npu_account(s);
    for (i = 0; i < NPU_EVENT_NUM; i++) {
        if (s->run_left <= s->run_event_left[i]) {
            passed |= 1u << i;
        }
    }
    passed &= ~s->run_events;
    s->run_events |= passed;
    if (s->run_left) {
        npu_arm(s);
    } else {
        npu_progress_stop(s);
    }
    return passed;
}

void npu_progress_changed(void *opaque)
{
    Rk3588NpuState *s = opaque;

    if (s->phase == NPU_PHASE_RUN && s->run_left) {
        npu_account(s);
        npu_set_rate(s);
        npu_arm(s);
    }
}

void npu_progress_clock(Rk3588NpuState *s)
{
    npu_ctl_set_clock(s->ctl, s->core_index,
                      npu_clocked(s) ? s->clock_hz : 0);
    if (s->phase == NPU_PHASE_RUN && s->run_left) {
        npu_progress_resume(s);
    }
}

void npu_progress_stop(Rk3588NpuState *s)
{
    s->run_left = 0;
    npu_ctl_set_demand(s->ctl, s->core_index, 0);
}

void npu_set_clock_hz(Rk3588NpuState *s, uint32_t hz)
{
    if (hz != s->clock_hz) {
        s->clock_hz = hz;
        npu_progress_clock(s);
    }
}
