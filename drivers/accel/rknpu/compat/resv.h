/* SPDX-License-Identifier: GPL-2.0-only */
/* Reservation objects of kernels before 5.19: one exclusive fence, or shared ones after it. */
#ifndef __RKNPU_COMPAT_RESV_H__
#define __RKNPU_COMPAT_RESV_H__

#ifndef RKNPU_HAVE_DMA_RESV_USAGE

#include <linux/dma-resv.h>

enum dma_resv_usage {
	DMA_RESV_USAGE_KERNEL,
	DMA_RESV_USAGE_WRITE,
	DMA_RESV_USAGE_READ,
	DMA_RESV_USAGE_BOOKKEEP
};

static inline enum dma_resv_usage dma_resv_usage_rw(bool write)
{
	return write ? DMA_RESV_USAGE_READ : DMA_RESV_USAGE_WRITE;
}

static inline int dma_resv_reserve_fences(struct dma_resv *obj, unsigned int count)
{
	return dma_resv_reserve_shared(obj, count);
}

/*
 * A writer's fence replaces all others. That loses nothing: a job that writes
 * ends after all whose fences it finds.
 */
static inline void dma_resv_add_fence(struct dma_resv *obj, struct dma_fence *fence,
				      enum dma_resv_usage usage)
{
	if (usage <= DMA_RESV_USAGE_WRITE)
		dma_resv_add_excl_fence(obj, fence);
	else
		dma_resv_add_shared_fence(obj, fence);
}

static inline long dma_resv_wait_timeout(struct dma_resv *obj, enum dma_resv_usage usage,
					 bool intr, unsigned long timeout)
{
	bool all = usage >= DMA_RESV_USAGE_READ;
	long left = timeout;

	/* Having waited for the exclusive fence, 5.10 forgets a single shared one. */
	do {
		left = dma_resv_wait_timeout_rcu(obj, all, intr, left);
	} while (left > 0 && !dma_resv_test_signaled_rcu(obj, all));
	return left;
}

static inline bool dma_resv_test_signaled(struct dma_resv *obj, enum dma_resv_usage usage)
{
	return dma_resv_test_signaled_rcu(obj, usage >= DMA_RESV_USAGE_READ);
}

/**
 * struct dma_resv_iter - a walk over the fences of a locked object
 * @obj: object
 * @usage: fences of this usage and lower ones
 * @next: number of the next one; the exclusive one is the first, if there is one
 */
struct dma_resv_iter {
	struct dma_resv *obj;
	enum dma_resv_usage usage;
	unsigned int next;
};

static inline struct dma_resv_iter *rknpu_compat_resv_begin(struct dma_resv_iter *cursor,
							    struct dma_resv *obj,
							    enum dma_resv_usage usage)
{
	cursor->obj = obj;
	cursor->usage = usage;
	cursor->next = 0;
	return cursor;
}

static inline struct dma_fence *rknpu_compat_resv_next(struct dma_resv_iter *cursor)
{
	struct dma_resv_list *list = dma_resv_get_list(cursor->obj);
	struct dma_fence *excl = dma_resv_get_excl(cursor->obj);
	unsigned int i = cursor->next++;

	if (!i && excl)
		return excl;
	i -= i && excl;
	if (cursor->usage < DMA_RESV_USAGE_READ || !list || i >= list->shared_count)
		return NULL;
	return rcu_dereference_protected(list->shared[i], dma_resv_held(cursor->obj));
}

#define dma_resv_for_each_fence(cursor, obj, usage, fence)				\
	for (struct dma_resv_iter *compat_cursor =					\
		rknpu_compat_resv_begin(cursor, obj, usage);				\
	     (fence = rknpu_compat_resv_next(compat_cursor));)

#endif

#endif
