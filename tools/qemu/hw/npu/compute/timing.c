/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cycle model of the RK3588 NPU.
 *
 * A task is a pipeline of the memory port, the multiplier array and DPU or
 * PPU: after the data for its first results has arrived, it lasts as long as
 * the busiest of them.  tests/unit/calibrate-rk3588-npu.c compares the
 * outcome with public measurements (row time.products and those behind it).
 */
#include "qemu/osdep.h"
#include "timing.h"
#include "stage.h"

/*
 * Per task: the 10 us at 200 MHz by which jobs of one task exceed their
 * arithmetic in public reports of networks of 28 jobs (row time.task).
 */
#define FIXED_CYCLES        2000

/*
 * The AXI port is 16 bytes wide and works in bursts of up to 16 beats.
 * The gap is fitted: 11 GFLOPS of fp16 products with one row at 1 GHz.
 */
#define BURST_BYTES         256
#define BURST_GAP           7

/*
 * One cycle in nine without products is fitted: 900 of 1024 GFLOPS of fp16 in
 * the best shapes.
 */
#define MAC_STALL_DIV       8

/* From CSC to CORE and from CORE to the end of the DPU (row time.task). */
#define CORE_DRAIN          64
#define DPU_DRAIN           64

static uint64_t dma_cycles(uint64_t bytes, uint64_t runs)
{
    uint64_t bursts = DIV_ROUND_UP(bytes, BURST_BYTES);

    return DIV_ROUND_UP(bytes, NPU_ATOM) + MAX(bursts, runs) * BURST_GAP;
}

/* @lines: do the lines of a surface follow each other in memory? */
static uint64_t cube_cycles(const NpuCube *c, bool lines)
{
    uint64_t runs = (uint64_t)c->surfaces * (lines ? 1 : c->height);

    if (!c->bytes) {
        return 0;
    }
    return dma_cycles(c->bytes, c->surf_inner ? 1 : runs);
}

static uint64_t feature_cycles(const NpuConv *c)
{
    const NpuFeature *f = &c->feature;
    bool lines = f->line_stride == f->group_lines * f->dma_width &&
                 f->dma_width == c->in_w;

    return c->data_reuse ? 0 : cube_cycles(&f->cube, lines);
}

/* They are expanded as fast as they come (row time.memory-port). */
static size_t weights_read(const NpuConv *c)
{
    return c->weight_reuse ? 0 : c->dcomp.on ? c->dcomp.bytes : c->weight_bytes;
}

static uint64_t weight_cycles(const NpuConv *c)
{
    return c->weight_reuse ? 0 : dma_cycles(weights_read(c), 1);
}

static uint64_t kernel_groups(const NpuConv *c)
{
    return DIV_ROUND_UP(c->kernels, c->kernel_group);
}

/* Products per cycle: channel group times kernel group (TRM). */
static uint64_t mac_cycles(const NpuConv *c)
{
    uint32_t width = c->precision == NPU_PREC_TF32 ? NPU_CHANNEL_GROUP / 2
                                                   : NPU_CHANNEL_GROUP;
    uint64_t cycles = DIV_ROUND_UP((uint64_t)c->in_c, width) * c->k_w *
                      c->k_h * kernel_groups(c) * c->out_w * c->out_h;

    return cycles + cycles / MAC_STALL_DIV;
}

/* CNA needs the rows of the first result and the first kernels to begin. */
static uint64_t fill_cycles(const NpuConv *c, uint64_t feature,
                            uint64_t weight)
{
    uint64_t rows = MIN((uint64_t)(c->k_h - 1) * c->step_y + 1, c->in_h);

    return feature * rows / c->in_h + weight / kernel_groups(c);
}

