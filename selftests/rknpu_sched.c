// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who runs when and where: priorities, time slices, core masks, divisible jobs, long
 * chains. Order is told by what the model saw start, never by time.
 *
 * boot: sched TEST_LIMIT=400
 * boot: irqtime
 * boot: noiommujob
 * boot: debug-sched KERNEL=debug TEST_LIMIT=1800
 * boot: kcsan-sched KERNEL=kcsan TEST_LIMIT=1800
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "rknpu_harness.h"

/* How long the job in front keeps the others waiting, so that all of them are queued. */
#define PLUG_US		600000
/* For that one, and for what a busy host makes late. */
#define TASK_TIMEOUT_MS	20000

#define CORE0		1u

/* Two files. The program of the second is at an address where the first has none. */
struct pair {
	struct rk_team a;
	struct rk_client b;
	struct drm_rocket_task b_task;
	/* Jobs so far, which are numbered from 1. */
	uint64_t a_jobs;
	uint64_t b_jobs;
};

static int pair_init(struct pair *p)
{
	int ret;

	memset(p, 0, sizeof(*p));
	ret = rk_team_init(&p->a);
	if (!ret)
		ret = rk_client_init(&p->b);
	for (int i = 0; i <= RK_TEAM_JOBS && !ret; i++)
		ret = rk_op_task(&p->b.inc, p->b.in.iova, p->b.out.iova, &p->b_task);
	if (!ret)
		ret = rk_bo_fill(&p->a.in, 10, RK_BYTES);
	return ret ? ret : rk_bo_fill(&p->b.in, 20, RK_BYTES);
}

static void pair_fini(struct pair *p)
{
	rk_team_fini(&p->a);
	rk_client_fini(&p->b);
}

/* Job @i of the first file. Jobs list no BO, so that nothing but the scheduler orders them. */
static int put_a(struct pair *p, int i, uint32_t mask, uint32_t priority)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, &p->a.task[i], 1, NULL, NULL);
	job.core_mask = mask;
	job.priority = priority;
	p->a_jobs++;
	return rk_submit_ext(p->a.fd, &job, 1, NULL);
}

/* @n jobs of one task in one call. */
static int put_many(int fd, struct drm_rocket_task *task, unsigned int n, uint32_t mask,
		    uint32_t priority)
{
	static struct drm_rocket_job_ext job[1000];

	for (unsigned int i = 0; i < n; i++) {
		rk_job_ext(&job[i], task, 1, NULL, NULL);
		job[i].core_mask = mask;
		job[i].priority = priority;
	}
	return rk_submit_ext(fd, job, n, NULL);
}

static int put_b(struct pair *p, unsigned int n, uint32_t mask, uint32_t priority)
{
	p->b_jobs += n;
	return put_many(p->b.fd, &p->b_task, n, mask, priority);
}

/* How many of @n jobs ended well, on cores of @mask. */
static unsigned int ended_well(int fd, uint64_t first, uint64_t n, uint32_t mask)
{
	struct drm_rocket_wait_job w;
	unsigned int good = 0;

	for (uint64_t i = first; i < first + n; i++)
		good += !rk_wait_job(fd, i, RK_FOREVER, &w) && !w.error &&
			w.cause == DRM_ROCKET_CAUSE_DONE && w.core >= 0 && mask & 1u << w.core;
	return good;
}

static bool pair_ended_well(struct pair *p)
{
	return ended_well(p->a.fd, 1, p->a_jobs, 7) == p->a_jobs &&
	       ended_well(p->b.fd, 1, p->b_jobs, 7) == p->b_jobs;
}

/* Keeps core 0 busy and records what follows, each of @us. */
static int plug(struct pair *p, unsigned int us)
{
	int ret;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_trace_start();
	rk_latency_us(PLUG_US * rk_slow());
	ret = put_a(p, 0, CORE0, 0);
	if (!ret && !rk_wait_count(0, NPU_CNT_TASK_STARTED, 1, 5000))
		ret = -ETIMEDOUT;
	/* The model looks at it when the program has been read. */
	rk_sleep_ms(50 * rk_slow());
	rk_latency_us(us);
	return ret;
}

