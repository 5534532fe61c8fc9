/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNA and CORE of the RK3576 NPU: what their registers ask for.
 *
 * Sizes are stored less 1, features and weights of both cores share one CBUF,
 * of which each program has a window, and a bias, a zero point and a factor
 * per channel come with the DPU's operands.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "argb.h"
#include "cube.h"
#include "numeric.h"
#include "rk3576_conv.h"
#include "rk3576_regs.h"

#define BANK_GRANULES   (RK3576_CBUF_BANK_BYTES / RK3576_CBUF_GRANULE_BYTES)
#define GRANULE_ATOMS   (RK3576_CBUF_GRANULE_BYTES / NPU_ATOM)

/* ARGB_IN: this many packed channels more than one. */
#define ARGB_IN_ONE     8
#define ARGB_IN_FOUR    11
/* CBUF has a pixel in four lanes. */
#define PIXEL_LANES     4
#define TIGHT_KERNELS   16

/* What differs (row soc.rv1126b-encoding). */
typedef struct ConvChip {
    uint32_t banks;
    uint32_t grains;
} ConvChip;

static const ConvChip rk3576 = { RK3576_CBUF_BANKS, 0xfff };
static const ConvChip rv1126b = { RK3576_RV1126B_CBUF_BANKS, 0x3fff };

static const char *decode_mode(NpuTask *t, const uint32_t *regs)
{
    NpuConv *c = &t->conv;
    uint32_t mode = GET76(regs, CNA_CONV_CON1, CONV_MODE);
    uint32_t precision = GET76(regs, CNA_CONV_CON1, IN_PRECISION);
    uint32_t argb = GET76(regs, CNA_CONV_CON1, ARGB_IN);
    bool half = precision == NPU_PREC_FP16;

    c->int4_weights = GET76(regs, CNA_CONV_CON1, INT4_WEIGHTS);
    REFUSE_IF(c->int4_weights && (!half || mode != RK3576_MODE_DIRECT),
              "int4 weights but of products with halves");
    /* Of int4 weights some programs have GROUP_LINE_OFF, and some not. */
    c->product = c->int4_weights ||
                 (half && mode == RK3576_MODE_DIRECT && !argb &&
                  GET76(regs, CNA_CONV_CON1, GROUP_LINE_OFF));
    REFUSE_IF(mode > RK3576_MODE_ARGB_FLOAT &&
              (half || mode != RK3576_MODE_ARGB), "CNA convolution mode");
    REFUSE_IF(precision != NPU_PREC_INT8 && !half, "input precision");
    c->depthwise = mode == RK3576_MODE_DEPTHWISE;
    if (mode != RK3576_MODE_DIRECT && !c->depthwise) {
        c->packed = argb - ARGB_IN_ONE + 1;
        c->packed_tight = !half && mode == RK3576_MODE_ARGB_FLOAT;
        REFUSE_IF(argb < ARGB_IN_ONE || argb > ARGB_IN_FOUR, "ARGB_IN");
    }
    REFUSE_IF(!!argb != !!c->packed ||
              (GET76(regs, CNA_CONV_CON1, GROUP_LINE_OFF) != !!c->packed &&
               !c->product),
              "packed pixels, or lines without groups");
    REFUSE_IF(GET76(regs, CORE_MISC, DW) != (c->depthwise ? RK3576_DW_ON
                                                          : RK3576_DW_OFF) ||
              GET76(regs, DPU_FEATURE_MODE, CONV_MODE) != c->depthwise,
              "blocks disagree about the convolution mode");
    REFUSE_IF(GET76(regs, CNA_CONV_CON1, PROC_PRECISION) != precision ||
              GET76(regs, CNA_CONV_CON1, FLOAT) != half ||
              GET76(regs, CORE_MISC, PROC_PRECISION) != precision,
              "blocks disagree about the precision");
    /* Compilers clear it for floats, and for all that is depthwise. */
    REFUSE_IF(GET76(regs, CORE_MISC, QD_EN) != !(half || c->depthwise) ||
              GET76(regs, CORE_MISC, ARGB) != !!c->packed ||
              !GET76(regs, CORE_MISC, ON),
              "CORE mode");
    c->precision = precision;
    c->bits = half ? 16 : 8;
    return NULL;
}

