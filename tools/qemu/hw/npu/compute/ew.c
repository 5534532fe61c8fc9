/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The EW stage of the RK3588 NPU's DPU: one ALU or multiplier operation
 * between every element and an operand from memory or a register.
 *
 * Operands from memory come one per element or one per channel; the other
 * modes gave zeros on silicon beyond the first surface.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "ew.h"
#include "alu.h"
#include "cube.h"
#include "decode.h"
#include "numeric.h"

/* COMB_USE with which MRDMA and ERDMA take turns in fetching operands. */
#define COMB_USE_PAIR           5
/* DATA_MODE; the TRM's words for them differ (row ew.per-channel). */
#define DATA_MODE_CHANNEL       0
#define DATA_MODE_ELEMENT       1
#define MAX_SHIFT               62

bool npu_ew_reads(const uint32_t *regs)
{
    return !GET(regs, DPU_EW_CFG, BYPASS) &&
           !GET(regs, DPU_EW_CFG, OP_BYPASS) && GET(regs, DPU_EW_CFG, OP_SRC);
}

bool npu_ew_per_channel(const uint32_t *regs)
{
    return GET(regs, DPU_EW_CFG, DATA_MODE) == DATA_MODE_CHANNEL;
}

static uint32_t feed_pitch(const NpuDpu *d, uint32_t notch)
{
    return d->width * d->height * d->atom + npu_stride(notch, d->atom);
}

/*
 * Operands next to a convolution: surfaces of 16 bytes come from MRDMA and
 * ERDMA in turns (row ew.pair).  Only surfaces with computed channels are read
 * (row ew.surf-stride).
 */
static const char *decode_pair(NpuTask *t, const uint32_t *regs)
{
    NpuFeed *f = &t->feed[NPU_FEED_EW];
    NpuDpu *d = &t->dpu;
    uint32_t per_surf = NPU_ATOM / d->ew.bytes;

    REFUSE_IF(GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE) != COMB_USE_PAIR ||
              GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE),
              "EW operand of a convolution but from MRDMA and ERDMA");
    f->alternate = true;
    f->base[0] = npu_dma_addr(regs, regs[R_RDMA_SRC_BASE_ADDR]);
    f->base[1] = npu_dma_addr(regs, regs[R_RDMA_EW_BASE_ADDR]);
    f->pitch[0] = feed_pitch(d, regs[R_RDMA_SURF_NOTCH]);
    f->pitch[1] = feed_pitch(d, regs[R_RDMA_EW_SURF_NOTCH]);
    REFUSE_IF(!npu_cube_init(&f->cube, DIV_ROUND_UP(d->orig_channels, per_surf),
                             1, (uint64_t)d->width * d->height * NPU_ATOM,
                             false), "too many EW operands");
    return NULL;
}

/* Words come by four here, too (row out.rk3568-words). */
uint32_t npu_ew_atom(const NpuDpu *d)
{
    return d->ew.bytes == 4 ? NPU_ATOM : d->atom;
}

/*
 * A flying DPU has MRDMA busy, so that ERDMA fetches all surfaces.  So it does
 * operands per channel of a convolution (Rockchip's compilers).
 */
static const char *decode_single(NpuTask *t, const uint32_t *regs)
{
    NpuFeed *f = &t->feed[NPU_FEED_EW];
    NpuDpu *d = &t->dpu;
    uint32_t atom = npu_ew_atom(d);
    uint32_t per_surf = atom / d->ew.bytes;
    uint32_t positions = d->ew.per_channel ? 1 : d->width * d->height;

    REFUSE_IF(t->kind != NPU_KIND_FLYING &&
              (!GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) ||
               GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE) ||
               GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE)),
              "EW operands per channel of a convolution but from ERDMA");
    f->base[0] = npu_dma_addr(regs, regs[R_RDMA_EW_BASE_ADDR]);
    /* Rockchip's compilers say the pitch twice, so that either would do. */
    f->pitch[0] = npu_stride(regs[R_RDMA_EW_SURF_STRIDE], atom);
    REFUSE_IF(regs[R_RDMA_EW_SURF_NOTCH] &&
              feed_pitch(d, regs[R_RDMA_EW_SURF_NOTCH]) != f->pitch[0],
              "notch against the stride of ERDMA surfaces");
    REFUSE_IF(!npu_cube_init(&f->cube, DIV_ROUND_UP(d->orig_channels, per_surf),
                             1, (uint64_t)positions * atom, false),
              "too many EW operands");
    return NULL;
}

