/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockchip IOMMU: register banks, two-level page walks with addresses of 40
 * bits (v2) or 32 (v1), a TLB that stays stale until it is zapped, and page
 * faults.
 *
 * Register names and the sequences that software expects follow Linux's
 * rockchip-iommu driver; there is no public manual.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "hw/core/cpu.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/registerfields.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk3588_poc.h"
#include "hw/npu/rk_iommu.h"
#include "trace.h"

REG32(DTE_ADDR, 0x00)
REG32(STATUS, 0x04)
    FIELD(STATUS, PAGING, 0, 1)
    FIELD(STATUS, FAULT, 1, 1)
    FIELD(STATUS, STALL, 2, 1)
    FIELD(STATUS, IDLE, 3, 1)
    FIELD(STATUS, REPLAY_EMPTY, 4, 1)
    FIELD(STATUS, FAULT_WRITE, 5, 1)
REG32(COMMAND, 0x08)
REG32(PAGE_FAULT_ADDR, 0x0c)
REG32(ZAP_ONE_LINE, 0x10)
REG32(INT_RAWSTAT, 0x14)
    FIELD(INT, PAGE_FAULT, 0, 1)
    FIELD(INT, BUS_ERROR, 1, 1)
REG32(INT_CLEAR, 0x18)
REG32(INT_MASK, 0x1c)
REG32(INT_STATUS, 0x20)
REG32(AUTO_GATING, 0x24)

enum {
    CMD_ENABLE_PAGING,
    CMD_DISABLE_PAGING,
    CMD_ENABLE_STALL,
    CMD_DISABLE_STALL,
    CMD_ZAP_CACHE,
    CMD_PAGE_FAULT_DONE,
    CMD_FORCE_RESET,
};

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

#define INT_BITS                (R_INT_PAGE_FAULT_MASK | R_INT_BUS_ERROR_MASK)
#define PAGE_BYTES              4096u
/* Linux only ORs bit 31 in and never reads the rest (row iommu.reset-values) */
#define AUTO_GATING_RESET       0x3

/*
 * Direct mapped.  The size of the real TLB is unknown; a large one keeps
 * stale entries longer, so that a missing zap shows.
 */
#define TLB_ENTRIES             4096

/*
 * A walk fetches a cache line of the page table, and keeps what it finds there,
 * invalid entries, too (row iommu.prefetch).
 */
#define LINE_ENTRIES            16u

/*
 * An acknowledged access is replayed a little later: Linux acknowledges a
 * fault right before it asks for a stall, and that must still be granted.
 * It is so long because a guest's CPU may be off the host's for a while between
 * the two writes (row iommu.replay).
 */
#define REPLAY_DELAY_NS         1000000

/* A test's spurious interrupt ends by itself, or Linux disables the line. */
#define SPURIOUS_NS             100000

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

    QEMUTimer replay_timer;
    QEMUTimer spurious_timer;
    QEMUTimer stray_timer;
    QEMUTimer held_timer;
    CPUState *held;             /* stands still until then */
    void (*retry_fn)(void *opaque);
    void *retry_opaque;
};

static uint64_t entry_address(RkIommuState *s, uint32_t e)
{
    uint64_t low = (uint64_t)FIELD_EX32(e, ENTRY, ADDR_31_12) << 12;

    if (s->version == 1) {
        return low;
    }
    return (uint64_t)FIELD_EX32(e, ENTRY, ADDR_39_36) << 36 |
           (uint64_t)FIELD_EX32(e, ENTRY, ADDR_35_32) << 32 | low;
}

static bool rk_iommu_accessible(RkIommuState *s)
{
    return s->power && s->aclk && s->hclk;
}

RkPort *rk_iommu_port(RkIommuState *s)
{
    return &s->port;
}

bool rk_iommu_settles(RkIommuState *s)
{
    return s->settled && qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < s->settled;
}

static bool rk_iommu_held_in_reset(RkIommuState *s)
{
    return s->in_reset[0] || s->in_reset[1] || rk_iommu_settles(s);
}

static void rk_iommu_update_irq(RkIommuState *s)
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

static void rk_iommu_end_spurious(void *opaque)
{
    RkIommuState *s = opaque;

    s->spurious = false;
    rk_iommu_update_irq(s);
}

