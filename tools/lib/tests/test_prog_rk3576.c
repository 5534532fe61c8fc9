// SPDX-License-Identifier: MIT
/*
 * Unit tests of programs for the RK3576: the words that Rockchip's compilers write for core 0, and
 * what there are no programs for. What programs compute is in nn_conv and test_rec.
 */
#include "words.h"

/* 3 x 3 over 80 x 80 of 32 channels, lines 10 to 24 of the result. */
static const struct npu_conv_task band = {
	.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .in_w = 80, .in_h = 17, .in_h_full = 80, .in_c = 32,
	.out_w = 80, .out_h = 15, .out_h_full = 80, .out_c = 64, .kw = 3, .kh = 3, .stride_x = 1, .stride_y = 1,
	.dil_x = 1, .dil_y = 1, .pad_left = 1, .pad_value = -3,
	.in_iova = 0x10000, .weight_iova = 0x20000, .out_iova = 0x30000, .bias_iova = 0x40000,
	.zeros_iova = 0x3ffc0, .has_bias = true, .rq = { .scale = 20000, .shift = 20, .zp = -5 },
};

/* Each once, as the header of the registers tells them from compilers and boards. */
static const struct word words[] = {
	{ 0x1004, 0xe }, { 0x3004, 0xe },
	{ 0x1010, 0xfff }, { 0x1014, 1 << 3 | 1 }, { 0x1018, 0x40000404 }, { 0x101c, 64 * 288 }, { 0x1020, 288 },
	{ 0x1024, 2 << 24 | 2 << 16 | 63 }, { 0x1028, 40 * 17 << 16 | 31 }, { 0x102c, 79 << 16 | 16 },
	{ 0x1030, 576 << 16 | 79 }, { 0x1034, 80 * 15 - 1 }, { 0x1038, 7 }, { 0x103c, 40 << 16 },
	{ 0x1040, 0x10000000 },
	{ 0x1044, 80 << 16 | 40 }, { 0x1048, 0xb }, { 0x104c, 0x10001 }, { 0x1050, 0x10001 },
	{ 0x1078, 79 << 16 | 16 }, { 0x107c, 31 }, { 0x1080, 1 << 24 | 1 << 8 }, { 0x1084, (uint32_t)-3 },
	{ 0x1088, 0x10000 }, { 0x108c, 0xf000f }, { 0x1090, 320 }, { 0x1094, 6400 }, { 0x1098, 1360 },
	{ 0x1110, 0x20000 }, { 0x118c, 79 << 16 | 79 },
	{ 0x3018, 0x10000001 }, { 0x301c, 14 << 16 | 79 }, { 0x3020, 63 },
	{ 0x4004, 0xe }, { 0x400c, 0x40000004 }, { 0x4010, 0 }, { 0x4018, 0x30000 }, { 0x401c, 6400 }, { 0x4020, 79 },
	{ 0x4024, 14 }, { 0x402c, 63 }, { 0x4030, 63 << 16 | 0x710 }, { 0x4034, 14 << 16 | 79 }, { 0x4038, 0x120080 },
	{ 0x4044, 1 }, { 0x4050, 0x80011111 }, { 0x4060, 0x903 }, { 0x407c, 0x10041c1 }, { 0x40ac, (uint32_t)-5 },
	{ 0x40b0, 20000 }, { 0x40b4, 20 }, { 0x40b8, 2 * 6400 - 1200 }, { 0x40c0, 0x4440100 }, { 0x40d0, 0x40ffff },
	{ 0x5004, 0xe }, { 0x501c, 0x710 }, { 0x5020, 0x40000 }, { 0x5024, 0x3ffc0 }, { 0x5034, 0x41 },
	{ 0x5044, 0x40000010 },
};

static void test_words(void)
{
	unsigned int bad;

	tap_ok(!make(&band), "a program: %s", npu_prog_message(prog));
	bad = wrong_words(words, ARRAY_SIZE(words));
	tap_ok(!bad, "each register is written once: %u wrong", bad);
	tap_ok(started() == 0x1d, "all blocks of a convolution are started: 0x%x", started());
}

/* What Rockchip's compiler writes for 3 x 3 over 16 x 16 of 64 channels to 32. */
static const struct npu_conv_task half_task = {
	.in = NPU_PREC_FP16, .out = NPU_PREC_FP16, .in_w = 16, .in_h = 16, .in_h_full = 16, .in_c = 64,
	.out_w = 16, .out_h = 16, .out_h_full = 16, .out_c = 32, .kw = 3, .kh = 3, .stride_x = 1, .stride_y = 1,
	.dil_x = 1, .dil_y = 1, .pad_left = 1, .pad_top = 1,
	.in_iova = 0x10000, .weight_iova = 0x20000, .out_iova = 0x30000, .bias_iova = 0x40000,
	.zeros_iova = 0x3ffc0, .has_bias = true,
};

