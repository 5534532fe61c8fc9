// SPDX-License-Identifier: GPL-2.0-only
/* What the fuzzer sends to the node named "rocket". */
#define _GNU_SOURCE
#include <string.h>

#include <drm.h>

#include "rknpu_fuzz.h"

/* Sometimes with an argument that is elsewhere. */
static int call(unsigned int f, unsigned long request, void *arg)
{
	return rk_ioctl(cl()->fd[f], request, one_in(30) ? (void *)(uintptr_t)pointer() : arg);
}

struct bo *some_bo(unsigned int f)
{
	struct bo *bo = &cl()->bo[f][below(BOS)];

	for (int i = 0; i < 8 && !bo->handle; i++)
		bo = &cl()->bo[f][below(BOS)];
	return bo;
}

uint32_t some_handle(unsigned int f)
{
	switch (below(8)) {
	case 0:
		return number();
	case 1:
		return cl()->bo[(f + 1) % FILES][below(BOS)].handle;
	case 2:
		return cl()->in[f].handle;
	default:
		return some_bo(f)->handle;
	}
}

int fuzz_create(unsigned int f)
{
	struct drm_rocket_create_bo c = { .size = 1 + below(64 << 10) };
	struct bo *bo = &cl()->bo[f][below(BOS)];
	int ret;

	if (one_in(4))
		c.size = number();
	/* All the memory there is would starve the other client, and what is above is refused. */
	if (c.size <= 0x7ffff000)
		c.size &= 0xfffff;
	if (one_in(4)) {
		c.handle = number();
		c.dma_address = rnd();
		c.offset = rnd();
	}
	ret = rk_ioctl(cl()->fd[f], DRM_IOCTL_ROCKET_CREATE_BO,
		       one_in(20) ? (void *)(uintptr_t)pointer() : &c);
	if (!ret && c.handle) {
		rk_gem_close(cl()->fd[f], bo->handle);
		*bo = (struct bo) { c.handle, c.size, c.dma_address, c.offset };
	}
	return ret;
}

static void fuzz_job(unsigned int f, struct drm_rocket_job *job, unsigned int slot)
{
	struct drm_rocket_task *tasks = (void *)(self->arena + 1024 + slot * 256);
	uint32_t *in = (void *)(self->arena + 4096 + slot * 128);
	uint32_t *out = in + 16;
	unsigned int ntasks = 1 + below(8), nin = below(4), nout = 1 + below(4);

	for (unsigned int i = 0; i < ntasks; i++) {
		const struct bo *bo = some_bo(f);

		tasks[i] = cl()->task[f];
		if (one_in(6))
			tasks[i].regcmd = bo->iova + 16 * below(256);
		if (one_in(60))
			tasks[i].regcmd = number();
		if (one_in(60))
			tasks[i].regcmd_count = number();
	}
	for (unsigned int i = 0; i < nin; i++)
		in[i] = one_in(30) ? some_handle(f) : cl()->in[f].handle;
	for (unsigned int i = 0; i < nout; i++)
		out[i] = one_in(30) ? some_handle(f) : cl()->op[f].bo.handle;
	rk_job(job, tasks, ntasks, in, nin, out, nout);
	if (!one_in(4))
		return;
	switch (below(7)) {
	case 0:
		job->tasks = pointer();
		break;
	case 1:
		job->in_bo_handles = pointer();
		break;
	case 2:
		job->out_bo_handles = pointer();
		break;
	case 3:
		job->task_count = number();
		break;
	case 4:
		job->task_struct_size = number();
		break;
	case 5:
		job->in_bo_handle_count = number();
		break;
	case 6:
		job->out_bo_handle_count = number();
		break;
	}
}

int fuzz_submit(unsigned int f)
{
	struct drm_rocket_job *jobs = (void *)self->arena;
	unsigned int njobs = 1 + below(6);
	struct drm_rocket_submit s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
	};

	for (unsigned int i = 0; i < njobs; i++)
		fuzz_job(f, &jobs[i], i);
	if (one_in(5)) {
		switch (below(4)) {
		case 0:
			s.jobs = pointer();
			break;
		case 1:
			s.job_count = number();
			break;
		case 2:
			s.job_struct_size = number();
			break;
		case 3:
			s.reserved = edge();
			break;
		}
	}
	return call(f, DRM_IOCTL_ROCKET_SUBMIT, &s);
}

/* An array of syncobjs behind the handles of a job. */
static uint64_t fuzz_syncs(unsigned int f, unsigned int slot, uint32_t *count)
{
	struct drm_rocket_sync *sync = (void *)(self->arena + 6144 + slot * 64);

	*count = below(4);
	for (unsigned int i = 0; i < *count; i++)
		sync[i] = (struct drm_rocket_sync) {
			.handle = one_in(10) ? number() : cl()->sync[f][below(SYNCS)],
			.flags = one_in(20) ? number() : 0,
			.point = one_in(4) ? one_in(2) ? edge() : below(100) : 0,
		};
	return one_in(20) ? pointer() : (uintptr_t)sync;
}

