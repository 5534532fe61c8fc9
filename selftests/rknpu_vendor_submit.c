// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs of the vendor's uAPI on node "rknpu": cores, fences, failures, address spaces.
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

FIXTURE(vendor)
{
	int fd;
};

FIXTURE_SETUP(vendor)
{
	RV_OPEN_OR_SKIP(self->fd);
}

FIXTURE_TEARDOWN(vendor)
{
	rk_module_param("max_job_ms", 10000);
	rk_module_param("max_timeout_ms", 10000);
	rk_model_calm();
	close(self->fd);
}

/* ---- SUBMIT ---- */

RK_TEST_F(vendor, submit_chain,
	  "a chain of tasks runs, and SUBMIT tells what the vendor's driver tells")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	/* 5 * 40 bytes from the start: a task lies across a page boundary. */
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 5, 100, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 7));
	rv_chain_submit(&c, &s);
	s.task_counter = 99;
	ASSERT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 12));
	EXPECT_EQ(15, s.task_counter);
	EXPECT_LT(0, s.hw_elapse_time);
	EXPECT_TRUE(s.core_mask == 1 || s.core_mask == 2 || s.core_mask == 4);
	ASSERT_EQ(0, rv_sync(&c.tasks, 2, 0, c.tasks.size));
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(0, rv_chain_task(&c, i)->int_status);
	EXPECT_NE(0, rv_chain_task(&c, 4)->int_status & RV_INT_DPU);
	EXPECT_EQ(0, rv_chain_task(&c, 4)->int_status & ~RV_INT_DPU);
	rv_chain_fini(&c);
}

/* One kick and one interrupt, whatever the number of tasks. */
RK_TEST_F(vendor, submit_chain_is_one_kick, "a chain of tasks costs one kick and one interrupt")
{
	struct rv_chain c;
	uint64_t kicks, irqs, tasks;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 8, 0, 0));
	kicks = rk_count_all_jobs(NPU_CNT_KICK);
	irqs = rk_count_all(NPU_CNT_IRQ);
	tasks = rk_count_all_jobs(NPU_CNT_TASK_DONE);
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	EXPECT_EQ(1, rk_count_all_jobs(NPU_CNT_KICK) - kicks);
	EXPECT_EQ(!rk_polled(), rk_count_all(NPU_CNT_IRQ) - irqs);
	EXPECT_EQ(8, rk_count_all_jobs(NPU_CNT_TASK_DONE) - tasks);
	rv_chain_fini(&c);
}

struct again {
	int fd;
	struct drm_rknpu_submit s;
};

static int submit_again(void *arg)
{
	struct again *a = arg;

	return rv_submit(a->fd, &a->s);
}

RK_TEST_F(vendor, refusals_say_why, "the log says what is wrong, if DRM's debug messages of drivers are on")
{
	struct again a = { .fd = self->fd, .s.flags = DRM_RKNPU_JOB_PC };

	if (geteuid())
		SKIP(return, "for root");
	EXPECT_EQ(0, rk_refusal_told(submit_again, &a, -EINVAL, "submit: task_number is 0"));
}

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

