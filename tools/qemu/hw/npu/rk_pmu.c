/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power management units: power, memory and bus-idle handshakes of the NPU's
 * power domains; other domains always report on.
 *
 * Offsets, bits and polarities follow Linux's rockchip pm-domains driver.  A
 * domain answers as soon as it is on: the RK3576 wants 15 us and a reset of its
 * bus interface first.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_cru.h"
#include "hw/npu/rk_delay.h"
#include "hw/npu/rk_pmu.h"
#include "trace.h"

#define NUM_REGS        (RK3568_PMU_SIZE / 4)   /* the largest one's */
#define QOS_REGS        (RK_QOS_SIZE / 4)
#define MAX_QOS         RK3576_QOS_NUM
#define MAX_DOMAINS     4

typedef struct PmuDomainInfo {
    const char *name;
    int parent;         /* -1 = none */
    int core;           /* core that lives in the domain, -1 = none */
    unsigned pwr_req;   /* offset of the register that switches it */
    uint32_t pwr;       /* its bit there and in mem_pwr; 1 = off */
    uint32_t status;    /* its bit of pwr_status, 0 = none */
    uint32_t mem;       /* its bit of chain_status and mem_status, 0 = none */
    uint32_t repair;    /* its bit of repair_status, 0 = none */
    uint32_t idle;      /* its bits of bus_idle_*, 0 = none */
} PmuDomainInfo;

/* Offsets of registers; 0 = there is none. */
typedef struct PmuChip {
    const char *desc;
    const char *name;
    uint32_t size;
    unsigned num_cores;
    unsigned num_qos;
    const unsigned *qos_domain;
    unsigned bus_idle_req, bus_idle_ack, bus_idle_status;
    unsigned pwr_status;        /* 1 = off */
    unsigned chain_status;      /* 1 = on */
    unsigned mem_status;        /* 1 = off */
    unsigned mem_pwr;
    unsigned repair_status;     /* 1 = domain on */
    unsigned num_domains;
    PmuDomainInfo domain[MAX_DOMAINS];  /* a parent before its children */
} PmuChip;

struct RkPmuClass {
    SysBusDeviceClass parent_class;

    const PmuChip *chip;
};

static const unsigned rk3562_qos_domain[RK3562_QOS_NUM] = { 0 };

/* That the domain's clocks run while its bus goes idle is not looked at. */
static const PmuChip rk3562_chip = {
    .desc = "RK3562 power management unit",
    .name = "rk3562-pmu",
    .size = RK3562_PMU_SIZE,
    .num_cores = RK3562_NPU_CORES,
    .num_qos = RK3562_QOS_NUM,
    .qos_domain = rk3562_qos_domain,
    .bus_idle_req = 0x110,
    .bus_idle_ack = 0x120,
    .bus_idle_status = 0x128,
    .pwr_status = 0x230,
    .num_domains = 1,
    .domain = {
        { "npu", -1, 0, 0x210, 1u << 1, 1u << 1, 0, 0, 1u << 2 },
    },
};

/*
 * The QoS block, whose registers are behind a bus that is off while the domain
 * is (MID), is in no device tree.
 */
static const PmuChip rk3568_chip = {
    .desc = "RK3568 power management unit",
    .name = "rk3568-pmu",
    .size = RK3568_PMU_SIZE,
    .num_cores = RK3568_NPU_CORES,
    .bus_idle_req = 0x50,
    .bus_idle_ack = 0x60,
    .bus_idle_status = 0x68,
    .pwr_status = 0x98,
    .num_domains = 1,
    .domain = {
        { "npu", -1, 0, 0xa0, 1u << 1, 1u << 1, 0, 0, 1u << 2 },
    },
};

enum { PD_NPU, PD_NPUTOP, PD_NPU0, PD_NPU1, PD_NPU2 = PD_NPU0 };

