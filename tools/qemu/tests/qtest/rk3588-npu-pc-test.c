/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of the RK3588 NPU's program controller: register groups, order of
 * completion, slave mode, time, shared memory, and migration of all that.
 */
#include "qemu/osdep.h"
#include "rk3588-npu-qtest.h"

#define FEATURE         0x01
#define WEIGHT          0x04
#define CSC             0x10
#define CORE_DONE       0x40
#define DPU_DONE        0x100

/* TASK_CON but the number: clear the count, and bit 12 for ping-pong. */
#define SINGLE          0x6000
#define PINGPONG        0x7000

/* IOVAs are physical addresses while the IOMMU does not page. */
#define A_ADDR          (RAM + 0x100000)
#define B_ADDR          (RAM + 0x200000)
#define B2_ADDR         (RAM + 0x400000)
#define C_ADDR(n)       (RAM + 0x600000 + 0x100000 * (n))
#define CMD_ADDR(n)     (RAM + 0xa00000 + 0x1000 * (n))

/* One row by 1024 x 1024 weights: bound by memory. */
#define K               1024
#define N               1024

static uint64_t counter(QTestState *q, unsigned core, unsigned c)
{
    uint64_t at = NPU_CTL_BASE + NPU_CTL_CORE(core) + 8 * c;
    uint64_t lo = qtest_readl(q, at);

    return lo | (uint64_t)qtest_readl(q, at + 4) << 32;
}

static void ctl(QTestState *q, uint32_t reg, uint32_t value)
{
    qtest_writel(q, NPU_CTL_BASE + reg, value);
}

static int64_t now(QTestState *q)
{
    uint64_t lo = qtest_readl(q, NPU_CTL_BASE + NPU_CTL_TIME_LO);

    return lo | (uint64_t)qtest_readl(q, NPU_CTL_BASE + NPU_CTL_TIME_HI) << 32;
}

/* C[m, N] = A[m, K] * B[N, K]^T, int8 to int32 */
static void product(Prog *p, uint32_t m, uint32_t weights, uint32_t dst)
{
    put(p, 0x4004, 0xe);
    put(p, 0x1010, (m + 1) << 4);
    put_product(p, m, K, N, A_ADDR, weights, false);
    put_sums(p, m, N, dst);
}

static unsigned amount(const Prog *p)
{
    return (p->n + 4 + 1) / 2 - 1;
}

/* The tail, and a place in memory; @next as the next segment's amount. */
static void place(QTestState *q, unsigned slot, Prog *p, uint32_t next)
{
    put(p, BASE, next ? CMD_ADDR(slot + 1) : 0);
    put(p, AMOUNTS, next);
    put_raw(p, 0x0041, 0, 0);
    put_raw(p, 0x0081, 8, 0x0d);
    write_prog(q, CMD_ADDR(slot), p);
}

/* Rows of A hold 1, B 2 and B2 3 everywhere. */
static void write_operands(QTestState *q)
{
    qtest_memset(q, A_ADDR, 1, 16 * K);
    qtest_memset(q, B_ADDR, 2, K * N);
    qtest_memset(q, B2_ADDR, 3, K * N);
}

/* Every element of the first row; 0 if they differ. */
static uint32_t result(QTestState *q, unsigned n)
{
    uint32_t first = qtest_readl(q, C_ADDR(n));
    uint32_t row[N];
    unsigned i;

    qtest_memread(q, C_ADDR(n), row, sizeof(row));
    for (i = 0; i < N; i++) {
        if (row[i] != row[0]) {
            return 0;
        }
    }
    return first;
}

/* A chain of @tasks that alternate between B and B2. */
static uint32_t write_chain(QTestState *q, unsigned tasks)
{
    uint32_t length = 0;
    unsigned i;

    for (i = 0; i < tasks; i++) {
        Prog p = { .n = 0 };

        product(&p, 1, i % 2 ? B2_ADDR : B_ADDR, C_ADDR(i));
        length = amount(&p);
        place(q, i, &p, i + 1 < tasks ? length : 0);
    }
    return length;
}

/* Bits and counts that stay tell more of what happened when. */
static QTestState *start(const char *args)
{
    QTestState *q = qtest_initf(MACHINE AS_IN_TRM "%s", args);

    /* NPU, NPUTOP, NPU1 */
    qtest_writel(q, PMU_PWR, 0x001a0000);
    qtest_clock_step(q, 1000000);
    write_operands(q);
    return q;
}

/* A_RKNN and H_RKNN are 6 and 8 in register 30, or 0 and 2 in 27. */
static void reset_any(QTestState *q, unsigned core)
{
    uint32_t reg = core ? CRU_SOFTRST(27) : CRU_SOFTRST(30);
    uint32_t bits = core ? 0x5 : 0x140;

    qtest_writel(q, reg, bits << 16 | bits);
    qtest_clock_step(q, 10000);
    qtest_writel(q, reg, bits << 16);
}

/* Of CNA and CORE, as drivers do: programs do not know their core. */
static void set_pointers(QTestState *q, unsigned core)
{
    qtest_writel(q, CORE(core) + 0x1004, core << 28 | 0xe);
    qtest_writel(q, CORE(core) + 0x3004, core << 28 | 0xe);
}

