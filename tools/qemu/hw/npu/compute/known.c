/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refuses registers and bits without a row in a chip's table: of chips without
 * a manual nobody knows what they would do (rows refused.rk3562,
 * refused.rk3576).
 */
#include "qemu/osdep.h"
#include "decode.h"
#include "known.h"

#define BLOCK_WORDS     (0x1000 / 4)
/* S_STATUS, S_POINTER and OPERATION_ENABLE are no part of a task. */
#define HEAD_WORDS      3

static const char *check_block(const NpuKnownField *f, size_t num,
                               bool (*all)(uint32_t word),
                               const uint32_t *regs, unsigned block)
{
    const NpuKnownField *end = f + num;
    uint32_t word = block * BLOCK_WORDS + HEAD_WORDS;

    for (; word < (block + 1) * BLOCK_WORDS; word++) {
        const char *why = "a register that nobody has seen";
        uint32_t mask = 0;

        while (f < end && f->word < word) {
            f++;
        }
        for (; f < end && f->word == word; f++) {
            mask |= f->mask;
            why = f->why;
        }
        /* No program has been seen to write what a reset leaves there. */
        REFUSE_IF((regs[word] & ~mask) && word != R_CORE_MAC_GATING &&
                  !(all && all(word)), why);
    }
    return NULL;
}

/* Blocks follow each other in the bitmap as in the address map. */
const char *npu_known_check(const NpuKnownField *known, size_t num,
                            bool (*all)(uint32_t word), const uint32_t *regs,
                            uint32_t enable)
{
    unsigned block;

    for (block = NPU_BLOCK_CNA; block < NPU_BLOCK_NUM; block++) {
        const char *why = enable & (1u << (block - 1))
                          ? check_block(known, num, all, regs, block)
                          : NULL;

        REFUSE_IF(why, why);
    }
    return NULL;
}
