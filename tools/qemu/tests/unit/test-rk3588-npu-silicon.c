/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What others read from RK3588 boards, as numbers: the model has to give the
 * same.  Documentation/accel/rknpu/evidence.toml says who measured what.
 */
#include "harness.h"
#include "compute/numeric.h"

#define ADDR_X          (MEM_BASE + 0x00000)
#define ADDR_W          (MEM_BASE + 0x20000)
#define ADDR_E          (MEM_BASE + 0x40000)
#define ADDR_Y          (MEM_BASE + 0x80000)
#define OUT_SIZE        0x40000

#define SUMS            32
#define IC              32
#define LUT_ENTRIES     513

typedef struct Write {
    uint16_t reg;
    uint32_t value;
} Write;

static void put_all(Prog *p, const Write *w, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        put(p, w[i].reg, w[i].value);
    }
}

#define PUT(p, ...)                                             \
    do {                                                        \
        static const Write w_[] = { __VA_ARGS__ };              \
        put_all(p, w_, ARRAY_SIZE(w_));                         \
    } while (0)

static void clear(void)
{
    memset(mem, 0, MEM_SIZE);
    memset(at(ADDR_Y), POISON, OUT_SIZE);
}

static bool runs(Prog *p, uint32_t enable)
{
    NpuTaskOptions opt = { .write_padding = true };
    const char *why = NULL;
    bool ok;

    start(p, enable);
    ok = run_prog(p, opt, &why) == NPU_TASK_RUN;
    if (!ok) {
        printf("# refused: %s\n", why);
    }
    return ok;
}

static int32_t word(unsigned i)
{
    int32_t v;

    memcpy(&v, at(ADDR_Y + 4 * i), sizeof(v));
    return v;
}

/* --- Integers behind a product --- */

static int clip8(int v)
{
    return v < -128 ? -128 : v > 127 ? 127 : v;
}

/* Three channels, of 127, 127 and 1, by weights that give each @sum. */
static void store_sums(const int32_t *sum, unsigned n)
{
    unsigned i;

    *at(ADDR_X) = 127;
    *at(ADDR_X + 1) = 127;
    *at(ADDR_X + 2) = 1;
    for (i = 0; i < n; i++) {
        int32_t q = (sum[i] - (sum[i] < 0 ? 63 : -63)) / 127;
        int32_t first = clip8(q);

        *at(ADDR_W + IC * i) = first;
        *at(ADDR_W + IC * i + 1) = q - first;
        *at(ADDR_W + IC * i + 2) = sum[i] - 127 * q;
    }
}

/* An int8 product of one position and 32 kernels whose sums leave as int32. */
static void product(Prog *p, const int32_t *sum, unsigned n)
{
    clear();
    store_sums(sum, n);
    p->n = 0;
    PUT(p, { 0x100c, 1 << 29 }, { 0x1014, 9 }, { 0x1020, 1 << 16 | 1 },
        { 0x1024, (IC - 1) << 16 | IC }, { 0x1028, 1 }, { 0x102c, 1 },
        { 0x1030, IC * SUMS }, { 0x1034, IC },
        { 0x1038, 1 << 24 | 1 << 16 | SUMS }, { 0x1040, 0xb1 },
        { 0x1044, 1 }, { 0x104c, 0xb }, { 0x1050, 1 << 16 },
        { 0x1054, 1 << 16 }, { 0x1058, 1 << 16 }, { 0x105c, 1 << 16 },
        { 0x1070, ADDR_X }, { 0x1078, 0xf000f }, { 0x107c, 1 },
        { 0x1084, 1 << 16 | 1 }, { 0x1088, IC }, { 0x1110, ADDR_W },
        { 0x3018, SUMS - 1 });
    PUT(p, { 0x400c, 0x1e4 }, { 0x4010, 4u << 29 }, { 0x4020, ADDR_Y },
        { 0x4024, 16 }, { 0x403c, (SUMS - 1) << 16 | (SUMS - 1) },
        { 0x4040, 0x53 }, { 0x4050, 0x7fe }, { 0x4058, SUMS - 1 },
        { 0x4060, 0x53 }, { 0x4070, 0x383 }, { 0x4078, 1 }, { 0x4084, 1 },
        { 0x40c0, 128 });
}

static bool gives_words(const int32_t *want, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        if (word(i) != want[i]) {
            printf("# number %u: %d, want %d\n", i, word(i), want[i]);
            return false;
        }
    }
    return true;
}

static const int32_t sums[] = { 203, -131, -204, -45, -205, 418, -148, -163 };

