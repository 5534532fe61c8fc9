/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device-tree nodes of the NPU subsystems with one core, of the RK3562, the
 * RK3568 and the RV1126B: clocks and power domain as Linux's drivers have them,
 * core and IOMMU as the vendor's tree has them, with the numbers of Linux's
 * drivers.  Simple trees are for kernels that do not have those.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/npu/rk3588_scmi.h"
#include "rk3588_npu_fdt.h"
#include "rk_npu_fdt_util.h"

const Rk3588NpuCoreInfo rk3562_npu_cores[RK3562_NPU_CORES] = {
    { 0xff300000, 119, 1, { 0xff30a000 } },
};

const Rk3588NpuCoreInfo rk3568_npu_cores[RK3568_NPU_CORES] = {
    { 0xfde40000, 151, 1, { 0xfde4b000 } },
};

const Rk3588NpuCoreInfo rv1126b_npu_cores[RV1126B_NPU_CORES] = {
    { 0x22000000, 144, 1, { 0x22002000 } },
};

const hwaddr rk3562_npu_qos[RK3562_QOS_NUM] = { RK3562_QOS_BASE };
const hwaddr rv1126b_npu_qos[RV1126B_QOS_NUM] = { RV1126B_QOS_BASE };

#define CRU_NODE        "/clock-controller"
#define PMU_NODE        "/power-management"
#define POWER_NODE      PMU_NODE "/power-controller"
#define PD_NPU_NODE     POWER_NODE "/power-domain"
#define IOMMU_NODE      "/iommu"
#define NPU_NODE        "/npu"
#define QOS_NODE        "/qos"
#define GRF_NODE        "/syscon"

/* Several strings, with \0 in between. */
typedef struct NpuNames {
    const char *list;
    size_t bytes;
} NpuNames;

#define NAMES(list)     { list, sizeof(list) }

/* Numbers are those of dt-bindings; of clocks 0 is none. */
typedef struct NpuChip {
    const Rk3588NpuCoreInfo *core;
    hwaddr core_size;
    NpuNames compatible, pmu_compatible, qos_compatible, clock_names;
    const char *cru_compatible, *power_compatible;
    hwaddr cru_base, cru_size, pmu_base, pmu_size;
    hwaddr grf, qos;            /* 0: none */
    uint32_t scmi_clk;          /* of the compute clock; 0: that is the aclk */
    uint32_t clk, aclk, hclk;
    uint32_t assigned;          /* of these, what is given a rate */
    uint32_t domain_clk[3];
    uint32_t srst_a, srst_h;
    uint32_t domain;
    uint32_t microvolt;
    bool domain_supply;
} NpuChip;

/* dt-bindings of rockchip,rk3562-cru and rockchip,rk3562-power */
static const NpuChip rk3562 = {
    .core = rk3562_npu_cores,
    .core_size = RK3588_NPU_CORE_SIZE,
    .compatible = NAMES("rockchip,rk3562-rknpu"),
    .pmu_compatible = NAMES("rockchip,rk3562-pmu\0syscon\0simple-mfd"),
    .qos_compatible = NAMES("rockchip,rk3562-qos\0syscon"),
    .clock_names = NAMES("scmi_clk\0aclk\0hclk"),
    .cru_compatible = "rockchip,rk3562-cru",
    .power_compatible = "rockchip,rk3562-power-controller",
    .cru_base = RK3562_CRU_BASE,
    .cru_size = RK3562_CRU_SIZE,
    .pmu_base = RK3562_PMU_BASE,
    .pmu_size = RK3562_PMU_SIZE,
    .qos = RK3562_QOS_BASE,
    .scmi_clk = RK3562_SCMI_CLK_NPU,
    .aclk = 10,                 /* ACLK_RKNN */
    .hclk = 111,                /* HCLK_RKNN */
    .assigned = 10,
    .srst_a = 20,               /* SRST_A_RKNN */
    .srst_h = 21,               /* SRST_H_RKNN */
    .domain = 7,                /* RK3562_PD_NPU */
    .microvolt = 900000,
};

