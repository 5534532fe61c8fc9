/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small matrix product for qtests of the RK3588 NPU, whose result can be
 * checked, and page tables that map RAM.
 */
#ifndef RK3588_NPU_QTEST_MATMUL_H
#define RK3588_NPU_QTEST_MATMUL_H

#include "rk3588-npu-qtest.h"

/* IOVAs are physical addresses while the IOMMU does not page. */
#define A_ADDR          (RAM + 0x100000)
#define B_ADDR          (RAM + 0x200000)
#define C_ADDR          (RAM + 0x300000)
#define C2_ADDR         (RAM + 0x310000)
#define CMD_ADDR        (RAM + 0x400000)
#define CMD2_ADDR       (RAM + 0x410000)
#define TABLE_ADDR      (RAM + 0x500000)

#define M               4
#define K               64
#define N               32

static int8_t a[M][K], b[N][K];

/* C[M,N] = A[M,K] * B[N,K]^T, int8 to int32 */
static inline void matmul_body(Prog *p, uint32_t dst)
{
    p->n = 0;
    put(p, 0x4004, 0xe);
    put(p, 0x1010, (M + 1) << 4);
    put_product(p, M, K, N, A_ADDR, B_ADDR, false);
    put_sums(p, M, N, dst);
}

static inline void tail(Prog *p, uint32_t next, uint32_t amount)
{
    put(p, BASE, next);
    put(p, AMOUNTS, amount);
    put_raw(p, 0x0041, 0, 0);
    put_raw(p, 0x0081, 8, 0x0d);
}

static inline void write_matmul(QTestState *q, uint32_t addr, uint32_t dst,
                                uint32_t next, uint32_t amount)
{
    Prog p;

    matmul_body(&p, dst);
    tail(&p, next, amount);
    write_prog(q, addr, &p);
}

static inline unsigned matmul_amount(void)
{
    Prog p;

    matmul_body(&p, 0);
    return (p.n + 4 + 1) / 2 - 1;
}

static inline void write_operands(QTestState *q)
{
    int8_t buf[N * K];
    unsigned m, n, k;

    for (m = 0; m < M; m++) {
        for (k = 0; k < K; k++) {
            a[m][k] = m * 37 + k * 11;
            buf[(k / 16 * M + m) * 16 + k % 16] = a[m][k];
        }
    }
    qtest_memwrite(q, A_ADDR, buf, M * K);
    for (n = 0; n < N; n++) {
        for (k = 0; k < K; k++) {
            b[n][k] = n * 29 - k * 7;
            buf[k / 32 * 1024 + n * 32 + k % 32] = b[n][k];
        }
    }
    qtest_memwrite(q, B_ADDR, buf, N * K);
    qtest_memset(q, C_ADDR, 0xa5, M * N * 4);
    qtest_memset(q, C2_ADDR, 0xa5, M * N * 4);
}

static inline bool result_right(QTestState *q, uint64_t addr)
{
    unsigned m, n, k;

    for (m = 0; m < M; m++) {
        for (n = 0; n < N; n++) {
            int32_t want = 0;

            for (k = 0; k < K; k++) {
                want += a[m][k] * b[n][k];
            }
            if ((int32_t)qtest_readl(q, addr + ((n / 4 * M + m) * 4 +
                                                n % 4) * 4) != want) {
                return false;
            }
        }
    }
    return true;
}

static inline bool untouched(QTestState *q, uint32_t addr)
{
    unsigned i;

    for (i = 0; i < M * N; i++) {
        if (qtest_readl(q, addr + 4 * i) != 0xa5a5a5a5) {
            return false;
        }
    }
    return true;
}

static inline QTestState *start(void)
{
    QTestState *q = qtest_init(MACHINE);

    power(q, true);
    write_operands(q);
    return q;
}

static inline void kick(QTestState *q, uint32_t addr, uint32_t amount,
                        unsigned tasks)
{
    wr(q, BASE, 1);
    wr(q, CNA_S_POINTER, 0xe);
    wr(q, 0x3004, 0xe);
    wr(q, BASE, addr);
    wr(q, AMOUNTS, amount);
    wr(q, INT_MASK, 0x300);
    wr(q, INT_CLEAR, 0x300);
    wr(q, TASK_CON, 0x7000 | tasks);
    wr(q, DMA_BASE, 0);
    wr(q, OP_EN, 1);
    wr(q, OP_EN, 0);
}

static inline void assert_job_works(QTestState *q)
{
    write_operands(q);
    write_matmul(q, CMD_ADDR, C_ADDR, 0, 0);
    kick(q, CMD_ADDR, matmul_amount(), 1);
    g_assert_true(wait_irq(q));
    g_assert_true(result_right(q, C_ADDR));
}

static inline void set_mmu(QTestState *q, bool mapped)
{
    unsigned bank, page;

    qtest_memset(q, TABLE_ADDR, 0, 0x3000);
    if (mapped) {
        qtest_writel(q, TABLE_ADDR + (RAM >> 22) * 4,
                     (TABLE_ADDR + 0x1000) | 1);
        qtest_writel(q, TABLE_ADDR + ((RAM >> 22) + 1) * 4,
                     (TABLE_ADDR + 0x2000) | 1);
        for (page = 0; page < 2048; page++) {
            qtest_writel(q, TABLE_ADDR + 0x1000 + 4 * page,
                         (RAM + 4096 * page) | 7);
        }
    }
    for (bank = 0; bank < 2; bank++) {
        qtest_writel(q, MMU0 + 0x1000 * bank, TABLE_ADDR | 1);
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x08, 4);
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x1c, 3);
        qtest_writel(q, MMU0 + 0x1000 * bank + 0x08, 0);
    }
}

#endif
