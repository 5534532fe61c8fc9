// SPDX-License-Identifier: GPL-2.0-only
/* Owns who may use an IOMMU, or a memory, that all cores share. */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "rknpu_anticipate.h"
#include "rknpu_client_types.h"
#include "rknpu_gang.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_shared.h"

/**
 * DOC: one IOMMU for all cores
 *
 * Cores behind one IOMMU run jobs of one VM at a time. So do cores that have one CBUF
 * (rknpu_soc::one_cbuf): a program names the part of it that it uses, nobody checks that,
 * and in the other core's part is what another client computes with. Each core without a job says
 * what it would run next (rknpu_runqueue::wanted), and rknpu_shared_turn() chooses among
 * these: the VM that the IOMMU serves goes on, until its user is half a time slice
 * ahead of another one that waits; after a slice the next one comes if its user has not
 * had more than that. Then none of its jobs starts any more, and when the last one
 * is over the user with the least time is next. It goes round the cores among VMs
 * whose users have had as much.
 *
 * Whoever waits behind a job that runs counts, too. Otherwise the other cores would go
 * on with long jobs meanwhile, and never be without one all at once.
 *
 * All of it is decided anew at each event that rknpu_dispatch() is called for, so
 * nobody waits for one that has gone. What makes a job one that waits no more, without
 * a core that becomes idle, calls rknpu_dispatch_left().
 */

static bool rknpu_shared_waits(const struct rknpu_runqueue *rq)
{
	return rq->wanted && !rq->wanted_group->share->held && !rq->frozen &&
	       (rq->state == RKNPU_CORE_IDLE || (rq->state == RKNPU_CORE_STARTING && !rq->job));
}

void rknpu_shared_want(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rq->wanted = job;
	if (!job)
		return;
	rq->wanted_group = job->entity->group;
	rq->wanted_vm = job->vm;
}

bool rknpu_shared_runs(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (rq->job && rq->job->start_ns)
			return true;
	}
	return false;
}

/* What the user whose jobs run has had since it was charged. */
static u64 rknpu_shared_uncharged_ns(struct rknpu_sched *sched)
{
	return rknpu_shared_runs(sched) ? ktime_get_ns() - sched->shared.charged_ns : 0;
}

/*
 * Is a core being recovered, whose program may go on until that is reset? One IOMMU for all is
 * not switched before that, and who waits for this core may be the next one. One memory has
 * nobody else to wait for it.
 */
static bool rknpu_shared_is_unclean(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (rq->state == RKNPU_CORE_RECOVERING && !rq->job)
			return true;
	}
	return false;
}

/* Of the cores that have a job, one; or NULL: the IOMMU serves none. */
static struct rknpu_job *rknpu_shared_running(struct rknpu_sched *sched)
{
	struct rknpu_runqueue *rq;
	struct rknpu_job *job = NULL;

	rknpu_for_each_rq(rq, sched) {
		if (!rq->job)
			continue;
		job = rq->job;
		/* Cores that wait for the rest of it keep the IOMMU until it is complete. */
		if (rknpu_gang_waits(job))
			break;
	}
	return job;
}

/* What waits for @vm, or NULL. */
static struct rknpu_group *rknpu_shared_waiting(struct rknpu_sched *sched,
						const struct rknpu_vm *vm)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (rknpu_shared_waits(rq) && rq->wanted_vm == vm)
			return rq->wanted_group;
	}
	return NULL;
}

/* The core whose job, of another VM than @vm, is the next one, or NULL. */
static struct rknpu_runqueue *rknpu_shared_next(struct rknpu_sched *sched,
						const struct rknpu_vm *vm)
{
	unsigned int i, first = sched->shared.last ? sched->shared.last - sched->rqs + 1 : 0;
	struct rknpu_runqueue *best = NULL;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_runqueue *rq = &sched->rqs[(first + i) % RKNPU_MAX_CORES];

		if (!rknpu_shared_waits(rq) || rq->wanted_vm == vm)
			continue;
		if (!best ||
		    rq->wanted_group->share->vtime_ns < best->wanted_group->share->vtime_ns)
			best = rq;
	}
	return best;
}

