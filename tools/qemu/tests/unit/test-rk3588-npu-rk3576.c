/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs for the RK3576, against loops over tensors by row, column
 * and channel.
 */
#include "reference.h"
#include <math.h>
#include "compute/numeric.h"

#define ADDR_X          (MEM_BASE + 0x100000)
#define ADDR_W          (MEM_BASE + 0x300000)
#define ADDR_BS         (MEM_BASE + 0x500000)
#define ADDR_SHIFT      (MEM_BASE + 0x580000)
#define ADDR_Y          (MEM_BASE + 0x600000)

#define CONV            0x1d
#define CONV_PAIR       0x0100001d
#define CONV_NO_RDMA    0x0d
#define ALONE           0x18
#define POOL            0x60
#define LOW             0x80000000u
#define HIGH            0x7fffffffu

enum {
    F_DIRECT, F_DEPTHWISE, F_HALF, F_DEPTHWISE_HALF, F_LAYER, F_STRIDE,
    F_PADDING, F_ODD_GROUPS, F_PARTIAL_KERNELS, F_THREE_ATOMS, F_PAIR,
    F_SEQUENCE, F_CORE_1, F_RELU, F_RELUX, F_TIE, F_NEGATIVE_SHIFT, F_SATURATED, F_TAIL,
    F_LUT, F_PACKED, F_PLAIN, F_GAPS,
    F_RECORDS, F_BN, F_PACKED_HALF, F_PRODUCT_RDMA, F_PRODUCT_NO_RDMA,
    F_PRODUCT_PART, F_PRODUCT_CORE_1, FEATURES
};

static const char *const feature_name[FEATURES] = {
    "bytes", "depthwise bytes", "halves", "depthwise halves",
    "a zero point for all channels", "strides", "padding", "odd groups of 16",
    "partial kernel groups", "three atoms as four", "pairs of tasks",
    "row sequences",
    "the window of core 1", "ReLU", "ReLU with an upper end",
    "ties of the output", "another shift for negative results",
    "saturated output", "channels that do not fill atoms", "LUT",
    "packed bytes", "packed bytes with a sign",
    "gaps between lines", "factors of halves", "a factor of BN",
    "packed halves", "a product to floats with RDMA",
    "a product to floats without RDMA", "a product of a part of the rows",
    "a product in the window of core 1",
};

static unsigned seen[FEATURES];

static const NpuTaskOptions options = {
    .encoding = NPU_ENCODING_RK3576,
    .write_padding = true,
};

typedef struct Case {
    bool half, dw, layer, lut;
    bool packed;            /* pixels, of ic channels */
    bool plain;             /* pixels have a sign, and are not offset */
    int gap;                /* positions behind each line of the input */
    bool records;           /* of operands of eight channels, with halves */
    int lut_start;
    int bn, bn_shift;       /* 0, or a factor of BN ahead of the LUT */
    int h, w, ic, oc, kh, kw, sy, sx, top, left, bottom, right, oh, ow;
    int core;
    int8_t pad;
    bool relu;
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

static int *x_at(const Case *k, int y, int x, int c)
{
    return &k->x[(y * k->w + x) * k->ic + c];
}

static int *w_at(const Case *k, int o, int ky, int kx, int c)
{
    int ic = k->dw ? 1 : k->ic;

    return &k->wt[((o * k->kh + ky) * k->kw + kx) * ic + c];
}

/* --- Memory --- */

static void put_half(uint8_t *p, float v)
{
    stw_le_p(p, npu_fp32_to_fp16(v));
}

static void lay_features(const Case *k)
{
    int per = k->half ? 8 : 16, y, x, c;
    uint8_t *base = at(ADDR_X);

    for (c = 0; k->packed && c < k->h * k->w * k->ic; c++) {
        if (k->half) {
            put_half(base + 2 * c, k->x[c]);
        } else {
            /* The converter takes 128 off, or keeps the byte. */
            base[c] = k->x[c] + (k->plain ? 0 : 128);
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

/* Groups of kernels, of channels, taps, kernels, channels; partial ones tight. */
static size_t lay_direct(const Case *k)
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

/* A weight is the sum of two bytes two apart, by groups of 64. */
static size_t lay_depthwise_bytes(const Case *k)
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
            int one = v > 127 ? 127 : v < -128 ? -128 : v - v / 3;

            p[0] = one;
            p[2] = v - one;
        }
    }
    return k->ic * taps * 2;
}

static size_t lay_depthwise_halves(const Case *k)
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

/*
 * Four lanes for a tap; of bytes, rows of taps fill 16, and the kernels of a
 * group are inside a row of the kernel.
 */
static size_t lay_packed(const Case *k)
{
    int row = k->half ? k->kw * 8 : up(k->kw * 4, 16), kg = k->half ? 16 : 32;
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
                } else {
                    base[(ky * group + o - first) * row + kx * 4 + c] = v;
                }
            }
        }
    }
    return k->oc * kernel;
}

static size_t lay_weights(const Case *k)
{
    return k->packed ? lay_packed(k) : !k->dw ? lay_direct(k) : k->half ? lay_depthwise_halves(k)
                                            : lay_depthwise_bytes(k);
}

/* By which halves are multiplied behind the bias. */
static float factor_of(const Case *k, int o)
{
    return k->records ? k->c[o] % 5 * 0.5f : 1;
}

static void lay_operands(const Case *k)
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
    memset(at(ADDR_SHIFT + 64), 0, 64);
    stw_le_p(at(ADDR_SHIFT + 96), k->bn);
    stl_le_p(at(ADDR_SHIFT + 112), k->bn_shift << 8 | k->bn_shift);
}

/* --- Programs --- */

static int granules_of_row(const Case *k)
{
    if (k->packed) {
        return k->half ? k->w / 8 : up(k->w + k->left, 16) / 16;
    }
    int atoms = up(k->ic, k->half ? 8 : 16) / (k->half ? 8 : 16);
    int rest = atoms % 4 == 3 ? 4 : atoms % 4;

    return atoms / 4 * k->w + up(k->w * rest, 4) / 4;
}

static void put_cna(Prog *p, const Case *k, const Part *t)
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
static void put_pixels(Prog *p, const Case *k, const Part *t)
{
    int atoms = k->w * k->ic * (k->half ? 2 : 1) / 16;
    int kernel = k->kh * (k->half ? k->kw * 8 : up(k->kw * 4, 16));
    int row = granules_of_row(k), i;

    put(p, 0x100c, (k->half ? 0x20200122 : 0x20000006) | (k->ic + 7) << 12);
    put(p, 0x101c, k->oc * kernel);
    put(p, 0x1020, kernel);
    put(p, 0x1028, (row * t->in_rows) << 16 |
                   ((k->half ? k->ic : 4 * k->kw) - 1));
    put(p, 0x1030, (kernel * (k->half ? 1 : 2)) << 16 | (k->ow - 1));
    put(p, 0x1044, k->w << 16 | (k->half ? k->w : row));
    if (!k->half) {
        put(p, 0x1048, 0x38e38e0);
        put(p, 0x104c, 0x40004000);
        put(p, 0x1050, 0x40004000);
        for (i = 0; i < 4; i++) {
            put(p, 0x1054 + 4 * i, k->pad);
        }
        put(p, 0x1084, k->plain ? 0 : 0x80808080);
    }
    put(p, 0x1078, (atoms - 1) << 16 | (t->in_rows - 1));
    put(p, 0x1088, ADDR_X + t->in_y * atoms * 16);
    put(p, 0x1090, atoms);
    put(p, 0x1094, atoms * t->in_rows);
    put(p, 0x118c, (row - 1) << 16 | (k->w / (k->half ? 8 : 16) - 1));
    put(p, 0x3018, k->half ? 0x10000280 : 0x10000081);
}

