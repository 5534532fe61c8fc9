/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the scheduler knows: jobs, clients and their entities, run queues, and their states. */
#ifndef __RKNPU_TYPES_H__
#define __RKNPU_TYPES_H__

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "debug/rknpu_dump.h"
#include "hw/rknpu_hw.h"
#include "mem/rknpu_bo.h"
#include "mem/rknpu_vm.h"

struct rknpu_client;
struct rknpu_sched;
struct rknpu_user;
struct workqueue_struct;

/*
 * Every job costs kernel memory, and a fence in the list of each BO it names,
 * which others walk with a lock held, and which no memory cgroup is charged for.
 * Documented in the uAPI header. All files of one user may have as many as
 * RKNPU_USER_FILES together.
 */
#define RKNPU_CLIENT_MAX_JOBS	8192
#define RKNPU_CLIENT_MAX_TASKS	1048576
#define RKNPU_CLIENT_MAX_BOS	524288
#define RKNPU_USER_FILES	8

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
 *                                                        shared IOMMU is lost), DEAD,
 *                                                        ABSENT
 * RUNNING      the interrupt handler                     IDLE (job over or put back),
 *                                                        RUNNING (next job), RECOVERING
 *                                                        (error, fault, deadline), ABSENT
 * RECOVERING   its work, to find out what happened and   RUNNING (the end came late), IDLE
 *              to reset                                  (reset), RECOVERING (its shared
 *                                                        IOMMU is lost), DEAD, ABSENT
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
	/** @regcmd: IOVA, 16-byte aligned */
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
	/** @rerun: it was stopped for system sleep and started again */
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
	 * @waiter: in rknpu_job::dependents or rknpu_sched::met, if @fence is a job's; under
	 * rknpu_hw::lock
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
	/** @no_pingpong: their programs keep to one register group, so they must not overlap */
	bool no_pingpong;
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
	 * @link: in rknpu_entity::jobs, rknpu_sched::ready, or a list of jobs being ended;
	 * once ENDING, without the lock by who ends it
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
	/** @retried: it was taken off a core where it did not start */
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

/**
 * struct rknpu_entity - one client's jobs of one priority on one core, in order of readiness;
 * all of it under rknpu_hw::lock, but that @group does not change
 */
struct rknpu_entity {
	/** @jobs: jobs */
	struct list_head jobs;
	/** @link: in rknpu_group::entities or rknpu_group::boosted while there are jobs */
	struct list_head link;
	/** @boosted: in the latter */
	bool boosted;
	/** @group: of its client's user */
	struct rknpu_group *group;
};

/**
 * struct rknpu_group - one user's entities of one priority on one core; all of it
 * under rknpu_hw::lock, but that @share does not change
 */
struct rknpu_group {
	/**
	 * @node: in rknpu_runqueue::groups while there are entities, by rknpu_share::vtime_ns,
	 * unless the share is held
	 */
	struct timerqueue_node node;
	/** @share: of all its priorities */
	struct rknpu_share *share;
	/** @entities: those with jobs; the first has its time slice */
	struct list_head entities;
	/**
	 * @boosted: those with jobs of clients that use little: their slice may come within
	 * the one of another
	 */
	struct list_head boosted;
	/** @slice: the current time slice; all times are those of rknpu_share_clock() */
	struct {
		/** @slice.entity: whose it is; compared, not followed */
		struct rknpu_entity *entity;
		/** @slice.start_ns: since when, those of @boosted not counted */
		u64 start_ns;
	} slice;
	/** @boost: the slice of one of @boosted within that */
	struct {
		/** @boost.entity: whose it is, or NULL; compared, not followed */
		struct rknpu_entity *entity;
		/** @boost.start_ns: since when */
		u64 start_ns;
		/** @boost.next_ns: when the next one may begin at the earliest */
		u64 next_ns;
	} boost;
	/** @left_ns: when another group's turn began */
	u64 left_ns;
	/** @away_ns: time of others' turns, until its latest one began */
	u64 away_ns;
};