/* How weights lie (row cna.rk3576-weights). */
static void set_groups(NpuConv *c)
{
    bool half = c->precision == NPU_PREC_FP16;

    c->channel_group = 32;
    if (c->depthwise) {
        c->kernel_group = half ? 32 : 64;
        c->dw_pairs = !half;
    } else {
        c->kernel_group = half ? 16 : 32;
    }
}

static const char *decode_geometry(NpuConv *c, const uint32_t *regs,
                                   const ConvChip *chip)
{
    uint32_t channels = GET76(regs, CNA_DMA_CHANNEL, REAL) + 1;

    c->k_w = GET76(regs, CNA_WEIGHT_SIZE2, WIDTH) + 1;
    c->k_h = GET76(regs, CNA_WEIGHT_SIZE2, HEIGHT) + 1;
    c->in_w = GET76(regs, CNA_DATA_SIZE0, WIDTH) + 1;
    c->in_h = GET76(regs, CNA_DATA_SIZE0, HEIGHT) + 1;
    c->in_c = ROUND_UP(channels, NPU_ATOM_BITS / c->bits);
    c->out_w = GET76(regs, CNA_DATA_SIZE2, OUT_WIDTH) + 1;
    c->out_h = GET76(regs, CORE_SIZE0, HEIGHT) + 1;
    c->stride_x = GET76(regs, CNA_CONV_CON3, CONV_X_STRIDE);
    c->stride_y = GET76(regs, CNA_CONV_CON3, CONV_Y_STRIDE);
    c->step_x = c->step_y = 1;
    c->spread_x = c->spread_y = 1;
    c->pad_left = GET76(regs, CNA_PAD_CON0, LEFT);
    c->pad_top = GET76(regs, CNA_PAD_CON0, TOP);
    /* Compilers write a byte with its sign, of depthwise ones as well. */
    c->pad_value = c->bits == 8 ? (uint8_t)regs[R_RK3576_CNA_PAD_CON1] * 0x101
                                : regs[R_RK3576_CNA_PAD_CON1];
    REFUSE_IF(!c->stride_x || !c->stride_y, "stride of 0");
    REFUSE_IF(GET76(regs, CNA_DATA_SIZE1, CHANNEL) + 1 !=
              (npu_argb_by_rows(c) ? PIXEL_LANES * c->k_w : channels) ||
              (c->packed && c->packed != channels),
              "CNA and its DMA disagree about the channels");
    REFUSE_IF(GET76(regs, CORE_SIZE0, WIDTH) + 1 != c->out_w ||
              (uint64_t)c->out_w * c->out_h !=
              (uint64_t)GET76(regs, CNA_DATA_SIZE3, OUT_ATOMICS) + 1,
              "CNA and CORE disagree about the output size");
    REFUSE_IF(GET76(regs, CNA_CONV_CON2, GRAINS) != chip->grains, "CONV_CON2");
    return NULL;
}

/*
 * What boards have been seen to compute: with 4-bit weights rows that are one
 * line, with halves rows that follow each other in memory, of channels that
 * fill groups (rows cna.rk3576-int4, cna.rk3576-product).
 */
