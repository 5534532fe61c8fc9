/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Convolution of the RK3588 NPU: the CNA's windows times the CORE's kernels.
 *
 * Both operands are repacked so that one output is the dot product of two
 * lanes in the order of the weight stream: channel group, kernel row, kernel
 * column, channel.  Floats are summed in double in that order and rounded
 * once.  Integers are summed exactly; those that are too many or too wide for
 * an int32 are summed in double, too, where all of them are below 2^53.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "rk3588_npu_conv.h"
#include "rk3588_npu_dpu.h"
#include "rk3588_npu_gemm.h"

#define PACK_BYTES      (8u << 20)      /* aim for packed kernels, or windows */
#define MAX_COLS        512
#define MAX_TILE        64              /* lanes of a panel */
#define MAX_PIECE       32              /* elements of a lane packed at once */
#define PACK_ALIGN      64

/* Elements that have to be converted before they are packed. */
typedef union Piece {
    int8_t i[MAX_PIECE];
    double f[MAX_PIECE];
} Piece;

typedef struct ConvRun {
    const NpuTask *t;
    const NpuOperands *in;
    uint8_t *out;
    const NpuGemm *gemm;
    NpuGemmSource source;
    bool direct;            /* elements are packed as they are in memory */
    bool wide;              /* lanes are doubles */
    uint32_t k;             /* elements of a dot product */
    uint32_t k_pad;
    uint32_t k_block;
    uint32_t rows_max;      /* lanes packed at a time */
    uint32_t cols_max;
    uint32_t pitch;         /* of results: not a power of two, for caches */
    uint32_t extra_rows;    /* a row of ones that sums columns */
    uint32_t extra_cols;    /* a column of ones that sums windows */
    uint8_t *rows;
    uint8_t *cols;
    union {
        int32_t *acc_i;     /* rows_max x pitch */
        double *acc_f;
    };
    float *result;          /* of floats, as the DPU takes them */
    int64_t *tap;           /* of each lane's atoms in a surface; or TAP_PAD */
    uint8_t pad[NPU_ATOM];
    const void *src[MAX_TILE];
    Piece piece[MAX_TILE];
} ConvRun;

#define TAP_PAD     (-1)

bool npu_conv_cancelled(const NpuOperands *in)
{
    return in->cancel && __atomic_load_n(in->cancel, __ATOMIC_RELAXED);
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

void npu_conv_window(const NpuConv *c, uint32_t pos, int32_t *y, int32_t *x)
{
    *y = (int32_t)(pos / c->out_w * c->stride_y) - (int32_t)c->pad_top;
    *x = (int32_t)(pos % c->out_w * c->stride_x) - (int32_t)c->pad_left;
}

int32_t npu_core_result(const NpuConv *c, int64_t acc, int64_t pend)
{
    acc = npu_round_shift(acc + pend, c->truncate, c->truncate_up);
    return acc < INT32_MIN ? INT32_MIN : acc > INT32_MAX ? INT32_MAX : acc;
}

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

/* An atom of padding: the register repeats its value for every element. */
static void make_padding(const NpuConv *c, uint8_t *atom)
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
}

/* --- Packing --- */

/* Channels of group @cg: the last group is as short as the cube. */
static uint32_t group_channels(const NpuConv *c, uint32_t cg)
{
    return MIN(c->in_c - cg * c->channel_group, c->channel_group);
}

/* Calls for every (channel group, ky, kx) of a window. */
#define FOR_WINDOW(c, cg, ky, kx)                                           \
    for (cg = 0; cg < DIV_ROUND_UP((c)->in_c, (c)->channel_group); cg++)    \
        for (ky = 0; ky < (c)->k_h; ky++)                                   \
            for (kx = 0; kx < (c)->k_w; kx++)

static uint32_t block_len(const ConvRun *run, uint32_t k)
{
    return MIN(run->k_pad - k, run->k_block);
}

