/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs for the RK3568, against loops over tensors by row, column
 * and channel.
 */
#define ATOM            8
#define PLANE           4
#define POOL            0x60
#include "conv-case.h"

#define CONV            0x1f
#define CONV_PPU        0x3f
#define ALONE           0x18

enum {
    F_HALF_SURFACE, F_THREE_ATOMS, F_PARTIAL_KERNELS, F_STRIDE, F_PADDING,
    F_LAYER, F_SUM, F_RELU, F_SATURATED, F_GAP, F_LINES, F_TRUNCATE, FEATURES
};

static const char *const feature_name[FEATURES] = {
    "a surface without a second one", "three atoms as four",
    "partial kernel groups", "strides", "padding",
    "one zero point and no factors", "sums with another tensor", "ReLU",
    "saturated output", "positions between surfaces",
    "lines of another length in memory",
    "sums whose last bits are rounded off",
};

static unsigned seen[FEATURES];

static const NpuTaskOptions options = {
    .encoding = NPU_ENCODING_RK3568,
    .write_padding = true,
};

/* --- Memory --- */

static int line_bytes(const Case *k)
{
    return up(k->w * k->ic * (k->half ? 2 : 1), 8);
}

static void lay_pixels(const Case *k)
{
    int y, i;

    for (y = 0; y < k->h; y++) {
        uint8_t *p = at(ADDR_X) + y * line_bytes(k);

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
    int per = per_atom(k), atoms = up(k->packed ? 1 : k->ic, per) / per;

    return (atoms % 4 == 3 ? atoms + 1 : atoms) * per;
}

/*
 * Groups of 16 kernels, of 32 channels, taps, kernels, channels; of halves 8
 * and 16.  Depthwise ones have 32 channels for kernels.
 */
static size_t lay_weights(const Case *k)
{
    int kg = k->dw ? 1 : k->half ? 8 : 16, cg = k->half ? 16 : 32;
    int kernels = k->dw ? 1 : k->oc, o, c, t, i, j;
    uint8_t *p = at(ADDR_W);

    for (o = 0; o < kernels; o += kg) {
        for (c = 0; c < stored(k); c += cg) {
            for (t = 0; t < k->kh * k->kw; t++) {
                for (i = o; i < kernels && i < o + kg; i++) {
                    for (j = c; j < stored(k) && j < c + cg; j++) {
                        p = put_elem(k, p, j >= k->ic ? 0 :
                                           k->dw ? w_at(k, j, t, 0)
                                                 : w_at(k, i, t, j));
                    }
                }
            }
        }
    }
    return p - at(ADDR_W);
}

static void lay_operands(const Case *k)
{
    int o;

    memset(at(ADDR_BS), 0x5a, MAX_CHANNELS * 8);
    for (o = 0; o < k->oc; o++) {
        uint8_t *p = at(ADDR_BS) + o / 4 * 32;

        if (k->layer) {
            stl_le_p(at(ADDR_BS) + 4 * o, k->a[o]);
        } else {
            stl_le_p(p + o % 4 * 4, k->a[o]);
            stw_le_p(p + 16 + o % 4 * 2, k->b[o]);
            stw_le_p(p + 24 + o % 4 * 2, k->c[o]);
        }
    }
}

/* --- Programs --- */

static void put_cna(Prog *p, const Case *k)
{
    int bytes = k->half ? 2 : 1, taps = k->kh * k->kw;
    int channels = k->packed ? per_atom(k) : up(k->ic, per_atom(k));
    int kernel = taps * stored(k) * bytes, kernels = k->dw ? 1 : k->oc, lane;

    put(p, 0x100c, (k->packed ? (7 + k->ic) << 12 : 0) |
                   (k->half ? 0x220 : 0) | (k->dw ? 3 : 0));
    put(p, 0x1010, 0x30);
    put(p, 0x1014, k->s << 3 | k->s);
    put(p, 0x1018, k->packed && k->ic == 3 ? 9 * k->w * k->h : 0);
    put(p, 0x1020, k->w << 16 | k->h);
    put(p, 0x1024, (k->ic - 1) << 16 | channels);
    put(p, 0x1028, k->ow);
    put(p, 0x102c, k->ow * k->oh);
    put(p, 0x1030, kernels * kernel);
    put(p, 0x1034, kernel);
    put(p, 0x1038, k->kw << 24 | k->kh << 16 | kernels);
    put(p, 0x1040, 0x44);
    put(p, 0x1044, k->w << 16 | (k->w * channels * bytes / 8 + 3) / 4);
    put(p, 0x104c, k->packed && !k->half ? 1 : 0xa);
    for (lane = 0; lane < 4; lane++) {
        put(p, 0x1050 + 4 * lane, k->packed && !k->half ? 0x1ff80 : 0x10000);
    }
    put(p, 0x1068, (uint32_t)(uint16_t)(k->half ? 0 : k->pad) << 16 |
                   k->left << 4 | k->top);
    put(p, 0x1070, ADDR_X);
    put(p, 0x1078, 0x171c07);
    put(p, 0x107c, k->packed ? line_bytes(k) / 8 : k->w);
    put(p, 0x1080, plane(k->h, k->w));
    put(p, 0x1084, k->w << 16 | k->h);
    put(p, 0x1088, channels);
    put(p, 0x1110, ADDR_W);
    put(p, 0x200c, (k->half ? 0x2001 : 1) | (k->dw ? 2 : 0));
    put(p, 0x300c, (k->half ? 0x2000 : 0) | (k->dw ? 2 : 0));
    put(p, 0x3010, (k->oh - 1) << 16 | (k->ow - 1));
    put(p, 0x3014, k->oc - 1);
    put(p, 0x302c, k->truncate);
}

static void put_dpu(Prog *p, const Case *k)
{
    int stride = plane(k->oh, k->ow) * 8, group = k->dw ? 3 : 1;

    put(p, 0x400c, 0x108 | (k->dw ? 0x30 : 0));
    put(p, 0x4010, k->half ? 0x48000002 : k->layer ? 0 : 0xe0);
    put(p, 0x4020, ADDR_Y);
    put(p, 0x4024, stride);
    put(p, 0x4030, k->lines ? k->ow * k->oh - 1 : k->ow - 1);
    put(p, 0x4034, k->lines ? 0 : k->oh - 1);
    put(p, 0x403c, (k->oc - 1) << 16 | (k->oc - 1));
    put(p, 0x4040, k->half ? 0x53 : k->layer ? 0x158 : 0x148);
    put(p, 0x4048, k->half || k->layer ? 0 : 0xe01);
    put(p, 0x4050, group << 2 | group << 5 | group << 8 |
                   (k->half ? 2 : !k->layer));
    put(p, 0x4054, k->layer ? k->b[0] & 0xffff : 0);
    put(p, 0x4060, k->relu ? 0x12 : 0x53);
    put(p, 0x4070, k->sum ? 0x900002d0 : 0x383);
    put(p, 0x4074, k->e_offset);
    put(p, 0x4078, k->e_shift << 16 | k->e_scale);
    put(p, 0x4080, k->offset);
    put(p, 0x4084, k->scale);
    put(p, 0x4088, k->shift);
    put(p, 0x40c0, stride * (group + 1));
    put(p, 0x500c, k->ow - 1);
    put(p, 0x5010, k->oh - 1);
    put(p, 0x5014, k->oc - 1);
    put(p, 0x501c, k->half ? 1 : k->layer ? 2 : 0xe);
    put(p, 0x5020, ADDR_BS);
    put(p, 0x5024, k->layer ? k->oc / 2 - 1 : k->oc - 1);
    put(p, 0x5028, 1);
    put(p, 0x5034, k->sum ? 0x40000000 : 1);
    put(p, 0x5038, ADDR_EW);
    put(p, 0x503c, k->sum ? stride - 8 : 0);
    put(p, 0x5040, k->sum ? stride : 0);
    put(p, 0x5044, k->dw ? 0x4006 : 0x4000);
    put(p, 0x5068, 0x1010101);
}

static void put_program(Prog *p, const Case *k)
{
    p->n = 0;
    put_cna(p, k);
    put_dpu(p, k);
    start(p, CONV);
}

/* --- Draws --- */

static void draw_case(Case *k)
{
    int atoms;

    draw(k);
    atoms = up(k->ic, per_atom(k)) / per_atom(k);
    seen[F_HALF_SURFACE] += atoms % 2;
    seen[F_THREE_ATOMS] += atoms % 4 == 3;
    seen[F_PARTIAL_KERNELS] += !k->dw && k->oc % (k->half ? 8 : 16);
    seen[F_STRIDE] += k->s > 1;
    seen[F_PADDING] += k->top || k->left;
    seen[F_LAYER] += k->layer;
    seen[F_SUM] += k->sum;
    seen[F_RELU] += k->relu;
    seen[F_GAP] += k->h * k->w % 4 && atoms > 1;
    seen[F_LINES] += k->lines;
    k->truncate = !k->half && one_in(3) ? rnd_in(1, 5) : 0;
    seen[F_TRUNCATE] += k->truncate > 0;
}

static void lay_case(const Case *k)
{
    if (k->packed) {
        lay_pixels(k);
    } else {
        lay_tensor(k, ADDR_X, k->x, k->h, k->w, k->ic);
    }
    lay_weights(k);
    lay_operands(k);
}

/* --- The DPU alone, and the PPU --- */

/* Moves @c channels; 0x4010 has the types of the DPU, 0x5044 MRDMA's. */
static void put_alone(Prog *p, int w, int h, int c, uint32_t dpu,
                      uint32_t mrdma)
{
    put(p, 0x400c, 0x109);
    put(p, 0x4010, dpu);
    put(p, 0x4020, ADDR_Y);
    put(p, 0x4024, w * h * 8);
    put(p, 0x4030, w - 1);
    put(p, 0x4034, h - 1);
    put(p, 0x403c, (c - 1) << 16 | (c - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, 2);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, 1);
    put(p, 0x40c0, w * h * 8);
    put(p, 0x500c, w - 1);
    put(p, 0x5010, h - 1);
    put(p, 0x5014, c - 1);
    put(p, 0x5018, ADDR_X);
    put(p, 0x501c, 1);
    put(p, 0x5028, 1);
    put(p, 0x5034, 1);
    put(p, 0x5044, mrdma);
}

/* Takes 20 off and doubles. */
static void put_words(Prog *p, int w, int h, int c, uint32_t dpu,
                      uint32_t mrdma)
{
    put_alone(p, w, h, c, dpu, mrdma);
    put(p, 0x4024, w * h * 16);
    put(p, 0x4040, 0x48);
    put(p, 0x4044, 0xc1a00000);
    put(p, 0x4048, 0x40000000);
    put(p, 0x40c0, w * h * 16);
}

static bool words_are_right(int n)
{
    int i;

    for (i = 0; i < n; i++) {
        if (ldl_le_p(at(ADDR_Y) + 4 * i) != npu_float_bits((i - 20) * 2.0f)) {
            return false;
        }
    }
    return true;
}

static bool runs(Prog *p, const char **why)
{
    start(p, ALONE);
    return run_prog(p, options, why) == NPU_TASK_RUN;
}

static void report_alone(bool ok, const char *what, const char *why)
{
    report(ok, "%s%s%s", what, why ? ": " : "", why ? why : "");
}

static void test_unaligned(void)
{
    const char *why = NULL;
    int w = 16, h = 3, i;
    Prog p = { 0 };

    for (i = 0; i < 4 * w * h; i++) {
        stw_le_p(at(ADDR_X) + 2 * i, npu_fp32_to_fp16(i));
    }
    put_words(&p, w, h, 4, 0xa8000002, 0x14041);
    put(&p, 0x400c, 0x2000109 | (w * h) << 10);
    report_alone(runs(&p, &why) && words_are_right(4 * w * h),
                 "words of four halves lie one behind the other", why);
}

/* Surfaces of four words, and back to halves. */
static void test_words(void)
{
    const char *why = NULL;
    int w = 4, h = 3, c = 12, i;
    Prog p = { 0 }, back = { 0 };
    bool ok;

    for (i = 0; i < c * w * h; i++) {
        stw_le_p(at(ADDR_X) + 2 * i, npu_fp32_to_fp16(i));
    }
    put_words(&p, w, h, c, 0xa8000002, 0x14041);
    ok = runs(&p, &why) && words_are_right(c * w * h);
    put_alone(&back, w, h, c, 0x54000002, 0x2c041);
    put(&back, 0x5018, ADDR_Y);
    put(&back, 0x4020, ADDR_EW);
    ok = ok && runs(&back, &why);
    for (i = 0; ok && i < c * w * h; i++) {
        ok = lduw_le_p(at(ADDR_EW) + 2 * i) ==
             npu_fp32_to_fp16((i - 20) * 2.0f);
    }
    report_alone(ok, "words come by four, also to halves", why);
}

/* Eight bytes of a position become its eight words. */
static void test_bytes_to_words(void)
{
    const char *why = NULL;
    int w = 5, h = 2, i;
    Prog p = { 0 };
    bool ok;

    for (i = 0; i < 8 * w * h; i++) {
        at(ADDR_X)[i] = i - 20;
    }
    put_alone(&p, w, h, 8, 0xa0000000, 0x4001);
    put(&p, 0x400c, 0x2000109 | (2 * w * h) << 10);
    ok = runs(&p, &why);
    for (i = 0; ok && i < 8 * w * h; i++) {
        ok = ldl_le_p(at(ADDR_Y) + 4 * i) == npu_float_bits(i - 20);
    }
    report_alone(ok, "eight bytes become words, one behind the other", why);
}

/* Surfaces become the columns of surfaces that were columns. */
static void test_transposition(int columns)
{
    const char *why = NULL;
    int c = 24, s, x, i;
    Prog p = { 0 };
    bool ok;

    for (i = 0; i < c * columns; i++) {
        stw_le_p(at(ADDR_X) + 2 * i, 3 * i);
    }
    put_alone(&p, columns, 1, c, 0x24000001, 0xc021);
    put(&p, 0x400c, 0x40000109);
    put(&p, 0x4024, c * 2);
    put(&p, 0x4050, (columns - 1) * 0x124 | 2);
    put(&p, 0x40c0, c * 2 * columns);
    ok = runs(&p, &why);
    for (x = 0; ok && x < columns; x++) {
        for (s = 0; s < c / 4; s++) {
            for (i = 0; i < 4; i++) {
                ok &= lduw_le_p(at(ADDR_Y) + x * c * 2 + s * 8 + i * 2) ==
                      (uint16_t)(3 * ((s * columns + x) * 4 + i));
            }
        }
    }
    report(ok, "%d columns become surfaces%s%s", columns, why ? ": " : "",
           why ? why : "");
}

/* A product's operand is widened as a sum's; a quotient's halves are not. */
static void test_halves_by_element(bool quotient)
{
    const char *why = NULL;
    int w = 4, h = 2, c = 8, i;
    Prog p = { 0 };
    bool ok;

    for (i = 0; i < c * w * h; i++) {
        stw_le_p(at(ADDR_X) + 2 * i, npu_fp32_to_fp16(4 * i));
        stw_le_p(at(ADDR_EW) + 2 * i, npu_fp32_to_fp16(1 << i % 4));
    }
    put_alone(&p, w, h, c, quotient ? 0x24000002 : 0x48000002,
              quotient ? 0xc041 : 0x14041);
    put(&p, 0x4070, quotient ? 0x100003d8 : 0x100002c4);
    put(&p, 0x5034, 0x40000004);
    put(&p, 0x5038, ADDR_EW);
    put(&p, 0x503c, w * h * 8 - 8);
    put(&p, 0x5040, w * h * 8);
    ok = runs(&p, &why);
    for (i = 0; ok && i < c * w * h; i++) {
        float b = 1 << i % 4, want = quotient ? 4 * i / b : 4 * i * b;

        ok = lduw_le_p(at(ADDR_Y) + 2 * i) == npu_fp32_to_fp16(want);
    }
    report_alone(ok, quotient ? "quotients of halves" : "products of halves",
                 why);
}

/* An operand of words lies as the input does. */
static void test_words_by_element(void)
{
    const char *why = NULL;
    int w = 4, h = 2, c = 12, i;
    Prog p = { 0 };
    bool ok;

    for (i = 0; i < c * w * h; i++) {
        stl_le_p(at(ADDR_X) + 4 * i, npu_float_bits(i));
        stl_le_p(at(ADDR_EW) + 4 * i, npu_float_bits(1000 * i));
    }
    put_alone(&p, w, h, c, 0xb4000002, 0x2c041);
    put(&p, 0x4024, w * h * 16);
    put(&p, 0x40c0, w * h * 16);
    put(&p, 0x4070, 0x100003d0);
    put(&p, 0x5034, 0x40000008);
    put(&p, 0x5038, ADDR_EW);
    put(&p, 0x503c, w * h * 16 - 8);
    put(&p, 0x5040, w * h * 16);
    ok = runs(&p, &why);
    for (i = 0; ok && i < c * w * h; i++) {
        ok = ldl_le_p(at(ADDR_Y) + 4 * i) == npu_float_bits(1001 * i);
    }
    report_alone(ok, "sums of words", why);
}

static void put_pool(Prog *p, const Case *k, bool average)
{
    put_pool_shape(p, k, average);
    put(p, 0x6044, 0x7ff80);
    put(p, 0x6048, average ? 0x7ff00 : 0x7ff80);
    put(p, 0x604c, average ? 0x7fe80 : 0x7ff80);
    put(p, 0x6050, average ? 0x7fe00 : 0x7ff80);
    put(p, 0x7018, 1);
}

/* The largest of four halves, some of them next to padding. */
static void test_pool_halves(void)
{
    const Case k = { .w = 4, .h = 4, .ic = 8, .ow = 3, .oh = 3, .kw = 2,
                     .kh = 2, .s = 2 };
    const char *why = NULL;
    int i, y, x, c;
    Prog p = { 0 };
    bool ok;

    for (i = 0; i < k.w * k.h * k.ic; i++) {
        stw_le_p(at(ADDR_X) + 2 * i, npu_fp32_to_fp16(i * 37 % 101 - 120));
    }
    put_pool(&p, &k, false);
    put(&p, 0x6040, 0x1111);
    for (i = 0; i < 4; i++) {
        put(&p, 0x6044 + 4 * i, 0xfbff);
    }
    put(&p, 0x6084, plane(3, 3) * 8 + 2);
    put(&p, 0x7030, 2);
    start(&p, POOL);
    ok = run_prog(&p, options, &why) == NPU_TASK_RUN;
    for (i = 0; ok && i < k.oh * k.ow * k.ic; i++) {
        float most = -1000;

        c = i % k.ic;
        for (y = i / k.ic / k.ow * 2 - 1; y < i / k.ic / k.ow * 2 + 1; y++) {
            for (x = i / k.ic % k.ow * 2 - 1; x < i / k.ic % k.ow * 2 + 1;
                 x++) {
                int at = ((c / 4 * k.h + y) * k.w + x) * 4 + c % 4;

                if (y >= 0 && y < k.h && x >= 0 && x < k.w) {
                    most = MAX(most, at * 37 % 101 - 120);
                }
            }
        }
        ok = lduw_le_p(at(ADDR_Y) + (c / 4 * plane(3, 3) + i / k.ic) * 8 +
                       c % 4 * 2) == npu_fp32_to_fp16(most);
    }
    report_alone(ok, "the largest of halves", why);
}

/* --- A convolution of halves to words, and through the PPU --- */

/* Results times @factor at @addr, which are halves or words. */
static bool results_are(const Case *k, uint32_t addr, bool words, float factor)
{
    int o, i;

    for (o = 0; o < k->oc; o++) {
        for (i = 0; i < k->oh * k->ow; i++) {
            const uint8_t *p = at(addr) + (o / 4 * plane(k->oh, k->ow) + i) *
                               (words ? 16 : 8) + o % 4 * (words ? 4 : 2);
            float want = ref_output(k, i / k->ow, i % k->ow, o) * factor;

            if (words ? ldl_le_p(p) != npu_float_bits(want)
                      : lduw_le_p(p) != npu_fp32_to_fp16(want)) {
                printf("# channel %d at %d: not %g\n", o, i, want);
                return false;
            }
        }
    }
    return true;
}

static void draw_halves(Prog *p, Case *k)
{
    *k = (Case) { .half = true };
    draw_case(k);
    k->lines = k->sum = k->relu = false;
    memset(at(ADDR_Y), POISON, 0x100000);
    lay_case(k);
    p->n = 0;
    put_cna(p, k);
    put_dpu(p, k);
}

static void test_halves_to_words(unsigned runs)
{
    const char *why = NULL;
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Prog p;
        Case k;

        draw_halves(&p, &k);
        put(&p, 0x4010, 0xa8000002);
        put(&p, 0x4024, plane(k.oh, k.ow) * 16);
        put(&p, 0x40c0, plane(k.oh, k.ow) * 32);
        start(&p, CONV);
        ok = run_prog(&p, options, &why) == NPU_TASK_RUN &&
             results_are(&k, ADDR_Y, true, 1);
        free_case(&k);
    }
    report_alone(ok, "convolutions of halves give words by four", why);
}