static const unsigned rk3576_qos_domain[RK3576_QOS_NUM] = {
    [RK3576_QOS_MCU] = PD_NPUTOP,
    [RK3576_QOS_NSP0] = PD_NPUTOP,
    [RK3576_QOS_NSP1] = PD_NPUTOP,
    [RK3576_QOS_M0RO] = PD_NPUTOP,
    [RK3576_QOS_M1RO] = PD_NPUTOP,
    [RK3576_QOS_M0] = PD_NPU0,
    [RK3576_QOS_M1] = PD_NPU1,
};

static const PmuChip rk3576_chip = {
    .desc = "RK3576 power management unit",
    .name = "rk3576-pmu",
    .size = RK3576_PMU_SIZE,
    .num_cores = RK3576_NPU_CORES,
    .num_qos = RK3576_QOS_NUM,
    .qos_domain = rk3576_qos_domain,
    .bus_idle_req = 0x110,
    .bus_idle_ack = 0x120,
    .bus_idle_status = 0x128,
    .pwr_status = 0x230,
    .chain_status = 0x248,
    .mem_status = 0x250,
    .mem_pwr = 0x304,
    .repair_status = 0x570,
    .num_domains = 4,
    .domain = {
        [PD_NPU] = { "npu", -1, -1, 0x210, 1u << 0, 1u << 0, 0, 0, 0 },
        [PD_NPUTOP] = { "nputop", PD_NPU, -1, 0x214, 1u << 6, 0, 1u << 22,
                        1u << 22, 0x18 },
        [PD_NPU0] = { "npu0", PD_NPUTOP, 0, 0x214, 1u << 7, 0, 1u << 23,
                      1u << 23, 1u << 1 },
        [PD_NPU1] = { "npu1", PD_NPUTOP, 1, 0x214, 1u << 8, 0, 1u << 24,
                      1u << 24, 1u << 2 },
    },
};

static const unsigned rk3588_qos_domain[RK3588_QOS_NUM] = {
    [RK3588_QOS_NPU0_MWR] = PD_NPUTOP,
    [RK3588_QOS_NPU0_MRO] = PD_NPUTOP,
    [RK3588_QOS_MCU_NPU] = PD_NPUTOP,
    [RK3588_QOS_NPU1] = PD_NPU1,
    [RK3588_QOS_NPU2] = PD_NPU2,
};

static const PmuChip rk3588_chip = {
    .desc = "RK3588 power management unit",
    .name = "rk3588-pmu",
    .size = RK3588_PMU_SIZE,
    .num_cores = NPU_MAX_CORES,
    .num_qos = RK3588_QOS_NUM,
    .qos_domain = rk3588_qos_domain,
    .bus_idle_req = 0x10c,
    .bus_idle_ack = 0x118,
    .bus_idle_status = 0x120,
    .pwr_status = 0x180,
    .chain_status = 0x1f0,
    .mem_status = 0x1f8,
    .mem_pwr = 0x1a0,
    .repair_status = 0x290,
    .num_domains = 4,
    .domain = {
        [PD_NPU] = { "npu", -1, -1, 0x14c, 1u << 1, 1u << 1, 0, 0, 0 },
        [PD_NPUTOP] = { "nputop", PD_NPU, 0, 0x14c, 1u << 3, 1u << 3, 1u << 11,
                        1u << 2, 1u << 1 },
        [PD_NPU1] = { "npu1", PD_NPUTOP, 1, 0x14c, 1u << 4, 1u << 4, 1u << 12,
                      1u << 3, 1u << 2 },
        [PD_NPU2] = { "npu2", PD_NPUTOP, 2, 0x14c, 1u << 5, 1u << 5, 1u << 13,
                      1u << 4, 1u << 3 },
    },
};

static const unsigned rv1126b_qos_domain[RV1126B_QOS_NUM] = { 0 };

static const PmuChip rv1126b_chip = {
    .desc = "RV1126B power management unit",
    .name = "rv1126b-pmu",
    .size = RV1126B_PMU_SIZE,
    .num_cores = RV1126B_NPU_CORES,
    .num_qos = RV1126B_QOS_NUM,
    .qos_domain = rv1126b_qos_domain,
    .bus_idle_req = 0x110,
    .bus_idle_ack = 0x120,
    .bus_idle_status = 0x128,
    .pwr_status = 0x230,
    .num_domains = 1,
    .domain = {
        { "npu", -1, 0, 0x210, 1u << 0, 1u << 0, 0, 0, 1u << 8 },
    },
};

