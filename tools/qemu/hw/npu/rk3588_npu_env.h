/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all parts of an RK3588 NPU core share and only the device changes:
 * which core it is, its supplies and its neighbours.
 */
#ifndef HW_NPU_RK3588_NPU_ENV_H
#define HW_NPU_RK3588_NPU_ENV_H

#include "hw/sysbus.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_delay.h"
#include "hw/npu/rk_iommu.h"

typedef struct NpuEnv {
    SysBusDevice *sbd;
    uint32_t core_index;
    RkIommuState *iommu;
    Rk3588NpuCtlState *ctl;
    RkDelayState *delay;
    bool reading[NPU_READ_NUM];     /* properties, see npu_reads() */

    /* inputs; they survive a reset of the core */
    bool power;
    bool aclk;
    bool hclk;
    uint32_t clock_hz;
} NpuEnv;

static inline bool npu_clocked(const NpuEnv *env)
{
    return env->power && env->aclk && env->hclk;
}

static inline void npu_count(const NpuEnv *env, enum npu_ctl_counter c,
                             uint64_t n)
{
    npu_ctl_count(env->ctl, env->core_index, c, n);
}

/* Does an armed fault hit now?  @param may be NULL. */
static inline bool npu_fault(const NpuEnv *env, unsigned kind, uint32_t *param)
{
    return npu_ctl_fault(env->ctl, env->core_index, kind, param);
}

/* Which of two readings of what sources do not agree on. */
static inline bool npu_reads(const NpuEnv *env, enum npu_ctl_reading reading)
{
    return env->reading[reading] != npu_ctl_flipped(env->ctl, reading);
}

/* An access to the core's window, or a change of its interrupt line. */
static inline void npu_trace_access(const NpuEnv *env, unsigned unit,
                                    hwaddr offset, uint32_t value, bool write)
{
    npu_ctl_trace(env->ctl, unit, env->core_index,
                  env->sbd->mmio[0].addr + offset, value, write);
}

#endif
