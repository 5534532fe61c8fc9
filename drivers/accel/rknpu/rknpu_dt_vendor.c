// SPDX-License-Identifier: GPL-2.0-only
/* Owns the vendor's DT shape: one platform device that is all cores, behind one IOMMU. */
#include <linux/cleanup.h>
#include <linux/clk.h>
#include <linux/component.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/reset.h>
#include <linux/sizes.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_regs.h"
#include "hw/rknpu_soc.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_dt_vendor_power.h"
#include "sched/rknpu_lifecycle.h"

/**
 * struct rknpu_vdt - the platform device while it is bound
 */
struct rknpu_vdt {
	/** @hw: hardware */
	struct rknpu_hw *hw;
	/** @dev: platform device */
	struct device *dev;
	/** @supply: compute supply, or NULL; the facade's */
	struct regulator *supply;
	/** @num_cores: cores that it has registers of */
	unsigned int num_cores;
	/** @clks: all clocks */
	struct clk_bulk_data *clks;
	/** @num_clks: number of @clks */
	int num_clks;
};

static int rknpu_vdt_get_clks(struct rknpu_vdt *vdt)
{
	int i;

	vdt->num_clks = devm_clk_bulk_get_all(vdt->dev, &vdt->clks);
	if (vdt->num_clks < 0)
		return vdt->num_clks;
	/* Touching registers of what is not clocked is fatal. */
	if (!vdt->num_clks)
		return -ENOENT;
	for (i = 0; i < vdt->num_clks; i++) {
		const char *id = vdt->clks[i].id ?: "";

		if (!strcmp(id, "clk_npu") || !strcmp(id, "scmi_clk") ||
		    !strcmp(id, vdt->hw->soc->clks[0]))
			vdt->hw->cores[0].npu_clk = vdt->clks[i].clk;
	}
	return 0;
}

/* Not the whole window: the IOMMU's driver has claimed a part of it. */
static void __iomem *rknpu_vdt_map_block(struct rknpu_vdt *vdt, const struct resource *window,
					 resource_size_t offset)
{
	struct resource block = DEFINE_RES_MEM_NAMED(window->start + offset, SZ_4K,
						     dev_name(vdt->dev));

	return devm_ioremap_resource(vdt->dev, &block);
}

static int rknpu_vdt_map_core(struct rknpu_vdt *vdt, struct rknpu_core *core,
			      const struct resource *window)
{
	core->pc = rknpu_vdt_map_block(vdt, window, RKNPU_BASE_PC);
	if (IS_ERR(core->pc))
		return PTR_ERR(core->pc);

	core->cna = rknpu_vdt_map_block(vdt, window, RKNPU_BASE_CNA);
	if (IS_ERR(core->cna))
		return PTR_ERR(core->cna);

	core->mac = rknpu_vdt_map_block(vdt, window, RKNPU_BASE_CORE);
	return PTR_ERR_OR_ZERO(core->mac);
}

static int rknpu_vdt_map_mmu(struct rknpu_core *core, const struct resource *res)
{
	void __iomem *mmu;

	if (core->num_mmus == RKNPU_CORE_MAX_MMUS)
		return -EINVAL;
	mmu = devm_ioremap(core->dev, res->start, resource_size(res));
	if (!mmu)
		return -ENOMEM;
	core->mmus[core->num_mmus++] = mmu;
	return 0;
}

/* The IOMMU's registers that are in the core's window. */
static int rknpu_vdt_map_mmus(struct rknpu_core *core, const struct resource *window)
{
	struct device_node *np = of_parse_phandle(core->dev->of_node, "iommus", 0);
	struct resource res;
	int i, ret = 0;

	core->num_mmus = 0;
	for (i = 0; np && !ret && !of_address_to_resource(np, i, &res); i++) {
		if (res.start >= window->start && res.end <= window->end)
			ret = rknpu_vdt_map_mmu(core, &res);
	}
	of_node_put(np);
	if (!ret && !core->num_mmus)
		ret = -EINVAL;
	return ret;
}

