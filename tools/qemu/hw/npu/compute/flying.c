/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RK3588 NPU's DPU on its own ("flying"): its main input comes from memory
 * by MRDMA instead of from the CORE.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "flying.h"
#include "cube.h"
#include "decode.h"
#include "dpu.h"
#include "numeric.h"
#include "stream.h"

/* COMB_USE with which ERDMA fetches a half of the main input. */
#define COMB_USE_MAIN_PAIR      3
#define BLOCK_ROWS      64              /* positions at a time */
#define MAX_LANES       NPU_ATOM        /* elements in an atom */

typedef struct FlyRun {
    const NpuTask *t;
    const NpuOperands *in;
    uint8_t *out;
    uint32_t bytes;         /* of an input element */
    union {
        int32_t acc_i[BLOCK_ROWS * MAX_LANES];
        float acc_f[BLOCK_ROWS * MAX_LANES];
    };
} FlyRun;

/* Pairs that somebody has run on silicon. */
static const char *check_types(const NpuTask *t)
{
    const NpuDpu *d = &t->dpu;

    switch (d->precision) {
    case NPU_PREC_INT8:
        REFUSE_IF(d->out_precision != NPU_PREC_INT8 &&
                  d->out_precision != NPU_PREC_FP16 &&
                  (d->out_precision != NPU_PREC_FP32 ||
                   (t->encoding != NPU_ENCODING_RK3562 &&
                    t->encoding != NPU_ENCODING_RK3568)),
                  "output precision of a flying DPU");
        return NULL;
    case NPU_PREC_INT16:
        REFUSE_IF(d->out_precision != NPU_PREC_INT16 &&
                  d->out_precision != NPU_PREC_INT32,
                  "output precision of a flying DPU");
        return NULL;
    case NPU_PREC_INT32:
        REFUSE_IF(d->out_precision != NPU_PREC_INT32 &&
                  d->out_precision != NPU_PREC_FP32,
                  "output precision of a flying DPU");
        return NULL;
    case NPU_PREC_FP16:
        REFUSE_IF(d->out_precision != NPU_PREC_FP16 &&
                  d->out_precision != NPU_PREC_FP32 &&
                  d->out_precision != NPU_PREC_BF16 &&
                  d->out_precision != NPU_PREC_INT8,
                  "output precision of a flying DPU");
        return NULL;
    case NPU_PREC_BF16:
        REFUSE_IF(d->out_precision != NPU_PREC_FP16,
                  "output precision of a flying DPU");
        return NULL;
    default:
        REFUSE_IF(d->out_precision != NPU_PREC_FP32 &&
                  d->out_precision != NPU_PREC_FP16,
                  "output precision of a flying DPU");
        return NULL;
    }
}

/* Rockchip's compilers have bytes and halves enlarged as 16-bit integers. */
static bool unpools_raw(const NpuDpu *d, uint8_t proc, const uint32_t *regs)
{
    return GET(regs, RDMA_SRC_DMA_CFG, UNPOOLING_EN) &&
           d->precision == NPU_PREC_INT16 &&
           (proc == NPU_PREC_INT8 || proc == NPU_PREC_FP16);
}

/*
 * Halves and bf16 become fp32 in MRDMA, so that the DPU's precision is that of
 * its operands alone: an inverse square root of Rockchip's compilers has all
 * four pairs.
 */
static bool differ_in_halves(uint8_t dpu, uint8_t rdma, const uint32_t *regs)
{
    return dpu != rdma && (dpu == NPU_PREC_FP16 || dpu == NPU_PREC_BF16) &&
           (rdma == NPU_PREC_FP16 || rdma == NPU_PREC_BF16) &&
           GET(regs, DPU_DATA_FORMAT, PROC_PRECISION) == dpu &&
           GET(regs, RDMA_FEATURE_MODE_CFG, PROC_PRECISION) == rdma &&
           GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32);
}

const char *npu_flying_precision(NpuDpu *d, const uint32_t *regs)
{
    uint8_t rdma = GET(regs, RDMA_FEATURE_MODE_CFG, IN_PRECISION);
    uint8_t proc = GET(regs, RDMA_FEATURE_MODE_CFG, PROC_PRECISION);

    d->precision = rdma;
    d->operands = GET(regs, DPU_DATA_FORMAT, IN_PRECISION);
    REFUSE_IF((d->operands != rdma ||
               GET(regs, DPU_DATA_FORMAT, PROC_PRECISION) != proc) &&
              !differ_in_halves(d->operands, rdma, regs),
              "DPU and RDMA disagree about the precision");
    if (unpools_raw(d, proc, regs)) {
        d->raw = true;
        d->precision = proc == NPU_PREC_INT8 ? NPU_PREC_INT8 : NPU_PREC_INT16;
        return NULL;
    }
    REFUSE_IF(proc != d->precision, "precision that MRDMA converts");
    switch (d->precision) {
    case NPU_PREC_FP16:
        d->halves = !GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32);
        d->is_float = true;
        return NULL;
    case NPU_PREC_BF16:
        REFUSE_IF(!GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32),
                  "bf16 that is not widened");
        d->is_float = true;
        return NULL;
    case NPU_PREC_FP32:
        d->is_float = true;
        return NULL;
    case NPU_PREC_INT8:
    case NPU_PREC_INT16:
    case NPU_PREC_INT32:
        return NULL;
    default:
        return "input precision";
    }
}

