// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a driver of mainline's ABI makes of a core that misbehaves, ours or the
 * in-tree one; the model misbehaves on demand. All failures: rknpu_failures.c.
 *
 * boot: jobs
 * boot: dt
 * boot: polled
 * boot: noiommujob
 * boot: noviommu
 * boot: debug-short
 * boot: debug-node
 * boot: kcsan-exec
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>

#include "rknpu_harness.h"
#include "rknpu_faults.h"

/* The driver's default deadline per task is 500 ms. */
#define SOON_MS		5000

FIXTURE(fault) {
	struct rk_client c;
	struct rk_client other;
};

FIXTURE_VARIANT(fault) {
	struct rk_fault f;
};

FIXTURE_VARIANT_ADD(fault, never_start) { .f = { RK_FAULT_NEVER_START } };
FIXTURE_VARIANT_ADD(fault, hang) { .f = { RK_FAULT_HANG } };
FIXTURE_VARIANT_ADD(fault, r18_dma_read) { .f = { RK_FAULT_DMA_READ } };
FIXTURE_VARIANT_ADD(fault, r18_dma_write) { .f = { RK_FAULT_DMA_WRITE } };
FIXTURE_VARIANT_ADD(fault, r22_irq_lost) { .f = { RK_FAULT_IRQ_LOST } };

FIXTURE_SETUP(fault)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (variant->f.kind == NPU_FAULT_IRQ_LOST && rk_polled())
		SKIP(return, "no interrupt to lose");
	ASSERT_EQ(0, rk_client_init(&self->c));
	ASSERT_EQ(0, rk_client_init(&self->other));
}

FIXTURE_TEARDOWN(fault)
{
	if (!self->c.fd)
		return;
	rk_model_calm();
	rk_client_fini(&self->c);
	rk_client_fini(&self->other);
}

/* Ours tries a job once more that did not start at all. */
static bool is_retried(uint32_t kind)
{
	return kind == NPU_FAULT_NEVER_START && rk_ours();
}

static uint32_t times_until_it_fails(uint32_t kind)
{
	return is_retried(kind) ? 2 : 1;
}

/* Runs one job with the fault armed on whatever core takes it, often enough to matter. */
static int run_faulty(struct rk_client *c, uint32_t kind)
{
	int ret;

	rk_fault_arm(NPU_CTL_ANY_CORE, kind, 0, times_until_it_fails(kind));
	ret = rk_bo_fill(&c->in, 1, RK_BYTES);
	if (!ret)
		ret = rk_submit_op(&c->inc, &c->in, &c->out);
	return ret ? ret : rk_prep(&c->out, SOON_MS);
}

RK_TEST_F(fault, r34_is_reported,
	  "the job that meets this fault ends with its error, and PREP_BO says so")
{
	uint32_t fired = rk_fault_fired();

	EXPECT_EQ(variant->f.err, run_faulty(&self->c, variant->f.kind));
	EXPECT_EQ(fired + times_until_it_fails(variant->f.kind), rk_fault_fired());
	if (!variant->f.err) {
		EXPECT_EQ(2, self->c.out.map[0]);
	}
	/* It is the out buffer's state, not the waiter's. */
	EXPECT_EQ(variant->f.err, rk_prep(&self->c.out, SOON_MS));
}

RK_TEST_F(fault, next_20_jobs_on_every_core_succeed,
	  "20 jobs on each core succeed after this fault")
{
	EXPECT_EQ(variant->f.err, run_faulty(&self->c, variant->f.kind));
	EXPECT_EQ(0, rk_run_on_every_core(self->c.fd, 20));
	EXPECT_EQ(0, rk_client_run(&self->c, 9));
}

RK_TEST_F(fault, innocents_run,
	  "jobs queued behind, and another client's, run although this fault happens")
{
	struct rk_client *c = &self->c;
	struct rk_bo out[9];

	ASSERT_EQ(0, rk_bo_fill(&c->in, 1, RK_BYTES));
	rk_fault_arm(NPU_CTL_ANY_CORE, variant->f.kind, 0, 1);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], c->fd, RK_BYTES));
	}
	while (!rk_fault_fired())
		rk_sleep_ms(1);
	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &out[i]));
	}
	EXPECT_EQ(0, rk_client_run(&self->other, 33));
	EXPECT_EQ(is_retried(variant->f.kind) ? 0 : variant->f.err, rk_prep(&c->out, SOON_MS));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		EXPECT_EQ(0, rk_bo_differs(&out[i], 2, RK_BYTES)) TH_LOG("innocent %zu", i);
	}
}