/* EDATA_SIZE: 1 for bytes, and so on by powers of two; 0 if unknown. */
static uint32_t operand_size(uint8_t precision)
{
    switch (precision) {
    case NPU_PREC_INT8:
        return 1;
    case NPU_PREC_INT16:
    case NPU_PREC_FP16:
    case NPU_PREC_BF16:
        return 2;
    case NPU_PREC_INT32:
    case NPU_PREC_FP32:
        return 3;
    default:
        return 0;
    }
}

static const char *decode_memory(NpuTask *t, const uint32_t *regs)
{
    uint32_t size = GET(regs, DPU_EW_CFG, EDATA_SIZE);
    uint32_t mode = GET(regs, DPU_EW_CFG, DATA_MODE);
    uint32_t want = operand_size(t->dpu.precision);

    REFUSE_IF(!want, "EW operands in memory of this precision");
    t->dpu.ew.dma = true;
    t->dpu.ew.bytes = 1 << (want - 1);
    /* Nothing that is not converted needs it: some compilers leave it out. */
    if (!size && t->dpu.is_float && !t->dpu.ew.cvt) {
        size = want;
    }
    REFUSE_IF(size != GET(regs, RDMA_ERDMA_CFG, DATA_SIZE),
              "EW and ERDMA disagree about the operand");
    REFUSE_IF(size != want, "size of EW operands");
    REFUSE_IF(mode != GET(regs, RDMA_ERDMA_CFG, DATA_MODE),
              "EW and ERDMA disagree about the operand");
    REFUSE_IF((mode != DATA_MODE_ELEMENT && mode != DATA_MODE_CHANNEL) ||
              GET(regs, RDMA_ERDMA_CFG, NONALIGN) ||
              GET(regs, RDMA_ERDMA_CFG, SURF_MODE), "EW operand mode");
    t->dpu.ew.per_channel = mode == DATA_MODE_CHANNEL;
    REFUSE_IF(regs[R_RDMA_SRC_DMA_CFG] || regs[R_RDMA_PAD_CFG] ||
              GET(regs, RDMA_DATA_CUBE_HEIGHT, EW_LINE_NOTCH),
              "notches or padding of RDMA lines with an EW operand");
    /* On the RK3588 MRDMA helps out. */
    return t->kind == NPU_KIND_FLYING || t->dpu.ew.per_channel ||
           t->encoding != NPU_ENCODING_RK3588
           ? decode_single(t, regs) : decode_pair(t, regs);
}

static bool fits_int16(int64_t v)
{
    return v == (int16_t)v;
}

/*
 * Which elements take which of the eight values is not known.  Int16 was seen
 * to take the lower half of a word, and floats not to be converted.
 */
static const char *decode_register(NpuEw *e, const NpuDpu *d,
                                   const uint32_t *regs)
{
    unsigned i;

    e->value = regs[R_DPU_EW_OP_VALUE_0];
    for (i = 1; i < DPU_EW_OP_VALUE_NUM; i++) {
        REFUSE_IF(regs[R_DPU_EW_OP_VALUE_0 + i] != e->value,
                  "EW register operands that differ");
    }
    REFUSE_IF(!d->is_float && e->cvt &&
              (e->cvt_offset || e->cvt_scale != 1 || e->cvt_shift),
              "conversion of EW register operands");
    e->cvt = false;
    if (d->precision == NPU_PREC_INT16) {
        e->value = (int16_t)e->value;
    }
    return NULL;
}

