// SPDX-License-Identifier: GPL-2.0-only
/* Owns the driver for the vendor's node, which is all cores behind one IOMMU. */
#include <linux/clk.h>
#include <linux/component.h>
#include <linux/io.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/sizes.h>

#include "rknpu_core.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_node_power.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"

/* Blocks of a core that the CPU touches, see rknpu_regs.h. */
#define RKNPU_NODE_PC	0x0000
#define RKNPU_NODE_CNA	0x1000
#define RKNPU_NODE_MAC	0x3000

/**
 * struct rknpu_node - the node while it is bound
 * @rdev: device
 * @dev: platform device
 * @num_cores: cores that it has registers of
 * @clks: all clocks
 * @num_clks: number of @clks
 */
struct rknpu_node {
	struct rknpu_device *rdev;
	struct device *dev;
	unsigned int num_cores;
	struct clk_bulk_data *clks;
	int num_clks;
};

static int rknpu_node_get_clks(struct rknpu_node *node)
{
	int i;

	node->num_clks = devm_clk_bulk_get_all(node->dev, &node->clks);
	if (node->num_clks < 0)
		return node->num_clks;
	for (i = 0; i < node->num_clks; i++) {
		if (!strcmp(node->clks[i].id, "clk_npu") || !strcmp(node->clks[i].id, "scmi_clk"))
			node->rdev->cores[0].npu_clk = node->clks[i].clk;
	}
	return 0;
}

/* Not the whole window: the IOMMU's driver has claimed a part of it. */
static void __iomem *rknpu_node_map_block(struct rknpu_node *node, const struct resource *window,
					  resource_size_t offset)
{
	struct resource block = DEFINE_RES_MEM_NAMED(window->start + offset, SZ_4K,
						     dev_name(node->dev));

	return devm_ioremap_resource(node->dev, &block);
}

static int rknpu_node_map_core(struct rknpu_node *node, struct rknpu_core *core,
			       const struct resource *window)
{
	core->pc = rknpu_node_map_block(node, window, RKNPU_NODE_PC);
	if (IS_ERR(core->pc))
		return PTR_ERR(core->pc);

	core->cna = rknpu_node_map_block(node, window, RKNPU_NODE_CNA);
	if (IS_ERR(core->cna))
		return PTR_ERR(core->cna);

	core->mac = rknpu_node_map_block(node, window, RKNPU_NODE_MAC);
	return PTR_ERR_OR_ZERO(core->mac);
}

static int rknpu_node_map_bank(struct rknpu_core *core, const struct resource *res)
{
	void __iomem *bank;

	if (core->num_banks == RKNPU_CORE_MAX_BANKS)
		return -EINVAL;
	bank = devm_ioremap(core->dev, res->start, resource_size(res));
	if (!bank)
		return -ENOMEM;
	core->banks[core->num_banks++] = bank;
	return 0;
}

/* The IOMMU's registers that are in the core's window. */
static int rknpu_node_map_banks(struct rknpu_core *core, const struct resource *window)
{
	struct device_node *np = of_parse_phandle(core->dev->of_node, "iommus", 0);
	struct resource res;
	int i, ret = 0;

	core->num_banks = 0;
	for (i = 0; np && !ret && !of_address_to_resource(np, i, &res); i++) {
		if (res.start >= window->start && res.end <= window->end)
			ret = rknpu_node_map_bank(core, &res);
	}
	of_node_put(np);
	if (!ret && !core->num_banks)
		ret = -EINVAL;
	return ret;
}

/* By name, or by number, or one for all. */
static int rknpu_node_get_irq(struct rknpu_node *node, unsigned int index)
{
	struct platform_device *pdev = to_platform_device(node->dev);
	char name[16];
	int irq;

	snprintf(name, sizeof(name), "npu%u_irq", index);
	irq = platform_get_irq_byname_optional(pdev, name);
	if (irq > 0 || irq == -EPROBE_DEFER)
		return irq;
	return platform_get_irq(pdev, platform_irq_count(pdev) == 1 ? 0 : index);
}

