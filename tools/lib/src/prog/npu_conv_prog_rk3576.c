// SPDX-License-Identifier: MIT
/*
 * The register program of one convolution or matrix product task on an RK3576: bytes to bytes, halves
 * to halves, products of bytes to words, and of halves with INT4 weights to floats, in the CBUF window of a core.
 *
 * What goes where, and the words whose bits nobody knows, are those of Rockchip's compilers for
 * this chip and of gregordinary, who ran them on boards; see rk3576_regs.h. Words are what the output stage
 * of Rockchip's int4 products makes of sums of bytes, all of it, which gahingwoo ran on boards; with less of
 * it they are incomplete, and what follows may hang. Halves are those of Rockchip's compilers, which have
 * up to 64 channels; gregordinary, whose weights lay otherwise, saw boards sum up 16 of them. INT4 weights
 * are gahingwoo's, who has Rockchip's programs of a language model, which leave RDMA out, and ran his own
 * on boards, which have it; all other words are the same.
 */
#include <errno.h>

#include "npu_rk3576.h"

#define GRANULE_BYTES	64u
#define BANK_GRANULES	1024u
#define FEATURE_BANKS	4u
#define MORE_BANKS	5u

/*
 * Of CBUF, as Rockchip's compilers divide it: features of a core, and behind them its weights. Where features take
 * five banks weights are all there at once: of what is fetched behind them in turns boards lose some (gregordinary).
 */
struct window {
	uint32_t bank;		/* the first one */
	uint32_t end;
	uint32_t tail;		/* written for core 1; nobody knows what it says */
};

static const struct window windows[] = { { 0, 7, 0 }, { 7, 14, 1 } };

static const struct window *window_of(const struct npu_prog *p)
{
	return &windows[npu_prog_core(p)];
}

#define GRAINS		0xfff
#define BURST_16	15
#define ATOM_BYTES	0xffff		/* all of them are written */

#define EW_OFF		0x010041c1
#define BN_OFF		0x903
#define BN_CLAMPS	0x902
/* By groups of 16 channels: with the wrong one boards lose rows. */
#define OW_EVEN		0x80011111
#define OW_ODD		0x80011011
/* By groups of as many channels as an atom has. */
#define OW_DEPTHWISE	0x00013033
#define OW_DW_HALVES	0x00023033
#define OW_WORDS	0x00023333
#define OW_HALVES	0x00021111
#define OW_GROUPS	8
/* Boards have been seen to write depthwise surfaces at multiples of so many positions. */
#define DEPTHWISE_PITCH	4u

/* Words that go together for a kind of layer, with operands for each channel. */
struct form {
	uint32_t bs, bs_operands, brdma, wdma, rdma;
	uint32_t surfaces;	/* that one group of channels fills */
	uint32_t kernels;	/* of depthwise layers: elements that are added for a weight; 0 = one per channel */
	uint32_t erdma;		/* 0 = ERDMA_OFF */
};

static const struct form direct = {
	.bs = 0x120080, .bs_operands = 1, .brdma = 0x710, .wdma = 0x710, .rdma = 0x40000010, .surfaces = 2,
}, depthwise = {
	.bs = 0x100092, .brdma = 0x510, .wdma = 0x310, .rdma = 0x40000012, .surfaces = 4, .kernels = 2,
}, words = {
	.bs = 0x53, .bs_operands = 2, .brdma = 0x710, .wdma = 0x310, .rdma = 0x40000010, .surfaces = 4,
}, halves = {
	.bs = 0x100092, .bs_operands = 2, .brdma = 0x100, .wdma = 0x710, .rdma = 0x40010050, .surfaces = 2,
	.erdma = 1,
}, depthwise_halves = {
	.bs = 0x100092, .brdma = 0x110, .wdma = 0x310, .rdma = 0x40010052, .surfaces = 4, .kernels = 1,
};

#define WRITE_TO_MEMORY	0x04440100
#define ERDMA_OFF	0x41

#define SET		SET76

static bool is_words(const struct npu_conv_task *t)
{
	return t->out == NPU_PREC_INT32;
}

/* INT4 weights of halves, to floats. */
static bool is_int4(const struct npu_conv_task *t)
{
	return t->in == NPU_PREC_INT4;
}

static enum npu_prec features(const struct npu_conv_task *t)
{
	return is_int4(t) ? NPU_PREC_FP16 : t->in;
}

