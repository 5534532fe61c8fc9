// SPDX-License-Identifier: GPL-2.0-only
/* Owns a core's work: bringing it up for a job, and bringing it back after a failure. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pm_runtime.h>
#include <linux/sched/mm.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_iommu.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_scrub.h"
#include "rknpu_client_types.h"
#include "rknpu_debt.h"
#include "rknpu_dispatch.h"
#include "rknpu_end.h"
#include "rknpu_failure.h"
#include "rknpu_job.h"
#include "rknpu_limits.h"
#include "rknpu_penalty.h"
#include "rknpu_place.h"
#include "rknpu_recover.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_shared.h"

/*
 * Ends in a row whose interrupts were lost, until a core is polled: of a line that
 * has never worked, as one that the device tree has wrong, and of one that did.
 */
#define RKNPU_RECOVER_NO_IRQS	3
#define RKNPU_RECOVER_LOST_IRQS	32

/*
 * All of this work is on the way to a fence, which nobody who frees memory may
 * wait for in vain; so lockdep is told (dma_fence_begin_signalling()). But
 * powering up, attaching and cycling the power take locks of runtime PM, of
 * clocks and of the IOMMU group, under which others allocate memory. No driver
 * can avoid them, and lockdep would say so: they are left out, and this thread
 * allocates from the reserves meanwhile. A job that failed ends before that.
 */
static unsigned int rknpu_recover_begin_foreign(struct rknpu_runqueue *rq)
{
	dma_fence_end_signalling(rq->signalling);
	return memalloc_noreclaim_save();
}

static void rknpu_recover_end_foreign(struct rknpu_runqueue *rq, unsigned int flags)
{
	memalloc_noreclaim_restore(flags);
	rq->signalling = dma_fence_begin_signalling();
}

void rknpu_recover_set_held(struct rknpu_runqueue *rq, bool held)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	rq->pm_held = held;
}

/* Power until rknpu_dispatch_idle(). */
static int rknpu_recover_power_up(struct rknpu_runqueue *rq)
{
	unsigned int flags;
	int ret;

	/* Only this work changes it while STARTING or RECOVERING; others look at it. */
	if (rq->pm_held)
		return 0;
	flags = rknpu_recover_begin_foreign(rq);
	ret = rknpu_core_power_on(rq->core);
	rknpu_recover_end_foreign(rq, flags);
	if (!ret)
		rknpu_recover_set_held(rq, true);
	return ret;
}

/* All cores of a shared IOMMU, which attaches to nothing if one of them hinders it. */
static int rknpu_recover_reset_all(struct rknpu_iommu *iommu, struct rknpu_domain *domain)
{
	struct rknpu_core *core;
	int ret;

	guard(mutex)(&iommu->attach_lock);
	/* Another core's attempt may have worked meanwhile, and its job may run. */
	if (rknpu_iommu_domain(iommu) == domain)
		return 0;
	rknpu_for_each_core_behind(core, iommu) {
		/*
		 * No job is on them, as what is to be attached is not. Cores of one device sleep
		 * together, but one may be held in reset, and stays so.
		 */
		if (!core->clocked || READ_ONCE(core->parked))
			continue;
		ret = rknpu_core_reset(core);
		if (ret)
			return ret;
	}
	return 0;
}

/* Other cores may be using a shared IOMMU. */
static void rknpu_recover_detach(struct rknpu_core *core)
{
	struct rknpu_iommu *iommu = core->iommu;

	if (iommu->shared)
		return;
	guard(mutex)(&iommu->attach_lock);
	rknpu_iommu_detach(core);
}

static int rknpu_recover_cycle_power(struct rknpu_core *core)
{
	int ret = rknpu_core_power_cycle(core);

	/* If it could not be put to sleep, it has not been detached yet. */
	if (!ret)
		rknpu_recover_detach(core);
	return ret;
}

