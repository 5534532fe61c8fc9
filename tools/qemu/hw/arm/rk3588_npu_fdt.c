/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device-tree nodes of the RK3588 NPU subsystem, with the names and properties
 * of Linux's rk3588-base.dtsi and of a board that enables the NPU, or of the
 * vendor's tree, which has one node for all cores.  Binding numbers are those
 * of the kernel whose clock and reset driver reads them, Linux's or the
 * vendor's, in both.  Kernels that have no such drivers yet get fixed clocks, a
 * reset register that a generic driver knows, and no power domains.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/arm/fdt.h"
#include "hw/npu/rk_cru.h"
#include "hw/npu/rk3588_scmi.h"
#include "hw/npu/rk3588_tsadc.h"
#include "rk3588_npu_fdt.h"
#include "rk_npu_fdt_util.h"

const Rk3588NpuCoreInfo rk3588_npu_cores[NPU_MAX_CORES] = {
    { 0xfdab0000, 110, 2, { 0xfdab9000, 0xfdaba000 } },
    { 0xfdac0000, 111, 1, { 0xfdaca000 } },
    { 0xfdad0000, 112, 1, { 0xfdada000 } },
};

const hwaddr rk3588_npu_qos[RK3588_QOS_NUM] = {
    [RK3588_QOS_NPU0_MWR] = 0xfdf72000,
    [RK3588_QOS_NPU0_MRO] = 0xfdf72200,
    [RK3588_QOS_MCU_NPU] = 0xfdf72400,
    [RK3588_QOS_NPU1] = 0xfdf70000,
    [RK3588_QOS_NPU2] = 0xfdf71000,
};

/* Numbers in device trees, which Rockchip's kernels do not share. */
typedef struct CruNumber {
    uint16_t mainline;
    uint16_t rockchip;
} CruNumber;

/* dt-bindings/clock/rockchip,rk3588-cru.h, and rk3588-cru.h of Rockchip's */
enum NpuClock {
    PLL_AUPLL,
    PLL_GPLL,
    PLL_NPLL,
    PLL_PPLL,
    ACLK_BUS_ROOT,
    ACLK_CENTER_ROOT,
    ACLK_CENTER_LOW_ROOT,
    HCLK_CENTER_ROOT,
    CLK_150M_SRC,
    ACLK_TOP_ROOT,
    PCLK_TOP_ROOT,
    ACLK_LOW_TOP_ROOT,
    CLK_GPU,
    ACLK_NPU1,
    HCLK_NPU1,
    ACLK_NPU2,
    HCLK_NPU2,
    HCLK_NPU_CM0_ROOT,
    ACLK_NPU0,
    HCLK_NPU0,
    HCLK_NPU_ROOT,
    CLK_NPU_DSU0,
    PCLK_NPU_ROOT,
    ACLK_VOP,
    PCLK_PMU0_ROOT,
    HCLK_PMU_CM0_ROOT,
};

static const CruNumber clock_numbers[] = {
    [PLL_AUPLL] = { 4, 5 },
    [PLL_GPLL] = { 6, 7 },
    [PLL_NPLL] = { 7, 8 },
    [PLL_PPLL] = { 8, 9 },
    [ACLK_BUS_ROOT] = { 113, 123 },
    [ACLK_CENTER_ROOT] = { 204, 216 },
    [ACLK_CENTER_LOW_ROOT] = { 205, 217 },
    [HCLK_CENTER_ROOT] = { 206, 218 },
    [CLK_150M_SRC] = { 224, 236 },
    [ACLK_TOP_ROOT] = { 256, 270 },
    [PCLK_TOP_ROOT] = { 257, 271 },
    [ACLK_LOW_TOP_ROOT] = { 258, 272 },
    [CLK_GPU] = { 262, 276 },
    [ACLK_NPU1] = { 276, 290 },
    [HCLK_NPU1] = { 277, 291 },
    [ACLK_NPU2] = { 278, 292 },
    [HCLK_NPU2] = { 279, 293 },
    [HCLK_NPU_CM0_ROOT] = { 280, 294 },
    [ACLK_NPU0] = { 287, 301 },
    [HCLK_NPU0] = { 288, 302 },
    [HCLK_NPU_ROOT] = { 289, 303 },
    [CLK_NPU_DSU0] = { 290, 304 },
    [PCLK_NPU_ROOT] = { 291, 305 },
    [ACLK_VOP] = { 605, 624 },
    [PCLK_PMU0_ROOT] = { 646, 665 },
    [HCLK_PMU_CM0_ROOT] = { 647, 666 },
};

/* dt-bindings/reset/rockchip,rk3588-cru.h, and again the former */
enum NpuReset {
    SRST_A_RKNN1,
    SRST_H_RKNN1,
    SRST_A_RKNN2,
    SRST_H_RKNN2,
    SRST_A_RKNN0,
    SRST_H_RKNN0,
};

