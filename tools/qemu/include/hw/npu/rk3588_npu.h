/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One core of the RK3588 NPU: program controller, convolution and
 * post-processing blocks behind one 64 KiB register window.
 *
 * Properties: "core-index" (uint32), "clock-frequency" (uint32, Hz, may change
 * at any time), "write-padding" (bool: write output channels that are
 * padding), "ppu-sets-dpu-done", "raw-high-bits", "raw-keeps",
 * "status-all-bits", "s-status-done", "executer-shows", "pp-banks" and
 * "pc-prefetch" (bool: see docs/specs/rk3588-npu-core.rst),
 * links "iommu" (rk-iommu, required) and "ctl" (rk3588-npu-ctl, optional).
 * Named GPIO inputs: "power" (1 = domain on), "aclk", "hclk" (1 = running),
 * "reset"[2] (1 = asserted; 0 is srst_a, 1 is srst_h).
 * MMIO region 0 is the whole window, IRQ 0 the core's own line.
 */
#ifndef HW_NPU_RK3588_NPU_H
#define HW_NPU_RK3588_NPU_H

#include "qom/object.h"

#define TYPE_RK3588_NPU "rk3588-npu-core"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588NpuState, RK3588_NPU)

#define RK3588_NPU_WINDOW_SIZE  0x10000

/* A task in flight keeps what it has done; @hz must not be 0. */
void npu_set_clock_hz(Rk3588NpuState *s, uint32_t hz);

#endif
