// SPDX-License-Identifier: MIT
/*
 * Runs jobs through the ioctls of Rockchip's own driver (DRM node "rknpu").
 *
 * That interface neither orders jobs by the buffers they share nor lets a buffer
 * be waited for, so both are done here with the sync_file of each submission.
 * Tasks of a job run in one kick and have to be chained in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/sync_file.h>
#include <xf86drm.h>

#include "drm/rknpu_drm.h"
#include "npu_regs.h"
#include "npu_vendor_run.h"

/* Entries that end a program: next base, next amount, marker, enable. */
#define TAIL		4u
#define OP(target, reg, value) \
	((uint64_t)(target) << 48 | (uint64_t)(uint32_t)(value) << 16 | (reg))

/* A buffer's part in a submission. */
struct use {
	struct npu_run *run;
	bool write;
};

struct vbo {
	struct npu_kept_bo kept;
	uint64_t obj_addr;
	struct use *uses;
	uint32_t nuses, reserved;	/* room there is for this many more */
	int err;		/* of the last job that wrote it */
};

static struct vbo *to_vbo(struct npu_bo *bo)
{
	return (struct vbo *)bo;
}

/* ---- buffers ---- */

static void fill(struct vbo *bo, struct npu_dev *dev, const struct drm_rknpu_mem_create *req)
{
	bo->kept.base.dev = dev;
	bo->kept.base.handle = req->handle;
	bo->kept.base.iova = req->dma_addr;
	bo->kept.base.size = req->size;
	bo->obj_addr = req->obj_addr;
	npu_bo_keep(&bo->kept.base);
}

static int bo_alloc(struct npu_dev *dev, size_t size, uint32_t flags, struct npu_bo **out)
{
	struct drm_rknpu_mem_create req = {
		.flags = flags, .size = size, .iommu_domain_id = (int32_t)npu_dev_domain(dev),
	};
	struct drm_rknpu_mem_map map = { 0 };
	struct vbo *bo = calloc(1, sizeof(*bo));
	int ret;

	if (!bo)
		return -ENOMEM;
	ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_RKNPU_MEM_CREATE, &req));
	if (ret) {
		free(bo);
		/* Addresses have run out; no argument is a pointer. */
		return ret == -EFAULT ? -ENOSPC : ret;
	}
	fill(bo, dev, &req);
	bo->kept.base.size = size;
	map.handle = req.handle;
	ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_RKNPU_MEM_MAP, &map));
	if (ret) {
		npu_vendor_bo_free(&bo->kept.base);
		return ret;
	}
	bo->kept.base.offset = map.offset;
	*out = &bo->kept.base;
	return 0;
}

/* Asked about a handle, MEM_CREATE allocates nothing. Other drivers' memory has no place to map. */
int npu_vendor_bo_describe(struct npu_dev *dev, uint32_t handle, struct npu_bo **out)
{
	struct drm_rknpu_mem_create req = { .handle = handle };
	struct drm_rknpu_mem_map map = { .handle = handle };
	struct vbo *bo = calloc(1, sizeof(*bo));
	int ret;

	if (!bo)
		return -ENOMEM;
	ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_RKNPU_MEM_CREATE, &req));
	if (ret) {
		free(bo);
		return ret;
	}
	fill(bo, dev, &req);
	if (!drmIoctl(npu_fd(dev), DRM_IOCTL_RKNPU_MEM_MAP, &map))
		bo->kept.base.offset = map.offset;
	*out = &bo->kept.base;
	return 0;
}

int npu_vendor_bo_alloc(struct npu_dev *dev, size_t size, struct npu_bo **out)
{
	return bo_alloc(dev, size, DRM_RKNPU_MEM_NON_CONTIGUOUS | DRM_RKNPU_MEM_CACHEABLE |
			DRM_RKNPU_MEM_LIMIT_IOVA_ALIGNMENT, out);
}

static int bo_sync(struct npu_bo *bo, uint32_t flags)
{
	struct drm_rknpu_mem_sync req = {
		.flags = flags, .obj_addr = to_vbo(bo)->obj_addr, .size = bo->size,
	};

	return npu_errno(drmIoctl(npu_fd(bo->dev), DRM_IOCTL_RKNPU_MEM_SYNC, &req));
}

void npu_run_put(struct npu_run *run)
{
	if (--run->refs)
		return;
	close(run->fd);
	npu_vendor_bo_free(run->tasks);
	free(run);
}