void rk_iommu_raise(RkIommuState *s, uint32_t bits)
{
    if (!rk_iommu_accessible(s) || rk_iommu_held_in_reset(s)) {
        return;
    }
    s->bank[0].int_raw |= bits & INT_BITS;
    if (!bits) {
        s->spurious = true;
        timer_mod(&s->spurious_timer,
                  qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + SPURIOUS_NS);
    }
    rk_iommu_update_irq(s);
}

static void rk_iommu_zap_all(RkIommuBank *b)
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

static void rk_iommu_zap_line(RkIommuBank *b, uint32_t iova)
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

static void rk_iommu_reset_bank(RkIommuBank *b)
{
    b->dte_addr = 0;
    b->fault_addr = 0;
    b->int_raw = 0;
    b->int_mask = 0;
    b->auto_gating = AUTO_GATING_RESET;
    b->paging = false;
    b->stall = false;
    b->fault = false;
    b->fault_write = false;
    b->stuck = false;
    rk_iommu_zap_all(b);
}

static void rk_iommu_reset_all(RkIommuState *s)
{
    unsigned i;

    for (i = 0; i < s->num_banks; i++) {
        rk_iommu_reset_bank(&s->bank[i]);
    }
    timer_del(&s->replay_timer);
    timer_del(&s->spurious_timer);
    timer_del(&s->stray_timer);
    s->spurious = false;
}

static void rk_iommu_arm_replay(RkIommuState *s)
{
    timer_mod(&s->replay_timer,
              qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + REPLAY_DELAY_NS);
}

static void rk_iommu_replay(void *opaque)
{
    RkIommuState *s = opaque;

    if (s->retry_fn) {
        s->retry_fn(s->retry_opaque);
    }
}

void rk_iommu_set_retry(RkIommuState *s, void (*fn)(void *opaque),
                        void *opaque)
{
    s->retry_fn = fn;
    s->retry_opaque = opaque;
}

/* Latch a page fault.  A replay of the reported access stays silent. */
static void rk_iommu_page_fault(RkIommuBank *b, uint32_t iova, bool write)
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

static void rk_iommu_stray(void *opaque)
{
    RkIommuState *s = opaque;

    if (rk_iommu_accessible(s) && !rk_iommu_held_in_reset(s) &&
        s->bank[0].paging) {
        rk_iommu_page_fault(&s->bank[0], 0, true);
    }
}

