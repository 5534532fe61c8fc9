// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs of the vendor's uAPI on several cores: masks, slices, starting together, and what others may do meanwhile.
 *
 * boot: vendor
 * boot: dtvendor
 * boot: armhfvend
 * boot: novirq
 * boot: noiommulib
 * boot: noviommu
 * boot: noviommdis
 * boot: debug-vendor
 * boot: kcsan-exec
 */
#define _GNU_SOURCE
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

RV_FIXTURE(vendor);

RK_TEST_F(vendor, submit_on_each_core, "a job runs on the core that it names")
{
	for (int core = 0; core < 3; core++) {
		struct drm_rknpu_submit s;
		struct rv_chain c;
		uint64_t done = 0;

		ASSERT_EQ(0, rv_chain_init(&c, self->fd, 2, 3, 0));
		ASSERT_EQ(0, rv_chain_fill(&c, core));
		rv_chain_submit(&c, &s);
		s.core_mask = 1 << core;
		for (int i = 0; i < 5; i++) {
			if (i != core)
				s.subcore_task[i] = (struct drm_rknpu_subcore_task) { 0, 0 };
		}
		if (rk_model())
			done = rk_count_jobs(core, NPU_CNT_TASK_DONE);
		ASSERT_EQ(0, rv_submit(self->fd, &s));
		EXPECT_EQ(0, rv_chain_wrong(&c, core + 2));
		EXPECT_EQ(1 << core, s.core_mask);
		if (rk_model())
			EXPECT_EQ(2, rk_count_jobs(core, NPU_CNT_TASK_DONE) - done);
		rv_chain_fini(&c);
	}
}

/* Slices 0 and 1 of two cores, 2, 3 and 4 of three, each with its own tasks. */
static int submit_on_several(int fd, struct rv_chain *c, unsigned int cores)
{
	unsigned int slice = cores == 3 ? 2 : 0;
	struct drm_rknpu_submit s = {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000,
		.task_number = cores, .task_obj_addr = c[0].tasks.obj, .fence_fd = -1,
		.core_mask = (1u << cores) - 1,
	};
	int ret = 0;

	for (unsigned int i = 0; i < cores && !ret; i++) {
		/* All tasks in the first chain's buffer. */
		*rv_chain_task(&c[0], i) = *rv_chain_task(&c[i], 0);
		s.subcore_task[slice + i] = (struct drm_rknpu_subcore_task) { i, 1 };
		ret = rv_chain_fill(&c[i], 20 + i);
	}
	if (!ret)
		ret = rv_sync(&c[0].tasks, 1, 0, c[0].tasks.size);
	if (!ret)
		ret = rv_submit(fd, &s);
	if (!ret && s.task_counter != cores)
		ret = -EILSEQ;
	for (unsigned int i = 0; i < cores && !ret; i++)
		ret = rv_chain_wrong(&c[i], 21 + i) ? -EILSEQ : 0;
	return ret;
}

RK_TEST_F(vendor, submit_on_several_cores, "a job for two or three cores runs its slices there")
{
	for (unsigned int cores = 2; cores <= 3; cores++) {
		struct rv_chain c[3];
		uint64_t done[3] = { 0 };

		for (unsigned int i = 0; i < 3; i++) {
			ASSERT_EQ(0, rv_chain_init(&c[i], self->fd, 1, 0, 0));
			if (rk_model())
				done[i] = rk_count_jobs(i, NPU_CNT_TASK_DONE);
		}
		EXPECT_EQ(0, submit_on_several(self->fd, c, cores));
		for (unsigned int i = 0; i < cores && rk_model(); i++)
			EXPECT_EQ(1, rk_count_jobs(i, NPU_CNT_TASK_DONE) - done[i]);
		for (unsigned int i = 0; i < 3; i++)
			rv_chain_fini(&c[i]);
	}
}

