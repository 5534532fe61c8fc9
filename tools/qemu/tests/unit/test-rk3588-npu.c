/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the RK3588 NPU model's command parser, task decoder and arithmetic
 * against references that are written from tensors, not from registers.
 */
#define MEM_SIZE        (24u << 20)
#include "harness.h"
#include <math.h>
#include <time.h>
#include "compute/timing.h"
#include "compute/numeric.h"
#include "reference.h"

#define ADDR_A          (MEM_BASE + 0x000000)
#define ADDR_B          (MEM_BASE + 0x800000)
#define ADDR_C          (MEM_BASE + 0x1000000)
#define ADDR_BIAS       (MEM_BASE + 0x1700000)
#define ADDR_E          (MEM_BASE + 0x1600000)

/* --- Command streams --- */

static void tail(Prog *p, uint32_t enable)
{
    p->cmd[p->n++] = 0;
    put(p, 0x14, 0);
    p->cmd[p->n++] = 0x0041ull << 48;
    start(p, enable);
}

static NpuVerdict run(const Prog *p, const char **why)
{
    return run_prog(p, (NpuTaskOptions) { .write_padding = true }, why);
}

static bool run_ok(const Prog *p)
{
    const char *why = NULL;

    if (run(p, &why) != NPU_TASK_RUN) {
        printf("# refused: %s\n", why);
        return false;
    }
    return true;
}

/* --- Matrix products: C[M,N] = A[M,K] * B[N,K]^T --- */

typedef enum { I8_I32, F16_F32, F16_F16 } MmType;

typedef struct MatMul {
    MmType type;
    int m, k, n;
} MatMul;

static bool is_f16(const MatMul *mm)
{
    return mm->type != I8_I32;
}

static void matmul_prog(Prog *p, const MatMul *mm)
{
    unsigned bpe = is_f16(mm) ? 2 : 1;
    unsigned e = mm->type == I8_I32 ? 7 : mm->type == F16_F32 ? 3 : 1;
    int surf = mm->m == 1 ? -3 : 4 * (mm->m / 4 - 1);
    unsigned i;

    p->n = 0;
    put(p, 0x4004, 0xe);
    put(p, 0x100c, is_f16(mm) ? 0x120 : 0);
    put(p, 0x1010, (mm->m + 1) << 4);
    put(p, 0x1014, 9);
    put(p, 0x1020, 1 << 16 | mm->m);
    put(p, 0x1024, (uint32_t)(mm->k - 1) << 16 | mm->k);
    put(p, 0x1028, 1);
    put(p, 0x102c, mm->m);
    put(p, 0x1030, mm->k * bpe * mm->n);
    put(p, 0x1034, mm->k * bpe);
    put(p, 0x1038, 0x01010000 | mm->n);
    put(p, 0x1040, 11 << 4 | 1);
    put(p, 0x104c, 0xb);
    for (i = 0; i < 4; i++) {
        put(p, 0x1050 + 4 * i, 0x10000);
    }
    put(p, 0x1070, ADDR_A);
    put(p, 0x1078, 0xf000f);
    put(p, 0x107c, 4);
    put(p, 0x1080, (uint32_t)surf & 0xfffffff);
    put(p, 0x1084, 1 << 16 | mm->m);
    put(p, 0x1088, mm->k);
    put(p, 0x1110, ADDR_B);
    put(p, 0x3010, is_f16(mm) ? 0x201 : 0);
    put(p, 0x3014, (mm->m - 1) << 16);
    put(p, 0x3018, mm->n - 1);
    put(p, 0x400c, 0x1e4);
    put(p, 0x4010, mm->type == I8_I32 ? 0x80000000 :
                   mm->type == F16_F32 ? 0xa8000002 : 0x48000002);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, mm->m << 4);
    put(p, 0x4030, 0);
    put(p, 0x4034, mm->m - 1);
    put(p, 0x4038, 0);
    put(p, 0x403c, (uint32_t)(mm->n - 1) << 16 | (mm->n - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, e * 0x124 | 2);
    put(p, 0x4058, mm->n - 1);
    put(p, 0x405c, (mm->m - 1) << 16);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, mm->type == F16_F16 ? 0x10001 : 1);
    put(p, 0x40c0, (mm->m * (e + 1)) << 4);
    tail(p, 0x0d);
}

static bool untouched(uint32_t from, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < len; i++) {
        if (*at(from + i) != POISON) {
            return false;
        }
    }
    return true;
}

/* --- A convolution of bytes: 4x4 pixels, 16 channels, 32 kernels of 1x1 --- */

