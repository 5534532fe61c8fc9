/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of what takes time in the RK3588 NPU machine: posted writes, resets,
 * power domains, the last results; and of what is there without being asked
 * for: contents after power-up, entries of the IOMMU's tables.
 *
 * Writes, power and so on of other machines of this test take no time unless
 * their property is given here.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest-matmul.h"

#define TIMED           "-machine rk3588-npu,npu-seed=%u -m 512 " \
                        "-display none " \
                        "-global rk-delay.write-ns=%u " \
                        "-global rk-delay.result-ns=%u " \
                        "-global rk-delay.power-ns=%u " \
                        "-global rk-delay.idle-ns=%u " \
                        "-global rk-delay.reset-ns=%u "

#define PMU             0xfd8d8000u
#define PMU_IDLE_REQ    (PMU + 0x10c)
#define PMU_IDLE_ACK    (PMU + 0x118)
#define PMU_REPAIR      (PMU + 0x290)

#define ACLK_OFF        0x00400040u
#define ACLK_ON         0x00400000u

static QTestState *timed(unsigned seed, unsigned write_ns, unsigned result_ns,
                         unsigned power_ns, unsigned idle_ns,
                         unsigned reset_ns)
{
    return qtest_initf(TIMED, seed, write_ns, result_ns, power_ns, idle_ns,
                       reset_ns);
}

static QTestState *posting(unsigned seed)
{
    QTestState *q = timed(seed, 1000, 0, 0, 0, 0);

    power(q, true);
    return q;
}

/* Command 0 enables paging, 1 disables it. */
static void paging(QTestState *q, bool on)
{
    qtest_writel(q, MMU0 + 8, !on);
}

/* How long a write of another burst takes to land, and 2000 if it does not. */
static unsigned landing_ns(QTestState *q)
{
    uint32_t before = count(q, NPU_CNT_MMU_ATTACH);
    unsigned ns;

    paging(q, true);
    for (ns = 0; ns < 2000 && count(q, NPU_CNT_MMU_ATTACH) == before;
         ns += 20) {
        qtest_clock_step(q, 20);
    }
    paging(q, false);
    g_assert_cmphex(qtest_readl(q, MMU0 + 4) & 1, ==, 0);
    return ns;
}

/* A burst lands later, all of it, or when the core or its IOMMU is read. */
static void test_posted(void)
{
    QTestState *q = posting(3);

    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 0);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));

    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 1);
    qtest_readl(q, MMU0 + 4);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 2);
    g_assert_true(wait_irq(q));

    paging(q, true);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_ATTACH), ==, 0);
    rd(q, INT_RAW);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_ATTACH), ==, 1);
    qtest_quit(q);
}

/* The line stays up until a write that clears it has landed. */
static void test_posted_clear(void)
{
    QTestState *q = timed(3, 1000, 0, 0, 0, 0);

    qtest_irq_intercept_out_named(q, "/machine/npu-core0", "sysbus-irq");
    power(q, true);
    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
    g_assert_true(qtest_get_irq(q, 0));
    wr(q, INT_CLEAR, 0x1ffff);
    g_assert_true(qtest_get_irq(q, 0));
    qtest_clock_step(q, 1000);
    g_assert_false(qtest_get_irq(q, 0));
    qtest_quit(q);
}

/* What is under way when the clock goes is lost, unless somebody read. */
static void test_lost(void)
{
    QTestState *q = posting(3);

    paging(q, true);
    qtest_writel(q, CRU_GATE30, ACLK_OFF);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(count(q, NPU_CNT_WRITE_LOST), ==, 1);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 0);
    qtest_writel(q, CRU_GATE30, ACLK_ON);
    g_assert_cmphex(qtest_readl(q, MMU0 + 4) & 1, ==, 0);

    paging(q, true);
    g_assert_cmphex(qtest_readl(q, MMU0 + 4) & 1, ==, 1);
    qtest_writel(q, CRU_GATE30, ACLK_OFF);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(count(q, NPU_CNT_WRITE_LOST), ==, 1);
    qtest_quit(q);
}

/* The same seed, the same times. */
static void test_seed(void)
{
    QTestState *one = posting(5), *again = posting(5), *two = posting(6);
    unsigned differ = 0, vary = 0, last = 0, i;

    for (i = 0; i < 12; i++) {
        unsigned ns = landing_ns(one);

        g_assert_cmpuint(ns, <=, 1020);
        g_assert_cmpuint(landing_ns(again), ==, ns);
        differ += landing_ns(two) != ns;
        vary += ns != last;
        last = ns;
    }
    g_assert_cmpuint(differ, >, 6);
    g_assert_cmpuint(vary, >, 6);
    qtest_quit(one);
    qtest_quit(again);
    qtest_quit(two);
}

