/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoding a register snapshot of the RK3588 NPU into a validated task.
 *
 * Whatever is not understood completely is refused: a task that the model
 * computed wrongly would be worse than one that never ends.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "rk3588_npu_decode.h"
#include "rk3588_npu_conv.h"
#include "rk3588_npu_dpu.h"

NpuCmd npu_cmd_decode(uint64_t entry)
{
    NpuCmd cmd = {
        .kind = NPU_CMD_BAD,
        .target = entry >> 48,
        .reg = entry,
        .value = entry >> 16,
    };

    switch (cmd.target) {
    case NPU_TARGET_NOP0:
    case NPU_TARGET_NOP1:
    case NPU_TARGET_MARKER:
        cmd.kind = NPU_CMD_NOP;
        return cmd;
    case NPU_TARGET_ENABLE:
        cmd.kind = NPU_CMD_ENABLE;
        return cmd;
    }
    if ((cmd.target & 0xff) != NPU_TARGET_WRITE ||
        cmd.reg >= NPU_REGFILE_SIZE || cmd.reg % 4) {
        return cmd;
    }
    /* The high byte has one bit per block; the register decides. */
    cmd.kind = NPU_CMD_WRITE;
    cmd.mismatch = cmd.target >> 8 != 1 << (cmd.reg >> 12);
    return cmd;
}

bool npu_cube_init(NpuCube *cube, uint32_t surfaces, uint32_t height,
                   uint64_t row_bytes, bool surf_inner)
{
    uint64_t rows = (uint64_t)surfaces * height;

    if (!row_bytes || !rows || rows > NPU_TASK_MAX_BUFFER / row_bytes) {
        return false;
    }
    cube->surfaces = surfaces;
    cube->height = height;
    cube->row_bytes = row_bytes;
    cube->bytes = rows * row_bytes;
    cube->surf_inner = surf_inner;
    cube->host_surf = surf_inner ? row_bytes : row_bytes * height;
    cube->host_line = surf_inner ? row_bytes * surfaces : row_bytes;
    return true;
}

static const char *decode_cna_modes(const uint32_t *regs)
{
    unsigned i;

    REFUSE_IF(GET(regs, CNA_CONV_CON1, DECONV) ||
              GET(regs, CNA_CONV_CON3, DECONV_STRIDES), "deconvolution");
    REFUSE_IF(GET(regs, CNA_CONV_CON3, NN_MODE), "NN_MODE");
    REFUSE_IF(GET(regs, CNA_CONV_CON2, CSC_DO_EN) ||
              GET(regs, CNA_CONV_CON2, CSC_WO_EN), "CSC output disabled");
    REFUSE_IF(GET(regs, CNA_DATA_SIZE3, SURF_MODE) > 1, "SURF_MODE");
    REFUSE_IF(GET(regs, CNA_FC_CON0, FC_SKIP_EN), "FC zero skipping");
    REFUSE_IF(GET(regs, CNA_DCOMP_CTRL, DECOMP_CONTROL) ||
              regs[R_CNA_DCOMP_REGNUM], "weight decompression");
    for (i = 0; i < CNA_DCOMP_AMOUNT_NUM; i++) {
        REFUSE_IF(regs[R_CNA_DCOMP_AMOUNT0 + i], "weight decompression");
    }
    return NULL;
}

/* All blocks have to be told of a depthwise convolution. */
static const char *decode_mode(NpuTask *t, const uint32_t *regs)
{
    uint32_t mode = GET(regs, CNA_CONV_CON1, CONV_MODE);

    REFUSE_IF(mode != NPU_MODE_DIRECT && mode != NPU_MODE_DEPTHWISE,
              "CNA convolution mode");
    t->conv.depthwise = mode == NPU_MODE_DEPTHWISE;
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, CONV_MODE) != mode ||
              GET(regs, CORE_MISC_CFG, DW_EN) != t->conv.depthwise ||
              ((t->enable & NPU_ENABLE_DPU_RDMA) &&
               GET(regs, RDMA_FEATURE_MODE_CFG, CONV_MODE) != mode),
              "blocks disagree about the convolution mode");
    return NULL;
}

