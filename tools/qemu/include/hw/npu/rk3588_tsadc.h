/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RK3588's temperature sensors (TSADC), as far as a driver in automatic
 * mode sees them.
 *
 * Property "temperature" (int, mC, may change at any time): what all seven
 * sensors measure.
 * MMIO region 0 is the registers, region 1 one word that silicon does not have:
 * the same temperature, for guests.  IRQ 0 is the high-temperature alarm.
 */
#ifndef HW_NPU_RK3588_TSADC_H
#define HW_NPU_RK3588_TSADC_H

#include "qom/object.h"

#define TYPE_RK3588_TSADC "rk3588-tsadc"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588TsadcState, RK3588_TSADC)

#define RK3588_TSADC_SIZE       0x400
#define RK3588_TSADC_SENSORS    7
#define RK3588_TSADC_NPU        6

#endif
