/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device-tree nodes of the RK3576 NPU subsystem: clocks, power domains and QoS
 * as in Linux's rk3576.dtsi, cores and IOMMUs as the series "accel/rocket: add
 * RK3576 NPU (RKNN) support" (version 14) has them, or one node for all cores
 * as in the vendor's tree, with the numbers of Linux's drivers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/arm/fdt.h"
#include "rk3588_npu_fdt.h"
#include "rk_npu_fdt_util.h"

const Rk3588NpuCoreInfo rk3576_npu_cores[RK3576_NPU_CORES] = {
    { 0x27700000, 247, 2, { 0x27702000, 0x27702100 } },
    { 0x27708000, 248, 2, { 0x2770a000, 0x2770a100 } },
};

const hwaddr rk3576_npu_qos[RK3576_QOS_NUM] = {
    [RK3576_QOS_MCU] = 0x27f08000,
    [RK3576_QOS_NSP0] = 0x27f08080,
    [RK3576_QOS_NSP1] = 0x27f08100,
    [RK3576_QOS_M0RO] = 0x27f22080,
    [RK3576_QOS_M1RO] = 0x27f22100,
    [RK3576_QOS_M0] = 0x27f20000,
    [RK3576_QOS_M1] = 0x27f21000,
};

/* dt-bindings/clock/rockchip,rk3576-cru.h */
enum {
    ACLK_RKNN0 = 229,
    ACLK_RKNN1 = 230,
    HCLK_RKNN_ROOT = 231,
    CLK_RKNN_DSU0 = 232,
    PCLK_NPUTOP_ROOT = 233,
    ACLK_RKNN_CBUF = 240,
    HCLK_NPU_CM0_ROOT = 241,
    HCLK_RKNN_CBUF = 244,
};

/* dt-bindings/reset/rockchip,rk3576-cru.h */
enum {
    SRST_A_RKNN0 = 204,
    SRST_A_RKNN1 = 207,
    SRST_A_RKNN_CBUF = 218,
    SRST_H_RKNN_CBUF = 227,
};

/* dt-bindings/power/rockchip,rk3576-power.h */
enum {
    RK3576_PD_NPU = 0,
    RK3576_PD_NPUTOP = 1,
    RK3576_PD_NPU0 = 2,
    RK3576_PD_NPU1 = 3,
};

#define CRU_NODE        "/clock-controller@27200000"
#define PMU_NODE        "/power-management@27380000"
#define POWER_NODE      PMU_NODE "/power-controller"
#define PD_NPU_NODE     POWER_NODE "/power-domain@0"
#define PD_NPUTOP_NODE  PD_NPU_NODE "/power-domain@1"

typedef struct NpuFdt {
    void *fdt;
    const Rk3588NpuFdtConfig *config;
    uint32_t cru;
    uint32_t npu_clk;           /* of simple trees, as are these two */
    uint32_t bus_clk;
    uint32_t resets;
    uint32_t power;
    uint32_t regulator;
    uint32_t iommu[RK3576_NPU_CORES];
    uint32_t qos[RK3576_QOS_NUM];
} NpuFdt;

/* Cells of a property, at most as many as the longest has. */
typedef struct Cells {
    uint32_t cell[16];
    unsigned n;
} Cells;

static void put_cell(Cells *c, uint32_t value)
{
    assert(c->n < ARRAY_SIZE(c->cell));
    c->cell[c->n++] = cpu_to_be32(value);
}

static void set_cells(NpuFdt *f, const char *node, const char *property,
                      const Cells *c)
{
    qemu_fdt_setprop(f->fdt, node, property, c->cell,
                     c->n * sizeof(*c->cell));
}

static void put_clock(const NpuFdt *f, Cells *c, uint32_t number)
{
    if (f->config->simple) {
        put_cell(c, number == CLK_RKNN_DSU0 ? f->npu_clk : f->bus_clk);
    } else {
        put_cell(c, f->cru);
        put_cell(c, number);
    }
}

