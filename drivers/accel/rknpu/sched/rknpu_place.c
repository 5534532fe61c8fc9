// SPDX-License-Identifier: GPL-2.0-only
/* Owns where jobs run: which core's queue a job joins, and what cores take over from each other. */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "rknpu_anticipate.h"
#include "rknpu_client_types.h"
#include "rknpu_job.h"
#include "rknpu_place.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

/* What is looked at in order to take over work from another core. */
#define RKNPU_PLACE_STEAL_TRIES	8

/* What took longer had to be tried again, or a virtual machine stood still. */
#define RKNPU_PLACE_LONGEST_WAKE_NS	(10ULL * NSEC_PER_MSEC)

static bool rknpu_place_names(const struct rknpu_runqueue *rq, const struct rknpu_job *job)
{
	return !job->core_mask || (job->core_mask & BIT(rq->core->index));
}

/*
 * With one CBUF for all cores a program uses the part of the core that it was made for. Its
 * client says which that is by allowing no other one. What may run on several is made for
 * the first of them, as far as anybody knows: on another one it would meet what that one runs.
 */
static bool rknpu_place_allows(const struct rknpu_runqueue *rq, const struct rknpu_job *job)
{
	const struct rknpu_runqueue *before;

	if (!rknpu_place_names(rq, job))
		return false;
	if (!rq->core->hw->soc->one_cbuf)
		return true;
	rknpu_for_each_rq(before, rq->sched) {
		if (before == rq)
			break;
		if (rknpu_runqueue_in_service(before) && rknpu_place_names(before, job))
			return false;
	}
	return true;
}

/* Less is better: load first, then the cost of attaching the job's domain, then of power. */
static unsigned int rknpu_place_cost(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_domain *domain = rknpu_iommu_domain(rq->core->iommu);
	unsigned int cost = 8 * rknpu_runqueue_load(rq) + !rq->pm_held;

	if (domain == &job->vm->domain)
		return cost;
	return cost + (domain ? 4 : 2);
}

static void rknpu_place_average(u64 *average, u64 ns)
{
	*average = max(*average ? (3 * *average + ns) / 4 : ns, 1ULL);
}

void rknpu_place_job_took(struct rknpu_job *job, u64 ns)
{
	rknpu_place_average(&job->client->job_ns, ns);
}

void rknpu_place_wake_begin(struct rknpu_runqueue *rq)
{
	rq->waking_ns = rq->core->powered ? 0 : ktime_get_ns();
}

void rknpu_place_wake_end(struct rknpu_runqueue *rq)
{
	if (rq->waking_ns)
		rknpu_place_average(&rq->sched->wake_ns, min(ktime_get_ns() - rq->waking_ns,
							     RKNPU_PLACE_LONGEST_WAKE_NS));
	rq->waking_ns = 0;
}

static bool rknpu_place_sleeps(const struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_IDLE && !rq->core->powered;
}

/* Of what comes before another job, if each job takes as long as its client's did lately. */
static u64 rknpu_place_wait_ns(const struct rknpu_runqueue *rq)
{
	return rq->queued_ns + (rq->job ? rq->job->expected_ns : 0);
}

static bool rknpu_place_may_run(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	return rknpu_runqueue_in_service(rq) && rknpu_place_allows(rq, job);
}

/*
 * A core that has the job's domain attached and will be free before one that
 * sleeps would be awake, as long as that took lately; or NULL. So a run of
 * short jobs leaves the other cores asleep. If the client's jobs are not that
 * short any more, rknpu_deadline_recheck() corrects it.
 */
static struct rknpu_runqueue *rknpu_place_sooner(struct rknpu_sched *sched, struct rknpu_job *job)
{
	struct rknpu_runqueue *rq, *best = NULL;
	u64 ns, best_ns = sched->wake_ns;

	rknpu_for_each_rq(rq, sched) {
		if (rq->state != RKNPU_CORE_RUNNING || !rknpu_place_allows(rq, job) ||
		    rknpu_iommu_domain(rq->core->iommu) != &job->vm->domain)
			continue;
		ns = rknpu_place_wait_ns(rq);
		if (ns < best_ns) {
			best = rq;
			best_ns = ns;
		}
	}
	return best;
}

/* One that is kept for the job's user, whatever else is queued there; or NULL. */
static struct rknpu_runqueue *rknpu_place_kept(struct rknpu_sched *sched, struct rknpu_job *job)
{
	struct rknpu_runqueue *rq;

