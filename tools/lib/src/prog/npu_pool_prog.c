// SPDX-License-Identifier: MIT
/*
 * The register program of one pooling task: the PPU, which PPU_RDMA feeds from memory.
 *
 * The registers are those of gregordinary's maxima and averages, and reciprocals of bytes those of
 * allbilly's; parts of lines as Rockchip's compilers have them.
 */
#include <errno.h>

#include "npu_rk3562.h"
#include "npu_rk3568.h"
#include "npu_rk3576.h"
#include "npu_task.h"

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

#define BURST_8		3
#define WIDTH_16	2	/* of elements, for PPU_RDMA; does for bytes, too */
#define ONE		65536
#define PAD_BITS	19

static const enum npu_reg_id ppu_order[] = {
	NPU_R_PPU_DATA_CUBE_IN_WIDTH, NPU_R_PPU_DATA_CUBE_IN_HEIGHT,
	NPU_R_PPU_DATA_CUBE_IN_CHANNEL, NPU_R_PPU_DATA_CUBE_OUT_WIDTH,
	NPU_R_PPU_DATA_CUBE_OUT_HEIGHT, NPU_R_PPU_DATA_CUBE_OUT_CHANNEL,
	NPU_R_PPU_OPERATION_MODE_CFG, NPU_R_PPU_POOLING_KERNEL_CFG,
	NPU_R_PPU_RECIP_KERNEL_WIDTH, NPU_R_PPU_RECIP_KERNEL_HEIGHT,
	NPU_R_PPU_POOLING_PADDING_CFG, NPU_R_PPU_PADDING_VALUE_1, NPU_R_PPU_PADDING_VALUE_2,
	NPU_R_PPU_DST_BASE_ADDR, NPU_R_PPU_DST_SURF_STRIDE, NPU_R_PPU_DATA_FORMAT,
	NPU_R_PPU_MISC_CTRL,
	NPU_R_PPU_RDMA_CUBE_IN_WIDTH, NPU_R_PPU_RDMA_CUBE_IN_HEIGHT,
	NPU_R_PPU_RDMA_CUBE_IN_CHANNEL, NPU_R_PPU_RDMA_SRC_BASE_ADDR,
	NPU_R_PPU_RDMA_SRC_LINE_STRIDE, NPU_R_PPU_RDMA_SRC_SURF_STRIDE,
};

static void set_pointers(struct npu_prog *p)
{
	SET(p, PPU_S_POINTER_POINTER_PP_EN, 1);
	SET(p, PPU_S_POINTER_EXECUTER_PP_EN, 1);
	SET(p, PPU_S_POINTER_POINTER_PP_MODE, 1);
	SET(p, PPU_RDMA_S_POINTER_POINTER_PP_EN, 1);
	SET(p, PPU_RDMA_S_POINTER_EXECUTER_PP_EN, 1);
	SET(p, PPU_RDMA_S_POINTER_POINTER_PP_MODE, 1);
}

/*
 * 1 / k with 16 bits of fraction, cut off as in programs that were right on boards; or of halves
 * with six bits of exponent, which are the bits of 65536 / k, and of 1 those that would follow.
 */
static int64_t reciprocal(enum npu_prec type, uint32_t k)
{
	if (type == NPU_PREC_INT8)
		return ONE / k;
	return k == 1 ? 0x7c00 : npu_f32_to_f16((float)ONE / (float)k);
}

static void set_cubes(struct npu_prog *p, const struct npu_pool_task *t)
{
	SET(p, PPU_DATA_CUBE_IN_WIDTH_WIDTH, t->in_w);
	SET(p, PPU_DATA_CUBE_IN_HEIGHT_HEIGHT, t->in_h);
	SET(p, PPU_DATA_CUBE_IN_CHANNEL_CHANNEL, t->channels);
	SET(p, PPU_DATA_CUBE_OUT_WIDTH_WIDTH, t->out_w);
	SET(p, PPU_DATA_CUBE_OUT_HEIGHT_HEIGHT, t->out_h);
	SET(p, PPU_DATA_CUBE_OUT_CHANNEL_CHANNEL, t->channels);
	SET(p, PPU_RDMA_CUBE_IN_WIDTH_WIDTH, t->in_w);
	SET(p, PPU_RDMA_CUBE_IN_HEIGHT_HEIGHT, t->in_h);
	SET(p, PPU_RDMA_CUBE_IN_CHANNEL_CHANNEL, t->channels);
}