static void bo_forget(struct vbo *bo)
{
	for (uint32_t i = 0; i < bo->nuses; i++)
		npu_run_put(bo->uses[i].run);
	free(bo->uses);
	bo->uses = NULL;
	bo->nuses = 0;
}

void npu_vendor_bo_free(struct npu_bo *bo)
{
	struct drm_rknpu_mem_destroy req = { 0 };

	if (!bo || !npu_bo_unref(bo))
		return;
	bo_forget(to_vbo(bo));
	if (bo->map)
		munmap(bo->map, bo->size);
	req.handle = bo->handle;
	req.obj_addr = to_vbo(bo)->obj_addr;
	drmIoctl(npu_fd(bo->dev), DRM_IOCTL_RKNPU_MEM_DESTROY, &req);
	free(bo);
}

/* ---- waiting ---- */

static int ms_until(int64_t deadline_ns)
{
	struct timespec ts;
	int64_t left;

	if (deadline_ns == INT64_MAX)
		return -1;
	if (deadline_ns <= 0)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	left = deadline_ns - ((int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
	if (left <= 0)
		return 0;
	left = (left + 999999) / 1000000;
	return left > 1000000 ? 1000000 : (int)left;
}

static int run_status(struct npu_run *run)
{
	struct sync_file_info info = { 0 };
	int ret = npu_errno(drmIoctl(run->fd, SYNC_IOC_FILE_INFO, &info));

	if (ret)
		return ret;
	return info.status < 0 ? info.status : 0;
}

int npu_run_wait(struct npu_run *run, int64_t deadline_ns)
{
	struct pollfd p = { .fd = run->fd, .events = POLLIN };
	int ms, ret;

	if (run->done)
		return 0;
	do {
		ms = ms_until(deadline_ns);
		ret = poll(&p, 1, ms);
	} while ((ret < 0 && errno == EINTR) || (!ret && ms));
	if (ret < 0)
		return -errno;
	if (!ret)
		return deadline_ns <= 0 ? -EBUSY : -ETIMEDOUT;
	run->err = run_status(run);
	run->done = true;
	return 0;
}

int npu_vendor_bo_prep_until(struct npu_bo *bo, int64_t deadline_ns)
{
	struct vbo *v = to_vbo(bo);
	int ret;

	for (uint32_t i = 0; i < v->nuses; i++) {
		ret = npu_run_wait(v->uses[i].run, deadline_ns);
		if (ret)
			return ret;
		if (v->uses[i].write)
			v->err = v->uses[i].run->err;
	}
	bo_forget(v);
	ret = bo_sync(bo, DRM_RKNPU_MEM_SYNC_FROM_DEVICE);
	return ret ? ret : v->err;
}

int npu_vendor_bo_fini(struct npu_bo *bo)
{
	return bo_sync(bo, DRM_RKNPU_MEM_SYNC_TO_DEVICE);
}

/* ---- dependencies ---- */

/* Takes over neither; a new sync_file that is over when both are. */
static int merge_fences(int a, int b)
{
	struct sync_merge_data req = { .name = "libnpu", .fd2 = b };
	int ret = npu_errno(drmIoctl(a, SYNC_IOC_MERGE, &req));

	return ret ? ret : req.fence;
}

static int add_fence(int *fd, int more)
{
	int merged = *fd < 0 ? fcntl(more, F_DUPFD_CLOEXEC, 0) : merge_fences(*fd, more);

	if (merged < 0)
		return *fd < 0 ? -errno : merged;
	if (*fd >= 0)
		close(*fd);
	*fd = merged;
	return 0;
}

/* Readers wait for writers, writers for everybody. */
static int wait_for_uses(struct vbo *bo, bool write, int *fd)
{
	int ret = 0;

	for (uint32_t i = 0; i < bo->nuses && !ret; i++) {
		if (!bo->uses[i].run->done && (write || bo->uses[i].write))
			ret = add_fence(fd, bo->uses[i].run->fd);
	}
	return ret;
}

int npu_vendor_collect_fences(const struct npu_hwjob *job, int *fd)
{
	int ret = 0;

	*fd = -1;
	for (uint32_t i = 0; i < job->nin && !ret; i++)
		ret = wait_for_uses(to_vbo(job->in[i]), false, fd);
	for (uint32_t i = 0; i < job->nout && !ret; i++)
		ret = wait_for_uses(to_vbo(job->out[i]), true, fd);
	return ret;
}

static int reserve_use(struct vbo *bo)
{
	struct use *uses = realloc(bo->uses, (bo->nuses + bo->reserved + 1) * sizeof(*uses));

	if (!uses)
		return -ENOMEM;
	bo->uses = uses;
	bo->reserved++;
	return 0;
}

/* A buffer that is in a list twice gets a use for each. */
int npu_vendor_reserve_uses(const struct npu_hwjob *job)
{
	int ret = 0;

	for (uint32_t i = 0; i < job->nin; i++)
		to_vbo(job->in[i])->reserved = 0;
	for (uint32_t i = 0; i < job->nout; i++)
		to_vbo(job->out[i])->reserved = 0;
	for (uint32_t i = 0; i < job->nin && !ret; i++)
		ret = reserve_use(to_vbo(job->in[i]));
	for (uint32_t i = 0; i < job->nout && !ret; i++)
		ret = reserve_use(to_vbo(job->out[i]));
	return ret;
}

/* Buffers are used again and again, some of them by jobs that nobody waits for. */
static void drop_done_uses(struct vbo *bo)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < bo->nuses; i++) {
		struct use *use = &bo->uses[i];

		if (npu_run_wait(use->run, 0)) {
			bo->uses[n++] = *use;
			continue;
		}
		if (use->write)
			bo->err = use->run->err;
		npu_run_put(use->run);
	}
	bo->nuses = n;
}

