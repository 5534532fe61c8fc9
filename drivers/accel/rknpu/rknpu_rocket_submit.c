// SPDX-License-Identifier: GPL-2.0-only
/* Owns the SUBMIT ioctl of the rocket uAPI: what user space sends becomes checked jobs. */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "rknpu_bo.h"
#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_job.h"
#include "rknpu_rocket.h"
#include "rknpu_stats.h"
#include "rknpu_submit.h"
#include "rknpu_vm.h"

/* Documented in the uAPI header. */
#define RKNPU_ROCKET_MAX_JOBS		1024
#define RKNPU_ROCKET_MAX_TASKS		65536
#define RKNPU_ROCKET_MAX_HANDLES	4096
#define RKNPU_ROCKET_MAX_ALL_HANDLES	65536

/* The PC counts fetches of two commands in 16 bits, less one. */
#define RKNPU_ROCKET_MAX_REGCMDS	(2 * 65536)
#define RKNPU_REGCMD_SIZE		8
#define RKNPU_REGCMD_FETCH		16

/* Elements are read one by one: look for a signal every so often. */
#define RKNPU_ROCKET_SIGNAL_MASK	0xfff

/* Mainline Linux 7.3, include/uapi/drm/rocket_accel.h, compiled for arm64. */
static_assert(sizeof(struct drm_rocket_task) == 8);
static_assert(sizeof(struct drm_rocket_job) == 40);
static_assert(sizeof(struct drm_rocket_submit) == 24);
static_assert(offsetof(struct drm_rocket_task, regcmd_count) == 4);
static_assert(offsetof(struct drm_rocket_job, in_bo_handles) == 8);
static_assert(offsetof(struct drm_rocket_job, out_bo_handles) == 16);
static_assert(offsetof(struct drm_rocket_job, task_count) == 24);
static_assert(offsetof(struct drm_rocket_job, task_struct_size) == 28);
static_assert(offsetof(struct drm_rocket_job, in_bo_handle_count) == 32);
static_assert(offsetof(struct drm_rocket_job, out_bo_handle_count) == 36);
static_assert(offsetof(struct drm_rocket_submit, job_count) == 8);
static_assert(offsetof(struct drm_rocket_submit, job_struct_size) == 12);
static_assert(offsetof(struct drm_rocket_submit, reserved) == 16);

/**
 * struct rknpu_rocket_ctx - one SUBMIT being read
 * @dev: device
 * @file: caller
 * @rfile: the same
 * @tasks: tasks seen so far
 * @handles: handles seen so far
 */
struct rknpu_rocket_ctx {
	struct drm_device *dev;
	struct drm_file *file;
	struct rknpu_file *rfile;
	u32 tasks;
	u32 handles;
};

/* A BO that a job lists, with a reference. */
struct rknpu_rocket_ref {
	struct rknpu_bo *bo;
	bool write;
};

/* Reads element @i of an array whose elements are @usize bytes in user space. */
static int rknpu_rocket_read(void *to, size_t ksize, u64 array, u32 i, u32 usize)
{
	u64 from;

	if (!(i & RKNPU_ROCKET_SIGNAL_MASK) && fatal_signal_pending(current))
		return -EINTR;
	if (check_add_overflow(array, (u64)i * usize, &from))
		return -EFAULT;
	return copy_struct_from_user(to, ksize, u64_to_user_ptr(from), usize);
}

static int rknpu_rocket_check_size(struct drm_device *dev, const char *name, u32 size, u32 min)
{
	if (size < min) {
		drm_dbg_ratelimited(dev, "submit: %s is %u, less than %u\n", name, size, min);
		return -EINVAL;
	}
	/* Nobody's struct; and every byte of it would have to be checked. */
	if (size > PAGE_SIZE) {
		drm_dbg_ratelimited(dev, "submit: %s is %u, more than a page\n", name, size);
		return -E2BIG;
	}
	return 0;
}

static int rknpu_rocket_check_count(struct drm_device *dev, const char *name, u64 count, u32 min,
				    u32 max)
{
	if (count >= min && count <= max)
		return 0;
	drm_dbg_ratelimited(dev, "submit: %s is %llu, not %u..%u\n", name, count, min, max);
	return -EINVAL;
}

/* Programs are fetched in pairs of commands, so the last pair has to be mapped as a whole. */
static int rknpu_rocket_check_task(struct rknpu_rocket_ctx *ctx, const struct drm_rocket_task *t)
{
	int ret;

	ret = rknpu_rocket_check_count(ctx->dev, "regcmd_count", t->regcmd_count, 1,
				       RKNPU_ROCKET_MAX_REGCMDS);
	if (ret)
		return ret;

	if (!IS_ALIGNED(t->regcmd, RKNPU_REGCMD_FETCH)) {
		drm_dbg_ratelimited(ctx->dev, "submit: regcmd %#x is not 16-byte aligned\n",
				    t->regcmd);
		return -EINVAL;
	}

	if (!rknpu_vm_range_mapped(ctx->rfile->vm, t->regcmd,
				   ALIGN((u64)t->regcmd_count * RKNPU_REGCMD_SIZE,
					 RKNPU_REGCMD_FETCH))) {
		drm_dbg_ratelimited(ctx->dev, "submit: regcmd %#x, regcmd_count %u: not in a BO\n",
				    t->regcmd, t->regcmd_count);
		return -EINVAL;
	}
	return 0;
}

