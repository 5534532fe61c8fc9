/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.11, where removing a platform device returns an int. */
#ifndef __RKNPU_COMPAT_PLATFORM_H__
#define __RKNPU_COMPAT_PLATFORM_H__

#ifndef RKNPU_HAVE_PLATFORM_REMOVE_VOID

#include <linux/module.h>
#include <linux/platform_device.h>

/**
 * struct rknpu_compat_platform_driver - what the driver takes for struct platform_driver
 * @probe: as there
 * @remove: as there since 6.11
 * @shutdown: as there
 * @driver: as there
 * @real: what the kernel gets
 */
struct rknpu_compat_platform_driver {
	int (*probe)(struct platform_device *pdev);
	void (*remove)(struct platform_device *pdev);
	void (*shutdown)(struct platform_device *pdev);
	struct device_driver driver;
	struct platform_driver real;
};

static inline int rknpu_compat_platform_remove(struct platform_device *pdev)
{
	struct platform_driver *real = to_platform_driver(pdev->dev.driver);

	container_of(real, struct rknpu_compat_platform_driver, real)->remove(pdev);
	return 0;
}

static inline int rknpu_compat_platform_register(struct rknpu_compat_platform_driver *driver,
						 struct module *owner)
{
	driver->real.probe = driver->probe;
	driver->real.remove = rknpu_compat_platform_remove;
	driver->real.shutdown = driver->shutdown;
	driver->real.driver = driver->driver;
	return __platform_driver_register(&driver->real, owner);
}

#undef platform_driver_register
#define platform_driver_register(driver) \
	rknpu_compat_platform_register(driver, THIS_MODULE)
#define platform_driver_unregister(driver)	platform_driver_unregister(&(driver)->real)
#define platform_driver				rknpu_compat_platform_driver

#endif

#endif
