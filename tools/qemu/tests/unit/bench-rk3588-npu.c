/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the NPU model multiplies on one core of the host, beside a plain C
 * loop and oneDNN, measured in turns in one run.  Only the ratios mean
 * anything on another host.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <stdio.h>
#include <time.h>
#include <oneapi/dnnl/dnnl.h>
#include "compute/task.h"
#include "compute/numeric.h"
#include "compute/gemm.h"

#define ROUNDS  15

/* A square kernel with a pad that keeps the size; a matrix product if k = 1. */
typedef struct Shape {
    unsigned w, h, in_c, out_c, k;
} Shape;

typedef struct Data {
    uint8_t *feature, *weights, *out;   /* as the NPU has them */
    int8_t *a8, *b8;                    /* one window after the other */
    float *a32, *b32;
    void *c;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} Data;

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}

static unsigned depth(const Shape *s)
{
    return s->in_c * s->k * s->k;
}

static unsigned positions(const Shape *s)
{
    return s->w * s->h;
}

/* --- the model --- */

static void make_regs(const Shape *s, bool half, uint32_t *r)
{
    uint32_t bytes = half ? 2 : 1, e = half ? 3 : 7, n = positions(s);

    memset(r, 0, NPU_REGFILE_SIZE);
    r[R_CNA_CONV_CON1] = half ? 0x120 : 0;
    r[R_CNA_CONV_CON3] = 9;
    r[R_CNA_DATA_SIZE0] = s->w << 16 | s->h;
    r[R_CNA_DATA_SIZE1] = (s->in_c - 1) << 16 | s->in_c;
    r[R_CNA_DATA_SIZE2] = s->w;
    r[R_CNA_DATA_SIZE3] = n;
    r[R_CNA_WEIGHT_SIZE0] = depth(s) * bytes * s->out_c;
    r[R_CNA_WEIGHT_SIZE1] = depth(s) * bytes;
    r[R_CNA_WEIGHT_SIZE2] = s->k << 24 | s->k << 16 | s->out_c;
    r[R_CNA_CVT_CON0] = 0xb;
    r[R_CNA_PAD_CON0] = (s->k / 2) << 4 | s->k / 2;
    r[R_CNA_DMA_CON1] = 4 * s->w;
    r[R_CNA_DMA_CON2] = (s->w * (s->h - 4)) & 0xfffffff;
    r[R_CNA_FC_DATA_SIZE0] = s->w << 16 | s->h;
    r[R_CORE_MISC_CFG] = half ? 0x201 : 0;
    r[R_CORE_DATAOUT_SIZE_0] = (s->h - 1) << 16 | (s->w - 1);
    r[R_CORE_DATAOUT_SIZE_1] = s->out_c - 1;
    r[R_DPU_FEATURE_MODE_CFG] = 0x1e4;
    r[R_DPU_DATA_FORMAT] = half ? 0xa8000002 : 0x80000000;
    r[R_DPU_DST_SURF_STRIDE] = n * 16;
    r[R_DPU_DATA_CUBE_WIDTH] = s->w - 1;
    r[R_DPU_DATA_CUBE_HEIGHT] = s->h - 1;
    r[R_DPU_DATA_CUBE_CHANNEL] = (s->out_c - 1) << 16 | (s->out_c - 1);
    r[R_DPU_BS_CFG] = r[R_DPU_BN_CFG] = 0x53;
    r[R_DPU_BS_OW_CFG] = e * 0x124 | 2;
    r[R_DPU_WDMA_SIZE_0] = s->out_c - 1;
    r[R_DPU_WDMA_SIZE_1] = (s->h - 1) << 16 | (s->w - 1);
    r[R_DPU_EW_CFG] = 0x383;
    r[R_DPU_OUT_CVT_SCALE] = 1;
    r[R_DPU_SURFACE_ADD] = n * 16 * (e + 1);
}

static void run_model(const NpuTask *t, const Data *d, unsigned skip)
{
    NpuOperands in = {
        .feature = d->feature,
        .weights = d->weights,
        .skip_kernels = skip,
    };

    if (!npu_task_compute(t, &in, d->out)) {
        exit(1);
    }
}

/* --- a plain loop --- */

