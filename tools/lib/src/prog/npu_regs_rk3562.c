// SPDX-License-Identifier: MIT
/*
 * Where the RK3562 has what the RK3588's registers say, and what all of its programs have.
 *
 * Rows pair fields of both chips that mean the same in programs of Rockchip's compilers for the same networks
 * (evidence.toml, row soc.rk3562-encoding). Of stages the RK3562 has words whose bits nobody knows one by one: those
 * are not here.
 */
#include "npu_rk3562.h"

#define WRITE_CORE	0x04440102
#define WRITE_FLYING	0x04440002
/* Words of an atom of bytes, less one. */
#define ATOM_WORDS	3

struct pair {
	uint16_t from, to;
	uint8_t atoms;		/* bytes that the RK3562 counts in atoms */
};

#define SAME(field)		{ NPU_F_##field, NPU_F62_##field, 0 }
#define PAIR(from, to)		{ NPU_F_##from, NPU_F62_##to, 0 }
#define ATOMS(from, to)		{ NPU_F_##from##_BYTES, NPU_F62_##to##_ATOMS, 1 }

static const struct pair cna[] = {
	SAME(CNA_CONV_CON1_IN_PRECISION), SAME(CNA_CONV_CON1_PROC_PRECISION),
	SAME(CNA_CONV_CON3_CONV_X_STRIDE), SAME(CNA_CONV_CON3_CONV_Y_STRIDE),
	PAIR(CNA_DATA_SIZE0_DATAIN_WIDTH, CNA_DATA_SIZE0_WIDTH),
	PAIR(CNA_DATA_SIZE0_DATAIN_HEIGHT, CNA_DATA_SIZE0_HEIGHT),
	PAIR(CNA_DATA_SIZE1_DATAIN_CHANNEL_REAL, CNA_DATA_SIZE1_CHANNEL),
	PAIR(CNA_DATA_SIZE2_DATAOUT_WIDTH, CNA_DATA_SIZE2_OUT_WIDTH),
	PAIR(CNA_DATA_SIZE3_DATAOUT_ATOMICS, CNA_DATA_SIZE3_OUT_ATOMICS),
	SAME(CNA_WEIGHT_SIZE0_BYTES), SAME(CNA_WEIGHT_SIZE1_BYTES_PER_KERNEL), SAME(CNA_WEIGHT_SIZE2_WIDTH),
	SAME(CNA_WEIGHT_SIZE2_HEIGHT), SAME(CNA_WEIGHT_SIZE2_KERNELS), PAIR(CNA_DCOMP_ADDR0_IOVA, CNA_WEIGHT_ADDR_IOVA),
	PAIR(CNA_PAD_CON0_PAD_LEFT, CNA_PAD_CON0_LEFT), PAIR(CNA_PAD_CON0_PAD_TOP, CNA_PAD_CON0_TOP),
	PAIR(CNA_FEATURE_DATA_ADDR_IOVA, CNA_FEATURE_ADDR_IOVA), SAME(CNA_DMA_CON1_LINE_STRIDE),
	PAIR(CNA_FC_DATA_SIZE0_DMA_WIDTH, CNA_DMA_SIZE_WIDTH), PAIR(CNA_FC_DATA_SIZE0_DMA_HEIGHT, CNA_DMA_SIZE_HEIGHT),
	PAIR(CNA_FC_DATA_SIZE0_DMA_WIDTH, CNA_DATA_ROW_WIDTH), PAIR(CNA_FC_DATA_SIZE0_DMA_WIDTH, CNA_DMA_LINE_LOW),
	PAIR(CNA_FC_DATA_SIZE0_DMA_WIDTH, CNA_DMA_LINE_HIGH), PAIR(CNA_FC_DATA_SIZE1_DMA_CHANNEL, CNA_DMA_CHANNEL_CHANNEL),
	SAME(CNA_CVT_CON0_CVT_BYPASS), SAME(CNA_CVT_CON0_CVT_TYPE), SAME(CNA_CVT_CON0_DATA_SIGN),
};

