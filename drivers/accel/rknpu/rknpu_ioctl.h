/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the filter of DRM's own ioctls that our nodes pass on. */
#ifndef __RKNPU_IOCTL_H__
#define __RKNPU_IOCTL_H__

/*
 * May a client that has no master have DRM do @cmd? 0, or an error for user space.
 * Of the driver's own, DRM and the driver ask elsewhere.
 */
int rknpu_ioctl_check(unsigned int cmd);

#endif
