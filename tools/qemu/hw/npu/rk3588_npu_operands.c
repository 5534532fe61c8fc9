/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands of a task of an RK3588 NPU core: what goes from memory to CBUF, or
 * is there from an earlier task, and what the DPU and the PPU fetch themselves.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/log.h"
#include "migration/vmstate.h"
#include "compute/cube.h"
#include "compute/dcomp.h"
#include "rk3588_npu_operands.h"

/* But for the order of rows in the host's buffer, which memory suggests. */
static bool same_data(const NpuCube *a, const NpuCube *b)
{
    return a->surfaces == b->surfaces && a->height == b->height &&
           a->row_bytes == b->row_bytes && a->converted == b->converted;
}

static bool same_cube(const NpuCube *a, const NpuCube *b)
{
    return same_data(a, b) && a->surf_inner == b->surf_inner;
}

/* --- Banks --- */

/* Bytes from bank @first on that @banks have, and where they begin. */
static size_t bank_room(uint32_t first, uint32_t banks, size_t *start)
{
    first = MIN(first, NPU_CBUF_BANKS);
    *start = first * NPU_CBUF_BANK_BYTES;
    return MIN(banks, NPU_CBUF_BANKS - first) * NPU_CBUF_BANK_BYTES;
}

/* Banks of @bytes from @start on. */
static uint32_t bank_mask(size_t start, size_t bytes)
{
    unsigned first = start / NPU_CBUF_BANK_BYTES;

    return MAKE_64BIT_MASK(first, DIV_ROUND_UP(bytes, NPU_CBUF_BANK_BYTES));
}

/* What is longer than its banks goes through them in turns. */
static void banks_fill(NpuCbuf *cbuf, uint32_t first, uint32_t banks,
                       const NpuBuf *b)
{
    size_t start, room = bank_room(first, banks, &start), at = 0;

    if (!room) {
        return;
    }
    if (b->size > 2 * room) {
        at = (b->size / room - 1) * room;
    }
    cbuf->used |= bank_mask(start, MIN(b->size, room));
    while (at < b->size) {
        size_t n = MIN(b->size - at, room);

        memcpy(cbuf->ram + start, b->data + at, n);
        at += n;
    }
}

/*
 * A task that reuses what the last one did not leave gets what the banks hold
 * (row cbuf.reuse-other).
 */
static NpuBuf *banks_left(const NpuCbuf *cbuf, const NpuEnv *env,
                          uint32_t first, uint32_t banks, size_t bytes)
{
    size_t start, room = bank_room(first, banks, &start);
    NpuBuf *b;

    if (bytes > room || (bank_mask(start, bytes) & ~cbuf->used)) {
        return NULL;
    }
    b = npu_buf_new(bytes);
    if (b) {
        memcpy(b->data, cbuf->ram + start, bytes);
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: reuse of what an "
                      "earlier task left in CBUF\n", env->core_index);
    }
    return b;
}

/* --- Loading --- */

/* The rows of @from in the order of @cube, which has the same. */
static NpuBuf *reorder(const NpuBuf *from, const NpuCube *cube)
{
    NpuBuf *b = npu_buf_new(cube->bytes);
    uint32_t s, h;

    for (s = 0; b && s < cube->surfaces; s++) {
        for (h = 0; h < cube->height; h++) {
            memcpy(b->data + s * cube->host_surf + h * cube->host_line,
                   from->data + s * from->cube.host_surf +
                   h * from->cube.host_line, cube->row_bytes);
        }
    }
    return b;
}

static NpuMemResult reuse_feature(NpuCbuf *cbuf, const NpuEnv *env,
                                  const NpuTask *t, const char **why)
{
    const NpuCube *cube = &t->conv.feature.cube;
    NpuBuf *b = cbuf->feature;

    if (b && same_cube(&b->cube, cube)) {
        return NPU_MEM_OK;
    }
    if (b && same_data(&b->cube, cube)) {
        b = reorder(b, cube);
        if (!b) {
            return NPU_MEM_NO_HOST_MEMORY;
        }
    } else {
        /* What the converter made of data is not kept. */
        b = cube->converted || (b && b->cube.converted) ? NULL :
            banks_left(cbuf, env, 0, t->conv.data_banks, cube->bytes);
    }
    if (!b) {
        *why = "DATA_REUSE of what is not in CBUF";
        return NPU_MEM_UNIMPLEMENTED;
    }
    b->cube = *cube;
    npu_buf_unref(cbuf->feature);
    cbuf->feature = b;
    return NPU_MEM_OK;
}

