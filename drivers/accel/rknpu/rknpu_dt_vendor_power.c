// SPDX-License-Identifier: GPL-2.0-only
/* Owns power in the vendor's DT shape: supplies, three power domains, and who needs them. */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/workqueue.h>

#include "rknpu_dt_vendor_power.h"
#include "hw/rknpu_core.h"
#include "hw/rknpu_hw.h"
#include "hw/rknpu_iommu.h"
#include "hw/rknpu_soc.h"

#define RKNPU_VDT_POWER_SUPPLIES	2

static const char * const rknpu_vdt_power_supply_names[RKNPU_VDT_POWER_SUPPLIES] = {
	"rknpu", "mem",
};

/**
 * struct rknpu_vdt_domain - one of the power domains
 */
struct rknpu_vdt_domain {
	/** @dev: virtual device that stands for it */
	struct device *dev;
	/** @npu: makes the NPU's device resume it */
	struct device_link *npu;
	/** @iommu: makes the IOMMU resume it, if there is one */
	struct device_link *iommu;
	/** @first: makes it go to sleep before the first one; NULL: it is that */
	struct device_link *first;
};

/**
 * struct rknpu_vdt_power - power of the NPU, a device resource of the facade
 */
struct rknpu_vdt_power {
	/** @npu: the NPU, with a reference */
	struct platform_device *npu;
	/** @iommu: its IOMMU, with a reference; NULL: there is none */
	struct platform_device *iommu;
	/** @domains: power domains, by number */
	struct rknpu_vdt_domain domains[RKNPU_MAX_CORES];
	/** @supplies: enabled, by rknpu_vdt_power_supply_names; NULL: there is none */
	struct regulator *supplies[RKNPU_VDT_POWER_SUPPLIES];
};

static struct device_link *rknpu_vdt_power_link(struct device *consumer, struct device *domain)
{
	return device_link_add(consumer, domain, DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME);
}

/*
 * The first domain is the parent of the others on the RK3588. If its device goes to sleep while
 * another one does, genpd may leave it on: each of the two finds the other still on its way (seen
 * with 7.3 on a busy host). So it comes last.
 */
static int rknpu_vdt_power_order(struct rknpu_vdt_power *power, struct rknpu_vdt_domain *domain)
{
	if (domain == power->domains)
		return 0;
	domain->first = rknpu_vdt_power_link(domain->dev, power->domains->dev);
	return domain->first ? 0 : -ENODEV;
}

static int rknpu_vdt_power_add_domain(struct rknpu_vdt_power *power, unsigned int index)
{
	struct rknpu_vdt_domain *domain = &power->domains[index];
	struct device *dev = &power->npu->dev;

	domain->dev = dev_pm_domain_attach_by_id(dev, index);
	if (IS_ERR_OR_NULL(domain->dev)) {
		int ret = domain->dev ? PTR_ERR(domain->dev) : -ENOENT;

		domain->dev = NULL;
		return dev_err_probe(dev, ret, "no power domain %u\n", index);
	}

	domain->npu = rknpu_vdt_power_link(dev, domain->dev);
	if (power->iommu)
		domain->iommu = rknpu_vdt_power_link(&power->iommu->dev, domain->dev);
	if (!domain->npu || (power->iommu && !domain->iommu))
		return -ENODEV;
	return rknpu_vdt_power_order(power, domain);
}

/*
 * By number, as all are treated alike and a single one has no name. Even that
 * one is the driver core's business for the NPU only, not for the IOMMU.
 */
static int rknpu_vdt_power_add_domains(struct rknpu_vdt_power *power)
{
	int count = of_count_phandle_with_args(power->npu->dev.of_node, "power-domains",
					       "#power-domain-cells");
	int i, ret = 0;

	/* None is one thing, a list that cannot be read another. */
	if (count < 0 && count != -ENOENT)
		return count;
	for (i = 0; i < min(count, RKNPU_MAX_CORES) && !ret; i++)
		ret = rknpu_vdt_power_add_domain(power, i);
	return ret;
}

static void rknpu_vdt_power_remove_domains(struct rknpu_vdt_power *power)
{
	int i;

	for (i = RKNPU_MAX_CORES - 1; i >= 0; i--) {
		struct rknpu_vdt_domain *domain = &power->domains[i];

		if (domain->first)
			device_link_del(domain->first);
		if (domain->iommu)
			device_link_del(domain->iommu);
		if (domain->npu)
			device_link_del(domain->npu);
		if (domain->dev)
			dev_pm_domain_detach(domain->dev, true);
	}
}

