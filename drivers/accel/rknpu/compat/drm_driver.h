/* SPDX-License-Identifier: GPL-2.0-only */
/* struct drm_driver as of 7.3, and what DRM does for a driver by itself since. */
#ifndef __RKNPU_COMPAT_DRM_DRIVER_H__
#define __RKNPU_COMPAT_DRM_DRIVER_H__

#if defined(RKNPU_HAVE_DRM_DRIVER_DATE) || !defined(RKNPU_HAVE_CONFIG_DRM_ACCEL)

#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

/**
 * struct rknpu_compat_drm_driver - what the driver takes for struct drm_driver
 * @real: its members can be initialized as if they were this struct's
 * @show_fdinfo: as in the real one since 6.5
 * @driver_postclose: the driver's, as DRM gets another one
 */
struct rknpu_compat_drm_driver {
	union {
		struct drm_driver real;
		struct drm_driver;
	};
#ifndef RKNPU_HAVE_DRM_SHOW_FDINFO
	void (*show_fdinfo)(struct drm_printer *p, struct drm_file *file);
	void (*driver_postclose)(struct drm_device *dev, struct drm_file *file);
#endif
};

/* @copy becomes @driver with what this kernel wants in it, and lives as long as the module. */
void *rknpu_compat_drm_dev_alloc(struct device *parent, struct rknpu_compat_drm_driver *copy,
				 const struct rknpu_compat_drm_driver *driver, size_t size,
				 size_t offset);

#undef devm_drm_dev_alloc
#define devm_drm_dev_alloc(parent, driver, type, member) ({					\
	static struct rknpu_compat_drm_driver compat_copy;					\
												\
	(type *)rknpu_compat_drm_dev_alloc(parent, &compat_copy, driver, sizeof(type),		\
					   offsetof(type, member));				\
})

#ifdef RKNPU_HAVE_DRM_DRIVER_PRIME_MMAP

/* For struct file_operations: as drm_gem_mmap(), but sets the operations of the object. */
int rknpu_compat_gem_mmap(struct file *filp, struct vm_area_struct *vma);

#define drm_gem_mmap	rknpu_compat_gem_mmap

#endif

#ifndef RKNPU_HAVE_DRM_SHOW_FDINFO

/* For struct file_operations. */
void rknpu_compat_show_fdinfo(struct seq_file *m, struct file *filp);
void rknpu_compat_show_memory_stats(struct drm_printer *p, struct drm_file *file);

#define drm_show_fdinfo		rknpu_compat_show_fdinfo
#define drm_show_memory_stats	rknpu_compat_show_memory_stats

#endif

/* Last: the headers above mean the real one. */
#define drm_driver	rknpu_compat_drm_driver

#endif

#endif
