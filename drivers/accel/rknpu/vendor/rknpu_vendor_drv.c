// SPDX-License-Identifier: GPL-2.0-only
/* Owns the DRM node "rknpu": its driver and its table of ioctls. */
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "sched/rknpu_backlog.h"
#include "sched/rknpu_client.h"
#include "sched/rknpu_client_types.h"
#include "sched/rknpu_debt.h"
#include "sched/rknpu_sched.h"
#include "rknpu_device.h"
#include "rknpu_ioctl.h"
#include "rknpu_params.h"
#include "rknpu_vendor.h"
#include "rknpu_vendor_iface.h"

static int rknpu_vendor_open(struct drm_device *dev, struct drm_file *file)
{
	struct rknpu_vfile *vfile = rknpu_vfile_create(to_rknpu_vendor(dev));

	if (IS_ERR(vfile))
		return PTR_ERR(vfile);
	file->driver_priv = vfile;
	return 0;
}

static void rknpu_vendor_postclose(struct drm_device *dev, struct drm_file *file)
{
	rknpu_vfile_destroy(file->driver_priv);
}

static void rknpu_vendor_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct rknpu_vfile *vfile = file->driver_priv;

	rknpu_client_show_busy(vfile->client, p);
	rknpu_debt_show(vfile->client, p);
	drm_show_memory_stats(p, file);
}

static int rknpu_vendor_action(struct drm_device *dev, void *data, struct drm_file *file)
{
	return rknpu_vendor_do_action(file->driver_priv, data);
}

/* As the vendor's: nothing needs authentication, and render nodes may do it all. */
static const struct drm_ioctl_desc rknpu_vendor_ioctls[] = {
	DRM_IOCTL_DEF_DRV(RKNPU_ACTION, rknpu_vendor_action, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_SUBMIT, rknpu_vendor_submit, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_CREATE, rknpu_vendor_mem_create, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_MAP, rknpu_vendor_mem_map, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_DESTROY, rknpu_vendor_mem_destroy, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(RKNPU_MEM_SYNC, rknpu_vendor_mem_sync, DRM_RENDER_ALLOW),
};

/*
 * The primary node's clients have a master, or DRM asks whether they are it. Names are small
 * numbers that librknnrt has made for all its BOs, but does not use; whoever once was master
 * could open everybody's. And it could give the device a unique name, by which libdrm takes it
 * for one in use: nobody would find it by its driver's.
 */
static int rknpu_vendor_check(struct file *filp, unsigned int cmd)
{
	struct drm_file *file = filp->private_data;

	switch (DRM_IOCTL_NR(cmd)) {
	case DRM_IOCTL_NR(DRM_IOCTL_GEM_OPEN):
		drm_dbg_ratelimited(file->minor->dev, "gem_open: names open nothing here\n");
		return -EACCES;
	case DRM_IOCTL_NR(DRM_IOCTL_SET_VERSION):
		drm_dbg_ratelimited(file->minor->dev, "set_version: it has no bus ID\n");
		return -EACCES;
	}
	return drm_is_render_client(file) ? rknpu_ioctl_check(cmd) : 0;
}

static long rknpu_vendor_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_vendor_check(filp, cmd);

	return ret ? ret : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long rknpu_vendor_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_vendor_check(filp, cmd);

	return ret ? ret : drm_compat_ioctl(filp, cmd, arg);
}
#endif

static __poll_t rknpu_vendor_poll(struct file *filp, poll_table *wait)
{
	struct drm_file *file = filp->private_data;
	struct rknpu_vfile *vfile = file->driver_priv;

	return drm_poll(filp, wait) | rknpu_backlog_poll(vfile->client, filp, wait);
}

/*
 * DRM_GEM_FOPS, but for the ioctls and poll(), and without its choice of addresses for huge
 * pages, which BOs are not mapped with; DRM_ACCEL_FOPS has none either.
 */
static const struct file_operations rknpu_vendor_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = rknpu_vendor_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = rknpu_vendor_compat_ioctl,
#endif
	.poll = rknpu_vendor_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.show_fdinfo = drm_show_fdinfo,
};

/* Not const: the version is a parameter. */
static struct drm_driver rknpu_vendor_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.open = rknpu_vendor_open,
	.postclose = rknpu_vendor_postclose,
	.show_fdinfo = rknpu_vendor_show_fdinfo,
	.gem_prime_import = rknpu_vbo_import,
	.ioctls = rknpu_vendor_ioctls,
	.num_ioctls = ARRAY_SIZE(rknpu_vendor_ioctls),
	.fops = &rknpu_vendor_fops,
	/* User space finds the vendor's ABI by this name. */
	.name = "rknpu",
	.desc = "RKNPU driver",
};

static int rknpu_vendor_parse_version(void)
{
	int major, minor, patch;
	char rest;

	if (sscanf(rknpu_params.vendor_version, "%d.%d.%d%c", &major, &minor, &patch, &rest) != 3 ||
	    major < 0 || minor < 0 || minor > 99 || patch < 0 || patch > 99)
		return -EINVAL;

	rknpu_vendor_driver.major = major;
	rknpu_vendor_driver.minor = minor;
	rknpu_vendor_driver.patchlevel = patch;
	return 0;
}

/* The other drm_device is what @rdev is part of. */
static void rknpu_vendor_put_rdev(struct drm_device *drm, void *rdev)
{
	drm_dev_put(&((struct rknpu_device *)rdev)->accel);
}

int rknpu_vendor_create(struct rknpu_device *rdev, struct rknpu_vendor **vendor)
{
	struct rknpu_vendor *v;
	int ret;

	*vendor = NULL;
	if (!rknpu_params.vendor_uapi)
		return 0;

	ret = rknpu_vendor_parse_version();
	if (ret) {
		drm_err(&rdev->accel, "vendor_version=%s is not X.Y.Z\n",
			rknpu_params.vendor_version);
		return ret;
	}

	v = devm_drm_dev_alloc(rdev->accel.dev, &rknpu_vendor_driver, struct rknpu_vendor, drm);
	if (IS_ERR(v))
		return PTR_ERR(v);
	mutex_init(&v->lock);
	hash_init(v->spaces);
	v->rdev = rdev;
	v->version = rknpu_vendor_driver.major * 10000 + rknpu_vendor_driver.minor * 100 +
		     rknpu_vendor_driver.patchlevel;
	drm_dev_get(&rdev->accel);
	ret = drmm_add_action_or_reset(&v->drm, rknpu_vendor_put_rdev, rdev);
	if (ret)
		return ret;
	*vendor = v;
	return 0;
}

int rknpu_vendor_register(struct rknpu_vendor *vendor)
{
	int ret;

	if (!vendor)
		return 0;
	ret = drm_dev_register(&vendor->drm, 0);
	if (ret)
		return ret;
	ret = rknpu_chardev_register(vendor);
	if (ret)
		drm_dev_unplug(&vendor->drm);
	return ret;
}

void rknpu_vendor_unregister(struct rknpu_vendor *vendor)
{
	if (!vendor)
		return;
	rknpu_chardev_unregister(vendor);
	drm_dev_unplug(&vendor->drm);
}

struct drm_device *rknpu_vendor_drm(struct rknpu_vendor *vendor)
{
	return vendor ? &vendor->drm : NULL;
}
