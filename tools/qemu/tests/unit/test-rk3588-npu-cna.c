/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random convolutions of every precision that the NPU model's array takes,
 * against loops over tensors by row, column and channel.
 */
#include "harness.h"
#include <math.h>
#include "compute/numeric.h"
#include "reference.h"
#include "dcomp-encode.h"

#define ADDR_A          (MEM_BASE + 0x100000)
#define ADDR_B          (MEM_BASE + 0x300000)
#define ADDR_C          (MEM_BASE + 0x600000)

enum { INT8, INT16, FP16, BF16, INT32, FP32, INT4, TF32, PRECS };

static const struct {
    const char *name;
    int bits;
    int group;              /* kernels that the weight stream keeps together */
    int channels;           /* of one group of the weight stream */
} prec[PRECS] = {
    [INT8] = { "int8", 8, 32, 32 },
    [INT16] = { "int16", 16, 16, 32 },
    [FP16] = { "fp16", 16, 16, 32 },
    [BF16] = { "bf16", 16, 16, 32 },
    [INT32] = { "int32", 32 },
    [FP32] = { "fp32", 32 },
    [INT4] = { "int4", 4, 64, 32 },
    [TF32] = { "tf32", 32, 16, 16 },
};

/* What a run of programs must have had some of. */
enum {
    F_DEPTHWISE, F_STRIDE, F_STRIDE_0, F_DILATION, F_PADDING,
    F_PARTIAL_CHANNELS, F_PARTIAL_KERNELS, F_GROUPED, F_LINEWISE,
    F_ROW_MAJOR, F_SURFACE_GAPS, F_LONG_LINES, F_CPEND, F_TRUNCATE,
    F_NOTCH, F_PACKED1, F_PACKED2, F_PACKED3,
    F_PACKED4, F_PACKED_RAW, F_CVT_PACKED, F_CVT_ATOMS, F_CVT_MASK,
    F_CVT_ADD_FIRST, F_CVT_TIES_UP, F_CVT_UNSIGNED, F_SATURATED, F_WILD,
    F_BEYOND_DOUBLE, F_PAD_SECOND, F_STORED, F_DCOMP,
    F_DECONV, F_DECONV_DW, F_DECONV_IDLE, FEATURES
};

static const char *const feature_name[FEATURES] = {
    "depthwise", "stride", "stride of 0", "dilation", "padding",
    "partial channel groups", "partial kernel groups",
    "groups of four lines", "single lines",
    "row major input", "gaps between surfaces", "lines longer than the DMA's",
    "CPEND", "truncation", "output notch", "1 packed channel",
    "2 packed channels", "3 packed channels", "4 packed channels",
    "packed, not converted", "packed, converted", "atoms converted",
    "converter mask", "converter adds first", "converter ties up",
    "converter of unsigned data", "saturated output",
    "halves of all exponents", "sums of halves that no double holds",
    "padding by the second byte", "three atoms stored as four",
    "compressed weights", "deconvolution", "depthwise deconvolution",
    "strides of a deconvolution that do nothing",
};

static unsigned seen[FEATURES], of_type[PRECS][PRECS];

typedef struct Lane {
    int scale, offset, shift;
} Lane;

typedef struct Case {
    int in, out;
    bool depthwise;
    int h, w, ic, oc;       /* tensors; ic fills atoms */
    int stored;             /* channels that have weights */
    int kernels, written;   /* in the program */
    int kh, kw, sy, sx, dy, dx, top, left, oh, ow;
    uint32_t pad;           /* bits of an element */
    bool deconv;            /* and the fields of its strides */
    int fy, fx;
    bool lines;             /* GROUP_LINE_OFF */
    int dma_width;
    int line, surf;         /* positions from line to line, and so on */
    int packed;
    bool cvt, cvt_signed, cvt_up, cvt_add_first;
    uint32_t cvt_mask;
    Lane lane[4];
    bool dcomp;             /* weights are compressed, */
    uint32_t amount[ENC_LANES]; /* in so many blocks */
    int pend_op, truncate;
    bool truncate_up;
    int scale, shift, offset, notch, size_e;
    bool wild;              /* halves of all exponents */
    double *x, *wt;         /* [h][w][ic], [kernel][kh][kw][ic] */
} Case;

static bool is_float(const Case *c)
{
    return c->in == FP16 || c->in == BF16 || c->in == TF32;
}

/* --- elements --- */

/*
 * A float with a random sign and mantissa and an exponent that is not wild,
 * unless it is a half and may be any that is finite, or nearly as often 0.
 */
static uint32_t random_bits(int p, bool wild)
{
    switch (p) {
    case FP16:
        if (wild && one_in(3)) {
            return rnd() & 0x8000;
        }
        return (rnd() & 0x83ff) | (uint32_t)(wild ? rnd_in(0, 30)
                                                  : rnd_in(6, 18)) << 10;
    case BF16:
        return (rnd() & 0x807f) | (uint32_t)rnd_in(110, 137) << 7;
    case TF32:
        return ((rnd() << 16 ^ rnd()) & 0x807fffff) |
               (uint32_t)rnd_in(110, 137) << 23;
    default:
        return rnd() & ((1u << prec[p].bits) - 1);
    }
}

static double value(int p, uint32_t bits)
{
    int shift = 32 - prec[p].bits;
    union { uint32_t u; float f; } v;

    switch (p) {
    case FP16:
        return npu_fp16_to_fp32(bits);
    case BF16:
        v.u = bits << 16;
        return v.f;
    case TF32:
        /* Ten bits of mantissa are left. */
        v.u = bits >> 13 << 13;
        return v.f;
    case FP32:
        v.u = bits;
        return v.f;
    default:
        return (int32_t)(bits << shift) >> shift;
    }
}