static void conv_prog(Prog *p)
{
    static const uint32_t writes[][2] = {
        { 0x100c, 0 }, { 0x4004, 0xe }, { 0x5004, 0xe }, { 0x1010, 52 << 4 },
        { 0x1014, 1 << 3 | 1 }, { 0x1020, 4 << 16 | 4 },
        { 0x1024, 15 << 16 | 16 }, { 0x1028, 4 }, { 0x102c, 16 },
        { 0x1030, 16 * 32 }, { 0x1034, 16 }, { 0x1038, 1 << 24 | 1 << 16 | 32 },
        { 0x1040, 6 << 4 | 6 }, { 0x104c, 0xb }, { 0x1068, 0 },
        { 0x1070, ADDR_A }, { 0x107c, 16 }, { 0x1080, 0 },
        { 0x1084, 4 << 16 | 4 }, { 0x1088, 16 }, { 0x1110, ADDR_B },
        { 0x1184, 0 }, { 0x3010, 1 }, { 0x3014, 3 << 16 | 3 }, { 0x3018, 31 },
        { 0x301c, 0 }, { 0x400c, 0x1e4 }, { 0x4010, 0 }, { 0x4014, 0x17 },
        { 0x4020, ADDR_C }, { 0x4024, 256 }, { 0x4030, 3 }, { 0x4034, 3 },
        { 0x4038, 0 }, { 0x403c, 31 << 16 | 31 }, { 0x4040, 0x20150 },
        { 0x4050, 0x126 }, { 0x4054, 0 }, { 0x4058, 31 },
        { 0x405c, 3 << 16 | 3 }, { 0x4060, 0x53 }, { 0x4070, 0x383 },
        { 0x4080, 0 }, { 0x4084, 1 }, { 0x4088, 0 }, { 0x40c0, 512 },
        { 0x500c, 3 }, { 0x5010, 3 }, { 0x5014, 31 }, { 0x501c, 2 },
        { 0x5020, ADDR_BIAS }, { 0x5034, 1 }, { 0x5044, 0x7810 },
    };
    unsigned i;

    p->n = 0;
    for (i = 0; i < ARRAY_SIZE(writes); i++) {
        put(p, writes[i][0], writes[i][1]);
    }
    tail(p, 0x1d);
}

/* --- The DPU on its own --- */

typedef struct Fly {
    int w, h, c;
    int prec, out;          /* codes of the registers */
    int notch;              /* positions between input surfaces */
    uint32_t bs, bs_mul;
    uint32_t ew;
    uint32_t out_scale;     /* 0: what the output precision wants */
    bool per_channel;       /* one row of operands for one position */
    bool narrow;            /* MRDMA does not widen halves */
    bool mixed;             /* operands are bf16 of halves, or the reverse */
    bool no_size;           /* EW does not say how wide its operands are */
} Fly;

static int prec_bytes(int prec)
{
    return prec == 0 ? 1 : prec == 2 || prec == 3 ? 2 : 4;
}

/* Of the DPU, which is that of its operands. */
static int fly_operands(const Fly *f)
{
    return f->mixed ? 5 - f->prec : f->prec;
}

static void fly_prog(Prog *p, const Fly *f)
{
    uint32_t out_surf = f->w * f->h * 16;
    uint32_t bytes = prec_bytes(f->prec);
    uint32_t size = bytes == 4 ? 3 : bytes;
    uint32_t group = MAX(prec_bytes(f->out) / prec_bytes(f->prec), 1);
    uint32_t scale = f->out == 2 || f->out == 3 ? 0x10001 : 1;
    int dpu = fly_operands(f);

    p->n = 0;
    put(p, 0x4004, 0xe);
    put(p, 0x5004, 0xe);
    put(p, 0x400c, 0x1e5);
    put(p, 0x4010, (uint32_t)f->out << 29 | dpu << 26 | dpu);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, out_surf);
    put(p, 0x4030, f->w - 1);
    put(p, 0x4034, f->h - 1);
    put(p, 0x403c, (f->c - 1) << 16 | (f->c - 1));
    put(p, 0x4040, f->bs ? f->bs : 0x53);
    put(p, 0x4048, f->bs_mul);
    put(p, 0x4050, (group - 1) * 0x124 | 2);
    put(p, 0x4058, f->c - 1);
    put(p, 0x405c, (f->h - 1) << 16 | (f->w - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, !f->ew ? 0x383 :
                   f->ew | 1 << 28 | (f->no_size ? 0 : size) << 22);
    put(p, 0x4078, 1);
    put(p, 0x4084, f->out_scale ? f->out_scale : scale);
    put(p, 0x40c0, out_surf * group);
    put(p, 0x500c, f->w - 1);
    put(p, 0x5010, f->h - 1);
    put(p, 0x5014, f->c - 1);
    put(p, 0x5018, ADDR_A);
    put(p, 0x5034, f->ew ? 1u << 30 | size << 2 : 1);
    put(p, 0x5038, ADDR_E);
    put(p, 0x5040, f->per_channel ? 16 : out_surf);
    put(p, 0x5044, f->prec << 15 | 15 << 11 | f->prec << 5 |
                   (bytes == 2 && !f->narrow) << 3 | 1);
    put(p, 0x504c, f->notch * 16);
    tail(p, 0x18);
}

static uint32_t fly_at(uint32_t base, int ch, int pos, int pitch, int bytes)
{
    int per = 16 / bytes;

    return base + (ch / per * pitch + pos) * 16 + ch % per * bytes;
}

/* The element's value as a double, which holds every type exactly. */
static double fly_value(uint32_t bits, int prec)
{
    int32_t i = bits;
    float f;

    switch (prec) {
    case 0:
        return (int8_t)bits;
    case 2:
        return npu_fp16_to_fp32(bits);
    case 3:
        return npu_bf16_to_fp32(bits);
    case 5:
        memcpy(&f, &bits, 4);
        return f;
    default:
        return i;
    }
}

static uint32_t fly_random(int prec)
{
    float f = rnd_in(-10000, 10000) / 64.0f;
    uint32_t bits;

    if (prec == 2) {
        return (rnd() & 0x83ff) | (uint32_t)rnd_in(8, 17) << 10;
    }
    if (prec == 3) {
        return npu_fp32_to_bf16(f);
    }
    memcpy(&bits, &f, 4);
    return prec == 5 ? bits : prec == 0 ? rnd() & 0xff : rnd() << 16 ^ rnd();
}

static double fly_load(uint32_t addr, int prec)
{
    uint32_t bits = 0;

    memcpy(&bits, at(addr), prec_bytes(prec));
    return fly_value(bits, prec);
}