static bool still_plugged(void)
{
	return rk_count(0, NPU_CNT_BUSY) && !rk_count(0, NPU_CNT_TASK_DONE);
}

/* Index of the first start of that program, or -1. */
static int place(const struct rk_start *s, int n, uint32_t regcmd)
{
	for (int i = 0; i < n; i++)
		if (s[i].regcmd == regcmd)
			return i;
	return -1;
}

FIXTURE(sched) {
	struct pair p;
};

FIXTURE_SETUP(sched)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, pair_init(&self->p));
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
}

FIXTURE_TEARDOWN(sched)
{
	rk_model_calm();
	rk_module_param("slice_us", 4000);
	rk_module_param("max_job_ms", 10000);
	if (self->p.b.fd)
		pair_fini(&self->p);
}

/* ---- priorities ---- */

RK_TEST_F(sched, higher_priorities_go_first, "jobs run by priority, and in order within one")
{
	static const int order[] = { 0, 7, 8, 9, 4, 5, 6, 1, 2, 3 };
	static const uint32_t priority[] = {
		DRM_ROCKET_PRIORITY_LOW, DRM_ROCKET_PRIORITY_DEFAULT, DRM_ROCKET_PRIORITY_HIGH,
	};
	struct pair *p = &self->p;
	struct rk_start s[32];

	ASSERT_EQ(0, plug(p, 1000));
	for (int i = 1; i < 10; i++) {
		ASSERT_EQ(0, put_a(p, i, CORE0, priority[(i - 1) / 3]));
	}
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(pair_ended_well(p));
	ASSERT_EQ(10, rk_trace_starts(s, ARRAY_SIZE(s)));
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(p->a.task[order[i]].regcmd, s[i].regcmd) TH_LOG("start %d", i);
		EXPECT_EQ(0, s[i].core);
	}
}

RK_TEST_F(sched, higher_priorities_go_first_between_files,
	  "priority counts between files, and DEFAULT is NORMAL")
{
	struct pair *p = &self->p;
	struct rk_start s[32];

	ASSERT_EQ(0, plug(p, 1000));
	for (int i = 1; i < 9; i++) {
		ASSERT_EQ(0, put_a(p, i, CORE0, i % 2 ? DRM_ROCKET_PRIORITY_NORMAL :
				   DRM_ROCKET_PRIORITY_DEFAULT));
	}
	/* One would come first anyhow, as the job of a client that uses little. */
	ASSERT_EQ(0, put_b(p, 4, CORE0, DRM_ROCKET_PRIORITY_HIGH));
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(pair_ended_well(p));
	ASSERT_EQ(13, rk_trace_starts(s, ARRAY_SIZE(s)));
	for (int i = 1; i < 5; i++) {
		EXPECT_EQ(p->b_task.regcmd, s[i].regcmd);
	}
	for (int i = 1; i < 9; i++) {
		EXPECT_EQ(p->a.task[i].regcmd, s[i + 4].regcmd);
	}
}

/* As Documentation says. */
#define PATIENCE	16

RK_TEST_F(sched, low_priorities_do_not_starve,
	  "a job lets 16 jobs of higher priorities pass, and then runs")
{
	struct pair *p = &self->p;
	static struct rk_start s[300];
	int n, low;

	ASSERT_EQ(0, plug(p, 1000));
	ASSERT_EQ(0, put_a(p, 1, CORE0, DRM_ROCKET_PRIORITY_LOW));
	ASSERT_EQ(0, put_a(p, 2, CORE0, DRM_ROCKET_PRIORITY_LOW));
	ASSERT_EQ(0, put_b(p, 100, CORE0, DRM_ROCKET_PRIORITY_HIGH));
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(pair_ended_well(p));
	n = rk_trace_starts(s, ARRAY_SIZE(s));
	ASSERT_EQ(103, n);
	low = place(s, n, p->a.task[1].regcmd);
	EXPECT_EQ(1 + PATIENCE, low);
	/* The next one is as patient. */
	EXPECT_EQ(low + 1 + PATIENCE, place(s, n, p->a.task[2].regcmd));
}

/* ---- time slices ---- */

/* What the model records of so many changes of the address space fits its memory. */
#define QUEUED	24