/* Element @i of an array at @base. */
static void store(uint32_t base, size_t i, int p, uint32_t bits)
{
    uint8_t *b = at(base + i * prec[p].bits / 8);

    if (p == INT4) {
        *b = i % 2 ? (*b & 0x0f) | bits << 4 : (*b & 0xf0) | bits;
    } else {
        memcpy(b, &bits, prec[p].bits / 8);
    }
}

static uint32_t load(uint32_t base, size_t i, int p)
{
    uint32_t bits = 0;

    memcpy(&bits, at(base + i * prec[p].bits / 8), prec[p].bits / 8);
    return bits;
}

/* --- the generator --- */

/* How far apart lines or columns of the input are. */
static int spread(const Case *c, int field)
{
    return !c->deconv ? 1 : field == 1 ? 2 : field == 3 ? 4 : field == 7 ? 8
                                                                        : 1;
}

static void random_steps(Case *c)
{
    c->fy = one_in(2) ? rnd_in(0, 7) : 1;
    c->fx = one_in(2) ? rnd_in(0, 7) : 1;
    c->deconv = one_in(6);
    if (c->deconv) {
        c->sy = c->sx = c->dy = c->dx = 1;
        return;
    }
    c->sy = one_in(8) ? 0 : rnd_in(1, 4);
    c->sx = one_in(8) ? 0 : rnd_in(1, 4);
    c->dy = rnd_in(1, 3);
    c->dx = rnd_in(1, 3);
}

/* Places of a window within @room; with a stride of 0 it stays at the first. */
static int places(int room, int stride)
{
    return stride ? room / stride + 1 : rnd_in(1, 6);
}

static void random_window(Case *c)
{
    int limit = c->in == INT16 ? 1 : 60, h, w;

    do {
        c->h = rnd_in(1, 11);
        c->w = rnd_in(1, 11);
        c->kh = rnd_in(1, 5);
        c->kw = rnd_in(1, 5);
        random_steps(c);
        h = (c->h - 1) * spread(c, c->fy) + 1;
        w = (c->w - 1) * spread(c, c->fx) + 1;
        c->top = rnd_in(0, c->kh - 1);
        c->left = rnd_in(0, c->kw - 1);
        c->oh = places(h + c->top + rnd_in(0, c->top) -
                       (c->kh - 1) * c->dy - 1, c->sy);
        c->ow = places(w + c->left + rnd_in(0, c->left) -
                       (c->kw - 1) * c->dx - 1, c->sx);
    } while (h + c->top <= (c->kh - 1) * c->dy ||
             w + c->left <= (c->kw - 1) * c->dx || c->oh < 1 || c->ow < 1 ||
             c->oh * c->ow > limit);
}

static void random_channels(Case *c)
{
    int per_atom = 128 / prec[c->in].bits;

    c->ic = up(rnd_in(1, c->in == INT4 ? 160 : 90), per_atom);
    if (c->in == TF32) {
        c->ic = MIN(c->ic, 4096 / (c->kh * c->kw) / per_atom * per_atom);
    }
    if (c->depthwise) {
        c->oc = rnd_in(1, c->ic);
        c->kernels = 1;
        c->written = up(c->oc, c->in == INT8 ? 64 : 32);
    } else if (c->in == INT4) {
        c->kernels = 64 * rnd_in(1, 3);
        c->oc = rnd_in(1, c->kernels);
        c->written = up(c->oc, 8);
    } else {
        c->oc = rnd_in(1, c->in == INT16 ? 16 : 80);
        c->kernels = c->oc + (c->in == INT16 ? 0 : rnd_in(0, 5));
        c->written = up(c->oc, prec[c->in].group);
    }
}

/* Groups of four atoms that lack one may be stored with it. */
static void random_stored(Case *c)
{
    int per_atom = 128 / prec[c->in].bits;
    bool fours = c->in != INT8 || c->depthwise;

    c->stored = c->ic;
    if (c->in != INT4 && fours && c->ic / per_atom % 4 == 3 && rnd() % 2) {
        c->stored += per_atom;
    }
}

static void random_layout(Case *c)
{
    int surfaces = c->ic * prec[c->in].bits / 128;

    c->dma_width = c->w;
    c->line = c->w;
    c->surf = c->w * c->h + (rnd() % 3 ? 0 : rnd_in(1, 9));
    c->lines = rnd() % 2;
    if (!c->lines) {
        return;
    }
    if (rnd() % 2) {
        c->line = surfaces * c->w + rnd_in(0, 3);
        c->surf = c->w;
    } else {
        c->line = c->w + rnd_in(0, 5);
        c->surf = c->line * c->h + rnd_in(0, 9);
        c->dma_width = rnd() % 3 ? c->w : rnd_in(1, c->w);
    }
}

static void random_cvt(Case *c)
{
    int i;

    c->cvt_signed = rnd() % 2;
    c->cvt_up = rnd() % 2;
    c->cvt_add_first = rnd() % 2;
    c->cvt_mask = rnd() % 2 ? 0xffff : rnd_in(1, 0xffff);
    for (i = 0; i < 4; i++) {
        c->lane[i].scale = rnd_in(-0x8000, 0x7fff);
        c->lane[i].shift = rnd_in(8, 17);
        c->lane[i].offset = rnd_in(-200, 200);
    }
}

