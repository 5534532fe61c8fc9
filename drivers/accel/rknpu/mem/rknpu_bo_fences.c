// SPDX-License-Identifier: GPL-2.0-only
/* Owns what jobs that are over leave behind in the reservations of their BOs. */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>

#include "rknpu_bo.h"

/* Fences of jobs that are over which may stay: less than 4 KiB with their place in the list. */
#define RKNPU_BO_MAX_FENCES_OVER	25U

static bool rknpu_bo_is_littered(const struct rknpu_bo *bo)
{
	return atomic_read(&bo->fences_over) >= RKNPU_BO_MAX_FENCES_OVER;
}

/*
 * A list of fences never becomes shorter by itself, and what has signalled stays in it until
 * its place is wanted: with an idle BO of a page this could be a hundred times what it counts.
 * A copy has those that have not signalled, but has room for as many as the list had; before
 * 5.19 also if there are none.
 */
void rknpu_bo_tidy_fences(struct rknpu_bo *bo)
{
	struct dma_resv *resv = bo->base.resv;
	unsigned int listed = 0, left = 0;
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_assert_held(resv);
	if (!rknpu_bo_is_littered(bo))
		return;
	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP, fence) {
		listed++;
		left += !dma_fence_is_signaled(fence);
	}
	/* Where many have not, copies cost, too. Without memory a later job tries again. */
	if (listed - left >= max(left / 4, RKNPU_BO_MAX_FENCES_OVER) &&
	    !dma_resv_copy_fences(resv, resv))
		dma_resv_copy_fences(resv, resv);
	atomic_set(&bo->fences_over, 0);
}

void rknpu_bo_forget_fence(struct rknpu_bo *bo)
{
	unsigned int flags;

	atomic_inc(&bo->fences_over);
	/* Who has the lock adds jobs, or does what is left to do when it fails. */
	if (!rknpu_bo_is_littered(bo) || !dma_resv_trylock(bo->base.resv))
		return;
	/* Who waits for memory may be waiting for this. */
	flags = memalloc_noreclaim_save();
	rknpu_bo_tidy_fences(bo);
	memalloc_noreclaim_restore(flags);
	dma_resv_unlock(bo->base.resv);
}
