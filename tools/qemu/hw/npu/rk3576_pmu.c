/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RK3576 power management unit: power, memory and bus-idle handshakes of the
 * NPU's four power domains; other domains always report on.
 *
 * Offsets, bits and polarities follow Linux's rockchip pm-domains driver.  A
 * domain answers as soon as it is on: silicon wants 15 us and a reset of its
 * bus interface first.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/registerfields.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "hw/npu/rk3576_cru.h"
#include "hw/npu/rk3576_pmu.h"
#include "hw/npu/rk3588_npu_stats.h"

#define NUM_REGS        (RK3576_PMU_SIZE / 4)
#define QOS_REGS        (RK3576_QOS_SIZE / 4)

REG32(BUS_IDLE_REQ, 0x110)
REG32(BUS_IDLE_ACK, 0x120)
REG32(BUS_IDLE_STATUS, 0x128)
REG32(PWR_REQ0, 0x210)          /* 1 = off */
REG32(PWR_REQ1, 0x214)
REG32(PWR_STATUS, 0x230)        /* 1 = off */
REG32(CHAIN_STATUS, 0x248)      /* 1 = on */
REG32(MEM_STATUS, 0x250)        /* 1 = off */
REG32(MEM_PWR1, 0x304)
REG32(REPAIR_STATUS, 0x570)     /* 1 = domain on */

enum PmuDomain { PD_NPU, PD_NPUTOP, PD_NPU0, PD_NPU1, PD_NUM };

typedef struct PmuDomainInfo {
    const char *name;
    int parent;         /* -1 = none */
    int core;           /* core that lives in the domain, -1 = none */
    unsigned pwr_reg;
    uint32_t pwr;       /* its bit, of PWR_REQn and MEM_PWRn */
    uint32_t status;    /* its bit of PWR_STATUS, 0 = none */
    uint32_t mem;       /* its bit of CHAIN, MEM and REPAIR_STATUS, 0 = none */
    uint32_t idle;      /* its bits of BUS_IDLE_* */
} PmuDomainInfo;

/* A parent comes before its children. */
static const PmuDomainInfo pmu_domains[PD_NUM] = {
    [PD_NPU] = { "npu", -1, -1, R_PWR_REQ0, 1u << 0, 1u << 0, 0, 0 },
    [PD_NPUTOP] = { "nputop", PD_NPU, -1, R_PWR_REQ1, 1u << 6, 0, 1u << 22,
                    0x18 },
    [PD_NPU0] = { "npu0", PD_NPUTOP, 0, R_PWR_REQ1, 1u << 7, 0, 1u << 23,
                  1u << 1 },
    [PD_NPU1] = { "npu1", PD_NPUTOP, 1, R_PWR_REQ1, 1u << 8, 0, 1u << 24,
                  1u << 2 },
};

static const enum PmuDomain qos_domain[RK3576_QOS_NUM] = {
    [RK3576_QOS_MCU] = PD_NPUTOP,
    [RK3576_QOS_NSP0] = PD_NPUTOP,
    [RK3576_QOS_NSP1] = PD_NPUTOP,
    [RK3576_QOS_M0RO] = PD_NPUTOP,
    [RK3576_QOS_M1RO] = PD_NPUTOP,
    [RK3576_QOS_M0] = PD_NPU0,
    [RK3576_QOS_M1] = PD_NPU1,
};

typedef struct PmuQos {
    Rk3576PmuState *pmu;
    enum PmuDomain domain;
    MemoryRegion iomem;
    uint32_t regs[QOS_REGS];
} PmuQos;

struct Rk3576PmuState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    Rk3588NpuCtlState *ctl;
    uint32_t regs[NUM_REGS];
    bool on[PD_NUM];
    bool stuck[PD_NUM];         /* a test keeps it from coming up */
    PmuQos qos[RK3576_QOS_NUM];
    qemu_irq power[RK3576_NPU_CORES];
};

static bool pmu_should_be_on(const Rk3576PmuState *s, enum PmuDomain d)
{
    const PmuDomainInfo *info = &pmu_domains[d];

    return !(s->regs[info->pwr_reg] & info->pwr) && !s->stuck[d] &&
           (info->parent < 0 || s->on[info->parent]);
}

static void pmu_drop_qos(Rk3576PmuState *s, enum PmuDomain d)
{
    unsigned i;

    for (i = 0; i < RK3576_QOS_NUM; i++) {
        if (qos_domain[i] == d) {
            memset(s->qos[i].regs, 0, sizeof(s->qos[i].regs));
        }
    }
}