static bool is_halves(const struct npu_conv_task *t)
{
	return t->in == NPU_PREC_FP16;
}

static bool is_float(const struct npu_conv_task *t)
{
	return features(t) == NPU_PREC_FP16;
}

static const struct form *form_of(const struct npu_conv_task *t)
{
	if (is_halves(t))
		return t->depthwise ? &depthwise_halves : &halves;
	if (is_words(t) || is_int4(t))
		return &words;
	return t->depthwise ? &depthwise : &direct;
}

static uint32_t kernels(const struct npu_conv_task *t)
{
	return t->depthwise ? form_of(t)->kernels : t->out_c;
}

static uint32_t kernel_bytes(const struct npu_conv_task *t)
{
	return t->kw * t->kh * t->in_c * npu_prec_bits(t->in) / 8;
}

static uint32_t line_bytes(const struct npu_conv_task *t)
{
	return t->in_w * t->in_c * (uint32_t)npu_prec_bytes(features(t));
}

static uint64_t pitch_of(uint32_t pitch, uint32_t width, uint32_t height)
{
	return pitch ? pitch : (uint64_t)width * height;
}

/* The rows of a product are one line: then there is no rest of a granule in each of them. */
static struct npu_conv_task one_line(const struct npu_conv_task *t)
{
	struct npu_conv_task line = *t;

	if (t->in_w != 1 || t->out_w != 1 || t->kw != 1 || t->kh != 1 || t->stride_y != 1 ||
	    t->in_h != t->out_h || t->pad_left || t->pad_top)
		return line;
	line.in_pitch = (uint32_t)pitch_of(t->in_pitch, 1, t->in_h_full);
	line.out_pitch = (uint32_t)pitch_of(t->out_pitch, 1, t->out_h_full);
	line.in_w = t->in_h;
	line.out_w = t->out_h;
	line.stride_x = t->stride_y;
	line.in_h = 1;
	line.in_h_full = 1;
	line.out_h = 1;
	line.out_h_full = 1;
	return line;
}

/* ---- what there are programs for ---- */

static bool is_product(const struct npu_conv_task *t)
{
	return !t->depthwise && t->in_h == 1 && t->in_w == t->out_w && t->out_h == 1 && t->kw == 1 && t->kh == 1 &&
	       t->stride_x == 1 && !t->pad_left;
}

static bool requantises(const struct npu_conv_task *t)
{
	return t->out == NPU_PREC_INT8;
}

static bool types_fit(const struct npu_conv_task *t)
{
	if (is_int4(t))
		return t->out == NPU_PREC_FP32;
	return is_halves(t) ? t->out == NPU_PREC_FP16 : t->in == NPU_PREC_INT8 && (requantises(t) || is_words(t));
}

static int check_types(struct npu_prog *p, const struct npu_conv_task *t, const struct npu_table *table)
{
	if (!types_fit(t))
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs from %s to %s on the RK3576",
				     npu_prec_name(t->in), npu_prec_name(t->out));
	if (table && (!is_halves(t) || npu_table_of_patterns(table)))
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs with tables on the RK3576 but of halves as numbers");
	if (table && t->depthwise)
		return npu_prog_fail(p, -EOPNOTSUPP, "no depthwise programs with tables on the RK3576");
	if (t->dil_x != 1 || t->dil_y != 1)
		return npu_prog_fail(p, -EOPNOTSUPP, "the RK3576 has no dilation that is known");
	if (is_words(t) && (!is_product(t) || t->relu))
		return npu_prog_fail(p, -EOPNOTSUPP, "INT32 results but of products without ReLU on the RK3576");
	/* Nobody is known to have asked boards for others. */
	if (is_int4(t) && (!is_product(t) || t->relu || t->has_bias || (t->in_w > 1 && t->in_w % 2)))
		return npu_prog_fail(p, -EOPNOTSUPP,
				     "INT4 but in products of one or of even rows without bias and ReLU on the RK3576");
	/* Of bytes operands have the weights' zero point, too, and the factor without which sums are 0. */
	if (!is_int4(t) && (t->has_bias == is_words(t) || t->no_rdma))
		return npu_prog_fail(p, -EINVAL, "no operands, which programs of the RK3576 need");
	if (requantises(t) && npu_requant_check(&t->rq))
		return npu_prog_fail(p, -ERANGE, "requantisation: scale %u, shift %u, zp %d",
				     t->rq.scale, t->rq.shift, t->rq.zp);
	return 0;
}