static const CruNumber reset_numbers[] = {
    [SRST_A_RKNN1] = { 250, 432 },
    [SRST_H_RKNN1] = { 252, 434 },
    [SRST_A_RKNN2] = { 254, 448 },
    [SRST_H_RKNN2] = { 256, 450 },
    [SRST_A_RKNN0] = { 272, 486 },
    [SRST_H_RKNN0] = { 274, 488 },
};

/* dt-bindings/power/rk3588-power.h */
enum {
    RK3588_PD_NPU = 8,
    RK3588_PD_NPUTOP = 9,
    RK3588_PD_NPU1 = 10,
    RK3588_PD_NPU2 = 11,
};

static const struct {
    enum NpuClock aclk, hclk;
    enum NpuReset srst_a, srst_h;
    uint32_t domain;
} core_ids[NPU_MAX_CORES] = {
    { ACLK_NPU0, HCLK_NPU0, SRST_A_RKNN0, SRST_H_RKNN0, RK3588_PD_NPUTOP },
    { ACLK_NPU1, HCLK_NPU1, SRST_A_RKNN1, SRST_H_RKNN1, RK3588_PD_NPU1 },
    { ACLK_NPU2, HCLK_NPU2, SRST_A_RKNN2, SRST_H_RKNN2, RK3588_PD_NPU2 },
};

static const struct {
    enum NpuClock clock;
    uint32_t rate;
} cru_rates[] = {
    { PLL_PPLL, 1100000000 },
    { PLL_AUPLL, 786432000 },
    { PLL_NPLL, 850000000 },
    { PLL_GPLL, 1188000000 },
    { ACLK_CENTER_ROOT, 702000000 },
    { HCLK_CENTER_ROOT, 400000000 },
    { ACLK_CENTER_LOW_ROOT, 500000000 },
    { ACLK_TOP_ROOT, 800000000 },
    { PCLK_TOP_ROOT, 100000000 },
    { ACLK_LOW_TOP_ROOT, 400000000 },
    { PCLK_PMU0_ROOT, 100000000 },
    { HCLK_PMU_CM0_ROOT, 200000000 },
    { ACLK_VOP, 500000000 },
    { ACLK_BUS_ROOT, 375000000 },
    { CLK_150M_SRC, 150000000 },
    { CLK_GPU, 200000000 },
};

/* Phandles are allocated before any node is added. */
typedef struct NpuFdt {
    void *fdt;
    const Rk3588NpuFdtConfig *config;
    uint32_t cru;
    uint32_t bus_clk;       /* of simple trees, as is resets */
    uint32_t resets;
    uint32_t npu_clk;
    uint32_t power;
    uint32_t regulator;
    uint32_t php_grf;
    uint32_t sys_grf;
    uint32_t iommu[NPU_MAX_CORES];
    uint32_t qos[RK3588_QOS_NUM];
} NpuFdt;

/* Several strings in one property: @len includes all terminators. */
static void set_compatible(void *fdt, const char *node, const char *list,
                           size_t len)
{
    qemu_fdt_setprop(fdt, node, "compatible", list, len);
}

/* Properties whose length depends on the number of cores are collected. */
static void append_cell(GByteArray *array, uint32_t value)
{
    uint32_t be = cpu_to_be32(value);

    g_byte_array_append(array, (const guint8 *)&be, sizeof(be));
}

static void append_cells(GByteArray *array, uint32_t a, uint32_t b)
{
    append_cell(array, a);
    append_cell(array, b);
}

static void append_reg(GByteArray *array, hwaddr base, hwaddr size)
{
    append_cells(array, base >> 32, base);
    append_cells(array, size >> 32, size);
}

static void append_interrupt(GByteArray *array, int spi)
{
    append_cell(array, GIC_FDT_IRQ_TYPE_SPI);
    append_cells(array, spi, GIC_FDT_IRQ_FLAGS_LEVEL_HI);
}

static void G_GNUC_PRINTF(2, 3) append_name(GByteArray *array, const char *fmt,
                                            ...)
{
    g_autofree char *name = NULL;
    va_list args;

    va_start(args, fmt);
    name = g_strdup_vprintf(fmt, args);
    va_end(args);
    g_byte_array_append(array, (const guint8 *)name, strlen(name) + 1);
}

static void set_array(NpuFdt *f, const char *node, const char *property,
                      GByteArray *array)
{
    qemu_fdt_setprop(f->fdt, node, property, array->data, array->len);
}

static uint32_t cru_number(const NpuFdt *f, const CruNumber *number)
{
    return f->config->rockchip ? number->rockchip : number->mainline;
}

static void append_cru_clock(NpuFdt *f, GByteArray *array, enum NpuClock clock)
{
    append_cells(array, f->cru, cru_number(f, &clock_numbers[clock]));
}

