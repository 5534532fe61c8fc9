// SPDX-License-Identifier: GPL-2.0-only
/* Owns the scheduler: starting jobs and tasks, their completion, their deadlines. */
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>

#include "rknpu_device.h"
#include "rknpu_gang.h"
#include "rknpu_pc.h"
#include "rknpu_queue.h"
#include "rknpu_recover.h"
#include "rknpu_regs.h"
#include "rknpu_sched.h"
#include "rknpu_share.h"
#include "rknpu_vm.h"

/* When a job is stopped for system sleep: for the reset, and how often that is looked at. */
#define RKNPU_SCHED_STOP_MS	10000
#define RKNPU_SCHED_STOP_LOOK_MS	100
/* For an interrupt that is due, once a task is late. */
#define RKNPU_SCHED_GRACE_MS	30

/* Of rknpu_job::timeout_ns. */
#define RKNPU_SCHED_TIMEOUT_MIN_NS	(1ULL * NSEC_PER_MSEC)
#define RKNPU_SCHED_TIMEOUT_MAX_NS	(60ULL * NSEC_PER_SEC)

static uint default_timeout_ms = 500;
module_param(default_timeout_ms, uint, 0644);
MODULE_PARM_DESC(default_timeout_ms, "How long one task may take, in ms (default 500)");

u64 rknpu_sched_default_timeout_ns(void)
{
	return mul_u32_u32(max(1U, READ_ONCE(default_timeout_ms)), NSEC_PER_MSEC);
}

/*
 * Only the blocks named CNA and CORE can be asked whether they are busy, so a
 * task of other blocks alone must not take that long.
 */
static uint start_check_ms = 100;
module_param(start_check_ms, uint, 0644);
MODULE_PARM_DESC(start_check_ms, "After how long to look whether a task has started at all, in ms; 0: never (default 100)");

/*
 * What keeps its core from task to task, because it may leave data in it, must
 * not keep it from others, and from system sleep, for ever.
 */
static uint max_job_ms = 10000;
module_param(max_job_ms, uint, 0644);
MODULE_PARM_DESC(max_job_ms, "How long a job that cannot be interrupted between its tasks may keep a core, in ms (default 10000)");

static uint sleep_wait_ms = 5000;
module_param(sleep_wait_ms, uint, 0644);
MODULE_PARM_DESC(sleep_wait_ms, "How long system sleep waits for a running job before it stops it, to run it again later, in ms (default 5000)");

/* Lock held. Idle cores that are still powered need nobody to wake up to start a job. */
static bool rknpu_sched_hold_active(struct rknpu_core *core)
{
	if (!core->pm_held)
		core->pm_held = pm_runtime_get_if_active(core->dev) > 0;
	return core->pm_held;
}

bool rknpu_sched_may_retry(const struct rknpu_job *job)
{
	return !job->retried && !job->cancelled && (!job->result.task || job->divisible);
}

static void rknpu_sched_watch(struct rknpu_core *core, unsigned long delay)
{
	queue_delayed_work(core->wq, &core->watchdog, delay);
}

/* A chain longer than the counter is wide takes several kicks. */
static u32 rknpu_sched_kick_tasks(const struct rknpu_job *job)
{
	if (!job->batched)
		return 1;
	return min_t(u32, job->task_count - job->result.task, RKNPU_PC_TASK_CON_TASK_NUMBER_MAX);
}

/* Starts the next task of the job, or the next ones if they are chained. */
static void rknpu_sched_kick(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	core->kick_tasks = rknpu_sched_kick_tasks(job);
	rknpu_pc_start(core, job);
	core->loud = true;
	core->kick_seen = 0;
	core->deadline = jiffies + core->task_timeout;
	core->look_at = jiffies + core->look_delay;
	/* What cannot be tried again is given all its time. */
	core->looked = core->look_delay >= core->task_timeout || !rknpu_sched_may_retry(job);
	core->late = false;
	/* Left pending over many tasks: it looks at the times above when it fires. */
	rknpu_sched_watch(core, core->look_delay);
}

