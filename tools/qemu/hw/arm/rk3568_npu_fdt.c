/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device-tree nodes of the RK3568 NPU subsystem: clocks and power domain as
 * Linux's drivers have them, core and IOMMU as the vendor's tree has them, with
 * the numbers of Linux's drivers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/npu/rk3588_scmi.h"
#include "rk3588_npu_fdt.h"
#include "rk_npu_fdt_util.h"

const Rk3588NpuCoreInfo rk3568_npu_cores[RK3568_NPU_CORES] = {
    { 0xfde40000, 151, 1, { 0xfde4b000 } },
};

/* dt-bindings/clock/rk3568-cru.h */
enum {
    CLK_NPU = 35,
    PCLK_NPU_PRE = 38,
    HCLK_NPU_PRE = 37,
    ACLK_NPU_PRE = 39,
    ACLK_NPU = 40,
    HCLK_NPU = 41,
    SRST_A_NPU = 43,
    SRST_H_NPU = 44,
};

/* dt-bindings/power/rk3568-power.h */
#define RK3568_PD_NPU   6

#define CRU_NODE        "/clock-controller@fdd20000"
#define PMU_NODE        "/power-management@fdd90000"
#define POWER_NODE      PMU_NODE "/power-controller"
#define PD_NPU_NODE     POWER_NODE "/power-domain@6"
#define IOMMU_NODE      "/iommu@fde4b000"
#define NPU_NODE        "/npu@fde40000"

typedef struct NpuFdt {
    void *fdt;
    const Rk3588NpuFdtConfig *config;
    uint32_t cru;
    uint32_t grf;
    uint32_t npu_clk;
    uint32_t power;
    uint32_t regulator;
    uint32_t iommu;
} NpuFdt;

static void add_regulator(NpuFdt *f)
{
    const char *node = "/regulator-vdd-npu";

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_string(f->fdt, node, "compatible", "regulator-fixed");
    qemu_fdt_setprop_string(f->fdt, node, "regulator-name", "vdd_npu");
    qemu_fdt_setprop_cell(f->fdt, node, "regulator-min-microvolt", 900000);
    qemu_fdt_setprop_cell(f->fdt, node, "regulator-max-microvolt", 900000);
    rk_phandle(f->fdt, node, f->regulator);
}

static void add_grf(NpuFdt *f)
{
    const char *node = "/syscon@fdc60000";

    qemu_fdt_add_subnode(f->fdt, node);
    RK_STRINGS(f->fdt, node, "compatible", "rockchip,rk3568-grf\0syscon");
    rk_reg(f->fdt, node, RK3568_GRF_BASE, RK3588_GRF_SIZE);
    rk_phandle(f->fdt, node, f->grf);
}

/* Its supply has to be on, and its bus's QoS is left alone (MID). */
static void add_pmu(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, PMU_NODE);
    RK_STRINGS(f->fdt, PMU_NODE, "compatible",
               "rockchip,rk3568-pmu\0syscon\0simple-mfd");
    rk_reg(f->fdt, PMU_NODE, RK3568_PMU_BASE, RK3568_PMU_SIZE);
    rk_power_controller(f->fdt, POWER_NODE,
                        "rockchip,rk3568-power-controller", f->power);
    qemu_fdt_add_subnode(f->fdt, PD_NPU_NODE);
    qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "reg", RK3568_PD_NPU);
    qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "#power-domain-cells", 0);
    qemu_fdt_setprop_cells(f->fdt, PD_NPU_NODE, "clocks",
                           f->cru, ACLK_NPU_PRE, f->cru, HCLK_NPU_PRE,
                           f->cru, PCLK_NPU_PRE);
    qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "domain-supply", f->regulator);
}

