// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of sums in the CORE and of what is done to them there.
 */
#include <math.h>
#include <string.h>

#include "report.h"

#define ENABLE_NO_RDMA	(NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU)
#define OD_BYPASS	NPU_MASK_DPU_BS_OW_CFG_OD_BYPASS
#define QD_EN		NPU_MASK_CORE_MISC_CFG_QD_EN

/* Kernels that hand through the channels one by one, or all with the same weights. */
static double weights[32 * 1024], features[32 * 64];

static void one_hot(unsigned int kernels, unsigned int ic, double w)
{
	memset(weights, 0, sizeof(weights));
	for (unsigned int k = 0; k < kernels; k++)
		weights[k * ic + k % ic] = w;
}

static double sat8(double v)
{
	return fmin(127, fmax(-128, v));
}

/* Sums 1 to 32, halved. */
static void clip_truncate(struct trial *t, uint32_t cfg, double (*round)(double, int),
			  double (*other)(double, int), const char *reading, const char *otherwise)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = 32, .oc = 32 };
	double want[32], also[32];

	for (unsigned int i = 0; i < 32; i++) {
		features[i] = (double)i - 16;
		want[i] = round(features[i], 1);
		also[i] = other(features[i], 1);
	}
	one_hot(32, 32, 1);
	rp_clear(t);
	rp_conv(t, &c, features, weights);
	rp_set(t, OFF_CORE_CLIP_TRUNCATE, cfg);
	rp_conv_run(t, &c);
	rp_model(t, reading, want);
	rp_other_reading(t, otherwise, also);
}

static void truncate_ties(struct trial *t)
{
	clip_truncate(t, 1, rp_even, rp_upwards, "CLIP_TRUNCATE rounds ties to even",
		      "CLIP_TRUNCATE rounds ties up");
	clip_truncate(t, 1 << 6 | 1, rp_upwards, rp_even, "ROUND_TYPE rounds ties up",
		      "ROUND_TYPE changes nothing");
}

static void truncate_floats(struct trial *t)
{
	struct rp_conv c = { .in = RP_FP16, .out = RP_FP32, .h = 1, .w = 1, .ic = 32, .oc = 16 };
	double want[16], half[16];

	for (unsigned int i = 0; i < 32; i++)
		features[i] = i + 0.5;
	for (unsigned int i = 0; i < 16; i++) {
		want[i] = features[i];
		half[i] = features[i] / 2;
	}
	one_hot(16, 32, 1);
	rp_conv(t, &c, features, weights);
	rp_set(t, OFF_CORE_CLIP_TRUNCATE, 1);
	rp_conv_run(t, &c);
	rp_model_hangs(t, "CLIP_TRUNCATE with floats is not known");
	rp_other_reading(t, "CLIP_TRUNCATE does nothing to floats", want);
	rp_other_reading(t, "CLIP_TRUNCATE halves floats", half);
}

/* 127 * 1024 times 32767 is beyond 32 bits, and negative if it wraps. */
static void sums_saturate(struct trial *t)
{
	static double many[1024], large[32 * 1024];
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT8, .h = 1, .w = 1, .ic = 1024, .oc = 32 };
	double top[32], bottom[32];

	for (unsigned int i = 0; i < 1024; i++)
		many[i] = 127;
	for (unsigned int i = 0; i < 32 * 1024; i++)
		large[i] = 127;
	for (unsigned int i = 0; i < 32; i++) {
		top[i] = 127;
		bottom[i] = -128;
	}
	rp_conv(t, &c, many, large);
	rp_bits(t, OFF_DPU_BS_OW_CFG, OD_BYPASS, 0);
	rp_set(t, OFF_DPU_BS_OW_OP, 32767);
	rp_conv_run(t, &c);
	rp_model(t, "sums beyond 32 bits saturate", top);
	rp_other_reading(t, "sums beyond 32 bits wrap", bottom);
}

/* (1 + 1 * 1) / 2 is 1 if CPEND comes first; 1 / 2 rounds to 0, plus 1 is 1: so take 3. */
static void cpend_order(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT8, .h = 1, .w = 1, .ic = 32, .oc = 32 };
	double before[32], behind[32], window = 0;

	for (unsigned int i = 0; i < 32; i++) {
		features[i] = (double)(i % 5) - 1;
		window += features[i];
	}
	for (unsigned int i = 0; i < 32; i++) {
		before[i] = sat8(rp_even(features[i] * 3 + window, 2));
		behind[i] = sat8(rp_even(features[i] * 3, 2) + window);
	}
	one_hot(32, 32, 3);
	rp_conv(t, &c, features, weights);
	rp_bits(t, OFF_DPU_BS_OW_CFG, OD_BYPASS, 0);
	rp_set(t, OFF_DPU_BS_OW_OP, 1);
	rp_set(t, OFF_CORE_CLIP_TRUNCATE, 2);
	rp_conv_run(t, &c);
	rp_model(t, "CPEND comes before truncation", before);
	rp_other_reading(t, "CPEND comes behind truncation", behind);
}

