// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu computes on an RK3576, an RK3568 and an RK3562, on the driver, over both uAPIs: networks of bytes,
 * and of halves on the former, which are exact, in one chain on core 0, and what is refused with a reason.
 *
 * boot: rk3576
 * boot: rk3576dt
 * boot: rk3568
 * boot: rk3562
 */
#include <errno.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "npu_prog.h"
#include "rknpu_libnpu.h"
#include "rknpu_libnpu_oracle.h"

#define CORE_0	1
/* The image, its channels, those inside of the network, and columns of its result. */
#define SIDE	10u
#define PIXELS	(SIDE * SIDE)
#define C	24u
#define WIDE	64u
#define HALF	(5u * 5u)
#define COLS	40u
#define SAME	.size = sizeof(struct npu_window), .in_w = SIDE, .in_h = SIDE, .kw = 3, .kh = 3, .pad_left = 1, \
		.pad_right = 1, .pad_top = 1, .pad_bottom = 1
#define CONV	.size = sizeof(struct npu_conv_weights_desc), .type = NPU_PREC_INT8, .kw = 3, .kh = 3

static const struct npu_window first = { SAME }, second = { SAME, .stride_x = 2, .stride_y = 2 };

LIBNPU_FIXTURE(bytes)

static void fill(int8_t *v, float *f, size_t n, int most)
{
	for (size_t i = 0; i < n; i++) {
		v[i] = (int)(libnpu_rnd() % (2 * most + 1)) - most;
		f[i] = v[i];
	}
}

/* A convolution above 0, a depthwise one, and a product. */
struct net {
	struct npu_conv_weights_desc a, b;
	struct npu_weights_desc c;
	struct npu_weights *wa, *wb, *wc;
	struct npu_tensor *x, *ta, *tb, *y;
	struct npu_rec *rec;
	int32_t bias[COLS];
	float fx[PIXELS * C], fa[WIDE * 9 * C], fb[9 * WIDE], fc[COLS * WIDE];
};

static int new_weights(struct net *n, struct npu_dev *dev)
{
	static int8_t a[WIDE * 9 * C], b[9 * WIDE], c[COLS * WIDE];
	int ret;

	n->a = (struct npu_conv_weights_desc){ CONV, .in_c = C, .out_c = WIDE, .in_zp = -5, .weight_zp = 3 };
	n->b = (struct npu_conv_weights_desc){ CONV, .in_c = WIDE, .out_c = WIDE, .depthwise = true, .weight_zp = -70 };
	n->c = (struct npu_weights_desc){ .size = sizeof(n->c), .type = NPU_PREC_INT8, .n = COLS, .k = WIDE,
					  .bias = n->bias };
	fill(a, n->fa, ARRAY_SIZE(a), 90);
	fill(b, n->fb, ARRAY_SIZE(b), 90);
	fill(c, n->fc, ARRAY_SIZE(c), 90);
	for (uint32_t i = 0; i < COLS; i++)
		n->bias[i] = (int32_t)(libnpu_rnd() % 2001) - 1000;
	npu_requant_from_double(1.0 / 1500, 0, &n->a.rq);
	npu_requant_from_double(1.0 / 300, -2, &n->b.rq);
	npu_requant_from_double(1.0 / 700, 4, &n->c.rq);
	ret = npu_conv_weights_new(dev, &n->a, a, &n->wa);
	ret = ret ?: npu_conv_weights_new(dev, &n->b, b, &n->wb);
	return ret ?: npu_weights_new(dev, &n->c, c, &n->wc);
}

static int net_new(struct net *n, struct npu_dev *dev, const struct npu_rec_opts *opts)
{
	struct npu_rec_conv_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU, .max_lines = 4 };
	int ret = new_weights(n, dev);

	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, PIXELS, C, &n->x);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, PIXELS, WIDE, &n->ta);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, HALF, WIDE, &n->tb);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, HALF, COLS, &n->y);
	ret = ret ?: npu_rec_new(dev, opts, &n->rec);
	ret = ret ?: npu_rec_conv(n->rec, n->x, n->wa, &first, n->ta, &relu);
	ret = ret ?: npu_rec_conv(n->rec, n->ta, n->wb, &second, n->tb, NULL);
	ret = ret ?: npu_rec_matmul(n->rec, n->tb, n->wc, n->y, NULL);
	return ret ?: npu_rec_end(n->rec);
}

