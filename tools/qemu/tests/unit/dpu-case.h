/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the RK3588 NPU's DPU and PPU and what they should compute, written
 * from tensors: no register is known here.
 */
#ifndef DPU_CASE_H
#define DPU_CASE_H

#include "reference.h"
#include <math.h>

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

/* --- Types --- */

static inline bool is_float(int type)
{
    return type == FP16 || type == FP32;
}

static inline int size_of(int type)
{
    return type == INT8 ? 1 : type == INT16 || type == FP16 ? 2 : 4;
}

static inline float half_value(uint16_t bits)
{
    _Float16 h;

    memcpy(&h, &bits, sizeof(h));
    return h;
}

static inline uint16_t half_bits(float f)
{
    _Float16 h = f;
    uint16_t bits;

    memcpy(&bits, &h, sizeof(bits));
    return bits;
}

static inline float float_value(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline Value value_of(uint32_t bits, int type)
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

static inline bool same(uint32_t got, uint32_t bits, int type)
{
    float a, b;

    if (!is_float(type)) {
        return got == bits;
    }
    a = value_of(got, type).f;
    b = value_of(bits, type).f;
    return a == b || (a != a && b != b);
}

static inline uint16_t rnd_half(void)
{
    /* Of either sign, from 1/64 to 32. */
    return (rnd() & 0x83ff) | (uint32_t)rnd_in(9, 19) << 10;
}

static inline uint32_t rnd_bits(int type)
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

static inline int64_t clip32(int64_t v)
{
    return ref_clip(v, INT32_MIN, INT32_MAX);
}

/* The nearest integer to v / 2^s; ties to even or away from zero. */
static inline int64_t nearest(__int128 v, int s, bool away)
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
static inline int64_t converted(__int128 v, int s, int64_t offset, bool away)
{
    return nearest(v + (offset * ((__int128)1 << s)), s, away);
}

static inline int64_t wrap_neg(int64_t v)
{
    return v == INT32_MIN ? v : -v;
}

static inline int64_t op_int(int op, int64_t v, int64_t e)
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
static inline int64_t op_wide(int op, int64_t v, int32_t e)
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

static inline float op_float(int op, float v, float e)
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

static inline Value relu(Value v, bool on, bool limited, uint32_t cmp, bool flt)
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

static inline int64_t shifted(int64_t product, int shift, int shift_neg)
{
    return clip32(nearest(product, product < 0 ? shift_neg : shift, false));
}

static inline Value stage_alu(const Stage *s, Value v, int ch, bool flt)
{
    if (s->alu >= 0 && flt) {
        v.f = op_float(s->alu, v.f, float_value(s->alu_bits[ch]));
    } else if (s->alu >= 0) {
        v.i = op_int(s->alu, v.i, (int32_t)s->alu_bits[ch]);
    }
    return v;
}

static inline Value stage_mul(const Stage *s, Value v, int ch, bool flt)
{
    bool spared = s->prelu && !(flt ? v.f < 0 : v.i < 0);

    if (flt && s->mul && !spared) {
        v.f = op_float(MUL, v.f, half_value(s->mul_bits[ch]));
    } else if (!flt && s->mul && !spared) {
        v.i *= (int16_t)s->mul_bits[ch];
    }
    return v;
}

static inline Value ref_stage(const Stage *s, Value v, int ch, bool bn,
                              bool flt)
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

static inline int64_t ref_ew_operand(uint32_t bits)
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

static inline Value ref_ew_op(Value v, uint32_t bits)
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
static inline int64_t ref_table(const Table *t, int64_t x)
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

static inline int64_t ref_lut(int64_t x)
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

static inline Value ref_ew(Value v, int pos, int ch)
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

static inline uint32_t ref_convert(Value v)
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
        return ref_clip(i, -128, 127) & 0xff;
    case INT16:
        return ref_clip(i, -32768, 32767) & 0xffff;
    case INT32:
        return i;
    default:
        return float_bits(i);
    }
}

static inline Value ref_core(int pos, int ch)
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

static inline int out_lanes(void)
{
    return 16 / size_of(c.out);
}

static inline bool gives_depthwise_words(void)
{
    return c.feed == DEPTHWISE && c.in == INT8 && size_of(c.out) == 4;
}

static inline int whole_atoms(int channels)
{
    return (channels + out_lanes() - 1) / out_lanes() * out_lanes();
}

static inline uint32_t pend_bits(void)
{
    return size_of(c.out) == 1 ? c.pend & 0xff :
           size_of(c.out) == 2 ? c.pend : (uint32_t)(int16_t)c.pend;
}

static inline void ref_dpu(void)
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
static inline uint32_t recip_int(int k)
{
    return 65536 / k;
}

static inline float recip_float(int k)
{
    return k == 1 ? 1 : half_value(half_bits(65536.0f / k)) / 65536;
}

static inline uint32_t ref_average(const uint32_t *bits, int n)
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

static inline bool is_nan(uint32_t bits)
{
    return c.out == FP16 && isnan(half_value(bits));
}

/* What is not a number is as if it were not there. */
static inline uint32_t ref_extreme(const uint32_t *bits, int n)
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

static inline void ref_pool(void)
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

/* Small tasks, one of each kind; EW adds from memory. */
static inline void base(int feed, int in, bool pool)
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

#endif
