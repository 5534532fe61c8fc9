// SPDX-License-Identifier: MIT
/*
 * The register program of one direct convolution or matrix product task.
 *
 * The order of entries and the constants are those of the matmul program
 * published by mtx512; bias, requantisation and the DPU_RDMA block are as
 * Mesa's rocket driver sets them.
 */
#include <errno.h>

#include "npu_rk3562.h"
#include "npu_rk3568.h"
#include "npu_rk3576.h"
#include "npu_task.h"

/* DATAIN rows: FEATURE_GRAINS has 10 bits and is set to rows + 1. */
#define MAX_IN_H	1022u
#define CVT_SCALE_ONE	1
#define BURST_16	15
#define ARGB_ONE	8	/* one packed channel */
/* Kernels of this size hang with more bytes of channels, but for int8 (boydjohnson). */
#define LARGE_KERNEL	7u
#define LARGE_BYTES	128u
/* Entries of CBUF behind which the last channels of a row are read wrong (boydjohnson). */
#define MAX_ROW_ENTRIES	2047u

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

static const enum npu_reg_id cna_order[] = {
	NPU_R_CNA_CONV_CON1, NPU_R_CNA_CONV_CON2, NPU_R_CNA_CONV_CON3,
	NPU_R_CNA_DATA_SIZE0, NPU_R_CNA_DATA_SIZE1, NPU_R_CNA_DATA_SIZE2, NPU_R_CNA_DATA_SIZE3,
	NPU_R_CNA_WEIGHT_SIZE0, NPU_R_CNA_WEIGHT_SIZE1, NPU_R_CNA_WEIGHT_SIZE2,
	NPU_R_CNA_CBUF_CON0, NPU_R_CNA_CBUF_CON1,
	NPU_R_CNA_CVT_CON0, NPU_R_CNA_CVT_CON1, NPU_R_CNA_CVT_CON2, NPU_R_CNA_CVT_CON3,
	NPU_R_CNA_CVT_CON4,
	NPU_R_CNA_FC_CON0, NPU_R_CNA_FC_CON1, NPU_R_CNA_PAD_CON0,
	NPU_R_CNA_FEATURE_DATA_ADDR, NPU_R_CNA_FC_CON2,
	NPU_R_CNA_DMA_CON0, NPU_R_CNA_DMA_CON1, NPU_R_CNA_DMA_CON2,
	NPU_R_CNA_FC_DATA_SIZE0, NPU_R_CNA_FC_DATA_SIZE1,
	NPU_R_CNA_DCOMP_CTRL, NPU_R_CNA_DCOMP_REGNUM, NPU_R_CNA_DCOMP_ADDR0,
};

static const enum npu_reg_id cna_rest[] = {
	NPU_R_CNA_DCOMP_AMOUNT0, NPU_R_CNA_DCOMP_AMOUNT1, NPU_R_CNA_DCOMP_AMOUNT2,
	NPU_R_CNA_DCOMP_AMOUNT3, NPU_R_CNA_DCOMP_AMOUNT4, NPU_R_CNA_DCOMP_AMOUNT5,
	NPU_R_CNA_DCOMP_AMOUNT6, NPU_R_CNA_DCOMP_AMOUNT7, NPU_R_CNA_DCOMP_AMOUNT8,
	NPU_R_CNA_DCOMP_AMOUNT9, NPU_R_CNA_DCOMP_AMOUNT10, NPU_R_CNA_DCOMP_AMOUNT11,
	NPU_R_CNA_DCOMP_AMOUNT12, NPU_R_CNA_DCOMP_AMOUNT13, NPU_R_CNA_DCOMP_AMOUNT14,
	NPU_R_CNA_DCOMP_AMOUNT15,
	NPU_R_CNA_CVT_CON5, NPU_R_CNA_PAD_CON1,
};

static const enum npu_reg_id core_order[] = {
	NPU_R_CORE_MISC_CFG, NPU_R_CORE_DATAOUT_SIZE_0, NPU_R_CORE_DATAOUT_SIZE_1,
	NPU_R_CORE_CLIP_TRUNCATE, NPU_R_CORE_UNKNOWN_3030,
};

