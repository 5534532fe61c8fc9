/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Convolution of the RK3588 NPU: the CNA's windows times the CORE's kernels.
 *
 * Both operands are repacked so that one output is the dot product of two
 * lanes in the order of the weight stream: channel group, kernel row, kernel
 * column, channel.  The channels of a group at one tap are a piece: what the
 * array multiplies at once.  The products of halves of a piece are summed
 * exactly and rounded to fp32, and these sums are added in fp32 in that order
 * (rows core.fp16, core.fp16-short).  Other floats do the same, with a double
 * instead of an exact sum (row core.bf16).  Integers are
 * summed exactly; those that are too many or too wide for an int32 are summed
 * in double, where all of them are below 2^53.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include <math.h>
#include "conv.h"
#include "core.h"
#include "dpu.h"
#include "gemm.h"
#include "numeric.h"
#include "stage.h"

#define ACC_BYTES       (4u << 20)      /* aim for results */
#define MAX_COLS        512
#define MAX_TILE        NPU_GEMM_TILE
#define MAX_PIECE       32              /* elements of a lane packed at once */
#define PACK_ALIGN      64

/* Elements that have to be converted before they are packed. */
typedef union Piece {
    int8_t i[MAX_PIECE];
    double f[MAX_PIECE];
} Piece;

typedef int16_t Halves __attribute__((vector_size(NPU_ATOM)));
typedef uint16_t UHalves __attribute__((vector_size(NPU_ATOM)));
typedef uint32_t Singles __attribute__((vector_size(2 * NPU_ATOM)));
typedef float Floats __attribute__((vector_size(2 * NPU_ATOM)));

/* Extremes of a row's halves in a piece, by their place in an atom. */
typedef struct Range {
    Halves top;
    Halves low;             /* of those that are not 0, less one */
} Range;

/* Pieces that are packed and multiplied at a time. */
typedef struct Slab {
    uint32_t first, pieces;
    uint32_t at;            /* elements of the stream before them */
    uint32_t len;
    uint32_t n;             /* elements of a piece; of floats all alike */
} Slab;

typedef struct ConvRun {
    const NpuTask *t;
    const NpuOperands *in;
    uint8_t *out;
    const NpuGemm *gemm;
    NpuGemmSource source;
    bool direct;            /* elements are packed as they are in memory */
    bool wide;              /* lanes are doubles */
    bool sums;              /* results are floats */
    uint32_t rows_max;      /* lanes whose results are held at a time */
    uint32_t cols_max;
    uint32_t pitch;         /* of results: not a power of two, for caches */
    uint32_t extra_rows;    /* a row of ones that sums columns */
    uint32_t extra_cols;    /* a column of ones that sums windows */
    Slab slab;
    uint8_t *rows;          /* NPU_GEMM_ROWS lanes of the slab */
    uint8_t *cols;          /* cols_max lanes of it */
    NpuGemmBits *row_bits, *col_bits;   /* of panels */
    union {
        int32_t *acc_i;     /* rows_max x pitch */
        double *acc_d;
        float *acc_f;
    };
    uint8_t pad[NPU_ATOM], pad_end[NPU_ATOM];   /* of the last channels */
    const void *src[MAX_TILE];
    Piece piece[MAX_TILE];
    Range range[MAX_TILE];
} ConvRun;

/* The window of a row's position. */
typedef struct Window {
    int32_t y, x;
    int64_t tap;            /* where in a surface, or TAP_PAD */
} Window;

#define TAP_PAD     (-1)

/* --- Elements of every precision --- */

static int nibble(const uint8_t *src, unsigned i)
{
    return sextract32(src[i / 2], i % 2 * 4, 4);
}

static double tf32(uint32_t bits)
{
    /* The array takes ten bits of the mantissa. */
    return npu_bits_to_float(bits & ~0x1fffu);
}

