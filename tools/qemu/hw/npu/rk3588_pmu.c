/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RK3588 power management unit: power, memory and bus-idle handshakes of the
 * NPU's four power domains; other domains always report on.
 *
 * Offsets, bits and polarities follow Linux's rockchip pm-domains driver.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/registerfields.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk3588_pmu.h"
#include "hw/npu/rk_delay.h"
#include "trace.h"

#define NUM_REGS        (RK3588_PMU_SIZE / 4)
#define QOS_REGS        (RK3588_QOS_SIZE / 4)

REG32(BUS_IDLE_REQ, 0x10c)
REG32(BUS_IDLE_ACK, 0x118)
REG32(BUS_IDLE_STATUS, 0x120)
REG32(PWR_REQ, 0x14c)           /* 1 = off */
REG32(PWR_STATUS, 0x180)        /* 1 = off */
REG32(MEM_PWR, 0x1a0)
REG32(CHAIN_STATUS, 0x1f0)      /* 1 = on */
REG32(MEM_STATUS, 0x1f8)        /* 1 = off */
REG32(REPAIR_STATUS, 0x290)     /* 1 = domain on */

enum PmuDomain { PD_NPU, PD_NPUTOP, PD_NPU1, PD_NPU2, PD_NUM };

#define NO_BIT          -1

typedef struct PmuDomainInfo {
    const char *name;
    int parent;         /* -1 = none */
    int core;           /* core that lives in the domain, -1 = none */
    int pwr_bit;        /* also the bit of PWR_STATUS */
    int mem_bit;
    int repair_bit;
    int idle_bit;
} PmuDomainInfo;

/* A parent comes before its children. */
static const PmuDomainInfo pmu_domains[PD_NUM] = {
    [PD_NPU]    = { "npu",    -1,        -1, 1, NO_BIT, NO_BIT, NO_BIT },
    [PD_NPUTOP] = { "nputop", PD_NPU,     0, 3, 11, 2, 1 },
    [PD_NPU1]   = { "npu1",   PD_NPUTOP,  1, 4, 12, 3, 2 },
    [PD_NPU2]   = { "npu2",   PD_NPUTOP,  2, 5, 13, 4, 3 },
};

static const enum PmuDomain qos_domain[RK3588_QOS_NUM] = {
    [RK3588_QOS_NPU0_MWR] = PD_NPUTOP,
    [RK3588_QOS_NPU0_MRO] = PD_NPUTOP,
    [RK3588_QOS_MCU_NPU] = PD_NPUTOP,
    [RK3588_QOS_NPU1] = PD_NPU1,
    [RK3588_QOS_NPU2] = PD_NPU2,
};

typedef struct PmuQos {
    Rk3588PmuState *pmu;
    enum PmuDomain domain;
    MemoryRegion iomem;
    uint32_t regs[QOS_REGS];
} PmuQos;

struct Rk3588PmuState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    Rk3588NpuCtlState *ctl;
    RkDelayState *delay;
    bool npu_on;                /* property */
    bool cut;                   /* level of GPIO input "supply-cut" */
    uint32_t regs[NUM_REGS];
    bool on[PD_NUM];
    bool target[PD_NUM];        /* what it will be */
    uint32_t idle;              /* the requests that are acknowledged */
    int64_t due[PD_NUM + 1];    /* when; the last one is @idle's; 0: it is */
    QEMUTimer timer;            /* the next of them */
    bool stuck[PD_NUM];         /* a test keeps it from coming up */
    PmuQos qos[RK3588_QOS_NUM];
    qemu_irq power[NPU_MAX_CORES];
};

static bool pmu_requested(Rk3588PmuState *s, enum PmuDomain d)
{
    return !(s->regs[R_PWR_REQ] & (1u << pmu_domains[d].pwr_bit));
}

static bool pmu_should_be_on(Rk3588PmuState *s, enum PmuDomain d)
{
    int parent = pmu_domains[d].parent;

    return pmu_requested(s, d) && !s->stuck[d] &&
           (parent < 0 ? !s->cut : s->on[parent]);
}