/* Packed pixels, or a converter: where the array's precision allows them. */
static void random_input(Case *c)
{
    bool packs = !c->depthwise && !c->deconv && (prec[c->in].bits == 8 ||
                                   prec[c->in].bits == 16);
    bool converts = c->in == INT8 || c->in == INT16;

    if (packs && rnd() % 4 == 0) {
        c->packed = rnd_in(1, 4);
        c->ic = 128 / prec[c->in].bits * (rnd() % 4 ? 1 : 2);
        c->lines = true;
        c->dma_width = rnd() % 2 ? c->w : rnd_in(1, c->w);
        c->line = c->w + rnd_in(0, 5);
        c->surf = 0;
    }
    if (converts && rnd() % 3 == 0) {
        c->cvt = true;
        random_cvt(c);
    }
}

static void random_output(Case *c)
{
    static const int out[PRECS][3] = {
        [INT8] = { INT8, INT32, FP32 }, [INT16] = { INT32, INT32, INT32 },
        [FP16] = { FP16, FP32, FP16 }, [BF16] = { BF16, FP32, BF16 },
        [INT4] = { INT16, INT16, INT16 }, [TF32] = { FP32, FP32, FP32 },
    };

    c->out = out[c->in][rnd() % 3];
    c->notch = rnd() % 3 ? 0 : rnd_in(1, 4);
    c->scale = 1;
    if (c->out == INT8 || (c->out == INT16 && rnd() % 2)) {
        c->scale = rnd_in(1, 0x7fff);
        c->shift = c->out == INT8 ? rnd_in(16, 24) : rnd_in(10, 14);
        c->offset = rnd_in(-100, 100);
    }
    if (is_float(c)) {
        return;
    }
    if (c->out != INT32 || c->depthwise) {
        c->pend_op = rnd() % 2 ? rnd_in(-0x8000, 0x7fff) >> rnd_in(0, 12) : 0;
    }
    c->truncate = rnd() % 2 ? rnd_in(1, 9) : 0;
    c->truncate_up = rnd() % 2;
}

static bool gives_depthwise_words(const Case *c)
{
    return c->depthwise && c->in == INT8 && prec[c->out].bits == 32;
}

/* Surfaces of a group of the output, less 1. */
static void random_group(Case *c)
{
    c->size_e = gives_depthwise_words(c) ? (1 << rnd() % 4) - 1 : rnd() % 8;
}

static void random_case(Case *c)
{
    static const int in[] = { INT8, INT16, FP16, BF16, INT4, TF32 };

    memset(c, 0, sizeof(*c));
    c->in = in[rnd() % ARRAY_SIZE(in)];
    c->depthwise = (c->in == INT8 || c->in == FP16) && rnd() % 4 == 0;
    random_window(c);
    random_channels(c);
    random_layout(c);
    random_input(c);
    random_stored(c);
    c->dcomp = c->in == INT8 && one_in(3);
    random_output(c);
    c->wild = c->in == FP16 && one_in(2);
    c->pad = random_bits(c->in, c->wild);
    if (c->in == INT8) {
        c->pad |= rnd() % 256 << 8;
    }
}

static void note(unsigned feature, bool has)
{
    seen[feature] += has;
}

static void note_case(const Case *c)
{
    of_type[c->in][c->out]++;
    note(F_DEPTHWISE, c->depthwise);
    note(F_STRIDE, c->sy > 1 || c->sx > 1);
    note(F_STRIDE_0, !c->sy || !c->sx);
    note(F_DILATION, (c->dy > 1 && c->kh > 1) || (c->dx > 1 && c->kw > 1));
    note(F_PADDING, c->top || c->left);
    note(F_PARTIAL_CHANNELS, c->ic % prec[c->in].channels);
    note(F_PARTIAL_KERNELS, !c->depthwise && c->kernels % prec[c->in].group);
    note(F_GROUPED, !c->lines);
    note(F_LINEWISE, c->lines && !c->packed);
    note(F_ROW_MAJOR, c->lines && !c->packed && c->surf == c->w && c->h > 1);
    note(F_SURFACE_GAPS, c->surf > c->w * c->h);
    note(F_LONG_LINES, c->dma_width < c->w && !c->packed);
    note(F_CPEND, c->pend_op);
    note(F_TRUNCATE, c->truncate);
    note(F_NOTCH, c->notch);
    note(F_PACKED1 + c->packed - 1, c->packed);
    note(F_PACKED_RAW, c->packed && !c->cvt);
    note(F_CVT_PACKED, c->packed && c->cvt);
    note(F_CVT_ATOMS, !c->packed && c->cvt);
    note(F_CVT_MASK, c->cvt && c->cvt_mask != 0xffff);
    note(F_CVT_ADD_FIRST, c->cvt && c->cvt_add_first);
    note(F_CVT_TIES_UP, c->cvt && c->cvt_up);
    note(F_CVT_UNSIGNED, c->cvt && !c->cvt_signed);
    note(F_WILD, c->wild);
    note(F_STORED, c->stored > c->ic);
    note(F_DCOMP, c->dcomp);
    note(F_DECONV, spread(c, c->fy) > 1 && spread(c, c->fx) > 1);
    note(F_DECONV_DW, c->depthwise && spread(c, c->fy) > 1);
    note(F_DECONV_IDLE, !c->deconv && c->fy);
    note(F_PAD_SECOND, c->depthwise && c->in == INT8 && (c->top || c->left) &&
                       c->oc > 1);
}

/* --- tensors, and where they are in memory --- */

