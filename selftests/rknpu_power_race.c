// SPDX-License-Identifier: GPL-2.0-only
/*
 * Somebody else wakes a core or its IOMMU, or unmaps memory, while a core is recovered that no
 * reset stops: it is held in reset then, and its IOMMU with it, which cannot be programmed.
 *
 * boot: failures
 * boot: dt
 * boot: long
 * boot: dtlong
 * boot: debug-failures
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_harness.h"

#define ROUNDS		(rk_long() ? 100 : 20)
#define CORES		"/sys/bus/platform/drivers/rknpu*/*.npu/"
#define IOMMU		"iommu/device/"
#define POWER_FILE	"/proc/rknpu/power"
/* For how long the CPU that puts the IOMMU to sleep in reset is held by the model. */
#define HELD_NS		20000000u

/* To all files of that name; how many there are. */
static size_t put_all(const char *pattern, const char *text)
{
	glob_t g = { 0 };
	size_t n;

	glob(pattern, 0, NULL, &g);
	n = g.gl_pathc;
	for (size_t i = 0; i < n; i++)
		rk_write_file(g.gl_pathv[i], text);
	globfree(&g);
	return n;
}

static bool first_of(const char *pattern, char path[512])
{
	glob_t g = { 0 };

	glob(pattern, 0, NULL, &g);
	snprintf(path, 512, "%s", g.gl_pathc ? g.gl_pathv[0] : "");
	globfree(&g);
	return *path;
}

/* What nobody but the driver of an IOMMU says, if it is asked for something in reset. */
static bool log_is_clean(int log)
{
	return !rk_log_says(log, "rk_iommu");
}

/*
 * A job on core 0 that hangs. @stuck: resets of the core do not help, of which the driver tries
 * two; so it is held in reset while it is power cycled.
 */
static int hang(struct rk_trial *t, bool stuck)
{
	int ret;

	t->job.timeout_ns = 50 * RK_MS;
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	rk_fault_arm_param(0, NPU_FAULT_RESET_HELD, 0, 1, HELD_NS);
	if (stuck)
		rk_fault_arm(0, NPU_FAULT_RESET_STUCK, 0, 2);
	ret = rk_trial_run(t);
	if (ret)
		return ret;
	return t->w.cause == DRM_ROCKET_CAUSE_TIMEOUT ? 0 : -EPROTO;
}

static int good(struct rk_trial *t)
{
	int ret;

	/* On a busy host, too. */
	t->job.timeout_ns = 5000 * RK_MS;
	ret = rk_trial_run(t);
	if (ret)
		return ret;
	return t->w.cause == DRM_ROCKET_CAUSE_DONE ? 0 : -EPROTO;
}

/* ---- just then ---- */

FIXTURE(race) {
	struct rk_trial t;
	pthread_t thread;
	volatile bool stop;
	unsigned long turns;
	int log;
	char control[512], state[512];
	const char *on, *off, *active;
};

/* What core 0, or its IOMMU, is woken with as soon as it is seen not to be active. */
FIXTURE_VARIANT(race) {
	const char *control, *on, *off, *state, *active;
};

FIXTURE_VARIANT_ADD(race, core) {
	.control = CORES "power/control", .on = "on", .off = "auto",
	.state = CORES "power/runtime_status", .active = "active\n",
};
FIXTURE_VARIANT_ADD(race, iommu) {
	.control = CORES IOMMU "power/control", .on = "on", .off = "auto",
	.state = CORES IOMMU "power/runtime_status", .active = "active\n",
};
FIXTURE_VARIANT_ADD(race, vendor) {
	.control = POWER_FILE, .on = "on\n", .off = "off\n", .state = POWER_FILE, .active = "on\n",
};
/* Memory of the client is mapped and unmapped all the time. */
FIXTURE_VARIANT_ADD(race, memory) { };

FIXTURE_SETUP(race)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	if (variant->control && (!first_of(variant->control, self->control) ||
				 !first_of(variant->state, self->state)))
		SKIP(return, "no %s", variant->control);
	self->on = variant->on;
	self->off = variant->off;
	self->active = variant->active;
	self->log = rk_log_open();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, rk_trial_init(&self->t, 0, 0));
}

FIXTURE_TEARDOWN(race)
{
	if (variant->control)
		rk_write_file(self->control, variant->off);
	rk_model_calm();
	rk_trial_fini(&self->t);
}

static void *map_and_unmap(void *arg)
{
	FIXTURE_DATA(race) *self = arg;
	struct rk_bo bo;

	for (; !self->stop; self->turns++)
		if (!rk_bo_init(&bo, self->t.c.fd, 64 * RK_PAGE))
			rk_bo_fini(&bo);
	return NULL;
}

static void *wake(void *arg)
{
	FIXTURE_DATA(race) *self = arg;
	int state = open(self->state, O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	while (!self->stop && pread(state, text, sizeof(text), 0) > 0) {
		if (!strncmp(text, self->active, strlen(self->active)))
			continue;
		rk_write_file(self->control, self->on);
		rk_write_file(self->control, self->off);
		self->turns++;
	}
	close(state);
	return NULL;
}

RK_TEST_F_TIMEOUT(race, recovery, 120,
		  "a core is recovered, and its IOMMU left alone, while others wake them or unmap")
{
	ASSERT_EQ(0, good(&self->t));
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, self->on ? wake : map_and_unmap, self));
	/* On a busy machine the other thread can sleep through all of them. */
	for (int i = 0; i < ROUNDS || (!self->turns && i < 20 * ROUNDS); i++) {
		EXPECT_EQ(0, hang(&self->t, true)) TH_LOG("round %d: cause %u", i, self->t.w.cause);
		EXPECT_EQ(0, good(&self->t)) TH_LOG("round %d: cause %u", i, self->t.w.cause);
	}
	self->stop = true;
	pthread_join(self->thread, NULL);
	EXPECT_LT(0, self->turns);
	EXPECT_TRUE(log_is_clean(self->log));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	EXPECT_EQ(0, rk_run_on_every_core(self->t.c.fd, 2));
}