static void net_free(struct net *n)
{
	struct npu_tensor *t[] = { n->x, n->ta, n->tb, n->y };

	npu_rec_free(n->rec);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
	npu_weights_free(n->wa);
	npu_weights_free(n->wb);
	npu_weights_free(n->wc);
}

static void convolve(const struct npu_conv_weights_desc *d, const struct npu_window *win, const float *x,
		     const float *w, bool relu, float *y)
{
	const struct oracle_conv o = {
		.win = *win, .x = x, .w = w, .in_c = d->in_c, .in_zp = d->in_zp, .weight_zp = d->weight_zp,
		.depthwise = d->depthwise,
	};
	uint32_t positions = npu_window_out_w(win) * npu_window_out_h(win);
	double size;

	for (uint32_t pos = 0; pos < positions; pos++)
		for (uint32_t n = 0; n < d->out_c; n++) {
			double sum = oracle_conv(&o, pos, n, &size);

			y[pos * d->out_c + n] = npu_requant_apply(&d->rq, relu && sum < 0 ? 0 : (int64_t)sum);
		}
}

static unsigned int wrong(const struct net *n, const int8_t *got)
{
	static float a[PIXELS * WIDE], b[HALF * WIDE];
	unsigned int bad = 0;

	convolve(&n->a, &first, n->fx, n->fa, true, a);
	convolve(&n->b, &second, a, n->fb, false, b);
	for (uint32_t row = 0; row < HALF; row++)
		for (uint32_t col = 0; col < COLS; col++) {
			double sum = n->bias[col];

			for (uint32_t k = 0; k < WIDE; k++)
				sum += b[row * WIDE + k] * n->fc[col * WIDE + k];
			bad += got[row * COLS + col] != npu_requant_apply(&n->c.rq, (int64_t)sum);
		}
	return bad;
}

RK_TEST_F(bytes, network_of_bytes, "two convolutions and a product are exact, in one chain that is started once")
{
	static int8_t x[PIXELS * C], got[HALF * COLS];
	static struct net n;
	char why[128] = "";

	memset(&n, 0, sizeof(n));
	ASSERT_EQ(0, net_new(&n, self->dev, NULL)) TH_LOG("%s", n.rec ? npu_rec_message(n.rec) : "no recording");
	EXPECT_EQ(5, npu_rec_info(n.rec).tasks);
	ASSERT_EQ(0, npu_rec_run(n.rec));
	/* What the model has against a program. */
	ASSERT_EQ(0, npu_rec_wait(n.rec, WAIT_NS)) TH_LOG("%s", rk_hang_reason(0, why, sizeof(why)) ? why : "no reason");
	for (int run = 0; run < 2; run++) {
		fill(x, n.fx, ARRAY_SIZE(x), 120);
		ASSERT_EQ(0, npu_tensor_write(n.x, x, 0));
		libnpu_run_counted(_metadata, n.rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(n.y, got, 0));
		EXPECT_EQ(0, wrong(&n, got));
	}
	net_free(&n);
}

RK_TEST_F(bytes, network_on_cores, "a network that both cores share, or that the other one has, is exact, too")
{
	static const struct npu_rec_opts on[] = {
		{ .size = sizeof(struct npu_rec_opts), .cores = 2 },
		{ .size = sizeof(struct npu_rec_opts), .core_mask = CORE_0 << 1 },
	};
	static int8_t x[PIXELS * C], got[HALF * COLS];
	static struct net n;
	uint64_t tasks[2], clashes = rk_count_all(NPU_CNT_CBUF_SHORT);
	char why[128] = "";

	if (npu_soc(self->dev) != 3576)
		SKIP(return, "there is one core");
	for (size_t i = 0; i < ARRAY_SIZE(on); i++) {
		memset(&n, 0, sizeof(n));
		ASSERT_EQ(0, net_new(&n, self->dev, &on[i])) TH_LOG("%s", n.rec ? npu_rec_message(n.rec) : "no recording");
		for (int core = 0; core < 2; core++)
			tasks[core] = rk_count(core, NPU_CNT_TASK_STARTED);
		fill(x, n.fx, ARRAY_SIZE(x), 120);
		ASSERT_EQ(0, npu_tensor_write(n.x, x, 0));
		ASSERT_EQ(0, npu_rec_run(n.rec));
		ASSERT_EQ(0, npu_rec_wait(n.rec, WAIT_NS))
			TH_LOG("%s", rk_hang_reason(1, why, sizeof(why)) ? why : "no reason of core 1");
		ASSERT_EQ(0, npu_tensor_read(n.y, got, 0));
		EXPECT_EQ(0, wrong(&n, got)) TH_LOG("options %zu", i);
		EXPECT_EQ(!i, rk_count(0, NPU_CNT_TASK_STARTED) > tasks[0]);
		EXPECT_LT(tasks[1], rk_count(1, NPU_CNT_TASK_STARTED));
		net_free(&n);
	}
	EXPECT_EQ(clashes, rk_count_all(NPU_CNT_CBUF_SHORT));
}