static int start_pinned(int fd, struct rv_chain *c, uint32_t mask, int *fence)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, 1);

	if (ret)
		return ret;
	rv_chain_submit(c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	s.core_mask = mask;
	/* On several cores each runs the same. */
	for (int i = 3; i < 5; i++)
		s.subcore_task[i] = s.subcore_task[0];
	ret = rv_submit(fd, &s);
	*fence = s.fence_fd;
	return ret;
}

/* A program for each core from @first on, of which a job with core_mask 0 runs one: which? */
static int submit_on_any(int fd, struct rv_chain *c, unsigned int first)
{
	struct drm_rknpu_submit s = {
		.flags = DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, .timeout = 6000,
		.task_number = 3 - first, .task_obj_addr = c[0].tasks.obj, .fence_fd = -1,
	};
	int ret = 0, ran = -1;

	for (unsigned int i = 0; i < 3 && !ret; i++) {
		*rv_chain_task(&c[0], i) = *rv_chain_task(&c[i], 0);
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { i, i >= first };
		ret = rv_chain_fill(&c[i], 20 + i);
	}
	ret = ret ?: rv_sync(&c[0].tasks, 1, 0, c[0].tasks.size) ?: rv_submit(fd, &s);
	if (ret)
		return ret;
	for (int i = 0; i < 3; i++) {
		if (rv_chain_wrong(&c[i], 21 + i))
			continue;
		if (ran >= 0)
			return -EILSEQ;
		ran = i;
	}
	return ran >= 0 && s.core_mask == 1u << ran ? ran : -EILSEQ;
}

RK_TEST_F(vendor, each_core_has_its_slice,
	  "a job for any core runs on the least busy one, and that core's slice")
{
	static const uint32_t busy_mask[] = { 1, 2, 3 };
	static const int wanted[] = { 1, 0, 2 };
	struct rv_chain c[3], busy[2];

	RK_REQUIRE_MODEL();
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(0, rv_chain_init(&c[i], self->fd, 1, 0, 0));
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, rv_chain_init(&busy[i], self->fd, 1, 0, 0));
	EXPECT_EQ(0, submit_on_any(self->fd, c, 0));
	/* Not on one without a slice. */
	EXPECT_EQ(1, submit_on_any(self->fd, c, 1));
	rk_latency_us(300000);
	for (unsigned int i = 0; i < 3; i++) {
		int fence[2] = { -1, -1 };

		for (unsigned int core = 0; core < 2; core++) {
			if (busy_mask[i] & 1u << core) {
				ASSERT_EQ(0, start_pinned(self->fd, &busy[core], 1u << core,
							  &fence[core]));
				ASSERT_TRUE(rk_wait_count(core, NPU_CNT_BUSY, 1, 20000));
			}
		}
		EXPECT_EQ(wanted[i], submit_on_any(self->fd, c, 0));
		for (unsigned int core = 0; core < 2; core++) {
			if (fence[core] >= 0)
				EXPECT_EQ(0, rv_wait_fence(fence[core]));
		}
	}
	rk_latency_us(0);
	for (unsigned int i = 0; i < 2; i++)
		rv_chain_fini(&busy[i]);
	for (unsigned int i = 0; i < 3; i++)
		rv_chain_fini(&c[i]);
}

