/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoding a register snapshot of the RK3576 NPU, or the RV1126B's, into a
 * validated task, for the stages that the RK3588 has as well.
 *
 * There is no manual.  What a program may contain is what Rockchip's compilers
 * have been seen to write, or what others have run on boards; anything else is
 * refused (row soc.rk3576-encoding).
 */
#include "qemu/osdep.h"
#include "known.h"
#include "rk3576.h"
#include "rk3576_conv.h"
#include "rk3576_dpu.h"
#include "rk3576_ppu.h"
#include "rk3576_regs.h"

/* Half of a task of both cores. */
#define ENABLE_PAIR     (1u << 24)

/* By ascending offsets. */
static const NpuKnownField known[] = {
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    NPU_KNOWN_FIELD(RK3576, block, reg, field)
#include "npu/rk3576_regs.h"
};

const char *npu_rk3576_decode(NpuTask *t, const uint32_t *regs,
                              uint32_t enable, const NpuTaskOptions *opt)
{
    const uint32_t conv = NPU_ENABLE_CNA | NPU_ENABLE_CORE | NPU_ENABLE_DPU |
                          NPU_ENABLE_DPU_RDMA;
    uint32_t blocks = enable & ~ENABLE_PAIR;
    const char *why = npu_known_check(known, ARRAY_SIZE(known), NULL, regs,
                                      blocks);

    REFUSE_IF(why, why);
    REFUSE_IF(enable & ENABLE_PAIR && opt->encoding == NPU_ENCODING_RV1126B,
              "half of a pair on a chip with one core");
    switch (blocks) {
    case conv:
    case conv & ~NPU_ENABLE_DPU_RDMA:
        t->kind = NPU_KIND_CONV;
        REFUSE_IF(GET76(regs, CNA_CONV_CON3, PAIR) !=
                  !!(enable & ENABLE_PAIR),
                  "half of a pair in one place, a whole task in another");
        why = npu_rk3576_conv(t, regs, opt);
        REFUSE_IF(why, why);
        REFUSE_IF(blocks != conv && !t->conv.product &&
                  !(t->conv.packed && t->conv.precision == NPU_PREC_FP16),
                  "convolution without RDMA but of halves");
        return npu_rk3576_dpu(t, regs, opt);
    case NPU_ENABLE_DPU | NPU_ENABLE_DPU_RDMA:
        t->kind = NPU_KIND_FLYING;
        break;
    case NPU_ENABLE_PPU | NPU_ENABLE_PPU_RDMA:
        t->kind = NPU_KIND_POOL;
        break;
    default:
        return "combination of enabled blocks";
    }
    REFUSE_IF(enable & ENABLE_PAIR, "pair of other tasks than convolutions");
    return t->kind == NPU_KIND_POOL ? npu_rk3576_ppu(t, regs)
                                    : npu_rk3576_dpu(t, regs, opt);
}