static void pmu_drop_qos(Rk3588PmuState *s, enum PmuDomain d)
{
    unsigned i;

    for (i = 0; i < RK3588_QOS_NUM; i++) {
        if (qos_domain[i] == d) {
            memset(s->qos[i].regs, 0, sizeof(s->qos[i].regs));
        }
    }
}

static bool pmu_bus_idle(Rk3588PmuState *s, enum PmuDomain d)
{
    int bit = pmu_domains[d].idle_bit;

    return bit == NO_BIT || s->idle & (1u << bit);
}

static void pmu_switch(Rk3588PmuState *s, enum PmuDomain d, bool on)
{
    const PmuDomainInfo *info = &pmu_domains[d];

    trace_rk3588_pmu_domain(info->name, on);
    s->on[d] = on;
    if (!on) {
        if (!pmu_bus_idle(s, d)) {
            qemu_log_mask(LOG_GUEST_ERROR, "rk3588-pmu: %s is switched off "
                          "while its bus is not idle\n", info->name);
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
static void pmu_request_power(Rk3588PmuState *s, uint32_t mask, uint32_t val)
{
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        const PmuDomainInfo *info = &pmu_domains[d];

        if (!(mask & (1u << info->pwr_bit))) {
            continue;
        }
        s->stuck[d] = !(val & (1u << info->pwr_bit)) && !s->on[d] &&
                      info->core >= 0 &&
                      npu_ctl_fault(s->ctl, info->core, NPU_FAULT_POWER_STUCK,
                                    NULL);
    }
}

/* One that has lost its parent does not go on for a while. */
static uint32_t pmu_switch_ns(Rk3588PmuState *s, enum PmuDomain d)
{
    int parent = pmu_domains[d].parent;

    if (parent >= 0 && !s->on[parent]) {
        return 0;
    }
    return rk_delay_ns(s->delay, RK_DELAY_POWER, RK_DELAY_UNIT_SOC);
}

static int64_t pmu_due(uint32_t ns)
{
    return ns ? qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns : 0;
}

static void pmu_update(Rk3588PmuState *s)
{
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
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

static void pmu_arm(Rk3588PmuState *s)
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

/* What has had its time has happened, even if the host is late. */
static void pmu_catch_up(void *opaque)
{
    Rk3588PmuState *s = opaque;
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        if (s->due[d] && s->due[d] <= now) {
            s->due[d] = 0;
            pmu_switch(s, d, s->target[d]);
            pmu_update(s);
        }
    }
    if (s->due[PD_NUM] && s->due[PD_NUM] <= now) {
        s->due[PD_NUM] = 0;
        s->idle = s->regs[R_BUS_IDLE_REQ];
    }
    pmu_arm(s);
}

/* No domain comes on then, and what was on loses what it held. */
static void pmu_cut_supply(void *opaque, int n, int level)
{
    Rk3588PmuState *s = opaque;

    pmu_catch_up(s);
    trace_rk3588_pmu_cut(level);
    s->cut = level;
    pmu_update(s);
    pmu_arm(s);
}

static void pmu_request_idle(Rk3588PmuState *s)
{
    s->due[PD_NUM] = pmu_due(rk_delay_ns(s->delay, RK_DELAY_IDLE,
                                         RK_DELAY_UNIT_SOC));
    if (!s->due[PD_NUM]) {
        s->idle = s->regs[R_BUS_IDLE_REQ];
    }
}

/*
 * The domain's SRAM is powered with the domain, except while the driver
 * cycles it through MEM_PWR.
 */
static bool pmu_memory_on(Rk3588PmuState *s, enum PmuDomain d)
{
    return s->on[d] && !(s->regs[R_MEM_PWR] & (1u << pmu_domains[d].pwr_bit));
}

static uint32_t pmu_power_status(Rk3588PmuState *s)
{
    uint32_t v = 0;
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        v = deposit32(v, pmu_domains[d].pwr_bit, 1, !s->on[d]);
    }
    return v;
}

static uint32_t pmu_memory_status(Rk3588PmuState *s)
{
    uint32_t v = 0;
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        if (pmu_domains[d].mem_bit != NO_BIT) {
            v = deposit32(v, pmu_domains[d].mem_bit, 1, !pmu_memory_on(s, d));
        }
    }
    return v;
}