static void kick_core(QTestState *q, unsigned core, uint32_t length,
                      uint32_t task_con)
{
    set_pointers(q, core);
    qtest_writel(q, CORE(core) + BASE, CMD_ADDR(0));
    qtest_writel(q, CORE(core) + AMOUNTS, length);
    qtest_writel(q, CORE(core) + INT_MASK, 0x300);
    qtest_writel(q, CORE(core) + INT_CLEAR, 0x1ffff);
    qtest_writel(q, CORE(core) + TASK_CON, task_con);
    qtest_writel(q, CORE(core) + OP_EN, 1);
    qtest_writel(q, CORE(core) + OP_EN, 0);
}

static void kick(QTestState *q, uint32_t length, uint32_t task_con)
{
    kick_core(q, 0, length, task_con);
}

/* Is nothing due because the host has not finished the arithmetic yet? */
static bool late(QTestState *q, unsigned core)
{
    QDict *rsp = qtest_qmp(q, "{ 'execute': 'qom-get', 'arguments': "
                           "{ 'path': %s, 'property': 'late' } }",
                           core ? "/machine/npu-core1" : "/machine/npu-core0");
    bool value = qdict_get_bool(rsp, "return");

    qobject_unref(rsp);
    return value;
}

/*
 * On to the next moment at which something happens.  @waits is from before the
 * caller looked for what it waits for, as being late can end at any time.
 */
static void next_moment(QTestState *q, bool waits)
{
    if (waits) {
        g_usleep(1000);
    } else {
        qtest_clock_step_next(q);
    }
}

static bool any_late(QTestState *q)
{
    return late(q, 0) || late(q, 1);
}

static void run_to_end(QTestState *q, unsigned core)
{
    bool waits = any_late(q);

    while (counter(q, core, NPU_CNT_BUSY)) {
        g_assert_cmpuint(counter(q, core, NPU_CNT_HANG), ==, 0);
        next_moment(q, waits);
        waits = any_late(q);
    }
}

static void run_to_count(QTestState *q, unsigned c, uint64_t value)
{
    bool waits = any_late(q);

    while (counter(q, 0, c) < value) {
        next_moment(q, waits);
        waits = any_late(q);
    }
}

/* Until a bit of the raw status comes. */
static int64_t run_to_raw(QTestState *q, uint32_t bit)
{
    bool waits = any_late(q);

    while (!(events(q) & bit)) {
        next_moment(q, waits);
        waits = any_late(q);
    }
    return now(q);
}

static uint64_t time_of_chain(QTestState *q, uint32_t length, uint32_t con)
{
    uint64_t before = counter(q, 0, NPU_CNT_BUSY_NS);

    kick(q, length, con);
    run_to_end(q, 0);
    return counter(q, 0, NPU_CNT_BUSY_NS) - before;
}

/* --- Register groups --- */

static void test_waiting(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 3);
    uint64_t entries = 2 * (length + 1);

    kick(q, length, PINGPONG | 3);
    g_assert_cmphex(rd(q, 0x1000), ==, 0);
    run_to_count(q, NPU_CNT_TASK_STARTED, 1);
    g_assert_cmphex(rd(q, 0x1000), ==, 1);
    g_assert_cmphex(rd(q, 0x4000), ==, 1);
    g_assert_cmphex(rd(q, 0x6000), ==, 0);

    /* The second segment is read while the first task executes. */
    run_to_count(q, NPU_CNT_REGCMD, entries + 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_DONE), ==, 0);
    g_assert_cmphex(rd(q, 0x1000), ==, 2 << 16 | 1);
    g_assert_cmphex(rd(q, 0x3000), ==, 2 << 16 | 1);
    g_assert_cmphex(rd(q, 0x4000), ==, 2 << 16 | 1);
    g_assert_cmphex(rd(q, 0x6000), ==, 0);

    /* The third one waits for a group to become free. */
    run_to_raw(q, CORE_DONE);
    g_assert_cmphex(rd(q, 0x1000), ==, 2 << 16);
    g_assert_cmphex(rd(q, 0x4000), ==, 2 << 16 | 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_REGCMD), <=, 2 * entries);
    run_to_count(q, NPU_CNT_TASK_DONE, 1);
    g_assert_cmphex(rd(q, 0x1000), ==, 1 << 16);
    run_to_count(q, NPU_CNT_REGCMD, 2 * entries + 1);
    g_assert_cmphex(rd(q, 0x1000), ==, 1 << 16 | 2);

    run_to_end(q, 0);
    g_assert_cmphex(rd(q, 0x1000), ==, 0);
    g_assert_cmphex(events(q), ==, 0x3ff);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_IRQ), ==, 1);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);
    g_assert_cmpuint(result(q, 2), ==, 2 * K);
    qtest_quit(q);
}

/* Reading ahead shows in time and nowhere else. */
static void test_prefetch(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 2);
    uint64_t ahead, not_ahead;
    Prog p = { .n = 0 };

    ahead = time_of_chain(q, length, PINGPONG | 2);
    not_ahead = time_of_chain(q, length, SINGLE | 2);
    g_assert_cmpuint(not_ahead - ahead, ==, 500);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);

    /* A segment without op-enable stops the chain, but not the task before. */
    product(&p, 1, B_ADDR, C_ADDR(0));
    place(q, 0, &p, length);
    qtest_memset(q, CMD_ADDR(1), 0, 4096);
    qtest_memset(q, C_ADDR(0), 0, 4 * N);
    kick(q, length, PINGPONG | 2);
    run_to_count(q, NPU_CNT_HANG, 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_DONE), ==, 5);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x1001);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    qtest_quit(q);

    q = start("-global rk3588-npu-core.pc-prefetch=off");
    length = write_chain(q, 2);
    g_assert_cmpuint(time_of_chain(q, length, PINGPONG | 2), ==, not_ahead);
    qtest_quit(q);
}

