// SPDX-License-Identifier: GPL-2.0-only
/* Owns the accel node "rocket": its files, and what they can be asked. */
#include <linux/compat.h>
#include <linux/slab.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "rknpu_bo.h"
#include "rknpu_device.h"
#include "rknpu_drm_ioctl.h"
#include "rknpu_file.h"
#include "rknpu_history.h"
#include "rknpu_prime.h"
#include "rknpu_rocket.h"
#include "rknpu_sched.h"
#include "rknpu_uapi.h"
#include "rknpu_vm.h"

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

	rfile->history = rknpu_history_create();
	if (!rfile->history) {
		rknpu_client_close(rfile->client);
		rknpu_vm_put(rfile->vm);
		return -ENOMEM;
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
	rknpu_history_destroy(rfile->history);
	rknpu_vm_put(rfile->vm);
	kfree(rfile);
}

static void rknpu_rocket_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct rknpu_file *rfile = file->driver_priv;

	rknpu_client_show_busy(rfile->client, p);
	drm_printf(p, "rknpu-iommu-faults:\t%d\n", atomic_read(&rfile->vm->faults));
	drm_show_memory_stats(p, file);
}

static const struct drm_ioctl_desc rknpu_rocket_ioctls[] = {
	DRM_IOCTL_DEF_DRV(ROCKET_CREATE_BO, rknpu_rocket_create_bo, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_SUBMIT, rknpu_rocket_submit, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_PREP_BO, rknpu_rocket_prep_bo, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_FINI_BO, rknpu_rocket_fini_bo, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_PREP_BO_RANGES, rknpu_rocket_prep_bo_ranges, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_FINI_BO_RANGES, rknpu_rocket_fini_bo_ranges, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_GET_PARAM, rknpu_rocket_get_param, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_SUBMIT_EXT, rknpu_rocket_submit_ext, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_WAIT_JOB, rknpu_rocket_wait_job, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(ROCKET_GET_BO_INFO, rknpu_rocket_get_bo_info, DRM_RENDER_ALLOW),
};

static long rknpu_rocket_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_drm_ioctl_check(filp, cmd, (void __user *)arg);

	return ret ? ret : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long rknpu_rocket_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_drm_ioctl_check(filp, cmd, compat_ptr(arg));

	return ret ? ret : drm_compat_ioctl(filp, cmd, arg);
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
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = rknpu_rocket_open,
	.postclose = rknpu_rocket_postclose,
	.show_fdinfo = rknpu_rocket_show_fdinfo,
	.gem_prime_import = rknpu_prime_import,
	.gem_prime_import_sg_table = rknpu_bo_import_sgt,
	.ioctls = rknpu_rocket_ioctls,
	.num_ioctls = ARRAY_SIZE(rknpu_rocket_ioctls),
	.fops = &rknpu_rocket_fops,
	/* User space finds mainline's ABI by this name. */
	.name = "rocket",
	.desc = "Rockchip NPU",
	.major = 1,
	/* See the header for what each version promises. */
	.minor = 6,
};
