/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock and reset units of the RK3562, the RK3568 and the RK3576, as far as the
 * NPU needs them.
 *
 * Link property "ctl" (rk3588-npu-ctl, optional).  Named GPIO outputs, one per
 * NPU core: "aclk", "hclk" (1 = running), "srst-a", and but for the RK3576
 * "srst-h" (1 = asserted).  MMIO region 0 is the CRU.
 */
#ifndef HW_NPU_RK_CRU_H
#define HW_NPU_RK_CRU_H

#include "qom/object.h"

#define TYPE_RK_CRU "rk-cru"
#define TYPE_RK3562_CRU "rk3562-cru"
#define TYPE_RK3568_CRU "rk3568-cru"
#define TYPE_RK3576_CRU "rk3576-cru"
OBJECT_DECLARE_TYPE(RkCruState, RkCruClass, RK_CRU)

#define RK3562_CRU_SIZE         0x40000
#define RK3562_NPU_CORES        1
#define RK3568_CRU_SIZE         0x1000
#define RK3568_NPU_CORES        1
#define RK3576_CRU_SIZE         0x50000
#define RK3576_NPU_CORES        2

#endif
