// SPDX-License-Identifier: GPL-2.0-only
/* Owns the SUBMIT ioctls of the rocket uAPI: what user space sends becomes checked jobs. */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/dma-fence.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "hw/rknpu_pc.h"
#include "hw/rknpu_regs.h"
#include "mem/rknpu_bo.h"
#include "mem/rknpu_vm.h"
#include "sched/rknpu_job.h"
#include "sched/rknpu_limits.h"
#include "sched/rknpu_order.h"
#include "sched/rknpu_sched.h"
#include "rknpu_device.h"
#include "rknpu_rocket.h"
#include "rknpu_rocket_read.h"
#include "rknpu_rocket_sync.h"

#define RKNPU_REGCMD_SIZE		8
#define RKNPU_REGCMD_FETCH		16

/* Of tasks and handles, how many are read at a time. */
#define RKNPU_ROCKET_CHUNK		32u

/* How many jobs a submit may have without an allocation for the list of them. */
#define RKNPU_ROCKET_FEW_JOBS		4

/* A submit's jobs must all fit what is remembered of them. */
static_assert(RKNPU_ROCKET_MAX_JOBS <= RKNPU_ROCKET_HISTORY_SIZE);

#define RKNPU_ROCKET_JOB_FLAGS							\
	(DRM_ROCKET_JOB_BATCHED | DRM_ROCKET_JOB_NO_DPU_DONE |			\
	 DRM_ROCKET_JOB_PPU_DONE | DRM_ROCKET_JOB_DIVISIBLE |			\
	 DRM_ROCKET_JOB_POLLED | DRM_ROCKET_JOB_QUIET /* both without effect */)

/* Between the tasks of a chain nothing can be started. */
#define RKNPU_ROCKET_JOB_CONTRADICTION						\
	(DRM_ROCKET_JOB_BATCHED | DRM_ROCKET_JOB_DIVISIBLE)

/* What a job that says nothing has, including every one of mainline's clients. */
#define RKNPU_ROCKET_MIN_JOB_SIZE	offsetofend(struct drm_rocket_job, out_bo_handle_count)

/**
 * struct rknpu_rocket_ctx - one SUBMIT being read
 */
struct rknpu_rocket_ctx {
	/** @dev: device */
	struct drm_device *dev;
	/** @file: caller */
	struct drm_file *file;
	/** @rfile: the same */
	struct rknpu_rocket_file *rfile;
	/** @jobs: array in user space */
	u64 jobs;
	/** @job_count: its elements */
	u32 job_count;
	/** @usize: bytes of each */
	u32 usize;
	/** @ksize: bytes of them that are known: struct drm_rocket_job or the longer one */
	u32 ksize;
	/** @tasks: tasks seen so far */
	u32 tasks;
	/** @handles: handles seen so far */
	u32 handles;
	/** @outs: syncobjs that get a fence */
	struct list_head outs;
};

/* Says why, if anybody listens. Returns @error. */
static __printf(3, 4) int rknpu_rocket_refuse(struct drm_device *dev, int error,
					      const char *fmt, ...)
{
	struct va_format why = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	why.va = &args;
	drm_dbg_ratelimited(dev, "submit: %pV: error %d\n", &why, error);
	va_end(args);
	return error;
}

static int rknpu_rocket_check_size(struct drm_device *dev, const char *name, u32 size, u32 min)
{
	if (size < min)
		return rknpu_rocket_refuse(dev, -EINVAL, "%s is %u, less than %u", name, size, min);
	/* Nobody's struct; and every byte of it would have to be checked. */
	if (size > PAGE_SIZE)
		return rknpu_rocket_refuse(dev, -E2BIG, "%s is %u, more than a page", name, size);
	return 0;
}

static int rknpu_rocket_check_count(struct drm_device *dev, const char *name, u64 count, u32 min,
				    u32 max)
{
	if (count >= min && count <= max)
		return 0;
	return rknpu_rocket_refuse(dev, -EINVAL, "%s is %llu, not %u..%u", name, count, min, max);
}

/*
 * Programs are fetched in pairs of commands, so the last pair has to be mapped as a whole.
 * Bit 3 of the address is no part of the register (TRM): the fetch begins with the pair
 * that the first command is in, which is in the same page.
 */
