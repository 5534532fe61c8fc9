/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tasks of the RK3568 NPU the model computes: copies by the DPU alone.
 *
 * Its DPU has most registers where the RK3588's has them, and atoms of 8 bytes
 * (row soc.rk3568-atoms).  Convolutions have a block more and other registers,
 * operands of the DPU's stages come in other records, and none of it has been
 * compared with silicon's results byte by byte.
 */
#include "qemu/osdep.h"
#include "decode.h"
#include "rk3568.h"

const char *npu_rk3568_check_blocks(uint32_t enable)
{
    REFUSE_IF(enable & NPU_ENABLE_CNA, "convolution of an RK3568");
    REFUSE_IF(enable & (NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA),
              "pooling of an RK3568");
    return NULL;
}

const char *npu_rk3568_check_task(const NpuTask *t)
{
    const NpuDpu *d = &t->dpu;

    REFUSE_IF(d->precision != NPU_PREC_INT8 ||
              d->out_precision != NPU_PREC_INT8,
              "other elements than bytes of an RK3568");
    REFUSE_IF(d->stage[NPU_STAGE_BS].on || d->stage[NPU_STAGE_BN].on ||
              d->ew.on || d->cvt_offset || d->cvt_scale != 1 || d->cvt_shift,
              "arithmetic of an RK3568");
    REFUSE_IF(d->raw || d->row_max || d->stream.on,
              "an RK3568's output in another shape");
    return NULL;
}
