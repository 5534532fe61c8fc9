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

static uint32_t element_bytes(uint8_t precision)
{
    switch (precision) {
    case NPU_PREC_INT8:
        return 1;
    case NPU_PREC_INT16:
    case NPU_PREC_FP16:
        return 2;
    default:
        return 4;
    }
}

/* Pairs that somebody has run on silicon. */
static const char *check_types(const NpuDpu *d)
{
    switch (d->precision) {
    case NPU_PREC_INT8:
        REFUSE_IF(d->out_precision != NPU_PREC_INT8 &&
                  d->out_precision != NPU_PREC_FP16,
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
                  d->out_precision != NPU_PREC_INT8,
                  "output precision of a flying DPU");
        return NULL;
    default:
        REFUSE_IF(d->out_precision != NPU_PREC_FP32,
                  "output precision of a flying DPU");
        return NULL;
    }
}

const char *npu_flying_precision(NpuDpu *d, const uint32_t *regs)
{
    d->precision = GET(regs, DPU_DATA_FORMAT, IN_PRECISION);
    REFUSE_IF(GET(regs, DPU_DATA_FORMAT, PROC_PRECISION) != d->precision ||
              GET(regs, RDMA_FEATURE_MODE_CFG, IN_PRECISION) != d->precision ||
              GET(regs, RDMA_FEATURE_MODE_CFG, PROC_PRECISION) != d->precision,
              "DPU and RDMA disagree about the precision");
    switch (d->precision) {
    case NPU_PREC_FP16:
        d->halves = !GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32);
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

const char *npu_flying_decode(NpuTask *t, const uint32_t *regs)
{
    NpuFeed *f = &t->feed[NPU_FEED_MAIN];
    NpuDpu *d = &t->dpu;
    uint32_t per_surf = NPU_ATOM / element_bytes(d->precision);
    uint32_t surfaces = DIV_ROUND_UP(d->orig_channels, per_surf);
    uint32_t positions = d->width * d->height;
    const char *why = check_types(d);

    REFUSE_IF(why, why);
    REFUSE_IF(!GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, CONV_MODE),
              "flying DPU without MRDMA of its own");
    REFUSE_IF(GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_FP16TOFP32) &&
              d->precision != NPU_PREC_FP16, "MRDMA_FP16TOFP32");
    REFUSE_IF(regs[R_RDMA_SRC_DMA_CFG] || regs[R_RDMA_PAD_CFG],
              "unpooling, notches or padding of RDMA lines");
    REFUSE_IF(!GET(regs, DPU_BS_OW_CFG, OD_BYPASS),
              "CPEND in a flying DPU");
    f->base[0] = npu_dma_addr(regs, regs[R_RDMA_SRC_BASE_ADDR]);
    f->pitch[0] = positions * NPU_ATOM +
                  (regs[R_RDMA_SURF_NOTCH] & DPU_STRIDE_MASK);
    REFUSE_IF(!npu_cube_init(&f->cube, surfaces, 1,
                             (uint64_t)positions * NPU_ATOM, false),
              "too much input of a flying DPU");
    return NULL;
}

static void load(FlyRun *run, uint32_t surface, uint32_t pos, uint32_t row)
{
    const NpuFeed *f = &run->t->feed[NPU_FEED_MAIN];
    const uint8_t *p = run->in->feed[NPU_FEED_MAIN] +
                       surface * f->cube.host_surf + (size_t)pos * NPU_ATOM;
    uint32_t lanes = NPU_ATOM / run->bytes;
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
    uint32_t lanes = NPU_ATOM / run->bytes;
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

    run.bytes = element_bytes(t->dpu.precision);
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
