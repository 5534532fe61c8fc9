// SPDX-License-Identifier: GPL-2.0-only
/* Owns the order of jobs that use the same BOs: dependencies, and fences in reservations. */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/ww_mutex.h>

#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "mem/rknpu_bo.h"
#include "rknpu_client_types.h"
#include "rknpu_job.h"
#include "rknpu_job_types.h"
#include "rknpu_limits.h"
#include "rknpu_order.h"
#include "rknpu_sched.h"
#include "rknpu_sched_types.h"

/* How many uses of BOs a submit may have without an allocation for them. */
#define RKNPU_ORDER_FEW		8

#define RKNPU_ORDER_NONE	U32_MAX

/* Steps along lists of fences that a call may take: about a second. Few uses take fewer. */
#define RKNPU_ORDER_MAX_STEPS	BIT_ULL(26)
#define RKNPU_ORDER_FEW_USES	512
/* What a step counts where each fence's job is asked what it uses (estimated). */
#define RKNPU_ORDER_SHARED	64

/**
 * struct rknpu_order_use - one job's use of one reservation object
 */
struct rknpu_order_use {
	/** @job: index of the job */
	u32 job;
	/** @next: the next use of the same one, by a later job; or RKNPU_ORDER_NONE */
	u32 next;
	/** @write: the job writes */
	bool write;
	/** @replaced: see rknpu_order_is_replaced() */
	bool replaced;
};

/**
 * struct rknpu_order_resv - one reservation object
 */
struct rknpu_order_resv {
	/** @first: first use; RKNPU_ORDER_NONE while it is being added */
	u32 first;
	/** @last: last use */
	u32 last;
	/** @next: the next one with the same hash, or RKNPU_ORDER_NONE */
	u32 next;
};

/**
 * struct rknpu_order - jobs on their way
 */
struct rknpu_order {
	/** @jobs: in submission order */
	struct rknpu_job **jobs;
	/** @job_count: number of @jobs */
	u32 job_count;
	/** @locked: a BO of each reservation object */
	struct drm_gem_object **locked;
	/** @resvs: by index of @locked */
	struct rknpu_order_resv *resvs;
	/** @lock_count: number of @locked and of @resvs */
	u32 lock_count;
	/** @uses: in job order */
	struct rknpu_order_use *uses;
	/** @use_count: number of @uses */
	u32 use_count;
	/** @heads: by hash: the last one of @resvs, or RKNPU_ORDER_NONE; NULL if they are few */
	u32 *heads;
	/** @hash_bits: log2 of the size of @heads */
	unsigned int hash_bits;
	/** @acquire: ww ticket */
	struct ww_acquire_ctx acquire;
	/** @cookie: of dma_fence_begin_signalling(), once fences are published */
	bool cookie;
};

/**
 * struct rknpu_order_few - memory of the arrays of a short struct rknpu_order
 */
struct rknpu_order_few {
	/** @locked: of rknpu_order::locked, and so on */
	struct drm_gem_object *locked[RKNPU_ORDER_FEW];
	/** @resvs: of rknpu_order::resvs */
	struct rknpu_order_resv resvs[RKNPU_ORDER_FEW];
	/** @uses: of rknpu_order::uses */
	struct rknpu_order_use uses[RKNPU_ORDER_FEW];
};

static int rknpu_order_alloc_many(struct rknpu_order *s, size_t total)
{
	size_t heads = roundup_pow_of_two(total);

	/* One allocation, by falling alignment. */
	s->locked = kvmalloc(total * (sizeof(*s->locked) + sizeof(*s->resvs) + sizeof(*s->uses)) +
			     heads * sizeof(*s->heads), GFP_KERNEL_ACCOUNT);
	if (!s->locked)
		return -ENOMEM;
	s->resvs = (void *)(s->locked + total);
	s->uses = (void *)(s->resvs + total);
	s->heads = (void *)(s->uses + total);
	s->hash_bits = ilog2(heads);
	memset32(s->heads, RKNPU_ORDER_NONE, heads);
	return 0;
}

