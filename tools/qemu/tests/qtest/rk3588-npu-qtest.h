/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What qtests of the RK3588 NPU share: core 0's registers, a small matrix
 * product whose result can be checked, and page tables that map RAM.
 */
#ifndef RK3588_NPU_QTEST_H
#define RK3588_NPU_QTEST_H

#include "qemu/bswap.h"
#include "libqtest.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define CORE0           0xfdab0000u
#define MMU0            0xfdab9000u
#define CRU             0xfd7c0000u
#define CRU_SOFTRST30   (CRU + 0xa00 + 4 * 30)
#define CRU_GATE30      (CRU + 0x800 + 4 * 30)
#define PMU_PWR         (0xfd8d8000u + 0x14c)
#define SRST_BITS       0x140           /* A_RKNN0 and H_RKNN0 */

#define OP_EN           0x08
#define BASE            0x10
#define AMOUNTS         0x14
#define INT_MASK        0x20
#define INT_CLEAR       0x24
#define INT_STATUS      0x28
#define INT_RAW         0x2c
#define TASK_CON        0x30
#define TASK_STATUS     0x3c
#define CNA_S_POINTER   0x1004
#define GLOBAL_EN       0xf008

/* IOVAs are physical addresses while the IOMMU does not page. */
#define RAM             0x40000000u
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

#define MACHINE         "-machine rk3588-npu -m 512 -display none "

typedef struct Prog {
    uint64_t cmd[256];
    unsigned n;
} Prog;

static int8_t a[M][K], b[N][K];

static inline uint32_t rd(QTestState *q, uint32_t reg)
{
    return qtest_readl(q, CORE0 + reg);
}

static inline void wr(QTestState *q, uint32_t reg, uint32_t value)
{
    qtest_writel(q, CORE0 + reg, value);
}

static inline uint32_t count(QTestState *q, unsigned c)
{
    return qtest_readl(q, NPU_CTL_BASE + NPU_CTL_CORE(0) + 8 * c);
}

static inline void put(Prog *p, uint32_t reg, uint32_t value)
{
    uint64_t target = 1u << (8 + (reg >> 12)) | 1;

    p->cmd[p->n++] = target << 48 | (uint64_t)value << 16 | reg;
}

static inline void put_raw(Prog *p, uint16_t target, uint16_t reg,
                           uint32_t value)
{
    p->cmd[p->n++] = (uint64_t)target << 48 | (uint64_t)value << 16 | reg;
}

/* C[M,N] = A[M,K] * B[N,K]^T, int8 to int32 */
static inline void matmul_body(Prog *p, uint32_t dst)
{
    p->n = 0;
    put(p, 0x4004, 0xe);
    put(p, 0x1010, (M + 1) << 4);
    put(p, 0x1014, 9);
    put(p, 0x1020, 1 << 16 | M);
    put(p, 0x1024, (K - 1) << 16 | K);
    put(p, 0x1028, 1);
    put(p, 0x102c, M);
    put(p, 0x1030, K * N);
    put(p, 0x1034, K);
    put(p, 0x1038, 0x01010000 | N);
    put(p, 0x1040, 11 << 4 | 1);
    put(p, 0x104c, 0xb);
    put(p, 0x1070, A_ADDR);
    put(p, 0x107c, 4);
    put(p, 0x1080, 0);
    put(p, 0x1084, 1 << 16 | M);
    put(p, 0x1088, K);
    put(p, 0x1110, B_ADDR);
    put(p, 0x3010, 0);
    put(p, 0x3014, (M - 1) << 16);
    put(p, 0x3018, N - 1);
    put(p, 0x400c, 0x1e4);
    put(p, 0x4010, 0x80000000);
    put(p, 0x4020, dst);
    put(p, 0x4024, M << 4);
    put(p, 0x4030, 0);
    put(p, 0x4034, M - 1);
    put(p, 0x4038, 0);
    put(p, 0x403c, (N - 1) << 16 | (N - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 0x7fe);
    put(p, 0x4058, N - 1);
    put(p, 0x405c, (M - 1) << 16);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4084, 1);
    put(p, 0x40c0, (M * 8) << 4);
}

static inline void tail(Prog *p, uint32_t next, uint32_t amount)
{
    put(p, BASE, next);
    put(p, AMOUNTS, amount);
    put_raw(p, 0x0041, 0, 0);
    put_raw(p, 0x0081, 8, 0x0d);
}

static inline void write_prog(QTestState *q, uint32_t addr, const Prog *p)
{
    unsigned i;

    for (i = 0; i < p->n; i++) {
        qtest_writeq(q, addr + 8 * i, p->cmd[i]);
    }
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

static inline bool result_right(QTestState *q, uint32_t addr)
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

static inline void power(QTestState *q, bool on)
{
    /* NPU, NPUTOP */
    qtest_writel(q, PMU_PWR, 0x000a0000 | (on ? 0 : 0x000a));
    qtest_clock_step(q, 1000000);
}

static inline QTestState *start(void)
{
    QTestState *q = qtest_init(MACHINE);

    power(q, true);
    write_operands(q);
    return q;
}

static inline void reset_core(QTestState *q)
{
    qtest_writel(q, CRU_SOFTRST30, SRST_BITS << 16 | SRST_BITS);
    qtest_clock_step(q, 10000);
    qtest_writel(q, CRU_SOFTRST30, SRST_BITS << 16);
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
    wr(q, OP_EN, 1);
    wr(q, OP_EN, 0);
}

static inline bool wait_irq(QTestState *q)
{
    unsigned i;

    for (i = 0; i < 200; i++) {
        qtest_clock_step(q, 20000);
        if (rd(q, INT_STATUS)) {
            return true;
        }
        g_usleep(500);
    }
    return false;
}

static inline bool never_irq(QTestState *q)
{
    unsigned i;

    for (i = 0; i < 20; i++) {
        qtest_clock_step(q, 100000);
        if (rd(q, INT_STATUS)) {
            return false;
        }
        g_usleep(500);
    }
    return true;
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