/**
 * struct rknpu_share - what one user has of one core; see rknpu_share.c. All of it under
 * rknpu_hw::lock
 */
struct rknpu_share {
	/** @vtime_ns: virtual time */
	u64 vtime_ns;
	/** @queued: how many of @groups have entities, and are in rknpu_runqueue::groups */
	unsigned int queued;
	/** @held: none of @groups is, as its user is held */
	bool held;
	/** @groups: by priority */
	struct rknpu_group groups[RKNPU_PRIORITY_COUNT];
};

/**
 * struct rknpu_past - a job that has left its core, for dumps of what comes after it; under
 * rknpu_hw::lock
 */
struct rknpu_past {
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
 * struct rknpu_backlog - jobs that exist
 */
struct rknpu_backlog {
	/**
	 * @counts: atomic; jobs, their tasks, and the BOs they name, in one: see
	 * rknpu_backlog.c
	 */
	atomic64_t counts;
	/** @files: how many files' there may be; does not change */
	u32 files;
	/** @room: who waits until there may be more; has its own lock */
	wait_queue_head_t room;
};

/**
 * struct rknpu_debt - what failures have cost others lately, see rknpu_debt.c; under rknpu_hw::lock
 */
struct rknpu_debt {
	/** @strikes: failures that are not forgiven */
	unsigned int strikes;
	/** @since_ns: when the last one was forgiven, or the first one of these came */
	u64 since_ns;
	/** @failed_ns: when the last one came */
	u64 failed_ns;
};

/**
 * struct rknpu_user - whom clients belong to, and limits are counted by
 */
struct rknpu_user {
	/** @clients: how many it has; under rknpu_sched::users_lock */
	unsigned int clients;
	/** @sched: device; does not change */
	struct rknpu_sched *sched;
	/** @uid: in the first user namespace; its index in rknpu_sched::users; does not change */
	unsigned long uid;
	/** @quota: memory of all its clients; atomic */
	struct rknpu_quota quota;
	/** @backlog: jobs of all its clients; atomic */
	struct rknpu_backlog backlog;
	/** @shares: by core; under rknpu_hw::lock, as all that follows */
	struct rknpu_share shares[RKNPU_MAX_CORES];
	/** @debt: of all its clients */
	struct rknpu_debt debt;
	/** @recovering: failures that cores are being recovered from */
	unsigned int recovering;
	/** @until_ns: no job of it may start before */
	u64 until_ns;
	/** @held: none starts, for that or because it is banned */
	bool held;
	/** @banned: it was when that was looked at last */
	bool banned;
	/** @hold_link: in rknpu_sched::held while @held */
	struct list_head hold_link;
};

/**
 * struct rknpu_client - what core time is shared between: an open file
 *
 * What comes before @link does not change. From there on all is under rknpu_hw::lock, but
 * for what says otherwise.
 */
struct rknpu_client {
	/** @account: atomic; the file, every job and every BO that it made hold a reference */
	struct rknpu_account account;
	/** @id: no other client ever has it */
	u64 id;
	/** @pid: of the process that opened the file, as the first PID namespace has it */
	pid_t pid;
	/** @comm: its name then */
	char comm[TASK_COMM_LEN];
	/** @sched: device, with a reference on its drm_device */
	struct rknpu_sched *sched;
	/** @user: whoever opened the file, with a reference */
	struct rknpu_user *user;
	/** @link: in rknpu_sched::clients */
	struct list_head link;
	/** @jobs: pushed and not ended */
	struct list_head jobs;
	/** @visit: those of them that are still to be cancelled, or taken as the device goes */
	struct list_head visit;
	/** @visiting: rknpu_sched_take_all() is at them */
	bool visiting;
	/** @round: the last one of rknpu_sched::rounds that has come to the end of them */
	u64 round;
	/** @entities: by core and priority */
	struct rknpu_entity entities[RKNPU_MAX_CORES][RKNPU_PRIORITY_COUNT];
	/** @busy_ns: core time used */
	u64 busy_ns;
	/** @core_ns: the same by core */
	u64 core_ns[RKNPU_MAX_CORES];
	/** @cycles: cycles of the compute clock in those, by core */
	struct {
		/** @cycles.count: in the first @cycles.ns of the core time */
		u64 count;
		/** @cycles.ns: core time that was counted at other rates */
		u64 ns;
		/** @cycles.hz: rate in the rest of it */
		unsigned long hz;
	} cycles[RKNPU_MAX_CORES];
	/** @job_ns: what its jobs took lately; 0: none has ended */
	u64 job_ns;
	/** @credit: how little it has used lately, see rknpu_entity::boosted */
	struct {
		/** @credit.seen_ns: when @credit.ns was computed */
		u64 seen_ns;
		/** @credit.seen_busy_ns: @busy_ns then */
		u64 seen_busy_ns;
		/** @credit.ns: how much less than half a core it has used */
		s64 ns;
	} credit;
	/** @backlog: its jobs; atomic */
	struct rknpu_backlog backlog;
	/** @refused: atomic; jobs that were too many */
	atomic_t refused;
	/** @debt: as its user's */
	struct rknpu_debt debt;
	/** @failures: jobs that failed by its own fault */
	unsigned int failures;
	/** @failure_ns: core time that this took from others */
	u64 failure_ns;
	/** @banned: for good; read without the lock, too */
	bool banned;
	/** @ban_job: holds a reference until rknpu_sched::ban_work has ended its jobs */
	struct rknpu_job *ban_job;
	/** @ban_link: in rknpu_sched::banned until that begins */
	struct list_head ban_link;
};

/**
 * struct rknpu_gang - jobs for several cores that start together
 *
 * One gang at a time gathers (rknpu_sched::gang), so that two gangs cannot each hold
 * a core that the other one wants. It begins when its turn comes on one of its
 * cores. Until the jobs end that the others run at that time, all its cores go on
 * with other clients' jobs; then each takes the gang's job next. Cores that have
 * theirs are STARTING until the last one does, or for RKNPU_DEADLINE_GANG_MS: then the
 * jobs start on their own, so that no core is idle for long.
 */
struct rknpu_gang {
	/** @ref: atomic; each job holds one */
	struct kref ref;
	/** @open: not started yet; under rknpu_hw::lock, as all that follows, once pushed */
	bool open;
	/** @jobs: by core; not references: a job that ends leaves */
	struct rknpu_job *jobs[RKNPU_MAX_CORES];
	/** @before: cores whose jobs, which began before it gathered, have to end first */
	u32 before;
	/** @waiting: cores that have their job ready to start */
	u32 waiting;
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
	 * @early: queued before the fence that it waited for signalled, and perhaps no
	 * longer queued: until then it stays here; compared, not followed
	 */
	struct rknpu_job *early;
	/**
	 * @ending: a job has left the core, and whoever found it over has still to signal its
	 * fence. Until then nobody who polls ends another job of this core, see rknpu_end_kick()
	 */
	bool ending;
	/** @irq_pending: the last task's interrupt may still be */
	bool irq_pending;
	/**
	 * @job: running or starting; holds the scheduler's reference. Whether there is one is
	 * asked without the lock, too
	 */
	struct rknpu_job *job;
	/** @watch: how long the running kick may take */
	struct {
		/** @watch.tasks_seen: of the kick, complete when last looked at */
		u32 tasks_seen;
		/** @watch.look_delay: jiffies after which to look whether a kick has started */
		unsigned long look_delay;
		/** @watch.look_at: jiffies when that is */
		unsigned long look_at;
		/** @watch.looked: it was done */
		bool looked;
		/** @watch.timeout: jiffies a task may take */
		unsigned long timeout;
		/** @watch.deadline: jiffies when the running task is late */
		unsigned long deadline;
		/** @watch.late: it was found to be late, and has been given a moment since */
		bool late;
		/** @watch.cancel_at: jiffies when it is stopped, if it is cancelled */
		unsigned long cancel_at;
		/** @watch.spread: look whether to wake a core for what is queued after all */
		bool spread;
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
	/** @passed_over: by priority, jobs of higher ones that were preferred since */
	unsigned int passed_over[RKNPU_PRIORITY_COUNT];
	/** @queued: jobs in all of @groups, and of users that are held */
	unsigned int queued;
	/** @queued_ns: what those are expected to take */
	u64 queued_ns;
	/** @waking_ns: since when it is STARTING for want of power; or 0 */
	u64 waking_ns;
	/** @wants_iommu: its next job has not been taken since it was found */
	bool wants_iommu;
	/** @wanted_vm: what VM that job needs; compared, not followed */
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
	/** @past_count: jobs that have left the core */
	unsigned int past_count;
	/** @past: the last ones of them, by that number */
	struct rknpu_past past[RKNPU_DUMP_JOBS];
};

/**
 * struct rknpu_sched - the scheduler of one device
 *
 * Under rknpu_hw::lock, but for what says otherwise.
 */
struct rknpu_sched {
	/** @hw: hardware; does not change */
	struct rknpu_hw *hw;
	/** @mem: memory, for accounts of clients; does not change */
	struct rknpu_mem *mem;
	/** @rqs: by core */
	struct rknpu_runqueue rqs[RKNPU_MAX_CORES];
	/** @clients: all open ones and those with unfinished jobs */
	struct list_head clients;
	/** @users: by uid, those with clients, and those in debt; under @users_lock */
	struct xarray users;
	/** @users_lock: protects @users; taken when files are opened and clients freed */
	struct mutex users_lock;
	/** @held: users none of whose jobs may start */
	struct list_head held;
	/** @hold_work: ends that */
	struct delayed_work hold_work;
	/** @banned: clients whose queued jobs are to be ended */
	struct list_head banned;
	/** @ban_work: does that */
	struct work_struct ban_work;
	/**
	 * @gang: jobs that are about to start together, or NULL; compared with those of
	 * jobs, and valid while one of them is queued
	 */
	struct rknpu_gang *gang;
	/** @wake_ns: what powering up a core and attaching took lately; 0: not known */
	u64 wake_ns;
	/** @shared: of an IOMMU that serves all cores */
	struct {
		/** @shared.vm: whose time slice it is; compared, not followed */
		struct rknpu_vm *vm;
		/** @shared.start_ns: since when */
		u64 start_ns;
		/**
		 * @shared.lost: out of service: a core that cannot be reset is behind it; read
		 * without the lock, too
		 */
		bool lost;
		/** @shared.closing: all cores are parked, and one of them powers the NPU off */
		bool closing;
	} shared;
	/** @met: dependencies on jobs that are over, by rknpu_dep::waiter; for @work */
	struct list_head met;
	/** @ready: jobs that wait for nothing any more, WAITING; for @work */
	struct list_head ready;
	/** @ending: jobs that end without having run, with their cause; for @work */
	struct list_head ending;
	/**
	 * @wq: for @work, @hold_work and @ban_work; jobs end by it: it does not wait for memory.
	 * Does not change
	 */
	struct workqueue_struct *wq;
	/** @work: what is too much for an interrupt, or where fence locks may be held */
	struct work_struct work;
	/** @core_lost: a core is out of service for good; may sleep. Does not change */
	void (*core_lost)(struct rknpu_sched *sched);
	/** @losing: calls that, outside of all that fences wait for */
	struct work_struct losing;
	/** @sleeping: cores that system sleep has frozen; all are, as long as one is */
	unsigned int sleeping;
	/** @gone: no job may start or be queued any more */
	bool gone;
	/** @rounds: calls of rknpu_sched_take_all() */
	u64 rounds;
	/** @dumps: of failures; see there */
	struct rknpu_dumps dumps;
};

#define rknpu_for_each_rq(rq, sched)							\
	for ((rq) = (sched)->rqs; (rq) < (sched)->rqs + RKNPU_MAX_CORES; (rq)++)

#endif