static void put_clamps(Prog *p, bool bs, uint32_t low, uint32_t high)
{
    put(p, bs ? 0x4048 : 0x406c, low);
    put(p, bs ? 0x404c : 0x4070, high);
    put(p, bs ? 0x4058 : 0x4074, low);
    put(p, bs ? 0x405c : 0x4078, high);
}

/* What all programs of the DPU have. */
static void put_dpu(Prog *p, int w, int h, int c, uint32_t dst)
{
    put(p, 0x4018, dst);
    put(p, 0x4020, w - 1);
    put(p, 0x4024, h - 1);
    put(p, 0x402c, c - 1);
    put(p, 0x4034, (h - 1) << 16 | (w - 1));
    put_clamps(p, true, LOW, HIGH);
    put(p, 0x4060, 0x903);
    put_clamps(p, false, LOW, HIGH);
    put(p, 0x407c, 0x10041c1);
    put(p, 0x4084, 1);
    put(p, 0x4088, LOW);
    put(p, 0x408c, HIGH);
    put(p, 0x40a4, LOW);
    put(p, 0x40a8, HIGH);
    put(p, 0x40b0, 0x10001);
    put(p, 0x40d0, 0x40ffff);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, c - 1);
}

static uint32_t bs_ow(const Case *k)
{
    int groups = up(k->oc, 16) / 16;

    if (k->dw) {
        return (k->half ? 0x23033 : 0x13033) | ((groups - 1) & 3) << 8;
    }
    return k->half ? 0x21111 : (groups % 2 ? 0x80011011 : 0x80011111) +
                               (k->layer ? 0x10000 : 0);
}

static int out_plane(const Case *k)
{
    return k->dw ? up(k->ow * k->oh, 4) : k->ow * k->oh;
}

static void put_bs(Prog *p, const Case *k)
{
    put(p, 0x4010, k->half ? 0x40000002 : 0);
    put(p, 0x4030, (uint32_t)(k->oc - 1) << 16 | (k->dw ? 0x310 : 0x710));
    put(p, 0x4038, k->half || k->dw ? 0x100092 : 0x120080);
    put(p, 0x4044, k->dw || k->layer ? 0 : k->half && !k->records ? 2 : 1);
    put(p, 0x4050, bs_ow(k));
    put(p, 0x40c0, 0x4440100);
    put(p, 0x501c, k->dw ? (k->half ? 0x110 : 0x510) :
                   k->half && !k->records ? 0x100 :
                   k->layer ? 0x114 : 0x710);
    if (k->records) {
        put(p, 0x40b0, 0x14000);
        put(p, 0x40b4, 14);
    }
    put(p, 0x5020, ADDR_BS);
    put(p, 0x5024, ADDR_SHIFT);
    put(p, 0x5034, k->half && !k->dw ? 1 : 0x41);
    put(p, 0x5044, (k->half ? 0x40010050 : 0x40000010) | (k->dw ? 2 : 0));
}

static void put_lut_use(Prog *p, const Case *k)
{
    unsigned i;

    put(p, 0x407c, 0x1004140);
    put(p, 0x4108, 0x2000006);
    put(p, 0x410c, 0x50500);
    for (i = 0; i < 4; i++) {
        put(p, 0x4110 + 4 * i, k->lut_start);
        put(p, 0x4140 + 4 * i, 0x4000);
    }
    put(p, 0x4188, (uint32_t)-77 << 16);
    put(p, 0x418c, ((uint32_t)-77 << 16) | (uint16_t)-77);
    put(p, 0x4190, 99 << 16);
    put(p, 0x4194, 99 << 16 | 99);
}

static void put_program(Prog *p, const Case *k, const Part *t)
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
    if (!k->half) {
        put(p, 0x40ac, k->offset);
        put(p, 0x40b0, (uint16_t)k->scale);
        put(p, 0x40b4, k->out_shift);
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
    start(p, t->pair ? CONV_PAIR : CONV);
}

/* --- Reference --- */

static int64_t ref_lut_entry(int i)
{
    return (i * 37 + i / 7) % 4001 - 2000;
}

/* Two tables of 513, 32 apart: from @start, and from 0 to 0x4000. */
static int64_t ref_lut(int64_t v, int start)
{
    int64_t at = v < 0 ? v - start : v, i, rest, lo, hi;

    if (at < 0 || v >= 0x4000) {
        return at < 0 ? -77 : 99;
    }
    i = at / 32 + (v < 0 ? 0 : 513);
    rest = at % 32;
    lo = ref_lut_entry(i);
    hi = ref_lut_entry(i + 1);
    rest *= hi - lo;
    return lo + rest / 32 - (rest % 32 < 0);
}

/* The sum of a window, and of its elements. */
static int64_t ref_window(const Case *k, int oy, int ox, int o, int64_t *sum)
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

static int64_t ref_bytes(const Case *k, int64_t acc, int64_t sum, int o)
{
    int64_t v = acc + (k->dw ? 0 : k->b[k->layer ? 0 : o] * sum), p;

    v = ref_clip(v + k->a[o], INT32_MIN, INT32_MAX);
    if (!k->layer) {
        v *= k->c[o];
        v = ref_round(v, v < 0 ? k->shift_neg : k->shift);
        seen[F_NEGATIVE_SHIFT] += v < 0 && k->shift != k->shift_neg;
    }
    v = ref_clip(v, INT32_MIN, INT32_MAX);
    if (k->relu) {
        v = ref_clip(v, 0, (int32_t)k->relux);
    }
    if (k->lut) {
        if (k->bn) {
            v = ref_clip(ref_round(v * k->bn, k->bn_shift), INT32_MIN,
                         INT32_MAX);
        }
        v = ref_lut(v, k->lut_start);
    }
    p = v * k->scale;
    seen[F_TIE] += k->out_shift && (p & ((1ll << k->out_shift) - 1)) ==
                   1ll << (k->out_shift - 1);
    /* Which of two neighbours is even is asked with the offset. */
    v = ref_round(p + k->offset * ((int64_t)1 << k->out_shift), k->out_shift);
    seen[F_SATURATED] += v < -128 || v > 127;
    return ref_clip(v, -128, 127);
}

static bool check_output(const Case *k, const char *what)
{
    int per = k->half ? 8 : 16, o, y, x;

    for (o = 0; o < k->oc; o++) {
        for (y = 0; y < k->oh; y++) {
            for (x = 0; x < k->ow; x++) {
                const uint8_t *p = at(ADDR_Y) + (o / per * out_plane(k) +
                                                 y * k->ow + x) * 16;
                int64_t sum, acc = ref_window(k, y, x, o, &sum);
                double want, got;

                if (k->half) {
                    want = (acc * 0.25 + k->a[o] * 0.5) * factor_of(k, o);
                    want = k->relu && want < 0 ? 0 : want;
                    if (k->relu && k->relux != HIGH) {
                        want = MIN(want, npu_bits_to_float(k->relux));
                    }
                    want = npu_fp16_to_fp32(npu_fp32_to_fp16(want));
                    got = npu_fp16_to_fp32(lduw_le_p(p + o % per * 2));
                } else {
                    want = ref_bytes(k, acc, sum, o);
                    got = (int8_t)p[o % per];
                }
                if (want != got) {
                    printf("# %s: channel %d, row %d, column %d: %g, want %g\n",
                           what, o, y, x, got, want);
                    return false;
                }
            }
        }
    }
    return true;
}

