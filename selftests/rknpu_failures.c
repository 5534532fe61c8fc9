// SPDX-License-Identifier: GPL-2.0-only
/* Every failure that the model has on demand: the right error, nothing else lost, and 100 good jobs per core. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "rknpu_util.h"

#define GOOD_JOBS	100
/* For a job that meets a failure; guest time is the host's, and the host may be busy. */
#define PATIENCE_MS	30000

/* Jobs until each core has done @wanted: 0, or what went wrong. */
static int good_jobs(struct rk_team *t, unsigned int wanted)
{
	uint64_t before[RK_CORES];
	unsigned int done = 0;
	int ret = 0;

	for (int i = 0; i < RK_CORES; i++)
		before[i] = rk_count(i, NPU_CNT_TASK_DONE);
	/* Long enough that no core takes another's share. */
	rk_latency_us(1000);
	for (int round = 0; round < 200 && done < RK_CORES && !ret; round++) {
		ret = rk_team_submit(t, RK_TEAM_JOBS, round % 100);
		if (ret)
			break;
		rk_team_collect(t, RK_TEAM_JOBS, round % 100, PATIENCE_MS);
		for (int i = 0; i < RK_TEAM_JOBS && !ret; i++)
			ret = t->ret[i];
		done = 0;
		for (int i = 0; i < RK_CORES; i++)
			done += rk_count(i, NPU_CNT_TASK_DONE) - before[i] >= wanted;
	}
	rk_latency_us(0);
	return ret ? ret : done == RK_CORES ? 0 : -ENODATA;
}

enum when {
	BEFORE,		/* armed while cores are awake, then jobs */
	ASLEEP,		/* armed while cores are off */
	DURING,		/* armed with jobs on all cores */
};

FIXTURE(failure) {
	struct rk_team t;
};

FIXTURE_VARIANT(failure) {
	uint32_t kind;
	uint32_t param;
	uint32_t skip;
	bool forever;
	/* Armed with it: a hang, which it makes worse, and which resets do not clear. */
	bool hang;
	bool stuck;
	enum when when;
	/* How the one job ends that meets it. */
	int err;
	/* The core does nothing at all, so that a driver may try the job again. */
	bool never_starts;
	/* The core is taken out of service, until it is bound again. */
	bool retires;
	/* With one IOMMU for all cores, all of them are: it can neither be programmed nor switched off. */
	bool takes_all;
	/* Unless the others were asleep already, so that it could be switched off. */
	bool power_helps;
};

