// SPDX-License-Identifier: GPL-2.0-only
/* Quiet jobs: DRM_ROCKET_JOB_QUIET, bursts of them that take one interrupt, and how each of their jobs ends. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "rknpu_harness.h"

#define CORE		0
/* In the driver: one kick runs no more. */
#define KICK_JOBS	256
#define MAX_JOBS	300
#define OPS		7
#define OP_TASKS	48
/* Long enough to look at what the others do meanwhile. */
#define LONG_US		100000
#define FIRST		(-128)
#define TAG		0x7a67000000000100ull

struct burst {
	int fd;
	struct rk_op op[OPS];
	struct rk_bo in;
	struct rk_bo out;
	struct drm_rocket_task task[MAX_JOBS];
	struct drm_rocket_job_ext job[MAX_JOBS];
	uint64_t first;
};

static uint64_t slice(const struct burst *b, int i)
{
	return b->out.iova + (uint64_t)i * RK_BYTES;
}

/* A program for each job, which names the next one; @serial: each reads what the one before it wrote. */
static int burst_programs(struct burst *b, int n, bool serial)
{
	int ret = 0;

	for (int i = 0; i < OPS; i++)
		b->op[i].used = 2 * RK_PAGE;
	for (int i = 0; i < n && !ret; i++) {
		ret = rk_op_task(&b->op[i / OP_TASKS], serial && i ? slice(b, i - 1) : b->in.iova,
				 slice(b, i), &b->task[i]);
		if (i)
			rk_chain(&b->op[(i - 1) / OP_TASKS], &b->task[i - 1], &b->task[i]);
	}
	for (int i = 0; i < OPS && !ret; i++)
		ret = rk_fini(&b->op[i].bo);
	return ret;
}

static int burst_init(struct burst *b)
{
	int ret;

	memset(b, 0, sizeof(*b));
	b->fd = rk_open();
	if (b->fd < 0)
		return b->fd;
	ret = rk_bo_init(&b->in, b->fd, RK_BYTES);
	if (!ret)
		ret = rk_bo_init(&b->out, b->fd, MAX_JOBS * RK_BYTES);
	for (int i = 0; i < OPS && !ret; i++)
		ret = rk_op_init(&b->op[i], b->fd, RK_M, 1, 1);
	return ret ? ret : rk_bo_fill(&b->in, FIRST, RK_BYTES);
}

static void burst_fini(struct burst *b)
{
	if (b->fd <= 0)
		return;
	for (int i = 0; i < OPS; i++)
		rk_op_fini(&b->op[i]);
	rk_bo_fini(&b->in);
	rk_bo_fini(&b->out);
	close(b->fd);
	b->fd = 0;
}

/* @n jobs of one task, of which the last one is not quiet. */
static void burst_jobs(struct burst *b, int n)
{
	for (int i = 0; i < n; i++) {
		rk_job_ext(&b->job[i], &b->task[i], 1, &b->in, &b->out);
		b->job[i].core_mask = 1u << CORE;
		b->job[i].flags = i < n - 1 ? DRM_ROCKET_JOB_QUIET : 0;
		b->job[i].tag = TAG + i;
	}
}

static int burst_submit(struct burst *b, int n)
{
	int ret = rk_bo_fill(&b->out, 0x55, MAX_JOBS * RK_BYTES);

	return ret ? ret : rk_submit_ext(b->fd, b->job, n, &b->first);
}

static int burst_wait(struct burst *b, int i, struct drm_rocket_wait_job *w)
{
	return rk_wait_job(b->fd, b->first + i, RK_FOREVER, w);
}

static bool burst_is_over(struct burst *b, int i)
{
	struct drm_rocket_wait_job w;

	return rk_wait_job(b->fd, b->first + i, 0, &w) != -EBUSY;
}

/* Of the first @n outputs; those of serial jobs rise by 1. */
static long burst_wrong(struct burst *b, int n, bool serial)
{
	long wrong = 0;
	int ret = rk_prep(&b->out, 10000);

	if (ret && ret != -ETIME && ret != -EFAULT)
		return ret;
	for (int i = 0; i < n; i++) {
		uint8_t value = FIRST + 1 + (serial ? i : 0);

		for (unsigned int k = 0; k < RK_BYTES; k++)
			wrong += b->out.map[i * RK_BYTES + k] != value;
	}
	return wrong;
}

