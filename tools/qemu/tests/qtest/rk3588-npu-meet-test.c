/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of RK3588 NPU cores that wait for each other between tasks, as those
 * of a network on several cores do.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest-matmul.h"

#define CORES           3

/* Each core has two programs, and results of its own. */
static uint32_t program(unsigned core, unsigned task)
{
    return CMD_ADDR + 0x20000 * core + 0x10000 * task;
}

static uint32_t result(unsigned core, unsigned task)
{
    return C_ADDR + 0x4000 * core + 0x2000 * task;
}

static QTestState *start_all(void)
{
    QTestState *q = qtest_init(MACHINE AS_IN_TRM);

    /* NPU, NPUTOP, NPU1, NPU2 */
    qtest_writel(q, PMU_PWR, 0x003a0000);
    qtest_clock_step(q, 1000000);
    write_operands(q);
    return q;
}

/* Two products, between which @others are waited for. */
static void write_chain(QTestState *q, unsigned core, unsigned others)
{
    unsigned task;

    for (task = 0; task < 2; task++) {
        bool last = task == 1;

        qtest_memset(q, result(core, task), 0xa5, M * N * 4);
        write_matmul(q, program(core, task), result(core, task),
                     last ? 0 : program(core, 1),
                     last ? 0 : others << 16 | matmul_amount());
    }
}

static void reg(QTestState *q, unsigned core, uint32_t offset, uint32_t value)
{
    qtest_writel(q, CORE(core) + offset, value);
}

static void kick_core(QTestState *q, unsigned core)
{
    reg(q, core, BASE, 1);
    reg(q, core, CNA_S_POINTER, 0xe | core << 28);
    reg(q, core, 0x3004, 0xe | core << 28);
    reg(q, core, BASE, program(core, 0));
    reg(q, core, AMOUNTS, matmul_amount());
    reg(q, core, INT_MASK, 0x300);
    reg(q, core, INT_CLEAR, 0x1ffff);
    reg(q, core, TASK_CON, 0x7002);
    reg(q, core, OP_EN, 1);
    reg(q, core, OP_EN, 0);
}

static unsigned tasks_done(QTestState *q, unsigned core)
{
    return qtest_readl(q, CORE(core) + TASK_STATUS) & 0xfff;
}

/* Time enough for more tasks than there are. */
static void settle(QTestState *q)
{
    unsigned i;

    for (i = 0; i < 40; i++) {
        qtest_clock_step(q, 50000);
        g_usleep(500);
    }
}

/* The model computes in a thread, which a busy machine may not run for long. */
static void wait_done(QTestState *q, unsigned core, unsigned tasks)
{
    unsigned i;

    for (i = 0; i < 60000 && tasks_done(q, core) < tasks; i++) {
        qtest_clock_step(q, 50000);
        g_usleep(1000);
    }
}

static void assert_done(QTestState *q, unsigned core, unsigned tasks)
{
    g_assert_cmpuint(tasks_done(q, core), ==, tasks);
    g_assert_true(result_right(q, result(core, 0)));
    if (tasks == 2) {
        g_assert_true(result_right(q, result(core, 1)));
    } else {
        g_assert_true(untouched(q, result(core, 1)));
    }
}

static void test_all(void)
{
    QTestState *q = start_all();
    unsigned core, i;

    for (core = 0; core < CORES; core++) {
        write_chain(q, core, 2);
    }
    for (core = 0; core < CORES; core++) {
        kick_core(q, core);
        for (i = 0; i <= core; i++) {
            wait_done(q, i, core == CORES - 1 ? 2 : 1);
        }
        settle(q);
        for (i = 0; i <= core; i++) {
            assert_done(q, i, core == CORES - 1 ? 2 : 1);
        }
    }
    /* And again. */
    for (core = 0; core < CORES; core++) {
        write_chain(q, core, 2);
        kick_core(q, core);
    }
    for (core = 0; core < CORES; core++) {
        wait_done(q, core, 2);
        assert_done(q, core, 2);
    }
    qtest_quit(q);
}

/* Two are the first two: the third has nobody to wait with. */
static void test_pair(void)
{
    QTestState *q = start_all();
    unsigned core;

    for (core = 0; core < CORES; core++) {
        write_chain(q, core, 1);
    }
    kick_core(q, 2);
    kick_core(q, 1);
    wait_done(q, 2, 1);
    wait_done(q, 1, 1);
    settle(q);
    assert_done(q, 2, 1);
    assert_done(q, 1, 1);
    kick_core(q, 0);
    wait_done(q, 0, 2);
    wait_done(q, 1, 2);
    settle(q);
    assert_done(q, 0, 2);
    assert_done(q, 1, 2);
    assert_done(q, 2, 1);
    qtest_quit(q);
}

/* Who is reset does not wait, and one that comes later does. */
static void test_reset(void)
{
    QTestState *q = start_all();

    write_chain(q, 0, 1);
    write_chain(q, 1, 1);
    kick_core(q, 0);
    wait_done(q, 0, 1);
    assert_done(q, 0, 1);
    reset_core(q);
    kick_core(q, 1);
    wait_done(q, 1, 1);
    settle(q);
    assert_done(q, 1, 1);
    write_chain(q, 0, 1);
    kick_core(q, 0);
    wait_done(q, 0, 2);
    wait_done(q, 1, 2);
    assert_done(q, 0, 2);
    assert_done(q, 1, 2);
    assert_job_works(q);
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-meet/all", test_all);
    qtest_add_func("rk3588-npu-meet/pair", test_pair);
    qtest_add_func("rk3588-npu-meet/reset", test_reset);
    return g_test_run();
}
