// SPDX-License-Identifier: GPL-2.0-only
/* Owns SUBMIT of the vendor's uAPI: task buffers, and slices that become jobs, one per core. */
#include <linux/align.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-fence-array.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
#include <linux/highmem.h>
#include <linux/iosys-map.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sync_file.h>
#include <linux/time64.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "hw/rknpu_pc.h"
#include "mem/rknpu_vm.h"
#include "rknpu_device.h"
#include "rknpu_vendor.h"
#include "sched/rknpu_client_types.h"
#include "sched/rknpu_gang.h"
#include "sched/rknpu_job.h"
#include "sched/rknpu_order.h"
#include "sched/rknpu_sched.h"
#include "sched/rknpu_spin.h"

/* What one job may name; each is copied. */
#define RKNPU_VTASK_MAX		65536

/* Two commands make one fetch, and programs start with one. */
#define RKNPU_VTASK_ALIGN	8
/* Commands that end a program; regcfg_amount does not count them. */
#define RKNPU_VTASK_TAIL	4

/**
 * struct rknpu_vtask_range - part of a task buffer that the CPU has access to
 */
struct rknpu_vtask_range {
	/** @vbo: the buffer */
	struct rknpu_vbo *vbo;
	/** @offset: first byte */
	u64 offset;
	/** @len: bytes */
	u64 len;
	/** @map: all of the buffer, if it is imported */
	struct iosys_map map;
};

static struct dma_buf *rknpu_vtask_dmabuf(struct rknpu_vbo *vbo)
{
	return vbo->base.dmabuf;
}

/*
 * Exporters wait at the beginning for all that others do with the buffer, as long as it takes
 * or until a signal comes.
 */
static int rknpu_vtask_begin_imported(struct rknpu_vtask_range *r, bool wait)
{
	struct dma_buf *dmabuf = rknpu_vtask_dmabuf(r->vbo);
	int ret;

	/* First: what a client wrote without a sync is not to be thrown away. */
	ret = rknpu_vbo_clean_imported(r->vbo);
	if (!ret && (wait || dma_resv_test_signaled(dmabuf->resv, DMA_RESV_USAGE_READ)))
		ret = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	if (ret)
		return ret;
	ret = dma_buf_vmap_unlocked(dmabuf, &r->map);
	if (ret)
		dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	return ret;
}

/* Not every exporter lets the kernel have a mapping. */
static int rknpu_vtask_begin(struct rknpu_vtask_range *r, bool wait)
{
	if (rknpu_bo_is_imported(&r->vbo->base))
		return rknpu_vtask_begin_imported(r, wait);
	/*
	 * The CPU's other mapping of what user space maps uncached may hold old lines,
	 * from prefetching if nothing else.
	 */
	if (!(r->vbo->flags & DRM_RKNPU_MEM_CACHEABLE))
		rknpu_bo_sync_range_for_cpu(&r->vbo->base, r->offset, r->len);
	return 0;
}

static void rknpu_vtask_end(struct rknpu_vtask_range *r, bool written)
{
	if (rknpu_bo_is_imported(&r->vbo->base)) {
		dma_buf_vunmap_unlocked(rknpu_vtask_dmabuf(r->vbo), &r->map);
		dma_buf_end_cpu_access(rknpu_vtask_dmabuf(r->vbo), DMA_BIDIRECTIONAL);
	} else if (written) {
		/* MEM_SYNC from the device would throw it away: with the vendor's driver it can. */
		rknpu_bo_sync_range_for_device(&r->vbo->base, r->offset, r->len);
	}
}

static void rknpu_vtask_copy(struct rknpu_vtask_range *r, u64 offset, void *to, size_t len)
{
	if (rknpu_bo_is_imported(&r->vbo->base)) {
		iosys_map_memcpy_from(to, &r->map, offset, len);
		return;
	}
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t n = min(len, PAGE_SIZE - in_page);

		memcpy_from_page(to, r->vbo->base.pages[offset >> PAGE_SHIFT], in_page, n);
		to += n;
		offset += n;
		len -= n;
	}
}

