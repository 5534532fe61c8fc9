// SPDX-License-Identifier: MIT
/*
 * Queueing jobs, in the plainest call that can say what there is to say.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xf86drm.h>

#include "drm/rocket_accel.h"
#include "npu_vendor.h"

_Static_assert(sizeof(struct npu_sync) == sizeof(struct drm_rocket_sync) &&
	       offsetof(struct npu_sync, zero) == offsetof(struct drm_rocket_sync, flags) &&
	       offsetof(struct npu_sync, point) == offsetof(struct drm_rocket_sync, point),
	       "passed on as it is");

/* Everything one SUBMIT points to, in one allocation per kind. */
struct submission {
	struct drm_rocket_job_ext *job;
	struct drm_rocket_task *task;
	uint32_t *handle;
};

static int submission_alloc(struct submission *s, const struct npu_hwjob *jobs, uint32_t n)
{
	size_t tasks = 0, handles = 0;

	for (uint32_t i = 0; i < n; i++) {
		tasks += jobs[i].ntasks;
		handles += (size_t)jobs[i].nin + jobs[i].nout;
	}
	s->job = calloc(n ? n : 1, sizeof(*s->job));
	s->task = calloc(tasks ? tasks : 1, sizeof(*s->task));
	s->handle = calloc(handles ? handles : 1, sizeof(*s->handle));
	return s->job && s->task && s->handle ? 0 : -ENOMEM;
}

static uint32_t *fill_handles(uint32_t *h, struct npu_bo *const *bo, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		*h++ = bo[i]->handle;
	return h;
}

static void submission_fill(struct submission *s, const struct npu_hwjob *jobs, uint32_t n)
{
	struct drm_rocket_task *task = s->task;
	uint32_t *handle = s->handle;

	for (uint32_t i = 0; i < n; i++) {
		struct drm_rocket_job_ext *j = &s->job[i];

		j->tasks = (uintptr_t)task;
		j->task_count = jobs[i].ntasks;
		j->task_struct_size = sizeof(*task);
		for (uint32_t t = 0; t < jobs[i].ntasks; t++, task++) {
			task->regcmd = jobs[i].tasks[t].regcmd;
			task->regcmd_count = jobs[i].tasks[t].count;
		}
		j->in_bo_handles = (uintptr_t)handle;
		j->in_bo_handle_count = jobs[i].nin;
		handle = fill_handles(handle, jobs[i].in, jobs[i].nin);
		j->out_bo_handles = (uintptr_t)handle;
		j->out_bo_handle_count = jobs[i].nout;
		handle = fill_handles(handle, jobs[i].out, jobs[i].nout);
	}
}

static void submission_add_opts(struct submission *s, const struct npu_job_opts *opts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct drm_rocket_job_ext *j = &s->job[i];

		j->flags = opts[i].flags;
		j->core_mask = opts[i].core_mask;
		j->priority = opts[i].priority;
		j->timeout_ns = opts[i].timeout_ns;
		j->tag = opts[i].tag;
		j->in_syncs = (uintptr_t)opts[i].wait;
		j->in_sync_count = opts[i].nwait;
		j->out_syncs = (uintptr_t)opts[i].signal;
		j->out_sync_count = opts[i].nsignal;
		j->sync_struct_size = sizeof(struct drm_rocket_sync);
	}
}

static void submission_free(struct submission *s)
{
	free(s->job);
	free(s->task);
	free(s->handle);
}

static bool any_flags(const struct submission *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (s->job[i].flags)
			return true;
	return false;
}

/* Mainline's structs, of 1.0 and with flags of 1.1, are how the longer one begins. */
static int submit_plain(struct npu_dev *dev, const struct submission *s, uint32_t n)
{
	const size_t size = any_flags(s, n) ? sizeof(struct drm_rocket_job) :
					      offsetof(struct drm_rocket_job, flags);
	struct drm_rocket_submit req = { .job_count = n, .job_struct_size = size };
	uint8_t *plain = calloc(n ? n : 1, size);
	int ret;

	if (!plain)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		memcpy(plain + i * size, &s->job[i], size);
	req.jobs = (uintptr_t)plain;
	ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_ROCKET_SUBMIT, &req));
	free(plain);
	return ret;
}

