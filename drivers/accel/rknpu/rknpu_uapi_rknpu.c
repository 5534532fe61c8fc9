// SPDX-License-Identifier: GPL-2.0-only
/* Owns the DRM node "rknpu": files, and the table of the vendor's ioctls. */
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "rknpu_device.h"
#include "rknpu_drm_ioctl.h"
#include "rknpu_prime.h"
#include "rknpu_sched.h"
#include "rknpu_vendor.h"
#include "rknpu_vm.h"

/* Vendor driver 0.9.8, compiled for arm64, and traces of its user space. */
static_assert(sizeof(struct drm_rknpu_action) == 8);
static_assert(sizeof(struct drm_rknpu_mem_create) == 48);
static_assert(sizeof(struct drm_rknpu_mem_map) == 16);
static_assert(sizeof(struct drm_rknpu_mem_destroy) == 16);
static_assert(sizeof(struct drm_rknpu_mem_sync) == 32);
static_assert(sizeof(struct drm_rknpu_submit) == 104);
static_assert(sizeof(struct drm_rknpu_task) == 40);
static_assert(offsetof(struct drm_rknpu_mem_create, size) == 8);
static_assert(offsetof(struct drm_rknpu_mem_create, obj_addr) == 16);
static_assert(offsetof(struct drm_rknpu_mem_create, dma_addr) == 24);
static_assert(offsetof(struct drm_rknpu_mem_create, sram_size) == 32);
static_assert(offsetof(struct drm_rknpu_mem_create, iommu_domain_id) == 40);
static_assert(offsetof(struct drm_rknpu_mem_create, core_mask) == 44);
static_assert(offsetof(struct drm_rknpu_mem_map, offset) == 8);
static_assert(offsetof(struct drm_rknpu_mem_sync, obj_addr) == 8);
static_assert(offsetof(struct drm_rknpu_mem_sync, offset) == 16);
static_assert(offsetof(struct drm_rknpu_mem_sync, size) == 24);
static_assert(offsetof(struct drm_rknpu_submit, task_counter) == 16);
static_assert(offsetof(struct drm_rknpu_submit, task_obj_addr) == 24);
static_assert(offsetof(struct drm_rknpu_submit, iommu_domain_id) == 32);
static_assert(offsetof(struct drm_rknpu_submit, task_base_addr) == 40);
static_assert(offsetof(struct drm_rknpu_submit, hw_elapse_time) == 48);
static_assert(offsetof(struct drm_rknpu_submit, core_mask) == 56);
static_assert(offsetof(struct drm_rknpu_submit, fence_fd) == 60);
static_assert(offsetof(struct drm_rknpu_submit, subcore_task) == 64);
static_assert(offsetof(struct drm_rknpu_task, int_mask) == 12);
static_assert(offsetof(struct drm_rknpu_task, int_status) == 20);
static_assert(offsetof(struct drm_rknpu_task, regcfg_amount) == 24);
static_assert(offsetof(struct drm_rknpu_task, regcmd_addr) == 32);
static_assert(DRM_IOCTL_RKNPU_ACTION == 0xc0086440);
static_assert(DRM_IOCTL_RKNPU_SUBMIT == 0xc0686441);
static_assert(DRM_IOCTL_RKNPU_MEM_CREATE == 0xc0306442);
static_assert(DRM_IOCTL_RKNPU_MEM_MAP == 0xc0106443);
static_assert(DRM_IOCTL_RKNPU_MEM_DESTROY == 0xc0106444);
static_assert(DRM_IOCTL_RKNPU_MEM_SYNC == 0xc0206445);

static bool vendor_uapi = true;
module_param(vendor_uapi, bool, 0444);
MODULE_PARM_DESC(vendor_uapi, "Offer the vendor's uAPI as DRM node rknpu (default y)");

static char *vendor_version = "0.9.8";
module_param(vendor_version, charp, 0444);
MODULE_PARM_DESC(vendor_version, "Version that node rknpu reports (default 0.9.8)");

