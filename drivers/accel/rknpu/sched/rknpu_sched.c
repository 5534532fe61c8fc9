// SPDX-License-Identifier: GPL-2.0-only
/* Owns the scheduler: starting jobs and tasks, their completion, cancelling them. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_pc.h"
#include "hw/rknpu_poll.h"
#include "hw/rknpu_regs.h"
#include "hw/rknpu_scrub.h"
#include "rknpu_burst.h"
#include "rknpu_limits.h"
#include "rknpu_params.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched.h"
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
 * run queue of the core that has least to do: rknpu_runqueue_choose() and
 * rknpu_runqueue_add(). Each core has a run queue. In it, jobs of one client and
 * priority form an entity, and entities take time slices; those of clients that
 * use little are boosted.
 *
 * The start. rknpu_sched_dispatch() asks rknpu_runqueue_next() for the next job
 * of an idle core. If the core is powered and has the job's domain attached,
 * rknpu_sched_start() fills struct rknpu_kick and rknpu_pc_start() writes the
 * registers, in whatever context this is. Otherwise the core is STARTING, and
 * its work (rknpu_recover.c) powers it up and attaches the domain first. Jobs of
 * a gang wait on their cores, STARTING, until the last one is ready; see struct
 * rknpu_gang.
 *
 * The way out. rknpu_sched_irq() reads what interrupts. If the task is over,
 * the next task of the job starts, or the job leaves the core and the next one
 * starts, both from the hard interrupt handler; so the gap between two jobs is
 * a few register accesses. The job's successor, the first job that waits for its
 * fence, is queued before that fence signals, for the same reason. Then
 * rknpu_job_end() records the result and signals the fence. The other jobs that
 * wait for it, of which there may be thousands, are left to rknpu_sched::work.
 *
 * Quiet jobs are over without an interrupt: one kick runs them with the next job of
 * their burst, see "bursts" in rknpu_burst.c.
 *
 * A core without interrupts, and a job that wants none, is polled: the timer of
 * hw/rknpu_poll.c, or who waits for the job (rknpu_sched_spin()), calls
 * rknpu_sched_poll(), which goes on as the interrupt handler does.
 *
 * Deadlines. A watchdog per core looks at a kick once soon, whether it has
 * started at all, and when the running task is late. Errors, page faults and
 * late tasks make the core RECOVERING: its work finds out what happened, ends the
 * job, resets the core, and runs the innocent again. See "states of a core" and
 * "states of a job".
 *
 * Locks. All of this is under rknpu_hw::lock, which is taken inside fence locks:
 * fences are signalled without it, and it is held for a few jobs at a time.
 * Nothing is allocated between a job's push and its end.
 */

/*
 * How long cores that are ready wait for the rest of a gang, which ends what it had
 * begun before: as long as one task may take by default.
 */
#define RKNPU_SCHED_GANG_MS	500

/* How many jobs are dealt with under the lock, with interrupts off, at a time. */
#define RKNPU_SCHED_BATCH	16

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