static int wait_fence(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret = poll(&p, 1, 20000);

	close(fd);
	return ret == 1 ? 0 : -ETIMEDOUT;
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
				EXPECT_EQ(0, wait_fence(fence[core]));
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
		EXPECT_EQ(0, wait_fence(fence[i]));
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
	int ret = wait_fence(self->fence[file]);

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
		EXPECT_EQ(0, wait_fence(fence[i]));
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

RK_TEST_F(gangs, keep_no_core_for_long,
	  "a job for several cores goes on without a core that stays busy, and so do others behind it")
{
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
	EXPECT_EQ(0, wait_fence(fence[1]));
	EXPECT_EQ(0, wait_fence(fence[0]));
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

struct bad_submit {
	const char *what;
	void (*change)(struct drm_rknpu_submit *s);
};

static void no_pc(struct drm_rknpu_submit *s) { s->flags &= ~DRM_RKNPU_JOB_PC; }
static void no_tasks(struct drm_rknpu_submit *s) { s->task_number = 0; }
static void mask_5(struct drm_rknpu_submit *s) { s->core_mask = 5; }
static void mask_6(struct drm_rknpu_submit *s) { s->core_mask = 6; }
static void mask_8(struct drm_rknpu_submit *s) { s->core_mask = 8; }
static void mask_all(struct drm_rknpu_submit *s) { s->core_mask = ~0u; }
static void null_object(struct drm_rknpu_submit *s) { s->task_obj_addr = 0; }
static void kernel_object(struct drm_rknpu_submit *s) { s->task_obj_addr = 0xffffff8134cec000; }
static void domain_16(struct drm_rknpu_submit *s) { s->iommu_domain_id = 16; }
static void empty_slices(struct drm_rknpu_submit *s) { memset(s->subcore_task, 0, 40); }

static void beyond_buffer(struct drm_rknpu_submit *s)
{
	for (int i = 0; i < 5; i++)
		s->subcore_task[i].task_start = 103;
}

static void far_beyond_buffer(struct drm_rknpu_submit *s)
{
	for (int i = 0; i < 5; i++)
		s->subcore_task[i].task_start = ~0u;
}

static void many_tasks(struct drm_rknpu_submit *s)
{
	for (int i = 0; i < 5; i++)
		s->subcore_task[i].task_number = ~0u;
}

static void bad_fence(struct drm_rknpu_submit *s)
{
	s->flags |= DRM_RKNPU_JOB_FENCE_IN;
	s->fence_fd = 0;
}

static const struct bad_submit bad_submits[] = {
	{ "no PC flag", no_pc },
	{ "task_number 0", no_tasks },
	{ "core_mask 5", mask_5 },
	{ "core_mask 6", mask_6 },
	{ "core_mask 8", mask_8 },
	{ "core_mask ~0", mask_all },
	{ "task_obj_addr 0", null_object },
	{ "task_obj_addr in the kernel", kernel_object },
	{ "domain 16", domain_16 },
	{ "empty slices", empty_slices },
	{ "tasks beyond the buffer", beyond_buffer },
	{ "tasks far beyond the buffer", far_beyond_buffer },
	{ "too many tasks", many_tasks },
	{ "fence_fd that is no fence", bad_fence },
};

RK_TEST_F(vendor, submit_refuses, "SUBMIT refuses bad fields, and still answers")
{
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	for (size_t i = 0; i < ARRAY_SIZE(bad_submits); i++) {
		struct drm_rknpu_submit s;

		rv_chain_submit(&c, &s);
		s.task_counter = 5;
		bad_submits[i].change(&s);
		EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s)) TH_LOG("%s", bad_submits[i].what);
		/* Copied back on errors, too. */
		EXPECT_EQ(0, s.task_counter);
	}

	/* A program must start at a multiple of 16, or it would be a mode bit. */
	struct drm_rknpu_submit s;

	rv_chain_task(&c, 0)->regcmd_addr |= 1;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_task(&c, 0)->regcmd_addr &= ~1ull;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	EXPECT_EQ(0, rv_chain_run(&c, 1));

	/* A data buffer is no task buffer. */
	rv_chain_submit(&c, &s);
	s.task_obj_addr = c.bo.obj;
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, task_base_addr_is_used,
	  "task_base_addr is added to addresses, as the register does")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.task_base_addr = 0x40000000;
	/* Else that is memory. */
	if (!rk_no_iommu()) {
		EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	}
	/* 32 bits of it. */
	rv_chain_submit(&c, &s);
	s.task_base_addr = 0x100000000;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, uncached_task_buffer,
	  "tasks are read from a buffer that the CPU does not cache, and their end is written there")
{
	struct drm_rknpu_task *tasks;
	struct rv_chain c;
	struct rv_bo bo;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	ASSERT_EQ(0, rv_bo_init(&bo, self->fd, RK_PAGE, RV_FLAGS_TASK & ~DRM_RKNPU_MEM_CACHEABLE, 0));
	tasks = (struct drm_rknpu_task *)bo.map;
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, rv_chain_run_from(&c, i, tasks, bo.obj));
		EXPECT_EQ(0, tasks[1].int_status);
		EXPECT_NE(0, tasks[2].int_status & RV_INT_DPU);
	}
	rv_bo_fini(&bo);
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, every_unit_named_has_to_be_done,
	  "a task that names two units is not over when one of them is, and the line does not storm")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	long long irqs;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_task(&c, 0)->int_mask = RV_INT_DPU | RV_INT_PPU;
	ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
	rv_chain_submit(&c, &s);
	s.timeout = 300;
	irqs = rk_cores_stat("irqs");
	EXPECT_EQ(-ETIMEDOUT, rv_submit(self->fd, &s));
	EXPECT_EQ(irqs + !rk_polled(), rk_cores_stat("irqs"));
	rv_chain_task(&c, 0)->int_mask = RV_INT_DPU;
	ASSERT_EQ(0, rv_sync(&c.tasks, DRM_RKNPU_MEM_SYNC_TO_DEVICE, 0, c.tasks.size));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, submit_ignores, "SUBMIT ignores the fields that the vendor's driver ignores")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.flags |= 0xffffffe0;
	s.task_start = ~0u;
	s.priority = -5;
	s.reserved = ~0u;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 2));
	/* The struct of 0.7 to 0.9.5 has the same size as today's. */
	EXPECT_EQ(104, sizeof(s));
	rv_chain_fini(&c);
}

