// SPDX-License-Identifier: GPL-2.0-only
/* Owns starting: what an idle core runs next, how a kick begins, and taking jobs off cores. */
#include <linux/cleanup.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pm_runtime.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_devfreq.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_poll.h"
#include "hw/rknpu_regs.h"
#include "hw/rknpu_scrub.h"
#include "rknpu_anticipate.h"
#include "rknpu_client_types.h"
#include "rknpu_deadline.h"
#include "rknpu_dispatch.h"
#include "rknpu_gang.h"
#include "rknpu_job.h"
#include "rknpu_limits.h"
#include "rknpu_place.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_trace.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_shared.h"
#include "rknpu_slice.h"

/* Lock held. Idle cores that are still powered need nobody to wake up to start a job. */
static bool rknpu_dispatch_hold_active(struct rknpu_runqueue *rq)
{
	if (!rq->pm_held)
		rq->pm_held = pm_runtime_get_if_active(rq->core->dev) > 0;
	return rq->pm_held;
}

void rknpu_dispatch_start_kick(struct rknpu_runqueue *rq)
{
	const struct rknpu_job *job = rq->job;
	const struct rknpu_task *task = rknpu_job_task(job, job->result.task);
	struct rknpu_core *core = rq->core;
	struct rknpu_kick kick = {
		.regcmd = task->regcmd,
		.regcmd_count = task->regcmd_count,
		/* A chain longer than the counter is wide takes several kicks. */
		.tasks = min(job->task_count - job->result.task, job->kick_tasks),
		.int_mask = task->int_mask,
		.dma_base = job->dma_base,
		.no_pingpong = job->no_pingpong,
		.own_pointer = job->own_pointer,
	};

	rknpu_pc_start(core, &kick);
	if (core->polled)
		rknpu_poll_start(core);
	else
		rq->irq_pending = true;
}

void rknpu_dispatch_go_on(struct rknpu_runqueue *rq)
{
	lockdep_assert_held(&rq->sched->hw->lock);
	if (rq->core->polled)
		rknpu_poll_start(rq->core);
	else
		rknpu_pc_unmask(rq->core);
	/* Not longer: rknpu_deadline_set() relies on it, and the deadline may be over. */
	rknpu_deadline_check_in(rq, rq->watch.check_delay);
}

/*
 * Who keeps a core waiting for the rest of a gang pays. Behind a shared IOMMU the rest comes as
 * soon as its address space is attached, and that is paid for.
 */
static void rknpu_dispatch_end_wait(struct rknpu_runqueue *rq)
{
	if (rq->gang_since_ns && !rq->shared)
		rknpu_user_charge(rq->job->client->user, rq->core->index,
				  ktime_get_ns() - rq->gang_since_ns);
	rq->gang_since_ns = 0;
}

static void rknpu_dispatch_run(struct rknpu_runqueue *rq)
{
	rknpu_dispatch_end_wait(rq);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_RUNNING);
	rq->fault.cause = RKNPU_CAUSE_NONE;
	rknpu_scrub_mark(rq->core, &rq->job->vm->domain);
	rknpu_dispatch_start_kick(rq);
	/* What else there is to do is done while the core works. */
	rq->job->try_ns = ktime_get_ns();
	rq->job->start_ns = rq->job->try_ns;
	if (rq->shared)
		rknpu_shared_starts(rq);
	rknpu_devfreq_job_starts(rq->core->hw);
	trace_rknpu_job_start(rq->job, rq->core->index);
	rknpu_deadline_set(rq, rknpu_limits_timeout(rq->job));
	rknpu_deadline_begin_kick(rq);
}

/* It is in no queue any more. */
static void rknpu_dispatch_put_on_core(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_job_set_state(job, RKNPU_JOB_ON_CORE);
	job->result.core = rq->core->index;
	WRITE_ONCE(rq->job, job);
}

static void rknpu_dispatch_take(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_runqueue_take(rq, job);
	rknpu_dispatch_put_on_core(rq, job);
}

void rknpu_dispatch_leave_core(struct rknpu_runqueue *rq)
{
	rknpu_dispatch_end_wait(rq);
	WRITE_ONCE(rq->job, NULL);
	if (rq->frozen)
		wake_up_all(&rq->idle_wait);
}

struct rknpu_job *rknpu_dispatch_drop_job(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (!job)
		return NULL;
	rknpu_job_pause(job, ktime_get_ns());
	rknpu_job_leave(job);
	rknpu_dispatch_leave_core(rq);
	return job;
}

void rknpu_dispatch_put_back(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	lockdep_assert_held(&rq->sched->hw->lock);
	rknpu_job_pause(job, ktime_get_ns());
	rknpu_runqueue_put_back(rq, job);
	rknpu_dispatch_leave_core(rq);
}

