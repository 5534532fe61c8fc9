/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the ends: of kicks, of jobs, and of the wait of those that depend on them. */
#ifndef __RKNPU_END_H__
#define __RKNPU_END_H__

#include "rknpu_types.h"

/* How many jobs of a burst end in an interrupt. */
#define RKNPU_END_BATCH	16

/* Without rknpu_hw::lock: */

/* The job is off its core and in no queue. */
void rknpu_end_job(struct rknpu_job *job, enum rknpu_cause cause);
/* The same for jobs linked by rknpu_job::link. */
void rknpu_end_jobs(struct list_head *jobs, enum rknpu_cause cause);
/* The same; @later: as those of its burst that ran before it, it is ended by rknpu_sched::work. */
void rknpu_end_in_order(struct rknpu_job *job, enum rknpu_cause cause, bool later);
/* A job has left the core: ends @over, see rknpu_end_kick(). */
void rknpu_end_over(struct rknpu_runqueue *rq, struct list_head *over);
/* rknpu_sched::work */
void rknpu_end_work(struct work_struct *work);

/* With it: */

/*
 * The running kick is over. True if the core is done with its job by that: then
 * rknpu_end_over() must follow, with @over, before the interrupt line is heard
 * again. Jobs before it in the same kick are in @over, too. It may stay empty: then
 * rknpu_sched::work ends them. Until then it must not be called again for the core
 * (rknpu_runqueue::ending): the core has its next job, which may be over at once and whose
 * fence may not signal before that of the job it waited for.
 */
bool rknpu_end_kick(struct rknpu_runqueue *rq, struct list_head *over);
/*
 * Moves rq->job, which has been started, on to the first job of its kick that is not
 * over. True if that is another one now.
 */
bool rknpu_end_passed(struct rknpu_runqueue *rq);
/* An interrupt of a core with rknpu_runqueue::ending comes again after rknpu_end_over(). */
void rknpu_end_hold_irq(struct rknpu_runqueue *rq);

#endif