static int rknpu_node_get_resets(struct rknpu_node *node, struct rknpu_core *core)
{
	char axi[16], ahb[16];

	if (node->num_cores == 1 && of_property_match_string(node->dev->of_node, "reset-names",
							     "srst_a") >= 0)
		return rknpu_core_get_resets(core, "srst_a", "srst_h");
	snprintf(axi, sizeof(axi), "srst_a%u", core->index);
	snprintf(ahb, sizeof(ahb), "srst_h%u", core->index);
	return rknpu_core_get_resets(core, axi, ahb);
}

static int rknpu_node_get_core(struct rknpu_node *node, struct rknpu_core *core)
{
	struct resource *window;
	int ret;

	core->dev = node->dev;
	/* A single core has all of the IOMMU, and loses it as one that has a node does. */
	core->iommu = &node->rdev->iommus[0];
	core->iommu->shared = node->num_cores > 1;
	core->npu_clk = node->rdev->cores[0].npu_clk;
	core->supply = rknpu_node_power_supply();

	window = platform_get_resource(to_platform_device(node->dev), IORESOURCE_MEM, core->index);
	if (rknpu_soc_core_index(node->rdev->soc, window->start) != core->index)
		return dev_err_probe(node->dev, -EINVAL, "core %u is not at %pa\n", core->index,
				     &window->start);
	ret = rknpu_node_map_core(node, core, window);
	if (!ret && core->iommu->shared)
		ret = rknpu_node_map_banks(core, window);
	if (ret)
		return dev_err_probe(node->dev, ret, "core %u: no registers\n", core->index);

	ret = rknpu_node_get_resets(node, core);
	if (ret)
		return ret;
	core->irq = rknpu_node_get_irq(node, core->index);
	return core->irq < 0 ? core->irq : 0;
}

static unsigned int rknpu_node_count_cores(struct rknpu_node *node)
{
	struct platform_device *pdev = to_platform_device(node->dev);
	unsigned int n = 0;

	while (n < node->rdev->soc->num_cores && platform_get_resource(pdev, IORESOURCE_MEM, n))
		n++;
	return n;
}

static int rknpu_node_get_resources(struct rknpu_node *node)
{
	unsigned int i;
	int ret;

	node->num_cores = rknpu_node_count_cores(node);
	if (!node->num_cores)
		return dev_err_probe(node->dev, -EINVAL, "no registers\n");
	ret = rknpu_node_get_clks(node);
	if (ret)
		return dev_err_probe(node->dev, ret, "no clocks\n");
	for (i = 0; i < node->num_cores && !ret; i++)
		ret = rknpu_node_get_core(node, &node->rdev->cores[i]);
	return ret;
}

static void rknpu_node_unprepare(struct rknpu_node *node, unsigned int count)
{
	while (count--)
		rknpu_core_unprepare(&node->rdev->cores[count]);
}

static int rknpu_node_prepare(struct rknpu_node *node)
{
	unsigned int i;
	int ret;

	for (i = 0; i < node->num_cores; i++) {
		struct rknpu_core *core = &node->rdev->cores[i];

		/* All of them before the IOMMU is first powered. */
		ret = rknpu_core_deassert(core);
		if (!ret)
			ret = rknpu_core_prepare(core);
		if (ret) {
			rknpu_node_unprepare(node, i);
			return ret;
		}
	}
	return 0;
}

static void rknpu_node_free_irqs(struct rknpu_node *node, unsigned int count)
{
	while (count--)
		rknpu_core_free_irq(&node->rdev->cores[count]);
}

static int rknpu_node_bring_up(struct rknpu_node *node)
{
	unsigned int i;
	int ret;

	for (i = 0; i < node->num_cores; i++) {
		ret = rknpu_core_bring_up(&node->rdev->cores[i]);
		if (ret) {
			rknpu_node_free_irqs(node, i);
			return ret;
		}
	}
	return 0;
}

static void rknpu_node_forget_cores(struct rknpu_node *node)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		node->rdev->cores[i].dev = NULL;
		node->rdev->cores[i].num_banks = 0;
	}
}