/* --- Cases --- */

static void random_geometry(Case *k)
{
    k->kh = rnd_in(1, 4);
    k->kw = rnd_in(1, 4);
    k->sy = rnd_in(1, 3);
    k->sx = rnd_in(1, 3);
    k->top = rnd_in(0, k->kh - 1);
    k->left = rnd_in(0, k->kw - 1);
    k->bottom = rnd_in(0, k->kh - 1);
    k->right = rnd_in(0, k->kw - 1);
    k->h = rnd_in(4, 12);
    k->w = rnd_in(4, 14);
    k->oh = (k->h + k->top + k->bottom - k->kh) / k->sy + 1;
    k->ow = (k->w + k->left + k->right - k->kw) / k->sx + 1;
}

static void random_channels(Case *k)
{
    int atom = k->half ? 8 : 16;

    k->ic = rnd_in(1, 9) * atom;
    if (!k->dw && one_in(4)) {
        k->ic -= rnd_in(1, atom - 1);
    }
    if (!k->half && !k->dw && one_in(4)) {
        k->ic = up(k->ic, 64);
        k->gap = rnd_in(1, 9);
    }
    k->oc = k->dw ? k->ic : 2 * rnd_in(1, 48);
}

static void random_tensors(Case *k)
{
    int n = k->h * k->w * k->ic, i;
    int weights = k->oc * k->kh * k->kw * (k->dw ? 1 : k->ic);
    int most = k->half ? 8 : k->dw ? 254 : 127;

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

static void random_output(Case *k)
{
    k->pad = rnd_in(-128, 127);
    k->shift = rnd_in(0, 16);
    k->shift_neg = one_in(3) ? rnd_in(0, 16) : k->shift;
    k->relu = one_in(3);
    k->relux = one_in(2) ? HIGH : k->half ? npu_float_bits(6.0f) : rnd_in(1, 9000);
    k->scale = rnd_in(-3, 3) ? rnd_in(1, 900) : 1 << rnd_in(0, 6);
    k->out_shift = rnd_in(0, 16);
    k->offset = rnd_in(-20, 20);
    k->lut_start = -32 * (one_in(2) ? 512 : rnd_in(1, 511));
    k->records = k->half && !k->dw && one_in(2);
    k->bn = k->lut && !k->relu && one_in(2) ? rnd_in(1, 0x7fff) : 0;
    k->bn_shift = rnd_in(0, 16);
}

static void note(const Case *k)
{
    int atom = k->half ? 8 : 16;

    seen[k->dw ? (k->half ? F_DEPTHWISE_HALF : F_DEPTHWISE)
               : k->half ? F_HALF : F_DIRECT]++;
    seen[F_LAYER] += k->layer;
    seen[F_STRIDE] += k->sx != k->sy;
    seen[F_PADDING] += k->top || k->left;
    seen[F_ODD_GROUPS] += !k->dw && !k->half && up(k->oc, 16) / 16 % 2;
    seen[F_PARTIAL_KERNELS] += !k->dw && k->oc % (k->half ? 16 : 32);
    seen[F_THREE_ATOMS] += up(k->ic, atom) / atom % 4 == 3;
    seen[F_CORE_1] += k->core;
    seen[F_RELU] += k->relu;
    seen[F_RELUX] += k->relu && k->relux != HIGH;
    seen[F_TAIL] += k->ic % atom || k->oc % atom;
    seen[F_LUT] += k->lut;
    seen[F_PLAIN] += k->plain;
    seen[F_GAPS] += k->gap > 0;
    seen[F_BN] += k->bn > 0;
    seen[F_RECORDS] += k->records;
    seen[k->half ? F_PACKED_HALF : F_PACKED] += k->packed;
}

static bool run_part(Case *k, const Part *t)
{
    const char *why = NULL;
    NpuVerdict v;
    Prog p;

    put_program(&p, k, t);
    v = run_prog(&p, options, &why);
    if (v != NPU_TASK_RUN) {
        printf("# %s\n", why);
    }
    return v == NPU_TASK_RUN;
}

/* Output rows @y and so on, from the input rows that they need. */
static Part rows_of(const Case *k, int y, int rows, bool pair)
{
    int from = y * k->sy - k->top;
    int to = (y + rows - 1) * k->sy + k->kh - k->top;
    Part t = { .y = y, .rows = rows, .pair = pair };

    t.in_y = MAX(from, 0);
    t.in_rows = MIN(to, k->h) - t.in_y;
    t.top = t.in_y - from;
    t.bottom = MAX(to - k->h, 0);
    return t;
}

/*
 * The second part finds its first rows where the first one left them, of which
 * all but one are behind the end of the ring.  In memory they are others now.
 */
static bool run_sequence(Case *k, Part *part)
{
    int row = granules_of_row(k), c;
    bool ok;

    part[1].kept = part[0].in_y + part[0].in_rows - part[1].in_y;
    part[1].start = RING - row;
    part[0].start = part[1].start - (part[0].in_rows - part[1].kept) * row;
    part[0].sequence = part[1].sequence = true;
    ok = run_part(k, &part[0]);
    for (c = 0; c < up(k->ic, k->half ? 8 : 16) / (k->half ? 8 : 16); c++) {
        memset(at(ADDR_X) + c * k->h * k->w * 16, POISON,
               (size_t)(part[0].in_y + part[0].in_rows) * k->w * 16);
    }
    return ok && run_part(k, &part[1]);
}

static bool run_case(Case *k)
{
    Part whole = {
        .rows = k->oh, .in_rows = k->h, .top = k->top, .bottom = k->bottom,
    };
    int upper = (k->oh + 1) / 2;
    bool ok;

    memset(at(ADDR_Y), POISON, 0x100000);
    lay_features(k);
    lay_weights(k);
    lay_operands(k);
    if (k->oh >= 2 && k->top < k->kh && one_in(3)) {
        Part half[2] = {
            rows_of(k, 0, upper, true), rows_of(k, upper, k->oh - upper, true),
        };

        if (half[0].in_rows > 0 && half[1].in_rows > 0 && one_in(2)) {
            int kept = half[0].in_y + half[0].in_rows - half[1].in_y;

            if (kept > 0 && kept < half[1].in_rows && !k->packed &&
                !k->gap) {
                half[0].pair = half[1].pair = false;
                seen[F_SEQUENCE]++;
                return run_sequence(k, half);
            }
        }
        if (half[0].in_rows > 0 && half[1].in_rows > 0) {
            seen[F_PAIR]++;
            k->core = 0;
            ok = run_part(k, &half[0]);
            k->core = 1;
            return ok && run_part(k, &half[1]);
        }
    }
    return run_part(k, &whole);
}

/* Lines of whole atoms; padding is what the converter makes of 0. */
static void pack(Case *k)
{
    k->packed = true;
    k->gap = 0;
    k->ic = rnd_in(1, 4);
    k->w = 16;
    k->ow = (k->w + k->left + k->right - k->kw) / k->sx + 1;
    k->plain = !k->half && one_in(2);
    k->pad = k->plain ? 0 : -128;
}

static void test_conv(const char *what, Case kind, unsigned runs)
{
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Case k = kind;

        k.core = one_in(3);
        random_geometry(&k);
        random_channels(&k);
        random_output(&k);
        if (kind.packed) {
            pack(&k);
        }
        random_tensors(&k);
        note(&k);
        ok = run_case(&k) && check_output(&k, what);
        free(k.x);
        free(k.wt);
    }
    report(ok, "%u convolutions of %s", runs, what);
}

/* --- The DPU alone --- */