static void read_bytes(int8_t *dst, uint8_t precision, const uint8_t *src,
                       unsigned n)
{
    unsigned i;

    if (precision == NPU_PREC_INT8) {
        memcpy(dst, src, n);
        return;
    }
    for (i = 0; i < n; i++) {
        dst[i] = nibble(src, i);
    }
}

static void read_doubles(double *dst, uint8_t precision, const uint8_t *src,
                         unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        switch (precision) {
        case NPU_PREC_INT4:
            dst[i] = nibble(src, i);
            break;
        case NPU_PREC_INT8:
            dst[i] = (int8_t)src[i];
            break;
        case NPU_PREC_INT16:
            dst[i] = (int16_t)lduw_le_p(src + 2 * i);
            break;
        case NPU_PREC_BF16:
            dst[i] = npu_bf16_to_fp32(lduw_le_p(src + 2 * i));
            break;
        case NPU_PREC_TF32:
            dst[i] = tf32(ldl_le_p(src + 4 * i));
            break;
        }
    }
}

/* Lane @lane is packed from @src next, converted if need be. */
static void set_source(ConvRun *run, uint32_t lane, const uint8_t *src,
                       unsigned n)
{
    uint8_t precision = run->t->conv.precision;

    run->src[lane] = run->direct ? (const void *)src : &run->piece[lane];
    if (run->direct) {
        return;
    }
    if (run->wide) {
        read_doubles(run->piece[lane].f, precision, src, n);
    } else {
        read_bytes(run->piece[lane].i, precision, src, n);
    }
}

/*
 * An atom of padding: the register repeats its value for each of @channels
 * elements.
 */
static void make_padding(const NpuConv *c, uint8_t *atom, uint32_t channels)
{
    unsigned i;

    for (i = 0; i < NPU_ATOM; i++) {
        switch (c->bits) {
        case 4:
            atom[i] = (c->pad_value & 0xf) * 0x11;
            break;
        case 8:
            atom[i] = c->pad_value;
            break;
        case 16:
            atom[i] = c->pad_value >> i % 2 * 8;
            break;
        default:
            atom[i] = c->pad_value >> i % 4 * 8;
        }
    }
    memset(atom + channels * c->bits / 8, 0,
           NPU_ATOM - channels * c->bits / 8);
}

/* --- Range --- */

static void no_range(Range *r)
{
    const Halves zero = { 0 };

    r->top = zero;
    r->low = zero + 0x7fff;
}

/* An atom of halves, with the sign taken off. */
static Halves load_halves(const uint8_t *src)
{
    Halves v;

#if HOST_BIG_ENDIAN
    unsigned i;

    for (i = 0; i < NPU_ATOM / 2; i++) {
        v[i] = lduw_le_p(src + 2 * i);
    }
#else
    memcpy(&v, src, sizeof(v));
#endif
    return v & 0x7fff;
}

/* @n halves of a row. */
static void note_range(Range *r, const uint8_t *src, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i += NPU_ATOM / 2) {
        Halves v = load_halves(src + 2 * i), less = (v - 1) & 0x7fff;
        Halves more = v > r->top, fewer = less < r->low;

        r->top = (v & more) | (r->top & ~more);
        r->low = (less & fewer) | (r->low & ~fewer);
    }
}

static int exponent_of(int bits)
{
    /* Subnormals have the exponent of the smallest normal. */
    return MAX(bits >> 10, 1);
}

/* The smallest that is not 0. */
static int low_of(const Range *r)
{
    int low = 0x7fff;
    unsigned i;

    for (i = 0; i < NPU_ATOM / 2; i++) {
        low = MIN(low, r->low[i]);
    }
    return low + 1;
}

/* The bits from the largest half of a row to the last of the smallest. */
static uint8_t row_bits(const Range *r)
{
    int top = 0;
    unsigned i;

    for (i = 0; i < NPU_ATOM / 2; i++) {
        top = MAX(top, r->top[i]);
    }
    return top ? exponent_of(top) - exponent_of(low_of(r)) + 11 : 0;
}