static int rknpu_vendor_fill_file(struct rknpu_vfile *vfile)
{
	vfile->space = rknpu_space_get(vfile->vendor);
	if (IS_ERR(vfile->space))
		return PTR_ERR(vfile->space);

	vfile->client = rknpu_client_create(vfile->vendor->rdev);
	if (IS_ERR(vfile->client)) {
		rknpu_space_put(vfile->space);
		return PTR_ERR(vfile->client);
	}
	return 0;
}

struct rknpu_vfile *rknpu_vfile_create(struct rknpu_vendor *vendor)
{
	struct rknpu_vfile *vfile;
	int idx, ret;

	vfile = kzalloc_obj(*vfile, GFP_KERNEL_ACCOUNT);
	if (!vfile)
		return ERR_PTR(-ENOMEM);
	vfile->vendor = vendor;
	mutex_init(&vfile->lock);
	hash_init(vfile->objects);

	if (drm_dev_enter(&vendor->drm, &idx)) {
		ret = rknpu_vendor_fill_file(vfile);
		drm_dev_exit(idx);
	} else {
		ret = -ENODEV;
	}

	if (ret) {
		kfree(vfile);
		return ERR_PTR(ret);
	}
	return vfile;
}

void rknpu_vfile_destroy(struct rknpu_vfile *vfile)
{
	rknpu_client_close(vfile->client);
	rknpu_space_put(vfile->space);
	mutex_destroy(&vfile->lock);
	kfree(vfile);
}

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
	drm_show_memory_stats(p, file);
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

/* The primary node's clients have a master, or DRM asks whether they are it. */
static int rknpu_vendor_check(struct file *filp, unsigned int cmd, void __user *arg)
{
	if (!drm_is_render_client(filp->private_data))
		return 0;
	return rknpu_drm_ioctl_check(filp, cmd, arg);
}

static long rknpu_vendor_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_vendor_check(filp, cmd, (void __user *)arg);

	return ret ? ret : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long rknpu_vendor_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_vendor_check(filp, cmd, compat_ptr(arg));

	return ret ? ret : drm_compat_ioctl(filp, cmd, arg);
}
#endif

/*
 * DRM_GEM_FOPS, but for the ioctls, and without its choice of addresses for huge
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
	.poll = drm_poll,
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
	.gem_prime_import = rknpu_prime_import,
	.gem_prime_import_sg_table = rknpu_vbo_import_sgt,
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

	if (sscanf(vendor_version, "%d.%d.%d%c", &major, &minor, &patch, &rest) != 3 ||
	    major < 0 || minor < 0 || minor > 99 || patch < 0 || patch > 99)
		return -EINVAL;

	rknpu_vendor_driver.major = major;
	rknpu_vendor_driver.minor = minor;
	rknpu_vendor_driver.patchlevel = patch;
	return 0;
}

u32 rknpu_vendor_version_code(void)
{
	return rknpu_vendor_driver.major * 10000 + rknpu_vendor_driver.minor * 100 +
	       rknpu_vendor_driver.patchlevel;
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
	if (!vendor_uapi)
		return 0;

	ret = rknpu_vendor_parse_version();
	if (ret) {
		drm_err(&rdev->accel, "vendor_version=%s is not X.Y.Z\n", vendor_version);
		return ret;
	}

	v = devm_drm_dev_alloc(rdev->accel.dev, &rknpu_vendor_driver, struct rknpu_vendor, drm);
	if (IS_ERR(v))
		return PTR_ERR(v);
	mutex_init(&v->lock);
	INIT_LIST_HEAD(&v->spaces);
	v->rdev = rdev;
	drm_dev_get(&rdev->accel);
	ret = drmm_add_action_or_reset(&v->drm, rknpu_vendor_put_rdev, rdev);
	if (ret)
		return ret;
	*vendor = v;
	return 0;
}
