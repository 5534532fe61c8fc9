// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose turn it is: how much of a core users with many files have, as the model saw it.
 *
 * boot: sched
 * boot: dt
 * boot: debug-sched
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_harness.h"
#include "rknpu_util.h"

#define ATTACKER	1001
#define VICTIM		1002
/* One that has not been there before, and so is not ahead. */
#define BYSTANDER	10000

#define LONGEST_MS	60000
#define MANY		16
/* How long the job in front keeps the others waiting, so that all of them are queued. */
#define PLUG_US		1500000
/* For that one, and for what a busy host makes late. */
#define TASK_TIMEOUT_MS	20000
#define LONG_TASKS	40
#define MAX_STARTS	1024

struct hog {
	struct rk_client c;
	/* So that the programs of each user have an address of their own. */
	struct rk_bo pad;
	struct drm_rocket_task t[LONG_TASKS];
};

/* @place: of its programs. */
static int hog_init(struct hog *h, uid_t uid, unsigned int place)
{
	int fd = rk_open_as(uid, rk_open);
	int ret;

	memset(h, 0, sizeof(*h));
	if (fd < 0)
		return fd;
	h->c.fd = fd;
	ret = rk_bo_init(&h->pad, fd, place * RK_PAGE);
	if (!ret)
		ret = rk_client_init_on(&h->c, fd);
	if (!ret)
		ret = rk_op_task(&h->c.inc, h->c.in.iova, h->c.out.iova, &h->t[0]);
	if (!ret)
		ret = rk_fini(&h->c.inc.bo);
	for (int i = 1; i < LONG_TASKS; i++)
		h->t[i] = h->t[0];
	return ret;
}

static void hog_fini(struct hog *h)
{
	if (h->c.fd <= 0)
		return;
	rk_bo_fini(&h->pad);
	rk_client_fini(&h->c);
	h->c.fd = 0;
}

/* @n jobs of @tasks each. */
static int hog_put(struct hog *h, unsigned int n, unsigned int tasks, uint32_t mask, uint32_t priority)
{
	struct drm_rocket_job_ext job;
	int ret = 0;

	rk_job_ext(&job, h->t, tasks, NULL, NULL);
	job.core_mask = mask;
	job.priority = priority;
	job.timeout_ns = TASK_TIMEOUT_MS * RK_MS;
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = rk_submit_ext(h->c.fd, &job, 1, NULL);
	return ret;
}

/* Until the @n-th job of the file is over. */
static int hog_wait(struct hog *h, uint64_t n)
{
	struct drm_rocket_wait_job w;

	return rk_wait_job(h->c.fd, n, RK_FOREVER, &w) ?: w.error;
}

/* The same, now: -EBUSY if it is not over. */
static int hog_over(struct hog *h, uint64_t n)
{
	struct drm_rocket_wait_job w;

	return rk_wait_job(h->c.fd, n, 0, &w) ?: w.error;
}

/* The driver's default. */
#define SLICE_US	4000

FIXTURE(turns) {
	struct hog plug;
	struct hog victim;
	struct hog attacker[MANY];
	struct rk_start s[MAX_STARTS];
	int victims;
	int attackers;
};

FIXTURE_SETUP(turns)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	if (geteuid())
		SKIP(return, "needs root");
	rk_task_timeout_ms(TASK_TIMEOUT_MS);
	rk_module_param("max_job_ms", LONGEST_MS);
	ASSERT_EQ(0, hog_init(&self->plug, BYSTANDER + getpid(), 1));
	ASSERT_EQ(0, hog_init(&self->victim, VICTIM, 2));
	for (int i = 0; i < MANY; i++) {
		ASSERT_EQ(0, hog_init(&self->attacker[i], ATTACKER, 3));
	}
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
}

FIXTURE_TEARDOWN(turns)
{
	rk_model_calm();
	rk_module_param("slice_us", SLICE_US);
	rk_module_param("max_job_ms", 10000);
	hog_fini(&self->plug);
	hog_fini(&self->victim);
	for (int i = 0; i < MANY; i++)
		hog_fini(&self->attacker[i]);
}

/* Keeps core 0 busy and records what follows, each task of @us. */
static int plug(struct hog *h, unsigned int us)
{
	uint64_t started = rk_count(0, NPU_CNT_TASK_STARTED);
	int ret;

	rk_trace_start();
	rk_latency_us(PLUG_US * rk_slow());
	ret = hog_put(h, 1, 1, 1, 0);
	if (!ret && !rk_wait_count(0, NPU_CNT_TASK_STARTED, started + 1, 5000))
		ret = -ETIMEDOUT;
	/* The model looks at it when the program has been read. */
	rk_sleep_ms(50 * rk_slow());
	rk_latency_us(us);
	return ret;
}

