// SPDX-License-Identifier: GPL-2.0-only
/* Owns the job model: making and freeing jobs, their dependencies, fences and results. */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>

#include "mem/rknpu_bo.h"
#include "rknpu_backlog.h"
#include "rknpu_client.h"
#include "rknpu_client_types.h"
#include "rknpu_debt.h"
#include "rknpu_gang.h"
#include "rknpu_job.h"
#include "rknpu_sched_types.h"

#define CREATE_TRACE_POINTS
#include "rknpu_sched_trace.h"

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
	[RKNPU_CAUSE_CANCELLED] = { -ECANCELED, "cancelled" },
	[RKNPU_CAUSE_DEVICE_GONE] = { -ENODEV, "device gone" },
	[RKNPU_CAUSE_BANNED] = { -EPIPE, "banned" },
};

enum rknpu_cause rknpu_job_cancel_cause(const struct rknpu_job *job)
{
	return READ_ONCE(job->client->banned) ? RKNPU_CAUSE_BANNED : RKNPU_CAUSE_CANCELLED;
}

int rknpu_cause_error(enum rknpu_cause cause)
{
	return rknpu_causes[cause].error;
}

const char *rknpu_cause_name(enum rknpu_cause cause)
{
	return rknpu_causes[cause].name;
}

/* By state: those that may follow; see "states of a job" in rknpu_job_types.h. */
static const u8 rknpu_job_next_states[RKNPU_JOB_STATE_COUNT] = {
	[RKNPU_JOB_NEW] = BIT(RKNPU_JOB_WAITING),
	[RKNPU_JOB_WAITING] = BIT(RKNPU_JOB_QUEUED) | BIT(RKNPU_JOB_ENDING),
	[RKNPU_JOB_QUEUED] = BIT(RKNPU_JOB_ON_CORE) | BIT(RKNPU_JOB_QUEUED) |
			     BIT(RKNPU_JOB_ENDING),
	[RKNPU_JOB_ON_CORE] = BIT(RKNPU_JOB_QUEUED) | BIT(RKNPU_JOB_ENDING),
};

void rknpu_job_set_state(struct rknpu_job *job, enum rknpu_job_state state)
{
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ONCE(!(rknpu_job_next_states[job->state] & BIT(state)),
			  "job goes from state %d to %d\n", job->state, state);
	job->state = state;
}

/* In dma_fence::flags: another fence has taken over the context; it is another's. */
#define RKNPU_FENCE_HAS_SUCCESSOR	DMA_FENCE_FLAG_USER_BITS
#define RKNPU_FENCE_IS_SUCCESSOR	(DMA_FENCE_FLAG_USER_BITS + 1)

/* Most jobs list fewer; who submits looks at these for each fence of a reservation, locked. */
#define RKNPU_FENCE_USES_BOS	32U

/**
 * struct rknpu_fence - a job's fence; outlives the job if somebody holds it
 */
struct rknpu_fence {
	/** @base: first, because the fence core frees what it knows */
	struct dma_fence base;
	/** @job: whose fence it is, to be followed only while it has not signalled */
	struct rknpu_job *job;
	/** @result: written before the fence signals, not changed after */
	struct rknpu_result result;
	/** @compat: what older kernels need */
	struct rknpu_compat_fence compat;
};

static_assert(!offsetof(struct rknpu_fence, base));

static const char *rknpu_fence_name(struct dma_fence *fence)
{
	return "rknpu";
}

/*
 * Others keep fences after the job, its file and the device are gone, and after
 * this module is. So a fence is memory of its own with its lock inside, and has
 * neither .wait nor .release: then the fence core forgets these operations when
 * the fence signals. Every fence signals before its device goes; module exit
 * waits for those who are looking at the names meanwhile.
 */
static const struct dma_fence_ops rknpu_fence_ops = {
	.get_driver_name = rknpu_fence_name,
	.get_timeline_name = rknpu_fence_name,
	RKNPU_COMPAT_FENCE_OPS
};

/* In a context of its own: jobs of one client end in any order. NULL: no memory. */
static struct dma_fence *rknpu_fence_create(struct rknpu_job *job)
{
	struct rknpu_fence *fence = kzalloc_obj(*fence, GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	rknpu_compat_fence_init(fence, &rknpu_fence_ops, dma_fence_context_alloc(1), 1);
	fence->job = job;
	return &fence->base;
}

bool rknpu_fence_is_job(const struct dma_fence *fence)
{
	return rcu_access_pointer(fence->ops) == &rknpu_fence_ops;
}

/* NULL: it has signalled. Else its job is certain to be there: it ends after that. */
static struct rknpu_job *rknpu_fence_get_job(struct dma_fence *fence)
{
	struct rknpu_job *job = NULL;
	unsigned long flags;

