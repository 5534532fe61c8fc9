/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the RK3588 NPU machine's clocks, resets, power domains, IOMMU and
 * control device by raw register accesses.
 */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define CRU             0xfd7c0000u
#define CLKGATE_CON(n)  (CRU + 0x800 + 4 * (n))
#define SOFTRST_CON(n)  (CRU + 0xa00 + 4 * (n))
#define GPLL_CON(n)     (CRU + 0x1c0 + 4 * (n))

#define PMU             0xfd8d8000u
#define PMU_IDLE_REQ    (PMU + 0x10c)
#define PMU_IDLE_ACK    (PMU + 0x118)
#define PMU_IDLE        (PMU + 0x120)
#define PMU_PWR         (PMU + 0x14c)
#define PMU_STATUS      (PMU + 0x180)
#define PMU_MEM_PWR     (PMU + 0x1a0)
#define PMU_CHAIN       (PMU + 0x1f0)
#define PMU_MEM         (PMU + 0x1f8)
#define PMU_REPAIR      (PMU + 0x290)
#define QOS_NPU1        0xfdf70000u

#define RESETS          0xfdae0000u

#define MMU0            0xfdab9000u
#define MMU0_BANK1      0xfdaba000u
#define MMU1            0xfdaca000u
#define MMU_DTE         0x00
#define MMU_STATUS      0x04
#define MMU_COMMAND     0x08
#define MMU_INT_MASK    0x1c

#define HIWORD(bit, on) (1u << ((bit) + 16) | ((on) ? 1u << (bit) : 0))

static QTestState *start(void)
{
    return qtest_init("-machine rk3588-npu,npu-seed=0 -nodefaults");
}

static uint32_t counter(QTestState *qts, unsigned core, unsigned c)
{
    return qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_CORE(core) + 8 * c);
}

/* Domain bits as in the power request register. */
enum { PD_NPU = 1, PD_NPUTOP = 3, PD_NPU1 = 4, PD_NPU2 = 5 };

static void power(QTestState *qts, unsigned domain, bool on)
{
    qtest_writel(qts, PMU_PWR, HIWORD(domain, !on));
}

static void power_up_core0(QTestState *qts)
{
    power(qts, PD_NPU, true);
    power(qts, PD_NPUTOP, true);
}

static void test_control(void)
{
    QTestState *qts = start();
    uint32_t lo;

    g_assert_cmphex(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_MAGIC), ==,
                    NPU_CTL_MAGIC_VALUE);
    g_assert_cmpuint(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_VERSION), ==, 1);
    g_assert_cmpuint(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_NUM_CORES), ==,
                     3);
    lo = qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TIME_LO);
    qtest_clock_step(qts, 1000);
    g_assert_cmpuint(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TIME_LO), ==,
                     lo + 1000);
    qtest_quit(qts);
}

static void test_trace(void)
{
    QTestState *qts = start();
    uint32_t info;

    qtest_writel(qts, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_TRACE_START);
    qtest_writel(qts, PMU_PWR, HIWORD(PD_NPU, 0));
    qtest_readl(qts, CLKGATE_CON(30));
    qtest_readl(qts, CLKGATE_CON(3));   /* not the NPU's */
    qtest_writel(qts, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
    qtest_readl(qts, CLKGATE_CON(30));
    g_assert_cmpuint(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TRACE_COUNT), ==,
                     2);

    qtest_writel(qts, NPU_CTL_BASE + NPU_CTL_TRACE_INDEX, 0);
    g_assert_cmphex(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TRACE_ADDR), ==,
                    PMU_PWR);
    g_assert_cmphex(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TRACE_VALUE), ==,
                    HIWORD(PD_NPU, 0));
    info = qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TRACE_INFO);
    g_assert_cmphex(info & NPU_CTL_TRACE_WRITE, ==, NPU_CTL_TRACE_WRITE);
    g_assert_cmpuint(NPU_CTL_TRACE_UNIT(info), ==, NPU_CTL_UNIT_PMU);

    qtest_writel(qts, NPU_CTL_BASE + NPU_CTL_TRACE_INDEX, 1);
    g_assert_cmphex(qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TRACE_ADDR), ==,
                    CLKGATE_CON(30));
    info = qtest_readl(qts, NPU_CTL_BASE + NPU_CTL_TRACE_INFO);
    g_assert_cmphex(info & NPU_CTL_TRACE_WRITE, ==, 0);
    g_assert_cmpuint(NPU_CTL_TRACE_UNIT(info), ==, NPU_CTL_UNIT_CRU);
    qtest_quit(qts);
}

