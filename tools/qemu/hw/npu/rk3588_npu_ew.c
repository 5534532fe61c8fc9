/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The EW stage of the RK3588 NPU's DPU: one ALU or multiplier operation
 * between every element and an operand from memory or a register.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "rk3588_npu_decode.h"
#include "rk3588_npu_dpu.h"

/* COMB_USE with which MRDMA and ERDMA take turns in fetching operands. */
#define COMB_USE_PAIR           5
/* DATA_MODE of an operand per element; the names of the others differ. */
#define DATA_MODE_ELEMENT       1

bool npu_ew_reads(const uint32_t *regs)
{
    return !GET(regs, DPU_EW_CFG, BYPASS) &&
           !GET(regs, DPU_EW_CFG, OP_BYPASS) && GET(regs, DPU_EW_CFG, OP_SRC);
}

static uint32_t feed_pitch(const NpuDpu *d, uint32_t notch)
{
    return d->width * d->height * NPU_ATOM + (notch & DPU_STRIDE_MASK);
}

/*
 * Operands next to a convolution: surfaces of 16 bytes come from MRDMA and
 * ERDMA in turns (inferred from three producers and a marker test on silicon).
 * Only surfaces with computed channels are read.
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

/* A flying DPU has MRDMA busy, so that ERDMA fetches all surfaces. */
static const char *decode_single(NpuTask *t, const uint32_t *regs)
{
    NpuFeed *f = &t->feed[NPU_FEED_EW];
    NpuDpu *d = &t->dpu;
    uint32_t per_surf = NPU_ATOM / d->ew.bytes;

    f->base[0] = npu_dma_addr(regs, regs[R_RDMA_EW_BASE_ADDR]);
    f->pitch[0] = regs[R_RDMA_EW_SURF_STRIDE] & DPU_STRIDE_MASK;
    REFUSE_IF(regs[R_RDMA_EW_SURF_NOTCH], "notch of single ERDMA surfaces");
    REFUSE_IF(!npu_cube_init(&f->cube, DIV_ROUND_UP(d->orig_channels, per_surf),
                             1, (uint64_t)d->width * d->height * NPU_ATOM,
                             false), "too many EW operands");
    return NULL;
}

/* EDATA_SIZE: 1 for bytes, and so on by powers of two. */
static uint32_t operand_size(uint8_t precision)
{
    switch (precision) {
    case NPU_PREC_INT8:
        return 1;
    case NPU_PREC_FP16:
        return 2;
    default:
        return 3;
    }
}

static const char *decode_memory(NpuTask *t, const uint32_t *regs)
{
    uint32_t size = GET(regs, DPU_EW_CFG, EDATA_SIZE);
    uint32_t want = operand_size(t->dpu.precision);

    t->dpu.ew.dma = true;
    t->dpu.ew.bytes = 1 << (want - 1);
    REFUSE_IF(size != GET(regs, RDMA_ERDMA_CFG, DATA_SIZE),
              "EW and ERDMA disagree about the operand");
    REFUSE_IF(size != want, "size of EW operands");
    REFUSE_IF(GET(regs, DPU_EW_CFG, DATA_MODE) != DATA_MODE_ELEMENT ||
              GET(regs, RDMA_ERDMA_CFG, DATA_MODE) != DATA_MODE_ELEMENT ||
              GET(regs, RDMA_ERDMA_CFG, NONALIGN) ||
              GET(regs, RDMA_ERDMA_CFG, SURF_MODE), "EW operand mode");
    REFUSE_IF(regs[R_RDMA_SRC_DMA_CFG] || regs[R_RDMA_PAD_CFG] ||
              GET(regs, RDMA_DATA_CUBE_HEIGHT, EW_LINE_NOTCH),
              "notches or padding of RDMA lines");
    return t->kind == NPU_KIND_FLYING ? decode_single(t, regs)
                                      : decode_pair(t, regs);
}

/* Which lane takes which of the eight values is not known. */
static const char *decode_register(NpuEw *e, const uint32_t *regs)
{
    unsigned i;

    e->value = regs[R_DPU_EW_OP_VALUE_0];
    for (i = 1; i < DPU_EW_OP_VALUE_NUM; i++) {
        REFUSE_IF(regs[R_DPU_EW_OP_VALUE_0 + i] != e->value,
                  "EW register operands that differ");
    }
    REFUSE_IF(e->cvt, "conversion of EW register operands");
    return NULL;
}

static int64_t convert(const NpuEw *e, int64_t v)
{
    if (e->cvt_offset_first) {
        return npu_round_shift((v + e->cvt_offset) * e->cvt_scale,
                               e->cvt_shift, e->cvt_up);
    }
    return npu_round_shift(v * e->cvt_scale, e->cvt_shift, e->cvt_up) +
           e->cvt_offset;
}

static bool fits_int16(int64_t v)
{
    return v == (int16_t)v;
}

/*
 * The multiplier takes 16 bits, the ALU 32: the conversion is what widens.
 * Where the operand would not fit the behaviour is not known.
 */
