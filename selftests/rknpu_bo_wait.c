// SPDX-License-Identifier: GPL-2.0-only
/*
 * PREP_BO and FINI_BO: deadlines, readers and writers, signals, bad arguments.
 *
 * boot: memory
 * boot: armhf
 * boot: noiommujob
 * boot: debug-main
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"

/* Long enough to look while a job runs. */
#define BUSY_US		(rk_slow() > 1 ? 2000000u : 300000u)
#define TASK_TIMEOUT_MS	10000

FIXTURE(prep) {
	struct rk_client c;
};

FIXTURE_SETUP(prep)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
	ASSERT_EQ(0, rk_client_init(&self->c));
}

FIXTURE_TEARDOWN(prep)
{
	rk_model_calm();
	rk_client_fini(&self->c);
}

/* Starts a job that takes BUSY_US, reading c->in and writing c->out. */
static int start_long_job(struct rk_client *c, int value)
{
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);

	rk_latency_us(BUSY_US);
	return ret ? ret : rk_submit_op(&c->inc, &c->in, &c->out);
}

RK_TEST_F(prep, idle_returns_at_once, "PREP_BO of an idle BO returns at once")
{
	int64_t t = rk_now();

	EXPECT_EQ(0, rk_prep(&self->c.out, 5000));
	EXPECT_GT(1000 * RK_MS, rk_now() - t);
}

RK_TEST_F(prep, idle_with_timeout_in_the_past,
	  "PREP_BO of an idle BO succeeds whatever the deadline")
{
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, 0));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, 1));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, -1));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, INT64_MIN));
}

RK_TEST_F(prep, idle_forever, "PREP_BO of an idle BO with an endless deadline returns")
{
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, RK_FOREVER));
}

RK_TEST_F(prep, repeated, "PREP_BO and FINI_BO can be repeated")
{
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, rk_prep(&self->c.out, 1000));
		ASSERT_EQ(0, rk_fini(&self->c.out));
	}
}

RK_TEST_F(prep, fini_without_prep, "FINI_BO without PREP_BO does no harm")
{
	EXPECT_EQ(0, rk_fini(&self->c.in));
	EXPECT_EQ(0, rk_fini(&self->c.in));
	EXPECT_EQ(0, rk_client_run(&self->c, 3));
}

RK_TEST_F(prep, busy_with_timeout_zero, "PREP_BO with deadline 0 asks, and says busy")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, 0));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

RK_TEST_F(prep, busy_with_timeout_in_the_past, "PREP_BO with a deadline in the past says busy")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, rk_now() - RK_MS));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, -1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, INT64_MIN));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

RK_TEST_F(prep, deadline_expires, "PREP_BO gives up at its deadline, and the job goes on")
{
	int ret = -EBUSY;
	int64_t t = 0;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	/* On a busy host it can have passed before the call. */
	for (int i = 0; i < 5 && ret == -EBUSY; i++) {
		t = rk_now();
		ret = rk_prep_until(self->c.fd, self->c.out.handle, t + 20 * RK_MS);
	}
	EXPECT_EQ(-ETIMEDOUT, ret);
	EXPECT_LE(20 * RK_MS, rk_now() - t);
	/* It gave up on the wait, not on the job. */
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

RK_TEST_F(prep, deadline_is_absolute,
	  "the deadline is absolute, so a restarted call does not wait longer")
{
	int64_t deadline;
	int ret;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	deadline = rk_now() + 30 * RK_MS;
	ret = rk_prep_until(self->c.fd, self->c.out.handle, deadline);
	/* On a busy host it can have passed before the call. */
	if (ret != -EBUSY)
		EXPECT_EQ(-ETIMEDOUT, ret);
	/* The same value again is in the past now. */
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, deadline));
	EXPECT_EQ(0, rk_prep(&self->c.out, 5000));
}

RK_TEST_F(prep, waits_for_writer, "PREP_BO waits for the job that writes the BO")
{
	int64_t t = rk_now();

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 40));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, RK_FOREVER));
	EXPECT_LE(BUSY_US * 1000ll, rk_now() - t);
	EXPECT_EQ(41, self->c.out.map[0]);
}

RK_TEST_F(prep, r12_waits_for_reader,
	  "PREP_BO waits for the job that reads the BO, which the caller might change")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.in.handle, 0));
	EXPECT_EQ(0, rk_prep(&self->c.in, 5000));
	/* The only reader is through, and so is all it did. */
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, 0));
}

RK_TEST_F(prep, r12_waits_for_reader_behind_a_writer,
	  "PREP_BO of what a job writes and another one reads then waits for both")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task more;
	struct rk_bo last;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_bo_init(&last, c->fd, RK_BYTES));
	ASSERT_EQ(0, rk_op_task(&c->inc, c->out.iova, last.iova, &more));
	rk_latency_us(100000);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	ASSERT_EQ(0, rk_submit_task(c->fd, &more, &c->out, &last));
	ASSERT_EQ(0, rk_prep(&c->out, 5000));
	EXPECT_EQ(0, rk_prep_until(c->fd, last.handle, 0));
	rk_bo_fini(&last);
}