/* Padding below and to the right is what windows reach, see npu_pad_after(). */
static int check_shape(struct npu_prog *p, const struct npu_conv_task *t)
{
	uint64_t plane = (uint64_t)t->in_w * t->in_h;

	if (!t->in_c || t->in_c % 32 || !t->out_c || t->out_c % 16)
		return npu_prog_fail(p, -EINVAL, "%u to %u channels are not positive multiples of 32 and 16",
				     t->in_c, t->out_c);
	if (t->depthwise && t->in_c != t->out_c)
		return npu_prog_fail(p, -EINVAL, "depthwise: %u channels to %u", t->in_c, t->out_c);
	if (!t->in_w || !t->in_h || !t->out_w || !t->out_h || !t->kw || !t->kh || !t->stride_x || !t->stride_y)
		return npu_prog_fail(p, -EINVAL, "a size or stride is 0");
	if (t->in_h > t->in_h_full || t->out_h > t->out_h_full)
		return npu_prog_fail(p, -EINVAL, "a task is higher than its tensor");
	if ((t->in_iova | t->weight_iova | t->out_iova | t->bias_iova | t->zeros_iova | t->table_iova) % 16)
		return npu_prog_fail(p, -EINVAL, "an address is not a multiple of 16");
	/* Boards take the rows of a larger plane in whole granules (gregordinary). */
	if (line_bytes(t) % GRANULE_BYTES && pitch_of(t->in_pitch, t->in_w, t->in_h_full) != plane)
		return npu_prog_fail(p, -EOPNOTSUPP,
				     "lines of %u positions and %u channels, which are no multiple of %u bytes, of a larger image",
				     t->in_w, t->in_c, GRANULE_BYTES);
	if (t->depthwise && pitch_of(t->out_pitch, t->out_w, t->out_h_full) % DEPTHWISE_PITCH)
		return npu_prog_fail(p, -EOPNOTSUPP, "a depthwise result of %u x %u, which is no multiple of %u",
				     t->out_w, t->out_h_full, DEPTHWISE_PITCH);
	return 0;
}

/* What follows a line in a surface is a field of 13 bits on the RK3588. */
#define MAX_NOTCH	8191u

static int check_notch(struct npu_prog *p, const struct npu_conv_task *t)
{
	uint64_t pitch = pitch_of(t->out_pitch, t->out_w, t->out_h_full);

	if (is_int4(t) && (pitch < t->out_w || pitch - t->out_w > MAX_NOTCH))
		return npu_prog_fail(p, -EOPNOTSUPP, "INT4 for %u of %llu rows on the RK3576", t->out_w,
				     (unsigned long long)pitch);
	return 0;
}

/* All weights of a depthwise task are in CBUF at once, else those of a group of kernels. */
static int check_weights(struct npu_prog *p, const struct npu_conv_task *t)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	uint32_t bytes = kernel_bytes(t), most = t->depthwise ? chip->depthwise_bytes / kernels(t) : chip->kernel_bytes;

	if (bytes > most && is_product(t))
		return npu_prog_fail(p, -EOPNOTSUPP, "no programs from %s of more than %u columns on the RK3576",
				     npu_prec_name(t->in), most * 8 / npu_prec_bits(t->in));
	if (bytes > most)
		return npu_prog_fail(p, -E2BIG, "kernel of %u bytes exceeds the limit %u", bytes, most);
	if (!t->depthwise && t->out_c > npu_task_kernels(chip, bytes))
		return npu_prog_fail(p, -E2BIG, "%u kernels of %u bytes exceed the limit %u", t->out_c, bytes,
				     npu_task_kernels(chip, bytes));
	return 0;
}

static uint64_t feature_granules(const struct npu_prog *p, const struct npu_conv_task *t)
{
	return (uint64_t)npu_row_entries(npu_prog_chip(p), features(t), t->in_w, t->in_c) * t->in_h;
}

static uint32_t most_feature_banks(const struct npu_prog *p, const struct npu_conv_task *t)
{
	const struct npu_chip *chip = npu_prog_chip(p);
	uint64_t weights = (uint64_t)kernel_bytes(t) * kernels(t);

	/* Of products there are no such programs. */
	return !is_words(t) && !is_int4(t) && weights <= chip->few_weight_banks * chip->bank_bytes ? MORE_BANKS :
												     FEATURE_BANKS;
}