static const char *check_cvt(const NpuEw *e, bool is_float)
{
    if (e->dma && e->bytes == 4) {
        REFUSE_IF(e->cvt, "conversion of EW words");
        REFUSE_IF(e->mul && !is_float, "EW multiplier of 32 bits");
        return NULL;
    }
    if (is_float) {
        REFUSE_IF(e->cvt && (e->cvt_offset || e->cvt_scale != 1 ||
                             e->cvt_shift), "conversion of EW floats");
        REFUSE_IF(e->dma && e->cvt == e->mul,
                  "EW operand of the other width");
        return NULL;
    }
    REFUSE_IF(e->dma && !e->cvt, "EW bytes that nothing widens");
    REFUSE_IF(e->dma && e->mul && !(fits_int16(convert(e, INT8_MIN)) &&
                                    fits_int16(convert(e, INT8_MAX))),
              "EW multiplier above 16 bits");
    REFUSE_IF(!e->dma && e->mul && !fits_int16((int32_t)e->value),
              "EW multiplier above 16 bits");
    return NULL;
}

static const char *decode_op(NpuTask *t, const uint32_t *regs)
{
    NpuEw *e = &t->dpu.ew;
    const char *why;

    e->op = true;
    e->mul = GET(regs, DPU_EW_CFG, OP_TYPE);
    e->prelu = GET(regs, DPU_EW_CFG, MUL_PRELU);
    e->alu_algo = GET(regs, DPU_EW_CFG, ALU_ALGO);
    e->cvt = !GET(regs, DPU_EW_CFG, OP_CVT_BYPASS);
    e->cvt_up = GET(regs, DPU_EW_CFG, CVT_ROUND);
    e->cvt_offset_first = GET(regs, DPU_EW_CFG, CVT_TYPE);
    e->cvt_offset = regs[R_DPU_EW_CVT_OFFSET];
    e->cvt_scale = sextract32(regs[R_DPU_EW_CVT_SCALE], 0, 16);
    e->cvt_shift = GET(regs, DPU_EW_CVT_SCALE, SHIFT);
    REFUSE_IF(!e->mul && !npu_alu_known(e->alu_algo), "EW ALU algorithm");
    REFUSE_IF(GET(regs, DPU_EW_CVT_SCALE, TRUNCATE) ||
              GET(regs, DPU_DATA_FORMAT, EW_TRUNCATE_NEG), "EW truncation");
    why = npu_ew_reads(regs) ? decode_memory(t, regs)
                             : decode_register(e, regs);
    REFUSE_IF(why, why);
    return check_cvt(e, t->dpu.is_float);
}

const char *npu_ew_decode(NpuTask *t, const uint32_t *regs, const NpuLut *lut)
{
    NpuEw *e = &t->dpu.ew;
    const char *why = NULL;

    if (GET(regs, DPU_EW_CFG, BYPASS)) {
        return NULL;
    }
    e->on = true;
    REFUSE_IF(GET(regs, DPU_EW_CFG, EQUAL_EN) ||
              GET(regs, DPU_EW_CFG, BINARY_EN), "EW comparison");
    e->relu = !GET(regs, DPU_EW_CFG, RELU_BYPASS);
    e->relux = e->relu && GET(regs, DPU_EW_CFG, RELUX_EN);
    e->relux_cmp = regs[R_DPU_EW_RELUX_CMP];
    if (!GET(regs, DPU_EW_CFG, OP_BYPASS)) {
        why = decode_op(t, regs);
        REFUSE_IF(why, why);
    }
    e->lut = !GET(regs, DPU_EW_CFG, LUT_BYPASS);
    return e->lut ? npu_lut_decode(t, regs, lut) : NULL;
}

static const uint8_t *operand(const NpuTask *t, const NpuOperands *in,
                              uint32_t channel, uint32_t pos)
{
    uint32_t per_surf = NPU_ATOM / t->dpu.ew.bytes;

    return in->feed[NPU_FEED_EW] +
           channel / per_surf * t->feed[NPU_FEED_EW].cube.host_surf +
           (size_t)pos * NPU_ATOM + channel % per_surf * t->dpu.ew.bytes;
}

int32_t npu_ew_int(const NpuTask *t, const NpuOperands *in, int32_t v,
                   uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;

    if (e->op) {
        int32_t x = e->value;

        if (e->dma) {
            const uint8_t *p = operand(t, in, channel, pos);

            x = e->bytes == 4 ? ldl_le_p(p)
                              : npu_sat32(convert(e, (int8_t)*p));
        }
        if (!e->mul) {
            v = npu_alu_int(e->alu_algo, v, x);
        } else if (!e->prelu || v < 0) {
            v = npu_sat32((int64_t)v * x);
        }
    }
    return e->relu ? npu_relu_int(v, e->relux, e->relux_cmp) : v;
}

/* The multiplier takes a half even where a word is stored. */
static float float_operand(const NpuTask *t, const NpuOperands *in,
                           uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;
    uint32_t word = e->value;

    if (e->dma) {
        const uint8_t *p = operand(t, in, channel, pos);

        word = e->bytes == 4 ? (uint32_t)ldl_le_p(p) : lduw_le_p(p);
    }
    return e->mul || (e->dma && e->bytes == 2) ? npu_fp16_to_fp32(word)
                                               : npu_bits_to_float(word);
}

float npu_ew_float(const NpuTask *t, const NpuOperands *in, float v,
                   uint32_t channel, uint32_t pos)
{
    const NpuEw *e = &t->dpu.ew;

    if (e->op) {
        float x = float_operand(t, in, channel, pos);

        if (!e->mul) {
            v = npu_alu_float(e->alu_algo, v, x);
        } else if (!e->prelu || v < 0) {
            v = (double)v * x;
        }
    }
    if (e->lut) {
        v = npu_lut_value(&t->dpu.lut, npu_lut_index(v));
    }
    return e->relu ? npu_relu_float(v, e->relux, e->relux_cmp) : v;
}
