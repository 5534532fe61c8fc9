/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine "rk3588-npu": the virt board plus the NPU subsystem of an RK3588, or
 * with soc=rk3562, rk3568, rk3576 or rv1126b that of such a chip, at its real
 * addresses and interrupts.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-common.h"
#include "system/device_tree.h"
#include "system/tcg.h"
#include "exec/address-spaces.h"
#include "hw/arm/virt.h"
#include "hw/boards.h"
#include "hw/core/split-irq.h"
#include "hw/misc/unimp.h"
#include "hw/npu/rk_cru.h"
#include "hw/npu/rk3588_npu.h"
#include "hw/npu/rk3588_poc.h"
#include "hw/npu/rk3588_scmi.h"
#include "hw/npu/rk3588_tsadc.h"
#include "hw/npu/rk_chaos.h"
#include "hw/npu/rk_delay.h"
#include "hw/or-irq.h"
#include "hw/qdev-properties.h"
#include "hw/sysbus.h"
#include "target/arm/cpu.h"
#include "target/arm/kvm-consts.h"
#include "rk3588_npu_fdt.h"
#include <libfdt.h>

#define TYPE_RK3588_NPU_MACHINE MACHINE_TYPE_NAME("rk3588-npu")
OBJECT_DECLARE_SIMPLE_TYPE(Rk3588NpuMachineState, RK3588_NPU_MACHINE)

/* SMC Calling Convention (Arm DEN 0028) */
#define SMCCC_VERSION           0x80000000
#define SMCCC_VERSION_1_1       0x10001

/*
 * The NPU sits at 0xfdxxxxxx, and virt's RAM starts at 1 GiB.  What has no room
 * below the NPU is above 4 GiB, as on the SoC, of which boards have up to
 * 32 GiB.
 */
#define LOW_RAM_SIZE            (2 * GiB)
#define HIGH_RAM_BASE           (4 * GiB)
#define MAX_RAM_SIZE            (32 * GiB)

typedef struct NpuDtShape {
    const char *name;
    bool there;
    bool vendor;
    bool simple;
} NpuDtShape;

static const NpuDtShape npu_dt_shapes[] = {
    { "mainline", true, false, false },
    { "vendor", true, true, false },
    { "simple", true, false, true },
    { "vendor-simple", true, true, true },
    { "none", false, false, false },
};

typedef void NpuFdtAdd(void *fdt, const Rk3588NpuFdtConfig *config);

/* What differs between the chips. */
typedef struct NpuSoc {
    const char *name;
    const char *compatible;
    unsigned num_cores;
    const Rk3588NpuCoreInfo *cores;
    hwaddr core_size;
    hwaddr bank_size;
    const char *cru;
    hwaddr cru_base;
    const char *pmu;
    hwaddr pmu_base;
    unsigned num_qos;
    const hwaddr *qos;
    /* Looked at by clock and reset drivers; nothing depends on them. */
    hwaddr grf[2];
    uint32_t hz;
    bool rk3588;        /* tsadc */
    bool srst_h;
    uint32_t scmi_clk;  /* number of its clock, 0: no such firmware */
    void (*set_core)(DeviceState *core);    /* NULL: as by default */
    NpuFdtAdd *mainline, *vendor;           /* NULL: there is none */
} NpuSoc;

/*
 * Rows pc.task-con-16, pc.task-status-halves, pc.done-bits, soc.rk3576,
 * soc.rk3576-encoding.
 */
static void npu_set_rk3576(DeviceState *core)
{
    qdev_prop_set_uint32(core, "version-num", 0x00010002);
    qdev_prop_set_uint32(core, "task-bits", 16);
    qdev_prop_set_uint32(core, "task-status", 0x48);
    qdev_prop_set_bit(core, "pc-done-bits", true);
    qdev_prop_set_bit(core, "raw-high-bits", false);
    qdev_prop_set_uint32(core, "encoding", 1);  /* NPU_ENCODING_RK3576 */
}

/* Rows soc.rk3562, pc.task-con-16, pc.task-status-halves, pc.raw-high. */
static void npu_set_rk3562(DeviceState *core)
{
    qdev_prop_set_uint32(core, "version", 0x54524545);
    qdev_prop_set_uint32(core, "version-num", 4);
    qdev_prop_set_uint32(core, "task-bits", 16);
    qdev_prop_set_uint32(core, "task-status", 0x48);
    qdev_prop_set_bit(core, "raw-high-bits", false);
    qdev_prop_set_uint32(core, "encoding", 3);  /* NPU_ENCODING_RK3562 */
}

/*
 * Rows soc.rk3568, pc.amounts-words, pc.fetch-error, pc.silent-ppu,
 * pc.raw-high.
 */
static void npu_set_rk3568(DeviceState *core)
{
    qdev_prop_set_uint32(core, "version", 0);
    qdev_prop_set_uint32(core, "commands-per-amount", 1);
    qdev_prop_set_bit(core, "fetch-error-bit", true);
    qdev_prop_set_bit(core, "no-dma-base", true);
    qdev_prop_set_bit(core, "silent-ppu", true);
    qdev_prop_set_bit(core, "raw-high-bits", false);
    qdev_prop_set_uint32(core, "encoding", 2);  /* NPU_ENCODING_RK3568 */
}

