/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device-tree nodes and properties that all NPU subsystems of the rk3588-npu
 * machine have.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/arm/fdt.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk3588_scmi.h"
#include "rk3588_npu_fdt.h"
#include "rk_npu_fdt_util.h"

void rk_phandle(void *fdt, const char *node, uint32_t phandle)
{
    qemu_fdt_setprop_cell(fdt, node, "phandle", phandle);
}

void rk_reg(void *fdt, const char *node, hwaddr base, hwaddr size)
{
    qemu_fdt_setprop_sized_cells(fdt, node, "reg", 2, base, 2, size);
}

void rk_interrupt(void *fdt, const char *node, int spi)
{
    qemu_fdt_setprop_cells(fdt, node, "interrupts", GIC_FDT_IRQ_TYPE_SPI, spi,
                           GIC_FDT_IRQ_FLAGS_LEVEL_HI);
}

void rk_dma_coherent(void *fdt, const char *node, bool coherent)
{
    if (coherent) {
        qemu_fdt_setprop(fdt, node, "dma-coherent", NULL, 0);
    }
}

void rk_fixed_clock(void *fdt, const char *node, const char *name, uint32_t hz)
{
    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible", "fixed-clock");
    qemu_fdt_setprop_cell(fdt, node, "clock-frequency", hz);
    qemu_fdt_setprop_string(fdt, node, "clock-output-names", name);
    qemu_fdt_setprop_cell(fdt, node, "#clock-cells", 0);
}

void rk_simple_clocks(void *fdt, uint32_t npu_hz, uint32_t npu_phandle,
                      uint32_t bus_phandle)
{
    rk_fixed_clock(fdt, "/clock-npu", "clk_npu", npu_hz);
    rk_phandle(fdt, "/clock-npu", npu_phandle);
    rk_fixed_clock(fdt, "/clock-npu-bus", "clk_npu_bus", RK_NPU_BUS_HZ);
    rk_phandle(fdt, "/clock-npu-bus", bus_phandle);
}

/* What a DesignWare core's reset register looks like to Linux. */
void rk_simple_resets(void *fdt, uint32_t phandle)
{
    const char *node = "/reset-controller@fdae0000";

    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible", "snps,dw-high-reset");
    rk_reg(fdt, node, RK_RESETS_BASE, RK_CRU_RESETS_SIZE);
    qemu_fdt_setprop_cell(fdt, node, "#reset-cells", 1);
    rk_phandle(fdt, node, phandle);
}

void rk_scmi(void *fdt, uint32_t phandle)
{
    static const char clk[] = "/firmware/scmi/protocol@14";
    uint32_t shmem = qemu_fdt_alloc_phandle(fdt);

    qemu_fdt_add_subnode(fdt, "/sram@10f000");
    qemu_fdt_setprop_string(fdt, "/sram@10f000", "compatible", "mmio-sram");
    rk_reg(fdt, "/sram@10f000", RK3588_SCMI_BASE, RK3588_SCMI_SIZE);
    qemu_fdt_setprop_cell(fdt, "/sram@10f000", "#address-cells", 1);
    qemu_fdt_setprop_cell(fdt, "/sram@10f000", "#size-cells", 1);
    qemu_fdt_setprop_cells(fdt, "/sram@10f000", "ranges", 0, 0,
                           RK3588_SCMI_BASE, RK3588_SCMI_SIZE);
    qemu_fdt_add_subnode(fdt, "/sram@10f000/sram@0");
    qemu_fdt_setprop_string(fdt, "/sram@10f000/sram@0", "compatible",
                            "arm,scmi-shmem");
    qemu_fdt_setprop_cells(fdt, "/sram@10f000/sram@0", "reg", 0,
                           RK3588_SCMI_SIZE);
    rk_phandle(fdt, "/sram@10f000/sram@0", shmem);

    qemu_fdt_add_subnode(fdt, "/firmware");
    qemu_fdt_add_subnode(fdt, "/firmware/scmi");
    qemu_fdt_setprop_string(fdt, "/firmware/scmi", "compatible",
                            "arm,scmi-smc");
    qemu_fdt_setprop_cell(fdt, "/firmware/scmi", "arm,smc-id",
                          RK3588_SCMI_SMC_ID);
    qemu_fdt_setprop_cell(fdt, "/firmware/scmi", "shmem", shmem);
    qemu_fdt_setprop_cell(fdt, "/firmware/scmi", "#address-cells", 1);
    qemu_fdt_setprop_cell(fdt, "/firmware/scmi", "#size-cells", 0);
    qemu_fdt_add_subnode(fdt, clk);
    qemu_fdt_setprop_cell(fdt, clk, "reg", 0x14);
    qemu_fdt_setprop_cell(fdt, clk, "#clock-cells", 1);
    rk_phandle(fdt, clk, phandle);
}

void rk_cru(void *fdt, const char *node, const char *compatible, hwaddr base,
            hwaddr size, uint32_t phandle)
{
    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible", compatible);
    rk_reg(fdt, node, base, size);
    qemu_fdt_setprop_cell(fdt, node, "#clock-cells", 1);
    qemu_fdt_setprop_cell(fdt, node, "#reset-cells", 1);
    rk_phandle(fdt, node, phandle);
}

void rk_power_controller(void *fdt, const char *node, const char *compatible,
                         uint32_t phandle)
{
    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible", compatible);
    qemu_fdt_setprop_cell(fdt, node, "#address-cells", 1);
    qemu_fdt_setprop_cell(fdt, node, "#power-domain-cells", 1);
    qemu_fdt_setprop_cell(fdt, node, "#size-cells", 0);
    rk_phandle(fdt, node, phandle);
}

/* Of the binding for GPIOs. */
#define GPIO_ACTIVE_LOW         1

static void add_fixed_regulator(void *fdt, const Rk3588NpuFdtConfig *config,
                                const char *node, const char *name,
                                uint32_t microvolt, unsigned line)
{
    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible", "regulator-fixed");
    qemu_fdt_setprop_string(fdt, node, "regulator-name", name);
    qemu_fdt_setprop_cell(fdt, node, "regulator-min-microvolt", microvolt);
    qemu_fdt_setprop_cell(fdt, node, "regulator-max-microvolt", microvolt);
    if (config->gpio) {
        /* Low is on, as after a reset; so do boot loaders leave it. */
        qemu_fdt_setprop_cells(fdt, node, "gpio", config->gpio, line,
                               GPIO_ACTIVE_LOW);
        qemu_fdt_setprop(fdt, node, "regulator-boot-on", NULL, 0);
    }
}

void rk_supply(void *fdt, const Rk3588NpuFdtConfig *config, const char *node,
               const char *name, uint32_t microvolt, uint32_t phandle)
{
    if (config->gpio) {
        add_fixed_regulator(fdt, config, "/regulator-unused", "unused",
                            microvolt, RK_NPU_UNUSED_GPIO);
    }
    add_fixed_regulator(fdt, config, node, name, microvolt, RK_NPU_SUPPLY_GPIO);
    rk_phandle(fdt, node, phandle);
}

void rk_model_control(void *fdt)
{
    const char *node = "/model-control@fdaf0000";

    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible",
                            "rknpu-accel,model-control");
    rk_reg(fdt, node, NPU_CTL_BASE, NPU_CTL_SIZE);
}