FIXTURE_VARIANT_ADD(failure, never_start) {
	.kind = NPU_FAULT_NEVER_START, .err = -ETIME, .never_starts = true,
};
FIXTURE_VARIANT_ADD(failure, hang) { .kind = NPU_FAULT_HANG, .err = -ETIME };
FIXTURE_VARIANT_ADD(failure, irq_lost) { .kind = NPU_FAULT_IRQ_LOST };
FIXTURE_VARIANT_ADD(failure, irq_late) { .kind = NPU_FAULT_IRQ_LATE, .param = 3000000 };
/* After the deadline has passed. */
FIXTURE_VARIANT_ADD(failure, irq_too_late) { .kind = NPU_FAULT_IRQ_LATE, .param = 700000000 };
FIXTURE_VARIANT_ADD(failure, irq_dup) { .kind = NPU_FAULT_IRQ_DUP };
/* While the next job runs. */
FIXTURE_VARIANT_ADD(failure, irq_dup_later) { .kind = NPU_FAULT_IRQ_DUP, .param = 500000 };
FIXTURE_VARIANT_ADD(failure, irq_spurious) { .kind = NPU_FAULT_IRQ_SPURIOUS, .when = DURING };
FIXTURE_VARIANT_ADD(failure, irq_mmu) { .kind = NPU_FAULT_IRQ_MMU };
/* A bus error that no access had. */
FIXTURE_VARIANT_ADD(failure, irq_mmu_bus) { .kind = NPU_FAULT_IRQ_MMU, .param = 2 };
/* Without the bit that is waited for, and with nothing but that. */
FIXTURE_VARIANT_ADD(failure, irq_partial) {
	.kind = NPU_FAULT_IRQ_PARTIAL, .param = 0x3f, .err = -ETIME,
};
FIXTURE_VARIANT_ADD(failure, irq_partial_dpu) { .kind = NPU_FAULT_IRQ_PARTIAL, .param = 0x300 };
FIXTURE_VARIANT_ADD(failure, dma_read) { .kind = NPU_FAULT_DMA_READ, .err = -EIO };
FIXTURE_VARIANT_ADD(failure, dma_write) { .kind = NPU_FAULT_DMA_WRITE, .err = -EIO };
FIXTURE_VARIANT_ADD(failure, regcmd_unmapped) {
	.kind = NPU_FAULT_REGCMD_ADDR, .param = 0x40000000, .err = -EFAULT,
};
/* Another page of the same buffer. */
FIXTURE_VARIANT_ADD(failure, regcmd_garbage) {
	.kind = NPU_FAULT_REGCMD_ADDR, .param = 0x1000, .err = -ETIME, .never_starts = true,
};
FIXTURE_VARIANT_ADD(failure, mmu_read) { .kind = NPU_FAULT_MMU_READ, .err = -EFAULT };
FIXTURE_VARIANT_ADD(failure, mmu_read_elsewhere) {
	.kind = NPU_FAULT_MMU_READ, .param = 0xdeadb000, .err = -EFAULT,
};
FIXTURE_VARIANT_ADD(failure, mmu_write) { .kind = NPU_FAULT_MMU_WRITE, .err = -EFAULT };
FIXTURE_VARIANT_ADD(failure, mmu_stall) {
	.kind = NPU_FAULT_MMU_STALL, .forever = true, .when = ASLEEP,
};
FIXTURE_VARIANT_ADD(failure, mmu_reset) { .kind = NPU_FAULT_MMU_RESET, .when = ASLEEP };
FIXTURE_VARIANT_ADD(failure, mmu_reset_forever) {
	.kind = NPU_FAULT_MMU_RESET, .forever = true, .when = ASLEEP, .retires = true,
	.takes_all = true,
};
FIXTURE_VARIANT_ADD(failure, mmu_paging) { .kind = NPU_FAULT_MMU_PAGING, .when = ASLEEP };
FIXTURE_VARIANT_ADD(failure, mmu_paging_forever) {
	.kind = NPU_FAULT_MMU_PAGING, .forever = true, .when = ASLEEP, .retires = true,
	.takes_all = true,
};
FIXTURE_VARIANT_ADD(failure, reset_stuck) {
	.kind = NPU_FAULT_RESET_STUCK, .hang = true, .err = -ETIME,
};
FIXTURE_VARIANT_ADD(failure, reset_stuck_forever) {
	.kind = NPU_FAULT_RESET_STUCK, .hang = true, .forever = true, .err = -ETIME,
	.takes_all = true, .power_helps = true,
};
/* Nor does taking its power away. */
FIXTURE_VARIANT_ADD(failure, off_stuck) {
	.kind = NPU_FAULT_OFF_STUCK, .hang = true, .stuck = true, .err = -ETIME,
	.retires = true, .takes_all = true,
};
FIXTURE_VARIANT_ADD(failure, dead_ones) {
	.kind = NPU_FAULT_CORE_DEAD, .param = 0xffffffff, .forever = true, .when = ASLEEP,
	.retires = true, .takes_all = true,
};
FIXTURE_VARIANT_ADD(failure, dead_zeroes) {
	.kind = NPU_FAULT_CORE_DEAD, .forever = true, .when = ASLEEP, .retires = true,
	.takes_all = true,
};

FIXTURE_SETUP(failure)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "our module's error codes");
	ASSERT_EQ(0, rk_team_init(&self->t));
	ASSERT_EQ(0, good_jobs(&self->t, 1));
	/* Then nothing but power helps, or not even that. */
	if (variant->stuck || (variant->kind == NPU_FAULT_RESET_STUCK && variant->forever))
		RK_REQUIRE_POWER_DOMAINS();
}

FIXTURE_TEARDOWN(failure)
{
	if (!rk_model() || !rk_ours())
		return;
	rk_model_calm();
	rk_team_fini(&self->t);
}

static void arm(const FIXTURE_VARIANT(failure) *v, unsigned int core)
{
	if (v->hang)
		rk_fault_arm(core, NPU_FAULT_HANG, 0, 1);
	if (v->stuck)
		rk_fault_arm(core, NPU_FAULT_RESET_STUCK, 0, 0);
	rk_fault_arm_param(core, v->kind, v->skip, v->forever ? 0 : 1, v->param);
}

