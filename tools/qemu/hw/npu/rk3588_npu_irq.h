/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt of an RK3588 NPU core: status bits, mask and line, and what armed
 * faults do to them.
 */
#ifndef HW_NPU_RK3588_NPU_IRQ_H
#define HW_NPU_RK3588_NPU_IRQ_H

#include "qemu/timer.h"
#include "rk3588_npu_env.h"

typedef struct NpuIrq {
    const NpuEnv *env;
    qemu_irq line;
    uint32_t raw;
    uint32_t open;              /* raw bits that the mask lets through */
    uint32_t mask;
    uint32_t high;              /* raw bits above those of events */
    bool level;
    bool lost;                  /* by a fault, for ever or for a while */
    bool spurious;
    QEMUTimer spurious_timer;   /* end of spurious */
    QEMUTimer late_timer;       /* end of lost */
    QEMUTimer dup_timer;        /* start of spurious */
} NpuIrq;

extern const VMStateDescription vmstate_npu_irq;

void npu_irq_init(NpuIrq *irq, const NpuEnv *env);
void npu_irq_realize(NpuIrq *irq);
void npu_irq_unrealize(NpuIrq *irq);
void npu_irq_reset(NpuIrq *irq);

/* Set the line anew; registers that no longer answer take it down. */
void npu_irq_update(NpuIrq *irq);

/* Registers; whoever reads a status ends a spurious interrupt. */
uint32_t npu_irq_status(const NpuIrq *irq);
uint32_t npu_irq_raw(const NpuIrq *irq);
uint32_t npu_irq_mask(const NpuIrq *irq);
void npu_irq_set_mask(NpuIrq *irq, uint32_t mask);
void npu_irq_clear(NpuIrq *irq, uint32_t bits);
void npu_irq_end_spurious(NpuIrq *irq);

/* A program starts: what an earlier one lost is over. */
void npu_irq_start(NpuIrq *irq);
/* Another task of a chain starts. */
void npu_irq_next_task(NpuIrq *irq);
/* Bits that software may see once they are opened. */
void npu_irq_latch(NpuIrq *irq, uint32_t bits);
/* The same at the end of a task. */
void npu_irq_latch_done(NpuIrq *irq, uint32_t bits);
/* Let software see bits that have latched, if its mask does. */
void npu_irq_open(NpuIrq *irq, uint32_t bits);
/* Bits of an error, which software sees at once. */
void npu_irq_error(NpuIrq *irq, uint32_t bits);

#endif
