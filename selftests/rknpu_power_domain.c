// SPDX-License-Identifier: GPL-2.0-only
/*
 * A power domain that does not come up, once and for good. Slow: the kernel's
 * driver asks a domain ten million times before it believes that, for minutes on
 * a debug kernel, while others wait for its mutex.
 *
 * What has to stay long. The boot long has the cases of failures, dtlong has them on the vendor's device tree.
 * boot: domain LONG TEST_LIMIT=700
 * boot: domain1 RARE TEST_LIMIT=700 --model npu-cores=1
 * boot: debug-domain KERNEL=debug TEST_LIMIT=5400 --cmdline sysctl.kernel.hung_task_timeout_secs=3600
 */
#define _GNU_SOURCE
#include "rknpu_harness.h"

#define PATIENCE_MS	300000

FIXTURE(domain) {
	struct rk_team t;
	unsigned int last;
};

FIXTURE_SETUP(domain)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	RK_REQUIRE_POWER_DOMAINS();
	/* 6.12's driver of the domains goes on as if one had come up, and touches what is off. */
	if (rk_kernel_before(6, 13))
		SKIP(return, "this kernel crashes of a domain that does not come up");
	ASSERT_EQ(0, rk_team_init(&self->t));
	self->last = rk_ctl_read(NPU_CTL_NUM_CORES) - 1;
}

FIXTURE_TEARDOWN(domain)
{
	rk_model_calm();
	rk_team_fini(&self->t);
}

/* How many of a full set of jobs ended with @ret. */
static int run_all(struct rk_team *t, int ret)
{
	/* So long that no core does the work of all, and none takes them for hung. */
	rk_latency_us(10000);
	rk_task_timeout_ms(5000);
	if (rk_team_submit(t, RK_TEAM_JOBS, 40))
		return -1;
	rk_team_collect(t, RK_TEAM_JOBS, 40, PATIENCE_MS);
	rk_latency_us(0);
	return rk_team_count(t, RK_TEAM_JOBS, ret);
}

RK_TEST_F_TIMEOUT(domain, does_not_come_up_once, 300,
		  "a power domain that does not come up once costs nothing")
{
	ASSERT_EQ(RK_TEAM_JOBS, run_all(&self->t, 0));
	ASSERT_TRUE(rk_wait_asleep(5000));
	rk_fault_arm(self->last, NPU_FAULT_POWER_STUCK, 0, 1);
	EXPECT_EQ(RK_TEAM_JOBS, run_all(&self->t, 0));
	EXPECT_EQ(1, rk_fault_fired());
	EXPECT_EQ(0, rk_core_stat(self->last, "retired"));
	rk_model_calm();
	EXPECT_EQ(RK_TEAM_JOBS, run_all(&self->t, 0));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

RK_TEST_F_TIMEOUT(domain, never_comes_up, 600,
		  "a core whose power domain never comes up is retired, and works again when it does")
{
	uint64_t done;

	ASSERT_EQ(RK_TEAM_JOBS, run_all(&self->t, 0));
	ASSERT_TRUE(rk_wait_asleep(5000));
	rk_fault_arm(self->last, NPU_FAULT_POWER_STUCK, 0, 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(RK_TEAM_JOBS, run_all(&self->t, self->last ? 0 : -ENODEV));
	EXPECT_LT(0, rk_fault_fired());
	for (unsigned int i = 0; i <= self->last; i++) {
		EXPECT_EQ(i == self->last, rk_core_stat(i, "retired"));
	}
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));

	rk_model_calm();
	rk_team_fini(&self->t);
	ASSERT_EQ(0, rk_rebind(self->last));
	ASSERT_EQ(0, rk_team_init(&self->t));
	done = rk_count(self->last, NPU_CNT_TASK_DONE);
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(RK_TEAM_JOBS, run_all(&self->t, 0));
	EXPECT_LE(100, rk_count(self->last, NPU_CNT_TASK_DONE) - done);
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

RK_HARNESS_MAIN
