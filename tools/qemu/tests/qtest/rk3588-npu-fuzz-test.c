/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest that attacks the RK3588 NPU machine: hostile page tables, mutated
 * command streams and random register accesses while tasks run.  QEMU has to
 * survive, and after a reset the NPU has to work.
 *
 * Without NPU_FUZZ_SECONDS it runs the same few cases every time.
 * NPU_FUZZ_SEED chooses others, NPU_FUZZ_SEEDS names a file of programs (of
 * tests/fuzz), and NPU_FUZZ_FIRST skips to the batch of a finding.
 */
#include "qemu/osdep.h"
#include <sys/resource.h>
#include "qemu/bswap.h"
#include "libqtest.h"
#include "hw/misc/rk3588_npu_ctl_regs.h"

#define CORE(n)         (0xfdab0000u + 0x10000u * (n))
#define CORE_NUM        3
#define CRU             0xfd7c0000u
#define CRU_GATE(n)     (CRU + 0x800 + 4 * (n))
#define CRU_SOFTRST(n)  (CRU + 0xa00 + 4 * (n))
#define PMU             0xfd8d8000u
#define PMU_PWR         (PMU + 0x14c)
#define PMU_MEM_PWR     (PMU + 0x1a0)
#define MACHINE         "-machine rk3588-npu,npu-seed=0 -m 256 -display none"

#define SCMI_SHM        0x0010f000u

#define OP_EN           0x08
#define BASE            0x10
#define AMOUNTS         0x14
#define INT_MASK        0x20
#define INT_CLEAR       0x24
#define INT_STATUS      0x28
#define TASK_CON        0x30
#define GLOBAL_EN       0xf008
#define MMU_DTE         0x00
#define MMU_COMMAND     0x08
#define MMU_INT_MASK    0x1c

/* IOVA windows and the memory behind them. */
#define RAM             0x40000000u
#define DTE_PA          (RAM + 0x100000)
#define PTE_PA          (DTE_PA + 0x1000)
#define CMD_PA          (RAM + 0x400000)
#define CMD_IOVA        0x0fc00000u
#define DATA_PA         (RAM + 0x800000)
#define DATA_IOVA       0x10000000u
#define FIRST_DTE       (CMD_IOVA >> 22)
#define TABLES          7
#define PAGES           (TABLES * 1024)
#define SLOTS           8
#define SLOT_BYTES      0x2000u

#define MAX_CMDS        (SLOT_BYTES / 8)
#define MAX_PROGS       16384
#define BATCH           64     /* cases of one QEMU process */
#define DEFAULT_CASES   192

#define M               4
#define K               64
#define N               32
#define A_IOVA          DATA_IOVA
#define B_IOVA          (DATA_IOVA + 0x10000)
#define C_IOVA          (DATA_IOVA + 0x20000)
#define PA(iova)        ((iova) - DATA_IOVA + DATA_PA)

typedef struct Prog {
    unsigned n;
    uint64_t *cmd;
} Prog;

static Prog prog[MAX_PROGS];
static unsigned prog_n;
static uint64_t rng;
static uint64_t case_nr;
static uint32_t pte[PAGES];

/* What the cases came to: a fuzzer that reaches nothing finds nothing. */
static const struct {
    enum npu_ctl_counter counter;
    const char *name;
} outcome[] = {
    { NPU_CNT_TASK_STARTED, "tasks started" },
    { NPU_CNT_TASK_DONE, "done" },
    { NPU_CNT_UNIMPLEMENTED, "refused" },
    { NPU_CNT_HANG, "hangs" },
    { NPU_CNT_MMU_FAULT, "page faults" },
    { NPU_CNT_ABORT, "aborts" },
};

static uint64_t outcomes[ARRAY_SIZE(outcome)];

static uint32_t rnd(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng >> 16;
}

static unsigned below(unsigned n)
{
    return rnd() % n;
}

static bool one_in(unsigned n)
{
    return !below(n);
}