/* Rows and columns of what is added. */
#define ROWS	12u
#define ADDED	72u

RK_TEST_F(bytes, sums_of_bytes, "sums of bytes with scales, weights and zero points are exact")
{
	struct npu_byte_sum first_sum = { .size = sizeof(first_sum), .a_zp = -7, .b_zp = 30 }, second_sum = {
		.size = sizeof(second_sum), .a_weight = -101, .b_weight = 127, .a_zp = 3, .b_zp = -7,
		.rq = { .scale = 21000, .shift = 21, .zp = -9 }, .act = NPU_ACT_RELU,
	};
	static int8_t a[ROWS * ADDED], b[ROWS * ADDED], got[ROWS * ADDED];
	static float unused[ROWS * ADDED];
	struct npu_rec *rec = NULL;
	struct npu_tensor *t[4];
	unsigned int bad = 0;

	ASSERT_EQ(0, npu_byte_sum_from_double(0.7, 0.45, 3, &first_sum));
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, ROWS, ADDED, &t[i]));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	/* One operand is behind the other in memory, then it is before. */
	ASSERT_EQ(0, npu_rec_add_bytes(rec, t[0], t[1], &first_sum, t[2])) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_add_bytes(rec, t[2], t[0], &second_sum, t[3])) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_end(rec));
	for (int run = 0; run < 2; run++) {
		fill(a, unused, ARRAY_SIZE(a), 127);
		fill(b, unused, ARRAY_SIZE(b), 127);
		ASSERT_EQ(0, npu_tensor_write(t[0], a, 0));
		ASSERT_EQ(0, npu_tensor_write(t[1], b, 0));
		libnpu_run_counted(_metadata, rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(t[3], got, 0));
		for (uint32_t i = 0; i < ROWS * ADDED; i++) {
			int32_t s = npu_requant_apply(&first_sum.rq, (a[i] + 7) * first_sum.a_weight +
						      (b[i] - 30) * first_sum.b_weight);
			int32_t v = (s - 3) * -101 + (a[i] + 7) * 127;

			bad += got[i] != npu_requant_apply(&second_sum.rq, v < 0 ? 0 : v);
		}
	}
	EXPECT_EQ(0, bad);
	npu_rec_free(rec);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
}

RK_TEST_F(bytes, products_of_bytes, "products of bytes, and squares, are exact")
{
	static const struct npu_byte_product how = {
		.size = sizeof(how), .a_zp = -9, .b_zp = 21, .rq = { .scale = 23000, .shift = 22, .zp = -4 },
	}, square = { .size = sizeof(square), .a_zp = -4, .b_zp = -4, .rq = { .scale = 30000, .shift = 21, .zp = -100 } };
	static int8_t a[ROWS * ADDED], b[ROWS * ADDED], got[ROWS * ADDED];
	static float unused[ROWS * ADDED];
	struct npu_rec *rec = NULL;
	struct npu_tensor *t[4];
	unsigned int bad = 0;

	if (npu_soc(self->dev) == 3568)
		SKIP(return, "no products of bytes on this chip");
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, ROWS, ADDED, &t[i]));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	ASSERT_EQ(0, npu_rec_mul_bytes(rec, t[0], t[1], &how, t[2])) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_mul_bytes(rec, t[2], t[2], &square, t[3])) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_end(rec));
	for (int run = 0; run < 2; run++) {
		fill(a, unused, ARRAY_SIZE(a), 127);
		fill(b, unused, ARRAY_SIZE(b), 127);
		ASSERT_EQ(0, npu_tensor_write(t[0], a, 0));
		ASSERT_EQ(0, npu_tensor_write(t[1], b, 0));
		libnpu_run_counted(_metadata, rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(t[3], got, 0));
		for (uint32_t i = 0; i < ROWS * ADDED; i++) {
			int32_t p = npu_requant_apply(&how.rq, (a[i] + 9) * (b[i] - 21)) + 4;

			bad += got[i] != npu_requant_apply(&square.rq, p * p);
		}
	}
	EXPECT_EQ(0, bad);
	npu_rec_free(rec);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
}

