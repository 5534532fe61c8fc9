// SPDX-License-Identifier: GPL-2.0-only
/* BOs, the operation that tests run, jobs of it; and BOs and fences of vgem. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dma-buf.h>

#include "rknpu_util.h"

/* ---- buffers ---- */

int rk_bo_init(struct rk_bo *bo, int fd, uint32_t size)
{
	struct drm_rocket_create_bo c = { .size = size };
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_CREATE_BO, &c);
	void *p;

	memset(bo, 0, sizeof(*bo));
	if (ret)
		return ret;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, c.offset);
	if (p == MAP_FAILED) {
		ret = -errno;
		rk_gem_close(fd, c.handle);
		return ret;
	}
	*bo = (struct rk_bo) {
		.fd = fd, .handle = c.handle, .size = size,
		.iova = c.dma_address, .offset = c.offset, .map = p,
	};
	return 0;
}

void rk_bo_fini(struct rk_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->handle)
		rk_gem_close(bo->fd, bo->handle);
	memset(bo, 0, sizeof(*bo));
}

int rk_create_bo(int fd, uint32_t size, uint32_t *handle)
{
	struct drm_rocket_create_bo c = { .size = size };
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_CREATE_BO, &c);

	*handle = c.handle;
	return ret;
}

int rk_take_memory(int fd, uint32_t largest)
{
	uint32_t handle;
	int ret = -ENOMEM;

	for (uint32_t size = largest; size >= RK_PAGE && ret == -ENOMEM; size /= 2) {
		do
			ret = rk_create_bo(fd, size, &handle);
		while (!ret);
	}
	return ret;
}

int rk_gem_close(int fd, uint32_t handle)
{
	/* drmCloseBufferHandle() is newer than Debian 11's libdrm. */
	return drmIoctl(fd, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close) { .handle = handle }) ? -errno : 0;
}

int rk_export(int fd, uint32_t handle)
{
	int buf;

	return drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | DRM_RDWR, &buf) ? -errno : buf;
}

int rk_dmabuf_sync(int buf, uint64_t flags)
{
	struct dma_buf_sync s = { .flags = flags };

	return rk_ioctl(buf, DMA_BUF_IOCTL_SYNC, &s);
}

/* udmabuf maps in the direction of the first access, and DMA_API_DEBUG minds others in another one. */
int rk_dmabuf_write(int buf, void *map, const void *from, size_t n)
{
	int ret = rk_dmabuf_sync(buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);

	if (ret)
		return ret;
	memcpy(map, from, n);
	return rk_dmabuf_sync(buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
}

int rk_prep_until(int fd, uint32_t handle, int64_t deadline)
{
	struct drm_rocket_prep_bo p = { .handle = handle, .timeout_ns = deadline };

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_PREP_BO, &p);
}

int rk_prep(const struct rk_bo *bo, int64_t timeout_ms)
{
	int ret = rk_prep_until(bo->fd, bo->handle, rk_now() + timeout_ms * rk_slow() * RK_MS);

	if (ret)
		rk_tell_hangs();
	return ret;
}

int rk_fini(const struct rk_bo *bo)
{
	struct drm_rocket_fini_bo f = { .handle = bo->handle };

	return rk_ioctl(bo->fd, DRM_IOCTL_ROCKET_FINI_BO, &f);
}

int rk_bo_fill(struct rk_bo *bo, int value, size_t n)
{
	memset(bo->map, value, n);
	return rk_fini(bo);
}

long rk_bo_differs(struct rk_bo *bo, int value, size_t n)
{
	long wrong = 0;
	int ret = rk_prep(bo, 25000);

	if (ret)
		return ret;
	for (size_t i = 0; i < n; i++)
		wrong += bo->map[i] != (uint8_t)value;
	return wrong;
}

/* ---- jobs ---- */

#define OP_SIZE		(64u << 10)
#define OP_BIAS		RK_PAGE
void rk_diagonal(int8_t *weights, int gain, int32_t *biases, int bias)
{
	memset(weights, 0, RK_CHANNELS * RK_CHANNELS);
	for (unsigned int i = 0; i < RK_CHANNELS; i++) {
		weights[i * RK_CHANNELS + i] = gain;
		biases[i] = bias;
	}
}

int rk_op_init(struct rk_op *op, int fd, uint32_t m, int gain, int bias)
{
	int ret = rk_bo_init(&op->bo, fd, OP_SIZE);

	if (ret)
		return ret;
	rk_diagonal((int8_t *)op->bo.map, gain, (int32_t *)(op->bo.map + OP_BIAS), bias);
	op->m = m;
	op->bias = bias;
	op->used = RK_OP_PROG;
	return rk_fini(&op->bo);
}

int rk_op_task(struct rk_op *op, uint64_t in, uint64_t out, struct drm_rocket_task *task)
{
	const struct rk_product p = {
		.m = op->m, .k = RK_CHANNELS, .in = in, .weights = op->bo.iova, .out = out,
		.bias = op->bo.iova + OP_BIAS,
	};

	if (op->used + RK_PROGRAM_ENTRIES * sizeof(uint64_t) > OP_SIZE)
		return -ENOSPC;
	task->regcmd = op->bo.iova + op->used;
	task->regcmd_count = rk_program((uint64_t *)(op->bo.map + op->used), &p);
	op->used += (task->regcmd_count * sizeof(uint64_t) + 63) & ~(size_t)63;
	return rk_fini(&op->bo);
}

void rk_op_fini(struct rk_op *op)
{
	rk_bo_fini(&op->bo);
}