static int rknpu_rocket_check_task(struct rknpu_rocket_ctx *ctx, struct rknpu_vm_lookup *look,
				   const struct drm_rocket_task *t)
{
	int ret;

	ret = rknpu_rocket_check_count(ctx->dev, "regcmd_count", t->regcmd_count, 1,
				       rknpu_pc_max_commands(ctx->rfile->rdev->hw.soc));
	if (ret)
		return ret;

	if (!IS_ALIGNED(t->regcmd, RKNPU_REGCMD_SIZE))
		return rknpu_rocket_refuse(ctx->dev, -EINVAL, "regcmd %#x is not 8-byte aligned",
					   t->regcmd);

	if (!rknpu_vm_lookup_range(look, t->regcmd,
				   ALIGN((u64)t->regcmd_count * RKNPU_REGCMD_SIZE,
					 RKNPU_REGCMD_FETCH)))
		return rknpu_rocket_refuse(ctx->dev, -EINVAL,
					   "regcmd %#x, regcmd_count %u: not in a BO", t->regcmd,
					   t->regcmd_count);
	return 0;
}

/* Also from clients whose tasks are longer than ours. */
static int rknpu_rocket_copy_tasks(const struct drm_rocket_job_ext *args,
				   struct drm_rocket_task *tasks, u32 first, u32 count)
{
	u32 i;
	int ret = 0;

	if (args->task_struct_size == sizeof(*tasks))
		return rknpu_rocket_read_some(tasks, args->tasks, first, count, sizeof(*tasks));
	for (i = 0; i < count && !ret; i++)
		ret = rknpu_rocket_read(&tasks[i], sizeof(*tasks), args->tasks, first + i,
					args->task_struct_size);
	return ret;
}

/* @last_mask: see struct rknpu_task, of the job's last one */
static int rknpu_rocket_take_tasks(struct rknpu_rocket_ctx *ctx, struct rknpu_job *job,
				   const struct drm_rocket_task *tasks, u32 first, u32 count,
				   u32 last_mask)
{
	struct rknpu_vm_lookup look;
	u32 i;
	int ret = 0;

	rknpu_vm_lookup_begin(&look, ctx->rfile->vm);
	for (i = 0; i < count && !ret; i++) {
		ret = rknpu_rocket_check_task(ctx, &look, &tasks[i]);
		if (!ret)
			rknpu_job_set_task(job, first + i, tasks[i].regcmd, tasks[i].regcmd_count,
					   first + i == job->task_count - 1 ? last_mask : 0);
		else
			ret = rknpu_rocket_refuse(ctx->dev, ret, "task %u", first + i);
	}
	rknpu_vm_lookup_end(&look);
	return ret;
}

/*
 * Not copied with the lock held, for which all that free the VM's jobs wait: user
 * memory can keep who reads it waiting for as long as its owner likes.
 */
static int rknpu_rocket_read_tasks(struct rknpu_rocket_ctx *ctx,
				   const struct drm_rocket_job_ext *args, struct rknpu_job *job)
{
	u32 last_mask = args->flags & DRM_ROCKET_JOB_PPU_DONE ? RKNPU_INT_PPU_DONE : 0;
	struct drm_rocket_task tasks[RKNPU_ROCKET_CHUNK] __uninitialized;
	u32 first, count;
	int ret = 0;

	for (first = 0; first < args->task_count && !ret; first += count) {
		count = min(args->task_count - first, RKNPU_ROCKET_CHUNK);
		ret = rknpu_rocket_copy_tasks(args, tasks, first, count) ?:
		      rknpu_rocket_take_tasks(ctx, job, tasks, first, count, last_mask);
	}
	return ret;
}

/* Behind those that the job has. */
static int rknpu_rocket_lookup_handles(struct rknpu_rocket_ctx *ctx, struct rknpu_job *job,
				       const char *name, u64 array, u32 count)
{
	u32 handles[RKNPU_ROCKET_CHUNK] __uninitialized;
	struct drm_gem_object *obj;
	u32 i, n;
	int ret = 0;

	for (i = 0; i < count; i++) {
		n = i % RKNPU_ROCKET_CHUNK;
		if (!n)
			ret = rknpu_rocket_read_some(handles, array, i,
						     min(count - i, RKNPU_ROCKET_CHUNK),
						     sizeof(*handles));
		obj = ret ? NULL : drm_gem_object_lookup(ctx->file, handles[n]);
		if (!obj) {
			ret = ret ?: -ENOENT;
			return rknpu_rocket_refuse(ctx->dev, ret, "%s_bo_handles[%u]", name, i);
		}
		job->bos[job->bo_count++] = to_rknpu_bo(obj);
	}
	return 0;
}

