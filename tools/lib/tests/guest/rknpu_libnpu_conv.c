// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu promises of operations on images, on the driver, over both uAPIs and on 1, 2 and 3
 * cores: results against the CPU's, an interrupt per chain, and where a run failed.
 *
 * boot: library
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_libnpu.h"
#include "rknpu_libnpu_oracle.h"

#define CORES		3u
/* The image, its channels, and those inside of the network. */
#define W		9u
#define H		10u
#define C		24u
#define WIDE		64u
#define SAME		.kw = 3, .kh = 3, .pad_left = 1, .pad_right = 1, .pad_top = 1, .pad_bottom = 1

LIBNPU_FIXTURE(conv)

/* Bytes to @most. */
static void fill_bytes(int8_t *v, float *f, size_t n, int most)
{
	for (size_t i = 0; i < n; i++) {
		v[i] = (int)(libnpu_rnd() % (2 * most + 1)) - most;
		f[i] = v[i];
	}
}

/* ---- a network of bytes, which are exact ---- */

static const struct npu_window first = { .size = sizeof(first), .in_w = W, .in_h = H, SAME };
static const struct npu_window second = {
	.size = sizeof(second), .in_w = W, .in_h = H, SAME, .stride_x = 2, .stride_y = 2,
};
static const struct npu_window most = { .size = sizeof(most), .in_w = 5, .in_h = 5, SAME };
static const struct npu_window mean = {
	.size = sizeof(mean), .in_w = 10, .in_h = 10, .kw = 2, .kh = 2, .stride_x = 2, .stride_y = 2,
};

#define HALF		(5u * 5u)
#define IN_ZP		(-5)
#define WEIGHT_ZP	3

struct net {
	struct npu_tensor *x, *a, *b, *c, *d, *both, *y;
	struct npu_weights *wa, *wb;
	struct npu_requant ra, rb;
	struct npu_rec *rec;
	float wa_f[WIDE * 9 * C], wb_f[9 * WIDE], want[HALF * 2 * WIDE];
};

static int new_weights(struct net *n, struct npu_dev *dev)
{
	static int8_t wa[WIDE * 9 * C], wb[9 * WIDE];
	struct npu_conv_weights_desc da = {
		.size = sizeof(da),
		.type = NPU_PREC_INT8, .in_c = C, .out_c = WIDE, .kw = 3, .kh = 3, .in_zp = IN_ZP,
		.weight_zp = WEIGHT_ZP,
	};
	struct npu_conv_weights_desc db = {
		.size = sizeof(db),
		.type = NPU_PREC_INT8, .in_c = WIDE, .out_c = WIDE, .kw = 3, .kh = 3, .depthwise = true,
	};
	int ret;

	fill_bytes(wa, n->wa_f, ARRAY_SIZE(wa), 90);
	fill_bytes(wb, n->wb_f, ARRAY_SIZE(wb), 90);
	npu_requant_from_double(1.0 / 900, 0, &n->ra);
	npu_requant_from_double(1.0 / 150, 2, &n->rb);
	da.rq = n->ra;
	db.rq = n->rb;
	ret = npu_conv_weights_new(dev, &da, wa, &n->wa);
	return ret ?: npu_conv_weights_new(dev, &db, wb, &n->wb);
}

static int new_tensors(struct net *n, struct npu_dev *dev)
{
	int ret = npu_tensor_new(dev, NPU_PREC_INT8, W * H, C, &n->x);

	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, W * H, WIDE, &n->a);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, HALF, WIDE, &n->b);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, HALF, WIDE, &n->c);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, 4 * HALF, WIDE, &n->d);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, 4 * HALF, 2 * WIDE, &n->both);
	return ret ?: npu_tensor_new(dev, NPU_PREC_INT8, HALF, 2 * WIDE, &n->y);
}

/* What is made larger and put side by side becomes smaller again: y is c twice. It ends in the PPU. */
static int append_net(struct net *n)
{
	const struct npu_tensor *parts[] = { n->d, n->d };
	struct npu_rec_conv_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU, .max_lines = 4 };
	int ret = npu_rec_conv(n->rec, n->x, n->wa, &first, n->a, &relu);

	ret = ret ?: npu_rec_conv(n->rec, n->a, n->wb, &second, n->b, NULL);
	ret = ret ?: npu_rec_pool(n->rec, NPU_POOL_MAX, n->b, &most, n->c);
	ret = ret ?: npu_rec_upscale(n->rec, n->c, 5, 5, 2, 2, n->d);
	ret = ret ?: npu_rec_concat_cols(n->rec, parts, 2, n->both);
	ret = ret ?: npu_rec_pool(n->rec, NPU_POOL_AVERAGE, n->both, &mean, n->y);
	return ret ?: npu_rec_end(n->rec);
}

