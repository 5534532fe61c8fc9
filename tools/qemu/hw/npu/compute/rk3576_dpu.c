/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DPU and DPU_RDMA of the RK3576 NPU: what their registers ask for.
 *
 * The words that say what BS, BN and EW do are known as a whole, by what
 * compilers write for each kind of layer: what one of their bits would do alone
 * is not.  Row stage.rk3576-forms.
 */
#include "qemu/osdep.h"
#include "cube.h"
#include "rk3576_dpu.h"
#include "rk3576_lut.h"
#include "rk3576_regs.h"

#define EW_OFF          0x010041c1
#define EW_LUT          0x01004140
#define BN_OFF          0x903
#define BN_CLAMPS       0x902
#define BS_OFF          0x53
#define BN_SCALES       0x20
#define BN_PRELU        0x402
#define NRDMA_SCALES    0x1a
#define NRDMA_PRELU     0x18
#define EW_ADD          0x8002c0c0
#define EW_MUL          0x810f4094
#define ERDMA_TENSOR    0x40000044
/* Of a convolution, whose two surfaces come in turns. */
#define ERDMA_TURNS     0x50000044
#define RDMA_TURNS      0x40000018
#define BS_CLAMPS       0x100012
/* OUT_PRECISION is no more than a width here. */
#define OUT_WORDS       NPU_PREC_FP32

/* Words that go together for a kind of layer. */
typedef struct DpuForm {
    uint32_t bs, bs_operands, wdma, write, rdma_feature, erdma, brdma;
    uint32_t write_shift;
    uint8_t use, surf_group, scalars;
    bool idle;          /* operands are fetched, and nothing takes them */
    bool prelu;         /* the record's factor is of what is negative */
} DpuForm;

static const DpuForm form_bytes = {
    .bs = 0x120080, .bs_operands = 1, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40000010, .erdma = 0x41, .brdma = 0x710,
    .use = NPU_USE_PACKED, .surf_group = 2, .scalars = NPU_SCALAR_SHIFTS,
}, form_bytes_layer = {
    .bs = 0x120080, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40000010, .erdma = 0x41, .brdma = 0x114,
    .use = NPU_USE_ALU, .surf_group = 2, .scalars = NPU_SCALAR_CPEND,
}, form_fence = {
    .bs = 0x20040, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40000010, .erdma = 0x41, .brdma = 0x14,
    .scalars = NPU_SCALAR_CPEND, .surf_group = 2,
}, form_depthwise = {
    .bs = 0x100092, .wdma = 0x310, .write = 0x04440100,
    .rdma_feature = 0x40000012, .erdma = 0x41, .brdma = 0x510,
    .use = NPU_USE_ALU | NPU_USE_MUL, .surf_group = 4,
    .scalars = NPU_SCALAR_SHIFTS,
}, form_halves = {
    .bs = 0x100092, .bs_operands = 2, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40010050, .erdma = 1, .brdma = 0x100,
    .use = NPU_USE_ALU, .surf_group = 2,
}, form_halves_records = {
    .bs = 0x100092, .bs_operands = 1, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40010050, .erdma = 1, .brdma = 0x710,
    .use = NPU_USE_PACKED, .surf_group = 2,
}, form_halves_lut = {
    .bs = 0x100092, .bs_operands = 2, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40010050, .erdma = 0x41, .brdma = 0x100,
    .use = NPU_USE_ALU, .surf_group = 2,
}, form_halves_prelu = {
    .bs = 0x100092, .bs_operands = 6, .wdma = 0x710, .write = 0x04440100,
    .rdma_feature = 0x40010050, .erdma = 0x41, .brdma = 0x108,
    .use = NPU_USE_ALU, .scalars = NPU_SCALAR_MUL, .prelu = true,
    .surf_group = 2,
}, form_depthwise_halves = {
    .bs = 0x100092, .wdma = 0x310, .write = 0x04440100,
    .rdma_feature = 0x40010052, .erdma = 0x41, .brdma = 0x110,
    .use = NPU_USE_ALU, .surf_group = 4,
}, form_words = {
    .bs = BS_OFF, .bs_operands = 2, .wdma = 0x310, .write = 0x04440100,
    .rdma_feature = 0x40000010, .erdma = 0x41, .brdma = 0x710,
    .use = NPU_USE_PACKED, .idle = true, .surf_group = 4,
    .scalars = NPU_SCALAR_SHIFTS,
}, form_no_rdma = {
    .bs = BS_OFF, .bs_operands = 2, .wdma = 0x310, .write = 0x04440100,
    .surf_group = 4,
}, form_pixels_no_rdma = {
    .bs = BS_OFF, .bs_operands = 2, .wdma = 0x710, .write = 0x04440100,
    .surf_group = 2,
}, form_copy = {
    .bs = BS_OFF, .bs_operands = 2, .wdma = 0xf00, .write = 0x04440000,
    .rdma_feature = 9, .erdma = 1,
    .surf_group = 1,
}, form_table = {
    .bs = BS_OFF, .bs_operands = 2, .wdma = 0xf00, .write = 0x04440000,
    .rdma_feature = 9, .erdma = 0x41, .write_shift = 0x10,
    .surf_group = 1,
}, form_clamp = {
    .bs = BS_CLAMPS, .bs_operands = 2, .wdma = 0xf00, .write = 0x04440000,
    .rdma_feature = 9, .erdma = 0x41, .brdma = 2,
    .scalars = NPU_SCALAR_ALU, .surf_group = 1,
}, form_scale = {
    .bs = BS_CLAMPS, .bs_operands = 0, .wdma = 0xf00, .write = 0x04440000,
    .rdma_feature = 9, .erdma = 0x41, .brdma = 0x1a,
    .scalars = NPU_SCALAR_ALU | NPU_SCALAR_MUL | NPU_SCALAR_SHIFTS,
    .surf_group = 1,
};

