// SPDX-License-Identifier: MIT
/*
 * The register program of one convolution or matrix product task on an RK3566 or RK3568, bytes to
 * bytes: the RK3588's, with what lies elsewhere or in other bits put there.
 *
 * What goes where, and words whose bits nobody knows, are those of Rockchip's compilers for these
 * chips, as are forms: operands of BS are a word per channel beside one zero point, ReLU is BN's,
 * and what needs no operands does without DPU_RDMA. iav tells what boards make of some of it.
 */
#include <errno.h>

#include "npu_rk3568.h"

/* Of the CNA; boards need bit 20 (iav). */
#define FETCHES		0x171c07
#define OPERAND_WORD	8u

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

static int check(struct npu_prog *p, const struct npu_conv_task *t, const struct npu_table *table)
{
	const char *name = npu_prog_chip(p)->name;

	if (t->in != NPU_PREC_INT8 || t->out != NPU_PREC_INT8)
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs from %s to %s on the %s", npu_prec_name(t->in),
				     npu_prec_name(t->out), name);
	if (table)
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs with tables on the %s", name);
	if (t->dil_x != 1 || t->dil_y != 1)
		return npu_prog_fail(p, -EOPNOTSUPP, "the %s has no dilation that is known", name);
	return npu_prog_check_conv(p, t);
}

/* Lines that are fetched ahead, more of them for narrow results: iav's rule for compilers' programs. */
static uint32_t grains(const struct npu_conv_task *t)
{
	uint32_t more = (t->out_w < 28) + (t->out_w < 14);

	return (uint32_t)min_u64(t->in_h, t->kh + t->stride_y * (1 + more));
}

static void set_cna(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, CNA_CONV_CON2_FEATURE_GRAINS, grains(t));
	SET68(p, CNA_CBUF_CON1_WIDTH, t->in_w);
	SET68(p, CNA_CVT_CON0_CVT_EN, 0);
	SET68(p, CNA_PAD_CON0_PAD_VALUE, (uint16_t)t->pad_value);
	SET68(p, CNA_DMA_CON0_VALUE, FETCHES);
	SET(p, CNA_DMA_CON1_LINE_STRIDE, t->in_w);
	SET68(p, CNA_DMA_CON2_SURF_STRIDE, t->in_pitch ? t->in_pitch : (int64_t)t->in_w * t->in_h_full);
}

static void set_core(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET68(p, CMAC_MISC_CFG_QD_EN, 1);
	SET68(p, CMAC_MISC_CFG_DW_EN, t->depthwise);
	SET68(p, CORE_MISC_CFG_DW_EN, t->depthwise);
	SET68(p, CORE_DATAOUT_SIZE_0_WIDTH, t->out_w);
	SET68(p, CORE_DATAOUT_SIZE_0_HEIGHT, t->out_h);
	SET68(p, CORE_DATAOUT_SIZE_1_CHANNEL, t->out_c);
}

static void set_dpu(struct npu_prog *p, const struct npu_conv_task *t)
{
	npu_prog_set_modes68(p, false, t->depthwise);
	SET(p, DPU_BS_CFG_ALU_ALGO, 0);
	SET68(p, DPU_BS_CFG_ALU_ALGO, t->has_bias ? NPU_CODE_ALU_ADD : 0);
	SET(p, DPU_BN_CFG_BYPASS, !t->relu);
	SET(p, DPU_BN_CFG_RELU_BYPASS, !t->relu);
	if (t->has_bias)
		SET68(p, RDMA_BS_LENGTH_WORDS, t->out_c * sizeof(int32_t) / OPERAND_WORD);
}

static void emit_pointers(struct npu_prog *p)
{
	npu_prog_raw(p, NPU_TGT_CNA, NPU_OFF_CNA_S_POINTER, NPU_POINTERS68);
	npu_prog_raw(p, NPU_TGT_CMAC, NPU_OFF68_CMAC_S_POINTER, NPU_POINTERS68);
	npu_prog_raw(p, NPU_TGT_CORE, NPU_OFF_CORE_S_POINTER, NPU_POINTERS68);
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, NPU_POINTERS68);
}

static int emit(struct npu_prog *p, bool rdma)
{
	uint32_t enable = NPU_EN_CNA | NPU_SIZE68_ENABLE_CMAC | NPU_EN_CORE | NPU_EN_DPU;

	emit_pointers(p);
	if (rdma)
		npu_prog_raw(p, NPU_TGT_RDMA, NPU_OFF_RDMA_S_POINTER, NPU_POINTERS68);
	npu_prog_emit_cna(p);
	EMIT68(p, CNA_UNKNOWN_1018);
	for (int r = NPU_R68_CNA_DCOMP_ADDR1; r <= NPU_R68_CNA_UNKNOWN_1230; r++)
		npu_prog_emit(p, (enum npu_reg_id)r);
	EMIT68(p, CMAC_MISC_CFG);
	EMIT68(p, CORE_MISC_CFG);
	EMIT68(p, CORE_DATAOUT_SIZE_0);
	EMIT68(p, CORE_DATAOUT_SIZE_1);
	EMIT68(p, CORE_CLIP_TRUNCATE);
	npu_prog_emit_dpu(p);
	if (rdma) {
		npu_prog_emit_rdma68(p);
		enable |= NPU_EN_DPU_RDMA;
	}
	return npu_prog_finish(p, enable);
}

int npu_prog_conv_rk3568(struct npu_prog *p, const struct npu_conv_task *task,
			 const struct npu_table *table, bool upload)
{
	struct npu_conv_task t = *task;

	(void)upload;
	if (check(p, &t, table))
		return npu_prog_error(p);
	t.relu = false;
	npu_prog_stage_conv(p, &t);
	t.relu = task->relu;
	set_cna(p, &t);
	set_core(p, &t);
	set_dpu(p, &t);
	return emit(p, t.has_bias);
}
