/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what a job consists of: tasks, dependencies, states, the result. */
#ifndef __RKNPU_JOB_TYPES_H__
#define __RKNPU_JOB_TYPES_H__

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "mem/rknpu_vm.h"

struct rknpu_bo;
struct rknpu_client;
struct rknpu_entity;
struct rknpu_gang;
struct rknpu_runqueue;

/**
 * DOC: states of a job
 *
 * Under rknpu_hw::lock, changed by rknpu_job_set_state() alone:
 *
 * ======== =============================== =============================================
 * State    Where the job is                Next
 * ======== =============================== =============================================
 * NEW      with its creator                WAITING (pushed)
 * WAITING  waits for dependencies          QUEUED (all are met), ENDING (cancelled, or no
 *                                          core is in service)
 * QUEUED   in an entity of a core          ON_CORE (taken), QUEUED (another core's),
 *                                          ENDING (cancelled, or no core is in service)
 * ON_CORE  rknpu_runqueue::job             QUEUED (yields, or runs again after a reset),
 *                                          ENDING (over)
 * ENDING   its fence is being signalled,   none
 *          or was
 * ======== =============================== =============================================
 */
enum rknpu_job_state {
	RKNPU_JOB_NEW,
	RKNPU_JOB_WAITING,
	RKNPU_JOB_QUEUED,
	RKNPU_JOB_ON_CORE,
	RKNPU_JOB_ENDING,
	RKNPU_JOB_STATE_COUNT
};

/**
 * struct rknpu_task - one register program, or the first one of as many as one kick starts
 */
struct rknpu_task {
	/** @regcmd: IOVA, 8-byte aligned */
	u32 regcmd;
	/** @regcmd_count: 64-bit commands */
	u32 regcmd_count;
	/** @int_mask: interrupts of the last one that mean "done"; 0 for the default */
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
	RKNPU_CAUSE_CANCELLED,
	RKNPU_CAUSE_DEVICE_GONE,
	RKNPU_CAUSE_BANNED,
	/* Of a recovery, never of a job's end: the job runs again. */
	RKNPU_CAUSE_STOPPED,
	RKNPU_CAUSE_COUNT
};

/**
 * struct rknpu_result - the record every job ends with
 */
struct rknpu_result {
	/** @cause: how it ended */
	enum rknpu_cause cause;
	/** @core: where it ran last, or -1 */
	int core;
	/** @task: tasks completed, so also the index of the one that failed */
	u32 task;
	/** @elapsed_ns: from the start of the first task */
	u64 elapsed_ns;
	/** @int_status: what the interrupt that ended it said */
	u32 int_status;
	/** @fault_iova: for RKNPU_CAUSE_IOMMU_FAULT */
	u64 fault_iova;
	/** @fault_write: the same: the access was a write */
	bool fault_write;
	/** @rerun: it was started again, after system sleep or as it had left no trace */
	bool rerun;
	/** @tag: its creator's, of any meaning */
	u64 tag;
};

/**
 * struct rknpu_dep - a fence that a job waits for; does not change once the job is pushed
 */
struct rknpu_dep {
	/** @link: in rknpu_job::deps */
	struct list_head link;
	/**
	 * @waiter: in rknpu_job::dependents, if @fence is a job's; under rknpu_hw::lock
	 */
	struct list_head waiter;
	/** @cb: installed by rknpu_sched_push(), if it is not; under the lock of @fence */
	struct dma_fence_cb cb;
	/** @fence: holds a reference */
	struct dma_fence *fence;
	/** @job: whose dependency it is */
	struct rknpu_job *job;
};

/* Most jobs wait for no more: the last one that wrote their output, and perhaps a syncobj. */
#define RKNPU_JOB_FEW_DEPS	2

/**
 * struct rknpu_job - tasks that run in order on one core; @bos and @tasks lie behind it
 *
 * Until rknpu_sched_push() all of it is its creator's, without a lock. What comes before
 * @deps_pending does not change any more then; each field from there on says its lock.
 */
struct rknpu_job {
	/**
	 * @ref: atomic; the creator has one until rknpu_sched_push(), the scheduler from then on
	 */
	struct kref ref;
	/** @client: holds a reference */
	struct rknpu_client *client;
	/** @vm: holds a reference */
	struct rknpu_vm *vm;
	/** @use: claim on what is mapped in @vm; begun by the creator, ended by the last put */
	struct rknpu_vm_use use;
	/** @fence: own context, holds a reference; signalled when the hardware is done */
	struct dma_fence *fence;