/* Adds eight halves as floats that are no smaller. */
static void add_amounts(Floats *sums, Halves v)
{
    Singles bits = __builtin_convertvector((UHalves)v, Singles) << 13;

    *sums += (Floats)(bits + 0x38000000);
}

/* The same of @n halves of a column, but from the sum of their amounts on. */
static uint8_t col_bits(const uint8_t *src, unsigned n)
{
    Floats sums = { 0 };
    float sum = 0;
    Range r;
    unsigned i;
    int e;

    no_range(&r);
    note_range(&r, src, n);
    for (i = 0; i < n; i += NPU_ATOM / 2) {
        add_amounts(&sums, load_halves(src + 2 * i));
    }
    for (i = 0; i < NPU_ATOM / 2; i++) {
        sum += sums[i];
    }
    frexpf(sum, &e);
    return row_bits(&r) ? e + 14 - exponent_of(low_of(&r)) + 11 : 0;
}

/* --- Packing --- */

/* Channels of group @cg: the last group is as short as the cube. */
static uint32_t group_channels(const NpuConv *c, uint32_t cg)
{
    return MIN(c->in_c - cg * c->channel_group, c->channel_group);
}

/* Piece @index of the stream. */
static void find_piece(const NpuConv *c, uint32_t index, uint32_t *cg,
                       uint32_t *ky, uint32_t *kx)
{
    uint32_t taps = c->k_w * c->k_h;

    *cg = index / taps;
    *ky = index % taps / c->k_w;
    *kx = index % c->k_w;
}

/* The pieces from @first on that fit a block; sums want them alike. */
static bool next_slab(ConvRun *run, uint32_t first, uint32_t at)
{
    const NpuConv *c = &run->t->conv;
    uint32_t taps = c->k_w * c->k_h;
    uint32_t all = taps * DIV_ROUND_UP(c->in_c, c->channel_group);
    uint32_t most = NPU_GEMM_BLOCK / run->gemm->elem;
    Slab *s = &run->slab;

    *s = (Slab) { .first = first, .at = at };
    s->n = first < all ? group_channels(c, first / taps) : 0;
    while (first + s->pieces < all) {
        uint32_t n = group_channels(c, (first + s->pieces) / taps);

        if (s->len + n > most || (run->sums && n != s->n)) {
            break;
        }
        s->pieces++;
        s->len += n;
    }
    return s->pieces;
}

/* Elements that the tiles multiply. */
static uint32_t slab_steps(const ConvRun *run)
{
    return QEMU_ALIGN_UP(run->slab.len, run->gemm->k_align);
}

/* The panel from @lane on. */
static uint8_t *panel(uint8_t *base, uint32_t lane)
{
    return base + (size_t)lane * NPU_GEMM_BLOCK;
}

/* What is not packed multiplies as 0. */
static uint8_t *clean_panel(const ConvRun *run, uint8_t *base, uint32_t lane,
                            uint32_t count, uint32_t tile)
{
    uint8_t *p = panel(base, lane);

    if (count < tile || slab_steps(run) != run->slab.len) {
        memset(p, 0, tile * NPU_GEMM_BLOCK);
    }
    return p;
}

/* Where in a surface tap (@ky, @kx) of every window is. */
static void find_taps(const ConvRun *run, Window *w, uint32_t count,
                      uint32_t ky, uint32_t kx)
{
    const NpuConv *c = &run->t->conv;
    const uint8_t *surface = run->in->feature;
    uint32_t i;

    for (i = 0; i < count; i++) {
        const uint8_t *atom = npu_conv_atom(c, surface, 0,
                                            w[i].y + (int32_t)(ky * c->step_y),
                                            w[i].x + (int32_t)(kx * c->step_x));

        w[i].tap = atom ? atom - surface : TAP_PAD;
    }
}