static const char *decode_precision(NpuConv *c, const uint32_t *regs)
{
    c->precision = GET(regs, CNA_CONV_CON1, IN_PRECISION);
    REFUSE_IF(GET(regs, CNA_CONV_CON1, PROC_PRECISION) != c->precision ||
              GET(regs, CORE_MISC_CFG, PROC_PRECISION) != c->precision ||
              GET(regs, DPU_DATA_FORMAT, PROC_PRECISION) != c->precision ||
              GET(regs, DPU_DATA_FORMAT, IN_PRECISION) != c->precision,
              "blocks disagree about the precision");
    switch (c->precision) {
    case NPU_PREC_INT8:
        c->bpe = 1;
        c->kernel_group = c->depthwise ? 64 : 32;
        return NULL;
    case NPU_PREC_FP16:
        c->bpe = 2;
        c->kernel_group = c->depthwise ? 32 : 16;
        return NULL;
    default:
        return "input precision";
    }
}

static const char *decode_geometry(NpuConv *c, const uint32_t *regs)
{
    uint32_t atomics = GET(regs, CNA_DATA_SIZE3, DATAOUT_ATOMICS);

    c->in_w = GET(regs, CNA_DATA_SIZE0, DATAIN_WIDTH);
    c->in_h = GET(regs, CNA_DATA_SIZE0, DATAIN_HEIGHT);
    c->in_c = GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL);
    c->out_w = GET(regs, CNA_DATA_SIZE2, DATAOUT_WIDTH);
    c->out_h = GET(regs, CORE_DATAOUT_SIZE_0, HEIGHT) + 1;
    c->stride_x = GET(regs, CNA_CONV_CON3, CONV_X_STRIDE);
    c->stride_y = GET(regs, CNA_CONV_CON3, CONV_Y_STRIDE);
    c->step_x = GET(regs, CNA_CONV_CON3, ATROUS_X) + 1;
    c->step_y = GET(regs, CNA_CONV_CON3, ATROUS_Y) + 1;
    c->pad_left = GET(regs, CNA_PAD_CON0, PAD_LEFT);
    c->pad_top = GET(regs, CNA_PAD_CON0, PAD_TOP);
    /* Which half a 16-bit type takes is inferred, not measured. */
    c->pad_value = regs[R_CNA_PAD_CON1];

    REFUSE_IF(!c->in_w || !c->in_h || !c->in_c || !c->out_w,
              "empty input or output");
    REFUSE_IF(!c->stride_x || !c->stride_y, "stride of 0");
    REFUSE_IF(c->in_c * c->bpe % NPU_ATOM, "channels do not fill atoms");
    REFUSE_IF(GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL_REAL) >= c->in_c,
              "more real than aligned channels");
    REFUSE_IF(GET(regs, CORE_DATAOUT_SIZE_0, WIDTH) + 1 != c->out_w ||
              (uint64_t)c->out_w * c->out_h != atomics,
              "CNA and CORE disagree about the output size");
    return NULL;
}

static const char *decode_weights(NpuConv *c, const uint32_t *regs)
{
    uint64_t total;

    c->k_w = GET(regs, CNA_WEIGHT_SIZE2, WIDTH);
    c->k_h = GET(regs, CNA_WEIGHT_SIZE2, HEIGHT);
    c->kernels = GET(regs, CNA_WEIGHT_SIZE2, KERNELS);
    c->kernel_elems = c->k_w * c->k_h * c->in_c;
    REFUSE_IF(!c->kernel_elems || !c->kernels, "empty kernels");
    REFUSE_IF(c->depthwise && c->kernels != 1, "depthwise kernels but one");
    REFUSE_IF((uint64_t)c->kernel_elems * c->bpe !=
              GET(regs, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL),
              "bytes per kernel do not match its shape");
    total = (uint64_t)c->kernels * c->kernel_elems * c->bpe;
    REFUSE_IF(total != regs[R_CNA_WEIGHT_SIZE0],
              "weight bytes do not match the kernels");
    REFUSE_IF(total > NPU_TASK_MAX_BUFFER, "too many weights");
    c->weight_bytes = total;
    c->weights = npu_dma_addr(regs, regs[R_CNA_DCOMP_ADDR0]);
    c->weight_reuse = GET(regs, CNA_CBUF_CON0, WEIGHT_REUSE);
    c->data_banks = GET(regs, CNA_CBUF_CON0, DATA_BANK);
    c->data_reuse = GET(regs, CNA_CBUF_CON0, DATA_REUSE);
    return NULL;
}

