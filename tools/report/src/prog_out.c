// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of OUT_CVT and of where the DPU's results go.
 */
#include <math.h>

#include "report.h"

#define CVT_ROUND	NPU_MASK_DPU_OUT_CVT_SHIFT_CVT_ROUND
#define CVT_TYPE	NPU_MASK_DPU_OUT_CVT_SHIFT_CVT_TYPE
#define FP32TOFP16_EN	NPU_MASK_DPU_OUT_CVT_SCALE_FP32TOFP16_EN

static const double halves[] = { -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, -7 };

/* Half of each, and an odd offset: does the sum or the product decide about ties? */
static void cvt_offset(struct trial *t, int offset, uint32_t round, const char *sum,
		       const char *product)
{
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(halves) };
	double inside[RP_COUNT(halves)], behind[RP_COUNT(halves)];

	for (unsigned int i = 0; i < f.n; i++) {
		inside[i] = round ? rp_away(halves[i] + 2 * offset, 1)
				  : rp_even(halves[i] + 2 * offset, 1);
		behind[i] = (round ? rp_away(halves[i], 1) : rp_even(halves[i], 1)) + offset;
	}
	rp_clear(t);
	rp_fly(t, &f, halves);
	rp_set(t, OFF_DPU_OUT_CVT_OFFSET, (uint32_t)offset);
	rp_set(t, OFF_DPU_OUT_CVT_SHIFT, round | 1);
	rp_fly_run(t, &f);
	rp_model(t, sum, inside);
	rp_other_reading(t, product, behind);
}

static void cvt_ties(struct trial *t)
{
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(halves) };
	double even[RP_COUNT(halves)], away[RP_COUNT(halves)], up[RP_COUNT(halves)];

	for (unsigned int i = 0; i < f.n; i++) {
		even[i] = rp_even(halves[i], 1);
		away[i] = rp_away(halves[i], 1);
		up[i] = rp_upwards(halves[i], 1);
	}
	rp_fly(t, &f, halves);
	rp_set(t, OFF_DPU_OUT_CVT_SHIFT, 1);
	rp_fly_run(t, &f);
	rp_model(t, "ties go to even", even);
	rp_other_reading(t, "ties go away from zero", away);
	rp_other_reading(t, "ties go up", up);
	cvt_offset(t, 1, 0, "with an offset of 1 ties of the sum go to even",
		   "with an offset of 1 ties of the product go to even");
	cvt_offset(t, -1, 0, "with an offset of -1 ties of the sum go to even",
		   "with an offset of -1 ties of the product go to even");
	cvt_offset(t, 3, CVT_ROUND, "with an offset of 3 ties of the sum go away from zero",
		   "with an offset of 3 ties of the product go away from zero");
}

static void cvt_type(struct trial *t)
{
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(halves) };
	double first[RP_COUNT(halves)], last[RP_COUNT(halves)];

	for (unsigned int i = 0; i < f.n; i++) {
		first[i] = (halves[i] + 3) * 5;
		last[i] = halves[i] * 5 + 3;
	}
	rp_fly(t, &f, halves);
	rp_set(t, OFF_DPU_OUT_CVT_OFFSET, 3);
	rp_set(t, OFF_DPU_OUT_CVT_SCALE, 5);
	rp_set(t, OFF_DPU_OUT_CVT_SHIFT, CVT_TYPE);
	rp_fly_run(t, &f);
	rp_model(t, "CVT_TYPE adds the offset before it multiplies", first);
	rp_other_reading(t, "CVT_TYPE adds the offset after it multiplies", last);
}

static void fp32_to_fp16(struct trial *t)
{
	/* The first two lie between two halves; the others beyond or at the end of their range. */
	const double v[] = { 1 + 0x1p-11, 1 + 0x3p-11, -1 - 0x3p-11, 65519, 65520, -65520, 70000,
			     0x1p-25 };
	const double even[] = { 1, 1 + 0x1p-9, -1 - 0x1p-9, 65504, INFINITY, -INFINITY, INFINITY,
			       0 };
	const double sat[] = { 1, 1 + 0x1p-9, -1 - 0x1p-9, 65504, 65504, -65504, 65504, 0 };
	const double cut[] = { 1, 1 + 0x1p-10, -1 - 0x1p-10, 65504, 65504, -65504, 65504, 0 };
	struct rp_fly f = { RP_FP32, RP_FP16, .n = RP_COUNT(v) };

	rp_fly(t, &f, v);
	rp_fly_run(t, &f);
	rp_model(t, "rounds to nearest even, overflows to infinity", even);
	rp_other_reading(t, "rounds to nearest even, saturates", sat);
	rp_other_reading(t, "truncates and saturates", cut);
}

