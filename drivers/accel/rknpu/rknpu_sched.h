/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the scheduler: clients, per-core queues, starting, deadlines, recovery. */
#ifndef __RKNPU_SCHED_H__
#define __RKNPU_SCHED_H__

#include <linux/atomic.h>
#include <linux/irqreturn.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "rknpu_soc.h"

struct rknpu_core;
struct rknpu_device;
struct rknpu_job;

/**
 * struct rknpu_queue - one client's jobs on one core, in order of readiness
 * @jobs: jobs
 * @link: in rknpu_core::turns while there are jobs
 */
struct rknpu_queue {
	struct list_head jobs;
	struct list_head link;
};

/**
 * struct rknpu_client - what turns are taken between
 * @ref: the file and every job hold one
 * @rdev: device, with a reference on its drm_device
 * @link: in rknpu_device::clients
 * @jobs: pushed and not ended
 * @queues: by core
 * @busy_ns: core time used
 * @job_count: jobs that exist
 */
struct rknpu_client {
	struct kref ref;
	struct rknpu_device *rdev;
	struct list_head link;
	struct list_head jobs;
	struct rknpu_queue queues[RKNPU_MAX_CORES];
	atomic64_t busy_ns;
	atomic_t job_count;
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
int rknpu_client_charge_job(struct rknpu_client *client);
void rknpu_client_uncharge_job(struct rknpu_client *client);

static inline u64 rknpu_client_busy_ns(struct rknpu_client *client)
{
	return atomic64_read(&client->busy_ns);
}

/* Lock held. Moves the client's jobs that are not on a core to @taken, to be ended. */
void rknpu_client_take_jobs(struct rknpu_client *client, struct list_head *taken);

/* Makes a pushed job known, so that it can be ended; false: device gone. */
bool rknpu_sched_admit(struct rknpu_job *job);
/* All dependencies are met. Any context. */
void rknpu_sched_ready(struct rknpu_job *job);

int rknpu_sched_core_init(struct rknpu_core *core);
void rknpu_sched_core_fini(struct rknpu_core *core);
/* The core is powered down and ready for jobs. */
void rknpu_sched_core_start(struct rknpu_core *core);
/* Ends every job; no core is touched afterwards. */
void rknpu_sched_stop(struct rknpu_device *rdev);

/* System sleep: waits for the running job; -EBUSY if it takes too long. */
int rknpu_sched_core_freeze(struct rknpu_core *core);
void rknpu_sched_core_thaw(struct rknpu_core *core);

/* Reboot or kexec: holds the core in reset, for good, whatever it was doing. */
void rknpu_sched_core_shutdown(struct rknpu_core *core);

irqreturn_t rknpu_sched_irq(int irq, void *data);
/* Hard interrupt context. */
void rknpu_sched_iommu_fault(struct rknpu_core *core, unsigned long iova, bool write);

/* What the scheduler's own files share. With rknpu_device::lock held: */

/* Gives an idle core something to do, if there is anything. */
void rknpu_sched_dispatch(struct rknpu_core *core);
/*
 * The running task is over. Returns the job if that was the last one: then
 * rknpu_sched_finish() must follow before the interrupt line is heard again.
 */
struct rknpu_job *rknpu_sched_task_done(struct rknpu_core *core);
/* Takes the job, if any, off the core in order to end it. */
struct rknpu_job *rknpu_sched_drop_job(struct rknpu_core *core);

/* Without it: */

/* Ends a job that rknpu_sched_task_done() returned. */
void rknpu_sched_finish(struct rknpu_core *core, struct rknpu_job *job);
/* An idle core takes its interrupt down and may power down. */
void rknpu_sched_rest(struct rknpu_core *core);
/* For the core's works: power until rknpu_sched_rest(). */
int rknpu_sched_power_up(struct rknpu_core *core);

#endif
