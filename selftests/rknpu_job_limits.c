// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many jobs, tasks and uses of BOs a file may queue, and what jobs that are over keep.
 *
 * boot: memory
 * boot: noiommujob
 * boot: debug-ext
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_util.h"

FIXTURE(job_limits) {
	int fd;
};

FIXTURE_SETUP(job_limits)
{
	RK_OPEN_OR_SKIP(self->fd);
	if (!rk_ours())
		SKIP(return, "no limits here");
}

FIXTURE_TEARDOWN(job_limits)
{
	rk_model_calm();
	rk_module_param("max_job_ms", 10000);
	close(self->fd);
}

#define FILE_TASKS	1048576u
#define JOB_TASKS	65536u
/* That of the job which hangs in front of the others, while they are queued. */
#define DEADLINE_MS	6000

/* A job of one task on core 0, and the most tasks that it may have. */
static int queue_init(struct rk_client *c, struct drm_rocket_task *t,
		      struct drm_rocket_job_ext *job)
{
	int ret = rk_client_init(c);

	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[0]);
	for (uint32_t i = 1; i < JOB_TASKS; i++)
		t[i] = t[0];
	rk_job_ext(job, t, 1, NULL, NULL);
	job->core_mask = 1;
	job->timeout_ns = DEADLINE_MS * RK_MS;
	return ret;
}

RK_TEST_F_TIMEOUT(job_limits, tasks_of_a_file, 180,
		  "a file can queue tasks up to its limit, and others can theirs")
{
	static struct drm_rocket_task t[JOB_TASKS];
	struct drm_rocket_job_ext job;
	struct rk_client c, other;
	unsigned int n = 0;
	int ret;

	RK_REQUIRE_MODEL();
	if (rk_slow() > 1)
		SKIP(return, "the job that hangs would be given up before a million tasks were read");
	ASSERT_EQ(0, queue_init(&c, t, &job));
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_ext(c.fd, &job, 1, NULL));
	job.task_count = JOB_TASKS;
	while (!(ret = rk_submit_ext(c.fd, &job, 1, NULL)))
		n++;
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(FILE_TASKS / JOB_TASKS - 1, n);
	job.task_count = JOB_TASKS - 1;
	EXPECT_EQ(0, rk_submit_ext(c.fd, &job, 1, NULL));
	job.task_count = 1;
	EXPECT_EQ(-EBUSY, rk_submit_ext(c.fd, &job, 1, NULL));
	/* It is nobody else's. */
	EXPECT_EQ(0, rk_client_init(&other));
	EXPECT_EQ(0, rk_client_run(&other, 1));
	rk_client_fini(&other);
	rk_client_fini(&c);
}

RK_TEST_F_TIMEOUT(job_limits, tasks_are_given_back, 180,
		  "tasks count until their job is over, whether they ran or not")
{
	static struct drm_rocket_task t[JOB_TASKS];
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	struct rk_client c;
	uint64_t id;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, queue_init(&c, t, &job));
	job.task_count = JOB_TASKS;
	rk_fault_arm(0, NPU_FAULT_DMA_READ, 0, 0);
	for (uint32_t i = 0; i < FILE_TASKS / JOB_TASKS + 2; i++) {
		ASSERT_EQ(0, rk_submit_ext(c.fd, &job, 1, &id)) TH_LOG("job %u", i);
		ASSERT_EQ(0, rk_wait_job(c.fd, id, RK_FOREVER, &w));
		EXPECT_EQ(-EIO, w.error);
	}
	rk_model_calm();
	EXPECT_EQ(0, rk_client_run(&c, 1));
	rk_client_fini(&c);
}

#define READ_BOS	32
#define READERS		1024

