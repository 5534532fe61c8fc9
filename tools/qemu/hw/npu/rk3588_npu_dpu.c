/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DPU stages of the RK3588 NPU from CORE results to bytes of the output cube:
 * OUT_CVT and the layout, and the arithmetic that the stages share.
 */
#include "qemu/osdep.h"
#include <math.h>
#include "qemu/bswap.h"
#include "rk3588_npu_dpu.h"

static int64_t clamp64(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

int32_t npu_sat32(int64_t v)
{
    return clamp64(v, INT32_MIN, INT32_MAX);
}

int64_t npu_round_shift(int64_t value, unsigned shift, bool ties_up)
{
    int64_t q, rem, half;

    if (!shift) {
        return value;
    }
    if (shift > 62) {
        /* Values come from 32 x 16 bit products: far below one half. */
        return 0;
    }
    q = value >> shift;
    rem = value - (int64_t)((uint64_t)q << shift);
    half = (int64_t)1 << (shift - 1);
    if (rem > half || (rem == half && (ties_up || (q & 1)))) {
        q++;
    }
    return q;
}

int64_t npu_cvt_shift(int64_t value, unsigned shift, bool ties_away)
{
    return value < 0 ? -npu_round_shift(-value, shift, ties_away)
                     : npu_round_shift(value, shift, ties_away);
}

float npu_fp16_to_fp32(uint16_t h)
{
    union { uint32_t u; float f; } v = { .u = (h & 0x7fffu) << 13 };

    if (v.u >= 0x0f800000u) {
        v.u |= 0x7f800000u;
    } else {
        /* Moves the exponent bias; makes subnormals of the half normal. */
        v.f *= 0x1p112f;
    }
    v.u |= (uint32_t)(h & 0x8000u) << 16;
    return v.f;
}

/*
 * To nearest even; overflow gives infinity and subnormals are kept, as IEEE
 * wants.  That silicon agrees is inferred, not measured.
 */
uint16_t npu_fp32_to_fp16(float f)
{
    union { float f; uint32_t u; } v = { .f = f };
    uint32_t sign = (v.u >> 16) & 0x8000u;
    uint32_t abs = v.u & 0x7fffffffu;
    uint32_t shift, man, half, q, rem;

    if (abs > 0x7f800000u) {
        return 0x7e00;
    }
    if (abs >= 0x47800000u) {
        return sign | 0x7c00;
    }
    if (abs < 0x33000000u) {
        return sign;
    }
    if (abs >= 0x38800000u) {
        shift = 13;
        man = abs - 0x38000000u;
    } else {
        shift = 126 - (abs >> 23);
        man = (abs & 0x7fffffu) | 0x800000u;
    }
    q = man >> shift;
    rem = man & ((1u << shift) - 1);
    half = 1u << (shift - 1);
    if (rem > half || (rem == half && (q & 1))) {
        q++;
    }
    return sign | q;
}

/* Integers do not divide; what silicon makes of that is not known. */
bool npu_alu_known(uint32_t algo, bool is_float)
{
    switch (algo) {
    case NPU_ALU_MAX:
    case NPU_ALU_MIN:
    case NPU_ALU_ADD:
    case NPU_ALU_MINUS:
    case NPU_ALU_ABS:
    case NPU_ALU_NEG:
        return true;
    case NPU_ALU_DIV:
    case NPU_ALU_FLOOR:
    case NPU_ALU_CEIL:
        return is_float;
    default:
        return false;
    }
}

static int32_t negate(int32_t v)
{
    return -(uint32_t)v;
}

/*
 * The negative of INT32_MIN is itself, even inside of a subtraction, whose
 * addition then saturates: that is what edge cases gave on RK3588.
 */
int32_t npu_alu_int(uint8_t algo, int32_t v, int32_t operand)
{
    switch (algo) {
    case NPU_ALU_MAX:
        return MAX(v, operand);
    case NPU_ALU_MIN:
        return MIN(v, operand);
    case NPU_ALU_ADD:
        return npu_sat32((int64_t)v + operand);
    case NPU_ALU_MINUS:
        return npu_sat32((int64_t)v + negate(operand));
    case NPU_ALU_ABS:
        return v < 0 ? negate(v) : v;
    case NPU_ALU_NEG:
        return negate(v);
    default:
        return v;
    }
}

int32_t npu_relu_int(int32_t v, bool relux, uint32_t cmp)
{
    v = MAX(v, 0);
    return relux ? MIN(v, (int32_t)cmp) : v;
}

float npu_bits_to_float(uint32_t bits)
{
    union { uint32_t u; float f; } v = { .u = bits };

    return v.f;
}

static uint32_t float_bits(float f)
{
    union { float f; uint32_t u; } v = { .f = f };

    /* One NaN, whatever the host makes of it. */
    return f != f ? 0x7fc00000u : v.u;
}

/* To nearest even, as for halves. */
uint16_t npu_fp32_to_bf16(float f)
{
    uint32_t bits = float_bits(f);

    if (f != f) {
        return bits >> 16;
    }
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

float npu_bf16_to_fp32(uint16_t h)
{
    return npu_bits_to_float((uint32_t)h << 16);
}

float npu_alu_float(uint8_t algo, float v, float operand)
{
    switch (algo) {
    case NPU_ALU_MAX:
        return v < operand ? operand : v;
    case NPU_ALU_MIN:
        return v > operand ? operand : v;
    case NPU_ALU_ADD:
        return v + operand;
    case NPU_ALU_DIV:
        return v / operand;
    case NPU_ALU_MINUS:
        return v - operand;
    case NPU_ALU_ABS:
        return fabsf(v);
    case NPU_ALU_NEG:
        return -v;
    case NPU_ALU_FLOOR:
        return floorf(v);
    case NPU_ALU_CEIL:
        return ceilf(v);
    default:
        return v;
    }
}

float npu_relu_float(float v, bool relux, uint32_t cmp)
{
    float limit = npu_bits_to_float(cmp);

    v = v < 0 ? 0 : v;
    return relux && v > limit ? limit : v;
}

static int32_t out_cvt(const NpuDpu *d, int32_t v)
{
    int64_t x = v;

    if (d->cvt_offset_first) {
        x = npu_cvt_shift((x + d->cvt_offset) * d->cvt_scale, d->cvt_shift,
                          d->cvt_away);
    } else {
        x = npu_cvt_shift(x * d->cvt_scale, d->cvt_shift, d->cvt_away);
        x += d->cvt_offset;
    }
    return npu_sat32(x);
}

/* Fixed-point codes, those of the LUT above all, to what they stand for. */
static float out_cvt_codes(const NpuDpu *d, float v)
{
    return ldexp(((double)v + d->cvt_offset) * d->cvt_scale,
                 -(int)d->cvt_minus_exp);
}

static void store_int(const NpuDpu *d, uint8_t *p, int32_t v)
{
    switch (d->out_precision) {
    case NPU_PREC_INT8:
        *p = clamp64(v, INT8_MIN, INT8_MAX);
        break;
    case NPU_PREC_INT16:
        stw_le_p(p, clamp64(v, INT16_MIN, INT16_MAX));
        break;
    case NPU_PREC_INT32:
        stl_le_p(p, v);
        break;
    case NPU_PREC_FP32:
        stl_le_p(p, float_bits(v));
        break;
    }
}

static void store_float(const NpuDpu *d, uint8_t *p, float v)
{
    if (d->out_precision == NPU_PREC_FP16) {
        stw_le_p(p, npu_fp32_to_fp16(v));
    } else if (d->out_precision == NPU_PREC_BF16) {
        stw_le_p(p, npu_fp32_to_bf16(v));
    } else {
        stl_le_p(p, float_bits(v));
    }
}

/* Host offset of channel @c at position 0 and of position @row in a surface. */
static size_t channel_offset(const NpuDpu *d, uint32_t c)
{
    uint32_t per_surf = NPU_ATOM / d->out_bytes;

    return c / per_surf * d->out.cube.host_surf + c % per_surf * d->out_bytes;
}

static size_t row_offset(const NpuDpu *d, uint32_t row)
{
    return row / d->width * d->out.cube.host_line + row % d->width * NPU_ATOM;
}

/* Goes from position to position without the divisions. */
typedef struct RowWalk {
    size_t at;
    uint32_t x;
} RowWalk;

static RowWalk row_start(const NpuDpu *d, uint32_t row)
{
    return (RowWalk) { .at = row_offset(d, row), .x = row % d->width };
}

static void row_next(const NpuDpu *d, RowWalk *w)
{
    w->at += NPU_ATOM;
    if (++w->x == d->width) {
        w->x = 0;
        w->at += d->out.cube.host_line - (size_t)d->width * NPU_ATOM;
    }
}

/* Does the DPU hand on 32-bit results as they are? */
static bool is_plain(const NpuDpu *d)
{
    if (d->stage[NPU_STAGE_BS].on || d->stage[NPU_STAGE_BN].on || d->ew.on ||
        d->cvt_codes || d->cvt_minus_exp) {
        return false;
    }
    return d->is_float ? d->out_precision == NPU_PREC_FP32 :
           d->out_precision == NPU_PREC_INT32 && d->cvt_scale == 1 &&
           !d->cvt_shift && !d->cvt_offset;
}

/* Up to four channels of one surface. */
static void store_words(const NpuBlock *b, bool is_float, size_t from,
                        uint32_t n, uint8_t *p)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        stl_le_p(p + 4 * i, is_float ? float_bits(b->f[from + i])
                                     : (uint32_t)b->i[from + i]);
    }
}