static int rknpu_vtask_check(struct rknpu_vbo *vbo, const struct rknpu_soc *soc, u32 i,
			     const struct drm_rknpu_task *t)
{
	u32 most = rknpu_pc_max_commands(soc) - RKNPU_VTASK_TAIL;
	struct drm_device *dev = vbo->base.base.dev;

	if (!IS_ALIGNED(lower_32_bits(t->regcmd_addr), RKNPU_VTASK_ALIGN)) {
		drm_dbg_ratelimited(dev, "submit: task %u: regcmd_addr %#llx is not aligned to %u\n",
				    i, t->regcmd_addr, RKNPU_VTASK_ALIGN);
		return -EINVAL;
	}
	if (t->regcfg_amount > most) {
		drm_dbg_ratelimited(dev, "submit: task %u: regcfg_amount %u is over %u\n", i,
				    t->regcfg_amount, most);
		return -EINVAL;
	}
	return 0;
}

static int rknpu_vtask_read_one(struct rknpu_vtask_range *r, u32 start, struct rknpu_job *job,
				u32 i)
{
	struct drm_rknpu_task t;
	int ret;

	rknpu_vtask_copy(r, r->offset + i * sizeof(t), &t, sizeof(t));
	ret = rknpu_vtask_check(r->vbo, job->client->sched->hw->soc, start + i, &t);
	if (ret)
		return ret;
	rknpu_job_set_task(job, i, lower_32_bits(t.regcmd_addr),
			   t.regcfg_amount + RKNPU_VTASK_TAIL, t.int_mask);
	return 0;
}

/*
 * Copies what is used of the tasks [start, start + job->task_count) into @job, once and
 * for all: user space may change the buffer meanwhile. Programs lead to each other, so of
 * those that one kick runs only the first and the last one matter, as to the vendor's
 * driver. -EINVAL if the tasks are not inside the buffer or these cannot be run, or if it
 * is imported and its exporter cannot map it.
 */
static int rknpu_vtask_read(struct rknpu_vbo *vbo, u32 start, struct rknpu_job *job)
{
	struct rknpu_vtask_range r = {
		.vbo = vbo,
		.offset = (u64)start * sizeof(struct drm_rknpu_task),
		.len = (u64)job->task_count * sizeof(struct drm_rknpu_task),
	};
	u32 i, last;
	int ret;

	if (r.offset + r.len > vbo->base.base.size) {
		drm_dbg_ratelimited(vbo->base.base.dev,
				    "submit: %u tasks from %u on are not in the buffer\n",
				    job->task_count, start);
		return -EINVAL;
	}

	ret = rknpu_vtask_begin(&r, true);
	if (ret) {
		drm_dbg_ratelimited(vbo->base.base.dev,
				    "submit: the task buffer cannot be read: %d\n", ret);
		return ret;
	}
	for (i = 0; i < job->task_count && !ret; i += job->kick_tasks) {
		last = min(job->task_count, i + job->kick_tasks) - 1;
		ret = rknpu_vtask_read_one(&r, start, job, i);
		if (!ret && last != i)
			ret = rknpu_vtask_read_one(&r, start, job, last);
	}
	rknpu_vtask_end(&r, false);
	return ret;
}

/* Tells user space how task @index ended. @index has been read before. */
static void rknpu_vtask_write_status(struct rknpu_vbo *vbo, u32 index, u32 int_status)
{
	struct rknpu_vtask_range r = {
		.vbo = vbo,
		.offset = (u64)index * sizeof(struct drm_rknpu_task) +
			  offsetof(struct drm_rknpu_task, int_status),
		.len = sizeof(int_status),
	};

	/* The job is over, whether user space gets to know this or not: nobody else's counts. */
	if (rknpu_vtask_begin(&r, false))
		return;
	if (rknpu_bo_is_imported(&vbo->base))
		iosys_map_memcpy_to(&r.map, r.offset, &int_status, sizeof(int_status));
	else
		/* Tasks are 40 bytes, so their members are aligned and never cross a page. */
		memcpy_to_page(vbo->base.pages[r.offset >> PAGE_SHIFT], offset_in_page(r.offset),
			       (const char *)&int_status, sizeof(int_status));
	rknpu_vtask_end(&r, true);
}

