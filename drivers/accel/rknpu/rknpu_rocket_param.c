// SPDX-License-Identifier: GPL-2.0-only
/* Owns the GET_PARAM ioctl of the rocket uAPI: what driver and hardware can do. */
#include <linux/build_bug.h>
#include <linux/nospec.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "rknpu_bo.h"
#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_history.h"
#include "rknpu_quota.h"
#include "rknpu_rocket.h"
#include "rknpu_sched.h"

static_assert(sizeof(struct drm_rocket_get_param) == 16);
static_assert(offsetof(struct drm_rocket_get_param, index) == 4);
static_assert(offsetof(struct drm_rocket_get_param, value) == 8);
static_assert(DRM_IOCTL_ROCKET_GET_PARAM == 0xc0106460);

#define RKNPU_ROCKET_FEATURES							\
	(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BO_INFO |		\
	 DRM_ROCKET_FEATURE_SYNCOBJ | DRM_ROCKET_FEATURE_BATCHED |		\
	 DRM_ROCKET_FEATURE_SCHED | DRM_ROCKET_FEATURE_DIVISIBLE)

/* Those that are the same on every device, by enum drm_rocket_param; 0: not one of them. */
static const u64 rknpu_rocket_constants[] = {
	[DRM_ROCKET_PARAM_FEATURES] = RKNPU_ROCKET_FEATURES,
	[DRM_ROCKET_PARAM_MIN_TIMEOUT_NS] = RKNPU_ROCKET_MIN_TIMEOUT_NS,
	[DRM_ROCKET_PARAM_MAX_BO_SIZE] = RKNPU_BO_MAX_SIZE,
	[DRM_ROCKET_PARAM_MAX_JOBS] = RKNPU_ROCKET_MAX_JOBS,
	[DRM_ROCKET_PARAM_MAX_TASKS] = RKNPU_ROCKET_MAX_TASKS,
	[DRM_ROCKET_PARAM_MAX_REGCMDS] = RKNPU_ROCKET_MAX_REGCMDS,
	[DRM_ROCKET_PARAM_MAX_JOB_HANDLES] = RKNPU_ROCKET_MAX_HANDLES,
	[DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES] = RKNPU_ROCKET_MAX_ALL_HANDLES,
	[DRM_ROCKET_PARAM_MAX_JOB_SYNCS] = RKNPU_ROCKET_MAX_SYNCS,
	[DRM_ROCKET_PARAM_MAX_FILE_JOBS] = RKNPU_CLIENT_MAX_JOBS,
	[DRM_ROCKET_PARAM_MAX_DEVICE_JOBS] = RKNPU_DEVICE_MAX_JOBS,
	[DRM_ROCKET_PARAM_RESULT_COUNT] = RKNPU_HISTORY_SIZE,
};

static int rknpu_rocket_hw_version(struct rknpu_device *rdev, u32 index, u64 *value)
{
	struct rknpu_core *core = &rdev->cores[array_index_nospec(index, RKNPU_MAX_CORES)];
	int ret = 0;

	spin_lock_irq(&rdev->lock);
	if (core->state == RKNPU_CORE_ABSENT)
		ret = -ENODEV;
	else
		*value = core->version;
	spin_unlock_irq(&rdev->lock);
	return ret;
}

static int rknpu_rocket_param(struct drm_file *file, u32 param, u32 index, u64 *value)
{
	struct rknpu_file *rfile = file->driver_priv;
	struct rknpu_device *rdev = rfile->rdev;

	switch (param) {
	case DRM_ROCKET_PARAM_SOC:
		*value = rdev->soc->number;
		return 0;
	case DRM_ROCKET_PARAM_CORE_COUNT:
		*value = rdev->soc->num_cores;
		return 0;
	case DRM_ROCKET_PARAM_CORE_MASK:
		*value = rknpu_device_cores_alive(rdev);
		return 0;
	case DRM_ROCKET_PARAM_HW_VERSION:
		return rknpu_rocket_hw_version(rdev, index, value);
	case DRM_ROCKET_PARAM_DEFAULT_TIMEOUT_NS:
		*value = rknpu_sched_default_timeout_ns();
		return 0;
	case DRM_ROCKET_PARAM_MAX_TIMEOUT_NS:
		*value = rknpu_rocket_max_timeout_ns();
		return 0;
	case DRM_ROCKET_PARAM_MAX_FILE_MEMORY:
		*value = rknpu_quota_file_bytes();
		return 0;
	case DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY:
		*value = rknpu_quota_device_bytes();
		return 0;
	case DRM_ROCKET_PARAM_LAST_JOB:
		*value = rknpu_history_last(rfile->history);
		return 0;
	case DRM_ROCKET_PARAM_MAX_PRIORITY:
		*value = rknpu_rocket_may_go_first() ? DRM_ROCKET_PRIORITY_HIGH :
							   DRM_ROCKET_PRIORITY_NORMAL;
		return 0;
	default:
		if (param >= ARRAY_SIZE(rknpu_rocket_constants))
			return -EINVAL;
		*value = rknpu_rocket_constants[array_index_nospec(param,
							ARRAY_SIZE(rknpu_rocket_constants))];
		return *value ? 0 : -EINVAL;
	}
}

int rknpu_rocket_get_param(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_get_param *args = data;
	u32 limit = 1;
	int ret;

	if (args->param == DRM_ROCKET_PARAM_HW_VERSION)
		limit = to_rknpu_device(dev)->soc->num_cores;

	ret = args->index < limit ?
	      rknpu_rocket_param(file, args->param, args->index, &args->value) : -EINVAL;
	if (ret)
		drm_dbg_ratelimited(dev, "get_param: param %u, index %u: error %d\n",
				    args->param, args->index, ret);
	return ret;
}
