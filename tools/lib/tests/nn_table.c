// SPDX-License-Identifier: MIT
/*
 * Functions by table, those of the user too, and quotients.
 */
#include <errno.h>

#include "nn.h"

#define HALVES	65536u

/* y = f(x) of each finite half, as @append makes it. */
struct all {
	struct npu_tensor *x, *y;
	float in[HALVES], out[HALVES];
};

static void all_fp16(struct npu_dev *dev, struct all *a)
{
	for (uint32_t i = 0; i < HALVES; i++) {
		float v = npu_f16_to_f32((uint16_t)i);

		a->in[i] = isfinite(v) ? v : 0;
	}
	a->x = nn_tensor(dev, NPU_PREC_FP16, 1024, 64, a->in);
	a->y = nn_result(dev, NPU_PREC_FP16, 1024, 64);
}

static void free_all(struct all *a)
{
	npu_tensor_free(a->x);
	npu_tensor_free(a->y);
}

struct act_case {
	const char *name;
	enum npu_act act;
	double lo, hi, bound;
	bool relative;
};

/* An RK3576 has the numbers alone. */
#define PATTERNS_FROM	2

static const struct act_case acts[] = {
	{ "sin", NPU_ACT_SIN, -15.5, 15.5, 0x1p-9, false },
	{ "cos", NPU_ACT_COS, -15.5, 15.5, 0x1p-9, false },
	{ "sqrt", NPU_ACT_SQRT, 0x1p-14, 65504, 5 * 0x1p-12, true },
	{ "rsqrt", NPU_ACT_RSQRT, 0x1p-14, 65504, 5 * 0x1p-12, true },
	{ "reciprocal", NPU_ACT_RECIPROCAL, 0x1p-14, 16384, 6 * 0x1p-12, true },
};

static double act_exact(enum npu_act act, double x)
{
	switch (act) {
	case NPU_ACT_SIN:
		return sin(x);
	case NPU_ACT_COS:
		return cos(x);
	case NPU_ACT_SQRT:
		return sqrt(x);
	case NPU_ACT_RSQRT:
		return 1 / sqrt(x);
	default:
		return 1 / x;
	}
}

static void act_case(struct npu_dev *dev, const struct act_case *c)
{
	static struct all a;
	struct npu_rec *rec = nn_rec(dev);
	double worst = 0;
	int ret;

	all_fp16(dev, &a);
	ret = nn_run(rec, npu_rec_act(rec, c->act, a.x, a.y));
	ret = ret ? ret : npu_tensor_read_f32(a.y, a.out, 0, 1);
	for (uint32_t i = 0; i < HALVES; i++) {
		double want, off;

		if (a.in[i] < c->lo || a.in[i] > c->hi)
			continue;
		want = act_exact(c->act, a.in[i]);
		off = fabs(a.out[i] - want) / (c->relative ? fabs(want) : 1);
		worst = nn_worse(worst, off / c->bound);
	}
	npu_rec_free(rec);
	free_all(&a);
	tap_ok(!ret && worst <= 1, "%s: error %d, %.3f of the bound", c->name, ret, worst);
}

static double softplus(double x, void *arg)
{
	return *(double *)arg * log1p(exp(x));
}

static double cubic(double x, void *arg)
{
	(void)arg;
	return x * x * x / 50 - x;
}

static double one_over(double x, void *arg)
{
	(void)arg;
	return 1 / x;
}

static double narrow(double x, void *arg)
{
	(void)arg;
	return 1000 + sin(40 * x) / 64;
}

/* No half, so that there is an error. */
static double line(double x, void *arg)
{
	(void)arg;
	return x - 0.3;
}

static double falling(double x, void *arg)
{
	(void)arg;
	return 0.3 - x;
}

struct fn_case {
	const char *name;
	double (*f)(double x, void *arg);
	double lo, hi;
	double expect;		/* what npu_table_error() may be at most */
};

static const struct fn_case fns[] = {
	{ "softplus", softplus, -20, 20, 0.02 },
	{ "a cubic", cubic, -7, 12.3, 0.03 },
	{ "1/x", one_over, 0.5, 30, 0.01 },
	{ "1/x below 0", one_over, -8, -0.25, 0.01 },
	{ "a narrow wave", narrow, 0.1, 0.4, 0.51 },
	{ "a wide line", cubic, -0.25, 0.25, 0x1p-10 },
	/* At the limits of values and of how far they may be apart. */
	{ "the largest", line, 60000, 65504, 1 }, { "the least", falling, 60000, 65504, 1 },
	{ "the farthest apart", line, -16383, 16383, 4 }, { "the farthest apart, falling", falling, -16383, 16383, 4 },
	{ "almost the farthest apart", line, -16380, 16380, 4 },
};