static void set_clocks(NpuFdt *f, const char *node, const uint32_t *numbers,
                       unsigned n)
{
    Cells c = { 0 };
    unsigned i;

    for (i = 0; i < n; i++) {
        put_clock(f, &c, numbers[i]);
    }
    set_cells(f, node, "clocks", &c);
}

/* Of CBUF's resets there is no bit in the register of simple trees. */
static void put_reset(const NpuFdt *f, Cells *c, uint32_t number)
{
    static const uint32_t simple[] = {
        SRST_A_RKNN0, 0, SRST_A_RKNN1, 0, SRST_A_RKNN_CBUF, SRST_H_RKNN_CBUF,
    };
    unsigned bit = 0;

    if (!f->config->simple) {
        put_cell(c, f->cru);
        put_cell(c, number);
        return;
    }
    while (simple[bit] != number) {
        bit++;
    }
    put_cell(c, f->resets);
    put_cell(c, bit);
}

static void add_regulator(NpuFdt *f)
{
    rk_supply(f->fdt, f->config, "/regulator-vdd-npu-s0", "vdd_npu_s0", 750000,
              f->regulator);
}

/* The clock driver does nothing without these two. */
static void add_grfs(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, "/syscon@26024000");
    RK_STRINGS(f->fdt, "/syscon@26024000", "compatible",
               "rockchip,rk3576-pmu0-grf\0syscon");
    rk_reg(f->fdt, "/syscon@26024000", RK3576_PMU0_GRF_BASE, RK3588_GRF_SIZE);
    qemu_fdt_add_subnode(f->fdt, "/syscon@26040000");
    RK_STRINGS(f->fdt, "/syscon@26040000", "compatible",
               "rockchip,rk3576-ioc-grf\0syscon");
    rk_reg(f->fdt, "/syscon@26040000", RK3576_IOC_GRF_BASE, RK3588_GRF_SIZE);
}

static void add_qos(NpuFdt *f)
{
    int i;

    for (i = RK3576_QOS_NUM - 1; i >= 0; i--) {
        g_autofree char *node = g_strdup_printf("/qos@%" PRIx64,
                                                rk3576_npu_qos[i]);

        qemu_fdt_add_subnode(f->fdt, node);
        RK_STRINGS(f->fdt, node, "compatible", "rockchip,rk3576-qos\0syscon");
        rk_reg(f->fdt, node, rk3576_npu_qos[i], RK_QOS_SIZE);
        rk_phandle(f->fdt, node, f->qos[i]);
    }
}

static void add_domain(NpuFdt *f, const char *node, uint32_t id, bool parent)
{
    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_cell(f->fdt, node, "reg", id);
    qemu_fdt_setprop_cell(f->fdt, node, "#power-domain-cells", parent);
    if (parent) {
        qemu_fdt_setprop_cell(f->fdt, node, "#address-cells", 1);
        qemu_fdt_setprop_cell(f->fdt, node, "#size-cells", 0);
    }
}

static void add_core_domain(NpuFdt *f, const char *node, uint32_t id,
                            uint32_t aclk, uint32_t qos)
{
    add_domain(f, node, id, false);
    qemu_fdt_setprop_cells(f->fdt, node, "clocks", f->cru, HCLK_RKNN_ROOT,
                           f->cru, aclk);
    qemu_fdt_setprop_cell(f->fdt, node, "pm_qos", qos);
}