static uint32_t pmu_chain_status(Rk3588PmuState *s)
{
    uint32_t v = UINT32_MAX;
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        if (pmu_domains[d].mem_bit != NO_BIT) {
            v = deposit32(v, pmu_domains[d].mem_bit, 1, s->on[d]);
        }
    }
    return v;
}

static uint32_t pmu_repair_status(Rk3588PmuState *s)
{
    uint32_t v = UINT32_MAX;
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        if (pmu_domains[d].repair_bit != NO_BIT) {
            v = deposit32(v, pmu_domains[d].repair_bit, 1, s->on[d]);
        }
    }
    return v;
}

static uint32_t pmu_read_reg(Rk3588PmuState *s, hwaddr addr)
{
    switch (addr) {
    case A_BUS_IDLE_ACK:
    case A_BUS_IDLE_STATUS:
        return s->idle;
    case A_PWR_STATUS:
        return pmu_power_status(s);
    case A_CHAIN_STATUS:
        return pmu_chain_status(s);
    case A_MEM_STATUS:
        return pmu_memory_status(s);
    case A_REPAIR_STATUS:
        return pmu_repair_status(s);
    default:
        return s->regs[addr / 4];
    }
}

static uint64_t pmu_read(void *opaque, hwaddr addr, unsigned size)
{
    Rk3588PmuState *s = opaque;
    uint32_t val;

    pmu_catch_up(s);
    val = pmu_read_reg(s, addr);
    trace_rk3588_pmu_read(addr, val);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, val, false);
    return val;
}

static void pmu_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    Rk3588PmuState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4];

    trace_rk3588_pmu_write(addr, data);
    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, data, true);
    switch (addr) {
    case A_BUS_IDLE_ACK:
    case A_BUS_IDLE_STATUS:
    case A_PWR_STATUS:
    case A_CHAIN_STATUS:
    case A_MEM_STATUS:
    case A_REPAIR_STATUS:
        qemu_log_mask(LOG_GUEST_ERROR, "rk3588-pmu: write to read-only "
                      "offset 0x%" HWADDR_PRIx "\n", addr);
        return;
    }
    pmu_catch_up(s);
    *reg = (*reg & ~mask) | (data & mask);
    if (addr == A_PWR_REQ) {
        pmu_request_power(s, mask, data);
    } else if (addr == A_BUS_IDLE_REQ) {
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

static bool qos_accessible(PmuQos *q, hwaddr addr)
{
    if (q->pmu->on[q->domain]) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR, "rk3588-pmu: QoS access to 0x%" HWADDR_PRIx
                  " while %s is off\n", addr, pmu_domains[q->domain].name);
    npu_ctl_count(q->pmu->ctl, pmu_domains[q->domain].core, NPU_CNT_ABORT, 1);
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
    Rk3588PmuState *s = RK3588_PMU(obj);
    unsigned d;

    memset(s->regs, 0, sizeof(s->regs));
    for (d = 0; d < PD_NUM; d++) {
        const PmuDomainInfo *info = &pmu_domains[d];

        s->on[d] = s->npu_on;
        s->target[d] = s->npu_on;
        s->stuck[d] = false;
        pmu_drop_qos(s, d);
        if (s->npu_on) {
            continue;
        }
        s->regs[R_PWR_REQ] |= 1u << info->pwr_bit;
        if (info->idle_bit != NO_BIT) {
            s->regs[R_BUS_IDLE_REQ] |= 1u << info->idle_bit;
        }
    }
    s->idle = s->regs[R_BUS_IDLE_REQ];
    memset(s->due, 0, sizeof(s->due));
    timer_del(&s->timer);
}