/* Registers answer some time after a reset, and until then writes are lost. */
static void test_reset(void)
{
    QTestState *q = timed(2, 0, 0, 0, 0, 100000);
    unsigned early = 0, i;

    power(q, true);
    for (i = 0; i < 10; i++) {
        reset_core(q);
        qtest_writel(q, MMU0, 0x12345000);
        wr(q, BASE, 0x1000);
        early += qtest_readl(q, MMU0) == 0x12345000;
        g_assert_cmphex(rd(q, BASE), ==, early > i ? 0x1000 : 0);
        qtest_clock_step(q, 100000);
        qtest_writel(q, MMU0, 0x12345000);
        wr(q, BASE, 0x1000);
        g_assert_cmphex(qtest_readl(q, MMU0), ==, 0x12345000);
        g_assert_cmphex(rd(q, BASE), ==, 0x1000);
    }
    g_assert_cmpuint(early, ==, 0);
    qtest_quit(q);
}

/* Bits 2 to 4: NPUTOP, NPU1, NPU2. */
static bool has_power(QTestState *q, unsigned core)
{
    return qtest_readl(q, PMU_REPAIR) & (4u << core);
}

/* Domains come up one behind the other, and the status says when. */
static void test_power(void)
{
    QTestState *q = timed(4, 0, 0, 50000, 0, 0);
    unsigned ns;

    qtest_writel(q, PMU_PWR, 0x001a0000);
    g_assert_false(has_power(q, 0));
    g_assert_cmpuint(count(q, NPU_CNT_POWERED), ==, 0);
    for (ns = 0; !has_power(q, 0); ns += 100) {
        g_assert_cmpuint(ns, <, 100000);
        g_assert_false(has_power(q, 1));
        qtest_clock_step(q, 100);
    }
    g_assert_cmpuint(ns, >, 0);
    g_assert_cmpuint(count(q, NPU_CNT_POWERED), ==, 1);
    g_assert_false(has_power(q, 1));
    qtest_clock_step(q, 50000);
    g_assert_true(has_power(q, 1));

    /* Going down takes time, too, but not for what is inside. */
    qtest_writel(q, PMU_PWR, 0x00080008);
    g_assert_true(has_power(q, 0));
    qtest_clock_step(q, 50000);
    g_assert_false(has_power(q, 0));
    g_assert_false(has_power(q, 1));

    /* A request that is withdrawn in time has no effect. */
    qtest_writel(q, PMU_PWR, 0x00080000);
    qtest_writel(q, PMU_PWR, 0x00080008);
    qtest_clock_step(q, 200000);
    g_assert_false(has_power(q, 0));
    g_assert_cmpuint(count(q, NPU_CNT_POWER_ON), ==, 1);
    qtest_quit(q);
}

static void test_idle(void)
{
    QTestState *q = timed(4, 0, 0, 0, 5000, 0);

    g_assert_cmphex(qtest_readl(q, PMU_IDLE_ACK) & 0xe, ==, 0xe);
    qtest_writel(q, PMU_IDLE_REQ, 0x000e0000);
    g_assert_cmphex(qtest_readl(q, PMU_IDLE_ACK) & 0xe, ==, 0xe);
    qtest_clock_step(q, 5000);
    g_assert_cmphex(qtest_readl(q, PMU_IDLE_ACK) & 0xe, ==, 0);
    qtest_quit(q);
}

/* Registers come up with anything in them, and a reset clears them. */
static void test_garbage(void)
{
    QTestState *one = timed(5, 0, 0, 0, 0, 0), *again = timed(5, 0, 0, 0, 0, 0);
    uint32_t dte, base;

    power(one, true);
    power(again, true);
    dte = qtest_readl(one, MMU0);
    base = rd(one, DMA_BASE);
    g_assert_cmphex(dte, !=, 0);
    g_assert_cmphex(base, !=, 0);
    g_assert_cmphex(qtest_readl(again, MMU0), ==, dte);
    g_assert_cmphex(rd(again, DMA_BASE), ==, base);

    power(one, false);
    power(one, true);
    g_assert_cmphex(qtest_readl(one, MMU0), !=, dte);
    reset_core(one);
    g_assert_cmphex(qtest_readl(one, MMU0), ==, 0);
    g_assert_cmphex(rd(one, DMA_BASE), ==, 0);
    qtest_quit(one);
    qtest_quit(again);
}