	dma_fence_lock_irqsave(fence, flags);
	if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags)) {
		job = container_of(fence, struct rknpu_fence, base)->job;
		rknpu_job_get(job);
	}
	dma_fence_unlock_irqrestore(fence, flags);
	return job;
}

bool rknpu_fence_uses(struct dma_fence *fence, const struct dma_resv *resv, bool write)
{
	struct rknpu_job *job = rknpu_fence_get_job(fence);
	bool uses = false;
	u32 i, count;

	if (!job)
		return false;
	count = write ? job->write_count : job->bo_count;
	for (i = 0; i < min(count, RKNPU_FENCE_USES_BOS) && !uses; i++)
		uses = job->bos[i]->base.resv == resv;
	rknpu_job_put(job);
	return uses;
}

void rknpu_fence_get_result(struct dma_fence *fence, struct rknpu_result *result)
{
	/* The result was written before the fence was seen to have signalled. */
	smp_rmb();
	*result = container_of(fence, struct rknpu_fence, base)->result;
}

/* Lock of the fence held. Not if it is another device's, which has another lock. */
static bool rknpu_job_add_dependent(struct rknpu_job *job, struct rknpu_dep *dep)
{
	if (job->client->sched != dep->job->client->sched)
		return false;
	guard(spinlock)(&job->client->sched->hw->lock);
	list_add_tail(&dep->waiter, &job->dependents);
	dep->job->jobs_pending++;
	return true;
}

bool rknpu_fence_add_dependent(struct rknpu_dep *dep)
{
	struct dma_fence *fence = dep->fence;
	struct rknpu_job *job = container_of(fence, struct rknpu_fence, base)->job;
	unsigned long flags;
	bool added;

	dma_fence_lock_irqsave(fence, flags);
	/* Only then is its job certain to be there: it ends after it has signalled. */
	added = !test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags) &&
		rknpu_job_add_dependent(job, dep);
	dma_fence_unlock_irqrestore(fence, flags);
	return added;
}

/*
 * @fence, of a job that nobody else knows yet, will signal after the job fence
 * @before. If nobody else has done so it goes on in that one's context, as its
 * successor: lists of fences then keep one of the two, and a chain of a
 * thousand jobs is as cheap to add to, and to wait for, as one job. What is in
 * one context is always such a chain.
 */
static void rknpu_fence_follow(struct dma_fence *fence, struct dma_fence *before)
{
	if (test_bit(RKNPU_FENCE_IS_SUCCESSOR, &fence->flags) ||
	    test_and_set_bit(RKNPU_FENCE_HAS_SUCCESSOR, &before->flags))
		return;
	__set_bit(RKNPU_FENCE_IS_SUCCESSOR, &fence->flags);
	fence->context = before->context;
}

static struct rknpu_dep *rknpu_job_alloc_dep(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;
	struct rknpu_dep *dep;

	if (job->dep_count < RKNPU_JOB_FEW_DEPS)
		return &job->few_deps[job->dep_count];
	if (atomic_inc_return(&client->user->deps) > RKNPU_USER_MAX_DEPS) {
		atomic_dec(&client->user->deps);
		atomic_inc(&client->refused);
		drm_dbg_ratelimited(client->sched->hw->drm,
				    "user %lu has jobs that wait for %u fences in all, the most\n",
				    client->user->uid, RKNPU_USER_MAX_DEPS);
		return ERR_PTR(-EBUSY);
	}
	dep = kzalloc_obj(*dep, GFP_KERNEL_ACCOUNT);
	if (dep)
		return dep;
	atomic_dec(&client->user->deps);
	return ERR_PTR(-ENOMEM);
}

static void rknpu_job_free_dep(struct rknpu_job *job, struct rknpu_dep *dep)
{
	if (dep >= job->few_deps && dep < job->few_deps + RKNPU_JOB_FEW_DEPS)
		return;
	atomic_dec(&job->client->user->deps);
	kfree(dep);
}

static void rknpu_job_drop_deps(struct rknpu_job *job)
{
	struct rknpu_dep *dep, *next;

	list_for_each_entry_safe(dep, next, &job->deps, link) {
		/* Takes the fence's lock, so a callback that is running has returned. */
		if (dep->cb.func)
			dma_fence_remove_callback(dep->fence, &dep->cb);
		dma_fence_put(dep->fence);
		rknpu_job_free_dep(job, dep);
	}
}

/* May sleep. */
static void rknpu_job_free(struct rknpu_vm_use *use)
{
	struct rknpu_job *job = container_of(use, struct rknpu_job, use);
	u32 i;

	rknpu_job_drop_deps(job);
	for (i = 0; i < job->bo_count; i++) {
		rknpu_bo_forget_fence(job->bos[i]);
		rknpu_bo_put_freed(job->bos[i]);
	}
	rknpu_vm_use_end(job->vm, &job->use);
	rknpu_vm_put(job->vm);
	rknpu_backlog_uncharge(job->client, job->task_count, job->bo_room);
	rknpu_client_put(job->client);
	dma_fence_put(job->fence);
	if (job->gang)
		rknpu_gang_put(job->gang);
	kvfree(job);
}