static const char *check_product(const NpuConv *c, const uint32_t *regs)
{
    uint32_t first = GET76(regs, CNA_CBUF_ROW, START);
    const uint32_t *product = &regs[RK3576_PRODUCT / 4];
    unsigned i;

    REFUSE_IF(c->in_w != c->out_w || c->in_h != c->out_h || c->k_w > 1 ||
              c->k_h > 1 || c->stride_x > 1 || c->stride_y > 1 ||
              regs[R_RK3576_CNA_PAD_CON0], "product of halves with windows");
    REFUSE_IF(c->int4_weights && c->in_h > 1,
              "int4 weights but of rows in one line");
    REFUSE_IF(!c->int4_weights && c->in_w > 1,
              "product of halves but of rows in a column");
    REFUSE_IF(GET76(regs, CNA_CONV_CON3, PAIR) ||
              GET76(regs, CNA_CBUF_WEIGHT, FENCE) ||
              GET76(regs, CNA_CBUF_WEIGHT, CONTINUES),
              "product of halves in a task of several");
    REFUSE_IF(c->in_w > 1 && c->in_w % 2,
              "int4 weights for an odd number of rows");
    REFUSE_IF(c->in_c % NPU_CHANNEL_GROUP,
              "product of halves whose channels do not fill groups");
    for (i = 0; i < RK3576_PRODUCT_WORDS; i++) {
        uint32_t usual = i == 2 ? first << 16 : i == 4 ? first / 128 : 0;

        REFUSE_IF(product[i] != usual,
                  "registers of products against the window of CBUF");
    }
    return NULL;
}

/* Windows end where the padding that is named ends, or before. */
static const char *check_window(const NpuConv *c, const uint32_t *regs)
{
    uint32_t bottom = GET76(regs, CNA_PAD_CON0, BOTTOM);
    uint32_t right = GET76(regs, CNA_PAD_CON0, RIGHT);

    REFUSE_IF((c->out_w - 1) * c->stride_x + c->k_w >
              c->in_w + c->pad_left + right ||
              (c->out_h - 1) * c->stride_y + c->k_h >
              c->in_h + c->pad_top + bottom,
              "windows outside the padded input");
    return NULL;
}

static const char *decode_weights(NpuConv *c, const uint32_t *regs)
{
    uint64_t bytes = GET76(regs, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL);
    uint64_t total = GET76(regs, CNA_WEIGHT_SIZE0, BYTES), stored;
    uint32_t bits = c->int4_weights ? 4 : c->bits;
    uint32_t factor = c->precision == NPU_PREC_INT8 ? 2 : 1;
    uint64_t again = factor * bytes;

    c->kernels = GET76(regs, CNA_WEIGHT_SIZE2, KERNELS) + 1;
    c->kernel_elems = c->k_w * c->k_h * c->in_c;
    c->stored_c = c->in_c;
    stored = (uint64_t)c->k_w * c->k_h * c->stored_c * bits / 8;
    c->packed_weights = c->packed;
    /* Row cna.argb-padding. */
    c->pad_channels = c->packed ? c->packed : c->in_c;
    if (c->packed) {
        stored = npu_argb_kernel_bytes(c);
    }
    REFUSE_IF(bytes != stored, "bytes per kernel do not match its shape");
    REFUSE_IF(total != c->kernels * bytes,
              "weight bytes do not match the kernels");
    /* Which groups others have is not known. */
    REFUSE_IF(c->packed_tight && c->kernels != TIGHT_KERNELS,
              "kernels of packed bytes by taps but 16");
    if (c->depthwise) {
        /* Bytes have a second one each, to be added. */
        REFUSE_IF(c->kernels != factor, "depthwise kernels but one");
        c->kernels = 1;
        again /= 16;
    }
    REFUSE_IF(GET76(regs, CNA_DATA_SIZE2, KERNEL_BYTES) != (uint16_t)again,
              "two sizes of a kernel");
    REFUSE_IF(c->product && c->kernels % c->kernel_group,
              "product of halves whose kernels do not fill groups");
    /* They become elements. */
    REFUSE_IF(total > NPU_TASK_MAX_WEIGHTS / (c->bits / bits),
              "too many weights");
    c->weight_bytes = total;
    c->weights = ADDR76(regs, CNA_WEIGHT_ADDR);
    return check_window(c, regs);
}

