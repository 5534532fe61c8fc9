// SPDX-License-Identifier: GPL-2.0-only
/* Owns what both of the vendor's nodes do for an open file: opening, closing, ACTION. */
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "sched/rknpu_client.h"
#include "sched/rknpu_sched.h"
#include "rknpu_device.h"
#include "rknpu_vendor.h"
#include "rknpu_vendor_files.h"

/* Structs, DRM's among them, empty tables, and of the opener mm_struct and page directory. */
#define RKNPU_VFILE_BYTES	(16 * SZ_1K)

static int rknpu_vendor_fill_file(struct rknpu_vfile *vfile)
{
	vfile->space = rknpu_space_get(vfile->vendor);
	if (IS_ERR(vfile->space))
		return PTR_ERR(vfile->space);

	vfile->client = rknpu_client_create(&vfile->vendor->rdev->sched, RKNPU_VFILE_BYTES);
	if (IS_ERR(vfile->client)) {
		rknpu_space_put(vfile->space);
		return PTR_ERR(vfile->client);
	}
	return 0;
}

struct rknpu_vfile *rknpu_vfile_create(struct rknpu_vendor *vendor)
{
	struct rknpu_vfile *vfile;
	int ret;

	vfile = kzalloc_obj(*vfile, GFP_KERNEL_ACCOUNT);
	if (!vfile)
		return ERR_PTR(-ENOMEM);
	vfile->vendor = vendor;
	ret = rknpu_vobjects_init(vfile);
	if (ret)
		goto err_free;

	ret = rknpu_vendor_fill_file(vfile);
	if (ret)
		goto err_objects;
	return vfile;

err_objects:
	rknpu_vobjects_fini(vfile);
err_free:
	kfree(vfile);
	return ERR_PTR(ret);
}

/* Of handles that were closed before DRM had opened them, see rknpu_mapping_get(). */
static void rknpu_vfile_close_stray(struct rknpu_vfile *vfile)
{
	struct rknpu_vbo *vbo;

	while ((vbo = rknpu_vobject_first(vfile))) {
		drm_gem_object_get(&vbo->base.base);
		rknpu_vobject_close(vfile, vbo);
		rknpu_bo_put(&vbo->base);
	}
}

void rknpu_vfile_destroy(struct rknpu_vfile *vfile)
{
	rknpu_vfile_close_stray(vfile);
	rknpu_sched_close_client(vfile->client);
	rknpu_space_put(vfile->space);
	rknpu_vobjects_fini(vfile);
	kfree(vfile);
}

/* Less nice as by setpriority(). That one's can_nice() is exported by Debian's kernels alone. */
static bool rknpu_vendor_may_be_nice(s32 nice)
{
	return nice >= task_nice(current) || nice_to_rlimit(nice) <= rlimit(RLIMIT_NICE) ||
	       capable(CAP_SYS_NICE);
}

/* The vendor's driver lets anybody take any priority. */
static void rknpu_vendor_set_nice(s32 nice)
{
	nice = clamp(nice, MIN_NICE, MAX_NICE);
	if (rknpu_vendor_may_be_nice(nice))
		set_user_nice(current, nice);
}

static int rknpu_vendor_set_domain(struct rknpu_space *space, u32 domain)
{
	if (domain >= DRM_RKNPU_DOMAINS)
		return -EINVAL;
	WRITE_ONCE(space->domain, domain);
	return 0;
}

static int rknpu_vendor_get_volt(struct rknpu_device *rdev, u32 *value)
{
	int uv = rknpu_vendor_info_uv(rdev);

	if (uv < 0)
		return -EINVAL;
	*value = uv;
	return 0;
}

int rknpu_vendor_do_action(struct rknpu_vfile *vfile, struct drm_rknpu_action *args)
{
	struct rknpu_device *rdev = vfile->vendor->rdev;

	switch (args->flags) {
	case DRM_RKNPU_GET_HW_VERSION:
		args->value = rknpu_vendor_info_hw_version(rdev);
		return 0;
	case DRM_RKNPU_GET_DRV_VERSION:
		args->value = vfile->vendor->version;
		return 0;
	case DRM_RKNPU_GET_FREQ:
		args->value = rknpu_vendor_info_hz(rdev);
		return 0;
	case DRM_RKNPU_GET_VOLT:
		return rknpu_vendor_get_volt(rdev, &args->value);
	case DRM_RKNPU_RESET:
		/* Nobody else's jobs are the caller's business, and ours need no help. */
		rknpu_sched_cancel_jobs(vfile->client);
		return 0;
	case DRM_RKNPU_CLEAR_TOTAL_RW_AMOUNT:
	case DRM_RKNPU_GET_DT_WR_AMOUNT:
	case DRM_RKNPU_GET_DT_RD_AMOUNT:
	case DRM_RKNPU_GET_WT_RD_AMOUNT:
	case DRM_RKNPU_GET_TOTAL_RW_AMOUNT:
		/* RK3588 has no such counters; the vendor's driver leaves the value alone. */
		return 0;
	case DRM_RKNPU_GET_IOMMU_EN:
		args->value = !rdev->hw.no_iommu;
		return 0;
	case DRM_RKNPU_SET_PROC_NICE:
		rknpu_vendor_set_nice(args->value);
		return 0;
	case DRM_RKNPU_GET_TOTAL_SRAM_SIZE:
	case DRM_RKNPU_GET_FREE_SRAM_SIZE:
		args->value = 0;
		return 0;
	case DRM_RKNPU_GET_IOMMU_DOMAIN_ID:
		args->value = READ_ONCE(vfile->space->domain);
		return 0;
	case DRM_RKNPU_SET_IOMMU_DOMAIN_ID:
		return rknpu_vendor_set_domain(vfile->space, args->value);
	default:
		/* The rest of the vendor's table does the same on RK3588. */
		drm_dbg_ratelimited(&vfile->vendor->drm, "action: %u is not possible\n",
				    args->flags);
		return -EINVAL;
	}
}
