/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DPU stages of the RK3588 NPU from CORE results to bytes of the output cube:
 * OUT_CVT and the layout.
 */
#include "qemu/osdep.h"
#include <math.h>
#include "qemu/bswap.h"
#include "dpu.h"
#include "alu.h"
#include "cube.h"
#include "decode.h"
#include "ew.h"
#include "numeric.h"
#include "rowmax.h"
#include "stage.h"
#include "stream.h"

/* --- Registers --- */

/* MINUS_EXP scales floats, and was seen to do nothing to integers. */
static const char *check_float_cvt(const NpuDpu *d)
{
    if (d->cvt_codes) {
        REFUSE_IF(d->cvt_shift, "OUT_CVT shift of LUT codes");
        return NULL;
    }
    REFUSE_IF(d->cvt_offset || d->cvt_scale != 1 || d->cvt_shift,
              "OUT_CVT arithmetic with floats");
    REFUSE_IF(d->cvt_minus_exp && !d->cvt_offset_first,
              "MINUS_EXP of a converter that multiplies first");
    return NULL;
}

/*
 * Divisions of Rockchip's compilers take and give halves without conversion;
 * what other stages make of them is not known.
 */
static const char *check_halves(const NpuDpu *d)
{
    if (d->row_max) {
        return NULL;
    }
    REFUSE_IF(d->out_precision != NPU_PREC_FP16 ||
              d->stage[NPU_STAGE_BS].on || d->stage[NPU_STAGE_BN].on ||
              !d->ew.op || d->ew.mul || d->ew.alu_algo != NPU_ALU_DIV ||
              d->ew.lut || d->ew.relu,
              "halves that are not widened, but for a division");
    return NULL;
}

static bool halves(const NpuDpu *d)
{
    return d->out_precision == NPU_PREC_FP16 ||
           d->out_precision == NPU_PREC_BF16;
}

static const char *decode_out_cvt(NpuDpu *d, const uint32_t *regs)
{
    bool to_half = GET(regs, DPU_OUT_CVT_SCALE, FP32TOFP16_EN);

    d->cvt_offset = regs[R_DPU_OUT_CVT_OFFSET];
    /* Signed (row out.cvt). */
    d->cvt_scale = (int16_t)GET(regs, DPU_OUT_CVT_SCALE, SCALE);
    d->cvt_shift = GET(regs, DPU_OUT_CVT_SHIFT, SHIFT);
    d->cvt_away = GET(regs, DPU_OUT_CVT_SHIFT, CVT_ROUND);
    d->cvt_offset_first = GET(regs, DPU_OUT_CVT_SHIFT, CVT_TYPE);
    d->cvt_minus_exp = GET(regs, DPU_OUT_CVT_SHIFT, MINUS_EXP);
    d->cvt_codes = d->ew.lut && d->is_float;
    if (d->halves) {
        REFUSE_IF(to_half, "FP32TOFP16_EN of halves that are not widened");
        return check_halves(d);
    }
    /* Rockchip's compilers set it for words and bytes of floats, too. */
    REFUSE_IF(halves(d) ? !to_half : to_half && !d->is_float,
              "FP32TOFP16_EN against the output precision");
    if (d->is_float) {
        return check_float_cvt(d);
    }
    REFUSE_IF(d->cvt_shift > 63, "OUT_CVT shift above 63");
    return NULL;
}

/* Words come by four, also where other atoms have 8 bytes. */
static void find_atoms(NpuDpu *d)
{
    d->in_atom = npu_element_bytes(d->precision) == 4 ? NPU_ATOM : d->atom;
    d->out_atom = d->out_bytes == 4 ? NPU_ATOM : d->atom;
}