static unsigned long rknpu_sched_timeout(const struct rknpu_job *job)
{
	u64 ns = job->timeout_ns;

	if (!ns)
		return msecs_to_jiffies(max(1U, READ_ONCE(default_timeout_ms))) + 1;
	return nsecs_to_jiffies(clamp(ns, RKNPU_SCHED_TIMEOUT_MIN_NS,
				      RKNPU_SCHED_TIMEOUT_MAX_NS)) + 1;
}

static void rknpu_sched_set_timeout(struct rknpu_core *core, unsigned long timeout)
{
	unsigned int check_ms = READ_ONCE(start_check_ms);
	unsigned long delay = check_ms ? min(msecs_to_jiffies(check_ms) + 1, timeout) : timeout;

	/* A watchdog that is pending for a longer one would come too late. */
	if (delay < core->look_delay)
		mod_delayed_work(core->wq, &core->watchdog, delay);
	core->look_delay = delay;
	core->task_timeout = timeout;
}

/* Lock held: core->job has been taken, the core is powered and has its VM attached. */
void rknpu_sched_start_job(struct rknpu_core *core)
{
	core->state = RKNPU_CORE_RUNNING;
	core->cause = RKNPU_CAUSE_NONE;
	rknpu_sched_set_timeout(core, rknpu_sched_timeout(core->job));
	core->job->start_ns = ktime_get_ns();
	rknpu_sched_kick(core);
}

static void rknpu_sched_take(struct rknpu_core *core, struct rknpu_job *job)
{
	rknpu_queue_take(core, job);
	job->state = RKNPU_JOB_ON_CORE;
	job->result.core = core->index;
	WRITE_ONCE(core->job, job);
	rknpu_share_took(core, job);
}

struct rknpu_job *rknpu_sched_drop_job(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	lockdep_assert_held(&core->rdev->lock);
	if (!job)
		return NULL;
	WRITE_ONCE(core->job, NULL);
	job->state = RKNPU_JOB_ENDING;
	list_del_init(&job->client_link);
	if (core->frozen)
		wake_up_all(&core->idle_wait);
	return job;
}

static void rknpu_sched_dispatch_core(struct rknpu_core *core)
{
	struct rknpu_job *job;

	if (core->state != RKNPU_CORE_IDLE || core->frozen)
		return;
	job = rknpu_queue_next(core);
	if (!job || !rknpu_share_admits(core, job))
		return;

	/*
	 * In this order: a core that goes to sleep takes its VM off. The work also
	 * cleans up after a fault, and ends what was on a core when it was cancelled.
	 */
	if (!rknpu_sched_hold_active(core) || rknpu_core_vm(core) != job->vm ||
	    core->irq_off || job->cancelled) {
		core->state = RKNPU_CORE_STARTING;
		queue_work(core->wq, &core->work);
		return;
	}
	rknpu_sched_take(core, job);
	rknpu_gang_start(core);
}

void rknpu_sched_dispatch(struct rknpu_core *core)
{
	unsigned int i;

	lockdep_assert_held(&core->rdev->lock);
	rknpu_sched_dispatch_core(core);
	/* What this one does decides about cores that share its IOMMU. */
	for (i = 0; i < RKNPU_MAX_CORES && core->iommu->shared; i++)
		rknpu_sched_dispatch_core(&core->rdev->cores[i]);
}

static bool rknpu_sched_between_jobs(struct rknpu_core *core)
{
	return core->state == RKNPU_CORE_IDLE || core->state == RKNPU_CORE_STARTING;
}

void rknpu_sched_rest(struct rknpu_core *core)
{
	unsigned long flags;

	spin_lock_irqsave(&core->rdev->lock, flags);
	if (core->loud && core->powered && core->pm_held && rknpu_sched_between_jobs(core)) {
		rknpu_pc_quiesce(core);
		core->loud = false;
	}
	if (core->state == RKNPU_CORE_IDLE && core->pm_held) {
		core->pm_held = false;
		pm_runtime_mark_last_busy(core->dev);
		pm_runtime_put_autosuspend(core->dev);
	}
	spin_unlock_irqrestore(&core->rdev->lock, flags);
}

