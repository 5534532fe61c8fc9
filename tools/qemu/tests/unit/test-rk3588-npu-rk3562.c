/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs for the RK3562, against loops over tensors by row, column
 * and channel.
 */
#define ATOM            16
#define PLANE           1
#define POOL            0x60
#include "conv-case.h"

#define CONV            0x1d
#define CONV_ALONE      0x0d
#define ALONE           0x18
#define LEAST           0x80000000
#define MOST            0x7fffffff
/* Of the multipliers in memory. */
#define SHIFT           14

enum {
    F_PARTIAL_KERNELS, F_DEPTHWISE_TAIL, F_STRIDE, F_PADDING, F_LAYER, F_SUM,
    F_RELU, F_SATURATED, F_LONG_LINES, F_ADD_128, F_TRUNCATE, FEATURES
};

static const char *const feature_name[FEATURES] = {
    "partial kernel groups", "depthwise channels beside those that are stored",
    "strides", "padding", "one zero point and no factors",
    "sums with another tensor", "ReLU", "saturated output",
    "lines of pixels that are longer in memory",
    "depthwise weights to which 128 is added",
    "sums whose last bits are rounded off",
};

static unsigned seen[FEATURES];

static const NpuTaskOptions options = {
    .encoding = NPU_ENCODING_RK3562,
    .write_padding = true,
};

static bool is_pairs(const Case *k)
{
    return k->dw && !k->layer;
}

static int element(const Case *k)
{
    return k->half ? 2 : 1;
}

/* Channels of a group that CORE has whole. */
static int core_group(const Case *k)
{
    return k->dw ? 32 : k->half ? 8 : 16;
}

/* --- Memory --- */

static int line_pixels(const Case *k)
{
    return up(k->w, 4);
}

static void lay_pixels(const Case *k)
{
    int y, i;

    for (y = 0; y < k->h; y++) {
        uint8_t *p = at(ADDR_X) + y * line_pixels(k) * k->ic * element(k);

        for (i = 0; i < k->w * k->ic; i++) {
            /* The converter takes 128 off. */
            p = put_elem(k, p, k->x[y * k->w * k->ic + i] +
                               (k->half ? 0 : 128));
        }
    }
}

/* Channels of a kernel that are stored. */
static int stored(const Case *k)
{
    return k->packed ? 4 : up(k->ic, k->dw ? 32 : per_atom(k));
}

/* Groups of 16 kernels, of halves 8; of 32 channels; taps, kernels, lanes. */
static void lay_direct(const Case *k)
{
    int kg = k->half ? 8 : 16, o, c, t, i, j;
    uint8_t *p = at(ADDR_W);

    for (o = 0; o < k->oc; o += kg) {
        for (c = 0; c < stored(k); c += 32) {
            for (t = 0; t < k->kh * k->kw; t++) {
                for (i = o; i < k->oc && i < o + kg; i++) {
                    for (j = c; j < stored(k) && j < c + 32; j++) {
                        p = put_elem(k, p, j < k->ic ? w_at(k, i, t, j) : 0);
                    }
                }
            }
        }
    }
}

/* A byte that another one makes @w of, which 0x80 has for 128. */
static int part_of(int w)
{
    return rnd_in(MAX(-128, w - 128), MIN(127, w + 127));
}

/* Groups of 32 channels, taps, and two channels with what is added to them. */
static void lay_depthwise(const Case *k)
{
    uint8_t *p = at(ADDR_W);
    int c, t, j;

    for (c = 0; c < stored(k); c += 32) {
        for (t = 0; t < k->kh * k->kw; t++) {
            for (j = c; j < c + 32; j++) {
                int w = j < k->ic ? w_at(k, j, t, 0) : 0, part = part_of(w);

                if (is_pairs(k)) {
                    seen[F_ADD_128] += w - part == 128;
                    p[(j - c) / 2 * 4 + j % 2] = part;
                    p[(j - c) / 2 * 4 + j % 2 + 2] = w - part;
                } else {
                    p[j - c] = w;
                }
            }
            p += is_pairs(k) ? 64 : 32;
        }
    }
}

