/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maxima over the channels of each position, by the RK3588 NPU's DPU: the
 * write DMA packs them, one half after the other.
 *
 * Softmax of Rockchip's compilers shows it: the next task broadcasts what this
 * one wrote, as one packed channel, with weights that subtract it from the
 * same tensor, and the exponential's table ends at 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rowmax.h"
#include "alu.h"
#include "cube.h"
#include "decode.h"
#include "numeric.h"

/* Three bits, which the TRM does not tell apart; no other value was seen. */
#define MINMAX_ROW_MAX      7
#define BYTES               2

bool npu_row_max_wanted(const uint32_t *regs)
{
    return GET(regs, DPU_DATA_CUBE_HEIGHT, MINMAX_CTL);
}

/* The bytes of SURF_LEN behind the last maximum stay (row out.minmax-tail). */
const char *npu_row_max_decode(NpuTask *t, const uint32_t *regs)
{
    NpuDpu *d = &t->dpu;
    uint32_t bytes = d->width * BYTES;

    REFUSE_IF(GET(regs, DPU_DATA_CUBE_HEIGHT, MINMAX_CTL) != MINMAX_ROW_MAX,
              "minima and maxima but the largest channel");
    REFUSE_IF(t->kind != NPU_KIND_FLYING || d->precision != NPU_PREC_FP16 ||
              d->out_precision != NPU_PREC_FP16 || t->pool.from_dpu,
              "maxima of channels but of halves from memory");
    REFUSE_IF(d->height != 1 || GET(regs, DPU_WDMA_SIZE_1, HEIGHT) ||
              GET(regs, DPU_WDMA_SIZE_1, WIDTH) + 1 != d->width ||
              GET(regs, DPU_FEATURE_MODE_CFG, SURF_LEN) !=
              DIV_ROUND_UP(bytes, NPU_ATOM),
              "maxima of channels but of one line");
    d->out.surf_group = 1;
    REFUSE_IF(!npu_cube_init(&d->stream.from,
                             DIV_ROUND_UP(d->channels * BYTES, NPU_ATOM), 1,
                             (uint64_t)d->width * NPU_ATOM, false) ||
              !npu_cube_init(&d->out.cube, 1, 1, bytes, false),
              "too much output");
    return NULL;
}

/*
 * Padding does not count: compilers make it the least half there is, in memory
 * and as OFFSET_PEND, so that it would not either way.
 */
static uint16_t largest(const NpuDpu *d, const uint8_t *from, uint32_t x)
{
    uint32_t per_surf = NPU_ATOM / BYTES, c;
    float max = npu_bits_to_float(0xff800000);

    for (c = 0; c < d->orig_channels; c++) {
        const uint8_t *p = from + c / per_surf * d->stream.from.host_surf +
                           (size_t)x * NPU_ATOM + c % per_surf * BYTES;

        max = npu_alu_float(NPU_ALU_MAX, max, npu_fp16_to_fp32(lduw_le_p(p)));
    }
    return npu_fp32_to_fp16(max);
}

void npu_row_max_write(const NpuTask *t, const uint8_t *from, uint8_t *out)
{
    uint32_t x;

    for (x = 0; x < t->dpu.width; x++) {
        stw_le_p(out + x * BYTES, largest(&t->dpu, from, x));
    }
}
