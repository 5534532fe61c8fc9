// SPDX-License-Identifier: GPL-2.0-only
/* Owns the ends: of kicks, of jobs, and of the wait of those that depend on them. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_pc.h"
#include "rknpu_client_types.h"
#include "rknpu_deadline.h"
#include "rknpu_dispatch.h"
#include "rknpu_end.h"
#include "rknpu_job.h"
#include "rknpu_place.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_trace.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

static struct rknpu_job *rknpu_end_successor(struct rknpu_job *job)
{
	struct rknpu_dep *first = list_first_entry_or_null(&job->dependents, struct rknpu_dep,
							   waiter);

	return first ? first->job : NULL;
}

/* Lock held. Is @next to be queued before the fence of @job signals? The core is done with that. */
static bool rknpu_end_may_prequeue(struct rknpu_runqueue *rq, struct rknpu_job *job,
				   struct rknpu_job *next)
{
	/* With one dependency left, that is @job. */
	if (!next || next->state != RKNPU_JOB_WAITING || next->cancelled ||
	    atomic_read(&next->deps_pending) != 1)
		return false;
	/* The core is not idle meanwhile, and @job's client does not lose its turn. */
	if (!list_empty(&job->entity->jobs))
		return false;
	/*
	 * Another core's interrupt could report its end before this core's has
	 * signalled @job's fence, which may be an earlier one of the same context.
	 */
	return rknpu_place_choose(rq->sched, next, rq) == rq;
}

/*
 * Lock held. The core is done with @job, whose fence is about to be signalled.
 * Signalling takes time, in which the core would be idle.
 */
static void rknpu_end_queue_successor(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_job *next = rknpu_end_successor(job);

	if (!rknpu_end_may_prequeue(rq, job, next))
		return;
	if (!rknpu_dispatch_directly(rq, next))
		rknpu_runqueue_add(rq, next);
	rknpu_job_resolve_dep(list_first_entry(&job->dependents, struct rknpu_dep, waiter));
	atomic_set(&next->deps_pending, 0);
	rq->prequeued = next;
}

/* Between two tasks of a job: on with it, unless others are more urgent. */
static void rknpu_end_continue(struct rknpu_runqueue *rq)
{
	if (rq->job->divisible && (rq->frozen || rknpu_runqueue_wants_core(rq))) {
		rknpu_core_stat_add(rq->core, RKNPU_CORE_STAT_YIELDS, 1);
		rknpu_dispatch_put_back(rq);
		rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
		rknpu_dispatch(rq);
		/* What waits here now may run on a core that has nothing to do. */
		rknpu_dispatch_all(rq->sched);
		/* It may have to wait, and be gone before anything else begins here. */
		rknpu_dispatch_idle_locked(rq);
	} else {
		rknpu_dispatch_start_kick(rq);
		rknpu_deadline_begin_kick(rq);
	}
}

/*
 * The core is to be idle for as short as possible. So first what it needs for the next start
 * is done: the controller is made ready, and the job goes on with its next task; or it
 * leaves the core, its successor is queued, and the core takes whatever is next. Time and
 * result of the job, and its fence, come when the core works again.
 */
struct rknpu_job *rknpu_end_kick(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;
	struct rknpu_job *job = rq->job;
	bool whole;

	lockdep_assert_held(&core->hw->lock);
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_TASKS, core->kick.tasks);
	rknpu_pc_finish(core);
	job->result.task += core->kick.tasks;
	trace_rknpu_task_done(job, core->index);
	whole = job->result.task == job->task_count;
	if (!whole && !job->cancelled) {
		rknpu_end_continue(rq);
		return NULL;
	}

	rknpu_dispatch_leave_core(rq);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
	if (whole)
		rknpu_end_queue_successor(rq, job);
	/* What it took decides whose job is next. */
	if (rq->shared || rknpu_share_contended(rq, job))
		rknpu_job_pause(job, ktime_get_ns());
	rknpu_dispatch(rq);
	/* As in rknpu_dispatch_run(): the core has its next job now. */
	rknpu_job_pause(job, rq->state == RKNPU_CORE_RUNNING ? rq->job->start_ns : ktime_get_ns());
	rknpu_place_job_took(job, job->before_ns);
	rknpu_job_leave(job);
	if (whole) {
		rq->ending = true;
		return job;
	}
	rknpu_job_end_cancelled(job);
	rknpu_dispatch_idle_locked(rq);
	return NULL;
}

/* Lock held. Of those that wait for @job, which is over. */
static void rknpu_end_resolve_first(struct rknpu_job *job)
{
	struct rknpu_dep *dep = list_first_entry(&job->dependents, struct rknpu_dep, waiter);

	rknpu_dispatch_dep_resolved(rknpu_job_resolve_dep(dep));
}

/*
 * Lock held. Those that wait for @job are left to the work, which puts it. By users, of whom one
 * may have 65536 jobs wait for one: each has its turn, and theirs have one within that.
 */
static void rknpu_end_leave_dependents(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	struct rknpu_user *user = job->client->user;

	if (user->met) {
		list_add_tail(&job->link, &user->met->link);
	} else {
		user->met = job;
		list_add_tail(&user->met_link, &sched->met);
	}
	queue_work(sched->wq, &sched->work);
}

/* @job's fence has signalled. False: nobody waits for it any more. */
static bool rknpu_end_resolve_dependents(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;

	/* None comes any more, and usually the successor was the only one. */
	if (list_empty_careful(&job->dependents))
		return false;
	guard(spinlock_irqsave)(&sched->hw->lock);
	rknpu_end_resolve_first(job);
	if (list_empty(&job->dependents))
		return false;
	rknpu_end_leave_dependents(job);
	return true;
}

