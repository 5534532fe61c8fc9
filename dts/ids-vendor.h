/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Numbers of clocks and resets in trees of Rockchip's 5.10 and 6.1 kernels (rk3588-cru.h): not mainline's. */
#define ID_ACLK_NPU0		301
#define ID_HCLK_NPU0		302
#define ID_ACLK_NPU1		290
#define ID_HCLK_NPU1		291
#define ID_ACLK_NPU2		292
#define ID_HCLK_NPU2		293
#define ID_PCLK_NPU_ROOT	305
#define ID_SRST_A_RKNN0		486
#define ID_SRST_H_RKNN0		488
#define ID_SRST_A_RKNN1		432
#define ID_SRST_H_RKNN1		434
#define ID_SRST_A_RKNN2		448
#define ID_SRST_H_RKNN2		450

#define IRQ(spi)		0 spi 4
/* 5.10 knows no newer name for this IOMMU. */
#define IOMMU_COMPATIBLE	"rockchip,iommu-v2"
