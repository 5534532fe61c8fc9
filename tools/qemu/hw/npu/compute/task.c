/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoding a register snapshot of the RK3588 NPU into a validated task.
 *
 * Whatever is not understood completely is refused: a task that the model
 * computed wrongly would be worse than one that never ends.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "task.h"
#include "core.h"
#include "decode.h"
#include "dpu.h"
#include "ew.h"
#include "flying.h"
#include "narrow.h"
#include "numeric.h"
#include "ppu.h"
#include "rk3562.h"
#include "rk3568.h"
#include "rk3576.h"
#include "rowmax.h"
#include "stream.h"

/*
 * Ahead of the end of all programs of an RK3562: registers of a block that no
 * task starts (row soc.rk3562-encoding).
 */
#define RK3562_TAIL_8028        0x04010000000c8028ull
#define RK3562_TAIL_802C        0x0401ffffffff802cull

NpuCmd npu_cmd_decode(uint64_t entry)
{
    NpuCmd cmd = {
        .kind = NPU_CMD_BAD,
        .target = entry >> 48,
        .reg = entry,
        .value = entry >> 16,
    };

    switch (cmd.target) {
    case NPU_TARGET_NOP0:
    case NPU_TARGET_NOP1:
    case NPU_TARGET_MARKER:
        cmd.kind = NPU_CMD_NOP;
        return cmd;
    case NPU_TARGET_ENABLE:
        cmd.kind = NPU_CMD_ENABLE;
        return cmd;
    }
    if (entry == RK3562_TAIL_8028 || entry == RK3562_TAIL_802C) {
        cmd.kind = NPU_CMD_NOP;
        return cmd;
    }
    if ((cmd.target & 0xff) != NPU_TARGET_WRITE ||
        cmd.reg >= NPU_REGFILE_SIZE || cmd.reg % 4) {
        return cmd;
    }
    /* The high byte has one bit per block; the register decides. */
    cmd.kind = NPU_CMD_WRITE;
    cmd.mismatch = cmd.target >> 8 != 1 << (cmd.reg >> 12);
    return cmd;
}

static const char *decode_dpu_precision(NpuTask *t, const uint32_t *regs)
{
    if (t->kind == NPU_KIND_FLYING) {
        return npu_flying_precision(&t->dpu, regs);
    }
    t->dpu.precision = npu_cna_dpu_precision(&t->conv);
    t->dpu.operands = t->dpu.precision;
    t->dpu.is_float = npu_conv_is_float(&t->conv);
    return NULL;
}

static const char *decode_dpu_shape(NpuTask *t, const uint32_t *regs)
{
    NpuDpu *d = &t->dpu;

    d->width = GET(regs, DPU_DATA_CUBE_WIDTH, WIDTH) + 1;
    d->height = GET(regs, DPU_DATA_CUBE_HEIGHT, HEIGHT) + 1;
    d->stream.copies_x = 1;
    d->stream.copies_y = 1;
    return t->kind == NPU_KIND_FLYING ? npu_flying_shape(t, regs) : NULL;
}

static const char *decode_dpu(NpuTask *t, const uint32_t *regs,
                              const NpuTaskOptions *opt)
{
    const char *why = npu_dpu_check_modes(t, regs);

    REFUSE_IF(why, why);
    why = decode_dpu_precision(t, regs);
    REFUSE_IF(why, why);
    why = decode_dpu_shape(t, regs);
    return why ? why : npu_dpu_decode(t, regs, opt);
}

static bool stage_reads(const NpuTask *t)
{
    return t->dpu.stage[NPU_STAGE_BS].use || t->dpu.stage[NPU_STAGE_BN].use ||
           t->dpu.ew.dma;
}

/* RDMA must feed nothing that no stage takes. */
static const char *decode_rdma_feeds(NpuTask *t, const uint32_t *regs)
{
    uint32_t precision = t->dpu.precision;

    REFUSE_IF(npu_flying_pairs(regs) ? t->dpu.ew.dma
              : !t->dpu.ew.dma && !GET(regs, RDMA_ERDMA_CFG, DISABLE),
              "ERDMA operand that EW does not take, or one of two");
    if (t->kind == NPU_KIND_FLYING) {
        return npu_flying_decode(t, regs);
    }
    if (t->dpu.ew.dma) {
        REFUSE_IF(GET(regs, RDMA_FEATURE_MODE_CFG, IN_PRECISION) != precision ||
                  GET(regs, RDMA_FEATURE_MODE_CFG, PROC_PRECISION) !=
                  precision, "RDMA and DPU disagree about the precision");
        return NULL;
    }
    REFUSE_IF(!GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) ||
              GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE),
              "RDMA feeding a convolution");
    return NULL;
}