static void test_power(void)
{
    QTestState *qts = start();

    g_assert_cmphex(qtest_readl(qts, PMU_STATUS) & 1u << PD_NPU, !=, 0);
    g_assert_cmphex(qtest_readl(qts, PMU_MEM) & 7u << 11, ==, 7u << 11);
    g_assert_cmphex(qtest_readl(qts, PMU_CHAIN) & 7u << 11, ==, 0);
    g_assert_cmphex(qtest_readl(qts, PMU_REPAIR) & 7u << 2, ==, 0);

    /* A child does not come up without its parents. */
    power(qts, PD_NPU1, true);
    power(qts, PD_NPUTOP, true);
    g_assert_cmphex(qtest_readl(qts, PMU_REPAIR) & 7u << 2, ==, 0);
    g_assert_cmpuint(counter(qts, 1, NPU_CNT_POWERED), ==, 0);

    power(qts, PD_NPU, true);
    g_assert_cmphex(qtest_readl(qts, PMU_STATUS) & 1u << PD_NPU, ==, 0);
    g_assert_cmphex(qtest_readl(qts, PMU_REPAIR) & 7u << 2, ==, 3u << 2);
    g_assert_cmphex(qtest_readl(qts, PMU_CHAIN) & 7u << 11, ==, 3u << 11);
    g_assert_cmphex(qtest_readl(qts, PMU_MEM) & 7u << 11, ==, 4u << 11);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_POWER_ON), ==, 1);
    g_assert_cmpuint(counter(qts, 1, NPU_CNT_POWERED), ==, 1);
    g_assert_cmpuint(counter(qts, 2, NPU_CNT_POWERED), ==, 0);

    /* The memory handshake, and the bus idle one. */
    qtest_writel(qts, PMU_MEM_PWR, HIWORD(PD_NPUTOP, 1));
    g_assert_cmphex(qtest_readl(qts, PMU_MEM) & 1u << 11, ==, 1u << 11);
    qtest_writel(qts, PMU_MEM_PWR, HIWORD(PD_NPUTOP, 0));
    g_assert_cmphex(qtest_readl(qts, PMU_MEM) & 1u << 11, ==, 0);
    qtest_writel(qts, PMU_IDLE_REQ, HIWORD(1, 0));
    g_assert_cmphex(qtest_readl(qts, PMU_IDLE_ACK) & 2, ==, 0);
    qtest_writel(qts, PMU_IDLE_REQ, HIWORD(1, 1));
    g_assert_cmphex(qtest_readl(qts, PMU_IDLE_ACK) & 2, ==, 2);
    g_assert_cmphex(qtest_readl(qts, PMU_IDLE) & 2, ==, 2);

    power(qts, PD_NPUTOP, false);
    g_assert_cmphex(qtest_readl(qts, PMU_REPAIR) & 7u << 2, ==, 0);
    qtest_quit(qts);
}

static void test_gated_access(void)
{
    QTestState *qts = start();

    qtest_readl(qts, MMU0 + MMU_STATUS);
    qtest_readl(qts, QOS_NPU1 + 8);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 1);
    g_assert_cmpuint(counter(qts, 1, NPU_CNT_ABORT), ==, 1);

    power_up_core0(qts);
    qtest_readl(qts, MMU0 + MMU_STATUS);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 1);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_MMU_READ), ==, 1);

    /* Its own gate, and the gate of its parent clock. */
    qtest_writel(qts, CLKGATE_CON(30), HIWORD(6, 1));
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_CLOCKED), ==, 0);
    qtest_writel(qts, MMU0 + MMU_DTE, 1);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 2);
    qtest_writel(qts, CLKGATE_CON(30), HIWORD(6, 0));
    qtest_writel(qts, CLKGATE_CON(29), HIWORD(1, 1));
    qtest_writel(qts, MMU0 + MMU_DTE, 1);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 3);
    qtest_writel(qts, CLKGATE_CON(29), HIWORD(1, 0));
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_CLOCKED), ==, 1);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0);
    qtest_quit(qts);
}

