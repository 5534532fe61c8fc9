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

/* MINUS_EXP scales floats, and was seen to do nothing to integers. */
static const char *check_float_cvt(const NpuDpu *d)
{
    if (d->cvt_codes) {
        REFUSE_IF(!d->cvt_offset_first || d->cvt_shift,
                  "OUT_CVT of LUT codes but by offset first and MINUS_EXP");
        return NULL;
    }
    REFUSE_IF(d->cvt_offset || d->cvt_scale != 1 || d->cvt_shift,
              "OUT_CVT arithmetic with floats");
    REFUSE_IF(d->cvt_minus_exp && !d->cvt_offset_first,
              "MINUS_EXP of a converter that multiplies first");
    return NULL;
}

static const char *decode_out_cvt(NpuDpu *d, const uint32_t *regs)
{
    bool to_half = GET(regs, DPU_OUT_CVT_SCALE, FP32TOFP16_EN);

    d->cvt_offset = regs[R_DPU_OUT_CVT_OFFSET];
    /* Signed: measured on RK3588 with 0x8000. */
    d->cvt_scale = (int16_t)GET(regs, DPU_OUT_CVT_SCALE, SCALE);
    d->cvt_shift = GET(regs, DPU_OUT_CVT_SHIFT, SHIFT);
    d->cvt_away = GET(regs, DPU_OUT_CVT_SHIFT, CVT_ROUND);
    d->cvt_offset_first = GET(regs, DPU_OUT_CVT_SHIFT, CVT_TYPE);
    d->cvt_minus_exp = GET(regs, DPU_OUT_CVT_SHIFT, MINUS_EXP);
    d->cvt_codes = d->ew.lut && d->is_float;
    if (d->is_float) {
        REFUSE_IF(to_half != (d->out_bytes == 2),
                  "FP32TOFP16_EN against the output precision");
        return check_float_cvt(d);
    }
    REFUSE_IF(to_half, "FP32TOFP16_EN with integers");
    REFUSE_IF(d->cvt_shift > 63, "OUT_CVT shift above 63");
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
    case NPU_PREC_INT16:
        d->out_bytes = 2;
        REFUSE_IF(d->is_float, "integer output of floats");
        REFUSE_IF(d->precision == NPU_PREC_INT8, "int16 output of bytes");
        return NULL;
    case NPU_PREC_FP16:
        d->out_bytes = 2;
        REFUSE_IF(!d->is_float, "half float output of integers");
        return NULL;
    case NPU_PREC_BF16:
        d->out_bytes = 2;
        REFUSE_IF(d->precision != NPU_PREC_BF16, "bf16 output but of bf16");
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

static const char *decode_output(NpuTask *t, const uint32_t *regs,
                                 const NpuTaskOptions *opt)
{
    NpuDpu *d = &t->dpu;
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
    if (t->pool.from_dpu) {
        /* Strides are for memory; on the way to the PPU there is none. */
        REFUSE_IF(!npu_cube_init(&o->cube, DIV_ROUND_UP(d->channels, per_surf),
                                 d->height, (uint64_t)d->width * NPU_ATOM,
                                 false), "too much output");
        return NULL;
    }
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
    REFUSE_IF(GET(regs, DPU_FEATURE_MODE_CFG, OUTPUT_MODE) !=
              (t->pool.from_dpu ? NPU_OUTPUT_TO_PPU : NPU_OUTPUT_TO_MEMORY),
              "DPU output against the enabled blocks, or to both sides");
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
    t->dpu.precision = npu_cna_dpu_precision(&t->conv);
    t->dpu.is_float = npu_cna_is_float(&t->conv);
    return npu_cna_check_output(t, regs);
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
    REFUSE_IF(!t->pool.from_dpu &&
              (GET(regs, DPU_WDMA_SIZE_0, CHANNEL) + 1 != d->channels ||
               GET(regs, DPU_WDMA_SIZE_1, WIDTH) + 1 != d->width ||
               GET(regs, DPU_WDMA_SIZE_1, HEIGHT) + 1 != d->height),
              "DPU cube and its write DMA disagree");
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

static bool stage_reads(const NpuTask *t)
{
    return t->dpu.stage[NPU_STAGE_BS].use || t->dpu.stage[NPU_STAGE_BN].use ||
           t->dpu.ew.dma;
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
    const char *why;

    if (!(t->enable & NPU_ENABLE_DPU_RDMA)) {
        return NULL;
    }
    why = decode_rdma_feeds(t, regs);
    REFUSE_IF(why, why);
    if (!stage_reads(t) && t->kind == NPU_KIND_CONV) {
        return NULL;
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

    why = npu_cna_decode(t, regs);
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

/* What leaves the DPU waiting for data on silicon as well. */
static const char *find_stall(const uint32_t *regs, uint32_t enable,
                              const NpuTaskOptions *opt)
{
    bool rdma = enable & NPU_ENABLE_DPU_RDMA;
    const char *why;

    why = enable & NPU_ENABLE_PPU_RDMA ? npu_ppu_find_stall(regs) : NULL;
    REFUSE_IF(why, why);
    if (!(enable & NPU_ENABLE_DPU)) {
        return NULL;
    }
    why = enable & NPU_ENABLE_CNA ? npu_cna_find_stall(regs) : NULL;
    REFUSE_IF(why, why);
    REFUSE_IF(rdma && !GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) &&
              !GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) &&
              !GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE),
              "MRDMA enabled with nothing to feed");
    why = npu_stage_stall(regs, rdma);
    REFUSE_IF(why, why);
    REFUSE_IF((enable & NPU_ENABLE_PPU_RDMA) && !opt->idle_ppu_rdma,
              "PPU_RDMA enabled with nothing to feed");
    REFUSE_IF(npu_ew_reads(regs) &&
              !(rdma && !GET(regs, RDMA_ERDMA_CFG, DISABLE)),
              "EW waits for an operand that nothing fetches");
    /* A public report, of columns alone; of wider cubes there is none. */
    REFUSE_IF(npu_ew_reads(regs) &&
              !GET(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE) &&
              GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) &&
              !GET(regs, DPU_DATA_CUBE_WIDTH, WIDTH),
              "ERDMA alone beside a CORE for a column");
    return NULL;
}

