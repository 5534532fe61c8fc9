// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program to begin with: Documentation/accel/rknpu/add-a-test.rst says how. It is built, and not run.
 *
 * boot: none
 */
#define _GNU_SOURCE
#include "rknpu_harness.h"

/* What every case of the fixture starts with: here a file with a program and two BOs. */
FIXTURE(template) {
	struct rk_client c;
};

FIXTURE_SETUP(template)
{
	int fd;

	/* Without an NPU the cases are skipped. Faults and counters of an earlier case are gone. */
	RK_OPEN_OR_SKIP(fd);
	ASSERT_EQ(0, rk_client_init_on(&self->c, fd));
}

FIXTURE_TEARDOWN(template)
{
	rk_model_calm();
	rk_client_fini(&self->c);
}

RK_TEST_F(template, adds_one, "a job computes the right bytes")
{
	EXPECT_EQ(0, rk_client_run(&self->c, 41));
}

RK_TEST_F(template, page_fault_is_told, "a job that writes where nothing is mapped ends with EFAULT")
{
	struct rk_client *c = &self->c;
	struct drm_rocket_task task;

	ASSERT_EQ(0, rk_op_task(&c->inc, c->in.iova, 0xfff00000, &task));
	ASSERT_EQ(0, rk_submit_task(c->fd, &task, &c->in, &c->out));
	EXPECT_EQ(-EFAULT, rk_prep(&c->out, 10000));
	EXPECT_EQ(0, rk_client_run(c, 1));
}

RK_TEST_F(template, hang_is_told, "a job that hangs ends with ETIME, and the next one runs")
{
	struct rk_client *c = &self->c;

	/* Only the model hangs on demand. */
	RK_REQUIRE_MODEL();
	rk_fault_arm(NPU_CTL_ANY_CORE, NPU_FAULT_HANG, 0, 1);
	ASSERT_EQ(0, rk_submit_op(&c->inc, &c->in, &c->out));
	EXPECT_EQ(-ETIME, rk_prep(&c->out, 10000));
	EXPECT_EQ(1, rk_fault_fired());
	EXPECT_EQ(0, rk_client_run(c, 1));
}

RK_HARNESS_MAIN
