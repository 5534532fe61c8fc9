/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of the RK3588 NPU core: command streams, chains, interrupts, resets,
 * faults and migration, driven by raw register accesses.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest-matmul.h"

static void test_registers(void)
{
    QTestState *q = qtest_init(MACHINE);

    g_assert_cmphex(rd(q, 0), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 1);
    power(q, true);
    g_assert_cmpuint(rd(q, 0) + (rd(q, 4) & 0xffff), ==, 1179210309);
    g_assert_cmphex(rd(q, 4), ==, 0);
    g_assert_cmphex(rd(q, BASE), ==, 1);
    g_assert_cmphex(rd(q, INT_MASK), ==, 0x8001ffff);
    g_assert_cmphex(rd(q, INT_RAW), ==, 0x40000000);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x5000);
    g_assert_cmphex(rd(q, 0x300c), ==, 0x07800800);
    wr(q, 0x1070, 0x12345678);
    g_assert_cmphex(rd(q, 0x1070), ==, 0x12345678);
    wr(q, CNA_S_POINTER, 0xdfffffce);
    g_assert_cmphex(rd(q, CNA_S_POINTER), ==, 0x1000000e);

    /* aclk off: abort; on: as before */
    qtest_writel(q, CRU_GATE30, 0x00400040);
    g_assert_cmphex(rd(q, 0x1070), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 2);
    qtest_writel(q, CRU_GATE30, 0x00400000);
    g_assert_cmphex(rd(q, 0x1070), ==, 0x12345678);

    /* in reset: reads 0, drops writes; afterwards reset values */
    qtest_writel(q, CRU_SOFTRST30, SRST_BITS << 16 | SRST_BITS);
    g_assert_cmphex(rd(q, 0), ==, 0);
    wr(q, 0x1070, 1);
    qtest_writel(q, CRU_SOFTRST30, SRST_BITS << 16);
    g_assert_cmphex(rd(q, 0x1070), ==, 0);
    g_assert_cmphex(rd(q, CNA_S_POINTER), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_ABORT), ==, 2);

    wr(q, 0x1070, 1);
    power(q, false);
    power(q, true);
    g_assert_cmphex(rd(q, 0x1070), ==, 0);
    qtest_quit(q);
}

static void test_one_task(void)
{
    QTestState *q = start();
    uint32_t reads;

    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_cmphex(events(q), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 1);
    g_assert_true(untouched(q, C_ADDR));
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    g_assert_cmphex(events(q), ==, 0x155);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0x100);
    g_assert_cmphex(rd(q, INT_RAW), ==, 0xc0000155);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0xf000);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 1);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 1);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 1);
    g_assert_cmpuint(count(q, NPU_CNT_MACS), ==, M * N * K);
    g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_DMA_WRITE_BYTES), ==, M * N * 4);

    /* The mask takes the status away, clearing takes the raw bits. */
    wr(q, INT_MASK, 0);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0);
    g_assert_cmphex(events(q), ==, 0x155);
    wr(q, INT_CLEAR, 0x1ffff);
    g_assert_cmphex(events(q), ==, 0);

    /* The next task executes in the other group. */
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(events(q), ==, 0x2aa);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0xf000);

    /* Only register accesses of a CPU count as such. */
    reads = count(q, NPU_CNT_MMIO_READ);
    rd(q, INT_RAW);
    g_assert_cmpuint(count(q, NPU_CNT_MMIO_READ), ==, reads + 1);
    qtest_quit(q);
}

static void test_chain(void)
{
    QTestState *q = start();
    unsigned i;

    /* The pointer to the second task is followed only for two tasks. */
    write_matmul(q, CMD_ADDR, C_ADDR, CMD2_ADDR, matmul_amount());
    write_matmul(q, CMD2_ADDR, C2_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    wr(q, INT_CLEAR, 0x1ffff);
    g_assert_true(never_irq(q));
    g_assert_true(untouched(q, C2_ADDR));
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 1);

    reset_core(q);
    write_operands(q);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    kick(q, CMD_ADDR, matmul_amount(), 2);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    g_assert_true(result_right(q, C2_ADDR));
    g_assert_cmphex(events(q), ==, 0x2aa);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0xf000);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 2);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, 1);
    g_assert_cmpuint(count(q, NPU_CNT_KICK), ==, 1);

    /* A chain that is shorter than announced never completes. */
    kick(q, CMD_ADDR, matmul_amount(), 3);
    for (i = 0; i < 4000 && !count(q, NPU_CNT_HANG); i++) {
        g_assert_true(never_irq(q));
    }
    g_assert_cmpuint(count(q, NPU_CNT_HANG), ==, 1);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0xa002);
    reset_core(q);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x5000);
    assert_job_works(q);
    qtest_quit(q);
}

/* The other reading of each, chosen by a property or by a test's register. */
static void test_readings(void)
{
    QTestState *q = start();

    write_matmul(q, CMD_ADDR, C_ADDR, CMD2_ADDR, matmul_amount());
    write_matmul(q, CMD2_ADDR, C2_ADDR, 0, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FLIP, (1u << NPU_READ_NUM) - 1);
    reset_core(q);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0);
    g_assert_cmphex(rd(q, INT_RAW), ==, 0);
    write_operands(q);
    kick(q, CMD_ADDR, matmul_amount(), 2);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(rd(q, INT_RAW), ==, 0x3ff);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x3002);
    g_assert_cmphex(rd(q, CNA_S_POINTER - 4), ==, 0xc000c);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(rd(q, CNA_S_POINTER), ==, 0xf);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FLIP, 0);
    g_assert_cmphex(rd(q, CNA_S_POINTER), ==, 0x1000f);
    g_assert_cmphex(rd(q, CNA_S_POINTER - 4), ==, 0);
    g_assert_cmphex(rd(q, INT_RAW), ==, 0xc00001ff);
    qtest_quit(q);
}

