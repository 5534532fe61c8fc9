// SPDX-License-Identifier: GPL-2.0-only
/* Owns the aggregate device: putting it together, letting user space in and out. */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "debug/rknpu_stats.h"
#include "hw/rknpu_core.h"
#include "hw/rknpu_devfreq.h"
#include "hw/rknpu_iommu.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_rate.h"
#include "mem/rknpu_vm.h"
#include "rknpu_device.h"
#include "rocket/rknpu_rocket_drv.h"
#include "sched/rknpu_lifecycle.h"
#include "vendor/rknpu_vendor_iface.h"

/*
 * Of two render nodes with one parent; DRM's own attributes do not name the driver.
 * Kernels with accel nodes do not get as far as the end of rknpu_sysfs_add().
 */
static ssize_t rocket_render_node_show(struct device *dev, struct device_attribute *attr,
				       char *buf)
{
	struct rknpu_device *rdev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", dev_name(rdev->accel.render->kdev));
}
static DEVICE_ATTR_RO(rocket_render_node);

static struct attribute *rknpu_sysfs_attrs[] = {
	&dev_attr_rocket_render_node.attr,
	NULL
};

static const struct attribute_group rknpu_sysfs_group = {
	.attrs = rknpu_sysfs_attrs,
};

/*
 * Before the node is registered, because udev's rules read it then. Devres of
 * @dev removes it, waiting for readers, before it drops the reference on @rdev
 * that was taken earlier.
 */
static int rknpu_sysfs_add(struct device *dev, struct rknpu_device *rdev)
{
	/* Kernels that have accel nodes give it no other one. */
	if (!rdev->accel.render)
		return 0;
	dev_set_drvdata(dev, rdev);
	return devm_device_add_group(dev, &rknpu_sysfs_group);
}

/*
 * What makes udev's rules bind the device anew. DRM's own function follows the card
 * node, which accel devices do not have (7.3).
 */
static void rknpu_device_report_wedged(struct drm_device *drm)
{
	struct device *accel = RKNPU_COMPAT_ACCEL_KDEV(drm);
	char rebind[] = "WEDGED=rebind", *event[] = { rebind, NULL };

	if (accel)
		kobject_uevent_env(&accel->kobj, KOBJ_CHANGE, event);
	else
		drm_dev_wedged_event(drm, DRM_WEDGE_RECOVERY_REBIND, NULL);
}

static void rknpu_device_core_lost(struct rknpu_sched *sched)
{
	struct rknpu_device *rdev = container_of(sched, struct rknpu_device, sched);
	struct drm_device *vendor = rknpu_vendor_drm(rdev->vendor);

	rknpu_device_report_wedged(&rdev->accel);
	if (vendor)
		rknpu_device_report_wedged(vendor);
}

static int rknpu_device_system_sleep(struct notifier_block *nb, unsigned long event, void *unused)
{
	struct rknpu_device *rdev = container_of(nb, struct rknpu_device, sleep_nb);

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		rknpu_sched_sleep_begins(&rdev->sched);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		rknpu_sched_sleep_ends(&rdev->sched);
		break;
	}
	return NOTIFY_DONE;
}

static bool rknpu_device_reclaim(struct rknpu_mem *mem, struct rknpu_quota *quota)
{
	rknpu_sched_let_go(&container_of(mem, struct rknpu_device, mem)->sched);
	rknpu_vm_flush(quota);
	return rknpu_vm_reaps_others(quota);
}

struct rknpu_device *rknpu_device_create(struct device *dev, const struct rknpu_soc *soc)
{
	struct rknpu_device *rdev;
	int ret;

	rdev = devm_drm_dev_alloc(dev, &rknpu_rocket_driver, struct rknpu_device, accel);
	if (IS_ERR(rdev))
		return rdev;