static void lay_operands(const Case *k)
{
    int o, size = is_pairs(k) ? 24 : 32;

    memset(at(ADDR_BS), 0x5a, MAX_CHANNELS * 8);
    for (o = 0; o < k->oc; o++) {
        uint8_t *p = at(ADDR_BS) + o / 4 * size;

        if (k->layer) {
            stl_le_p(at(ADDR_BS) + 4 * o, k->a[o]);
            continue;
        }
        stl_le_p(p + o % 4 * 4, k->a[o]);
        stw_le_p(p + size - 8 + o % 4 * 2, k->c[o]);
        if (!is_pairs(k)) {
            stw_le_p(p + 16 + o % 4 * 2, k->b[o]);
        }
    }
}

static void lay_case(const Case *k)
{
    if (k->packed) {
        lay_pixels(k);
    } else {
        lay_tensor(k, ADDR_X, k->x, k->h, k->w, k->ic);
    }
    if (k->dw) {
        lay_depthwise(k);
    } else {
        lay_direct(k);
    }
    lay_operands(k);
}

/* --- Programs --- */

static int granules(const Case *k)
{
    int atoms = up(k->ic, per_atom(k)) / per_atom(k), rest = atoms % 4;

    if (k->packed) {
        return (k->w * 4 * element(k) + 63) / 64;
    }
    return atoms / 4 * k->w + (k->w * (rest == 3 ? 4 : rest) + 3) / 4;
}

static void put_weights(Prog *p, const Case *k)
{
    int kernel = k->kh * k->kw * stored(k) * element(k);
    int kernels = is_pairs(k) ? 2 : k->dw ? 1 : k->oc;
    bool odd = k->packed && k->half && k->kh * k->kw == 1 && k->oc % 2;

    put(p, 0x101c, (kernels + odd) * kernel);
    put(p, 0x1020, 0x20000000 | kernel);
    put(p, 0x1024, k->kw << 24 | k->kh << 16 | kernels);
    put(p, 0x1110, ADDR_W);
}

static void put_pixels(Prog *p, const Case *k)
{
    int atoms = up(k->h * line_pixels(k) * k->ic * element(k), 16) / 16;
    uint32_t last = k->h * granules(k) - 1;

    put(p, 0x1044, line_pixels(k) * 0x10001);
    put(p, 0x1078, atoms << 16 | 1);
    put(p, 0x1090, atoms);
    put(p, 0x1094, atoms);
    put(p, 0x118c, last << 16 | last);
}

static void put_feature(Prog *p, const Case *k)
{
    put(p, 0x1088, ADDR_X);
    if (k->packed) {
        put_pixels(p, k);
        return;
    }
    put(p, 0x1044, k->w << 16 | granules(k));
    put(p, 0x1078, k->w << 16 | k->h);
    put(p, 0x1090, 4 * k->w);
    put(p, 0x1094, plane(k->h, k->w));
    put(p, 0x118c, (k->w - 1) << 16 | (k->w - 1));
}

static void put_cna(Prog *p, const Case *k)
{
    int right = MAX(0, (k->ow - 1) * k->s + k->kw - k->w - k->left);
    int bottom = MAX(0, (k->oh - 1) * k->s + k->kh - k->h - k->top);
    bool bytes = k->packed && !k->half;
    int pad = k->half ? 0 : k->pad, lane;

    put(p, 0x100c, 0x10000000 | (k->packed ? 0x20000002 : 0) |
                   (k->packed && line_pixels(k) > k->w ? 0x4000000 : 0) |
                   (k->packed ? (7 + k->ic) << 12 : 0) |
                   (k->half ? 0x200120 : 0) |
                   (is_pairs(k) ? 5 : k->dw ? 1 : 0));
    put(p, 0x1010, 0x40);
    put(p, 0x1014, k->s << 3 | k->s);
    put(p, 0x1018, 0x180707);
    put_weights(p, k);
    put(p, 0x1028, k->ic);
    put(p, 0x102c, k->w << 16 | k->h);
    put(p, 0x1030, k->ow);
    put(p, 0x1034, k->ow * k->oh);
    put(p, 0x1038, 8);
    put(p, 0x103c, granules(k) << 16);
    put(p, 0x1040, 0xe000000);
    put(p, 0x1048, bytes ? 0 : 0xb);
    put(p, 0x104c, 0x10001);
    put(p, 0x1050, 0x10001);
    for (lane = 0; lane < 3; lane++) {
        put(p, 0x1054 + 4 * lane, bytes ? -128 : 0);
    }
    put(p, 0x1060, bytes ? -128 : 0);
    put(p, 0x1064, bytes ? ((1 << k->ic) - 1) * 0x11 : 0);
    put(p, 0x106c, 0x20);
    put(p, 0x1070, bytes ? pad : 0);
    put(p, 0x1074, k->dw && k->layer ? 0x8080 : 0);
    put(p, 0x107c, k->ic);
    put(p, 0x1080, right << 24 | bottom << 16 | k->left << 8 | k->top);
    put(p, 0x1084, pad);
    put_feature(p, k);
    put(p, 0x108c, 0xf400f);
    put(p, 0x3018, k->half ? 0x200 : k->dw ? 0xa : 1);
    put(p, 0x301c, (k->oh - 1) << 16 | (k->ow - 1));
    put(p, 0x3020, up(k->oc, core_group(k)) - 1);
    put(p, 0x3024, bytes ? 0x20 : k->truncate * 0x21);
}