RK_TEST_F(fault, in_the_third_of_five_tasks,
	  "tasks before the one that meets this fault were done, those behind it never run")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t[5];
	struct drm_rocket_job job;
	struct rk_bo out[5];
	uint32_t handles[5];

	ASSERT_EQ(0, rk_bo_fill(&c->in, 1, RK_BYTES));
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], c->fd, RK_BYTES));
		ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, out[i].iova, &t[i]));
		handles[i] = out[i].handle;
	}
	rk_job(&job, t, ARRAY_SIZE(t), &c->in.handle, 1, handles, ARRAY_SIZE(handles));
	rk_fault_arm(NPU_CTL_ANY_CORE, variant->f.kind, 2, 1);
	ASSERT_EQ(0, rk_submit(c->fd, &job, 1));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		EXPECT_EQ(variant->f.err, rk_prep(&out[i], SOON_MS));
	EXPECT_EQ(2, out[0].map[0]);
	EXPECT_EQ(2, out[1].map[0]);
	EXPECT_EQ(variant->f.err ? 0 : 2, out[3].map[0]);
	EXPECT_EQ(variant->f.err ? 0 : 2, out[4].map[0]);
	EXPECT_EQ(0, rk_run_on_every_core(c->fd, 1));
}

RK_TEST_F_TIMEOUT(fault, five_times_in_a_row, 60, "this fault is survived five times in a row")
{
	/* Not the in-tree driver's, which is fixed. */
	rk_task_timeout_ms(200 * rk_slow());
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(variant->f.err, run_faulty(&self->c, variant->f.kind)) TH_LOG("time %d", i);
	}
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS);
	EXPECT_EQ(0, rk_run_on_every_core(self->c.fd, 2));
}

RK_TEST_F_TIMEOUT(fault, all_three_cores_at_once, 60,
		  "this fault is survived on three cores at once")
{
	struct rk_client *c = &self->c;
	struct rk_bo out[RK_CORES];

	ASSERT_EQ(0, rk_bo_fill(&c->in, 1, RK_BYTES));
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], c->fd, RK_BYTES));
	}
	/* One may be tried again before the last one starts, whose fault it must not meet. */
	for (int i = 0; i < RK_CORES && is_retried(variant->f.kind); i++)
		rk_fault_arm(i, variant->f.kind, 0, 1);
	if (!is_retried(variant->f.kind))
		rk_fault_arm(NPU_CTL_ANY_CORE, variant->f.kind, 0, RK_CORES);
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &out[i]));
	}
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(is_retried(variant->f.kind) ? 0 : variant->f.err, rk_prep(&out[i], SOON_MS));
	}
	EXPECT_EQ(0, rk_run_on_every_core(c->fd, 5));
}

RK_TEST_F(fault, killed_while_it_lasts,
	  "a client that is killed while its job meets this fault harms nobody")
{
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		struct rk_client c;

		rk_client_init(&c);
		run_faulty(&c, variant->f.kind);
		pause();
	}
	for (int ms = 0; !rk_fault_fired() && ms < 10000; ms++)
		rk_sleep_ms(1);
	EXPECT_NE(0, rk_fault_fired());
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	rk_model_calm();
	EXPECT_EQ(0, rk_client_run(&self->c, 3));
	EXPECT_EQ(0, rk_run_on_every_core(self->other.fd, 2));
}

/* ---- without variants ---- */

FIXTURE(recovery) {
	struct rk_client c;
};

FIXTURE_SETUP(recovery)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init(&self->c));
}

FIXTURE_TEARDOWN(recovery)
{
	if (!rk_model())
		return;
	rk_model_calm();
	rk_client_fini(&self->c);
}