static void add_use(struct vbo *bo, struct npu_run *run, bool write)
{
	drop_done_uses(bo);
	bo->uses[bo->nuses++] = (struct use) { .run = run, .write = write };
	run->refs++;
	if (write)
		bo->err = 0;
}

void npu_vendor_add_uses(const struct npu_hwjob *job, struct npu_run *run)
{
	for (uint32_t i = 0; i < job->nin; i++)
		add_use(to_vbo(job->in[i]), run, false);
	for (uint32_t i = 0; i < job->nout; i++)
		add_use(to_vbo(job->out[i]), run, true);
}

/* ---- programs ---- */

/* The CPU's view of a task's program, which must be in one of the job's inputs. */
static uint64_t *find_program(const struct npu_hwjob *job, const struct npu_task *t,
			      struct npu_bo **bo)
{
	for (uint32_t i = 0; i < job->nin; i++) {
		struct npu_bo *b = job->in[i];

		if (b->map && t->regcmd >= b->iova &&
		    t->regcmd + (uint64_t)t->count * 8 <= b->iova + b->size) {
			*bo = b;
			return (uint64_t *)((char *)b->map + (t->regcmd - b->iova));
		}
	}
	return NULL;
}

/* Jobs before this one may chain the same program otherwise. */
static int set_tail(const struct vbo *bo, uint64_t *at, const uint64_t tail[2])
{
	int ret = 0;

	if (!memcmp(at, tail, 2 * sizeof(*tail)))
		return 0;
	for (uint32_t i = 0; i < bo->nuses && !ret; i++)
		ret = npu_run_wait(bo->uses[i].run, INT64_MAX);
	if (!ret)
		memcpy(at, tail, 2 * sizeof(*tail));
	return ret;
}

/* Points the end of each program to the next one, and the last one nowhere. */
static int chain_programs(const struct npu_chip *chip, const struct npu_hwjob *job)
{
	struct npu_bo *bo = NULL;
	int ret = 0;

	for (uint32_t i = 0; i < job->ntasks && !ret; i++) {
		uint64_t tail[2] = { 0, OP(NPU_TGT_PC, NPU_OFF_PC_REGISTER_AMOUNTS, 0) };
		const struct npu_task *t = &job->tasks[i], *next = t + 1;
		struct npu_bo *before = bo;
		uint64_t *prog = find_program(job, t, &bo);

		if (!prog || t->count < TAIL)
			return -EINVAL;
		if (before && before != bo)
			ret = npu_vendor_bo_fini(before);
		if (i + 1 < job->ntasks) {
			tail[0] = OP(NPU_TGT_PC, NPU_OFF_PC_BASE_ADDRESS, next->regcmd);
			tail[1] = OP(NPU_TGT_PC, NPU_OFF_PC_REGISTER_AMOUNTS, npu_amount(chip, next->count));
		}
		if (!ret)
			ret = set_tail(to_vbo(bo), prog + t->count - TAIL, tail);
	}
	return ret ? ret : npu_vendor_bo_fini(bo);
}

