// SPDX-License-Identifier: MIT
/*
 * Unit tests of programs for the RK3566 and RK3568: the words that Rockchip's compilers write, and
 * what there are no programs for. What programs compute is in nn_conv, nn_pool and nn_bytes.
 */
#include "words.h"

/* 3 x 3 over 80 x 80 of 32 channels, lines 10 to 24 of the result. */
static const struct npu_conv_task band = {
	.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .in_w = 80, .in_h = 17, .in_h_full = 80, .in_c = 32,
	.out_w = 80, .out_h = 15, .out_h_full = 80, .out_c = 64, .kw = 3, .kh = 3, .stride_x = 1, .stride_y = 1,
	.dil_x = 1, .dil_y = 1, .pad_left = 1, .pad_value = -3, .weight_zp = -128,
	.in_iova = 0x10008, .weight_iova = 0x20000, .out_iova = 0x30008, .bias_iova = 0x40000,
	.has_bias = true, .rq = { .scale = 20000, .shift = 20, .zp = -5 },
};

static const struct word words[] = {
	{ 0x1004, 0xe }, { 0x2004, 0xe }, { 0x3004, 0xe }, { 0x4004, 0xe }, { 0x5004, 0xe },
	{ 0x100c, 0 }, { 0x1010, 4 << 4 }, { 0x1014, 1 << 3 | 1 }, { 0x1018, 0 }, { 0x1020, 80 << 16 | 17 },
	{ 0x1024, 31 << 16 | 32 }, { 0x1028, 80 }, { 0x102c, 80 * 15 }, { 0x1030, 64 * 288 }, { 0x1034, 288 },
	{ 0x1038, 3 << 24 | 3 << 16 | 64 }, { 0x1040, 6 << 4 | 2 }, { 0x1044, 80 << 16 | 80 }, { 0x104c, 0xa },
	{ 0x1050, 0x10000 }, { 0x1054, 0x10000 }, { 0x1058, 0x10000 }, { 0x105c, 0x10000 }, { 0x1060, 0 },
	{ 0x1064, 0 }, { 0x1068, 0xfffd0010 }, { 0x1070, 0x10008 }, { 0x1074, 0 }, { 0x1078, 0x171c07 },
	{ 0x107c, 80 }, { 0x1080, 6400 }, { 0x1084, 80 << 16 | 17 }, { 0x1088, 32 }, { 0x1100, 0 }, { 0x1104, 0 },
	{ 0x1110, 0x20000 }, { 0x1114, 0 }, { 0x113c, 0 }, { 0x114c, 0 }, { 0x1230, 0 },
	{ 0x200c, 1 }, { 0x300c, 0 }, { 0x3010, 14 << 16 | 79 }, { 0x3014, 63 }, { 0x302c, 0 },
	{ 0x400c, 0x108 }, { 0x4010, 0 }, { 0x4014, 0 }, { 0x4020, 0x30008 }, { 0x4024, 6400 * 8 }, { 0x4030, 79 },
	{ 0x4034, 14 }, { 0x4038, 0 }, { 0x403c, 63 << 16 | 63 }, { 0x4040, 0x158 }, { 0x4044, 0 }, { 0x4048, 0 },
	{ 0x404c, 0 }, { 0x4050, 0x124 }, { 0x4054, 0x80 }, { 0x4060, 0x53 }, { 0x4064, 0 }, { 0x4068, 0 },
	{ 0x406c, 0 }, { 0x4070, 0x383 }, { 0x4074, 0 }, { 0x4078, 1 }, { 0x407c, 0 }, { 0x4080, (uint32_t)-5 },
	{ 0x4084, 20000 }, { 0x4088, 20 }, { 0x4090, 0 }, { 0x40c0, 2 * 6400 * 8 }, { 0x40c4, 0 }, { 0x4108, 0 },
	{ 0x412c, 0 }, { 0x500c, 79 }, { 0x5010, 14 }, { 0x5014, 63 }, { 0x5018, 0 }, { 0x501c, 2 },
	{ 0x5020, 0x40000 }, { 0x5024, 31 }, { 0x5028, 1 }, { 0x502c, 0 }, { 0x5030, 0 }, { 0x5034, 1 },
	{ 0x5038, 0 }, { 0x503c, 0 }, { 0x5040, 0 }, { 0x5044, 0x4000 }, { 0x5048, 0 }, { 0x504c, 0 },
	{ 0x5064, 0 }, { 0x5068, 0x1010101 },
};