RK_TEST_F_TIMEOUT(job_limits, uses_of_bos_in_a_call, 300,
		  "a call whose many jobs name many BOs that many use is refused, not worked on for minutes")
{
	static struct drm_rocket_task t[JOB_TASKS], others[JOB_TASKS];
	static struct drm_rocket_job_ext jobs[READERS];
	struct drm_rocket_job_ext hang;
	struct drm_rocket_wait_job w;
	struct rk_client c, other;
	uint32_t handle[READ_BOS];
	uint64_t first;

	RK_REQUIRE_MODEL();
	if (rk_slow() > 1)
		SKIP(return, "takes minutes");
	rk_module_param("max_job_ms", 60000);
	ASSERT_EQ(0, queue_init(&other, others, &hang));
	ASSERT_EQ(0, queue_init(&c, t, &jobs[0]));
	for (int i = 0; i < READ_BOS; i++) {
		ASSERT_EQ(0, rk_create_bo(c.fd, RK_PAGE, &handle[i]));
	}
	jobs[0].in_bo_handles = (uintptr_t)handle;
	jobs[0].in_bo_handle_count = READ_BOS;
	for (int i = 1; i < READERS; i++)
		jobs[i] = jobs[0];
	hang.timeout_ns = 60000 * RK_MS;
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_ext(other.fd, &hang, 1, NULL));
	/* Of two files the other one's first job may come first. */
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 10000));
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, READERS, NULL));
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, READERS, NULL));
	EXPECT_EQ(-EBUSY, rk_submit_ext(c.fd, jobs, READERS, NULL));
	/* There is room for a few, and once the lists are short again for as many as before. */
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, 8, &first));
	rk_client_fini(&other);
	EXPECT_EQ(0, rk_wait_job(c.fd, first + 7, RK_FOREVER, &w));
	EXPECT_EQ(0, rk_submit_ext(c.fd, jobs, READERS, &first));
	EXPECT_EQ(0, rk_wait_job(c.fd, first + READERS - 1, RK_FOREVER, &w));
	rk_client_fini(&c);
}

RK_TEST_F_TIMEOUT(job_limits, number_of_jobs_of_a_file, 180, "a file can queue jobs up to its limit")
{
	static struct drm_rocket_task t[JOB_TASKS];
	static struct drm_rocket_job_ext jobs[1024];
	uint64_t max = rk_param(self->fd, DRM_ROCKET_PARAM_MAX_FILE_JOBS);
	struct drm_rocket_wait_job w;
	uint64_t hung = 0;
	struct rk_client c;
	bool over;
	int ret;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, queue_init(&c, t, &jobs[0]));
	ASSERT_EQ(0, max % ARRAY_SIZE(jobs));
	for (size_t i = 1; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = jobs[0];
	/* More run than may wait. */
	for (uint64_t n = 0; n < max + ARRAY_SIZE(jobs); n += ARRAY_SIZE(jobs)) {
		uint64_t first;

		ASSERT_EQ(0, rk_submit_ext(c.fd, jobs, ARRAY_SIZE(jobs), &first));
		ASSERT_EQ(0, rk_wait_job(c.fd, first + ARRAY_SIZE(jobs) - 1, RK_FOREVER, &w));
	}
	/* None does. */
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	for (uint64_t n = 0; n < max; n += ARRAY_SIZE(jobs))
		ASSERT_EQ(0, rk_submit_ext(c.fd, jobs, ARRAY_SIZE(jobs), n ? NULL : &hung));
	ret = rk_submit_ext(c.fd, jobs, 1, NULL);
	/* Its end may be forgotten, if as many ended after it. */
	over = !ret && rk_slow() > 1 && rk_wait_job(c.fd, hung, 0, &w) != -EBUSY;
	rk_client_fini(&c);
	if (over)
		SKIP(return, "the job that hangs was given up before so many were queued");
	EXPECT_EQ(-EBUSY, ret);
}

/* As many handles as a call may have. */
#define NAMED_BOS	128
/* Lists of more take over 8 KiB, which kernels before 5.14 forget to take off the sum when they free it. */
#define NAMING_JOBS	512
#define NAMING_CALLS	8

FIXTURE(job_fences) {
	struct rk_client c;
	uint32_t handle[NAMING_CALLS][NAMED_BOS];
};

FIXTURE_VARIANT(job_fences) {
	/* A job that is not over names the BOs, too. */
	bool one_is_left;
};