static int rknpu_order_alloc(struct rknpu_order *s, struct rknpu_order_few *few)
{
	size_t total = 0;
	u32 i;

	for (i = 0; i < s->job_count; i++)
		total += s->jobs[i]->bo_count;
	if (total > RKNPU_ORDER_FEW)
		return rknpu_order_alloc_many(s, total);
	s->locked = few->locked;
	s->resvs = few->resvs;
	s->uses = few->uses;
	return 0;
}

static struct dma_resv *rknpu_order_resv(const struct rknpu_order *s, u32 i)
{
	return s->locked[i]->resv;
}

/* Of those with the same hash; if there is no hash, of all. */
static u32 rknpu_order_newest_resv(const struct rknpu_order *s, const struct dma_resv *resv)
{
	if (s->heads)
		return s->heads[hash_ptr(resv, s->hash_bits)];
	/* One less than 0 is RKNPU_ORDER_NONE. */
	return s->lock_count - 1;
}

static struct rknpu_order_resv *rknpu_order_find_resv(struct rknpu_order *s,
						      struct drm_gem_object *obj)
{
	u32 newest = rknpu_order_newest_resv(s, obj->resv);
	struct rknpu_order_resv *resv;
	u32 i;

	for (i = newest; i != RKNPU_ORDER_NONE; i = s->resvs[i].next) {
		if (rknpu_order_resv(s, i) == obj->resv)
			return &s->resvs[i];
	}
	s->locked[s->lock_count] = obj;
	resv = &s->resvs[s->lock_count];
	resv->first = RKNPU_ORDER_NONE;
	resv->next = newest;
	if (s->heads)
		s->heads[hash_ptr(obj->resv, s->hash_bits)] = s->lock_count;
	s->lock_count++;
	return resv;
}

static void rknpu_order_add_use(struct rknpu_order *s, u32 job, struct drm_gem_object *obj,
				bool write)
{
	struct rknpu_order_resv *resv = rknpu_order_find_resv(s, obj);
	struct rknpu_order_use *use;

	/* Two imported BOs of one job can have one reservation object. */
	if (resv->first != RKNPU_ORDER_NONE && s->uses[resv->last].job == job) {
		s->uses[resv->last].write |= write;
		return;
	}
	if (resv->first == RKNPU_ORDER_NONE)
		resv->first = s->use_count;
	else
		s->uses[resv->last].next = s->use_count;
	resv->last = s->use_count;
	use = &s->uses[s->use_count++];
	use->job = job;
	use->next = RKNPU_ORDER_NONE;
	use->write = write;
}

static void rknpu_order_collect(struct rknpu_order *s)
{
	u32 i, j;

	for (i = 0; i < s->job_count; i++) {
		struct rknpu_job *job = s->jobs[i];

		for (j = 0; j < job->bo_count; j++)
			rknpu_order_add_use(s, i, &job->bos[j]->base, j < job->write_count);
	}
}

static struct dma_fence *rknpu_order_fence(struct rknpu_order *s, u32 use)
{
	return rknpu_job_fence(s->jobs[s->uses[use].job]);
}

/**
 * struct rknpu_order_before - what of earlier submits uses a reservation object
 */
struct rknpu_order_before {
	/** @written: somebody writes */
	bool written;
	/** @newest: when the last of the jobs was published that do and have not signalled; or 0 */
	u64 newest;
	/**
	 * @shared: by DMA_BUF_IOCTL_IMPORT_SYNC_FILE fences of other jobs may be there, and
	 * those of readers as if they wrote
	 */
	bool shared;
};

/*
 * Is it there because its job uses it, or if @write, writes it? Those that write have waited for
 * all of these, in order of seqno; those that read have not waited for each other.
 */
static bool rknpu_order_is_user(struct dma_fence *fence, const struct dma_resv *resv, bool write,
				const struct rknpu_order_before *before)
{
	return rknpu_fence_is_job(fence) &&
	       (!before->shared || rknpu_fence_uses(fence, resv, write));
}

