/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the vendor's tools are told of the hardware, and their files in debugfs and procfs. */
#ifndef __RKNPU_VENDOR_FILES_H__
#define __RKNPU_VENDOR_FILES_H__

#include <linux/types.h>

struct rknpu_device;

/* All of them any time; 0 (or -ENODEV) when the device is gone. */
u32 rknpu_vendor_info_hw_version(struct rknpu_device *rdev);
unsigned long rknpu_vendor_info_hz(struct rknpu_device *rdev);
/* uV, or a negative errno if the supply is not known. */
int rknpu_vendor_info_uv(struct rknpu_device *rdev);

#endif