static const char *decode_rdma(NpuTask *t, const uint32_t *regs)
{
    const char *why;

    if (!(t->enable & NPU_ENABLE_DPU_RDMA)) {
        return NULL;
    }
    why = decode_rdma_feeds(t, regs);
    REFUSE_IF(why, why);
    if (!stage_reads(t) || t->kind == NPU_KIND_FLYING) {
        return NULL;
    }
    REFUSE_IF(GET(regs, RDMA_DATA_CUBE_WIDTH, WIDTH) + 1 != t->dpu.width ||
              GET(regs, RDMA_DATA_CUBE_HEIGHT, HEIGHT) + 1 != t->dpu.height ||
              GET(regs, RDMA_DATA_CUBE_CHANNEL, CHANNEL) + 1 !=
              t->dpu.channels, "DPU and RDMA cubes disagree");
    return NULL;
}

static const char *decode_conv(NpuTask *t, const uint32_t *regs,
                               const NpuTaskOptions *opt)
{
    const char *why;

    why = npu_cna_decode(t, regs);
    REFUSE_IF(why, why);
    why = opt->encoding != NPU_ENCODING_RK3588
          ? npu_rk3568_check_output(t, regs) : npu_cna_check_output(t, regs);
    REFUSE_IF(why, why);
    why = decode_dpu(t, regs, opt);
    REFUSE_IF(why, why);
    t->macs = (uint64_t)t->conv.out_w * t->conv.out_h * t->conv.kernels *
              t->conv.kernel_elems;
    REFUSE_IF(t->macs > NPU_TASK_MAX_MACS, "too much arithmetic");
    return decode_rdma(t, regs);
}

static const char *decode_flying(NpuTask *t, const uint32_t *regs,
                                 const NpuTaskOptions *opt)
{
    const char *why = decode_dpu(t, regs, opt);

    REFUSE_IF(why, why);
    return decode_rdma(t, regs);
}

/* What leaves the DPU waiting for data on silicon as well. */
static const char *find_stall(const uint32_t *regs, uint32_t enable,
                              const NpuTaskOptions *opt)
{
    bool rdma = enable & NPU_ENABLE_DPU_RDMA;
    const char *why;

    why = enable & NPU_ENABLE_PPU_RDMA ? npu_ppu_find_stall(regs) : NULL;
    REFUSE_IF(why, why);
    if (!(enable & NPU_ENABLE_DPU)) {
        return NULL;
    }
    why = enable & NPU_ENABLE_CNA ? npu_cna_find_stall(regs) : NULL;
    REFUSE_IF(why, why);
    REFUSE_IF(rdma && !GET(regs, RDMA_FEATURE_MODE_CFG, FLYING_MODE) &&
              !GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) &&
              !GET(regs, RDMA_FEATURE_MODE_CFG, COMB_USE),
              "MRDMA enabled with nothing to feed");
    why = npu_stage_stall(regs, rdma);
    REFUSE_IF(why, why);
    REFUSE_IF((enable & NPU_ENABLE_PPU_RDMA) && !opt->idle_ppu_rdma,
              "PPU_RDMA enabled with nothing to feed");
    REFUSE_IF(npu_ew_reads(regs) &&
              !(rdma && !GET(regs, RDMA_ERDMA_CFG, DISABLE)),
              "EW waits for an operand that nothing fetches");
    /*
     * A public report, of columns alone and an operand per element; of wider
     * cubes there is none, and Rockchip's compilers fetch one per channel so.
     */
    REFUSE_IF(npu_ew_reads(regs) &&
              !GET(regs, DPU_FEATURE_MODE_CFG, FLYING_MODE) &&
              GET(regs, RDMA_FEATURE_MODE_CFG, MRDMA_DISABLE) &&
              !npu_ew_per_channel(regs) &&
              !GET(regs, DPU_DATA_CUBE_WIDTH, WIDTH),
              "ERDMA alone beside a CORE for a column");
    return NULL;
}

/* The blocks that make up a task, but for the PPU behind a DPU. */
static const char *decode_blocks(NpuTask *t, const uint32_t *regs,
                                 uint32_t enable, const NpuTaskOptions *opt)
{
    const uint32_t conv = NPU_ENABLE_CNA | NPU_ENABLE_CORE | NPU_ENABLE_DPU;

    if ((enable & ~NPU_ENABLE_DPU_RDMA) == conv) {
        t->kind = NPU_KIND_CONV;
        return decode_conv(t, regs, opt);
    }
    if (enable == (NPU_ENABLE_DPU | NPU_ENABLE_DPU_RDMA)) {
        t->kind = NPU_KIND_FLYING;
        return decode_flying(t, regs, opt);
    }
    if (enable == (NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA)) {
        t->kind = NPU_KIND_POOL;
        return npu_ppu_decode(t, regs);
    }
    return "combination of enabled blocks";
}