RK_TEST_F(vendor, several_cores_start_together,
	  "a job of two cores starts when both are free, and on both")
{
	struct rv_chain busy, gang, after;
	int fence[3];
	uint64_t started;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&busy, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&gang, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&after, self->fd, 1, 0, 0));
	rk_latency_us(150000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, start_pinned(self->fd, &busy, 2, &fence[0]));
	ASSERT_TRUE(rk_wait_count(1, NPU_CNT_BUSY, 1, 20000));
	started = rk_count(0, NPU_CNT_TASK_STARTED);
	ASSERT_EQ(0, start_pinned(self->fd, &gang, 3, &fence[1]));
	ASSERT_EQ(0, start_pinned(self->fd, &after, 1, &fence[2]));
	rk_sleep_ms(20);
	if (rk_count(1, NPU_CNT_TASK_DONE) == 0)
		EXPECT_EQ(0, rk_count(0, NPU_CNT_TASK_STARTED) - started);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, rv_wait_fence(fence[i]));
	/* Both cores at once, for most of the time that one task takes. */
	EXPECT_EQ(2, rk_ctl_read(NPU_CTL_MAX_BUSY));
	EXPECT_LT(100000000, rk_ctl_read64(NPU_CTL_OVERLAP2_LO));
	EXPECT_EQ(2, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_EQ(2, rk_count(1, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rv_chain_wrong(&gang, 2));
	EXPECT_EQ(0, rv_chain_wrong(&after, 2));
	rv_chain_fini(&busy);
	rv_chain_fini(&gang);
	rv_chain_fini(&after);
}

/* ---- what others may do while a job waits for several cores ---- */

#define FILES		4
#define OTHERS_JOBS	2
#define ANYWHERE_JOBS	3
/* Of the first file's job; those of the others have one. */
#define LONG_TASKS	8
#define TASK_US		500000

FIXTURE(gangs) {
	int fd[FILES];
	struct rv_chain c[FILES];
	int fence[FILES];
};

FIXTURE_SETUP(gangs)
{
	RV_OPEN_OR_SKIP(self->fd[0]);
	RK_REQUIRE_MODEL();
	for (int i = 0; i < FILES; i++) {
		if (i)
			self->fd[i] = rv_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, rv_chain_init(&self->c[i], self->fd[i], i ? 1 : LONG_TASKS, 0, 0));
	}
	rk_latency_us(TASK_US);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
}

FIXTURE_TEARDOWN(gangs)
{
	rk_model_calm();
	rk_module_param("slice_us", 4000);
	for (int i = 0; i < FILES; i++) {
		if (self->c[i].n)
			rv_chain_fini(&self->c[i]);
		close(self->fd[i]);
	}
}

static int start(FIXTURE_DATA(gangs) *self, int file, uint32_t mask)
{
	return start_pinned(self->fd[file], &self->c[file], mask, &self->fence[file]);
}

/* A job on one core, which is idle: it has begun. */
static int occupy(FIXTURE_DATA(gangs) *self, int file, unsigned int core)
{
	int ret = start(self, file, 1 << core);

	if (!ret && !rk_wait_count(core, NPU_CNT_BUSY, 1, 20000))
		ret = -ETIMEDOUT;
	return ret;
}

static int finish(FIXTURE_DATA(gangs) *self, int file)
{
	int ret = rv_wait_fence(self->fence[file]);

	if (!ret && rv_chain_wrong(&self->c[file], 1 + self->c[file].n))
		ret = -EILSEQ;
	return ret;
}

RK_TEST_F(gangs, let_others_run_until_their_cores_are_free,
	  "while jobs for several cores wait for one that is busy, other clients use the rest")
{
	int fence[ANYWHERE_JOBS];

	ASSERT_EQ(0, occupy(self, 0, 2));
	ASSERT_EQ(0, start(self, 1, 7));
	ASSERT_EQ(0, start(self, 2, 3));
	for (int i = 0; i < OTHERS_JOBS; i++) {
		ASSERT_EQ(0, start(self, 3, 1 << i % 2));
		EXPECT_EQ(0, finish(self, 3));
	}
	/* One of them waits for core 2 at first, and cores 0 and 1 take it over. */
	for (int i = 0; i < ANYWHERE_JOBS; i++) {
		ASSERT_EQ(0, start(self, 3, 0));
		fence[i] = self->fence[3];
	}
	for (int i = 0; i < ANYWHERE_JOBS; i++)
		EXPECT_EQ(0, rv_wait_fence(fence[i]));
	EXPECT_GT(LONG_TASKS, rk_count(2, NPU_CNT_TASK_DONE));
	EXPECT_LE(OTHERS_JOBS / 2, rk_count(0, NPU_CNT_TASK_STARTED));
	EXPECT_LE(OTHERS_JOBS / 2, rk_count(1, NPU_CNT_TASK_STARTED));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, finish(self, i));
	}
	EXPECT_EQ(OTHERS_JOBS + ANYWHERE_JOBS + 4, rk_count(0, NPU_CNT_TASK_DONE) +
		  rk_count(1, NPU_CNT_TASK_DONE));
	EXPECT_EQ(LONG_TASKS + 1, rk_count(2, NPU_CNT_TASK_DONE));
}