	rknpu_for_each_rq(rq, sched) {
		if (rknpu_anticipate_is_for(rq, job) && rknpu_place_may_run(rq, job))
			return rq;
	}
	return NULL;
}

struct rknpu_runqueue *rknpu_place_choose(struct rknpu_sched *sched, struct rknpu_job *job,
					  struct rknpu_runqueue *first)
{
	struct rknpu_runqueue *rq, *best = NULL;
	unsigned int cost, best_cost = UINT_MAX;

	if (sched->anticipating) {
		rq = rknpu_place_kept(sched, job);
		if (rq)
			return rq;
	}
	/* None is better than one that costs nothing. */
	if (first && rknpu_place_may_run(first, job) && !rknpu_place_cost(first, job))
		return first;
	rknpu_for_each_rq(rq, sched) {
		if (!rknpu_place_may_run(rq, job))
			continue;
		cost = rknpu_place_cost(rq, job);
		if (cost < best_cost) {
			best = rq;
			best_cost = cost;
		}
	}
	if (best && rknpu_place_sleeps(best))
		return rknpu_place_sooner(sched, job) ?: best;
	return best;
}

bool rknpu_place_lets_sleep(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_runqueue *other;

	rknpu_for_each_rq(other, rq->sched) {
		if (other != rq && rknpu_place_sleeps(other) &&
		    rknpu_place_allows(other, job))
			return true;
	}
	return false;
}

/* A core that is about to start its only job would be left with nothing. */
static unsigned int rknpu_place_spare(struct rknpu_runqueue *rq)
{
	if (rq->state == RKNPU_CORE_STARTING && !rq->job)
		return rq->queued ? rq->queued - 1 : 0;
	return rq->queued;
}

/* Behind other jobs of its client, which may have to wait for a gang, it gains nothing. */
static bool rknpu_place_gains(struct rknpu_runqueue *idle, struct rknpu_job *job)
{
	return rknpu_place_allows(idle, job) &&
	       list_empty(&rknpu_runqueue_entity(idle, job)->jobs);
}

/* Among the first few of those that wait longest. */
static struct rknpu_job *rknpu_place_find(struct rknpu_runqueue *from, struct list_head *entities,
					  struct rknpu_runqueue *idle)
{
	unsigned int tries = RKNPU_PLACE_STEAL_TRIES;
	struct rknpu_entity *entity;
	struct rknpu_job *job;

	list_for_each_entry_reverse(entity, entities, link) {
		list_for_each_entry(job, &entity->jobs, link) {
			if (job != from->prequeued && job != from->wanted &&
			    rknpu_place_gains(idle, job))
				return job;
			if (!--tries)
				return NULL;
		}
	}
	return NULL;
}

/* Of the first few users. */
static struct rknpu_job *rknpu_place_spare_job(struct rknpu_runqueue *from,
					       struct rknpu_runqueue *idle)
{
	unsigned int tries = RKNPU_PLACE_STEAL_TRIES;
	struct rknpu_group *group;
	struct rknpu_job *job;
	int p;

	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0; p--) {
		for (group = rknpu_share_first(from, p); group && tries;
		     group = rknpu_share_next(group), tries--) {
			job = rknpu_place_find(from, &group->boosted, idle) ?:
			      rknpu_place_find(from, &group->entities, idle);
			if (job)
				return job;
		}
	}
	return NULL;
}

struct rknpu_job *rknpu_place_steal(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job, *best = NULL;
	struct rknpu_runqueue *from;
	unsigned int most = 0;

	rknpu_for_each_rq(from, rq->sched) {
		if (from == rq || rknpu_place_spare(from) <= most)
			continue;
		job = rknpu_place_spare_job(from, rq);
		if (job) {
			best = job;
			most = rknpu_place_spare(from);
		}
	}
	if (!best)
		return NULL;
	rknpu_runqueue_move(rq, best);
	return best;
}

bool rknpu_place_evacuate(struct rknpu_runqueue *rq, struct list_head *stranded)
{
	struct rknpu_runqueue *other;
	struct rknpu_user *user;
	struct rknpu_job *job;

	/* Their jobs wait on the cores where they come to. */
	list_for_each_entry(user, &rq->sched->held, hold_link)
		rknpu_share_release(user, rq);

	if (!rq->queued)
		return false;
	job = rknpu_runqueue_first(rq);
	other = rknpu_place_choose(rq->sched, job, NULL);
	if (other) {
		rknpu_runqueue_move(other, job);
	} else {
		rknpu_runqueue_remove(job);
		rknpu_job_leave(job);
		list_add_tail(&job->link, stranded);
	}
	return true;
}