static void pmu_switch(Rk3576PmuState *s, enum PmuDomain d, bool on)
{
    const PmuDomainInfo *info = &pmu_domains[d];

    s->on[d] = on;
    if (!on) {
        if (info->idle & ~s->regs[R_BUS_IDLE_REQ]) {
            qemu_log_mask(LOG_GUEST_ERROR, "rk3576-pmu: %s is switched off "
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
static void pmu_request_power(Rk3576PmuState *s, unsigned reg, uint32_t mask,
                              uint32_t val)
{
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        const PmuDomainInfo *info = &pmu_domains[d];

        if (info->pwr_reg == reg && (mask & info->pwr)) {
            s->stuck[d] = !(val & info->pwr) && !s->on[d] && info->core >= 0 &&
                          npu_ctl_fault(s->ctl, info->core,
                                        NPU_FAULT_POWER_STUCK, NULL);
        }
    }
}

static void pmu_update(Rk3576PmuState *s)
{
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        bool on = pmu_should_be_on(s, d);

        if (on != s->on[d]) {
            pmu_switch(s, d, on);
        }
    }
}

/* Of the domains that are on, or whose memory is. */
static uint32_t pmu_mem_bits(const Rk3576PmuState *s, bool memory)
{
    uint32_t bits = 0;
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        const PmuDomainInfo *info = &pmu_domains[d];

        /* The driver cycles a domain's memory. */
        if (s->on[d] && !(memory && (s->regs[R_MEM_PWR1] & info->pwr))) {
            bits |= info->mem;
        }
    }
    return bits;
}

static uint32_t pmu_all_mem_bits(void)
{
    uint32_t bits = 0;
    unsigned d;

    for (d = 0; d < PD_NUM; d++) {
        bits |= pmu_domains[d].mem;
    }
    return bits;
}

static uint32_t pmu_read_reg(const Rk3576PmuState *s, hwaddr addr)
{
    uint32_t all = pmu_all_mem_bits();

    switch (addr) {
    case A_BUS_IDLE_ACK:
    case A_BUS_IDLE_STATUS:
        return s->regs[R_BUS_IDLE_REQ];
    case A_PWR_STATUS:
        return s->on[PD_NPU] ? 0 : pmu_domains[PD_NPU].status;
    case A_CHAIN_STATUS:
    case A_REPAIR_STATUS:
        return ~all | pmu_mem_bits(s, false);
    case A_MEM_STATUS:
        return all & ~pmu_mem_bits(s, true);
    default:
        return s->regs[addr / 4];
    }
}

static uint64_t pmu_read(void *opaque, hwaddr addr, unsigned size)
{
    Rk3576PmuState *s = opaque;
    uint32_t val = pmu_read_reg(s, addr);

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, val, false);
    return val;
}

static void pmu_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    Rk3576PmuState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4];

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, data, true);
    *reg = (*reg & ~mask) | (data & mask);
    pmu_request_power(s, addr / 4, mask, data);
    pmu_update(s);
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
    if (q->pmu->on[q->domain]) {
        return true;
    }
    qemu_log_mask(LOG_GUEST_ERROR, "rk3576-pmu: QoS access to 0x%" HWADDR_PRIx
                  " while %s is off\n", addr, pmu_domains[q->domain].name);
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

/* Firmware leaves the NPU off, bus idle requested, as on the RK3588. */
static void pmu_reset_enter(Object *obj, ResetType type)
{
    Rk3576PmuState *s = RK3576_PMU(obj);
    unsigned d;

    memset(s->regs, 0, sizeof(s->regs));
    memset(s->on, 0, sizeof(s->on));
    memset(s->stuck, 0, sizeof(s->stuck));
    for (d = 0; d < PD_NUM; d++) {
        s->regs[pmu_domains[d].pwr_reg] |= pmu_domains[d].pwr;
        s->regs[R_BUS_IDLE_REQ] |= pmu_domains[d].idle;
        pmu_drop_qos(s, d);
    }
}

static void pmu_reset_exit(Object *obj, ResetType type)
{
    Rk3576PmuState *s = RK3576_PMU(obj);
    unsigned core;

    for (core = 0; core < RK3576_NPU_CORES; core++) {
        npu_ctl_set(s->ctl, core, NPU_CNT_POWERED, 0);
        qemu_set_irq(s->power[core], 0);
    }
}

static void pmu_init(Object *obj)
{
    SysBusDevice *sbd = SYS_BUS_DEVICE(obj);
    Rk3576PmuState *s = RK3576_PMU(obj);
    unsigned i;

    memory_region_init_io(&s->iomem, obj, &pmu_ops, s, TYPE_RK3576_PMU,
                          RK3576_PMU_SIZE);
    sysbus_init_mmio(sbd, &s->iomem);
    for (i = 0; i < RK3576_QOS_NUM; i++) {
        PmuQos *q = &s->qos[i];

        q->pmu = s;
        q->domain = qos_domain[i];
        memory_region_init_io(&q->iomem, obj, &qos_ops, q, "rk3576-qos",
                              RK3576_QOS_SIZE);
        sysbus_init_mmio(sbd, &q->iomem);
    }
    qdev_init_gpio_out_named(DEVICE(obj), s->power, "power", RK3576_NPU_CORES);
}

static const VMStateDescription vmstate_pmu_qos = {
    .name = "rk3576-pmu/qos",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, PmuQos, QOS_REGS),
        VMSTATE_END_OF_LIST()
    }
};

/* The lines are not driven again on load: their receivers keep their level. */
static const VMStateDescription vmstate_pmu = {
    .name = TYPE_RK3576_PMU,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, Rk3576PmuState, NUM_REGS),
        VMSTATE_BOOL_ARRAY(on, Rk3576PmuState, PD_NUM),
        VMSTATE_BOOL_ARRAY(stuck, Rk3576PmuState, PD_NUM),
        VMSTATE_STRUCT_ARRAY(qos, Rk3576PmuState, RK3576_QOS_NUM, 1,
                             vmstate_pmu_qos, PmuQos),
        VMSTATE_END_OF_LIST()
    }
};

static const Property pmu_properties[] = {
    DEFINE_PROP_LINK("ctl", Rk3576PmuState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
};

static void pmu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "RK3576 power management unit";
    dc->vmsd = &vmstate_pmu;
    dc->user_creatable = false;
    device_class_set_props(dc, pmu_properties);
    rc->phases.enter = pmu_reset_enter;
    rc->phases.exit = pmu_reset_exit;
}

static const TypeInfo pmu_info = {
    .name = TYPE_RK3576_PMU,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3576PmuState),
    .instance_init = pmu_init,
    .class_init = pmu_class_init,
};

static void pmu_register_types(void)
{
    type_register_static(&pmu_info);
}
type_init(pmu_register_types)
