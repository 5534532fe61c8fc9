/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PPU and PPU_RDMA of the RK3576 NPU: what their registers ask for.
 *
 * The unit is the RK3588's; reciprocals of bytes are 16 bits of fraction, and
 * the pad value is there four times over (row ppu.rk3576).  Averages may divide
 * by the taps that are not padding (row ppu.rk3576-real).
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "cube.h"
#include "rk3576_ppu.h"
#include "rk3576_regs.h"

#define RDMA_BYTES      0x40

static const char *decode_shape(NpuPool *p, const uint32_t *regs)
{
    p->precision = NPU_PREC_INT8;
    p->bytes = 1;
    p->in_w = GET76(regs, PPU_IN_WIDTH, WIDTH) + 1;
    p->in_h = GET76(regs, PPU_IN_HEIGHT, HEIGHT) + 1;
    p->channels = GET76(regs, PPU_IN_CHANNEL, CHANNEL) + 1;
    p->out_w = GET76(regs, PPU_OUT_WIDTH, WIDTH) + 1;
    p->out_h = GET76(regs, PPU_OUT_HEIGHT, HEIGHT) + 1;
    p->k_w = GET76(regs, PPU_KERNEL, WIDTH) + 1;
    p->k_h = GET76(regs, PPU_KERNEL, HEIGHT) + 1;
    p->stride_x = GET76(regs, PPU_KERNEL, STRIDE_X) + 1;
    p->stride_y = GET76(regs, PPU_KERNEL, STRIDE_Y) + 1;
    p->pad_left = GET76(regs, PPU_PAD, LEFT);
    p->pad_top = GET76(regs, PPU_PAD, TOP);
    REFUSE_IF(GET76(regs, PPU_OUT_CHANNEL, CHANNEL) + 1 != p->channels,
              "pooling that changes the channels");
    REFUSE_IF(GET76(regs, PPU_RDMA_IN_WIDTH, WIDTH) + 1 != p->in_w ||
              GET76(regs, PPU_RDMA_IN_HEIGHT, HEIGHT) + 1 != p->in_h ||
              GET76(regs, PPU_RDMA_IN_CHANNEL, CHANNEL) + 1 != p->channels,
              "PPU and its RDMA disagree about the input");
    REFUSE_OTHER(PPU_RDMA_DATA_FORMAT, RDMA_BYTES, "pooling precision");
    return NULL;
}

/* Does a window have nothing but padding, or go beyond that? */
static const char *check_axis(uint32_t in, uint32_t out, uint32_t kernel,
                              uint32_t stride, uint32_t before, uint32_t after)
{
    REFUSE_IF((out - 1) * stride + kernel > in + before + after,
              "pooling windows outside the padded input");
    REFUSE_IF(before >= kernel || (out - 1) * stride >= in + before,
              "pooling of padding alone");
    return NULL;
}

static const char *check_windows(const NpuPool *p, const uint32_t *regs)
{
    const char *why = check_axis(p->in_w, p->out_w, p->k_w, p->stride_x,
                                 p->pad_left, GET76(regs, PPU_PAD, RIGHT));

    REFUSE_IF(why, why);
    return check_axis(p->in_h, p->out_h, p->k_h, p->stride_y, p->pad_top,
                      GET76(regs, PPU_PAD, BOTTOM));
}

static const char *decode_method(NpuPool *p, const uint32_t *regs)
{
    int32_t pad = sextract32(regs[R_RK3576_PPU_PAD_VALUE_1], 0, 19);
    int32_t i;

    p->method = GET76(regs, PPU_OPERATION_MODE, METHOD);
    REFUSE_IF(p->method != NPU_POOL_AVERAGE && p->method != NPU_POOL_MAX,
              "pooling method");
    REFUSE_IF(!GET76(regs, PPU_OPERATION_MODE, FROM_MEMORY),
              "pooling but from memory");
    p->real_taps = GET76(regs, PPU_OPERATION_MODE, NO_PAD_COUNT);
    REFUSE_IF(p->real_taps && p->method != NPU_POOL_AVERAGE,
              "maxima without padding");
    p->recip_w = GET76(regs, PPU_RECIP_WIDTH, VALUE);
    p->recip_h = GET76(regs, PPU_RECIP_HEIGHT, VALUE);
    if (p->method != NPU_POOL_AVERAGE || !regs[R_RK3576_PPU_PAD]) {
        return NULL;
    }
    REFUSE_IF(pad != (int8_t)pad, "pooling pad value that does not fit");
    for (i = 1; i < 4; i++) {
        REFUSE_IF(sextract32(regs[R_RK3576_PPU_PAD_VALUE_1 + i], 0, 19) !=
                  pad * (i + 1), "multiples of the pad value");
    }
    p->pad_value = pad;
    return NULL;
}

static const char *decode_cubes(NpuTask *t, const uint32_t *regs)
{
    NpuPool *p = &t->pool;
    NpuFeed *f = &t->feed[NPU_FEED_MAIN];
    NpuOutput *o = &t->dpu.out;
    uint32_t surfaces = DIV_ROUND_UP(p->channels, NPU_ATOM);

    f->base[0] = ADDR76(regs, PPU_RDMA_SRC_ADDR);
    f->pitch[0] = regs[R_RK3576_PPU_RDMA_SURF_STRIDE];
    f->line_bytes = regs[R_RK3576_PPU_RDMA_LINE_STRIDE];
    o->base = ADDR76(regs, PPU_DST_ADDR);
    o->surf_stride = regs[R_RK3576_PPU_DST_SURF_STRIDE];
    o->surf_add = o->surf_stride;
    o->surf_group = 1;
    o->line_bytes = p->out_w * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&f->cube, surfaces, p->in_h,
                             (uint64_t)p->in_w * NPU_ATOM, false) ||
              !npu_cube_init(&o->cube, surfaces, p->out_h,
                             (uint64_t)p->out_w * NPU_ATOM, false),
              "too much to pool");
    p->from = f->cube;
    return NULL;
}

const char *npu_rk3576_ppu(NpuTask *t, const uint32_t *regs)
{
    const char *why = decode_shape(&t->pool, regs);

    REFUSE_IF(why, why);
    why = check_windows(&t->pool, regs);
    REFUSE_IF(why, why);
    why = decode_method(&t->pool, regs);
    return why ? why : decode_cubes(t, regs);
}
