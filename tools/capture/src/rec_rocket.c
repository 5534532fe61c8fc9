// SPDX-License-Identifier: MIT
/*
 * Follows the ioctls of the DRM driver "rocket", mainline's or ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/dma-buf.h>

#include "drm.h"
#include "drm/rocket_accel.h"
#include "rec.h"

#define NR(req)		((unsigned int)((req) & 0xff))
#define WAIT_S		600
/* What hardware owes has signalled by then. What has not may wait for the client. */
#define SETTLE_MS	1000

/* The most that a client may list, and its bytes; more is an error, and recorded as none. */
#define ARRAY_MAX	(1u << 20)
#define ARRAY_BYTES	(1u << 30)

/* A copy of an array of the client's, to be freed; NULL if there is none to be had. */
static void *copy_array(uint64_t from, uint32_t n, uint32_t size)
{
	void *to = n && n <= ARRAY_MAX && size <= ARRAY_BYTES / n ? malloc((size_t)n * size) : NULL;

	if (to && rec_copy(to, from, (size_t)n * size))
		return to;
	free(to);
	return NULL;
}

/* What both kinds of submit say of a job, however long the client's structs are. */
static struct drm_rocket_job_ext job_at(const uint8_t *jobs, uint32_t i, uint32_t size)
{
	struct drm_rocket_job_ext job;

	memset(&job, 0, sizeof(job));
	memcpy(&job, jobs + (size_t)i * size, size < sizeof(job) ? size : sizeof(job));
	return job;
}

static void use_handles(struct rec_file *f, uint64_t handles, uint32_t n, uint32_t use)
{
	uint32_t *h = copy_array(handles, n, sizeof(*h));

	for (uint32_t i = 0; h && i < n; i++)
		rec_submit_use(rec_bo_find(f, h[i]), use);
	free(h);
}

static void add_job(struct rec_file *f, struct rec_job *j, const struct drm_rocket_job_ext *job)
{
	uint8_t *tasks = copy_array(job->tasks, job->task_count, job->task_struct_size);
	struct cap_image im = { .chip = f->chip };

	if (!tasks || job->task_struct_size < sizeof(struct drm_rocket_task)) {
		free(tasks);
		j->good = false;
		return;
	}
	rec_job_head(j, 1, job->flags & DRM_ROCKET_JOB_BATCHED ? CAP_JOB_CHAINED : 0);
	rec_job_slice(j, f, job->core_mask, job->task_count);
	for (uint32_t i = 0; i < job->task_count && j->good; i++) {
		struct drm_rocket_task t;

		memcpy(&t, tasks + (size_t)i * job->task_struct_size, sizeof(t));
		rec_job_task(j, f, 0, 0, t.regcmd, t.regcmd_count, &im);
	}
	free(tasks);
	use_handles(f, job->in_bo_handles, job->in_bo_handle_count, CAP_USE_READ);
	use_handles(f, job->out_bo_handles, job->out_bo_handle_count, CAP_USE_WRITE);
}

/* A fence that is not the NPU's may signal only after this call: then nothing is waited for. */
static bool syncs_are_over(int fd, const struct drm_rocket_job_ext *job)
{
	uint32_t size = job->sync_struct_size;
	uint8_t *syncs = size < sizeof(struct drm_rocket_sync) ? NULL :
			 copy_array(job->in_syncs, job->in_sync_count, size);
	bool over = true;

	for (uint32_t i = 0; syncs && i < job->in_sync_count && over; i++) {
		struct drm_rocket_sync s;
		struct drm_syncobj_timeline_wait w = {
			.handles = (uintptr_t)&s.handle, .points = (uintptr_t)&s.point,
			.count_handles = 1, .flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
		};

		memcpy(&s, syncs + (size_t)i * size, sizeof(s));
		over = !rec_raw_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &w);
	}
	free(syncs);
	return over;
}

static int64_t wait_until(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec + WAIT_S) * 1000000000 + ts.tv_nsec;
}

/* A signal of the client's ends no wait of ours. */
static int wait_on(int fd, unsigned long req, void *arg)
{
	int ret;

	do {
		ret = rec_raw_ioctl(fd, req, arg);
	} while (ret && errno == EINTR);
	return ret;
}

static int prep(int fd, uint32_t handle, bool *known)
{
	struct drm_rocket_prep_bo p = { .handle = handle, .timeout_ns = wait_until() };
	int ret = wait_on(fd, DRM_IOCTL_ROCKET_PREP_BO, &p);

	if (ret && (errno == ETIMEDOUT || errno == EBUSY)) {
		*known = false;
		return 0;
	}
	return ret ? -errno : 0;
}

struct jobs {
	uint8_t *at;
	uint32_t n, size;
	uint64_t first;		/* number, or 0 if that is not known */
};

