/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts that rk-chaos delays: how many, for how long at most, and that
 * the seed decides.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "rk3588-npu-qtest.h"

#define IRQ_NS          1000000
#define ROUNDS          64

static QTestState *start(unsigned seed, unsigned irq_ns)
{
    QTestState *q = qtest_initf("-machine rk3588-npu,npu-seed=%u "
                                "-m 512 -display none "
                                "-global rk-delay.irq-ns=%u", seed, irq_ns);

    qtest_irq_intercept_out(q, "/machine/chaos");
    return q;
}

static void set_line(QTestState *q, bool level)
{
    qtest_set_irq_in(q, "/machine/chaos", NULL, 0, level);
}

/* A bit for each time that the line is late. */
static uint64_t late(unsigned seed, unsigned irq_ns)
{
    QTestState *q = start(seed, irq_ns);
    uint64_t bits = 0;
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        set_line(q, true);
        if (!qtest_get_irq(q, 0)) {
            bits |= 1ull << i;
            qtest_clock_step(q, irq_ns);
        }
        g_assert_true(qtest_get_irq(q, 0));
        set_line(q, false);
        g_assert_false(qtest_get_irq(q, 0));
    }
    qtest_quit(q);
    return bits;
}

static void test_late(void)
{
    uint64_t bits = late(1, IRQ_NS);

    /* One of eight. */
    g_assert_cmpuint(ctpop64(bits), >, 0);
    g_assert_cmpuint(ctpop64(bits), <, ROUNDS / 2);
    g_assert_cmphex(late(1, IRQ_NS), ==, bits);
    g_assert_cmphex(late(2, IRQ_NS), !=, bits);
    g_assert_cmphex(late(1, 0), ==, 0);
    g_assert_cmphex(late(0, IRQ_NS), ==, 0);
}

/* What goes down before it is seen was never up. */
static void test_gone_before(void)
{
    QTestState *q = start(1, IRQ_NS);
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        set_line(q, true);
        if (!qtest_get_irq(q, 0)) {
            break;
        }
        set_line(q, false);
    }
    g_assert_cmpuint(i, <, ROUNDS);
    set_line(q, false);
    qtest_clock_step(q, IRQ_NS);
    g_assert_false(qtest_get_irq(q, 0));
    qtest_quit(q);
}

/* Also the longest time that can be asked for is one, and is used. */
static void test_longest(void)
{
    QTestState *q = start(1, UINT32_MAX);
    bool very_late = false;
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        set_line(q, true);
        qtest_clock_step(q, 1000000000);
        very_late |= !qtest_get_irq(q, 0);
        qtest_clock_step(q, UINT32_MAX);
        g_assert_true(qtest_get_irq(q, 0));
        set_line(q, false);
    }
    g_assert_true(very_late);
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rk3588-npu/chaos/late", test_late);
    qtest_add_func("/rk3588-npu/chaos/gone-before", test_gone_before);
    qtest_add_func("/rk3588-npu/chaos/longest", test_longest);
    return g_test_run();
}