#define PC_TASK_CON	0x30

/* Runs @c, whose buffer has been filled with @value, and returns what TASK_CON was given. */
static uint32_t run_with_flags(struct rv_chain *c, uint32_t flags, int value)
{
	struct drm_rknpu_submit s;
	uint32_t con = 0;

	if (rv_chain_fill(c, value))
		return 0;
	rv_chain_submit(c, &s);
	s.flags = flags;
	rk_trace_start();
	if (rv_submit(c->fd, &s) || !rk_trace_last(PC_TASK_CON, &con) ||
	    rv_chain_wrong(c, value + 3))
		return 0;
	return con;
}

RK_TEST_F(vendor, pingpong_is_the_clients_choice,
	  "programs are fetched early only if PINGPONG asks for it")
{
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 3, 0, 0));
	/* Its first job may attach the address space. */
	ASSERT_EQ(0, rv_chain_run(&c, 1));
	EXPECT_EQ(0x7003, run_with_flags(&c, DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, 1));
	EXPECT_EQ(0x6003, run_with_flags(&c, DRM_RKNPU_JOB_PC, 2));
	EXPECT_EQ(0x7003, run_with_flags(&c, DRM_RKNPU_JOB_PC | DRM_RKNPU_JOB_PINGPONG, 3));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, nonblock_and_fences,
	  "jobs wait for each other's fences without blocking the caller")
{
	struct drm_rknpu_submit s[3];
	struct sync_file_info info = { 0 };
	struct rv_chain c[3];

	RK_REQUIRE_MODEL();
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_latency_us(50000);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	/* Each waits for the one before, on another core. */
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, rv_chain_init(&c[i], self->fd, 1, 0, 0));
		ASSERT_EQ(0, rv_chain_fill(&c[i], i));
		rv_chain_submit(&c[i], &s[i]);
		s[i].flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
		s[i].core_mask = 1 << i;
		if (i) {
			s[i].flags |= DRM_RKNPU_JOB_FENCE_IN;
			s[i].fence_fd = s[i - 1].fence_fd;
		}
		ASSERT_EQ(0, rv_submit(self->fd, &s[i]));
		ASSERT_LE(0, s[i].fence_fd);
	}
	EXPECT_EQ(0, rk_ioctl(s[2].fence_fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(0, info.status);

	struct pollfd p = { .fd = s[2].fence_fd, .events = POLLIN };

	EXPECT_EQ(1, poll(&p, 1, 20000));
	for (int i = 0; i < 3; i++) {
		info = (struct sync_file_info) { 0 };
		EXPECT_EQ(0, rk_ioctl(s[i].fence_fd, SYNC_IOC_FILE_INFO, &info));
		EXPECT_EQ(1, info.status);
		EXPECT_EQ(0, rv_chain_wrong(&c[i], i + 1));
		close(s[i].fence_fd);
		rv_chain_fini(&c[i]);
	}
	/* None of them ran beside another. */
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
}

RK_TEST_F(vendor, no_descriptor_left, "SUBMIT that has no descriptor left for its fence says so, and runs nothing")
{
	struct rlimit limit, none;
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int ret;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 1));
	rv_chain_submit(&c, &s);
	s.flags |= DRM_RKNPU_JOB_NONBLOCK | DRM_RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	ret = rv_submit(self->fd, &s);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_EQ(-EMFILE, ret);
	EXPECT_NE(0, rv_chain_wrong(&c, 2));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

