// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vendor's device tree: three cores behind one IOMMU, so there is one address space on all of them.
 *
 * The vendor's device tree: one node for all cores, one IOMMU; with three interrupts, and with one.
 * boot: dt TEST_LIMIT=400 --dt vendor
 * boot: debug-node KERNEL=debug TEST_LIMIT=1800 --dt vendor
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>

#include "rknpu_harness.h"

#define LONG_US		300000
/* Not LONG_US and a bit: a busy host takes the guest's CPU for that long. */
#define TIMEOUT_MS	3000
#define PATIENCE_MS	10000
#define UNMAPPED	0xfffff000u
#define FLOOD		30

FIXTURE(one_iommu) {
	/* Of one file, that is, of one address space. */
	struct rk_client c[RK_CORES];
};

FIXTURE_SETUP(one_iommu)
{
	int fd;

	if (!rk_one_iommu())
		SKIP(return, "each core has an IOMMU of its own");
	RK_OPEN_OR_SKIP(fd);
	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, rk_client_init_on(&self->c[0], fd));
	for (int i = 1; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_client_init_on(&self->c[i], dup(fd)));
	}
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, rk_bo_fill(&self->c[i].in, 10 * i, RK_BYTES));
	}
	/* The IOMMU is set up, and no core does it when it wakes up. */
	ASSERT_EQ(0, rk_run_on_every_core(fd, 1));
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	rk_task_timeout_ms(TIMEOUT_MS);
}

FIXTURE_TEARDOWN(one_iommu)
{
	rk_model_calm();
	for (int i = 0; i < RK_CORES; i++)
		rk_client_fini(&self->c[i]);
}

static int submit(struct rk_client *c)
{
	return rk_submit_op(&c->inc, &c->in, &c->out);
}

static int submit_unmapped(struct rk_client *c)
{
	struct drm_rocket_task task;
	int ret = rk_op_task(&c->inc, c->in.iova, UNMAPPED, &task);

	return ret ? ret : rk_submit_task(c->fd, &task, &c->in, &c->out);
}

RK_TEST_F(one_iommu, reset_spares_the_others, "a reset of one core spares the jobs of the others")
{
	long long attaches = rk_cores_stat("attaches"), resets = rk_cores_stat("resets");
	long long power_ups = rk_stat("core0.power_ups");
	int failed = 0;

	rk_latency_us(LONG_US);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_DMA_READ, 0, 1);
	for (int i = 0; i < RK_CORES; i++) {
		ASSERT_EQ(0, submit(&self->c[i]));
	}
	for (int i = 0; i < RK_CORES; i++) {
		int ret = rk_prep(&self->c[i].out, 10000);

		if (ret) {
			EXPECT_EQ(-EIO, ret);
			failed++;
		} else {
			EXPECT_EQ(0, rk_bo_differs(&self->c[i].out, 10 * i + 1, RK_BYTES));
		}
	}
	EXPECT_EQ(1, failed);
	EXPECT_EQ(RK_CORES, rk_count_all(NPU_CNT_TASK_STARTED));
	EXPECT_LE(RK_CORES - 1, rk_ctl_read(NPU_CTL_MAX_BUSY));
	EXPECT_EQ(resets + 1, rk_cores_stat("resets"));
	/* Nor is the IOMMU set up anew for what comes after, if it stays powered. */
	rk_latency_us(0);
	EXPECT_EQ(0, rk_run_on_every_core(self->c[0].fd, 2));
	EXPECT_GE(attaches + rk_stat("core0.power_ups") - power_ups, rk_cores_stat("attaches"));
}

RK_TEST_F(one_iommu, fault_is_the_right_cores, "a page fault is blamed on the core that had it")
{
	long long resets = rk_cores_stat("resets");

	for (int guilty = 0; guilty < RK_CORES; guilty++) {
		rk_latency_us(LONG_US);
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(0, i == guilty ? submit_unmapped(&self->c[i]) :
						   submit(&self->c[i]));
		}
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(i == guilty ? -EFAULT : 0, rk_prep(&self->c[i].out, 10000)) {
				TH_LOG("job %d of which %d is guilty", i, guilty);
			}
			if (i != guilty) {
				EXPECT_EQ(0, rk_bo_differs(&self->c[i].out, 10 * i + 1,
							   RK_BYTES));
			}
		}
	}
	EXPECT_EQ(RK_CORES * RK_CORES, rk_count_all(NPU_CNT_TASK_STARTED));
	EXPECT_EQ(resets + RK_CORES, rk_cores_stat("resets"));
}

RK_TEST_F(one_iommu, protected_after_a_reset,
	  "a core that was reset still cannot reach what is not its own")
{
	/* Long enough that each is on a core of its own. */
	rk_latency_us(LONG_US);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(0, submit_unmapped(&self->c[i]));
		}
		for (int i = 0; i < RK_CORES; i++) {
			EXPECT_EQ(-EFAULT, rk_prep(&self->c[i].out, 10000));
		}
	}
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_LE(1, rk_count(i, NPU_CNT_MMU_FAULT)) TH_LOG("core %d", i);
	}
	EXPECT_EQ(0, rk_run_on_every_core(self->c[0].fd, 2));
}