static void add_iommu(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, IOMMU_NODE);
    qemu_fdt_setprop_string(f->fdt, IOMMU_NODE, "compatible",
                            f->config->iommu_version == 1
                            ? "rockchip,iommu" : "rockchip,rk3568-iommu");
    rk_reg(f->fdt, IOMMU_NODE, rk3568_npu_cores[0].bank[0], 0x40);
    rk_interrupt(f->fdt, IOMMU_NODE, rk3568_npu_cores[0].spi);
    RK_STRINGS(f->fdt, IOMMU_NODE, "interrupt-names", "rknpu_mmu");
    qemu_fdt_setprop_cells(f->fdt, IOMMU_NODE, "clocks", f->cru, ACLK_NPU,
                           f->cru, HCLK_NPU);
    RK_STRINGS(f->fdt, IOMMU_NODE, "clock-names", "aclk\0iface");
    qemu_fdt_setprop_cells(f->fdt, IOMMU_NODE, "power-domains", f->power,
                           RK3568_PD_NPU);
    qemu_fdt_setprop_cell(f->fdt, IOMMU_NODE, "#iommu-cells", 0);
    rk_dma_coherent(f->fdt, IOMMU_NODE, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, IOMMU_NODE, "status", "okay");
    rk_phandle(f->fdt, IOMMU_NODE, f->iommu);
}

/* The compute clock is firmware's; that of the CRU is of no effect (IAV). */
static void set_clocks(NpuFdt *f)
{
    if (f->config->scmi) {
        qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "clocks",
                               f->npu_clk, RK3568_SCMI_CLK_NPU,
                               f->cru, CLK_NPU, f->cru, ACLK_NPU,
                               f->cru, HCLK_NPU);
    } else {
        qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "clocks", f->npu_clk,
                               f->cru, CLK_NPU, f->cru, ACLK_NPU,
                               f->cru, HCLK_NPU);
    }
    RK_STRINGS(f->fdt, NPU_NODE, "clock-names", "scmi_clk\0clk\0aclk\0hclk");
    qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "assigned-clocks", f->cru,
                           CLK_NPU);
    qemu_fdt_setprop_cell(f->fdt, NPU_NODE, "assigned-clock-rates",
                          f->config->assigned_hz);
}

static void add_npu(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, NPU_NODE);
    RK_STRINGS(f->fdt, NPU_NODE, "compatible",
               "rockchip,rk3568-rknpu\0rockchip,rknpu");
    rk_reg(f->fdt, NPU_NODE, rk3568_npu_cores[0].base, RK3588_NPU_CORE_SIZE);
    rk_interrupt(f->fdt, NPU_NODE, rk3568_npu_cores[0].spi);
    set_clocks(f);
    qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "resets", f->cru, SRST_A_NPU,
                           f->cru, SRST_H_NPU);
    RK_STRINGS(f->fdt, NPU_NODE, "reset-names", "srst_a\0srst_h");
    qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "power-domains", f->power,
                           RK3568_PD_NPU);
    qemu_fdt_setprop_cell(f->fdt, NPU_NODE, "rknpu-supply", f->regulator);
    if (f->config->iommu_version) {
        qemu_fdt_setprop_cell(f->fdt, NPU_NODE, "iommus", f->iommu);
    }
    rk_dma_coherent(f->fdt, NPU_NODE, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, NPU_NODE, "status", "okay");
}

static void add_npu_clock(NpuFdt *f)
{
    if (f->config->scmi) {
        rk_scmi(f->fdt, f->npu_clk);
        return;
    }
    rk_fixed_clock(f->fdt, "/clock-npu", "scmi_clk_npu",
                   f->config->assigned_hz);
    rk_phandle(f->fdt, "/clock-npu", f->npu_clk);
}

void rk3568_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config)
{
    NpuFdt f = {
        .fdt = fdt,
        .config = config,
        .cru = qemu_fdt_alloc_phandle(fdt),
        .grf = qemu_fdt_alloc_phandle(fdt),
        .npu_clk = qemu_fdt_alloc_phandle(fdt),
        .power = qemu_fdt_alloc_phandle(fdt),
        .regulator = qemu_fdt_alloc_phandle(fdt),
        .iommu = qemu_fdt_alloc_phandle(fdt),
    };

    rk_model_control(fdt);
    if (config->iommu_version) {
        add_iommu(&f);
    }
    add_npu(&f);
    add_pmu(&f);
    rk_cru(fdt, CRU_NODE, "rockchip,rk3568-cru", RK3568_CRU_BASE,
           RK3568_CRU_SIZE, f.cru);
    qemu_fdt_setprop_cell(fdt, CRU_NODE, "rockchip,grf", f.grf);
    add_grf(&f);
    add_regulator(&f);
    add_npu_clock(&f);
    rk_fixed_clock(fdt, "/clock-1", "xin24m", 24000000);
}
