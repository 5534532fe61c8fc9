/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pooling by the RK3588 NPU's PPU, of what PPU_RDMA fetches or the DPU hands
 * over: maximum, minimum and average of int8, int16 and halves.
 *
 * The unit has no divider: an average is the sum of the window times one
 * reciprocal per axis, padding included.
 */
#include "qemu/osdep.h"
#include <math.h>
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "ppu.h"
#include "alu.h"
#include "cube.h"
#include "decode.h"
#include "numeric.h"

#define MAX_LANES       NPU_ATOM

/* Widths of PPU_RDMA's IN_PRECISION. */
#define WIDTH_8         1
#define WIDTH_16        2

/* A reciprocal of floats: sign, six bits of exponent, ten of mantissa. */
#define FP17_EXPONENT   0x3f
#define FP17_BIAS       31

static const char *decode_modes(NpuTask *t, const uint32_t *regs)
{
    NpuPool *p = &t->pool;

    p->method = GET(regs, PPU_OPERATION_MODE_CFG, POOLING_METHOD);
    REFUSE_IF(p->method > NPU_POOL_MIN, "pooling method");
    REFUSE_IF(GET(regs, PPU_OPERATION_MODE_CFG, FLYING_MODE) == p->from_dpu,
              "FLYING_MODE of the PPU against the enabled blocks");
    REFUSE_IF(GET(regs, PPU_DATA_FORMAT, DPU_FLYIN) !=
              (p->from_dpu && t->kind == NPU_KIND_FLYING), "DPU_FLYIN");
    /* USE_CNT was seen to change nothing. */
    REFUSE_IF(GET(regs, PPU_OPERATION_MODE_CFG, INDEX_EN),
              "indices of pooling");
    REFUSE_IF(GET(regs, PPU_OPERATION_MODE_CFG, NO_PAD_COUNT),
              "averages without padding");
    REFUSE_IF(GET(regs, PPU_MISC_CTRL, NONALIGN) ||
              GET(regs, PPU_MISC_CTRL, MC_SURF_OUT) ||
              GET(regs, PPU_MISC_CTRL, SURF_LEN), "PPU output mode");
    return NULL;
}

/*
 * PPU_RDMA wants the width of elements.  With int8 both 1 and 2 pooled
 * correctly on silicon, 0 and 3 did not.
 */
static const char *decode_precision(NpuTask *t, const uint32_t *regs)
{
    NpuPool *p = &t->pool;
    uint32_t width = GET(regs, PPU_RDMA_DATA_FORMAT, IN_PRECISION);

    p->precision = GET(regs, PPU_DATA_FORMAT, PROC_PRECISION);
    switch (p->precision) {
    case NPU_PREC_INT8:
        p->bytes = 1;
        break;
    case NPU_PREC_INT16:
    case NPU_PREC_FP16:
        p->bytes = 2;
        break;
    default:
        return "pooling precision";
    }
    if (p->from_dpu) {
        REFUSE_IF(t->dpu.out_precision != p->precision,
                  "DPU and PPU disagree about the precision");
        return NULL;
    }
    REFUSE_IF(width != WIDTH_16 && !(p->bytes == 1 && width == WIDTH_8),
              "pooling precision");
    return NULL;
}

/* A window may not reach beyond the padding that it was given. */
static bool fits(uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride,
                 uint32_t before, uint32_t after)
{
    return (out - 1) * stride + kernel <= in + before + after;
}

/* Does every window have an element of the input? */
static bool reaches(uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride,
                    uint32_t before)
{
    return before < kernel && (out - 1) * stride < in + before;
}

/*
 * Averages add the pad value; maximum and minimum leave padding out.
 * Rockchip's compilers write 0 there for maxima of int8 tensors whose values
 * are mostly below 0.
 * The field is wider than any type; validated programs sign-extend to 19.
 */
static const char *decode_pad(NpuPool *p, const uint32_t *regs)
{
    uint32_t low = regs[R_PPU_PADDING_VALUE_1];

    if (p->method != NPU_POOL_AVERAGE) {
        REFUSE_IF(!reaches(p->in_w, p->out_w, p->k_w, p->stride_x,
                           p->pad_left) ||
                  !reaches(p->in_h, p->out_h, p->k_h, p->stride_y, p->pad_top),
                  "maximum or minimum of padding alone");
        return NULL;
    }
    if (p->precision == NPU_PREC_FP16) {
        REFUSE_IF(low >> 16 || regs[R_PPU_PADDING_VALUE_2],
                  "pooling pad value above 16 bits");
        p->pad_value = low;
        return NULL;
    }
    p->pad_value = sextract32(low, 0, p->bytes * 8);
    REFUSE_IF(((uint32_t)p->pad_value ^ low) & 0x7ffff,
              "pooling pad value that does not fit");
    return NULL;
}