static void rknpu_order_find_writers(struct drm_gem_object *obj, struct rknpu_order_before *before)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	before->written = false;
	before->newest = 0;
	before->shared = READ_ONCE(to_rknpu_bo(obj)->shared);
	dma_resv_for_each_fence(&cursor, obj->resv, DMA_RESV_USAGE_WRITE, fence) {
		before->written = true;
		if (rknpu_order_is_user(fence, obj->resv, true, before))
			before->newest = max(before->newest, fence->seqno);
	}
}

/*
 * A reader waits for writers, a writer for everybody. The newest writer among
 * jobs itself waits for all jobs published before it: who waits for it too
 * need not wait for those, else each of many jobs that write one BO would wait
 * for every other one.
 */
static int rknpu_order_wait_for_resv(struct rknpu_job *job, struct dma_resv *resv, bool write,
				     const struct rknpu_order_before *before)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	if (!write && !before->written)
		return 0;
	dma_resv_for_each_fence(&cursor, resv, dma_resv_usage_rw(write), fence) {
		if (before->newest > fence->seqno &&
		    rknpu_order_is_user(fence, resv, false, before))
			continue;
		ret = rknpu_job_add_dep(job, fence);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * What came before this submit is waited for directly only up to its first
 * writer; whoever comes later waits for that writer, or for the readers after it.
 */
static int rknpu_order_by_resv(struct rknpu_order *s, u32 index)
{
	struct dma_resv *resv = rknpu_order_resv(s, index);
	u32 writer = RKNPU_ORDER_NONE;		/* last writer so far */
	u32 since = s->resvs[index].first;	/* first reader after it */
	struct rknpu_order_before before;
	u32 i, j;
	int ret = 0;

	rknpu_order_find_writers(s->locked[index], &before);
	for (i = since; i != RKNPU_ORDER_NONE && !ret; i = s->uses[i].next) {
		struct rknpu_order_use *use = &s->uses[i];
		struct rknpu_job *job = s->jobs[use->job];

		/* Many jobs may read what many have read before. */
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		if (writer == RKNPU_ORDER_NONE)
			ret = rknpu_order_wait_for_resv(job, resv, use->write, &before);
		else if (!use->write || since == i)
			ret = rknpu_job_add_dep(job, rknpu_order_fence(s, writer));

		if (!use->write)
			continue;
		for (j = since; j != i && !ret; j = s->uses[j].next)
			ret = rknpu_job_add_dep(job, rknpu_order_fence(s, j));
		writer = i;
		since = use->next;
	}
	return ret;
}

/*
 * Of fences that go on in one context lists keep the last one. If that is the
 * next use's, and says as much as this one, this one need not be added at first.
 */
static bool rknpu_order_is_replaced(struct rknpu_order *s, const struct rknpu_order_use *use)
{
	const struct rknpu_order_use *next;

	if (use->next == RKNPU_ORDER_NONE)
		return false;
	next = &s->uses[use->next];
	return next->write >= use->write &&
	       rknpu_job_fence(s->jobs[next->job])->context ==
	       rknpu_job_fence(s->jobs[use->job])->context;
}

static unsigned int rknpu_order_count_fences(struct rknpu_order *s, u32 resv)
{
	struct rknpu_order_use *use;
	unsigned int count = 0;
	u32 i;

	for (i = s->resvs[resv].first; i != RKNPU_ORDER_NONE; i = use->next) {
		use = &s->uses[i];
		use->replaced = rknpu_order_is_replaced(s, use);
		count += !use->replaced;
	}
	return count;
}

static u64 rknpu_order_count_steps(struct rknpu_order *s, u32 resv)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	u64 uses = 0, listed = 0;
	u32 i;

	for (i = s->resvs[resv].first; i != RKNPU_ORDER_NONE; i = s->uses[i].next)
		uses++;
	/* The place of one that has signalled is taken by the next one that is added. */
	dma_resv_for_each_fence(&cursor, rknpu_order_resv(s, resv), DMA_RESV_USAGE_BOOKKEEP, fence)
		listed += !dma_fence_is_signaled(fence);
	if (READ_ONCE(to_rknpu_bo(s->locked[resv])->shared))
		listed *= RKNPU_ORDER_SHARED;
	return uses * (uses / 2 + listed);
}

