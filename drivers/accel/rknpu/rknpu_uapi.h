/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the list of user ABIs that the device can be registered with. */
#ifndef __RKNPU_UAPI_H__
#define __RKNPU_UAPI_H__

#include <drm/drm_drv.h>

/* The accel node "rocket". Sets no .release: the device uses drmm for that. */
extern const struct drm_driver rknpu_rocket_driver;

#endif