static void cpend_int32(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = 32, .oc = 32 };
	double want[32];

	for (unsigned int i = 0; i < 32; i++) {
		features[i] = 3 * i - 40.0;
		want[i] = 7 * features[i];
	}
	one_hot(32, 32, 7);
	rp_conv(t, &c, features, weights);
	rp_bits(t, OFF_DPU_BS_OW_CFG, OD_BYPASS, 0);
	rp_run(t, ENABLE_NO_RDMA);
	rp_result(t, RP_INT32, 1, 32, 16);
	rp_model(t, "CPEND with an operand of 0 leaves int32 results alone", want);
}

static void cpend_qd(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT8, .h = 1, .w = 1, .ic = 32, .oc = 32 };
	double without[32], with[32], window = 0;

	for (unsigned int i = 0; i < 32; i++) {
		features[i] = i % 3;
		window += features[i];
	}
	for (unsigned int i = 0; i < 32; i++) {
		without[i] = features[i];
		with[i] = features[i] + window;
	}
	one_hot(32, 32, 1);
	rp_conv(t, &c, features, weights);
	rp_bits(t, OFF_DPU_BS_OW_CFG, OD_BYPASS, 0);
	rp_set(t, OFF_DPU_BS_OW_OP, 1);
	rp_bits(t, OFF_CORE_MISC_CFG, QD_EN, 0);
	rp_conv_run(t, &c);
	rp_model_hangs(t, "CPEND without QD_EN is not known");
	rp_other_reading(t, "CPEND without QD_EN adds nothing", without);
	rp_other_reading(t, "CPEND works without QD_EN", with);
}

/* ---- sums of floats ---- */

/* In channel 0 a number that swallows those in the next ones, and at last its negative. */
static void swallow(double *v, unsigned int n, double large, double small)
{
	for (unsigned int i = 0; i < n; i++)
		v[i] = small;
	v[0] = large;
	v[n - 1] = -large;
}

static void float_sum(struct trial *t, enum rp_type type, unsigned int ic, double large,
		      const char *reading, const char *other)
{
	struct rp_conv c = { .in = type, .out = RP_FP32, .h = 1, .w = 1, .ic = ic, .oc = 16 };
	double want[16], single[16];

	swallow(features, ic, large, 0.5);
	for (unsigned int i = 0; i < 16 * ic; i++)
		weights[i] = i % ic && i % ic < ic - 1 ? 1 : large;
	for (unsigned int i = 0; i < 16; i++) {
		float sum = 0;

		for (unsigned int ch = 0; ch < ic; ch++)
			sum += (float)(features[ch] * weights[i * ic + ch]);
		want[i] = (ic - 2) * 0.5;
		single[i] = sum;
	}
	rp_conv(t, &c, features, weights);
	rp_conv_run(t, &c);
	rp_model(t, reading, want);
	rp_other_reading(t, other, single);
}

static void half_sum(struct trial *t)
{
	float_sum(t, RP_FP16, 8, 8192, "8 products of halves are summed exactly",
		  "8 products of halves are added one by one in fp32");
}

static void bf16_sum(struct trial *t)
{
	float_sum(t, RP_BF16, 32, 8192, "32 products of bf16 are summed exactly or as doubles",
		  "32 products of bf16 are added one by one in fp32");
}

static void tf32_sum(struct trial *t)
{
	float_sum(t, RP_TF32, 16, 8192, "16 products of tf32 are summed exactly or as doubles",
		  "16 products of tf32 are added one by one in fp32");
}