/* A job of three cores has its slices behind those of the others. */
#define RKNPU_VSUBMIT_TRIPLE	2

/**
 * struct rknpu_vsubmit - a SUBMIT on its way
 */
struct rknpu_vsubmit {
	/** @dev: node */
	struct drm_device *dev;
	/** @vfile: whose it is */
	struct rknpu_vfile *vfile;
	/** @args: of the ioctl */
	struct drm_rknpu_submit *args;
	/** @tasks: task buffer, with a reference */
	struct rknpu_vbo *tasks;
	/** @vm: address space, borrowed from the file */
	struct rknpu_vm *vm;
	/** @fence_in: what to wait for, or NULL; with a reference */
	struct dma_fence *fence_in;
	/** @jobs: one per core that takes part; with references once made */
	struct rknpu_job *jobs[RKNPU_MAX_CORES];
	/** @slices: what each job runs */
	const struct drm_rknpu_subcore_task *slices[RKNPU_MAX_CORES];
	/** @whole: what the job of an NPU of one core runs */
	struct drm_rknpu_subcore_task whole;
	/** @masks: where each job runs */
	u32 masks[RKNPU_MAX_CORES];
	/** @count: number of @jobs */
	unsigned int count;
};

static void rknpu_vsubmit_add(struct rknpu_vsubmit *s, unsigned int slice, u32 core_mask)
{
	s->slices[s->count] = &s->args->subcore_task[slice];
	s->masks[s->count] = core_mask;
	s->count++;
}

/*
 * Any core may run it, and each runs its own slice. Some runtimes give all the
 * same; then the scheduler may move the job. Others have a program for each core
 * (librknnrt with several cores in its plan), so the core is chosen here, as the
 * vendor's driver does. Slices that are empty are not meant.
 */
static void rknpu_vsubmit_pick_any(struct rknpu_vsubmit *s)
{
	const struct drm_rknpu_subcore_task *slice = s->args->subcore_task;
	struct rknpu_sched *sched = &s->vfile->vendor->rdev->sched;
	unsigned int i, first = 0;
	u32 given = 0, same = 0;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (!slice[i].task_number)
			continue;
		if (!given)
			first = i;
		given |= BIT(i);
		if (slice[i].task_start == slice[first].task_start &&
		    slice[i].task_number == slice[first].task_number)
			same |= BIT(i);
	}
	if (given == same) {
		rknpu_vsubmit_add(s, first, same);
	} else {
		i = rknpu_sched_quietest_core(sched, given);
		rknpu_vsubmit_add(s, i, BIT(i));
	}
}

/* The vendor's driver looks at no slice then, and librknnrt fills none in. */
static void rknpu_vsubmit_pick_only(struct rknpu_vsubmit *s)
{
	s->whole.task_start = s->args->task_start;
	s->whole.task_number = s->args->task_number;
	s->slices[0] = &s->whole;
	s->masks[0] = BIT(0);
	s->count = 1;
}

static int rknpu_vsubmit_pick_cores(struct rknpu_vsubmit *s)
{
	u32 there = s->vfile->vendor->rdev->hw.core_mask;
	unsigned int i;

	if (s->args->core_mask & ~there) {
		drm_dbg_ratelimited(s->dev, "submit: core_mask %#x, but there is %#x\n",
				    s->args->core_mask, there);
		return -EINVAL;
	}
	if (s->vfile->vendor->rdev->hw.soc->num_cores == 1) {
		rknpu_vsubmit_pick_only(s);
		return 0;
	}

	switch (s->args->core_mask) {
	case 0:
		rknpu_vsubmit_pick_any(s);
		return 0;
	case BIT(0):
	case BIT(1):
	case BIT(2):
		rknpu_vsubmit_add(s, ffs(s->args->core_mask) - 1, s->args->core_mask);
		return 0;
	case BIT(0) | BIT(1):
		for (i = 0; i < 2; i++)
			rknpu_vsubmit_add(s, i, BIT(i));
		return 0;
	case BIT(0) | BIT(1) | BIT(2):
		for (i = 0; i < 3; i++)
			rknpu_vsubmit_add(s, i + RKNPU_VSUBMIT_TRIPLE, BIT(i));
		return 0;
	default:
		drm_dbg_ratelimited(s->dev, "submit: core_mask %#x\n", s->args->core_mask);
		return -EINVAL;
	}
}

