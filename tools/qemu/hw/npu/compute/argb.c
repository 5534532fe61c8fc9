/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weights of packed pixels as the RK3576 and RK3562 NPUs store them: four for
 * each tap, whatever the pixels have.  The RK3576's rows of taps of bytes fill
 * 16 bytes (rows cna.argb-weights, cna.rk3562-weights).
 */
#include "qemu/osdep.h"
#include "argb.h"

#define TAP_LANES       4

bool npu_argb_by_rows(const NpuConv *c)
{
    return c->packed && c->bits == 8 && !c->packed_tight;
}

static uint32_t row_bytes(const NpuConv *c)
{
    return npu_argb_by_rows(c) ? ROUND_UP(TAP_LANES * c->k_w, NPU_ATOM)
                               : TAP_LANES * c->k_w * c->bits / 8;
}

uint32_t npu_argb_kernel_bytes(const NpuConv *c)
{
    return c->k_h * row_bytes(c);
}

/* Where the lanes of tap (@ky, @kx) of kernel @o are. */
static size_t stored_at(const NpuConv *c, uint32_t o, uint32_t ky, uint32_t kx)
{
    uint32_t first = o - o % c->kernel_group;
    uint32_t group = MIN(c->kernels - first, c->kernel_group);
    size_t at = (size_t)first * npu_argb_kernel_bytes(c);
    uint32_t tap = TAP_LANES * c->bits / 8;

    if (npu_argb_by_rows(c)) {
        return at + ((size_t)ky * group + (o - first)) * row_bytes(c) +
               kx * tap;
    }
    return at + ((size_t)(ky * c->k_w + kx) * group + (o - first)) * tap;
}

uint8_t *npu_argb_weights(const NpuConv *c, const uint8_t *stored)
{
    uint32_t taps = c->k_w * c->k_h, o, t;
    uint8_t *plain = g_try_malloc0((size_t)c->kernels * taps * NPU_ATOM);

    for (o = 0; plain && o < c->kernels; o++) {
        uint32_t first = o - o % c->kernel_group;
        uint32_t group = MIN(c->kernels - first, c->kernel_group);

        for (t = 0; t < taps; t++) {
            memcpy(plain + ((size_t)first * taps + (size_t)t * group +
                            (o - first)) * NPU_ATOM,
                   stored + stored_at(c, o, t / c->k_w, t % c->k_w),
                   c->packed * c->bits / 8);
        }
    }
    return plain;
}