/* Times 3, over 2, with an odd offset: the sum decides about ties. */
static void test_out_cvt(void)
{
    static const struct {
        uint32_t offset, shift;
        int32_t y[ARRAY_SIZE(sums)];
    } cvt[] = {
        { 0, 1, { 304, -196, -306, -68, -308, 627, -222, -244 } },
        { 0, 1 << 30 | 1, { 305, -197, -306, -68, -308, 627, -222, -245 } },
        { 5, 1, { 310, -192, -301, -62, -302, 632, -217, -240 } },
        { 5, 1 << 12 | 1, { 310, -192, -301, -62, -302, 632, -217, -240 } },
        { 5, 1u << 31 | 1, { 312, -189, -298, -60, -300, 634, -214, -237 } },
        { 5, 1u << 31 | 1 << 12 | 1,
          { 312, -189, -298, -60, -300, 634, -214, -237 } },
    };
    unsigned i;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(cvt); i++) {
        product(&p, sums, ARRAY_SIZE(sums));
        put(&p, 0x4080, cvt[i].offset);
        put(&p, 0x4084, 3);
        put(&p, 0x4088, cvt[i].shift);
        report(runs(&p, 0xd) && gives_words(cvt[i].y, ARRAY_SIZE(sums)),
               "OUT_CVT with an offset of %u and a shift of %08x",
               cvt[i].offset, cvt[i].shift);
    }
}

/* Bytes for EW, 16 each from MRDMA and ERDMA. */
static void operands(Prog *p, const int8_t *e, unsigned n, uint32_t ew_cfg)
{
    memcpy(at(ADDR_E), e, n);
    put(p, 0x4070, ew_cfg);
    PUT(p, { 0x5014, SUMS - 1 }, { 0x5018, ADDR_E }, { 0x5034, 0x40000004 },
        { 0x5038, ADDR_E + 16 }, { 0x5040, 16 }, { 0x5044, 0x7d00 });
}

/* Times 3, over 2, plus 5, as addends of 0. */
static void test_ew_cvt(void)
{
    static const int8_t e[] = { 3, -3, 3, -3 };
    static const struct {
        uint32_t ew_cfg, offset;
        int32_t y[ARRAY_SIZE(e)];
    } cvt[] = {
        { 0x104202c0, 0, { 4, -4, 4, -4 } },
        { 0x504202c0, 0, { 5, -5, 5, -5 } },
        { 0x104202c0, 5, { 10, 0, 10, 0 } },
    };
    static const int32_t zero[SUMS];
    unsigned i;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(cvt); i++) {
        product(&p, zero, SUMS);
        operands(&p, e, ARRAY_SIZE(e), cvt[i].ew_cfg);
        put(&p, 0x4074, cvt[i].offset);
        put(&p, 0x4078, 1 << 16 | 3);
        report(runs(&p, 0x1d) && gives_words(cvt[i].y, ARRAY_SIZE(e)),
               "converted EW operands, EW_CFG %08x and an offset of %u",
               cvt[i].ew_cfg, cvt[i].offset);
    }
}

/* Operands that go round the converter count as they are. */
static void test_ew_bypass(void)
{
    static const int32_t x[] = { -455, -74, 133, -704, -212, 225, -237, -293 };
    static const int8_t e[] = { 2, 2, 2, 2, 2, 2, 2, 2 };
    static const int32_t twice[] = {
        -910, -148, 266, -1408, -424, 450, -474, -586,
    }, more[] = {
        -453, -72, 135, -702, -210, 227, -235, -291,
    };
    Prog p;

    product(&p, x, ARRAY_SIZE(x));
    operands(&p, e, ARRAY_SIZE(e), 0x104003c4);
    report(runs(&p, 0x1d) && gives_words(twice, ARRAY_SIZE(x)),
           "factors that nothing converts");
    product(&p, x, ARRAY_SIZE(x));
    operands(&p, e, ARRAY_SIZE(e), 0x104203c0);
    report(runs(&p, 0x1d) && gives_words(more, ARRAY_SIZE(x)),
           "addends that nothing converts");
}

