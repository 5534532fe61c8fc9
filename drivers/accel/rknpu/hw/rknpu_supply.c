// SPDX-License-Identifier: GPL-2.0-only
/* Owns the supplies of mainline's cores that their power domain does not switch. */
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "rknpu_soc.h"
#include "rknpu_supply.h"

/* Of mainline's binding. */
static const char * const rknpu_supply_names[] = { "npu", "sram" };

/* The node of domain @id, somewhere below @np. */
static struct device_node *rknpu_supply_find_domain(struct device_node *np, u32 id)
{
	struct device_node *child, *found;
	u32 reg;

	for_each_child_of_node(np, child) {
		if (!of_property_read_u32(child, "reg", &reg) && reg == id)
			return child;
		found = rknpu_supply_find_domain(child, id);
		if (found) {
			of_node_put(child);
			return found;
		}
	}
	return NULL;
}

/* Only compared, so that they need no reference. */
static struct device_node *rknpu_supply_node(struct device_node *np, const char *property)
{
	struct device_node *supply = of_parse_phandle(np, property, 0);

	of_node_put(supply);
	return supply;
}

/* A domain does not go on before the one around it. */
static bool rknpu_supply_is_the_domains(struct device *dev, const char *name)
{
	struct device_node *np, *supply;
	struct of_phandle_args domain;
	char property[16];

	snprintf(property, sizeof(property), "%s-supply", name);
	supply = rknpu_supply_node(dev->of_node, property);
	if (of_parse_phandle_with_args(dev->of_node, "power-domains", "#power-domain-cells", 0,
				       &domain))
		return false;
	np = domain.args_count ? rknpu_supply_find_domain(domain.np, domain.args[0]) : NULL;
	while (np && np != domain.np && rknpu_supply_node(np, RKNPU_COMPAT_DOMAIN_SUPPLY) != supply)
		np = of_get_next_parent(np);
	of_node_put(np);
	of_node_put(domain.np);
	return np && np != domain.np;
}

/* A supply that is on, with the core that it feeds. */
struct rknpu_supply_held {
	struct platform_device *core;
	struct regulator *supply;
};

/*
 * To unbind a core the driver core wakes it, and its IOMMU with it, which goes back to sleep in
 * its own time: not without power. User space may keep it awake.
 */
static bool rknpu_supply_is_unused(struct platform_device *core)
{
	struct device_node *np = of_parse_phandle(core->dev.of_node, "iommus", 0);
	struct platform_device *iommu = np ? of_find_device_by_node(np) : NULL;
	bool asleep;

	of_node_put(np);
	if (!iommu)
		return true;
	pm_runtime_suspend(&iommu->dev);
	asleep = pm_runtime_status_suspended(&iommu->dev);
	platform_device_put(iommu);
	return asleep;
}

static void rknpu_supply_release(void *data)
{
	struct rknpu_supply_held *held = data;

	if (rknpu_supply_is_unused(held->core)) {
		/* Its domain may still be on its way down, in genpd's work. */
		flush_workqueue(pm_wq);
		regulator_disable(held->supply);
		regulator_put(held->supply);
	} else {
		dev_err(&held->core->dev, "the IOMMU is in use, its supply is left on\n");
	}
	platform_device_put(held->core);
	kfree(held);
}

static int rknpu_supply_enable(struct rknpu_supply_held *held, struct platform_device *core,
			       const char *name)
{
	int ret;

	held->supply = regulator_get_optional(&core->dev, name);
	if (IS_ERR(held->supply))
		return PTR_ERR(held->supply);
	ret = regulator_enable(held->supply);
	if (ret)
		regulator_put(held->supply);
	return ret;
}

static int rknpu_supply_hold(struct device *facade, struct platform_device *core, const char *name)
{
	struct rknpu_supply_held *held;
	int ret;

	if (rknpu_supply_is_the_domains(&core->dev, name))
		return 0;
	held = kzalloc_obj(*held, GFP_KERNEL);
	if (!held)
		return -ENOMEM;
	ret = rknpu_supply_enable(held, core, name);
	if (ret) {
		kfree(held);
		return ret == -ENODEV ? 0 : ret;
	}
	held->core = core;
	get_device(&core->dev);
	return devm_add_action_or_reset(facade, rknpu_supply_release, held);
}

static int rknpu_supply_hold_core(struct device *facade, struct platform_device *core)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(rknpu_supply_names) && !ret; i++)
		ret = rknpu_supply_hold(facade, core, rknpu_supply_names[i]);
	return ret;
}

/*
 * Boot loaders leave the supplies on, and half a minute after boot the kernel
 * cuts what nobody has enabled. The driver core powers a domain before it
 * probes a core, so a core's driver could only do it too late. Kernels before
 * 6.18 leave even a power domain's own supply to that, and firmware may have
 * given them the tree of a newer one, in which it is not always on.
 */
int rknpu_supply_get(struct device *facade)
{
	struct platform_device *core;
	struct device_node *np;
	int ret;

	for_each_matching_node(np, rknpu_soc_mainline_match) {
		core = of_device_is_available(np) ? of_find_device_by_node(np) : NULL;
		if (!core)
			continue;
		ret = rknpu_supply_hold_core(facade, core);
		platform_device_put(core);
		if (ret) {
			of_node_put(np);
			return dev_err_probe(facade, ret, "a supply cannot be enabled\n");
		}
	}
	return 0;
}