/*
 * Brings the core back, whatever its program left it in, and its IOMMU with it: both are behind
 * the same resets, and the IOMMU's driver does not know that its registers are gone.
 *
 * An IOMMU of the core's own is powered off and on, and detached: the next job has it
 * programmed anew. That is in this order, as an IOMMU that holds a faulting access does not
 * let go before the reset, and, while it is awake, goes back to the default domain only if it
 * works, or with a warning. See rknpu_core_power_cycle().
 *
 * A shared one other cores may be using. So the core alone is reset first, and the IOMMU's
 * registers put back as they were; the power goes off only if that does not help, and as
 * far as the others allow.
 */
static int rknpu_recover_hardware_foreign(struct rknpu_core *core)
{
	int ret;

	if (core->iommu->shared) {
		ret = rknpu_core_reset_locked(core);
		if (!ret)
			return 0;
		dev_warn_ratelimited(core->dev, "core %u: reset did not help (%d), power cycling\n",
				     core->index, ret);
	}
	return rknpu_recover_cycle_power(core);
}

static int rknpu_recover_hardware(struct rknpu_runqueue *rq)
{
	unsigned int flags = rknpu_recover_begin_foreign(rq);
	int ret = rknpu_recover_hardware_foreign(rq->core);

	rknpu_recover_end_foreign(rq, flags);
	return ret;
}

/*
 * What a program does after its job is over it does in a CBUF that may be @core's, too. So other
 * cores are reset before it runs for another VM; no job is on them, or it is of this one. One that
 * sleeps or is held in reset does nothing. One that does not let go has been reset all the same,
 * and is power cycled when it has a job.
 */
static void rknpu_recover_halt_others(struct rknpu_core *core, const struct rknpu_domain *domain)
{
	struct rknpu_core *other;

	if (!core->hw->soc->one_cbuf)
		return;
	rknpu_for_each_core(other, core->hw) {
		if (other->iommu == core->iommu)
			continue;
		guard(mutex)(&other->iommu->attach_lock);
		if (rknpu_iommu_domain(other->iommu) != domain && other->clocked &&
		    !READ_ONCE(other->parked))
			rknpu_iommu_detach(other);
	}
}

/* @ns: what it took, without the wait for other cores. */
static int rknpu_recover_try_attach(struct rknpu_core *core, struct rknpu_domain *domain, u64 *ns)
{
	struct rknpu_iommu *iommu = core->iommu;
	u64 start_ns = ktime_get_ns();
	int ret;

	rknpu_recover_halt_others(core, domain);
	*ns = ktime_get_ns() - start_ns;

	guard(mutex)(&iommu->attach_lock);
	if (iommu->shared)
		rknpu_iommu_wait_unparked(iommu);
	start_ns = ktime_get_ns();
	ret = rknpu_scrub_attach(core, domain);
	*ns += ktime_get_ns() - start_ns;
	return ret;
}

/* Powered. Resets the core as far as attaching takes that. */
static int rknpu_recover_attach_foreign(struct rknpu_core *core, struct rknpu_domain *domain,
					u64 *ns)
{
	int ret;

	ret = rknpu_recover_try_attach(core, domain, ns);
	if (!ret)
		return 0;

	dev_warn_ratelimited(core->dev, "core %u: cannot attach the next job's address space (%d), power cycling\n",
			     core->index, ret);
	rknpu_core_disable_irq(core);
	if (core->iommu->shared)
		ret = rknpu_recover_reset_all(core->iommu, domain) ?:
		      rknpu_recover_try_attach(core, domain, ns);
	if (ret)
		ret = rknpu_recover_hardware_foreign(core) ?:
		      rknpu_recover_try_attach(core, domain, ns);
	rknpu_core_enable_irq(core);
	return ret;
}

/*
 * STARTING. Whose job needs another address space pays for the change, whatever becomes of the
 * job: else a core could be kept busy with changes that nobody pays for. So much at most that
 * the turn is not over by that.
 */
static int rknpu_recover_attach(struct rknpu_runqueue *rq, struct rknpu_domain *domain)
{
	unsigned int flags = rknpu_recover_begin_foreign(rq);
	u64 ns;
	int ret = rknpu_recover_attach_foreign(rq->core, domain, &ns);

	rknpu_recover_end_foreign(rq, flags);

	guard(spinlock_irq)(&rq->sched->hw->lock);
	/* Time in which another core runs its jobs is counted there. */
	if (rq->job && !(rq->shared && rknpu_shared_runs(rq->sched)))
		rknpu_user_charge(rq->job->client->user, rq->core->index,
				  min(ns, rknpu_share_lead_ns()));
	return ret;
}

