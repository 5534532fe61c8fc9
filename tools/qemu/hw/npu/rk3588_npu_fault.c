/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an RK3588 NPU core gets wrong when a test has armed a fault: its
 * interrupts, the address of its program, resets that do not help, and
 * registers that do not answer.
 */
#include "qemu/osdep.h"
#include "rk3588_npu_internal.h"
#include "trace.h"

/* A test's spurious interrupt ends by itself, or Linux disables the line. */
#define NPU_SPURIOUS_NS         100000

static bool npu_fault(Rk3588NpuState *s, unsigned kind, uint32_t *param)
{
    return npu_ctl_fault(s->ctl, s->core_index, kind, param);
}

static void npu_fault_after(QEMUTimer *timer, uint32_t ns)
{
    timer_mod(timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

void npu_fault_end_spurious(Rk3588NpuState *s)
{
    s->irq_spurious = false;
    npu_update_irq(s);
}

static void npu_fault_spurious_over(void *opaque)
{
    npu_fault_end_spurious(opaque);
}

static void npu_fault_spurious(void *opaque)
{
    Rk3588NpuState *s = opaque;

    if (npu_clocked(s)) {
        s->irq_spurious = true;
        npu_update_irq(s);
        npu_fault_after(&s->spurious_timer, NPU_SPURIOUS_NS);
    }
}

static void npu_fault_late_over(void *opaque)
{
    Rk3588NpuState *s = opaque;

    s->irq_lost = false;
    npu_update_irq(s);
}

uint32_t npu_fault_done_bits(Rk3588NpuState *s, uint32_t bits)
{
    uint32_t param;

    if (bits && npu_fault(s, NPU_FAULT_IRQ_PARTIAL, &param)) {
        trace_rk3588_npu_fault_irq(s->core_index, "partial", bits & param);
        bits &= param;
        /* Those of the task's earlier events should not have latched either. */
        s->int_raw &= param;
        s->int_open &= param;
    }
    return bits;
}

void npu_fault_completion(Rk3588NpuState *s)
{
    uint32_t param;

    if (s->irq_level ||
        !(s->int_raw & s->int_open & s->regs[R_PC_INTERRUPT_MASK])) {
        return;
    }
    if (npu_fault(s, NPU_FAULT_IRQ_MMU, &param)) {
        trace_rk3588_npu_fault_irq(s->core_index, "iommu", param);
        rk_iommu_raise(s->iommu, param);
    }
    if (npu_fault(s, NPU_FAULT_IRQ_LOST, NULL)) {
        s->irq_lost = true;
    } else if (npu_fault(s, NPU_FAULT_IRQ_LATE, &param)) {
        trace_rk3588_npu_fault_irq(s->core_index, "late", param);
        s->irq_lost = true;
        npu_fault_after(&s->late_timer, param);
    }
}

void npu_fault_cleared(Rk3588NpuState *s, uint32_t bits)
{
    uint32_t param;

    s->irq_lost = false;
    timer_del(&s->late_timer);
    if ((s->int_open & bits) && npu_fault(s, NPU_FAULT_IRQ_DUP, &param)) {
        trace_rk3588_npu_fault_irq(s->core_index, "again", param);
        npu_fault_after(&s->dup_timer, param);
    }
    if ((s->int_open & bits) && npu_fault(s, NPU_FAULT_MMU_STRAY, &param)) {
        trace_rk3588_npu_fault_irq(s->core_index, "stray", param);
        rk_iommu_stray_after(s->iommu, param);
    }
}

uint32_t npu_fault_regcmd(Rk3588NpuState *s, uint32_t addr)
{
    uint32_t param;

    return npu_fault(s, NPU_FAULT_REGCMD_ADDR, &param) ? addr ^ param : addr;
}

bool npu_fault_dead(Rk3588NpuState *s, uint32_t *value)
{
    return npu_fault(s, NPU_FAULT_CORE_DEAD, value);
}

bool npu_fault_keeps_hang(Rk3588NpuState *s, NpuResetCause cause)
{
    if (s->phase != NPU_PHASE_HUNG) {
        return false;
    }
    switch (cause) {
    case NPU_RESET_LINE:
        return npu_fault(s, NPU_FAULT_RESET_STUCK, NULL);
    case NPU_RESET_POWER:
        return npu_fault(s, NPU_FAULT_OFF_STUCK, NULL);
    default:
        return false;
    }
}

void npu_fault_reset(Rk3588NpuState *s)
{
    s->irq_lost = false;
    s->irq_spurious = false;
    timer_del(&s->spurious_timer);
    timer_del(&s->late_timer);
    timer_del(&s->dup_timer);
}

void npu_fault_realize(Rk3588NpuState *s)
{
    timer_init_ns(&s->spurious_timer, QEMU_CLOCK_VIRTUAL,
                  npu_fault_spurious_over, s);
    timer_init_ns(&s->late_timer, QEMU_CLOCK_VIRTUAL, npu_fault_late_over, s);
    timer_init_ns(&s->dup_timer, QEMU_CLOCK_VIRTUAL, npu_fault_spurious, s);
    npu_ctl_set_spurious_cb(s->ctl, s->core_index, npu_fault_spurious, s);
}

void npu_fault_unrealize(Rk3588NpuState *s)
{
    npu_ctl_set_spurious_cb(s->ctl, s->core_index, NULL, NULL);
    npu_fault_reset(s);
}