static void append_clock(NpuFdt *f, GByteArray *array, enum NpuClock clock)
{
    if (f->config->simple) {
        append_cell(array, f->bus_clk);
    } else {
        append_cru_clock(f, array, clock);
    }
}

static void append_npu_clock(NpuFdt *f, GByteArray *array)
{
    append_cell(array, f->npu_clk);
    if (f->config->scmi) {
        append_cell(array, RK3588_SCMI_CLK_NPU);
    }
}

static void append_cru_reset(NpuFdt *f, GByteArray *array, enum NpuReset reset)
{
    append_cells(array, f->cru, cru_number(f, &reset_numbers[reset]));
}

static void append_reset_a(NpuFdt *f, GByteArray *array, unsigned core)
{
    if (f->config->simple) {
        append_cells(array, f->resets, 2 * core);
    } else {
        append_cru_reset(f, array, core_ids[core].srst_a);
    }
}

static void append_reset_h(NpuFdt *f, GByteArray *array, unsigned core)
{
    if (f->config->simple) {
        append_cells(array, f->resets, 2 * core + 1);
    } else {
        append_cru_reset(f, array, core_ids[core].srst_h);
    }
}

static void set_core_domain(NpuFdt *f, const char *node, unsigned core)
{
    if (!f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, node, "power-domains", f->power,
                               core_ids[core].domain);
    }
}

static void set_iommu_compatible(NpuFdt *f, const char *node)
{
    static const char v1[] = "rockchip,iommu";
    static const char v2[] = "rockchip,rk3588-iommu\0rockchip,rk3568-iommu";
    static const char rockchip_v2[] = "rockchip,iommu-v2";

    if (f->config->iommu_version == 1) {
        set_compatible(f->fdt, node, v1, sizeof(v1));
    } else if (f->config->rockchip) {
        set_compatible(f->fdt, node, rockchip_v2, sizeof(rockchip_v2));
    } else {
        set_compatible(f->fdt, node, v2, sizeof(v2));
    }
}

static void add_clocks(NpuFdt *f)
{
    if (f->config->scmi) {
        rk_scmi(f->fdt, f->npu_clk);
    } else {
        rk_fixed_clock(f->fdt, "/clock-npu", "scmi_clk_npu",
                       f->config->assigned_hz);
        rk_phandle(f->fdt, "/clock-npu", f->npu_clk);
    }
    rk_fixed_clock(f->fdt, "/clock-2", "xin32k", 32768);
    rk_fixed_clock(f->fdt, "/clock-1", "xin24m", 24000000);
    rk_fixed_clock(f->fdt, "/clock-0", "spll", 702000000);
}

static void add_regulator(NpuFdt *f)
{
    rk_supply(f->fdt, f->config, "/regulator-vdd-npu-s0", "vdd_npu_s0", 800000,
              f->regulator);
}

static void add_syscon(NpuFdt *f, const char *name, hwaddr base, hwaddr size,
                       const char *compat, size_t len, uint32_t phandle)
{
    g_autofree char *node = g_strdup_printf("/%s@%" PRIx64, name, base);

    qemu_fdt_add_subnode(f->fdt, node);
    set_compatible(f->fdt, node, compat, len);
    rk_reg(f->fdt, node, base, size);
    rk_phandle(f->fdt, node, phandle);
}

static void add_grfs(NpuFdt *f)
{
    static const char php[] = "rockchip,rk3588-php-grf\0syscon";
    static const char sys[] = "rockchip,rk3588-sys-grf\0syscon";

    add_syscon(f, "syscon", RK3588_PHP_GRF_BASE, RK3588_GRF_SIZE,
               php, sizeof(php), f->php_grf);
    add_syscon(f, "syscon", RK3588_SYS_GRF_BASE, RK3588_GRF_SIZE,
               sys, sizeof(sys), f->sys_grf);
}

static void add_qos(NpuFdt *f)
{
    static const char compat[] = "rockchip,rk3588-qos\0syscon";
    int i;

    for (i = RK3588_QOS_NUM - 1; i >= 0; i--) {
        add_syscon(f, "qos", rk3588_npu_qos[i], RK_QOS_SIZE,
                   compat, sizeof(compat), f->qos[i]);
    }
}

static void add_cru(NpuFdt *f)
{
    const char *node = "/clock-controller@fd7c0000";
    g_autoptr(GByteArray) clocks = g_byte_array_new();
    g_autoptr(GByteArray) rates = g_byte_array_new();
    unsigned i;

    rk_cru(f->fdt, node, "rockchip,rk3588-cru", RK3588_CRU_BASE,
           RK3588_CRU_SIZE, f->cru);
    for (i = 0; i < ARRAY_SIZE(cru_rates); i++) {
        append_cru_clock(f, clocks, cru_rates[i].clock);
        append_cell(rates, cru_rates[i].rate);
    }
    set_array(f, node, "assigned-clocks", clocks);
    set_array(f, node, "assigned-clock-rates", rates);
    qemu_fdt_setprop_cell(f->fdt, node, "rockchip,grf", f->php_grf);
}