static int check_features(struct npu_prog *p, const struct npu_conv_task *t)
{
	uint64_t granules = feature_granules(p, t);
	uint32_t most = most_feature_banks(p, t) * BANK_GRANULES;

	if (granules > most)
		return npu_prog_fail(p, -E2BIG, "features of %llu granules exceed the limit %u",
				     (unsigned long long)granules, most);
	return 0;
}

/* ---- registers ---- */

static void set_geometry(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, CNA_CONV_CON2_GRAINS, GRAINS);
	SET(p, CNA_CONV_CON3_CONV_X_STRIDE, t->stride_x);
	SET(p, CNA_CONV_CON3_CONV_Y_STRIDE, t->stride_y);
	SET(p, CNA_DATA_SIZE0_WIDTH, t->in_w);
	SET(p, CNA_DATA_SIZE0_HEIGHT, t->in_h);
	SET(p, CNA_DATA_SIZE1_CHANNEL, t->in_c);
	SET(p, CNA_DATA_SIZE2_OUT_WIDTH, t->out_w);
	SET(p, CNA_DATA_SIZE3_OUT_ATOMICS, (int64_t)t->out_w * t->out_h);
	SET(p, CNA_PAD_CON0_TOP, t->pad_top);
	SET(p, CNA_PAD_CON0_LEFT, t->pad_left);
	SET(p, CNA_PAD_CON0_BOTTOM, npu_pad_after(t->in_h, t->out_h, t->kh, t->stride_y, t->pad_top));
	SET(p, CNA_PAD_CON0_RIGHT, npu_pad_after(t->in_w, t->out_w, t->kw, t->stride_x, t->pad_left));
	SET(p, CNA_PAD_CON1_VALUE, (uint32_t)t->pad_value);
	SET(p, CNA_CONV_CON1_CONV_MODE, t->depthwise ? NPU_CODE76_MODE_DEPTHWISE : NPU_CODE76_MODE_DIRECT);
	SET(p, CNA_CONV_CON1_IN_PRECISION, features(t));
	SET(p, CNA_CONV_CON1_PROC_PRECISION, features(t));
	SET(p, CNA_CONV_CON1_FLOAT, is_float(t));
	SET(p, CNA_CONV_CON1_INT4_WEIGHTS, is_int4(t));
	SET(p, CNA_CONV_CON1_GROUP_LINE_OFF, is_int4(t));
	SET(p, CORE_MISC_PROC_PRECISION, features(t));
	SET(p, CORE_MISC_QD_EN, !t->depthwise && !is_float(t));
	SET(p, CORE_MISC_DW, t->depthwise ? NPU_CODE76_DW_ON : NPU_CODE76_DW_OFF);
	SET(p, CORE_MISC_ON, 1);
	SET(p, CORE_SIZE0_WIDTH, t->out_w);
	SET(p, CORE_SIZE0_HEIGHT, t->out_h);
	SET(p, CORE_SIZE1_CHANNEL, t->out_c);
}

static void set_weights(struct npu_prog *p, const struct npu_conv_task *t)
{
	int64_t bytes = kernel_bytes(t), again = (is_float(t) ? bytes : 2 * bytes) / (t->depthwise ? 16 : 1);

	SET(p, CNA_WEIGHT_SIZE0_BYTES, bytes * kernels(t));
	SET(p, CNA_WEIGHT_SIZE1_BYTES_PER_KERNEL, bytes);
	SET(p, CNA_WEIGHT_SIZE2_WIDTH, t->kw);
	SET(p, CNA_WEIGHT_SIZE2_HEIGHT, t->kh);
	SET(p, CNA_WEIGHT_SIZE2_KERNELS, kernels(t));
	SET(p, CNA_DATA_SIZE2_KERNEL_BYTES, again & 0xffff);
	SET(p, CNA_WEIGHT_ADDR_IOVA, (int64_t)t->weight_iova);
}