/* The blocks that make up a task, but for the PPU behind a DPU. */
static const char *decode_blocks(NpuTask *t, const uint32_t *regs,
                                 uint32_t enable, const NpuTaskOptions *opt)
{
    const uint32_t conv = NPU_ENABLE_CNA | NPU_ENABLE_CORE | NPU_ENABLE_DPU;

    if ((enable & ~NPU_ENABLE_DPU_RDMA) == conv) {
        t->kind = NPU_KIND_CONV;
        return decode_conv(t, regs, opt);
    }
    if (enable == (NPU_ENABLE_DPU | NPU_ENABLE_DPU_RDMA)) {
        t->kind = NPU_KIND_FLYING;
        return decode_flying(t, regs, opt);
    }
    if (enable == (NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA)) {
        t->kind = NPU_KIND_POOL;
        return npu_ppu_decode(t, regs);
    }
    return "combination of enabled blocks";
}

NpuVerdict npu_task_decode(NpuTask *t, const uint32_t *regs, uint32_t enable,
                           const NpuTaskOptions *opt, const char **why)
{
    const uint32_t pool = NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA;

    memset(t, 0, sizeof(*t));
    t->enable = enable;
    *why = find_stall(regs, enable, opt);
    if (*why) {
        return NPU_TASK_STALL;
    }
    t->pool.from_dpu = (enable & NPU_ENABLE_DPU) && (enable & NPU_ENABLE_PPU);
    *why = decode_blocks(t, regs, t->pool.from_dpu ? enable & ~pool : enable,
                         opt);
    if (!*why && t->pool.from_dpu) {
        *why = npu_ppu_decode(t, regs);
    }
    return *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
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
                  surface * npu_feature_surf_pitch(f);

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

static bool compute_dpu(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    return t->kind == NPU_KIND_FLYING ? npu_flying_run(t, in, out)
                                      : npu_cna_run(t, in, out);
}

/* What goes from the DPU to the PPU never sees memory. */
static bool compute_both(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    NpuOperands pooled = { .cancel = in->cancel };
    NpuTask *dpu = g_try_malloc(sizeof(*dpu));
    uint8_t *mid = g_try_malloc(t->pool.from.bytes);
    bool ok = dpu && mid;

    if (ok) {
        *dpu = *t;
        dpu->dpu.out.cube = t->pool.from;
        pooled.feed[NPU_FEED_MAIN] = mid;
        ok = compute_dpu(dpu, in, mid) && npu_ppu_run(t, &pooled, out);
    }
    g_free(mid);
    g_free(dpu);
    return ok;
}

bool npu_task_compute(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    if (t->kind == NPU_KIND_POOL) {
        return npu_ppu_run(t, in, out);
    }
    return t->pool.from_dpu ? compute_both(t, in, out)
                            : compute_dpu(t, in, out);
}