/*
 * Powered, no job runs: a program that is over still made the IOMMU fault, and
 * the line was turned off for it. Back to a clean core and a line that is on.
 */
static int rknpu_recover_clean(struct rknpu_runqueue *rq)
{
	int ret = rknpu_recover_hardware(rq);

	rknpu_core_enable_irq(rq->core);
	return ret;
}

/*
 * Parked. Have all cores of its IOMMU been given up? Others that are parked may be so only while
 * they are power cycled, and go on with the power that they have.
 */
static bool rknpu_recover_is_last(struct rknpu_runqueue *rq)
{
	struct rknpu_sched *sched = rq->sched;
	struct rknpu_runqueue *other;

	guard(spinlock_irq)(&sched->hw->lock);
	rq->retired = true;
	rknpu_for_each_rq(other, sched) {
		if (other->core->iommu == rq->core->iommu &&
		    other->state != RKNPU_CORE_ABSENT && !other->retired)
			return false;
	}
	return true;
}

/* In any state: held in reset, where it can access nothing, and without a power reference. */
static void rknpu_recover_park(struct rknpu_runqueue *rq)
{
	if (rq->pm_held) {
		rknpu_recover_set_held(rq, false);
		pm_runtime_put_noidle(rq->core->dev);
	}
	rknpu_core_park(rq->core);
}

/* For good: suspended. And in reset, as other cores may keep the power domain on. */
static void rknpu_recover_retire(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;

	rknpu_recover_park(rq);
	if (!core->iommu->shared || rknpu_recover_is_last(rq))
		rknpu_core_retire(core);
}

/*
 * Lock held. With a core in it that cannot be made to let go, a shared IOMMU
 * cannot be switched any more, and the core could get at any domain that comes.
 */
static void rknpu_recover_retire_iommu(struct rknpu_runqueue *rq)
{
	struct rknpu_sched *sched = rq->sched;
	struct rknpu_runqueue *other;

	if (!rq->core->iommu->shared || sched->shared.lost)
		return;
	WRITE_ONCE(sched->shared.lost, true);
	rknpu_for_each_rq(other, sched) {
		if (other == rq || other->core->iommu != rq->core->iommu ||
		    !rknpu_runqueue_in_service(other))
			continue;
		rknpu_runqueue_set_state(other, RKNPU_CORE_RECOVERING);
		queue_work(other->wq, &other->work);
	}
}

static bool rknpu_recover_iommu_lost(const struct rknpu_runqueue *rq)
{
	return rq->core->iommu->shared && READ_ONCE(rq->sched->shared.lost);
}

/* One job at a time, of which there may be thousands. False: it was the last one. */
static bool rknpu_recover_evacuate(struct rknpu_runqueue *rq, struct list_head *stranded)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	/* If the device is being unbound, that takes care of them. */
	if (rq->state == RKNPU_CORE_DEAD && rknpu_place_evacuate(rq, stranded))
		return true;
	rknpu_dispatch_all(rq->sched);
	return false;
}

/* Lock held. It is to run again, with all its time, unless its client has cancelled it. */
static void rknpu_recover_put_back(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	if (job->cancelled) {
		rknpu_job_end_cancelled(rknpu_dispatch_drop_job(rq));
		return;
	}
	rknpu_dispatch_put_back(rq);
	job->void_ns = job->before_ns;
}

static bool rknpu_recover_postpones(struct rknpu_runqueue *rq)
{
	struct rknpu_sched *sched = rq->sched;

	guard(spinlock_irq)(&sched->hw->lock);
	if (!sched->suspending || rq->state == RKNPU_CORE_ABSENT || rknpu_recover_iommu_lost(rq))
		return false;
	if (!rq->postponed)
		rknpu_dispatch_freeze(sched);
	rq->postponed = true;
	return true;
}