static uint32_t edge(void)
{
    static const uint32_t value[] = {
        0, 1, 2, 3, 4, 5, 6, 7, 0xe, 0xf, 0x10, 0x1f, 0x20, 0xff, 0x100, 0xfff,
        0x1000, 0xffff, 0x10000, 0xfffff, 0x7fffffff, 0x80000000, 0xfffffff0,
        0xffffffff, RAM, DTE_PA, CMD_IOVA, DATA_IOVA, CORE(0), NPU_CTL_BASE,
        0xfffff000,
    };

    return one_in(3) ? rnd() : value[below(ARRAY_SIZE(value))];
}

/* --- Programs --- */

static void put(Prog *p, uint32_t reg, uint32_t value)
{
    uint64_t target = reg == OP_EN ? 0x0081 : 1u << (8 + (reg >> 12)) | 1;

    p->cmd[p->n++] = target << 48 | (uint64_t)value << 16 | reg;
}

/* C[M,N] = A[M,K] * B[N,K]^T, int8 to int32 */
static void matmul(Prog *p)
{
    static const uint32_t reg[][2] = {
        { 0x4004, 0xe }, { 0x5004, 0xe },
        { 0x100c, 0 }, { 0x1010, (M + 1) << 4 }, { 0x1014, 9 },
        { 0x1020, 1 << 16 | M }, { 0x1024, (K - 1) << 16 | K }, { 0x1028, 1 },
        { 0x102c, M }, { 0x1030, K * N }, { 0x1034, K },
        { 0x1038, 0x01010000 | N }, { 0x1040, 11 << 4 | 1 }, { 0x104c, 0xb },
        { 0x1068, 0 }, { 0x1070, A_IOVA }, { 0x107c, 4 }, { 0x1080, 0 },
        { 0x1084, 1 << 16 | M }, { 0x1088, K }, { 0x1110, B_IOVA },
        { 0x3010, 0 }, { 0x3014, (M - 1) << 16 }, { 0x3018, N - 1 },
        { 0x400c, 0x1e4 }, { 0x4010, 0x80000000 }, { 0x4020, C_IOVA },
        { 0x4024, M << 4 }, { 0x4030, 0 }, { 0x4034, M - 1 }, { 0x4038, 0 },
        { 0x403c, (N - 1) << 16 | (N - 1) }, { 0x4040, 0x53 },
        { 0x4050, 0x7fe }, { 0x4058, N - 1 }, { 0x405c, (M - 1) << 16 },
        { 0x4060, 0x53 }, { 0x4070, 0x383 }, { 0x4084, 1 },
        { 0x40c0, (M * 8) << 4 }, { OP_EN, 0x0d },
    };
    unsigned i;

    p->cmd = g_new(uint64_t, MAX_CMDS);
    p->n = 0;
    for (i = 0; i < ARRAY_SIZE(reg); i++) {
        put(p, reg[i][0], reg[i][1]);
    }
}

/* A file of the fuzzer without a machine: see tests/fuzz/fuzz-case.h. */
static void load_progs(const char *path)
{
    FILE *f = fopen(path, "r");
    unsigned n, i;

    g_assert_nonnull(f);
    while (prog_n < MAX_PROGS &&
           fscanf(f, " case %*u %*d %*d %*d %*d %u", &n) == 1) {
        Prog *p = &prog[prog_n];

        g_assert_cmpuint(n, <, MAX_CMDS);
        p->cmd = g_new(uint64_t, n);
        p->n = n;
        for (i = 0; i < n; i++) {
            g_assert_cmpint(fscanf(f, "%" SCNx64, &p->cmd[i]), ==, 1);
        }
        prog_n++;
    }
    fclose(f);
    g_assert_cmpuint(prog_n, >, 1);
}

static void mutate(uint64_t *cmd, unsigned n)
{
    uint64_t *e = &cmd[below(n)];

    switch (below(8)) {
    case 0:
        *e = (uint64_t)rnd() << 32 | rnd();
        break;
    case 1:
        *e ^= 1ull << below(64);
        break;
    case 2:
        *e = cmd[below(n)];
        break;
    case 3:
        *e = (*e & 0xffff00000000ffffull) | (uint64_t)edge() << 16;
        break;
    default:
        *e ^= 1ull << (16 + below(32));
    }
}

