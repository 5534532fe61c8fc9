/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of the failures that the RK3588 NPU model has on demand: each is
 * armed, seen, and gone afterwards.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "rk3588-npu-qtest-matmul.h"

#define CTL             "'/machine/npu-ctl'"
#define PMU_REPAIR      (0xfd8d8000u + 0x290)
#define MMU_DTE         0x00
#define MMU_STATUS      0x04
#define MMU_COMMAND     0x08
#define MMU_FAULT_ADDR  0x0c
#define MMU_ZAP_LINE    0x10
#define MMU_INT_CLEAR   0x18
#define MMU_INT_MASK    0x1c
#define MMU_INT_STATUS  0x20

enum { PAGING_ON, PAGING_OFF, STALL_ON, STALL_OFF, ZAP, FAULT_DONE, RESET };

#define ST_PAGING       1u
#define ST_FAULT        2u
#define ST_STALL        4u
#define ST_WRITE        0x20u

static void arm(QTestState *q, uint32_t kind, uint32_t skip, uint32_t param)
{
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_CORE, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_SKIP, skip);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_COUNT, 1);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_PARAM, param);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_ARM, kind);
}

/* Until cleared. */
static void arm_forever(QTestState *q, uint32_t kind, uint32_t param)
{
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_CORE, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_SKIP, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_COUNT, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_PARAM, param);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_ARM, kind);
}

static void disarm(QTestState *q)
{
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
}

static uint32_t fired(QTestState *q)
{
    return qtest_readl(q, NPU_CTL_BASE + NPU_CTL_FAULT_FIRED);
}

static uint32_t mmu(QTestState *q, uint32_t reg)
{
    return qtest_readl(q, MMU0 + reg);
}

static void kick_job(QTestState *q)
{
    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
}

static void clear_irq(QTestState *q)
{
    wr(q, INT_CLEAR, 0x1ffff);
}

static void test_irq_late(void)
{
    QTestState *q = start();

    arm(q, NPU_FAULT_IRQ_LATE, 0, 5000000);
    kick_job(q);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 0);
    qtest_clock_step(q, 4000000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 0);
    qtest_clock_step(q, 1000000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 1);
    g_assert_cmpuint(fired(q), ==, 1);
    clear_irq(q);

    /* Software that did not wait for it is not disturbed later. */
    arm(q, NPU_FAULT_IRQ_LATE, 0, 5000000);
    kick_job(q);
    g_assert_true(wait_irq(q));
    clear_irq(q);
    qtest_clock_step(q, 6000000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 1);
    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 2);
    qtest_quit(q);
}

static void test_irq_dup(void)
{
    QTestState *q = start();

    arm(q, NPU_FAULT_IRQ_DUP, 0, 50000);
    kick_job(q);
    g_assert_true(wait_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 1);
    clear_irq(q);
    qtest_clock_step(q, 49000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 1);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 2);
    g_assert_cmphex(events(q), ==, 0);
    clear_irq(q);
    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 3);
    clear_irq(q);
    qtest_clock_step(q, 200000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 3);
    qtest_quit(q);
}

static void test_irq_partial(void)
{
    QTestState *q = start();
    unsigned i;

    arm(q, NPU_FAULT_IRQ_PARTIAL, 0, 0x3f);
    kick_job(q);
    for (i = 0; i < 2000 && !count(q, NPU_CNT_TASK_DONE); i++) {
        qtest_clock_step(q, 20000);
        g_usleep(500);
    }
    g_assert_true(never_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    g_assert_cmphex(events(q), ==, 0x15);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0xf000);
    reset_core(q);
    assert_job_works(q);
    qtest_quit(q);
}

static void test_irq_mmu(void)
{
    QTestState *q = start();

    qtest_irq_intercept_out_named(q, "/machine/npu-iommu0", "sysbus-irq");
    set_mmu(q, true);

    /* The line alone, until somebody looks or for a while. */
    arm(q, NPU_FAULT_IRQ_MMU, 0, 0);
    assert_job_works(q);
    g_assert_cmpuint(fired(q), ==, 1);
    clear_irq(q);
    arm(q, NPU_FAULT_IRQ_MMU, 0, 0);
    kick_job(q);
    while (fired(q) < 2) {
        qtest_clock_step(q, 1000);
        g_usleep(100);
    }
    g_assert_true(qtest_get_irq(q, 0));
    g_assert_cmphex(mmu(q, MMU_INT_STATUS), ==, 0);
    g_assert_false(qtest_get_irq(q, 0));
    clear_irq(q);

    /* A reason without a fault. */
    arm(q, NPU_FAULT_IRQ_MMU, 0, 2);
    assert_job_works(q);
    g_assert_true(qtest_get_irq(q, 0));
    g_assert_cmphex(mmu(q, MMU_INT_STATUS), ==, 2);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_FAULT, ==, 0);
    qtest_writel(q, MMU0 + MMU_INT_CLEAR, 2);
    g_assert_false(qtest_get_irq(q, 0));
    qtest_quit(q);
}

