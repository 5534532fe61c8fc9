/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of the RK3588's temperature sensors. */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"
#include "qobject/qdict.h"

#define TSADC           0xfec00000u
#define AUTO_CON        (TSADC + 0x004)
#define AUTO_SRC_CON    (TSADC + 0x00c)
#define HT_INT_EN       (TSADC + 0x014)
#define HT_INT_PD       (TSADC + 0x024)
#define DATA(n)         (TSADC + 0x02c + 4 * (n))
#define COMP_INT(n)     (TSADC + 0x06c + 4 * (n))

#define TEMPERATURE     (NPU_CTL_BASE + NPU_CTL_TEMPERATURE)
#define HIWORD(bits)    ((bits) << 16 | (bits))
#define NPU             6

static QTestState *start(void)
{
    QTestState *qts = qtest_init("-machine rk3588-npu,npu-seed=0 -nodefaults");

    qtest_irq_intercept_out_named(qts, "/machine/tsadc", "sysbus-irq");
    qtest_writel(qts, AUTO_SRC_CON, HIWORD(1u << NPU));
    return qts;
}

static void test_measures(void)
{
    QTestState *qts = start();
    QDict *r;

    /* Not turned on, and then only the sensor that was chosen. */
    g_assert_cmpuint(qtest_readl(qts, DATA(NPU)), ==, 0);
    qtest_writel(qts, AUTO_CON, HIWORD(1u));
    g_assert_cmpuint(qtest_readl(qts, DATA(0)), ==, 0);
    qtest_writel(qts, TEMPERATURE, 25000);
    g_assert_cmpuint(qtest_readl(qts, DATA(NPU)), ==, 285);
    qtest_writel(qts, TEMPERATURE, 55000);
    g_assert_cmpuint(qtest_readl(qts, DATA(NPU)), ==, 318);
    qtest_writel(qts, TEMPERATURE, 500000);
    g_assert_cmpuint(qtest_readl(qts, DATA(NPU)), ==, 395);
    qtest_writel(qts, TEMPERATURE, (uint32_t)-1000000);
    g_assert_cmpuint(qtest_readl(qts, DATA(NPU)), ==, 215);

    r = qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': { 'path': "
                  "'/machine/tsadc', 'property': 'temperature', "
                  "'value': 85000 } }");
    g_assert_true(qdict_haskey(r, "return"));
    qobject_unref(r);
    g_assert_cmpuint(qtest_readl(qts, DATA(NPU)), ==, 350);
    g_assert_cmpuint(qtest_readl(qts, TEMPERATURE), ==, 85000);
    qtest_quit(qts);
}

static void test_alarm(void)
{
    QTestState *qts = start();

    qtest_writel(qts, COMP_INT(NPU), 350);
    qtest_writel(qts, HT_INT_EN, HIWORD(1u << NPU));
    qtest_writel(qts, TEMPERATURE, 90000);
    g_assert_false(qtest_get_irq(qts, 0));
    qtest_writel(qts, AUTO_CON, HIWORD(1u));
    g_assert_true(qtest_get_irq(qts, 0));

    /* It comes again while it is hot, and stays until it is cleared. */
    qtest_writel(qts, HT_INT_PD, 0xffffffff);
    g_assert_true(qtest_get_irq(qts, 0));
    qtest_writel(qts, TEMPERATURE, 80000);
    g_assert_true(qtest_get_irq(qts, 0));
    qtest_writel(qts, HT_INT_PD, 0xffffffff);
    g_assert_false(qtest_get_irq(qts, 0));

    qtest_writel(qts, HT_INT_EN, 1u << (16 + NPU));
    qtest_writel(qts, TEMPERATURE, 90000);
    g_assert_false(qtest_get_irq(qts, 0));
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rk3588-npu/tsadc/measures", test_measures);
    qtest_add_func("/rk3588-npu/tsadc/alarm", test_alarm);
    return g_test_run();
}
