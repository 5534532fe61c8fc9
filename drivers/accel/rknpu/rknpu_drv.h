/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what both DT shapes have in common. */
#ifndef __RKNPU_DRV_H__
#define __RKNPU_DRV_H__

#include <linux/mutex.h>

struct device;
struct platform_driver;

/* Shutdown holds the lock of one core's device, and unbinding that of another's. */
extern struct mutex rknpu_drv_lock;

extern struct platform_driver rknpu_vdt_driver;

void rknpu_drv_pm_start(struct device *dev);
void rknpu_drv_pm_stop(struct device *dev);

#endif