static void test_mmu_stray(void)
{
    QTestState *q = start();

    qtest_irq_intercept_out_named(q, "/machine/npu-iommu0", "sysbus-irq");
    set_mmu(q, true);
    qtest_writel(q, MMU0 + MMU_INT_MASK, 3);

    /* Not before the job is over, and then after the time that was asked. */
    arm(q, NPU_FAULT_MMU_STRAY, 0, 50000);
    arm(q, NPU_FAULT_CPU_HELD, 0, 1000);
    assert_job_works(q);
    qtest_clock_step(q, 100000);
    g_assert_cmpuint(fired(q), ==, 0);
    clear_irq(q);
    g_assert_cmpuint(fired(q), ==, 1);
    qtest_clock_step(q, 49000);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 0);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);
    g_assert_true(qtest_get_irq(q, 0));
    g_assert_cmphex(mmu(q, MMU_STATUS) & (ST_FAULT | ST_WRITE), ==,
                    ST_FAULT | ST_WRITE);
    /* No CPU to be held. */
    g_assert_cmphex(mmu(q, MMU_FAULT_ADDR), ==, 0);
    g_assert_cmpuint(fired(q), ==, 1);
    disarm(q);
    reset_core(q);
    g_assert_false(qtest_get_irq(q, 0));

    /* A reset ends it, and without paging nothing can fault. */
    set_mmu(q, true);
    arm(q, NPU_FAULT_MMU_STRAY, 0, 50000);
    assert_job_works(q);
    clear_irq(q);
    reset_core(q);
    set_mmu(q, true);
    qtest_clock_step(q, 100000);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);
    arm(q, NPU_FAULT_MMU_STRAY, 0, 50000);
    assert_job_works(q);
    clear_irq(q);
    qtest_writel(q, MMU0 + MMU_COMMAND, PAGING_OFF);
    qtest_clock_step(q, 100000);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);
    qtest_quit(q);
}

static void test_regcmd_addr(void)
{
    QTestState *q = start();

    /* Beyond this machine's memory. */
    arm(q, NPU_FAULT_REGCMD_ADDR, 0, 0xc0000000);
    kick_job(q);
    qtest_clock_step(q, 100000);
    g_assert_cmphex(events(q), ==, 1u << 12);
    reset_core(q);

    set_mmu(q, true);
    arm(q, NPU_FAULT_REGCMD_ADDR, 0, 0x10000000);
    kick_job(q);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x1000 + MMU_FAULT_ADDR), ==,
                    CMD_ADDR ^ 0x10000000);
    g_assert_true(untouched(q, C_ADDR));
    reset_core(q);
    assert_job_works(q);

    /* Commands are where the register of their address can point. */
    clear_irq(q);
    qtest_memset(q, CMD_ADDR, 0, 0x4000);
    arm(q, NPU_FAULT_REGCMD_ADDR, 0, 7);
    kick(q, CMD_ADDR, 0x3ff, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(fired(q), ==, 3);
    g_assert_cmpuint(count(q, NPU_CNT_REGCMD), >=, 0x800);
    qtest_quit(q);
}