/* Two tasks; the segment of the second begins with a write of its own. */
static uint32_t write_two(QTestState *q, uint32_t reg, uint32_t value)
{
    Prog first = { .n = 0 }, second = { .n = 0 };
    uint32_t length;

    put(&second, reg, value);
    product(&second, 1, B2_ADDR, C_ADDR(1));
    product(&first, 1, B_ADDR, C_ADDR(0));
    length = amount(&first);
    place(q, 0, &first, amount(&second));
    place(q, 1, &second, 0);
    return length;
}

/* What would show before the end of the task in flight is not read ahead. */
static void test_prefetch_stops(void)
{
    QTestState *q = start("");
    uint32_t length;
    Prog p = { .n = 0 };

    /* a write to the tables, and a change of the groups of a block in use */
    kick(q, write_two(q, 0x4100, 1 << 17), PINGPONG | 2);
    run_to_raw(q, CORE_DONE);
    g_assert_cmphex(rd(q, 0x4000), ==, 1);
    g_assert_cmphex(rd(q, 0x4100), ==, 0);
    run_to_end(q, 0);
    wr(q, 0x4004, 1);
    g_assert_cmphex(rd(q, 0x4100), ==, 1 << 17);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);

    reset_core(q);
    length = write_two(q, 0x4004, 0x3e);
    kick(q, length, PINGPONG | 2);
    run_to_raw(q, CORE_DONE);
    g_assert_cmphex(rd(q, 0x4000), ==, 1);
    run_to_end(q, 0);
    /* The groups were set back after they had toggled. */
    g_assert_cmphex(events(q), ==, 0x1ff);
    reset_core(q);

    /* Of one that executes where nothing was written nothing comes. */
    length = write_two(q, 0x4004, 0x2e);
    kick(q, length, PINGPONG | 2);
    run_to_count(q, NPU_CNT_HANG, 1);
    g_assert_cmphex(events(q), ==, 0x155);
    reset_core(q);

    /* an address where nothing is */
    p.n = 0;
    product(&p, 1, B_ADDR, C_ADDR(0));
    put(&p, BASE, 0x20);
    put(&p, AMOUNTS, length);
    put_raw(&p, 0x0041, 0, 0);
    put_raw(&p, 0x0081, 8, 0x0d);
    write_prog(q, CMD_ADDR(0), &p);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    qtest_memset(q, C_ADDR(0), 0, 4 * N);
    kick(q, length, PINGPONG | 2);
    run_to_raw(q, CORE_DONE);
    g_assert_cmphex(events(q) & 0x3000, ==, 0);
    run_to_count(q, NPU_CNT_HANG, 1);
    g_assert_cmphex(events(q) & 0x3000, ==, 0x1000);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_DONE), ==, 1);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    qtest_quit(q);
}

/* A third segment that sets its destination alone inherits the rest. */
static uint32_t inherited(const char *args)
{
    QTestState *q = start(args);
    uint32_t length, value;
    Prog p = { .n = 0 };

    put(&p, 0x4004, 0xe);
    put(&p, 0x4020, C_ADDR(2));
    length = amount(&p);
    place(q, 2, &p, 0);
    p.n = 0;
    product(&p, 1, B2_ADDR, C_ADDR(1));
    place(q, 1, &p, length);
    length = write_chain(q, 1);
    p.n = 0;
    product(&p, 1, B_ADDR, C_ADDR(0));
    place(q, 0, &p, length);
    time_of_chain(q, length, PINGPONG | 3);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);
    value = result(q, 2);
    qtest_quit(q);
    return value;
}

static void test_banks(void)
{
    QTestState *q;

    g_assert_cmpuint(inherited(""), ==, 2 * K);
    g_assert_cmpuint(inherited("-global rk3588-npu-core.pp-banks=off"), ==,
                     3 * K);

    /* Each group reads back what was written to it. */
    q = start("");
    wr(q, 0x1004, 0);
    wr(q, 0x1070, 0x1230);
    wr(q, 0x1004, 1);
    g_assert_cmphex(rd(q, 0x1070), ==, 0);
    wr(q, 0x1070, 0x4560);
    wr(q, 0x1004, 0);
    g_assert_cmphex(rd(q, 0x1070), ==, 0x1230);
    wr(q, 0x1004, 1);
    g_assert_cmphex(rd(q, 0x1070), ==, 0x4560);
    /* The task is in group 0 for the other blocks, but not for CNA. */
    kick(q, write_chain(q, 1), PINGPONG | 1);
    wr(q, 0x1004, 7);
    run_to_count(q, NPU_CNT_HANG, 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_UNIMPLEMENTED), ==, 0);
    qtest_quit(q);
}

