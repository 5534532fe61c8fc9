/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of the RK3588 NPU's DPU and PPU behind each other and with operands
 * per channel: small programs from registers to interrupt.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest.h"

#define INT_DPU         0x100
#define INT_PPU         0x400

/* IOVAs are physical addresses while the IOMMU does not page. */
#define A_ADDR          (RAM + 0x100000)
#define B_ADDR          (RAM + 0x200000)
#define C_ADDR          (RAM + 0x300000)
#define BS_ADDR         (RAM + 0x310000)
#define CMD_ADDR        (RAM + 0x400000)

/* C[M,N] = A[M,K] * B[N,K]^T of bytes, M positions below each other */
#define M               4
#define K               32
#define N               32
#define SHIFT           3               /* of the DPU's output */

static int8_t a[M][K], b[N][K];

static void write_operands(QTestState *q)
{
    uint8_t buf[N * K];
    unsigned i, k;

    for (i = 0; i < M; i++) {
        for (k = 0; k < K; k++) {
            a[i][k] = i * 37 + k * 11;
            buf[(k / 16 * M + i) * 16 + k % 16] = a[i][k];
        }
    }
    qtest_memwrite(q, A_ADDR, buf, M * K);
    for (i = 0; i < N; i++) {
        for (k = 0; k < K; k++) {
            b[i][k] = (int)(i * 29 - k * 7) % 16;
            buf[i * K + k] = b[i][k];
        }
    }
    qtest_memwrite(q, B_ADDR, buf, N * K);
    qtest_memset(q, C_ADDR, 0xa5, 4096);
}

static QTestState *start(const char *args)
{
    QTestState *q = qtest_initf("%s%s", MACHINE, args);

    power(q, true);
    write_operands(q);
    return q;
}

static void run(QTestState *q, Prog *p, uint32_t enable, uint32_t mask)
{
    put_raw(p, 0x0041, 0, 0);
    put_raw(p, 0x0081, 8, enable);
    write_prog(q, CMD_ADDR, p);
    wr(q, BASE, 1);
    wr(q, BASE, CMD_ADDR);
    wr(q, AMOUNTS, (p->n + 1) / 2 - 1);
    wr(q, INT_MASK, mask);
    wr(q, INT_CLEAR, 0x1ffff);
    wr(q, TASK_CON, 0x7001);
    wr(q, OP_EN, 1);
    wr(q, OP_EN, 0);
}

/* The product as bytes, after OUT_CVT, to memory. */
static void product(Prog *p)
{
    p->n = 0;
    put_product(p, M, K, N, A_ADDR, B_ADDR, true);
    put(p, 0x400c, 0x1e4);
    put(p, 0x4010, 0);
    put(p, 0x4020, C_ADDR);
    put(p, 0x4024, M * 16);
    put(p, 0x4030, 0);
    put(p, 0x4034, M - 1);
    put(p, 0x403c, (N - 1) << 16 | (N - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 0x126);
    put(p, 0x4058, N - 1);
    put(p, 0x405c, (M - 1) << 16);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4084, 1);
    put(p, 0x4088, SHIFT);
    put(p, 0x40c0, M * 32);
}

static int dot(unsigned m, unsigned n)
{
    int sum = 0;
    unsigned k;

    for (k = 0; k < K; k++) {
        sum += a[m][k] * b[n][k];
    }
    return sum;
}

/* Nearest, ties to even. */
static int64_t shifted(int64_t v, unsigned shift)
{
    int64_t one = 1ll << shift, q = v >> shift, rest = 2 * (v - q * one);

    return q + (rest > one || (rest == one && (q & 1)));
}

static int8_t sat8(int64_t v)
{
    return v < -128 ? -128 : v > 127 ? 127 : v;
}

static int8_t output(QTestState *q, unsigned rows, unsigned m, unsigned n)
{
    return qtest_readb(q, C_ADDR + (n / 16 * rows + m) * 16 + n % 16);
}