/*
 * dt-bindings of rk3568-cru and rk3568-power.  The compute clock is firmware's;
 * that of the CRU is of no effect (IAV).  The domain's supply has to be on, and
 * its bus's QoS is left alone (MID).
 */
static const NpuChip rk3568 = {
    .core = rk3568_npu_cores,
    .core_size = RK3588_NPU_CORE_SIZE,
    .compatible = NAMES("rockchip,rk3568-rknpu\0rockchip,rknpu"),
    .pmu_compatible = NAMES("rockchip,rk3568-pmu\0syscon\0simple-mfd"),
    .clock_names = NAMES("scmi_clk\0clk\0aclk\0hclk"),
    .cru_compatible = "rockchip,rk3568-cru",
    .power_compatible = "rockchip,rk3568-power-controller",
    .cru_base = RK3568_CRU_BASE,
    .cru_size = RK3568_CRU_SIZE,
    .pmu_base = RK3568_PMU_BASE,
    .pmu_size = RK3568_PMU_SIZE,
    .grf = RK3568_GRF_BASE,
    .scmi_clk = RK3568_SCMI_CLK_NPU,
    .clk = 35,                  /* CLK_NPU */
    .aclk = 40,                 /* ACLK_NPU */
    .hclk = 41,                 /* HCLK_NPU */
    .assigned = 35,
    .domain_clk = { 39, 37, 38 },   /* ACLK_, HCLK_, PCLK_NPU_PRE */
    .srst_a = 43,               /* SRST_A_NPU */
    .srst_h = 44,               /* SRST_H_NPU */
    .domain = 6,                /* RK3568_PD_NPU */
    .microvolt = 900000,
    .domain_supply = true,
};

/*
 * dt-bindings of rockchip,rv1126b-cru and rockchip,rv1126b-power-controller.
 * The compute clock is the bus's; on boards it comes from a PVTPLL, for which
 * Linux has no driver.
 */
static const NpuChip rv1126b = {
    .core = rv1126b_npu_cores,
    .core_size = RV1126B_NPU_CORE_SIZE,
    .compatible = NAMES("rockchip,rv1126b-rknpu"),
    .pmu_compatible = NAMES("rockchip,rv1126b-pmu\0syscon\0simple-mfd"),
    .qos_compatible = NAMES("syscon"),
    .clock_names = NAMES("aclk\0hclk"),
    .cru_compatible = "rockchip,rv1126b-cru",
    .power_compatible = "rockchip,rv1126b-power-controller",
    .cru_base = RV1126B_CRU_BASE,
    .cru_size = RV1126B_CRU_SIZE,
    .pmu_base = RV1126B_PMU_BASE,
    .pmu_size = RV1126B_PMU_SIZE,
    .qos = RV1126B_QOS_BASE,
    .aclk = 124,                /* ACLK_RKNN */
    .hclk = 123,                /* HCLK_RKNN */
    .assigned = 124,
    .srst_a = 288,              /* SRST_A_RKNN */
    .srst_h = 287,              /* SRST_H_RKNN */
    .domain = 0,                /* RV1126B_PD_NPU */
    .microvolt = 850000,
};

typedef struct NpuFdt {
    void *fdt;
    const Rk3588NpuFdtConfig *config;
    const NpuChip *chip;
    uint32_t cru;
    uint32_t bus_clk;           /* of simple trees, as is resets */
    uint32_t resets;
    uint32_t grf;
    uint32_t npu_clk;
    uint32_t power;
    uint32_t regulator;
    uint32_t iommu;
    uint32_t qos;
} NpuFdt;

/* Returns how many cells a clock of the CRU takes. */
static unsigned put_clock(const NpuFdt *f, uint32_t *cells, uint32_t number)
{
    if (f->config->simple) {
        cells[0] = cpu_to_be32(f->bus_clk);
        return 1;
    }
    cells[0] = cpu_to_be32(f->cru);
    cells[1] = cpu_to_be32(number);
    return 2;
}