/* Strides are in positions of 16 bytes. */
static void set_feature_dma(struct npu_prog *p, const struct npu_conv_task *t)
{
	uint64_t plane = (uint64_t)t->in_w * t->in_h;

	SET(p, CNA_FEATURE_ADDR_IOVA, (int64_t)t->in_iova);
	SET(p, CNA_DMA_SIZE_WIDTH, t->in_w);
	SET(p, CNA_DMA_SIZE_HEIGHT, t->in_h);
	SET(p, CNA_DMA_CHANNEL_REAL, t->in_c);
	SET(p, CNA_DMA_CON0_WEIGHT_BURST, BURST_16);
	SET(p, CNA_DMA_CON0_DATA_BURST, BURST_16);
	SET(p, CNA_DMA_CON1_LINE_STRIDE, 4 * (int64_t)t->in_w);
	SET(p, CNA_DMA_CON2_SURF_STRIDE, (int64_t)pitch_of(t->in_pitch, t->in_w, t->in_h_full));
	SET(p, CNA_DMA_CON3_FETCHED, (int64_t)round_up(plane, 4));
	SET(p, CNA_DMA_LINE_LOW, t->in_w);
	SET(p, CNA_DMA_LINE_HIGH, t->in_w);
}

static void set_cbuf(struct npu_prog *p, const struct npu_conv_task *t)
{
	int64_t row = npu_row_entries(npu_prog_chip(p), features(t), t->in_w, t->in_c);
	uint32_t banks = feature_granules(p, t) > FEATURE_BANKS * BANK_GRANULES ? MORE_BANKS : FEATURE_BANKS;
	const struct window *w = window_of(p);

	SET(p, CNA_CBUF_DATA_END_BANK, w->bank + banks);
	SET(p, CNA_CBUF_DATA_BANKS, banks);
	SET(p, CNA_CBUF_DATA_ON, 1);
	SET(p, CNA_CBUF_WEIGHT_END_BANK, w->end);
	SET(p, CNA_CBUF_WEIGHT_TAIL_BANK, w->tail);
	SET(p, CNA_CBUF_ROW_START, w->bank * BANK_GRANULES);
	SET(p, CNA_CBUF_START_FETCH, w->bank * BANK_GRANULES);
	SET(p, CNA_CBUF_START_WEIGHT, (w->bank + banks) * BANK_GRANULES);
	SET(p, CNA_CBUF_ROW_GRANULES, row);
	SET(p, CNA_DATA_SIZE1_GRANULES, row * t->in_h);
	SET(p, CNA_DATA_ROW_GRANULES, row);
	SET(p, CNA_DATA_ROW_WIDTH, t->in_w);
}

static void set_converter_off(struct npu_prog *p)
{
	SET(p, CNA_CVT_CON0_CVT_BYPASS, 1);
	SET(p, CNA_CVT_CON0_CVT_TYPE, 1);
	SET(p, CNA_CVT_CON0_DATA_SIGN, 1);
	SET(p, CNA_CVT_CON1_SCALE_0, 1);
	SET(p, CNA_CVT_CON1_SCALE_1, 1);
	SET(p, CNA_CVT_CON2_SCALE_2, 1);
	SET(p, CNA_CVT_CON2_SCALE_3, 1);
}

/* Boards write nothing if the stride of surfaces and what follows the last line do not agree. */
static void set_output(struct npu_prog *p, const struct npu_conv_task *t)
{
	int64_t pitch = (int64_t)pitch_of(t->out_pitch, t->out_w, t->out_h_full);

	SET(p, DPU_FEATURE_MODE_CORE_FEEDS, 1);
	SET(p, DPU_FEATURE_MODE_CONV_MODE, t->depthwise);
	SET(p, DPU_FEATURE_MODE_OUTPUT_MODE, NPU_CODE_OUTPUT_TO_MEMORY);
	/* For the DPU they are halves, of which it writes all 32 bits. */
	SET(p, DPU_DATA_FORMAT_PROC_PRECISION, is_words(t) ? NPU_PREC_FP16 : features(t));
	SET(p, DPU_DATA_FORMAT_OUT_PRECISION, is_words(t) ? NPU_PREC_FP32 : t->out);
	SET(p, DPU_CUBE_NOTCH_ATOMS, is_int4(t) ? pitch - t->out_w : 0);
	SET(p, DPU_DST_ADDR_IOVA, (int64_t)t->out_iova);
	SET(p, DPU_DST_SURF_STRIDE_ATOMS, pitch);
	SET(p, DPU_SURF_ADD_ATOMS, form_of(t)->surfaces * pitch - (int64_t)t->out_w * t->out_h);
	SET(p, DPU_CUBE_WIDTH_WIDTH, t->out_w);
	SET(p, DPU_CUBE_HEIGHT_HEIGHT, t->out_h);
	SET(p, DPU_CUBE_CHANNEL_CHANNEL, t->out_c);
	SET(p, DPU_WDMA_SIZE0_MODE, form_of(t)->wdma);
	SET(p, DPU_WDMA_SIZE0_CHANNEL, t->out_c);
	SET(p, DPU_WDMA_SIZE1_WIDTH, t->out_w);
	SET(p, DPU_WDMA_SIZE1_HEIGHT, t->out_h);
	SET(p, DPU_WRITE_CFG0_VALUE, WRITE_TO_MEMORY);
	SET(p, DPU_WRITE_BYTES_ENABLE, ATOM_BYTES);
	SET(p, DPU_WRITE_BYTES_ON, 1);
}

