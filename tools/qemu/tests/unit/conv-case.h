/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random convolutions for chips whose array is half as wide as the RK3588's:
 * tensors, what must come out, and where they lie in memory.
 *
 * Who includes it has ATOM, the bytes of a position in a surface, PLANE, of
 * which a surface has a multiple of positions, and POOL, the units of a pooling.
 */
#ifndef CONV_CASE_H
#define CONV_CASE_H

#include "reference.h"
#include "compute/numeric.h"

#define ADDR_X          (MEM_BASE + 0x100000)
#define ADDR_W          (MEM_BASE + 0x300000)
#define ADDR_BS         (MEM_BASE + 0x500000)
#define ADDR_EW         (MEM_BASE + 0x580000)
#define ADDR_Y          (MEM_BASE + 0x600000)

#define MAX_CHANNELS    160

typedef struct Case {
    bool half, dw, packed, layer, sum, relu, lines;
    int h, w, ic, oc, kh, kw, s, top, left, oh, ow;
    int8_t pad;
    int scale, shift, offset, e_scale, e_shift, e_offset;
    int truncate;           /* bits of the sums that are rounded off */
    int *x, *wt, *e;        /* [h][w][ic], [oc][kh][kw][ic], [oh][ow][oc] */
    int a[MAX_CHANNELS], b[MAX_CHANNELS], c[MAX_CHANNELS];
} Case;

static inline int per_atom(const Case *k)
{
    return k->half ? ATOM / 2 : ATOM;
}

static inline int plane(int h, int w)
{
    return up(h * w, PLANE);
}

static inline int x_at(const Case *k, int y, int x, int c)
{
    return k->x[(y * k->w + x) * k->ic + c];
}

static inline int w_at(const Case *k, int o, int t, int c)
{
    return k->wt[(o * k->kh * k->kw + t) * (k->dw ? 1 : k->ic) + c];
}

/* --- Memory --- */

static inline uint8_t *put_elem(const Case *k, uint8_t *p, int v)
{
    if (k->half) {
        stw_le_p(p, npu_fp32_to_fp16(v));
        return p + 2;
    }
    *p = v;
    return p + 1;
}

static inline void lay_tensor(const Case *k, uint32_t addr, const int *v, int h,
                       int w, int channels)
{
    int per = per_atom(k), i, c;

    memset(at(addr), 0, up(channels, per) / per * plane(h, w) * ATOM);
    for (i = 0; i < h * w; i++) {
        for (c = 0; c < channels; c++) {
            put_elem(k, at(addr) + (c / per * plane(h, w) + i) * ATOM +
                        c % per * (ATOM / per), v[i * channels + c]);
        }
    }
}

/* --- Results --- */

/* Results beyond the range of bytes. */
static unsigned saturated;

static inline int64_t ref_products(const Case *k, int y, int x, int o,
                                   int64_t *sum)
{
    int64_t acc = 0;
    int ky, kx, c;

    for (ky = 0; ky < k->kh; ky++) {
        for (kx = 0; kx < k->kw; kx++) {
            int iy = y * k->s + ky - k->top, ix = x * k->s + kx - k->left;
            bool in = iy >= 0 && ix >= 0 && iy < k->h && ix < k->w;

            for (c = 0; c < (k->dw ? 1 : k->ic); c++) {
                int v = in ? x_at(k, iy, ix, k->dw ? o : c)
                           : k->half ? 0 : k->pad;

                acc += v * w_at(k, o, ky * k->kw + kx, c);
                *sum += v;
            }
        }
    }
    return acc;
}

static inline int ref_output(const Case *k, int y, int x, int o)
{
    int64_t sum = 0, v = ref_products(k, y, x, o, &sum);

    if (k->half) {
        return v;
    }
    v = ref_round(v + sum * k->b[k->layer ? 0 : o], k->truncate) + k->a[o];
    if (!k->layer) {
        v = ref_round(v * k->c[o], 14);
    }
    v = k->relu && v < 0 ? 0 : v;
    if (k->sum) {
        v += ref_round((int64_t)(k->e[(y * k->ow + x) * k->oc + o] +
                                 k->e_offset) * k->e_scale, k->e_shift);
    }
    /* The parity of the result decides ties. */
    v = ref_round(v * k->scale + k->offset * ((int64_t)1 << k->shift),
                  k->shift);
    saturated += v < -128 || v > 127;
    return ref_clip(v, -128, 127);
}