static const char *decode_out_precision(NpuDpu *d, const uint32_t *regs)
{
    d->out_precision = GET(regs, DPU_DATA_FORMAT, OUT_PRECISION);
    if (d->raw) {
        REFUSE_IF(d->out_precision != GET(regs, DPU_DATA_FORMAT,
                                          PROC_PRECISION),
                  "conversion of what is moved as it is");
        d->out_precision = d->precision;
    }
    switch (d->out_precision) {
    case NPU_PREC_INT8:
        d->out_bytes = 1;
        REFUSE_IF(d->is_float && d->precision != NPU_PREC_FP16,
                  "integer output of floats but bytes of halves");
        return NULL;
    case NPU_PREC_INT16:
        d->out_bytes = 2;
        REFUSE_IF(d->is_float, "integer output of floats");
        REFUSE_IF(d->precision == NPU_PREC_INT8, "int16 output of bytes");
        return NULL;
    case NPU_PREC_FP16:
        d->out_bytes = 2;
        REFUSE_IF(!d->is_float && d->precision != NPU_PREC_INT8,
                  "half float output of integers but bytes");
        return NULL;
    case NPU_PREC_BF16:
        d->out_bytes = 2;
        REFUSE_IF(d->precision != NPU_PREC_BF16 &&
                  d->precision != NPU_PREC_FP16, "bf16 output but of halves");
        return NULL;
    case NPU_PREC_INT32:
        d->out_bytes = 4;
        REFUSE_IF(d->is_float, "integer output of floats");
        return NULL;
    case NPU_PREC_FP32:
        d->out_bytes = 4;
        return NULL;
    default:
        return "output precision";
    }
}

/* Does the DPU leave elements as they are? */
static bool moves(const NpuDpu *d)
{
    return !d->stage[NPU_STAGE_BS].on && !d->stage[NPU_STAGE_BN].on &&
           !d->ew.on && d->cvt_scale == 1 && !d->cvt_shift && !d->cvt_offset;
}

/* Only the RK3588 has this form, with RGP_TYPE (row out.nonalign-bytes). */
static bool packs_bytes(const NpuTask *t, const uint32_t *regs)
{
    return t->encoding == NPU_ENCODING_RK3588 && !npu_row_max_wanted(regs) &&
           GET(regs, DPU_FEATURE_MODE_CFG, NONALIGN) &&
           GET(regs, DPU_FEATURE_MODE_CFG, RGP_TYPE) == 2;
}

static const char *decode_output(NpuTask *t, const uint32_t *regs,
                                 const NpuTaskOptions *opt)
{
    NpuDpu *d = &t->dpu;
    NpuOutput *o = &d->out;
    uint32_t size_e = GET(regs, DPU_BS_OW_CFG, SIZE_E_0);
    uint32_t per_surf = d->out_atom / d->out_bytes;
    uint32_t channels = opt->write_padding ? d->channels : d->orig_channels;
    uint32_t surfaces = DIV_ROUND_UP(d->channels, per_surf);

    REFUSE_IF(GET(regs, DPU_BS_OW_CFG, SIZE_E_1) != size_e ||
              GET(regs, DPU_BS_OW_CFG, SIZE_E_2) != size_e,
              "SIZE_E differs between lines");
    REFUSE_IF(GET(regs, DPU_BS_OW_CFG, RGP_CNTER), "RGP_CNTER");
    d->raw |= GET(regs, DPU_BS_OW_CFG, TP_ORG_EN) ||
              GET(regs, DPU_FEATURE_MODE_CFG, TP_EN);
    REFUSE_IF(d->raw && t->pool.from_dpu, "transposed output to the PPU");
    REFUSE_IF((d->raw || packs_bytes(t, regs)) && !moves(d),
              "arithmetic on what is moved as it is");
    REFUSE_IF(GET(regs, DPU_DATA_FORMAT, MC_SURF_OUT) &&
              (t->pool.from_dpu || d->row_max), "DPU feature mode");
    if (t->pool.from_dpu) {
        /* Strides are for memory; on the way to the PPU there is none. */
        REFUSE_IF(!npu_cube_init(&o->cube, surfaces, d->height,
                                 (uint64_t)d->width * d->out_atom, false),
                  "too much output");
        return NULL;
    }
    o->base = npu_dma_addr(regs, regs[R_DPU_DST_BASE_ADDR]);
    o->surf_stride = npu_stride(regs[R_DPU_DST_SURF_STRIDE], d->atom);
    /* One atom each: 0 packs them (row out.stride-0). */
    if (!o->surf_stride && d->width * d->height == 1) {
        o->surf_stride = d->out_atom;
    }
    o->surf_add = npu_stride(regs[R_DPU_SURFACE_ADD], d->atom);
    o->surf_group = size_e + 1;
    if (d->row_max) {
        REFUSE_IF(!moves(d), "arithmetic beside a maximum of channels");
        return npu_row_max_decode(t, regs);
    }
    return npu_stream_decode(t, regs, surfaces,
                             DIV_ROUND_UP(channels, per_surf));
}

