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

#define ADDR_A          (MEM_BASE + 0x000000)
#define ADDR_B          (MEM_BASE + 0x800000)
#define ADDR_C          (MEM_BASE + 0x1000000)
#define ADDR_BIAS       (MEM_BASE + 0x1700000)
#define ADDR_E          (MEM_BASE + 0x1600000)

static bool quick;

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

/* Change the value of every write of @reg in @p. */
static void patch(Prog *p, uint16_t reg, uint32_t value)
{
    unsigned i;

    for (i = 0; i < p->n; i++) {
        if ((uint16_t)p->cmd[i] == reg && p->cmd[i] >> 48 != 0x0081) {
            p->cmd[i] = (p->cmd[i] & 0xffff00000000ffffull) |
                        (uint64_t)value << 16;
        }
    }
}

/* --- Matrix products: C[M,N] = A[M,K] * B[N,K]^T --- */

typedef enum { I8_I32, F16_F32, F16_F16 } MmType;

typedef struct MatMul {
    MmType type;
    int m, k, n;
    bool row_major;
} MatMul;

static bool is_f16(const MatMul *mm)
{
    return mm->type != I8_I32;
}

static void matmul_prog(Prog *p, const MatMul *mm)
{
    unsigned bpe = is_f16(mm) ? 2 : 1;
    unsigned e = mm->type == I8_I32 ? 7 : mm->type == F16_F32 ? 3 : 1;
    unsigned out_bytes = mm->type == F16_F16 ? 2 : 4;
    int surf = mm->m == 1 ? -3 : 4 * (mm->m / 4 - 1);
    uint32_t pitch = mm->n * out_bytes / 16;
    unsigned i;

    p->n = 0;
    put(p, 0x4004, 0xe);
    put(p, 0x100c, (is_f16(mm) ? 0x120 : 0) |
                   (mm->row_major ? 1u << 29 : 0));
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
    put(p, 0x107c, mm->row_major ? mm->k * bpe / 16 : 4);
    put(p, 0x1080, mm->row_major ? 0 : (uint32_t)surf & 0xfffffff);
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
    put(p, 0x4024, mm->row_major ? 16 : mm->m << 4);
    put(p, 0x4030, 0);
    put(p, 0x4034, mm->m - 1);
    put(p, 0x4038, mm->row_major ? (pitch - 1) << 16 | (pitch - 1) : 0);
    put(p, 0x403c, (uint32_t)(mm->n - 1) << 16 | (mm->n - 1));
    put(p, 0x4040, 0x53);
    put(p, 0x4050, e * 0x124 | 2);
    put(p, 0x4058, mm->n - 1);
    put(p, 0x405c, (mm->m - 1) << 16);
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4078, 1);
    put(p, 0x4084, mm->type == F16_F16 ? 0x10001 : 1);
    put(p, 0x40c0, mm->row_major ? 16 * (e + 1) : (mm->m * (e + 1)) << 4);
    tail(p, 0x0d);
}

static size_t a_index(const MatMul *mm, int m, int k)
{
    int c2 = is_f16(mm) ? 8 : 16;

    return mm->row_major ? (size_t)m * mm->k + k
                         : ((size_t)(k / c2) * mm->m + m) * c2 + k % c2;
}

static size_t b_index(const MatMul *mm, int n, int k)
{
    int kg = is_f16(mm) ? 16 : 32;

    return (size_t)(n / kg) * kg * mm->k + (size_t)(k / 32) * kg * 32 +
           n % kg * 32 + k % 32;
}

static size_t c_index(const MatMul *mm, int m, int n)
{
    int c2 = mm->type == F16_F16 ? 8 : 4;

    return mm->row_major ? (size_t)m * mm->n + n
                         : ((size_t)(n / c2) * mm->m + m) * c2 + n % c2;
}

static uint16_t rnd_half(bool small_int)
{
    if (small_int) {
        return npu_fp32_to_fp16((float)rnd_in(-8, 8));
    }
    return (rnd() & 0x83ff) | (uint32_t)rnd_in(8, 17) << 10;
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

static bool mm_check_int(const MatMul *mm, const int8_t *a, const int8_t *b)
{
    int m, n, k;

    for (m = 0; m < mm->m; m++) {
        for (n = 0; n < mm->n; n++) {
            int32_t want = 0, got;

            for (k = 0; k < mm->k; k++) {
                want += a[m * mm->k + k] * b[n * mm->k + k];
            }
            memcpy(&got, at(ADDR_C) + 4 * c_index(mm, m, n), 4);
            if (got != want) {
                printf("# (%d,%d): %d, want %d\n", m, n, got, want);
                return false;
            }
        }
    }
    return true;
}

static bool mm_check_f16(const MatMul *mm, const float *a, const float *b)
{
    int m, n;

    for (m = 0; m < mm->m; m++) {
        for (n = 0; n < mm->n; n++) {
            float want = half_products(a + m * mm->k, b + n * mm->k, mm->k);
            const uint8_t *p = at(ADDR_C);
            float got;

            if (mm->type == F16_F32) {
                memcpy(&got, p + 4 * c_index(mm, m, n), 4);
            } else {
                uint16_t h;

                memcpy(&h, p + 2 * c_index(mm, m, n), 2);
                got = npu_fp16_to_fp32(h);
                want = npu_fp16_to_fp32(npu_fp32_to_fp16(want));
            }
            if (memcmp(&got, &want, 4)) {
                printf("# (%d,%d): %g, want %g\n", m, n, got, want);
                return false;
            }
        }
    }
    return true;
}

/* CPU time: the machine may be busy with other things. */
static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec + ts.tv_nsec / 1000000000.0;
}

static void test_matmul(MatMul mm, bool small_ints)
{
    static const char *const name[] = {
        "int8->int32", "fp16->fp32", "fp16->fp16",
    };
    size_t na = (size_t)mm.m * mm.k, nb = (size_t)mm.n * mm.k, i;
    size_t c_bytes = (size_t)mm.m * mm.n * (mm.type == F16_F16 ? 2 : 4);
    int8_t *a8 = malloc(na), *b8 = malloc(nb);
    float *af = malloc(na * 4), *bf = malloc(nb * 4);
    double start;
    Prog p;
    bool ok;

    memset(mem, POISON, MEM_SIZE);
    for (i = 0; i < na; i++) {
        size_t to = a_index(&mm, i / mm.k, i % mm.k);
        uint16_t h = rnd_half(small_ints);

        a8[i] = rnd();
        af[i] = npu_fp16_to_fp32(h);
        memcpy(is_f16(&mm) ? at(ADDR_A) + 2 * to : at(ADDR_A) + to,
               is_f16(&mm) ? (void *)&h : (void *)&a8[i],
               is_f16(&mm) ? 2 : 1);
    }
    for (i = 0; i < nb; i++) {
        size_t to = b_index(&mm, i / mm.k, i % mm.k);
        uint16_t h = rnd_half(small_ints);

        b8[i] = rnd();
        bf[i] = npu_fp16_to_fp32(h);
        memcpy(is_f16(&mm) ? at(ADDR_B) + 2 * to : at(ADDR_B) + to,
               is_f16(&mm) ? (void *)&h : (void *)&b8[i],
               is_f16(&mm) ? 2 : 1);
    }
    matmul_prog(&p, &mm);
    start = now();
    ok = run_ok(&p);
    start = now() - start;
    ok = ok && (is_f16(&mm) ? mm_check_f16(&mm, af, bf)
                            : mm_check_int(&mm, a8, b8));
    ok = ok && untouched(ADDR_C + c_bytes, 4096) && untouched(ADDR_C - 16, 16);
    report(ok, "matmul %s %dx%dx%d%s%s", name[mm.type], mm.m, mm.k, mm.n,
           small_ints ? " small integers" : "",
           mm.row_major ? " row major" : "");
    printf("# %.3f s, %.2f GMAC/s\n", start,
           (double)mm.m * mm.k * mm.n / start / 1000000000);
    free(a8);
    free(b8);
    free(af);
    free(bf);
}