static int rknpu_rocket_cmp_bo(const void *pa, const void *pb)
{
	const struct rknpu_bo *a = *(struct rknpu_bo * const *)pa;
	const struct rknpu_bo *b = *(struct rknpu_bo * const *)pb;

	return a < b ? -1 : a > b;
}

/* Of the BOs from @first on, each once, and none that is written. */
static void rknpu_rocket_merge_bos(struct rknpu_job *job, u32 first)
{
	u32 i, n = first, written = 0;

	if (job->bo_count - first > 1)
		sort(job->bos + first, job->bo_count - first, sizeof(*job->bos),
		     rknpu_rocket_cmp_bo, NULL);
	for (i = first; i < job->bo_count; i++) {
		struct rknpu_bo *bo = job->bos[i];

		/* Those that are written are sorted, too. */
		while (written < job->write_count && job->bos[written] < bo)
			written++;
		if ((n > first && job->bos[n - 1] == bo) ||
		    (written < job->write_count && job->bos[written] == bo))
			rknpu_bo_put(bo);
		else
			job->bos[n++] = bo;
	}
	job->bo_count = n;
}

static int rknpu_rocket_find_bos(struct rknpu_rocket_ctx *ctx,
				 const struct drm_rocket_job_ext *args, struct rknpu_job *job)
{
	int ret = rknpu_rocket_lookup_handles(ctx, job, "out", args->out_bo_handles,
					      args->out_bo_handle_count);

	if (ret)
		return ret;
	rknpu_rocket_merge_bos(job, 0);
	job->write_count = job->bo_count;
	ret = rknpu_rocket_lookup_handles(ctx, job, "in", args->in_bo_handles,
					  args->in_bo_handle_count);
	if (!ret)
		rknpu_rocket_merge_bos(job, job->write_count);
	return ret;
}

static int rknpu_rocket_check_counts(struct rknpu_rocket_ctx *ctx,
				     const struct drm_rocket_job_ext *args)
{
	u64 handles = (u64)args->in_bo_handle_count + args->out_bo_handle_count;
	u64 syncs = (u64)args->in_sync_count + args->out_sync_count;
	int ret;

	ret = rknpu_rocket_check_count(ctx->dev, "task_count", args->task_count, 1,
				       RKNPU_ROCKET_MAX_TASKS - ctx->tasks) ?:
	      rknpu_rocket_check_count(ctx->dev, "number of handles of a job", handles, 0,
				       RKNPU_ROCKET_MAX_HANDLES) ?:
	      rknpu_rocket_check_count(ctx->dev, "number of handles of a submit",
				       ctx->handles + handles, 0, RKNPU_ROCKET_MAX_ALL_HANDLES) ?:
	      rknpu_rocket_check_count(ctx->dev, "number of syncobjs of a job", syncs, 0,
				       RKNPU_ROCKET_MAX_SYNCS);
	if (!ret && syncs)
		ret = rknpu_rocket_check_size(ctx->dev, "sync_struct_size", args->sync_struct_size,
					      sizeof(struct drm_rocket_sync));
	if (ret)
		return ret;

	ctx->tasks += args->task_count;
	ctx->handles += handles;
	return 0;
}

static int rknpu_rocket_check_flags(struct rknpu_rocket_ctx *ctx,
				    const struct drm_rocket_job_ext *args)
{
	if (args->flags & ~RKNPU_ROCKET_JOB_FLAGS)
		return rknpu_rocket_refuse(ctx->dev, -EINVAL, "flags %#x are not known",
					   args->flags & ~RKNPU_ROCKET_JOB_FLAGS);
	if ((args->flags & RKNPU_ROCKET_JOB_CONTRADICTION) == RKNPU_ROCKET_JOB_CONTRADICTION)
		return rknpu_rocket_refuse(ctx->dev, -EINVAL, "a batched job is not divisible");
	if (args->reserved || args->pad)
		return rknpu_rocket_refuse(ctx->dev, -EINVAL,
					   "reserved or pad of a job is %#x, not 0",
					   args->reserved | args->pad);
	return 0;
}

static int rknpu_rocket_check_priority(struct rknpu_rocket_ctx *ctx, u32 priority)
{
	if (priority > DRM_ROCKET_PRIORITY_HIGH)
		return rknpu_rocket_refuse(ctx->dev, -EINVAL, "priority %u is not known", priority);
	if (priority == DRM_ROCKET_PRIORITY_HIGH && !rknpu_limits_privileged())
		return rknpu_rocket_refuse(ctx->dev, -EACCES, "priority %u needs CAP_SYS_NICE",
					   priority);
	return 0;
}

