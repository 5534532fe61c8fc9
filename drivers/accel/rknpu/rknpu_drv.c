// SPDX-License-Identifier: GPL-2.0-only
/* Owns the module: the facade that joins all cores to one device, and mainline's DT shape. */
#include <linux/cleanup.h>
#include <linux/component.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/string.h>

#include "debug/rknpu_stats.h"
#include "hw/rknpu_core.h"
#include "hw/rknpu_iommu.h"
#include "hw/rknpu_soc.h"
#include "hw/rknpu_supply.h"
#include "mem/rknpu_release.h"
#include "mem/rknpu_vm.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_dt_vendor_power.h"
#include "rknpu_params.h"
#include "sched/rknpu_lifecycle.h"
#include "vendor/rknpu_vendor_iface.h"

/* Has no DT node and no IOMMU: it stands for the NPU as a whole towards DMA mapping and DRM. */
static struct platform_device *rknpu_facade;

/* Binding, unbinding and shutdown of the NPU: one at a time. */
DEFINE_MUTEX(rknpu_drv_lock);

static int rknpu_core_component_bind(struct device *dev, struct device *facade, void *data)
{
	struct rknpu_device *rdev = data;
	struct resource res;
	int ret, index;

	ret = of_address_to_resource(dev->of_node, 0, &res);
	if (ret)
		return ret;
	/* The number goes into registers, so it must be the hardware's, not one of probe order. */
	index = rknpu_soc_core_index(rdev->hw.soc, res.start);
	if (index < 0 || rdev->hw.cores[index].dev)
		return dev_err_probe(dev, -EINVAL, "no core is known at %pa\n", &res.start);

	return rknpu_core_bind(&rdev->hw.cores[index], dev);
}

static void rknpu_core_component_unbind(struct device *dev, struct device *facade, void *data)
{
	rknpu_core_unbind(dev_get_drvdata(dev));
}

static const struct component_ops rknpu_core_component_ops = {
	.bind = rknpu_core_component_bind,
	.unbind = rknpu_core_component_unbind,
};

void rknpu_drv_pm_start(struct device *dev)
{
	pm_runtime_set_autosuspend_delay(dev, rknpu_params.autosuspend_ms);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_enable(dev);
}

void rknpu_drv_pm_stop(struct device *dev)
{
	pm_runtime_dont_use_autosuspend(dev);
	pm_runtime_disable(dev);
}

static int rknpu_core_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	int ret;

	/* Before binding: a power domain stays on for a device without runtime PM. */
	rknpu_drv_pm_start(dev);
	ret = component_add(dev, &rknpu_core_component_ops);
	if (ret)
		rknpu_drv_pm_stop(dev);
	return ret;
}

static void rknpu_core_remove(struct platform_device *pdev)
{
	component_del(&pdev->dev, &rknpu_core_component_ops);
	rknpu_drv_pm_stop(&pdev->dev);
}

static int rknpu_core_pm_runtime_suspend(struct device *dev)
{
	struct rknpu_core *core = dev_get_drvdata(dev);

	return core ? rknpu_core_runtime_suspend(core) : 0;
}

static int rknpu_core_pm_runtime_resume(struct device *dev)
{
	struct rknpu_core *core = dev_get_drvdata(dev);

	return core ? rknpu_core_runtime_resume(core) : 0;
}

static int rknpu_core_pm_suspend(struct device *dev)
{
	struct rknpu_core *core = dev_get_drvdata(dev);
	int ret;

	ret = core ? rknpu_sched_core_freeze(core) : 0;
	if (ret)
		return ret;

	ret = pm_runtime_force_suspend(dev);
	/* Ours does not fail; whoever else is asked might. */
	if (ret && core)
		rknpu_sched_core_thaw(core);
	return ret;
}

static int rknpu_core_pm_resume(struct device *dev)
{
	struct rknpu_core *core = dev_get_drvdata(dev);
	int ret;

	ret = pm_runtime_force_resume(dev);
	/* Also if that failed: then the first job finds out, and takes the core out of service. */
	if (core)
		rknpu_sched_core_thaw(core);
	return ret;
}

/*
 * The IOMMU's own shutdown lets everything through, and whoever runs next may
 * have put something where a job is writing.
 */
static void rknpu_core_shutdown(struct platform_device *pdev)
{
	struct rknpu_core *core;

	guard(mutex)(&rknpu_drv_lock);
	core = platform_get_drvdata(pdev);
	if (!core)
		return;
	rknpu_device_shutdown(hw_to_rknpu_device(core->hw));
	rknpu_sched_core_shutdown(core);
}