static void test_mmu_faults(void)
{
    QTestState *q = start();
    unsigned i;

    /* A write of the result, mapped as it is; done again, it works. */
    set_mmu(q, true);
    arm(q, NPU_FAULT_MMU_WRITE, 0, 0);
    kick_job(q);
    g_assert_true(never_irq(q));
    g_assert_cmphex(mmu(q, MMU_FAULT_ADDR), ==, C_ADDR);
    g_assert_cmphex(mmu(q, MMU_STATUS) & (ST_FAULT | ST_WRITE), ==,
                    ST_FAULT | ST_WRITE);
    g_assert_cmphex(mmu(q, MMU_INT_STATUS), ==, 1);
    g_assert_true(untouched(q, C_ADDR));
    qtest_writel(q, MMU0 + MMU_COMMAND, FAULT_DONE);
    qtest_writel(q, MMU0 + MMU_INT_CLEAR, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    clear_irq(q);

    /* A read, somewhere else: the second one, after that of the program. */
    arm(q, NPU_FAULT_MMU_READ, 1, 0xdeadb000);
    kick_job(q);
    g_assert_true(never_irq(q));
    g_assert_cmphex(mmu(q, MMU_FAULT_ADDR), ==, 0xdeadb000);
    g_assert_cmphex(mmu(q, MMU_STATUS) & (ST_FAULT | ST_WRITE), ==, ST_FAULT);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 2);
    reset_core(q);
    assert_job_works(q);

    /* The same twice, and each is news. */
    set_mmu(q, true);
    for (i = 0; i < 2; i++) {
        clear_irq(q);
        arm(q, NPU_FAULT_MMU_READ, 1, 0xdeadb000);
        kick_job(q);
        g_assert_true(never_irq(q));
        g_assert_cmphex(mmu(q, MMU_FAULT_ADDR), ==, 0xdeadb000);
        g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 3 + i);
        qtest_writel(q, MMU0 + MMU_COMMAND, FAULT_DONE);
        qtest_writel(q, MMU0 + MMU_INT_CLEAR, 1);
        g_assert_true(wait_irq(q));
        g_assert_true(result_right(q, C_ADDR));
    }
    reset_core(q);

    /* Nothing is translated, nothing faults. */
    arm(q, NPU_FAULT_MMU_READ, 0, 0);
    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 4);
    qtest_quit(q);
}

static void command(QTestState *q, uint32_t cmd)
{
    qtest_writel(q, MMU0 + MMU_COMMAND, cmd);
}

/* A command that has no effect once, and then one. */
static void test_mmu_handshakes(void)
{
    QTestState *q = start();

    arm(q, NPU_FAULT_MMU_PAGING, 0, 0);
    command(q, PAGING_ON);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_PAGING, ==, 0);
    command(q, PAGING_ON);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_PAGING, ==, ST_PAGING);

    arm(q, NPU_FAULT_MMU_STALL, 0, 0);
    command(q, STALL_ON);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_STALL, ==, 0);
    command(q, STALL_ON);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_STALL, ==, ST_STALL);

    qtest_writel(q, MMU0 + MMU_DTE, 0xcafeb000);
    arm(q, NPU_FAULT_MMU_RESET, 0, 0);
    command(q, RESET);
    g_assert_cmphex(mmu(q, MMU_DTE), ==, 0xcafeb000);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_STALL, ==, ST_STALL);
    command(q, RESET);
    g_assert_cmphex(mmu(q, MMU_DTE), ==, 0);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_STALL, ==, 0);
    g_assert_cmpuint(fired(q), ==, 3);

    /* Other cores' commands are their own. */
    arm(q, NPU_FAULT_MMU_PAGING, 0, 0);
    qtest_writel(q, PMU_PWR, 1u << 20);
    qtest_writel(q, 0xfdaca000 + MMU_COMMAND, PAGING_ON);
    g_assert_cmphex(qtest_readl(q, 0xfdaca000 + MMU_STATUS) & ST_PAGING, ==,
                    ST_PAGING);
    g_assert_cmpuint(fired(q), ==, 3);
    qtest_quit(q);
}

static void point_c_to_c2(QTestState *q, bool back)
{
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((C_ADDR - RAM) >> 12) * 4,
                 (back ? C_ADDR : C2_ADDR) | 7);
}

static void test_mmu_zap(void)
{
    static const uint32_t zap[][2] = {
        { MMU_ZAP_LINE, C_ADDR },
        { MMU_COMMAND, ZAP },
    };
    QTestState *q = start();
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(zap); i++) {
        set_mmu(q, true);
        assert_job_works(q);
        clear_irq(q);

        point_c_to_c2(q, false);
        arm(q, NPU_FAULT_MMU_ZAP, 0, 0);
        qtest_writel(q, MMU0 + zap[i][0], zap[i][1]);
        kick_job(q);
        g_assert_true(wait_irq(q));
        g_assert_true(result_right(q, C_ADDR));
        g_assert_true(untouched(q, C2_ADDR));
        clear_irq(q);

        qtest_writel(q, MMU0 + zap[i][0], zap[i][1]);
        kick_job(q);
        g_assert_true(wait_irq(q));
        g_assert_true(result_right(q, C2_ADDR));
        g_assert_true(untouched(q, C_ADDR));
        clear_irq(q);
    }
    qtest_quit(q);
}

