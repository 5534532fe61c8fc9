// SPDX-License-Identifier: MIT
/*
 * Unit tests of programs for the RK3562: the words that Rockchip's compilers write, and what there are no programs
 * for. What programs compute is in nn_conv, nn_pool and nn_bytes.
 */
#include "words.h"

/* 3 x 3 over 12 x 12 of 64 channels, of pp_human_segv2_custom_argmax, above 0. */
static const struct npu_conv_task layer = {
	.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .in_w = 12, .in_h = 12, .in_h_full = 12, .in_c = 64,
	.out_w = 12, .out_h = 12, .out_h_full = 12, .out_c = 64, .kw = 3, .kh = 3, .stride_x = 1, .stride_y = 1,
	.dil_x = 1, .dil_y = 1, .pad_left = 1, .pad_top = 1, .pad_value = -128,
	.in_iova = 0x10000, .weight_iova = 0x20000, .out_iova = 0x30000, .bias_iova = 0x40000,
	.has_bias = true, .rq = { .scale = 0x5622, .shift = 0x17, .zp = -128 }, .relu = true,
};

#define LEAST	0x80000000
#define MOST	0x7fffffff

/* Of the DPU and its RDMA, with stages that are the same everywhere. */
#define CLAMPS(low)	{ 0x4048, LEAST }, { 0x404c, MOST }, { 0x4058, LEAST }, { 0x405c, MOST }, { 0x406c, low }, \
			{ 0x4070, MOST }, { 0x4074, low }, { 0x4078, MOST }, { 0x4088, LEAST }, { 0x408c, MOST }, \
			{ 0x40a4, LEAST }, { 0x40a8, MOST }
/* Written, and 0. */
#define NOTHING		{ 0x4014, 0 }, { 0x4028, 0 }, { 0x403c, 0 }, { 0x4090, 0 }, { 0x4094, 0 }, { 0x4098, 0 }, \
			{ 0x409c, 0 }, { 0x40a0, 0 }, { 0x40bc, 0 }, { 0x40c8, 0 }, { 0x40cc, 0 }, { 0x4100, 0 }, \
			{ 0x4104, 0 }, { 0x4114, 0 }, { 0x4118, 0 }, { 0x4120, 0 }, { 0x4124, 0 }, { 0x4128, 0 }, \
			{ 0x412c, 0 }, { 0x5028, 0 }, { 0x502c, 0 }, { 0x5048, 0 }, { 0x5064, 0 }, { 0x5078, 0 }, \
			{ 0x507c, 0 }

static const struct word words[] = {
	{ 0x1004, 0xe }, { 0x3004, 0xe }, { 0x4004, 0xe }, { 0x5004, 0xe },
	{ 0x100c, 0x10000000 }, { 0x1010, 0x64 }, { 0x1014, 9 }, { 0x1018, 0x180606 }, { 0x101c, 0x9000 },
	{ 0x1020, 0x20000240 }, { 0x1024, 0x3030040 }, { 0x1028, 0x40 }, { 0x102c, 0xc000c }, { 0x1030, 0xc },
	{ 0x1034, 0x90 }, { 0x103c, 0xc0000 }, { 0x1040, 0xc000000 }, { 0x1044, 0xc000c }, { 0x1048, 0xb },
	{ 0x104c, 0x10001 }, { 0x1050, 0x10001 }, { 0x1054, 0 }, { 0x1058, 0 }, { 0x105c, 0 }, { 0x1060, 0 },
	{ 0x1064, 0 }, { 0x1068, 0 }, { 0x106c, 0x20 }, { 0x1070, 0 }, { 0x1074, 0 }, { 0x1078, 0xc000c },
	{ 0x107c, 0x40 }, { 0x1080, 0x1010101 }, { 0x1084, 0xffffff80 }, { 0x1088, 0x10000 }, { 0x108c, 0xf400f },
	{ 0x1090, 0x30 }, { 0x1094, 0x90 }, { 0x1098, 0x90 }, { 0x1100, 0 }, { 0x1104, 0 }, { 0x1110, 0x20000 },
	{ 0x1140, 0 }, { 0x1144, 0 }, { 0x118c, 0xb000b },
	{ 0x3018, 1 }, { 0x301c, 0xb000b }, { 0x3020, 0x3f }, { 0x3024, 0 },
	CLAMPS(0), NOTHING,
	{ 0x400c, 0x1e4 }, { 0x4010, 0 }, { 0x4018, 0x30000 }, { 0x401c, 0x90 }, { 0x4020, 0xb }, { 0x4024, 0xb },
	{ 0x402c, 0x3f }, { 0x4030, 0x3f0003 }, { 0x4034, 0xb000b }, { 0x4038, 0x120e80 }, { 0x4040, 0 },
	{ 0x4044, 1 }, { 0x4050, 1 }, { 0x4054, 0x800e0000 }, { 0x4060, 0x12 }, { 0x4064, 0 }, { 0x4068, 0 },
	{ 0x407c, 0x10041c1 }, { 0x4080, 0 }, { 0x4084, 1 }, { 0x40ac, 0xffffff80 }, { 0x40b0, 0x5622 },
	{ 0x40b4, 0x17 }, { 0x40b8, 0x90 }, { 0x40c0, 0x4440102 }, { 0x4108, 0 }, { 0x410c, 0 }, { 0x4110, 0 },
	{ 0x411c, 0 },
	{ 0x500c, 0xb }, { 0x5010, 0xb }, { 0x5014, 0x3f }, { 0x5018, 0 }, { 0x501c, 0xe }, { 0x5020, 0x40000 },
	{ 0x5034, 1 }, { 0x5038, 0 }, { 0x5040, 0 }, { 0x5044, 0x7810 }, { 0x504c, 0 }, { 0x506c, 0 },
};