static void set_window(struct npu_prog *p, const struct npu_pool_task *t)
{
	bool average = t->pool == NPU_POOL_AVERAGE;

	SET(p, PPU_OPERATION_MODE_CFG_POOLING_METHOD, t->pool);
	SET(p, PPU_OPERATION_MODE_CFG_FLYING_MODE, 1);
	SET(p, PPU_OPERATION_MODE_CFG_NOTCH, t->out_line - t->out_w);
	SET(p, PPU_POOLING_KERNEL_CFG_KERNEL_WIDTH, t->kw);
	SET(p, PPU_POOLING_KERNEL_CFG_KERNEL_HEIGHT, t->kh);
	SET(p, PPU_POOLING_KERNEL_CFG_STRIDE_WIDTH, t->stride_x);
	SET(p, PPU_POOLING_KERNEL_CFG_STRIDE_HEIGHT, t->stride_y);
	SET(p, PPU_RECIP_KERNEL_WIDTH_VALUE, average ? reciprocal(t->type, t->kw) : 0);
	SET(p, PPU_RECIP_KERNEL_HEIGHT_VALUE, average ? reciprocal(t->type, t->kh) : 0);
	SET(p, PPU_POOLING_PADDING_CFG_LEFT, t->left);
	SET(p, PPU_POOLING_PADDING_CFG_TOP, t->top);
	SET(p, PPU_POOLING_PADDING_CFG_RIGHT, t->right);
	SET(p, PPU_POOLING_PADDING_CFG_BOTTOM, t->bottom);
	SET(p, PPU_PADDING_VALUE_1_VALUE, t->pad_value);
}

static void set_memory(struct npu_prog *p, const struct npu_pool_task *t)
{
	SET(p, PPU_DST_BASE_ADDR_IOVA, (int64_t)t->out_iova);
	int64_t atom = npu_prog_chip(p)->atom;

	SET(p, PPU_DST_SURF_STRIDE_BYTES, t->out_pitch * atom);
	SET(p, PPU_DATA_FORMAT_PROC_PRECISION, t->type);
	SET(p, PPU_MISC_CTRL_BURST_LEN, BURST_8);
	SET(p, PPU_RDMA_SRC_BASE_ADDR_IOVA, (int64_t)t->in_iova);
	SET(p, PPU_RDMA_SRC_LINE_STRIDE_BYTES, t->in_line * atom);
	SET(p, PPU_RDMA_SRC_SURF_STRIDE_BYTES, t->in_pitch * atom);
	SET(p, PPU_RDMA_DATA_FORMAT_IN_PRECISION, WIDTH_16);
}

static void stage(struct npu_prog *p, const struct npu_pool_task *t)
{
	npu_prog_clear_image(p);
	set_pointers(p);
	set_cubes(p, t);
	set_window(p, t);
	set_memory(p, t);
}

static void emit(struct npu_prog *p)
{
	npu_prog_emit(p, NPU_R_PPU_S_POINTER);
	npu_prog_emit(p, NPU_R_PPU_RDMA_S_POINTER);
	npu_prog_emit_all(p, ppu_order, ARRAY_SIZE(ppu_order));
}

static int pool_rk3588(struct npu_prog *p, const struct npu_pool_task *t)
{
	stage(p, t);
	emit(p);
	npu_prog_emit(p, NPU_R_PPU_RDMA_DATA_FORMAT);
	return npu_prog_finish(p, NPU_EN_PPU | NPU_EN_PPU_RDMA);
}