/* op: what the output should be, given input and operand. */
static void test_fly(Fly f, double (*op)(double x, double e), const char *name)
{
    int n = f.w * f.h * f.c, i, bytes = prec_bytes(f.prec);
    int per_out = 16 / prec_bytes(f.out);
    int ops = fly_operands(&f) == 3 ? 3 : f.ew & 1 << 2 ? 2 : f.prec;
    double *x = malloc(n * sizeof(*x)), *e = malloc(n * sizeof(*e));
    bool ok;
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    for (i = 0; i < n; i++) {
        int ch = i % f.c, pos = i / f.c, area = f.w * f.h;
        uint32_t v = fly_random(f.prec);
        uint32_t w = fly_random(ops);

        memcpy(at(fly_at(ADDR_A, ch, pos, area + f.notch, bytes)), &v, bytes);
        memcpy(at(fly_at(ADDR_E, ch, pos, area, bytes)), &w, bytes);
        x[i] = fly_value(v, f.prec);
        e[i] = fly_value(w, ops);
    }
    fly_prog(&p, &f);
    ok = run_ok(&p);
    for (i = 0; i < n && ok; i++) {
        double got = fly_load(fly_at(ADDR_C, i % f.c, i / f.c, f.w * f.h,
                                     prec_bytes(f.out)), f.out);
        double want = op(x[i], e[i]);

        if (f.out == 2) {
            want = npu_fp16_to_fp32(npu_fp32_to_fp16(want));
        } else if (f.out == 3) {
            want = npu_bf16_to_fp32(npu_fp32_to_bf16(want));
        } else if (f.out == 5) {
            want = (float)want;
        } else if (f.out == 0) {
            want = fmin(fmax(nearbyint(want), INT8_MIN), INT8_MAX);
        }
        ok = got == want;
        if (!ok) {
            printf("# element %d: %g, want %g\n", i, got, want);
        }
    }
    ok = ok && untouched(ADDR_C + (f.c + per_out - 1) / per_out * f.w * f.h *
                         16, 4096);
    report(ok, "flying %s", name);
    free(x);
    free(e);
}

static double fly_copy(double x, double e)
{
    (void)e;
    return x;
}

static double fly_add_int(double x, double e)
{
    return fmin(fmax(x + e, INT32_MIN), INT32_MAX);
}

static double fly_add_float(double x, double e)
{
    return (float)(x + e);
}

/* Cut to 13 bits of fraction; what is stored has 10. */
static double fly_div_halves(double x, double e)
{
    double q = x / e;
    int exp;

    if (!isfinite(q) || !q) {
        return q;
    }
    frexp(q, &exp);
    return ldexp(trunc(ldexp(q, 14 - exp)), exp - 14);
}

static double fly_mul_float(double x, double e)
{
    return (float)(x * e);
}

static double fly_half_of_product(double x, double e)
{
    return (float)((float)(x * -0.5) * e);
}

static double fly_scaled(double x, double e)
{
    return (float)((float)(x * -1.5) * e);
}

static double fly_relu(double x, double e)
{
    (void)e;
    return x > 0 ? (float)(x * -1.5) * 0.0 : (float)(x * -1.5);
}

/* The steps of an inverse square root, by Rockchip's compilers. */
static void test_fly_bf16(void)
{
    const uint32_t half_fp16 = 0xb800u << 16, half_bf16 = 0xbf00u << 16;

    test_fly((Fly) { .w = 3, .h = 2, .c = 24, .prec = 2, .out = 3,
                     .ew = 0x3c4 }, fly_mul_float, "fp16 * fp16 -> bf16");
    test_fly((Fly) { .w = 3, .h = 2, .c = 24, .prec = 3, .out = 2,
                     .ew = 0x3c4, .bs = 0x42, .bs_mul = half_bf16,
                     .no_size = true }, fly_half_of_product,
             "bf16 * bf16 -> fp16");
    test_fly((Fly) { .w = 3, .h = 2, .c = 24, .prec = 2, .out = 2,
                     .ew = 0x3c4, .mixed = true, .no_size = true },
             fly_mul_float, "fp16 * bf16 -> fp16");
    test_fly((Fly) { .w = 3, .h = 2, .c = 24, .prec = 3, .out = 2,
                     .ew = 0x3c4, .bs = 0x42, .bs_mul = half_fp16,
                     .mixed = true }, fly_half_of_product,
             "bf16 * fp16 -> fp16");
}

