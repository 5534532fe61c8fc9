// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of how the CNA reads feature data and weights.
 */
#include <math.h>
#include <string.h>

#include "report.h"

#define ENABLE_NO_RDMA	(NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU)
#define MAX_X		65536u
#define MAX_W		65536u

static double x[MAX_X], w[MAX_W], want[RP_VALUES], other[RP_VALUES];

/* Small, of either sign, and no pattern that another order of elements repeats. */
static void fill(double *v, unsigned int n, unsigned int seed)
{
	for (unsigned int i = 0; i < n; i++)
		v[i] = (double)((i * i * 7 + i * 13 + seed * 31) % 15) - 7;
}

static void fill_both(const struct rp_conv *c)
{
	unsigned int taps = (c->kh ? c->kh : 1) * (c->kw ? c->kw : 1);
	unsigned int stored = c->stored ? c->stored : c->ic;
	unsigned int kernels = c->kernels ? c->kernels : c->depthwise ? 1 : c->oc;

	fill(x, c->h * c->w * c->ic, 1);
	fill(w, kernels * taps * stored, 2);
}

/* What it should compute, with @pad around the input. */
static void sums(const struct rp_conv *c, double pad)
{
	for (unsigned int i = 0; i < c->oh * c->ow * c->oc; i++)
		want[i] = rp_conv_sum(c, x, w, i, pad);
}

static void plain(struct trial *t, struct rp_conv *c, const char *reading)
{
	fill_both(c);
	rp_clear(t);
	rp_conv(t, c, x, w);
	rp_conv_run(t, c);
	sums(c, 0);
	rp_model(t, reading, want);
}

/* ---- feature data ---- */

static void features(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 5, .w = 3, .ic = 64, .oc = 32 };

	plain(t, &c, "feature data lies in surfaces of atoms, lines one behind the other");
	rp_clear(t);
	rp_conv(t, &c, x, w);
	/* GROUP_LINE_OFF: strides from line to line. */
	rp_bits(t, OFF_CNA_CONV_CON1, 1 << 29, 1 << 29);
	rp_set(t, OFF_CNA_DMA_CON1, c.w);
	rp_set(t, OFF_CNA_DMA_CON2, c.w * (c.h - 1));
	rp_conv_run(t, &c);
	sums(&c, 0);
	rp_model(t, "strides are those of lines, or of groups of four lines", want);
}

/* Six lines of two positions, with two positions between the fourth and the fifth. */
static void line_stride(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 6, .w = 2, .ic = 16, .oc = 32 };

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_cube(t, RP_X + 10 * 16, RP_INT8, 4, 16, x + 8 * 16);
	rp_set(t, OFF_CNA_DMA_CON1, 10);
	rp_conv_run(t, &c);
	sums(&c, 0);
	rp_model(t, "LINE_STRIDE counts from one group of four lines to the next", want);
	for (unsigned int i = 0; i < c.h * c.w * c.oc; i++)
		other[i] = want[i];
	/* The places between hold what was there before the second group was moved. */
	for (unsigned int i = 8 * c.oc; i < 12 * c.oc; i++)
		other[i] = i < 10 * c.oc ? want[i] : want[i - 2 * c.oc];
	rp_other_reading(t, "LINE_STRIDE is not used within six lines", other);
}

static void dma_width(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 3, .w = 5, .ic = 16, .oc = 32 };

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_bits(t, OFF_CNA_CONV_CON1, 1 << 29, 1 << 29);
	rp_set(t, OFF_CNA_FC_DATA_SIZE0, 3 << 16 | c.h);
	rp_set(t, OFF_CNA_DMA_CON1, c.w);
	rp_set(t, OFF_CNA_DMA_CON2, c.w * c.h - 3);
	rp_conv_run(t, &c);
	sums(&c, 0);
	rp_model(t, "a line is as long as the input where DMA_WIDTH is less", want);
	for (unsigned int i = 0; i < c.h * c.w * c.oc; i++)
		other[i] = i / c.oc % c.w < 3 ? want[i] : 0;
	rp_other_reading(t, "what lies beyond DMA_WIDTH is 0", other);
}