/* Registers that were written, but for those of @w: none of what compilers do not write. */
static unsigned int other_writes(const struct word *w, size_t n)
{
	const uint64_t *e = npu_prog_entries(prog);
	unsigned int others = 0;

	for (size_t i = 0; i < npu_prog_count(prog); i++) {
		uint16_t reg = (uint16_t)e[i];
		bool known = e[i] >> 48 == 0 || reg < 0x1000;

		for (size_t k = 0; k < n && !known; k++)
			known = w[k].reg == reg;
		others += !known;
	}
	return others;
}

/* What ends all programs. */
static bool has_tail(void)
{
	const uint64_t *e = npu_prog_entries(prog);
	unsigned int n = 0;

	for (size_t i = 1; i < npu_prog_count(prog); i++)
		n += e[i - 1] == UINT64_C(0x04010000000c8028) && e[i] == UINT64_C(0x0401ffffffff802c);
	return n == npu_prog_ntasks(prog);
}

static void test_words(void)
{
	uint32_t got = 0;
	unsigned int bad;

	tap_ok(!make(&layer), "a program: %s", npu_prog_message(prog));
	bad = wrong_words(words, ARRAY_SIZE(words));
	/* The banks of weights twice, and the two words of the tail. */
	tap_ok(!bad && other_writes(words, ARRAY_SIZE(words)) == 4 && writes(0x1038, &got) == 2 && got == 8 && has_tail(),
	       "each register is written once: %u wrong", bad);
	tap_ok(started() == 0x1d, "all blocks of a convolution are started: 0x%x", started());
}

/* Of MobileNet V2, without its clamp at 6. */
static const struct word depthwise_words[] = {
	{ 0x100c, 0x10000005 }, { 0x1010, 0x40 }, { 0x1018, 0x180707 }, { 0x101c, 0x4380 }, { 0x1020, 0x200021c0 },
	{ 0x1024, 0x3030002 }, { 0x1028, 0x3c0 }, { 0x103c, 0x690000 }, { 0x1040, 0xe000000 }, { 0x1044, 0x70069 },
	{ 0x1094, 0x34 }, { 0x3018, 0xa }, { 0x3020, 0x3bf }, { 0x400c, 0x1ec }, { 0x401c, 0x34 },
	{ 0x4030, 0x3bf0007 }, { 0x4038, 0x100e92 }, { 0x4044, 0 }, { 0x4050, 0x125 }, { 0x4054, 0xe0000 },
	{ 0x4060, 0x13 }, { 0x40b8, 0x68 }, { 0x501c, 0xa }, { 0x5044, 0x7812 },
};

static void test_depthwise(void)
{
	struct npu_conv_task t = layer;
	unsigned int bad;

	t.depthwise = true;
	t.in_w = t.in_h = t.in_h_full = 7;
	t.out_w = t.out_h = t.out_h_full = 7;
	t.in_c = t.out_c = 960;
	t.in_pitch = t.out_pitch = 52;
	t.relu = false;
	tap_ok(!make(&t), "a depthwise program: %s", npu_prog_message(prog));
	bad = wrong_words(depthwise_words, ARRAY_SIZE(depthwise_words));
	tap_ok(!bad && started() == 0x1d, "its words: %u wrong", bad);
}