/* A program in slot @slot, and where to go on behind it. */
static unsigned write_prog(QTestState *q, unsigned slot, uint32_t next,
                           unsigned amount)
{
    const Prog *p = &prog[below(prog_n)];
    g_autofree uint64_t *cmd = g_new(uint64_t, MAX_CMDS);
    Prog copy = { .cmd = cmd };
    unsigned i, changes = one_in(3) ? 0 : 1 + below(4);

    put(&copy, BASE, next);
    put(&copy, AMOUNTS, amount);
    for (i = 0; i < p->n && copy.n < MAX_CMDS; i++) {
        cmd[copy.n++] = p->cmd[i];
    }
    for (i = 0; i < changes; i++) {
        mutate(cmd, copy.n);
    }
    for (i = 0; i < copy.n; i++) {
        cmd[i] = cpu_to_le64(cmd[i]);
    }
    qtest_memwrite(q, CMD_PA + slot * SLOT_BYTES, cmd, copy.n * 8);
    return (copy.n + 1) / 2 - 1;
}

static unsigned write_chain(QTestState *q, unsigned tasks)
{
    uint32_t next = 0;
    unsigned amount = 0, i;

    for (i = tasks; i > 0; i--) {
        amount = write_prog(q, i - 1, next, amount);
        next = CMD_IOVA + (i - 1) * SLOT_BYTES;
    }
    return amount;
}

/* --- Page tables --- */

static uint32_t good_pte(unsigned page)
{
    uint32_t pa = page < 1024 ? CMD_PA + page * 4096
                              : DATA_PA + (page - 1024) * 4096;

    return pa | 7;
}

static void write_pte(QTestState *q, unsigned page, uint32_t value)
{
    pte[page] = value;
    qtest_writel(q, PTE_PA + 4 * page, value);
}

static void write_tables(QTestState *q)
{
    static uint32_t le[PAGES];
    uint32_t dte[1024] = { 0 };
    unsigned i;

    for (i = 0; i < TABLES; i++) {
        dte[FIRST_DTE + i] = cpu_to_le32((PTE_PA + 0x1000 * i) | 1);
    }
    qtest_memwrite(q, DTE_PA, dte, sizeof(dte));
    for (i = 0; i < PAGES; i++) {
        pte[i] = good_pte(i);
        le[i] = cpu_to_le32(pte[i]);
    }
    qtest_memwrite(q, PTE_PA, le, sizeof(le));
}

static uint32_t bad_entry(uint32_t good)
{
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return good & ~(1u << below(3));
    case 2:
        return good | 0xff0;
    case 3:
        return CORE(below(CORE_NUM)) | 7;
    case 4:
        return (DTE_PA + 0x1000 * below(TABLES + 1)) | 7;
    case 5:
        return good ^ 1u << below(32);
    case 6:
        return CMD_PA | 7;
    default:
        return edge();
    }
}

/* Pages that programs use are near the start of a window. */
static unsigned some_page(void)
{
    return one_in(3) ? below(PAGES)
                     : below(TABLES) * 1024 + (one_in(2) ? below(4)
                                                         : below(1024));
}

static void spoil_tables(QTestState *q)
{
    unsigned i, n = below(5);

    for (i = 0; i < n; i++) {
        unsigned page = some_page();

        write_pte(q, page, bad_entry(good_pte(page)));
    }
    if (one_in(8)) {
        i = below(TABLES);
        qtest_writel(q, DTE_PA + 4 * (FIRST_DTE + i),
                     bad_entry((PTE_PA + 0x1000 * i) | 1));
    }
}

static void repair_tables(QTestState *q)
{
    unsigned i;

    for (i = 0; i < TABLES; i++) {
        qtest_writel(q, DTE_PA + 4 * (FIRST_DTE + i),
                     (PTE_PA + 0x1000 * i) | 1);
    }
    for (i = 0; i < PAGES; i++) {
        if (pte[i] != good_pte(i)) {
            write_pte(q, i, good_pte(i));
        }
    }
    /* Programs and hostile mappings may have written over the tables. */
    if (qtest_readl(q, DTE_PA + 4 * (FIRST_DTE + TABLES)) ||
        one_in(16)) {
        write_tables(q);
    }
}

static uint32_t mmu(unsigned core, unsigned bank)
{
    return CORE(core) + (core ? 0xa000 : 0x9000 + 0x1000 * bank);
}

static unsigned banks(unsigned core)
{
    return core ? 1 : 2;
}