static void set_domain(NpuFdt *f, const char *node)
{
    if (!f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, node, "power-domains", f->power,
                               f->chip->domain);
    }
}

static void set_names(NpuFdt *f, const char *node, const char *property,
                      NpuNames names)
{
    qemu_fdt_setprop(f->fdt, node, property, names.list, names.bytes);
}

static void add_regulator(NpuFdt *f)
{
    rk_supply(f->fdt, f->config, "/regulator-vdd-npu", "vdd_npu",
              f->chip->microvolt, f->regulator);
}

static void add_grf(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, GRF_NODE);
    RK_STRINGS(f->fdt, GRF_NODE, "compatible", "rockchip,rk3568-grf\0syscon");
    rk_reg(f->fdt, GRF_NODE, f->chip->grf, RK3588_GRF_SIZE);
    rk_phandle(f->fdt, GRF_NODE, f->grf);
}

static void add_qos(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, QOS_NODE);
    set_names(f, QOS_NODE, "compatible", f->chip->qos_compatible);
    rk_reg(f->fdt, QOS_NODE, f->chip->qos, RK_QOS_SIZE);
    rk_phandle(f->fdt, QOS_NODE, f->qos);
}

static void add_domain(NpuFdt *f)
{
    const NpuChip *c = f->chip;

    qemu_fdt_add_subnode(f->fdt, PD_NPU_NODE);
    qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "reg", c->domain);
    qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "#power-domain-cells", 0);
    if (c->domain_clk[0]) {
        qemu_fdt_setprop_cells(f->fdt, PD_NPU_NODE, "clocks",
                               f->cru, c->domain_clk[0],
                               f->cru, c->domain_clk[1],
                               f->cru, c->domain_clk[2]);
    }
    if (c->qos) {
        qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "pm_qos", f->qos);
    }
    if (c->domain_supply) {
        qemu_fdt_setprop_cell(f->fdt, PD_NPU_NODE, "domain-supply",
                              f->regulator);
    }
}

static void add_pmu(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, PMU_NODE);
    set_names(f, PMU_NODE, "compatible", f->chip->pmu_compatible);
    rk_reg(f->fdt, PMU_NODE, f->chip->pmu_base, f->chip->pmu_size);
    rk_power_controller(f->fdt, POWER_NODE, f->chip->power_compatible,
                        f->power);
    add_domain(f);
}

static void add_iommu(NpuFdt *f)
{
    uint32_t clocks[4], n;

    qemu_fdt_add_subnode(f->fdt, IOMMU_NODE);
    qemu_fdt_setprop_string(f->fdt, IOMMU_NODE, "compatible",
                            f->config->iommu_version == 1
                            ? "rockchip,iommu" : "rockchip,rk3568-iommu");
    rk_reg(f->fdt, IOMMU_NODE, f->chip->core->bank[0], 0x40);
    rk_interrupt(f->fdt, IOMMU_NODE, f->chip->core->spi);
    RK_STRINGS(f->fdt, IOMMU_NODE, "interrupt-names", "rknpu_mmu");
    n = put_clock(f, clocks, f->chip->aclk);
    n += put_clock(f, clocks + n, f->chip->hclk);
    qemu_fdt_setprop(f->fdt, IOMMU_NODE, "clocks", clocks, n * sizeof(*clocks));
    RK_STRINGS(f->fdt, IOMMU_NODE, "clock-names", "aclk\0iface");
    set_domain(f, IOMMU_NODE);
    qemu_fdt_setprop_cell(f->fdt, IOMMU_NODE, "#iommu-cells", 0);
    rk_dma_coherent(f->fdt, IOMMU_NODE, f->config->coherent);
    qemu_fdt_setprop_string(f->fdt, IOMMU_NODE, "status", "okay");
    rk_phandle(f->fdt, IOMMU_NODE, f->iommu);
}