static int64_t convert(const NpuEw *e, int64_t v)
{
    if (e->cvt_offset_first) {
        return npu_cvt_shift((v + e->cvt_offset) * e->cvt_scale, e->cvt_shift,
                             e->cvt_away, 0);
    }
    return npu_cvt_shift(v * e->cvt_scale, e->cvt_shift, e->cvt_away,
                         e->cvt_offset);
}

/* The multiplier takes 16 bits, the lower ones of a word. */
static const char *check_int(const NpuEw *e, uint8_t precision)
{
    int32_t lo = e->bytes == 1 ? INT8_MIN : INT16_MIN;
    int32_t hi = e->bytes == 1 ? INT8_MAX : INT16_MAX;

    REFUSE_IF(e->shift > MAX_SHIFT || e->shift_neg > MAX_SHIFT,
              "EW truncation above 62");
    if (!e->dma) {
        REFUSE_IF(e->mul && !fits_int16((int32_t)e->value) &&
                  precision != NPU_PREC_INT32, "EW multiplier above 16 bits");
        return NULL;
    }
    if (e->bytes == 4) {
        REFUSE_IF(e->cvt, "conversion of EW words");
        return NULL;
    }
    REFUSE_IF(e->mul && e->cvt && !(fits_int16(convert(e, lo)) &&
                                    fits_int16(convert(e, hi))),
              "EW multiplier above 16 bits");
    return NULL;
}

/*
 * The ALU takes floats: the conversion is what widens halves.  Its shifts do
 * not count, nor does what a bypassed converter has (row ew.div).
 */
static const char *check_float(NpuEw *e, const NpuDpu *d)
{
    REFUSE_IF(e->mul && (e->shift || e->shift_neg), "EW truncation of floats");
    if (!e->dma) {
        return NULL;
    }
    if (e->bytes == 4) {
        REFUSE_IF(e->cvt, "conversion of EW words");
        return NULL;
    }
    REFUSE_IF(e->cvt && (e->cvt_offset || e->cvt_scale != 1 || e->cvt_shift),
              "conversion of EW floats");
    if (d->halves && !e->cvt && !e->mul && e->alu_algo == NPU_ALU_DIV) {
        e->halves = true;
        return NULL;
    }
    REFUSE_IF(e->cvt == e->mul, "EW operand of the other width");
    return NULL;
}

static const char *decode_op(NpuTask *t, const uint32_t *regs)
{
    NpuEw *e = &t->dpu.ew;
    const char *why;

    e->op = true;
    e->mul = GET(regs, DPU_EW_CFG, OP_TYPE);
    e->prelu = e->mul && GET(regs, DPU_EW_CFG, MUL_PRELU);
    e->alu_algo = GET(regs, DPU_EW_CFG, ALU_ALGO);
    e->cvt = !GET(regs, DPU_EW_CFG, OP_CVT_BYPASS);
    e->cvt_away = GET(regs, DPU_EW_CFG, CVT_ROUND);
    e->cvt_offset_first = GET(regs, DPU_EW_CFG, CVT_TYPE);
    e->cvt_offset = regs[R_DPU_EW_CVT_OFFSET];
    e->cvt_scale = sextract32(regs[R_DPU_EW_CVT_SCALE], 0, 16);
    e->cvt_shift = GET(regs, DPU_EW_CVT_SCALE, CVT_SHIFT);
    /* Of what comes out, by its sign (row ew.truncate). */
    e->shift = GET(regs, DPU_EW_CVT_SCALE, TRUNCATE);
    e->shift_neg = GET(regs, DPU_DATA_FORMAT, EW_TRUNCATE_NEG);
    REFUSE_IF(!e->mul && !npu_alu_known(e->alu_algo, t->dpu.is_float),
              "EW ALU algorithm");
    REFUSE_IF(e->mul && t->dpu.is_float && !npu_mul_known(t->dpu.operands),
              "EW multiplier of this precision");
    REFUSE_IF(e->prelu && e->shift, "PReLU that shifts what is positive");
    why = npu_ew_reads(regs) ? decode_memory(t, regs)
                             : decode_register(e, &t->dpu, regs);
    REFUSE_IF(why, why);
    return t->dpu.is_float ? check_float(e, &t->dpu)
                           : check_int(e, t->dpu.precision);
}

