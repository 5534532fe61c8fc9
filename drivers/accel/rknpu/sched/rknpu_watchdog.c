// SPDX-License-Identifier: GPL-2.0-only
/* Owns the watchdog of each core: has a kick started, is a task late, has a gang waited enough. */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "hw/rknpu_pc.h"
#include "rknpu_limits.h"
#include "rknpu_params.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched.h"
#include "rknpu_watchdog.h"

/*
 * How long cores that are ready wait for the rest of a gang, which ends what it had
 * begun before: as long as one task may take by default.
 */
#define RKNPU_WATCHDOG_GANG_MS	500

static void rknpu_watchdog_queue(struct rknpu_runqueue *rq, unsigned long delay)
{
	queue_delayed_work(rq->wq, &rq->watchdog, delay);
}

void rknpu_watchdog_kick(struct rknpu_runqueue *rq)
{
	rq->watch.tasks_seen = 0;
	rq->watch.deadline = jiffies + rq->watch.timeout;
	rq->watch.look_at = jiffies + rq->watch.look_delay;
	/* What cannot be tried again is given all its time. */
	rq->watch.looked = rq->watch.look_delay >= rq->watch.timeout ||
			   !rknpu_sched_may_retry(rq->job);
	rq->watch.late = false;
	/* Left pending over many tasks: it looks at the times above when it fires. */
	rknpu_watchdog_queue(rq, rq->watch.look_delay);
}

static void rknpu_watchdog_set_timeout(struct rknpu_runqueue *rq, unsigned long timeout)
{
	unsigned int check_ms = READ_ONCE(rknpu_params.start_check_ms);
	unsigned long delay = check_ms ? min(msecs_to_jiffies(check_ms) + 1, timeout) : timeout;

	/* A watchdog that is pending for a longer one would come too late. */
	if (delay < rq->watch.look_delay)
		mod_delayed_work(rq->wq, &rq->watchdog, delay);
	rq->watch.look_delay = delay;
	rq->watch.timeout = timeout;
}

void rknpu_watchdog_job(struct rknpu_runqueue *rq)
{
	rknpu_watchdog_set_timeout(rq, rknpu_limits_timeout(rq->job));
	rknpu_watchdog_kick(rq);
}

void rknpu_watchdog_gang(struct rknpu_runqueue *rq)
{
	unsigned long delay = msecs_to_jiffies(RKNPU_WATCHDOG_GANG_MS);

	rq->watch.gang_at = jiffies + delay;
	/* For rknpu_watchdog_set_timeout(). */
	rq->watch.look_delay = delay;
	mod_delayed_work(rq->wq, &rq->watchdog, delay);
}

void rknpu_watchdog_cancel(struct rknpu_runqueue *rq)
{
	unsigned long grace = rknpu_limits_grace();

	rq->watch.cancel_at = jiffies + grace;
	/* Otherwise it is not started any more, or does not go on. */
	if (rq->state == RKNPU_CORE_RUNNING)
		mod_delayed_work(rq->wq, &rq->watchdog, min(grace, rq->watch.look_delay));
}

void rknpu_watchdog_doubt(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (rq->state != RKNPU_CORE_RUNNING || rq->watch.spread ||
	    !rknpu_runqueue_lets_sleep(rq, job))
		return;
	rq->watch.spread = true;
	mod_delayed_work(rq->wq, &rq->watchdog, 1);
}

/* The deadline is each task's: did one of the chain end since it was set? */
static bool rknpu_watchdog_chain_moves(struct rknpu_runqueue *rq)
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

/* RUNNING. When to look again, in jiffies, or 0: something is wrong. */
static unsigned long rknpu_watchdog_look(struct rknpu_runqueue *rq)
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
		if (!rknpu_watchdog_chain_moves(rq))
			return 0;
	}
	return max(rq->watch.deadline - now, 1UL);
}

/* RUNNING. The same for a job that is cancelled; never is long enough for others. */
static unsigned long rknpu_watchdog_look_cancelled(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (!rq->job->cancelled)
		return MAX_JIFFY_OFFSET;
	return time_before(now, rq->watch.cancel_at) ? rq->watch.cancel_at - now : 0;
}

/* The core waits for the rest of a gang. */
static void rknpu_watchdog_look_at_gang(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (time_before(now, rq->watch.gang_at))
		rknpu_watchdog_queue(rq, rq->watch.gang_at - now);
	else
		rknpu_sched_dissolve_gang(rq->job);
}

/* Cores take over what is queued behind a job that takes longer than waking them. */
static void rknpu_watchdog_spread(struct rknpu_runqueue *rq)
{
	if (!rq->watch.spread)
		return;
	rq->watch.spread = false;
	if (rq->queued && rq->state == RKNPU_CORE_RUNNING &&
	    ktime_get_ns() - rq->job->start_ns > rq->sched->wake_ns)
		rknpu_sched_dispatch_all(rq->sched);
}

static void rknpu_watchdog_again(struct rknpu_runqueue *rq)
{
	unsigned long again, cancelled;

	rknpu_watchdog_spread(rq);

	if (rknpu_gang_keeps(rq))
		rknpu_watchdog_look_at_gang(rq);
	if (rq->state != RKNPU_CORE_RUNNING)
		return;
	again = rknpu_watchdog_look(rq);
	cancelled = rknpu_watchdog_look_cancelled(rq);
	if (!again)
		rknpu_sched_suspect(rq, RKNPU_CAUSE_NONE);
	else if (!cancelled)
		rknpu_sched_suspect(rq, RKNPU_CAUSE_STOPPED);
	else
		/* Not longer: another kick may have begun by then. */
		rknpu_watchdog_queue(rq, min3(again, cancelled, rq->watch.look_delay));
}

void rknpu_watchdog_work(struct work_struct *work)
{
	struct rknpu_runqueue *rq = container_of(to_delayed_work(work), struct rknpu_runqueue,
						 watchdog);
	bool cookie = dma_fence_begin_signalling();

	scoped_guard(spinlock_irq, &rq->sched->hw->lock)
		rknpu_watchdog_again(rq);
	dma_fence_end_signalling(cookie);
}
