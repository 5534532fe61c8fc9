/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns BOs: pages, CPU mappings, caches, dma-bufs, writers' errors. */
#ifndef __RKNPU_BO_H__
#define __RKNPU_BO_H__

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <drm/drm_gem.h>

#include "rknpu_account.h"

struct dma_buf;
struct drm_device;
struct page;
struct sg_table;
struct vm_area_struct;
struct vm_operations_struct;

/* A BO fits what the 32-bit size of CREATE_BO and half of the IOVA space hold. */
#define RKNPU_BO_MAX_SIZE	(SZ_2G - SZ_4K)

/**
 * struct rknpu_bo - memory the NPU can be given
 */
struct rknpu_bo {
	/**
	 * @base: GEM object, with a reference on its drm_device; first, so that a container of
	 * the BO can embed it first, too
	 */
	struct drm_gem_object base;
	/** @mem: kept alive by the drm_device of @base */
	struct rknpu_mem *mem;
	/**
	 * @account: what the pages are charged to, or of an imported BO that is attached the
	 * list of them; with a reference, or NULL
	 */
	struct rknpu_account *account;
	/** @pages: pinned for life; NULL for an imported BO */
	struct page **pages;
	/** @beyond: pages of the last one's folio that lie behind it; charged, too */
	unsigned long beyond;
	/** @block: without IOMMU, the first of @pages, which follow each other; else NULL */
	struct page *block;
	/** @block_dma: its bus address */
	dma_addr_t block_dma;
	/** @shared: it is or was a dma-buf, so that others can add fences to its reservation */
	bool shared;
	/**
	 * @ram: of one that another driver exported, the kernel maps all of it; set before
	 * anybody can have its address
	 */
	bool ram;
	/** @uncached: user space maps it so */
	bool uncached;
	/** @dmabuf: what it was imported from, with a reference; else NULL */
	struct dma_buf *dmabuf;
	/** @release_link: in rknpu_quota::imports */
	struct llist_node release_link;
	/**
	 * @sgt: segments, mapped for the DMA device (which has no IOMMU); of an imported one
	 * from its first mapping on
	 */
	struct sg_table *sgt;
	/** @map_lock: protects @mappings, and @sgt until it is there */
	struct mutex map_lock;
	/** @mappings: one struct rknpu_mapping per VM */
	struct list_head mappings;
	/** @write_error: see rknpu_bo_record_error() */
	atomic_t write_error;
	/** @fences_over: freed jobs that named it, since rknpu_bo_tidy_fences() last looked */
	atomic_t fences_over;
};

/**
 * struct rknpu_bo_range - part of a BO
 */
struct rknpu_bo_range {
	/** @offset: first byte */
	u64 offset;
	/** @size: bytes */
	u64 size;
};

static inline struct rknpu_bo *to_rknpu_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct rknpu_bo, base);
}

/* Also before it is attached, when drm_gem_is_imported() does not know yet. */
static inline bool rknpu_bo_is_imported(const struct rknpu_bo *bo)
{
	return bo->dmabuf;
}

/* Of an owner that has none yet; with rknpu_vm_reaper_init(). */
void rknpu_quota_init(struct rknpu_quota *quota);

/*
 * BOs are embedded first in what a uAPI makes of them, and each uAPI has
 * callbacks of its own: after rknpu_bo_init(), even if it failed, and after
 * rknpu_bo_init_imported() the BO must be put, which frees the container by
 * kfree(). The pages are charged to @account until then. -EINTR: the caller was
 * killed. -ENODEV: the device went away. May take seconds, so not inside
 * drm_dev_enter().
 */
int rknpu_bo_init(struct rknpu_bo *bo, struct rknpu_account *account, struct drm_device *drm,
		  const struct drm_gem_object_funcs *funcs, size_t size);
/* -EINVAL if no BO can have the size of the dma-buf. */
int rknpu_bo_check_import(struct rknpu_mem *mem, const struct dma_buf *dmabuf, u64 max_size);
/* The dma-buf is attached when the BO is mapped first: see rknpu_bo_attach(). */
void rknpu_bo_init_imported(struct rknpu_bo *bo, struct rknpu_mem *mem,
			    struct drm_device *drm, const struct drm_gem_object_funcs *funcs,
			    struct dma_buf *dmabuf);

/* The callbacks that those funcs have in common. */
extern const struct vm_operations_struct rknpu_bo_vm_ops;
void rknpu_bo_gem_free(struct drm_gem_object *obj);
struct sg_table *rknpu_bo_gem_sgt(struct drm_gem_object *obj);
enum drm_gem_object_status rknpu_bo_gem_status(struct drm_gem_object *obj);
int rknpu_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma);

/* drm_gem_object_funcs.export */
struct dma_buf *rknpu_bo_export(struct drm_gem_object *obj, int flags);
/* A reference on the BO that was exported by the same node; or NULL. */
struct drm_gem_object *rknpu_bo_import_own(struct drm_device *dev, struct dma_buf *dmabuf);

/* A job that named @bo is being freed: its fence need not stay. May sleep, but not for the lock. */
void rknpu_bo_forget_fence(struct rknpu_bo *bo);
/* The same for jobs that were freed while the reservation was locked, as it is. */
void rknpu_bo_tidy_fences(struct rknpu_bo *bo);

/* Process context: may free the BO, and wait for what others do with one that is imported. */
static inline void rknpu_bo_put(struct rknpu_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

/* The same without that wait, for whoever frees jobs: others wait for that. */
void rknpu_bo_put_freed(struct rknpu_bo *bo);

void rknpu_bo_sync_for_cpu(struct rknpu_bo *bo);
void rknpu_bo_sync_for_device(struct rknpu_bo *bo);
/* @ranges ascend, do not overlap and lie in @bo. */
void rknpu_bo_sync_ranges_for_cpu(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				  u32 count);
void rknpu_bo_sync_ranges_for_device(struct rknpu_bo *bo, const struct rknpu_bo_range *ranges,
				     u32 count);
/* [offset, offset + size) is inside @bo, which is not imported. */
void rknpu_bo_sync_range_for_cpu(struct rknpu_bo *bo, u64 offset, u64 size);
void rknpu_bo_sync_range_for_device(struct rknpu_bo *bo, u64 offset, u64 size);
/* What is at @offset now; as the range functions. */
void rknpu_bo_read(struct rknpu_bo *bo, u64 offset, void *to, size_t size);
/* For exporters that do not do it. Mapped before. */
void rknpu_bo_clean_imported(struct rknpu_bo *bo);
/*
 * With @map_lock held, before anything else is done for a mapping. Of an imported BO that has
 * none yet this fills @sgt, and charges it to @account: -EINVAL if it cannot be mapped, -ENOMEM,
 * or the exporter's errno. Takes as long as the exporter takes.
 */
int rknpu_bo_attach(struct rknpu_bo *bo, struct rknpu_account *account);
/* For the NPU, with @map_lock held. Takes as long as caches take for all of @bo. */
void rknpu_bo_before_mapping(struct rknpu_bo *bo);

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
