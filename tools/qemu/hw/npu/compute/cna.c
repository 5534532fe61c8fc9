/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNA and CORE of an RK3588 NPU task: what their registers ask for.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "argb.h"
#include "cna.h"
#include "conv.h"
#include "core.h"
#include "cube.h"
#include "cvt.h"
#include "dcomp.h"
#include "decode.h"
#include "dwconv.h"
#include "ew.h"
#include "stage.h"

/* Padding that nobody understands beside a deconvolution by 2. */
#define MIN_ODD_PAD             12

/* Longest sum of tf32 products that silicon has been seen to finish. */
#define TF32_MAX_CHANNELS       4096

/*
 * What DATA_ENTRIES counts: half a line of CBUF.  It takes four atoms of a
 * position, two of two positions, or one of four; three take all of it.
 */
#define ENTRY_ATOMS             4

/*
 * Where the last channels of a row may begin, in entries; boards read others
 * from the wrong place (row refused.long-rows).
 */
#define MAX_ROW_ENTRIES         2047

/*
 * Kernels from this size on hang with more bytes of input channels than that,
 * or half as many of int4 (rows cna.large-kernels, cna.kernel-5x5).
 */
#define LARGE_KERNEL            7
#define LARGE_KERNEL_BITS       (128 * 8)

static const char *decode_cna_modes(const uint32_t *regs)
{
    REFUSE_IF(GET(regs, CNA_CONV_CON3, NN_MODE), "NN_MODE");
    REFUSE_IF(GET(regs, CNA_CONV_CON2, CSC_DO_EN) ||
              GET(regs, CNA_CONV_CON2, CSC_WO_EN), "CSC output disabled");
    REFUSE_IF(GET(regs, CNA_DATA_SIZE3, SURF_MODE) > 1, "SURF_MODE");
    REFUSE_IF(GET(regs, CNA_FC_CON0, FC_SKIP_EN), "FC zero skipping");
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

static const char *decode_precision(NpuTask *t, const uint32_t *regs)
{
    /* Groups of the weight stream; partial ones of all are compact. */
    static const struct {
        uint8_t bits, channel_group, kernel_group, depthwise_group;
    } format[NPU_PREC_TF32 + 1] = {
        [NPU_PREC_INT4] = { 4, 32, 64, 0 },
        [NPU_PREC_INT8] = { 8, 32, 32, 64 },
        [NPU_PREC_INT16] = { 16, 32, 16, 0 },
        [NPU_PREC_FP16] = { 16, 32, 16, 32 },
        [NPU_PREC_BF16] = { 16, 32, 16, 0 },
        [NPU_PREC_TF32] = { 32, 16, 16, 0 },
    }, *f;
    NpuConv *c = &t->conv;
    uint8_t dpu;

    c->precision = GET(regs, CNA_CONV_CON1, IN_PRECISION);
    dpu = npu_cna_dpu_precision(c);
    REFUSE_IF(GET(regs, CNA_CONV_CON1, PROC_PRECISION) != c->precision ||
              GET(regs, CORE_MISC_CFG, PROC_PRECISION) != c->precision ||
              GET(regs, DPU_DATA_FORMAT, PROC_PRECISION) != dpu ||
              GET(regs, DPU_DATA_FORMAT, IN_PRECISION) != dpu,
              "blocks disagree about the precision");
    f = &format[c->precision];
    REFUSE_IF(!f->bits, "input precision");
    REFUSE_IF(c->depthwise && !f->depthwise_group,
              "depthwise convolution of this precision");
    c->bits = f->bits;
    c->channel_group = f->channel_group;
    c->kernel_group = c->depthwise ? f->depthwise_group : f->kernel_group;
    /* Rows cna.rk3568-weights, cna.rk3562-weights. */
    if (t->encoding != NPU_ENCODING_RK3588) {
        c->kernel_group /= 2;
    }
    if (c->bits > 8) {
        c->channel_group = c->channel_group * t->dpu.atom / NPU_ATOM;
    }
    return NULL;
}

/* The DPU has no code for tf32, and takes what CORE makes of it. */
uint8_t npu_cna_dpu_precision(const NpuConv *c)
{
    return c->precision == NPU_PREC_TF32 ? NPU_PREC_FP32 : c->precision;
}

/* Pairs that somebody has run on silicon. */
static bool output_known(uint8_t in, uint8_t out)
{
    switch (in) {
    case NPU_PREC_INT8:
        return out == NPU_PREC_INT8 || out == NPU_PREC_INT32 ||
               out == NPU_PREC_FP32;
    case NPU_PREC_INT4:
        return out == NPU_PREC_INT16;
    case NPU_PREC_INT16:
        return out == NPU_PREC_INT32;
    default:
        return out == in || out == NPU_PREC_FP32;
    }
}

const char *npu_cna_check_output(const NpuTask *t, const uint32_t *regs)
{
    const NpuConv *c = &t->conv;
    uint8_t out = GET(regs, DPU_DATA_FORMAT, OUT_PRECISION);

    REFUSE_IF(!output_known(c->precision, out),
              "output precision for this input precision");
    /* Boards wrote one tile of int16 results only (row refused.int16). */
    REFUSE_IF(c->precision == NPU_PREC_INT16 &&
              (c->out_w * c->out_h != 1 || c->kernels > c->kernel_group),
              "int16 beyond one position and one kernel group");
    REFUSE_IF(c->precision == NPU_PREC_INT16 &&
              !GET(regs, CORE_MISC_CFG, QD_EN), "int16 without QD_EN");
    REFUSE_IF(npu_ew_reads(regs) && c->precision != NPU_PREC_INT8 &&
              c->precision != NPU_PREC_FP16,
              "EW operands for a convolution of this precision");
    return NULL;
}

/* Bits of input channels that a large kernel may have; 0: any number. */
static uint32_t large_kernel_bits(const uint32_t *regs)
{
    if (GET(regs, CNA_CONV_CON1, CONV_MODE) != NPU_MODE_DIRECT ||
        GET(regs, CNA_WEIGHT_SIZE2, WIDTH) < LARGE_KERNEL ||
        GET(regs, CNA_WEIGHT_SIZE2, HEIGHT) < LARGE_KERNEL) {
        return 0;
    }
    switch (GET(regs, CNA_CONV_CON1, IN_PRECISION)) {
    case NPU_PREC_INT8:
        return 0;
    case NPU_PREC_INT4:
        return LARGE_KERNEL_BITS / 2;
    default:
        return LARGE_KERNEL_BITS;
    }
}

static uint32_t bits_of(uint32_t precision)
{
    return precision == NPU_PREC_INT4 ? 4 :
           precision == NPU_PREC_TF32 ? 32 : 16;
}

const char *npu_cna_find_stall(const uint32_t *regs)
{
    uint32_t in = GET(regs, CNA_CONV_CON1, IN_PRECISION);
    uint32_t out = GET(regs, DPU_DATA_FORMAT, OUT_PRECISION);
    uint32_t limit = large_kernel_bits(regs);

    REFUSE_IF(limit && GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL) *
                       bits_of(in) > limit,
              "too many channels for a kernel of 7x7 or more");
    REFUSE_IF(in == NPU_PREC_INT8 && out == NPU_PREC_INT16,
              "int16 output of int8");
    REFUSE_IF(in == NPU_PREC_TF32 &&
              GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL) > TF32_MAX_CHANNELS,
              "too many channels of tf32");
    return NULL;
}