#define HALF_WIDE	32u

/* A convolution, a function of its result, another one of columns of that, and a product of both. */
struct functions {
	struct npu_tensor *x, *a, *fa, *part, *y;
	struct npu_weights *w;
	struct npu_rec *rec;
	struct npu_weights_desc d;
	int8_t f[256], g[256], x8[ROWS * HALF_WIDE];
	float fw[WIDE * HALF_WIDE], fx[ROWS * HALF_WIDE];
};

static int functions_new(struct functions *n, struct npu_dev *dev)
{
	static int8_t w[WIDE * HALF_WIDE];
	int ret;

	n->d = (struct npu_weights_desc){ .size = sizeof(n->d), .type = NPU_PREC_INT8, .n = WIDE, .k = HALF_WIDE };
	fill(w, n->fw, ARRAY_SIZE(w), 90);
	fill(n->f, n->fx, 256, 127);
	fill(n->g, n->fx, 256, 127);
	npu_requant_from_double(1.0 / 400, 3, &n->d.rq);
	ret = npu_weights_new(dev, &n->d, w, &n->w);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, ROWS, HALF_WIDE, &n->x);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, ROWS, WIDE, &n->a);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, ROWS, WIDE, &n->fa);
	ret = ret ?: npu_tensor_view(n->fa, 0, ROWS, HALF_WIDE, HALF_WIDE, &n->part);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, ROWS, HALF_WIDE, &n->y);
	ret = ret ?: npu_rec_new(dev, NULL, &n->rec);
	ret = ret ?: npu_rec_matmul(n->rec, n->x, n->w, n->a, NULL);
	ret = ret ?: npu_rec_map_bytes(n->rec, n->f, n->a, n->fa);
	/* Behind a program that uses the LUT there are others again. */
	ret = ret ?: npu_rec_map_bytes(n->rec, n->g, n->part, n->y);
	ret = ret ?: npu_rec_matmul(n->rec, n->y, n->w, n->a, NULL);
	return ret ?: npu_rec_end(n->rec);
}

/* @row of a product; from the second operand on all are bytes. */
static void multiply(const struct functions *n, const int8_t *row, int8_t *y)
{
	for (uint32_t c = 0; c < WIDE; c++) {
		double sum = 0;

		for (uint32_t k = 0; k < HALF_WIDE; k++)
			sum += row[k] * n->fw[c * HALF_WIDE + k];
		y[c] = npu_requant_apply(&n->d.rq, (int64_t)sum);
	}
}

static unsigned int functions_wrong(const struct functions *n, const int8_t *got)
{
	unsigned int bad = 0;

	for (uint32_t r = 0; r < ROWS; r++) {
		int8_t a[WIDE], y[HALF_WIDE];

		multiply(n, n->x8 + r * HALF_WIDE, a);
		for (uint32_t c = 0; c < HALF_WIDE; c++)
			y[c] = n->g[n->f[a[HALF_WIDE + c] + 128] + 128];
		multiply(n, y, a);
		for (uint32_t c = 0; c < WIDE; c++)
			bad += got[r * WIDE + c] != a[c];
	}
	return bad;
}

