/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockchip IOMMU: the device with its register banks.
 *
 * Register names and the sequences that software expects follow Linux's
 * rockchip-iommu driver; there is no public manual.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "hw/core/cpu.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "migration/vmstate.h"
#include "rk_iommu_walk.h"
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

#define INT_BITS                (R_INT_PAGE_FAULT_MASK | R_INT_BUS_ERROR_MASK)
/* Linux only ORs bit 31 in and never reads the rest (row iommu.reset-values) */
#define AUTO_GATING_RESET       0x3

/*
 * An acknowledged access is replayed a little later: Linux acknowledges a
 * fault right before it asks for a stall, and that must still be granted.
 * It is so long because a guest's CPU may be off the host's for a while between
 * the two writes (row iommu.replay).
 */
#define REPLAY_DELAY_NS         1000000

/* A test's spurious interrupt ends by itself, or Linux disables the line. */
#define SPURIOUS_NS             100000

RkPort *rk_iommu_port(RkIommuState *s)
{
    return &s->port;
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

static void rk_iommu_stray(void *opaque)
{
    RkIommuState *s = opaque;

    if (rk_iommu_accessible(s) && !rk_iommu_held_in_reset(s) &&
        s->bank[0].paging) {
        rk_iommu_page_fault(&s->bank[0], 0, true);
        s->bank[0].stuck = false;
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
        b->dte_addr = s->version == 1 ? val & -PAGE_BYTES : val;
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
    unsigned i;

    rk_iommu_set_line(s, &s->in_reset[n], level, level && s->reset_wipes);
    /* It is the core's reset, too: no access waits any more. */
    for (i = 0; i < s->num_banks; i++) {
        s->bank[i].stuck = false;
    }
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
    DEFINE_PROP_BOOL("dte-time-limit", RkIommuState, dte_time_limit, false),
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