/*
 * Lock held. The core is done with @job, whose fence is about to be signalled.
 * Signalling takes time, in which the core would be idle.
 */
static void rknpu_sched_queue_heir(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_job *heir = READ_ONCE(job->heir);
	struct rknpu_core *other;

	/* With one dependency left, that is @job. */
	if (!heir || heir->state != RKNPU_JOB_WAITING || heir->cancelled ||
	    atomic_read(&heir->deps_pending) != 1)
		return;
	other = rknpu_queue_choose(core->rdev, heir);
	if (!other)
		return;
	rknpu_queue_add(other, heir);
	if (other != core)
		rknpu_sched_dispatch(other);
}

void rknpu_sched_put_back(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	lockdep_assert_held(&core->rdev->lock);
	rknpu_job_pause(job);
	WRITE_ONCE(core->job, NULL);
	rknpu_queue_put_back(core, job);
	if (core->frozen)
		wake_up_all(&core->idle_wait);
}

void rknpu_sched_start_over(struct rknpu_core *core)
{
	rknpu_sched_put_back(core);
	core->state = RKNPU_CORE_STARTING;
	queue_work(core->wq, &core->work);
}

/* Between two tasks of a job: on with it, unless others are more urgent. */
static void rknpu_sched_continue(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	if (job->divisible && (core->frozen || rknpu_queue_wants_core(core, job) ||
			       rknpu_share_turn_ends(core, job))) {
		rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_YIELDS, 1);
		rknpu_sched_put_back(core);
		core->state = RKNPU_CORE_IDLE;
		rknpu_sched_dispatch(core);
	} else {
		rknpu_sched_kick(core);
	}
}

struct rknpu_job *rknpu_sched_task_done(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	lockdep_assert_held(&core->rdev->lock);
	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_TASKS, core->kick_tasks);
	rknpu_pc_finish(core);
	job->result.task += core->kick_tasks;
	if (job->result.task < job->task_count && !job->cancelled) {
		rknpu_sched_continue(core);
		return NULL;
	}

	rknpu_sched_drop_job(core);
	core->state = RKNPU_CORE_IDLE;
	rknpu_sched_queue_heir(core, job);
	rknpu_sched_dispatch(core);
	return job;
}

void rknpu_sched_finish(struct rknpu_core *core, struct rknpu_job *job)
{
	bool all = job->result.task == job->task_count;

	rknpu_job_end(job, all ? RKNPU_CAUSE_DONE : RKNPU_CAUSE_CANCELLED);
	/*
	 * Only now, because a job that waited for this one may have started: that
	 * saves taking the interrupt down and power references up again.
	 */
	rknpu_sched_rest(core);
}

/* Lock held. */
static void rknpu_sched_suspect(struct rknpu_core *core, enum rknpu_cause cause)
{
	core->state = RKNPU_CORE_RECOVERING;
	core->cause = cause;
	queue_work(core->wq, &core->work);
}

/* Lock held. Returns a job that is over. */
static struct rknpu_job *rknpu_sched_handle_status(struct rknpu_core *core, u32 status)
{
	switch (core->state) {
	case RKNPU_CORE_RUNNING:
		core->job->result.int_status = status;
		if (!(status & RKNPU_INT_DMA_ERROR))
			return rknpu_pc_over(core, status) ? rknpu_sched_task_done(core) : NULL;
		rknpu_pc_mask(core);
		rknpu_sched_suspect(core, status & RKNPU_INT_DMA_WRITE_ERROR ?
				    RKNPU_CAUSE_DMA_WRITE : RKNPU_CAUSE_DMA_READ);
		return NULL;
	case RKNPU_CORE_RECOVERING:
		/* Recovery wants to see what was pending. */
		rknpu_pc_mask(core);
		return NULL;
	default:
		rknpu_pc_quiesce(core);
		return NULL;
	}
}

/*
 * The line is shared with the core's IOMMU, and CONFIG_DEBUG_SHIRQ calls this
 * at any time until it is freed: registers only while powered.
 */