static const struct word half_words[] = {
	{ 0x1004, 0xe }, { 0x3004, 0xe }, { 0x100c, 0x200120 }, { 0x1010, 0xfff }, { 0x1014, 9 },
	{ 0x1018, 0x40000404 }, { 0x101c, 0x9000 }, { 0x1020, 0x480 }, { 0x1024, 0x202001f }, { 0x1028, 0x200003f },
	{ 0x102c, 0xf000f }, { 0x1030, 0x480000f }, { 0x1034, 0xff }, { 0x1038, 7 }, { 0x103c, 0x200000 },
	{ 0x1040, 0x10000000 }, { 0x1044, 0x100020 }, { 0x1048, 0xb }, { 0x104c, 0x10001 }, { 0x1050, 0x10001 },
	{ 0x1078, 0xf000f }, { 0x107c, 0x3f }, { 0x1080, 0x1010101 }, { 0x1084, 0 }, { 0x1088, 0x10000 },
	{ 0x108c, 0xf000f }, { 0x1090, 0x40 }, { 0x1094, 0x100 }, { 0x1098, 0x100 }, { 0x1110, 0x20000 },
	{ 0x118c, 0xf000f }, { 0x3018, 0x10000200 }, { 0x301c, 0xf000f }, { 0x3020, 0x1f }, { 0x4004, 0xe },
	{ 0x400c, 0x40000004 }, { 0x4010, 0x40000002 }, { 0x4018, 0x30000 }, { 0x401c, 0x100 }, { 0x4020, 0xf },
	{ 0x4024, 0xf }, { 0x402c, 0x1f }, { 0x4030, 0x1f0710 }, { 0x4034, 0xf000f }, { 0x4038, 0x100092 },
	{ 0x4044, 2 }, { 0x4048, 0x80000000 }, { 0x404c, INT32_MAX }, { 0x4050, 0x21111 }, { 0x4058, 0x80000000 },
	{ 0x405c, INT32_MAX }, { 0x4060, 0x903 }, { 0x406c, 0x80000000 }, { 0x4070, INT32_MAX },
	{ 0x4074, 0x80000000 }, { 0x4078, INT32_MAX }, { 0x407c, 0x10041c1 }, { 0x4080, 0 }, { 0x4084, 1 },
	{ 0x4088, 0x80000000 }, { 0x408c, INT32_MAX }, { 0x40a4, 0x80000000 }, { 0x40a8, INT32_MAX }, { 0x40ac, 0 },
	{ 0x40b0, 0x10001 }, { 0x40b4, 0 }, { 0x40b8, 0x100 }, { 0x40c0, 0x4440100 }, { 0x40d0, 0x40ffff },
	{ 0x5004, 0xe }, { 0x500c, 0xf }, { 0x5010, 0xf }, { 0x5014, 0x1f }, { 0x501c, 0x100 }, { 0x5020, 0x40000 },
	{ 0x5024, 0x3ffc0 }, { 0x5034, 1 }, { 0x5044, 0x40010050 },
};

/* What differs in Rockchip's depthwise one of 64 channels. */
static const struct word half_depthwise_words[] = {
	{ 0x100c, 0x200121 }, { 0x101c, 0x480 }, { 0x1020, 0x480 }, { 0x1024, 0x2020000 }, { 0x1028, 0x200003f },
	{ 0x1030, 0x48000f }, { 0x3018, 0x1000020a }, { 0x3020, 0x3f }, { 0x400c, 0x4000000c }, { 0x4010, 0x40000002 },
	{ 0x401c, 0x100 }, { 0x402c, 0x3f }, { 0x4030, 0x3f0310 }, { 0x4038, 0x100092 }, { 0x4044, 0 },
	{ 0x4050, 0x23333 }, { 0x40b8, 0x300 }, { 0x501c, 0x110 }, { 0x5024, 0x3ffc0 }, { 0x5034, 0x41 },
	{ 0x5044, 0x40010052 },
};

static void test_halves(void)
{
	struct npu_conv_task t = half_task;
	unsigned int bad;

	tap_ok(!make(&t), "a program of halves: %s", npu_prog_message(prog));
	bad = wrong_words(half_words, ARRAY_SIZE(half_words));
	tap_ok(!bad && started() == 0x1d, "the words of halves: %u wrong, 0x%x started", bad, started());
	t.relu = true;
	tap_ok(value_of(0x4060, &t) == 0x902 && !value_of(0x406c, &t) && !value_of(0x4074, &t) &&
	       value_of(0x4070, &t) == INT32_MAX, "ReLU of halves");
	t = half_task;
	t.out_c = 48;
	tap_ok(value_of(0x4050, &t) == 0x21111 && value_of(0x3020, &t) == 47, "three groups of kernels");
	t.depthwise = true;
	t.out_c = 64;
	tap_ok(!make(&t), "a depthwise program of halves: %s", npu_prog_message(prog));
	bad = wrong_words(half_depthwise_words, ARRAY_SIZE(half_depthwise_words));
	tap_ok(!bad && started() == 0x1d, "its words: %u wrong", bad);
	npu_matmul_task(&t, NPU_PREC_FP16, NPU_PREC_FP16, 12, 64, 96);
	t.has_bias = true;
	tap_ok(value_of(0x102c, &t) == 11 << 16 && value_of(0x103c, &t) == 36 << 16 && value_of(0x1030, &t) == (192u << 16 | 11),
	       "the rows of a product of halves are one line");
}