/* The largest of each two rows of the product. */
static void pool_rows(Prog *p)
{
    put(p, 0x400c, 0x1e2);
    put(p, 0x600c, 0);
    put(p, 0x6010, M - 1);
    put(p, 0x6014, N - 1);
    put(p, 0x6018, 0);
    put(p, 0x601c, M / 2 - 1);
    put(p, 0x6020, N - 1);
    put(p, 0x6024, 1);
    put(p, 0x6034, 1 << 20 | 1 << 8);
    put(p, 0x6070, C_ADDR);
    put(p, 0x607c, M / 2 * 16);
    put(p, 0x6084, 0);
    put(p, 0x60dc, 3);
}

static void assert_pooled_product(QTestState *q)
{
    unsigned m, n;

    for (m = 0; m < M / 2; m++) {
        for (n = 0; n < N; n++) {
            int8_t upper = sat8(shifted(dot(2 * m, n), SHIFT));
            int8_t lower = sat8(shifted(dot(2 * m + 1, n), SHIFT));

            g_assert_cmpint(output(q, M / 2, m, n), ==, MAX(upper, lower));
        }
    }
    g_assert_cmphex(qtest_readl(q, C_ADDR + M / 2 * N), ==, 0xa5a5a5a5);
}

static void test_conv_pool(void)
{
    QTestState *q = start("");
    Prog p;

    product(&p);
    pool_rows(&p);
    run(q, &p, 0x2d, INT_PPU);
    g_assert_true(wait_irq(q));
    g_assert_cmphex(events(q) & (INT_DPU | INT_PPU), ==,
                    INT_DPU | INT_PPU);
    assert_pooled_product(q);

    /* Nothing feeds PPU_RDMA here; that it then hangs is one reading. */
    qtest_memset(q, C_ADDR, 0xa5, 4096);
    product(&p);
    pool_rows(&p);
    run(q, &p, 0x6d, INT_PPU);
    g_assert_true(never_irq(q));
    g_assert_cmphex(qtest_readl(q, C_ADDR), ==, 0xa5a5a5a5);
    reset_core(q);
    product(&p);
    pool_rows(&p);
    run(q, &p, 0x2d, INT_PPU);
    g_assert_true(wait_irq(q));
    assert_pooled_product(q);
    qtest_quit(q);

    q = start("-global rk3588-npu-core.idle-ppu-rdma=on");
    product(&p);
    pool_rows(&p);
    run(q, &p, 0x6d, INT_PPU);
    g_assert_true(wait_irq(q));
    assert_pooled_product(q);
    qtest_quit(q);
}

static int bias(unsigned n)
{
    return (int)n * 57 - 800;
}

static int factor(unsigned n)
{
    return 900 - (int)n * 61;
}

static int zero(unsigned n)
{
    return (int)n % 7 - 3;
}

/* Eight channels: words to add, halfwords for CPEND, halfwords to multiply. */
static void write_packed(QTestState *q)
{
    unsigned n;

    for (n = 0; n < N; n++) {
        uint32_t chunk = BS_ADDR + n / 8 * 64;

        qtest_writel(q, chunk + n % 8 * 4, bias(n));
        qtest_writew(q, chunk + 32 + n % 8 * 2, zero(n));
        qtest_writew(q, chunk + 48 + n % 8 * 2, factor(n));
    }
}

static void test_packed(void)
{
    QTestState *q = start("");
    unsigned m, n, k;
    Prog p;

    write_packed(q);
    product(&p);
    put(&p, 0x4010, 5 << 4);
    put(&p, 0x4040, 0x20140);
    put(&p, 0x4048, 8 << 8 | 1);
    put(&p, 0x4050, 0x125);
    put(&p, 0x500c, 0);
    put(&p, 0x5010, M - 1);
    put(&p, 0x5014, N - 1);
    put(&p, 0x501c, 0xe);
    put(&p, 0x5020, BS_ADDR);
    put(&p, 0x5034, 1);
    put(&p, 0x5044, 0x7810);
    run(q, &p, 0x1d, INT_DPU);
    g_assert_true(wait_irq(q));
    for (m = 0; m < M; m++) {
        int sum = 0;

        for (k = 0; k < K; k++) {
            sum += a[m][k];
        }
        for (n = 0; n < N; n++) {
            int64_t v = ((int64_t)dot(m, n) + zero(n) * sum + bias(n)) *
                        factor(n);

            v = shifted(shifted(v, v < 0 ? 5 : 8), SHIFT);
            g_assert_cmpint(output(q, M, m, n), ==, sat8(v));
        }
    }
    qtest_quit(q);
}