static void put_clamp(Prog *p, uint16_t reg, uint32_t low)
{
    put(p, reg, low);
    put(p, reg + 4, MOST);
}

/* Of both uses of the DPU: no stage does anything. */
static void put_idle(Prog *p)
{
    put(p, 0x4038, 0x53);
    put_clamp(p, 0x4048, LEAST);
    put_clamp(p, 0x4058, LEAST);
    put(p, 0x4060, 0x13);
    put_clamp(p, 0x406c, LEAST);
    put_clamp(p, 0x4074, LEAST);
    put(p, 0x407c, 0x10041c1);
    put(p, 0x4084, 1);
    put_clamp(p, 0x4088, LEAST);
    put_clamp(p, 0x40a4, LEAST);
    put(p, 0x40b0, 1);
}

static void put_bs(Prog *p, const Case *k)
{
    if (k->half) {
        put(p, 0x4050, 2);
        return;
    }
    put(p, 0x4038, (k->dw ? 0x100092 : 0x120080) |
                   (k->layer ? 0 : SHIFT << 8));
    put(p, 0x4044, !k->layer && !k->dw);
    put(p, 0x4050, (k->layer ? 2 : 1) | (k->dw ? 0x124 : 0));
    put(p, 0x4054, (k->layer ? 0 : SHIFT << 16) |
                   (k->dw ? 0 : 0x80000000) |
                   (k->layer && !k->dw ? k->b[0] & 0xffff : 0));
}

static void put_dpu(Prog *p, const Case *k)
{
    int stride = plane(k->oh, k->ow);

    put(p, 0x400c, 0x1e4 | k->dw << 3);
    put(p, 0x4010, k->half ? 0x40000002 : 0);
    put(p, 0x4018, ADDR_Y);
    put(p, 0x401c, stride);
    put(p, 0x4020, k->ow - 1);
    put(p, 0x4024, k->oh - 1);
    put(p, 0x402c, k->oc - 1);
    put(p, 0x4030, (k->oc - 1) << 16 | (k->half ? 1 : k->dw ? 7 : 3));
    put(p, 0x4034, (k->oh - 1) << 16 | (k->ow - 1));
    put_idle(p);
    put_bs(p, k);
    if (k->relu) {
        put(p, 0x4060, 0x12);
        put_clamp(p, 0x406c, 0);
        put_clamp(p, 0x4074, 0);
    }
    put(p, 0x407c, k->sum ? 0x8002c0c0 : 0x10041c1);
    put(p, 0x4080, k->e_offset & 0xffff);
    put(p, 0x4084, k->e_shift << 16 | k->e_scale);
    put(p, 0x40ac, k->offset);
    put(p, 0x40b0, k->half ? 0x10001 : k->scale);
    put(p, 0x40b4, k->shift);
    put(p, 0x40b8, stride * (k->dw ? 2 : 1));
    put(p, 0x40c0, 0x4440102);
    put(p, 0x500c, k->ow - 1);
    put(p, 0x5010, k->oh - 1);
    put(p, 0x5014, up(k->oc, core_group(k)) - 1);
    put(p, 0x501c, k->layer ? 2 : k->dw ? 0xa : 0xe);
    put(p, 0x5020, ADDR_BS);
    put(p, 0x5034, k->sum ? 0x40000004 : 1);
    put(p, 0x5038, ADDR_EW);
    put(p, 0x5040, k->sum ? stride : 0);
    put(p, 0x5044, 0x7810 | k->dw << 1 | k->sum << 3);
}

