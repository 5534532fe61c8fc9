/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs for the RK3576's DPU alone: records of its stages, PReLU and
 * a second tensor.
 */
#include "rk3576-prog.h"

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
        put(p, 0x4080, (uint16_t)k->offset);
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

static int table_entry(int i)
{
    return (i * 61 + i / 5) % 60001 - 30000;
}

/* As compilers have it: an atom is copied by the task that loads the tables. */
static bool load_tables(void)
{
    const char *why = NULL;
    Prog p;
    int i;

    put_alone(&p, false, 1, 1, 16);
    for (i = 0; i < 1026; i++) {
        if (i % 513 == 0) {
            put(&p, 0x4100, i ? 0x30000 : 0x20000);
        }
        put(&p, 0x4104, table_entry(i));
    }
    start(&p, ALONE);
    return run_prog(&p, options, &why) == NPU_TASK_RUN;
}

/*
 * A table of bytes: sums times a factor are where it has steps of 32.  With a
 * floor nothing below 0 comes of it.
 */
static void test_table(bool floor)
{
    int w = 6, h = 3, c = 32, add = 17, factor = 0x4003, shift = 7, i;
    const char *why = NULL;
    bool ok = load_tables();
    Prog p;

    put_alone(&p, false, w, h, c);
    put(&p, 0x4060, 0x20);
    put(&p, 0x407c, 0x1004140);
    put(&p, 0x40ac, -9);
    put(&p, 0x40b0, 0x17f81);
    put(&p, 0x40b4, 23);
    put(&p, 0x40cc, 0x10);
    put(&p, 0x4108, 0x2000006);
    put(&p, 0x410c, 0x50500);
    for (i = 0; i < 4; i++) {
        put(&p, 0x4110 + 4 * i, -0x4000);
        put(&p, 0x4140 + 4 * i, 0x4000);
    }
    put(&p, 0x5028, 0x1a);
    put(&p, 0x5030, ADDR_SHIFT);
    put(&p, 0x5034, 0x41);
    memset(at(ADDR_SHIFT), 0, 64);
    stl_le_p(at(ADDR_SHIFT), add);
    stw_le_p(at(ADDR_SHIFT) + 32, factor);
    stl_le_p(at(ADDR_SHIFT) + 48, shift << 8 | shift);
    if (floor) {
        put(&p, 0x4088, 0);
        put(&p, 0x40a4, 0);
    }
    start(&p, ALONE);
    for (i = 0; i < w * h * c; i++) {
        at(ADDR_X)[i] = rnd();
    }
    ok = ok && run_prog(&p, options, &why) == NPU_TASK_RUN;
    if (why) {
        printf("# %s\n", why);
    }
    for (i = 0; ok && i < w * h * c; i++) {
        int64_t v = ref_round(((int8_t)at(ADDR_X)[i] + add) * (int64_t)factor,
                              shift);
        int64_t rest = v & 31, nth, lo, p;

        if (v < -0x4000 || v >= 0x4000) {
            v = 0;
        } else {
            nth = v < 0 ? (v + 0x4000) / 32 : 513 + v / 32;
            lo = table_entry(nth);
            p = (table_entry(nth + 1) - lo) * rest;
            v = lo + p / 32 - (p % 32 < 0);
        }
        v = floor && v < 0 ? 0 : v;
        v = ref_clip(ref_round(v * 0x7f81 - 9 * (1ll << 23), 23), -128, 127);
        ok = (int8_t)at(ADDR_Y)[i] == v;
    }
    report(ok, floor ? "the DPU alone looks bytes up, down to 0"
                     : "the DPU alone looks bytes up");
}

int main(void)
{
    rnd_state = 0x3576;
    test_alone();
    test_table(false);
    test_table(true);
    test_alone_cases("scales", (Alone) { .scale = true }, 40);
    test_alone_cases("adds a tensor",
                     (Alone) { .scale = true, .second = true }, 40);
    test_alone_cases("multiplies by a tensor",
                     (Alone) { .second = true, .mul = true }, 40);
    test_alone_cases("scales what is negative",
                     (Alone) { .scale = true, .prelu = true }, 40);
    printf("1..%u\n", tests);
    return failures != 0;
}