static void attach(QTestState *q, unsigned core)
{
    unsigned bank;

    for (bank = 0; bank < banks(core); bank++) {
        qtest_writel(q, mmu(core, bank) + MMU_DTE, DTE_PA);
        qtest_writel(q, mmu(core, bank) + MMU_COMMAND, 4);
        qtest_writel(q, mmu(core, bank) + MMU_INT_MASK, 3);
        qtest_writel(q, mmu(core, bank) + MMU_COMMAND, 0);
    }
}

/* --- Hostile accesses --- */

static void set_pointers(QTestState *q, unsigned core)
{
    qtest_writel(q, CORE(core) + 0x1004, core << 28 | 0xe);
    qtest_writel(q, CORE(core) + 0x3004, core << 28 | 0xe);
}

static void kick(QTestState *q, unsigned core, unsigned amount, unsigned tasks)
{
    uint32_t base = CORE(core);

    if (!one_in(16)) {
        set_pointers(q, core);
    }
    qtest_writel(q, base + BASE, one_in(64) ? edge() : CMD_IOVA);
    qtest_writel(q, base + AMOUNTS, one_in(64) ? edge() : amount);
    qtest_writel(q, base + INT_MASK, 0x1ffff);
    qtest_writel(q, base + INT_CLEAR, 0x1ffff);
    qtest_writel(q, base + TASK_CON, 0x7000 | tasks);
    qtest_writel(q, base + OP_EN, 1);
    qtest_writel(q, base + OP_EN, 0);
}

static void poke_core(QTestState *q, unsigned core)
{
    static const uint32_t often[] = {
        OP_EN, BASE, AMOUNTS, INT_MASK, INT_CLEAR, TASK_CON, 0x34, 0x1004,
        0x3004, 0x4004, 0x4100, 0x4104, 0x5004, 0x6004, 0x7004, 0xf008,
    };
    uint32_t reg = one_in(2) ? often[below(ARRAY_SIZE(often))]
                             : below(0x10000) & ~3u;

    if (one_in(3)) {
        qtest_readl(q, CORE(core) + reg);
    } else {
        qtest_writel(q, CORE(core) + reg, edge());
    }
}

static void poke_mmu(QTestState *q, unsigned core)
{
    uint32_t base = mmu(core, below(2) % banks(core));

    switch (below(4)) {
    case 0:
        qtest_readl(q, base + 4 * below(16));
        break;
    case 1:
        qtest_writel(q, base + MMU_COMMAND, below(9));
        break;
    case 2:
        qtest_writel(q, base + 0x10, one_in(2) ? CMD_IOVA : edge());
        break;
    default:
        qtest_writel(q, base + 4 * below(16), edge());
    }
}

static void poke_ctl(QTestState *q)
{
    switch (below(5)) {
    case 0:
        qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_CORE,
                     one_in(4) ? edge() : below(CORE_NUM));
        qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_SKIP, below(3));
        qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_COUNT, below(3));
        qtest_writel(q, NPU_CTL_BASE + NPU_CTL_FAULT_ARM,
                     below(NPU_FAULT_MAX + 2));
        break;
    case 1:
        qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, below(8));
        break;
    case 2:
        qtest_writel(q, NPU_CTL_BASE + NPU_CTL_LATENCY_NS,
                     one_in(2) ? below(100000) : edge());
        break;
    case 3:
        qtest_readl(q, NPU_CTL_BASE + (below(NPU_CTL_SIZE) & ~3u));
        break;
    default:
        qtest_writel(q, NPU_CTL_BASE + 4 * below(64), edge());
    }
}

static void poke_clocks(QTestState *q)
{
    uint32_t bit = 1u << below(16);
    uint32_t value = bit << 16 | (one_in(2) ? bit : 0);

    switch (below(4)) {
    case 0:
        qtest_writel(q, CRU_GATE(27 + below(4)), value);
        break;
    case 1:
        qtest_writel(q, CRU_SOFTRST(27 + below(4)), value);
        break;
    case 2:
        qtest_writel(q, PMU + 0x100 + 4 * below(128), value);
        break;
    default:
        qtest_writel(q, CRU + 4 * below(0x1000), edge());
    }
}