RK_TEST_F(gangs, let_pairs_run_until_their_cores_are_free,
	  "while a job for three cores waits for one that is busy, jobs for the other two run")
{
	if (rk_one_iommu())
		SKIP(return, "no two clients run at a time");
	ASSERT_EQ(0, occupy(self, 0, 2));
	ASSERT_EQ(0, start(self, 1, 7));
	for (int i = 0; i < OTHERS_JOBS; i++) {
		ASSERT_EQ(0, start(self, 2, 3));
		EXPECT_EQ(0, finish(self, 2));
	}
	EXPECT_GT(LONG_TASKS, rk_count(2, NPU_CNT_TASK_DONE));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, finish(self, i));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(OTHERS_JOBS + 1, rk_count(i, NPU_CNT_TASK_DONE));
	EXPECT_EQ(LONG_TASKS + 1, rk_count(2, NPU_CNT_TASK_DONE));
}

#define OTHER		1234
#define OTHERS_TASK_US	100000

RK_TEST_F(gangs, come_right_after_such_pairs,
	  "a job for three cores that has let one for two go first is next on the third")
{
	if (rk_one_iommu())
		SKIP(return, "no two clients run at a time");
	if (rk_slow() > 1)
		SKIP(return, "takes longer than the job");
	ASSERT_EQ(0, occupy(self, 2, 2));
	ASSERT_EQ(0, start(self, 1, 7));
	/* It ends a little later than what core 2 has, for which there is more then. */
	rk_latency_us(TASK_US + OTHERS_TASK_US);
	ASSERT_EQ(0, start(self, 3, 3));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_BUSY, 1, 20000));
	ASSERT_TRUE(rk_wait_count(1, NPU_CNT_BUSY, 1, 20000));
	rk_latency_us(OTHERS_TASK_US);
	ASSERT_EQ(0, start(self, 0, 4));
	EXPECT_EQ(0, finish(self, 1));
	EXPECT_GT(2 + LONG_TASKS, rk_count(2, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, finish(self, 3));
	EXPECT_EQ(0, finish(self, 2));
	EXPECT_EQ(0, finish(self, 0));
	EXPECT_EQ(2 + LONG_TASKS, rk_count(2, NPU_CNT_TASK_DONE));
}