/* Of the eight values three were seen to do something (gregordinary). */
static uint32_t spread_of(uint32_t field)
{
    return field == 1 || field == 3 || field == 7 ? field + 1 : 1;
}

/*
 * A deconvolution is a convolution of an input that is spread; the stride
 * fields do nothing without its bit.
 */
static const char *decode_deconv(NpuConv *c, const uint32_t *regs)
{
    uint32_t pad = MAX(GET(regs, CNA_PAD_CON0, PAD_LEFT),
                       GET(regs, CNA_PAD_CON0, PAD_TOP));

    c->spread_x = c->spread_y = 1;
    if (!GET(regs, CNA_CONV_CON1, DECONV)) {
        return NULL;
    }
    c->spread_x = spread_of(GET(regs, CNA_CONV_CON3, DECONV_X_STRIDE));
    c->spread_y = spread_of(GET(regs, CNA_CONV_CON3, DECONV_Y_STRIDE));
    c->deconv = c->spread_x > 1 || c->spread_y > 1;
    if (!c->deconv) {
        return NULL;
    }
    REFUSE_IF(GET(regs, CNA_CONV_CON1, ARGB_IN),
              "deconvolution of packed pixels");
    REFUSE_IF(GET(regs, CNA_CONV_CON3, CONV_X_STRIDE) != 1 ||
              GET(regs, CNA_CONV_CON3, CONV_Y_STRIDE) != 1 ||
              GET(regs, CNA_CONV_CON3, ATROUS_X) ||
              GET(regs, CNA_CONV_CON3, ATROUS_Y),
              "deconvolution with strides or dilation");
    /* Boards compute something else then, only where 2 is the spread. */
    REFUSE_IF(pad >= MIN_ODD_PAD && (c->spread_x == 2 || c->spread_y == 2),
              "deconvolution by 2 with padding above 11");
    return NULL;
}

