/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the files of the rocket uAPI share. */
#ifndef __RKNPU_ROCKET_H__
#define __RKNPU_ROCKET_H__

#include <drm/drm.h>

/* By path: <drm/rocket_accel.h> could be the header of the kernel built against. */
#include "../../../include/uapi/drm/rocket_accel.h"

struct drm_device;
struct drm_file;

int rknpu_rocket_submit(struct drm_device *dev, void *data, struct drm_file *file);

#endif
