// SPDX-License-Identifier: GPL-2.0-only
/* Owns the order of jobs that use the same BOs: dependencies, and fences in reservations. */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/ww_mutex.h>

#include <drm/drm_gem.h>

#include "rknpu_limits.h"
#include "rknpu_order.h"
#include "rknpu_sched.h"

/**
 * struct rknpu_order_use - one job's use of one reservation object
 */
struct rknpu_order_use {
	/** @obj: a BO with that reservation object */
	struct drm_gem_object *obj;
	/** @job: index of the job */
	u32 job;
	/** @write: the job writes */
	bool write;
};

/**
 * struct rknpu_order - jobs on their way
 */
struct rknpu_order {
	/** @jobs: in submission order */
	struct rknpu_job **jobs;
	/** @job_count: number of @jobs */
	u32 job_count;
	/** @uses: sorted: uses of one reservation object are neighbours, in job order */
	struct rknpu_order_use *uses;
	/** @use_count: number of @uses */
	u32 use_count;
	/** @locked: one BO per reservation object */
	struct drm_gem_object **locked;
	/** @lock_count: number of @locked */
	u32 lock_count;
	/** @acquire: ww ticket */
	struct ww_acquire_ctx acquire;
	/** @cookie: of dma_fence_begin_signalling(), once fences are published */
	bool cookie;
};

static int rknpu_order_use_cmp(const void *pa, const void *pb)
{
	const struct rknpu_order_use *a = pa;
	const struct rknpu_order_use *b = pb;

	if (a->obj->resv != b->obj->resv)
		return a->obj->resv < b->obj->resv ? -1 : 1;
	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return 0;
}

static bool rknpu_order_same_resv(const struct rknpu_order *s, u32 a, u32 b)
{
	return s->uses[a].obj->resv == s->uses[b].obj->resv;
}

/* Two imported BOs of one job can have one reservation object. */
static void rknpu_order_merge_uses(struct rknpu_order *s)
{
	u32 i, n = 0;

	for (i = 0; i < s->use_count; i++) {
		if (n && rknpu_order_same_resv(s, n - 1, i) &&
		    s->uses[n - 1].job == s->uses[i].job)
			s->uses[n - 1].write |= s->uses[i].write;
		else
			s->uses[n++] = s->uses[i];
	}
	s->use_count = n;
}

static int rknpu_order_collect(struct rknpu_order *s)
{
	size_t total = 0;
	u32 i, j;

	for (i = 0; i < s->job_count; i++)
		total += s->jobs[i]->bo_count;
	if (!total)
		return 0;

	s->uses = kvmalloc_array(total, sizeof(*s->uses), GFP_KERNEL_ACCOUNT);
	s->locked = kvmalloc_array(total, sizeof(*s->locked), GFP_KERNEL_ACCOUNT);
	if (!s->uses || !s->locked)
		return -ENOMEM;

	for (i = 0; i < s->job_count; i++) {
		struct rknpu_job *job = s->jobs[i];

		for (j = 0; j < job->bo_count; j++) {
			struct rknpu_order_use *use = &s->uses[s->use_count++];

			use->obj = &job->bos[j]->base;
			use->job = i;
			use->write = j < job->write_count;
		}
	}

	sort(s->uses, s->use_count, sizeof(*s->uses), rknpu_order_use_cmp, NULL);
	rknpu_order_merge_uses(s);

	for (i = 0; i < s->use_count; i++) {
		if (!i || !rknpu_order_same_resv(s, i - 1, i))
			s->locked[s->lock_count++] = s->uses[i].obj;
	}
	return 0;
}

static struct dma_fence *rknpu_order_fence(struct rknpu_order *s, u32 use)
{
	return rknpu_job_fence(s->jobs[s->uses[use].job]);
}

/* When the last job was published that writes and has not signalled, or 0. */
static u64 rknpu_order_newest_writer(struct dma_resv *resv)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	u64 newest = 0;

	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_WRITE, fence) {
		if (rknpu_fence_is_job(fence))
			newest = max(newest, fence->seqno);
	}
	return newest;
}

