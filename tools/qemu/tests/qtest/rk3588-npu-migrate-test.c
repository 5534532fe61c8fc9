/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of what migrates with the RK3588 NPU beside a task in flight, and of a
 * machine that stands still or ends.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
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

/* --- Rows that stay in CBUF --- */

/* With the registers of the RK3576's tasks, at the RK3588's addresses. */
#define ROWS            READING("encoding=1")
#define ROWS_X          (RAM + 0x100000)
#define ROWS_W          (RAM + 0x200000)
#define ROWS_BS         (RAM + 0x280000)
#define ROWS_SHIFT      (RAM + 0x2c0000)
#define ROWS_Y          (RAM + 0x300000)
#define ROWS_BYTES      (6 * 6 * 16)

/*
 * A convolution of 3 x 3 of 8 x 8 positions by 16 channels, in two parts.  The
 * second one fetches three rows, and keeps two of the first.
 */
static void begin_rows(QTestState *q, bool second)
{
    static const uint32_t body[][2] = {
        { 0x100c, 0 }, { 0x1010, 0xfff }, { 0x1014, 9 }, { 0x101c, 0x900 },
        { 0x1020, 0x90 }, { 0x1024, 0x0202000f }, { 0x102c, 0x70004 },
        { 0x1030, 0x01200005 }, { 0x1034, 0x11 }, { 0x1038, 0x80000007 },
        { 0x1044, 0x80002 }, { 0x1048, 0xb }, { 0x104c, 0x10001 },
        { 0x1050, 0x10001 }, { 0x107c, 0xf }, { 0x1080, 0 }, { 0x1084, 0 },
        { 0x108c, 0xf000f }, { 0x1090, 0x20 }, { 0x1094, 0x40 },
        { 0x1110, ROWS_W }, { 0x118c, 0x70007 }, { 0x3018, 0x10000001 },
        { 0x301c, 0x20005 }, { 0x3020, 0xf }, { 0x400c, 0x40000004 },
        { 0x4010, 0 }, { 0x401c, 0x24 }, { 0x4020, 5 }, { 0x4024, 2 },
        { 0x402c, 0xf }, { 0x4030, 0xf0710 }, { 0x4034, 0x20005 },
        { 0x4038, 0x120080 }, { 0x4044, 0 }, { 0x4048, 0x80000000 },
        { 0x404c, 0x7fffffff }, { 0x4050, 0x80021011 },
        { 0x4058, 0x80000000 }, { 0x405c, 0x7fffffff }, { 0x4060, 0x903 },
        { 0x406c, 0x80000000 }, { 0x4070, 0x7fffffff },
        { 0x4074, 0x80000000 }, { 0x4078, 0x7fffffff },
        { 0x407c, 0x010041c1 }, { 0x4084, 1 }, { 0x4088, 0x80000000 },
        { 0x408c, 0x7fffffff }, { 0x40a4, 0x80000000 },
        { 0x40a8, 0x7fffffff }, { 0x40ac, 0 }, { 0x40b0, 1 }, { 0x40b4, 0 },
        { 0x40b8, 0x36 }, { 0x40c0, 0x04440100 }, { 0x40d0, 0x40ffff },
        { 0x500c, 5 }, { 0x5010, 2 }, { 0x5014, 0xf }, { 0x501c, 0x114 },
        { 0x5020, ROWS_BS }, { 0x5024, ROWS_SHIFT }, { 0x5034, 0x41 },
        { 0x5044, 0x40000010 },
    };
    static const uint32_t part[][3] = {
        { 0x1018, 0x40000505, 0xc0000505 }, { 0x1028, 0xa000f, 0x6000f },
        { 0x103c, 0x213f8, 0x213fe }, { 0x1040, 0x140013f8, 0x14000002 },
        { 0x1078, 0x70004, 0x70002 }, { 0x1088, ROWS_X, ROWS_X + 0x280 },
        { 0x1098, 0x28, 0x18 }, { 0x4018, ROWS_Y, ROWS_Y + 0x120 },
    };
    Prog p = { .n = 0 };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(body); i++) {
        put(&p, body[i][0], body[i][1]);
    }
    for (i = 0; i < ARRAY_SIZE(part); i++) {
        put(&p, part[i][0], part[i][1 + second]);
    }
    put_raw(&p, 0x0081, 8, 0x1d);
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, (p.n + 1) / 2 - 1, 1);
}