/* Operands of BS, BN and EW, main input of a flying DPU or of the PPU. */
static uint64_t operand_cycles(const NpuTask *t, uint64_t *bytes)
{
    uint64_t cycles = 0;
    unsigned i;

    for (i = 0; i < NPU_STAGE_NUM; i++) {
        size_t len = npu_task_stage_bytes(t, i);

        *bytes += len;
        cycles += len ? dma_cycles(len, 1) : 0;
    }
    for (i = 0; i < NPU_FEED_NUM; i++) {
        *bytes += t->feed[i].cube.bytes;
        cycles += cube_cycles(&t->feed[i].cube, true);
    }
    return cycles;
}

static uint64_t output_cycles(const NpuTask *t)
{
    const NpuOutput *o = &t->dpu.out;

    return cube_cycles(&o->cube, o->line_bytes == o->cube.row_bytes);
}

/* An atom per cycle: DPU writes, PPU reads them (row time.memory-port). */
static uint64_t post_cycles(const NpuTask *t)
{
    uint64_t bytes = t->kind == NPU_KIND_POOL
                     ? t->feed[NPU_FEED_MAIN].cube.bytes
                     : t->dpu.out.cube.bytes;

    return DIV_ROUND_UP(bytes, NPU_ATOM);
}

static void conv_cost(const NpuTask *t, uint64_t others, NpuCost *cost)
{
    const NpuConv *c = &t->conv;
    uint64_t feature = feature_cycles(c);
    uint64_t weight = weight_cycles(c);
    uint64_t mac = mac_cycles(c);
    uint64_t fill = fill_cycles(c, feature, weight);
    uint64_t busy = MAX(mac, post_cycles(t));
    uint64_t csc, fetched;
    bool fits = c->data_banks < NPU_CBUF_BANKS &&
                c->weight_bytes <= (NPU_CBUF_BANKS - c->data_banks) *
                                   NPU_CBUF_BANK_BYTES;

    busy = MAX(busy, feature + weight + others - fill);
    cost->cycles = FIXED_CYCLES + fill + busy;
    if (!c->data_reuse) {
        cost->bytes += c->feature.cube.bytes;
    }
    cost->bytes += weights_read(c);

    csc = cost->cycles - CORE_DRAIN - DPU_DRAIN;
    fetched = FIXED_CYCLES - CORE_DRAIN - DPU_DRAIN + feature;
    cost->at[NPU_EVENT_FEATURE] = MIN(fetched, csc);
    /* Weights that CBUF can't hold arrive as room for them becomes free. */
    fetched = fits ? fetched + weight : csc - mac / kernel_groups(c);
    cost->at[NPU_EVENT_WEIGHT] = MIN(MAX(fetched, cost->at[NPU_EVENT_FEATURE]),
                                     csc);
    cost->at[NPU_EVENT_CSC] = csc;
    cost->at[NPU_EVENT_CORE] = csc + CORE_DRAIN;
}

void npu_task_cost(const NpuTask *t, NpuCost *cost)
{
    uint64_t others;

    memset(cost, 0, sizeof(*cost));
    cost->bytes = t->dpu.out.cube.bytes;
    others = operand_cycles(t, &cost->bytes) + output_cycles(t);
    if (t->kind == NPU_KIND_CONV) {
        conv_cost(t, others, cost);
    } else {
        cost->cycles = FIXED_CYCLES + MAX(others, post_cycles(t));
    }
}

void npu_share_memory(const uint64_t *demand, uint64_t *grant, unsigned n,
                      uint64_t total)
{
    uint64_t rest = total;
    unsigned open = n, i;
    bool settled = false;

    for (i = 0; i < n; i++) {
        grant[i] = UINT64_MAX;      /* open */
    }
    while (open && !settled) {
        uint64_t share = total ? rest / open : UINT64_MAX;

        settled = true;
        for (i = 0; i < n; i++) {
            if (grant[i] == UINT64_MAX && demand[i] <= share) {
                grant[i] = demand[i];
                rest -= demand[i];
                open--;
                settled = false;
            }
        }
    }
    for (i = 0; i < n; i++) {
        if (grant[i] == UINT64_MAX) {
            grant[i] = rest / open;
        }
    }
}