static const char *decode_geometry(NpuConv *c, const uint32_t *regs,
                                   uint32_t atom)
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
    /* Narrow types take the low bits (row cna.pad-types). */
    c->pad_value = regs[R_CNA_PAD_CON1];

    REFUSE_IF(!c->in_w || !c->in_h || !c->in_c || !c->out_w,
              "empty input or output");
    REFUSE_IF(c->in_c * c->bits % (atom * 8), "channels do not fill atoms");
    c->pad_channels = c->in_c;
    REFUSE_IF(GET(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL_REAL) >= c->in_c,
              "more real than aligned channels");
    REFUSE_IF(GET(regs, CORE_DATAOUT_SIZE_0, WIDTH) + 1 != c->out_w ||
              (uint64_t)c->out_w * c->out_h != atomics,
              "CNA and CORE disagree about the output size");
    return decode_deconv(c, regs);
}

/*
 * Channels with which the last group of an entry is stored.  Rockchip's
 * compilers store three atoms as four; what the fourth has is taken not to
 * count.  Mesa announces three as three, and is believed.
 */
static uint32_t padded_channels(const NpuConv *c, uint32_t atom)
{
    uint32_t per_atom = atom * 8 / c->bits;
    uint32_t group = c->depthwise ? c->kernel_group : c->channel_group;
    uint32_t rest = c->in_c % group / per_atom;

    return c->in_c + (rest == ENTRY_ATOMS - 1 ? per_atom : 0);
}

static const char *decode_kernel_size(NpuConv *c, const uint32_t *regs,
                                      uint32_t atom)
{
    uint64_t bytes = GET(regs, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL);
    uint64_t channel = (uint64_t)c->k_w * c->k_h * c->bits;

    c->stored_c = padded_channels(c, atom);
    if (channel * c->stored_c != bytes * 8) {
        c->stored_c = c->in_c;
    }
    REFUSE_IF(channel * c->stored_c != bytes * 8,
              "bytes per kernel do not match its shape");
    return NULL;
}

/*
 * Halves may be stored with their last group filled; the DPU drops what comes
 * of that (row cna.kernels-stored).
 */
static uint32_t stored_kernels(const NpuConv *c, const uint32_t *regs)
{
    uint32_t full = ROUND_UP(c->kernels, c->kernel_group);
    uint64_t bytes = GET(regs, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL);

    return c->precision == NPU_PREC_FP16 && !c->depthwise &&
           full * bytes == regs[R_CNA_WEIGHT_SIZE0] ? full : c->kernels;
}

static const char *decode_weights(NpuConv *c, const uint32_t *regs,
                                  uint32_t atom)
{
    const char *why;
    uint64_t total;

    c->k_w = GET(regs, CNA_WEIGHT_SIZE2, WIDTH);
    c->k_h = GET(regs, CNA_WEIGHT_SIZE2, HEIGHT);
    c->kernels = GET(regs, CNA_WEIGHT_SIZE2, KERNELS);
    c->kernel_elems = c->k_w * c->k_h * c->in_c;
    REFUSE_IF(!c->kernel_elems || !c->kernels, "empty kernels");
    REFUSE_IF(c->depthwise && c->kernels != 1, "depthwise kernels but one");
    /* Partial groups of nibbles have never been seen. */
    REFUSE_IF(c->precision == NPU_PREC_INT4 && c->kernels % c->kernel_group,
              "int4 kernels that do not fill their group");
    REFUSE_IF(c->precision == NPU_PREC_TF32 &&
              c->kernel_elems > TF32_MAX_CHANNELS, "long sums of tf32");
    why = decode_kernel_size(c, regs, atom);
    REFUSE_IF(why, why);
    c->kernels = stored_kernels(c, regs);
    total = (uint64_t)c->kernels * GET(regs, CNA_WEIGHT_SIZE1,
                                       BYTES_PER_KERNEL);
    REFUSE_IF(total != regs[R_CNA_WEIGHT_SIZE0],
              "weight bytes do not match the kernels");
    REFUSE_IF(total > NPU_TASK_MAX_WEIGHTS, "too many weights");
    c->weight_bytes = total;
    c->weights = npu_dma_addr(regs, regs[R_CNA_DCOMP_ADDR0]);
    c->weight_reuse = GET(regs, CNA_CBUF_CON0, WEIGHT_REUSE);
    c->data_banks = GET(regs, CNA_CBUF_CON0, DATA_BANK);
    c->read_bank = GET(regs, CNA_CBUF_CON0, FC_DATA_BANK);
    c->weight_banks = GET(regs, CNA_CBUF_CON0, WEIGHT_BANK);
    c->data_entries = GET(regs, CNA_CBUF_CON1, DATA_ENTRIES);
    c->data_reuse = GET(regs, CNA_CBUF_CON0, DATA_REUSE);
    return npu_dcomp_decode(c, regs);
}