/* One output that was not written, or is undefined, is made right. */
static void burst_forgive(struct burst *b, int i)
{
	rk_prep(&b->out, 10000);
	memset(b->out.map + i * RK_BYTES, FIRST + 1, RK_BYTES);
}

/* The fence of the newest job that has @handle among its syncobjs, as a file. */
static int sync_file_of(int fd, uint32_t handle)
{
	int file = -1;

	return drmSyncobjExportSyncFile(fd, handle, &file) ? -1 : file;
}

/* 1: done, negative: its error, 0: not over. */
static int sync_file_status(int file)
{
	struct sync_file_info info = { 0 };

	return ioctl(file, SYNC_IOC_FILE_INFO, &info) ? -1000 : info.status;
}

static bool sync_file_ends(int file, int ms)
{
	struct pollfd p = { .fd = file, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

FIXTURE(quiet) {
	struct burst b;
	long long irqs;
	long long polls;
	uint64_t kicks;
	unsigned int per_kick;
};

static void count(FIXTURE_DATA(quiet) *self)
{
	self->irqs = rk_cores_stat("irqs");
	self->polls = rk_cores_stat("polls");
	self->kicks = rk_model() ? rk_count_jobs(CORE, NPU_CNT_KICK) : 0;
}

FIXTURE_SETUP(quiet)
{
	struct drm_rocket_wait_job w;

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_QUIET);
	rk_model_calm();
	ASSERT_EQ(0, burst_init(&self->b));
	ASSERT_EQ(0, burst_programs(&self->b, MAX_JOBS, false));
	burst_jobs(&self->b, 1);
	/* The core has power and is scrubbed from then on, and what ran before has interrupted. */
	ASSERT_EQ(0, burst_submit(&self->b, 1));
	ASSERT_EQ(0, burst_wait(&self->b, 0, &w));
	ASSERT_EQ(0, w.error);
	self->per_kick = rk_polled() ? 0 : 1;
	count(self);
}

FIXTURE_TEARDOWN(quiet)
{
	rk_module_param("max_job_ms", 10000);
	rk_model_calm();
	burst_fini(&self->b);
}

RK_TEST_F(quiet, one_interrupt, "bursts of 1, 16 and 256 jobs take one interrupt each, and all of their results are right")
{
	static const int sizes[] = { 1, 16, KICK_JOBS, MAX_JOBS };
	struct burst *b = &self->b;
	struct drm_rocket_wait_job w;

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		int n = sizes[s], kicks = n > KICK_JOBS ? 2 : 1;

		burst_jobs(b, n);
		count(self);
		ASSERT_EQ(0, burst_submit(b, n));
		ASSERT_EQ(0, burst_wait(b, n - 1, &w));
		EXPECT_EQ(0, w.error);
		EXPECT_EQ(self->irqs + kicks * self->per_kick, rk_cores_stat("irqs")) TH_LOG("%d jobs", n);
		if (!rk_polled())
			EXPECT_EQ(self->polls, rk_cores_stat("polls"));
		if (rk_model())
			EXPECT_EQ(self->kicks + kicks, rk_count_jobs(CORE, NPU_CNT_KICK));
		for (int i = 0; i < n; i++) {
			/* None signals after a later one. */
			ASSERT_EQ(0, rk_wait_job(b->fd, b->first + i, 0, &w)) TH_LOG("job %d of %d", i, n);
			EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
			EXPECT_EQ(CORE, w.core);
			EXPECT_EQ(1, w.task);
			EXPECT_EQ(TAG + i, w.tag);
		}
		EXPECT_EQ(0, burst_wrong(b, n, false));
	}
}

RK_TEST_F(quiet, in_order, "each job of a burst reads what the one before it wrote")
{
	struct burst *b = &self->b;

	ASSERT_EQ(0, burst_programs(b, 200, true));
	burst_jobs(b, 200);
	ASSERT_EQ(0, burst_submit(b, 200));
	EXPECT_EQ(0, burst_wrong(b, 200, true));
	EXPECT_EQ(self->irqs + self->per_kick, rk_cores_stat("irqs"));
}

RK_TEST_F(quiet, batched_jobs, "batched jobs of a burst are one chain")
{
	struct burst *b = &self->b;
	struct drm_rocket_wait_job w;

	burst_jobs(b, 5);
	for (int i = 0; i < 5; i++) {
		b->job[i].tasks = (uintptr_t)&b->task[3 * i];
		b->job[i].task_count = 3;
		b->job[i].flags |= DRM_ROCKET_JOB_BATCHED;
	}
	ASSERT_EQ(0, burst_submit(b, 5));
	for (int i = 4; i >= 0; i--) {
		ASSERT_EQ(0, burst_wait(b, i, &w));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		EXPECT_EQ(3, w.task);
	}
	EXPECT_EQ(0, burst_wrong(b, 15, false));
	EXPECT_EQ(self->irqs + self->per_kick, rk_cores_stat("irqs"));
}

