/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the RK3562 NPU: its registers are put where the RK3588 has them,
 * whose decoders then read both.
 *
 * There is no manual.  What a program may contain is what Rockchip's compilers
 * have been seen to write, and what it means is what the same networks have for
 * the RK3588; other registers, bits and forms are refused (row
 * soc.rk3562-encoding).
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "argb.h"
#include "cna.h"
#include "decode.h"
#include "known.h"
#include "rk3562.h"
#include "rk3568.h"

#define NPU_REG(block, reg, offset)                                         \
    REG32(RK3562_##block##_##reg, offset)
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    FIELD(RK3562_##block##_##reg, field, lsb, width)
#include "npu/rk3562_regs.h"

/* By ascending offsets. */
static const NpuKnownField known[] = {
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    NPU_KNOWN_FIELD(RK3562, block, reg, field)
#include "npu/rk3562_regs.h"
};

#define GET62(regs, reg, field)     GET(regs, RK3562_##reg, field)
#define RAW62(regs, reg)            ((regs)[R_RK3562_##reg])
#define PUT(reg, field, value)                                              \
    (to[R_##reg] = FIELD_DP32(to[R_##reg], reg, field, value))
#define COPY(reg, from)             (to[R_##reg] = RAW62(regs, from))

#define PIXEL_LANES     4
#define WORDS_OF_ATOM   (NPU_ATOM / 4)
#define CORE_WEIGHTS    2       /* WEIGHT_SIZE1 */
#define CORE_CONV       3       /* CBUF_DATA */
#define CNA_BURSTS      0x000f400f
#define CNA_106C        0x20
/* WEIGHT_ADD, twice: what the RK3588 has as a zero point of 128. */
#define ADD_BOTH        0x8080
#define ADD_VALUE       0x80
#define PPU_RDMA_BYTES  0x40

/* BS: where the operands of the ALU and the zero points come from. */
#define BS_OFF          0x53
#define BS_MEMORY_OW    0x120080
#define BS_MEMORY       0x100092
#define BS_REGISTERS    0x100012
#define BS_FACTORS      0x52    /* no ALU */
#define BS_FORM         (R_RK3562_DPU_BS_CFG_FORM_LOW_MASK |                \
                         R_RK3562_DPU_BS_CFG_FORM_HIGH_MASK)

#define EW_OFF          0x010041c1
#define EW_LUT          0x01004140
#define EW_ADD          0x8002c0c0
#define EW_MUL          0x81004094
/* What the RK3588 has for the RK3562's. */
#define LUT_ON          0x160
#define LUT_ON_RK3588   0x68

#define WRITE_CORE      0x04440102
#define WRITE_FLYING    0x04440002
/* WRITE_SHIFT of what is moved by words, or is not aligned. */
#define SHIFT_MOVED     0x10

static bool is_half(uint32_t precision)
{
    return precision == NPU_PREC_FP16;
}

static bool is_depthwise(uint32_t mode)
{
    return mode == RK3562_MODE_DEPTHWISE ||
           mode == RK3562_MODE_DEPTHWISE_PAIRS;
}

static uint32_t input_bits(const uint32_t *regs)
{
    return is_half(GET62(regs, CNA_CONV_CON1, IN_PRECISION)) ? 16 : 8;
}

/* --- CNA --- */

static const char *check_modes(const uint32_t *regs)
{
    uint32_t mode = GET62(regs, CNA_CONV_CON1, CONV_MODE);
    uint32_t precision = GET62(regs, CNA_CONV_CON1, IN_PRECISION);
    bool half = is_half(precision), packed = mode == RK3562_MODE_ARGB;
    uint32_t truncate = GET62(regs, CORE_MODE, CLIP_TRUNCATE);
    bool deconv = RAW62(regs, CNA_CONV_CON3) >>
                  R_RK3562_CNA_CONV_CON3_DECONV_X_STRIDE_SHIFT;

    REFUSE_IF(mode != RK3562_MODE_DIRECT && !packed && !is_depthwise(mode),
              "CNA convolution mode");
    REFUSE_IF(precision != NPU_PREC_INT8 && !half, "input precision");
    REFUSE_IF(GET62(regs, CNA_CONV_CON1, FLOAT) != half ||
              GET62(regs, CORE_MISC, PROC_PRECISION) != precision,
              "blocks disagree about the precision");
    REFUSE_IF(GET62(regs, CNA_CONV_CON1, CONV) == deconv ||
              GET62(regs, CNA_CBUF_DATA, CONV) != (deconv ? 0 : CORE_CONV),
              "deconvolution in one place alone");
    REFUSE_IF(deconv && (packed || is_depthwise(mode)),
              "deconvolution but of direct ones");
    REFUSE_IF(half && is_depthwise(mode), "depthwise convolution of halves");
    REFUSE_IF(GET62(regs, CORE_MISC, QD_EN) != !(half || is_depthwise(mode)) ||
              (packed && truncate) ||
              GET62(regs, CORE_MODE, CLIP_AGAIN) !=
              (packed && !half ? 1 : truncate), "CORE mode");
    REFUSE_IF(GET62(regs, CORE_MISC, DW) !=
              (is_depthwise(mode) ? RK3562_DW_ON : RK3562_DW_OFF) ||
              GET62(regs, DPU_FEATURE_MODE, CONV_MODE) != is_depthwise(mode),
              "blocks disagree about the convolution mode");
    return NULL;
}

static const char *check_constants(const uint32_t *regs)
{
    uint32_t mode = GET62(regs, CNA_CONV_CON1, CONV_MODE);
    bool pixels = mode == RK3562_MODE_ARGB && input_bits(regs) == 8;

    REFUSE_IF(GET62(regs, CNA_WEIGHT_SIZE1, UNKNOWN) != CORE_WEIGHTS ||
              RAW62(regs, CNA_UNKNOWN_106C) != CNA_106C,
              "words of the CNA that nobody has seen");
    REFUSE_IF(GET62(regs, CNA_DMA_CON0, BURSTS) != CNA_BURSTS,
              "fetches of the CNA");
    REFUSE_IF(RAW62(regs, CNA_WEIGHT_ADD) !=
              (mode == RK3562_MODE_DEPTHWISE ? ADD_BOTH : 0),
              "words of the CNA that nobody has seen");
    REFUSE_IF(RAW62(regs, CNA_PAD_CON2) !=
              (pixels ? RAW62(regs, CNA_PAD_CON1) : 0),
              "two values of the padding");
    return NULL;
}

static const char *move_modes(uint32_t *to, const uint32_t *regs)
{
    uint32_t mode = GET62(regs, CNA_CONV_CON1, CONV_MODE);
    bool packed = mode == RK3562_MODE_ARGB;
    const char *why = check_modes(regs);

    REFUSE_IF(why, why);
    PUT(CNA_CONV_CON1, CONV_MODE, is_depthwise(mode) ? NPU_MODE_DEPTHWISE
                                                     : NPU_MODE_DIRECT);
    PUT(CNA_CONV_CON1, IN_PRECISION, GET62(regs, CNA_CONV_CON1, IN_PRECISION));
    PUT(CNA_CONV_CON1, PROC_PRECISION,
        GET62(regs, CNA_CONV_CON1, PROC_PRECISION));
    PUT(CNA_CONV_CON1, ARGB_IN, GET62(regs, CNA_CONV_CON1, ARGB_IN));
    PUT(CNA_CONV_CON1, DECONV, !GET62(regs, CNA_CONV_CON1, CONV));
    PUT(CNA_CONV_CON1, GROUP_LINE_OFF,
        GET62(regs, CNA_CONV_CON1, GROUP_LINE_OFF));
    PUT(CNA_CONV_CON1, NONALIGN_DMA, packed);
    REFUSE_IF(!!GET62(regs, CNA_CONV_CON1, ARGB_IN) != packed,
              "packed pixels in one place alone");
    COPY(CNA_CONV_CON3, CNA_CONV_CON3);
    PUT(CORE_MISC_CFG, QD_EN, GET62(regs, CORE_MISC, QD_EN));
    PUT(CORE_MISC_CFG, DW_EN, is_depthwise(mode));
    PUT(CORE_MISC_CFG, PROC_PRECISION, GET62(regs, CORE_MISC, PROC_PRECISION));
    PUT(CORE_CLIP_TRUNCATE, CLIP_TRUNCATE,
        GET62(regs, CORE_MODE, CLIP_TRUNCATE));
    return NULL;
}

static const char *move_sizes(uint32_t *to, const uint32_t *regs)
{
    uint32_t channels = GET62(regs, CNA_DATA_SIZE1, CHANNEL);
    uint32_t bits = input_bits(regs);

    REFUSE_IF(!channels ||
              GET62(regs, CNA_DMA_CHANNEL, CHANNEL) != channels,
              "CNA and its DMA disagree about the channels");
    REFUSE_IF(GET62(regs, CNA_DATA_SIZE0, HEIGHT) >>
              R_CNA_DATA_SIZE0_DATAIN_HEIGHT_LENGTH,
              "more lines than the RK3588 knows");
    PUT(CNA_DATA_SIZE0, DATAIN_WIDTH, GET62(regs, CNA_DATA_SIZE0, WIDTH));
    PUT(CNA_DATA_SIZE0, DATAIN_HEIGHT, GET62(regs, CNA_DATA_SIZE0, HEIGHT));
    PUT(CNA_DATA_SIZE1, DATAIN_CHANNEL,
        ROUND_UP(channels, NPU_ATOM_BITS / bits));
    PUT(CNA_DATA_SIZE1, DATAIN_CHANNEL_REAL, channels - 1);
    COPY(CNA_DATA_SIZE2, CNA_DATA_SIZE2);
    COPY(CNA_DATA_SIZE3, CNA_DATA_SIZE3);
    COPY(CORE_DATAOUT_SIZE_0, CORE_SIZE0);
    PUT(CNA_PAD_CON0, PAD_TOP, GET62(regs, CNA_PAD_CON0, TOP));
    PUT(CNA_PAD_CON0, PAD_LEFT, GET62(regs, CNA_PAD_CON0, LEFT));
    /* Bytes have it twice. */
    to[R_CNA_PAD_CON1] = bits == 8 ? (uint8_t)RAW62(regs, CNA_PAD_CON1) * 0x101
                                   : RAW62(regs, CNA_PAD_CON1);
    return NULL;
}

/* Windows end where the padding that is named ends, or before. */
static const char *check_windows(const uint32_t *regs)
{
    uint32_t w = GET62(regs, CNA_DATA_SIZE0, WIDTH) +
                 GET62(regs, CNA_PAD_CON0, LEFT) +
                 GET62(regs, CNA_PAD_CON0, RIGHT);
    uint32_t h = GET62(regs, CNA_DATA_SIZE0, HEIGHT) +
                 GET62(regs, CNA_PAD_CON0, TOP) +
                 GET62(regs, CNA_PAD_CON0, BOTTOM);
    uint32_t x = GET62(regs, CORE_SIZE0, WIDTH) *
                 GET62(regs, CNA_CONV_CON3, CONV_X_STRIDE);
    uint32_t y = GET62(regs, CORE_SIZE0, HEIGHT) *
                 GET62(regs, CNA_CONV_CON3, CONV_Y_STRIDE);

    REFUSE_IF(GET62(regs, CNA_CONV_CON1, CONV) &&
              (x + GET62(regs, CNA_WEIGHT_SIZE2, WIDTH) > w ||
               y + GET62(regs, CNA_WEIGHT_SIZE2, HEIGHT) > h),
              "windows outside the padded input");
    return NULL;
}

/*
 * As the RK3588 would store them: pixels with the lanes of an atom, depthwise
 * ones once, for channels that fill atoms.
 */
static void move_weights(uint32_t *to, const uint32_t *regs)
{
    uint32_t mode = GET62(regs, CNA_CONV_CON1, CONV_MODE);
    uint32_t kernels = GET62(regs, CNA_WEIGHT_SIZE2, KERNELS);
    uint32_t bytes = GET62(regs, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL);
    uint32_t taps = GET62(regs, CNA_WEIGHT_SIZE2, WIDTH) *
                    GET62(regs, CNA_WEIGHT_SIZE2, HEIGHT);
    uint32_t total = RAW62(regs, CNA_WEIGHT_SIZE0);

    if (mode != RK3562_MODE_DIRECT) {
        kernels = is_depthwise(mode) ? 1 : kernels;
        bytes = taps * GET(to, CNA_DATA_SIZE1, DATAIN_CHANNEL) *
                input_bits(regs) / 8;
        total = kernels * bytes;
    }
    COPY(CNA_WEIGHT_SIZE2, CNA_WEIGHT_SIZE2);
    PUT(CNA_WEIGHT_SIZE2, KERNELS, kernels);
    to[R_CNA_WEIGHT_SIZE1] = bytes;
    to[R_CNA_WEIGHT_SIZE0] = total;
    COPY(CNA_DCOMP_ADDR0, CNA_WEIGHT_ADDR);
    PUT(CNA_CBUF_CON0, WEIGHT_REUSE, GET62(regs, CNA_CBUF_WEIGHT, REUSE));
    PUT(CNA_CBUF_CON0, DATA_BANK, GET62(regs, CNA_CBUF_DATA, BANKS));
    PUT(CNA_CBUF_CON0, WEIGHT_BANK, GET62(regs, CNA_CBUF_WEIGHT, END_BANK) -
                                    GET62(regs, CNA_CBUF_DATA, END_BANK));
}

/* Scales and offsets of a lane are apart from each other. */
static const char *move_converter(uint32_t *to, const uint32_t *regs)
{
    uint32_t lanes = GET62(regs, CNA_CVT_LANES, FIRST);
    unsigned i;

    REFUSE_IF(GET62(regs, CNA_CVT_LANES, SECOND) != lanes ||
              (lanes && (input_bits(regs) != 8 ||
                         GET62(regs, CNA_CONV_CON1, CONV_MODE) !=
                         RK3562_MODE_ARGB)),
              "input converter but of packed bytes");
    COPY(CNA_CVT_CON0, CNA_CVT_CON0);
    for (i = 0; i < NPU_CVT_LANES; i++) {
        int32_t offset = regs[R_RK3562_CNA_CVT_OFFSET_0 + i];
        uint32_t scale = extract32(regs[R_RK3562_CNA_CVT_CON1 + i / 2],
                                   i % 2 * 16, 16);

        REFUSE_IF(offset != (int16_t)offset, "converter offset above 16 bits");
        to[R_CNA_CVT_CON1 + i] = scale << R_CNA_CVT_CON1_SCALE_SHIFT |
                                 (uint16_t)offset;
    }
    to[R_CNA_CVT_CON5] = lanes;
    return NULL;
}

/* A granule takes four pixels of bytes in four lanes. */
static uint32_t pixel_granules(const uint32_t *regs)
{
    return DIV_ROUND_UP(GET62(regs, CNA_DATA_SIZE0, WIDTH) * PIXEL_LANES *
                        input_bits(regs) / 8, RK3562_CBUF_GRANULE_BYTES);
}

/* All lines of pixels come as one, of whole atoms. */
static const char *move_pixels(uint32_t *to, const uint32_t *regs)
{
    uint32_t w = GET62(regs, CNA_DATA_SIZE0, WIDTH);
    uint32_t h = GET62(regs, CNA_DATA_SIZE0, HEIGHT);
    uint32_t line = GET62(regs, CNA_DATA_ROW, WIDTH);
    uint32_t bytes = GET62(regs, CNA_DATA_SIZE1, CHANNEL) *
                     input_bits(regs) / 8;
    uint32_t atoms = DIV_ROUND_UP(h * line * bytes, NPU_ATOM);

    REFUSE_IF(GET62(regs, CNA_DATA_ROW, GRANULES) != line || line < w ||
              (line > w && !GET62(regs, CNA_CONV_CON1, LONG_LINES)),
              "width of a line of pixels");
    REFUSE_IF(GET62(regs, CNA_DMA_SIZE, HEIGHT) != 1 ||
              GET62(regs, CNA_DMA_SIZE, WIDTH) != atoms ||
              RAW62(regs, CNA_DMA_CON1) != atoms ||
              RAW62(regs, CNA_DMA_CON2) != atoms ||
              GET62(regs, CNA_DMA_LINE, LOW) !=
              GET62(regs, CNA_DMA_LINE, HIGH) ||
              GET62(regs, CNA_DMA_LINE, LOW) + 1 != h * pixel_granules(regs) ||
              GET62(regs, CNA_CBUF_ROW, GRANULES) != pixel_granules(regs),
              "CNA and its DMA disagree about the input");
    REFUSE_IF(GET62(regs, CNA_CBUF_DATA, RETAIN),
              "rows of pixels retained in CBUF");
    PUT(CNA_FC_DATA_SIZE0, DMA_WIDTH, w);
    PUT(CNA_DMA_CON1, LINE_STRIDE, line);
    return NULL;
}

static const char *move_feature(uint32_t *to, const uint32_t *regs)
{
    uint32_t w = GET62(regs, CNA_DATA_SIZE0, WIDTH);
    uint32_t lines = GET62(regs, CNA_CONV_CON1, GROUP_LINE_OFF) ? 1 : 4;

    COPY(CNA_FEATURE_DATA_ADDR, CNA_FEATURE_ADDR);
    if (GET62(regs, CNA_CONV_CON1, CONV_MODE) == RK3562_MODE_ARGB) {
        return move_pixels(to, regs);
    }
    REFUSE_IF(GET62(regs, CNA_DMA_SIZE, WIDTH) != w ||
              GET62(regs, CNA_DATA_ROW, WIDTH) != w ||
              GET62(regs, CNA_DMA_LINE, LOW) + 1 != w ||
              GET62(regs, CNA_DMA_LINE, HIGH) + 1 != w ||
              GET62(regs, CNA_CONV_CON1, LONG_LINES),
              "CNA and its DMA disagree about the input");
    PUT(CNA_FC_DATA_SIZE0, DMA_WIDTH, w);
    COPY(CNA_DMA_CON1, CNA_DMA_CON1);
    PUT(CNA_DMA_CON2, SURF_STRIDE,
        GET62(regs, CNA_DMA_CON2, SURF_STRIDE) - lines * w);
    return NULL;
}

static const char *move_cna(uint32_t *to, const uint32_t *regs)
{
    const char *why = check_constants(regs);

    REFUSE_IF(why, why);
    why = move_modes(to, regs);
    REFUSE_IF(why, why);
    why = move_sizes(to, regs);
    REFUSE_IF(why, why);
    why = check_windows(regs);
    REFUSE_IF(why, why);
    move_weights(to, regs);
    why = move_converter(to, regs);
    return why ? why : move_feature(to, regs);
}

/* --- DPU --- */

/* Registers of a clamp, whose bounds may be there twice. */
typedef struct Clamp {
    uint32_t low, high, low1, high1;
} Clamp;

static const Clamp clamp_bs = {
    R_RK3562_DPU_BS_LOW, R_RK3562_DPU_BS_HIGH,
    R_RK3562_DPU_BS_LOW1, R_RK3562_DPU_BS_HIGH1,
}, clamp_bn = {
    R_RK3562_DPU_BN_LOW, R_RK3562_DPU_BN_HIGH,
    R_RK3562_DPU_BN_LOW1, R_RK3562_DPU_BN_HIGH1,
}, clamp_ew = {
    R_RK3562_DPU_EW_LOW, R_RK3562_DPU_EW_HIGH,
    R_RK3562_DPU_EW_LOW, R_RK3562_DPU_EW_HIGH,
};

/* From nowhere on, or from 0 on, which is a ReLU. */
static const char *check_clamp(const uint32_t *regs, const Clamp *c)
{
    REFUSE_IF(regs[c->low] != regs[c->low1] || regs[c->high] != regs[c->high1],
              "two clamps of a stage");
    REFUSE_IF(regs[c->low] && (regs[c->low] != (uint32_t)INT32_MIN ||
                               regs[c->high] != INT32_MAX),
              "clamp but from 0 on");
    return NULL;
}

static bool is_relu(const uint32_t *regs, const Clamp *c)
{
    return !regs[c->low];
}

static bool is_relux(const uint32_t *regs, const Clamp *c)
{
    return is_relu(regs, c) && regs[c->high] != INT32_MAX;
}

static const char *move_bs(uint32_t *to, const uint32_t *regs)
{
    uint32_t form = RAW62(regs, DPU_BS_CFG) & BS_FORM;
    uint32_t shift_neg = GET62(regs, DPU_BS_OW_OP, MUL_SHIFT_NEG);
    bool ow = form == BS_MEMORY_OW;
    const char *why = check_clamp(regs, &clamp_bs);

    REFUSE_IF(why, why);
    REFUSE_IF(GET62(regs, DPU_BS_OW_OP, OW_EN) != ow ||
              (!ow && (GET62(regs, DPU_BS_MUL_CFG, OW_SRC) ||
                       GET62(regs, DPU_BS_OW_OP, OPERAND))),
              "zero points of a BS that has none");
    PUT(DPU_BS_OW_CFG, OD_BYPASS, !ow);
    PUT(DPU_BS_OW_CFG, OW_SRC, GET62(regs, DPU_BS_MUL_CFG, OW_SRC));
    PUT(DPU_BS_OW_OP, OPERAND, GET62(regs, DPU_BS_OW_OP, OPERAND));
    if (form == BS_OFF) {
        REFUSE_IF(is_relu(regs, &clamp_bs), "clamp of a BS that is off");
        to[R_DPU_BS_CFG] = R_DPU_BS_CFG_BYPASS_MASK;
        return NULL;
    }
    REFUSE_IF(form != BS_MEMORY && form != BS_REGISTERS &&
              form != BS_FACTORS && !ow, "form of BS");
    PUT(DPU_BS_CFG, ALU_BYPASS, form == BS_FACTORS);
    PUT(DPU_BS_CFG, ALU_ALGO, NPU_ALU_ADD);
    PUT(DPU_BS_CFG, ALU_SRC, form == BS_MEMORY || ow);
    PUT(DPU_BS_CFG, MUL_BYPASS, GET62(regs, DPU_BS_OW_CFG, MUL_BYPASS));
    PUT(DPU_BS_CFG, RELU_BYPASS, !is_relu(regs, &clamp_bs));
    PUT(DPU_BS_CFG, RELUX_EN, is_relux(regs, &clamp_bs));
    to[R_DPU_BS_RELUX_CMP] = regs[clamp_bs.high];
    COPY(DPU_BS_ALU_CFG, DPU_BS_ALU_CFG);
    PUT(DPU_BS_MUL_CFG, MUL_SRC, GET62(regs, DPU_BS_OW_CFG, MUL_SRC));
    PUT(DPU_BS_MUL_CFG, MUL_SHIFT, GET62(regs, DPU_BS_CFG, MUL_SHIFT));
    PUT(DPU_BS_MUL_CFG, MUL_OPERAND, GET62(regs, DPU_BS_MUL_CFG, MUL_OPERAND));
    PUT(DPU_DATA_FORMAT, BS_MUL_SHIFT_NEG, shift_neg);
    return NULL;
}

static const char *move_bn(uint32_t *to, const uint32_t *regs)
{
    const char *why = check_clamp(regs, &clamp_bn);
    bool off = GET62(regs, DPU_BN_CFG, BYPASS);

    REFUSE_IF(why, why);
    REFUSE_IF(off && is_relu(regs, &clamp_bn), "clamp of a BN that is off");
    COPY(DPU_BN_CFG, DPU_BN_CFG);
    PUT(DPU_BN_CFG, RELU_BYPASS, !is_relu(regs, &clamp_bn));
    PUT(DPU_BN_CFG, RELUX_EN, is_relux(regs, &clamp_bn));
    to[R_DPU_BN_RELUX_CMP] = regs[clamp_bn.high];
    COPY(DPU_BN_ALU_CFG, DPU_BN_ALU_CFG);
    COPY(DPU_BN_MUL_CFG, DPU_BN_MUL_CFG);
    PUT(DPU_DATA_FORMAT, BN_MUL_SHIFT_NEG,
        GET62(regs, DPU_DATA_FORMAT, BN_MUL_SHIFT_NEG));
    return NULL;
}

static void move_ew_operands(uint32_t *to, const uint32_t *regs, bool mul)
{
    PUT(DPU_EW_CFG, OP_TYPE, mul);
    PUT(DPU_EW_CFG, OP_SRC, 1);
    PUT(DPU_EW_CFG, LUT_BYPASS, 1);
    PUT(DPU_EW_CFG, ALU_ALGO, mul ? 0 : NPU_ALU_ADD);
    PUT(DPU_EW_CFG, CVT_TYPE, 1);
    PUT(DPU_EW_CFG, EDATA_SIZE, GET62(regs, RDMA_ERDMA_CFG, DATA_SIZE));
    PUT(DPU_EW_CFG, DATA_MODE, GET62(regs, RDMA_ERDMA_CFG, DATA_MODE));
}

static const char *move_ew(uint32_t *to, const uint32_t *regs)
{
    const char *why = check_clamp(regs, &clamp_ew);

    REFUSE_IF(why, why);
    switch (RAW62(regs, DPU_EW_CFG)) {
    case EW_OFF:
        REFUSE_IF(is_relu(regs, &clamp_ew), "clamp of an EW that is off");
        PUT(DPU_EW_CFG, BYPASS, 1);
        break;
    case EW_LUT:
        REFUSE_IF(RAW62(regs, DPU_LUT_CFG) != LUT_ON, "LUT_CFG");
        to[R_DPU_LUT_CFG] = LUT_ON_RK3588;
        PUT(DPU_EW_CFG, OP_BYPASS, 1);
        break;
    case EW_ADD:
        move_ew_operands(to, regs, false);
        break;
    case EW_MUL:
        move_ew_operands(to, regs, true);
        break;
    default:
        return "form of EW";
    }
    PUT(DPU_EW_CFG, RELU_BYPASS, !is_relu(regs, &clamp_ew));
    PUT(DPU_EW_CFG, RELUX_EN, is_relux(regs, &clamp_ew));
    to[R_DPU_EW_RELUX_CMP] = regs[clamp_ew.high];
    to[R_DPU_EW_CVT_OFFSET] = sextract32(RAW62(regs, DPU_EW_CVT_OFFSET), 0,
                                         16);
    COPY(DPU_EW_CVT_SCALE, DPU_EW_CVT_SCALE);
    return NULL;
}

static void move_lut(uint32_t *to, const uint32_t *regs)
{
    unsigned i;

    for (i = R_RK3562_DPU_LUT_INFO; i <= R_RK3562_DPU_LUT_LO_SLOPE_SHIFT;
         i++) {
        to[i] = regs[i];
    }
}

/* After a ReLU of EW the output repeats it. */
static const char *move_out_cvt(uint32_t *to, const uint32_t *regs)
{
    uint32_t low = RAW62(regs, DPU_OUT_LOW);
    uint32_t out = GET62(regs, DPU_DATA_FORMAT, OUT_PRECISION);

    REFUSE_IF((low != (uint32_t)INT32_MIN &&
               (low || !is_relu(regs, &clamp_ew))) ||
              RAW62(regs, DPU_OUT_HIGH) != INT32_MAX, "clamp of the output");
    COPY(DPU_OUT_CVT_OFFSET, DPU_OUT_CVT_OFFSET);
    PUT(DPU_OUT_CVT_SCALE, SCALE, GET62(regs, DPU_OUT_CVT_SCALE, SCALE));
    PUT(DPU_OUT_CVT_SCALE, FP32TOFP16_EN, is_half(out));
    COPY(DPU_OUT_CVT_SHIFT, DPU_OUT_CVT_SHIFT);
    return NULL;
}

static bool unpools(const uint32_t *regs)
{
    return GET62(regs, DPU_FEATURE_MODE, FLYING) &&
           GET62(regs, RDMA_SRC_DMA_CFG, UNPOOLING_EN);
}

static bool transposes(const uint32_t *regs)
{
    return GET62(regs, DPU_BS_OW_CFG, MOVE) == RK3562_MOVE_TRANSPOSED;
}

/* Unpooling and transposition move words here, halfwords on the RK3588. */
static bool moves_halfwords(const uint32_t *regs)
{
    return unpools(regs) || transposes(regs);
}

/*
 * Of the surfaces of a group those behind the last channel are not written, and
 * where lines are groups the write DMA has the channels of all.
 */
static const char *move_core_groups(const uint32_t *regs, uint32_t *channels,
                                    uint32_t *size)
{
    uint32_t out = GET62(regs, DPU_DATA_FORMAT, OUT_PRECISION);
    uint32_t per_surf = is_half(out) ? NPU_ATOM / 2 : NPU_ATOM;
    uint32_t written = GET62(regs, DPU_CUBE_CHANNEL, CHANNEL) + 1;
    uint32_t surfaces = DIV_ROUND_UP(written, per_surf);
    uint32_t groups = *channels / written;

    REFUSE_IF(*channels % written || (groups > 1 && surfaces > *size + 1),
              "channels of the write DMA");
    if (groups > 1) {
        *channels = groups * surfaces * per_surf;
    }
    *size = MIN(*size, surfaces - 1);
    return NULL;
}

/*
 * Unpooling leaves the last size out.  Where words are moved the write DMA
 * names the channels of one of the surfaces that it writes at a position, and
 * where their bytes change places those of a line that begins there.
 */
static const char *move_groups(uint32_t *to, const uint32_t *regs)
{
    uint32_t size = GET62(regs, DPU_BS_OW_CFG, SIZE_E_0);
    uint32_t last = GET62(regs, DPU_BS_OW_CFG, SIZE_E_2);
    uint32_t channels = GET62(regs, DPU_WDMA_SIZE0, CHANNEL) + 1;
    const char *why;

    REFUSE_IF(GET62(regs, DPU_BS_OW_CFG, SIZE_E_1) != size ||
              (last != size && (last || !unpools(regs))),
              "SIZE_E differs between lines");
    if (!GET62(regs, DPU_FEATURE_MODE, FLYING)) {
        why = move_core_groups(regs, &channels, &size);
        REFUSE_IF(why, why);
    } else if (transposes(regs)) {
        REFUSE_IF(channels % WORDS_OF_ATOM,
                  "transposition to part of an atom");
        PUT(DPU_BS_OW_CFG, TP_ORG_EN, 1);
        PUT(DPU_WDMA_SIZE_0, SIZE_C, channels / WORDS_OF_ATOM - 1);
    } else if (!unpools(regs) && !GET62(regs, DPU_WDMA_SIZE0, WORDS)) {
        channels *= size + 1;
    }
    PUT(DPU_BS_OW_CFG, SIZE_E_0, size);
    PUT(DPU_BS_OW_CFG, SIZE_E_1, size);
    PUT(DPU_BS_OW_CFG, SIZE_E_2, size);
    PUT(DPU_WDMA_SIZE_0, CHANNEL, channels - 1);
    PUT(DPU_WDMA_SIZE_1, WIDTH, GET62(regs, DPU_WDMA_SIZE1, WIDTH));
    PUT(DPU_WDMA_SIZE_1, HEIGHT, GET62(regs, DPU_WDMA_SIZE1, HEIGHT));
    return NULL;
}

/* CORE has whole groups of kernels; what is written of them counts here. */
static void move_cube(uint32_t *to, const uint32_t *regs)
{
    uint32_t channel = GET62(regs, DPU_CUBE_CHANNEL, CHANNEL);

    if (transposes(regs)) {
        channel = 2 * channel + 1;
    }
    PUT(DPU_DATA_CUBE_WIDTH, WIDTH, GET62(regs, DPU_CUBE_WIDTH, WIDTH));
    PUT(DPU_DATA_CUBE_HEIGHT, HEIGHT, GET62(regs, DPU_CUBE_HEIGHT, HEIGHT));
    PUT(DPU_DATA_CUBE_HEIGHT, MINMAX_CTL,
        GET62(regs, DPU_CUBE_HEIGHT, MINMAX_CTL));
    PUT(DPU_DATA_CUBE_NOTCH, NOTCH_0, GET62(regs, DPU_CUBE_NOTCH, NOTCH));
    PUT(DPU_DATA_CUBE_CHANNEL, CHANNEL, channel);
    PUT(DPU_DATA_CUBE_CHANNEL, ORIG_CHANNEL, channel);
    PUT(CORE_DATAOUT_SIZE_1, CHANNEL, channel);
    COPY(DPU_DST_BASE_ADDR, DPU_DST_ADDR);
    to[R_DPU_DST_SURF_STRIDE] = RAW62(regs, DPU_DST_SURF_STRIDE) * NPU_ATOM;
    to[R_DPU_SURFACE_ADD] = RAW62(regs, DPU_SURFACE_ADD) * NPU_ATOM;
    COPY(DPU_OFFSET_PEND, DPU_OFFSET_PEND);
}

/* Is the main input given out as words? */
static bool has_words(const uint32_t *regs)
{
    return GET62(regs, DPU_FEATURE_MODE, FLYING) &&
           GET62(regs, RDMA_FEATURE_MODE, IN_PRECISION) == NPU_PREC_INT32 &&
           GET62(regs, RDMA_FEATURE_MODE, PROC_PRECISION) == NPU_PREC_INT32 &&
           GET62(regs, DPU_DATA_FORMAT, PROC_PRECISION) == NPU_PREC_INT32 &&
           GET62(regs, DPU_DATA_FORMAT, OUT_PRECISION) == NPU_PREC_INT32 &&
           !GET62(regs, DPU_WDMA_SIZE0, WORDS);
}

static const char *check_move(const uint32_t *regs)
{
    bool unaligned = GET62(regs, DPU_FEATURE_MODE, NONALIGN);
    uint32_t channels = GET62(regs, DPU_CUBE_CHANNEL, CHANNEL) + 1;
    uint64_t words = (uint64_t)channels *
                     (GET62(regs, DPU_CUBE_WIDTH, WIDTH) + 1) *
                     (GET62(regs, DPU_CUBE_HEIGHT, HEIGHT) + 1);

    switch (GET62(regs, DPU_BS_OW_CFG, MOVE)) {
    case RK3562_MOVE_NONE:
        return NULL;
    case RK3562_MOVE_UNALIGNED:
        REFUSE_IF(!unaligned, "mode of the write DMA");
        return NULL;
    default:
        REFUSE_IF(unaligned || unpools(regs) || !has_words(regs),
                  "mode of the write DMA");
        REFUSE_IF(transposes(regs) &&
                  (channels % WORDS_OF_ATOM ||
                   GET62(regs, DPU_SURF_LEN, ATOMS) * WORDS_OF_ATOM != words),
                  "transposition of part of an atom");
        return NULL;
    }
}

static const char *check_write(const uint32_t *regs)
{
    bool flying = GET62(regs, DPU_FEATURE_MODE, FLYING);
    bool unaligned = GET62(regs, DPU_FEATURE_MODE, NONALIGN);
    uint32_t move = GET62(regs, DPU_BS_OW_CFG, MOVE);
    uint32_t shift = GET62(regs, DPU_WRITE_SHIFT, BYTES);

    REFUSE_IF(RAW62(regs, DPU_UNKNOWN_40BC), "atoms in another order");
    REFUSE_IF(RAW62(regs, DPU_WRITE_CFG) != (flying ? WRITE_FLYING
                                                    : WRITE_CORE),
              "write DMA of this task");
    REFUSE_IF(!flying && (unaligned || move || shift ||
                          RAW62(regs, DPU_SURF_LEN)),
              "write DMA of a convolution");
    REFUSE_IF(shift && shift != SHIFT_MOVED, "atoms that are shifted");
    REFUSE_IF(npu_rk3562_last_bytes(regs) && !unaligned,
              "part of an atom that is aligned");
    return check_move(regs);
}

static const char *move_mode(uint32_t *to, const uint32_t *regs)
{
    PUT(DPU_FEATURE_MODE_CFG, FLYING_MODE,
        GET62(regs, DPU_FEATURE_MODE, FLYING));
    PUT(DPU_FEATURE_MODE_CFG, OUTPUT_MODE,
        GET62(regs, DPU_FEATURE_MODE, OUTPUT_MODE));
    PUT(DPU_FEATURE_MODE_CFG, CONV_MODE,
        GET62(regs, DPU_FEATURE_MODE, CONV_MODE) ? NPU_MODE_DEPTHWISE
                                                 : NPU_MODE_DIRECT);
    PUT(DPU_FEATURE_MODE_CFG, NONALIGN,
        GET62(regs, DPU_FEATURE_MODE, NONALIGN));
    if (GET62(regs, DPU_FEATURE_MODE, NONALIGN)) {
        uint32_t atoms = GET62(regs, DPU_SURF_LEN, ATOMS);

        REFUSE_IF(atoms > UINT16_MAX, "SURF_LEN above 16 bits");
        PUT(DPU_FEATURE_MODE_CFG, SURF_LEN, atoms);
    }
    return check_write(regs);
}

/* The DPU has no precision of its input: it is CORE's, or MRDMA's. */
static void move_precisions(uint32_t *to, const uint32_t *regs)
{
    uint32_t proc = GET62(regs, DPU_DATA_FORMAT, PROC_PRECISION);
    uint32_t out = GET62(regs, DPU_DATA_FORMAT, OUT_PRECISION);
    uint32_t in = proc;

    if (GET62(regs, DPU_FEATURE_MODE, FLYING)) {
        in = moves_halfwords(regs)
             ? NPU_PREC_INT16 : GET62(regs, RDMA_FEATURE_MODE, IN_PRECISION);
    }
    PUT(DPU_DATA_FORMAT, PROC_PRECISION, transposes(regs) ? in : proc);
    PUT(DPU_DATA_FORMAT, IN_PRECISION, in);
    PUT(DPU_DATA_FORMAT, OUT_PRECISION, transposes(regs) ? in : out);
}

static const char *move_dpu(uint32_t *to, const uint32_t *regs)
{
    const char *why = move_mode(to, regs);

    REFUSE_IF(why, why);
    move_precisions(to, regs);
    why = move_bs(to, regs);
    REFUSE_IF(why, why);
    why = move_bn(to, regs);
    REFUSE_IF(why, why);
    move_lut(to, regs);
    why = move_ew(to, regs);
    REFUSE_IF(why, why);
    why = move_groups(to, regs);
    REFUSE_IF(why, why);
    move_cube(to, regs);
    return move_out_cvt(to, regs);
}

/* --- DPU_RDMA and PPU --- */

static const char *move_rdma_mode(uint32_t *to, const uint32_t *regs)
{
    bool flying = GET62(regs, RDMA_FEATURE_MODE, FLYING);
    uint32_t in = GET62(regs, RDMA_FEATURE_MODE, IN_PRECISION);
    uint32_t mode = GET62(regs, RDMA_FEATURE_MODE, CONV_MODE);

    REFUSE_IF(GET62(regs, RDMA_FEATURE_MODE, UNKNOWN) !=
              (flying || !GET62(regs, RDMA_ERDMA_CFG, DISABLE)),
              "mode of the RDMA");
    REFUSE_IF(unpools(regs) && in != NPU_PREC_INT32,
              "unpooling but by words");
    PUT(RDMA_FEATURE_MODE_CFG, FLYING_MODE, flying);
    PUT(RDMA_FEATURE_MODE_CFG, CONV_MODE, mode == RK3562_MODE_DEPTHWISE
                                          ? NPU_MODE_DEPTHWISE : mode);
    PUT(RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE,
        GET62(regs, RDMA_FEATURE_MODE, MRDMA_DISABLE));
    PUT(RDMA_FEATURE_MODE_CFG, PROC_PRECISION, transposes(regs)
        ? NPU_PREC_INT16 : GET62(regs, RDMA_FEATURE_MODE, PROC_PRECISION));
    PUT(RDMA_FEATURE_MODE_CFG, IN_PRECISION,
        moves_halfwords(regs) ? NPU_PREC_INT16 : in);
    PUT(RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32, flying && is_half(in));
    return NULL;
}

static const char *move_rdma(uint32_t *to, const uint32_t *regs)
{
    bool flying = GET62(regs, RDMA_FEATURE_MODE, FLYING);
    uint32_t channel = GET62(regs, RDMA_CUBE_CHANNEL, CHANNEL);
    uint32_t notch = GET62(regs, RDMA_LINE_NOTCH, ATOMS);
    const char *why = move_rdma_mode(to, regs);

    REFUSE_IF(why, why);
    if (!flying) {
        /* As of CORE. */
        REFUSE_IF(channel != GET62(regs, CORE_SIZE1, CHANNEL),
                  "CORE and RDMA disagree about the channels");
        channel = GET62(regs, DPU_CUBE_CHANNEL, CHANNEL);
    } else if (moves_halfwords(regs)) {
        channel = 2 * channel + 1;
    }
    /* It is behind lines, and there is one. */
    if (flying && !GET62(regs, RDMA_CUBE_HEIGHT, HEIGHT)) {
        notch = 0;
    }
    PUT(RDMA_DATA_CUBE_CHANNEL, CHANNEL, channel);
    PUT(RDMA_DATA_CUBE_WIDTH, WIDTH, GET62(regs, RDMA_CUBE_WIDTH, WIDTH));
    PUT(RDMA_DATA_CUBE_HEIGHT, HEIGHT, GET62(regs, RDMA_CUBE_HEIGHT, HEIGHT));
    COPY(RDMA_SRC_BASE_ADDR, RDMA_SRC_ADDR);
    COPY(RDMA_BRDMA_CFG, RDMA_BRDMA_CFG);
    COPY(RDMA_BS_BASE_ADDR, RDMA_BS_ADDR);
    COPY(RDMA_NRDMA_CFG, RDMA_NRDMA_CFG);
    COPY(RDMA_BN_BASE_ADDR, RDMA_BN_ADDR);
    COPY(RDMA_ERDMA_CFG, RDMA_ERDMA_CFG);
    COPY(RDMA_EW_BASE_ADDR, RDMA_EW_ADDR);
    COPY(RDMA_SRC_DMA_CFG, RDMA_SRC_DMA_CFG);
    to[R_RDMA_EW_SURF_STRIDE] = RAW62(regs, RDMA_EW_SURF_STRIDE) * NPU_ATOM;
    to[R_RDMA_SURF_NOTCH] = RAW62(regs, RDMA_SURF_NOTCH) * NPU_ATOM;
    to[R_RDMA_EW_SURF_NOTCH] = RAW62(regs, RDMA_EW_SURF_NOTCH) * NPU_ATOM;
    REFUSE_IF(notch >> R_RDMA_SRC_DMA_CFG_LINE_NOTCH_LENGTH,
              "notch behind lines above 13 bits");
    PUT(RDMA_SRC_DMA_CFG, LINE_NOTCH, notch);
    return NULL;
}

static const char *move_ppu(uint32_t *to, const uint32_t *regs)
{
    memcpy(to + A_PPU_S_STATUS / 4, regs + A_PPU_S_STATUS / 4,
           2 * 0x1000);
    REFUSE_IF(RAW62(regs, PPU_RDMA_DATA_FORMAT) != PPU_RDMA_BYTES,
              "pooling precision");
    PUT(PPU_RDMA_DATA_FORMAT, IN_PRECISION, 1);
    return npu_rk3568_move_pad(to, regs);
}

const char *npu_rk3562_move(uint32_t *to, const uint32_t *regs,
                            uint32_t enable)
{
    const uint32_t pool = NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA;
    const char *why = npu_known_check(known, ARRAY_SIZE(known), NULL, regs,
                                      enable & ~pool);

    REFUSE_IF(why, why);
    memset(to, 0, NPU_REGFILE_SIZE);
    memcpy(to, regs, 0x1000);
    REFUSE_IF((enable & NPU_ENABLE_DPU) && (enable & NPU_ENABLE_PPU),
              "pooling of what has not been in memory");
    if (enable & NPU_ENABLE_CNA) {
        why = move_cna(to, regs);
        REFUSE_IF(why, why);
    }
    if (enable & NPU_ENABLE_DPU) {
        why = move_dpu(to, regs);
        REFUSE_IF(why, why);
    }
    if (enable & NPU_ENABLE_DPU_RDMA) {
        why = move_rdma(to, regs);
        REFUSE_IF(why, why);
    }
    return enable & NPU_ENABLE_PPU ? move_ppu(to, regs) : NULL;
}

uint32_t npu_rk3562_last_bytes(const uint32_t *regs)
{
    return GET62(regs, DPU_FEATURE_MODE, LAST_BYTES);
}

/* --- What the RK3588's registers do not say --- */

/* How weights lie (row cna.rk3562-weights). */
static const char *finish_weights(NpuConv *c, const uint32_t *regs)
{
    uint32_t kernels = GET62(regs, CNA_WEIGHT_SIZE2, KERNELS);
    uint32_t bytes = GET62(regs, CNA_WEIGHT_SIZE1, BYTES_PER_KERNEL);

    if (c->packed) {
        c->packed_weights = true;
        c->packed_tight = true;
        c->pad_channels = c->packed;
        REFUSE_IF(bytes != npu_argb_kernel_bytes(c),
                  "bytes per kernel do not match its shape");
    }
    if (c->depthwise) {
        c->dw_pairs = GET62(regs, CNA_CONV_CON1, CONV_MODE) ==
                      RK3562_MODE_DEPTHWISE_PAIRS;
        c->zero_point = c->dw_pairs ? 0 : ADD_VALUE;
        c->cpend = !c->dw_pairs;
        c->stored_c = ROUND_UP(GET62(regs, CNA_DATA_SIZE1, CHANNEL),
                               RK3562_DEPTHWISE_CHANNELS);
        REFUSE_IF(bytes != c->k_w * c->k_h * c->stored_c,
                  "bytes per kernel do not match its shape");
        REFUSE_IF(kernels != (c->dw_pairs ? 2 : 1),
                  "depthwise kernels but one");
    }
    if (c->packed || c->depthwise) {
        /* An odd kernel of halves has another one behind it. */
        if (c->bits == 16 && c->k_w * c->k_h == 1) {
            kernels = ROUND_UP(kernels, 2);
        }
        c->weight_bytes = (size_t)kernels * bytes;
        REFUSE_IF(c->weight_bytes != RAW62(regs, CNA_WEIGHT_SIZE0),
                  "weight bytes do not match the kernels");
    }
    return NULL;
}

/*
 * Rows of the task before are those ahead of FETCH, in a ring of the feature's
 * banks, as on the RK3576.
 */
static const char *finish_ring(NpuTask *t, const uint32_t *regs)
{
    NpuConv *c = &t->conv;
    uint32_t first = GET62(regs, CNA_CBUF_ROW, START);
    uint32_t banks = GET62(regs, CNA_CBUF_DATA, BANKS);
    uint32_t end = GET62(regs, CNA_CBUF_DATA, END_BANK);
    uint32_t fetched = c->packed ? c->in_h : GET62(regs, CNA_DMA_SIZE, HEIGHT);

    REFUSE_IF(fetched > c->in_h ||
              (fetched < c->in_h) != GET62(regs, CNA_CBUF_DATA, RETAIN),
              "rows retained in CBUF against the rows that are fetched");
    REFUSE_IF(!banks || banks > end || end > RK3562_CBUF_BANKS,
              "banks of CBUF");
    c->feature.kept = c->in_h - fetched;
    c->feature.cube.granule = first;
    c->row_granules = c->packed ? pixel_granules(regs)
                                : GET62(regs, CNA_DATA_ROW, GRANULES);
    c->window_base = (end - banks) * RK3562_CBUF_BANK_GRANULES;
    c->window_size = banks * RK3562_CBUF_BANK_GRANULES;
    REFUSE_IF((!c->packed && c->row_granules != npu_task_cbuf_entries(t)) ||
              (GET62(regs, CNA_CBUF_ROW, GRANULES) != c->row_granules &&
               (c->in_h > 1 || GET62(regs, CNA_CBUF_ROW, GRANULES))),
              "granules of a row that its width does not give");
    REFUSE_IF(first < c->window_base ||
              first - c->window_base >= c->window_size,
              "row sequence outside its banks");
    REFUSE_IF((first - c->window_base + c->feature.kept * c->row_granules) %
              c->window_size !=
              GET62(regs, CNA_CBUF_START, FETCH) - c->window_base,
              "fetch that resumes elsewhere than behind kept rows");
    return NULL;
}

/* Weights begin in a bank of their own, behind the features. */
static const char *find_short(const NpuConv *c, const uint32_t *regs)
{
    uint32_t weights = GET62(regs, CNA_CBUF_START, WEIGHT);
    uint32_t end = GET62(regs, CNA_CBUF_WEIGHT, END_BANK) *
                   RK3562_CBUF_BANK_GRANULES;
    size_t kernels = c->weight_reuse ? c->weight_bytes : c->weight_bytes /
                     DIV_ROUND_UP(c->kernels, c->kernel_group);

    REFUSE_IF(c->window_base + c->window_size > weights || weights >= end ||
              end > RK3562_CBUF_BANKS * RK3562_CBUF_BANK_GRANULES,
              "windows of CBUF out of order");
    REFUSE_IF((uint64_t)c->row_granules * c->in_h > c->window_size,
              "feature data exceeds its window of CBUF");
    REFUSE_IF(kernels > (end - weights) * RK3562_CBUF_GRANULE_BYTES,
              "weights exceed their window of CBUF");
    return NULL;
}

const char *npu_rk3562_finish(NpuTask *t, const uint32_t *regs)
{
    NpuConv *c = &t->conv;
    const char *why;

    if (t->kind != NPU_KIND_CONV) {
        return NULL;
    }
    REFUSE_IF(t->dpu.out_precision != c->precision,
              "output of another precision");
    why = finish_weights(c, regs);
    REFUSE_IF(why, why);
    why = finish_ring(t, regs);
    REFUSE_IF(why, why);
    c->windows = true;
    c->window_short = find_short(c, regs);
    return NULL;
}