static void test_cru(void)
{
    QTestState *qts = start();

    /* Write mask, and a PLL that is locked while it is powered. */
    qtest_writel(qts, CRU + 0x300, 0x00ff1234);
    g_assert_cmphex(qtest_readl(qts, CRU + 0x300) & 0xff, ==, 0x34);
    g_assert_cmphex(qtest_readl(qts, CRU + 0x300) & 0xff00, !=, 0x1200);
    g_assert_cmphex(qtest_readl(qts, GPLL_CON(6)) & 1u << 15, ==, 1u << 15);
    qtest_writel(qts, GPLL_CON(1), HIWORD(13, 1));
    g_assert_cmphex(qtest_readl(qts, GPLL_CON(6)) & 1u << 15, ==, 0);

    power_up_core0(qts);
    qtest_writel(qts, MMU0 + MMU_DTE, 0x12345001);
    qtest_writel(qts, SOFTRST_CON(30), HIWORD(8, 1));
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0);
    qtest_writel(qts, MMU0 + MMU_DTE, 0x12345001);
    qtest_writel(qts, SOFTRST_CON(30), HIWORD(8, 0));
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_RESET), ==, 1);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 0);

    /* Both lines of one core count as one reset, other cores are unharmed. */
    qtest_writel(qts, SOFTRST_CON(30), HIWORD(6, 1));
    qtest_writel(qts, SOFTRST_CON(30), HIWORD(8, 1));
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_RESET), ==, 2);
    g_assert_cmpuint(counter(qts, 1, NPU_CNT_RESET), ==, 0);
    qtest_quit(qts);
}

static void test_iommu(void)
{
    QTestState *qts = start();

    power_up_core0(qts);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x18);
    qtest_writel(qts, MMU0 + MMU_DTE, 0xcafeb000);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0xcafeb000);
    g_assert_cmphex(qtest_readl(qts, MMU0_BANK1 + MMU_DTE), ==, 0);

    /* No stall without paging. */
    qtest_writel(qts, MMU0 + MMU_COMMAND, 2);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x18);
    qtest_writel(qts, MMU0 + MMU_COMMAND, 0);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x19);
    qtest_writel(qts, MMU0 + MMU_COMMAND, 2);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x1d);
    qtest_writel(qts, MMU0 + MMU_COMMAND, 3);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x19);
    qtest_writel(qts, MMU0 + MMU_COMMAND, 1);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x18);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_MMU_ATTACH), ==, 1);

    qtest_writel(qts, MMU0 + MMU_INT_MASK, 3);
    qtest_writel(qts, MMU0 + MMU_COMMAND, 6);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_INT_MASK), ==, 0);

    /* Contents are lost with the power. */
    qtest_writel(qts, MMU0 + MMU_DTE, 0x1001);
    power(qts, PD_NPUTOP, false);
    power(qts, PD_NPUTOP, true);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0);
    qtest_quit(qts);
}

static void test_machine_reset(void)
{
    QTestState *qts = start();

    power_up_core0(qts);
    qtest_writel(qts, CLKGATE_CON(30), HIWORD(6, 1));
    qtest_system_reset(qts);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_POWERED), ==, 0);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_CLOCKED), ==, 1);
    power_up_core0(qts);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x18);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 0);
    qtest_quit(qts);
}