/*
 * Rows soc.rv1126b, soc.rv1126b-encoding, pc.task-con-16,
 * pc.task-status-halves, pc.raw-high.
 */
static void npu_set_rv1126b(DeviceState *core)
{
    qdev_prop_set_uint32(core, "version", 0);
    qdev_prop_set_uint32(core, "version-num", 0);
    qdev_prop_set_uint32(core, "task-bits", 16);
    qdev_prop_set_uint32(core, "task-status", 0x48);
    qdev_prop_set_bit(core, "raw-high-bits", false);
    qdev_prop_set_uint32(core, "encoding", 4);  /* NPU_ENCODING_RV1126B */
}

static const NpuSoc npu_socs[] = {
    {
        "rk3588", "rockchip,rk3588", NPU_MAX_CORES, rk3588_npu_cores,
        RK3588_NPU_CORE_SIZE, RK_IOMMU_BANK_SIZE,
        TYPE_RK3588_CRU, RK3588_CRU_BASE, TYPE_RK3588_PMU, RK3588_PMU_BASE,
        RK3588_QOS_NUM, rk3588_npu_qos,
        { RK3588_SYS_GRF_BASE, RK3588_PHP_GRF_BASE }, RK3588_NPU_CLOCK_HZ,
        true, true, RK3588_SCMI_CLK_NPU, NULL,
        rk3588_npu_fdt_mainline, rk3588_npu_fdt_vendor,
    }, {
        "rk3562", "rockchip,rk3562", RK3562_NPU_CORES, rk3562_npu_cores,
        RK3588_NPU_CORE_SIZE, 0x100,
        TYPE_RK3562_CRU, RK3562_CRU_BASE, TYPE_RK3562_PMU, RK3562_PMU_BASE,
        RK3562_QOS_NUM, rk3562_npu_qos,
        { RK3562_PMU_GRF_BASE, RK3562_SYS_GRF_BASE }, RK3562_NPU_CLOCK_HZ,
        false, true, RK3562_SCMI_CLK_NPU, npu_set_rk3562,
        NULL, rk3562_npu_fdt_vendor,
    }, {
        "rk3568", "rockchip,rk3568", RK3568_NPU_CORES, rk3568_npu_cores,
        RK3588_NPU_CORE_SIZE, 0x100,
        TYPE_RK3568_CRU, RK3568_CRU_BASE, TYPE_RK3568_PMU, RK3568_PMU_BASE,
        0, NULL,
        { RK3568_PMU_GRF_BASE, RK3568_GRF_BASE }, RK3568_NPU_CLOCK_HZ,
        false, true, RK3568_SCMI_CLK_NPU, npu_set_rk3568,
        NULL, rk3568_npu_fdt_vendor,
    }, {
        "rk3576", "rockchip,rk3576", RK3576_NPU_CORES, rk3576_npu_cores,
        RK3576_NPU_CORE_SIZE, 0x100,
        TYPE_RK3576_CRU, RK3576_CRU_BASE, TYPE_RK3576_PMU, RK3576_PMU_BASE,
        RK3576_QOS_NUM, rk3576_npu_qos,
        { RK3576_PMU0_GRF_BASE, RK3576_IOC_GRF_BASE }, RK3576_NPU_CLOCK_HZ,
        false, false, 0, npu_set_rk3576,
        rk3576_npu_fdt_mainline, rk3576_npu_fdt_vendor,
    }, {
        "rv1126b", "rockchip,rv1126b", RV1126B_NPU_CORES, rv1126b_npu_cores,
        RV1126B_NPU_CORE_SIZE, 0x100,
        TYPE_RV1126B_CRU, RV1126B_CRU_BASE, TYPE_RV1126B_PMU, RV1126B_PMU_BASE,
        RV1126B_QOS_NUM, rv1126b_npu_qos,
        { RV1126B_GRF_BASE, RV1126B_IOC_GRF_BASE }, RV1126B_NPU_CLOCK_HZ,
        false, true, 0, npu_set_rv1126b,
        NULL, rv1126b_npu_fdt_vendor,
    },
};

struct Rk3588NpuMachineState {
    VirtMachineState parent_obj;

    char *npu_dt;
    const NpuDtShape *dt_shape;
    char *soc_name;
    const NpuSoc *soc;
    bool use_scmi;
    uint32_t iommu_version;
    bool rockchip;
    bool one_irq;
    OnOffAuto coherent;
    uint32_t evict;
    bool ivac_cleans;
    bool switched_supply;
    uint32_t seed;
    uint32_t assigned_hz;
    uint32_t num_cores;
    uint32_t latency_ns;
    MemoryRegion low_ram;
    MemoryRegion high_ram;
    DeviceState *delay;
    DeviceState *chaos;
    DeviceState *ctl;
    DeviceState *cru;
    DeviceState *pmu;
    DeviceState *scmi;
    DeviceState *poc;       /* NULL: the NPU snoops the CPUs' caches */
    DeviceState *irq;       /* the last one made */
};