static void put_alone(Prog *p, bool half, int w, int h, int c)
{
    p->n = 0;
    put_dpu(p, w, h, c, ADDR_Y);
    put(p, 0x400c, 5);
    put(p, 0x4010, half ? 0x40000002 : 0);
    put(p, 0x401c, w * h);
    put(p, 0x4030, (uint32_t)(c - 1) << 16 | 0xf00);
    put(p, 0x4038, 0x53);
    put(p, 0x4044, 2);
    put(p, 0x4050, 0x20000);
    put(p, 0x40c0, 0x4440000);
    put(p, 0x5018, ADDR_X);
    put(p, 0x5034, 1);
    put(p, 0x5044, 9);
}

/* The program that loads the tables copies an atom, as compilers have it. */
static void load_lut(void)
{
    const char *why = NULL;
    Prog p;
    int i;

    put_alone(&p, false, 1, 1, 16);
    put(&p, 0x4108, 0xff0000);
    for (i = 0; i < 1026; i++) {
        if (i % 513 == 0) {
            put(&p, 0x4100, i ? 0x30000 : 0x20000);
        }
        put(&p, 0x4104, ref_lut_entry(i));
    }
    start(&p, ALONE);
    report(run_prog(&p, options, &why) == NPU_TASK_RUN,
           "tables are loaded by a task of the DPU alone");
}

static void test_alone(void)
{
    int w = 7, h = 5, c = 48, i, clamp;
    const char *why = NULL;

    for (clamp = 0; clamp < 2; clamp++) {
        bool ok;
        Prog p;

        put_alone(&p, false, w, h, c);
        if (clamp) {
            put(&p, 0x4038, 0x100012);
            put_clamps(&p, true, 0, 50);
            put(&p, 0x501c, 2);
            put(&p, 0x5024, ADDR_SHIFT);
            put(&p, 0x5034, 0x41);
        }
        stl_le_p(at(ADDR_SHIFT), 30);
        start(&p, ALONE);
        for (i = 0; i < w * h * c; i++) {
            at(ADDR_X)[i] = rnd();
        }
        memset(at(ADDR_Y), POISON, w * h * c);
        ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
        for (i = 0; ok && i < w * h * c; i++) {
            int x = (int8_t)at(ADDR_X)[i];

            ok = (int8_t)at(ADDR_Y)[i] == (clamp ? ref_clip(x + 30, 0, 50) : x);
        }
        report(ok, clamp ? "the DPU alone clamps" : "the DPU alone copies");
    }
}

/* What the DPU alone makes of one tensor or of two. */
typedef struct Alone {
    bool scale, second, mul, prelu;
    int a, c, shift, shift_neg, factor, offset, ew_scale, ew_shift;
    int out_scale, out_shift, out_offset;
} Alone;

static int64_t ref_alone(const Alone *k, int x, int y)
{
    int64_t v = x + k->a;
    int64_t e = ref_round((int64_t)(y + k->offset) * k->ew_scale, k->ew_shift);

    if (k->scale) {
        v = ref_round(v * k->c, v * k->c < 0 ? k->shift_neg : k->shift);
    }
    if (k->prelu && v < 0) {
        v *= k->factor;
    }
    v = k->second ? k->mul ? v * e : v + e : v;
    return ref_clip(ref_round(v * k->out_scale +
                              k->out_offset * ((int64_t)1 << k->out_shift),
                              k->out_shift), -128, 127);
}

static void put_record(const Alone *k)
{
    uint8_t *p = at(ADDR_SHIFT);

    memset(p, POISON, 128);
    stl_le_p(p, k->a);
    stw_le_p(p + 32, k->c);
    stl_le_p(p + 48, k->shift | k->shift_neg << 8);
    stw_le_p(p + 64, k->factor);
    stl_le_p(p + 80, 0);
}

static void put_alone_case(Prog *p, const Alone *k, int w, int h, int c)
{
    put_alone(p, false, w, h, c);
    put(p, 0x4038, 0x100012);
    put(p, 0x4044, k->scale ? 0 : 2);
    put(p, 0x4050, k->scale ? 0 : 0x20000);
    put(p, 0x501c, k->scale ? 0x1a : 2);
    put(p, 0x5024, ADDR_SHIFT);
    put(p, 0x5034, k->second ? 0x40000044 : 0x41);
    put(p, 0x40ac, k->out_offset);
    put(p, 0x40b0, 0x10000 | k->out_scale);
    put(p, 0x40b4, k->out_shift);
    if (k->prelu) {
        put(p, 0x4060, 0x402);
        put(p, 0x5028, 0x18);
        put(p, 0x5030, ADDR_SHIFT + 64);
    }
    if (k->second) {
        put(p, 0x407c, k->mul ? 0x810f4094 : 0x8002c0c0);
        put(p, 0x4080, k->offset);
        put(p, 0x4084, k->ew_shift << 16 | (uint16_t)k->ew_scale);
        put(p, 0x5038, ADDR_W);
        put(p, 0x5040, w * h);
    }
    start(p, ALONE);
}

static bool run_alone(const Alone *k)
{
    int w = rnd_in(1, 9), h = rnd_in(1, 6), c = 16 * rnd_in(1, 4), i;
    const char *why = NULL;
    Prog p;

    for (i = 0; i < w * h * c; i++) {
        at(ADDR_X)[i] = rnd();
        at(ADDR_W)[i] = rnd();
    }
    put_record(k);
    put_alone_case(&p, k, w, h, c);
    if (run_prog(&p, options, &why) != NPU_TASK_RUN) {
        printf("# %s\n", why);
        return false;
    }
    for (i = 0; i < w * h * c; i++) {
        if ((int8_t)at(ADDR_Y)[i] != ref_alone(k, (int8_t)at(ADDR_X)[i],
                                               (int8_t)at(ADDR_W)[i])) {
            printf("# element %d\n", i);
            return false;
        }
    }
    return true;
}

static void test_alone_cases(const char *what, Alone kind, unsigned runs)
{
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Alone k = kind;

        k.a = rnd_in(-128, 128);
        k.c = rnd_in(1, 0x4002);
        k.shift = rnd_in(0, 6);
        k.shift_neg = one_in(2) ? k.shift : rnd_in(0, 16);
        k.factor = rnd_in(1, 0x800);
        k.offset = rnd_in(-128, 128);
        k.ew_scale = k.mul ? 1 : rnd_in(-0x4000, 0x4000);
        k.ew_shift = k.mul ? 0 : rnd_in(0, 6);
        k.out_scale = rnd_in(1, 0x7fff);
        k.out_shift = rnd_in(k.scale ? 22 : 14, 30);
        k.out_offset = rnd_in(-20, 20);
        ok = run_alone(&k);
    }
    report(ok, "%u times the DPU alone %s", runs, what);
}

/* --- Pooling --- */

typedef struct Pool {
    bool average;
    bool real;              /* by the taps that are not padding */
    int h, w, c, kh, kw, sy, sx, top, left, bottom, right, oh, ow, pad;
} Pool;

