// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the driver keeps interrupts off, however many jobs there are. The
 * unit is instructions: with RKNPU_ICOUNT the guest's nanoseconds are that
 * (tools/testbed/bin/run --icount), and without it nothing is measured.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rknpu_harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define EVENTS		TRACING "events/"
#define ENTRY		EVENTS "irq/irq_handler_entry/trigger"
#define EXIT		EVENTS "irq/irq_handler_exit/trigger"
#define HIST		EVENTS "irq/irq_handler_exit/hist"
#define REMEMBER	"hist:keys=irq:ts0=common_timestamp if name ~ \"*.npu\""
#define LONGEST		"hist:keys=irq:took=common_timestamp-$ts0:onmax($took).save(ret)"
#define EXPIRE		"events/timer/hrtimer_expire_entry/enable"

#define MOST		8191u
#define AT_ONCE		1024u
/* Of a timer that wants to interrupt all the time. */
#define TICK_US		50u

FIXTURE(time) {
	struct rk_client c;
	struct drm_rocket_task task;
	struct drm_rocket_job_ext jobs[AT_ONCE];
	struct drm_rocket_sync sync;
};

FIXTURE_SETUP(time)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (!getenv("RKNPU_ICOUNT"))
		SKIP(return, "counts instructions, which takes a machine that does");
	if (access(HIST, R_OK))
		SKIP(return, "the kernel has no histograms of events, or this is not root");
	ASSERT_EQ(0, rk_client_init(&self->c));
	/* Powers the core up and attaches. */
	ASSERT_EQ(0, rk_client_run(&self->c, 1));
	ASSERT_EQ(0, drmSyncobjCreate(self->c.fd, 0, &self->sync.handle));
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &self->task));
	ASSERT_EQ(0, rk_fini(&self->c.inc.bo));
	rk_stay_awake(true);
}

FIXTURE_TEARDOWN(time)
{
	rk_model_calm();
	rk_stay_awake(false);
	if (self->c.fd > 0)
		rk_client_fini(&self->c);
}

/* One on core 0 that takes long, and @n behind it that wait for its fence. */
static int queue(FIXTURE_DATA(time) *self, uint32_t n)
{
	struct drm_rocket_job_ext first;
	int ret;

	for (uint32_t i = 0; i < AT_ONCE; i++) {
		rk_job_ext(&self->jobs[i], &self->task, 1, NULL, NULL);
		self->jobs[i].core_mask = 1;
		self->jobs[i].in_syncs = (uintptr_t)&self->sync;
		self->jobs[i].in_sync_count = 1;
	}
	rk_job_ext(&first, &self->task, 1, &self->c.in, &self->c.out);
	first.core_mask = 1;
	first.timeout_ns = 20000 * RK_MS;
	first.out_syncs = (uintptr_t)&self->sync;
	first.out_sync_count = 1;
	rk_latency_us(4000000);
	ret = rk_submit_ext(self->c.fd, &first, 1, NULL);
	rk_sleep_ms(5);
	rk_latency_us(0);
	for (uint32_t done = 0, some; done < n && !ret; done += some) {
		some = n - done < AT_ONCE ? n - done : AT_ONCE;
		ret = rk_submit_ext(self->c.fd, self->jobs, some, NULL);
	}
	return ret;
}

/* Of all interrupts of the NPU since the triggers were set, the longest, or an error. */
static long longest_interrupt(void)
{
	FILE *f = fopen(HIST, "re");
	char line[256], *max;
	long longest = -ENOENT;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		max = strstr(line, "max:");
		if (max && atol(max + 4) > longest)
			longest = atol(max + 4);
	}
	fclose(f);
	return longest;
}

/* The longest interrupt from before the first job's end until all are over, or an error. */
static long measure_interrupt(FIXTURE_DATA(time) *self, uint32_t n)
{
	long long end = rk_core_stat(0, "jobs") + n + 1;
	long ret = queue(self, n);

	if (!ret)
		ret = rk_write_file(ENTRY, REMEMBER);
	if (!ret)
		ret = rk_write_file(EXIT, LONGEST);
	if (!ret)
		ret = rk_prep(&self->c.out, 60000);
	for (int i = 0; i < 6000 && !ret && rk_core_stat(0, "jobs") != end; i++)
		rk_sleep_ms(10);
	if (!ret)
		ret = rk_core_stat(0, "jobs") == end ? longest_interrupt() : -ETIME;
	rk_write_file(EXIT, "!" LONGEST);
	rk_write_file(ENTRY, "!" REMEMBER);
	return ret;
}

RK_TEST_F_TIMEOUT(time, an_interrupt_and_jobs_that_wait, 300,
		  "an interrupt takes as long with 8191 jobs that wait for the one it ends as with one")
{
	static const uint32_t counts[] = { 1, 100, MOST };
	long took[3];

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		took[i] = measure_interrupt(self, counts[i]);
		TH_LOG("%u jobs wait: %ld instructions", counts[i], took[i]);
		ASSERT_LT(0, took[i]);
	}
	EXPECT_GT(2 * took[0], took[1]);
	EXPECT_GT(2 * took[0], took[2]);
}

RK_HARNESS_MAIN