static void test_weight_reuse(void)
{
    QTestState *q = start();
    Prog p;

    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, 1 << 13 | 11 << 4 | 1);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);

    /* Nothing in CBUF yet. */
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 1);
    reset_core(q);

    assert_job_works(q);
    qtest_memset(q, B_ADDR, 0x77, N * K);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C2_ADDR));
    qtest_quit(q);
}

static void test_data_reuse(void)
{
    QTestState *q = start();
    Prog p;

    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, 1 << 12 | 11 << 4 | 1);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);

    /* What the first task loaded stays, whatever becomes of the memory. */
    assert_job_works(q);
    qtest_memset(q, A_ADDR, 0x77, M * K);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C2_ADDR));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 0);
    qtest_quit(q);
}

/* Where nothing is fetched strides mean nothing. */
static void test_data_reuse_strides(void)
{
    QTestState *q = start();
    Prog p;

    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, 1 << 12 | 11 << 4 | 1);
    /* Surfaces of a line one behind the other, then the next line. */
    put(&p, 0x1080, 0x0ffffffd);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);

    assert_job_works(q);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C2_ADDR));
    qtest_quit(q);
}

/* Reuses the weights of the product before, or not. */
static void write_thief(QTestState *q, unsigned *amount, bool reuse)
{
    Prog p;

    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, reuse << 13 | 11 << 4 | 1);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);
    *amount = p.n / 2;
}

/* Is what a product left there after @lose, as the next one finds out? */
static bool survives(const char *args, void (*lose)(QTestState *q))
{
    QTestState *q = qtest_initf("%s%s", MACHINE, args);
    unsigned amount;
    bool there;

    power(q, true);
    assert_job_works(q);
    qtest_memset(q, B_ADDR, 0x77, N * K);
    lose(q);
    write_thief(q, &amount, true);
    kick(q, CMD2_ADDR, amount, 1);
    there = wait_irq(q);
    if (there) {
        g_assert_true(result_right(q, C2_ADDR));
    }
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, !there);
    qtest_quit(q);
    return there;
}

static void lose_power(QTestState *q)
{
    power(q, false);
    power(q, true);
}

static void restart(QTestState *q)
{
    qtest_system_reset(q);
    power(q, true);
    qtest_memset(q, C2_ADDR, 0xa5, M * N * 4);
}

static void test_sram(void)
{
    g_assert_true(survives("", reset_core));
    g_assert_false(survives("-global rk3588-npu-core.reset-keeps-sram=off",
                            reset_core));
    g_assert_false(survives("", lose_power));
    g_assert_false(survives("", restart));
}

/* Half of the weights of an old product, and zeros of a smaller one. */
static bool half_right(QTestState *q)
{
    unsigned m, n, k;

    for (m = 0; m < M; m++) {
        for (n = 0; n < N; n++) {
            int32_t want = 0;

            for (k = 32; k < K; k++) {
                want += a[m][k] * b[n][k];
            }
            if ((int32_t)qtest_readl(q, C2_ADDR + ((n / 4 * M + m) * 4 +
                                                   n % 4) * 4) != want) {
                return false;
            }
        }
    }
    return true;
}

/* A smaller task leaves the rest of the banks to whoever looks there. */
static void test_sram_rest(void)
{
    QTestState *q = start();
    unsigned amount;
    Prog p;

    assert_job_works(q);
    qtest_memset(q, B_ADDR, 0, N * K);
    p.n = 0;
    put(&p, 0x4004, 0xe);
    put(&p, 0x1010, (M + 1) << 4);
    put_product(&p, M, 32, N, A_ADDR, B_ADDR, false);
    put_sums(&p, M, N, C_ADDR);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));

    write_thief(q, &amount, true);
    kick(q, CMD2_ADDR, amount, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(half_right(q));
    qtest_quit(q);
}

/* CBUF has what the converter made of the data, which no later task can use. */
static void test_reuse_converted(void)
{
    QTestState *q = start();
    Prog p;

    matmul_body(&p, C_ADDR);
    put(&p, 0x104c, 8);
    put(&p, 0x1050, 2 << 16);
    put(&p, 0x1180, 1);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_false(result_right(q, C_ADDR));

    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, 1 << 12 | 11 << 4 | 1);
    put(&p, 0x1180, 0);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 1);
    qtest_quit(q);
}

/* Silicon computes garbage then; the model counts, and computes. */
static void test_cbuf_banks(void)
{
    static const uint32_t wrong[] = {
        11 << 4 | 0, 0 << 4 | 1, 8 << 4 | 5,
    };
    QTestState *q = start();
    unsigned i;
    Prog p;

    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_CBUF_SHORT), ==, 0);
    for (i = 0; i < ARRAY_SIZE(wrong); i++) {
        matmul_body(&p, C2_ADDR);
        put(&p, 0x1040, wrong[i]);
        tail(&p, 0, 0);
        write_prog(q, CMD2_ADDR, &p);
        qtest_memset(q, C2_ADDR, 0xff, M * N * 4);
        kick(q, CMD2_ADDR, p.n / 2, 1);
        g_assert_true(wait_irq(q));
        g_assert_true(result_right(q, C2_ADDR));
        g_assert_cmpuint(count(q, NPU_CNT_CBUF_SHORT), ==, i + 1);
    }
    qtest_quit(q);
}

