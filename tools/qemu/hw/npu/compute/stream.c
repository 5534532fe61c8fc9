/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the RK3588 NPU's DPU to memory: atoms one after the other, which the
 * write DMA counts by a shape of its own.
 *
 * The DPU goes through groups of surfaces, lines and columns, and hands over
 * the surfaces of a group at each position; the write DMA takes the atoms in
 * that order through its own groups, lines and columns.  Networks of Rockchip's
 * compilers show that nothing but the number of atoms must agree: they write
 * lines as columns, a cube of 2x64 as 64x2, and every line of a convolution as
 * a group to leave out every other column.
 */
#include "qemu/osdep.h"
#include "stream.h"
#include "cube.h"
#include "decode.h"

static uint64_t atoms(uint32_t surfaces, uint32_t width, uint32_t height)
{
    return (uint64_t)surfaces * width * height;
}

/*
 * Other shapes than the DPU's.  Surfaces of padding come behind the computed
 * ones of a group, so that they are left out where there is only one group.
 */
static const char *decode_shape(NpuTask *t, uint32_t surfaces,
                                uint32_t computed)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    uint32_t per_group = d->out.surf_group;

    REFUSE_IF(atoms(surfaces, d->width, d->height) * s->copies_x *
              s->copies_y != atoms(s->surfaces, s->width, s->height),
              "DPU and its write DMA disagree about the amount");
    REFUSE_IF(surfaces * s->copies_y % per_group || s->surfaces % per_group,
              "write DMA with part of a group");
    s->on = true;
    s->group = per_group;
    s->written = per_group;
    if (computed < surfaces) {
        REFUSE_IF(surfaces != per_group,
                  "padding that is not at the end of the write DMA's group");
        s->written = computed;
    }
    d->out.surf_group = s->written;
    REFUSE_IF(!npu_cube_init(&s->from, surfaces, d->height,
                             (uint64_t)d->width * NPU_ATOM, false) ||
              !npu_cube_init(&d->out.cube,
                             s->surfaces / per_group * s->written, s->height,
                             (uint64_t)s->width * NPU_ATOM, false),
              "too much output");
    return NULL;
}

const char *npu_stream_decode(NpuTask *t, const uint32_t *regs,
                              uint32_t surfaces, uint32_t computed)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    NpuOutput *o = &d->out;
    bool inner;

    s->width = GET(regs, DPU_WDMA_SIZE_1, WIDTH) + 1;
    s->height = GET(regs, DPU_WDMA_SIZE_1, HEIGHT) + 1;
    s->surfaces = DIV_ROUND_UP((GET(regs, DPU_WDMA_SIZE_0, CHANNEL) + 1) *
                               d->out_bytes, NPU_ATOM) * s->copies_y;
    o->line_bytes = (s->width + GET(regs, DPU_DATA_CUBE_NOTCH, NOTCH_0)) *
                    NPU_ATOM;
    if (s->width != d->width || s->height != d->height ||
        s->surfaces != surfaces || s->copies_x * s->copies_y > 1) {
        return decode_shape(t, surfaces, computed);
    }
    inner = d->height > 1 &&
            npu_output_surf_offset(o, 1) == d->width * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&o->cube, computed, d->height,
                             (uint64_t)d->width * NPU_ATOM, inner),
              "too much output");
    return NULL;
}

/*
 * The DPU's atom that comes as the @nth.  Copies of one that lie below each
 * other come together, then those to its right.
 */
static const uint8_t *nth_atom(const NpuDpu *d, const uint8_t *from,
                               uint64_t nth)
{
    const NpuStream *s = &d->stream;
    uint32_t group = s->group / s->copies_y;
    uint64_t pos = nth / s->group;
    uint32_t j = nth % s->group / s->copies_y;
    uint32_t x = pos % ((uint64_t)d->width * s->copies_x) / s->copies_x;
    uint64_t line = pos / ((uint64_t)d->width * s->copies_x);

    return from + (line / d->height * group + j) * s->from.host_surf +
           line % d->height * s->from.host_line + (size_t)x * NPU_ATOM;
}

static void write_group(const NpuTask *t, uint32_t group, const uint8_t *from,
                        uint8_t *out)
{
    const NpuDpu *d = &t->dpu;
    const NpuStream *s = &d->stream;
    const NpuCube *to = &d->out.cube;
    uint64_t nth = atoms(group, s->width, s->height) * s->group;
    uint32_t x, y, j;

    out += group * s->written * to->host_surf;
    for (y = 0; y < s->height; y++) {
        for (x = 0; x < s->width; x++) {
            for (j = 0; j < s->group; j++, nth++) {
                if (j < s->written) {
                    memcpy(out + j * to->host_surf + y * to->host_line +
                           (size_t)x * NPU_ATOM, nth_atom(d, from, nth),
                           NPU_ATOM);
                }
            }
        }
    }
}

void npu_stream_write(const NpuTask *t, const uint8_t *from, uint8_t *out)
{
    const NpuStream *s = &t->dpu.stream;
    uint32_t group;

    for (group = 0; group < s->surfaces / s->group; group++) {
        write_group(t, group, from, out);
    }
}
