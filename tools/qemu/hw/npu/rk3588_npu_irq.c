/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt of an RK3588 NPU core: status bits, mask and line, and what armed
 * faults do to them.
 */
#include "qemu/osdep.h"
#include "hw/irq.h"
#include "migration/vmstate.h"
#include "compute/regs.h"
#include "rk3588_npu_irq.h"
#include "trace.h"

/* A test's spurious interrupt ends by itself, or Linux disables the line. */
#define NPU_SPURIOUS_NS         100000

uint32_t npu_irq_status(const NpuIrq *irq)
{
    return irq->raw & irq->open & irq->mask;
}

uint32_t npu_irq_raw(const NpuIrq *irq)
{
    return irq->raw | (npu_reads(irq->env, NPU_READ_RAW_HIGH_BITS) ? irq->high
                                                                  : 0);
}

uint32_t npu_irq_mask(const NpuIrq *irq)
{
    return irq->mask | NPU_INT_MASK_HIGH;
}

void npu_irq_update(NpuIrq *irq)
{
    const NpuEnv *env = irq->env;
    bool level = (npu_irq_status(irq) && !irq->lost) || irq->spurious;

    /* Whoever does not answer does not call, either. */
    level = level && !npu_ctl_fault_due(env->ctl, env->core_index,
                                        NPU_FAULT_CORE_DEAD);
    if (level == irq->level) {
        return;
    }
    irq->level = level;
    trace_rk3588_npu_irq(env->core_index, level, irq->raw);
    if (level) {
        npu_count(env, NPU_CNT_IRQ, 1);
    }
    npu_trace_access(env, NPU_CTL_UNIT_IRQ, 0, level, false);
    qemu_set_irq(irq->line, level);
}

/* --- Armed faults --- */

