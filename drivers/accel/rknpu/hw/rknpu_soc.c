// SPDX-License-Identifier: GPL-2.0-only
/* Owns the choice of the chip's description, by the device tree. */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/of.h>

#include "rknpu_soc.h"

const struct of_device_id rknpu_soc_mainline_match[] = {
	{ .compatible = "rockchip,rk3576-rknn-core", .data = &rknpu_soc_rk3576 },
	{ .compatible = "rockchip,rk3588-rknn-core", .data = &rknpu_soc_rk3588 },
	{ }
};
MODULE_DEVICE_TABLE(of, rknpu_soc_mainline_match);

const struct of_device_id rknpu_soc_vendor_match[] = {
	{ .compatible = "rockchip,rk3562-rknpu", .data = &rknpu_soc_rk3562 },
	{ .compatible = "rockchip,rk3568-rknpu", .data = &rknpu_soc_rk3568 },
	{ .compatible = "rockchip,rk3576-rknpu", .data = &rknpu_soc_rk3576 },
	{ .compatible = "rockchip,rk3588-rknpu", .data = &rknpu_soc_rk3588 },
	{ .compatible = "rockchip,rv1126b-rknpu", .data = &rknpu_soc_rv1126b },
	{ }
};
MODULE_DEVICE_TABLE(of, rknpu_soc_vendor_match);

const struct of_device_id *rknpu_soc_find_shape(const struct rknpu_soc **soc)
{
	const struct of_device_id *shapes[] = { rknpu_soc_mainline_match, rknpu_soc_vendor_match };
	const struct of_device_id *id;
	struct device_node *np;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		for_each_matching_node_and_match(np, shapes[i], &id) {
			if (!of_device_is_available(np))
				continue;
			*soc = id->data;
			of_node_put(np);
			return shapes[i];
		}
	}
	return NULL;
}

int rknpu_soc_core_index(const struct rknpu_soc *soc, phys_addr_t base)
{
	unsigned int i;

	for (i = 0; i < soc->num_cores; i++) {
		if (soc->core_base[i] == base)
			return i;
	}
	return -ENODEV;
}