void rknpu_end_job(struct rknpu_job *job, enum rknpu_cause cause)
{
	if (job->gang) {
		/* Those that wait for it to start with them need not any longer. */
		guard(spinlock_irqsave)(&job->client->sched->hw->lock);
		rknpu_dispatch_dissolve_gang(job);
	}
	/* Who sees that it has ended may want what it holds: rknpu_vm_flush() waits for us. */
	rcu_read_lock();
	rknpu_job_end(job, cause);
	if (!rknpu_end_resolve_dependents(job))
		rknpu_job_put(job);
	rcu_read_unlock();
}

void rknpu_end_jobs(struct list_head *jobs, enum rknpu_cause cause)
{
	bool cookie = dma_fence_begin_signalling();
	struct rknpu_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link) {
		list_del_init(&job->link);
		rknpu_end_job(job, cause);
		/* There may be thousands, and each tells all BOs that it writes. */
		cond_resched();
	}
	dma_fence_end_signalling(cookie);
}

/* Lock held. One that waits for a job of @user, whose next one comes then. Returns one to put. */
static struct rknpu_job *rknpu_end_resolve_one(struct rknpu_user *user)
{
	struct rknpu_job *job = user->met, *next = list_next_entry(job, link);

	rknpu_end_resolve_first(job);
	user->met = next;
	list_move_tail(&user->met_link, &user->sched->met);
	if (!list_empty(&job->dependents))
		return NULL;
	list_del_init(&job->link);
	if (next == job) {
		user->met = NULL;
		list_del(&user->met_link);
	}
	return job;
}

/* By users, as in rknpu_end_leave_dependents(): one may have 65536 jobs wait for one fence. */
void rknpu_end_leave_ready(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	struct rknpu_user *user = job->client->user;

	lockdep_assert_held(&sched->hw->lock);
	if (list_empty(&user->ready))
		list_add_tail(&user->ready_link, &sched->ready);
	list_add_tail(&job->link, &user->ready);
	queue_work(sched->wq, &sched->work);
}

void rknpu_end_forget_ready(struct rknpu_job *job)
{
	struct rknpu_user *user = job->client->user;

	lockdep_assert_held(&user->sched->hw->lock);
	list_del_init(&job->link);
	if (list_empty(&user->ready))
		list_del_init(&user->ready_link);
}

/* Lock held. The next job of the user whose turn it is, or NULL. */
static struct rknpu_job *rknpu_end_take_ready(struct rknpu_sched *sched)
{
	struct rknpu_user *user = list_first_entry_or_null(&sched->ready, struct rknpu_user,
							   ready_link);
	struct rknpu_job *job;

	if (!user)
		return NULL;
	list_move_tail(&user->ready_link, &sched->ready);
	job = list_first_entry(&user->ready, struct rknpu_job, link);
	rknpu_end_forget_ready(job);
	return job;
}

/*
 * Lock held. False: there is nothing to do. One of each, so that whoever has 65536 jobs wait
 * for one does not keep jobs of others from being queued. @over: see rknpu_end_resolve_one().
 */
static bool rknpu_end_work_step(struct rknpu_sched *sched, struct rknpu_job **over)
{
	struct rknpu_user *user = list_first_entry_or_null(&sched->met, struct rknpu_user,
							   met_link);
	struct rknpu_job *job;

	*over = user ? rknpu_end_resolve_one(user) : NULL;
	job = rknpu_end_take_ready(sched);
	if (!job)
		return user;
	rknpu_dispatch_ready(job);
	return true;
}

/* False: that was all. Jobs that are to be ended go to @ending. */
static bool rknpu_end_work_once(struct rknpu_sched *sched, struct list_head *ending)
{
	struct rknpu_job *over;
	bool again;

	/* What waited for @over may end before that is put: as in rknpu_end_job(). */
	rcu_read_lock();
	scoped_guard(spinlock_irq, &sched->hw->lock) {
		again = rknpu_end_work_step(sched, &over);
		list_splice_tail_init(&sched->ending, ending);
	}
	if (over)
		rknpu_job_put(over);
	rcu_read_unlock();
	return again || !list_empty(ending);
}

void rknpu_end_work(struct work_struct *work)
{
	struct rknpu_sched *sched = container_of(work, struct rknpu_sched, work);
	bool cookie = dma_fence_begin_signalling();
	struct rknpu_job *job, *next;
	LIST_HEAD(ending);

	while (rknpu_end_work_once(sched, &ending)) {
		list_for_each_entry_safe(job, next, &ending, link) {
			list_del_init(&job->link);
			rknpu_end_job(job, job->result.cause);
		}
		cond_resched();
	}
	dma_fence_end_signalling(cookie);
}

/* Lock held. What it waited for has signalled. A core that has taken it ends it itself. */
static void rknpu_end_prequeued(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->drop_prequeued ? rq->prequeued : NULL;

	rq->prequeued = NULL;
	rq->drop_prequeued = false;
	if (!job || job->state != RKNPU_JOB_QUEUED)
		return;
	rknpu_runqueue_remove(job);
	rknpu_job_leave(job);
	rknpu_job_end_cancelled(job);
	rknpu_dispatch_left(rq->sched);
}

void rknpu_end_over(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_end_job(job, RKNPU_CAUSE_DONE);

	guard(spinlock_irqsave)(&rq->sched->hw->lock);
	rknpu_end_prequeued(rq);
	rq->ending = false;
	/*
	 * Only now, because a job that waited for this one may have started: that
	 * saves taking the interrupt down and power references up again.
	 */
	rknpu_dispatch_idle_locked(rq);
}