const char *npu_prec_name(enum npu_prec prec)
{
	static const char * const name[] = {
		[NPU_PREC_INT8] = "INT8", [NPU_PREC_INT16] = "INT16", [NPU_PREC_FP16] = "FP16",
		[NPU_PREC_BF16] = "BF16", [NPU_PREC_INT32] = "INT32", [NPU_PREC_FP32] = "FP32",
		[NPU_PREC_INT4] = "INT4",
	};

	return (unsigned int)prec < ARRAY_SIZE(name) ? name[prec] : "an unknown type";
}

uint32_t npu_prec_bits(enum npu_prec prec)
{
	switch (prec) {
	case NPU_PREC_INT4:
		return 4;
	case NPU_PREC_INT8:
		return 8;
	case NPU_PREC_INT16:
	case NPU_PREC_FP16:
	case NPU_PREC_BF16:
		return 16;
	default:
		return 32;
	}
}

size_t npu_prec_bytes(enum npu_prec prec)
{
	return npu_prec_bits(prec) / 8;
}

uint32_t npu_kernel_group(const struct npu_chip *chip, enum npu_prec in)
{
	return in == NPU_PREC_INT4 ? 2 * chip->kernel_group :
	       in == NPU_PREC_INT8 ? chip->kernel_group : chip->kernel_group / 2;
}

uint32_t npu_depthwise_group(const struct npu_chip *chip, enum npu_prec in)
{
	return in == NPU_PREC_INT8 ? chip->depthwise_group : chip->depthwise_group / 2;
}

static uint32_t entry_bytes(const struct npu_chip *chip)
{
	return NPU_ENTRY_ATOMS * chip->atom;
}

uint32_t npu_row_entries(const struct npu_chip *chip, enum npu_prec in, uint32_t w, uint32_t c)
{
	return (uint32_t)div_up((uint64_t)w * c * npu_prec_bits(in), 8 * entry_bytes(chip));
}

uint64_t npu_row_bytes(const struct npu_chip *chip, enum npu_prec in, uint32_t w, uint32_t c)
{
	return (uint64_t)npu_row_entries(chip, in, w, c) * entry_bytes(chip);
}

/* Banks for 32 kernels. */
uint32_t npu_weight_banks(const struct npu_chip *chip, size_t kernel_bytes)
{
	return (uint32_t)max_u64(chip->weight_banks, div_up(32 * (uint64_t)kernel_bytes, chip->bank_bytes));
}

uint32_t npu_task_kernels(const struct npu_chip *chip, uint64_t kernel_bytes)
{
	return (uint32_t)min_u64(chip->kernels, chip->weight_bytes / kernel_bytes) / 32 * 32;
}

static size_t kernel_bytes(const struct npu_conv_task *t)
{
	return (size_t)t->kw * t->kh * t->in_c * npu_prec_bits(t->in) / 8;
}

/* Of all kernels; a depthwise convolution has one of all channels. */
static uint32_t kernels(const struct npu_conv_task *t)
{
	return t->depthwise ? 1 : t->out_c;
}

/* Output channels that are computed together. */
static uint32_t channel_group(const struct npu_chip *chip, const struct npu_conv_task *t)
{
	return t->depthwise ? npu_depthwise_group(chip, t->in) : npu_kernel_group(chip, t->in);
}

static uint64_t feature_banks(const struct npu_chip *chip, const struct npu_conv_task *t)
{
	return div_up(npu_row_bytes(chip, t->in, t->in_w, t->in_c) * t->in_h, chip->bank_bytes);
}

