/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the job model: tasks, dependencies, fence, result. */
#ifndef __RKNPU_JOB_H__
#define __RKNPU_JOB_H__

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "rknpu_vm.h"

struct rknpu_bo;
struct rknpu_client;
struct rknpu_core;
struct rknpu_gang;

/**
 * struct rknpu_task - one register program
 * @regcmd: IOVA, 16-byte aligned
 * @regcmd_count: 64-bit commands
 * @int_mask: interrupts that mean "done"; 0 for the default
 */
struct rknpu_task {
	u32 regcmd;
	u32 regcmd_count;
	u32 int_mask;
};

enum rknpu_priority {
	RKNPU_PRIORITY_LOW,
	RKNPU_PRIORITY_NORMAL,
	RKNPU_PRIORITY_HIGH,
	RKNPU_PRIORITY_COUNT
};

/* How a job ended. */
enum rknpu_cause {
	RKNPU_CAUSE_NONE,
	RKNPU_CAUSE_DONE,
	RKNPU_CAUSE_TIMEOUT_NEVER_STARTED,
	RKNPU_CAUSE_TIMEOUT_RUNNING,
	RKNPU_CAUSE_DMA_READ,
	RKNPU_CAUSE_DMA_WRITE,
	RKNPU_CAUSE_IOMMU_FAULT,
	RKNPU_CAUSE_RESET_OTHER,
	RKNPU_CAUSE_CANCELLED,
	RKNPU_CAUSE_KILLED,
	RKNPU_CAUSE_DEVICE_GONE,
	RKNPU_CAUSE_COUNT
};

/* What a job's fence reports for it: 0 or a negative errno. */
int rknpu_cause_error(enum rknpu_cause cause);
const char *rknpu_cause_name(enum rknpu_cause cause);

/**
 * struct rknpu_result - the record every job ends with
 * @cause: how it ended
 * @core: where it ran last, or -1
 * @task: tasks completed, so also the index of the one that failed
 * @elapsed_ns: from the start of the first task
 * @int_status: what the interrupt that ended it said
 * @fault_iova: for RKNPU_CAUSE_IOMMU_FAULT
 * @fault_write: the same: the access was a write
 * @rerun: it was stopped for system sleep and started again
 */
struct rknpu_result {
	enum rknpu_cause cause;
	int core;
	u32 task;
	u64 elapsed_ns;
	u32 int_status;
	u64 fault_iova;
	bool fault_write;
	bool rerun;
};

/**
 * struct rknpu_dep - a fence that a job waits for
 * @link: in rknpu_job::deps
 * @cb: installed by rknpu_job_push()
 * @fence: holds a reference
 * @job: whose dependency it is
 */
struct rknpu_dep {
	struct list_head link;
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct rknpu_job *job;
};

/**
 * enum rknpu_job_state - under rknpu_device::lock
 * @RKNPU_JOB_NEW: the creator's
 * @RKNPU_JOB_WAITING: for dependencies
 * @RKNPU_JOB_QUEUED: in a core's queue
 * @RKNPU_JOB_ON_CORE: rknpu_core::job
 * @RKNPU_JOB_ENDING: its fence is being signalled, or was
 */
enum rknpu_job_state {
	RKNPU_JOB_NEW,
	RKNPU_JOB_WAITING,
	RKNPU_JOB_QUEUED,
	RKNPU_JOB_ON_CORE,
	RKNPU_JOB_ENDING,
};

