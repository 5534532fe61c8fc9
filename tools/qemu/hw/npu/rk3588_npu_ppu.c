/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pooling by the RK3588 NPU's PPU, fed from memory by PPU_RDMA: maximum,
 * minimum and average of halves.
 *
 * The unit has no divider: an average is the sum of the window times one
 * reciprocal per axis, padding included.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rk3588_npu_decode.h"
#include "rk3588_npu_conv.h"
#include "rk3588_npu_dpu.h"

#define LANES           (NPU_ATOM / sizeof(uint16_t))
#define HALF_EXPONENT   0x7c00

static const char *decode_modes(NpuPool *p, const uint32_t *regs)
{
    p->method = GET(regs, PPU_OPERATION_MODE_CFG, POOLING_METHOD);
    REFUSE_IF(p->method > NPU_POOL_MIN, "pooling method");
    REFUSE_IF(!GET(regs, PPU_OPERATION_MODE_CFG, FLYING_MODE) ||
              GET(regs, PPU_DATA_FORMAT, DPU_FLYIN), "PPU fed by the DPU");
    REFUSE_IF(GET(regs, PPU_OPERATION_MODE_CFG, INDEX_EN) ||
              GET(regs, PPU_OPERATION_MODE_CFG, USE_CNT) ||
              GET(regs, PPU_OPERATION_MODE_CFG, NOTCH),
              "indices, counts or notches of pooling");
    REFUSE_IF(GET(regs, PPU_MISC_CTRL, NONALIGN) ||
              GET(regs, PPU_MISC_CTRL, MC_SURF_OUT) ||
              GET(regs, PPU_MISC_CTRL, SURF_LEN), "PPU output mode");
    REFUSE_IF(GET(regs, PPU_DATA_FORMAT, PROC_PRECISION) != NPU_PREC_FP16 ||
              GET(regs, PPU_RDMA_DATA_FORMAT, IN_PRECISION) != NPU_PREC_FP16,
              "pooling precision");
    return NULL;
}

/* A window may not reach beyond the padding that it was given. */
static bool fits(uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride,
                 uint32_t before, uint32_t after)
{
    return (out - 1) * stride + kernel <= in + before + after;
}

static const char *decode_window(NpuPool *p, const uint32_t *regs)
{
    uint32_t bottom = GET(regs, PPU_POOLING_PADDING_CFG, BOTTOM);
    uint32_t right = GET(regs, PPU_POOLING_PADDING_CFG, RIGHT);

    p->in_w = GET(regs, PPU_DATA_CUBE_IN_WIDTH, WIDTH) + 1;
    p->in_h = GET(regs, PPU_DATA_CUBE_IN_HEIGHT, HEIGHT) + 1;
    p->channels = GET(regs, PPU_DATA_CUBE_IN_CHANNEL, CHANNEL) + 1;
    p->out_w = GET(regs, PPU_DATA_CUBE_OUT_WIDTH, WIDTH) + 1;
    p->out_h = GET(regs, PPU_DATA_CUBE_OUT_HEIGHT, HEIGHT) + 1;
    p->k_w = GET(regs, PPU_POOLING_KERNEL_CFG, KERNEL_WIDTH) + 1;
    p->k_h = GET(regs, PPU_POOLING_KERNEL_CFG, KERNEL_HEIGHT) + 1;
    p->stride_x = GET(regs, PPU_POOLING_KERNEL_CFG, STRIDE_WIDTH) + 1;
    p->stride_y = GET(regs, PPU_POOLING_KERNEL_CFG, STRIDE_HEIGHT) + 1;
    p->pad_left = GET(regs, PPU_POOLING_PADDING_CFG, LEFT);
    p->pad_top = GET(regs, PPU_POOLING_PADDING_CFG, TOP);
    p->pad_value = regs[R_PPU_PADDING_VALUE_1];
    REFUSE_IF(GET(regs, PPU_DATA_CUBE_OUT_CHANNEL, CHANNEL) + 1 != p->channels,
              "pooling that changes the channels");
    REFUSE_IF(GET(regs, PPU_RDMA_CUBE_IN_WIDTH, WIDTH) + 1 != p->in_w ||
              GET(regs, PPU_RDMA_CUBE_IN_HEIGHT, HEIGHT) + 1 != p->in_h ||
              GET(regs, PPU_RDMA_CUBE_IN_CHANNEL, CHANNEL) + 1 != p->channels,
              "PPU and its RDMA disagree about the input");
    REFUSE_IF(!fits(p->in_w, p->out_w, p->k_w, p->stride_x, p->pad_left,
                    right) ||
              !fits(p->in_h, p->out_h, p->k_h, p->stride_y, p->pad_top,
                    bottom), "pooling windows outside the padded input");
    REFUSE_IF((p->pad_left || p->pad_top || right || bottom) &&
              (regs[R_PPU_PADDING_VALUE_1] >> 16 ||
               regs[R_PPU_PADDING_VALUE_2]),
              "pooling pad value above 16 bits");
    return NULL;
}