static int net_new(struct net *n, struct npu_dev *dev, const struct npu_rec_opts *o)
{
	int ret = new_weights(n, dev);

	ret = ret ?: new_tensors(n, dev);
	ret = ret ?: npu_rec_new(dev, o, &n->rec);
	return ret ?: append_net(n);
}

static void net_free(struct net *n)
{
	struct npu_tensor *t[] = { n->x, n->a, n->b, n->c, n->d, n->both, n->y };

	npu_rec_free(n->rec);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
	npu_weights_free(n->wa);
	npu_weights_free(n->wb);
}

static void largest_of(const float *x, float *y)
{
	for (uint32_t pos = 0; pos < HALF; pos++)
		for (uint32_t ch = 0; ch < WIDE; ch++) {
			float v = -INFINITY;

			for (uint32_t tap = 0; tap < 9; tap++) {
				const float *p = oracle_below(&most, x, WIDE, pos, tap);

				v = p ? fmaxf(v, p[ch]) : v;
			}
			y[pos * WIDE + ch] = v;
		}
}

static void net_expect(struct net *n, const float *x)
{
	static float a[W * H * WIDE], b[HALF * WIDE], c[HALF * WIDE];
	struct oracle_conv ca = {
		.win = first, .x = x, .w = n->wa_f, .in_c = C, .in_zp = IN_ZP, .weight_zp = WEIGHT_ZP,
	};
	struct oracle_conv cb = { .win = second, .x = a, .w = n->wb_f, .in_c = WIDE, .depthwise = true };
	double size;

	for (uint32_t i = 0; i < W * H * WIDE; i++)
		a[i] = npu_requant_apply(&n->ra, (int64_t)fmax(oracle_conv(&ca, i / WIDE, i % WIDE, &size), 0));
	for (uint32_t i = 0; i < HALF * WIDE; i++)
		b[i] = npu_requant_apply(&n->rb, (int64_t)oracle_conv(&cb, i / WIDE, i % WIDE, &size));
	largest_of(b, c);
	for (uint32_t i = 0; i < HALF * 2 * WIDE; i++)
		n->want[i] = c[i / (2 * WIDE) * WIDE + i % WIDE];
}

static int net_write(struct net *n)
{
	static int8_t x[W * H * C];
	static float f[W * H * C];

	fill_bytes(x, f, W * H * C, 127);
	net_expect(n, f);
	return npu_tensor_write(n->x, x, 0);
}

static bool net_right(struct net *n)
{
	static float y[HALF * 2 * WIDE];
	unsigned int bad = 0, distinct = 0;

	if (npu_tensor_read_f32(n->y, y, 0, 1))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(y); i++) {
		bad += y[i] != n->want[i];
		distinct += y[i] != y[0];
	}
	return !bad && distinct > ARRAY_SIZE(y) / 2;
}

RK_TEST_F_TIMEOUT(conv, bytes, 120, "a network of bytes on 1, 2 and 3 cores is the CPU's, again and again")
{
	RK_REQUIRE_MODEL();
	rk_scrub(false);
	for (uint32_t cores = 1; cores <= CORES; cores++) {
		struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
		static struct net n;
		struct npu_rec_info info;

		memset(&n, 0, sizeof(n));
		ASSERT_EQ(0, net_new(&n, self->dev, &o)) TH_LOG("%s", npu_rec_message(n.rec));
		info = npu_rec_info(n.rec);
		TH_LOG("%u cores: %u operations, %u tasks, %u chains, %u stages", cores, info.ops, info.tasks,
		       info.chains, info.stages);
		EXPECT_EQ(6, info.ops);
		EXPECT_LE(cores, info.chains);
		if (cores == 1)
			EXPECT_EQ(1, info.chains);
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(0, net_write(&n));
			libnpu_run_counted(_metadata, n.rec, variant->uapi);
			EXPECT_TRUE(net_right(&n));
		}
		net_free(&n);
	}
}