/* Every atom a few times, so that the copies make the lines of a surface. */
static const char *decode_unpooling(NpuStream *s, const uint32_t *regs)
{
    s->copies_x = GET(regs, RDMA_SRC_DMA_CFG, KERNEL_WIDTH) + 1;
    s->copies_y = GET(regs, RDMA_SRC_DMA_CFG, KERNEL_HEIGHT) + 1;
    REFUSE_IF(GET(regs, RDMA_SRC_DMA_CFG, KERNEL_STRIDE_WIDTH) + 1 !=
              s->copies_x ||
              GET(regs, RDMA_SRC_DMA_CFG, KERNEL_STRIDE_HEIGHT) + 1 !=
              s->copies_y || regs[R_RDMA_PAD_CFG] ||
              GET(regs, RDMA_SRC_DMA_CFG, POOLING_METHOD),
              "unpooling but by copies");
    /* Never seen but so. */
    REFUSE_IF(GET(regs, DPU_BS_OW_CFG, SIZE_E_0) + 1 != s->copies_y,
              "unpooling with groups of other than its copies");
    return NULL;
}

/*
 * MRDMA says how much there is: the cube of a flying DPU may be larger, or of
 * another shape (programs of Rockchip's compilers).
 */
const char *npu_flying_shape(NpuTask *t, const uint32_t *regs)
{
    NpuDpu *d = &t->dpu;
    uint32_t w = GET(regs, RDMA_DATA_CUBE_WIDTH, WIDTH) + 1;
    uint32_t h = GET(regs, RDMA_DATA_CUBE_HEIGHT, HEIGHT) + 1;
    const char *why = NULL;

    if (GET(regs, RDMA_SRC_DMA_CFG, UNPOOLING_EN)) {
        REFUSE_IF(t->pool.from_dpu, "unpooling before pooling");
        why = decode_unpooling(&d->stream, regs);
    }
    REFUSE_IF(why, why);
    REFUSE_IF(t->pool.from_dpu ? w != d->width || h != d->height
              : w * d->stream.copies_x * h > d->width * d->height,
              "DPU and RDMA cubes disagree");
    d->width = w;
    d->height = h;
    return NULL;
}

/*
 * The main input by surfaces of MRDMA and ERDMA in turns, so that words fill
 * the atoms of halves as fast as those are written (Rockchip's compilers).
 */
static const char *decode_pair(NpuFeed *f, const uint32_t *regs,
                               uint32_t atom)
{
    REFUSE_IF(regs[R_RDMA_SRC_DMA_CFG] ||
              GET(regs, RDMA_DATA_CUBE_HEIGHT, EW_LINE_NOTCH),
              "line notches or unpooling of a pair of RDMA engines");
    REFUSE_IF(GET(regs, RDMA_ERDMA_CFG, DISABLE) ||
              GET(regs, RDMA_ERDMA_CFG, NONALIGN) ||
              GET(regs, RDMA_ERDMA_CFG, SURF_MODE),
              "main input of a pair without ERDMA");
    f->alternate = true;
    f->base[1] = npu_dma_addr(regs, regs[R_RDMA_EW_BASE_ADDR]);
    f->pitch[1] = f->cube.height * f->line_bytes +
                  npu_stride(regs[R_RDMA_EW_SURF_NOTCH], atom);
    return NULL;
}

bool npu_flying_pairs(const uint32_t *regs)
{
    return GET(regs, DPU_FEATURE_MODE_CFG, COMB_USE) &&
           GET(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE);
}

