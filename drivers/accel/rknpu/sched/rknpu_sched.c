// SPDX-License-Identifier: GPL-2.0-only
/* Owns the scheduler's outside: how busy cores are, pushing jobs, cancelling them. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "mem/rknpu_vm.h"
#include "rknpu_client.h"
#include "rknpu_client_types.h"
#include "rknpu_deadline.h"
#include "rknpu_dispatch.h"
#include "rknpu_end.h"
#include "rknpu_job.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched.h"
#include "rknpu_sched_types.h"
#include "rknpu_sched_trace.h"

/**
 * DOC: the scheduler
 *
 * Both uAPIs make jobs (struct rknpu_job) of lists of tasks; a task is one
 * register program. A job runs on one core from its first task to its last,
 * unless it is divisible. Nothing here knows which uAPI a job came from.
 *
 * The way in. rknpu_order_jobs() orders jobs by the BOs they list, publishes
 * their fences there, and calls rknpu_sched_push(). A job waits for its
 * dependencies, one callback per fence. When the last one signals, it joins the
 * run queue of the core that has least to do: rknpu_place_choose() and
 * rknpu_runqueue_add(). Each core has a run queue. In it, jobs of one client and
 * priority form an entity, and entities of one user and priority a group. Users are
 * chosen by the core time that they have had, see "shares"; entities of a group take
 * time slices, and those of clients that use little are boosted.
 *
 * The start. rknpu_dispatch() asks rknpu_dispatch_find() for the next job
 * of an idle core. If the core is powered and has the job's domain attached,
 * rknpu_dispatch_start() fills struct rknpu_kick and rknpu_pc_start() writes the
 * registers, in whatever context this is. Otherwise the core is STARTING, and
 * its work (rknpu_recover.c) powers it up and attaches the domain first. Jobs of
 * a gang wait on their cores, STARTING, until the last one is ready; see struct
 * rknpu_gang.
 *
 * The way out. rknpu_irq_handler() reads what interrupts. If the task is over,
 * the next task of the job starts, or the job leaves the core and the next one
 * starts, both from the hard interrupt handler; so the gap between two jobs is
 * a few register accesses. The job's successor, the first job that waits for its
 * fence, is queued before that fence signals, for the same reason. Then
 * rknpu_job_end() records the result and signals the fence. The other jobs that
 * wait for it, of which there may be thousands, are left to rknpu_sched::work.
 *
 * A core without interrupts is polled: the timer of hw/rknpu_poll.c, or who waits for
 * the job (rknpu_spin_until()), calls rknpu_irq_poll(), which goes on as the interrupt
 * handler does.
 *
 * Deadlines. A watchdog per core (rknpu_watchdog_work()) looks at a kick once soon,
 * whether it has started at all, and when the running task is late. Errors, page faults and
 * late tasks make the core RECOVERING: its work finds out what happened, ends the
 * job, resets the core, and runs the innocent again. See "states of a core" and
 * "states of a job".
 *
 * Locks. All of this is under rknpu_hw::lock, which is taken inside fence locks:
 * fences are signalled without it, and it is held for one job at a time, or one kick.
 * Nothing is allocated between a job's push and its end.
 */

u32 rknpu_sched_cores_alive(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;
	u32 mask = 0;

	guard(spinlock_irq)(&sched->hw->lock);
	rknpu_for_each_rq(rq, sched) {
		if (rknpu_runqueue_in_service(rq))
			mask |= BIT(rq->core->index);
	}
	return mask;
}

int rknpu_sched_core_version(struct rknpu_sched *sched, unsigned int index, u32 *version)
{
	struct rknpu_runqueue *rq = &sched->rqs[index];

	guard(spinlock_irq)(&sched->hw->lock);
	if (rq->state == RKNPU_CORE_ABSENT)
		return -ENODEV;
	*version = rq->core->version;
	return 0;
}

unsigned int rknpu_sched_quietest_core(struct rknpu_sched *sched, u32 mask)
{
	unsigned int load, least = UINT_MAX, best = ffs(mask) - 1;
	struct rknpu_runqueue *rq;

	guard(spinlock_irq)(&sched->hw->lock);
	rknpu_for_each_rq(rq, sched) {
		if (!(mask & BIT(rq->core->index)) || !rknpu_runqueue_in_service(rq))
			continue;
		load = rknpu_runqueue_load(rq);
		if (load < least) {
			least = load;
			best = rq->core->index;
		}
	}
	return best;
}