void rk_iommu_stray_after(RkIommuState *s, uint32_t ns)
{
    timer_mod(&s->stray_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

static void rk_iommu_release_cpu(void *opaque)
{
    RkIommuState *s = opaque;

    cpu_resume(s->held);
    s->held = NULL;
}

/*
 * The CPU that handles a page fault, or programs an IOMMU in reset, is away
 * for a while: other work in firmware, or a hypervisor that runs another
 * guest.  It has just read a register and goes no further than to the end of
 * the block of instructions.
 */
static void rk_iommu_hold_cpu(RkIommuState *s, unsigned fault)
{
    uint32_t ns;

    if (!current_cpu || s->held ||
        !npu_ctl_fault(s->ctl, s->core_index, fault, &ns)) {
        return;
    }
    trace_rk_iommu_hold_cpu(s->core_index, current_cpu->cpu_index, ns);
    s->held = current_cpu;
    s->held->stop = true;
    qemu_cpu_kick(s->held);
    timer_mod(&s->held_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
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
    rk_iommu_page_fault(b, param ?: iova, write);
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
    b->stuck = false;
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

static void rk_iommu_enable_paging(RkIommuBank *b)
{
    RkIommuState *s = b->iommu;

    if (!b->paging && b->index == 0) {
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MMU_ATTACH, 1);
    }
    b->paging = true;
}

static bool rk_iommu_command_lost(RkIommuBank *b, uint32_t cmd)
{
    static const uint8_t fault[] = {
        [CMD_ENABLE_PAGING] = NPU_FAULT_MMU_PAGING,
        [CMD_ENABLE_STALL] = NPU_FAULT_MMU_STALL,
        [CMD_ZAP_CACHE] = NPU_FAULT_MMU_ZAP,
        [CMD_FORCE_RESET] = NPU_FAULT_MMU_RESET,
    };
    RkIommuState *s = b->iommu;

    if (cmd >= ARRAY_SIZE(fault) || !fault[cmd] ||
        !npu_ctl_fault(s->ctl, s->core_index, fault[cmd], NULL)) {
        return false;
    }
    trace_rk_iommu_lost(s->core_index, b->index, cmd);
    return true;
}

/*
 * While a fault is active the bank neither stalls nor leaves paging; Linux says
 * "stall request timed out, status 0x2b" (row iommu.fault-status).
 */
static void rk_iommu_command(RkIommuBank *b, uint32_t cmd)
{
    RkIommuState *s = b->iommu;

    if (rk_iommu_command_lost(b, cmd)) {
        return;
    }
    switch (cmd) {
    case CMD_ENABLE_PAGING:
        rk_iommu_enable_paging(b);
        break;
    case CMD_DISABLE_PAGING:
        b->paging = b->paging && b->fault;
        break;
    case CMD_ENABLE_STALL:
        b->stall = b->stall || (b->paging && !b->fault);
        break;
    case CMD_DISABLE_STALL:
        if (b->stall) {
            b->stall = false;
            rk_iommu_arm_replay(s);
        }
        break;
    case CMD_ZAP_CACHE:
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MMU_ZAP_ALL, 1);
        rk_iommu_zap_all(b);
        break;
    case CMD_PAGE_FAULT_DONE:
        if (b->fault) {
            b->fault = false;
            b->fault_write = false;
            rk_iommu_arm_replay(s);
        }
        break;
    case CMD_FORCE_RESET:
        rk_iommu_reset_bank(b);
        rk_iommu_update_irq(s);
        rk_iommu_arm_replay(s);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: no such command %u\n",
                      __func__, cmd);
    }
}

static uint32_t rk_iommu_status(RkIommuBank *b)
{
    uint32_t v = R_STATUS_IDLE_MASK;

    v = FIELD_DP32(v, STATUS, PAGING, b->paging);
    v = FIELD_DP32(v, STATUS, FAULT, b->fault);
    v = FIELD_DP32(v, STATUS, STALL, b->stall);
    v = FIELD_DP32(v, STATUS, REPLAY_EMPTY, !b->fault);
    return FIELD_DP32(v, STATUS, FAULT_WRITE, b->fault_write);
}

static uint32_t rk_iommu_read_reg(RkIommuBank *b, hwaddr addr)
{
    switch (addr) {
    case A_DTE_ADDR:
        return b->dte_addr;
    case A_STATUS:
        return rk_iommu_status(b);
    case A_PAGE_FAULT_ADDR:
        if (b->int_raw & R_INT_PAGE_FAULT_MASK) {
            rk_iommu_hold_cpu(b->iommu, NPU_FAULT_CPU_HELD);
        }
        return b->fault_addr;
    case A_INT_RAWSTAT:
        return b->int_raw;
    case A_INT_MASK:
        return b->int_mask;
    case A_INT_STATUS:
        return b->int_raw & b->int_mask;
    case A_AUTO_GATING:
        return b->auto_gating;
    case A_COMMAND:
    case A_ZAP_ONE_LINE:
    case A_INT_CLEAR:
        return 0;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: bad offset 0x%" HWADDR_PRIx "\n",
                      __func__, addr);
        return 0;
    }
}

static void rk_iommu_write_reg(RkIommuBank *b, hwaddr addr, uint32_t val)
{
    RkIommuState *s = b->iommu;

    switch (addr) {
    case A_DTE_ADDR:
        /* Linux 5.10 takes an IOMMU that keeps more of v1's for a broken one */
        b->dte_addr = s->version == 1 ? val & R_ENTRY_ADDR_31_12_MASK : val;
        break;
    case A_COMMAND:
        rk_iommu_command(b, val);
        break;
    case A_ZAP_ONE_LINE:
        npu_ctl_count(s->ctl, s->core_index, NPU_CNT_MMU_ZAP_LINE, 1);
        if (!npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_MMU_ZAP, NULL)) {
            rk_iommu_zap_line(b, val);
        }
        break;
    case A_INT_CLEAR:
        b->int_raw &= ~val;
        rk_iommu_update_irq(s);
        break;
    case A_INT_MASK:
        b->int_mask = val & INT_BITS;
        rk_iommu_update_irq(s);
        break;
    case A_AUTO_GATING:
        b->auto_gating = val;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "%s: bad offset 0x%" HWADDR_PRIx "\n",
                      __func__, addr);
    }
}