RK_TEST_F_TIMEOUT(sched, two_files_alternate, 60,
		  "two files that both want all of a core get half of it each")
{
	struct pair *p = &self->p;
	static struct rk_start s[64];
	int n, of_b = 0, run = 0;

	/* Less than a job takes: every job is a time slice. */
	rk_module_param("slice_us", 1000);
	ASSERT_EQ(0, plug(p, 3000));
	ASSERT_EQ(0, put_b(p, QUEUED, CORE0, 0));
	for (int i = 0; i < QUEUED; i++) {
		ASSERT_EQ(0, put_a(p, 1, CORE0, 0));
	}
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(pair_ended_well(p));
	n = rk_trace_starts(s, ARRAY_SIZE(s));
	ASSERT_EQ(1 + 2 * QUEUED, n);
	for (int i = 1; i <= 2 * QUEUED - 4; i++) {
		bool b = s[i].regcmd == p->b_task.regcmd;

		run = i > 1 && b == (s[i - 1].regcmd == p->b_task.regcmd) ? run + 1 : 1;
		/* One that has used little comes in between two time slices. */
		EXPECT_GE(2, run) TH_LOG("start %d", i);
		of_b += b;
	}
	EXPECT_LE(QUEUED - 4, of_b);
	EXPECT_GE(QUEUED, of_b);
}

RK_TEST_F_TIMEOUT(sched, a_time_slice_is_used_up, 60,
		  "with long time slices a core seldom changes address spaces")
{
	struct pair *p = &self->p;
	static struct rk_start s[400];
	long long attaches = rk_core_stat(0, "attaches");
	int n, changes = 0;

	/* What a slow host's changes cost has to fit the model's memory, too. */
	rk_module_param("slice_us", 200000 * rk_slow());
	ASSERT_EQ(0, plug(p, 1000));
	ASSERT_EQ(0, put_b(p, 150, CORE0, 0));
	p->a_jobs += 150;
	ASSERT_EQ(0, put_many(p->a.fd, &p->a.task[1], 150, CORE0, 0));
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(pair_ended_well(p));
	n = rk_trace_starts(s, ARRAY_SIZE(s));
	ASSERT_EQ(301, n);
	for (int i = 1; i < n; i++)
		changes += (s[i].regcmd == p->b_task.regcmd) !=
			   (s[i - 1].regcmd == p->b_task.regcmd);
	/* 300 ms of work in 200 ms slices; a slow host's jobs take longer. */
	EXPECT_LE(1, changes);
	EXPECT_GE(30, changes);
	/* What is counted is the changes, and the first attach. */
	EXPECT_GE(changes + 1, rk_core_stat(0, "attaches") - attaches);
	EXPECT_LE(changes, rk_core_stat(0, "attaches") - attaches);
}

/* ---- clients that use little ---- */

#define MANY		16
#define EACH		6
/* Longer than a test, so that nothing but what it is about ends one. */
#define LONG_SLICE_US	100000000

struct many {
	struct rk_client c[MANY];
	/* Of different sizes, so that each client's program has an address of its own. */
	struct rk_bo pad[MANY];
	struct drm_rocket_task task[MANY];
};

static int many_init(struct many *m)
{
	int ret = 0;

	for (int i = 0; i < MANY && !ret; i++) {
		struct rk_client *c = &m->c[i];
		int fd = rk_open();

		if (fd < 0)
			return fd;
		c->fd = fd;
		ret = rk_bo_init(&m->pad[i], fd, (i + 2) * RK_BYTES);
		if (!ret)
			ret = rk_client_init_on(c, fd);
		if (!ret)
			ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &m->task[i]);
		if (!ret)
			ret = rk_fini(&c->inc.bo);
		if (!ret)
			ret = rk_bo_fill(&c->in, i, RK_BYTES);
	}
	return ret;
}

static void many_fini(struct many *m)
{
	for (int i = 0; i < MANY; i++) {
		if (!m->c[i].fd)
			continue;
		rk_bo_fini(&m->pad[i]);
		rk_client_fini(&m->c[i]);
	}
}

/* UNEVEN: some have more than others, so that nothing is over at the same time again and again. */
#define UNEVEN		0