static int check_types(struct npu_prog *p, const struct npu_conv_task *t)
{
	bool requant = t->out == NPU_PREC_INT8;
	bool is_float = t->in == NPU_PREC_FP16 || (t->in == NPU_PREC_BF16 && !t->depthwise);
	bool plain = !t->depthwise && !t->has_bias && !t->relu;
	bool ok = t->in == NPU_PREC_INT8 ? requant || (t->out == NPU_PREC_INT32 && !t->depthwise)
		: t->in == NPU_PREC_INT4 ? t->out == NPU_PREC_INT16 && plain
		: is_float && (t->out == t->in || t->out == NPU_PREC_FP32);

	if (!ok)
		return npu_prog_fail(p, -EINVAL, "no mode for operands of %s and a result of %s",
				     npu_prec_name(t->in), npu_prec_name(t->out));
	if (!requant && t->weight_zp)
		return npu_prog_fail(p, -EINVAL, "weight zero point needs an int8 result");
	if (t->out == NPU_PREC_INT32 && t->has_bias)
		return npu_prog_fail(p, -EINVAL, "no bias for an int32 result");
	if (t->no_rdma && t->has_bias)
		return npu_prog_fail(p, -EINVAL, "bias needs the DPU_RDMA block");
	if (requant && npu_requant_check(&t->rq))
		return npu_prog_fail(p, -ERANGE, "requantisation: scale %u, shift %u, zp %d",
				     t->rq.scale, t->rq.shift, t->rq.zp);
	return 0;
}

static int check_channels(struct npu_prog *p, const struct npu_conv_task *t)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	uint32_t group = channel_group(chip, t), bytes = t->in_c * npu_prec_bits(t->in) / 8;

	if (!t->in_c || t->in_c % 32)
		return npu_prog_fail(p, -EINVAL, "in_c: %u is not a positive multiple of 32",
				     t->in_c);
	if (!t->out_c || t->out_c % group)
		return npu_prog_fail(p, -EINVAL, "out_c: %u is not a positive multiple of %u",
				     t->out_c, group);
	if (t->depthwise && t->in_c != t->out_c)
		return npu_prog_fail(p, -EINVAL, "depthwise: %u channels to %u", t->in_c, t->out_c);
	if (!t->depthwise && t->in != NPU_PREC_INT8 && t->kw >= LARGE_KERNEL &&
	    t->kh >= LARGE_KERNEL && bytes > LARGE_BYTES)
		return npu_prog_fail(p, -EINVAL, "a kernel of %u x %u with %u channels hangs the NPU",
				     t->kw, t->kh, t->in_c);
	if ((div_up(bytes, entry_bytes(chip)) - 1) * t->in_w > MAX_ROW_ENTRIES)
		return npu_prog_fail(p, -E2BIG, "%u positions of %u channels are too long a row",
				     t->in_w, t->in_c);
	return 0;
}

static int check_shape(struct npu_prog *p, const struct npu_conv_task *t)
{
	uint32_t atom = npu_prog_chip(p)->atom;

	if (!t->in_w || !t->in_h || !t->kw || !t->kh || !t->stride_x || !t->stride_y)
		return npu_prog_fail(p, -EINVAL, "a size or stride is 0");
	if (t->in_h > t->in_h_full || t->out_h > t->out_h_full)
		return npu_prog_fail(p, -EINVAL, "a task is higher than its tensor");
	if ((t->in_iova | t->weight_iova | t->out_iova | t->bias_iova) % atom)
		return npu_prog_fail(p, -EINVAL, "an address is not a multiple of %u", atom);
	return 0;
}

/* Some chips add two bytes for a depthwise weight. */
static uint64_t stored_bytes(const struct npu_chip *chip, const struct npu_conv_task *t)
{
	return (uint64_t)kernel_bytes(t) * (t->depthwise && t->in == NPU_PREC_INT8 ? chip->depthwise_weight : 1);
}

static int check_cbuf(struct npu_prog *p, const struct npu_conv_task *t)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	uint32_t most = t->depthwise ? chip->depthwise_bytes : chip->kernel_bytes;
	uint64_t data, weight, per_kernel = stored_bytes(chip, t);

	if (t->in_h > MAX_IN_H)
		return npu_prog_fail(p, -ERANGE, "in_h: %u exceeds the limit %u",
				     t->in_h, MAX_IN_H);
	if (per_kernel > most)
		return npu_prog_fail(p, -E2BIG, "kernel of %llu bytes exceeds the limit %u",
				     (unsigned long long)per_kernel, most);
	data = feature_banks(chip, t);
	weight = div_up(per_kernel * (t->depthwise ? 1 : npu_kernel_group(chip, t->in)),
			chip->bank_bytes);
	if (data + weight > chip->banks)
		return npu_prog_fail(p, -E2BIG,
				     "%llu feature and %llu weight banks exceed the limit %u",
				     (unsigned long long)data, (unsigned long long)weight,
				     chip->banks);
	return 0;
}