irqreturn_t rknpu_sched_irq(int irq, void *data)
{
	struct rknpu_core *core = data;
	struct rknpu_job *over = NULL;
	unsigned long flags;
	u32 status = 0;

	spin_lock_irqsave(&core->rdev->lock, flags);
	if (core->powered)
		status = rknpu_pc_status(core);
	if (status) {
		rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_IRQS, 1);
		over = rknpu_sched_handle_status(core, status);
	}
	spin_unlock_irqrestore(&core->rdev->lock, flags);

	if (over)
		rknpu_sched_finish(core, over);
	return status ? IRQ_HANDLED : IRQ_NONE;
}

/* Lock held. A core that goes to sleep may not be powered up any more: that has to wait. */
static bool rknpu_sched_recovers_from_fault(struct rknpu_core *core)
{
	return core->state == RKNPU_CORE_RUNNING ||
	       (core->state == RKNPU_CORE_IDLE && !core->frozen);
}

void rknpu_sched_iommu_fault(struct rknpu_core *core, unsigned long iova, bool write)
{
	unsigned long flags;

	rknpu_core_stat_add(&core->stats, RKNPU_CORE_STAT_FAULTS, 1);
	spin_lock_irqsave(&core->rdev->lock, flags);
	if (rknpu_sched_recovers_from_fault(core)) {
		core->fault_iova = iova;
		core->fault_write = write;
		rknpu_sched_suspect(core, RKNPU_CAUSE_IOMMU_FAULT);
	}
	/*
	 * The IOMMU lets the access be retried, and nothing ends that but a
	 * reset of the core. Until then the line must not storm, whatever the
	 * core is doing. One that starts a job finds the line off, and resets
	 * first.
	 */
	if (!core->irq_off) {
		WRITE_ONCE(core->irq_off, true);
		disable_irq_nosync(core->irq);
	}
	spin_unlock_irqrestore(&core->rdev->lock, flags);
}

bool rknpu_sched_admit(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;
	unsigned long flags;
	bool admitted;

	spin_lock_irqsave(&client->rdev->lock, flags);
	admitted = !client->rdev->gone;
	if (admitted) {
		job->state = RKNPU_JOB_WAITING;
		list_add_tail(&job->client_link, &client->jobs);
	}
	spin_unlock_irqrestore(&client->rdev->lock, flags);
	return admitted;
}

/* Lock held. NONE, or why the job ends without having run. */
static enum rknpu_cause rknpu_sched_enqueue(struct rknpu_job *job)
{
	struct rknpu_core *core = rknpu_queue_choose(job->client->rdev, job);

	if (core && !job->cancelled) {
		rknpu_queue_add(core, job);
		rknpu_sched_dispatch(core);
		return RKNPU_CAUSE_NONE;
	}
	job->state = RKNPU_JOB_ENDING;
	list_del_init(&job->client_link);
	return core ? RKNPU_CAUSE_CANCELLED : RKNPU_CAUSE_DEVICE_GONE;
}

void rknpu_sched_ready(struct rknpu_job *job)
{
	struct rknpu_device *rdev = job->client->rdev;
	enum rknpu_cause cause = RKNPU_CAUSE_NONE;
	unsigned long flags;

	spin_lock_irqsave(&rdev->lock, flags);
	/* Otherwise the device went away meanwhile. */
	if (job->state == RKNPU_JOB_WAITING)
		cause = rknpu_sched_enqueue(job);
	spin_unlock_irqrestore(&rdev->lock, flags);

	if (cause != RKNPU_CAUSE_NONE)
		rknpu_job_end_later(job, cause);
}

void rknpu_sched_set_held(struct rknpu_core *core, bool held)
{
	spin_lock_irq(&core->rdev->lock);
	core->pm_held = held;
	spin_unlock_irq(&core->rdev->lock);
}

int rknpu_sched_power_up(struct rknpu_core *core)
{
	int ret;

	/* Only this work changes it while STARTING or RECOVERING; others look at it. */
	if (core->pm_held)
		return 0;
	ret = rknpu_core_power_on(core);
	if (!ret)
		rknpu_sched_set_held(core, true);
	return ret;
}