static MemTxResult rk_iommu_abort(RkIommuBank *b, hwaddr addr)
{
    RkIommuState *s = b->iommu;

    qemu_log_mask(LOG_GUEST_ERROR, "rk-iommu: core %u bank %u: access to "
                  "0x%" HWADDR_PRIx " while unpowered or gated\n",
                  s->core_index, b->index, addr);
    npu_ctl_count(s->ctl, s->core_index, NPU_CNT_ABORT, 1);
    return MEMTX_DECODE_ERROR;
}

static void rk_iommu_note(RkIommuBank *b, hwaddr addr, uint32_t val,
                          bool write)
{
    RkIommuState *s = b->iommu;

    npu_ctl_count(s->ctl, s->core_index,
                  write ? NPU_CNT_MMU_WRITE : NPU_CNT_MMU_READ, 1);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_MMU, s->core_index,
                  b->iomem.addr + addr, val, write);
}

static MemTxResult rk_iommu_mmio_read(void *opaque, hwaddr addr,
                                      uint64_t *data, unsigned size,
                                      MemTxAttrs attrs)
{
    RkIommuBank *b = opaque;
    uint32_t val = 0, dead;

    if (!rk_iommu_accessible(b->iommu)) {
        *data = 0;
        return rk_iommu_abort(b, addr);
    }
    rk_port_flush(&b->iommu->port);
    if (npu_ctl_fault(b->iommu->ctl, b->iommu->core_index,
                      NPU_FAULT_CORE_DEAD, &dead)) {
        val = dead;
    } else if (rk_iommu_held_in_reset(b->iommu)) {
        rk_iommu_hold_cpu(b->iommu, NPU_FAULT_RESET_HELD);
    } else {
        val = rk_iommu_read_reg(b, addr);
    }
    /* Somebody looks for the cause of the interrupt. */
    if (b->iommu->spurious && addr == A_INT_STATUS) {
        rk_iommu_end_spurious(b->iommu);
    }
    rk_iommu_note(b, addr, val, false);
    trace_rk_iommu_read(b->iommu->core_index, b->index, addr, val);
    *data = val;
    return MEMTX_OK;
}

/* A write of a CPU arrives. */
static void rk_iommu_land(void *opaque, hwaddr addr, uint32_t val)
{
    RkIommuBank *b = opaque;
    RkIommuState *s = b->iommu;

    if (!rk_iommu_accessible(s)) {
        rk_port_lost(&s->port, b->iomem.addr + addr, val);
    } else if (!npu_ctl_fault(s->ctl, s->core_index, NPU_FAULT_CORE_DEAD,
                              NULL) && !rk_iommu_held_in_reset(s)) {
        rk_iommu_write_reg(b, addr, val);
    }
}

static MemTxResult rk_iommu_mmio_write(void *opaque, hwaddr addr,
                                       uint64_t data, unsigned size,
                                       MemTxAttrs attrs)
{
    RkIommuBank *b = opaque;

    if (!rk_iommu_accessible(b->iommu)) {
        return rk_iommu_abort(b, addr);
    }
    rk_iommu_note(b, addr, data, true);
    trace_rk_iommu_write(b->iommu->core_index, b->index, addr, data);
    rk_port_post(&b->iommu->port, rk_iommu_land, b, addr, data);
    return MEMTX_OK;
}