int npu_prog_check_conv(struct npu_prog *p, const struct npu_conv_task *t)
{
	if (check_types(p, t) || check_channels(p, t) || check_shape(p, t) || check_cbuf(p, t))
		return npu_prog_error(p);
	return 0;
}

int64_t npu_pad_after(uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t before)
{
	int64_t end = (int64_t)(out - 1) * stride + kernel - before;

	return end > in ? end - in : 0;
}

/* Odd channels of a depthwise convolution take the second byte (gregordinary). */
static int64_t pad_value(const struct npu_conv_task *t)
{
	if (!t->depthwise || t->in != NPU_PREC_INT8)
		return t->pad_value;
	return (int64_t)(t->pad_value & 0xff) * 0x0101;
}

static void set_geometry(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, CNA_CONV_CON1_CONV_MODE, t->depthwise ? NPU_CODE_MODE_DEPTHWISE : 0);
	SET(p, CNA_CONV_CON1_IN_PRECISION, t->in);
	SET(p, CNA_CONV_CON1_PROC_PRECISION, t->in);
	SET(p, CNA_CONV_CON2_FEATURE_GRAINS, (int64_t)t->in_h + 1);
	SET(p, CNA_CONV_CON3_CONV_X_STRIDE, t->stride_x);
	SET(p, CNA_CONV_CON3_CONV_Y_STRIDE, t->stride_y);
	SET(p, CNA_CONV_CON3_ATROUS_X, t->dil_x);
	SET(p, CNA_CONV_CON3_ATROUS_Y, t->dil_y);
	SET(p, CNA_DATA_SIZE0_DATAIN_WIDTH, t->in_w);
	SET(p, CNA_DATA_SIZE0_DATAIN_HEIGHT, t->in_h);
	SET(p, CNA_DATA_SIZE1_DATAIN_CHANNEL, t->in_c);
	SET(p, CNA_DATA_SIZE1_DATAIN_CHANNEL_REAL, t->in_c);
	SET(p, CNA_DATA_SIZE2_DATAOUT_WIDTH, t->out_w);
	SET(p, CNA_DATA_SIZE3_DATAOUT_ATOMICS, (int64_t)t->out_w * t->out_h);
	SET(p, CNA_PAD_CON0_PAD_LEFT, t->pad_left);
	SET(p, CNA_PAD_CON0_PAD_TOP, t->pad_top);
	SET(p, CNA_PAD_CON1_PAD_VALUE, pad_value(t));
}

static void set_weights(struct npu_prog *p, const struct npu_conv_task *t)
{
	int64_t bytes = (int64_t)kernel_bytes(t);

	SET(p, CNA_WEIGHT_SIZE0_BYTES, bytes * kernels(t));
	SET(p, CNA_WEIGHT_SIZE1_BYTES_PER_KERNEL, bytes);
	SET(p, CNA_WEIGHT_SIZE2_WIDTH, t->kw);
	SET(p, CNA_WEIGHT_SIZE2_HEIGHT, t->kh);
	SET(p, CNA_WEIGHT_SIZE2_KERNELS, kernels(t));
	SET(p, CNA_DCOMP_ADDR0_IOVA, (int64_t)t->weight_iova);
}

/*
 * Strides count positions of 16 bytes; lines come in groups of four.  The
 * surface stride is what is left to the next surface after one group of
 * lines, and is negative for tensors of fewer than four rows.
 */