/* Lock held. Not idle with a line that is off: it may be other cores' too. */
static void rknpu_sched_start_nothing(struct rknpu_core *core)
{
	if (core->irq_off && !core->frozen)
		queue_work(core->wq, &core->work);
	else
		core->state = RKNPU_CORE_IDLE;
}

static struct rknpu_job *rknpu_sched_take_next(struct rknpu_core *core)
{
	struct rknpu_job *job;

	spin_lock_irq(&core->rdev->lock);
	job = core->state == RKNPU_CORE_STARTING && !core->frozen ? rknpu_queue_next(core) : NULL;
	if (job && !rknpu_share_admits(core, job))
		job = NULL;
	if (job)
		rknpu_sched_take(core, job);
	else if (core->state == RKNPU_CORE_STARTING)
		rknpu_sched_start_nothing(core);
	/* Others may have waited for it to start. */
	if (!job && core->iommu->shared)
		rknpu_sched_dispatch(core);
	spin_unlock_irq(&core->rdev->lock);
	return job;
}

static void rknpu_sched_start_taken(struct rknpu_core *core)
{
	struct rknpu_job *cancelled = NULL;

	spin_lock_irq(&core->rdev->lock);
	if (core->state == RKNPU_CORE_STARTING) {
		if (core->job->cancelled) {
			cancelled = rknpu_sched_drop_job(core);
			core->state = RKNPU_CORE_IDLE;
			rknpu_sched_dispatch(core);
		} else {
			rknpu_gang_start(core);
		}
	}
	spin_unlock_irq(&core->rdev->lock);

	if (cancelled)
		rknpu_sched_finish(core, cancelled);
}

/*
 * Powering up and attaching take locks of runtime PM, of clocks and of the
 * IOMMU group, under which others allocate memory. Fences that a shrinker
 * waits for must not depend on that, and no shrinker waits for those of an
 * NPU's BOs, which are pinned. It does keep this work from being annotated
 * with dma_fence_begin_signalling() as a whole; ending a job is.
 */
static void rknpu_sched_bring_up(struct rknpu_core *core)
{
	struct rknpu_job *job;
	int ret;

	ret = rknpu_sched_power_up(core);
	if (!ret && READ_ONCE(core->irq_off))
		ret = rknpu_recover_clean(core);
	if (ret) {
		rknpu_recover_give_up(core, ret);
		return;
	}

	job = rknpu_sched_take_next(core);
	if (!job) {
		rknpu_sched_rest(core);
		return;
	}

	do {
		if (READ_ONCE(core->irq_off))
			ret = rknpu_recover_clean(core);
		if (!ret)
			ret = rknpu_recover_attach(core, job->vm);
	} while (!ret && READ_ONCE(core->irq_off));
	if (ret)
		rknpu_recover_give_up(core, ret);
	else
		rknpu_sched_start_taken(core);
}

static void rknpu_sched_work(struct work_struct *work)
{
	struct rknpu_core *core = container_of(work, struct rknpu_core, work);
	enum rknpu_core_state state;

	spin_lock_irq(&core->rdev->lock);
	state = core->state;
	spin_unlock_irq(&core->rdev->lock);

	switch (state) {
	case RKNPU_CORE_STARTING:
		rknpu_sched_bring_up(core);
		break;
	case RKNPU_CORE_RECOVERING:
		rknpu_recover(core);
		break;
	default:
		break;
	}
}

/* The deadline is each task's: did one of the chain end since it was set? */
static bool rknpu_sched_chain_moves(struct rknpu_core *core)
{
	u32 done;

	if (core->kick_tasks == 1)
		return false;
	done = rknpu_pc_tasks_done(core);
	if (done == core->kick_seen)
		return false;
	core->kick_seen = done;
	core->deadline = jiffies + core->task_timeout;
	core->late = false;
	return true;
}