static void (*virt_init)(MachineState *machine);

static const NpuDtShape *npu_find_dt_shape(const char *name)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(npu_dt_shapes); i++) {
        if (!strcmp(name, npu_dt_shapes[i].name)) {
            return &npu_dt_shapes[i];
        }
    }
    error_report("npu-dt must be mainline, vendor, simple, vendor-simple or "
                 "none");
    exit(EXIT_FAILURE);
}

static const NpuSoc *npu_find_soc(const char *name)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(npu_socs); i++) {
        if (!strcmp(name, npu_socs[i].name)) {
            return &npu_socs[i];
        }
    }
    error_report("soc must be rk3588, rk3562, rk3568, rk3576 or rv1126b");
    exit(EXIT_FAILURE);
}

/* Options that only the RK3588's nodes follow. */
static void npu_check_soc(Rk3588NpuMachineState *s)
{
    s->soc = npu_find_soc(s->soc_name);
    s->num_cores = s->num_cores ?: s->soc->num_cores;
    s->assigned_hz = s->assigned_hz ?: s->soc->hz;
    if (!s->soc->rk3588 && (s->rockchip || s->one_irq ||
                            s->num_cores != s->soc->num_cores)) {
        error_report("soc=%s has all cores and interrupts, and mainline's "
                     "numbers", s->soc->name);
        exit(EXIT_FAILURE);
    }
    if (s->iommu_version == 1 && s->soc->set_core &&
        s->soc->set_core != npu_set_rk3568) {
        error_report("soc=%s has npu-iommu 0 or 2", s->soc->name);
        exit(EXIT_FAILURE);
    }
    if (s->dt_shape->there && !s->dt_shape->vendor && !s->soc->mainline) {
        error_report("soc=%s has npu-dt vendor, vendor-simple or none",
                     s->soc->name);
        exit(EXIT_FAILURE);
    }
}

static void npu_check_machine(MachineState *machine)
{
    Rk3588NpuMachineState *s = RK3588_NPU_MACHINE(machine);

    if (machine->ram_size > MAX_RAM_SIZE) {
        error_report("rk3588-npu has at most 32 GiB of RAM");
        exit(EXIT_FAILURE);
    }
    if (s->iommu_version > 2) {
        error_report("npu-iommu must be 0 (not in the device tree), 1 or 2");
        exit(EXIT_FAILURE);
    }
    s->dt_shape = npu_find_dt_shape(s->npu_dt);
    npu_check_soc(s);
    if (s->num_cores < 1 || s->num_cores > s->soc->num_cores) {
        error_report("npu-cores must be 1..%u", s->soc->num_cores);
        exit(EXIT_FAILURE);
    }
    if (s->one_irq && !g_str_has_prefix(s->npu_dt, "vendor")) {
        error_report("npu-one-irq needs npu-dt=vendor");
        exit(EXIT_FAILURE);
    }
    /* Only TCG asks where uncached accesses go and what is cleaned. */
    if (s->coherent == ON_OFF_AUTO_AUTO) {
        s->coherent = tcg_enabled() ? ON_OFF_AUTO_OFF : ON_OFF_AUTO_ON;
    }
    if (s->evict && s->coherent == ON_OFF_AUTO_ON) {
        error_report("npu-evict needs npu-coherent=off");
        exit(EXIT_FAILURE);
    }
}

/* With GICv2 virt uses the NPU's interrupts for MSIs. */
static void npu_check_gic(Rk3588NpuMachineState *s)
{
    if (VIRT_MACHINE(s)->gic_version == VIRT_GIC_VERSION_2) {
        error_report("rk3588-npu needs gic-version=3");
        exit(EXIT_FAILURE);
    }
}

/*
 * The guest's power domain driver tells firmware about each switch by an SMC,
 * whatever the PSCI conduit is.  With virt's default conduit, HVC, that would
 * be an undefined instruction; with SMC, QEMU's own PSCI refuses the call.
 */
static void npu_psci_by_smc(Rk3588NpuMachineState *s)
{
    VirtMachineState *vms = VIRT_MACHINE(s);
    CPUState *cs;

    if (vms->psci_conduit != QEMU_PSCI_CONDUIT_HVC) {
        return;
    }
    vms->psci_conduit = QEMU_PSCI_CONDUIT_SMC;
    vms->bootinfo.psci_conduit = QEMU_PSCI_CONDUIT_SMC;
    CPU_FOREACH(cs) {
        ARM_CPU(cs)->psci_conduit = QEMU_PSCI_CONDUIT_SMC;
    }
}

static void npu_fdt_high_ram(const struct arm_boot_info *info, void *fdt)
{
    const VirtMachineState *vms = container_of(info, VirtMachineState,
                                               bootinfo);
    g_autofree char *node = g_strdup_printf("/memory@%" PRIx64,
                                             (uint64_t)HIGH_RAM_BASE);

    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "device_type", "memory");
    qemu_fdt_setprop_sized_cells(fdt, node, "reg", 2, HIGH_RAM_BASE, 2,
                                 MACHINE(vms)->ram_size - LOW_RAM_SIZE);
}

