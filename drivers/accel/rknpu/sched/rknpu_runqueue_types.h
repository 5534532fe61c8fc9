/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what a core runs, and what waits for it. */
#ifndef __RKNPU_RUNQUEUE_TYPES_H__
#define __RKNPU_RUNQUEUE_TYPES_H__

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "debug/rknpu_dump.h"
#include "rknpu_job_types.h"

struct rknpu_core;
struct rknpu_group;
struct rknpu_sched;
struct rknpu_vm;

/**
 * DOC: states of a core
 *
 * A core's state says who may touch the core and its run queue entry. It changes
 * under rknpu_hw::lock, by rknpu_runqueue_set_state() alone:
 *
 * ============ ========================================= ================================
 * State        Who may touch the core                    Next
 * ============ ========================================= ================================
 * ABSENT       nobody: not bound, or its device is going IDLE (bound)
 *              away
 * IDLE         whoever holds the lock may give it a job  RUNNING (a job starts at once),
 *                                                        STARTING (it takes power, an
 *                                                        attach or the rest of a gang),
 *                                                        RECOVERING (a fault), ABSENT
 * STARTING     its work powers it up, attaches a domain, RUNNING, IDLE (nothing to do),
 *              starts a job                              STARTING (again), RECOVERING (its
 *                                                        shared IOMMU is lost; postponed),
 *                                                        DEAD, ABSENT
 * RUNNING      the interrupt handler                     IDLE (job over or put back),
 *                                                        RUNNING (next job), RECOVERING
 *                                                        (error, fault, deadline), ABSENT
 * RECOVERING   its work, to find out what happened and   RUNNING (the end came late), IDLE
 *              to reset; nobody while it is postponed    (reset), RECOVERING (its shared
 *                                                        IOMMU is lost; postponed), DEAD,
 *                                                        ABSENT
 * DEAD         nobody: it could not be brought back      ABSENT (unbound)
 * ============ ========================================= ================================
 */
enum rknpu_core_state {
	RKNPU_CORE_ABSENT,
	RKNPU_CORE_IDLE,
	RKNPU_CORE_STARTING,
	RKNPU_CORE_RUNNING,
	RKNPU_CORE_RECOVERING,
	RKNPU_CORE_DEAD,
	RKNPU_CORE_STATE_COUNT
};

/**
 * struct rknpu_past_job - a job that has left its core, for dumps of what comes after it; under
 * rknpu_hw::lock
 */
struct rknpu_past_job {
	/** @seqno: its number */
	u64 seqno;
	/** @client: rknpu_client::id */
	u64 client;
	/** @elapsed_ns: time that it had */
	u64 elapsed_ns;
	/** @task: tasks that it completed */
	u32 task;
	/** @tasks: of so many */
	u32 tasks;
	/** @cause: how it ended */
	enum rknpu_cause cause;
};

/**
 * struct rknpu_load - busy time of one core; seconds are those of ktime_get_ns(); under
 * rknpu_hw::lock
 */
struct rknpu_load {
	/** @second: the latest one with a job in it */
	u64 second;
	/** @busy: ns in @second */
	u64 busy;
	/** @before: ns in the second before that */
	u64 before;
	/** @total: ns in all */
	u64 total;
};

/**
 * struct rknpu_runqueue - what a core runs, and what waits for it
 *
 * Under rknpu_hw::lock, but for what says otherwise.
 */