int npu_prog_check_pool_bytes(struct npu_prog *p, const struct npu_pool_task *t)
{
	if (t->type == NPU_PREC_INT8 && t->pool != NPU_POOL_MIN)
		return 0;
	return npu_prog_fail(p, -EOPNOTSUPP, "no programs for %s of %s on the %s",
			     t->pool == NPU_POOL_MIN ? "minima" : "pooling", npu_prec_name(t->type),
			     npu_prog_chip(p)->name);
}

int32_t npu_pool_pad_value(const struct npu_pool_task *t)
{
	return (int32_t)(t->pad_value << (32 - PAD_BITS)) >> (32 - PAD_BITS);
}

/* As in programs of Rockchip's compilers for the RK3568 and the RK3562, bytes alone. */
static void stage_bytes(struct npu_prog *p, const struct npu_pool_task *t)
{
	int32_t pad = npu_pool_pad_value(t);

	stage(p, t);
	SET68(p, PPU_PADDING_VALUE_1_VALUE, pad);
	SET68(p, PPU_PADDING_VALUE_2_VALUE, 2 * pad);
	SET68(p, PPU_PADDING_VALUE_3_VALUE, 3 * pad);
	SET68(p, PPU_PADDING_VALUE_4_VALUE, 4 * pad);
	/* The distance of surfaces once more, without what makes no 16 bytes. */
	SET(p, PPU_DATA_FORMAT_INDEX_ADD, (int64_t)t->out_pitch * npu_prog_chip(p)->atom / 16);
	SET(p, PPU_RDMA_DATA_FORMAT_IN_PRECISION, 0);
}

static void emit_bytes(struct npu_prog *p)
{
	emit(p);
	EMIT68(p, PPU_PADDING_VALUE_3);
	EMIT68(p, PPU_PADDING_VALUE_4);
}

static int pool_rk3568(struct npu_prog *p, const struct npu_pool_task *t)
{
	if (npu_prog_check_pool_bytes(p, t))
		return npu_prog_error(p);
	stage_bytes(p, t);
	SET68(p, PPU_RDMA_UNKNOWN_7018_VALUE, 1);
	emit_bytes(p);
	npu_prog_emit(p, NPU_R_PPU_RDMA_DATA_FORMAT);
	EMIT68(p, PPU_RDMA_UNKNOWN_7018);
	return npu_prog_finish(p, NPU_EN_PPU | NPU_EN_PPU_RDMA);
}

#define RDMA_BYTES62	0x40
/* Written by all programs, and 0. */
#define ZEROS62		0x6054
#define ZEROS62_END	0x606c

static int pool_rk3562(struct npu_prog *p, const struct npu_pool_task *t)
{
	if (npu_prog_check_pool_bytes(p, t))
		return npu_prog_error(p);
	stage_bytes(p, t);
	SET62(p, PPU_RDMA_DATA_FORMAT_VALUE, RDMA_BYTES62);
	emit_bytes(p);
	for (uint16_t reg = ZEROS62; reg <= ZEROS62_END; reg += 4)
		npu_prog_raw(p, NPU_TGT_PPU, reg, 0);
	npu_prog_emit(p, (enum npu_reg_id)NPU_R62_PPU_RDMA_DATA_FORMAT);
	npu_prog_emit_tail62(p);
	return npu_prog_finish(p, NPU_EN_PPU | NPU_EN_PPU_RDMA);
}

static int (*const pool_of[NPU_ENCODINGS])(struct npu_prog *p, const struct npu_pool_task *t) = {
	[NPU_ENCODING_RK3588] = pool_rk3588,
	[NPU_ENCODING_RK3576] = npu_prog_pool_rk3576,
	[NPU_ENCODING_RK3568] = pool_rk3568,
	[NPU_ENCODING_RK3562] = pool_rk3562,
};

int npu_prog_pool(struct npu_prog *p, const struct npu_pool_task *t)
{
	if (npu_prog_error(p))
		return npu_prog_error(p);
	return pool_of[npu_prog_chip(p)->encoding](p, t);
}
