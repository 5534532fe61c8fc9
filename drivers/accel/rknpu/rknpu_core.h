/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns one core: registers, clocks, resets, interrupt line, runtime PM. */
#ifndef __RKNPU_CORE_H__
#define __RKNPU_CORE_H__

#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "rknpu_job.h"
#include "rknpu_load.h"
#include "rknpu_stats.h"

struct clk;
struct clk_bulk_data;
struct device;
struct device_node;
struct iommu_group;
struct regulator;
struct reset_control;
struct rknpu_device;
struct rknpu_vm;

/**
 * enum rknpu_core_state - who may touch the core
 * @RKNPU_CORE_ABSENT: nobody: not bound, or its device is going away
 * @RKNPU_CORE_IDLE: whoever holds the lock may give it a job
 * @RKNPU_CORE_STARTING: its work powers it up, attaches a VM, starts a job
 * @RKNPU_CORE_RUNNING: the interrupt handler
 * @RKNPU_CORE_RECOVERING: its work, to find out what happened and to reset
 * @RKNPU_CORE_DEAD: nobody: it could not be brought back
 */
enum rknpu_core_state {
	RKNPU_CORE_ABSENT,
	RKNPU_CORE_IDLE,
	RKNPU_CORE_STARTING,
	RKNPU_CORE_RUNNING,
	RKNPU_CORE_RECOVERING,
	RKNPU_CORE_DEAD,
};

/* Only core 0 has two. */
#define RKNPU_CORE_MAX_BANKS	2

/* One for the AXI side and one for the AHB side. */
#define RKNPU_CORE_RESETS	2

/**
 * struct rknpu_iommu - what VMs attach to: a core's IOMMU, or one that all cores share
 * @attach_lock: serialises changes of the attached VM
 * @power_lock: one core at a time wakes the device that may be that of all; outside @attach_lock
 * @group: NULL while no core is bound
 * @np: its node, to tell whose fault it was
 * @dev: its device, which follows the cores to sleep
 * @users: cores bound
 * @vm: attached VM, see rknpu_vm.h
 * @stuck: VM that could not be detached; the IOMMU core still has its domain
 * @stuck_over: @stuck is to be released once it is detached
 * @shared: of all cores, see rknpu_share.h; does not change while cores are bound
 *
 * The rest is for a shared one, under rknpu_device::lock.
 *
 * @lost: out of service, as a core that cannot be reset is behind it
 * @closing: all cores are held in reset, and one of them turns the power off
 * @off: that has been done
 * @turn_vm: whose turn @turn_start belongs to; compared, not followed
 * @turn_start: ns
 */
struct rknpu_iommu {
	struct mutex attach_lock; /* changes of vm and of what the group is attached to */
	struct mutex power_lock; /* waking up, and trying again */
	struct iommu_group *group;
	struct device_node *np;
	struct device *dev;
	unsigned int users;
	struct rknpu_vm *vm;
	struct rknpu_vm *stuck;
	bool stuck_over;
	bool shared;
	bool lost;
	bool closing;
	bool off;
	struct rknpu_vm *turn_vm;
	u64 turn_start;
};

/**
 * struct rknpu_core - one core; lives as long as its rknpu_device
 * @rdev: device
 * @dev: platform device, perhaps of all cores; NULL while not bound
 * @index: the hardware's number
 * @pc: program controller registers
 * @cna: convolution front end registers
 * @mac: MAC array registers (the block named "core")
 * @banks: the core's part of a shared IOMMU's registers
 * @num_banks: number of @banks; 0 for an IOMMU of its own
 * @clks: clocks, unless they are all cores'
 * @num_clks: number of @clks
 * @npu_clk: compute clock, to tell its rate
 * @supply: regulator, or NULL: only to tell its voltage
 * @resets: all reset lines
 * @irq: interrupt, shared with the IOMMU
 * @version: version registers as read at bind time
 * @reset_shows: registers tell whether a reset took
 * @reset_lock: one reset at a time
 * @parked: held in reset, under @reset_lock
 *
 * @iommu: its own or a shared one
 * @clocked: a reset would take, under rknpu_iommu::attach_lock
 *
 * The rest is under rknpu_device::lock.
 *
 * @state: see enum rknpu_core_state
 * @frozen: system sleep: starts nothing new, see rknpu_device::sleeping
 * @powered: registers may be touched
 * @pm_held: a runtime PM reference is held for the busy period
 * @irq_off: the interrupt line is disabled
 * @loud: the last task's interrupt may still be pending
 * @job: running or starting; holds the scheduler's reference
 * @kick_tasks: tasks that the running kick runs
 * @kick_seen: of these, complete when last looked at
 * @look_delay: jiffies after which a kick is looked at, whether it has started
 * @look_at: jiffies when the running one is
 * @looked: it was
 * @task_timeout: jiffies a task may take
 * @deadline: jiffies when the running task is late
 * @late: it was found to be late, and has been given a moment since
 * @turns: by priority, queues with jobs; the first has its turn
 * @light: by priority, queues of clients that use little, which need not wait for turns
 * @after_light: the job that came to the core last was from @light
 * @passed_over: by priority, jobs of higher ones that were preferred since
 * @turn: whose turn @turn_start belongs to; compared, not followed
 * @turn_start: ns
 * @queued: jobs in all of @turns and @light
 * @wants_iommu: its next job has not been taken since it was found
 * @wanted_vm: what VM that job needs; compared, not followed
 * @cause: why RECOVERING
 * @fault_iova: page fault address
 * @fault_write: the access was a write
 *
 * @wq: ordered, for both works, so that they exclude each other
 * @work: STARTING and RECOVERING
 * @watchdog: runs at @deadline while there are jobs
 * @idle_wait: woken when @job becomes NULL
 * @stats: counters
 * @load: busy time
 */
