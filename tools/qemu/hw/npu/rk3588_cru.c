/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RK3588 clock and reset unit: every register is storage with a write mask in
 * its upper half; only the NPU's gates and resets, the PLL lock bits and the
 * global reset have an effect.
 *
 * Register positions are from Linux's clk-rk3588 and rst-rk3588 tables, their
 * meaning from the TRM.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/registerfields.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "hw/npu/rk3588_cru.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "trace.h"

#define NUM_REGS        (RK3588_CRU_SIZE / 4)

#define MODE_CON0       0x280
#define CLKSEL_CON(n)   (0x300 + 4 * (n))
#define CLKGATE_CON(n)  (0x800 + 4 * (n))
#define SOFTRST_CON(n)  (0xa00 + 4 * (n))
#define GLB_CNT_TH      0xc00
#define GLB_SRST_FST    0xc08
#define GLB_SRST_SND    0xc0c
#define GLB_SRST_FST_MAGIC      0xfdb9
#define GLB_SRST_SND_MAGIC      0xeca8

FIELD(PLL_CON1, S, 6, 3)
FIELD(PLL_CON1, POWER_DOWN, 13, 1)
FIELD(PLL_CON6, LOCK, 15, 1)
#define PLL_CON6        0x18

typedef struct CruPll {
    uint32_t base;      /* offset of the PLL's CON0 */
    uint16_t m, p, s, k;
} CruPll;

/*
 * Rates a boot loader leaves behind (24 MHz * (m + k / 65536) / p / 2^s):
 * the DT's assigned rates where it has some, else common ones (row
 * soc.domains).  They are only visible in the guest's clock tree.
 */
static const CruPll cru_plls[] = {
    { 0x50000, 272, 2, 2, 0 },          /* B0PLL 816 MHz */
    { 0x52020, 272, 2, 2, 0 },          /* B1PLL 816 MHz */
    { 0x58040, 272, 2, 2, 0 },          /* LPLL 816 MHz */
    { 0x00160, 198, 2, 1, 0 },          /* V0PLL 1188 MHz */
    { 0x00180, 262, 2, 2, 9437 },       /* AUPLL 786.432 MHz */
    { 0x001a0, 250, 2, 1, 0 },          /* CPLL 1500 MHz */
    { 0x001c0, 198, 2, 1, 0 },          /* GPLL 1188 MHz */
    { 0x001e0, 425, 3, 2, 0 },          /* NPLL 850 MHz */
    { 0x08200, 550, 3, 2, 0 },          /* PPLL 1100 MHz */
};

typedef struct CruInit {
    uint32_t offset;
    uint16_t value;
} CruInit;

/* Muxes on PLL output and rates of clk_*m_src dividers (row soc.domains) */
static const CruInit cru_init[] = {
    { MODE_CON0, 0x0555 },
    { 0x50280, 1 }, { 0x52280, 1 }, { 0x58280, 1 },
    { CLKSEL_CON(0), 1 << 11 | 14 << 6 | 1 << 5 | 29 }, /* 100, 50 MHz */
    { CLKSEL_CON(1), 0 << 11 | 5 << 6 | 1 << 5 | 9 },   /* 198, 150 MHz */
    { CLKSEL_CON(2), 1 << 11 | 4 << 6 | 1 << 5 | 5 },   /* 300, 250 MHz */
    { CLKSEL_CON(3), 0 << 11 | 2 << 6 | 1 << 5 | 1 },   /* 396, 351 MHz */
    { CLKSEL_CON(4), 1 << 11 | 2 << 6 | 0 << 5 | 1 },   /* 500, 475 MHz */
    { CLKSEL_CON(5), 0 << 11 | 1 << 6 | 0 << 5 | 1 },   /* 594, 594 MHz */
    { CLKSEL_CON(73), 0 << 7 | 1 << 2 },                /* dsu0 594 MHz */
};

/* Registers and bits that drive one core. */
typedef struct CruCore {
    unsigned con;
    unsigned aclk_bit;  /* the reset bits have the same numbers */
    unsigned hclk_bit;
} CruCore;

static const CruCore cru_cores[NPU_MAX_CORES] = {
    { 30, 6, 8 },
    { 27, 0, 2 },
    { 28, 0, 2 },
};

#define ROOT_CON        29
#define HCLK_ROOT_BIT   0       /* hclk_npu_root */
#define DSU0_BIT        1       /* clk_npu_dsu0, parent of every aclk_npuN */

struct Rk3588CruState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    MemoryRegion resets;
    Rk3588NpuCtlState *ctl;
    uint32_t regs[NUM_REGS];
    bool in_reset[NPU_MAX_CORES];       /* as last reported */

    qemu_irq aclk[NPU_MAX_CORES];
    qemu_irq hclk[NPU_MAX_CORES];
    qemu_irq srst_a[NPU_MAX_CORES];
    qemu_irq srst_h[NPU_MAX_CORES];
};