static const DpuForm *find_halves(const uint32_t *regs)
{
    uint32_t brdma = regs[R_RK3576_RDMA_BRDMA_CFG];

    return brdma == form_halves_records.brdma ? &form_halves_records :
           brdma == form_halves_prelu.brdma ? &form_halves_prelu :
           regs[R_RK3576_DPU_EW_CFG] == EW_LUT ? &form_halves_lut
                                               : &form_halves;
}

static const DpuForm *find_form(const NpuTask *t, const uint32_t *regs)
{
    bool half = t->conv.precision == NPU_PREC_FP16;

    if (t->kind == NPU_KIND_FLYING) {
        return regs[R_RK3576_DPU_EW_CFG] == EW_LUT ? &form_table :
               regs[R_RK3576_DPU_BS_CFG] == BS_OFF ? &form_copy :
               regs[R_RK3576_RDMA_BRDMA_CFG] == form_scale.brdma ? &form_scale
                                                                 : &form_clamp;
    }
    if (t->conv.depthwise) {
        return half ? &form_depthwise_halves : &form_depthwise;
    }
    if (t->conv.product) {
        return t->enable & NPU_ENABLE_DPU_RDMA ? &form_words : &form_no_rdma;
    }
    if (half) {
        return t->enable & NPU_ENABLE_DPU_RDMA ? find_halves(regs)
                                               : &form_pixels_no_rdma;
    }
    if (t->dpu.out_precision == NPU_PREC_INT32) {
        return &form_words;
    }
    if (GET76(regs, CNA_CBUF_WEIGHT, FENCE)) {
        return &form_fence;
    }
    return regs[R_RK3576_RDMA_BRDMA_CFG] == form_bytes.brdma
           ? &form_bytes : &form_bytes_layer;
}

/*
 * BS_OW counts groups of 16 channels, of what is depthwise atoms (the vendor's
 * compiler, dw networks of rocket-userspace).  With the wrong parity of a
 * direct convolution boards lose rows (gregordinary).
 */
static uint32_t usual_ow(const NpuTask *t, const DpuForm *f)
{
    uint32_t groups = DIV_ROUND_UP(t->dpu.channels, 16);
    uint32_t atoms = DIV_ROUND_UP(t->dpu.channels, NPU_ATOM / t->dpu.out_bytes);
    bool half = t->conv.precision == NPU_PREC_FP16;

    if (t->kind == NPU_KIND_FLYING) {
        return f == &form_scale ? 0 : 0x20000;
    }
    if (t->conv.depthwise) {
        return (half ? 0x23033 : 0x13033) | ((atoms - 1) & 3) << 8;
    }
    if (f == &form_words || f == &form_no_rdma) {
        return 0x23333;
    }
    if (half) {
        return (atoms % 2 ? 0x1011 : 0x1111) |
               (f == &form_halves_prelu ? 0 : 0x20000);
    }
    return (groups % 2 ? 0x80001011 : 0x80001111) |
           (f->scalars & NPU_SCALAR_CPEND ? 2 : 1) << 16;
}

