/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns whose turn it is on cores that share an IOMMU or a CBUF. */
#ifndef __RKNPU_SHARED_H__
#define __RKNPU_SHARED_H__

struct rknpu_job;
struct rknpu_runqueue;
struct rknpu_sched;
struct rknpu_vm;

/*
 * Cores behind one IOMMU, as in the vendor's DT shape, or with one CBUF run jobs of one VM at
 * a time. All of these under rknpu_hw::lock, and only there.
 */

/* What the core, which has no job, would run next; or NULL. */
void rknpu_shared_want(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* Whose jobs may start now; to be compared. NULL: nobody's, others that run have to end first. */
struct rknpu_vm *rknpu_shared_turn(struct rknpu_sched *sched);
/* Does a core run a job? */
bool rknpu_shared_runs(struct rknpu_sched *sched);
/* That job comes to the core. */
void rknpu_shared_took(struct rknpu_runqueue *rq, struct rknpu_job *job);
/* The core begins to run its job. */
void rknpu_shared_starts(struct rknpu_runqueue *rq);

#endif