/* What a reset of the core does to its IOMMU: all, or with a property none. */
static void test_reset_wipes(void)
{
    QTestState *q = start();
    unsigned i;

    set_mmu(q, true);
    reset_core(q);
    g_assert_cmphex(mmu(q, MMU_DTE), ==, 0);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_PAGING, ==, 0);
    qtest_quit(q);

    q = qtest_init(MACHINE "-global rk-iommu.reset-wipes=off");
    power(q, true);
    set_mmu(q, true);
    point_c_to_c2(q, false);
    kick_job(q);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C2_ADDR));
    reset_core(q);
    g_assert_cmphex(mmu(q, MMU_DTE), ==, TABLE_ADDR | 1);
    g_assert_cmphex(mmu(q, MMU_STATUS) & ST_PAGING, ==, ST_PAGING);

    /* A fault that ends with the core's task is reported of the next one. */
    for (i = 0; i < 2; i++) {
        qtest_writel(q, TABLE_ADDR + 0x1000 + ((CMD_ADDR - RAM) >> 12) * 4, 0);
        qtest_writel(q, MMU0 + 0x1000 + MMU_ZAP_LINE, CMD_ADDR);
        kick_job(q);
        g_assert_true(never_irq(q));
        g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1 + i);
        reset_core(q);
        qtest_writel(q, MMU0 + 0x1000 + MMU_COMMAND, FAULT_DONE);
        qtest_writel(q, MMU0 + 0x1000 + MMU_INT_CLEAR, 1);
    }
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((CMD_ADDR - RAM) >> 12) * 4,
                 CMD_ADDR | 7);
    qtest_writel(q, MMU0 + 0x1000 + MMU_ZAP_LINE, CMD_ADDR);

    /* What was cached stays cached. */
    point_c_to_c2(q, true);
    kick_job(q);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C2_ADDR));
    power(q, false);
    power(q, true);
    g_assert_cmphex(mmu(q, MMU_DTE), ==, 0);
    qtest_quit(q);
}

static void test_power_stuck(void)
{
    QTestState *q = qtest_init(MACHINE);

    arm(q, NPU_FAULT_POWER_STUCK, 0, 0);
    power(q, true);
    g_assert_cmpuint(count(q, NPU_CNT_POWERED), ==, 0);
    g_assert_cmphex(qtest_readl(q, PMU_REPAIR) & 4, ==, 0);
    g_assert_cmpuint(fired(q), ==, 1);

    /* It does not come up late, and what is inside does not answer. */
    qtest_clock_step(q, 100000000);
    g_assert_cmphex(qtest_readl(q, PMU_REPAIR) & 4, ==, 0);
    rd(q, 0);
    mmu(q, MMU_STATUS);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 2);

    power(q, false);
    power(q, true);
    g_assert_cmpuint(count(q, NPU_CNT_POWERED), ==, 1);
    assert_job_works(q);
    qtest_quit(q);
}

static void test_clk_stuck(void)
{
    QTestState *q = start();

    /* aclk's gate is bit 6, hclk's bit 8. */
    qtest_writel(q, CRU_GATE30, 0x01400140);
    arm(q, NPU_FAULT_CLK_STUCK, 0, 0);
    qtest_writel(q, CRU_GATE30, 0x00400000);
    g_assert_cmphex(qtest_readl(q, CRU_GATE30) & 0x140, ==, 0x140);
    qtest_writel(q, CRU_GATE30, 0x01000000);
    g_assert_cmphex(qtest_readl(q, CRU_GATE30) & 0x140, ==, 0x40);
    g_assert_cmpuint(count(q, NPU_CNT_CLOCKED), ==, 0);
    rd(q, 0);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 1);

    qtest_writel(q, CRU_GATE30, 0x00400000);
    g_assert_cmpuint(count(q, NPU_CNT_CLOCKED), ==, 1);
    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 1);
    qtest_quit(q);
}

