/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Convolutions for the RK3576: tensors, where they are in memory, and the
 * program for some of the rows.
 */
#ifndef RK3576_CONV_H
#define RK3576_CONV_H

#include "rk3576-prog.h"

typedef struct Case {
    bool half, dw, layer, lut;
    bool packed;            /* pixels, of ic channels */
    bool plain;             /* pixels have a sign, and are not offset */
    bool tight;             /* packed bytes whose taps have four lanes */
    bool alone;             /* packed halves without operands */
    int raw_pad;            /* of packed bytes: what becomes padding */
    int gap;                /* positions behind each line of the input */
    bool records;           /* of operands of eight channels, with halves */
    int lut_start;
    /* Lines beyond the LUT's ends. */
    int under, under_shift, over, over_shift;
    int bn, bn_shift;       /* 0, or a factor of BN ahead of the LUT */
    int bn_add;             /* of halves; these two are in quarters */
    int exp;                /* halves that the LUT gives are codes by 2^exp */
    int prelu;              /* 0, or eighths that halves below 0 keep */
    bool second;            /* bytes to which those of a tensor are added */
    int ew_offset, ew_scale, ew_shift;
    int h, w, ic, oc, kh, kw, sy, sx, top, left, bottom, right, oh, ow;
    int core;
    int8_t pad;
    bool adds_128;          /* a depthwise weight has 0x80 as second byte */
    bool relu;
    bool sum_relu;          /* behind a second tensor */
    uint32_t relux;         /* or HIGH */
    int shift, shift_neg, scale, out_shift, offset;
    int *x, *wt;            /* [h][w][ic], [oc][kh][kw][ic] */
    int a[256], b[256], c[256];
} Case;

/* Rows of the output that one program computes. */
typedef struct Part {
    int y, rows;            /* of the output */
    int in_y, in_rows, top, bottom;
    bool pair;
    bool sequence;
    int kept;               /* input rows that the last part left in CBUF */
    int start;              /* granule of the first in a ring of five banks */
} Part;

#define RING            0x1400
/* Positions that lines of packed pixels take in memory. */
#define PIXELS          16
#define ADDR_SECOND     (ADDR_SHIFT + 0x10000)

static inline int *x_at(const Case *k, int y, int x, int c)
{
    return &k->x[(y * k->w + x) * k->ic + c];
}

static inline int *w_at(const Case *k, int o, int ky, int kx, int c)
{
    int ic = k->dw ? 1 : k->ic;

    return &k->wt[((o * k->kh + ky) * k->kw + kx) * ic + c];
}

/* --- Memory --- */

static inline void lay_features(const Case *k)
{
    int per = k->half ? 8 : 16, y, x, c;
    uint8_t *base = at(ADDR_X);

    for (c = 0; k->packed && c < k->h * k->w * k->ic; c++) {
        int to = c + c / (k->w * k->ic) * (PIXELS - k->w) * k->ic;

        if (k->half) {
            put_half(base + 2 * to, k->x[c]);
        } else {
            /* The converter takes 128 off, or keeps the byte. */
            base[to] = k->x[c] + (k->plain ? 0 : 128);
        }
    }
    if (k->packed) {
        return;
    }
    memset(base, k->gap ? POISON : 0,
           (size_t)up(k->ic, per) / per * k->h * (k->w + k->gap) * 16);
    for (c = 0; c < k->ic; c++) {
        for (y = 0; y < k->h; y++) {
            for (x = 0; x < k->w; x++) {
                uint8_t *p = base + ((c / per * k->h + y) * (k->w + k->gap) +
                                     x) * 16;

                if (k->half) {
                    put_half(p + c % per * 2, *x_at(k, y, x, c));
                } else {
                    p[c % per] = *x_at(k, y, x, c);
                }
            }
        }
    }
}

/*
 * Groups of kernels, of channels, taps, kernels, channels; partial ones tight.
 */
static inline size_t lay_direct(const Case *k)
{
    int kg = k->half ? 16 : 32, cg = 32;
    int channels = up(k->ic, k->half ? 8 : 16);
    uint8_t *p = at(ADDR_W);
    int o, c, t, i, j;

    for (o = 0; o < k->oc; o += kg) {
        for (c = 0; c < channels; c += cg) {
            for (t = 0; t < k->kh * k->kw; t++) {
                for (i = o; i < k->oc && i < o + kg; i++) {
                    for (j = c; j < channels && j < c + cg; j++) {
                        int v = j < k->ic ? *w_at(k, i, t / k->kw, t % k->kw, j)
                                          : 0;

                        if (k->half) {
                            put_half(p, v * 0.25f);
                            p += 2;
                        } else {
                            *p++ = v;
                        }
                    }
                }
            }
        }
    }
    return p - at(ADDR_W);
}

