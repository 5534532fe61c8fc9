/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns BOs: pages, CPU mappings, cache maintenance, import, and their writers' errors. */
#ifndef __RKNPU_BO_H__
#define __RKNPU_BO_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <drm/drm_gem.h>

struct dma_buf_attachment;
struct drm_device;
struct page;
struct rknpu_client;
struct rknpu_device;
struct sg_table;
struct vm_area_struct;
struct vm_operations_struct;

/* A BO fits what the 32-bit size of CREATE_BO and half of the IOVA space hold. */
#define RKNPU_BO_MAX_SIZE	(SZ_2G - SZ_4K)

/**
 * struct rknpu_bo - memory the NPU can be given
 * @base: GEM object; first, so that a container of the BO can embed it first, too
 * @rdev: device; kept alive by the drm_device of @base
 * @payer: client that the pages are charged to, with a reference; or NULL
 * @pages: pinned for life; NULL for an imported BO
 * @sgt: segments, mapped for the DMA device (which has no IOMMU)
 * @map_lock: protects @mappings
 * @mappings: one struct rknpu_mapping per VM
 * @write_error: see rknpu_bo_record_error()
 */
struct rknpu_bo {
	struct drm_gem_object base;
	struct rknpu_device *rdev;
	struct rknpu_client *payer;
	struct page **pages;
	struct sg_table *sgt;
	struct mutex map_lock; /* protects mappings */
	struct list_head mappings;
	atomic_t write_error;
};

/**
 * struct rknpu_bo_range - part of a BO
 * @offset: first byte
 * @size: bytes
 */
struct rknpu_bo_range {
	u64 offset;
	u64 size;
};

static inline struct rknpu_bo *to_rknpu_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct rknpu_bo, base);
}

/* Paid for by @client until the BO is freed. -EINTR: the caller was killed. */
struct rknpu_bo *rknpu_bo_create(struct rknpu_client *client, size_t size);

/*
 * For the nodes of other uAPIs, which embed the BO first in something larger and
 * have callbacks of their own: after rknpu_bo_init(), even if it failed, and
 * after rknpu_bo_init_imported() the BO must be put, which frees the container
 * by kfree().
 */
int rknpu_bo_init(struct rknpu_bo *bo, struct rknpu_client *client, struct drm_device *drm,
		  const struct drm_gem_object_funcs *funcs, size_t size);
/* -EINVAL if the dma-buf cannot be mapped as a BO; then nothing was done. */
int rknpu_bo_check_import(struct dma_buf_attachment *attach, struct sg_table *sgt);
void rknpu_bo_init_imported(struct rknpu_bo *bo, struct rknpu_device *rdev,
			    struct drm_device *drm, const struct drm_gem_object_funcs *funcs,
			    size_t size, struct sg_table *sgt);

/* The callbacks that those funcs share. */
extern const struct vm_operations_struct rknpu_bo_vm_ops;
void rknpu_bo_gem_free(struct drm_gem_object *obj);
struct sg_table *rknpu_bo_gem_sgt(struct drm_gem_object *obj);
enum drm_gem_object_status rknpu_bo_gem_status(struct drm_gem_object *obj);
int rknpu_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma);

/* drm_driver.gem_prime_import_sg_table: a dma-buf of another driver. */
struct drm_gem_object *rknpu_bo_import_sgt(struct drm_device *dev,
					   struct dma_buf_attachment *attach,
					   struct sg_table *sgt);

/* Process context: may free the BO. */
static inline void rknpu_bo_put(struct rknpu_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

void rknpu_bo_sync_for_cpu(struct rknpu_bo *bo);
void rknpu_bo_sync_for_device(struct rknpu_bo *bo);
/* @ranges ascend, do not overlap and lie in @bo. */
void rknpu_bo_sync_ranges_for_cpu(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				  u32 count);
void rknpu_bo_sync_ranges_for_device(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				     u32 count);
/* A part of a BO that is not imported; [offset, offset + size) is inside it. */
void rknpu_bo_sync_range_for_cpu(struct rknpu_bo *bo, u64 offset, u64 size);
void rknpu_bo_sync_range_for_device(struct rknpu_bo *bo, u64 offset, u64 size);

/*
 * A job that wrote @bo failed with @error (negative). Any context. To be
 * called before the job's fence signals, so that whoever waits sees it. The
 * first error since the last report stays.
 */
void rknpu_bo_record_error(struct rknpu_bo *bo, int error);
/* The recorded error or 0; from now on it counts as reported. */
int rknpu_bo_report_error(struct rknpu_bo *bo);
/* A new job is going to write @bo: a reported error is history. */
void rknpu_bo_forget_reported_error(struct rknpu_bo *bo);

#endif
