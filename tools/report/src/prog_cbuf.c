// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of CBUF: what a task finds there that it has not brought,
 * in other banks or from an earlier task, and weights that are expanded on their way in.
 */
#include <math.h>
#include <string.h>

#include "report.h"

#define ENABLE		(NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU | NPU_EN_DPU_RDMA)
#define BANKS(data)	(NPU_PUT(CNA_CBUF_CON0_WEIGHT_BANK, NPU_SIZE_CBUF_BANKS - (data)) |	\
			 NPU_PUT(CNA_CBUF_CON0_DATA_BANK, data))
#define DATA_REUSE	NPU_MASK_CNA_CBUF_CON0_DATA_REUSE
#define WEIGHT_REUSE	NPU_MASK_CNA_CBUF_CON0_WEIGHT_REUSE
#define CHANNELS	64u
#define KERNELS		32u
#define BANK_POSITIONS	512u	/* of 64 bytes */

/* Where the second task has its own operands, which some readings take. */
#define AT_DATA		0x30000u
#define AT_WEIGHTS	0x40000u
/* Where the task before writes: some drivers tell a hang by results that are not there. */
#define AT_BEFORE	0x50000u

static double before[1024 * CHANNELS], own[64 * CHANNELS], w[9 * CHANNELS * KERNELS];
static double want[RP_VALUES], other[RP_VALUES], taken[64 * CHANNELS];

static void fill(double *v, unsigned int n, unsigned int seed)
{
	for (unsigned int i = 0; i < n; i++)
		v[i] = (double)((i * i * 7 + i * 13 + seed * 31) % 15) - 7;
}

static void same(double *v, unsigned int n, double value)
{
	for (unsigned int i = 0; i < n; i++)
		v[i] = value;
}

/* The task before has its operands where they always are. */
static void leave(struct trial *t, unsigned int side, uint32_t banks)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = side, .w = side,
			     .ic = CHANNELS, .oc = KERNELS };

	rp_clear(t);
	rp_conv(t, &c, before, w);
	rp_set(t, OFF_CNA_CBUF_CON0, banks);
	rp_set(t, OFF_DPU_DST_BASE_ADDR, t->npu->in_iova + AT_BEFORE);
}

/* The task behind, whose data and weights lie apart; what was RP_X before is so again. */
static void follow(struct trial *t, struct rp_conv *c, const double *weights, unsigned int side,
		   uint32_t banks)
{
	rp_conv(t, c, own, weights);
	rp_cube(t, AT_DATA, RP_INT8, c->h * c->w, c->ic, own);
	rp_cube(t, RP_X, RP_INT8, side * side, CHANNELS, before);
	rp_set(t, OFF_CNA_FEATURE_DATA_ADDR, t->npu->in_iova + AT_DATA);
	rp_set(t, OFF_CNA_CBUF_CON0, banks);
	rp_conv_run(t, c);
}

static void sums(double *to, const struct rp_conv *c, const double *x, const double *weights)
{
	for (unsigned int i = 0; i < c->oh * c->ow * c->oc; i++)
		to[i] = rp_conv_sum(c, x, weights, i, 0);
}

/* The task before fills two banks, the next one has a part of the first. */
static struct rp_conv other_bank(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 4, .w = 4, .ic = CHANNELS,
			     .oc = KERNELS };

	leave(t, 32, BANKS(2));
	rp_close(t, ENABLE);
	follow(t, &c, w, 32, BANKS(2) | NPU_PUT(CNA_CBUF_CON0_FC_DATA_BANK, 1));
	return c;
}

static void fc_data_bank(struct trial *t)
{
	struct rp_conv c;

	fill(w, CHANNELS * KERNELS, 2);
	fill(own, 16 * CHANNELS, 3);
	same(before, 1024 * CHANNELS, 3);
	c = other_bank(t);
	sums(want, &c, before, w);
	sums(other, &c, own, w);
	rp_model(t, "FC_DATA_BANK is the bank from which feature data is read", want);
	rp_other_reading(t, "FC_DATA_BANK changes nothing", other);
	rp_other_hangs(t, "FC_DATA_BANK hangs");

	fill(before, 1024 * CHANNELS, 1);
	c = other_bank(t);
	/* 1024 positions are two surfaces in a bank, 16 positions four surfaces in a KiB. */
	for (unsigned int i = 0; i < 16 * CHANNELS; i++) {
		unsigned int pos = i / CHANNELS, ch = i % CHANNELS;

		taken[i] = before[(ch / 16 * 16 + pos) * CHANNELS + 32 + ch % 16];
	}
	sums(want, &c, taken, w);
	sums(other, &c, before + BANK_POSITIONS * CHANNELS, w);
	rp_model(t, "a bank has surfaces behind each other", want);
	rp_other_reading(t, "a bank has positions behind each other", other);
}

