// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that are killed while they wait for jobs that hang: they die at once, and leave nothing.
 *
 * boot: deps
 * boot: kcsan-sched
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dma-buf.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

/* Nothing is stopped because its client is dead, */
#define GRACE_MS	3600000
/* so the jobs of the dead keep their cores that long: until all have been started and killed. */
#define DEADLINE_MS	(rk_slow() > 1 ? 30000 : 15000)

/* A job that may take that long, to be waited for. */
static int start(struct rk_client *c)
{
	struct drm_rocket_task task;
	struct drm_rocket_job_ext job;
	int ret = rk_client_init(c);

	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &task);
	rk_job_ext(&job, &task, 1, &c->in, &c->out);
	job.timeout_ns = DEADLINE_MS * RK_MS;
	return ret ? ret : rk_submit_ext(c->fd, &job, 1, NULL);
}

static void tell(int ready)
{
	if (write(ready, "", 1) != 1)
		_exit(1);
}

static void in_prep(int ready)
{
	struct rk_client c;

	if (start(&c))
		return;
	tell(ready);
	rk_prep_until(c.fd, c.out.handle, RK_FOREVER);
}

static void in_prep_ranges(int ready)
{
	struct drm_rocket_bo_range range = { 0, RK_BYTES };
	struct drm_rocket_prep_bo_ranges p = {
		.range_count = 1, .ranges = (uintptr_t)&range, .timeout_ns = RK_FOREVER,
	};
	struct rk_client c;

	if (start(&c))
		return;
	p.handle = c.out.handle;
	tell(ready);
	rk_ioctl(c.fd, DRM_IOCTL_ROCKET_PREP_BO_RANGES, &p);
}

static void in_wait_job(int ready)
{
	struct drm_rocket_wait_job w;
	struct rk_client c;

	if (start(&c))
		return;
	tell(ready);
	rk_wait_job(c.fd, 1, RK_FOREVER, &w);
}

static void in_dma_buf_sync(int ready)
{
	struct dma_buf_sync s = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct rk_client c;
	int buf;

	if (start(&c))
		return;
	buf = rk_export(c.fd, c.out.handle);
	tell(ready);
	rk_ioctl(buf, DMA_BUF_IOCTL_SYNC, &s);
}

static void in_vendor_submit(int ready)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int fd = rv_open();

	if (fd < 0 || rv_chain_init(&c, fd, 1, 0, 0) || rv_chain_fill(&c, 1))
		return;
	rv_chain_submit(&c, &s);
	s.timeout = DEADLINE_MS;
	tell(ready);
	rv_submit(fd, &s);
}

static void (*const waits[])(int ready) = {
	in_prep, in_prep_ranges, in_wait_job, in_dma_buf_sync, in_vendor_submit,
};

#define CHILDREN	((int)ARRAY_SIZE(waits))

/* A child that waits in that call, or a negative errno. */
static pid_t start_child(void (*wait)(int ready))
{
	int ready[2];
	char byte;
	pid_t pid;
	ssize_t n;

	if (pipe(ready))
		return -errno;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		wait(ready[1]);
		_exit(1);
	}
	close(ready[1]);
	n = read(ready[0], &byte, 1);
	close(ready[0]);
	return n == 1 && rk_in_ioctl(pid) ? pid : -EPROTO;
}

FIXTURE(killed) {
	long long bos;
	long long bytes;
	long long timeouts;
};

FIXTURE_SETUP(killed)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (rk_one_iommu())
		SKIP(return, "one client at a time");
	self->bos = rk_stat("bos");
	if (self->bos < 0)
		SKIP(return, "no debugfs");
	/* An address space that was used before goes when its core sleeps. */
	ASSERT_TRUE(rk_stat_settles("vms", 0));
	self->bytes = rk_stat("bo_bytes");
	self->timeouts = rk_cores_stat("timeouts");
	rk_module_param("cancel_grace_ms", GRACE_MS);
}

FIXTURE_TEARDOWN(killed)
{
	rk_module_param("cancel_grace_ms", 500);
	rk_model_calm();
}

RK_TEST_F_TIMEOUT(killed, in_every_call_that_waits, 180,
		  "a client can be killed in every call that waits for a job that hangs, and leaves nothing")
{
	pid_t pid[CHILDREN];
	int status, fd;

	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = start_child(waits[i]);
		ASSERT_LT(0, pid[i]) TH_LOG("child %d", i);
	}
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(1, rk_count(i, NPU_CNT_BUSY));
	}
	for (int i = 0; i < CHILDREN; i++) {
		kill(pid[i], SIGKILL);
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("child %d", i);
	}
	/* They did not wait for any job's end. What had not started is gone with them. */
	EXPECT_TRUE(rk_stat_settles("vms", RK_CORES));
	EXPECT_EQ(self->timeouts, rk_cores_stat("timeouts"));

	/* What hangs goes when its time is over. */
	rk_model_calm();
	for (int i = 0; i < 600 && rk_cores_stat("timeouts") < self->timeouts + RK_CORES; i++)
		rk_sleep_ms(100);
	EXPECT_EQ(self->timeouts + RK_CORES, rk_cores_stat("timeouts"));
	EXPECT_TRUE(rk_stat_settles("bos", self->bos));
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	EXPECT_TRUE(rk_stat_settles("vms", 0));
	fd = rk_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, rk_run_on_every_core(fd, 2));
	close(fd);
}

