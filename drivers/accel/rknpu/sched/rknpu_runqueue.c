// SPDX-License-Identifier: GPL-2.0-only
/* Owns run queues: the jobs that wait for a core, by turns, and the states of cores. */
#include <linux/ktime.h>
#include <linux/time64.h>

#include "rknpu_anticipate.h"
#include "rknpu_client_types.h"
#include "rknpu_job.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_trace.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_shared.h"
#include "rknpu_slice.h"

/* What a job takes of whose client none has ended: too long to wait for while a core sleeps. */
#define RKNPU_RUNQUEUE_UNKNOWN_NS	NSEC_PER_SEC

/* By state: those that may follow; see "states of a core" in rknpu_runqueue_types.h. */
static const u8 rknpu_core_next_states[RKNPU_CORE_STATE_COUNT] = {
	[RKNPU_CORE_ABSENT] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE),
	[RKNPU_CORE_IDLE] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_STARTING) |
			    BIT(RKNPU_CORE_RUNNING) | BIT(RKNPU_CORE_RECOVERING),
	[RKNPU_CORE_STARTING] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE) |
				BIT(RKNPU_CORE_STARTING) | BIT(RKNPU_CORE_RUNNING) |
				BIT(RKNPU_CORE_RECOVERING) | BIT(RKNPU_CORE_DEAD),
	[RKNPU_CORE_RUNNING] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE) |
			       BIT(RKNPU_CORE_RECOVERING),
	[RKNPU_CORE_RECOVERING] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE) |
				  BIT(RKNPU_CORE_RUNNING) | BIT(RKNPU_CORE_RECOVERING) |
				  BIT(RKNPU_CORE_DEAD),
	[RKNPU_CORE_DEAD] = BIT(RKNPU_CORE_ABSENT),
};

void rknpu_runqueue_set_state(struct rknpu_runqueue *rq, enum rknpu_core_state state)
{
	lockdep_assert_held(&rq->sched->hw->lock);
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ONCE(!(rknpu_core_next_states[rq->state] & BIT(state)),
			  "core %u goes from state %d to %d\n", rq->core->index, rq->state, state);
	rq->state = state;
}

void rknpu_runqueue_start_recovery(struct rknpu_runqueue *rq, enum rknpu_cause cause)
{
	rknpu_runqueue_set_state(rq, RKNPU_CORE_RECOVERING);
	rq->fault.cause = cause;
	queue_work(rq->wq, &rq->work);
}

void rknpu_runqueue_init(struct rknpu_runqueue *rq, struct rknpu_sched *sched,
			 struct rknpu_core *core)
{
	unsigned int p;

	rq->core = core;
	rq->sched = sched;
	rq->state = RKNPU_CORE_ABSENT;
	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++)
		timerqueue_init_head(&rq->groups[p]);
	init_waitqueue_head(&rq->idle_wait);
}

/* Returns the entity that it is of from now on. */
static struct rknpu_entity *rknpu_runqueue_admit(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_job_set_state(job, RKNPU_JOB_QUEUED);
	job->rq = rq;
	job->entity = rknpu_runqueue_entity(rq, job);
	job->expected_ns = job->client->job_ns ?: RKNPU_RUNQUEUE_UNKNOWN_NS;
	trace_rknpu_job_queue(job, rq->core->index);
	return job->entity;
}

/* It comes to its entity, or leaves that. */
static void rknpu_runqueue_count(struct rknpu_runqueue *rq, struct rknpu_job *job, int n)
{
	struct rknpu_share *share = job->entity->group->share;

	rq->queued += n;
	rq->queued_ns += n * job->expected_ns;
	share->jobs += n;
	if (share->held)
		rq->held += n;
}

static void rknpu_runqueue_join(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = rknpu_runqueue_admit(rq, job);

	if (list_empty(&entity->jobs))
		rknpu_slice_join(rq, entity, rknpu_slice_boosts(rq, entity, job->client));
	list_add_tail(&job->link, &entity->jobs);
	rknpu_runqueue_count(rq, job, 1);
}

