/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockchip IOMMU, what an access meets: two-level page walks with addresses of
 * 40 bits (v2) or 32 (v1), a TLB that stays stale until it is zapped, page
 * faults.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/address-spaces.h"
#include "hw/irq.h"
#include "rk_iommu_walk.h"
#include "trace.h"

/*
 * Shared layout of directory and page table entries.  What are bits of the
 * address in v2 are cache hints in v1.
 */
FIELD(ENTRY, VALID, 0, 1)
FIELD(ENTRY, READABLE, 1, 1)
FIELD(ENTRY, WRITABLE, 2, 1)
FIELD(ENTRY, ADDR_39_36, 4, 4)
FIELD(ENTRY, ADDR_35_32, 8, 4)
FIELD(ENTRY, ADDR_31_12, 12, 20)

/* Of AUTO_GATING. */
#define AUTO_GATING_NO_TIME_LIMIT       (1u << 31)

/*
 * A walk fetches a cache line of the page table, and keeps what it finds there,
 * invalid entries, too (row iommu.prefetch).
 */
#define LINE_ENTRIES            16u

static uint64_t entry_address(RkIommuState *s, uint32_t e)
{
    uint64_t low = (uint64_t)FIELD_EX32(e, ENTRY, ADDR_31_12) << 12;

    if (s->version == 1) {
        return low;
    }
    return (uint64_t)FIELD_EX32(e, ENTRY, ADDR_39_36) << 36 |
           (uint64_t)FIELD_EX32(e, ENTRY, ADDR_35_32) << 32 | low;
}

bool rk_iommu_accessible(RkIommuState *s)
{
    return s->power && s->aclk && s->hclk;
}

bool rk_iommu_settles(RkIommuState *s)
{
    return s->settled && qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < s->settled;
}

bool rk_iommu_held_in_reset(RkIommuState *s)
{
    return s->in_reset[0] || s->in_reset[1] || rk_iommu_settles(s);
}

void rk_iommu_update_irq(RkIommuState *s)
{
    bool level = s->spurious;
    unsigned i;

    for (i = 0; i < s->num_banks; i++) {
        level |= s->bank[i].int_raw & s->bank[i].int_mask;
    }
    level = level && !npu_ctl_fault_due(s->ctl, s->core_index,
                                        NPU_FAULT_CORE_DEAD);
    qemu_set_irq(s->irq, level);
}

void rk_iommu_zap_all(RkIommuBank *b)
{
    b->generation++;
}

static RkTlbEntry *rk_iommu_tlb_slot(RkIommuBank *b, uint32_t iova)
{
    return &b->tlb[(iova / PAGE_BYTES) % TLB_ENTRIES];
}

static uint32_t rk_iommu_line_entries(RkIommuState *s)
{
    return s->prefetch ? LINE_ENTRIES : 1;
}

void rk_iommu_zap_line(RkIommuBank *b, uint32_t iova)
{
    uint32_t n = rk_iommu_line_entries(b->iommu), i;

    iova &= -(n * PAGE_BYTES);
    for (i = 0; i < n; i++, iova += PAGE_BYTES) {
        RkTlbEntry *e = rk_iommu_tlb_slot(b, iova);

        if (e->vpn == iova / PAGE_BYTES) {
            e->generation = 0;
        }
    }
}

void rk_iommu_page_fault(RkIommuBank *b, uint32_t iova, bool write)
{
    RkIommuState *s = b->iommu;
    uint32_t page = iova / PAGE_BYTES;
    bool again = b->stuck && b->stuck_page == page && b->stuck_write == write;

    trace_rk_iommu_fault(s->core_index, b->index, iova, write, again);
    b->fault = true;
    b->fault_write = write;
    b->fault_addr = iova;
    b->stuck = true;
    b->stuck_page = page;
    b->stuck_write = write;
    if (again) {
        return;
    }
    b->int_raw |= R_INT_PAGE_FAULT_MASK;
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MMU_FAULT, 1);
    rk_iommu_update_irq(s);
}

static RkDmaResult rk_iommu_bus_error(RkIommuBank *b, uint32_t iova)
{
    b->fault_addr = iova;
    b->int_raw |= R_INT_BUS_ERROR_MASK;
    rk_iommu_update_irq(b->iommu);
    return RK_DMA_BUS_ERROR;
}

static void rk_iommu_begin_dma(RkIommuState *s, uint32_t iova, uint64_t pa,
                               uint64_t len, bool write)
{
    if (s->poc && !rk3588_poc_begin_dma(s->poc, pa, len, write)) {
        trace_rk_iommu_dirty_read(s->core_index, iova, pa, len);
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_DIRTY_READ, 1);
    }
}