/* How long time slices are makes no difference. */
static void keep_no_core(struct __test_metadata *_metadata, FIXTURE_DATA(gangs) *self, int slice_us,
			 uint32_t task_us)
{
	rk_module_param("slice_us", slice_us);
	rk_latency_us(task_us);
	ASSERT_EQ(0, occupy(self, 2, 2));
	/* It waits for core 2, and meanwhile core 0 is given something longer. */
	ASSERT_EQ(0, start(self, 1, 7));
	ASSERT_EQ(0, occupy(self, 0, 0));
	/* Then cores 1 and 2 have nothing to wait for but core 0. */
	EXPECT_EQ(0, finish(self, 2));
	ASSERT_EQ(0, start(self, 3, 2));
	EXPECT_EQ(0, finish(self, 3));
	EXPECT_GT(LONG_TASKS, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_EQ(2, rk_count(1, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, finish(self, 0));
	EXPECT_EQ(0, finish(self, 1));
	EXPECT_EQ(LONG_TASKS + 1, rk_count(0, NPU_CNT_TASK_DONE));
}

RK_TEST_F_TIMEOUT(gangs, keep_no_core_for_long, 60,
		  "a job for several cores goes on without a core that stays busy, and so do others behind it")
{
	keep_no_core(_metadata, self, 100000000, TASK_US);
}

RK_TEST_F_TIMEOUT(gangs, keep_no_core_for_two_slices, 60,
		  "a job for several cores that waits for a busy one does so no longer where slices are nearly as long")
{
	if (rk_slow() > 1)
		SKIP(return, "takes longer than the job");
	/* Core 0 is busy for longer than a gang may wait, and for less than two slices and two tasks. */
	keep_no_core(_metadata, self, 450000, 130000);
}

RK_TEST_F(gangs, keep_no_core_from_other_users,
	  "a job for several cores that waits for a busy one soon leaves the others to another user")
{
	struct rv_chain c;
	int fd, fence;

	if (rk_one_iommu())
		SKIP(return, "no two users run at a time");
	if (rk_slow() > 1)
		SKIP(return, "takes longer than the job");
	fd = rk_open_as(OTHER, rv_open);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rv_chain_init(&c, fd, 1, 0, 0));
	rk_latency_us(2 * OTHERS_TASK_US);
	ASSERT_EQ(0, occupy(self, 2, 2));
	/* As above, but core 0 is busy for less than twice as long as a gang may wait. */
	rk_latency_us(OTHERS_TASK_US);
	ASSERT_EQ(0, start(self, 1, 7));
	ASSERT_EQ(0, occupy(self, 0, 0));
	EXPECT_EQ(0, finish(self, 2));
	ASSERT_EQ(0, start_pinned(fd, &c, 2, &fence));
	EXPECT_EQ(0, rv_wait_fence(fence));
	EXPECT_GT(LONG_TASKS, rk_count(0, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	EXPECT_EQ(0, finish(self, 0));
	EXPECT_EQ(0, finish(self, 1));
	rv_chain_fini(&c);
	close(fd);
}

RK_TEST_F(gangs, keep_the_order_of_their_file,
	  "a job for several cores does not overtake one for a core that its file has submitted before")
{
	struct pollfd before = { .events = POLLIN };
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd[1], 1, 0, 0));
	ASSERT_EQ(0, occupy(self, 2, 0));
	ASSERT_EQ(0, start_pinned(self->fd[1], &c, 1, &before.fd));
	/* Core 1 is free for it. */
	ASSERT_EQ(0, start(self, 1, 3));
	EXPECT_EQ(0, finish(self, 1));
	EXPECT_EQ(1, poll(&before, 1, 0));
	EXPECT_EQ(0, rv_wait_fence(before.fd));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	EXPECT_EQ(0, finish(self, 2));
	rv_chain_fini(&c);
}

#define GANGS		64
#define GANGS_TASK_US	5000
#define PLUG_US		2000000

/* Its part for core 0 takes twice as long as that for core 1, which is therefore free first. */
static int start_uneven(struct rv_chain *c, int *fence)
{
	struct drm_rknpu_submit s;
	int ret;

	rv_chain_submit(c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	s.core_mask = 3;
	s.subcore_task[0].task_number = 2;
	s.subcore_task[1] = s.subcore_task[0];
	s.subcore_task[1].task_number = 1;
	ret = rv_submit(c->fd, &s);
	*fence = s.fence_fd;
	return ret;
}

/* Beside many gangs a job of @uid's runs after @most of them. */
static void runs_beside(struct __test_metadata *_metadata, FIXTURE_DATA(gangs) *self, uid_t uid,
			uint32_t priority, int most)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	struct drm_rocket_task t;
	int fence[GANGS];
	struct rk_client c;

	ASSERT_EQ(0, rk_client_init_on(&c, rk_open_as(uid, rk_open)));
	ASSERT_EQ(0, rk_op_task(&c.inc, c.in.iova, c.out.iova, &t));
	ASSERT_EQ(0, rk_fini(&c.inc.bo));
	rk_job_ext(&job, &t, 1, NULL, NULL);
	job.core_mask = 1;
	job.priority = priority;
	/* All are queued before the first of them begins. */
	rk_latency_us(PLUG_US);
	ASSERT_EQ(0, occupy(self, 2, 0));
	ASSERT_EQ(0, occupy(self, 3, 1));
	rk_latency_us(GANGS_TASK_US);
	for (int i = 0; i < GANGS; i++)
		ASSERT_EQ(0, start_uneven(&self->c[0], &fence[i]));
	ASSERT_EQ(0, rk_submit_ext(c.fd, &job, 1, NULL));
	ASSERT_EQ(0, rk_count(1, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rk_wait_job(c.fd, 1, RK_FOREVER, &w));
	EXPECT_GT(most, rk_count(1, NPU_CNT_TASK_DONE));
	for (int i = 0; i < GANGS; i++)
		EXPECT_EQ(0, rv_wait_fence(fence[i]));
	for (int i = 2; i < FILES; i++)
		EXPECT_EQ(0, finish(self, i));
	rk_client_fini(&c);
}

RK_TEST_F_TIMEOUT(gangs, leave_turns_to_low_priority, 60,
		  "beside jobs for several cores another user's job of low priority runs after some of them")
{
	if (rk_one_iommu())
		SKIP(return, "no two users run at a time");
	runs_beside(_metadata, self, OTHER, DRM_ROCKET_PRIORITY_LOW, GANGS * 3 / 4);
}

RK_TEST_F_TIMEOUT(gangs, leave_turns_to_ones_own, 60,
		  "and so does a job of low priority of the same user")
{
	runs_beside(_metadata, self, geteuid(), DRM_ROCKET_PRIORITY_LOW, GANGS * 3 / 4);
}

RK_TEST_F_TIMEOUT(gangs, leave_slices_to_ones_own, 60,
		  "beside jobs for several cores another file's job of the same user runs after a few")
{
	runs_beside(_metadata, self, geteuid(), DRM_ROCKET_PRIORITY_NORMAL, GANGS / 4);
}

/*
 * The first one's job for all cores waits for core 2, where it has another one. When that is over
 * the third user has had less of it, and its job for one core goes first.
 */
RK_TEST_F_TIMEOUT(gangs, given_up_keep_no_others, 60,
		  "a job for several cores that is not to start yet after all leaves its cores to another user's")
{
	struct rv_chain pair, last;
	int fd[2], fence[2];

	if (rk_one_iommu())
		SKIP(return, "no two users run at a time");
	for (int i = 0; i < 2; i++) {
		fd[i] = rk_open_as(OTHER + i, rv_open);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_EQ(0, rv_chain_init(&pair, fd[0], 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&last, fd[1], LONG_TASKS, 0, 0));
	ASSERT_EQ(0, occupy(self, 2, 2));
	ASSERT_EQ(0, start(self, 1, 7));
	ASSERT_EQ(0, start_pinned(fd[0], &pair, 3, &fence[0]));
	ASSERT_EQ(0, start_pinned(fd[1], &last, 4, &fence[1]));
	ASSERT_EQ(0, rk_count(2, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rv_wait_fence(fence[0]));
	EXPECT_GT(LONG_TASKS, rk_count(2, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rv_chain_wrong(&pair, 2));
	EXPECT_EQ(0, rv_wait_fence(fence[1]));
	EXPECT_EQ(0, finish(self, 1));
	EXPECT_EQ(0, finish(self, 2));
	rv_chain_fini(&pair);
	rv_chain_fini(&last);
	close(fd[0]);
	close(fd[1]);
}

RK_TEST_F(vendor, a_cancelled_gang_never_starts,
	  "a job of two cores that is cancelled while it waits for one never starts")
{
	struct rv_chain busy, gang;
	int fence[2], other = rv_open();
	uint32_t value = 0;

	RK_REQUIRE_MODEL();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&busy, other, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_init(&gang, self->fd, 1, 0, 0));
	rk_latency_us(300000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, start_pinned(other, &busy, 2, &fence[0]));
	ASSERT_TRUE(rk_wait_count(1, NPU_CNT_BUSY, 1, 20000));
	ASSERT_EQ(0, start_pinned(self->fd, &gang, 3, &fence[1]));
	rk_sleep_ms(50);
	/* It cancels the caller's jobs, and no others. */
	ASSERT_EQ(0, rv_action(self->fd, DRM_RKNPU_RESET, &value));
	EXPECT_EQ(0, rv_wait_fence(fence[1]));
	EXPECT_EQ(0, rv_wait_fence(fence[0]));
	EXPECT_EQ(0, rk_count(0, NPU_CNT_TASK_STARTED));
	EXPECT_EQ(1, rk_count(1, NPU_CNT_TASK_STARTED));
	EXPECT_EQ(0, rv_chain_wrong(&busy, 2));
	EXPECT_NE(0, rv_chain_wrong(&gang, 2));
	rv_chain_fini(&busy);
	rv_chain_fini(&gang);
	close(other);
}

/* Jobs for two and for three cores at the same time, from several threads. */
static void *submit_many(void *arg)
{
	struct rv_chain c[3];
	long bad = 0;
	int fd = rv_open();

	for (int i = 0; i < 3; i++)
		bad += !!rv_chain_init(&c[i], fd, 1, 0, 0);
	for (int i = 0; i < 40 && !bad; i++)
		bad = submit_on_several(fd, c, 2 + (i + (uintptr_t)arg) % 2);
	close(fd);
	return (void *)bad;
}

RK_TEST_F(vendor, jobs_of_several_cores_do_not_block_each_other,
	  "jobs for two and three cores of several threads all end")
{
	pthread_t t[4];
	void *bad;

	for (uintptr_t i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, submit_many, (void *)i));
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		EXPECT_EQ(NULL, bad);
	}
}

RK_TEST_F(vendor, fence_of_several_cores,
	  "the fence of a job of several cores signals when all are done")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 4));
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	/* The same task on each, to the same place. */
	s.core_mask = 7;
	for (int i = 2; i < 5; i++)
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { 0, 1 };
	ASSERT_EQ(0, rv_submit(self->fd, &s));

	struct pollfd p = { .fd = s.fence_fd, .events = POLLIN };

	EXPECT_EQ(1, poll(&p, 1, 20000));
	EXPECT_EQ(0, rv_chain_wrong(&c, 5));
	close(s.fence_fd);
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, fence_of_several_cores_has_their_error,
	  "a fault on one of several cores is in their fence, which nobody polled")
{
	struct sync_file_info info = { 0 };
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int fence;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 2, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 4));
	rv_chain_task(&c, 1)->regcmd_addr = 0xf0000000;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	s.core_mask = 7;
	for (int i = 2; i < 5; i++)
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { i == 3, 1 };
	ASSERT_EQ(0, rv_submit(self->fd, &s));
	fence = s.fence_fd;

	/* Behind it on each core. */
	rv_chain_submit(&c, &s);
	s.core_mask = 7;
	for (int i = 2; i < 5; i++)
		s.subcore_task[i] = (struct drm_rknpu_subcore_task) { 0, 1 };
	ASSERT_EQ(0, rv_submit(self->fd, &s));
	ASSERT_EQ(0, rk_ioctl(fence, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(-EFAULT, info.status);
	close(fence);
	rv_chain_fini(&c);
}

RK_HARNESS_MAIN
