/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns gangs: jobs for several cores that start together. */
#ifndef __RKNPU_GANG_H__
#define __RKNPU_GANG_H__

#include "rknpu_types.h"

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

/* What the core, which has no job, has to run next because a gang gathers, or NULL. */
struct rknpu_job *rknpu_gang_next(struct rknpu_runqueue *rq);
/* May @job, which would be next, run now? A gang begins to gather by that. */
bool rknpu_gang_admits(struct rknpu_runqueue *rq, struct rknpu_job *job);

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