RK_TEST_F(recovery, r19_spurious_interrupts,
	  "interrupts that are not the task's do not complete it")
{
	rk_latency_us(20000);
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, rk_bo_fill(&self->c.in, i, RK_BYTES));
		ASSERT_EQ(0, rk_submit_op(&self->c.inc, &self->c.in, &self->c.out));
		rk_sleep_ms(5);
		for (int core = 0; core < RK_CORES; core++)
			rk_fault_arm(core, NPU_FAULT_IRQ_SPURIOUS, 0, 1);
		EXPECT_EQ(0, rk_bo_differs(&self->c.out, i + 1, RK_BYTES));
	}
}

/* Not the model's count: that holds the resets by which idle cores are halted, too. */
static int recovered_cores(const long long *before)
{
	char name[32];
	int cores = 0;

	for (int i = 0; i < RK_CORES; i++) {
		snprintf(name, sizeof(name), "core%d.resets", i);
		cores += rk_stat(name) != before[i];
	}
	return cores;
}

RK_TEST_F(recovery, only_the_guilty_core_is_reset, "a hang costs one reset of one core")
{
	long long before[RK_CORES];
	char name[32];

	if (rk_stat("core0.resets") < 0)
		SKIP(return, "the driver does not count resets");
	for (int i = 0; i < RK_CORES; i++) {
		snprintf(name, sizeof(name), "core%d.resets", i);
		before[i] = rk_stat(name);
	}
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(-ETIME, run_faulty(&self->c, NPU_FAULT_HANG));
	/* A job that failed does not wait for the reset behind it. */
	for (int i = 0; i < 1000 && !recovered_cores(before); i++)
		rk_sleep_ms(10);
	EXPECT_EQ(1, recovered_cores(before));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

RK_TEST_F(recovery, r24_power_goes_off_after_a_hang,
	  "the power domain goes off after a hang, though nobody submits anything")
{
	EXPECT_EQ(-ETIME, run_faulty(&self->c, NPU_FAULT_HANG));
	EXPECT_TRUE(rk_wait_asleep(3000));
	EXPECT_EQ(0, rk_client_run(&self->c, 1));
	EXPECT_TRUE(rk_wait_asleep(3000));
}

/*
 * The other cores go on while one waits for its deadline: with any jobs, or, if
 * there is one IOMMU for all, with those of the same address space.
 */
RK_TEST_F(recovery, other_cores_go_on,
	  "other cores go on while one waits for the deadline of a hang")
{
	int64_t limit = rk_ours() ? 1000 : 400, t;
	struct rk_client fast;

	/* Wide, so that a busy host does not decide the outcome. */
	rk_task_timeout_ms(1500);
	if (rk_one_iommu()) {
		ASSERT_EQ(0, rk_client_init_on(&fast, dup(self->c.fd)));
	} else {
		ASSERT_EQ(0, rk_client_init(&fast));
	}
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_op(&self->c.inc, &self->c.in, &self->c.out));
	while (!rk_fault_fired())
		rk_sleep_ms(1);
	t = rk_now();
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, rk_client_run(&fast, i));
	}
	EXPECT_GT(limit * RK_MS, rk_now() - t);
	EXPECT_EQ(-EBUSY, rk_prep_until(self->c.fd, self->c.out.handle, 0));
	EXPECT_EQ(-ETIME, rk_prep(&self->c.out, SOON_MS));
	rk_client_fini(&fast);
}

RK_TEST_F(recovery, deadline_is_a_parameter,
	  "the deadline of a task is what the module parameter says")
{
	int64_t t;

	if (!rk_ours())
		SKIP(return, "our module's parameter");
	rk_task_timeout_ms(1000);
	t = rk_now();
	EXPECT_EQ(-ETIME, run_faulty(&self->c, NPU_FAULT_HANG));
	EXPECT_LE(1000 * RK_MS, rk_now() - t);
	rk_task_timeout_ms(100);
	t = rk_now();
	EXPECT_EQ(-ETIME, run_faulty(&self->c, NPU_FAULT_HANG));
	EXPECT_GT(1000 * RK_MS, rk_now() - t);
}

