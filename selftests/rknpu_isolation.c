// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two clients: neither can read, write, fault or stop the other.
 *
 * boot: jobs
 * boot: dt
 * boot: evict
 * boot: polled
 * boot: debug-main
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/wait.h>

#include "rknpu_harness.h"

FIXTURE(two) {
	struct rk_client a;
	struct rk_client b;
};

FIXTURE_SETUP(two)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	close(fd);
	RK_REQUIRE_IOMMU();
	ASSERT_EQ(0, rk_client_init(&self->a));
	ASSERT_EQ(0, rk_client_init(&self->b));
}

FIXTURE_TEARDOWN(two)
{
	rk_model_calm();
	rk_client_fini(&self->a);
	rk_client_fini(&self->b);
}

/* An address that means something to @c, and nothing to a fresh client. */
static int private_bo(struct rk_client *c, struct rk_bo *bo, int value)
{
	struct rk_bo hole;
	int ret = rk_bo_init(&hole, c->fd, 8u << 20);

	if (!ret)
		ret = rk_bo_init(bo, c->fd, RK_BYTES);
	rk_bo_fini(&hole);
	return ret ? ret : rk_bo_fill(bo, value, RK_BYTES);
}

static int run_raw(struct rk_client *c, uint64_t in, uint64_t out)
{
	struct drm_rocket_task task;
	int ret = rk_op_task(&c->inc, in, out, &task);

	if (!ret)
		ret = rk_submit_task(c->fd, &task, &c->in, &c->out);
	return ret ? ret : rk_prep(&c->out, 10000);
}

RK_TEST_F(two, same_address_different_memory, "the same address is different memory in two files")
{
	ASSERT_EQ(self->a.out.iova, self->b.out.iova);
	ASSERT_EQ(0, rk_bo_fill(&self->a.out, 0x11, RK_BYTES));
	ASSERT_EQ(0, rk_client_run(&self->b, 50));
	EXPECT_EQ(0, rk_bo_differs(&self->a.out, 0x11, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&self->b.out, 51, RK_BYTES));
}

RK_TEST_F(two, cannot_write_the_others_memory, "a job cannot write another file's memory")
{
	struct rk_bo secret;

	ASSERT_EQ(0, private_bo(&self->a, &secret, 0x42));
	EXPECT_EQ(-EFAULT, run_raw(&self->b, self->b.in.iova, secret.iova));
	EXPECT_EQ(0, rk_bo_differs(&secret, 0x42, RK_BYTES));
	EXPECT_EQ(0, rk_client_run(&self->a, 1));
	EXPECT_EQ(0, rk_client_run(&self->b, 2));
	rk_bo_fini(&secret);
}

RK_TEST_F(two, cannot_read_the_others_memory, "a job cannot read another file's memory")
{
	struct rk_bo secret;

	ASSERT_EQ(0, private_bo(&self->a, &secret, 0x42));
	rk_bo_fill(&self->b.out, 0, RK_BYTES);
	EXPECT_EQ(-EFAULT, run_raw(&self->b, secret.iova, self->b.out.iova));
	for (size_t i = 0; i < RK_BYTES; i++) {
		EXPECT_NE(0x43, self->b.out.map[i]);
	}
	EXPECT_EQ(0, rk_client_run(&self->b, 2));
	rk_bo_fini(&secret);
}

RK_TEST_F(two, no_stale_translations,
	  "another file's translations are gone from the TLB when ours are loaded")
{
	struct rk_bo secret;

	ASSERT_EQ(0, private_bo(&self->a, &secret, 10));
	for (int i = 0; i < 6; i++) {
		/* A's own use brings the address into the core's TLB. */ {
		ASSERT_EQ(0, run_raw(&self->a, secret.iova, self->a.out.iova));
	}
		EXPECT_EQ(11, self->a.out.map[0]);
		EXPECT_EQ(-EFAULT, run_raw(&self->b, secret.iova, self->b.out.iova));
	}
	rk_bo_fini(&secret);
}

RK_TEST_F(two, freed_memory_is_unreachable, "memory that was given back is out of reach")
{
	struct rk_bo gone;
	uint64_t iova;
	int ret = 0;

	ASSERT_EQ(0, private_bo(&self->a, &gone, 5));
	iova = gone.iova;
	ASSERT_EQ(0, run_raw(&self->a, iova, self->a.out.iova));
	rk_bo_fini(&gone);
	/* It stays mapped until the driver has put the finished job away, which may take a moment. */
	for (int i = 0; i < 200 && !ret; i++) {
		rk_sleep_ms(10);
		ret = run_raw(&self->a, iova, self->a.out.iova);
	}
	EXPECT_EQ(-EFAULT, ret);
	EXPECT_EQ(-EFAULT, run_raw(&self->a, self->a.in.iova, iova));
	EXPECT_EQ(0, rk_client_run(&self->a, 1));
}

RK_TEST_F(two, address_zero_faults, "a job that reads address 0 faults")
{
	EXPECT_EQ(-EFAULT, run_raw(&self->b, 0, self->b.out.iova));
	EXPECT_EQ(0, rk_client_run(&self->a, 1));
}

RK_TEST_F(two, unmapped_output_faults, "a job that writes an unmapped address faults")
{
	EXPECT_EQ(-EFAULT, run_raw(&self->b, self->b.in.iova, 0xfffff000));
	EXPECT_EQ(0, rk_client_run(&self->b, 1));
}

