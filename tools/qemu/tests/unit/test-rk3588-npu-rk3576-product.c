/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random products for the RK3576 whose results leave as words: of bytes, and of
 * halves to floats.
 */
#include "rk3576-conv.h"
#include "rk3576-product.h"
#include <math.h>

enum {
    F_PRODUCT_RDMA, F_PRODUCT_NO_RDMA, F_PRODUCT_PART, F_PRODUCT_CORE_1,
    FEATURES
};

static const char *const feature_name[FEATURES] = {
    "a product to floats with RDMA",
    "a product to floats without RDMA", "a product of a part of the rows",
    "a product in the window of core 1",
};

static unsigned seen[FEATURES];

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

int main(void)
{
    unsigned i;

    rnd_state = 0x3576;
    test_words(40);
    test_product(true, 60);
    test_product(false, 60);
    test_int4_values();
    for (i = 0; i < FEATURES; i++) {
        report(seen[i], "some had %s", feature_name[i]);
    }
    printf("1..%u\n", tests);
    return failures != 0;
}