static void grains(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_INT8, .out = RP_INT32, .h = 8, .w = 4, .ic = 32, .oc = 32, .kh = 3,
		.kw = 3,
		.top = 1, .left = 1,
	};

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_set(t, OFF_CNA_CONV_CON2, 1 << 4);
	rp_conv_run(t, &c);
	sums(&c, 0);
	rp_model(t, "with one grain the result is the same", want);
	rp_other_hangs(t, "with one grain the task hangs");
}

/* ---- weights ---- */

static void partial_of(struct trial *t, enum rp_type type, unsigned int ic, const char *reading)
{
	struct rp_conv c = { .in = type, .out = RP_FP32, .h = 1, .w = 1, .ic = ic, .oc = 20,
			     .written = 32 };

	plain(t, &c, reading);
}

static void weights_partial(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT16, .out = RP_INT32, .h = 1, .w = 1, .ic = 40, .oc = 10,
			     .written = 16 };

	partial_of(t, RP_BF16, 40, "partial groups of bf16 are compact");
	partial_of(t, RP_TF32, 20, "partial groups of tf32 are compact");
	plain(t, &c, "partial groups of int16 are compact");
}

static void channels_compact(struct trial *t)
{
	struct rp_conv c = { .in = RP_FP16, .out = RP_FP32, .h = 1, .w = 1, .ic = 24, .oc = 16 };

	plain(t, &c, "weights of 24 channels lie behind each other");
	for (unsigned int i = 0; i < 16; i++) {
		other[i] = 0;
		/* As if 32 were stored: each kernel would begin at another place. */
		for (unsigned int ch = 0; ch < 24; ch++)
			other[i] += i * 32 + ch < 16 * 24 ? x[ch] * w[i * 32 + ch] : 0;
	}
	rp_other_reading(t, "weights of 24 channels lie as if there were 32", other);
}

static void three_atoms(struct trial *t)
{
	struct rp_conv c = { .in = RP_FP16, .out = RP_FP32, .h = 1, .w = 1, .ic = 24, .stored = 32,
			     .oc = 16 };

	plain(t, &c, "the fourth atom of weights does not count");
}

static void kernels_compact(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = 64, .oc = 36,
			     .written = 64 };

	plain(t, &c, "the channels of a partial group of kernels lie behind each other");
}

/* ---- padding ---- */

static void pad_of(struct trial *t, enum rp_type in, enum rp_type out, unsigned int ic,
		   uint32_t bits,
		   double pad, const char *reading, double wrong, const char *otherwise)
{
	struct rp_conv c = {
		.in = in, .out = out, .h = 1, .w = 1, .ic = ic, .oc = 16, .kh = 3, .kw = 3,
		.top = 1,
		.left = 1,
	};

	c.written = in == RP_INT8 ? 32 : 16;
	fill_both(&c);
	rp_clear(t);
	rp_conv(t, &c, x, w);
	rp_set(t, OFF_CNA_PAD_CON1, bits);
	rp_conv_run(t, &c);
	sums(&c, pad);
	rp_model(t, reading, want);
	sums(&c, wrong);
	rp_other_reading(t, otherwise, want);
}

static void pad_types(struct trial *t)
{
	pad_of(t, RP_INT8, RP_INT32, 32, 0x0003fe05, 5, "int8 is padded with the low byte", -2,
	       "int8 is padded with the second byte");
	pad_of(t, RP_INT16, RP_INT32, 32, 0x00070005, 5, "int16 is padded with the low half", 7,
	       "int16 is padded with the upper half");
	pad_of(t, RP_BF16, RP_FP32, 32, 0x40403f80, 1, "bf16 is padded with the low half", 3,
	       "bf16 is padded with the upper half");
	pad_of(t, RP_TF32, RP_FP32, 16, 0x40400000, 3,
	       "tf32 is padded with all bits", 0,
	       "tf32 is padded with 0");
}

