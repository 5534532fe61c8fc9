// SPDX-License-Identifier: GPL-2.0-only
/* Owns fairness between users: what of a core each has had, and whose turn is next. */
#include <linux/cleanup.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/timerqueue.h>

#include "rknpu_client_types.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

/* Jobs of higher priorities that one of a lower priority has to let pass. */
#define RKNPU_SHARE_PATIENCE		16

/**
 * DOC: shares
 *
 * Cores are shared between users first, and between the clients of each then, so
 * that a thousand files have no more of a core than one. On each core a user has
 * a share: its virtual time is the core time that its jobs have had there,
 * whatever their priority. Of the users that wait with the same priority, the one
 * with the least virtual time is next. A job cannot be interrupted; whoever's was
 * long waits until the others have had as much.
 *
 * So that a core does not change address spaces with every job, a user keeps it
 * until it is half a time slice ahead. Who was away comes back where the others
 * are, less one slice: it is next, but has not saved up what it did not use.
 *
 * One IOMMU for all cores serves one user at a time. So there users share that, and not
 * cores: time in which any core runs a user's jobs, or is kept for it, counts once,
 * and on all cores alike.
 *
 * A user's groups, one for each priority, are queued by that time. All walks are
 * bounded, and with one user alone nothing is sorted.
 */

static void rknpu_share_init_group(struct rknpu_group *group, struct rknpu_share *share)
{
	group->share = share;
	timerqueue_init(&group->node);
	INIT_LIST_HEAD(&group->entities);
	INIT_LIST_HEAD(&group->boosted);
}

void rknpu_share_init(struct rknpu_user *user)
{
	unsigned int i, p;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		for (p = 0; p < RKNPU_PRIORITY_COUNT; p++)
			rknpu_share_init_group(&user->shares[i].groups[p], &user->shares[i]);
	}
}

void rknpu_share_forget(struct rknpu_user *user)
{
	struct rknpu_runqueue *rq;

	guard(spinlock_irq)(&user->sched->hw->lock);
	rknpu_for_each_rq(rq, user->sched) {
		struct rknpu_share *share = &user->shares[rq->core->index];

		if (rq->turn && rq->turn->share == share)
			rq->turn = NULL;
		if (rq->wanted && rq->wanted_group->share == share)
			rq->wanted = NULL;
	}
}

bool rknpu_share_in_debt(struct rknpu_user *user)
{
	struct rknpu_runqueue *rq;

	guard(spinlock_irq)(&user->sched->hw->lock);
	rknpu_for_each_rq(rq, user->sched) {
		if (user->shares[rq->core->index].vtime_ns > rq->vtime_ns)
			return true;
	}
	return false;
}

bool rknpu_share_others_wait(struct rknpu_runqueue *rq)
{
	const struct rknpu_user *user = rq->job->client->user;
	struct rknpu_runqueue *other;

	rknpu_for_each_rq(other, rq->sched) {
		if ((other == rq || rq->shared) &&
		    other->shares > !!user->shares[other->core->index].queued)
			return true;
	}
	return false;
}

static void rknpu_share_set_vtime(struct rknpu_runqueue *rq, struct rknpu_share *share, u64 vtime)
{
	unsigned int p;

	share->vtime_ns = vtime;
	/* Alone it has its place: see rknpu_share_refresh(). */
	if (!share->queued || rq->shares <= 1)
		return;
	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		struct rknpu_group *group = &share->groups[p];

		if (!timerqueue_node_queued(&group->node))
			continue;
		timerqueue_del(&rq->groups[p], &group->node);
		group->node.expires = vtime;
		timerqueue_add(&rq->groups[p], &group->node);
	}
}

/* All groups are of one share, which gets company. */
static void rknpu_share_refresh(struct rknpu_runqueue *rq)
{
	unsigned int p;

	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		struct rknpu_group *group = rknpu_share_first(rq, p);

		if (group)
			group->node.expires = group->share->vtime_ns;
	}
}

/* Its virtual time, if it comes back now. */
static u64 rknpu_share_vtime(const struct rknpu_runqueue *rq, const struct rknpu_share *share)
{
	u64 slice = rknpu_share_slice_ns();

	return rq->vtime_ns > slice ? max(share->vtime_ns, rq->vtime_ns - slice) :
				      share->vtime_ns;
}

static void rknpu_share_charge_core(struct rknpu_runqueue *rq, struct rknpu_share *share, u64 ns)
{
	rknpu_share_set_vtime(rq, share, rknpu_share_vtime(rq, share) + ns);
}

struct rknpu_user *rknpu_share_user(const struct rknpu_runqueue *rq, struct rknpu_share *share)
{
	return container_of(share - rq->core->index, struct rknpu_user, shares[0]);
}

void rknpu_share_charge(struct rknpu_runqueue *rq, struct rknpu_share *share, u64 ns)
{
	struct rknpu_runqueue *other;
	struct rknpu_user *user;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (!rq->shared) {
		rknpu_share_charge_core(rq, share, ns);
		return;
	}
	user = rknpu_share_user(rq, share);
	rknpu_for_each_rq(other, rq->sched)
		rknpu_share_charge_core(other, &user->shares[other->core->index], ns);
}