RK_TEST_F(prep, waits_for_all_queued_jobs, "PREP_BO waits for all jobs that are queued")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	rk_latency_us(20000);
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, rk_submit_op(&self->c.inc, &self->c.in, &self->c.out));
	}
	ASSERT_EQ(0, rk_prep(&self->c.out, 5000));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.in.handle, 0));
}

RK_TEST_F(prep, unrelated_bo_is_not_held_up,
	  "PREP_BO does not wait for jobs that do not use the BO")
{
	struct rk_bo other;
	int64_t t;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_bo_init(&other, self->c.fd, RK_PAGE));
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	t = rk_now();
	EXPECT_EQ(0, rk_prep(&other, 5000));
	EXPECT_GT(BUSY_US * 1000ll, rk_now() - t);
	EXPECT_EQ(0, rk_prep(&self->c.out, 5000));
	rk_bo_fini(&other);
}

RK_TEST_F(prep, signal_interrupts, "a signal interrupts PREP_BO")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	rk_alarms(30, 0);
	EXPECT_EQ(-EINTR, rk_prep(&self->c.out, 5000));
	rk_alarms(0, 0);
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

RK_TEST_F(prep, signal_restarts, "PREP_BO goes on after a signal with SA_RESTART")
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	rk_alarms(30, SA_RESTART);
	EXPECT_EQ(0, rk_prep(&self->c.out, 5000));
	rk_alarms(0, SA_RESTART);
	EXPECT_EQ(2, self->c.out.map[0]);
}

RK_TEST_F(prep, kill_while_waiting, "a process that waits can be killed, and its job goes on")
{
	int status;
	pid_t pid;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		rk_prep_until(self->c.fd, self->c.out.handle, RK_FOREVER);
		pause();
	}
	rk_sleep_ms(20);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

/* Keeps core 0, which the readers have to wait for, busy for longer than the test takes. */
static int take_core_0(struct rk_client *c)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_task t;
	int ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t) ?: rk_fini(&c->inc.bo);

	rk_latency_us(TASK_TIMEOUT_MS * 500);
	rk_job_ext(&job, &t, 1, NULL, NULL);
	job.core_mask = 1;
	return ret ?: rk_submit_ext(c->fd, &job, 1, NULL);
}

/* More than what may stay in a list. */
#define READERS		32

/* Jobs of @c that read @bo of another file. As none waits for another one, each is in the list. */
static int queue_readers(struct rk_client *c, const struct rk_bo *bo)
{
	struct drm_rocket_job_ext jobs[READERS];
	struct drm_rocket_task t;
	struct rk_bo in = { .fd = c->fd };
	int buf = rk_export(bo->fd, bo->handle);
	int ret = buf < 0 ? buf : rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);

	ret = ret ?: rk_fini(&c->inc.bo) ?: drmPrimeFDToHandle(c->fd, buf, &in.handle);
	close(buf);
	for (int i = 0; i < READERS; i++) {
		rk_job_ext(&jobs[i], &t, 1, &in, NULL);
		jobs[i].core_mask = 1;
	}
	return ret ?: rk_submit_ext(c->fd, jobs, READERS, NULL);
}

/* What children are told, who come before what they must not keep open. */
struct told {
	bool wait, keep, kept, stop;
};

static void when(const volatile bool *told)
{
	/* If the test is gone nobody tells. */
	for (int64_t end = rk_now() + TASK_TIMEOUT_MS * RK_MS; !*told && rk_now() < end;)
		rk_sleep_ms(1);
}

static pid_t wait_on_cpu_1(const struct rk_bo *bo, const volatile struct told *told)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	when(&told->wait);
	_exit(rk_use_cpu(1) || rk_prep_until(bo->fd, bo->handle, RK_FOREVER));
}

/* Nobody else has that CPU meanwhile. */
static pid_t keep_cpu_1(volatile struct told *told)
{
	const struct sched_param first = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	when(&told->keep);
	if (rk_use_cpu(1) || sched_setscheduler(0, SCHED_FIFO, &first))
		_exit(1);
	told->kept = true;
	for (int64_t end = rk_now() + TASK_TIMEOUT_MS * RK_MS; !told->stop && rk_now() < end;)
		;
	_exit(0);
}

static bool ends_soon(pid_t pid, int *status)
{
	for (int i = 0; i < 1000 * (int)rk_slow(); i++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		rk_sleep_ms(10);
	}
	return false;
}

/*
 * The kernel's walk over fences without a lock gives the last one again and again if the list
 * is gone when it looks for the next one. No signal ends that.
 */