static int rknpu_rocket_check_cores(struct rknpu_rocket_ctx *ctx, u32 mask)
{
	struct rknpu_device *rdev = ctx->rfile->rdev;

	if (!mask)
		return 0;
	if (mask >> rdev->hw.soc->num_cores)
		return rknpu_rocket_refuse(ctx->dev, -EINVAL,
					   "core_mask %#x, but there are %u cores", mask,
					   rdev->hw.soc->num_cores);
	if (!(mask & rknpu_sched_cores_alive(&rdev->sched)))
		return rknpu_rocket_refuse(ctx->dev, -ENODEV,
					   "core_mask %#x: none of them is there", mask);
	return 0;
}

static int rknpu_rocket_check_timeout(struct rknpu_rocket_ctx *ctx, u64 timeout_ns)
{
	if (!timeout_ns || (timeout_ns >= RKNPU_ROCKET_MIN_TIMEOUT_NS &&
			    rknpu_limits_allow_timeout(timeout_ns)))
		return 0;
	return rknpu_rocket_refuse(ctx->dev, -EINVAL, "timeout_ns is %llu, not %lu..%llu",
				   timeout_ns, RKNPU_ROCKET_MIN_TIMEOUT_NS,
				   rknpu_limits_max_timeout_ns());
}

static enum rknpu_priority rknpu_rocket_priority(u32 priority)
{
	switch (priority) {
	case DRM_ROCKET_PRIORITY_LOW:
		return RKNPU_PRIORITY_LOW;
	case DRM_ROCKET_PRIORITY_HIGH:
		return RKNPU_PRIORITY_HIGH;
	default:
		return RKNPU_PRIORITY_NORMAL;
	}
}

static int rknpu_rocket_check_job(struct rknpu_rocket_ctx *ctx,
				  const struct drm_rocket_job_ext *args)
{
	return rknpu_rocket_check_size(ctx->dev, "task_struct_size", args->task_struct_size,
				       sizeof(struct drm_rocket_task)) ?:
	       rknpu_rocket_check_flags(ctx, args) ?:
	       rknpu_rocket_check_priority(ctx, args->priority) ?:
	       rknpu_rocket_check_cores(ctx, args->core_mask) ?:
	       rknpu_rocket_check_timeout(ctx, args->timeout_ns) ?:
	       rknpu_rocket_check_counts(ctx, args);
}

static void rknpu_rocket_set_up_job(struct rknpu_job *job, const struct drm_rocket_job_ext *args)
{
	job->core_mask = args->core_mask;
	job->priority = rknpu_rocket_priority(args->priority);
	job->timeout_ns = args->timeout_ns;
	job->divisible = args->flags & DRM_ROCKET_JOB_DIVISIBLE;
	job->result.tag = args->tag;
}

static struct rknpu_job *rknpu_rocket_make_job(struct rknpu_rocket_ctx *ctx,
					       const struct drm_rocket_job_ext *args)
{
	struct rknpu_job *job;
	int ret;

	ret = rknpu_rocket_check_job(ctx, args);
	if (ret)
		return ERR_PTR(ret);

	job = rknpu_job_alloc(ctx->rfile->client, ctx->rfile->vm, args->task_count,
			      args->flags & DRM_ROCKET_JOB_BATCHED,
			      args->in_bo_handle_count + args->out_bo_handle_count);
	if (IS_ERR(job))
		return job;

	/* Before the programs are checked: from here on nothing they refer to is unmapped. */
	rknpu_vm_use_begin(ctx->rfile->vm, &job->use);
	rknpu_rocket_set_up_job(job, args);
	ret = rknpu_rocket_find_bos(ctx, args, job) ?:
	      rknpu_rocket_read_tasks(ctx, args, job) ?:
	      rknpu_rocket_wait_for_syncs(ctx->file, job, args) ?:
	      rknpu_rocket_find_outs(ctx->file, job, args, &ctx->outs);
	if (ret) {
		rknpu_job_put(job);
		return ERR_PTR(ret);
	}
	return job;
}

/* On failure no job is left. */
static int rknpu_rocket_make_jobs(struct rknpu_rocket_ctx *ctx, struct rknpu_job **jobs)
{
	struct drm_rocket_job_ext args = { };
	u32 i;
	int ret;

	for (i = 0; i < ctx->job_count; i++) {
		ret = rknpu_rocket_read(&args, ctx->ksize, ctx->jobs, i, ctx->usize);
		if (ret)
			goto err;
		jobs[i] = rknpu_rocket_make_job(ctx, &args);
		if (IS_ERR(jobs[i])) {
			ret = PTR_ERR(jobs[i]);
			goto err;
		}
	}
	return 0;

err:
	ret = rknpu_rocket_refuse(ctx->dev, ret, "job %u", i);
	while (i)
		rknpu_job_put(jobs[--i]);
	return ret;
}

