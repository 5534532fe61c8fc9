/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the ioctls of libnpu, in programs that are linked with --wrap=drmIoctl.
 */
#ifndef RKNPU_IOCTLS_H
#define RKNPU_IOCTLS_H

#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"

static unsigned int ioctls;
/* Those of them that hand over jobs. */
static unsigned int submits;

int __real_drmIoctl(int fd, unsigned long request, void *arg);
int __wrap_drmIoctl(int fd, unsigned long request, void *arg);
int __wrap_drmIoctl(int fd, unsigned long request, void *arg)
{
	ioctls++;
	submits += request == DRM_IOCTL_ROCKET_SUBMIT || request == DRM_IOCTL_ROCKET_SUBMIT_EXT ||
		   request == DRM_IOCTL_RKNPU_SUBMIT;
	return __real_drmIoctl(fd, request, arg);
}

#endif /* RKNPU_IOCTLS_H */