static void set_feature_dma(struct npu_prog *p, const struct npu_conv_task *t)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	int64_t banks = (int64_t)feature_banks(chip, t);
	int64_t pitch = t->in_pitch ? t->in_pitch : (int64_t)t->in_w * t->in_h_full;

	SET(p, CNA_CBUF_CON0_DATA_BANK, banks);
	SET(p, CNA_CBUF_CON0_WEIGHT_BANK, chip->banks - banks);
	SET(p, CNA_CBUF_CON1_DATA_ENTRIES, npu_row_entries(chip, t->in, t->in_w, t->in_c));
	SET(p, CNA_FEATURE_DATA_ADDR_IOVA, (int64_t)t->in_iova);
	SET(p, CNA_DMA_CON0_DATA_BURST, BURST_16);
	SET(p, CNA_DMA_CON0_WEIGHT_BURST, BURST_16);
	SET(p, CNA_DMA_CON1_LINE_STRIDE, 4 * (int64_t)t->in_w);
	SET(p, CNA_DMA_CON2_SURF_STRIDE, pitch - 4 * (int64_t)t->in_w);
	SET(p, CNA_FC_DATA_SIZE0_DMA_WIDTH, t->in_w);
	SET(p, CNA_FC_DATA_SIZE0_DMA_HEIGHT, t->in_h);
	SET(p, CNA_FC_DATA_SIZE1_DMA_CHANNEL, t->in_c);
}

static void set_converter_off(struct npu_prog *p)
{
	SET(p, CNA_CVT_CON0_CVT_BYPASS, 1);
	SET(p, CNA_CVT_CON0_CVT_TYPE, 1);
	SET(p, CNA_CVT_CON0_DATA_SIGN, 1);
	SET(p, CNA_CVT_CON1_SCALE, CVT_SCALE_ONE);
	SET(p, CNA_CVT_CON2_SCALE, CVT_SCALE_ONE);
	SET(p, CNA_CVT_CON3_SCALE, CVT_SCALE_ONE);
	SET(p, CNA_CVT_CON4_SCALE, CVT_SCALE_ONE);
}

/* QD_EN (the sum of inputs for the weight zero point) as the producers set it. */
static void set_core(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, CORE_MISC_CFG_PROC_PRECISION, t->in);
	SET(p, CORE_MISC_CFG_DW_EN, t->depthwise);
	SET(p, CORE_MISC_CFG_QD_EN, t->in != NPU_PREC_INT8 || t->out == NPU_PREC_INT8);
	SET(p, CORE_DATAOUT_SIZE_0_WIDTH, t->out_w);
	SET(p, CORE_DATAOUT_SIZE_0_HEIGHT, t->out_h);
	SET(p, CORE_DATAOUT_SIZE_1_CHANNEL, t->out_c);
}

static void set_output(struct npu_prog *p, const struct npu_conv_task *t)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	/* Surfaces that one group of channels fills. */
	int64_t surfaces = (int64_t)(channel_group(chip, t) * npu_prec_bytes(t->out) / chip->atom);
	int64_t pitch = chip->atom * (t->out_pitch ? t->out_pitch : (int64_t)t->out_w * t->out_h_full);

	SET(p, DPU_FEATURE_MODE_CFG_CONV_MODE, t->depthwise ? NPU_CODE_MODE_DEPTHWISE : 0);
	SET(p, DPU_FEATURE_MODE_CFG_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	SET(p, DPU_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, DPU_DATA_FORMAT_PROC_PRECISION, t->in);
	SET(p, DPU_DATA_FORMAT_IN_PRECISION, t->in);
	SET(p, DPU_DATA_FORMAT_OUT_PRECISION, t->out);
	SET(p, DPU_DST_BASE_ADDR_IOVA, (int64_t)t->out_iova);
	SET(p, DPU_DST_SURF_STRIDE_BYTES, pitch);
	SET(p, DPU_SURFACE_ADD_BYTES, pitch * surfaces);
	SET(p, DPU_DATA_CUBE_WIDTH_WIDTH, t->out_w);
	SET(p, DPU_DATA_CUBE_HEIGHT_HEIGHT, t->out_h);
	SET(p, DPU_DATA_CUBE_CHANNEL_CHANNEL, t->out_c);
	SET(p, DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL, t->out_c);
	SET(p, DPU_WDMA_SIZE_0_CHANNEL, t->out_c);
	SET(p, DPU_WDMA_SIZE_1_WIDTH, t->out_w);
	SET(p, DPU_WDMA_SIZE_1_HEIGHT, t->out_h);
	SET(p, DPU_BS_OW_CFG_SIZE_E_0, surfaces - 1);
	SET(p, DPU_BS_OW_CFG_SIZE_E_1, surfaces - 1);
	SET(p, DPU_BS_OW_CFG_SIZE_E_2, surfaces - 1);
}