static int rknpu_vsubmit_check(struct rknpu_vsubmit *s)
{
	const struct drm_rknpu_submit *args = s->args;

	if (!(args->flags & DRM_RKNPU_JOB_PC)) {
		drm_dbg_ratelimited(s->dev, "submit: flags %#x without PC\n", args->flags);
		return -EINVAL;
	}
	if (!args->task_number) {
		drm_dbg_ratelimited(s->dev, "submit: task_number is 0\n");
		return -EINVAL;
	}
	return 0;
}

/*
 * Before 0.9.6 the object that holds the programs was named here. librknnrt 1.2.0 still
 * does; it knows no domains, so that all it has is in domain 0.
 */
static bool rknpu_vsubmit_names_programs(struct rknpu_vsubmit *s)
{
	u64 cookie = (u64)s->args->reserved << 32 | s->args->iommu_domain_id;
	struct rknpu_vbo *programs = rknpu_vobject_lookup(s->vfile, cookie);

	if (!programs)
		return false;
	rknpu_bo_put(&programs->base);
	return true;
}

static int rknpu_vsubmit_get_vm(struct rknpu_vsubmit *s)
{
	u32 domain = s->args->iommu_domain_id;

	if (domain >= DRM_RKNPU_DOMAINS) {
		if (!rknpu_vsubmit_names_programs(s)) {
			drm_dbg_ratelimited(s->dev, "submit: iommu_domain_id %u is not 0..%d\n",
					    domain, DRM_RKNPU_DOMAINS - 1);
			return -EINVAL;
		}
		domain = 0;
	}
	s->vm = rknpu_vfile_vm(s->vfile, domain);
	return PTR_ERR_OR_ZERO(s->vm);
}

static int rknpu_vsubmit_get_tasks(struct rknpu_vsubmit *s)
{
	s->tasks = rknpu_vobject_lookup(s->vfile, s->args->task_obj_addr);
	if (!s->tasks) {
		drm_dbg_ratelimited(s->dev, "submit: task_obj_addr %#llx is not of this file\n",
				    s->args->task_obj_addr);
		return -EINVAL;
	}
	/* What is imported has no flags. */
	if (!rknpu_bo_is_imported(&s->tasks->base) &&
	    !(s->tasks->flags & DRM_RKNPU_MEM_KERNEL_MAPPING)) {
		drm_dbg_ratelimited(s->dev, "submit: the task buffer lacks KERNEL_MAPPING\n");
		return -EINVAL;
	}
	return 0;
}

static int rknpu_vsubmit_get_fence(struct rknpu_vsubmit *s)
{
	if (!(s->args->flags & DRM_RKNPU_JOB_FENCE_IN))
		return 0;
	s->fence_in = sync_file_get_fence(s->args->fence_fd);
	if (s->fence_in)
		return 0;
	drm_dbg_ratelimited(s->dev, "submit: fence_fd %d is no sync_file\n", s->args->fence_fd);
	return -EINVAL;
}

static int rknpu_vsubmit_fill_job(struct rknpu_vsubmit *s, struct rknpu_job *job, unsigned int i)
{
	int ret;

	job->no_pingpong = !(s->args->flags & DRM_RKNPU_JOB_PINGPONG);
	job->own_pointer = true;
	job->core_mask = s->masks[i];
	/* Not a deadline per task, as elsewhere. Runtimes ask for whatever they like. */
	job->timeout_ns = (u64)max(s->args->timeout, 1U) * NSEC_PER_MSEC;
	job->budget_ns = job->timeout_ns;
	job->dma_base = lower_32_bits(s->args->task_base_addr);
	ret = rknpu_vtask_read(s->tasks, s->slices[i]->task_start, job);
	if (!ret && s->fence_in)
		ret = rknpu_job_add_dep(job, s->fence_in);
	return ret;
}