/*
 * With the LUT the maximum with a register comes behind it: Rockchip's
 * compilers add it to a sigmoid whose line below the table ends under 0, and to
 * no table with negative entries.  Activations of gregordinary leave it on, are
 * right for negative inputs, and have no negative codes.
 */
static const char *decode_floor(NpuEw *e, const uint32_t *regs)
{
    unsigned i;

    for (i = 0; i < DPU_EW_OP_VALUE_NUM; i++) {
        REFUSE_IF(regs[R_DPU_EW_OP_VALUE_0 + i],
                  "EW register operands of LUT codes");
    }
    REFUSE_IF(GET(regs, DPU_EW_CFG, OP_TYPE) ||
              GET(regs, DPU_EW_CFG, ALU_ALGO) != NPU_ALU_MAX,
              "EW register operands of LUT codes");
    e->lut_floor = true;
    return NULL;
}

const char *npu_ew_decode(NpuTask *t, const uint32_t *regs, const NpuLut *lut)
{
    NpuEw *e = &t->dpu.ew;
    const char *why = NULL;

    if (GET(regs, DPU_EW_CFG, BYPASS)) {
        return NULL;
    }
    e->on = true;
    /* EQUAL_EN alone was seen to change nothing. */
    REFUSE_IF(GET(regs, DPU_EW_CFG, BINARY_EN), "EW comparison");
    e->relu = !GET(regs, DPU_EW_CFG, RELU_BYPASS);
    e->relux = e->relu && GET(regs, DPU_EW_CFG, RELUX_EN);
    e->relux_cmp = regs[R_DPU_EW_RELUX_CMP];
    e->lut = !GET(regs, DPU_EW_CFG, LUT_BYPASS);
    if (!GET(regs, DPU_EW_CFG, OP_BYPASS)) {
        why = e->lut && !npu_ew_reads(regs) ? decode_floor(e, regs)
                                            : decode_op(t, regs);
        REFUSE_IF(why, why);
    }
    return e->lut ? npu_lut_decode(&t->dpu.lut, regs, lut) : NULL;
}

static const uint8_t *operand(const NpuTask *t, const NpuOperands *in,
                              uint32_t channel, uint32_t pos)
{
    uint32_t per_surf = NPU_ATOM / t->dpu.ew.bytes;

    return in->feed[NPU_FEED_EW] +
           channel / per_surf * t->feed[NPU_FEED_EW].cube.host_surf +
           (t->dpu.ew.per_channel ? 0 : (size_t)pos * NPU_ATOM) +
           channel % per_surf * t->dpu.ew.bytes;
}

/* Those that no converter widens count as they are (row ew.bypass). */
static int32_t int_operand(const NpuEw *e, const uint8_t *p)
{
    int32_t v = e->bytes == 1 ? (int8_t)*p :
                e->bytes == 2 ? (int16_t)lduw_le_p(p) : (int32_t)ldl_le_p(p);

    return e->cvt ? npu_sat32(convert(e, v)) : v;
}

static int32_t multiply_int(const NpuEw *e, int32_t v, int32_t operand)
{
    if (e->prelu && v >= 0) {
        return v;
    }
    return npu_sat32(npu_sign_shift((int64_t)v * (int16_t)operand, e->shift,
                                    e->shift_neg));
}

static int32_t op_int(const NpuEw *e, int32_t v, int32_t operand)
{
    if (e->mul) {
        return multiply_int(e, v, operand);
    }
    if (e->shift || e->shift_neg) {
        return npu_sat32(npu_sign_shift(npu_alu_wide(e->alu_algo, v, operand),
                                        e->shift, e->shift_neg));
    }
    /* The usual one needs no call. */
    return e->alu_algo == NPU_ALU_ADD ? npu_sat32((int64_t)v + operand)
                                      : npu_alu_int(e->alu_algo, v, operand);
}