/* Programs of gahingwoo's have the line as a column, and use no operand. */
static bool rdma_cube_fits(const NpuTask *t, const uint32_t *regs)
{
    const NpuDpu *d = &t->dpu;
    uint32_t width = GET76(regs, RDMA_CUBE_WIDTH, WIDTH) + 1;
    uint32_t height = GET76(regs, RDMA_CUBE_HEIGHT, HEIGHT) + 1;

    return (width == d->width && height == d->height) ||
           (t->conv.product && width == 1 && height == d->width);
}

/* Where BN is off nothing takes the operands (row lut.rk3576). */
static bool bn_operands_fit(const uint32_t *regs)
{
    uint32_t nrdma = regs[R_RK3576_RDMA_NRDMA_CFG];

    switch (regs[R_RK3576_DPU_BN_CFG]) {
    case BN_SCALES:
        return nrdma == NRDMA_SCALES;
    case BN_PRELU:
        return nrdma == NRDMA_PRELU;
    case BN_OFF:
        return !nrdma || (nrdma == NRDMA_SCALES &&
                          regs[R_RK3576_DPU_EW_CFG] == EW_LUT);
    default:
        return !nrdma;
    }
}

static bool has_second(const uint32_t *regs)
{
    return regs[R_RK3576_DPU_EW_CFG] == EW_ADD ||
           regs[R_RK3576_DPU_EW_CFG] == EW_MUL;
}

/* Behind a convolution, whose surfaces come in turns (row ew.rk3576-turns). */
static bool has_turns(const NpuTask *t, const uint32_t *regs)
{
    return t->kind == NPU_KIND_CONV && has_second(regs);
}

/* The second tensor is another one of the same size, or a part of it. */
static const char *check_erdma(const NpuTask *t, const uint32_t *regs,
                               const DpuForm *f)
{
    bool turns = has_turns(t, regs);
    uint32_t plane = t->dpu.width * t->dpu.height;
    uint32_t stride = turns ? GET76(regs, DPU_DST_SURF_STRIDE, ATOMS) :
                      has_second(regs) ? plane : 0;
    uint32_t notch = turns ? 2 * stride - plane : 0;

    REFUSE_OTHER(RDMA_ERDMA_CFG, turns ? ERDMA_TURNS :
                                 has_second(regs) ? ERDMA_TENSOR : f->erdma,
                 "ERDMA of this layer");
    REFUSE_OTHER(RDMA_EW_SURF_STRIDE, stride,
                 "surfaces of an EW operand that is not there");
    REFUSE_IF(regs[R_RK3576_RDMA_SURF_NOTCH] != notch ||
              regs[R_RK3576_RDMA_EW_SURF_NOTCH] != notch,
              "surfaces with a notch");
    return NULL;
}

static const char *check_rdma(const NpuTask *t, const uint32_t *regs,
                              const DpuForm *f)
{
    REFUSE_OTHER(RDMA_FEATURE_MODE,
                 has_turns(t, regs) ? RDMA_TURNS : f->rdma_feature,
                 "RDMA of this layer");
    REFUSE_OTHER(RDMA_BRDMA_CFG, f->brdma, "BRDMA of this layer");
    REFUSE_IF(!bn_operands_fit(regs), "operands of BN in memory");
    REFUSE_IF(!rdma_cube_fits(t, regs) ||
              (f != &form_fence && GET76(regs, RDMA_CUBE_CHANNEL, CHANNEL) + 1
                                   != t->dpu.channels),
              "DPU and RDMA cubes disagree");
    return check_erdma(t, regs, f);
}

