// SPDX-License-Identifier: GPL-2.0-only
/* Owns the syncobjs of a submit. */
#include <linux/dma-fence-chain.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "sched/rknpu_job.h"
#include "rknpu_rocket.h"
#include "rknpu_rocket_read.h"
#include "rknpu_rocket_sync.h"

/**
 * struct rknpu_rocket_out - a syncobj that gets a job's fence
 */
struct rknpu_rocket_out {
	/** @link: in the list of the submit */
	struct list_head link;
	/** @syncobj: holds a reference */
	struct drm_syncobj *syncobj;
	/** @fence: the job's, holds a reference */
	struct dma_fence *fence;
	/** @chain: for a point of a timeline, else NULL */
	struct dma_fence_chain *chain;
	/** @point: the point */
	u64 point;
};

static int rknpu_rocket_read_sync(struct drm_file *file, struct drm_rocket_sync *sync, u64 array,
				  u32 i, u32 usize)
{
	int ret = rknpu_rocket_read(sync, sizeof(*sync), array, i, usize);

	if (!ret && sync->flags) {
		drm_dbg_ratelimited(file->minor->dev, "submit: syncs[%u]: flags are %#x, not 0\n",
				    i, sync->flags);
		return -EINVAL;
	}
	return ret;
}

int rknpu_rocket_wait_for_syncs(struct drm_file *file, struct rknpu_job *job,
				const struct drm_rocket_job_ext *args)
{
	struct drm_rocket_sync sync;
	struct dma_fence *fence;
	u32 i;
	int ret;

	for (i = 0; i < args->in_sync_count; i++) {
		/* As in rknpu_rocket_publish_outs(). */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		ret = rknpu_rocket_read_sync(file, &sync, args->in_syncs, i,
					     args->sync_struct_size);
		if (ret)
			return ret;
		ret = drm_syncobj_find_fence(file, sync.handle, sync.point, 0, &fence);
		if (ret) {
			drm_dbg_ratelimited(file->minor->dev,
					    "submit: in_syncs[%u]: syncobj %u, point %llu: error %d\n",
					    i, sync.handle, sync.point, ret);
			return ret;
		}
		/* Kernels before 5.10.86 have none for a point that is over. */
		if (!fence)
			continue;
		ret = rknpu_job_add_dep(job, fence);
		dma_fence_put(fence);
		if (ret)
			return ret;
	}
	return 0;
}

static void rknpu_rocket_free_out(struct rknpu_rocket_out *out)
{
	if (out->syncobj)
		drm_syncobj_put(out->syncobj);
	dma_fence_put(out->fence);
	dma_fence_chain_free(out->chain);
	kfree(out);
}

static int rknpu_rocket_find_out(struct drm_file *file, const struct drm_rocket_sync *sync,
				 struct rknpu_rocket_out *out)
{
	out->point = sync->point;
	if (sync->point) {
		/* Freed by the fence core, with kfree() as well. */
		out->chain = kmalloc_obj(*out->chain, GFP_KERNEL_ACCOUNT);
		if (!out->chain)
			return -ENOMEM;
	}

	out->syncobj = drm_syncobj_find(file, sync->handle);
	if (out->syncobj)
		return 0;
	drm_dbg_ratelimited(file->minor->dev, "submit: no syncobj has handle %u\n", sync->handle);
	return -ENOENT;
}

int rknpu_rocket_find_outs(struct drm_file *file, struct rknpu_job *job,
			   const struct drm_rocket_job_ext *args, struct list_head *outs)
{
	struct drm_rocket_sync sync;
	struct rknpu_rocket_out *out;
	u32 i;
	int ret;

	for (i = 0; i < args->out_sync_count; i++) {
		ret = rknpu_rocket_read_sync(file, &sync, args->out_syncs, i,
					     args->sync_struct_size);
		if (ret)
			return ret;

		out = kzalloc_obj(*out, GFP_KERNEL_ACCOUNT);
		if (!out)
			return -ENOMEM;
		out->fence = dma_fence_get(rknpu_job_fence(job));
		list_add_tail(&out->link, outs);
		ret = rknpu_rocket_find_out(file, &sync, out);
		if (ret)
			return ret;
	}
	return 0;
}

void rknpu_rocket_publish_outs(struct list_head *outs)
{
	struct rknpu_rocket_out *out;

	list_for_each_entry(out, outs, link) {
		/*
		 * A point costs a walk over all points of its timeline that are not over, which
		 * may be millions. Who waits for one of a caller that dies has to expect none.
		 */
		if (fatal_signal_pending(current))
			break;
		cond_resched();
		if (out->chain)
			drm_syncobj_add_point(out->syncobj, out->chain, out->fence, out->point);
		else
			drm_syncobj_replace_fence(out->syncobj, out->fence);
		/* The syncobj's now. */
		out->chain = NULL;
	}
	rknpu_rocket_drop_outs(outs);
}

void rknpu_rocket_drop_outs(struct list_head *outs)
{
	struct rknpu_rocket_out *out, *next;

	list_for_each_entry_safe(out, next, outs, link)
		rknpu_rocket_free_out(out);
}