/* A tap beside the input: what a depthwise convolution of 128 channels is padded with. */
static void dw_pad(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_INT8, .out = RP_INT32, .depthwise = true, .h = 1, .w = 1, .ic = 128,
		.oc = 128,
		.kh = 1, .kw = 2, .left = 1,
	};
	double first[128], flat[128];

	memset(x, 0, sizeof(x));
	for (unsigned int i = 0; i < 256; i++)
		w[i] = 1;
	for (unsigned int ch = 0; ch < 128; ch++) {
		want[ch] = ch / 32 % 2 == 0 && ch % 2 ? 9 : 5;
		first[ch] = ch < 32 && ch % 2 ? 9 : 5;
		flat[ch] = 5;
	}
	rp_conv(t, &c, x, w);
	rp_set(t, OFF_CNA_PAD_CON1, 0x0905);
	rp_conv_run(t, &c);
	rp_model(t, "odd ones of the first 32 of each 64 channels take the second byte", want);
	rp_other_reading(t, "odd ones of the first 32 channels alone take the second byte", first);
	rp_other_reading(t, "all channels take the low byte", flat);
}

/* One element among what an upsampling by 2 puts between: the window has it and three of those. */
static void deconv_pad(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_INT8, .out = RP_INT32, .h = 2, .w = 2, .ic = 32, .oc = 32, .kh = 2,
		.kw = 2,
		.oh = 1, .ow = 1,
	};

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_bits(t, OFF_CNA_CONV_CON1, 1 << 16, 1 << 16);
	rp_bits(t, OFF_CNA_CONV_CON3, 0x3f << 8, 1 << 11 | 1 << 8);
	rp_set(t, OFF_CNA_PAD_CON1, 0x0505);
	rp_conv_run(t, &c);
	for (unsigned int k = 0; k < 32; k++) {
		want[k] = other[k] = 0;
		for (unsigned int ch = 0; ch < 32; ch++) {
			other[k] += x[ch] * w[k * 4 * 32 + ch];
			want[k] += x[ch] * w[k * 4 * 32 + ch];
			for (unsigned int tap = 1; tap < 4; tap++)
				want[k] += 5 * w[(k * 4 + tap) * 32 + ch];
		}
	}
	rp_model(t, "a deconvolution has the padding value between lines and columns", want);
	rp_other_reading(t, "a deconvolution has 0 between lines and columns", other);
}

/* ---- packed pixels and the converter ---- */

/* Two channels of bytes per position; the kernels have 16, of which those count. */
static void packed(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 2, .w = 4, .ic = 16, .oc = 32 };

	for (unsigned int n = 2; n <= 4; n += 2) {
		memset(x, 0, sizeof(x));
		fill(w, 32 * 16, 2);
		for (unsigned int i = 0; i < 8 * n; i++)
			x[i / n * 16 + i % n] = (double)(i * 11 % 23) - 11;
		rp_clear(t);
		rp_conv(t, &c, x, w);
		for (unsigned int i = 0; i < 8 * n; i++)
			rp_put(t, RP_X + i, RP_INT8, x[i / n * 16 + i % n]);
		rp_bits(t, OFF_CNA_CONV_CON1, 3u << 29 | 15u << 12, 3u << 29 | (n + 7) << 12);
		rp_set(t, OFF_CNA_DATA_SIZE1, (n - 1) << 16 | 16);
		rp_set(t, OFF_CNA_DMA_CON1, c.w);
		rp_set(t, OFF_CNA_DMA_CON2, -c.w & 0xfffffff);
		rp_conv_run(t, &c);
		sums(&c, 0);
		rp_model(t, "packed pixels of two and of four bytes become channels 0 and up",
			 want);
	}
}