/* A narrow line of packed pixels is counted in atoms. */
static const char *decode_pixels(NpuConv *c, uint32_t atom)
{
    NpuFeature *f = &c->feature;
    uint32_t pixel = c->packed * c->bits / 8;

    f->unit = atom == NPU_ATOM ? pixel : atom;
    REFUSE_IF(!npu_cube_init(&f->cube, 1, c->in_h, (uint64_t)c->in_w * pixel,
                             false), "too much feature data");
    c->pad_channels = atom == NPU_ATOM ? c->in_c : c->packed;
    return NULL;
}

static const char *decode_feature(NpuConv *c, const uint32_t *regs,
                                  uint32_t atom)
{
    NpuFeature *f = &c->feature;
    uint32_t surfaces = c->in_c * c->bits / (atom * 8);
    const char *why = NULL;
    bool inner;

    f->base = npu_dma_addr(regs, regs[R_CNA_FEATURE_DATA_ADDR]);
    f->group_lines = GET(regs, CNA_CONV_CON1, GROUP_LINE_OFF) ? 1 : 4;
    f->dma_width = GET(regs, CNA_FC_DATA_SIZE0, DMA_WIDTH);
    f->line_stride = GET(regs, CNA_DMA_CON1, LINE_STRIDE);
    f->surf_stride = sextract32(regs[R_CNA_DMA_CON2], 0, 28);
    /*
     * Lines may be longer than the DMA's width: Mesa announces 16 packed
     * pixels where lines of memory have them, and doubles a width of 8 before
     * an addition.  The DMA then reads on (row cna.dma-width).
     */
    inner = npu_feature_surf_pitch(f) == c->in_w && !c->packed;
    REFUSE_IF(!npu_cube_init(&f->cube, surfaces, c->in_h,
                             (uint64_t)c->in_w * atom, inner),
              "too much feature data");
    c->atoms = f->cube;
    REFUSE_IF(atom != NPU_ATOM &&
              !npu_cube_init(&c->atoms, DIV_ROUND_UP(surfaces * atom, NPU_ATOM),
                             c->in_h, (uint64_t)c->in_w * NPU_ATOM, false),
              "too much feature data");
    REFUSE_IF(!c->packed && (DIV_ROUND_UP(surfaces, 4) - 1) * c->in_w >
                            MAX_ROW_ENTRIES, "rows too long for CBUF");
    f->unit = atom;
    if (c->packed) {
        why = decode_pixels(c, atom);
        REFUSE_IF(why, why);
    }
    REFUSE_IF(c->cvt.on && !c->packed && atom != NPU_ATOM,
              "input converter but of packed pixels");
    f->cube.converted = c->cvt.on || c->packed;
    return NULL;
}

/*
 * Int32 results next to CPEND: Rockchip's runtime has them with QD_EN, with an
 * operand of 0 and without DPU_RDMA.  gregordinary, who enabled DPU_RDMA, saw
 * nothing but wrong ones, whatever the operand.  This is where both are right.
 */
static const char *check_cpend_int32(const NpuTask *t, const uint32_t *regs)
{
    if (t->conv.depthwise ||
        GET(regs, DPU_DATA_FORMAT, OUT_PRECISION) != NPU_PREC_INT32) {
        return NULL;
    }
    REFUSE_IF(t->enable & NPU_ENABLE_DPU_RDMA,
              "CPEND with int32 output beside DPU_RDMA");
    REFUSE_IF(t->conv.cpend, "CPEND operand with int32 output");
    REFUSE_IF(!GET(regs, CORE_MISC_CFG, QD_EN),
              "CPEND with int32 output without QD_EN");
    return NULL;
}

/*
 * CPEND adds its operand to every weight, of integers alone: gregordinary's
 * fp16 depthwise programs have 128 there and are exact on boards.
 */
