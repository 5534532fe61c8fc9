/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of random NPU programs need: a guest memory, a command
 * stream, and a core that runs it without a machine.
 */
#ifndef NPU_HARNESS_H
#define NPU_HARNESS_H

#include "qemu/osdep.h"
#include <stdarg.h>
#include <stdio.h>
#include "compute/dcomp.h"
#include "compute/task.h"

#ifndef MEM_BASE
#define MEM_BASE        0x10000000u
#endif
#ifndef MEM_SIZE
#define MEM_SIZE        (8u << 20)
#endif
#define POISON          0xa5

typedef struct Prog {
    uint64_t cmd[1400];
    unsigned n;
} Prog;

static uint8_t mem[MEM_SIZE];
static uint64_t rnd_state;
/* How many of the array's kernels to pass over, so that all get their turn. */
static unsigned skip_kernels;
/* Tasks beyond this are decoded, not computed: for programs that go wild. */
static uint64_t max_macs = UINT64_MAX;

/* Whether what CBUF is too small for is refused. */
static bool must_fit;

static unsigned tests, failures;

__attribute__((format(printf, 2, 3)))
static inline void report(bool ok, const char *fmt, ...)
{
    va_list ap;

    tests++;
    failures += !ok;
    printf("%sok %u - ", ok ? "" : "not ", tests);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

static inline uint8_t *at(uint32_t iova)
{
    return mem + (iova - MEM_BASE);
}

/* xorshift64: the same programs on every host. */
static inline uint32_t rnd(void)
{
    rnd_state ^= rnd_state << 13;
    rnd_state ^= rnd_state >> 7;
    rnd_state ^= rnd_state << 17;
    return rnd_state >> 16;
}

static inline int rnd_in(int lo, int hi)
{
    return lo + (int)(rnd() % (uint32_t)(hi - lo + 1));
}

/* True once in @n. */
static inline bool one_in(unsigned n)
{
    return rnd() % n == 0;
}

static inline void put(Prog *p, uint16_t reg, uint32_t value)
{
    uint64_t target = 1u << (8 + (reg >> 12)) | 1;

    p->cmd[p->n++] = target << 48 | (uint64_t)value << 16 | reg;
}

static inline void start(Prog *p, uint32_t enable)
{
    p->cmd[p->n++] = 0x0081ull << 48 | (uint64_t)enable << 16 | 8;
}

/* Whether tasks may touch it, for programs that know of parts. */
#ifndef MEM_IS_MAPPED
#define MEM_IS_MAPPED(iova, len) true
#endif

static inline bool mem_has(uint64_t iova, size_t len)
{
    /* Less than MEM_BASE wraps. */
    return len <= MEM_SIZE && iova - MEM_BASE <= MEM_SIZE - len &&
           MEM_IS_MAPPED(iova, len);
}

typedef struct Copy {
    uint8_t *host;
    size_t size;
    bool write;
} Copy;

static inline bool copy_span(void *opaque, uint64_t iova, size_t offset,
                             size_t len)
{
    Copy *c = opaque;

    if (offset > c->size || len > c->size - offset) {
        printf("# span outside its buffer\n");
        abort();
    }
    if (!mem_has(iova, len)) {
        return false;
    }
    if (c->write) {
        memcpy(at(iova), c->host + offset, len);
    } else {
        memcpy(c->host + offset, at(iova), len);
    }
    return true;
}

/*
 * Products of tame halves: 32 are summed exactly, rounded to fp32, and added
 * in fp32 to those before.
 */
static inline float half_products(const float *a, const float *b, int n)
{
    float sum = 0;
    int i, j;

    for (i = 0; i < n; i += 32) {
        double exact = 0;

        for (j = i; j < n && j < i + 32; j++) {
            exact += (double)a[j] * b[j];
        }
        sum += (float)exact;
    }
    return sum;
}

/*
 * An int8 depthwise convolution hands over words of 64 channels at a position,
 * 16 atoms, and the write DMA takes as many for each as its group has: where
 * the atom of @surface at @pos lands.
 */
static inline void deal_words(int group, int positions, int *surface, int *pos)
{
    int nth = (*surface / 16 * positions + *pos) * 16 + *surface % 16;
    int rest = nth % (group * positions);

    *surface = nth / (group * positions) * group + rest % group;
    *pos = rest / group;
}

/* Exactly as long as asked for, so that sanitizers see a step too far. */
static inline uint8_t *fetch(uint64_t iova, size_t len, bool *ok)
{
    uint8_t *host = malloc(len ? len : 1);

    *ok = *ok && (!len || mem_has(iova, len));
    if (*ok && len) {
        memcpy(host, at(iova), len);
    }
    return host;
}

/* What is wrong with the compressed weights of the last task. */
static const char *bad_weights;

static inline uint8_t *fetch_weights(const NpuConv *c, bool *ok)
{
    uint8_t *stream, *weights;

    bad_weights = NULL;
    if (!c->dcomp.on) {
        return fetch(c->weights, c->weight_bytes, ok);
    }
    stream = fetch(c->weights, c->dcomp.bytes, ok);
    weights = malloc(c->weight_bytes);
    if (*ok) {
        bad_weights = npu_dcomp_expand(&c->dcomp, stream, weights,
                                       c->weight_bytes);
        *ok = !bad_weights;
    }
    free(stream);
    return weights;
}

/* What CBUF has of the last convolution, for rows that one keeps. */
static NpuCube last_cube;
static uint8_t *last_feature;

static inline bool keep_rows(const NpuTask *t, uint8_t *feature)
{
    bool ok = !npu_task_keep_rows(t, feature, last_feature ? &last_cube : NULL,
                                  last_feature);

    if (t->kind == NPU_KIND_CONV) {
        last_cube = t->conv.feature.cube;
    }
    return ok;
}

static inline bool execute(const NpuTask *t)
{
    Copy feature = { .size = t->conv.feature.cube.bytes };
    Copy out = { .size = t->dpu.out.cube.bytes, .write = true };
    Copy feed[NPU_FEED_NUM];
    NpuOperands in = { .skip_kernels = skip_kernels };
    bool ok = true;
    unsigned i;

    if (t->macs > max_macs) {
        return true;
    }
    feature.host = malloc(feature.size + 1);
    out.host = malloc(out.size);
    in.feature = feature.host;
    in.weights = fetch_weights(&t->conv, &ok);
    ok = ok && keep_rows(t, feature.host) &&
         npu_task_feature_spans(t, copy_span, &feature);
    for (i = 0; i < NPU_STAGE_NUM; i++) {
        in.stage[i] = fetch(t->dpu.stage[i].addr, npu_task_stage_bytes(t, i),
                            &ok);
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        feed[i] = (Copy) { .size = t->feed[i].cube.bytes };
        in.feed[i] = feed[i].host = malloc(feed[i].size + 1);
        ok = ok && npu_task_feed_spans(t, i, copy_span, &feed[i]);
    }
    ok = ok && npu_task_compute(t, &in, out.host) &&
         npu_task_output_spans(t, copy_span, &out);
    if (t->kind == NPU_KIND_CONV) {
        free(last_feature);
        last_feature = feature.host;
    } else {
        free(feature.host);
    }
    free(out.host);
    free((void *)in.weights);
    for (i = 0; i < NPU_STAGE_NUM; i++) {
        free((void *)in.stage[i]);
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        free(feed[i].host);
    }
    return ok;
}

/* The tables keep their contents from program to program. */
static inline NpuVerdict run_prog(const Prog *p, NpuTaskOptions opt,
                                  const char **why)
{
    static uint32_t regs[NPU_REGFILE_WORDS];
    static NpuLut lut;
    static NpuTask t;
    NpuVerdict verdict;
    unsigned i;

    opt.lut = &lut;
    memset(regs, 0, sizeof(regs));
    for (i = 0; i < p->n; i++) {
        NpuCmd cmd = npu_cmd_decode(p->cmd[i]);

        if (cmd.kind == NPU_CMD_WRITE) {
            regs[cmd.reg / 4] = cmd.value;
            if (cmd.reg == 0x4100) {
                npu_lut_access(&lut, cmd.value);
            } else if (cmd.reg == 0x4104) {
                npu_lut_data(&lut, cmd.value);
            }
        } else if (cmd.kind == NPU_CMD_ENABLE) {
            verdict = npu_task_decode(&t, regs, cmd.value, &opt, why);
            if (verdict == NPU_TASK_RUN && must_fit) {
                *why = npu_task_cbuf_short(&t);
                verdict = *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
            }
            if (verdict == NPU_TASK_RUN && !execute(&t)) {
                *why = bad_weights ? bad_weights : "DMA outside memory";
                return bad_weights ? NPU_TASK_UNIMP : NPU_TASK_STALL;
            }
            return verdict;
        }
    }
    *why = "no enable entry";
    return NPU_TASK_STALL;
}

#endif
