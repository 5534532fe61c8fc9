/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random programs of the RK3588 NPU's DPU and PPU, against a reference that
 * is written from tensors: what a task should compute is drawn first, then the
 * program that asks for it, and the expected tensor never sees a register.
 */
#include <math.h>
#include "harness.h"

#define ADDR_X          (MEM_BASE + 0x00000)    /* main input */
#define ADDR_E          (MEM_BASE + 0x20000)    /* EW operands */
#define ADDR_BS         (MEM_BASE + 0x40000)
#define ADDR_BN         (MEM_BASE + 0x41000)
#define ADDR_W          (MEM_BASE + 0x50000)    /* weights */
#define ADDR_C          (MEM_BASE + 0x80000)    /* output */
#define OUT_SIZE        0x80000

#define MAX_SIDE        10
#define MAX_C           64
#define LUT_STEPS       512

enum { INT8, INT16, FP16, BF16, INT32, FP32 };
enum { MAXIMUM, MINIMUM, ADD, DIV, MINUS, ABS, NEG, FLOOR, CEIL, MUL };
enum { FLY, CONV, DEPTHWISE, MEMORY };          /* what feeds DPU or PPU */

/* --- What a task computes --- */

typedef struct Stage {
    bool on;
    int alu;                /* or -1 */
    bool mul, prelu, relu, relux;
    bool alu_mem, mul_mem, packed;
    int shift, shift_neg;
    uint32_t alu_bits[MAX_C], cmp;
    uint16_t mul_bits[MAX_C];
} Stage;

typedef struct Ew {
    bool on, relu, relux;
    int op;                 /* or -1 */
    bool prelu;
    enum { REGISTER, ELEMENT, CHANNEL } from;
    int shift, shift_neg;
    bool cvt, cvt_first, cvt_away;
    int cvt_offset, cvt_scale, cvt_shift;
    uint32_t bits[MAX_SIDE * MAX_SIDE * MAX_C], cmp;
} Ew;

typedef struct Table {
    int16_t y[LUT_STEPS + 1];
    int64_t start;
    int shift;
    int16_t under, over;
    int under_shift, over_shift;
} Table;

typedef struct Lut {
    bool on;
    Table table[2];
    int both, below, above;
} Lut;

typedef struct Pool {
    bool on;
    int method;             /* 0 average, 1 maximum, 2 minimum */
    int kh, kw, sy, sx, top, left, bottom, right, h, w;
    int pad;                /* or bits of a half */
    int rdma_width, use_cnt;
} Pool;

typedef struct Case {
    int feed, in, out;
    int h, w, c, written;
    int ic, k;              /* convolutions */
    bool cpend, cpend_mem;
    int16_t cpend_op[MAX_C];
    Stage bs, bn;
    Ew ew;
    Lut lut;
    int scale, shift, offset, minus_exp;
    bool cvt_first, cvt_away;
    uint16_t pend;
    Pool pool;
    /* output layout: positions and surfaces */
    int notch, gap, group, group_gap;
    int in_notch;
} Case;

typedef union Value {
    int64_t i;
    float f;
} Value;

static Case c;
static uint32_t x_bits[MAX_SIDE * MAX_SIDE * MAX_C];
static uint32_t w_bits[MAX_C * 9 * MAX_C];
/* Expected output bits; of rows, columns and channels up to whole atoms. */
static uint32_t want[25 * 25 * (MAX_C + 16)];

/* --- What was drawn --- */

static const char *const feature_name[] = {
    "int8 -> int8", "int8 -> int32", "int8 -> fp32", "int16 -> int16",
    "int16 -> int32", "int32 -> int32", "int32 -> fp32", "fp16 -> fp16",
    "fp16 -> fp32", "fp32 -> fp32", "flying DPU", "convolution",
    "depthwise convolution", "BS ALU from a register", "BS ALU by DMA",
    "BS multiplier from a register", "BS multiplier by DMA",
    "packed BS operands", "CPEND by DMA", "BS PReLU", "BS ReLU", "BS ReLUX",
    "shift of a bypassed multiplier", "shifts that differ",
    "BN ALU from a register", "BN ALU by DMA", "BN multiplier",
    "BN multiplier by DMA", "BN PReLU", "PReLU that shifts", "BN ReLUX",
    "EW max", "EW min",
    "EW add", "EW div", "EW minus", "EW abs", "EW neg", "EW floor", "EW ceil",
    "EW mul", "EW PReLU", "EW ReLU", "EW ReLUX", "EW operand per element",
    "EW operand per channel", "EW operand per channel of a convolution",
    "EW operand from a register",
    "EW pair of MRDMA and ERDMA", "EW operand conversion",
    "EW operand without conversion", "EW truncation",
    "EW truncation of sums",
    "LUT of integers", "LUT of floats", "LUT tables apart or overlapping",
    "LUT behind a convolution", "LUT behind an EW operation",
    "LUT with a floor",
    "OUT_CVT of LUT codes multiplies first", "OUT_CVT offset first",
    "OUT_CVT ties away from zero",
    "OUT_CVT negative scale", "MINUS_EXP of floats", "padded channels",
    "notch of output lines", "groups of output surfaces",
    "DPU to PPU, flying", "DPU to PPU, convolution", "pooling from memory",
    "int8 pooling", "int16 pooling", "fp16 pooling", "maximum", "minimum",
    "average", "global pooling", "pooling with padding", "pooling with a notch",
    "average of one row or column",
};

static unsigned drawn[ARRAY_SIZE(feature_name)];

static void mark(const char *name, bool seen)
{
    unsigned i;

    for (i = 0; seen; i++) {
        if (i == ARRAY_SIZE(feature_name)) {
            printf("# no such feature: %s\n", name);
            abort();
        }
        if (!strcmp(feature_name[i], name)) {
            drawn[i]++;
            return;
        }
    }
}

/* --- Types --- */

static bool is_float(int type)
{
    return type == FP16 || type == FP32;
}

static int size_of(int type)
{
    return type == INT8 ? 1 : type == INT16 || type == FP16 ? 2 : 4;
}

static float half_value(uint16_t bits)
{
    _Float16 h;

    memcpy(&h, &bits, sizeof(h));
    return h;
}

static uint16_t half_bits(float f)
{
    _Float16 h = f;
    uint16_t bits;

    memcpy(&bits, &h, sizeof(bits));
    return bits;
}