static const char *decode_cpend(NpuTask *t, const uint32_t *regs)
{
    NpuConv *c = &t->conv;
    bool dma = GET(regs, DPU_BS_OW_CFG, OW_SRC);

    if (GET(regs, DPU_BS_OW_CFG, OD_BYPASS)) {
        return NULL;
    }
    if (npu_conv_is_float(c)) {
        REFUSE_IF(dma && !npu_stage_skips_cpend(regs, t->enable &
                                                NPU_ENABLE_DPU_RDMA),
                  "CPEND operands in memory with floats");
        return NULL;
    }
    c->zero_point = dma ? 0 : sextract32(regs[R_DPU_BS_OW_OP], 0, 16);
    c->cpend = dma || c->zero_point;
    REFUSE_IF(c->cpend && !GET(regs, CORE_MISC_CFG, QD_EN),
              "CPEND without QD_EN");
    return check_cpend_int32(t, regs);
}

static const char *decode_core(NpuTask *t, const uint32_t *regs)
{
    NpuConv *c = &t->conv;

    c->truncate = GET(regs, CORE_CLIP_TRUNCATE, CLIP_TRUNCATE);
    c->truncate_up = GET(regs, CORE_CLIP_TRUNCATE, ROUND_TYPE);
    REFUSE_IF(c->truncate && npu_conv_is_float(c),
              "CLIP_TRUNCATE with floats");
    return decode_cpend(t, regs);
}

const char *npu_cna_decode(NpuTask *t, const uint32_t *regs)
{
    uint32_t atom = t->dpu.atom;
    const char *why;

    why = decode_cna_modes(regs);
    REFUSE_IF(why, why);
    why = decode_mode(t, regs);
    REFUSE_IF(why, why);
    why = decode_precision(t, regs);
    REFUSE_IF(why, why);
    why = decode_geometry(&t->conv, regs, atom);
    REFUSE_IF(why, why);
    why = decode_weights(&t->conv, regs, atom);
    REFUSE_IF(why, why);
    why = npu_cvt_decode(&t->conv, regs);
    REFUSE_IF(why, why);
    why = decode_feature(&t->conv, regs, atom);
    REFUSE_IF(why, why);
    return decode_core(t, regs);
}

/*
 * A kernel has to be in CBUF as a whole, not all of them, unless a later task
 * is to find them there.
 */
const char *npu_task_cbuf_short(const NpuTask *t)
{
    const NpuConv *c = &t->conv;
    size_t weights = c->weight_reuse ? c->weight_bytes
                                     : c->weight_bytes / MAX(c->kernels, 1);

    if (t->kind != NPU_KIND_CONV) {
        return NULL;
    }
    if (c->windows) {
        return c->window_short;
    }
    REFUSE_IF(c->data_banks + c->weight_banks > NPU_CBUF_BANKS,
              "more banks than CBUF has");
    REFUSE_IF(c->read_bank, "feature data is read behind its first bank");
    REFUSE_IF(c->feature.cube.bytes > c->data_banks * NPU_CBUF_BANK_BYTES,
              "feature data exceeds its banks");
    REFUSE_IF(weights > c->weight_banks * NPU_CBUF_BANK_BYTES,
              "weights exceed their banks");
    return NULL;
}

uint32_t npu_task_cbuf_entries(const NpuTask *t)
{
    const NpuConv *c = &t->conv;
    uint32_t atoms = c->in_c * c->bits / (t->dpu.atom * 8);
    uint32_t rest = atoms % ENTRY_ATOMS;
    uint32_t share = rest == ENTRY_ATOMS - 1 ? ENTRY_ATOMS : rest;

    return atoms / ENTRY_ATOMS * c->in_w +
           DIV_ROUND_UP(c->in_w * share, ENTRY_ATOMS);
}

bool npu_task_cbuf_entries_usual(const NpuTask *t)
{
    const NpuConv *c = &t->conv;
    uint32_t atoms = c->in_c * c->bits / (t->dpu.atom * 8);

    return c->packed || c->windows ||
           c->data_entries == npu_task_cbuf_entries(t) ||
           c->data_entries == DIV_ROUND_UP(c->in_w * atoms, ENTRY_ATOMS);
}

static bool convolve(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    return t->conv.depthwise ? npu_dwconv_run(t, in, out)
                             : npu_conv_run(t, in, out);
}

bool npu_cna_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    NpuOperands unpacked = *in;
    uint8_t *atoms, *weights = NULL;
    bool ok;

    if (!t->conv.cvt.on && !t->conv.packed) {
        return convolve(t, in, out);
    }
    atoms = npu_cvt_run(&t->conv, in->feature);
    ok = atoms;
    if (ok && t->conv.packed_weights) {
        weights = npu_argb_weights(&t->conv, in->weights);
        unpacked.weights = weights;
        ok = weights;
    }
    unpacked.feature = atoms;
    ok = ok && convolve(t, &unpacked, out);
    g_free(atoms);
    g_free(weights);
    return ok;
}