RK_TEST_F(one_iommu, one_client_does_not_keep_another_out,
	  "jobs for all cores do not keep another client out")
{
	struct rk_client other;
	uint64_t before;

	ASSERT_EQ(0, rk_client_init(&other));
	ASSERT_EQ(0, rk_bo_fill(&other.in, 50, RK_BYTES));
	rk_latency_us(50000);
	for (int n = 0; n < FLOOD; n++) {
		for (int i = 0; i < RK_CORES; i++) {
			ASSERT_EQ(0, submit(&self->c[i]));
		}
	}
	before = rk_count_all(NPU_CNT_TASK_DONE);
	EXPECT_EQ(0, submit(&other));
	EXPECT_EQ(0, rk_prep(&other.out, 10000));
	/* What runs on each core, itself, and a few for a host that is busy. */
	EXPECT_GE(before + 4 * RK_CORES, rk_count_all(NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rk_bo_differs(&other.out, 51, RK_BYTES));
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(0, rk_bo_differs(&self->c[i].out, 10 * i + 1, RK_BYTES));
	}
	EXPECT_EQ(FLOOD * RK_CORES + 1, rk_count_all(NPU_CNT_TASK_DONE));
	rk_client_fini(&other);
}

RK_TEST_F(one_iommu, two_files_alternate,
	  "two files that both want all cores get half of the time each")
{
	struct rk_client other;

	ASSERT_EQ(0, rk_client_init(&other));
	ASSERT_EQ(0, rk_bo_fill(&other.in, 50, RK_BYTES));
	rk_latency_us(20000);
	for (int n = 0; n < FLOOD; n++) {
		ASSERT_EQ(0, submit(&self->c[0]));
		ASSERT_EQ(0, submit(&other));
	}
	EXPECT_EQ(0, rk_bo_differs(&self->c[0].out, 1, RK_BYTES));
	/* The other has had as much by then. */
	EXPECT_LT(FLOOD + FLOOD / 2, rk_count_all(NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rk_bo_differs(&other.out, 51, RK_BYTES));
	EXPECT_EQ(2 * FLOOD, rk_count_all(NPU_CNT_TASK_DONE));
	/* Never both at once. */
	EXPECT_EQ(1, rk_ctl_read(NPU_CTL_MAX_BUSY));
	rk_client_fini(&other);
}

static int submit_on(struct rk_client *c, unsigned int core)
{
	struct drm_rocket_job_ext job;
	struct drm_rocket_task task;
	uint64_t id;
	int ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &task);

	rk_job_ext(&job, &task, 1, &c->in, &c->out);
	job.core_mask = 1u << core;
	return ret ?: rk_submit_ext(c->fd, &job, 1, &id);
}

RK_TEST_F_TIMEOUT(one_iommu, nobody_waits_for_one_that_went, 60,
		  "a job that left the IOMMU to another one starts when that one is cancelled")
{
	struct rk_client other;

	ASSERT_EQ(0, rk_client_init(&other));
	rk_task_timeout_ms(PATIENCE_MS);
	/* All that follows happens meanwhile. */
	rk_latency_us(8 * 1000000);
	ASSERT_EQ(0, submit_on(&self->c[2], 2));
	ASSERT_TRUE(rk_wait_count(2, NPU_CNT_TASK_STARTED, 1, PATIENCE_MS));
	/* Longer than a slice, and than three submits on a slow machine. */
	rk_latency_us(500000);
	ASSERT_EQ(0, submit_on(&self->c[0], 0));
	ASSERT_EQ(0, submit_on(&self->c[1], 0));
	ASSERT_EQ(0, submit_on(&other, 1));
	ASSERT_TRUE(rk_wait_count(0, NPU_CNT_TASK_DONE, 1, PATIENCE_MS));
	EXPECT_EQ(1, rk_count(0, NPU_CNT_TASK_STARTED));
	rk_client_fini(&other);
	EXPECT_EQ(0, rk_prep(&self->c[1].out, PATIENCE_MS));
	EXPECT_EQ(0, rk_count(1, NPU_CNT_TASK_STARTED));
	EXPECT_EQ(0, rk_count(2, NPU_CNT_TASK_DONE));
	EXPECT_EQ(0, rk_bo_differs(&self->c[1].out, 11, RK_BYTES));
}

#define PARTS		40

static int submit_parts_on(struct rk_client *c, unsigned int core)
{
	struct drm_rocket_task task[PARTS];
	struct drm_rocket_job_ext job;
	int ret = rk_op_task(&c->inc, c->in.iova, c->out.iova, &task[0]);

	for (int i = 1; i < PARTS; i++)
		task[i] = task[0];
	rk_job_ext(&job, task, PARTS, &c->in, &c->out);
	job.core_mask = 1u << core;
	job.flags = DRM_ROCKET_JOB_DIVISIBLE;
	return ret ?: rk_submit_ext(c->fd, &job, 1, NULL);
}