/* What hung on silicon: nothing is written, and a reset recovers. */
static void test_hangs(void)
{
    static const struct {
        uint16_t reg;
        uint32_t value;
    } hang[][3] = {
        /* packed operands for BN */
        { { 0x4060, 0x20140 }, { 0x4068, 1 }, { 0x5028, 0xe } },
        /* multipliers that nothing fetches */
        { { 0x4040, 0x42 }, { 0x4048, 1 }, { 0x501c, 2 } },
        /* a disabled client of BS */
        { { 0x4040, 0x20150 }, { 0x501c, 3 }, { 0x5020, BS_ADDR } },
        /* ERDMA alone */
        { { 0x4070, 0x904202c0 }, { 0x5034, 0x40000004 }, { 0x4078, 1 } },
    };
    QTestState *q = start("");
    unsigned i, j;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(hang); i++) {
        product(&p);
        put(&p, 0x5034, 1);
        put(&p, 0x5044, 0x7810);
        for (j = 0; j < 3; j++) {
            put(&p, hang[i][j].reg, hang[i][j].value);
        }
        run(q, &p, 0x1d, INT_DPU);
        g_assert_true(never_irq(q));
        g_assert_cmphex(qtest_readl(q, C_ADDR), ==, 0xa5a5a5a5);
        g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 0);
        reset_core(q);
    }
    product(&p);
    run(q, &p, 0x0d, INT_DPU);
    g_assert_true(wait_irq(q));
    g_assert_cmpint(output(q, M, 1, 5), ==, sat8(shifted(dot(1, 5), SHIFT)));
    qtest_quit(q);
}

/* Averages of 2 x 2 bytes; the third is a tie, which goes to even. */
static void test_pool_bytes(void)
{
    static const int8_t in[4][16] = {
        { 1, -1, 1, -1, 127, -128, 3 }, { 2, -2, 2, -2, 127, -128, 3 },
        { 3, -3, 2, -2, 127, -128, 3 }, { 4, -4, 1, -1, 127, -128, -1 },
    };
    static const int8_t want[16] = { 2, -2, 2, -2, 127, -128, 2 };
    QTestState *q = start("");
    Prog p = { .n = 0 };
    unsigned i;

    qtest_memwrite(q, A_ADDR, in, sizeof(in));
    put(&p, 0x600c, 1);
    put(&p, 0x6010, 1);
    put(&p, 0x6014, 15);
    put(&p, 0x6018, 0);
    put(&p, 0x601c, 0);
    put(&p, 0x6020, 15);
    put(&p, 0x6024, 0x10);
    put(&p, 0x6034, 1 << 20 | 1 << 16 | 1 << 8 | 1);
    put(&p, 0x6038, 0x8000);
    put(&p, 0x603c, 0x8000);
    put(&p, 0x6070, C_ADDR);
    put(&p, 0x607c, 16);
    put(&p, 0x6084, 16);
    put(&p, 0x60dc, 3);
    put(&p, 0x700c, 1);
    put(&p, 0x7010, 1);
    put(&p, 0x7014, 15);
    put(&p, 0x701c, A_ADDR);
    put(&p, 0x7024, 32);
    put(&p, 0x7028, 64);
    put(&p, 0x7030, 1);
    run(q, &p, 0x60, INT_PPU);
    g_assert_true(wait_irq(q));
    for (i = 0; i < 16; i++) {
        g_assert_cmpint((int8_t)qtest_readb(q, C_ADDR + i), ==, want[i]);
    }
    g_assert_cmphex(qtest_readl(q, C_ADDR + 16), ==, 0xa5a5a5a5);
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-dpu/conv-pool", test_conv_pool);
    qtest_add_func("rk3588-npu-dpu/packed-operands", test_packed);
    qtest_add_func("rk3588-npu-dpu/pool-bytes", test_pool_bytes);
    qtest_add_func("rk3588-npu-dpu/hangs", test_hangs);
    return g_test_run();
}
