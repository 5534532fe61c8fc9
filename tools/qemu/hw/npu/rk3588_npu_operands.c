/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands of a task of an RK3588 NPU core: what goes from memory to CBUF, or
 * is there from an earlier task, and what the DPU and the PPU fetch themselves.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "rk3588_npu_internal.h"

static bool same_cube(const NpuCube *a, const NpuCube *b)
{
    return a->surfaces == b->surfaces && a->height == b->height &&
           a->row_bytes == b->row_bytes && a->surf_inner == b->surf_inner &&
           a->converted == b->converted;
}

/* Puts the feature data of the task into CBUF unless it is there already. */
static bool load_feature(Rk3588NpuState *s)
{
    const NpuCube *cube = &s->task.conv.feature.cube;
    NpuSpanDma dma = { .s = s };
    NpuBuf *b = s->cbuf_feature;

    if (s->task.conv.data_reuse) {
        if (!b || !same_cube(&b->cube, cube)) {
            npu_pc_unimplemented(s, "DATA_REUSE of what is not in CBUF");
            return false;
        }
        return true;
    }
    b = npu_buf_new(cube->bytes);
    if (!b) {
        npu_pc_out_of_memory(s);
        return false;
    }
    b->cube = *cube;
    dma.buf = b->data;
    if (!npu_task_feature_spans(&s->task, npu_pc_dma_span, &dma)) {
        npu_buf_unref(b);
        return false;
    }
    npu_buf_unref(s->cbuf_feature);
    s->cbuf_feature = b;
    return true;
}

static bool load_weights(Rk3588NpuState *s)
{
    const NpuConv *c = &s->task.conv;
    NpuBuf *b = s->cbuf_weights;

    if (c->weight_reuse) {
        if (!b || b->size != c->weight_bytes) {
            npu_pc_unimplemented(s, "WEIGHT_REUSE of what is not in CBUF");
            return false;
        }
        return true;
    }
    b = npu_buf_new(c->weight_bytes);
    if (!b) {
        npu_pc_out_of_memory(s);
        return false;
    }
    if (!npu_pc_dma(s, NPU_BANK_PROGRAM, c->weights, b->data, b->size,
                    false)) {
        npu_buf_unref(b);
        return false;
    }
    npu_buf_unref(s->cbuf_weights);
    s->cbuf_weights = b;
    return true;
}

static bool load_stages(Rk3588NpuState *s, NpuJob *job)
{
    unsigned i;

    for (i = 0; i < NPU_STAGE_NUM; i++) {
        size_t len = npu_task_stage_bytes(&s->task, i);

        if (!len) {
            continue;
        }
        job->stage[i] = g_malloc(len);
        if (!npu_pc_dma(s, NPU_BANK_DATA, s->task.dpu.stage[i].addr,
                        job->stage[i], len, false)) {
            return false;
        }
    }
    return true;
}

static bool load_feeds(Rk3588NpuState *s, NpuJob *job)
{
    unsigned i;

    for (i = 0; i < NPU_FEED_NUM; i++) {
        NpuSpanDma dma = { .s = s };

        if (!s->task.feed[i].cube.bytes) {
            continue;
        }
        job->feed[i] = g_try_malloc(s->task.feed[i].cube.bytes);
        if (!job->feed[i]) {
            npu_pc_out_of_memory(s);
            return false;
        }
        dma.buf = job->feed[i];
        if (!npu_task_feed_spans(&s->task, i, npu_pc_dma_span, &dma)) {
            return false;
        }
    }
    return true;
}

bool npu_operands_to_cbuf(Rk3588NpuState *s)
{
    return load_feature(s) && load_weights(s);
}

bool npu_operands_to_job(Rk3588NpuState *s, NpuJob *job)
{
    return load_stages(s, job) && load_feeds(s, job);
}

/* Silicon does not check; the result is garbage there, but not here. */
void npu_operands_check_cbuf(Rk3588NpuState *s)
{
    const char *why = npu_task_cbuf_short(&s->task);
    uint32_t entries = npu_task_cbuf_entries(&s->task);

    if (why) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_CBUF_SHORT, 1);
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s: silicon would "
                      "compute garbage\n", s->core_index, why);
    }
    if (!s->task.conv.packed && s->task.conv.data_entries != entries) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %u CBUF entries per line "
                      "where %u are usual\n", s->core_index,
                      s->task.conv.data_entries, entries);
    }
}