static void rknpu_job_last_put(struct kref *ref)
{
	struct rknpu_job *job = container_of(ref, struct rknpu_job, ref);

	rknpu_vm_use_over(job->vm, &job->use);
}

void rknpu_job_get(struct rknpu_job *job)
{
	kref_get(&job->ref);
}

void rknpu_job_put(struct rknpu_job *job)
{
	kref_put(&job->ref, rknpu_job_last_put);
}

static struct rknpu_job *rknpu_job_alloc_memory(u32 kick_count, u32 bo_count)
{
	/* 32-bit counts, which fit. */
	size_t bos = bo_count * sizeof(struct rknpu_bo *);
	size_t tasks = kick_count * sizeof(struct rknpu_task);
	struct rknpu_job *job;

	job = kvzalloc(sizeof(*job) + bos + tasks, GFP_KERNEL_ACCOUNT);
	if (!job)
		return NULL;
	/* By falling alignment. */
	job->bos = (void *)(job + 1);
	job->tasks = (void *)(job->bos + bo_count);
	job->fence = rknpu_fence_create(job);
	if (job->fence)
		return job;
	kvfree(job);
	return NULL;
}

/* What is over in other VMs still counts, and what other threads are freeing. */
static void rknpu_job_reap_all(struct rknpu_client *client, struct rknpu_vm *vm)
{
	rknpu_vm_reap_all(&client->user->quota);
	/* The vendor uAPI's may be one that another user's file was the first to use. */
	if (vm->account->quota != &client->user->quota)
		rknpu_vm_reap_all(vm->account->quota);
}

struct rknpu_job *rknpu_job_alloc(struct rknpu_client *client, struct rknpu_vm *vm,
				  u32 task_count, bool batched, u32 bo_count)
{
	u32 kick_tasks = batched ? client->sched->hw->soc->pc.max_tasks : 1;
	struct rknpu_job *job;
	int ret;

	ret = rknpu_debt_check(client);
	if (ret)
		return ERR_PTR(ret);

	rknpu_vm_reap_if_any(vm);
	ret = rknpu_backlog_charge(client, task_count, bo_count);
	if (ret) {
		rknpu_job_reap_all(client, vm);
		ret = rknpu_backlog_charge(client, task_count, bo_count);
	}
	if (ret) {
		atomic_inc(&client->refused);
		return ERR_PTR(ret);
	}

	/* Of each kick's first task the address is needed: hardware finds the others itself. */
	job = rknpu_job_alloc_memory(DIV_ROUND_UP(task_count, kick_tasks), bo_count);
	if (!job) {
		rknpu_backlog_uncharge(client, task_count, bo_count);
		return ERR_PTR(-ENOMEM);
	}

	kref_init(&job->ref);
	atomic_set(&job->deps_pending, 1);
	INIT_LIST_HEAD(&job->deps);
	INIT_LIST_HEAD(&job->dependents);
	INIT_LIST_HEAD(&job->link);
	INIT_LIST_HEAD(&job->client_link);
	job->use.free = rknpu_job_free;
	job->state = RKNPU_JOB_NEW;
	job->task_count = task_count;
	job->bo_room = bo_count;
	job->batched = batched;
	job->kick_tasks = kick_tasks;
	job->priority = RKNPU_PRIORITY_NORMAL;
	job->result.core = -1;
	job->client = rknpu_client_get(client);
	job->vm = rknpu_vm_get(vm);
	return job;
}

void rknpu_job_set_task(struct rknpu_job *job, u32 index, u32 regcmd, u32 regcmd_count,
			u32 int_mask)
{
	struct rknpu_task *task = rknpu_job_task(job, index);

	if (index % job->kick_tasks == 0) {
		task->regcmd = regcmd;
		task->regcmd_count = regcmd_count;
	}
	/* Only the last one interrupts (TRM). */
	task->int_mask = int_mask;
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

	dep = rknpu_job_alloc_dep(job);
	if (IS_ERR(dep))
		return PTR_ERR(dep);
	job->dep_count++;
	INIT_LIST_HEAD(&dep->waiter);
	dep->fence = dma_fence_get(fence);
	dep->job = job;
	if (rknpu_fence_is_job(fence))
		rknpu_fence_follow(job->fence, fence);
	list_add_tail(&dep->link, &job->deps);
	return 0;
}

struct rknpu_job *rknpu_job_resolve_dep(struct rknpu_dep *dep)
{
	list_del_init(&dep->waiter);
	dep->job->jobs_pending--;
	return dep->job;
}