/*
 * Windows hang from these widths on if they overlap, those below 5x5 only if
 * they do so with a vertical stride of 1 (row ppu.overlap).  For the latter it
 * must be the output's width that counts: Rockchip's compilers pool 45 columns
 * with a horizontal stride of 2, but no more than 32 with one of 1.
 */
const char *npu_ppu_find_stall(const uint32_t *regs)
{
    uint32_t w = GET(regs, PPU_DATA_CUBE_IN_WIDTH, WIDTH) + 1;
    uint32_t out_w = GET(regs, PPU_DATA_CUBE_OUT_WIDTH, WIDTH) + 1;
    uint32_t k_w = GET(regs, PPU_POOLING_KERNEL_CFG, KERNEL_WIDTH) + 1;
    uint32_t k_h = GET(regs, PPU_POOLING_KERNEL_CFG, KERNEL_HEIGHT) + 1;
    uint32_t s_x = GET(regs, PPU_POOLING_KERNEL_CFG, STRIDE_WIDTH) + 1;
    uint32_t s_y = GET(regs, PPU_POOLING_KERNEL_CFG, STRIDE_HEIGHT) + 1;
    uint32_t k = MIN(k_w, k_h);
    bool overlap = s_x < k_w || s_y < k_h;

    REFUSE_IF((k == 3 || k == 4) && s_y == 1 && out_w > 32,
              "overlapping pooling windows in a wide tile");
    REFUSE_IF(k > 4 && overlap && w > 20,
              "overlapping pooling windows in a wide tile");
    return NULL;
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
    REFUSE_IF(GET(regs, PPU_DATA_CUBE_OUT_CHANNEL, CHANNEL) + 1 != p->channels,
              "pooling that changes the channels");
    /* Boards give wrong results (row refused.pool-16). */
    REFUSE_IF((p->k_w == 16 || p->k_h == 16) &&
              (p->pad_left || p->pad_top || right || bottom),
              "pooling windows of 16 with padding");
    REFUSE_IF(!fits(p->in_w, p->out_w, p->k_w, p->stride_x, p->pad_left,
                    right) ||
              !fits(p->in_h, p->out_h, p->k_h, p->stride_y, p->pad_top,
                    bottom), "pooling windows outside the padded input");
    return p->pad_left || p->pad_top || right || bottom
           ? decode_pad(p, regs) : NULL;
}

/* Zero, subnormals and what would be infinite are nobody's reciprocals. */
static bool fp17_valid(uint32_t r)
{
    uint32_t exponent = r >> 10;

    return exponent && exponent < FP17_EXPONENT;
}

static float fp17_to_fp32(uint32_t r)
{
    return ldexpf((r & 0x3ff) | 0x400, (int)(r >> 10) - FP17_BIAS - 10);
}

static const char *decode_reciprocals(NpuPool *p, const uint32_t *regs)
{
    p->recip_w = GET(regs, PPU_RECIP_KERNEL_WIDTH, VALUE);
    p->recip_h = GET(regs, PPU_RECIP_KERNEL_HEIGHT, VALUE);
    REFUSE_IF(p->method == NPU_POOL_AVERAGE &&
              p->precision == NPU_PREC_FP16 &&
              !(fp17_valid(p->recip_w) && fp17_valid(p->recip_h)),
              "pooling reciprocal");
    return NULL;
}

static uint32_t surfaces(const NpuTask *t)
{
    return DIV_ROUND_UP(t->pool.channels * t->pool.bytes, t->dpu.atom);
}

