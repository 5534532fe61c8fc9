/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of RK3588 firmware that serves SCMI requests for the NPU's clock.
 *
 * Link properties "core0" to "core2" (rk3588-npu-core, optional): whose
 * property "clock-frequency" follows.  Properties "hang", "in-domain" (bool,
 * on: what a rate above 200 MHz does while the domain is off) and "clock-id"
 * (uint32): the RK3588's by default.  GPIO input 0: 1 = the NPU's power domain
 * is on.
 * MMIO region 0 is the shared memory.
 */
#ifndef HW_NPU_RK3588_SCMI_H
#define HW_NPU_RK3588_SCMI_H

#include "hw/arm/smc-firmware.h"

#define TYPE_RK3588_SCMI "rk3588-scmi"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588ScmiState, RK3588_SCMI)

/* As in the SoC's device tree. */
#define RK3588_SCMI_BASE        0x0010f000
#define RK3588_SCMI_SIZE        0x100
#define RK3588_SCMI_SMC_ID      0x82000010
#define RK3588_SCMI_CLK_NPU     6
#define RK3562_SCMI_CLK_NPU     10
#define RK3568_SCMI_CLK_NPU     2

/* Serves what is in the shared memory. */
ArmSmcVerdict rk3588_scmi_call(Rk3588ScmiState *s, int32_t *ret);

#endif