static void put_program(Prog *p, const Case *k)
{
    p->n = 0;
    put_cna(p, k);
    put_dpu(p, k);
    start(p, k->half ? CONV_ALONE : CONV);
}

/* --- Draws --- */

static void draw_case(Case *k)
{
    int i;

    draw(k);
    for (i = 0; is_pairs(k) && i < k->oc * k->kh * k->kw; i++) {
        k->wt[i] = rnd_in(-255, 255);
    }
    if (k->dw) {
        memset(k->b, 0, sizeof(k->b));
        k->b[0] = k->layer ? 128 : 0;
    }
    seen[F_PARTIAL_KERNELS] += !k->dw && k->oc % core_group(k);
    seen[F_DEPTHWISE_TAIL] += k->dw && k->ic % 32;
    seen[F_STRIDE] += k->s > 1;
    seen[F_PADDING] += k->top || k->left;
    seen[F_LAYER] += k->layer;
    seen[F_SUM] += k->sum;
    seen[F_RELU] += k->relu;
    seen[F_LONG_LINES] += k->packed && line_pixels(k) > k->w;
    k->truncate = !k->half && !k->dw && !k->packed && one_in(3)
                  ? rnd_in(1, 5) : 0;
    seen[F_TRUNCATE] += k->truncate > 0;
}

/* --- Rows that stay in CBUF --- */

/* Rows from @from on of @k's input, of which @kept are there already. */
static void put_rows(Prog *p, const Case *k, int from, int kept)
{
    int rows = k->h - from + kept, ring = 7 * 512;
    Case part = *k;

    part.h = rows;
    part.oh = rows - k->kh + 1;
    p->n = 0;
    put_cna(p, &part);
    put_dpu(p, &part);
    put(p, 0x1018, 0x80180707);
    put(p, 0x103c, granules(k) << 16 | (from - kept) * granules(k) % ring);
    put(p, 0x1040, 0xe000000 | from * granules(k) % ring);
    put(p, 0x1078, k->w << 16 | (k->h - from));
    put(p, 0x1088, ADDR_X + from * k->w * ATOM);
    put(p, 0x1094, plane(k->h, k->w));
    put(p, 0x4018, ADDR_Y + (from - kept) * k->ow * ATOM);
    put(p, 0x401c, plane(k->oh, k->ow));
    put(p, 0x40b8, plane(k->oh, k->ow));
    start(p, CONV);
}

static void test_rows(void)
{
    Case k = { 0 }, first;
    const char *why = NULL;
    Prog p = { 0 };
    bool ok;

    do {
        free_case(&k);
        k = (Case) { 0 };
        draw(&k);
    } while (k.h < 8 || k.kh != 3 || k.s != 1 || k.top || k.sum);
    memset(at(ADDR_Y), POISON, 0x100000);
    lay_case(&k);
    first = k;
    first.h = 5;
    first.oh = 3;
    put_cna(&p, &first);
    put_dpu(&p, &first);
    put(&p, 0x1094, plane(k.h, k.w));
    put(&p, 0x401c, plane(k.oh, k.ow));
    put(&p, 0x40b8, plane(k.oh, k.ow));
    start(&p, CONV);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    put_rows(&p, &k, 5, 2);
    ok = ok && run_prog(&p, options, &why) == NPU_TASK_RUN &&
         check_output(&k);
    report(ok, "a convolution goes on with rows of the one before%s%s",
           why ? ": " : "", why ? why : "");
    put_rows(&p, &k, 5, 2);
    p.n--;
    put(&p, 0x1018, 0x180707);
    start(&p, CONV);
    ok = run_prog(&p, options, &why) == NPU_TASK_UNIMP;
    report(ok, "not without the bit: %s", why ? why : "it runs");
    free_case(&k);
}

/* --- The DPU alone, and the PPU --- */