static void test_slave_mode(void)
{
    QTestState *q = start();
    unsigned i;
    Prog p;

    matmul_body(&p, C_ADDR);
    wr(q, BASE, 1);
    for (i = 0; i < p.n; i++) {
        wr(q, p.cmd[i] & 0xffff, p.cmd[i] >> 16);
    }
    wr(q, INT_MASK, 0x300);
    wr(q, GLOBAL_EN, 0x0d);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    qtest_quit(q);
}

/* Streams that can only hang; each time a reset brings the core back. */
static uint32_t hang(QTestState *q, uint32_t offset)
{
    return qtest_readl(q, NPU_CTL_BASE + NPU_CTL_HANG(0) + offset);
}

/* The reason begins so, and register @reg of the task is among its own. */
static void assert_explained(QTestState *q, unsigned n, unsigned kind,
                             const char *why, uint16_t reg, uint32_t value)
{
    char text[NPU_CTL_HANG_TEXT_SIZE];
    bool found = !reg;
    unsigned i;

    g_assert_cmpuint(hang(q, NPU_CTL_HANG_COUNT), ==, n);
    g_assert_cmpuint(hang(q, NPU_CTL_HANG_KIND), ==, kind);
    qtest_memread(q, NPU_CTL_BASE + NPU_CTL_HANG(0) + NPU_CTL_HANG_TEXT, text,
                  sizeof(text));
    g_assert_cmpstr(text, ==, why);
    g_assert_cmpuint(hang(q, NPU_CTL_HANG_NUM), <=, NPU_CTL_HANG_ENTRIES);
    g_assert_cmphex(!hang(q, NPU_CTL_HANG_ENABLE), ==, !reg);
    for (i = 0; i < hang(q, NPU_CTL_HANG_NUM); i++) {
        uint64_t entry = qtest_readl(q, NPU_CTL_BASE + NPU_CTL_HANG(0) +
                                        NPU_CTL_HANG_ENTRY(i)) |
                         (uint64_t)hang(q, NPU_CTL_HANG_ENTRY(i) + 4) << 32;

        found = found || ((uint16_t)entry == reg &&
                          (uint32_t)(entry >> 16) == value);
    }
    g_assert_true(found);
}

static void test_hangs(void)
{
    QTestState *q = start();
    uint32_t hangs = 0;
    Prog p;

    /* no op-enable */
    matmul_body(&p, C_ADDR);
    p.n &= ~1u;
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, p.n / 2 - 1, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_HANG), ==, ++hangs);
    assert_explained(q, hangs, NPU_CTL_HANG_SILICON,
                     "command stream without op-enable", 0, 0);
    /* still hung */
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    g_assert_true(untouched(q, C_ADDR));
    reset_core(q);
    assert_job_works(q);

    /* MRDMA trap */
    write_operands(q);
    matmul_body(&p, C_ADDR);
    put(&p, 0x5044, 0x7800);
    put_raw(&p, 0x0081, 8, 0x1d);
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, p.n / 2, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_HANG), ==, ++hangs);
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 0);
    g_assert_cmphex(rd(q, 0x1000), ==, 1 << 16);
    reset_core(q);
    g_assert_cmphex(rd(q, 0x1000), ==, 0);

    /* what the model lacks */
    matmul_body(&p, C_ADDR);
    put(&p, 0x100c, 3);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, p.n / 2, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_HANG), ==, ++hangs);
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 1);
    assert_explained(q, hangs, NPU_CTL_HANG_REFUSED,
                     "blocks disagree about the convolution mode", 0x100c, 3);
    g_assert_true(untouched(q, C_ADDR));
    power(q, false);
    power(q, true);
    assert_job_works(q);

    /* DMA outside memory, no translation: an error, not a page fault */
    kick(q, 0x10, 3, 1);
    qtest_clock_step(q, 100000);
    g_assert_cmphex(events(q) & 0x3000, ==, 0x1000);
    g_assert_cmpuint(count(q, NPU_CNT_HANG), ==, ++hangs);
    reset_core(q);
    assert_job_works(q);
    qtest_quit(q);
}

static void test_page_faults(void)
{
    QTestState *q = start();

    set_mmu(q, false);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    g_assert_cmphex(events(q), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);
    reset_core(q);
    assert_job_works(q);

    /* Same program through page tables; then with its output unmapped. */
    set_mmu(q, true);
    assert_job_works(q);
    write_operands(q);
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((C_ADDR - RAM) >> 12) * 4, 0);
    qtest_writel(q, MMU0 + 0x10, C_ADDR);
    qtest_writel(q, MMU0 + 0x1010, C_ADDR);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 2);
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x0c), ==, C_ADDR);
    g_assert_true(untouched(q, C_ADDR));

    /* Mapped again and acknowledged, the access is replayed. */
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((C_ADDR - RAM) >> 12) * 4,
                 C_ADDR | 7);
    qtest_writel(q, MMU0 + 0x08, 4);
    qtest_writel(q, MMU0 + 0x08, 5);
    qtest_writel(q, MMU0 + 0x18, 3);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    qtest_quit(q);
}