/* Devices answer to words alone. */
static void poke_size(QTestState *q)
{
    static const uint32_t window[] = { CORE(0), NPU_CTL_BASE, CRU, PMU };
    uint64_t addr = window[below(4)] + (one_in(2) ? below(0x1000)
                                                  : below(0x10000));

    switch (below(3)) {
    case 0:
        qtest_writeb(q, addr, rnd());
        qtest_readw(q, addr);
        break;
    case 1:
        qtest_writew(q, addr, rnd());
        qtest_readb(q, addr);
        break;
    default:
        qtest_writeq(q, addr, edge());
        qtest_readq(q, addr);
    }
}

static void poke_qom(QTestState *q)
{
    static const char *const text[] = {
        "", "none", "hang", "hang,", "hang,core=99", "hang,core=-1",
        "hang,core=any,skip=1,count=0", "irq-late,param=4294967296",
        "irq-late,core=1,skip=2,param=4294967295", "mmu-read,param=x",
        "irq-dup,count=0,param=0", "mmu-read,,,", "=,=,=", "power-stuck,core",
        "off-stuck,skip=18446744073709551616", "%s%s%n",
    };
    static const char *const property[] = { "counters", "arm", "fired" };
    QDict *r;

    r = qtest_qmp(q, "{'execute': 'qom-set', 'arguments': {"
                  "'path': '/machine/npu-ctl', 'property': 'arm',"
                  "'value': %s}}", text[below(ARRAY_SIZE(text))]);
    qobject_unref(r);
    r = qtest_qmp(q, "{'execute': 'qom-get', 'arguments': {"
                  "'path': '/machine/npu-ctl', 'property': %s}}",
                  property[below(ARRAY_SIZE(property))]);
    g_assert_true(qdict_haskey(r, "return"));
    qobject_unref(r);
}

/* A message to the firmware, as the device's tests ring for it. */
static void poke_scmi(QTestState *q)
{
    QDict *r;
    unsigned i;

    qtest_writel(q, SCMI_SHM + 0x14, one_in(4) ? edge() : 4 + 4 * below(6));
    qtest_writel(q, SCMI_SHM + 0x18,
                 one_in(4) ? edge() : (0x10 + below(6)) << 10 | below(10));
    for (i = 0; i < 4; i++) {
        qtest_writel(q, SCMI_SHM + 0x1c + 4 * i,
                     one_in(2) ? below(8) : one_in(2) ? below(1200000000)
                                                      : edge());
    }
    r = qtest_qmp(q, "{'execute': 'qom-get', 'arguments': {"
                  "'path': '/machine/scmi', 'property': 'ring'}}");
    g_assert_true(qdict_haskey(r, "return"));
    qobject_unref(r);
}

/* A program as a CPU would write it, and op-enables of its own. */
static void drive_by_hand(QTestState *q, unsigned core)
{
    const Prog *p = &prog[below(prog_n)];
    unsigned i;

    qtest_writel(q, CORE(core) + BASE, 1);
    for (i = 0; i < p->n; i++) {
        uint32_t reg = p->cmd[i] & 0xffff, value = p->cmd[i] >> 16;

        if (one_in(64)) {
            value ^= 1u << below(32);
        }
        if (reg != OP_EN) {
            qtest_writel(q, CORE(core) + (reg & 0x7ffc), value);
        } else if (one_in(2)) {
            qtest_writel(q, CORE(core) + GLOBAL_EN, value);
        } else {
            unsigned block;

            for (block = 1; block < 8; block++) {
                if (value & (1u << (block - 1))) {
                    qtest_writel(q, CORE(core) + (block << 12) + OP_EN, 1);
                }
            }
        }
    }
}

static void pass_time(QTestState *q)
{
    static const uint32_t ns[] = { 1, 500, 12000, 100000, 1000000, 20000000 };

    qtest_clock_step(q, ns[below(ARRAY_SIZE(ns))]);
    if (one_in(4)) {
        g_usleep(300);
    }
}