/* Positions from the start of one surface to the next. */
static int64_t feature_surf_pitch(const NpuFeature *f)
{
    return (int64_t)f->group_lines * f->dma_width + f->surf_stride;
}

static const char *decode_feature(NpuConv *c, const uint32_t *regs)
{
    NpuFeature *f = &c->feature;
    uint32_t surfaces = c->in_c * c->bpe / NPU_ATOM;
    bool inner;

    f->base = npu_dma_addr(regs, regs[R_CNA_FEATURE_DATA_ADDR]);
    f->group_lines = GET(regs, CNA_CONV_CON1, GROUP_LINE_OFF) ? 1 : 4;
    f->dma_width = GET(regs, CNA_FC_DATA_SIZE0, DMA_WIDTH);
    f->line_stride = GET(regs, CNA_DMA_CON1, LINE_STRIDE);
    f->surf_stride = sextract32(regs[R_CNA_DMA_CON2], 0, 28);
    /*
     * Mesa announces 16 packed pixels where lines of memory have them, but
     * fewer to the DMA; that all of them are read is inferred.
     */
    REFUSE_IF(f->dma_width < c->in_w && !c->cvt.on,
              "DMA width below the input width");

    inner = feature_surf_pitch(f) == c->in_w && !c->cvt.on;
    REFUSE_IF(!npu_cube_init(&c->atoms, surfaces, c->in_h,
                             (uint64_t)c->in_w * NPU_ATOM, inner),
              "too much feature data");
    f->unit = NPU_ATOM;
    f->cube = c->atoms;
    if (c->cvt.on) {
        f->unit = 1;
        REFUSE_IF(!npu_cube_init(&f->cube, 1, c->in_h, c->in_w, false),
                  "too much feature data");
    }
    return NULL;
}

static const char *decode_core(NpuConv *c, const uint32_t *regs)
{
    c->truncate = GET(regs, CORE_CLIP_TRUNCATE, TRUNCATE);
    c->truncate_up = GET(regs, CORE_CLIP_TRUNCATE, ROUND_TYPE);
    REFUSE_IF(c->truncate && c->precision == NPU_PREC_FP16,
              "CLIP_TRUNCATE with floats");

    if (!GET(regs, DPU_BS_OW_CFG, OD_BYPASS)) {
        c->zero_point = sextract32(regs[R_DPU_BS_OW_OP], 0, 16);
        REFUSE_IF(GET(regs, DPU_BS_OW_CFG, OW_SRC), "CPEND operand by DMA");
        REFUSE_IF(c->zero_point && !GET(regs, CORE_MISC_CFG, QD_EN),
                  "CPEND without QD_EN");
        REFUSE_IF(c->zero_point && c->precision == NPU_PREC_FP16,
                  "CPEND with floats");
    }
    return NULL;
}