static void run_product(QTestState *q)
{
    write_operands(q);
    kick(q, CMD_ADDR, matmul_amount(), 1);
}

/* Most of the result is in memory with the interrupt, the rest later. */
static void test_results(void)
{
    QTestState *q = timed(3, 0, 200000, 0, 0, 0);
    const uint32_t last = C_ADDR + M * N * 4 - 4;

    qtest_irq_intercept_out_named(q, "/machine/npu-core0", "sysbus-irq");
    power(q, true);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    run_product(q);
    while (!qtest_get_irq(q, 0)) {
        qtest_clock_step(q, 1000);
        g_usleep(100);
    }
    g_assert_cmphex(qtest_readl(q, C_ADDR), !=, 0xa5a5a5a5);
    g_assert_cmphex(qtest_readl(q, last), ==, 0xa5a5a5a5);
    qtest_clock_step(q, 200000);
    g_assert_true(result_right(q, C_ADDR));

    /* The next task of the core finds it in memory; a reset ends it. */
    wr(q, INT_CLEAR, 0x1ffff);
    run_product(q);
    while (!qtest_get_irq(q, 0)) {
        qtest_clock_step(q, 1000);
        g_usleep(100);
    }
    g_assert_cmphex(qtest_readl(q, last), ==, 0xa5a5a5a5);
    reset_core(q);
    qtest_clock_step(q, 400000);
    g_assert_cmphex(qtest_readl(q, last), ==, 0xa5a5a5a5);
    qtest_quit(q);
}

static void set_pte(QTestState *q, uint32_t iova, uint32_t pte)
{
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((iova - RAM) >> 12) * 4, pte);
}

static void start_product(QTestState *q)
{
    write_operands(q);
    kick(q, CMD_ADDR, matmul_amount(), 1);
}

static bool faulted(QTestState *q)
{
    unsigned i;

    for (i = 0; i < 4000 && !count(q, NPU_CNT_MMU_FAULT); i++) {
        qtest_clock_step(q, 20000);
        g_usleep(500);
    }
    return count(q, NPU_CNT_MMU_FAULT) == 1;
}

/*
 * A walk keeps the entries beside its own, and invalid ones, until a zap of any
 * of them.
 */
static void test_prefetch(bool prefetch)
{
    QTestState *q = qtest_initf(MACHINE "-global rk-iommu.prefetch=%s",
                                prefetch ? "on" : "off");
    const uint32_t other = C_ADDR + 0x1000;

    power(q, true);
    set_mmu(q, true);
    set_pte(q, other, 0);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    start_product(q);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));

    set_pte(q, other, C2_ADDR | 7);
    write_matmul(q, CMD_ADDR, other, 0, 0);
    start_product(q);
    if (prefetch) {
        g_assert_true(faulted(q));
        g_assert_cmphex(rd(q, INT_STATUS), ==, 0);
        /* By the address of a neighbour; then the fault is acknowledged. */
        qtest_writel(q, MMU0 + 0x10, C_ADDR);
        qtest_writel(q, MMU0 + 0x08, 5);
        qtest_writel(q, MMU0 + 0x18, 3);
    }
    g_assert_true(wait_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, prefetch);
    g_assert_true(result_right(q, C2_ADDR));
    qtest_quit(q);
}

static void test_prefetch_on(void)
{
    test_prefetch(true);
}

static void test_prefetch_off(void)
{
    test_prefetch(false);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu/time/posted", test_posted);
    qtest_add_func("rk3588-npu/time/posted-clear", test_posted_clear);
    qtest_add_func("rk3588-npu/time/lost", test_lost);
    qtest_add_func("rk3588-npu/time/seed", test_seed);
    qtest_add_func("rk3588-npu/time/reset", test_reset);
    qtest_add_func("rk3588-npu/time/power", test_power);
    qtest_add_func("rk3588-npu/time/idle", test_idle);
    qtest_add_func("rk3588-npu/time/garbage", test_garbage);
    qtest_add_func("rk3588-npu/time/results", test_results);
    qtest_add_func("rk3588-npu/time/prefetch", test_prefetch_on);
    qtest_add_func("rk3588-npu/time/prefetch-off", test_prefetch_off);
    return g_test_run();
}
