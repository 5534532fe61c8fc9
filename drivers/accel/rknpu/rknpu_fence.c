// SPDX-License-Identifier: GPL-2.0-only
/* Owns the fences of jobs, and the results they carry. */
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "rknpu_fence.h"
#include "rknpu_job.h"

/* In dma_fence::flags: another fence has taken over the context; it is another's. */
#define RKNPU_FENCE_HAS_HEIR	DMA_FENCE_FLAG_USER_BITS
#define RKNPU_FENCE_IS_HEIR	(DMA_FENCE_FLAG_USER_BITS + 1)

/**
 * struct rknpu_fence - a job's fence; outlives the job if somebody holds it
 * @base: first, because the fence core frees what it knows
 * @job: whose fence it is, to be followed only while it has not signalled
 * @result: written before the fence signals, not changed after
 * @compat: what older kernels need
 */
struct rknpu_fence {
	struct dma_fence base;
	struct rknpu_job *job;
	struct rknpu_result result;
	struct rknpu_compat_fence compat;
};

static_assert(!offsetof(struct rknpu_fence, base));

static const char *rknpu_fence_name(struct dma_fence *fence)
{
	return "rknpu";
}

/*
 * Others keep fences after the job, its file and the device are gone, and after
 * this module is. So a fence is memory of its own with its lock inside, and has
 * neither .wait nor .release: then the fence core forgets these operations when
 * the fence signals. Every fence signals before its device goes; module exit
 * waits for those who are looking at the names meanwhile. Fences of older
 * kernels keep this module instead, see compat/fence.h.
 */
static const struct dma_fence_ops rknpu_fence_ops = {
	.get_driver_name = rknpu_fence_name,
	.get_timeline_name = rknpu_fence_name,
	RKNPU_COMPAT_FENCE_OPS
};

struct dma_fence *rknpu_fence_create(struct rknpu_job *job)
{
	struct rknpu_fence *fence = kzalloc_obj(*fence, GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	rknpu_compat_fence_init(&fence->base, &fence->compat, &rknpu_fence_ops,
				dma_fence_context_alloc(1), 1);
	fence->job = job;
	return &fence->base;
}

void rknpu_fence_bequeath(struct dma_fence *fence, struct rknpu_job *heir)
{
	struct rknpu_job *job = container_of(fence, struct rknpu_fence, base)->job;
	unsigned long flags;

	dma_fence_lock_irqsave(fence, flags);
	/* Only then is its job certain to be there: it ends after it has signalled. */
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags) &&
	    !cmpxchg_release(&job->heir, NULL, heir))
		rknpu_job_get(heir);
	dma_fence_unlock_irqrestore(fence, flags);
}

void rknpu_fence_set_result(struct dma_fence *fence, const struct rknpu_result *result)
{
	container_of(fence, struct rknpu_fence, base)->result = *result;
}

void rknpu_fence_get_result(struct dma_fence *fence, struct rknpu_result *result)
{
	/* The result was written before the fence was seen to have signalled. */
	smp_rmb();
	*result = container_of(fence, struct rknpu_fence, base)->result;
}

void rknpu_fence_stamp(struct dma_fence *fence)
{
	static atomic64_t last;

	/* In a context of one fence the number means nothing to others. */
	fence->seqno = atomic64_inc_return(&last);
}

void rknpu_fence_follow(struct dma_fence *fence, struct dma_fence *before)
{
	if (test_bit(RKNPU_FENCE_IS_HEIR, &fence->flags) ||
	    test_and_set_bit(RKNPU_FENCE_HAS_HEIR, &before->flags))
		return;
	__set_bit(RKNPU_FENCE_IS_HEIR, &fence->flags);
	fence->context = before->context;
}

bool rknpu_fence_is_job(const struct dma_fence *fence)
{
	return rcu_access_pointer(fence->ops) == &rknpu_fence_ops;
}