/* Data of 8x8 positions for a task of 4x4. */
static struct rp_conv other_cube(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 4, .w = 4, .ic = CHANNELS,
			     .oc = KERNELS };

	leave(t, 8, BANKS(2));
	rp_close(t, ENABLE);
	follow(t, &c, w, 8, BANKS(2) | DATA_REUSE);
	return c;
}

static void reuse_data(struct trial *t)
{
	struct rp_conv c;

	same(before, 64 * CHANNELS, 3);
	c = other_cube(t);
	sums(want, &c, before, w);
	sums(other, &c, own, w);
	rp_model(t, "DATA_REUSE by a task of another shape takes what is in CBUF", want);
	rp_other_reading(t, "DATA_REUSE by a task of another shape does nothing", other);
	rp_other_hangs(t, "DATA_REUSE by a task of another shape hangs");

	fill(before, 64 * CHANNELS, 1);
	c = other_cube(t);
	for (unsigned int i = 0; i < 16 * CHANNELS; i++) {
		unsigned int pos = i / CHANNELS, ch = i % CHANNELS;

		taken[i] = before[(ch / 16 * 16 + pos) * CHANNELS + ch % 16];
	}
	sums(want, &c, taken, w);
	sums(other, &c, before, w);
	rp_model(t, "CBUF has surfaces behind each other", want);
	rp_other_reading(t, "CBUF has positions behind each other", other);
}

/* Half of the channels: the first half of the weights, which is a group of channels. */
static void reuse_weights(struct trial *t)
{
	static double half[CHANNELS / 2 * KERNELS];
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 4, .w = 4, .ic = CHANNELS / 2,
			     .oc = KERNELS };

	for (unsigned int i = 0; i < CHANNELS / 2 * KERNELS; i++)
		half[i] = w[i / 32 * CHANNELS + i % 32];
	leave(t, 8, BANKS(2));
	rp_close(t, ENABLE);
	rp_conv(t, &c, own, half);
	/* The same first half again; in memory there are zeros. */
	rp_set(t, OFF_CNA_DCOMP_ADDR0, t->npu->in_iova + AT_WEIGHTS);
	rp_set(t, OFF_CNA_CBUF_CON0, BANKS(2) | WEIGHT_REUSE);
	rp_conv_run(t, &c);
	sums(want, &c, own, half);
	same(other, RP_VALUES, 0);
	rp_model(t, "WEIGHT_REUSE by a task with fewer weights takes what is in CBUF", want);
	rp_other_reading(t, "WEIGHT_REUSE by a task with fewer weights does nothing", other);
	rp_other_hangs(t, "WEIGHT_REUSE by a task with fewer weights hangs");
}

/* The converter doubles what the task before reads. */
static void reuse_converted(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 8, .w = 8, .ic = CHANNELS,
			     .oc = KERNELS };

	fill(before, 64 * CHANNELS, 1);
	leave(t, 8, BANKS(2));
	rp_set(t, OFF_CNA_CVT_CON0, 8);
	for (uint32_t i = 0; i < 4; i++)
		rp_set(t, OFF_CNA_CVT_CON1 + 4 * i, 2 << 16);
	rp_set(t, OFF_CNA_CVT_CON5, 0xffff);
	rp_close(t, ENABLE);
	follow(t, &c, w, 8, BANKS(2) | DATA_REUSE);
	rp_model_hangs(t, "what DATA_REUSE makes of converted data is not known");
	for (unsigned int i = 0; i < 64 * CHANNELS; i++)
		taken[i] = 2 * before[i];
	sums(other, &c, taken, w);
	rp_other_reading(t, "DATA_REUSE takes what the converter has made", other);
	sums(other, &c, own, w);
	rp_other_reading(t, "DATA_REUSE of converted data does nothing", other);
}