void rknpu_dispatch_start_over(struct rknpu_runqueue *rq)
{
	rknpu_dispatch_put_back(rq);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
	queue_work(rq->wq, &rq->work);
}

/*
 * rq->job, which is cancelled, ends, and the core's work looks for another one. Not here if what
 * it waited for has perhaps not signalled, see rknpu_end_over().
 */
static void rknpu_dispatch_drop_cancelled(struct rknpu_runqueue *rq)
{
	if (rq->prequeued == rq->job) {
		rq->drop_prequeued = true;
		rknpu_dispatch_start_over(rq);
		return;
	}
	rknpu_job_end_cancelled(rknpu_dispatch_drop_job(rq));
	rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
	queue_work(rq->wq, &rq->work);
}

/*
 * The gang is over: each core of @ready has taken its job, is STARTING with it, and has waited
 * for the others. Meanwhile the core may have faulted, and the job may have become one that is
 * not to start: such a core goes back to its work, as if it had just been told to start.
 */
static void rknpu_dispatch_start_gang(struct rknpu_sched *sched, u32 ready)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (!(ready & BIT(rq->core->index)))
			continue;
		if (rq->job->cancelled)
			rknpu_dispatch_drop_cancelled(rq);
		else if (rq->core->irq_off || rq->job->client->user->held)
			rknpu_dispatch_start_over(rq);
		else
			rknpu_dispatch_run(rq);
	}
	/* Another gang may have been kept waiting. */
	rknpu_dispatch_all(sched);
}

void rknpu_dispatch_start(struct rknpu_runqueue *rq)
{
	struct rknpu_gang *gang = rq->job->gang;
	u32 ready;

	/*
	 * A fault may have come since whoever took the job looked: nobody else would turn the
	 * line on.
	 */
	if (rq->core->irq_off) {
		rknpu_dispatch_start_over(rq);
		return;
	}
	if (!gang || !gang->open) {
		rknpu_dispatch_run(rq);
		return;
	}
	rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
	if (rknpu_gang_ready(rq, &ready)) {
		rknpu_dispatch_start_gang(rq->sched, ready);
		return;
	}
	rq->gang_since_ns = ktime_get_ns();
	rknpu_deadline_gang(rq);
}

void rknpu_dispatch_dissolve_gang(struct rknpu_job *job)
{
	u32 ready;

	lockdep_assert_held(&job->client->sched->hw->lock);
	if (rknpu_gang_dissolve(job, &ready))
		rknpu_dispatch_start_gang(job->client->sched, ready);
}

/* Has no core with the same CBUF run for another VM since it was reset? */
static bool rknpu_dispatch_is_cbuf_quiet(const struct rknpu_core *core, const struct rknpu_vm *vm)
{
	struct rknpu_domain *domain;
	struct rknpu_core *other;

	if (!core->hw->soc->one_cbuf)
		return true;
	rknpu_for_each_core(other, core->hw) {
		domain = rknpu_iommu_domain(other->iommu);
		if (domain && domain != &vm->domain)
			return false;
	}
	return true;
}

/*
 * Can the core, which is idle, start the job without its work? The work also
 * cleans up after a fault, and ends what was on a core when it was cancelled.
 */
static bool rknpu_dispatch_is_ready_for(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	/* In this order: a core that goes to sleep takes its domain off. */
	return rknpu_dispatch_hold_active(rq) &&
	       rknpu_iommu_domain(rq->core->iommu) == &job->vm->domain &&
	       rknpu_dispatch_is_cbuf_quiet(rq->core, job->vm) &&
	       !rq->core->irq_off && !job->cancelled;
}

bool rknpu_dispatch_directly(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (rq->state != RKNPU_CORE_IDLE || rq->shares || rq->frozen || rq->sched->gang ||
	    job->gang || rq->shared || job->client->user->held ||
	    !rknpu_dispatch_is_ready_for(rq, job))
		return false;
	rknpu_runqueue_pass_through(rq, job);
	rknpu_dispatch_put_on_core(rq, job);
	rknpu_dispatch_start(rq);
	return true;
}

/* Is the core to be idle for a moment, for a user who has had less than that of @job? */
static bool rknpu_dispatch_keeps(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	return !rq->shared && rknpu_anticipate(rq, job->entity->group);
}

/*
 * The job that an idle core should run next: one of its own run queue, by time
 * slices, else one taken over from a busy core. It stays queued. NULL if there is
 * none, or none that may run now: those of a gang that gathers come first or let
 * others pass, see struct rknpu_gang.
 */
