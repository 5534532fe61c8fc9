// SPDX-License-Identifier: GPL-2.0-only
/* Owns the aggregate device: all cores of the NPU behind one drm_device. */
#include <linux/bitops.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "rknpu_debugfs.h"
#include "rknpu_devfreq.h"
#include "rknpu_device.h"
#include "rknpu_release.h"
#include "rknpu_sched.h"
#include "rknpu_sysfs.h"
#include "rknpu_uapi.h"
#include "rknpu_vendor.h"

struct rknpu_device *rknpu_device_create(struct device *dev, const struct rknpu_soc *soc)
{
	struct rknpu_device *rdev;
	unsigned int i;
	int ret;

	rdev = devm_drm_dev_alloc(dev, &rknpu_rocket_driver, struct rknpu_device, accel);
	if (IS_ERR(rdev))
		return rdev;

	rdev->soc = soc;
	spin_lock_init(&rdev->lock);
	init_rwsem(&rdev->iommus_lock);
	INIT_LIST_HEAD(&rdev->clients);
	rknpu_rate_init_static(rdev);
	for (i = 0; i < RKNPU_MAX_CORES; i++)
		rknpu_core_init_static(rdev, i);

	ret = rknpu_sysfs_add(dev, rdev);
	if (!ret)
		ret = rknpu_vendor_create(rdev, &rdev->vendor);
	return ret ? ERR_PTR(ret) : rdev;
}

static int rknpu_device_register_vendor(struct rknpu_vendor *vendor)
{
	int ret;

	ret = drm_dev_register(&vendor->drm, 0);
	if (ret)
		return ret;
	ret = rknpu_misc_register(vendor);
	if (ret)
		drm_dev_unplug(&vendor->drm);
	return ret;
}

static int rknpu_device_register(struct rknpu_device *rdev)
{
	int ret;

	ret = drm_dev_register(&rdev->accel, 0);
	if (ret || !rdev->vendor)
		return ret;

	ret = rknpu_device_register_vendor(rdev->vendor);
	if (ret)
		drm_dev_unplug(&rdev->accel);
	return ret;
}

u32 rknpu_device_cores_alive(struct rknpu_device *rdev)
{
	u32 mask = 0;
	unsigned int i;

	spin_lock_irq(&rdev->lock);
	for (i = 0; i < rdev->soc->num_cores; i++) {
		enum rknpu_core_state state = rdev->cores[i].state;

		if (state != RKNPU_CORE_ABSENT && state != RKNPU_CORE_DEAD)
			mask |= BIT(i);
	}
	spin_unlock_irq(&rdev->lock);
	return mask;
}

static u32 rknpu_device_cores_bound(struct rknpu_device *rdev)
{
	u32 mask = 0;
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->cores[i].dev)
			mask |= BIT(i);
	}
	return mask;
}

int rknpu_device_publish(struct rknpu_device *rdev)
{
	unsigned int i;
	int ret;

	rdev->core_mask = rknpu_device_cores_bound(rdev);
	rknpu_rate_start(rdev);
	ret = rknpu_device_register(rdev);
	if (ret) {
		rknpu_rate_stop(rdev);
		return ret;
	}
	rknpu_devfreq_start(rdev);
	rknpu_debugfs_set_device(rdev);

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &rdev->cores[i];

		if (!core->dev)
			continue;
		drm_info(&rdev->accel, "core %u: %s, version %u\n", i, dev_name(core->dev),
			 core->version);
	}
	drm_info(&rdev->accel, "NPU with %u cores\n", hweight32(rdev->core_mask));
	return 0;
}

void rknpu_device_unpublish(struct rknpu_device *rdev)
{
	rknpu_debugfs_set_device(NULL);
	rknpu_devfreq_stop(rdev);
	/* First, so that nobody inside an ioctl waits for a job that takes long. */
	rknpu_sched_stop(rdev);
	if (rdev->vendor) {
		rknpu_misc_unregister(rdev->vendor);
		drm_dev_unplug(&rdev->vendor->drm);
	}
	drm_dev_unplug(&rdev->accel);
	/* Nobody asks for the rate any more. */
	rknpu_rate_stop(rdev);
	rknpu_release_flush();
}

void rknpu_device_shutdown(struct rknpu_device *rdev)
{
	if (rdev->down)
		return;
	rknpu_device_unpublish(rdev);
	down_write(&rdev->iommus_lock);
	rdev->down = true;
	up_write(&rdev->iommus_lock);
}