static void store_plain(const NpuTask *t, const NpuBlock *b, uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    uint32_t end = MIN(b->col + b->cols, d->orig_channels);
    RowWalk w = row_start(d, b->row);
    uint32_t r, c, n;

    for (r = 0; r < b->rows; r++) {
        for (c = b->col; c < end; c += n) {
            n = MIN(end - c, 4 - c % 4);
            store_words(b, d->is_float, (size_t)r * b->pitch + c - b->col, n,
                        out + c / 4 * d->out.cube.host_surf + c % 4 * 4 + w.at);
        }
        row_next(d, &w);
    }
}

static void store_column_int(const NpuTask *t, const NpuOperands *in,
                             const NpuBlock *b, uint32_t col, uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    uint32_t c = b->col + col;
    NpuStageOperand bs = npu_stage_operand(t, in, NPU_STAGE_BS, c);
    NpuStageOperand bn = npu_stage_operand(t, in, NPU_STAGE_BN, c);
    uint8_t *base = out + channel_offset(d, c);
    RowWalk w = row_start(d, b->row);
    uint32_t r;

    for (r = 0; r < b->rows; r++, row_next(d, &w)) {
        int32_t v = b->i[(size_t)r * b->pitch + col];

        v = npu_stage_int(&d->stage[NPU_STAGE_BS], v, &bs);
        v = npu_stage_int(&d->stage[NPU_STAGE_BN], v, &bn);
        if (d->ew.on) {
            v = npu_ew_int(t, in, v, c, b->row + r);
        }
        store_int(d, base + w.at, out_cvt(d, v));
    }
}

