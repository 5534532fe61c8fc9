// SPDX-License-Identifier: GPL-2.0-only
/* Owns clients: what turns are taken between, and what ends with a file. */
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_queue.h"
#include "rknpu_reap.h"
#include "rknpu_sched.h"

static bool rknpu_client_charge(atomic_t *count, u32 n, int max)
{
	if (atomic_add_return(n, count) <= max)
		return true;
	atomic_sub(n, count);
	return false;
}

/* At most RKNPU_CLIENT_MAX_JOBS, so the sum of their tasks fits an int. */
int rknpu_client_charge_job(struct rknpu_client *client, u32 task_count)
{
	if (!rknpu_client_charge(&client->job_count, 1, RKNPU_CLIENT_MAX_JOBS))
		return -EBUSY;
	if (!rknpu_client_charge(&client->task_count, task_count, RKNPU_CLIENT_MAX_TASKS))
		goto err_job;
	if (!rknpu_client_charge(&client->rdev->job_count, 1, RKNPU_DEVICE_MAX_JOBS))
		goto err_tasks;
	return 0;

err_tasks:
	atomic_sub(task_count, &client->task_count);
err_job:
	atomic_dec(&client->job_count);
	return -EBUSY;
}

void rknpu_client_uncharge_job(struct rknpu_client *client, u32 task_count)
{
	atomic_dec(&client->rdev->job_count);
	atomic_sub(task_count, &client->task_count);
	atomic_dec(&client->job_count);
}

struct rknpu_client *rknpu_client_create(struct rknpu_device *rdev)
{
	struct rknpu_client *client = kzalloc_obj(*client, GFP_KERNEL_ACCOUNT);

	if (!client)
		return ERR_PTR(-ENOMEM);

	kref_init(&client->ref);
	INIT_LIST_HEAD(&client->jobs);
	rknpu_queue_init_client(client);
	drm_dev_get(&rdev->accel);
	client->rdev = rdev;

	spin_lock_irq(&rdev->lock);
	list_add_tail(&client->link, &rdev->clients);
	spin_unlock_irq(&rdev->lock);
	return client;
}

struct rknpu_client *rknpu_client_get(struct rknpu_client *client)
{
	kref_get(&client->ref);
	return client;
}

static void rknpu_client_release(struct kref *ref)
{
	struct rknpu_client *client = container_of(ref, struct rknpu_client, ref);
	struct rknpu_device *rdev = client->rdev;

	spin_lock_irq(&rdev->lock);
	list_del(&client->link);
	spin_unlock_irq(&rdev->lock);
	kfree(client);
	drm_dev_put(&rdev->accel);
}

void rknpu_client_put(struct rknpu_client *client)
{
	kref_put(&client->ref, rknpu_client_release);
}

static void rknpu_client_take_job(struct rknpu_job *job, struct list_head *taken)
{
	if (job->state == RKNPU_JOB_QUEUED)
		rknpu_queue_remove(job->client->rdev, job);
	job->state = RKNPU_JOB_ENDING;
	list_del_init(&job->client_link);
	list_add_tail(&job->link, taken);
}

void rknpu_client_take_jobs(struct rknpu_client *client, struct list_head *taken)
{
	struct rknpu_job *job, *next;

	lockdep_assert_held(&client->rdev->lock);
	list_for_each_entry_safe(job, next, &client->jobs, client_link) {
		if (job->state != RKNPU_JOB_ON_CORE)
			rknpu_client_take_job(job, taken);
	}
}

/*
 * A job that waits goes on waiting: others take its fence to mean that what it
 * depends on is over too. It ends when that is true.
 */
static void rknpu_client_cancel(struct rknpu_client *client, struct list_head *cancelled)
{
	struct rknpu_job *job, *next;

	list_for_each_entry_safe(job, next, &client->jobs, client_link) {
		job->cancelled = true;
		if (job->state == RKNPU_JOB_QUEUED)
			rknpu_client_take_job(job, cancelled);
	}
}

void rknpu_client_cancel_jobs(struct rknpu_client *client)
{
	LIST_HEAD(cancelled);

	spin_lock_irq(&client->rdev->lock);
	rknpu_client_cancel(client, &cancelled);
	spin_unlock_irq(&client->rdev->lock);

	rknpu_job_end_list(&cancelled, RKNPU_CAUSE_CANCELLED);
}

void rknpu_client_close(struct rknpu_client *client)
{
	rknpu_client_cancel_jobs(client);
	rknpu_client_put(client);
	rknpu_reap_soon();
}

void rknpu_client_show_busy(struct rknpu_client *client, struct drm_printer *p)
{
	unsigned int i;

	for (i = 0; i < client->rdev->soc->num_cores; i++)
		drm_printf(p, "drm-engine-npu%u:\t%llu ns\n", i,
			   (u64)atomic64_read(&client->core_ns[i]));
}