static void kick_rows(QTestState *q, bool second)
{
    begin_rows(q, second);
    g_assert_true(wait_irq(q));
    wr(q, INT_CLEAR, 0x1ffff);
}

static QTestState *start_rows(void)
{
    QTestState *q = qtest_init(MACHINE ROWS);
    unsigned i;

    power(q, true);
    for (i = 0; i < 8 * 8 * 16; i++) {
        qtest_writeb(q, ROWS_X + i, i * 7 + i / 128);
    }
    for (i = 0; i < 16 * 9 * 16; i++) {
        qtest_writeb(q, ROWS_W + i, i % 5);
    }
    return q;
}

/* Memory has others in the place of those that the first part left. */
static void forget_rows(QTestState *q)
{
    qtest_memset(q, ROWS_X, 0x5a, 5 * 8 * 16);
}

static void end_rows(QTestState *q, uint8_t *y)
{
    forget_rows(q);
    kick_rows(q, true);
    qtest_memread(q, ROWS_Y, y, ROWS_BYTES);
    qtest_quit(q);
}

/* What both parts make without anything between them. */
static void want_rows(uint8_t *y)
{
    QTestState *q = start_rows();

    kick_rows(q, false);
    end_rows(q, y);
}

static void test_kept_rows(void)
{
    uint8_t want[ROWS_BYTES], got[ROWS_BYTES];
    QTestState *q = start_rows();

    want_rows(want);
    kick_rows(q, false);
    end_rows(migrate(q, ROWS), got);
    g_assert_cmpmem(got, sizeof(got), want, sizeof(want));
}

/* The second part loads its operands again, and finds what it has kept. */
static void test_kept_rows_in_flight(void)
{
    uint8_t want[ROWS_BYTES], got[ROWS_BYTES];
    QTestState *q = start_rows();

    want_rows(want);
    kick_rows(q, false);
    forget_rows(q);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_LATENCY_NS, 1000000);
    begin_rows(q, true);
    qtest_clock_step(q, 10000);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), ==, 2);
    q = migrate(q, ROWS);
    g_assert_true(wait_irq(q));
    qtest_memread(q, ROWS_Y, got, sizeof(got));
    g_assert_cmpmem(got, sizeof(got), want, sizeof(want));
    qtest_quit(q);
}

/* So it does if its weights fault, and are mapped then. */
static void test_kept_rows_replay(void)
{
    const uint32_t pte = TABLE_ADDR + 0x1000 + (ROWS_W - RAM) / 4096 * 4;
    const uint32_t mmu = MMU0 + 0x1000;
    uint8_t want[ROWS_BYTES], got[ROWS_BYTES];
    QTestState *q = start_rows();
    uint32_t mapped;

    want_rows(want);
    kick_rows(q, false);
    forget_rows(q);
    set_mmu(q, true);
    mapped = qtest_readl(q, pte);
    qtest_writel(q, pte, 0);
    begin_rows(q, true);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, mmu + 0x0c), ==, ROWS_W);
    qtest_writel(q, pte, mapped);
    qtest_writel(q, mmu + 0x18, 3);
    qtest_writel(q, mmu + 0x08, 5);
    g_assert_true(wait_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 0);
    qtest_memread(q, ROWS_Y, got, sizeof(got));
    g_assert_cmpmem(got, sizeof(got), want, sizeof(want));
    qtest_quit(q);
}

/* --- A machine that stands still --- */

static bool late(QTestState *q)
{
    QDict *rsp = qtest_qmp(q, "{ 'execute': 'qom-get', 'arguments': "
                           "{ 'path': '/machine/npu-core0', "
                           "'property': 'late' } }");
    bool value = qdict_get_bool(rsp, "return");

    qobject_unref(rsp);
    return value;
}