static const struct pair dpu[] = {
	PAIR(DPU_FEATURE_MODE_CFG_FLYING_MODE, DPU_FEATURE_MODE_FLYING),
	PAIR(DPU_FEATURE_MODE_CFG_OUTPUT_MODE, DPU_FEATURE_MODE_OUTPUT_MODE),
	PAIR(DPU_FEATURE_MODE_CFG_BURST_LEN, DPU_FEATURE_MODE_BURST_LEN),
	SAME(DPU_DATA_FORMAT_PROC_PRECISION), SAME(DPU_DATA_FORMAT_OUT_PRECISION),
	PAIR(DPU_DST_BASE_ADDR_IOVA, DPU_DST_ADDR_IOVA), ATOMS(DPU_DST_SURF_STRIDE, DPU_DST_SURF_STRIDE),
	ATOMS(DPU_SURFACE_ADD, DPU_SURFACE_ADD), PAIR(DPU_DATA_CUBE_WIDTH_WIDTH, DPU_CUBE_WIDTH_WIDTH),
	PAIR(DPU_DATA_CUBE_HEIGHT_HEIGHT, DPU_CUBE_HEIGHT_HEIGHT),
	PAIR(DPU_DATA_CUBE_CHANNEL_CHANNEL, DPU_CUBE_CHANNEL_CHANNEL),
	PAIR(DPU_WDMA_SIZE_0_CHANNEL, DPU_WDMA_SIZE0_CHANNEL), PAIR(DPU_WDMA_SIZE_1_WIDTH, DPU_WDMA_SIZE1_WIDTH),
	PAIR(DPU_WDMA_SIZE_1_HEIGHT, DPU_WDMA_SIZE1_HEIGHT),
	SAME(DPU_BS_MUL_CFG_MUL_OPERAND), SAME(DPU_BS_OW_CFG_SIZE_E_0), SAME(DPU_BS_OW_CFG_SIZE_E_1),
	SAME(DPU_BS_OW_CFG_SIZE_E_2), SAME(DPU_BN_CFG_BYPASS), SAME(DPU_BN_CFG_ALU_BYPASS), SAME(DPU_BN_CFG_MUL_BYPASS),
	SAME(DPU_BN_CFG_ALU_ALGO), SAME(DPU_BN_MUL_CFG_MUL_OPERAND), PAIR(DPU_EW_CVT_SCALE_CVT_SCALE, DPU_EW_CVT_SCALE_SCALE),
	PAIR(DPU_OUT_CVT_OFFSET_OFFSET, DPU_OUT_CVT_OFFSET_VALUE), SAME(DPU_OUT_CVT_SCALE_SCALE),
	SAME(DPU_OUT_CVT_SHIFT_SHIFT), PAIR(DPU_LUT_LE_START_INDEX, DPU_LUT_LE_START_VALUE),
	PAIR(DPU_LUT_LO_END_INDEX, DPU_LUT_LO_END_VALUE),
	/* The RDMA has what it writes as well. */
	PAIR(RDMA_DATA_CUBE_WIDTH_WIDTH, RDMA_CUBE_WIDTH_WIDTH),
	PAIR(RDMA_DATA_CUBE_HEIGHT_HEIGHT, RDMA_CUBE_HEIGHT_HEIGHT),
	PAIR(RDMA_DATA_CUBE_CHANNEL_CHANNEL, RDMA_CUBE_CHANNEL_CHANNEL), PAIR(RDMA_SRC_BASE_ADDR_IOVA, RDMA_SRC_ADDR_IOVA),
	PAIR(RDMA_BS_BASE_ADDR_IOVA, RDMA_BS_ADDR_IOVA), SAME(RDMA_ERDMA_CFG_DISABLE), SAME(RDMA_ERDMA_CFG_DATA_SIZE),
	SAME(RDMA_ERDMA_CFG_DATA_MODE), PAIR(RDMA_EW_BASE_ADDR_IOVA, RDMA_EW_ADDR_IOVA),
	ATOMS(RDMA_EW_SURF_STRIDE, RDMA_EW_SURF_STRIDE), ATOMS(RDMA_SURF_NOTCH, RDMA_SURF_NOTCH),
	ATOMS(RDMA_EW_SURF_NOTCH, RDMA_EW_SURF_NOTCH), PAIR(RDMA_FEATURE_MODE_CFG_FLYING_MODE, RDMA_FEATURE_MODE_FLYING),
	PAIR(RDMA_FEATURE_MODE_CFG_MRDMA_DISABLE, RDMA_FEATURE_MODE_MRDMA_DISABLE),
	PAIR(RDMA_FEATURE_MODE_CFG_PROC_PRECISION, RDMA_FEATURE_MODE_PROC_PRECISION),
	PAIR(RDMA_FEATURE_MODE_CFG_IN_PRECISION, RDMA_FEATURE_MODE_IN_PRECISION),
	PAIR(RDMA_FEATURE_MODE_CFG_BURST_LEN, RDMA_FEATURE_MODE_BURST_LEN),
};

static void move(struct npu_prog *p, const struct pair *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t value = npu_prog_value(p, (enum npu_field_id)row[i].from);

		npu_prog_field(p, (enum npu_field_id)row[i].to, row[i].atoms ? value / npu_prog_chip(p)->atom : value);
	}
}

/* Stages have their clamps twice. */
static void open_clamps(struct npu_prog *p)
{
	SET62(p, DPU_BS_LOW_VALUE, INT32_MIN);
	SET62(p, DPU_BS_HIGH_VALUE, INT32_MAX);
	SET62(p, DPU_BS_LOW1_VALUE, INT32_MIN);
	SET62(p, DPU_BS_HIGH1_VALUE, INT32_MAX);
	SET62(p, DPU_BN_LOW_VALUE, INT32_MIN);
	SET62(p, DPU_BN_HIGH_VALUE, INT32_MAX);
	SET62(p, DPU_BN_LOW1_VALUE, INT32_MIN);
	SET62(p, DPU_BN_HIGH1_VALUE, INT32_MAX);
	SET62(p, DPU_EW_LOW_VALUE, INT32_MIN);
	SET62(p, DPU_EW_HIGH_VALUE, INT32_MAX);
	SET62(p, DPU_OUT_LOW_VALUE, INT32_MIN);
	SET62(p, DPU_OUT_HIGH_VALUE, INT32_MAX);
}