/*
 * A weight is the sum of two bytes two apart, by groups of 64.  As the second
 * one 0x80 is 128.
 */
static inline size_t lay_depthwise_bytes(Case *k)
{
    uint8_t *base = at(ADDR_W);
    int taps = k->kh * k->kw, c, t;

    for (c = 0; c < k->ic; c++) {
        int first = c / 64 * 64;
        int held = k->ic - first < 64 ? k->ic - first : 64;

        for (t = 0; t < taps; t++) {
            uint8_t *p = base + first * taps * 2 + t * held * 2 +
                         (c - first) / 2 * 4 + c % 2;
            int v = *w_at(k, c, t / k->kw, t % k->kw, 0);
            int one = rnd_in(MAX(-128, v - 128), MIN(127, v + 127));

            k->adds_128 |= v - one == 128;
            p[0] = one;
            p[2] = v - one;
        }
    }
    return k->ic * taps * 2;
}

static inline size_t lay_depthwise_halves(const Case *k)
{
    uint8_t *base = at(ADDR_W);
    int taps = k->kh * k->kw, c, t;

    for (c = 0; c < k->ic; c++) {
        int first = c / 32 * 32;
        int held = k->ic - first < 32 ? k->ic - first : 32;

        for (t = 0; t < taps; t++) {
            put_half(base + (first * taps + t * held + c - first) * 2,
                     *w_at(k, c, t / k->kw, t % k->kw, 0) * 0.25f);
        }
    }
    return k->ic * taps * 2;
}

static inline int packed_row(const Case *k)
{
    return k->half ? k->kw * 8 : k->tight ? k->kw * 4 : up(k->kw * 4, 16);
}

/*
 * Four lanes for a tap; of bytes, rows of taps fill 16, and the kernels of a
 * group are inside a row of the kernel, unless they are tight.
 */
static inline size_t lay_packed(const Case *k)
{
    int row = packed_row(k), kg = k->half ? 16 : 32;
    int kernel = k->kh * row, o, t, c;

    memset(at(ADDR_W), 0x33, k->oc * kernel);
    for (o = 0; o < k->oc; o++) {
        int first = o / kg * kg;
        int group = k->oc - first < kg ? k->oc - first : kg;
        uint8_t *base = at(ADDR_W) + first * kernel;

        for (t = 0; t < k->kh * k->kw; t++) {
            int ky = t / k->kw, kx = t % k->kw;

            for (c = 0; c < k->ic; c++) {
                int v = *w_at(k, o, ky, kx, c);

                if (k->half) {
                    put_half(base + (t * group + o - first) * 8 + c * 2,
                             v * 0.25f);
                } else if (k->tight) {
                    base[(t * group + o - first) * 4 + c] = v;
                } else {
                    base[(ky * group + o - first) * row + kx * 4 + c] = v;
                }
            }
        }
    }
    return k->oc * kernel;
}

static inline size_t lay_weights(Case *k)
{
    return k->packed ? lay_packed(k) : !k->dw ? lay_direct(k) :
           k->half ? lay_depthwise_halves(k) : lay_depthwise_bytes(k);
}

/* By which halves are multiplied behind the bias. */
static inline float factor_of(const Case *k, int o)
{
    return k->records ? k->c[o] % 5 * 0.5f : 1;
}

static inline void lay_operands(const Case *k)
{
    int bytes = k->dw ? 48 : 64, o;

    memset(at(ADDR_BS), 0x5a, 256 / 8 * 64);
    for (o = 0; o < k->oc; o++) {
        uint8_t *p = at(ADDR_BS) + o / 8 * bytes;

        if (k->records) {
            stl_le_p(p + o % 8 * 4, npu_float_bits(k->a[o] * 0.5f));
            put_half(p + 48 + o % 8 * 2, factor_of(k, o));
        } else if (k->half) {
            stl_le_p(at(ADDR_BS) + 4 * o, npu_float_bits(k->a[o] * 0.5f));
        } else if (k->layer) {
            stl_le_p(at(ADDR_BS) + 4 * o, k->a[o]);
        } else {
            stl_le_p(p + o % 8 * 4, k->a[o]);
            if (!k->dw) {
                stw_le_p(p + 32 + o % 8 * 2, k->b[o]);
            }
            stw_le_p(p + bytes - 16 + o % 8 * 2, k->c[o]);
        }
    }
    stl_le_p(at(ADDR_SHIFT), k->layer ? k->b[0] : k->shift | k->shift_neg << 8);
    if (k->prelu) {
        put_half(at(ADDR_SHIFT), k->prelu * 0.125f);
    }
    memset(at(ADDR_SHIFT + 64), 0, 64);
    if (k->half) {
        stl_le_p(at(ADDR_SHIFT + 64), npu_float_bits(k->bn_add * 0.25f));
        put_half(at(ADDR_SHIFT + 96), k->bn * 0.25f);
        return;
    }
    stw_le_p(at(ADDR_SHIFT + 96), k->bn);
    stl_le_p(at(ADDR_SHIFT + 112), k->bn_shift << 8 | k->bn_shift);
}

