// SPDX-License-Identifier: GPL-2.0-only
/* Owns the job model: tasks, dependencies, fence, result. */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "rknpu_bo.h"
#include "rknpu_device.h"
#include "rknpu_fence.h"
#include "rknpu_gang.h"
#include "rknpu_job.h"
#include "rknpu_reap.h"
#include "rknpu_release.h"
#include "rknpu_sched.h"

static const struct {
	int error;
	const char *name;
} rknpu_causes[RKNPU_CAUSE_COUNT] = {
	[RKNPU_CAUSE_NONE] = { -EIO, "unknown" },
	[RKNPU_CAUSE_DONE] = { 0, "done" },
	[RKNPU_CAUSE_TIMEOUT_NEVER_STARTED] = { -ETIME, "timeout, never started" },
	[RKNPU_CAUSE_TIMEOUT_RUNNING] = { -ETIME, "timeout, running" },
	[RKNPU_CAUSE_DMA_READ] = { -EIO, "DMA read error" },
	[RKNPU_CAUSE_DMA_WRITE] = { -EIO, "DMA write error" },
	[RKNPU_CAUSE_IOMMU_FAULT] = { -EFAULT, "IOMMU fault" },
	[RKNPU_CAUSE_RESET_OTHER] = { -EIO, "reset because of another job" },
	[RKNPU_CAUSE_CANCELLED] = { -ECANCELED, "cancelled" },
	[RKNPU_CAUSE_KILLED] = { -ECANCELED, "killed" },
	[RKNPU_CAUSE_DEVICE_GONE] = { -ENODEV, "device gone" },
};

int rknpu_cause_error(enum rknpu_cause cause)
{
	return rknpu_causes[cause].error;
}

const char *rknpu_cause_name(enum rknpu_cause cause)
{
	return rknpu_causes[cause].name;
}

static void rknpu_job_free_memory(struct rknpu_job *job)
{
	kvfree(job->bos);
	kvfree(job->tasks);
	kfree(job);
}

static void rknpu_job_drop_deps(struct rknpu_job *job)
{
	struct rknpu_dep *dep, *next;

	list_for_each_entry_safe(dep, next, &job->deps, link) {
		/* Takes the fence's lock, so a callback that is running has returned. */
		dma_fence_remove_callback(dep->fence, &dep->cb);
		dma_fence_put(dep->fence);
		kfree(dep);
	}
}

void rknpu_job_free(struct rknpu_job *job)
{
	u32 i;

	rknpu_job_drop_deps(job);
	for (i = 0; i < job->bo_count; i++)
		rknpu_bo_put(job->bos[i]);
	rknpu_vm_use_end(job->vm, &job->use);
	rknpu_vm_put(job->vm);
	rknpu_client_uncharge_job(job->client, job->task_count);
	rknpu_client_put(job->client);
	dma_fence_put(job->fence);
	if (job->gang)
		rknpu_gang_put(job->gang);
	rknpu_job_free_memory(job);
}

static void rknpu_job_last_put(struct kref *ref)
{
	rknpu_reap_add(container_of(ref, struct rknpu_job, ref));
}

void rknpu_job_get(struct rknpu_job *job)
{
	kref_get(&job->ref);
}

void rknpu_job_put(struct rknpu_job *job)
{
	kref_put(&job->ref, rknpu_job_last_put);
}

static int rknpu_job_alloc_memory(struct rknpu_job *job, u32 task_count, u32 bo_count)
{
	job->tasks = kvcalloc(task_count, sizeof(*job->tasks), GFP_KERNEL_ACCOUNT);
	job->bos = kvcalloc(bo_count, sizeof(*job->bos), GFP_KERNEL_ACCOUNT);
	job->fence = rknpu_fence_create(job);
	return job->tasks && job->bos && job->fence ? 0 : -ENOMEM;
}

struct rknpu_job *rknpu_job_alloc(struct rknpu_client *client, struct rknpu_vm *vm,
				  u32 task_count, u32 bo_count)
{
	struct rknpu_job *job;
	int ret;

	rknpu_reap_vm(vm);
	ret = rknpu_client_charge_job(client, task_count);
	if (ret) {
		/* What is over in other VMs still counts. */
		rknpu_reap_flush();
		ret = rknpu_client_charge_job(client, task_count);
	}
	if (ret)
		return ERR_PTR(ret);

	job = kzalloc_obj(*job, GFP_KERNEL_ACCOUNT);
	if (!job)
		goto err_uncharge;
	if (rknpu_job_alloc_memory(job, task_count, bo_count))
		goto err_free;

	kref_init(&job->ref);
	atomic_set(&job->deps_pending, 1);
	INIT_LIST_HEAD(&job->deps);
	INIT_LIST_HEAD(&job->link);
	INIT_LIST_HEAD(&job->client_link);
	job->state = RKNPU_JOB_NEW;
	job->task_count = task_count;
	job->priority = RKNPU_PRIORITY_NORMAL;
	job->result.core = -1;
	job->client = rknpu_client_get(client);
	job->vm = rknpu_vm_get(vm);
	return job;

err_free:
	dma_fence_put(job->fence);
	rknpu_job_free_memory(job);
err_uncharge:
	rknpu_client_uncharge_job(client, task_count);
	return ERR_PTR(-ENOMEM);
}

/* The usual duplicate comes from BOs one after the other that one job wrote. */
static bool rknpu_job_has_last_dep(struct rknpu_job *job, struct dma_fence *fence)
{
	return !list_empty(&job->deps) &&
	       list_last_entry(&job->deps, struct rknpu_dep, link)->fence == fence;
}

