// SPDX-License-Identifier: GPL-2.0-only
/* Owns jobs that wait for fences: how they are told, and the work that tells many of them. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "rknpu_deps.h"
#include "rknpu_sched.h"

struct rknpu_job *rknpu_deps_successor(struct rknpu_job *job)
{
	struct rknpu_dep *first = list_first_entry_or_null(&job->dependents, struct rknpu_dep,
							   waiter);

	return first ? first->job : NULL;
}

/* Lock held. @dep no longer stands for a job that is not over. */
static struct rknpu_job *rknpu_deps_take(struct rknpu_dep *dep)
{
	list_del_init(&dep->waiter);
	dep->job->jobs_pending--;
	return dep->job;
}

void rknpu_deps_meet_early(struct rknpu_job *job)
{
	struct rknpu_dep *first = list_first_entry(&job->dependents, struct rknpu_dep, waiter);

	atomic_set(&rknpu_deps_take(first)->deps_pending, 0);
}

/* Lock held. What @dep waits for is over. */
static void rknpu_deps_meet(struct rknpu_dep *dep)
{
	struct rknpu_job *job = rknpu_deps_take(dep);

	if (atomic_dec_and_test(&job->deps_pending))
		rknpu_sched_ready(job);
}

void rknpu_deps_meet_all(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;

	/* None comes any more, and usually the successor was the only one. */
	if (list_empty_careful(&job->dependents))
		return;
	guard(spinlock_irqsave)(&sched->hw->lock);
	if (!list_empty(&job->dependents))
		rknpu_deps_meet(list_first_entry(&job->dependents, struct rknpu_dep, waiter));
	if (list_empty(&job->dependents))
		return;
	list_splice_tail_init(&job->dependents, &sched->met);
	queue_work(sched->wq, &sched->work);
}

/* Any context, with the lock of @fence held, and perhaps one of thousands of callbacks. */
static void rknpu_deps_signaled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct rknpu_job *job = container_of(cb, struct rknpu_dep, cb)->job;
	struct rknpu_sched *sched = job->client->sched;

	if (!atomic_dec_and_test(&job->deps_pending))
		return;
	guard(spinlock_irqsave)(&sched->hw->lock);
	/* Otherwise the device went away meanwhile. */
	if (job->state != RKNPU_JOB_WAITING)
		return;
	list_add_tail(&job->link, &sched->ready);
	queue_work(sched->wq, &sched->work);
}

void rknpu_deps_wait(struct rknpu_job *job, struct rknpu_dep *dep)
{
	atomic_inc(&job->deps_pending);
	if (rknpu_fence_is_job(dep->fence) && rknpu_fence_add_dependent(dep))
		return;
	/* The last one is the push's own, so this is not. */
	if (dma_fence_add_callback(dep->fence, &dep->cb, rknpu_deps_signaled))
		atomic_dec(&job->deps_pending);
}

/* Lock held. False: there is nothing to do. */
static bool rknpu_deps_work_step(struct rknpu_sched *sched)
{
	struct rknpu_job *job;

	if (!list_empty(&sched->met)) {
		rknpu_deps_meet(list_first_entry(&sched->met, struct rknpu_dep, waiter));
		return true;
	}
	job = list_first_entry_or_null(&sched->ready, struct rknpu_job, link);
	if (!job)
		return false;
	list_del_init(&job->link);
	rknpu_sched_ready(job);
	return true;
}

/* False: that was all. Jobs that are to be ended go to @ending. */
static bool rknpu_deps_work_batch(struct rknpu_sched *sched, struct list_head *ending)
{
	unsigned int i;

	guard(spinlock_irq)(&sched->hw->lock);
	for (i = 0; i < RKNPU_SCHED_BATCH && rknpu_deps_work_step(sched); i++)
		;
	list_splice_tail_init(&sched->ending, ending);
	return i || !list_empty(ending);
}

void rknpu_deps_work(struct work_struct *work)
{
	struct rknpu_sched *sched = container_of(work, struct rknpu_sched, work);
	bool cookie = dma_fence_begin_signalling();
	struct rknpu_job *job, *next;
	LIST_HEAD(ending);

	while (rknpu_deps_work_batch(sched, &ending)) {
		list_for_each_entry_safe(job, next, &ending, link) {
			list_del_init(&job->link);
			rknpu_sched_end_job(job, job->result.cause);
		}
		cond_resched();
	}
	dma_fence_end_signalling(cookie);
}