static const char *check_form(const NpuTask *t, const uint32_t *regs,
                              const DpuForm *f)
{
    REFUSE_OTHER(DPU_BS_CFG, f->bs, "BS of this layer");
    REFUSE_OTHER(DPU_BS_OPERANDS, f->bs_operands, "operands of BS");
    REFUSE_OTHER(DPU_WRITE_CFG0, f->write, "write DMA of this layer");
    REFUSE_OTHER(DPU_BS_OW, usual_ow(t, f), "BS_OW of this many channels");
    REFUSE_IF(GET76(regs, DPU_WDMA_SIZE0, MODE) != f->wdma,
              "write DMA of this layer");
    REFUSE_OTHER(DPU_WRITE_BYTES, 0x0040ffff, "bytes of an atom left out");
    REFUSE_OTHER(DPU_WRITE_SHIFT, f->write_shift, "atoms that are shifted");
    return f->brdma || t->enable & NPU_ENABLE_DPU_RDMA ? check_rdma(t, regs, f)
                                                       : NULL;
}

/*
 * Sums of bytes as they are, as a DPU of halves hands them on (row
 * out.rk3576-words).
 */
static bool wants_words(const NpuTask *t, const uint32_t *regs)
{
    return t->kind == NPU_KIND_CONV && !t->conv.depthwise && !t->conv.packed &&
           t->conv.precision == NPU_PREC_INT8 &&
           GET76(regs, DPU_DATA_FORMAT, PROC_PRECISION) == NPU_PREC_FP16 &&
           GET76(regs, DPU_DATA_FORMAT, OUT_PRECISION) == OUT_WORDS;
}

static const char *decode_precision(NpuTask *t, const uint32_t *regs)
{
    NpuDpu *d = &t->dpu;
    uint32_t proc = GET76(regs, DPU_DATA_FORMAT, PROC_PRECISION);

    REFUSE_IF(GET76(regs, DPU_DATA_FORMAT, IN_PRECISION), "input of the DPU");
    d->precision = t->kind == NPU_KIND_CONV ? t->conv.precision : proc;
    d->operands = d->precision;
    d->is_float = d->precision == NPU_PREC_FP16;
    if (t->conv.product) {
        REFUSE_IF(proc != NPU_PREC_FP16 ||
                  GET76(regs, DPU_DATA_FORMAT, OUT_PRECISION) != OUT_WORDS,
                  "output of a product of halves but floats");
        d->out_precision = NPU_PREC_FP32;
        d->out_bytes = 4;
        return NULL;
    }
    if (wants_words(t, regs)) {
        d->out_precision = NPU_PREC_INT32;
        d->out_bytes = 4;
        return NULL;
    }
    d->out_precision = GET76(regs, DPU_DATA_FORMAT, OUT_PRECISION);
    REFUSE_IF(d->precision != NPU_PREC_INT8 && d->precision != NPU_PREC_FP16,
              "precision of the DPU");
    REFUSE_IF(proc != d->precision, "blocks disagree about the precision");
    /* Others go by patterns that only boards show. */
    REFUSE_IF(d->out_precision != d->precision,
              "output of another precision");
    d->out_bytes = d->is_float ? 2 : 1;
    return NULL;
}

static const char *decode_shape(NpuTask *t, const uint32_t *regs,
                                const DpuForm *f)
{
    NpuDpu *d = &t->dpu;

    d->width = GET76(regs, DPU_CUBE_WIDTH, WIDTH) + 1;
    d->height = GET76(regs, DPU_CUBE_HEIGHT, HEIGHT) + 1;
    d->channels = GET76(regs, DPU_CUBE_CHANNEL, CHANNEL) + 1;
    d->orig_channels = d->channels;
    d->stream.copies_x = d->stream.copies_y = 1;
    REFUSE_IF(GET76(regs, DPU_WDMA_SIZE0, CHANNEL) + 1 != d->channels ||
              GET76(regs, DPU_WDMA_SIZE1, WIDTH) + 1 != d->width ||
              GET76(regs, DPU_WDMA_SIZE1, HEIGHT) + 1 != d->height,
              "DPU cube and its write DMA disagree");
    REFUSE_IF(t->kind == NPU_KIND_CONV &&
              (d->width != t->conv.out_w || d->height != t->conv.out_h ||
               d->channels != GET76(regs, CORE_SIZE1, CHANNEL) + 1),
              "CORE and DPU disagree about the output size");
    REFUSE_IF(f == &form_words && d->height > 1 && !t->conv.product,
              "words of several lines");
    REFUSE_IF(t->kind == NPU_KIND_CONV &&
              d->channels > (t->conv.depthwise ? t->conv.in_c
                                               : t->conv.kernels),
              "more output channels than kernels");
    return NULL;
}