static const MemoryRegionOps rk_iommu_ops = {
    .read_with_attrs = rk_iommu_mmio_read,
    .write_with_attrs = rk_iommu_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* Registers and TLB lose their contents with the power and on a reset. */
static void rk_iommu_set_line(RkIommuState *s, bool *line, bool level,
                              bool wipes)
{
    if (*line == level) {
        return;
    }
    rk_port_catch_up(&s->port);
    *line = level;
    trace_rk_iommu_state(s->core_index, rk_iommu_accessible(s),
                         rk_iommu_held_in_reset(s));
    if (wipes) {
        rk_iommu_reset_all(s);
        rk_iommu_update_irq(s);
    }
}

/* Nothing resets what only software gives a meaning (row soc.garbage). */
static void rk_iommu_power_up(RkIommuState *s)
{
    unsigned i;

    for (i = 0; i < s->num_banks; i++) {
        RkIommuBank *b = &s->bank[i];

        b->dte_addr = rk_delay_garbage(s->delay, s->core_index);
        b->fault_addr = rk_delay_garbage(s->delay, s->core_index);
    }
}

static void rk_iommu_set_power(void *opaque, int n, int level)
{
    RkIommuState *s = opaque;
    bool was = s->power;

    rk_iommu_set_line(s, &s->power, level, !level);
    if (level && !was) {
        rk_iommu_power_up(s);
    }
}

static void rk_iommu_set_aclk(void *opaque, int n, int level)
{
    RkIommuState *s = opaque;

    rk_iommu_set_line(s, &s->aclk, level, false);
}

static void rk_iommu_set_hclk(void *opaque, int n, int level)
{
    RkIommuState *s = opaque;

    rk_iommu_set_line(s, &s->hclk, level, false);
}

static void rk_iommu_set_reset(void *opaque, int n, int level)
{
    RkIommuState *s = opaque;
    bool was = s->in_reset[n];

    rk_iommu_set_line(s, &s->in_reset[n], level, level && s->reset_wipes);
    if (was && !level && !s->in_reset[!n]) {
        uint32_t ns = rk_delay_ns(s->delay, RK_DELAY_RESET, s->core_index);

        s->settled = ns ? qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns : 0;
    }
}

static void rk_iommu_reset_enter(Object *obj, ResetType type)
{
    RkIommuState *s = RK_IOMMU(obj);

    rk_port_drop(&s->port);
    rk_iommu_reset_all(s);
    s->settled = 0;
}

static void rk_iommu_reset_hold(Object *obj, ResetType type)
{
    rk_iommu_update_irq(RK_IOMMU(obj));
}

static void rk_iommu_init(Object *obj)
{
    DeviceState *dev = DEVICE(obj);
    RkIommuState *s = RK_IOMMU(obj);

    qdev_init_gpio_in_named(dev, rk_iommu_set_power, "power", 1);
    qdev_init_gpio_in_named(dev, rk_iommu_set_aclk, "aclk", 1);
    qdev_init_gpio_in_named(dev, rk_iommu_set_hclk, "hclk", 1);
    qdev_init_gpio_in_named(dev, rk_iommu_set_reset, "reset", 2);
    sysbus_init_irq(SYS_BUS_DEVICE(obj), &s->irq);
    timer_init_ns(&s->replay_timer, QEMU_CLOCK_VIRTUAL, rk_iommu_replay, s);
    timer_init_ns(&s->spurious_timer, QEMU_CLOCK_VIRTUAL,
                  rk_iommu_end_spurious, s);
    timer_init_ns(&s->stray_timer, QEMU_CLOCK_VIRTUAL, rk_iommu_stray, s);
    timer_init_ns(&s->held_timer, QEMU_CLOCK_VIRTUAL, rk_iommu_release_cpu,
                  s);
}

static void rk_iommu_realize(DeviceState *dev, Error **errp)
{
    RkIommuState *s = RK_IOMMU(dev);
    unsigned i;

    if (s->num_banks < 1 || s->num_banks > RK_IOMMU_MAX_BANKS) {
        error_setg(errp, "num-banks must be 1..%d", RK_IOMMU_MAX_BANKS);
        return;
    }
    if (s->version < 1 || s->version > 2) {
        error_setg(errp, "version must be 1 or 2");
        return;
    }
    if (!s->dma_mr) {
        error_setg(errp, "link 'dma' is not set");
        return;
    }
    address_space_init(&s->dma_as, s->dma_mr, "rk-iommu-dma");
    rk_port_init(&s->port, s->delay, s->ctl, s->core_index);
    for (i = 0; i < s->num_banks; i++) {
        RkIommuBank *b = &s->bank[i];

        b->iommu = s;
        b->index = i;
        memory_region_init_io(&b->iomem, OBJECT(dev), &rk_iommu_ops, b,
                              TYPE_RK_IOMMU, s->bank_size);
        sysbus_init_mmio(SYS_BUS_DEVICE(dev), &b->iomem);
    }
}

static void rk_iommu_unrealize(DeviceState *dev)
{
    RkIommuState *s = RK_IOMMU(dev);

    rk_port_fini(&s->port);
    timer_del(&s->replay_timer);
    timer_del(&s->spurious_timer);
    timer_del(&s->stray_timer);
    if (s->held) {
        timer_del(&s->held_timer);
        rk_iommu_release_cpu(s);
    }
    address_space_destroy(&s->dma_as);
}

/* The TLB is not migrated: an empty one is always a legal state. */
static const VMStateDescription vmstate_rk_iommu_bank = {
    .name = "rk-iommu/bank",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(dte_addr, RkIommuBank),
        VMSTATE_UINT32(fault_addr, RkIommuBank),
        VMSTATE_UINT32(int_raw, RkIommuBank),
        VMSTATE_UINT32(int_mask, RkIommuBank),
        VMSTATE_UINT32(auto_gating, RkIommuBank),
        VMSTATE_BOOL(paging, RkIommuBank),
        VMSTATE_BOOL(stall, RkIommuBank),
        VMSTATE_BOOL(fault, RkIommuBank),
        VMSTATE_BOOL(fault_write, RkIommuBank),
        VMSTATE_BOOL(stuck, RkIommuBank),
        VMSTATE_UINT32(stuck_page, RkIommuBank),
        VMSTATE_BOOL(stuck_write, RkIommuBank),
        VMSTATE_END_OF_LIST()
    }
};

