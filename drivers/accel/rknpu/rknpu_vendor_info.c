// SPDX-License-Identifier: GPL-2.0-only
/* Owns what the vendor's uAPI and its files for tools tell about the hardware. */
#include <linux/regulator/consumer.h>

#include <drm/drm_drv.h>

#include "rknpu_device.h"
#include "rknpu_vendor_info.h"

/* The vendor's driver asks core 0. */
static struct rknpu_core *rknpu_vendor_info_core(struct rknpu_device *rdev)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->cores[i].dev)
			return &rdev->cores[i];
	}
	return NULL;
}

u32 rknpu_vendor_info_hw_version(struct rknpu_device *rdev)
{
	struct rknpu_core *core;
	u32 version = 0;
	int idx;

	if (!drm_dev_enter(&rdev->accel, &idx))
		return 0;
	core = rknpu_vendor_info_core(rdev);
	if (core)
		version = core->version;
	drm_dev_exit(idx);
	return version;
}

unsigned long rknpu_vendor_info_hz(struct rknpu_device *rdev)
{
	unsigned long hz;
	int idx;

	if (!drm_dev_enter(&rdev->accel, &idx))
		return 0;
	hz = rknpu_rate_get(rdev);
	drm_dev_exit(idx);
	return hz;
}

int rknpu_vendor_info_uv(struct rknpu_device *rdev)
{
	struct rknpu_core *core;
	int idx, uv = -ENODEV;

	if (!drm_dev_enter(&rdev->accel, &idx))
		return uv;
	core = rknpu_vendor_info_core(rdev);
	if (core && core->supply)
		uv = regulator_get_voltage(core->supply);
	drm_dev_exit(idx);
	return uv;
}
