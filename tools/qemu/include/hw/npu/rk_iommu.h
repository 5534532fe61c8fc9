/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockchip IOMMU with one or two register banks, as it sits in front of an
 * RK3588 NPU core.
 *
 * Properties: "num-banks", "core-index" (uint32), "version" (uint32, 2 as on
 * the RK3588: page tables with 40-bit addresses; 1: with 32-bit ones, for
 * guests that know no others), "reset-wipes" (bool, on as on silicon: a reset
 * of the core resets the IOMMU too), "prefetch" (bool, off; on: a walk fetches
 * and keeps a line of entries, also invalid ones, until it is zapped),
 * "dte-time-limit" (bool, off; on: without bit 31 of AUTO_GATING a walk finds
 * nothing, row iommu.gating), links
 * "ctl" (rk3588-npu-ctl, optional), "delay" (rk-delay, optional), "dma"
 * (MemoryRegion, required) and "poc" (rk3588-poc, optional: the CPUs' caches
 * are not snooped, and "dma" is its view).
 * Named GPIO inputs: "power" (1 = domain on), "aclk", "hclk" (1 = running),
 * "reset"[2] (1 = asserted; 0 is srst_a, 1 is srst_h).
 * MMIO region n is register bank n; the only IRQ is the OR of all banks.
 */
#ifndef HW_NPU_RK_IOMMU_H
#define HW_NPU_RK_IOMMU_H

#include "qom/object.h"
#include "hw/npu/rk_port.h"

#define TYPE_RK_IOMMU "rk-iommu"
OBJECT_DECLARE_SIMPLE_TYPE(RkIommuState, RK_IOMMU)

#define RK_IOMMU_MAX_BANKS      2
#define RK_IOMMU_BANK_SIZE      0x1000

typedef enum {
    RK_DMA_OK,
    RK_DMA_FAULT,       /* blocked: wait for the retry callback or a reset */
    RK_DMA_BUS_ERROR,   /* the bus access itself failed: nothing to wait for */
} RkDmaResult;

/*
 * One DMA access of the core through translation bank @bank; BQL held.  It is
 * split at page boundaries, so that pages before the one that faults have been
 * transferred when RK_DMA_FAULT is returned: repeat the whole access when the
 * retry callback comes.  IOVAs are 32 bits wide and wrap.
 */
RkDmaResult rk_iommu_dma(RkIommuState *s, unsigned bank, uint64_t iova,
                         void *buf, uint64_t len, bool write);

/* The registers' way, which is the core's, too. */
RkPort *rk_iommu_port(RkIommuState *s);

/*
 * Registers of the core and the IOMMU do not answer yet: the time of a reset
 * is not over.
 */
bool rk_iommu_settles(RkIommuState *s);

/*
 * For tests: raise the interrupt line.  The bits of the raw status latch in
 * bank 0; without any the line is up until somebody looks for its cause.
 */
void rk_iommu_raise(RkIommuState *s, uint32_t bits);
/* Whether the line is up may have changed. */
void rk_iommu_update_irq(RkIommuState *s);

/*
 * For tests: an access that the core is not done with, @ns later.  It is a
 * write to address 0 that faults, unless paging is off by then; a reset of the
 * core ends it.
 */
void rk_iommu_stray_after(RkIommuState *s, uint32_t ns);

/*
 * Would a read of @len bytes, which do not cross a page, be done at once?
 * Nothing changes by asking: no fault is reported, no translation kept.
 */
bool rk_iommu_probe_read(RkIommuState *s, unsigned bank, uint32_t iova,
                         uint32_t len);

/*
 * Called, BQL held and outside any MMIO access, when an access that returned
 * RK_DMA_FAULT may be tried again.  May be called with nothing pending.
 */
void rk_iommu_set_retry(RkIommuState *s, void (*fn)(void *opaque),
                        void *opaque);

#endif
