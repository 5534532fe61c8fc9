/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of cubes of the RK3588 NPU, and walks over their rows.
 */
#include "qemu/osdep.h"
#include "cube.h"

bool npu_cube_init(NpuCube *cube, uint32_t surfaces, uint32_t height,
                   uint64_t row_bytes, bool surf_inner)
{
    uint64_t rows = (uint64_t)surfaces * height;

    if (!row_bytes || !rows || rows > NPU_TASK_MAX_BUFFER / row_bytes) {
        return false;
    }
    cube->surfaces = surfaces;
    cube->height = height;
    cube->row_bytes = row_bytes;
    cube->bytes = rows * row_bytes;
    cube->surf_inner = surf_inner;
    cube->host_surf = surf_inner ? row_bytes : row_bytes * height;
    cube->host_line = surf_inner ? row_bytes * surfaces : row_bytes;
    return true;
}

uint32_t npu_output_surf_offset(const NpuOutput *o, uint32_t surface)
{
    return surface / o->surf_group * o->surf_add +
           surface % o->surf_group * o->surf_stride;
}

/* Joins rows that follow each other in the guest and in the host buffer. */
typedef struct SpanRun {
    NpuSpanFn fn;
    void *opaque;
    uint64_t iova;
    size_t offset;
    size_t len;
} SpanRun;

static bool span_flush(SpanRun *run)
{
    size_t len = run->len;

    run->len = 0;
    return !len || run->fn(run->opaque, run->iova, run->offset, len);
}

static bool span_add(SpanRun *run, uint32_t iova, size_t offset, size_t len)
{
    if (run->len && run->iova + run->len == iova &&
        run->offset + run->len == offset) {
        run->len += len;
        return true;
    }
    if (!span_flush(run)) {
        return false;
    }
    run->iova = iova;
    run->offset = offset;
    run->len = len;
    return true;
}

/* Addresses are 32 bits wide and wrap, as the registers do. */
static uint32_t feature_row(const void *what, uint32_t surface, uint32_t row)
{
    const NpuFeature *f = what;
    uint32_t line = row - f->kept;
    int64_t pos = (int64_t)(line / f->group_lines) * f->line_stride +
                  (int64_t)(line % f->group_lines) * f->dma_width +
                  surface * npu_feature_surf_pitch(f);

    return f->base + (uint32_t)(pos * f->unit);
}

static uint32_t feed_row(const void *what, uint32_t surface, uint32_t line)
{
    const NpuFeed *f = what;
    unsigned engine = f->alternate ? surface % 2 : 0;
    uint32_t nth = f->alternate ? surface / 2 : surface;

    return f->base[engine] + nth * f->pitch[engine] + line * f->line_bytes;
}

static uint32_t output_row(const void *what, uint32_t surface, uint32_t line)
{
    const NpuOutput *o = what;

    return o->base + npu_output_surf_offset(o, surface) + line * o->line_bytes;
}

/* Of the rows from @first on. */
static bool cube_spans(const void *what, const NpuCube *cube, uint32_t first,
                       uint32_t (*row)(const void *, uint32_t, uint32_t),
                       NpuSpanFn fn, void *opaque)
{
    SpanRun run = { .fn = fn, .opaque = opaque };
    uint32_t height = cube->height - first;
    uint32_t outer_num = cube->surf_inner ? height : cube->surfaces;
    uint32_t inner_num = cube->surf_inner ? cube->surfaces : height;
    uint32_t outer, inner;

    for (outer = 0; outer < outer_num; outer++) {
        for (inner = 0; inner < inner_num; inner++) {
            uint32_t s = cube->surf_inner ? inner : outer;
            uint32_t h = first + (cube->surf_inner ? outer : inner);
            size_t offset = s * cube->host_surf + h * cube->host_line;

            if (!span_add(&run, row(what, s, h), offset, cube->row_bytes)) {
                return false;
            }
        }
    }
    return span_flush(&run);
}

bool npu_task_feature_spans(const NpuTask *t, NpuSpanFn fn, void *opaque)
{
    const NpuFeature *f = &t->conv.feature;

    return cube_spans(f, &f->cube, f->kept, feature_row, fn, opaque);
}

bool npu_task_feed_spans(const NpuTask *t, unsigned feed, NpuSpanFn fn,
                         void *opaque)
{
    const NpuFeed *f = &t->feed[feed];

    return cube_spans(f, &f->cube, 0, feed_row, fn, opaque);
}

bool npu_task_output_spans(const NpuTask *t, NpuSpanFn fn, void *opaque)
{
    const NpuOutput *o = &t->dpu.out;

    return cube_spans(o, &o->cube, 0, output_row, fn, opaque);
}

const char *npu_task_keep_rows(const NpuTask *t, uint8_t *feature,
                               const NpuCube *last, const uint8_t *data)
{
    const NpuConv *c = &t->conv;
    const NpuCube *cube = &c->feature.cube;
    uint32_t kept = c->feature.kept, from, s, h;

    if (!kept) {
        return NULL;
    }
    if (!last || last->surfaces != cube->surfaces || last->height < kept ||
        last->row_bytes != cube->row_bytes || last->converted) {
        return "rows of CBUF that the last task did not leave";
    }
    from = last->height - kept;
    if ((last->granule - c->window_base + from * c->row_granules) %
        c->window_size != cube->granule - c->window_base) {
        return "rows of CBUF elsewhere than the last task left them";
    }
    for (s = 0; s < cube->surfaces; s++) {
        for (h = 0; h < kept; h++) {
            memcpy(feature + s * cube->host_surf + h * cube->host_line,
                   data + s * last->host_surf + (from + h) * last->host_line,
                   cube->row_bytes);
        }
    }
    return NULL;
}