static void acknowledge(QTestState *q)
{
    unsigned bank;

    for (bank = 0; bank < 2; bank++) {
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x08, 4);
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x08, 5);
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x18, 3);
    }
    qtest_clock_step(q, 2000000);
}

/* The second page of what is read: the first one is read again each time. */
static void test_page_fault_once(void)
{
    const uint32_t weights = B_ADDR + 0xc00;
    QTestState *q = start();
    uint8_t buf[N * K];
    unsigned i;
    Prog p;

    qtest_memread(q, B_ADDR, buf, sizeof(buf));
    qtest_memwrite(q, weights, buf, sizeof(buf));
    matmul_body(&p, C_ADDR);
    put(&p, 0x1110, weights);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    set_mmu(q, true);
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((B_ADDR - RAM) / 4096 + 1) * 4, 0);
    kick(q, CMD_ADDR, (p.n + 1) / 2 - 1, 1);
    g_assert_true(never_irq(q));
    for (i = 0; i < 3; i++) {
        g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);
        acknowledge(q);
    }
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);
    set_mmu(q, true);
    acknowledge(q);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));

    /* The next time it is news. */
    wr(q, INT_CLEAR, 0x1ffff);
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((B_ADDR - RAM) / 4096 + 1) * 4, 0);
    qtest_writel(q, MMU0 + 0x1010, B_ADDR + 4096);
    qtest_writel(q, MMU0 + 0x10, B_ADDR + 4096);
    kick(q, CMD_ADDR, (p.n + 1) / 2 - 1, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 2);
    qtest_quit(q);
}

static void set_c_pte(QTestState *q, uint32_t pte, bool zap)
{
    qtest_writel(q, TABLE_ADDR + 0x1000 + ((C_ADDR - RAM) >> 12) * 4, pte);
    if (zap) {
        qtest_writel(q, MMU0 + 0x10, C_ADDR);
    }
}

static void run_matmul(QTestState *q)
{
    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
}

/* Translations stay until they are zapped; permissions and high bits count. */
static void test_translation(void)
{
    QTestState *q = start();

    set_mmu(q, true);
    run_matmul(q);
    g_assert_true(result_right(q, C_ADDR));

    set_c_pte(q, C2_ADDR | 7, false);
    run_matmul(q);
    g_assert_true(result_right(q, C_ADDR));
    g_assert_true(untouched(q, C2_ADDR));

    set_c_pte(q, C2_ADDR | 7, true);
    run_matmul(q);
    g_assert_true(result_right(q, C2_ADDR));
    g_assert_true(untouched(q, C_ADDR));

    /* Readable only: the fault is a write. */
    set_c_pte(q, C_ADDR | 3, true);
    write_operands(q);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x04), ==, 0x2b);
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x20), ==, 1);
    g_assert_true(untouched(q, C_ADDR));

    /* Acknowledged but not repaired: stuck again, without a new report. */
    qtest_writel(q, MMU0 + 0x08, 5);
    qtest_writel(q, MMU0 + 0x18, 1);
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x04), ==, 0x19);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x04), ==, 0x2b);
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x20), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_MMU_FAULT), ==, 1);

    /* Address bits 35:32 of an entry lead beyond this machine's memory. */
    reset_core(q);
    set_mmu(q, true);
    set_c_pte(q, C_ADDR | 0x107, true);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x20), ==, 2);
    g_assert_cmphex(events(q) & 1u << 13, !=, 0);
    g_assert_true(untouched(q, C_ADDR));
    qtest_quit(q);
}

#define HIGH_RAM        0x100000000ull
#define HIGH_SIZE       0x40000000ull
#define HIGH_BITS       0x100           /* of an entry: address bit 32 */

/* RAM goes on above 4 GiB; tables and pages may be there, up to the last. */
static void test_high_ram(void)
{
    QTestState *q = qtest_init(MACHINE "-m 3G");
    uint64_t page = HIGH_RAM + HIGH_SIZE - 4096;
    uint64_t tables = HIGH_RAM + 0x500000;
    uint8_t buf[0x3000];
    unsigned bank;

    qtest_writel(q, 0xbffffffc, 0x600df00d);
    g_assert_cmphex(qtest_readl(q, RAM + 0x7ffffffc), ==, 0x600df00d);
    qtest_writel(q, HIGH_RAM + HIGH_SIZE, 0x600df00d);
    g_assert_cmphex(qtest_readl(q, HIGH_RAM + HIGH_SIZE), ==, 0);

    power(q, true);
    write_operands(q);
    set_mmu(q, true);
    set_c_pte(q, (uint32_t)page | HIGH_BITS | 7, false);
    qtest_writel(q, TABLE_ADDR + (RAM >> 22) * 4,
                 (uint32_t)(tables + 0x1000) | HIGH_BITS | 1);
    qtest_writel(q, TABLE_ADDR + ((RAM >> 22) + 1) * 4,
                 (uint32_t)(tables + 0x2000) | HIGH_BITS | 1);
    qtest_memread(q, TABLE_ADDR, buf, sizeof(buf));
    qtest_memwrite(q, tables, buf, sizeof(buf));
    qtest_memset(q, TABLE_ADDR, 0, sizeof(buf));
    for (bank = 0; bank < 2; bank++) {
        qtest_writel(q, MMU0 + 0x1000 * bank,
                     (uint32_t)tables | HIGH_BITS | 1);
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x08, 4);
    }
    run_matmul(q);
    g_assert_true(result_right(q, page));
    g_assert_true(untouched(q, C_ADDR));
    qtest_quit(q);
}

