/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Convolution of the RK3588 NPU: the CNA's windows times the CORE's kernels.
 *
 * Both operands are repacked so that one output is the dot product of two
 * contiguous vectors in the order of the weight stream: channel group, kernel
 * row, kernel column, channel.  Floats are summed in double in that order and
 * rounded once; a product of two halves is exact in double, so it does not
 * matter whether the compiler fuses multiplication and addition.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rk3588_npu_conv.h"
#include "rk3588_npu_dpu.h"

#define BLOCK_ROWS      16              /* output positions at a time */
#define PACK_BYTES      (8u << 20)      /* aim for repacked kernels */
#define INT_ROWS        2               /* micro-kernel: rows x columns */
#define INT_COLS        4
#define FLT_ROWS        4
#define FLT_COLS        4
/* Padding of dot products, so that vector loops have no tail. */
#define INT_STEP        32
/* Products of this many pairs of int8 cannot overflow an int32. */
#define INT_CHUNK       65536

/* Two columns of a float tile. */
typedef double Pair __attribute__((vector_size(16), may_alias));

typedef struct ConvRun {
    const NpuTask *t;
    const NpuOperands *in;
    uint8_t *out;
    uint32_t k;             /* elements of a dot product */
    uint32_t k_pad;
    uint32_t cols_max;      /* kernels packed at a time */
    uint32_t first;         /* of the packed ones */
    union {
        int16_t *rows_i;    /* BLOCK_ROWS x k_pad */
        double *rows_f;     /* BLOCK_ROWS / FLT_ROWS panels k x FLT_ROWS */
    };
    union {
        int16_t *cols_i;    /* cols_max x k_pad */
        double *cols_f;     /* cols_max / FLT_COLS panels k x FLT_COLS */
    };
    union {
        int32_t *acc_i;     /* BLOCK_ROWS x cols_max, as the DPU takes it */
        float *acc_f;
    };
} ConvRun;

bool npu_conv_cancelled(const NpuOperands *in)
{
    return in->cancel && __atomic_load_n(in->cancel, __ATOMIC_RELAXED);
}

/* Sixteen channels of int8 at one position, widened. */
static void widen_atom(int16_t *dst, const uint8_t *src)
{
    unsigned i;

    for (i = 0; i < NPU_ATOM; i++) {
        dst[i] = (int8_t)src[i];
    }
}

static void fill_int(int16_t *dst, int16_t value, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        dst[i] = value;
    }
}

const uint8_t *npu_conv_atom(const NpuConv *c, const uint8_t *feature,
                             uint32_t s, int32_t y, int32_t x)
{
    const NpuCube *cube = &c->atoms;

    if (y < 0 || x < 0 || y >= (int32_t)c->in_h || x >= (int32_t)c->in_w) {
        return NULL;
    }
    return feature + s * cube->host_surf + y * cube->host_line +
           (size_t)x * NPU_ATOM;
}

/* Channels of group @cg: the last group is as short as the cube. */
static uint32_t group_channels(const NpuConv *c, uint32_t cg)
{
    return MIN(c->in_c - cg * NPU_CHANNEL_GROUP, NPU_CHANNEL_GROUP);
}

static uint32_t group_count(const NpuConv *c)
{
    return DIV_ROUND_UP(c->in_c, NPU_CHANNEL_GROUP);
}

/* Calls for every (channel group, ky, kx) of the window at output @pos. */
#define FOR_WINDOW(c, cg, ky, kx)                               \
    for (cg = 0; cg < group_count(c); cg++)                     \
        for (ky = 0; ky < (c)->k_h; ky++)                       \
            for (kx = 0; kx < (c)->k_w; kx++)

void npu_conv_window(const NpuConv *c, uint32_t pos, int32_t *y, int32_t *x)
{
    *y = (int32_t)(pos / c->out_w * c->stride_y) - (int32_t)c->pad_top;
    *x = (int32_t)(pos % c->out_w * c->stride_x) - (int32_t)c->pad_left;
}