/* No more registers than compilers write. */
static bool only(const struct word *w, size_t n)
{
	const uint64_t *e = npu_prog_entries(prog);
	bool ok = true;

	for (size_t i = 0; i < npu_prog_count(prog); i++) {
		uint16_t reg = (uint16_t)e[i], target = (uint16_t)(e[i] >> 48);
		bool known = false;

		for (size_t k = 0; k < n && !known; k++)
			known = w[k].reg == reg;
		/* Registers that nothing but zeros is known of, what ends a program, and gaps. */
		known |= !(uint32_t)(e[i] >> 16) || target == 0x81 || target == 0x41 || target == 0x101;
		ok &= known;
	}
	return ok;
}

static void test_words(void)
{
	uint32_t got;
	unsigned int bad;

	tap_ok(!make(&band), "a program: %s", npu_prog_message(prog));
	bad = wrong_words(words, ARRAY_SIZE(words));
	tap_ok(!bad && only(words, ARRAY_SIZE(words)), "each register is written once: %u wrong", bad);
	tap_ok(!writes(0x4058, &got) && !writes(0x405c, &got) && !writes(0x506c, &got) && !writes(0x1180, &got) &&
	       !writes(0x1184, &got) && !writes(0x3018, &got), "and none that these chips lack");
	tap_ok(started() == 0x1f, "all blocks of a convolution are started: 0x%x", started());
}

static void test_variants(void)
{
	struct npu_conv_task t = band;
	uint32_t got;

	t.relu = true;
	tap_ok(value_of(0x4060, &t) == 0x12 && value_of(0x4040, &t) == 0x158, "ReLU is BN's");
	t = band;
	t.depthwise = true;
	t.out_c = 32;
	tap_ok(value_of(0x100c, &t) == 3 && value_of(0x1030, &t) == 288 && value_of(0x1034, &t) == 288 &&
	       value_of(0x1038, &t) == (3 << 24 | 3 << 16 | 1) && value_of(0x200c, &t) == 3 &&
	       value_of(0x300c, &t) == 2 && value_of(0x3014, &t) == 31 && value_of(0x400c, &t) == 0x138 &&
	       value_of(0x4050, &t) == 0x36c && value_of(0x40c0, &t) == 4 * 6400 * 8 && value_of(0x5024, &t) == 15 &&
	       value_of(0x5044, &t) == 0x4006, "the words of depthwise layers");
	t = band;
	t.out_c = 48;
	tap_ok(value_of(0x403c, &t) == (47 << 16 | 47) && value_of(0x5024, &t) == 23, "48 kernels");
	t = band;
	t.out_w = 27;
	tap_ok(value_of(0x1010, &t) == 5 << 4, "narrow results fetch more lines");
	t.out_w = 13;
	tap_ok(value_of(0x1010, &t) == 6 << 4, "and narrower ones");
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, 1, 32, 64);
	tap_ok(value_of(0x1010, &t) == 1 << 4 && value_of(0x1080, &t) == 1 && value_of(0x4024, &t) == 8 &&
	       value_of(0x40c0, &t) == 16 && value_of(0x1040, &t) == 0x71 && value_of(0x1044, &t) == (1 << 16 | 2) &&
	       value_of(0x4040, &t) == 0x53 && value_of(0x4050, &t) == 0x124 && !value_of(0x4054, &t) &&
	       !writes(0x5004, &got) && !writes(0x501c, &got) && started() == 0x0f,
	       "a product of one row, without operands and what fetches them");
	npu_matmul_task(&t, NPU_PREC_INT8, NPU_PREC_INT8, 12, 32, 64);
	t.in_pitch = 0x1234567;
	t.out_pitch = 20;
	tap_ok(value_of(0x1080, &t) == 0x1234567 && value_of(0x4024, &t) == 160 && value_of(0x1020, &t) == (1 << 16 | 12),
	       "rows of larger tensors");
}

static struct npu_conv_task changed;

static void refuse(int err, const char *word, const char *what)
{
	refuses(&changed, err, word, what);
	changed = band;
}