static int rknpu_rocket_read_tasks(struct rknpu_rocket_ctx *ctx, const struct drm_rocket_job *args,
				   struct rknpu_job *job)
{
	struct drm_rocket_task task;
	u32 i;
	int ret;

	for (i = 0; i < args->task_count; i++) {
		ret = rknpu_rocket_read(&task, sizeof(task), args->tasks, i,
					args->task_struct_size);
		if (!ret)
			ret = rknpu_rocket_check_task(ctx, &task);
		if (ret) {
			drm_dbg_ratelimited(ctx->dev, "submit: task %u: error %d\n", i, ret);
			return ret;
		}
		job->tasks[i].regcmd = task.regcmd;
		job->tasks[i].regcmd_count = task.regcmd_count;
	}
	return 0;
}

static int rknpu_rocket_lookup_handles(struct rknpu_rocket_ctx *ctx, u64 array, u32 count,
				       bool write, struct rknpu_rocket_ref *refs, u32 *n)
{
	struct drm_gem_object *obj;
	u32 i, handle;
	int ret;

	for (i = 0; i < count; i++) {
		ret = rknpu_rocket_read(&handle, sizeof(handle), array, i, sizeof(handle));
		if (ret) {
			drm_dbg_ratelimited(ctx->dev, "submit: %s_bo_handles[%u]: error %d\n",
					    write ? "out" : "in", i, ret);
			return ret;
		}
		obj = drm_gem_object_lookup(ctx->file, handle);
		if (!obj) {
			drm_dbg_ratelimited(ctx->dev, "submit: %s_bo_handles[%u]: no BO has handle %u\n",
					    write ? "out" : "in", i, handle);
			return -ENOENT;
		}
		refs[*n].bo = to_rknpu_bo(obj);
		refs[*n].write = write;
		(*n)++;
	}
	return 0;
}

static int rknpu_rocket_cmp_bo(const void *pa, const void *pb)
{
	const struct rknpu_rocket_ref *a = pa;
	const struct rknpu_rocket_ref *b = pb;

	return a->bo < b->bo ? -1 : a->bo > b->bo;
}

/* Each BO once; one that is in both lists is written. Returns how many are left. */
static u32 rknpu_rocket_merge_refs(struct rknpu_rocket_ref *refs, u32 count)
{
	u32 i, n = 0;

	sort(refs, count, sizeof(*refs), rknpu_rocket_cmp_bo, NULL);
	for (i = 0; i < count; i++) {
		if (n && refs[n - 1].bo == refs[i].bo) {
			refs[n - 1].write |= refs[i].write;
			rknpu_bo_put(refs[i].bo);
		} else {
			refs[n++] = refs[i];
		}
	}
	return n;
}

static void rknpu_rocket_add_bos(struct rknpu_job *job, const struct rknpu_rocket_ref *refs,
				 u32 count, bool write)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (refs[i].write == write)
			job->bos[job->bo_count++] = refs[i].bo;
	}
	if (write)
		job->write_count = job->bo_count;
}

/* Consumes the references. */
static struct rknpu_job *rknpu_rocket_alloc_job(struct rknpu_rocket_ctx *ctx, u32 task_count,
						const struct rknpu_rocket_ref *refs, u32 count)
{
	struct rknpu_job *job;
	u32 i;

	job = rknpu_job_alloc(ctx->rfile->client, ctx->rfile->vm, task_count, count);
	if (IS_ERR(job)) {
		for (i = 0; i < count; i++)
			rknpu_bo_put(refs[i].bo);
		return job;
	}

	rknpu_rocket_add_bos(job, refs, count, true);
	rknpu_rocket_add_bos(job, refs, count, false);
	return job;
}

static struct rknpu_job *rknpu_rocket_job_with_bos(struct rknpu_rocket_ctx *ctx,
						   const struct drm_rocket_job *args)
{
	u32 total = args->in_bo_handle_count + args->out_bo_handle_count;
	struct rknpu_rocket_ref *refs;
	struct rknpu_job *job;
	u32 n = 0;
	int ret;

	refs = kvmalloc_array(max(total, 1u), sizeof(*refs), GFP_KERNEL_ACCOUNT);
	if (!refs)
		return ERR_PTR(-ENOMEM);

	ret = rknpu_rocket_lookup_handles(ctx, args->in_bo_handles, args->in_bo_handle_count,
					  false, refs, &n);
	if (!ret)
		ret = rknpu_rocket_lookup_handles(ctx, args->out_bo_handles,
						  args->out_bo_handle_count, true, refs, &n);
	if (ret) {
		while (n)
			rknpu_bo_put(refs[--n].bo);
		job = ERR_PTR(ret);
	} else {
		n = rknpu_rocket_merge_refs(refs, n);
		job = rknpu_rocket_alloc_job(ctx, args->task_count, refs, n);
	}

	kvfree(refs);
	return job;
}