/* BN repeats BS's registers one field set further on. */
static const char *decode_stage(NpuDpu *d, const uint32_t *regs, unsigned idx)
{
    NpuStage *s = &d->stage[idx];
    const uint32_t *r = &regs[idx ? R_DPU_BN_CFG : R_DPU_BS_CFG];
    uint32_t shift_neg = idx ? GET(regs, DPU_DATA_FORMAT, BN_MUL_SHIFT_NEG)
                             : GET(regs, DPU_DATA_FORMAT, BS_MUL_SHIFT_NEG);
    uint32_t addr = regs[idx ? R_RDMA_BN_BASE_ADDR : R_RDMA_BS_BASE_ADDR];

    if (FIELD_EX32(r[0], DPU_BS_CFG, BYPASS)) {
        return NULL;
    }
    s->alu = !FIELD_EX32(r[0], DPU_BS_CFG, ALU_BYPASS);
    s->alu_algo = FIELD_EX32(r[0], DPU_BS_CFG, ALU_ALGO);
    s->alu_dma = s->alu && FIELD_EX32(r[0], DPU_BS_CFG, ALU_SRC);
    s->alu_operand = r[1];
    s->alu_addr = npu_dma_addr(regs, addr);
    REFUSE_IF(s->alu && !npu_alu_known(s->alu_algo),
              "BS or BN ALU algorithm");

    s->mul = !FIELD_EX32(r[0], DPU_BS_CFG, MUL_BYPASS);
    if (s->mul) {
        s->prelu = FIELD_EX32(r[0], DPU_BS_CFG, MUL_PRELU);
        s->mul_operand = FIELD_EX32(r[2], DPU_BS_MUL_CFG, MUL_OPERAND);
        s->mul_shift = FIELD_EX32(r[2], DPU_BS_MUL_CFG, MUL_SHIFT);
        REFUSE_IF(FIELD_EX32(r[2], DPU_BS_MUL_CFG, MUL_SRC),
                  "BS or BN multiplier by DMA");
        REFUSE_IF(FIELD_EX32(r[2], DPU_BS_MUL_CFG, TRUNCATE_SRC) ||
                  (shift_neg && shift_neg != s->mul_shift),
                  "BS or BN shift of negatives");
        REFUSE_IF(d->is_float && s->mul_shift, "BS or BN shift of floats");
    }

    s->relu = !FIELD_EX32(r[0], DPU_BS_CFG, RELU_BYPASS);
    s->relux = s->relu && FIELD_EX32(r[0], DPU_BS_CFG, RELUX_EN);
    s->relux_cmp = r[3];
    return NULL;
}

static const char *decode_out_cvt(NpuDpu *d, const uint32_t *regs)
{
    bool to_half = GET(regs, DPU_OUT_CVT_SCALE, FP32TOFP16_EN);

    d->cvt_offset = regs[R_DPU_OUT_CVT_OFFSET];
    /* Above 0x7fff: signed, as in NVDLA; never measured here. */
    d->cvt_scale = (int16_t)GET(regs, DPU_OUT_CVT_SCALE, SCALE);
    d->cvt_shift = GET(regs, DPU_OUT_CVT_SHIFT, SHIFT);
    d->cvt_up = GET(regs, DPU_OUT_CVT_SHIFT, CVT_ROUND);
    d->cvt_offset_first = GET(regs, DPU_OUT_CVT_SHIFT, CVT_TYPE);
    d->cvt_minus_exp = GET(regs, DPU_OUT_CVT_SHIFT, MINUS_EXP);
    d->cvt_codes = d->ew.lut;
    REFUSE_IF(d->cvt_minus_exp && !d->cvt_codes, "OUT_CVT MINUS_EXP");
    if (d->cvt_codes) {
        REFUSE_IF(!d->cvt_offset_first || d->cvt_shift,
                  "OUT_CVT of LUT codes but by offset first and MINUS_EXP");
    } else if (d->is_float) {
        REFUSE_IF(d->cvt_offset || d->cvt_scale != 1 || d->cvt_shift,
                  "OUT_CVT arithmetic with floats");
    }
    if (d->is_float) {
        REFUSE_IF(to_half != (d->out_precision == NPU_PREC_FP16),
                  "FP32TOFP16_EN against the output precision");
    } else {
        REFUSE_IF(to_half, "FP32TOFP16_EN with integers");
        REFUSE_IF(d->cvt_shift > 63, "OUT_CVT shift above 63");
    }
    return NULL;
}