/* CNA and CORE have to be told in which core they are. */
static void test_core_number(void)
{
    static const struct {
        unsigned core, block, number;
    } wrong[] = {
        { 0, 0x1004, 1 }, { 0, 0x3004, 1 }, { 0, 0x3004, 2 }, { 1, 0x1004, 0 },
        { 1, 0x3004, 0 }, { 1, 0x1004, 3 },
    };
    QTestState *q = start("");
    unsigned i, core;

    for (i = 0; i < ARRAY_SIZE(wrong); i++) {
        Prog p = { .n = 0 };

        core = wrong[i].core;
        put(&p, wrong[i].block, wrong[i].number << 28 | 0xe);
        product(&p, 1, B_ADDR, C_ADDR(0));
        place(q, 0, &p, 0);
        qtest_memset(q, C_ADDR(0), 0, 4 * N);
        ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
        kick_core(q, core, amount(&p), PINGPONG | 1);
        while (!counter(q, core, NPU_CNT_HANG)) {
            g_assert_cmpuint(counter(q, core, NPU_CNT_TASK_DONE), ==, 0);
            next_moment(q, any_late(q));
        }
        qtest_clock_step(q, 100000000);
        g_assert_cmphex(qtest_readl(q, CORE(core) + INT_RAW), ==, 0);
        g_assert_cmpuint(counter(q, core, NPU_CNT_UNIMPLEMENTED), ==, 0);
        g_assert_cmpuint(result(q, 0), ==, 0);
        reset_any(q, core);
    }
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    for (core = 0; core < 2; core++) {
        qtest_memset(q, C_ADDR(0), 0, 4 * N);
        kick_core(q, core, write_chain(q, 1), PINGPONG | 1);
        run_to_end(q, core);
        g_assert_cmpuint(result(q, 0), ==, 2 * K);
    }
    qtest_quit(q);
}

/* --- Completion --- */

static void test_order(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 2);
    int64_t feature, weight, csc, core, dpu;

    kick(q, length, PINGPONG | 1);
    wr(q, INT_MASK, CORE_DONE);
    feature = run_to_raw(q, FEATURE);
    g_assert_cmphex(events(q), ==, FEATURE);
    weight = run_to_raw(q, WEIGHT);
    g_assert_cmphex(events(q), ==, FEATURE | WEIGHT);
    csc = run_to_raw(q, CSC);
    g_assert_cmphex(rd(q, 0x1000), ==, 0);
    g_assert_cmphex(rd(q, 0x3000), ==, 1);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0);
    core = run_to_raw(q, CORE_DONE);
    g_assert_cmphex(rd(q, 0x3000), ==, 0);
    g_assert_cmphex(rd(q, 0x4000), ==, 1);
    /* It is the last task: the mask opens at once. */
    g_assert_cmphex(rd(q, INT_STATUS), ==, CORE_DONE);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_IRQ), ==, 1);
    g_assert_cmpuint(result(q, 0), ==, 0);
    dpu = run_to_raw(q, DPU_DONE);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    g_assert_true(feature < weight && weight < csc && csc < core &&
                  core < dpu);

    /* What software clears while the task goes on does not come back. */
    kick(q, length, PINGPONG | 1);
    run_to_raw(q, FEATURE << 1);
    wr(q, INT_CLEAR, 0x1ffff);
    run_to_end(q, 0);
    g_assert_cmphex(events(q), ==, 0x2a8);

    /* In the first of two tasks bits latch, but the mask stays closed. */
    kick(q, length, PINGPONG | 2);
    wr(q, INT_MASK, 0x1ffff);
    run_to_count(q, NPU_CNT_TASK_DONE, 3);
    g_assert_cmphex(events(q), ==, 0x155);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0);
    run_to_raw(q, FEATURE << 1);
    g_assert_cmphex(rd(q, INT_STATUS), ==, FEATURE << 1);
    run_to_end(q, 0);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0x3ff);
    qtest_quit(q);
}

static void test_task_status(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 3);

    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0);
    kick(q, length, PINGPONG | 3);
    g_assert_cmphex(rd(q, TASK_CON), ==, 0x1003);
    run_to_count(q, NPU_CNT_TASK_STARTED, 1);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x1000);
    run_to_count(q, NPU_CNT_TASK_DONE, 1);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x1001);
    run_to_count(q, NPU_CNT_TASK_STARTED, 3);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x3002);
    run_to_end(q, 0);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x3003);

    /* Counted on unless it is cleared. */
    kick(q, length, 0x1001);
    run_to_end(q, 0);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x3004);
    wr(q, TASK_CON, PINGPONG | 1);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0);

    /* A chain ends where TASK_NUMBER says, not where its pointers do. */
    qtest_memset(q, C_ADDR(2), 0, 4 * N);
    kick(q, length, PINGPONG | 2);
    run_to_end(q, 0);
    qtest_clock_step(q, 10000000);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x3002);
    g_assert_cmpuint(qtest_readl(q, C_ADDR(2)), ==, 0);
    qtest_quit(q);
}