RK_TEST_F(two, output_beyond_the_bo_faults, "a job that writes over the end of its BO faults there")
{
	struct rk_bo last;

	/* Nothing is mapped behind the page that was made last. */
	ASSERT_EQ(0, rk_bo_init(&last, self->b.fd, 4096));
	EXPECT_EQ(-EFAULT, run_raw(&self->b, self->b.in.iova,
				   last.iova + last.size - RK_BYTES / 2));
	EXPECT_EQ(0, rk_client_run(&self->b, 1));
	rk_bo_fini(&last);
}

RK_TEST_F(two, fault_on_every_core, "each core works after a fault")
{
	for (int i = 0; i < 6; i++) {
		EXPECT_EQ(-EFAULT, run_raw(&self->b, 0xfff00000, self->b.out.iova));
		ASSERT_EQ(0, rk_run_on_every_core(self->a.fd, 1)) TH_LOG("after fault %d", i);
	}
}

RK_TEST_F(two, fault_hits_only_its_job, "a fault fails one job, not those before and behind it")
{
	struct drm_rocket_task bad, good[2];
	struct rk_bo out[2];

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, rk_bo_init(&out[i], self->b.fd, RK_BYTES));
		ASSERT_EQ(0, rk_op_task(&self->b.inc, self->b.in.iova, out[i].iova, &good[i]));
	}
	ASSERT_EQ(0, rk_op_task(&self->b.inc, 0xfff00000, self->b.out.iova, &bad));
	ASSERT_EQ(0, rk_bo_fill(&self->b.in, 30, RK_BYTES));
	ASSERT_EQ(0, rk_submit_task(self->b.fd, &good[0], &self->b.in, &out[0]));
	ASSERT_EQ(0, rk_submit_task(self->b.fd, &bad, &self->b.in, &self->b.out));
	ASSERT_EQ(0, rk_submit_task(self->b.fd, &good[1], &self->b.in, &out[1]));
	EXPECT_EQ(-EFAULT, rk_prep(&self->b.out, 10000));
	EXPECT_EQ(0, rk_bo_differs(&out[0], 31, RK_BYTES));
	EXPECT_EQ(0, rk_bo_differs(&out[1], 31, RK_BYTES));
	for (int i = 0; i < 2; i++)
		rk_bo_fini(&out[i]);
}

RK_TEST_F(two, r34_fault_is_reported_until_rewritten,
	  "the error stays with the BO until another job writes it")
{
	EXPECT_EQ(-EFAULT, run_raw(&self->b, 0xfff00000, self->b.out.iova));
	EXPECT_EQ(-EFAULT, rk_prep(&self->b.out, 1000));
	EXPECT_EQ(-EFAULT, rk_prep_until(self->b.fd, self->b.out.handle, 0));
	EXPECT_EQ(0, rk_client_run(&self->b, 3));
	EXPECT_EQ(0, rk_prep(&self->b.out, 1000));
}

static int storm(int rounds)
{
	struct rk_client c;
	int ret = rk_client_init(&c);

	for (int i = 0; i < rounds && !ret; i++) {
		c.inc.used = RK_OP_PROG;
		ret = run_raw(&c, 0xfff00000, c.out.iova) == -EFAULT ? 0 : 1;
	}
	rk_client_fini(&c);
	return ret;
}

RK_TEST_F_TIMEOUT(two, faulting_neighbour, 60,
		  "a client that does nothing but fault never fails another's job")
{
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(storm(20));
	for (int i = 0; i < 60; i++) {
		ASSERT_EQ(0, rk_client_run(&self->a, i)) TH_LOG("job %d", i);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

RK_TEST_F_TIMEOUT(two, alternate_200_times, 60,
		  "two files' jobs alternate 200 times on the same cores")
{
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(0, rk_client_run(&self->a, i % 100));
		ASSERT_EQ(0, rk_client_run(&self->b, -(i % 100)));
	}
}

/*
 * A job is over when the unit it waits for reports; another unit of its program
 * may still be at work. Before the core gets another address space, or loses
 * its own with the power, it is reset.
 */
RK_TEST_F_TIMEOUT(two, core_is_halted_between_address_spaces, 60,
		  "a core is reset before it gets another address space")
{
	struct rk_client more[2 * RK_CORES];
	long long attaches[RK_CORES], total = 0;
	char name[32];

	RK_REQUIRE_MODEL();
	if (rk_stat("core0.attaches") < 0)
		SKIP(return, "the driver does not count attaches");
	/* More than there are cores, or each would have its own. */
	for (int i = 0; i < 2 * RK_CORES; i++)
		ASSERT_EQ(0, rk_client_init(&more[i]));
	for (int i = 0; i < RK_CORES; i++) {
		snprintf(name, sizeof(name), "core%d.attaches", i);
		attaches[i] = rk_stat(name);
	}
	rk_ctl_write(NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
	for (int i = 0; i < 60; i++) {
		ASSERT_EQ(0, rk_client_run(&more[i % (2 * RK_CORES)], i));
		/* Now and then long enough to fall asleep. */
		if (i % 20 == 19)
			rk_sleep_ms(150);
	}
	for (int i = 0; i < RK_CORES; i++) {
		snprintf(name, sizeof(name), "core%d.attaches", i);
		attaches[i] = rk_stat(name) - attaches[i];
		total += attaches[i];
		/* The first may find the core with nothing attached. */
		EXPECT_LE(attaches[i], (long long)rk_count(i, NPU_CNT_RESET) + 1)
			TH_LOG("core %d", i);
	}
	/* Or there was nothing to see. */
	EXPECT_LT(10, total);
	for (int i = 0; i < 2 * RK_CORES; i++)
		rk_client_fini(&more[i]);
}

RK_HARNESS_MAIN