/* By name, or by number, or one for all. */
static int rknpu_vdt_get_irq(struct rknpu_vdt *vdt, unsigned int index)
{
	struct platform_device *pdev = to_platform_device(vdt->dev);
	char name[16];
	int irq;

	snprintf(name, sizeof(name), "npu%u_irq", index);
	irq = platform_get_irq_byname_optional(pdev, name);
	if (irq > 0 || irq == -EPROBE_DEFER)
		return irq;
	return platform_get_irq_optional(pdev, platform_irq_count(pdev) == 1 ? 0 : index);
}

static int rknpu_vdt_get_resets(struct rknpu_vdt *vdt, struct rknpu_core *core)
{
	char index[4];

	if (vdt->num_cores == 1 && of_property_match_string(vdt->dev->of_node, "reset-names",
							    vdt->hw->soc->resets[0]) >= 0)
		return rknpu_core_get_resets(core, "");
	snprintf(index, sizeof(index), "%u", core->index);
	return rknpu_core_get_resets(core, index);
}

/* They are never asserted: a core is reset alone. */
static int rknpu_vdt_deassert_shared(struct rknpu_vdt *vdt)
{
	const char * const *names = vdt->hw->soc->shared_resets;
	struct reset_control *reset;
	int i, ret = 0;

	for (i = 0; i < RKNPU_MAX_RESETS && names[i] && !ret; i++) {
		reset = devm_reset_control_get_exclusive(vdt->dev, names[i]);
		ret = IS_ERR(reset) ? PTR_ERR(reset) : reset_control_deassert(reset);
	}
	return ret;
}

static int rknpu_vdt_get_core(struct rknpu_vdt *vdt, struct rknpu_core *core)
{
	struct resource *window;
	int ret;

	core->dev = vdt->dev;
	/*
	 * A single core has all of the IOMMU, and loses it as in mainline's DT shape. Of
	 * several, those without IOMMU still have one device and its power.
	 */
	core->iommu = &vdt->hw->iommus[0];
	core->iommu->shared = vdt->num_cores > 1;
	core->npu_clk = vdt->hw->cores[0].npu_clk;
	core->supply = vdt->supply;

	window = platform_get_resource(to_platform_device(vdt->dev), IORESOURCE_MEM, core->index);
	if (rknpu_soc_core_index(vdt->hw->soc, window->start) != core->index)
		return dev_err_probe(vdt->dev, -EINVAL, "core %u is not at %pa\n", core->index,
				     &window->start);
	ret = rknpu_vdt_map_core(vdt, core, window);
	if (!ret && !vdt->hw->no_iommu)
		ret = rknpu_vdt_map_mmus(core, window);
	if (ret)
		return dev_err_probe(vdt->dev, ret, "core %u: no registers\n", core->index);

	ret = rknpu_vdt_get_resets(vdt, core);
	if (ret)
		return ret;
	return rknpu_core_set_irq(core, rknpu_vdt_get_irq(vdt, core->index));
}

/* Fuses of the RK3583 that say which cores are bad: the vendor's driver then uses two at most. */
static bool rknpu_vdt_has_bad_cores(struct device *dev)
{
	return of_property_match_string(dev->of_node, "nvmem-cell-names", "cores") >= 0;
}

static unsigned int rknpu_vdt_count_cores(struct rknpu_vdt *vdt)
{
	struct platform_device *pdev = to_platform_device(vdt->dev);
	unsigned int n = 0, most = vdt->hw->soc->num_cores;

	if (rknpu_vdt_has_bad_cores(vdt->dev))
		most = min(most, 2u);
	while (n < most && platform_get_resource(pdev, IORESOURCE_MEM, n))
		n++;
	return n;
}

