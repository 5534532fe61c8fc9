// SPDX-License-Identifier: GPL-2.0-only
/* Owns the accel node "rocket": its files, its table of ioctls, and GET_PARAM. */
#include <linux/nospec.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "hw/rknpu_pc.h"
#include "mem/rknpu_bo.h"
#include "mem/rknpu_vm.h"
#include "sched/rknpu_backlog.h"
#include "sched/rknpu_client.h"
#include "sched/rknpu_client_types.h"
#include "sched/rknpu_debt.h"
#include "sched/rknpu_limits.h"
#include "sched/rknpu_sched.h"
#include "rknpu_device.h"
#include "rknpu_ioctl.h"
#include "rknpu_rocket.h"
#include "rknpu_rocket_drv.h"

/* The ring of its newest jobs, with a fence for each (128 bytes), and structs, DRM's among them. */
#define RKNPU_ROCKET_FILE_BYTES	(RKNPU_ROCKET_HISTORY_SIZE * (128 + sizeof(void *)) + 24 * SZ_1K)

static int rknpu_rocket_open_files(struct rknpu_rocket_file *rfile)
{
	rfile->client = rknpu_client_create(&rfile->rdev->sched, RKNPU_ROCKET_FILE_BYTES);
	if (IS_ERR(rfile->client))
		return PTR_ERR(rfile->client);

	rfile->vm = rknpu_vm_create(&rfile->client->account);
	if (IS_ERR(rfile->vm)) {
		rknpu_sched_close_client(rfile->client);
		return PTR_ERR(rfile->vm);
	}

	rfile->history = rknpu_history_create();
	/* Two allocations would have to fail: kvcalloc() tries another way. */
	if (!rfile->history) {
		rknpu_sched_close_client(rfile->client);
		rknpu_vm_put(rfile->vm);
		return -ENOMEM;
	}
	return 0;
}

static int rknpu_rocket_open(struct drm_device *dev, struct drm_file *file)
{
	struct rknpu_rocket_file *rfile;
	int ret;

	rfile = kzalloc_obj(*rfile, GFP_KERNEL_ACCOUNT);
	if (!rfile)
		return -ENOMEM;
	rfile->rdev = to_rknpu_device(dev);

	ret = rknpu_rocket_open_files(rfile);
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
	struct rknpu_rocket_file *rfile = file->driver_priv;

	rknpu_vm_put_stray_mappings(rfile->vm);
	rknpu_sched_close_client(rfile->client);
	rknpu_history_destroy(rfile->history);
	rknpu_vm_put(rfile->vm);
	kfree(rfile);
}

static void rknpu_rocket_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct rknpu_rocket_file *rfile = file->driver_priv;

	rknpu_client_show_busy(rfile->client, p);
	rknpu_debt_show(rfile->client, p);
	drm_printf(p, "rknpu-iommu-faults:\t%d\n", atomic_read(&rfile->vm->domain.faults));
	drm_show_memory_stats(p, file);
}

#define RKNPU_ROCKET_FEATURES							\
	(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BO_INFO |		\
	 DRM_ROCKET_FEATURE_SYNCOBJ | DRM_ROCKET_FEATURE_BATCHED |		\
	 DRM_ROCKET_FEATURE_SCHED | DRM_ROCKET_FEATURE_DIVISIBLE |		\
	 DRM_ROCKET_FEATURE_TAG)

/* Those that are the same on every device, by enum drm_rocket_param; 0: not one of them. */
static const u64 rknpu_rocket_constants[] = {
	[DRM_ROCKET_PARAM_FEATURES] = RKNPU_ROCKET_FEATURES,
	[DRM_ROCKET_PARAM_MIN_TIMEOUT_NS] = RKNPU_ROCKET_MIN_TIMEOUT_NS,
	[DRM_ROCKET_PARAM_MAX_BO_SIZE] = RKNPU_BO_MAX_SIZE,
	[DRM_ROCKET_PARAM_MAX_JOBS] = RKNPU_ROCKET_MAX_JOBS,
	[DRM_ROCKET_PARAM_MAX_TASKS] = RKNPU_ROCKET_MAX_TASKS,
	[DRM_ROCKET_PARAM_MAX_JOB_HANDLES] = RKNPU_ROCKET_MAX_HANDLES,
	[DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES] = RKNPU_ROCKET_MAX_ALL_HANDLES,
	[DRM_ROCKET_PARAM_MAX_JOB_SYNCS] = RKNPU_ROCKET_MAX_SYNCS,
	[DRM_ROCKET_PARAM_MAX_FILE_JOBS] = RKNPU_CLIENT_MAX_JOBS,
	[DRM_ROCKET_PARAM_MAX_FILE_TASKS] = RKNPU_CLIENT_MAX_TASKS,
	[DRM_ROCKET_PARAM_MAX_USER_JOBS] = RKNPU_CLIENT_MAX_JOBS * RKNPU_USER_FILES,
	[DRM_ROCKET_PARAM_RESULT_COUNT] = RKNPU_ROCKET_HISTORY_SIZE,
};

static int rknpu_rocket_hw_version(struct rknpu_device *rdev, u32 index, u64 *value)
{
	u32 version;
	int ret;

	ret = rknpu_sched_core_version(&rdev->sched, array_index_nospec(index, RKNPU_MAX_CORES),
				       &version);
	if (!ret)
		*value = version;
	return ret;
}

