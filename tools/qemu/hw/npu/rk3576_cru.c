/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RK3576 clock and reset unit: every register is storage with a write mask in
 * its upper half; only the NPU's gates and resets, the PLL lock bits and the
 * global reset have an effect.
 *
 * Register positions are from Linux's clk-rk3576 and rst-rk3576 tables.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "hw/sysbus.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "hw/npu/rk3576_cru.h"
#include "hw/npu/rk3588_npu_stats.h"

#define NUM_REGS        (RK3576_CRU_SIZE / 4)

#define MODE_CON0       0x280
#define CLKSEL_CON(n)   (0x300 + 4 * (n))
#define CLKGATE_CON(n)  (0x800 + 4 * (n))
#define SOFTRST_CON(n)  (0xa00 + 4 * (n))
#define GLB_SRST_FST    0xc08
#define GLB_SRST_FST_MAGIC      0xfdb9

#define PLL_CON1_POWER_DOWN     (1u << 13)
#define PLL_CON6                0x18
#define PLL_CON6_LOCK           (1u << 15)

typedef struct CruPll {
    uint32_t base;      /* offset of the PLL's CON0 */
    uint16_t m, p, s, k;
} CruPll;

/* As a boot loader may leave them; only visible in the guest's clock tree. */
static const CruPll cru_plls[] = {
    { 0x00000, 272, 2, 2, 0 },          /* BPLL 816 MHz */
    { 0x48040, 272, 2, 2, 0 },          /* LPLL 816 MHz */
    { 0x00160, 198, 2, 1, 0 },          /* VPLL 1188 MHz */
    { 0x00180, 262, 2, 2, 9437 },       /* AUPLL 786.432 MHz */
    { 0x001a0, 250, 3, 1, 0 },          /* CPLL 1000 MHz */
    { 0x001c0, 198, 2, 1, 0 },          /* GPLL 1188 MHz */
    { 0x08200, 325, 3, 1, 0 },          /* PPLL 1300 MHz */
};

static const struct {
    uint32_t offset;
    uint16_t value;
} cru_init[] = {
    { MODE_CON0, 0x0554 },              /* the PLLs' outputs */
    { 0x38280, 1 }, { 0x40280, 1 },
    { CLKSEL_CON(86), 0 << 7 | 1 << 2 }, /* clk_rknn_dsu0 594 MHz */
};

/* A gate, or with SOFTRST_CON a reset. */
typedef struct CruBit {
    unsigned con, bit;
} CruBit;

/* ACLK_RKNN0 and 1, and SRST_A_RKNN0 and 1 */
static const CruBit cru_cores[RK3576_NPU_CORES] = { { 28, 9 }, { 29, 0 } };
static const CruBit cru_hclk_root = { 31, 4 };
static const CruBit cru_dsu0 = { 31, 5 };
static const CruBit cru_aclk_cbuf = { 32, 0 };
static const CruBit cru_hclk_cbuf = { 32, 12 };

struct Rk3576CruState {
    SysBusDevice parent_obj;

    MemoryRegion iomem;
    Rk3588NpuCtlState *ctl;
    uint32_t regs[NUM_REGS];
    bool in_reset[RK3576_NPU_CORES];    /* as last reported */

    qemu_irq aclk[RK3576_NPU_CORES];
    qemu_irq hclk[RK3576_NPU_CORES];
    qemu_irq srst_a[RK3576_NPU_CORES];
};

static bool cru_runs(const Rk3576CruState *s, CruBit gate)
{
    return !(s->regs[CLKGATE_CON(gate.con) / 4] & (1u << gate.bit));
}

/*
 * On silicon a core without the clocks of its CBUF answers, but computes
 * nothing.  Here it does not answer either: drivers that forget them show.
 */
static void cru_update_core(Rk3576CruState *s, unsigned core)
{
    CruBit own = cru_cores[core];
    bool aclk = cru_runs(s, own) && cru_runs(s, cru_dsu0) &&
                cru_runs(s, cru_aclk_cbuf);
    bool hclk = cru_runs(s, cru_hclk_root) && cru_runs(s, cru_hclk_cbuf);
    bool reset = s->regs[SOFTRST_CON(own.con) / 4] & (1u << own.bit);

    if (reset && !s->in_reset[core]) {
        npu_ctl_count(s->ctl, core, NPU_CNT_RESET, 1);
    }
    s->in_reset[core] = reset;
    npu_ctl_set(s->ctl, core, NPU_CNT_CLOCKED, aclk && hclk);
    qemu_set_irq(s->srst_a[core], reset);
    qemu_set_irq(s->aclk[core], aclk);
    qemu_set_irq(s->hclk[core], hclk);
}