typedef struct Clamp {
    uint32_t low, high, low1, high1;    /* registers */
} Clamp;

static const Clamp clamp_bs = {
    R_RK3576_DPU_BS_LOW, R_RK3576_DPU_BS_HIGH,
    R_RK3576_DPU_BS_LOW1, R_RK3576_DPU_BS_HIGH1,
}, clamp_bn = {
    R_RK3576_DPU_BN_LOW, R_RK3576_DPU_BN_HIGH,
    R_RK3576_DPU_BN_LOW1, R_RK3576_DPU_BN_HIGH1,
};

static bool clamp_open(const uint32_t *regs, uint32_t low, uint32_t high)
{
    return regs[low] == (uint32_t)INT32_MIN && regs[high] == INT32_MAX;
}

/* Each bound is there twice; all that was seen is a ReLU, with an upper end. */
static const char *decode_clamp(NpuStage *s, const uint32_t *regs,
                                const Clamp *c)
{
    REFUSE_IF(regs[c->low] != regs[c->low1] || regs[c->high] != regs[c->high1],
              "two clamps of a stage");
    if (clamp_open(regs, c->low, c->high)) {
        return NULL;
    }
    REFUSE_IF(regs[c->low], "clamp but from 0 on");
    s->on = true;
    s->relu = true;
    s->relux = regs[c->high] != INT32_MAX;
    s->relux_cmp = regs[c->high];
    return NULL;
}

/* What a stage has for all channels, at @base. */
static void decode_record(NpuTask *t, unsigned stage, uint8_t scalars,
                          uint32_t base)
{
    NpuStage *s = &t->dpu.stage[stage];
    NpuFeed *f = &t->feed[NPU_FEED_RECORD + stage];
    uint32_t bytes = (scalars & NPU_SCALAR_ALU ? NPU_SCALAR_ALU_BYTES : 0) +
                     (scalars & NPU_SCALAR_CPEND ? NPU_SCALAR_BYTES : 0) +
                     (scalars & NPU_SCALAR_MUL ? NPU_SCALAR_BYTES : 0) +
                     (scalars & NPU_SCALAR_SHIFTS ? NPU_SCALAR_BYTES : 0);

    s->scalars = scalars;
    s->on |= scalars & ~NPU_SCALAR_CPEND;
    s->alu |= !!(scalars & NPU_SCALAR_ALU);
    s->mul |= !!(scalars & NPU_SCALAR_MUL);
    s->alu_algo = NPU_ALU_ADD;
    f->base[0] = base;
    f->line_bytes = bytes;
    npu_cube_init(&f->cube, 1, 1, bytes, false);
}

/* Operands of each channel, and a record for all of them. */
static void decode_operands(NpuTask *t, const uint32_t *regs,
                            const DpuForm *f)
{
    NpuStage *s = &t->dpu.stage[NPU_STAGE_BS];

    s->addr = ADDR76(regs, RDMA_BS_ADDR);
    if (!f->idle) {
        s->on = s->use;
        s->operands = t->dpu.operands;
        s->alu = s->alu_dma = s->use & NPU_USE_ALU;
        s->alu_algo = NPU_ALU_ADD;
        s->mul = s->mul_dma = s->use & NPU_USE_MUL;
        s->cpend_dma = s->use & NPU_USE_CPEND && !t->dpu.is_float;
        s->prelu = f->prelu;
    }
    if (f->scalars) {
        decode_record(t, NPU_STAGE_BS, f->idle ? 0 : f->scalars,
                      ADDR76(regs, RDMA_BS_WORD_ADDR));
    }
    t->conv.cpend = s->cpend_dma || f->scalars & NPU_SCALAR_CPEND;
}