/* --- Quantised convolutions --- */

typedef struct Conv {
    int in_h, in_w, ic, oc;
    int kh, kw, sy, sx, dy, dx;
    int pad_top, pad_left, out_h, out_w;
    int pad;                /* value at padded positions */
    int ow;                 /* added to every weight */
    int truncate;
    bool truncate_up;
    int scale, shift, offset;
    bool ties_up, offset_first;
    bool to_int32;
    bool relu;
    int notch;
    bool depthwise;         /* oc = ic */
    enum { EW_NONE, EW_ADD, EW_MINUS, EW_MAX, EW_MIN, EW_MUL } ew;
    int ew_offset, ew_scale, ew_shift;
    bool ew_relu;
    int ew_rows;            /* of the tensor that operands come from; 0: all */
    bool packed;            /* one channel of unsigned bytes */
    int in_scale, in_shift, in_offset;
    bool in_signed, in_ties_up, in_offset_first;
    int dma_width;          /* of packed pixels, if it is not in_w */
    const int8_t *e;        /* EW operands by row, column and channel */
} Conv;

static int align(int v, int a)
{
    return (v + a - 1) / a * a;
}

static int kernel_count(const Conv *c)
{
    return c->depthwise ? 1 : align(c->oc, 2);
}

static int written_channels(const Conv *c)
{
    return align(c->oc, c->depthwise ? 64 : 32);
}

/* An operand tensor of 16-channel surfaces, fetched by two engines. */
static void put_ew(Prog *p, const Conv *c, uint32_t mode)
{
    static const uint32_t algo[] = {
        [EW_ADD] = 2 << 16, [EW_MINUS] = 4 << 16, [EW_MAX] = 0,
        [EW_MIN] = 1 << 16, [EW_MUL] = 1 << 2,
    };
    uint32_t surf = (c->ew_rows ? c->ew_rows : c->out_h) * c->out_w * 16;

    put(p, 0x4070, 1u << 31 | 1 << 28 | 1 << 22 | 1 << 7 | 1 << 6 |
                   !c->ew_relu << 9 | algo[c->ew]);
    put(p, 0x4074, c->ew_offset);
    put(p, 0x4078, c->ew_shift << 16 | (c->ew_scale & 0xffff));
    put(p, 0x5018, ADDR_E);
    put(p, 0x5034, 0x40000004);
    put(p, 0x5038, ADDR_E + surf);
    put(p, 0x5040, surf);
    put(p, 0x5044, 0x7d00 | mode << 1);
    put(p, 0x504c, 2 * surf - c->out_w * c->out_h * 16);
    put(p, 0x506c, 2 * surf - c->out_w * c->out_h * 16);
}

static void put_packed(Prog *p, const Conv *c)
{
    uint32_t t = c->in_shift;

    put(p, 0x100c, 0x60008000);
    put(p, 0x104c, t << 22 | t << 16 | t << 10 | t << 4 | c->in_signed << 3 |
                   c->in_ties_up << 2 | c->in_offset_first << 1);
    put(p, 0x1050, (uint32_t)c->in_scale << 16 | (c->in_offset & 0xffff));
    put(p, 0x107c, c->in_w + 5);
    put(p, 0x1084, (c->dma_width ? c->dma_width : c->in_w) << 16 | c->in_h);
    put(p, 0x1180, 0xffff);
}

static void conv_prog(Prog *p, const Conv *c)
{
    int ic = align(c->ic, 16), kernels = kernel_count(c);
    int oc = written_channels(c);
    int e = c->to_int32 ? 7 : c->depthwise ? 3 : 1;
    uint32_t mode = c->depthwise ? 3 : 0;
    int surf = (c->out_w + c->notch) * c->out_h * 16;

    p->n = 0;
    put(p, 0x100c, mode);
    put(p, 0x4004, 0xe);
    put(p, 0x5004, 0xe);
    put(p, 0x1010, (50 + c->sy + 1) << 4);
    put(p, 0x1014, (c->dy - 1) << 21 | (c->dx - 1) << 16 | c->sy << 3 | c->sx);
    put(p, 0x1020, c->in_w << 16 | c->in_h);
    put(p, 0x1024, (c->ic - 1) << 16 | ic);
    put(p, 0x1028, c->out_w);
    put(p, 0x102c, c->out_w * c->out_h);
    put(p, 0x1030, c->kw * c->kh * ic * kernels);
    put(p, 0x1034, c->kw * c->kh * ic);
    put(p, 0x1038, c->kw << 24 | c->kh << 16 | kernels);
    put(p, 0x1040, 6 << 4 | 6);
    put(p, 0x104c, 0xb);
    put(p, 0x1068, c->pad_left << 4 | c->pad_top);
    put(p, 0x1070, ADDR_A);
    put(p, 0x107c, 4 * c->in_w);
    put(p, 0x1080, (uint32_t)(c->in_w * (c->in_h - 4)) & 0xfffffff);
    put(p, 0x1084, c->in_w << 16 | c->in_h);
    put(p, 0x1088, ic);
    put(p, 0x1110, ADDR_B);
    put(p, 0x1184, (c->pad & 0xff) * 0x101);
    put(p, 0x3010, 1 | c->depthwise << 1);
    put(p, 0x3014, (c->out_h - 1) << 16 | (c->out_w - 1));
    put(p, 0x3018, oc - 1);
    put(p, 0x301c, c->truncate_up << 6 | c->truncate);
    put(p, 0x400c, 0x1e4 | mode << 3);
    put(p, 0x4010, c->to_int32 ? 4u << 29 : 0);
    put(p, 0x4014, 0x17);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, surf);
    put(p, 0x4030, c->out_w - 1);
    put(p, 0x4034, c->out_h - 1);
    put(p, 0x4038, c->notch << 16 | c->notch);
    put(p, 0x403c, (c->oc - 1) << 16 | (oc - 1));
    put(p, 0x4040, c->relu ? 0x20110 : 0x20150);
    put(p, 0x4050, e * 0x124 | (c->ow ? 0 : 2));
    put(p, 0x4054, c->ow & 0xffff);
    put(p, 0x4058, oc - 1);
    put(p, 0x405c, (c->out_h - 1) << 16 | (c->out_w - 1));
    put(p, 0x4060, 0x53);
    put(p, 0x4070, 0x383);
    put(p, 0x4080, c->offset);
    put(p, 0x4084, c->scale);
    put(p, 0x4088, (uint32_t)c->offset_first << 31 | c->ties_up << 30 |
                   c->shift);
    put(p, 0x40c0, surf * (e + 1));
    put(p, 0x500c, c->out_w - 1);
    put(p, 0x5010, c->out_h - 1);
    put(p, 0x5014, oc - 1);
    put(p, 0x501c, 2);
    put(p, 0x5020, ADDR_BIAS);
    put(p, 0x5034, 1);
    put(p, 0x5044, 0x7810 | mode << 1);
    if (c->ew) {
        put_ew(p, c, mode);
    }
    if (c->packed) {
        put_packed(p, c);
    }
    tail(p, 0x1d);
}