static const char *decode_out_precision(NpuDpu *d, const uint32_t *regs)
{
    d->out_precision = GET(regs, DPU_DATA_FORMAT, OUT_PRECISION);
    switch (d->out_precision) {
    case NPU_PREC_INT8:
        d->out_bytes = 1;
        REFUSE_IF(d->is_float, "integer output of floats");
        return NULL;
    case NPU_PREC_FP16:
        d->out_bytes = 2;
        REFUSE_IF(!d->is_float, "half float output of integers");
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

static uint32_t out_surf_offset(const NpuOutput *o, uint32_t surface)
{
    return surface / o->surf_group * o->surf_add +
           surface % o->surf_group * o->surf_stride;
}

static const char *decode_output(NpuDpu *d, const uint32_t *regs,
                                 const NpuTaskOptions *opt)
{
    NpuOutput *o = &d->out;
    uint32_t size_e = GET(regs, DPU_BS_OW_CFG, SIZE_E_0);
    uint32_t per_surf = NPU_ATOM / d->out_bytes;
    uint32_t channels = opt->write_padding ? d->channels : d->orig_channels;
    bool inner;

    REFUSE_IF(GET(regs, DPU_BS_OW_CFG, SIZE_E_1) != size_e ||
              GET(regs, DPU_BS_OW_CFG, SIZE_E_2) != size_e,
              "SIZE_E differs between lines");
    REFUSE_IF(GET(regs, DPU_BS_OW_CFG, TP_ORG_EN) ||
              GET(regs, DPU_BS_OW_CFG, RGP_CNTER) ||
              GET(regs, DPU_WDMA_SIZE_0, TP_PRECISION) ||
              GET(regs, DPU_WDMA_SIZE_0, SIZE_C), "transposed output");
    o->base = npu_dma_addr(regs, regs[R_DPU_DST_BASE_ADDR]);
    o->surf_stride = regs[R_DPU_DST_SURF_STRIDE] & DPU_STRIDE_MASK;
    o->surf_add = regs[R_DPU_SURFACE_ADD] & DPU_STRIDE_MASK;
    o->surf_group = size_e + 1;
    o->line_bytes = (d->width + GET(regs, DPU_DATA_CUBE_NOTCH, NOTCH_0)) *
                    NPU_ATOM;
    inner = d->height > 1 && out_surf_offset(o, 1) == d->width * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&o->cube, DIV_ROUND_UP(channels, per_surf),
                             d->height, (uint64_t)d->width * NPU_ATOM, inner),
              "too much output");
    return NULL;
}

static const char *decode_dpu_modes(const NpuTask *t, const uint32_t *regs)
{
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE) !=
              (t->kind == NPU_KIND_FLYING),
              "FLYING_MODE against the enabled blocks");
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, OUTPUT_MODE) != 2,
              "output not to memory alone");
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, NONALIGN) ||
              GET(regs, DPU_FEATURE_MODE_CFG, RGP_TYPE) ||
              GET(regs, DPU_FEATURE_MODE_CFG, TP_EN) ||
              GET(regs, DPU_FEATURE_MODE_CFG, COMB_USE) ||
              GET(regs, DPU_DATA_FORMAT, MC_SURF_OUT) ||
              GET(regs, DPU_DATA_CUBE_HEIGHT, MINMAX_CTL),
              "DPU feature mode");
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

static const char *decode_dpu_precision(NpuTask *t, const uint32_t *regs)
{
    if (t->kind == NPU_KIND_FLYING) {
        return npu_flying_precision(&t->dpu, regs);
    }
    t->dpu.precision = t->conv.precision;
    t->dpu.is_float = t->conv.precision == NPU_PREC_FP16;
    return NULL;
}

static const char *decode_dpu(NpuTask *t, const uint32_t *regs,
                              const NpuTaskOptions *opt)
{
    NpuDpu *d = &t->dpu;
    const char *why;

    why = decode_dpu_modes(t, regs);
    REFUSE_IF(why, why);
    why = decode_dpu_precision(t, regs);
    REFUSE_IF(why, why);
    why = decode_out_precision(d, regs);
    REFUSE_IF(why, why);

    d->width = GET(regs, DPU_DATA_CUBE_WIDTH, WIDTH) + 1;
    d->height = GET(regs, DPU_DATA_CUBE_HEIGHT, HEIGHT) + 1;
    d->channels = GET(regs, DPU_DATA_CUBE_CHANNEL, CHANNEL) + 1;
    d->orig_channels = GET(regs, DPU_DATA_CUBE_CHANNEL, ORIG_CHANNEL) + 1;
    d->pend = GET(regs, DPU_OFFSET_PEND, VALUE);
    why = t->kind == NPU_KIND_CONV ? check_core_dpu(t, regs) : NULL;
    REFUSE_IF(why, why);
    REFUSE_IF(GET(regs, DPU_WDMA_SIZE_0, CHANNEL) + 1 != d->channels ||
              GET(regs, DPU_WDMA_SIZE_1, WIDTH) + 1 != d->width ||
              GET(regs, DPU_WDMA_SIZE_1, HEIGHT) + 1 != d->height,
              "DPU cube and its write DMA disagree");
    REFUSE_IF(d->orig_channels > d->channels,
              "more real than written channels");
    REFUSE_IF(d->pend && d->out_precision == NPU_PREC_FP32,
              "OFFSET_PEND with fp32 output");

    why = decode_stage(d, regs, NPU_STAGE_BS);
    REFUSE_IF(why, why);
    why = decode_stage(d, regs, NPU_STAGE_BN);
    REFUSE_IF(why, why);
    why = npu_ew_decode(t, regs, opt->lut);
    REFUSE_IF(why, why);
    why = decode_out_cvt(d, regs);
    REFUSE_IF(why, why);
    return decode_output(d, regs, opt);
}