static int rknpu_rocket_check_job(struct rknpu_rocket_ctx *ctx, const struct drm_rocket_job *args)
{
	u64 handles = (u64)args->in_bo_handle_count + args->out_bo_handle_count;
	int ret;

	ret = rknpu_rocket_check_size(ctx->dev, "task_struct_size", args->task_struct_size,
				      sizeof(struct drm_rocket_task));
	if (!ret)
		ret = rknpu_rocket_check_count(ctx->dev, "task_count", args->task_count, 1,
					       RKNPU_ROCKET_MAX_TASKS - ctx->tasks);
	if (!ret)
		ret = rknpu_rocket_check_count(ctx->dev, "number of handles of a job", handles, 0,
					       RKNPU_ROCKET_MAX_HANDLES);
	if (!ret)
		ret = rknpu_rocket_check_count(ctx->dev, "number of handles of a submit",
					       ctx->handles + handles, 0,
					       RKNPU_ROCKET_MAX_ALL_HANDLES);
	if (ret)
		return ret;

	ctx->tasks += args->task_count;
	ctx->handles += handles;
	return 0;
}

static struct rknpu_job *rknpu_rocket_make_job(struct rknpu_rocket_ctx *ctx,
					       const struct drm_rocket_job *args)
{
	struct rknpu_job *job;
	int ret;

	ret = rknpu_rocket_check_job(ctx, args);
	if (ret)
		return ERR_PTR(ret);

	job = rknpu_rocket_job_with_bos(ctx, args);
	if (IS_ERR(job))
		return job;

	/* Before the programs are checked: from here on nothing they refer to is unmapped. */
	rknpu_vm_use_begin(ctx->rfile->vm, &job->use);
	ret = rknpu_rocket_read_tasks(ctx, args, job);
	if (ret) {
		rknpu_job_put(job);
		return ERR_PTR(ret);
	}
	return job;
}

/* On failure no job is left. */
static int rknpu_rocket_make_jobs(struct rknpu_rocket_ctx *ctx,
				  const struct drm_rocket_submit *args, struct rknpu_job **jobs)
{
	struct drm_rocket_job job_args;
	u32 i;
	int ret;

	for (i = 0; i < args->job_count; i++) {
		ret = rknpu_rocket_read(&job_args, sizeof(job_args), args->jobs, i,
					args->job_struct_size);
		if (ret)
			goto err;
		jobs[i] = rknpu_rocket_make_job(ctx, &job_args);
		if (IS_ERR(jobs[i])) {
			ret = PTR_ERR(jobs[i]);
			goto err;
		}
	}
	return 0;

err:
	drm_dbg_ratelimited(ctx->dev, "submit: job %u: error %d\n", i, ret);
	while (i)
		rknpu_job_put(jobs[--i]);
	return ret;
}

static int rknpu_rocket_check_submit(struct drm_device *dev, const struct drm_rocket_submit *args)
{
	int ret;

	if (args->reserved) {
		drm_dbg_ratelimited(dev, "submit: reserved is %#llx, not 0\n", args->reserved);
		return -EINVAL;
	}
	ret = rknpu_rocket_check_size(dev, "job_struct_size", args->job_struct_size,
				      sizeof(struct drm_rocket_job));
	if (ret)
		return ret;
	return rknpu_rocket_check_count(dev, "job_count", args->job_count, 1,
					RKNPU_ROCKET_MAX_JOBS);
}

static int rknpu_rocket_submit_checked(struct rknpu_rocket_ctx *ctx,
				       const struct drm_rocket_submit *args)
{
	struct rknpu_job **jobs;
	int ret;

	jobs = kvmalloc_array(args->job_count, sizeof(*jobs), GFP_KERNEL_ACCOUNT);
	if (!jobs)
		return -ENOMEM;

	/*
	 * No drm_dev_enter() here: reading user memory can take forever, and
	 * unplug would wait. The scheduler fails what comes too late.
	 */
	ret = rknpu_rocket_make_jobs(ctx, args, jobs);
	if (!ret)
		ret = rknpu_submit_jobs(jobs, args->job_count);
	if (!ret)
		rknpu_device_stat_add(&ctx->rfile->rdev->stats, RKNPU_DEVICE_STAT_SUBMITS, 1);

	kvfree(jobs);
	return ret;
}

int rknpu_rocket_submit(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct rknpu_rocket_ctx ctx = {
		.dev = dev,
		.file = file,
		.rfile = file->driver_priv,
	};
	struct drm_rocket_submit *args = data;
	int ret;

	ret = rknpu_rocket_check_submit(dev, args);
	return ret ?: rknpu_rocket_submit_checked(&ctx, args);
}