unsigned int rknpu_sched_quietest_core(struct rknpu_sched *sched, u32 mask)
{
	unsigned int load, least = UINT_MAX, best = ffs(mask) - 1;
	struct rknpu_runqueue *rq;

	guard(spinlock_irq)(&sched->hw->lock);
	rknpu_for_each_rq(rq, sched) {
		if (!(mask & BIT(rq->core->index)) || !rknpu_runqueue_in_service(rq))
			continue;
		load = rq->queued + (rq->state != RKNPU_CORE_IDLE);
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
	struct rknpu_runqueue *rq = core->rq;
	u64 now = div_u64(ktime_get_ns(), NSEC_PER_SEC);
	u64 busy = 0;

	if (!now)
		return 0;
	scoped_guard(spinlock_irqsave, &rq->sched->hw->lock)
		busy = rknpu_load_finished(&rq->load, now - 1) +
		       rknpu_sched_running_ns(rq, now - 1);
	return min_t(u64, div_u64(busy, NSEC_PER_SEC / 100), 100);
}

/* Lock held. Idle cores that are still powered need nobody to wake up to start a job. */
static bool rknpu_sched_hold_active(struct rknpu_runqueue *rq)
{
	if (!rq->pm_held)
		rq->pm_held = pm_runtime_get_if_active(rq->core->dev) > 0;
	return rq->pm_held;
}

bool rknpu_sched_may_retry(const struct rknpu_job *job)
{
	return !job->retried && !job->cancelled && (!job->result.task || job->divisible);
}

static void rknpu_sched_watch(struct rknpu_runqueue *rq, unsigned long delay)
{
	queue_delayed_work(rq->wq, &rq->watchdog, delay);
}

static void rknpu_sched_fill_kick(struct rknpu_runqueue *rq)
{
	const struct rknpu_job *job = rq->job, *last;
	const struct rknpu_task *task = rknpu_job_task(job, job->result.task);
	struct rknpu_kick *kick = &rq->core->kick;

	kick->regcmd = task->regcmd;
	kick->regcmd_count = task->regcmd_count;
	/* A chain longer than the counter is wide takes several kicks. */
	kick->tasks = !job->batched ? 1 : min_t(u32, job->task_count - job->result.task,
						RKNPU_PC_TASK_CON_TASK_NUMBER_MAX);
	last = rknpu_burst_begin(rq, &kick->tasks);
	if (last != job)
		task = rknpu_job_task(last, last->task_count - 1);
	kick->int_mask = task->int_mask;
	kick->dma_base = job->dma_base;
	kick->no_pingpong = job->no_pingpong;
	kick->polled = rq->core->polled || job->polled;
}

/* Starts the next task of the job, or the next ones if they are chained. */
static void rknpu_sched_start_kick(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;

	rknpu_sched_fill_kick(rq);
	rknpu_pc_start(core);
	if (core->kick.polled || rq->burst.wanted)
		rknpu_poll_start(core);
	if (!core->kick.polled)
		rq->irq_pending = true;
}

static void rknpu_sched_watch_kick(struct rknpu_runqueue *rq)
{
	rq->watch.tasks_seen = 0;
	rq->watch.deadline = jiffies + rq->watch.timeout;
	rq->watch.look_at = jiffies + rq->watch.look_delay;
	/* What cannot be tried again is given all its time. */
	rq->watch.looked = rq->watch.look_delay >= rq->watch.timeout ||
			   !rknpu_sched_may_retry(rq->job);
	rq->watch.late = false;
	/* Left pending over many tasks: it looks at the times above when it fires. */
	rknpu_sched_watch(rq, rq->watch.look_delay);
}

static void rknpu_sched_set_timeout(struct rknpu_runqueue *rq, unsigned long timeout)
{
	unsigned int check_ms = READ_ONCE(rknpu_params.start_check_ms);
	unsigned long delay = check_ms ? min(msecs_to_jiffies(check_ms) + 1, timeout) : timeout;

	/* A watchdog that is pending for a longer one would come too late. */
	if (delay < rq->watch.look_delay)
		mod_delayed_work(rq->wq, &rq->watchdog, delay);
	rq->watch.look_delay = delay;
	rq->watch.timeout = timeout;
}

static void rknpu_sched_run(struct rknpu_runqueue *rq)
{
	rknpu_runqueue_set_state(rq, RKNPU_CORE_RUNNING);
	rq->fault.cause = RKNPU_CAUSE_NONE;
	rknpu_scrub_mark(rq->core, &rq->job->vm->domain);
	rknpu_sched_start_kick(rq);
	/* What else there is to do is done while the core works. */
	rq->job->start_ns = ktime_get_ns();
	rq->job->expected_ns *= rq->burst.jobs;
	trace_rknpu_job_start(rq->job, rq->core->index);
	rknpu_sched_set_timeout(rq, rknpu_limits_timeout(rq->job));
	rknpu_sched_watch_kick(rq);
}

/* It is in no queue any more. */
static void rknpu_sched_put_on_core(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_job_set_state(job, RKNPU_JOB_ON_CORE);
	job->result.core = rq->core->index;
	WRITE_ONCE(rq->job, job);
}

static void rknpu_sched_take(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_runqueue_take(rq, job);
	rknpu_sched_put_on_core(rq, job);
}

static void rknpu_sched_leave_core(struct rknpu_runqueue *rq)
{
	rq->burst.jobs = 0;
	WRITE_ONCE(rq->job, NULL);
	if (rq->frozen)
		wake_up_all(&rq->idle_wait);
}

struct rknpu_job *rknpu_sched_drop_job(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (!job)
		return NULL;
	rknpu_job_pause(job, ktime_get_ns());
	rknpu_job_leave(job);
	rknpu_sched_leave_core(rq);
	return job;
}

void rknpu_sched_put_back(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	lockdep_assert_held(&rq->sched->hw->lock);
	rknpu_job_pause(job, ktime_get_ns());
	rknpu_runqueue_put_back(rq, job);
	rknpu_sched_leave_core(rq);
}

/*
 * A fault of what ran before has to be cleaned up first, and a job that was
 * cancelled meanwhile has to be ended, by the core's work.
 */
static void rknpu_sched_start_over(struct rknpu_runqueue *rq)
{
	rknpu_sched_put_back(rq);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
	queue_work(rq->wq, &rq->work);
}

static void rknpu_sched_start_gang(struct rknpu_sched *sched, u32 ready)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (!(ready & BIT(rq->core->index)))
			continue;
		if (rq->core->irq_off || rq->job->cancelled)
			rknpu_sched_start_over(rq);
		else
			rknpu_sched_run(rq);
	}
	/* Another gang may have been kept waiting. */
	rknpu_sched_dispatch_all(sched);
}

/* The core is idle until the rest of the gang is ready, but not for long. */
static void rknpu_sched_keep(struct rknpu_runqueue *rq)
{
	unsigned long delay = msecs_to_jiffies(RKNPU_SCHED_GANG_MS);

	rq->watch.gang_at = jiffies + delay;
	/* For rknpu_sched_set_timeout(). */
	rq->watch.look_delay = delay;
	mod_delayed_work(rq->wq, &rq->watchdog, delay);
}

