/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock and reset unit of the RK3588, as far as the NPU needs it.
 *
 * Link property "ctl" (rk3588-npu-ctl, optional).  Named GPIO outputs, one per
 * NPU core: "aclk", "hclk" (1 = running), "srst-a", "srst-h" (1 = asserted).
 */
#ifndef HW_NPU_RK3588_CRU_H
#define HW_NPU_RK3588_CRU_H

#include "qom/object.h"

#define TYPE_RK3588_CRU "rk3588-cru"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588CruState, RK3588_CRU)

#define RK3588_CRU_SIZE 0x5c000

#endif