/* What the array sees of the raw element @bits of channel @ch. */
static double convert(const Case *c, int ch, uint32_t bits)
{
    int lane = ch % (128 / prec[c->in].bits);
    int64_t v, limit = 1ll << (prec[c->in].bits - 1);
    const Lane *l = &c->lane[lane % 4];

    if (!c->cvt || !(c->cvt_mask >> lane & 1)) {
        return value(c->in, bits);
    }
    v = c->cvt_signed ? (int64_t)value(c->in, bits) : bits;
    if (c->cvt_add_first) {
        v = ref_round_ties((v + l->offset) * l->scale, l->shift, c->cvt_up);
    } else {
        v = ref_round_ties(v * l->scale, l->shift, c->cvt_up) + l->offset;
    }
    return ref_clip(v, -limit, limit - 1);
}

static void make_feature(Case *c)
{
    int atom = 128 / prec[c->in].bits, y, x, ch;
    double *to = c->x;

    for (y = 0; y < c->h; y++) {
        for (x = 0; x < c->w; x++) {
            for (ch = 0; ch < c->ic; ch++) {
                size_t pos = (size_t)y * c->line + x;
                uint32_t bits = random_bits(c->in, c->wild);

                if (c->packed) {
                    *to++ = ch < c->packed ? convert(c, ch, bits) : 0;
                    if (ch < c->packed) {
                        store(ADDR_A, pos * c->packed + ch, c->in, bits);
                    }
                } else {
                    pos += (size_t)ch / atom * c->surf;
                    store(ADDR_A, pos * atom + ch % atom, c->in, bits);
                    *to++ = convert(c, ch, bits);
                }
            }
        }
    }
}

/* The weight stream; groups of depthwise channels are twice as large. */
static void make_weights(Case *c)
{
    int kg = c->depthwise ? 1 : prec[c->in].group;
    int cg = c->depthwise ? 2 * prec[c->in].group : prec[c->in].channels;
    int taps = c->kh * c->kw, k, k0, ch, ch0, tap;
    size_t i = 0;

    for (k0 = 0; k0 < c->kernels; k0 += kg) {
        for (ch0 = 0; ch0 < c->ic; ch0 += cg) {
            for (tap = 0; tap < taps; tap++) {
                for (k = k0; k < MIN(k0 + kg, c->kernels); k++) {
                    for (ch = ch0; ch < MIN(ch0 + cg, c->stored); ch++) {
                        uint32_t bits = random_bits(c->in, c->wild);

                        store(ADDR_B, i++, c->in, bits);
                        if (ch < c->ic) {
                            c->wt[((size_t)k * taps + tap) * c->ic + ch] =
                                value(c->in, bits);
                        }
                    }
                }
            }
        }
    }
}

/* What is stored becomes a stream. */
static void compress(Case *c)
{
    size_t n = (size_t)c->stored * c->kh * c->kw * c->kernels;
    Encoded e = enc_weights(at(ADDR_B), n, rnd() % 2 ? 0 : 0x11, 1);

    memset(at(ADDR_B), POISON, n);
    memcpy(at(ADDR_B), e.bytes, e.len);
    memcpy(c->amount, e.amount, sizeof(c->amount));
    free(e.bytes);
}

/* The channels at a position; NULL where there is padding. */
static const double *ref_x(const Case *c, int y, int x)
{
    int dy = spread(c, c->fy), dx = spread(c, c->fx);

    if (y < 0 || x < 0 || y >= c->h * dy || x >= c->w * dx || y % dy ||
        x % dx) {
        return NULL;
    }
    return c->x + ((size_t)(y / dy) * c->w + x / dx) * c->ic;
}

/* What channel @ch of a depthwise one sees there; others see one value. */
static double ref_pad(const Case *c, int ch)
{
    bool second = c->depthwise && c->in == INT8 && ch / 32 % 2 == 0 && ch % 2;

    return value(c->in, c->pad >> (second ? 8 : 0));
}

/* To the nearest of 24 bits, ties to even. */
static float ref_float(__int128 v, int exponent)
{
    bool minus = v < 0;
    int cut = 0;
    float f;

    v = minus ? -v : v;
    note(F_BEYOND_DOUBLE, v >> 53 && v % 2);
    while (v >> (24 + cut)) {
        cut++;
    }
    if (cut) {
        __int128 rest = v - (v >> cut << cut), half = (__int128)1 << (cut - 1);

        v >>= cut;
        v += rest > half || (rest == half && v % 2);
    }
    f = ldexpf(v, exponent + cut);
    return minus ? -f : f;
}

/* What the array multiplies at once: channels of one tap. */
typedef struct Piece {
    const double *x, *wt;   /* @x of a window outside the input is NULL */
    double pad;
    int n;
} Piece;

static double ref_products(const Case *c, const Piece *p)
{
    __int128 exact = 0;
    double sum = 0;
    int i;

    for (i = 0; i < p->n; i++) {
        double v = p->x ? p->x[i] : p->pad;

        sum += v * (p->wt[i] + c->pend_op);
        if (c->in == FP16) {
            /* Halves are multiples of 2^-24. */
            exact += (__int128)ldexp(v, 24) * (__int128)ldexp(p->wt[i], 24);
        }
    }
    return c->in == FP16 ? ref_float(exact, -48) : is_float(c) ? (float)sum
                                                               : sum;
}

/*
 * The sum for one output.  Integers fit a double; floats depend on the order,
 * which the model documents: groups of channels, rows, columns.  The products
 * of a group at one tap are rounded together, and added in fp32.
 */