FIXTURE_VARIANT_ADD(job_fences, all_are_over) { .one_is_left = false };
FIXTURE_VARIANT_ADD(job_fences, one_is_left) { .one_is_left = true };

FIXTURE_SETUP(job_fences)
{
	RK_OPEN_OR_SKIP(self->c.fd);
	if (!rk_ours())
		SKIP(return, "another driver");
	close(self->c.fd);
	ASSERT_EQ(0, rk_client_init(&self->c));
	for (int i = 0; i < NAMING_CALLS; i++)
		for (int j = 0; j < NAMED_BOS; j++)
			ASSERT_EQ(0, rk_create_bo(self->c.fd, RK_PAGE, &self->handle[i][j]));
}

FIXTURE_TEARDOWN(job_fences)
{
	rk_model_calm();
	rk_module_param("max_job_ms", 10000);
	rk_client_fini(&self->c);
}

static bool unreclaimable_settles_below(long long bytes)
{
	for (int i = 0; i < 1000 && rk_meminfo("SUnreclaim") >= bytes; i++)
		rk_sleep_ms(10);
	if (rk_meminfo("SUnreclaim") < bytes)
		return true;
	printf("# %lld bytes, not below %lld\n", rk_meminfo("SUnreclaim"), bytes);
	return false;
}

/* A job for each of the sets of BOs, of which the first one hangs on core 0. */
static int leave_one(struct rk_client *c, struct drm_rocket_job_ext *job,
		     uint32_t handle[NAMING_CALLS][NAMED_BOS])
{
	int ret = 0;

	rk_module_param("max_job_ms", 60000);
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	job->core_mask = 1;
	job->timeout_ns = 60000 * RK_MS;
	for (int i = 0; i < NAMING_CALLS && !ret; i++) {
		job->in_bo_handles = (uintptr_t)handle[i];
		ret = rk_submit_ext(c->fd, job, 1, NULL);
	}
	job->core_mask = 2;
	job->timeout_ns = 0;
	return ret ?: rk_wait_count(0, NPU_CNT_BUSY, 1, 10000) ? 0 : -ETIMEDOUT;
}

RK_TEST_F_TIMEOUT(job_fences, go_with_the_jobs, 300,
		  "the fences of jobs that are over take no memory as long as the BOs which they named")
{
	static struct drm_rocket_job_ext jobs[NAMING_JOBS];
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t;
	long long before = 0;
	uint64_t first;

	if (rk_no_iommu() || rk_slow() > 1)
		SKIP(return, "other memory comes and goes meanwhile");
	ASSERT_EQ(0, rk_op_task(&self->c.inc, self->c.in.iova, self->c.out.iova, &t));
	rk_job_ext(&jobs[0], &t, 1, NULL, NULL);
	jobs[0].in_bo_handle_count = NAMED_BOS;
	if (variant->one_is_left) {
		RK_REQUIRE_MODEL();
		if (rk_param(self->c.fd, DRM_ROCKET_PARAM_CORE_COUNT) < 2)
			SKIP(return, "one core");
		ASSERT_EQ(0, leave_one(&self->c, &jobs[0], self->handle));
	}
	for (int i = 0; i < NAMING_CALLS; i++) {
		jobs[0].in_bo_handles = (uintptr_t)self->handle[i];
		for (int j = 1; j < NAMING_JOBS; j++)
			jobs[j] = jobs[0];
		ASSERT_EQ(0, rk_submit_ext(self->c.fd, jobs, NAMING_JOBS, &first));
		ASSERT_EQ(0, rk_wait_job(self->c.fd, first + NAMING_JOBS - 1, RK_FOREVER, &w));
		/* What the allocator keeps for the next jobs is there after the first ones. */
		if (!i)
			before = rk_meminfo("SUnreclaim");
	}
	/* A quarter of what the BOs count. */
	EXPECT_TRUE(unreclaimable_settles_below(before + NAMING_CALLS * NAMED_BOS * RK_PAGE / 2));
}

RK_HARNESS_MAIN