/* A half and a quarter, of which the PPU makes an eighth. */
static void put_fed_ppu(Prog *p, const Case *k)
{
    put(p, 0x400c, 0x102);
    put(p, 0x600c, k->ow - 1);
    put(p, 0x6010, k->oh - 1);
    put(p, 0x6014, k->oc - 1);
    put(p, 0x6018, k->ow - 1);
    put(p, 0x601c, k->oh - 1);
    put(p, 0x6020, k->oc - 1);
    put(p, 0x6038, 30 << 10);
    put(p, 0x603c, 29 << 10);
    put(p, 0x6070, ADDR_EW);
    put(p, 0x607c, plane(k->oh, k->ow) * 8);
    put(p, 0x6084, plane(k->oh, k->ow) * 8 + 2);
    put(p, 0x60dc, 3);
}

/* The DPU itself writes nothing. */
static void test_fed_ppu(unsigned runs)
{
    const char *why = NULL;
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Prog p;
        Case k;

        draw_halves(&p, &k);
        put_fed_ppu(&p, &k);
        start(&p, CONV_PPU);
        ok = run_prog(&p, options, &why) == NPU_TASK_RUN &&
             results_are(&k, ADDR_EW, false, 0.125f) &&
             at(ADDR_Y)[0] == POISON &&
             !memcmp(at(ADDR_Y), at(ADDR_Y) + 1, 0xffff);
        free_case(&k);
    }
    report_alone(ok, "convolutions of halves have a factor of the PPU", why);
}

