/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of the RK3588 NPU model's plain C parts: command streams, task
 * decoding, address spans and arithmetic.
 *
 * Cases are mutated programs of the unit tests.  A case that reaches code in
 * a way none before did becomes a base for further ones.  Buffers are exactly
 * as long as the task says, so that AddressSanitizer sees any byte beyond.
 */
#include "qemu/osdep.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>
#include "compute/dcomp.h"
#include "compute/timing.h"
#include "fuzz-case.h"

/* Above these a task is decoded and its spans are walked, no more. */
#define MAX_WORK        (1u << 20)
#define MAX_BYTES       (1u << 20)
/* Longer walks are rarely worth their time. */
#define MAX_ROWS        (1u << 15)
/* CPU time of one case; only a loop without end takes that long. */
#define CASE_SECONDS    120
/* More than any task that is not refused can cost. */
#define MAX_CYCLES      (NPU_TASK_MAX_MACS * 16)
#define MAX_TRAFFIC     (8ull * NPU_TASK_MAX_BUFFER)
#define COVERAGE_SIZE   65536
#define MAX_CORPUS      8192

typedef struct Field {
    uint32_t reg;
    uint8_t shift, len;
} Field;

/* Registers are fields of 32 bits. */
static const Field field[] = {
#define NPU_REG(block, reg, offset)     { offset, 0, 32 },
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    { A_##block##_##reg, lsb, width },
#include "npu/rk3588_regs.h"
};

static FuzzCase *corpus;
static unsigned corpus_n;
static const FuzzCase *current;
static const char *crash_path = "crash";
static uint64_t rng = 1;

typedef struct Tally {
    uint64_t cases, ran, computed, refused, stalled, incomplete;
} Tally;

static Tally tally;

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

/* --- Reporting --- */

static void save_crash(void)
{
    FILE *f = current ? fopen(crash_path, "w") : NULL;

    if (f) {
        fuzz_case_write(current, f);
        fclose(f);
        fprintf(stderr, "# case saved to %s\n", crash_path);
    }
}

__attribute__((format(printf, 1, 2), noreturn))
static void finding(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "# finding: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    save_crash();
    printf("not ok 1 - hostile programs\n1..1\n");
    fflush(stdout);
    _exit(1);
}

static void too_long(int sig)
{
    finding("no end after %d s", CASE_SECONDS);
}

static void limit_time(void)
{
    struct itimerval t = { .it_value.tv_sec = CASE_SECONDS };

    setitimer(ITIMER_PROF, &t, NULL);
}

/* --- Coverage --- */

void __sanitizer_cov_trace_pc(void);

static uint8_t hits[COVERAGE_SIZE] QEMU_ALIGNED(8);
static uint8_t seen[COVERAGE_SIZE];
static uint32_t last_pc;

/* Edges between places, as the compiler's instrumentation reports them. */
void __sanitizer_cov_trace_pc(void)
{
    uint32_t pc = (uintptr_t)__builtin_return_address(0);
    uint32_t place = (pc * 2654435761u) >> 16;
    uint8_t *h = &hits[(place ^ last_pc) % COVERAGE_SIZE];

    *h += *h < 255;
    last_pc = place >> 1;
}

/* Once, twice, a few times, often: more precision finds nothing new. */
static uint8_t bucket(uint8_t n)
{
    return n < 3 ? n : n < 32 ? 4 : n < 255 ? 8 : 16;
}

static bool new_coverage(void)
{
    const uint64_t *word = (const uint64_t *)hits;
    bool any = false;
    unsigned i;

    for (i = 0; i < COVERAGE_SIZE; i++) {
        uint8_t b;

        if (i % 8 == 0 && !word[i / 8]) {
            i += 7;
            continue;
        }
        b = bucket(hits[i]);
        any |= b & ~seen[i];
        seen[i] |= b;
    }
    return any;
}

/* --- Running a case --- */

typedef struct Walk {
    size_t size;
    uint64_t bytes;
    uint8_t *mark;          /* of each byte, unless there are too many */
} Walk;

static void mark_span(const Walk *w, size_t offset, size_t len)
{
    if (memchr(w->mark + offset, 1, len)) {
        finding("two spans with byte %zu to %zu", offset, offset + len - 1);
    }
    memset(w->mark + offset, 1, len);
}

static bool note_span(void *opaque, uint64_t iova, size_t offset, size_t len)
{
    Walk *w = opaque;

    if (!len || offset > w->size || len > w->size - offset) {
        finding("span of %zu bytes at %zu of %zu", len, offset, w->size);
    }
    if (iova > UINT32_MAX) {
        finding("IOVA 0x%llx", (unsigned long long)iova);
    }
    if (w->mark) {
        mark_span(w, offset, len);
    }
    w->bytes += len;
    return true;
}

static bool stop_walk(void *opaque, uint64_t iova, size_t offset, size_t len)
{
    return !++*(unsigned *)opaque;
}

static void check_cube(const NpuCube *cube, const char *what)
{
    if (cube->bytes > NPU_TASK_MAX_BUFFER) {
        finding("%s of %zu bytes", what, cube->bytes);
    }
    if ((uint64_t)cube->surfaces * cube->height * cube->row_bytes !=
        cube->bytes) {
        finding("%s is not as big as its rows", what);
    }
}

static bool walkable(const NpuCube *cube)
{
    return (uint64_t)cube->surfaces * cube->height <= MAX_ROWS || one_in(64);
}

static void check_spans(const NpuTask *t, bool (*spans)(const NpuTask *t,
                        NpuSpanFn fn, void *opaque), const NpuCube *cube,
                        const char *what)
{
    Walk w = { .size = cube->bytes };
    unsigned calls = 0;

    check_cube(cube, what);
    if (!cube->bytes || !walkable(cube)) {
        return;
    }
    w.mark = w.size <= MAX_BYTES ? calloc(1, w.size) : NULL;
    if (!spans(t, note_span, &w) || w.bytes != cube->bytes) {
        finding("%s: spans of %llu bytes for %zu", what,
                (unsigned long long)w.bytes, cube->bytes);
    }
    free(w.mark);
    if (spans(t, stop_walk, &calls) || calls != 1) {
        finding("%s: %u spans after a failure", what, calls);
    }
}

static bool ew_spans(const NpuTask *t, NpuSpanFn fn, void *opaque)
{
    return npu_task_feed_spans(t, NPU_FEED_EW, fn, opaque);
}

static bool main_spans(const NpuTask *t, NpuSpanFn fn, void *opaque)
{
    return npu_task_feed_spans(t, NPU_FEED_MAIN, fn, opaque);
}

/* Events come before the end of their task, in the order of the blocks. */
static void check_cost(const NpuTask *t)
{
    NpuCost c;

    npu_task_cost(t, &c);
    if (!c.cycles || c.cycles > MAX_CYCLES) {
        finding("%llu cycles", (unsigned long long)c.cycles);
    }
    if (c.bytes < t->dpu.out.cube.bytes || c.bytes > MAX_TRAFFIC) {
        finding("%llu bytes of traffic", (unsigned long long)c.bytes);
    }
    if (c.at[NPU_EVENT_FEATURE] > c.at[NPU_EVENT_WEIGHT] ||
        c.at[NPU_EVENT_WEIGHT] > c.at[NPU_EVENT_CSC] ||
        c.at[NPU_EVENT_CSC] > c.at[NPU_EVENT_CORE] ||
        c.at[NPU_EVENT_CORE] > c.cycles) {
        finding("events at %llu, %llu, %llu, %llu of %llu cycles",
                (unsigned long long)c.at[0], (unsigned long long)c.at[1],
                (unsigned long long)c.at[2], (unsigned long long)c.at[3],
                (unsigned long long)c.cycles);
    }
}

static void check_task(const NpuTask *t)
{
    check_spans(t, npu_task_feature_spans, &t->conv.feature.cube, "feature");
    check_spans(t, ew_spans, &t->feed[NPU_FEED_EW].cube, "EW operand");
    check_spans(t, main_spans, &t->feed[NPU_FEED_MAIN].cube, "input");
    check_spans(t, npu_task_output_spans, &t->dpu.out.cube, "output");
    if (!t->dpu.out.cube.bytes) {
        finding("task without output");
    }
    if (t->conv.weight_bytes > NPU_TASK_MAX_WEIGHTS) {
        finding("weights of %zu bytes", t->conv.weight_bytes);
    }
    if (t->macs > NPU_TASK_MAX_MACS) {
        finding("%llu multiplications", (unsigned long long)t->macs);
    }
    check_cost(t);
    if (t->kind == NPU_KIND_CONV) {
        npu_task_cbuf_short(t);
        npu_task_cbuf_entries(t);
    }
}

static uint64_t work_of(const NpuTask *t)
{
    uint64_t taps = t->kind == NPU_KIND_POOL ? t->pool.k_w * t->pool.k_h : 1;

    return t->macs + taps * t->dpu.out.cube.bytes +
           t->conv.feature.cube.bytes + t->conv.weight_bytes;
}

static bool computable(const NpuTask *t)
{
    unsigned i;

    for (i = 0; i < NPU_FEED_NUM; i++) {
        if (t->feed[i].cube.bytes > MAX_BYTES) {
            return false;
        }
    }
    return work_of(t) <= MAX_WORK && t->conv.atoms.bytes <= MAX_BYTES;
}

/* Noise, zeros, or extreme values; from the case's own generator. */
static uint8_t *operand(uint64_t *s, size_t size)
{
    uint8_t *p = malloc(size);
    unsigned style = (*s >> 20) % 8;
    size_t i;

    for (i = 0; i < size; i++) {
        *s ^= *s << 13;
        *s ^= *s >> 7;
        *s ^= *s << 17;
        p[i] = style == 0 ? 0 : style == 1 ? 0xff : style == 2 ? 0x80 :
               style == 3 ? 0x7f : *s >> 16;
    }
    return p;
}

static bool compute_into(const NpuTask *t, const NpuOperands *in,
                         uint8_t *out, uint8_t fill)
{
    memset(out, fill, t->dpu.out.cube.bytes);
    return npu_task_compute(t, in, out);
}

/* Whatever of the output is not written would be the host's heap. */
static void check_output(const NpuTask *t, NpuOperands *in, unsigned skip)
{
    size_t size = t->dpu.out.cube.bytes;
    uint8_t *a = malloc(size), *b = malloc(size);
    bool ok = compute_into(t, in, a, 0x5a);

    if (ok != !*in->cancel) {
        finding("computing %s", ok ? "was not cancelled" : "failed");
    }
    in->skip_kernels = skip;
    if (ok && (!compute_into(t, in, b, 0xa5) || memcmp(a, b, size))) {
        finding("output that is not written, or depends on the kernel");
    }
    free(a);
    free(b);
}

/* Noise as compressed weights; what it does not give stays what it was. */
static void expand_noise(uint64_t *s, const NpuConv *conv, uint8_t *weights)
{
    uint8_t *stream;

    if (conv->dcomp.on) {
        stream = operand(s, conv->dcomp.bytes);
        npu_dcomp_expand(&conv->dcomp, stream, weights, conv->weight_bytes);
        free(stream);
    }
}

static void compute(const NpuTask *t, const FuzzCase *c)
{
    uint64_t s = c->data * 2654435761ull + 88172645463325252ull;
    int cancel = c->cancel;
    NpuOperands in = { .cancel = &cancel };
    unsigned i;

    in.feature = operand(&s, t->conv.feature.cube.bytes);
    in.weights = operand(&s, t->conv.weight_bytes);
    expand_noise(&s, &t->conv, (uint8_t *)in.weights);
    for (i = 0; i < NPU_STAGE_NUM; i++) {
        in.stage[i] = operand(&s, npu_task_stage_bytes(t, i));
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        in.feed[i] = operand(&s, t->feed[i].cube.bytes);
    }
    check_output(t, &in, c->data % 4);
    free((void *)in.feature);
    free((void *)in.weights);
    for (i = 0; i < NPU_STAGE_NUM; i++) {
        free((void *)in.stage[i]);
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        free((void *)in.feed[i]);
    }
}

static void fill_lut(NpuLut *lut, const FuzzCase *c)
{
    uint64_t s = c->data + 88172645463325252ull;
    unsigned table, i;

    for (table = 0; table < NPU_LUT_TABLES; table++) {
        npu_lut_access(lut, table << 16 | 1 << 17);
        for (i = 0; i < NPU_LUT_ENTRIES; i++) {
            s = s * 6364136223846793005ull + 1442695040888963407ull;
            npu_lut_data(lut, s >> 33);
        }
    }
}

static void run_task(const FuzzCase *c, const uint32_t *regs, uint32_t enable,
                     const NpuLut *lut)
{
    NpuTaskOptions opt = {
        .encoding = c->encoding,
        .write_padding = c->padding,
        .idle_ppu_rdma = c->idle_rdma,
        .lut = lut,
    };
    const char *why = "";
    NpuVerdict v;
    NpuTask t;

    /* What decoding does not set must not matter. */
    memset(&t, 0xa5, sizeof(t));
    v = npu_task_decode(&t, regs, enable, &opt, &why);
    if ((v == NPU_TASK_RUN) != !why) {
        finding("verdict %d because of %s", v, why ? why : "nothing");
    }
    if (v != NPU_TASK_RUN) {
        tally.refused += v == NPU_TASK_UNIMP;
        tally.stalled += v == NPU_TASK_STALL;
        return;
    }
    tally.ran++;
    check_task(&t);
    if (computable(&t)) {
        tally.computed++;
        compute(&t, c);
    }
}

/* The register file is that of the task before, as in a chain. */
static void run_case(const FuzzCase *c)
{
    static uint32_t regs[NPU_REGFILE_WORDS];
    static NpuLut lut;
    bool enabled = false;
    unsigned i;

    current = c;
    limit_time();
    memset(regs, 0, sizeof(regs));
    memset(&lut, 0, sizeof(lut));
    if (c->lut) {
        fill_lut(&lut, c);
    }
    for (i = 0; i < c->n; i++) {
        NpuCmd cmd = npu_cmd_decode(c->cmd[i]);

        if (cmd.kind == NPU_CMD_WRITE) {
            regs[cmd.reg / 4] = cmd.value;
            if (cmd.reg == A_DPU_LUT_ACCESS_CFG) {
                npu_lut_access(&lut, cmd.value);
            } else if (cmd.reg == A_DPU_LUT_ACCESS_DATA) {
                npu_lut_data(&lut, cmd.value);
            }
        } else if (cmd.kind == NPU_CMD_ENABLE) {
            enabled = true;
            run_task(c, regs, cmd.value, &lut);
        }
    }
    tally.cases++;
    tally.incomplete += !enabled;
}

/* --- Mutations --- */

static uint64_t *find_write(FuzzCase *c, uint32_t reg)
{
    unsigned i;

    for (i = c->n; i > 0; i--) {
        uint64_t e = c->cmd[i - 1];

        if ((uint16_t)e == reg && (e >> 48 & 0xff) == NPU_TARGET_WRITE) {
            return &c->cmd[i - 1];
        }
    }
    return NULL;
}

static uint32_t get_reg(FuzzCase *c, uint32_t reg)
{
    const uint64_t *e = find_write(c, reg);

    return e ? *e >> 16 : 0;
}

static void set_reg(FuzzCase *c, uint32_t reg, uint32_t value)
{
    uint64_t *e = find_write(c, reg);

    if (e) {
        *e = fuzz_write_entry(reg, value);
    } else if (value && c->n < FUZZ_MAX_CMDS) {
        /* Before everything, so that no enable entry comes first. */
        memmove(c->cmd + 1, c->cmd, c->n++ * sizeof(*c->cmd));
        c->cmd[0] = fuzz_write_entry(reg, value);
    }
}

static uint32_t field_mask(const Field *f)
{
    return f->len == 32 ? UINT32_MAX : (1u << f->len) - 1;
}

static uint32_t get_field(FuzzCase *c, const Field *f)
{
    return get_reg(c, f->reg) >> f->shift & field_mask(f);
}

static void set_field(FuzzCase *c, const Field *f, uint32_t value)
{
    uint32_t mask = field_mask(f) << f->shift;
    uint32_t old = get_reg(c, f->reg);

    set_reg(c, f->reg, (old & ~mask) | (value << f->shift & mask));
}

static const Field *any_field(void)
{
    return &field[below(sizeof(field) / sizeof(*field))];
}

static uint32_t edge_value(uint32_t old)
{
    static const uint32_t edge[] = {
        0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256,
        511, 512, 1023, 1024, 2047, 4095, 8191, 16383, 32767, 32768, 65535,
        0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0,
    };

    switch (below(6)) {
    case 0:
        return old ^ 1u << below(32);
    case 1:
        return old + below(9) - 4;
    case 2:
        return rnd();
    case 3:
        return below(64);
    default:
        return edge[below(sizeof(edge) / sizeof(*edge))];
    }
}

static void mutate_field(FuzzCase *c)
{
    const Field *f = any_field();

    set_field(c, f, edge_value(get_field(c, f)));
}

/* Values are often repeated, as they are or less 1: change them together. */
static void mutate_alike(FuzzCase *c)
{
    const Field *f = any_field();
    uint32_t old = get_field(c, f);
    uint32_t value = one_in(2) ? below(64) : edge_value(old);
    unsigned i;

    if (!old) {
        mutate_field(c);
        return;
    }
    for (i = 0; i < sizeof(field) / sizeof(*field); i++) {
        uint32_t v = get_field(c, &field[i]);

        if (v == old) {
            set_field(c, &field[i], value);
        } else if (v == old - 1) {
            set_field(c, &field[i], value - 1);
        } else if (v == old + 1) {
            set_field(c, &field[i], value + 1);
        }
    }
}

/* Registers of one block, or all of them, from another task. */
static void mutate_splice(FuzzCase *c)
{
    const FuzzCase *from = &corpus[below(corpus_n)];
    unsigned block = 1 + below(7);
    unsigned share = 1 + below(4);
    unsigned i;

    for (i = 0; i < from->n; i++) {
        NpuCmd cmd = npu_cmd_decode(from->cmd[i]);

        if (cmd.kind == NPU_CMD_WRITE && cmd.reg >> 12 == block &&
            one_in(share)) {
            set_reg(c, cmd.reg, cmd.value);
        }
    }
}

/* Another task behind this one, in what it leaves in the registers. */
static void mutate_chain(FuzzCase *c)
{
    const FuzzCase *next = &corpus[below(corpus_n)];
    unsigned first = one_in(2) ? 0 : below(next->n + 1);
    unsigned i;

    for (i = first; i < next->n; i++) {
        fuzz_case_add(c, next->cmd[i]);
    }
}

static void mutate_enable(FuzzCase *c)
{
    static const uint32_t known[] = { 0x0d, 0x1d, 0x18, 0x60, 0x78, 0x7d };

    fuzz_case_enable(c, one_in(2) ? below(256) : one_in(8) ? rnd() :
                     known[below(sizeof(known) / sizeof(*known))]);
}

static void mutate_entry(FuzzCase *c)
{
    unsigned i = c->n ? below(c->n) : 0, j = c->n ? below(c->n) : 0;
    uint64_t e;

    if (!c->n) {
        return;
    }
    switch (below(4)) {
    case 0:
        c->cmd[i] ^= 1ull << below(64);
        break;
    case 1:
        memmove(c->cmd + i, c->cmd + i + 1, (--c->n - i) * sizeof(e));
        break;
    case 2:
        e = c->cmd[i];
        c->cmd[i] = c->cmd[j];
        c->cmd[j] = e;
        break;
    default:
        c->cmd[i] = (uint64_t)rnd() << 32 | rnd();
    }
}

static void random_stream(FuzzCase *c)
{
    unsigned i, n = below(FUZZ_MAX_CMDS);

    c->n = 0;
    for (i = 0; i < n; i++) {
        const Field *f = any_field();

        if (one_in(8)) {
            fuzz_case_add(c, (uint64_t)rnd() << 32 | rnd());
        } else {
            fuzz_case_put(c, f->reg, edge_value(0));
        }
    }
    mutate_enable(c);
}

#define FIELD_OF(reg, name)                                             \
    (&(const Field) { A_##reg, R_##reg##_##name##_SHIFT,                \
                      R_##reg##_##name##_LENGTH })
#define GET(c, reg, name)               get_field(c, FIELD_OF(reg, name))
#define SET(c, reg, name, value)        set_field(c, FIELD_OF(reg, name), value)

/* The size of the DPU's cube to all who must agree about it. */
static void repair_dpu(FuzzCase *c)
{
    uint32_t w = GET(c, DPU_DATA_CUBE_WIDTH, WIDTH);
    uint32_t h = GET(c, DPU_DATA_CUBE_HEIGHT, HEIGHT);
    uint32_t ch = GET(c, DPU_DATA_CUBE_CHANNEL, CHANNEL);

    SET(c, DPU_WDMA_SIZE_0, CHANNEL, ch);
    SET(c, DPU_WDMA_SIZE_1, WIDTH, w);
    SET(c, DPU_WDMA_SIZE_1, HEIGHT, h);
    SET(c, RDMA_DATA_CUBE_WIDTH, WIDTH, w);
    SET(c, RDMA_DATA_CUBE_HEIGHT, HEIGHT, h);
    SET(c, RDMA_DATA_CUBE_CHANNEL, CHANNEL, ch);
    if (GET(c, DPU_DATA_CUBE_CHANNEL, ORIG_CHANNEL) > ch) {
        SET(c, DPU_DATA_CUBE_CHANNEL, ORIG_CHANNEL, below(ch + 1));
    }
}

static void repair_conv(FuzzCase *c)
{
    uint32_t w = GET(c, CNA_DATA_SIZE2, DATAOUT_WIDTH);
    uint32_t h = GET(c, DPU_DATA_CUBE_HEIGHT, HEIGHT);
    uint32_t ch = GET(c, DPU_DATA_CUBE_CHANNEL, CHANNEL);
    static const uint8_t bits[] = { 8, 16, 16, 16, 32, 32, 4, 32 };
    uint32_t kernel;

    SET(c, CNA_DATA_SIZE1, DATAIN_CHANNEL_REAL, 0);
    SET(c, CORE_DATAOUT_SIZE_0, WIDTH, w - 1);
    SET(c, CORE_DATAOUT_SIZE_0, HEIGHT, h);
    SET(c, CORE_DATAOUT_SIZE_1, CHANNEL, ch);
    SET(c, CNA_DATA_SIZE3, DATAOUT_ATOMICS, w * (h + 1));
    SET(c, DPU_DATA_CUBE_WIDTH, WIDTH, w - 1);
    kernel = GET(c, CNA_WEIGHT_SIZE2, WIDTH) *
             GET(c, CNA_WEIGHT_SIZE2, HEIGHT) *
             GET(c, CNA_DATA_SIZE1, DATAIN_CHANNEL) *
             bits[GET(c, CNA_CONV_CON1, IN_PRECISION)] / 8;
    SET(c, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL, kernel);
    set_reg(c, A_CNA_WEIGHT_SIZE0,
            kernel * GET(c, CNA_WEIGHT_SIZE2, KERNELS));
}

static void repair_pool(FuzzCase *c)
{
    uint32_t ch = GET(c, PPU_DATA_CUBE_IN_CHANNEL, CHANNEL);

    SET(c, PPU_DATA_CUBE_OUT_CHANNEL, CHANNEL, ch);
    SET(c, PPU_RDMA_CUBE_IN_CHANNEL, CHANNEL, ch);
    SET(c, PPU_RDMA_CUBE_IN_WIDTH, WIDTH,
        GET(c, PPU_DATA_CUBE_IN_WIDTH, WIDTH));
    SET(c, PPU_RDMA_CUBE_IN_HEIGHT, HEIGHT,
        GET(c, PPU_DATA_CUBE_IN_HEIGHT, HEIGHT));
}

static void mutate(FuzzCase *c)
{
    switch (below(16)) {
    case 0:
        mutate_entry(c);
        break;
    case 1:
        mutate_enable(c);
        break;
    case 2:
        mutate_splice(c);
        break;
    case 3:
        mutate_chain(c);
        break;
    case 4: case 5: case 6: case 7: case 8:
        mutate_alike(c);
        break;
    default:
        mutate_field(c);
    }
}

/* Most changes contradict another register, and would end in its check. */
static void repair(FuzzCase *c)
{
    if (find_write(c, A_PPU_DATA_CUBE_IN_WIDTH)) {
        repair_pool(c);
    }
    if (find_write(c, A_CNA_CONV_CON1)) {
        repair_conv(c);
    }
    repair_dpu(c);
}

static void new_case(FuzzCase *c)
{
    unsigned i, n = 1 + below(one_in(8) ? 16 : 4);

    *c = corpus[below(corpus_n)];
    c->data = rnd();
    c->cancel = one_in(64);
    c->padding ^= one_in(8);
    c->idle_rdma ^= one_in(8);
    c->lut ^= one_in(16);
    if (one_in(64)) {
        c->encoding = below(NPU_ENCODING_NUM);
    }
    if (one_in(256)) {
        random_stream(c);
        return;
    }
    for (i = 0; i < n; i++) {
        mutate(c);
    }
    /* The RK3576 and the RK3562 have other registers there. */
    if (c->encoding != NPU_ENCODING_RK3576 &&
        c->encoding != NPU_ENCODING_RK3562 && !one_in(3)) {
        repair(c);
    }
}

static bool run_and_keep(const FuzzCase *c)
{
    memset(hits, 0, sizeof(hits));
    last_pc = 0;
    run_case(c);
    if (!new_coverage() || corpus_n == MAX_CORPUS) {
        return false;
    }
    corpus[corpus_n++] = *c;
    return true;
}

/* --- Main --- */

static bool load_seeds(const char *path)
{
    FILE *f = fopen(path, "r");
    FuzzCase c = { 0 };

    if (!f) {
        perror(path);
        return false;
    }
    while (fuzz_case_read(&c, f)) {
        run_and_keep(&c);
    }
    fclose(f);
    return corpus_n;
}

static double cpu_time(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void fuzz(uint64_t cases, double seconds)
{
    double end = cpu_time() + seconds;
    uint64_t n;
    FuzzCase c;

    for (n = 0; cases ? n < cases : n % 64 || cpu_time() < end; n++) {
        new_case(&c);
        run_and_keep(&c);
    }
}

static void print_tally(unsigned bases)
{
    printf("# %llu cases in %.0f s of CPU time: tasks that ran %llu (computed "
           "%llu), were refused %llu, stalled %llu; streams without enable "
           "%llu\n", (unsigned long long)tally.cases, cpu_time(),
           (unsigned long long)tally.ran, (unsigned long long)tally.computed,
           (unsigned long long)tally.refused,
           (unsigned long long)tally.stalled,
           (unsigned long long)tally.incomplete);
    printf("# %u seeds of use, %u cases found new paths\n", bases,
           corpus_n - bases);
}

static int usage(const char *name)
{
    fprintf(stderr, "usage: %s [--cases N | --seconds N] [--seed N] "
            "[--crash FILE] SEEDS\n       %s --replay FILE\n", name, name);
    return 2;
}

static int replay(const char *path)
{
    FILE *f = fopen(path, "r");
    FuzzCase c = { 0 };

    if (!f || !fuzz_case_read(&c, f)) {
        fprintf(stderr, "%s: no case\n", path);
        return 2;
    }
    fclose(f);
    run_case(&c);
    print_tally(0);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t cases = 0;
    double seconds = 0;
    unsigned bases;
    int i;

    signal(SIGPROF, too_long);
    if (argc == 3 && !strcmp(argv[1], "--replay")) {
        return replay(argv[2]);
    }
    for (i = 1; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (!strcmp(argv[i], "--cases")) {
            cases = strtoull(argv[i + 1], NULL, 0);
        } else if (!strcmp(argv[i], "--seconds")) {
            seconds = strtod(argv[i + 1], NULL);
        } else if (!strcmp(argv[i], "--seed")) {
            rng = strtoull(argv[i + 1], NULL, 0) * 2654435761ull + 1;
        } else if (!strcmp(argv[i], "--crash")) {
            crash_path = argv[i + 1];
        } else {
            return usage(argv[0]);
        }
    }
    if (i != argc - 1 || (!cases && seconds <= 0)) {
        return usage(argv[0]);
    }
    printf("TAP version 13\n");
    fflush(stdout);
    __sanitizer_set_death_callback(save_crash);
    corpus = calloc(MAX_CORPUS, sizeof(*corpus));
    if (!corpus || !load_seeds(argv[i])) {
        return 2;
    }
    bases = corpus_n;
    fuzz(cases, seconds);
    print_tally(bases);
    printf("%sok 1 - hostile programs\n1..1\n",
           tally.computed && tally.refused && tally.stalled ? "" : "not ");
    free(corpus);
    return 0;
}