static int rknpu_vdt_get_resources(struct rknpu_vdt *vdt)
{
	unsigned int i;
	int ret;

	vdt->num_cores = rknpu_vdt_count_cores(vdt);
	if (!vdt->num_cores)
		return dev_err_probe(vdt->dev, -EINVAL, "no registers\n");
	ret = rknpu_vdt_get_clks(vdt);
	if (ret)
		return dev_err_probe(vdt->dev, ret, "no clocks\n");
	ret = rknpu_vdt_deassert_shared(vdt);
	if (ret)
		return dev_err_probe(vdt->dev, ret, "no resets\n");
	for (i = 0; i < vdt->num_cores && !ret; i++)
		ret = rknpu_vdt_get_core(vdt, &vdt->hw->cores[i]);
	return ret;
}

static void rknpu_vdt_unprepare(struct rknpu_vdt *vdt, unsigned int count)
{
	while (count--)
		rknpu_core_unprepare(&vdt->hw->cores[count]);
}

static int rknpu_vdt_prepare(struct rknpu_vdt *vdt)
{
	unsigned int i;
	int ret;

	for (i = 0; i < vdt->num_cores; i++) {
		struct rknpu_core *core = &vdt->hw->cores[i];

		/* All of them before the IOMMU is first powered. */
		ret = rknpu_core_deassert(core);
		if (!ret)
			ret = rknpu_core_prepare(core);
		if (ret) {
			rknpu_vdt_unprepare(vdt, i);
			return ret;
		}
	}
	return 0;
}

static void rknpu_vdt_free_irqs(struct rknpu_vdt *vdt, unsigned int count)
{
	while (count--)
		rknpu_core_free_irq(&vdt->hw->cores[count]);
}

static int rknpu_vdt_bring_up(struct rknpu_vdt *vdt)
{
	unsigned int i;
	int ret;

	for (i = 0; i < vdt->num_cores; i++) {
		ret = rknpu_core_bring_up(&vdt->hw->cores[i]);
		if (ret) {
			rknpu_vdt_free_irqs(vdt, i);
			return ret;
		}
	}
	return 0;
}

static void rknpu_vdt_forget_cores(struct rknpu_vdt *vdt)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		rknpu_core_forget_dev(&vdt->hw->cores[i]);
		vdt->hw->cores[i].num_mmus = 0;
	}
}

static int rknpu_vdt_bind(struct device *dev, struct device *facade, void *data)
{
	struct rknpu_vdt *vdt;
	int ret;

	vdt = devm_kzalloc(dev, sizeof(*vdt), GFP_KERNEL);
	if (!vdt)
		return -ENOMEM;
	vdt->dev = dev;
	vdt->supply = rknpu_vdt_power_supply(facade);
	vdt->hw = &((struct rknpu_device *)data)->hw;

	ret = rknpu_vdt_get_resources(vdt);
	if (ret)
		goto err_cores;
	rknpu_vdt_power_tell(facade, vdt->hw->cores, vdt->num_cores);

	ret = rknpu_vdt_prepare(vdt);
	if (ret)
		goto err_cores;

	rknpu_core_set_owner(dev, vdt);
	ret = rknpu_vdt_bring_up(vdt);
	if (ret)
		goto err_off;
	return 0;

err_off:
	rknpu_core_begin_unbind(&vdt->hw->cores[0]);
	rknpu_vdt_unprepare(vdt, vdt->num_cores);
	rknpu_core_end_unbind(dev);
err_cores:
	rknpu_vdt_forget_cores(vdt);
	return ret;
}

static void rknpu_vdt_unbind(struct device *dev, struct device *facade, void *data)
{
	struct rknpu_vdt *vdt = dev_get_drvdata(dev);

	/* In this order: a fault may keep a line up until then. */
	rknpu_core_begin_unbind(&vdt->hw->cores[0]);
	rknpu_vdt_free_irqs(vdt, vdt->num_cores);
	rknpu_vdt_unprepare(vdt, vdt->num_cores);
	rknpu_core_end_unbind(dev);
	rknpu_vdt_forget_cores(vdt);
}

static const struct component_ops rknpu_vdt_component_ops = {
	.bind = rknpu_vdt_bind,
	.unbind = rknpu_vdt_unbind,
};