/*
 * From before the system goes to sleep until after it is awake the PM core keeps devices awake,
 * and power domains on, so that a power cycle does not cut the power; sleep itself does.
 * So a core that nothing else helps is held in reset until power can be cut again. Meanwhile
 * other cores start nothing: they might have to wake an IOMMU that is in reset.
 */
static void rknpu_recover_postpone(struct rknpu_runqueue *rq, int error)
{
	struct rknpu_core *core = rq->core;
	unsigned int flags;

	dev_warn(core->dev, "core %u cannot be power cycled before system sleep is over (%d)\n",
		 core->index, error);
	rknpu_core_disable_irq(core);
	flags = rknpu_recover_begin_foreign(rq);
	rknpu_recover_park(rq);
	rknpu_recover_end_foreign(rq, flags);

	guard(spinlock_irq)(&core->hw->lock);
	if (rq->state == RKNPU_CORE_ABSENT)
		return;
	rknpu_runqueue_set_state(rq, RKNPU_CORE_RECOVERING);
	if (rq->job)
		rknpu_recover_put_back(rq);
}

/* Lock held. */
static void rknpu_recover_end_postponed(struct rknpu_runqueue *rq)
{
	if (rq->postponed)
		rknpu_dispatch_thaw(rq->sched);
	rq->postponed = false;
}

/*
 * Nothing helps: the core's jobs go elsewhere, or fail if it was the last one.
 * Ends @dump, if there is one.
 */
static void rknpu_recover_give_up_with(struct rknpu_runqueue *rq, int error,
				       struct rknpu_dump *dump)
{
	struct rknpu_core *core = rq->core;
	unsigned int flags;
	LIST_HEAD(stranded);

	if (rknpu_recover_postpones(rq)) {
		rknpu_dump_end(&rq->sched->dumps, dump);
		rknpu_recover_postpone(rq, error);
		return;
	}
	dev_err(core->dev, "core %u is out of service (%d) until the device is bound again; its jobs go to other cores, if any\n",
		core->index, error);
	rknpu_core_stat_count(core, RKNPU_CORE_STAT_RETIRED, 1);
	rknpu_failure_report_lost(dump, rq, error);
	rknpu_dump_end(&rq->sched->dumps, dump);
	rknpu_core_disable_irq(core);
	flags = rknpu_recover_begin_foreign(rq);
	rknpu_recover_retire(rq);
	rknpu_recover_end_foreign(rq, flags);

	spin_lock_irq(&core->hw->lock);
	/* Not if the device is being unbound: then that takes care of the job. */
	if (rq->state != RKNPU_CORE_ABSENT) {
		rknpu_runqueue_set_state(rq, RKNPU_CORE_DEAD);
		rknpu_recover_retire_iommu(rq);
		/* Taken for this core, but not started, or to be tried again. */
		if (rq->job)
			rknpu_recover_put_back(rq);
	}
	rknpu_recover_end_postponed(rq);
	spin_unlock_irq(&core->hw->lock);

	while (rknpu_recover_evacuate(rq, &stranded))
		cond_resched();
	rknpu_end_jobs(&stranded, RKNPU_CAUSE_DEVICE_GONE);
	schedule_work(&rq->sched->losing);
}

static void rknpu_recover_give_up(struct rknpu_runqueue *rq, int error)
{
	rknpu_recover_give_up_with(rq, error, rknpu_failure_begin(rq));
}

/* STARTING. What was taken is not to be started any more; something else may be. */
static void rknpu_recover_end_taken(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	/*
	 * It may have been queued early, and the handler be about to end what it waited for.
	 * Before the core has its next job, as this would stop the timer that polls that.
	 */
	rknpu_core_sync_irq(rq->core);
	rknpu_end_job(job, rknpu_job_cancel_cause(job));

	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (rq->state == RKNPU_CORE_STARTING) {
		rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
		rknpu_dispatch(rq);
	}
	rknpu_dispatch_idle_locked(rq);
}