static void test_flying(void)
{
    const uint32_t minus_1_5 = 0xbe00u << 16;

    test_fly((Fly) { .w = 7, .h = 5, .c = 40, .notch = 13 }, fly_copy,
             "int8 copy to another pitch");
    test_fly((Fly) { .w = 5, .h = 3, .c = 40, .out = 2, .notch = 2 }, fly_copy,
             "int8 -> fp16");
    test_fly((Fly) { .w = 5, .h = 3, .c = 40, .prec = 2, .out = 5,
                     .out_scale = 0x10001 }, fly_copy,
             "fp16 -> fp32 with FP32TOFP16_EN");
    test_fly((Fly) { .w = 5, .h = 3, .c = 40, .prec = 2, .out = 0 }, fly_copy,
             "fp16 -> int8");
    test_fly((Fly) { .w = 5, .h = 3, .c = 40, .prec = 2, .out = 0,
                     .out_scale = 0x10001 }, fly_copy,
             "fp16 -> int8 with FP32TOFP16_EN");
    test_fly((Fly) { .w = 5, .h = 7, .c = 40, .prec = 2, .out = 2,
                     .ew = 0x303c0, .narrow = true, .out_scale = 1 },
             fly_div_halves, "fp16 / fp16, not widened");
    test_fly((Fly) { .w = 9, .h = 1, .c = 36, .prec = 4, .out = 4,
                     .ew = 0x203c0 }, fly_add_int, "int32 + int32 -> int32");
    test_fly((Fly) { .w = 9, .h = 1, .c = 36, .prec = 4, .out = 5,
                     .ew = 0x203c0 }, fly_add_int, "int32 + int32 -> fp32");
    test_fly((Fly) { .w = 1, .h = 1, .c = 512, .prec = 5, .out = 5,
                     .notch = 11, .ew = 0x3c4, .per_channel = true,
                     .bs = 0x42, .bs_mul = minus_1_5 }, fly_scaled,
             "fp32 row scaled, times halves per channel");
    test_fly((Fly) { .w = 3, .h = 4, .c = 20, .prec = 5, .out = 5,
                     .ew = 0x203c0 }, fly_add_float, "fp32 + fp32");
    test_fly((Fly) { .w = 6, .h = 70, .c = 24, .prec = 2, .out = 2,
                     .ew = 0x202c0 }, fly_add_float, "fp16 + fp16");
    test_fly((Fly) { .w = 6, .h = 7, .c = 20, .prec = 2, .out = 5,
                     .ew = 0x3c4 }, fly_mul_float, "fp16 * fp16 -> fp32");
    test_fly((Fly) { .w = 6, .h = 7, .c = 24, .prec = 2, .out = 2, .bs = 0x02,
                     .bs_mul = minus_1_5 }, fly_relu, "fp16 scaled, ReLU");
    test_fly_bf16();
}

/* The program with one more register written must not run. */
static void expect_refused(Prog *p, const char *what, const char *name,
                           uint16_t reg, uint32_t value, uint32_t enable,
                           NpuVerdict want)
{
    const char *why = NULL;
    NpuVerdict got;

    p->n -= 4;
    put(p, reg, value);
    tail(p, enable);
    got = run(p, &why);
    report(got == want && why && untouched(ADDR_C, 4096), "%s of %s", what,
           name);
    printf("# %s\n", why ? why : "accepted");
}

static void expect_fly_refusal(const char *name, uint16_t reg, uint32_t value,
                               uint32_t enable, NpuVerdict want)
{
    static const Fly f = {
        .w = 4, .h = 4, .c = 16, .prec = 4, .out = 4, .ew = 0x203c0,
    };
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    fly_prog(&p, &f);
    expect_refused(&p, "flying refusal", name, reg, value, enable, want);
}

static void test_fly_refusals(void)
{
    const uint32_t unimp = NPU_TASK_UNIMP, stall = NPU_TASK_STALL;

    expect_fly_refusal("no RDMA", 0x4004, 0xe, 0x08, stall);
    expect_fly_refusal("a main feed from the CORE", 0x400c, 0x1e4, 0x18,
                       unimp);
    expect_fly_refusal("MRDMA disabled", 0x5044, 0x27891, 0x18, unimp);
    expect_fly_refusal("MRDMA and ERDMA in turns", 0x5044, 0x27d81, 0x18,
                       unimp);
    expect_fly_refusal("RDMA of another precision", 0x5044, 0x7801, 0x18,
                       unimp);
    expect_fly_refusal("RDMA of another precision of as many bytes", 0x5044,
                       0x2f8a9, 0x18, unimp);
    expect_fly_refusal("int32 to int8", 0x4010, 4 << 26 | 4, 0x18, unimp);
    expect_fly_refusal("int32 to fp16", 0x4010, 2 << 29 | 4 << 26 | 4, 0x18,
                       unimp);
    expect_fly_refusal("FP32TOFP16_EN with int32", 0x4084, 0x10001, 0x18,
                       unimp);
    expect_fly_refusal("ERDMA disabled", 0x5034, 1, 0x18, stall);
    expect_fly_refusal("operands per channel", 0x5034, 0xc, 0x18, unimp);
    expect_fly_refusal("other RDMA cube", 0x500c, 2, 0x18, unimp);
    expect_fly_refusal("int32 division", 0x4070, 0x10c303c0, 0x18, unimp);
    expect_fly_refusal("unpooling", 0x5048, 1 << 12, 0x18, unimp);
    expect_fly_refusal("unmapped input", 0x5018, 0x1000, 0x18, stall);
    expect_fly_refusal("unmapped operand", 0x5038, 0x1000, 0x18, stall);
    expect_fly_refusal("huge surfaces", 0x500c, 8191, 0x18, unimp);
}

/* --- Activations by tables --- */

typedef struct Act {
    int shift;              /* log2 of index units per step */
    float scale;            /* index units per 1.0 of input; a half */
    uint32_t le_slope, le_slope_shift, lo_slope, lo_slope_shift;
    int offset, minus_exp;
} Act;

static void act_prog(Prog *p, const Act *a, int n)
{
    const Fly f = { .w = n / 8, .h = 1, .c = 8, .prec = 2, .out = 2 };

    fly_prog(p, &f);
    p->n -= 4;
    /* Selects reading, so that this entry changes nothing. */
    put(p, 0x4100, 0);
    put(p, 0x4104, 0x1234);
    put(p, 0x4060, 0x20040);
    put(p, 0x4064, 0x80000000);
    put(p, 0x4068, (uint32_t)npu_fp32_to_fp16(a->scale) << 16);
    put(p, 0x4070, 0x302);
    put(p, 0x4080, a->offset);
    put(p, 0x4088, 1u << 31 | a->minus_exp << 12);
    put(p, 0x4108, 0x68);
    put(p, 0x410c, a->shift << 16 | a->shift << 8);
    put(p, 0x4110, (uint32_t)-(512 << a->shift));
    put(p, 0x4114, 0);
    put(p, 0x4118, 0);
    put(p, 0x411c, 512 << a->shift);
    put(p, 0x4120, a->le_slope);
    put(p, 0x4124, a->le_slope_shift);
    put(p, 0x4128, a->lo_slope << 16);
    put(p, 0x412c, a->lo_slope_shift << 5);
    tail(p, 0x18);
}