/* ---- nobody else ---- */

RK_TEST(nobody_looks_at_an_iommu_in_reset,
	"a core that a reset stops is not held in reset while its IOMMU is put to sleep")
{
	struct rk_trial t;
	uint32_t fired;

	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_trial_init(&t, 0, 0));
	fired = rk_fault_fired();
	EXPECT_EQ(0, hang(&t, false));
	EXPECT_EQ(0, good(&t));
	/* The hang. */
	EXPECT_EQ(fired + 1, rk_fault_fired());
	rk_model_calm();
	fired = rk_fault_fired();
	EXPECT_EQ(0, hang(&t, true));
	EXPECT_EQ(0, good(&t));
	/* The hang, two resets, and a look at what they did not stop. */
	EXPECT_EQ(fired + 4, rk_fault_fired());
	rk_model_calm();
	rk_trial_fini(&t);
}

/* ---- all the time ---- */

FIXTURE(kept) {
	struct rk_trial t;
	int log;
};

/* Also by the file of the vendor's uAPI, which is a second user of the core. */
FIXTURE_VARIANT(kept) {
	const char *path;
	bool file;
};

FIXTURE_VARIANT_ADD(kept, core) { .path = CORES "power/control" };
FIXTURE_VARIANT_ADD(kept, twice) { .path = CORES "power/control", .file = true };
FIXTURE_VARIANT_ADD(kept, iommu) { .path = CORES IOMMU "power/control" };

FIXTURE_SETUP(kept)
{
	RK_REQUIRE_FEATURE(DRM_ROCKET_FEATURE_SCHED);
	RK_REQUIRE_MODEL();
	RK_REQUIRE_IOMMU();
	if (variant->file && rk_write_file(POWER_FILE, "on\n"))
		SKIP(return, "no %s", POWER_FILE);
	self->log = rk_log_open();
	ASSERT_LE(0, self->log);
	ASSERT_LT(0, put_all(variant->path, "on"));
	ASSERT_EQ(0, rk_trial_init(&self->t, 0, 0));
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
}

FIXTURE_TEARDOWN(kept)
{
	put_all(variant->path, "auto");
	if (variant->file)
		rk_write_file(POWER_FILE, "off\n");
	rk_model_calm();
	rk_trial_fini(&self->t);
}

RK_TEST_F_TIMEOUT(kept, recovers, 60,
		  "a core is recovered although it, or its IOMMU, may not go to sleep")
{
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, good(&self->t));
		ASSERT_EQ(0, hang(&self->t, true));
	}
	ASSERT_EQ(0, good(&self->t));
	EXPECT_EQ(0, rk_run_on_every_core(self->t.c.fd, 2));
	EXPECT_TRUE(log_is_clean(self->log));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

RK_TEST_F_TIMEOUT(kept, retires, 120,
		  "a core is taken out of service although it, or its IOMMU, may not go to sleep")
{
	long long retired = rk_core_stat(0, "retired");

	ASSERT_EQ(0, good(&self->t));
	rk_fault_arm(0, NPU_FAULT_OFF_STUCK, 0, 0);
	rk_fault_arm(0, NPU_FAULT_RESET_STUCK, 0, 0);
	rk_fault_arm(0, NPU_FAULT_HANG, 0, 1);
	self->t.job.timeout_ns = 100 * RK_MS;
	ASSERT_EQ(0, rk_trial_run(&self->t));
	EXPECT_EQ(DRM_ROCKET_CAUSE_TIMEOUT, self->t.w.cause);
	for (int i = 0; i < 1000 && rk_core_stat(0, "retired") == retired; i++)
		rk_sleep_ms(10);
	EXPECT_EQ(retired + 1, rk_core_stat(0, "retired"));
	rk_trial_fini(&self->t);
	rk_model_calm();
	/* Another one, with which this one is bound again, but its device keeps its driver. */
	ASSERT_EQ(0, rk_rebind(1));
	EXPECT_TRUE(log_is_clean(self->log));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	ASSERT_EQ(0, rk_trial_init(&self->t, 0, 0));
	EXPECT_EQ(0, good(&self->t));
}

RK_TEST_F_TIMEOUT(kept, rebinds, 60,
		  "a core can be unbound, and bound again, although it, or its IOMMU, may not go to sleep")
{
	for (unsigned int core = 0; core < RK_CORES; core++) {
		ASSERT_EQ(0, good(&self->t));
		ASSERT_EQ(0, rk_rebind(core));
		rk_trial_fini(&self->t);
		ASSERT_EQ(0, rk_trial_init(&self->t, 0, 0));
		EXPECT_EQ(0, rk_run_on_every_core(self->t.c.fd, 1));
	}
	EXPECT_TRUE(log_is_clean(self->log));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

RK_HARNESS_MAIN