RK_TEST_F(quiet, polled, "a burst of polled jobs takes no interrupt")
{
	struct burst *b = &self->b;
	struct drm_rocket_wait_job w;

	burst_jobs(b, 16);
	for (int i = 0; i < 16; i++)
		b->job[i].flags |= DRM_ROCKET_JOB_POLLED;
	ASSERT_EQ(0, burst_submit(b, 16));
	ASSERT_EQ(0, burst_wait(b, 15, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(0, burst_wrong(b, 16, false));
	EXPECT_EQ(self->irqs, rk_cores_stat("irqs"));
}

RK_TEST_F(quiet, bursts_follow_each_other, "bursts that wait for each other stay bursts")
{
	struct burst *b = &self->b;

	burst_jobs(b, 16);
	if (rk_model())
		rk_latency_us(1000);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, rk_submit_ext(b->fd, b->job, 16, NULL));
	EXPECT_EQ(0, burst_wrong(b, 16, false));
	EXPECT_EQ(self->irqs + 4 * self->per_kick, rk_cores_stat("irqs"));
}

RK_TEST_F(quiet, waits_as_a_whole, "a burst begins when all of its jobs may, and others wait for its jobs")
{
	struct burst *b = &self->b;
	struct drm_rocket_job_ext job;
	struct drm_rocket_task task;
	struct drm_rocket_wait_job w;
	struct rk_bo in;
	uint64_t before, after;

	RK_REQUIRE_MODEL();
	/* What a later job of the burst reads another core writes meanwhile. */
	ASSERT_EQ(0, rk_bo_init(&in, b->fd, RK_BYTES));
	ASSERT_EQ(0, rk_bo_fill(&in, FIRST - 1, RK_BYTES));
	ASSERT_EQ(0, rk_op_task(&b->op[OPS - 1], b->in.iova, in.iova, &task));
	rk_job_ext(&job, &task, 1, &b->in, &in);
	job.core_mask = 2;
	rk_latency_us(LONG_US);
	burst_jobs(b, 4);
	b->job[2].in_bo_handles = (uintptr_t)&in.handle;
	ASSERT_EQ(0, rk_bo_fill(&b->out, 0x55, MAX_JOBS * RK_BYTES));
	ASSERT_EQ(0, rk_submit_ext(b->fd, &job, 1, &before));
	ASSERT_EQ(0, rk_submit_ext(b->fd, b->job, 4, &b->first));
	/* And a job on a third core reads what a quiet one wrote. */
	ASSERT_EQ(0, rk_op_task(&b->op[OPS - 1], slice(b, 1), slice(b, 10), &task));
	rk_job_ext(&job, &task, 1, &b->out, &b->out);
	job.core_mask = 4;
	ASSERT_EQ(0, rk_submit_ext(b->fd, &job, 1, &after));
	ASSERT_EQ(0, burst_wait(b, 0, &w));
	EXPECT_EQ(0, rk_wait_job(b->fd, before, 0, &w));
	ASSERT_EQ(0, rk_wait_job(b->fd, after, RK_FOREVER, &w));
	EXPECT_TRUE(burst_is_over(b, 3));
	EXPECT_EQ(0, burst_wrong(b, 4, false));
	EXPECT_EQ((uint8_t)(FIRST + 2), b->out.map[10 * RK_BYTES]);
	EXPECT_EQ(self->kicks + 1, rk_count_jobs(CORE, NPU_CNT_KICK));
	rk_bo_fini(&in);
}

RK_TEST_F(quiet, waited_for, "who waits for a job in the middle hears of its end before the burst is over, however it waits")
{
	struct burst *b = &self->b;
	struct drm_rocket_sync sync = { 0 };
	struct drm_rocket_wait_job w;
	struct rk_bo mine;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, drmSyncobjCreate(b->fd, 0, &sync.handle));
	ASSERT_EQ(0, rk_bo_init(&mine, b->fd, RK_BYTES));
	burst_jobs(b, 12);
	b->job[3].out_syncs = (uintptr_t)&sync;
	b->job[3].out_sync_count = 1;
	b->job[5].out_bo_handles = (uintptr_t)&mine.handle;
	rk_latency_us(LONG_US);
	ASSERT_EQ(0, burst_submit(b, 12));
	ASSERT_EQ(0, burst_wait(b, 1, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	EXPECT_EQ(TAG + 1, w.tag);
	EXPECT_TRUE(burst_is_over(b, 0));
	EXPECT_FALSE(burst_is_over(b, 11));
	ASSERT_EQ(0, drmSyncobjWait(b->fd, &sync.handle, 1, RK_FOREVER, 0, NULL));
	EXPECT_FALSE(burst_is_over(b, 11));
	ASSERT_EQ(0, rk_prep(&mine, 10000));
	EXPECT_FALSE(burst_is_over(b, 11));
	EXPECT_LT(self->polls, rk_cores_stat("polls"));
	ASSERT_EQ(0, burst_wait(b, 11, &w));
	EXPECT_EQ(0, burst_wrong(b, 12, false));
	EXPECT_EQ(self->irqs + self->per_kick, rk_cores_stat("irqs"));
	EXPECT_EQ(self->kicks + 1, rk_count_jobs(CORE, NPU_CNT_KICK));
	rk_bo_fini(&mine);
}

RK_TEST_F(quiet, waited_for_before, "who waited for a job before its burst began hears of its end, too")
{
	struct burst *b = &self->b;
	struct drm_rocket_sync sync = { 0 };
	struct drm_rocket_wait_job w;
	int file;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, drmSyncobjCreate(b->fd, 0, &sync.handle));
	rk_latency_us(LONG_US);
	/* The core is busy meanwhile. */
	burst_jobs(b, 1);
	ASSERT_EQ(0, rk_submit_ext(b->fd, b->job, 1, NULL));
	burst_jobs(b, 8);
	b->job[1].out_syncs = (uintptr_t)&sync;
	b->job[1].out_sync_count = 1;
	ASSERT_EQ(0, rk_submit_ext(b->fd, b->job, 8, &b->first));
	file = sync_file_of(b->fd, sync.handle);
	ASSERT_LE(0, file);
	ASSERT_FALSE(sync_file_ends(file, 0));
	ASSERT_TRUE(sync_file_ends(file, 10000));
	EXPECT_EQ(1, sync_file_status(file));
	EXPECT_FALSE(burst_is_over(b, 7));
	ASSERT_EQ(0, burst_wait(b, 7, &w));
	EXPECT_EQ(0, burst_wrong(b, 8, false));
	close(file);
}

RK_TEST_F(quiet, hang, "a job that hangs in the middle of a burst fails with its cause, and the others are done")
{
	struct burst *b = &self->b;
	struct drm_rocket_wait_job w;

	RK_REQUIRE_MODEL();
	burst_jobs(b, 40);
	for (int i = 0; i < 40; i++)
		b->job[i].timeout_ns = 200 * RK_MS * rk_slow();
	rk_fault_arm(CORE, NPU_FAULT_HANG, 25, 1);
	ASSERT_EQ(0, burst_submit(b, 40));
	for (int i = 39; i >= 0; i--) {
		ASSERT_EQ(0, burst_wait(b, i, &w));
		EXPECT_EQ(i == 25 ? DRM_ROCKET_CAUSE_TIMEOUT : DRM_ROCKET_CAUSE_DONE, w.cause) TH_LOG("job %d", i);
		EXPECT_EQ(i == 25 ? -ETIME : 0, w.error);
		EXPECT_EQ(i == 25 ? 0 : 1, w.task);
		EXPECT_EQ(TAG + i, w.tag);
	}
	EXPECT_EQ(-ETIME, rk_prep(&b->out, 10000));
	burst_forgive(b, 25);
	EXPECT_EQ(0, burst_wrong(b, 40, false));
	EXPECT_EQ(self->kicks + 2, rk_count_jobs(CORE, NPU_CNT_KICK));
	EXPECT_EQ(self->irqs + self->per_kick, rk_cores_stat("irqs"));
}

RK_TEST_F(quiet, page_fault, "a page fault in the middle of a burst is told of the job that had it")
{
	struct burst *b = &self->b;
	struct drm_rocket_wait_job w;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_op_task(&b->op[OPS - 1], b->in.iova, 0xfff00000, &b->task[3]));
	rk_chain(&b->op[0], &b->task[2], &b->task[3]);
	rk_chain(&b->op[OPS - 1], &b->task[3], &b->task[4]);
	ASSERT_EQ(0, rk_fini(&b->op[0].bo));
	ASSERT_EQ(0, rk_fini(&b->op[OPS - 1].bo));
	burst_jobs(b, 8);
	ASSERT_EQ(0, burst_submit(b, 8));
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, burst_wait(b, i, &w));
		EXPECT_EQ(i == 3 ? -EFAULT : 0, w.error) TH_LOG("job %d", i);
		EXPECT_EQ(i == 3 ? 0xfff00000 : 0, w.fault_address);
	}
	burst_forgive(b, 3);
	EXPECT_EQ(0, burst_wrong(b, 8, false));
}