typedef struct PmuQos {
    RkPmuState *pmu;
    unsigned domain;
    MemoryRegion iomem;
    uint32_t regs[QOS_REGS];
} PmuQos;

struct RkPmuState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    Rk3588NpuCtlState *ctl;
    RkDelayState *delay;
    bool npu_on;                /* property */
    bool cut;                   /* level of GPIO input "supply-cut" */
    uint32_t regs[NUM_REGS];
    bool on[MAX_DOMAINS];
    bool target[MAX_DOMAINS];   /* what it will be */
    uint32_t idle;              /* the requests that are acknowledged */
    int64_t due[MAX_DOMAINS + 1];   /* when; the last is @idle's; 0: it is */
    QEMUTimer timer;            /* the next of them */
    bool stuck[MAX_DOMAINS];    /* a test keeps it from coming up */
    PmuQos qos[MAX_QOS];
    qemu_irq power[NPU_MAX_CORES];
};

static const PmuChip *pmu_chip(RkPmuState *s)
{
    return RK_PMU_GET_CLASS(s)->chip;
}

static bool pmu_should_be_on(RkPmuState *s, unsigned d)
{
    const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

    return !(s->regs[info->pwr_req / 4] & info->pwr) && !s->stuck[d] &&
           (info->parent < 0 ? !s->cut : s->on[info->parent]);
}

static void pmu_drop_qos(RkPmuState *s, unsigned d)
{
    unsigned i;

    for (i = 0; i < pmu_chip(s)->num_qos; i++) {
        if (s->qos[i].domain == d) {
            memset(s->qos[i].regs, 0, sizeof(s->qos[i].regs));
        }
    }
}

static void pmu_switch(RkPmuState *s, unsigned d, bool on)
{
    const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

    trace_rk_pmu_domain(info->name, on);
    s->on[d] = on;
    if (!on) {
        if (info->idle & ~s->idle) {
            qemu_log_mask(LOG_GUEST_ERROR, "%s: %s is switched off while "
                          "its bus is not idle\n", pmu_chip(s)->name,
                          info->name);
        }
        pmu_drop_qos(s, d);
    }
    if (info->core < 0) {
        return;
    }
    if (on) {
        npu_ctl_count(s->ctl, info->core, NPU_CNT_POWER_ON, 1);
    }
    npu_ctl_set(s->ctl, info->core, NPU_CNT_POWERED, on);
    qemu_set_irq(s->power[info->core], on);
}

/* Once per request for power; a request that failed can be withdrawn. */
static void pmu_request_power(RkPmuState *s, unsigned addr, uint32_t mask,
                              uint32_t val)
{
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

        if (info->pwr_req == addr && (mask & info->pwr)) {
            s->stuck[d] = !(val & info->pwr) && !s->on[d] && info->core >= 0 &&
                          npu_ctl_fault(s->ctl, info->core,
                                        NPU_FAULT_POWER_STUCK, NULL);
        }
    }
}

/* One that has lost its parent does not go on for a while. */
static uint32_t pmu_switch_ns(RkPmuState *s, unsigned d)
{
    int parent = pmu_chip(s)->domain[d].parent;

    if (parent >= 0 && !s->on[parent]) {
        return 0;
    }
    return rk_delay_ns(s->delay, RK_DELAY_POWER, RK_DELAY_UNIT_SOC);
}

static int64_t pmu_due(uint32_t ns)
{
    return ns ? qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns : 0;
}

static void pmu_update(RkPmuState *s)
{
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        bool on = pmu_should_be_on(s, d);

        if (on == s->target[d]) {
            continue;
        }
        s->target[d] = on;
        s->due[d] = on == s->on[d] ? 0 : pmu_due(pmu_switch_ns(s, d));
        if (on != s->on[d] && !s->due[d]) {
            pmu_switch(s, d, on);
        }
    }
}

