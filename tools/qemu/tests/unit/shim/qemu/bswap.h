/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Little-endian memory access under the names that QEMU's header uses. */
#ifndef SHIM_QEMU_BSWAP_H
#define SHIM_QEMU_BSWAP_H

#include <stdint.h>
#include <string.h>

static inline int lduw_le_p(const void *ptr)
{
    const uint8_t *p = ptr;

    return p[0] | p[1] << 8;
}

static inline int ldl_le_p(const void *ptr)
{
    const uint8_t *p = ptr;

    return (int)(p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
}

static inline void stw_le_p(void *ptr, uint16_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap16(v);
#endif
    memcpy(ptr, &v, sizeof(v));
}

static inline void stl_le_p(void *ptr, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    memcpy(ptr, &v, sizeof(v));
}

#endif
