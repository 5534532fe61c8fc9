/* SPDX-License-Identifier: GPL-2.0-only */
/* Fences of kernels before 7.1: they have no lock of their own, and need their driver for life. */
#ifndef __RKNPU_COMPAT_FENCE_H__
#define __RKNPU_COMPAT_FENCE_H__

#include <linux/dma-fence.h>

#ifdef RKNPU_HAVE_FENCE_LOCK_INLINE

/* The member "compat" of the struct whose first member, "base", the fence is. */
struct rknpu_compat_fence {
};

/* Members of an initializer of struct dma_fence_ops. */
#define RKNPU_COMPAT_FENCE_OPS

/* @fence is the struct. */
#define rknpu_compat_fence_init(fence, ops, context, seqno) \
	dma_fence_init(&(fence)->base, ops, NULL, context, seqno)

#else

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct rknpu_compat_fence {
	spinlock_t lock; /* dma_fence::lock */
};

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

#define RKNPU_COMPAT_FENCE_OPS .release = rknpu_compat_fence_release,

static inline void rknpu_compat_fence_lock_init(struct dma_fence *fence,
						struct rknpu_compat_fence *compat,
						const struct dma_fence_ops *ops, u64 context,
						u64 seqno)
{
	spin_lock_init(&compat->lock);
	/* The file that the caller acts for holds one too. */
	__module_get(THIS_MODULE);
	dma_fence_init(fence, ops, &compat->lock, context, seqno);
}

#define rknpu_compat_fence_init(fence, ops, context, seqno) \
	rknpu_compat_fence_lock_init(&(fence)->base, &(fence)->compat, ops, context, seqno)

/* Some have both, without the inline lock. */
#undef dma_fence_lock_irqsave
#undef dma_fence_unlock_irqrestore
#define dma_fence_lock_irqsave(fence, flags)		spin_lock_irqsave((fence)->lock, flags)
#define dma_fence_unlock_irqrestore(fence, flags)	spin_unlock_irqrestore((fence)->lock, flags)

#endif

#ifndef RKNPU_HAVE_FENCE_ENABLE_SIGNALING
#define dma_fence_enable_signaling	dma_fence_enable_sw_signaling
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