int rknpu_job_add_dep(struct rknpu_job *job, struct dma_fence *fence)
{
	struct rknpu_dep *dep;

	if (dma_fence_is_signaled(fence) || rknpu_job_has_last_dep(job, fence))
		return 0;

	dep = kzalloc_obj(*dep, GFP_KERNEL_ACCOUNT);
	if (!dep)
		return -ENOMEM;
	INIT_LIST_HEAD(&dep->cb.node);
	dep->fence = dma_fence_get(fence);
	dep->job = job;
	if (rknpu_fence_is_job(fence))
		rknpu_fence_follow(job->fence, fence);
	list_add_tail(&dep->link, &job->deps);
	return 0;
}

struct dma_fence *rknpu_job_arm(struct rknpu_job *job)
{
	rknpu_fence_stamp(job->fence);
	return job->fence;
}

static void rknpu_job_dep_met(struct rknpu_job *job)
{
	if (atomic_dec_and_test(&job->deps_pending))
		rknpu_sched_ready(job);
}

/* Any context, with the lock of @fence held. */
static void rknpu_job_dep_signaled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	rknpu_job_dep_met(container_of(cb, struct rknpu_dep, cb)->job);
}

static void rknpu_job_wait_for_dep(struct rknpu_job *job, struct rknpu_dep *dep)
{
	atomic_inc(&job->deps_pending);
	if (dma_fence_add_callback(dep->fence, &dep->cb, rknpu_job_dep_signaled))
		rknpu_job_dep_met(job);
	else if (rknpu_fence_is_job(dep->fence))
		rknpu_fence_bequeath(dep->fence, job);
}

void rknpu_job_push(struct rknpu_job *job)
{
	struct rknpu_dep *dep;

	/* Once admitted it can be cancelled, and gone, at any time. */
	rknpu_job_get(job);
	if (rknpu_sched_admit(job)) {
		list_for_each_entry(dep, &job->deps, link)
			rknpu_job_wait_for_dep(job, dep);
		rknpu_job_dep_met(job);
	} else {
		rknpu_job_end(job, RKNPU_CAUSE_DEVICE_GONE);
	}
	rknpu_job_put(job);
}

static void rknpu_job_report(struct rknpu_job *job)
{
	const struct rknpu_result *r = &job->result;
	struct device *dev = job->client->rdev->accel.dev;

	switch (r->cause) {
	case RKNPU_CAUSE_DONE:
	case RKNPU_CAUSE_CANCELLED:
	case RKNPU_CAUSE_KILLED:
	case RKNPU_CAUSE_DEVICE_GONE:
		return;
	case RKNPU_CAUSE_IOMMU_FAULT:
		dev_notice_ratelimited(dev, "core %d: task %u of %u failed: IOMMU fault, %s at %#llx\n",
				       r->core, r->task, job->task_count,
				       r->fault_write ? "write" : "read", r->fault_iova);
		return;
	default:
		dev_notice_ratelimited(dev, "core %d: task %u of %u failed: %s\n",
				       r->core, r->task, job->task_count,
				       rknpu_cause_name(r->cause));
	}
}

void rknpu_job_pause(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;
	u64 now;

	if (!job->start_ns)
		return;
	now = ktime_get_ns();
	atomic64_add(now - job->start_ns, &client->busy_ns);
	atomic64_add(now - job->start_ns, &client->core_ns[job->result.core]);
	rknpu_load_add(&client->rdev->cores[job->result.core].load, job->start_ns, now);
	job->before_ns += now - job->start_ns;
	job->start_ns = 0;
}

static void rknpu_job_record(struct rknpu_job *job, enum rknpu_cause cause)
{
	struct rknpu_result *r = &job->result;

	rknpu_job_pause(job);
	r->cause = cause;
	r->elapsed_ns = job->before_ns;
	if (r->core >= 0)
		rknpu_core_stat_add(&job->client->rdev->cores[r->core].stats,
				    RKNPU_CORE_STAT_JOBS, 1);
}

static void rknpu_job_spoil(struct rknpu_job *job, int error)
{
	u32 i;

	for (i = 0; i < job->write_count; i++)
		rknpu_bo_record_error(job->bos[i], error);
	dma_fence_set_error(job->fence, error);
}

/* Those that wait for it to start with them need not any longer. */
static void rknpu_job_leave_gang(struct rknpu_job *job)
{
	struct rknpu_device *rdev = job->client->rdev;
	unsigned long flags;

	if (!job->gang)
		return;
	spin_lock_irqsave(&rdev->lock, flags);
	rknpu_gang_dissolve(rdev, job);
	spin_unlock_irqrestore(&rdev->lock, flags);
}

void rknpu_job_end(struct rknpu_job *job, enum rknpu_cause cause)
{
	bool cookie = dma_fence_begin_signalling();
	int error = rknpu_cause_error(cause);

	rknpu_job_leave_gang(job);
	rknpu_job_record(job, cause);
	rknpu_job_report(job);
	if (error)
		rknpu_job_spoil(job, error);
	rknpu_fence_set_result(job->fence, &job->result);
	dma_fence_signal(job->fence);
	dma_fence_end_signalling(cookie);
	/* Nobody becomes its heir any more. */
	if (job->heir)
		rknpu_job_put(job->heir);
	rknpu_job_put(job);
}

void rknpu_job_end_list(struct list_head *jobs, enum rknpu_cause cause)
{
	struct rknpu_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link) {
		list_del_init(&job->link);
		rknpu_job_end(job, cause);
	}
}

static void rknpu_job_end_work(struct work_struct *work)
{
	struct rknpu_job *job = container_of(work, struct rknpu_job, work);

	rknpu_job_end(job, job->result.cause);
}

void rknpu_job_end_later(struct rknpu_job *job, enum rknpu_cause cause)
{
	job->result.cause = cause;
	INIT_WORK(&job->work, rknpu_job_end_work);
	rknpu_release_queue(&job->work);
}
