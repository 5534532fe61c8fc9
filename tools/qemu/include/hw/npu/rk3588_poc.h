/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory behind the CPUs' caches, for an NPU that does not snoop them.
 *
 * Properties: link "ram" (MemoryRegion, required), "evict" (uint32, 0: a line
 * never leaves a cache by itself; else the seed of which dirty lines do).  For
 * tests that have no CPU: "clean" and "invalidate" (uint64, written only) do
 * that to the line at a physical address.
 */
#ifndef HW_NPU_RK3588_POC_H
#define HW_NPU_RK3588_POC_H

#include "exec/hwaddr.h"
#include "qom/object.h"

#define TYPE_RK3588_POC "rk3588-poc"
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588PocState, RK3588_POC)

/* @size bytes of RAM from @offset on are at @base.  Twice at most. */
void rk3588_poc_map(Rk3588PocState *s, hwaddr base, uint64_t offset,
                    uint64_t size);

/* The system's memory as a device sees it that does not snoop. */
struct MemoryRegion *rk3588_poc_view(Rk3588PocState *s);

/* Lines that were cleaned or invalidated since the last of the latter. */
uint64_t rk3588_poc_lines(Rk3588PocState *s);
void rk3588_poc_clear_lines(Rk3588PocState *s);

/*
 * Such a device is about to read or write @len bytes at @pa.  False if a read
 * would miss what a CPU wrote, because it has not been cleaned.
 */
bool rk3588_poc_begin_dma(Rk3588PocState *s, hwaddr pa, uint64_t len,
                          bool write);

/*
 * It has written them.  The number of lines that a CPU has dirty, any of which
 * may be evicted over what was written.
 */
unsigned rk3588_poc_end_write(Rk3588PocState *s, hwaddr pa, uint64_t len);

#endif
