/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns which of DRM's own ioctls the accel node passes on. */
#ifndef __RKNPU_ROCKET_CORE_H__
#define __RKNPU_ROCKET_CORE_H__

#include <linux/types.h>

struct file;

/* May a client without a master call it? Of the driver's own, DRM asks elsewhere. */
bool rknpu_rocket_core_permitted(unsigned int cmd);

long rknpu_rocket_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
long rknpu_rocket_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif
