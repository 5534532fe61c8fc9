// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU has begun to report a page fault of the IOMMU, when another takes the
 * address space off, puts one on, or lets the core sleep. The first is held by
 * the model in between, so that it is no matter of luck; a kernel that does not
 * wait for it crashes, or blames whoever comes next.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "rknpu_harness.h"

/* After the job, when it has been put away; and how long the CPU is held. */
#define STRAY_NS	200000000u
#define HELD_NS		500000000u
#define ROUNDS		(rk_long() ? 5 : 1)
#define HOLD_TRIES	10

#define UNBOUND		"/sys/devices/virtual/workqueue/cpumask"

static int put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fputs(text, f);
	return fclose(f) ? -errno : 0;
}

/* Interrupts of the NPU come to CPU 0. */
static int steer_irqs(void)
{
	FILE *f = fopen("/proc/interrupts", "re");
	char line[512], path[64];
	unsigned int irq, n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, ".npu") || sscanf(line, " %u:", &irq) != 1)
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity", irq);
		if (put(path, "1"))
			break;
		n++;
	}
	if (f)
		fclose(f);
	return n ? 0 : -ENODEV;
}

static int run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

FIXTURE(race) {
	struct rk_client a;
	struct rk_client b;
	long long faults;
};

FIXTURE_VARIANT(race) {
	unsigned int core;
};

FIXTURE_VARIANT_ADD(race, core0) { .core = 0 };
FIXTURE_VARIANT_ADD(race, core2) { .core = 2 };

FIXTURE_SETUP(race)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "our module's statistics");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	if (put(UNBOUND, "2"))
		SKIP(return, "workers cannot be kept off a CPU");
	ASSERT_EQ(0, steer_irqs());
	ASSERT_EQ(0, run_on(1));
	rk_stay_awake(true);
	ASSERT_EQ(0, rk_client_init(&self->b));
}

FIXTURE_TEARDOWN(race)
{
	if (!rk_model() || !rk_ours())
		return;
	rk_model_calm();
	rk_stay_awake(false);
	rk_client_fini(&self->b);
	put(UNBOUND, "3");
}

static int run_job(struct rk_client *c, unsigned int core, int value)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_task t;
	long differs;
	int ret = rk_bo_fill(&c->in, value, RK_BYTES);

	if (!ret)
		ret = rk_bo_fill(&c->out, 0, RK_BYTES);
	c->inc.used = 2 * RK_PAGE;
	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	rk_job_ext(&job, &t, 1, &c->in, &c->out);
	job.core_mask = 1u << core;
	if (!ret)
		ret = rk_submit_ext(c->fd, &job, 1, NULL);
	if (!ret)
		ret = rk_prep(&c->out, 20000);
	if (ret)
		return ret;
	differs = rk_bo_differs(&c->out, value + 1, RK_BYTES);
	return differs > 0 ? -EILSEQ : differs;
}

static bool wait_fired(unsigned int n, unsigned int ms)
{
	for (unsigned int i = 0; i < ms && rk_fault_fired() < n; i++)
		rk_sleep_ms(1);
	return rk_fault_fired() == n;
}

/* Client a had the core last, and CPU 0 is about to say that it faulted. */
static int try_hold(FIXTURE_DATA(race) *self, unsigned int core)
{
	int ret = rk_client_init(&self->a);

	if (ret)
		return ret;
	rk_model_calm();
	self->faults = rk_core_stat(core, "faults");
	rk_fault_arm_param(core, NPU_FAULT_MMU_STRAY, 0, 1, STRAY_NS);
	rk_fault_arm_param(core, NPU_FAULT_CPU_HELD, 0, 1, HELD_NS);
	ret = run_job(&self->a, core, 20);
	if (ret)
		return ret;
	if (!wait_fired(2, 10000))
		return -ETIME;
	return rk_core_stat(core, "faults") == self->faults ? 0 : -EAGAIN;
}

/* On a busy host the time may be over before anybody has seen it begin. */
static int hold_handler(FIXTURE_DATA(race) *self, unsigned int core)
{
	int ret = -EAGAIN;

	for (int i = 0; i < HOLD_TRIES && ret == -EAGAIN; i++) {
		if (i)
			rk_client_fini(&self->a);
		ret = try_hold(self, core);
	}
	return ret;
}

/* It was reported, once, and is not held against anybody. */
static bool fault_counted(FIXTURE_DATA(race) *self, unsigned int core)
{
	for (int i = 0; i < 500 && rk_core_stat(core, "faults") == self->faults; i++)
		rk_sleep_ms(10);
	return rk_core_stat(core, "faults") == self->faults + 1;
}

#define CHECK_AFTERWARDS()							\
	do {									\
		EXPECT_TRUE(fault_counted(self, variant->core));		\
		EXPECT_EQ(0, run_job(&self->b, variant->core, 30));		\
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));			\
	} while (0)

RK_TEST_F_TIMEOUT(race, detach, 120,
		  "a page fault that is being reported while its address space goes is counted once")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, hold_handler(self, variant->core));
		rk_client_fini(&self->a);
		CHECK_AFTERWARDS();
	}
}

RK_TEST_F_TIMEOUT(race, attach, 120,
		  "a page fault that is being reported is not blamed on the next client's job")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, hold_handler(self, variant->core));
		EXPECT_EQ(0, run_job(&self->b, variant->core, 40));
		CHECK_AFTERWARDS();
		EXPECT_EQ(0, run_job(&self->a, variant->core, 50));
		rk_client_fini(&self->a);
	}
}

RK_TEST_F_TIMEOUT(race, sleep, 120,
		  "a page fault that is being reported while the core falls asleep is counted once")
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, hold_handler(self, variant->core));
		rk_stay_awake(false);
		CHECK_AFTERWARDS();
		rk_stay_awake(true);
		EXPECT_EQ(0, run_job(&self->a, variant->core, 50));
		rk_client_fini(&self->a);
	}
}

RK_HARNESS_MAIN
