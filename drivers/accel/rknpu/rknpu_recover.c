// SPDX-License-Identifier: GPL-2.0-only
/* Owns bringing a core back: late tasks, resets, power cycles, taking it out of service. */
#include <linux/interrupt.h>
#include <linux/pm_runtime.h>

#include "rknpu_device.h"
#include "rknpu_pc.h"
#include "rknpu_queue.h"
#include "rknpu_recover.h"
#include "rknpu_sched.h"
#include "rknpu_vm.h"

void rknpu_recover_silence(struct rknpu_core *core)
{
	spin_lock_irq(&core->rdev->lock);
	if (!core->irq_off) {
		WRITE_ONCE(core->irq_off, true);
		disable_irq_nosync(core->irq);
	}
	spin_unlock_irq(&core->rdev->lock);
	synchronize_irq(core->irq);
}

void rknpu_recover_listen(struct rknpu_core *core)
{
	spin_lock_irq(&core->rdev->lock);
	if (core->irq_off) {
		WRITE_ONCE(core->irq_off, false);
		enable_irq(core->irq);
	}
	spin_unlock_irq(&core->rdev->lock);
}

/* Under the attach_lock, so that the IOMMU is not programmed meanwhile. */
int rknpu_recover_reset(struct rknpu_core *core)
{
	int ret;

	mutex_lock(&core->iommu->attach_lock);
	ret = rknpu_core_reset(core);
	mutex_unlock(&core->iommu->attach_lock);
	return ret;
}

/* All cores of a shared IOMMU, which attaches to nothing if one of them hinders it. */
static int rknpu_recover_reset_all(struct rknpu_core *core)
{
	struct rknpu_device *rdev = core->rdev;
	unsigned int i;
	int ret = 0;

	mutex_lock(&core->iommu->attach_lock);
	for (i = 0; i < RKNPU_MAX_CORES && !ret; i++) {
		/* No job is on them, as what is to be attached is not. */
		if (rdev->cores[i].iommu == core->iommu && rdev->cores[i].clocked)
			ret = rknpu_core_reset(&rdev->cores[i]);
	}
	mutex_unlock(&core->iommu->attach_lock);
	return ret;
}

/* Other cores may be using a shared IOMMU. */
static void rknpu_recover_detach(struct rknpu_core *core)
{
	if (core->iommu->shared && !READ_ONCE(core->iommu->off))
		return;
	mutex_lock(&core->iommu->attach_lock);
	rknpu_vm_detach_core(core);
	mutex_unlock(&core->iommu->attach_lock);
}

/*
 * The reset takes the IOMMU along, whose driver does not know: detached, it is
 * programmed anew by the next job. Never before the reset: an IOMMU that holds
 * a faulting access does not let go. And not while it is awake: going back to
 * the default domain takes an IOMMU that works, or ends in a warning.
 */
static int rknpu_recover_hardware(struct rknpu_core *core)
{
	int ret;

	/* A shared one is put back as it was, for other cores may be using it. */
	if (core->iommu->shared) {
		ret = rknpu_recover_reset(core);
		if (!ret)
			return 0;
		dev_warn(core->dev, "core %u: reset did not help (%d), power cycling\n",
			 core->index, ret);
	}

	ret = rknpu_core_power_cycle(core);
	/* If it could not be put to sleep, it has not been detached yet. */
	if (!ret)
		rknpu_recover_detach(core);
	return ret;
}

static int rknpu_recover_try_attach(struct rknpu_core *core, struct rknpu_vm *vm)
{
	int ret;

	mutex_lock(&core->iommu->attach_lock);
	if (core->iommu->shared)
		rknpu_vm_wait_parked(core);
	ret = rknpu_vm_attach_core(vm, core);
	mutex_unlock(&core->iommu->attach_lock);
	return ret;
}

int rknpu_recover_attach(struct rknpu_core *core, struct rknpu_vm *vm)
{
	int ret;

	ret = rknpu_recover_try_attach(core, vm);
	if (!ret)
		return 0;

	dev_warn(core->dev, "core %u: IOMMU does not attach (%d), power cycling\n",
		 core->index, ret);
	rknpu_recover_silence(core);
	if (core->iommu->shared)
		ret = rknpu_recover_reset_all(core) ?: rknpu_recover_try_attach(core, vm);
	if (ret)
		ret = rknpu_recover_hardware(core) ?: rknpu_recover_try_attach(core, vm);
	rknpu_recover_listen(core);
	return ret;
}