static void npu_irq_after(QEMUTimer *timer, uint32_t ns)
{
    timer_mod(timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

void npu_irq_end_spurious(NpuIrq *irq)
{
    irq->spurious = false;
    npu_irq_update(irq);
}

static void npu_irq_spurious_over(void *opaque)
{
    npu_irq_end_spurious(opaque);
}

static void npu_irq_spurious(void *opaque)
{
    NpuIrq *irq = opaque;

    if (npu_clocked(irq->env)) {
        irq->spurious = true;
        npu_irq_update(irq);
        npu_irq_after(&irq->spurious_timer, NPU_SPURIOUS_NS);
    }
}

static void npu_irq_late_over(void *opaque)
{
    NpuIrq *irq = opaque;

    irq->lost = false;
    npu_irq_update(irq);
}

/* The last task of a chain is over. */
static void npu_irq_fault_completion(NpuIrq *irq)
{
    const NpuEnv *env = irq->env;
    uint32_t param;

    if (irq->level || !npu_irq_status(irq)) {
        return;
    }
    if (npu_fault(env, NPU_FAULT_IRQ_MMU, &param)) {
        trace_rk3588_npu_fault_irq(env->core_index, "iommu", param);
        rk_iommu_raise(env->iommu, param);
    }
    if (npu_fault(env, NPU_FAULT_IRQ_LOST, NULL)) {
        irq->lost = true;
    } else if (npu_fault(env, NPU_FAULT_IRQ_LATE, &param)) {
        trace_rk3588_npu_fault_irq(env->core_index, "late", param);
        irq->lost = true;
        npu_irq_after(&irq->late_timer, param);
    }
}

static void npu_irq_fault_cleared(NpuIrq *irq, uint32_t bits)
{
    const NpuEnv *env = irq->env;
    uint32_t param;

    irq->lost = false;
    timer_del(&irq->late_timer);
    if ((irq->open & bits) && npu_fault(env, NPU_FAULT_IRQ_DUP, &param)) {
        trace_rk3588_npu_fault_irq(env->core_index, "again", param);
        npu_irq_after(&irq->dup_timer, param);
    }
    if ((irq->open & bits) && npu_fault(env, NPU_FAULT_MMU_STRAY, &param)) {
        trace_rk3588_npu_fault_irq(env->core_index, "stray", param);
        rk_iommu_stray_after(env->iommu, param);
    }
}

static void npu_irq_fault_reset(NpuIrq *irq)
{
    irq->lost = false;
    irq->spurious = false;
    timer_del(&irq->spurious_timer);
    timer_del(&irq->late_timer);
    timer_del(&irq->dup_timer);
}

/* --- Status bits --- */

void npu_irq_start(NpuIrq *irq)
{
    irq->lost = false;
    irq->high |= NPU_INT_RAW_STARTED;
}

/* What the mask lets through is of the last task alone in any case. */
void npu_irq_next_task(NpuIrq *irq)
{
    if (!npu_reads(irq->env, NPU_READ_RAW_KEEPS)) {
        irq->raw &= ~NPU_INT_PAIRS;
    }
}

void npu_irq_latch(NpuIrq *irq, uint32_t bits)
{
    irq->raw |= bits;
}

void npu_irq_latch_done(NpuIrq *irq, uint32_t bits)
{
    uint32_t param;

    if (bits && npu_fault(irq->env, NPU_FAULT_IRQ_PARTIAL, &param)) {
        trace_rk3588_npu_fault_irq(irq->env->core_index, "partial",
                                   bits & param);
        bits &= param;
        /* Those of the task's earlier events should not have latched either. */
        irq->raw &= param;
        irq->open &= param;
    }
    npu_irq_latch(irq, bits);
}

void npu_irq_open(NpuIrq *irq, uint32_t bits)
{
    irq->open |= bits;
    npu_irq_fault_completion(irq);
    npu_irq_update(irq);
}

void npu_irq_error(NpuIrq *irq, uint32_t bits)
{
    irq->raw |= bits;
    irq->open |= bits;
    npu_irq_update(irq);
}

void npu_irq_set_mask(NpuIrq *irq, uint32_t mask)
{
    irq->mask = mask & NPU_INT_ALL;
    npu_irq_update(irq);
}

void npu_irq_clear(NpuIrq *irq, uint32_t bits)
{
    npu_irq_fault_cleared(irq, bits);
    irq->raw &= ~bits;
    irq->open &= ~bits;
    npu_irq_end_spurious(irq);
}

/* Of a core that is dead both lines go down, whatever they were up for. */
static void npu_irq_fault_armed(void *opaque, unsigned kind)
{
    NpuIrq *irq = opaque;

    if (kind == NPU_FAULT_IRQ_SPURIOUS) {
        npu_irq_spurious(irq);
        return;
    }
    npu_irq_update(irq);
    if (irq->env->iommu) {
        rk_iommu_update_irq(irq->env->iommu);
    }
}

/* --- Life --- */

void npu_irq_reset(NpuIrq *irq)
{
    irq->mask = NPU_INT_ALL;
    irq->raw = 0;
    irq->open = 0;
    irq->high = NPU_INT_RAW_ALWAYS;
    npu_irq_fault_reset(irq);
    npu_irq_update(irq);
}

void npu_irq_init(NpuIrq *irq, const NpuEnv *env)
{
    irq->env = env;
}

void npu_irq_realize(NpuIrq *irq)
{
    timer_init_ns(&irq->spurious_timer, QEMU_CLOCK_VIRTUAL,
                  npu_irq_spurious_over, irq);
    timer_init_ns(&irq->late_timer, QEMU_CLOCK_VIRTUAL, npu_irq_late_over,
                  irq);
    timer_init_ns(&irq->dup_timer, QEMU_CLOCK_VIRTUAL, npu_irq_spurious, irq);
    npu_ctl_set_armed_cb(irq->env->ctl, irq->env->core_index,
                         npu_irq_fault_armed, irq);
}

void npu_irq_unrealize(NpuIrq *irq)
{
    npu_ctl_set_armed_cb(irq->env->ctl, irq->env->core_index, NULL, NULL);
    npu_irq_fault_reset(irq);
}

const VMStateDescription vmstate_npu_irq = {
    .name = "rk3588-npu-core/irq",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(raw, NpuIrq),
        VMSTATE_UINT32(open, NpuIrq),
        VMSTATE_UINT32(mask, NpuIrq),
        VMSTATE_UINT32(high, NpuIrq),
        VMSTATE_BOOL(level, NpuIrq),
        VMSTATE_BOOL(lost, NpuIrq),
        VMSTATE_BOOL(spurious, NpuIrq),
        VMSTATE_TIMER(spurious_timer, NpuIrq),
        VMSTATE_TIMER(late_timer, NpuIrq),
        VMSTATE_TIMER(dup_timer, NpuIrq),
        VMSTATE_END_OF_LIST()
    }
};