static void put_pool(Prog *p, const Pool *k)
{
    int i;

    p->n = 0;
    put(p, 0x600c, k->w - 1);
    put(p, 0x6010, k->h - 1);
    put(p, 0x6014, k->c - 1);
    put(p, 0x6018, k->ow - 1);
    put(p, 0x601c, k->oh - 1);
    put(p, 0x6020, k->c - 1);
    put(p, 0x6024, !k->average ? 0x11 : k->real ? 0x18 : 0x10);
    put(p, 0x6034, (k->sy - 1) << 20 | (k->sx - 1) << 16 | (k->kh - 1) << 8 |
                   (k->kw - 1));
    if (k->average) {
        put(p, 0x6038, 65536 / k->kw);
        put(p, 0x603c, 65536 / k->kh);
    }
    put(p, 0x6040, k->bottom << 12 | k->right << 8 | k->top << 4 | k->left);
    for (i = 0; i < 4; i++) {
        put(p, 0x6044 + 4 * i, k->pad * (i + 1) & 0x7ffff);
    }
    put(p, 0x6070, ADDR_Y);
    put(p, 0x607c, k->oh * k->ow * 16);
    put(p, 0x6084, k->oh * k->ow * 16);
    put(p, 0x700c, k->w - 1);
    put(p, 0x7010, k->h - 1);
    put(p, 0x7014, k->c - 1);
    put(p, 0x701c, ADDR_X);
    put(p, 0x7024, k->w * 16);
    put(p, 0x7028, k->h * k->w * 16);
    put(p, 0x7030, 0x40);
    start(p, POOL);
}

/* Taps of a window in the input. */
static int real_taps(int o, int in, int kernel, int stride, int before)
{
    int from = o * stride - before;

    return MIN(from + kernel, in) - MAX(from, 0);
}

static int64_t ref_pool(const Pool *k, int oy, int ox, int c)
{
    int64_t max = INT64_MIN, sum = 0;
    int kw = k->real ? real_taps(ox, k->w, k->kw, k->sx, k->left) : k->kw;
    int kh = k->real ? real_taps(oy, k->h, k->kh, k->sy, k->top) : k->kh;
    int ky, kx;

    for (ky = 0; ky < k->kh; ky++) {
        for (kx = 0; kx < k->kw; kx++) {
            int y = oy * k->sy + ky - k->top, x = ox * k->sx + kx - k->left;
            bool in = y >= 0 && x >= 0 && y < k->h && x < k->w;
            int v = in ? (int8_t)at(ADDR_X)[((c / 16 * k->h + y) * k->w + x) *
                                            16 + c % 16] : k->pad;

            sum += v;
            max = in && v > max ? v : max;
        }
    }
    sum *= (int64_t)(65536 / kw) * (65536 / kh);
    return k->average ? (int8_t)ref_round(sum, 32) : max;
}

static bool run_pool(const Pool *k)
{
    const char *why = NULL;
    int i, y, x, c;
    Prog p;

    for (i = 0; i < k->h * k->w * up(k->c, 16); i++) {
        at(ADDR_X)[i] = rnd();
    }
    put_pool(&p, k);
    if (run_prog(&p, options, &why) != NPU_TASK_RUN) {
        printf("# %s\n", why);
        return false;
    }
    for (c = 0; c < k->c; c++) {
        for (y = 0; y < k->oh; y++) {
            for (x = 0; x < k->ow; x++) {
                if ((int8_t)at(ADDR_Y)[((c / 16 * k->oh + y) * k->ow + x) * 16 +
                                       c % 16] != ref_pool(k, y, x, c)) {
                    printf("# channel %d, row %d, column %d\n", c, y, x);
                    return false;
                }
            }
        }
    }
    return true;
}

static void test_pool(bool average, bool real, unsigned runs)
{
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Pool k = { .average = average, .real = real, .c = rnd_in(1, 40) };

        k.kh = rnd_in(1, 5);
        k.kw = rnd_in(1, 5);
        k.sy = rnd_in(1, 3);
        k.sx = rnd_in(1, 3);
        k.top = rnd_in(0, k.kh - 1);
        k.left = rnd_in(0, k.kw - 1);
        k.bottom = rnd_in(0, k.kh - 1);
        k.right = rnd_in(0, k.kw - 1);
        k.h = rnd_in(5, 12);
        k.w = rnd_in(5, 12);
        k.oh = (k.h + k.top + k.bottom - k.kh) / k.sy + 1;
        k.ow = (k.w + k.left + k.right - k.kw) / k.sx + 1;
        k.pad = rnd_in(-128, 127);
        /* The last window must have more than padding. */
        k.oh -= (k.oh - 1) * k.sy >= k.h + k.top;
        k.ow -= (k.ow - 1) * k.sx >= k.w + k.left;
        ok = run_pool(&k);
    }
    report(ok, "%u poolings for the %s", runs,
           real ? "average of what is not padding"
                : average ? "average" : "maximum");
}

/* --- What is refused --- */

typedef struct Refused {
    uint16_t reg;
    uint32_t value;
    const char *why;
} Refused;

static const Refused refused[] = {
    { 0x1068, 1, "a register that nobody has seen" },
    { 0x1ffc, 1, "a register that nobody has seen" },
    { 0x1014, 0x10000009, "half of a pair in one place, a whole task in another" },
    { 0x1014, 0x00010009, "bits of CNA_CONV_CON3 that nobody has seen" },
    { 0x1014, 1, "stride of 0" },
    { 0x100c, 0x2000a000, "packed pixels, or lines without groups" },
    { 0x100c, 0x2000f006, "ARGB_IN" },
    { 0x100c, 3, "CNA convolution mode" },
    { 0x100c, 1, "blocks disagree about the convolution mode" },
    { 0x100c, 0x120, "blocks disagree about the precision" },
    { 0x100c, 0x70, "input precision" },
    { 0x1018, 0xc0000404,
      "rows retained in CBUF against the rows that are fetched" },
    { 0x1018, 0x404, "CBUF without its bit 30" },
    { 0x101c, 16, "weight bytes do not match the kernels" },
    { 0x1020, 16, "bytes per kernel do not match its shape" },
    { 0x1034, 1, "CNA and CORE disagree about the output size" },
    { 0x1040, 0x10000010,
      "fetch that resumes elsewhere than behind kept rows" },
    { 0x1048, 0, "input converter but of packed bytes" },
    { 0x1080, 0, "windows outside the padded input" },
    { 0x1090, 8, "gaps between lines of the input" },
    { 0x4010, 0xa0000000, "output of another precision" },
    { 0x4038, 0x53, "BS of this layer" },
    { 0x4050, 0x80011111, "BS_OW of this many channels" },
    { 0x4060, 0x403, "BN of unknown use" },
    { 0x4060, 0x402, "operands of BN in memory" },
    { 0x407c, 0x8002c0c1, "EW of unknown use" },
    { 0x407c, 0x8002c0c0, "ERDMA of this layer" },
    { 0x40a4, 0, "clamp of the output" },
    { 0x40b8, 7, "SURF_ADD against the stride of surfaces" },
    { 0x501c, 0x108, "operands of BS" },
    { 0x5028, 0x1a, "operands of BN in memory" },
};

/* A convolution that runs, but for one register. */
static void test_refused(void)
{
    static Case k = {
        .h = 9, .w = 8, .ic = 32, .oc = 48, .kh = 3, .kw = 3, .sy = 1, .sx = 1,
        .top = 1, .left = 1, .bottom = 1, .right = 1, .oh = 9, .ow = 8,
        .scale = 1, .relux = HIGH,
    };
    const Part whole = { .rows = 9, .in_rows = 9, .top = 1, .bottom = 1 };
    unsigned i;

    random_tensors(&k);
    for (i = 0; i < ARRAY_SIZE(refused); i++) {
        const Refused *r = &refused[i];
        const char *why = NULL;
        NpuVerdict v;
        Prog p;

        put_program(&p, &k, &whole);
        p.n--;
        put(&p, r->reg, r->value);
        start(&p, CONV);
        v = run_prog(&p, options, &why);
        report(v == NPU_TASK_UNIMP && !strcmp(why, r->why),
               "%04x = %x is refused: %s", r->reg, r->value,
               v == NPU_TASK_RUN ? "it runs" : why);
    }
    free(k.x);
    free(k.wt);
}