static void fn_case(struct npu_dev *dev, const struct fn_case *c)
{
	static struct all a;
	double arg = 1.5, worst = 0, bound = 0;
	struct npu_rec *rec = nn_rec(dev);
	struct npu_table *t = NULL;
	int ret;

	all_fp16(dev, &a);
	ret = npu_table_new(c->f, &arg, c->lo, c->hi, &t);
	if (!ret) {
		bound = npu_table_error(t);
		ret = npu_rec_table(rec, t, a.x, a.y);
	}
	npu_table_free(t);
	ret = nn_run(rec, ret);
	ret = ret ? ret : npu_tensor_read_f32(a.y, a.out, 0, 1);
	for (uint32_t i = 0; i < HALVES; i++)
		if (a.in[i] >= c->lo && a.in[i] <= c->hi)
			worst = nn_worse(worst, fabs(a.out[i] - c->f(a.in[i], &arg)) / bound);
	npu_rec_free(rec);
	free_all(&a);
	tap_ok(!ret && worst <= 1 && worst > 0.2 && bound <= c->expect,
	       "%s from %g to %g: error %d, %.3f of the bound %.5f", c->name, c->lo, c->hi, ret, worst,
	       bound);
}

static void test_ends(struct npu_dev *dev)
{
	static const float x[4] = { -1000, -3, 9, 60000 };
	struct npu_tensor *tx = nn_tensor(dev, NPU_PREC_FP16, 1, 4, x);
	struct npu_tensor *ty = nn_result(dev, NPU_PREC_FP16, 1, 4);
	struct npu_rec *rec = nn_rec(dev);
	struct npu_table *t = NULL;
	float y[4] = { 0 };
	double step = 11.0 / 1023;
	int ret = npu_table_new(cubic, NULL, -2, 9, &t);

	ret = ret ? ret : npu_rec_table(rec, t, tx, ty);
	npu_table_free(t);
	ret = nn_run(rec, ret);
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	tap_ok(!ret && y[0] == y[1] && fabs(y[0] - cubic(-2, NULL)) < 0.01 &&
	       fabs(y[3] - cubic(9, NULL)) < 0.01 + step * (3 * 81.0 / 50 - 1),
	       "beyond the ends: %g, %g; %g, %g", y[0], y[1], y[2], y[3]);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
}

static double large(double x, void *arg)
{
	(void)arg;
	return 3000 * x;
}

static void test_refused_tables(void)
{
	struct npu_table *t;

	tap_ok(npu_table_new(one_over, NULL, 2, 2, &t) == -EINVAL, "an empty range");
	tap_ok(npu_table_new(one_over, NULL, NAN, 2, &t) == -EINVAL, "no range");
	tap_ok(npu_table_new(one_over, NULL, 1, 1e6, &t) == -EINVAL, "more than halves have");
	tap_ok(npu_table_new(one_over, NULL, 0, 2, &t) == -EINVAL, "an infinite value");
	tap_ok(npu_table_new(large, NULL, -8, 8, &t) == -ERANGE, "values too far apart");
	tap_ok(npu_table_new(large, NULL, 25, 30, &t) == -ERANGE, "values beyond those of halves");
	tap_ok(npu_table_new(line, NULL, -16383, 16384, &t) == -ERANGE, "values just too far apart");
	tap_ok(npu_table_new(large, NULL, 21, 65505 / 3000.0, &t) == -ERANGE, "values just beyond those of halves");
}