/* With 3 from registers: EW_TRUNCATE for results of 0 and more, and below. */
static void test_ew_truncate(void)
{
    static const struct {
        uint32_t ew_cfg, shift, shift_neg;
        int32_t y[ARRAY_SIZE(sums)];
    } ew[] = {
        { 0x384, 1, 0, { 304, -393, -612, -135, -615, 627, -444, -489 } },
        { 0x384, 2, 0, { 152, -393, -612, -135, -615, 314, -444, -489 } },
        { 0x384, 1, 1, { 304, -196, -306, -68, -308, 627, -222, -244 } },
        { 0x383, 0, 1, { 203, -131, -204, -45, -205, 418, -148, -163 } },
        { 0x383, 1, 0, { 203, -131, -204, -45, -205, 418, -148, -163 } },
        { 0x20380, 0, 1, { 206, -64, -100, -21, -101, 421, -72, -80 } },
        { 0x20380, 1, 0, { 103, -128, -201, -42, -202, 210, -145, -160 } },
    };
    unsigned i, j;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(ew); i++) {
        product(&p, sums, ARRAY_SIZE(sums));
        put(&p, 0x4010, 4u << 29 | ew[i].shift_neg << 16);
        put(&p, 0x4070, ew[i].ew_cfg);
        put(&p, 0x4078, ew[i].shift << 22 | 1);
        for (j = 0; j < 8; j++) {
            put(&p, 0x4090 + 4 * j, 3);
        }
        report(runs(&p, 0xd) && gives_words(ew[i].y, ARRAY_SIZE(sums)),
               "EW_TRUNCATE of %u and %u, EW_CFG %x", ew[i].shift,
               ew[i].shift_neg, ew[i].ew_cfg);
    }
}

/*
 * MC_SURF_OUT, as a board is said to lay blocks of 32 out: three positions and
 * 96 kernels make nine of them.
 */
static void test_mc_surf(void)
{
    int32_t y[9 * 32];
    unsigned i, n;
    bool ok;
    Prog p;

    product(&p, NULL, 0);
    /* Position i is i + 1 in channel 0, kernel k is k + 1 there. */
    for (i = 0; i < 3; i++) {
        *at(ADDR_X + 16 * i) = i + 1;
    }
    for (i = 0; i < 96; i++) {
        *at(ADDR_W + i / 32 * 32 * IC + i % 32 * IC) = i + 1;
    }
    PUT(&p, { 0x1020, 3 << 16 | 1 }, { 0x1028, 3 }, { 0x102c, 3 },
        { 0x1030, IC * 96 }, { 0x1038, 1 << 24 | 1 << 16 | 96 },
        { 0x107c, 3 }, { 0x1084, 3 << 16 | 1 }, { 0x3014, 2 },
        { 0x3018, 95 }, { 0x4010, 4u << 29 | 8 }, { 0x4024, 48 },
        { 0x4030, 2 }, { 0x403c, 95 << 16 | 95 }, { 0x4058, 95 },
        { 0x405c, 2 }, { 0x40c0, 480 });
    ok = runs(&p, 0xd);
    for (n = 0; n < 9; n++) {
        for (i = 0; i < 32; i++) {
            y[n * 32 + i] = (n % 3 + 1) * (n / 3 * 32 + i + 1);
        }
        ok = ok && !memcmp(at(ADDR_Y + n / 2 * 480 + n % 2 * 128),
                           &y[n * 32], 128);
        memset(at(ADDR_Y + n / 2 * 480 + n % 2 * 128), POISON, 128);
    }
    for (i = 0; i < OUT_SIZE && ok; i++) {
        ok = *at(ADDR_Y + i) == POISON;
    }
    report(ok, "blocks of 32 words by MC_SURF_OUT");
}

/* --- Depthwise words --- */

#define SIDE            8

/*
 * 32 of 64 channels and 3x3 kernels.  The board's bytes are known by their
 * FNV-1a hash, whose first value lacks a digit there.
 */