/* More than a file may have that are not over. */
#define TOO_MANY_JOBS	10000

RK_TEST_F_TIMEOUT(vendor, poll_tells_of_room, 120,
		  "the number of a file's unfinished jobs is bounded, and poll() tells when there is room")
{
	struct pollfd room = { .fd = self->fd, .events = POLLIN | POLLOUT };
	struct drm_rknpu_submit s;
	struct rv_chain c;
	uint32_t value = 0;
	int ret = 0;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	EXPECT_EQ(1, poll(&room, 1, 0));
	EXPECT_EQ(POLLOUT, room.revents);
	if (rk_slow() > 1)
		SKIP(return, "the job that hangs would be given up before so many were queued");
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	for (int i = 0; i < TOO_MANY_JOBS && !ret; i++) {
		rv_chain_submit(&c, &s);
		s.flags |= DRM_RKNPU_JOB_NONBLOCK;
		s.core_mask = 1;
		s.timeout = 10000;
		ret = rv_submit(self->fd, &s);
	}
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(0, poll(&room, 1, 0));
	EXPECT_EQ(0, rv_action(self->fd, DRM_RKNPU_RESET, &value));
	EXPECT_EQ(1, poll(&room, 1, 60000));
	EXPECT_EQ(POLLOUT, room.revents);
	/* Once the core is back. */
	ASSERT_EQ(0, rv_chain_fill(&c, 5));
	rv_chain_submit(&c, &s);
	s.core_mask = 1;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 6));
	rv_chain_fini(&c);
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

RK_TEST_F(vendor, timeout_is_in_ms_and_tells_how_far,
	  "a timeout is told, and how many tasks were done")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 4, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 0));
	rv_chain_submit(&c, &s);
	s.timeout = 300;
	/* The third task of the chain hangs. */
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 2, 1);
	EXPECT_EQ(-ETIMEDOUT, rv_submit(self->fd, &s));
	EXPECT_EQ(2, s.task_counter);
	EXPECT_EQ(1, rk_fault_fired());
	EXPECT_EQ(0, rv_chain_run(&c, 5));
	rv_chain_fini(&c);
}

/* A chain of eight tasks of 150 ms whose runtime would wait for ever. */
static int submit_for_ever(struct rv_chain *c, struct drm_rknpu_submit *s)
{
	int ret = rv_chain_fill(c, 0);

	rk_latency_us(150000);
	rv_chain_submit(c, s);
	s->timeout = UINT32_MAX;
	return ret ? ret : rv_submit(c->fd, s);
}