/* The host's arithmetic is done while nothing of the machine may change. */
static void test_stopped(void)
{
    const uint32_t src = RAM + 0x1000000, dst = RAM + 0x3000000;
    const uint32_t m = 2000, k = 4096, n = 1024;
    QTestState *q = start();
    Prog p = { .n = 0 };
    unsigned i, done;

    put(&p, 0x4004, 0xe);
    put(&p, 0x1010, (m + 1) << 4);
    put_product(&p, m, k, n, src, RAM + 0x2000000, false);
    put_sums(&p, m, n, dst);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_LATENCY_NS, 1000);
    for (;;) {
        qtest_memset(q, dst, 0xa5, 16);
        kick(q, CMD_ADDR, (p.n + 1) / 2 - 1, 1);
        qtest_clock_step(q, 2000);
        qtest_qmp_assert_success(q, "{ 'execute': 'stop' }");
        if (late(q)) {
            break;
        }
        /* The host was faster than this test: again. */
        qtest_qmp_assert_success(q, "{ 'execute': 'cont' }");
        g_assert_true(wait_irq(q));
        wr(q, INT_CLEAR, 0x1ffff);
    }
    done = count(q, NPU_CNT_TASK_DONE);
    for (i = 0; i < 50; i++) {
        g_usleep(20000);
        g_assert_cmphex(qtest_readl(q, dst), ==, 0xa5a5a5a5);
    }
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, done);
    qtest_qmp_assert_success(q, "{ 'execute': 'cont' }");
    g_assert_true(wait_irq(q));
    g_assert_cmphex(qtest_readl(q, dst), ==, 0);
    qtest_quit(q);
}

/* --- QEMU's end --- */

/* Of CPU time that the process has had, in user mode, in clock ticks. */
static unsigned long cpu_ticks(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
    g_autofree char *stat = NULL;
    unsigned long ticks;
    const char *rest;

    g_assert_true(g_file_get_contents(path, &stat, NULL, NULL));
    rest = strrchr(stat, ')');
    g_assert_nonnull(rest);
    g_assert_cmpint(sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
                           "%*u %lu", &ticks), ==, 1);
    return ticks;
}

/*
 * With -icount virtual time waits for arithmetic, here a minute or so of it: a
 * convolution of 15 x 15.  A signal ends QEMU all the same.
 */
static void test_icount_end(void)
{
    const uint32_t w = 58, h = 558, in_w = w + 14, in_h = h + 14;
    const uint32_t c = 1024, n = 512, taps = 15 * 15;
    QTestState *q = qtest_init("-machine npu-coherent=on " MACHINE
                               "-accel tcg -icount shift=0");
    Prog p = { .n = 0 };
    unsigned long ticks;
    unsigned i;

    qtest_writel(q, PMU_PWR, 0x000a0000);
    g_usleep(100000);
    put(&p, 0x4004, 0xe);
    put(&p, 0x1010, 16 << 4);
    put_product(&p, w * h, c, n, RAM + 0x1000000, RAM + 0x8000000, false);
    put(&p, 0x1020, in_w << 16 | in_h);
    put(&p, 0x1028, w);
    put(&p, 0x102c, w * h);
    put(&p, 0x1030, taps * c * n);
    put(&p, 0x1034, taps * c);
    put(&p, 0x1038, 15 << 24 | 15 << 16 | n);
    put(&p, 0x107c, 4 * in_w);
    put(&p, 0x1080, in_w * in_h - 4 * in_w);
    put(&p, 0x1084, in_w << 16 | in_h);
    put(&p, 0x3014, (h - 1) << 16 | (w - 1));
    put_sums(&p, w * h, n, RAM + 0x4000000);
    put(&p, 0x4030, w - 1);
    put(&p, 0x4034, h - 1);
    put(&p, 0x405c, (h - 1) << 16 | (w - 1));
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_LATENCY_NS, 1);
    ticks = cpu_ticks(qtest_pid(q)) + sysconf(_SC_CLK_TCK);
    kick(q, CMD_ADDR, (p.n + 1) / 2 - 1, 1);
    /* From here on QEMU may not answer: it is watched from outside. */
    for (i = 0; i < 600 && cpu_ticks(qtest_pid(q)) < ticks; i++) {
        g_usleep(100000);
    }
    g_assert_cmpuint(i, <, 600);
    kill(qtest_pid(q), SIGTERM);
    for (i = 0; i < 300 && qtest_probe_child(q); i++) {
        g_usleep(100000);
    }
    g_assert_cmpuint(i, <, 300);
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-migrate/line", test_line);
    qtest_add_func("rk3588-npu-migrate/kept-rows", test_kept_rows);
    qtest_add_func("rk3588-npu-migrate/kept-rows-in-flight",
                   test_kept_rows_in_flight);
    qtest_add_func("rk3588-npu-migrate/kept-rows-replay",
                   test_kept_rows_replay);
    qtest_add_func("rk3588-npu-migrate/stopped", test_stopped);
    qtest_add_func("rk3588-npu-migrate/icount-end", test_icount_end);
    return g_test_run();
}