/* Of compilers' programs: shapes, and the lines and banks that they have. */
static const struct shape {
	uint32_t w, h, c, out_w, kernels, k, stride;
	bool depthwise;
	uint32_t grains, banks;
} shapes[] = {
	{ 1, 1, 128, 1, 64, 1, 1, false, 0x13c, 7 },
	{ 7, 7, 320, 7, 1280, 1, 1, false, 0x48, 6 },
	{ 7, 7, 960, 7, 320, 1, 1, false, 0x40, 6 },
	{ 20, 20, 128, 20, 128, 3, 1, false, 0x48, 3 },
	{ 16, 32, 256, 16, 384, 1, 1, false, 0x3c, 5 },
	{ 40, 38, 128, 40, 64, 3, 1, false, 0x40, 6 },
	{ 96, 31, 64, 48, 64, 3, 2, false, 0x74, 6 },
	{ 24, 24, 32, 12, 32, 3, 2, false, 0x98, 7 },
	{ 32, 64, 64, 5, 64, 7, 7, true, 0x184, 7 },
	{ 8, 16, 512, 2, 512, 7, 7, true, 0x18c, 6 },
	{ 7, 7, 1280, 1, 1280, 7, 1, true, 0x48, 4 },
};

static void test_shapes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *s = &shapes[i];
		struct npu_conv_task t = layer;
		uint32_t banks = s->banks << 8 | s->banks | 0x180000;

		t.in_w = s->w;
		t.in_h = t.in_h_full = s->h;
		t.in_c = s->c;
		t.out_w = s->out_w;
		t.out_h = t.out_h_full = (s->h - s->k) / s->stride + 1;
		t.out_c = s->kernels;
		t.kw = t.kh = s->k;
		t.stride_x = t.stride_y = s->stride;
		t.pad_left = t.pad_top = 0;
		t.depthwise = s->depthwise;
		tap_ok(value_of(0x1010, &t) == s->grains && value_of(0x1018, &t) == banks,
		       "%u x %u x %u: lines ahead 0x%x, banks 0x%x %s", s->w, s->h, s->c, value_of(0x1010, &t),
		       value_of(0x1018, &t), npu_prog_message(prog));
	}
}

static struct npu_conv_task changed;

static void refuse(int err, const char *word, const char *what)
{
	refuses(&changed, err, word, what);
	changed = layer;
}

static void test_refused(void)
{
	changed = layer;
	changed.out = NPU_PREC_INT32;
	refuse(-EOPNOTSUPP, "from INT8 to INT32 on the RK3562", "words");
	changed.in = NPU_PREC_FP16;
	changed.out = NPU_PREC_FP16;
	refuse(-EOPNOTSUPP, "from FP16 to FP16 on the RK3562", "halves");
	changed.dil_y = 2;
	refuse(-EOPNOTSUPP, "dilation", "dilation");
	changed.has_bias = false;
	refuse(-EINVAL, "operands", "no operands");
	changed.out_c = 40;
	refuse(-EINVAL, "multiple of 16", "40 channels");
	changed.in_iova = 8;
	refuse(-EINVAL, "multiple of 16", "an image at 8");
	changed.in_c = 1408;
	changed.in_h = 3;
	changed.out_h = 1;
	refuse(-E2BIG, "12672 bytes exceeds the limit 12288", "a kernel that does not fit");
	changed.depthwise = true;
	changed.in_c = 7296;
	changed.out_c = 7296;
	refuse(-E2BIG, "131328 bytes exceeds the limit 131072", "depthwise weights that do not fit");
	changed.in_c = 512;
	changed.in_w = 60;
	changed.out_w = 60;
	changed.in_h = 7;
	changed.out_h = 5;
	refuse(-E2BIG, "7 feature and 3 weight banks exceed the limit 8", "features beside large kernels");
}

/* ---- pooling ---- */

/* The right half of 5 x 5 over 20 x 20 of 128 channels, of lpd-yolov8n, and an average. */
static const struct npu_pool_task pool = {
	.pool = NPU_POOL_MAX, .type = NPU_PREC_INT8, .in_w = 12, .in_h = 20, .in_line = 20, .in_pitch = 400,
	.out_w = 10, .out_h = 20, .out_line = 20, .out_pitch = 400, .channels = 128, .kw = 5, .kh = 5,
	.stride_x = 1, .stride_y = 1, .right = 2, .top = 2, .bottom = 2, .pad_value = (uint32_t)-128 & 0x7ffff,
	.in_iova = 0x10080, .out_iova = 0x200a0,
};