static NpuMemResult reuse_weights(NpuCbuf *cbuf, const NpuEnv *env,
                                  const NpuTask *t, const char **why)
{
    const NpuConv *c = &t->conv;
    NpuBuf *b = cbuf->weights;

    if (b && b->size == c->weight_bytes) {
        return NPU_MEM_OK;
    }
    b = banks_left(cbuf, env, c->data_banks, c->weight_banks, c->weight_bytes);
    if (!b) {
        *why = "WEIGHT_REUSE of what is not in CBUF";
        return NPU_MEM_UNIMPLEMENTED;
    }
    npu_buf_unref(cbuf->weights);
    cbuf->weights = b;
    return NPU_MEM_OK;
}

/*
 * Rows that @t keeps.  A load that comes again, because an access was blocked
 * or the task has migrated, finds them in what the first one left: the rows of
 * the task before are gone.
 */
static const char *keep_rows(const NpuCbuf *cbuf, const NpuTask *t, NpuBuf *b)
{
    const NpuBuf *last = cbuf->feature;

    if (!t->conv.feature.kept) {
        return NULL;
    }
    if (cbuf->in_flight && last && same_cube(&last->cube, &b->cube)) {
        memcpy(b->data, last->data, b->size);
        return NULL;
    }
    return npu_task_keep_rows(t, b->data, last ? &last->cube : NULL,
                              last ? last->data : NULL);
}

static NpuMemResult load_feature(NpuCbuf *cbuf, const NpuEnv *env,
                                 const NpuTask *t, const char **why)
{
    const NpuCube *cube = &t->conv.feature.cube;
    NpuSpanDma dma = { .env = env };
    NpuBuf *b;

    if (t->conv.data_reuse) {
        return reuse_feature(cbuf, env, t, why);
    }
    b = npu_buf_new(cube->bytes);
    if (!b) {
        return NPU_MEM_NO_HOST_MEMORY;
    }
    b->cube = *cube;
    *why = keep_rows(cbuf, t, b);
    if (*why) {
        npu_buf_unref(b);
        return NPU_MEM_UNIMPLEMENTED;
    }
    dma.buf = b->data;
    if (!npu_task_feature_spans(t, npu_dma_span, &dma)) {
        npu_buf_unref(b);
        return dma.result;
    }
    banks_fill(cbuf, 0, t->conv.data_banks, b);
    npu_buf_unref(cbuf->feature);
    cbuf->feature = b;
    cbuf->in_flight = true;
    return NPU_MEM_OK;
}

/* CBUF has them expanded: their size and banks are those of others. */
static NpuMemResult load_compressed(const NpuEnv *env, const NpuConv *c,
                                    NpuBuf *b, const char **why)
{
    NpuBuf *stream = npu_buf_new(c->dcomp.bytes);
    NpuMemResult r;

    if (!stream) {
        return NPU_MEM_NO_HOST_MEMORY;
    }
    r = npu_dma(env, NPU_BANK_PROGRAM, c->weights, stream->data, stream->size,
                false);
    if (r == NPU_MEM_OK) {
        *why = npu_dcomp_expand(&c->dcomp, stream->data, b->data, b->size);
        r = *why ? NPU_MEM_UNIMPLEMENTED : NPU_MEM_OK;
    }
    npu_buf_unref(stream);
    return r;
}

static NpuMemResult load_weights(NpuCbuf *cbuf, const NpuEnv *env,
                                 const NpuTask *t, const char **why)
{
    const NpuConv *c = &t->conv;
    NpuMemResult r;
    NpuBuf *b;

    if (c->weight_reuse) {
        return reuse_weights(cbuf, env, t, why);
    }
    b = npu_buf_new(c->weight_bytes);
    if (!b) {
        return NPU_MEM_NO_HOST_MEMORY;
    }
    r = c->dcomp.on ? load_compressed(env, c, b, why)
                    : npu_dma(env, NPU_BANK_PROGRAM, c->weights, b->data,
                              b->size, false);
    if (r != NPU_MEM_OK) {
        npu_buf_unref(b);
        return r;
    }
    banks_fill(cbuf, c->data_banks, c->weight_banks, b);
    npu_buf_unref(cbuf->weights);
    cbuf->weights = b;
    return NPU_MEM_OK;
}

void npu_cbuf_next_task(NpuCbuf *cbuf)
{
    cbuf->in_flight = false;
}

