/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and bits that a chip's table has a row for.
 */
#ifndef HW_NPU_COMPUTE_KNOWN_H
#define HW_NPU_COMPUTE_KNOWN_H

#include "regs.h"

typedef struct NpuKnownField {
    uint32_t word, mask;
    const char *why;
} NpuKnownField;

/* For NPU_FIELD of the table of @chip. */
#define NPU_KNOWN_FIELD(chip, block, reg, field)                            \
    { R_##chip##_##block##_##reg,                                           \
      R_##chip##_##block##_##reg##_##field##_MASK,                          \
      "bits of " #block "_" #reg " that nobody has seen" },

/*
 * NULL, or what the blocks of @enable have that is in none of the @num rows,
 * which come by ascending offsets.  Of words that @all says, which may be
 * NULL, any bits are known.
 */
const char *npu_known_check(const NpuKnownField *known, size_t num,
                            bool (*all)(uint32_t word), const uint32_t *regs,
                            uint32_t enable);

#endif