static struct rknpu_job *rknpu_dispatch_find(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job;

	lockdep_assert_held(&rq->sched->hw->lock);

	job = rknpu_gang_next(rq);
	if (job) {
		/* Its slice begins there, or it would use up that of another client. */
		rknpu_slice_pick(rq, job->entity->group);
		return rknpu_dispatch_keeps(rq, job) ? NULL : job;
	}
	if (!rq->shares)
		rknpu_place_steal(rq);
	if (!rq->shares) {
		if (rq->turn)
			rknpu_slice_boost_ends(rq, rq->turn);
		return NULL;
	}
	job = rknpu_runqueue_first(rq);
	if (rknpu_dispatch_keeps(rq, job))
		return NULL;
	if (rknpu_gang_admits(rq, job))
		return job;
	/* Instead of a gang that has to wait, whose user may have had little, one of others. */
	job = rknpu_gang_backfill(rq) ?: rknpu_place_steal(rq);
	return job && rknpu_dispatch_keeps(rq, job) ? NULL : job;
}

static bool rknpu_dispatch_may_start(const struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_IDLE && !rq->frozen;
}

/* The core is idle, and @job is queued there. */
static void rknpu_dispatch_begin(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (!rknpu_dispatch_is_ready_for(rq, job)) {
		rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
		rknpu_place_wake_begin(rq);
		queue_work(rq->wq, &rq->work);
		return;
	}
	rknpu_dispatch_take(rq, job);
	rknpu_dispatch_start(rq);
}

static void rknpu_dispatch_one(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job;

	if (!rknpu_dispatch_may_start(rq))
		return;
	job = rknpu_dispatch_find(rq);
	if (job)
		rknpu_dispatch_begin(rq, job);
}

/* Of cores that may start a job and have one queued, or have none and may take one over. */
static void rknpu_dispatch_find_wanted(struct rknpu_sched *sched, bool queued)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (rknpu_dispatch_may_start(rq) && !!rq->shares == queued)
			rknpu_shared_want(rq, rknpu_dispatch_find(rq));
	}
}

/*
 * What one core wants decides about cores of a gang that were asked before: that it gathers, or
 * no more, or waits for no job any longer.
 */
static void rknpu_dispatch_find_all_wanted(struct rknpu_sched *sched)
{
	const struct rknpu_gang *gang;
	unsigned int i = 0;
	u32 before;

	do {
		gang = sched->gang;
		before = gang ? gang->before : 0;
		/* Nobody takes over what a core can begin with itself. */
		rknpu_dispatch_find_wanted(sched, true);
		rknpu_dispatch_find_wanted(sched, false);
	} while ((gang != sched->gang || (gang && before != gang->before)) &&
		 ++i < RKNPU_MAX_CORES);
}

/* Whose turn it is depends on what all cores want, so that is found out first. */
static void rknpu_dispatch_shared(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_dispatch_find_all_wanted(sched);
	rknpu_for_each_rq(rq, sched) {
		if (rknpu_dispatch_may_start(rq) && rq->wanted &&
		    rq->wanted_vm == rknpu_shared_turn(sched))
			rknpu_dispatch_begin(rq, rq->wanted);
	}
}

void rknpu_dispatch_all(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		rknpu_dispatch(rq);
		if (rq->shared)
			return;
	}
}

static void rknpu_dispatch_cores(struct rknpu_runqueue *rq)
{
	const struct rknpu_gang *gang = rq->sched->gang;
	struct rknpu_runqueue *other;

	if (rq->shared) {
		rknpu_dispatch_shared(rq->sched);
		return;
	}
	rknpu_dispatch_one(rq);
	if (!gang && !rq->sched->gang)
		return;
	/* What this one does decides about cores of a gang. */
	rknpu_for_each_rq(other, rq->sched)
		rknpu_dispatch_one(other);
}

void rknpu_dispatch(struct rknpu_runqueue *rq)
{
	const struct rknpu_gang *gang;
	unsigned int i = 0;

	lockdep_assert_held(&rq->sched->hw->lock);
	/* A gang that is given up lets jobs start on cores that were looked at before. */
	do {
		gang = rq->sched->gang;
		rknpu_dispatch_cores(rq);
	} while (gang && gang != rq->sched->gang && ++i < RKNPU_MAX_CORES);
}

void rknpu_dispatch_left(struct rknpu_sched *sched)
{
	lockdep_assert_held(&sched->hw->lock);
	if (sched->shared.vm)
		rknpu_dispatch_all(sched);
}

static void rknpu_dispatch_freeze_all(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		rq->frozen = true;
		/* No more of its gang will start. */
		if (rq->job)
			rknpu_dispatch_dissolve_gang(rq->job);
	}
}

static void rknpu_dispatch_thaw_all(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		rq->frozen = false;
		/* A fault that came meanwhile has not been answered. */
		if (rq->core->irq_off && rq->state == RKNPU_CORE_IDLE)
			rknpu_runqueue_start_recovery(rq, RKNPU_CAUSE_IOMMU_FAULT);
	}
	rknpu_dispatch_all(sched);
}

