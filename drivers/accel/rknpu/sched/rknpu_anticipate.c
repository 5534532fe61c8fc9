// SPDX-License-Identifier: GPL-2.0-only
/* Owns keeping an idle core for a moment for a user who submits its next job when one is over. */
#include <linux/cleanup.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "rknpu_anticipate.h"
#include "rknpu_client_types.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

/**
 * DOC: anticipation
 *
 * A program that waits for each job before it submits the next one has nothing queued
 * when the core is free. Users with long jobs would have the core then, each time, and
 * the program one short job between two of theirs, however little it has had.
 *
 * So when a user's job is over who has had less than all that wait, the core stays idle
 * for it: for half a time slice at most, and only if its jobs lately came as soon as
 * that. The idle time counts as time that it has had. Whoever makes cores wait takes it
 * from its own share. With one user alone nothing of this is done. One IOMMU for all cores
 * is kept in the same way, by the core that had the user's job, see rknpu_shared.c.
 */

/* Weighs in so that a user who did not come in time has to be soon a few times. */
#define RKNPU_ANTICIPATE_LATE	4

static void rknpu_anticipate_learn(struct rknpu_runqueue *rq, struct rknpu_share *share, u64 ns)
{
	unsigned int i;
	u64 think_ns;

	ns = min(ns, RKNPU_ANTICIPATE_LATE * rknpu_share_lead_ns());
	think_ns = (3 * share->think_ns + ns) / 4;
	share->think_ns = think_ns;
	/* Its next job may come from any of them. */
	for (i = 0; rq->shared && i < RKNPU_MAX_CORES; i++)
		rknpu_share_user(rq, share)->shares[i].think_ns = think_ns;
}

bool rknpu_anticipate_another(struct rknpu_runqueue *rq, const struct rknpu_group *group)
{
	const struct rknpu_share *share = rq->turn->share;
	u64 ns = rknpu_share_lead_ns();

	if (rq->anticipate.over || share->queued || share->held)
		return false;
	if (rknpu_share_priority(group) > rknpu_share_priority(rq->turn))
		return false;
	if (share->think_ns > ns || share->vtime_ns + ns >= group->share->vtime_ns)
		return false;
	if (!rq->anticipate.since_ns) {
		rq->anticipate.since_ns = ktime_get_ns();
		rq->sched->anticipating |= BIT(rq->core->index);
		hrtimer_start(&rq->anticipate.timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
	}
	return true;
}

static void rknpu_anticipate_charge(struct rknpu_runqueue *rq)
{
	u64 ns = ktime_get_ns() - rq->anticipate.since_ns;

	rq->anticipate.since_ns = 0;
	rq->sched->anticipating &= ~BIT(rq->core->index);
	if (rq->turn)
		rknpu_share_charge(rq, rq->turn->share, ns);
}

void rknpu_anticipate_end(struct rknpu_runqueue *rq)
{
	lockdep_assert_held(&rq->sched->hw->lock);
	rknpu_anticipate_charge(rq);
	/* Or it comes once more, and finds that it was for nothing. */
	hrtimer_try_to_cancel(&rq->anticipate.timer);
}

bool rknpu_anticipate_expired(struct rknpu_runqueue *rq)
{
	lockdep_assert_held(&rq->sched->hw->lock);
	/* A job came, and perhaps the core is kept once more: that has set the timer again. */
	if (!rq->anticipate.since_ns || hrtimer_is_queued(&rq->anticipate.timer))
		return false;
	/* Its job may have come, and the core not be ready for it yet. */
	if (rq->turn && !rq->turn->share->queued)
		rknpu_anticipate_learn(rq, rq->turn->share, U64_MAX);
	rknpu_anticipate_charge(rq);
	rq->anticipate.over = true;
	return true;
}

/* Has the user of @share, which has nothing queued there, other jobs that could make it wait? */
static bool rknpu_anticipate_has_jobs(const struct rknpu_runqueue *rq, struct rknpu_share *share)
{
	const struct rknpu_runqueue *other;

	if (!rq->shared)
		return rq->job && rq->job->entity->group->share == share;
	rknpu_for_each_rq(other, rq->sched) {
		struct rknpu_user *user = rknpu_share_user(rq, share);

		if (user->shares[other->core->index].queued ||
		    (other->job && other->job->client->user == user))
			return true;
	}
	return false;
}

void rknpu_anticipate_learn_from(struct rknpu_runqueue *rq, const struct rknpu_group *group)
{
	struct rknpu_runqueue *kept = rq->shared ? rq->sched->shared.last : rq;
	struct rknpu_share *share = group->share;
	u64 since;

	if (rknpu_anticipate_has_jobs(rq, share))
		return;
	since = rq->turn && rq->turn->share == share ? kept->anticipate.since_ns : group->left_ns;
	if (since)
		rknpu_anticipate_learn(rq, share, ktime_get_ns() - since);
}

bool rknpu_anticipate_is_for(const struct rknpu_runqueue *rq, const struct rknpu_job *job)
{
	return rq->anticipate.since_ns && rq->turn &&
	       rq->turn->share == &job->client->user->shares[rq->core->index];
}

void rknpu_anticipate_init(struct rknpu_runqueue *rq,
			   enum hrtimer_restart (*expired)(struct hrtimer *timer))
{
	hrtimer_setup(&rq->anticipate.timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

void rknpu_anticipate_stop(struct rknpu_runqueue *rq)
{
	hrtimer_cancel(&rq->anticipate.timer);
	guard(spinlock_irq)(&rq->sched->hw->lock);
	if (rq->anticipate.since_ns)
		rknpu_anticipate_charge(rq);
}