/* The panel from @lane on in the block of elements that starts at @k. */
static uint8_t *panel(const ConvRun *run, uint8_t *base, uint32_t lanes,
                      uint32_t lane, uint32_t k)
{
    return base + ((size_t)k * lanes + (size_t)lane * block_len(run, k)) *
                  run->gemm->elem;
}

/* Elements [@at, @at + @n) of @count lanes from @lane on, at run->src. */
static void pack_piece(ConvRun *run, bool cols, uint32_t lane, uint32_t count,
                       uint32_t at, uint32_t n)
{
    static const uint8_t size[] = {
        [NPU_GEMM_INT8] = 1, [NPU_GEMM_HALF] = 2, [NPU_GEMM_DOUBLE] = 8,
    };
    uint32_t done, len, i;

    for (done = 0; done < n; done += len) {
        uint32_t k = (at + done) / run->k_block * run->k_block;

        len = MIN(n - done, k + run->k_block - at - done);
        if (cols) {
            run->gemm->pack_cols(panel(run, run->cols, run->cols_max, lane, k),
                                 at + done - k, block_len(run, k), run->src,
                                 count, len);
        } else {
            run->gemm->pack_rows(panel(run, run->rows, run->rows_max, lane, k),
                                 at + done - k, block_len(run, k), run->src,
                                 count, len);
        }
        for (i = 0; i < count && done + len < n; i++) {
            run->src[i] = (const uint8_t *)run->src[i] +
                          len * size[run->source];
        }
    }
}

/* Where in a surface every tap of the windows of @count positions is. */
static void find_taps(ConvRun *run, uint32_t pos, uint32_t count)
{
    const NpuConv *c = &run->t->conv;
    uint32_t ky, kx, i;

    for (i = 0; i < count; i++) {
        int64_t *tap = run->tap + i;
        int32_t y, x;

        npu_conv_window(c, pos + i, &y, &x);
        for (ky = 0; ky < c->k_h; ky++) {
            for (kx = 0; kx < c->k_w; kx++, tap += MAX_TILE) {
                const uint8_t *atom =
                    npu_conv_atom(c, run->in->feature, 0,
                                  y + (int32_t)(ky * c->step_y),
                                  x + (int32_t)(kx * c->step_x));

                *tap = atom ? atom - run->in->feature : TAP_PAD;
            }
        }
    }
}

/* Channels [@ch, ...) of an atom at @tap of @count lanes. */
static void gather(ConvRun *run, const int64_t *tap, uint32_t ch,
                   uint32_t count)
{
    const NpuConv *c = &run->t->conv;
    uint32_t per_atom = NPU_ATOM_BITS / c->bits, i;
    const uint8_t *surface = run->in->feature +
                             ch / per_atom * c->atoms.host_surf;

    for (i = 0; i < count; i++) {
        set_source(run, i, tap[i] == TAP_PAD ? run->pad : surface + tap[i],
                   per_atom);
    }
}

/* The windows of @count positions from @pos, and a row of ones if need be. */
static void pack_row_panel(ConvRun *run, uint32_t lane, uint32_t pos,
                           uint32_t count, bool ones)
{
    /* Packing adds 128, in eight bits. */
    static const int8_t one[MAX_PIECE] = { [0 ... MAX_PIECE - 1] = -127 };
    const NpuConv *c = &run->t->conv;
    uint32_t per_atom = NPU_ATOM_BITS / c->bits;
    uint32_t cg, ky, kx, i, at = 0;

    find_taps(run, pos, count);
    FOR_WINDOW(c, cg, ky, kx) {
        const int64_t *tap = run->tap + (ky * c->k_w + kx) * MAX_TILE;
        uint32_t n = group_channels(c, cg);

        for (i = 0; i < n; i += per_atom) {
            gather(run, tap, cg * c->channel_group + i, count);
            run->src[count] = one;
            pack_piece(run, false, lane, count + ones, at + i, per_atom);
        }
        at += n;
    }
}