static double ref_sum(const Case *c, int k, int oy, int ox)
{
    int first = c->depthwise ? k : 0, end = c->depthwise ? k + 1 : c->ic;
    const double *wt = c->wt + (c->depthwise ? 0 : (size_t)k * c->kh * c->kw *
                                                   c->ic);
    int step = c->depthwise ? c->ic : prec[c->in].channels;
    int cg, ky, kx;
    double sum = 0;
    float fsum = 0;

    for (cg = first; cg < end; cg += step) {
        for (ky = 0; ky < c->kh; ky++) {
            for (kx = 0; kx < c->kw; kx++) {
                const double *x = ref_x(c, oy * c->sy - c->top + ky * c->dy,
                                        ox * c->sx - c->left + kx * c->dx);
                Piece p = {
                    .x = x ? x + cg : NULL,
                    .wt = wt + (ky * c->kw + kx) * c->ic + cg,
                    .pad = ref_pad(c, k),
                    .n = MIN(cg + step, end) - cg,
                };

                double products = ref_products(c, &p);

                sum += products;
                fsum += products;
            }
        }
    }
    return is_float(c) ? fsum : sum;
}

static double ref_result(const Case *c, double sum, bool *saturated)
{
    int bits = prec[c->out].bits;
    int64_t limit = 1ll << (bits - 1), v = sum, clipped;

    if (is_float(c)) {
        float f = sum;

        return c->out == FP16 ? npu_fp16_to_fp32(npu_fp32_to_fp16(f)) :
               c->out == BF16 ? npu_bf16_to_fp32(npu_fp32_to_bf16(f)) : f;
    }
    v = ref_clip(ref_round_ties(v, c->truncate, c->truncate_up), INT32_MIN,
                 INT32_MAX);
    v = ref_round(v * c->scale + c->offset * ((int64_t)1 << c->shift),
                  c->shift);
    v = ref_clip(v, INT32_MIN, INT32_MAX);
    if (c->out == FP32) {
        return (float)v;
    }
    clipped = ref_clip(v, -limit, limit - 1);
    *saturated = *saturated || clipped != v;
    return clipped;
}

/* --- the program --- */

static void put_input(Prog *p, const Case *c)
{
    uint32_t argb = c->packed ? c->packed + 7 : 0;
    int i;

    put(p, 0x100c, (c->packed ? 1u << 30 : 0) | (uint32_t)c->lines << 29 |
                   c->deconv << 16 | argb << 12 | c->in << 7 | c->in << 4 |
                   (c->depthwise ? 3 : 0));
    put(p, 0x1020, c->w << 16 | c->h);
    put(p, 0x1024, ((c->packed ? c->packed : c->ic) - 1) << 16 | c->ic);
    put(p, 0x1070, ADDR_A);
    put(p, 0x107c, c->lines ? c->line : 4 * c->w);
    put(p, 0x1080, (c->surf - (c->lines ? 1 : 4) * c->dma_width) & 0xfffffff);
    put(p, 0x1084, c->dma_width << 16 | c->h);
    put(p, 0x1088, c->ic);
    put(p, 0x104c, (uint32_t)c->lane[3].shift << 22 | c->lane[2].shift << 16 |
                   c->lane[1].shift << 10 | c->lane[0].shift << 4 |
                   c->cvt_signed << 3 | c->cvt_up << 2 |
                   c->cvt_add_first << 1 | !c->cvt);
    for (i = 0; i < 4; i++) {
        put(p, 0x1050 + 4 * i, (uint32_t)c->lane[i].scale << 16 |
                               (c->lane[i].offset & 0xffff));
    }
    put(p, 0x1180, c->cvt_mask);
}

static void put_window(Prog *p, const Case *c)
{
    uint32_t kernel = c->kh * c->kw * c->stored * prec[c->in].bits / 8;
    int i;

    put(p, 0x1014, (c->dy - 1) << 21 | (c->dx - 1) << 16 | c->fy << 11 |
                   c->fx << 8 | c->sy << 3 | c->sx);
    put(p, 0x1028, c->ow);
    put(p, 0x102c, c->ow * c->oh);
    put(p, 0x1030, kernel * c->kernels);
    put(p, 0x1034, kernel);
    put(p, 0x1038, c->kw << 24 | c->kh << 16 | c->kernels);
    put(p, 0x1040, 5 << 4 | 7);
    put(p, 0x1068, c->left << 4 | c->top);
    put(p, 0x1100, c->dcomp);
    put(p, 0x1104, c->dcomp ? 0x55555555 : 0);
    put(p, 0x1110, ADDR_B);
    for (i = 0; i < ENC_LANES; i++) {
        put(p, 0x1140 + 4 * i, c->amount[i]);
    }
    put(p, 0x1184, c->pad);
    put(p, 0x3010, c->in << 8 | c->depthwise << 1 | 1);
    put(p, 0x3014, (c->oh - 1) << 16 | (c->ow - 1));
    put(p, 0x3018, c->written - 1);
    put(p, 0x301c, c->truncate_up << 6 | c->truncate);
}

