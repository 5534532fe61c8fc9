/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns run queues: the jobs that wait for a core, by turns, and the states of cores. */
#ifndef __RKNPU_RUNQUEUE_H__
#define __RKNPU_RUNQUEUE_H__

#include "rknpu_client_types.h"
#include "rknpu_runqueue_types.h"

void rknpu_runqueue_init(struct rknpu_runqueue *rq, struct rknpu_sched *sched,
			 struct rknpu_core *core);

/* All of these under rknpu_hw::lock. */

/* WARNs, on a kernel that proves locking, where "states of a core" does not allow it. */
void rknpu_runqueue_set_state(struct rknpu_runqueue *rq, enum rknpu_core_state state);
/* The core's work is to find out what is wrong: RECOVERING. */
void rknpu_runqueue_start_recovery(struct rknpu_runqueue *rq, enum rknpu_cause cause);

/* Neither absent nor dead. */
static inline bool rknpu_runqueue_in_service(const struct rknpu_runqueue *rq)
{
	return rq->state != RKNPU_CORE_ABSENT && rq->state != RKNPU_CORE_DEAD;
}

static inline struct rknpu_entity *rknpu_runqueue_entity(struct rknpu_runqueue *rq,
							 struct rknpu_job *job)
{
	return &job->client->entities[rq->core->index][job->priority];
}

void rknpu_runqueue_add(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* The same for one that was on the core: it is the first of its client's. */
void rknpu_runqueue_put_back(struct rknpu_runqueue *rq, struct rknpu_job *job);
void rknpu_runqueue_remove(struct rknpu_job *job);
/* From another core's, which is no job that comes. */
void rknpu_runqueue_move(struct rknpu_runqueue *rq, struct rknpu_job *job);

/* Jobs before one that would come now, but for those of users that are held. */
static inline unsigned int rknpu_runqueue_load(const struct rknpu_runqueue *rq)
{
	return rq->queued - rq->held + (rq->state != RKNPU_CORE_IDLE);
}

/* By time slices: the job that the core, whose queue has some, should run next. It stays queued. */
struct rknpu_job *rknpu_runqueue_first(struct rknpu_runqueue *rq);
/* A queued job comes to the core: the same as removing it, and its client's slice is counted. */
void rknpu_runqueue_take(struct rknpu_runqueue *rq, struct rknpu_job *job);

/* The job comes to a core that has nothing queued, as if it had been added and taken. */
void rknpu_runqueue_pass_through(struct rknpu_runqueue *rq, struct rknpu_job *job);

/* Between two tasks of the running job: should others come first? */
bool rknpu_runqueue_wants_core(struct rknpu_runqueue *rq);

#endif
