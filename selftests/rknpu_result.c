// SPDX-License-Identifier: GPL-2.0-only
/*
 * WAIT_JOB: how jobs ended, how long that is known, and what it says when the
 * file or the device goes away. The causes of all failures: rknpu_failures.c.
 *
 * boot: sched
 * boot: armhf
 * boot: noiommujob
 * boot: debug-ext
 * boot: kcsan-sched
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <linux/sync_file.h>

#include "rknpu_harness.h"

static int wait_job(int fd, uint64_t job, int64_t deadline, struct drm_rocket_wait_job *w)
{
	memset(w, 0xa5, sizeof(*w));
	w->job = job;
	w->timeout_ns = deadline;
	w->flags = 0;
	return rk_ioctl(fd, DRM_IOCTL_ROCKET_WAIT_JOB, w);
}

/* One job of one task on any core; its number, or 0. */
static uint64_t submit_one(struct rk_client *c)
{
	if (rk_submit_op(&c->inc, &c->in, &c->out))
		return 0;
	return rk_last_job(c->fd);
}

FIXTURE(result) {
	struct rk_client c;
};

FIXTURE_SETUP(result)
{
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_bo_fill(&self->c.in, 5, RK_BYTES));
}

FIXTURE_TEARDOWN(result)
{
	rk_model_calm();
	rk_client_fini(&self->c);
}

RK_TEST_F(result, done,
	  "WAIT_JOB tells cause, core, tasks and time of a job that is done, and the same again")
{
	struct drm_rocket_wait_job w;
	struct rk_client *c = &self->c;
	uint64_t job;

	rk_latency_us(20000);
	job = submit_one(c);
	ASSERT_EQ(1, job);
	ASSERT_EQ(0, wait_job(c->fd, job, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	EXPECT_EQ(0, w.error);
	EXPECT_LE(0, w.core);
	EXPECT_GT(RK_CORES, w.core);
	EXPECT_EQ(1, w.task);
	EXPECT_EQ(0, w.result);
	EXPECT_EQ(0, w.fault_address);
	if (rk_model()) {
		/* Half of it: the host may stop the guest's CPU between the start and the clock. */
		EXPECT_LE(10000000, w.elapsed_ns);
	}
	/* Asking again changes nothing. */
	for (int i = 0; i < 3; i++) {
		struct drm_rocket_wait_job again;

		ASSERT_EQ(0, wait_job(c->fd, job, 0, &again));
		again.timeout_ns = w.timeout_ns;
		EXPECT_EQ(0, memcmp(&w, &again, sizeof(w)));
	}
	EXPECT_EQ(0, rk_bo_differs(&c->out, 6, RK_BYTES));
}

RK_TEST_F(result, tags,
	  "a job's tag comes back with its result, and a program that knows none waits as ever")
{
	static const uint64_t tags[] = { 1, 1ull << 63, UINT64_MAX, 0 };
	struct drm_rocket_wait_job w;
	struct rk_client *c = &self->c;
	struct drm_rocket_job_ext job;
	struct drm_rocket_task task;
	uint64_t id;

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_TAG);
	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &task));
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		rk_job_ext(&job, &task, 1, &c->in, &c->out);
		job.tag = tags[i];
		ASSERT_EQ(0, rk_submit_ext(c->fd, &job, 1, &id));
		ASSERT_EQ(0, wait_job(c->fd, id, RK_FOREVER, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		EXPECT_EQ(tags[i], w.tag);
	}
	/* SUBMIT has none. */
	id = submit_one(c);
	ASSERT_EQ(0, wait_job(c->fd, id, RK_FOREVER, &w));
	EXPECT_EQ(0, w.tag);
	/* The struct of 56 bytes: nothing is written behind it. */
	memset(&w, 0xa5, sizeof(w));
	w.job = id - 1;
	w.timeout_ns = RK_FOREVER;
	w.flags = 0;
	EXPECT_EQ(0, rk_ioctl(c->fd, 0xc0386462, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5, w.tag);
}

RK_TEST_F(result, refused,
	  "WAIT_JOB refuses numbers that the file does not have, flags and bad pointers")
{
	struct drm_rocket_wait_job w;
	struct rk_client *c = &self->c;
	int other = rk_open();

	EXPECT_EQ(-ENOENT, wait_job(c->fd, 0, 0, &w));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, 1, 0, &w));
	ASSERT_EQ(1, submit_one(c));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, 0, RK_FOREVER, &w));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, 2, RK_FOREVER, &w));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, UINT64_MAX, RK_FOREVER, &w));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, 1ull << 32 | 1, RK_FOREVER, &w));
	/* Numbers are the file's own. */
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, wait_job(other, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, rk_last_job(other));
	close(other);
	w = (struct drm_rocket_wait_job) { .job = 1, .flags = 1 };
	EXPECT_EQ(-EINVAL, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w));
	w = (struct drm_rocket_wait_job) { .job = 1, .flags = 1u << 31 };
	EXPECT_EQ(-EINVAL, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_WAIT_JOB, &w));
	EXPECT_EQ(-EFAULT, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_WAIT_JOB, NULL));
	EXPECT_EQ(0, wait_job(c->fd, 1, RK_FOREVER, &w));
}