static void add_domain(NpuFdt *f, const char *node, uint32_t id, bool parent)
{
    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_cell(f->fdt, node, "reg", id);
    qemu_fdt_setprop_cell(f->fdt, node, "#power-domain-cells", 0);
    if (parent) {
        qemu_fdt_setprop_cell(f->fdt, node, "#address-cells", 1);
        qemu_fdt_setprop_cell(f->fdt, node, "#size-cells", 0);
    }
}

static void append_domain_clocks(NpuFdt *f, GByteArray *array)
{
    append_cru_clock(f, array, HCLK_NPU_ROOT);
    append_cru_clock(f, array, PCLK_NPU_ROOT);
    append_cru_clock(f, array, CLK_NPU_DSU0);
}

static void add_leaf_domain(NpuFdt *f, const char *node, uint32_t id,
                            uint32_t qos)
{
    g_autoptr(GByteArray) clocks = g_byte_array_new();

    add_domain(f, node, id, false);
    append_domain_clocks(f, clocks);
    set_array(f, node, "clocks", clocks);
    qemu_fdt_setprop_cell(f->fdt, node, "pm_qos", qos);
}

#define PMU_NODE        "/power-management@fd8d8000"
#define POWER_NODE      PMU_NODE "/power-controller"
#define PD_NPU_NODE     POWER_NODE "/power-domain@8"
#define PD_NPUTOP_NODE  PD_NPU_NODE "/power-domain@9"

static void add_domains(NpuFdt *f)
{
    g_autoptr(GByteArray) clocks = g_byte_array_new();

    add_domain(f, PD_NPU_NODE, RK3588_PD_NPU, true);
    qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "domain-supply", f->regulator);
    add_domain(f, PD_NPUTOP_NODE, RK3588_PD_NPUTOP, true);
    append_domain_clocks(f, clocks);
    append_cru_clock(f, clocks, HCLK_NPU_CM0_ROOT);
    set_array(f, PD_NPUTOP_NODE, "clocks", clocks);
    qemu_fdt_setprop_cells(f->fdt, PD_NPUTOP_NODE, "pm_qos",
                           f->qos[RK3588_QOS_NPU0_MWR],
                           f->qos[RK3588_QOS_NPU0_MRO],
                           f->qos[RK3588_QOS_MCU_NPU]);
    add_leaf_domain(f, PD_NPUTOP_NODE "/power-domain@11", RK3588_PD_NPU2,
                    f->qos[RK3588_QOS_NPU2]);
    add_leaf_domain(f, PD_NPUTOP_NODE "/power-domain@10", RK3588_PD_NPU1,
                    f->qos[RK3588_QOS_NPU1]);
}

static void add_pmu(NpuFdt *f)
{
    static const char compat[] = "rockchip,rk3588-pmu\0syscon\0simple-mfd";

    qemu_fdt_add_subnode(f->fdt, PMU_NODE);
    set_compatible(f->fdt, PMU_NODE, compat, sizeof(compat));
    rk_reg(f->fdt, PMU_NODE, RK3588_PMU_BASE, RK3588_PMU_SIZE);
    rk_power_controller(f->fdt, POWER_NODE,
                        "rockchip,rk3588-power-controller", f->power);
    add_domains(f);
}

static void add_iommu(NpuFdt *f, unsigned core)
{
    static const char names[] = "aclk\0iface";
    const Rk3588NpuCoreInfo *info = &rk3588_npu_cores[core];
    g_autofree char *node = g_strdup_printf("/iommu@%" PRIx64, info->bank[0]);
    g_autoptr(GByteArray) clocks = g_byte_array_new();

    qemu_fdt_add_subnode(f->fdt, node);
    set_iommu_compatible(f, node);
    if (info->num_banks == 2) {
        qemu_fdt_setprop_sized_cells(f->fdt, node, "reg",
                                     2, info->bank[0], 2, 0x100,
                                     2, info->bank[1], 2, 0x100);
    } else {
        rk_reg(f->fdt, node, info->bank[0], 0x100);
    }
    rk_interrupt(f->fdt, node, info->spi);
    append_clock(f, clocks, core_ids[core].aclk);
    append_clock(f, clocks, core_ids[core].hclk);
    set_array(f, node, "clocks", clocks);
    qemu_fdt_setprop(f->fdt, node, "clock-names", names, sizeof(names));
    qemu_fdt_setprop_cell(f->fdt, node, "#iommu-cells", 0);
    set_core_domain(f, node, core);
    rk_dma_coherent(f->fdt, node, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, node, "status", "okay");
    rk_phandle(f->fdt, node, f->iommu[core]);
}

static void set_iommus(NpuFdt *f, const char *node, unsigned iommu)
{
    if (f->config->iommu_version) {
        qemu_fdt_setprop_cell(f->fdt, node, "iommus", f->iommu[iommu]);
    }
}

