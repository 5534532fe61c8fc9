// SPDX-License-Identifier: MIT
/*
 * The register program of one enlarging task: the DPU alone, whose read engine repeats each atom
 * of a surface.
 *
 * The registers are those of Resize in networks of Rockchip's compilers, to 2, 4 and 8 times the
 * size in both directions; that the directions need not be the same is inferred. What comes as
 * the copies of an atom below each other is written as that many surfaces, which are the lines.
 */
#include "npu_task.h"

#define BURST_16	15
#define INT16		1	/* for the read engine: halfwords, whatever they are */
#define HALFWORDS	8

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

static void set_types(struct npu_prog *p, const struct npu_upscale_task *t)
{
	SET(p, DPU_DATA_FORMAT_PROC_PRECISION, t->type);
	SET(p, DPU_DATA_FORMAT_IN_PRECISION, INT16);
	SET(p, DPU_DATA_FORMAT_OUT_PRECISION, t->type);
	SET(p, RDMA_FEATURE_MODE_CFG_IN_PRECISION, INT16);
	SET(p, RDMA_FEATURE_MODE_CFG_PROC_PRECISION, t->type);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
}

static void set_output(struct npu_prog *p, const struct npu_upscale_task *t)
{
	int64_t lanes = (int64_t)(16 / npu_prec_bytes(t->type));
	int64_t width = (int64_t)t->width * t->times_x, copies = t->times_y;

	SET(p, DPU_FEATURE_MODE_CFG_FLYING_MODE, 1);
	SET(p, DPU_FEATURE_MODE_CFG_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET(p, DPU_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, DPU_DST_BASE_ADDR_IOVA, (int64_t)t->out_iova);
	SET(p, DPU_DST_SURF_STRIDE_BYTES, width * 16);
	SET(p, DPU_SURFACE_ADD_BYTES, width * t->lines * copies * 16);
	SET(p, DPU_DATA_CUBE_WIDTH_WIDTH, width);
	SET(p, DPU_DATA_CUBE_HEIGHT_HEIGHT, t->lines);
	SET(p, DPU_DATA_CUBE_NOTCH_NOTCH_0, width * (copies - 1));
	SET(p, DPU_DATA_CUBE_NOTCH_NOTCH_1, width * (copies - 1));
	SET(p, DPU_DATA_CUBE_CHANNEL_CHANNEL, lanes);
	SET(p, DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL, lanes);
	SET(p, DPU_WDMA_SIZE_0_CHANNEL, lanes);
	SET(p, DPU_WDMA_SIZE_1_WIDTH, width);
	SET(p, DPU_WDMA_SIZE_1_HEIGHT, t->lines);
	SET(p, DPU_BS_OW_CFG_OD_BYPASS, 1);
	SET(p, DPU_BS_OW_CFG_SIZE_E_0, copies - 1);
	SET(p, DPU_BS_OW_CFG_SIZE_E_1, copies - 1);
	SET(p, DPU_BS_OW_CFG_SIZE_E_2, copies - 1);
}

static void set_input(struct npu_prog *p, const struct npu_upscale_task *t)
{
	SET(p, RDMA_DATA_CUBE_WIDTH_WIDTH, t->width);
	SET(p, RDMA_DATA_CUBE_HEIGHT_HEIGHT, t->lines);
	SET(p, RDMA_DATA_CUBE_CHANNEL_CHANNEL, HALFWORDS);
	SET(p, RDMA_SRC_BASE_ADDR_IOVA, (int64_t)t->in_iova);
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_FLYING_MODE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, RDMA_SRC_DMA_CFG_UNPOOLING_EN, 1);
	SET(p, RDMA_SRC_DMA_CFG_KERNEL_WIDTH, t->times_x);
	SET(p, RDMA_SRC_DMA_CFG_KERNEL_HEIGHT, t->times_y);
	SET(p, RDMA_SRC_DMA_CFG_KERNEL_STRIDE_WIDTH, t->times_x);
	SET(p, RDMA_SRC_DMA_CFG_KERNEL_STRIDE_HEIGHT, t->times_y);
	npu_prog_set_shares(p);
}

int npu_prog_upscale(struct npu_prog *p, const struct npu_upscale_task *t)
{
	if (npu_prog_begin(p, "upscaling"))
		return npu_prog_error(p);
	npu_prog_clear_image(p);
	npu_prog_set_pointers(p);
	npu_prog_set_stages_off(p);
	set_types(p, t);
	set_output(p, t);
	set_input(p, t);
	npu_prog_emit(p, NPU_R_DPU_S_POINTER);
	npu_prog_emit(p, NPU_R_RDMA_S_POINTER);
	npu_prog_emit_dpu(p);
	npu_prog_emit_rdma(p);
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}
