/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock and reset units, as far as the NPU needs them.
 *
 * Link property "ctl" (rk3588-npu-ctl, optional).  Named GPIO outputs, one per
 * NPU core: "aclk", "hclk" (1 = running), "srst-a", and but for the RK3576
 * "srst-h" (1 = asserted).
 *
 * MMIO region 0 is the CRU.  Region 1, which silicon does not have, is for
 * guests without a driver for it: one register without a write mask, whose bits
 * 2n and 2n + 1 are the resets "srst-a" and "srst-h" of core n.
 */
#ifndef HW_NPU_RK_CRU_H
#define HW_NPU_RK_CRU_H

#include "qom/object.h"

#define TYPE_RK_CRU "rk-cru"
#define TYPE_RK3562_CRU "rk3562-cru"
#define TYPE_RK3568_CRU "rk3568-cru"
#define TYPE_RK3576_CRU "rk3576-cru"
#define TYPE_RK3588_CRU "rk3588-cru"
#define TYPE_RV1126B_CRU "rv1126b-cru"
OBJECT_DECLARE_TYPE(RkCruState, RkCruClass, RK_CRU)

#define RK_CRU_RESETS_SIZE      0x4

#define RK3562_CRU_SIZE         0x40000
#define RK3562_NPU_CORES        1
#define RK3568_CRU_SIZE         0x1000
#define RK3568_NPU_CORES        1
#define RK3576_CRU_SIZE         0x50000
#define RK3576_NPU_CORES        2
#define RK3588_CRU_SIZE         0x5c000
#define RV1126B_CRU_SIZE        0xc0000
#define RV1126B_NPU_CORES       1

#endif
