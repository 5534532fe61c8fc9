// SPDX-License-Identifier: MIT
/*
 * Register programs of the DPU of an RK3566 or RK3568 alone, of bytes: copies of an atom, sums of two
 * tensors, and functions by the LUT, which tasks before load; and what convolutions have of them.
 *
 * Registers, and the forms of the stages, are those of Rockchip's compilers for these chips. They have
 * one task per table, which copies an atom; iav saw on a board that of what tasks load the first one alone
 * arrived.
 */
#include "npu_rk3568.h"

#define DPU_BURST	4
/* Others hang the bus (iav: 7). */
#define RDMA_BURST	8
/* All groups back to the first one, which compilers have in programs that use the LUT. */
#define POINTERS_LUT	0x30

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

/* No operands but the main one. */
static void stage(struct npu_prog *p, const struct npu_ew_task *t)
{
	npu_prog_stage_fly(p, t);
	npu_prog_set_modes68(p, true, false);
	SET(p, RDMA_BRDMA_CFG_DISABLE, 1);
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
}

static void emit(struct npu_prog *p, uint32_t pointers)
{
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, pointers);
	npu_prog_raw(p, NPU_TGT_RDMA, NPU_OFF_RDMA_S_POINTER, pointers);
	npu_prog_emit_dpu(p);
	npu_prog_emit_rdma68(p);
}

static int finish(struct npu_prog *p)
{
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

/* ---- an atom ---- */

static struct npu_ew_task atom_task(const struct npu_prog *p, uint64_t from, uint64_t to)
{
	return (struct npu_ew_task){
		.type = NPU_PREC_INT8, .rows = 1, .cols = npu_prog_chip(p)->atom,
		.a = { .iova = from, .pitch = 1 }, .y = { .iova = to, .pitch = 1 },
	};
}

int npu_prog_copy_rk3568(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	struct npu_ew_task t = atom_task(p, from_iova, to_iova);

	stage(p, &t);
	emit(p, NPU_POINTERS68);
	return finish(p);
}

/* ---- sums ---- */

/* BS makes of the first operand what EW's conversion makes of the second one. */
int npu_prog_add_rk3568(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how)
{
	int64_t surface = (int64_t)npu_prog_chip(p)->atom * t->b.pitch;

	stage(p, t);
	npu_prog_set_operation(p, t);
	SET(p, DPU_BS_CFG_BYPASS, 0);
	SET(p, DPU_BS_CFG_ALU_BYPASS, 0);
	SET(p, DPU_BS_CFG_MUL_BYPASS, 0);
	SET68(p, DPU_BS_CFG_ALU_ALGO, NPU_CODE_ALU_ADD);
	SET(p, DPU_BS_ALU_CFG_OPERAND, -how->a_zp);
	SET(p, DPU_BS_MUL_CFG_MUL_OPERAND, (uint16_t)how->a_weight);
	SET(p, DPU_EW_CFG_BYPASS, 0);
	SET(p, DPU_EW_CFG_OP_BYPASS, 0);
	SET(p, DPU_EW_CFG_OP_CVT_BYPASS, 0);
	SET(p, DPU_EW_CFG_RELU_BYPASS, how->act != NPU_ACT_RELU);
	SET(p, DPU_EW_CFG_ALU_ALGO, 0);
	SET68(p, DPU_EW_CFG_ALU_ALGO, NPU_CODE_ALU_ADD);
	SET(p, DPU_EW_CFG_EDATA_SIZE, 0);
	SET(p, DPU_EW_CFG_CVT_TYPE, 1);
	SET68(p, DPU_EW_CVT_OFFSET_VALUE, -how->b_zp);
	SET(p, DPU_EW_CVT_SCALE_CVT_SCALE, (uint16_t)how->b_weight);
	SET(p, RDMA_ERDMA_CFG_DISABLE, 0);
	SET68(p, RDMA_ERDMA_CFG_DATA_SIZE, 0);
	SET68(p, RDMA_EW_SURF_END_BYTES, surface - npu_prog_chip(p)->atom);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, how->rq.zp);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, how->rq.scale);
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, how->rq.shift);
	emit(p, NPU_POINTERS68);
	return finish(p);
}

/* ---- functions ---- */

/* Behind the registers, whose own access to the LUT reads. */
static int load_table(struct npu_prog *p, const int8_t *map, uint32_t id, uint64_t from, uint64_t to)
{
	struct npu_ew_task t = atom_task(p, from, to);
	int32_t first = id ? 0 : -NPU_MAP_STEPS;

	stage(p, &t);
	emit(p, NPU_POINTERS68);
	npu_prog_select_table(p, id);
	for (int32_t i = 0; i <= NPU_MAP_STEPS; i++) {
		SET(p, DPU_LUT_ACCESS_DATA_DATA, npu_map_code(map, first + i));
		npu_prog_emit(p, NPU_R_DPU_LUT_ACCESS_DATA);
	}
	return finish(p);
}

int npu_prog_load_map_rk3568(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova)
{
	if (load_table(p, map, 0, from_iova, to_iova))
		return npu_prog_error(p);
	return load_table(p, map, 1, from_iova, to_iova);
}

/* BN makes a step of the tables of a byte's. */
int npu_prog_map_rk3568(struct npu_prog *p, const struct npu_ew_task *t)
{
	stage(p, t);
	SET(p, DPU_BN_CFG_BYPASS, 0);
	SET(p, DPU_BN_CFG_ALU_BYPASS, 0);
	SET(p, DPU_BN_CFG_MUL_BYPASS, 0);
	SET68(p, DPU_BN_CFG_ALU_ALGO, NPU_CODE_ALU_ADD);
	SET(p, DPU_BN_MUL_CFG_MUL_OPERAND, NPU_MAP_STEP);
	npu_prog_set_lut(p);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, -NPU_MAP_BASE);
	emit(p, POINTERS_LUT);
	return finish(p);
}
