/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way from the CPUs to the registers of a core and of its IOMMU: writes
 * are posted.  They land in their order, some time after the CPU went on or
 * when a CPU reads behind the same port.
 */
#ifndef HW_NPU_RK_PORT_H
#define HW_NPU_RK_PORT_H

#include "exec/hwaddr.h"
#include "qemu/timer.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_delay.h"

typedef void (*RkPortFn)(void *opaque, hwaddr offset, uint32_t value);

typedef struct RkPostedWrite {
    RkPortFn fn;
    void *opaque;
    uint32_t offset;
    uint32_t value;
} RkPostedWrite;

#define RK_PORT_DEPTH   64

typedef struct RkPort {
    RkDelayState *delay;
    Rk3588NpuCtlState *ctl;
    unsigned core;
    QEMUTimer timer;
    int64_t due;
    VMChangeStateEntry *vm_change;
    RkPostedWrite write[RK_PORT_DEPTH];
    unsigned num;
} RkPort;

void rk_port_init(RkPort *p, RkDelayState *delay, Rk3588NpuCtlState *ctl,
                  unsigned core);
void rk_port_fini(RkPort *p);

/* A CPU writes; @fn has to see whether registers still answer.  BQL held. */
void rk_port_post(RkPort *p, RkPortFn fn, void *opaque, hwaddr offset,
                  uint32_t value);
/* A CPU reads, and finds all writes landed. */
void rk_port_flush(RkPort *p);
/*
 * Clocks, power or resets are about to change: what has had its time has
 * landed before, even if the host is late.
 */
void rk_port_catch_up(RkPort *p);
/* For @fn: nobody answered any more. */
void rk_port_lost(RkPort *p, hwaddr addr, uint32_t value);
/* What is under way never lands. */
void rk_port_drop(RkPort *p);

#endif