/* For each use a list is walked as long as there are users. Others wait for the lock meanwhile. */
static int rknpu_order_check_steps(struct rknpu_order *s)
{
	u64 steps = 0;
	u32 i;

	if (s->use_count < RKNPU_ORDER_FEW_USES / RKNPU_ORDER_SHARED)
		return 0;
	for (i = 0; i < s->lock_count; i++) {
		steps += rknpu_order_count_steps(s, i);
		cond_resched();
	}
	if (steps <= RKNPU_ORDER_MAX_STEPS)
		return 0;
	atomic_inc(&s->jobs[0]->client->refused);
	drm_dbg_ratelimited(s->jobs[0]->client->sched->hw->drm,
			    "submit: too many jobs use too many BOs that too many use already\n");
	return -EBUSY;
}

/* The last steps that can fail, with the reservation objects locked. */
static int rknpu_order_by_resvs(struct rknpu_order *s)
{
	int ret = rknpu_order_check_steps(s);
	u32 i;

	for (i = 0; i < s->lock_count && !ret; i++)
		ret = rknpu_order_by_resv(s, i);
	/* Only now that all know what they wait for their contexts do not change any more. */
	for (i = 0; i < s->lock_count && !ret; i++)
		ret = dma_resv_reserve_fences(rknpu_order_resv(s, i),
					      rknpu_order_count_fences(s, i));
	return ret;
}

static void rknpu_order_publish_resv(struct rknpu_order *s, u32 resv)
{
	const struct rknpu_order_use *use;
	u32 i;

	for (i = s->resvs[resv].first; i != RKNPU_ORDER_NONE; i = use->next) {
		use = &s->uses[i];
		if (!use->replaced)
			dma_resv_add_fence(rknpu_order_resv(s, resv), rknpu_order_fence(s, i),
					   use->write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
		cond_resched();
	}
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

	for (i = 0; i < s->lock_count; i++)
		rknpu_order_publish_resv(s, i);
}

/* Jobs that ended meanwhile could not, and none may come after them. */
static void rknpu_order_tidy_all(struct rknpu_order *s)
{
	u32 i;

	for (i = 0; i < s->lock_count; i++)
		rknpu_bo_tidy_fences(to_rknpu_bo(s->locked[i]));
}

static int rknpu_order_commit(struct rknpu_order *s)
{
	int ret = drm_gem_lock_reservations(s->locked, s->lock_count, &s->acquire);

	if (ret)
		return ret;

	ret = rknpu_order_by_resvs(s);
	if (!ret)
		rknpu_order_publish(s);
	else
		rknpu_order_tidy_all(s);

	drm_gem_unlock_reservations(s->locked, s->lock_count, &s->acquire);
	return ret;
}

int rknpu_order_jobs(struct rknpu_job **jobs, u32 count)
{
	struct rknpu_order s = { .jobs = jobs, .job_count = count };
	struct rknpu_order_few few __uninitialized;
	u32 i;
	int ret;

	for (i = 0; i < count; i++)
		rknpu_limits_apply(jobs[i]);
	ret = rknpu_order_alloc(&s, &few);
	if (!ret) {
		rknpu_order_collect(&s);
		ret = rknpu_order_commit(&s);
	}

	/* A pushed job may be gone at once; the BOs in s.locked with it. */
	for (i = 0; i < count && ret; i++)
		rknpu_job_put(jobs[i]);
	for (i = 0; i < count && !ret; i++)
		rknpu_sched_push(jobs[i]);
	if (!ret)
		dma_fence_end_signalling(s.cookie);

	if (s.locked != few.locked)
		kvfree(s.locked);
	return ret;
}