static unsigned int jobs_of(int client, unsigned int n)
{
	return n == UNEVEN ? 2 + client % 5 : n;
}

/* @n jobs of each on core 0; each after the one before, or all at once. */
static int many_submit(struct many *m, unsigned int n, bool dependent)
{
	struct drm_rocket_job_ext job[EACH];
	int ret = 0;

	for (int i = 0; i < MANY && !ret; i++) {
		struct rk_client *c = &m->c[i];

		for (unsigned int k = 0; k < jobs_of(i, n); k++) {
			rk_job_ext(&job[k], &m->task[i], 1, dependent ? &c->in : NULL,
				   dependent ? &c->out : NULL);
			job[k].core_mask = CORE0;
		}
		ret = rk_submit_ext(c->fd, job, jobs_of(i, n), NULL);
	}
	return ret;
}

static bool many_ended_well(struct many *m, unsigned int n)
{
	for (int i = 0; i < MANY; i++) {
		if (ended_well(m->c[i].fd, 1, jobs_of(i, n), CORE0) != jobs_of(i, n) ||
		    rk_bo_differs(&m->c[i].out, i + 1, RK_BYTES))
			return false;
	}
	return true;
}

FIXTURE(many) {
	struct pair p;
	struct many m;
};

FIXTURE_VARIANT(many) {
	bool dependent;
};

FIXTURE_VARIANT_ADD(many, queued) { .dependent = false };
FIXTURE_VARIANT_ADD(many, dependent) { .dependent = true };

FIXTURE_SETUP(many)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	memset(&self->m, 0, sizeof(self->m));
	ASSERT_EQ(0, pair_init(&self->p));
	ASSERT_EQ(0, many_init(&self->m));
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
	rk_module_param("slice_us", LONG_SLICE_US);
}

FIXTURE_TEARDOWN(many)
{
	rk_model_calm();
	rk_module_param("slice_us", 4000);
	many_fini(&self->m);
	if (self->p.b.fd)
		pair_fini(&self->p);
}

RK_TEST_F_TIMEOUT(many, take_turns_by_the_slice, 120,
		  "a core does not change clients at every job because all of them use little")
{
	long long attaches;

	ASSERT_EQ(0, plug(&self->p, 1000));
	attaches = rk_core_stat(0, "attaches");
	ASSERT_EQ(0, many_submit(&self->m, EACH, variant->dependent));
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(many_ended_well(&self->m, EACH));
	EXPECT_TRUE(pair_ended_well(&self->p));
	attaches = rk_core_stat(0, "attaches") - attaches;
	EXPECT_LE(MANY, attaches);
	/* A client comes at most twice; its jobs are three times as many. */
	EXPECT_GE(2 * MANY, attaches);
}

RK_TEST_F_TIMEOUT(many, few_jobs_take_one_turn, 120,
		  "a client keeps the core for a few short jobs, also if others have not used their share")
{
	long long attaches;

	if (!getenv("RKNPU_ICOUNT") || variant->dependent)
		SKIP(return, "only where nothing takes time but instructions, and of jobs that are queued");
	rk_module_param("slice_us", 4000);
	ASSERT_EQ(0, plug(&self->p, 0));
	attaches = rk_core_stat(0, "attaches");
	ASSERT_EQ(0, many_submit(&self->m, UNEVEN, false));
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(many_ended_well(&self->m, UNEVEN));
	EXPECT_TRUE(pair_ended_well(&self->p));
	EXPECT_EQ(MANY, rk_core_stat(0, "attaches") - attaches);
}

#define HEAVY_JOBS	100

