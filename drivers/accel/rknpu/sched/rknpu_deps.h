/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns jobs that wait for fences: how they are told, and the work that tells many of them. */
#ifndef __RKNPU_DEPS_H__
#define __RKNPU_DEPS_H__

#include "rknpu_types.h"

/* rknpu_sched::work */
void rknpu_deps_work(struct work_struct *work);

/* Without rknpu_hw::lock: */

/* @job, which has not been told to be ready yet, waits for @dep, one of its own. */
void rknpu_deps_wait(struct rknpu_job *job, struct rknpu_dep *dep);
/* The fence of @job has signalled: on with those that waited for it. */
void rknpu_deps_meet_all(struct rknpu_job *job);

/* With it: */

/* The first job that waits for @job, or NULL. */
struct rknpu_job *rknpu_deps_successor(struct rknpu_job *job);
/* That one, which waits for nothing else, is queued although the fence has not signalled yet. */
void rknpu_deps_meet_early(struct rknpu_job *job);

#endif