static void gather_int(const ConvRun *run, uint32_t pos, int16_t *dst)
{
    const NpuConv *c = &run->t->conv;
    int16_t *end = dst + run->k_pad;
    uint32_t cg, ky, kx, i;
    int32_t y, x;

    npu_conv_window(c, pos, &y, &x);
    FOR_WINDOW(c, cg, ky, kx) {
        uint32_t n = group_channels(c, cg);

        for (i = 0; i < n; i += NPU_ATOM) {
            const uint8_t *src =
                npu_conv_atom(c, run->in->feature,
                              (cg * NPU_CHANNEL_GROUP + i) / NPU_ATOM,
                              y + (int32_t)(ky * c->step_y),
                              x + (int32_t)(kx * c->step_x));

            if (src) {
                widen_atom(dst + i, src);
            } else {
                fill_int(dst + i, (int8_t)c->pad_value, NPU_ATOM);
            }
        }
        dst += n;
    }
    memset(dst, 0, (end - dst) * sizeof(*dst));
}

/* One column of a panel: element i goes to dst[i * FLT_ROWS]. */
static void gather_float(const ConvRun *run, uint32_t pos, double *dst)
{
    const NpuConv *c = &run->t->conv;
    const uint32_t per_atom = NPU_ATOM / sizeof(uint16_t);
    uint32_t cg, ky, kx, i, j;
    int32_t y, x;

    npu_conv_window(c, pos, &y, &x);
    FOR_WINDOW(c, cg, ky, kx) {
        uint32_t n = group_channels(c, cg);

        for (i = 0; i < n; i += per_atom) {
            const uint8_t *src =
                npu_conv_atom(c, run->in->feature,
                              (cg * NPU_CHANNEL_GROUP + i) / per_atom,
                              y + (int32_t)(ky * c->step_y),
                              x + (int32_t)(kx * c->step_x));

            for (j = 0; j < per_atom; j++) {
                uint16_t h = src ? lduw_le_p(src + 2 * j) : c->pad_value;

                *dst = npu_fp16_to_fp32(h);
                dst += FLT_ROWS;
            }
        }
    }
}

/*
 * Weight stream: kernel groups; in each, channel groups, kernel rows and
 * columns; then all kernels of the group with their channels.  Partial groups
 * are compact.  Calls @put with the address of @n weights of kernel @col.
 */
typedef void (*PutWeights)(ConvRun *run, uint32_t col, uint32_t at,
                           const uint8_t *src, uint32_t n);

static void walk_kernel(ConvRun *run, uint32_t kernel, uint32_t col,
                        PutWeights put)
{
    const NpuConv *c = &run->t->conv;
    uint32_t first = kernel - kernel % c->kernel_group;
    uint32_t group = MIN(c->kernels - first, c->kernel_group);
    size_t base = (size_t)first * c->kernel_elems;
    uint32_t at = 0;
    uint32_t cg, ky, kx;

    FOR_WINDOW(c, cg, ky, kx) {
        uint32_t n = group_channels(c, cg);
        size_t elem = base + (size_t)(kernel - first) * n;

        put(run, col, at, run->in->weights + elem * c->bpe, n);
        base += (size_t)group * n;
        at += n;
    }
}

static void put_int(ConvRun *run, uint32_t col, uint32_t at,
                    const uint8_t *src, uint32_t n)
{
    int16_t *dst = run->cols_i + (size_t)col * run->k_pad + at;
    uint32_t i;

    for (i = 0; i < n; i += NPU_ATOM) {
        widen_atom(dst + i, src + i);
    }
}

static void put_float(ConvRun *run, uint32_t col, uint32_t at,
                      const uint8_t *src, uint32_t n)
{
    double *panel = run->cols_f + (size_t)(col / FLT_COLS) * FLT_COLS * run->k;
    uint32_t i;

    for (i = 0; i < n; i++) {
        panel[(size_t)(at + i) * FLT_COLS + col % FLT_COLS] =
            npu_fp16_to_fp32(lduw_le_p(src + 2 * i));
    }
}

/* INT_ROWS x INT_COLS dot products of at most INT_CHUNK elements. */
static void dot_int(const int16_t *a, const int16_t *b, size_t pitch,
                    uint32_t n, int32_t *sum)
{
    const int16_t *a0 = a, *a1 = a + pitch;
    const int16_t *b0 = b, *b1 = b + pitch, *b2 = b1 + pitch, *b3 = b2 + pitch;
    int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0;
    int32_t s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    uint32_t i;

    n &= ~(INT_STEP - 1u);
    for (i = 0; i < n; i++) {
        s00 += a0[i] * b0[i];
        s01 += a0[i] * b1[i];
        s02 += a0[i] * b2[i];
        s03 += a0[i] * b3[i];
        s10 += a1[i] * b0[i];
        s11 += a1[i] * b1[i];
        s12 += a1[i] * b2[i];
        s13 += a1[i] * b3[i];
    }
    sum[0] = s00;
    sum[1] = s01;
    sum[2] = s02;
    sum[3] = s03;
    sum[4] = s10;
    sum[5] = s11;
    sum[6] = s12;
    sum[7] = s13;
}