static void test_fed_ppu_refused(void)
{
    static const Refused other[] = {
        { 0x6024, 1, CONV_PPU, "pooling of what has not been in memory" },
        { 0x6034, 0x101, CONV_PPU, "pooling of what has not been in memory" },
        { 0x6084, 3, CONV_PPU, "pooling of what has not been in memory" },
        { 0x7018, 1, CONV | POOL, "pooling of what has not been in memory" },
        { 0x400c, 0x103, ALONE | 0x20,
          "pooling of what has not been in memory" },
        { 0x400c, 0x10a, CONV_PPU,
          "DPU output against the enabled blocks, or to both sides" },
        { 0x400c, 0x108, CONV_PPU,
          "DPU output against the enabled blocks, or to both sides" },
        { 0x6038, 0, CONV_PPU, "pooling reciprocal" },
        { 0x6014, 0, CONV_PPU, "pooling that changes the channels" },
        { 0x600c, 0x7f, CONV_PPU,
          "DPU and PPU disagree about the cube between them" },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(other); i++) {
        const char *why = NULL;
        NpuVerdict v;
        Prog p;
        Case k;

        draw_halves(&p, &k);
        put_fed_ppu(&p, &k);
        put(&p, other[i].reg, other[i].value);
        start(&p, other[i].enable);
        v = run_prog(&p, options, &why);
        report(v == NPU_TASK_UNIMP && !strcmp(why, other[i].why),
               "%04x = %x with a factor of the PPU is refused: %s",
               other[i].reg, other[i].value,
               v == NPU_TASK_RUN ? "it runs" : why);
        free_case(&k);
    }
}