/* --- Programs --- */

static inline int granules_of_row(const Case *k)
{
    if (k->packed) {
        return k->half ? up(k->w, 8) / 8 : k->tight ? k->w / 16 :
               up(k->w + MAX(k->left, k->right), 16) / 16;
    }
    int atoms = up(k->ic, k->half ? 8 : 16) / (k->half ? 8 : 16);
    int rest = atoms % 4 == 3 ? 4 : atoms % 4;

    return atoms / 4 * k->w + up(k->w * rest, 4) / 4;
}

static inline void put_cna(Prog *p, const Case *k, const Part *t)
{
    int row = granules_of_row(k), taps = k->kh * k->kw;
    int channels = up(k->ic, k->half ? 8 : 16);
    int kernel = taps * channels * (k->half ? 2 : 1);
    int kernels = !k->dw ? k->oc : k->half ? 1 : 2;
    int again = kernel * (k->half ? 1 : 2) / (k->dw ? 16 : 1);
    int base = t->pair ? k->core * 0x1800 : k->core * 0x1c00;
    int first = base + t->start, fetched = t->in_rows - t->kept;
    int fetch = base + (t->start + t->kept * row) % RING;
    int weights = t->pair ? 0x3000 : base + (t->sequence ? RING : 0x1000);

    put(p, 0x100c, (k->half ? 0x200120 : 0) | k->dw);
    put(p, 0x1010, 0xfff);
    put(p, 0x1014, k->sy << 3 | k->sx | t->pair << 28);
    put(p, 0x1018, (t->pair ? 0x40000606 + 6 * k->core :
                    (t->sequence ? 0x40000505 : 0x40000404) + 7 * k->core) |
                   (t->kept ? LOW : 0));
    put(p, 0x101c, kernels * kernel);
    put(p, 0x1020, kernel);
    put(p, 0x1024, (k->kw - 1) << 24 | (k->kh - 1) << 16 | (kernels - 1));
    put(p, 0x1028, row * fetched << 16 | (k->ic - 1));
    put(p, 0x102c, (k->w - 1) << 16 | (t->in_rows - 1));
    put(p, 0x1030, again << 16 | (k->ow - 1));
    put(p, 0x1034, k->ow * t->rows - 1);
    put(p, 0x1038, (t->pair ? 0x10u : k->core ? 0x10e : 7) |
                   (t->sequence || (t->pair && k->core) ? LOW : 0));
    put(p, 0x103c, row << 16 | first);
    put(p, 0x1040, weights << 16 | fetch);
    put(p, 0x1044, k->w << 16 | row * (k->w + k->gap) / k->w);
    put(p, 0x1048, 0xb);
    put(p, 0x104c, 0x10001);
    put(p, 0x1050, 0x10001);
    put(p, 0x1078, (k->w - 1) << 16 |
                   ((fetched * (k->w + k->gap) + k->w - 1) / k->w - 1));
    put(p, 0x107c, k->ic - 1);
    put(p, 0x1080, (uint32_t)k->right << 24 | t->bottom << 16 | k->left << 8 |
                   t->top);
    put(p, 0x1084, k->half ? 0 : (uint32_t)(int32_t)k->pad);
    put(p, 0x1088, ADDR_X + (t->in_y + t->kept) * (k->w + k->gap) * 16);
    put(p, 0x108c, 0xf000f);
    put(p, 0x1090, k->w * 4);
    put(p, 0x1094, (k->w + k->gap) * k->h);
    put(p, 0x1098, up(k->w * fetched, 4));
    put(p, 0x1110, ADDR_W);
    put(p, 0x118c, (k->w - 1) << 16 | (k->w - 1));
    put(p, 0x3018, 0x10000000 | (k->dw ? 10 : !k->half) |
                   (k->half ? 0x200 : 0));
    put(p, 0x301c, (t->rows - 1) << 16 | (k->ow - 1));
    put(p, 0x3020, k->oc - 1);
}