RK_TEST_F_TIMEOUT(many, come_in_between_seldom, 120,
		  "clients that use little do not wait for a slice, which goes on longer than they interrupt it")
{
	struct pair *p = &self->p;
	static struct rk_start s[MANY + HEAVY_JOBS + 8];
	int n, first = 0, before = 0, heavy = 0, between = 0, came = 0;

	ASSERT_EQ(0, plug(p, 3000));
	for (int i = 0; i < HEAVY_JOBS; i++) {
		ASSERT_EQ(0, put_a(p, 1, CORE0, 0));
	}
	ASSERT_EQ(0, many_submit(&self->m, 1, variant->dependent));
	ASSERT_TRUE(still_plugged());
	EXPECT_TRUE(many_ended_well(&self->m, 1));
	EXPECT_TRUE(pair_ended_well(p));
	n = rk_trace_starts(s, ARRAY_SIZE(s));
	ASSERT_EQ(1 + MANY + HEAVY_JOBS, n);
	for (int i = 1; i < n; i++) {
		if (s[i].regcmd == p->a.task[1].regcmd) {
			heavy++;
			continue;
		}
		first = first ? first : i;
		/* On a host so slow that the other one has no more jobs, some come last. */
		if (heavy < HEAVY_JOBS) {
			before = came++ ? before : heavy;
			between = heavy - before;
		}
	}
	EXPECT_EQ(1, first);
	EXPECT_LE(MANY / 4, came);
	/* Three times the time that one took is about three jobs; alternating it would be one. */
	EXPECT_LE(2 * (came - 1), between) TH_LOG("%d clients came", came);
}

/* ---- cores ---- */

RK_TEST_F_TIMEOUT(sched, core_masks, 60, "jobs use all the cores that they may use, and no others")
{
	struct pair *p = &self->p;

	for (uint32_t mask = 0; mask < 1u << RK_CORES; mask++) {
		uint32_t allowed = mask ? mask : (1u << RK_CORES) - 1;

		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
		/* So long that the first ones are not over before the last core has begun. */
		rk_latency_us(30000);
		ASSERT_EQ(0, put_b(p, 12, mask, 0));
		EXPECT_EQ(12, ended_well(p->b.fd, p->b_jobs - 11, 12, allowed));
		EXPECT_EQ(12, rk_count_all(NPU_CNT_TASK_DONE));
		for (int i = 0; i < RK_CORES; i++) {
			EXPECT_EQ(!!(allowed & 1u << i), !!rk_count(i, NPU_CNT_TASK_DONE))
				TH_LOG("mask %u, core %d: %llu tasks", mask, i,
				       (unsigned long long)rk_count(i, NPU_CNT_TASK_DONE));
		}
	}
}

RK_TEST_F(sched, idle_cores_take_over_what_they_may,
	  "an idle core takes over jobs that may run there, and leaves the others")
{
	struct pair *p = &self->p;
	struct drm_rocket_wait_job w;

	ASSERT_EQ(0, plug(p, 1000));
	/* For cores 0 and 1: while core 0 is kept busy, all are core 1's. */
	for (int i = 1; i < 9; i++) {
		ASSERT_EQ(0, put_a(p, i, 3, 0));
	}
	ASSERT_EQ(0, put_a(p, 9, CORE0, 0));
	for (int i = 1; i < 9; i++) {
		ASSERT_EQ(0, rk_wait_job(p->a.fd, i + 1, RK_FOREVER, &w));
		EXPECT_EQ(1, w.core);
	}
	EXPECT_EQ(-EBUSY, rk_wait_job(p->a.fd, 10, 0, &w));
	ASSERT_TRUE(still_plugged());
	ASSERT_EQ(0, rk_wait_job(p->a.fd, 10, RK_FOREVER, &w));
	EXPECT_EQ(0, w.core);
	EXPECT_EQ(0, rk_count(2, NPU_CNT_KICK));
}

/* ---- jobs of many tasks ---- */

FIXTURE(divide) {
	struct pair p;
};

FIXTURE_VARIANT(divide) {
	uint32_t flags;
	uint32_t priority;
	/* The running client has time slices so long that only priority ends them. */
	bool long_slices;
	bool gives_way;
};

FIXTURE_VARIANT_ADD(divide, divisible) {
	.flags = DRM_ROCKET_JOB_DIVISIBLE, .gives_way = true,
};
FIXTURE_VARIANT_ADD(divide, divisible_to_a_higher_priority) {
	.flags = DRM_ROCKET_JOB_DIVISIBLE, .priority = DRM_ROCKET_PRIORITY_HIGH,
	.long_slices = true, .gives_way = true,
};
FIXTURE_VARIANT_ADD(divide, divisible_to_a_lower_priority) {
	.flags = DRM_ROCKET_JOB_DIVISIBLE, .priority = DRM_ROCKET_PRIORITY_LOW,
};
FIXTURE_VARIANT_ADD(divide, not_divisible) { };
FIXTURE_VARIANT_ADD(divide, not_divisible_to_a_higher_priority) {
	.priority = DRM_ROCKET_PRIORITY_HIGH,
};