static void fp32_keeps(struct trial *t)
{
	const double v[] = { 1 + 0x1p-20, -1 - 0x1p-20, 100000.25, 3.0000002384185791 };
	const double rounded[] = { 1, -1, INFINITY, 3 };
	struct rp_fly f = { RP_FP32, RP_FP32, .n = RP_COUNT(v) };

	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_OUT_CVT_SCALE, 1 | FP32TOFP16_EN);
	rp_fly_run(t, &f);
	rp_model(t, "fp32 results are as without FP32TOFP16_EN", v);
	rp_other_reading(t, "fp32 results are rounded to halves", rounded);
}

static void half_to_int8(struct trial *t)
{
	const double v[] = { 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.75, -0.75, 200, -200, 3, -3, 0,
			    7.25,
			     100.5, 101.5 };
	double even[RP_COUNT(v)], away[RP_COUNT(v)], cut[RP_COUNT(v)];
	struct rp_fly f = { RP_FP16, RP_INT8, .n = RP_COUNT(v) };

	for (unsigned int i = 0; i < f.n; i++) {
		even[i] = fmin(127, fmax(-128, rp_even(v[i], 0)));
		away[i] = fmin(127, fmax(-128, rp_away(v[i], 0)));
		cut[i] = fmin(127, fmax(-128, trunc(v[i])));
	}
	rp_fly(t, &f, v);
	rp_fly_run(t, &f);
	rp_model(t, "halves become bytes with ties to even", even);
	rp_other_reading(t, "halves become bytes with ties away from zero", away);
	rp_other_reading(t, "halves become bytes by truncation", cut);
}

/* Four of eight channels exist, and the eight behind them do not. */
static void write_padding(struct trial *t)
{
	const double v[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };
	double pend[16], whole[16], none[16], zero[16];

	for (unsigned int i = 0; i < 16; i++) {
		pend[i] = i < 4 ? v[i] : 0x1234;
		whole[i] = i < 8 ? pend[i] : (int16_t)(RP_POISON * 0x101);
		none[i] = i < 4 ? v[i] : (int16_t)(RP_POISON * 0x101);
		zero[i] = i < 4 ? v[i] : 0;
	}
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_OFFSET_PEND, 0x1234);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, 3 << 16 | 15);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, 15);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, 15);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	rp_result(t, RP_INT16, 1, 16, 16);
	rp_model(t, "padded channels take OFFSET_PEND", pend);
	rp_other_reading(t, "surfaces of padded channels alone are not written", whole);
	rp_other_reading(t, "padded channels are not written", none);
	rp_other_reading(t, "padded channels become 0", zero);
}

/* Two lines of two positions, with a place left out behind each line. */
static void notch(struct trial *t, uint32_t notches, unsigned int pitch0, unsigned int pitch1,
		  const char *reading, const char *other)
{
	const double v[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
			     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };
	double want[40], also[40];

	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_DATA_CUBE_NOTCH, notches);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 6 * 16);
	rp_set(t, OFF_DPU_SURFACE_ADD, 6 * 16);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, 1);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, 1);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, 1 << 16 | 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, 1);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	for (unsigned int i = 0; i < 40; i++) {
		want[i] = also[i] = (int16_t)(RP_POISON * 0x101);
		rp_read(t, i, RP_INT16, 2 * i);
	}
	for (unsigned int i = 0; i < 32; i++) {
		want[i / 16 * pitch0 * 8 + i % 16] = v[i];
		also[i / 16 * pitch1 * 8 + i % 16] = v[i];
	}
	rp_model(t, reading, want);
	rp_other_reading(t, other, also);
}

static void notch_1(struct trial *t)
{
	notch(t, 1, 3, 2, "NOTCH_0 alone says where the next line begins",
	      "with NOTCH_1 of 0 there is no notch");
}

