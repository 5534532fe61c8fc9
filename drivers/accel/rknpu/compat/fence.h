/* SPDX-License-Identifier: GPL-2.0-only */
/* Fences of kernels before 7.2, which have no lock in them and need their driver as long as they live. */
#ifndef __RKNPU_COMPAT_FENCE_H__
#define __RKNPU_COMPAT_FENCE_H__

#ifdef RKNPU_HAVE_FENCE_LOCK_INLINE

#define RKNPU_COMPAT_FENCE_LOCK
#define RKNPU_COMPAT_FENCE_OPS

#define rknpu_compat_fence_init(fence, ops, context, seqno) \
	dma_fence_init(&(fence)->base, ops, NULL, context, seqno)

#else

#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

/* A member of the struct that the fence is the first member of. */
#define RKNPU_COMPAT_FENCE_LOCK spinlock_t compat_lock;

/*
 * The fence core does not forget a fence's operations when it has signalled.
 * So each fence holds a reference on this module. It is dropped in an RCU
 * callback: those run in softirq context or like it, and freeing a module waits
 * for an RCU grace period, thus for the callback to return.
 */
static inline void rknpu_compat_fence_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct dma_fence, rcu));
	module_put(THIS_MODULE);
}

static inline void rknpu_compat_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, rknpu_compat_fence_free);
}

/* Members of an initializer of struct dma_fence_ops. */
#define RKNPU_COMPAT_FENCE_OPS .release = rknpu_compat_fence_release,

#define rknpu_compat_fence_init(fence, ops, context, seqno) ({				\
	spin_lock_init(&(fence)->compat_lock);						\
	/* An open file holds one too. */						\
	__module_get(THIS_MODULE);							\
	dma_fence_init(&(fence)->base, ops, &(fence)->compat_lock, context, seqno);	\
})

#define dma_fence_lock_irqsave(fence, flags)		spin_lock_irqsave((fence)->lock, flags)
#define dma_fence_unlock_irqrestore(fence, flags)	spin_unlock_irqrestore((fence)->lock, flags)

#endif

#ifndef RKNPU_HAVE_FENCE_CHAIN_FREE

#include <linux/dma-fence-chain.h>
#include <linux/slab.h>

static inline void dma_fence_chain_free(struct dma_fence_chain *chain)
{
	kfree(chain);
}

#endif

#ifdef RKNPU_HAVE_FENCE_ARRAY_CREATE_5

#include <linux/dma-fence-array.h>

#define dma_fence_array_create(count, fences, context, seqno) \
	dma_fence_array_create(count, fences, context, seqno, false)

#endif

#endif
