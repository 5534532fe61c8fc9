/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns which job runs next, and where: run queues, time slices, gangs. The scheduler acts. */
#ifndef __RKNPU_RUNQUEUE_H__
#define __RKNPU_RUNQUEUE_H__

#include "rknpu_types.h"

void rknpu_runqueue_init(struct rknpu_runqueue *rq, struct rknpu_sched *sched,
			 struct rknpu_core *core);

/* All of these under rknpu_hw::lock. */

/* WARNs, on a kernel that proves locking, where "states of a core" does not allow it. */
void rknpu_runqueue_set_state(struct rknpu_runqueue *rq, enum rknpu_core_state state);
/* The core's work is to find out what is wrong: RECOVERING. */
void rknpu_runqueue_suspect(struct rknpu_runqueue *rq, enum rknpu_cause cause);

/* Neither absent nor dead. */
static inline bool rknpu_runqueue_in_service(const struct rknpu_runqueue *rq)
{
	return rq->state != RKNPU_CORE_ABSENT && rq->state != RKNPU_CORE_DEAD;
}

/* For where jobs are placed: one ended by itself; a core is brought up for one; and is up. */
void rknpu_runqueue_job_took(struct rknpu_job *job, u64 ns);
void rknpu_runqueue_wakes(struct rknpu_runqueue *rq);
void rknpu_runqueue_woke(struct rknpu_runqueue *rq);

/* @job waits in @rq: does another core sleep that it may run on? */
bool rknpu_runqueue_lets_sleep(struct rknpu_runqueue *rq, struct rknpu_job *job);

/*
 * What @job should wait in, or NULL if no core that it may run on is in service.
 * Of several that are as good, @first if it is among them.
 */
struct rknpu_runqueue *rknpu_runqueue_choose(struct rknpu_sched *sched, struct rknpu_job *job,
					     struct rknpu_runqueue *first);
void rknpu_runqueue_add(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* The same for one that was on the core: it is the first of its client's. */
void rknpu_runqueue_put_back(struct rknpu_runqueue *rq, struct rknpu_job *job);
void rknpu_runqueue_remove(struct rknpu_job *job);

/*
 * The job that an idle core should run next: one of its own run queue, by time
 * slices, else one taken over from a busy core. It stays queued. NULL if there is
 * none, or none that may run now: those of a gang that gathers come first or let
 * others pass, see struct rknpu_gang, and cores behind one IOMMU run jobs of one VM
 * at a time.
 */
struct rknpu_job *rknpu_runqueue_next(struct rknpu_runqueue *rq);
/* That job comes to the core: the same as removing it, and its client's slice is counted. */
void rknpu_runqueue_take(struct rknpu_runqueue *rq, struct rknpu_job *job);

/* The job comes to a core that has nothing queued, as if it had been added and taken. */
void rknpu_runqueue_pass_through(struct rknpu_runqueue *rq, struct rknpu_job *job);

/* Between two tasks of the running job: should others come first? */
bool rknpu_runqueue_wants_core(struct rknpu_runqueue *rq);

/* Moves a job of a core that is out of service to another, or to @stranded; false: it has none. */
bool rknpu_runqueue_evacuate(struct rknpu_runqueue *rq, struct list_head *stranded);

/* Is rq->job a member of a gang that has not started, and ready? */
bool rknpu_gang_keeps(const struct rknpu_runqueue *rq);
/*
 * rq->job is a member of a gang that has not started, and is ready; or the gang
 * of @job, if it has not started, gathers no more. True if the gang is over by
 * that: then the cores of @ready are to start their jobs.
 */
bool rknpu_gang_ready(struct rknpu_runqueue *rq, u32 *ready);
bool rknpu_gang_dissolve(struct rknpu_job *job, u32 *ready);

#endif
