/* SPDX-License-Identifier: GPL-2.0-only */
/* What headers of DRM lack, apart from what has files of its own here. */
#ifndef __RKNPU_COMPAT_DRM_H__
#define __RKNPU_COMPAT_DRM_H__

/* Before 6.13 drm_print.h dereferences it, and leaves it to others to declare it. */
#include <drm/drm_device.h>
#include <drm/drm_print.h>

#ifndef RKNPU_HAVE_DRM_DBG_RATELIMITED

#include <linux/ratelimit.h>

#define drm_dbg_ratelimited(drm, fmt, ...) do {							\
	static DEFINE_RATELIMIT_STATE(compat_rs, DEFAULT_RATELIMIT_INTERVAL,			\
				      DEFAULT_RATELIMIT_BURST);					\
												\
	if (drm_debug_enabled(DRM_UT_DRIVER) && __ratelimit(&compat_rs))			\
		drm_dbg(drm, fmt, ##__VA_ARGS__);						\
} while (0)

#endif

#ifndef RKNPU_HAVE_DRM_WEDGED_EVENT

/* 6.15 and 6.16 declare one with two arguments. */
#include <drm/drm_drv.h>

#undef DRM_WEDGE_RECOVERY_REBIND
#define DRM_WEDGE_RECOVERY_REBIND	0

/* Nobody there listens for it. */
static inline int rknpu_compat_wedged_event(struct drm_device *drm, unsigned long method,
					    void *info)
{
	return -EOPNOTSUPP;
}

#define drm_dev_wedged_event	rknpu_compat_wedged_event

#endif

#ifndef RKNPU_HAVE_DRM_GEM_STATUS

/* For a function that nobody calls then. */
enum drm_gem_object_status {
	DRM_GEM_OBJECT_RESIDENT = 1,
};

/* A member of an initializer of struct drm_gem_object_funcs. */
#define RKNPU_COMPAT_GEM_STATUS(function)

#else

#define RKNPU_COMPAT_GEM_STATUS(function)	.status = function,

#endif

#endif