/* In version 1 these bits are cache hints, and writing needs one of its own. */
static void test_translation_v1(void)
{
    QTestState *q = qtest_init(MACHINE "-machine npu-iommu=1 ");

    power(q, true);
    write_operands(q);
    set_mmu(q, true);
    set_c_pte(q, C_ADDR | 0x1ff, true);
    run_matmul(q);
    g_assert_true(result_right(q, C_ADDR));

    set_c_pte(q, C2_ADDR | 7, false);
    run_matmul(q);
    g_assert_true(result_right(q, C_ADDR));
    g_assert_true(untouched(q, C2_ADDR));
    set_c_pte(q, C2_ADDR | 7, true);
    run_matmul(q);
    g_assert_true(result_right(q, C2_ADDR));

    set_c_pte(q, C_ADDR | 0x1fb, true);
    write_operands(q);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, MMU0 + 0x04), ==, 0x2b);
    g_assert_true(untouched(q, C_ADDR));
    qtest_quit(q);
}

static void arm(QTestState *q, uint32_t kind)
{
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_CORE, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_SKIP, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_COUNT, 1);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_ARM, kind);
}

static void kick_armed(QTestState *q, uint32_t kind)
{
    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    arm(q, kind);
    kick(q, CMD_ADDR, matmul_amount(), 1);
}

static void test_armed_faults(void)
{
    QTestState *q = start();
    uint32_t irqs;

    kick_armed(q, NPU_FAULT_NEVER_START);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), ==, 0);
    g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 1);
    reset_core(q);
    assert_job_works(q);

    kick_armed(q, NPU_FAULT_HANG);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), ==, 2);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 1);
    arm(q, NPU_FAULT_RESET_STUCK);
    reset_core(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(never_irq(q));
    reset_core(q);
    assert_job_works(q);

    kick_armed(q, NPU_FAULT_DMA_READ);
    qtest_clock_step(q, 100000);
    g_assert_cmphex(events(q) & 0x3000, ==, 0x1000);
    reset_core(q);
    kick_armed(q, NPU_FAULT_DMA_WRITE);
    g_assert_true(never_irq(q));
    g_assert_cmphex(events(q) & 0x3000, ==, 0x2000);
    g_assert_true(untouched(q, C_ADDR));
    reset_core(q);

    irqs = count(q, NPU_CNT_IRQ);
    kick_armed(q, NPU_FAULT_IRQ_LOST);
    g_assert_true(wait_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, irqs);
    g_assert_true(result_right(q, C_ADDR));
    wr(q, INT_CLEAR, 0x1ffff);
    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, irqs + 1);
    wr(q, INT_CLEAR, 0x1ffff);

    arm(q, NPU_FAULT_IRQ_SPURIOUS);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, irqs + 2);
    g_assert_cmphex(events(q), ==, 0);
    arm(q, NPU_FAULT_IRQ_SPURIOUS);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, irqs + 3);
    qtest_clock_step(q, 200000);
    arm(q, NPU_FAULT_IRQ_SPURIOUS);
    g_assert_cmpuint(count(q, NPU_CNT_IRQ), ==, irqs + 4);
    qtest_quit(q);
}

/* A reset between start and completion discards the result. */
static void test_reset_in_flight(void)
{
    QTestState *q = start();
    unsigned i;

    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    for (i = 0; i < 20; i++) {
        kick(q, CMD_ADDR, matmul_amount(), 1);
        qtest_clock_step(q, 600 + i * 500);
        reset_core(q);
        g_assert_cmphex(events(q), ==, 0);
        g_assert_cmpuint(count(q, NPU_CNT_BUSY), ==, 0);
        qtest_clock_step(q, 1000000);
    }
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), >, 0);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 0);
    g_assert_true(untouched(q, C_ADDR));
    assert_job_works(q);

    /* Clocks that stop for a while only delay it. */
    write_operands(q);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    qtest_clock_step(q, 600);
    qtest_writel(q, CRU_GATE30, 0x01400140);
    qtest_clock_step(q, 1000000);
    g_assert_true(untouched(q, C_ADDR));
    qtest_writel(q, CRU_GATE30, 0x01400000);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    qtest_quit(q);
}

static unsigned resident_mib(QTestState *q)
{
    g_autofree char *name = g_strdup_printf("/proc/%d/statm", qtest_pid(q));
    g_autofree char *text = NULL;
    unsigned long pages;

    g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%*u %lu", &pages), ==, 1);
    return pages * (qemu_real_host_page_size() >> 10) >> 10;
}

