/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the RK3568 NPU: its registers are put where the RK3588 has them,
 * whose decoders then read both.
 *
 * There is no manual.  What a program may contain is what Rockchip's compilers
 * have been seen to write; other values of what has moved are refused (row
 * soc.rk3568-encoding).
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "decode.h"
#include "known.h"
#include "rk3568.h"
#include "stage.h"

#define NPU_REG(block, reg, offset)                                         \
    REG32(RK3568_##block##_##reg, offset)
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    FIELD(RK3568_##block##_##reg, field, lsb, width)
#include "npu/rk3568_regs.h"

/* Does the RK3588 have a register there, too? */
static bool is_common(uint32_t word)
{
    switch (word * 4) {
#define NPU_REG(block, reg, offset) case offset:
#include "npu/rk3588_regs.h"
        return true;
    default:
        return false;
    }
}

static const NpuKnownField known[] = {
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    NPU_KNOWN_FIELD(RK3568, block, reg, field)
#include "npu/rk3568_regs.h"
};

#define GET68(regs, reg, field)     GET(regs, RK3568_##reg, field)
#define PUT(reg, field, value)                                              \
    (to[R_##reg] = FIELD_DP32(to[R_##reg], reg, field, value))

/* The fields of the table. */
#define CNA_CON1_KNOWN      0x0001f77f
#define DPU_MODE_KNOWN      0x43ffffff
#define CNA_DMA_KNOWN       0x00171c07
#define DPU_BURST_KNOWN     4
#define RDMA_BURST_DEADLY   7
#define ALL_LANES           0xffff
#define ARGB_OF_THREE       10

/* Is there more in a word than @mask? */
#define REFUSE_BITS(reg, mask)                                              \
    REFUSE_IF(regs[R_##reg] & ~(uint32_t)(mask),                            \
              "bits of " #reg " that nobody has seen")

/* Whatever it is good for, compilers write it for three channels alone. */
static const char *check_1018(const uint32_t *regs)
{
    uint32_t positions = GET(regs, CNA_DATA_SIZE0, DATAIN_WIDTH) *
                         GET(regs, CNA_DATA_SIZE0, DATAIN_HEIGHT);
    bool rgb = GET68(regs, CNA_CONV_CON1, ARGB_IN) == ARGB_OF_THREE;

    REFUSE_IF(GET68(regs, CNA_UNKNOWN_1018, VALUE) !=
              (rgb ? 9 * positions : 0), "CNA's 0x1018");
    return NULL;
}

static const char *move_cna(uint32_t *to, const uint32_t *regs)
{
    const char *why = check_1018(regs);
    bool packed = GET68(regs, CNA_CONV_CON1, ARGB_IN);
    uint32_t pad = GET68(regs, CNA_PAD_CON0, PAD_VALUE);
    uint32_t precision = GET68(regs, CNA_CONV_CON1, IN_PRECISION);

    REFUSE_IF(why, why);
    REFUSE_BITS(CNA_CONV_CON1, CNA_CON1_KNOWN);
    PUT(CNA_CONV_CON1, PROC_PRECISION,
        GET68(regs, CNA_CONV_CON1, PROC_PRECISION));
    PUT(CNA_CONV_CON1, ARGB_IN, GET68(regs, CNA_CONV_CON1, ARGB_IN));
    /* Lines are fetched one by one. */
    PUT(CNA_CONV_CON1, GROUP_LINE_OFF, 1);
    PUT(CNA_CONV_CON1, NONALIGN_DMA, packed);
    PUT(CNA_CVT_CON0, CVT_BYPASS, !GET68(regs, CNA_CVT_CON0, CVT_EN));
    to[R_CNA_CVT_CON5] = ALL_LANES;
    /* Bytes have it twice. */
    to[R_CNA_PAD_CON1] = precision == NPU_PREC_INT8 ? (uint8_t)pad * 0x101
                                                    : pad;
    to[R_CNA_DMA_CON2] = GET68(regs, CNA_DMA_CON2, SURF_STRIDE) -
                         GET(regs, CNA_FC_DATA_SIZE0, DMA_WIDTH);
    REFUSE_IF(regs[R_CNA_DMA_CON0] != CNA_DMA_KNOWN, "fetches of the CNA");
    REFUSE_IF(regs[R_CNA_DCOMP_CTRL], "compressed weights of an RK3568");
    return NULL;
}

static const char *move_core(uint32_t *to, const uint32_t *regs)
{
    uint32_t precision = GET68(regs, CMAC_MISC_CFG, PROC_PRECISION);
    uint32_t depthwise = GET68(regs, CMAC_MISC_CFG, DW_EN);

    REFUSE_IF(GET68(regs, CORE_MISC_CFG, PROC_PRECISION) != precision ||
              GET68(regs, CORE_MISC_CFG, DW_EN) != depthwise,
              "CMAC and CORE disagree");
    to[R_CORE_MISC_CFG] = 0;
    PUT(CORE_MISC_CFG, QD_EN, GET68(regs, CMAC_MISC_CFG, QD_EN));
    PUT(CORE_MISC_CFG, DW_EN, depthwise);
    PUT(CORE_MISC_CFG, PROC_PRECISION, precision);
    to[R_CORE_DATAOUT_SIZE_0] = regs[R_RK3568_CORE_DATAOUT_SIZE_0];
    to[R_CORE_DATAOUT_SIZE_1] = regs[R_RK3568_CORE_DATAOUT_SIZE_1];
    REFUSE_IF(regs[R_CORE_DATAOUT_SIZE_1],
              "words of CORE that nobody has seen");
    to[R_CORE_CLIP_TRUNCATE] = regs[R_RK3568_CORE_CLIP_TRUNCATE];
    return NULL;
}

/* Of BS and BN, whose words are alike. */
static uint32_t move_stage(uint32_t cfg)
{
    uint32_t algo = FIELD_EX32(cfg, RK3568_DPU_BS_CFG, ALU_ALGO);

    cfg &= ~R_RK3568_DPU_BS_CFG_ALU_ALGO_MASK;
    return FIELD_DP32(cfg, DPU_BS_CFG, ALU_ALGO, algo);
}

static bool is_half(uint32_t precision)
{
    return precision == NPU_PREC_FP16;
}

/* A converter that changes nothing widens halves, of products, too. */
static void move_ew(uint32_t *to, const uint32_t *regs)
{
    uint32_t size = GET68(regs, RDMA_ERDMA_CFG, DATA_SIZE) + 1;
    uint32_t algo = GET68(regs, DPU_EW_CFG, ALU_ALGO);

    to[R_DPU_EW_CFG] &= ~R_RK3568_DPU_EW_CFG_ALU_ALGO_MASK;
    PUT(DPU_EW_CFG, ALU_ALGO, algo);
    if (GET(regs, DPU_EW_CFG, OP_SRC)) {
        PUT(DPU_EW_CFG, EDATA_SIZE, size);
    }
    PUT(RDMA_ERDMA_CFG, DATA_SIZE, size);
    if (GET(regs, DPU_EW_CFG, OP_TYPE) && !regs[R_DPU_EW_CVT_OFFSET] &&
        regs[R_DPU_EW_CVT_SCALE] == 1 &&
        is_half(GET(regs, DPU_DATA_FORMAT, IN_PRECISION))) {
        PUT(DPU_EW_CFG, OP_CVT_BYPASS, 1);
    }
}

/*
 * Types that the RK3588 names otherwise.  Quotients of halves that nothing
 * widens are halves for the stages and 16-bit integers for the DMAs; words of
 * floats are halves for the stages.
 */
static void move_types(uint32_t *to, const uint32_t *regs)
{
    uint32_t in = GET(regs, DPU_DATA_FORMAT, IN_PRECISION);
    uint32_t out = GET(regs, DPU_DATA_FORMAT, OUT_PRECISION);

    if (!is_half(GET(regs, DPU_DATA_FORMAT, PROC_PRECISION)) ||
        GET(regs, RDMA_FEATURE_MODE_CFG, IN_PRECISION) != in) {
        return;
    }
    if (in == NPU_PREC_INT16 && out == NPU_PREC_INT16) {
        PUT(DPU_DATA_FORMAT, IN_PRECISION, NPU_PREC_FP16);
        PUT(DPU_DATA_FORMAT, OUT_PRECISION, NPU_PREC_FP16);
        PUT(RDMA_FEATURE_MODE_CFG, IN_PRECISION, NPU_PREC_FP16);
    } else if (in == NPU_PREC_FP32) {
        PUT(DPU_DATA_FORMAT, PROC_PRECISION, NPU_PREC_FP32);
        PUT(RDMA_FEATURE_MODE_CFG, PROC_PRECISION, NPU_PREC_FP32);
    }
}

/*
 * TP_EN writes a surface for each of a line's columns, in which what were
 * surfaces are columns.
 */
static const char *move_transposition(uint32_t *to, const uint32_t *regs)
{
    uint32_t surfaces = DIV_ROUND_UP(
        (GET(regs, DPU_DATA_CUBE_CHANNEL, CHANNEL) + 1) * 2, RK3568_ATOM);

    REFUSE_IF(GET(regs, DPU_DATA_CUBE_HEIGHT, HEIGHT) ||
              GET(regs, DPU_DATA_CUBE_WIDTH, WIDTH) !=
              GET(regs, DPU_BS_OW_CFG, SIZE_E_0), "transposition");
    PUT(DPU_FEATURE_MODE_CFG, TP_EN, 1);
    PUT(DPU_WDMA_SIZE_0, TP_PRECISION, 1);
    PUT(DPU_WDMA_SIZE_1, WIDTH, surfaces - 1);
    return NULL;
}

/*
 * The cube is what memory gets; what the DPU is given has the shape that CORE
 * or MRDMA have.
 */
static void move_cube(uint32_t *to, const uint32_t *regs, bool flying)
{
    to[R_DPU_WDMA_SIZE_0] = GET(regs, DPU_DATA_CUBE_CHANNEL, CHANNEL);
    to[R_DPU_WDMA_SIZE_1] = 0;
    PUT(DPU_WDMA_SIZE_1, WIDTH, GET(regs, DPU_DATA_CUBE_WIDTH, WIDTH));
    PUT(DPU_WDMA_SIZE_1, HEIGHT, GET(regs, DPU_DATA_CUBE_HEIGHT, HEIGHT));
    if (flying) {
        return;
    }
    PUT(DPU_DATA_CUBE_WIDTH, WIDTH, GET68(regs, CORE_DATAOUT_SIZE_0, WIDTH));
    PUT(DPU_DATA_CUBE_HEIGHT, HEIGHT,
        GET68(regs, CORE_DATAOUT_SIZE_0, HEIGHT));
    PUT(DPU_DATA_CUBE_CHANNEL, CHANNEL,
        GET68(regs, CORE_DATAOUT_SIZE_1, CHANNEL));
}

static const char *move_dpu(uint32_t *to, const uint32_t *regs)
{
    bool flying = GET68(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE);

    REFUSE_BITS(DPU_FEATURE_MODE_CFG, DPU_MODE_KNOWN);
    REFUSE_IF(GET68(regs, DPU_FEATURE_MODE_CFG, BURST_LEN) != DPU_BURST_KNOWN,
              "burst of the DPU");
    REFUSE_IF(GET(regs, DPU_DATA_CUBE_HEIGHT, MINMAX_CTL) ||
              GET(regs, DPU_BS_OW_CFG, TP_ORG_EN) ||
              GET(regs, DPU_DATA_FORMAT, MC_SURF_OUT),
              "output of an RK3568 in another order");
    to[R_DPU_FEATURE_MODE_CFG] = 0;
    PUT(DPU_FEATURE_MODE_CFG, FLYING_MODE, flying);
    PUT(DPU_FEATURE_MODE_CFG, OUTPUT_MODE,
        GET68(regs, DPU_FEATURE_MODE_CFG, OUTPUT_MODE) |
        GET68(regs, DPU_FEATURE_MODE_CFG, TO_PPU));
    PUT(DPU_FEATURE_MODE_CFG, CONV_MODE,
        GET68(regs, DPU_FEATURE_MODE_CFG, CONV_MODE));
    PUT(DPU_FEATURE_MODE_CFG, SURF_LEN,
        GET68(regs, DPU_FEATURE_MODE_CFG, SURF_LEN));
    PUT(DPU_FEATURE_MODE_CFG, NONALIGN,
        GET(regs, DPU_FEATURE_MODE_CFG, NONALIGN));
    to[R_DPU_BS_CFG] = move_stage(regs[R_DPU_BS_CFG]);
    to[R_DPU_BN_CFG] = move_stage(regs[R_DPU_BN_CFG]);
    move_ew(to, regs);
    move_cube(to, regs, flying);
    /* Halves that are moved come in as 16-bit integers. */
    PUT(DPU_OUT_CVT_SCALE, FP32TOFP16_EN,
        is_half(GET(regs, DPU_DATA_FORMAT, OUT_PRECISION)) &&
        GET(regs, DPU_DATA_FORMAT, IN_PRECISION) != NPU_PREC_INT16);
    if (flying) {
        move_types(to, regs);
    }
    return GET(regs, DPU_FEATURE_MODE_CFG, TP_EN)
           ? move_transposition(to, regs) : NULL;
}

const char *npu_rk3568_stall(const uint32_t *regs, uint32_t enable)
{
    REFUSE_IF((enable & NPU_ENABLE_DPU_RDMA) &&
              GET(regs, RDMA_FEATURE_MODE_CFG, BURST_LEN) == RDMA_BURST_DEADLY,
              "burst of DPU_RDMA that hangs the bus");
    return NULL;
}

static const char *move_rdma(uint32_t *to, const uint32_t *regs)
{
    bool flying = GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE);
    uint32_t end;

    PUT(RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE, !flying);
    PUT(RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32, flying &&
        is_half(GET(regs, RDMA_FEATURE_MODE_CFG, IN_PRECISION)));
    to[R_RDMA_EW_SURF_NOTCH] = 0;
    /* Compilers have an ERDMA fetch for an EW that is off. */
    if (GET(regs, DPU_EW_CFG, BYPASS)) {
        PUT(RDMA_ERDMA_CFG, DISABLE, 1);
    }
    /* The last of a surface's atoms, of which there may be four times some. */
    end = ROUND_UP(regs[R_RK3568_RDMA_EW_SURF_END] + 1, 4 * RK3568_ATOM);
    REFUSE_IF(!GET(to, RDMA_ERDMA_CFG, DISABLE) &&
              end != ROUND_UP(regs[R_RDMA_EW_SURF_STRIDE], 4 * RK3568_ATOM),
              "end of EW's surfaces");
    return NULL;
}

const char *npu_rk3568_move_pad(uint32_t *to, const uint32_t *regs)
{
    int32_t pad = sextract32(regs[R_RK3568_PPU_PADDING_VALUE_1], 0, 19), i;
    bool used = GET(regs, PPU_OPERATION_MODE_CFG, POOLING_METHOD) ==
                NPU_POOL_AVERAGE;

    for (i = 1; used && i < 4; i++) {
        REFUSE_IF(sextract32(regs[R_RK3568_PPU_PADDING_VALUE_1 + i], 0, 19) !=
                  pad * (i + 1), "multiples of the pad value");
    }
    to[R_PPU_PADDING_VALUE_2] = 0;
    return NULL;
}

static const char *move_ppu_rdma(uint32_t *to, const uint32_t *regs)
{
    uint32_t precision = GET(regs, PPU_RDMA_DATA_FORMAT, IN_PRECISION);

    REFUSE_IF(precision != NPU_PREC_INT8 && !is_half(precision),
              "pooling precision");
    REFUSE_IF(regs[R_RK3568_PPU_RDMA_UNKNOWN_7018] != 1, "fetches of the PPU");
    PUT(PPU_RDMA_DATA_FORMAT, IN_PRECISION, is_half(precision) ? 2 : 1);
    return NULL;
}

/* Compilers have an average of one half alone there, which is a factor. */
static const char *check_fed_ppu(const uint32_t *regs, uint32_t enable)
{
    REFUSE_IF(!(enable & NPU_ENABLE_CNA) || (enable & NPU_ENABLE_PPU_RDMA) ||
              GET(regs, PPU_OPERATION_MODE_CFG, POOLING_METHOD) !=
              NPU_POOL_AVERAGE || regs[R_PPU_POOLING_KERNEL_CFG] ||
              !is_half(GET(regs, PPU_DATA_FORMAT, PROC_PRECISION)),
              "pooling of what has not been in memory");
    return NULL;
}

static const char *move_ppu(uint32_t *to, const uint32_t *regs,
                            uint32_t enable)
{
    const char *why = enable & NPU_ENABLE_DPU ? check_fed_ppu(regs, enable)
                                              : move_ppu_rdma(to, regs);

    return why ? why : npu_rk3568_move_pad(to, regs);
}

const char *npu_rk3568_move(uint32_t *to, const uint32_t *regs,
                            uint32_t enable)
{
    const char *why = npu_known_check(known, ARRAY_SIZE(known), is_common,
                                      regs, enable);

    REFUSE_IF(why, why);
    memcpy(to, regs, NPU_REGFILE_SIZE);
    REFUSE_IF(!(enable & RK3568_ENABLE_CMAC) != !(enable & NPU_ENABLE_CNA),
              "CNA without CMAC");
    if (enable & NPU_ENABLE_CNA) {
        why = move_cna(to, regs);
        REFUSE_IF(why, why);
        why = move_core(to, regs);
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
    return enable & NPU_ENABLE_PPU ? move_ppu(to, regs, enable) : NULL;
}

const char *npu_rk3568_check_output(const NpuTask *t, const uint32_t *regs)
{
    uint32_t out = GET(regs, DPU_DATA_FORMAT, OUT_PRECISION);

    REFUSE_IF(t->conv.precision != NPU_PREC_INT8 &&
              t->conv.precision != NPU_PREC_FP16,
              "convolution of other types of an RK3568");
    REFUSE_IF(out != t->conv.precision && out != NPU_PREC_FP16 &&
              !(out == NPU_PREC_FP32 && is_half(t->conv.precision) &&
                t->encoding == NPU_ENCODING_RK3568),
              "output precision for this input precision");
    return NULL;
}

static const char *check_cbuf(const NpuConv *c)
{
    REFUSE_IF(c->data_banks + c->weight_banks > RK3568_CBUF_BANKS,
              "more banks than CBUF has");
    return NULL;
}

/* Lengths that the RK3588 does not have are those of its operands. */
const char *npu_rk3568_check_task(const NpuTask *t, const uint32_t *regs)
{
    size_t bs = npu_task_stage_bytes(t, NPU_STAGE_BS);
    size_t bn = npu_task_stage_bytes(t, NPU_STAGE_BN);

    REFUSE_IF(bs && bs != (GET68(regs, RDMA_BS_LENGTH, WORDS) + 1) * 8,
              "length of the operands of BS");
    REFUSE_IF(bn && bn != (GET68(regs, RDMA_BN_LENGTH, WORDS) + 1) * 8,
              "length of the operands of BN");
    return t->kind == NPU_KIND_CONV ? check_cbuf(&t->conv) : NULL;
}
