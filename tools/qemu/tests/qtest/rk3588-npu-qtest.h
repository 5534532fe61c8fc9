/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What qtests of the RK3588 NPU share: registers of core 0 and around it,
 * programs, and waiting for what comes of them.
 */
#ifndef RK3588_NPU_QTEST_H
#define RK3588_NPU_QTEST_H

#include "qemu/bswap.h"
#include "libqtest.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define CORE(n)         (0xfdab0000u + 0x10000u * (n))
#define CORE0           CORE(0)
#define MMU0            0xfdab9000u
#define CRU             0xfd7c0000u
#define CRU_SOFTRST(n)  (CRU + 0xa00 + 4 * (n))
#define CRU_SOFTRST30   CRU_SOFTRST(30)
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
#define DMA_BASE        0x34
#define TASK_STATUS     0x3c
#define CNA_S_POINTER   0x1004
#define GLOBAL_EN       0xf008

#define RAM             0x40000000u

/* With effects at once, but for tests that want them late. */
#define MACHINE         "-machine rk3588-npu,npu-seed=0 -m 512 -display none "
#define READING(what)   "-global rk3588-npu-core." what " "
/* Of what boards do otherwise, as the TRM has it. */
#define AS_IN_TRM       READING("status-all-bits=off") \
                        READING("raw-keeps=on") \
                        READING("raw-high-bits=off") \
                        READING("ppu-sets-dpu-done=on")

typedef struct Prog {
    uint64_t cmd[300];
    unsigned n;
} Prog;

static inline uint32_t rd(QTestState *q, uint32_t reg)
{
    return qtest_readl(q, CORE0 + reg);
}

/* Raw status without the bits that no mask has. */
static inline uint32_t events(QTestState *q)
{
    return rd(q, INT_RAW) & 0x1ffff;
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

/*
 * What CNA and CORE do in a product: C[m, n] = A[m, k] * B[n, k]^T of bytes,
 * one position below the other.
 */
static inline void put_product(Prog *p, uint32_t m, uint32_t k, uint32_t n,
                               uint32_t src, uint32_t weights, bool requant)
{
    put(p, 0x1014, 9);
    put(p, 0x1020, 1 << 16 | m);
    put(p, 0x1024, (k - 1) << 16 | k);
    put(p, 0x1028, 1);
    put(p, 0x102c, m);
    put(p, 0x1030, k * n);
    put(p, 0x1034, k);
    put(p, 0x1038, 0x01010000 | n);
    put(p, 0x1040, 11 << 4 | 1);
    put(p, 0x104c, 0xb);
    put(p, 0x1070, src);
    put(p, 0x107c, 4);
    put(p, 0x1080, 4 * (m / 4) - 4 + (m < 4));
    put(p, 0x1084, 1 << 16 | m);
    put(p, 0x1088, k);
    put(p, 0x1110, weights);
    put(p, 0x3010, requant);
    put(p, 0x3014, (m - 1) << 16);
    put(p, 0x3018, n - 1);
}

/* The DPU writes sums of 32 bits as they are. */
static inline void put_sums(Prog *p, uint32_t m, uint32_t n, uint32_t dst)
{
    put(p, 0x400c, 0x1e4);
    put(p, 0x4010, 0x80000000);
    put(p, 0x4020, dst);
    put(p, 0x4024, m << 4);
    put(p, 0x4030, 0);
    put(p, 0x4034, m - 1);
    put(p, 0x4038, 0);
    put(p, 0x403c, (n - 1) << 16 | (n - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 0x7fe);
    put(p, 0x4058, n - 1);
    put(p, 0x405c, (m - 1) << 16);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4084, 1);
    put(p, 0x40c0, (m * 8) << 4);
}

static inline void write_prog(QTestState *q, uint32_t addr, const Prog *p)
{
    unsigned i;

    for (i = 0; i < p->n; i++) {
        qtest_writeq(q, addr + 8 * i, p->cmd[i]);
    }
}

static inline void power(QTestState *q, bool on)
{
    /* NPU, NPUTOP */
    qtest_writel(q, PMU_PWR, 0x000a0000 | (on ? 0 : 0x000a));
    qtest_clock_step(q, 1000000);
}

static inline void reset_core(QTestState *q)
{
    qtest_writel(q, CRU_SOFTRST30, SRST_BITS << 16 | SRST_BITS);
    qtest_clock_step(q, 10000);
    qtest_writel(q, CRU_SOFTRST30, SRST_BITS << 16);
}

static inline bool wait_irq(QTestState *q)
{
    unsigned i;

    for (i = 0; i < 4000; i++) {
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

static inline void wait_migration(QTestState *q)
{
    for (;;) {
        QDict *rsp = qtest_qmp_assert_success_ref(q,
                                            "{ 'execute': 'query-migrate' }");
        const char *status = qdict_get_try_str(rsp, "status");
        bool done = status && g_str_equal(status, "completed");

        g_assert_true(!status || !g_str_equal(status, "failed"));
        qobject_unref(rsp);
        if (done) {
            return;
        }
        g_usleep(1000);
    }
}

#endif
