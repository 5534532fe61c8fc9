/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what a dump says of a failure: the core, its job, and that job's program. */
#ifndef __RKNPU_FAILURE_H__
#define __RKNPU_FAILURE_H__

#include "rknpu_job_types.h"

struct rknpu_dump;
struct rknpu_runqueue;

/*
 * For the core's work, without rknpu_hw::lock; nothing waits for memory. Fills
 * in what the core looks like and did before: to be called before it is reset.
 * NULL, which the others take, if there is no room. rknpu_dump_end() has to follow.
 */
struct rknpu_dump *rknpu_failure_begin(struct rknpu_runqueue *rq);

/*
 * What failed: @job, which the caller may end after that, or, for page faults,
 * NULL. Nothing, if the driver stopped the job, or is to try it again. The job's
 * program is read later, by rknpu_dumps::work.
 */
void rknpu_failure_report(struct rknpu_dump *dump, struct rknpu_runqueue *rq,
			  struct rknpu_job *job, enum rknpu_cause cause);
/* The core goes out of service, by that or, with the job that is on it, for no other reason. */
void rknpu_failure_report_lost(struct rknpu_dump *dump, struct rknpu_runqueue *rq, int error);

#endif