/* Four surfaces in groups of two: stride within a group, SURFACE_ADD from group to group. */
static void surface_groups(struct trial *t)
{
	static const uint32_t grouped[] = { 0, 32, 96, 128 }, flat[] = { 0, 32, 64, 96 };
	double v[64], want[64], other[64];
	struct rp_fly f = { RP_INT8, RP_INT8, .n = 16 };

	for (unsigned int i = 0; i < 64; i++)
		v[i] = i + 1;
	rp_fly(t, &f, v);
	rp_cube(t, RP_X, RP_INT8, 1, 64, v);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 32);
	rp_set(t, OFF_DPU_SURFACE_ADD, 96);
	rp_set(t, OFF_DPU_BS_OW_CFG, 1 * 0x124 | 2);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, 63 << 16 | 63);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, 63);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, 63);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	for (unsigned int i = 0; i < 64; i++) {
		rp_read(t, i, RP_INT8, grouped[i / 16] + i % 16);
		want[i] = v[i];
		other[i] = (int8_t)RP_POISON;
	}
	for (unsigned int i = 0; i < 64; i++) {
		for (unsigned int k = 0; k < 4; k++) {
			if (flat[k] == grouped[i / 16])
				other[i] = v[k * 16 + i % 16];
		}
	}
	rp_model(t, "the stride counts within groups of SIZE_E surfaces, SURFACE_ADD between them",
		 want);
	rp_other_reading(t, "the stride alone counts", other);
}

/* Bytes of positions, which are numbered so that each is found again. */
static void bytes_in(struct trial *t, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rp_put(t, RP_X + i, RP_INT8, (int8_t)(i % 251));
}

static void bytes_out(struct trial *t, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rp_read(t, i, RP_INT8, i);
}

static void same_bytes(double *v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		v[i] = (int8_t)(i % 251);
}

/* 48 positions of 16 bytes become 16 rows of 48 bytes (as attention of Rockchip's networks). */
static void transpose_rows(struct trial *t)
{
	static const double none[48 * 8];
	static double want[768], plain[768];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(none) };

	rp_fly(t, &f, none);
	bytes_in(t, 768);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 3 * 16);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, 15);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, 2);
	rp_set(t, OFF_DPU_DATA_CUBE_NOTCH, 23 << 16 | 23);
	rp_set(t, OFF_DPU_BS_OW_CFG, 0x080007fe);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, 2 << 16 | 7);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, 1 << 16);
	rp_set(t, OFF_DPU_SURFACE_ADD, 16);
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, 15);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, 2);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	bytes_out(t, 768);
	same_bytes(plain, 768);
	for (unsigned int i = 0; i < 768; i++)
		want[i] = plain[i % 48 * 16 + i / 48];
	rp_model(t, "TP_ORG_EN transposes blocks of 16 positions by bytes", want);
	rp_other_reading(t, "TP_ORG_EN changes nothing", plain);
}

/* 16 positions of 16 channels become planes of halfwords (as Reshape and Transpose of Rockchip's networks). */
static void transpose_planes(struct trial *t)
{
	static const double none[32 * 8];
	static double want[512], plain[512];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(none) };

	rp_clear(t);
	rp_fly(t, &f, none);
	bytes_in(t, 512);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 2 * 16);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, 7);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, 1);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, 15 << 16 | 15);
	rp_set(t, OFF_DPU_BS_OW_CFG, 0x080007fe);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, 1 << 27 | 1 << 16 | 15);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, 1);
	rp_set(t, OFF_DPU_SURFACE_ADD, 16 * 16);
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, 7);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, 15);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	bytes_out(t, 512);
	same_bytes(plain, 512);
	for (unsigned int i = 0; i < 512; i++) {
		unsigned int c = i / 32, pos = i % 32 / 2;

		want[i] = plain[(c / 8 * 16 + pos) * 16 + c % 8 * 2 + i % 2];
	}
	rp_model(t, "TP_ORG_EN and TP_PRECISION transpose blocks of eight positions by halfwords", want);
	rp_other_reading(t, "they change nothing", plain);
}