/* What packed pixels have instead. */
static inline void put_pixels(Prog *p, const Case *k, const Part *t)
{
    int atoms = PIXELS * k->ic * (k->half ? 2 : 1) / 16;
    int kernel = k->kh * packed_row(k), row = granules_of_row(k), i;
    bool rows = !k->half && !k->tight;

    put(p, 0x100c, (k->half ? 0x20200122 : k->tight ? 0x20000002 : 0x20000006) |
                   (k->ic + 7) << 12);
    put(p, 0x101c, k->oc * kernel);
    put(p, 0x1020, kernel);
    put(p, 0x1028, (row * t->in_rows) << 16 |
                   ((rows ? 4 * k->kw : k->ic) - 1));
    put(p, 0x1030, (kernel * (k->half ? 1 : 2)) << 16 | (k->ow - 1));
    put(p, 0x1044, PIXELS << 16 | (rows ? row : PIXELS));
    if (!k->half) {
        put(p, 0x1048, 0x38e38e0);
        put(p, 0x104c, 0x40004000);
        put(p, 0x1050, 0x40004000);
        for (i = 0; i < 4; i++) {
            put(p, 0x1054 + 4 * i, k->plain ? 0 : -128);
        }
        put(p, 0x1070, rows ? k->raw_pad * 0x01010101u : k->pad);
        put(p, 0x1084, rows ? (uint8_t)k->pad * 0x01010101u : k->pad);
    }
    put(p, 0x1078, (atoms - 1) << 16 | (t->in_rows - 1));
    put(p, 0x1088, ADDR_X + t->in_y * atoms * 16);
    put(p, 0x1090, atoms);
    put(p, 0x1094, atoms * t->in_rows);
    put(p, 0x118c, (row - 1) << 16 | (up(k->w, k->half ? 8 : 16) /
                                      (k->half ? 8 : 16) - 1));
    put(p, 0x3018, k->half ? 0x10000280 : 0x10000081);
}

static inline uint32_t bs_ow(const Case *k)
{
    int groups = up(k->oc, 16) / 16, atom = k->half ? 8 : 16;

    if (k->dw) {
        groups = up(k->oc, atom) / atom;
        return (k->half ? 0x23033 : 0x13033) | ((groups - 1) & 3) << 8;
    }
    if (k->half) {
        return (k->prelu ? 0 : 0x20000) |
               (up(k->oc, atom) / atom % 2 ? 0x1011 : 0x1111);
    }
    return (groups % 2 ? 0x80011011 : 0x80011111) + (k->layer ? 0x10000 : 0);
}

static inline int out_plane(const Case *k)
{
    return k->dw ? up(k->ow * k->oh, 4) : k->ow * k->oh;
}

static inline void put_bs(Prog *p, const Case *k)
{
    put(p, 0x4010, k->half ? 0x40000002 : 0);
    put(p, 0x4030, (uint32_t)(k->oc - 1) << 16 | (k->dw ? 0x310 : 0x710));
    put(p, 0x4038, k->alone ? 0x53 : k->half || k->dw ? 0x100092 : 0x120080);
    put(p, 0x4044, k->dw || k->layer ? 0 : k->prelu ? 6 :
                   k->half && !k->records ? 2 : 1);
    put(p, 0x4050, bs_ow(k));
    put(p, 0x40c0, 0x4440100);
    put(p, 0x501c, k->dw ? (k->half ? 0x110 : 0x510) : k->prelu ? 0x108 :
                   k->half && !k->records ? 0x100 :
                   k->layer ? 0x114 : 0x710);
    if (k->records) {
        put(p, 0x40b0, 0x14000);
        put(p, 0x40b4, 14);
    }
    put(p, 0x5020, ADDR_BS);
    put(p, 0x5024, ADDR_SHIFT);
    put(p, 0x5034, k->half && !k->dw && !k->lut && !k->prelu ? 1 : 0x41);
    put(p, 0x5044, (k->half ? 0x40010050 : 0x40000010) | (k->dw ? 2 : 0));
}

static inline void put_lut_use(Prog *p, const Case *k)
{
    unsigned i;

    put(p, 0x407c, 0x1004140);
    put(p, 0x4108, 0x2000006);
    put(p, 0x410c, 0x50500);
    for (i = 0; i < 4; i++) {
        put(p, 0x4110 + 4 * i, k->lut_start);
        put(p, 0x4140 + 4 * i, 0x4000);
    }
    for (i = 0; i < 2; i++) {
        put(p, 0x4150 + 4 * i, (uint16_t)k->under * 0x10001u);
        put(p, 0x4170 + 4 * i, (uint16_t)k->over * 0x10001u);
    }
    put(p, 0x4160, k->under_shift * 0x01010101);
    put(p, 0x4184, k->over_shift * 0x01010101);
    put(p, 0x4188, (uint32_t)-77 << 16);
    put(p, 0x418c, ((uint32_t)-77 << 16) | (uint16_t)-77);
    put(p, 0x4190, 99 << 16);
    put(p, 0x4194, 99 << 16 | 99);
}