/* An RK3576's cores have no gate of their own for hclk; at 0 is a PLL. */
static void test_clk_stuck_rk3576(void)
{
    const uint32_t cru = 0x27200000, gate = cru + 0x800 + 4 * 28;
    QTestState *q = qtest_init("-machine rk3588-npu,npu-seed=0,soc=rk3576 "
                               "-m 512 -display none");

    arm(q, NPU_FAULT_CLK_STUCK, 0, 0);
    qtest_writel(q, cru, 0x00010001);
    qtest_writel(q, cru, 0x00010000);
    g_assert_cmphex(qtest_readl(q, cru) & 1, ==, 0);
    g_assert_cmpuint(fired(q), ==, 0);

    qtest_writel(q, gate, 0x02000200);
    qtest_writel(q, gate, 0x02000000);
    g_assert_cmphex(qtest_readl(q, gate), ==, 0x200);
    g_assert_cmpuint(fired(q), ==, 1);
    qtest_quit(q);
}

static void test_core_dead(void)
{
    QTestState *q = start();

    qtest_irq_intercept_out_named(q, "/machine/npu-core0", "sysbus-irq");
    set_mmu(q, true);
    arm_forever(q, NPU_FAULT_CORE_DEAD, 0xffffffff);
    g_assert_cmphex(rd(q, INT_RAW), ==, 0xffffffff);
    g_assert_cmphex(mmu(q, MMU_DTE), ==, 0xffffffff);
    qtest_writel(q, MMU0 + MMU_DTE, 0);
    kick_job(q);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 0);
    reset_core(q);
    power(q, false);
    power(q, true);
    g_assert_cmphex(rd(q, INT_RAW), ==, 0xffffffff);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 0);

    disarm(q);
    assert_job_works(q);
    kick_job(q);
    g_assert_true(wait_irq(q));
    g_assert_true(qtest_get_irq(q, 0));
    arm_forever(q, NPU_FAULT_CORE_DEAD, 0);
    g_assert_false(qtest_get_irq(q, 0));
    g_assert_cmphex(events(q), ==, 0);
    disarm(q);
    g_assert_cmphex(events(q), !=, 0);
    qtest_quit(q);
}

static void test_core_dead_iommu(void)
{
    QTestState *q = start();

    qtest_irq_intercept_out_named(q, "/machine/npu-iommu0", "sysbus-irq");
    set_mmu(q, true);
    arm(q, NPU_FAULT_IRQ_MMU, 0, 2);
    assert_job_works(q);
    g_assert_true(qtest_get_irq(q, 0));
    arm_forever(q, NPU_FAULT_CORE_DEAD, 0xffffffff);
    g_assert_false(qtest_get_irq(q, 0));
    qtest_quit(q);
}

static void test_hang_stays(void)
{
    QTestState *q = start();

    arm(q, NPU_FAULT_HANG, 0, 0);
    kick_job(q);
    g_assert_true(never_irq(q));
    arm_forever(q, NPU_FAULT_RESET_STUCK, 0);
    reset_core(q);
    reset_core(q);
    arm(q, NPU_FAULT_OFF_STUCK, 0, 0);
    power(q, false);
    power(q, true);
    g_assert_cmpuint(fired(q), ==, 4);
    g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 1);
    kick_job(q);
    g_assert_true(never_irq(q));

    /* Another loss of power helps, where a reset still does not. */
    reset_core(q);
    g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 1);
    power(q, false);
    power(q, true);
    g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 0);
    assert_job_works(q);
    qtest_quit(q);
}

/* --- From outside the guest --- */

static bool qom_arm(QTestState *q, const char *what)
{
    QDict *r = qtest_qmp(q, "{ 'execute': 'qom-set', 'arguments': { 'path': "
                         CTL ", 'property': 'arm', 'value': %s } }", what);
    bool ok = qdict_haskey(r, "return");

    qobject_unref(r);
    return ok;
}

static char *qom_armed(QTestState *q)
{
    QDict *r = qtest_qmp(q, "{ 'execute': 'qom-get', 'arguments': { 'path': "
                         CTL ", 'property': 'arm' } }");
    char *s = g_strdup(qdict_get_str(r, "return"));

    qobject_unref(r);
    return s;
}

static int64_t qom_fired(QTestState *q)
{
    QDict *r = qtest_qmp(q, "{ 'execute': 'qom-get', 'arguments': { 'path': "
                         CTL ", 'property': 'fired' } }");
    int64_t n = qdict_get_int(r, "return");

    qobject_unref(r);
    return n;
}