/* For guests without drivers of the SoC: on from the start, other resets. */
static void test_simple(void)
{
    QTestState *qts = qtest_init("-machine rk3588-npu,npu-seed=0,npu-dt=simple,"
                                 "npu-iommu=1 -nodefaults");
    unsigned core;

    for (core = 0; core < 3; core++) {
        g_assert_cmpuint(counter(qts, core, NPU_CNT_POWERED), ==, 1);
        g_assert_cmpuint(counter(qts, core, NPU_CNT_CLOCKED), ==, 1);
    }
    /* Version 1 keeps nothing below the address. */
    qtest_writel(qts, MMU0 + MMU_DTE, 0xcafebabe);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0xcafeb000);
    qtest_writel(qts, MMU1 + MMU_DTE, 0x12345001);
    g_assert_cmphex(qtest_readl(qts, MMU1 + MMU_DTE), ==, 0x12345000);

    /* The AXI reset of core 0, then the AHB reset of core 1. */
    qtest_writel(qts, RESETS, 1);
    g_assert_cmphex(qtest_readl(qts, RESETS), ==, 1);
    g_assert_cmphex(qtest_readl(qts, SOFTRST_CON(30)), ==, 1 << 6);
    qtest_writel(qts, RESETS, 8);
    g_assert_cmphex(qtest_readl(qts, RESETS), ==, 8);
    g_assert_cmphex(qtest_readl(qts, SOFTRST_CON(30)), ==, 0);
    g_assert_cmphex(qtest_readl(qts, SOFTRST_CON(27)), ==, 1 << 2);
    qtest_writel(qts, RESETS, 0);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_DTE), ==, 0);
    g_assert_cmphex(qtest_readl(qts, MMU1 + MMU_DTE), ==, 0);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_RESET), ==, 1);
    g_assert_cmpuint(counter(qts, 1, NPU_CNT_RESET), ==, 1);
    g_assert_cmpuint(counter(qts, 2, NPU_CNT_RESET), ==, 0);

    qtest_system_reset(qts);
    g_assert_cmpuint(counter(qts, 2, NPU_CNT_POWERED), ==, 1);
    g_assert_cmphex(qtest_readl(qts, MMU0 + MMU_STATUS), ==, 0x18);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 0);
    qtest_quit(qts);
}

/* What only other chips have; between it are the banks of the IOMMU. */
static void test_holes(void)
{
    static const uint32_t hole[] = { 0x2000, 0x2210, 0x8000, 0x8034, 0xe000 };
    QTestState *qts = start();
    unsigned i;

    power_up_core0(qts);
    qtest_clock_step(qts, 1000000);
    for (i = 0; i < ARRAY_SIZE(hole); i++) {
        qtest_readl(qts, 0xfdab0000 + hole[i]);
        g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, i + 1);
    }
    qtest_readl(qts, 0xfdab1000);
    qtest_readl(qts, 0xfdab3000);
    qtest_readl(qts, MMU0);
    qtest_readl(qts, MMU0_BANK1);
    qtest_readl(qts, 0xfdabf008);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, i);
    qtest_quit(qts);
}

/*
 * Bits 30 and 31 of the raw interrupt status are the RK3588's; an access to
 * what has no power counts on other chips, too.
 */
static void test_chips(void)
{
    QTestState *qts = start();

    qtest_writel(qts, PMU_PWR, HIWORD(1, false) | HIWORD(3, false));
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(qtest_readl(qts, 0xfdab002c), ==, 0x40000000);
    qtest_quit(qts);

    /* Its core 0 and power domains. */
    qts = qtest_init("-machine rk3588-npu,npu-seed=0,soc=rk3576 "
                     "-display none");
    qtest_readl(qts, 0x27f20000);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 1);
    qtest_writel(qts, 0x27380210, HIWORD(0, false));
    qtest_writel(qts, 0x27380214, 0x1c0 << 16);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(qtest_readl(qts, 0x27700000), ==, 0x46495245);
    g_assert_cmphex(qtest_readl(qts, 0x2770002c), ==, 0);
    g_assert_cmpuint(counter(qts, 0, NPU_CNT_ABORT), ==, 1);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("rk3588-npu/control", test_control);
    qtest_add_func("rk3588-npu/trace", test_trace);
    qtest_add_func("rk3588-npu/power", test_power);
    qtest_add_func("rk3588-npu/gated-access", test_gated_access);
    qtest_add_func("rk3588-npu/cru", test_cru);
    qtest_add_func("rk3588-npu/iommu", test_iommu);
    qtest_add_func("rk3588-npu/machine-reset", test_machine_reset);
    qtest_add_func("rk3588-npu/simple", test_simple);
    qtest_add_func("rk3588-npu/holes", test_holes);
    qtest_add_func("rk3588-npu/chips", test_chips);

    return g_test_run();
}
