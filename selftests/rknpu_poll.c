// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cores whose ends no interrupt tells: the parameters poll and spin_us, lost interrupts.
 *
 * boot: sched
 * Cores that are polled: because they are asked to be, and for want of an interrupt: one core, or all.
 * boot: polled LONG TEST_LIMIT=400 --param poll=1
 * boot: noirq RARE --dt-edit /npu@fdab0000:interrupts
 * boot: novirq LONG TEST_LIMIT=400 --dt vendor --dt-edit /npu@fdab0000:interrupts --dt-edit /npu@fdab0000:interrupt-names --param spin_us=100
 * boot: noiommujob
 * boot: debug-ext
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "rknpu_harness.h"

#define PARAMETERS	"/sys/module/rknpu_accel/parameters/"
/* In the driver: if that many never come from the first one on, the core is polled. */
#define LOST		3
#define RUNS		20
/*
 * Of a task of 100 ms: 8 looks in the first 160 us, 33 until the pauses are 1 ms, one
 * per ms then. Timers that come late make it fewer.
 */
#define LONG_US		100000
#define LONG_LOOKS	150

static bool write_param(const char *name, const char *value)
{
	char path[96];
	int fd, ret;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : write(fd, value, strlen(value));
	close(fd);
	return ret > 0;
}

FIXTURE(poll) {
	struct rk_trial t;
	long long irqs;
	long long polls;
};

FIXTURE_SETUP(poll)
{
	RK_REQUIRE_FEATURE(RK_ANY_FEATURE);
	if (!rk_polled()) {
		RK_REQUIRE_MODEL();
	}
	rk_model_calm();
	ASSERT_EQ(0, rk_poll_core(0));
	ASSERT_EQ(0, rk_trial_init(&self->t, 0, 0));
	/* What ran before ends with its interrupt, and the next job's core is scrubbed. */
	ASSERT_EQ(0, rk_trial_run(&self->t));
	self->irqs = rk_cores_stat("irqs");
	self->polls = rk_cores_stat("polls");
}

FIXTURE_TEARDOWN(poll)
{
	write_param("spin_us", "0");
	rk_model_calm();
	rk_trial_fini(&self->t);
	if (!rk_polled())
		EXPECT_EQ(0, rk_rebind(0));
}

RK_TEST_F(poll, raises_no_interrupt, "a job of three tasks on a polled core takes no interrupt and gives the right result")
{
	EXPECT_EQ(0, rk_trial_run(&self->t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, self->t.w.cause);
	EXPECT_EQ(3, self->t.w.task);
	EXPECT_EQ(self->irqs, rk_cores_stat("irqs"));
	EXPECT_LE(self->polls + 3, rk_cores_stat("polls"));
}

RK_TEST_F(poll, chain_is_over_at_its_end, "a polled chain is not taken for over when its first task is")
{
	struct rk_trial *t = &self->t;

	for (int i = 0; i + 1 < RK_TRIAL_TASKS; i++)
		rk_chain(&t->c.inc, &t->t[i], &t->t[i + 1]);
	ASSERT_EQ(0, rk_fini(&t->c.inc.bo));
	t->job.flags = DRM_ROCKET_JOB_BATCHED;
	for (int i = 0; i < RUNS; i++) {
		/* Looks fall on all sides of the ends of the tasks. */
		uint32_t us = rk_model() ? 400 + 37 * i : 0;
		int64_t start;

		if (us)
			rk_latency_us(us);
		/* The driver's clock may start late, if its CPU stands still. */
		start = rk_now();
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(3, t->w.task);
		EXPECT_LE(3000ll * us, rk_now() - start);
	}
	EXPECT_EQ(self->irqs, rk_cores_stat("irqs"));
}

RK_TEST_F(poll, looks_grow_rare, "a task of 100 ms is looked at no more often than the documentation says")
{
	int64_t start;

	RK_REQUIRE_MODEL();
	self->t.job.task_count = 1;
	rk_latency_us(LONG_US);
	start = rk_now();
	ASSERT_EQ(0, rk_trial_run(&self->t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, self->t.w.cause);
	EXPECT_LE(LONG_US * 1000ll, rk_now() - start);
	EXPECT_GE(self->polls + LONG_LOOKS, rk_cores_stat("polls"));
	EXPECT_EQ(self->irqs, rk_cores_stat("irqs"));
}

RK_TEST_F(poll, hang_is_told, "a job that hangs on a polled core ends with ETIME, and the next one runs")
{
	struct rk_trial *t = &self->t;

	RK_REQUIRE_MODEL();
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 1, 1);
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(-ETIME, t->w.error);
	EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, t->w.cause);
	EXPECT_EQ(1, t->w.task);
	EXPECT_EQ(0, rk_trial_run(t));
}

