// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's program that overwrites a core's memories never ends. What the driver makes
 * of that depends on whether it ever did since the module was loaded, so this wants a boot of
 * its own, and its cases stay in order.
 *
 * Modules that have not run a job yet.
 * boot: scrub TEST_LIMIT=400
 * boot: dtscrub LONG TEST_LIMIT=400 --dt vendor
 */
#define _GNU_SOURCE
#include <string.h>

#include "rknpu_harness.h"

/* How often it is tried on a core before it is left out. */
#define TRIES		2
#define SAID		"the scrub program hangs here"

static int run_on(struct rk_client *c, uint32_t cores)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_task t;
	long differs;
	int ret = rk_bo_fill(&c->in, 3, RK_BYTES);

	c->inc.used = RK_OP_PROG;
	if (!ret)
		ret = rk_bo_fill(&c->out, 0, RK_BYTES);
	if (!ret)
		ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &t);
	if (!ret)
		ret = rk_fini(&c->inc.bo);
	rk_job_ext(&job, &t, 1, &c->in, &c->out);
	job.core_mask = cores;
	if (!ret)
		ret = rk_submit_ext(c->fd, &job, 1, NULL);
	if (!ret)
		ret = rk_prep(&c->out, 60000);
	if (ret)
		return ret;
	differs = rk_bo_differs(&c->out, 4, RK_BYTES);
	return differs > 0 ? -EILSEQ : differs;
}

/* The next @times programs never end, or all: the driver's own comes before a new client's. */
static void break_programs(uint32_t cores, uint32_t times)
{
	rk_fault_arm(cores, NPU_FAULT_HANG, 0, times);
	rk_scrub(true);
}

static unsigned int log_count(int log, const char *what)
{
	unsigned int n = 0;

	while (rk_log_says(log, what))
		n++;
	return n;
}

FIXTURE(scrub) {
	struct rk_client a, b;
	int log;
	long long retired, fails, scrubs;
};

FIXTURE_SETUP(scrub)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	self->log = rk_log_open();
	ASSERT_LE(0, self->log);
	self->retired = rk_cores_stat("retired");
	self->fails = rk_cores_stat("scrub_fails");
	self->scrubs = rk_cores_stat("scrubs");
	ASSERT_EQ(0, rk_client_init(&self->a));
	ASSERT_EQ(0, rk_client_init(&self->b));
}

static void renew_clients(FIXTURE_DATA(scrub) *self)
{
	rk_client_fini(&self->a);
	rk_client_fini(&self->b);
	memset(&self->a, 0, sizeof(self->a));
	memset(&self->b, 0, sizeof(self->b));
	rk_model_calm();
	if (!rk_rebind(1) && !rk_client_init(&self->a))
		rk_client_init(&self->b);
}

FIXTURE_TEARDOWN(scrub)
{
	if (!rk_model() || self->a.fd <= 0)
		return;
	renew_clients(self);
	rk_client_fini(&self->a);
	rk_client_fini(&self->b);
}

#define SKIP_IF_PROVEN()							\
	do {									\
		if (self->scrubs)						\
			SKIP(return, "the program has run since the module was loaded");	\
	} while (0)

RK_TEST_F_TIMEOUT(scrub, never_ends, 120,
		  "where the driver's program has never ended, jobs run without it, and one warning says so")
{
	SKIP_IF_PROVEN();
	if (rk_one_iommu())
		break_programs(NPU_CTL_ANY_CORE, TRIES * RK_CORES);
	for (unsigned int core = 0; core < RK_CORES; core++) {
		if (!rk_one_iommu())
			break_programs(core, TRIES);
		EXPECT_EQ(0, run_on(&self->a, 1u << core)) TH_LOG("core %u", core);
		EXPECT_EQ(0, run_on(&self->b, 1u << core)) TH_LOG("core %u", core);
		EXPECT_EQ(0, run_on(&self->a, 1u << core)) TH_LOG("core %u", core);
	}
	EXPECT_EQ(self->retired, rk_cores_stat("retired"));
	EXPECT_EQ(self->fails + TRIES * RK_CORES, rk_cores_stat("scrub_fails"));
	EXPECT_EQ(TRIES * RK_CORES, rk_fault_fired());
	EXPECT_EQ(self->scrubs, rk_cores_stat("scrubs"));
	EXPECT_EQ(1, log_count(self->log, SAID));
}

RK_TEST_F_TIMEOUT(scrub, ends_on_another_core, 120,
		  "if it ends on another core it is not left out any more, and this core gets no other client")
{
	SKIP_IF_PROVEN();
	if (rk_one_iommu())
		SKIP(return, "all cores run it at once");
	break_programs(0, TRIES);
	EXPECT_EQ(0, run_on(&self->a, 1));
	EXPECT_EQ(0, run_on(&self->b, 1));
	EXPECT_EQ(self->scrubs, rk_cores_stat("scrubs"));
	EXPECT_EQ(0, run_on(&self->a, 2));
	EXPECT_EQ(self->scrubs + 1, rk_cores_stat("scrubs"));
	/* The one that has the core goes on. */
	EXPECT_EQ(0, run_on(&self->b, 1));
	EXPECT_EQ(self->retired, rk_cores_stat("retired"));
	break_programs(0, 0);
	EXPECT_EQ(-ENODEV, run_on(&self->a, 1));
	EXPECT_EQ(self->retired + 1, rk_cores_stat("retired"));
	EXPECT_EQ(0, run_on(&self->a, 7));
}

RK_TEST_F_TIMEOUT(scrub, has_ended_before, 120,
		  "once it has ended on the machine it is not left out, not even after the device was bound again")
{
	long long scrubs;

	ASSERT_EQ(0, run_on(&self->a, 1));
	ASSERT_EQ(0, run_on(&self->b, 1));
	renew_clients(self);
	scrubs = rk_cores_stat("scrubs");
	break_programs(NPU_CTL_ANY_CORE, 0);
	EXPECT_EQ(-ENODEV, run_on(&self->a, 1));
	EXPECT_LT(0, rk_fault_fired());
	EXPECT_EQ(scrubs, rk_cores_stat("scrubs"));
	EXPECT_EQ(0, log_count(self->log, SAID));
	renew_clients(self);
	EXPECT_EQ(0, run_on(&self->a, 1));
}

RK_HARNESS_MAIN