static void pmu_arm(RkPmuState *s)
{
    int64_t next = INT64_MAX;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->due); i++) {
        next = s->due[i] ? MIN(next, s->due[i]) : next;
    }
    if (next == INT64_MAX) {
        timer_del(&s->timer);
    } else {
        timer_mod(&s->timer, next);
    }
}

static uint32_t pmu_idle_requests(RkPmuState *s)
{
    return s->regs[pmu_chip(s)->bus_idle_req / 4];
}

/* What has had its time has happened, even if the host is late. */
static void pmu_catch_up(void *opaque)
{
    RkPmuState *s = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        if (s->due[d] && s->due[d] <= now) {
            s->due[d] = 0;
            pmu_switch(s, d, s->target[d]);
            pmu_update(s);
        }
    }
    if (s->due[MAX_DOMAINS] && s->due[MAX_DOMAINS] <= now) {
        s->due[MAX_DOMAINS] = 0;
        s->idle = pmu_idle_requests(s);
    }
    pmu_arm(s);
}

/* No domain comes on then, and what was on loses what it held. */
static void pmu_cut_supply(void *opaque, int n, int level)
{
    RkPmuState *s = opaque;

    pmu_catch_up(s);
    trace_rk_pmu_cut(level);
    s->cut = level;
    pmu_update(s);
    pmu_arm(s);
}

static void pmu_request_idle(RkPmuState *s)
{
    s->due[MAX_DOMAINS] = pmu_due(rk_delay_ns(s->delay, RK_DELAY_IDLE,
                                              RK_DELAY_UNIT_SOC));
    if (!s->due[MAX_DOMAINS]) {
        s->idle = pmu_idle_requests(s);
    }
}

/*
 * The domain's SRAM is powered with the domain, except while the driver cycles
 * it through mem_pwr.
 */
static bool pmu_memory_on(RkPmuState *s, unsigned d)
{
    const PmuChip *chip = pmu_chip(s);

    return s->on[d] && !(s->regs[chip->mem_pwr / 4] & chip->domain[d].pwr);
}

static uint32_t pmu_power_status(RkPmuState *s)
{
    uint32_t v = 0;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        v |= s->on[d] ? 0 : pmu_chip(s)->domain[d].status;
    }
    return v;
}

static uint32_t pmu_memory_status(RkPmuState *s)
{
    uint32_t v = 0;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        v |= pmu_memory_on(s, d) ? 0 : pmu_chip(s)->domain[d].mem;
    }
    return v;
}

static uint32_t pmu_chain_status(RkPmuState *s)
{
    uint32_t v = UINT32_MAX;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        v &= s->on[d] ? UINT32_MAX : ~pmu_chip(s)->domain[d].mem;
    }
    return v;
}

static uint32_t pmu_repair_status(RkPmuState *s)
{
    uint32_t v = UINT32_MAX;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        v &= s->on[d] ? UINT32_MAX : ~pmu_chip(s)->domain[d].repair;
    }
    return v;
}

/* At 0 is none of these; there it means that the chip does not have one. */
static bool pmu_read_status(RkPmuState *s, hwaddr addr, uint32_t *val)
{
    const PmuChip *chip = pmu_chip(s);

    if (!addr) {
        return false;
    } else if (addr == chip->bus_idle_ack || addr == chip->bus_idle_status) {
        *val = s->idle;
    } else if (addr == chip->pwr_status) {
        *val = pmu_power_status(s);
    } else if (addr == chip->chain_status) {
        *val = pmu_chain_status(s);
    } else if (addr == chip->mem_status) {
        *val = pmu_memory_status(s);
    } else if (addr == chip->repair_status) {
        *val = pmu_repair_status(s);
    } else {
        return false;
    }
    return true;
}