static void add_domains(NpuFdt *f)
{
    add_domain(f, PD_NPU_NODE, RK3576_PD_NPU, true);
    add_domain(f, PD_NPUTOP_NODE, RK3576_PD_NPUTOP, true);
    qemu_fdt_setprop_cells(f->fdt, PD_NPUTOP_NODE, "clocks",
                           f->cru, ACLK_RKNN0, f->cru, ACLK_RKNN1,
                           f->cru, ACLK_RKNN_CBUF, f->cru, CLK_RKNN_DSU0,
                           f->cru, HCLK_RKNN_CBUF, f->cru, HCLK_RKNN_ROOT,
                           f->cru, HCLK_NPU_CM0_ROOT,
                           f->cru, PCLK_NPUTOP_ROOT);
    qemu_fdt_setprop_cells(f->fdt, PD_NPUTOP_NODE, "pm_qos",
                           f->qos[RK3576_QOS_MCU], f->qos[RK3576_QOS_NSP0],
                           f->qos[RK3576_QOS_NSP1], f->qos[RK3576_QOS_M0RO],
                           f->qos[RK3576_QOS_M1RO]);
    add_core_domain(f, PD_NPUTOP_NODE "/power-domain@3", RK3576_PD_NPU1,
                    ACLK_RKNN1, f->qos[RK3576_QOS_M1]);
    add_core_domain(f, PD_NPUTOP_NODE "/power-domain@2", RK3576_PD_NPU0,
                    ACLK_RKNN0, f->qos[RK3576_QOS_M0]);
}

static void add_pmu(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, PMU_NODE);
    RK_STRINGS(f->fdt, PMU_NODE, "compatible",
               "rockchip,rk3576-pmu\0syscon\0simple-mfd");
    rk_reg(f->fdt, PMU_NODE, RK3576_PMU_BASE, RK3576_PMU_SIZE);
    rk_power_controller(f->fdt, POWER_NODE,
                        "rockchip,rk3576-power-controller", f->power);
    add_domains(f);
}

static void set_iommu_end(NpuFdt *f, const char *node, unsigned iommu)
{
    RK_STRINGS(f->fdt, node, "compatible",
               "rockchip,rk3576-npu-iommu\0rockchip,rk3568-iommu");
    qemu_fdt_setprop_cell(f->fdt, node, "#iommu-cells", 0);
    rk_dma_coherent(f->fdt, node, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, node, "status", "okay");
    rk_phandle(f->fdt, node, f->iommu[iommu]);
}

static void add_iommu(NpuFdt *f, unsigned core)
{
    const uint32_t clocks[] = {
        ACLK_RKNN0 + core, HCLK_RKNN_ROOT, CLK_RKNN_DSU0, ACLK_RKNN_CBUF,
        HCLK_RKNN_CBUF,
    };
    const hwaddr *bank = rk3576_npu_cores[core].bank;
    g_autofree char *node = g_strdup_printf("/iommu@%" PRIx64, bank[0]);

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_sized_cells(f->fdt, node, "reg", 2, bank[0], 2, 0x100,
                                 2, bank[1], 2, 0x100);
    rk_interrupt(f->fdt, node, rk3576_npu_cores[core].spi);
    set_clocks(f, node, clocks, ARRAY_SIZE(clocks));
    RK_STRINGS(f->fdt, node, "clock-names",
               "aclk\0iface\0npu\0aclk_cbuf\0hclk_cbuf");
    if (!f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, node, "power-domains", f->power,
                               RK3576_PD_NPU0 + core);
    }
    set_iommu_end(f, node, core);
}

static void set_npu_end(NpuFdt *f, const char *node, unsigned iommu)
{
    if (!f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, node, "assigned-clocks", f->cru,
                               CLK_RKNN_DSU0);
        qemu_fdt_setprop_cell(f->fdt, node, "assigned-clock-rates",
                              f->config->assigned_hz);
    }
    if (f->config->iommu_version) {
        qemu_fdt_setprop_cell(f->fdt, node, "iommus", f->iommu[iommu]);
    }
    rk_dma_coherent(f->fdt, node, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, node, "status", "okay");
}