static void store_column_float(const NpuTask *t, const NpuOperands *in,
                               const NpuBlock *b, uint32_t col, uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    uint32_t c = b->col + col;
    NpuStageOperand bs = npu_stage_operand(t, in, NPU_STAGE_BS, c);
    NpuStageOperand bn = npu_stage_operand(t, in, NPU_STAGE_BN, c);
    uint8_t *base = out + channel_offset(d, c);
    RowWalk w = row_start(d, b->row);
    uint32_t r;

    for (r = 0; r < b->rows; r++, row_next(d, &w)) {
        float v = b->f[(size_t)r * b->pitch + col];

        v = npu_stage_float(&d->stage[NPU_STAGE_BS], v, &bs);
        v = npu_stage_float(&d->stage[NPU_STAGE_BN], v, &bn);
        if (d->ew.on) {
            v = npu_ew_float(t, in, v, c, b->row + r);
        }
        if (d->cvt_codes || d->cvt_minus_exp) {
            v = out_cvt_codes(d, v);
        }
        store_float(d, base + w.at, v);
    }
}

void npu_dpu_store(const NpuTask *t, const NpuOperands *in, const NpuBlock *b,
                   uint8_t *out)
{
    uint32_t col;

    if (is_plain(&t->dpu)) {
        store_plain(t, b, out);
        return;
    }
    for (col = 0; col < b->cols; col++) {
        if (b->col + col >= t->dpu.orig_channels) {
            break;
        }
        if (t->dpu.is_float) {
            store_column_float(t, in, b, col, out);
        } else {
            store_column_int(t, in, b, col, out);
        }
    }
}

void npu_dpu_fill_padding(const NpuTask *t, uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    uint32_t per_surf = NPU_ATOM / d->out_bytes;
    uint32_t end = d->out.cube.surfaces * per_surf;
    uint32_t rows = d->width * d->height;
    uint32_t c, r;

    for (c = d->orig_channels; c < end; c++) {
        uint8_t *base = out + channel_offset(d, c);

        for (r = 0; r < rows; r++) {
            uint8_t *p = base + row_offset(d, r);

            if (d->out_bytes == 2) {
                stw_le_p(p, d->pend);
            } else if (d->out_bytes == 1) {
                *p = d->pend;
            } else {
                stl_le_p(p, (int16_t)d->pend);
            }
        }
    }
}