static int rknpu_vsubmit_make_job(struct rknpu_vsubmit *s, unsigned int i)
{
	u32 number = s->slices[i]->task_number;
	struct rknpu_job *job;
	int ret;

	if (!number || number > RKNPU_VTASK_MAX) {
		drm_dbg_ratelimited(s->dev, "submit: %u tasks for a core are not 1..%u\n", number,
				    RKNPU_VTASK_MAX);
		return -EINVAL;
	}

	job = rknpu_job_alloc(s->vfile->client, s->vm, number, true, 0);
	if (IS_ERR(job))
		return PTR_ERR(job);
	rknpu_vm_use_begin(s->vm, &job->use);
	ret = rknpu_vsubmit_fill_job(s, job, i);
	if (ret) {
		rknpu_job_put(job);
		return ret;
	}
	s->jobs[i] = job;
	return 0;
}

static void rknpu_vsubmit_put_jobs(struct rknpu_vsubmit *s)
{
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		if (s->jobs[i])
			rknpu_job_put(s->jobs[i]);
		s->jobs[i] = NULL;
	}
}

static int rknpu_vsubmit_make_jobs(struct rknpu_vsubmit *s)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < s->count; i++) {
		ret = rknpu_vsubmit_make_job(s, i);
		if (ret)
			break;
	}
	if (!ret && s->count > 1)
		ret = rknpu_gang_form(s->jobs, s->count);
	if (ret)
		rknpu_vsubmit_put_jobs(s);
	return ret;
}

/* One fence for all jobs, with a reference. */
static struct dma_fence *rknpu_vsubmit_join_fences(struct rknpu_vsubmit *s)
{
	struct dma_fence_array *array;
	struct dma_fence **fences;
	unsigned int i;

	if (s->count == 1)
		return dma_fence_get(rknpu_job_fence(s->jobs[0]));

	/* Freed with the array. */
	fences = kmalloc_array(s->count, sizeof(*fences), GFP_KERNEL_ACCOUNT);
	if (!fences)
		return NULL;
	for (i = 0; i < s->count; i++)
		fences[i] = dma_fence_get(rknpu_job_fence(s->jobs[i]));

	array = dma_fence_array_create(s->count, fences, dma_fence_context_alloc(1), 1);
	if (array)
		return &array->base;
	for (i = 0; i < s->count; i++)
		dma_fence_put(fences[i]);
	kfree(fences);
	return NULL;
}

/* Everything that can fail about an out fence. The fd is not installed yet. */
static int rknpu_vsubmit_reserve_fd(struct rknpu_vsubmit *s, struct sync_file **sync, int *fd)
{
	struct dma_fence *fence;

	*sync = NULL;
	if (!(s->args->flags & DRM_RKNPU_JOB_FENCE_OUT))
		return 0;

	*fd = get_unused_fd_flags(O_CLOEXEC);
	if (*fd < 0)
		return *fd;
	fence = rknpu_vsubmit_join_fences(s);
	if (fence) {
		*sync = sync_file_create(fence);
		dma_fence_put(fence);
	}
	if (*sync)
		return 0;
	put_unused_fd(*fd);
	return -ENOMEM;
}

static int rknpu_vsubmit_push(struct rknpu_vsubmit *s)
{
	struct rknpu_job *jobs[RKNPU_MAX_CORES];
	struct sync_file *sync;
	unsigned int i;
	int fd, ret;

	ret = rknpu_vsubmit_reserve_fd(s, &sync, &fd);
	if (ret)
		return ret;

	for (i = 0; i < s->count; i++) {
		rknpu_job_get(s->jobs[i]);
		jobs[i] = s->jobs[i];
	}
	ret = rknpu_order_jobs(jobs, s->count);
	if (sync && ret) {
		put_unused_fd(fd);
		fput(sync->file);
	} else if (sync) {
		/* An array whose members nobody waits for forgets errors, or never signals. */
		dma_fence_enable_signaling(sync->fence);
		fd_install(fd, sync->file);
		s->args->fence_fd = fd;
	}
	return ret;
}

struct rknpu_vsubmit_waiter {
	struct dma_fence_cb cb;
	struct completion done;
};

static void rknpu_vsubmit_wake(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	complete(&container_of(cb, struct rknpu_vsubmit_waiter, cb)->done);
}

static bool rknpu_vsubmit_over(void *fence)
{
	return dma_fence_is_signaled(fence);
}