/* virt has mapped all of it in one piece, which would cover the NPU. */
static void npu_split_ram(Rk3588NpuMachineState *s)
{
    MemoryRegion *sysmem = get_system_memory();
    MachineState *machine = MACHINE(s);
    VirtMachineState *vms = VIRT_MACHINE(s);

    if (machine->ram_size <= LOW_RAM_SIZE) {
        return;
    }
    memory_region_del_subregion(sysmem, machine->ram);
    memory_region_init_alias(&s->low_ram, OBJECT(s), "npu-low-ram",
                             machine->ram, 0, LOW_RAM_SIZE);
    memory_region_init_alias(&s->high_ram, OBJECT(s), "npu-high-ram",
                             machine->ram, LOW_RAM_SIZE,
                             machine->ram_size - LOW_RAM_SIZE);
    memory_region_add_subregion(sysmem, vms->memmap[VIRT_MEM].base,
                                &s->low_ram);
    memory_region_add_subregion(sysmem, HIGH_RAM_BASE, &s->high_ram);
    vms->bootinfo.ram_size = LOW_RAM_SIZE;
    vms->bootinfo.modify_dtb = npu_fdt_high_ram;
}

static void npu_attach(Rk3588NpuMachineState *s, const char *name,
                       DeviceState *dev)
{
    object_property_add_child(OBJECT(s), name, OBJECT(dev));
}

static void npu_realize_at(DeviceState *dev, hwaddr base)
{
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    sysbus_realize_and_unref(sbd, &error_fatal);
    /* On an RK3576 over the windows of virt's PCIe. */
    sysbus_mmio_map_overlap(sbd, 0, base, 1);
}

static void npu_create_poc(Rk3588NpuMachineState *s)
{
    MachineState *machine = MACHINE(s);
    uint64_t low = MIN(machine->ram_size, LOW_RAM_SIZE);

    if (s->coherent == ON_OFF_AUTO_ON) {
        return;
    }
    s->poc = qdev_new(TYPE_RK3588_POC);
    npu_attach(s, "poc", s->poc);
    qdev_prop_set_uint32(s->poc, "evict", s->evict);
    qdev_prop_set_bit(s->poc, "ivac-cleans", s->ivac_cleans);
    object_property_set_link(OBJECT(s->poc), "ram", OBJECT(machine->ram),
                             &error_abort);
    qdev_realize_and_unref(s->poc, NULL, &error_fatal);
    rk3588_poc_map(RK3588_POC(s->poc), VIRT_MACHINE(s)->memmap[VIRT_MEM].base,
                   0, low);
    if (machine->ram_size > low) {
        rk3588_poc_map(RK3588_POC(s->poc), HIGH_RAM_BASE, low,
                       machine->ram_size - low);
    }
}

static MemoryRegion *npu_dma_view(Rk3588NpuMachineState *s)
{
    return s->poc ? rk3588_poc_view(RK3588_POC(s->poc)) : get_system_memory();
}

static void npu_create_delay(Rk3588NpuMachineState *s)
{
    s->delay = qdev_new(TYPE_RK_DELAY);
    npu_attach(s, "delay", s->delay);
    qdev_prop_set_uint32(s->delay, "seed", s->seed);
    sysbus_realize_and_unref(SYS_BUS_DEVICE(s->delay), &error_fatal);
}

static void npu_create_chaos(Rk3588NpuMachineState *s)
{
    s->chaos = qdev_new(TYPE_RK_CHAOS);
    npu_attach(s, "chaos", s->chaos);
    object_property_set_link(OBJECT(s->chaos), "delay", OBJECT(s->delay),
                             &error_abort);
    qdev_realize_and_unref(s->chaos, NULL, &error_fatal);
}

static void npu_create_ctl(Rk3588NpuMachineState *s)
{
    s->ctl = qdev_new(TYPE_RK3588_NPU_CTL);
    npu_attach(s, "npu-ctl", s->ctl);
    object_property_set_link(OBJECT(s->ctl), "chaos", OBJECT(s->chaos),
                             &error_abort);
    if (s->poc) {
        object_property_set_link(OBJECT(s->ctl), "poc", OBJECT(s->poc),
                                 &error_abort);
    }
    qdev_prop_set_uint32(s->ctl, "num-cores", s->num_cores);
    qdev_prop_set_uint32(s->ctl, "latency-ns", s->latency_ns);
    npu_realize_at(s->ctl, NPU_CTL_BASE);
}

static void npu_create_cru(Rk3588NpuMachineState *s)
{
    s->cru = qdev_new(s->soc->cru);
    npu_attach(s, "cru", s->cru);
    object_property_set_link(OBJECT(s->cru), "ctl", OBJECT(s->ctl),
                             &error_abort);
    npu_realize_at(s->cru, s->soc->cru_base);
    if (s->dt_shape->simple) {
        sysbus_mmio_map(SYS_BUS_DEVICE(s->cru), 1, RK_RESETS_BASE);
    }
}