static void add_core(NpuFdt *f, unsigned core)
{
    const uint32_t clocks[] = {
        ACLK_RKNN0 + core, HCLK_RKNN_ROOT, CLK_RKNN_DSU0, PCLK_NPUTOP_ROOT,
        ACLK_RKNN_CBUF, HCLK_RKNN_CBUF,
    };
    hwaddr base = rk3576_npu_cores[core].base;
    g_autofree char *node = g_strdup_printf("/npu@%" PRIx64, base);
    Cells resets = { 0 };

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_string(f->fdt, node, "compatible",
                            "rockchip,rk3576-rknn-core");
    qemu_fdt_setprop_sized_cells(f->fdt, node, "reg", 2, base, 2, 0x1000,
                                 2, base + 0x1000, 2, 0x1000,
                                 2, base + 0x3000, 2, 0x1000);
    RK_STRINGS(f->fdt, node, "reg-names", "pc\0cna\0core");
    rk_interrupt(f->fdt, node, rk3576_npu_cores[core].spi);
    set_clocks(f, node, clocks, ARRAY_SIZE(clocks));
    RK_STRINGS(f->fdt, node, "clock-names",
               "aclk\0hclk\0npu\0pclk\0aclk_cbuf\0hclk_cbuf");
    put_reset(f, &resets, core ? SRST_A_RKNN1 : SRST_A_RKNN0);
    set_cells(f, node, "resets", &resets);
    RK_STRINGS(f->fdt, node, "reset-names", "srst_a");
    if (!f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, node, "power-domains", f->power,
                               core ? RK3576_PD_NPU1 : RK3576_PD_NPU0, f->power,
                               core ? RK3576_PD_NPU0 : RK3576_PD_NPU1);
    }
    qemu_fdt_setprop_cell(f->fdt, node, "npu-supply", f->regulator);
    set_npu_end(f, node, core);
}

static void set_vendor_interrupts(NpuFdt *f, const char *node)
{
    qemu_fdt_setprop_cells(f->fdt, node, "interrupts",
                           GIC_FDT_IRQ_TYPE_SPI, rk3576_npu_cores[0].spi,
                           GIC_FDT_IRQ_FLAGS_LEVEL_HI,
                           GIC_FDT_IRQ_TYPE_SPI, rk3576_npu_cores[1].spi,
                           GIC_FDT_IRQ_FLAGS_LEVEL_HI);
}

/* The vendor's tree: all banks in one node, which names no power domain. */
static void add_vendor_iommu(NpuFdt *f)
{
    static const uint32_t clocks[] = {
        ACLK_RKNN0, ACLK_RKNN1, HCLK_RKNN_ROOT, ACLK_RKNN_CBUF, HCLK_RKNN_CBUF,
    };
    const char *node = "/iommu@27702000";
    const hwaddr *b0 = rk3576_npu_cores[0].bank;
    const hwaddr *b1 = rk3576_npu_cores[1].bank;

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_sized_cells(f->fdt, node, "reg",
                                 2, b0[0], 2, 0x100, 2, b0[1], 2, 0x100,
                                 2, b1[0], 2, 0x100, 2, b1[1], 2, 0x100);
    set_vendor_interrupts(f, node);
    RK_STRINGS(f->fdt, node, "interrupt-names", "npu0_mmu\0npu1_mmu");
    set_clocks(f, node, clocks, ARRAY_SIZE(clocks));
    RK_STRINGS(f->fdt, node, "clock-names",
               "aclk0\0aclk1\0iface\0aclk_cbuf\0hclk_cbuf");
    set_iommu_end(f, node, 0);
}

