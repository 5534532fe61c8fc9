// SPDX-License-Identifier: GPL-2.0-only
/* Owns the accel node "rocket": files, and the ioctls on BOs. */
#include <linux/build_bug.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>

#include "rknpu_bo.h"
#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_map.h"
#include "rknpu_rocket.h"
#include "rknpu_sched.h"
#include "rknpu_uapi.h"
#include "rknpu_vm.h"

/* Mainline Linux 7.3, include/uapi/drm/rocket_accel.h, compiled for arm64. */
static_assert(sizeof(struct drm_rocket_create_bo) == 24);
static_assert(sizeof(struct drm_rocket_prep_bo) == 16);
static_assert(sizeof(struct drm_rocket_fini_bo) == 8);
static_assert(offsetof(struct drm_rocket_create_bo, handle) == 4);
static_assert(offsetof(struct drm_rocket_create_bo, dma_address) == 8);
static_assert(offsetof(struct drm_rocket_create_bo, offset) == 16);
static_assert(offsetof(struct drm_rocket_prep_bo, timeout_ns) == 8);
static_assert(DRM_IOCTL_ROCKET_CREATE_BO == 0xc0186440);
static_assert(DRM_IOCTL_ROCKET_SUBMIT == 0x40186441);
static_assert(DRM_IOCTL_ROCKET_PREP_BO == 0x40106442);
static_assert(DRM_IOCTL_ROCKET_FINI_BO == 0x40086443);

static int rknpu_rocket_open_files(struct rknpu_file *rfile)
{
	rfile->vm = rknpu_vm_create(rfile->rdev);
	if (IS_ERR(rfile->vm))
		return PTR_ERR(rfile->vm);

	rfile->client = rknpu_client_create(rfile->rdev);
	if (IS_ERR(rfile->client)) {
		rknpu_vm_put(rfile->vm);
		return PTR_ERR(rfile->client);
	}
	return 0;
}

static int rknpu_rocket_open(struct drm_device *dev, struct drm_file *file)
{
	struct rknpu_file *rfile;
	int idx, ret;

	rfile = kzalloc_obj(*rfile, GFP_KERNEL_ACCOUNT);
	if (!rfile)
		return -ENOMEM;
	rfile->rdev = to_rknpu_device(dev);
	rfile->id = file->client_id;

	if (drm_dev_enter(dev, &idx)) {
		ret = rknpu_rocket_open_files(rfile);
		drm_dev_exit(idx);
	} else {
		ret = -ENODEV;
	}

	if (ret) {
		kfree(rfile);
		return ret;
	}
	file->driver_priv = rfile;
	return 0;
}

/* The handles are gone already; what running jobs may access is still mapped. */
static void rknpu_rocket_postclose(struct drm_device *dev, struct drm_file *file)
{
	struct rknpu_file *rfile = file->driver_priv;

	rknpu_client_close(rfile->client);
	rknpu_vm_put(rfile->vm);
	kfree(rfile);
}

static void rknpu_rocket_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct rknpu_file *rfile = file->driver_priv;

	drm_printf(p, "drm-engine-npu:\t%llu ns\n", rknpu_client_busy_ns(rfile->client));
	drm_printf(p, "drm-engine-capacity-npu:\t%d\n", RKNPU_MAX_CORES);
	drm_printf(p, "rknpu-iommu-faults:\t%d\n", atomic_read(&rfile->vm->faults));
	drm_show_memory_stats(p, file);
}

static int rknpu_rocket_publish_bo(struct drm_file *file, struct rknpu_bo *bo,
				   struct drm_rocket_create_bo *args)
{
	struct rknpu_file *rfile = file->driver_priv;
	struct rknpu_mapping *map;
	int ret;

	map = rknpu_mapping_get(rfile->vm, bo);
	if (IS_ERR(map))
		return PTR_ERR(map);

	args->dma_address = map->node.start;
	args->offset = drm_vma_node_offset_addr(&bo->base.vma_node);

	/* Last: from here on other threads can guess the handle and close it. */
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	rknpu_mapping_put(map);
	return ret;
}

static int rknpu_rocket_create_bo(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_create_bo *args = data;
	struct rknpu_file *rfile = file->driver_priv;
	struct rknpu_bo *bo;
	int idx, ret;

	if (!args->size || args->size > RKNPU_BO_MAX_SIZE) {
		drm_dbg_ratelimited(dev, "create_bo: size %u is not 1..%lu\n", args->size,
				    (unsigned long)RKNPU_BO_MAX_SIZE);
		return -EINVAL;
	}

	if (!drm_dev_enter(dev, &idx))
		return -ENODEV;

	rknpu_vm_reclaim(rfile->vm);
	bo = rknpu_bo_create(to_rknpu_device(dev), args->size);
	if (IS_ERR(bo)) {
		ret = PTR_ERR(bo);
	} else {
		ret = rknpu_rocket_publish_bo(file, bo, args);
		rknpu_bo_put(bo);
	}

	drm_dev_exit(idx);
	return ret;
}

