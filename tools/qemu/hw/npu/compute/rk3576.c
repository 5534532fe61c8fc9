/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoding a register snapshot of the RK3576 NPU into a validated task, for
 * the stages that the RK3588 has as well.
 *
 * There is no manual.  What a program may contain is what Rockchip's compilers
 * have been seen to write, or what others have run on boards; anything else is
 * refused (row soc.rk3576-encoding).
 */
#include "qemu/osdep.h"
#include "rk3576.h"
#include "rk3576_conv.h"
#include "rk3576_dpu.h"
#include "rk3576_ppu.h"
#include "rk3576_regs.h"

/* Half of a task of both cores. */
#define ENABLE_PAIR     (1u << 24)
#define BLOCK_WORDS     (0x1000 / 4)
/* S_STATUS, S_POINTER and OPERATION_ENABLE are no part of a task. */
#define HEAD_WORDS      3

typedef struct KnownField {
    uint32_t word, mask;
    const char *why;
} KnownField;

/* By ascending offsets. */
static const KnownField known[] = {
#define NPU_FIELD(block, reg, field, lsb, width, kind)                      \
    { R_RK3576_##block##_##reg, R_RK3576_##block##_##reg##_##field##_MASK,  \
      "bits of " #block "_" #reg " that nobody has seen" },
#include "npu/rk3576_regs.h"
};

/* Registers and bits without a row in the table. */
static const char *check_unknown(const uint32_t *regs, unsigned block)
{
    uint32_t word = block * BLOCK_WORDS + HEAD_WORDS;
    const KnownField *f = known;

    for (; word < (block + 1) * BLOCK_WORDS; word++) {
        const char *why = "a register that nobody has seen";
        uint32_t mask = 0;

        while (f < known + ARRAY_SIZE(known) && f->word < word) {
            f++;
        }
        for (; f < known + ARRAY_SIZE(known) && f->word == word; f++) {
            mask |= f->mask;
            why = f->why;
        }
        /* No program has been seen to write what a reset leaves there. */
        REFUSE_IF((regs[word] & ~mask) && word != R_CORE_MAC_GATING, why);
    }
    return NULL;
}

/* Blocks follow each other in the bitmap as in the address map. */
static const char *check_blocks(const uint32_t *regs, uint32_t enable)
{
    unsigned block;

    for (block = NPU_BLOCK_CNA; block < NPU_BLOCK_NUM; block++) {
        const char *why = enable & (1u << (block - 1))
                          ? check_unknown(regs, block) : NULL;

        REFUSE_IF(why, why);
    }
    return NULL;
}

const char *npu_rk3576_decode(NpuTask *t, const uint32_t *regs,
                              uint32_t enable, const NpuTaskOptions *opt)
{
    const uint32_t conv = NPU_ENABLE_CNA | NPU_ENABLE_CORE | NPU_ENABLE_DPU |
                          NPU_ENABLE_DPU_RDMA;
    uint32_t blocks = enable & ~ENABLE_PAIR;
    const char *why = check_blocks(regs, blocks);

    REFUSE_IF(why, why);
    switch (blocks) {
    case conv:
        t->kind = NPU_KIND_CONV;
        REFUSE_IF(GET76(regs, CNA_CONV_CON3, PAIR) !=
                  !!(enable & ENABLE_PAIR),
                  "half of a pair in one place, a whole task in another");
        why = npu_rk3576_conv(t, regs);
        REFUSE_IF(why, why);
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