static int32_t lut_value(const NpuLutUse *u, int32_t x)
{
    npu_lut_values(u, &x, 1);
    return x;
}

/*
 * Around the ends of both tables: above LO its upper halves say how it goes
 * on, below LE its lower ones, and the others nothing.
 */
static void test_lut_ends(void)
{
    static uint32_t regs[NPU_REGFILE_WORDS];
    static NpuLut lut, before;
    static NpuLutUse use;
    static const int32_t beyond[] = { 1, 2, 8191, 8192, 1 << 20 };
    const int32_t end = 16384, over = 0x4032, under = 23107;
    bool ok = true;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(lut.entry); i++) {
        lut.entry[i] = rnd();
        lut.written[i] = true;
    }
    regs[0x4108 / 4] = 0x68;
    regs[0x410c / 4] = 0x50500;
    regs[0x4110 / 4] = -end;
    regs[0x411c / 4] = end;
    regs[0x4120 / 4] = 0x7123u << 16 | under;
    regs[0x4124 / 4] = 3 << 5 | 12;
    regs[0x4128 / 4] = over << 16 | 0x4567;
    regs[0x412c / 4] = 13 << 5 | 4;
    /* Selects reading: what is written then changes nothing. */
    before = lut;
    npu_lut_access(&lut, 0);
    npu_lut_data(&lut, ~lut.entry[0]);
    report(!memcmp(lut.entry, before.entry, sizeof(lut.entry)),
           "LUT access of type 0");
    ok = !npu_lut_decode(&use, regs, &lut);
    ok = ok && lut_value(&use, end) == lut.entry[513 + 512] &&
         lut_value(&use, -end) == lut.entry[0] &&
         lut_value(&use, 0) == lut.entry[513] &&
         lut_value(&use, end - 32) == lut.entry[513 + 511] &&
         lut_value(&use, 32 - end) == lut.entry[1];
    for (i = 0; i < ARRAY_SIZE(beyond) && ok; i++) {
        double up = floor(ldexp((double)beyond[i] * over, -13));
        double down = floor(ldexp((double)-beyond[i] * under, -12));

        ok = lut_value(&use, end + beyond[i]) ==
             lut.entry[513 + 512] + up &&
             lut_value(&use, -end - beyond[i]) == lut.entry[0] + down;
    }
    report(ok, "LUT at and beyond both ends");
}

static void expect_lut_refusal(const char *name, uint16_t reg, uint32_t value)
{
    const Act a = { .shift = 5, .scale = 2596, .offset = 1, .minus_exp = 15 };
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    act_prog(&p, &a, 64);
    expect_refused(&p, "LUT refusal", name, reg, value, 0x18, NPU_TASK_UNIMP);
}

static void test_lut_refusals(void)
{
    expect_lut_refusal("the other road", 0x4108, 0x69);
    expect_lut_refusal("a range that the steps do not fill", 0x411c, 0x8000);
    expect_lut_refusal("a start inside", 0x4110, 0xffffd000);
    expect_lut_refusal("tiny steps that do not fit", 0x410c, 0x50400);
    expect_lut_refusal("huge steps", 0x410c, 0xffff00);
    expect_lut_refusal("two tables in one", 0x4108, 0x6a);
    expect_lut_refusal("OUT_CVT shift", 0x4088, 1u << 31 | 3);
    expect_lut_refusal("another multiplexer", 0x4108, 0x64);
}

/* --- Pooling --- */

static double ref_half(uint16_t h)
{
    int e = h >> 10 & 31;
    double m = h & 0x3ff;
    double v = e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);

    return h & 0x8000 ? -v : v;
}

typedef struct Pool {
    enum { AVERAGE, MAXIMUM, MINIMUM } method;
    int h, w, c, kh, kw, sy, sx;
    int top, left, bottom, right;
    int out_h, out_w;
    int extra;              /* positions behind each input line */
    int notch;              /* and behind each output line */
    uint16_t pad;
} Pool;

static int pool_area(const Pool *o)
{
    return (o->out_w + o->notch) * o->out_h;
}

static void pool_prog(Prog *p, const Pool *o)
{
    int line = o->w + o->extra;
    uint16_t rw = npu_fp32_to_fp16(65536.0f / o->kw);
    uint16_t rh = npu_fp32_to_fp16(65536.0f / o->kh);

    p->n = 0;
    put(p, 0x6004, 0xe);
    put(p, 0x7004, 0xe);
    put(p, 0x600c, o->w - 1);
    put(p, 0x6010, o->h - 1);
    put(p, 0x6014, o->c - 1);
    put(p, 0x6018, o->out_w - 1);
    put(p, 0x601c, o->out_h - 1);
    put(p, 0x6020, o->c - 1);
    put(p, 0x6024, (uint32_t)o->notch << 16 | 0x10 | o->method);
    put(p, 0x6034, (o->sy - 1) << 20 | (o->sx - 1) << 16 | (o->kh - 1) << 8 |
                   (o->kw - 1));
    put(p, 0x6038, o->method == AVERAGE ? rw : 0);
    put(p, 0x603c, o->method == AVERAGE ? rh : 0);
    put(p, 0x6040, o->bottom << 12 | o->right << 8 | o->top << 4 | o->left);
    put(p, 0x6044, o->pad);
    put(p, 0x6070, ADDR_C);
    put(p, 0x607c, pool_area(o) * 16);
    put(p, 0x6084, (pool_area(o) * 16) | 2);
    put(p, 0x60dc, 3);
    put(p, 0x700c, o->w - 1);
    put(p, 0x7010, o->h - 1);
    put(p, 0x7014, o->c - 1);
    put(p, 0x701c, ADDR_A);
    put(p, 0x7024, line * 16);
    put(p, 0x7028, line * o->h * 16);
    put(p, 0x7030, 2);
    tail(p, 0x60);
}