/* At 0x48: two counts, that end with what they count. */
static void test_task_status_halves(void)
{
    QTestState *q = start(READING("task-status=72"));
    uint32_t length = write_chain(q, 3);

    g_assert_cmphex(rd(q, 0x48), ==, 0);
    kick(q, length, PINGPONG | 3);
    run_to_count(q, NPU_CNT_TASK_STARTED, 2);
    g_assert_cmphex(rd(q, 0x48), ==, 1 << 16 | 2);
    reset_any(q, 0);
    g_assert_cmphex(rd(q, 0x48), ==, 0);

    kick(q, length, PINGPONG | 3);
    run_to_count(q, NPU_CNT_TASK_STARTED, 4);
    g_assert_cmphex(rd(q, 0x48), ==, 1 << 16 | 2);
    qtest_writel(q, PMU_PWR, 0x001a001a);
    qtest_clock_step(q, 1000000);
    qtest_writel(q, PMU_PWR, 0x001a0000);
    qtest_clock_step(q, 1000000);
    g_assert_cmphex(rd(q, 0x48), ==, 0);

    /* The first one hangs; that is not a chain that is over. */
    ctl(q, NPU_CTL_FAULT_CORE, 0);
    ctl(q, NPU_CTL_FAULT_COUNT, 1);
    ctl(q, NPU_CTL_FAULT_ARM, NPU_FAULT_HANG);
    kick(q, length, PINGPONG | 2);
    run_to_count(q, NPU_CNT_HANG, 1);
    g_assert_cmphex(rd(q, 0x48), ==, 1);
    reset_any(q, 0);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    kick(q, length, PINGPONG | 3);
    run_to_end(q, 0);
    g_assert_cmphex(rd(q, 0x48), ==, 0);
    qtest_quit(q);
}

/* --- Slave mode --- */

static void write_by_cpu(QTestState *q, uint32_t weights, uint32_t dst)
{
    Prog p = { .n = 0 };
    unsigned i;

    set_pointers(q, 0);
    product(&p, 1, weights, dst);
    for (i = 0; i < p.n; i++) {
        wr(q, p.cmd[i] & 0xffff, p.cmd[i] >> 16);
    }
}

static void test_slave(void)
{
    QTestState *q = start("");
    Prog p = { .n = 0 };

    /* Blocks wait for each other in whatever order they are enabled. */
    wr(q, BASE, 1);
    write_by_cpu(q, B_ADDR, C_ADDR(0));
    wr(q, INT_MASK, 0x300);
    wr(q, 0x4008, 1);
    wr(q, 0x1008, 1);
    qtest_clock_step(q, 1000000);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_STARTED), ==, 0);
    g_assert_cmphex(rd(q, 0x1000), ==, 2);
    g_assert_cmphex(rd(q, 0x3000), ==, 0);
    wr(q, 0x3008, 1);
    run_to_end(q, 0);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0x100);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);

    /* The next task can be written and enabled while one executes. */
    wr(q, INT_CLEAR, 0x1ffff);
    write_by_cpu(q, B2_ADDR, C_ADDR(1));
    wr(q, GLOBAL_EN, 0x0d);
    run_to_raw(q, FEATURE << 1);
    write_by_cpu(q, B_ADDR, C_ADDR(2));
    wr(q, GLOBAL_EN, 0x0d);
    g_assert_cmphex(rd(q, 0x1000), ==, 1 << 16 | 2);
    /* A third has no group. */
    wr(q, GLOBAL_EN, 0x0d);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_KICK), ==, 3);
    run_to_count(q, NPU_CNT_TASK_DONE, 2);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0x200);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY), ==, 1);
    run_to_end(q, 0);
    g_assert_cmphex(rd(q, INT_STATUS), ==, 0x300);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_DONE), ==, 3);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);
    g_assert_cmpuint(result(q, 2), ==, 2 * K);

    /* Neither enables anything in PC mode, nor a stream a single block. */
    wr(q, BASE, CMD_ADDR(0));
    wr(q, GLOBAL_EN, 0x0d);
    wr(q, 0x1008, 1);
    wr(q, 0x3008, 1);
    wr(q, 0x4008, 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY), ==, 0);
    product(&p, 1, B_ADDR, C_ADDR(0));
    put(&p, 0x1008, 1);
    place(q, 0, &p, 0);
    kick(q, amount(&p), PINGPONG | 1);
    run_to_count(q, NPU_CNT_UNIMPLEMENTED, 1);
    reset_core(q);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    time_of_chain(q, write_chain(q, 1), PINGPONG | 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_DONE), ==, 1);
    qtest_quit(q);
}

/* --- Time --- */

/*
 * One row: 1024 + 1024 * 1024 + 4096 bytes.  Beats of 16 bytes, 7 cycles for
 * each burst of 256 bytes or run of memory, and 2000 cycles.
 */
#define ROW_BYTES       (K + K * N + 4 * N)
#define ROW_CYCLES      (2000 + ROW_BYTES / 16 + 7 * (4 + 4096 + 256))
/* From the kick to the end at 200 MHz. */
#define ROW_NS          (500 + 5 * ROW_CYCLES)