const char *npu_dpu_check_modes(const NpuTask *t, const uint32_t *regs)
{
    bool packs = packs_bytes(t, regs);

    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE) !=
              (t->kind == NPU_KIND_FLYING),
              "FLYING_MODE against the enabled blocks");
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, OUTPUT_MODE) !=
              (t->pool.from_dpu ? NPU_OUTPUT_TO_PPU : NPU_OUTPUT_TO_MEMORY),
              "DPU output against the enabled blocks, or to both sides");
    REFUSE_IF((GET(regs, DPU_FEATURE_MODE_CFG, RGP_TYPE) && !packs) ||
              (GET(regs, DPU_FEATURE_MODE_CFG, COMB_USE) &&
               t->kind != NPU_KIND_FLYING), "DPU feature mode");
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, NONALIGN) !=
              npu_row_max_wanted(regs) && !packs &&
              t->encoding == NPU_ENCODING_RK3588,
              "unaligned output but of maxima");
    return NULL;
}

/* What a convolution must agree with its DPU about. */
static const char *check_core_dpu(const NpuTask *t, const uint32_t *regs)
{
    const NpuDpu *d = &t->dpu;

    REFUSE_IF(d->width != t->conv.out_w || d->height != t->conv.out_h ||
              d->channels != GET(regs, CORE_DATAOUT_SIZE_1, CHANNEL) + 1,
              "CORE and DPU disagree about the output size");
    REFUSE_IF(d->orig_channels > (t->conv.depthwise ? t->conv.in_c
                                                    : t->conv.kernels),
              "more output channels than kernels");
    return NULL;
}

const char *npu_dpu_decode(NpuTask *t, const uint32_t *regs,
                           const NpuTaskOptions *opt)
{
    NpuDpu *d = &t->dpu;
    const char *why;

    why = decode_out_precision(d, regs);
    REFUSE_IF(why, why);
    find_atoms(d);

    d->row_max = npu_row_max_wanted(regs);
    d->channels = GET(regs, DPU_DATA_CUBE_CHANNEL, CHANNEL) + 1;
    d->orig_channels = GET(regs, DPU_DATA_CUBE_CHANNEL, ORIG_CHANNEL) + 1;
    d->pend = GET(regs, DPU_OFFSET_PEND, VALUE);
    why = t->kind == NPU_KIND_CONV ? check_core_dpu(t, regs) : NULL;
    REFUSE_IF(why, why);
    REFUSE_IF(d->orig_channels > d->channels,
              "more real than written channels");
    REFUSE_IF(d->pend && d->out_precision == NPU_PREC_FP32,
              "OFFSET_PEND with fp32 output");

    why = npu_stage_decode(t, regs, NPU_STAGE_BS);
    REFUSE_IF(why, why);
    why = npu_stage_decode(t, regs, NPU_STAGE_BN);
    REFUSE_IF(why, why);
    why = npu_ew_decode(t, regs, opt->lut);
    REFUSE_IF(why, why);
    why = decode_out_cvt(d, regs);
    REFUSE_IF(why, why);
    return decode_output(t, regs, opt);
}

/* --- Arithmetic --- */

