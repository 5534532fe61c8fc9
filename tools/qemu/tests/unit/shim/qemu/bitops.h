/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bit field functions with the meaning that QEMU's header gives them. */
#ifndef SHIM_QEMU_BITOPS_H
#define SHIM_QEMU_BITOPS_H

#include <stdint.h>

static inline uint32_t extract32(uint32_t value, int start, int length)
{
    return (value >> start) & (uint32_t)((1ull << length) - 1);
}

static inline int32_t sextract32(uint32_t value, int start, int length)
{
    uint32_t sign = 1u << (length - 1);
    uint32_t field = extract32(value, start, length);

    return (int32_t)((field ^ sign) - sign);
}

#endif