static bool still_plugged(struct hog *h)
{
	struct drm_rocket_wait_job w;

	return rk_wait_job(h->c.fd, 1, 0, &w) == -EBUSY;
}

/*
 * Who started how many tasks up to the @n-th one of the victim, or for as long as the
 * model recorded.
 */
static int look_at_starts(FIXTURE_DATA(turns) *t, int n)
{
	memset(t->s, 0, sizeof(t->s));
	t->victims = 0;
	t->attackers = 0;
	rk_trace_starts(t->s, MAX_STARTS);
	for (int i = 0; i < MAX_STARTS && t->s[i].regcmd && t->victims < n; i++) {
		t->victims += t->s[i].regcmd == t->victim.t[0].regcmd;
		t->attackers += t->s[i].regcmd == t->attacker[0].t[0].regcmd;
	}
	printf("# %d tasks of the victim, %d of attackers\n", t->victims, t->attackers);
	return t->victims;
}

/* How long the first @n jobs of a file took. */
static uint64_t took_ns(const struct hog *h, int n, uint64_t *longest)
{
	struct drm_rocket_wait_job w = { 0 };
	uint64_t sum = 0;

	for (int i = 1; i <= n; i++) {
		if (rk_wait_job(h->c.fd, i, 0, &w))
			return 0;
		sum += w.elapsed_ns;
		*longest = w.elapsed_ns > *longest ? w.elapsed_ns : *longest;
	}
	return sum;
}

/*
 * Has the victim had as much of the core as attackers with so many jobs per file, but for one
 * job and a slice? The driver shares the time it measures, and a busy host makes some tasks
 * much longer than others, so tasks cannot be counted: each of attackers' took @task_us at least.
 */
static bool paid_back(FIXTURE_DATA(turns) *t, int files, int jobs, unsigned int task_us)
{
	uint64_t longest = 0;
	uint64_t victim = took_ns(&t->victim, t->victims, &longest);

	for (int i = 0; i < files; i++)
		took_ns(&t->attacker[i], jobs, &longest);
	printf("# us of the core: victim %llu, attackers %u or more, longest job %llu\n",
	       (unsigned long long)victim / 1000, t->attackers * task_us,
	       (unsigned long long)longest / 1000);
	return victim && victim + longest + SLICE_US * 1000 >= t->attackers * task_us * 1000ull;
}

/* What the model records of so many changes of the address space fits its memory. */
#define QUEUED	8

RK_TEST_F_TIMEOUT(turns, are_by_user, 120,
		  "a user with sixteen files has as much of a core as one with one file")
{
	/* Less than a job takes: every job is a turn. */
	rk_module_param("slice_us", 1000);
	ASSERT_EQ(0, plug(&self->plug, 3000));
	for (int i = 0; i < MANY; i++) {
		ASSERT_EQ(0, hog_put(&self->attacker[i], 2, 1, 1, 0));
	}
	ASSERT_EQ(0, hog_put(&self->victim, QUEUED, 1, 1, 0));
	ASSERT_TRUE(still_plugged(&self->plug));
	for (int i = 0; i < MANY; i++) {
		EXPECT_EQ(0, hog_wait(&self->attacker[i], 2));
	}
	EXPECT_EQ(0, hog_wait(&self->victim, QUEUED));
	EXPECT_LE(QUEUED / 2, look_at_starts(self, QUEUED));
	EXPECT_TRUE(paid_back(self, MANY, 2, 3000));
}

#define VICTIMS	60

/* Long jobs of that priority beside the victim's short ones: 0 or an error. */
static int long_beside_short(FIXTURE_DATA(turns) *t, uint32_t priority)
{
	struct hog *a = &t->attacker[0];
	int ret = plug(&t->plug, 2000) ?: hog_put(a, 8, LONG_TASKS, 1, priority) ?:
		  hog_put(&t->victim, VICTIMS, 1, 1, 0);

	if (!ret && !still_plugged(&t->plug))
		ret = -EAGAIN;
	ret = ret ?: hog_wait(a, 8) ?: hog_wait(&t->victim, VICTIMS);
	look_at_starts(t, VICTIMS);
	return ret;
}

RK_TEST_F_TIMEOUT(turns, long_jobs_are_paid_back, 120,
		  "a user with long jobs waits until another one with short ones has had as much of the core")
{
	ASSERT_EQ(0, long_beside_short(self, DRM_ROCKET_PRIORITY_DEFAULT));
	EXPECT_LE(VICTIMS / 2, self->victims);
	EXPECT_TRUE(paid_back(self, 1, 8, 2000));
}