void npu_prog_open_clamps76(struct npu_prog *p)
{
	SET(p, DPU_BS_LOW_VALUE, INT32_MIN);
	SET(p, DPU_BS_LOW1_VALUE, INT32_MIN);
	SET(p, DPU_BS_HIGH_VALUE, INT32_MAX);
	SET(p, DPU_BS_HIGH1_VALUE, INT32_MAX);
	SET(p, DPU_BN_LOW_VALUE, INT32_MIN);
	SET(p, DPU_BN_LOW1_VALUE, INT32_MIN);
	SET(p, DPU_BN_HIGH_VALUE, INT32_MAX);
	SET(p, DPU_BN_HIGH1_VALUE, INT32_MAX);
	SET(p, DPU_EW_LOW_VALUE, INT32_MIN);
	SET(p, DPU_EW_HIGH_VALUE, INT32_MAX);
	SET(p, DPU_OUT_LOW_VALUE, INT32_MIN);
	SET(p, DPU_OUT_HIGH_VALUE, INT32_MAX);
}

static void set_clamps(struct npu_prog *p, bool relu)
{
	npu_prog_open_clamps76(p);
	SET(p, DPU_BN_CFG_VALUE, relu ? BN_CLAMPS : BN_OFF);
	if (relu) {
		SET(p, DPU_BN_LOW_VALUE, 0);
		SET(p, DPU_BN_LOW1_VALUE, 0);
	}
}

static uint32_t ow_of(const struct npu_conv_task *t)
{
	uint32_t groups = (uint32_t)div_up(t->out_c, is_halves(t) ? 8 : 16);

	if (form_of(t) == &words)
		return OW_WORDS;
	if (t->depthwise)
		return (is_halves(t) ? OW_DW_HALVES : OW_DEPTHWISE) | ((groups - 1) & 3) << OW_GROUPS;
	if (is_halves(t))
		return OW_HALVES;
	return groups % 2 ? OW_ODD : OW_EVEN;
}

static void set_stages(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, DPU_BS_CFG_VALUE, form_of(t)->bs);
	SET(p, DPU_BS_OPERANDS_VALUE, form_of(t)->bs_operands);
	SET(p, DPU_BS_OW_VALUE, ow_of(t));
	SET(p, DPU_EW_CFG_VALUE, EW_OFF);
	SET(p, DPU_EW_CVT_SCALE_SCALE, 1);
	SET(p, DPU_OUT_CVT_OFFSET_VALUE, requantises(t) ? t->rq.zp : 0);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, requantises(t) ? t->rq.scale : 1);
	SET(p, DPU_OUT_CVT_SCALE_FP32TOFP16_EN, is_halves(t));
	SET(p, DPU_OUT_CVT_SHIFT_SHIFT, requantises(t) ? t->rq.shift : 0);
	set_clamps(p, t->relu);
}

/*
 * The word at BS_WORD_ADDR shifts what the operands' factors give: by 0. Of words neither counts, and both
 * are read; of halves operands are words to add, and boards may read the word.
 */
static void set_rdma(struct npu_prog *p, const struct npu_conv_task *t)
{
	SET(p, RDMA_CUBE_WIDTH_WIDTH, t->out_w);
	SET(p, RDMA_CUBE_HEIGHT_HEIGHT, t->out_h);
	SET(p, RDMA_CUBE_CHANNEL_CHANNEL, t->out_c);
	SET(p, RDMA_BRDMA_CFG_VALUE, form_of(t)->brdma);
	SET(p, RDMA_BS_ADDR_IOVA, (int64_t)t->bias_iova);
	SET(p, RDMA_BS_WORD_ADDR_IOVA, (int64_t)t->zeros_iova);
	SET(p, RDMA_ERDMA_CFG_VALUE, form_of(t)->erdma ? form_of(t)->erdma : ERDMA_OFF);
	SET(p, RDMA_FEATURE_MODE_VALUE, form_of(t)->rdma);
}