/* From memory, by PPU_RDMA. */
static const char *decode_feed(NpuTask *t, const uint32_t *regs)
{
    NpuPool *p = &t->pool;
    NpuFeed *f = &t->feed[NPU_FEED_MAIN];

    REFUSE_IF(GET(regs, PPU_RDMA_CUBE_IN_WIDTH, WIDTH) + 1 != p->in_w ||
              GET(regs, PPU_RDMA_CUBE_IN_HEIGHT, HEIGHT) + 1 != p->in_h ||
              GET(regs, PPU_RDMA_CUBE_IN_CHANNEL, CHANNEL) + 1 != p->channels,
              "PPU and its RDMA disagree about the input");
    f->base[0] = npu_dma_addr(regs, regs[R_PPU_RDMA_SRC_BASE_ADDR]);
    f->pitch[0] = npu_stride(regs[R_PPU_RDMA_SRC_SURF_STRIDE], t->dpu.atom);
    f->line_bytes = npu_stride(regs[R_PPU_RDMA_SRC_LINE_STRIDE], t->dpu.atom);
    REFUSE_IF(!npu_cube_init(&f->cube, surfaces(t), p->in_h,
                             (uint64_t)p->in_w * t->dpu.atom, false),
              "too much pooling input");
    p->from = f->cube;
    return NULL;
}

/* As the TRM has it, and compilers for the RK3568 (row ppu.rk3568-factor). */
static const char *decode_hand_over(NpuTask *t)
{
    NpuPool *p = &t->pool;

    REFUSE_IF(t->dpu.width != p->in_w || t->dpu.height != p->in_h ||
              t->dpu.channels != p->channels,
              "DPU and PPU disagree about the cube between them");
    p->from = t->dpu.out.cube;
    return NULL;
}

static const char *decode_output(NpuTask *t, const uint32_t *regs)
{
    const NpuPool *p = &t->pool;
    NpuOutput *o = &t->dpu.out;

    o->base = npu_dma_addr(regs, regs[R_PPU_DST_BASE_ADDR]);
    o->surf_stride = npu_stride(regs[R_PPU_DST_SURF_STRIDE], t->dpu.atom);
    o->surf_add = o->surf_stride;
    o->surf_group = 1;
    o->line_bytes = (p->out_w + GET(regs, PPU_OPERATION_MODE_CFG, NOTCH)) *
                    t->dpu.atom;
    REFUSE_IF(!npu_cube_init(&o->cube, surfaces(t), p->out_h,
                             (uint64_t)p->out_w * t->dpu.atom, false),
              "too much pooling output");
    return NULL;
}

const char *npu_ppu_decode(NpuTask *t, const uint32_t *regs)
{
    const char *why = decode_modes(t, regs);

    REFUSE_IF(why, why);
    why = decode_precision(t, regs);
    REFUSE_IF(why, why);
    why = decode_window(&t->pool, regs);
    REFUSE_IF(why, why);
    why = decode_reciprocals(&t->pool, regs);
    REFUSE_IF(why, why);
    why = t->pool.from_dpu ? decode_hand_over(t) : decode_feed(t, regs);
    REFUSE_IF(why, why);
    return decode_output(t, regs);
}

typedef struct PoolRun {
    const NpuPool *p;
    const uint8_t *surface;
    uint32_t lanes;
} PoolRun;

/* Tap (ky, kx) of the window at (oy, ox), NULL where there is padding. */
static const uint8_t *tap(const PoolRun *run, uint32_t oy, uint32_t ox,
                          uint32_t ky, uint32_t kx)
{
    const NpuPool *p = run->p;
    int32_t y = (int32_t)(oy * p->stride_y + ky) - (int32_t)p->pad_top;
    int32_t x = (int32_t)(ox * p->stride_x + kx) - (int32_t)p->pad_left;

    if (y < 0 || x < 0 || y >= (int32_t)p->in_h || x >= (int32_t)p->in_w) {
        return NULL;
    }
    return run->surface + y * p->from.host_line + (size_t)x * NPU_ATOM;
}

static int64_t start_int(const NpuPool *p)
{
    switch (p->method) {
    case NPU_POOL_MAX:
        return INT64_MIN;
    case NPU_POOL_MIN:
        return INT64_MAX;
    default:
        return 0;
    }
}

/* Folds an atom, or as much padding, into the results so far. */
static void fold_int(const NpuPool *p, uint32_t lanes, int64_t *acc,
                     const uint8_t *src)
{
    uint32_t i;

    for (i = 0; i < lanes; i++) {
        int32_t v = !src ? p->pad_value :
                    p->bytes == 1 ? (int8_t)src[i]
                                  : (int16_t)lduw_le_p(src + 2 * i);

        if (p->method == NPU_POOL_AVERAGE) {
            acc[i] += v;
        } else {
            acc[i] = p->method == NPU_POOL_MAX ? MAX(acc[i], v)
                                               : MIN(acc[i], v);
        }
    }
}

/*
 * The sum times both reciprocals, which have 16 bits of fraction, rounded once
 * with ties to even (row ppu.average-int): with reciprocals that are not exact,
 * ties go towards zero.  Excess wraps (row ppu.average-wraps).
 */
