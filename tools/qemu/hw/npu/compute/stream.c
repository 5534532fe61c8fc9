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

/*
 * An int8 depthwise convolution hands over words of all 64 channels at a
 * position, which is more than a group of the write DMA can have.
 */
#define DEPTHWISE_ATOMS 16

/* Words of 32 kernels at a position. */
#define MC_ATOMS        8

static uint64_t atoms(uint32_t surfaces, uint32_t width, uint32_t height)
{
    return (uint64_t)surfaces * width * height;
}

uint32_t npu_element_bytes(uint8_t precision)
{
    switch (precision) {
    case NPU_PREC_INT8:
        return 1;
    case NPU_PREC_INT16:
    case NPU_PREC_FP16:
    case NPU_PREC_BF16:
        return 2;
    default:
        return 4;
    }
}

/* How many atoms of the output does one of the input make? */
static uint32_t atoms_of_one(const NpuDpu *d)
{
    uint32_t in = d->in_atom / npu_element_bytes(d->precision);
    uint32_t out = d->out_atom / d->out_bytes;

    return MAX(in / out, 1);
}

static bool gives_depthwise_words(const NpuTask *t)
{
    return t->kind == NPU_KIND_CONV && t->conv.depthwise &&
           t->conv.precision == NPU_PREC_INT8 && t->dpu.out_bytes == 4;
}

/* Surfaces of which the DPU hands over an atom before the next position. */
static uint32_t own_group(const NpuTask *t)
{
    return t->kind == NPU_KIND_FLYING ? 1 :
           gives_depthwise_words(t) ? DEPTHWISE_ATOMS : t->dpu.out.surf_group;
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
    s->own_group = own_group(t);
    REFUSE_IF(s->own_group < surfaces && t->kind == NPU_KIND_FLYING &&
              atoms_of_one(d) > 1, "other shapes of wider elements");
    REFUSE_IF(surfaces % s->own_group || s->surfaces % per_group,
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
                             (uint64_t)d->width * d->out_atom, false) ||
              !npu_cube_init(&d->out.cube,
                             s->surfaces / per_group * s->written, s->height,
                             (uint64_t)s->width * d->out_atom, false),
              "too much output");
    return NULL;
}

/*
 * Transposition by Rockchip's compilers, of tensors that are moved as 16-bit
 * integers.  TP_EN makes one group of all that is written, in which the
 * surfaces take eight columns.  TP_ORG_EN transposes atoms in square blocks: 16
 * of 16 bytes, or eight of eight halfwords with TP_PRECISION; SIZE_C + 1 groups
 * are written.  Networks use the results as weights, or give them out, which
 * leaves no choice for what becomes of the elements of an atom.
 */
static const char *decode_transposition(NpuTask *t, const uint32_t *regs)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    bool rows = GET(regs, DPU_FEATURE_MODE_CFG, TP_EN);
    bool blocks = GET(regs, DPU_BS_OW_CFG, TP_ORG_EN);
    bool wide = GET(regs, DPU_WDMA_SIZE_0, TP_PRECISION);

    if (!rows && !blocks) {
        return NULL;
    }
    REFUSE_IF(t->kind != NPU_KIND_FLYING || d->precision != NPU_PREC_INT16 ||
              d->out_precision != NPU_PREC_INT16 || rows == blocks ||
              (rows && !wide) || d->orig_channels != d->channels ||
              s->copies_x > 1, "transposed output");
    s->surfaces = d->out.surf_group;
    if (blocks) {
        s->block = wide ? d->out_atom / 2 : d->out_atom;
        REFUSE_IF(s->width * s->height * d->out.surf_group % s->block,
                  "transposition in blocks that a group cuts");
        s->surfaces *= GET(regs, DPU_WDMA_SIZE_0, SIZE_C) + 1;
    }
    return NULL;
}

/*
 * MC_SURF_OUT: blocks of eight atoms, one of 32 kernels at a position each, lie
 * in pairs.  A pair begins SURFACE_ADD behind the last one, whatever SIZE_E and
 * DST_SURF_STRIDE say (row out.mc-surf).
 */