FIXTURE_SETUP(divide)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_DIVISIBLE);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, pair_init(&self->p));
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
	/* A task that only a slow host has not begun yet is started again. */
	rk_module_param("start_check_ms", 100 * rk_slow());
	if (variant->long_slices)
		rk_module_param("slice_us", 100000000);
}

FIXTURE_TEARDOWN(divide)
{
	rk_model_calm();
	rk_module_param("slice_us", 4000);
	rk_module_param("max_job_ms", 10000);
	rk_module_param("start_check_ms", 100);
	if (self->p.b.fd)
		pair_fini(&self->p);
}

#define LONG_TASKS	12

static int put_long(struct pair *p, uint32_t flags)
{
	struct drm_rocket_job_ext job;

	rk_job_ext(&job, p->a.task, LONG_TASKS, NULL, NULL);
	job.core_mask = CORE0;
	job.flags = flags;
	p->a_jobs++;
	return rk_submit_ext(p->a.fd, &job, 1, NULL);
}

RK_TEST_F(divide, between_two_tasks,
	  "another client's job comes between two tasks of a divisible job, where it may")
{
	struct pair *p = &self->p;
	struct drm_rocket_wait_job w;
	long long yields = rk_core_stat(0, "yields");
	struct rk_start s[32];
	int before, n;

	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_latency_us(100000);
	ASSERT_EQ(0, put_long(p, variant->flags));
	while (rk_count(0, NPU_CNT_TASK_DONE) < 2)
		rk_sleep_ms(1);
	rk_trace_start();
	ASSERT_EQ(0, put_b(p, 1, CORE0, variant->priority));
	ASSERT_EQ(0, rk_wait_job(p->b.fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(variant->gives_way ? -EBUSY : 0, rk_wait_job(p->a.fd, 1, 0, &w));
	ASSERT_EQ(0, rk_wait_job(p->a.fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(LONG_TASKS, w.task);
	/* Waiting for the other one is not counted. */
	EXPECT_LE(LONG_TASKS * 100 * RK_MS, w.elapsed_ns);
	/* Each task once. */
	EXPECT_EQ(LONG_TASKS + 1, rk_count(0, NPU_CNT_TASK_DONE));
	n = rk_trace_starts(s, ARRAY_SIZE(s));
	before = place(s, n, p->b_task.regcmd);
	if (variant->gives_way) {
		/* The task that ran, and one that a slow host let start meanwhile. */
		EXPECT_GE(2, before);
		EXPECT_LT(yields, rk_core_stat(0, "yields"));
	} else {
		EXPECT_EQ(n - 1, before);
		/* Beside a lower priority it yields, and is first again. */
		if (!(variant->flags & DRM_ROCKET_JOB_DIVISIBLE))
			EXPECT_EQ(yields, rk_core_stat(0, "yields"));
	}
	/* The rest in order. */
	for (int i = n - 1, t = LONG_TASKS - 1; i >= 0 && t >= 0; i--) {
		if (i != before) {
			EXPECT_EQ(p->a.task[t--].regcmd, s[i].regcmd);
		}
	}
	for (int i = 0; i < LONG_TASKS; i++) {
		EXPECT_EQ(0, rk_bo_differs(&p->a.out[i], 11, RK_BYTES));
	}
}

RK_TEST_F_TIMEOUT(sched, divisible_jobs_take_turns, 60,
		  "divisible jobs of two clients take turns by the slice")
{
	struct drm_rocket_task tasks[LONG_TASKS];
	struct pair *p = &self->p;
	struct drm_rocket_job_ext job;
	struct rk_start s[64];
	int n, turns = 0;

	for (int i = 0; i < LONG_TASKS; i++)
		tasks[i] = p->b_task;
	rk_job_ext(&job, tasks, LONG_TASKS, NULL, NULL);
	job.core_mask = CORE0;
	job.flags = DRM_ROCKET_JOB_DIVISIBLE;
	p->b_jobs++;
	/* Longer than a slice, so each task uses one up. */
	rk_latency_us(20000 * rk_slow());
	rk_trace_start();
	ASSERT_EQ(0, put_long(p, DRM_ROCKET_JOB_DIVISIBLE));
	ASSERT_EQ(0, rk_submit_ext(p->b.fd, &job, 1, NULL));
	EXPECT_TRUE(pair_ended_well(p));
	n = rk_trace_starts(s, ARRAY_SIZE(s));
	for (int i = 1; i < n; i++)
		turns += (s[i].regcmd == p->b_task.regcmd) != (s[i - 1].regcmd == p->b_task.regcmd);
	/* A client that has used little so far has two turns or three before the other one has any. */
	EXPECT_LE(LONG_TASKS, turns) {
		TH_LOG("%d turns in %d starts", turns, n);
	}
}

RK_TEST_F(divide, budget_of_core_time,
	  "only a job that cannot be interrupted has a limited time in all")
{
	struct pair *p = &self->p;
	struct drm_rocket_wait_job w;

	rk_module_param("max_job_ms", 350);
	/* Such that the budget ends within a task. */
	rk_latency_us(100000);
	rk_task_timeout_ms(350);
	ASSERT_EQ(0, put_long(p, variant->flags));
	ASSERT_EQ(0, rk_wait_job(p->a.fd, 1, RK_FOREVER, &w));
	if (variant->flags & DRM_ROCKET_JOB_DIVISIBLE) {
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, w.cause);
		EXPECT_EQ(LONG_TASKS, w.task);
	} else {
		EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, w.cause);
		EXPECT_EQ(-ETIME, w.error);
		EXPECT_LE(1, w.task);
		EXPECT_GT(LONG_TASKS, w.task);
		EXPECT_LE(350 * RK_MS, w.elapsed_ns);
	}
}

/* ---- chains ---- */

FIXTURE(chain) {
	struct rk_client c;
	struct rk_op id;
	struct drm_rocket_task t[2];
};

FIXTURE_VARIANT(chain) {
	uint32_t tasks;
	unsigned int kicks;
};

/* The counter of tasks has 12 bits. */
FIXTURE_VARIANT_ADD(chain, of_2) { .tasks = 2, .kicks = 1 };
FIXTURE_VARIANT_ADD(chain, of_4095) { .tasks = 4095, .kicks = 1 };
FIXTURE_VARIANT_ADD(chain, of_4096) { .tasks = 4096, .kicks = 2 };
FIXTURE_VARIANT_ADD(chain, of_9000) { .tasks = 9000, .kicks = 3 };

FIXTURE_SETUP(chain)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_BATCHED);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_op_init(&self->id, self->c.fd, RK_M, 1, 0));
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
}