/* What gahingwoo has of Rockchip's, for a part of 12 rows of 20. */
static const struct word int4_words[] = {
	{ 0x1004, 0xe }, { 0x3004, 0xe }, { 0x100c, 0x20600120 }, { 0x1010, 0xfff }, { 0x1014, 9 },
	{ 0x1018, 0x40000404 }, { 0x101c, 0x10000 }, { 0x1020, 0x400 }, { 0x1024, 0x3f }, { 0x1028, 0x30007ff },
	{ 0x102c, 0xb0000 }, { 0x1030, 0x400000b }, { 0x1034, 0xb }, { 0x1038, 7 }, { 0x103c, 0x3000000 },
	{ 0x1040, 0x10000000 }, { 0x1044, 0xc0300 }, { 0x1048, 0xb }, { 0x104c, 0x10001 }, { 0x1050, 0x10001 },
	{ 0x1078, 0xb0000 }, { 0x107c, 0x7ff }, { 0x1080, 0 }, { 0x1084, 0 }, { 0x1088, 0x10000 },
	{ 0x108c, 0xf000f }, { 0x1090, 48 }, { 0x1094, 20 }, { 0x1098, 12 }, { 0x1110, 0x20000 },
	{ 0x118c, 0xb000b }, { 0x2810, 0 }, { 0x2814, 0 }, { 0x2818, 0 }, { 0x281c, 0 }, { 0x2820, 0 },
	{ 0x3018, 0x10000200 }, { 0x301c, 0xb }, { 0x3020, 0x3f }, { 0x4004, 0xe }, { 0x400c, 0x40000004 },
	{ 0x4010, 0xa0000002 }, { 0x4018, 0x30000 }, { 0x401c, 20 }, { 0x4020, 0xb }, { 0x4024, 0 }, { 0x4028, 8 },
	{ 0x402c, 0x3f }, { 0x4030, 0x3f0310 }, { 0x4034, 0xb }, { 0x4038, 0x53 }, { 0x4044, 2 },
	{ 0x4048, 0x80000000 }, { 0x404c, INT32_MAX }, { 0x4050, 0x23333 }, { 0x4058, 0x80000000 },
	{ 0x405c, INT32_MAX }, { 0x4060, 0x903 }, { 0x406c, 0x80000000 }, { 0x4070, INT32_MAX },
	{ 0x4074, 0x80000000 }, { 0x4078, INT32_MAX }, { 0x407c, 0x10041c1 }, { 0x4080, 0 }, { 0x4084, 1 },
	{ 0x4088, 0x80000000 }, { 0x408c, INT32_MAX }, { 0x40a4, 0x80000000 }, { 0x40a8, INT32_MAX }, { 0x40ac, 0 },
	{ 0x40b0, 1 }, { 0x40b4, 0 }, { 0x40b8, 4 * 20 - 12 }, { 0x40c0, 0x4440100 }, { 0x40cc, 0 },
	{ 0x40d0, 0x40ffff },
};

static struct npu_conv_task int4_task(uint32_t m, uint32_t n, uint32_t k)
{
	struct npu_conv_task t;

	npu_matmul_task(&t, NPU_PREC_INT4, NPU_PREC_FP32, m, n, k);
	t.in_iova = 0x10000;
	t.weight_iova = 0x20000;
	t.out_iova = 0x30000;
	return t;
}

static void test_int4(void)
{
	struct npu_conv_task t = int4_task(12, 64, 2048);
	unsigned int bad;

	t.in_pitch = 20;
	t.out_pitch = 20;
	tap_ok(!make(&t), "a program of INT4 weights: %s", npu_prog_message(prog));
	bad = wrong_words(int4_words, ARRAY_SIZE(int4_words));
	tap_ok(!bad && started() == 0xd, "the words of INT4 weights: %u wrong, 0x%x started", bad, started());
	t = int4_task(1, 1024, 2048);
	tap_ok(value_of(0x101c, &t) == 1 << 20 && value_of(0x103c, &t) == 64 << 16 && value_of(0x40b8, &t) == 3 &&
	       !value_of(0x4028, &t) && !value_of(0x301c, &t), "one row of INT4 weights");
	t = int4_task(32, 64, 4096);
	tap_ok(value_of(0x1028, &t) == (4096u << 16 | 4095), "features that fill their banks");
	t.in_h = 36;
	t.in_h_full = 36;
	t.out_h = 36;
	t.out_h_full = 36;
	refuses(&t, -E2BIG, "4608 granules exceed the limit 4096", "rows that do not fit");
	t = int4_task(12, 64, 9248);
	refuses(&t, -EOPNOTSUPP, "from INT4 of more than 9216 columns", "INT4 columns that do not fit");
	t = int4_task(3, 64, 64);
	refuses(&t, -EOPNOTSUPP, "of even rows", "three rows of INT4 weights");
	t = int4_task(4, 64, 64);
	t.relu = true;
	refuses(&t, -EOPNOTSUPP, "without bias and ReLU", "INT4 weights above 0");
	t.relu = false;
	t.has_bias = true;
	refuses(&t, -EOPNOTSUPP, "without bias and ReLU", "INT4 weights with a bias");
	t.has_bias = false;
	t.out = NPU_PREC_FP16;
	refuses(&t, -EOPNOTSUPP, "from INT4 to FP16", "INT4 weights to halves");
	t = half_task;
	t.in = NPU_PREC_INT4;
	t.out = NPU_PREC_FP32;
	t.has_bias = false;
	refuses(&t, -EOPNOTSUPP, "INT4 but in products", "a convolution with INT4 weights");
}