/*
 * A reader waits for writers, a writer for everybody. The newest writer among
 * jobs itself waits for all jobs published before it: who waits for it too
 * need not wait for those, else each of many jobs that write one BO would wait
 * for every other one.
 */
static int rknpu_order_wait_for_resv(struct rknpu_job *job, struct dma_resv *resv, bool write)
{
	u64 newest = rknpu_order_newest_writer(resv);
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	dma_resv_for_each_fence(&cursor, resv, dma_resv_usage_rw(write), fence) {
		if (rknpu_fence_is_job(fence) && fence->seqno < newest)
			continue;
		ret = rknpu_job_add_dep(job, fence);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The uses [first, end) are of one reservation object. What came before this
 * submit is waited for directly only up to its first writer; whoever comes
 * later waits for that writer, or for the readers after it.
 */
static int rknpu_order_by_uses(struct rknpu_order *s, u32 first, u32 end)
{
	u32 writer = end;	/* last writer so far, end = none */
	u32 since = first;	/* first reader after it */
	u32 i, j;
	int ret = 0;

	for (i = first; i < end && !ret; i++) {
		struct rknpu_order_use *use = &s->uses[i];
		struct rknpu_job *job = s->jobs[use->job];

		/* Many jobs may read what many have read before. */
		cond_resched();
		if (writer == end)
			ret = rknpu_order_wait_for_resv(job, use->obj->resv, use->write);
		else if (!use->write || since == i)
			ret = rknpu_job_add_dep(job, rknpu_order_fence(s, writer));

		if (!use->write)
			continue;
		for (j = since; j < i && !ret; j++)
			ret = rknpu_job_add_dep(job, rknpu_order_fence(s, j));
		writer = i;
		since = i + 1;
	}
	return ret;
}

/* The last steps that can fail, with the reservation objects locked. */
static int rknpu_order_by_resvs(struct rknpu_order *s)
{
	u32 first, end;
	int ret;

	for (first = 0; first < s->use_count; first = end) {
		for (end = first + 1; end < s->use_count; end++) {
			if (!rknpu_order_same_resv(s, first, end))
				break;
		}

		ret = dma_resv_reserve_fences(s->uses[first].obj->resv, end - first) ?:
		      rknpu_order_by_uses(s, first, end);
		if (ret)
			return ret;
	}
	return 0;
}

static void rknpu_order_publish(struct rknpu_order *s)
{
	u32 i, j;

	/* From here on others wait for the jobs, until those are pushed. */
	s->cookie = dma_fence_begin_signalling();
	for (i = 0; i < s->job_count; i++) {
		struct rknpu_job *job = s->jobs[i];

		rknpu_job_arm(job);
		for (j = 0; j < job->write_count; j++)
			rknpu_bo_forget_reported_error(job->bos[j]);
	}

	for (i = 0; i < s->use_count; i++)
		dma_resv_add_fence(s->uses[i].obj->resv, rknpu_order_fence(s, i),
				   s->uses[i].write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
}

static int rknpu_order_commit(struct rknpu_order *s)
{
	int ret = drm_gem_lock_reservations(s->locked, s->lock_count, &s->acquire);

	if (ret)
		return ret;

	ret = rknpu_order_by_resvs(s);
	if (!ret)
		rknpu_order_publish(s);

	drm_gem_unlock_reservations(s->locked, s->lock_count, &s->acquire);
	return ret;
}

int rknpu_order_jobs(struct rknpu_job **jobs, u32 count)
{
	struct rknpu_order s = { .jobs = jobs, .job_count = count };
	u32 i;
	int ret;

	for (i = 0; i < count; i++)
		rknpu_limits_apply(jobs[i]);
	ret = rknpu_order_collect(&s) ?: rknpu_order_commit(&s);

	/* A pushed job may be gone at once; the BOs in s.uses with it. */
	for (i = 0; i < count; i++) {
		if (ret)
			rknpu_job_put(jobs[i]);
		else
			rknpu_sched_push(jobs[i]);
	}
	if (!ret)
		dma_fence_end_signalling(s.cookie);

	kvfree(s.locked);
	kvfree(s.uses);
	return ret;
}