static const struct word pool_words[] = {
	{ 0x6004, 0xe }, { 0x600c, 0xb }, { 0x6010, 0x13 }, { 0x6014, 0x7f }, { 0x6018, 9 }, { 0x601c, 0x13 },
	{ 0x6020, 0x7f }, { 0x6024, 0xa0011 }, { 0x6034, 0x404 }, { 0x6038, 0 }, { 0x603c, 0 }, { 0x6040, 0x2220 },
	{ 0x6044, 0x7ff80 }, { 0x6048, 0x7ff00 }, { 0x604c, 0x7fe80 }, { 0x6050, 0x7fe00 }, { 0x6054, 0 },
	{ 0x6058, 0 }, { 0x605c, 0 }, { 0x6060, 0 }, { 0x6064, 0 }, { 0x6068, 0 }, { 0x606c, 0 }, { 0x6070, 0x200a0 },
	{ 0x607c, 0x1900 }, { 0x6084, 0x1900 }, { 0x60dc, 3 }, { 0x7004, 0xe }, { 0x700c, 0xb }, { 0x7010, 0x13 },
	{ 0x7014, 0x7f }, { 0x701c, 0x10080 }, { 0x7024, 0x140 }, { 0x7028, 0x1900 }, { 0x7030, 0x40 },
};

static void test_pool(void)
{
	struct npu_pool_task t = pool;
	uint32_t x = 0, y = 0;
	unsigned int bad;

	tap_ok(!make_pool(&t), "a program: %s", npu_prog_message(prog));
	bad = wrong_words(pool_words, ARRAY_SIZE(pool_words));
	tap_ok(!bad && other_writes(pool_words, ARRAY_SIZE(pool_words)) == 2 && has_tail() && started() == 0x60,
	       "the words of pooling: %u wrong, 0x%x started", bad, started());
	t.pool = NPU_POOL_AVERAGE;
	tap_ok(!make_pool(&t) && writes(0x6038, &x) == 1 && writes(0x603c, &y) == 1 && x == 0x3333 && y == 0x3333 &&
	       writes(0x6024, &x) == 1 && x == 0xa0010, "of averages: 0x%x, 0x%x", x, y);
	t.type = NPU_PREC_FP16;
	refuses_pool(&t, "pooling of FP16 on the RK3562");
	t = pool;
	t.pool = NPU_POOL_MIN;
	refuses_pool(&t, "minima of INT8 on the RK3562");
}

/* ---- the DPU alone ---- */

static const struct npu_ew_task fly = {
	.type = NPU_PREC_INT8, .rows = 225, .cols = 24, .a = { 0x10000, 228 }, .b = { 0x20000, 300 },
	.y = { 0x30010, 256 },
};

/* Of all tasks here, with what each has of its own. */
static const struct word fly_words[] = {
	{ 0x400c, 0x1e5 }, { 0x4010, 0 }, { 0x4018, 0x30010 }, { 0x401c, 256 }, { 0x4020, 224 }, { 0x4024, 0 },
	{ 0x402c, 31 }, { 0x4030, 0x1f0003 }, { 0x4034, 224 }, { 0x4054, 0 }, { 0x40b8, 256 }, { 0x40c0, 0x4440002 },
	{ 0x500c, 224 }, { 0x5010, 0 }, { 0x5014, 31 }, { 0x5018, 0x10000 }, { 0x501c, 0 }, { 0x5020, 0 },
	{ 0x5044, 0x7809 }, { 0x504c, 3 }, NOTHING,
};

static const struct word sum_words[] = {
	{ 0x4004, 0xe }, { 0x5004, 0xe }, CLAMPS(LEAST), { 0x4038, 0x100012 }, { 0x4040, 7 }, { 0x4044, 100 << 16 },
	{ 0x4050, 0 }, { 0x4060, 0x13 }, { 0x4064, 0 }, { 0x4068, 0 }, { 0x407c, 0x8002c0c0 }, { 0x4080, 0xffe2 },
	{ 0x4084, 0xff9b }, { 0x40ac, 9 }, { 0x40b0, 0x10000 | 21000 }, { 0x40b4, 21 }, { 0x4108, 0 }, { 0x410c, 0 },
	{ 0x4110, 0 }, { 0x411c, 0 }, { 0x5034, 0x40000004 }, { 0x5038, 0x20000 }, { 0x5040, 300 }, { 0x506c, 75 },
};