static void run_loop(const Shape *s, const Data *d, bool half)
{
    unsigned m, n, k, depth_ = depth(s);

    for (m = 0; m < positions(s); m++) {
        for (n = 0; n < s->out_c; n++) {
            int32_t sum = 0;
            float fsum = 0;

            for (k = 0; k < depth_ && half; k++) {
                fsum += d->a32[m * depth_ + k] * d->b32[n * depth_ + k];
            }
            for (k = 0; k < depth_ && !half; k++) {
                sum += d->a8[m * depth_ + k] * d->b8[n * depth_ + k];
            }
            if (half) {
                ((float *)d->c)[m * s->out_c + n] = fsum;
            } else {
                ((int32_t *)d->c)[m * s->out_c + n] = sum;
            }
        }
    }
}

/* --- oneDNN --- */

typedef struct Library {
    dnnl_primitive_t prim;
    dnnl_exec_arg_t args[3];
} Library;

static dnnl_memory_t library_memory(const Data *d, const_dnnl_memory_desc_t md)
{
    dnnl_memory_t mem;
    void *p;

    if (dnnl_memory_create(&mem, md, d->engine, DNNL_MEMORY_ALLOCATE) ||
        dnnl_memory_get_data_handle(mem, &p)) {
        exit(1);
    }
    /* Small values of every type, none of them a NaN. */
    memset(p, 1, dnnl_memory_desc_get_size(md));
    return mem;
}

/* Weights are in the layout that the library likes best. */
static dnnl_primitive_desc_t library_desc(const Shape *s, const Data *d,
                                          dnnl_data_type_t in,
                                          dnnl_data_type_t out)
{
    const dnnl_dims_t src = { 1, s->in_c, s->h, s->w };
    const dnnl_dims_t wei = { s->out_c, s->in_c, s->k, s->k };
    const dnnl_dims_t dst = { 1, s->out_c, s->h, s->w };
    const dnnl_dims_t a = { positions(s), s->in_c };
    const dnnl_dims_t b = { s->in_c, s->out_c };
    const dnnl_dims_t c = { positions(s), s->out_c };
    const dnnl_dims_t one = { 1, 1 }, none = { 0, 0 };
    const dnnl_dims_t pad = { s->k / 2, s->k / 2 };
    dnnl_memory_desc_t ms, mw, md;
    dnnl_primitive_desc_t pd = NULL;

    if (s->k == 1) {
        dnnl_memory_desc_create_with_tag(&ms, 2, a, in, dnnl_ab);
        dnnl_memory_desc_create_with_tag(&mw, 2, b, in, dnnl_format_tag_any);
        dnnl_memory_desc_create_with_tag(&md, 2, c, out, dnnl_ab);
        dnnl_matmul_primitive_desc_create(&pd, d->engine, ms, mw, NULL, md,
                                          NULL);
    } else {
        dnnl_memory_desc_create_with_tag(&ms, 4, src, in, dnnl_nhwc);
        dnnl_memory_desc_create_with_tag(&mw, 4, wei, in, dnnl_format_tag_any);
        dnnl_memory_desc_create_with_tag(&md, 4, dst, out, dnnl_nhwc);
        dnnl_convolution_forward_primitive_desc_create(
            &pd, d->engine, dnnl_forward_inference, dnnl_convolution_direct, ms,
            mw, NULL, md, one, none, pad, pad, NULL);
    }
    return pd;
}

static bool make_library(const Shape *s, const Data *d, dnnl_data_type_t in,
                         dnnl_data_type_t out, Library *l)
{
    static const struct {
        dnnl_query_t query;
        int arg;
    } operand[] = {
        { dnnl_query_src_md, DNNL_ARG_SRC },
        { dnnl_query_weights_md, DNNL_ARG_WEIGHTS },
        { dnnl_query_dst_md, DNNL_ARG_DST },
    };
    dnnl_primitive_desc_t pd = library_desc(s, d, in, out);
    unsigned i;

    if (!pd || dnnl_primitive_create(&l->prim, pd)) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(operand); i++) {
        l->args[i].arg = operand[i].arg;
        l->args[i].memory = library_memory(d,
            dnnl_primitive_desc_query_md(pd, operand[i].query, 0));
    }
    return true;
}

static void run_library(const Library *l, const Data *d)
{
    if (dnnl_primitive_execute(l->prim, d->stream, 3, l->args) ||
        dnnl_stream_wait(d->stream)) {
        exit(1);
    }
}

/* --- */

static void keep_best(double *best, double start)
{
    double t = now() - start;

    *best = *best && *best < t ? *best : t;
}

/* A sum of four, about as values of networks are distributed. */
static uint16_t usual_half(void)
{
    float sum = 0;
    unsigned i;

    for (i = 0; i < 4; i++) {
        sum += (float)rand() / RAND_MAX - 0.5f;
    }
    return npu_fp32_to_fp16(sum);
}