/*
 * The vendor's trees of SoCs with one core and one interrupt number nothing:
 * what is "aclk0" for a core of several is "aclk" there.
 */
static bool has_plain_names(const NpuFdt *f)
{
    return f->config->one_irq && f->config->num_cores == 1;
}

static void append_core_name(const NpuFdt *f, GByteArray *array,
                             const char *name, unsigned core)
{
    if (has_plain_names(f)) {
        append_name(array, "%s", name);
    } else {
        append_name(array, "%s%u", name, core);
    }
}

/* Interrupts of all cores, or of the IOMMU's banks, which are the same. */
static void set_vendor_interrupts(NpuFdt *f, const char *node,
                                  const char *suffix)
{
    unsigned count = f->config->one_irq ? 1 : f->config->num_cores;
    g_autoptr(GByteArray) irq = g_byte_array_new();
    g_autoptr(GByteArray) names = g_byte_array_new();
    unsigned i;

    for (i = 0; i < count; i++) {
        append_interrupt(irq, rk3588_npu_cores[i].spi);
        if (f->config->one_irq) {
            append_name(names, "npu_%s", suffix);
        } else {
            append_name(names, "npu%u_%s", i, suffix);
        }
    }
    set_array(f, node, "interrupts", irq);
    set_array(f, node, "interrupt-names", names);
}

/* The vendor's tree: all banks in one node, which names no power domain. */
static void add_vendor_iommu(NpuFdt *f)
{
    g_autofree char *node = g_strdup_printf("/iommu@%" PRIx64,
                                            rk3588_npu_cores[0].bank[0]);
    unsigned cores = f->config->num_cores;
    g_autoptr(GByteArray) reg = g_byte_array_new();
    g_autoptr(GByteArray) clocks = g_byte_array_new();
    g_autoptr(GByteArray) clock_names = g_byte_array_new();
    unsigned i, j;

    for (i = 0; i < cores; i++) {
        for (j = 0; j < rk3588_npu_cores[i].num_banks; j++) {
            append_reg(reg, rk3588_npu_cores[i].bank[j], 0x100);
        }
    }
    for (i = 0; i < cores; i++) {
        append_clock(f, clocks, core_ids[i].aclk);
        append_core_name(f, clock_names, "aclk", i);
    }
    for (i = 0; i < cores; i++) {
        append_clock(f, clocks, core_ids[i].hclk);
        append_core_name(f, clock_names, "iface", i);
    }

    qemu_fdt_add_subnode(f->fdt, node);
    set_iommu_compatible(f, node);
    set_array(f, node, "reg", reg);
    set_vendor_interrupts(f, node, "mmu");
    set_array(f, node, "clocks", clocks);
    set_array(f, node, "clock-names", clock_names);
    qemu_fdt_setprop_cell(f->fdt, node, "#iommu-cells", 0);
    rk_dma_coherent(f->fdt, node, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, node, "status", "okay");
    rk_phandle(f->fdt, node, f->iommu[0]);
}

static void set_vendor_clocks(NpuFdt *f, const char *node)
{
    g_autoptr(GByteArray) clocks = g_byte_array_new();
    g_autoptr(GByteArray) names = g_byte_array_new();
    unsigned i;

    append_npu_clock(f, clocks);
    set_array(f, node, "assigned-clocks", clocks);
    qemu_fdt_setprop_cell(f->fdt, node, "assigned-clock-rates",
                          f->config->assigned_hz);
    append_name(names, has_plain_names(f) ? "scmi_clk" : "clk_npu");
    for (i = 0; i < f->config->num_cores; i++) {
        append_clock(f, clocks, core_ids[i].aclk);
        append_core_name(f, names, "aclk", i);
    }
    for (i = 0; i < f->config->num_cores; i++) {
        append_clock(f, clocks, core_ids[i].hclk);
        append_core_name(f, names, "hclk", i);
    }
    append_clock(f, clocks, PCLK_NPU_ROOT);
    append_name(names, "pclk");
    set_array(f, node, "clocks", clocks);
    set_array(f, node, "clock-names", names);
}

static void set_vendor_resets(NpuFdt *f, const char *node)
{
    g_autoptr(GByteArray) resets = g_byte_array_new();
    g_autoptr(GByteArray) names = g_byte_array_new();
    unsigned i;

    for (i = 0; i < f->config->num_cores; i++) {
        append_reset_a(f, resets, i);
        append_core_name(f, names, "srst_a", i);
    }
    for (i = 0; i < f->config->num_cores; i++) {
        append_reset_h(f, resets, i);
        append_core_name(f, names, "srst_h", i);
    }
    set_array(f, node, "resets", resets);
    set_array(f, node, "reset-names", names);
}