RK_TEST_F(result, timeouts, "WAIT_JOB waits until an absolute deadline")
{
	struct drm_rocket_wait_job w;
	struct rk_client *c = &self->c;
	uint64_t job;
	int64_t t = 0;
	int ret = -EBUSY;

	RK_REQUIRE_MODEL();
	rk_latency_us(300000);
	job = submit_one(c);
	EXPECT_EQ(-EBUSY, wait_job(c->fd, job, 0, &w));
	EXPECT_EQ(-EBUSY, wait_job(c->fd, job, -1, &w));
	EXPECT_EQ(-EBUSY, wait_job(c->fd, job, INT64_MIN, &w));
	EXPECT_EQ(-EBUSY, wait_job(c->fd, job, rk_now() - RK_MS, &w));
	/* Nothing was written. */
	EXPECT_EQ(0xa5a5a5a5, w.cause);
	/* On a busy host it can have passed before the call. */
	for (int i = 0; i < 5 && ret == -EBUSY; i++) {
		t = rk_now();
		ret = wait_job(c->fd, job, t + 20 * RK_MS, &w);
	}
	EXPECT_EQ(-ETIMEDOUT, ret);
	EXPECT_LE(20 * RK_MS, rk_now() - t);
	EXPECT_EQ(0, wait_job(c->fd, job, rk_now() + 10000 * RK_MS, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
}

RK_TEST_F(result, wait_is_interruptible, "a signal interrupts WAIT_JOB")
{
	struct drm_rocket_wait_job w;
	uint64_t job;

	RK_REQUIRE_MODEL();
	rk_latency_us(300000);
	job = submit_one(&self->c);
	rk_alarms(20, 0);
	EXPECT_EQ(-EINTR, wait_job(self->c.fd, job, RK_FOREVER, &w));
	rk_alarms(0, 0);
	EXPECT_EQ(0, wait_job(self->c.fd, job, RK_FOREVER, &w));
}

RK_TEST_F(result, wait_is_killable, "a process in WAIT_JOB can be killed at once")
{
	struct drm_rocket_wait_job w;
	uint64_t job;
	int status;
	int64_t t;
	pid_t pid;

	RK_REQUIRE_MODEL();
	rk_task_timeout_ms(20000);
	rk_latency_us(4000000);
	job = submit_one(&self->c);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(wait_job(self->c.fd, job, RK_FOREVER, &w) ? 1 : 0);
	rk_sleep_ms(100);
	t = rk_now();
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_GT(3000 * RK_MS, rk_now() - t);
}

#define WAITERS	8

struct waiter {
	pthread_t thread;
	int fd;
	uint64_t job;
	struct drm_rocket_wait_job w;
	int ret;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = wait_job(w->fd, w->job, RK_FOREVER, &w->w);
	return NULL;
}

RK_TEST_F(result, many_waiters, "eight threads wait for one job")
{
	struct waiter w[WAITERS];
	uint64_t job;

	rk_latency_us(50000);
	job = submit_one(&self->c);
	for (int i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter) { .fd = self->c.fd, .job = job };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, waiter_main, &w[i]));
	}
	for (int i = 0; i < WAITERS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].ret);
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w[i].w.cause);
	}
}

