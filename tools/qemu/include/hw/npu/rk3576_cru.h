/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock and reset unit of the RK3576, as far as the NPU needs it.
 *
 * Link property "ctl" (rk3588-npu-ctl, optional).  Named GPIO outputs, one per
 * NPU core: "aclk", "hclk" (1 = running), "srst-a" (1 = asserted).  MMIO region
 * 0 is the CRU.
 */
#ifndef HW_NPU_RK3576_CRU_H
#define HW_NPU_RK3576_CRU_H

#include "qom/object.h"

#define TYPE_RK3576_CRU "rk3576-cru"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3576CruState, RK3576_CRU)

#define RK3576_CRU_SIZE         0x50000
#define RK3576_NPU_CORES        2

#endif