/*
 * All registers but those of the LUT, where it is off: the groups keep what was in them before. The
 * CNA and the CORE take turns in the same way, also behind a program that used the LUT.
 */
static int emit(struct npu_prog *p, bool lut)
{
	uint32_t pointers = lut ? NPU_POINTERS76_LUT : NPU_POINTERS76;

	npu_prog_raw(p, NPU_TGT_CNA, NPU_OFF_CNA_S_POINTER, pointers);
	npu_prog_raw(p, NPU_TGT_CORE, NPU_OFF_CORE_S_POINTER, pointers);
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, pointers);
	npu_prog_raw(p, NPU_TGT_RDMA, NPU_OFF_RDMA_S_POINTER, pointers);
	npu_prog_emit76(p, NPU_R76_CNA_CONV_CON1, NPU_R76_DPU_WRITE_BYTES);
	if (lut)
		npu_prog_emit76(p, NPU_R76_DPU_LUT_CFG, NPU_R76_DPU_LUT_ABOVE_1);
	npu_prog_emit76(p, NPU_R76_RDMA_CUBE_WIDTH, NPU_R76_RDMA_EW_SURF_NOTCH);
	return npu_prog_finish(p, NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

/* As Rockchip's, without RDMA. Two registers of products have the first granule, see rk3576_regs.h. */
static int emit_int4(struct npu_prog *p)
{
	uint32_t first = window_of(p)->bank * BANK_GRANULES;
	const uint32_t product[NPU_SIZE76_PRODUCT_WORDS] = { [2] = first << 16, [4] = first / 128 };

	npu_prog_raw(p, NPU_TGT_CNA, NPU_OFF_CNA_S_POINTER, NPU_POINTERS76);
	npu_prog_raw(p, NPU_TGT_CORE, NPU_OFF_CORE_S_POINTER, NPU_POINTERS76);
	npu_prog_raw(p, NPU_TGT_DPU, NPU_OFF_DPU_S_POINTER, NPU_POINTERS76);
	npu_prog_emit76(p, NPU_R76_CNA_CONV_CON1, NPU_R76_CNA_DMA_LINE);
	for (uint16_t i = 0; i < NPU_SIZE76_PRODUCT_WORDS; i++)
		npu_prog_raw(p, NPU_SIZE76_PRODUCT_TARGET, NPU_SIZE76_PRODUCT + 4 * i, product[i]);
	npu_prog_emit76(p, NPU_R76_CORE_MISC, NPU_R76_DPU_WRITE_BYTES);
	return npu_prog_finish(p, NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU);
}

static int check(struct npu_prog *p, const struct npu_conv_task *t, const struct npu_table *table)
{
	if (check_types(p, t, table) || check_shape(p, t) || check_notch(p, t) || check_weights(p, t) ||
	    check_features(p, t))
		return npu_prog_error(p);
	return 0;
}

static void stage(struct npu_prog *p, const struct npu_conv_task *t)
{
	npu_prog_clear_image(p);
	set_geometry(p, t);
	set_weights(p, t);
	set_feature_dma(p, t);
	set_cbuf(p, t);
	set_converter_off(p);
	set_output(p, t);
	set_stages(p, t);
	set_rdma(p, t);
}

int npu_prog_conv_rk3576(struct npu_prog *p, const struct npu_conv_task *task,
			 const struct npu_table *table, bool upload)
{
	struct npu_conv_task t = one_line(task);

	if (check(p, &t, table))
		return npu_prog_error(p);
	/* The atom that the task copies is one that the next task writes. */
	if (table && upload)
		npu_prog_load_table76(p, table, t.in_iova, t.out_iova);
	stage(p, &t);
	if (table)
		npu_prog_set_table76(p, table, t.table_iova);
	return is_int4(&t) ? emit_int4(p) : emit(p, table);
}

int npu_prog_conv_map_rk3576(struct npu_prog *p, const struct npu_conv_task *task, const int8_t *map)
{
	struct npu_conv_task t = one_line(task);

	if (check(p, &t, NULL))
		return npu_prog_error(p);
	stage(p, &t);
	npu_prog_set_map76(p, map);
	return emit(p, true);
}