int npu_vendor_make_tasks(struct npu_dev *dev, const struct npu_hwjob *job, struct npu_bo **out)
{
	struct drm_rknpu_task *task;
	struct npu_bo *bo;
	int ret;

	ret = bo_alloc(dev, job->ntasks * sizeof(*task),
		       DRM_RKNPU_MEM_NON_CONTIGUOUS | DRM_RKNPU_MEM_CACHEABLE |
		       DRM_RKNPU_MEM_KERNEL_MAPPING | DRM_RKNPU_MEM_LIMIT_IOVA_ALIGNMENT, out);
	if (ret)
		return ret;
	task = npu_bo_map(*out);
	if (!task)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->ntasks; i++) {
		const uint64_t *prog = find_program(job, &job->tasks[i], &bo);

		if (!prog || job->tasks[i].count < TAIL)
			return -EINVAL;
		memset(&task[i], 0, sizeof(task[i]));
		task[i].enable_mask = (uint32_t)(prog[job->tasks[i].count - 1] >> 16);
		/* The PPU is the last block where it runs. */
		task[i].int_mask = task[i].enable_mask & NPU_EN_PPU ? NPU_IRQ_PPU : NPU_IRQ_DPU;
		task[i].int_clear = NPU_IRQ_ALL;
		task[i].regcfg_amount = job->tasks[i].count - TAIL;
		task[i].regcmd_addr = job->tasks[i].regcmd;
	}
	return npu_vendor_bo_fini(*out);
}

/* ---- submission ---- */

static const struct npu_vendor_opts defaults = { .timeout_ms = NPU_VENDOR_TIMEOUT_MS };

/* The driver takes those of three cores from the last three of five elements. */
static void set_slices(struct drm_rknpu_submit *req, const struct npu_hwjob *job,
		       const struct npu_vendor_opts *opts)
{
	uint32_t at = opts->nslices > 2 ? 2 : 0;

	/* Whichever core it is going to be. */
	for (int i = 0; opts->nslices < 2 && i < 3; i++)
		req->subcore_task[i].task_number = job->ntasks;
	if (opts->nslices < 2)
		return;
	req->core_mask = (1u << opts->nslices) - 1;
	for (uint32_t i = 0; i < opts->nslices; i++) {
		req->subcore_task[at + i].task_start = opts->slice[i].first;
		req->subcore_task[at + i].task_number = opts->slice[i].n;
	}
}

int npu_vendor_submit_run(struct npu_dev *dev, const struct npu_hwjob *job, struct npu_bo *tasks,
			  const struct npu_vendor_opts *opts, struct drm_rknpu_submit *req,
			  int fence)
{
	*req = (struct drm_rknpu_submit){
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG,
		.timeout = opts->timeout_ms,
		.task_number = job->ntasks,
		.task_obj_addr = to_vbo(tasks)->obj_addr,
		.iommu_domain_id = npu_dev_domain(dev),
		.core_mask = opts->core_mask,
		.fence_fd = fence,
	};

	if (!opts->block)
		req->flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	if (fence >= 0)
		req->flags |= DRM_RKNPU_JOB_FENCE_IN;
	set_slices(req, job, opts);
	return npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_RKNPU_SUBMIT, req));
}

static int start_run(struct npu_dev *dev, const struct npu_hwjob *job, struct npu_run *run)
{
	struct drm_rknpu_submit req;
	int fence, ret;

	ret = npu_vendor_make_tasks(dev, job, &run->tasks);
	if (!ret)
		ret = chain_programs(npu_dev_chip(dev), job);
	if (!ret)
		ret = npu_vendor_reserve_uses(job);
	if (ret)
		return ret;
	ret = npu_vendor_collect_fences(job, &fence);
	if (!ret)
		ret = npu_vendor_submit_run(dev, job, run->tasks, &defaults, &req, fence);
	if (!ret)
		run->fd = req.fence_fd;
	if (fence >= 0)
		close(fence);
	return ret;
}

static int submit_one(struct npu_dev *dev, const struct npu_hwjob *job)
{
	struct npu_run *run = calloc(1, sizeof(*run));
	int ret;

	if (!run)
		return -ENOMEM;
	run->fd = -1;
	run->refs = 1;
	ret = start_run(dev, job, run);
	if (!ret)
		npu_vendor_add_uses(job, run);
	npu_run_put(run);
	return ret;
}

/* Unlike the other interface, a failure leaves the jobs before it running. */
int npu_vendor_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs)
{
	int ret = 0;

	for (uint32_t i = 0; i < njobs && !ret; i++)
		ret = jobs[i].ntasks ? submit_one(dev, &jobs[i]) : -EINVAL;
	return ret;
}
