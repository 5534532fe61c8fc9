// SPDX-License-Identifier: GPL-2.0-only
/* Owns the watchdog of a core: is its kick late, stuck, unwanted, or in the way of others? */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_pc.h"
#include "rknpu_client_types.h"
#include "rknpu_deadline.h"
#include "rknpu_debt.h"
#include "rknpu_dispatch.h"
#include "rknpu_gang.h"
#include "rknpu_limits.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_types.h"
#include "rknpu_watchdog.h"

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

/* Lock held, RUNNING. When to look again, in jiffies, or 0: something is wrong. */
static unsigned long rknpu_watchdog_check(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (rknpu_limits_job_over(rq))
		return 0;
	if (!rq->watch.checked) {
		if (time_before(now, rq->watch.check_at))
			return rq->watch.check_at - now;
		rq->watch.checked = true;
		/* As rknpu_deadline_begin_kick(): what is not tried again is given all its time. */
		if (!rknpu_pc_progressed(rq->core) && !rknpu_debt_is_owed(rq->job->client->user))
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

/* Lock held, RUNNING. The same for a job that is cancelled; never is long enough for others. */
static unsigned long rknpu_watchdog_check_cancelled(struct rknpu_runqueue *rq)
{
	unsigned long now = jiffies;

	if (!rq->job->cancelled)
		return MAX_JIFFY_OFFSET;
	return time_before(now, rq->watch.cancel_at) ? rq->watch.cancel_at - now : 0;
}

/*
 * Lock held, RUNNING. Cores take over what is queued behind a job that takes longer
 * than waking them. When to look again, in jiffies.
 */
static unsigned long rknpu_watchdog_balance(struct rknpu_runqueue *rq)
{
	u64 ran = rq->job->before_ns + ktime_get_ns() - rq->job->start_ns;

	if (!rq->watch.balance)
		return MAX_JIFFY_OFFSET;
	if (rq->queued && ran <= rq->sched->wake_ns)
		return nsecs_to_jiffies(rq->sched->wake_ns - ran) + 1;
	rq->watch.balance = false;
	if (rq->queued)
		rknpu_dispatch_all(rq->sched);
	return MAX_JIFFY_OFFSET;
}

/* Lock held. */
static void rknpu_watchdog_again(struct rknpu_runqueue *rq)
{
	unsigned long again, cancelled, balance;

	if (rknpu_gang_keeps(rq) && rknpu_deadline_gang_over(rq))
		rknpu_dispatch_dissolve_gang(rq->job);
	if (rq->state != RKNPU_CORE_RUNNING) {
		rq->watch.balance = false;
		return;
	}
	balance = rknpu_watchdog_balance(rq);
	again = rknpu_watchdog_check(rq);
	cancelled = rknpu_watchdog_check_cancelled(rq);
	if (!again)
		rknpu_runqueue_start_recovery(rq, RKNPU_CAUSE_NONE);
	else if (!cancelled)
		rknpu_runqueue_start_recovery(rq, RKNPU_CAUSE_STOPPED);
	else
		/* Not longer: another kick may have begun by then. */
		rknpu_deadline_check_in(rq, min(min3(again, cancelled, rq->watch.check_delay),
						balance));
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