/* The third task of the core is the first layer's: ten lines are three tasks of four or less. */
RK_TEST_F_TIMEOUT(conv, hang, 120, "a hang inside of a network tells the operation, and the next run is right")
{
	struct npu_rec_opts o = { .size = sizeof(o), .timeout_ns = 100 * RK_MS, .block = true, .core_mask = 1 << 1 };
	static const struct {
		uint32_t task, op;
		const char *name;
	} at[] = { { 2, 0, "conv" }, { 3, 1, "conv" }, { 4, 2, "pool" }, { 6, 3, "enlarge" } };
	struct npu_rec_failure f = { .size = sizeof(f) };
	static struct net n;

	RK_REQUIRE_MODEL();
	memset(&n, 0, sizeof(n));
	ASSERT_EQ(0, net_new(&n, self->dev, &o)) TH_LOG("%s", npu_rec_message(n.rec));
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		ASSERT_EQ(0, net_write(&n));
		rk_fault_arm(1, NPU_FAULT_HANG, at[i].task, 1);
		ASSERT_EQ(0, npu_rec_run(n.rec));
		EXPECT_EQ(-ETIME, npu_rec_wait(n.rec, WAIT_NS));
		ASSERT_EQ(0, npu_rec_failure(n.rec, &f));
		EXPECT_EQ(NPU_CAUSE_TIMEOUT, f.cause);
		EXPECT_EQ(at[i].task, f.task);
		EXPECT_EQ(at[i].op, f.op);
		EXPECT_STREQ(at[i].name, f.op_name);
		EXPECT_EQ(1, f.core);
		rk_model_calm();
		ASSERT_EQ(0, npu_rec_run(n.rec));
		ASSERT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
		EXPECT_TRUE(net_right(&n));
	}
	net_free(&n);
}

/* ---- halves ---- */

#define HALVES_C	40u

struct halves {
	float x[W * H * HALVES_C], w[48 * 9 * HALVES_C], bias[48], y[W * H * 48];
};

static void fill_fp16(float *v, size_t n, float size)
{
	for (size_t i = 0; i < n; i++)
		v[i] = npu_f16_to_f32(npu_f32_to_f16(((float)(libnpu_rnd() % 4001) / 2000 - 1) * size));
}

static int fp16_weights(struct halves *h, struct npu_dev *dev, struct npu_weights **w)
{
	static uint16_t src[ARRAY_SIZE(h->w)];
	struct npu_conv_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_FP16, .in_c = HALVES_C, .out_c = 48, .kw = 3, .kh = 3, .bias = h->bias,
	};

	for (size_t i = 0; i < ARRAY_SIZE(src); i++)
		src[i] = npu_f32_to_f16(h->w[i]);
	return npu_conv_weights_new(dev, &d, src, w);
}

/* The bound of npu_rec_conv(), then that of the tanh. */
static unsigned int fp16_wrong(const struct halves *h)
{
	struct oracle_conv c = { .win = first, .x = h->x, .w = h->w, .in_c = HALVES_C };
	unsigned int bad = 0;

	for (uint32_t i = 0; i < W * H * 48; i++) {
		double size, sum = oracle_conv(&c, i / 48, i % 48, &size) + h->bias[i % 48];
		double off = 9 * HALVES_C * 0x1p-24 * (size + fabs((double)h->bias[i % 48])) + 0x1p-10;

		bad += !(fabs(h->y[i] - tanh(sum)) <= off);
	}
	return bad;
}

RK_TEST_F_TIMEOUT(conv, halves, 120, "fp16 convolutions with a tanh are within their bound on 1, 2 and 3 cores")
{
	struct npu_rec_conv_opts o = { .size = sizeof(o), .act = NPU_ACT_TANH, .max_lines = 3 };
	struct npu_tensor *x = NULL, *y = NULL;
	struct npu_weights *w = NULL;
	static struct halves h;

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	fill_fp16(h.x, ARRAY_SIZE(h.x), 1);
	fill_fp16(h.w, ARRAY_SIZE(h.w), 0x1p-4f);
	fill_fp16(h.bias, ARRAY_SIZE(h.bias), 1);
	ASSERT_EQ(0, fp16_weights(&h, self->dev, &w));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, W * H, HALVES_C, &x));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, W * H, 48, &y));
	ASSERT_EQ(0, npu_tensor_write_f32(x, h.x, 0, 1));
	for (uint32_t cores = 1; cores <= CORES; cores++) {
		struct npu_rec_opts ro = { .size = sizeof(ro), .cores = cores };
		struct npu_rec *rec = NULL;

		memset(h.y, 0, sizeof(h.y));
		ASSERT_EQ(0, npu_tensor_write_f32(y, h.y, 0, 1));
		ASSERT_EQ(0, npu_rec_new(self->dev, &ro, &rec));
		ASSERT_EQ(0, npu_rec_conv(rec, x, w, &first, y, &o)) TH_LOG("%s", npu_rec_message(rec));
		ASSERT_EQ(0, npu_rec_end(rec));
		EXPECT_EQ(cores, npu_rec_info(rec).chains);
		EXPECT_EQ(1, npu_rec_info(rec).stages);
		libnpu_run_counted(_metadata, rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read_f32(y, h.y, 0, 1));
		EXPECT_EQ(0, fp16_wrong(&h));
		npu_rec_free(rec);
	}
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
}

RK_HARNESS_MAIN