/* Tasks that resets end before the host has begun with them cost nothing. */
static void test_reset_often(void)
{
    const uint32_t m = 1600, k = 4096, n = 32;
    QTestState *q = start();
    Prog p = { .n = 0 };
    unsigned i, before;

    put(&p, 0x4004, 0xe);
    put(&p, 0x1010, (m + 1) << 4);
    put_product(&p, m, k, n, RAM + 0x1000000, RAM + 0x2000000, false);
    /* The converter works on all of it before anything can be given up. */
    put(&p, 0x104c, 0xa);
    put(&p, 0x1180, 0xffff);
    put_sums(&p, m, n, RAM + 0x3000000);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    qtest_memset(q, RAM + 0x1000000, 1, m * k);
    qtest_memset(q, RAM + 0x2000000, 1, k * n);
    before = resident_mib(q);
    for (i = 0; i < 100; i++) {
        kick(q, CMD_ADDR, (p.n + 1) / 2 - 1, 1);
        qtest_clock_step(q, 2000);
        reset_core(q);
    }
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), ==, 100);
    g_assert_cmpuint(count(q, NPU_CNT_HANG), ==, 0);
    /* 6 MiB of operands each. */
    g_assert_cmpuint(resident_mib(q), <, before + 100);
    assert_job_works(q);
    qtest_quit(q);
}

/* A task in flight, and CBUF contents, reach the destination. */
static void test_migration(void)
{
    g_autofree char *dir = g_dir_make_tmp("npu-XXXXXX", NULL);
    g_autofree char *file = g_strdup_printf("file:%s/state", dir);
    QTestState *q = start(), *to;
    Prog p;

    assert_job_works(q);
    write_operands(q);
    wr(q, INT_CLEAR, 0x1ffff);
    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, 1 << 13 | 11 << 4 | 1);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);
    qtest_memset(q, B_ADDR, 0x77, N * K);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_STARTED), ==, 2);

    qtest_qmp_assert_success(q, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", file);
    wait_migration(q);
    qtest_quit(q);

    to = qtest_initf(MACHINE "-incoming %s", file);
    wait_migration(to);
    g_assert_true(untouched(to, C2_ADDR));
    g_assert_true(wait_irq(to));
    g_assert_true(result_right(to, C2_ADDR));
    qtest_quit(to);
    unlink(file + strlen("file:"));
    rmdir(dir);
}

/* Damaged programs and wild register writes must not hurt the emulator. */
static void test_fuzz(void)
{
    QTestState *q = start();
    g_autoptr(GRand) r = g_rand_new_with_seed(7);
    unsigned round, i;
    Prog p;

    for (round = 0; round < 300; round++) {
        matmul_body(&p, C_ADDR);
        tail(&p, CMD_ADDR, matmul_amount());
        for (i = 0; i < 1 + round % 4; i++) {
            p.cmd[g_rand_int_range(r, 0, p.n)] ^=
                1ull << g_rand_int_range(r, 0, 64);
        }
        write_prog(q, CMD_ADDR, &p);
        kick(q, CMD_ADDR, matmul_amount() ^ (round % 7 ? 0 : 0xffff),
             1 + round % 5);
        for (i = 0; i < 8; i++) {
            uint32_t reg = g_rand_int_range(r, 0, 0x9000 / 4) * 4;

            wr(q, reg, g_rand_int(r));
            rd(q, g_rand_int_range(r, 0, 0x9000 / 4) * 4);
            qtest_clock_step(q, g_rand_int_range(r, 100, 20000));
        }
        if (round % 3 == 0) {
            reset_core(q);
        }
        if (round % 50 == 0) {
            power(q, false);
            power(q, true);
        }
    }
    reset_core(q);
    assert_job_works(q);
    qtest_quit(q);
}

/* Maximum of 2x2 halves in each of eight channels. */
static void pool_body(QTestState *q, Prog *p)
{
    static const uint16_t x[4][8] = {
        { 0x3c00, 0xbc00, 0x0000, 0x4000, 0xfc00, 0x0001, 0xc000, 0x7bff },
        { 0x3c01, 0xc000, 0x8001, 0x3fff, 0xfbff, 0x0002, 0xbc00, 0x0000 },
        { 0x3800, 0xb800, 0x8000, 0x4001, 0xfc00, 0x0000, 0xc400, 0x7bfe },
        { 0x0000, 0xbc01, 0x8002, 0x0000, 0xfc00, 0x8000, 0xc200, 0x7000 },
    };
    unsigned i;

    for (i = 0; i < 32; i++) {
        qtest_writew(q, A_ADDR + 2 * i, x[i / 8][i % 8]);
    }
    put(p, 0x6004, 0xe);
    put(p, 0x7004, 0xe);
    put(p, 0x600c, 1);
    put(p, 0x6010, 1);
    put(p, 0x6014, 7);
    put(p, 0x6018, 0);
    put(p, 0x601c, 0);
    put(p, 0x6020, 7);
    put(p, 0x6024, 0x11);
    put(p, 0x6034, 1 << 20 | 1 << 16 | 1 << 8 | 1);
    put(p, 0x6070, C_ADDR);
    put(p, 0x607c, 16);
    put(p, 0x6084, 16 | 2);
    put(p, 0x60dc, 3);
    put(p, 0x700c, 1);
    put(p, 0x7010, 1);
    put(p, 0x7014, 7);
    put(p, 0x701c, A_ADDR);
    put(p, 0x7024, 32);
    put(p, 0x7028, 64);
    put(p, 0x7030, 2);
}

static void write_pool(QTestState *q)
{
    Prog p = { .n = 0 };

    pool_body(q, &p);
    put_raw(&p, 0x0041, 0, 0);
    put_raw(&p, 0x0081, 8, 0x60);
    write_prog(q, CMD_ADDR, &p);
}