void rknpu_sched_start(struct rknpu_runqueue *rq)
{
	struct rknpu_gang *gang = rq->job->gang;
	u32 ready;

	/* A fault since whoever took the job looked: nobody else would turn the line on. */
	if (rq->core->irq_off) {
		rknpu_sched_start_over(rq);
		return;
	}
	if (!gang || !gang->open) {
		rknpu_sched_run(rq);
		return;
	}
	rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
	if (rknpu_gang_ready(rq, &ready))
		rknpu_sched_start_gang(rq->sched, ready);
	else
		rknpu_sched_keep(rq);
}

void rknpu_sched_dissolve_gang(struct rknpu_job *job)
{
	u32 ready;

	lockdep_assert_held(&job->client->sched->hw->lock);
	if (rknpu_gang_dissolve(job, &ready))
		rknpu_sched_start_gang(job->client->sched, ready);
}

/*
 * Can the core, which is idle, start the job without its work? The work also
 * cleans up after a fault, and ends what was on a core when it was cancelled.
 */
static bool rknpu_sched_is_ready_for(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	/* In this order: a core that goes to sleep takes its domain off. */
	return rknpu_sched_hold_active(rq) &&
	       rknpu_iommu_domain(rq->core->iommu) == &job->vm->domain &&
	       !rq->core->irq_off && !job->cancelled;
}

/*
 * The short way of the usual job: there is nobody whom it could pass over, so it
 * need not be queued. False: it has to be.
 */
static bool rknpu_sched_start_directly(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (rq->state != RKNPU_CORE_IDLE || rq->queued || rq->frozen || rq->sched->gang ||
	    job->gang || rq->core->iommu->shared || !rknpu_sched_is_ready_for(rq, job))
		return false;
	rknpu_runqueue_pass_through(rq, job);
	rknpu_sched_put_on_core(rq, job);
	rknpu_sched_start(rq);
	return true;
}

static void rknpu_sched_dispatch_one(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job;

	if (rq->state != RKNPU_CORE_IDLE || rq->frozen)
		return;
	job = rknpu_runqueue_next(rq);
	if (!job)
		return;

	if (!rknpu_sched_is_ready_for(rq, job)) {
		rknpu_runqueue_set_state(rq, RKNPU_CORE_STARTING);
		rknpu_runqueue_wakes(rq);
		queue_work(rq->wq, &rq->work);
		return;
	}
	rknpu_sched_take(rq, job);
	rknpu_sched_start(rq);
}

void rknpu_sched_dispatch_all(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched)
		rknpu_sched_dispatch(rq);
}

void rknpu_sched_dispatch(struct rknpu_runqueue *rq)
{
	struct rknpu_runqueue *other;

	lockdep_assert_held(&rq->sched->hw->lock);
	rknpu_sched_dispatch_one(rq);
	if (!rq->core->iommu->shared && !rq->sched->gang)
		return;
	/* What this one does decides about cores behind the same IOMMU, and of a gang. */
	rknpu_for_each_rq(other, rq->sched)
		rknpu_sched_dispatch_one(other);
}

/* Lock held. Not idle with a line that is off: it may be other cores' too. */
static void rknpu_sched_start_nothing(struct rknpu_runqueue *rq)
{
	if (rq->core->irq_off && !rq->frozen)
		queue_work(rq->wq, &rq->work);
	else
		rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
}

struct rknpu_job *rknpu_sched_take_next(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = NULL;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (rq->state == RKNPU_CORE_STARTING && !rq->frozen)
		job = rknpu_runqueue_next(rq);
	if (job)
		rknpu_sched_take(rq, job);
	else if (rq->state == RKNPU_CORE_STARTING)
		rknpu_sched_start_nothing(rq);
	/* Others may have waited for it to start, or to take the job of a gang. */
	if (rq->sched->gang || (!job && rq->core->iommu->shared))
		rknpu_sched_dispatch(rq);
	return job;
}

static bool rknpu_sched_between_jobs(struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_IDLE || rq->state == RKNPU_CORE_STARTING;
}

static void rknpu_sched_rest_locked(struct rknpu_runqueue *rq)
{
	struct rknpu_core *core = rq->core;

	if (rq->irq_pending && core->powered && rq->pm_held && !core->scrubbing &&
	    rknpu_sched_between_jobs(rq)) {
		rknpu_pc_quiesce(core);
		rq->irq_pending = false;
	}
	if (rq->state == RKNPU_CORE_IDLE && rq->pm_held) {
		rq->pm_held = false;
		pm_runtime_put_autosuspend(core->dev);
	}
}

static struct rknpu_job *rknpu_sched_successor(struct rknpu_job *job)
{
	struct rknpu_dep *first = list_first_entry_or_null(&job->dependents, struct rknpu_dep,
							   waiter);

	return first ? first->job : NULL;
}

void rknpu_sched_rest(struct rknpu_runqueue *rq)
{
	guard(spinlock_irqsave)(&rq->sched->hw->lock);
	rknpu_sched_rest_locked(rq);
}

/* Lock held. Is @next to be queued before the fence of @job signals? The core is done with that. */
static bool rknpu_sched_is_early(struct rknpu_runqueue *rq, struct rknpu_job *job,
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
	return rknpu_runqueue_choose(rq->sched, next, rq) == rq;
}