static void test_depthwise_words(void)
{
    const uint64_t hash = 0x4ac79cc1ec36444d;
    uint64_t h = 1469598103934665603;
    int ch, x, y, tap;
    bool ok;
    Prog p;

    clear();
    for (y = 0; y < SIDE; y++) {
        for (x = 0; x < SIDE; x++) {
            for (ch = 0; ch < 32; ch++) {
                *at(ADDR_X + (ch / 16 * SIDE * SIDE + y * SIDE + x) * 16 +
                    ch % 16) = (3 + 5 * ch + 7 * x + 13 * y) % 31 - 15;
            }
        }
    }
    for (tap = 0; tap < 9; tap++) {
        for (ch = 0; ch < 32; ch++) {
            *at(ADDR_W + tap * 32 + ch) =
                (1 + 11 * ch + 3 * (tap % 3) + 5 * (tap / 3)) % 19 - 9;
        }
    }
    p.n = 0;
    PUT(&p, { 0x100c, 3 }, { 0x1014, 9 }, { 0x1020, SIDE << 16 | SIDE },
        { 0x1024, 31 << 16 | 32 }, { 0x1028, SIDE },
        { 0x102c, SIDE * SIDE }, { 0x1030, 9 * 32 }, { 0x1034, 9 * 32 },
        { 0x1038, 3 << 24 | 3 << 16 | 1 }, { 0x1040, 0xb1 },
        { 0x104c, 0xb }, { 0x1068, 0x11 }, { 0x1070, ADDR_X },
        { 0x107c, 4 * SIDE }, { 0x1080, SIDE * (SIDE - 4) },
        { 0x1084, SIDE << 16 | SIDE }, { 0x1088, 32 }, { 0x1110, ADDR_W },
        { 0x3010, 2 }, { 0x3014, 7 << 16 | 7 }, { 0x3018, 63 });
    PUT(&p, { 0x400c, 0x1fc }, { 0x4010, 4u << 29 }, { 0x4020, ADDR_Y },
        { 0x4024, SIDE * SIDE * 16 }, { 0x4030, 7 }, { 0x4034, 7 },
        { 0x403c, 31 << 16 | 63 }, { 0x4040, 0x53 }, { 0x4050, 0x7fe },
        { 0x4058, 63 }, { 0x405c, 7 << 16 | 7 }, { 0x4060, 0x53 },
        { 0x4070, 0x383 }, { 0x4078, 1 }, { 0x4084, 1 },
        { 0x40c0, 8 * SIDE * SIDE * 16 });
    ok = runs(&p, 0xd);
    for (x = 0; x < SIDE * SIDE * 64 * 4; x++) {
        h = (h ^ *at(ADDR_Y + x)) * 0x100000001b3;
    }
    report(ok && h == hash, "words of a depthwise convolution");
}

/* --- Halves --- */

static void store_halves(uint32_t addr, const uint16_t *v, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        memcpy(at(addr + 2 * i), &v[i], sizeof(v[i]));
    }
}

static bool gives_halves(const uint16_t *want, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        uint16_t got;

        memcpy(&got, at(ADDR_Y + 2 * i), sizeof(got));
        if (got != want[i]) {
            printf("# lane %u: %04x, want %04x\n", i, got, want[i]);
            return false;
        }
    }
    return true;
}

/* Eight halves of one position through a flying DPU. */
static void fly_halves(Prog *p, const uint16_t *x)
{
    clear();
    store_halves(ADDR_X, x, 8);
    p->n = 0;
    PUT(p, { 0x400c, 0x1e5 }, { 0x4010, 2u << 29 | 2 << 26 | 2 },
        { 0x4020, ADDR_Y }, { 0x4024, 16 }, { 0x403c, 7 << 16 | 7 },
        { 0x4040, 0x53 }, { 0x4050, 2 }, { 0x4058, 7 }, { 0x4060, 0x53 },
        { 0x40c0, 16 }, { 0x5014, 7 }, { 0x5018, ADDR_X });
}

/* Not widened; what converters have does not count. */
static void test_division(void)
{
    static const uint16_t a[8] = {
        0x1ae0, 0x1d50, 0x2760, 0x1560, 0x0f80, 0x1140, 0x4000, 0x3c00,
    }, b[8] = {
        0x45bb, 0x45bb, 0x3d18, 0x3d18, 0x3d19, 0x3d19, 0x3c00, 0x4000,
    }, q[8] = {
        0x10cc, 0x136a, 0x25ca, 0x1438, 0x0de2, 0x101e, 0x4000, 0x3800,
    };
    Prog p;

    fly_halves(&p, a);
    store_halves(ADDR_E, b, 8);
    PUT(&p, { 0x4070, 0x8303c0 }, { 0x4074, 0x12345678 },
        { 0x4078, 0x87654321 }, { 0x4084, 1 }, { 0x5034, 8 },
        { 0x5038, ADDR_E }, { 0x5040, 16 }, { 0x5044, 0x17841 });
    report(runs(&p, 0x18) && gives_halves(q, 8), "quotients of halves");
}

