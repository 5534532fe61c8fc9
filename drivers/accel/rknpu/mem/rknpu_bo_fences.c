// SPDX-License-Identifier: GPL-2.0-only
/* Owns what jobs that are over leave behind in the reservations of their BOs. */
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rknpu_bo.h"

/* Fences of jobs that are over which may stay: less than 4 KiB with their place in the list. */
#define RKNPU_BO_MAX_FENCES_OVER	25U

static bool rknpu_bo_is_littered(const struct rknpu_bo *bo)
{
	return atomic_read(&bo->fences_over) >= RKNPU_BO_MAX_FENCES_OVER;
}

/**
 * struct rknpu_bo_place - a fence that keeps a list from being given up; nobody waits for it
 */
struct rknpu_bo_place {
	/** @base: first, because the fence core frees what it knows */
	struct dma_fence base;
	/** @compat: what older kernels need */
	struct rknpu_compat_fence compat;
};

static_assert(!offsetof(struct rknpu_bo_place, base));

static const char *rknpu_bo_place_name(struct dma_fence *fence)
{
	return "rknpu";
}

/* As rknpu_fence_ops: it outlives the module, and is forgotten about when it signals. */
static const struct dma_fence_ops rknpu_bo_place_ops = {
	.get_driver_name = rknpu_bo_place_name,
	.get_timeline_name = rknpu_bo_place_name,
	RKNPU_COMPAT_FENCE_OPS
};

/*
 * Twice: a copy has those that have not signalled, but has room for as many as the list had.
 *
 * If all have there is no list any more. But whoever waits without the lock and finds none
 * when he looks for the next fence gets the last one once more, again and again, and no
 * signal ends that (dma_resv_iter_walk_unlocked(), at least up to 7.3). So one that has not
 * signalled takes the place of one that has until the list is short.
 */
static void rknpu_bo_copy_fences(struct dma_resv *resv)
{
	struct rknpu_bo_place *place = kzalloc_obj(*place, GFP_KERNEL_ACCOUNT);

	/* A later job tries again. */
	if (!place)
		return;
	rknpu_compat_fence_init(place, &rknpu_bo_place_ops, dma_fence_context_alloc(1), 1);
	/* Nothing to reserve: that there are some which have signalled the caller has seen. */
	dma_resv_add_fence(resv, &place->base, DMA_RESV_USAGE_BOOKKEEP);
	if (!dma_resv_copy_fences(resv, resv))
		dma_resv_copy_fences(resv, resv);
	dma_fence_signal(&place->base);
	dma_fence_put(&place->base);
}

/*
 * A list of fences never becomes shorter by itself, and what has signalled stays in it until
 * its place is wanted: with an idle BO of a page this could be a hundred times what it counts.
 */
void rknpu_bo_tidy_fences(struct rknpu_bo *bo)
{
	struct dma_resv *resv = bo->base.resv;
	unsigned int flags, listed = 0, left = 0;
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_assert_held(resv);
	if (!rknpu_bo_is_littered(bo))
		return;
	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP, fence) {
		listed++;
		left += !dma_fence_is_signaled(fence);
	}
	/* Where many have not, copies cost, too. */
	if (listed - left >= max(left / 4, RKNPU_BO_MAX_FENCES_OVER)) {
		/* Who waits for memory may be waiting for this. */
		flags = memalloc_noreclaim_save();
		rknpu_bo_copy_fences(resv);
		memalloc_noreclaim_restore(flags);
	}
	atomic_set(&bo->fences_over, 0);
}

void rknpu_bo_forget_fence(struct rknpu_bo *bo)
{
	atomic_inc(&bo->fences_over);
	/* Who has the lock adds jobs, or does what is left to do when it fails. */
	if (!rknpu_bo_is_littered(bo) || !dma_resv_trylock(bo->base.resv))
		return;
	rknpu_bo_tidy_fences(bo);
	dma_resv_unlock(bo->base.resv);
}