/*
 * Runtimes do not expect to be interrupted by signals, so only a fatal one does
 * it. The job goes on until its file is closed.
 */
static int rknpu_vsubmit_wait_job(struct rknpu_job *job)
{
	struct rknpu_vsubmit_waiter w;
	int ret;

	if (rknpu_spin_until(job->client->sched, S64_MAX, rknpu_vsubmit_over, rknpu_job_fence(job)))
		return 0;
	init_completion(&w.done);
	if (dma_fence_add_callback(rknpu_job_fence(job), &w.cb, rknpu_vsubmit_wake))
		return 0;
	ret = wait_for_completion_state(&w.done, TASK_KILLABLE | TASK_FREEZABLE);
	if (ret)
		dma_fence_remove_callback(rknpu_job_fence(job), &w.cb);
	return ret ? -EINTR : 0;
}

static int rknpu_vsubmit_error(enum rknpu_cause cause)
{
	int error = rknpu_cause_error(cause);

	return error == -ETIME ? -ETIMEDOUT : error;
}

/* @task: how far it came */
static int rknpu_vsubmit_report_job(struct rknpu_vsubmit *s, unsigned int i, u32 *task)
{
	u32 last = s->slices[i]->task_start + s->slices[i]->task_number - 1;
	struct rknpu_result r;

	/* Not the job's own, which is not ordered after the look at the fence. */
	rknpu_fence_get_result(rknpu_job_fence(s->jobs[i]), &r);
	s->args->hw_elapse_time = max_t(s64, s->args->hw_elapse_time, r.elapsed_ns);
	if (!s->args->core_mask && r.core >= 0)
		s->args->core_mask = BIT(r.core);
	if (r.cause == RKNPU_CAUSE_DONE)
		rknpu_vtask_write_status(s->tasks, last, r.int_status);
	*task = r.task;
	return rknpu_vsubmit_error(r.cause);
}

static int rknpu_vsubmit_wait(struct rknpu_vsubmit *s)
{
	unsigned int i;
	int error, ret = 0;
	u32 task;

	for (i = 0; i < s->count; i++) {
		error = rknpu_vsubmit_wait_job(s->jobs[i]);
		if (error)
			return error;
	}

	s->args->hw_elapse_time = 0;
	for (i = 0; i < s->count; i++) {
		error = rknpu_vsubmit_report_job(s, i, &task);
		/* The vendor's driver tells how far the first core came. */
		if (error && !ret) {
			ret = error;
			s->args->task_counter = task;
		}
	}
	if (!ret)
		s->args->task_counter = s->args->task_number;
	return ret;
}

static int rknpu_vsubmit_run(struct rknpu_vsubmit *s)
{
	int ret;

	ret = rknpu_vsubmit_make_jobs(s);
	if (ret)
		return ret;
	ret = rknpu_vsubmit_push(s);
	if (!ret && !(s->args->flags & DRM_RKNPU_JOB_NONBLOCK))
		ret = rknpu_vsubmit_wait(s);
	rknpu_vsubmit_put_jobs(s);
	return ret;
}

static int rknpu_vsubmit_prepare(struct rknpu_vsubmit *s)
{
	return rknpu_vsubmit_check(s) ?:
	       rknpu_vsubmit_pick_cores(s) ?:
	       rknpu_vsubmit_get_tasks(s) ?:
	       rknpu_vsubmit_get_vm(s) ?:
	       rknpu_vsubmit_get_fence(s);
}

int rknpu_vendor_do_submit(struct rknpu_vfile *vfile, struct drm_rknpu_submit *args)
{
	struct rknpu_vsubmit s = {
		.dev = &vfile->vendor->drm,
		.vfile = vfile,
		.args = args,
	};
	int ret;

	s.args->task_counter = 0;
	ret = rknpu_vsubmit_prepare(&s) ?: rknpu_vsubmit_run(&s);

	dma_fence_put(s.fence_in);
	if (s.tasks)
		rknpu_bo_put(&s.tasks->base);
	return ret;
}

int rknpu_vendor_submit(struct drm_device *dev, void *data, struct drm_file *file)
{
	return rknpu_vendor_do_submit(file->driver_priv, data);
}