static void test_windows(void)
{
    static Case k = {
        .h = 64, .w = 64, .ic = 64, .oc = 32, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 64, .ow = 64, .scale = 1, .relux = HIGH,
    };
    Part whole = { .rows = 64, .in_rows = 64 };
    static uint32_t regs[NPU_REGFILE_WORDS];
    NpuTaskOptions opt = options;
    const char *why = NULL;
    static NpuTask t;
    unsigned i, j;
    Prog p;

    for (i = 0; i < 2; i++) {
        k.h = whole.in_rows = whole.rows = k.oh = 64 + i;
        memset(regs, 0, sizeof(regs));
        /* What a reset leaves, and no program writes. */
        regs[0x300c / 4] = 0x07800800;
        put_program(&p, &k, &whole);
        for (j = 0; j < p.n - 1; j++) {
            NpuCmd cmd = npu_cmd_decode(p.cmd[j]);

            regs[cmd.reg / 4] = cmd.value;
        }
        report(npu_task_decode(&t, regs, CONV, &opt, &why) == NPU_TASK_RUN &&
               !npu_task_cbuf_short(&t) == !i,
               "%u rows of 64 granules %s the window of 4096", 64 + i,
               i ? "exceed" : "fill");
    }
}

/* --- Words of bytes --- */

/* What changes of a product's program; positions are one line. */
static void put_words(Prog *p, const Case *k)
{
    put_program(p, k, &(const Part) { .rows = 1, .in_rows = 1 });
    p->n--;
    put(p, 0x4010, 0xa0000002);
    put(p, 0x4030, (uint32_t)(k->oc - 1) << 16 | 0x310);
    put(p, 0x4038, 0x53);
    put(p, 0x4044, 2);
    put(p, 0x4050, 0x23333);
    put(p, 0x40b8, 3 * k->ow);
}

static bool check_words(const Case *k)
{
    int o, x;

    for (o = 0; o < k->oc; o++) {
        for (x = 0; x < k->ow; x++) {
            int32_t got = ldl_le_p(at(ADDR_Y) + (o / 4 * k->ow + x) * 16 +
                                   o % 4 * 4);
            int64_t sum, want = ref_window(k, 0, x, o, &sum);

            if (got != want) {
                printf("# words: channel %d, position %d: %d, want %d\n", o, x,
                       got, (int)want);
                return false;
            }
        }
    }
    return true;
}

static const Refused refused_words[] = {
    { 0x4010, 0xa0000000, "output of another precision" },
    { 0x4010, 0x80000002, "blocks disagree about the precision" },
    { 0x4050, 0x80011111, "BS_OW of this many channels" },
    { 0x4060, 0x902, "clamp of words" },
    { 0x40ac, 1, "LUT or OUT_CVT of words" },
    { 0x40b4, 1, "LUT or OUT_CVT of words" },
    { 0x40b8, 7, "SURF_ADD against the stride of surfaces" },
    { 0x501c, 0, "BRDMA of this layer" },
};

static void test_words(unsigned runs)
{
    const char *why = NULL;
    bool ok = true;
    unsigned i;
    Prog p;

    for (i = 0; i < runs; i++) {
        Case k = {
            .h = 1, .kh = 1, .kw = 1, .sy = 1, .sx = 1, .oh = 1, .scale = 1,
            .relux = HIGH,
        };

        k.w = k.ow = rnd_in(1, 40);
        k.ic = 16 * rnd_in(1, 16);
        k.oc = 16 * rnd_in(1, 15);
        random_tensors(&k);
        memset(at(ADDR_Y), POISON, 0x100000);
        lay_features(&k);
        lay_weights(&k);
        lay_operands(&k);
        put_words(&p, &k);
        start(&p, CONV);
        ok = ok && run_prog(&p, options, &why) == NPU_TASK_RUN &&
             check_words(&k);
        if (i < ARRAY_SIZE(refused_words)) {
            const Refused *r = &refused_words[i];
            NpuVerdict v;

            put_words(&p, &k);
            put(&p, r->reg, r->value);
            start(&p, CONV);
            v = run_prog(&p, options, &why);
            report(v == NPU_TASK_UNIMP && !strcmp(why, r->why),
                   "%04x = %x of words is refused: %s", r->reg, r->value,
                   v == NPU_TASK_RUN ? "it runs" : why);
        }
        free(k.x);
        free(k.wt);
    }
    report(ok, "%u products of words%s%s", runs, why ? ": " : "",
           ok || !why ? "" : why);
}

/* --- Products of halves to floats --- */

/*
 * With 4-bit weights rows are positions of surfaces; without these they follow
 * each other in memory.
 */

typedef struct Product {
    bool int4;
    int m, k, n;
    int rows, first;        /* of the tensors, of which M are computed */
    int core;
    bool rdma, lines;       /* operands are fetched; GROUP_LINE_OFF */
    float *x;               /* [rows][k] */
    float *w;               /* [n][k] */
} Product;

static uint8_t *product_x(const Product *k, int row, int c)
{
    return at(ADDR_X) + (k->int4 ? (c / 8 * k->rows + row) * 16 + c % 8 * 2
                                 : (row * k->k + c) * 2);
}

static uint8_t *product_y(const Product *k, int row, int o)
{
    return at(ADDR_Y) + (k->int4 ? (o / 4 * k->rows + row) * 16 + o % 4 * 4
                                 : (row * k->n + o) * 4);
}

static void lay_product(const Product *k)
{
    int r, c, o;

    for (r = 0; r < k->rows; r++) {
        for (c = 0; c < k->k; c++) {
            put_half(product_x(k, r, c), k->x[r * k->k + c]);
        }
    }
    memset(at(ADDR_W), 0, k->n * k->k * 2);
    for (o = 0; o < k->n; o++) {
        for (c = 0; c < k->k; c++) {
            int i = o / 16 * 16 * k->k + c / 32 * 512 + o % 16 * 32 + c % 32;

            if (k->int4) {
                at(ADDR_W)[i / 2] |= ((int)k->w[o * k->k + c] & 15)
                                     << i % 2 * 4;
            } else {
                put_half(at(ADDR_W) + 2 * i, k->w[o * k->k + c]);
            }
        }
    }
    memset(at(ADDR_BS), 0x5a, k->n * 8);
    stl_le_p(at(ADDR_SHIFT), 0x1004);
}