bool rknpu_sched_budget_over(struct rknpu_core *core)
{
	const struct rknpu_job *job = core->job;
	u64 budget = job->budget_ns ?: (u64)READ_ONCE(max_job_ms) * NSEC_PER_MSEC;
	u64 task = jiffies_to_nsecs(core->task_timeout);

	return !job->divisible &&
	       job->before_ns + ktime_get_ns() - job->start_ns > max(budget, task);
}

/* Lock held, RUNNING. When to look again, in jiffies, or 0: something is wrong. */
static unsigned long rknpu_sched_look(struct rknpu_core *core)
{
	unsigned long now = jiffies;

	if (rknpu_sched_budget_over(core))
		return 0;
	if (!core->looked) {
		if (time_before(now, core->look_at))
			return core->look_at - now;
		core->looked = true;
		if (!rknpu_pc_progressed(core))
			return 0;
	}
	if (time_after_eq(now, core->deadline)) {
		/*
		 * If it was the CPU that stood still (a virtual machine's does), the
		 * interrupt is about to come.
		 */
		if (!core->late) {
			core->late = true;
			return msecs_to_jiffies(RKNPU_SCHED_GRACE_MS);
		}
		if (!rknpu_sched_chain_moves(core))
			return 0;
	}
	return max(core->deadline - now, 1UL);
}

static void rknpu_sched_watchdog(struct work_struct *work)
{
	struct rknpu_core *core = container_of(to_delayed_work(work), struct rknpu_core, watchdog);
	bool recover = false;
	unsigned long again;

	spin_lock_irq(&core->rdev->lock);
	if (core->state == RKNPU_CORE_RUNNING) {
		again = rknpu_sched_look(core);
		if (again) {
			/* Not longer: another kick may have begun by then. */
			rknpu_sched_watch(core, min(again, core->look_delay));
		} else {
			core->state = RKNPU_CORE_RECOVERING;
			recover = true;
		}
	}
	spin_unlock_irq(&core->rdev->lock);

	if (recover)
		rknpu_recover(core);
}

int rknpu_sched_core_init(struct rknpu_core *core)
{
	INIT_WORK(&core->work, rknpu_sched_work);
	INIT_DELAYED_WORK(&core->watchdog, rknpu_sched_watchdog);
	core->wq = alloc_ordered_workqueue("rknpu/%u", WQ_HIGHPRI | WQ_MEM_RECLAIM, core->index);
	return core->wq ? 0 : -ENOMEM;
}

void rknpu_sched_core_fini(struct rknpu_core *core)
{
	destroy_workqueue(core->wq);
	core->wq = NULL;
}

void rknpu_sched_core_start(struct rknpu_core *core)
{
	spin_lock_irq(&core->rdev->lock);
	core->state = RKNPU_CORE_IDLE;
	spin_unlock_irq(&core->rdev->lock);
}

static void rknpu_sched_take_all(struct rknpu_device *rdev, struct list_head *taken)
{
	struct rknpu_client *client;

	spin_lock_irq(&rdev->lock);
	rdev->gone = true;
	list_for_each_entry(client, &rdev->clients, link)
		rknpu_client_take_jobs(client, taken);
	spin_unlock_irq(&rdev->lock);
}

static void rknpu_sched_core_stop(struct rknpu_core *core)
{
	struct rknpu_job *job;

	if (!core->dev)
		return;
	rknpu_recover_silence(core);
	spin_lock_irq(&core->rdev->lock);
	core->state = RKNPU_CORE_ABSENT;
	spin_unlock_irq(&core->rdev->lock);
	cancel_work_sync(&core->work);
	cancel_delayed_work_sync(&core->watchdog);
	/* A recovery that was under way has ended with the line on. */
	rknpu_recover_silence(core);

	spin_lock_irq(&core->rdev->lock);
	job = rknpu_sched_drop_job(core);
	spin_unlock_irq(&core->rdev->lock);
	if (job) {
		/* Without power it was retired with the job on it, and is in reset. */
		if (core->pm_held && rknpu_recover_reset(core))
			rknpu_core_park(core);
		rknpu_job_end(job, RKNPU_CAUSE_DEVICE_GONE);
	}
	if (core->pm_held) {
		rknpu_sched_set_held(core, false);
		pm_runtime_put(core->dev);
	}
	rknpu_recover_listen(core);
}

