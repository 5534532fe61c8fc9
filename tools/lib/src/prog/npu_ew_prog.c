// SPDX-License-Identifier: MIT
/*
 * The register program of one element-wise task: the DPU alone, with one operand by MRDMA
 * and the other by ERDMA, or a function by the LUT.
 *
 * The registers are those of the fp16 addition that Rockchip's compiler makes (published
 * in liej6799/rk3588); other operations of fp16 as rocket-userspace validated them, int32
 * as rknpu2_matmul_open did. FP32 but for scaling, and one row for all, are inferred from
 * these.
 */
#include <errno.h>

#include "npu_task.h"

#define BURST_16	15
#define PER_CHANNEL	0
#define PER_ELEMENT	1
#define INT16		1

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

static const uint8_t algo[] = {
	[NPU_EW_MAX] = NPU_CODE_ALU_MAX, [NPU_EW_MIN] = NPU_CODE_ALU_MIN, [NPU_EW_ADD] = NPU_CODE_ALU_ADD,
	[NPU_EW_SUB] = NPU_CODE_ALU_MINUS, [NPU_EW_DIV] = NPU_CODE_ALU_DIV,
};

static int64_t bytes(const struct npu_prog *p, uint32_t positions)
{
	return (int64_t)positions * npu_prog_chip(p)->atom;
}

static bool by_pattern(const struct npu_ew_task *t)
{
	return t->op == NPU_EW_TABLE && npu_table_of_patterns(t->table);
}

static int64_t precision(const struct npu_ew_task *t)
{
	return by_pattern(t) ? INT16 : (int64_t)t->type;
}

/* Quotients are of halves as they are: so it is in softmax of Rockchip's compilers. */
static bool widens(const struct npu_ew_task *t)
{
	return t->type == NPU_PREC_FP16 && t->op != NPU_EW_DIV && !by_pattern(t);
}

static void set_output(struct npu_prog *p, const struct npu_ew_task *t, uint32_t c)
{
	SET(p, DPU_FEATURE_MODE_CFG_FLYING_MODE, 1);
	SET(p, DPU_FEATURE_MODE_CFG_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET(p, DPU_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, DPU_DATA_FORMAT_PROC_PRECISION, precision(t));
	SET(p, DPU_DATA_FORMAT_IN_PRECISION, precision(t));
	SET(p, DPU_DATA_FORMAT_OUT_PRECISION, precision(t));
	SET(p, DPU_DST_BASE_ADDR_IOVA, (int64_t)t->y.iova);
	SET(p, DPU_DST_SURF_STRIDE_BYTES, bytes(p, t->y.pitch));
	SET(p, DPU_SURFACE_ADD_BYTES, bytes(p, t->y.pitch));
	SET(p, DPU_DATA_CUBE_WIDTH_WIDTH, t->rows);
	SET(p, DPU_DATA_CUBE_HEIGHT_HEIGHT, 1);
	SET(p, DPU_DATA_CUBE_CHANNEL_CHANNEL, c);
	SET(p, DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL, c);
	SET(p, DPU_WDMA_SIZE_0_CHANNEL, c);
	SET(p, DPU_WDMA_SIZE_1_WIDTH, t->rows);
	SET(p, DPU_WDMA_SIZE_1_HEIGHT, 1);
	SET(p, DPU_BS_OW_CFG_OD_BYPASS, 1);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_SCALE_FP32TOFP16_EN, widens(t));
}

/* The conversion widens halves for the ALU; the multiplier takes them as they are. */
void npu_prog_set_operation(struct npu_prog *p, const struct npu_ew_task *t)
{
	bool mul = t->op == NPU_EW_MUL, half = t->type == NPU_PREC_FP16;
	int64_t size = t->type == NPU_PREC_INT8 ? 1 : half ? 2 : 3, mode = t->b_is_row ? PER_CHANNEL : PER_ELEMENT;

	SET(p, DPU_EW_CFG_OP_TYPE, mul);
	SET(p, DPU_EW_CFG_ALU_ALGO, mul ? 0 : algo[t->op]);
	SET(p, DPU_EW_CFG_OP_SRC, 1);
	SET(p, DPU_EW_CFG_OP_CVT_BYPASS, mul || !widens(t));
	SET(p, DPU_EW_CFG_EDATA_SIZE, size);
	SET(p, DPU_EW_CFG_DATA_MODE, mode);
	SET(p, RDMA_ERDMA_CFG_DATA_SIZE, size);
	SET(p, RDMA_ERDMA_CFG_DATA_MODE, mode);
	SET(p, RDMA_EW_BASE_ADDR_IOVA, (int64_t)t->b.iova);
	SET(p, RDMA_EW_SURF_STRIDE_BYTES, bytes(p, t->b.pitch));
	SET(p, RDMA_EW_SURF_NOTCH_BYTES, t->b_is_row ? 0 : bytes(p, t->b.pitch - t->rows));
}

/* Notches are from the end of a surface's rows to the next surface. */
static void set_input(struct npu_prog *p, const struct npu_ew_task *t, uint32_t c)
{
	SET(p, RDMA_DATA_CUBE_WIDTH_WIDTH, t->rows);
	SET(p, RDMA_DATA_CUBE_HEIGHT_HEIGHT, 1);
	SET(p, RDMA_DATA_CUBE_CHANNEL_CHANNEL, c);
	SET(p, RDMA_SRC_BASE_ADDR_IOVA, (int64_t)t->a.iova);
	SET(p, RDMA_SURF_NOTCH_BYTES, bytes(p, t->a.pitch - t->rows));
	SET(p, RDMA_FEATURE_MODE_CFG_FLYING_MODE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_MRDMA_FP16TOFP32, widens(t));
	SET(p, RDMA_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, RDMA_FEATURE_MODE_CFG_IN_PRECISION, precision(t));
	SET(p, RDMA_FEATURE_MODE_CFG_PROC_PRECISION, precision(t));
	npu_prog_set_shares(p);
}

/* No second operand: ERDMA stays off. */
static void set_function(struct npu_prog *p, const struct npu_ew_task *t)
{
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
	npu_prog_set_table(p, t->table);
}

void npu_prog_stage_fly(struct npu_prog *p, const struct npu_ew_task *t)
{
	uint32_t lanes = (uint32_t)(npu_prog_chip(p)->atom / npu_prec_bytes(t->type));
	uint32_t c = (uint32_t)round_up(t->cols, lanes);

	npu_prog_clear_image(p);
	npu_prog_set_pointers(p);
	set_output(p, t, c);
	npu_prog_set_stages_off(p);
	set_input(p, t, c);
}

int npu_prog_ew(struct npu_prog *p, const struct npu_ew_task *t)
{
	if (npu_prog_begin(p, "element-wise operations"))
		return npu_prog_error(p);
	npu_prog_stage_fly(p, t);
	SET(p, DPU_EW_CFG_BYPASS, 0);
	SET(p, DPU_EW_CFG_OP_BYPASS, t->op == NPU_EW_TABLE);
	if (t->op == NPU_EW_TABLE)
		set_function(p, t);
	else
		npu_prog_set_operation(p, t);

	npu_prog_emit(p, NPU_R_DPU_S_POINTER);
	npu_prog_emit(p, NPU_R_RDMA_S_POINTER);
	if (t->upload)
		npu_prog_upload_table(p, t->table);
	npu_prog_emit_dpu(p);
	npu_prog_emit_rdma(p);
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}