static u64 rknpu_sched_running_ns(struct rknpu_runqueue *rq, u64 second)
{
	if (!rq->job || !rq->job->start_ns)
		return 0;
	return rknpu_load_overlap(rq->job->start_ns, U64_MAX, second);
}

unsigned int rknpu_sched_busy_percent(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);
	u64 now = div_u64(ktime_get_ns(), NSEC_PER_SEC);
	u64 busy = 0;

	if (!now)
		return 0;
	scoped_guard(spinlock_irqsave, &rq->sched->hw->lock)
		busy = rknpu_load_finished(&rq->load, now - 1) +
		       rknpu_sched_running_ns(rq, now - 1);
	return min_t(u64, div_u64(busy, NSEC_PER_SEC / 100), 100);
}

u64 rknpu_sched_busy_ns(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = to_rknpu_runqueue(core);
	u64 busy;

	guard(spinlock_irqsave)(&rq->sched->hw->lock);
	busy = rq->load.total;
	if (rq->job && rq->job->start_ns)
		busy += ktime_get_ns() - rq->job->start_ns;
	return busy;
}

void rknpu_sched_rate_changes(struct rknpu_hw *hw)
{
	struct rknpu_core *core;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&hw->lock);
	rknpu_for_each_core(core, hw) {
		struct rknpu_runqueue *rq = to_rknpu_runqueue(core);

		if (rq->job)
			rknpu_client_count_time(rq->job, now);
	}
}

/* Makes a pushed job known, so that it can be cancelled. */
static void rknpu_sched_admit(struct rknpu_job *job)
{
	guard(spinlock_irqsave)(&job->client->sched->hw->lock);
	rknpu_job_set_state(job, RKNPU_JOB_WAITING);
	/* The ban may have come since the job was allocated. */
	job->cancelled = job->client->banned;
	list_add_tail(&job->client_link, &job->client->jobs);
	job->jobs_pending++;
}

/* Any context, with the lock of @fence held, and perhaps one of thousands of callbacks. */
static void rknpu_sched_dep_signaled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct rknpu_job *job = container_of(cb, struct rknpu_dep, cb)->job;
	struct rknpu_sched *sched = job->client->sched;

	if (!atomic_dec_and_test(&job->deps_pending))
		return;
	guard(spinlock_irqsave)(&sched->hw->lock);
	/* Otherwise the device went away meanwhile. */
	if (job->state != RKNPU_JOB_WAITING)
		return;
	rknpu_end_leave_ready(job);
}

static void rknpu_sched_wait_for_dep(struct rknpu_job *job, struct rknpu_dep *dep)
{
	atomic_inc(&job->deps_pending);
	if (rknpu_fence_is_job(dep->fence) && rknpu_fence_add_dependent(dep))
		return;
	/* The last one is the push's own, so this is not. */
	if (dma_fence_add_callback(dep->fence, &dep->cb, rknpu_sched_dep_signaled))
		atomic_dec(&job->deps_pending);
}

void rknpu_sched_push(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	struct rknpu_dep *dep;

	/* It can be gone as soon as it waits for nothing. */
	rknpu_job_get(job);
	trace_rknpu_job_submit(job);
	rknpu_sched_admit(job);
	list_for_each_entry(dep, &job->deps, link)
		rknpu_sched_wait_for_dep(job, dep);

	scoped_guard(spinlock_irqsave, &sched->hw->lock) {
		job->jobs_pending--;
		rknpu_dispatch_dep_resolved(job);
	}
	rknpu_job_put(job);
}

/* Lock held. The job is in no core's hands. */
static void rknpu_sched_take_job(struct rknpu_job *job, struct list_head *taken)
{
	if (job->state == RKNPU_JOB_QUEUED)
		rknpu_runqueue_remove(job);
	rknpu_job_leave(job);
	rknpu_end_forget_ready(job);
	list_add_tail(&job->link, taken);
}

/* Lock held. What it waited for has perhaps not signalled: it ends in rknpu_end_over(). */
static bool rknpu_sched_is_prequeued(const struct rknpu_job *job)
{
	return job->state == RKNPU_JOB_QUEUED && job->rq->prequeued == job;
}

