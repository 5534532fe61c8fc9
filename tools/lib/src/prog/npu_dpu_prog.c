// SPDX-License-Identifier: MIT
/*
 * What the register programs of all tasks of the DPU have in common: the order of its registers
 * and of its RDMA's, stages that do nothing, groups that take turns.
 */
#include "npu_task.h"

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

/* Shadow registers keep stale values, so unused ones are written as 0 too. */
static const enum npu_reg_id dpu_order[] = {
	NPU_R_DPU_FEATURE_MODE_CFG, NPU_R_DPU_DATA_FORMAT, NPU_R_DPU_OFFSET_PEND,
	NPU_R_DPU_DST_BASE_ADDR, NPU_R_DPU_DST_SURF_STRIDE,
	NPU_R_DPU_DATA_CUBE_WIDTH, NPU_R_DPU_DATA_CUBE_HEIGHT, NPU_R_DPU_DATA_CUBE_NOTCH,
	NPU_R_DPU_DATA_CUBE_CHANNEL,
	NPU_R_DPU_BS_CFG, NPU_R_DPU_BS_ALU_CFG, NPU_R_DPU_BS_MUL_CFG, NPU_R_DPU_BS_RELUX_CMP,
	NPU_R_DPU_BS_OW_CFG, NPU_R_DPU_BS_OW_OP,
	NPU_R_DPU_WDMA_SIZE_0, NPU_R_DPU_WDMA_SIZE_1,
	NPU_R_DPU_BN_CFG, NPU_R_DPU_BN_ALU_CFG, NPU_R_DPU_BN_MUL_CFG, NPU_R_DPU_BN_RELUX_CMP,
	NPU_R_DPU_EW_CFG, NPU_R_DPU_EW_CVT_OFFSET, NPU_R_DPU_EW_CVT_SCALE,
	NPU_R_DPU_EW_RELUX_CMP,
	NPU_R_DPU_OUT_CVT_OFFSET, NPU_R_DPU_OUT_CVT_SCALE, NPU_R_DPU_OUT_CVT_SHIFT,
	NPU_R_DPU_EW_OP_VALUE_0, NPU_R_DPU_EW_OP_VALUE_1, NPU_R_DPU_EW_OP_VALUE_2,
	NPU_R_DPU_EW_OP_VALUE_3, NPU_R_DPU_EW_OP_VALUE_4, NPU_R_DPU_EW_OP_VALUE_5,
	NPU_R_DPU_EW_OP_VALUE_6, NPU_R_DPU_EW_OP_VALUE_7,
	NPU_R_DPU_SURFACE_ADD, NPU_R_DPU_UNKNOWN_40C4,
	NPU_R_DPU_LUT_ACCESS_CFG, NPU_R_DPU_LUT_ACCESS_DATA, NPU_R_DPU_LUT_CFG,
	NPU_R_DPU_LUT_INFO, NPU_R_DPU_LUT_LE_START, NPU_R_DPU_LUT_LE_END,
	NPU_R_DPU_LUT_LO_START, NPU_R_DPU_LUT_LO_END,
	NPU_R_DPU_LUT_LE_SLOPE_SCALE, NPU_R_DPU_LUT_LE_SLOPE_SHIFT,
	NPU_R_DPU_LUT_LO_SLOPE_SCALE, NPU_R_DPU_LUT_LO_SLOPE_SHIFT,
};

static const enum npu_reg_id rdma_order[] = {
	NPU_R_RDMA_DATA_CUBE_WIDTH, NPU_R_RDMA_DATA_CUBE_HEIGHT, NPU_R_RDMA_DATA_CUBE_CHANNEL,
	NPU_R_RDMA_SRC_BASE_ADDR, NPU_R_RDMA_BRDMA_CFG, NPU_R_RDMA_BS_BASE_ADDR,
	NPU_R_RDMA_NRDMA_CFG, NPU_R_RDMA_BN_BASE_ADDR,
	NPU_R_RDMA_ERDMA_CFG, NPU_R_RDMA_EW_BASE_ADDR, NPU_R_RDMA_EW_SURF_STRIDE,
	NPU_R_RDMA_FEATURE_MODE_CFG, NPU_R_RDMA_SRC_DMA_CFG, NPU_R_RDMA_SURF_NOTCH,
	NPU_R_RDMA_PAD_CFG, NPU_R_RDMA_WEIGHT, NPU_R_RDMA_EW_SURF_NOTCH,
};

void npu_prog_set_pointers(struct npu_prog *p)
{
	SET(p, DPU_S_POINTER_POINTER_PP_EN, 1);
	SET(p, DPU_S_POINTER_EXECUTER_PP_EN, 1);
	SET(p, DPU_S_POINTER_POINTER_PP_MODE, 1);
	SET(p, RDMA_S_POINTER_POINTER_PP_EN, 1);
	SET(p, RDMA_S_POINTER_EXECUTER_PP_EN, 1);
	SET(p, RDMA_S_POINTER_POINTER_PP_MODE, 1);
}

/* BS, BN and EW hand on what they get. */
void npu_prog_set_stages_off(struct npu_prog *p)
{
	SET(p, DPU_BS_CFG_BYPASS, 1);
	SET(p, DPU_BS_CFG_ALU_BYPASS, 1);
	SET(p, DPU_BS_CFG_MUL_BYPASS, 1);
	SET(p, DPU_BS_CFG_RELU_BYPASS, 1);
	SET(p, DPU_BN_CFG_BYPASS, 1);
	SET(p, DPU_BN_CFG_ALU_BYPASS, 1);
	SET(p, DPU_BN_CFG_MUL_BYPASS, 1);
	SET(p, DPU_BN_CFG_RELU_BYPASS, 1);
	SET(p, DPU_EW_CFG_BYPASS, 1);
	SET(p, DPU_EW_CFG_OP_BYPASS, 1);
	SET(p, DPU_EW_CFG_LUT_BYPASS, 1);
	SET(p, DPU_EW_CFG_OP_CVT_BYPASS, 1);
	SET(p, DPU_EW_CFG_RELU_BYPASS, 1);
	SET(p, DPU_EW_CVT_SCALE_CVT_SCALE, 1);
}

/* The same share of the bus for each of RDMA's engines. */
void npu_prog_set_shares(struct npu_prog *p)
{
	SET(p, RDMA_WEIGHT_M_WEIGHT, 1);
	SET(p, RDMA_WEIGHT_B_WEIGHT, 1);
	SET(p, RDMA_WEIGHT_N_WEIGHT, 1);
	SET(p, RDMA_WEIGHT_E_WEIGHT, 1);
}

/* An RK3568 has no such registers: what memory gets is the cube. */
static bool is_of_rk3588(enum npu_reg_id r)
{
	return r == NPU_R_DPU_WDMA_SIZE_0 || r == NPU_R_DPU_WDMA_SIZE_1 || r == NPU_R_RDMA_EW_SURF_NOTCH;
}

void npu_prog_emit_all(struct npu_prog *p, const enum npu_reg_id *order, size_t n)
{
	bool rk3568 = npu_prog_chip(p)->encoding == NPU_ENCODING_RK3568;

	for (size_t i = 0; i < n; i++)
		if (!rk3568 || !is_of_rk3588(order[i]))
			npu_prog_emit(p, order[i]);
}

void npu_prog_emit_dpu(struct npu_prog *p)
{
	npu_prog_emit_all(p, dpu_order, ARRAY_SIZE(dpu_order));
}

void npu_prog_emit_rdma(struct npu_prog *p)
{
	npu_prog_emit_all(p, rdma_order, ARRAY_SIZE(rdma_order));
}
