// SPDX-License-Identifier: MIT
/*
 * Runs a captured job over either interface, whichever it was recorded on.
 *
 * rocket runs each slice as a job of its own, chained if the driver can, else task by task.
 * The vendor's interface runs chains as they are, and what was not chained as one submit
 * for each task.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xf86drm.h>

#include "drm/rknpu_drm.h"
#include "drm/rocket_accel.h"
#include "replay.h"

#define TAIL		4u
#define TIMEOUT_MS	60000u

void replay_job_skip(const struct cap_job *job, struct cap_cursor *c)
{
	const struct cap_task *t;

	for (uint32_t i = 0; i < job->slices; i++)
		cap_submit_slice(c, &t);
}

static const uint64_t *program(struct replay *r, const struct cap_task *t)
{
	return (const void *)(r->bo[t->bo].map + t->offset);
}

/* What the end of a task is told by. */
static uint32_t task_ints(struct replay *r, const struct cap_task *t)
{
	struct cap_image im = { .chip = r->chip };

	cap_image_run(&im, program(r, t), t->entries);
	return im.enable & NPU_EN_PPU ? NPU_IRQ_PPU : NPU_IRQ_DPU;
}

/* ---- rocket ---- */

struct rocket_bos {
	struct npu_bo **in, **out;
	uint32_t nin, nout;
};

static void free_bos(struct rocket_bos *b)
{
	free(b->in);
	free(b->out);
}

static int collect_bos(struct replay *r, const struct cap_submit *s, const struct cap_use *use,
		       struct rocket_bos *b)
{
	memset(b, 0, sizeof(*b));
	b->in = calloc(s->uses + 1, sizeof(*b->in));
	b->out = calloc(s->uses + 1, sizeof(*b->out));
	if (!b->in || !b->out) {
		free_bos(b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->uses; i++) {
		struct npu_bo *bo = r->bo[use[i].bo].bo;

		if (use[i].use & CAP_USE_WRITE)
			b->out[b->nout++] = bo;
		else
			b->in[b->nin++] = bo;
	}
	/* A job that writes none: there must be something to wait by. */
	if (!b->nout && b->nin)
		b->out[b->nout++] = b->in[--b->nin];
	return 0;
}

static uint32_t rocket_flags(struct replay *r, const struct cap_job *job, const struct cap_task *t,
			     uint32_t n)
{
	uint32_t flags = 0;

	if (job->flags & CAP_JOB_CHAINED && n > 1 && r->version.minor >= 1)
		flags |= DRM_ROCKET_JOB_BATCHED;
	if (task_ints(r, &t[n - 1]) == NPU_IRQ_PPU && r->version.minor >= 3)
		flags |= DRM_ROCKET_JOB_PPU_DONE;
	return flags;
}

/* libnpu says flags only by the call that mainline's driver does not have. */
static int rocket_slice(struct replay *r, const struct cap_job *job, const struct rocket_bos *b,
			const struct cap_slice *sl, const struct cap_task *t)
{
	uint32_t n = sl->tasks;
	struct npu_task *task = calloc(n, sizeof(*task));
	struct npu_hwjob hw = {
		.tasks = task, .ntasks = n, .in = b->in, .nin = b->nin, .out = b->out,
		.nout = b->nout,
	};
	struct npu_job_opts opts = { .core_mask = sl->core_mask, .timeout_ns = r->timeout_ns };
	uint64_t first;
	int ret;

	if (!task)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		task[i].regcmd = (uint32_t)(r->bo[t[i].bo].bo->iova + t[i].offset);
		task[i].count = t[i].entries;
	}
	if (r->timeout_ns || opts.core_mask) {
		opts.flags = rocket_flags(r, job, t, n);
		ret = npu_submit_ext(r->dev, &hw, &opts, 1, &first);
	} else {
		ret = npu_submit(r->dev, &hw, 1);
	}
	free(task);
	return ret;
}

static int rocket_wait(const struct rocket_bos *b)
{
	int ret = 0;

	for (uint32_t i = 0; i < b->nout; i++) {
		int err = npu_bo_prep(b->out[i], -1);

		ret = ret ? ret : err;
	}
	return ret;
}

static int rocket_job(struct replay *r, const struct cap_submit *s, const struct cap_use *use,
		      const struct cap_job *job, struct cap_cursor *c)
{
	const struct cap_task *t;
	struct rocket_bos b;
	int ret = collect_bos(r, s, use, &b), end;

	if (ret)
		return ret;
	for (uint32_t i = 0; i < job->slices; i++) {
		const struct cap_slice *sl = cap_submit_slice(c, &t);

		if (!ret)
			ret = rocket_slice(r, job, &b, sl, t);
	}
	end = rocket_wait(&b);
	free_bos(&b);
	return ret ? ret : end;
}

/* ---- vendor ---- */

/* Restarted after a signal. */
static int call(struct replay *r, unsigned long req, void *arg)
{
	return drmIoctl(npu_fd(r->dev), req, arg) ? -errno : 0;
}

static void destroy(struct replay *r, uint32_t handle, uint64_t obj)
{
	struct drm_rknpu_mem_destroy d = { .handle = handle, .obj_addr = obj };

	call(r, DRM_IOCTL_RKNPU_MEM_DESTROY, &d);
}

