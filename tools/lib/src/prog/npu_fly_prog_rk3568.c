// SPDX-License-Identifier: MIT
/*
 * What register programs with the DPU of an RK3566 or RK3568 have in common, and where they differ from
 * the RK3588's: as Rockchip's compilers have it for these chips.
 */
#include "npu_rk3568.h"

#define DPU_BURST	4
/* Others hang the bus (iav: 7). */
#define RDMA_BURST	8

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

void npu_prog_set_modes68(struct npu_prog *p, bool flying, bool depthwise)
{
	npu_prog_clear_register(p, NPU_R_DPU_FEATURE_MODE_CFG);
	SET68(p, DPU_FEATURE_MODE_CFG_FLYING_MODE, flying);
	SET68(p, DPU_FEATURE_MODE_CFG_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET68(p, DPU_FEATURE_MODE_CFG_CONV_MODE, depthwise ? NPU_CODE_MODE_DEPTHWISE : NPU_CODE_MODE_DIRECT);
	SET68(p, DPU_FEATURE_MODE_CFG_BURST_LEN, DPU_BURST);
	SET(p, RDMA_FEATURE_MODE_CFG_BURST_LEN, RDMA_BURST);
	SET(p, RDMA_FEATURE_MODE_CFG_MRDMA_DISABLE, 0);
	SET68(p, RDMA_NRDMA_CFG_DISABLE, 1);
}

void npu_prog_emit_rdma68(struct npu_prog *p)
{
	npu_prog_emit_rdma(p);
	EMIT68(p, RDMA_BS_LENGTH);
	EMIT68(p, RDMA_BN_LENGTH);
	EMIT68(p, RDMA_EW_SURF_END);
}
