/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power management units of the RK3562, the RK3568 and the RK3576: power,
 * memory and bus-idle handshakes of the NPU's power domains; other domains
 * always report on.
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
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_cru.h"
#include "hw/npu/rk_pmu.h"

#define NUM_REGS        (RK3568_PMU_SIZE / 4)   /* the larger one's */
#define QOS_REGS        (RK3576_QOS_SIZE / 4)
#define MAX_DOMAINS     4
#define MAX_CORES       RK3576_NPU_CORES

typedef struct PmuDomainInfo {
    const char *name;
    int parent;         /* -1 = none */
    int core;           /* core that lives in the domain, -1 = none */
    unsigned pwr_req;   /* offset of the register that switches it */
    uint32_t pwr;       /* its bit there and in mem_pwr; 1 = off */
    uint32_t status;    /* its bit of pwr_status, 0 = none */
    uint32_t mem;       /* its bit of what tells of memories, 0 = none */
    uint32_t idle;      /* its bits of bus_idle_* */
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
        { "npu", -1, 0, 0x210, 1u << 1, 1u << 1, 0, 1u << 2 },
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
        { "npu", -1, 0, 0xa0, 1u << 1, 1u << 1, 0, 1u << 2 },
    },
};

enum { PD_NPU, PD_NPUTOP, PD_NPU0, PD_NPU1 };

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
        [PD_NPU] = { "npu", -1, -1, 0x210, 1u << 0, 1u << 0, 0, 0 },
        [PD_NPUTOP] = { "nputop", PD_NPU, -1, 0x214, 1u << 6, 0, 1u << 22,
                        0x18 },
        [PD_NPU0] = { "npu0", PD_NPUTOP, 0, 0x214, 1u << 7, 0, 1u << 23,
                      1u << 1 },
        [PD_NPU1] = { "npu1", PD_NPUTOP, 1, 0x214, 1u << 8, 0, 1u << 24,
                      1u << 2 },
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
    uint32_t regs[NUM_REGS];
    bool on[MAX_DOMAINS];
    bool stuck[MAX_DOMAINS];    /* a test keeps it from coming up */
    PmuQos qos[RK3576_QOS_NUM];
    qemu_irq power[MAX_CORES];
};

static const PmuChip *pmu_chip(RkPmuState *s)
{
    return RK_PMU_GET_CLASS(s)->chip;
}

static bool pmu_should_be_on(RkPmuState *s, unsigned d)
{
    const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

    return !(s->regs[info->pwr_req / 4] & info->pwr) && !s->stuck[d] &&
           (info->parent < 0 || s->on[info->parent]);
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

    s->on[d] = on;
    if (!on) {
        if (info->idle & ~s->regs[pmu_chip(s)->bus_idle_req / 4]) {
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

static void pmu_update(RkPmuState *s)
{
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        bool on = pmu_should_be_on(s, d);

        if (on != s->on[d]) {
            pmu_switch(s, d, on);
        }
    }
}

/* Of the domains that are on, or whose memory is. */
static uint32_t pmu_mem_bits(RkPmuState *s, bool memory)
{
    uint32_t bits = 0;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

        /* The driver cycles a domain's memory. */
        if (s->on[d] && !(memory &&
                           (s->regs[pmu_chip(s)->mem_pwr / 4] & info->pwr))) {
            bits |= info->mem;
        }
    }
    return bits;
}

static uint32_t pmu_all_mem_bits(RkPmuState *s)
{
    uint32_t bits = 0;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        bits |= pmu_chip(s)->domain[d].mem;
    }
    return bits;
}

static uint32_t pmu_off_bits(RkPmuState *s)
{
    uint32_t bits = 0;
    unsigned d;

    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        bits |= s->on[d] ? 0 : pmu_chip(s)->domain[d].status;
    }
    return bits;
}

static uint32_t pmu_read_reg(RkPmuState *s, hwaddr addr)
{
    const PmuChip *chip = pmu_chip(s);
    uint32_t all = pmu_all_mem_bits(s);

    if (addr == chip->bus_idle_ack || addr == chip->bus_idle_status) {
        return s->regs[chip->bus_idle_req / 4];
    }
    if (addr == chip->pwr_status) {
        return pmu_off_bits(s);
    }
    if (addr && (addr == chip->chain_status || addr == chip->repair_status)) {
        return ~all | pmu_mem_bits(s, false);
    }
    if (addr && addr == chip->mem_status) {
        return all & ~pmu_mem_bits(s, true);
    }
    return s->regs[addr / 4];
}

static uint64_t pmu_read(void *opaque, hwaddr addr, unsigned size)
{
    RkPmuState *s = opaque;
    uint32_t val = pmu_read_reg(s, addr);

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, val, false);
    return val;
}

static void pmu_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    RkPmuState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4];

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_PMU, NPU_CORE_NONE,
                  s->iomem.addr + addr, data, true);
    *reg = (*reg & ~mask) | (data & mask);
    pmu_request_power(s, addr, mask, data);
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

/* Firmware leaves the NPU off, bus idle requested, as on the RK3588. */
static void pmu_reset_enter(Object *obj, ResetType type)
{
    RkPmuState *s = RK_PMU(obj);
    unsigned d;

    memset(s->regs, 0, sizeof(s->regs));
    memset(s->on, 0, sizeof(s->on));
    memset(s->stuck, 0, sizeof(s->stuck));
    for (d = 0; d < pmu_chip(s)->num_domains; d++) {
        const PmuDomainInfo *info = &pmu_chip(s)->domain[d];

        s->regs[info->pwr_req / 4] |= info->pwr;
        s->regs[pmu_chip(s)->bus_idle_req / 4] |= info->idle;
        pmu_drop_qos(s, d);
    }
}

static void pmu_reset_exit(Object *obj, ResetType type)
{
    RkPmuState *s = RK_PMU(obj);
    unsigned core;

    for (core = 0; core < pmu_chip(s)->num_cores; core++) {
        npu_ctl_set(s->ctl, core, NPU_CNT_POWERED, 0);
        qemu_set_irq(s->power[core], 0);
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
                              RK3576_QOS_SIZE);
        sysbus_init_mmio(sbd, &q->iomem);
    }
    qdev_init_gpio_out_named(DEVICE(obj), s->power, "power", chip->num_cores);
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
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, RkPmuState, NUM_REGS),
        VMSTATE_BOOL_ARRAY(on, RkPmuState, MAX_DOMAINS),
        VMSTATE_BOOL_ARRAY(stuck, RkPmuState, MAX_DOMAINS),
        VMSTATE_STRUCT_ARRAY(qos, RkPmuState, RK3576_QOS_NUM, 1,
                             vmstate_pmu_qos, PmuQos),
        VMSTATE_END_OF_LIST()
    }
};

static const Property pmu_properties[] = {
    DEFINE_PROP_LINK("ctl", RkPmuState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
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
    },
};

DEFINE_TYPES(pmu_info)