/* A factor and shifts for all, or for what is negative (row stage.rk3576-bn) */
static const char *decode_bn(NpuTask *t, const uint32_t *regs, uint32_t bn)
{
    NpuStage *s = &t->dpu.stage[NPU_STAGE_BN];

    REFUSE_IF(!clamp_open(regs, clamp_bn.low, clamp_bn.high) ||
              !clamp_open(regs, clamp_bn.low1, clamp_bn.high1),
              "clamp of a BN that is off");
    if (bn == BN_OFF) {
        return NULL;
    }
    REFUSE_IF(t->dpu.is_float && bn == BN_PRELU, "PReLU of BN for halves");
    s->operands = t->dpu.operands;
    s->prelu = bn == BN_PRELU;
    decode_record(t, NPU_STAGE_BN, NPU_SCALAR_MUL | NPU_SCALAR_SHIFTS |
                  (s->prelu ? 0 : NPU_SCALAR_ALU),
                  ADDR76(regs, RDMA_BN_WORD_ADDR));
    return NULL;
}

static const char *decode_stages(NpuTask *t, const uint32_t *regs,
                                 const DpuForm *f)
{
    uint32_t bn = regs[R_RK3576_DPU_BN_CFG];
    const char *why;

    t->dpu.stage[NPU_STAGE_BS].use = f->use;
    if (f->use || f->scalars) {
        decode_operands(t, regs, f);
    }
    if (f->bs == BS_CLAMPS) {
        why = decode_clamp(&t->dpu.stage[NPU_STAGE_BS], regs, &clamp_bs);
        REFUSE_IF(why, why);
    } else {
        REFUSE_IF(!clamp_open(regs, clamp_bs.low, clamp_bs.high) ||
                  !clamp_open(regs, clamp_bs.low1, clamp_bs.high1),
                  "clamp of a BS that does not clamp");
    }
    REFUSE_IF(bn != BN_OFF && bn != BN_CLAMPS && bn != BN_SCALES &&
              bn != BN_PRELU, "BN of unknown use");
    REFUSE_IF(bn != BN_OFF && (f == &form_words || f == &form_no_rdma),
              "clamp of words");
    if (bn == BN_CLAMPS) {
        return decode_clamp(&t->dpu.stage[NPU_STAGE_BN], regs, &clamp_bn);
    }
    return decode_bn(t, regs, bn);
}

/* Another tensor, to which an offset is added before it is scaled. */
static const char *decode_second(NpuTask *t, const uint32_t *regs,
                                 const DpuForm *form)
{
    uint32_t cfg = regs[R_RK3576_DPU_EW_CFG];
    NpuEw *e = &t->dpu.ew;
    NpuFeed *f = &t->feed[NPU_FEED_EW];
    uint32_t plane = t->dpu.width * t->dpu.height * NPU_ATOM;

    REFUSE_IF(t->dpu.is_float, "a second tensor but of bytes");
    REFUSE_IF(t->kind == NPU_KIND_CONV &&
              (form != &form_bytes || cfg != EW_ADD),
              "a second tensor of such a convolution");
    e->on = e->op = e->dma = true;
    e->mul = cfg == EW_MUL;
    e->alu_algo = NPU_ALU_ADD;
    e->bytes = 1;
    e->cvt = e->cvt_offset_first = true;
    e->cvt_offset = (int16_t)GET76(regs, DPU_EW_CVT_OFFSET, VALUE);
    e->cvt_scale = (int16_t)GET76(regs, DPU_EW_CVT_SCALE, SCALE);
    e->cvt_shift = GET76(regs, DPU_EW_CVT_SCALE, SHIFT);
    f->base[0] = ADDR76(regs, RDMA_EW_ADDR);
    f->pitch[0] = GET76(regs, RDMA_EW_SURF_STRIDE, ATOMS) * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&f->cube, DIV_ROUND_UP(t->dpu.channels, NPU_ATOM),
                             1, plane, false), "too many EW operands");
    return NULL;
}

