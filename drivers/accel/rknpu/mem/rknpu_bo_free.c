// SPDX-License-Identifier: GPL-2.0-only
/* Owns the end of BOs: by whom, and what is given back. */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>

#include "hw/rknpu_hw.h"
#include "rknpu_bo_impl.h"
#include "rknpu_release.h"

static void rknpu_bo_drop_block(struct rknpu_bo *bo)
{
	if (bo->sgt) {
		sg_free_table(bo->sgt);
		kfree(bo->sgt);
	}
	kvfree(bo->pages);
	dma_free_pages(rknpu_bo_dma_dev(bo), bo->base.size, bo->block, bo->block_dma,
		       DMA_BIDIRECTIONAL);
}

static void rknpu_bo_drop_pages(struct rknpu_bo *bo)
{
	if (bo->block) {
		rknpu_bo_drop_block(bo);
		return;
	}
	if (bo->sgt) {
		/*
		 * The pages go back to the page allocator. Whoever has them next writes
		 * before it reads, and cleans before its device does, so no line of them
		 * need be invalidated: it would take as long as the BO is large.
		 */
		dma_unmap_sgtable(rknpu_bo_dma_dev(bo), bo->sgt, DMA_BIDIRECTIONAL,
				  DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(bo->sgt);
		kfree(bo->sgt);
	}
	if (bo->pages)
		drm_gem_put_pages(&bo->base, bo->pages, false, false);
	/*
	 * Else they stay in the file until its last fput(), which waits for the calling task to
	 * return to user space: it may sleep first, while nobody is charged for them.
	 */
	if (bo->base.filp)
		shmem_truncate_range(file_inode(bo->base.filp), 0, (loff_t)-1);
}

static void rknpu_bo_uncharge(struct rknpu_bo *bo)
{
	unsigned long pages = bo->base.size >> PAGE_SHIFT;

	rknpu_account_uncharge_tables(bo->account, rknpu_bo_extra_pages(pages) + bo->beyond);
	rknpu_account_uncharge(bo->account, pages);
	atomic_long_sub(pages, &bo->account->pages);
}

static void rknpu_bo_release(struct rknpu_bo *bo)
{
	struct rknpu_account *account = bo->account;
	struct drm_device *drm = bo->base.dev;

	rknpu_device_stat_add(&bo->mem->hw->stats, RKNPU_DEVICE_STAT_BOS_FREED, 1);
	if (rknpu_bo_is_imported(bo))
		rknpu_bo_drop_dmabuf(bo);
	else
		rknpu_bo_drop_pages(bo);
	if (account && !rknpu_bo_is_imported(bo))
		rknpu_bo_uncharge(bo);
	drm_gem_object_release(&bo->base);
	mutex_destroy(&bo->map_lock);
	kfree(bo);
	/* Last: these may be what the devices still hang on. */
	if (account)
		rknpu_account_put(account);
	drm_dev_put(drm);
}

static void rknpu_quota_release_imports(struct work_struct *work)
{
	struct rknpu_quota *quota = container_of(work, struct rknpu_quota, imports_work);
	struct rknpu_bo *bo, *next;

	/* The last one may be the last to hold the quota, too. */
	llist_for_each_entry_safe(bo, next, llist_del_all(&quota->imports), release_link) {
		rknpu_bo_release(bo);
		cond_resched();
	}
}

void rknpu_quota_init(struct rknpu_quota *quota)
{
	init_llist_head(&quota->imports);
	INIT_WORK(&quota->imports_work, rknpu_quota_release_imports);
}

void rknpu_bo_gem_free(struct drm_gem_object *obj)
{
	rknpu_bo_release(to_rknpu_bo(obj));
}

/*
 * To detach from a dma-buf is to wait for its reservation, and for what else its exporter locks.
 * A client can hold these for seconds, by submits that name a thousand of them or by syncs of
 * large ones. That is left to a work of the user's.
 */
static void rknpu_bo_put_last(struct kref *ref)
{
	struct rknpu_bo *bo = container_of(ref, struct rknpu_bo, base.refcount);
	struct rknpu_quota *quota;

	if (!rknpu_bo_is_imported(bo) || !bo->sgt) {
		rknpu_bo_release(bo);
		return;
	}
	quota = bo->account->quota;
	/* Only who adds to an empty list has a BO there, and with it the quota, until the work. */
	if (llist_add(&bo->release_link, &quota->imports))
		rknpu_release_queue_foreign(&quota->imports_work);
}

void rknpu_bo_put_freed(struct rknpu_bo *bo)
{
	kref_put(&bo->base.refcount, rknpu_bo_put_last);
}
