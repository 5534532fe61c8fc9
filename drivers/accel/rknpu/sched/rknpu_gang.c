// SPDX-License-Identifier: GPL-2.0-only
/* Owns gangs: jobs for several cores that start together. */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/slab.h>

#include "hw/rknpu_core.h"
#include "rknpu_client_types.h"
#include "rknpu_gang.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_slice.h"

/*
 * What is looked at for a job that does not have to wait for a gang: clients of each user, and
 * users, those that have had least; and of the gangs among these, which take longer to judge.
 */
#define RKNPU_GANG_BACKFILL_TRIES	8
#define RKNPU_GANG_BACKFILL_USERS	32
#define RKNPU_GANG_BACKFILL_GANGS	4

int rknpu_gang_form(struct rknpu_job **jobs, unsigned int count)
{
	static atomic64_t last;
	struct rknpu_gang *gang;
	unsigned int i;

	gang = kzalloc_obj(*gang, GFP_KERNEL_ACCOUNT);
	if (!gang)
		return -ENOMEM;
	kref_init(&gang->ref);
	gang->seq = atomic64_inc_return(&last);
	gang->open = true;
	for (i = 0; i < count; i++) {
		gang->jobs[ffs(jobs[i]->core_mask) - 1] = jobs[i];
		jobs[i]->gang = gang;
		if (i)
			kref_get(&gang->ref);
	}
	return 0;
}

static void rknpu_gang_release(struct kref *ref)
{
	kfree(container_of(ref, struct rknpu_gang, ref));
}

void rknpu_gang_put(struct rknpu_gang *gang)
{
	kref_put(&gang->ref, rknpu_gang_release);
}

/*
 * May it, if its turn has come? One that waits for a job elsewhere is put off for one that can
 * start at once: else cores would be idle for as long as that job takes, and nobody pays for it.
 */
static bool rknpu_gang_may_gather(struct rknpu_sched *sched, const struct rknpu_gang *gang)
{
	const struct rknpu_job *job;
	struct rknpu_runqueue *rq;
	bool waits = false;

	if (!sched->gang)
		return true;
	rknpu_for_each_rq(rq, sched) {
		job = gang->jobs[rq->core->index];
		if (rq->shared || (job && (rq->job || job->state != RKNPU_JOB_QUEUED)))
			return false;
		waits |= rq->job && (sched->gang->before & BIT(rq->core->index));
	}
	return waits;
}

/*
 * Is something else of its client's next there? Two gangs that have their jobs in different
 * orders on two cores do not wait for each other: the one that was formed first goes first.
 */
static bool rknpu_gang_is_behind(const struct rknpu_gang *gang, const struct rknpu_job *job)
{
	const struct rknpu_job *first;

	first = list_first_entry(&job->entity->jobs, struct rknpu_job, link);
	return first != job && (!rknpu_gang_waits(first) || first->gang->seq < gang->seq);
}

/* Could it start as soon as @own has its job? None of its other cores is busy, or about to be. */
static bool rknpu_gang_could_start(const struct rknpu_runqueue *own, const struct rknpu_gang *gang)
{
	const struct rknpu_job *job;
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, own->sched) {
		job = gang->jobs[rq->core->index];
		if (!job || rq == own)
			continue;
		if (job->state != RKNPU_JOB_QUEUED || rq->state != RKNPU_CORE_IDLE ||
		    rq->anticipate.since_ns || rknpu_gang_is_behind(gang, job))
			return false;
	}
	return true;
}

/*
 * Can the core have @job? @gangs: so many gangs may be asked whether it is their turn, the last
 * one only if it could start at once. Those that wait for one core would keep the others idle.
 */
static bool rknpu_gang_passes(struct rknpu_runqueue *rq, struct rknpu_job *job, unsigned int *gangs)
{
	if (!rknpu_gang_waits(job))
		return true;
	if (!*gangs || !rknpu_gang_may_gather(rq->sched, job->gang))
		return false;
	if (*gangs == 1 && !rknpu_gang_could_start(rq, job->gang))
		return false;
	(*gangs)--;
	return rknpu_gang_admits(rq, job);
}

/* Within one entity, jobs keep their order. */
static struct rknpu_job *rknpu_gang_pass(struct rknpu_runqueue *rq, struct list_head *entities,
					 unsigned int *tries, unsigned int *gangs)
{
	struct rknpu_entity *entity;
	struct rknpu_job *job;

	list_for_each_entry(entity, entities, link) {
		if (!*tries)
			return NULL;
		(*tries)--;
		job = list_first_entry(&entity->jobs, struct rknpu_job, link);
		if (rknpu_gang_passes(rq, job, gangs))
			return job;
	}
	return NULL;
}