void rknpu_job_arm(struct rknpu_job *job)
{
	static atomic64_t last;

	/* In a context of one fence the number means nothing to others. */
	job->fence->seqno = atomic64_inc_return(&last);
}

/* What a person can make of it; my-job-failed.rst has more. */
static const char *rknpu_job_hint(enum rknpu_cause cause)
{
	switch (cause) {
	case RKNPU_CAUSE_TIMEOUT_NEVER_STARTED:
		return "is its register program whole, and in memory when it starts?";
	case RKNPU_CAUSE_TIMEOUT_RUNNING:
		return "it hangs, or needs a longer timeout";
	case RKNPU_CAUSE_IOMMU_FAULT:
		return "the program uses an address where its client has no BO";
	default:
		return "the NPU could not get at memory, please report it with the dump";
	}
}

static void rknpu_job_report(struct rknpu_job *job)
{
	const struct rknpu_client *client = job->client;
	const struct rknpu_result *r = &job->result;
	struct device *dev = client->sched->hw->drm->dev;
	char where[32] = "";

	switch (r->cause) {
	case RKNPU_CAUSE_DONE:
	case RKNPU_CAUSE_CANCELLED:
	case RKNPU_CAUSE_DEVICE_GONE:
	case RKNPU_CAUSE_BANNED:
		return;
	case RKNPU_CAUSE_IOMMU_FAULT:
		scnprintf(where, sizeof(where), ", %s at %#llx",
			  r->fault_write ? "write" : "read", r->fault_iova);
		break;
	default:
		break;
	}
	dev_notice_ratelimited(dev, "core %d: job %llu of %s[%d] (client %llu) failed at task %u of %u: %s%s; %s\n",
			       r->core, job->fence->seqno, client->comm, client->pid, client->id,
			       r->task, job->task_count, rknpu_causes[r->cause].name, where,
			       rknpu_job_hint(r->cause));
}

void rknpu_job_pause(struct rknpu_job *job, u64 now)
{
	if (!job->start_ns)
		return;
	rknpu_client_count_time(job, now);
	trace_rknpu_job_stop(job, job->result.core);
	job->start_ns = 0;
}

static void rknpu_job_remember(const struct rknpu_job *job)
{
	struct rknpu_runqueue *rq = &job->client->sched->rqs[job->result.core];
	struct rknpu_past_job *past = &rq->history[rq->history_count++ % ARRAY_SIZE(rq->history)];

	past->seqno = job->fence->seqno;
	past->client = job->client->id;
	past->elapsed_ns = job->before_ns;
	past->task = job->result.task;
	past->tasks = job->task_count;
	past->cause = job->result.cause;
	/* Of most it is known once the fence signals, but here is the lock. */
	if (past->cause == RKNPU_CAUSE_NONE)
		past->cause = past->task == past->tasks ? RKNPU_CAUSE_DONE :
							  rknpu_job_cancel_cause(job);
}

/* One that is cancelled tells all BOs that it writes, of which there may be thousands. */
void rknpu_job_end_cancelled(struct rknpu_job *job)
{
	struct rknpu_sched *sched = job->client->sched;

	lockdep_assert_held(&sched->hw->lock);
	job->result.cause = rknpu_job_cancel_cause(job);
	list_add_tail(&job->link, &sched->ending);
	queue_work(sched->wq, &sched->work);
}

void rknpu_job_leave(struct rknpu_job *job)
{
	rknpu_job_set_state(job, RKNPU_JOB_ENDING);
	list_del_init(&job->client_link);
	if (job->result.core < 0)
		return;
	rknpu_core_stat_add(job->rq->core, RKNPU_CORE_STAT_JOBS, 1);
	rknpu_job_remember(job);
}

static void rknpu_job_set_error(struct rknpu_job *job, int error)
{
	u32 i;

	for (i = 0; i < job->write_count; i++)
		rknpu_bo_record_error(job->bos[i], error);
	dma_fence_set_error(job->fence, error);
}

void rknpu_job_end(struct rknpu_job *job, enum rknpu_cause cause)
{
	bool cookie = dma_fence_begin_signalling();
	int error = rknpu_cause_error(cause);

	job->result.cause = cause;
	job->result.elapsed_ns = job->before_ns;
	rknpu_job_report(job);
	if (error) {
		trace_rknpu_job_fail(job);
		rknpu_job_set_error(job, error);
	} else {
		trace_rknpu_job_done(job);
	}
	/* Before it signals. */
	container_of(job->fence, struct rknpu_fence, base)->result = job->result;
	dma_fence_signal(job->fence);
	dma_fence_end_signalling(cookie);
}

bool rknpu_job_may_retry(const struct rknpu_job *job)
{
	return !job->retried && !job->cancelled && (!job->result.task || job->divisible);
}