void npu_prog_clamp_bn62(struct npu_prog *p)
{
	SET62(p, DPU_BN_CFG_BYPASS, 0);
	SET62(p, DPU_BN_LOW_VALUE, 0);
	SET62(p, DPU_BN_LOW1_VALUE, 0);
}

/* Which the output repeats. */
void npu_prog_clamp_ew62(struct npu_prog *p)
{
	SET62(p, DPU_EW_LOW_VALUE, 0);
	SET62(p, DPU_OUT_LOW_VALUE, 0);
}

void npu_prog_move62(struct npu_prog *p)
{
	bool flying = npu_prog_value(p, NPU_F_DPU_FEATURE_MODE_CFG_FLYING_MODE);
	bool operands = flying || !npu_prog_value(p, NPU_F_RDMA_ERDMA_CFG_DISABLE);

	if (!flying)
		move(p, cna, ARRAY_SIZE(cna));
	move(p, dpu, ARRAY_SIZE(dpu));
	open_clamps(p);
	SET62(p, DPU_BS_CFG_FORM_LOW, NPU_BS62_OFF);
	SET62(p, DPU_BS_OW_CFG_MUL_BYPASS, 1);
	SET62(p, DPU_EW_CFG_VALUE, NPU_EW62_OFF);
	SET62(p, DPU_WDMA_SIZE0_WORDS, ATOM_WORDS);
	SET62(p, DPU_WRITE_CFG_VALUE, flying ? WRITE_FLYING : WRITE_CORE);
	SET62(p, DPU_OUT_CVT_SCALE_UNKNOWN, operands);
	SET62(p, RDMA_FEATURE_MODE_UNKNOWN, operands);
}

/* ---- commands ---- */

/* In all programs that are known these are written, and 0. */
static const uint16_t zeros_cna[] = { 0x1068, 0x1100, 0x1104, 0x1140, 0x1144 };
static const uint16_t zeros_dpu[] = { 0x403c, 0x4090, 0x4094, 0x4098, 0x409c, 0x40a0 };
static const uint16_t zeros_rdma[] = { 0x5064, 0x507c };

static void emit(struct npu_prog *p, enum npu_reg62_id first, enum npu_reg62_id last)
{
	for (int r = first; r <= (int)last; r++)
		npu_prog_emit(p, (enum npu_reg_id)r);
}

static void emit_zeros(struct npu_prog *p, uint16_t target, const uint16_t *reg, size_t n)
{
	for (size_t i = 0; i < n; i++)
		npu_prog_raw(p, target, reg[i], 0);
}

/* Compilers have the end of the weights' banks among the pointers as well. */
void npu_prog_emit_pointers62(struct npu_prog *p, uint32_t enable, uint32_t pointers)
{
	if (enable & NPU_EN_CNA) {
		npu_prog_raw(p, NPU_TGT_CNA, NPU_OFF_CNA_S_POINTER, pointers);
		npu_prog_raw(p, NPU_TGT_CORE, NPU_OFF_CORE_S_POINTER, pointers);
		emit(p, NPU_R62_CNA_CBUF_WEIGHT, NPU_R62_CNA_CBUF_WEIGHT);
	}
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, pointers);
	npu_prog_raw(p, NPU_TGT_RDMA, NPU_OFF_RDMA_S_POINTER, pointers);
}

void npu_prog_emit62(struct npu_prog *p, uint32_t enable)
{
	if (enable & NPU_EN_CNA) {
		emit(p, NPU_R62_CNA_CONV_CON1, NPU_R62_CNA_DMA_LINE);
		emit_zeros(p, NPU_TGT_CNA, zeros_cna, ARRAY_SIZE(zeros_cna));
		emit(p, NPU_R62_CORE_MISC, NPU_R62_CORE_MODE);
	}
	emit(p, NPU_R62_DPU_FEATURE_MODE, NPU_R62_DPU_LUT_LO_SLOPE_SHIFT);
	emit_zeros(p, NPU_TGT_DPU, zeros_dpu, ARRAY_SIZE(zeros_dpu));
	emit(p, NPU_R62_RDMA_CUBE_WIDTH, NPU_R62_RDMA_LINE_NOTCH);
	emit_zeros(p, NPU_TGT_RDMA, zeros_rdma, ARRAY_SIZE(zeros_rdma));
	npu_prog_emit_tail62(p);
}

void npu_prog_emit_tail62(struct npu_prog *p)
{
	npu_prog_raw(p, NPU_TGT_CMAC, 0x8028, 0xc);
	npu_prog_raw(p, NPU_TGT_CMAC, 0x802c, UINT32_MAX);
}

int npu_prog_finish62(struct npu_prog *p, uint32_t enable)
{
	npu_prog_emit62(p, enable);
	return npu_prog_finish(p, enable);
}
