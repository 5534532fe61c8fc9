// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sources of the hardware do not agree on: the driver works with each combination of readings.
 *
 * boot: sched
 * boot: polled
 * boot: dt
 */
#define _GNU_SOURCE
#include <errno.h>

#include "rknpu_harness.h"

#define ALL_READINGS	(1u << NPU_READ_NUM)
/* As short as a chain that hangs may be waited for; a busy host may be late with its first task. */
#define HANG_MS		20
#define HANG_TRIES	5
/* In the page of programs, behind those that the trial has. */
#define POOL_PROG	(14 * RK_PAGE)

FIXTURE(readings) {
	struct rk_trial t;
	struct drm_rocket_task pool;
};

FIXTURE_VARIANT(readings) {
	bool polled;
};

FIXTURE_VARIANT_ADD(readings, irq) { .polled = false };
FIXTURE_VARIANT_ADD(readings, poll) { .polled = true };

/* Maximum of 2x2 halves in each of 8 channels: the PPU alone. */
static void write_pool(struct rk_client *c, struct drm_rocket_task *task)
{
	const struct {
		uint16_t reg;
		uint32_t value;
	} writes[] = {
		{ 0x6004, 0xe }, { 0x7004, 0xe },
		{ 0x600c, 1 }, { 0x6010, 1 }, { 0x6014, 7 }, { 0x6018, 0 }, { 0x601c, 0 }, { 0x6020, 7 },
		{ 0x6024, 0x11 }, { 0x6034, 1 << 20 | 1 << 16 | 1 << 8 | 1 },
		{ 0x6070, c->out.iova }, { 0x607c, 16 }, { 0x6084, 16 | 2 }, { 0x60dc, 3 },
		{ 0x700c, 1 }, { 0x7010, 1 }, { 0x7014, 7 },
		{ 0x701c, c->in.iova }, { 0x7024, 32 }, { 0x7028, 64 }, { 0x7030, 2 },
		/* So that the end is at an odd place, as it is in fetches of two. */
		{ 0x7030, 2 },
	};
	uint64_t *prog = (uint64_t *)(c->inc.bo.map + POOL_PROG);
	unsigned int n = 0;

	for (; n < sizeof(writes) / sizeof(writes[0]); n++)
		prog[n] = (uint64_t)(0x100u << (writes[n].reg >> 12) | 1) << 48 |
			  (uint64_t)writes[n].value << 16 | writes[n].reg;
	prog[n++] = 0x0041ull << 48;
	prog[n++] = 0x0081ull << 48 | 0x60ull << 16 | 8;
	task->regcmd = c->inc.bo.iova + POOL_PROG;
	task->regcmd_count = n;
}

FIXTURE_SETUP(readings)
{
	struct rk_client *c = &self->t.c;

	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	RK_REQUIRE_MODEL();
	if (!variant->polled && rk_polled())
		SKIP(return, "no interrupts");
	rk_model_calm();
	if (variant->polled)
		ASSERT_EQ(0, rk_poll_core(0));
	ASSERT_EQ(0, rk_trial_init(&self->t, 0, 10 * RK_TASK_TIMEOUT_MS));
	write_pool(c, &self->pool);
	for (int i = 0; i + 1 < RK_TRIAL_TASKS; i++)
		rk_chain(&c->inc, &self->t.t[i], &self->t.t[i + 1]);
	ASSERT_EQ(0, rk_fini(&c->inc.bo));
}

FIXTURE_TEARDOWN(readings)
{
	rk_model_calm();
	rk_trial_fini(&self->t);
	if (variant->polled && !rk_polled())
		EXPECT_EQ(0, rk_rebind(0));
}

/* Task by task, or in one go; each byte of the output is 6 then. */
static void run_jobs(struct __test_metadata *_metadata, struct rk_trial *t, uint32_t flags)
{
	ASSERT_EQ(0, rk_bo_fill(&t->c.out, 0, RK_BYTES));
	t->job.tasks = (uintptr_t)t->t;
	t->job.task_count = RK_TRIAL_TASKS;
	t->job.flags = flags;
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	EXPECT_EQ(RK_TRIAL_TASKS, t->w.task);
	EXPECT_EQ(0, rk_bo_differs(&t->c.out, 6, RK_BYTES));
}

static void run_pool(struct __test_metadata *_metadata, struct rk_trial *t,
		     const struct drm_rocket_task *pool, uint32_t flags)
{
	uint16_t *in = (uint16_t *)t->c.in.map, *out = (uint16_t *)t->c.out.map;

	ASSERT_EQ(0, rk_bo_fill(&t->c.out, 0, RK_BYTES));
	for (int i = 0; i < 32; i++)
		in[i] = 0x3c00 + i / 8;
	ASSERT_EQ(0, rk_fini(&t->c.in));
	t->job.tasks = (uintptr_t)pool;
	t->job.task_count = 1;
	t->job.flags = flags;
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	ASSERT_EQ(0, rk_prep(&t->c.out, 5000));
	for (int i = 0; i < 8; i++)
		EXPECT_EQ(0x3c03, out[i]);
	ASSERT_EQ(0, rk_bo_fill(&t->c.in, 5, RK_BYTES));
}

/* Its second task does. The count is all that tells how far it came. */
static void hang_chain(struct __test_metadata *_metadata, struct rk_trial *t)
{
	uint64_t timeout_ns = t->job.timeout_ns;

	t->job.tasks = (uintptr_t)t->t;
	t->job.task_count = RK_TRIAL_TASKS;
	t->job.flags = DRM_ROCKET_JOB_BATCHED;
	t->job.timeout_ns = HANG_MS * rk_slow() * RK_MS;
	for (int i = 0; i < HANG_TRIES; i++) {
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
		rk_fault_arm(0, NPU_FAULT_HANG, 1, 1);
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(-ETIME, t->w.error);
		EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
		/* Told once, and not to the next job's. */
		EXPECT_EQ(-ETIME, rk_prep(&t->c.out, 10000));
		if (t->w.task)
			break;
	}
	EXPECT_EQ(1, t->w.task);
	t->job.timeout_ns = timeout_ns;
}

RK_TEST_F_TIMEOUT(readings, each, 200,
		  "jobs, chains, pooling and a hang end as they should with every combination of readings")
{
	struct rk_trial *t = &self->t;
	long long resets = rk_cores_stat("resets");

	/* Each changes with one alone next to it. */
	for (uint32_t i = 0; i < ALL_READINGS; i++) {
		uint32_t flip = i ^ i >> 1;

		rk_ctl_write(NPU_CTL_FLIP, flip);
		run_jobs(_metadata, t, 0);
		run_jobs(_metadata, t, DRM_ROCKET_JOB_BATCHED);
		run_pool(_metadata, t, &self->pool, 0);
		run_pool(_metadata, t, &self->pool, DRM_ROCKET_JOB_PPU_DONE);
		hang_chain(_metadata, t);
		run_jobs(_metadata, t, DRM_ROCKET_JOB_BATCHED);
		if (!__test_passed(_metadata)) {
			TH_LOG("with the readings %#x turned round", flip);
			break;
		}
	}
	EXPECT_LE(resets + ALL_READINGS, rk_cores_stat("resets"));
}

RK_HARNESS_MAIN