/* The RK3588's converter; a lane's constants are spread otherwise. */
static void decode_lane(NpuCvt *cvt, const uint32_t *regs, unsigned i)
{
    cvt->lane[i].scale = sextract32(regs[R_RK3576_CNA_CVT_CON1 + i / 2],
                                    i % 2 * 16, 16);
    cvt->lane[i].offset = regs[R_RK3576_CNA_CVT_OFFSET_0 + i];
    cvt->lane[i].shift = extract32(regs[R_RK3576_CNA_CVT_CON0], 4 + 6 * i, 6);
}

/* What the converter makes of a byte. */
static int64_t converted(const NpuCvt *cvt, unsigned i, uint8_t raw)
{
    int64_t before = cvt->offset_first ? cvt->lane[i].offset : 0;
    int64_t after = cvt->offset_first ? 0 : cvt->lane[i].offset;
    int64_t v = npu_round_shift((raw + before) * cvt->lane[i].scale,
                                cvt->lane[i].shift, cvt->ties_up) + after;

    return cvt->on ? npu_clamp64(v, INT8_MIN, INT8_MAX) : (int8_t)raw;
}

/*
 * Rows of padding take a byte of PAD_CON1 per channel, columns one of PAD_PIXEL
 * through the converter, which is 0 in programs of gahingwoo and gregordinary
 * (row cna.argb-padding).  The array is given one byte for both, which is
 * what compilers ask for.
 */
static const char *decode_pixel_padding(NpuConv *c, const uint32_t *regs)
{
    uint32_t row = regs[R_RK3576_CNA_PAD_CON1];
    uint32_t column = regs[R_RK3576_CNA_PAD_PIXEL];
    unsigned i;

    if (!regs[R_RK3576_CNA_PAD_CON0]) {
        return NULL;
    }
    if (c->packed_tight) {
        REFUSE_IF(row != column,
                  "padding of pixels that rows and columns do not share");
        return NULL;
    }
    REFUSE_IF(c->bits == 16 && (row || column), "padding of packed halves");
    for (i = 0; c->bits == 8 && i < c->packed; i++) {
        int64_t v = sextract32(row, i * 8, 8);

        REFUSE_IF(v != converted(&c->cvt, i, column >> i * 8) ||
                  v != sextract32(row, 0, 8),
                  "padding of pixels that rows and columns do not share");
    }
    return NULL;
}

static const char *decode_converter(NpuConv *c, const uint32_t *regs)
{
    NpuCvt *cvt = &c->cvt;
    unsigned i;

    cvt->on = !GET76(regs, CNA_CVT_CON0, CVT_BYPASS);
    REFUSE_IF(cvt->on && (!c->packed || c->bits != 8),
              "input converter but of packed bytes");
    cvt->mask = 0xffff;
    cvt->wraps = true;
    cvt->is_signed = GET76(regs, CNA_CVT_CON0, DATA_SIGN);
    cvt->ties_up = GET76(regs, CNA_CVT_CON0, ROUND_TYPE);
    cvt->offset_first = GET76(regs, CNA_CVT_CON0, CVT_TYPE);
    for (i = 0; i < NPU_CVT_LANES; i++) {
        decode_lane(cvt, regs, i);
        REFUSE_IF(cvt->lane[i].shift > 62, "converter shift above 62");
    }
    return c->packed ? decode_pixel_padding(c, regs) : NULL;
}

/* Bytes have their padding at a side in CBUF as well. */
static uint32_t pixel_granules(const NpuConv *c, uint32_t more)
{
    return DIV_ROUND_UP((c->in_w + more) * PIXEL_LANES * c->bits / 8,
                        RK3576_CBUF_GRANULE_BYTES);
}

/*
 * A granule takes four atoms of a position, two of two positions or one of
 * four; three take all of it, as in entries of the RK3588.
 */