static void put_output(Prog *p, const Case *c)
{
    uint32_t surf = (c->ow + c->notch) * c->oh * 16;
    uint32_t e = c->size_e, dpu = c->in == TF32 ? FP32 : c->in;

    put(p, 0x400c, 0x1e4 | (c->depthwise ? 3 << 3 : 0));
    put(p, 0x4010, (uint32_t)c->out << 29 | dpu << 26 | dpu);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, surf);
    put(p, 0x4030, c->ow - 1);
    put(p, 0x4034, c->oh - 1);
    put(p, 0x4038, c->notch << 16 | c->notch);
    put(p, 0x403c, (c->oc - 1) << 16 | (c->written - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, e * 0x124 | (c->pend_op ? 0 : 2));
    put(p, 0x4054, c->pend_op & 0xffff);
    put(p, 0x4058, c->written - 1);
    put(p, 0x405c, (c->oh - 1) << 16 | (c->ow - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4080, c->offset);
    put(p, 0x4084, c->scale | (c->out == FP16 || c->out == BF16) << 16);
    put(p, 0x4088, c->shift);
    put(p, 0x40c0, surf * (e + 1));
}

/* --- one case --- */

static size_t out_index(const Case *c, int k, int y, int x)
{
    int per = 128 / prec[c->out].bits, surf = k / per, pos = y * c->ow + x;

    if (gives_depthwise_words(c)) {
        deal_words(c->size_e + 1, c->ow * c->oh, &surf, &pos);
    }
    return ((size_t)(surf * c->oh + pos / c->ow) * (c->ow + c->notch) +
            pos % c->ow) * per + k % per;
}

static bool check(const Case *c)
{
    bool saturated = false;
    int k, y, x;

    for (k = 0; k < c->written; k++) {
        for (y = 0; y < c->oh; y++) {
            for (x = 0; x < c->ow; x++) {
                double want = k >= c->oc ? 0 :
                    ref_result(c, ref_sum(c, k, y, x), &saturated);
                double got = value(c->out, load(ADDR_C, out_index(c, k, y, x),
                                                c->out));

                if (got != want) {
                    printf("# channel %d (%d,%d): %.9g, want %.9g\n", k, y, x,
                           got, want);
                    return false;
                }
            }
        }
    }
    note(F_SATURATED, saturated);
    return true;
}

static bool untouched(uint32_t from, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < len && *at(from + i) == POISON; i++) {
    }
    return i == len;
}

static void make_prog(Prog *p, const Case *c)
{
    p->n = 0;
    put_input(p, c);
    put_window(p, c);
    put_output(p, c);
    start(p, 0x0d);
}

static bool run_case(Case *c)
{
    size_t out = prec[c->out].bits / 8 * (c->ow + c->notch) * c->oh *
                 up(c->written, 16);
    NpuTaskOptions opt = { .write_padding = true };
    const char *why = NULL;
    bool ok;
    Prog p;

    memset(at(ADDR_C) - 64, POISON, out + 4096 + 64);
    c->x = malloc(sizeof(double) * c->h * c->w * c->ic);
    c->wt = malloc(sizeof(double) * c->kernels * c->kh * c->kw * c->ic);
    make_feature(c);
    make_weights(c);
    if (c->dcomp) {
        compress(c);
    }
    random_group(c);
    make_prog(&p, c);
    ok = run_prog(&p, opt, &why) == NPU_TASK_RUN;
    if (!ok) {
        printf("# refused: %s\n", why);
    }
    ok = ok && check(c) && untouched(ADDR_C + out, 4096) &&
         untouched(ADDR_C - 64, 64);
    if (!ok) {
        printf("# %s to %s, %dx%dx%d, %d kernels of %dx%d, packed %d\n",
               prec[c->in].name, prec[c->out].name, c->h, c->w, c->ic,
               c->kernels, c->kh, c->kw, c->packed);
    }
    free(c->x);
    free(c->wt);
    return ok;
}

static bool all_seen(void)
{
    static const int pair[][2] = {
        { INT4, INT16 }, { INT8, INT8 }, { INT8, INT32 }, { INT8, FP32 },
        { INT16, INT32 }, { FP16, FP16 }, { FP16, FP32 }, { BF16, BF16 },
        { BF16, FP32 }, { TF32, FP32 },
    };
    bool all = true;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(pair); i++) {
        unsigned n = of_type[pair[i][0]][pair[i][1]];

        printf("# %s to %s: %u\n", prec[pair[i][0]].name,
               prec[pair[i][1]].name, n);
        all = all && n;
    }
    for (i = 0; i < FEATURES; i++) {
        printf("# %s: %u\n", feature_name[i], seen[i]);
        all = all && seen[i];
    }
    return all;
}

/* Random changes to valid programs: no crash, no access out of bounds. */
static bool fuzz(unsigned programs)
{
    NpuTaskOptions opt = { .write_padding = true };
    unsigned verdicts[3] = { 0 }, i, j;

    max_macs = 1 << 22;
    for (i = 0; i < programs; i++) {
        const char *why;
        Case c;
        Prog p;

        random_case(&c);
        random_group(&c);
        make_prog(&p, &c);
        for (j = 0; j < 1 + i % 3; j++) {
            uint64_t *cmd = &p.cmd[rnd() % (p.n - 1)];
            uint32_t v = *cmd >> 16;

            v = one_in(2) ? v ^ 1u << rnd() % 32 : v + rnd_in(-3, 3);
            *cmd = (*cmd & 0xffff00000000ffffull) | (uint64_t)v << 16;
        }
        skip_kernels = i % 3;
        verdicts[run_prog(&p, opt, &why)]++;
    }
    printf("# %u ran, %u refused, %u stalled\n", verdicts[NPU_TASK_RUN],
           verdicts[NPU_TASK_UNIMP], verdicts[NPU_TASK_STALL]);
    return verdicts[NPU_TASK_RUN] && verdicts[NPU_TASK_UNIMP] &&
           verdicts[NPU_TASK_STALL];
}

/* What boards were seen to do, and what not. */
static bool limit(int in, int k, int w, int ic, int out, NpuVerdict want)
{
    Case c = {
        .in = in, .out = out, .h = k, .w = w, .ic = ic, .stored = ic,
        .oc = prec[in].group,
        .kernels = prec[in].group, .written = prec[in].group, .kh = k, .kw = k,
        .sy = 1, .sx = 1, .dy = 1, .dx = 1, .oh = 1, .ow = w - k + 1,
        .lines = true, .dma_width = w, .line = w, .surf = w * k, .scale = 1,
        .shift = out == INT8 ? 8 : 0,
    };
    const NpuTaskOptions opt = { .write_padding = true };
    const char *why = "";
    NpuVerdict got;
    Prog p;

    if (want == NPU_TASK_RUN) {
        return run_case(&c);
    }
    make_prog(&p, &c);
    got = run_prog(&p, opt, &why);
    if (got != want) {
        printf("# %s %dx%d, %d x %d: %d, %s\n", prec[in].name, k, k, w, ic,
               got, why);
    }
    return got == want;
}