static uint64_t pmu_read(void *opaque, hwaddr addr, unsigned size)
{
    RkPmuState *s = opaque;
    uint32_t val;

    pmu_catch_up(s);
    if (!pmu_read_status(s, addr, &val)) {
        val = s->regs[addr / 4];
    }
    trace_rk_pmu_read(addr, val);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, val, false);
    return val;
}

static void pmu_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    RkPmuState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4], status;

    trace_rk_pmu_write(addr, data);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, data, true);
    if (pmu_read_status(s, addr, &status)) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: write to read-only offset 0x%"
                      HWADDR_PRIx "\n", pmu_chip(s)->name, addr);
        return;
    }
    pmu_catch_up(s);
    *reg = (*reg & ~mask) | (data & mask);
    pmu_request_power(s, addr, mask, data);
    if (addr == pmu_chip(s)->bus_idle_req) {
        pmu_request_idle(s);
    }
    pmu_update(s);
    pmu_arm(s);
}

static const MemoryRegionOps pmu_ops = {
    .read = pmu_read,
    .write = pmu_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static bool qos_accessible(const PmuQos *q, hwaddr addr)
{
    const PmuChip *chip = pmu_chip(q->pmu);

    if (q->pmu->on[q->domain]) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR, "%s: QoS access to 0x%" HWADDR_PRIx
                  " while %s is off\n", chip->name, addr,
                  chip->domain[q->domain].name);
    npu_ctl_count(q->pmu->ctl, chip->domain[q->domain].core, NPU_CNT_ABORT, 1);
    return false;
}

static MemTxResult qos_read(void *opaque, hwaddr addr, uint64_t *data,
                            unsigned size, MemTxAttrs attrs)
{
    PmuQos *q = opaque;

    *data = 0;
    if (!qos_accessible(q, addr)) {
        return MEMTX_DECODE_ERROR;
    }
    *data = q->regs[addr / 4];
    return MEMTX_OK;
}

static MemTxResult qos_write(void *opaque, hwaddr addr, uint64_t data,
                             unsigned size, MemTxAttrs attrs)
{
    PmuQos *q = opaque;

    if (!qos_accessible(q, addr)) {
        return MEMTX_DECODE_ERROR;
    }
    q->regs[addr / 4] = data;
    return MEMTX_OK;
}

static const MemoryRegionOps qos_ops = {
    .read_with_attrs = qos_read,
    .write_with_attrs = qos_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* Firmware leaves the NPU off, bus idle requested (row soc.domains). */
static void pmu_reset_enter(Object *obj, ResetType type)
{
    RkPmuState *s = RK_PMU(obj);
    unsigned d;

    memset(s->regs, 0, sizeof(s->regs));
    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

        s->on[d] = s->npu_on;
        s->target[d] = s->npu_on;
        s->stuck[d] = false;
        pmu_drop_qos(s, d);
        if (!s->npu_on) {
            s->regs[info->pwr_req / 4] |= info->pwr;
            s->regs[pmu_chip(s)->bus_idle_req / 4] |= info->idle;
        }
    }
    s->idle = pmu_idle_requests(s);
    memset(s->due, 0, sizeof(s->due));
    timer_del(&s->timer);
}

static void pmu_reset_exit(Object *obj, ResetType type)
{
    RkPmuState *s = RK_PMU(obj);
    unsigned core;

    for (core = 0; core < pmu_chip(s)->num_cores; core++) {
        npu_ctl_set(s->ctl, core, NPU_CNT_POWERED, s->npu_on);
        qemu_set_irq(s->power[core], s->npu_on);
    }
}

static void pmu_init(Object *obj)
{
    SysBusDevice *sbd = SYS_BUS_DEVICE(obj);
    RkPmuState *s = RK_PMU(obj);
    const PmuChip *chip = pmu_chip(s);
    unsigned i;

    memory_region_init_io(&s->iomem, obj, &pmu_ops, s, TYPE_RK_PMU,
                          chip->size);
    sysbus_init_mmio(sbd, &s->iomem);
    for (i = 0; i < chip->num_qos; i++) {
        PmuQos *q = &s->qos[i];

        q->pmu = s;
        q->domain = chip->qos_domain[i];
        memory_region_init_io(&q->iomem, obj, &qos_ops, q, "rk-pmu-qos",
                              RK_QOS_SIZE);
        sysbus_init_mmio(sbd, &q->iomem);
    }
    timer_init_ns(&s->timer, QEMU_CLOCK_VIRTUAL, pmu_catch_up, s);
    qdev_init_gpio_out_named(DEVICE(obj), s->power, "power", chip->num_cores);
    qdev_init_gpio_in_named(DEVICE(obj), pmu_cut_supply, "supply-cut", 1);
}

