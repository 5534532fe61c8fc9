// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vendor's device tree in all its shapes: one to three cores, with an interrupt each or with one for all.
 *
 * boot: dt
 * boot: dtvendor
 * Single-core SoCs have that shape.
 * boot: dt1 ENV=RKNPU_ROUNDS=5 --dt vendor --model npu-cores=1 --model npu-one-irq=on
 * Trees for the RK3583 have fuses that say which cores are bad; the third one is left out then.
 * boot: fuses LONG --dt vendor --dt-edit /npu@fdab0000:nvmem-cell-names=636f7265,73000000
 * Clocks without names are all turned on, and none of them is scaled.
 * boot: nonames RARE --dt vendor --dt-edit /npu@fdab0000:clock-names
 * The same for supplies, of which there need be none; for operating points; and for those that nobody can use.
 * boot: nosupply RARE --dt vendor --dt-edit /npu@fdab0000:rknpu-supply --dt-edit /npu@fdab0000:mem-supply
 * boot: noopps LONG --dt vendor --dt-edit /npu@fdab0000:operating-points-v2=8006
 * boot: lowsupply RARE --dt vendor --dt-edit /regulator-vdd-npu-s0:regulator-min-microvolt=7a120 --dt-edit /regulator-vdd-npu-s0:regulator-max-microvolt=7a120
 * boot: readmargin RARE --dt vendor --dt-edit /npu-opp-table:volt-mem-read-margin=d0bd8,1,bac48,2
 * Firmware rounds the highest operating point up to one that there is not.
 * boot: norate RARE --dt vendor --dt-edit /npu-opp-table/opp-900000000:opp-hz=0,359d47e0
 * boot: novirq
 * boot: noviommu
 * boot: noviommu1
 * boot: noviommdis
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "rknpu_harness.h"
#include "rknpu_vendor_util.h"

#define TIMEOUT_MS	1000
#define UNMAPPED	0x7ffff000u

/* Bytes of a property of the node, which is the only one in this tree; 0 if it has none. */
static long property_size(const char *name)
{
	char pattern[128];
	struct stat st;
	glob_t g = { 0 };
	long size = 0;

	snprintf(pattern, sizeof(pattern), "/proc/device-tree/npu@*/%s", name);
	if (!glob(pattern, 0, NULL, &g) && g.gl_pathc == 1 && !stat(g.gl_pathv[0], &st))
		size = st.st_size;
	globfree(&g);
	return size;
}

FIXTURE(shape) {
	int fd;
	int cores;
	int irqs;
	struct rv_chain c;
};

FIXTURE_SETUP(shape)
{
	if (!rk_one_iommu())
		SKIP(return, "mainline's device tree");
	RV_OPEN_OR_SKIP(self->fd);
	/* Two cells each for an address and a size, three for an interrupt. */
	self->cores = property_size("reg") / 16;
	self->irqs = property_size("interrupts") / 12;
	if (property_size("nvmem-cell-names")) {
		self->cores = RK_CORES - 1;
		self->irqs = RK_CORES - 1;
	}
	ASSERT_LE(1, self->cores);
	ASSERT_GE(RK_CORES, self->cores);
	ASSERT_EQ(0, rv_chain_init(&self->c, self->fd, 2, 0, 0));
}

FIXTURE_TEARDOWN(shape)
{
	if (!rk_one_iommu())
		return;
	rk_model_calm();
	rv_chain_fini(&self->c);
	close(self->fd);
}

static int run_on(struct rv_chain *c, uint32_t core_mask, int value)
{
	struct drm_rknpu_submit s;
	int ret = rv_chain_fill(c, value);

	if (ret)
		return ret;
	rv_chain_submit(c, &s);
	s.core_mask = core_mask;
	s.timeout = TIMEOUT_MS;
	/* On several cores each runs the same, which does no harm. */
	for (int i = 0; i < 5; i++)
		s.subcore_task[i] = s.subcore_task[0];
	ret = rk_ioctl(c->fd, DRM_IOCTL_RKNPU_SUBMIT, &s);
	if (ret)
		return ret;
	return rv_chain_wrong(c, value + c->n) ? -EILSEQ : 0;
}

static int lines_with(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, word);
	if (f)
		fclose(f);
	return n;
}