static const char *decode_ew(NpuTask *t, const uint32_t *regs,
                             const DpuForm *form, const NpuLut *lut)
{
    uint32_t cfg = regs[R_RK3576_DPU_EW_CFG];

    REFUSE_IF(cfg != EW_OFF && cfg != EW_LUT && cfg != EW_ADD &&
              cfg != EW_MUL, "EW of unknown use");
    /* Where a line below the table would end under 0 (row lut.rk3576-floor). */
    t->dpu.ew.lut_floor = cfg == EW_LUT && !regs[R_RK3576_DPU_EW_LOW];
    /* A ReLU of sums (row ew.rk3576-turns). */
    t->dpu.ew.relu = cfg == EW_ADD && !regs[R_RK3576_DPU_EW_LOW];
    REFUSE_IF(!t->dpu.ew.lut_floor && !t->dpu.ew.relu &&
              regs[R_RK3576_DPU_EW_LOW] != (uint32_t)INT32_MIN, "clamp of EW");
    REFUSE_OTHER(DPU_EW_HIGH, INT32_MAX, "clamp of EW");
    if (has_second(regs)) {
        return decode_second(t, regs, form);
    }
    REFUSE_IF(regs[R_RK3576_DPU_EW_CVT_OFFSET] ||
              regs[R_RK3576_DPU_EW_CVT_SCALE] != 1,
              "EW converter without an operand");
    if (cfg == EW_OFF) {
        return NULL;
    }
    REFUSE_IF(t->dpu.is_float && form != &form_halves_lut, "LUT of halves");
    t->dpu.ew.on = true;
    t->dpu.ew.lut = true;
    return npu_rk3576_lut(&t->dpu.lut, regs, lut);
}

/* What the LUT of halves gives are codes (row lut.rk3576-halves). */
static const char *check_codes(const NpuDpu *d, const uint32_t *regs)
{
    REFUSE_IF(regs[R_RK3576_DPU_BN_CFG] != BN_SCALES,
              "LUT of halves without a factor");
    REFUSE_IF(d->ew.lut_floor, "clamp of EW");
    return NULL;
}

static const char *check_floats(NpuDpu *d)
{
    if (d->cvt_scale == 1ll << d->cvt_shift) {
        /* As good as nothing (row stage.rk3576-halves). */
        d->cvt_scale = 1;
        d->cvt_shift = 0;
    }
    REFUSE_IF(d->cvt_offset || d->cvt_scale != 1 || d->cvt_shift,
              "OUT_CVT arithmetic with floats");
    return NULL;
}

static const char *decode_out_cvt(NpuDpu *d, const uint32_t *regs,
                                  bool flying)
{
    d->cvt_offset = regs[R_RK3576_DPU_OUT_CVT_OFFSET];
    d->cvt_scale = (int16_t)GET76(regs, DPU_OUT_CVT_SCALE, SCALE);
    d->cvt_shift = GET76(regs, DPU_OUT_CVT_SHIFT, SHIFT);
    d->cvt_codes = d->ew.lut && d->is_float;
    d->cvt_minus_exp = GET76(regs, DPU_OUT_CVT_SHIFT, MINUS_EXP);
    /* Ahead of the offset, so that 0 changes nothing behind EW's. */
    REFUSE_IF(!clamp_open(regs, R_RK3576_DPU_OUT_LOW, R_RK3576_DPU_OUT_HIGH) &&
              !((d->ew.lut_floor || d->ew.relu) &&
                !regs[R_RK3576_DPU_OUT_LOW] &&
                regs[R_RK3576_DPU_OUT_HIGH] == INT32_MAX && d->cvt_scale >= 0),
              "clamp of the output");
    REFUSE_IF(d->out_precision == NPU_PREC_INT32 &&
              (d->ew.lut || d->cvt_offset || d->cvt_scale != 1 ||
               d->cvt_shift), "LUT or OUT_CVT of words");
    REFUSE_IF(d->cvt_minus_exp && !d->cvt_codes, "MINUS_EXP of this chip");
    /* Compilers set it for all of a DPU alone, and where there are two. */
    REFUSE_IF((d->is_float || flying || d->ew.op) !=
              GET76(regs, DPU_OUT_CVT_SCALE, FP32TOFP16_EN) &&
              !(d->cvt_scale == 1 && !d->cvt_shift),
              "FP32TOFP16_EN against the output precision");
    REFUSE_IF(d->out_precision == NPU_PREC_FP32 &&
              GET76(regs, DPU_OUT_CVT_SCALE, FP32TOFP16_EN),
              "FP32TOFP16_EN of words");
    return d->cvt_codes ? check_codes(d, regs) :
           d->is_float ? check_floats(d) : NULL;
}

