/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Numbers of clocks and resets in trees that follow mainline's bindings (rockchip,rk3588-cru.h), 6.2 and later. */
#define ID_ACLK_NPU0		287
#define ID_HCLK_NPU0		288
#define ID_ACLK_NPU1		276
#define ID_HCLK_NPU1		277
#define ID_ACLK_NPU2		278
#define ID_HCLK_NPU2		279
#define ID_PCLK_NPU_ROOT	291
#define ID_SRST_A_RKNN0		272
#define ID_SRST_H_RKNN0		274
#define ID_SRST_A_RKNN1		250
#define ID_SRST_H_RKNN1		252
#define ID_SRST_A_RKNN2		254
#define ID_SRST_H_RKNN2		256

/* The interrupt controller's node has a fourth cell, for the partition. */
#define IRQ(spi)		0 spi 4 0
#define IOMMU_COMPATIBLE	"rockchip,rk3588-iommu", "rockchip,rk3568-iommu"