static void test_variants(void)
{
	struct npu_conv_task t = band;

	t.relu = true;
	tap_ok(value_of(0x4060, &t) == 0x902 && !value_of(0x406c, &t) && !value_of(0x4074, &t) &&
	       value_of(0x4070, &t) == INT32_MAX && value_of(0x4048, &t) == 0x80000000, "ReLU is a clamp of BN");
	t = band;
	t.in_c = 64;
	t.in_h = 52;
	t.out_h = 50;
	tap_ok(value_of(0x1018, &t) == 0x40000505 && value_of(0x1040, &t) == 0x14000000 && value_of(0x1038, &t) == 7,
	       "features in five banks");
	t.in_h = 51;
	tap_ok(value_of(0x1018, &t) == 0x40000404 && value_of(0x1040, &t) == 0x10000000, "features in four");
	t = band;
	t.in_h = 16;
	t.pad_top = 1;
	tap_ok(value_of(0x1080, &t) == 0x01000101, "padding below is what windows reach");
	t.out_h = 16;
	tap_ok(value_of(0x1080, &t) == 0x01010101, "one line more, one of padding more");
	t = band;
	t.depthwise = true;
	t.out_c = 32;
	tap_ok(value_of(0x100c, &t) == 1 && value_of(0x101c, &t) == 576 && value_of(0x1020, &t) == 288 &&
	       value_of(0x1024, &t) == (2 << 24 | 2 << 16 | 1) && value_of(0x1030, &t) == (36 << 16 | 79) &&
	       value_of(0x3018, &t) == 0x1000000a && value_of(0x400c, &t) == 0x4000000c &&
	       value_of(0x4030, &t) == (31 << 16 | 0x310) && value_of(0x4038, &t) == 0x100092 &&
	       value_of(0x4050, &t) == 0x13133 && value_of(0x40b8, &t) == 4 * 6400 - 1200 &&
	       value_of(0x501c, &t) == 0x510 && value_of(0x5044, &t) == 0x40000012, "the words of depthwise layers");
	t = band;
	t.out_c = 48;
	tap_ok(value_of(0x4050, &t) == 0x80011011 && value_of(0x3020, &t) == 47 && value_of(0x101c, &t) == 48 * 288,
	       "an odd number of surfaces");
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, 12, 32, 64);
	t.has_bias = true;
	tap_ok(value_of(0x102c, &t) == 11 << 16 && value_of(0x301c, &t) == 11 && value_of(0x401c, &t) == 12,
	       "the rows of a product are one line");
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, 12, 16, 32);
	t.has_bias = true;
	t.in_pitch = 0x1234567;
	tap_ok(value_of(0x1094, &t) == 0x1234567 && value_of(0x402c, &t) == 15 && value_of(0x40b8, &t) == 12 &&
	       value_of(0x4050, &t) == 0x80011011, "a surface of two that are far apart");
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT32, 12, 96, 64);
	t.out_pitch = 20;
	t.bias_iova = 0x40000;
	t.zeros_iova = 0x3ffc0;
	t.rq = (struct npu_requant){ .scale = 9, .shift = 2, .zp = 7 };
	tap_ok(value_of(0x100c, &t) == 0 && value_of(0x4010, &t) == 0xa0000002 && value_of(0x401c, &t) == 20 &&
	       value_of(0x4030, &t) == (95 << 16 | 0x310) && value_of(0x4038, &t) == 0x53 &&
	       value_of(0x4044, &t) == 2 && value_of(0x4050, &t) == 0x23333 && value_of(0x4060, &t) == 0x903 &&
	       !value_of(0x40ac, &t) && value_of(0x40b0, &t) == 1 && !value_of(0x40b4, &t) &&
	       value_of(0x40b8, &t) == 4 * 20 - 12 && value_of(0x501c, &t) == 0x710 &&
	       value_of(0x5020, &t) == 0x40000 && value_of(0x5024, &t) == 0x3ffc0 && value_of(0x5034, &t) == 0x41 &&
	       value_of(0x5044, &t) == 0x40000010, "a product of words");
}