static int64_t average_int(const NpuPool *p, int64_t sum, uint32_t recip_w,
                           uint32_t recip_h)
{
    return npu_round_shift(sum * ((int64_t)recip_w * recip_h), 32, false);
}

/* For the taps of the window at @o that are in the input. */
static uint32_t reciprocal(uint32_t recip, uint32_t o, uint32_t in,
                           uint32_t kernel, uint32_t stride, uint32_t before)
{
    int64_t from = (int64_t)o * stride - before;
    uint32_t taps = MIN(from + kernel, in) - MAX(from, 0);

    return taps == kernel ? recip : (1u << 16) / taps;
}

static void pool_int(const PoolRun *run, uint32_t oy, uint32_t ox,
                     uint8_t *dst)
{
    const NpuPool *p = run->p;
    int64_t acc[MAX_LANES];
    uint32_t recip_w = p->recip_w, recip_h = p->recip_h;
    uint32_t ky, kx, i;

    if (p->real_taps) {
        recip_w = reciprocal(recip_w, ox, p->in_w, p->k_w, p->stride_x,
                             p->pad_left);
        recip_h = reciprocal(recip_h, oy, p->in_h, p->k_h, p->stride_y,
                             p->pad_top);
    }
    for (i = 0; i < run->lanes; i++) {
        acc[i] = start_int(p);
    }
    for (ky = 0; ky < p->k_h; ky++) {
        for (kx = 0; kx < p->k_w; kx++) {
            const uint8_t *src = tap(run, oy, ox, ky, kx);

            if (src || p->method == NPU_POOL_AVERAGE) {
                fold_int(p, run->lanes, acc, src);
            }
        }
    }
    for (i = 0; i < run->lanes; i++) {
        int64_t v = p->method == NPU_POOL_AVERAGE
                    ? average_int(p, acc[i], recip_w, recip_h) : acc[i];

        if (p->bytes == 1) {
            dst[i] = v;
        } else {
            stw_le_p(dst + 2 * i, v);
        }
    }
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

static float fold_float(const NpuPool *p, float acc, float v)
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

/* Sums and products of averages in fp32 (row ppu.average-floats). */
static float average_float(const NpuPool *p, float sum)
{
    float v = sum * fp17_to_fp32(p->recip_w);

    return v * fp17_to_fp32(p->recip_h);
}

static void pool_float(const PoolRun *run, uint32_t oy, uint32_t ox,
                       uint8_t *dst)
{
    const NpuPool *p = run->p;
    float acc[MAX_LANES];
    uint32_t ky, kx, i;

    for (i = 0; i < run->lanes; i++) {
        acc[i] = start_value(p);
    }
    for (ky = 0; ky < p->k_h; ky++) {
        for (kx = 0; kx < p->k_w; kx++) {
            const uint8_t *src = tap(run, oy, ox, ky, kx);

            if (!src && p->method != NPU_POOL_AVERAGE) {
                continue;
            }
            for (i = 0; i < run->lanes; i++) {
                uint16_t h = src ? lduw_le_p(src + 2 * i) : p->pad_value;

                acc[i] = fold_float(p, acc[i], npu_fp16_to_fp32(h));
            }
        }
    }
    for (i = 0; i < run->lanes; i++) {
        float v = p->method == NPU_POOL_AVERAGE ? average_float(p, acc[i])
                                                : acc[i];

        stw_le_p(dst + 2 * i, npu_fp32_to_fp16(v));
    }
}

bool npu_ppu_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    const NpuPool *p = &t->pool;
    const NpuCube *to = &t->dpu.out.cube;
    PoolRun run = { .p = p, .lanes = NPU_ATOM / p->bytes };
    uint32_t s, y, x;

    for (s = 0; s < to->surfaces; s++) {
        run.surface = in->feed[NPU_FEED_MAIN] + s * p->from.host_surf;
        for (y = 0; y < p->out_h; y++) {
            uint8_t *dst = out + s * to->host_surf + y * to->host_line;

            if (npu_cancelled(in)) {
                return false;
            }
            for (x = 0; x < p->out_w; x++) {
                if (p->precision == NPU_PREC_FP16) {
                    pool_float(&run, y, x, dst + (size_t)x * NPU_ATOM);
                } else {
                    pool_int(&run, y, x, dst + (size_t)x * NPU_ATOM);
                }
            }
        }
    }
    return true;
}