RK_TEST_F(poll, page_fault_is_told, "a job that faults on a polled core ends with EFAULT, and the next one runs")
{
	struct rk_client *c = &self->t.c;
	struct drm_rocket_task task;
	struct drm_rocket_job_ext job;
	struct drm_rocket_wait_job w;
	uint64_t id;

	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, 0xfff00000, &task));
	rk_job_ext(&job, &task, 1, &c->in, &c->out);
	job.core_mask = 1;
	ASSERT_EQ(0, rk_submit_ext(c->fd, &job, 1, &id));
	ASSERT_EQ(0, rk_wait_job(c->fd, id, RK_FOREVER, &w));
	EXPECT_EQ(-EFAULT, w.error);
	EXPECT_EQ(0xfff00000, w.fault_address);
	EXPECT_EQ(0, rk_trial_run(&self->t));
}

/* Waits that did not sleep, of RUNS. */
static int awake_waits(struct rk_trial *t)
{
	struct rusage before, after;
	int n = 0;

	for (int i = 0; i < RUNS; i++) {
		if (rk_trial_submit(t))
			return -1;
		getrusage(RUSAGE_THREAD, &before);
		if (rk_wait_job(t->c.fd, t->id, RK_FOREVER, &t->w) || t->w.error)
			return -1;
		getrusage(RUSAGE_THREAD, &after);
		n += before.ru_nvcsw == after.ru_nvcsw;
	}
	return n;
}

static bool preempt_rt(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.version, "PREEMPT_RT");
}

RK_TEST_F(poll, waiter_looks_itself, "with spin_us, who waits for a job of a polled core sees its end without sleeping")
{
	RK_REQUIRE_MODEL();
	/* Not over before anybody waits, as a rule, nor when others want the CPU. */
	self->t.job.task_count = 1;
	rk_latency_us(5000);
	ASSERT_TRUE(write_param("spin_us", "0"));
	EXPECT_GT(RUNS, awake_waits(&self->t));
	ASSERT_TRUE(write_param("spin_us", "1000000"));
	/*
	 * With PREEMPT_RT it is left to the timer: who looks takes locks that sleep there, with
	 * preemption off. Without DEBUG_ATOMIC_SLEEP a kernel tells only of locks that are taken.
	 */
	EXPECT_LT(preempt_rt() ? -1 : 0, awake_waits(&self->t));
	EXPECT_EQ(self->irqs, rk_cores_stat("irqs"));
}

RK_TEST_F(poll, lost_interrupts_are_given_up, "a core whose interrupts do not come is polled, until it is bound again")
{
	struct rk_trial *t = &self->t;

	RK_REQUIRE_MODEL();
	if (rk_polled())
		SKIP(return, "no interrupt to lose");
	rk_trial_fini(t);
	ASSERT_EQ(0, rk_rebind(0));
	ASSERT_EQ(0, rk_trial_init(t, 0, 0));
	t->job.task_count = 1;
	self->irqs = rk_cores_stat("irqs");
	self->polls = rk_cores_stat("polls");
	rk_fault_arm(0, NPU_FAULT_IRQ_LOST, 0, 0);
	for (int i = 0; i < LOST; i++) {
		EXPECT_EQ(self->polls, rk_cores_stat("polls"));
		ASSERT_EQ(0, rk_trial_run(t));
		EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	}
	ASSERT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_DONE, t->w.cause);
	EXPECT_EQ(self->irqs, rk_cores_stat("irqs"));
	EXPECT_LT(self->polls, rk_cores_stat("polls"));
	rk_model_calm();
	rk_trial_fini(t);

	ASSERT_EQ(0, rk_rebind(0));
	ASSERT_EQ(0, rk_trial_init(t, 0, 0));
	EXPECT_EQ(0, rk_trial_run(t));
	self->irqs = rk_cores_stat("irqs");
	self->polls = rk_cores_stat("polls");
	EXPECT_EQ(0, rk_trial_run(t));
	EXPECT_EQ(self->irqs + 3, rk_cores_stat("irqs"));
	EXPECT_EQ(self->polls, rk_cores_stat("polls"));
}

RK_HARNESS_MAIN
