// SPDX-License-Identifier: MIT
/*
 * Register programs of the DPU of an RK3562 alone, of bytes: copies of an atom, sums and products of two tensors, and
 * functions by the LUT, which a task before loads.
 *
 * Registers, and the forms of the stages, are those of Rockchip's compilers for this chip, which load both tables in
 * one task that copies an atom. In their sums BS and EW bring the tensors to one scale, in their products these take
 * zero points away.
 */
#include <errno.h>

#include "npu_rk3562.h"

#define ENABLE		(NPU_EN_DPU | NPU_EN_DPU_RDMA)
/* All groups back to the first one, which compilers have in programs that use the LUT. */
#define POINTERS_LUT	0x30

/* BS adds a number, and where its multiplier is on multiplies by one. */
#define BS_REGISTERS	0x12
#define BS_REGS_HIGH	0x10
#define EW_ADD		0x8002c0c0
#define EW_MUL		0x81004094
#define EW_LUT		0x01004140
#define LUT_LOAD	1
#define LUT_USE		0x160
#define LUT_INFO	0x50500

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

/* No operands but the main one. */
static void stage(struct npu_prog *p, const struct npu_ew_task *t)
{
	npu_prog_stage_fly(p, t);
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
}

static int finish(struct npu_prog *p, uint32_t pointers)
{
	npu_prog_emit_pointers62(p, ENABLE, pointers);
	return npu_prog_finish62(p, ENABLE);
}

/* ---- an atom ---- */

static void stage_atom(struct npu_prog *p, uint64_t from, uint64_t to)
{
	const struct npu_ew_task t = {
		.type = NPU_PREC_INT8, .rows = 1, .cols = npu_prog_chip(p)->atom,
		.a = { .iova = from, .pitch = 1 }, .y = { .iova = to, .pitch = 1 },
	};

	stage(p, &t);
	npu_prog_move62(p);
}

int npu_prog_copy_rk3562(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	stage_atom(p, from_iova, to_iova);
	return finish(p, NPU_POINTERS62);
}

/* ---- two tensors ---- */

static void stage_operands(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_requant *rq)
{
	npu_prog_stage_fly(p, t);
	npu_prog_set_operation(p, t);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, rq->zp);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, rq->scale);
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, rq->shift);
}

static void set_stages(struct npu_prog *p, uint32_t ew, int32_t a_zp, int32_t b_zp)
{
	npu_prog_move62(p);
	SET62(p, DPU_BS_CFG_FORM_LOW, BS_REGISTERS);
	SET62(p, DPU_BS_CFG_FORM_HIGH, BS_REGS_HIGH);
	SET62(p, DPU_BS_ALU_CFG_OPERAND, (uint32_t)-a_zp);
	SET62(p, DPU_EW_CFG_VALUE, ew);
	SET62(p, DPU_EW_CVT_OFFSET_VALUE, -b_zp);
}

int npu_prog_add_rk3562(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_sum *how)
{
	stage_operands(p, t, &how->rq);
	SET(p, DPU_BS_MUL_CFG_MUL_OPERAND, (uint16_t)how->a_weight);
	SET(p, DPU_EW_CVT_SCALE_CVT_SCALE, (uint16_t)how->b_weight);
	set_stages(p, EW_ADD, how->a_zp, how->b_zp);
	SET62(p, DPU_BS_OW_CFG_MUL_BYPASS, 0);
	if (how->act == NPU_ACT_RELU)
		npu_prog_clamp_ew62(p);
	return finish(p, NPU_POINTERS62);
}

int npu_prog_mul_rk3562(struct npu_prog *p, const struct npu_ew_task *task, const struct npu_byte_product *how,
			uint64_t record_iova)
{
	struct npu_ew_task t = *task;

	(void)record_iova;
	t.op = NPU_EW_MUL;
	stage_operands(p, &t, &how->rq);
	set_stages(p, EW_MUL, how->a_zp, how->b_zp);
	return finish(p, NPU_POINTERS62);
}

/* ---- functions ---- */

static void emit_table(struct npu_prog *p, const int8_t *map, uint32_t id)
{
	int32_t first = id ? 0 : -NPU_MAP_STEPS;

	npu_prog_select_table(p, id);
	for (int32_t i = 0; i <= NPU_MAP_STEPS; i++) {
		SET(p, DPU_LUT_ACCESS_DATA_DATA, npu_map_code(map, first + i));
		npu_prog_emit(p, NPU_R_DPU_LUT_ACCESS_DATA);
	}
}

/* The tables are behind the registers, whose own access to the LUT reads. */
int npu_prog_load_map_rk3562(struct npu_prog *p, const int8_t *map, uint64_t from_iova, uint64_t to_iova)
{
	stage_atom(p, from_iova, to_iova);
	SET62(p, DPU_LUT_CFG_VALUE, LUT_LOAD);
	npu_prog_emit_pointers62(p, ENABLE, NPU_POINTERS62);
	npu_prog_emit62(p, ENABLE);
	emit_table(p, map, 0);
	emit_table(p, map, 1);
	return npu_prog_finish(p, ENABLE);
}

/* BN makes a step of the tables of a byte's. */
int npu_prog_map_rk3562(struct npu_prog *p, const struct npu_ew_task *t)
{
	stage(p, t);
	SET(p, DPU_BN_CFG_BYPASS, 0);
	SET(p, DPU_BN_CFG_ALU_BYPASS, 0);
	SET(p, DPU_BN_CFG_MUL_BYPASS, 0);
	SET(p, DPU_BN_CFG_ALU_ALGO, NPU_CODE_ALU_ADD);
	SET(p, DPU_BN_MUL_CFG_MUL_OPERAND, NPU_MAP_STEP);
	npu_prog_set_lut(p);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, -NPU_MAP_BASE);
	npu_prog_move62(p);
	SET62(p, DPU_EW_CFG_VALUE, EW_LUT);
	SET62(p, DPU_LUT_CFG_VALUE, LUT_USE);
	SET62(p, DPU_LUT_INFO_VALUE, LUT_INFO);
	return finish(p, POINTERS_LUT);
}