/*
 * Rates and voltages of the vendor's tree, without its variants for chips of
 * other grades.  The last one is more than the board's supply gives.
 */
static const struct {
    uint32_t hz, uv;
} vendor_opps[] = {
    { 300000000, 675000 },
    { 400000000, 675000 },
    { 500000000, 675000 },
    { 600000000, 675000 },
    { 700000000, 700000 },
    { 800000000, 750000 },
    { 900000000, 800000 },
    { 1000000000, 850000 },
};

#define VENDOR_MAX_UV           850000

static void add_vendor_opp(NpuFdt *f, uint32_t hz, uint32_t uv)
{
    g_autofree char *node = g_strdup_printf("/npu-opp-table/opp-%u", hz);

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_u64(f->fdt, node, "opp-hz", hz);
    /* Of the NPU and of its memory. */
    qemu_fdt_setprop_cells(f->fdt, node, "opp-microvolt",
                           uv, uv, VENDOR_MAX_UV, uv, uv, VENDOR_MAX_UV);
}

static void add_vendor_opps(NpuFdt *f, const char *npu)
{
    const char *node = "/npu-opp-table";
    uint32_t phandle = qemu_fdt_alloc_phandle(f->fdt);
    int i;

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_string(f->fdt, node, "compatible", "operating-points-v2");
    for (i = ARRAY_SIZE(vendor_opps) - 1; i >= 0; i--) {
        add_vendor_opp(f, vendor_opps[i].hz, vendor_opps[i].uv);
    }
    rk_phandle(f->fdt, node, phandle);
    qemu_fdt_setprop_cell(f->fdt, npu, "operating-points-v2", phandle);
}

/* The vendor's tree: one node for all cores. */
static void add_vendor_npu(NpuFdt *f)
{
    g_autofree char *node = g_strdup_printf("/npu@%" PRIx64,
                                            rk3588_npu_cores[0].base);
    g_autoptr(GByteArray) reg = g_byte_array_new();
    g_autoptr(GByteArray) domains = g_byte_array_new();
    g_autoptr(GByteArray) domain_names = g_byte_array_new();
    unsigned i;

    for (i = 0; i < f->config->num_cores; i++) {
        append_reg(reg, rk3588_npu_cores[i].base, RK3588_NPU_CORE_SIZE);
        append_cells(domains, f->power, core_ids[i].domain);
        append_name(domain_names, "npu%u", i);
    }

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_string(f->fdt, node, "compatible",
                            "rockchip,rk3588-rknpu");
    set_array(f, node, "reg", reg);
    set_vendor_interrupts(f, node, "irq");
    set_vendor_clocks(f, node);
    set_vendor_resets(f, node);
    if (!f->config->simple) {
        set_array(f, node, "power-domains", domains);
    }
    if (!f->config->simple && !has_plain_names(f)) {
        set_array(f, node, "power-domain-names", domain_names);
    }
    set_iommus(f, node, 0);
    qemu_fdt_setprop_cell(f->fdt, node, "rknpu-supply", f->regulator);
    qemu_fdt_setprop_cell(f->fdt, node, "mem-supply", f->regulator);
    rk_dma_coherent(f->fdt, node, f->config->coherent);
    if (f->config->scmi) {
        add_vendor_opps(f, node);
    }
    qemu_fdt_setprop_string(f->fdt, node, "status", "okay");
}

static void set_core_clocks(NpuFdt *f, const char *node, unsigned core)
{
    static const char names[] = "aclk\0hclk\0npu\0pclk";
    g_autoptr(GByteArray) clocks = g_byte_array_new();
    g_autoptr(GByteArray) assigned = g_byte_array_new();

    append_clock(f, clocks, core_ids[core].aclk);
    append_clock(f, clocks, core_ids[core].hclk);
    append_npu_clock(f, clocks);
    append_clock(f, clocks, PCLK_NPU_ROOT);
    set_array(f, node, "clocks", clocks);
    append_npu_clock(f, assigned);
    set_array(f, node, "assigned-clocks", assigned);
    qemu_fdt_setprop(f->fdt, node, "clock-names", names, sizeof(names));
    qemu_fdt_setprop_cell(f->fdt, node, "assigned-clock-rates",
                          f->config->assigned_hz);
}