static uint32_t line_granules(const NpuConv *c, uint32_t surfaces)
{
    uint32_t rest = surfaces % GRANULE_ATOMS;
    uint32_t share = rest == GRANULE_ATOMS - 1 ? GRANULE_ATOMS : rest;

    return surfaces / GRANULE_ATOMS * c->in_w +
           DIV_ROUND_UP(c->in_w * share, GRANULE_ATOMS);
}

static uint32_t row_granules(const NpuConv *c, const uint32_t *regs)
{
    uint32_t right = GET76(regs, CNA_PAD_CON0, RIGHT);

    if (!c->packed) {
        return line_granules(c, c->atoms.surfaces);
    }
    return pixel_granules(c, npu_argb_by_rows(c) ? MAX(c->pad_left, right)
                                                 : 0);
}

/*
 * Bank numbers are hints on one core (gregordinary's boards), granules are
 * binding: weights begin in a bank of their own, behind the features.
 */
static const char *find_short(const NpuConv *c, const uint32_t *regs,
                              const ConvChip *chip)
{
    uint32_t first = GET76(regs, CNA_CBUF_ROW, START);
    uint32_t weights = GET76(regs, CNA_CBUF_START, WEIGHT);
    uint32_t end = GET76(regs, CNA_CBUF_WEIGHT, END_BANK) * BANK_GRANULES;
    size_t kernel = c->weight_bytes /
                    DIV_ROUND_UP(c->kernels, c->kernel_group);

    REFUSE_IF(first >= weights || weights >= end ||
              end > chip->banks * BANK_GRANULES,
              "windows of CBUF out of order");
    REFUSE_IF((uint64_t)c->row_granules * c->in_h > weights - c->window_base,
              "feature data exceeds its window of CBUF");
    REFUSE_IF(kernel > (end - weights) * RK3576_CBUF_GRANULE_BYTES,
              "weights exceed their window of CBUF");
    return NULL;
}

/*
 * Rows that a sequence keeps are those before FETCH, in a ring of the
 * feature's banks; without them bank numbers are no more than hints.
 */
static const char *decode_ring(NpuConv *c, const uint32_t *regs,
                               const ConvChip *chip)
{
    uint32_t first = GET76(regs, CNA_CBUF_ROW, START);
    uint32_t fetch = GET76(regs, CNA_CBUF_START, FETCH);
    uint32_t banks = GET76(regs, CNA_CBUF_DATA, BANKS);
    uint32_t end = GET76(regs, CNA_CBUF_DATA, END_BANK);
    bool retain = GET76(regs, CNA_CBUF_DATA, RETAIN);

    REFUSE_IF(retain != !!c->feature.kept,
              "rows retained in CBUF against the rows that are fetched");
    c->feature.cube.granule = first;
    c->window_base = first;
    c->window_size = chip->banks * BANK_GRANULES;
    if (retain) {
        REFUSE_IF(!banks || banks > end || end > chip->banks,
                  "banks of a row sequence");
        c->window_base = (end - banks) * BANK_GRANULES;
        c->window_size = banks * BANK_GRANULES;
        REFUSE_IF(first - c->window_base >= c->window_size,
                  "row sequence outside its banks");
    }
    REFUSE_IF((first - c->window_base + c->feature.kept * c->row_granules) %
              c->window_size != fetch - c->window_base,
              "fetch that resumes elsewhere than behind kept rows");
    return NULL;
}

