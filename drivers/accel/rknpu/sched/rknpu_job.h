/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the job model: making and freeing jobs, their dependencies, fences and results. */
#ifndef __RKNPU_JOB_H__
#define __RKNPU_JOB_H__

#include "hw/rknpu_regs.h"
#include "rknpu_job_types.h"

struct dma_resv;

/* What a job's fence reports for it: 0 or a negative errno. */
int rknpu_cause_error(enum rknpu_cause cause);
/* For people. */
const char *rknpu_cause_name(enum rknpu_cause cause);

/* Of one that is ended before it is over. */
enum rknpu_cause rknpu_job_cancel_cause(const struct rknpu_job *job);

/*
 * Allocates everything that can fail, the fence included; it may already be a
 * dependency of another job. An ERR_PTR on failure. A job that was never pushed
 * is dropped by rknpu_job_put().
 */
struct rknpu_job *rknpu_job_alloc(struct rknpu_client *client, struct rknpu_vm *vm,
				  u32 task_count, bool batched, u32 bo_count);
/* The creator's, for each task in order. @int_mask: interrupts that mean "done"; 0: the default */
void rknpu_job_set_task(struct rknpu_job *job, u32 index, u32 regcmd, u32 regcmd_count,
			u32 int_mask);

/* What the kick is for that task @index is in. */
static inline struct rknpu_task *rknpu_job_task(const struct rknpu_job *job, u32 index)
{
	return &job->tasks[index / job->kick_tasks];
}

/* Takes its own reference on @fence. Before rknpu_sched_push(). May sleep. */
int rknpu_job_add_dep(struct rknpu_job *job, struct dma_fence *fence);
/* For the scheduler, under rknpu_hw::lock: @dep no longer stands for a job that is not over. */
struct rknpu_job *rknpu_job_resolve_dep(struct rknpu_dep *dep);

/* Borrowed from the job. */
static inline struct dma_fence *rknpu_job_fence(struct rknpu_job *job)
{
	return job->fence;
}

/*
 * From here on the fence may be published, and the job must be pushed. Gives it
 * a seqno greater than any before: among fences armed under one reservation, the
 * order of publication.
 */
void rknpu_job_arm(struct rknpu_job *job);

void rknpu_job_get(struct rknpu_job *job);
/* Any context: what the job holds is released later, see rknpu_vm_use_over(). */
void rknpu_job_put(struct rknpu_job *job);

/* For the scheduler, under rknpu_hw::lock but for RKNPU_JOB_NEW. */
void rknpu_job_set_state(struct rknpu_job *job, enum rknpu_job_state state);

/* For the scheduler, under it: the core is no longer the job's. Its time until @now is counted. */
void rknpu_job_pause(struct rknpu_job *job, u64 now);
/* For the scheduler, under it: the job is going to end, and nobody finds it any more. */
void rknpu_job_leave(struct rknpu_job *job);
/* The same, after that: rknpu_sched::work ends it. */
void rknpu_job_end_cancelled(struct rknpu_job *job);

/*
 * For the scheduler, without rknpu_hw::lock: the hardware is done with the job.
 * Records the result and signals. rknpu_job::dependents are the caller's then.
 */
void rknpu_job_end(struct rknpu_job *job, enum rknpu_cause cause);

/* Is it one of these? Possibly false for one that has signalled. */
bool rknpu_fence_is_job(const struct dma_fence *fence);
/*
 * Does its job list a BO with that reservation, or if @write, list it as written? Only for a fence
 * that is known to be one of these. Possibly false if it has signalled, or the job lists many BOs.
 */
bool rknpu_fence_uses(struct dma_fence *fence, const struct dma_resv *resv, bool write);
/* After it signalled. Only for a fence that is known to be one of these. */
void rknpu_fence_get_result(struct dma_fence *fence, struct rknpu_result *result);
/*
 * Puts @dep, whose fence is one of these, among the dependents of that fence's
 * job. False: it has signalled, or it is another device's.
 */
bool rknpu_fence_add_dependent(struct rknpu_dep *dep);

/*
 * May a job whose next task did not start be started again after a reset? Once,
 * and only if none of its tasks has run: a later one may need what an earlier
 * one left in the core.
 */
bool rknpu_job_may_retry(const struct rknpu_job *job);

#endif