static void test_time(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 1);
    uint64_t busy, idle;
    Prog p = { .n = 0 };

    g_assert_cmpuint(time_of_chain(q, length, PINGPONG | 1), ==, ROW_NS);

    /* Sixteen rows: 16 * 32 * 32 cycles and an eighth are far from enough. */
    product(&p, 16, B_ADDR, C_ADDR(0));
    place(q, 0, &p, 0);
    g_assert_cmpuint(time_of_chain(q, length, PINGPONG | 1), ==,
                     500 + 5 * (2000 + (16 * K + K * N + 64 * N) / 16 +
                                7 * (64 + 4096 + 256)));
    /* 200 rows are bound by products after the first row and kernels. */
    p.n = 0;
    product(&p, 200, B_ADDR, C_ADDR(0));
    place(q, 0, &p, 0);
    g_assert_cmpuint(time_of_chain(q, length, PINGPONG | 1), ==,
                     500 + 5 * (2000 + 200 * 32 * 32 * 9 / 8 +
                                (200 * K / 16 + 7 * 800) / 200 +
                                (K * N / 16 + 7 * 4096) / 32));

    /* A fixed latency replaces all that. */
    ctl(q, NPU_CTL_LATENCY_NS, 123456);
    g_assert_cmpuint(time_of_chain(q, length, PINGPONG | 1), ==, 123956);
    ctl(q, NPU_CTL_LATENCY_NS, 0);

    /* 200 cycles per us, busy or not; none while gated. */
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    write_chain(q, 1);
    time_of_chain(q, length, PINGPONG | 1);
    qtest_clock_step(q, 3000);
    time_of_chain(q, length, PINGPONG | 1);
    qtest_clock_step(q, 1000);
    time_of_chain(q, length, PINGPONG | 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY_CYCLES), ==,
                     3 * (ROW_CYCLES + 100));
    g_assert_cmpuint(counter(q, 0, NPU_CNT_IDLE_CYCLES), ==, 800);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_GAPS), ==, 2);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_GAP_MIN_NS), ==, 1000);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_GAP_MAX_NS), ==, 3000);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_GAP_LAST_NS), ==, 1000);
    busy = counter(q, 0, NPU_CNT_BUSY_CYCLES);
    idle = counter(q, 0, NPU_CNT_IDLE_CYCLES);
    qtest_writel(q, CRU_GATE30, 0x01400140);
    qtest_clock_step(q, 1000000);
    qtest_writel(q, CRU_GATE30, 0x01400000);
    qtest_clock_step(q, 1000);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_IDLE_CYCLES), ==, idle + 200);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY_CYCLES), ==, busy);
    qtest_quit(q);
}

static void set_clock(QTestState *q, uint32_t hz)
{
    qtest_qmp_assert_success(q, "{ 'execute': 'qom-set', 'arguments': "
                             "{ 'path': '/machine/npu-core0', "
                             "'property': 'clock-frequency', 'value': %u } }",
                             hz);
}

static void test_clock(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 1);
    uint64_t busy;
    QDict *rsp;

    /* A quarter at 200, the rest at 600 MHz; gated for a while in between. */
    kick(q, length, PINGPONG | 1);
    qtest_clock_step(q, 500 + 5 * ROW_CYCLES / 4);
    set_clock(q, 600000000);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY), ==, 1);
    qtest_writel(q, CRU_GATE30, 0x01400140);
    qtest_clock_step(q, 1000000);
    qtest_writel(q, CRU_GATE30, 0x01400000);
    run_to_end(q, 0);
    busy = counter(q, 0, NPU_CNT_BUSY_NS);
    g_assert_cmpuint(busy, >=, 1000500 + 5 * ROW_CYCLES / 2);
    g_assert_cmpuint(busy, <=, 1000500 + 5 * ROW_CYCLES / 2 + 2);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);

    rsp = qtest_qmp(q, "{ 'execute': 'qom-set', 'arguments': "
                    "{ 'path': '/machine/npu-core0', "
                    "'property': 'clock-frequency', 'value': 0 } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    qtest_quit(q);
}

static void test_shared_memory(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 1);
    const uint64_t alone = ROW_BYTES * 2;   /* ns at 500 MB/s */
    uint64_t both, first, second;

    /* Enough for both: nobody notices the other. */
    kick_core(q, 0, length, PINGPONG | 1);
    kick_core(q, 1, length, PINGPONG | 1);
    run_to_end(q, 0);
    run_to_end(q, 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY_NS), ==, ROW_NS);
    g_assert_cmpuint(counter(q, 1, NPU_CNT_BUSY_NS), ==, ROW_NS);

    /* One alone; the rates are kept in KiB per second. */
    ctl(q, NPU_CTL_MEMORY_MBS, 500);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    kick_core(q, 0, length, PINGPONG | 1);
    run_to_end(q, 0);
    first = counter(q, 0, NPU_CNT_BUSY_NS) - 500;
    g_assert_cmpuint(first, >, alone - alone / 10000);
    g_assert_cmpuint(first, <, alone + alone / 10000);

    /* Two at once take twice as long. */
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    kick_core(q, 0, length, PINGPONG | 1);
    kick_core(q, 1, length, PINGPONG | 1);
    run_to_end(q, 0);
    run_to_end(q, 1);
    both = counter(q, 0, NPU_CNT_BUSY_NS) - 500;
    g_assert_cmpuint(both, >, 2 * first - first / 1000);
    g_assert_cmpuint(both, <, 2 * first + first / 1000);
    g_assert_cmpuint(counter(q, 1, NPU_CNT_BUSY_NS), ==, both + 500);

    /* The second starts at half of the first: 0.5 + 2 * 0.5, then alone. */
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    kick_core(q, 0, length, PINGPONG | 1);
    qtest_clock_step(q, first / 2);
    kick_core(q, 1, length, PINGPONG | 1);
    run_to_end(q, 0);
    run_to_end(q, 1);
    first = counter(q, 0, NPU_CNT_BUSY_NS) - 500;
    second = counter(q, 1, NPU_CNT_BUSY_NS) - 500;
    g_assert_cmpuint(first, >, alone * 3 / 2 - alone / 500);
    g_assert_cmpuint(first, <, alone * 3 / 2 + alone / 500);
    g_assert_cmpuint(second, >, alone * 3 / 2 - alone / 500);
    g_assert_cmpuint(second, <, alone * 3 / 2 + alone / 500);

    /* A fixed latency takes no memory. */
    ctl(q, NPU_CTL_LATENCY_NS, 1000);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    kick_core(q, 1, length, PINGPONG | 1);
    run_to_end(q, 1);
    g_assert_cmpuint(counter(q, 1, NPU_CNT_BUSY_NS), ==, 1500);
    qtest_quit(q);
}