static const char *decode_reciprocals(NpuPool *p, const uint32_t *regs)
{
    uint32_t w = regs[R_PPU_RECIP_KERNEL_WIDTH];
    uint32_t h = regs[R_PPU_RECIP_KERNEL_HEIGHT];

    if (p->method != NPU_POOL_AVERAGE) {
        return NULL;
    }
    /* Bits of the half 65536 / k; there is none for a kernel of 1. */
    REFUSE_IF(w >> 16 || h >> 16 || (w & HALF_EXPONENT) == HALF_EXPONENT ||
              (h & HALF_EXPONENT) == HALF_EXPONENT, "pooling reciprocal");
    p->recip_w = npu_fp16_to_fp32(w) / 65536;
    p->recip_h = npu_fp16_to_fp32(h) / 65536;
    return NULL;
}

static const char *decode_cubes(NpuTask *t, const uint32_t *regs)
{
    const NpuPool *p = &t->pool;
    NpuFeed *f = &t->feed[NPU_FEED_MAIN];
    NpuOutput *o = &t->dpu.out;
    uint32_t surfaces = DIV_ROUND_UP(p->channels, LANES);

    f->base[0] = npu_dma_addr(regs, regs[R_PPU_RDMA_SRC_BASE_ADDR]);
    f->pitch[0] = regs[R_PPU_RDMA_SRC_SURF_STRIDE] & DPU_STRIDE_MASK;
    f->line_bytes = regs[R_PPU_RDMA_SRC_LINE_STRIDE] & DPU_STRIDE_MASK;
    REFUSE_IF(!npu_cube_init(&f->cube, surfaces, p->in_h,
                             (uint64_t)p->in_w * NPU_ATOM, false),
              "too much pooling input");
    o->base = npu_dma_addr(regs, regs[R_PPU_DST_BASE_ADDR]);
    o->surf_stride = regs[R_PPU_DST_SURF_STRIDE] & DPU_STRIDE_MASK;
    o->surf_add = o->surf_stride;
    o->surf_group = 1;
    o->line_bytes = p->out_w * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&o->cube, surfaces, p->out_h,
                             (uint64_t)p->out_w * NPU_ATOM, false),
              "too much pooling output");
    return NULL;
}

const char *npu_ppu_decode(NpuTask *t, const uint32_t *regs)
{
    const char *why = decode_modes(&t->pool, regs);

    REFUSE_IF(why, why);
    why = decode_window(&t->pool, regs);
    REFUSE_IF(why, why);
    why = decode_reciprocals(&t->pool, regs);
    REFUSE_IF(why, why);
    return decode_cubes(t, regs);
}

static float start_value(const NpuPool *p)
{
    switch (p->method) {
    case NPU_POOL_MAX:
        return npu_bits_to_float(0xff800000);
    case NPU_POOL_MIN:
        return npu_bits_to_float(0x7f800000);
    default:
        return 0;
    }
}

static float combine(const NpuPool *p, float acc, float v)
{
    switch (p->method) {
    case NPU_POOL_MAX:
        return npu_alu_float(NPU_ALU_MAX, acc, v);
    case NPU_POOL_MIN:
        return npu_alu_float(NPU_ALU_MIN, acc, v);
    default:
        return npu_alu_float(NPU_ALU_ADD, acc, v);
    }
}

/* Sums and products of averages in fp32: inferred, right to 1 ulp of a half. */
static uint16_t finish(const NpuPool *p, float acc)
{
    if (p->method == NPU_POOL_AVERAGE) {
        acc = acc * p->recip_w;
        acc = acc * p->recip_h;
    }
    return npu_fp32_to_fp16(acc);
}

static void pool_atom(const NpuTask *t, const uint8_t *surface, uint32_t oy,
                      uint32_t ox, uint8_t *dst)
{
    const NpuPool *p = &t->pool;
    size_t line = t->feed[NPU_FEED_MAIN].cube.host_line;
    float acc[LANES];
    uint32_t ky, kx, i;

    for (i = 0; i < LANES; i++) {
        acc[i] = start_value(p);
    }
    for (ky = 0; ky < p->k_h; ky++) {
        int32_t y = (int32_t)(oy * p->stride_y + ky) - (int32_t)p->pad_top;

        for (kx = 0; kx < p->k_w; kx++) {
            int32_t x = (int32_t)(ox * p->stride_x + kx) -
                        (int32_t)p->pad_left;
            bool in = y >= 0 && x >= 0 && y < (int32_t)p->in_h &&
                      x < (int32_t)p->in_w;
            const uint8_t *src = in ? surface + y * line +
                                      (size_t)x * NPU_ATOM : NULL;

            for (i = 0; i < LANES; i++) {
                uint16_t h = src ? lduw_le_p(src + 2 * i) : p->pad_value;

                acc[i] = combine(p, acc[i], npu_fp16_to_fp32(h));
            }
        }
    }
    for (i = 0; i < LANES; i++) {
        stw_le_p(dst + 2 * i, finish(p, acc[i]));
    }
}

bool npu_ppu_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    const NpuPool *p = &t->pool;
    const NpuCube *from = &t->feed[NPU_FEED_MAIN].cube;
    const NpuCube *to = &t->dpu.out.cube;
    uint32_t s, y, x;

    for (s = 0; s < to->surfaces; s++) {
        for (y = 0; y < p->out_h; y++) {
            if (npu_conv_cancelled(in)) {
                return false;
            }
            for (x = 0; x < p->out_w; x++) {
                pool_atom(t, in->feed[NPU_FEED_MAIN] + s * from->host_surf, y,
                          x, out + s * to->host_surf + y * to->host_line +
                          (size_t)x * NPU_ATOM);
            }
        }
    }
    return true;
}