/* A copy of @w by @h positions of @channels bytes. */
static void put_copy(Prog *p, int w, int h, int channels)
{
    put(p, 0x400c, 0x1e5);
    put(p, 0x4018, ADDR_Y);
    put(p, 0x401c, w * h);
    put(p, 0x4020, w - 1);
    put(p, 0x4024, h - 1);
    put(p, 0x402c, channels - 1);
    put(p, 0x4030, (channels - 1) << 16 | 3);
    put(p, 0x4034, (h - 1) << 16 | (w - 1));
    put_idle(p);
    put(p, 0x4050, 2);
    put(p, 0x40b8, w * h);
    put(p, 0x40c0, 0x4440002);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, channels - 1);
    put(p, 0x5018, ADDR_X);
    put(p, 0x5034, 1);
    put(p, 0x5044, 0x7809);
}

static void fill_input(int len)
{
    int i;

    memset(at(ADDR_Y), POISON, 0x100000);
    for (i = 0; i < len; i++) {
        at(ADDR_X)[i] = rnd();
    }
}

/* Lines of five atoms, of the last of which four bytes are written. */
static void test_lines(void)
{
    int lines = 12, line = 4 * 16 + 4, i;
    const char *why = NULL;
    Prog p = { 0 };
    bool ok;

    fill_input(lines * 80);
    put_copy(&p, 5, 1, lines * 16);
    put(&p, 0x400c, 0x120001e5);
    put(&p, 0x4050, 0x100002);
    put(&p, 0x40c8, (lines * line + 15) / 16);
    put(&p, 0x40cc, 0x10);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    for (i = 0; ok && i < lines * line; i++) {
        ok = at(ADDR_Y)[i] == at(ADDR_X)[i / line * 80 + i % line];
    }
    ok = ok && at(ADDR_Y)[lines * line] == POISON;
    report(ok, "lines of whole atoms and a part of one lie together%s%s",
           why ? ": " : "", why ? why : "");
}

/* Bytes become words one behind the other. */
static void test_widened(void)
{
    int w = 16, h = 3, i;
    const char *why = NULL;
    Prog p = { 0 };
    bool ok;

    fill_input(w * h * 16);
    put_copy(&p, w, h, 16);
    put(&p, 0x400c, 0x20001e5);
    put(&p, 0x4010, 0xa0000000);
    put(&p, 0x4050, 0x36e);
    put(&p, 0x40c8, w * h * 4);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    for (i = 0; ok && i < w * h * 16; i++) {
        ok = ldl_le_p(at(ADDR_Y) + 4 * i) ==
             npu_float_bits((int8_t)at(ADDR_X)[i]);
    }
    report(ok, "floats of bytes lie one behind the other%s%s",
           why ? ": " : "", why ? why : "");
}

/* Of one surface of words: how its atoms are written in groups of eight. */
static void put_words(Prog *p, int w, int h, int channels, uint32_t move)
{
    put_copy(p, w, h, channels);
    put(p, 0x4010, 0x80000004);
    put(p, 0x4050, move << 20 | 0x7fe);
    put(p, 0x40cc, 0x10);
    put(p, 0x5044, 0x27889);
}

/* A surface of bytes, as lines of 80 positions of a channel each. */
static void test_transposed(void)
{
    int line = 80, c, i;
    const char *why = NULL;
    Prog p = { 0 };
    bool ok;

    fill_input(line * 16);
    put_words(&p, 10, line / 10, 4, 2);
    put(&p, 0x401c, line / 16);
    put(&p, 0x4028, 7 * line / 16 + line / 16 - 1);
    put(&p, 0x4030, (line / 4 - 1) << 16);
    put(&p, 0x4034, 1 << 16);
    put(&p, 0x40b8, 1);
    put(&p, 0x40c8, line);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    for (c = 0; c < 16; c++) {
        for (i = 0; i < line; i++) {
            ok = ok && at(ADDR_Y)[c * line + i] == at(ADDR_X)[i * 16 + c];
        }
    }
    report(ok, "bytes of a channel come together%s%s", why ? ": " : "",
           why ? why : "");
    p.n--;
    put(&p, 0x40c8, line - 1);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_UNIMP;
    report(ok, "not of another amount: %s", why ? why : "it runs");
    p.n--;
    put(&p, 0x4010, 0);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_UNIMP;
    report(ok, "nor of bytes: %s", why ? why : "it runs");
}

