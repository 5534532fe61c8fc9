/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power management units with the NPU's power domains, and the QoS blocks that
 * live inside those domains.
 *
 * Link properties "ctl" (rk3588-npu-ctl) and "delay" (rk-delay), both
 * optional.  Property "npu-on" (bool, off): firmware leaves the NPU's domains
 * on, for guests without a driver for them.  MMIO region 0 is the PMU, region
 * 1 + n is QoS block n, of enum Rk3576PmuQos or Rk3588PmuQos.  Named GPIO
 * output "power", one per NPU core: 1 = the core's domain is on.  Named GPIO
 * input "supply-cut": 1 = the NPU's regulator is off.
 */
#ifndef HW_NPU_RK_PMU_H
#define HW_NPU_RK_PMU_H

#include "qom/object.h"

#define TYPE_RK_PMU "rk-pmu"
#define TYPE_RK3562_PMU "rk3562-pmu"
#define TYPE_RK3568_PMU "rk3568-pmu"
#define TYPE_RK3576_PMU "rk3576-pmu"
#define TYPE_RK3588_PMU "rk3588-pmu"
#define TYPE_RV1126B_PMU "rv1126b-pmu"
OBJECT_DECLARE_TYPE(RkPmuState, RkPmuClass, RK_PMU)

#define RK_QOS_SIZE             0x20

#define RK3562_PMU_SIZE         0x1000
#define RK3562_QOS_NUM          1

#define RK3568_PMU_SIZE         0x1000

#define RK3576_PMU_SIZE         0x800

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

#define RV1126B_PMU_SIZE        0x400
#define RV1126B_QOS_NUM         1

#define RK3588_PMU_SIZE         0x400

enum Rk3588PmuQos {
    RK3588_QOS_NPU0_MWR,
    RK3588_QOS_NPU0_MRO,
    RK3588_QOS_MCU_NPU,
    RK3588_QOS_NPU1,
    RK3588_QOS_NPU2,
    RK3588_QOS_NUM
};

#endif