/* Channels [@ch, ...) of an atom of @count windows. */
static void gather(ConvRun *run, const Window *w, uint32_t ch, uint32_t count)
{
    const NpuConv *c = &run->t->conv;
    uint32_t per_atom = NPU_ATOM_BITS / c->bits, i;
    const uint8_t *surface = run->in->feature +
                             ch / per_atom * c->atoms.host_surf;
    const uint8_t *pad = ch + per_atom > c->pad_channels ? run->pad_end
                                                         : run->pad;

    for (i = 0; i < count; i++) {
        set_source(run, i, w[i].tap == TAP_PAD ? pad : surface + w[i].tap,
                   per_atom);
        if (run->source == NPU_GEMM_HALF) {
            note_range(&run->range[i], run->src[i], per_atom);
        }
    }
}

static void pack_row_piece(ConvRun *run, uint8_t *to, uint32_t at, Window *w,
                           uint32_t count, bool ones, uint32_t index)
{
    /* Packing adds 128, in eight bits. */
    static const int8_t one[MAX_PIECE] = { [0 ... MAX_PIECE - 1] = -127 };
    const NpuConv *c = &run->t->conv;
    uint32_t per_atom = NPU_ATOM_BITS / c->bits;
    uint32_t cg, ky, kx, i;

    find_piece(c, index, &cg, &ky, &kx);
    find_taps(run, w, count, ky, kx);
    for (i = 0; i < count; i++) {
        no_range(&run->range[i]);
    }
    for (i = 0; i < group_channels(c, cg); i += per_atom) {
        gather(run, w, cg * c->channel_group + i, count);
        run->src[count] = one;
        run->gemm->pack_rows(to, at + i, run->src, count + ones, per_atom);
    }
}

static void note_row_bits(ConvRun *run, NpuGemmBits *bits, uint32_t group,
                          uint32_t count)
{
    uint32_t lane;

    memset(bits->lane[group] + count, 0, MAX_TILE - count);
    for (lane = 0; lane < count; lane++) {
        uint8_t n = row_bits(&run->range[lane]);

        bits->lane[group][lane] = n;
        bits->top[group] = MAX(bits->top[group], n);
    }
}

/* The windows of @count positions from @pos, and a row of ones if need be. */
static void pack_row_panel(ConvRun *run, uint32_t lane, uint32_t pos,
                           uint32_t count, bool ones)
{
    uint32_t tile = run->gemm->rows, i, at = 0;
    uint8_t *to = clean_panel(run, run->rows, lane, count + ones, tile);
    NpuGemmBits *bits = &run->row_bits[lane / tile];
    Window w[MAX_TILE];

    memset(bits->top, 0, sizeof(bits->top));
    for (i = 0; i < count; i++) {
        npu_conv_window(&run->t->conv, pos + i, &w[i].y, &w[i].x);
    }
    for (i = 0; i < run->slab.pieces; i++) {
        uint32_t index = run->slab.first + i;

        pack_row_piece(run, to, at, w, count, ones, index);
        at += group_channels(&run->t->conv,
                             index / (run->t->conv.k_w * run->t->conv.k_h));
        if (run->source == NPU_GEMM_HALF) {
            note_row_bits(run, bits, i, count);
        }
    }
}

/* @lanes lanes from position @pos on, of which the last may be of ones. */
static void pack_rows(ConvRun *run, uint32_t pos, uint32_t lanes, bool ones)
{
    uint32_t lane, tile = run->gemm->rows, rows = lanes - ones;

    for (lane = 0; lane < lanes; lane += tile) {
        uint32_t count = lane < rows ? MIN(rows - lane, tile) : 0;

        pack_row_panel(run, lane, pos + lane, count,
                       ones && lanes - lane <= tile);
    }
}

/*
 * Weight stream: kernel groups; in each, channel groups, kernel rows and
 * columns; then all kernels of the group with their channels.  Partial groups
 * are compact, but for channels that are only stored.  @at elements of every
 * kernel come before the piece.
 */