/*
 * Lock held. The core is done with @job, whose fence is about to be signalled.
 * Signalling takes time, in which the core would be idle.
 */
static void rknpu_sched_queue_successor(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_job *next = rknpu_sched_successor(job);

	if (!rknpu_sched_is_early(rq, job, next))
		return;
	if (!rknpu_sched_start_directly(rq, next))
		rknpu_runqueue_add(rq, next);
	rknpu_job_dep_met(list_first_entry(&job->dependents, struct rknpu_dep, waiter));
	atomic_set(&next->deps_pending, 0);
	rq->early = next;
}

/* Between two tasks of a job: on with it, unless others are more urgent. */
static void rknpu_sched_continue(struct rknpu_runqueue *rq)
{
	if (rq->job->divisible && (rq->frozen || rknpu_runqueue_wants_core(rq))) {
		rknpu_core_stat_add(rq->core, RKNPU_CORE_STAT_YIELDS, 1);
		rknpu_sched_put_back(rq);
		rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
		rknpu_sched_dispatch(rq);
	} else {
		rknpu_sched_start_kick(rq);
		rknpu_sched_watch_kick(rq);
	}
}

static enum rknpu_cause rknpu_sched_end_cause(const struct rknpu_job *job)
{
	return job->result.task == job->task_count ? RKNPU_CAUSE_DONE : RKNPU_CAUSE_CANCELLED;
}

/* Lock held. They have left the core, and rknpu_sched::work ends them, in order. */
static void rknpu_sched_end_later(struct rknpu_sched *sched, struct list_head *over)
{
	struct rknpu_job *job;

	list_for_each_entry(job, over, link)
		job->result.cause = rknpu_sched_end_cause(job);
	list_splice_tail_init(over, &sched->ending);
	queue_work(sched->wq, &sched->work);
}

/* Lock held. Of each of the jobs of a kick that is over. */
static u64 rknpu_sched_average_ns(const struct rknpu_runqueue *rq)
{
	return div_u64(ktime_get_ns() - rq->burst.start_ns, rq->burst.jobs);
}

bool rknpu_sched_task_done(struct rknpu_runqueue *rq, struct list_head *over)
{
	struct rknpu_core *core = rq->core;
	struct rknpu_job *job;
	u64 average = 0;
	bool later;

	lockdep_assert_held(&core->hw->lock);
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_TASKS, core->kick.tasks);
	rknpu_pc_finish(core);
	if (rq->burst.jobs > 1) {
		rknpu_burst_pass(rq, core->kick.tasks, over);
		average = rknpu_sched_average_ns(rq);
	}
	job = rq->job;
	job->result.task += core->kick.tasks - rq->burst.before;
	trace_rknpu_task_done(job, core->index);
	if (job->result.task < job->task_count && !job->cancelled) {
		rknpu_sched_continue(rq);
		return false;
	}

	later = rq->burst.with_work || rq->burst.jobs > RKNPU_SCHED_BATCH;
	rknpu_sched_leave_core(rq);
	rknpu_runqueue_set_state(rq, RKNPU_CORE_IDLE);
	/* It could end before those that are ended later. */
	if (!later)
		rknpu_sched_queue_successor(rq, job);
	rknpu_sched_dispatch(rq);
	/* As in rknpu_sched_run(): the core has its next job now. */
	rknpu_job_pause(job, rq->state == RKNPU_CORE_RUNNING ? rq->job->start_ns : ktime_get_ns());
	rknpu_runqueue_job_took(job, average ?: job->before_ns);
	rknpu_job_leave(job);
	list_add_tail(&job->link, over);
	if (later)
		rknpu_sched_end_later(rq->sched, over);
	return true;
}

/* RUNNING. It may have been so for longer than is known, which is the client's gain. */
static void rknpu_sched_watch_job(struct rknpu_runqueue *rq)
{
	rknpu_sched_set_timeout(rq, rknpu_limits_timeout(rq->job));
	rq->watch.tasks_seen = rq->burst.before;
	rq->watch.deadline = jiffies + rq->watch.timeout;
	rq->watch.looked = true;
	rq->watch.late = false;
}

bool rknpu_sched_catch_up(struct rknpu_runqueue *rq)
{
	LIST_HEAD(over);

	lockdep_assert_held(&rq->sched->hw->lock);
	if (rq->burst.jobs <= 1)
		return false;
	rknpu_burst_pass(rq, rknpu_pc_tasks_done(rq->core), &over);
	if (list_empty(&over))
		return false;
	rq->burst.with_work = true;
	rknpu_sched_end_later(rq->sched, &over);
	if (rq->state == RKNPU_CORE_RUNNING)
		rknpu_sched_watch_job(rq);
	return true;
}

/*
 * @job waits for the core's other jobs because those of their clients were short
 * lately. If the running one is not, somebody has to notice.
 */
static void rknpu_sched_doubt(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (rq->state != RKNPU_CORE_RUNNING || rq->watch.spread ||
	    !rknpu_runqueue_lets_sleep(rq, job))
		return;
	rq->watch.spread = true;
	mod_delayed_work(rq->wq, &rq->watchdog, 1);
}