/* Lock held. Once is enough: cancelled again it gets no more time. */
static void rknpu_sched_cancel_job(struct rknpu_job *job, struct list_head *taken)
{
	/* Fences of one context signal in order: others end in rknpu_dispatch_dep_resolved(). */
	if (job->client->sched->gone) {
		if (job->state != RKNPU_JOB_ON_CORE && !job->jobs_pending &&
		    !rknpu_sched_is_prequeued(job))
			rknpu_sched_take_job(job, taken);
		return;
	}
	if (job->cancelled)
		return;
	job->cancelled = true;
	if (rknpu_sched_is_prequeued(job))
		job->rq->drop_prequeued = true;
	else if (job->state == RKNPU_JOB_QUEUED)
		rknpu_sched_take_job(job, taken);
	else if (job->state == RKNPU_JOB_ON_CORE)
		rknpu_deadline_expedite(&job->client->sched->rqs[job->result.core]);
}

/* Lock held. False: there was none left. */
static bool rknpu_sched_visit_next(struct rknpu_client *client, struct list_head *taken)
{
	struct rknpu_job *job = list_first_entry_or_null(&client->visit, struct rknpu_job,
							 client_link);

	if (!job)
		return false;
	list_move_tail(&job->client_link, &client->jobs);
	rknpu_sched_cancel_job(job, taken);
	return true;
}

static bool rknpu_sched_cancel_next(struct rknpu_client *client, struct list_head *taken)
{
	guard(spinlock_irq)(&client->sched->hw->lock);
	return rknpu_sched_visit_next(client, taken);
}

/*
 * Visits the next job of the first client that has not been visited in @round. False: all
 * have been.
 */
static bool rknpu_sched_take_next(struct rknpu_sched *sched, u64 round, struct list_head *taken)
{
	struct rknpu_client *client;

	guard(spinlock_irq)(&sched->hw->lock);
	client = list_first_entry_or_null(&sched->clients, struct rknpu_client, link);
	/* Those that have been visited, and those that are new, come behind. */
	if (!client || client->round == round)
		return false;
	if (!client->visiting) {
		client->visiting = true;
		list_splice_tail_init(&client->jobs, &client->visit);
	}
	if (rknpu_sched_visit_next(client, taken))
		return true;
	client->visiting = false;
	client->round = round;
	list_move_tail(&client->link, &sched->clients);
	return true;
}

void rknpu_sched_take_all(struct rknpu_sched *sched, struct list_head *taken)
{
	u64 round;

	scoped_guard(spinlock_irq, &sched->hw->lock) {
		/* Who closes a file meanwhile takes its jobs, too: rknpu_sched_cancel_job(). */
		sched->gone = true;
		round = ++sched->rounds;
	}
	while (rknpu_sched_take_next(sched, round, taken))
		cond_resched();
}

void rknpu_sched_cancel_jobs(struct rknpu_client *client)
{
	bool cookie = dma_fence_begin_signalling();
	LIST_HEAD(cancelled);

	/* If another thread is at it, each does a part of the other's. */
	scoped_guard(spinlock_irq, &client->sched->hw->lock)
		list_splice_tail_init(&client->jobs, &client->visit);
	while (rknpu_sched_cancel_next(client, &cancelled))
		cond_resched();
	scoped_guard(spinlock_irq, &client->sched->hw->lock)
		rknpu_dispatch_left(client->sched);

	/* Not before: the others must not take an end for one that they waited for. */
	rknpu_end_jobs(&cancelled, READ_ONCE(client->banned) ? RKNPU_CAUSE_BANNED :
							       RKNPU_CAUSE_CANCELLED);
	dma_fence_end_signalling(cookie);
}

void rknpu_sched_close_client(struct rknpu_client *client)
{
	rknpu_sched_cancel_jobs(client);
	/* Jobs that came after rknpu_sched_stop(): the module may go as soon as the file has. */
	if (READ_ONCE(client->sched->gone))
		flush_work(&client->sched->work);
	rknpu_account_uncharge_tables(&client->account, client->file_pages);
	rknpu_vm_reap_soon(&client->user->quota);
	rknpu_client_put(client);
}