/* Bytes from the operand of a position to that of the next. */
static size_t operand_step(const NpuEw *e)
{
    return e->per_channel ? 0 : NPU_ATOM;
}

static void op_ints(const NpuTask *t, const NpuOperands *in, int32_t *v,
                    unsigned n, uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;
    const uint8_t *p;
    unsigned i;

    if (!e->dma) {
        for (i = 0; i < n; i++) {
            v[i] = op_int(e, v[i], e->value);
        }
        return;
    }
    p = operand(t, in, channel, pos);
    for (i = 0; i < n; i++, p += operand_step(e)) {
        v[i] = op_int(e, v[i], int_operand(e, p));
    }
}

static void look_up(const NpuTask *t, int32_t *v, unsigned n)
{
    npu_lut_values(&t->dpu.lut, v, n);
    if (t->dpu.ew.lut_floor) {
        npu_relu_ints(v, n, false, 0);
    }
}

static void look_up_floats(const NpuTask *t, float *v, unsigned n)
{
    int32_t index[32];
    unsigned first, part, i;

    for (first = 0; first < n; first += part) {
        part = MIN(n - first, ARRAY_SIZE(index));
        for (i = 0; i < part; i++) {
            index[i] = npu_lut_index(v[first + i]);
        }
        look_up(t, index, part);
        for (i = 0; i < part; i++) {
            v[first + i] = index[i];
        }
    }
}

void npu_ew_ints(const NpuTask *t, const NpuOperands *in, int32_t *v,
                 unsigned n, uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;

    if (e->op) {
        op_ints(t, in, v, n, channel, pos);
    }
    if (e->lut) {
        look_up(t, v, n);
    }
    if (e->relu) {
        npu_relu_ints(v, n, e->relux, e->relux_cmp);
    }
}

/* The multiplier takes a half even where a word is stored. */
static float word_operand(const NpuTask *t, uint32_t word)
{
    const NpuEw *e = &t->dpu.ew;

    return e->mul || (e->dma && e->bytes == 2)
           ? npu_halfword_to_fp32(word, t->dpu.operands)
           : npu_bits_to_float(word);
}

static float float_operand(const NpuTask *t, const uint8_t *p)
{
    return word_operand(t, t->dpu.ew.bytes == 4 ? (uint32_t)ldl_le_p(p)
                                                : lduw_le_p(p));
}

/* 13 bits of fraction stay, which a half rounds once more (row ew.div). */
static float divide_halves(float v, float operand)
{
    return npu_bits_to_float(npu_float_bits(v / operand) & ~0x3ffu);
}

static float op_float(const NpuEw *e, float v, float operand)
{
    if (e->halves) {
        return divide_halves(v, operand);
    }
    if (!e->mul) {
        return npu_alu_float(e->alu_algo, v, operand);
    }
    return !e->prelu || v < 0 ? (double)v * operand : v;
}

static void op_floats(const NpuTask *t, const NpuOperands *in, float *v,
                      unsigned n, uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;
    const uint8_t *p;
    unsigned i;

    if (!e->dma) {
        float x = word_operand(t, e->value);

        for (i = 0; i < n; i++) {
            v[i] = op_float(e, v[i], x);
        }
        return;
    }
    p = operand(t, in, channel, pos);
    for (i = 0; i < n; i++, p += operand_step(e)) {
        v[i] = op_float(e, v[i], float_operand(t, p));
    }
}

void npu_ew_floats(const NpuTask *t, const NpuOperands *in, float *v,
                   unsigned n, uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;

    if (e->op) {
        op_floats(t, in, v, n, channel, pos);
    }
    if (e->lut) {
        look_up_floats(t, v, n);
    }
    if (e->relu) {
        npu_relu_floats(v, n, e->relux, e->relux_cmp);
    }
}