/* A window of three: 2^26, 1, -2^26. */
static void dw_half_sum(struct trial *t)
{
	struct rp_conv c = {
		.in = RP_FP16, .out = RP_FP32, .depthwise = true, .h = 1, .w = 3, .ic = 32,
		.oc = 32,
		.kh = 1, .kw = 3, .oh = 1, .ow = 1,
	};
	double single[32], exact[32];

	for (unsigned int ch = 0; ch < 32; ch++) {
		for (unsigned int tap = 0; tap < 3; tap++) {
			double sign = tap == 2 ? -1 : 1;

			features[tap * 32 + ch] = tap == 1 ? 1 : sign * 8192;
			weights[tap * 32 + ch] = tap == 1 ? 1 : 8192;
		}
		single[ch] = 0;
		exact[ch] = 1;
	}
	rp_conv(t, &c, features, weights);
	rp_conv_run(t, &c);
	rp_model(t, "each product of a depthwise convolution is added in fp32", single);
	rp_other_reading(t, "products of a depthwise convolution are summed exactly", exact);
}

static void bf16_out(struct trial *t)
{
	struct rp_conv c = { .in = RP_BF16, .out = RP_BF16, .h = 1, .w = 1, .ic = 32, .oc = 16 };
	double even[16], cut[16];

	for (unsigned int i = 0; i < 32; i++)
		features[i] = 129 + 2 * (i % 16);
	for (unsigned int i = 0; i < 16; i++) {
		double v = 3 * features[i], step = ldexp(1, ilogb(v) - 7);

		even[i] = nearbyint(v / step) * step;
		cut[i] = trunc(v / step) * step;
	}
	one_hot(16, 32, 3);
	rp_conv(t, &c, features, weights);
	rp_conv_run(t, &c);
	rp_model(t, "bf16 results round to even with FP32TOFP16_EN", even);
	rp_other_reading(t, "bf16 results are truncated", cut);
}

/* The bits of 3 in bf16 are those of 2.125 in halves. */
static void bf16_multiplier(struct trial *t)
{
	struct rp_conv c = { .in = RP_BF16, .out = RP_FP32, .h = 1, .w = 1, .ic = 32, .oc = 16 };
	double three[16], half[16];

	for (unsigned int i = 0; i < 32; i++)
		features[i] = i + 1;
	for (unsigned int i = 0; i < 16; i++) {
		three[i] = 3 * features[i];
		half[i] = 2.125 * features[i];
	}
	one_hot(16, 32, 1);
	rp_conv(t, &c, features, weights);
	rp_set(t, OFF_DPU_BS_CFG, 1 << 1 | 1 << 6);
	rp_set(t, OFF_DPU_BS_MUL_CFG, 0x40400000);
	rp_conv_run(t, &c);
	rp_model(t, "a multiplier beside bf16 is bf16", three);
	rp_other_reading(t, "a multiplier beside bf16 is a half", half);
}

static void no_rdma(struct trial *t)
{
	struct rp_conv c = { .in = RP_INT8, .out = RP_INT32, .h = 1, .w = 1, .ic = 32, .oc = 32 };
	double want[32];

	for (unsigned int i = 0; i < 32; i++) {
		features[i] = 2 * i - 31.0;
		want[i] = 5 * features[i];
	}
	one_hot(32, 32, 5);
	rp_conv(t, &c, features, weights);
	rp_run(t, ENABLE_NO_RDMA);
	rp_result(t, RP_INT32, 1, 32, 16);
	rp_model(t, "without DPU_RDMA a product completes", want);
	rp_other_hangs(t, "without DPU_RDMA a product hangs");
}

const struct rp_program rp_core[] = {
	RP_TRY("sums-saturate", "integer sums beyond 32 bits", sums_saturate),
	RP_TRY("half-sum", "sums of halves of a short group of channels", half_sum),
	RP_TRY("bf16-sum", "sums of bf16", bf16_sum),
	RP_TRY("tf32-sum", "sums of tf32", tf32_sum),
	RP_TRY("dw-half-sum", "sums of a depthwise convolution of halves", dw_half_sum),
	RP_TRY("truncate-ties", "ties of CLIP_TRUNCATE", truncate_ties),
	RP_TRY_KIND("truncate-floats", "CLIP_TRUNCATE with floats", truncate_floats, RP_REFUSED),
	RP_TRY("cpend-int32", "CPEND beside int32 results", cpend_int32),
	RP_TRY("cpend-order", "CPEND and truncation", cpend_order),
	RP_TRY_KIND("cpend-qd", "CPEND without QD_EN", cpend_qd, RP_REFUSED),
	RP_TRY("bf16-out", "rounding of bf16 results", bf16_out),
	RP_TRY("bf16-multiplier", "multipliers of stages beside bf16", bf16_multiplier),
	RP_TRY("no-rdma", "a task without DPU_RDMA", no_rdma),
	{ 0 }
};