/* The fences of the first @n jobs, as files. */
static bool take_fences(struct burst *b, struct drm_rocket_sync *sync, int n)
{
	for (int i = 0; i < n; i++) {
		if (drmSyncobjCreate(b->fd, 0, &sync[i].handle))
			return false;
		b->job[i].out_syncs = (uintptr_t)&sync[i];
		b->job[i].out_sync_count = 1;
	}
	return true;
}

RK_TEST_F(quiet, closed, "when the file is closed in the middle of a burst each fence signals, those not begun with ECANCELED")
{
	struct burst *b = &self->b;
	struct drm_rocket_sync sync[12] = { 0 };
	struct drm_rocket_wait_job w;
	int file[12];

	RK_REQUIRE_MODEL();
	burst_jobs(b, 12);
	ASSERT_TRUE(take_fences(b, sync, 12));
	rk_latency_us(400000);
	ASSERT_EQ(0, burst_submit(b, 12));
	for (int i = 0; i < 12; i++) {
		file[i] = sync_file_of(b->fd, sync[i].handle);
		ASSERT_LE(0, file[i]);
	}
	ASSERT_EQ(0, burst_wait(b, 1, &w));
	burst_fini(b);
	for (int i = 0; i < 12; i++) {
		ASSERT_TRUE(sync_file_ends(file[i], 10000 * rk_slow())) TH_LOG("job %d", i);
		if (i < 2)
			EXPECT_EQ(1, sync_file_status(file[i]));
		if (i > 8)
			EXPECT_EQ(-ECANCELED, sync_file_status(file[i]));
		close(file[i]);
	}
	rk_latency_us(0);
	EXPECT_EQ(0, rk_run_on_every_core((b->fd = rk_open()), 1));
	close(b->fd);
	b->fd = 0;
}