RK_TEST_F(result, the_oldest_are_forgotten, "how the newest 1024 jobs ended is known, and no more")
{
	static struct drm_rocket_job jobs[1024];
	struct rk_client *c = &self->c;
	struct drm_rocket_wait_job w;
	struct drm_rocket_task task;
	uint64_t first;

	first = submit_one(c);
	ASSERT_EQ(1, first);
	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &task));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		rk_job(&jobs[i], &task, 1, &c->in.handle, 1, &c->out.handle, 1);
	ASSERT_EQ(0, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs) - 1));
	EXPECT_EQ(1024, rk_last_job(c->fd));
	EXPECT_EQ(0, wait_job(c->fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, wait_job(c->fd, 1024, RK_FOREVER, &w));
	for (uint64_t i = 1; i <= 1024; i++) {
		ASSERT_EQ(0, wait_job(c->fd, i, 0, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	}
	ASSERT_EQ(1025, submit_one(c));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, wait_job(c->fd, 2, RK_FOREVER, &w));
	ASSERT_EQ(0, rk_submit(c->fd, jobs, ARRAY_SIZE(jobs)));
	EXPECT_EQ(-ENOENT, wait_job(c->fd, 1025, RK_FOREVER, &w));
	EXPECT_EQ(0, wait_job(c->fd, 1026, RK_FOREVER, &w));
	EXPECT_EQ(0, wait_job(c->fd, 2049, RK_FOREVER, &w));
}

/* ---- what went wrong ---- */

RK_TEST_F(result, iommu_fault, "a page fault tells its address and direction")
{
	struct rk_client *c = &self->c;
	static const uint64_t nowhere = 0xa0000000;

	RK_REQUIRE_IOMMU();
	for (int write = 0; write < 2; write++) {
		struct drm_rocket_wait_job w;
		struct drm_rocket_task task;
		uint64_t job;

		ASSERT_EQ(0, rk_op_task(&c->inc, write ? c->in.iova : nowhere,
					write ? nowhere : c->out.iova, &task));
		ASSERT_EQ(0, rk_submit_task(c->fd, &task, &c->in, &c->out));
		job = rk_last_job(c->fd);
		ASSERT_EQ(0, wait_job(c->fd, job, RK_FOREVER, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_IOMMU_FAULT, w.cause);
		EXPECT_EQ(-EFAULT, w.error);
		EXPECT_EQ(write ? DRM_ROCKET_RESULT_FAULT_WRITE : 0, w.result);
		EXPECT_LE(nowhere, w.fault_address);
		EXPECT_GT(nowhere + RK_PAGE, w.fault_address);
		EXPECT_EQ(0, w.task);
		EXPECT_EQ(-EFAULT, rk_prep(&c->out, 5000));
	}
	EXPECT_EQ(0, rk_client_run(c, 8));
}

RK_TEST_F(result, timeout_of_the_job, "a job's own deadline counts, whatever the default is")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task task;
	struct drm_rocket_job_ext job = {
		.tasks = (uintptr_t)&task, .task_count = 1, .task_struct_size = sizeof(task),
		.out_bo_handles = (uintptr_t)&c->out.handle, .out_bo_handle_count = 1,
	};
	struct drm_rocket_submit_ext s = {
		.jobs = (uintptr_t)&job, .job_count = 1, .job_struct_size = sizeof(job),
	};
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	RK_REQUIRE_SCHED(c->fd);
	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &task));
	/* Shorter than the default. */
	rk_task_timeout_ms(20000);
	rk_latency_us(4000000);
	job.timeout_ns = 50 * RK_MS;
	ASSERT_EQ(0, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &s));
	ASSERT_EQ(0, wait_job(c->fd, s.first_job, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, w.cause);
	EXPECT_LE(50 * RK_MS, w.elapsed_ns);
	EXPECT_GT(2000 * RK_MS, w.elapsed_ns);
	/* Longer. */
	rk_task_timeout_ms(50);
	rk_latency_us(300000);
	job.timeout_ns = 20000 * RK_MS;
	ASSERT_EQ(0, rk_ioctl(c->fd, DRM_IOCTL_ROCKET_SUBMIT_EXT, &s));
	ASSERT_EQ(0, wait_job(c->fd, s.first_job, RK_FOREVER, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
}

/* ---- what goes away ---- */

/* Nothing here is ended by a deadline. */
#define GONE_TIMEOUT_MS	20000

FIXTURE(gone) {
	struct rk_trial t;
	int sync;
};

FIXTURE_SETUP(gone)
{
	self->sync = -1;
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_trial_init(&self->t, 0, GONE_TIMEOUT_MS));
	rk_task_timeout_ms(GONE_TIMEOUT_MS);
}

FIXTURE_TEARDOWN(gone)
{
	rk_model_calm();
	if (self->sync >= 0)
		close(self->sync);
	rk_trial_fini(&self->t);
}

/* Submits the job; a file that lasts longer than everything else tells how it ended. */
static int submit_with_file(struct rk_trial *t)
{
	struct drm_rocket_sync sync = { 0 };
	int file, ret = drmSyncobjCreate(t->c.fd, 0, &sync.handle) ? -errno : 0;

	t->job.out_syncs = (uintptr_t)&sync;
	t->job.out_sync_count = 1;
	if (!ret)
		ret = rk_submit_ext(t->c.fd, &t->job, 1, &t->id);
	if (!ret && drmSyncobjExportSyncFile(t->c.fd, sync.handle, &file))
		ret = -errno;
	t->job.out_sync_count = 0;
	return ret ? ret : file;
}

/* 1: fine. 0: not over. Else how it ended. */
static int file_status(int file, int timeout_ms)
{
	struct pollfd p = { .fd = file, .events = POLLIN };
	struct sync_file_info info = { 0 };

	poll(&p, 1, timeout_ms);
	return rk_ioctl(file, SYNC_IOC_FILE_INFO, &info) ? -EBADF : info.status;
}

RK_TEST_F(gone, file_closed,
	  "closing a file ends its running job between two tasks, and its queued ones at once")
{
	struct rk_trial *t = &self->t;
	int queued;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_latency_us(300000);
	t->job.out_bo_handle_count = 0;
	self->sync = submit_with_file(t);
	ASSERT_LE(0, self->sync);
	queued = submit_with_file(t);
	ASSERT_LE(0, queued);
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 5000));
	EXPECT_EQ(0, file_status(self->sync, 0));
	EXPECT_EQ(0, file_status(queued, 0));
	rk_trial_fini(t);
	EXPECT_EQ(-ECANCELED, file_status(queued, 0));
	EXPECT_EQ(-ECANCELED, file_status(self->sync, 10000));
	EXPECT_GT(RK_TRIAL_TASKS, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_LE(1, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_HANG));
	close(queued);
}

