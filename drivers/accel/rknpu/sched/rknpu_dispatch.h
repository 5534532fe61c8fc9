/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns starting: what an idle core runs next, how a kick begins, and taking jobs off cores. */
#ifndef __RKNPU_DISPATCH_H__
#define __RKNPU_DISPATCH_H__

#include <linux/hrtimer.h>
#include <linux/types.h>

struct rknpu_job;
struct rknpu_runqueue;
struct rknpu_sched;

/* An idle core takes its interrupt down and may power down. Without rknpu_hw::lock, and with it. */
void rknpu_dispatch_idle(struct rknpu_runqueue *rq);
void rknpu_dispatch_idle_locked(struct rknpu_runqueue *rq);
/* rknpu_runqueue::anticipate.timer's function */
enum hrtimer_restart rknpu_dispatch_anticipated(struct hrtimer *timer);

/* The others with it: */

/* Gives an idle core, and those behind the same IOMMU, something to do, if there is anything. */
void rknpu_dispatch(struct rknpu_runqueue *rq);
void rknpu_dispatch_all(struct rknpu_sched *sched);
/* Jobs that waited do so no more: others may have left an IOMMU to them that all cores share. */
void rknpu_dispatch_left(struct rknpu_sched *sched);
/* All that the job waited for is over: it starts, or joins a run queue, or sched->ending. */
void rknpu_dispatch_ready(struct rknpu_job *job);
/* Of what the job waits for, one is over. It may have been the last one that counts. */
void rknpu_dispatch_dep_resolved(struct rknpu_job *job);
/*
 * The short way of the usual job: there is nobody whom it could pass over, so it
 * need not be queued. False: it has to be.
 */
bool rknpu_dispatch_directly(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* The next job of a core that is STARTING and ready for it, or NULL. */
struct rknpu_job *rknpu_dispatch_take_next(struct rknpu_runqueue *rq);
/*
 * rq->job has been taken, and its domain is attached: it starts, or waits for its
 * gang, or is put back because of a fault that has to be cleaned up first.
 */
void rknpu_dispatch_start(struct rknpu_runqueue *rq);
/*
 * rq->job, which has been taken, does not start: it is put back, and the core's work
 * cleans up after a fault of what ran before, or ends it if it is cancelled.
 */
void rknpu_dispatch_start_over(struct rknpu_runqueue *rq);
/* Starts the next task of rq->job, or the next ones if they are chained. */
void rknpu_dispatch_start_kick(struct rknpu_runqueue *rq);
/* rq->job is RUNNING again, and its kick has been all the time. */
void rknpu_dispatch_go_on(struct rknpu_runqueue *rq);
/* The gang of @job, if there is one, has to start without the rest. */
void rknpu_dispatch_dissolve_gang(struct rknpu_job *job);
/* Takes the job off the core, to go on with its next task when it comes to a core again. */
void rknpu_dispatch_put_back(struct rknpu_runqueue *rq);
/* Takes the job, if any, off the core in order to end it. */
struct rknpu_job *rknpu_dispatch_drop_job(struct rknpu_runqueue *rq);
/* All cores start nothing more, and do so again. These nest: see rknpu_sched::sleeping. */
void rknpu_dispatch_freeze(struct rknpu_sched *sched);
void rknpu_dispatch_thaw(struct rknpu_sched *sched);
/* rq->job is in other hands now. */
void rknpu_dispatch_leave_core(struct rknpu_runqueue *rq);

#endif