struct rknpu_core {
	struct rknpu_device *rdev;
	struct device *dev;
	unsigned int index;
	void __iomem *pc;
	void __iomem *cna;
	void __iomem *mac;
	void __iomem *banks[RKNPU_CORE_MAX_BANKS];
	unsigned int num_banks;
	struct clk_bulk_data *clks;
	int num_clks;
	struct clk *npu_clk;
	struct regulator *supply;
	struct reset_control *resets[RKNPU_CORE_RESETS];
	int irq;
	u32 version;
	bool reset_shows;
	struct mutex reset_lock; /* one reset at a time */
	bool parked;

	struct rknpu_iommu *iommu;
	bool clocked;

	enum rknpu_core_state state;
	bool frozen;
	bool powered;
	bool pm_held;
	bool irq_off;
	bool loud;
	struct rknpu_job *job;
	u32 kick_tasks;
	u32 kick_seen;
	unsigned long look_delay;
	unsigned long look_at;
	bool looked;
	unsigned long task_timeout;
	unsigned long deadline;
	bool late;
	struct list_head turns[RKNPU_PRIORITY_COUNT];
	struct list_head light[RKNPU_PRIORITY_COUNT];
	bool after_light;
	unsigned int passed_over[RKNPU_PRIORITY_COUNT];
	struct rknpu_queue *turn;
	u64 turn_start;
	unsigned int queued;
	bool wants_iommu;
	struct rknpu_vm *wanted_vm;
	enum rknpu_cause cause;
	unsigned long fault_iova;
	bool fault_write;

	struct workqueue_struct *wq;
	struct work_struct work;
	struct delayed_work watchdog;
	wait_queue_head_t idle_wait;
	struct rknpu_core_stats stats;
	struct rknpu_load load;
};

/* The attached VM: compared, not followed. */
static inline struct rknpu_vm *rknpu_core_vm(struct rknpu_core *core)
{
	return READ_ONCE(core->iommu->vm);
}

/* All cores, bound or not, of a new device. */
void rknpu_core_init_static(struct rknpu_device *rdev, unsigned int index);

/* Component bind and unbind. The core is out of the scheduler's hands in unbind. */
int rknpu_core_bind(struct rknpu_core *core, struct device *dev);
void rknpu_core_unbind(struct rknpu_core *core);

/* What these consist of, for a device that is all cores. */
int rknpu_core_get_resets(struct rknpu_core *core, const char *axi, const char *ahb);
int rknpu_core_deassert(struct rknpu_core *core);
int rknpu_core_prepare(struct rknpu_core *core);
void rknpu_core_unprepare(struct rknpu_core *core);
/* Powers up for a moment, and lets the scheduler use the core. */
int rknpu_core_bring_up(struct rknpu_core *core);
/* Nothing can fault any more. */
void rknpu_core_free_irq(struct rknpu_core *core);
/* Powers @dev off and sets what its runtime PM callbacks work on. */
void rknpu_core_set_owner(struct device *dev, void *owner);

/* Takes a runtime PM reference. Tries harder than runtime PM alone. */
int rknpu_core_power_on(struct rknpu_core *core);
/*
 * Keep the handler of the core's IOMMU from running, on any core's line, while
 * the IOMMU is programmed or reset. Process context; they nest.
 */
void rknpu_core_lines_off(struct rknpu_core *core);
void rknpu_core_lines_on(struct rknpu_core *core);
/*
 * Ends whatever a program left running, if the core has power. The attach_lock
 * is held, and no job is on the core. An IOMMU of its own must be programmed anew.
 */
void rknpu_core_halt(struct rknpu_core *core);
/*
 * Powered, and with the attach_lock held if a VM may be attached. Returns 0 only
 * if the registers show that the reset took.
 */
int rknpu_core_reset(struct rknpu_core *core);
/* For good, in any state: held in reset and suspended, where it can access nothing. */
void rknpu_core_retire(struct rknpu_core *core);
/* Powered. Holds the core in reset, where it can access nothing. */
void rknpu_core_park(struct rknpu_core *core);
/*
 * With core->pm_held: off and on again, as far as other cores allow. Detached
 * meanwhile, without asking anything of an IOMMU that may not answer.
 */
int rknpu_core_power_cycle(struct rknpu_core *core);

/* For the driver's dev_pm_ops. */
int rknpu_core_runtime_suspend(struct rknpu_core *core);
int rknpu_core_runtime_resume(struct rknpu_core *core);

#endif