/* Those of a task, also with the PPU behind a DPU. */
static const char *decode_all(NpuTask *t, const uint32_t *regs,
                              uint32_t enable, const NpuTaskOptions *opt)
{
    const uint32_t pool = NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA;
    const char *why;

    t->pool.from_dpu = (enable & NPU_ENABLE_DPU) && (enable & NPU_ENABLE_PPU);
    why = decode_blocks(t, regs, t->pool.from_dpu ? enable & ~pool : enable,
                        opt);
    return !why && t->pool.from_dpu ? npu_ppu_decode(t, regs) : why;
}

/* The same blocks, once their registers are where the RK3588 has them. */
static void set_atom(NpuDpu *d, uint32_t atom)
{
    d->atom = atom;
    d->in_atom = atom;
    d->out_atom = atom;
}

static const char *decode_rk3568(NpuTask *t, const uint32_t *regs,
                                 uint32_t enable, const NpuTaskOptions *opt)
{
    g_autofree uint32_t *moved = g_new(uint32_t, NPU_REGFILE_WORDS);
    uint32_t blocks = enable & ~RK3568_ENABLE_CMAC;
    const char *why = npu_rk3568_move(moved, regs, enable);

    REFUSE_IF(why, why);
    t->enable = blocks;
    set_atom(&t->dpu, RK3568_ATOM);
    t->dpu.packed = RK3568_PACKED_CHANNELS;
    why = npu_stage_stall(moved, blocks & NPU_ENABLE_DPU_RDMA);
    REFUSE_IF((blocks & NPU_ENABLE_DPU) && why, why);
    why = decode_all(t, moved, blocks, opt);
    return why ? why : npu_rk3568_check_task(t, regs);
}

static const char *decode_rk3562(NpuTask *t, const uint32_t *regs,
                                 uint32_t enable, const NpuTaskOptions *opt)
{
    g_autofree uint32_t *moved = g_new(uint32_t, NPU_REGFILE_WORDS);
    const char *why = npu_rk3562_move(moved, regs, enable);

    REFUSE_IF(why, why);
    t->dpu.packed = RK3562_PACKED_CHANNELS;
    if (enable & NPU_ENABLE_DPU) {
        why = npu_stage_stall(moved, enable & NPU_ENABLE_DPU_RDMA);
        REFUSE_IF(why, why);
        t->dpu.stream.last_bytes = npu_rk3562_last_bytes(regs);
    }
    why = decode_blocks(t, moved, enable, opt);
    return why ? why : npu_rk3562_finish(t, regs);
}

NpuVerdict npu_task_decode(NpuTask *t, const uint32_t *regs, uint32_t enable,
                           const NpuTaskOptions *opt, const char **why)
{
    memset(t, 0, sizeof(*t));
    t->encoding = opt->encoding;
    t->enable = enable;
    set_atom(&t->dpu, NPU_ATOM);
    t->dpu.packed = NPU_PACKED_CHANNELS;
    if (opt->encoding == NPU_ENCODING_RK3576 ||
        opt->encoding == NPU_ENCODING_RV1126B) {
        t->encoding = NPU_ENCODING_RK3576;
        *why = npu_rk3576_decode(t, regs, enable, opt);
        return *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
    }
    if (opt->encoding == NPU_ENCODING_RK3568) {
        *why = npu_rk3568_stall(regs, enable);
        if (*why) {
            return NPU_TASK_STALL;
        }
        *why = decode_rk3568(t, regs, enable, opt);
        return *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
    }
    if (opt->encoding == NPU_ENCODING_RK3562) {
        *why = decode_rk3562(t, regs, enable, opt);
        return *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
    }
    *why = find_stall(regs, enable, opt);
    if (*why) {
        return NPU_TASK_STALL;
    }
    *why = decode_all(t, regs, enable, opt);
    return *why ? NPU_TASK_UNIMP : NPU_TASK_RUN;
}

/*
 * Weights of 4 bits are halves to the array, in the same order.  A half has
 * all of them, and a float all of their products.
 */
static bool compute_int4(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    size_t n = t->conv.weight_bytes * 2, i;
    uint8_t *halves = g_try_malloc(n * 2);
    NpuOperands wide = *in;
    bool ok = false;

    if (halves) {
        for (i = 0; i < n; i++) {
            int8_t v = sextract32(in->weights[i / 2], i % 2 * 4, 4);

            stw_le_p(halves + 2 * i, npu_fp32_to_fp16(v));
        }
        wide.weights = halves;
        ok = npu_cna_run(t, &wide, out);
    }
    g_free(halves);
    return ok;
}