static void cru_update(Rk3576CruState *s)
{
    unsigned core;

    for (core = 0; core < RK3576_NPU_CORES; core++) {
        cru_update_core(s, core);
    }
}

static bool cru_drives_npu(hwaddr addr)
{
    return (addr >= CLKGATE_CON(28) && addr <= CLKGATE_CON(32)) ||
           (addr >= SOFTRST_CON(28) && addr <= SOFTRST_CON(29));
}

static void cru_note(Rk3576CruState *s, hwaddr addr, uint32_t val, bool write)
{
    if (cru_drives_npu(addr)) {
        npu_ctl_trace(s->ctl, NPU_CTL_UNIT_CRU, NPU_CORE_NONE,
                      s->iomem.addr + addr, val, write);
    }
}

static uint64_t cru_read(void *opaque, hwaddr addr, unsigned size)
{
    Rk3576CruState *s = opaque;
    uint32_t val = s->regs[addr / 4];
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(cru_plls); i++) {
        /* A PLL locks as soon as it is powered. */
        if (addr == cru_plls[i].base + PLL_CON6 &&
            !(s->regs[cru_plls[i].base / 4 + 1] & PLL_CON1_POWER_DOWN)) {
            val |= PLL_CON6_LOCK;
        }
    }
    cru_note(s, addr, val, false);
    return val;
}

static void cru_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
    Rk3576CruState *s = opaque;
    uint32_t mask = data >> 16 & 0xffff;
    uint32_t *reg = &s->regs[addr / 4];

    cru_note(s, addr, data, true);
    if (addr == GLB_SRST_FST) {
        if (data == GLB_SRST_FST_MAGIC) {
            qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
        }
        return;
    }
    *reg = (*reg & ~mask) | (data & mask);
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

static void cru_reset_enter(Object *obj, ResetType type)
{
    Rk3576CruState *s = RK3576_CRU(obj);
    unsigned i;

    memset(s->regs, 0, RK3576_CRU_SIZE);
    memset(s->in_reset, 0, sizeof(s->in_reset));
    for (i = 0; i < ARRAY_SIZE(cru_plls); i++) {
        uint32_t *con = &s->regs[cru_plls[i].base / 4];

        con[0] = cru_plls[i].m;
        con[1] = cru_plls[i].p | cru_plls[i].s << 6;
        con[2] = cru_plls[i].k;
    }
    for (i = 0; i < ARRAY_SIZE(cru_init); i++) {
        s->regs[cru_init[i].offset / 4] = cru_init[i].value;
    }
}

static void cru_reset_exit(Object *obj, ResetType type)
{
    cru_update(RK3576_CRU(obj));
}

static void cru_init_instance(Object *obj)
{
    DeviceState *dev = DEVICE(obj);
    Rk3576CruState *s = RK3576_CRU(obj);

    memory_region_init_io(&s->iomem, obj, &cru_ops, s, TYPE_RK3576_CRU,
                          RK3576_CRU_SIZE);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->iomem);
    qdev_init_gpio_out_named(dev, s->aclk, "aclk", RK3576_NPU_CORES);
    qdev_init_gpio_out_named(dev, s->hclk, "hclk", RK3576_NPU_CORES);
    qdev_init_gpio_out_named(dev, s->srst_a, "srst-a", RK3576_NPU_CORES);
}

/* The lines are not driven again on load: their receivers keep their level. */
static const VMStateDescription vmstate_cru = {
    .name = TYPE_RK3576_CRU,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL_ARRAY(in_reset, Rk3576CruState, RK3576_NPU_CORES),
        VMSTATE_UINT32_ARRAY(regs, Rk3576CruState, NUM_REGS),
        VMSTATE_END_OF_LIST()
    }
};

static const Property cru_properties[] = {
    DEFINE_PROP_LINK("ctl", Rk3576CruState, ctl, TYPE_RK3588_NPU_CTL,
                     Rk3588NpuCtlState *),
};

static void cru_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "RK3576 clock and reset unit";
    dc->vmsd = &vmstate_cru;
    dc->user_creatable = false;
    device_class_set_props(dc, cru_properties);
    rc->phases.enter = cru_reset_enter;
    rc->phases.exit = cru_reset_exit;
}

static const TypeInfo cru_info = {
    .name = TYPE_RK3576_CRU,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(Rk3576CruState),
    .instance_init = cru_init_instance,
    .class_init = cru_class_init,
};

static void cru_register_types(void)
{
    type_register_static(&cru_info);
}
type_init(cru_register_types)