static void npu_create_pmu(Rk3588NpuMachineState *s)
{
    unsigned i;

    s->pmu = qdev_new(s->soc->pmu);
    npu_attach(s, "pmu", s->pmu);
    object_property_set_link(OBJECT(s->pmu), "ctl", OBJECT(s->ctl),
                             &error_abort);
    object_property_set_link(OBJECT(s->pmu), "delay", OBJECT(s->delay),
                             &error_abort);
    qdev_prop_set_bit(s->pmu, "npu-on", s->dt_shape->simple);
    npu_realize_at(s->pmu, s->soc->pmu_base);
    for (i = 0; i < s->soc->num_qos; i++) {
        sysbus_mmio_map_overlap(SYS_BUS_DEVICE(s->pmu), 1 + i, s->soc->qos[i],
                                1);
    }
}

/* By virt's GPIO controller, which there is without UEFI alone. */
static void npu_switch_supply(Rk3588NpuMachineState *s)
{
    Object *gpio = object_resolve_path_type("", "pl061", NULL);

    if (!gpio) {
        error_report("npu-switched-supply needs virt's GPIO controller");
        exit(EXIT_FAILURE);
    }
    qdev_connect_gpio_out(DEVICE(gpio), RK_NPU_SUPPLY_GPIO,
                          qdev_get_gpio_in_named(s->pmu, "supply-cut", 0));
}

/*
 * One line of the CRU or PMU drives a core and its IOMMU alike, and perhaps
 * firmware, too.
 */
static void npu_fan_out(DeviceState *src, const char *src_name, unsigned n,
                        DeviceState *core, DeviceState *iommu,
                        const char *dst_name, unsigned dst_n,
                        DeviceState *firmware)
{
    DeviceState *split = qdev_new(TYPE_SPLIT_IRQ);

    object_property_add_child(OBJECT(iommu), "split[*]", OBJECT(split));
    qdev_prop_set_uint16(split, "num-lines", firmware ? 3 : 2);
    qdev_realize_and_unref(split, NULL, &error_fatal);
    qdev_connect_gpio_out(split, 0,
                          qdev_get_gpio_in_named(core, dst_name, dst_n));
    qdev_connect_gpio_out(split, 1,
                          qdev_get_gpio_in_named(iommu, dst_name, dst_n));
    if (firmware) {
        qdev_connect_gpio_out(split, 2, qdev_get_gpio_in(firmware, 0));
    }
    qdev_connect_gpio_out_named(src, src_name, n,
                                qdev_get_gpio_in(split, 0));
}

static void npu_wire_core(Rk3588NpuMachineState *s, unsigned n,
                          DeviceState *core, DeviceState *iommu)
{
    /* Core 0 is in the domain that holds the clock's oscillator. */
    npu_fan_out(s->pmu, "power", n, core, iommu, "power", 0,
                n ? NULL : s->scmi);
    npu_fan_out(s->cru, "aclk", n, core, iommu, "aclk", 0, NULL);
    npu_fan_out(s->cru, "hclk", n, core, iommu, "hclk", 0, NULL);
    npu_fan_out(s->cru, "srst-a", n, core, iommu, "reset", 0, NULL);
    if (s->soc->srst_h) {
        npu_fan_out(s->cru, "srst-h", n, core, iommu, "reset", 1, NULL);
    }
}

/* A core and its IOMMU share one interrupt, and perhaps all cores do. */
static DeviceState *npu_create_irq(Rk3588NpuMachineState *s, unsigned n,
                                   DeviceState *iommu)
{
    DeviceState *or_irq = qdev_new(TYPE_OR_IRQ);
    DeviceState *gic = VIRT_MACHINE(s)->gic;

    object_property_add_child(OBJECT(iommu), "irq", OBJECT(or_irq));
    object_property_set_int(OBJECT(or_irq), "num-lines",
                            s->one_irq ? 2 * NPU_MAX_CORES : 2, &error_abort);
    qdev_realize_and_unref(or_irq, NULL, &error_fatal);
    qdev_connect_gpio_out(or_irq, 0, qdev_get_gpio_in(s->chaos, n));
    qdev_connect_gpio_out(s->chaos, n,
                          qdev_get_gpio_in(gic, s->soc->cores[n].spi));
    return or_irq;
}

static void npu_wire_irq(Rk3588NpuMachineState *s, unsigned n,
                         DeviceState *core, DeviceState *iommu)
{
    unsigned line = s->one_irq ? 2 * n : 0;

    if (!n || !s->one_irq) {
        s->irq = npu_create_irq(s, n, iommu);
    }
    sysbus_connect_irq(SYS_BUS_DEVICE(core), 0,
                       qdev_get_gpio_in(s->irq, line));
    sysbus_connect_irq(SYS_BUS_DEVICE(iommu), 0,
                       qdev_get_gpio_in(s->irq, line + 1));
}

/*
 * The RK3568's knows addresses of 32 bits (row iommu.rk3568), whatever guests
 * take it for.
 */