/* Of eight channels and eight of padding, with MINMAX_CTL. */
static void test_minmax(void)
{
    static const uint16_t x[8] = {
        0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4100,
    };
    static const struct {
        uint32_t ctl;
        uint16_t y[2];
    } minmax[] = {
        { 1, { 0xfbff, 8 } }, { 3, { 0x4700, 6 } }, { 7, { 0x4700, 0xa5a5 } },
        { 5, { 0xfbff, 0xa5a5 } },
    };
    unsigned i;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(minmax); i++) {
        fly_halves(&p, x);
        PUT(&p, { 0x400c, 0x20003e5 }, { 0x4014, 0xfbff },
            { 0x403c, 7 << 16 | 15 }, { 0x4058, 15 }, { 0x4070, 0x383 },
            { 0x4084, 1 }, { 0x4088, 1 << 30 }, { 0x5014, 15 },
            { 0x5034, 3 }, { 0x5044, 0x17841 });
        put(&p, 0x4034, minmax[i].ctl << 22);
        report(runs(&p, 0x18) && gives_halves(minmax[i].y, 2),
               "MINMAX_CTL %u", minmax[i].ctl);
    }
}

/* A product of halves: four channels, 0.5 in each kernel but for its number. */
static void product_of_halves(Prog *p)
{
    uint16_t x[8] = { 0x3c00, 0x4000, 0x4200, 0x4400 }, w[8] = { 0 };
    unsigned k;

    clear();
    store_halves(ADDR_X, x, 8);
    for (k = 0; k < 16; k++) {
        w[0] = w[1] = w[2] = w[3] = 0x3800;
        w[k % 4] = 0x4000;
        store_halves(ADDR_W + k * 64, w, 8);
    }
    p->n = 0;
    PUT(p, { 0x100c, 1 << 29 | 0x120 }, { 0x1014, 9 },
        { 0x1020, 1 << 16 | 1 }, { 0x1024, 31 << 16 | 32 }, { 0x1028, 1 },
        { 0x102c, 1 }, { 0x1030, 64 * 16 }, { 0x1034, 64 },
        { 0x1038, 1 << 24 | 1 << 16 | 16 }, { 0x1040, 0xb1 },
        { 0x104c, 0xb }, { 0x1070, ADDR_X }, { 0x107c, 1 },
        { 0x1084, 1 << 16 | 1 }, { 0x1088, 32 }, { 0x1110, ADDR_W },
        { 0x3010, 0x200 }, { 0x3018, 15 });
    PUT(p, { 0x400c, 0x1e4 }, { 0x4010, 2u << 29 | 2 << 26 | 2 },
        { 0x4020, ADDR_Y }, { 0x4024, 16 }, { 0x403c, 15 << 16 | 15 },
        { 0x4040, 0x53 }, { 0x4050, 0x126 }, { 0x4058, 15 },
        { 0x4060, 0x53 }, { 0x4070, 0x383 }, { 0x4078, 1 },
        { 0x4084, 0x10001 }, { 0x40c0, 32 });
}

/* 5 + 1.5 times the channel of which the kernel has 2. */
static const uint16_t sums_of_halves[] = {
    0x4680, 0x4800, 0x48c0, 0x4980, 0x4680, 0x4800, 0x48c0, 0x4980,
    0x4680, 0x4800, 0x48c0, 0x4980, 0x4680, 0x4800, 0x48c0, 0x4980,
};

/* Kernels of 64 channels, 17 of 32 that are stored, give 4 times k + 1. */
static void test_stored_kernels(void)
{
    uint16_t one[64], y[17], w[32];
    unsigned k, i;
    Prog p;

    product_of_halves(&p);
    for (i = 0; i < 64; i++) {
        one[i] = i % 32 < 2 ? 0x3c00 : 0;
    }
    store_halves(ADDR_X, one, 64);
    for (k = 0; k < 32; k++) {
        for (i = 0; i < 32; i++) {
            w[i] = i < 2 ? npu_fp32_to_fp16(k + 1) : 0;
        }
        /* Groups of 16 kernels, of 32 channels each. */
        store_halves(ADDR_W + (k / 16 * 32 + k % 16) * 64, w, 32);
        store_halves(ADDR_W + (k / 16 * 32 + 16 + k % 16) * 64, w, 32);
    }
    for (k = 0; k < 17; k++) {
        y[k] = npu_fp32_to_fp16(4 * (k + 1));
    }
    PUT(&p, { 0x1024, 63 << 16 | 64 }, { 0x1030, 128 * 32 },
        { 0x1034, 128 }, { 0x1038, 1 << 24 | 1 << 16 | 17 }, { 0x1088, 64 },
        { 0x3018, 16 }, { 0x403c, 16 << 16 | 16 }, { 0x4058, 16 });
    report(runs(&p, 0xd) && gives_halves(y, 17), "17 kernels stored as 32");
}