static void rknpu_recover_start_taken(struct rknpu_runqueue *rq)
{
	struct rknpu_job *cancelled = NULL;

	scoped_guard(spinlock_irq, &rq->sched->hw->lock) {
		if (rq->state != RKNPU_CORE_STARTING)
			return;
		if (rq->job->cancelled) {
			cancelled = rknpu_dispatch_drop_job(rq);
		} else if (rq->job->client->user->held) {
			rknpu_dispatch_start_over(rq);
		} else {
			rknpu_place_wake_end(rq);
			rknpu_dispatch_start(rq);
		}
	}
	if (cancelled)
		rknpu_recover_end_taken(rq, cancelled);
}

/* STARTING, powered and clean: attaches what the next job needs, and starts that. */
static void rknpu_recover_start_next(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;
	struct rknpu_job *job;
	int ret = 0;

	scoped_guard(spinlock_irq, &core->hw->lock)
		job = rknpu_dispatch_take_next(rq);
	if (!job) {
		rknpu_dispatch_idle(rq);
		return;
	}

	do {
		if (READ_ONCE(core->irq_off))
			ret = rknpu_recover_clean(rq);
		if (!ret)
			ret = rknpu_recover_attach(rq, &job->vm->domain);
	} while (!ret && READ_ONCE(core->irq_off));
	if (ret)
		rknpu_recover_give_up(rq, ret);
	else
		rknpu_recover_start_taken(rq);
}

static void rknpu_recover_bring_up(struct rknpu_runqueue *rq)
{
	int ret;

	ret = rknpu_recover_power_up(rq);
	/* A fault may have come since the core was told to start. */
	if (!ret && READ_ONCE(rq->core->irq_off))
		ret = rknpu_recover_clean(rq);
	if (ret)
		rknpu_recover_give_up(rq, ret);
	else
		rknpu_recover_start_next(rq);
}

/* Of a job that is to be stopped, or has no time left, only the end counts: it is not to go on. */
static bool rknpu_recover_may_be_late(struct rknpu_runqueue *rq)
{
	if (rq->state != RKNPU_CORE_RECOVERING || !rq->job || rknpu_recover_iommu_lost(rq))
		return false;
	if (rq->fault.cause == RKNPU_CAUSE_NONE && !rknpu_limits_job_over(rq))
		return true;
	return (rq->fault.cause == RKNPU_CAUSE_NONE || rq->fault.cause == RKNPU_CAUSE_STOPPED) &&
	       rq->job->result.task + rq->core->kick.tasks == rq->job->task_count;
}

/*
 * Lock held. The job is over, and no interrupt has told so. A virtual machine may
 * stand still for as long as a deadline, but then the interrupts come in between.
 */
static bool rknpu_recover_lost_irq(struct rknpu_runqueue *rq)
{
	unsigned int limit = rq->irq_seen ? RKNPU_RECOVER_LOST_IRQS : RKNPU_RECOVER_NO_IRQS;

	/*
	 * Nothing pending: a program may have masked it, which must not cost others theirs. Nor
	 * must callbacks of fences, with which a client can keep the CPU that the line goes to.
	 */
	if (rq->core->polled || !rknpu_pc_status(rq->core) || rknpu_core_irq_waits(rq->core) ||
	    ++rq->lost_irqs < limit)
		return false;
	WRITE_ONCE(rq->core->polled, true);
	return true;
}

/* Lock held. The watchdog has seen nothing of a start that came just after it had looked. */
static bool rknpu_recover_has_begun(struct rknpu_runqueue *rq)
{
	return rq->fault.cause == RKNPU_CAUSE_NONE && !rq->job->cancelled &&
	       !rknpu_limits_job_over(rq) && time_before(jiffies, rq->watch.deadline) &&
	       rknpu_pc_progressed(rq->core);
}