RK_TEST_F(quiet, killed, "when a process is killed in the middle of a burst nothing of it stays")
{
	long long bytes = rk_stat("bo_bytes");
	int status, ready[2];
	char byte;
	pid_t pid;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, pipe(ready));
	rk_latency_us(LONG_US);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		static struct burst b;
		struct drm_rocket_wait_job w;

		if (burst_init(&b) || burst_programs(&b, 16, false))
			_exit(1);
		burst_jobs(&b, 16);
		if (burst_submit(&b, 16) || burst_wait(&b, 1, &w))
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			burst_wait(&b, 9, &w);
		_exit(1);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_TRUE(rk_stat_settles("bo_bytes", bytes));
	rk_latency_us(0);
	burst_jobs(&self->b, 4);
	ASSERT_EQ(0, burst_submit(&self->b, 4));
	EXPECT_EQ(0, burst_wrong(&self->b, 4, false));
}

RK_TEST_F(quiet, unbound, "when the device goes in the middle of a burst each fence signals, those not begun with ENODEV")
{
	struct burst *b = &self->b;
	struct drm_rocket_sync sync[12] = { 0 };
	struct drm_rocket_wait_job w;
	int file[12], last = 1;

	RK_REQUIRE_MODEL();
	burst_jobs(b, 12);
	ASSERT_TRUE(take_fences(b, sync, 12));
	rk_latency_us(400000);
	ASSERT_EQ(0, burst_submit(b, 12));
	for (int i = 0; i < 12; i++) {
		file[i] = sync_file_of(b->fd, sync[i].handle);
		ASSERT_LE(0, file[i]);
	}
	ASSERT_EQ(0, burst_wait(b, 1, &w));
	ASSERT_EQ(0, rk_rebind(CORE));
	for (int i = 0; i < 12; i++) {
		int status;

		ASSERT_TRUE(sync_file_ends(file[i], 10000 * rk_slow())) TH_LOG("job %d", i);
		status = sync_file_status(file[i]);
		if (i < 2) {
			EXPECT_EQ(1, status);
		} else {
			EXPECT_TRUE(status == -ENODEV || (status == 1 && last == 1)) TH_LOG("%d", status);
		}
		last = status;
		close(file[i]);
	}
	EXPECT_EQ(-ENODEV, last);
	burst_fini(b);
	rk_latency_us(0);
	b->fd = rk_open();
	EXPECT_EQ(0, rk_run_on_every_core(b->fd, 1));
	close(b->fd);
	b->fd = 0;
}