static int wait_for_number(int fd, uint64_t number, bool *known)
{
	struct drm_rocket_wait_job w = { .job = number, .timeout_ns = wait_until() };
	int ret = wait_on(fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w);

	if (ret)
		*known = false;
	return ret ? 0 : w.error;
}

/* In-tree rocket has nothing to wait by but what a job lists as written. */
static int wait_for_listed(int fd, const struct drm_rocket_job_ext *job, bool *known)
{
	uint32_t *h = copy_array(job->out_bo_handles, job->out_bo_handle_count, sizeof(*h));
	int status = 0;

	if (!h)
		*known = false;
	for (uint32_t i = 0; h && i < job->out_bo_handle_count; i++) {
		int err = prep(fd, h[i], known);

		status = status ? status : err;
	}
	free(h);
	return status;
}

/* There is one dma-buf for a BO, so that its mode is the client's, too. */
static int export(int fd, uint32_t handle)
{
	struct drm_prime_handle p = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };

	return rec_raw_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p) ? -1 : p.fd;
}

static bool is_idle(int dmabuf, short events, int ms)
{
	struct pollfd p = { .fd = dmabuf, .events = events };
	int ret;

	do {
		ret = poll(&p, 1, ms);
	} while (ret < 0 && errno == EINTR);
	return ret == 1;
}

/*
 * What PREP_BO does, too, but that reports an error, which is forgotten with the next job: the client would not
 * be told. In-tree rocket reports none.
 */
static void make_visible(int fd, uint32_t handle, bool *known)
{
	struct dma_buf_sync s = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	int dmabuf = export(fd, handle);

	/* Another process may have it written since: that is not waited for. */
	*known = dmabuf >= 0 && is_idle(dmabuf, POLLIN, 0) &&
		 !rec_raw_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &s);
	s.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	if (*known)
		rec_raw_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &s);
	if (dmabuf >= 0)
		rec_raw_close(dmabuf);
}

/* An imported BO may have others'. */
static bool has_fences(int fd, const struct rec_bo *bo)
{
	int dmabuf = export(fd, bo->handle);
	bool idle = dmabuf < 0 || is_idle(dmabuf, POLLOUT, SETTLE_MS);

	if (dmabuf >= 0)
		rec_raw_close(dmabuf);
	return !idle;
}

/*
 * A job may wait for one that was not waited for, and that for a fence that the client signals next: it has to
 * get back to do so.
 */
static bool may_need_client(struct rec_file *f, int fd)
{
	for (; f->loose < f->loose_end; f->loose++) {
		struct drm_rocket_wait_job w = { .job = f->loose };

		if (rec_raw_ioctl(fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w) && errno == EBUSY)
			return true;
	}
	for (struct rec_bo *bo = rec_bos; bo; bo = bo->next) {
		if (bo->file == f && bo->use && bo->imported && has_fences(fd, bo))
			return true;
	}
	return false;
}

static void not_waited_for(struct rec_file *f, const struct jobs *jobs)
{
	if (!jobs->first)
		return;
	if (f->loose == f->loose_end)
		f->loose = jobs->first;
	f->loose_end = jobs->first + jobs->n;
}

/* 0, or the first error. */
static int wait_for_jobs(struct rec_file *f, int fd, const struct jobs *jobs, bool *known)
{
	int status = 0;

	for (uint32_t i = 0; i < jobs->n && *known; i++) {
		struct drm_rocket_job_ext job = job_at(jobs->at, i, jobs->size);
		int err = f->numbers ? wait_for_number(fd, jobs->first + i, known) :
			  wait_for_listed(fd, &job, known);

		status = status ? status : err;
	}
	for (struct rec_bo *bo = rec_bos; bo && *known; bo = bo->next) {
		if (bo->file != f || !(bo->use & CAP_USE_WRITE))
			continue;
		if (!f->numbers)
			prep(fd, bo->handle, known);
		else if (!bo->foreign)
			make_visible(fd, bo->handle, known);
	}
	return status;
}

static void describe(struct rec_file *f, int fd, const struct jobs *jobs, struct rec_job *j,
		     bool *known)
{
	rec_submit_begin();
	for (uint32_t i = 0; i < jobs->n && j->good; i++) {
		struct drm_rocket_job_ext job = job_at(jobs->at, i, jobs->size);

		add_job(f, j, &job);
		*known &= syncs_are_over(fd, &job);
	}
	*known &= !may_need_client(f, fd);
	for (struct rec_bo *bo = rec_bos; bo && j->good; bo = bo->next)
		j->good = !bo->use || rec_bo_map(bo);
}