static const uint8_t *weight_piece(const ConvRun *run, uint32_t kernel,
                                   uint32_t at, uint32_t n)
{
    const NpuConv *c = &run->t->conv;
    uint32_t taps = c->k_w * c->k_h;
    uint32_t first = kernel - kernel % c->kernel_group;
    uint32_t group = MIN(c->kernels - first, c->kernel_group);
    uint32_t last = c->in_c / c->channel_group * c->channel_group * taps;
    uint32_t more = at < last ? 0 : c->stored_c - c->in_c;
    size_t before = at + (more ? (at - last) / n * more : 0);
    size_t elem = (size_t)first * c->stored_c * taps + group * before +
                  (size_t)(kernel - first) * (n + more);

    return run->in->weights + elem * c->bits / 8;
}

/*
 * What CPEND adds to the products of a window is the same as if it were added
 * to the weights: exact, with 17 bits times 16 and fewer than 2^19 of them.
 */
static void add_pend(ConvRun *run, uint32_t lane, uint32_t kernel, uint32_t n)
{
    int32_t operand = npu_cpend_operand(run->t, run->in, kernel);
    uint32_t i;

    for (i = 0; i < n; i++) {
        run->piece[lane].f[i] += operand;
    }
}

/* @n elements of @count kernels, behind @at elements of each. */
static void find_weights(ConvRun *run, uint32_t kernel, uint32_t count,
                         uint32_t at, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        set_source(run, i, weight_piece(run, kernel + i, at, n), n);
        if (run->wide && run->t->conv.cpend) {
            add_pend(run, i, kernel + i, n);
        }
    }
}

static void pack_col_panel(ConvRun *run, uint32_t lane, uint32_t kernel,
                           uint32_t count, bool ones)
{
    static const int8_t one[MAX_PIECE] = { [0 ... MAX_PIECE - 1] = 1 };
    const NpuConv *c = &run->t->conv;
    uint32_t tile = run->gemm->cols, i, j, at = 0;
    uint8_t *to = clean_panel(run, run->cols, lane, count + ones, tile);
    NpuGemmBits *bits = &run->col_bits[lane / tile];

    memset(bits->top, 0, sizeof(bits->top));
    for (i = 0; i < run->slab.pieces; i++) {
        uint32_t n = group_channels(c, (run->slab.first + i) /
                                       (c->k_w * c->k_h));

        find_weights(run, kernel, count, run->slab.at + at, n);
        for (j = 0; j < count && run->source == NPU_GEMM_HALF; j++) {
            bits->top[i] = MAX(bits->top[i], col_bits(run->src[j], n));
        }
        run->src[count] = one;
        run->gemm->pack_cols(to, at, run->src, count + ones, n);
        at += n;
    }
}

static void pack_cols(ConvRun *run, uint32_t kernel, uint32_t cols)
{
    uint32_t lane, tile = run->gemm->cols;

    for (lane = 0; lane < cols + run->extra_cols; lane += tile) {
        uint32_t count = lane < cols ? MIN(cols - lane, tile) : 0;

        pack_col_panel(run, lane, kernel + lane, count,
                       run->extra_cols && cols - lane < tile);
    }
}

/* --- Arithmetic --- */

/* Bytes of a result. */
static size_t acc_elem(const ConvRun *run)
{
    return run->wide && !run->sums ? sizeof(double) : sizeof(float);
}

/* Tile (@row, @col) of the packed lanes; @first rows were packed before. */
static void multiply_tile(ConvRun *run, uint32_t first, uint32_t row,
                          uint32_t col)
{
    const NpuGemm *g = run->gemm;
    size_t at = (size_t)(first + row) * run->pitch + col;
    void *acc = (uint8_t *)run->acc_i + at * acc_elem(run);

    if (run->sums) {
        g->sums(panel(run->rows, row), panel(run->cols, col), run->slab.pieces,
                run->slab.n, &run->row_bits[row / g->rows],
                &run->col_bits[col / g->cols], acc, run->pitch);
    } else {
        g->tile(panel(run->rows, row), panel(run->cols, col), slab_steps(run),
                acc, run->pitch);
    }
}