void rknpu_sched_stop(struct rknpu_device *rdev)
{
	LIST_HEAD(taken);
	unsigned int i;

	rknpu_sched_take_all(rdev, &taken);
	for (i = 0; i < RKNPU_MAX_CORES; i++)
		rknpu_sched_core_stop(&rdev->cores[i]);
	/* A core given up meanwhile may have passed its jobs to one that had been stopped. */
	rknpu_sched_take_all(rdev, &taken);
	/* Some of these waited for what the cores were doing. */
	rknpu_job_end_list(&taken, RKNPU_CAUSE_DEVICE_GONE);
}

static bool rknpu_sched_wait_empty(struct rknpu_core *core, unsigned int ms)
{
	return wait_event_timeout(core->idle_wait, !READ_ONCE(core->job), msecs_to_jiffies(ms));
}

static void rknpu_sched_interrupt(struct rknpu_core *core)
{
	spin_lock_irq(&core->rdev->lock);
	if (core->state == RKNPU_CORE_RUNNING)
		rknpu_sched_suspect(core, RKNPU_CAUSE_RESET_OTHER);
	spin_unlock_irq(&core->rdev->lock);
}

/* It may be starting, or its next task was started when it should have stopped. */
static bool rknpu_sched_stop_job(struct rknpu_core *core)
{
	unsigned int ms;

	for (ms = 0; ms < RKNPU_SCHED_STOP_MS; ms += RKNPU_SCHED_STOP_LOOK_MS) {
		rknpu_sched_interrupt(core);
		if (rknpu_sched_wait_empty(core, RKNPU_SCHED_STOP_LOOK_MS))
			return true;
	}
	return false;
}

/* Both with the lock held. */
static void rknpu_sched_freeze_all(struct rknpu_device *rdev)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		rdev->cores[i].frozen = true;
		/* No more of its gang will start. */
		if (rdev->cores[i].job)
			rknpu_gang_dissolve(rdev, rdev->cores[i].job);
	}
}

static void rknpu_sched_thaw_all(struct rknpu_device *rdev)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &rdev->cores[i];

		core->frozen = false;
		/* A fault that came meanwhile has not been answered. */
		if (core->irq_off && core->state == RKNPU_CORE_IDLE)
			rknpu_sched_suspect(core, RKNPU_CAUSE_IOMMU_FAULT);
	}
	for (i = 0; i < RKNPU_MAX_CORES; i++)
		rknpu_sched_dispatch(&rdev->cores[i]);
}

int rknpu_sched_core_freeze(struct rknpu_core *core)
{
	spin_lock_irq(&core->rdev->lock);
	/* All of them, or what one core gives up the next one takes. */
	if (!core->rdev->sleeping++)
		rknpu_sched_freeze_all(core->rdev);
	spin_unlock_irq(&core->rdev->lock);

	if (rknpu_sched_wait_empty(core, READ_ONCE(sleep_wait_ms)) || rknpu_sched_stop_job(core)) {
		/* Recovery may still be busy with what the job left behind. */
		flush_work(&core->work);
		flush_delayed_work(&core->watchdog);
		/* Nor may the handler still be quieting the core after the job. */
		synchronize_irq(core->irq);
		return 0;
	}
	rknpu_sched_core_thaw(core);
	return -EBUSY;
}

void rknpu_sched_core_thaw(struct rknpu_core *core)
{
	spin_lock_irq(&core->rdev->lock);
	if (!--core->rdev->sleeping)
		rknpu_sched_thaw_all(core->rdev);
	spin_unlock_irq(&core->rdev->lock);
}

/*
 * Not left in reset if that is not needed: the next kernel's IOMMU driver, if it
 * is started by kexec, programs what is behind the same resets before any driver
 * of the NPU is there to release them.
 */
void rknpu_sched_core_shutdown(struct rknpu_core *core)
{
	rknpu_recover_silence(core);
	if (pm_runtime_get_if_active(core->dev) > 0 && rknpu_recover_reset(core))
		rknpu_core_park(core);
}