RK_TEST_F(bytes, functions_of_bytes, "functions by table, one after the other, are exact between products")
{
	static int8_t got[ROWS * WIDE];
	static struct functions n;

	memset(&n, 0, sizeof(n));
	ASSERT_EQ(0, functions_new(&n, self->dev)) TH_LOG("%s", n.rec ? npu_rec_message(n.rec) : "no recording");
	for (int run = 0; run < 2; run++) {
		fill(n.x8, n.fx, ARRAY_SIZE(n.x8), 127);
		ASSERT_EQ(0, npu_tensor_write(n.x, n.x8, 0));
		libnpu_run_counted(_metadata, n.rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(n.a, got, 0));
		EXPECT_EQ(0, functions_wrong(&n, got));
	}
	npu_rec_free(n.rec);
	npu_tensor_free(n.x);
	npu_tensor_free(n.a);
	npu_tensor_free(n.part);
	npu_tensor_free(n.fa);
	npu_tensor_free(n.y);
	npu_weights_free(n.w);
}

RK_TEST_F(bytes, words_of_bytes, "products of bytes are exact as words, of one row and of several")
{
	if (!npu_can_multiply(self->dev, NPU_PREC_INT8, NPU_PREC_INT32))
		SKIP(return, "no programs for words on this chip");

	static const struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = ADDED, .k = 200 };
	static int8_t w[ADDED * 200], x[ROWS * 200];
	static float fw[ADDED * 200], fx[ROWS * 200];
	static int32_t got[ROWS * ADDED];
	struct npu_tensor *tx, *ty;
	struct npu_weights *tw;
	struct npu_rec *rec;

	fill(w, fw, ARRAY_SIZE(w), 127);
	ASSERT_EQ(0, npu_weights_new(self->dev, &d, w, &tw));
	for (uint32_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
		unsigned int bad = 0;

		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, rows, d.k, &tx));
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT32, rows, d.n, &ty));
		ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
		ASSERT_EQ(0, npu_rec_matmul(rec, tx, tw, ty, NULL)) TH_LOG("%s", npu_rec_message(rec));
		ASSERT_EQ(0, npu_rec_end(rec));
		fill(x, fx, rows * d.k, 127);
		ASSERT_EQ(0, npu_tensor_write(tx, x, 0));
		libnpu_run_counted(_metadata, rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(ty, got, 0));
		for (uint32_t i = 0; i < rows * d.n; i++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < d.k; k++)
				sum += x[i / d.n * d.k + k] * w[i % d.n * d.k + k];
			bad += got[i] != sum;
		}
		EXPECT_EQ(0, bad);
		npu_rec_free(rec);
		npu_tensor_free(tx);
		npu_tensor_free(ty);
	}
	npu_weights_free(tw);
}

/* A convolution above 0, and a product of what it gives. */
struct half_net {
	struct npu_conv_weights_desc a;
	struct npu_weights_desc b;
	struct npu_weights *wa, *wb;
	struct npu_tensor *x, *t, *y;
	struct npu_rec *rec;
	float x_bias[WIDE], y_bias[COLS], fx[PIXELS * C], fa[WIDE * 9 * C], fb[COLS * WIDE];
};

/* Steps of 1/4 or 1/8 to @most: sums are exact in any order, and halves round them once. */
static void fill_halves(uint16_t *v, float *f, size_t n, int most, float step)
{
	for (size_t i = 0; i < n; i++) {
		f[i] = step * (float)((int)(libnpu_rnd() % (2 * most + 1)) - most);
		if (v)
			v[i] = npu_f32_to_f16(f[i]);
	}
}

static int half_net_new(struct half_net *n, struct npu_dev *dev)
{
	struct npu_rec_conv_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU, .max_lines = 4 };
	static uint16_t a[WIDE * 9 * C], b[COLS * WIDE];
	int ret;

	fill_halves(a, n->fa, ARRAY_SIZE(a), 8, 0.25f);
	fill_halves(b, n->fb, ARRAY_SIZE(b), 8, 0.25f);
	fill_halves(NULL, n->x_bias, WIDE, 1000, 0.125f);
	fill_halves(NULL, n->y_bias, COLS, 1000, 0.125f);
	n->a = (struct npu_conv_weights_desc){
		.size = sizeof(n->a), .type = NPU_PREC_FP16, .in_c = C, .out_c = WIDE, .kw = 3, .kh = 3,
		.bias = n->x_bias,
	};
	n->b = (struct npu_weights_desc){ .size = sizeof(n->b), .type = NPU_PREC_FP16, .n = COLS, .k = WIDE,
					  .bias = n->y_bias };
	ret = npu_conv_weights_new(dev, &n->a, a, &n->wa);
	ret = ret ?: npu_weights_new(dev, &n->b, b, &n->wb);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP16, PIXELS, C, &n->x);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP16, PIXELS, WIDE, &n->t);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP16, PIXELS, COLS, &n->y);
	ret = ret ?: npu_rec_new(dev, NULL, &n->rec);
	ret = ret ?: npu_rec_conv(n->rec, n->x, n->wa, &first, n->t, &relu);
	ret = ret ?: npu_rec_matmul(n->rec, n->t, n->wb, n->y, NULL);
	return ret ?: npu_rec_end(n->rec);
}

