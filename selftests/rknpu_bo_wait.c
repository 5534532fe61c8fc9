// SPDX-License-Identifier: GPL-2.0-only
/* PREP_BO and FINI_BO: deadlines, readers and writers, signals, bad arguments. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "rknpu_util.h"

/* Long enough to look while a job runs, well within the driver's deadline. */
#define BUSY_US		300000

FIXTURE(prep) {
	struct rk_client c;
};

FIXTURE_SETUP(prep)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
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

TEST_F(prep, idle_returns_at_once)
{
	int64_t t = rk_now();

	EXPECT_EQ(0, rk_prep(&self->c.out, 5000));
	EXPECT_GT(1000 * RK_MS, rk_now() - t);
}

TEST_F(prep, idle_with_timeout_in_the_past)
{
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, 0));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, 1));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, -1));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, INT64_MIN));
}

TEST_F(prep, idle_forever)
{
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, RK_FOREVER));
}

TEST_F(prep, repeated)
{
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, rk_prep(&self->c.out, 1000));
		ASSERT_EQ(0, rk_fini(&self->c.out));
	}
}

TEST_F(prep, fini_without_prep)
{
	EXPECT_EQ(0, rk_fini(&self->c.in));
	EXPECT_EQ(0, rk_fini(&self->c.in));
	EXPECT_EQ(0, rk_client_run(&self->c, 3));
}

TEST_F(prep, busy_with_timeout_zero)
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, 0));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

TEST_F(prep, busy_with_timeout_in_the_past)
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, rk_now() - RK_MS));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, -1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, INT64_MIN));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

TEST_F(prep, deadline_expires)
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

TEST_F(prep, deadline_is_absolute)
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

TEST_F(prep, waits_for_writer)
{
	int64_t t = rk_now();

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 40));
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, RK_FOREVER));
	EXPECT_LE(BUSY_US * 1000ll, rk_now() - t);
	EXPECT_EQ(41, self->c.out.map[0]);
}

/* Whoever may write after PREP must not change what the NPU still reads. */
TEST_F(prep, r12_waits_for_reader)
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.in.handle, 0));
	EXPECT_EQ(0, rk_prep(&self->c.in, 5000));
	/* The only reader is through, and so is all it did. */
	EXPECT_EQ(0, rk_prep_until(self->c.fd, self->c.out.handle, 0));
}

TEST_F(prep, waits_for_all_queued_jobs)
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

TEST_F(prep, unrelated_bo_is_not_held_up)
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

static void on_alarm(int sig)
{
}

static void arm_alarm(unsigned int ms, int flags)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerspec it = { .it_value.tv_nsec = ms * RK_MS };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	sigaction(SIGUSR1, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	timer_settime(timer, 0, &it, NULL);
}

TEST_F(prep, signal_interrupts)
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	arm_alarm(30, 0);
	EXPECT_EQ(-EINTR, rk_prep(&self->c.out, 5000));
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 2, RK_BYTES));
}

TEST_F(prep, signal_restarts)
{
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, start_long_job(&self->c, 1));
	arm_alarm(30, SA_RESTART);
	EXPECT_EQ(0, rk_prep(&self->c.out, 5000));
	EXPECT_EQ(2, self->c.out.map[0]);
}

TEST_F(prep, kill_while_waiting)
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

static void *wait_out(void *arg)
{
	struct rk_client *c = arg;

	return (void *)(intptr_t)rk_prep(&c->out, 5000);
}

TEST_F(prep, many_waiters)
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
	void (*spoil)(struct drm_rocket_prep_bo *p, struct drm_rocket_fini_bo *f);
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
	static void spoil_##_name(struct drm_rocket_prep_bo *p,			\
				  struct drm_rocket_fini_bo *f)			\
	{									\
		__VA_ARGS__;							\
	}									\
	FIXTURE_VARIANT_ADD(bad, _name) { .err = -(_err), .spoil = spoil_##_name }

BAD(handle_zero, ENOENT, p->handle = f->handle = 0);
BAD(handle_unused, ENOENT, p->handle = f->handle = 0x7ffff);
BAD(handle_max, ENOENT, p->handle = f->handle = UINT32_MAX);
BAD(reserved_one, EINVAL, p->reserved = f->reserved = 1);
BAD(reserved_top_bit, EINVAL, p->reserved = f->reserved = 1u << 31);

TEST_F(bad, prep)
{
	struct drm_rocket_prep_bo p = { .handle = self->c.out.handle };
	struct drm_rocket_fini_bo f = { 0 };

	variant->spoil(&p, &f);
	EXPECT_EQ(variant->err, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_PREP_BO, &p));
	EXPECT_EQ(0, rk_client_run(&self->c, 5));
}

TEST_F(bad, fini)
{
	struct drm_rocket_fini_bo f = { .handle = self->c.out.handle };
	struct drm_rocket_prep_bo p = { 0 };

	variant->spoil(&p, &f);
	EXPECT_EQ(variant->err, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_FINI_BO, &f));
	EXPECT_EQ(0, rk_client_run(&self->c, 5));
}

TEST_F(prep, bad_pointer)
{
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_PREP_BO, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_PREP_BO, (void *)16));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_FINI_BO, NULL));
	EXPECT_EQ(-EFAULT, rk_ioctl(self->c.fd, DRM_IOCTL_ROCKET_FINI_BO, (void *)-4096l));
}

TEST_F(prep, handle_of_another_file)
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

TEST_HARNESS_MAIN