/* Sum of a packed row: what CPEND multiplies. */
static int64_t row_sum(const ConvRun *run, uint32_t row)
{
    const int16_t *p = run->rows_i + (size_t)row * run->k_pad;
    int64_t sum = 0;
    uint32_t i;

    for (i = 0; i < run->k; i++) {
        sum += p[i];
    }
    return sum;
}

int32_t npu_core_result(const NpuConv *c, int64_t acc, int64_t pend)
{
    acc = npu_round_shift(acc + pend, c->truncate, c->truncate_up);
    return acc < INT32_MIN ? INT32_MIN : acc > INT32_MAX ? INT32_MAX : acc;
}

static void tile_int(ConvRun *run, uint32_t row, uint32_t col,
                     const int64_t *row_sums)
{
    const NpuConv *c = &run->t->conv;
    const int16_t *a = run->rows_i + (size_t)row * run->k_pad;
    const int16_t *b = run->cols_i + (size_t)col * run->k_pad;
    int64_t acc[INT_ROWS * INT_COLS] = { 0 };
    int32_t sum[INT_ROWS * INT_COLS];
    uint32_t at, i, j;

    for (at = 0; at < run->k_pad; at += INT_CHUNK) {
        dot_int(a + at, b + at, run->k_pad, MIN(run->k_pad - at, INT_CHUNK),
                sum);
        for (i = 0; i < ARRAY_SIZE(sum); i++) {
            acc[i] += sum[i];
        }
    }
    for (i = 0; i < INT_ROWS; i++) {
        int32_t *dst = run->acc_i + (size_t)(row + i) * run->cols_max + col;

        for (j = 0; j < INT_COLS; j++) {
            int64_t pend = c->cpend ? row_sums[row + i] *
                           npu_cpend_operand(run->t, run->in,
                                             run->first + col + j) : 0;

            dst[j] = npu_core_result(c, acc[i * INT_COLS + j], pend);
        }
    }
}

/* One FLT_ROWS x FLT_COLS tile from two panels, each sum in order of k. */
static void dot_float(const double *a, const double *b, uint32_t n,
                      double *sum)
{
    Pair s00 = { 0 }, s01 = { 0 }, s10 = { 0 }, s11 = { 0 };
    Pair s20 = { 0 }, s21 = { 0 }, s30 = { 0 }, s31 = { 0 };
    Pair *out = (Pair *)sum;
    uint32_t i;

    for (i = 0; i < n; i++) {
        Pair b0 = ((const Pair *)b)[0], b1 = ((const Pair *)b)[1];
        Pair a0 = { a[0], a[0] }, a1 = { a[1], a[1] };
        Pair a2 = { a[2], a[2] }, a3 = { a[3], a[3] };

        s00 += a0 * b0;
        s01 += a0 * b1;
        s10 += a1 * b0;
        s11 += a1 * b1;
        s20 += a2 * b0;
        s21 += a2 * b1;
        s30 += a3 * b0;
        s31 += a3 * b1;
        a += FLT_ROWS;
        b += FLT_COLS;
    }
    out[0] = s00;
    out[1] = s01;
    out[2] = s10;
    out[3] = s11;
    out[4] = s20;
    out[5] = s21;
    out[6] = s30;
    out[7] = s31;
}

static void tile_float(ConvRun *run, uint32_t row, uint32_t col)
{
    double sum[FLT_ROWS * FLT_COLS] QEMU_ALIGNED(16);
    uint32_t i, j;

    dot_float(run->rows_f + (size_t)row * run->k,
              run->cols_f + (size_t)col * run->k, run->k, sum);
    for (i = 0; i < FLT_ROWS; i++) {
        float *dst = run->acc_f + (size_t)(row + i) * run->cols_max + col;

        for (j = 0; j < FLT_COLS; j++) {
            dst[j] = sum[i * FLT_COLS + j];
        }
    }
}

