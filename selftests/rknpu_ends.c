// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults that boards have shown with mainline's driver at the end of a job or after a reset.
 *
 * A task that has started is not stopped by the end of the one before; nobody touches a core
 * that is being reset; a core sleeps after a reset; and after a sleep that was forced no job ends
 * without its result (patches for rocket of 2026-08, tested on RK3588 and RK3576 boards).
 *
 * boot: sched
 * boot: polled
 * boot: dt
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

#include "rknpu_harness.h"

#define CORE		0
#define PC_OP_ENABLE	0x08
#define PC_INT_MASK	0x20
#define PC_INT_CLEAR	0x24
#define PC_INT_STATUS	0x28
#define PC_INT_RAW	0x2c
/* Resets of core 0, with the bits that allow writing them in the upper half. */
#define CRU_SOFTRST30	0xa78
#define CORE_RESETS	0x140
#define TIMEOUT_MS	20
#define ROUNDS		(rk_long() ? 100 : 12)

struct access {
	uint32_t unit, core, off, value;
	bool write;
};

static void read_access(uint32_t i, struct access *a)
{
	uint32_t info;

	rk_ctl_write(NPU_CTL_TRACE_INDEX, i);
	info = rk_ctl_read(NPU_CTL_TRACE_INFO);
	*a = (struct access) {
		.unit = NPU_CTL_TRACE_UNIT(info), .core = NPU_CTL_TRACE_CORE(info),
		.off = rk_ctl_read(NPU_CTL_TRACE_ADDR) & 0xffff,
		.value = rk_ctl_read(NPU_CTL_TRACE_VALUE), .write = info & NPU_CTL_TRACE_WRITE,
	};
}

/* Of one core: what came of its tasks. */
struct progress {
	bool runs, seen;
	unsigned int ends, early, wrong;
};

/* A task ends when its end was seen, and until then nothing but that is asked. */
static void follow(struct progress *p, const struct access *a)
{
	bool status = a->off == PC_INT_STATUS || a->off == PC_INT_RAW;

	if (!a->write) {
		p->seen |= p->runs && status && a->value & 0xf00;
	} else if (a->off == PC_OP_ENABLE && a->value) {
		p->wrong += p->runs;
		p->runs = true;
		p->seen = false;
	} else if (a->off == PC_OP_ENABLE) {
		p->early += p->runs && !p->seen;
		p->ends += p->runs;
		p->runs = false;
	} else if (a->off == PC_INT_CLEAR || a->off == PC_INT_MASK) {
		p->wrong += p->runs;
	}
}

static void stop_trace(struct __test_metadata *_metadata, uint32_t *n)
{
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
	*n = rk_ctl_read(NPU_CTL_TRACE_COUNT);
	EXPECT_EQ(0, rk_ctl_read(NPU_CTL_TRACE_DROPPED));
}

/* Accesses to core 0 while it was in reset. Those by a generic reset controller are not traced. */
static unsigned int touched_in_reset(uint32_t n)
{
	unsigned int touched = 0;
	bool held = false;
	struct access a;

	for (uint32_t i = 0; i < n; i++) {
		read_access(i, &a);
		if (a.unit == NPU_CTL_UNIT_CRU && a.write && a.off == CRU_SOFTRST30 &&
		    a.value & CORE_RESETS << 16)
			held = a.value & CORE_RESETS;
		else if (a.unit == NPU_CTL_UNIT_CORE && a.core == CORE)
			touched += held;
	}
	return touched;
}

FIXTURE(ends) {
	struct rk_trial t;
};

FIXTURE_SETUP(ends)
{
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	RK_REQUIRE_MODEL();
	rk_model_calm();
	ASSERT_EQ(0, rk_trial_init(&self->t, CORE, TIMEOUT_MS * rk_slow()));
	self->t.job.task_count = 1;
	/* What ran before is over, and the next job's core is clean. */
	ASSERT_EQ(0, rk_trial_run(&self->t));
}

FIXTURE_TEARDOWN(ends)
{
	rk_model_calm();
	rk_trial_fini(&self->t);
}