static bool cru_bit(Rk3588CruState *s, uint32_t offset, unsigned bit)
{
    return s->regs[offset / 4] & (1u << bit);
}

static void cru_update_core(Rk3588CruState *s, unsigned core)
{
    const CruCore *c = &cru_cores[core];
    bool aclk = !cru_bit(s, CLKGATE_CON(c->con), c->aclk_bit) &&
                !cru_bit(s, CLKGATE_CON(ROOT_CON), DSU0_BIT);
    bool hclk = !cru_bit(s, CLKGATE_CON(c->con), c->hclk_bit) &&
                !cru_bit(s, CLKGATE_CON(ROOT_CON), HCLK_ROOT_BIT);
    bool srst_a = cru_bit(s, SOFTRST_CON(c->con), c->aclk_bit);
    bool srst_h = cru_bit(s, SOFTRST_CON(c->con), c->hclk_bit);

    trace_rk3588_cru_core(core, aclk, hclk, srst_a, srst_h);
    if ((srst_a || srst_h) && !s->in_reset[core]) {
        npu_ctl_count(s->ctl, core, NPU_CNT_RESET, 1);
    }
    s->in_reset[core] = srst_a || srst_h;
    npu_ctl_set(s->ctl, core, NPU_CNT_CLOCKED, aclk && hclk);
    qemu_set_irq(s->srst_a[core], srst_a);
    qemu_set_irq(s->srst_h[core], srst_h);
    qemu_set_irq(s->aclk[core], aclk);
    qemu_set_irq(s->hclk[core], hclk);
}

static void cru_update(Rk3588CruState *s)
{
    unsigned core;

    for (core = 0; core < NPU_MAX_CORES; core++) {
        cru_update_core(s, core);
    }
}

/* A test keeps gates from opening: what of @val to add to keep them shut. */
static uint32_t cru_stuck_gates(Rk3588CruState *s, hwaddr addr, uint32_t mask,
                                uint32_t val)
{
    uint32_t opening = mask & ~val & s->regs[addr / 4], stuck = 0;
    unsigned core;

    for (core = 0; core < NPU_MAX_CORES; core++) {
        const CruCore *c = &cru_cores[core];
        uint32_t bits = opening & (1u << c->aclk_bit | 1u << c->hclk_bit);

        if (addr == CLKGATE_CON(c->con) && bits &&
            npu_ctl_fault(s->ctl, core, NPU_FAULT_CLK_STUCK, NULL)) {
            stuck |= bits;
        }
    }
    return stuck;
}

static bool cru_drives_npu(hwaddr addr)
{
    return (addr >= CLKGATE_CON(27) && addr <= CLKGATE_CON(30)) ||
           (addr >= SOFTRST_CON(27) && addr <= SOFTRST_CON(30));
}

static bool cru_concerns_npu(hwaddr addr)
{
    return cru_drives_npu(addr) || addr == CLKSEL_CON(73) ||
           addr == CLKSEL_CON(74);
}

static void cru_note(Rk3588CruState *s, hwaddr addr, uint32_t val, bool write)
{
    if (cru_concerns_npu(addr)) {
        npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE,
                      s->iomem.addr + addr, val, write);
    }
}

/* A PLL locks as soon as it is powered. */
static uint32_t cru_pll_status(Rk3588CruState *s, const CruPll *pll)
{
    uint32_t con1 = s->regs[pll->base / 4 + 1];
    bool up = !FIELD_EX32(con1, PLL_CON1, POWER_DOWN);

    return FIELD_DP32(s->regs[(pll->base + PLL_CON6) / 4], PLL_CON6, LOCK, up);
}

static uint64_t cru_read(void *opaque, hwaddr addr, unsigned size)
{
    Rk3588CruState *s = opaque;
    uint32_t val = s->regs[addr / 4];
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(cru_plls); i++) {
        if (addr == cru_plls[i].base + PLL_CON6) {
            val = cru_pll_status(s, &cru_plls[i]);
        }
    }
    trace_rk3588_cru_read(addr, val);
    cru_note(s, addr, val, false);
    return val;
}

static void cru_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    Rk3588CruState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4];

    trace_rk3588_cru_write(addr, data);
    cru_note(s, addr, data, true);
    switch (addr) {
    case GLB_CNT_TH:
        *reg = data;
        return;
    case GLB_SRST_FST:
    case GLB_SRST_SND:
        if (data == (addr == GLB_SRST_FST ? GLB_SRST_FST_MAGIC :
                                            GLB_SRST_SND_MAGIC)) {
            qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
        }
        return;
    }
    *reg = (*reg & ~mask) | (data & mask) |
           cru_stuck_gates(s, addr, mask, data);
    if (cru_drives_npu(addr)) {
        cru_update(s);
    }
}