static int rknpu_node_bind(struct device *dev, struct device *facade, void *data)
{
	struct rknpu_node *node;
	int ret;

	node = devm_kzalloc(dev, sizeof(*node), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	node->dev = dev;
	node->rdev = data;

	ret = rknpu_node_get_resources(node);
	if (ret)
		goto err_cores;

	ret = rknpu_node_prepare(node);
	if (ret)
		goto err_cores;

	rknpu_core_set_owner(dev, node);
	ret = rknpu_node_bring_up(node);
	if (ret)
		goto err_off;
	return 0;

err_off:
	rknpu_core_set_owner(dev, NULL);
	rknpu_node_unprepare(node, node->num_cores);
err_cores:
	rknpu_node_forget_cores(node);
	return ret;
}

static void rknpu_node_unbind(struct device *dev, struct device *facade, void *data)
{
	struct rknpu_node *node = dev_get_drvdata(dev);

	/* In this order: a fault may keep a line up until then. */
	rknpu_core_set_owner(dev, NULL);
	rknpu_node_free_irqs(node, node->num_cores);
	rknpu_node_unprepare(node, node->num_cores);
	rknpu_node_forget_cores(node);
}

static const struct component_ops rknpu_node_component_ops = {
	.bind = rknpu_node_bind,
	.unbind = rknpu_node_unbind,
};

static int rknpu_node_probe(struct platform_device *pdev)
{
	int ret;

	rknpu_drv_pm_start(&pdev->dev);
	ret = component_add(&pdev->dev, &rknpu_node_component_ops);
	if (ret)
		rknpu_drv_pm_stop(&pdev->dev);
	return ret;
}

static void rknpu_node_remove(struct platform_device *pdev)
{
	component_del(&pdev->dev, &rknpu_node_component_ops);
	rknpu_drv_pm_stop(&pdev->dev);
}

static int rknpu_node_runtime_suspend(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	unsigned int i;

	if (!node)
		return 0;
	for (i = 0; i < node->num_cores; i++)
		rknpu_core_runtime_suspend(&node->rdev->cores[i]);
	clk_bulk_disable_unprepare(node->num_clks, node->clks);
	return 0;
}

static int rknpu_node_runtime_resume(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	unsigned int i;
	int ret;

	if (!node)
		return 0;
	ret = clk_bulk_prepare_enable(node->num_clks, node->clks);
	if (ret)
		return ret;
	for (i = 0; i < node->num_cores; i++)
		rknpu_core_runtime_resume(&node->rdev->cores[i]);
	return 0;
}

static void rknpu_node_thaw(struct rknpu_node *node, unsigned int count)
{
	while (count--)
		rknpu_sched_core_thaw(&node->rdev->cores[count]);
}

static int rknpu_node_freeze(struct rknpu_node *node)
{
	unsigned int i;
	int ret;

	for (i = 0; i < node->num_cores; i++) {
		ret = rknpu_sched_core_freeze(&node->rdev->cores[i]);
		if (ret) {
			rknpu_node_thaw(node, i);
			return ret;
		}
	}
	return 0;
}

static int rknpu_node_suspend(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	int ret;

	ret = node ? rknpu_node_freeze(node) : 0;
	if (ret)
		return ret;

	ret = pm_runtime_force_suspend(dev);
	if (ret && node)
		rknpu_node_thaw(node, node->num_cores);
	return ret;
}

static int rknpu_node_resume(struct device *dev)
{
	struct rknpu_node *node = dev_get_drvdata(dev);
	int ret;

	ret = pm_runtime_force_resume(dev);
	/* Also if that failed, as for a core. */
	if (node)
		rknpu_node_thaw(node, node->num_cores);
	return ret;
}

static void rknpu_node_shutdown(struct platform_device *pdev)
{
	struct rknpu_node *node = platform_get_drvdata(pdev);
	unsigned int i;

	if (!node)
		return;
	rknpu_device_shutdown(node->rdev);
	for (i = 0; i < node->num_cores; i++)
		rknpu_sched_core_shutdown(&node->rdev->cores[i]);
}

static const struct dev_pm_ops rknpu_node_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(rknpu_node_suspend, rknpu_node_resume)
	RUNTIME_PM_OPS(rknpu_node_runtime_suspend, rknpu_node_runtime_resume, NULL)
};

struct platform_driver rknpu_node_driver = {
	.probe = rknpu_node_probe,
	.remove = rknpu_node_remove,
	.shutdown = rknpu_node_shutdown,
	.driver = {
		.name = "rknpu-accel-node",
		.of_match_table = rknpu_soc_node_match,
		.pm = pm_ptr(&rknpu_node_pm_ops),
	},
};
