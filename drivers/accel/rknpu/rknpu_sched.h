/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the scheduler: clients, per-core queues, starting, deadlines, recovery. */
#ifndef __RKNPU_SCHED_H__
#define __RKNPU_SCHED_H__

#include <linux/atomic.h>
#include <linux/irqreturn.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "rknpu_job.h"
#include "rknpu_soc.h"

struct drm_printer;
struct rknpu_core;
struct rknpu_device;
struct rknpu_job;

/*
 * Every job costs kernel memory, and a fence in the list of each BO it names,
 * which others walk with a lock held. Documented in the uAPI header.
 */
#define RKNPU_CLIENT_MAX_JOBS	8192
#define RKNPU_CLIENT_MAX_TASKS	1048576
#define RKNPU_DEVICE_MAX_JOBS	65536

/**
 * struct rknpu_queue - one client's jobs of one priority on one core, in order of readiness
 * @jobs: jobs
 * @link: in rknpu_core::turns or rknpu_core::light while there are jobs
 * @is_light: in the latter
 */
struct rknpu_queue {
	struct list_head jobs;
	struct list_head link;
	bool is_light;
};

/**
 * struct rknpu_client - what turns are taken between
 * @ref: the file, every job and every BO that it made hold one
 * @rdev: device, with a reference on its drm_device
 * @link: in rknpu_device::clients
 * @jobs: pushed and not ended
 * @queues: by core and priority
 * @busy_ns: core time used
 * @core_ns: the same by core
 * @seen_ns: when @credit_ns was computed
 * @seen_busy_ns: @busy_ns then
 * @credit_ns: how much less than its share it has used lately
 * @job_count: jobs that exist
 * @task_count: tasks of those
 * @bo_pages: pages of BOs that it made
 */
struct rknpu_client {
	struct kref ref;
	struct rknpu_device *rdev;
	struct list_head link;
	struct list_head jobs;
	struct rknpu_queue queues[RKNPU_MAX_CORES][RKNPU_PRIORITY_COUNT];
	atomic64_t busy_ns;
	atomic64_t core_ns[RKNPU_MAX_CORES];
	u64 seen_ns;
	u64 seen_busy_ns;
	s64 credit_ns;
	atomic_t job_count;
	atomic_t task_count;
	atomic_long_t bo_pages;
};

/* ERR_PTR on failure. */
struct rknpu_client *rknpu_client_create(struct rknpu_device *rdev);
/*
 * The file is closed: ends its queued jobs with -ECANCELED, running ones at
 * the next task boundary, waiting ones when they need not wait any longer, and
 * drops the file's reference. Does not wait itself.
 */
void rknpu_client_close(struct rknpu_client *client);
/* The same for its jobs alone: new ones may follow. */
void rknpu_client_cancel_jobs(struct rknpu_client *client);
struct rknpu_client *rknpu_client_get(struct rknpu_client *client);
void rknpu_client_put(struct rknpu_client *client);

/* For every job that exists. -EBUSY: the client, or all together, have too many. */
int rknpu_client_charge_job(struct rknpu_client *client, u32 task_count);
void rknpu_client_uncharge_job(struct rknpu_client *client, u32 task_count);

static inline u64 rknpu_client_busy_ns(struct rknpu_client *client)
{
	return atomic64_read(&client->busy_ns);
}

/* The lines of fdinfo that say how long each core worked for the client. */
void rknpu_client_show_busy(struct rknpu_client *client, struct drm_printer *p);

/* Lock held. Moves the client's jobs that are not on a core to @taken, to be ended. */
void rknpu_client_take_jobs(struct rknpu_client *client, struct list_head *taken);

/* Makes a pushed job known, so that it can be ended; false: device gone. */
bool rknpu_sched_admit(struct rknpu_job *job);
/* Both with the lock held: core->job has been taken and its VM is attached. */
void rknpu_sched_start_job(struct rknpu_core *core);
/* It is, but the core has to be cleaned up first, or the job is not to run any more. */
void rknpu_sched_start_over(struct rknpu_core *core);

/* All dependencies are met. Any context. */
void rknpu_sched_ready(struct rknpu_job *job);

/* What a task may take if its job does not say. */
u64 rknpu_sched_default_timeout_ns(void);

int rknpu_sched_core_init(struct rknpu_core *core);
void rknpu_sched_core_fini(struct rknpu_core *core);
/* The core is powered down and ready for jobs. */
void rknpu_sched_core_start(struct rknpu_core *core);
/* Ends every job; no core is touched afterwards. */
void rknpu_sched_stop(struct rknpu_device *rdev);

/*
 * System sleep: no core starts anything any more until all are thawed. Waits for
 * the running job for a while, then stops it, and it is run again after the
 * sleep. -EBUSY if that does not work either, and then the core is thawed.
 */
int rknpu_sched_core_freeze(struct rknpu_core *core);
void rknpu_sched_core_thaw(struct rknpu_core *core);

/* Reboot or kexec, after rknpu_sched_stop(): resets the core, or holds it in reset. */
void rknpu_sched_core_shutdown(struct rknpu_core *core);

irqreturn_t rknpu_sched_irq(int irq, void *data);
/* Hard interrupt context. */
void rknpu_sched_iommu_fault(struct rknpu_core *core, unsigned long iova, bool write);

/* What the scheduler's own files share. With rknpu_device::lock held: */

/* Gives an idle core, and those that share its IOMMU, something to do, if there is anything. */
void rknpu_sched_dispatch(struct rknpu_core *core);
/*
 * The running task is over. Returns the job if that was the last one: then
 * rknpu_sched_finish() must follow before the interrupt line is heard again.
 */
struct rknpu_job *rknpu_sched_task_done(struct rknpu_core *core);
/*
 * May a job whose next task did not start be started again after a reset? Once,
 * and only if none of its tasks has run: a later one may need what an earlier
 * one left in the core.
 */
bool rknpu_sched_may_retry(const struct rknpu_job *job);
/* Takes the job off the core, to go on with its next task when its turn comes again. */
void rknpu_sched_put_back(struct rknpu_core *core);
/* Takes the job, if any, off the core in order to end it. */
struct rknpu_job *rknpu_sched_drop_job(struct rknpu_core *core);

/* Without it: */

/* Ends a job that rknpu_sched_task_done() returned. */
void rknpu_sched_finish(struct rknpu_core *core, struct rknpu_job *job);
/* An idle core takes its interrupt down and may power down. */
void rknpu_sched_rest(struct rknpu_core *core);
/* For the core's works: power until rknpu_sched_rest(). */
int rknpu_sched_power_up(struct rknpu_core *core);
/* Has the job on the core had all the time that its tasks have together? */
bool rknpu_sched_budget_over(struct rknpu_core *core);
/* Sets rknpu_core::pm_held, which others look at. */
void rknpu_sched_set_held(struct rknpu_core *core, bool held);

#endif