/* The words that gahingwoo tells of, of his own programs and Rockchip's. */
static void put_product(Prog *p, const Product *k)
{
    int w = k->int4 ? k->m : 1, h = k->int4 ? 1 : k->m, i;
    int row = w * k->k / 32, base = k->core * 0x1c00;
    int notch = k->int4 ? k->rows - k->m : k->n / 4 - 1;
    uint32_t kernel = k->int4 ? k->k / 2 : k->k * 2;

    p->n = 0;
    put(p, 0x100c, 0x200120 | (k->lines ? 0x20000000 : 0) |
                   (k->int4 ? 0x400000 : 0));
    put(p, 0x1010, 0xfff);
    put(p, 0x1014, 9);
    put(p, 0x1018, 0x40000404 + 7 * k->core);
    put(p, 0x101c, kernel * k->n);
    put(p, 0x1020, kernel);
    put(p, 0x1024, k->n - 1);
    put(p, 0x1028, row * h << 16 | (k->k - 1));
    put(p, 0x102c, (w - 1) << 16 | (h - 1));
    put(p, 0x1030, kernel << 16 | (w - 1));
    put(p, 0x1034, k->m - 1);
    put(p, 0x1038, k->core ? 0x10e : 7);
    put(p, 0x103c, row << 16 | base);
    put(p, 0x1040, (uint32_t)(base + 0x1000) << 16 | base);
    put(p, 0x1044, w << 16 | row);
    put(p, 0x1048, 0xb);
    put(p, 0x104c, 0x10001);
    put(p, 0x1050, 0x10001);
    put(p, 0x1078, (w - 1) << 16 | (h - 1));
    put(p, 0x107c, k->k - 1);
    put(p, 0x1088, MEM_BASE + (product_x(k, k->first, 0) - mem));
    put(p, 0x108c, 0xf000f);
    put(p, 0x1090, k->int4 ? k->m * 4 : k->k / 8);
    put(p, 0x1094, k->int4 ? k->rows : 1);
    put(p, 0x1098, k->m);
    put(p, 0x1110, ADDR_W);
    put(p, 0x118c, (w - 1) << 16 | (w - 1));
    for (i = 0; i < 5; i++) {
        put(p, 0x2810 + 4 * i, i == 2 ? base << 16 : i == 4 ? base / 128 : 0);
    }
    put(p, 0x3018, 0x10000200);
    put(p, 0x301c, (h - 1) << 16 | (w - 1));
    put(p, 0x3020, k->n - 1);
    put_dpu(p, w, h, k->n, MEM_BASE + (product_y(k, k->first, 0) - mem));
    put(p, 0x400c, 0x40000004);
    put(p, 0x4010, 0xa0000002);
    put(p, 0x401c, k->int4 ? k->rows : 1);
    put(p, 0x4028, notch);
    put(p, 0x4030, (uint32_t)(k->n - 1) << 16 | 0x310);
    put(p, 0x4038, 0x53);
    put(p, 0x4044, 2);
    put(p, 0x4050, 0x23333);
    put(p, 0x40b0, 1);
    put(p, 0x40b8, k->int4 ? 4 * k->rows - k->m
                           : k->n / 4 + 3 - k->m * k->n / 4);
    put(p, 0x40c0, 0x4440100);
    if (k->rdma) {
        put(p, 0x500c, 0);
        put(p, 0x5010, k->m - 1);
        put(p, 0x501c, 0x710);
        put(p, 0x5020, ADDR_BS);
        put(p, 0x5024, ADDR_SHIFT);
        put(p, 0x5034, 0x41);
        put(p, 0x5044, 0x40000010);
    }
}

static uint32_t enable_product(const Product *k)
{
    return k->rdma ? CONV : CONV_NO_RDMA;
}

/* Of K products in fp32, in any order. */
static bool check_product(const Product *k)
{
    int r, o, c;

    for (r = 0; r < k->rows; r++) {
        for (o = 0; o < k->n; o++) {
            uint32_t bits = ldl_le_p(product_y(k, r, o));
            double want = 0, sum = 0, got = npu_bits_to_float(bits);

            for (c = 0; c < k->k; c++) {
                double v = (double)k->x[r * k->k + c] * k->w[o * k->k + c];

                want += v;
                sum += fabs(v);
            }
            if (r < k->first || r >= k->first + k->m
                ? bits != POISON * 0x01010101u
                : !(fabs(got - want) <= k->k * sum / (1 << 24))) {
                printf("# product: row %d, column %d: %g, want %g\n", r, o, got,
                       want);
                return false;
            }
        }
    }
    return true;
}

static float random_half(void)
{
    return ldexpf(rnd_in(-2047, 2047), rnd_in(-14, 2));
}

static void random_product(Product *k)
{
    int i;

    k->m = one_in(4) ? 1 : 2 * rnd_in(1, 24) - (!k->int4 && one_in(2));
    k->first = one_in(3) ? rnd_in(0, 9) : 0;
    k->rows = k->first + k->m + (one_in(3) ? rnd_in(0, 9) : 0);
    k->k = 32 * rnd_in(1, 24);
    k->n = 16 * rnd_in(1, 12);
    k->core = one_in(3);
    k->rdma = one_in(2);
    k->lines = !k->int4 || one_in(2);
    k->x = malloc(k->rows * k->k * sizeof(*k->x));
    k->w = malloc(k->n * k->k * sizeof(*k->w));
    for (i = 0; i < k->rows * k->k; i++) {
        k->x[i] = random_half();
    }
    for (i = 0; i < k->n * k->k; i++) {
        k->w[i] = k->int4 ? rnd_in(-8, 7) : random_half();
    }
    seen[k->rdma ? F_PRODUCT_RDMA : F_PRODUCT_NO_RDMA]++;
    seen[F_PRODUCT_PART] += k->rows > k->m;
    seen[F_PRODUCT_CORE_1] += k->core;
}

static void test_product(bool int4, unsigned runs)
{
    const char *why = NULL;
    bool ok = true;
    unsigned i;
    Prog p;

    for (i = 0; ok && i < runs; i++) {
        Product k = { .int4 = int4 };

        random_product(&k);
        memset(at(ADDR_Y), POISON, k.rows * k.n * 4);
        lay_product(&k);
        put_product(&p, &k);
        start(&p, enable_product(&k));
        ok = run_prog(&p, options, &why) == NPU_TASK_RUN && check_product(&k);
        free(k.x);
        free(k.w);
    }
    report(ok, "%u products of halves%s%s%s", runs,
           int4 ? " with int4 weights" : " to floats", why ? ": " : "",
           why ? why : "");
}

/* Eight values of a nibble, times one and a number that needs all of fp32. */
static void test_int4_values(void)
{
    Product k = {
        .int4 = true, .m = 2, .rows = 2, .k = 32, .n = 16, .lines = true,
    };
    const char *why = NULL;
    bool ok;
    Prog p;
    int o;

    k.x = calloc(2 * 32, sizeof(*k.x));
    k.w = calloc(16 * 32, sizeof(*k.w));
    k.x[5] = 1;
    k.x[32 + 5] = 65504;
    k.x[32 + 6] = 0x1p-7f;
    for (o = 0; o < 16; o++) {
        k.w[o * 32 + 5] = o - 8;
        k.w[o * 32 + 6] = 1;
    }
    lay_product(&k);
    put_product(&p, &k);
    start(&p, CONV_NO_RDMA);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    for (o = 0; ok && o < 16; o++) {
        const uint8_t *y = at(ADDR_Y) + o / 4 * 32 + o % 4 * 4;

        ok = npu_bits_to_float(ldl_le_p(y)) == o - 8 &&
             npu_bits_to_float(ldl_le_p(y + 16)) ==
             (float)(65504.0 * (o - 8) + 0x1p-7);
    }
    report(ok, "the values of int4 weights");
    free(k.x);
    free(k.w);
}