NpuMemResult npu_cbuf_load(NpuCbuf *cbuf, const NpuEnv *env, const NpuTask *t,
                           const char **why)
{
    NpuMemResult r = load_feature(cbuf, env, t, why);

    return r == NPU_MEM_OK ? load_weights(cbuf, env, t, why) : r;
}

/*
 * FC_DATA_BANK moves the bank that is read, not the one that is written; banks
 * behind the last are the first again (row cbuf.fc-data-bank).
 */
NpuBuf *npu_cbuf_feature(const NpuCbuf *cbuf, const NpuTask *t)
{
    size_t at = t->conv.read_bank * NPU_CBUF_BANK_BYTES, i;
    NpuBuf *b = NULL;

    if (at) {
        b = npu_buf_new(cbuf->feature->size);
    }
    if (!b) {
        return npu_buf_ref(cbuf->feature);
    }
    for (i = 0; i < b->size; i++) {
        b->data[i] = cbuf->ram[(at + i) % NPU_CBUF_SIZE];
    }
    return b;
}

/* Silicon does not check; the result is garbage there, but not here. */
void npu_cbuf_check(const NpuEnv *env, const NpuTask *t)
{
    const char *why = npu_task_cbuf_short(t);

    if (t->conv.windows &&
        npu_ctl_take_cbuf(env->ctl, env->core_index, t->conv.window_base,
                          t->conv.window_end)) {
        why = "a window of CBUF that another core has";
    }
    if (why) {
        npu_count(env, NPU_CNT_CBUF_SHORT, 1);
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %s: silicon would "
                      "compute garbage\n", env->core_index, why);
    }
    if (!npu_task_cbuf_entries_usual(t)) {
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-npu%u: %u CBUF entries per line "
                      "where %u are usual\n", env->core_index,
                      t->conv.data_entries, npu_task_cbuf_entries(t));
    }
}

static NpuMemResult load_stages(const NpuEnv *env, const NpuTask *t,
                                NpuJob *job)
{
    unsigned i;

    for (i = 0; i < NPU_STAGE_NUM; i++) {
        size_t len = npu_task_stage_bytes(t, i);
        NpuMemResult r;

        if (!len) {
            continue;
        }
        job->stage[i] = g_malloc(len);
        r = npu_dma(env, NPU_BANK_DATA, t->dpu.stage[i].addr, job->stage[i],
                    len, false);
        if (r != NPU_MEM_OK) {
            return r;
        }
    }
    return NPU_MEM_OK;
}

static NpuMemResult load_feeds(const NpuEnv *env, const NpuTask *t,
                               NpuJob *job)
{
    unsigned i;

    for (i = 0; i < NPU_FEED_NUM; i++) {
        NpuSpanDma dma = { .env = env };

        if (!t->feed[i].cube.bytes) {
            continue;
        }
        job->feed[i] = g_try_malloc(t->feed[i].cube.bytes);
        if (!job->feed[i]) {
            return NPU_MEM_NO_HOST_MEMORY;
        }
        dma.buf = job->feed[i];
        if (!npu_task_feed_spans(t, i, npu_dma_span, &dma)) {
            return dma.result;
        }
    }
    return NPU_MEM_OK;
}

NpuMemResult npu_operands_load(const NpuEnv *env, const NpuTask *t,
                               NpuJob *job)
{
    NpuMemResult r = load_stages(env, t, job);

    return r == NPU_MEM_OK ? load_feeds(env, t, job) : r;
}

/* So much of a result may be late: a burst of the write DMA. */
#define LATE_BYTES      64

/* A walk over results that is one run of bytes behind. */
typedef struct StoreWalk {
    NpuSpanDma dma;
    uint64_t iova;
    size_t offset;
    size_t len;         /* 0: there was none yet */
} StoreWalk;

static bool store_run(StoreWalk *w, size_t len)
{
    return !len || npu_dma_span(&w->dma, w->iova, w->offset, len);
}

static bool store_run_before(void *opaque, uint64_t iova, size_t offset,
                             size_t len)
{
    StoreWalk *w = opaque;
    bool ok = store_run(w, w->len);

    w->iova = iova;
    w->offset = offset;
    w->len = len;
    return ok;
}

NpuMemResult npu_results_store(const NpuEnv *env, const NpuTask *t,
                               uint8_t *out, NpuTail *tail)
{
    StoreWalk w = { .dma = { .env = env, .buf = out, .write = true } };
    uint32_t ns = tail ? npu_tail_ns(tail) : 0;

    if (!ns) {
        npu_task_output_spans(t, npu_dma_span, &w.dma);
    } else if (npu_task_output_spans(t, store_run_before, &w)) {
        size_t late = MIN(w.len, LATE_BYTES), now = w.len - late;

        if (store_run(&w, now)) {
            npu_tail_hold(tail, w.iova + now, out + w.offset + now, late, ns);
        }
    }
    return w.dma.result;
}