	rdev->hw.soc = soc;
	rdev->hw.no_iommu = rknpu_iommu_are_absent();
	rdev->mem.hw = &rdev->hw;
	rdev->mem.reclaim = rknpu_device_reclaim;
	rdev->sched.core_lost = rknpu_device_core_lost;
	rdev->sleep_nb.notifier_call = rknpu_device_system_sleep;
	rknpu_hw_init(&rdev->hw, &rdev->accel, &rknpu_sched_hw_ops);
	ret = rknpu_sched_init(&rdev->sched, &rdev->hw, &rdev->mem);
	if (!ret)
		ret = rknpu_sysfs_add(dev, rdev);
	if (!ret)
		ret = rknpu_vendor_create(rdev, &rdev->vendor);
	return ret ? ERR_PTR(ret) : rdev;
}

static int rknpu_device_register(struct rknpu_device *rdev)
{
	int ret;

	ret = drm_dev_register(&rdev->accel, 0);
	if (ret)
		return ret;

	ret = rknpu_vendor_register(rdev->vendor);
	if (ret)
		drm_dev_unplug(&rdev->accel);
	return ret;
}

static void rknpu_device_show_stats(void *data, struct drm_printer *p)
{
	struct rknpu_device *rdev = data;
	struct rknpu_core *core;

	rknpu_device_stats_print(&rdev->hw.stats, rknpu_mem_bo_bytes(&rdev->mem),
				 rknpu_mem_table_bytes(&rdev->mem), p);
	rknpu_for_each_core(core, &rdev->hw) {
		if (core->dev)
			rknpu_core_stats_print(&core->stats, core->index, p);
	}
}

static void rknpu_device_show_registers(void *data, struct drm_printer *p)
{
	struct rknpu_device *rdev = data;
	struct rknpu_core *core;

	rknpu_for_each_core(core, &rdev->hw) {
		if (core->dev)
			rknpu_pc_print(core, p);
	}
}

static u32 rknpu_device_cores_bound(struct rknpu_device *rdev)
{
	u32 mask = 0;
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->hw.cores[i].dev)
			mask |= BIT(i);
	}
	return mask;
}

int rknpu_device_publish(struct rknpu_device *rdev)
{
	unsigned int i;
	int ret;

	rdev->hw.core_mask = rknpu_device_cores_bound(rdev);
	ret = rknpu_rate_start(&rdev->hw);
	if (ret)
		return ret;
	ret = rknpu_device_register(rdev);
	if (ret) {
		rknpu_rate_stop(&rdev->hw);
		return ret;
	}
	rknpu_devfreq_start(&rdev->hw);
	rknpu_debugfs_set_source(rknpu_device_show_stats, rknpu_device_show_registers, rdev);
	rknpu_vendor_files_set_device(rdev);
	/* Does not fail for what is not registered yet. */
	register_pm_notifier(&rdev->sleep_nb);

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &rdev->hw.cores[i];

		if (!core->dev)
			continue;
		drm_info(&rdev->accel, "core %u: %s, version %u\n", i, dev_name(core->dev),
			 core->version);
	}
	drm_info(&rdev->accel, "NPU with %u cores\n", hweight32(rdev->hw.core_mask));
	if (rdev->hw.no_iommu)
		drm_notice(&rdev->accel, "no IOMMU: a job can read and write all memory below 4 GiB, so open() needs module parameter unsafe_noiommu and CAP_SYS_RAWIO\n");
	return 0;
}

void rknpu_device_unpublish(struct rknpu_device *rdev)
{
	unregister_pm_notifier(&rdev->sleep_nb);
	rknpu_debugfs_set_source(NULL, NULL, NULL);
	rknpu_vendor_files_set_device(NULL);
	rknpu_devfreq_stop(&rdev->hw);
	/* First, so that nobody inside an ioctl waits for a job that takes long. */
	rknpu_sched_stop(&rdev->sched);
	rknpu_vendor_unregister(rdev->vendor);
	drm_dev_unplug(&rdev->accel);
	/* Nobody asks for the rate any more. */
	rknpu_rate_stop(&rdev->hw);
	/* An ioctl that was under way has pushed its jobs, which ended, and others with them. */
	flush_work(&rdev->sched.work);
	rknpu_vm_flush(NULL);
}

void rknpu_device_shutdown(struct rknpu_device *rdev)
{
	if (rdev->hw.down)
		return;
	rknpu_device_unpublish(rdev);
	down_write(&rdev->hw.iommus_lock);
	rdev->hw.down = true;
	up_write(&rdev->hw.iommus_lock);
}
