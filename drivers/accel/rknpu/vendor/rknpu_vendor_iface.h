/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the driver sees of the vendor's uAPI, which can be left out of the build. */
#ifndef __RKNPU_VENDOR_IFACE_H__
#define __RKNPU_VENDOR_IFACE_H__

#include <linux/types.h>

struct dentry;
struct drm_device;
struct rknpu_device;
struct rknpu_vendor;

#ifdef RKNPU_VENDOR

/*
 * The node beside the one that @rdev is registered with. Create never fails
 * because user space could not have it (then *vendor is NULL).
 */
int rknpu_vendor_create(struct rknpu_device *rdev, struct rknpu_vendor **vendor);
/* The DRM node, and /dev/rknpu if it was asked for. @vendor may be NULL. */
int rknpu_vendor_register(struct rknpu_vendor *vendor);
void rknpu_vendor_unregister(struct rknpu_vendor *vendor);
/* NULL if @vendor is. */
struct drm_device *rknpu_vendor_drm(struct rknpu_vendor *vendor);

/* Module init and exit. @debugfs_dir stays the caller's, who removes it before exit. */
void rknpu_vendor_files_init(struct dentry *debugfs_dir);
void rknpu_vendor_files_exit(void);
/*
 * The device that the files describe; NULL before it is unpublished, with the
 * cores still bound. Does not return while a file still looks at the previous one.
 */
void rknpu_vendor_files_set_device(struct rknpu_device *rdev);

#else

static inline int rknpu_vendor_create(struct rknpu_device *rdev, struct rknpu_vendor **vendor)
{
	return 0;
}

static inline int rknpu_vendor_register(struct rknpu_vendor *vendor)
{
	return 0;
}

static inline void rknpu_vendor_unregister(struct rknpu_vendor *vendor)
{
}

static inline struct drm_device *rknpu_vendor_drm(struct rknpu_vendor *vendor)
{
	return NULL;
}

static inline void rknpu_vendor_files_init(struct dentry *debugfs_dir)
{
}

static inline void rknpu_vendor_files_exit(void)
{
}

static inline void rknpu_vendor_files_set_device(struct rknpu_device *rdev)
{
}

#endif

#endif