/* The first channels of an atom, handed through one to one. */
static void cvt(struct trial *t, uint32_t cfg, uint32_t mask, uint32_t offset)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = 32, .oc = 32 };

	memset(w, 0, 32 * 32 * sizeof(*w));
	for (unsigned int i = 0; i < 32; i++) {
		x[i] = 2 * i - 31.0;
		w[i * 32 + i] = 1;
	}
	rp_clear(t);
	rp_conv(t, &c, x, w);
	rp_set(t, OFF_CNA_CVT_CON0, cfg);
	for (unsigned int i = 0; i < 4; i++)
		rp_set(t, OFF_CNA_CVT_CON1 + 4 * i, (i + 1) << 16 | (10 * i + offset));
	rp_set(t, OFF_CNA_CVT_CON5, mask);
	rp_conv_run(t, &c);
}

#define CVT_SHIFT_1	(NPU_PUT(CNA_CVT_CON0_TRUNCATE_0, 1) | NPU_PUT(CNA_CVT_CON0_TRUNCATE_1, 1) |	\
			 NPU_PUT(CNA_CVT_CON0_TRUNCATE_2, 1) | NPU_PUT(CNA_CVT_CON0_TRUNCATE_3, 1))
#define CVT_SIGNED	NPU_MASK_CNA_CVT_CON0_DATA_SIGN
#define CVT_UP		NPU_MASK_CNA_CVT_CON0_ROUND_TYPE
#define CVT_ADD_FIRST	NPU_MASK_CNA_CVT_CON0_CVT_TYPE

static double clip8(double v)
{
	return fmin(127, fmax(-128, v));
}

static void cvt_in_0(struct trial *t)
{
	cvt(t, CVT_SHIFT_1 | CVT_SIGNED, 0xffff, 3);
	for (unsigned int i = 0; i < 32; i++) {
		double scale = i % 4 + 1, offset = 10 * (i % 4) + 3;

		want[i] = clip8(rp_even(x[i] * scale, 1) + offset);
		other[i] = clip8(rp_even(x[i] * scale + offset, 1));
	}
	rp_model(t, "the converter of type 0 multiplies, shifts, then adds", want);
	rp_other_reading(t, "the converter of type 0 adds before it shifts", other);
}

static void cvt_in_1(struct trial *t)
{
	static double even[32];

	cvt(t, CVT_SHIFT_1 | CVT_SIGNED | CVT_UP | CVT_ADD_FIRST, 0x0fff, 4);
	for (unsigned int i = 0; i < 32; i++) {
		double scale = i % 4 + 1, offset = 10 * (i % 4) + 4;
		bool on = i % 16 < 12;

		want[i] = on ? clip8(rp_upwards((x[i] + offset) * scale, 1)) : x[i];
		even[i] = on ? clip8(rp_even((x[i] + offset) * scale, 1)) : x[i];
		other[i] = clip8(rp_upwards((x[i] + offset) * scale, 1));
	}
	rp_model(t,
		 "the converter of type 1 adds first, rounds ties up, and spares masked channels",
		 want);
	rp_other_reading(t, "the converter of type 1 rounds ties to even", even);
	rp_other_reading(t, "the converter does not look at CHANNEL_ENABLE", other);
}

/* ---- where boards are known to differ ---- */

static void int8_partial(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT8, .h = 1, .w = 1, .ic = 32, .oc = 36,
			     .written = 64 };

	fill_both(&c);
	for (unsigned int i = 0; i < 36 * 32; i++)
		w[i] = i % 32 == i / 32 % 32;
	rp_conv(t, &c, x, w);
	rp_conv_run(t, &c);
	sums(&c, 0);
	rp_model(t, "kernels of a partial group are written as int8", want);
	for (unsigned int i = 0; i < 36; i++)
		other[i] = i < 32 ? want[i] : (int8_t)RP_POISON;
	rp_other_reading(t, "kernels of a partial group are not written", other);
	rp_other_hangs(t, "int8 results of a partial group of kernels hang");
}

/*
 * Surfaces are groups of eight, four words to an atom. The write DMA takes eight atoms for a
 * position where the CORE gives 16: @all if it gives those of all channels before the next.
 */