FIXTURE_TEARDOWN(chain)
{
	rk_model_calm();
	if (self->c.fd)
		rk_client_fini(&self->c);
}

RK_TEST_F_TIMEOUT(chain, one_interrupt_per_kick, 120,
		  "a chain of this many tasks costs one interrupt for each 4095 of them")
{
	static struct drm_rocket_task t[9000];
	struct rk_client *c = &self->c;
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	uint32_t n = variant->tasks;
	int want = -128 + (n + 1) / 2;

	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, c->out.iova, &t[0]));
	ASSERT_EQ(0, rk_op_task(&self->id, c->out.iova, c->in.iova, &t[1]));
	for (uint32_t i = 2; i < n; i++)
		t[i] = t[i % 2];
	rk_chain(&c->inc, &t[0], &t[1]);
	rk_chain(&self->id, &t[1], &t[0]);
	ASSERT_EQ(0, rk_fini(&c->inc.bo));
	ASSERT_EQ(0, rk_fini(&self->id.bo));
	ASSERT_EQ(0, rk_bo_fill(&c->in, -128, RK_BYTES));
	rk_job_ext(&job, t, n, &c->in, &c->out);
	job.flags = DRM_ROCKET_JOB_BATCHED;
	/* No time at all, or the longest takes seconds. */
	rk_latency_us(1);
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, rk_submit_ext(c->fd, &job, 1, NULL));
	ASSERT_EQ(0, rk_wait_job(c->fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(n, w.task);
	EXPECT_EQ(n, rk_count_all(NPU_CNT_TASK_DONE));
	EXPECT_EQ(variant->kicks, rk_count_all(NPU_CNT_KICK));
	EXPECT_EQ(variant->kicks, rk_count_all(NPU_CNT_IRQ));
	EXPECT_EQ(0, rk_bo_differs(&c->out, want > 127 ? 127 : want, RK_BYTES));
}

RK_TEST_F(sched, chained_tasks_have_a_deadline_each,
	  "each task of a chain may take as long as one alone, and one that hangs is found")
{
	struct rk_team *t = &self->p.a;
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	int n = 6;

	for (int i = 1; i < n; i++)
		rk_chain(&t->inc, &t->task[i - 1], &t->task[i]);
	ASSERT_EQ(0, rk_fini(&t->inc.bo));
	rk_job_ext(&job, t->task, n, NULL, NULL);
	job.flags = DRM_ROCKET_JOB_BATCHED;
	job.timeout_ns = 500 * RK_MS;
	rk_latency_us(120000);
	ASSERT_EQ(0, rk_submit_ext(t->fd, &job, 1, NULL));
	ASSERT_EQ(0, rk_wait_job(t->fd, 1, RK_FOREVER, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(n, w.task);
	EXPECT_LT(500 * RK_MS, w.elapsed_ns);

	/* The one that hangs is found out, after the others' time. */
	rk_latency_us(1000);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, n - 2, 1);
	ASSERT_EQ(0, rk_submit_ext(t->fd, &job, 1, NULL));
	ASSERT_EQ(0, rk_wait_job(t->fd, 2, RK_FOREVER, &w));
	EXPECT_EQ(-ETIME, w.error);
	EXPECT_EQ(n - 2, w.task);
}

/* A chain of @n of the first file's tasks, each of which may take @timeout_ms. */
static int run_chain(struct rk_team *t, int n, unsigned int timeout_ms,
		     struct drm_rocket_wait_job *w)
{
	struct drm_rocket_job_ext job;
	uint64_t id;
	int ret;

	for (int i = 1; i < n; i++)
		rk_chain(&t->inc, &t->task[i - 1], &t->task[i]);
	ret = rk_fini(&t->inc.bo);
	rk_job_ext(&job, t->task, n, NULL, NULL);
	job.flags = DRM_ROCKET_JOB_BATCHED;
	job.timeout_ns = timeout_ms * RK_MS;
	if (!ret)
		ret = rk_submit_ext(t->fd, &job, 1, &id);
	return ret ? ret : rk_wait_job(t->fd, id, RK_FOREVER, w);
}

RK_TEST_F(sched, a_chain_has_the_time_of_its_tasks,
	  "a chain may take as long as all its tasks, up to the limit that GET_PARAM tells, or as one task")
{
	struct rk_team *t = &self->p.a;
	struct drm_rocket_wait_job w;
	int n = 6;

	/* Longer than one task may take, not than all of them. */
	rk_latency_us(250000);
	ASSERT_EQ(0, run_chain(t, n, 1000, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(n, w.task);
	EXPECT_LT(1000 * RK_MS, w.elapsed_ns);
	EXPECT_EQ(10000 * RK_MS, rk_param(t->fd, DRM_ROCKET_PARAM_MAX_JOB_TIME_NS));

	rk_module_param("max_job_ms", 700);
	EXPECT_EQ(700 * RK_MS, rk_param(t->fd, DRM_ROCKET_PARAM_MAX_JOB_TIME_NS));
	ASSERT_EQ(0, run_chain(t, n, 400, &w));
	EXPECT_EQ(-ETIME, w.error);
	EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, w.cause);
	EXPECT_LE(1, w.task);
	EXPECT_GT(n, w.task);
	EXPECT_LE(700 * RK_MS, w.elapsed_ns);

	/* One task's own limit is the job's, too. */
	rk_latency_us(1000000);
	ASSERT_EQ(0, run_chain(t, 1, 20000, &w));
	EXPECT_EQ(0, w.error);
	EXPECT_LT(700 * RK_MS, w.elapsed_ns);
}

RK_HARNESS_MAIN
