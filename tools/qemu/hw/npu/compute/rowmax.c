/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maxima and minima over the channels of each position, by the RK3588 NPU's
 * DPU: the write DMA packs them, one half after the other.
 *
 * Softmax of Rockchip's compilers shows it: the next task broadcasts what this
 * one wrote, as one packed channel, with weights that subtract it from the
 * same tensor, and the exponential's table ends at 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rowmax.h"
#include "cube.h"
#include "decode.h"
#include "numeric.h"

/*
 * MINMAX_CTL, which the TRM does not explain (row out.minmax-ctl).  Without
 * VALUE_ONLY the index of the first such channel follows.
 */
#define MINMAX_ON           1
#define MINMAX_LARGEST      2
#define MINMAX_VALUE_ONLY   4
#define BYTES               2

bool npu_row_max_wanted(const uint32_t *regs)
{
    return GET(regs, DPU_DATA_CUBE_HEIGHT, MINMAX_CTL);
}

/* The bytes of SURF_LEN behind the last maximum stay (row out.minmax-tail). */
const char *npu_row_max_decode(NpuTask *t, const uint32_t *regs)
{
    uint32_t ctl = GET(regs, DPU_DATA_CUBE_HEIGHT, MINMAX_CTL);
    NpuDpu *d = &t->dpu;
    uint32_t bytes;

    d->row_least = !(ctl & MINMAX_LARGEST);
    d->row_index = !(ctl & MINMAX_VALUE_ONLY);
    bytes = d->width * BYTES * (d->row_index ? 2 : 1);
    REFUSE_IF(!(ctl & MINMAX_ON), "MINMAX_CTL without its lowest bit");
    REFUSE_IF(d->row_index && d->width > 1,
              "index of the largest channel but of one position");
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
 * The first of them.  Padding counts as what OFFSET_PEND says, which compilers
 * make the least half there is.
 */
static uint16_t extreme(const NpuDpu *d, const uint8_t *from, uint32_t x,
                        uint16_t *index)
{
    uint32_t per_surf = NPU_ATOM / BYTES, c;
    float best = npu_bits_to_float(d->row_least ? 0x7f800000 : 0xff800000);

    *index = 0;
    for (c = 0; c < d->channels; c++) {
        const uint8_t *p = from + c / per_surf * d->stream.from.host_surf +
                           (size_t)x * NPU_ATOM + c % per_surf * BYTES;
        float v = npu_fp16_to_fp32(lduw_le_p(p));

        if (d->row_least ? v < best : v > best) {
            best = v;
            *index = c;
        }
    }
    return npu_fp32_to_fp16(best);
}

void npu_row_max_write(const NpuTask *t, const uint8_t *from, uint8_t *out)
{
    uint16_t index = 0;
    uint32_t x;

    for (x = 0; x < t->dpu.width; x++) {
        stw_le_p(out + x * BYTES, extreme(&t->dpu, from, x, &index));
    }
    if (t->dpu.row_index) {
        stw_le_p(out + BYTES, index);
    }
}