/* Notches are what lies behind a line, or behind the last one of a surface. */
static const char *decode_feed(NpuTask *t, const uint32_t *regs)
{
    NpuFeed *f = &t->feed[NPU_FEED_MAIN];
    NpuDpu *d = &t->dpu;
    uint32_t in_bytes = npu_element_bytes(d->precision);
    uint32_t rdma_bytes = d->raw ? 2 : in_bytes;
    uint32_t atoms = DIV_ROUND_UP(d->orig_channels * in_bytes, d->in_atom);
    uint32_t line = d->width + GET(regs, RDMA_SRC_DMA_CFG, LINE_NOTCH);

    REFUSE_IF(DIV_ROUND_UP((GET(regs, RDMA_DATA_CUBE_CHANNEL, CHANNEL) + 1) *
                           rdma_bytes, d->in_atom) !=
              DIV_ROUND_UP(d->channels * in_bytes, d->in_atom),
              "DPU and RDMA disagree about the channels");
    REFUSE_IF(d->stream.copies_x * d->stream.copies_y > 1 && atoms > 1,
              "unpooling of several surfaces");
    f->base[0] = npu_dma_addr(regs, regs[R_RDMA_SRC_BASE_ADDR]);
    f->line_bytes = line * d->in_atom;
    /* From the end of the last line; negative where surfaces are nested. */
    f->pitch[0] = (line * (d->height - 1) + d->width) * d->in_atom +
                  npu_stride(regs[R_RDMA_SURF_NOTCH], d->in_atom);
    REFUSE_IF(!npu_cube_init(&f->cube, atoms, d->height,
                             (uint64_t)d->width * d->in_atom, false),
              "too much input of a flying DPU");
    return npu_flying_pairs(regs) ? decode_pair(f, regs, d->in_atom) : NULL;
}

const char *npu_flying_decode(NpuTask *t, const uint32_t *regs)
{
    NpuDpu *d = &t->dpu;
    const char *why = check_types(t);

    REFUSE_IF(why, why);
    REFUSE_IF(!GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE) !=
              (npu_flying_pairs(regs) ? COMB_USE_MAIN_PAIR : 0) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, CONV_MODE),
              "flying DPU without MRDMA of its own");
    /* Set for words, too, by Rockchip's compilers. */
    REFUSE_IF(GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32) &&
              d->precision != NPU_PREC_FP16 && d->precision != NPU_PREC_BF16 &&
              d->precision != NPU_PREC_FP32,
              "MRDMA_FP16TOFP32");
    REFUSE_IF(regs[R_RDMA_PAD_CFG], "padding of RDMA lines");
    REFUSE_IF(!GET(regs, DPU_BS_OW_CFG, OD_BYPASS),
              "CPEND in a flying DPU");
    return decode_feed(t, regs);
}

static void load(FlyRun *run, uint32_t surface, uint32_t pos, uint32_t row)
{
    const NpuFeed *f = &run->t->feed[NPU_FEED_MAIN];
    const uint8_t *p = run->in->feed[NPU_FEED_MAIN] +
                       surface * f->cube.host_surf +
                       (size_t)pos * run->t->dpu.atom;
    uint32_t lanes = run->t->dpu.atom / run->bytes;
    uint32_t i;

    for (i = 0; i < lanes; i++) {
        uint32_t at = row * lanes + i;

        switch (run->t->dpu.precision) {
        case NPU_PREC_INT8:
            run->acc_i[at] = (int8_t)p[i];
            break;
        case NPU_PREC_INT16:
            run->acc_i[at] = (int16_t)lduw_le_p(p + 2 * i);
            break;
        case NPU_PREC_FP16:
            run->acc_f[at] = npu_fp16_to_fp32(lduw_le_p(p + 2 * i));
            break;
        case NPU_PREC_BF16:
            run->acc_f[at] = npu_bf16_to_fp32(lduw_le_p(p + 2 * i));
            break;
        case NPU_PREC_FP32:
            run->acc_f[at] = npu_bits_to_float(ldl_le_p(p + 4 * i));
            break;
        default:
            run->acc_i[at] = ldl_le_p(p + 4 * i);
        }
    }
}

static void run_block(FlyRun *run, uint32_t surface, uint32_t pos,
                      uint32_t rows)
{
    uint32_t lanes = run->t->dpu.atom / run->bytes;
    NpuBlock block = {
        .row = pos,
        .rows = rows,
        .col = surface * lanes,
        .cols = lanes,
        .pitch = lanes,
    };
    uint32_t r;

    for (r = 0; r < rows; r++) {
        load(run, surface, pos + r, r);
    }
    if (run->t->dpu.is_float) {
        block.f = run->acc_f;
    } else {
        block.i = run->acc_i;
    }
    npu_dpu_store(run->t, run->in, &block, run->out);
}

bool npu_flying_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    FlyRun run = { .t = t, .in = in, .out = out };
    uint32_t positions = t->dpu.width * t->dpu.height;
    uint32_t surface, pos;

    run.bytes = npu_element_bytes(t->dpu.precision);
    npu_dpu_fill_padding(t, out);
    for (surface = 0; surface < t->feed[NPU_FEED_MAIN].cube.surfaces;
         surface++) {
        for (pos = 0; pos < positions; pos += BLOCK_ROWS) {
            if (npu_cancelled(in)) {
                return false;
            }
            run_block(&run, surface, pos, MIN(positions - pos, BLOCK_ROWS));
        }
    }
    return true;
}