RK_TEST_F(prep, list_gets_short_meanwhile,
	  "who waits for a BO goes on if what is over has left its list of fences meanwhile")
{
	long long bos = rk_stat("bos");
	volatile struct told *told;
	pid_t waiter, keeper;
	struct rk_client b;
	int status = -1;

	RK_REQUIRE_MODEL();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || bos < 0)
		SKIP(return, "needs two CPUs, and debugfs");
	told = mmap(NULL, RK_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)told);
	ASSERT_EQ(0, rk_use_cpu(0));
	waiter = wait_on_cpu_1(&self->c.in, told);
	keeper = keep_cpu_1(told);
	ASSERT_TRUE(waiter > 0 && keeper > 0);
	ASSERT_EQ(0, take_core_0(&self->c));
	ASSERT_EQ(0, rk_client_init(&b));
	ASSERT_EQ(0, queue_readers(&b, &self->c.in));
	told->wait = true;
	ASSERT_TRUE(rk_in_ioctl(waiter));
	told->keep = true;
	when(&told->kept);
	EXPECT_TRUE(told->kept);
	/* The waiter is woken, but does not get at its CPU before the jobs have been freed. */
	rk_client_fini(&b);
	EXPECT_TRUE(rk_stat_settles("bos", bos));
	told->stop = true;
	ASSERT_EQ(keeper, waitpid(keeper, &status, 0));
	EXPECT_TRUE(ends_soon(waiter, &status));
	EXPECT_EQ(0, status);
	munmap((void *)told, RK_PAGE);
}

static void *wait_out(void *arg)
{
	struct rk_client *c = arg;

	return (void *)(intptr_t)rk_prep(&c->out, 5000);
}

RK_TEST_F(prep, many_waiters, "eight threads wait for one job")
{
	pthread_t t[8];

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, pthread_create(&t[i], NULL, wait_out, &self->c));
	}
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		void *ret;

		pthread_join(t[i], &ret);
		EXPECT_EQ(NULL, ret);
	}
}

/* ---- one bad field at a time ---- */

FIXTURE(bad) {
	struct rk_client c;
};

FIXTURE_VARIANT(bad) {
	int err;
	void (*change)(struct drm_rocket_prep_bo *p, struct drm_rocket_fini_bo *f);
};

FIXTURE_SETUP(bad)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	ASSERT_EQ(0, rk_client_init(&self->c));
}

FIXTURE_TEARDOWN(bad)
{
	rk_client_fini(&self->c);
}

#define BAD(_name, _err, ...)							\
	static void change_##_name(struct drm_rocket_prep_bo *p,			\
				  struct drm_rocket_fini_bo *f)			\
	{									\
		__VA_ARGS__;							\
	}									\
	FIXTURE_VARIANT_ADD(bad, _name) { .err = -(_err), .change = change_##_name }

BAD(handle_zero, ENOENT, p->handle = f->handle = 0);
BAD(handle_unused, ENOENT, p->handle = f->handle = 0x7ffff);
BAD(handle_max, ENOENT, p->handle = f->handle = UINT32_MAX);
BAD(reserved_one, EINVAL, p->reserved = f->reserved = 1);
BAD(reserved_top_bit, EINVAL, p->reserved = f->reserved = 1u << 31);

RK_TEST_F(bad, prep, "PREP_BO refuses this field")
{
	struct drm_rocket_prep_bo p = { .handle = self->c.out.handle };
	struct drm_rocket_fini_bo f = { 0 };

	variant->change(&p, &f);
	EXPECT_EQ(variant->err, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_PREP_BO, &p));
	EXPECT_EQ(0, rk_client_run(&self->c, 5));
}

RK_TEST_F(bad, fini, "FINI_BO refuses this field")
{
	struct drm_rocket_fini_bo f = { .handle = self->c.out.handle };
	struct drm_rocket_prep_bo p = { 0 };

	variant->change(&p, &f);
	EXPECT_EQ(variant->err, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_FINI_BO, &f));
	EXPECT_EQ(0, rk_client_run(&self->c, 5));
}

RK_TEST_F(prep, bad_pointer, "PREP_BO and FINI_BO refuse bad pointers")
{
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_PREP_BO, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_PREP_BO, (void *)16));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_FINI_BO, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_FINI_BO, (void *)-4096l));
}

RK_TEST_F(prep, handle_of_another_file, "another file's handle is unknown")
{
	struct rk_client other;
	uint32_t handle;

	ASSERT_EQ(0, rk_client_init(&other));
	for (int i = 0; i < 8; i++) {
		struct rk_bo extra;

		ASSERT_EQ(0, rk_bo_init(&extra, other.fd, RK_PAGE));
		handle = extra.handle;
	}
	EXPECT_EQ(-ENOENT, rk_prep_until(self->c.fd, handle, 0));
	rk_client_fini(&other);
}

RK_HARNESS_MAIN