static bool compute_wide(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    switch (t->kind) {
    case NPU_KIND_FLYING:
        return npu_flying_run(t, in, out);
    case NPU_KIND_POOL:
        return npu_ppu_run(t, in, out);
    default:
        return t->conv.int4_weights ? compute_int4(t, in, out)
                                    : npu_cna_run(t, in, out);
    }
}

/* All but what is between the DPU and the PPU or memory. */
static bool compute_block(const NpuTask *t, const NpuOperands *in,
                          uint8_t *out)
{
    return t->dpu.atom == NPU_ATOM ? compute_wide(t, in, out)
                                   : npu_narrow_run(t, in, out, compute_wide);
}

/* What the DPU hands over, as @cube; NULL if there is none. */
static uint8_t *compute_cube(const NpuTask *t, const NpuOperands *in,
                             const NpuCube *cube)
{
    NpuTask *dpu = g_try_malloc(sizeof(*dpu));
    uint8_t *mid = g_try_malloc(cube->bytes);
    bool ok = dpu && mid;

    if (ok) {
        *dpu = *t;
        dpu->dpu.out.cube = *cube;
        ok = compute_block(dpu, in, mid);
    }
    g_free(dpu);
    if (!ok) {
        g_free(mid);
        mid = NULL;
    }
    return mid;
}

/* What goes from the DPU to the PPU never sees memory. */
static bool compute_both(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    NpuTask *ppu = g_try_malloc(sizeof(*ppu));
    uint8_t *mid = compute_cube(t, in, &t->pool.from);
    NpuOperands pooled = { .cancel = in->cancel };
    bool ok = ppu && mid;

    if (ok) {
        *ppu = *t;
        ppu->kind = NPU_KIND_POOL;
        memset(ppu->feed, 0, sizeof(ppu->feed));
        pooled.feed[NPU_FEED_MAIN] = mid;
        ok = compute_block(ppu, &pooled, out);
    }
    g_free(ppu);
    g_free(mid);
    return ok;
}

static bool compute_stream(const NpuTask *t, const NpuOperands *in,
                           uint8_t *out)
{
    uint8_t *mid = compute_cube(t, in, &t->dpu.stream.from);

    if (mid) {
        npu_stream_write(t, mid, out);
    }
    g_free(mid);
    return mid;
}

static bool compute_row_max(const NpuTask *t, const NpuOperands *in,
                            uint8_t *out)
{
    uint8_t *mid = compute_cube(t, in, &t->dpu.stream.from);

    if (mid) {
        npu_row_max_write(t, mid, out);
    }
    g_free(mid);
    return mid;
}

static bool compute(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    if (t->pool.from_dpu) {
        return compute_both(t, in, out);
    }
    if (t->dpu.row_max) {
        return compute_row_max(t, in, out);
    }
    return t->dpu.stream.on ? compute_stream(t, in, out)
                            : compute_block(t, in, out);
}

static void read_record(NpuTask *t, NpuStage *s, const uint8_t *p)
{
    if (s->scalars & NPU_SCALAR_ALU) {
        s->alu_operand = ldl_le_p(p);
        p += NPU_SCALAR_ALU_BYTES;
    }
    if (s->scalars & NPU_SCALAR_CPEND) {
        t->conv.zero_point = (int16_t)lduw_le_p(p);
        p += NPU_SCALAR_BYTES;
    }
    if (s->scalars & NPU_SCALAR_MUL) {
        s->mul_operand = lduw_le_p(p);
        p += NPU_SCALAR_BYTES;
    }
    if (s->scalars & NPU_SCALAR_SHIFTS) {
        s->shift = extract32(ldl_le_p(p), 0, 6);
        s->shift_neg = extract32(ldl_le_p(p), 8, 6);
    }
}

/* Operands for all channels are part of the task once they are there. */
static bool compute_records(const NpuTask *t, const NpuOperands *in,
                            uint8_t *out)
{
    NpuTask *known = g_try_malloc(sizeof(*known));
    bool ok = false;
    unsigned i;

    if (known) {
        *known = *t;
        for (i = 0; i < NPU_STAGE_NUM; i++) {
            if (t->dpu.stage[i].scalars) {
                read_record(known, &known->dpu.stage[i],
                            in->feed[NPU_FEED_RECORD + i]);
            }
        }
        ok = compute(known, in, out);
    }
    g_free(known);
    return ok;
}

bool npu_task_compute(const NpuTask *t, const NpuOperands *in, uint8_t *out)
{
    bool records = t->dpu.stage[NPU_STAGE_BS].scalars ||
                   t->dpu.stage[NPU_STAGE_BN].scalars;

    return records ? compute_records(t, in, out) : compute(t, in, out);
}