/* The vendor's tree has them here and not at the power domain, which needs them to switch. */
static int rknpu_vdt_power_add_supplies(struct rknpu_vdt_power *power)
{
	struct device *dev = &power->npu->dev;
	unsigned int i;
	int ret;

	for (i = 0; i < RKNPU_VDT_POWER_SUPPLIES; i++) {
		struct regulator *supply;

		supply = regulator_get_optional(dev, rknpu_vdt_power_supply_names[i]);
		if (PTR_ERR_OR_ZERO(supply) == -ENODEV)
			continue;
		if (IS_ERR(supply))
			return PTR_ERR(supply);
		ret = regulator_enable(supply);
		if (ret) {
			regulator_put(supply);
			return ret;
		}
		power->supplies[i] = supply;
	}
	return 0;
}

static void rknpu_vdt_power_remove_supplies(struct rknpu_vdt_power *power)
{
	unsigned int i;

	for (i = 0; i < RKNPU_VDT_POWER_SUPPLIES; i++) {
		if (!power->supplies[i])
			continue;
		regulator_disable(power->supplies[i]);
		regulator_put(power->supplies[i]);
	}
}

static struct platform_device *rknpu_vdt_power_find(void)
{
	struct platform_device *pdev;
	struct device_node *np;

	for_each_matching_node(np, rknpu_soc_vendor_match) {
		pdev = of_device_is_available(np) ? of_find_device_by_node(np) : NULL;
		if (pdev) {
			of_node_put(np);
			return pdev;
		}
	}
	return NULL;
}

static struct platform_device *rknpu_vdt_power_find_iommu(struct platform_device *pdev)
{
	struct device_node *np = of_parse_phandle(pdev->dev.of_node, "iommus", 0);
	struct platform_device *iommu = np ? of_find_device_by_node(np) : NULL;

	of_node_put(np);
	return iommu;
}

static int rknpu_vdt_power_add_all(struct rknpu_vdt_power *power)
{
	power->npu = rknpu_vdt_power_find();
	if (!power->npu)
		return -ENODEV;
	power->iommu = rknpu_vdt_power_find_iommu(power->npu);
	if (!power->iommu && !rknpu_iommu_is_absent(power->npu->dev.of_node))
		return -ENODEV;
	return rknpu_vdt_power_add_supplies(power) ?: rknpu_vdt_power_add_domains(power);
}

/*
 * The IOMMU goes down some time after the last user. Without the links it would
 * find itself without power then. One without a driver cannot be suspended, and is.
 */
static bool rknpu_vdt_power_iommu_is_off(const struct rknpu_vdt_power *power)
{
	if (!power->iommu)
		return true;
	pm_runtime_suspend(&power->iommu->dev);
	return pm_runtime_status_suspended(&power->iommu->dev);
}

static void rknpu_vdt_power_release(struct device *facade, void *res)
{
	struct rknpu_vdt_power *power = res;

	/* Its users are gone by now, unless user space keeps it on. */
	if (!rknpu_vdt_power_iommu_is_off(power)) {
		dev_err(&power->npu->dev, "the IOMMU is in use, power is left as it is\n");
		return;
	}
	rknpu_vdt_power_remove_domains(power);
	/* They may still be on their way down, in genpd's work. */
	flush_workqueue(pm_wq);
	rknpu_vdt_power_remove_supplies(power);
	platform_device_put(power->iommu);
	platform_device_put(power->npu);
}

/*
 * The IOMMU's DT node names no power domain, and its driver touches the registers
 * of all MMUs whenever it is resumed, which the driver core does even before
 * the NPU's driver is probed. In a domain that is off that is fatal. So the
 * domains are made suppliers of the IOMMU before there is a driver to probe.
 */
int rknpu_vdt_power_get(struct device *facade)
{
	struct rknpu_vdt_power *power;
	int ret;

	power = devres_alloc(rknpu_vdt_power_release, sizeof(*power), GFP_KERNEL);
	if (!power)
		return -ENOMEM;
	/* Also if that fails: then it gives back what there is, now. */
	devres_add(facade, power);
	ret = rknpu_vdt_power_add_all(power);
	if (ret)
		devres_release(facade, rknpu_vdt_power_release, NULL, NULL);
	return ret ? dev_err_probe(facade, ret, "the NPU cannot be powered\n") : 0;
}

struct regulator *rknpu_vdt_power_supply(struct device *facade)
{
	struct rknpu_vdt_power *power = devres_find(facade, rknpu_vdt_power_release, NULL, NULL);

	return power ? power->supplies[0] : NULL;
}

void rknpu_vdt_power_tell(struct device *facade, struct rknpu_core *cores, unsigned int count)
{
	struct rknpu_vdt_power *power = devres_find(facade, rknpu_vdt_power_release, NULL, NULL);
	unsigned int i, d;

	for (i = 0; power && i < count; i++) {
		for (d = 0; d < RKNPU_MAX_CORES && power->domains[d].dev; d++)
			rknpu_core_add_domain(&cores[i], power->domains[d].dev);
	}
}