static void reuse(struct trial *t)
{
	fill(w, CHANNELS * KERNELS, 2);
	fill(own, 64 * CHANNELS, 3);
	reuse_data(t);
	reuse_weights(t);
	reuse_converted(t);
}

/* ---- what the driver runs between two clients (drivers/accel/rknpu/hw/rknpu_scrub.c) ---- */

struct scrub_regs {
	uint32_t off, count, value;
};

static const struct scrub_regs scrub_product[] = {
#define NPU_BANK				NPU_SIZE_CBUF_BANK_BYTES
#define NPU_IN(field, value)			NPU_PUT(field, value)
#define NPU_SCRUB(block, reg, count, value)	{ OFF_##block##_##reg, count, value },
#include "npu/rk3588_scrub.h"
};

static void scrub(struct trial *t)
{
	rp_clear(t);
	for (const struct scrub_regs *r = scrub_product; r < scrub_product + RP_COUNT(scrub_product);
	     r++) {
		for (uint32_t i = 0; i < r->count; i++)
			rp_set(t, r->off + 4 * i, r->value);
	}
	/* Zeros, all of them. */
	rp_set(t, OFF_CNA_FEATURE_DATA_ADDR, t->npu->in_iova);
	rp_set(t, OFF_CNA_DCOMP_ADDR0, t->npu->in_iova);
	rp_set(t, OFF_DPU_DST_BASE_ADDR, t->npu->out_iova);
	for (unsigned int k = 0; k < NPU_SIZE_LUT_TABLES; k++) {
		rp_write(t, OFF_DPU_LUT_ACCESS_CFG, 1u << NPU_LSB_DPU_LUT_ACCESS_CFG_ACCESS_TYPE |
						    k << NPU_LSB_DPU_LUT_ACCESS_CFG_TABLE_ID);
		for (unsigned int i = 0; i < NPU_SIZE_LUT_ENTRIES; i++)
			rp_write(t, OFF_DPU_LUT_ACCESS_DATA, 0);
	}
	rp_write(t, OFF_DPU_LUT_ACCESS_CFG, 0);
	rp_run(t, NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU);
	rp_result(t, RP_INT8, NPU_SCRUB_ROWS, NPU_SCRUB_COLUMNS, NPU_SCRUB_ROWS * 16);
	same(want, RP_VALUES, 0);
	rp_model(t, "the driver's program for cores between two clients ends", want);
	rp_other_hangs(t, "the driver's program for cores between two clients does not end");
}

/* ---- compressed weights ---- */

#define LANES		16u
#define LANE_BYTES	64u	/* a header and three blocks of 16 bytes */

/* The most frequent weight of a lane. */
static int modal(unsigned int lane)
{
	return (int)(lane * 5 % 7) - 3;
}

/* Two bits and a sign for a weight: 0, -1, 1 or -2 from the lane's modal one. */
static unsigned int code(unsigned int i)
{
	static const unsigned int bits[] = { 0, 4, 1, 5 };

	return bits[i * i % 11 % 4];
}

static int8_t packed_weight(unsigned int i)
{
	static const int difference[] = { [0] = 0, [4] = -1, [1] = 1, [5] = -2 };

	return (int8_t)(modal(i / 4 % LANES) + difference[code(i)]);
}

/* Weight i is byte i of what they are expanded to; a lane has a word of every 64 bytes. */
static void put_stream(struct trial *t, unsigned int bytes)
{
	static const uint8_t book[] = { 0x10, 0x32, 0x54, 0x76 };
	uint8_t stream[LANES][LANE_BYTES] = { 0 };
	unsigned int bit[LANES] = { 0 };

	for (unsigned int lane = 0; lane < LANES; lane++) {
		stream[lane][1] = (uint8_t)modal(lane);
		memcpy(&stream[lane][4], book, sizeof(book));
	}
	for (unsigned int i = 0; i < bytes; i++) {
		unsigned int lane = i / 4 % LANES;

		for (unsigned int n = 0; n < 3; n++, bit[lane]++)
			stream[lane][16 + bit[lane] / 8] |=
				(uint8_t)((code(i) >> n & 1) << bit[lane] % 8);
	}
	memcpy(t->npu->in + RP_W, stream, sizeof(stream));
	rp_set(t, OFF_CNA_DCOMP_CTRL, 1);
	rp_set(t, OFF_CNA_DCOMP_REGNUM, 0x55555555);
	for (uint32_t i = 0; i < LANES; i++)
		rp_set(t, OFF_CNA_DCOMP_AMOUNT0 + 4 * i, LANE_BYTES / 16 - 1);
}