static float float_value(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint32_t float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static Value value_of(uint32_t bits, int type)
{
    switch (type) {
    case INT8:
        return (Value) { .i = (int8_t)bits };
    case INT16:
        return (Value) { .i = (int16_t)bits };
    case INT32:
        return (Value) { .i = (int32_t)bits };
    case FP16:
        return (Value) { .f = half_value(bits) };
    default:
        return (Value) { .f = float_value(bits) };
    }
}

static bool same(uint32_t got, uint32_t bits, int type)
{
    float a, b;

    if (!is_float(type)) {
        return got == bits;
    }
    a = value_of(got, type).f;
    b = value_of(bits, type).f;
    return a == b || (a != a && b != b);
}

static uint16_t rnd_half(void)
{
    /* Of either sign, from 1/64 to 32. */
    return (rnd() & 0x83ff) | (uint32_t)rnd_in(9, 19) << 10;
}

static uint32_t rnd_bits(int type)
{
    switch (type) {
    case FP16:
        return one_in(12) ? 0 : rnd_half();
    case FP32:
        return float_bits(rnd_in(-100000, 100000) / 512.0f);
    case INT32:
        /* Mostly small, sometimes at the edge. */
        return one_in(20) ? (one_in(2) ? INT32_MIN : INT32_MAX)
                          : one_in(4) ? rnd() : (uint32_t)rnd_in(-9999, 9999);
    default:
        return rnd() & (type == INT8 ? 0xff : 0xffff);
    }
}

/* --- Reference arithmetic --- */

static int64_t clip(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t clip32(int64_t v)
{
    return clip(v, INT32_MIN, INT32_MAX);
}

/* The nearest integer to v / 2^s; ties to even or away from zero. */
static int64_t nearest(__int128 v, int s, bool away)
{
    __int128 one = (__int128)1 << s;
    __int128 magnitude = v < 0 ? -v : v;
    __int128 q = magnitude / one, twice = 2 * (magnitude % one);

    if (twice > one || (twice == one && (away || q % 2))) {
        q++;
    }
    return v < 0 ? -q : q;
}

/* What a converter makes of a product: the offset is in what is rounded. */
static int64_t converted(__int128 v, int s, int64_t offset, bool away)
{
    return nearest(v + (offset * ((__int128)1 << s)), s, away);
}

static int64_t wrap_neg(int64_t v)
{
    return v == INT32_MIN ? v : -v;
}

static int64_t op_int(int op, int64_t v, int64_t e)
{
    switch (op) {
    case MAXIMUM:
        return v > e ? v : e;
    case MINIMUM:
        return v < e ? v : e;
    case ADD:
        return clip32(v + e);
    case MINUS:
        return clip32(v + wrap_neg(e));
    case ABS:
        return v < 0 ? wrap_neg(v) : v;
    default:
        return wrap_neg(v);
    }
}

/* The same behind a multiplier: as wide as its product. */
static int64_t op_wide(int op, int64_t v, int32_t e)
{
    switch (op) {
    case ADD:
        return v + e;
    case MINUS:
        return v + wrap_neg(e);
    default:
        return op_int(op, v, e);
    }
}

static float op_float(int op, float v, float e)
{
    volatile float r;       /* volatile: one rounding per operation */

    switch (op) {
    case MAXIMUM:
        r = e > v ? e : v;
        break;
    case MINIMUM:
        r = e < v ? e : v;
        break;
    case ADD:
        r = v + e;
        break;
    case DIV:
        r = v / e;
        break;
    case MINUS:
        r = v - e;
        break;
    case ABS:
        r = v < 0 ? -v : v;
        break;
    case NEG:
        r = -v;
        break;
    case FLOOR:
        r = floorf(v);
        break;
    case CEIL:
        r = ceilf(v);
        break;
    default:
        r = v * e;
    }
    return r;
}

static Value relu(Value v, bool on, bool limited, uint32_t cmp, bool flt)
{
    if (on && flt) {
        v.f = v.f < 0 ? 0 : v.f;
        v.f = limited && v.f > float_value(cmp) ? float_value(cmp) : v.f;
    } else if (on) {
        v.i = v.i < 0 ? 0 : v.i;
        v.i = limited && v.i > (int32_t)cmp ? (int32_t)cmp : v.i;
    }
    return v;
}

static int64_t shifted(int64_t product, int shift, int shift_neg)
{
    return clip32(nearest(product, product < 0 ? shift_neg : shift, false));
}

static Value stage_alu(const Stage *s, Value v, int ch, bool flt)
{
    if (s->alu >= 0 && flt) {
        v.f = op_float(s->alu, v.f, float_value(s->alu_bits[ch]));
    } else if (s->alu >= 0) {
        v.i = op_int(s->alu, v.i, (int32_t)s->alu_bits[ch]);
    }
    return v;
}

static Value stage_mul(const Stage *s, Value v, int ch, bool flt)
{
    bool spared = s->prelu && !(flt ? v.f < 0 : v.i < 0);

    if (flt && s->mul && !spared) {
        v.f = op_float(MUL, v.f, half_value(s->mul_bits[ch]));
    } else if (!flt && s->mul && !spared) {
        v.i *= (int16_t)s->mul_bits[ch];
    }
    return v;
}

static Value ref_stage(const Stage *s, Value v, int ch, bool bn, bool flt)
{
    if (!s->on) {
        return v;
    }
    if (!bn) {
        v = stage_mul(s, stage_alu(s, v, ch, flt), ch, flt);
    } else if (flt) {
        v = stage_alu(s, stage_mul(s, v, ch, flt), ch, flt);
    } else {
        v = stage_mul(s, v, ch, flt);
        v.i = s->alu < 0 ? v.i : op_wide(s->alu, v.i, s->alu_bits[ch]);
    }
    if (!flt) {
        v.i = shifted(v.i, s->shift, s->shift_neg);
    }
    return relu(v, s->relu, s->relux, s->cmp, flt);
}

static int64_t ref_ew_operand(uint32_t bits)
{
    const Ew *e = &c.ew;
    int64_t v = e->from == REGISTER ? (int32_t)bits : value_of(bits, c.in).i;

    if (e->from == REGISTER) {
        return c.in == INT16 || e->op == MUL ? (int16_t)bits : v;
    }
    if (e->cvt && e->cvt_first) {
        v = nearest((v + e->cvt_offset) * e->cvt_scale, e->cvt_shift,
                    e->cvt_away);
    } else if (e->cvt) {
        v = converted(v * e->cvt_scale, e->cvt_shift, e->cvt_offset,
                      e->cvt_away);
    }
    return e->op == MUL ? (int16_t)v : v;
}

static Value ref_ew_op(Value v, uint32_t bits)
{
    const Ew *e = &c.ew;
    float f;

    if (!is_float(c.in)) {
        int64_t o = ref_ew_operand(bits);

        if (e->op != MUL) {
            v.i = shifted(op_wide(e->op, v.i, o), e->shift, e->shift_neg);
        } else if (!e->prelu || v.i < 0) {
            v.i = shifted(v.i * o, e->shift, e->shift_neg);
        }
        return v;
    }
    /* Multipliers are halves, what is added is not, unless it was widened. */
    f = e->op == MUL || (e->from != REGISTER && c.in == FP16)
        ? half_value(bits) : float_value(bits);
    if (!e->prelu || v.f < 0) {
        v.f = op_float(e->op, v.f, f);
    }
    return v;
}

/* A table as a function: lines, rounded down. */
static int64_t ref_table(const Table *t, int64_t x)
{
    int64_t step = (int64_t)1 << t->shift, end = t->start + LUT_STEPS * step;
    double at = (double)(x - t->start) / step, left;
    int i;

    if (x < t->start) {
        return t->y[0] + floor(ldexp((double)(x - t->start) * t->under,
                                     -t->under_shift));
    }
    if (x >= end) {
        return t->y[LUT_STEPS] + floor(ldexp((double)(x - end) * t->over,
                                             -t->over_shift));
    }
    left = floor(at);
    i = left;
    return floor(t->y[i] + (t->y[i + 1] - t->y[i]) * (at - left));
}

static int64_t ref_lut(int64_t x)
{
    const Lut *l = &c.lut;
    bool in[2], low[2];
    int i;

    for (i = 0; i < 2; i++) {
        const Table *t = &l->table[i];
        int64_t end = t->start + ((int64_t)LUT_STEPS << t->shift);

        in[i] = x >= t->start && x <= end;
        low[i] = x < t->start;
    }
    if (in[0] != in[1]) {
        i = in[1];
    } else if (!in[0] && low[0] && low[1]) {
        i = l->below;
    } else if (!in[0] && !low[0] && !low[1]) {
        i = l->above;
    } else {
        i = l->both;
    }
    return clip32(ref_table(&l->table[i], x));
}

static Value ref_ew(Value v, int pos, int ch)
{
    const Ew *e = &c.ew;
    bool floor;

    if (!e->on) {
        return v;
    }
    floor = c.lut.on && e->op >= 0 && e->from == REGISTER;
    if (e->op >= 0 && !floor) {
        v = ref_ew_op(v, e->bits[e->from == ELEMENT ? pos * c.c + ch :
                                 e->from == CHANNEL ? ch : 0]);
    }
    if (c.lut.on && is_float(c.in)) {
        v.f = ref_lut(isnan(v.f) ? 0 : v.f < -2147483648.0 ? INT32_MIN :
                      v.f > 2147483647.0 ? INT32_MAX : llrint(v.f));
    } else if (c.lut.on) {
        v.i = ref_lut(v.i);
    }
    /* The maximum with a register comes behind the LUT. */
    if (floor && is_float(c.in)) {
        v.f = v.f < 0 ? 0 : v.f;
    } else if (floor) {
        v.i = v.i < 0 ? 0 : v.i;
    }
    return relu(v, e->relu, e->relux, e->cmp, is_float(c.in));
}

static uint32_t ref_convert(Value v)
{
    int64_t i;

    if (is_float(c.in)) {
        if (c.lut.on && !c.cvt_first) {
            v.f = ldexp((double)v.f * c.scale + c.offset, -c.minus_exp);
        } else if (c.lut.on || c.minus_exp) {
            v.f = ldexp(((double)v.f + c.offset) * c.scale, -c.minus_exp);
        }
        return c.out == FP16 ? half_bits(v.f) : float_bits(v.f);
    }
    i = c.cvt_first
        ? nearest((__int128)(v.i + c.offset) * c.scale, c.shift, c.cvt_away)
        : converted((__int128)v.i * c.scale, c.shift, c.offset, c.cvt_away);
    i = clip32(i);
    switch (c.out) {
    case INT8:
        return clip(i, -128, 127) & 0xff;
    case INT16:
        return clip(i, -32768, 32767) & 0xffff;
    case INT32:
        return i;
    default:
        return float_bits(i);
    }
}

static Value ref_core(int pos, int ch)
{
    int y = pos / c.w, x = pos % c.w, ky, kx, i;
    int first = c.feed == DEPTHWISE ? ch : 0;
    int last = c.feed == DEPTHWISE ? ch : c.ic - 1;
    int64_t acc = 0, window = 0;
    float fsum = 0;

    for (ky = 0; ky < c.k; ky++) {
        for (kx = 0; kx < c.k; kx++) {
            int yy = y + ky - c.k / 2, xx = x + kx - c.k / 2;
            bool in = yy >= 0 && xx >= 0 && yy < c.h && xx < c.w;
            double sum = 0;     /* of 32 channels at most */

            for (i = first; i <= last; i++) {
                Value v = value_of(in ? x_bits[(yy * c.w + xx) * c.ic + i] : 0,
                                   c.in);
                int k = c.feed == DEPTHWISE ? 0 : ch;
                Value w = value_of(w_bits[((k * c.k + ky) * c.k + kx) * c.ic +
                                          i], c.in);

                if (is_float(c.in)) {
                    sum += (double)v.f * w.f;
                } else {
                    acc += v.i * w.i;
                    window += v.i;
                }
            }
            fsum += (float)sum;
        }
    }
    if (is_float(c.in)) {
        return (Value) { .f = fsum };
    }
    return (Value) { .i = clip32(acc + (c.cpend ? window * c.cpend_op[ch]
                                                : 0)) };
}

static int out_lanes(void)
{
    return 16 / size_of(c.out);
}

static bool gives_depthwise_words(void)
{
    return c.feed == DEPTHWISE && c.in == INT8 && size_of(c.out) == 4;
}

static int whole_atoms(int channels)
{
    return (channels + out_lanes() - 1) / out_lanes() * out_lanes();
}

static uint32_t pend_bits(void)
{
    return size_of(c.out) == 1 ? c.pend & 0xff :
           size_of(c.out) == 2 ? c.pend : (uint32_t)(int16_t)c.pend;
}

static void ref_dpu(void)
{
    int channels = whole_atoms(c.written), pos, ch;

    for (pos = 0; pos < c.h * c.w; pos++) {
        for (ch = 0; ch < channels; ch++) {
            bool flt = is_float(c.in);
            Value v;

            if (ch >= c.c) {
                want[pos * channels + ch] = pend_bits();
                continue;
            }
            v = c.feed == FLY ? value_of(x_bits[pos * c.c + ch], c.in)
                              : ref_core(pos, ch);
            v = ref_stage(&c.bs, v, ch, false, flt);
            v = ref_stage(&c.bn, v, ch, true, flt);
            want[pos * channels + ch] = ref_convert(ref_ew(v, pos, ch));
        }
    }
}

/* 2^16 / k as an integer, or 1 / k to 11 significant bits. */
static uint32_t recip_int(int k)
{
    return 65536 / k;
}

static float recip_float(int k)
{
    return k == 1 ? 1 : half_value(half_bits(65536.0f / k)) / 65536;
}

static uint32_t ref_average(const uint32_t *bits, int n)
{
    const Pool *p = &c.pool;
    volatile float sum = 0, v;
    int64_t total = 0;
    int i;

    for (i = 0; i < n; i++) {
        if (c.out == FP16) {
            sum = sum + half_value(bits[i]);
        } else {
            total += value_of(bits[i], c.out).i;
        }
    }
    if (c.out == FP16) {
        v = sum * recip_float(p->kw);
        v = v * recip_float(p->kh);
        return half_bits(v);
    }
    return nearest((__int128)total * recip_int(p->kw) * recip_int(p->kh), 32,
                   false) & (c.out == INT8 ? 0xff : 0xffff);
}

static bool is_nan(uint32_t bits)
{
    return c.out == FP16 && isnan(half_value(bits));
}

/* What is not a number is as if it were not there. */
static uint32_t ref_extreme(const uint32_t *bits, int n)
{
    uint32_t best = 0;
    bool found = false;
    int i;

    for (i = 0; i < n; i++) {
        Value a = value_of(best, c.out), b = value_of(bits[i], c.out);
        bool more = c.out == FP16 ? b.f > a.f : b.i > a.i;
        bool less = c.out == FP16 ? b.f < a.f : b.i < a.i;

        if (!is_nan(bits[i]) &&
            (!found || (c.pool.method == 1 ? more : less))) {
            best = bits[i];
            found = true;
        }
    }
    return found ? best : c.pool.method == 1 ? 0xfc00 : 0x7c00;
}

static void ref_pool(void)
{
    static uint32_t from[ARRAY_SIZE(want)];
    const Pool *p = &c.pool;
    int channels = whole_atoms(c.written), y, x, ch, ky, kx;

    memcpy(from, want, sizeof(from));
    for (y = 0; y < p->h; y++) {
        for (x = 0; x < p->w; x++) {
            for (ch = 0; ch < channels; ch++) {
                uint32_t window[256] = { 0 };
                int n = 0;

                for (ky = 0; ky < p->kh; ky++) {
                    for (kx = 0; kx < p->kw; kx++) {
                        int yy = y * p->sy - p->top + ky;
                        int xx = x * p->sx - p->left + kx;
                        bool in = yy >= 0 && xx >= 0 && yy < c.h && xx < c.w;

                        if (in || !p->method) {
                            window[n++] = in ? from[(yy * c.w + xx) *
                                                    channels + ch]
                                             : (uint32_t)p->pad;
                        }
                    }
                }
                want[(y * p->w + x) * channels + ch] =
                    p->method ? ref_extreme(window, n)
                              : ref_average(window, n);
            }
        }
    }
}

/* --- Programs --- */

static uint32_t stage_cfg(const Stage *s)
{
    return !s->on ? 0x53 :
           (s->alu < 0 ? 2u : (uint32_t)s->alu << 16) | s->alu_mem << 8 |
           !s->relu << 6 | s->relux << 7 | s->prelu << 5 | !s->mul << 4;
}

static void put_stage(Prog *p, const Stage *s, bool bn)
{
    uint32_t reg = bn ? 0x4060 : 0x4040;
    uint32_t use = s->packed ? 7 : s->alu_mem ? 1 : s->mul_mem ? 4 : 0;

    put(p, reg, stage_cfg(s));
    put(p, reg + 4, s->alu_bits[0]);
    put(p, reg + 8, (uint32_t)s->mul_bits[0] << 16 | s->shift << 8 |
                    s->mul_mem);
    put(p, reg + 12, s->cmp);
    /* A disabled client says so. */
    put(p, bn ? 0x5028 : 0x501c, use ? use << 1 : 0x1f);
    put(p, bn ? 0x502c : 0x5020, bn ? ADDR_BN : ADDR_BS);
}

static void store_stage(const Stage *s, bool bn)
{
    uint8_t *base = at(bn ? ADDR_BN : ADDR_BS);
    int ch;

    for (ch = 0; ch < c.c; ch++) {
        if (s->packed) {
            uint8_t *eight = base + ch / 8 * 64;

            memcpy(eight + ch % 8 * 4, &s->alu_bits[ch], 4);
            memcpy(eight + 32 + ch % 8 * 2, &c.cpend_op[ch], 2);
            memcpy(eight + 48 + ch % 8 * 2, &s->mul_bits[ch], 2);
        } else if (s->alu_mem) {
            memcpy(base + ch * 4, &s->alu_bits[ch], 4);
        } else {
            memcpy(base + ch * 2, &s->mul_bits[ch], 2);
        }
    }
}

static void put_ew(Prog *p)
{
    const Ew *e = &c.ew;
    uint32_t size = size_of(c.in) == 1 ? 1 : size_of(c.in) == 2 ? 2 : 3;
    uint32_t mode = e->from == CHANNEL ? 0 : 1;
    bool reads = e->on && e->op >= 0 && e->from != REGISTER;
    uint32_t op = e->op < 0 ? 2 : e->op == MUL ? 4 : (uint32_t)e->op << 16;
    int i;

    put(p, 0x4070, !e->on ? 0x383 :
        op | (uint32_t)e->cvt_first << 31 | e->cvt_away << 30 | mode << 28 |
        size << 22 | e->relux << 10 | !e->relu << 9 | !e->cvt << 8 |
        !c.lut.on << 7 | reads << 6 | e->prelu << 5);
    put(p, 0x4074, e->cvt_offset);
    put(p, 0x4078, (uint32_t)e->shift << 22 | e->cvt_shift << 16 |
                   (e->cvt_scale & 0xffff));
    put(p, 0x407c, e->cmp);
    for (i = 0; i < 8; i++) {
        put(p, 0x4090 + 4 * i, e->bits[0]);
    }
    put(p, 0x5034, reads ? mode << 30 | size << 2 : 1);
    put(p, 0x5038, c.feed == FLY || e->from == CHANNEL
                   ? ADDR_E : ADDR_E + c.h * c.w * 16);
    put(p, 0x5040, e->from == CHANNEL ? 16 : c.h * c.w * 16);
}

static void store_ew(void)
{
    int bytes = size_of(c.in), per = 16 / bytes, pos, ch;

    for (pos = 0; pos < (c.ew.from == CHANNEL ? 1 : c.h * c.w); pos++) {
        for (ch = 0; ch < c.c; ch++) {
            int pitch = c.ew.from == CHANNEL ? 1 : c.h * c.w;

            memcpy(at(ADDR_E + (ch / per * pitch + pos) * 16 +
                      ch % per * bytes), &c.ew.bits[pos * c.c + ch], bytes);
        }
    }
}

static void put_lut(Prog *p)
{
    const Table *le = &c.lut.table[0], *lo = &c.lut.table[1];
    int i, k;

    for (k = 0; k < 2; k++) {
        put(p, 0x4100, 1 << 17 | k << 16);
        for (i = 0; i <= LUT_STEPS; i++) {
            put(p, 0x4104, (uint16_t)c.lut.table[k].y[i]);
        }
    }
    put(p, 0x4108, c.lut.both << 6 | c.lut.above << 5 | c.lut.below << 4 |
                   2 << 2);
    put(p, 0x410c, lo->shift << 16 | le->shift << 8);
    for (k = 0; k < 2; k++) {
        const Table *t = &c.lut.table[k];

        put(p, 0x4110 + 8 * k, t->start);
        put(p, 0x4114 + 8 * k, t->start + ((int64_t)LUT_STEPS << t->shift));
        put(p, 0x4120 + 8 * k, (uint32_t)(uint16_t)t->over << 16 |
                               (uint16_t)t->under);
        put(p, 0x4124 + 8 * k, t->over_shift << 5 | t->under_shift);
    }
}

static int surf_stride(void)
{
    return ((c.w + c.notch) * c.h + c.gap) * 16;
}

static int surf_add(void)
{
    return surf_stride() * c.group + c.group_gap * 16;
}

static void put_dpu(Prog *p)
{
    uint32_t mode = c.feed == DEPTHWISE ? 3 : 0;
    bool pair = c.feed != FLY && c.ew.op >= 0 && c.ew.from == ELEMENT;
    bool to_half = c.out == FP16 && is_float(c.in);

    put(p, 0x4004, 0xe);
    put(p, 0x5004, 0xe);
    put(p, 0x400c, 0x1e0 | mode << 3 | (c.pool.on ? 2 : 4) |
                   (c.feed == FLY));
    put(p, 0x4010, (uint32_t)c.out << 29 | c.in << 26 | c.ew.shift_neg << 16 |
                   c.bn.shift_neg << 10 | c.bs.shift_neg << 4 | c.in);
    put(p, 0x4014, c.pend);
    put(p, 0x4020, ADDR_C);
    put(p, 0x4024, surf_stride());
    put(p, 0x4030, c.w - 1);
    put(p, 0x4034, c.h - 1);
    put(p, 0x4038, c.notch << 16 | c.notch);
    put(p, 0x403c, (c.c - 1) << 16 | (c.written - 1));
    put_stage(p, &c.bs, false);
    put(p, 0x4050, (c.group - 1) * 0x124 | !c.cpend << 1 | c.cpend_mem);
    put(p, 0x4054, (uint16_t)c.cpend_op[0]);
    put(p, 0x4058, c.written - 1);
    put(p, 0x405c, (c.h - 1) << 16 | (c.w - 1));
    put_stage(p, &c.bn, true);
    put_ew(p);
    put(p, 0x4080, c.offset);
    put(p, 0x4084, (c.scale & 0xffff) | to_half << 16);
    put(p, 0x4088, (uint32_t)c.cvt_first << 31 | c.cvt_away << 30 |
                   c.minus_exp << 12 | c.shift);
    put(p, 0x40c0, surf_add());
    put(p, 0x500c, c.w - 1);
    put(p, 0x5010, c.h - 1);
    put(p, 0x5014, c.written - 1);
    put(p, 0x5018, c.feed == FLY ? ADDR_X : ADDR_E);
    put(p, 0x5044, c.in << 15 | 15 << 11 | c.in << 5 | mode << 1 |
                   (c.feed == FLY ? (c.in == FP16) << 3 | 1 :
                    pair ? 5 << 8 : 1 << 4));
    put(p, 0x504c, (c.feed == FLY ? c.in_notch : c.h * c.w) * 16);
    put(p, 0x506c, pair ? c.h * c.w * 16 : 0);
}

static void put_cna(Prog *p)
{
    int bytes = size_of(c.in), kernels = c.feed == DEPTHWISE ? 1 : c.c;
    uint32_t mode = c.feed == DEPTHWISE ? 3 : 0;
    int pad = c.k / 2;

    put(p, 0x100c, c.in << 7 | c.in << 4 | mode);
    put(p, 0x1014, 1 << 3 | 1);
    put(p, 0x1020, c.w << 16 | c.h);
    put(p, 0x1024, (c.ic - 1) << 16 | c.ic);
    put(p, 0x1028, c.w);
    put(p, 0x102c, c.w * c.h);
    put(p, 0x1030, c.k * c.k * c.ic * bytes * kernels);
    put(p, 0x1034, c.k * c.k * c.ic * bytes);
    put(p, 0x1038, c.k << 24 | c.k << 16 | kernels);
    put(p, 0x1040, 6 << 4 | 6);
    put(p, 0x104c, 0xb);
    put(p, 0x1068, pad << 4 | pad);
    put(p, 0x1070, ADDR_X);
    put(p, 0x107c, 4 * c.w);
    put(p, 0x1080, (uint32_t)(c.w * (c.h - 4)) & 0xfffffff);
    put(p, 0x1084, c.w << 16 | c.h);
    put(p, 0x1088, c.ic);
    put(p, 0x1110, ADDR_W);
    put(p, 0x3010, c.in << 8 | (c.feed == DEPTHWISE) << 1 | 1);
    put(p, 0x3014, (c.h - 1) << 16 | (c.w - 1));
    put(p, 0x3018, c.written - 1);
}

static void put_pool(Prog *p)
{
    const Pool *o = &c.pool;
    bool flt = c.out == FP16, average = o->method == 0;
    /* Bits of the half 65536 / k, to which 1 / k in FP17 is equal. */
    uint32_t one = 0x7c00;

    put(p, 0x6004, 0xe);
    put(p, 0x600c, c.w - 1);
    put(p, 0x6010, c.h - 1);
    put(p, 0x6014, c.written - 1);
    put(p, 0x6018, o->w - 1);
    put(p, 0x601c, o->h - 1);
    put(p, 0x6020, c.written - 1);
    put(p, 0x6024, (uint32_t)c.notch << 16 | (c.feed == MEMORY) << 4 |
                   o->use_cnt << 5 | o->method);
    put(p, 0x6034, (o->sy - 1) << 20 | (o->sx - 1) << 16 | (o->kh - 1) << 8 |
                   (o->kw - 1));
    put(p, 0x6038, !average ? 0 : !flt ? recip_int(o->kw) :
                   o->kw == 1 ? one : half_bits(65536.0f / o->kw));
    put(p, 0x603c, !average ? 0 : !flt ? recip_int(o->kh) :
                   o->kh == 1 ? one : half_bits(65536.0f / o->kh));
    put(p, 0x6040, o->bottom << 12 | o->right << 8 | o->top << 4 | o->left);
    put(p, 0x6044, flt ? (uint32_t)o->pad :
                   (uint32_t)value_of(o->pad, c.out).i & 0x7ffff);
    put(p, 0x6070, ADDR_C);
    put(p, 0x607c, ((o->w + c.notch) * o->h + c.gap) * 16);
    put(p, 0x6084, (c.feed == FLY) << 3 | c.out);
    put(p, 0x60dc, 3);
    if (c.feed == MEMORY) {
        put(p, 0x7004, 0xe);
        put(p, 0x700c, c.w - 1);
        put(p, 0x7010, c.h - 1);
        put(p, 0x7014, c.written - 1);
        put(p, 0x701c, ADDR_X);
        put(p, 0x7024, (c.w + c.in_notch) * 16);
        put(p, 0x7028, (c.w + c.in_notch) * c.h * 16);
        put(p, 0x7030, o->rdma_width);
    }
}

static void build(Prog *p)
{
    static const uint32_t enable[] = {
        [FLY] = 0x18, [CONV] = 0x1d, [DEPTHWISE] = 0x1d, [MEMORY] = 0x60,
    };

    p->n = 0;
    if (c.feed == CONV || c.feed == DEPTHWISE) {
        put_cna(p);
    }
    if (c.feed != MEMORY) {
        put_dpu(p);
    }
    if (c.lut.on) {
        put_lut(p);
    }
    if (c.pool.on) {
        put_pool(p);
    }
    start(p, enable[c.feed] | (c.pool.on ? 0x20 : 0));
}

/* A tensor of rows, columns and channels as 16-byte atoms. */
static void store_cube(const uint32_t *bits, int channels, int type,
                       int line, int pitch)
{
    int bytes = size_of(type), per = 16 / bytes, i;

    for (i = 0; i < c.h * c.w * channels; i++) {
        int ch = i % channels, x = i / channels % c.w, y = i / channels / c.w;

        memcpy(at(ADDR_X + (ch / per * pitch + y * line + x) * 16 +
                  ch % per * bytes), &bits[i], bytes);
    }
}

/* Groups of kernels, then taps, then the kernels' channels, up to 32. */
static void store_weights(void)
{
    int bytes = size_of(c.in), group = c.in == FP16 ? 16 : 32;
    int kernels = c.feed == DEPTHWISE ? 1 : c.c, first, tap, k;
    uint8_t *p = at(ADDR_W);

    for (first = 0; first < kernels; first += group) {
        for (tap = 0; tap < c.k * c.k; tap++) {
            for (k = first; k < kernels && k < first + group; k++) {
                int i;

                for (i = 0; i < c.ic; i++) {
                    memcpy(p, &w_bits[(k * c.k * c.k + tap) * c.ic + i],
                           bytes);
                    p += bytes;
                }
            }
        }
    }
}

static void store_operands(void)
{
    memset(mem, POISON, sizeof(mem));
    if (c.feed == FLY) {
        store_cube(x_bits, c.c, c.in, c.w, c.w * c.h + c.in_notch);
    } else if (c.feed == MEMORY) {
        store_cube(want, whole_atoms(c.written), c.out, c.w + c.in_notch,
                   (c.w + c.in_notch) * c.h);
    } else {
        store_cube(x_bits, c.ic, c.in, c.w, c.w * c.h);
        store_weights();
    }
    if (c.feed != MEMORY) {
        store_stage(&c.bs, false);
        store_stage(&c.bn, true);
        if (c.ew.on && c.ew.op >= 0 && c.ew.from != REGISTER) {
            store_ew();
        }
    }
}

/* --- Drawing --- */

/* Small enough for a few stages, big enough to saturate at times. */
static void draw_stage(Stage *s, bool bn)
{
    bool flt = is_float(c.in);
    static const int algo[] = { MAXIMUM, MINIMUM, ADD, MINUS };
    bool memory = one_in(2);
    int i;

    s->on = !one_in(3);
    s->alu = one_in(3) ? -1 : algo[rnd() % 4];
    s->mul = !one_in(3);
    s->alu_mem = s->on && memory && s->alu >= 0;
    s->mul_mem = s->on && memory && !s->alu_mem && s->mul;
    s->packed = !bn && !flt && s->alu_mem && s->mul && one_in(2);
    s->mul_mem = s->mul_mem || s->packed;
    s->prelu = s->mul && one_in(4);
    s->relu = one_in(3);
    s->relux = s->relu && one_in(2);
    s->cmp = flt ? float_bits(rnd_in(1, 4000) / 64.0f)
                 : (uint32_t)rnd_in(0, 100000);
    s->shift = flt || one_in(3) ? 0 : rnd_in(1, 16);
    s->shift_neg = flt ? 0 : one_in(2) ? s->shift : rnd_in(0, 16);
    for (i = 0; i < MAX_C; i++) {
        s->alu_bits[i] = flt ? rnd_bits(FP32) : rnd_bits(INT32);
        s->mul_bits[i] = flt ? rnd_half() : rnd();
        if (i && !s->alu_mem) {
            s->alu_bits[i] = s->alu_bits[0];
        }
        if (i && !s->mul_mem) {
            s->mul_bits[i] = s->mul_bits[0];
        }
    }
    if (!s->on) {
        s->shift = s->shift_neg = rnd_in(0, 1) && !flt ? 14 : 0;
        s->alu = -1;
        s->packed = s->mul = s->prelu = s->relu = s->relux = false;
    }
}

static void draw_ew_cvt(void)
{
    Ew *e = &c.ew;
    bool narrow = c.in == INT8 || c.in == INT16;

    /* The conversion is what widens halves; multipliers stay as they are. */
    e->cvt = e->op >= 0 && e->from != REGISTER &&
             (narrow ? !one_in(4) : c.in == FP16 && e->op != MUL);
    e->cvt_scale = 1;
    if (!e->cvt || !narrow) {
        return;
    }
    e->cvt_first = rnd() % 2;
    e->cvt_away = rnd() % 2;
    if (e->op != MUL) {
        e->cvt_offset = rnd_in(-300, 300);
        e->cvt_scale = rnd_in(-0x7fff, 0x7fff);
        e->cvt_shift = rnd_in(0, 20);
    } else if (c.in == INT8) {
        e->cvt_offset = rnd_in(-100, 100);
        e->cvt_scale = rnd_in(-100, 100);
        e->cvt_shift = rnd_in(0, 4);
    } else {
        e->cvt_scale = rnd_in(-0x7fff, 0x7fff);
        e->cvt_shift = 15;
    }
}

static void draw_ew(void)
{
    Ew *e = &c.ew;
    bool flt = is_float(c.in);
    int i;

    e->op = -1;
    e->cvt_scale = 1;
    e->on = !one_in(4);
    if (!e->on) {
        return;
    }
    if (!one_in(5)) {
        do {
            e->op = rnd_in(MAXIMUM, MUL);
        } while (!flt && (e->op == DIV || e->op == FLOOR || e->op == CEIL));
        e->from = rnd_in(REGISTER, CHANNEL);
        e->prelu = e->op == MUL && one_in(3);
    }
    if (e->op >= 0 && !flt && one_in(2)) {
        e->shift = e->prelu ? 0 : rnd_in(0, 15);
        e->shift_neg = rnd_in(0, 15);
    }
    e->relu = one_in(3);
    e->relux = e->relu && one_in(2);
    e->cmp = flt ? float_bits(rnd_in(1, 4000) / 64.0f)
                 : (uint32_t)rnd_in(0, 100000);
    draw_ew_cvt();
    for (i = 0; i < ARRAY_SIZE(e->bits); i++) {
        e->bits[i] = e->op == MUL && flt ? rnd_half() : rnd_bits(c.in);
    }
    if (e->from == REGISTER && e->op >= 0) {
        e->bits[0] = flt ? e->op == MUL ? rnd_half() : rnd_bits(FP32)
                         : e->op == MUL && c.in != INT32
                           ? (uint32_t)rnd_in(-32768, 32767) : rnd_bits(INT32);
    }
}

/* Tables that meet at 0, or anywhere. */
static void draw_lut(void)
{
    Lut *l = &c.lut;
    int i, k;

    l->on = c.ew.on && one_in(4);
    if (!l->on) {
        return;
    }
    if (c.ew.op >= 0 && c.ew.from == REGISTER) {
        c.ew.op = MAXIMUM;
        c.ew.prelu = false;
        c.ew.shift = c.ew.shift_neg = 0;
        c.ew.bits[0] = 0;
    }
    l->both = l->above = 1;
    l->below = 0;
    for (k = 0; k < 2; k++) {
        Table *t = &l->table[k];

        t->shift = rnd_in(0, 9);
        t->start = k ? 0 : -((int64_t)LUT_STEPS << t->shift);
        t->under = rnd();
        t->over = rnd();
        t->under_shift = rnd_in(0, 31);
        t->over_shift = rnd_in(0, 31);
        for (i = 0; i <= LUT_STEPS; i++) {
            t->y[i] = rnd();
        }
    }
    if (one_in(2)) {
        mark("LUT tables apart or overlapping", true);
        l->both = rnd() % 2;
        l->above = rnd() % 2;
        l->below = rnd() % 2;
        for (k = 0; k < 2; k++) {
            l->table[k].start = rnd_in(-100000, 100000);
        }
    }
}

static void draw_cvt(void)
{
    c.scale = 1;
    if (is_float(c.in)) {
        c.minus_exp = c.lut.on ? rnd_in(4, 15) : one_in(4) ? rnd_in(1, 6) : 0;
        c.cvt_first = c.lut.on ? rnd() % 2 : c.minus_exp;
        if (c.lut.on) {
            c.offset = rnd_in(-500, 500);
            c.scale = rnd_in(-3, 3);
        }
        return;
    }
    c.cvt_first = rnd() % 2;
    c.cvt_away = rnd() % 2;
    c.minus_exp = one_in(4) ? rnd_in(1, 20) : 0;
    c.offset = rnd_in(-200, 200);
    if (!one_in(3)) {
        c.scale = rnd_in(-0x7fff, 0x7fff);
        c.shift = rnd_in(0, 30);
    } else {
        /* Ties are common. */
        c.shift = rnd_in(0, 3);
        c.scale = one_in(2) ? 1 : -1;
    }
}

static void draw_types(void)
{
    static const struct {
        int in, out;
    } fly[] = {
        { INT8, INT8 }, { INT16, INT16 }, { INT16, INT32 }, { INT32, INT32 },
        { INT32, FP32 }, { FP16, FP16 }, { FP16, FP32 }, { FP32, FP32 },
    }, conv[] = {
        { INT8, INT8 }, { INT8, INT8 }, { INT8, INT32 }, { INT8, FP32 },
        { FP16, FP16 }, { FP16, FP32 },
    };
    unsigned i = rnd() % (c.feed == FLY ? ARRAY_SIZE(fly) : ARRAY_SIZE(conv));

    c.in = c.feed == FLY ? fly[i].in : conv[i].in;
    c.out = c.feed == FLY ? fly[i].out : conv[i].out;
}

static void draw_pool(void)
{
    static const int type[] = { INT8, INT16, FP16 };
    Pool *p = &c.pool;
    bool padded;

    p->on = true;
    p->method = rnd_in(0, 2);
    p->use_cnt = rnd_in(0, 7);
    if (c.feed == MEMORY) {
        c.out = c.in = type[rnd() % 3];
        p->rdma_width = c.out == INT8 ? rnd_in(1, 2) : 2;
    }
    p->sy = rnd_in(1, 4);
    p->sx = rnd_in(1, 4);
    if (one_in(5)) {
        p->kh = c.h;
        p->kw = c.w;
    } else {
        do {
            p->kh = rnd_in(1, 16);
            p->kw = rnd_in(1, 16);
            p->top = rnd_in(0, MIN(p->kh - 1, 7));
            p->left = rnd_in(0, MIN(p->kw - 1, 7));
            p->bottom = rnd_in(0, 7);
            p->right = rnd_in(0, 7);
            padded = p->top || p->left || p->bottom || p->right;
        } while (c.h + p->top + p->bottom < p->kh ||
                 c.w + p->left + p->right < p->kw ||
                 (padded && MAX(p->kh, p->kw) == 16));
    }
    p->h = (c.h + p->top + p->bottom - p->kh) / p->sy + 1;
    p->w = (c.w + p->left + p->right - p->kw) / p->sx + 1;
    if (p->method) {
        /* A maximum has to have something to choose from. */
        p->h = MIN(p->h, (c.h + p->top - 1) / p->sy + 1);
        p->w = MIN(p->w, (c.w + p->left - 1) / p->sx + 1);
    }
    p->pad = rnd_bits(c.out);
    c.notch = one_in(2) ? rnd_in(1, 9) : 0;
    c.group = 1;
    c.group_gap = 0;
}

static void draw_shape(void)
{
    c.h = rnd_in(1, MAX_SIDE);
    c.w = rnd_in(1, MAX_SIDE);
    if (c.feed == FLY || c.feed == MEMORY) {
        c.c = rnd_in(1, MAX_C / 2);
        c.written = one_in(2) ? c.c : rnd_in(c.c, MAX_C);
        c.in_notch = one_in(2) ? rnd_in(0, 20) : 0;
        return;
    }
    c.k = one_in(2) ? 1 : 3;
    c.ic = rnd_in(1, 4) * (c.in == FP16 ? 8 : 16);
    c.ic = c.feed == CONV ? MIN(c.ic, 32) : MIN(c.ic, c.in == FP16 ? 32 : 64);
    c.c = c.feed == DEPTHWISE ? rnd_in(1, c.ic) : rnd_in(1, 20) * 2;
    c.written = gives_depthwise_words() ? 64 : (c.c + 31) / 32 * 32;
}

static void draw_layout(void)
{
    c.notch = one_in(3) ? rnd_in(1, 5) : 0;
    c.gap = one_in(3) ? rnd_in(1, 9) : 0;
    c.group = gives_depthwise_words() ? 1 << rnd_in(0, 2) : rnd_in(1, 4);
    c.group_gap = one_in(3) ? rnd_in(1, 9) : 0;
}

/* Multipliers on their own come for whole surfaces, or one alone. */
static void fit_multipliers(void)
{
    bool alone = (c.bs.mul_mem && !c.bs.packed) ||
                 (c.bn.mul_mem && !c.bn.packed);

    if (alone && c.written > 8) {
        c.written = (c.written + 7) / 8 * 8;
    }
}

static void draw_cpend(void)
{
    int i;

    c.cpend = c.feed != FLY && !is_float(c.in) && one_in(2) &&
              (c.feed == DEPTHWISE || c.out != INT32);
    c.cpend_mem = c.cpend && c.bs.packed;
    for (i = 0; i < MAX_C; i++) {
        c.cpend_op[i] = i && !c.cpend_mem ? c.cpend_op[0]
                                          : rnd_in(-128, 127);
    }
}

static void draw_dpu(void)
{
    int i;

    draw_types();
    draw_shape();
    draw_layout();
    draw_stage(&c.bs, false);
    draw_stage(&c.bn, true);
    fit_multipliers();
    draw_cpend();
    draw_ew();
    draw_lut();
    draw_cvt();
    c.pend = c.out == FP32 ? 0 : rnd();
    for (i = 0; i < ARRAY_SIZE(x_bits); i++) {
        x_bits[i] = rnd_bits(c.in);
    }
    for (i = 0; i < ARRAY_SIZE(w_bits); i++) {
        w_bits[i] = rnd_bits(c.in);
    }
}

static void draw_memory(void)
{
    int i;

    draw_shape();
    draw_pool();
    for (i = 0; i < ARRAY_SIZE(want); i++) {
        want[i] = rnd_bits(c.out);
    }
}

static void mark_stages(void)
{
    const Stage *s = &c.bs;

    mark("BS ALU from a register", s->on && s->alu >= 0 && !s->alu_mem);
    mark("BS ALU by DMA", s->alu_mem && !s->packed);
    mark("BS multiplier from a register", s->on && s->mul && !s->mul_mem);
    mark("BS multiplier by DMA", s->mul_mem && !s->packed);
    mark("packed BS operands", s->packed);
    mark("CPEND by DMA", c.cpend_mem);
    mark("BS PReLU", s->prelu);
    mark("BS ReLU", s->relu);
    mark("BS ReLUX", s->relux);
    mark("shift of a bypassed multiplier", s->on && !s->mul && s->shift);
    mark("shifts that differ", s->on && s->shift != s->shift_neg);
    s = &c.bn;
    mark("BN ALU from a register", s->on && s->alu >= 0 && !s->alu_mem);
    mark("BN ALU by DMA", s->alu_mem);
    mark("BN multiplier", s->on && s->mul && !s->mul_mem);
    mark("BN multiplier by DMA", s->mul_mem);
    mark("BN PReLU", s->prelu);
    mark("PReLU that shifts", s->prelu && s->shift);
    mark("BN ReLUX", s->relux);
}

static void mark_ew(void)
{
    static const char *const op[] = {
        "EW max", "EW min", "EW add", "EW div", "EW minus", "EW abs",
        "EW neg", "EW floor", "EW ceil", "EW mul",
    };
    const Ew *e = &c.ew;

    if (e->op >= 0) {
        mark(op[e->op], true);
        mark("EW operand per element", e->from == ELEMENT && c.feed == FLY);
        mark("EW operand per channel", e->from == CHANNEL && c.feed == FLY);
        mark("EW operand per channel of a convolution",
             e->from == CHANNEL && c.feed != FLY);
        mark("EW operand from a register", e->from == REGISTER);
        mark("EW pair of MRDMA and ERDMA", e->from == ELEMENT &&
                                           c.feed != FLY);
    }
    mark("EW PReLU", e->prelu);
    mark("EW ReLU", e->relu);
    mark("EW ReLUX", e->relux);
    mark("EW operand conversion", e->cvt && !is_float(c.in));
    mark("EW operand without conversion",
         e->op >= 0 && e->from != REGISTER && !e->cvt && size_of(c.in) < 4 &&
         !is_float(c.in));
    mark("EW truncation", e->shift || e->shift_neg);
    mark("EW truncation of sums", e->op == ADD && e->shift);
    mark("LUT of integers", c.lut.on && !is_float(c.in));
    mark("LUT of floats", c.lut.on && is_float(c.in));
    mark("LUT behind a convolution", c.lut.on && c.feed != FLY);
    mark("LUT behind an EW operation",
         c.lut.on && e->op >= 0 && e->from != REGISTER);
    mark("LUT with a floor", c.lut.on && e->op >= 0 && e->from == REGISTER);
}

static void mark_dpu(void)
{
    static const char *const name[] = {
        [INT8] = "int8", [INT16] = "int16", [FP16] = "fp16",
        [INT32] = "int32", [FP32] = "fp32",
    };
    char types[32];

    snprintf(types, sizeof(types), "%s -> %s", name[c.in], name[c.out]);
    mark(types, true);
    mark("flying DPU", c.feed == FLY);
    mark("convolution", c.feed == CONV);
    mark("depthwise convolution", c.feed == DEPTHWISE);
    mark_stages();
    mark_ew();
    mark("OUT_CVT of LUT codes multiplies first",
         c.lut.on && is_float(c.in) && !c.cvt_first);
    mark("OUT_CVT offset first", c.cvt_first && !is_float(c.in));
    mark("OUT_CVT ties away from zero", c.cvt_away);
    mark("OUT_CVT negative scale", c.scale < 0);
    mark("MINUS_EXP of floats", c.minus_exp && is_float(c.in) && !c.lut.on);
    mark("padded channels", c.written > c.c);
    mark("notch of output lines", c.notch);
    mark("groups of output surfaces", c.group > 1);
}

static void mark_pool(void)
{
    const Pool *p = &c.pool;

    mark("DPU to PPU, flying", c.feed == FLY);
    mark("DPU to PPU, convolution", c.feed == CONV || c.feed == DEPTHWISE);
    mark("pooling from memory", c.feed == MEMORY);
    mark("int8 pooling", c.out == INT8);
    mark("int16 pooling", c.out == INT16);
    mark("fp16 pooling", c.out == FP16);
    mark("average", p->method == 0);
    mark("maximum", p->method == 1);
    mark("minimum", p->method == 2);
    mark("global pooling", p->kh == c.h && p->kw == c.w && !p->top);
    mark("pooling with a notch", c.notch);
    mark("pooling with padding", p->top || p->left || p->bottom || p->right);
    mark("average of one row or column", p->method == 0 &&
                                         (p->kh == 1 || p->kw == 1));
}

/* --- One program --- */

static uint32_t take(uint32_t addr)
{
    uint32_t bits = 0;

    memcpy(&bits, at(addr), size_of(c.out));
    memset(at(addr), POISON, size_of(c.out));
    return bits;
}

static uint32_t out_addr(int pos, int ch)
{
    int surface = ch / out_lanes();
    int w = c.pool.on ? c.pool.w : c.w;
    uint32_t add = c.pool.on ? ((c.pool.w + c.notch) * c.pool.h + c.gap) * 16
                             : surf_add();

    if (gives_depthwise_words()) {
        deal_words(c.group, c.w * c.h, &surface, &pos);
    }
    return ADDR_C + surface / c.group * add +
           surface % c.group * surf_stride() +
           (pos / w * (w + c.notch) + pos % w) * 16 +
           ch % out_lanes() * size_of(c.out);
}

/* Every element as expected, and nothing else written. */
static bool check(void)
{
    int positions = c.pool.on ? c.pool.w * c.pool.h : c.w * c.h;
    int channels = whole_atoms(c.written), pos, ch, i;

    for (pos = 0; pos < positions; pos++) {
        for (ch = 0; ch < channels; ch++) {
            uint32_t got = take(out_addr(pos, ch));

            if (!same(got, want[pos * channels + ch], c.out)) {
                printf("# position %d channel %d: %08x, want %08x\n", pos, ch,
                       got, want[pos * channels + ch]);
                return false;
            }
        }
    }
    for (i = 0; i < OUT_SIZE; i++) {
        if (mem[ADDR_C - MEM_BASE + i] != POISON) {
            printf("# offset %x of the output was written\n", i);
            return false;
        }
    }
    return true;
}

static void tell(void)
{
    printf("# feed %d, %d -> %d, %d x %d x %d of %d, BS %x %d/%d, "
           "BN %x %d/%d, EW op %d from %d, LUT %d, cvt %d >> %d + %d, "
           "pool %d: %d of %d x %d\n", c.feed, c.in, c.out, c.h, c.w, c.c,
           c.written, stage_cfg(&c.bs), c.bs.shift, c.bs.shift_neg,
           stage_cfg(&c.bn), c.bn.shift, c.bn.shift_neg, c.ew.op, c.ew.from,
           c.lut.on, c.scale, c.shift, c.offset, c.pool.on, c.pool.method,
           c.pool.kh, c.pool.kw);
}

static void draw(void)
{
    memset(&c, 0, sizeof(c));
    c.feed = rnd() % 8;
    c.feed = c.feed < 4 ? FLY : c.feed < 6 ? CONV :
             c.feed == 6 ? DEPTHWISE : MEMORY;
    if (c.feed == MEMORY) {
        c.group = 1;
        draw_memory();
    } else {
        draw_dpu();
        if ((c.out == INT8 || c.out == INT16 || c.out == FP16) && one_in(4)) {
            draw_pool();
        }
    }
}

static bool one_program(void)
{
    static Prog p;
    NpuTaskOptions opt = { .write_padding = true };
    const char *why = NULL;

    draw();
    store_operands();
    build(&p);
    if (c.feed != MEMORY) {
        ref_dpu();
    }
    if (c.pool.on) {
        ref_pool();
    }
    if (run_prog(&p, opt, &why) != NPU_TASK_RUN) {
        printf("# refused: %s\n", why);
        tell();
        return false;
    }
    if (!check()) {
        tell();
        return false;
    }
    if (c.feed != MEMORY) {
        mark_dpu();
    }
    if (c.pool.on) {
        mark_pool();
    }
    return true;
}

static void test_random(unsigned programs)
{
    unsigned i, wrong = 0, missing = 0;
    char what[64];

    for (i = 0; i < programs && wrong < 5; i++) {
        wrong += !one_program();
    }
    snprintf(what, sizeof(what), "%u random programs of DPU and PPU", programs);
    report(!wrong, what);
    for (i = 0; i < ARRAY_SIZE(feature_name); i++) {
        printf("# %5u %s\n", drawn[i], feature_name[i]);
        missing += !drawn[i];
    }
    report(!missing, "every feature was drawn");
}

/*
 * What public probes measured of int8 averages on RK3588: the nearest integer,
 * ties to even where both reciprocals are exact, else towards zero.
 */
static int probed_average(int sum, int n, bool exact)
{
    int size = sum < 0 ? -sum : sum, q = size / n, twice = size % n * 2;

    if (twice > n || (twice == n && exact && q % 2)) {
        q++;
    }
    return sum < 0 ? -q : q;
}

static bool average_of(int kh, int kw, int sum, bool exact)
{
    NpuTaskOptions opt = { .write_padding = true };
    int n = kh * kw, i, left = sum;
    const char *why;
    Prog p;

    memset(&c, 0, sizeof(c));
    c = (Case) { .feed = MEMORY, .in = INT8, .out = INT8, .h = kh, .w = kw,
                 .c = 16, .written = 16, .group = 1 };
    c.pool = (Pool) { .on = true, .kh = kh, .kw = kw, .sy = 1, .sx = 1,
                      .h = 1, .w = 1, .rdma_width = 1 };
    for (i = 0; i < n; i++) {
        int v = clip(left, -128, 127), ch;

        left -= v;
        for (ch = 0; ch < 16; ch++) {
            want[i * 16 + ch] = v & 0xff;
        }
    }
    store_operands();
    build(&p);
    return run_prog(&p, opt, &why) == NPU_TASK_RUN &&
           (int8_t)*at(ADDR_C) == probed_average(sum, n, exact);
}

static void test_probed_averages(void)
{
    static const struct {
        int h, w;
        bool exact;
    } k[] = {
        { 2, 2, true }, { 4, 4, true }, { 2, 3, false }, { 3, 3, false },
        { 3, 2, false },
    };
    bool ok = true;
    unsigned i;
    int sum;

    for (i = 0; i < ARRAY_SIZE(k); i++) {
        int n = k[i].h * k[i].w;

        for (sum = -128 * n; sum <= 127 * n && ok; sum++) {
            ok = average_of(k[i].h, k[i].w, sum, k[i].exact);
            if (!ok) {
                printf("# %d x %d, sum %d\n", k[i].h, k[i].w, sum);
            }
        }
    }
    report(ok, "int8 averages of every sum, as probes measured them");
}

/* --- What must hang, on silicon or for want of knowledge --- */

/* Small tasks, one of each kind; EW adds from memory. */
static void base(int feed, int in, bool pool)
{
    memset(&c, 0, sizeof(c));
    c = (Case) { .feed = feed, .in = in, .out = in, .h = 4, .w = 4, .c = 16,
                 .written = feed == CONV ? 32 : 16, .ic = 16, .k = 1,
                 .scale = 1, .group = 1 };
    c.bs.alu = c.bn.alu = -1;
    c.ew = (Ew) { .on = feed == FLY, .op = feed == FLY ? ADD : -1,
                  .from = ELEMENT, .cvt = size_of(in) < 4,
                  .cvt_scale = 1 };
    if (pool) {
        c.pool = (Pool) { .on = true, .method = 1, .kh = 2, .kw = 2, .sy = 2,
                          .sx = 2, .h = 2, .w = 2, .rdma_width = 2 };
    }
    memset(want, 0, sizeof(want));
}

typedef struct Write {
    uint32_t reg, value;
} Write;

static void expect(const char *what, NpuVerdict verdict,
                   const Write *writes, unsigned n, uint32_t more)
{
    NpuTaskOptions opt = { .write_padding = true };
    const char *why = NULL;
    uint32_t enable;
    NpuVerdict got;
    unsigned i;
    Prog p;

    store_operands();
    build(&p);
    if (run_prog(&p, opt, &why) != NPU_TASK_RUN) {
        printf("# refused without it: %s\n", why);
        report(false, what);
        return;
    }
    memset(at(ADDR_C), POISON, OUT_SIZE);
    enable = p.cmd[--p.n] >> 16;
    for (i = 0; i < n; i++) {
        put(&p, writes[i].reg, writes[i].value);
    }
    start(&p, enable | more);
    got = run_prog(&p, opt, &why);
    for (i = 0; i < OUT_SIZE && *at(ADDR_C + i) == POISON; i++) {
    }
    report(got == verdict && i == OUT_SIZE, what);
    printf("# %s\n", got == NPU_TASK_RUN ? "accepted" : why);
}

#define EXPECT(what, verdict, ...)                                      \
    do {                                                                \
        static const Write w[] = { __VA_ARGS__ };                       \
        expect(what, verdict, w, ARRAY_SIZE(w), 0);                     \
    } while (0)

static void test_stage_hangs(void)
{
    const NpuVerdict stall = NPU_TASK_STALL, unimp = NPU_TASK_UNIMP;

    base(CONV, INT8, false);
    EXPECT("BS multipliers that nothing fetches", stall,
           { 0x4040, 0x42 }, { 0x4048, 1 }, { 0x501c, 2 });
    EXPECT("BS operands of a disabled client", stall,
           { 0x4040, 0x20150 }, { 0x501c, 3 });
    EXPECT("BN operands that nothing fetches", stall,
           { 0x4060, 0x20150 }, { 0x5028, 0 });
    EXPECT("CPEND operands that nothing fetches", stall,
           { 0x4050, 1 }, { 0x501c, 2 });
    EXPECT("packed operands of BN", stall,
           { 0x4060, 0x20140 }, { 0x4068, 1 }, { 0x5028, 0xe });
    EXPECT("packed operands of which the multiplier takes none", unimp,
           { 0x4040, 0x20150 }, { 0x501c, 0xe });
    EXPECT("ALU and CPEND operands without multipliers", unimp,
           { 0x4040, 0x20150 }, { 0x501c, 6 });
    EXPECT("shifts from memory", unimp,
           { 0x4040, 0x42 }, { 0x4048, 2 });
    EXPECT("BS division", unimp, { 0x4040, 0x30050 });
    EXPECT("ERDMA alone beside a CORE", unimp,
           { 0x4070, 0x904202c0 }, { 0x5034, 0x40000004 });
    base(CONV, FP16, false);
    EXPECT("packed operands of floats", unimp,
           { 0x4040, 0x20140 }, { 0x4048, 1 }, { 0x501c, 0xe });
    EXPECT("shift of floats", unimp, { 0x4040, 0x42 }, { 0x4048, 0x100 });
    base(CONV, INT8, false);
    c.w = 1;
    EXPECT("ERDMA alone beside a CORE for a column", stall,
           { 0x4070, 0x904202c0 }, { 0x5034, 0x40000004 });
    EXPECT("operands per channel of a convolution from a pair", unimp,
           { 0x4070, 0x804202c0 }, { 0x5034, 4 }, { 0x5044, 0x7d00 });
    base(FLY, FP16, false);
    c.c = c.written = 12;
    EXPECT("multipliers of an incomplete second surface", unimp,
           { 0x4040, 0x42 }, { 0x4048, 1 }, { 0x501c, 8 });
}

static void test_ew_hangs(void)
{
    const NpuVerdict unimp = NPU_TASK_UNIMP;

    base(FLY, INT16, false);
    EXPECT("EW operands by channel and pixel", unimp,
           { 0x4070, 0x20820280 | 1 << 6 }, { 0x5034, 0x80000008 });
    EXPECT("EW and ERDMA of different modes", unimp, { 0x5034, 8 });
    EXPECT("EW and ERDMA of different sizes", unimp, { 0x5034, 0x40000004 });
    EXPECT("integer division", unimp, { 0x4070, 0x108302c0 });
    EXPECT("integer floor", unimp, { 0x4070, 0x108702c0 });
    EXPECT("unknown algorithm", unimp, { 0x4070, 0x108902c0 });
    EXPECT("binary results", unimp, { 0x4070, 0x109202c0 });
    EXPECT("truncation by more than 62", unimp, { 0x4078, 63u << 22 | 1 });
    EXPECT("multipliers above 16 bits", unimp,
           { 0x4070, 0x108002c4 }, { 0x4078, 2 });
    EXPECT("register operands that differ", unimp,
           { 0x4070, 0x10820380 }, { 0x5034, 1 }, { 0x4094, 5 });
    EXPECT("conversion of register operands", unimp,
           { 0x4070, 0x10820280 }, { 0x5034, 1 }, { 0x4078, 3 });
    EXPECT("int16 to int8", unimp, { 0x4010, 1 << 26 | 1 });
    EXPECT("a LUT of which half was not written", unimp,
           { 0x4070, 0x10820240 }, { 0x4108, 0x68 });
    EXPECT("transposed output", unimp, { 0x4050, 1 << 27 | 2 });
    EXPECT("output to both sides", unimp, { 0x400c, 0x1e7 });
    base(FLY, FP16, false);
    EXPECT("truncation of floats", unimp,
           { 0x4070, 0x108003c4 }, { 0x4078, 1u << 22 | 1 });
    EXPECT("arithmetic of OUT_CVT on floats", unimp, { 0x4080, 1 });
    EXPECT("MINUS_EXP without an offset first", unimp, { 0x4088, 1 << 12 });
}

static void test_pool_hangs(void)
{
    static const Write wide[] = { { 0x7030, 3 } };
    const NpuVerdict unimp = NPU_TASK_UNIMP;

    base(MEMORY, INT8, true);
    expect("RDMA of words", unimp, wide, 1, 0);
    EXPECT("RDMA of nibbles", unimp, { 0x7030, 0 });
    EXPECT("indices", unimp, { 0x6024, 0x40000011 });
    EXPECT("maximum of padding alone", unimp, { 0x6040, 0x2 });
    EXPECT("averages without padding", unimp, { 0x6024, 0x18 });
    EXPECT("16x16 with padding of 7", unimp, { 0x6034, 0x1010f0f },
           { 0x6040, 0x7777 });
    EXPECT("padding that does not fit", unimp,
           { 0x6024, 0x10 }, { 0x6040, 0x1000 }, { 0x6044, 0x80 });
    EXPECT("fp32 pooling", unimp, { 0x6084, 5 });
    EXPECT("pooling of what no DPU hands over", unimp, { 0x6024, 1 });
    EXPECT("a fly-in from nowhere", unimp, { 0x6084, 8 });
    base(FLY, INT16, true);
    EXPECT("a flying PPU behind a DPU", unimp, { 0x6024, 0x11 });
    EXPECT("a PPU that is not told of a flying DPU", unimp, { 0x6084, 1 });
    EXPECT("pooling in another precision", unimp, { 0x6084, 8 | 2 });
    EXPECT("pooling of another cube", unimp,
           { 0x6014, 7 }, { 0x6020, 7 });
    EXPECT("a DPU that writes to memory instead", unimp, { 0x400c, 0x1e5 });
    expect("PPU_RDMA with nothing to feed", NPU_TASK_STALL, NULL, 0, 0x40);
}

/* With the other reading of an idle PPU_RDMA the same task runs. */
static void test_idle_rdma(void)
{
    NpuTaskOptions opt = { .write_padding = true, .idle_ppu_rdma = true };
    const char *why = NULL;
    unsigned i;
    Prog p;

    base(FLY, INT16, true);
    for (i = 0; i < ARRAY_SIZE(x_bits); i++) {
        x_bits[i] = rnd_bits(INT16);
        c.ew.bits[i] = rnd_bits(INT16);
    }
    store_operands();
    build(&p);
    p.n--;
    start(&p, 0x78);
    ref_dpu();
    ref_pool();
    report(run_prog(&p, opt, &why) == NPU_TASK_RUN && check(),
           "PPU_RDMA that idles, by option");
}

/* Random changes to random programs: no crash, no access out of bounds. */
static void test_fuzz(unsigned programs)
{
    unsigned verdict[3] = { 0 }, i, j, k;
    static Prog p;

    for (i = 0; i < programs; i++) {
        NpuTaskOptions opt = { .write_padding = one_in(2),
                               .idle_ppu_rdma = one_in(2) };
        const char *why;

        draw();
        store_operands();
        build(&p);
        for (j = 0; j < 8; j++) {
            for (k = rnd_in(1, 3); k; k--) {
                p.cmd[rnd() % p.n] ^= 1ull << rnd_in(16, 47);
            }
            verdict[run_prog(&p, opt, &why)]++;
        }
    }
    report(verdict[NPU_TASK_RUN] && verdict[NPU_TASK_STALL] &&
           verdict[NPU_TASK_UNIMP], "fuzzed programs");
    printf("# %u ran, %u refused, %u stalled\n", verdict[NPU_TASK_RUN],
           verdict[NPU_TASK_UNIMP], verdict[NPU_TASK_STALL]);
}

int main(int argc, char **argv)
{
    unsigned programs = 2000;
    uint64_t seed = 88172645463325252ull;
    int i;

    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            programs = 1000;
        } else if (!strcmp(argv[i], "--programs") && i + 1 < argc) {
            programs = strtoul(argv[++i], NULL, 0);
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        }
    }
    rnd_state = seed ? seed : 1;
    printf("TAP version 13\n# seed %llu\n", (unsigned long long)seed);
    test_stage_hangs();
    test_ew_hangs();
    test_pool_hangs();
    test_idle_rdma();
    test_random(programs);
    test_probed_averages();
    test_fuzz(programs);
    printf("1..%u\n", tests);
    return failures != 0;
}