static void npu_set_walker(Rk3588NpuMachineState *s, DeviceState *iommu)
{
    bool narrow = s->soc->set_core == npu_set_rk3568;

    qdev_prop_set_uint32(iommu, "version",
                         narrow ? 1 : s->iommu_version ?: 2);
    qdev_prop_set_bit(iommu, "dte-time-limit", narrow);
}

/*
 * The register banks overlay the core's window.  One that the device tree does
 * not have is there all the same, and lets everything through, as it does on
 * silicon as long as nobody turns it on.
 */
static DeviceState *npu_create_iommu(Rk3588NpuMachineState *s, unsigned n)
{
    const Rk3588NpuCoreInfo *info = &s->soc->cores[n];
    g_autofree char *name = g_strdup_printf("npu-iommu%u", n);
    DeviceState *dev = qdev_new(TYPE_RK_IOMMU);
    unsigned i;

    npu_attach(s, name, dev);
    qdev_prop_set_uint32(dev, "num-banks", info->num_banks);
    qdev_prop_set_uint32(dev, "bank-size", s->soc->bank_size);
    npu_set_walker(s, dev);
    qdev_prop_set_uint32(dev, "core-index", n);
    object_property_set_link(OBJECT(dev), "ctl", OBJECT(s->ctl), &error_abort);
    object_property_set_link(OBJECT(dev), "delay", OBJECT(s->delay),
                             &error_abort);
    object_property_set_link(OBJECT(dev), "dma", OBJECT(npu_dma_view(s)),
                             &error_abort);
    if (s->poc) {
        object_property_set_link(OBJECT(dev), "poc", OBJECT(s->poc),
                                 &error_abort);
    }
    sysbus_realize_and_unref(SYS_BUS_DEVICE(dev), &error_fatal);
    for (i = 0; i < info->num_banks; i++) {
        sysbus_mmio_map_overlap(SYS_BUS_DEVICE(dev), i, info->bank[i], 2);
    }
    return dev;
}

static DeviceState *npu_create_core(Rk3588NpuMachineState *s, unsigned n,
                                    DeviceState *iommu)
{
    g_autofree char *name = g_strdup_printf("npu-core%u", n);
    DeviceState *dev = qdev_new(TYPE_RK3588_NPU);

    npu_attach(s, name, dev);
    qdev_prop_set_uint32(dev, "core-index", n);
    object_property_set_link(OBJECT(dev), "ctl", OBJECT(s->ctl), &error_abort);
    object_property_set_link(OBJECT(dev), "delay", OBJECT(s->delay),
                             &error_abort);
    object_property_set_link(OBJECT(dev), "iommu", OBJECT(iommu),
                             &error_abort);
    qdev_prop_set_uint32(dev, "window-size", s->soc->core_size);
    if (s->soc->set_core) {
        s->soc->set_core(dev);
    }
    if (!s->soc->scmi_clk) {
        object_property_set_uint(OBJECT(dev), "clock-frequency",
                                 s->assigned_hz, &error_abort);
    }
    npu_realize_at(dev, s->soc->cores[n].base);
    return dev;
}

static void npu_create_scmi(Rk3588NpuMachineState *s)
{
    s->scmi = qdev_new(TYPE_RK3588_SCMI);
    npu_attach(s, "scmi", s->scmi);
    qdev_prop_set_uint32(s->scmi, "clock-id", s->soc->scmi_clk);
    /* Of the others nobody has reported that firmware would hang. */
    qdev_prop_set_bit(s->scmi, "in-domain", s->soc->rk3588);
}

static void npu_realize_scmi(Rk3588NpuMachineState *s)
{
    SysBusDevice *sbd = SYS_BUS_DEVICE(s->scmi);

    sysbus_realize_and_unref(sbd, &error_fatal);
    /* Where virt has flash memory, which the guest does not look at there. */
    sysbus_mmio_map_overlap(sbd, 0, RK3588_SCMI_BASE, 1);
}

static void npu_create_tsadc(Rk3588NpuMachineState *s)
{
    DeviceState *dev = qdev_new(TYPE_RK3588_TSADC);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    npu_attach(s, "tsadc", dev);
    npu_realize_at(dev, RK3588_TSADC_BASE);
    sysbus_mmio_map_overlap(sbd, 1, NPU_CTL_BASE + NPU_CTL_TEMPERATURE, 1);
    sysbus_connect_irq(sbd, 0, qdev_get_gpio_in(VIRT_MACHINE(s)->gic,
                                                RK3588_TSADC_SPI));
}

static void npu_create(Rk3588NpuMachineState *s)
{
    unsigned n;

    for (n = 0; n < ARRAY_SIZE(s->soc->grf); n++) {
        create_unimplemented_device("npu-grf", s->soc->grf[n],
                                    RK3588_GRF_SIZE);
    }
    npu_create_delay(s);
    npu_create_chaos(s);
    npu_create_poc(s);
    npu_create_ctl(s);
    npu_create_cru(s);
    npu_create_pmu(s);
    if (s->switched_supply) {
        npu_switch_supply(s);
    }
    if (s->soc->scmi_clk) {
        npu_create_scmi(s);
    }
    if (s->soc->rk3588) {
        npu_create_tsadc(s);
    }
    for (n = 0; n < s->num_cores; n++) {
        DeviceState *iommu = npu_create_iommu(s, n);
        DeviceState *core = npu_create_core(s, n, iommu);
        g_autofree char *link = g_strdup_printf("core%u", n);

        if (s->scmi) {
            object_property_set_link(OBJECT(s->scmi), link, OBJECT(core),
                                     &error_abort);
        }
        npu_wire_core(s, n, core, iommu);
        npu_wire_irq(s, n, core, iommu);
    }
    if (s->scmi) {
        npu_realize_scmi(s);
    }
}