int rknpu_recover_clean(struct rknpu_core *core)
{
	int ret = rknpu_recover_hardware(core);

	rknpu_recover_listen(core);
	return ret;
}

/* Of a job that is to be stopped, only the end counts: it is not to go on. */
static bool rknpu_recover_may_be_late(struct rknpu_core *core)
{
	if (core->state != RKNPU_CORE_RECOVERING || !core->job)
		return false;
	return core->cause == RKNPU_CAUSE_NONE ||
	       (core->cause == RKNPU_CAUSE_RESET_OTHER &&
		core->job->result.task + core->kick_tasks == core->job->task_count);
}

/* Did the task finish after its deadline, or its interrupt get lost? */
static bool rknpu_recover_was_late(struct rknpu_core *core)
{
	struct rknpu_job *over = NULL;
	bool late = false;

	spin_lock_irq(&core->rdev->lock);
	if (rknpu_recover_may_be_late(core) && rknpu_pc_over_raw(core)) {
		late = true;
		core->state = RKNPU_CORE_RUNNING;
		over = rknpu_sched_task_done(core);
	}
	spin_unlock_irq(&core->rdev->lock);

	if (over)
		rknpu_sched_finish(core, over);
	return late;
}

/* One that is out of time after some of its tasks may be found before the next one begins. */
static bool rknpu_recover_started(struct rknpu_core *core)
{
	return rknpu_pc_progressed(core) ||
	       (core->job && core->job->result.task && rknpu_sched_budget_over(core));
}

static enum rknpu_cause rknpu_recover_classify(struct rknpu_core *core)
{
	if (core->cause != RKNPU_CAUSE_NONE)
		return core->cause;

	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_TIMEOUTS, 1);
	return rknpu_recover_started(core) ? RKNPU_CAUSE_TIMEOUT_RUNNING :
					     RKNPU_CAUSE_TIMEOUT_NEVER_STARTED;
}

static struct rknpu_job *rknpu_recover_take_job(struct rknpu_core *core, enum rknpu_cause cause)
{
	struct rknpu_job *job;

	spin_lock_irq(&core->rdev->lock);
	if (core->kick_tasks > 1 && core->job)
		core->job->result.task += min(rknpu_pc_tasks_done(core), core->kick_tasks - 1);
	job = rknpu_sched_drop_job(core);
	if (job && cause == RKNPU_CAUSE_IOMMU_FAULT) {
		job->result.fault_iova = core->fault_iova;
		job->result.fault_write = core->fault_write;
	}
	spin_unlock_irq(&core->rdev->lock);
	return job;
}

static void rknpu_recover_back_to_work(struct rknpu_core *core)
{
	rknpu_recover_listen(core);

	spin_lock_irq(&core->rdev->lock);
	/* If the IOMMU was lost meanwhile, the work that is queued gives the core up. */
	if (core->state == RKNPU_CORE_RECOVERING && !core->iommu->lost) {
		if (core->job)
			rknpu_sched_put_back(core);
		core->state = RKNPU_CORE_IDLE;
		rknpu_sched_dispatch(core);
	}
	spin_unlock_irq(&core->rdev->lock);
}

/*
 * The job did nothing wrong, and is to run again. What a task left in the core
 * is lost, so unless no other task needs that, from the beginning; the time it
 * has had does not count either. False: its client has cancelled it.
 */
static bool rknpu_recover_rewind(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;
	bool rerun;

	spin_lock_irq(&core->rdev->lock);
	rerun = !job->cancelled;
	if (rerun) {
		rknpu_job_pause(job);
		if (!job->divisible) {
			job->result.task = 0;
			job->before_ns = 0;
		}
		job->result.rerun = true;
	}
	spin_unlock_irq(&core->rdev->lock);
	if (rerun)
		rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_RERUNS, 1);
	return rerun;
}

