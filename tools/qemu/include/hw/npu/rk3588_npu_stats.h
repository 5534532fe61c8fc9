/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Services of the model's control device that the other NPU devices call:
 * counters, register trace, fault arming and busy-time bookkeeping.
 *
 * All of them need the BQL and accept a NULL device, so that a device can be
 * used without the control device.  Who counts what:
 *   rk-cru       NPU_CNT_RESET, NPU_CNT_CLOCKED
 *   rk-pmu       NPU_CNT_POWER_ON, NPU_CNT_POWERED
 *   rk-iommu     NPU_CNT_MMU_*, NPU_CNT_TLB_*, NPU_CNT_DMA_*_BYTES (all
 *                DMA goes through rk_iommu_dma()), NPU_CNT_ABORT for its own
 *                window
 *   control      NPU_CNT_BUSY, NPU_CNT_BUSY_NS, NPU_CNT_GAP* (npu_ctl_busy()),
 *                NPU_CNT_*_CYCLES (npu_ctl_set_clock())
 *   the core     everything else
 */
#ifndef HW_NPU_RK3588_NPU_STATS_H
#define HW_NPU_RK3588_NPU_STATS_H

#include "qom/object.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define NPU_MAX_CORES   3
#define NPU_CORE_NONE   15      /* "no core" in the register trace */

typedef struct Rk3588NpuStats {
    uint64_t c[NPU_CNT_NUM];
} Rk3588NpuStats;

#define TYPE_RK3588_NPU_CTL "rk3588-npu-ctl"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588NpuCtlState, RK3588_NPU_CTL)

void npu_ctl_count(Rk3588NpuCtlState *s, unsigned core,
                   enum npu_ctl_counter c, uint64_t n);
/* For the counters that are a state. */
void npu_ctl_set(Rk3588NpuCtlState *s, unsigned core,
                 enum npu_ctl_counter c, uint64_t v);

/*
 * A CPU's access to a register, or with NPU_CTL_UNIT_IRQ a change of a line:
 * for the register trace, if it runs.
 */
void npu_ctl_trace(Rk3588NpuCtlState *s, unsigned unit, unsigned core,
                   uint64_t addr, uint32_t val, bool write);

/*
 * Does an armed fault of this kind fire now?  Call it once per matching event:
 * it consumes skips and counts.  @param may be NULL.
 */
bool npu_ctl_fault(Rk3588NpuCtlState *s, unsigned core, unsigned kind,
                   uint32_t *param);

/* Would the next matching event be hit?  Consumes nothing. */
bool npu_ctl_fault_due(Rk3588NpuCtlState *s, unsigned core, unsigned kind);

/* From the kick (true) to the completion or reset (false). */
void npu_ctl_busy(Rk3588NpuCtlState *s, unsigned core, bool busy);
/*
 * A core has this part of a CBUF of all cores until it is not busy any more.
 * Has another one some of it?
 */
bool npu_ctl_take_cbuf(Rk3588NpuCtlState *s, unsigned core, uint32_t first,
                       uint32_t end);

/* Fixed task latency in ns; 0 = use the cycle model. */
uint32_t npu_ctl_latency_ns(Rk3588NpuCtlState *s);
/* By how much a task that begins now takes longer. */
uint32_t npu_ctl_lag_ns(Rk3588NpuCtlState *s, unsigned core);

/* Does a test want this property of cores to mean its opposite? */
bool npu_ctl_flipped(Rk3588NpuCtlState *s, enum npu_ctl_reading reading);

/* The clock of @core in Hz, 0 while it does not run. */
void npu_ctl_set_clock(Rk3588NpuCtlState *s, unsigned core, uint32_t hz);

/*
 * The memory that all cores share: @core could use @demand bytes per second
 * from now on.  Others whose share changes by that are called back.
 */
void npu_ctl_set_demand(Rk3588NpuCtlState *s, unsigned core, uint64_t demand);
/* What @core gets of its demand; no limit without a control device. */
uint64_t npu_ctl_granted(Rk3588NpuCtlState *s, unsigned core);
typedef void (*NpuCtlShareFn)(void *opaque);
void npu_ctl_set_share_cb(Rk3588NpuCtlState *s, unsigned core,
                          NpuCtlShareFn fn, void *opaque);

/*
 * @core waits until it and all of the cores 0 to @others do.  True if it is
 * the last of them; those that waited are called back.
 */
bool npu_ctl_meet(Rk3588NpuCtlState *s, unsigned core, unsigned others);
/* @core does not wait any more. */
void npu_ctl_part(Rk3588NpuCtlState *s, unsigned core);
void npu_ctl_set_meet_cb(Rk3588NpuCtlState *s, unsigned core,
                         NpuCtlShareFn fn, void *opaque);

/*
 * A task of @core hung because of what it is; @kind is NPU_CTL_HANG_*.  @regs
 * is its register file, or NULL if it has none yet.
 */
void npu_ctl_hang(Rk3588NpuCtlState *s, unsigned core, unsigned kind,
                  const char *why, uint32_t enable, const uint32_t *regs);

/*
 * Called when a test arms a fault of @core that waits for no event:
 * NPU_FAULT_IRQ_SPURIOUS and NPU_FAULT_CORE_DEAD.
 */
typedef void (*NpuCtlArmedFn)(void *opaque, unsigned kind);
void npu_ctl_set_armed_cb(Rk3588NpuCtlState *s, unsigned core,
                          NpuCtlArmedFn fn, void *opaque);

#endif