/* Lock held. NONE, or why the job ends without having run. */
static enum rknpu_cause rknpu_sched_enqueue(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	struct rknpu_runqueue *rq = sched->gone ? NULL : rknpu_runqueue_choose(sched, job, NULL);

	if (rq && !job->cancelled) {
		if (!rknpu_sched_start_directly(rq, job)) {
			rknpu_runqueue_add(rq, job);
			rknpu_sched_dispatch(rq);
			rknpu_sched_doubt(rq, job);
		}
		return RKNPU_CAUSE_NONE;
	}
	rknpu_job_leave(job);
	return rq ? RKNPU_CAUSE_CANCELLED : RKNPU_CAUSE_DEVICE_GONE;
}

/* Lock held. All dependencies are met. */
static void rknpu_sched_ready(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;
	enum rknpu_cause cause;

	/* Otherwise the device went away meanwhile. */
	if (job->state != RKNPU_JOB_WAITING)
		return;
	cause = rknpu_sched_enqueue(job);
	if (cause == RKNPU_CAUSE_NONE)
		return;
	job->result.cause = cause;
	list_add_tail(&job->link, &sched->ending);
	queue_work(sched->wq, &sched->work);
}

/* Lock held. What @dep waits for is over. */
static void rknpu_sched_meet(struct rknpu_dep *dep)
{
	struct rknpu_job *job = rknpu_job_dep_met(dep);

	if (atomic_dec_and_test(&job->deps_pending))
		rknpu_sched_ready(job);
}

/* @job's fence has signalled. */
static void rknpu_sched_meet_dependents(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;

	/* None comes any more, and usually the successor was the only one. */
	if (list_empty_careful(&job->dependents))
		return;
	guard(spinlock_irqsave)(&sched->hw->lock);
	if (!list_empty(&job->dependents))
		rknpu_sched_meet(list_first_entry(&job->dependents, struct rknpu_dep, waiter));
	if (list_empty(&job->dependents))
		return;
	list_splice_tail_init(&job->dependents, &sched->met);
	queue_work(sched->wq, &sched->work);
}

void rknpu_sched_end_job(struct rknpu_job *job, enum rknpu_cause cause)
{
	if (job->gang) {
		/* Those that wait for it to start with them need not any longer. */
		guard(spinlock_irqsave)(&job->client->sched->hw->lock);
		rknpu_sched_dissolve_gang(job);
	}
	rknpu_job_end(job, cause);
	rknpu_sched_meet_dependents(job);
	rknpu_job_put(job);
}

void rknpu_sched_end_jobs(struct list_head *jobs, enum rknpu_cause cause)
{
	bool cookie = dma_fence_begin_signalling();
	struct rknpu_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link) {
		list_del_init(&job->link);
		rknpu_sched_end_job(job, cause);
	}
	dma_fence_end_signalling(cookie);
}