static void add_core(NpuFdt *f, unsigned core)
{
    static const char reg_names[] = "pc\0cna\0core";
    static const char reset_names[] = "srst_a\0srst_h";
    const Rk3588NpuCoreInfo *info = &rk3588_npu_cores[core];
    g_autofree char *node = g_strdup_printf("/npu@%" PRIx64, info->base);
    g_autoptr(GByteArray) resets = g_byte_array_new();

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_string(f->fdt, node, "compatible",
                            "rockchip,rk3588-rknn-core");
    qemu_fdt_setprop_sized_cells(f->fdt, node, "reg",
                                 2, info->base, 2, 0x1000,
                                 2, info->base + 0x1000, 2, 0x1000,
                                 2, info->base + 0x3000, 2, 0x1000);
    qemu_fdt_setprop(f->fdt, node, "reg-names", reg_names, sizeof(reg_names));
    rk_interrupt(f->fdt, node, info->spi);
    set_core_clocks(f, node, core);
    append_reset_a(f, resets, core);
    append_reset_h(f, resets, core);
    set_array(f, node, "resets", resets);
    qemu_fdt_setprop(f->fdt, node, "reset-names", reset_names,
                     sizeof(reset_names));
    set_core_domain(f, node, core);
    set_iommus(f, node, core);
    qemu_fdt_setprop_cell(f->fdt, node, "npu-supply", f->regulator);
    qemu_fdt_setprop_cell(f->fdt, node, "sram-supply", f->regulator);
    rk_dma_coherent(f->fdt, node, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, node, "status", "okay");
}

/* Numbers of mainline, as only trees for it have the sensors. */
#define PCLK_TSADC              157
#define CLK_TSADC               158
#define SRST_P_TSADC            86
#define SRST_TSADC              87
#define TSADC_HZ                2000000

#define TSADC_NODE              "/tsadc@fec00000"

static void add_tsadc(NpuFdt *f, uint32_t phandle)
{
    static const char clock_names[] = "tsadc\0apb_pclk";
    static const char reset_names[] = "tsadc-apb\0tsadc";

    qemu_fdt_add_subnode(f->fdt, TSADC_NODE);
    qemu_fdt_setprop_string(f->fdt, TSADC_NODE, "compatible",
                            "rockchip,rk3588-tsadc");
    rk_reg(f->fdt, TSADC_NODE, RK3588_TSADC_BASE, RK3588_TSADC_SIZE);
    rk_interrupt(f->fdt, TSADC_NODE, RK3588_TSADC_SPI);
    qemu_fdt_setprop_cells(f->fdt, TSADC_NODE, "clocks", f->cru, CLK_TSADC,
                           f->cru, PCLK_TSADC);
    qemu_fdt_setprop(f->fdt, TSADC_NODE, "clock-names", clock_names,
                     sizeof(clock_names));
    qemu_fdt_setprop_cells(f->fdt, TSADC_NODE, "assigned-clocks", f->cru,
                           CLK_TSADC);
    qemu_fdt_setprop_cell(f->fdt, TSADC_NODE, "assigned-clock-rates",
                          TSADC_HZ);
    qemu_fdt_setprop_cells(f->fdt, TSADC_NODE, "resets", f->cru, SRST_P_TSADC,
                           f->cru, SRST_TSADC);
    qemu_fdt_setprop(f->fdt, TSADC_NODE, "reset-names", reset_names,
                     sizeof(reset_names));
    qemu_fdt_setprop_cell(f->fdt, TSADC_NODE, "rockchip,hw-tshut-temp",
                          120000);
    qemu_fdt_setprop_cell(f->fdt, TSADC_NODE, "rockchip,hw-tshut-mode", 0);
    qemu_fdt_setprop_cell(f->fdt, TSADC_NODE, "rockchip,hw-tshut-polarity", 0);
    qemu_fdt_setprop_cell(f->fdt, TSADC_NODE, "#thermal-sensor-cells", 1);
    rk_phandle(f->fdt, TSADC_NODE, phandle);
}

/* By sensor. */
static const char *const zone_names[RK3588_TSADC_SENSORS] = {
    "package", "bigcore0", "bigcore2", "littlecore", "center", "gpu", "npu",
};

static void add_trip(NpuFdt *f, const char *zone, const char *name,
                     const char *type, uint32_t mc, uint32_t hysteresis,
                     uint32_t phandle)
{
    g_autofree char *node = g_strdup_printf("%s/trips/%s", zone, name);

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_cell(f->fdt, node, "temperature", mc);
    qemu_fdt_setprop_cell(f->fdt, node, "hysteresis", hysteresis);
    qemu_fdt_setprop_string(f->fdt, node, "type", type);
    rk_phandle(f->fdt, node, phandle);
}

/* As the GPU's: mainline's zone of the NPU names nothing that cools it. */
static void add_cooling(NpuFdt *f, const char *zone, uint32_t npu)
{
    g_autofree char *maps = g_strdup_printf("%s/cooling-maps", zone);
    g_autofree char *map = g_strdup_printf("%s/map0", maps);
    uint32_t alert = qemu_fdt_alloc_phandle(f->fdt);
    uint32_t no_limit = UINT32_MAX;

    add_trip(f, zone, "npu-alert", "passive", 85000, 2000, alert);
    qemu_fdt_add_subnode(f->fdt, maps);
    qemu_fdt_add_subnode(f->fdt, map);
    qemu_fdt_setprop_cell(f->fdt, map, "trip", alert);
    qemu_fdt_setprop_cells(f->fdt, map, "cooling-device", npu, no_limit,
                           no_limit);
}