static const struct dev_pm_ops rknpu_core_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(rknpu_core_pm_suspend, rknpu_core_pm_resume)
	RUNTIME_PM_OPS(rknpu_core_pm_runtime_suspend, rknpu_core_pm_runtime_resume, NULL)
};

static struct platform_driver rknpu_core_driver = {
	.probe = rknpu_core_probe,
	.remove = rknpu_core_remove,
	.shutdown = rknpu_core_shutdown,
	.driver = {
		.name = "rknpu-accel",
		.of_match_table = rknpu_soc_mainline_match,
		.pm = pm_ptr(&rknpu_core_pm_ops),
	},
};

static int rknpu_facade_bind(struct device *dev)
{
	struct rknpu_device *rdev;
	int ret;

	guard(mutex)(&rknpu_drv_lock);
	rdev = rknpu_device_create(dev, dev_get_platdata(dev));
	if (IS_ERR(rdev))
		return PTR_ERR(rdev);

	ret = component_bind_all(dev, rdev);
	if (ret)
		return ret;

	ret = rknpu_device_publish(rdev);
	if (ret) {
		rknpu_sched_stop(&rdev->sched);
		component_unbind_all(dev, rdev);
		return ret;
	}
	dev_set_drvdata(dev, rdev);
	return 0;
}

static void rknpu_facade_unbind(struct device *dev)
{
	struct rknpu_device *rdev = dev_get_drvdata(dev);

	guard(mutex)(&rknpu_drv_lock);
	if (!rdev->hw.down)
		rknpu_device_unpublish(rdev);
	/* rocket_render_node can be read, and finds @rdev, until devres removes it after this. */
	component_unbind_all(dev, rdev);
}

static const struct component_master_ops rknpu_facade_ops = {
	.bind = rknpu_facade_bind,
	.unbind = rknpu_facade_unbind,
};

static int rknpu_facade_is_core(struct device *dev, void *data)
{
	return dev->of_node == data;
}

static void rknpu_facade_put_core(struct device *dev, void *data)
{
	of_node_put(data);
}

static struct component_match *rknpu_facade_match(struct device *dev)
{
	const struct rknpu_soc *soc;
	const struct of_device_id *shape = rknpu_soc_find_shape(&soc);
	struct component_match *match = NULL;
	struct device_node *np;

	if (!shape)
		return NULL;
	for_each_matching_node(np, shape) {
		if (of_device_is_available(np))
			component_match_add_release(dev, &match, rknpu_facade_put_core,
						    rknpu_facade_is_core, of_node_get(np));
	}
	return match;
}

/*
 * By name, as drivers that are built in have no owner. The name outlives the lock only as
 * a copy: its driver may be unloaded next.
 */
static bool rknpu_foreign_driver(struct device *dev, char *name, size_t size)
{
	const struct device_driver *driver;
	bool foreign;

	device_lock(dev);
	driver = dev->driver;
	foreign = driver && driver->name != rknpu_core_driver.driver.name &&
		  driver->name != rknpu_vdt_driver.driver.name;
	if (foreign)
		strscpy(name, driver->name, size);
	device_unlock(dev);
	return foreign;
}

/* The first device of the NPU that another driver has, with a reference, and the driver's name. */
static struct platform_device *rknpu_find_foreign(char *name, size_t size)
{
	const struct rknpu_soc *soc;
	const struct of_device_id *shape = rknpu_soc_find_shape(&soc);
	struct platform_device *pdev;
	struct device_node *np;

	if (!shape)
		return NULL;
	for_each_matching_node(np, shape) {
		pdev = of_find_device_by_node(np);
		if (pdev && rknpu_foreign_driver(&pdev->dev, name, size)) {
			of_node_put(np);
			return pdev;
		}
		platform_device_put(pdev);
	}
	return NULL;
}

static bool rknpu_is_taken(void)
{
	char name[32];
	struct platform_device *pdev = rknpu_find_foreign(name, sizeof(name));

	platform_device_put(pdev);
	return pdev;
}

/* Its driver, which rknpu_facade_probe() registers. */
static bool rknpu_vdt_is_registered;

/*
 * Its driver is not even there where the NPU has another shape, or another
 * driver: powering up for a probe what nobody has given power domains is fatal.
 */
static bool rknpu_vdt_is_wanted(void)
{
	const struct rknpu_soc *soc;

	return rknpu_soc_find_shape(&soc) == rknpu_soc_vendor_match && !rknpu_is_taken();
}