static void assert_pooled(QTestState *q)
{
    static const uint16_t want[8] = {
        0x3c01, 0xb800, 0x0000, 0x4001, 0xfbff, 0x0002, 0xbc00, 0x7bff,
    };
    unsigned i;

    for (i = 0; i < 8; i++) {
        g_assert_cmphex(qtest_readw(q, C_ADDR + 2 * i), ==, want[i]);
    }
    g_assert_cmphex(qtest_readl(q, C_ADDR + 16), ==, 0xa5a5a5a5);
}

/* An RK3568's poolings set bits where a chain ends alone. */
static void test_pooling_chain(void)
{
    const uint32_t addr[] = { CMD_ADDR, CMD2_ADDR };
    QTestState *q = qtest_init(MACHINE READING("silent-ppu=on")
                               READING("raw-keeps=on"));
    unsigned i, amount = 0;

    power(q, true);
    for (i = 0; i < 2; i++) {
        Prog p = { .n = 0 };

        pool_body(q, &p);
        amount = (p.n + 4 + 1) / 2 - 1;
        put(&p, BASE, i ? 0 : addr[1]);
        put(&p, AMOUNTS, i ? 0 : amount);
        put_raw(&p, 0x0041, 0, 0);
        put_raw(&p, 0x0081, 8, 0x60);
        write_prog(q, addr[i], &p);
    }
    kick(q, CMD_ADDR, amount, 2);
    wr(q, INT_MASK, 0xc00);
    g_assert_true(wait_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 2);
    g_assert_cmphex(events(q), ==, 0x800);
    qtest_quit(q);
}

static void test_pooling(void)
{
    QTestState *q = start();

    /* Of the bit of the PPU a driver of convolutions hears nothing. */
    write_pool(q);
    kick(q, CMD_ADDR, 11, 1);
    g_assert_true(never_irq(q));
    g_assert_cmphex(events(q), ==, 0x400);
    assert_pooled(q);
    g_assert_cmpuint(count(q, NPU_CNT_TASK_DONE), ==, 1);
    reset_core(q);

    write_operands(q);
    kick(q, CMD_ADDR, 11, 1);
    wr(q, INT_MASK, 0xc00);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(events(q), ==, 0x400);
    qtest_quit(q);

    /* With the bit of the DPU, which a driver of convolutions waits for. */
    q = qtest_init(MACHINE READING("ppu-sets-dpu-done=on"));
    power(q, true);
    write_operands(q);
    write_pool(q);
    kick(q, CMD_ADDR, 11, 1);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(events(q), ==, 0x500);
    assert_pooled(q);
    qtest_quit(q);
}

/* Sum of two cubes of int32, one surface of W positions each. */
static void test_flying(void)
{
    enum { W = 5 };
    QTestState *q = start();
    Prog p = { .n = 0 };
    unsigned i;

    for (i = 0; i < 4 * W; i++) {
        qtest_writel(q, A_ADDR + 4 * i, i * 0x01234567);
        qtest_writel(q, B_ADDR + 4 * i, i * 0x00fedcba);
    }
    put(&p, 0x4004, 0xe);
    put(&p, 0x5004, 0xe);
    put(&p, 0x400c, 0x1e5);
    put(&p, 0x4010, 4u << 29 | 4 << 26 | 4);
    put(&p, 0x4020, C_ADDR);
    put(&p, 0x4024, W * 16);
    put(&p, 0x4030, W - 1);
    put(&p, 0x4034, 0);
    put(&p, 0x403c, 3 << 16 | 3);
    put(&p, 0x4040, 0x53);
    put(&p, 0x4050, 2);
    put(&p, 0x4058, 3);
    put(&p, 0x405c, W - 1);
    put(&p, 0x4060, 0x53);
    put(&p, 0x4070, 0x10c203c0);
    put(&p, 0x4078, 1);
    put(&p, 0x4084, 1);
    put(&p, 0x40c0, W * 16);
    put(&p, 0x500c, W - 1);
    put(&p, 0x5014, 3);
    put(&p, 0x5018, A_ADDR);
    put(&p, 0x5034, 0x4000000c);
    put(&p, 0x5038, B_ADDR);
    put(&p, 0x5040, W * 16);
    put(&p, 0x5044, 0x27881);
    put_raw(&p, 0x0041, 0, 0);
    put_raw(&p, 0x0081, 8, 0x18);
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(events(q), ==, 0x100);
    for (i = 0; i < 4 * W; i++) {
        g_assert_cmphex(qtest_readl(q, C_ADDR + 4 * i), ==, i * 0x02222221);
    }
    g_assert_cmphex(qtest_readl(q, C_ADDR + 16 * W), ==, 0xa5a5a5a5);
    qtest_quit(q);
}