static void deal_sums(const struct rp_conv *c, bool all)
{
	unsigned int positions = c->oh * c->ow, atoms = all ? c->oc / 4 : 16;

	for (unsigned int i = 0; i < positions * c->oc; i++) {
		unsigned int pos = i / c->oc, surface = i % c->oc / 4;
		unsigned int nth = (surface / 8 * positions + pos) * 8 + surface % 8;
		unsigned int group = nth / (atoms * positions), at = nth / atoms % positions;
		unsigned int channel = (group * atoms + nth % atoms) * 4 + i % 4;

		other[i] = rp_conv_sum(c, x, w, at * c->oc + channel, 0);
	}
}

static void deal(struct trial *t, struct rp_conv *c, const char *reading)
{
	fill_both(c);
	rp_clear(t);
	rp_conv(t, c, x, w);
	rp_conv_run(t, c);
	deal_sums(c, false);
	rp_model(t, reading, other);
	sums(c, 0);
	rp_other_reading(t, "int32 results of a depthwise convolution follow the strides", want);
	if (c->oc > 64) {
		deal_sums(c, true);
		rp_other_reading(t, "a position gives the atoms of all channels", other);
	}
}

static void dw_int32(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_INT8, .out = RP_INT32, .depthwise = true, .h = 2, .w = 2, .ic = 64,
		.oc = 64,
	};

	deal(t, &c, "each position of 64 channels gives 16 atoms, in groups of eight");
	/* Is it 64 channels of a position, or all of them? */
	c.ic = c.oc = c.written = c.stored = 128;
	deal(t, &c, "each position of 64 of 128 channels gives 16 atoms");
}

/* Twelve positions of 64 kernels: 24 blocks of 32 words. At most eight are said to be written. */
static void mc_surf(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_INT8, .out = RP_INT32, .h = 3, .w = 4, .ic = 32, .oc = 64,
	};

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_bits(t, OFF_DPU_DATA_FORMAT, 1 << 3, 1 << 3);
	rp_set(t, OFF_DPU_SURFACE_ADD, 512);
	rp_conv_run(t, &c);
	for (unsigned int i = 0; i < 24 * 32; i++) {
		unsigned int block = i / 32, pos = block % 12;

		rp_read(t, i, RP_INT32, block / 2 * 512 + block % 2 * 128 + i % 32 * 4);
		want[i] = rp_conv_sum(&c, x, w, pos * c.oc + block / 12 * 32 + i % 32, 0);
		other[i] = block < 8 ? want[i] : (int32_t)(RP_POISON * 0x1010101u);
	}
	rp_model(t, "MC_SURF_OUT writes blocks of 32 words in pairs", want);
	rp_other_reading(t, "MC_SURF_OUT writes eight blocks", other);
}

/* 17 kernels of halves, where 32 are stored: in a group of one or of 16? */
static void kernels_stored(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_FP16, .out = RP_FP32, .h = 1, .w = 1, .ic = 32, .oc = 17, .kernels = 32,
		.written = 32,
	};

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_bits(t, OFF_CNA_WEIGHT_SIZE2, 0x3fff, 17);
	rp_conv_run(t, &c);
	sums(&c, 0);
	rp_model(t, "17 kernels of halves may be stored as 32", want);
	rp_other_hangs(t, "weights of more kernels than there are hang");
}

/* Surfaces of one position that lie where SURFACE_ADD and a stride of 0 say. */
static void stride_0(struct trial *t)
{
	struct rp_conv c = { .in = RP_FP16, .out = RP_FP16, .h = 1, .w = 1, .ic = 32, .oc = 16 };

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 0);
	rp_conv_run(t, &c);
	sums(&c, 0);
	for (unsigned int i = 0; i < 16; i++)
		other[i] = i < 8 ? want[i + 8] : rp_half(RP_POISON * 0x101);
	rp_model(t, "with a stride of 0 surfaces of one position are packed", want);
	rp_other_reading(t, "with a stride of 0 surfaces lie on each other", other);
}