static int rknpu_rocket_param(struct drm_file *file, u32 param, u32 index, u64 *value)
{
	struct rknpu_rocket_file *rfile = file->driver_priv;
	struct rknpu_device *rdev = rfile->rdev;

	switch (param) {
	case DRM_ROCKET_PARAM_SOC:
		*value = rdev->hw.soc->number;
		return 0;
	case DRM_ROCKET_PARAM_CORE_COUNT:
		*value = rdev->hw.soc->num_cores;
		return 0;
	case DRM_ROCKET_PARAM_CORE_MASK:
		*value = rknpu_sched_cores_alive(&rdev->sched);
		return 0;
	case DRM_ROCKET_PARAM_HW_VERSION:
		return rknpu_rocket_hw_version(rdev, index, value);
	case DRM_ROCKET_PARAM_MAX_REGCMDS:
		*value = rknpu_pc_max_commands(rdev->hw.soc);
		return 0;
	case DRM_ROCKET_PARAM_DEFAULT_TIMEOUT_NS:
		*value = rknpu_limits_default_timeout_ns();
		return 0;
	case DRM_ROCKET_PARAM_MAX_TIMEOUT_NS:
		*value = rknpu_limits_max_timeout_ns();
		return 0;
	case DRM_ROCKET_PARAM_MAX_JOB_TIME_NS:
		*value = rknpu_limits_max_job_ns();
		return 0;
	case DRM_ROCKET_PARAM_MAX_USER_MEMORY:
		*value = rknpu_mem_owner_limit(&rdev->mem);
		return 0;
	case DRM_ROCKET_PARAM_MAX_DEVICE_MEMORY:
		*value = rknpu_mem_device_limit(&rdev->mem);
		return 0;
	case DRM_ROCKET_PARAM_BANNED_NS:
		*value = rknpu_debt_banned_ns(rfile->client);
		return 0;
	case DRM_ROCKET_PARAM_MAX_PRIORITY:
		*value = rknpu_limits_seems_privileged() ? DRM_ROCKET_PRIORITY_HIGH :
							   DRM_ROCKET_PRIORITY_NORMAL;
		return 0;
	default:
		if (param >= ARRAY_SIZE(rknpu_rocket_constants))
			return -EINVAL;
		*value = rknpu_rocket_constants[array_index_nospec(param,
							ARRAY_SIZE(rknpu_rocket_constants))];
		return *value ? 0 : -EINVAL;
	}
}

static int rknpu_rocket_get_param(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_get_param *args = data;
	u32 limit = 1;
	int ret;

	if (args->param == DRM_ROCKET_PARAM_HW_VERSION)
		limit = to_rknpu_device(dev)->hw.soc->num_cores;

	ret = args->index < limit ?
	      rknpu_rocket_param(file, args->param, args->index, &args->value) : -EINVAL;
	if (ret)
		drm_dbg_ratelimited(dev, "get_param: param %u, index %u: error %d\n",
				    args->param, args->index, ret);
	return ret;
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

/* NULL: not one of ours. */
static const struct drm_ioctl_desc *rknpu_rocket_find_ioctl(unsigned int cmd)
{
	unsigned int i = DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE;
	const struct drm_ioctl_desc *ioctl;

	if (i >= ARRAY_SIZE(rknpu_rocket_ioctls))
		return NULL;
	ioctl = &rknpu_rocket_ioctls[array_index_nospec(i, ARRAY_SIZE(rknpu_rocket_ioctls))];
	return ioctl->func ? ioctl : NULL;
}

/*
 * DRM goes by the number alone, and cuts or fills up the struct. Of mainline's numbers
 * the size must be right: what mainline appends to a struct is not known here. Ours
 * grow at their end; DRM drops what is behind the struct here, so that must be 0.
 */
static int rknpu_rocket_check_struct(const struct drm_ioctl_desc *ioctl, unsigned int cmd,
				     unsigned long arg)
{
	size_t ksize = _IOC_SIZE(ioctl->cmd), usize = _IOC_SIZE(cmd);
	int ret;

	if (_IOC_DIR(cmd) != _IOC_DIR(ioctl->cmd) || _IOC_TYPE(cmd) != DRM_IOCTL_BASE)
		return -ENOTTY;
	if (DRM_IOCTL_NR(cmd) < DRM_COMMAND_BASE + DRM_ROCKET_GET_PARAM)
		return usize == ksize ? 0 : -ENOTTY;
	if (usize <= ksize)
		return 0;
	ret = check_zeroed_user((void __user *)(arg + ksize), usize - ksize);
	return ret < 0 ? ret : ret ? 0 : -E2BIG;
}

static int rknpu_rocket_check(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct drm_ioctl_desc *ioctl = rknpu_rocket_find_ioctl(cmd);
	struct drm_file *file = filp->private_data;
	int ret;

	if (!ioctl || ioctl->cmd == cmd)
		return rknpu_ioctl_check(cmd);
	ret = rknpu_rocket_check_struct(ioctl, cmd, arg);
	if (ret)
		drm_dbg_ratelimited(file->minor->dev, "ioctl %#x is not %#x: error %d\n", cmd,
				    ioctl->cmd, ret);
	return ret;
}

static long rknpu_rocket_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_rocket_check(filp, cmd, arg);

	return ret ? ret : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long rknpu_rocket_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret = rknpu_rocket_check(filp, cmd, arg);

	return ret ? ret : drm_compat_ioctl(filp, cmd, arg);
}
#endif

static __poll_t rknpu_rocket_poll(struct file *filp, poll_table *wait)
{
	struct drm_file *file = filp->private_data;
	struct rknpu_rocket_file *rfile = file->driver_priv;

	return drm_poll(filp, wait) | rknpu_backlog_poll(rfile->client, filp, wait);
}

/* DRM_ACCEL_FOPS, but for the ioctls and poll(). */
static const struct file_operations rknpu_rocket_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = rknpu_rocket_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = rknpu_rocket_compat_ioctl,
#endif
	.poll = rknpu_rocket_poll,
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
	.gem_prime_import = rknpu_rocket_import,
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