/* The driver tries a job once more that never started. */
static bool retries(void)
{
	return rk_core_stat(0, "retries") >= 0;
}

static int expected(const FIXTURE_VARIANT(failure) *v)
{
	return v->never_starts && retries() ? 0 : v->err;
}

/*
 * Three jobs at once, one of which meets the failure on its core: unless the
 * host was so busy that another core took them all, then again.
 */
static int meet(const FIXTURE_VARIANT(failure) *v, struct rk_team *t, unsigned int core)
{
	int ret;

	for (unsigned int us = 10000; us <= 160000; us *= 2) {
		if (v->when == ASLEEP && !rk_wait_asleep(5000))
			return -EBUSY;
		if (v->when != DURING)
			arm(v, core);
		rk_latency_us(us);
		ret = rk_team_submit(t, RK_CORES, 7);
		if (ret)
			return ret;
		if (v->when == DURING) {
			rk_sleep_ms(3);
			arm(v, core);
		}
		rk_team_collect(t, RK_CORES, 7, PATIENCE_MS);
		rk_latency_us(0);
		if (rk_fault_fired())
			return 0;
	}
	return -ENODATA;
}

static void rebind_team(struct __test_metadata *_metadata, struct rk_team *t, unsigned int core)
{
	rk_model_calm();
	rk_team_fini(t);
	ASSERT_EQ(0, rk_rebind(core));
	ASSERT_EQ(0, rk_team_init(t));
	EXPECT_EQ(0, good_jobs(t, GOOD_JOBS)) TH_LOG("core %u", core);
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

static bool none_retired(void)
{
	long long sum = 0;

	for (int i = 0; i < RK_CORES; i++)
		sum += rk_core_stat(i, "retired");
	return !sum;
}

/* None of the first @n jobs ended in another way than done, @err, or for want of a core. */
static void check_lost(struct __test_metadata *_metadata, struct rk_team *t, int n, int err)
{
	int lost = rk_team_count(t, n, -ENODEV);

	EXPECT_EQ(n, rk_team_count(t, n, 0) + lost + (err ? rk_team_count(t, n, err) : 0));
	ASSERT_EQ(0, rk_team_submit(t, RK_TEAM_JOBS, 20));
	rk_team_collect(t, RK_TEAM_JOBS, 20, PATIENCE_MS);
	EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(t, RK_TEAM_JOBS, -ENODEV));
	for (int i = 0; i < RK_CORES; i++) {
		EXPECT_EQ(1, rk_core_stat(i, "retired")) TH_LOG("core %d", i);
	}
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

TEST_F_TIMEOUT(failure, is_survived, 120)
{
	for (unsigned int core = 0; variant->takes_all && rk_one_iommu() && core < RK_CORES; core++) {
		ASSERT_EQ(0, meet(variant, &self->t, core)) TH_LOG("core %u", core);
		if (variant->power_helps && none_retired()) {
			rk_model_calm();
			EXPECT_EQ(0, good_jobs(&self->t, GOOD_JOBS)) TH_LOG("core %u", core);
			continue;
		}
		check_lost(_metadata, &self->t, RK_CORES, variant->err);
		rebind_team(_metadata, &self->t, core);
	}
	if (variant->takes_all && rk_one_iommu())
		return;

	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct rk_team *t = &self->t;
		long long resets[RK_CORES], retired = rk_core_stat(core, "retired");
		long long timeouts = rk_core_stat(core, "timeouts");
		long long faults = rk_core_stat(core, "faults");
		int err = expected(variant);

		for (int i = 0; i < RK_CORES; i++)
			resets[i] = rk_core_stat(i, "resets");
		rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
		ASSERT_EQ(0, meet(variant, t, core)) TH_LOG("core %u", core);
		EXPECT_EQ(err ? 1 : RK_CORES, rk_team_count(t, RK_CORES, err));
		EXPECT_EQ(err ? RK_CORES - 1 : RK_CORES, rk_team_count(t, RK_CORES, 0))
			TH_LOG("core %u: %d %d %d", core, t->ret[0], t->ret[1], t->ret[2]);
		EXPECT_EQ(timeouts + (variant->err == -ETIME), rk_core_stat(core, "timeouts"));
		EXPECT_EQ(faults + (variant->err == -EFAULT), rk_core_stat(core, "faults"));
		/* The others have not noticed. */
		for (int i = 0; i < RK_CORES; i++)
			if (i != core) {
				EXPECT_EQ(resets[i], rk_core_stat(i, "resets"));
			}
		EXPECT_EQ(retired + variant->retires, rk_core_stat(core, "retired"));
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));

		if (variant->retires) {
			/* What is left does the work. */
			ASSERT_EQ(0, rk_team_submit(t, RK_TEAM_JOBS, 20));
			rk_team_collect(t, RK_TEAM_JOBS, 20, PATIENCE_MS);
			EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(t, RK_TEAM_JOBS, 0));
			rebind_team(_metadata, t, core);
		}
		rk_model_calm();
		EXPECT_EQ(0, good_jobs(t, GOOD_JOBS)) TH_LOG("core %u", core);
		EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
	}
}