RK_TEST_F(shape, is_that_of_the_tree, "the driver has the cores and interrupts of the device tree")
{
	char name[32];

	EXPECT_EQ(self->irqs, lines_with("/proc/interrupts", ".npu"));
	for (int i = 0; i < RK_CORES; i++) {
		snprintf(name, sizeof(name), "Core%d:", i);
		EXPECT_EQ(i < self->cores, lines_with("/proc/rknpu/load", name)) TH_LOG("%s", name);
	}
}

RK_TEST_F_TIMEOUT(shape, every_core_runs_jobs, 120,
		  "each core that is there runs jobs, alone and together")
{
	for (int i = 0; i < self->cores; i++) {
		uint64_t done = rk_model() ? rk_count_jobs(i, NPU_CNT_TASK_DONE) : 0;

		EXPECT_EQ(0, run_on(&self->c, 1 << i, 10 + i));
		if (rk_model()) {
			EXPECT_EQ(done + self->c.n, rk_count_jobs(i, NPU_CNT_TASK_DONE));
		}
	}
	EXPECT_EQ(0, run_on(&self->c, 0, 20));
	if (self->cores >= 2) {
		EXPECT_EQ(0, run_on(&self->c, 3, 30));
	}
	if (self->cores == 3) {
		EXPECT_EQ(0, run_on(&self->c, 7, 40));
	}
}

RK_TEST_F_TIMEOUT(shape, cores_that_are_not_there_are_refused, 120,
		  "core masks are accepted as on the vendor's driver")
{
	for (uint32_t mask = 1; mask <= 8; mask++) {
		bool there = mask < 1u << self->cores && mask != 5 && mask != 6;

		EXPECT_EQ(there ? 0 : -EINVAL, run_on(&self->c, mask, mask)) TH_LOG("mask %u", mask);
	}
}

RK_TEST_F_TIMEOUT(shape, failures_are_the_right_cores, 120,
		  "a failure is blamed on the core that had it, though all have one interrupt")
{
	RK_REQUIRE_MODEL();
	for (int i = 0; i < self->cores; i++) {
		uint64_t regcmd = rv_chain_task(&self->c, 0)->regcmd_addr;
		long long faults[RK_CORES];

		rk_fault_arm(i, NPU_FAULT_HANG, 0, 1);
		EXPECT_EQ(-ETIMEDOUT, run_on(&self->c, 1 << i, 1));
		EXPECT_EQ(0, run_on(&self->c, 1 << i, 2));
		rk_fault_arm(i, NPU_FAULT_DMA_READ, 0, 1);
		EXPECT_EQ(-EIO, run_on(&self->c, 1 << i, 3));
		EXPECT_EQ(0, run_on(&self->c, 1 << i, 4));
		if (!rk_no_iommu())
			rv_chain_task(&self->c, 0)->regcmd_addr = UNMAPPED;
		EXPECT_EQ(0, rv_sync(&self->c.tasks, 1, 0, self->c.tasks.size));
		for (int j = 0; j < self->cores; j++)
			faults[j] = rk_core_stat(j, "faults");
		EXPECT_EQ(rk_no_iommu() ? 0 : -EFAULT, run_on(&self->c, 1 << i, 5));
		for (int j = 0; j < self->cores; j++) {
			EXPECT_EQ(j == i && !rk_no_iommu(), rk_core_stat(j, "faults") > faults[j])
				TH_LOG("core %d, fault of %d", j, i);
		}
		rv_chain_task(&self->c, 0)->regcmd_addr = regcmd;
		EXPECT_EQ(0, rv_sync(&self->c.tasks, 1, 0, self->c.tasks.size));
		EXPECT_EQ(0, run_on(&self->c, 1 << i, 6));
		rk_fault_arm(i, NPU_FAULT_IRQ_LOST, 0, 1);
		EXPECT_EQ(0, run_on(&self->c, 1 << i, 7));
	}
	for (int i = 0; i < self->cores; i++) {
		EXPECT_EQ(0, run_on(&self->c, 1 << i, 50 + i));
	}
}

RK_TEST_F_TIMEOUT(shape, sleeps_and_wakes, 120, "the cores fall asleep and wake up")
{
	RK_REQUIRE_MODEL();
	for (int round = 0; round < 3; round++) {
		EXPECT_TRUE(rk_wait_asleep(10000));
		for (int i = 0; i < self->cores; i++) {
			EXPECT_EQ(0, run_on(&self->c, 1 << i, 60 + i));
			EXPECT_EQ(0, rk_count(i, NPU_CNT_ABORT));
		}
	}
}