RK_TEST_F(recovery, dependent_job_runs, "a job that waits for a failed one still runs")
{
	struct rk_client *c = &self->c;
	struct rk_bo last;

	ASSERT_EQ(0, rk_bo_init(&last, c->fd, RK_BYTES));
	ASSERT_EQ(0, rk_bo_fill(&c->out, 7, RK_BYTES));
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->out, &last));
	EXPECT_EQ(-ETIME, rk_prep(&c->out, SOON_MS));
	EXPECT_EQ(0, rk_bo_differs(&last, 8, RK_BYTES));
}

RK_TEST_F_TIMEOUT(recovery, r25_reset_does_not_take, 60,
		  "a reset that does not help is noticed, and another way found")
{
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 1);
	EXPECT_EQ(-ETIME, run_faulty(&self->c, NPU_FAULT_HANG));
	rk_model_calm();
	for (int i = 0; i < 30; i++) {
		ASSERT_EQ(0, rk_client_run(&self->c, i)) TH_LOG("job %d", i);
	}
}

RK_TEST_F_TIMEOUT(recovery, power_ends_what_no_reset_ends, 60,
		  "a hang that no reset ends is over once the power was off, every time, and no core is lost")
{
	long long retired = rk_cores_stat("retired");
	int was;

	if (!rk_ours())
		SKIP(return, "ours takes the power away");
	RK_REQUIRE_POWER_DOMAINS();
	/* Cores that are awake keep the power of one whose domain theirs are in. */
	was = rk_autosuspend_ms(0);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 0);
	for (int i = 0; i < 10; i++) {
		EXPECT_TRUE(rk_wait_asleep(10000));
		EXPECT_EQ(-ETIME, run_faulty(&self->c, NPU_FAULT_HANG)) TH_LOG("hang %d", i);
		EXPECT_EQ(0, rk_run_on_every_core(self->c.fd, 1)) TH_LOG("hang %d", i);
	}
	rk_autosuspend_ms(was);
	EXPECT_EQ(retired, rk_cores_stat("retired"));
}

RK_TEST_F_TIMEOUT(recovery, unbinding_what_no_reset_ends, 60,
		  "a core that no reset ends can be unbound while its job hangs, and bound again")
{
	struct rk_client *c = &self->c;

	if (!rk_ours())
		SKIP(return, "our module's parameter");
	RK_REQUIRE_POWER_DOMAINS();
	rk_task_timeout_ms(30000);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	while (!rk_fault_fired())
		rk_sleep_ms(1);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 0);
	/* All cores go with one of them. */
	EXPECT_EQ(0, rk_rebind(0));
	rk_model_calm();
	EXPECT_EQ(-ENODEV, rk_prep(&c->out, SOON_MS));
	rk_client_fini(c);
	ASSERT_EQ(0, rk_client_init(c));
	EXPECT_EQ(0, rk_run_on_every_core(c->fd, 2));
}

/* A program of nothing: the core waits for ever, the driver does not. */
RK_TEST_F(recovery, garbage_program,
	  "a program of random bytes fails, and the core works afterwards")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t = { .regcmd_count = 64 };
	struct rk_bo junk;

	/* It may name any memory. */
	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_bo_init(&junk, c->fd, RK_PAGE));
	for (size_t i = 0; i < RK_PAGE; i++)
		junk.map[i] = i * 197 + 13;
	ASSERT_EQ(0, rk_fini(&junk));
	t.regcmd = junk.iova;
	ASSERT_EQ(0, rk_submit_task(c->fd, &t, &c->in, &c->out));
	EXPECT_GT(0, rk_prep(&c->out, SOON_MS));
	EXPECT_EQ(0, rk_run_on_every_core(c->fd, 2));
}

RK_TEST_F(recovery, empty_program, "a program of zeroes times out, and the core works afterwards")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task t = { .regcmd_count = 64 };
	struct rk_bo zero;

	ASSERT_EQ(0, rk_bo_init(&zero, c->fd, RK_PAGE));
	t.regcmd = zero.iova;
	ASSERT_EQ(0, rk_submit_task(c->fd, &t, &c->in, &c->out));
	EXPECT_EQ(-ETIME, rk_prep(&c->out, SOON_MS));
	EXPECT_EQ(0, rk_run_on_every_core(c->fd, 2));
}

RK_HARNESS_MAIN