static double clip(double v)
{
	return fmin(127, fmax(-128, v));
}

/* One group of channels: their weights lie as they are expanded, tap by tap. */
static void dcomp_depthwise(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT8, .depthwise = true, .h = 4, .w = 4,
			     .ic = CHANNELS, .oc = CHANNELS, .kh = 3, .kw = 3, .top = 1, .left = 1 };
	const unsigned int bytes = 9 * CHANNELS;

	for (unsigned int i = 0; i < 16 * CHANNELS; i++)
		own[i] = (double)(i * i % 7 % 3) - 1;
	for (unsigned int i = 0; i < bytes; i++)
		w[i] = packed_weight(i);
	rp_conv(t, &c, own, w);
	put_stream(t, bytes);
	rp_conv_run(t, &c);
	for (unsigned int i = 0; i < 16 * CHANNELS; i++)
		want[i] = clip(rp_conv_sum(&c, own, w, i, 0));
	rp_model(t, "compressed depthwise weights are in lanes as others are", want);
	for (unsigned int i = 0; i < bytes; i++)
		w[i] = (int8_t)t->npu->in[RP_W + i];
	for (unsigned int i = 0; i < 16 * CHANNELS; i++)
		other[i] = clip(rp_conv_sum(&c, own, w, i, 0));
	rp_other_reading(t, "depthwise weights are not expanded", other);
	rp_other_hangs(t, "compressed depthwise weights hang");
}

/* 33 kernels of 16 bytes: the last 64 bytes have weights for four lanes. */
static void dcomp_rest(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 2, .w = 2, .ic = 16, .oc = 33,
			     .written = 64 };

	for (unsigned int i = 0; i < 33 * 16; i++)
		w[i] = packed_weight(i);
	rp_clear(t);
	rp_conv(t, &c, own, w);
	put_stream(t, 33 * 16);
	rp_conv_run(t, &c);
	sums(want, &c, own, w);
	rp_model(t, "where weights do not fill 64 bytes, lanes without one end earlier", want);
	rp_other_hangs(t, "compressed weights that do not fill 64 bytes hang");
}

static void dcomp(struct trial *t)
{
	dcomp_depthwise(t);
	dcomp_rest(t);
}

/* Uncompressed bytes where a stream should be. */
static void dcomp_damaged(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = CHANNELS,
			     .oc = KERNELS };

	fill(own, CHANNELS, 1);
	fill(w, CHANNELS * KERNELS, 2);
	rp_conv(t, &c, own, w);
	rp_set(t, OFF_CNA_DCOMP_CTRL, 1);
	rp_set(t, OFF_CNA_DCOMP_REGNUM, 0x55555555);
	for (uint32_t i = 0; i < LANES; i++)
		rp_set(t, OFF_CNA_DCOMP_AMOUNT0 + 4 * i, 1);
	rp_conv_run(t, &c);
	rp_model_hangs(t, "what a damaged stream of weights does is not known");
}

const struct rp_program rp_cbuf[] = {
	RP_TRY("scrub", "the program that overwrites a core's memories between two clients", scrub),
	RP_TRY_KIND("reuse", "reuse of other data than the task before left", reuse, RP_NEEDS_CORE),
	RP_TRY_KIND("fc-data-bank", "FC_DATA_BANK with data in two banks", fc_data_bank,
		    RP_NEEDS_CORE),
	RP_TRY("dcomp-depthwise", "compressed weights of other shapes", dcomp),
	RP_TRY_KIND("dcomp-damaged", "a damaged stream of weights", dcomp_damaged, RP_REFUSED),
	{ 0 }
};