static void set_clocks(NpuFdt *f)
{
    const NpuChip *c = f->chip;
    uint32_t cells[8], n = 0;

    if (c->scmi_clk) {
        cells[n++] = cpu_to_be32(f->npu_clk);
    }
    if (c->scmi_clk && f->config->scmi) {
        cells[n++] = cpu_to_be32(c->scmi_clk);
    }
    if (c->clk) {
        n += put_clock(f, cells + n, c->clk);
    }
    n += put_clock(f, cells + n, c->aclk);
    n += put_clock(f, cells + n, c->hclk);
    qemu_fdt_setprop(f->fdt, NPU_NODE, "clocks", cells, n * sizeof(*cells));
    set_names(f, NPU_NODE, "clock-names", c->clock_names);
    if (f->config->simple) {
        return;
    }
    qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "assigned-clocks", f->cru,
                           c->assigned);
    qemu_fdt_setprop_cell(f->fdt, NPU_NODE, "assigned-clock-rates",
                          f->config->assigned_hz);
}

static void add_npu(NpuFdt *f)
{
    qemu_fdt_add_subnode(f->fdt, NPU_NODE);
    set_names(f, NPU_NODE, "compatible", f->chip->compatible);
    rk_reg(f->fdt, NPU_NODE, f->chip->core->base, f->chip->core_size);
    rk_interrupt(f->fdt, NPU_NODE, f->chip->core->spi);
    set_clocks(f);
    if (f->config->simple) {
        qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "resets",
                               f->resets, 0, f->resets, 1);
    } else {
        qemu_fdt_setprop_cells(f->fdt, NPU_NODE, "resets", f->cru,
                               f->chip->srst_a, f->cru, f->chip->srst_h);
    }
    RK_STRINGS(f->fdt, NPU_NODE, "reset-names", "srst_a\0srst_h");
    set_domain(f, NPU_NODE);
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

/* A new node becomes the first child, so input clocks are added last. */
static void add_soc(NpuFdt *f)
{
    const NpuChip *c = f->chip;

    if (f->config->simple) {
        rk_simple_resets(f->fdt, f->resets);
        add_regulator(f);
        rk_simple_clocks(f->fdt, f->config->assigned_hz, f->npu_clk,
                         f->bus_clk);
        return;
    }
    if (c->qos) {
        add_qos(f);
    }
    add_pmu(f);
    rk_cru(f->fdt, CRU_NODE, c->cru_compatible, c->cru_base, c->cru_size,
           f->cru);
    if (c->grf) {
        qemu_fdt_setprop_cell(f->fdt, CRU_NODE, "rockchip,grf", f->grf);
        add_grf(f);
    }
    add_regulator(f);
    if (c->scmi_clk) {
        add_npu_clock(f);
    }
    rk_fixed_clock(f->fdt, "/clock-1", "xin24m", 24000000);
}

static void add_vendor(void *fdt, const Rk3588NpuFdtConfig *config,
                       const NpuChip *chip)
{
    NpuFdt f = {
        .fdt = fdt,
        .config = config,
        .chip = chip,
        .cru = qemu_fdt_alloc_phandle(fdt),
        .bus_clk = qemu_fdt_alloc_phandle(fdt),
        .resets = qemu_fdt_alloc_phandle(fdt),
        .grf = qemu_fdt_alloc_phandle(fdt),
        .npu_clk = qemu_fdt_alloc_phandle(fdt),
        .power = qemu_fdt_alloc_phandle(fdt),
        .regulator = qemu_fdt_alloc_phandle(fdt),
        .iommu = qemu_fdt_alloc_phandle(fdt),
        .qos = qemu_fdt_alloc_phandle(fdt),
    };

    rk_model_control(fdt);
    if (config->iommu_version) {
        add_iommu(&f);
    }
    add_npu(&f);
    add_soc(&f);
}

void rk3562_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config)
{
    add_vendor(fdt, config, &rk3562);
}

void rk3568_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config)
{
    add_vendor(fdt, config, &rk3568);
}

void rv1126b_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config)
{
    add_vendor(fdt, config, &rv1126b);
}
