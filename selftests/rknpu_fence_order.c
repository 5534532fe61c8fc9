// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences signal after those that their jobs waited for, whatever happens to the
 * jobs. With one CPU that counts time in instructions (run --icount) the case of
 * two cores is no matter of luck.
 *
 * boot: sched
 * boot: irqtime
 * boot: irqlong
 * boot: debug-reclaim
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <linux/sync_file.h>

#include "rknpu_harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define EVENTS		TRACING "events/"
#define IOMMU_0		"fdab9000.iommu"
#define ROUNDS		10
#define DEADLINE_MS	(200 * rk_slow())

FIXTURE(order) {
	struct rk_client c;
	struct drm_rocket_task task;
	uint32_t syncobj[2];
	unsigned int deadline_ms;
};

static int order_init(FIXTURE_DATA(order) *self)
{
	int ret = rk_client_init(&self->c);

	for (int i = 0; i < 2 && !ret; i++)
		ret = drmSyncobjCreate(self->c.fd, 0, &self->syncobj[i]);
	if (!ret)
		ret = rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task);
	if (!ret)
		ret = rk_fini(&self->c.inc.bo);
	self->deadline_ms = DEADLINE_MS;
	rk_stay_awake(true);
	return ret;
}

static void order_fini(FIXTURE_DATA(order) *self)
{
	rk_model_calm();
	rk_stay_awake(false);
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
}

FIXTURE_SETUP(order)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, order_init(self));
}

FIXTURE_TEARDOWN(order)
{
	order_fini(self);
}

/* When the fence in the syncobj signalled, or 0. */
static uint64_t signalled_at(int fd, uint32_t syncobj)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	int file, ret;

	if (drmSyncobjExportSyncFile(fd, syncobj, &file))
		return 0;
	ret = rk_ioctl(file, SYNC_IOC_FILE_INFO, &info);
	close(file);
	return ret || fence.status <= 0 ? 0 : fence.timestamp_ns;
}

/* On core @core; its fence goes to syncobj @out, and it waits for that in @in. */
static int submit_id(FIXTURE_DATA(order) *self, unsigned int core, const uint32_t *in,
		     uint32_t out, uint64_t *id)
{
	struct drm_rocket_sync i = { .handle = in ? *in : 0 }, o = { .handle = out };
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &self->task, 1, NULL, NULL);
	job.core_mask = 1u << core;
	job.timeout_ns = self->deadline_ms * RK_MS;
	job.in_syncs = (uintptr_t)&i;
	job.in_sync_count = !!in;
	job.out_syncs = (uintptr_t)&o;
	job.out_sync_count = 1;
	return rk_submit_ext(self->c.fd, &job, 1, id);
}

static int submit(FIXTURE_DATA(order) *self, unsigned int core, const uint32_t *in, uint32_t out)
{
	return submit_id(self, core, in, out, NULL);
}

static int wait_for(FIXTURE_DATA(order) *self, uint32_t syncobj)
{
	return drmSyncobjWait(self->c.fd, &syncobj, 1, rk_now() + 20000 * RK_MS * rk_slow(), 0, NULL);
}

/* A core that is powered and has the address space needs nobody to start a job. */
static int warm_up(FIXTURE_DATA(order) *self)
{
	int ret = 0;

	for (unsigned int core = 0; core < 2 && !ret; core++)
		ret = submit(self, core, NULL, self->syncobj[core]) ?:
		      wait_for(self, self->syncobj[core]);
	return ret;
}

RK_TEST_F_TIMEOUT(order, successor_on_another_core, 120,
		  "the fence of a job on one core signals before that of its successor on another")
{
	uint32_t *s = self->syncobj;

	ASSERT_EQ(0, warm_up(self));
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t first, second;

		/* Found to be over by a worker, which the second one's interrupt can overtake. */
		rk_fault_arm(0, NPU_FAULT_IRQ_LOST, 0, 1);
		rk_latency_us(20000);
		ASSERT_EQ(0, submit(self, 0, NULL, s[0]));
		rk_sleep_ms(2);
		rk_ctl_write(NPU_CTL_LATENCY_NS, 1);
		ASSERT_EQ(0, submit(self, 1, &s[0], s[1]));
		ASSERT_EQ(0, wait_for(self, s[1]));
		ASSERT_EQ(0, wait_for(self, s[0]));
		first = signalled_at(self->c.fd, s[0]);
		second = signalled_at(self->c.fd, s[1]);
		ASSERT_NE(0, first);
		EXPECT_LT(first, second) TH_LOG("round %d", i);
	}
}

#define SIGNALED	EVENTS "dma_fence/dma_fence_signaled/enable"
#define SUSPEND		EVENTS "rpm/rpm_suspend/enable"
#define STARTED		EVENTS "rknpu/rknpu_job_start/enable"

/* From a job's start on: the first lines that tell of a fence, and of core 0's IOMMU asleep. */
static void read_trace(int *signaled, int *suspend)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];
	int n = 0;

	*signaled = *suspend = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (!n && !strstr(line, ": rknpu_job_start:"))
			continue;
		n++;
		/* It tells nothing more of whose it is. */
		if (!*signaled && strstr(line, ": dma_fence_signaled:"))
			*signaled = n;
		/* A timer that meets a core in use gets nowhere. */
		if (!*suspend && strstr(line, ": rpm_suspend:") && strstr(line, IOMMU_0) &&
		    strstr(line, " cnt-0 "))
			*suspend = n;
	}
	if (f)
		fclose(f);
}

