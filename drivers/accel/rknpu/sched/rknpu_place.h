/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns where jobs run: which core's queue a job joins, and what cores take over from each other. */
#ifndef __RKNPU_PLACE_H__
#define __RKNPU_PLACE_H__

#include <linux/types.h>

struct list_head;
struct rknpu_job;
struct rknpu_runqueue;
struct rknpu_sched;

/* All of these under rknpu_hw::lock. */

/*
 * What @job should wait in, or NULL if no core that it may run on is in service.
 * Of several that are as good, @first if it is among them.
 */
struct rknpu_runqueue *rknpu_place_choose(struct rknpu_sched *sched, struct rknpu_job *job,
					  struct rknpu_runqueue *first);
/*
 * Moves a job here from the core that has most, as long as there is one that may run here.
 * Returns it, or NULL.
 */
struct rknpu_job *rknpu_place_steal(struct rknpu_runqueue *rq);
/* Moves a job of a core that is out of service to another, or to @stranded; false: it has none. */
bool rknpu_place_evacuate(struct rknpu_runqueue *rq, struct list_head *stranded);

/* What is learnt for that: a job ended by itself; a core is brought up for one; and is up. */
void rknpu_place_job_took(struct rknpu_job *job, u64 ns);
void rknpu_place_wake_begin(struct rknpu_runqueue *rq);
void rknpu_place_wake_end(struct rknpu_runqueue *rq);

/* @job waits in @rq: does another core sleep that it may run on? */
bool rknpu_place_lets_sleep(struct rknpu_runqueue *rq, struct rknpu_job *job);

#endif