/* Doubles halves by tables of 2048 per 1.0, indexed by 1024 per 1.0. */
static void lut_prog(QTestState *q)
{
    static const struct {
        uint16_t reg;
        uint32_t value;
    } body[] = {
        { 0x4004, 0xe }, { 0x5004, 0xe }, { 0x400c, 0x1e5 },
        { 0x4010, 2u << 29 | 2 << 26 | 2 }, { 0x4020, C_ADDR },
        { 0x4024, 16 }, { 0x4030, 0 }, { 0x4034, 0 },
        { 0x403c, 7 << 16 | 7 }, { 0x4040, 0x53 }, { 0x4050, 2 },
        { 0x4058, 7 }, { 0x405c, 0 }, { 0x4060, 0x20040 },
        { 0x4064, 0x80000000 }, { 0x4068, 0x6400u << 16 }, { 0x4070, 0x302 },
        { 0x4080, 0 }, { 0x4084, 0x10001 }, { 0x4088, 1u << 31 | 10 << 12 },
        { 0x40c0, 16 }, { 0x4108, 0x68 }, { 0x410c, 0x50500 },
        { 0x4110, 0xffffc000 }, { 0x4114, 0 }, { 0x4118, 0 },
        { 0x411c, 0x4000 }, { 0x4120, 0 }, { 0x4124, 0 }, { 0x4128, 0 },
        { 0x412c, 0 }, { 0x500c, 0 }, { 0x5010, 0 }, { 0x5014, 7 },
        { 0x5018, A_ADDR }, { 0x5034, 1 }, { 0x5044, 0x17849 },
    };
    Prog p = { .n = 0 };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(body); i++) {
        put(&p, body[i].reg, body[i].value);
    }
    put_raw(&p, 0x0041, 0, 0);
    put_raw(&p, 0x0081, 8, 0x18);
    write_prog(q, CMD_ADDR, &p);
}

static void write_tables(QTestState *q)
{
    unsigned table, i;

    for (table = 0; table < 2; table++) {
        wr(q, 0x4100, 1 << 17 | table << 16);
        for (i = 0; i < 513; i++) {
            int v = 64 * (table ? (int)i : (int)i - 512);

            wr(q, 0x4104, (uint16_t)MAX(MIN(v, 32767), -32768));
        }
    }
}

static void test_lut(void)
{
    /* Index 1024 * 1026 / 1024 is 1026: tables give 2052 for it. */
    static const uint16_t in[8] = {
        0x3c00, 0xbc00, 0x0000, 0x3c02, 0x4000, 0xc200, 0x5400, 0xd400,
    };
    static const uint16_t want[8] = {
        0x4000, 0xc000, 0x0000, 0x4002, 0x4400, 0xc600, 0x5000, 0xd000,
    };
    QTestState *q = start();
    unsigned i;

    for (i = 0; i < 8; i++) {
        qtest_writew(q, A_ADDR + 2 * i, in[i]);
    }
    lut_prog(q);
    kick(q, CMD_ADDR, 20, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 1);
    reset_core(q);

    write_tables(q);
    kick(q, CMD_ADDR, 20, 1);
    g_assert_true(wait_irq(q));
    for (i = 0; i < 8; i++) {
        g_assert_cmphex(qtest_readw(q, C_ADDR + 2 * i), ==, want[i]);
    }
    /* A reset leaves the tables alone, loss of power does not. */
    reset_core(q);
    qtest_memset(q, C_ADDR, 0xa5, 16);
    kick(q, CMD_ADDR, 20, 1);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(qtest_readw(q, C_ADDR), ==, want[0]);
    lose_power(q);
    kick(q, CMD_ADDR, 20, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 2);
    qtest_quit(q);

    q = qtest_init(MACHINE "-global rk3588-npu-core.reset-keeps-sram=off");
    power(q, true);
    lut_prog(q);
    write_tables(q);
    reset_core(q);
    kick(q, CMD_ADDR, 20, 1);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 1);
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-core/registers", test_registers);
    qtest_add_func("rk3588-npu-core/one-task", test_one_task);
    qtest_add_func("rk3588-npu-core/chain", test_chain);
    qtest_add_func("rk3588-npu-core/readings", test_readings);
    qtest_add_func("rk3588-npu-core/weight-reuse", test_weight_reuse);
    qtest_add_func("rk3588-npu-core/data-reuse", test_data_reuse);
    qtest_add_func("rk3588-npu-core/data-reuse-strides",
                   test_data_reuse_strides);
    qtest_add_func("rk3588-npu-core/sram", test_sram);
    qtest_add_func("rk3588-npu-core/sram-rest", test_sram_rest);
    qtest_add_func("rk3588-npu-core/reuse-converted", test_reuse_converted);
    qtest_add_func("rk3588-npu-core/cbuf-banks", test_cbuf_banks);
    qtest_add_func("rk3588-npu-core/slave-mode", test_slave_mode);
    qtest_add_func("rk3588-npu-core/hangs", test_hangs);
    qtest_add_func("rk3588-npu-core/page-faults", test_page_faults);
    qtest_add_func("rk3588-npu-core/page-fault-once", test_page_fault_once);
    qtest_add_func("rk3588-npu-core/translation", test_translation);
    qtest_add_func("rk3588-npu-core/high-ram", test_high_ram);
    qtest_add_func("rk3588-npu-core/translation-v1", test_translation_v1);
    qtest_add_func("rk3588-npu-core/armed-faults", test_armed_faults);
    qtest_add_func("rk3588-npu-core/reset-in-flight", test_reset_in_flight);
    qtest_add_func("rk3588-npu-core/reset-often", test_reset_often);
    qtest_add_func("rk3588-npu-core/migration", test_migration);
    qtest_add_func("rk3588-npu-core/pooling", test_pooling);
    qtest_add_func("rk3588-npu-core/pooling-chain", test_pooling_chain);
    qtest_add_func("rk3588-npu-core/flying", test_flying);
    qtest_add_func("rk3588-npu-core/lut", test_lut);
    qtest_add_func("rk3588-npu-core/fuzz", test_fuzz);
    return g_test_run();
}
