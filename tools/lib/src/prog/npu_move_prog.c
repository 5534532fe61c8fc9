// SPDX-License-Identifier: MIT
/*
 * The register programs of tasks that move elements: the DPU alone, which reads through
 * one shape and writes through another, and perhaps converts, or finds the largest.
 *
 * The registers are those of programs of Rockchip's runtime: fp32 to fp16 by two engines in
 * turns, surfaces that lie inside of each other, and write shapes that have nothing but the
 * amount in common with what is read. That these go together is inferred.
 */
#include "npu_task.h"

#define BURST_16	15
#define MAIN_PAIR	3
#define INT16		1
#define WORDS		3
#define ROW_MAX		7
#define LEAST_HALF	0xfbff

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

static int64_t bytes(uint32_t atoms)
{
	return (int64_t)atoms * 16;
}

static bool narrows(const struct npu_move_task *t)
{
	return t->in == NPU_PREC_FP32 && t->out == NPU_PREC_FP16;
}

static uint32_t lanes(const struct npu_move_task *t)
{
	return t->raw ? 8 : (uint32_t)(16 / npu_prec_bytes(t->out));
}

static void set_types(struct npu_prog *p, const struct npu_move_task *t)
{
	int64_t in = t->raw ? INT16 : (int64_t)t->in, out = t->raw ? INT16 : (int64_t)t->out;

	SET(p, DPU_DATA_FORMAT_PROC_PRECISION, in);
	SET(p, DPU_DATA_FORMAT_IN_PRECISION, in);
	SET(p, DPU_DATA_FORMAT_OUT_PRECISION, out);
	SET(p, RDMA_FEATURE_MODE_CFG_IN_PRECISION, in);
	SET(p, RDMA_FEATURE_MODE_CFG_PROC_PRECISION, in);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_SCALE_FP32TOFP16_EN, !t->raw && t->out == NPU_PREC_FP16);
}