static void assert_armed(QTestState *q, const char *want)
{
    g_autofree char *s = qom_armed(q);

    g_assert_cmpstr(s, ==, want);
}

static void test_qom(void)
{
    QTestState *q = start();

    assert_armed(q, "");
    g_assert_true(qom_arm(q, "irq-late,core=0,skip=1,count=2,param=0x1000"));
    g_assert_true(qom_arm(q, "hang,core=2"));
    g_assert_true(qom_arm(q, "never-start"));
    assert_armed(q, "never-start,core=any,skip=0,count=1,param=0x0 "
                 "hang,core=2,skip=0,count=1,param=0x0 "
                 "irq-late,core=0,skip=1,count=2,param=0x1000");

    kick_job(q);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), ==, 0);
    g_assert_cmpint(qom_fired(q), ==, 1);
    reset_core(q);
    assert_job_works(q);
    assert_armed(q, "hang,core=2,skip=0,count=1,param=0x0 "
                 "irq-late,core=0,skip=0,count=2,param=0x1000");
    clear_irq(q);

    g_assert_false(qom_arm(q, "no-such-fault"));
    g_assert_false(qom_arm(q, ""));
    g_assert_false(qom_arm(q, "hang,core=two"));
    g_assert_false(qom_arm(q, "hang,core=1,when=now"));
    g_assert_true(qom_arm(q, "none"));
    assert_armed(q, "");
    g_assert_cmpint(qom_fired(q), ==, 0);
    assert_job_works(q);
    qtest_quit(q);
}

/* Every name can be armed, and is listed again as it was given. */
static void test_names(void)
{
    static const char *const name[] = {
        "never-start", "hang", "irq-lost", "dma-read", "dma-write",
        "reset-stuck", "irq-late", "irq-dup", "irq-mmu", "irq-partial",
        "regcmd-addr", "mmu-read", "mmu-write", "mmu-stall", "mmu-reset",
        "mmu-paging", "mmu-zap", "power-stuck", "clk-stuck", "core-dead",
        "off-stuck", "mmu-stray", "cpu-held", "reset-held",
    };
    QTestState *q = qtest_init(MACHINE);
    unsigned i;

    /* The only one that is not listed: it happens at once. */
    g_assert_true(qom_arm(q, "irq-spurious"));
    G_STATIC_ASSERT(ARRAY_SIZE(name) + 1 == NPU_FAULT_MAX);
    for (i = 0; i < ARRAY_SIZE(name); i++) {
        g_autofree char *s = g_strdup_printf("%s,core=1,skip=7,count=5,"
                                             "param=0x9", name[i]);

        g_assert_true(qom_arm(q, s));
        assert_armed(q, s);
        g_assert_true(qom_arm(q, "none"));
    }
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("rk3588-npu-fail/irq-late", test_irq_late);
    qtest_add_func("rk3588-npu-fail/irq-dup", test_irq_dup);
    qtest_add_func("rk3588-npu-fail/irq-partial", test_irq_partial);
    qtest_add_func("rk3588-npu-fail/irq-mmu", test_irq_mmu);
    qtest_add_func("rk3588-npu-fail/mmu-stray", test_mmu_stray);
    qtest_add_func("rk3588-npu-fail/regcmd-addr", test_regcmd_addr);
    qtest_add_func("rk3588-npu-fail/mmu-faults", test_mmu_faults);
    qtest_add_func("rk3588-npu-fail/mmu-handshakes", test_mmu_handshakes);
    qtest_add_func("rk3588-npu-fail/mmu-zap", test_mmu_zap);
    qtest_add_func("rk3588-npu-fail/reset-wipes", test_reset_wipes);
    qtest_add_func("rk3588-npu-fail/power-stuck", test_power_stuck);
    qtest_add_func("rk3588-npu-fail/clk-stuck", test_clk_stuck);
    qtest_add_func("rk3588-npu-fail/clk-stuck-rk3576", test_clk_stuck_rk3576);
    qtest_add_func("rk3588-npu-fail/core-dead", test_core_dead);
    qtest_add_func("rk3588-npu-fail/core-dead-iommu", test_core_dead_iommu);
    qtest_add_func("rk3588-npu-fail/hang-stays", test_hang_stays);
    qtest_add_func("rk3588-npu-fail/qom", test_qom);
    qtest_add_func("rk3588-npu-fail/names", test_names);

    return g_test_run();
}