static const VMStateDescription vmstate_pmu_qos = {
    .name = "rk-pmu/qos",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, PmuQos, QOS_REGS),
        VMSTATE_END_OF_LIST()
    }
};

/* The lines are not driven again on load: their receivers keep their level. */
static const VMStateDescription vmstate_pmu = {
    .name = TYPE_RK_PMU,
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(cut, RkPmuState),
        VMSTATE_UINT32_ARRAY(regs, RkPmuState, NUM_REGS),
        VMSTATE_BOOL_ARRAY(on, RkPmuState, MAX_DOMAINS),
        VMSTATE_BOOL_ARRAY(target, RkPmuState, MAX_DOMAINS),
        VMSTATE_BOOL_ARRAY(stuck, RkPmuState, MAX_DOMAINS),
        VMSTATE_UINT32(idle, RkPmuState),
        VMSTATE_INT64_ARRAY(due, RkPmuState, MAX_DOMAINS + 1),
        VMSTATE_TIMER(timer, RkPmuState),
        VMSTATE_STRUCT_ARRAY(qos, RkPmuState, MAX_QOS, 1, vmstate_pmu_qos,
                             PmuQos),
        VMSTATE_END_OF_LIST()
    }
};

static const Property pmu_properties[] = {
    DEFINE_PROP_BOOL("npu-on", RkPmuState, npu_on, false),
    DEFINE_PROP_LINK("ctl", RkPmuState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
    DEFINE_PROP_LINK("delay", RkPmuState, delay, TYPE_RK_DELAY, RkDelayState *),
};

static void pmu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->vmsd = &vmstate_pmu;
    dc->user_creatable = false;
    device_class_set_props(dc, pmu_properties);
    rc->phases.enter = pmu_reset_enter;
    rc->phases.exit = pmu_reset_exit;
}

static void pmu_chip_class_init(ObjectClass *klass, void *data)
{
    RK_PMU_CLASS(klass)->chip = data;
    DEVICE_CLASS(klass)->desc = RK_PMU_CLASS(klass)->chip->desc;
}

static const TypeInfo pmu_info[] = {
    {
        .name = TYPE_RK_PMU,
        .parent = TYPE_SYS_BUS_DEVICE,
        .abstract = true,
        .instance_size = sizeof(RkPmuState),
        .instance_init = pmu_init,
        .class_size = sizeof(RkPmuClass),
        .class_init = pmu_class_init,
    }, {
        .name = TYPE_RK3562_PMU,
        .parent = TYPE_RK_PMU,
        .class_init = pmu_chip_class_init,
        .class_data = (void *)&rk3562_chip,
    }, {
        .name = TYPE_RK3568_PMU,
        .parent = TYPE_RK_PMU,
        .class_init = pmu_chip_class_init,
        .class_data = (void *)&rk3568_chip,
    }, {
        .name = TYPE_RK3576_PMU,
        .parent = TYPE_RK_PMU,
        .class_init = pmu_chip_class_init,
        .class_data = (void *)&rk3576_chip,
    }, {
        .name = TYPE_RK3588_PMU,
        .parent = TYPE_RK_PMU,
        .class_init = pmu_chip_class_init,
        .class_data = (void *)&rk3588_chip,
    }, {
        .name = TYPE_RV1126B_PMU,
        .parent = TYPE_RK_PMU,
        .class_init = pmu_chip_class_init,
        .class_data = (void *)&rv1126b_chip,
    },
};

DEFINE_TYPES(pmu_info)