static void rk_iommu_end_write(RkIommuState *s, uint64_t pa, uint64_t len)
{
    unsigned dirty = s->poc ? rk3588_poc_end_write(s->poc, pa, len) : 0;

    if (dirty) {
        trace_rk_iommu_dirty_write(s->core_index, pa, len, dirty);
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_DIRTY_WRITE, 1);
    }
}

static bool rk_iommu_load_entry(RkIommuState *s, uint32_t iova,
                                uint64_t table, unsigned index,
                                uint32_t *entry)
{
    MemTxAttrs attrs = { .memory = true };

    *entry = 0;
    rk_iommu_begin_dma(s, iova, table + index * 4, sizeof(*entry), false);
    if (address_space_read(&s->dma_as, table + index * 4, attrs, entry,
                           sizeof(*entry)) != MEMTX_OK) {
        return false;
    }
    le32_to_cpus(entry);
    return true;
}

static void rk_iommu_keep(RkIommuBank *b, uint32_t iova, uint32_t pte)
{
    RkTlbEntry *e = rk_iommu_tlb_slot(b, iova);

    e->generation = b->generation;
    e->vpn = iova / PAGE_BYTES;
    e->pte = FIELD_EX32(pte, ENTRY, VALID) ? pte : 0;
}

/*
 * The entries around that of @iova, be they valid or not.  A CPU may just be
 * writing some of them, and zaps them then: that is no dirty read.
 */
static void rk_iommu_keep_line(RkIommuBank *b, uint32_t iova, uint32_t dte)
{
    uint32_t line[LINE_ENTRIES] = { 0 }, i;
    uint32_t index = extract32(iova, 12, 10) & -LINE_ENTRIES;
    MemTxAttrs attrs = { .memory = true };

    iova &= -(LINE_ENTRIES * PAGE_BYTES);
    if (FIELD_EX32(dte, ENTRY, VALID) &&
        address_space_read(&b->iommu->dma_as,
                           entry_address(b->iommu, dte) + index * 4, attrs,
                           line, sizeof(line)) != MEMTX_OK) {
        return;
    }
    for (i = 0; i < LINE_ENTRIES; i++, iova += PAGE_BYTES) {
        rk_iommu_keep(b, iova, le32_to_cpu(line[i]));
    }
}

/* Walk the tables; *pte is 0 when there is no valid mapping. */
static RkDmaResult rk_iommu_walk(RkIommuBank *b, uint32_t iova, uint32_t *pte)
{
    RkIommuState *s = b->iommu;
    uint32_t dte;

    *pte = 0;
    if (s->dte_time_limit && !(b->auto_gating & AUTO_GATING_NO_TIME_LIMIT)) {
        return RK_DMA_OK;
    }
    if (!rk_iommu_load_entry(s, iova, entry_address(s, b->dte_addr),
                             extract32(iova, 22, 10), &dte)) {
        return rk_iommu_bus_error(b, iova);
    }
    if (FIELD_EX32(dte, ENTRY, VALID)) {
        if (!rk_iommu_load_entry(s, iova, entry_address(s, dte),
                                 extract32(iova, 12, 10), pte)) {
            return rk_iommu_bus_error(b, iova);
        }
        if (!FIELD_EX32(*pte, ENTRY, VALID)) {
            *pte = 0;
        }
    }
    trace_rk_iommu_walk(s->core_index, b->index, iova, dte, *pte);
    if (s->prefetch) {
        rk_iommu_keep_line(b, iova, dte);
    } else if (*pte) {
        rk_iommu_keep(b, iova, *pte);
    }
    return RK_DMA_OK;
}

static RkDmaResult rk_iommu_lookup(RkIommuBank *b, uint32_t iova,
                                   uint32_t *pte)
{
    RkIommuState *s = b->iommu;
    const RkTlbEntry *e = rk_iommu_tlb_slot(b, iova);

    if (e->generation == b->generation && e->vpn == iova / PAGE_BYTES) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_TLB_HIT, 1);
        *pte = e->pte;
        return RK_DMA_OK;
    }
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_TLB_MISS, 1);
    return rk_iommu_walk(b, iova, pte);
}

static RkDmaResult rk_iommu_translate(RkIommuBank *b, uint32_t iova,
                                      bool write, uint64_t *pa)
{
    uint32_t need = write ? R_ENTRY_WRITABLE_MASK : R_ENTRY_READABLE_MASK;
    RkDmaResult r;
    uint32_t pte;

    if (!b->paging) {
        *pa = iova;
        return RK_DMA_OK;
    }
    r = rk_iommu_lookup(b, iova, &pte);
    if (r != RK_DMA_OK) {
        return r;
    }
    if (!(pte & need)) {
        rk_iommu_page_fault(b, iova, write);
        return RK_DMA_FAULT;
    }
    *pa = entry_address(b->iommu, pte) | (iova % PAGE_BYTES);
    return RK_DMA_OK;
}