static void pack_rows(ConvRun *run, uint32_t pos, uint32_t rows)
{
    uint32_t lane, tile = run->gemm->rows;

    for (lane = 0; lane < rows + run->extra_rows; lane += tile) {
        uint32_t count = lane < rows ? MIN(rows - lane, tile) : 0;

        pack_row_panel(run, lane, pos + lane, count,
                       run->extra_rows && rows - lane < tile);
    }
}

/*
 * Weight stream: kernel groups; in each, channel groups, kernel rows and
 * columns; then all kernels of the group with their channels.  Partial groups
 * are compact.  @at elements of every kernel come before the piece.
 */
static const uint8_t *weight_piece(const ConvRun *run, uint32_t kernel,
                                   uint32_t at, uint32_t n)
{
    const NpuConv *c = &run->t->conv;
    uint32_t first = kernel - kernel % c->kernel_group;
    uint32_t group = MIN(c->kernels - first, c->kernel_group);
    size_t elem = (size_t)first * c->kernel_elems + (size_t)group * at +
                  (size_t)(kernel - first) * n;

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

static void pack_col_panel(ConvRun *run, uint32_t lane, uint32_t kernel,
                           uint32_t count, bool ones)
{
    static const int8_t one[MAX_PIECE] = { [0 ... MAX_PIECE - 1] = 1 };
    const NpuConv *c = &run->t->conv;
    uint32_t cg, ky, kx, i, at = 0;

    FOR_WINDOW(c, cg, ky, kx) {
        uint32_t n = group_channels(c, cg);

        for (i = 0; i < count; i++) {
            set_source(run, i, weight_piece(run, kernel + i, at, n), n);
            if (run->wide && c->cpend) {
                add_pend(run, i, kernel + i, n);
            }
        }
        run->src[count] = one;
        pack_piece(run, true, lane, count + ones, at, n);
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

static void multiply_panel(ConvRun *run, uint32_t rows, uint32_t col,
                           uint32_t k)
{
    const NpuGemm *g = run->gemm;
    uint32_t row;

    for (row = 0; row < rows; row += g->rows) {
        size_t at = (size_t)row * run->pitch + col;

        g->tile(panel(run, run->rows, run->rows_max, row, k),
                panel(run, run->cols, run->cols_max, col, k),
                block_len(run, k),
                run->wide ? (void *)(run->acc_f + at)
                          : (void *)(run->acc_i + at), run->pitch);
    }
}

static bool multiply(ConvRun *run, uint32_t rows, uint32_t cols)
{
    size_t elem = run->wide ? sizeof(double) : sizeof(int32_t);
    uint32_t k, col;

    memset(run->acc_i, 0, (size_t)run->rows_max * run->pitch * elem);
    for (k = 0; k < run->k_pad; k += run->k_block) {
        for (col = 0; col < cols; col += run->gemm->cols) {
            if (npu_conv_cancelled(run->in)) {
                return false;
            }
            multiply_panel(run, rows, col, k);
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

/* Doubles become what the DPU takes: fp32, or int32 in the same place. */
static void finish_wide(ConvRun *run, uint32_t rows, uint32_t cols)
{
    uint32_t row, col;

    for (row = 0; row < rows; row++) {
        const double *acc = run->acc_f + (size_t)row * run->pitch;
        float *f = run->result + (size_t)row * run->pitch;
        int32_t *i = (int32_t *)f;

        for (col = 0; col < cols; col++) {
            if (run->t->dpu.is_float) {
                f[col] = acc[col];
            } else {
                i[col] = npu_core_result(&run->t->conv, acc[col], 0);
            }
        }
    }
}

static bool run_block(ConvRun *run, uint32_t pos, uint32_t rows,
                      uint32_t kernel, uint32_t cols)
{
    NpuBlock block = {
        .row = pos,
        .rows = rows,
        .col = kernel,
        .cols = cols,
        .pitch = run->pitch,
    };

    pack_rows(run, pos, rows);
    if (!multiply(run, rows + run->extra_rows, cols + run->extra_cols)) {
        return false;
    }
    if (run->wide) {
        finish_wide(run, rows, cols);
        block.f = run->result;
    } else {
        finish_int(run, rows, kernel, cols);
        block.i = run->acc_i;
    }
    npu_dpu_store(run->t, run->in, &block, run->out);
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

        pack_cols(run, kernel, cols);
        for (pos = 0; pos < positions; pos += max_rows) {
            if (!run_block(run, pos, MIN(positions - pos, max_rows), kernel,
                           cols)) {
                return false;
            }
        }
    }
    return true;
}

/* How many lanes to pack, of @all: whole panels within PACK_BYTES. */
static uint32_t lane_count(const ConvRun *run, uint32_t all, uint32_t most,
                           uint32_t tile)
{
    uint32_t fit = PACK_BYTES / (run->k_pad * run->gemm->elem);

    fit = MIN(fit, most) / tile * tile;
    return MIN(MAX(fit, tile), QEMU_ALIGN_UP(all, tile));
}

static void choose(ConvRun *run)
{
    const NpuConv *c = &run->t->conv;
    unsigned skip = run->in->skip_kernels;

    run->k = c->kernel_elems;
    run->wide = run->t->dpu.is_float || c->bits > 8 ||
                run->k > NPU_GEMM_MAX_INT;
    run->source = c->precision == NPU_PREC_FP16 ? NPU_GEMM_HALF :
                  run->wide ? NPU_GEMM_DOUBLE : NPU_GEMM_INT8;
    run->direct = c->precision == NPU_PREC_FP16 ||
                  (c->precision == NPU_PREC_INT8 && !run->wide);
    run->gemm = npu_gemm(run->source, skip);
    run->k_pad = QEMU_ALIGN_UP(run->k, run->gemm->k_align);
    run->k_block = NPU_GEMM_BLOCK / run->gemm->elem;
    run->extra_rows = run->gemm->biased;
    run->extra_cols = !run->wide && c->cpend;
    run->rows_max = lane_count(run, c->out_w * c->out_h + run->extra_rows,
                               NPU_GEMM_ROWS, run->gemm->rows);
    run->cols_max = lane_count(run, c->kernels + run->extra_cols, MAX_COLS,
                               run->gemm->cols);
    run->pitch = run->cols_max + 16;
}

/* Zeroed, and aligned for vectors; to be freed as *@raw. */
static void *pack_alloc(void **raw, size_t size)
{
    *raw = g_try_malloc0(size + PACK_ALIGN);
    return *raw ? (void *)ROUND_UP((uintptr_t)*raw, PACK_ALIGN) : NULL;
}

bool npu_conv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    ConvRun *run = g_try_malloc0(sizeof(*run));
    void *raw[5] = { NULL };
    size_t lane, tile;
    bool ok = false;
    unsigned i;

    if (!run) {
        return false;
    }
    run->t = t;
    run->in = in;
    run->out = out;
    choose(run);
    lane = (size_t)run->k_pad * run->gemm->elem;
    tile = (size_t)run->rows_max * run->pitch;
    run->rows = pack_alloc(&raw[0], run->rows_max * lane);
    run->cols = pack_alloc(&raw[1], run->cols_max * lane);
    run->acc_f = pack_alloc(&raw[2], tile * sizeof(double));
    run->result = pack_alloc(&raw[3], run->wide ? tile * sizeof(float) : 0);
    run->tap = pack_alloc(&raw[4], (size_t)t->conv.k_w * t->conv.k_h *
                                   MAX_TILE * sizeof(*run->tap));
    make_padding(&t->conv, run->pad);
    if (run->rows && run->cols && run->acc_f && run->result && run->tap) {
        npu_dpu_fill_padding(t, out);
        ok = run_all(run);
    }
    for (i = 0; i < ARRAY_SIZE(raw); i++) {
        g_free(raw[i]);
    }
    g_free(run);
    return ok;
}