static ArmSmcVerdict npu_smc_call(Object *fw, const uint64_t args[4],
                                  int32_t *ret)
{
    Rk3588NpuMachineState *s = RK3588_NPU_MACHINE(fw);

    switch ((uint32_t)args[0]) {
    case RK3588_SCMI_SMC_ID:
        return s->scmi ? rk3588_scmi_call(RK3588_SCMI(s->scmi), ret)
                       : ARM_SMC_UNKNOWN;
    case QEMU_PSCI_1_0_FN_PSCI_FEATURES:
        *ret = 0;
        return args[1] == SMCCC_VERSION ? ARM_SMC_DONE : ARM_SMC_UNKNOWN;
    case SMCCC_VERSION:
        /* Linux makes no call of a SoC's own to older firmware. */
        *ret = SMCCC_VERSION_1_1;
        return ARM_SMC_DONE;
    default:
        return ARM_SMC_UNKNOWN;
    }
}

/* Clients look for the SoC among the root's names. */
static void npu_name_soc(Rk3588NpuMachineState *s, void *fdt)
{
    const char *names[] = { "linux,dummy-virt", s->soc->compatible };

    qemu_fdt_setprop_string_array(fdt, "/", "compatible", (char **)names,
                                  ARRAY_SIZE(names));
}

static void npu_add_fdt(Rk3588NpuMachineState *s, void *fdt)
{
    Rk3588NpuFdtConfig config = {
        .num_cores = s->num_cores,
        .iommu_version = s->iommu_version,
        .simple = s->dt_shape->simple,
        .rockchip = s->rockchip,
        .coherent = s->coherent == ON_OFF_AUTO_ON,
        .one_irq = s->one_irq,
        .scmi = s->use_scmi && !s->dt_shape->simple,
        .assigned_hz = s->assigned_hz,
        .gpio = s->switched_supply ?
                qemu_fdt_get_phandle(fdt, "/pl061@9030000") : 0,
    };

    /* virt says so of all devices; its own say it of themselves, too. */
    fdt_delprop(fdt, 0, "dma-coherent");
    if (s->dt_shape->there) {
        npu_name_soc(s, fdt);
        (s->dt_shape->vendor ? s->soc->vendor : s->soc->mainline)(fdt, &config);
    }
}

static void npu_machine_init(MachineState *machine)
{
    Rk3588NpuMachineState *s = RK3588_NPU_MACHINE(machine);

    npu_check_machine(machine);
    virt_init(machine);
    npu_check_gic(s);
    npu_split_ram(s);
    npu_psci_by_smc(s);
    npu_create(s);
    npu_add_fdt(s, machine->fdt);
}

static char *npu_get_dt(Object *obj, Error **errp)
{
    return g_strdup(RK3588_NPU_MACHINE(obj)->npu_dt);
}

static void npu_set_dt(Object *obj, const char *value, Error **errp)
{
    Rk3588NpuMachineState *s = RK3588_NPU_MACHINE(obj);

    g_free(s->npu_dt);
    s->npu_dt = g_strdup(value);
}

static char *npu_get_soc(Object *obj, Error **errp)
{
    return g_strdup(RK3588_NPU_MACHINE(obj)->soc_name);
}

static void npu_set_soc(Object *obj, const char *value, Error **errp)
{
    Rk3588NpuMachineState *s = RK3588_NPU_MACHINE(obj);

    g_free(s->soc_name);
    s->soc_name = g_strdup(value);
}

static bool npu_get_scmi(Object *obj, Error **errp)
{
    return RK3588_NPU_MACHINE(obj)->use_scmi;
}

static void npu_set_scmi(Object *obj, bool value, Error **errp)
{
    RK3588_NPU_MACHINE(obj)->use_scmi = value;
}

static bool npu_get_rockchip(Object *obj, Error **errp)
{
    return RK3588_NPU_MACHINE(obj)->rockchip;
}

static void npu_set_rockchip(Object *obj, bool value, Error **errp)
{
    RK3588_NPU_MACHINE(obj)->rockchip = value;
}

static bool npu_get_one_irq(Object *obj, Error **errp)
{
    return RK3588_NPU_MACHINE(obj)->one_irq;
}

static void npu_set_one_irq(Object *obj, bool value, Error **errp)
{
    RK3588_NPU_MACHINE(obj)->one_irq = value;
}

static bool npu_get_ivac_cleans(Object *obj, Error **errp)
{
    return RK3588_NPU_MACHINE(obj)->ivac_cleans;
}

