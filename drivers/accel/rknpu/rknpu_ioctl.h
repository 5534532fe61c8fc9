/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the filter of DRM's own ioctls that our nodes pass on. */
#ifndef __RKNPU_IOCTL_H__
#define __RKNPU_IOCTL_H__

#include <linux/types.h>

struct file;

/*
 * May @filp, whose client has no master, have DRM do @cmd? 0, or an error for
 * user space. Of the driver's own, DRM and the driver ask elsewhere.
 */
int rknpu_ioctl_check(struct file *filp, unsigned int cmd, void __user *arg);

#endif