static int submit_ext(struct npu_dev *dev, const struct submission *s, uint32_t n, uint64_t *first)
{
	struct drm_rocket_submit_ext req = {
		.jobs = (uintptr_t)s->job, .job_count = n, .job_struct_size = sizeof(*s->job),
	};
	int ret = npu_errno(drmIoctl(npu_fd(dev), DRM_IOCTL_ROCKET_SUBMIT_EXT, &req));

	if (!ret)
		*first = req.first_job;
	return ret;
}

/* Elsewhere their handles mean nothing, or other buffers. */
static bool all_of(const struct npu_dev *dev, struct npu_bo *const *bo, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (bo[i]->dev != dev)
			return false;
	return true;
}

static int check_buffers(const struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs)
{
	for (uint32_t i = 0; i < njobs; i++)
		if (!all_of(dev, jobs[i].in, jobs[i].nin) || !all_of(dev, jobs[i].out, jobs[i].nout))
			return -EXDEV;
	return 0;
}

int npu_submit(struct npu_dev *dev, const struct npu_hwjob *jobs, uint32_t njobs)
{
	struct submission s;
	int ret = check_buffers(dev, jobs, njobs);

	if (ret)
		return ret;
	if (npu_is_vendor(dev))
		return npu_vendor_submit(dev, jobs, njobs);
	ret = submission_alloc(&s, jobs, njobs);
	if (!ret) {
		submission_fill(&s, jobs, njobs);
		ret = submit_plain(dev, &s, njobs);
	}
	submission_free(&s);
	return ret;
}

bool npu_can_batch(const struct npu_dev *dev)
{
	struct npu_version v = { .size = sizeof(v) };

	if (npu_dev_features(dev))
		return npu_dev_features(dev) & DRM_ROCKET_FEATURE_BATCHED;
	if (npu_is_vendor(dev) || npu_version(dev, &v))
		return false;
	return v.major > 1 || (v.major == 1 && v.minor >= 1);
}

static bool batched(const struct npu_job_opts *opts, uint32_t n)
{
	for (uint32_t i = 0; opts && i < n; i++)
		if (opts[i].flags & DRM_ROCKET_JOB_BATCHED)
			return true;
	return false;
}

/* But for batches, which mainline has, too. */
static bool opts_say_anything(const struct npu_job_opts *opts, uint32_t n)
{
	for (uint32_t i = 0; opts && i < n; i++) {
		if (opts[i].flags & ~DRM_ROCKET_JOB_BATCHED || opts[i].core_mask || opts[i].priority ||
		    opts[i].timeout_ns || opts[i].nwait || opts[i].nsignal || opts[i].tag)
			return true;
	}
	return false;
}

/* What a driver without SUBMIT_EXT can do. */
static int submit_simple(struct npu_dev *dev, const struct npu_hwjob *jobs,
			 const struct npu_job_opts *opts, uint32_t njobs)
{
	struct submission s;
	int ret;

	if (opts_say_anything(opts, njobs) || (batched(opts, njobs) && !npu_can_batch(dev)))
		return -EOPNOTSUPP;
	if (!batched(opts, njobs))
		return npu_submit(dev, jobs, njobs);
	ret = submission_alloc(&s, jobs, njobs);
	if (!ret) {
		submission_fill(&s, jobs, njobs);
		submission_add_opts(&s, opts, njobs);
		ret = submit_plain(dev, &s, njobs);
	}
	submission_free(&s);
	return ret;
}

int npu_submit_ext(struct npu_dev *dev, const struct npu_hwjob *jobs,
		   const struct npu_job_opts *opts, uint32_t njobs, uint64_t *first)
{
	struct submission s;
	int ret = check_buffers(dev, jobs, njobs);

	if (ret)
		return ret;
	if (!(npu_dev_features(dev) & DRM_ROCKET_FEATURE_SUBMIT_EXT)) {
		ret = submit_simple(dev, jobs, opts, njobs);
		if (!ret)
			*first = 0;
		return ret;
	}
	ret = submission_alloc(&s, jobs, njobs);
	if (!ret) {
		submission_fill(&s, jobs, njobs);
		if (opts)
			submission_add_opts(&s, opts, njobs);
		ret = submit_ext(dev, &s, njobs, first);
	}
	submission_free(&s);
	return ret;
}