/* floor((2p + 2^s) / 2^(s+1)), one less on an odd tie when those go to even */
static int64_t ref_round(int64_t p, int s, bool up)
{
    int64_t den = (int64_t)1 << (s + 1);
    int64_t num = 2 * p + ((int64_t)1 << s);
    int64_t q = num / den;

    if (num % den < 0) {
        q--;
    }
    if (s && !up && num % den == 0 && q % 2) {
        q--;
    }
    return q;
}

/*
 * OUT_CVT sends the ties that are not for even away from zero, those of the sum
 * with its offset.
 */
static int64_t ref_away(int64_t p, int s, bool away)
{
    return p < 0 ? -ref_round(-p, s, away) : ref_round(p, s, away);
}

static int64_t ref_clip(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t ref_ew(const Conv *c, int64_t acc, int oc, int oy, int ox)
{
    int64_t e = c->e[(oy * c->out_w + ox) * written_channels(c) + oc];

    e = ref_round((e + c->ew_offset) * c->ew_scale, c->ew_shift, false);
    switch (c->ew) {
    case EW_ADD:
        acc += e;
        break;
    case EW_MINUS:
        acc -= e;
        break;
    case EW_MAX:
        acc = acc > e ? acc : e;
        break;
    case EW_MIN:
        acc = acc < e ? acc : e;
        break;
    default:
        acc *= e;
    }
    acc = ref_clip(acc, INT32_MIN, INT32_MAX);
    return c->ew_relu && acc < 0 ? 0 : acc;
}

static int64_t ref_output(const Conv *c, const int8_t *x, const int8_t *w,
                          int32_t bias, int oc, int oy, int ox)
{
    int ic = align(c->ic, 16), ky, kx, ch;
    int first = c->depthwise ? oc : 0, end = c->depthwise ? oc + 1 : ic;
    int64_t acc = 0;

    for (ky = 0; ky < c->kh; ky++) {
        for (kx = 0; kx < c->kw; kx++) {
            int y = oy * c->sy - c->pad_top + ky * c->dy;
            int xx = ox * c->sx - c->pad_left + kx * c->dx;
            bool in = y >= 0 && y < c->in_h && xx >= 0 && xx < c->in_w;

            for (ch = first; ch < end; ch++) {
                int v = in ? x[(y * c->in_w + xx) * ic + ch] : c->pad;

                acc += v * (w[(ky * c->kw + kx) * ic + ch] + c->ow);
            }
        }
    }
    acc = ref_clip(ref_round(acc, c->truncate, c->truncate_up), INT32_MIN,
                   INT32_MAX);
    acc = ref_clip(acc + bias, INT32_MIN, INT32_MAX);
    if (c->relu && acc < 0) {
        acc = 0;
    }
    if (c->ew) {
        acc = ref_ew(c, acc, oc, oy, ox);
    }
    if (c->offset_first) {
        acc = ref_away((acc + c->offset) * c->scale, c->shift, c->ties_up);
    } else {
        acc = ref_away(acc * c->scale + c->offset * ((int64_t)1 << c->shift),
                       c->shift, c->ties_up);
    }
    return c->to_int32 ? ref_clip(acc, INT32_MIN, INT32_MAX)
                       : ref_clip(acc, -128, 127);
}

/* Kernel-group, channel-group, ky, kx, kernel, channel; all compact. */
static void store_weights(const Conv *c, const int8_t *w)
{
    int ic = align(c->ic, 16), kernels = kernel_count(c);
    uint8_t *p = at(ADDR_B);
    int kg, cg, tap, k, ch;

    if (c->depthwise) {
        for (cg = 0; cg < ic; cg += 64) {
            for (tap = 0; tap < c->kh * c->kw; tap++) {
                for (ch = cg; ch < cg + 64 && ch < ic; ch++) {
                    *p++ = w[tap * ic + ch];
                }
            }
        }
        return;
    }

    for (kg = 0; kg < kernels; kg += 32) {
        for (cg = 0; cg < ic; cg += 32) {
            for (tap = 0; tap < c->kh * c->kw; tap++) {
                for (k = kg; k < kg + 32 && k < kernels; k++) {
                    for (ch = cg; ch < cg + 32 && ch < ic; ch++) {
                        *p++ = w[(k * c->kh * c->kw + tap) * ic + ch];
                    }
                }
            }
        }
    }
}

static int64_t load_output(const Conv *c, int ch, int y, int x)
{
    int per = c->to_int32 ? 4 : 16, surf = ch / per;
    int at_pos = y * c->out_w + x;
    size_t pos;
    int32_t v;

    if (c->to_int32 && c->depthwise) {
        deal_words(8, c->out_w * c->out_h, &surf, &at_pos);
    }
    pos = ((size_t)surf * c->out_h + at_pos / c->out_w) *
          (c->out_w + c->notch) + at_pos % c->out_w;

    if (!c->to_int32) {
        return (int8_t)at(ADDR_C)[pos * 16 + ch % 16];
    }
    memcpy(&v, at(ADDR_C) + pos * 16 + ch % 4 * 4, 4);
    return v;
}

static bool conv_check(const Conv *c, const int8_t *x, const int8_t *w,
                       const int32_t *bias)
{
    int per_kernel = c->depthwise ? 0 : c->kh * c->kw * align(c->ic, 16);
    int y, xx, ch;

    for (ch = 0; ch < written_channels(c); ch++) {
        for (y = 0; y < c->out_h; y++) {
            for (xx = 0; xx < c->out_w; xx++) {
                int64_t got = load_output(c, ch, y, xx);
                int64_t want = ch >= c->oc ? 0x17 :
                    ref_output(c, x, w + (size_t)ch * per_kernel, bias[ch],
                               ch, y, xx);

                if (got != want) {
                    printf("# channel %d (%d,%d): %d, want %d\n", ch, y, xx,
                           (int)got, (int)want);
                    return false;
                }
            }
        }
    }
    return true;
}

/* Only surfaces with computed channels exist in memory. */
static int8_t *store_ew(const Conv *c)
{
    int channels = written_channels(c), i;
    int rows = c->ew_rows ? c->ew_rows : c->out_h;
    int8_t *e = malloc(c->out_h * c->out_w * channels);

    for (i = 0; i < c->out_h * c->out_w * channels; i++) {
        int ch = i % channels, pos = i / channels;

        e[i] = rnd();
        if (ch / 16 * 16 < c->oc) {
            *at(ADDR_E + (ch / 16 * rows * c->out_w + pos) * 16 + ch % 16) =
                e[i];
        }
    }
    return e;
}

/* What the converter has to make of the byte that is stored. */
static int8_t store_pixel(const Conv *c, int pos, uint8_t raw)
{
    int before = c->in_offset_first ? c->in_offset : 0;
    int64_t v = c->in_signed ? (int8_t)raw : raw;

    *at(ADDR_A + pos / c->in_w * (c->in_w + 5) + pos % c->in_w) = raw;
    v = ref_round((v + before) * c->in_scale, c->in_shift, c->in_ties_up);
    return ref_clip(v + c->in_offset - before, -128, 127);
}

static void test_conv(Conv c, const char *name)
{
    int ic = align(c.ic, 16), kernels = kernel_count(&c);
    size_t nx = (size_t)c.in_h * c.in_w * ic, i;
    size_t nw = (size_t)kernels * c.kh * c.kw * ic;
    int8_t *x = malloc(nx), *w = malloc(nw);
    int32_t bias[1024];
    int8_t *e = NULL;
    Prog p;
    bool ok;

    memset(mem, POISON, MEM_SIZE);
    if (c.ew) {
        c.e = e = store_ew(&c);
    }
    for (i = 0; i < nx; i++) {
        int ch = i % ic, pos = i / ic;

        x[i] = rnd();
        if (c.packed) {
            x[i] = ch ? 0 : store_pixel(&c, pos, x[i]);
            continue;
        }
        *at(ADDR_A + (ch / 16 * c.in_h * c.in_w + pos) * 16 + ch % 16) = x[i];
    }
    for (i = 0; i < nw; i++) {
        w[i] = rnd();
    }
    for (i = 0; i < (size_t)written_channels(&c); i++) {
        bias[i] = rnd_in(-20000, 20000);
    }
    memcpy(at(ADDR_BIAS), bias, 4 * written_channels(&c));
    store_weights(&c, w);
    conv_prog(&p, &c);
    ok = run_ok(&p) && conv_check(&c, x, w, bias);
    ok = ok && untouched(ADDR_C + (c.out_w + c.notch) * c.out_h *
                         written_channels(&c) * (c.to_int32 ? 4 : 1), 4096);
    report(ok, "conv %s", name);
    free(x);
    free(w);
    free(e);
}

static void test_convs(void)
{
    const Conv base = {
        .in_h = 8, .in_w = 8, .ic = 32, .oc = 32, .kh = 3, .kw = 3, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .pad_top = 1, .pad_left = 1, .out_h = 8,
        .out_w = 8, .pad = -7, .ow = 12, .scale = 0x5a31, .shift = 24,
        .offset = -3,
    };
    Conv c = base;

    test_conv(c, "3x3 s1 same");
    c.out_h = c.out_w = 4;
    c.sx = c.sy = 2;
    test_conv(c, "3x3 s2 same");
    c.pad_top = c.pad_left = 0;
    c.out_h = c.out_w = 3;
    test_conv(c, "3x3 s2 valid");
    c = base;
    c.ic = 40;
    c.oc = 39;
    test_conv(c, "partial channel and kernel groups");
    c.ic = 17;
    c.oc = 1;
    test_conv(c, "17 channels, 1 kernel");
    c = base;
    c.truncate = 1;
    test_conv(c, "CLIP_TRUNCATE 1, ties to even");
    c.truncate_up = true;
    c.truncate = 3;
    test_conv(c, "CLIP_TRUNCATE 3, ties up");
    c = base;
    c.in_h = 9;
    c.in_w = 13;
    c.kh = 3;
    c.kw = 5;
    c.sy = 2;
    c.dy = 2;
    c.pad_left = 2;
    c.pad_top = 2;
    c.out_h = 5;
    c.out_w = 13;
    test_conv(c, "not square, strided and dilated");
    c = base;
    c.relu = true;
    c.offset_first = true;
    c.ties_up = true;
    test_conv(c, "BS ReLU, OUT_CVT adds first");
    c = base;
    c.scale = 0x4000;
    c.shift = 19;
    test_conv(c, "even scale, many ties to even");
    c.ties_up = true;
    test_conv(c, "even scale, many ties up");
    c = base;
    c.ow = 0;
    c.to_int32 = true;
    c.scale = 1;
    c.shift = 0;
    c.offset = 0;
    test_conv(c, "int32 output with bias");
    c = base;
    c.notch = 3;
    c.in_h = 2;
    c.out_h = 2;
    test_conv(c, "two rows, line notch");
    test_conv((Conv) {
        .in_h = 1, .in_w = 1, .ic = 1024, .oc = 64, .kh = 1, .kw = 1,
        .sy = 1, .sx = 1, .dy = 1, .dx = 1, .out_h = 1, .out_w = 1,
        .ow = -128, .scale = 0x6001, .shift = 26, .offset = 5,
    }, "1x1 spatial, 1024 channels");
}

static void test_depthwise(void)
{
    Conv c = {
        .in_h = 7, .in_w = 9, .ic = 64, .oc = 64, .kh = 3, .kw = 3, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .pad_top = 1, .pad_left = 1, .out_h = 7,
        .out_w = 9, .pad = 11, .ow = -5, .scale = 0x5a31, .shift = 22,
        .offset = 7, .depthwise = true,
    };

    test_conv(c, "depthwise 3x3, 64 channels");
    c.ic = c.oc = 128;
    c.sy = c.sx = 2;
    c.out_h = 4;
    c.out_w = 5;
    test_conv(c, "depthwise 3x3 s2, 128 channels");
    c.ic = c.oc = 80;
    c.kh = c.kw = 5;
    c.pad_top = c.pad_left = 2;
    test_conv(c, "depthwise 5x5 s2, partial group");
    c.ic = c.oc = 24;
    c.truncate = 1;
    test_conv(c, "depthwise, 24 channels, truncated");
    c.to_int32 = true;
    test_conv(c, "depthwise to int32");
}

static void test_ew(void)
{
    static const char *const name[] = {
        [EW_ADD] = "EW add", [EW_MINUS] = "EW minus", [EW_MAX] = "EW max",
        [EW_MIN] = "EW min", [EW_MUL] = "EW mul",
    };
    const Conv base = {
        .in_h = 8, .in_w = 8, .ic = 32, .oc = 72, .kh = 3, .kw = 3, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .pad_top = 1, .pad_left = 1, .out_h = 8,
        .out_w = 8, .pad = -7, .ow = 12, .scale = 0x5a31, .shift = 24,
        .offset = -3, .ew_offset = 41, .ew_scale = 0x5555, .ew_shift = 6,
    };
    Conv c = base;
    int op;

    for (op = EW_ADD; op <= EW_MUL; op++) {
        c.ew = op;
        c.ew_shift = op == EW_MUL ? 12 : 6;
        c.shift = op == EW_MUL ? 36 : 24;
        test_conv(c, name[op]);
    }
    c = base;
    c.ew = EW_ADD;
    c.ew_relu = true;
    c.ew_offset = -77;
    c.ew_scale = -0x2000;
    c.ew_shift = 4;
    test_conv(c, "EW add, negative scale, many ties, ReLU");
    c.ew_rows = 19;
    test_conv(c, "EW add, rows of a higher operand tensor");
    c.oc = 16;
    test_conv(c, "EW add, one surface");
    c.depthwise = true;
    c.ic = c.oc = 80;
    c.shift = 22;
    test_conv(c, "EW add to a depthwise convolution");
}

static void test_packed(void)
{
    Conv c = {
        .in_h = 11, .in_w = 16, .ic = 1, .oc = 32, .kh = 3, .kw = 3, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .pad_top = 1, .pad_left = 1, .out_h = 11,
        .out_w = 16, .pad = -128, .ow = 3, .scale = 0x5a31, .shift = 21,
        .offset = -3, .packed = true, .in_scale = 16384, .in_shift = 14,
        .in_offset = -128,
    };

    test_conv(c, "one packed channel");
    c.in_scale = 0x3000;
    c.in_offset = -90;
    test_conv(c, "one packed channel, ties of the converter to even");
    c.in_ties_up = true;
    test_conv(c, "one packed channel, ties of the converter up");
    c.in_signed = true;
    c.in_offset = 21;
    test_conv(c, "one packed channel of signed bytes");
    c.in_offset_first = true;
    test_conv(c, "one packed channel, converter adds first");
    c.in_signed = c.in_offset_first = c.in_ties_up = false;
    c.in_offset = -128;
    c.dma_width = c.out_w = 5;
    test_conv(c, "one packed channel in lines longer than the DMA's");
    c.in_scale = 32388;
    c.in_shift = 15;
    c.sx = c.sy = 2;
    c.out_h = 6;
    c.out_w = 8;
    test_conv(c, "one packed channel, scaled input, stride 2");
    c.in_scale = 0x4000;
    c.in_shift = 13;
    c.in_offset = -200;
    test_conv(c, "one packed channel, saturating converter");
    c.ew = EW_ADD;
    c.ew_scale = 0x4321;
    c.ew_shift = 3;
    test_conv(c, "one packed channel with EW add");
}

/*
 * C + A * B in halves: the sums of a product that is written as fp32 and the
 * operand, rounded once to fp32.
 */
static void test_ew_float(uint32_t ew_cfg, const char *name)
{
    const MatMul mm = { F16_F32, 8, 64, 48, false };
    float a[8 * 64], b[48 * 64], e[8 * 48];
    bool ok = true;
    Prog p;
    int i;

    memset(mem, POISON, MEM_SIZE);
    for (i = 0; i < 8 * 64 + 48 * 64 + 8 * 48; i++) {
        uint16_t h = rnd_half(false);
        int j = i - 8 * 64, l = j - 48 * 64;

        if (j < 0) {
            a[i] = npu_fp16_to_fp32(h);
            memcpy(at(ADDR_A) + 2 * a_index(&mm, i / 64, i % 64), &h, 2);
        } else if (l < 0) {
            b[j] = npu_fp16_to_fp32(h);
            memcpy(at(ADDR_B) + 2 * b_index(&mm, j / 64, j % 64), &h, 2);
        } else {
            e[l] = npu_fp16_to_fp32(h);
            memcpy(at(ADDR_E) + (l % 48 / 8 * 8 + l / 48) * 16 + l % 8 * 2, &h,
                   2);
        }
    }
    matmul_prog(&p, &mm);
    p.n -= 4;
    put(&p, 0x4070, ew_cfg);
    put(&p, 0x5010, 7);
    put(&p, 0x5014, 47);
    put(&p, 0x5018, ADDR_E);
    put(&p, 0x5034, 0x40000008);
    put(&p, 0x5038, ADDR_E + 8 * 16);
    put(&p, 0x5044, 0x17d40);
    put(&p, 0x504c, 8 * 16);
    put(&p, 0x506c, 8 * 16);
    tail(&p, 0x1d);
    ok = run_ok(&p);
    for (i = 0; i < 8 * 48 && ok; i++) {
        float got, want;

        want = half_products(a + i / 48 * 64, b + i % 48 * 64, 64);
        want = ew_cfg & 4 ? want * e[i] :
               ew_cfg & 1 << 17 ? want + e[i] :
               ew_cfg & 1 << 16 ? fminf(want, e[i]) : fmaxf(want, e[i]);
        memcpy(&got, at(ADDR_C) + 4 * c_index(&mm, i / 48, i % 48), 4);
        ok = !memcmp(&got, &want, 4);
        if (!ok) {
            printf("# element %d: %g, want %g\n", i, got, want);
        }
    }
    report(ok, "matmul fp16->fp32, EW %s", name);
}

/* One int32 for every element, without conversion. */
static void test_ew_register(void)
{
    Conv c = {
        .in_h = 4, .in_w = 4, .ic = 16, .oc = 32, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .out_h = 4, .out_w = 4, .scale = 1,
        .to_int32 = true,
    };
    static const struct {
        uint32_t cfg;
        int32_t value;
    } op[] = {
        { 2 << 16, -123456 }, { 4 << 16, 77777 }, { 0 << 16, 100 },
        { 1 << 16, -100 }, { 1 << 2, -321 },
    };
    unsigned i, j;
    bool ok = true;
    Prog p;

    for (i = 0; i < ARRAY_SIZE(op); i++) {
        int32_t before[512], after[512], v = op[i].value;

        memset(mem, POISON, MEM_SIZE);
        for (j = 0; j < 1024; j++) {
            *at(ADDR_A + j) = rnd();
            *at(ADDR_B + j) = rnd();
            *at(ADDR_BIAS + j) = 0;
        }
        conv_prog(&p, &c);
        ok = ok && run_ok(&p);
        memcpy(before, at(ADDR_C), sizeof(before));
        p.n -= 4;
        put(&p, 0x4070, 0x380 | op[i].cfg);
        for (j = 0; j < 8; j++) {
            put(&p, 0x4090 + 4 * j, v);
        }
        tail(&p, 0x1d);
        ok = ok && run_ok(&p);
        memcpy(after, at(ADDR_C), sizeof(after));
        for (j = 0; j < 512; j++) {
            int32_t b = before[j];
            int32_t want = i == 0 ? b + v : i == 1 ? b - v :
                           i == 2 ? MAX(b, v) : i == 3 ? MIN(b, v) : b * v;

            ok = ok && after[j] == want;
        }
    }
    report(ok, "conv with EW register operands");
}

/* fp16 by way of an int-valued depthwise program turned into floats. */
static void test_depthwise_float(void)
{
    enum { H = 4, W = 5, C = 40 };
    static float x[H][W][C], w[9][C];
    const Conv c = {
        .in_h = H, .in_w = W, .ic = C, .oc = C, .kh = 3, .kw = 3, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .pad_top = 1, .pad_left = 1, .out_h = H,
        .out_w = W, .scale = 1, .depthwise = true,
    };
    int i, y, xx, ch, tap;
    bool ok;
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    for (i = 0; i < H * W * C; i++) {
        uint16_t h = rnd_half(false);

        ch = i % C;
        (&x[0][0][0])[i] = npu_fp16_to_fp32(h);
        memcpy(at(ADDR_A) + (ch / 8 * H * W + i / C) * 16 + ch % 8 * 2, &h, 2);
    }
    for (i = 0; i < 9 * C; i++) {
        uint16_t h = rnd_half(false);

        ch = i % C;
        tap = i / C;
        w[tap][ch] = npu_fp16_to_fp32(h);
        memcpy(at(ADDR_B) + 2 * (ch < 32 ? tap * 32 + ch
                                         : 9 * 32 + tap * 8 + ch - 32), &h, 2);
    }
    conv_prog(&p, &c);
    patch(&p, 0x100c, 0x120 | 3);
    patch(&p, 0x1024, (C - 1) << 16 | C);
    patch(&p, 0x1030, 9 * C * 2);
    patch(&p, 0x1034, 9 * C * 2);
    patch(&p, 0x1088, C);
    patch(&p, 0x3010, 0x203);
    patch(&p, 0x4010, 5u << 29 | 2 << 26 | 2);
    patch(&p, 0x4014, 0);
    patch(&p, 0x4040, 0x53);
    patch(&p, 0x4050, 7 * 0x124 | 2);
    patch(&p, 0x40c0, H * W * 16 * 8);
    ok = run_ok(&p);
    for (i = 0; i < H * W * C && ok; i++) {
        float want = 0, got;

        ch = i % C;
        for (tap = 0; tap < 9; tap++) {
            y = i / C / W + tap / 3 - 1;
            xx = i / C % W + tap % 3 - 1;
            if (y >= 0 && y < H && xx >= 0 && xx < W) {
                want += x[y][xx][ch] * w[tap][ch];
            }
        }
        memcpy(&got, at(ADDR_C) + (ch / 4 * H * W + i / C) * 16 + ch % 4 * 4,
               4);
        ok = !memcmp(&got, &want, 4);
    }
    report(ok, "conv depthwise fp16->fp32, partial group");
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
        return rnd_half(false);
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
    int16_t le[513], lo[513];
    int shift;              /* log2 of index units per step */
    float scale;            /* index units per 1.0 of input; a half */
    uint32_t le_slope, le_slope_shift, lo_slope, lo_slope_shift;
    int offset, minus_exp;
    bool max_with_0;        /* in EW, where it does nothing */
} Act;

static void act_prog(Prog *p, const Act *a, int n, bool upload)
{
    const Fly f = { .w = n / 8, .h = 1, .c = 8, .prec = 2, .out = 2 };
    int i;

    fly_prog(p, &f);
    p->n -= 4;
    if (upload) {
        put(p, 0x4100, 1 << 17);
        for (i = 0; i < 513; i++) {
            put(p, 0x4104, (uint16_t)a->le[i]);
        }
        put(p, 0x4100, 1 << 17 | 1 << 16);
        for (i = 0; i < 513; i++) {
            put(p, 0x4104, (uint16_t)a->lo[i]);
        }
    }
    /* Selects reading, so that this entry changes nothing. */
    put(p, 0x4100, 0);
    put(p, 0x4104, 0x1234);
    put(p, 0x4060, 0x20040);
    put(p, 0x4064, 0x80000000);
    put(p, 0x4068, (uint32_t)npu_fp32_to_fp16(a->scale) << 16);
    put(p, 0x4070, a->max_with_0 ? 0x300 : 0x302);
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

/* Piecewise linear between the samples, with a line at either end. */
static double act_ref(const Act *a, float x)
{
    double at = nearbyint((float)((double)x * a->scale));
    double step = 1 << a->shift, u = fabs(at) / step, code;
    int i = u;

    if (u >= 512) {
        double over = (u - 512) * step;

        code = at < 0 ? a->le[0] + floor(ldexp(-over * a->le_slope,
                                               -(int)a->le_slope_shift))
                      : a->lo[512] + floor(ldexp(over * a->lo_slope,
                                                 -(int)a->lo_slope_shift));
    } else {
        /* The samples on both sides, counted from 0 outwards. */
        double near = at < 0 ? a->le[512 - i] : a->lo[i];
        double far = at < 0 ? a->le[511 - i] : a->lo[i + 1];

        code = floor(near + (far - near) * (u - i));
    }
    return ldexp(code + a->offset, -a->minus_exp);
}

static void test_act(const Act *a, double (*f)(double x), double tolerance,
                     bool upload, const char *name)
{
    enum { N = 8192 };
    double worst = 0;
    bool ok;
    Prog p;
    int i;

    memset(mem, POISON, MEM_SIZE);
    for (i = 0; i < N; i++) {
        uint16_t h = i < 64 ? i * 1021 : npu_fp32_to_fp16((i - 4096) / 400.0f);

        h = (h & 0x7c00) == 0x7c00 ? 0 : h;
        memcpy(at(ADDR_A) + 2 * i, &h, 2);
    }
    act_prog(&p, a, N, upload);
    ok = run_ok(&p);
    for (i = 0; i < N && ok; i++) {
        float x = fly_load(ADDR_A + 2 * i, 2), want = act_ref(a, x);
        double got = fly_load(ADDR_C + 2 * i, 2);

        ok = got == npu_fp16_to_fp32(npu_fp32_to_fp16(want));
        if (!ok) {
            printf("# element %d: f(%g) = %g, want %g\n", i, x, got, want);
        }
        if (fabs(x) < 10) {
            worst = fmax(worst, fabs(got - f(x)));
        }
    }
    ok = ok && worst <= tolerance && untouched(ADDR_C + 2 * N, 4096);
    report(ok, "LUT %s", name);
    printf("# off by %g at most\n", worst);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static void fill_act(Act *a, double (*f)(double x), double one)
{
    double step = ldexp(1, a->shift) / a->scale;
    int i;

    for (i = 0; i < 513; i++) {
        a->le[i] = ref_clip(lrint(f((i - 512) * step) * one) - a->offset,
                            -32768, 32767);
        a->lo[i] = ref_clip(lrint(f(i * step) * one) - a->offset, -32768,
                            32767);
    }
}

static void test_luts(void)
{
    Act a = { .shift = 5, .scale = 2596, .offset = 1, .minus_exp = 15 };
    const char *why = NULL;
    Prog p;

    act_prog(&p, &a, 64, false);
    report(run(&p, &why) == NPU_TASK_UNIMP, "LUT before its tables");
    fill_act(&a, sigmoid, 32768);
    test_act(&a, sigmoid, 0.002, true, "sigmoid");
    test_act(&a, sigmoid, 0.002, false, "sigmoid, tables of an earlier task");
    a.max_with_0 = true;
    test_act(&a, sigmoid, 0.002, false, "sigmoid beside a maximum with 0");
    /* Beyond 8 silu is the identity: 1024 per 1.0 in and 2048 out. */
    a = (Act) { .shift = 4, .scale = 1024, .offset = 0, .minus_exp = 11,
                .lo_slope = 16384, .lo_slope_shift = 13 };
    fill_act(&a, silu, 2048);
    test_act(&a, silu, 0.006, true, "silu with a linear tail");
    a.shift = 6;
    a.scale = 4096;
    a.minus_exp = 11;
    a.offset = -300;
    a.lo_slope = 12345;
    a.lo_slope_shift = 14;
    a.le_slope = 23107;
    a.le_slope_shift = 19;
    fill_act(&a, silu, 2048);
    test_act(&a, silu, 10, true, "silu, steps of 64, slopes at both ends");
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
    static NpuLut lut;
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
    act_prog(&p, &a, 64, false);
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

/* Fold the window in rows, then columns; averages have padding outside. */
static float pool_ref(const Pool *o, const float *x, int ch, int oy, int ox)
{
    float pad = npu_fp16_to_fp32(o->pad), acc = 0;
    bool first = true;
    int ky, kx;

    for (ky = 0; ky < o->kh; ky++) {
        for (kx = 0; kx < o->kw; kx++) {
            int y = oy * o->sy - o->top + ky, xx = ox * o->sx - o->left + kx;
            bool in = y >= 0 && y < o->h && xx >= 0 && xx < o->w;
            float v = in ? x[(y * o->w + xx) * o->c + ch] : pad;

            if (o->method == AVERAGE) {
                acc += v;
            } else if (in && (first || (o->method == MAXIMUM ? v > acc
                                                             : v < acc))) {
                acc = v;
                first = false;
            }
        }
    }
    return acc;
}

static bool pool_same(const Pool *o, uint16_t got, float want)
{
    double fw = ref_half(npu_fp32_to_fp16(65536.0f / o->kw)) / 65536;
    double fh = ref_half(npu_fp32_to_fp16(65536.0f / o->kh)) / 65536;

    if (o->method == AVERAGE) {
        want = (float)((float)(want * fw) * fh);
    }
    return got == npu_fp32_to_fp16(want);
}

/* What lies behind each line of the output must be as it was. */
static bool pool_notches_untouched(const Pool *o)
{
    int y;

    for (y = 0; y < (o->c + 7) / 8 * o->out_h; y++) {
        if (!untouched(ADDR_C + (y * (o->out_w + o->notch) + o->out_w) * 16,
                       o->notch * 16)) {
            return false;
        }
    }
    return true;
}

static void test_pool(Pool o, const char *name)
{
    int n = o.h * o.w * o.c, i, area = o.out_h * o.out_w;
    float *x = malloc(n * sizeof(*x));
    bool ok;
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    for (i = 0; i < n; i++) {
        int ch = i % o.c, pos = i / o.c;
        uint16_t v = rnd_half(false);

        x[i] = npu_fp16_to_fp32(v);
        memcpy(at(ADDR_A + ((ch / 8 * o.h + pos / o.w) * (o.w + o.extra) +
                            pos % o.w) * 16 + ch % 8 * 2), &v, 2);
    }
    pool_prog(&p, &o);
    ok = run_ok(&p);
    for (i = 0; i < o.c * area && ok; i++) {
        int ch = i / area, pos = i % area;
        float want = pool_ref(&o, x, ch, pos / o.out_w, pos % o.out_w);
        uint16_t got;

        memcpy(&got, at(ADDR_C + (ch / 8 * pool_area(&o) + pos +
                                  pos / o.out_w * o.notch) * 16 +
                        ch % 8 * 2), 2);
        ok = pool_same(&o, got, want);
        if (!ok) {
            printf("# channel %d, %d: %04x, want %g\n", ch, pos, got, want);
        }
    }
    ok = ok && pool_notches_untouched(&o) &&
         untouched(ADDR_C + (o.c + 7) / 8 * pool_area(&o) * 16, 4096);
    report(ok, "pooling %s", name);
    free(x);
}

static void test_pools(void)
{
    Pool o = {
        .method = MAXIMUM, .h = 8, .w = 8, .c = 24, .kh = 2, .kw = 2, .sy = 2,
        .sx = 2, .out_h = 4, .out_w = 4,
    };

    test_pool(o, "max 2x2 s2");
    o.method = MINIMUM;
    test_pool(o, "min 2x2 s2");
    o.method = AVERAGE;
    test_pool(o, "average 2x2 s2");
    o.h = 9;
    o.w = 7;
    o.kh = 3;
    o.kw = 2;
    o.sx = 1;
    o.out_h = 4;
    o.out_w = 6;
    o.extra = 5;
    o.c = 20;
    test_pool(o, "average 3x2, not square, longer lines");
    o.top = o.bottom = 1;
    o.left = 1;
    o.right = 2;
    o.out_h = 5;
    o.out_w = 9;
    test_pool(o, "average with padding that counts");
    o.method = MAXIMUM;
    o.right = 1;
    o.out_w = 8;
    o.pad = 0xfc00;
    test_pool(o, "max with padding by -inf");
    o.pad = npu_fp32_to_fp16(1.5f);
    test_pool(o, "max without its padding of 1.5");
    o.method = MINIMUM;
    o.pad = npu_fp32_to_fp16(-1.5f);
    test_pool(o, "min without its padding of -1.5");
    o.method = MAXIMUM;
    o.notch = 7;
    test_pool(o, "into columns of a wider tensor");
    o.method = AVERAGE;
    test_pool(o, "average into columns of a wider tensor");
    test_pool((Pool) {
        .method = AVERAGE, .h = 16, .w = 16, .c = 64, .kh = 16, .kw = 16,
        .sy = 16, .sx = 16, .out_h = 1, .out_w = 1,
    }, "average of everything");
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

    if (want == NPU_TASK_RUN) {
        test_pool(o, "as wide as it may be");
        return;
    }
    pool_prog(&p, &o);
    report(run(&p, &why) == want, "pooling %dx%d s%d of %d columns", k, k,
           stride_y, w);
}

static void test_pool_widths(void)
{
    test_pool_width(2, 1, 40, NPU_TASK_RUN);
    test_pool_width(3, 1, 34, NPU_TASK_RUN);
    test_pool_width(3, 1, 35, NPU_TASK_STALL);
    test_pool_width(3, 2, 129, NPU_TASK_RUN);
    test_pool((Pool) {
        .method = MAXIMUM, .h = 5, .w = 45, .c = 16, .kh = 3, .kw = 3, .sy = 1,
        .sx = 2, .out_h = 3, .out_w = 22,
    }, "max 3x3 of 45 columns, every other");
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
            ok = ok && npu_round_shift(v, s, false) == ref_round(v, s, false);
            ok = ok && npu_round_shift(v, s, true) == ref_round(v, s, true);
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

static void random_axis(int *in, int *k, int *stride, int *step, int *pad,
                        int *out)
{
    int need;

    do {
        *in = rnd_in(1, 12);
        *k = rnd_in(1, 5);
        *stride = rnd_in(1, 3);
        *step = rnd_in(1, 2);
        *pad = rnd_in(0, *k - 1);
        need = (*k - 1) * *step + 1;
    } while (*in + 2 * *pad < need);
    *out = (*in + 2 * *pad - need) / *stride + 1;
}

static void random_conv(void)
{
    Conv c = {
        .ic = rnd_in(1, 80), .oc = rnd_in(1, 70), .pad = rnd_in(-128, 127),
        .ow = rnd_in(-128, 127), .truncate = rnd_in(0, 2),
        .truncate_up = rnd() % 2, .scale = rnd_in(1, 0x7fff),
        .shift = rnd_in(14, 28), .offset = rnd_in(-128, 127),
        .ties_up = rnd() % 2, .offset_first = rnd() % 2,
        .to_int32 = rnd() % 5 == 0, .relu = rnd() % 2, .notch = rnd_in(0, 3),
        .depthwise = rnd() % 4 == 0,
    };

    if (c.to_int32) {
        c.ow = 0;
    }
    random_axis(&c.in_h, &c.kh, &c.sy, &c.dy, &c.pad_top, &c.out_h);
    random_axis(&c.in_w, &c.kw, &c.sx, &c.dx, &c.pad_left, &c.out_w);
    if (c.depthwise) {
        c.oc = c.ic;
    } else if (rnd() % 5 == 0) {
        c.packed = true;
        c.ic = 1;
        c.in_scale = rnd_in(1, 0x7fff);
        c.in_shift = rnd_in(8, 15);
        c.in_offset = rnd_in(-200, 100);
        c.in_signed = rnd() % 2;
        c.in_ties_up = rnd() % 2;
        c.in_offset_first = rnd() % 2;
    }
    if (rnd() % 2) {
        c.ew = rnd_in(EW_ADD, EW_MUL);
        c.ew_offset = rnd_in(-128, 127);
        c.ew_scale = rnd_in(-0x7fff, 0x7fff);
        c.ew_shift = c.ew == EW_MUL ? rnd_in(10, 14) : rnd_in(0, 14);
        c.ew_relu = rnd() % 2;
        c.ew_rows = c.out_h + rnd_in(0, 5);
    }
    test_conv(c, "random");
}

static void test_random(void (*one)(void), const char *name)
{
    unsigned i, n = quick ? 60 : 1000;

    wrong_cases = 0;
    counting = true;
    for (i = 0; i < n; i++) {
        one();
    }
    counting = false;
    report(!wrong_cases, "%u random programs: %s", n, name);
}

/* --- What must be refused --- */

static void expect_refusal(const char *name, uint16_t reg, uint32_t value,
                           NpuVerdict want)
{
    static const Conv c = {
        .in_h = 4, .in_w = 4, .ic = 16, .oc = 32, .kh = 1, .kw = 1, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .out_h = 4, .out_w = 4, .scale = 1,
    };
    const char *why = NULL;
    Prog p;

    memset(mem, POISON, MEM_SIZE);
    conv_prog(&p, &c);
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
    expect_refusal("stride 0", 0x1014, 0, NPU_TASK_UNIMP);
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

/* Random changes to valid programs: no crash, no access out of bounds. */
static void test_fuzz(void)
{
    static const Conv c = {
        .in_h = 5, .in_w = 6, .ic = 24, .oc = 20, .kh = 3, .kw = 2, .sy = 1,
        .sx = 1, .dy = 1, .dx = 1, .pad_top = 1, .out_h = 5, .out_w = 5,
        .scale = 77, .shift = 9, .ow = 3,
    };
    const MatMul mm = { F16_F16, 4, 32, 16, false };
    const Fly fly = { .w = 5, .h = 4, .c = 20, .prec = 4, .out = 4,
                      .ew = 0x203c0 };
    const Act act = { .shift = 5, .scale = 2596, .minus_exp = 15 };
    const Pool pool = {
        .method = AVERAGE, .h = 8, .w = 8, .c = 20, .kh = 3, .kw = 3, .sy = 2,
        .sx = 2, .top = 1, .left = 1, .out_h = 4, .out_w = 4,
    };
    unsigned i, j, ran = 0, refused = 0, stalled = 0;
    unsigned rounds = quick ? 3000 : 20000;

    for (i = 0; i < rounds; i++) {
        const char *why;
        Prog p;

        if (i % 7 == 0) {
            fly_prog(&p, &fly);
        } else if (i % 7 == 1) {
            pool_prog(&p, &pool);
        } else if (i % 7 == 2) {
            act_prog(&p, &act, 64, false);
        } else if (i % 2) {
            Conv mutant = c;

            mutant.ew = i % 3 ? EW_NONE : 1 + rnd() % EW_MUL;
            mutant.ew_scale = 1;
            mutant.packed = i % 5 == 0;
            mutant.ic = mutant.packed ? 1 : c.ic;
            mutant.in_scale = 1;
            conv_prog(&p, &mutant);
        } else {
            matmul_prog(&p, &mm);
        }
        for (j = 0; j < 1 + i % 3; j++) {
            unsigned n = rnd() % (p.n - 4);
            uint32_t value = p.cmd[n] >> 16;

            value = rnd() % 2 ? value ^ 1u << rnd() % 32
                              : value + rnd_in(-3, 3);
            if ((p.cmd[n] & 0xffff) == 0x102c) {
                value &= 0xfff;
            }
            patch(&p, p.cmd[n], value);
        }
        switch (run(&p, &why)) {
        case NPU_TASK_RUN:
            ran++;
            break;
        case NPU_TASK_UNIMP:
            refused++;
            break;
        case NPU_TASK_STALL:
            stalled++;
            break;
        }
    }
    report(ran && refused && stalled, "fuzzed programs");
    printf("# %u ran, %u refused, %u stalled\n", ran, refused, stalled);
}

static void test_cancel(void)
{
    const MatMul mm = { I8_I32, 64, 512, 256, false };
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
    const MatMul small = { I8_I32, 64, 512, 256, false };
    const MatMul big = { I8_I32, 352, 1024, 1024, false };
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
    static const MatMul most = { F16_F16, 1, 8192, 8192, false };
    static const MatMul more = { F16_F16, 1, 8192, 8224, false };
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

static void test_matmuls(void)
{
    static const int shape[][3] = {
        { 4, 64, 32 }, { 1, 64, 32 }, { 1, 32, 64 }, { 8, 96, 64 },
        { 5, 128, 96 }, { 36, 160, 32 }, { 128, 64, 64 }, { 1, 1536, 128 },
    };
    unsigned i;
    MmType type;

    for (type = I8_I32; type <= F16_F16; type++) {
        for (i = 0; i < ARRAY_SIZE(shape); i++) {
            MatMul mm = { type, shape[i][0], shape[i][1], shape[i][2], false };

            if (mm.m != 1 && mm.m % 4) {
                continue;
            }
            test_matmul(mm, false);
            mm.row_major = true;
            test_matmul(mm, false);
        }
        test_matmul((MatMul) { type, 8, 128, 64, false }, true);
        if (!quick) {
            test_matmul((MatMul) { type, 128, 1536, 1536, false }, false);
            test_matmul((MatMul) { type, 128, 1536, 1536, true }, false);
        }
    }
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "--quick");
    rnd_state = 88172645463325252ull;
    printf("TAP version 13\n");
    test_cmd();
    test_round_shift();
    test_half();
    test_matmuls();
    test_convs();
    test_depthwise();
    test_depthwise_float();
    test_ew();
    test_ew_register();
    test_ew_float(0x108202c0, "add");
    test_ew_float(0x108003c4, "mul");
    test_ew_float(0x108002c0, "max");
    test_ew_float(0x108102c0, "min");
    test_packed();
    test_flying();
    test_fly_refusals();
    test_luts();
    test_lut_ends();
    test_lut_refusals();
    test_pools();
    test_pool_widths();
    test_pool_refusals();
    test_random(random_conv, "convolutions with EW and packed input");
    test_refusals();
    test_cancel();
    test_cost();
    test_weight_bound();
    test_share();
    test_fuzz();
    printf("1..%u\n", tests);
    return failures != 0;
}