/* Pack the windows of @rows positions from @pos; unused rows keep old data. */
static void pack_rows(ConvRun *run, uint32_t pos, uint32_t rows)
{
    uint32_t r;

    for (r = 0; r < rows; r++) {
        if (run->t->dpu.is_float) {
            gather_float(run, pos + r, run->rows_f + r % FLT_ROWS +
                         (size_t)(r / FLT_ROWS) * FLT_ROWS * run->k);
        } else {
            gather_int(run, pos + r, run->rows_i + (size_t)r * run->k_pad);
        }
    }
}

static void pack_cols(ConvRun *run, uint32_t kernel, uint32_t cols)
{
    uint32_t i;

    for (i = 0; i < cols; i++) {
        walk_kernel(run, kernel + i, i,
                    run->t->dpu.is_float ? put_float : put_int);
    }
}

static void multiply_int(ConvRun *run, uint32_t rows, uint32_t cols)
{
    int64_t sums[BLOCK_ROWS] = { 0 };
    uint32_t row, col;

    if (run->t->conv.cpend) {
        for (row = 0; row < rows; row++) {
            sums[row] = row_sum(run, row);
        }
    }
    for (col = 0; col < cols; col += INT_COLS) {
        for (row = 0; row < rows; row += INT_ROWS) {
            tile_int(run, row, col, sums);
        }
    }
}

static void multiply_float(ConvRun *run, uint32_t rows, uint32_t cols)
{
    uint32_t row, col;

    for (col = 0; col < cols; col += FLT_COLS) {
        for (row = 0; row < rows; row += FLT_ROWS) {
            tile_float(run, row, col);
        }
    }
}

static void run_block(ConvRun *run, uint32_t pos, uint32_t rows,
                      uint32_t kernel, uint32_t cols)
{
    NpuBlock block = {
        .row = pos,
        .rows = rows,
        .col = kernel,
        .cols = cols,
        .pitch = run->cols_max,
    };

    pack_rows(run, pos, rows);
    if (run->t->dpu.is_float) {
        multiply_float(run, rows, cols);
        block.f = run->acc_f;
    } else {
        multiply_int(run, rows, cols);
        block.i = run->acc_i;
    }
    npu_dpu_store(run->t, run->in, &block, run->out);
}

static bool run_all(ConvRun *run)
{
    const NpuConv *c = &run->t->conv;
    uint32_t positions = c->out_w * c->out_h;
    uint32_t kernels = MIN(c->kernels, run->t->dpu.orig_channels);
    uint32_t kernel, pos;

    for (kernel = 0; kernel < kernels; kernel += run->cols_max) {
        uint32_t cols = MIN(kernels - kernel, run->cols_max);

        run->first = kernel;
        pack_cols(run, kernel, cols);
        for (pos = 0; pos < positions; pos += BLOCK_ROWS) {
            if (npu_conv_cancelled(run->in)) {
                return false;
            }
            run_block(run, pos, MIN(positions - pos, BLOCK_ROWS), kernel,
                      cols);
        }
    }
    return true;
}

bool npu_conv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    ConvRun run = { .t = t, .in = in, .out = out };
    size_t elem = t->dpu.is_float ? sizeof(double) : sizeof(int16_t);
    uint32_t fit;
    bool ok = false;

    run.k = t->conv.kernel_elems;
    run.k_pad = t->dpu.is_float ? run.k : ROUND_UP(run.k, INT_STEP);
    fit = ROUND_UP(PACK_BYTES / (run.k_pad * elem) + 1, FLT_COLS);
    run.cols_max = MIN(fit, ROUND_UP(t->conv.kernels, FLT_COLS));

    run.rows_i = g_try_malloc0(BLOCK_ROWS * run.k_pad * elem);
    run.cols_i = g_try_malloc0((size_t)run.cols_max * run.k_pad * elem);
    run.acc_i = g_try_malloc0((size_t)BLOCK_ROWS * run.cols_max *
                              sizeof(int32_t));
    if (run.rows_i && run.cols_i && run.acc_i) {
        npu_dpu_fill_padding(t, out);
        ok = run_all(&run);
    }
    g_free(run.rows_i);
    g_free(run.cols_i);
    g_free(run.acc_i);
    return ok;
}