static struct rknpu_job *rknpu_gang_backfill_of(struct rknpu_runqueue *rq, unsigned int priority,
						unsigned int *gangs)
{
	struct rknpu_group *group = rknpu_share_first(rq, priority);
	struct rknpu_job *job = NULL;
	unsigned int tries, users;

	for (users = RKNPU_GANG_BACKFILL_USERS; group && users && !job; users--) {
		tries = RKNPU_GANG_BACKFILL_TRIES;
		job = rknpu_gang_pass(rq, &group->boosted, &tries, gangs) ?:
		      rknpu_gang_pass(rq, &group->entities, &tries, gangs);
		group = rknpu_share_next(group);
	}
	return job;
}

struct rknpu_job *rknpu_gang_backfill(struct rknpu_runqueue *rq)
{
	/* Where one user's jobs run at a time, another one's could not start anyhow. */
	unsigned int gangs = rq->shared ? 0 : RKNPU_GANG_BACKFILL_GANGS, none = 0;
	struct rknpu_job *job = NULL, *other;
	int p;

	/* All that waits there is what it would be instead of. */
	if (rq->queued == 1)
		return NULL;
	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0; p--) {
		/* For whom a gang has been put off must not be passed over here again. */
		if (job && !rknpu_share_is_overdue(rq, p))
			continue;
		other = rknpu_gang_backfill_of(rq, p, job ? &none : &gangs);
		if (other && (!job || !rknpu_share_is_ahead(other->entity->group->share,
							    job->entity->group->share)))
			job = other;
	}
	return job;
}

/*
 * Is it to leave the core to another job, which runs, is about to come, or can run? One that has
 * cores has let lower priorities pass before.
 */
static bool rknpu_gang_goes_later(struct rknpu_runqueue *rq, const struct rknpu_job *job,
				  bool has_core)
{
	const struct rknpu_share *share = &job->client->user->shares[rq->core->index];
	const struct rknpu_share *theirs;
	const struct rknpu_job *other;
	unsigned int p, none = 0;

	if (rq->turn && (rq->job || rq->anticipate.since_ns) &&
	    rknpu_share_is_ahead(share, rq->turn->share))
		return true;
	/* Nothing else waits there. */
	if (rq->queued == 1)
		return false;
	for (p = has_core ? job->priority : 0; p < RKNPU_PRIORITY_COUNT; p++) {
		bool low = p < job->priority;

		other = low && !rknpu_share_is_overdue(rq, p) ? NULL :
			rknpu_gang_backfill_of(rq, p, &none);
		if (!other)
			continue;
		theirs = other->entity->group->share;
		/* As without gangs, see rknpu_share_lets_overtake(): it need not have had less. */
		if (low && !rknpu_share_is_ahead(theirs, share))
			return true;
		if (!low && rknpu_share_is_ahead(share, theirs))
			return true;
	}
	return false;
}

bool rknpu_gang_is_pushed(const struct rknpu_gang *gang)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i] && gang->jobs[i]->state == RKNPU_JOB_NEW)
			return false;
	}
	return true;
}

/*
 * Is it its turn on all cores? A gang that gathers comes before all else. Those that run
 * instead have had the more by that, so that its turn comes.
 */
static bool rknpu_gang_is_due(struct rknpu_sched *sched, const struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;

	/* Whoever pushes one after the other may be kept from it with cores held. */
	if (!rknpu_gang_is_pushed(gang))
		return false;
	rknpu_for_each_rq(rq, sched) {
		const struct rknpu_job *job = gang->jobs[rq->core->index];

		if (job && job->state == RKNPU_JOB_QUEUED &&
		    (rknpu_gang_is_behind(gang, job) || rknpu_gang_goes_later(rq, job, false)))
			return false;
	}
	return true;
}

static bool rknpu_gang_has_core(const struct rknpu_gang *gang)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i] && gang->jobs[i]->state == RKNPU_JOB_ON_CORE)
			return true;
	}
	return false;
}

/* It gathers no more, but one that was put off for it does again. */
static void rknpu_gang_leave(struct rknpu_sched *sched, const struct rknpu_gang *gang)
{
	if (sched->gang == gang) {
		sched->gang = sched->put_off;
		sched->put_off = NULL;
	} else if (sched->put_off == gang) {
		sched->put_off = NULL;
	}
}

/*
 * Whose job the core is to run next. One that is put off gathers on where the other one has no
 * job: if it waited there for jobs that begin meanwhile, its turn might never come.
 */
static struct rknpu_gang *rknpu_gang_of_core(const struct rknpu_runqueue *rq)
{
	struct rknpu_gang *gang = rq->sched->gang, *put_off = rq->sched->put_off;

	if (!gang)
		return NULL;
	gang->before &= ~BIT(rq->core->index);
	if (!put_off)
		return gang;
	put_off->before &= ~BIT(rq->core->index);
	return gang->jobs[rq->core->index] ? gang : put_off;
}

struct rknpu_job *rknpu_gang_next(struct rknpu_runqueue *rq)
{
	const struct rknpu_gang *gang = rknpu_gang_of_core(rq);
	struct rknpu_job *job;
	bool has_core;