/* One table for two operations, another one between others: the LUT always has the right one. */
static void test_uploads(struct npu_dev *dev)
{
	float x[64], y[64], z[64];
	struct npu_tensor *tx, *ty, *tz;
	struct npu_rec *rec = nn_rec(dev);
	uint64_t before, once, twice;
	struct npu_stats s = { .size = sizeof(s) };
	unsigned long bad = 0;
	int ret;

	for (int i = 0; i < 64; i++)
		x[i] = nn_half(nn_rnd() * 4);
	tx = nn_tensor(dev, NPU_PREC_FP16, 1, 64, x);
	ty = nn_result(dev, NPU_PREC_FP16, 1, 64);
	tz = nn_result(dev, NPU_PREC_FP16, 1, 64);
	npu_stats(dev, &s);
	before = s.programmed;
	ret = npu_rec_act(rec, NPU_ACT_SIN, tx, ty);
	ret = ret ? ret : npu_rec_act(rec, NPU_ACT_COS, tx, ty);
	ret = ret ? ret : npu_rec_act(rec, NPU_ACT_SIN, tx, tz);
	ret = nn_run(rec, ret);
	npu_stats(dev, &s);
	twice = s.programmed - before;
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	ret = ret ? ret : npu_tensor_read_f32(tz, z, 0, 1);
	for (int i = 0; i < 64; i++)
		bad += fabs(y[i] - cos(x[i])) > 0x1p-9 || fabs(z[i] - sin(x[i])) > 0x1p-9;
	npu_rec_free(rec);
	tap_ok(!ret && !bad, "sin, cos and sin: error %d, %lu wrong", ret, bad);
	rec = nn_rec(dev);
	npu_stats(dev, &s);
	before = s.programmed;
	ret = npu_rec_act(rec, NPU_ACT_SIN, tx, ty);
	ret = ret ? ret : npu_rec_act(rec, NPU_ACT_SIN, ty, tz);
	ret = nn_run(rec, ret);
	npu_stats(dev, &s);
	once = s.programmed - before;
	ret = ret ? ret : npu_tensor_read_f32(tz, z, 0, 1);
	for (int i = 0; i < 64; i++)
		bad += fabs(z[i] - sin(sin(x[i]))) > 0x1p-8;
	tap_ok(!ret && !bad && 2 * once < twice, "a table that is there is not written again: %u < %u",
	       (unsigned int)once, (unsigned int)twice);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	npu_tensor_free(tz);
}

/* To 13 bits of fraction, of 23. */
static float cut(float q)
{
	union { float f; uint32_t u; } v = { .f = q };

	v.u &= ~0x3ffu;
	return v.f;
}

/* @kind 0: all elements; 1: a row; 2: a column. */
static void div_case(struct npu_dev *dev, uint32_t rows, uint32_t cols, int kind)
{
	uint32_t brows = kind == 1 ? 1 : rows, bcols = kind == 2 ? 1 : cols;
	float *a = nn_floats((size_t)rows * cols, 100), *b = nn_floats((size_t)brows * bcols, 3);
	float *y = calloc((size_t)rows * cols, sizeof(*y));
	struct npu_tensor *ta, *tb, *ty = nn_result(dev, NPU_PREC_FP16, rows, cols);
	struct npu_rec *rec = nn_rec(dev);
	unsigned long bad = 0;
	int ret;

	for (uint32_t i = 0; i < brows * bcols; i++)
		b[i] = fabsf(b[i]) < 0x1p-6f ? 1 : b[i];
	ta = nn_tensor(dev, NPU_PREC_FP16, rows, cols, a);
	tb = nn_tensor(dev, NPU_PREC_FP16, brows, bcols, b);
	ret = nn_run(rec, npu_rec_div(rec, ta, tb, ty));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (uint32_t i = 0; i < rows * cols; i++) {
		float v = b[kind == 2 ? i / cols : kind == 1 ? i % cols : i];

		bad += y[i] != nn_half(cut(a[i] / v));
	}
	tap_ok(!ret && !bad, "quotients of %u x %u and %u x %u: error %d, %lu wrong", rows, cols, brows,
	       bcols, ret, bad);
	npu_rec_free(rec);
	npu_tensor_free(ta);
	npu_tensor_free(tb);
	npu_tensor_free(ty);
	free(a);
	free(b);
	free(y);
}