static const char *decode_mc_surf(NpuTask *t, uint32_t surfaces)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    uint32_t blocks = surfaces / MC_ATOMS * d->width * d->height;

    REFUSE_IF(t->kind != NPU_KIND_CONV || t->conv.depthwise ||
              t->conv.precision != NPU_PREC_INT8 ||
              d->out_precision != NPU_PREC_INT32 || surfaces % MC_ATOMS ||
              d->orig_channels != d->channels || s->surfaces != surfaces ||
              s->width != d->width || s->height != d->height,
              "DPU feature mode");
    s->on = true;
    s->own_group = MC_ATOMS;
    s->group = 1;
    s->written = 1;
    s->surfaces = blocks;
    s->width = MC_ATOMS;
    s->height = 1;
    d->out.surf_group = 2;
    d->out.surf_stride = MC_ATOMS * NPU_ATOM;
    REFUSE_IF(!npu_cube_init(&s->from, surfaces, d->height,
                             (uint64_t)d->width * NPU_ATOM, false) ||
              !npu_cube_init(&d->out.cube, blocks, 1, MC_ATOMS * NPU_ATOM,
                             false), "too much output");
    return NULL;
}

/*
 * What has been seen of the RK3568: atoms of one surface that grow to floats,
 * and floats as they lie in memory.
 */
static const char *check_rk3568(const NpuDpu *d, uint32_t surfaces)
{
    bool words = npu_element_bytes(d->precision) == 4;

    REFUSE_IF(d->out_precision != NPU_PREC_FP32 ||
              (!words && surfaces != atoms_of_one(d)), "unaligned output");
    return NULL;
}

/* Bytes of all that is written. */
static uint64_t unaligned_bytes(const NpuDpu *d, uint32_t surfaces)
{
    uint32_t last = d->stream.last_bytes ?: d->out_atom;

    return (uint64_t)surfaces * d->height *
           ((d->width - 1) * d->out_atom + last);
}

/* All atoms in one line, of so many bytes in all. */
static const char *decode_row(NpuDpu *d, uint32_t surfaces, uint64_t bytes)
{
    NpuStream *s = &d->stream;

    s->on = true;
    s->group = 1;
    s->written = 1;
    s->surfaces = 1;
    s->width = atoms(surfaces, d->width, d->height);
    s->height = 1;
    d->out.surf_group = 1;
    REFUSE_IF(!npu_cube_init(&s->from, surfaces, d->height,
                             (uint64_t)d->width * d->out_atom, false) ||
              !npu_cube_init(&d->out.cube, 1, 1, bytes, false),
              "too much output");
    return NULL;
}

/*
 * NONALIGN of the RK3568 and the RK3562: atoms lie one behind the other, in the
 * order in which the DPU hands them over, SURF_LEN times 16 bytes in all (rows
 * out.rk3568-nonalign, out.rk3562-nonalign).
 */
static const char *decode_unaligned(NpuTask *t, const uint32_t *regs,
                                    uint32_t surfaces)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    uint64_t bytes = unaligned_bytes(d, surfaces);
    const char *why = t->encoding == NPU_ENCODING_RK3568
                      ? check_rk3568(d, surfaces) : NULL;

    REFUSE_IF(why, why);
    s->own_group = atoms_of_one(d);
    REFUSE_IF(t->kind != NPU_KIND_FLYING || s->copies_x * s->copies_y > 1 ||
              d->orig_channels != d->channels || surfaces % s->own_group ||
              GET(regs, DPU_FEATURE_MODE_CFG, SURF_LEN) !=
              DIV_ROUND_UP(bytes, NPU_ATOM), "unaligned output");
    REFUSE_IF(s->last_bytes && (d->height > 1 || s->own_group > 1),
              "part of an atom but of one line");
    return decode_row(d, surfaces, bytes);
}

/* Does NONALIGN say what the strides say, too?  So it is at one position. */
static bool lies_in_line(const NpuTask *t, const uint32_t *regs,
                         uint32_t surfaces)
{
    const NpuDpu *d = &t->dpu;

    return t->encoding == NPU_ENCODING_RK3568 && d->width * d->height == 1 &&
           d->out.surf_stride == d->out_atom &&
           GET(regs, DPU_FEATURE_MODE_CFG, SURF_LEN) ==
           DIV_ROUND_UP(surfaces * d->out_atom, NPU_ATOM);
}

/*
 * NONALIGN and RGP_TYPE 2 of the RK3588: of a channel of bytes, moved as the
 * first of eight halfwords, its byte at each position, one behind the other.
 */
static const char *decode_bytes(NpuTask *t, const uint32_t *regs,
                                uint32_t surfaces)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    uint64_t bytes = atoms(1, d->width, d->height);

    REFUSE_IF(t->kind != NPU_KIND_FLYING || d->precision != NPU_PREC_INT16 ||
              d->out_precision != NPU_PREC_INT16 || surfaces != 1 ||
              d->orig_channels != 1 || s->copies_x * s->copies_y > 1 ||
              s->surfaces != 1 || s->width != d->width ||
              s->height != d->height ||
              GET(regs, DPU_FEATURE_MODE_CFG, SURF_LEN) !=
              DIV_ROUND_UP(bytes, NPU_ATOM), "unaligned output");
    s->own_group = 1;
    s->each_bytes = 1;
    return decode_row(d, surfaces, bytes);
}

