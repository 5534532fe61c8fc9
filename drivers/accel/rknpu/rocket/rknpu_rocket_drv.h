/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the accel node "rocket": its files, its table of ioctls, and GET_PARAM. */
#ifndef __RKNPU_ROCKET_DRV_H__
#define __RKNPU_ROCKET_DRV_H__

#include <drm/drm_drv.h>

/* The accel node "rocket". Sets no .release: the device uses drmm for that. */
extern const struct drm_driver rknpu_rocket_driver;

#endif
