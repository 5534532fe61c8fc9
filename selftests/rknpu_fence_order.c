// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences signal after those that their jobs waited for, whatever happens to the
 * jobs. With one CPU that counts time in instructions (run --icount) the case of
 * two cores is no matter of luck.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sync_file.h>

#include "rknpu_harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define EVENTS		TRACING "events/"
#define CORE_0		"fdab0000.npu"
#define ROUNDS		5
#define DEADLINE_MS	(200 * rk_slow())

FIXTURE(order) {
	struct rk_client c;
	struct drm_rocket_task task;
	uint32_t syncobj[2];
};

FIXTURE_SETUP(order)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&self->c));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, drmSyncobjCreate(self->c.fd, 0, &self->syncobj[i]));
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task));
	ASSERT_EQ(0, rk_fini(&self->c.inc.bo));
	rk_stay_awake(true);
}

FIXTURE_TEARDOWN(order)
{
	rk_model_calm();
	rk_stay_awake(false);
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
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
static int submit(FIXTURE_DATA(order) *self, unsigned int core, const uint32_t *in, uint32_t out)
{
	struct drm_rocket_sync i = { .handle = in ? *in : 0 }, o = { .handle = out };
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &self->task, 1, NULL, NULL);
	job.core_mask = 1u << core;
	job.timeout_ns = DEADLINE_MS * RK_MS;
	job.in_syncs = (uintptr_t)&i;
	job.in_sync_count = !!in;
	job.out_syncs = (uintptr_t)&o;
	job.out_sync_count = 1;
	return rk_submit_ext(self->c.fd, &job, 1, NULL);
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

/* The first lines of the trace that tell of a fence, and of core 0's sleep. */
static void read_trace(int *signaled, int *suspend)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512];
	int n = 0;

	*signaled = *suspend = 0;
	while (f && fgets(line, sizeof(line), f)) {
		n++;
		/* It tells nothing more of whose it is. */
		if (!*signaled && strstr(line, ": dma_fence_signaled:"))
			*signaled = n;
		/* A timer that meets a core in use gets nowhere. */
		if (!*suspend && strstr(line, ": rpm_suspend:") && strstr(line, CORE_0) &&
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
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, submit(self, 0, NULL, self->syncobj[0]));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 10000));
	ASSERT_EQ(0, rk_write_file(TRACING "trace", ""));
	ASSERT_EQ(0, rk_write_file(SIGNALED, "1"));
	ASSERT_EQ(0, rk_write_file(SUSPEND, "1"));
	EXPECT_EQ(0, wait_for(self, self->syncobj[0]));
	/* On the same core, so that is back. */
	EXPECT_EQ(0, submit(self, 0, NULL, self->syncobj[1]));
	EXPECT_EQ(0, wait_for(self, self->syncobj[1]));
	rk_write_file(SUSPEND, "0");
	rk_write_file(SIGNALED, "0");
	read_trace(&signaled, &suspend);
	EXPECT_LT(0, signaled);
	EXPECT_LT(signaled, suspend);
}

RK_HARNESS_MAIN