RK_TEST_F(ends, of_one_task_do_not_stop_the_next,
	  "what an end writes to a core comes before the next task starts there, also if it interrupts twice")
{
	struct progress p[RK_CORES] = { 0 };
	struct access a;
	struct rk_team team;
	unsigned int ends = 0;
	uint32_t n;

	if (rk_polled())
		SKIP(return, "no interrupts");
	ASSERT_EQ(0, rk_team_init(&team));
	/* Interrupts come again while the next task runs. */
	rk_fault_arm_param(NPU_CTL_ANY_CORE, NPU_FAULT_IRQ_DUP, 0, 0, 20000);
	rk_latency_us(100);
	rk_trace_start();
	for (int round = 0; round < 4; round++) {
		ASSERT_EQ(0, rk_team_submit(&team, RK_TEAM_JOBS, round));
		rk_team_collect(&team, RK_TEAM_JOBS, round, 10000);
		EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(&team, RK_TEAM_JOBS, 0));
	}
	stop_trace(_metadata, &n);
	for (uint32_t i = 0; i < n; i++) {
		read_access(i, &a);
		if (a.unit == NPU_CTL_UNIT_CORE && a.core < RK_CORES)
			follow(&p[a.core], &a);
	}
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(0, p[i].early);
		EXPECT_EQ(0, p[i].wrong);
		ends += p[i].ends;
	}
	EXPECT_LE(4 * RK_TEAM_JOBS, ends);
	EXPECT_LT(0, rk_fault_fired());
	rk_team_fini(&team);
}

RK_TEST_F_TIMEOUT(ends, handlers_are_over_before_a_reset, 120,
		  "an interrupt while a core is reset does not make anybody touch that core")
{
	struct rk_trial *t = &self->t;
	int64_t start, took = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t resets = rk_count(CORE, NPU_CNT_RESET);
		uint32_t n;

		/* It comes after the start of the next task, which hangs: around the time of the reset. */
		if (took)
			rk_fault_arm_param(CORE, NPU_FAULT_IRQ_DUP, 0, 1,
					   took - 2 * RK_MS + i % 12 * RK_MS / 2);
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
		rk_fault_arm(CORE, NPU_FAULT_HANG, 0, 1);
		rk_trace_start();
		start = rk_now();
		ASSERT_EQ(0, rk_trial_run(t));
		took = rk_now() - start;
		EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
		stop_trace(_metadata, &n);
		EXPECT_EQ(0, touched_in_reset(n));
		EXPECT_LT(resets, rk_count(CORE, NPU_CNT_RESET));
	}
}

RK_TEST_F(ends, core_sleeps_after_a_reset,
	  "after a job that hung, and with it a reset, the core goes to sleep")
{
	struct rk_trial *t = &self->t;
	uint64_t ups;

	for (int i = 0; i < 3; i++) {
		rk_fault_arm(CORE, NPU_FAULT_HANG, 0, 1);
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
		EXPECT_EQ(-ETIME, rk_prep(&t->c.out, 10000));
		ASSERT_TRUE(rk_wait_asleep(5000));
		ups = rk_core_stat(CORE, "power_ups");
		ASSERT_EQ(0, rk_bo_fill(&t->c.out, 0x80, RK_BYTES));
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
		EXPECT_EQ(0, rk_bo_differs(&t->c.out, 6, RK_BYTES));
		EXPECT_EQ(ups + 1, rk_core_stat(CORE, "power_ups"));
	}
}

RK_TEST_F_TIMEOUT(ends, results_are_there_after_a_forced_sleep, 120,
		  "a job behind a sleep that was forced, and behind a hang, ends when its result is in memory")
{
	struct rk_trial *t = &self->t;
	int was = rk_autosuspend_ms(0);
	uint64_t bytes;

	ASSERT_LE(0, was);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4 == 3) {
			rk_fault_arm(CORE, NPU_FAULT_HANG, 0, 1);
			EXPECT_EQ(0, rk_trial_run(t));
			EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
			EXPECT_EQ(-ETIME, rk_prep(&t->c.out, 10000));
		}
		EXPECT_TRUE(rk_wait_asleep(5000));
		EXPECT_EQ(0, rk_bo_fill(&t->c.out, 0x80, RK_BYTES));
		EXPECT_EQ(0, rk_bo_fill(&t->c.in, i, RK_BYTES));
		bytes = rk_count(CORE, NPU_CNT_DMA_WRITE_BYTES);
		EXPECT_EQ(0, rk_trial_run(t));
		EXPECT_LE(bytes + RK_BYTES, rk_count(CORE, NPU_CNT_DMA_WRITE_BYTES));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
		EXPECT_EQ(0, rk_bo_differs(&t->c.out, i + 1, RK_BYTES));
		if (!__test_passed(_metadata))
			break;
	}
	rk_autosuspend_ms(was);
}

RK_HARNESS_MAIN