static bool limits(void)
{
    const NpuVerdict runs = NPU_TASK_RUN, stalls = NPU_TASK_STALL;
    bool ok = true;

    ok = limit(FP16, 7, 8, 64, FP32, runs) && ok;
    ok = limit(FP16, 7, 8, 72, FP32, stalls) && ok;
    ok = limit(BF16, 9, 9, 72, FP32, stalls) && ok;
    ok = limit(FP16, 5, 8, 128, FP32, runs) && ok;
    ok = limit(TF32, 7, 8, 32, FP32, runs) && ok;
    ok = limit(TF32, 7, 8, 36, FP32, stalls) && ok;
    ok = limit(INT4, 7, 8, 128, INT16, runs) && ok;
    ok = limit(INT4, 7, 8, 160, INT16, stalls) && ok;
    ok = limit(INT8, 7, 8, 160, INT32, runs) && ok;
    /* Two entries of CBUF lie before the last channels of a position. */
    ok = limit(FP16, 1, 1023, 96, FP32, runs) && ok;
    ok = limit(FP16, 1, 1024, 96, FP32, NPU_TASK_UNIMP) && ok;
    ok = limit(INT8, 1, 1024, 192, INT32, NPU_TASK_UNIMP) && ok;
    ok = limit(FP16, 1, 2047, 32, FP32, runs) && ok;
    return ok;
}

/*
 * The impulse by which the spread was measured on boards: where the kernel
 * lands, turned, in the output of a row.
 */
static bool impulse(int field, int row, int start, int step)
{
    const NpuTaskOptions opt = { .write_padding = true };
    Case c = {
        .in = INT8, .out = INT32, .h = 4, .w = 4, .ic = 32, .stored = 32,
        .oc = 32, .kernels = 32, .written = 32, .kh = 3, .kw = 3, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .top = 2, .left = 2, .deconv = true,
        .fy = field, .fx = field, .lines = true, .dma_width = 4, .line = 4,
        .surf = 16, .scale = 1,
    };
    const char *why = "";
    bool ok = true;
    Prog p;
    int y;

    c.oh = c.ow = 3 * step + 3;
    memset(at(ADDR_A), 0, 1024);
    memset(at(ADDR_B), 0, 32 * 9 * 32);
    *at(ADDR_A + row * 4 * 16) = 1;
    for (y = 0; y < 9; y++) {
        /* kernel 0, channel 0: 1 to 9 */
        *at(ADDR_B + y * 32 * 32) = y + 1;
    }
    make_prog(&p, &c);
    ok = run_prog(&p, opt, &why) == NPU_TASK_RUN;
    for (y = 0; y < c.oh && ok; y++) {
        bool hit = y >= start && y < start + 3;
        int32_t want = hit ? 9 - 3 * (y - start) : 0;

        ok = (int32_t)load(ADDR_C, out_index(&c, 0, y, 0), INT32) == want;
    }
    if (!ok) {
        printf("# field %d, row %d: line %d, %s\n", field, row, y - 1, why);
    }
    return ok;
}

static bool impulses(void)
{
    bool ok = true;

    /* Starts as measured, from a border of two lines. */
    ok = impulse(0, 2, 2, 1) && ok;
    ok = impulse(0, 3, 3, 1) && ok;
    ok = impulse(1, 2, 4, 2) && ok;
    ok = impulse(1, 3, 6, 2) && ok;
    ok = impulse(3, 2, 8, 4) && ok;
    ok = impulse(3, 3, 12, 4) && ok;
    ok = impulse(7, 2, 16, 8) && ok;
    ok = impulse(2, 2, 2, 1) && ok;
    return impulse(6, 3, 3, 1) && ok;
}

static bool deconv_refused(uint16_t reg, uint32_t value)
{
    const NpuTaskOptions opt = { .write_padding = true };
    const char *why = "";
    Case c;
    Prog p;

    do {
        random_case(&c);
    } while (!c.deconv || c.dcomp || spread(&c, c.fy) != 2);
    make_prog(&p, &c);
    p.n--;
    put(&p, reg, value);
    start(&p, 0x0d);
    return run_prog(&p, opt, &why) == NPU_TASK_UNIMP &&
           strstr(why, "deconvolution");
}

static bool deconv_refusals(void)
{
    bool ok = true;

    ok = deconv_refused(0x1014, 1 << 11 | 1 << 8 | 2 << 3 | 1) && ok;
    ok = deconv_refused(0x1014, 1 << 16 | 1 << 11 | 1 << 8 | 1 << 3 | 1) && ok;
    return deconv_refused(0x1068, 12 << 4) && ok;
}