/* The way back: surfaces are nested in lines. */
static void test_transposed_back(void)
{
    int surfaces = 5, c, i;
    const char *why = NULL;
    Prog p = { 0 };
    bool ok;

    fill_input(surfaces * 256);
    put_words(&p, 1, 16, surfaces * 4, 2);
    put(&p, 0x401c, 1);
    put(&p, 0x4028, 7);
    put(&p, 0x4030, (surfaces * 4 - 1) << 16);
    put(&p, 0x4034, 1 << 16);
    put(&p, 0x40b8, 16);
    put(&p, 0x40c8, surfaces * 16);
    put(&p, 0x504c, 1 - (15 * surfaces + 1));
    put(&p, 0x5078, surfaces - 1);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    for (c = 0; c < 16; c++) {
        for (i = 0; i < surfaces * 16; i++) {
            ok = ok && at(ADDR_Y)[i * 16 + c] ==
                       at(ADDR_X)[c * surfaces * 16 + i];
        }
    }
    report(ok, "bytes of a position come together%s%s", why ? ": " : "",
           why ? why : "");
}

/* Surfaces of eight atoms, as they are. */
static void test_moved(void)
{
    int surfaces = 100;
    const char *why = NULL;
    Prog p = { 0 };
    bool ok;

    fill_input(surfaces * 8 * 16);
    put_words(&p, 8, 1, surfaces * 4, 3);
    put(&p, 0x401c, 1);
    put(&p, 0x4028, 7);
    put(&p, 0x4030, 3 << 16);
    put(&p, 0x4034, (surfaces - 1) << 16);
    put(&p, 0x40b8, 8);
    start(&p, ALONE);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN &&
         !memcmp(at(ADDR_Y), at(ADDR_X), surfaces * 8 * 16);
    report(ok, "words are moved%s%s", why ? ": " : "", why ? why : "");
}

static void put_pool(Prog *p, const Case *k, bool average)
{
    put_pool_shape(p, k, average);
    put(p, 0x7030, 0x40);
}

/* --- What is refused --- */

static const Refused bad[] = {
    { 0x108c, 0x0f000f, CONV, "fetches of the CNA" },
    { 0x1100, 1, CONV, "a register that nobody has seen" },
    { 0x100c, 0x10020000, CONV,
      "bits of CNA_CONV_CON1 that nobody has seen" },
    { 0x1074, 0x8080, CONV, "words of the CNA that nobody has seen" },
    { 0x106c, 0, CONV, "words of the CNA that nobody has seen" },
    { 0x100c, 0, CONV, "deconvolution in one place alone" },
    { 0x3018, 0, CONV, "CORE mode" },
    { 0x1018, 0x180907, CONV, "banks of CBUF" },
    { 0x103c, 0x20000, CONV,
      "granules of a row that its width does not give" },
    { 0x4010, 0x20000000, CONV,
      "output precision for this input precision" },
    { 0x4010, 0x40000000, CONV, "output of another precision" },
    { 0x4038, 0x100080, CONV, "zero points of a BS that has none" },
    { 0x4048, 5, CONV, "two clamps of a stage" },
    { 0x407c, 0x4c0c0, CONV, "form of EW" },
    { 0x40bc, 1, CONV, "atoms in another order" },
    { 0x40c0, 0x4440002, CONV, "write DMA of this task" },
    { 0x40cc, 0x10, CONV, "write DMA of a convolution" },
    { 0x4030, 0x140003, CONV, "channels of the write DMA" },
    { 0x5014, 0x1f, CONV, "CORE and RDMA disagree about the channels" },
    { 0x5044, 0x7818, CONV, "mode of the RDMA" },
    { 0x5068, 0, CONV | POOL,
      "pooling of what has not been in memory" },
};

int main(void)
{
    rnd_state = 0x3562;
    must_fit = true;
    test_conv("bytes", (Case) { 0 }, 150);
    test_conv("depthwise bytes", (Case) { .dw = true }, 80);
    test_conv("halves", (Case) { .half = true }, 80);
    test_conv("packed bytes", (Case) { .packed = true }, 60);
    test_conv("packed halves", (Case) { .packed = true, .half = true }, 40);
    test_rows();
    test_lines();
    test_widened();
    test_transposed();
    test_transposed_back();
    test_moved();
    test_pool(false, 60);
    test_pool(true, 60);
    test_refused(bad, ARRAY_SIZE(bad));
    seen[F_SATURATED] = saturated;
    return finish(seen, feature_name, FEATURES);
}