static bool yielded_since(long long yields)
{
	for (int ms = 0; ms < PATIENCE_MS && rk_core_stat(0, "yields") == yields; ms++)
		rk_sleep_ms(1);
	return rk_core_stat(0, "yields") > yields;
}

RK_TEST_F_TIMEOUT(one_iommu, sleeps_after_one_that_yielded, 60,
		  "a core sleeps when a job that yielded the IOMMU goes without having come back")
{
	long long yields = rk_core_stat(0, "yields");
	struct rk_client parts, whole, other;

	rk_task_timeout_ms(PATIENCE_MS);
	ASSERT_EQ(0, rk_client_init(&other));
	ASSERT_EQ(0, rk_client_init(&whole));
	ASSERT_EQ(0, rk_client_init_on(&parts, dup(whole.fd)));
	/* All that follows happens meanwhile. */
	rk_latency_us(4 * 1000000);
	ASSERT_EQ(0, submit_on(&whole, 2));
	ASSERT_TRUE(rk_wait_count(2, NPU_CNT_TASK_STARTED, 1, PATIENCE_MS));
	rk_latency_us(20000);
	ASSERT_EQ(0, submit_parts_on(&parts, 0));
	ASSERT_EQ(0, submit_on(&other, 1));
	ASSERT_TRUE(yielded_since(yields));
	rk_client_fini(&parts);
	rk_client_fini(&whole);
	EXPECT_EQ(0, rk_prep(&other.out, PATIENCE_MS));
	EXPECT_GT(PARTS, rk_count(0, NPU_CNT_TASK_STARTED));
	rk_client_fini(&other);
	EXPECT_TRUE(rk_wait_asleep(10000));
}

RK_TEST_F_TIMEOUT(one_iommu, stuck_reset_spares_the_others, 60,
		  "a reset that does not take at first spares the jobs of the others")
{
	rk_task_timeout_ms(200);
	rk_latency_us(100000);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 1);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, submit(&self->c[0]));
	while (!rk_fault_fired())
		rk_sleep_ms(1);
	for (int n = 0; n < 10; n++) {
		ASSERT_EQ(0, submit(&self->c[1]));
		ASSERT_EQ(0, submit(&self->c[2]));
	}
	EXPECT_EQ(-ETIME, rk_prep(&self->c[0].out, 10000));
	for (int i = 1; i < RK_CORES; i++) {
		EXPECT_EQ(0, rk_bo_differs(&self->c[i].out, 10 * i + 1, RK_BYTES));
	}
	EXPECT_EQ(20, rk_count_all(NPU_CNT_TASK_DONE));
	rk_model_calm();
	EXPECT_EQ(0, rk_run_on_every_core(self->c[0].fd, 4));
}

static int rebind(const char *what)
{
	char path[256], *name;
	glob_t g = { 0 };
	int fd, ret = -1;

	if (!glob("/sys/bus/platform/devices/*.npu", 0, NULL, &g)) {
		name = strrchr(g.gl_pathv[0], '/') + 1;
		snprintf(path, sizeof(path), "/sys/bus/platform/drivers/rknpu-accel-node/%s", what);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		ret = fd < 0 || write(fd, name, strlen(name)) < 0 ? -errno : 0;
		close(fd);
	}
	globfree(&g);
	return ret;
}

/*
 * A core that nothing stops could get at every address space that comes to the
 * IOMMU, so none comes any more: every job ends, with an error.
 */
RK_TEST_F_TIMEOUT(one_iommu, core_that_nothing_stops, 60,
		  "no address space is attached any more when nothing stops a core, and binding again helps")
{
	struct rk_client other;

	ASSERT_EQ(0, rk_client_init(&other));
	rk_task_timeout_ms(200);
	rk_latency_us(100000);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_RESET_STUCK, 0, 0);
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, submit(&self->c[0]));
	while (!rk_fault_fired())
		rk_sleep_ms(1);
	/* Something to keep the power domains on while that is found out. */
	for (int n = 0; n < 20; n++) {
		ASSERT_EQ(0, submit(&self->c[1]));
	}
	EXPECT_EQ(-ETIME, rk_prep(&self->c[0].out, 10000));
	EXPECT_EQ(-ENODEV, rk_prep(&self->c[1].out, 10000));
	EXPECT_EQ(-ENODEV, rk_client_run(&other, 1));
	rk_model_calm();

	EXPECT_EQ(0, rebind("unbind"));
	EXPECT_EQ(-ENODEV, rk_client_run(&other, 1));
	rk_client_fini(&other);
	ASSERT_EQ(0, rebind("bind"));
	for (int i = 0; i < 50 && rk_client_init(&other); i++)
		rk_sleep_ms(100);
	EXPECT_EQ(0, rk_run_on_every_core(other.fd, 4));
	rk_client_fini(&other);
}

RK_HARNESS_MAIN