/* A word per channel: integers of integers, floats of halves. */
static void set_bias(struct npu_prog *p, const struct npu_conv_task *t)
{
	bool bias = t->has_bias;

	SET(p, DPU_BS_CFG_BYPASS, !bias && !t->relu);
	SET(p, DPU_BS_CFG_ALU_BYPASS, !bias);
	SET(p, DPU_BS_CFG_RELU_BYPASS, !t->relu);
	SET(p, DPU_BS_CFG_ALU_SRC, bias);
	SET(p, DPU_BS_CFG_ALU_ALGO, bias ? NPU_CODE_ALU_ADD : 0);
	SET(p, RDMA_BRDMA_CFG_DATA_USE, bias);
	SET(p, RDMA_BS_BASE_ADDR_IOVA, bias ? (int64_t)t->bias_iova : 0);
}

static void set_conversions(struct npu_prog *p, const struct npu_conv_task *t)
{
	bool requant = t->out == NPU_PREC_INT8;

	/* The weight zero point stage stays on for int8 results, as in Mesa. */
	SET(p, DPU_BS_OW_CFG_OD_BYPASS, !requant);
	SET(p, DPU_BS_OW_OP_OPERAND, -(int64_t)t->weight_zp);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, requant ? t->rq.zp : 0);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, requant ? t->rq.scale : 1);
	SET(p, DPU_OUT_CVT_SCALE_FP32TOFP16_EN,
	    t->out == NPU_PREC_FP16 || t->out == NPU_PREC_BF16);
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, requant ? t->rq.shift : 0);
}

/* Every feed but the bias is off: one left on and unfed hangs the DPU. */
static void set_rdma(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, RDMA_DATA_CUBE_WIDTH_WIDTH, t->out_w);
	SET(p, RDMA_DATA_CUBE_HEIGHT_HEIGHT, t->out_h);
	SET(p, RDMA_DATA_CUBE_CHANNEL_CHANNEL, t->out_c);
	SET(p, RDMA_ERDMA_CFG_DISABLE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_CONV_MODE, t->depthwise ? NPU_CODE_MODE_DEPTHWISE : 0);
	SET(p, RDMA_FEATURE_MODE_CFG_BURST_LEN, BURST_16);
	SET(p, RDMA_FEATURE_MODE_CFG_MRDMA_DISABLE, 1);
	SET(p, RDMA_FEATURE_MODE_CFG_MRDMA_FP16TOFP32, t->out == NPU_PREC_FP16);
	npu_prog_set_shares(p);
}

void npu_prog_stage_conv(struct npu_prog *p, const struct npu_conv_task *t)
{
	npu_prog_clear_image(p);
	npu_prog_set_pointers(p);
	set_geometry(p, t);
	set_weights(p, t);
	set_feature_dma(p, t);
	set_converter_off(p);
	set_output(p, t);
	npu_prog_set_stages_off(p);
	set_bias(p, t);
	set_conversions(p, t);
	set_rdma(p, t);
}

static void stage(struct npu_prog *p, const struct npu_conv_task *t)
{
	npu_prog_stage_conv(p, t);
	set_core(p, t);
}

void npu_prog_emit_cna(struct npu_prog *p)
{
	npu_prog_emit_all(p, cna_order, ARRAY_SIZE(cna_order));
}

static int emit(struct npu_prog *p, bool rdma, const struct npu_table *upload)
{
	uint32_t enable = NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU;

	npu_prog_emit(p, NPU_R_DPU_S_POINTER);
	if (rdma)
		npu_prog_emit(p, NPU_R_RDMA_S_POINTER);
	if (upload)
		npu_prog_upload_table(p, upload);
	npu_prog_emit_cna(p);
	npu_prog_emit_all(p, cna_rest, ARRAY_SIZE(cna_rest));
	npu_prog_emit_all(p, core_order, ARRAY_SIZE(core_order));
	npu_prog_emit_dpu(p);
	if (rdma) {
		npu_prog_emit_rdma(p);
		enable |= NPU_EN_DPU_RDMA;
	}
	return npu_prog_finish(p, enable);
}

