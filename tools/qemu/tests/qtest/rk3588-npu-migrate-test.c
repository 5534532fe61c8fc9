/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of what migrates with the RK3588 NPU beside a task in flight.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest-matmul.h"

/* The SPI of core 0 is 110; its bit among those that are pending. */
#define GICD_ISPENDR    (0x08000000u + 0x200 + 4 * ((32 + 110) / 32))
#define NPU_PENDING     (1u << (32 + 110) % 32)

static QTestState *migrate(QTestState *q, const char *args)
{
    g_autofree char *dir = g_dir_make_tmp("npu-XXXXXX", NULL);
    g_autofree char *file = g_strdup_printf("file:%s/state", dir);
    QTestState *to;

    qtest_qmp_assert_success(q, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", file);
    wait_migration(q);
    qtest_quit(q);
    to = qtest_initf(MACHINE "%s -incoming %s", args, file);
    wait_migration(to);
    unlink(file + strlen("file:"));
    rmdir(dir);
    return to;
}

static bool pending(QTestState *q)
{
    return qtest_readl(q, GICD_ISPENDR) & NPU_PENDING;
}

/* An interrupt that the guest has not acknowledged yet. */
static void test_line(void)
{
    QTestState *q = start();

    assert_job_works(q);
    g_assert_true(pending(q));
    q = migrate(q, "");
    g_assert_true(pending(q));
    wr(q, INT_MASK, 0);
    wr(q, INT_CLEAR, 0x1ffff);
    g_assert_false(pending(q));
    assert_job_works(q);
    g_assert_true(pending(q));
    wr(q, INT_MASK, 0);
    g_assert_false(pending(q));
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-migrate/line", test_line);
    return g_test_run();
}