void replay_job_free(struct replay *r)
{
	if (!r->task_room)
		return;
	munmap(r->task_map, r->task_room * sizeof(struct drm_rknpu_task));
	destroy(r, r->task_handle, r->task_obj);
	r->task_room = 0;
}

static int task_buffer(struct replay *r, uint32_t n)
{
	uint64_t size = (n * sizeof(struct drm_rknpu_task) + 4095) & ~UINT64_C(4095);
	struct drm_rknpu_mem_create c = {
		.flags = DRM_RKNPU_MEM_NON_CONTIGUOUS | DRM_RKNPU_MEM_CACHEABLE |
			 DRM_RKNPU_MEM_KERNEL_MAPPING | DRM_RKNPU_MEM_LIMIT_IOVA_ALIGNMENT,
		.size = size,
	};
	struct drm_rknpu_mem_map m = { 0 };
	int ret;

	if (n <= r->task_room)
		return 0;
	replay_job_free(r);
	ret = call(r, DRM_IOCTL_RKNPU_MEM_CREATE, &c);
	if (ret)
		return ret;
	m.handle = c.handle;
	ret = call(r, DRM_IOCTL_RKNPU_MEM_MAP, &m);
	r->task_map = ret ? MAP_FAILED : mmap64(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, npu_fd(r->dev),
						(off64_t)m.offset);
	if (r->task_map == MAP_FAILED) {
		ret = ret ? ret : -errno;
		destroy(r, c.handle, c.obj_addr);
		return ret;
	}
	r->task_handle = c.handle;
	r->task_obj = c.obj_addr;
	r->task_room = (uint32_t)(size / sizeof(struct drm_rknpu_task));
	return 0;
}

static void fill_task(struct replay *r, uint32_t i, const struct cap_task *t)
{
	struct drm_rknpu_task v = {
		.enable_mask = 0xd, .int_mask = task_ints(r, t), .int_clear = NPU_IRQ_ALL,
		.regcfg_amount = t->entries > TAIL ? t->entries - TAIL : 0,
		.regcmd_addr = r->bo[t->bo].bo->iova + t->offset,
	};

	memcpy((uint8_t *)r->task_map + i * sizeof(v), &v, sizeof(v));
}

/* Slices of tasks that are in the task buffer one behind the other; a single one is for @core_mask, 0 = any. */
static int vendor_submit(struct replay *r, const uint32_t *count, uint32_t slices, uint32_t core_mask)
{
	struct drm_rknpu_mem_sync sync = {
		.flags = DRM_RKNPU_MEM_SYNC_TO_DEVICE, .obj_addr = r->task_obj,
		.size = r->task_room * sizeof(struct drm_rknpu_task) & ~UINT64_C(4095),
	};
	struct drm_rknpu_submit s = {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = TIMEOUT_MS,
		.task_obj_addr = r->task_obj, .fence_fd = -1,
	};
	uint32_t start = 0;
	int ret;

	sync.size = sync.size ? sync.size : 4096;
	ret = call(r, DRM_IOCTL_RKNPU_MEM_SYNC, &sync);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < slices; i++) {
		struct drm_rknpu_subcore_task range = { start, count[i] };

		/* Whichever core runs a single one; uapi/drm/rknpu_drm.h has the elements. */
		for (int j = 0; j < 3 && slices == 1; j++)
			s.subcore_task[j] = range;
		s.subcore_task[slices == 3 ? 2 + i : i] = range;
		start += count[i];
	}
	s.core_mask = slices == 1 ? core_mask : slices == 2 ? 3 : 7;
	s.task_number = start;
	return call(r, DRM_IOCTL_RKNPU_SUBMIT, &s);
}

static int vendor_one_by_one(struct replay *r, const struct cap_slice *sl, const struct cap_task *t)
{
	uint32_t one = 1;
	int ret = task_buffer(r, 1);

	for (uint32_t i = 0; i < sl->tasks && !ret; i++) {
		fill_task(r, 0, &t[i]);
		ret = vendor_submit(r, &one, 1, sl->core_mask);
	}
	return ret;
}

static int vendor_job(struct replay *r, const struct cap_job *job, struct cap_cursor *c)
{
	const struct cap_task *t[CAP_SLICES_MAX];
	const struct cap_slice *sl[CAP_SLICES_MAX];
	uint32_t count[CAP_SLICES_MAX], total = 0;
	int ret = 0;

	for (uint32_t i = 0; i < job->slices; i++) {
		sl[i] = cap_submit_slice(c, &t[i]);
		count[i] = sl[i]->tasks;
		total += count[i];
	}
	if (!(job->flags & CAP_JOB_CHAINED)) {
		for (uint32_t i = 0; i < job->slices && !ret; i++)
			ret = vendor_one_by_one(r, sl[i], t[i]);
		return ret;
	}
	ret = task_buffer(r, total);
	if (ret)
		return ret;
	total = 0;
	for (uint32_t i = 0; i < job->slices; i++) {
		for (uint32_t k = 0; k < count[i]; k++)
			fill_task(r, total++, &t[i][k]);
	}
	return vendor_submit(r, count, job->slices, sl[0]->core_mask);
}

int replay_job(struct replay *r, const struct cap_submit *s, const struct cap_use *use,
	       const struct cap_job *job, struct cap_cursor *c)
{
	return r->vendor ? vendor_job(r, job, c) : rocket_job(r, s, use, job, c);
}