void rknpu_runqueue_add(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_group *group = rknpu_runqueue_entity(rq, job)->group;

	if (!rknpu_slice_group_waits(group))
		rknpu_anticipate_joins(rq, group);
	rknpu_runqueue_join(rq, job);
}

void rknpu_runqueue_move(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_runqueue_remove(job);
	rknpu_runqueue_join(rq, job);
}

void rknpu_runqueue_put_back(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = rknpu_runqueue_admit(rq, job);

	if (list_empty(&entity->jobs))
		rknpu_slice_join(rq, entity, false);
	list_add(&job->link, &entity->jobs);
	rknpu_runqueue_count(rq, job, 1);
}

void rknpu_runqueue_remove(struct rknpu_job *job)
{
	struct rknpu_runqueue *rq = job->rq;
	struct rknpu_entity *entity = job->entity;

	lockdep_assert_held(&rq->sched->hw->lock);
	list_del_init(&job->link);
	if (list_empty(&entity->jobs)) {
		list_del_init(&entity->link);
		if (!rknpu_slice_group_waits(entity->group))
			rknpu_share_leave(rq, entity->group);
	}
	rknpu_runqueue_count(rq, job, -1);
}

static bool rknpu_runqueue_waits(struct rknpu_runqueue *rq, unsigned int priority)
{
	return rknpu_share_first(rq, priority);
}

struct rknpu_job *rknpu_runqueue_first(struct rknpu_runqueue *rq)
{
	struct rknpu_group *group = rknpu_share_pick(rq, rknpu_share_pick_priority(rq));

	return list_first_entry(&rknpu_slice_pick(rq, group)->jobs, struct rknpu_job, link);
}

void rknpu_runqueue_take(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = job->entity;
	struct rknpu_group *group = entity->group;
	bool in_turn = entity->boosted || list_is_first(&entity->link, &group->entities);
	unsigned int p;

	if (rq->shared)
		rknpu_shared_took(rq, job);
	rknpu_anticipate_ends(rq);
	rknpu_share_begin_turn(rq, group);
	if (entity->boosted)
		rknpu_slice_boost_begins(rq, entity);
	else
		rknpu_slice_boost_ends(rq, group);
	rknpu_slice_begins_in_turn(rq, entity);
	rknpu_runqueue_remove(job);
	/* So that all who run beside a gang that waits take turns. */
	if (!in_turn && !list_empty(&entity->jobs))
		list_move_tail(&entity->link, &group->entities);
	rq->passed_over[job->priority] = 0;
	if (!rq->queued)
		return;

	for (p = 0; p < job->priority; p++) {
		if (rknpu_runqueue_waits(rq, p))
			rq->passed_over[p]++;
	}
}

void rknpu_runqueue_pass_through(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = rknpu_runqueue_admit(rq, job);

	entity->boosted = false;
	rknpu_anticipate_ends(rq);
	rknpu_share_begin_turn(rq, entity->group);
	rknpu_slice_boost_ends(rq, entity->group);
	rq->passed_over[job->priority] = 0;
	rknpu_slice_begins(rq, entity);
}

static bool rknpu_runqueue_others_wait(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	unsigned int p;

	if (!rq->queued)
		return false;
	for (p = job->priority + 1; p < RKNPU_PRIORITY_COUNT; p++) {
		if (rknpu_runqueue_waits(rq, p))
			return true;
	}
	/* Each slice passes them over once more. */
	for (p = 0; p < job->priority; p++) {
		if (rknpu_runqueue_waits(rq, p) &&
		    ktime_get_ns() - job->try_ns > rknpu_share_slice_ns())
			return true;
	}
	return rknpu_share_turn_over(rq, job) || rknpu_slice_over(rq, job);
}

bool rknpu_runqueue_wants_core(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	return rknpu_runqueue_others_wait(rq, job) ||
	       (rq->shared && rknpu_shared_turn(rq->sched) != job->vm);
}