/* The slab of @lanes lanes from position @pos on, times the packed columns. */
static bool multiply_slab(ConvRun *run, uint32_t pos, uint32_t lanes,
                          uint32_t cols)
{
    uint32_t first, row, col;

    for (first = 0; first < lanes; first += NPU_GEMM_ROWS) {
        uint32_t rows = MIN(lanes - first, NPU_GEMM_ROWS);

        pack_rows(run, pos + first, rows,
                  run->extra_rows && first + rows == lanes);
        for (col = 0; col < cols; col += run->gemm->cols) {
            if (npu_cancelled(run->in)) {
                return false;
            }
            for (row = 0; row < rows; row += run->gemm->rows) {
                multiply_tile(run, first, row, col);
            }
        }
    }
    return true;
}

/* Sums wrapped, but without what packing added they fit. */
typedef uint32_t Words
    __attribute__((vector_size(PACK_ALIGN), may_alias, aligned(4)));

static void unbias(ConvRun *run, uint32_t rows, uint32_t cols)
{
    const uint32_t lanes = PACK_ALIGN / sizeof(uint32_t);
    const int32_t *sum = run->acc_i + (size_t)rows * run->pitch;
    uint32_t row, col;

    for (row = 0; row < rows; row++) {
        int32_t *acc = run->acc_i + (size_t)row * run->pitch;

        /* Lines end in more than a vector that nobody looks at. */
        for (col = 0; col < cols; col += lanes) {
            *(Words *)(acc + col) -= *(const Words *)(sum + col) * 128;
        }
    }
}

static void finish_int(ConvRun *run, uint32_t rows, uint32_t kernel,
                       uint32_t cols)
{
    const NpuConv *c = &run->t->conv;
    uint32_t row, col;

    if (run->extra_rows) {
        unbias(run, rows, cols + run->extra_cols);
    }
    if (!c->cpend && !c->truncate) {
        return;
    }
    for (col = 0; col < cols; col++) {
        int64_t operand = npu_cpend_operand(run->t, run->in, kernel + col);

        for (row = 0; row < rows; row++) {
            int32_t *acc = run->acc_i + (size_t)row * run->pitch;

            acc[col] = npu_core_result(c, acc[col], run->extra_cols ?
                                       operand * acc[cols] : 0);
        }
    }
}

/* Doubles become the int32 that the DPU takes, in the first half of a row. */
static void finish_wide(ConvRun *run, uint32_t rows, uint32_t cols)
{
    uint32_t row, col;

    for (row = 0; row < rows; row++) {
        double *acc = run->acc_d + (size_t)row * run->pitch;

        for (col = 0; col < cols; col++) {
            int32_t v = npu_core_result(&run->t->conv, acc[col], 0);

            memcpy((uint8_t *)acc + col * sizeof(v), &v, sizeof(v));
        }
    }
}

static void store_block(ConvRun *run, uint32_t pos, uint32_t rows,
                        uint32_t kernel, uint32_t cols)
{
    NpuBlock block = {
        .row = pos,
        .rows = rows,
        .col = kernel,
        .cols = cols,
        .pitch = run->pitch * acc_elem(run) / sizeof(int32_t),
    };

    if (run->sums) {
        block.f = run->acc_f;
    } else {
        block.i = run->acc_i;
        if (run->wide) {
            finish_wide(run, rows, cols);
        } else {
            finish_int(run, rows, kernel, cols);
        }
    }
    npu_dpu_store(run->t, run->in, &block, run->out);
}

static bool run_block(ConvRun *run, uint32_t pos, uint32_t rows,
                      uint32_t kernel, uint32_t cols)
{
    uint32_t lanes = rows + run->extra_rows;
    uint32_t piece, at;

    memset(run->acc_i, 0,
           (size_t)QEMU_ALIGN_UP(lanes, run->gemm->rows) * run->pitch *
           acc_elem(run));
    for (piece = at = 0; next_slab(run, piece, at);
         piece += run->slab.pieces, at += run->slab.len) {
        pack_cols(run, kernel, cols);
        if (!multiply_slab(run, pos, lanes, cols + run->extra_cols)) {
            return false;
        }
    }
    store_block(run, pos, rows, kernel, cols);
    return true;
}