static void hostile_step(QTestState *q, unsigned core)
{
    switch (below(24)) {
    case 0: case 1: case 2:
        poke_core(q, core);
        break;
    case 3: case 4: case 5:
        poke_mmu(q, core);
        break;
    case 6:
        poke_ctl(q);
        break;
    case 7:
        poke_clocks(q);
        break;
    case 8:
        poke_size(q);
        break;
    case 9:
        spoil_tables(q);
        break;
    case 10:
        kick(q, below(CORE_NUM), 40, 1 + below(3));
        break;
    case 11:
        if (one_in(16)) {
            poke_qom(q);
        } else if (one_in(4)) {
            poke_scmi(q);
        }
        break;
    case 13:
        if (one_in(8)) {
            drive_by_hand(q, below(CORE_NUM));
        }
        break;
    case 12:
        if (one_in(64)) {
            qtest_system_reset(q);
        }
        break;
    default:
        pass_time(q);
    }
}

/* --- Cases --- */

/* NPU, NPUTOP, NPU1, NPU2; parents first. */
static void power(QTestState *q, bool on)
{
    static const unsigned domain[] = { 1, 3, 4, 5 };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(domain); i++) {
        uint32_t bit = 1u << domain[i];

        qtest_writel(q, PMU_PWR, bit << 16 | (on ? 0 : bit));
    }
    qtest_clock_step(q, 1000000);
}

/* As after power-on, whatever was done to the machine. */
static void restore(QTestState *q)
{
    unsigned i;

    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_FAULT_CLEAR);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_TRACE_STOP);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_LATENCY_NS, 0);
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_MEMORY_MBS, 0);
    for (i = 27; i <= 30; i++) {
        qtest_writel(q, CRU_GATE(i), 0xffff0000);
        qtest_writel(q, CRU_SOFTRST(i), 0xffffffff);
        qtest_writel(q, CRU_SOFTRST(i), 0xffff0000);
    }
    qtest_writel(q, PMU_MEM_PWR, 0xffff0000);
    power(q, false);
    power(q, true);
    repair_tables(q);
}

static void write_operands(QTestState *q, int8_t *a, int8_t *b)
{
    int8_t buf[N * K];
    unsigned m, n, k;

    for (m = 0; m < M; m++) {
        for (k = 0; k < K; k++) {
            a[m * K + k] = m * 37 + k * 11;
            buf[(k / 16 * M + m) * 16 + k % 16] = a[m * K + k];
        }
    }
    qtest_memwrite(q, PA(A_IOVA), buf, M * K);
    for (n = 0; n < N; n++) {
        for (k = 0; k < K; k++) {
            b[n * K + k] = n * 29 - k * 7;
            buf[k / 32 * 1024 + n * 32 + k % 32] = b[n * K + k];
        }
    }
    qtest_memwrite(q, PA(B_IOVA), buf, N * K);
    qtest_memset(q, PA(C_IOVA), 0xa5, M * N * 4);
}

static void check_result(QTestState *q, const int8_t *a, const int8_t *b)
{
    unsigned m, n, k;

    for (m = 0; m < M; m++) {
        for (n = 0; n < N; n++) {
            uint32_t at = ((n / 4 * M + m) * 4 + n % 4) * 4;
            int32_t want = 0;

            for (k = 0; k < K; k++) {
                want += a[m * K + k] * b[n * K + k];
            }
            g_assert_cmpint((int32_t)qtest_readl(q, PA(C_IOVA) + at), ==,
                            want);
        }
    }
}

/* Nothing of what went before may be left in a core that was reset. */
static void check_core(QTestState *q, unsigned core)
{
    int8_t a[M * K], b[N * K];
    uint64_t cmd[64];
    Prog p;
    unsigned i;

    matmul(&p);
    g_assert_cmpuint(p.n, <=, ARRAY_SIZE(cmd));
    for (i = 0; i < p.n; i++) {
        cmd[i] = cpu_to_le64(p.cmd[i]);
    }
    qtest_memwrite(q, CMD_PA, cmd, p.n * 8);
    g_free(p.cmd);
    write_operands(q, a, b);
    attach(q, core);
    set_pointers(q, core);
    qtest_writel(q, CORE(core) + BASE, CMD_IOVA);
    qtest_writel(q, CORE(core) + AMOUNTS, (p.n + 1) / 2 - 1);
    qtest_writel(q, CORE(core) + INT_MASK, 0x300);
    qtest_writel(q, CORE(core) + TASK_CON, 0x7001);
    qtest_writel(q, CORE(core) + OP_EN, 1);
    for (i = 0; i < 20000; i++) {
        qtest_clock_step(q, 20000);
        if (qtest_readl(q, CORE(core) + INT_STATUS)) {
            break;
        }
        g_usleep(500);
    }
    g_assert_cmphex(qtest_readl(q, CORE(core) + INT_STATUS), ==, 0x100);
    check_result(q, a, b);
}