void rknpu_user_charge(struct rknpu_user *user, unsigned int index, u64 ns)
{
	rknpu_share_charge(&user->sched->rqs[index], &user->shares[index], ns);
}

void rknpu_user_charge_run(struct rknpu_user *user, unsigned int index, u64 start_ns, u64 end_ns)
{
	struct rknpu_sched *sched = user->sched;

	if (sched->rqs[index].shared) {
		start_ns = min(sched->shared.charged_ns, end_ns);
		sched->shared.charged_ns = max(sched->shared.charged_ns, end_ns);
	}
	rknpu_user_charge(user, index, end_ns - start_ns);
}

void rknpu_share_join(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	struct rknpu_share *share = group->share;
	u64 vtime;

	if (share->held)
		return;
	vtime = rknpu_share_vtime(rq, share);
	if (vtime != share->vtime_ns)
		rknpu_share_set_vtime(rq, share, vtime);
	if (!share->queued++ && rq->shares++ == 1)
		rknpu_share_refresh(rq);
	group->node.expires = vtime;
	timerqueue_add(&rq->groups[rknpu_share_priority(group)], &group->node);
}

void rknpu_share_leave(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	struct timerqueue_head *groups = &rq->groups[rknpu_share_priority(group)];

	if (!timerqueue_node_queued(&group->node))
		return;
	if (rq->shares > 1) {
		timerqueue_del(groups, &group->node);
	} else {
		timerqueue_init_head(groups);
		timerqueue_init(&group->node);
	}
	if (!--group->share->queued)
		rq->shares--;
}

void rknpu_share_hold(struct rknpu_user *user)
{
	struct rknpu_runqueue *rq;
	unsigned int p;

	rknpu_for_each_rq(rq, user->sched) {
		struct rknpu_share *share = &user->shares[rq->core->index];

		if (!share->held)
			rq->held += share->jobs;
		share->held = true;
		for (p = 0; p < RKNPU_PRIORITY_COUNT; p++)
			rknpu_share_leave(rq, &share->groups[p]);
	}
}

void rknpu_share_release(struct rknpu_user *user, struct rknpu_runqueue *rq)
{
	struct rknpu_share *share = &user->shares[rq->core->index];
	unsigned int p;

	/* Of a core that went out of service while it was held. */
	if (!share->held)
		return;
	share->held = false;
	rq->held -= share->jobs;
	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		struct rknpu_group *group = &share->groups[p];

		if (!list_empty(&group->entities) || !list_empty(&group->boosted))
			rknpu_share_join(rq, group);
	}
}

struct rknpu_group *rknpu_share_next(struct rknpu_group *group)
{
	struct timerqueue_node *node = timerqueue_iterate_next(&group->node);

	return node ? container_of(node, struct rknpu_group, node) : NULL;
}

struct rknpu_group *rknpu_share_pick_of_many(struct rknpu_runqueue *rq, unsigned int priority)
{
	struct rknpu_group *first = rknpu_share_first(rq, priority), *group;

	if (!first || !rq->turn)
		return first;
	group = &rq->turn->share->groups[priority];
	if (timerqueue_node_queued(&group->node) &&
	    group->share->vtime_ns <= first->share->vtime_ns + rknpu_share_lead_ns())
		return group;
	return first;
}

bool rknpu_share_is_overdue(struct rknpu_runqueue *rq, unsigned int priority)
{
	return rq->passed_over[priority] >= RKNPU_SHARE_PATIENCE && rknpu_share_first(rq, priority);
}

bool rknpu_share_lets_overtake(struct rknpu_runqueue *rq, unsigned int low, unsigned int high)
{
	return rknpu_share_first(rq, low)->share->vtime_ns <=
	       rknpu_share_first(rq, high)->share->vtime_ns + rknpu_share_lead_ns();
}

/* Whoever was passed over too often goes first. */
unsigned int rknpu_share_pick_priority(struct rknpu_runqueue *rq)
{
	unsigned int p, best = RKNPU_PRIORITY_COUNT - 1;

	while (best && !rknpu_share_first(rq, best))
		best--;
	for (p = 0; p < best; p++) {
		if (rknpu_share_is_overdue(rq, p) && rknpu_share_lets_overtake(rq, p, best))
			return p;
	}
	return best;
}

bool rknpu_share_is_ahead(const struct rknpu_share *share, const struct rknpu_share *other)
{
	return share != other && share->vtime_ns > other->vtime_ns + rknpu_share_lead_ns();
}

void rknpu_share_change_turn(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	if (rq->turn)
		rq->turn->left_ns = ktime_get_ns();
	group->away_ns += ktime_get_ns() - group->left_ns;
	rq->turn = group;
	rq->anticipate.over = false;
}

bool rknpu_share_turn_over(struct rknpu_runqueue *rq, const struct rknpu_job *job)
{
	struct rknpu_share *share = job->entity->group->share;
	struct rknpu_group *first = rknpu_share_first(rq, job->priority);

	if (first && first->share == share)
		first = rknpu_share_next(first);
	return first && first->share->vtime_ns + rknpu_share_lead_ns() <
			share->vtime_ns + ktime_get_ns() -
			(rq->shared ? rq->sched->shared.charged_ns : job->start_ns);
}