static inline bool check_output(const Case *k)
{
    int per = per_atom(k), y, x, o;

    for (o = 0; o < k->oc; o++) {
        for (y = 0; y < k->oh; y++) {
            for (x = 0; x < k->ow; x++) {
                const uint8_t *p = at(ADDR_Y) + (o / per *
                                   plane(k->oh, k->ow) + y * k->ow + x) *
                                   ATOM + o % per * (ATOM / per);
                int want = ref_output(k, y, x, o);
                int got = k->half ? npu_fp16_to_fp32(lduw_le_p(p))
                                  : (int8_t)*p;

                if (got != want) {
                    printf("# channel %d at %d, %d: %d, not %d\n", o, y, x,
                           got, want);
                    return false;
                }
            }
        }
    }
    return true;
}

/* --- Draws --- */

static inline int *tensor(int n, int lo, int hi)
{
    int *v = malloc(n * sizeof(*v)), i;

    for (i = 0; i < n; i++) {
        v[i] = rnd_in(lo, hi);
    }
    return v;
}

static inline void draw_shape(Case *k)
{
    k->h = rnd_in(1, 12);
    k->w = rnd_in(1, 12);
    k->ic = k->packed ? rnd_in(1, 4) : per_atom(k) * rnd_in(1, 10);
    k->kh = rnd_in(1, MIN(3, k->h));
    k->kw = rnd_in(1, MIN(3, k->w));
    k->top = rnd_in(0, k->kh - 1);
    k->left = rnd_in(0, k->kw - 1);
    k->s = rnd_in(1, 2);
    k->oh = (k->h + k->top - k->kh) / k->s + 1;
    k->ow = (k->w + k->left - k->kw) / k->s + 1;
    k->oc = k->dw ? k->ic : 8 * rnd_in(1, 10);
}

static inline void draw(Case *k)
{
    int most = k->half ? 3 : 127, i;

    draw_shape(k);
    k->pad = rnd_in(-128, 127);
    k->layer = !k->half && one_in(4);
    k->relu = !k->half && one_in(3);
    k->sum = !k->half && !k->dw && one_in(3);
    k->lines = !k->sum && !k->dw && k->oc % 16 == 0 && one_in(4);
    k->x = tensor(k->h * k->w * k->ic, -most - 1, most);
    k->wt = tensor(k->oc * k->kh * k->kw * (k->dw ? 1 : k->ic), -most - 1,
                   most);
    k->e = tensor(k->oh * k->ow * k->oc, -128, 127);
    for (i = 0; i < k->oc; i++) {
        k->a[i] = rnd_in(-20000, 20000);
        k->b[i] = rnd_in(-128, 127);
        k->c[i] = rnd_in(1, 0x7fff);
    }
    k->scale = k->half ? 1 : rnd_in(1, 0x7fff);
    k->shift = k->half ? 0 : rnd_in(15, 26);
    k->offset = k->half ? 0 : rnd_in(-128, 127);
    k->e_scale = k->sum ? rnd_in(1, 0x7fff) : 1;
    k->e_shift = k->sum ? rnd_in(0, 12) : 0;
    k->e_offset = k->sum ? rnd_in(-128, 127) : 0;
}

static inline int ref_pool(const Case *k, bool average, int y, int x, int c)
{
    int64_t sum = 0, most = -128;
    int ky, kx;

    for (ky = 0; ky < k->kh; ky++) {
        for (kx = 0; kx < k->kw; kx++) {
            int v = x_at(k, y * k->s + ky, x * k->s + kx, c);

            sum += v;
            most = MAX(most, v);
        }
    }
    return average ? ref_round(sum * (65536 / k->kw) * (65536 / k->kh), 32)
                   : most;
}

/* --- Runs --- */

/* Of the chip: what it can do of what draw() gives, the tensors, commands. */
static void draw_case(Case *k);
static void lay_case(const Case *k);
static void put_cna(Prog *p, const Case *k);
static void put_dpu(Prog *p, const Case *k);
static void put_pool(Prog *p, const Case *k, bool average);
static void put_program(Prog *p, const Case *k);
static const NpuTaskOptions options;

static inline void free_case(Case *k)
{
    free(k->x);
    free(k->wt);
    free(k->e);
}

static inline bool run_case(Case *k, const char **why)
{
    Prog p;

    draw_case(k);
    memset(at(ADDR_Y), POISON, 0x100000);
    lay_tensor(k, ADDR_EW, k->e, k->oh, k->ow, k->oc);
    lay_case(k);
    put_program(&p, k);
    return run_prog(&p, options, why) == NPU_TASK_RUN && check_output(k);
}