static bool stage_reads(const NpuTask *t)
{
    return t->dpu.stage[NPU_STAGE_BS].alu_dma ||
           t->dpu.stage[NPU_STAGE_BN].alu_dma || t->dpu.ew.dma;
}

/* RDMA must feed nothing that no stage takes. */
static const char *decode_rdma_feeds(NpuTask *t, const uint32_t *regs)
{
    uint32_t precision = t->dpu.precision;

    REFUSE_IF(!t->dpu.ew.dma && !GET(regs, RDMA_ERDMA_CFG, DISABLE),
              "ERDMA operand that EW does not take");
    if (t->kind == NPU_KIND_FLYING) {
        return npu_flying_decode(t, regs);
    }
    if (t->dpu.ew.dma) {
        REFUSE_IF(GET(regs, RDMA_FEATURE_MODE_CFG, IN_PRECISION) != precision ||
                  GET(regs, RDMA_FEATURE_MODE_CFG, PROC_PRECISION) !=
                  precision, "RDMA and DPU disagree about the precision");
        return NULL;
    }
    REFUSE_IF(!GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE),
              "RDMA feeding a convolution");
    return NULL;
}

static const char *decode_rdma(NpuTask *t, const uint32_t *regs)
{
    uint32_t use[NPU_STAGE_NUM] = {
        FIELD_EX32(regs[R_RDMA_BRDMA_CFG], RDMA_BRDMA_CFG, DATA_USE),
        FIELD_EX32(regs[R_RDMA_NRDMA_CFG], RDMA_BRDMA_CFG, DATA_USE),
    };
    const char *why;
    unsigned i;

    if (!(t->enable & NPU_ENABLE_DPU_RDMA)) {
        return NULL;
    }
    why = decode_rdma_feeds(t, regs);
    REFUSE_IF(why, why);
    if (!stage_reads(t) && t->kind == NPU_KIND_CONV) {
        return NULL;
    }
    for (i = 0; i < NPU_STAGE_NUM; i++) {
        REFUSE_IF(t->dpu.stage[i].alu_dma && use[i] != RDMA_DATA_USE_ALU,
                  "packed BS or BN operands");
    }
    REFUSE_IF(GET(regs, RDMA_DATA_CUBE_WIDTH, WIDTH) + 1 != t->dpu.width ||
              GET(regs, RDMA_DATA_CUBE_HEIGHT, HEIGHT) + 1 != t->dpu.height ||
              GET(regs, RDMA_DATA_CUBE_CHANNEL, CHANNEL) + 1 !=
              t->dpu.channels, "DPU and RDMA cubes disagree");
    return NULL;
}

static const char *decode_conv(NpuTask *t, const uint32_t *regs,
                               const NpuTaskOptions *opt)
{
    const char *why;

    why = decode_cna_modes(regs);
    REFUSE_IF(why, why);
    why = decode_mode(t, regs);
    REFUSE_IF(why, why);
    why = decode_precision(&t->conv, regs);
    REFUSE_IF(why, why);
    why = decode_geometry(&t->conv, regs);
    REFUSE_IF(why, why);
    why = decode_weights(&t->conv, regs);
    REFUSE_IF(why, why);
    why = npu_cvt_decode(&t->conv, regs);
    REFUSE_IF(why, why);
    why = decode_feature(&t->conv, regs);
    REFUSE_IF(why, why);
    why = decode_core(&t->conv, regs);
    REFUSE_IF(why, why);
    why = decode_dpu(t, regs, opt);
    REFUSE_IF(why, why);
    t->macs = (uint64_t)t->conv.out_w * t->conv.out_h * t->conv.kernels *
              t->conv.kernel_elems;
    REFUSE_IF(t->macs > NPU_TASK_MAX_MACS, "too much arithmetic");
    return decode_rdma(t, regs);
}