/* Five lines of 24 positions become columns, eight positions of each line at a time. */
static void transpose_columns(struct trial *t)
{
	static const double none[40 * 8];
	static double want[1920], plain[1920];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(none) };

	rp_clear(t);
	rp_fly(t, &f, none);
	bytes_in(t, 1920);
	rp_bits(t, OFF_DPU_FEATURE_MODE_CFG, 1 << 30, 1 << 30);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 5 * 16);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, 7);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, 4);
	rp_set(t, OFF_DPU_DATA_CUBE_NOTCH, 35 << 16 | 35);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, 23 << 16 | 23);
	rp_set(t, OFF_DPU_BS_OW_CFG, 0x7fe);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, 1 << 27 | 23);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, 2 << 16 | 4);
	rp_set(t, OFF_DPU_SURFACE_ADD, 40 * 16);
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, 7);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, 4);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, 23);
	rp_set(t, OFF_RDMA_SRC_DMA_CFG, 16 << 19);
	rp_set(t, OFF_RDMA_SURF_NOTCH, (uint32_t)((8 - (4 * 24 + 8)) * 16));
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	bytes_out(t, 1920);
	same_bytes(plain, 1920);
	for (unsigned int i = 0; i < 1920; i++) {
		unsigned int atom = i / 16, from = atom % 5 * 24 + atom / 5;

		want[i] = plain[from * 16 + i % 16];
	}
	rp_model(t, "TP_EN writes positions of lines as columns", want);
	rp_other_reading(t, "TP_EN changes nothing", plain);
}

static void transpose(struct trial *t)
{
	transpose_rows(t);
	transpose_planes(t);
	transpose_columns(t);
}

/* 2 x 2 positions of 16 bytes become 4 x 4. */
static void unpool(struct trial *t)
{
	static const double none[64];
	static double want[256], plain[256];
	struct rp_fly f = { RP_INT8, RP_INT8, .n = RP_COUNT(none) };

	rp_fly(t, &f, none);
	bytes_in(t, 64);
	/* 16-bit integers at MRDMA stand for bytes. */
	rp_set(t, OFF_DPU_DATA_FORMAT, 1 << 26);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, 4 * 16);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, 3);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, 1);
	rp_set(t, OFF_DPU_DATA_CUBE_NOTCH, 4 << 16 | 4);
	rp_set(t, OFF_DPU_BS_OW_CFG, 0x124 | 2);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, 1 << 16 | 3);
	rp_set(t, OFF_DPU_SURFACE_ADD, 16 * 16);
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, 7);
	rp_set(t, OFF_RDMA_FEATURE_MODE_CFG, 0xf801);
	rp_set(t, OFF_RDMA_SRC_DMA_CFG, 0x1000 | 0x249);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	bytes_out(t, 256);
	for (unsigned int i = 0; i < 256; i++) {
		unsigned int y = i / 64 / 2, x = i / 16 % 4 / 2;

		want[i] = (y * 2 + x) * 16 + i % 16;
		plain[i] = 0;
	}
	rp_model(t, "unpooling copies each position", want);
	rp_other_reading(t, "unpooling writes zeros", plain);
}

/* In @atoms of channels up to @last, padded by @pad; reads @n halves. */
static void minmax_run(struct trial *t, uint32_t atoms, uint32_t pad, uint32_t ctl, uint32_t last, unsigned int n)
{
	rp_set(t, OFF_DPU_FEATURE_MODE_CFG, 0x20001e5 | atoms << 9);
	rp_set(t, OFF_DPU_OFFSET_PEND, pad);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, ctl << 22);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, last << 16 | 15);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, 15);
	rp_set(t, OFF_DPU_OUT_CVT_SCALE, 1);
	rp_set(t, OFF_DPU_OUT_CVT_SHIFT, 1 << 30);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, 15);
	rp_set(t, OFF_RDMA_ERDMA_CFG, 3);
	rp_set(t, OFF_RDMA_FEATURE_MODE_CFG, 0x17841);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	for (unsigned int i = 0; i < n; i++)
		rp_read(t, i, RP_FP16, 2 * i);
}