/* What is said of boards. */
static void test_products_of_halves(void)
{
    Prog p;

    product_of_halves(&p);
    report(runs(&p, 0xd) && gives_halves(sums_of_halves, 16),
           "a product of halves");
    product_of_halves(&p);
    PUT(&p, { 0x3010, 0x201 }, { 0x4050, 0x125 });
    report(runs(&p, 0xd) && gives_halves(sums_of_halves, 16),
           "CPEND of halves that waits for nothing");
    product_of_halves(&p);
    put(&p, 0x4024, 0);
    report(runs(&p, 0xd) && gives_halves(sums_of_halves, 16),
           "surfaces of one position without a stride");
    test_stored_kernels();
}

/* --- Tables --- */

static void put_table(Prog *p, unsigned id, const int16_t *entry)
{
    unsigned i;

    put(p, 0x4100, 1 << 17 | id << 16);
    for (i = 0; i < LUT_ENTRIES; i++) {
        put(p, 0x4104, (uint16_t)entry[i]);
    }
}

/* Steps of 32 that meet at 0. */
static void use_tables(Prog *p, const int16_t *le, const int16_t *lo)
{
    put_table(p, 0, le);
    put_table(p, 1, lo);
    PUT(p, { 0x4108, 0x68 }, { 0x410c, 0x50500 }, { 0x4110, -16384u },
        { 0x411c, 16384 });
}

/*
 * Entries that rise by 1, with a slope of 0x4032 / 2^13 above the upper table.
 */
static void test_lut_of_sums(void)
{
    static const int32_t x[] = {
        -20000, -16416, -16385, -16384, -16383, -16352, -32, -1, 0, 1, 32,
        16352, 16383, 16384, 16385, 16416, 16466, 20000,
    };
    static const int32_t y[] = {
        4096, 4096, 4096, 4096, 4096, 4097, 4607, 4607, 8192, 8192, 8193,
        8703, 8703, 8704, 8706, 8768, 8868, 15958,
    };
    int16_t le[LUT_ENTRIES], lo[LUT_ENTRIES];
    unsigned i;
    Prog p;

    for (i = 0; i < LUT_ENTRIES; i++) {
        le[i] = 0x1000 + i;
        lo[i] = 0x2000 + i;
    }
    product(&p, x, ARRAY_SIZE(x));
    use_tables(&p, le, lo);
    PUT(&p, { 0x4070, 0x302 }, { 0x4128, 0x40320000 }, { 0x412c, 0x1a0 });
    report(runs(&p, 0xd) && gives_words(y, ARRAY_SIZE(y)),
           "a table of sums, between its entries and beyond");
}

/*
 * exp() as Rockchip's softmax has it, of which only the entries are here that
 * the inputs reach.
 */
static void test_lut_of_halves(void)
{
    static const uint16_t x[8] = {
        0x0000, 0xb800, 0xbc00, 0xc000, 0xc400, 0xc800, 0xcc00, 0xd000,
    }, y[8] = {
        0x3bfe, 0x38d9, 0x35e1, 0x3054, 0x24b2, 0x0e00, 0x0400, 0x0400,
    };
    static const int16_t le[LUT_ENTRIES] = {
        [0] = 1, [204] = 11, [205] = 11,
    }, lo[LUT_ENTRIES] = {
        [102] = 598, [103] = 604, [307] = 4426, [308] = 4469,
        [409] = 11984, [410] = 12101, [460] = 19720, [461] = 19913,
        [511] = 32449, [512] = 32767,
    };
    Prog p;

    fly_halves(&p, x);
    PUT(&p, { 0x4060, 0x20040 }, { 0x4064, 0x467ff000 },
        { 0x4068, 0x6a660000 }, { 0x4070, 0x302 }, { 0x4080, 1 },
        { 0x4084, 0x10001 }, { 0x4088, 15 << 12 }, { 0x5034, 1 },
        { 0x5044, 0x17849 });
    use_tables(&p, le, lo);
    report(runs(&p, 0x18) && gives_halves(y, 8),
           "a table of halves, as softmax has it");
}

int main(void)
{
    printf("TAP version 13\n");
    test_out_cvt();
    test_ew_cvt();
    test_ew_bypass();
    test_ew_truncate();
    test_mc_surf();
    test_depthwise_words();
    test_division();
    test_minmax();
    test_products_of_halves();
    test_lut_of_sums();
    test_lut_of_halves();
    printf("1..%u\n", tests);
    return failures != 0;
}
