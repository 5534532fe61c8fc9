// SPDX-License-Identifier: GPL-2.0-only
/*
 * What arrives late does no harm: register writes that are still under way, the
 * end of a reset, and results that come after their interrupt.
 *
 * With times that are longer than the model's usual ones, and an instruction a nanosecond: a slow host hides a reset
 * that nobody waits for.
 * boot: late --icount --model npu-seed=1 --model rk-iommu.prefetch=on --model rk-delay.write-ns=100000 --model rk-delay.result-ns=20000000 --model rk-delay.reset-ns=9000 --param autosuspend_ms=0
 * Nobody reads registers of an IOMMU.
 * boot: noiommulate LONG --model npu-seed=1 --model npu-iommu=0 --model rk-delay.write-ns=100000 --cmdline cma=256M --param unsafe_noiommu=1 --param autosuspend_ms=0
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_harness.h"

#define JOBS		40
#define ROUNDS		10
#define SENTINEL	0x11
/* The boot's result-ns. */
#define LATE_NS		20000000u

FIXTURE(late) {
	struct rk_client a, b;
};

FIXTURE_SETUP(late)
{
	int fd;

	RK_OPEN_OR_SKIP(fd);
	ASSERT_EQ(0, rk_client_init_on(&self->a, fd));
	ASSERT_EQ(0, rk_client_init(&self->b));
	RK_REQUIRE_MODEL();
	/* The driver's own program would be late, too, and nothing resets the core after it. */
	rk_scrub(false);
}

FIXTURE_TEARDOWN(late)
{
	rk_model_calm();
	rk_client_fini(&self->a);
	rk_client_fini(&self->b);
}

/* By the model's clock, for what it holds back to have come. */
static void let_all_come(void)
{
	uint64_t end = rk_ctl_read64(NPU_CTL_TIME_LO) + LATE_NS;

	while (rk_ctl_read64(NPU_CTL_TIME_LO) < end)
		;
}

/* Its result may be late, so only whether it ended well. */
static int run(struct rk_client *c, const struct rk_bo *in, const struct rk_bo *out)
{
	struct drm_rocket_task task;
	int ret;

	c->inc.used = RK_OP_PROG;
	ret = rk_op_task(&c->inc, in->iova, out->iova, &task);
	if (!ret)
		ret = rk_submit_task(c->fd, &task, in, out);
	return ret ? ret : rk_prep(out, 10000);
}

RK_TEST_F(late, none_is_lost, "no register write is under way when the core's clock goes")
{
	unsigned int i;

	for (i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, run(&self->a, &self->a.in, &self->a.out));
		ASSERT_TRUE(rk_wait_asleep(10000));
	}
	EXPECT_EQ(0, rk_count_all(NPU_CNT_WRITE_LOST));
	EXPECT_EQ(0, rk_count_all(NPU_CNT_ABORT));
}

RK_TEST_F(late, one_interrupt, "a core that goes idle has taken its interrupt back: one is enough")
{
	unsigned long before, n;
	unsigned int i;

	if (rk_polled())
		SKIP(return, "the core is polled");
	rk_stay_awake(true);
	ASSERT_EQ(0, run(&self->a, &self->a.in, &self->a.out));
	before = rk_irqs_taken();
	for (i = 0; i < JOBS; i++)
		EXPECT_EQ(0, run(&self->a, &self->a.in, &self->a.out));
	n = rk_irqs_taken() - before;
	rk_stay_awake(false);
	EXPECT_LE(JOBS, n);
	EXPECT_GE(JOBS + JOBS / 4, n);
}

RK_TEST_F(late, results_stay_at_home, "late results reach no other client's memory")
{
	struct rk_client *a = &self->a, *b = &self->b;
	struct rk_bo other;
	unsigned int i;

	if (rk_no_iommu())
		SKIP(return, "clients have no addresses of their own");
	/* Where a's job writes, b has what nobody may change. */
	ASSERT_EQ(a->out.iova, b->out.iova);
	ASSERT_EQ(0, rk_bo_init(&other, b->fd, RK_BYTES));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, rk_bo_fill(&a->in, i, RK_BYTES));
		ASSERT_EQ(0, rk_bo_fill(&b->out, SENTINEL, RK_BYTES));
		ASSERT_EQ(0, run(a, &a->in, &a->out));
		ASSERT_EQ(0, run(b, &b->in, &other));
		let_all_come();
		EXPECT_EQ(0, rk_bo_differs(&b->out, SENTINEL, RK_BYTES));
	}
	rk_bo_fini(&other);
}

RK_TEST_F(late, next_job_finds_them, "a client's next job finds the results of the one before")
{
	struct rk_client *a = &self->a;
	struct rk_bo out;
	unsigned int i;
	int64_t end;

	ASSERT_EQ(0, rk_bo_init(&out, a->fd, RK_BYTES));
	/* Neither a core that sleeps nor another client's job comes between. */
	rk_stay_awake(true);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, rk_bo_fill(&a->in, i, RK_BYTES));
		ASSERT_EQ(0, rk_bo_fill(&out, SENTINEL, RK_BYTES));
		EXPECT_EQ(0, run(a, &a->in, &a->out));
		EXPECT_EQ(0, run(a, &a->out, &out));
		/* On a busy host the model's timer is late, too. What the job read is not mended by waiting. */
		end = rk_now() + 10000 * RK_MS;
		do {
			let_all_come();
			ASSERT_EQ(0, rk_fini(&out));
		} while (rk_bo_differs(&out, i + 2, RK_BYTES) && rk_now() < end);
		EXPECT_EQ(0, rk_bo_differs(&out, i + 2, RK_BYTES));
	}
	rk_stay_awake(false);
	rk_bo_fini(&out);
}

RK_HARNESS_MAIN