/* Atoms between lines: of products they are other surfaces. */
static uint32_t usual_notch(const NpuTask *t, uint32_t stride,
                            uint32_t surfaces)
{
    if (!t->conv.product) {
        return 0;
    }
    return t->conv.int4_weights ? stride - t->dpu.width : surfaces - 1;
}

/*
 * SURF_ADD is what follows the last line of a group, in the cube as it is
 * written: boards write nothing if it does not fit the stride.
 */
static const char *decode_output(NpuTask *t, const uint32_t *regs,
                                 const NpuTaskOptions *opt, uint32_t group)
{
    NpuDpu *d = &t->dpu;
    NpuOutput *o = &d->out;
    uint32_t stride = GET76(regs, DPU_DST_SURF_STRIDE, ATOMS);
    uint32_t add = GET76(regs, DPU_SURF_ADD, ATOMS);
    uint32_t notch = GET76(regs, DPU_CUBE_NOTCH, ATOMS);
    uint32_t surfaces = DIV_ROUND_UP(d->channels, NPU_ATOM / d->out_bytes);
    bool rows = t->conv.product && !t->conv.int4_weights;
    uint32_t line = d->width + (rows ? notch : 0);
    /* There is no notch behind the last line. */
    int64_t behind = rows ? (int64_t)(int32_t)add - notch : add;

    /* Nobody has been seen to leave padding out. */
    REFUSE_IF(!opt->write_padding && d->channels % (NPU_ATOM / d->out_bytes),
              "part of an atom");
    REFUSE_IF(rows && stride != 1,
              "rows of a product that do not follow each other");
    REFUSE_IF(t->kind == NPU_KIND_CONV && surfaces > 1 &&
              behind + (int64_t)line * d->height != (int64_t)group * stride,
              "SURF_ADD against the stride of surfaces");
    REFUSE_IF(notch != usual_notch(t, stride, surfaces),
              "CUBE_NOTCH of this layer");
    o->base = ADDR76(regs, DPU_DST_ADDR);
    o->surf_stride = stride * NPU_ATOM;
    o->surf_add = group * o->surf_stride;
    o->surf_group = group;
    o->line_bytes = line * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&o->cube, surfaces, d->height,
                             (uint64_t)d->width * NPU_ATOM,
                             d->height > 1 && stride == d->width),
              "too much output");
    return NULL;
}

/* Surfaces one behind the other, without gaps between lines. */
static const char *decode_input(NpuTask *t, const uint32_t *regs)
{
    NpuFeed *f = &t->feed[NPU_FEED_MAIN];
    NpuDpu *d = &t->dpu;

    f->base[0] = ADDR76(regs, RDMA_SRC_ADDR);
    f->line_bytes = d->width * NPU_ATOM;
    f->pitch[0] = d->width * d->height * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&f->cube, d->out.cube.surfaces, d->height,
                             (uint64_t)d->width * NPU_ATOM, false),
              "too much input of a flying DPU");
    return NULL;
}

const char *npu_rk3576_dpu(NpuTask *t, const uint32_t *regs,
                           const NpuTaskOptions *opt)
{
    const DpuForm *f;
    const char *why;

    REFUSE_IF(GET76(regs, DPU_FEATURE_MODE, FLYING) !=
              (t->kind == NPU_KIND_FLYING) ||
              GET76(regs, DPU_FEATURE_MODE, CORE_FEEDS) !=
              (t->kind == NPU_KIND_CONV) ||
              GET76(regs, DPU_FEATURE_MODE, OUTPUT_MODE) != 2,
              "DPU mode against the enabled blocks");
    why = decode_precision(t, regs);
    REFUSE_IF(why, why);
    f = find_form(t, regs);
    why = decode_shape(t, regs, f);
    REFUSE_IF(why, why);
    why = check_form(t, regs, f);
    REFUSE_IF(why, why);
    why = decode_stages(t, regs, f);
    REFUSE_IF(why, why);
    why = decode_ew(t, regs, f, opt->lut);
    REFUSE_IF(why, why);
    why = decode_out_cvt(&t->dpu, regs, t->kind == NPU_KIND_FLYING);
    REFUSE_IF(why, why);
    why = decode_output(t, regs, opt, f->surf_group);
    REFUSE_IF(why, why);
    return t->kind == NPU_KIND_FLYING ? decode_input(t, regs) : NULL;
}