static void cpend_halves(struct trial *t)
{
	struct rp_conv c = { .in = RP_FP16, .out = RP_FP32, .h = 1, .w = 1, .ic = 32, .oc = 16 };

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_bits(t, OFF_DPU_BS_OW_CFG, 3, 1);
	rp_bits(t, OFF_CORE_MISC_CFG, 1, 1);
	rp_run(t, NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU);
	rp_result(t, c.out, 1, c.oc, 16);
	sums(&c, 0);
	rp_model(t, "a product of halves without DPU_RDMA does not wait for CPEND", want);
	rp_other_hangs(t, "a product of halves waits for CPEND");
}

static void kernel_5x5(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_INT8, .out = RP_INT32, .h = 5, .w = 5, .ic = 32, .oc = 32, .kh = 5,
		.kw = 5,
		.top = 2, .left = 2,
	};

	plain(t, &c, "int8 kernels of 5x5 compute");
	for (unsigned int i = 0; i < t->ngot; i++)
		other[i] = want[i / 32 * 32];
	rp_other_reading(t, "all channels of a position have the same value", other);
}

static void half_sixteenth(struct trial *t)
{
	struct rp_conv c = { .in = RP_FP16, .out = RP_FP32, .h = 4, .w = 1, .ic = 32, .oc = 32 };

	fill_both(&c);
	for (unsigned int i = 0; i < 32 * 32; i++)
		w[i] *= ldexp(1, -(int)(i % 9));
	rp_conv(t, &c, x, w);
	rp_conv_run(t, &c);
	for (unsigned int i = 0; i < 128; i++)
		want[i] = (float)rp_conv_sum(&c, x, w, i, 0);
	rp_model(t, "sums of halves on every sixteenth channel are as on others", want);
}

/* Operands of EW for two surfaces: the first comes by MRDMA, the second by ERDMA. */
static void comb_use(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT8, .h = 1, .w = 4, .ic = 32, .oc = 32 };
	static double e[128];

	fill_both(&c);
	for (unsigned int i = 0; i < 32 * 32; i++)
		w[i] = i % 32 == i / 32;
	for (unsigned int i = 0; i < 128; i++)
		e[i] = (double)(i % 61) - 30;
	rp_conv(t, &c, x, w);
	rp_cube(t, RP_E, RP_INT8, 4, 32, e);
	/* Add, operands of a byte per element, not converted. */
	rp_set(t, OFF_DPU_EW_CFG, 2 << 16 | 1 << 28 | 1 << 22 | 1 << 9 | 1 << 7 | 1 << 6);
	rp_set(t, OFF_RDMA_SRC_BASE_ADDR, t->npu->in_iova + RP_E);
	rp_set(t, OFF_RDMA_ERDMA_CFG, 1 << 30 | 1 << 2);
	rp_set(t, OFF_RDMA_EW_BASE_ADDR, t->npu->in_iova + RP_E + 64);
	rp_set(t, OFF_RDMA_EW_SURF_STRIDE, 64);
	rp_set(t, OFF_RDMA_FEATURE_MODE_CFG, 15 << 11 | 5 << 8);
	rp_set(t, OFF_RDMA_SURF_NOTCH, 64);
	rp_set(t, OFF_RDMA_EW_SURF_NOTCH, 64);
	rp_conv_run(t, &c);
	sums(&c, 0);
	for (unsigned int i = 0; i < 128; i++) {
		other[i] = want[i] + e[i / 32 * 32 + i % 16];
		want[i] += e[i];
	}
	rp_model(t, "MRDMA and ERDMA fetch surfaces in turns", want);
	rp_other_reading(t, "both fetch the first surface", other);
}

