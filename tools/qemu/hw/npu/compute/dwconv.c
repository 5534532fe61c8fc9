/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Depthwise convolution of the RK3588 NPU: every output channel is its own
 * input channel times its own kernel.
 *
 * Weights are stored by groups of channels; in each, kernel rows and columns,
 * then the channels of the group, the last one as it is stored.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "dwconv.h"
#include "core.h"
#include "dpu.h"
#include "numeric.h"
#include "stage.h"

#define BLOCK_ROWS      16              /* output positions at a time */
#define MAX_LANES       NPU_ATOM        /* channels in an atom */

/* One atom of channels, of whose accumulators a block has a column each. */
typedef struct DwRun {
    const NpuTask *t;
    const NpuOperands *in;
    uint8_t *out;
    uint32_t surface;
    uint32_t lanes;
    union {
        int32_t acc_i[BLOCK_ROWS * MAX_LANES];
        float acc_f[BLOCK_ROWS * MAX_LANES];
    };
} DwRun;

/* The atom's weights at tap (ky, kx); of pairs the first byte of the first. */
static const uint8_t *tap_weights(const DwRun *run, uint32_t ky, uint32_t kx)
{
    const NpuConv *c = &run->t->conv;
    uint32_t channel = run->surface * run->lanes;
    uint32_t first = channel - channel % c->kernel_group;
    uint32_t group = MIN(c->stored_c - first, c->kernel_group);
    size_t elem = (size_t)first * c->k_w * c->k_h +
                  (size_t)(ky * c->k_w + kx) * group + (channel - first);

    if (c->dw_pairs) {
        return run->in->weights + 2 * elem;
    }
    return run->in->weights + elem * c->bits / 8;
}

/*
 * Bytes of two channels, then those to add to them, of which 0x80 is 128: so
 * the vendor's compilers store 255 for either chip, on the RK3576 in dw
 * networks of rocket-userspace (rows cna.dw-pairs and cna.rk3562-weights).
 */
static int32_t weight_int(const NpuConv *c, const uint8_t *w, uint32_t i)
{
    int32_t add;

    if (!c->dw_pairs) {
        return (int8_t)w[i];
    }
    w += 4 * (i / 2) + i % 2;
    add = (int8_t)w[2];
    return (int8_t)w[0] + (add == INT8_MIN ? -INT8_MIN : add);
}

static const uint8_t *tap_feature(const DwRun *run, int32_t y, int32_t x,
                                  uint32_t ky, uint32_t kx)
{
    const NpuConv *c = &run->t->conv;

    return npu_conv_atom(c, run->in->feature, run->surface,
                         y + (int32_t)(ky * c->step_y),
                         x + (int32_t)(kx * c->step_x));
}

/*
 * The odd ones of the first 32 channels of each group of 64 take the register's
 * second byte (row cna.dw-pad).
 */
static int8_t pad_int(const DwRun *run, uint32_t lane)
{
    uint32_t channel = run->surface * run->lanes + lane;
    bool second = channel % 64 < 32 && channel % 2;

    return run->t->conv.pad_value >> (second ? 8 : 0);
}

static void position_int(DwRun *run, uint32_t pos, int32_t *dst)
{
    const NpuConv *c = &run->t->conv;
    int64_t acc[MAX_LANES] = { 0 }, sum[MAX_LANES] = { 0 };
    uint32_t ky, kx, i;
    int32_t y, x;

    npu_conv_window(c, pos, &y, &x);
    for (ky = 0; ky < c->k_h; ky++) {
        for (kx = 0; kx < c->k_w; kx++) {
            const uint8_t *w = tap_weights(run, ky, kx);
            const uint8_t *src = tap_feature(run, y, x, ky, kx);

            for (i = 0; i < run->lanes; i++) {
                int32_t v = src ? (int8_t)src[i] : pad_int(run, i);

                acc[i] += v * weight_int(c, w, i);
                sum[i] += v;
            }
        }
    }
    for (i = 0; i < run->lanes; i++) {
        int32_t op = npu_cpend_operand(run->t, run->in,
                                       run->surface * run->lanes + i);

        dst[i] = npu_core_result(c, acc[i], op * sum[i]);
    }
}

/* Every product is a group of its own: exact in fp32, in which it is added. */
static void position_float(DwRun *run, uint32_t pos, float *dst)
{
    const NpuConv *c = &run->t->conv;
    uint32_t ky, kx, i;
    int32_t y, x;

    memset(dst, 0, run->lanes * sizeof(*dst));
    npu_conv_window(c, pos, &y, &x);
    for (ky = 0; ky < c->k_h; ky++) {
        for (kx = 0; kx < c->k_w; kx++) {
            const uint8_t *w = tap_weights(run, ky, kx);
            const uint8_t *src = tap_feature(run, y, x, ky, kx);

            for (i = 0; i < run->lanes; i++) {
                uint16_t h = src ? lduw_le_p(src + 2 * i) : c->pad_value;

                dst[i] += npu_fp16_to_fp32(h) *
                          npu_fp16_to_fp32(lduw_le_p(w + 2 * i));
            }
        }
    }
}

static void run_block(DwRun *run, uint32_t pos, uint32_t rows)
{
    NpuBlock block = {
        .row = pos,
        .rows = rows,
        .col = run->surface * run->lanes,
        .cols = run->lanes,
        .pitch = run->lanes,
    };
    uint32_t r;

    for (r = 0; r < rows; r++) {
        if (run->t->dpu.is_float) {
            position_float(run, pos + r, run->acc_f + r * run->lanes);
        } else {
            position_int(run, pos + r, run->acc_i + r * run->lanes);
        }
    }
    if (run->t->dpu.is_float) {
        block.f = run->acc_f;
    } else {
        block.i = run->acc_i;
    }
    npu_dpu_store(run->t, run->in, &block, run->out);
}

bool npu_dwconv_run(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    DwRun run = { .t = t, .in = in, .out = out };
    uint32_t positions = t->conv.out_w * t->conv.out_h;
    uint32_t pos;

    run.lanes = NPU_ATOM_BITS / t->conv.bits;
    npu_dpu_fill_padding(t, out);
    for (run.surface = 0; run.surface * run.lanes < t->dpu.orig_channels;
         run.surface++) {
        for (pos = 0; pos < positions; pos += BLOCK_ROWS) {
            if (npu_cancelled(in)) {
                return false;
            }
            run_block(&run, pos, MIN(positions - pos, BLOCK_ROWS));
        }
    }
    return true;
}