/* Bits of the result that are not those of exact sums, each rounded once. */
static unsigned int halves_wrong(const struct half_net *n, const uint16_t *got)
{
	const struct oracle_conv o = { .win = first, .x = n->fx, .w = n->fa, .in_c = C };
	static float t[PIXELS * WIDE];
	unsigned int bad = 0;
	double size;

	for (uint32_t i = 0; i < PIXELS * WIDE; i++) {
		double sum = oracle_conv(&o, i / WIDE, i % WIDE, &size) + n->x_bias[i % WIDE];

		t[i] = npu_f16_to_f32(npu_f64_to_f16(sum > 0 ? sum : 0));
	}
	for (uint32_t i = 0; i < PIXELS * COLS; i++) {
		double sum = n->y_bias[i % COLS];

		for (uint32_t k = 0; k < WIDE; k++)
			sum += (double)t[i / COLS * WIDE + k] * n->fb[i % COLS * WIDE + k];
		bad += got[i] != npu_f64_to_f16(sum);
	}
	return bad;
}

RK_TEST_F(bytes, network_of_halves, "a convolution and a product of halves have all bits right, in one chain")
{
	if (!npu_can_multiply(self->dev, NPU_PREC_FP16, NPU_PREC_FP16))
		SKIP(return, "no programs for halves on this chip");

	static uint16_t x[PIXELS * C], got[PIXELS * COLS];
	static struct half_net n;
	char why[128] = "";

	memset(&n, 0, sizeof(n));
	ASSERT_EQ(0, half_net_new(&n, self->dev)) TH_LOG("%s", n.rec ? npu_rec_message(n.rec) : "no recording");
	ASSERT_EQ(0, npu_rec_run(n.rec));
	ASSERT_EQ(0, npu_rec_wait(n.rec, WAIT_NS)) TH_LOG("%s", rk_hang_reason(0, why, sizeof(why)) ? why : "no reason");
	for (int run = 0; run < 2; run++) {
		fill_halves(x, n.fx, ARRAY_SIZE(x), 16, 0.25f);
		ASSERT_EQ(0, npu_tensor_write(n.x, x, 0));
		libnpu_run_counted(_metadata, n.rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(n.y, got, 0));
		EXPECT_EQ(0, halves_wrong(&n, got));
	}
	npu_rec_free(n.rec);
	npu_tensor_free(n.x);
	npu_tensor_free(n.t);
	npu_tensor_free(n.y);
	npu_weights_free(n.wa);
	npu_weights_free(n.wb);
}

/* The cosine of each one's sigmoid. */
static unsigned int functions_of_halves_wrong(const uint16_t *x, const uint16_t *got)
{
	unsigned int bad = 0;

	for (uint32_t i = 0; i < ROWS * ADDED; i++) {
		double v = npu_f16_to_f32(x[i]), want = cos(1 / (1 + exp(-v)));

		bad += !(fabs(npu_f16_to_f32(got[i]) - want) <= 0x1p-8);
	}
	return bad;
}

RK_TEST_F(bytes, functions_of_halves, "functions of halves by table, one after the other, are within their bounds")
{
	static uint16_t x[ROWS * ADDED], got[ROWS * ADDED];
	static float unused[ROWS * ADDED];
	struct npu_rec *rec = NULL;
	struct npu_tensor *t[3];

	if (npu_soc(self->dev) != 3576)
		SKIP(return, "no functions of halves on this chip");
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, ROWS, ADDED, &t[i]));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	ASSERT_EQ(0, npu_rec_act(rec, NPU_ACT_SIGMOID, t[0], t[1])) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_act(rec, NPU_ACT_COS, t[1], t[2])) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_end(rec));
	for (int run = 0; run < 2; run++) {
		fill_halves(x, unused, ARRAY_SIZE(x), 60, 0.125f);
		ASSERT_EQ(0, npu_tensor_write(t[0], x, 0));
		libnpu_run_counted(_metadata, rec, variant->uapi);
		ASSERT_EQ(0, npu_tensor_read(t[2], got, 0));
		EXPECT_EQ(0, functions_of_halves_wrong(x, got));
	}
	npu_rec_free(rec);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
}