/* Square windows in a row of @w. */
static void test_pool_width(int k, int stride_y, int w, NpuVerdict want)
{
    Pool o = {
        .method = MAXIMUM, .c = 8, .h = k, .w = w, .kh = k, .kw = k,
        .sy = stride_y, .sx = stride_y, .out_h = 1,
        .out_w = (w - k) / stride_y + 1,
    };
    const char *why;
    Prog p;

    pool_prog(&p, &o);
    report(run(&p, &why) == want, "width of pooling %dx%d s%d: %d columns", k,
           k, stride_y, w);
}

static void test_pool_widths(void)
{
    test_pool_width(2, 1, 40, NPU_TASK_RUN);
    test_pool_width(3, 1, 34, NPU_TASK_RUN);
    test_pool_width(3, 1, 35, NPU_TASK_STALL);
    test_pool_width(3, 2, 129, NPU_TASK_RUN);
    test_pool_width(4, 1, 34, NPU_TASK_RUN);
    test_pool_width(4, 1, 36, NPU_TASK_STALL);
    test_pool_width(5, 1, 20, NPU_TASK_RUN);
    test_pool_width(5, 2, 24, NPU_TASK_STALL);
    test_pool_width(8, 1, 20, NPU_TASK_RUN);
    test_pool_width(8, 1, 24, NPU_TASK_STALL);
    test_pool_width(8, 8, 40, NPU_TASK_RUN);
}

static void expect_pool_refusal(const char *name, uint16_t reg, uint32_t value,
                                uint32_t enable, NpuVerdict want)
{
    static const Pool o = {
        .method = AVERAGE, .h = 8, .w = 8, .c = 8, .kh = 3, .kw = 3, .sy = 2,
        .sx = 2, .top = 1, .left = 1, .out_h = 4, .out_w = 4,
    };
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    pool_prog(&p, &o);
    expect_refused(&p, "pooling refusal", name, reg, value, enable, want);
}

static void test_pool_refusals(void)
{
    const NpuVerdict unimp = NPU_TASK_UNIMP;

    expect_pool_refusal("the PPU alone", 0x6004, 0xe, 0x20, unimp);
    expect_pool_refusal("int32", 0x6084, 4, 0x60, unimp);
    expect_pool_refusal("bytes from RDMA", 0x7030, 1, 0x60, unimp);
    expect_pool_refusal("method 3", 0x6024, 0x13, 0x60, unimp);
    expect_pool_refusal("input by the DPU", 0x6024, 0, 0x60, unimp);
    expect_pool_refusal("indices", 0x6024, 0x40000010, 0x60, unimp);
    expect_pool_refusal("windows outside", 0x6018, 4, 0x60, unimp);
    expect_pool_refusal("other output channels", 0x6020, 15, 0x60, unimp);
    expect_pool_refusal("other RDMA cube", 0x7010, 6, 0x60, unimp);
    expect_pool_refusal("reciprocal of nothing", 0x6038, 0, 0x60, unimp);
    expect_pool_refusal("negative reciprocal", 0x603c, 0x17800, 0x60, unimp);
    expect_pool_refusal("wide pad value", 0x6044, 0x7fc00, 0x60, unimp);
    expect_pool_refusal("unmapped input", 0x701c, 0x1000, 0x60,
                        NPU_TASK_STALL);
    expect_pool_refusal("unmapped output", 0x6070, 0x1000, 0x60,
                        NPU_TASK_STALL);
}

/* --- Scalars --- */

static void test_round_shift(void)
{
    bool ok = true;
    int s, v;

    for (s = 0; s < 12; s++) {
        for (v = -10000; v <= 10000; v++) {
            ok = ok && npu_round_shift(v, s, false) == ref_round(v, s);
            ok = ok &&
                 npu_round_shift(v, s, true) == ref_round_ties(v, s, true);
        }
    }
    ok = ok && npu_round_shift(6, 2, false) == 2;       /* 1.5 */
    ok = ok && npu_round_shift(10, 2, false) == 2;      /* 2.5 */
    ok = ok && npu_round_shift(10, 2, true) == 3;
    ok = ok && npu_round_shift(-10, 2, false) == -2;
    ok = ok && npu_round_shift(-10, 2, true) == -2;
    ok = ok && npu_round_shift(-6, 2, true) == -1;
    ok = ok && npu_round_shift(1ll << 47, 63, true) == 0;
    ok = ok && npu_round_shift(-(1ll << 47), 62, true) == 0;
    report(ok, "rounding shift");
}

