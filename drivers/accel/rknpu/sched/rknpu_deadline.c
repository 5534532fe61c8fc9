// SPDX-License-Identifier: GPL-2.0-only
/* Owns when the watchdog of a core looks at it next: deadlines, and reasons to look earlier. */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "rknpu_deadline.h"
#include "rknpu_job.h"
#include "rknpu_limits.h"
#include "rknpu_params.h"
#include "rknpu_place.h"
#include "rknpu_runqueue_types.h"
#include "rknpu_share.h"

/*
 * How long cores that are ready wait for the rest of a gang, which ends what it had
 * begun before, if nobody else waits: as long as one task may take by default.
 */
#define RKNPU_DEADLINE_GANG_MS	500

void rknpu_deadline_check_in(struct rknpu_runqueue *rq, unsigned long delay)
{
	queue_delayed_work(rq->wq, &rq->watchdog, delay);
}

void rknpu_deadline_set(struct rknpu_runqueue *rq, unsigned long timeout)
{
	unsigned int check_ms = READ_ONCE(rknpu_params.start_check_ms);
	unsigned long delay = check_ms ? min(msecs_to_jiffies(check_ms) + 1, timeout) : timeout;

	/* A watchdog that is pending for a longer one would come too late. */
	if (delay < rq->watch.check_delay)
		mod_delayed_work(rq->wq, &rq->watchdog, delay);
	rq->watch.check_delay = delay;
	rq->watch.timeout = timeout;
}

void rknpu_deadline_begin_kick(struct rknpu_runqueue *rq)
{
	rq->watch.tasks_seen = 0;
	rq->watch.deadline = jiffies + rq->watch.timeout;
	rq->watch.check_at = jiffies + rq->watch.check_delay;
	/* What cannot be tried again is given all its time. */
	rq->watch.checked = rq->watch.check_delay >= rq->watch.timeout ||
			   !rknpu_job_may_retry(rq->job);
	rq->watch.late = false;
	/* Left pending over many tasks: it looks at the times above when it fires. */
	rknpu_deadline_check_in(rq, rq->watch.check_delay);
}

/* The parameter may make slices longer than a gang waits. */
static unsigned long rknpu_deadline_slice(void)
{
	return min(nsecs_to_jiffies(rknpu_share_slice_ns()) + 1,
		   msecs_to_jiffies(RKNPU_DEADLINE_GANG_MS));
}

void rknpu_deadline_gang(struct rknpu_runqueue *rq)
{
	unsigned long delay = rknpu_deadline_slice();

	rq->watch.gang_at = jiffies + msecs_to_jiffies(RKNPU_DEADLINE_GANG_MS);
	/* For rknpu_deadline_set(). */
	rq->watch.check_delay = delay;
	mod_delayed_work(rq->wq, &rq->watchdog, delay);
}

bool rknpu_deadline_gang_over(struct rknpu_runqueue *rq)
{
	if (!time_before(jiffies, rq->watch.gang_at) ||
	    (ktime_get_ns() - rq->gang_since_ns > rknpu_share_slice_ns() &&
	     rknpu_share_others_wait(rq)))
		return true;
	rq->watch.check_delay = min(rknpu_deadline_slice(), rq->watch.gang_at - jiffies);
	rknpu_deadline_check_in(rq, rq->watch.check_delay);
	return false;
}

void rknpu_deadline_recheck(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (rq->state != RKNPU_CORE_RUNNING || rq->watch.balance ||
	    !rknpu_place_lets_sleep(rq, job))
		return;
	rq->watch.balance = true;
	mod_delayed_work(rq->wq, &rq->watchdog, 1);
}

void rknpu_deadline_expedite(struct rknpu_runqueue *rq)
{
	unsigned long grace = rknpu_limits_grace();

	rq->watch.cancel_at = jiffies + grace;
	/* Otherwise it is not started any more, or does not go on. */
	if (rq->state == RKNPU_CORE_RUNNING)
		mod_delayed_work(rq->wq, &rq->watchdog, min(grace, rq->watch.check_delay));
}
