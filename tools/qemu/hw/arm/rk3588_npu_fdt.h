/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses, interrupts and device-tree nodes of the NPU subsystems of the
 * rk3588-npu machine: the RK3588's and those of smaller chips.
 */
#ifndef HW_ARM_RK3588_NPU_FDT_H
#define HW_ARM_RK3588_NPU_FDT_H

#include "exec/hwaddr.h"
#include "hw/npu/rk3588_npu_stats.h"
#include "hw/npu/rk_cru.h"
#include "hw/npu/rk_iommu.h"
#include "hw/npu/rk_pmu.h"

#define RK3588_NPU_CORE_SIZE    0x10000

typedef struct Rk3588NpuCoreInfo {
    hwaddr base;
    int spi;
    unsigned num_banks;
    hwaddr bank[RK_IOMMU_MAX_BANKS];
} Rk3588NpuCoreInfo;

extern const Rk3588NpuCoreInfo rk3588_npu_cores[NPU_MAX_CORES];
extern const hwaddr rk3588_npu_qos[RK3588_QOS_NUM];

extern const Rk3588NpuCoreInfo rk3562_npu_cores[RK3562_NPU_CORES];
extern const hwaddr rk3562_npu_qos[RK3562_QOS_NUM];

#define RK3562_PMU_GRF_BASE     0xff010000
#define RK3562_SYS_GRF_BASE     0xff030000
#define RK3562_CRU_BASE         0xff100000
#define RK3562_PMU_BASE         0xff258000
#define RK3562_QOS_BASE         0xfee40000
/* What the vendor's tree assigns. */
#define RK3562_NPU_CLOCK_HZ     600000000

extern const Rk3588NpuCoreInfo rk3568_npu_cores[RK3568_NPU_CORES];

#define RK3568_PMU_GRF_BASE     0xfdc20000
#define RK3568_GRF_BASE         0xfdc60000
#define RK3568_CRU_BASE         0xfdd20000
#define RK3568_PMU_BASE         0xfdd90000
/* What the vendor's tree assigns. */
#define RK3568_NPU_CLOCK_HZ     600000000

#define RK3576_NPU_CORE_SIZE    0x8000

extern const Rk3588NpuCoreInfo rk3576_npu_cores[RK3576_NPU_CORES];
extern const hwaddr rk3576_npu_qos[RK3576_QOS_NUM];

#define RK3576_PMU0_GRF_BASE    0x26024000
#define RK3576_IOC_GRF_BASE     0x26040000
#define RK3576_CRU_BASE         0x27200000
#define RK3576_PMU_BASE         0x27380000
/* What version 14 of mainline's nodes assigns. */
#define RK3576_NPU_CLOCK_HZ     594000000

#define RV1126B_NPU_CORE_SIZE   0x8000

extern const Rk3588NpuCoreInfo rv1126b_npu_cores[RV1126B_NPU_CORES];
extern const hwaddr rv1126b_npu_qos[RV1126B_QOS_NUM];

#define RV1126B_CRU_BASE        0x20000000
#define RV1126B_GRF_BASE        0x20100000
#define RV1126B_IOC_GRF_BASE    0x201a0000
#define RV1126B_QOS_BASE        0x20340000
#define RV1126B_PMU_BASE        0x20838000
/* What CLK_NPU_PLL can have that the vendor's lowest voltage is enough for. */
#define RV1126B_NPU_CLOCK_HZ    594000000

#define RK3588_SYS_GRF_BASE     0xfd58c000
#define RK3588_PHP_GRF_BASE     0xfd5b0000
#define RK3588_GRF_SIZE         0x1000
#define RK3588_CRU_BASE         0xfd7c0000
#define RK3588_PMU_BASE         0xfd8d8000
#define RK3588_TSADC_BASE       0xfec00000
/* 397 in the SoC; virt has 256. */
#define RK3588_TSADC_SPI        240
/* Not in silicon: between the RK3588's cores and the control device. */
#define RK_RESETS_BASE          0xfdae0000

/* What firmware leaves the NPU's clock at, and mainline's tree assigns. */
#define RK3588_NPU_CLOCK_HZ     200000000
/* Lines of virt's GPIO controller: the NPU's supply, and one of nothing. */
#define RK_NPU_SUPPLY_GPIO      4
#define RK_NPU_UNUSED_GPIO      5

/* Of buses whose clock is fixed: the RK3588's clk_npu_dsu0 in its CRU. */
#define RK_NPU_BUS_HZ           594000000

typedef struct Rk3588NpuFdtConfig {
    unsigned num_cores;
    unsigned iommu_version; /* 0: the tree has none */
    bool simple;            /* no CRU, PMU and SCMI: fixed clocks, always on */
    bool rockchip;          /* numbers and IOMMU's name of Rockchip's kernels */
    bool coherent;          /* it snoops the CPUs' caches */
    bool one_irq;           /* in the vendor's tree, of all cores */
    bool scmi;              /* the NPU's clock is SCMI's, else a fixed one */
    uint32_t assigned_hz;   /* rate that the cores' nodes ask for */
    uint32_t gpio;          /* phandle of who switches the supply; 0: nobody */
} Rk3588NpuFdtConfig;

/* Add the NPU's nodes, shaped as in mainline's rk3588-base. */
void rk3588_npu_fdt_mainline(void *fdt, const Rk3588NpuFdtConfig *config);
/* The same hardware as the vendor's tree has it: one node for all cores. */
void rk3588_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config);
/* The RK3562's, RK3568's and RV1126B's, which mainline has none of. */
void rk3562_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config);
void rk3568_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config);
void rv1126b_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config);
/* The RK3576's. */
void rk3576_npu_fdt_mainline(void *fdt, const Rk3588NpuFdtConfig *config);
void rk3576_npu_fdt_vendor(void *fdt, const Rk3588NpuFdtConfig *config);

#endif