/* --- Migration --- */

/* The clock of a qtest machine does not migrate: it is set beforehand. */
static QTestState *migrate_to(QTestState *q, const char *args)
{
    g_autofree char *dir = g_dir_make_tmp("npu-XXXXXX", NULL);
    g_autofree char *file = g_strdup_printf("file:%s/state", dir);
    int64_t time = now(q);
    QTestState *to;

    qtest_qmp_assert_success(q, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", file);
    wait_migration(q);
    qtest_quit(q);
    to = qtest_initf(MACHINE AS_IN_TRM "-incoming defer %s", args);
    qtest_clock_set(to, time);
    qtest_qmp_assert_success(to, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s } }", file);
    wait_migration(to);
    unlink(file + strlen("file:"));
    rmdir(dir);
    return to;
}

static QTestState *migrate(QTestState *q)
{
    return migrate_to(q, "");
}

static void test_migrate_pending(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 3);
    uint64_t whole = time_of_chain(q, length, PINGPONG | 3);

    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    qtest_memset(q, C_ADDR(0), 0, 0x300000);
    kick(q, length, PINGPONG | 3);
    run_to_raw(q, FEATURE << 1);
    run_to_count(q, NPU_CNT_REGCMD, 2 * (length + 1) + 1);
    qtest_clock_step(q, 100000);
    g_assert_cmphex(rd(q, 0x1000), ==, 1 << 16 | 2);

    q = migrate(q);
    g_assert_cmphex(rd(q, 0x1000), ==, 1 << 16 | 2);
    g_assert_cmphex(events(q), ==, FEATURE << 1);
    g_assert_cmpuint(result(q, 0), ==, 0);
    run_to_end(q, 0);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY_NS), ==, whole);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_STARTED), ==, 3);
    g_assert_cmphex(rd(q, TASK_STATUS), ==, 0x3003);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);
    g_assert_cmpuint(result(q, 2), ==, 2 * K);
    qtest_quit(q);
}

/* In the middle of reading ahead, at another clock. */
static void test_migrate_prefetch(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 2);
    uint64_t whole;

    set_clock(q, 300000000);
    whole = time_of_chain(q, length, PINGPONG | 2);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    qtest_memset(q, C_ADDR(0), 0, 0x300000);
    kick(q, length, PINGPONG | 2);
    qtest_clock_step(q, 700);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_STARTED), ==, 1);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_REGCMD), <=, 2 * (length + 1));
    q = migrate(q);
    run_to_end(q, 0);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY_NS), ==, whole);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    g_assert_cmpuint(result(q, 1), ==, 3 * K);
    qtest_quit(q);
}

/* Once more before the machine goes on: the task keeps what it has done. */
static void test_migrate_twice(void)
{
    QTestState *q = start("");
    uint32_t length = write_chain(q, 1);
    uint64_t whole = time_of_chain(q, length, PINGPONG | 1);

    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    qtest_memset(q, C_ADDR(0), 0, 0x1000);
    kick(q, length, PINGPONG | 1);
    run_to_raw(q, WEIGHT << 1);
    q = migrate(migrate_to(q, "-S"));
    qtest_qmp_assert_success(q, "{ 'execute': 'cont' }");
    run_to_end(q, 0);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_BUSY_NS), ==, whole);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    qtest_quit(q);
}