static void test_refused(void)
{
	changed = band;
	changed.out = NPU_PREC_INT32;
	refuse(-EOPNOTSUPP, "from INT8 to INT32 on the RK3568", "words");
	changed.in = NPU_PREC_FP16;
	changed.out = NPU_PREC_FP16;
	refuse(-EOPNOTSUPP, "from FP16 to FP16 on the RK3568", "halves");
	changed.dil_x = 2;
	refuse(-EOPNOTSUPP, "dilation", "dilation");
	changed.out_c = 40;
	refuse(-EINVAL, "multiple of 16", "40 channels");
	changed.in_iova = 4;
	refuse(-EINVAL, "multiple of 8", "an image at 4");
	changed.in_c = 1600;
	changed.in_w = 8;
	changed.out_w = 8;
	changed.in_h = 3;
	changed.out_h = 1;
	refuse(-E2BIG, "14400 bytes exceeds the limit 14336", "a kernel that does not fit");
	changed.depthwise = true;
	changed.in_w = 8;
	changed.out_w = 8;
	changed.in_c = 7296;
	changed.out_c = 7296;
	refuse(-E2BIG, "65664 bytes exceeds the limit 65536", "depthwise weights that do not fit");
	changed.in_h = 80;
	changed.out_h = 78;
	changed.in_c = 96;
	refuse(-E2BIG, "exceed the limit 8", "features that do not fit");
	changed.in_c = 1024;
	changed.in_h = 3;
	changed.out_h = 1;
	refuse(-E2BIG, "too long", "entries beyond those of a row");
}

/* ---- pooling ---- */

/* 3 x 3 every second over 20 x 9 of 48 channels, with a column and a line of padding. */
static const struct npu_pool_task averages = {
	.pool = NPU_POOL_AVERAGE, .type = NPU_PREC_INT8, .in_w = 20, .in_h = 9, .in_line = 20, .in_pitch = 180,
	.out_w = 10, .out_h = 5, .out_line = 12, .out_pitch = 52, .channels = 48, .kw = 3, .kh = 3,
	.stride_x = 2, .stride_y = 2, .left = 1, .top = 1, .bottom = 1, .pad_value = (uint32_t)-3 & 0x7ffff,
	.in_iova = 0x10000, .out_iova = 0x20008,
};

static const struct word pool_words[] = {
	{ 0x6004, 0xe }, { 0x600c, 19 }, { 0x6010, 8 }, { 0x6014, 47 }, { 0x6018, 9 }, { 0x601c, 4 }, { 0x6020, 47 },
	{ 0x6024, 2 << 16 | 0x10 }, { 0x6034, 1 << 20 | 1 << 16 | 2 << 8 | 2 }, { 0x6038, 21845 }, { 0x603c, 21845 },
	{ 0x6040, 0x1011 }, { 0x6044, 0x7fffd }, { 0x6048, 0x7fffa }, { 0x604c, 0x7fff7 }, { 0x6050, 0x7fff4 },
	{ 0x6070, 0x20008 }, { 0x607c, 416 }, { 0x6084, 416 }, { 0x60dc, 3 }, { 0x7004, 0xe }, { 0x700c, 19 },
	{ 0x7010, 8 }, { 0x7014, 47 }, { 0x7018, 1 }, { 0x701c, 0x10000 }, { 0x7024, 160 }, { 0x7028, 1440 },
	{ 0x7030, 0 },
};

static void test_pool(void)
{
	struct npu_pool_task t = averages;
	unsigned int bad;

	tap_ok(!make_pool(&t), "a program: %s", npu_prog_message(prog));
	bad = wrong_words(pool_words, ARRAY_SIZE(pool_words));
	tap_ok(!bad && only(pool_words, ARRAY_SIZE(pool_words)) && started() == 0x60,
	       "the words of pooling: %u wrong, 0x%x started", bad, started());
	t.type = NPU_PREC_FP16;
	refuses_pool(&t, "pooling of FP16 on the RK3568");
	t = averages;
	t.pool = NPU_POOL_MIN;
	refuses_pool(&t, "minima of INT8 on the RK3568");
}

/* ---- the DPU alone ---- */

static const struct npu_ew_task fly = {
	.type = NPU_PREC_INT8, .rows = 225, .cols = 24, .a = { 0x10000, 228 }, .b = { 0x20000, 300 },
	.y = { 0x30008, 256 },
};

/* Of all tasks here, with @rest. */
static const struct word fly_words[] = {
	{ 0x400c, 0x109 }, { 0x4010, 0 }, { 0x4014, 0 }, { 0x4020, 0x30008 }, { 0x4024, 256 * 8 }, { 0x4030, 224 },
	{ 0x4034, 0 }, { 0x4038, 0 }, { 0x403c, 23 << 16 | 23 }, { 0x404c, 0 }, { 0x4050, 2 }, { 0x4054, 0 },
	{ 0x406c, 0 }, { 0x407c, 0 }, { 0x4090, 0 }, { 0x40c0, 256 * 8 }, { 0x500c, 224 }, { 0x5010, 0 },
	{ 0x5014, 23 }, { 0x5018, 0x10000 }, { 0x501c, 1 }, { 0x5020, 0 }, { 0x5024, 0 }, { 0x5028, 1 },
	{ 0x502c, 0 }, { 0x5030, 0 }, { 0x5044, 0x4001 }, { 0x5048, 0 }, { 0x504c, 3 * 8 }, { 0x5064, 0 },
	{ 0x5068, 0x1010101 },
};

