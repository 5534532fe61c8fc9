// SPDX-License-Identifier: MIT
/*
 * Sums, means and maxima of rows, and one value per row as an operand.
 */
#include "nn.h"

typedef int (*reduce_fn)(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y);

/* The bounds of npu_nn.h. */
static double excess(reduce_fn fn, const float *x, uint32_t n, enum npu_prec type, double got)
{
	double sum = 0, size = 0, most = -INFINITY, want, off;

	for (uint32_t i = 0; i < n; i++) {
		sum += x[i];
		size += fabs(x[i]);
		most = fmax(most, x[i]);
	}
	if (fn == npu_rec_reduce_max)
		return got == most ? 0 : INFINITY;
	want = fn == npu_rec_reduce_mean ? sum / n : sum;
	off = n * 0x1p-24 * size * want / (sum ? sum : 1) + 0x1p-40;
	if (fn == npu_rec_reduce_mean)
		off += fabs(want) * 0x1p-11;
	if (type == NPU_PREC_FP16)
		off += fabs(want) * 0x1p-11 + 0x1p-25;
	return fabs(got - want) / fabs(off);
}

/* @kind 0: any numbers; 1: all the same; 2: all negative, large; 3: one stands out. */
static float number(int kind, uint32_t i)
{
	switch (kind) {
	case 1:
		return 0.75f;
	case 2:
		return nn_half(-1000 + 900 * nn_rnd());
	case 3:
		return i % 37 == 5 ? 500 : -0.25f;
	default:
		return nn_rnd();
	}
}

static void reduce_case(struct npu_dev *dev, const char *name, reduce_fn fn, enum npu_prec type,
			uint32_t rows, uint32_t cols, int kind)
{
	float *x = malloc((size_t)rows * cols * sizeof(*x)), *y = calloc(rows, sizeof(*y));
	struct npu_rec *rec = nn_rec(dev);
	struct npu_tensor *tx, *ty;
	double worst = 0;
	int ret;

	for (size_t i = 0; i < (size_t)rows * cols; i++)
		x[i] = number(kind, (uint32_t)i);
	tx = nn_tensor(dev, NPU_PREC_FP16, rows, cols, x);
	ty = nn_result(dev, type, rows, 1);
	ret = nn_run(rec, fn(rec, tx, ty));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (uint32_t r = 0; r < rows; r++)
		worst = nn_worse(worst, excess(fn, x + (size_t)r * cols, cols, type, y[r]));
	tap_ok(!ret && worst <= 1, "%s of %u x %u, kind %d, to type %d: error %d, %.3f of the bound",
	       name, rows, cols, kind, type, ret, worst);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(y);
}

static void test_reductions(struct npu_dev *dev)
{
	static const uint32_t size[][2] = {
		{ 1, 1 }, { 1, 70 }, { 5, 1 }, { 9, 33 }, { 24, 64 }, { 3, 4096 }, { 6, 9001 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (int kind = 0; kind < 4; kind++) {
			uint32_t m = size[i][0], n = size[i][1];

			reduce_case(dev, "sum", npu_rec_reduce_sum, NPU_PREC_FP32, m, n, kind);
			reduce_case(dev, "mean", npu_rec_reduce_mean, NPU_PREC_FP16, m, n, kind);
			reduce_case(dev, "maximum", npu_rec_reduce_max, NPU_PREC_FP16, m, n, kind);
		}
	reduce_case(dev, "maximum", npu_rec_reduce_max, NPU_PREC_FP16, 4100, 48, 0);
}

/* y = a OP b with a value of b per row. */
static void column_case(struct npu_dev *dev, bool mul, uint32_t rows, uint32_t cols)
{
	size_t n = (size_t)rows * cols;
	float *a = nn_floats(n, 3), *b = nn_floats(rows, 5), *y = calloc(n, sizeof(*y));
	struct npu_tensor *ta = nn_tensor(dev, NPU_PREC_FP16, rows, cols, a);
	struct npu_tensor *tb = nn_tensor(dev, NPU_PREC_FP16, rows, 1, b);
	struct npu_tensor *ty = nn_result(dev, NPU_PREC_FP16, rows, cols);
	struct npu_rec *rec = nn_rec(dev);
	unsigned long bad = 0;
	int ret;

	ret = nn_run(rec, mul ? npu_rec_mul(rec, ta, tb, ty) : npu_rec_sub(rec, ta, tb, ty));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (size_t i = 0; i < n; i++) {
		double x = a[i], v = b[i / cols];

		bad += y[i] != nn_half((float)(mul ? x * v : x - v));
	}
	tap_ok(!ret && !bad && npu_rec_info(rec).ops == 1,
	       "%s %u x %u and a column: error %d, %lu wrong", mul ? "mul" : "sub", rows, cols, ret,
	       bad);
	npu_rec_free(rec);
	npu_tensor_free(ta);
	npu_tensor_free(tb);
	npu_tensor_free(ty);
	free(a);
	free(b);
	free(y);
}

static void test_argmax(struct npu_dev *dev)
{
	static const float v[3][5] = {
		{ -3, -1, -1, -7, -2 }, { 0, 0, 0, 0, 9 }, { NAN, NAN, 1, 0, NAN },
	};
	static const int32_t i[1][3] = { { 16777216, 16777217, 16777216 } };
	struct npu_tensor *t = nn_tensor(dev, NPU_PREC_FP16, 3, 5, v[0]), *ti;
	uint32_t col[3] = { 9, 9, 9 };

	tap_ok(!npu_tensor_argmax(t, col) && col[0] == 1 && col[1] == 4 && col[2] == 2,
	       "where the largest halves are: %u, %u, %u", col[0], col[1], col[2]);
	npu_tensor_free(t);
	ti = nn_tensor(dev, NPU_PREC_INT32, 1, 3, NULL);
	npu_tensor_write(ti, i, 0);
	tap_ok(!npu_tensor_argmax(ti, col) && col[0] == 1, "the largest word: %u", col[0]);
	npu_tensor_free(ti);
}

static void refused(struct npu_dev *dev, reduce_fn fn, enum npu_prec in, uint32_t n,
		    enum npu_prec out, uint32_t cols, int err)
{
	struct npu_tensor *x = nn_tensor(dev, in, 4, n, NULL);
	struct npu_tensor *y = nn_tensor(dev, out, 4, cols, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = fn(rec, x, y);

	tap_ok(ret == err && *npu_rec_message(rec) && npu_rec_end(rec) == err, "%d: %s", ret,
	       npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

static void test_refused(struct npu_dev *dev)
{
	refused(dev, npu_rec_reduce_sum, NPU_PREC_INT8, 8, NPU_PREC_FP32, 1, -EINVAL);
	refused(dev, npu_rec_reduce_sum, NPU_PREC_FP16, 8, NPU_PREC_FP32, 2, -EINVAL);
	refused(dev, npu_rec_reduce_max, NPU_PREC_FP16, 8, NPU_PREC_FP32, 1, -EINVAL);
	refused(dev, npu_rec_reduce_mean, NPU_PREC_FP16, 16385, NPU_PREC_FP32, 1, -E2BIG);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(DRM_ROCKET_FEATURE_BATCHED);

	test_reductions(dev);
	column_case(dev, true, 9, 70);
	column_case(dev, true, 1, 33);
	column_case(dev, false, 40, 4100);
	test_argmax(dev);
	test_refused(dev);
	return nn_end(dev);
}