/* Feature data of two banks, which are told to fit one; the last positions are looked at. */
static void cbuf_short(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 32, .w = 32, .ic = 64, .oc = 32 };
	const unsigned int seen = 32, first = 32 * 32 - seen;

	fill_both(&c);
	rp_conv(t, &c, x, w);
	rp_set(t, OFF_CNA_CBUF_CON0, 11 << 4 | 1);
	rp_run(t, NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU | NPU_EN_DPU_RDMA);
	for (unsigned int i = 0; i < seen * 32; i++) {
		unsigned int pos = first + i / 32, k = i % 32;

		rp_read(t, i, RP_INT32, (k / 4 * 1024 + pos) * 16 + k % 4 * 4);
		want[i] = rp_conv_sum(&c, x, w, pos * 32 + k, 0);
	}
	rp_model(t, "too few banks for the feature data do not change the result", want);
	rp_other_hangs(t, "too few banks for the feature data hang");
}

/* Packed operands for a stage that is bypassed, then lines of 64 columns. */
static void packed_bypass(struct trial *t)
{
	struct rp_conv first = { .in = RP_INT8, .out = RP_INT8, .h = 1, .w = 1, .ic = 32,
				.oc = 32 };
	struct rp_conv wide = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 64, .ic = 32,
			       .oc = 32 };

	fill_both(&first);
	for (unsigned int i = 0; i < 32 * 32; i++)
		w[i] = i % 32 == i / 32;
	rp_conv(t, &first, x, w);
	rp_set(t, OFF_RDMA_BRDMA_CFG, 0xe);
	rp_conv_run(t, &first);
	sums(&first, 0);
	rp_model(t, "packed operands for a stage that is bypassed do no harm", want);
	rp_other_hangs(t, "packed operands for a stage that is bypassed hang");
	plain(t, &wide, "nor do they to a wide task behind");
	rp_other_hangs(t, "packed operands for a stage that is bypassed hang a wide task behind");
}

const struct rp_program rp_cna[] = {
	RP_TRY("features", "atoms, surfaces and lines of feature data", features),
	RP_TRY("line-stride", "a stride that is not four widths", line_stride),
	RP_TRY("dma-width", "lines longer than the DMA's width", dma_width),
	RP_TRY("grains", "fewer grains than lines of the window", grains),
	RP_TRY("weights-partial", "partial groups of bf16, tf32 and int16", weights_partial),
	RP_TRY("channels-compact", "weights of a partial group of channels", channels_compact),
	RP_TRY("three-atoms", "weights of three atoms that are stored as four", three_atoms),
	RP_TRY("kernels-compact", "weights of a partial group of kernels", kernels_compact),
	RP_TRY("pad-types", "the padding value of each type", pad_types),
	RP_TRY("dw-pad", "padding of int8 depthwise convolutions", dw_pad),
	RP_TRY("deconv-pad", "what a deconvolution puts between lines and columns", deconv_pad),
	RP_TRY("packed", "two and four packed channels", packed),
	RP_TRY("cvt-in-0", "order of the input converter of type 0", cvt_in_0),
	RP_TRY("cvt-in-1", "constants, mask and ties of the input converter of type 1", cvt_in_1),
	RP_TRY("half-sixteenth", "sums of halves on every sixteenth channel", half_sixteenth),
	RP_TRY("int8-partial", "int8 results of a partial group of kernels", int8_partial),
	RP_TRY("dw-int32", "addresses of int32 results of depthwise convolutions", dw_int32),
	RP_TRY("mc-surf-out", "where MC_SURF_OUT writes words", mc_surf),
	RP_TRY("kernels-stored", "a last group of kernels that is stored whole", kernels_stored),
	RP_TRY("stride-0", "a stride of 0 between surfaces", stride_0),
	RP_TRY("cpend-halves", "CPEND operands that nothing fetches, with halves", cpend_halves),
	RP_TRY("kernel-5x5", "int8 kernels above 3x3", kernel_5x5),
	RP_TRY("comb-use", "operands of EW behind a convolution", comb_use),
	RP_TRY("packed-bypass", "packed operands for a stage that is bypassed", packed_bypass),
	RP_TRY("cbuf-short", "too few banks of CBUF", cbuf_short),
	RP_WHY("read-ahead", "feature data read beyond its end", "what is read leaves no trace"),
	{ 0 }
};