/* ---- what does not fit the table ---- */

FIXTURE(special) {
	struct rk_team t;
};

FIXTURE_SETUP(special)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_MODEL();
	if (!rk_ours())
		SKIP(return, "our module's error codes");
	ASSERT_EQ(0, rk_team_init(&self->t));
}

FIXTURE_TEARDOWN(special)
{
	if (!rk_model() || !rk_ours())
		return;
	rk_stay_awake(false);
	rk_model_calm();
	rk_team_fini(&self->t);
}

/* A core that dies in the middle of a job takes that job with it, and no other. */
TEST_F_TIMEOUT(special, dies_while_it_works, 120)
{
	static const uint32_t reads[] = { 0xffffffff, 0 };

	for (int i = 0; i < 2 * RK_CORES; i++) {
		unsigned int core = i / 2;
		struct rk_team *t = &self->t;

		/*
		 * Any core's interrupt makes the IOMMU's driver look at all banks, and it
		 * follows the page table address that it finds in one that reads as ones.
		 */
		if (rk_one_iommu() && reads[i % 2])
			continue;
		ASSERT_EQ(0, good_jobs(t, 1));
		/* Enough for a busy host to get to arming it before the jobs are over. */
		rk_latency_us(300000);
		ASSERT_EQ(0, rk_team_submit(t, 2 * RK_CORES, 3));
		rk_sleep_ms(20);
		rk_fault_arm_param(core, NPU_FAULT_CORE_DEAD, 0, 0, reads[i % 2]);
		rk_team_collect(t, 2 * RK_CORES, 3, PATIENCE_MS);
		rk_latency_us(0);
		if (rk_one_iommu()) {
			check_lost(_metadata, t, 2 * RK_CORES, -ETIME);
			rebind_team(_metadata, t, core);
			continue;
		}
		/* To the driver, zeroes are a job that never started. */
		EXPECT_EQ(2 * RK_CORES - !(retries() && !reads[i % 2]),
			  rk_team_count(t, 2 * RK_CORES, 0))
			TH_LOG("core %u reads %#x: %d %d %d %d %d %d", core, reads[i % 2], t->ret[0],
			       t->ret[1], t->ret[2], t->ret[3], t->ret[4], t->ret[5]);
		ASSERT_EQ(0, rk_team_submit(t, RK_TEAM_JOBS, 4));
		rk_team_collect(t, RK_TEAM_JOBS, 4, PATIENCE_MS);
		EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(t, RK_TEAM_JOBS, 0));
		EXPECT_NE(0, rk_core_stat(core, "retired"));
		rebind_team(_metadata, t, core);
	}
}

/*
 * One that dies with a VM attached takes nothing along, and the kernels that
 * program the IOMMU to detach it (up to 6.1 at least) have nothing to warn of.
 */
TEST_F_TIMEOUT(special, dies_while_it_idles, 120)
{
	static const uint32_t reads[] = { 0xffffffff, 0 };

	for (int i = 0; i < 2 * RK_CORES; i++) {
		struct rk_team *t = &self->t;

		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		rk_fault_arm_param(i / 2, NPU_FAULT_CORE_DEAD, 0, 0, reads[i % 2]);
		rk_stay_awake(false);
		EXPECT_TRUE(rk_wait_asleep(5000));
		EXPECT_LE(1, rk_fault_fired()) TH_LOG("core %d, %#x", i / 2, reads[i % 2]);
		rk_model_calm();
		EXPECT_EQ(0, good_jobs(t, GOOD_JOBS)) TH_LOG("core %d, %#x", i / 2, reads[i % 2]);
	}
	for (int i = 0; i < RK_CORES; i++)
		EXPECT_EQ(0, rk_core_stat(i, "retired"));
}

