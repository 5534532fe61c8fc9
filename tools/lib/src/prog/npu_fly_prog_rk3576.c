// SPDX-License-Identifier: MIT
/*
 * Register programs of the DPU of an RK3576 alone, of bytes: copies of an atom, and products of two tensors.
 *
 * Registers, and the words of the stages, are those of Rockchip's compilers for this chip, which have surfaces
 * one behind the other and a second tensor of the same shape. In their one product BS adds to the first tensor
 * what its record in memory has, and EW an offset to the second one.
 */
#include <errno.h>
#include <string.h>

#include "npu_rk3576.h"

#define LANES		16u
#define EW_OFF		0x010041c1
#define EW_MUL		0x810f4094
#define BS_OFF		0x53
#define BS_ADDS		0x100012
#define BS_NO_OPERANDS	2
#define OW_COPY		0x20000
#define BN_OFF		0x903
#define WRITE_COPY	0x04440000
#define WDMA_COPY	0xf00
#define ATOM_BYTES	0xffff
/* What BS has for all channels: an addend. */
#define BRDMA_ADDEND	2
#define ERDMA_OFF	1
#define ERDMA_TENSOR	0x40000044
#define RDMA_COPY	9

#define SET		SET76

static void set_output(struct npu_prog *p, const struct npu_ew_task *t)
{
	SET(p, DPU_FEATURE_MODE_FLYING, 1);
	SET(p, DPU_FEATURE_MODE_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET(p, DPU_DST_ADDR_IOVA, (int64_t)t->y.iova);
	SET(p, DPU_DST_SURF_STRIDE_ATOMS, t->rows);
	SET(p, DPU_CUBE_WIDTH_WIDTH, t->rows);
	SET(p, DPU_CUBE_CHANNEL_CHANNEL, t->cols);
	SET(p, DPU_WDMA_SIZE0_MODE, WDMA_COPY);
	SET(p, DPU_WDMA_SIZE0_CHANNEL, t->cols);
	SET(p, DPU_WDMA_SIZE1_WIDTH, t->rows);
	SET(p, DPU_WRITE_CFG0_VALUE, WRITE_COPY);
	SET(p, DPU_WRITE_BYTES_ENABLE, ATOM_BYTES);
	SET(p, DPU_WRITE_BYTES_ON, 1);
}

/* That do nothing. */
static void set_stages(struct npu_prog *p)
{
	SET(p, DPU_BS_CFG_VALUE, BS_OFF);
	SET(p, DPU_BS_OPERANDS_VALUE, BS_NO_OPERANDS);
	SET(p, DPU_BS_OW_VALUE, OW_COPY);
	SET(p, DPU_BN_CFG_VALUE, BN_OFF);
	SET(p, DPU_EW_CFG_VALUE, EW_OFF);
	SET(p, DPU_EW_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_SCALE_FP32TOFP16_EN, 1);
	npu_prog_open_clamps76(p);
}

static void begin(struct npu_prog *p, const struct npu_ew_task *t)
{
	npu_prog_clear_image(p);
	set_output(p, t);
	set_stages(p);
	SET(p, RDMA_CUBE_WIDTH_WIDTH, t->rows);
	SET(p, RDMA_CUBE_CHANNEL_CHANNEL, t->cols);
	SET(p, RDMA_SRC_ADDR_IOVA, (int64_t)t->a.iova);
	SET(p, RDMA_ERDMA_CFG_VALUE, ERDMA_OFF);
	SET(p, RDMA_FEATURE_MODE_VALUE, RDMA_COPY);
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, NPU_POINTERS76);
	npu_prog_raw(p, NPU_TGT_RDMA, NPU_OFF_RDMA_S_POINTER, NPU_POINTERS76);
}

static int finish(struct npu_prog *p)
{
	return npu_prog_finish(p, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

/* ---- an atom ---- */

void npu_prog_begin_copy76(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	const struct npu_ew_task t = { .rows = 1, .cols = LANES, .a.iova = from_iova, .y.iova = to_iova };

	begin(p, &t);
}

int npu_prog_copy_rk3576(struct npu_prog *p, uint64_t from_iova, uint64_t to_iova)
{
	npu_prog_begin_copy76(p, from_iova, to_iova);
	npu_prog_emit76(p, NPU_R76_DPU_FEATURE_MODE, NPU_R76_DPU_WRITE_BYTES);
	npu_prog_emit76(p, NPU_R76_RDMA_CUBE_WIDTH, NPU_R76_RDMA_EW_SURF_NOTCH);
	return finish(p);
}

/* ---- products ---- */

static int check(struct npu_prog *p, const struct npu_ew_task *t)
{
	if (!t->rows || !t->cols || t->cols % LANES)
		return npu_prog_fail(p, -EINVAL, "%u positions of %u channels", t->rows, t->cols);
	if (t->cols > LANES && (t->a.pitch != t->rows || t->b.pitch != t->rows || t->y.pitch != t->rows))
		return npu_prog_fail(p, -EOPNOTSUPP, "products of surfaces that do not follow each other");
	return 0;
}

/* Compilers have the addend twice. */
void npu_product_record(const struct npu_byte_product *how, uint8_t record[NPU_PRODUCT_RECORD])
{
	int32_t addend = -how->a_zp;

	memset(record, 0, NPU_PRODUCT_RECORD);
	memcpy(record, &addend, sizeof(addend));
	memcpy(record + 16, &addend, sizeof(addend));
}

int npu_prog_mul_rk3576(struct npu_prog *p, const struct npu_ew_task *t, const struct npu_byte_product *how,
			uint64_t record_iova)
{
	if (check(p, t))
		return npu_prog_error(p);
	begin(p, t);
	SET(p, DPU_BS_CFG_VALUE, BS_ADDS);
	SET(p, DPU_EW_CFG_VALUE, EW_MUL);
	SET(p, DPU_EW_CVT_OFFSET_VALUE, -how->b_zp);
	SET(p, DPU_OUT_CVT_OFFSET_VALUE, how->rq.zp);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, how->rq.scale);
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, how->rq.shift);
	SET(p, RDMA_BRDMA_CFG_VALUE, BRDMA_ADDEND);
	SET(p, RDMA_BS_WORD_ADDR_IOVA, (int64_t)record_iova);
	SET(p, RDMA_ERDMA_CFG_VALUE, ERDMA_TENSOR);
	SET(p, RDMA_EW_ADDR_IOVA, (int64_t)t->b.iova);
	SET(p, RDMA_EW_SURF_STRIDE_ATOMS, t->rows);
	npu_prog_emit76(p, NPU_R76_DPU_FEATURE_MODE, NPU_R76_DPU_WRITE_BYTES);
	npu_prog_emit76(p, NPU_R76_RDMA_CUBE_WIDTH, NPU_R76_RDMA_EW_SURF_NOTCH);
	return finish(p);
}
