/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for QEMU's header where the arithmetic is tested without QEMU:
 * only what hw/npu's plain C files use.
 */
#ifndef SHIM_QEMU_OSDEP_H
#define SHIM_QEMU_OSDEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIN(a, b)               ((a) < (b) ? (a) : (b))
#define MAX(a, b)               ((a) > (b) ? (a) : (b))
#define DIV_ROUND_UP(n, d)      (((n) + (d) - 1) / (d))
#define QEMU_ALIGN_UP(n, d)     (DIV_ROUND_UP(n, d) * (d))
/* As in QEMU: right for powers of two alone. */
#define ROUND_UP(n, d)          (((n) + (d) - 1) & -(0 ? (n) : (d)))
#define ARRAY_SIZE(x)           (sizeof(x) / sizeof((x)[0]))
#define QEMU_ALIGNED(n)         __attribute__((aligned(n)))

static inline void *g_try_malloc(size_t size)
{
    return malloc(size);
}

static inline void *g_try_malloc0(size_t size)
{
    return calloc(1, size);
}

static inline void g_free(void *p)
{
    free(p);
}

#endif