static int rknpu_facade_probe(struct platform_device *pdev)
{
	const struct rknpu_soc *soc = dev_get_platdata(&pdev->dev);
	bool vdt = rknpu_vdt_is_wanted();
	struct component_match *match;
	int ret;

	/* It is the IOMMU that has more bits than programs. */
	ret = dma_coerce_mask_and_coherent(&pdev->dev,
					   DMA_BIT_MASK(rknpu_iommu_are_absent() ? 32 :
									soc->dma_bits));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);

	match = rknpu_facade_match(&pdev->dev);
	if (IS_ERR_OR_NULL(match))
		return match ? PTR_ERR(match) : -ENODEV;
	ret = vdt ? rknpu_vdt_power_get(&pdev->dev) : rknpu_supply_get(&pdev->dev);
	if (ret)
		return ret;
	ret = component_master_add_with_match(&pdev->dev, &rknpu_facade_ops, match);
	if (ret || !vdt)
		return ret;

	/* Now: if the NPU cannot be bound yet, it is its probe that is deferred, not this one. */
	ret = platform_driver_register(&rknpu_vdt_driver);
	if (ret)
		component_master_del(&pdev->dev, &rknpu_facade_ops);
	rknpu_vdt_is_registered = !ret;
	return ret;
}

static void rknpu_facade_remove(struct platform_device *pdev)
{
	component_master_del(&pdev->dev, &rknpu_facade_ops);
	/*
	 * Not by devres: kernels before 5.16 release all that was added since the NPU was
	 * bound when it is unbound, with the lock held that unregistering wants.
	 */
	if (rknpu_vdt_is_registered)
		platform_driver_unregister(&rknpu_vdt_driver);
}

static struct platform_driver rknpu_facade_driver = {
	.probe = rknpu_facade_probe,
	.remove = rknpu_facade_remove,
	.driver = {
		.name = "rknpu",
		/* BO pages of open files are mapped for it: only cores may come and go. */
		.suppress_bind_attrs = true,
	},
};

static int rknpu_facade_create(void)
{
	struct platform_device_info info = {
		.name = "rknpu",
		.id = PLATFORM_DEVID_NONE,
	};
	const struct rknpu_soc *soc;

	/* Without an NPU the module loads and does nothing. */
	if (!rknpu_soc_find_shape(&soc))
		return 0;
	info.data = soc;
	info.size_data = sizeof(*soc);
	rknpu_facade = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(rknpu_facade);
}

/* Whoever bound first keeps the NPU; then a module that loads in silence looks broken. */
static void rknpu_report_owner(void)
{
	char name[32];
	struct platform_device *pdev = rknpu_find_foreign(name, sizeof(name));

	if (pdev)
		pr_info("rknpu-accel: %s belongs to driver %s; to take over see \"Beside another driver\" in install.rst\n",
			dev_name(&pdev->dev), name);
	platform_device_put(pdev);
}

static int rknpu_drivers_register(void)
{
	int ret;

	ret = platform_driver_register(&rknpu_facade_driver);
	if (ret)
		return ret;

	ret = rknpu_facade_create();
	if (ret)
		goto err_facade_driver;

	ret = platform_driver_register(&rknpu_core_driver);
	if (ret)
		goto err_facade;

	return 0;

err_facade:
	platform_device_unregister(rknpu_facade);
err_facade_driver:
	platform_driver_unregister(&rknpu_facade_driver);
	return ret;
}

static int __init rknpu_module_init(void)
{
	int ret;

	ret = rknpu_release_init();
	if (ret)
		return ret;
	rknpu_vendor_files_init(rknpu_debugfs_init());

	ret = rknpu_drivers_register();
	if (ret) {
		rknpu_debugfs_exit();
		rknpu_vendor_files_exit();
		rknpu_vm_reap_everything();
		rknpu_release_exit();
		return ret;
	}
	rknpu_report_owner();
	return 0;
}
module_init(rknpu_module_init);

static void __exit rknpu_module_exit(void)
{
	platform_driver_unregister(&rknpu_core_driver);
	platform_device_unregister(rknpu_facade);
	platform_driver_unregister(&rknpu_facade_driver);
	rknpu_debugfs_exit();
	rknpu_vendor_files_exit();
	rknpu_vm_reap_everything();
	rknpu_release_exit();
}
module_exit(rknpu_module_exit);

MODULE_DESCRIPTION("Rockchip NPU accelerator driver");
MODULE_AUTHOR("The rknpu-accel authors");
MODULE_LICENSE("GPL");