void npu_cbuf_drop(NpuCbuf *cbuf)
{
    npu_buf_unref(cbuf->feature);
    npu_buf_unref(cbuf->weights);
    cbuf->feature = NULL;
    cbuf->weights = NULL;
    cbuf->in_flight = false;
    memset(cbuf->ram, 0, sizeof(cbuf->ram));
    cbuf->used = 0;
}

void npu_cbuf_fill(NpuCbuf *cbuf, uint32_t x)
{
    size_t i;

    for (i = 0; i < sizeof(cbuf->ram) && x; i += sizeof(x)) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        stl_le_p(cbuf->ram + i, x);
    }
}

/* --- Migration --- */

static void save_buf(NpuBuf *b, uint8_t **data, uint32_t *size)
{
    *data = b ? b->data : NULL;
    *size = b ? b->size : 0;
}

static int npu_cbuf_pre_save(void *opaque)
{
    NpuCbuf *cbuf = opaque;

    save_buf(cbuf->feature, &cbuf->mig.feature, &cbuf->mig.feature_size);
    save_buf(cbuf->weights, &cbuf->mig.weights, &cbuf->mig.weights_size);
    cbuf->mig.cube = (NpuCube) { 0 };
    if (cbuf->feature) {
        cbuf->mig.cube = cbuf->feature->cube;
    }
    return 0;
}

static int npu_cbuf_post_save(void *opaque)
{
    NpuCbuf *cbuf = opaque;

    cbuf->mig.feature = NULL;
    cbuf->mig.weights = NULL;
    return 0;
}

static NpuBuf *load_buf(uint8_t **data, uint32_t size)
{
    NpuBuf *b = NULL;

    if (size) {
        b = g_new0(NpuBuf, 1);
        b->refs = 1;
        b->size = size;
        b->data = g_steal_pointer(data);
    }
    return b;
}

/* Where its rows are in the buffer follows from the rest. */
static bool load_cube(NpuCube *cube, uint32_t size)
{
    return !size || (npu_cube_init(cube, cube->surfaces, cube->height,
                                   cube->row_bytes, cube->surf_inner) &&
                     cube->bytes == size);
}

static int npu_cbuf_post_load(void *opaque, int version_id)
{
    NpuCbuf *cbuf = opaque;

    if (!load_cube(&cbuf->mig.cube, cbuf->mig.feature_size)) {
        return -EINVAL;
    }
    cbuf->weights = load_buf(&cbuf->mig.weights, cbuf->mig.weights_size);
    cbuf->feature = load_buf(&cbuf->mig.feature, cbuf->mig.feature_size);
    if (cbuf->feature) {
        cbuf->feature->cube = cbuf->mig.cube;
    }
    return 0;
}

static const VMStateDescription vmstate_npu_cube = {
    .name = "rk3588-npu-core/cube",
    .version_id = 3,
    .minimum_version_id = 3,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(surfaces, NpuCube),
        VMSTATE_UINT32(height, NpuCube),
        VMSTATE_UINT32(row_bytes, NpuCube),
        VMSTATE_BOOL(surf_inner, NpuCube),
        VMSTATE_BOOL(converted, NpuCube),
        VMSTATE_UINT32(granule, NpuCube),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_npu_cbuf = {
    .name = "rk3588-npu-core/cbuf",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_save = npu_cbuf_pre_save,
    .post_save = npu_cbuf_post_save,
    .post_load = npu_cbuf_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(mig.cube, NpuCbuf, 1, vmstate_npu_cube, NpuCube),
        VMSTATE_UINT32(mig.feature_size, NpuCbuf),
        VMSTATE_UINT32(mig.weights_size, NpuCbuf),
        VMSTATE_VBUFFER_ALLOC_UINT32(mig.feature, NpuCbuf, 0, NULL,
                                     mig.feature_size),
        VMSTATE_VBUFFER_ALLOC_UINT32(mig.weights, NpuCbuf, 0, NULL,
                                     mig.weights_size),
        VMSTATE_BOOL(in_flight, NpuCbuf),
        VMSTATE_UINT32(used, NpuCbuf),
        VMSTATE_BUFFER(ram, NpuCbuf),
        VMSTATE_END_OF_LIST()
    }
};