RK_TEST_F(bytes, others_are_refused, "what there are no programs for is refused with a reason, and so are other cores")
{
	bool rk3576 = npu_soc(self->dev) == 3576;
	struct npu_rec_opts other = { .size = sizeof(other), .core_mask = CORE_0 << (rk3576 ? 2 : 1) };
	struct npu_rec *rec = NULL;
	struct npu_tensor *x, *y;
	char name[16];

	EXPECT_TRUE(npu_can_multiply(self->dev, NPU_PREC_INT8, NPU_PREC_INT8));
	EXPECT_FALSE(npu_can_multiply(self->dev, NPU_PREC_FP16, NPU_PREC_FP32));
	EXPECT_EQ(-EOPNOTSUPP, npu_rec_new(self->dev, &other, &rec));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, 4, 32, &x));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, 4, 32, &y));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	EXPECT_EQ(-EOPNOTSUPP, npu_rec_act(rec, NPU_ACT_SQRT, x, y));
	snprintf(name, sizeof(name), "RK%u", npu_soc(self->dev));
	EXPECT_NE(NULL, strstr(npu_rec_message(rec), name));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* Larger than the network's image, in parts; what follows reads them. */
#define WIDTH	50u
#define HEIGHT	30u
#define OUT	(WIDTH / 2 * (HEIGHT / 2))

/* The largest of four, or what the sum of four is times two halves, rounded to even. */
static int8_t pooled(const int8_t *x, uint32_t position, uint32_t c, bool average)
{
	uint32_t top = position / (WIDTH / 2) * 2 * WIDTH + position % (WIDTH / 2) * 2;
	int32_t sum = 0, most = INT8_MIN;

	for (uint32_t i = 0; i < 4; i++) {
		int32_t v = x[(top + i / 2 * WIDTH + i % 2) * C + c];

		sum += v;
		most = v > most ? v : most;
	}
	if (!average)
		return most;
	return npu_requant_apply(&(struct npu_requant){ .scale = 1, .shift = 2 }, sum);
}

RK_TEST_F(bytes, pooling_of_bytes, "maxima and averages are exact, in a chain of their own and alone")
{
	static const struct npu_window win = {
		.size = sizeof(win), .in_w = WIDTH, .in_h = HEIGHT, .kw = 2, .kh = 2, .stride_x = 2, .stride_y = 2,
	};
	static int8_t x[WIDTH * HEIGHT * C], got[OUT * C];
	static float unused[WIDTH * HEIGHT * C];
	struct npu_tensor *tx, *ty[2];
	struct npu_rec *rec = NULL;

	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, WIDTH * HEIGHT, C, &tx));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, OUT, C, &ty[0]));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, OUT, C, &ty[1]));
	for (int n = 1; n <= 2; n++) {
		ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
		for (int i = 0; i < n; i++)
			ASSERT_EQ(0, npu_rec_pool(rec, i ? NPU_POOL_AVERAGE : NPU_POOL_MAX, tx, &win, ty[i]))
				TH_LOG("%s", npu_rec_message(rec));
		ASSERT_EQ(0, npu_rec_end(rec));
		fill(x, unused, ARRAY_SIZE(x), 127);
		ASSERT_EQ(0, npu_tensor_write(tx, x, 0));
		libnpu_run_counted(_metadata, rec, variant->uapi);
		for (int i = 0; i < n; i++) {
			unsigned int bad = 0;

			ASSERT_EQ(0, npu_tensor_read(ty[i], got, 0));
			for (uint32_t k = 0; k < OUT * C; k++)
				bad += got[k] != pooled(x, k / C, k % C, i);
			EXPECT_EQ(0, bad);
		}
		npu_rec_free(rec);
	}
	npu_tensor_free(tx);
	npu_tensor_free(ty[0]);
	npu_tensor_free(ty[1]);
}

RK_HARNESS_MAIN