static bool rknpu_recover_retry(struct rknpu_core *core)
{
	bool retry;

	spin_lock_irq(&core->rdev->lock);
	retry = core->job && rknpu_sched_may_retry(core->job);
	if (retry)
		core->job->retried = true;
	spin_unlock_irq(&core->rdev->lock);
	if (retry)
		rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_RETRIES, 1);
	return retry;
}

/* Returns a job that is over. One that is tried again stays on the core. */
static struct rknpu_job *rknpu_recover_judge(struct rknpu_core *core)
{
	enum rknpu_cause cause = rknpu_recover_classify(core);

	if (cause == RKNPU_CAUSE_RESET_OTHER && core->job) {
		if (rknpu_recover_rewind(core))
			return NULL;
		cause = RKNPU_CAUSE_CANCELLED;
	}
	core->cause = cause;
	if (cause == RKNPU_CAUSE_TIMEOUT_NEVER_STARTED && rknpu_recover_retry(core))
		return NULL;
	return rknpu_recover_take_job(core, cause);
}

static void rknpu_recover_from(struct rknpu_core *core)
{
	struct rknpu_job *job = rknpu_recover_judge(core);
	enum rknpu_cause cause = core->cause;
	int ret = rknpu_recover_hardware(core);

	if (ret)
		rknpu_recover_give_up(core, ret);
	else
		rknpu_recover_back_to_work(core);
	/* Whichever it was, the hardware does not touch the job's memory any more. */
	if (job)
		rknpu_job_end(job, cause);
	rknpu_sched_rest(core);
}

void rknpu_recover(struct rknpu_core *core)
{
	int ret;

	if (READ_ONCE(core->iommu->lost)) {
		rknpu_recover_give_up(core, -EIO);
		return;
	}
	rknpu_recover_silence(core);
	/* A fault while idle comes without a power reference. */
	ret = rknpu_sched_power_up(core);
	if (ret)
		rknpu_recover_give_up(core, ret);
	else if (rknpu_recover_was_late(core))
		rknpu_recover_listen(core);
	else
		rknpu_recover_from(core);
}

static void rknpu_recover_retire(struct rknpu_core *core)
{
	if (core->pm_held) {
		rknpu_sched_set_held(core, false);
		pm_runtime_put_noidle(core->dev);
	}
	rknpu_core_retire(core);
	/* Suspended, so that a stuck IOMMU is not asked to let go. */
	rknpu_recover_detach(core);
}

static void rknpu_recover_dispatch_others(struct rknpu_core *core)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++)
		rknpu_sched_dispatch(&core->rdev->cores[i]);
}

/*
 * Lock held. With a core in it that cannot be made to let go, a shared IOMMU
 * cannot be switched any more, and the core could get at any VM that comes.
 */
static void rknpu_recover_lose_iommu(struct rknpu_core *core)
{
	unsigned int i;

	if (!core->iommu->shared || core->iommu->lost)
		return;
	WRITE_ONCE(core->iommu->lost, true);
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *other = &core->rdev->cores[i];

		if (other == core || other->iommu != core->iommu ||
		    other->state == RKNPU_CORE_ABSENT || other->state == RKNPU_CORE_DEAD)
			continue;
		other->state = RKNPU_CORE_RECOVERING;
		queue_work(other->wq, &other->work);
	}
}

void rknpu_recover_give_up(struct rknpu_core *core, int error)
{
	LIST_HEAD(stranded);

	dev_err(core->dev, "core %u taken out of service: %d\n", core->index, error);
	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_RETIRED, 1);
	rknpu_recover_silence(core);
	rknpu_recover_retire(core);

	spin_lock_irq(&core->rdev->lock);
	/* Not if the device is being unbound: then that takes care of the job. */
	if (core->state != RKNPU_CORE_ABSENT) {
		core->state = RKNPU_CORE_DEAD;
		rknpu_recover_lose_iommu(core);
		/* Taken for this core, but not started. */
		if (core->job)
			rknpu_sched_put_back(core);
		rknpu_queue_evacuate(core, &stranded);
		rknpu_recover_dispatch_others(core);
	}
	spin_unlock_irq(&core->rdev->lock);

	rknpu_job_end_list(&stranded, RKNPU_CAUSE_DEVICE_GONE);
}
