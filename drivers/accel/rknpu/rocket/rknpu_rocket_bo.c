// SPDX-License-Identifier: GPL-2.0-only
/* Owns the ioctls of the rocket uAPI on BOs. */
#include <linux/build_bug.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>

#include "mem/rknpu_bo.h"
#include "mem/rknpu_vm.h"
#include "sched/rknpu_client_types.h"
#include "sched/rknpu_spin.h"
#include "rknpu_device.h"
#include "rknpu_rocket.h"

/* Documented in the uAPI header; the number is rocket-userspace's. */
#define RKNPU_ROCKET_MAX_RANGES	1024

/* Ranges are copied as they are. */
static_assert(sizeof(struct rknpu_bo_range) == sizeof(struct drm_rocket_bo_range));
static_assert(offsetof(struct rknpu_bo_range, offset) ==
	      offsetof(struct drm_rocket_bo_range, offset));
static_assert(offsetof(struct rknpu_bo_range, size) == offsetof(struct drm_rocket_bo_range, size));

static int rknpu_rocket_gem_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct rknpu_rocket_file *rfile = file->driver_priv;
	u64 iova;

	rknpu_vm_reclaim(rfile->vm);
	return rknpu_mapping_get(rfile->vm, to_rknpu_bo(obj), &iova);
}

static void rknpu_rocket_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct rknpu_rocket_file *rfile = file->driver_priv;

	rknpu_mapping_put(rfile->vm, to_rknpu_bo(obj));
}

static const struct drm_gem_object_funcs rknpu_rocket_bo_funcs = {
	.free = rknpu_bo_gem_free,
	.open = rknpu_rocket_gem_open,
	.close = rknpu_rocket_gem_close,
	.export = rknpu_bo_export,
	.get_sg_table = rknpu_bo_gem_sgt,
	.mmap = rknpu_bo_gem_mmap,
	.vm_ops = &rknpu_bo_vm_ops,
	RKNPU_COMPAT_GEM_STATUS(rknpu_bo_gem_status)
};

struct drm_gem_object *rknpu_rocket_import(struct drm_device *dev, struct dma_buf *dmabuf)
{
	struct drm_gem_object *own = rknpu_bo_import_own(dev, dmabuf);
	struct rknpu_mem *mem = &to_rknpu_device(dev)->mem;
	struct rknpu_bo *bo;
	int ret;

	if (own)
		return own;
	ret = rknpu_bo_check_import(mem, dmabuf, RKNPU_BO_MAX_SIZE);
	if (ret)
		return ERR_PTR(ret);

	/* Under a lock that all clients need: nobody waits there for memory of a cgroup. */
	bo = kzalloc_obj(*bo, GFP_KERNEL);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	rknpu_bo_init_imported(bo, mem, dev, &rknpu_rocket_bo_funcs, dmabuf);
	return &bo->base;
}

static struct rknpu_bo *rknpu_rocket_new_bo(struct drm_device *dev, struct rknpu_client *client,
					    size_t size)
{
	struct rknpu_bo *bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!bo)
		return ERR_PTR(-ENOMEM);

	ret = rknpu_bo_init(bo, &client->account, dev, &rknpu_rocket_bo_funcs, size);
	if (ret) {
		rknpu_bo_put(bo);
		return ERR_PTR(ret);
	}
	return bo;
}

static int rknpu_rocket_publish_bo(struct drm_file *file, struct rknpu_bo *bo,
				   struct drm_rocket_create_bo *args)
{
	struct rknpu_rocket_file *rfile = file->driver_priv;
	u64 iova;
	int ret;

	ret = rknpu_mapping_get(rfile->vm, bo, &iova);
	if (ret)
		return ret;

	args->dma_address = iova;
	args->offset = drm_vma_node_offset_addr(&bo->base.vma_node);

	/* Last: from here on other threads can guess the handle and close it. */
	ret = drm_gem_handle_create(file, &bo->base, &args->handle);
	rknpu_mapping_put(rfile->vm, bo);
	return ret;
}

int rknpu_rocket_create_bo(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_create_bo *args = data;
	struct rknpu_rocket_file *rfile = file->driver_priv;
	struct rknpu_bo *bo;
	int ret;

	if (!args->size || args->size > RKNPU_BO_MAX_SIZE) {
		drm_dbg_ratelimited(dev, "create_bo: size %u is not 1..%lu\n", args->size,
				    (unsigned long)RKNPU_BO_MAX_SIZE);
		return -EINVAL;
	}

	rknpu_vm_reclaim(rfile->vm);
	/*
	 * None of this is inside drm_dev_enter(): unplugging any DRM device would wait for
	 * gigabytes. What is mapped goes with the device, see rknpu_domain_map().
	 */
	bo = rknpu_rocket_new_bo(dev, rfile->client, args->size);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = rknpu_rocket_publish_bo(file, bo, args);
	rknpu_bo_put(bo);
	return ret;
}

static bool rknpu_rocket_bo_over(void *data)
{
	struct rknpu_bo *bo = data;

	return dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_READ);
}

/*
 * Both kinds of fences: the CPU may be going to write, so readers count. Not
 * inside drm_dev_enter(): unplug must not wait for a client's patience, and
 * signals the fences itself.
 */