static void fuzz_job_ext(unsigned int f, struct drm_rocket_job_ext *e, unsigned int slot)
{
	struct drm_rocket_job job;

	fuzz_job(f, &job, slot);
	memset(e, 0, sizeof(*e));
	memcpy(e, &job, sizeof(job));
	/* A task that hangs keeps a core for so long, and the other clients wait. */
	e->timeout_ns = one_in(20) ? 60000 * RK_MS + 1 + below(1000) : below(150) * RK_MS;
	if (one_in(3))
		e->flags = one_in(4) ? number() : below(8);
	if (one_in(3))
		e->core_mask = one_in(4) ? number() : below(8);
	if (one_in(3))
		e->priority = one_in(4) ? number() : below(4);
	if (one_in(4))
		e->in_syncs = fuzz_syncs(f, 2 * slot, &e->in_sync_count);
	if (one_in(4))
		e->out_syncs = fuzz_syncs(f, 2 * slot + 1, &e->out_sync_count);
	e->sync_struct_size = one_in(20) ? number() : sizeof(struct drm_rocket_sync);
	if (one_in(40))
		e->in_sync_count = number();
	if (one_in(40))
		e->pad = number();
	if (one_in(40))
		e->reserved = number();
}

int fuzz_submit_ext(unsigned int f)
{
	struct drm_rocket_job_ext *jobs = (void *)self->arena;
	unsigned int njobs = 1 + below(6);
	struct drm_rocket_submit_ext s = {
		.jobs = (uintptr_t)jobs, .job_count = njobs, .job_struct_size = sizeof(*jobs),
		.first_job = rnd(),
	};

	for (unsigned int i = 0; i < njobs; i++)
		fuzz_job_ext(f, &jobs[i], i);
	if (one_in(8)) {
		switch (below(5)) {
		case 0:
			s.jobs = pointer();
			break;
		case 1:
			s.job_count = number();
			break;
		case 2:
			s.job_struct_size = one_in(2) ? 40 + 8 * below(8) : number();
			break;
		case 3:
			s.flags = number();
			break;
		case 4:
			s.reserved = number();
			break;
		}
	}
	return call(f, DRM_IOCTL_ROCKET_SUBMIT_EXT, &s);
}

/* Not for long: it may be a job that never ends. */
static int64_t fuzz_deadline(void)
{
	int64_t deadline = one_in(4) ? (int64_t)edge() : rk_now() + below(50 * RK_MS);

	return deadline > rk_now() + 2000 * RK_MS ? rk_now() + 200 * RK_MS : deadline;
}

int fuzz_wait_job(unsigned int f)
{
	struct drm_rocket_wait_job w = { .timeout_ns = fuzz_deadline() };

	w.job = one_in(8) ? edge() : rk_last_job(cl()->fd[f]) - below(20);
	w.flags = one_in(20) ? number() : 0;
	return call(f, DRM_IOCTL_ROCKET_WAIT_JOB, &w);
}

int fuzz_param(unsigned int f)
{
	struct drm_rocket_get_param p = {
		.param = one_in(8) ? number() : below(26), .index = one_in(4) ? number() : 0,
		.value = rnd(),
	};

	return call(f, DRM_IOCTL_ROCKET_GET_PARAM, &p);
}

int fuzz_bo_info(unsigned int f)
{
	struct drm_rocket_bo_info i = {
		.handle = some_handle(f), .reserved = one_in(10) ? rnd() : 0,
	};

	return call(f, DRM_IOCTL_ROCKET_GET_BO_INFO, &i);
}

int fuzz_ranges(unsigned int f)
{
	struct drm_rocket_bo_range *r = (void *)(self->arena + 5120);
	struct drm_rocket_prep_bo_ranges p = {
		.handle = some_handle(f), .range_count = below(8),
		.timeout_ns = fuzz_deadline(), .reserved = one_in(20) ? number() : 0,
	};
	struct drm_rocket_fini_bo_ranges n;
	uint64_t at = 0;

	for (unsigned int i = 0; i < p.range_count; i++, at += 64) {
		r[i].offset = one_in(20) ? edge() : at + below(32);
		r[i].size = one_in(20) ? edge() : 1 + below(32);
	}
	p.ranges = one_in(20) ? pointer() : (uintptr_t)r;
	if (one_in(20))
		p.range_count = number();
	n = (struct drm_rocket_fini_bo_ranges) {
		.handle = p.handle, .range_count = p.range_count, .ranges = p.ranges,
		.reserved = p.reserved,
	};
	if (one_in(2))
		return call(f, DRM_IOCTL_ROCKET_FINI_BO_RANGES, &n);
	return call(f, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p);
}

int fuzz_syncobj(unsigned int f)
{
	uint32_t *sync = &cl()->sync[f][below(SYNCS)];
	struct drm_syncobj_create c = { .flags = below(2) };
	struct drm_syncobj_destroy d = { .handle = *sync };
	int ret;

	if (*sync && one_in(2))
		rk_ioctl(cl()->fd[f], DRM_IOCTL_SYNCOBJ_DESTROY, &d);
	ret = rk_ioctl(cl()->fd[f], DRM_IOCTL_SYNCOBJ_CREATE, &c);
	if (!ret)
		*sync = c.handle;
	return ret;
}

int fuzz_prep(unsigned int f)
{
	struct drm_rocket_prep_bo p = {
		.handle = some_handle(f),
		.reserved = one_in(10) ? number() : 0,
		.timeout_ns = fuzz_deadline(),
	};

	return call(f, DRM_IOCTL_ROCKET_PREP_BO, &p);
}

int fuzz_fini(unsigned int f)
{
	struct drm_rocket_fini_bo p = {
		.handle = some_handle(f), .reserved = one_in(10) ? number() : 0,
	};

	return call(f, DRM_IOCTL_ROCKET_FINI_BO, &p);
}

int fuzz_close(unsigned int f)
{
	struct bo *bo = &cl()->bo[f][below(BOS)];

	return rk_gem_close(cl()->fd[f], one_in(3) ? some_handle(f) : bo->handle);
}