static void npu_set_ivac_cleans(Object *obj, bool value, Error **errp)
{
    RK3588_NPU_MACHINE(obj)->ivac_cleans = value;
}

static bool npu_get_switched_supply(Object *obj, Error **errp)
{
    return RK3588_NPU_MACHINE(obj)->switched_supply;
}

static void npu_set_switched_supply(Object *obj, bool value, Error **errp)
{
    RK3588_NPU_MACHINE(obj)->switched_supply = value;
}

static void npu_get_coherent(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    visit_type_OnOffAuto(v, name, &RK3588_NPU_MACHINE(obj)->coherent, errp);
}

static void npu_set_coherent(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    visit_type_OnOffAuto(v, name, &RK3588_NPU_MACHINE(obj)->coherent, errp);
}

static void npu_machine_instance_init(Object *obj)
{
    Rk3588NpuMachineState *s = RK3588_NPU_MACHINE(obj);

    VIRT_MACHINE(obj)->gic_version = VIRT_GIC_VERSION_3;
    s->npu_dt = g_strdup("mainline");
    s->soc_name = g_strdup("rk3588");
    s->use_scmi = true;
    s->coherent = ON_OFF_AUTO_AUTO;
    s->ivac_cleans = true;
    s->iommu_version = 2;
    s->seed = 1;
    object_property_add_uint32_ptr(obj, "npu-assigned-hz", &s->assigned_hz,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "npu-cores", &s->num_cores,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "npu-evict", &s->evict,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "npu-iommu", &s->iommu_version,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "npu-latency-ns", &s->latency_ns,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "npu-seed", &s->seed,
                                   OBJ_PROP_FLAG_READWRITE);
}

static void npu_machine_instance_finalize(Object *obj)
{
    g_free(RK3588_NPU_MACHINE(obj)->npu_dt);
    g_free(RK3588_NPU_MACHINE(obj)->soc_name);
}

static void npu_machine_class_init(ObjectClass *oc, void *data)
{
    MachineClass *mc = MACHINE_CLASS(oc);

    virt_init = mc->init;
    mc->init = npu_machine_init;
    mc->desc = "ARM virt board with the NPU of a Rockchip RK3588";
    mc->alias = NULL;
    mc->default_nic = NULL;
    mc->default_ram_size = 1 * GiB;
    mc->default_cpu_type = ARM_CPU_TYPE_NAME("cortex-a76");
    ARM_SMC_FIRMWARE_CLASS(oc)->call = npu_smc_call;
    object_class_property_add_str(oc, "soc", npu_get_soc, npu_set_soc);
    object_class_property_set_description(oc, "soc",
        "Whose NPU it is: rk3588, rk3562, rk3568, rk3576 or rv1126b");
    object_class_property_add_bool(oc, "npu-scmi", npu_get_scmi, npu_set_scmi);
    object_class_property_set_description(oc, "npu-scmi",
        "The device tree has the NPU's clock from SCMI, else a fixed one");
    object_class_property_add_bool(oc, "npu-rockchip", npu_get_rockchip,
                                   npu_set_rockchip);
    object_class_property_set_description(oc, "npu-rockchip",
        "The device tree has the numbers of Rockchip's kernels");
    object_class_property_add_bool(oc, "npu-one-irq", npu_get_one_irq,
                                   npu_set_one_irq);
    object_class_property_set_description(oc, "npu-one-irq",
        "All cores share an interrupt, as their only one");
    object_class_property_add(oc, "npu-coherent", "OnOffAuto",
                              npu_get_coherent, npu_set_coherent, NULL, NULL);
    object_class_property_set_description(oc, "npu-coherent",
        "The NPU snoops the CPUs' caches; auto: no with TCG, else yes");
    object_class_property_add_bool(oc, "npu-ivac-cleans", npu_get_ivac_cleans,
                                   npu_set_ivac_cleans);
    object_class_property_set_description(oc, "npu-ivac-cleans",
        "DC IVAC writes a dirty line back, as in a Cortex-A76, or drops it");
    object_class_property_add_bool(oc, "npu-switched-supply",
                                   npu_get_switched_supply,
                                   npu_set_switched_supply);
    object_class_property_set_description(oc, "npu-switched-supply",
        "A GPIO switches the NPU's supply, else it is always on");
    object_class_property_add_str(oc, "npu-dt", npu_get_dt, npu_set_dt);
    object_class_property_set_description(oc, "npu-dt",
        "Shape of the NPU's device-tree nodes: mainline, vendor, simple, "
        "vendor-simple or none");
}

static const TypeInfo npu_machine_info = {
    .name = TYPE_RK3588_NPU_MACHINE,
    .parent = MACHINE_TYPE_NAME("virt-10.0"),
    .instance_size = sizeof(Rk3588NpuMachineState),
    .instance_init = npu_machine_instance_init,
    .instance_finalize = npu_machine_instance_finalize,
    .class_init = npu_machine_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_ARM_SMC_FIRMWARE },
        { }
    },
};

static void npu_machine_register_types(void)
{
    type_register_static(&npu_machine_info);
}
type_init(npu_machine_register_types)