/* Lock held. False: there is nothing to do. */
static bool rknpu_sched_work_step(struct rknpu_sched *sched)
{
	struct rknpu_job *job;

	if (!list_empty(&sched->met)) {
		rknpu_sched_meet(list_first_entry(&sched->met, struct rknpu_dep, waiter));
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
static bool rknpu_sched_work_batch(struct rknpu_sched *sched, struct list_head *ending)
{
	unsigned int i;

	guard(spinlock_irq)(&sched->hw->lock);
	for (i = 0; i < RKNPU_SCHED_BATCH && rknpu_sched_work_step(sched); i++)
		;
	list_splice_tail_init(&sched->ending, ending);
	return i || !list_empty(ending);
}

void rknpu_sched_work(struct work_struct *work)
{
	struct rknpu_sched *sched = container_of(work, struct rknpu_sched, work);
	bool cookie = dma_fence_begin_signalling();
	struct rknpu_job *job, *next;
	LIST_HEAD(ending);

	while (rknpu_sched_work_batch(sched, &ending)) {
		list_for_each_entry_safe(job, next, &ending, link) {
			list_del_init(&job->link);
			rknpu_sched_end_job(job, job->result.cause);
		}
		cond_resched();
	}
	dma_fence_end_signalling(cookie);
}

void rknpu_sched_end_in_order(struct rknpu_job *job, enum rknpu_cause cause, bool later)
{
	struct rknpu_sched *sched = job->client->sched;

	if (!later) {
		rknpu_sched_end_job(job, cause);
		return;
	}
	job->result.cause = cause;
	guard(spinlock_irqsave)(&sched->hw->lock);
	list_add_tail(&job->link, &sched->ending);
	queue_work(sched->wq, &sched->work);
}

void rknpu_sched_finish(struct rknpu_runqueue *rq, struct list_head *over)
{
	struct rknpu_job *job, *next;

	list_for_each_entry_safe(job, next, over, link) {
		list_del_init(&job->link);
		rknpu_sched_end_job(job, rknpu_sched_end_cause(job));
	}

	guard(spinlock_irqsave)(&rq->sched->hw->lock);
	rq->early = NULL;
	/*
	 * Only now, because a job that waited for this one may have started: that
	 * saves taking the interrupt down and power references up again.
	 */
	rknpu_sched_rest_locked(rq);
}

void rknpu_sched_suspect(struct rknpu_runqueue *rq, enum rknpu_cause cause)
{
	rknpu_runqueue_set_state(rq, RKNPU_CORE_RECOVERING);
	rq->fault.cause = cause;
	queue_work(rq->wq, &rq->work);
}

/* Lock held. True: the job is over, see rknpu_sched_task_done(). */
static bool rknpu_sched_handle_status(struct rknpu_runqueue *rq, u32 status,
				      struct list_head *over)
{
	struct rknpu_core *core = rq->core;

	switch (rq->state) {
	case RKNPU_CORE_RUNNING:
		rq->job->result.int_status = status;
		if (!(status & RKNPU_INT_DMA_ERROR))
			return rknpu_pc_over(core, status) && rknpu_sched_task_done(rq, over);
		rknpu_pc_mask(core);
		rknpu_sched_suspect(rq, status & RKNPU_INT_DMA_WRITE_ERROR ?
				    RKNPU_CAUSE_DMA_WRITE : RKNPU_CAUSE_DMA_READ);
		return false;
	case RKNPU_CORE_RECOVERING:
		/* Recovery wants to see what was pending. */
		rknpu_pc_mask(core);
		return false;
	default:
		rknpu_pc_quiesce(core);
		return false;
	}
}

/*
 * The line is shared with the core's IOMMU, and CONFIG_DEBUG_SHIRQ calls this
 * at any time until it is freed: registers only while powered.
 */
irqreturn_t rknpu_sched_irq(int irq, void *data)
{
	struct rknpu_core *core = data;
	unsigned long flags;
	bool done = false;
	LIST_HEAD(over);
	u32 status = 0;

	spin_lock_irqsave(&core->hw->lock, flags);
	if (core->powered)
		status = rknpu_pc_status(core);
	if (status) {
		core->irq_seen = true;
		core->lost_irqs = 0;
		rknpu_core_stat_add(core, RKNPU_CORE_STAT_IRQS, 1);
		done = rknpu_sched_handle_status(core->rq, status, &over);
	}
	spin_unlock_irqrestore(&core->hw->lock, flags);

	if (done)
		rknpu_sched_finish(core->rq, &over);
	return status ? IRQ_HANDLED : IRQ_NONE;
}

/* Lock held. The end of a kick, or that of a job within it. */
static bool rknpu_sched_is_polled(const struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_RUNNING && (rq->core->kick.polled || rq->burst.wanted);
}

/* Lock held. As rknpu_sched_handle_status() while RUNNING, if nothing interrupts. */
static bool rknpu_sched_look_at_kick(struct rknpu_runqueue *rq, struct list_head *over)
{
	struct rknpu_core *core = rq->core;
	u32 status;

	if (!rknpu_sched_is_polled(rq) || !core->powered || core->irq_off)
		return false;
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_POLLS, 1);
	if (rq->burst.wanted)
		rknpu_sched_catch_up(rq);
	if (!core->kick.polled || !rknpu_pc_polled(core, &status))
		return false;

	rq->job->result.int_status = status;
	if (!(status & RKNPU_INT_DMA_ERROR))
		return rknpu_sched_task_done(rq, over);
	rknpu_sched_suspect(rq, status & RKNPU_INT_DMA_WRITE_ERROR ?
			    RKNPU_CAUSE_DMA_WRITE : RKNPU_CAUSE_DMA_READ);
	return false;
}

bool rknpu_sched_poll(struct rknpu_core *core)
{
	struct rknpu_runqueue *rq = core->rq;
	bool left, again;
	LIST_HEAD(over);

	scoped_guard(spinlock_irqsave, &core->hw->lock) {
		left = rknpu_sched_look_at_kick(rq, &over);
		/* A core whose line is off is about to be recovered, or comes back. */
		again = rknpu_sched_is_polled(rq);
	}
	if (left)
		rknpu_sched_finish(rq, &over);
	return again;
}

/* False: there is nothing to look at. */
static bool rknpu_sched_look_at_all(struct rknpu_sched *sched)
{
	struct rknpu_core *core;
	bool running = false;

	rknpu_for_each_core(core, sched->hw) {
		if (READ_ONCE(core->kick.polled))
			running |= rknpu_poll_look(core);
	}
	return running;
}

bool rknpu_sched_spin(struct rknpu_sched *sched, s64 deadline_ns, bool (*over)(void *data),
		      void *data)
{
	unsigned int us = READ_ONCE(rknpu_params.spin_us);
	s64 until;

	if (!us)
		return false;
	until = min_t(s64, deadline_ns, ktime_get_ns() + (s64)us * NSEC_PER_USEC);
	while (!over(data)) {
		if (need_resched() || signal_pending(current) || (s64)ktime_get_ns() >= until ||
		    !rknpu_sched_look_at_all(sched))
			return over(data);
		cpu_relax();
	}
	return true;
}

/* Lock held. A core that goes to sleep may not be powered up any more: that has to wait. */
static bool rknpu_sched_recovers_from_fault(struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_RUNNING || (rq->state == RKNPU_CORE_IDLE && !rq->frozen);
}

void rknpu_sched_iommu_fault(struct rknpu_core *core, unsigned long iova, bool write)
{
	struct rknpu_runqueue *rq = core->rq;

	guard(spinlock_irqsave)(&core->hw->lock);
	rknpu_core_stat_add(core, RKNPU_CORE_STAT_FAULTS, 1);
	if (rknpu_sched_recovers_from_fault(rq)) {
		rq->fault.iova = iova;
		rq->fault.write = write;
		rknpu_sched_suspect(rq, RKNPU_CAUSE_IOMMU_FAULT);
	}
	/*
	 * The IOMMU lets the access be retried, and nothing ends that but a
	 * reset of the core. Until then the line must not storm, whatever the
	 * core is doing. One that starts a job finds the line off, and resets
	 * first.
	 */
	rknpu_core_mask_irq(core);
}

/* Makes a pushed job known, so that it can be ended; false: device gone. */
static bool rknpu_sched_admit(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;

	guard(spinlock_irqsave)(&sched->hw->lock);
	if (sched->gone)
		return false;
	rknpu_job_set_state(job, RKNPU_JOB_WAITING);
	list_add_tail(&job->client_link, &job->client->jobs);
	return true;
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
	list_add_tail(&job->link, &sched->ready);
	queue_work(sched->wq, &sched->work);
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

/* Ready, unless it waits for something, or has ended. */
static void rknpu_sched_pushed(struct rknpu_job *job)
{
	guard(spinlock_irqsave)(&job->client->sched->hw->lock);
	if (atomic_dec_and_test(&job->deps_pending))
		rknpu_sched_ready(job);
}

/* It waits for what it has to, and for rknpu_sched_pushed(). */
static void rknpu_sched_begin_push(struct rknpu_job *job)
{
	struct rknpu_dep *dep;

	/* Once admitted it can be cancelled, and gone, at any time. */
	rknpu_job_get(job);
	trace_rknpu_job_submit(job);
	if (rknpu_sched_admit(job)) {
		list_for_each_entry(dep, &job->deps, link)
			rknpu_sched_wait_for_dep(job, dep);
	} else {
		rknpu_sched_end_job(job, RKNPU_CAUSE_DEVICE_GONE);
	}
}

void rknpu_sched_push(struct rknpu_job **jobs, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		rknpu_sched_begin_push(jobs[i]);
	/* The first one comes last: it takes those along that wait for nothing else. */
	while (i--) {
		rknpu_sched_pushed(jobs[i]);
		rknpu_job_put(jobs[i]);
	}
}

/* Lock held. The job is in no core's hands. */
static void rknpu_sched_take_job(struct rknpu_job *job, struct list_head *taken)
{
	if (job->state == RKNPU_JOB_QUEUED)
		rknpu_runqueue_remove(job);
	rknpu_job_leave(job);
	/* It may have been in rknpu_sched::ready. */
	list_move_tail(&job->link, taken);
}

static void rknpu_sched_take_client(struct rknpu_client *client, struct list_head *taken)
{
	struct rknpu_job *job, *next;

	list_splice_tail_init(&client->visit, &client->jobs);
	list_for_each_entry_safe(job, next, &client->jobs, client_link) {
		/* Fences of one context signal in order: what waits for jobs ends after those. */
		if (job->state != RKNPU_JOB_ON_CORE && !job->jobs_pending)
			rknpu_sched_take_job(job, taken);
	}
}

void rknpu_sched_take_all(struct rknpu_sched *sched, struct list_head *taken)
{
	struct rknpu_client *client;

	lockdep_assert_held(&sched->hw->lock);
	sched->gone = true;
	list_for_each_entry(client, &sched->clients, link)
		rknpu_sched_take_client(client, taken);
}

/*
 * Lock held. What runs of a job may go on for a moment: a task that ends by itself
 * costs less than a reset, but a chain may be of 4095 tasks.
 */
static void rknpu_sched_hurry(struct rknpu_runqueue *rq)
{
	unsigned long grace = rknpu_limits_grace();

	rq->watch.cancel_at = jiffies + grace;
	/* Otherwise it is not started any more, or does not go on. */
	if (rq->state == RKNPU_CORE_RUNNING)
		mod_delayed_work(rq->wq, &rq->watchdog, min(grace, rq->watch.look_delay));
}

/* Lock held. Once is enough: cancelled again it gets no more time. */
static void rknpu_sched_cancel_job(struct rknpu_job *job, struct list_head *taken)
{
	if (job->cancelled)
		return;
	job->cancelled = true;
	/* An early one ends when its core comes to it. */
	if (job->state == RKNPU_JOB_QUEUED && job->rq->early != job)
		rknpu_sched_take_job(job, taken);
	else if (job->state == RKNPU_JOB_ON_CORE)
		rknpu_sched_hurry(&job->client->sched->rqs[job->result.core]);
}

/* False: that was the last of them. */
static bool rknpu_sched_cancel_some(struct rknpu_client *client, struct list_head *taken)
{
	struct rknpu_job *job;
	unsigned int i;

	guard(spinlock_irq)(&client->sched->hw->lock);
	for (i = 0; i < RKNPU_SCHED_BATCH; i++) {
		job = list_first_entry_or_null(&client->visit, struct rknpu_job, client_link);
		if (!job)
			return false;
		list_move_tail(&job->client_link, &client->jobs);
		rknpu_sched_cancel_job(job, taken);
	}
	return true;
}

void rknpu_sched_cancel_jobs(struct rknpu_client *client)
{
	bool cookie = dma_fence_begin_signalling();
	LIST_HEAD(cancelled);

	/* If another thread is at it, each does a part of the other's. */
	scoped_guard(spinlock_irq, &client->sched->hw->lock)
		list_splice_tail_init(&client->jobs, &client->visit);
	while (rknpu_sched_cancel_some(client, &cancelled))
		cond_resched();

	/* Not before: the others must not take an end for one that they waited for. */
	rknpu_sched_end_jobs(&cancelled, RKNPU_CAUSE_CANCELLED);
	dma_fence_end_signalling(cookie);
}

void rknpu_sched_close_client(struct rknpu_client *client)
{
	rknpu_sched_cancel_jobs(client);
	rknpu_client_put(client);
	rknpu_vm_reap_soon();
}

/* The deadline is each task's: did one of the chain end since it was set? */
static bool rknpu_sched_chain_moves(struct rknpu_runqueue *rq)
{
	u32 done;

	if (rq->core->kick.tasks == 1)
		return false;
	done = rknpu_pc_tasks_done(rq->core);
	if (done == rq->watch.tasks_seen)
		return false;
	rq->watch.tasks_seen = done;
	rq->watch.deadline = jiffies + rq->watch.timeout;
	rq->watch.late = false;
	return true;
}

/* Lock held, RUNNING. When to look again, in jiffies, or 0: something is wrong. */
static unsigned long rknpu_sched_look(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (rknpu_limits_job_over(rq))
		return 0;
	if (!rq->watch.looked) {
		if (time_before(now, rq->watch.look_at))
			return rq->watch.look_at - now;
		rq->watch.looked = true;
		if (!rknpu_pc_progressed(rq->core))
			return 0;
	}
	if (time_after_eq(now, rq->watch.deadline)) {
		/*
		 * If it was the CPU that stood still (a virtual machine's does), the
		 * interrupt is about to come.
		 */
		if (!rq->watch.late) {
			rq->watch.late = true;
			return msecs_to_jiffies(RKNPU_LIMITS_LATE_MS);
		}
		if (!rknpu_sched_chain_moves(rq))
			return 0;
	}
	return max(rq->watch.deadline - now, 1UL);
}

/* Lock held, RUNNING. The same for a job that is cancelled; never is long enough for others. */
static unsigned long rknpu_sched_look_cancelled(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (!rq->job->cancelled)
		return MAX_JIFFY_OFFSET;
	return time_before(now, rq->watch.cancel_at) ? rq->watch.cancel_at - now : 0;
}

/* Lock held. The core waits for the rest of a gang. */
static void rknpu_sched_look_at_gang(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (time_before(now, rq->watch.gang_at))
		rknpu_sched_watch(rq, rq->watch.gang_at - now);
	else
		rknpu_sched_dissolve_gang(rq->job);
}

/*
 * Lock held, RUNNING. Cores take over what is queued behind a job that takes longer
 * than waking them. When to look again, in jiffies.
 */
static unsigned long rknpu_sched_spread(struct rknpu_runqueue *rq)
{
	u64 ran = ktime_get_ns() - rq->job->start_ns;

	if (!rq->watch.spread)
		return MAX_JIFFY_OFFSET;
	if (rq->queued && ran <= rq->sched->wake_ns)
		return nsecs_to_jiffies(rq->sched->wake_ns - ran) + 1;
	rq->watch.spread = false;
	if (rq->queued)
		rknpu_sched_dispatch_all(rq->sched);
	return MAX_JIFFY_OFFSET;
}

/* Lock held. */
static void rknpu_sched_watch_again(struct rknpu_runqueue *rq)
{
	unsigned long again, cancelled, spread;

	if (rknpu_gang_keeps(rq))
		rknpu_sched_look_at_gang(rq);
	if (rq->state != RKNPU_CORE_RUNNING) {
		rq->watch.spread = false;
		return;
	}
	rknpu_sched_catch_up(rq);
	spread = rknpu_sched_spread(rq);
	again = rknpu_sched_look(rq);
	cancelled = rknpu_sched_look_cancelled(rq);
	if (!again)
		rknpu_sched_suspect(rq, RKNPU_CAUSE_NONE);
	else if (!cancelled)
		rknpu_sched_suspect(rq, RKNPU_CAUSE_STOPPED);
	else
		/* Not longer: another kick may have begun by then. */
		rknpu_sched_watch(rq, min(min3(again, cancelled, rq->watch.look_delay), spread));
}

void rknpu_sched_watchdog(struct work_struct *work)
{
	struct rknpu_runqueue *rq = container_of(to_delayed_work(work), struct rknpu_runqueue,
						 watchdog);
	bool cookie = dma_fence_begin_signalling();

	scoped_guard(spinlock_irq, &rq->sched->hw->lock)
		rknpu_sched_watch_again(rq);
	dma_fence_end_signalling(cookie);
}