static const struct word sum_words[] = {
	{ 0x4004, 0xe }, { 0x5004, 0xe }, { 0x4040, 0x48 }, { 0x4044, 7 }, { 0x4048, 100 << 16 }, { 0x4060, 0x53 },
	{ 0x4064, 0 }, { 0x4068, 0 }, { 0x4070, 0x900002d0 }, { 0x4074, (uint32_t)-30 }, { 0x4078, 0xff9b },
	{ 0x4080, 9 }, { 0x4084, 21000 }, { 0x4088, 21 }, { 0x4108, 0 }, { 0x5034, 0x40000000 }, { 0x5038, 0x20000 },
	{ 0x503c, 299 * 8 }, { 0x5040, 300 * 8 },
};

static const struct word map_words[] = {
	{ 0x4004, 0x30 }, { 0x5004, 0x30 }, { 0x4040, 0x53 }, { 0x4044, 0 }, { 0x4048, 0 }, { 0x4060, 0x48 },
	{ 0x4064, 0 }, { 0x4068, 32 << 16 }, { 0x4070, 0x302 }, { 0x4074, 0 }, { 0x4078, 1 },
	{ 0x4080, (uint32_t)-129 }, { 0x4084, 1 }, { 0x4088, 0 }, { 0x4108, 0x68 }, { 0x410c, 0x50500 },
	{ 0x4110, (uint32_t)-0x4000 }, { 0x4114, 0 }, { 0x4118, 0 }, { 0x411c, 0x4000 }, { 0x4120, 0 },
	{ 0x412c, 0 }, { 0x5034, 1 }, { 0x5038, 0 }, { 0x503c, 0 }, { 0x5040, 0 },
};

static void test_flying(int ret, const struct word *rest, size_t n, const char *what)
{
	unsigned int bad = ret ? 1 : wrong_words(fly_words, ARRAY_SIZE(fly_words)) + wrong_words(rest, n);

	tap_ok(!bad && started() == 0x18, "%s: %u wrong, %s", what, bad, npu_prog_message(prog));
}

static void test_sum(void)
{
	struct npu_byte_sum how = {
		.size = sizeof(how), .a_weight = 100, .b_weight = -101, .a_zp = -7, .b_zp = 30,
		.rq = { .scale = 21000, .shift = 21, .zp = 9 },
	};
	struct npu_ew_task t = fly;
	uint32_t got;

	npu_prog_reset(prog);
	test_flying(npu_prog_add_bytes(prog, &t, &how), sum_words, ARRAY_SIZE(sum_words), "a sum");
	how.act = NPU_ACT_RELU;
	npu_prog_reset(prog);
	tap_ok(!npu_prog_add_bytes(prog, &t, &how) && writes(0x4070, &got) == 1 && got == 0x900000d0, "above 0");
	t.b.iova = 12;
	npu_prog_reset(prog);
	tap_ok(npu_prog_add_bytes(prog, &t, &how) == -EINVAL, "%s", npu_prog_message(prog));
}

static void test_map(void)
{
	struct npu_prog *other = npu_prog_new();
	struct npu_ew_task t = fly;
	int8_t map[256];
	uint32_t got;

	any_map(map);
	npu_prog_reset(prog);
	tap_ok(!npu_prog_load_map(prog, map, 0x10000, 0x30000) && !wrong_entries(map) && npu_prog_ntasks(prog) == 2,
	       "two tasks that load a table each: %s", npu_prog_message(prog));
	/* What accesses to the LUT that read come with, and the last one. */
	tap_ok(writes(0x4030, &got) == 2 && !got && writes(0x403c, &got) == 2 && got == 0x70007 &&
	       writes(0x4024, &got) == 2 && got == 8 && writes(0x4100, &got) == 4 && got == 0x30000 &&
	       writes(0x4104, &got) == 1028 && started() == 0x18, "which copy an atom");
	npu_prog_reset(prog);
	test_flying(npu_prog_map_bytes(prog, &t), map_words, ARRAY_SIZE(map_words), "a function");
	tap_ok(npu_prog_map_bytes(other, &t) == -EOPNOTSUPP && strstr(npu_prog_message(other), "RK3588"), "%s",
	       npu_prog_message(other));
	npu_prog_free(other);
}

int main(void)
{
	prog = npu_prog_new_for(npu_chip_of_soc(3568), 0);
	test_words();
	test_variants();
	test_refused();
	test_pool();
	test_sum();
	test_map();
	npu_prog_free(prog);
	return tap_done();
}
