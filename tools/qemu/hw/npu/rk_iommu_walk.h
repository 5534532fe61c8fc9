/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockchip IOMMU: its state, and what an access by it meets.
 */
#ifndef RK_IOMMU_WALK_H
#define RK_IOMMU_WALK_H

#include "exec/memory.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk3588_poc.h"
#include "hw/npu/rk_iommu.h"
#include "hw/registerfields.h"
#include "hw/sysbus.h"

/* Bits of INT_RAWSTAT, INT_CLEAR, INT_MASK and INT_STATUS. */
FIELD(INT, PAGE_FAULT, 0, 1)
FIELD(INT, BUS_ERROR, 1, 1)

#define PAGE_BYTES              4096u

/*
 * Direct mapped.  The size of the real TLB is unknown; a large one keeps
 * stale entries longer, so that a missing zap shows.
 */
#define TLB_ENTRIES             4096

/* An entry is valid while its generation is the bank's. */
typedef struct RkTlbEntry {
    uint32_t vpn;
    uint32_t pte;
    uint64_t generation;
} RkTlbEntry;

typedef struct RkIommuBank {
    RkIommuState *iommu;
    unsigned index;
    MemoryRegion iomem;

    uint32_t dte_addr;
    uint32_t fault_addr;
    uint32_t int_raw;
    uint32_t int_mask;
    uint32_t auto_gating;
    bool paging;
    bool stall;
    bool fault;
    bool fault_write;
    /* The access that is blocked; reported once, however often it replays. */
    bool stuck;
    uint32_t stuck_page;
    bool stuck_write;

    uint64_t generation;        /* never 0 */
    RkTlbEntry tlb[TLB_ENTRIES];
} RkIommuBank;

struct RkIommuState {
    SysBusDevice parent_obj;

    uint32_t num_banks;
    uint32_t bank_size;     /* property */
    uint32_t core_index;
    uint32_t version;
    Rk3588NpuCtlState *ctl;
    RkDelayState *delay;
    RkPort port;
    MemoryRegion *dma_mr;
    Rk3588PocState *poc;        /* NULL: snoops */
    AddressSpace dma_as;
    RkIommuBank bank[RK_IOMMU_MAX_BANKS];
    qemu_irq irq;

    bool power;
    bool aclk;
    bool hclk;
    bool in_reset[2];
    int64_t settled;            /* when a reset is over */
    bool spurious;              /* the line is up for no reason */
    bool reset_wipes;           /* property */
    bool prefetch;              /* property */
    bool dte_time_limit;        /* property */

    QEMUTimer replay_timer;
    QEMUTimer spurious_timer;
    QEMUTimer stray_timer;
    QEMUTimer held_timer;
    CPUState *held;             /* stands still until then */
    void (*retry_fn)(void *opaque);
    void *retry_opaque;
};

bool rk_iommu_accessible(RkIommuState *s);
bool rk_iommu_held_in_reset(RkIommuState *s);
void rk_iommu_zap_all(RkIommuBank *b);
void rk_iommu_zap_line(RkIommuBank *b, uint32_t iova);
/* Latch a page fault.  A replay of the reported access stays silent. */
void rk_iommu_page_fault(RkIommuBank *b, uint32_t iova, bool write);

#endif
