/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock and reset unit of the RK3588, as far as the NPU needs it.
 *
 * Link property "ctl" (rk3588-npu-ctl, optional).  Named GPIO outputs, one per
 * NPU core: "aclk", "hclk" (1 = running), "srst-a", "srst-h" (1 = asserted).
 *
 * MMIO region 0 is the CRU.  Region 1, which silicon does not have, is for
 * guests without a driver for it: one register without a write mask, whose bits
 * 2n and 2n + 1 are the resets "srst-a" and "srst-h" of core n.
 */
#ifndef HW_NPU_RK3588_CRU_H
#define HW_NPU_RK3588_CRU_H

#include "qom/object.h"

#define TYPE_RK3588_CRU "rk3588-cru"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588CruState, RK3588_CRU)

#define RK3588_CRU_SIZE         0x5c000
#define RK3588_CRU_RESETS_SIZE  0x4

#endif