static void pmu_reset_exit(Object *obj, ResetType type)
{
    Rk3588PmuState *s = RK3588_PMU(obj);
    unsigned core;

    for (core = 0; core < NPU_MAX_CORES; core++) {
        npu_ctl_set(s->ctl, core, NPU_CNT_POWERED, s->npu_on);
        qemu_set_irq(s->power[core], s->npu_on);
    }
}

static void pmu_init(Object *obj)
{
    SysBusDevice *sbd = SYS_BUS_DEVICE(obj);
    Rk3588PmuState *s = RK3588_PMU(obj);
    unsigned i;

    memory_region_init_io(&s->iomem, obj, &pmu_ops, s, TYPE_RK3588_PMU,
                          RK3588_PMU_SIZE);
    sysbus_init_mmio(sbd, &s->iomem);
    for (i = 0; i < RK3588_QOS_NUM; i++) {
        PmuQos *q = &s->qos[i];

        q->pmu = s;
        q->domain = qos_domain[i];
        memory_region_init_io(&q->iomem, obj, &qos_ops, q, "rk3588-qos",
                              RK3588_QOS_SIZE);
        sysbus_init_mmio(sbd, &q->iomem);
    }
    timer_init_ns(&s->timer, QEMU_CLOCK_VIRTUAL, pmu_catch_up, s);
    qdev_init_gpio_out_named(DEVICE(obj), s->power, "power", NPU_MAX_CORES);
    qdev_init_gpio_in_named(DEVICE(obj), pmu_cut_supply, "supply-cut", 1);
}

static const VMStateDescription vmstate_pmu_qos = {
    .name = "rk3588-pmu/qos",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, PmuQos, QOS_REGS),
        VMSTATE_END_OF_LIST()
    }
};

/* The lines are not driven again on load: their receivers keep their level. */
static const VMStateDescription vmstate_pmu = {
    .name = TYPE_RK3588_PMU,
    .version_id = 4,
    .minimum_version_id = 4,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(cut, Rk3588PmuState),
        VMSTATE_UINT32_ARRAY(regs, Rk3588PmuState, NUM_REGS),
        VMSTATE_BOOL_ARRAY(on, Rk3588PmuState, PD_NUM),
        VMSTATE_BOOL_ARRAY(target, Rk3588PmuState, PD_NUM),
        VMSTATE_BOOL_ARRAY(stuck, Rk3588PmuState, PD_NUM),
        VMSTATE_UINT32(idle, Rk3588PmuState),
        VMSTATE_INT64_ARRAY(due, Rk3588PmuState, PD_NUM + 1),
        VMSTATE_TIMER(timer, Rk3588PmuState),
        VMSTATE_STRUCT_ARRAY(qos, Rk3588PmuState, RK3588_QOS_NUM, 1,
                             vmstate_pmu_qos, PmuQos),
        VMSTATE_END_OF_LIST()
    }
};

static const Property pmu_properties[] = {
    DEFINE_PROP_BOOL("npu-on", Rk3588PmuState, npu_on, false),
    DEFINE_PROP_LINK("ctl", Rk3588PmuState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
    DEFINE_PROP_LINK("delay", Rk3588PmuState, delay, TYPE_RK_DELAY,
                     RkDelayState *),
};

static void pmu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "RK3588 power management unit";
    dc->vmsd = &vmstate_pmu;
    dc->user_creatable = false;
    device_class_set_props(dc, pmu_properties);
    rc->phases.enter = pmu_reset_enter;
    rc->phases.exit = pmu_reset_exit;
}

static const TypeInfo pmu_info = {
    .name = TYPE_RK3588_PMU,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3588PmuState),
    .instance_init = pmu_init,
    .class_init = pmu_class_init,
};

static void pmu_register_types(void)
{
    type_register_static(&pmu_info);
}
type_init(pmu_register_types)