static void set_output(struct npu_prog *p, const struct npu_move_task *t)
{
	const struct npu_atoms *to = &t->to;
	uint32_t c = t->from.surfaces * lanes(t);

	SET(p, DPU_FEATURE_MODE_CFG_FLYING_MODE, 1);
	SET(p, DPU_FEATURE_MODE_CFG_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET(p, DPU_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, DPU_FEATURE_MODE_CFG_COMB_USE, narrows(t));
	SET(p, DPU_DST_BASE_ADDR_IOVA, (int64_t)to->iova);
	SET(p, DPU_DST_SURF_STRIDE_BYTES, bytes(to->surf));
	SET(p, DPU_SURFACE_ADD_BYTES, bytes(to->surf));
	SET(p, DPU_DATA_CUBE_WIDTH_WIDTH, t->from.width);
	SET(p, DPU_DATA_CUBE_HEIGHT_HEIGHT, t->from.height);
	SET(p, DPU_DATA_CUBE_CHANNEL_CHANNEL, c);
	SET(p, DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL, c);
	SET(p, DPU_DATA_CUBE_NOTCH_NOTCH_0, to->line - to->width);
	SET(p, DPU_DATA_CUBE_NOTCH_NOTCH_1, to->line - to->width);
	SET(p, DPU_WDMA_SIZE_0_CHANNEL, to->surfaces * lanes(t));
	SET(p, DPU_WDMA_SIZE_1_WIDTH, to->width);
	SET(p, DPU_WDMA_SIZE_1_HEIGHT, to->height);
	SET(p, DPU_BS_OW_CFG_OD_BYPASS, 1);
}

/* From the end of a surface's last line to the next surface, which may lie before it. */
static int64_t surf_notch(const struct npu_atoms *from, uint32_t surf)
{
	uint32_t end = from->line * (from->height - 1) + from->width;

	return (int64_t)((surf - end) * 16);
}

/* A surface of halves is one of words by MRDMA and the next one by ERDMA. */
static void set_input(struct npu_prog *p, const struct npu_move_task *t)
{
	const struct npu_atoms *from = &t->from;
	uint32_t surf = narrows(t) ? 2 * from->surf : from->surf;

	SET(p, RDMA_DATA_CUBE_WIDTH_WIDTH, from->width);
	SET(p, RDMA_DATA_CUBE_HEIGHT_HEIGHT, from->height);
	SET(p, RDMA_DATA_CUBE_CHANNEL_CHANNEL, from->surfaces * lanes(t));
	SET(p, RDMA_SRC_BASE_ADDR_IOVA, (int64_t)from->iova);
	SET(p, RDMA_SRC_DMA_CFG_LINE_NOTCH, from->line - from->width);
	SET(p, RDMA_SURF_NOTCH_BYTES, surf_notch(from, surf));
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_FLYING_MODE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	npu_prog_set_shares(p);
	if (!narrows(t))
		return;
	SET(p, RDMA_ERDMA_CFG_DISABLE, 0);
	SET(p, RDMA_ERDMA_CFG_DATA_SIZE, WORDS);
	SET(p, RDMA_ERDMA_CFG_DATA_MODE, 1);
	SET(p, RDMA_EW_BASE_ADDR_IOVA, (int64_t)from->iova + bytes(from->surf));
	SET(p, RDMA_EW_SURF_STRIDE_BYTES, bytes(surf));
	SET(p, RDMA_EW_SURF_NOTCH_BYTES, surf_notch(from, surf));
	SET(p, RDMA_FEATURE_MODE_CFG_COMB_USE, MAIN_PAIR);
	SET(p, RDMA_FEATURE_MODE_CFG_MRDMA_FP16TOFP32, 1);
}

static int emit(struct npu_prog *p)
{
	npu_prog_emit(p, NPU_R_DPU_S_POINTER);
	npu_prog_emit(p, NPU_R_RDMA_S_POINTER);
	npu_prog_emit_dpu(p);
	npu_prog_emit_rdma(p);
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

static void stage(struct npu_prog *p, const struct npu_move_task *t)
{
	npu_prog_clear_image(p);
	npu_prog_set_pointers(p);
	set_types(p, t);
	npu_prog_set_stages_off(p);
	SET(p, DPU_BS_CFG_BYPASS, !t->relu);
	SET(p, DPU_BS_CFG_RELU_BYPASS, !t->relu);
	set_output(p, t);
	set_input(p, t);
}

int npu_prog_move_atom(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	struct npu_move_task t = {
		.raw = true,
		.from = { .iova = from_iova, .width = 1, .height = 1, .surfaces = 1, .line = 1, .surf = 1 },
	};

	t.to = t.from;
	t.to.iova = to_iova;
	return npu_prog_move(p, &t);
}

int npu_prog_move(struct npu_prog *p, const struct npu_move_task *t)
{
	if (npu_prog_begin(p, "copies"))
		return npu_prog_error(p);
	stage(p, t);
	return emit(p);
}

/* As Rockchip's compilers have it for softmax. */
int npu_prog_row_max(struct npu_prog *p, const struct npu_row_max_task *t)
{
	struct npu_move_task move = {
		.in = NPU_PREC_FP16, .out = NPU_PREC_FP16, .from = t->from, .to = t->from,
	};

	if (npu_prog_begin(p, "maxima of rows"))
		return npu_prog_error(p);
	move.to.iova = t->out_iova;
	stage(p, &move);
	SET(p, DPU_FEATURE_MODE_CFG_NONALIGN, 1);
	SET(p, DPU_FEATURE_MODE_CFG_SURF_LEN, (int64_t)div_up(t->from.width, 8));
	SET(p, DPU_OFFSET_PEND_VALUE, LEAST_HALF);
	SET(p, DPU_DST_SURF_STRIDE_BYTES, 0);
	SET(p, DPU_SURFACE_ADD_BYTES, 0);
	SET(p, DPU_DATA_CUBE_HEIGHT_MINMAX_CTL, ROW_MAX);
	SET(p, DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL, t->cols);
	SET(p, DPU_OUT_CVT_SCALE_FP32TOFP16_EN, 0);
	SET(p, DPU_OUT_CVT_SHIFT_CVT_ROUND, 1);
	SET(p, RDMA_ERDMA_CFG_OV4K_BYPASS, 1);
	return emit(p);
}
