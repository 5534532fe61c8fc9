/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of what an RK3588 NPU core's convolutions take from CBUF and memory:
 * compressed weights, feature data of another bank, CPEND next to sums.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest-matmul.h"

#define LANES           16
#define LANE_BYTES      64      /* header, one block, alignment */
#define LANE_WEIGHTS    (N * K / LANES)

/* Where in the stream weight @k of kernel @n is. */
static unsigned weight_at(unsigned n, unsigned k)
{
    return k / 32 * 1024 + n * 32 + k % 32;
}

/* One run of a value in every lane, which is a code of zeros. */
static void write_runs(QTestState *q, unsigned run)
{
    static const uint8_t book[4] = { 0x10, 0x32, 0x54, 0x76 };
    uint8_t stream[LANES][LANE_BYTES] = { 0 };
    unsigned i, n, k;

    for (i = 0; i < LANES; i++) {
        stream[i][0] = 0x11;
        stream[i][1] = i * 9 - 70;
        memcpy(&stream[i][4], book, sizeof(book));
        stream[i][8] = run;
    }
    qtest_memset(q, B_ADDR, 0xa5, N * K);
    qtest_memwrite(q, B_ADDR, stream, sizeof(stream));
    for (n = 0; n < N; n++) {
        for (k = 0; k < K; k++) {
            b[n][k] = stream[weight_at(n, k) / 4 % LANES][1];
        }
    }
}

static void kick_compressed(QTestState *q)
{
    unsigned i;
    Prog p;

    matmul_body(&p, C_ADDR);
    put(&p, 0x1100, 1);
    put(&p, 0x1104, 0x55555555);
    for (i = 0; i < LANES; i++) {
        put(&p, 0x1140 + 4 * i, 1);
    }
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    qtest_memset(q, C_ADDR, 0xa5, M * N * 4);
    kick(q, CMD_ADDR, p.n / 2, 1);
}

static void kick_changed(QTestState *q, uint32_t reg, uint32_t value)
{
    Prog p;

    matmul_body(&p, C_ADDR);
    put(&p, reg, value);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    qtest_memset(q, C_ADDR, 0xa5, M * N * 4);
    kick(q, CMD_ADDR, p.n / 2, 1);
}

/* A stream, then another task that finds it expanded, then a bad one. */
static void test_compressed_weights(void)
{
    QTestState *q = start();
    unsigned i;
    Prog p;

    write_runs(q, LANE_WEIGHTS);
    kick_compressed(q);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));

    matmul_body(&p, C2_ADDR);
    put(&p, 0x1040, 1 << 13 | 11 << 4 | 1);
    for (i = 0; i < LANES; i++) {
        put(&p, 0x1140 + 4 * i, 0);
    }
    put(&p, 0x1100, 0);
    put(&p, 0x1104, 0);
    tail(&p, 0, 0);
    write_prog(q, CMD2_ADDR, &p);
    qtest_memset(q, B_ADDR, 0xa5, N * K);
    kick(q, CMD2_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C2_ADDR));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 0);

    write_runs(q, LANE_WEIGHTS - 1);
    kick_compressed(q);
    g_assert_true(never_irq(q));
    g_assert_cmpuint(count(q, NPU_CNT_UNIMPLEMENTED), ==, 1);
    g_assert_true(untouched(q, C_ADDR));
    reset_core(q);
    /* Reset cleared the registers of decompression, too. */
    assert_job_works(q);
    qtest_quit(q);
}

/* The array looks where the weights are: it takes these for feature data. */
static void test_fc_data_bank(void)
{
    QTestState *q = start();
    unsigned m, k;
    uint8_t weights[M * K];

    assert_job_works(q);
    qtest_memread(q, B_ADDR, weights, sizeof(weights));
    kick_changed(q, 0x1040, 1 << 8 | 11 << 4 | 1);
    g_assert_true(wait_irq(q));
    g_assert_false(result_right(q, C_ADDR));
    for (m = 0; m < M; m++) {
        for (k = 0; k < K; k++) {
            a[m][k] = weights[(k / 16 * M + m) * 16 + k % 16];
        }
    }
    g_assert_true(result_right(q, C_ADDR));
    g_assert_cmpuint(count(q, NPU_CNT_CBUF_SHORT), ==, 1);
    assert_job_works(q);
    g_assert_cmpuint(count(q, NPU_CNT_CBUF_SHORT), ==, 1);
    qtest_quit(q);
}

/* The int8 product of Rockchip's runtime leaves CPEND on. */
static void test_cpend_sums(void)
{
    QTestState *q = start();
    Prog p;

    matmul_body(&p, C_ADDR);
    put(&p, 0x3010, 1);
    put(&p, 0x4050, 7 * 0x124);
    put(&p, 0x4054, 0);
    tail(&p, 0, 0);
    write_prog(q, CMD_ADDR, &p);
    kick(q, CMD_ADDR, p.n / 2, 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
    qtest_quit(q);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-conv/compressed-weights",
                   test_compressed_weights);
    qtest_add_func("rk3588-npu-conv/fc-data-bank", test_fc_data_bank);
    qtest_add_func("rk3588-npu-conv/cpend-sums", test_cpend_sums);
    return g_test_run();
}