const char *npu_stream_decode(NpuTask *t, const uint32_t *regs,
                              uint32_t surfaces, uint32_t computed)
{
    NpuDpu *d = &t->dpu;
    NpuStream *s = &d->stream;
    NpuOutput *o = &d->out;
    const char *why;
    bool inner;

    s->width = GET(regs, DPU_WDMA_SIZE_1, WIDTH) + 1;
    s->height = GET(regs, DPU_WDMA_SIZE_1, HEIGHT) + 1;
    s->surfaces = DIV_ROUND_UP((GET(regs, DPU_WDMA_SIZE_0, CHANNEL) + 1) *
                               d->out_bytes, d->out_atom) * s->copies_y;
    why = decode_transposition(t, regs);
    REFUSE_IF(why, why);
    if (GET(regs, DPU_DATA_FORMAT, MC_SURF_OUT)) {
        return decode_mc_surf(t, surfaces);
    }
    if (GET(regs, DPU_FEATURE_MODE_CFG, NONALIGN) &&
        !lies_in_line(t, regs, surfaces)) {
        return t->encoding == NPU_ENCODING_RK3588
               ? decode_bytes(t, regs, surfaces)
               : decode_unaligned(t, regs, surfaces);
    }
    o->line_bytes = (s->width + GET(regs, DPU_DATA_CUBE_NOTCH, NOTCH_0)) *
                    d->out_atom;
    if (s->width != d->width || s->height != d->height ||
        s->surfaces != surfaces || s->copies_x * s->copies_y > 1 ||
        s->block || gives_depthwise_words(t)) {
        return decode_shape(t, surfaces, computed);
    }
    inner = d->height > 1 &&
            npu_output_surf_offset(o, 1) == d->width * d->out_atom;
    REFUSE_IF(!npu_cube_init(&o->cube, computed, d->height,
                             (uint64_t)d->width * d->out_atom, inner),
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
    uint32_t group = s->own_group;
    uint64_t pos = nth / (group * s->copies_y);
    uint32_t j = nth % (group * s->copies_y) / s->copies_y;
    uint32_t x = pos % ((uint64_t)d->width * s->copies_x) / s->copies_x;
    uint64_t line = pos / ((uint64_t)d->width * s->copies_x);

    return from + (line / d->height * group + j) * s->from.host_surf +
           line % d->height * s->from.host_line + (size_t)x * d->out_atom;
}

/* An element of each atom of a block makes an atom. */
static void transpose(const NpuDpu *d, const uint8_t *from, uint64_t nth,
                      uint8_t *to)
{
    uint32_t block = d->stream.block;
    uint32_t bytes = d->out_atom / block;
    uint32_t column = nth % block;
    uint32_t i;

    for (i = 0; i < block; i++) {
        memcpy(to + i * bytes,
               nth_atom(d, from, nth - column + i) + column * bytes, bytes);
    }
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
                uint8_t *p = out + j * to->host_surf + y * to->host_line +
                             (size_t)x * d->out_atom;

                if (s->block) {
                    transpose(d, from, nth, p);
                } else if (j < s->written) {
                    memcpy(p, nth_atom(d, from, nth), d->out_atom);
                }
            }
        }
    }
}

/* Lines one behind the other; some bytes of each atom count, or of the last. */
static void write_lines(const NpuDpu *d, const uint8_t *from, uint8_t *out)
{
    const NpuStream *s = &d->stream;
    uint32_t nth;

    for (nth = 0; nth < s->width; nth++) {
        uint32_t len = s->each_bytes ?:
                       nth % d->width == d->width - 1 ? s->last_bytes
                                                      : d->out_atom;

        memcpy(out, nth_atom(d, from, nth), len);
        out += len;
    }
}

void npu_stream_write(const NpuTask *t, const uint8_t *from, uint8_t *out)
{
    const NpuStream *s = &t->dpu.stream;
    uint32_t group;

    if (s->last_bytes || s->each_bytes) {
        write_lines(&t->dpu, from, out);
        return;
    }
    for (group = 0; group < s->surfaces / s->group; group++) {
        write_group(t, group, from, out);
    }
}