static const char *decode_cbuf(NpuConv *c, const uint32_t *regs,
                               const ConvChip *chip)
{
    uint32_t granules = row_granules(c, regs);
    uint32_t line = c->packed ? c->feature.line_stride : c->in_w;
    const char *why;

    c->row_granules = granules;
    REFUSE_IF(!GET76(regs, CNA_CBUF_DATA, ON), "CBUF without its bit 30");
    why = decode_ring(c, regs, chip);
    REFUSE_IF(why, why);
    REFUSE_IF(GET76(regs, CNA_CBUF_ROW, GRANULES) != granules ||
              (!c->feature.gaps && GET76(regs, CNA_DATA_ROW, GRANULES) !=
               (c->packed && !npu_argb_by_rows(c) ? line : granules)) ||
              GET76(regs, CNA_DATA_ROW, WIDTH) != line,
              "granules of a row that its width does not give");
    REFUSE_IF(GET76(regs, CNA_DATA_SIZE1, GRANULES) !=
              (uint16_t)(granules * (c->in_h - c->feature.kept)),
              "granules that the rows do not give");
    c->windows = true;
    c->window_short = find_short(c, regs, chip);
    /* The cores of a pair have the same weights. */
    c->window_end = GET76(regs, CNA_CONV_CON3, PAIR)
                    ? GET76(regs, CNA_CBUF_START, WEIGHT)
                    : GET76(regs, CNA_CBUF_WEIGHT, END_BANK) * BANK_GRANULES;
    return NULL;
}

/* Lines of whole atoms, one behind the other; there may be less in each. */
static const char *decode_pixels(NpuConv *c, const uint32_t *regs)
{
    NpuFeature *f = &c->feature;
    uint32_t row = regs[R_RK3576_CNA_DMA_CON1];

    f->base = ADDR76(regs, CNA_FEATURE_ADDR);
    f->group_lines = 1;
    f->unit = c->packed * c->bits / 8;
    f->dma_width = c->in_w;
    f->line_stride = row * NPU_ATOM / f->unit;
    REFUSE_IF(c->in_w > f->line_stride || row * NPU_ATOM % f->unit ||
              GET76(regs, CNA_DMA_SIZE, WIDTH) + 1 != row ||
              GET76(regs, CNA_DMA_SIZE, HEIGHT) + 1 != c->in_h,
              "packed pixels whose lines are not whole atoms");
    REFUSE_IF(GET76(regs, CNA_DMA_LINE, LOW) + 1 != pixel_granules(c, 0) ||
              GET76(regs, CNA_DMA_LINE, HIGH) + 1 != row_granules(c, regs),
              "CNA and its DMA disagree about the input");
    REFUSE_IF(!npu_cube_init(&c->atoms, 1, c->in_h,
                             (uint64_t)c->in_w * NPU_ATOM, false) ||
              !npu_cube_init(&f->cube, 1, c->in_h,
                             (uint64_t)c->in_w * f->unit, false),
              "too much feature data");
    f->cube.converted = true;
    return NULL;
}

/*
 * Lines of whole granules may lie in longer ones: then DATA_ROW has the
 * granules to the next, and the rows of DMA_SIZE are as many lines without
 * gaps as there would be in the same memory (row cna.rk3576-gaps).
 */
static const char *decode_gaps(NpuConv *c, const uint32_t *regs,
                               uint32_t surfaces, uint32_t *fetched)
{
    NpuFeature *f = &c->feature;
    uint32_t step = surfaces * NPU_ATOM;
    uint32_t line = line_granules(c, surfaces);
    uint32_t next = GET76(regs, CNA_DATA_ROW, GRANULES);

    f->gaps = c->bits == 8 && !c->depthwise && next > line &&
              line * RK3576_CBUF_GRANULE_BYTES == c->in_w * step;
    if (!f->gaps) {
        return NULL;
    }
    REFUSE_IF(next * RK3576_CBUF_GRANULE_BYTES % step,
              "lines that end inside a position");
    REFUSE_IF(*fetched != DIV_ROUND_UP(c->in_h * next, line),
              "rows of the DMA against the gaps between lines");
    *fetched = c->in_h;
    f->group_lines = 1;
    f->line_stride = next * RK3576_CBUF_GRANULE_BYTES / step;
    f->surf_stride = regs[R_RK3576_CNA_DMA_CON2] - c->in_w;
    return NULL;
}