static const char *decode_flying(NpuTask *t, const uint32_t *regs,
                                 const NpuTaskOptions *opt)
{
    const char *why = decode_dpu(t, regs, opt);

    REFUSE_IF(why, why);
    return decode_rdma(t, regs);
}

/* Does the stage configured by @cfg wait for what @rdma_cfg does not fetch? */
static bool stage_starves(uint32_t cfg, uint32_t rdma_cfg, bool rdma)
{
    bool wants = !FIELD_EX32(cfg, DPU_BS_CFG, BYPASS) &&
                 !FIELD_EX32(cfg, DPU_BS_CFG, ALU_BYPASS) &&
                 FIELD_EX32(cfg, DPU_BS_CFG, ALU_SRC);

    return wants && !(rdma && (FIELD_EX32(rdma_cfg, RDMA_BRDMA_CFG, DATA_USE) &
                               RDMA_DATA_USE_ALU));
}

/* What leaves the DPU waiting for data on silicon as well. */
static const char *find_stall(const uint32_t *regs, uint32_t enable)
{
    bool rdma = enable & NPU_ENABLE_DPU_RDMA;

    if (!(enable & NPU_ENABLE_DPU)) {
        return NULL;
    }
    REFUSE_IF(rdma && !GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) &&
              !GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) &&
              !GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE),
              "MRDMA enabled with nothing to feed");
    REFUSE_IF(stage_starves(regs[R_DPU_BS_CFG], regs[R_RDMA_BRDMA_CFG], rdma),
              "BS waits for an operand that nothing fetches");
    REFUSE_IF(stage_starves(regs[R_DPU_BN_CFG], regs[R_RDMA_NRDMA_CFG], rdma),
              "BN waits for an operand that nothing fetches");
    REFUSE_IF(npu_ew_reads(regs) &&
              !(rdma && !GET(regs, RDMA_ERDMA_CFG, DISABLE)),
              "EW waits for an operand that nothing fetches");
    return NULL;
}

NpuVerdict npu_task_decode(NpuTask *t, const uint32_t *regs, uint32_t enable,
                           const NpuTaskOptions *opt, const char **why)
{
    const uint32_t conv = NPU_ENABLE_CNA | NPU_ENABLE_CORE | NPU_ENABLE_DPU;
    const uint32_t flying = NPU_ENABLE_DPU | NPU_ENABLE_DPU_RDMA;
    const uint32_t pool = NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA;

    memset(t, 0, sizeof(*t));
    t->enable = enable;
    *why = find_stall(regs, enable);
    if (*why) {
        return NPU_TASK_STALL;
    }
    if ((enable & ~NPU_ENABLE_DPU_RDMA) == conv) {
        t->kind = NPU_KIND_CONV;
        *why = decode_conv(t, regs, opt);
    } else if (enable == flying) {
        t->kind = NPU_KIND_FLYING;
        *why = decode_flying(t, regs, opt);
    } else if (enable == pool) {
        t->kind = NPU_KIND_POOL;
        *why = npu_ppu_decode(t, regs);
    } else {
        *why = "combination of enabled blocks";
    }
    return *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
}

bool npu_task_cbuf_short(const NpuTask *t)
{
    return t->conv.feature.cube.bytes > t->conv.data_banks * NPU_CBUF_BANK;
}

size_t npu_task_stage_bytes(const NpuTask *t, unsigned stage)
{
    return t->dpu.stage[stage].alu_dma ? t->dpu.channels * sizeof(uint32_t) : 0;
}

/* Joins rows that follow each other in the guest and in the host buffer. */
typedef struct SpanRun {
    NpuSpanFn fn;
    void *opaque;
    uint64_t iova;
    size_t offset;
    size_t len;
} SpanRun;

