/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns gangs: jobs for several cores that start together. */
#ifndef __RKNPU_GANG_H__
#define __RKNPU_GANG_H__

#include <linux/kref.h>

#include "hw/rknpu_soc.h"
#include "rknpu_job_types.h"

struct rknpu_runqueue;

/**
 * struct rknpu_gang - jobs for several cores that start together
 *
 * One gang at a time gathers (rknpu_sched::gang), so that two gangs cannot each hold
 * a core that the other one wants. It begins when its turn has come on all of its
 * cores. Until the jobs end that the others run at that time, all its cores go on
 * with other clients' jobs; then each takes the gang's job next. Meanwhile it is put
 * off (rknpu_sched::put_off) for a gang all of whose cores are free. Cores that have
 * theirs are STARTING until the last one does, or for RKNPU_DEADLINE_GANG_MS, or for a
 * time slice if another user waits: then the jobs start on their own, so that no core is
 * idle for long.
 */
struct rknpu_gang {
	/** @ref: atomic; each job holds one */
	struct kref ref;
	/** @seq: when it was formed, in order; does not change */
	u64 seq;
	/** @open: not started yet; under rknpu_hw::lock, as all that follows, once pushed */
	bool open;
	/** @jobs: by core; not references: a job that ends leaves */
	struct rknpu_job *jobs[RKNPU_MAX_CORES];
	/** @before: cores whose jobs, which began before it gathered, have to end first */
	u32 before;
	/** @waiting: cores that have their job ready to start */
	u32 waiting;
};

/* For jobs that were not pushed yet and whose core_mask is one core, each
 * another: they start together, or, if one of them ends before, on their own.
 */
int rknpu_gang_form(struct rknpu_job **jobs, unsigned int count);
/* A job of it is freed. */
void rknpu_gang_put(struct rknpu_gang *gang);

/* The rest under rknpu_hw::lock. */

/* Is it one of a gang that has not started? */
static inline bool rknpu_gang_waits(const struct rknpu_job *job)
{
	return job->gang && job->gang->open;
}

/* Has the scheduler got all of its jobs? Before that it does not gather. */
bool rknpu_gang_is_pushed(const struct rknpu_gang *gang);
/* What the core, which has no job, has to run next because a gang gathers, or NULL. */
struct rknpu_job *rknpu_gang_next(struct rknpu_runqueue *rq);
/* May @job, which would be next, run now? A gang begins to gather by that. */
bool rknpu_gang_admits(struct rknpu_runqueue *rq, struct rknpu_job *job);

/* The first job that waits for the core and does not have to wait for a gang, or NULL. */
struct rknpu_job *rknpu_gang_backfill(struct rknpu_runqueue *rq);

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