static void test_half(void)
{
    bool widen = true, narrow = true, ties = true;
    uint32_t h;

    for (h = 0; h < 0x10000; h++) {
        float f = npu_fp16_to_fp32(h);

        if ((h & 0x7c00) == 0x7c00) {
            widen = widen && (h & 0x3ff ? isnan(f) : isinf(f) &&
                              !!signbit(f) == h >> 15);
            narrow = narrow && (h & 0x3ff ? npu_fp32_to_fp16(f) == 0x7e00
                                          : npu_fp32_to_fp16(f) == h);
            continue;
        }
        widen = widen && f == ref_half(h) && !!signbit(f) == h >> 15;
        narrow = narrow && npu_fp32_to_fp16(f) == h;
        if ((h & 0x7fff) < 0x7bff) {
            /* Half way to the next: the even one; a bit less or more: not. */
            float mid = (ref_half(h) + ref_half(h + 1)) / 2;
            float far = nextafterf(mid, signbit(f) ? -1e9f : 1e9f);
            float near = nextafterf(mid, 0);

            ties = ties && npu_fp32_to_fp16(mid) == h + (h & 1);
            ties = ties && npu_fp32_to_fp16(far) == h + 1;
            ties = ties && npu_fp32_to_fp16(near) == h;
        }
    }
    ties = ties && npu_fp32_to_fp16(65519.996f) == 0x7bff;
    ties = ties && npu_fp32_to_fp16(65520.0f) == 0x7c00;
    ties = ties && npu_fp32_to_fp16(-1e30f) == 0xfc00;
    ties = ties && npu_fp32_to_fp16(ldexpf(1, -100)) == 0;
    report(widen, "half to float, all values");
    report(narrow, "float to half, all halves");
    report(ties, "float to half, ties, overflow and underflow");
}

static void test_cmd(void)
{
    NpuCmd c = npu_cmd_decode(0x0201deadbeef1010ull);
    bool ok = c.kind == NPU_CMD_WRITE && !c.mismatch && c.reg == 0x1010 &&
              c.value == 0xdeadbeef;

    c = npu_cmd_decode(0x1001000000001010ull);
    ok = ok && c.kind == NPU_CMD_WRITE && c.mismatch;
    c = npu_cmd_decode(0x00810000001d0008ull);
    ok = ok && c.kind == NPU_CMD_ENABLE && c.value == 0x1d;
    ok = ok && npu_cmd_decode(0).kind == NPU_CMD_NOP;
    ok = ok && npu_cmd_decode(0x0041ull << 48).kind == NPU_CMD_NOP;
    ok = ok && npu_cmd_decode(~0ull).kind == NPU_CMD_BAD;
    ok = ok && npu_cmd_decode(0x0201ull << 48 | 0x9010).kind == NPU_CMD_BAD;
    ok = ok && npu_cmd_decode(0x0201ull << 48 | 0x1011).kind == NPU_CMD_BAD;
    report(ok, "command entries");
}

/* --- Random programs of every block against the references --- */

/* --- What must be refused --- */

static void expect_refusal(const char *name, uint16_t reg, uint32_t value,
                           NpuVerdict want)
{
    const char *why = NULL;
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    conv_prog(&p);
    if (run(&p, &why) != NPU_TASK_RUN) {
        report(false, "refusal of %s: refused without it: %s", name, why);
        return;
    }
    memset(at(ADDR_C), POISON, 4096);
    expect_refused(&p, "refusal", name, reg, value, 0x1d, want);
}

static void test_refusals(void)
{
    expect_refusal("depthwise in the CNA alone", 0x100c, 3, NPU_TASK_UNIMP);
    expect_refusal("convolution mode 1", 0x100c, 1, NPU_TASK_UNIMP);
    expect_refusal("int4", 0x100c, 6 << 7 | 6 << 4, NPU_TASK_UNIMP);
    expect_refusal("packed pixels of 16 channels", 0x100c, 0x60008000,
                   NPU_TASK_UNIMP);
    expect_refusal("three packed channels", 0x100c, 0x6000a000,
                   NPU_TASK_UNIMP);
    expect_refusal("EW without its operand", 0x4070, 0x904202c0,
                   NPU_TASK_STALL);
    expect_refusal("LUT", 0x4070, 0x302, NPU_TASK_UNIMP);
    expect_refusal("MRDMA pair that EW ignores", 0x5044, 0x7d00,
                   NPU_TASK_UNIMP);
    expect_refusal("AMOUNT without decompression", 0x1140, 9, NPU_TASK_UNIMP);
    expect_refusal("REGNUM without decompression", 0x1104, 0x55555555,
                   NPU_TASK_UNIMP);
    expect_refusal("decompression without REGNUM", 0x1100, 1, NPU_TASK_UNIMP);
    expect_refusal("another decompression", 0x1100, 2, NPU_TASK_UNIMP);
    expect_refusal("weight size that does not fit", 0x1034, 17,
                   NPU_TASK_UNIMP);
    expect_refusal("EW division", 0x4070, 3 << 16 | 0x380, NPU_TASK_UNIMP);
    expect_refusal("int16 output", 0x4010, 1 << 29, NPU_TASK_STALL);
    expect_refusal("output to the PPU", 0x400c, 0x1e2, NPU_TASK_UNIMP);
    expect_refusal("flying DPU after a CORE", 0x400c, 0x1e5, NPU_TASK_UNIMP);
    expect_refusal("output height that differs", 0x4034, 5, NPU_TASK_UNIMP);
    expect_refusal("empty MRDMA", 0x5044, 0x7800, NPU_TASK_STALL);
    expect_refusal("bias that is not fetched", 0x501c, 0, NPU_TASK_STALL);
    expect_refusal("packed bias", 0x501c, 0xe, NPU_TASK_UNIMP);
    expect_refusal("unmapped feature data", 0x1070, 0x1000, NPU_TASK_STALL);
    expect_refusal("feature data beyond 4 GiB", 0x1070, 0xfffffff0,
                   NPU_TASK_STALL);
    expect_refusal("unmapped output", 0x4020, 0x1000, NPU_TASK_STALL);
}