RK_TEST_F_TIMEOUT(turns, patience_is_no_way_round, 120,
		  "long jobs of low priority have no more of the core than others leave them, or half")
{
	ASSERT_EQ(0, long_beside_short(self, DRM_ROCKET_PRIORITY_LOW));
	EXPECT_LE(VICTIMS / 2, self->victims);
	EXPECT_TRUE(paid_back(self, 1, 8, 2000));
}

RK_TEST_F_TIMEOUT(turns, debts_outlive_files, 120,
		  "who closes all files after a long job and opens one again does not go first")
{
	struct hog *a = &self->attacker[0];

	rk_latency_us(2000);
	ASSERT_EQ(0, hog_put(a, 1, LONG_TASKS, 1, 0));
	ASSERT_EQ(0, hog_wait(a, 1));
	for (int i = 0; i < MANY; i++)
		hog_fini(&self->attacker[i]);
	/* Its users are those of files that the last put has freed. */
	ASSERT_TRUE(rk_stat_settles("vms", 2));
	ASSERT_EQ(0, hog_init(a, ATTACKER, 3));

	ASSERT_EQ(0, plug(&self->plug, 2000));
	ASSERT_EQ(0, hog_put(a, 4, 1, 1, 0));
	ASSERT_EQ(0, hog_put(&self->victim, VICTIMS, 1, 1, 0));
	ASSERT_TRUE(still_plugged(&self->plug));
	EXPECT_EQ(0, hog_wait(a, 4));
	EXPECT_EQ(0, hog_wait(&self->victim, VICTIMS));
	/* On a busy host a job of one task takes longer than a task of the long one. */
	EXPECT_EQ(LONG_TASKS / 4, look_at_starts(self, LONG_TASKS / 4));
	EXPECT_EQ(0, self->attackers);
}

RK_TEST_F_TIMEOUT(turns, divisible_jobs_leave_slices_to_low_priority, 120,
		  "a long divisible job lets another user's job of low priority run after some slices")
{
	struct hog *a = &self->attacker[0];
	struct drm_rocket_job_ext job;

	ASSERT_EQ(0, plug(&self->plug, 2 * SLICE_US));
	rk_job_ext(&job, a->t, LONG_TASKS, NULL, NULL);
	job.core_mask = 1;
	job.flags = DRM_ROCKET_JOB_DIVISIBLE;
	job.timeout_ns = TASK_TIMEOUT_MS * RK_MS;
	ASSERT_EQ(0, rk_submit_ext(a->c.fd, &job, 1, NULL));
	ASSERT_EQ(0, hog_put(&self->victim, 1, 1, 1, DRM_ROCKET_PRIORITY_LOW));
	ASSERT_TRUE(still_plugged(&self->plug));
	/* Whoever asks for the job's time has it counted up to then, which does not make it new. */
	while (hog_over(&self->victim, 1) == -EBUSY)
		ASSERT_LE(0, rk_fdinfo(a->c.fd, "rknpu-user"));
	EXPECT_EQ(0, hog_over(&self->victim, 1));
	EXPECT_EQ(0, hog_wait(a, 1));
	EXPECT_EQ(1, look_at_starts(self, 1));
	EXPECT_GT(LONG_TASKS * 3 / 4, self->attackers);
}

#define KEPT	20

RK_TEST_F_TIMEOUT(turns, who_goes_while_a_core_is_kept, 120,
		  "a core that is kept for another user sleeps, although the job that had to wait is gone")
{
	struct hog *a = &self->attacker[0];

	rk_latency_us(2000);
	ASSERT_EQ(0, hog_put(a, 1, LONG_TASKS, 1, 0));
	ASSERT_EQ(0, hog_wait(a, 1));
	hog_fini(a);
	rk_latency_us(0);
	for (int i = 1; i <= KEPT; i++) {
		ASSERT_EQ(0, hog_init(a, ATTACKER, 3));
		/* Soon after one another, so that the core is kept for the next one. */
		for (int j = 1; j <= 4; j++) {
			ASSERT_EQ(0, hog_put(&self->victim, 1, 1, 1, 0));
			ASSERT_EQ(0, hog_wait(&self->victim, 4 * (i - 1) + j));
		}
		ASSERT_EQ(0, hog_put(a, 1, 1, 1, 0));
		hog_fini(a);
		ASSERT_TRUE(rk_wait_asleep(10000)) TH_LOG("try %d", i);
	}
}

RK_HARNESS_MAIN
