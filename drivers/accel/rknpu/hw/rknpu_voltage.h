/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the voltage that the NPU's supply must not fall below while the rate is left alone. */
#ifndef __RKNPU_VOLTAGE_H__
#define __RKNPU_VOLTAGE_H__

struct device;
struct regulator;

/*
 * Others may lower @supply of @dev neither below what it gives now nor below what operating
 * points want for @hz, until regulator_put(). NULL: it has none, or there are no such points.
 */
struct regulator *rknpu_voltage_hold(struct device *dev, const char *supply, unsigned long hz);

#endif