static struct npu_conv_task changed;

/* Of what is changed, which becomes a good task again. */
static void refuse(int err, const char *word, const char *what)
{
	refuses(&changed, err, word, what);
	changed = band;
}

static void test_refused(void)
{
	changed = band;
	changed.out = NPU_PREC_FP32;
	refuse(-EOPNOTSUPP, "from INT8 to FP32", "floats");
	changed = half_task;
	changed.out = NPU_PREC_FP32;
	refuse(-EOPNOTSUPP, "from FP16 to FP32", "halves to floats");
	changed = half_task;
	changed.in = NPU_PREC_BF16;
	refuse(-EOPNOTSUPP, "from BF16 to FP16", "bfloat16");
	npu_matmul_task(&changed, NPU_PREC_INT4, NPU_PREC_INT16, 12, 64, 64);
	refuse(-EOPNOTSUPP, "from INT4 to INT16", "nibbles");
	changed = half_task;
	changed.has_bias = false;
	refuse(-EINVAL, "operands", "halves without a bias");
	changed = half_task;
	changed.in_c = 288;
	refuse(-E2BIG, "5184 bytes exceeds the limit 4608", "a kernel of halves that does not fit");
	npu_matmul_task(&changed, NPU_PREC_FP16, NPU_PREC_FP16, 12, 32, 2336);
	changed.has_bias = true;
	refuse(-EOPNOTSUPP, "more than 2304 columns", "a product of halves that does not fit");
	changed.out = NPU_PREC_INT32;
	changed.has_bias = false;
	refuse(-EOPNOTSUPP, "INT32 results but of products", "words of windows");
	npu_matmul_task(&changed, NPU_PREC_INT8, NPU_PREC_INT32, 12, 32, 64);
	changed.relu = true;
	refuse(-EOPNOTSUPP, "without ReLU", "words above 0");
	npu_matmul_task(&changed, NPU_PREC_INT8, NPU_PREC_INT32, 12, 32, 64);
	changed.has_bias = true;
	refuse(-EINVAL, "operands", "words with a bias");
	changed.depthwise = true;
	refuse(-EINVAL, "32 channels to 64", "depthwise to other channels");
	changed.depthwise = true;
	changed.out_c = 32;
	changed.out_pitch = 6402;
	refuse(-EOPNOTSUPP, "multiple of 4", "depthwise surfaces at other distances");
	changed.depthwise = true;
	changed.in_c = 8224;
	changed.out_c = 8224;
	refuse(-E2BIG, "74016 bytes exceeds the limit 73728", "depthwise weights that do not fit");
	changed.dil_y = 2;
	refuse(-EOPNOTSUPP, "dilation", "dilation");
	changed.has_bias = false;
	refuse(-EINVAL, "operands", "no operands");
	changed.rq.scale = 0;
	refuse(-ERANGE, "scale 0", "a factor of 0");
	changed.in_c = 48;
	refuse(-EINVAL, "48 to 64 channels", "48 channels");
	changed.out_c = 24;
	refuse(-EINVAL, "32 to 24 channels", "24 channels");
	changed.out_h = 0;
	refuse(-EINVAL, "is 0", "no result");
	changed.in_h = 81;
	refuse(-EINVAL, "higher", "more lines than there are");
	changed.zeros_iova = 8;
	refuse(-EINVAL, "multiple of 16", "zeros at 8");
	changed.in_w = 81;
	refuse(-EOPNOTSUPP, "larger image", "half a granule in each line");
	changed.in_c = 544;
	refuse(-E2BIG, "4896 bytes exceeds the limit 4608", "a kernel that does not fit");
	changed.out_c = 2976;
	refuse(-E2BIG, "2976 kernels", "too many kernels");
	changed.in_c = 512;
	changed.in_h = 3;
	changed.out_h = 1;
	changed.out_c = 1376;
	refuse(-E2BIG, "exceed the limit 1344", "6 MiB of weights");
	changed.in_c = 224;
	changed.out_c = 96;
	refuse(-E2BIG, "granules exceed the limit 4096", "features that do not fit");
	changed.in_c = 256;
	changed.out_c = 32;
	refuse(-E2BIG, "granules exceed the limit 5120", "features that do not fit beside few weights");
}

/* 3 x 3 every second over 20 x 9 of 48 channels, with a column and a line of padding. */
static const struct npu_pool_task averages = {
	.pool = NPU_POOL_AVERAGE, .type = NPU_PREC_INT8, .in_w = 20, .in_h = 9, .in_line = 20, .in_pitch = 184,
	.out_w = 10, .out_h = 5, .out_line = 10, .out_pitch = 52, .channels = 48, .kw = 3, .kh = 3,
	.stride_x = 2, .stride_y = 2, .left = 1, .top = 1, .bottom = 1, .pad_value = (uint32_t)-3 & 0x7ffff,
	.in_iova = 0x10000, .out_iova = 0x20000,
};