static int rknpu_rocket_check_submit(struct rknpu_rocket_ctx *ctx, u64 reserved)
{
	int ret;

	if (reserved)
		return rknpu_rocket_refuse(ctx->dev, -EINVAL, "reserved or flags are %#llx, not 0",
					   reserved);
	ret = rknpu_rocket_check_size(ctx->dev, "job_struct_size", ctx->usize,
				      RKNPU_ROCKET_MIN_JOB_SIZE);
	if (ret)
		return ret;
	return rknpu_rocket_check_count(ctx->dev, "job_count", ctx->job_count, 1,
					RKNPU_ROCKET_MAX_JOBS);
}

/* Consumes the jobs. Their fences are what is left of them for the file. */
static int rknpu_rocket_queue_jobs(struct rknpu_rocket_ctx *ctx, struct rknpu_job **jobs,
				   struct dma_fence **fences, u64 *first)
{
	u32 i;
	int ret;

	for (i = 0; i < ctx->job_count; i++)
		fences[i] = dma_fence_get(rknpu_job_fence(jobs[i]));

	ret = rknpu_order_jobs(jobs, ctx->job_count);
	if (ret) {
		for (i = 0; i < ctx->job_count; i++)
			dma_fence_put(fences[i]);
		return ret;
	}

	*first = rknpu_history_add(ctx->rfile->history, fences, ctx->job_count);
	rknpu_rocket_publish_outs(&ctx->outs);
	rknpu_device_stat_add(&ctx->rfile->rdev->hw.stats, RKNPU_DEVICE_STAT_SUBMITS, 1);
	return 0;
}

/*
 * No drm_dev_enter() here: reading user memory can take forever, and unplug
 * would wait. The scheduler fails what comes too late.
 */
static int rknpu_rocket_submit_checked(struct rknpu_rocket_ctx *ctx, u64 *first)
{
	struct dma_fence *few_fences[RKNPU_ROCKET_FEW_JOBS] __uninitialized;
	struct rknpu_job *few_jobs[RKNPU_ROCKET_FEW_JOBS] __uninitialized;
	struct dma_fence **fences = few_fences;
	struct rknpu_job **jobs = few_jobs;
	int ret;

	if (ctx->job_count > RKNPU_ROCKET_FEW_JOBS) {
		jobs = kvmalloc_array(ctx->job_count, sizeof(*jobs) + sizeof(*fences),
				      GFP_KERNEL_ACCOUNT);
		if (!jobs)
			return -ENOMEM;
		fences = (void *)(jobs + ctx->job_count);
	}

	INIT_LIST_HEAD(&ctx->outs);
	ret = rknpu_rocket_make_jobs(ctx, jobs) ?:
	      rknpu_rocket_queue_jobs(ctx, jobs, fences, first);
	if (ret)
		rknpu_rocket_drop_outs(&ctx->outs);
	if (jobs != few_jobs)
		kvfree(jobs);
	return ret;
}

int rknpu_rocket_submit(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_submit *args = data;
	struct rknpu_rocket_ctx ctx = {
		.dev = dev,
		.file = file,
		.rfile = file->driver_priv,
		.jobs = args->jobs,
		.job_count = args->job_count,
		.usize = args->job_struct_size,
		.ksize = sizeof(struct drm_rocket_job),
	};
	u64 first;
	int ret;

	/* Mainline looks at nothing else then. */
	if (!args->job_count)
		return 0;
	ret = rknpu_rocket_check_submit(&ctx, args->reserved);
	return ret ?: rknpu_rocket_submit_checked(&ctx, &first);
}

int rknpu_rocket_submit_ext(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_rocket_submit_ext *args = data;
	struct rknpu_rocket_ctx ctx = {
		.dev = dev,
		.file = file,
		.rfile = file->driver_priv,
		.jobs = args->jobs,
		.job_count = args->job_count,
		.usize = args->job_struct_size,
		.ksize = sizeof(struct drm_rocket_job_ext),
	};
	int ret;

	ret = rknpu_rocket_check_submit(&ctx, (u64)args->flags | args->reserved);
	return ret ?: rknpu_rocket_submit_checked(&ctx, &args->first_job);
}
