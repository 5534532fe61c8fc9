// SPDX-License-Identifier: MIT
/*
 * The register program of one convolution or matrix product task on an RK3562, bytes to bytes: the RK3588's, moved
 * to where this chip has it.
 *
 * What goes where, and words whose bits nobody knows, are those of Rockchip's compilers for this chip, as are forms:
 * operands of BS, a word, a zero point and a factor for each channel, which depthwise layers have without a zero
 * point, and ReLU, which is BN's. Nobody is known to have run a program of one's own on a board.
 */
#include <errno.h>

#include "npu_rk3562.h"

/* Banks of weights that are fetched in turns, where the compilers have three at most beside features. */
#define FEW_BANKS	2u
#define MAX_GRAINS	0x3ffu
#define BURSTS		0x000f400f
#define CVT_SCALES	0x10001
#define CBUF_CONV	3
#define WEIGHT_SIZE1	2
#define CNA_106C	0x20
/* BS, of which the shift is another field. */
#define BS_DIRECT	0x80
#define BS_DIRECT_HIGH	0x12
#define BS_DEPTHWISE	0x92
#define BS_DW_HIGH	0x10
/* What RDMA fetches for BS: words, zero points, factors. */
#define OPERANDS	7
#define OPERANDS_DW	5
#define DW_WORDS	7
#define DW_KERNELS	2

#define SET		SET62

static uint32_t kernels(const struct npu_conv_task *t)
{
	return t->depthwise ? DW_KERNELS : t->out_c;
}

static uint64_t kernel_bytes(const struct npu_conv_task *t)
{
	return (uint64_t)t->kw * t->kh * t->in_c;
}

/* ---- CBUF ---- */

static uint32_t row_granules(const struct npu_prog *p, const struct npu_conv_task *t)
{
	return npu_row_entries(npu_prog_chip(p), t->in, t->in_w, t->in_c);
}

static uint32_t banks_for(uint64_t bytes)
{
	return (uint32_t)div_up(bytes, NPU_SIZE62_CBUF_BANK_GRANULES * NPU_SIZE62_CBUF_GRANULE_BYTES);
}

static uint32_t feature_banks(const struct npu_prog *p, const struct npu_conv_task *t)
{
	return banks_for((uint64_t)row_granules(p, t) * t->in_h * NPU_SIZE62_CBUF_GRANULE_BYTES);
}

/* All weights beside the features if there is room, as compilers have it; else the groups of kernels take turns. */
static uint32_t weight_banks(const struct npu_prog *p, const struct npu_conv_task *t)
{
	uint32_t all = banks_for(kernel_bytes(t) * kernels(t));
	uint32_t group = banks_for(kernel_bytes(t) * npu_prog_chip(p)->kernel_group);

	if (t->depthwise || feature_banks(p, t) + all <= NPU_SIZE62_CBUF_BANKS)
		return all;
	return (uint32_t)max_u64(FEW_BANKS, group);
}

/*
 * Lines that are fetched before CORE starts, as the compilers have them in all programs of bytes that are known: more
 * for large strides, for narrow results, of which eight positions count, and for short lines.
 */
static uint32_t grains(const struct npu_prog *p, const struct npu_conv_task *t)
{
	uint32_t lines = (uint32_t)div_up(8, t->out_w) * t->stride_y + t->kh, skipped = 2 * t->stride_y;
	uint32_t more = lines > skipped ? (uint32_t)div_up(lines - skipped, 4) : 0;

	return (uint32_t)min_u64(4 * (13 * t->stride_y + 1 + more + 127 / row_granules(p, t)), MAX_GRAINS);
}

static int check(struct npu_prog *p, const struct npu_conv_task *t, const struct npu_table *table)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	uint32_t features, weights;

	if (t->in != NPU_PREC_INT8 || t->out != NPU_PREC_INT8)
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs from %s to %s on the %s", npu_prec_name(t->in),
				     npu_prec_name(t->out), chip->name);
	if (table)
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs with tables on the %s", chip->name);
	if (t->dil_x != 1 || t->dil_y != 1)
		return npu_prog_fail(p, -EOPNOTSUPP, "the %s has no dilation that is known", chip->name);
	if (!t->has_bias)
		return npu_prog_fail(p, -EINVAL, "no operands, which programs of the %s need", chip->name);
	if (npu_prog_check_conv(p, t))
		return npu_prog_error(p);
	features = feature_banks(p, t);
	weights = weight_banks(p, t);
	if (features + weights > NPU_SIZE62_CBUF_BANKS)
		return npu_prog_fail(p, -E2BIG, "%u feature and %u weight banks exceed the limit %u", features, weights,
				     NPU_SIZE62_CBUF_BANKS);
	return 0;
}

/* ---- registers ---- */