/* Did the task finish after its deadline, or its interrupt get lost? Or does it run after all? */
static bool rknpu_recover_was_late(struct rknpu_runqueue *rq)
{
	bool late = false, polled = false;
	struct rknpu_job *over = NULL;

	spin_lock_irq(&rq->sched->hw->lock);
	if (rknpu_recover_may_be_late(rq) && rknpu_pc_over_raw(rq->core)) {
		late = true;
		polled = rknpu_recover_lost_irq(rq);
		rknpu_runqueue_set_state(rq, RKNPU_CORE_RUNNING);
		over = rknpu_end_kick(rq);
	} else if (rknpu_recover_may_be_late(rq) && rknpu_recover_has_begun(rq)) {
		late = true;
		rknpu_runqueue_set_state(rq, RKNPU_CORE_RUNNING);
		rknpu_dispatch_go_on(rq);
	}
	spin_unlock_irq(&rq->sched->hw->lock);

	if (polled)
		dev_warn(rq->core->dev, "core %u: %u interrupts in a row did not come, it is polled from now on; is its interrupt right in the device tree?\n",
			 rq->core->index, rq->lost_irqs);
	if (over)
		rknpu_end_over(rq, over);
	return late;
}

/* One that is out of time after some of its tasks may be found before the next one begins. */
static bool rknpu_recover_started(struct rknpu_runqueue *rq)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	return rknpu_pc_progressed(rq->core) ||
	       (rq->job && rq->job->result.task && rknpu_limits_job_over(rq));
}

static enum rknpu_cause rknpu_recover_classify(struct rknpu_runqueue *rq)
{
	if (rq->fault.cause != RKNPU_CAUSE_NONE)
		return rq->fault.cause;

	rknpu_core_stat_count(rq->core, RKNPU_CORE_STAT_TIMEOUTS, 1);
	return rknpu_recover_started(rq) ? RKNPU_CAUSE_TIMEOUT_RUNNING :
					   RKNPU_CAUSE_TIMEOUT_NEVER_STARTED;
}

/* Tasks of the job, which did not end: not all of them, even if the counter has moved on. */
static u32 rknpu_recover_tasks_done(struct rknpu_runqueue *rq)
{
	return min(rknpu_pc_tasks_done(rq->core), rq->core->kick.tasks - 1);
}

static struct rknpu_job *rknpu_recover_take_job(struct rknpu_runqueue *rq, enum rknpu_cause cause)
{
	struct rknpu_job *job;

	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (rq->core->kick.tasks > 1 && rq->job)
		rq->job->result.task += rknpu_recover_tasks_done(rq);
	if (rq->job) {
		rq->job->result.cause = cause;
		rknpu_penalty_begin(rq->job);
	}
	job = rknpu_dispatch_drop_job(rq);
	if (job && cause == RKNPU_CAUSE_IOMMU_FAULT) {
		job->result.fault_iova = rq->fault.iova;
		job->result.fault_write = rq->fault.write;
	}
	return job;
}

static void rknpu_recover_back_to_work(struct rknpu_runqueue *rq)
{
	rknpu_core_enable_irq(rq->core);

	guard(spinlock_irq)(&rq->sched->hw->lock);
	/* If the IOMMU was lost meanwhile, the work that is queued gives the core up. */
	if (rq->state != RKNPU_CORE_RECOVERING || rknpu_recover_iommu_lost(rq))
		return;
	if (rq->job)
		rknpu_recover_put_back(rq);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
	rknpu_dispatch(rq);
}

/*
 * The job did nothing wrong, and is to run again. What a task left in the core
 * is lost, so unless no other task needs that, from the beginning; the time it
 * has had does not count either. False: its client has cancelled it.
 */
static bool rknpu_recover_rewind(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (job->cancelled)
		return false;
	rknpu_job_pause(job, ktime_get_ns());
	if (!job->divisible) {
		job->result.task = 0;
		job->before_ns = 0;
	}
	job->result.rerun = true;
	rknpu_core_stat_add(rq->core, RKNPU_CORE_STAT_RERUNS, 1);
	return true;
}

static bool rknpu_recover_retry(struct rknpu_runqueue *rq)
{
	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (!rq->job || !rknpu_job_may_retry(rq->job) || rknpu_debt_is_owed(rq->job->client->user))
		return false;
	rq->job->retried = true;
	/* A long first task of units that show nothing while they run may have begun. */
	rq->job->result.rerun = true;
	rq->job->lost_ns = ktime_get_ns() - rq->job->try_ns;
	rknpu_core_stat_add(rq->core, RKNPU_CORE_STAT_RETRIES, 1);
	return true;
}

