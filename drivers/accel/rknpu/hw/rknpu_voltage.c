// SPDX-License-Identifier: GPL-2.0-only
/* Owns the voltage that the NPU's supply must not fall below while the rate is left alone. */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/of.h>
#include <linux/regulator/consumer.h>
#include <linux/string.h>

#include "rknpu_voltage.h"

/* Of the chip that wants most: in Rockchip's trees other grades have properties of their own. */
static u32 rknpu_voltage_of_point(struct device_node *point)
{
	struct property *prop;
	u32 most = 0, uv;

	for_each_property_of_node(point, prop) {
		if (strstarts(prop->name, "opp-microvolt") &&
		    !of_property_read_u32(point, prop->name, &uv))
			most = max(most, uv);
	}
	return most;
}

/* Of the slowest point that is fast enough, or of all if none is. */
static u32 rknpu_voltage_wanted(struct device_node *table, unsigned long hz)
{
	u64 rate, slowest = U64_MAX;
	struct device_node *point;
	u32 wanted = 0, most = 0;

	for_each_available_child_of_node(table, point) {
		if (of_property_read_u64(point, "opp-hz", &rate))
			continue;
		most = max(most, rknpu_voltage_of_point(point));
		if (rate >= hz && rate < slowest) {
			slowest = rate;
			wanted = rknpu_voltage_of_point(point);
		}
	}
	return slowest == U64_MAX ? most : wanted;
}

/*
 * Some boards feed the NPU and the GPU, or the CPUs, from one regulator (rk3566-quartz64-a,
 * rk3562-dictpen-test3-v20). What nobody asks for they may take away.
 */
struct regulator *rknpu_voltage_hold(struct device *dev, const char *supply, unsigned long hz)
{
	struct device_node *table = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	int wanted = rknpu_voltage_wanted(table, hz), uv, ret;
	struct regulator *regulator;

	of_node_put(table);
	if (!wanted)
		return NULL;
	regulator = regulator_get_optional(dev, supply);
	if (IS_ERR(regulator))
		return NULL;
	uv = regulator_get_voltage(regulator);
	ret = regulator_set_voltage(regulator, max(uv, wanted), INT_MAX);
	if (ret)
		dev_warn(dev, "supply \"%s\" gives %d uV, but %lu Hz want %d: %d\n", supply, uv, hz,
			 wanted, ret);
	return regulator;
}