	if (!gang || gang->before)
		return NULL;
	has_core = rknpu_gang_has_core(gang);
	/* Others have come since it began to gather. */
	if (!has_core && !rknpu_gang_is_due(rq->sched, gang)) {
		rknpu_gang_leave(rq->sched, gang);
		return NULL;
	}
	job = gang->jobs[rq->core->index];
	/* Before that it waits for its dependencies, as the others do. */
	if (!job || job->state != RKNPU_JOB_QUEUED || job->rq != rq || job->client->user->held)
		return NULL;
	/*
	 * What the core ran since the gang has cores counts here; not where others could not run
	 * meanwhile anyhow.
	 */
	return has_core && !rq->shared && rknpu_gang_goes_later(rq, job, true) ? NULL : job;
}

static void rknpu_gang_gather(struct rknpu_sched *sched, struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;

	sched->put_off = sched->gang;
	sched->gang = gang;
	rknpu_for_each_rq(rq, sched) {
		if (rq->job && gang->jobs[rq->core->index])
			gang->before |= BIT(rq->core->index);
	}
}

/* Does somebody wait for the core who has had less, perhaps with a gang? */
static bool rknpu_gang_others_first(struct rknpu_runqueue *rq, const struct rknpu_job *job)
{
	const struct rknpu_share *share = &job->client->user->shares[rq->core->index];
	const struct rknpu_group *first;
	unsigned int p;

	for (p = job->priority; p < RKNPU_PRIORITY_COUNT; p++) {
		first = rknpu_share_first(rq, p);
		if (first && rknpu_share_is_ahead(share, first->share))
			return true;
	}
	return false;
}

/* Once a core that is busy is free it is found out who goes next, but not while a gang gathers. */
static bool rknpu_gang_is_early(struct rknpu_sched *sched, const struct rknpu_gang *gang)
{
	const struct rknpu_job *job;
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		job = gang->jobs[rq->core->index];
		if (job && rq->job && rknpu_gang_others_first(rq, job))
			return true;
	}
	return false;
}

/*
 * Is it the turn of another client of its user on one of its cores, with a job that can run? All
 * have had as much as their user, so it goes by priorities and by time slices, as without gangs.
 * One that gathers has had its turn: else it would hardly ever come on all cores at once.
 */
static bool rknpu_gang_siblings_first(struct rknpu_sched *sched, const struct rknpu_gang *gang)
{
	const struct rknpu_job *job, *first;
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		job = gang->jobs[rq->core->index];
		if (!job || job->state != RKNPU_JOB_QUEUED)
			continue;
		first = rknpu_slice_peek(rq);
		if (first && first->client->user == job->client->user &&
		    first->entity != job->entity && !rknpu_gang_waits(first))
			return true;
	}
	return false;
}

bool rknpu_gang_admits(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_sched *sched = rq->sched;

	if (!rknpu_gang_waits(job))
		return true;
	if (rknpu_gang_may_gather(sched, job->gang) && rknpu_gang_is_due(sched, job->gang) &&
	    !rknpu_gang_is_early(sched, job->gang) &&
	    !rknpu_gang_siblings_first(sched, job->gang))
		rknpu_gang_gather(sched, job->gang);
	return sched->gang == job->gang && !job->gang->before;
}

/* Its job may have ended meanwhile, and a core that is being stopped may still have it. */
static bool rknpu_gang_has(const struct rknpu_gang *gang, const struct rknpu_runqueue *rq)
{
	return (gang->waiting & BIT(rq->core->index)) && rq->state == RKNPU_CORE_STARTING &&
	       rq->job == gang->jobs[rq->core->index];
}

bool rknpu_gang_keeps(const struct rknpu_runqueue *rq)
{
	return rq->job && rknpu_gang_waits(rq->job) && rknpu_gang_has(rq->job->gang, rq);
}

static u32 rknpu_gang_close(struct rknpu_sched *sched, struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;
	u32 ready = 0;

	gang->open = false;
	rknpu_gang_leave(sched, gang);
	rknpu_for_each_rq(rq, sched) {
		if (rknpu_gang_has(gang, rq))
			ready |= BIT(rq->core->index);
	}
	gang->waiting = 0;
	return ready;
}

static bool rknpu_gang_complete(const struct rknpu_gang *gang)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i] && !(gang->waiting & BIT(i)))
			return false;
	}
	return true;
}

bool rknpu_gang_ready(struct rknpu_runqueue *rq, u32 *ready)
{
	struct rknpu_gang *gang = rq->job->gang;

	gang->waiting |= BIT(rq->core->index);
	if (!rknpu_gang_complete(gang))
		return false;
	*ready = rknpu_gang_close(rq->sched, gang);
	return true;
}

bool rknpu_gang_dissolve(struct rknpu_job *job, u32 *ready)
{
	struct rknpu_gang *gang = job->gang;

	if (!gang || !gang->open)
		return false;
	*ready = rknpu_gang_close(job->client->sched, gang);
	return true;
}