RK_TEST_F(quiet, time_limit, "a burst keeps its core no longer than one job may, and what is behind runs after others")
{
	struct burst *b = &self->b;
	struct drm_rocket_wait_job w;
	int late = 0;

	RK_REQUIRE_MODEL();
	rk_module_param("max_job_ms", 300);
	burst_jobs(b, 12);
	for (int i = 0; i < 12; i++)
		b->job[i].timeout_ns = 200 * RK_MS;
	rk_latency_us(LONG_US);
	ASSERT_EQ(0, burst_submit(b, 12));
	for (int i = 0; i < 12; i++) {
		ASSERT_EQ(0, burst_wait(b, i, &w));
		EXPECT_TRUE(!w.error || w.error == -ETIME) TH_LOG("job %d: %d", i, w.error);
		if (w.error) {
			late++;
			burst_forgive(b, i);
		}
	}
	EXPECT_LE(1, late);
	EXPECT_GE(4, late);
	/* Each one that is late ends a kick, and the last job the last one. */
	EXPECT_EQ(self->kicks + late + !w.error, rk_count_jobs(CORE, NPU_CNT_KICK));
	EXPECT_EQ(0, burst_wrong(b, 12, false));
}

RK_TEST_F(quiet, alone, "a quiet job with nothing behind it ends like another, waited for or not")
{
	struct burst *b = &self->b;
	struct drm_rocket_sync sync = { 0 };
	struct drm_rocket_wait_job w;
	int file;

	burst_jobs(b, 1);
	b->job[0].flags = DRM_ROCKET_JOB_QUIET;
	ASSERT_EQ(0, burst_submit(b, 1));
	ASSERT_EQ(0, burst_wait(b, 0, &w));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
	EXPECT_EQ(0, burst_wrong(b, 1, false));

	/* The last one of two is quiet, too. */
	burst_jobs(b, 2);
	b->job[1].flags = DRM_ROCKET_JOB_QUIET;
	ASSERT_TRUE(take_fences(b, &sync, 1));
	ASSERT_EQ(0, burst_submit(b, 2));
	file = sync_file_of(b->fd, sync.handle);
	ASSERT_LE(0, file);
	burst_fini(b);
	EXPECT_TRUE(sync_file_ends(file, 10000 * rk_slow()));
	EXPECT_NE(0, sync_file_status(file));
	close(file);
}

RK_TEST_F(quiet, refused, "what cannot run in one go is refused")
{
	struct burst *b = &self->b;
	struct drm_rocket_job_ext *last = &b->job[1];

#define REFUSES(change)									\
	do {										\
		burst_jobs(b, 2);							\
		change;									\
		EXPECT_EQ(-EINVAL, rk_submit_ext(b->fd, b->job, 2, NULL)) TH_LOG(#change);	\
	} while (0)

	REFUSES(b->job[0].flags |= DRM_ROCKET_JOB_DIVISIBLE);
	REFUSES(last->flags |= DRM_ROCKET_JOB_DIVISIBLE);
	REFUSES(b->job[0].task_count = 2);
	REFUSES(last->task_count = 2);
	REFUSES(last->core_mask = 2);
	REFUSES(last->priority = DRM_ROCKET_PRIORITY_LOW);
	REFUSES(last->timeout_ns = 300 * RK_MS);
	REFUSES(last->flags |= DRM_ROCKET_JOB_POLLED);
	REFUSES(b->job[0].flags |= DRM_ROCKET_JOB_POLLED);
	REFUSES(b->job[0].flags |= 1u << 19);
	REFUSES(b->job[0].reserved = 1);
	/* The same priority by two names. */
	burst_jobs(b, 2);
	last->priority = DRM_ROCKET_PRIORITY_NORMAL;
	ASSERT_EQ(0, burst_submit(b, 2));
	EXPECT_EQ(0, burst_wrong(b, 2, false));
}

RK_HARNESS_MAIN