/*
 * Both kinds of fences: the CPU may be going to write, so readers count. Not
 * inside drm_dev_enter(): unplug must not wait for a client's patience, and
 * signals the fences itself.
 */
static int rknpu_rocket_wait_bo(struct rknpu_bo *bo, s64 timeout_ns)
{
	long timeout = timeout_ns > 0 ? drm_timeout_abs_to_jiffies(timeout_ns) : 0;
	long ret;

	if (!timeout)
		return dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_READ) ? 0 : -EBUSY;

	/* Jiffies that were late catch up at once, so a wait can end before its time. */
	do {
		ret = dma_resv_wait_timeout(bo->base.resv, DMA_RESV_USAGE_READ, true, timeout);
		timeout = drm_timeout_abs_to_jiffies(timeout_ns);
	} while (!ret && timeout);

	if (!ret)
		return -ETIMEDOUT;
	return ret < 0 ? ret : 0;
}

static struct rknpu_bo *rknpu_rocket_lookup(struct drm_device *dev, struct drm_file *file,
					    const char *ioctl, u32 handle, u32 reserved)
{
	struct drm_gem_object *obj;

	if (reserved) {
		drm_dbg_ratelimited(dev, "%s: reserved is %#x, not 0\n", ioctl, reserved);
		return ERR_PTR(-EINVAL);
	}

	obj = drm_gem_object_lookup(file, handle);
	if (!obj) {
		drm_dbg_ratelimited(dev, "%s: no BO has handle %u\n", ioctl, handle);
		return ERR_PTR(-ENOENT);
	}
	return to_rknpu_bo(obj);
}

static int rknpu_rocket_prep_bo(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_prep_bo *args = data;
	struct rknpu_bo *bo;
	int ret;

	bo = rknpu_rocket_lookup(dev, file, "prep_bo", args->handle, args->reserved);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = rknpu_rocket_wait_bo(bo, args->timeout_ns);
	if (!ret) {
		rknpu_bo_sync_for_cpu(bo);
		ret = rknpu_bo_report_error(bo);
	}

	rknpu_bo_put(bo);
	return ret;
}

static int rknpu_rocket_fini_bo(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_fini_bo *args = data;
	struct rknpu_bo *bo;

	bo = rknpu_rocket_lookup(dev, file, "fini_bo", args->handle, args->reserved);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	rknpu_bo_sync_for_device(bo);
	rknpu_bo_put(bo);
	return 0;
}

static const struct drm_ioctl_desc rknpu_rocket_ioctls[] = {
	DRM_IOCTL_DEF_DRV(ROCKET_CREATE_BO, rknpu_rocket_create_bo, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_SUBMIT, rknpu_rocket_submit, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_PREP_BO, rknpu_rocket_prep_bo, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_FINI_BO, rknpu_rocket_fini_bo, DRM_RENDER_ALLOW),
};

/*
 * DRM lets an accel file call what is meant for primary nodes, but gives it no
 * master: drm_getunique() dereferences that (oops seen on 7.3.4).
 */
static bool rknpu_rocket_ioctl_permitted(unsigned int cmd)
{
	unsigned int flags;

	return !drm_ioctl_flags(DRM_IOCTL_NR(cmd), &flags) || (flags & DRM_RENDER_ALLOW);
}

static long rknpu_rocket_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return rknpu_rocket_ioctl_permitted(cmd) ? drm_ioctl(filp, cmd, arg) : -EACCES;
}

#ifdef CONFIG_COMPAT
static long rknpu_rocket_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return rknpu_rocket_ioctl_permitted(cmd) ? drm_compat_ioctl(filp, cmd, arg) : -EACCES;
}
#endif

/* DRM_ACCEL_FOPS, but for the ioctls. */
static const struct file_operations rknpu_rocket_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = rknpu_rocket_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = rknpu_rocket_compat_ioctl,
#endif
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.show_fdinfo = drm_show_fdinfo,
};

const struct drm_driver rknpu_rocket_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM,
	.open = rknpu_rocket_open,
	.postclose = rknpu_rocket_postclose,
	.show_fdinfo = rknpu_rocket_show_fdinfo,
	.gem_prime_import_sg_table = rknpu_bo_import_sgt,
	.ioctls = rknpu_rocket_ioctls,
	.num_ioctls = ARRAY_SIZE(rknpu_rocket_ioctls),
	.fops = &rknpu_rocket_fops,
	/* User space finds mainline's ABI by this name. */
	.name = "rocket",
	.desc = "Rockchip NPU",
	.major = 1,
	.minor = 0,
};