/* As many of this kind, until one fails. */
static inline void test_conv(const char *name, Case kind, unsigned runs)
{
    const char *why = NULL;
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Case k = kind;

        ok = run_case(&k, &why);
        free_case(&k);
        if (!ok) {
            printf("# %dx%d, %d to %d channels, %dx%d by %d, pads %d %d\n",
                   k.h, k.w, k.ic, k.oc, k.kh, k.kw, k.s, k.top, k.left);
        }
    }
    report(ok, "%u convolutions of %s%s%s", runs, name, why ? ": " : "",
           why ? why : "");
}

/* What all of these chips want of a pooling. */
static inline void put_pool_shape(Prog *p, const Case *k, bool average)
{
    put(p, 0x600c, k->w - 1);
    put(p, 0x6010, k->h - 1);
    put(p, 0x6014, k->ic - 1);
    put(p, 0x6018, k->ow - 1);
    put(p, 0x601c, k->oh - 1);
    put(p, 0x6020, k->ic - 1);
    put(p, 0x6024, average ? 0x10 : 0x11);
    put(p, 0x6034, (k->s - 1) * 0x110000 | (k->kh - 1) << 8 | (k->kw - 1));
    put(p, 0x6038, average ? 65536 / k->kw : 0);
    put(p, 0x603c, average ? 65536 / k->kh : 0);
    put(p, 0x6070, ADDR_Y);
    put(p, 0x607c, plane(k->oh, k->ow) * ATOM);
    put(p, 0x6084, plane(k->oh, k->ow) * ATOM);
    put(p, 0x60dc, 3);
    put(p, 0x700c, k->w - 1);
    put(p, 0x7010, k->h - 1);
    put(p, 0x7014, k->ic - 1);
    put(p, 0x701c, ADDR_X);
    put(p, 0x7024, k->w * ATOM);
    put(p, 0x7028, plane(k->h, k->w) * ATOM);
}

static inline bool run_pool(Case *k, bool average, const char **why)
{
    Prog p = { 0 };
    bool ok;
    int j, c;

    draw(k);
    k->oh = (k->h - k->kh) / k->s + 1;
    k->ow = (k->w - k->kw) / k->s + 1;
    lay_tensor(k, ADDR_X, k->x, k->h, k->w, k->ic);
    put_pool(&p, k, average);
    start(&p, POOL);
    ok = run_prog(&p, options, why) == NPU_TASK_RUN;
    for (j = 0; ok && j < k->oh * k->ow; j++) {
        for (c = 0; ok && c < k->ic; c++) {
            ok = (int8_t)at(ADDR_Y)[(c / ATOM * plane(k->oh, k->ow) + j) *
                                    ATOM + c % ATOM] ==
                 ref_pool(k, average, j / k->ow, j % k->ow, c);
        }
    }
    return ok;
}

static inline void test_pool(bool average, unsigned runs)
{
    const char *why = NULL;
    bool ok = true;
    unsigned i;

    for (i = 0; ok && i < runs; i++) {
        Case k = { 0 };

        ok = run_pool(&k, average, &why);
        free_case(&k);
    }
    report(ok, "%u poolings for the %s%s%s", runs,
           average ? "average" : "maximum", why ? ": " : "", why ? why : "");
}

/* A convolution of one kernel per position, with @value in @reg. */
typedef struct Refused {
    uint16_t reg;
    uint32_t value, enable;
    const char *why;
} Refused;

static inline Prog small_prog(void)
{
    Case k = { .h = 4, .w = 4, .ic = ATOM, .oc = ATOM, .kh = 1, .kw = 1, .s = 1,
               .oh = 4, .ow = 4, .scale = 1 };
    Prog p = { 0 };

    put_cna(&p, &k);
    put_dpu(&p, &k);
    return p;
}

static inline void test_refused(const Refused *bad, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        const char *why = NULL;
        Prog p = small_prog();
        NpuVerdict v;

        put(&p, bad[i].reg, bad[i].value);
        start(&p, bad[i].enable);
        v = run_prog(&p, options, &why);
        report(v == NPU_TASK_UNIMP && !strcmp(why, bad[i].why),
               "%04x = %x is refused: %s", bad[i].reg, bad[i].value,
               v == NPU_TASK_RUN ? "it runs" : why);
    }
}

/* The last tests of a program: draws without these would prove little. */
static inline int finish(const unsigned *seen, const char *const *name,
                         unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        report(seen[i], "some had %s", name[i]);
    }
    printf("1..%u\n", tests);
    return failures != 0;
}

#endif