/* Twice as large in both directions. */
static void test_enlarged_halves(void)
{
    const char *why = NULL;
    int w = 5, h = 4, i, y, x;
    Prog p = { 0 };
    bool ok;

    for (i = 0; i < 4 * w * h; i++) {
        stw_le_p(at(ADDR_X) + 2 * i, 0x7c01 + i);
    }
    put_alone(&p, w, h, 4, 0x44000002, 0xc041);
    put(&p, 0x4024, 2 * w * 8);
    put(&p, 0x4030, 2 * w - 1);
    put(&p, 0x4038, 2 * w << 16 | 2 * w);
    put(&p, 0x4050, 0x126);
    put(&p, 0x40c0, 4 * w * h * 8);
    put(&p, 0x5048, 0x1249);
    ok = runs(&p, &why);
    for (y = 0; ok && y < 2 * h; y++) {
        for (x = 0; x < 2 * w; x++) {
            ok &= !memcmp(at(ADDR_Y) + (y * 2 * w + x) * 8,
                          at(ADDR_X) + (y / 2 * w + x / 2) * 8, 8);
        }
    }
    report_alone(ok, "halves enlarged 2x2, as they are", why);
}

/* --- What is refused --- */

static const Refused bad[] = {
    { 0x1078, 0x171c06, CONV, "fetches of the CNA" },
    { 0x1018, 9 * 4 * 4, CONV, "CNA's 0x1018" },
    { 0x1130, 1, CONV, "a register that nobody has seen" },
    { 0x3028, 1, CONV, "a register that nobody has seen" },
    { 0x1100, 1, CONV, "compressed weights of an RK3568" },
    { 0x100c, 0x20000, CONV,
      "bits of CNA_CONV_CON1 that nobody has seen" },
    { 0x1040, 0x54, CONV, "more banks than CBUF has" },
    { 0x200c, 3, CONV, "CMAC and CORE disagree" },
    { 0x3018, 1, CONV, "words of CORE that nobody has seen" },
    { 0x302c, 0x40, CONV,
      "bits of CORE_CLIP_TRUNCATE that nobody has seen" },
    { 0x400c, 0x148, CONV, "burst of the DPU" },
    { 0x4010, 0x200000e0, CONV,
      "output precision for this input precision" },
    { 0x400c, 0x80000108, CONV,
      "bits of DPU_FEATURE_MODE_CFG that nobody has seen" },
    { 0x4034, 0x400003, CONV, "output of an RK3568 in another order" },
    { 0x4050, 0x8000125, CONV, "output of an RK3568 in another order" },
    { 0x5024, 3, CONV, "length of the operands of BS" },
    { 0x5068, 0, CONV - 2, "CNA without CMAC" },
    { 0x5068, 0, CONV | POOL,
      "pooling of what has not been in memory" },
};

