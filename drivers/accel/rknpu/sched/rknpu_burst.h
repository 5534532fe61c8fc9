/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns bursts: jobs that one kick runs, and the ends among them that no interrupt tells. */
#ifndef __RKNPU_BURST_H__
#define __RKNPU_BURST_H__

#include "rknpu_types.h"

/*
 * For jobs that were not pushed yet, @job the last of its burst so far: @next, whose
 * first program the last one of @job names, is the last one from now on. Dependencies
 * of both, which are added from now on, are the first job's.
 */
void rknpu_burst_add(struct rknpu_job *job, struct rknpu_job *next);

/* The rest under rknpu_hw::lock. */

/*
 * rq->job starts a kick of its next @tasks tasks, which are increased by those of the
 * jobs that follow. Returns the last one of these.
 */
struct rknpu_job *rknpu_burst_begin(struct rknpu_runqueue *rq, u32 *tasks);
/*
 * The first @done tasks of the running kick are over: jobs that are over by that, but
 * for the last one of the kick, leave the core and go to @over.
 */
void rknpu_burst_pass(struct rknpu_runqueue *rq, u32 done, struct list_head *over);

#endif