/* Any of the halves below 2: many sums do not fit a double. */
static uint16_t wild_half(void)
{
    return rand() & 0x3fff;
}

static void fill_fp16(Data *d, size_t n, uint16_t (*half)(void))
{
    size_t i;

    for (i = 0; i < n; i++) {
        stw_le_p(d->feature + 2 * i, half());
        stw_le_p(d->weights + 2 * i, half());
    }
}

static void bench(const Shape *s, Data *d, bool half)
{
    static uint32_t regs[NPU_REGFILE_WORDS];
    double macs = (double)positions(s) * depth(s) * s->out_c;
    double model = 0, portable = 0, loop = 0, lib[2] = { 0 }, start;
    const char *why = "";
    Library l[2] = { 0 };
    bool has[2];
    NpuTask t;
    unsigned i, j;

    make_regs(s, half, regs);
    if (npu_task_decode(&t, regs, 0x0d, &(NpuTaskOptions) { 0 }, &why) !=
        NPU_TASK_RUN) {
        printf("refused: %s\n", why);
        exit(1);
    }
    has[0] = make_library(s, d, half ? dnnl_f32 : dnnl_s8,
                          half ? dnnl_f32 : dnnl_s32, &l[0]);
    has[1] = half && make_library(s, d, dnnl_f16, dnnl_f32, &l[1]);
    for (i = 0; i < ROUNDS; i++) {
        start = now();
        run_model(&t, d, 0);
        keep_best(&model, start);
        for (j = 0; j < 2; j++) {
            if (has[j]) {
                start = now();
                run_library(&l[j], d);
                keep_best(&lib[j], start);
            }
        }
        if (i < 3) {
            start = now();
            run_model(&t, d, 99);
            keep_best(&portable, start);
            start = now();
            run_loop(s, d, half);
            keep_best(&loop, start);
        }
    }
    printf("%s, %u x %u x %u%s\n", half ? "fp16 to fp32" : "int8 to int32",
           positions(s), depth(s), s->out_c, s->k > 1 ? ", 3x3 kernel" : "");
    printf("  model            %7.1f GOP/s  (%s)\n", 2 * macs / model / 1e9,
           npu_gemm(half ? NPU_GEMM_HALF : NPU_GEMM_INT8, 0)->name);
    printf("  model, portable  %7.1f GOP/s\n", 2 * macs / portable / 1e9);
    printf("  plain C loop     %7.1f GOP/s  model / loop    %5.1f\n",
           2 * macs / loop / 1e9, loop / model);
    for (j = 0; j < 2; j++) {
        if (has[j]) {
            printf("  oneDNN %s       %7.1f GOP/s  model / library %5.2f\n",
                   half ? j ? "f16" : "f32" : "s8 ",
                   2 * macs / lib[j] / 1e9, lib[j] / model);
        }
    }
}

int main(void)
{
    static const Shape shape[] = {
        { 1, 128, 1536, 1536, 1 }, { 1, 256, 384, 256, 1 },
        { 28, 28, 128, 128, 3 }, { 56, 56, 64, 64, 3 },
    };
    const dnnl_version_t *v = dnnl_version();
    const size_t max = 4u << 20;
    size_t i;
    Data d = { 0 };

    dnnl_engine_create(&d.engine, dnnl_cpu, 0);
    dnnl_stream_create(&d.stream, d.engine, dnnl_stream_default_flags);
    d.feature = malloc(2 * max);
    d.weights = malloc(2 * max);
    d.out = malloc(4 * max);
    d.a8 = malloc(max);
    d.b8 = malloc(max);
    d.a32 = malloc(4 * max);
    d.b32 = malloc(4 * max);
    d.c = malloc(4 * max);
    for (i = 0; i < max; i++) {
        d.a8[i] = rand();
        d.b8[i] = rand();
        d.a32[i] = d.a8[i];
        d.b32[i] = d.b8[i];
    }
    printf("one thread; oneDNN %d.%d.%d with weights reordered beforehand\n",
           v->major, v->minor, v->patch);
    fill_fp16(&d, max, usual_half);
    for (i = 0; i < ARRAY_SIZE(shape); i++) {
        bench(&shape[i], &d, false);
        bench(&shape[i], &d, true);
    }
    printf("wild exponents, ");
    fill_fp16(&d, max, wild_half);
    bench(&shape[1], &d, true);
    return 0;
}