static void out_cvt(const NpuDpu *d, int32_t *v, unsigned n)
{
    int64_t before = d->cvt_offset_first ? d->cvt_offset : 0;
    int32_t after = d->cvt_offset_first ? 0 : d->cvt_offset;
    int32_t scale = d->cvt_scale;
    uint32_t shift = d->cvt_shift;
    bool away = d->cvt_away;
    unsigned i;

    if (!away && shift && shift <= 62) {
        /* The same without a choice in the loop. */
        int64_t half = (int64_t)1 << (shift - 1);

        for (i = 0; i < n; i++) {
            int64_t x = (v[i] + before) * scale;
            int64_t odd = ((x >> shift) + after) & 1;

            v[i] = npu_sat32(((x + half - 1 + odd) >> shift) + after);
        }
        return;
    }
    for (i = 0; i < n; i++) {
        v[i] = npu_sat32(npu_cvt_shift((v[i] + before) * scale, shift, away,
                                       after));
    }
}

/*
 * Fixed-point codes, those of the LUT above all, to what they stand for.  In
 * either order the offset is one of codes: so it is in sigmoids of Rockchip's
 * compilers, which multiply first.  Where there is a shift codes stay integers
 * (row lut.rk3576-halves).
 */
static float out_cvt_codes(const NpuDpu *d, float v)
{
    double x = v;

    if (d->cvt_shift) {
        x = npu_cvt_shift((int64_t)v * d->cvt_scale, d->cvt_shift, d->cvt_away,
                          d->cvt_offset);
    } else if (d->cvt_offset_first) {
        x = (x + d->cvt_offset) * d->cvt_scale;
    } else {
        x = x * d->cvt_scale + d->cvt_offset;
    }
    return ldexp(x, -(int)d->cvt_minus_exp);
}

/* Ties go to even (row out.half-to-int8). */
static int8_t to_byte(float v)
{
    return isnan(v) ? 0 : v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX
                                                                : rintf(v);
}

/* Host offset of channel @c at position 0 and of position @row in a surface. */
static size_t channel_offset(const NpuDpu *d, uint32_t c)
{
    uint32_t per_surf = d->atom / d->out_bytes;

    return c / per_surf * d->out.cube.host_surf + c % per_surf * d->out_bytes;
}