int npu_prog_conv(struct npu_prog *p, const struct npu_conv_task *t)
{
	return npu_prog_conv_table(p, t, NULL, false);
}

static int conv_rk3588(struct npu_prog *p, const struct npu_conv_task *t, const struct npu_table *table,
		       bool upload)
{
	if (npu_prog_check_conv(p, t))
		return npu_prog_error(p);
	stage(p, t);
	if (table)
		npu_prog_set_table(p, table);
	return emit(p, !t->no_rdma, upload ? table : NULL);
}

static int (*const conv_of[NPU_ENCODINGS])(struct npu_prog *p, const struct npu_conv_task *t,
					  const struct npu_table *table, bool upload) = {
	[NPU_ENCODING_RK3588] = conv_rk3588,
	[NPU_ENCODING_RK3576] = npu_prog_conv_rk3576,
	[NPU_ENCODING_RK3568] = npu_prog_conv_rk3568,
	[NPU_ENCODING_RK3562] = npu_prog_conv_rk3562,
};

int npu_prog_conv_table(struct npu_prog *p, const struct npu_conv_task *t,
			const struct npu_table *table, bool upload)
{
	if (npu_prog_error(p))
		return npu_prog_error(p);
	return conv_of[npu_prog_chip(p)->encoding](p, t, table, upload);
}

/*
 * Pixels of one half, one behind the other. Rockchip's compilers set these registers so for
 * images of three bytes, and read row maxima of their softmax so.
 */
static void set_packed(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, CNA_CONV_CON1_ARGB_IN, ARGB_ONE);
	SET(p, CNA_CONV_CON1_NONALIGN_DMA, 1);
	SET(p, CNA_CONV_CON1_GROUP_LINE_OFF, 1);
	SET(p, CNA_DATA_SIZE1_DATAIN_CHANNEL_REAL, 1);
	SET(p, CNA_CBUF_CON1_DATA_ENTRIES, t->in_w);
	SET(p, CNA_DMA_CON1_LINE_STRIDE, t->in_w);
	SET(p, CNA_DMA_CON2_SURF_STRIDE, 0);
}

int npu_prog_broadcast(struct npu_prog *p, const struct npu_broadcast_task *s)
{
	struct npu_conv_task t;

	if (npu_prog_begin(p, "rows and columns that repeat"))
		return npu_prog_error(p);
	if (s->in_iova % npu_prog_chip(p)->atom)
		return npu_prog_fail(p, -EINVAL, "an address is not a multiple of %u", npu_prog_chip(p)->atom);
	npu_matmul_task(&t, NPU_PREC_FP16, NPU_PREC_FP16, 1, s->cols, NPU_BROADCAST_CHANNELS);
	t.in_w = s->rows;
	t.out_w = s->rows;
	t.in_iova = s->in_iova;
	t.weight_iova = s->weight_iova;
	t.out_iova = s->out_iova;
	stage(p, &t);
	set_packed(p, &t);
	SET(p, DPU_DST_SURF_STRIDE_BYTES, (int64_t)s->out_pitch * 16);
	SET(p, DPU_SURFACE_ADD_BYTES, (int64_t)s->out_pitch * 32);
	return emit(p, true, NULL);
}

void npu_matmul_task(struct npu_conv_task *t, enum npu_prec in, enum npu_prec out,
		     uint32_t m, uint32_t n, uint32_t k)
{
	*t = (struct npu_conv_task){
		.in = in, .out = out,
		.in_w = 1, .in_h = m, .in_c = k, .in_h_full = m,
		.out_w = 1, .out_h = m, .out_h_full = m, .out_c = n,
		.kw = 1, .kh = 1, .stride_x = 1, .stride_y = 1, .dil_x = 1, .dil_y = 1,
		.rq = { .scale = 1 },
	};
}