void rk_job(struct drm_rocket_job *job, const struct drm_rocket_task *tasks, uint32_t ntasks,
	    const uint32_t *in, uint32_t nin, const uint32_t *out, uint32_t nout)
{
	*job = (struct drm_rocket_job) {
		.tasks = (uintptr_t)tasks, .task_count = ntasks,
		.task_struct_size = sizeof(*tasks),
		.in_bo_handles = (uintptr_t)in, .in_bo_handle_count = nin,
		.out_bo_handles = (uintptr_t)out, .out_bo_handle_count = nout,
	};
}

int rk_submit(int fd, const struct drm_rocket_job *jobs, uint32_t njobs)
{
	struct drm_rocket_submit s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
	};

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT, &s);
}

int rk_submit_task(int fd, const struct drm_rocket_task *task,
		   const struct rk_bo *in, const struct rk_bo *out)
{
	struct drm_rocket_job job;

	rk_job(&job, task, 1, &in->handle, 1, &out->handle, 1);
	return rk_submit(fd, &job, 1);
}

int rk_submit_op(struct rk_op *op, const struct rk_bo *in, const struct rk_bo *out)
{
	struct drm_rocket_task task;
	int ret = rk_op_task(op, in->iova, out->iova, &task);

	return ret ? ret : rk_submit_task(op->bo.fd, &task, in, out);
}

/* The registers that a program's last commands set for the next one. */
#define PC_REGISTER_AMOUNTS	0x14
#define PC_COMMAND(reg, value)	(0x0101ull << 48 | (uint64_t)(value) << 16 | (reg))

void rk_chain(struct rk_op *op, const struct drm_rocket_task *t, const struct drm_rocket_task *next)
{
	uint64_t *tail = (uint64_t *)(op->bo.map + (t->regcmd - op->bo.iova)) + t->regcmd_count - 4;

	tail[0] = PC_COMMAND(PC_BASE_ADDRESS, next->regcmd);
	tail[1] = PC_COMMAND(PC_REGISTER_AMOUNTS, (next->regcmd_count + 1) / 2 - 1);
}

void rk_job_ext(struct drm_rocket_job_ext *job, const struct drm_rocket_task *tasks,
		uint32_t ntasks, const struct rk_bo *in, const struct rk_bo *out)
{
	*job = (struct drm_rocket_job_ext) {
		.tasks = (uintptr_t)tasks, .task_count = ntasks,
		.task_struct_size = sizeof(*tasks),
		.sync_struct_size = sizeof(struct drm_rocket_sync),
	};
	if (in) {
		job->in_bo_handles = (uintptr_t)&in->handle;
		job->in_bo_handle_count = 1;
	}
	if (out) {
		job->out_bo_handles = (uintptr_t)&out->handle;
		job->out_bo_handle_count = 1;
	}
}

int rk_submit_ext(int fd, const struct drm_rocket_job_ext *jobs, uint32_t njobs, uint64_t *first)
{
	struct drm_rocket_submit_ext s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
	};
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &s);

	if (!ret && first)
		*first = s.first_job;
	return ret;
}

int rk_wait_job(int fd, uint64_t job, int64_t deadline, struct drm_rocket_wait_job *w)
{
	*w = (struct drm_rocket_wait_job) { .job = job, .timeout_ns = deadline };
	return rk_ioctl(fd, DRM_IOCTL_ROCKET_WAIT_JOB, w);
}

static bool knows_job(int fd, uint64_t job)
{
	struct drm_rocket_wait_job w = { .job = job };

	return rk_ioctl(fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w) != -ENOENT;
}

uint64_t rk_last_job(int fd)
{
	uint64_t count = rk_param(fd, DRM_ROCKET_PARAM_RESULT_COUNT);
	uint64_t known = 1, unknown;

	if (!count)
		return 0;
	while (!knows_job(fd, known) && known < 1000 * count)
		known += count;
	if (!knows_job(fd, known))
		return 0;
	for (unknown = known + count; unknown - known > 1;) {
		uint64_t middle = known + (unknown - known) / 2;

		if (knows_job(fd, middle))
			known = middle;
		else
			unknown = middle;
	}
	return known;
}

int rk_get_param(int fd, uint32_t which, uint32_t index, uint64_t *value)
{
	struct drm_rocket_get_param p = { .param = which, .index = index };
	int ret = rk_ioctl(fd, DRM_IOCTL_ROCKET_GET_PARAM, &p);

	*value = p.value;
	return ret;
}

uint64_t rk_param(int fd, uint32_t which)
{
	uint64_t value;

	return rk_get_param(fd, which, 0, &value) ? 0 : value;
}

/* ---- vgem ---- */

struct vgem_attach {
	uint32_t handle, flags, fence, pad;
};

struct vgem_signal {
	uint32_t fence, flags;
};

#define VGEM_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, struct vgem_attach)
#define VGEM_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, struct vgem_signal)

int rk_vgem_open(void)
{
	glob_t g = { 0 };
	int fd = -1;

	glob("/dev/dri/card*", 0, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && fd < 0; i++) {
		fd = open(g.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !rk_is_driver(fd, "vgem")) {
			close(fd);
			fd = -1;
		}
	}
	globfree(&g);
	return fd;
}

int rk_vgem_create(int vgem, uint32_t *handle)
{
	struct drm_mode_create_dumb c = { .width = 1024, .height = 1, .bpp = 32 };
	int ret = rk_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &c);

	*handle = c.handle;
	return ret;
}

uint32_t rk_vgem_begin(int vgem, uint32_t handle, uint32_t flags)
{
	struct vgem_attach a = { .handle = handle, .flags = flags };

	return rk_ioctl(vgem, VGEM_ATTACH, &a) ? 0 : a.fence;
}

int rk_vgem_end(int vgem, uint32_t fence)
{
	struct vgem_signal s = { .fence = fence };

	return rk_ioctl(vgem, VGEM_SIGNAL, &s);
}