static bool run_all(ConvRun *run)
{
    const NpuConv *c = &run->t->conv;
    uint32_t positions = c->out_w * c->out_h;
    uint32_t kernels = MIN(c->kernels, run->t->dpu.orig_channels);
    uint32_t max_rows = run->rows_max - run->extra_rows;
    uint32_t max_cols = run->cols_max - run->extra_cols;
    uint32_t kernel, pos;

    for (kernel = 0; kernel < kernels; kernel += max_cols) {
        uint32_t cols = MIN(kernels - kernel, max_cols);

        for (pos = 0; pos < positions; pos += max_rows) {
            if (!run_block(run, pos, MIN(positions - pos, max_rows), kernel,
                           cols)) {
                return false;
            }
        }
    }
    return true;
}

static void choose(ConvRun *run)
{
    const NpuConv *c = &run->t->conv;
    bool half = c->precision == NPU_PREC_FP16;
    uint32_t all, fit;

    run->sums = npu_conv_is_float(c);
    run->wide = run->sums || c->bits > 8 ||
                c->kernel_elems > NPU_GEMM_MAX_INT;
    run->source = half ? NPU_GEMM_HALF :
                  run->sums ? NPU_GEMM_FLOAT :
                  run->wide ? NPU_GEMM_INT : NPU_GEMM_INT8;
    run->direct = half || (c->precision == NPU_PREC_INT8 && !run->wide);
    run->gemm = npu_gemm(run->source, run->in->skip_kernels);
    run->extra_rows = run->gemm->biased;
    run->extra_cols = !run->wide && c->cpend;
    all = c->kernels + run->extra_cols;
    run->cols_max = QEMU_ALIGN_UP(all, run->gemm->cols);
    run->cols_max = MIN(run->cols_max, MAX_COLS / run->gemm->cols *
                                       run->gemm->cols);
    run->pitch = run->cols_max + 16;
    all = c->out_w * c->out_h + run->extra_rows;
    fit = ACC_BYTES / (run->pitch * acc_elem(run));
    run->rows_max = QEMU_ALIGN_UP(MIN(all, fit), run->gemm->rows);
}

/* Aligned for vectors; to be freed as *@raw. */
static void *pack_alloc(void **raw, size_t size)
{
    *raw = g_try_malloc(size + PACK_ALIGN);
    return *raw ? (void *)ROUND_UP((uintptr_t)*raw, PACK_ALIGN) : NULL;
}

bool npu_conv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    ConvRun *run = g_try_malloc0(sizeof(*run));
    void *raw[5] = { NULL };
    bool ok = false;
    unsigned i;

    if (!run) {
        return false;
    }
    run->t = t;
    run->in = in;
    run->out = out;
    choose(run);
    run->rows = pack_alloc(&raw[0], NPU_GEMM_ROWS * NPU_GEMM_BLOCK);
    run->cols = pack_alloc(&raw[1], run->cols_max * NPU_GEMM_BLOCK);
    run->acc_i = pack_alloc(&raw[2], (size_t)run->rows_max * run->pitch *
                                     acc_elem(run));
    run->row_bits = pack_alloc(&raw[3], NPU_GEMM_ROWS / run->gemm->rows *
                                          sizeof(*run->row_bits));
    run->col_bits = pack_alloc(&raw[4], run->cols_max / run->gemm->cols *
                                          sizeof(*run->col_bits));
    make_padding(&t->conv, run->pad, NPU_ATOM_BITS / t->conv.bits);
    make_padding(&t->conv, run->pad_end,
                 t->conv.pad_channels % (NPU_ATOM_BITS / t->conv.bits));
    if (run->rows && run->cols && run->acc_i && run->row_bits &&
        run->col_bits) {
        npu_dpu_fill_padding(t, out);
        ok = run_all(run);
    }
    for (i = 0; i < ARRAY_SIZE(raw); i++) {
        g_free(raw[i]);
    }
    g_free(run);
    return ok;
}