RK_TEST_F_TIMEOUT(order, failed_job_and_its_core, 120,
		  "a failed job's fence signals before its core goes through what takes long")
{
	int signaled, suspend;

	if (rk_one_iommu())
		SKIP(return, "a shared IOMMU's cores are not put to sleep for that");
	if (access(SIGNALED, W_OK) || access(SUSPEND, W_OK))
		SKIP(return, "no tracefs, or not root");
	/* Else it could not be put to sleep. */
	rk_stay_awake(false);
	/* On a busy host each of these takes as long as a job may hang. */
	ASSERT_EQ(0, rk_write_file(SIGNALED, "1"));
	ASSERT_EQ(0, rk_write_file(SUSPEND, "1"));
	ASSERT_EQ(0, rk_write_file(STARTED, "1"));
	ASSERT_EQ(0, rk_write_file(TRACING "trace", ""));
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, submit(self, 0, NULL, self->syncobj[0]));
	EXPECT_EQ(0, wait_for(self, self->syncobj[0]));
	/* On the same core, so that is back. */
	EXPECT_EQ(0, submit(self, 0, NULL, self->syncobj[1]));
	EXPECT_EQ(0, wait_for(self, self->syncobj[1]));
	rk_write_file(STARTED, "0");
	rk_write_file(SUSPEND, "0");
	rk_write_file(SIGNALED, "0");
	read_trace(&signaled, &suspend);
	EXPECT_LT(0, signaled);
	EXPECT_LT(signaled, suspend);
}

#define DONE_ID		EVENTS "rknpu/rknpu_job_done/id"
#define SPIN_US		"/sys/module/rknpu_accel/parameters/spin_us"
/* Each walks the stack of the CPU that tells of a job's end: together that takes a while. */
#define WATCHERS	1000

static int read_id(const char *path)
{
	FILE *f = fopen(path, "re");
	int id = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &id) != 1)
		id = -1;
	fclose(f);
	return id;
}

/* From now on @cpu takes long between a job's end and its fence; others do not. */
static int hold_ends(int cpu, int *fds)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = read_id(DONE_ID),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
	};
	struct rlimit files = { WATCHERS + 1000, WATCHERS + 1000 };

	/* From another CPU each would take an interrupt of this one. */
	if (setrlimit(RLIMIT_NOFILE, &files) || rk_use_cpu(cpu))
		return -errno;
	for (int i = 0; i < WATCHERS; i++) {
		fds[i] = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fds[i] < 0)
			return -errno;
	}
	return 0;
}

static void release_ends(int cpu, const int *fds)
{
	rk_use_cpu(cpu);
	for (int i = 0; i < WATCHERS && fds[i] >= 0; i++)
		close(fds[i]);
}

FIXTURE(ends) {
	FIXTURE_DATA(order) o;
	int watchers[WATCHERS];
};

FIXTURE_SETUP(ends)
{
	memset(self->watchers, -1, sizeof(self->watchers));
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	RK_REQUIRE_MODEL();
	if (access(DONE_ID, R_OK) || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs tracefs, root, and two CPUs");
	ASSERT_EQ(0, rk_poll_core(0));
	ASSERT_EQ(0, order_init(&self->o));
	self->o.deadline_ms = 10000;
	ASSERT_EQ(0, warm_up(&self->o));
	ASSERT_EQ(0, hold_ends(1, self->watchers));
	ASSERT_EQ(0, rk_write_file(SPIN_US, "1000000"));
}

FIXTURE_TEARDOWN(ends)
{
	rk_write_file(SPIN_US, "0");
	release_ends(1, self->watchers);
	order_fini(&self->o);
	if (!rk_polled())
		EXPECT_EQ(0, rk_rebind(0));
}

RK_TEST_F_TIMEOUT(ends, keep_their_order, 120,
		  "who waits finds a job over and is slow to tell, and the timer finds the next one over")
{
	FIXTURE_DATA(order) *o = &self->o;
	struct drm_rocket_wait_job w;
	uint32_t *s = o->syncobj;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t started = rk_count(0, NPU_CNT_TASK_STARTED), first, second, id;

		rk_latency_us(20000);
		ASSERT_EQ(0, submit(o, 0, NULL, s[0]));
		ASSERT_TRUE(rk_wait_count(0, NPU_CNT_TASK_STARTED, started + 1, 10000));
		rk_ctl_write(NPU_CTL_LATENCY_NS, 1);
		ASSERT_EQ(0, submit_id(o, 0, &s[0], s[1], &id));
		ASSERT_EQ(0, rk_wait_job(o->c.fd, id, RK_FOREVER, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		ASSERT_EQ(0, wait_for(o, s[0]));
		first = signalled_at(o->c.fd, s[0]);
		second = signalled_at(o->c.fd, s[1]);
		ASSERT_NE(0, first);
		EXPECT_LT(first, second) TH_LOG("round %d", i);
	}
}

RK_HARNESS_MAIN