	/** @tasks: by kick, see rknpu_job_set_task() */
	struct rknpu_task *tasks;
	/** @task_count: number of tasks; the rest of the group is filled by the creator */
	u32 task_count;
	/** @core_mask: cores it may run on, 0 for any */
	u32 core_mask;
	/** @priority: enum rknpu_priority */
	u8 priority;
	/** @timeout_ns: what one task may take, 0 for the default; see rknpu_limits_apply() */
	u64 timeout_ns;
	/**
	 * @budget_ns: what all tasks together may take, if that is less than any job may;
	 * or 0; not if divisible
	 */
	u64 budget_ns;
	/** @batched: the tasks are chained in memory, one kick runs them all */
	bool batched;
	/** @kick_tasks: how many one kick runs at most: 1, or what the hardware counts up to */
	u32 kick_tasks;
	/** @no_pingpong: their programs keep to one register group, so they must not overlap */
	bool no_pingpong;
	/** @own_pointer: their programs write S_POINTER, if those for the chip do */
	bool own_pointer;
	/**
	 * @divisible: no task needs what the one before left in the core, so other jobs
	 * may run in between
	 */
	bool divisible;
	/** @dma_base: what hardware adds to the programs' addresses */
	u32 dma_base;
	/** @gang: others that it starts together with, or NULL */
	struct rknpu_gang *gang;
	/** @bos: each with a BO reference that the job then owns */
	struct rknpu_bo **bos;
	/** @bo_room: what was charged for @bos: the bo_count of rknpu_job_alloc() */
	u32 bo_room;
	/** @bo_count: filled part of @bos */
	u32 bo_count;
	/** @write_count: the first ones of @bos, which the job writes */
	u32 write_count;

	/** @deps: dependencies */
	struct list_head deps;
	/** @few_deps: memory of the first ones */
	struct rknpu_dep few_deps[RKNPU_JOB_FEW_DEPS];
	/** @dep_count: number of @deps */
	u32 dep_count;
	/** @deps_pending: atomic; dependencies not yet signalled, plus 1 while pushing */
	atomic_t deps_pending;
	/**
	 * @jobs_pending: those of them that are jobs' of this device, plus 1 while pushing;
	 * under rknpu_hw::lock
	 */
	unsigned int jobs_pending;
	/**
	 * @dependents: those that wait for this job, by rknpu_dep::waiter, under
	 * rknpu_hw::lock. None is added once the fence has signalled. The first one is
	 * the job's successor, which the interrupt handler can start.
	 */
	struct list_head dependents;

	/** @state: see enum rknpu_job_state; under rknpu_hw::lock, as all up to @result */
	enum rknpu_job_state state;
	/** @cancelled: its client is closed: start nothing more of it */
	bool cancelled;
	/** @rq: in whose queues it is RKNPU_JOB_QUEUED */
	struct rknpu_runqueue *rq;
	/** @entity: in which of them it is, or was before it came ON_CORE */
	struct rknpu_entity *entity;
	/**
	 * @link: in rknpu_entity::jobs, rknpu_user::ready, or a list of jobs being ended;
	 * once ENDING, without the lock by who ends it. At last the ring of rknpu_user::met
	 */
	struct list_head link;
	/** @client_link: in rknpu_client::jobs or rknpu_client::visit from push until ENDING */
	struct list_head client_link;
	/** @expected_ns: what it was expected to take when it was queued */
	u64 expected_ns;
	/** @start_ns: from when its time on the core is not counted yet; 0: it is on none */
	u64 start_ns;
	/** @before_ns: time on cores that is counted */
	u64 before_ns;
	/** @void_ns: of that, what tries took that came to nothing: it counts for no limit */
	u64 void_ns;
	/** @try_ns: since when it has been on the core, whether that is counted or not */
	u64 try_ns;
	/** @lost_ns: time on a core where it did not start, before it was tried again */
	u64 lost_ns;
	/** @retried: it was taken off that core */
	bool retried;
	/** @failed_start_ns: since when the core has been lost to a failure; for rknpu_penalty.c */
	u64 failed_start_ns;
	/** @failed_ns: when that was found out */
	u64 failed_ns;
	/**
	 * @result: under rknpu_hw::lock until ENDING, then without it by who ends the job;
	 * others read the copy in the fence, once that has signalled
	 */
	struct rknpu_result result;
};

#endif
