/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cubes of atoms: their layout in host memory and their rows in the guest's.
 */
#ifndef HW_NPU_COMPUTE_CUBE_H
#define HW_NPU_COMPUTE_CUBE_H

#include "types.h"

/* False if the cube is too big for the host buffer of a task. */
bool npu_cube_init(NpuCube *cube, uint32_t surfaces, uint32_t height,
                   uint64_t row_bytes, bool surf_inner);

/* Positions from the start of one surface of feature data to the next. */
static inline int64_t npu_feature_surf_pitch(const NpuFeature *f)
{
    return (int64_t)f->group_lines * f->dma_width + f->surf_stride;
}

/* Bytes from the start of the output to the start of @surface. */
uint32_t npu_output_surf_offset(const NpuOutput *o, uint32_t surface);

/* Called per contiguous piece; false stops. */
typedef bool (*NpuSpanFn)(void *opaque, uint64_t iova, size_t offset,
                          size_t len);
bool npu_task_feature_spans(const NpuTask *t, NpuSpanFn fn, void *opaque);
/*
 * Rows that @t keeps, from those that CBUF has of the last task, or why it
 * cannot.  @last may be NULL.
 */
const char *npu_task_keep_rows(const NpuTask *t, uint8_t *feature,
                               const NpuCube *last, const uint8_t *data);
bool npu_task_feed_spans(const NpuTask *t, unsigned feed, NpuSpanFn fn,
                         void *opaque);
bool npu_task_output_spans(const NpuTask *t, NpuSpanFn fn, void *opaque);

#endif