void rknpu_dispatch_freeze(struct rknpu_sched *sched)
{
	lockdep_assert_held(&sched->hw->lock);
	/* All of them, or what one core gives up the next one takes. */
	if (!sched->sleeping++)
		rknpu_dispatch_freeze_all(sched);
}

void rknpu_dispatch_thaw(struct rknpu_sched *sched)
{
	lockdep_assert_held(&sched->hw->lock);
	if (!--sched->sleeping)
		rknpu_dispatch_thaw_all(sched);
}

enum hrtimer_restart rknpu_dispatch_anticipated(struct hrtimer *timer)
{
	struct rknpu_runqueue *rq = container_of(timer, struct rknpu_runqueue, anticipate.timer);

	guard(spinlock_irqsave)(&rq->sched->hw->lock);
	if (!rknpu_anticipate_expired(rq))
		return HRTIMER_NORESTART;
	rknpu_dispatch(rq);
	/* A job may have held the core awake that had to wait, and is gone since. */
	rknpu_dispatch_idle_locked(rq);
	return HRTIMER_NORESTART;
}

/* Lock held. Not idle with a line that is off: it may be other cores' too. */
static void rknpu_dispatch_nothing(struct rknpu_runqueue *rq)
{
	if (rq->core->irq_off && !rq->frozen)
		queue_work(rq->wq, &rq->work);
	else
		rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
}

/* What a core that is STARTING should run now, or NULL. It stays queued. */
static struct rknpu_job *rknpu_dispatch_next(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rknpu_dispatch_find(rq);

	if (!rq->shared)
		return job;
	rknpu_shared_want(rq, job);
	return job && job->vm == rknpu_shared_turn(rq->sched) ? job : NULL;
}

struct rknpu_job *rknpu_dispatch_take_next(struct rknpu_runqueue *rq)
{
	bool gang = rq->sched->gang;
	struct rknpu_job *job = NULL;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (rq->state == RKNPU_CORE_STARTING && !rq->frozen)
		job = rknpu_dispatch_next(rq);
	if (job)
		rknpu_dispatch_take(rq, job);
	else if (rq->state == RKNPU_CORE_STARTING)
		rknpu_dispatch_nothing(rq);
	/* Others may have waited for it to start, or to take the job of a gang. */
	if (gang || rq->sched->gang || rq->shared)
		rknpu_dispatch_all(rq->sched);
	return job;
}

/* Lock held. NONE, or why the job ends without having run. */
static enum rknpu_cause rknpu_dispatch_enqueue(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	struct rknpu_runqueue *rq = sched->gone ? NULL : rknpu_place_choose(sched, job, NULL);

	if (rq && !job->cancelled) {
		if (!rknpu_dispatch_directly(rq, job)) {
			rknpu_runqueue_add(rq, job);
			/* Its gang may gather on idle cores now, though this one is busy. */
			if (!rknpu_gang_waits(job))
				rknpu_dispatch(rq);
			else if (rknpu_gang_is_pushed(job->gang))
				rknpu_dispatch_all(sched);
			rknpu_deadline_recheck(rq, job);
		}
		return RKNPU_CAUSE_NONE;
	}
	rknpu_job_leave(job);
	return rq ? rknpu_job_cancel_cause(job) : RKNPU_CAUSE_DEVICE_GONE;
}

void rknpu_dispatch_ready(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	enum rknpu_cause cause;

	/* Otherwise the device went away meanwhile. */
	if (job->state != RKNPU_JOB_WAITING)
		return;
	cause = rknpu_dispatch_enqueue(job);
	if (cause == RKNPU_CAUSE_NONE)
		return;
	job->result.cause = cause;
	list_add_tail(&job->link, &sched->ending);
	queue_work(sched->wq, &sched->work);
}

void rknpu_dispatch_dep_resolved(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;

	/* Other drivers' fences may take their time, and decide about no context of ours. */
	if (atomic_dec_and_test(&job->deps_pending) || (sched->gone && !job->jobs_pending))
		rknpu_dispatch_ready(job);
}

static bool rknpu_dispatch_between_jobs(struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_IDLE || rq->state == RKNPU_CORE_STARTING;
}

void rknpu_dispatch_idle_locked(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;

	if (rq->irq_pending && core->powered && !READ_ONCE(core->parked) && rq->pm_held &&
	    !core->scrubbing && rknpu_dispatch_between_jobs(rq)) {
		rknpu_pc_quiesce(core);
		rq->irq_pending = false;
	}
	if (rq->state == RKNPU_CORE_IDLE && rq->pm_held) {
		rq->pm_held = false;
		pm_runtime_put_autosuspend(core->dev);
	}
}

void rknpu_dispatch_idle(struct rknpu_runqueue *rq)
{
	guard(spinlock_irqsave)(&rq->sched->hw->lock);
	rknpu_dispatch_idle_locked(rq);
}
