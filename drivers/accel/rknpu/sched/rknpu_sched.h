/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the scheduler: starting jobs and tasks, their completion, cancelling them. */
#ifndef __RKNPU_SCHED_H__
#define __RKNPU_SCHED_H__

#include "rknpu_client.h"
#include "rknpu_job.h"
#include "rknpu_types.h"

/* Bit per core that can be given jobs. */
u32 rknpu_sched_cores_alive(struct rknpu_sched *sched);

/* Of the cores in @mask, which is not empty, the one with the fewest jobs just now. */
unsigned int rknpu_sched_quietest_core(struct rknpu_sched *sched, u32 mask);

/* How busy the core was in the last full second, the running job included: 0 to 100. */
unsigned int rknpu_sched_busy_percent(struct rknpu_core *core);

/*
 * A job, or all of a burst in order: hands the caller's references to the scheduler.
 * Cannot fail: on a device that is gone the fences signal -ENODEV.
 */
void rknpu_sched_push(struct rknpu_job **jobs, u32 count);

/*
 * Ends the client's queued jobs with -ECANCELED, running ones at the end of their
 * kick or, by a reset, after rknpu_params::cancel_grace_ms, waiting ones when they
 * need not wait any longer: others take its
 * fence to mean that what it depends on is over too. New ones may follow. Does
 * not wait itself.
 */
void rknpu_sched_cancel_jobs(struct rknpu_client *client);
/* The file is closed: the same, and drops the file's reference. */
void rknpu_sched_close_client(struct rknpu_client *client);

/* struct rknpu_hw_ops, rknpu_runqueue::watchdog, and rknpu_sched::work */
irqreturn_t rknpu_sched_irq(int irq, void *data);
bool rknpu_sched_poll(struct rknpu_core *core);

/*
 * Before sleeping: looks at cores that are polled until @over says so (true), until
 * @deadline_ns, a signal, or another thread's turn, or for as long as the administrator
 * allows.
 */
bool rknpu_sched_spin(struct rknpu_sched *sched, s64 deadline_ns, bool (*over)(void *data),
		      void *data);
void rknpu_sched_iommu_fault(struct rknpu_core *core, unsigned long iova, bool write);
void rknpu_sched_watchdog(struct work_struct *work);
void rknpu_sched_work(struct work_struct *work);

/* For the scheduler's own files. Without rknpu_hw::lock: */

/* The job is off its core and in no queue. */
void rknpu_sched_end_job(struct rknpu_job *job, enum rknpu_cause cause);
/* The same for jobs linked by rknpu_job::link. */
void rknpu_sched_end_jobs(struct list_head *jobs, enum rknpu_cause cause);
/* The same; @later: as those of its burst that ran before it, it is ended by rknpu_sched::work. */
void rknpu_sched_end_in_order(struct rknpu_job *job, enum rknpu_cause cause, bool later);
/* A job has left the core: ends @over, see rknpu_sched_task_done(). */
void rknpu_sched_finish(struct rknpu_runqueue *rq, struct list_head *over);
/* An idle core takes its interrupt down and may power down. */
void rknpu_sched_rest(struct rknpu_runqueue *rq);

/* With it: */

/* Gives an idle core, and those behind the same IOMMU, something to do, if there is anything. */
void rknpu_sched_dispatch(struct rknpu_runqueue *rq);
void rknpu_sched_dispatch_all(struct rknpu_sched *sched);
/* The next job of a core that is STARTING and ready for it, or NULL. */
struct rknpu_job *rknpu_sched_take_next(struct rknpu_runqueue *rq);
/*
 * rq->job has been taken, and its domain is attached: it starts, or waits for its
 * gang, or is put back because of a fault that has to be cleaned up first.
 */
void rknpu_sched_start(struct rknpu_runqueue *rq);
/* The gang of @job, if there is one, has to start without the rest. */
void rknpu_sched_dissolve_gang(struct rknpu_job *job);
/*
 * The running kick is over. True if the core is done with its job by that: then
 * rknpu_sched_finish() must follow, with @over, before the interrupt line is heard
 * again. Jobs before it in the same kick are in @over, too. It may stay empty: then
 * rknpu_sched::work ends them.
 */
bool rknpu_sched_task_done(struct rknpu_runqueue *rq, struct list_head *over);
/*
 * Moves rq->job, which has been started, on to the first job of its kick that is not
 * over. True if that is another one now.
 */
bool rknpu_sched_catch_up(struct rknpu_runqueue *rq);
/*
 * May a job whose next task did not start be started again after a reset? Once,
 * and only if none of its tasks has run: a later one may need what an earlier
 * one left in the core.
 */
bool rknpu_sched_may_retry(const struct rknpu_job *job);
/* Takes the job off the core, to go on with its next task when it comes to a core again. */
void rknpu_sched_put_back(struct rknpu_runqueue *rq);
/* Takes the job, if any, off the core in order to end it. */
struct rknpu_job *rknpu_sched_drop_job(struct rknpu_runqueue *rq);
/* The core's work is to find out what is wrong. */
void rknpu_sched_suspect(struct rknpu_runqueue *rq, enum rknpu_cause cause);
/*
 * Takes all jobs that are neither on a core nor wait for one that is not over; none
 * is queued any more, so the others end when that is.
 */
void rknpu_sched_take_all(struct rknpu_sched *sched, struct list_head *taken);

#endif