/* Returns a job that is over. One that is tried again stays on the core. */
static struct rknpu_job *rknpu_recover_judge(struct rknpu_runqueue *rq)
{
	enum rknpu_cause cause = rknpu_recover_classify(rq);

	if (cause == RKNPU_CAUSE_STOPPED && rq->job) {
		if (rknpu_recover_rewind(rq))
			return NULL;
		cause = rknpu_job_cancel_cause(rq->job);
	}
	rq->fault.cause = cause;
	if (cause == RKNPU_CAUSE_TIMEOUT_NEVER_STARTED && rknpu_recover_retry(rq))
		return NULL;
	return rknpu_recover_take_job(rq, cause);
}

static void rknpu_recover_from(struct rknpu_runqueue *rq)
{
	/* Before anything is reset. */
	struct rknpu_dump *dump = rknpu_failure_begin(rq);
	struct rknpu_job *job = rknpu_recover_judge(rq), *guilty = job;
	enum rknpu_cause cause = rq->fault.cause;
	int ret;

	rknpu_failure_report(dump, rq, job, cause);
	/* The job does not wait for what takes long, unless it has to for its memory's sake. */
	if (job && !rknpu_core_stop(rq->core)) {
		rknpu_end_job(job, cause);
		job = NULL;
	}
	ret = rknpu_recover_hardware(rq);
	if (ret)
		rknpu_recover_give_up_with(rq, ret, dump);
	/* Whichever it was, the hardware does not touch the job's memory any more. */
	if (job)
		rknpu_end_job(job, cause);
	if (!ret) {
		rknpu_dump_end(&rq->sched->dumps, dump);
		rknpu_recover_back_to_work(rq);
	}
	if (guilty)
		rknpu_penalty_end(guilty);
	rknpu_dispatch_idle(rq);
}

/* Postponed, and nothing keeps the power on any more. */
static void rknpu_recover_again(struct rknpu_runqueue *rq)
{
	unsigned int flags = rknpu_recover_begin_foreign(rq);
	int ret;

	/* It is not to wake up in reset. */
	pm_runtime_get_noresume(rq->core->dev);
	rknpu_recover_set_held(rq, true);
	ret = rknpu_recover_cycle_power(rq->core);
	rknpu_recover_end_foreign(rq, flags);
	if (ret) {
		rknpu_recover_give_up(rq, ret);
		return;
	}
	rknpu_recover_back_to_work(rq);
	scoped_guard(spinlock_irq, &rq->sched->hw->lock)
		rknpu_recover_end_postponed(rq);
	rknpu_dispatch_idle(rq);
}

/* RECOVERING: finds out what is wrong, ends the job, resets. */
static void rknpu_recover(struct rknpu_runqueue *rq)
{
	int ret;

	if (rknpu_recover_iommu_lost(rq)) {
		rknpu_recover_give_up(rq, -EIO);
		return;
	}
	if (rq->postponed) {
		rknpu_recover_again(rq);
		return;
	}
	rknpu_core_disable_irq(rq->core);
	/* A fault while idle comes without a power reference. */
	ret = rknpu_recover_power_up(rq);
	if (ret) {
		rknpu_recover_give_up(rq, ret);
		return;
	}
	if (rknpu_recover_was_late(rq))
		rknpu_core_enable_irq(rq->core);
	else
		rknpu_recover_from(rq);
}

void rknpu_recover_work(struct work_struct *work)
{
	struct rknpu_runqueue *rq = container_of(work, struct rknpu_runqueue, work);
	enum rknpu_core_state state = RKNPU_CORE_ABSENT;

	rq->signalling = dma_fence_begin_signalling();
	scoped_guard(spinlock_irq, &rq->sched->hw->lock)
		state = rq->state;

	switch (state) {
	case RKNPU_CORE_STARTING:
		rknpu_recover_bring_up(rq);
		break;
	case RKNPU_CORE_RECOVERING:
		rknpu_recover(rq);
		break;
	default:
		break;
	}
	dma_fence_end_signalling(rq->signalling);
}