static const struct word pool_words[] = {
	{ 0x6004, 0xe }, { 0x600c, 19 }, { 0x6010, 8 }, { 0x6014, 47 }, { 0x6018, 9 }, { 0x601c, 4 }, { 0x6020, 47 },
	{ 0x6024, 0x10 }, { 0x6034, 1 << 20 | 1 << 16 | 2 << 8 | 2 }, { 0x6038, 21845 }, { 0x603c, 21845 },
	{ 0x6040, 0x1011 }, { 0x6044, 0x7fffd }, { 0x6048, 0x7fffa }, { 0x604c, 0x7fff7 }, { 0x6050, 0x7fff4 },
	{ 0x6070, 0x20000 }, { 0x607c, 832 }, { 0x6084, 832 }, { 0x7004, 0xe }, { 0x700c, 19 }, { 0x7010, 8 },
	{ 0x7014, 47 }, { 0x701c, 0x10000 }, { 0x7024, 320 }, { 0x7028, 2944 }, { 0x7030, 0x40 },
};

static void test_pool(void)
{
	struct npu_pool_task t = averages;
	unsigned int bad;

	tap_ok(!make_pool(&t), "a program: %s", npu_prog_message(prog));
	bad = wrong_words(pool_words, ARRAY_SIZE(pool_words));
	tap_ok(!bad && started() == 0x60, "the words of pooling: %u wrong, 0x%x started", bad, started());
	t.type = NPU_PREC_FP16;
	refuses_pool(&t, "pooling of FP16");
	t = averages;
	t.pool = NPU_POOL_MIN;
	refuses_pool(&t, "minima");
	t = averages;
	t.out_w = 65;
	refuses_pool(&t, "makes 64 right");
	t = averages;
	t.out_line = 12;
	refuses_pool(&t, "parts of lines");
	t = averages;
	t.kw = 1;
	t.kh = 1;
	refuses_pool(&t, "one position");
}

/* ---- functions of bytes ---- */

static const struct word load_words[] = {
	{ 0x4004, 0xe }, { 0x400c, 5 }, { 0x4010, 0 }, { 0x4018, 0x30000 }, { 0x401c, 1 }, { 0x4020, 0 }, { 0x4024, 0 },
	{ 0x402c, 15 }, { 0x4030, 0xf0f00 }, { 0x4034, 0 }, { 0x4038, 0x53 }, { 0x4044, 2 }, { 0x4048, 0x80000000 },
	{ 0x404c, INT32_MAX }, { 0x4050, 0x20000 }, { 0x4060, 0x903 }, { 0x407c, 0x10041c1 }, { 0x4084, 1 },
	{ 0x40ac, 0 }, { 0x40b0, 0x10001 }, { 0x40b4, 0 }, { 0x40b8, 0 }, { 0x40c0, 0x4440000 }, { 0x40d0, 0x40ffff },
	{ 0x4108, 0xff0000 }, { 0x410c, 0 }, { 0x5004, 0xe }, { 0x500c, 0 }, { 0x5014, 15 }, { 0x5018, 0x10000 },
	{ 0x501c, 0 }, { 0x5028, 0 }, { 0x5034, 1 }, { 0x5044, 9 },
};

static const struct word map_words[] = {
	{ 0x1004, 0x30 }, { 0x3004, 0x30 }, { 0x4004, 0x30 }, { 0x4038, 0x120080 }, { 0x4060, 0x903 },
	{ 0x407c, 0x1004140 }, { 0x40ac, (uint32_t)-129 }, { 0x40b0, 1 }, { 0x40b4, 0 }, { 0x4108, 0x2000006 },
	{ 0x410c, 0x50500 }, { 0x4110, (uint32_t)-0x4000 }, { 0x4114, (uint32_t)-0x4000 },
	{ 0x4118, (uint32_t)-0x4000 }, { 0x411c, (uint32_t)-0x4000 }, { 0x4140, 0x4000 }, { 0x414c, 0x4000 },
	{ 0x4150, 0 }, { 0x4188, 99u << 16 }, { 0x418c, 99u << 16 | 99 }, { 0x4190, 207u << 16 },
	{ 0x4194, 207u << 16 | 207 }, { 0x5004, 0x30 }, { 0x5028, 0 },
};

static void test_map(void)
{
	struct npu_prog *other = npu_prog_new();
	struct npu_conv_task t;
	int8_t map[256];

	any_map(map);
	npu_prog_reset(prog);
	tap_ok(!npu_prog_load_map(prog, map, 0x10000, 0x30000) && !wrong_words(load_words, ARRAY_SIZE(load_words)) &&
	       !wrong_entries(map), "a program that loads the LUT: %s", npu_prog_message(prog));
	tap_ok(started() == 0x18, "of the DPU alone");
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, 12, 32, 32);
	t.has_bias = true;
	npu_prog_reset(prog);
	tap_ok(!npu_prog_map(prog, &t, map) && !wrong_words(map_words, ARRAY_SIZE(map_words)),
	       "a program that uses it: %s", npu_prog_message(prog));
	npu_prog_reset(prog);
	tap_ok(npu_prog_load_map(prog, map, 0x10008, 0x30000) == -EINVAL, "%s", npu_prog_message(prog));
	tap_ok(npu_prog_map(other, &t, map) == -EOPNOTSUPP && strstr(npu_prog_message(other), "RK3588"), "%s",
	       npu_prog_message(other));
	npu_prog_free(other);
}