/**
 * struct rknpu_job - tasks that run in order on one core
 * @ref: the creator has one until rknpu_job_push(), the scheduler from then on
 * @client: holds a reference
 * @vm: holds a reference
 * @use: claim on what is mapped in @vm; begun by the creator, ended by the last put
 * @fence: own context, holds a reference; signalled when the hardware is done
 * @tasks: filled by the creator
 * @task_count: size of @tasks
 * @core_mask: filled by the creator: cores it may run on, 0 for any
 * @priority: filled by the creator: enum rknpu_priority
 * @timeout_ns: filled by the creator: what one task may take, 0 for the default
 * @budget_ns: filled by the creator: what all tasks together may take, 0 for the
 *	default; not of divisible jobs
 * @batched: filled by the creator: the tasks are chained in memory, one kick runs
 *	them all
 * @dma_base: filled by the creator: what hardware adds to the programs' addresses
 * @gang: others that it starts together with, or NULL
 * @no_dpu_done: filled by the creator: a kick's end is the PPU's alone, where
 *	rknpu_task::int_mask does not say
 * @divisible: filled by the creator: no task needs what the one before left in
 *	the core, so other jobs may run in between
 * @bos: filled by the creator, each with a BO reference that the job then owns
 * @bo_count: filled part of @bos, at most the bo_count of rknpu_job_alloc()
 * @write_count: the first ones of @bos, which the job writes
 * @deps: dependencies
 * @deps_pending: dependencies not yet signalled, plus 1 while pushing
 * @heir: a job that waits for this one, with a reference: the interrupt handler
 *	can start it before this job's fence is signalled, if it waits for
 *	nothing else
 * @state: see enum rknpu_job_state
 * @cancelled: its client is closed: start nothing more of it
 * @core: in whose queues it is RKNPU_JOB_QUEUED
 * @link: in rknpu_queue::jobs, or in a list of jobs being ended, or in rknpu_vm::over
 * @client_link: in rknpu_client::jobs from push until ENDING
 * @start_ns: first task started, since it came to the core last
 * @before_ns: time on a core before that
 * @retried: it was taken off a core where it did not start
 * @result: valid once the fence has signalled
 * @work: rknpu_job_end_later()
 */
struct rknpu_job {
	struct kref ref;
	struct rknpu_client *client;
	struct rknpu_vm *vm;
	struct rknpu_vm_use use;
	struct dma_fence *fence;
	struct rknpu_task *tasks;
	u32 task_count;
	u32 core_mask;
	u8 priority;
	u64 timeout_ns;
	u64 budget_ns;
	bool batched;
	bool no_dpu_done;
	bool divisible;
	u32 dma_base;
	struct rknpu_gang *gang;
	struct rknpu_bo **bos;
	u32 bo_count;
	u32 write_count;

	struct list_head deps;
	atomic_t deps_pending;
	struct rknpu_job *heir;

	enum rknpu_job_state state;
	bool cancelled;
	struct rknpu_core *core;
	struct list_head link;
	struct list_head client_link;
	u64 start_ns;
	u64 before_ns;
	bool retried;
	struct rknpu_result result;
	struct work_struct work;
};

/*
 * Allocates everything that can fail, the fence included; it may already be a
 * dependency of another job. An ERR_PTR on failure. A job that was never pushed
 * is dropped by rknpu_job_put().
 */
struct rknpu_job *rknpu_job_alloc(struct rknpu_client *client, struct rknpu_vm *vm,
				  u32 task_count, u32 bo_count);

/* Takes its own reference on @fence. Before rknpu_job_push(). May sleep. */
int rknpu_job_add_dep(struct rknpu_job *job, struct dma_fence *fence);

/* Borrowed from the job. */
static inline struct dma_fence *rknpu_job_fence(struct rknpu_job *job)
{
	return job->fence;
}

/*
 * From here on the fence may be published, and the job must be pushed. Returns
 * the fence, borrowed from the job. Cannot fail.
 */
struct dma_fence *rknpu_job_arm(struct rknpu_job *job);

/*
 * Hands the caller's reference to the scheduler. Cannot fail: on a device that
 * is gone the fence signals -ENODEV.
 */
void rknpu_job_push(struct rknpu_job *job);

void rknpu_job_get(struct rknpu_job *job);
/* Any context: what the job holds is released later, see rknpu_reap.h. */
void rknpu_job_put(struct rknpu_job *job);
/* For rknpu_reap: the last reference is gone. May sleep. */
void rknpu_job_free(struct rknpu_job *job);

/* For the scheduler: the core goes to others for now. The time so far is counted. */
void rknpu_job_pause(struct rknpu_job *job);

/*
 * For the scheduler, without rknpu_device::lock: the hardware is done with the
 * job. Records the result, signals, drops the scheduler's reference.
 */
void rknpu_job_end(struct rknpu_job *job, enum rknpu_cause cause);

/* The same for jobs linked by rknpu_job::link. */
void rknpu_job_end_list(struct list_head *jobs, enum rknpu_cause cause);
/* The same from where fence locks may be held: signals from rknpu_release. */
void rknpu_job_end_later(struct rknpu_job *job, enum rknpu_cause cause);

#endif
