/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the RK3568 NPU in surfaces of 16 bytes, which is what the stages
 * know: two of its surfaces of 8 bytes make one (row soc.rk3568-atoms).
 *
 * An odd last one is filled with zeros, which have weights of 0.
 */
#include "qemu/osdep.h"
#include "cube.h"
#include "ew.h"
#include "narrow.h"

/* What has to be freed behind a task. */
typedef struct Wide {
    NpuTask t;
    NpuOperands in;
    uint8_t *feature, *weights, *feed[NPU_FEED_NUM], *out;
} Wide;

/* Position @x of line @y in surface @s of narrow atoms, in @cube of wide. */
static size_t wide_at(const NpuCube *cube, uint32_t s, uint32_t y, uint32_t x,
                      uint32_t atom)
{
    uint32_t per_atom = NPU_ATOM / atom;

    return s / per_atom * cube->host_surf + y * cube->host_line +
           (size_t)x * NPU_ATOM + s % per_atom * atom;
}

static bool wide_cube(NpuCube *wide, const NpuCube *cube, uint32_t atom)
{
    uint32_t per_atom = NPU_ATOM / atom;

    return npu_cube_init(wide, DIV_ROUND_UP(cube->surfaces, per_atom),
                         cube->height, (uint64_t)cube->row_bytes * per_atom,
                         false);
}

/* @wide from @narrow, or @narrow from @wide. */
static void copy(const NpuCube *to, uint8_t *wide, const NpuCube *cube,
                 uint8_t *narrow, uint32_t atom, bool back)
{
    uint32_t s, y, x;

    for (s = 0; s < cube->surfaces; s++) {
        for (y = 0; y < cube->height; y++) {
            uint8_t *line = narrow + s * cube->host_surf +
                            y * cube->host_line;

            for (x = 0; x < cube->row_bytes / atom; x++) {
                uint8_t *p = wide + wide_at(to, s, y, x, atom);

                memcpy(back ? line + x * atom : p, back ? p : line + x * atom,
                       atom);
            }
        }
    }
}

static uint8_t *widen(const NpuCube *to, const NpuCube *cube,
                      const uint8_t *narrow, uint32_t atom)
{
    uint8_t *wide = g_try_malloc0(to->bytes);

    if (wide) {
        copy(to, wide, cube, (uint8_t *)narrow, atom, false);
    }
    return wide;
}

/* Rows of weights with zeros for the channels that are not stored. */
static uint8_t *widen_weights(const NpuConv *c, uint32_t channels,
                              const uint8_t *from)
{
    uint32_t group = c->depthwise ? c->kernel_group : c->channel_group;
    uint32_t taps = c->k_w * c->k_h, kernel, first, row;
    uint32_t bytes = c->bits / 8;
    uint8_t *all = g_try_malloc0((size_t)c->kernels * taps * channels * bytes);
    uint8_t *to = all;

    for (kernel = 0; all && kernel < c->kernels; kernel += c->kernel_group) {
        uint32_t rows = taps * MIN(c->kernels - kernel, c->kernel_group);

        for (first = 0; first < c->stored_c; first += group) {
            size_t len = MIN(c->stored_c - first, group) * bytes;
            size_t step = MIN(channels - first, group) * bytes;

            for (row = 0; row < rows; row++) {
                memcpy(to, from, len);
                to += step;
                from += len;
            }
        }
    }
    return all;
}

static bool widen_conv(Wide *w, const NpuTask *t, const NpuOperands *in)
{
    NpuConv *c = &w->t.conv;

    c->in_c = ROUND_UP(c->in_c, NPU_ATOM_BITS / c->bits);
    c->kernel_elems = c->k_w * c->k_h * c->in_c;
    if (!c->packed) {
        w->feature = widen(&c->atoms, &t->conv.feature.cube, in->feature,
                           t->dpu.atom);
        w->in.feature = w->feature;
    }
    if (t->conv.stored_c < c->in_c) {
        c->stored_c = c->in_c;
        w->weights = widen_weights(&t->conv, c->in_c, in->weights);
        w->in.weights = w->weights;
    }
    return w->in.feature && w->in.weights;
}

/* Bytes of a position in a surface of what a read engine fetches. */
static uint32_t feed_atom(const NpuTask *t, unsigned feed)
{
    switch (feed) {
    case NPU_FEED_EW:
        return npu_ew_atom(&t->dpu);
    case NPU_FEED_MAIN:
        return t->kind == NPU_KIND_FLYING ? t->dpu.in_atom : t->dpu.atom;
    default:
        return t->dpu.atom;
    }
}

static bool widen_feeds(Wide *w, const NpuTask *t, const NpuOperands *in)
{
    unsigned i;

    for (i = 0; i < NPU_FEED_NUM; i++) {
        const NpuCube *cube = i == NPU_FEED_MAIN && t->kind == NPU_KIND_POOL
                              ? &t->pool.from : &t->feed[i].cube;
        NpuCube *to = &w->t.feed[i].cube;
        uint32_t atom = feed_atom(t, i);

        if (!cube->bytes) {
            continue;
        }
        if (!wide_cube(to, cube, atom)) {
            return false;
        }
        w->feed[i] = widen(to, cube, in->feed[i], atom);
        w->in.feed[i] = w->feed[i];
        if (!w->feed[i]) {
            return false;
        }
    }
    w->t.pool.from = w->t.feed[NPU_FEED_MAIN].cube;
    return true;
}

static bool widen_task(Wide *w, const NpuTask *t, const NpuOperands *in)
{
    NpuCube *out = &w->t.dpu.out.cube;

    w->t = *t;
    w->in = *in;
    w->t.dpu.atom = NPU_ATOM;
    if (!wide_cube(out, &t->dpu.out.cube, t->dpu.out_atom) ||
        !widen_feeds(w, t, in) ||
        (t->kind == NPU_KIND_CONV && !widen_conv(w, t, in))) {
        return false;
    }
    w->out = g_try_malloc(out->bytes);
    return w->out;
}

bool npu_narrow_run(const NpuTask *t, const NpuOperands *in, uint8_t *out,
                    NpuRunFn run)
{
    Wide *w = g_try_malloc0(sizeof(*w));
    bool ok = w && widen_task(w, t, in) && run(&w->t, &w->in, w->out);
    unsigned i;

    if (ok) {
        copy(&w->t.dpu.out.cube, w->out, &t->dpu.out.cube, out,
             t->dpu.out_atom, true);
    }
    if (w) {
        for (i = 0; i < NPU_FEED_NUM; i++) {
            g_free(w->feed[i]);
        }
        g_free(w->feature);
        g_free(w->weights);
        g_free(w->out);
    }
    g_free(w);
    return ok;
}