static void add_vendor_npu(NpuFdt *f)
{
    static const uint32_t clocks[] = {
        CLK_RKNN_DSU0, ACLK_RKNN0, ACLK_RKNN1, HCLK_RKNN_ROOT, ACLK_RKNN_CBUF,
        HCLK_RKNN_CBUF,
    };
    const char *node = "/npu@27700000";
    Cells resets = { 0 };

    qemu_fdt_add_subnode(f->fdt, node);
    qemu_fdt_setprop_string(f->fdt, node, "compatible",
                            "rockchip,rk3576-rknpu");
    qemu_fdt_setprop_sized_cells(f->fdt, node, "reg",
                                 2, rk3576_npu_cores[0].base,
                                 2, RK3576_NPU_CORE_SIZE,
                                 2, rk3576_npu_cores[1].base,
                                 2, RK3576_NPU_CORE_SIZE);
    set_vendor_interrupts(f, node);
    RK_STRINGS(f->fdt, node, "interrupt-names", "npu0_irq\0npu1_irq");
    set_clocks(f, node, clocks, ARRAY_SIZE(clocks));
    RK_STRINGS(f->fdt, node, "clock-names",
               "clk_npu\0aclk0\0aclk1\0hclk_root\0aclk_cbuf\0hclk_cbuf");
    put_reset(f, &resets, SRST_A_RKNN0);
    put_reset(f, &resets, SRST_A_RKNN1);
    put_reset(f, &resets, SRST_A_RKNN_CBUF);
    put_reset(f, &resets, SRST_H_RKNN_CBUF);
    set_cells(f, node, "resets", &resets);
    RK_STRINGS(f->fdt, node, "reset-names",
               "srst_a0\0srst_a1\0srst_a_cbuf\0srst_h_cbuf");
    if (!f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, node, "power-domains", f->power,
                               RK3576_PD_NPU0, f->power, RK3576_PD_NPU1);
        RK_STRINGS(f->fdt, node, "power-domain-names", "npu0\0npu1");
    }
    qemu_fdt_setprop_cell(f->fdt, node, "rknpu-supply", f->regulator);
    qemu_fdt_setprop_cell(f->fdt, node, "mem-supply", f->regulator);
    set_npu_end(f, node, 0);
}

static void begin(NpuFdt *f)
{
    unsigned i;

    f->cru = qemu_fdt_alloc_phandle(f->fdt);
    f->npu_clk = qemu_fdt_alloc_phandle(f->fdt);
    f->bus_clk = qemu_fdt_alloc_phandle(f->fdt);
    f->resets = qemu_fdt_alloc_phandle(f->fdt);
    f->power = qemu_fdt_alloc_phandle(f->fdt);
    f->regulator = qemu_fdt_alloc_phandle(f->fdt);
    for (i = 0; i < RK3576_NPU_CORES; i++) {
        f->iommu[i] = qemu_fdt_alloc_phandle(f->fdt);
    }
    for (i = 0; i < RK3576_QOS_NUM; i++) {
        f->qos[i] = qemu_fdt_alloc_phandle(f->fdt);
    }
    /* The SoC's registers are where virt's PCIe has its windows. */
    qemu_fdt_nop_node(f->fdt, "/pcie@10000000");
    if (!f->config->simple) {
        add_qos(f);
    }
    rk_model_control(f->fdt);
}

/* New nodes become the first child: what others need is added last. */
static void end(NpuFdt *f)
{
    if (f->config->simple) {
        rk_simple_resets(f->fdt, f->resets);
        add_regulator(f);
        rk_simple_clocks(f->fdt, f->config->assigned_hz, f->npu_clk,
                         f->bus_clk);
        return;
    }
    add_pmu(f);
    rk_cru(f->fdt, CRU_NODE, "rockchip,rk3576-cru", RK3576_CRU_BASE,
           RK3576_CRU_SIZE, f->cru);
    add_grfs(f);
    add_regulator(f);
    rk_fixed_clock(f->fdt, "/clock-2", "xin32k", 32768);
    rk_fixed_clock(f->fdt, "/clock-1", "xin24m", 24000000);
    rk_fixed_clock(f->fdt, "/clock-0", "spll", 702000000);
}

void rk3576_npu_fdt_mainline(void *fdt, const Rk3588NpuFdtConfig *config)
{
    NpuFdt f = { .fdt = fdt, .config = config };
    int core;

    begin(&f);
    for (core = config->num_cores - 1; core >= 0; core--) {
        if (config->iommu_version) {
            add_iommu(&f, core);
        }
        add_core(&f, core);
    }
    end(&f);
}

void rk3576_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config)
{
    NpuFdt f = { .fdt = fdt, .config = config };

    begin(&f);
    if (config->iommu_version) {
        add_vendor_iommu(&f);
    }
    add_vendor_npu(&f);
    end(&f);
}