/* What Rockchip's compiler writes for its one product, of 256 positions of 32 channels. */
static const struct word mul_words[] = {
	{ 0x4004, 0xe }, { 0x400c, 5 }, { 0x4010, 0 }, { 0x4018, 0x30000 }, { 0x401c, 256 }, { 0x4020, 255 },
	{ 0x4024, 0 }, { 0x402c, 31 }, { 0x4030, 0x1f0f00 }, { 0x4034, 255 }, { 0x4038, 0x100012 }, { 0x4044, 2 },
	{ 0x4048, 0x80000000 }, { 0x404c, INT32_MAX }, { 0x4050, 0x20000 }, { 0x4060, 0x903 }, { 0x407c, 0x810f4094 },
	{ 0x4080, 1 }, { 0x4084, 1 }, { 0x4088, 0x80000000 }, { 0x408c, INT32_MAX }, { 0x40ac, 4 },
	{ 0x40b0, 0x14daa }, { 0x40b4, 0x15 }, { 0x40b8, 0 }, { 0x40c0, 0x4440000 }, { 0x40cc, 0 },
	{ 0x40d0, 0x40ffff }, { 0x5004, 0xe }, { 0x500c, 255 }, { 0x5010, 0 }, { 0x5014, 31 }, { 0x5018, 0x10000 },
	{ 0x501c, 2 }, { 0x5020, 0 }, { 0x5024, 0x40000 }, { 0x5028, 0 }, { 0x5034, 0x40000044 }, { 0x5038, 0x20000 },
	{ 0x5040, 256 }, { 0x5044, 9 }, { 0x504c, 0 }, { 0x506c, 0 },
};

static void test_product(void)
{
	static const struct npu_byte_product how = { .a_zp = -4, .b_zp = -1, .rq = { .scale = 0x4daa, .shift = 0x15, .zp = 4 } };
	struct npu_ew_task t = {
		.rows = 256, .cols = 32, .a = { 0x10000, 256 }, .b = { 0x20000, 256 }, .y = { 0x30000, 256 },
	};
	struct npu_byte_product other_how = how;
	struct npu_prog *other = npu_prog_new();
	uint8_t record[NPU_PRODUCT_RECORD];
	int32_t addend[5];
	uint32_t got = 0;

	npu_prog_reset(prog);
	tap_ok(!npu_prog_mul_bytes(prog, &t, &how, 0x40000) && !wrong_words(mul_words, ARRAY_SIZE(mul_words)) &&
	       started() == 0x18, "a product of bytes: %s", npu_prog_message(prog));
	other_how.b_zp = 5;
	npu_prog_reset(prog);
	tap_ok(!npu_prog_mul_bytes(prog, &t, &other_how, 0x40000) && writes(0x4080, &got) == 1 && got == 0xfffb,
	       "an offset below 0 has 16 bits");
	npu_product_record(&how, record);
	memcpy(addend, record, sizeof(addend));
	tap_ok(addend[0] == 4 && addend[4] == 4 && !addend[1], "what is added to the first operand");
	npu_prog_reset(prog);
	tap_ok(npu_prog_mul_bytes(prog, &t, &how, 0x40008) == -EINVAL, "%s", npu_prog_message(prog));
	t.b.pitch = 257;
	npu_prog_reset(prog);
	tap_ok(npu_prog_mul_bytes(prog, &t, &how, 0x40000) == -EOPNOTSUPP, "%s", npu_prog_message(prog));
	tap_ok(npu_prog_mul_bytes(other, &t, &how, 0x40000) == -EOPNOTSUPP && strstr(npu_prog_message(other), "RK3588"),
	       "%s", npu_prog_message(other));
	npu_prog_free(other);
}

/* ---- functions of halves ---- */

/* What differs from a convolution without one, in Rockchip's convolution of 32 channels with a tanh. */
static const struct word table_words[] = {
	{ 0x1004, 0x30 }, { 0x3004, 0x30 }, { 0x4004, 0x30 }, { 0x4010, 0x40000002 }, { 0x4038, 0x100092 },
	{ 0x4044, 2 }, { 0x4050, 0x21111 }, { 0x4060, 0x20 }, { 0x407c, 0x1004140 }, { 0x4084, 1 },
	{ 0x40ac, (uint32_t)-16385 }, { 0x40b0, 0x14000 }, { 0x40b4, 0xe00e }, { 0x4108, 0x2000006 },
	{ 0x410c, 0x50500 }, { 0x4110, (uint32_t)-0x4000 }, { 0x411c, (uint32_t)-0x4000 }, { 0x4140, 0x4000 },
	{ 0x414c, 0x4000 }, { 0x4150, 0 }, { 0x4184, 0 }, { 0x4188, 1u << 16 }, { 0x418c, 0x10001 },
	{ 0x4190, 0x7fffu << 16 }, { 0x4194, 0x7fff7fff }, { 0x5004, 0x30 }, { 0x501c, 0x100 }, { 0x5028, 0x1a },
	{ 0x5030, 0x50000 }, { 0x5034, 0x41 }, { 0x5044, 0x40010050 },
};

