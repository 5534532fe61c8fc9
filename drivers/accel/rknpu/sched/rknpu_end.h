/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the ends: of kicks, of jobs, and of the wait of those that depend on them. */
#ifndef __RKNPU_END_H__
#define __RKNPU_END_H__

#include "rknpu_job_types.h"

struct rknpu_runqueue;
struct rknpu_sched;
struct work_struct;

/* Without rknpu_hw::lock: */

/* The job is off its core and in no queue. */
void rknpu_end_job(struct rknpu_job *job, enum rknpu_cause cause);
/* The same for jobs linked by rknpu_job::link; may sleep. */
void rknpu_end_jobs(struct list_head *jobs, enum rknpu_cause cause);
/* Signals the fence of a job that rknpu_end_kick() returned. */
void rknpu_end_over(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* rknpu_sched::work */
void rknpu_end_work(struct work_struct *work);

/* With it: */

/*
 * The running kick is over. Returns rq->job if the core is done with it by that: then
 * rknpu_end_over() must follow, before the interrupt line is heard again. Until then this
 * must not be called again for the core (rknpu_runqueue::ending): the core has its next
 * job, which may be over at once and whose fence may not signal before that of the job it
 * waited for. NULL: the job goes on, or rknpu_sched::work ends it.
 */
struct rknpu_job *rknpu_end_kick(struct rknpu_runqueue *rq);
/* All that the job waited for is over. rknpu_sched::work goes on with it, in its user's turn. */
void rknpu_end_leave_ready(struct rknpu_job *job);
/* The job is in no queue. Takes it back, if it has been left to that. */
void rknpu_end_forget_ready(struct rknpu_job *job);

#endif