/* Its two surfaces are read in turns. */
static inline void put_second(Prog *p, const Case *k, const Part *t)
{
    int notch = 2 * out_plane(k) - k->ow * t->rows;

    put(p, 0x407c, 0x8002c0c0);
    put(p, 0x4080, (uint16_t)k->ew_offset);
    put(p, 0x4084, k->ew_shift << 16 | (uint16_t)k->ew_scale);
    put(p, 0x5034, 0x50000044);
    put(p, 0x5038, ADDR_SECOND + t->y * k->ow * 16);
    put(p, 0x5040, out_plane(k));
    put(p, 0x5044, 0x40000018);
    put(p, 0x504c, notch);
    put(p, 0x506c, notch);
}

static inline void put_program(Prog *p, const Case *k, const Part *t)
{
    int group = k->dw ? 4 : 2;

    p->n = 0;
    put_cna(p, k, t);
    if (k->packed) {
        put_pixels(p, k, t);
    }
    put_dpu(p, k->ow, t->rows, k->oc, ADDR_Y + t->y * k->ow * 16);
    put(p, 0x400c, 0x40000004 | (k->dw ? 8 : 0));
    put(p, 0x401c, out_plane(k));
    put_bs(p, k);
    if (k->relu) {
        put(p, 0x4060, 0x902);
        put_clamps(p, false, 0, k->relux);
    }
    if (!k->half || k->lut) {
        put(p, 0x40ac, k->offset);
        put(p, 0x40b0, (uint16_t)k->scale | (k->half || k->second) << 16);
        put(p, 0x40b4, k->out_shift | k->exp << 12);
    }
    if (k->second) {
        put_second(p, k, t);
    }
    if (k->sum_relu) {
        put(p, 0x4088, 0);
        put(p, 0x40a4, 0);
    }
    put(p, 0x40b8, group * out_plane(k) - k->ow * t->rows);
    if (k->lut) {
        put_lut_use(p, k);
        /* As compilers have it, whose BN is on. */
        put(p, 0x5028, k->relu ? 0 : 0x1a);
        put(p, 0x5030, ADDR_SHIFT + 64);
        if (k->bn) {
            put(p, 0x4060, 0x20);
        }
    }
    start(p, (t->pair ? CONV_PAIR : CONV) & (k->alone ? ~0x10 : ~0));
}

/* The sum of a window, and of its elements. */
static inline int64_t ref_window(const Case *k, int oy, int ox, int o,
                                 int64_t *sum)
{
    int64_t acc = 0;
    int ky, kx, c;

    *sum = 0;
    for (ky = 0; ky < k->kh; ky++) {
        for (kx = 0; kx < k->kw; kx++) {
            int y = oy * k->sy + ky - k->top, x = ox * k->sx + kx - k->left;
            bool in = y >= 0 && x >= 0 && y < k->h && x < k->w;

            for (c = k->dw ? o : 0; c < (k->dw ? o + 1 : k->ic); c++) {
                int v = in ? *x_at(k, y, x, c) : k->half ? 0 : k->pad;

                acc += v * *w_at(k, o, ky, kx, k->dw ? 0 : c);
                *sum += v;
            }
        }
    }
    return acc;
}

static inline void random_tensors(Case *k)
{
    int n = k->h * k->w * k->ic, i;
    int weights = k->oc * k->kh * k->kw * (k->dw ? 1 : k->ic);
    int most = k->half ? 8 : k->dw ? 255 : 127;

    k->x = malloc(n * sizeof(int));
    k->wt = malloc(weights * sizeof(int));
    for (i = 0; i < n; i++) {
        k->x[i] = k->half ? rnd_in(-8, 8) : rnd_in(-128, 127);
    }
    for (i = 0; i < weights; i++) {
        k->wt[i] = rnd_in(-most, most);
    }
    for (i = 0; i < k->oc; i++) {
        k->a[i] = rnd_in(-20000, 20000) / (k->half ? 100 : 1);
        /* What channels that only fill atoms add to it is not known. */
        k->b[i] = k->ic % 16 && !k->packed ? 0 : rnd_in(-40, 40);
        k->c[i] = rnd_in(-2000, 16384);
    }
}

#endif