static void test_table(void)
{
	const struct npu_table *tanh_table = npu_table_of(NPU_ACT_TANH);
	struct npu_conv_task t = half_task;
	uint8_t record[NPU_TABLE_RECORD];
	float addend[5];
	uint16_t factor;

	t.table_iova = 0x50000;
	npu_prog_reset(prog);
	tap_ok(!npu_prog_conv_table(prog, &t, tanh_table, false) && npu_prog_ntasks(prog) == 1 && started() == 0x1d &&
	       !wrong_words(table_words, ARRAY_SIZE(table_words)), "a function of halves: %s", npu_prog_message(prog));
	npu_prog_reset(prog);
	tap_ok(!npu_prog_conv_table(prog, &t, tanh_table, true) && npu_prog_ntasks(prog) == 2,
	       "a task that loads its table");
	npu_table_record(tanh_table, record);
	memcpy(addend, record, sizeof(addend));
	memcpy(&factor, record + 32, sizeof(factor));
	tap_ok(addend[0] == 16.0f / 2048 && addend[4] == addend[0] && factor == npu_f32_to_f16(2048),
	       "its addend and its factor");
	npu_prog_reset(prog);
	tap_ok(npu_prog_conv_table(prog, &t, npu_table_of(NPU_ACT_SQRT), true) == -EOPNOTSUPP, "%s",
	       npu_prog_message(prog));
	npu_prog_reset(prog);
	tap_ok(npu_prog_conv_table(prog, &band, tanh_table, true) == -EOPNOTSUPP, "%s", npu_prog_message(prog));
	t.table_iova = 8;
	npu_prog_reset(prog);
	tap_ok(npu_prog_conv_table(prog, &t, tanh_table, true) == -EINVAL, "%s", npu_prog_message(prog));
}

/* Windows of Rockchip's compilers; and the registers of products, which gahingwoo has of Rockchip's. */
static void test_core_1(void)
{
	/* 5120 granules and 18 KiB of weights. */
	static const struct word few_words[] = {
		{ 0x1018, 0x4000050c }, { 0x1028, 5120u << 16 | 63 }, { 0x1038, 0x10e }, { 0x103c, 0x501c00 },
		{ 0x1040, 0x30001c00 },
	};
	static const struct word conv_words[] = {
		{ 0x1018, 0x4000040b }, { 0x1038, 0x10e }, { 0x103c, 0x201c00 }, { 0x1040, 0x2c001c00 },
	};
	static const struct word product_words[] = {
		{ 0x1018, 0x4000040b }, { 0x1038, 0x10e }, { 0x1040, 0x2c001c00 },
		{ 0x2810, 0 }, { 0x2814, 0 }, { 0x2818, 0x1c000000 }, { 0x281c, 0 }, { 0x2820, 56 },
	};
	struct npu_conv_task t = half_task, product = int4_task(12, 64, 2048);
	struct npu_prog *other = prog;

	prog = npu_prog_new_for(npu_chip_of_soc(3576), 1);
	tap_ok(!make(&t) && !wrong_words(conv_words, ARRAY_SIZE(conv_words)), "a program for core 1");
	tap_ok(!make(&product) && !wrong_words(product_words, ARRAY_SIZE(product_words)), "one of INT4 weights");
	t = band;
	t.in_c = 64;
	t.in_h = 64;
	t.out_h = 62;
	t.out_c = 32;
	tap_ok(!make(&t) && !wrong_words(few_words, ARRAY_SIZE(few_words)), "features in five banks: %s",
	       npu_prog_message(prog));
	npu_prog_free(prog);
	prog = other;
}

int main(void)
{
	prog = npu_prog_new_for(npu_chip_of_soc(3576), 0);
	test_words();
	test_halves();
	test_int4();
	test_variants();
	test_refused();
	test_pool();
	test_map();
	test_product();
	test_table();
	test_core_1();
	npu_prog_free(prog);
	tap_ok(!npu_chip_of_soc(3572) && npu_chip_of_version(0x46495247) == npu_chip_of_soc(3576) &&
	       npu_chip_of_version(0) == npu_chip_of_soc(3568) && npu_chip_of_version(0x46495245) == &npu_rk3588 &&
	       npu_chip_of_version(0x54524549) == npu_chip_of_soc(3562),
	       "chips by what drivers tell of them");
	return tap_done();
}