RK_TEST_F(vendor, timeout_is_limited,
	  "the administrator's limits for a task and for a job hold, whatever timeout is asked for")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 8, 0, 0));
	rk_module_param("max_job_ms", 400);
	EXPECT_EQ(-ETIMEDOUT, submit_for_ever(&c, &s));
	EXPECT_LE(1, s.task_counter);
	EXPECT_GT(8, s.task_counter);

	rk_module_param("max_job_ms", 10000);
	EXPECT_EQ(0, submit_for_ever(&c, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 8));

	/* The third task hangs. */
	rk_module_param("max_timeout_ms", 400);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 2, 1);
	EXPECT_EQ(-ETIMEDOUT, submit_for_ever(&c, &s));
	EXPECT_EQ(2, s.task_counter);
	rk_module_param("max_timeout_ms", 10000);
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, fault_is_told_apart, "a page fault has another errno than a timeout")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_task(&c, 0)->regcmd_addr = 0xf0000000;
	ASSERT_EQ(0, rv_sync(&c.tasks, 1, 0, 4096));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

/* ---- domains and address spaces ---- */

RK_TEST_F(vendor, every_domain_works, "jobs run in each of the 16 domains")
{
	for (int d = 0; d < DRM_RKNPU_DOMAINS; d++) {
		struct drm_rknpu_submit s;
		struct rv_chain c;

		ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, d));
		ASSERT_EQ(0, rv_chain_fill(&c, d));
		rv_chain_submit(&c, &s);
		s.iommu_domain_id = d;
		EXPECT_EQ(0, rv_submit(self->fd, &s)) TH_LOG("domain %d", d);
		EXPECT_EQ(0, rv_chain_wrong(&c, d + 1)) TH_LOG("domain %d", d);
		rv_chain_fini(&c);
	}
}

/* As librknnrt 1.2.0 does, which was made for drivers before 0.9.6. */
RK_TEST_F(vendor, programs_in_place_of_a_domain,
	  "an object of the file where the domain is stands for domain 0")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 0));
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = (uint32_t)c.bo.obj;
	s.reserved = c.bo.obj >> 32;
	EXPECT_EQ(0, rv_submit(self->fd, &s));
	EXPECT_EQ(0, rv_chain_wrong(&c, 1));
	/* No object of this file. */
	s.iommu_domain_id ^= 1u << 31;
	EXPECT_EQ(-EINVAL, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, objects_are_in_their_domain_only, "an object has no address in another domain")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 3));
	rv_chain_submit(&c, &s);
	s.iommu_domain_id = 4;
	EXPECT_EQ(-EFAULT, rv_submit(self->fd, &s));
	rv_chain_fini(&c);
}

RK_TEST_F(vendor, files_of_a_process_share_addresses,
	  "two files of a process have one address space, as runtimes expect")
{
	struct rv_chain c;
	int other = rv_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 60));
	EXPECT_EQ(0, rv_chain_submit_by(&c, other));
	EXPECT_EQ(0, rv_chain_wrong(&c, 61));
	rv_chain_fini(&c);
	close(other);
}

RK_TEST_F(vendor, cookies_mean_nothing_to_other_files, "cookies of one file are unknown to another")
{
	struct drm_rknpu_submit s;
	struct rv_chain c;
	int other = rv_open();
	struct rv_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	rv_chain_submit(&c, &s);
	EXPECT_EQ(-EINVAL, rv_submit(other, &s));
	bo = c.bo;
	bo.fd = other;
	EXPECT_EQ(-EINVAL, rv_sync(&bo, 3, 0, 4096));
	rv_chain_fini(&c);
	close(other);
}

RK_TEST_F(vendor, processes_do_not_share_addresses, "another process has another address space")
{
	struct rv_chain c;
	int status;
	pid_t pid;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rv_chain_init(&c, self->fd, 1, 0, 0));
	ASSERT_EQ(0, rv_chain_fill(&c, 50));
	pid = fork();
	if (!pid) {
		int fd = rv_open();

		_exit(fd >= 0 && rv_chain_submit_by(&c, fd) == -EFAULT ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	/* Untouched. */
	EXPECT_EQ(0, rv_chain_wrong(&c, ~50 & 0xff));
	EXPECT_EQ(0, rv_chain_run(&c, 1));
	rv_chain_fini(&c);
}

RK_HARNESS_MAIN