static void set_cbuf(struct npu_prog *p, const struct npu_conv_task *t)
{
	uint32_t banks = NPU_SIZE62_CBUF_BANKS - weight_banks(p, t), row = row_granules(p, t);

	SET(p, CNA_CBUF_DATA_END_BANK, banks);
	SET(p, CNA_CBUF_DATA_BANKS, banks);
	SET(p, CNA_CBUF_DATA_CONV, CBUF_CONV);
	SET(p, CNA_CBUF_WEIGHT_END_BANK, NPU_SIZE62_CBUF_BANKS);
	SET(p, CNA_CBUF_START_WEIGHT, banks * NPU_SIZE62_CBUF_BANK_GRANULES);
	SET(p, CNA_CBUF_ROW_GRANULES, row);
	SET(p, CNA_DATA_ROW_GRANULES, row);
}

static void set_cna(struct npu_prog *p, const struct npu_conv_task *t)
{
	int64_t pitch = t->in_pitch ? t->in_pitch : (int64_t)t->in_w * t->in_h_full;

	SET(p, CNA_CONV_CON1_CONV_MODE, t->depthwise ? NPU_CODE62_MODE_DEPTHWISE_PAIRS : NPU_CODE62_MODE_DIRECT);
	SET(p, CNA_CONV_CON1_CONV, 1);
	SET(p, CNA_CONV_CON2_GRAINS, grains(p, t));
	SET(p, CNA_WEIGHT_SIZE0_BYTES, (int64_t)kernel_bytes(t) * kernels(t));
	SET(p, CNA_WEIGHT_SIZE1_UNKNOWN, WEIGHT_SIZE1);
	SET(p, CNA_WEIGHT_SIZE2_KERNELS, kernels(t));
	SET(p, CNA_CVT_CON1_SCALES, CVT_SCALES);
	SET(p, CNA_CVT_CON2_SCALES, CVT_SCALES);
	SET(p, CNA_UNKNOWN_106C_VALUE, CNA_106C);
	SET(p, CNA_PAD_CON0_BOTTOM, npu_pad_after(t->in_h, t->out_h, t->kh, t->stride_y, t->pad_top));
	SET(p, CNA_PAD_CON0_RIGHT, npu_pad_after(t->in_w, t->out_w, t->kw, t->stride_x, t->pad_left));
	SET(p, CNA_PAD_CON1_VALUE, (uint32_t)t->pad_value);
	SET(p, CNA_DMA_CON0_BURSTS, BURSTS);
	SET(p, CNA_DMA_CON2_SURF_STRIDE, pitch);
	SET(p, CNA_DMA_CON3_FETCHED, pitch);
	set_cbuf(p, t);
}

static void set_core(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, CORE_MISC_QD_EN, !t->depthwise);
	SET(p, CORE_MISC_DW, t->depthwise ? NPU_CODE62_DW_ON : NPU_CODE62_DW_OFF);
	SET(p, CORE_SIZE0_WIDTH, t->out_w);
	SET(p, CORE_SIZE0_HEIGHT, t->out_h);
	SET(p, CORE_SIZE1_CHANNEL, t->out_c);
}

static void set_dpu(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, DPU_FEATURE_MODE_CONV_MODE, t->depthwise);
	if (t->depthwise)
		SET(p, DPU_WDMA_SIZE0_WORDS, DW_WORDS);
	SET(p, DPU_BS_CFG_FORM_LOW, t->depthwise ? BS_DEPTHWISE : BS_DIRECT);
	SET(p, DPU_BS_CFG_FORM_HIGH, t->depthwise ? BS_DW_HIGH : BS_DIRECT_HIGH);
	SET(p, DPU_BS_CFG_MUL_SHIFT, npu_prog_chip(p)->factor_bits);
	SET(p, DPU_BS_MUL_CFG_OW_SRC, !t->depthwise);
	SET(p, DPU_BS_OW_CFG_MUL_SRC, 1);
	SET(p, DPU_BS_OW_CFG_MUL_BYPASS, 0);
	SET(p, DPU_BS_OW_OP_MUL_SHIFT_NEG, npu_prog_chip(p)->factor_bits);
	SET(p, DPU_BS_OW_OP_OW_EN, !t->depthwise);
	if (t->relu)
		npu_prog_clamp_bn62(p);
	SET(p, RDMA_BRDMA_CFG_DATA_USE, t->depthwise ? OPERANDS_DW : OPERANDS);
	SET(p, RDMA_FEATURE_MODE_CONV_MODE, t->depthwise ? NPU_CODE62_MODE_DEPTHWISE : NPU_CODE62_MODE_DIRECT);
}

int npu_prog_conv_rk3562(struct npu_prog *p, const struct npu_conv_task *t, const struct npu_table *table, bool upload)
{
	const uint32_t enable = NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU | NPU_EN_DPU_RDMA;

	(void)upload;
	if (check(p, t, table))
		return npu_prog_error(p);
	npu_prog_stage_conv(p, t);
	npu_prog_move62(p);
	set_cna(p, t);
	set_core(p, t);
	set_dpu(p, t);
	npu_prog_emit_pointers62(p, enable, NPU_POINTERS62);
	return npu_prog_finish62(p, enable);
}