/* SUBMIT tells no numbers. SUBMIT_EXT does the same with jobs that are no longer than SUBMIT's, and tells them. */
static int run(struct rec_file *f, int fd, unsigned long req, void *arg, struct jobs *jobs)
{
	struct drm_rocket_submit_ext e = { 0 };
	int ret;

	if (f->numbers && req == DRM_IOCTL_ROCKET_SUBMIT && jobs->at &&
	    jobs->size <= sizeof(struct drm_rocket_job)) {
		memcpy(&e, arg, sizeof(struct drm_rocket_submit));
		ret = rec_raw_ioctl(fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &e);
	} else {
		ret = rec_raw_ioctl(fd, req, arg);
		if (!ret && req == DRM_IOCTL_ROCKET_SUBMIT_EXT)
			memcpy(&e, arg, sizeof(e));
	}
	jobs->first = e.first_job;
	return ret;
}

static int submit(struct rec_file *f, int fd, unsigned long req, void *arg)
{
	struct drm_rocket_submit s;	/* the other one begins with the same */
	struct jobs jobs = { 0 };
	struct rec_job j = { 0 };
	bool known = true;
	int ret, err;

	if (!rec_out_open())
		return rec_raw_ioctl(fd, req, arg);
	if (rec_copy(&s, (uintptr_t)arg, sizeof(s)) && s.job_count <= 1024 &&
	    s.job_struct_size >= offsetof(struct drm_rocket_job, flags)) {
		jobs = (struct jobs) { copy_array(s.jobs, s.job_count, s.job_struct_size),
				       s.job_count, s.job_struct_size, 0 };
		j.good = jobs.at;
	}
	describe(f, fd, &jobs, &j, &known);
	if (j.good)
		rec_submit_before();
	ret = run(f, fd, req, arg, &jobs);
	err = errno;
	known &= j.good;
	if (!ret && j.good) {
		int status = known ? wait_for_jobs(f, fd, &jobs, &known) : 0;

		rec_submit_tell(f, &j, jobs.n);
		rec_submit_after(status, known);
	} else if (!ret) {
		rec_complain("a submit was not recorded: its programs or BOs are not known");
	}
	if (!ret && !known)
		not_waited_for(f, &jobs);
	free(jobs.at);
	free(j.bytes);
	errno = err;
	return ret;
}

static void created(struct rec_file *f, int fd, const struct drm_rocket_create_bo *c)
{
	struct rec_bo *bo = rec_bo_new(f, c->handle, c->dma_address, c->size);

	if (bo)
		bo->map = rec_raw_mmap(bo->size, fd, c->offset);
}

/* Where an imported BO is, only our driver tells. */
static void imported(struct rec_file *f, int fd, const struct drm_prime_handle *p)
{
	struct drm_rocket_bo_info info = { .handle = p->handle };
	struct rec_bo *bo;

	if (rec_bo_find(f, p->handle) || rec_raw_ioctl(fd, DRM_IOCTL_ROCKET_GET_BO_INFO, &info))
		return;
	bo = rec_bo_new(f, p->handle, info.dma_address, info.size);
	if (!bo)
		return;
	bo->imported = true;
	bo->foreign = info.flags & DRM_ROCKET_BO_IMPORTED;
	bo->map = rec_raw_mmap(bo->size, p->fd, 0);
}

bool rec_rocket_wants(unsigned long req)
{
	switch (NR(req)) {
	case DRM_COMMAND_BASE + DRM_ROCKET_CREATE_BO:
	case DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT:
	case DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT_EXT:
	case NR(DRM_IOCTL_GEM_CLOSE):
	case NR(DRM_IOCTL_PRIME_FD_TO_HANDLE):
		return true;
	default:
		return false;
	}
}

int rec_rocket_ioctl(struct rec_file *f, int fd, unsigned long req, void *arg)
{
	struct drm_gem_close close;
	struct rec_bo *bo;
	int ret, err;

	switch (NR(req)) {
	case DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT:
	case DRM_COMMAND_BASE + DRM_ROCKET_SUBMIT_EXT:
		return submit(f, fd, req, arg);
	case NR(DRM_IOCTL_GEM_CLOSE):
		bo = rec_copy(&close, (uintptr_t)arg, sizeof(close)) ?
		     rec_bo_find(f, close.handle) : NULL;
		if (bo)
			rec_bo_gone(bo);
		return rec_raw_ioctl(fd, req, arg);
	}
	ret = rec_raw_ioctl(fd, req, arg);
	err = errno;
	if (!ret && NR(req) == DRM_COMMAND_BASE + DRM_ROCKET_CREATE_BO)
		created(f, fd, arg);
	else if (!ret && NR(req) == NR(DRM_IOCTL_PRIME_FD_TO_HANDLE))
		imported(f, fd, arg);
	errno = err;
	return ret;
}