/* DATA_ENTRIES of programs of Rockchip's compilers, and of Mesa. */
static bool entries(void)
{
    static const struct {
        int in, w, ic;
        unsigned want, mesa;
    } row[] = {
        { INT8, 40, 48, 40, 30 }, { INT8, 160, 48, 160, 120 },
        { INT8, 104, 48, 104, 78 }, { INT8, 140, 112, 280, 245 },
        { INT8, 70, 176, 210, 193 }, { INT8, 35, 176, 105, 97 },
        { INT8, 9, 16, 3, 3 }, { INT8, 9, 32, 5, 5 }, { INT8, 9, 96, 14, 14 },
        { INT8, 9, 64, 9, 9 }, { FP16, 120, 24, 120, 90 },
        { FP16, 33, 40, 42, 42 },
    };
    bool ok = true;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(row); i++) {
        NpuTask t = {
            .dpu.atom = NPU_ATOM,
            .conv.in_w = row[i].w, .conv.in_c = row[i].ic,
            .conv.bits = prec[row[i].in].bits,
            .conv.data_entries = row[i].mesa,
        };
        unsigned got = npu_task_cbuf_entries(&t);

        if (got != row[i].want || !npu_task_cbuf_entries_usual(&t)) {
            printf("# %s %dx%d: %u entries, want %u\n",
                   prec[row[i].in].name, row[i].w, row[i].ic, got,
                   row[i].want);
            ok = false;
        }
        t.conv.data_entries = row[i].want + 1;
        ok = ok && !npu_task_cbuf_entries_usual(&t);
    }
    return ok;
}

/* CPEND enabled in @c: what the model says of it. */
static NpuVerdict run_cpend(Case *c, uint32_t ow_cfg, int operand, int qd_en,
                            uint32_t enable)
{
    const NpuTaskOptions opt = { .write_padding = true };
    const char *why = "";
    NpuVerdict got;
    Prog p;

    c->size_e = 7;
    make_prog(&p, c);
    p.n--;
    put(&p, 0x3010, c->in << 8 | c->depthwise << 1 | qd_en);
    put(&p, 0x4050, 7 * 0x124 | ow_cfg);
    put(&p, 0x4054, operand & 0xffff);
    put(&p, 0x40c0, (c->ow + c->notch) * c->oh * 16 * 8);
    put(&p, 0x5034, 1);
    put(&p, 0x5044, 0x7810 | c->depthwise * 6);
    start(&p, enable);
    c->x = malloc(sizeof(double) * c->h * c->w * c->ic);
    c->wt = malloc(sizeof(double) * c->kernels * c->kh * c->kw * c->ic);
    make_feature(c);
    make_weights(c);
    got = run_prog(&p, opt, &why);
    if (got == NPU_TASK_RUN && !check(c)) {
        got = NPU_TASK_STALL;
    }
    if (got == NPU_TASK_UNIMP && !strstr(why, "CPEND")) {
        printf("# refused: %s\n", why);
        got = NPU_TASK_STALL;
    }
    free(c->x);
    free(c->wt);
    return got;
}

static void find_case(Case *c, int in, int out, bool depthwise)
{
    do {
        random_case(c);
    } while (c->in != in || c->out != out || c->depthwise != depthwise);
    c->pend_op = 0;
    c->dcomp = false;
}

/* Int32 results next to CPEND: as Rockchip's runtime has them alone. */
static bool cpend_int32(void)
{
    bool ok = true;
    Case c;

    find_case(&c, INT8, INT32, false);
    ok = run_cpend(&c, 0, 0, 1, 0x0d) == NPU_TASK_RUN && ok;
    ok = run_cpend(&c, 0, 0, 1, 0x1d) == NPU_TASK_UNIMP && ok;
    ok = run_cpend(&c, 0, 0, 0, 0x0d) == NPU_TASK_UNIMP && ok;
    ok = run_cpend(&c, 0, 5, 1, 0x0d) == NPU_TASK_UNIMP && ok;
    find_case(&c, INT8, INT32, true);
    c.pend_op = 5;
    return run_cpend(&c, 0, 5, 1, 0x1d) == NPU_TASK_RUN && ok;
}

/* Floats have no zero point. */
static bool cpend_floats(void)
{
    static const struct {
        int in, out;
        bool depthwise;
    } type[] = {
        { FP16, FP16, true }, { FP16, FP32, false }, { BF16, BF16, false },
        { TF32, FP32, false },
    };
    bool ok = true;
    unsigned i;
    Case c;

    for (i = 0; i < ARRAY_SIZE(type); i++) {
        find_case(&c, type[i].in, type[i].out, type[i].depthwise);
        ok = run_cpend(&c, 0, 128, 1, 0x0d) == NPU_TASK_RUN && ok;
        ok = run_cpend(&c, 0, 128, 0, 0x0d) == NPU_TASK_RUN && ok;
    }
    return ok;
}

int main(int argc, char **argv)
{
    unsigned programs = 2100, i, wrong = 0;
    uint64_t seed = 88172645463325252ull;

    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            programs = 400;
        } else if (!strcmp(argv[i], "--programs") && i + 1 < argc) {
            programs = strtoul(argv[++i], NULL, 0);
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        }
    }
    rnd_state = seed ? seed : 1;
    printf("TAP version 13\n# seed %llu, %u programs\n1..9\n",
           (unsigned long long)seed, programs);
    for (i = 0; i < programs; i++) {
        Case c;

        random_case(&c);
        note_case(&c);
        skip_kernels = i % 3;
        wrong += !run_case(&c);
    }
    report(!wrong, "random convolutions of all precisions");
    report(all_seen(), "every precision and feature among them");
    skip_kernels = 0;
    report(limits(), "sizes up to which boards compute");
    report(impulses(), "where a deconvolution puts its kernel");
    report(deconv_refusals(), "deconvolutions that nobody has seen");
    report(entries(), "entries of CBUF per line");
    report(cpend_int32(), "CPEND with int32 output");
    report(cpend_floats(), "CPEND with floats");
    report(fuzz(5 * programs), "fuzzed programs");
    return failures != 0;
}