static void note_outcomes(QTestState *q)
{
    unsigned core, i;

    for (core = 0; core < CORE_NUM; core++) {
        for (i = 0; i < ARRAY_SIZE(outcome); i++) {
            outcomes[i] += qtest_readl(q, NPU_CTL_BASE + NPU_CTL_CORE(core) +
                                       8 * outcome[i].counter);
        }
    }
    qtest_writel(q, NPU_CTL_BASE + NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
}

static void tell_outcomes(uint64_t cases)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(outcome); i++) {
        g_test_message("%s: %" PRIu64, outcome[i].name, outcomes[i]);
        g_assert_true(outcomes[i] || cases < DEFAULT_CASES);
    }
}

static void one_case(QTestState *q)
{
    unsigned core = below(CORE_NUM), tasks = 1 + below(4);
    unsigned steps = 4 + below(40);
    unsigned amount = write_chain(q, tasks);

    if (!one_in(16)) {
        attach(q, core);
    }
    if (one_in(2)) {
        spoil_tables(q);
    }
    kick(q, core, amount, one_in(16) ? below(8) : tasks);
    while (steps--) {
        hostile_step(q, core);
    }
    note_outcomes(q);
    restore(q);
    if (case_nr % 4 == 0) {
        check_core(q, below(CORE_NUM));
    }
}

static const char *option(const char *name, const char *fallback)
{
    const char *value = getenv(name);

    return value && *value ? value : fallback;
}

static bool enough(uint64_t limit, int64_t end)
{
    if (limit) {
        return case_nr >= limit;
    }
    return g_get_monotonic_time() >= end;
}

/* Every case has a generator of its own, so that batches can be repeated. */
static void run_batch(uint64_t seed, uint64_t limit, int64_t end)
{
    static const char *const variant[] = {
        "",
        "-global rk3588-npu-core.pp-banks=off",
        "-global rk3588-npu-core.pc-prefetch=off "
        "-global rk3588-npu-core.write-padding=off",
        "-global rk-iommu.reset-wipes=off "
        "-global rk3588-npu-core.idle-ppu-rdma=on",
    };
    QTestState *q = qtest_initf(MACHINE " %s", variant[case_nr / BATCH %
                                                     ARRAY_SIZE(variant)]);

    g_test_message("NPU_FUZZ_SEED=%" PRIu64 " NPU_FUZZ_FIRST=%" PRIu64, seed,
                   case_nr);
    power(q, true);
    write_tables(q);
    do {
        rng = (seed * 1000003 + case_nr) * 2654435761ull + 88172645463325252ull;
        one_case(q);
        case_nr++;
    } while (case_nr % BATCH && !enough(limit, end));
    qtest_quit(q);
}

static void test_hostile(void)
{
    const char *seeds = option("NPU_FUZZ_SEEDS", NULL);
    uint64_t seed = g_ascii_strtoull(option("NPU_FUZZ_SEED", "1"), NULL, 0);
    double seconds = g_ascii_strtod(option("NPU_FUZZ_SECONDS", "0"), NULL);
    uint64_t first = g_ascii_strtoull(option("NPU_FUZZ_FIRST", "0"), NULL, 0);
    uint64_t limit = seconds > 0 ? 0 : first + DEFAULT_CASES;
    int64_t end = g_get_monotonic_time() + seconds * 1000000;
    struct rusage usage;

    matmul(&prog[prog_n++]);
    if (seeds) {
        load_progs(seeds);
    }
    case_nr = first;
    do {
        run_batch(seed, limit, end);
    } while (!enough(limit, end));
    getrusage(RUSAGE_CHILDREN, &usage);
    g_test_message("%" PRIu64 " cases of %u programs, %ld s of QEMU's CPU "
                   "time", case_nr - first, prog_n,
                   (long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec));
    tell_outcomes(case_nr - first);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rk3588-npu-fuzz/hostile", test_hostile);
    return g_test_run();
}