static const MemoryRegionOps cru_ops = {
    .read = cru_read,
    .write = cru_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* The same resets, without what only a driver of the CRU knows. */
static uint32_t cru_resets(Rk3588CruState *s)
{
    uint32_t val = 0;
    unsigned core;

    for (core = 0; core < NPU_MAX_CORES; core++) {
        const CruCore *c = &cru_cores[core];
        uint32_t offset = SOFTRST_CON(c->con);

        val = deposit32(val, 2 * core, 1, cru_bit(s, offset, c->aclk_bit));
        val = deposit32(val, 2 * core + 1, 1, cru_bit(s, offset, c->hclk_bit));
    }
    return val;
}

static uint64_t cru_resets_read(void *opaque, hwaddr addr, unsigned size)
{
    Rk3588CruState *s = opaque;
    uint32_t val = cru_resets(s);

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE, s->resets.addr, val,
                  false);
    return val;
}

static void cru_resets_write(void *opaque, hwaddr addr, uint64_t data,
                             unsigned size)
{
    Rk3588CruState *s = opaque;
    unsigned core;

    npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE, s->resets.addr, data,
                  true);
    for (core = 0; core < NPU_MAX_CORES; core++) {
        const CruCore *c = &cru_cores[core];
        uint32_t *reg = &s->regs[SOFTRST_CON(c->con) / 4];

        *reg = deposit32(*reg, c->aclk_bit, 1, extract32(data, 2 * core, 1));
        *reg = deposit32(*reg, c->hclk_bit, 1,
                         extract32(data, 2 * core + 1, 1));
    }
    cru_update(s);
}

static const MemoryRegionOps cru_resets_ops = {
    .read = cru_resets_read,
    .write = cru_resets_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static void cru_reset_pll(Rk3588CruState *s, const CruPll *pll)
{
    uint32_t *con = &s->regs[pll->base / 4];

    con[0] = pll->m;
    con[1] = FIELD_DP32(pll->p, PLL_CON1, S, pll->s);
    con[2] = pll->k;
}

static void cru_reset_enter(Object *obj, ResetType type)
{
    Rk3588CruState *s = RK3588_CRU(obj);
    unsigned i;

    memset(s->regs, 0, RK3588_CRU_SIZE);
    memset(s->in_reset, 0, sizeof(s->in_reset));
    for (i = 0; i < ARRAY_SIZE(cru_plls); i++) {
        cru_reset_pll(s, &cru_plls[i]);
    }
    for (i = 0; i < ARRAY_SIZE(cru_init); i++) {
        s->regs[cru_init[i].offset / 4] = cru_init[i].value;
    }
}

static void cru_reset_exit(Object *obj, ResetType type)
{
    cru_update(RK3588_CRU(obj));
}

static void cru_init_instance(Object *obj)
{
    DeviceState *dev = DEVICE(obj);
    Rk3588CruState *s = RK3588_CRU(obj);

    memory_region_init_io(&s->iomem, obj, &cru_ops, s, TYPE_RK3588_CRU,
                          RK3588_CRU_SIZE);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->iomem);
    memory_region_init_io(&s->resets, obj, &cru_resets_ops, s, "rk3588-resets",
                          RK3588_CRU_RESETS_SIZE);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->resets);
    qdev_init_gpio_out_named(dev, s->aclk, "aclk", NPU_MAX_CORES);
    qdev_init_gpio_out_named(dev, s->hclk, "hclk", NPU_MAX_CORES);
    qdev_init_gpio_out_named(dev, s->srst_a, "srst-a", NPU_MAX_CORES);
    qdev_init_gpio_out_named(dev, s->srst_h, "srst-h", NPU_MAX_CORES);
}

/* The lines are not driven again on load: their receivers keep their level. */
static const VMStateDescription vmstate_cru = {
    .name = TYPE_RK3588_CRU,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL_ARRAY(in_reset, Rk3588CruState, NPU_MAX_CORES),
        VMSTATE_UINT32_ARRAY(regs, Rk3588CruState, NUM_REGS),
        VMSTATE_END_OF_LIST()
    }
};

static const Property cru_properties[] = {
    DEFINE_PROP_LINK("ctl", Rk3588CruState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
};

static void cru_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "RK3588 clock and reset unit";
    dc->vmsd = &vmstate_cru;
    dc->user_creatable = false;
    device_class_set_props(dc, cru_properties);
    rc->phases.enter = cru_reset_enter;
    rc->phases.exit = cru_reset_exit;
}

static const TypeInfo cru_info = {
    .name = TYPE_RK3588_CRU,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3588CruState),
    .instance_init = cru_init_instance,
    .class_init = cru_class_init,
};

static void cru_register_types(void)
{
    type_register_static(&cru_info);
}
type_init(cru_register_types)
