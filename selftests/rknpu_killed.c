// SPDX-License-Identifier: GPL-2.0-only
/* Clients that are killed while they wait for jobs that hang: they die at once, and leave nothing. */
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

/* So long do the jobs of the dead keep their cores: until all have been started and killed. */
#define DEADLINE_MS	(rk_slow() > 1 ? 20000 : 6000)

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

/* Is it inside of an ioctl, and not on a CPU? */
static bool in_ioctl(pid_t pid)
{
	char path[64];
	int nr = -1;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	for (int i = 0; i < 1000 && nr != SYS_ioctl; i++) {
		FILE *f = fopen(path, "re");

		nr = -1;
		if (!f)
			return false;
		if (fscanf(f, "%d", &nr) != 1)
			nr = -1;
		fclose(f);
		rk_sleep_ms(10);
	}
	return nr == SYS_ioctl;
}

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
	return n == 1 && in_ioctl(pid) ? pid : -EPROTO;
}

FIXTURE(killed) {
	long long bos;
	long long vms;
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
	self->vms = rk_stat("vms");
	self->bytes = rk_stat("bo_bytes");
	if (self->bos < 0)
		SKIP(return, "no debugfs");
	self->timeouts = rk_cores_stat("timeouts");
}

FIXTURE_TEARDOWN(killed)
{
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
	EXPECT_TRUE(rk_stat_settles("vms", self->vms + RK_CORES));
	EXPECT_EQ(self->timeouts, rk_cores_stat("timeouts"));

	/* What hangs goes when its time is over. */
	rk_model_calm();
	for (int i = 0; i < 600 && rk_cores_stat("timeouts") < self->timeouts + RK_CORES; i++)
		rk_sleep_ms(100);
	EXPECT_EQ(self->timeouts + RK_CORES, rk_cores_stat("timeouts"));
	EXPECT_TRUE(rk_stat_settles("bos", self->bos));
	EXPECT_TRUE(rk_stat_settles("bo_bytes", self->bytes));
	EXPECT_TRUE(rk_stat_settles("vms", self->vms));
	fd = rk_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, rk_run_on_every_core(fd, 2));
	close(fd);
}

RK_HARNESS_MAIN
