/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random convolutions for the RK3576, against loops over tensors by row, column
 * and channel.
 */
#include "rk3576-conv.h"
#include <math.h>

enum {
    F_DIRECT, F_DEPTHWISE, F_HALF, F_DEPTHWISE_HALF, F_LAYER, F_STRIDE,
    F_PADDING, F_ODD_GROUPS, F_PARTIAL_KERNELS, F_THREE_ATOMS, F_PAIR,
    F_SEQUENCE, F_CORE_1, F_RELU, F_RELUX, F_TIE, F_NEGATIVE_SHIFT,
    F_SATURATED, F_TAIL, F_LUT, F_PACKED, F_PLAIN, F_GAPS,
    F_RECORDS, F_BN, F_PACKED_HALF, F_ADD_128, F_LINES, F_HALF_LUT, F_PRELU,
    F_SECOND, F_SUM_RELU, F_TIGHT, F_ALONE, F_RAW_PAD, F_SHORT_LINES,
    FEATURES
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
    "packed halves", "depthwise weights to which 128 is added",
    "lines beyond the ends of the LUT",
    "a LUT of halves", "a factor of negative halves", "a second tensor",
    "ReLU of sums with it", "packed bytes by taps", "packed halves alone",
    "padding that is not 0 in memory", "lines that do not fill atoms",
};

static unsigned seen[FEATURES];

/* --- Reference --- */

static int64_t ref_lut_entry(int i)
{
    return (i * 37 + i / 7) % 4001 - 2000;
}

static int64_t ref_line(int64_t at, int64_t beyond, int slope, int shift)
{
    int64_t p = beyond * slope, step = 1ll << shift;

    seen[F_LINES] += p != 0;
    return ref_clip(at + p / step - (p % step < 0), INT32_MIN, INT32_MAX);
}

/*
 * Two tables of 513, 32 apart: from the start, and from 0 to 0x4000; lines
 * beyond.
 */
static int64_t ref_lut(const Case *k, int64_t v)
{
    int start = k->lut_start;
    int64_t at = v < 0 ? v - start : v, i, rest, lo, hi;

    if (at < 0) {
        return ref_line(-77, at, k->under, k->under_shift);
    }
    if (v >= 0x4000) {
        return ref_line(99, v - 0x4000, k->over, k->over_shift);
    }
    i = at / 32 + (v < 0 ? 0 : 513);
    rest = at % 32;
    lo = ref_lut_entry(i);
    hi = ref_lut_entry(i + 1);
    rest *= hi - lo;
    return lo + rest / 32 - (rest % 32 < 0);
}

/* A place in the table, and what stands for the code that is there. */
static double ref_table(const Case *k, double v)
{
    float at = (v + k->bn_add * 0.25) * (k->bn * 0.25);
    int64_t code = ref_lut(k, rint(at));

    code = ref_round(code * k->scale + k->offset *
                     ((int64_t)1 << k->out_shift), k->out_shift);
    return ldexp(code, -k->exp);
}

static double ref_half(const Case *k, int64_t acc, int o)
{
    double v = acc * 0.25;

    v = k->alone ? v : (v + k->a[o] * 0.5) * factor_of(k, o);

    if (k->prelu && v < 0) {
        v *= k->prelu * 0.125;
    }
    v = k->relu && v < 0 ? 0 : v;
    if (k->relu && k->relux != HIGH) {
        v = MIN(v, npu_bits_to_float(k->relux));
    }
    if (k->lut) {
        v = ref_table(k, v);
    }
    return npu_fp16_to_fp32(npu_fp32_to_fp16(v));
}

static int64_t ref_second(const Case *k, int o, int pos)
{
    int8_t y = *(at(ADDR_SECOND) + (o / 16 * out_plane(k) + pos) * 16 + o % 16);

    return !k->second ? 0 : ref_round((int64_t)(y + k->ew_offset) * k->ew_scale,
                                      k->ew_shift);
}