static void test_cancel(void)
{
    const MatMul mm = { I8_I32, 64, 512, 256 };
    uint32_t regs[NPU_REGFILE_WORDS] = { 0 };
    NpuTaskOptions opt = { .write_padding = true };
    NpuOperands in = { 0 };
    const char *why;
    int stop = 1;
    uint8_t *out;
    NpuTask t;
    Prog p;
    unsigned i;
    bool ok;

    matmul_prog(&p, &mm);
    for (i = 0; i < p.n - 4; i++) {
        NpuCmd cmd = npu_cmd_decode(p.cmd[i]);

        regs[cmd.reg / 4] = cmd.value;
    }
    ok = npu_task_decode(&t, regs, 0x0d, &opt, &why) == NPU_TASK_RUN;
    out = malloc(t.dpu.out.cube.bytes);
    in.feature = in.weights = mem;
    in.cancel = &stop;
    ok = ok && !npu_task_compute(&t, &in, out);
    stop = 0;
    ok = ok && npu_task_compute(&t, &in, out);
    ok = ok && t.macs == 64u * 512 * 256;
    report(ok, "cancelling");
    free(out);
}

static bool decode_matmul(NpuTask *t, const MatMul *mm)
{
    uint32_t regs[NPU_REGFILE_WORDS] = { 0 };
    NpuTaskOptions opt = { .write_padding = true };
    const char *why;
    Prog p;
    unsigned i;

    matmul_prog(&p, mm);
    for (i = 0; i < p.n - 4; i++) {
        NpuCmd cmd = npu_cmd_decode(p.cmd[i]);

        regs[cmd.reg / 4] = cmd.value;
    }
    return npu_task_decode(t, regs, 0x0d, &opt, &why) == NPU_TASK_RUN;
}

static void test_cost(void)
{
    const MatMul small = { I8_I32, 64, 512, 256 };
    const MatMul big = { I8_I32, 352, 1024, 1024 };
    NpuCost cost;
    NpuTask t;
    bool ok;

    /* Bound by memory: A, B and C by 16 bytes, bursts of 256, 10 us. */
    ok = decode_matmul(&t, &small);
    npu_task_cost(&t, &cost);
    report(ok && cost.bytes == 64 * 512 + 512 * 256 + 64 * 256 * 4 &&
           cost.cycles == 2000 + cost.bytes / 16 + cost.bytes / 256 * 7,
           "cost of a product bound by memory");

    /* Bound by 32 x 32 products per cycle but one cycle in nine. */
    ok = decode_matmul(&t, &big);
    npu_task_cost(&t, &cost);
    report(ok && cost.cycles > 352 * 32 * 32 * 9 / 8 + 2000 &&
           cost.cycles < 352 * 32 * 32 * 9 / 8 + 6000,
           "cost of a product bound by the array");
    report(cost.at[NPU_EVENT_FEATURE] &&
           cost.at[NPU_EVENT_FEATURE] < cost.at[NPU_EVENT_WEIGHT] &&
           cost.at[NPU_EVENT_WEIGHT] < cost.at[NPU_EVENT_CSC] &&
           cost.at[NPU_EVENT_CSC] < cost.at[NPU_EVENT_CORE] &&
           cost.at[NPU_EVENT_CORE] < cost.cycles, "order of the blocks");

    /* What is in CBUF already is not fetched. */
    t.conv.weight_reuse = t.conv.data_reuse = true;
    npu_task_cost(&t, &cost);
    report(cost.bytes == 352 * 1024 * 4, "cost of reused operands");
}

/* The largest product of a public client's tests, and a larger one. */
static void test_weight_bound(void)
{
    static const MatMul most = { F16_F16, 1, 8192, 8192 };
    static const MatMul more = { F16_F16, 1, 8192, 8224 };
    NpuTask t;

    report(decode_matmul(&t, &most) &&
           t.conv.weight_bytes == 8192 * 8192 * 2, "128 MiB of weights");
    report(!decode_matmul(&t, &more), "refusal of more weights");
}

static void test_share(void)
{
    static const struct {
        uint64_t demand[3], total, want[3];
    } c[] = {
        { { 100, 200, 300 }, 0, { 100, 200, 300 } },
        { { 100, 200, 300 }, 600, { 100, 200, 300 } },
        { { 300, 300, 300 }, 600, { 200, 200, 200 } },
        { { 100, 300, 400 }, 600, { 100, 250, 250 } },
        { { 100, 210, 900 }, 600, { 100, 210, 290 } },
        { { 0, 0, 900 }, 600, { 0, 0, 600 } },
        { { 0, 0, 0 }, 600, { 0, 0, 0 } },
    };
    uint64_t grant[3];
    bool ok = true;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(c); i++) {
        npu_share_memory(c[i].demand, grant, 3, c[i].total);
        ok = ok && !memcmp(grant, c[i].want, sizeof(grant));
    }
    report(ok, "shares of the memory");
}

int main(void)
{
    rnd_state = 88172645463325252ull;
    printf("TAP version 13\n");
    test_cmd();
    test_round_shift();
    test_half();
    test_flying();
    test_fly_refusals();
    test_lut_ends();
    test_lut_refusals();
    test_pool_widths();
    test_pool_refusals();
    test_refusals();
    test_cancel();
    test_cost();
    test_weight_bound();
    test_share();
    printf("1..%u\n", tests);
    return failures != 0;
}
