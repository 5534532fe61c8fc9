// SPDX-License-Identifier: GPL-2.0-only
/* Owns the supplies of a core that its power domain does not switch. */
#include <linux/of.h>
#include <linux/regulator/consumer.h>

#include "rknpu_hw.h"
#include "rknpu_supply.h"

/* Of mainline's binding. The voltage of the first is told. */
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
	while (np && np != domain.np && rknpu_supply_node(np, "domain-supply") != supply)
		np = of_get_next_parent(np);
	of_node_put(np);
	of_node_put(domain.np);
	return np && np != domain.np;
}

static void rknpu_supply_off(void *supply)
{
	regulator_disable(supply);
}

static int rknpu_supply_get(struct rknpu_core *core, const char *name, struct regulator **supply)
{
	bool switched = rknpu_supply_is_the_domains(core->dev, name);
	int ret;

	*supply = devm_regulator_get_optional(core->dev, name);
	if (IS_ERR(*supply)) {
		ret = PTR_ERR(*supply);
		*supply = NULL;
		return ret == -EPROBE_DEFER && !switched ? ret : 0;
	}
	if (switched)
		return 0;
	ret = regulator_enable(*supply);
	return ret ?: devm_add_action_or_reset(core->dev, rknpu_supply_off, *supply);
}

/*
 * Boot loaders leave the supplies on, and half a minute after boot the kernel
 * cuts what nobody has enabled. Kernels before 6.18 leave even a power
 * domain's own supply to that, so their trees say that it is always on.
 */
int rknpu_supply_init(struct rknpu_core *core)
{
	struct regulator *supply;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(rknpu_supply_names); i++) {
		ret = rknpu_supply_get(core, rknpu_supply_names[i], &supply);
		if (ret)
			return dev_err_probe(core->dev, ret, "no %s-supply\n",
					     rknpu_supply_names[i]);
		if (!i)
			core->supply = supply;
	}
	return 0;
}