static int rknpu_vdt_probe(struct platform_device *pdev)
{
	int ret;

	rknpu_drv_pm_start(&pdev->dev);
	ret = component_add(&pdev->dev, &rknpu_vdt_component_ops);
	if (ret)
		rknpu_drv_pm_stop(&pdev->dev);
	return ret;
}

static void rknpu_vdt_remove(struct platform_device *pdev)
{
	component_del(&pdev->dev, &rknpu_vdt_component_ops);
	rknpu_drv_pm_stop(&pdev->dev);
}

static int rknpu_vdt_runtime_suspend(struct device *dev)
{
	struct rknpu_vdt *vdt = dev_get_drvdata(dev);
	unsigned int i;

	if (!vdt)
		return 0;
	for (i = 0; i < vdt->num_cores; i++)
		rknpu_core_runtime_suspend(&vdt->hw->cores[i]);
	clk_bulk_disable_unprepare(vdt->num_clks, vdt->clks);
	return 0;
}

static int rknpu_vdt_runtime_resume(struct device *dev)
{
	struct rknpu_vdt *vdt = dev_get_drvdata(dev);
	unsigned int i;
	int ret;

	if (!vdt)
		return 0;
	ret = clk_bulk_prepare_enable(vdt->num_clks, vdt->clks);
	if (ret)
		return ret;
	for (i = 0; i < vdt->num_cores; i++)
		rknpu_core_runtime_resume(&vdt->hw->cores[i]);
	return 0;
}

static void rknpu_vdt_thaw(struct rknpu_vdt *vdt, unsigned int count)
{
	while (count--)
		rknpu_sched_core_thaw(&vdt->hw->cores[count]);
}

static int rknpu_vdt_freeze(struct rknpu_vdt *vdt)
{
	unsigned int i;
	int ret;

	for (i = 0; i < vdt->num_cores; i++) {
		ret = rknpu_sched_core_freeze(&vdt->hw->cores[i]);
		if (ret) {
			rknpu_vdt_thaw(vdt, i);
			return ret;
		}
	}
	return 0;
}

static int rknpu_vdt_suspend(struct device *dev)
{
	struct rknpu_vdt *vdt = dev_get_drvdata(dev);
	int ret;

	ret = vdt ? rknpu_vdt_freeze(vdt) : 0;
	if (ret)
		return ret;

	ret = pm_runtime_force_suspend(dev);
	/* As for a core. */
	if (ret && vdt)
		rknpu_vdt_thaw(vdt, vdt->num_cores);
	return ret;
}

static int rknpu_vdt_resume(struct device *dev)
{
	struct rknpu_vdt *vdt = dev_get_drvdata(dev);
	int ret;

	ret = pm_runtime_force_resume(dev);
	/* Also if that failed, as for a core. */
	if (vdt)
		rknpu_vdt_thaw(vdt, vdt->num_cores);
	return ret;
}

static void rknpu_vdt_shutdown(struct platform_device *pdev)
{
	struct rknpu_vdt *vdt;
	unsigned int i;

	guard(mutex)(&rknpu_drv_lock);
	vdt = platform_get_drvdata(pdev);
	if (!vdt)
		return;
	rknpu_device_shutdown(hw_to_rknpu_device(vdt->hw));
	for (i = 0; i < vdt->num_cores; i++)
		rknpu_sched_core_shutdown(&vdt->hw->cores[i]);
}

static const struct dev_pm_ops rknpu_vdt_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(rknpu_vdt_suspend, rknpu_vdt_resume)
	RUNTIME_PM_OPS(rknpu_vdt_runtime_suspend, rknpu_vdt_runtime_resume, NULL)
};

struct platform_driver rknpu_vdt_driver = {
	.probe = rknpu_vdt_probe,
	.remove = rknpu_vdt_remove,
	.shutdown = rknpu_vdt_shutdown,
	.driver = {
		.name = "rknpu-accel-node",
		.of_match_table = rknpu_soc_vendor_match,
		.pm = pm_ptr(&rknpu_vdt_pm_ops),
	},
};