struct rknpu_runqueue {
	/** @core: core; does not change */
	struct rknpu_core *core;
	/** @sched: scheduler; does not change */
	struct rknpu_sched *sched;
	/** @state: see enum rknpu_core_state */
	enum rknpu_core_state state;
	/** @frozen: system sleep: starts nothing new, see rknpu_sched::sleeping */
	bool frozen;
	/**
	 * @pm_held: a runtime PM reference is held for the busy period; while STARTING or
	 * RECOVERING only @work changes it, which reads it without the lock
	 */
	bool pm_held;
	/**
	 * @prequeued: queued before the fence that it waited for signalled, and perhaps no
	 * longer queued: until then it stays here; compared, not followed
	 */
	struct rknpu_job *prequeued;
	/**
	 * @drop_prequeued: that was cancelled while it was queued: once the fence has
	 * signalled it ends
	 */
	bool drop_prequeued;
	/**
	 * @ending: a job has left the core, and whoever found it over has still to signal its
	 * fence. Until then nobody who polls ends another job of this core, see rknpu_end_kick()
	 */
	bool ending;
	/** @irq_seen: an interrupt has come since the core was bound */
	bool irq_seen;
	/** @lost_irqs: ends in a row that no interrupt told of, since the last one that did */
	unsigned int lost_irqs;
	/** @irq_pending: the last task's interrupt may still be */
	bool irq_pending;
	/**
	 * @job: running or starting; holds the scheduler's reference. Whether there is one is
	 * asked without the lock, too
	 */
	struct rknpu_job *job;
	/** @gang_since_ns: since when @job waits for the rest of its gang; 0: it does not */
	u64 gang_since_ns;
	/** @watch: how long the running kick may take */
	struct {
		/** @watch.tasks_seen: of the kick, complete when last looked at */
		u32 tasks_seen;
		/** @watch.check_delay: jiffies after which to look whether a kick has started */
		unsigned long check_delay;
		/** @watch.check_at: jiffies when that is */
		unsigned long check_at;
		/** @watch.checked: it was done */
		bool checked;
		/** @watch.timeout: jiffies a task may take */
		unsigned long timeout;
		/** @watch.deadline: jiffies when the running task is late */
		unsigned long deadline;
		/** @watch.late: it was found to be late, and has been given a moment since */
		bool late;
		/** @watch.cancel_at: jiffies when it is stopped, if it is cancelled */
		unsigned long cancel_at;
		/** @watch.balance: look whether to wake a core for what is queued after all */
		bool balance;
		/** @watch.gang_at: jiffies when it starts without the rest of its gang */
		unsigned long gang_at;
	} watch;
	/** @groups: by priority, those with entities, by virtual time */
	struct timerqueue_head groups[RKNPU_PRIORITY_COUNT];
	/** @shares: how many users those are of; 0: nothing can be run */
	unsigned int shares;
	/** @vtime_ns: that of the share which had the latest turn, and never less than before */
	u64 vtime_ns;
	/** @turn: whose jobs it ran last, or NULL */
	struct rknpu_group *turn;
	/** @anticipate: of a job of the user of @turn; see rknpu_anticipate.c */
	struct {
		/** @anticipate.since_ns: since when the core is kept for it; 0: it is not */
		u64 since_ns;
		/** @anticipate.over: it was, since @turn began, for nothing */
		bool over;
		/** @anticipate.timer: ends it */
		struct hrtimer timer;
	} anticipate;
	/** @passed_over: by priority, jobs of higher ones that were preferred since */
	unsigned int passed_over[RKNPU_PRIORITY_COUNT];
	/** @queued: jobs in all of @groups, and of users that are held */
	unsigned int queued;
	/** @held: of those, jobs of users that are held */
	unsigned int held;
	/** @queued_ns: what @queued are expected to take */
	u64 queued_ns;
	/** @waking_ns: since when it is STARTING for want of power; or 0 */
	u64 waking_ns;
	/**
	 * @shared: cores run jobs of one VM at a time, see rknpu_shared.c; does not change while
	 * the core is bound
	 */
	bool shared;
	/**
	 * @postponed: RECOVERING, held in reset, and tried again when system sleep is over: see
	 * rknpu_recover_postpone()
	 */
	bool postponed;
	/** @retired: behind an IOMMU that others share: it was given up, and stays parked */
	bool retired;
	/**
	 * @wanted: what the core, then without a job, would run next if the IOMMU were its own;
	 * or NULL. Followed by who has found it, until the lock is dropped; then only compared
	 */
	struct rknpu_job *wanted;
	/** @wanted_group: of that job */
	struct rknpu_group *wanted_group;
	/** @wanted_vm: what VM it needs; compared, not followed */
	struct rknpu_vm *wanted_vm;
	/** @fault: why RECOVERING */
	struct {
		/** @fault.cause: cause */
		enum rknpu_cause cause;
		/** @fault.iova: page fault address */
		unsigned long iova;
		/** @fault.write: the access was a write */
		bool write;
	} fault;

	/** @wq: ordered, for both works, so that they exclude each other; changes while ABSENT */
	struct workqueue_struct *wq;
	/** @work: STARTING and RECOVERING */
	struct work_struct work;
	/** @signalling: of dma_fence_begin_signalling(); @work's alone, without the lock */
	bool signalling;
	/** @watchdog: runs at @watch.deadline while there are jobs */
	struct delayed_work watchdog;
	/** @idle_wait: woken when @job becomes NULL; has its own lock */
	wait_queue_head_t idle_wait;
	/** @load: busy time */
	struct rknpu_load load;
	/** @history_count: jobs that have left the core */
	unsigned int history_count;
	/** @history: the last ones of them, by that number */
	struct rknpu_past_job history[RKNPU_DUMP_JOBS];
};

#endif