/* Of the length of DPU_RDMA's bursts one value hangs the bus of a board. */
static void test_burst(void)
{
    static const struct {
        uint32_t burst;
        NpuVerdict verdict;
    } len[] = {
        { 8, NPU_TASK_RUN }, { 15, NPU_TASK_RUN }, { 7, NPU_TASK_STALL },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(len); i++) {
        const char *why = NULL;
        Prog p = small_prog();
        NpuVerdict v;

        put(&p, 0x5044, len[i].burst << 11);
        start(&p, CONV);
        v = run_prog(&p, options, &why);
        report(v == len[i].verdict, "bursts of %u of DPU_RDMA: %s",
               len[i].burst, why ? why : "it runs");
    }
}

int main(void)
{
    rnd_state = 0x3568;
    test_conv("bytes", (Case) { 0 }, 150);
    test_conv("depthwise bytes", (Case) { .dw = true }, 80);
    test_conv("halves", (Case) { .half = true }, 80);
    test_conv("packed bytes", (Case) { .packed = true }, 60);
    test_conv("packed halves", (Case) { .packed = true, .half = true }, 40);
    test_unaligned();
    test_words();
    test_bytes_to_words();
    test_transposition(8);
    test_transposition(2);
    test_halves_by_element(false);
    test_halves_by_element(true);
    test_words_by_element();
    test_halves_to_words(40);
    test_fed_ppu(40);
    test_fed_ppu_refused();
    test_enlarged_halves();
    test_pool_halves();
    test_pool(false, 60);
    test_pool(true, 60);
    test_refused(bad, ARRAY_SIZE(bad));
    test_burst();
    seen[F_SATURATED] = saturated;
    return finish(seen, feature_name, FEATURES);
}