static void rk_iommu_count_bytes(RkIommuState *s, uint64_t n, bool write)
{
    npu_ctl_count(s->ctl, s->core_index,
                  write ? NPU_CNT_DMA_WRITE_BYTES : NPU_CNT_DMA_READ_BYTES, n);
}

/* A test wants this access to fault, mapped or not. */
static bool rk_iommu_forced_fault(RkIommuBank *b, uint32_t iova, bool write)
{
    RkIommuState *s = b->iommu;
    uint32_t param;

    if (!b->paging ||
        !npu_ctl_fault(s->ctl, s->core_index, write ? NPU_FAULT_MMU_WRITE :
                       NPU_FAULT_MMU_READ, &param)) {
        return false;
    }
    rk_iommu_page_fault(b, iova, write);
    b->fault_addr = param ?: iova;
    return true;
}

/* One access that does not cross a page. */
static RkDmaResult rk_iommu_dma_page(RkIommuBank *b, uint32_t iova, void *buf,
                                     uint32_t len, bool write)
{
    /* RAM only: a core that rewrote its own registers could recurse. */
    MemTxAttrs attrs = { .memory = true };
    RkIommuState *s = b->iommu;
    RkDmaResult r;
    uint64_t pa;

    if (b->stall || b->fault || rk_iommu_forced_fault(b, iova, write)) {
        return RK_DMA_FAULT;
    }
    r = rk_iommu_translate(b, iova, write, &pa);
    if (r != RK_DMA_OK) {
        return r;
    }
    /* What comes before the page that faulted is done again with it. */
    if (b->stuck_page == iova / PAGE_BYTES && b->stuck_write == write) {
        b->stuck = false;
    }
    rk_iommu_begin_dma(s, iova, pa, len, write);
    if (address_space_rw(&s->dma_as, pa, attrs, buf, len, write) != MEMTX_OK) {
        return rk_iommu_bus_error(b, iova);
    }
    if (write) {
        rk_iommu_end_write(s, pa, len);
    }
    rk_iommu_count_bytes(s, len, write);
    return RK_DMA_OK;
}

bool rk_iommu_probe_read(RkIommuState *s, unsigned bank, uint32_t iova,
                         uint32_t len)
{
    RkIommuBank *b = &s->bank[MIN(bank, s->num_banks - 1)];
    MemTxAttrs attrs = { .memory = true };
    hwaddr pa = iova, run = len;
    uint32_t dte, pte;

    if (!rk_iommu_accessible(s) || rk_iommu_held_in_reset(s) || b->stall ||
        b->fault) {
        return false;
    }
    if (b->paging) {
        const RkTlbEntry *e = rk_iommu_tlb_slot(b, iova);

        if (e->generation == b->generation && e->vpn == iova / PAGE_BYTES) {
            pte = e->pte;
        } else if (!rk_iommu_load_entry(s, iova,
                                        entry_address(s, b->dte_addr),
                                        extract32(iova, 22, 10), &dte) ||
                   !FIELD_EX32(dte, ENTRY, VALID) ||
                   !rk_iommu_load_entry(s, iova, entry_address(s, dte),
                                        extract32(iova, 12, 10), &pte)) {
            return false;
        }
        if (!FIELD_EX32(pte, ENTRY, VALID) ||
            !(pte & R_ENTRY_READABLE_MASK)) {
            return false;
        }
        pa = entry_address(s, pte) | (iova % PAGE_BYTES);
    }
    RCU_READ_LOCK_GUARD();
    return memory_region_is_ram(address_space_translate(&s->dma_as, pa, &pa,
                                                        &run, false, attrs)) &&
           run == len;
}

RkDmaResult rk_iommu_dma(RkIommuState *s, unsigned bank, uint64_t iova,
                         void *buf, uint64_t len, bool write)
{
    RkIommuBank *b = &s->bank[MIN(bank, s->num_banks - 1)];
    uint8_t *p = buf;

    if (!rk_iommu_accessible(s) || rk_iommu_held_in_reset(s)) {
        return RK_DMA_BUS_ERROR;
    }
    while (len) {
        uint32_t chunk = MIN(len, PAGE_BYTES - iova % PAGE_BYTES);
        RkDmaResult r = rk_iommu_dma_page(b, iova, p, chunk, write);

        if (r != RK_DMA_OK) {
            return r;
        }
        p += chunk;
        iova += chunk;
        len -= chunk;
    }
    return RK_DMA_OK;
}