static void test_refused(struct npu_dev *dev)
{
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, 4, 33, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, 4, 33, NULL);
	struct npu_rec *rec = nn_rec(dev);

	tap_ok(npu_rec_div(rec, x, x, y) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	rec = nn_rec(dev);
	tap_ok(npu_rec_act(rec, NPU_ACT_RELU, x, y) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* ---- the RK3576, whose LUT takes what convolutions give ---- */

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

struct place_case {
	const char *name;
	uint32_t rows, cols;
	uint32_t row, col;	/* around the tensors */
	uint32_t tasks;		/* without the one that loads the table */
};

static const struct place_case places[] = {
	{ "one element", 1, 1, 0, 0, 1 }, { "a row", 1, 4096, 0, 0, 1 }, { "an odd row", 1, 70, 0, 0, 3 },
	{ "many rows", 1300, 96, 0, 0, 4 }, { "columns that fill no atom", 9, 45, 0, 0, 1 },
	{ "columns of larger tensors", 20, 64, 0, 32, 1 }, { "rows of larger tensors", 20, 64, 8, 0, 2 },
	{ "a row of larger tensors", 1, 64, 3, 32, 2 },
};

/* Elements behind the last column, in the same atom, that are not 0. */
static unsigned int rest_of(const struct npu_tensor *t)
{
	uint32_t end = (uint32_t)round_up(t->shape.cols, 8);
	unsigned int n = 0;

	for (uint32_t row = 0; row < t->shape.rows; row++)
		for (uint32_t col = t->shape.cols; col < end; col++)
			n += ((uint16_t *)npu_tensor_atom(t, col / 8, row))[col % 8] != 0;
	return n;
}

/* The sigmoid of 0 is not 0, so that what is behind the last column has to be cleared. */
static void place_case(struct npu_dev *dev, const struct place_case *c)
{
	uint32_t rows = c->rows + 2 * c->row, cols = c->cols + 2 * c->col;
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, rows, cols, NULL);
	struct npu_tensor *y = nn_result(dev, NPU_PREC_FP16, rows, cols), *px, *py;
	float *in = nn_floats((size_t)c->rows * c->cols, 6), *out = calloc((size_t)c->rows * c->cols, sizeof(*out));
	struct npu_rec_info info = { .size = sizeof(info) };
	struct npu_rec *rec = nn_rec(dev);
	uint32_t cleared = c->cols % 8 ? 2 : 0;
	double worst = 0;
	int ret;

	if (npu_tensor_view(x, c->row, c->rows, c->col, c->cols, &px) ||
	    npu_tensor_view(y, c->row, c->rows, c->col, c->cols, &py))
		abort();
	npu_tensor_write_f32(px, in, 0, 1);
	ret = nn_run(rec, npu_rec_act(rec, NPU_ACT_SIGMOID, px, py));
	npu_rec_get_info(rec, &info);
	ret = ret ? ret : npu_tensor_read_f32(py, out, 0, 1);
	for (size_t i = 0; i < (size_t)c->rows * c->cols; i++)
		worst = nn_worse(worst, fabs(out[i] - sigmoid(in[i])) / 0x1p-11);
	tap_ok(!ret && worst <= 1 && info.tasks >= 1 + c->tasks + cleared && !rest_of(py),
	       "function, %s: error %d, %.3f of the bound, %u tasks", c->name, ret, worst, info.tasks);
	npu_rec_free(rec);
	npu_tensor_free(px);
	npu_tensor_free(py);
	npu_tensor_free(x);
	npu_tensor_free(y);
	free(in);
	free(out);
}

#define M	12u
#define N	45u
#define K	70u

/* A function of a product's results, and of a convolution's of the same numbers. */
static void test_folded(struct npu_dev *dev)
{
	static const struct npu_window win = { .size = sizeof(win), .in_w = M, .in_h = 1, .kw = 1, .kh = 1,
					       .stride_x = 1, .stride_y = 1 };
	const struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = NPU_ACT_SIGMOID };
	const struct npu_rec_conv_opts oc = { .size = sizeof(oc), .act = NPU_ACT_SIGMOID };
	float *x = nn_floats(M * K, 1), *w = nn_floats(N * K, 1), *bias = nn_floats(N, 1), y[2][M * N];
	struct npu_conv_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .in_c = K, .out_c = N, .kw = 1,
					   .kh = 1, .bias = bias };
	struct npu_tensor *tx = nn_tensor(dev, NPU_PREC_FP16, M, K, x);
	struct npu_tensor *ty = nn_tensor(dev, NPU_PREC_FP16, M, N, NULL), *tz = nn_tensor(dev, NPU_PREC_FP16, M, N, NULL);
	struct npu_weights *tw = nn_weights(dev, N, K, w, bias), *tc = NULL;
	struct npu_rec *rec = nn_rec(dev);
	uint16_t h[N * K];
	double worst = 0;
	int ret;

	for (size_t i = 0; i < N * K; i++)
		h[i] = npu_f32_to_f16(w[i]);
	ret = npu_conv_weights_new(dev, &d, h, &tc);
	ret = ret ? ret : npu_rec_matmul(rec, tx, tw, ty, &o);
	ret = nn_run(rec, ret ? ret : npu_rec_conv(rec, tx, tc, &win, tz, &oc));
	ret = ret ? ret : npu_tensor_read_f32(ty, y[0], 0, 1);
	ret = ret ? ret : npu_tensor_read_f32(tz, y[1], 0, 1);
	for (uint32_t i = 0; i < M * N; i++) {
		double sum = bias[i % N];

		for (uint32_t k = 0; k < K; k++)
			sum += (double)x[i / N * K + k] * w[i % N * K + k];
		for (int j = 0; j < 2; j++)
			worst = nn_worse(worst, fabs(y[j][i] - sigmoid(sum)) / 0x1p-10);
	}
	tap_ok(!ret && worst <= 1 && !rest_of(ty) && !rest_of(tz),
	       "a function of a product and of a convolution: error %d, %.3f of the bound", ret, worst);
	npu_rec_free(rec);
	npu_weights_free(tw);
	npu_weights_free(tc);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	npu_tensor_free(tz);
	free(x);
	free(w);
	free(bias);
}