static bool span_flush(SpanRun *run)
{
    size_t len = run->len;

    run->len = 0;
    return !len || run->fn(run->opaque, run->iova, run->offset, len);
}

static bool span_add(SpanRun *run, uint32_t iova, size_t offset, size_t len)
{
    if (run->len && run->iova + run->len == iova &&
        run->offset + run->len == offset) {
        run->len += len;
        return true;
    }
    if (!span_flush(run)) {
        return false;
    }
    run->iova = iova;
    run->offset = offset;
    run->len = len;
    return true;
}

/* Addresses are 32 bits wide and wrap, as the registers do. */
static uint32_t feature_row(const void *what, uint32_t surface, uint32_t line)
{
    const NpuFeature *f = what;
    int64_t pos = (int64_t)(line / f->group_lines) * f->line_stride +
                  (int64_t)(line % f->group_lines) * f->dma_width +
                  surface * feature_surf_pitch(f);

    return f->base + (uint32_t)(pos * f->unit);
}

static uint32_t feed_row(const void *what, uint32_t surface, uint32_t line)
{
    const NpuFeed *f = what;
    unsigned engine = f->alternate ? surface % 2 : 0;
    uint32_t nth = f->alternate ? surface / 2 : surface;

    return f->base[engine] + nth * f->pitch[engine] + line * f->line_bytes;
}

static uint32_t output_row(const void *what, uint32_t surface, uint32_t line)
{
    const NpuOutput *o = what;

    return o->base + out_surf_offset(o, surface) + line * o->line_bytes;
}

static bool cube_spans(const void *what, const NpuCube *cube,
                       uint32_t (*row)(const void *, uint32_t, uint32_t),
                       NpuSpanFn fn, void *opaque)
{
    SpanRun run = { .fn = fn, .opaque = opaque };
    uint32_t outer_num = cube->surf_inner ? cube->height : cube->surfaces;
    uint32_t inner_num = cube->surf_inner ? cube->surfaces : cube->height;
    uint32_t outer, inner;

    for (outer = 0; outer < outer_num; outer++) {
        for (inner = 0; inner < inner_num; inner++) {
            uint32_t s = cube->surf_inner ? inner : outer;
            uint32_t h = cube->surf_inner ? outer : inner;
            size_t offset = s * cube->host_surf + h * cube->host_line;

            if (!span_add(&run, row(what, s, h), offset, cube->row_bytes)) {
                return false;
            }
        }
    }
    return span_flush(&run);
}

bool npu_task_feature_spans(const NpuTask *t, NpuSpanFn fn, void *opaque)
{
    const NpuFeature *f = &t->conv.feature;

    return cube_spans(f, &f->cube, feature_row, fn, opaque);
}

bool npu_task_feed_spans(const NpuTask *t, unsigned feed, NpuSpanFn fn,
                         void *opaque)
{
    const NpuFeed *f = &t->feed[feed];

    return cube_spans(f, &f->cube, feed_row, fn, opaque);
}

bool npu_task_output_spans(const NpuTask *t, NpuSpanFn fn, void *opaque)
{
    const NpuOutput *o = &t->dpu.out;

    return cube_spans(o, &o->cube, output_row, fn, opaque);
}

static bool compute_conv(const NpuTask *t, const NpuOperands *in,
                         uint8_t *out)
{
    return t->conv.depthwise ? npu_dwconv_run(t, in, out)
                             : npu_conv_run(t, in, out);
}

bool npu_task_compute(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    NpuOperands unpacked = *in;
    uint8_t *atoms;
    bool ok;

    if (t->kind == NPU_KIND_FLYING) {
        return npu_flying_run(t, in, out);
    }
    if (t->kind == NPU_KIND_POOL) {
        return npu_ppu_run(t, in, out);
    }
    if (!t->conv.cvt.on) {
        return compute_conv(t, in, out);
    }
    atoms = npu_cvt_unpack(&t->conv, in->feature);
    if (!atoms) {
        return false;
    }
    unpacked.feature = atoms;
    ok = compute_conv(t, &unpacked, out);
    g_free(atoms);
    return ok;
}