static int count_paths(const char *pattern)
{
	glob_t g = { 0 };
	int n = glob(pattern, 0, NULL, &g) ? 0 : (int)g.gl_pathc;

	globfree(&g);
	return n;
}

RK_TEST_F(shape, domains_power_cores_and_iommu,
	  "the NPU and its IOMMU keep the tree's power domains up, and let them sleep")
{
	/* A phandle and a number each. */
	int domains = property_size("power-domains") / 8;
	int iommus = rk_no_iommu() ? 0 : domains;

	EXPECT_EQ(domains, count_paths("/sys/devices/platform/*.npu/supplier:genpd:*"));
	EXPECT_EQ(iommus, count_paths("/sys/devices/platform/*.iommu/supplier:genpd:*"));
	/* The first, which is the others' parent, sleeps last. */
	EXPECT_EQ(domains - !!domains,
		  count_paths("/sys/devices/genpd:*.npu/supplier:genpd:genpd:0:*"));
	EXPECT_TRUE(rk_wait_asleep(10000));
	for (int i = 0; i < domains; i++) {
		char pattern[96];
		glob_t g = { 0 };

		snprintf(pattern, sizeof(pattern), "/sys/devices/genpd:%d:*.npu/power/runtime_status", i);
		ASSERT_EQ(0, glob(pattern, 0, NULL, &g)) TH_LOG("%s", pattern);
		EXPECT_EQ(1, lines_with(g.gl_pathv[0], "suspended"));
		globfree(&g);
	}
}

/* Often enough that two devices are on their way at once now and then. */
#define SLEEPS		200

RK_TEST_F_TIMEOUT(shape, sleeps_each_time, 120,
		  "all power domains go off after each job, in whatever order their devices sleep")
{
	int ret = 0, was = rk_autosuspend_ms(0), i;

	ASSERT_LE(0, was);
	for (i = 0; i < SLEEPS && !ret; i++)
		ret = run_on(&self->c, 1 << i % self->cores, i % 100) ?:
		      rk_wait_asleep(10000) ? 0 : -ETIME;
	rk_autosuspend_ms(was);
	EXPECT_EQ(0, ret) TH_LOG("job %d", i);
}

/* Fewer than one for every second wake. */
#define WAKES		20

RK_TEST_F_TIMEOUT(shape, log_is_not_filled, 120,
		  "a client that has the cores wake up does not fill the kernel's log, whatever the clock does")
{
	int log, lines = 0;

	RK_REQUIRE_MODEL();
	ASSERT_LE(0, log = rk_log_open());
	for (int i = 0; i < WAKES; i++) {
		EXPECT_TRUE(rk_wait_asleep(10000));
		EXPECT_EQ(0, run_on(&self->c, 1, i));
	}
	while (rk_log_says(log, ""))
		lines++;
	close(log);
	EXPECT_GE(WAKES / 2, lines) TH_LOG("%d lines", lines);
}

#define FREQ		"/proc/rknpu/freq"
/* The boot's operating point that firmware does not set, and how long the driver leaves that alone. */
#define REFUSED_HZ	"899500000"
#define LOW_HZ		"300000000"
#define REFUSED_MS	10000

static bool file_has(const char *path, const char *what)
{
	char text[1024] = "";
	FILE *f = fopen(path, "re");
	bool has = f && fread(text, 1, sizeof(text) - 1, f) && strstr(text, what);

	if (f)
		fclose(f);
	return has;
}

RK_TEST_F(shape, refused_rate_is_no_others, "a rate that firmware refuses keeps nobody from setting another one")
{
	int64_t end;

	RK_REQUIRE_MODEL();
	if (!file_has("/sys/class/devfreq/fdab0000.npu/available_frequencies", REFUSED_HZ))
		SKIP(return, "no operating point is refused");
	rk_stay_awake(true);
	end = rk_now() + REFUSED_MS / 2 * RK_MS;
	/* What it says of the failure is its own affair. */
	rk_write_file(FREQ, REFUSED_HZ "\n");
	EXPECT_FALSE(file_has(FREQ, LOW_HZ));
	EXPECT_EQ(0, rk_write_file(FREQ, LOW_HZ "\n"));
	while (!file_has(FREQ, LOW_HZ) && rk_now() < end)
		rk_sleep_ms(10);
	EXPECT_TRUE(file_has(FREQ, LOW_HZ));
	rk_write_file(FREQ, "0\n");
	rk_stay_awake(false);
}

RK_HARNESS_MAIN