RK_TEST_F(gone, file_closed_with_a_shared_bo,
	  "a file that has the same BO is told that the job was cancelled")
{
	struct rk_trial *t = &self->t;
	struct rk_client other;
	uint32_t handle;
	int buf;

	ASSERT_EQ(0, rk_client_init(&other));
	buf = rk_export(t->c.fd, t->c.out.handle);
	ASSERT_LE(0, buf);
	ASSERT_EQ(0, drmPrimeFDToHandle(other.fd, buf, &handle));
	close(buf);
	rk_latency_us(200000);
	ASSERT_EQ(0, rk_submit_ext(t->c.fd, &t->job, 1, NULL));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 5000));
	rk_trial_fini(t);
	EXPECT_EQ(-ECANCELED, rk_prep_until(other.fd, handle, RK_FOREVER));
	rk_latency_us(0);
	EXPECT_EQ(0, rk_client_run(&other, 3));
	rk_client_fini(&other);
}

RK_TEST_F(gone, one_of_two_descriptors_closed, "another descriptor of the file keeps its jobs")
{
	struct rk_trial *t = &self->t;
	int second = dup(t->c.fd);

	ASSERT_LE(0, second);
	rk_latency_us(100000);
	ASSERT_EQ(0, rk_submit_ext(t->c.fd, &t->job, 1, &t->id));
	close(t->c.fd);
	t->c.fd = second;
	t->c.in.fd = t->c.out.fd = second;
	ASSERT_EQ(0, rk_wait_job(second, t->id, RK_FOREVER, &t->w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	EXPECT_EQ(0, rk_bo_differs(&t->c.out, 6, RK_BYTES));
}

struct gone_waiter {
	pthread_t thread;
	struct rk_trial *t;
	uint64_t id;
	struct drm_rocket_wait_job w;
	int ret;
};

static void *gone_waiter_main(void *arg)
{
	struct gone_waiter *w = arg;

	w->ret = rk_wait_job(w->t->c.fd, w->id, RK_FOREVER, &w->w);
	return NULL;
}

RK_TEST_F_TIMEOUT(gone, device, 60,
		  "who waits when the device goes away is told, of jobs that run and of those that wait")
{
	struct rk_trial *t = &self->t;

	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct gone_waiter w[2];

		if (core) {
			ASSERT_EQ(0, rk_trial_init(t, 0, GONE_TIMEOUT_MS));
		}
		rk_latency_us(4000000);
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(0, rk_submit_ext(t->c.fd, &t->job, 1, &t->id));
			w[i] = (struct gone_waiter) { .t = t, .id = t->id };
			ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, gone_waiter_main, &w[i]));
		}
		self->sync = submit_with_file(t);
		ASSERT_LE(0, self->sync);
		rk_sleep_ms(100);
		ASSERT_EQ(0, rk_rebind(core));
		for (int i = 0; i < 2; i++) {
			pthread_join(w[i].thread, NULL);
			EXPECT_EQ(0, w[i].ret);
			EXPECT_EQ(DRM_ROCKET_CAUSE_DEVICE_GONE, w[i].w.cause);
			EXPECT_EQ(-ENODEV, w[i].w.error);
			EXPECT_EQ(0, w[i].w.task);
			/* The second has not been on a core. */
			EXPECT_EQ(i ? -1 : 0, w[i].w.core);
		}
		EXPECT_EQ(-ENODEV, file_status(self->sync, 5000));
		close(self->sync);
		self->sync = -1;
		EXPECT_EQ(-ENODEV, rk_wait_job(t->c.fd, 1, 0, &t->w));
		rk_model_calm();
		rk_trial_fini(t);
	}
	ASSERT_EQ(0, rk_trial_init(t, 0, GONE_TIMEOUT_MS));
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(0, t->w.error);
}

RK_HARNESS_MAIN