static const struct word product_words[] = {
	{ 0x4004, 0xe }, { 0x5004, 0xe }, CLAMPS(LEAST), { 0x4038, 0x100012 }, { 0x4040, 0x80 }, { 0x4044, 0 },
	{ 0x4050, 2 }, { 0x4060, 0x13 }, { 0x4064, 0 }, { 0x4068, 0 }, { 0x407c, 0x81004094 }, { 0x4080, 0x80 },
	{ 0x4084, 1 }, { 0x40ac, 0xffffff80 }, { 0x40b0, 0x14040 }, { 0x40b4, 0x16 }, { 0x4108, 0 }, { 0x410c, 0 },
	{ 0x4110, 0 }, { 0x411c, 0 }, { 0x5034, 0x40000004 }, { 0x5038, 0x20000 }, { 0x5040, 300 }, { 0x506c, 75 },
};

static const struct word map_words[] = {
	{ 0x4004, 0x30 }, { 0x5004, 0x30 }, CLAMPS(LEAST), { 0x4038, 0x53 }, { 0x4040, 0 }, { 0x4044, 0 },
	{ 0x4050, 2 }, { 0x4060, 0x20000 }, { 0x4064, 0 }, { 0x4068, 32 << 16 }, { 0x407c, 0x1004140 }, { 0x4080, 0 },
	{ 0x4084, 1 }, { 0x40ac, (uint32_t)-129 }, { 0x40b0, 0x10001 }, { 0x40b4, 0 }, { 0x4108, 0x160 },
	{ 0x410c, 0x50500 }, { 0x4110, 0xffffc000 }, { 0x411c, 0x4000 }, { 0x5034, 1 }, { 0x5038, 0 }, { 0x5040, 0 },
	{ 0x506c, 0 },
};

/* All are there, and no more. */
static void test_flying(int ret, const struct word *rest, size_t n, const char *what)
{
	unsigned int bad = ret ? 1 : wrong_words(fly_words, ARRAY_SIZE(fly_words)) + wrong_words(rest, n);
	unsigned int others = other_writes(fly_words, ARRAY_SIZE(fly_words));

	/* And the two words of the tail. */
	tap_ok(!bad && others == n + 2 && has_tail() && started() == 0x18, "%s: %u wrong, %s", what, bad,
	       npu_prog_message(prog));
}

static void test_operands(void)
{
	struct npu_byte_sum sum = {
		.size = sizeof(sum), .a_weight = 100, .b_weight = -101, .a_zp = -7, .b_zp = 30,
		.rq = { .scale = 21000, .shift = 21, .zp = 9 },
	};
	const struct npu_byte_product product = {
		.size = sizeof(product), .a_zp = -128, .b_zp = -128, .rq = { .scale = 0x4040, .shift = 0x16, .zp = -128 },
	};
	struct npu_ew_task t = fly;
	uint32_t ew = 0, out = 0;

	npu_prog_reset(prog);
	test_flying(npu_prog_add_bytes(prog, &t, &sum), sum_words, ARRAY_SIZE(sum_words), "a sum");
	sum.act = NPU_ACT_RELU;
	npu_prog_reset(prog);
	tap_ok(!npu_prog_add_bytes(prog, &t, &sum) && writes(0x4088, &ew) == 1 && !ew && writes(0x40a4, &out) == 1 &&
	       !out, "above 0");
	npu_prog_reset(prog);
	test_flying(npu_prog_mul_bytes(prog, &t, &product, 0), product_words, ARRAY_SIZE(product_words), "a product");
	t.b.iova = 8;
	npu_prog_reset(prog);
	tap_ok(npu_prog_add_bytes(prog, &t, &sum) == -EINVAL, "%s", npu_prog_message(prog));
}

static void test_map(void)
{
	struct npu_ew_task t = fly;
	int8_t map[256];
	uint32_t got = 0;

	any_map(map);
	npu_prog_reset(prog);
	tap_ok(!npu_prog_load_map(prog, map, 0x10000, 0x30000) && !wrong_entries(map) && npu_prog_ntasks(prog) == 1,
	       "a task that loads both tables: %s", npu_prog_message(prog));
	tap_ok(writes(0x4108, &got) == 1 && got == 1 && writes(0x4030, &got) == 1 && got == 0xf0003 &&
	       writes(0x40b0, &got) == 1 && got == 0x10001 && writes(0x4100, &got) == 3 && got == 0x30000 && has_tail() &&
	       started() == 0x18, "which copies an atom");
	npu_prog_reset(prog);
	test_flying(npu_prog_map_bytes(prog, &t), map_words, ARRAY_SIZE(map_words), "a function");
}

int main(void)
{
	prog = npu_prog_new_for(npu_chip_of_soc(3562), 0);
	test_words();
	test_depthwise();
	test_shapes();
	test_refused();
	test_pool();
	test_operands();
	test_map();
	npu_prog_free(prog);
	return tap_done();
}
