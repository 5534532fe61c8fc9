/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power management units of the RK3562, the RK3568 and the RK3576 with the
 * NPU's power domains, and the QoS blocks that live inside those domains.
 *
 * Link property "ctl" (rk3588-npu-ctl, optional).  MMIO region 0 is the PMU,
 * region 1 + n is QoS block n, on the RK3576 of enum Rk3576PmuQos.  Named GPIO
 * output "power", one per NPU core: 1 = the core's domain is on.
 */
#ifndef HW_NPU_RK_PMU_H
#define HW_NPU_RK_PMU_H

#include "qom/object.h"

#define TYPE_RK_PMU "rk-pmu"
#define TYPE_RK3562_PMU "rk3562-pmu"
#define TYPE_RK3568_PMU "rk3568-pmu"
#define TYPE_RK3576_PMU "rk3576-pmu"
OBJECT_DECLARE_TYPE(RkPmuState, RkPmuClass, RK_PMU)

#define RK3562_PMU_SIZE         0x1000
#define RK3562_QOS_NUM          1

#define RK3568_PMU_SIZE         0x1000

#define RK3576_PMU_SIZE         0x800
#define RK3576_QOS_SIZE         0x20

enum Rk3576PmuQos {
    RK3576_QOS_MCU,
    RK3576_QOS_NSP0,
    RK3576_QOS_NSP1,
    RK3576_QOS_M0RO,
    RK3576_QOS_M1RO,
    RK3576_QOS_M0,
    RK3576_QOS_M1,
    RK3576_QOS_NUM
};

#endif