static size_t row_offset(const NpuDpu *d, uint32_t row)
{
    return row / d->width * d->out.cube.host_line + row % d->width * d->atom;
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
    w->at += d->atom;
    if (++w->x == d->width) {
        w->x = 0;
        w->at += d->out.cube.host_line - (size_t)d->width * d->atom;
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
        stl_le_p(p + 4 * i, is_float ? npu_float_bits(b->f[from + i])
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

/* Positions of a channel that go through the stages together. */
#define COLUMN_ROWS     64

typedef struct Column {
    uint32_t channel;
    uint32_t row, rows;
    union {
        int32_t i[COLUMN_ROWS];
        float f[COLUMN_ROWS];
    };
} Column;

static void run_ints(const NpuTask *t, const NpuOperands *in, Column *c)
{
    const NpuDpu *d = &t->dpu;
    unsigned stage;

    for (stage = 0; stage < NPU_STAGE_NUM; stage++) {
        NpuStageOperand op = npu_stage_operand(t, in, stage, c->channel);

        npu_stage_ints(&d->stage[stage], c->i, c->rows, &op);
    }
    if (d->ew.on) {
        npu_ew_ints(t, in, c->i, c->rows, c->channel, c->row);
    }
    out_cvt(d, c->i, c->rows);
}

static void run_floats(const NpuTask *t, const NpuOperands *in, Column *c)
{
    const NpuDpu *d = &t->dpu;
    unsigned stage, i;

    for (stage = 0; stage < NPU_STAGE_NUM; stage++) {
        NpuStageOperand op = npu_stage_operand(t, in, stage, c->channel);

        npu_stage_floats(&d->stage[stage], c->f, c->rows, &op);
    }
    if (d->ew.on) {
        npu_ew_floats(t, in, c->f, c->rows, c->channel, c->row);
    }
    if (!d->cvt_codes && !d->cvt_minus_exp) {
        return;
    }
    for (i = 0; i < c->rows; i++) {
        c->f[i] = out_cvt_codes(d, c->f[i]);
    }
}

#define STORE(put)                                          \
    do {                                                    \
        for (i = 0; i < c->rows; i++, row_next(d, &w)) {    \
            uint8_t *p = base + w.at;                       \
                                                            \
            put;                                            \
        }                                                   \
    } while (0)

static void store_ints(const NpuDpu *d, const Column *c, uint8_t *base)
{
    RowWalk w = row_start(d, c->row);
    unsigned i;

    switch (d->out_precision) {
    case NPU_PREC_INT8:
        STORE(*p = npu_clamp64(c->i[i], INT8_MIN, INT8_MAX));
        break;
    case NPU_PREC_INT16:
        STORE(stw_le_p(p, npu_clamp64(c->i[i], INT16_MIN, INT16_MAX)));
        break;
    case NPU_PREC_INT32:
        STORE(stl_le_p(p, c->i[i]));
        break;
    case NPU_PREC_FP16:
        STORE(stw_le_p(p, npu_fp32_to_fp16(c->i[i])));
        break;
    case NPU_PREC_FP32:
        STORE(stl_le_p(p, npu_float_bits(c->i[i])));
        break;
    }
}

static void store_floats(const NpuDpu *d, const Column *c, uint8_t *base)
{
    RowWalk w = row_start(d, c->row);
    unsigned i;

    switch (d->out_precision) {
    case NPU_PREC_INT8:
        STORE(*p = to_byte(c->f[i]));
        break;
    case NPU_PREC_FP16:
        STORE(stw_le_p(p, npu_fp32_to_fp16(c->f[i])));
        break;
    case NPU_PREC_BF16:
        STORE(stw_le_p(p, npu_fp32_to_bf16(c->f[i])));
        break;
    default:
        STORE(stl_le_p(p, npu_float_bits(c->f[i])));
    }
}

/* Up to COLUMN_ROWS positions of a column of @b, from @first on. */
static void store_part(const NpuTask *t, const NpuOperands *in,
                       const NpuBlock *b, uint32_t col, uint32_t first,
                       uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    uint8_t *base = out + channel_offset(d, b->col + col);
    Column c;
    uint32_t i;

    c.channel = b->col + col;
    c.row = b->row + first;
    c.rows = MIN(b->rows - first, COLUMN_ROWS);
    for (i = 0; i < c.rows; i++) {
        /* Either member: floats are moved as they are, too. */
        c.i[i] = b->i[(size_t)(first + i) * b->pitch + col];
    }
    if (d->is_float) {
        run_floats(t, in, &c);
        store_floats(d, &c, base);
    } else {
        run_ints(t, in, &c);
        store_ints(d, &c, base);
    }
}

void npu_dpu_store(const NpuTask *t, const NpuOperands *in, const NpuBlock *b,
                   uint8_t *out)
{
    uint32_t end = MIN(b->col + b->cols, t->dpu.orig_channels);
    uint32_t col, row;

    if (is_plain(&t->dpu)) {
        store_plain(t, b, out);
        return;
    }
    for (col = 0; b->col + col < end; col++) {
        for (row = 0; row < b->rows; row += COLUMN_ROWS) {
            store_part(t, in, b, col, row, out);
        }
    }
}

void npu_dpu_fill_padding(const NpuTask *t, uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    uint32_t per_surf = d->atom / d->out_bytes;
    uint32_t end = d->out.cube.surfaces * per_surf;
    uint32_t rows = d->width * d->height;
    uint32_t c, r;

    for (c = d->orig_channels; c < end; c++) {
        uint8_t *base = out + channel_offset(d, c);
        RowWalk w = row_start(d, 0);

        for (r = 0; r < rows; r++, row_next(d, &w)) {
            uint8_t *p = base + w.at;

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