/* The same, when the file is closed: its VM goes once the IOMMU can let go of it. */
TEST_F_TIMEOUT(special, dies_before_the_file_closes, 120)
{
	long long vms = rk_stat("vms");

	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct rk_team *t = &self->t;

		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		rk_fault_arm_param(core, NPU_FAULT_CORE_DEAD, 0, 0, core % 2 ? 0 : ~0u);
		rk_team_fini(t);
		rk_stay_awake(false);
		EXPECT_TRUE(rk_wait_asleep(5000));
		rk_model_calm();
		ASSERT_EQ(0, rk_team_init(t));
		EXPECT_EQ(0, good_jobs(t, GOOD_JOBS)) TH_LOG("core %u", core);
		EXPECT_EQ(0, rk_core_stat(core, "retired"));
	}
	EXPECT_TRUE(rk_stat_settles("vms", vms));
}

/* The same, when another client's VM is to be attached. */
TEST_F_TIMEOUT(special, dies_before_a_switch, 120)
{
	for (unsigned int core = 0; core < RK_CORES; core++) {
		struct rk_team *t = &self->t, other;

		ASSERT_EQ(0, rk_team_init(&other));
		rk_stay_awake(true);
		ASSERT_EQ(0, good_jobs(t, 1));
		/* As above: ones are followed by the IOMMU's driver. */
		rk_fault_arm_param(core, NPU_FAULT_CORE_DEAD, 0, 0, rk_one_iommu() ? 0 : ~0u);
		ASSERT_EQ(0, rk_team_submit(&other, RK_TEAM_JOBS, 6));
		rk_team_collect(&other, RK_TEAM_JOBS, 6, PATIENCE_MS);
		EXPECT_EQ(RK_TEAM_JOBS, rk_team_count(&other, RK_TEAM_JOBS, 0) +
			  rk_team_count(&other, RK_TEAM_JOBS, -ENODEV));
		rk_team_fini(&other);
		rk_stay_awake(false);
		rebind_team(_metadata, t, core);
	}
}

/* The model's TLB does not forget by itself: a lost zap shows, so a missing one would. */
TEST_F(special, stale_tlb)
{
	struct rk_team *t = &self->t;
	struct rk_client c;
	struct rk_bo old;

	ASSERT_EQ(0, rk_client_init(&c));
	for (int lost = 0; lost < 2; lost++) {
		ASSERT_EQ(0, rk_client_run(&c, 5));
		/* Its page stays, through the mapping, so that another one takes its place. */
		old = c.out;
		if (lost)
			rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_MMU_ZAP, 0, 0);
		ASSERT_EQ(0, rk_gem_close(c.fd, old.handle));
		ASSERT_EQ(0, rk_bo_init(&c.out, c.fd, RK_BYTES));
		ASSERT_EQ(old.iova, c.out.iova);
		EXPECT_EQ(lost ? -EILSEQ : 0, rk_client_run(&c, 9));
		EXPECT_EQ(lost ? 10 : 6, old.map[0]);
		munmap(old.map, old.size);
	}
	rk_client_fini(&c);
	rk_model_calm();
	EXPECT_EQ(0, good_jobs(t, GOOD_JOBS));
}

#define HANGS		1000
#define HANG_BATCH	25

/* Whatever they leave behind would add up. */
TEST_F_TIMEOUT(special, a_thousand_hangs, 400)
{
	struct rk_team *t = &self->t;
	int lost = 0;

	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 0);
	rk_task_timeout_ms(10);
	for (int i = 0; i < HANGS / HANG_BATCH; i++) {
		ASSERT_EQ(0, rk_team_submit(t, HANG_BATCH, 1)) TH_LOG("batch %d", i);
		rk_team_collect(t, HANG_BATCH, 1, PATIENCE_MS);
		lost += rk_team_count(t, HANG_BATCH, -ETIME);
	}
	EXPECT_EQ(HANGS, lost);
	EXPECT_LE(HANGS, rk_fault_fired());
	rk_model_calm();
	EXPECT_EQ(0, good_jobs(t, GOOD_JOBS));
	for (int i = 0; i < RK_CORES; i++)
		EXPECT_EQ(0, rk_core_stat(i, "retired"));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

TEST_HARNESS_MAIN