static int rknpu_rocket_wait_bo(struct drm_device *dev, struct rknpu_bo *bo, s64 timeout_ns)
{
	long timeout = timeout_ns > 0 ? drm_timeout_abs_to_jiffies(timeout_ns) : 0;
	long ret;

	if (!timeout)
		return rknpu_rocket_bo_over(bo) ? 0 : -EBUSY;

	if (rknpu_spin_until(&to_rknpu_device(dev)->sched, timeout_ns, rknpu_rocket_bo_over, bo))
		return 0;
	timeout = drm_timeout_abs_to_jiffies(timeout_ns);
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
					    const char *ioctl, u32 handle, u64 reserved)
{
	struct drm_gem_object *obj;

	if (reserved) {
		drm_dbg_ratelimited(dev, "%s: reserved is %#llx, not 0\n", ioctl, reserved);
		return ERR_PTR(-EINVAL);
	}

	obj = drm_gem_object_lookup(file, handle);
	if (!obj) {
		drm_dbg_ratelimited(dev, "%s: no BO has handle %u\n", ioctl, handle);
		return ERR_PTR(-ENOENT);
	}
	return to_rknpu_bo(obj);
}

int rknpu_rocket_prep_bo(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_prep_bo *args = data;
	struct rknpu_bo *bo;
	int ret;

	bo = rknpu_rocket_lookup(dev, file, "prep_bo", args->handle, args->reserved);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = rknpu_rocket_wait_bo(dev, bo, args->timeout_ns);
	if (!ret) {
		rknpu_bo_sync_for_cpu(bo);
		ret = rknpu_bo_report_error(bo);
	}

	rknpu_bo_put(bo);
	return ret;
}

int rknpu_rocket_fini_bo(struct drm_device *dev, void *data, struct drm_file *file)
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

/* NULL for no ranges, which means all of the BO. */
static struct rknpu_bo_range *rknpu_rocket_read_ranges(struct drm_device *dev, u64 array, u32 count)
{
	struct rknpu_bo_range *ranges;

	if (count > RKNPU_ROCKET_MAX_RANGES) {
		drm_dbg_ratelimited(dev, "range_count is %u, more than %u\n", count,
				    RKNPU_ROCKET_MAX_RANGES);
		return ERR_PTR(-EINVAL);
	}
	if (!count)
		return NULL;

	ranges = memdup_array_user(u64_to_user_ptr(array), count, sizeof(*ranges));
	if (IS_ERR(ranges))
		drm_dbg_ratelimited(dev, "ranges: error %pe\n", ranges);
	return ranges;
}

static int rknpu_rocket_check_ranges(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				     u32 count)
{
	u64 end, last = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		const struct rknpu_bo_range *r = &ranges[i];

		if (!r->size || r->offset < last ||
		    check_add_overflow(r->offset, r->size, &end) || end > bo->base.size) {
			drm_dbg_ratelimited(bo->base.dev,
					    "range %u (%#llx + %#llx) is empty, out of order or beyond the BO\n",
					    i, r->offset, r->size);
			return -EINVAL;
		}
		last = end;
	}
	return 0;
}

int rknpu_rocket_prep_bo_ranges(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_prep_bo_ranges *args = data;
	struct rknpu_bo_range *ranges;
	struct rknpu_bo *bo;
	int ret;

	bo = rknpu_rocket_lookup(dev, file, "prep_bo_ranges", args->handle, args->reserved);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ranges = rknpu_rocket_read_ranges(dev, args->ranges, args->range_count);
	if (IS_ERR(ranges)) {
		ret = PTR_ERR(ranges);
		goto out;
	}

	ret = rknpu_rocket_check_ranges(bo, ranges, args->range_count);
	if (!ret)
		ret = rknpu_rocket_wait_bo(dev, bo, args->timeout_ns);
	if (!ret) {
		if (ranges)
			rknpu_bo_sync_ranges_for_cpu(bo, ranges, args->range_count);
		else
			rknpu_bo_sync_for_cpu(bo);
		ret = rknpu_bo_report_error(bo);
	}
	kfree(ranges);
out:
	rknpu_bo_put(bo);
	return ret;
}

int rknpu_rocket_fini_bo_ranges(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_fini_bo_ranges *args = data;
	struct rknpu_bo_range *ranges;
	struct rknpu_bo *bo;
	int ret;

	bo = rknpu_rocket_lookup(dev, file, "fini_bo_ranges", args->handle, args->reserved);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ranges = rknpu_rocket_read_ranges(dev, args->ranges, args->range_count);
	if (IS_ERR(ranges)) {
		ret = PTR_ERR(ranges);
		goto out;
	}

	ret = rknpu_rocket_check_ranges(bo, ranges, args->range_count);
	if (!ret) {
		if (ranges)
			rknpu_bo_sync_ranges_for_device(bo, ranges, args->range_count);
		else
			rknpu_bo_sync_for_device(bo);
	}
	kfree(ranges);
out:
	rknpu_bo_put(bo);
	return ret;
}

int rknpu_rocket_get_bo_info(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_bo_info *args = data;
	struct rknpu_rocket_file *rfile = file->driver_priv;
	struct rknpu_bo *bo;
	u64 iova;
	int ret;

	bo = rknpu_rocket_lookup(dev, file, "get_bo_info", args->handle, args->reserved);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = rknpu_mapping_get(rfile->vm, bo, &iova);
	/* It fails only if another thread closes the handle, which has a mapping, just now. */
	if (!ret) {
		args->flags = rknpu_bo_is_imported(bo) ? DRM_ROCKET_BO_IMPORTED : 0;
		args->size = bo->base.size;
		args->dma_address = iova;
		args->offset = rknpu_bo_is_imported(bo) ?
			       0 : drm_vma_node_offset_addr(&bo->base.vma_node);
		rknpu_mapping_put(rfile->vm, bo);
	}

	rknpu_bo_put(bo);
	return ret;
}
