// SPDX-License-Identifier: MIT
/*
 * The register program of one pooling task on an RK3576: maxima and averages of bytes, whole lines
 * of a result.
 *
 * The unit is the RK3588's. Registers are those of Rockchip's compilers for this chip; widths, and
 * what windows of one position do to later tasks, are what gregordinary measured on boards.
 */
#include <errno.h>

#include "npu_rk3576.h"

#define FROM_MEMORY	1
#define RDMA_BYTES	0x40
#define ONE		65536
/* Positions of a result whose windows do not overlap from line to line; beyond, all are wrong. */
#define MAX_OUT_W	128u

/* A result of one line is the same at any: then no windows overlap. */
static uint32_t line_stride(const struct npu_pool_task *t)
{
	return t->out_h == 1 ? t->kh : t->stride_y;
}

/* Half of it for each further window that a line of the input is in. */
static uint32_t most_columns(const struct npu_pool_task *t)
{
	uint32_t overlaps = (uint32_t)div_up(t->kh, line_stride(t)) - 1;

	return overlaps < 8 ? MAX_OUT_W >> overlaps : 0;
}

static int check(struct npu_prog *p, const struct npu_pool_task *t)
{
	if (npu_prog_check_pool_bytes(p, t))
		return npu_prog_error(p);
	if (t->out_w > most_columns(t))
		return npu_prog_fail(p, -EOPNOTSUPP,
				     "%u columns of windows of %u lines, every %u; the RK3576 makes %u right", t->out_w,
				     t->kh, line_stride(t), most_columns(t));
	if (t->kw == 1 && t->kh == 1)
		return npu_prog_fail(p, -EOPNOTSUPP, "windows of one position, which spoil other tasks of the RK3576");
	if (t->out_line != t->out_w)
		return npu_prog_fail(p, -EOPNOTSUPP, "parts of lines on the RK3576");
	return 0;
}

static void set_cubes(struct npu_prog *p, const struct npu_pool_task *t)
{
	SET76(p, PPU_IN_WIDTH_WIDTH, t->in_w);
	SET76(p, PPU_IN_HEIGHT_HEIGHT, t->in_h);
	SET76(p, PPU_IN_CHANNEL_CHANNEL, t->channels);
	SET76(p, PPU_OUT_WIDTH_WIDTH, t->out_w);
	SET76(p, PPU_OUT_HEIGHT_HEIGHT, t->out_h);
	SET76(p, PPU_OUT_CHANNEL_CHANNEL, t->channels);
	SET76(p, PPU_RDMA_IN_WIDTH_WIDTH, t->in_w);
	SET76(p, PPU_RDMA_IN_HEIGHT_HEIGHT, t->in_h);
	SET76(p, PPU_RDMA_IN_CHANNEL_CHANNEL, t->channels);
}

static void set_window(struct npu_prog *p, const struct npu_pool_task *t)
{
	bool average = t->pool == NPU_POOL_AVERAGE;

	SET76(p, PPU_OPERATION_MODE_METHOD, t->pool);
	SET76(p, PPU_OPERATION_MODE_FROM_MEMORY, FROM_MEMORY);
	SET76(p, PPU_KERNEL_WIDTH, t->kw);
	SET76(p, PPU_KERNEL_HEIGHT, t->kh);
	SET76(p, PPU_KERNEL_STRIDE_X, t->stride_x);
	SET76(p, PPU_KERNEL_STRIDE_Y, line_stride(t));
	SET76(p, PPU_RECIP_WIDTH_VALUE, average ? ONE / t->kw : 0);
	SET76(p, PPU_RECIP_HEIGHT_VALUE, average ? ONE / t->kh : 0);
	SET76(p, PPU_PAD_LEFT, t->left);
	SET76(p, PPU_PAD_TOP, t->top);
	SET76(p, PPU_PAD_RIGHT, t->right);
	SET76(p, PPU_PAD_BOTTOM, t->bottom);
	SET76(p, PPU_PAD_VALUE_1_VALUE, npu_pool_pad_value(t));
	SET76(p, PPU_PAD_VALUE_2_VALUE, 2 * npu_pool_pad_value(t));
	SET76(p, PPU_PAD_VALUE_3_VALUE, 3 * npu_pool_pad_value(t));
	SET76(p, PPU_PAD_VALUE_4_VALUE, 4 * npu_pool_pad_value(t));
}

static void set_memory(struct npu_prog *p, const struct npu_pool_task *t)
{
	SET76(p, PPU_DST_ADDR_IOVA, (int64_t)t->out_iova);
	SET76(p, PPU_DST_SURF_STRIDE_BYTES, (int64_t)t->out_pitch * 16);
	SET76(p, PPU_DATA_FORMAT_BYTES, (int64_t)t->out_pitch * 16);
	SET76(p, PPU_RDMA_SRC_ADDR_IOVA, (int64_t)t->in_iova);
	SET76(p, PPU_RDMA_LINE_STRIDE_BYTES, (int64_t)t->in_line * 16);
	SET76(p, PPU_RDMA_SURF_STRIDE_BYTES, (int64_t)t->in_pitch * 16);
	SET76(p, PPU_RDMA_DATA_FORMAT_VALUE, RDMA_BYTES);
}

int npu_prog_pool_rk3576(struct npu_prog *p, const struct npu_pool_task *t)
{
	if (check(p, t))
		return npu_prog_error(p);
	npu_prog_clear_image(p);
	set_cubes(p, t);
	set_window(p, t);
	set_memory(p, t);
	npu_prog_raw(p, NPU_TGT_PPU, NPU_OFF_PPU_S_POINTER, NPU_POINTERS76);
	npu_prog_raw(p, NPU_TGT_PPU_RDMA, NPU_OFF_PPU_RDMA_S_POINTER, NPU_POINTERS76);
	npu_prog_emit76(p, NPU_R76_PPU_IN_WIDTH, NPU_R76_PPU_RDMA_DATA_FORMAT);
	return npu_prog_finish(p, NPU_EN_PPU | NPU_EN_PPU_RDMA);
}
