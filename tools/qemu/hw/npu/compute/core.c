/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of the RK3588 NPU's CNA, and what its CORE hands to the DPU.
 */
#include "qemu/osdep.h"
#include "core.h"
#include "numeric.h"

bool npu_conv_is_float(const NpuConv *c)
{
    return c->precision == NPU_PREC_FP16 || c->precision == NPU_PREC_BF16 ||
           c->precision == NPU_PREC_TF32;
}

static inline const uint8_t *find_atom(const NpuConv *c,
                                       const uint8_t *feature, uint32_t s,
                                       int32_t y, int32_t x)
{
    const NpuCube *cube = &c->atoms;

    if (y < 0 || x < 0 || y >= (int32_t)c->in_h || x >= (int32_t)c->in_w) {
        return NULL;
    }
    return feature + s * cube->host_surf + y * cube->host_line +
           (size_t)x * NPU_ATOM;
}

/* Between the lines and columns of a spread input there is padding. */
static const uint8_t *find_spread_atom(const NpuConv *c, const uint8_t *feature,
                                       uint32_t s, int32_t y, int32_t x)
{
    int32_t spread_y = c->spread_y, spread_x = c->spread_x;

    if (y % spread_y || x % spread_x) {
        return NULL;
    }
    return find_atom(c, feature, s, y / spread_y, x / spread_x);
}

const uint8_t *npu_conv_atom(const NpuConv *c, const uint8_t *feature,
                             uint32_t s, int32_t y, int32_t x)
{
    return c->deconv ? find_spread_atom(c, feature, s, y, x)
                     : find_atom(c, feature, s, y, x);
}

void npu_conv_window(const NpuConv *c, uint32_t pos, int32_t *y, int32_t *x)
{
    *y = (int32_t)(pos / c->out_w * c->stride_y) - (int32_t)c->pad_top;
    *x = (int32_t)(pos % c->out_w * c->stride_x) - (int32_t)c->pad_left;
}

int32_t npu_core_result(const NpuConv *c, int64_t acc, int64_t pend)
{
    acc = npu_round_shift(acc + pend, c->truncate, c->truncate_up);
    return acc < INT32_MIN ? INT32_MIN : acc > INT32_MAX ? INT32_MAX : acc;
}