static int64_t ref_bytes(const Case *k, int64_t acc, int64_t sum, int o,
                         int64_t second)
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
        v = ref_lut(k, v);
    }
    v = ref_clip(v + second, k->sum_relu ? 0 : INT32_MIN, INT32_MAX);
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
                    want = ref_half(k, acc, o);
                    got = npu_fp16_to_fp32(lduw_le_p(p + o % per * 2));
                } else {
                    want = ref_bytes(k, acc, sum, o,
                                     ref_second(k, o, y * k->ow + x));
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

static void random_output(Case *k)
{
    k->pad = rnd_in(-128, 127);
    k->shift = rnd_in(0, 16);
    k->shift_neg = one_in(3) ? rnd_in(0, 16) : k->shift;
    k->relu = one_in(3);
    k->relux = one_in(2) ? HIGH : k->half ? npu_float_bits(6.0f)
                                      : rnd_in(1, 9000);
    k->scale = rnd_in(-3, 3) ? rnd_in(1, 900) : 1 << rnd_in(0, 6);
    k->out_shift = rnd_in(0, 16);
    k->offset = rnd_in(-20, 20);
    k->lut_start = -32 * (one_in(2) ? 512 : rnd_in(1, 511));
    if (k->lut && one_in(2)) {
        k->under = rnd_in(-0x8000, 0x7fff);
        k->under_shift = rnd_in(0, 31);
        k->over = rnd_in(-0x8000, 0x7fff);
        k->over_shift = rnd_in(0, 31);
    }
    k->records = k->half && !k->dw && !k->lut && one_in(2);
    k->relu &= !k->half || !k->lut;
    k->bn = k->lut && k->half ? rnd_in(1, 200) :
            k->lut && !k->relu && one_in(2) ? rnd_in(1, 0x7fff) : 0;
    k->bn_add = rnd_in(-400, 400);
    k->exp = k->half && k->lut ? rnd_in(0, 24) : 0;
    k->prelu = k->half && !k->dw && !k->lut && !k->records && one_in(2) ?
               rnd_in(-16, 16) : 0;
    k->sum_relu = k->second && one_in(2);
    k->ew_offset = rnd_in(-128, 128);
    k->ew_scale = rnd_in(-0x4000, 0x4000);
    k->ew_shift = rnd_in(0, 6);
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
    seen[F_HALF_LUT] += k->half && k->lut;
    seen[F_PRELU] += k->prelu != 0;
    seen[F_SECOND] += k->second;
    seen[F_SUM_RELU] += k->sum_relu;
    seen[F_TIGHT] += k->tight;
    seen[F_ALONE] += k->alone;
    seen[F_RAW_PAD] += k->raw_pad != 0;
    seen[F_SHORT_LINES] += k->packed && k->w % 8;
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
    int upper = (k->oh + 1) / 2, i;
    bool ok;

    memset(at(ADDR_Y), POISON, 0x100000);
    lay_features(k);
    lay_weights(k);
    lay_operands(k);
    for (i = 0; k->second && i < up(k->oc, 16) * out_plane(k); i++) {
        at(ADDR_SECOND)[i] = rnd();
    }
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
    k->w = k->half && one_in(2) ? rnd_in(4, PIXELS) : PIXELS;
    k->ow = (k->w + k->left + k->right - k->kw) / k->sx + 1;
    k->tight = !k->half && one_in(3);
    k->oc = k->tight ? 16 : k->oc;
    k->plain = !k->half && one_in(2);
    k->raw_pad = k->tight || one_in(2) ? 0 : rnd_in(0, 127);
    k->pad = k->raw_pad - (k->plain ? 0 : 128);
    k->alone = k->half && one_in(3);
    if (k->alone) {
        k->records = k->relu = false;
        k->prelu = 0;
    }
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
        seen[F_ADD_128] += k.adds_128;
        free(k.x);
        free(k.wt);
    }
    report(ok, "%u convolutions of %s", runs, what);
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
    test_conv("halves with a LUT", (Case) { .lut = true, .half = true }, 40);
    test_conv("bytes and another tensor", (Case) { .second = true }, 60);
    for (i = 0; i < FEATURES; i++) {
        report(seen[i], "some had %s", feature_name[i]);
    }
    printf("1..%u\n", tests);
    return failures != 0;
}