/* Tables of 2048 per 1.0 double halves, indexed by 1024 per 1.0. */
static void write_lut(QTestState *q)
{
    static const struct {
        uint16_t reg;
        uint32_t value;
    } body[] = {
        { 0x4004, 0xe }, { 0x5004, 0xe }, { 0x400c, 0x1e5 },
        { 0x4010, 2u << 29 | 2 << 26 | 2 }, { 0x4020, C_ADDR(0) },
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
    unsigned table, i;

    for (table = 0; table < 2; table++) {
        wr(q, 0x4100, 1 << 17 | table << 16);
        for (i = 0; i < 513; i++) {
            int v = 64 * (table ? (int)i : (int)i - 512);

            wr(q, 0x4104, (uint16_t)MAX(MIN(v, 32767), -32768));
        }
    }
    for (i = 0; i < ARRAY_SIZE(body); i++) {
        put(&p, body[i].reg, body[i].value);
    }
    put_raw(&p, 0x0041, 0, 0);
    put_raw(&p, 0x0081, 8, 0x18);
    write_prog(q, CMD_ADDR(0), &p);
}

static void test_migrate_lut(void)
{
    static const uint16_t in[8] = {
        0x3c00, 0xbc00, 0x0000, 0x3c02, 0x4000, 0xc200, 0x5400, 0xd400,
    };
    static const uint16_t want[8] = {
        0x4000, 0xc000, 0x0000, 0x4002, 0x4400, 0xc600, 0x5000, 0xd000,
    };
    QTestState *q = start("");
    unsigned i, round;

    for (i = 0; i < 8; i++) {
        qtest_writew(q, A_ADDR + 2 * i, in[i]);
    }
    write_lut(q);
    kick(q, 20, PINGPONG | 1);
    run_to_count(q, NPU_CNT_TASK_STARTED, 1);
    qtest_clock_step(q, 2000);
    q = migrate(q);
    g_assert_cmphex(qtest_readw(q, C_ADDR(0)), ==, 0);

    /* The task in flight, and one that finds the tables afterwards. */
    for (round = 0; round < 2; round++) {
        run_to_end(q, 0);
        for (i = 0; i < 8; i++) {
            g_assert_cmphex(qtest_readw(q, C_ADDR(0) + 2 * i), ==, want[i]);
        }
        qtest_memset(q, C_ADDR(0), 0, 16);
        kick(q, 20, PINGPONG | 1);
    }
    run_to_end(q, 0);
    g_assert_cmpuint(counter(q, 0, NPU_CNT_TASK_DONE), ==, 3);
    qtest_quit(q);
}

/* Wild groups, op-enables and clocks, in both modes. */
static void fuzz(const char *args)
{
    static const uint32_t reg[] = {
        0x1004, 0x3004, 0x4004, 0x5004, 0x1008, 0x3008, 0x4008, 0x5008,
        0x6008, 0x7008, GLOBAL_EN, GLOBAL_EN, 0x4100, 0x4104, BASE, TASK_CON,
    };
    static const uint32_t value[] = {
        0, 1, 6, 7, 0xe, 0xf, 0x1e, 0x2e, 0x3e, 0x0d, 0x1d, 0x18, 0x60, 0x7003,
    };
    g_autoptr(GRand) r = g_rand_new_with_seed(11);
    QTestState *q = start(args);
    unsigned round, i;
    uint32_t length;

    for (round = 0; round < 150; round++) {
        length = write_chain(q, 3);
        ctl(q, NPU_CTL_LATENCY_NS, round % 3 ? 20000 : 0);
        write_by_cpu(q, B_ADDR, C_ADDR(0));
        if (round % 2) {
            kick(q, length, PINGPONG | 3);
        } else {
            wr(q, BASE, 1);
            wr(q, GLOBAL_EN, 0x0d);
        }
        for (i = 0; i < 12; i++) {
            wr(q, reg[g_rand_int_range(r, 0, ARRAY_SIZE(reg))],
               value[g_rand_int_range(r, 0, ARRAY_SIZE(value))]);
            rd(q, g_rand_int_range(r, 1, 8) << 12);
            qtest_clock_step(q, g_rand_int_range(r, 100, 20000));
            if (i == 6) {
                set_clock(q, g_rand_int_range(r, 1, 1000000000));
            }
        }
        if (round % 4 == 0) {
            reset_core(q);
        }
    }
    reset_core(q);
    set_clock(q, 200000000);
    ctl(q, NPU_CTL_LATENCY_NS, 0);
    ctl(q, NPU_CTL_CMD, NPU_CTL_CMD_CLEAR_COUNTERS);
    qtest_memset(q, C_ADDR(0), 0, 4 * N);
    time_of_chain(q, write_chain(q, 1), PINGPONG | 1);
    g_assert_cmpuint(result(q, 0), ==, 2 * K);
    qtest_quit(q);
}

static void test_fuzz(void)
{
    fuzz("");
    fuzz("-global rk3588-npu-core.pp-banks=off");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rk3588-npu-pc/waiting", test_waiting);
    qtest_add_func("rk3588-npu-pc/prefetch", test_prefetch);
    qtest_add_func("rk3588-npu-pc/prefetch-stops", test_prefetch_stops);
    qtest_add_func("rk3588-npu-pc/banks", test_banks);
    qtest_add_func("rk3588-npu-pc/core-number", test_core_number);
    qtest_add_func("rk3588-npu-pc/order", test_order);
    qtest_add_func("rk3588-npu-pc/task-status", test_task_status);
    qtest_add_func("rk3588-npu-pc/task-status-halves",
                   test_task_status_halves);
    qtest_add_func("rk3588-npu-pc/slave", test_slave);
    qtest_add_func("rk3588-npu-pc/time", test_time);
    qtest_add_func("rk3588-npu-pc/clock", test_clock);
    qtest_add_func("rk3588-npu-pc/shared-memory", test_shared_memory);
    qtest_add_func("rk3588-npu-pc/migrate-pending", test_migrate_pending);
    qtest_add_func("rk3588-npu-pc/migrate-prefetch", test_migrate_prefetch);
    qtest_add_func("rk3588-npu-pc/migrate-twice", test_migrate_twice);
    qtest_add_func("rk3588-npu-pc/migrate-lut", test_migrate_lut);
    qtest_add_func("rk3588-npu-pc/fuzz", test_fuzz);
    return g_test_run();
}