/* The LUT has one of bytes between two of halves. */
static void test_bytes_between(struct npu_dev *dev)
{
	float x[32], y[32] = { 0 };
	int8_t map[256], out[32] = { 0 };
	struct npu_tensor *tx, *ty = nn_result(dev, NPU_PREC_FP16, 1, 32), *tz = nn_result(dev, NPU_PREC_FP16, 1, 32);
	struct npu_tensor *a = nn_tensor(dev, NPU_PREC_INT8, 1, 32, NULL), *b = nn_tensor(dev, NPU_PREC_INT8, 1, 32, NULL);
	struct npu_rec *rec = nn_rec(dev);
	unsigned int bad = 0;
	int ret;

	for (int i = 0; i < 256; i++)
		map[i] = (int8_t)(7 * i);
	for (int i = 0; i < 32; i++)
		x[i] = nn_half(nn_rnd() * 4);
	tx = nn_tensor(dev, NPU_PREC_FP16, 1, 32, x);
	ret = npu_rec_act(rec, NPU_ACT_SIN, tx, ty);
	ret = ret ? ret : npu_rec_map_bytes(rec, map, a, b);
	ret = nn_run(rec, ret ? ret : npu_rec_act(rec, NPU_ACT_SIN, tx, tz));
	ret = ret ? ret : npu_tensor_read_f32(tz, y, 0, 1);
	ret = ret ? ret : npu_tensor_read(b, out, 0);
	for (int i = 0; i < 32; i++)
		bad += fabs(y[i] - sin(x[i])) > 0x1p-9 || out[i] != map[128];
	tap_ok(!ret && !bad, "a function of bytes between two of halves: error %d, %u wrong", ret, bad);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	npu_tensor_free(tz);
	npu_tensor_free(a);
	npu_tensor_free(b);
}

static void refused_act(struct npu_dev *dev, enum npu_act act, const char *words)
{
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL), *y = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_act(rec, act, x, y);

	tap_ok(ret == -EOPNOTSUPP && strstr(npu_rec_message(rec), words), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

static void test_rk3576(void)
{
	struct npu_dev *dev;

	sim_soc(3576);
	dev = nn_begin(OURS);
	for (nn_core_mask = 2; nn_core_mask; nn_core_mask--) {
		for (size_t i = 0; i < PATTERNS_FROM; i++)
			act_case(dev, &acts[i]);
		for (size_t i = 0; i < ARRAY_SIZE(fns); i++)
			fn_case(dev, &fns[i]);
		for (size_t i = 0; i < ARRAY_SIZE(places); i++)
			place_case(dev, &places[i]);
		test_ends(dev);
		test_uploads(dev);
		test_folded(dev);
		test_bytes_between(dev);
	}
	refused_act(dev, NPU_ACT_SQRT, "halves as numbers");
	refused_act(dev, NPU_ACT_SILU, "element-wise operations on the RK3576");
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
	sim_soc(3588);
}

int main(void)
{
	struct npu_dev *dev;

	test_rk3576();
	dev = nn_begin(DRM_ROCKET_FEATURE_BATCHED);

	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		act_case(dev, &acts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++)
		fn_case(dev, &fns[i]);
	test_ends(dev);
	test_refused_tables();
	test_uploads(dev);
	div_case(dev, 9, 64, 0);
	div_case(dev, 1, 4104, 1);
	div_case(dev, 5, 40, 2);
	test_refused(dev);
	return nn_end(dev);
}