static const Refused refused_int4[] = {
    { 0x100c, 0x00400000, "int4 weights but of products with halves" },
    { 0x100c, 0x20600121, "int4 weights but of products with halves" },
    { 0x100c, 0x20400120, "blocks disagree about the precision" },
    { 0x1014, 10, "product of halves with windows" },
    { 0x1080, 1, "product of halves with windows" },
    { 0x1038, 0x80000007, "product of halves in a task of several" },
    { 0x1038, 0x40000007, "product of halves in a task of several" },
    { 0x1020, 128, "bytes per kernel do not match its shape" },
    { 0x1030, 0x800003, "two sizes of a kernel" },
    { 0x2810, 1, "registers of products against the window of CBUF" },
    { 0x2818, 0x1c000000, "registers of products against the window of CBUF" },
    { 0x2820, 0x38, "registers of products against the window of CBUF" },
    { 0x3018, 0x10000001, "blocks disagree about the precision" },
    { 0x4010, 0x40000002, "output of a product of halves but floats" },
    { 0x4010, 0x80000002, "output of a product of halves but floats" },
    { 0x4010, 0xa0000000, "output of a product of halves but floats" },
    { 0x4028, 1, "CUBE_NOTCH of this layer" },
    { 0x4030, 0x1f0710, "write DMA of this layer" },
    { 0x4038, 0x100092, "BS of this layer" },
    { 0x4044, 1, "operands of BS" },
    { 0x4050, 0x21111, "BS_OW of this many channels" },
    { 0x4060, 0x902, "clamp of words" },
    { 0x407c, 0x8002c0c0, "a second tensor but of bytes and of the DPU alone" },
    { 0x40ac, 1, "OUT_CVT arithmetic with floats" },
    { 0x40b0, 0x10001, "FP32TOFP16_EN of words" },
    { 0x40b8, 7, "SURF_ADD against the stride of surfaces" },
    /* Of those with RDMA. */
    { 0x500c, 3, "DPU and RDMA cubes disagree" },
    { 0x5014, 15, "DPU and RDMA cubes disagree" },
    { 0x501c, 0, "BRDMA of this layer" },
    { 0x5034, 0x4000004c, "ERDMA of this layer" },
    { 0x5044, 0x280a1, "RDMA of this layer" },
};

static const Refused refused_product[] = {
    { 0x100c, 0x200120, "convolution without RDMA but a product of halves" },
    { 0x1090, 8, "rows of a product that do not follow each other" },
    { 0x1094, 4, "rows of a product that do not follow each other" },
    { 0x401c, 4, "rows of a product that do not follow each other" },
    { 0x4010, 0x40000002, "output of a product of halves but floats" },
    { 0x4028, 0, "SURF_ADD against the stride of surfaces" },
    { 0x40b8, 4, "SURF_ADD against the stride of surfaces" },
};

static void report_refused(const Prog *p, const char *want, const char *what)
{
    const char *why = NULL;
    NpuVerdict v = run_prog(p, options, &why);

    report(v == NPU_TASK_UNIMP && !strcmp(why, want), "%s is refused: %s",
           what, v == NPU_TASK_RUN ? "it runs" : why);
}

static void test_refused_int4(void)
{
    Product k = {
        .int4 = true, .m = 4, .rows = 4, .k = 128, .n = 32, .lines = true,
    };
    char what[40];
    unsigned i;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(refused_int4); i++) {
        const Refused *r = &refused_int4[i];

        k.rdma = r->reg >= 0x5000;
        put_product(&p, &k);
        put(&p, r->reg, r->value);
        start(&p, enable_product(&k));
        snprintf(what, sizeof(what), "%04x = %x of int4 weights", r->reg,
                 r->value);
        report_refused(&p, r->why, what);
    }
    k.rdma = false;
    k.int4 = false;
    for (i = 0; i < ARRAY_SIZE(refused_product); i++) {
        const Refused *r = &refused_product[i];

        put_product(&p, &k);
        put(&p, r->reg, r->value);
        start(&p, CONV_NO_RDMA);
        snprintf(what, sizeof(what), "%04x = %x of a product", r->reg,
                 r->value);
        report_refused(&p, r->why, what);
    }
    k.int4 = true;
    k.m = 3;
    put_product(&p, &k);
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "int4 weights for an odd number of rows",
                   "int4 weights of 3 rows");
    k.m = 4;
    k.n = 24;
    put_product(&p, &k);
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "product of halves whose kernels do not fill groups",
                   "int4 weights of 24 kernels");
    k.n = 32;
    k.k = 144;
    put_product(&p, &k);
    put(&p, 0x1028, 4 * 18 / 4 << 16 | 143);
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "product of halves whose channels do not fill groups",
                   "int4 weights of 144 channels");
}

/* Other convolutions without operands, and with a notch. */
static void test_refused_no_rdma(void)
{
    static Case k = {
        .h = 4, .w = 4, .ic = 32, .oc = 16, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 4, .ow = 4, .scale = 1, .relux = HIGH,
    };
    Prog p;

    put_program(&p, &k, &(const Part) { .rows = 4, .in_rows = 4 });
    p.n--;
    start(&p, CONV_NO_RDMA);
    report_refused(&p, "convolution without RDMA but a product of halves",
                   "a convolution of bytes without RDMA");
    p.n--;
    put(&p, 0x4028, 4);
    start(&p, CONV);
    report_refused(&p, "CUBE_NOTCH of this layer", "a notch of bytes");
}

/* Surfaces of two tensors, wherever these are. */
static void test_distance(void)
{
    static Case k = {
        .h = 4, .w = 4, .ic = 32, .oc = 16, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .oh = 4, .ow = 4, .scale = 1, .relux = HIGH,
    };
    static const uint32_t distance[] = { 16, 0xfffffff, 0x10000000 };
    Part whole = { .rows = 4, .in_rows = 4 };
    static uint32_t regs[NPU_REGFILE_WORDS];
    NpuTaskOptions opt = options;
    static NpuTask t;
    unsigned i, j;
    Prog p;

    put_program(&p, &k, &whole);
    for (i = 0; i < ARRAY_SIZE(distance); i++) {
        const char *why = NULL;
        bool fits = i < 2;

        memset(regs, 0, sizeof(regs));
        regs[0x300c / 4] = 0x07800800;
        for (j = 0; j < p.n - 1; j++) {
            NpuCmd cmd = npu_cmd_decode(p.cmd[j]);

            regs[cmd.reg / 4] = cmd.value;
        }
        regs[0x1094 / 4] = distance[i];
        report(npu_task_decode(&t, regs, CONV, &opt, &why) ==
               (fits ? NPU_TASK_RUN : NPU_TASK_UNIMP) &&
               (fits || !strcmp(why, "surfaces that are 4 GiB apart")),
               "surfaces %u atoms apart are %s", distance[i],
               fits ? "taken" : "refused");
    }
}

int main(void)
{
    unsigned i;

    rnd_state = 0x3576;
    test_conv("bytes", (Case) { 0 }, 150);
    test_conv("bytes with one zero point", (Case) { .layer = true }, 40);
    test_conv("depthwise bytes", (Case) { .dw = true }, 80);
    test_conv("halves", (Case) { .half = true }, 80);
    test_conv("depthwise halves", (Case) { .half = true, .dw = true }, 60);
    test_conv("packed bytes", (Case) { .packed = true }, 60);
    test_conv("packed halves", (Case) { .packed = true, .half = true }, 60);
    load_lut();
    test_conv("bytes with a LUT", (Case) { .lut = true }, 40);
    test_alone();
    test_alone_cases("scales", (Alone) { .scale = true }, 40);
    test_alone_cases("adds a tensor",
                     (Alone) { .scale = true, .second = true }, 40);
    test_alone_cases("multiplies by a tensor",
                     (Alone) { .second = true, .mul = true }, 40);
    test_alone_cases("scales what is negative",
                     (Alone) { .scale = true, .prelu = true }, 40);
    test_pool(false, false, 60);
    test_pool(true, false, 60);
    test_pool(true, true, 60);
    test_refused();
    test_windows();
    test_distance();
    test_words(40);
    test_product(true, 60);
    test_product(false, 60);
    test_int4_values();
    test_refused_int4();
    test_refused_no_rdma();
    for (i = 0; i < FEATURES; i++) {
        report(seen[i], "some had %s", feature_name[i]);
    }
    printf("1..%u\n", tests);
    return failures != 0;
}