/* The largest of 16 channels at 13 positions: 26 bytes of two atoms. */
static void minmax_tail(struct trial *t)
{
	static double v[13 * 16];
	double want[16], zero[16];
	struct rp_fly f = { RP_FP16, RP_FP16, .n = 13 * 8 };

	for (unsigned int i = 0; i < 13 * 16; i++)
		v[i] = i % 16 == i / 16 % 16 ? 100 + i / 16 : i % 7;
	for (unsigned int i = 0; i < 16; i++) {
		want[i] = i < 13 ? 100 + i : rp_half(RP_POISON * 0x101);
		zero[i] = i < 13 ? 100 + i : 0;
	}
	rp_fly(t, &f, v);
	rp_cube(t, RP_X, RP_FP16, 13, 16, v);
	minmax_run(t, 2, 0xfbff, 7, 15, 16);
	rp_model(t, "what follows the last of the largest channels is not written", want);
	rp_other_reading(t, "an atom of largest channels is filled with zeros", zero);
}

/* 20 positions of eight halfwords, of which one byte counts. */
static void nonalign_bytes(struct trial *t)
{
	double v[20 * 8], want[32], words[32];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = 20 * 8 };

	for (unsigned int i = 0; i < 20 * 8; i++)
		v[i] = i % 8 ? -1 : 0x4000 + (int)i / 8;
	for (unsigned int i = 0; i < 32; i++) {
		want[i] = i < 20 ? (double)i : (int8_t)RP_POISON;
		words[i] = i % 2 ? 0x40 : i / 2;
	}
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_FEATURE_MODE_CFG, 0xa0001e5 | 2 << 9);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, 7);
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	for (unsigned int i = 0; i < 32; i++)
		rp_read(t, i, RP_INT8, i);
	rp_model(t, "RGP_TYPE 2 writes the first byte of each atom", want);
	rp_other_reading(t, "RGP_TYPE 2 writes the first halfword of each atom", words);
}

/* Eight channels, the least of which is also in the padding behind. */
static void minmax(struct trial *t, uint32_t ctl, double value, double index, double all,
		   const char *reading)
{
	const double v[] = { 3, 5, 9, 9, -2, 4, 1, 2 };
	const double poison = rp_half(RP_POISON * 0x101);
	struct rp_fly f = { RP_FP16, RP_FP16, .n = RP_COUNT(v) };
	double want[2], padded[2], zero[2] = { value, 0 };

	want[0] = value;
	want[1] = index < 0 ? poison : rp_half((uint16_t)index);
	padded[0] = all;
	padded[1] = index < 0 ? poison : rp_half(8);
	rp_clear(t);
	rp_fly(t, &f, v);
	minmax_run(t, 1, 0x4900, ctl, 7, 2);
	rp_model(t, reading, ctl & 2 ? padded : want);
	if (ctl & 2)
		rp_other_reading(t, "padding of channels does not count", want);
	else
		rp_other_reading(t, "a 0 follows the least", zero);
}

static void minmax_ctl(struct trial *t)
{
	minmax(t, 1, -2, 4, 10, "MINMAX_CTL 1 gives the least and its index");
	minmax(t, 3, 9, 2, 10, "MINMAX_CTL 3 gives the largest, padding too, and its index");
	minmax(t, 5, -2, -1, 10, "MINMAX_CTL 5 gives the least alone");
	minmax(t, 7, 9, -1, 10, "MINMAX_CTL 7 gives the largest, padding too, alone");
}

const struct rp_program rp_out[] = {
	RP_TRY("cvt-ties", "ties of OUT_CVT, with odd offsets too", cvt_ties),
	RP_TRY("cvt-type", "CVT_TYPE with integers", cvt_type),
	RP_TRY("fp32-to-fp16", "rounding of fp32 results to halves", fp32_to_fp16),
	RP_TRY("fp32-keeps", "FP32TOFP16_EN where floats are written as fp32", fp32_keeps),
	RP_TRY("half-to-int8", "ties of halves that become bytes", half_to_int8),
	RP_TRY("write-padding", "what padded output channels hold", write_padding),
	RP_TRY("notch-1", "NOTCH_1 of the output", notch_1),
	RP_TRY("surface-groups", "addresses of output surfaces in groups", surface_groups),
	RP_TRY("transpose", "transposition of int16", transpose),
	RP_TRY("minmax-ctl", "MINMAX_CTL of other values, and padding", minmax_ctl),
	RP_TRY("nonalign-bytes", "a channel of bytes without the rest of its atoms", nonalign_bytes),
	RP_TRY("minmax-tail", "bytes behind the last of the largest channels", minmax_tail),
	RP_TRY("unpool", "unpooling by copies", unpool),
	{ 0 }
};