/* @npu: who cools its zone, or 0. */
static void add_zone(NpuFdt *f, unsigned sensor, uint32_t tsadc, uint32_t npu)
{
    const char *name = zone_names[sensor];
    g_autofree char *zone = g_strdup_printf("/thermal-zones/%s-thermal", name);
    g_autofree char *trips = g_strdup_printf("%s/trips", zone);
    g_autofree char *critical = g_strdup_printf("%s-crit", name);
    bool cooled = npu && sensor == RK3588_TSADC_NPU;

    qemu_fdt_add_subnode(f->fdt, zone);
    qemu_fdt_setprop_cell(f->fdt, zone, "polling-delay-passive",
                          cooled ? 100 : 0);
    qemu_fdt_setprop_cell(f->fdt, zone, "polling-delay", 0);
    qemu_fdt_setprop_cells(f->fdt, zone, "thermal-sensors", tsadc, sensor);
    qemu_fdt_add_subnode(f->fdt, trips);
    add_trip(f, zone, critical, "critical", 115000, 0,
             qemu_fdt_alloc_phandle(f->fdt));
    if (cooled) {
        add_cooling(f, zone, npu);
    }
}

/* The vendor's node, which is there. */
static uint32_t add_cooling_device(NpuFdt *f)
{
    g_autofree char *node = g_strdup_printf("/npu@%" PRIx64,
                                            rk3588_npu_cores[0].base);
    uint32_t phandle = qemu_fdt_alloc_phandle(f->fdt);

    qemu_fdt_setprop_cell(f->fdt, node, "#cooling-cells", 2);
    rk_phandle(f->fdt, node, phandle);
    return phandle;
}

static void add_thermal(NpuFdt *f, bool cooled)
{
    uint32_t tsadc = qemu_fdt_alloc_phandle(f->fdt);
    uint32_t npu;
    unsigned i;

    if (f->config->simple || f->config->rockchip) {
        return;
    }
    npu = cooled ? add_cooling_device(f) : 0;
    qemu_fdt_add_subnode(f->fdt, "/thermal-zones");
    for (i = 0; i < RK3588_TSADC_SENSORS; i++) {
        add_zone(f, i, tsadc, npu);
    }
    add_tsadc(f, tsadc);
}

static void allocate_phandles(NpuFdt *f)
{
    unsigned i;

    f->cru = qemu_fdt_alloc_phandle(f->fdt);
    f->bus_clk = qemu_fdt_alloc_phandle(f->fdt);
    f->resets = qemu_fdt_alloc_phandle(f->fdt);
    f->npu_clk = qemu_fdt_alloc_phandle(f->fdt);
    f->power = qemu_fdt_alloc_phandle(f->fdt);
    f->regulator = qemu_fdt_alloc_phandle(f->fdt);
    f->php_grf = qemu_fdt_alloc_phandle(f->fdt);
    f->sys_grf = qemu_fdt_alloc_phandle(f->fdt);
    for (i = 0; i < NPU_MAX_CORES; i++) {
        f->iommu[i] = qemu_fdt_alloc_phandle(f->fdt);
    }
    for (i = 0; i < RK3588_QOS_NUM; i++) {
        f->qos[i] = qemu_fdt_alloc_phandle(f->fdt);
    }
}

/*
 * A new node becomes the first child, so they are added last first.  Their
 * order matters: the clock unit needs its input clocks when it is set up, and
 * drivers that number the cores as they probe need them in the SoC's order.
 */
static void add_soc(NpuFdt *f)
{
    if (f->config->simple) {
        rk_simple_resets(f->fdt, f->resets);
        add_regulator(f);
        rk_simple_clocks(f->fdt, f->config->assigned_hz, f->npu_clk,
                         f->bus_clk);
        return;
    }
    add_pmu(f);
    add_cru(f);
    add_grfs(f);
    add_regulator(f);
    add_clocks(f);
}

void rk3588_npu_fdt_mainline(void *fdt, const Rk3588NpuFdtConfig *config)
{
    NpuFdt f = { .fdt = fdt, .config = config };
    int core;

    allocate_phandles(&f);
    if (!config->simple) {
        add_qos(&f);
    }
    rk_model_control(fdt);
    for (core = config->num_cores - 1; core >= 0; core--) {
        if (config->iommu_version) {
            add_iommu(&f, core);
        }
        add_core(&f, core);
    }
    add_soc(&f);
    add_thermal(&f, false);
}

void rk3588_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config)
{
    NpuFdt f = { .fdt = fdt, .config = config };

    allocate_phandles(&f);
    if (!config->simple) {
        add_qos(&f);
    }
    rk_model_control(fdt);
    if (config->iommu_version) {
        add_vendor_iommu(&f);
    }
    add_vendor_npu(&f);
    add_soc(&f);
    add_thermal(&f, config->scmi);
}
