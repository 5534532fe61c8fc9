/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels without accel nodes: a render node takes their place. */
#ifndef __RKNPU_COMPAT_ACCEL_H__
#define __RKNPU_COMPAT_ACCEL_H__

/* Also kernels that know them, but are built without. */
#ifndef RKNPU_HAVE_CONFIG_DRM_ACCEL

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#define DRIVER_COMPUTE_ACCEL	DRIVER_RENDER
#define accel_open		drm_open

/* The device of an accel node, or NULL. */
#define RKNPU_COMPAT_ACCEL_KDEV(drm)	((void)(drm), (struct device *)NULL)

#else

#define RKNPU_COMPAT_ACCEL_KDEV(drm)	((drm)->accel ? (drm)->accel->kdev : NULL)

#endif

#endif