/* The user whose turn it is on the core after its job, unless it is that one's; or NULL. */
static const struct rknpu_share *rknpu_shared_queued(struct rknpu_runqueue *rq)
{
	struct rknpu_group *group = NULL;
	int p;

	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0 && !group; p--)
		group = rknpu_share_first(rq, p);
	return group && group->share != rq->job->entity->group->share ? group->share : NULL;
}

/* What the user that has had least has had, of those that wait for others than @vm. */
static u64 rknpu_shared_least(struct rknpu_sched *sched, const struct rknpu_runqueue *next)
{
	u64 least = next ? next->wanted_group->share->vtime_ns : U64_MAX;
	const struct rknpu_share *share;
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		share = rq->job ? rknpu_shared_queued(rq) : NULL;
		if (share)
			least = min(least, share->vtime_ns);
	}
	return least;
}

/* Is the user with @vtime, whose VM the IOMMU serves, to leave it to one that has had @least? */
static bool rknpu_shared_yields(const struct rknpu_sched *sched, u64 vtime, u64 least)
{
	u64 now = ktime_get_ns(), lead = rknpu_share_lead_ns();

	if (least == U64_MAX)
		return false;
	if (vtime > least + lead)
		return true;
	return now - sched->shared.start_ns > rknpu_share_slice_ns() && least <= vtime + lead;
}

/* No core has a job. Is the IOMMU to be kept for the user that had it, although @group waits? */
static bool rknpu_shared_keeps(struct rknpu_sched *sched, const struct rknpu_group *group)
{
	struct rknpu_runqueue *rq, *last = sched->shared.last;
	struct rknpu_user *user;

	if (!last || !last->turn || last->state == RKNPU_CORE_ABSENT)
		return false;
	user = rknpu_share_user(last, last->turn->share);
	rknpu_for_each_rq(rq, sched) {
		if (user->shares[rq->core->index].queued)
			return false;
	}
	return rknpu_anticipate(last, group);
}

/* The same, without a job on any core. */
static struct rknpu_vm *rknpu_shared_idle_turn(struct rknpu_sched *sched)
{
	struct rknpu_group *group = rknpu_shared_waiting(sched, sched->shared.vm);
	struct rknpu_runqueue *next = rknpu_shared_next(sched, sched->shared.vm);

	if (group && (!next || !rknpu_shared_yields(sched, group->share->vtime_ns,
						    next->wanted_group->share->vtime_ns)))
		return sched->shared.vm;
	if (!next || rknpu_shared_keeps(sched, next->wanted_group))
		return NULL;
	return next->wanted_vm;
}

struct rknpu_vm *rknpu_shared_turn(struct rknpu_sched *sched)
{
	const struct rknpu_job *job = rknpu_shared_running(sched);
	u64 least, vtime;

	lockdep_assert_held(&sched->hw->lock);
	if (!job && rknpu_shared_is_unclean(sched))
		return NULL;
	if (!job)
		return rknpu_shared_idle_turn(sched);
	if (rknpu_gang_waits(job))
		return job->vm;
	least = rknpu_shared_least(sched, rknpu_shared_next(sched, job->vm));
	vtime = job->entity->group->share->vtime_ns + rknpu_shared_uncharged_ns(sched);
	return rknpu_shared_yields(sched, vtime, least) ? NULL : job->vm;
}

void rknpu_shared_took(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_user *user = job->client->user;
	struct rknpu_sched *sched = rq->sched;
	struct rknpu_runqueue *other;

	rq->wanted = NULL;
	sched->shared.last = rq;
	rknpu_for_each_rq(other, sched) {
		rknpu_anticipate_ends(other);
		rknpu_share_begin_turn(other,
				       &user->shares[other->core->index].groups[job->priority]);
	}
	if (sched->shared.vm == job->vm)
		return;
	sched->shared.vm = job->vm;
	sched->shared.start_ns = ktime_get_ns();
}

void rknpu_shared_starts(struct rknpu_runqueue *rq)
{
	struct rknpu_runqueue *other;

	rknpu_for_each_rq(other, rq->sched) {
		if (other != rq && other->job && other->job->start_ns)
			return;
	}
	rq->sched->shared.charged_ns = rq->job->start_ns;
}