static int rk_iommu_post_load(void *opaque, int version_id)
{
    RkIommuState *s = opaque;
    unsigned i;

    for (i = 0; i < s->num_banks; i++) {
        rk_iommu_zap_all(&s->bank[i]);
    }
    return 0;
}

static const VMStateDescription vmstate_rk_iommu = {
    .name = TYPE_RK_IOMMU,
    .version_id = 4,
    .minimum_version_id = 4,
    .post_load = rk_iommu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(bank, RkIommuState, RK_IOMMU_MAX_BANKS, 1,
                             vmstate_rk_iommu_bank, RkIommuBank),
        VMSTATE_BOOL(power, RkIommuState),
        VMSTATE_BOOL(aclk, RkIommuState),
        VMSTATE_BOOL(hclk, RkIommuState),
        VMSTATE_BOOL_ARRAY(in_reset, RkIommuState, 2),
        VMSTATE_INT64(settled, RkIommuState),
        VMSTATE_BOOL(spurious, RkIommuState),
        VMSTATE_TIMER(replay_timer, RkIommuState),
        VMSTATE_TIMER(spurious_timer, RkIommuState),
        VMSTATE_TIMER(stray_timer, RkIommuState),
        VMSTATE_END_OF_LIST()
    }
};

static const Property rk_iommu_properties[] = {
    DEFINE_PROP_UINT32("num-banks", RkIommuState, num_banks, 1),
    DEFINE_PROP_UINT32("bank-size", RkIommuState, bank_size,
                       RK_IOMMU_BANK_SIZE),
    DEFINE_PROP_UINT32("core-index", RkIommuState, core_index, 0),
    DEFINE_PROP_UINT32("version", RkIommuState, version, 2),
    DEFINE_PROP_BOOL("reset-wipes", RkIommuState, reset_wipes, true),
    DEFINE_PROP_BOOL("prefetch", RkIommuState, prefetch, false),
    DEFINE_PROP_LINK("ctl", RkIommuState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
    DEFINE_PROP_LINK("delay", RkIommuState, delay, TYPE_RK_DELAY,
                     RkDelayState *),
    DEFINE_PROP_LINK("dma", RkIommuState, dma_mr, TYPE_MEMORY_REGION,
                     MemoryRegion *),
    DEFINE_PROP_LINK("poc", RkIommuState, poc, TYPE_RK3588_POC,
                     Rk3588PocState *),
};

static void rk_iommu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "Rockchip IOMMU";
    dc->realize = rk_iommu_realize;
    dc->unrealize = rk_iommu_unrealize;
    dc->vmsd = &vmstate_rk_iommu;
    dc->user_creatable = false;
    device_class_set_props(dc, rk_iommu_properties);
    rc->phases.enter = rk_iommu_reset_enter;
    rc->phases.hold = rk_iommu_reset_hold;
}

static const TypeInfo rk_iommu_info = {
    .name = TYPE_RK_IOMMU,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(RkIommuState),
    .instance_init = rk_iommu_init,
    .class_init = rk_iommu_class_init,
};

static void rk_iommu_register_types(void)
{
    type_register_static(&rk_iommu_info);
}
type_init(rk_iommu_register_types)