/* ---- in the middle of a kick ---- */

/* As many as one kick runs; together a minute and a half. */
#define LONG_TASKS	4095
#define LONG_TASK_US	20000
/* What of them may run once their client is dead: two seconds. */
#define LAST_TASKS	100

static void run_rocket_chain(int ready)
{
	static struct drm_rocket_task t[LONG_TASKS];
	struct drm_rocket_job_ext job;
	struct rk_client c;

	if (rk_client_init(&c))
		return;
	for (int i = 0; i < LONG_TASKS; i++) {
		if (i > 1)
			t[i] = t[i % 2];
		else if (rk_op_task(&c.inc, c.in.iova, c.out.iova, &t[i]))
			return;
	}
	rk_chain(&c.inc, &t[0], &t[1]);
	rk_chain(&c.inc, &t[1], &t[0]);
	if (rk_fini(&c.inc.bo))
		return;
	rk_job_ext(&job, t, LONG_TASKS, &c.in, &c.out);
	job.flags = DRM_ROCKET_JOB_BATCHED;
	job.core_mask = 1;
	job.timeout_ns = rk_param(c.fd, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS);
	if (rk_submit_ext(c.fd, &job, 1, NULL))
		return;
	tell(ready);
	rk_prep_until(c.fd, c.out.handle, RK_FOREVER);
}

static void run_vendor_chain(int ready)
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int fd = rv_open();

	if (fd < 0 || rv_chain_init(&c, fd, 2, LONG_TASKS, 0) || rv_chain_fill(&c, 1) ||
	    rv_chain_loop(&c, LONG_TASKS))
		return;
	rv_chain_submit(&c, &s);
	s.core_mask = 1;
	s.subcore_task[0] = (struct drm_rknpu_subcore_task) { 0, LONG_TASKS };
	s.timeout = UINT32_MAX;
	tell(ready);
	rv_submit(fd, &s);
}

FIXTURE(in_a_chain) {
	struct rk_client c;
	long long vms;
	long long bos;
};

FIXTURE_VARIANT(in_a_chain) {
	void (*run)(int ready);
};

FIXTURE_VARIANT_ADD(in_a_chain, rocket) { .run = run_rocket_chain };
FIXTURE_VARIANT_ADD(in_a_chain, vendor) { .run = run_vendor_chain };

FIXTURE_SETUP(in_a_chain)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_BATCHED);
	RK_REQUIRE_MODEL();
	if (variant->run == run_vendor_chain) {
		int fd;

		RV_OPEN_OR_SKIP(fd);
		close(fd);
	}
	/* Files of the case before may still be closing. */
	ASSERT_TRUE(rk_stat_settles("vms", 0));
	ASSERT_EQ(0, rk_client_init(&self->c));
	self->vms = rk_stat("vms");
	self->bos = rk_stat("bos");
	rk_latency_us(LONG_TASK_US);
	/* Nothing else ends it. */
	rk_module_param("max_job_ms", 3600000);
}

FIXTURE_TEARDOWN(in_a_chain)
{
	rk_module_param("max_job_ms", 10000);
	rk_model_calm();
	if (self->c.fd)
		rk_client_fini(&self->c);
}

/* A job of ours behind it, on core 0. */
static int queue_behind(struct rk_client *c)
{
	struct drm_rocket_task task;
	struct drm_rocket_job_ext job;
	int ret = rk_bo_fill(&c->in, 7, RK_BYTES);

	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &task);
	rk_job_ext(&job, &task, 1, &c->in, &c->out);
	job.core_mask = 1;
	return ret ? ret : rk_submit_ext(c->fd, &job, 1, NULL);
}

RK_TEST_F_TIMEOUT(in_a_chain, the_core_is_free_soon, 75,
		  "a client that is killed while 4095 tasks run in one go loses its core soon, and the next job is right")
{
	long long timeouts = rk_cores_stat("timeouts");
	struct drm_rocket_wait_job w;
	uint64_t done;
	pid_t pid;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	pid = start_child(variant->run);
	ASSERT_LT(0, pid);
	for (int i = 0; i < 5000 && rk_count(0, NPU_CNT_TASK_DONE) < 2; i++)
		rk_sleep_ms(1);
	ASSERT_EQ(0, queue_behind(&self->c));
	ASSERT_EQ(-EBUSY, rk_wait_job(self->c.fd, 1, 0, &w));
	done = rk_count(0, NPU_CNT_TASK_DONE);
	EXPECT_LE(2, done);
	EXPECT_GT(LONG_TASKS / 2, done);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));

	ASSERT_EQ(0, rk_wait_job(self->c.fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(0, w.core);
	EXPECT_GT(LAST_TASKS, rk_count(0, NPU_CNT_TASK_DONE) - done);
	EXPECT_EQ(0, rk_bo_differs(&self->c.out, 8, RK_BYTES));
	/* It was stopped, not late. */
	EXPECT_EQ(timeouts, rk_cores_stat("timeouts"));
	EXPECT_TRUE(rk_stat_settles("vms", self->vms));
	EXPECT_TRUE(rk_stat_settles("bos", self->bos));
}

RK_HARNESS_MAIN