static const char *decode_feature(NpuConv *c, const uint32_t *regs)
{
    NpuFeature *f = &c->feature;
    uint32_t surfaces = c->in_c * c->bits / NPU_ATOM_BITS;
    uint32_t fetched = GET76(regs, CNA_DMA_SIZE, HEIGHT) + 1;
    const char *why;
    bool inner;

    REFUSE_OTHER(CNA_DMA_CON0, 0x000f000f, "bursts of the CNA");
    if (c->packed) {
        return decode_pixels(c, regs);
    }
    why = decode_gaps(c, regs, surfaces, &fetched);
    REFUSE_IF(why, why);
    REFUSE_IF(GET76(regs, CNA_DMA_SIZE, WIDTH) + 1 != c->in_w ||
              fetched > c->in_h ||
              GET76(regs, CNA_DMA_LINE, LOW) + 1 != c->in_w ||
              GET76(regs, CNA_DMA_LINE, HIGH) + 1 != c->in_w,
              "CNA and its DMA disagree about the input");
    f->base = ADDR76(regs, CNA_FEATURE_ADDR);
    f->dma_width = c->in_w;
    f->unit = NPU_ATOM;
    REFUSE_IF(f->gaps && regs[R_RK3576_CNA_DMA_CON1] != 4 * c->in_w,
              "gaps between lines of the input");
    if (!f->gaps) {
        f->group_lines = 4;
        f->line_stride = regs[R_RK3576_CNA_DMA_CON1];
        f->surf_stride = regs[R_RK3576_CNA_DMA_CON2] - 4 * c->in_w;
    }
    if (c->product && !c->int4_weights) {
        /* All of a row, then the next one. */
        REFUSE_IF(f->line_stride != surfaces ||
                  regs[R_RK3576_CNA_DMA_CON2] != 1,
                  "rows of a product that do not follow each other");
        f->group_lines = 1;
        f->surf_stride = 0;
    } else {
        REFUSE_IF(!f->gaps && f->line_stride != 4 * c->in_w && c->in_h > 4,
                  "gaps between lines of the input");
    }
    /* Two surfaces may be those of two tensors. */
    REFUSE_IF(regs[R_RK3576_CNA_DMA_CON2] > UINT32_MAX / NPU_ATOM,
              "surfaces that are 4 GiB apart");
    inner = !f->gaps && npu_feature_surf_pitch(f) == c->in_w;
    REFUSE_IF(!npu_cube_init(&c->atoms, surfaces, c->in_h,
                             (uint64_t)c->in_w * NPU_ATOM, inner),
              "too much feature data");
    f->cube = c->atoms;
    f->kept = c->in_h - fetched;
    return NULL;
}

const char *npu_rk3576_conv(NpuTask *t, const uint32_t *regs,
                            const NpuTaskOptions *opt)
{
    const ConvChip *chip = opt->encoding == NPU_ENCODING_RV1126B ? &rv1126b
                                                                 : &rk3576;
    NpuConv *c = &t->conv;
    const char *why = decode_mode(t, regs);

    REFUSE_IF(why, why);
    set_groups(c);
    why = decode_geometry(c, regs, chip);
    REFUSE_IF(why, why);
    why = c->product ? check_product(c, regs) : NULL;
    REFUSE_IF(why, why);
    why = decode_weights(c, regs);
    REFUSE_IF(why, why);
    why = decode_converter(c, regs);
    REFUSE_IF(why, why);
    why = decode_feature(c, regs);
    REFUSE_IF(why, why);
    why = decode_cbuf(c, regs, chip);
    REFUSE_IF(why, why);
    t->macs = (uint64_t)c->out_w * c->out_h * c->kernels * c->kernel_elems;
    REFUSE_IF(t->macs > NPU_TASK_MAX_MACS, "too much arithmetic");
    return NULL;
}
