// SPDX-License-Identifier: GPL-2.0-only
/* Owns gangs: jobs for several cores that start together. */
#include <linux/bitops.h>
#include <linux/slab.h>

#include "hw/rknpu_core.h"
#include "rknpu_client_types.h"
#include "rknpu_gang.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

/* Of each user: what is looked at for a job that does not have to wait for a gang. */
#define RKNPU_GANG_BACKFILL_TRIES	8

int rknpu_gang_form(struct rknpu_job **jobs, unsigned int count)
{
	struct rknpu_gang *gang;
	unsigned int i;

	gang = kzalloc_obj(*gang, GFP_KERNEL_ACCOUNT);
	if (!gang)
		return -ENOMEM;
	kref_init(&gang->ref);
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

/* Within one entity, jobs keep their order. */
static struct rknpu_job *rknpu_gang_pass(struct list_head *entities, unsigned int *tries)
{
	struct rknpu_entity *entity;
	struct rknpu_job *job;

	list_for_each_entry(entity, entities, link) {
		if (!*tries)
			return NULL;
		(*tries)--;
		job = list_first_entry(&entity->jobs, struct rknpu_job, link);
		if (!rknpu_gang_waits(job))
			return job;
	}
	return NULL;
}

struct rknpu_job *rknpu_gang_backfill(struct rknpu_runqueue *rq)
{
	struct rknpu_group *group;
	struct rknpu_job *job;
	unsigned int tries;
	int p;

	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0; p--) {
		for (group = rknpu_share_first(rq, p); group; group = rknpu_share_next(group)) {
			tries = RKNPU_GANG_BACKFILL_TRIES;
			job = rknpu_gang_pass(&group->boosted, &tries) ?:
			      rknpu_gang_pass(&group->entities, &tries);
			if (job)
				return job;
		}
	}
	return NULL;
}

/* Is its user to leave the core to another one, whose job runs, is about to come, or can run? */
static bool rknpu_gang_goes_later(struct rknpu_runqueue *rq, const struct rknpu_job *job)
{
	const struct rknpu_job *other;

	if (rq->turn && (rq->job || rq->anticipate.since_ns) &&
	    rknpu_share_is_ahead(rq, job, rq->turn->share))
		return true;
	other = rknpu_gang_backfill(rq);
	return other && (other->priority >= job->priority ||
			 rknpu_share_is_overdue(rq, other->priority)) &&
	       rknpu_share_is_ahead(rq, job, other->entity->group->share);
}

/*
 * Is it its turn on all cores? A gang that gathers comes before all else. Those that run
 * instead have had the more by that, so that its turn comes.
 */
static bool rknpu_gang_is_due(struct rknpu_sched *sched, const struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		const struct rknpu_job *job = gang->jobs[rq->core->index];

		if (job && job->state == RKNPU_JOB_QUEUED && rknpu_gang_goes_later(rq, job))
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

struct rknpu_job *rknpu_gang_next(struct rknpu_runqueue *rq)
{
	struct rknpu_gang *gang = rq->sched->gang;
	struct rknpu_job *job;
	bool has_core;

	if (!gang)
		return NULL;
	gang->before &= ~BIT(rq->core->index);
	if (gang->before)
		return NULL;
	has_core = rknpu_gang_has_core(gang);
	/* Others have come since it began to gather. */
	if (!has_core && !rknpu_gang_is_due(rq->sched, gang)) {
		rq->sched->gang = NULL;
		return NULL;
	}
	job = gang->jobs[rq->core->index];
	/* Before that it waits for its dependencies, as the others do. */
	if (!job || job->state != RKNPU_JOB_QUEUED || job->rq != rq || job->client->user->held)
		return NULL;
	/* What the core ran since the gang has cores counts here. */
	return has_core && rknpu_gang_goes_later(rq, job) ? NULL : job;
}

static void rknpu_gang_gather(struct rknpu_sched *sched, struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;

	sched->gang = gang;
	rknpu_for_each_rq(rq, sched) {
		if (rq->job && gang->jobs[rq->core->index])
			gang->before |= BIT(rq->core->index);
	}
}

bool rknpu_gang_admits(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_sched *sched = rq->sched;

	if (!rknpu_gang_waits(job))
		return true;
	if (!sched->gang && rknpu_gang_is_due(sched, job->gang))
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
	if (sched->gang == gang)
		sched->gang = NULL;
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
