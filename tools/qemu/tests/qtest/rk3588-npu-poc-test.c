/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qtest of memory behind the CPUs' caches: what maintenance moves, what the NPU
 * and the CPU see without it, evictions, memory above 4 GiB, and migration.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest-matmul.h"

#define LINE            64
#define BEHIND          (1ULL << 44)
#define C_BYTES         (M * N * 4)
#define HIGH_RAM        0x100000000ULL

static void maintain(QTestState *q, const char *op, uint64_t addr, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i += LINE) {
        qtest_qmp_assert_success(q, "{ 'execute': 'qom-set', 'arguments': "
                                 "{ 'path': '/machine/poc', 'property': %s, "
                                 "'value': %" PRIu64 " } }", op, addr + i);
    }
}

static QTestState *start_behind(const char *args)
{
    QTestState *q = qtest_initf(MACHINE "-machine npu-coherent=off%s", args);

    power(q, true);
    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    maintain(q, "clean", CMD_ADDR, sizeof(Prog));
    maintain(q, "clean", B_ADDR, N * K);
    return q;
}

static uint32_t cache_lines(QTestState *q)
{
    return qtest_readl(q, NPU_CTL_BASE + NPU_CTL_CACHE_LINES_LO);
}

static void run(QTestState *q)
{
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
}

static void test_maintained(void)
{
    QTestState *q = start_behind("");

    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    maintain(q, "clean", A_ADDR, M * K);
    g_assert_cmpuint(cache_lines(q), ==, M * K / LINE);
    run(q);
    g_assert_cmpuint(count(q, NPU_CNT_DIRTY_READ), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_DIRTY_WRITE), ==, 0);
    g_assert_true(result_right(q, BEHIND + C_ADDR));
    g_assert_true(untouched(q, C_ADDR));
    maintain(q, "invalidate", C_ADDR, C_BYTES);
    g_assert_cmpuint(cache_lines(q), ==, (M * K + C_BYTES) / LINE);
    g_assert_true(result_right(q, C_ADDR));
    qtest_quit(q);
}

static void test_not_cleaned(void)
{
    QTestState *q = start_behind("");

    run(q);
    g_assert_cmpuint(count(q, NPU_CNT_DIRTY_READ), >, 0);
    maintain(q, "invalidate", C_ADDR, C_BYTES);
    g_assert_false(result_right(q, C_ADDR));
    qtest_quit(q);
}

/* What a CPU reads of it is neither the result nor what it had written. */
static void test_not_invalidated(void)
{
    QTestState *q = start_behind("");

    maintain(q, "clean", A_ADDR, M * K);
    qtest_memset(q, C_ADDR, 0x11, C_BYTES);
    maintain(q, "clean", C_ADDR, C_BYTES);
    run(q);
    g_assert_true(untouched(q, C_ADDR));
    qtest_quit(q);
}

/* Whose is it, if the CPU has a line dirty that the NPU writes? */
static void dirty_output(const char *args, uint8_t *out, bool of_npu)
{
    QTestState *q = start_behind(args);

    maintain(q, "clean", A_ADDR, M * K);
    qtest_memset(q, C_ADDR, 0x11, C_BYTES);
    run(q);
    g_assert_cmpuint(count(q, NPU_CNT_DIRTY_WRITE), >, 0);
    maintain(q, "invalidate", C_ADDR, C_BYTES);
    g_assert_true(result_right(q, C_ADDR) == of_npu);
    qtest_memread(q, C_ADDR, out, C_BYTES);
    qtest_quit(q);
}

static void test_evictions(void)
{
    uint8_t none[C_BYTES], one[C_BYTES], again[C_BYTES], two[C_BYTES];
    unsigned i, kept = 0;

    dirty_output(",npu-ivac-cleans=off", none, true);
    dirty_output(",npu-ivac-cleans=off,npu-evict=1", one, false);
    dirty_output(",npu-ivac-cleans=off,npu-evict=1", again, false);
    dirty_output(",npu-ivac-cleans=off,npu-evict=2", two, false);
    g_assert_cmpmem(one, C_BYTES, again, C_BYTES);
    g_assert_true(memcmp(one, two, C_BYTES));
    for (i = 0; i < C_BYTES; i += LINE) {
        kept += !memcmp(one + i, none + i, LINE);
    }
    g_assert_cmpuint(kept, >, 0);
}

/* An invalidation writes back what is dirty, so that the CPU's bytes win. */
static void test_ivac_cleans(void)
{
    uint8_t out[C_BYTES];
    unsigned i;

    dirty_output("", out, false);
    for (i = 0; i < C_BYTES; i++) {
        g_assert_cmphex(out[i], ==, 0x11);
    }
}

static void test_high_ram(void)
{
    QTestState *q = qtest_init(MACHINE "-m 3G -machine npu-coherent=off");
    static const uint64_t addr[] = {
        RAM, RAM + 0x7fffffc0, HIGH_RAM, HIGH_RAM + 0x3fffffc0,
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(addr); i++) {
        qtest_writeq(q, addr[i], 0x600df00d + i);
        maintain(q, "clean", addr[i], LINE);
    }
    for (i = 0; i < ARRAY_SIZE(addr); i++) {
        g_assert_cmphex(qtest_readq(q, BEHIND + addr[i]), ==, 0x600df00d + i);
        qtest_writeq(q, BEHIND + addr[i], 0xcafe + i);
        maintain(q, "invalidate", addr[i], LINE);
        g_assert_cmphex(qtest_readq(q, addr[i]), ==, 0xcafe + i);
    }
    qtest_quit(q);
}

/* Both memories, and what is dirty. */
static void test_migration(void)
{
    g_autofree char *dir = g_dir_make_tmp("npu-XXXXXX", NULL);
    g_autofree char *file = g_strdup_printf("file:%s/state", dir);
    QTestState *q = start_behind(""), *to;

    qtest_qmp_assert_success(q, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", file);
    wait_migration(q);
    qtest_quit(q);

    to = qtest_initf(MACHINE "-machine npu-coherent=off -incoming %s", file);
    wait_migration(to);
    maintain(to, "clean", A_ADDR, M * K);
    run(to);
    g_assert_cmpuint(count(to, NPU_CNT_DIRTY_READ), ==, 0);
    maintain(to, "invalidate", C_ADDR, C_BYTES);
    g_assert_true(result_right(to, C_ADDR));
    qtest_quit(to);
    unlink(file + strlen("file:"));
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-poc/maintained", test_maintained);
    qtest_add_func("rk3588-npu-poc/not-cleaned", test_not_cleaned);
    qtest_add_func("rk3588-npu-poc/not-invalidated", test_not_invalidated);
    qtest_add_func("rk3588-npu-poc/evictions", test_evictions);
    qtest_add_func("rk3588-npu-poc/ivac-cleans", test_ivac_cleans);
    qtest_add_func("rk3588-npu-poc/high-ram", test_high_ram);
    qtest_add_func("rk3588-npu-poc/migration", test_migration);
    return g_test_run();
}
