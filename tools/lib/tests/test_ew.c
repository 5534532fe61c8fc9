// SPDX-License-Identifier: MIT
/*
 * Element-wise operations against doubles.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "tensor/npu_compute.h"
#include "sim.h"
#include "tap.h"

static unsigned int seed = 11;

static float rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (float)((int)(seed >> 8) % 4001 - 2000);
}

typedef int (*op_fn)(struct npu_rec *rec, const struct npu_tensor *a, const struct npu_tensor *b,
		     struct npu_tensor *y);

static const struct op {
	const char *name;
	op_fn fn;
} ops[] = {
	{ "add", npu_rec_add }, { "sub", npu_rec_sub }, { "mul", npu_rec_mul },
	{ "max", npu_rec_max }, { "min", npu_rec_min },
};

static double exact(op_fn fn, double a, double b)
{
	if (fn == npu_rec_add)
		return a + b;
	if (fn == npu_rec_sub)
		return a - b;
	if (fn == npu_rec_mul)
		return a * b;
	return fn == npu_rec_max ? fmax(a, b) : fmin(a, b);
}

/* The bounds of npu_rec.h. */
static bool close_enough(enum npu_prec type, double got, double want, double a, double b)
{
	double big = fmax(fabs(a), fabs(b));

	if (type == NPU_PREC_FP16)
		return fabs(got - want) <= ldexp(fabs(want), -11) + ldexp(big, -23);
	return got == (type == NPU_PREC_FP32 ? (float)want : want);
}

static int write_tensor(struct npu_tensor *t, const float *v)
{
	int32_t *i;
	int ret;

	if (t->shape.type != NPU_PREC_INT32)
		return npu_tensor_write_f32(t, v, 0, 1);
	i = malloc((size_t)t->shape.rows * t->shape.cols * sizeof(*i));
	for (uint32_t k = 0; k < t->shape.rows * t->shape.cols; k++)
		i[k] = (int32_t)v[k];
	ret = npu_tensor_write(t, i, 0);
	free(i);
	return ret;
}

static void fill(float *v, size_t n, enum npu_prec type)
{
	for (size_t i = 0; i < n; i++)
		v[i] = type == NPU_PREC_INT32 ? rnd() : npu_f16_to_f32(npu_f32_to_f16(rnd() / 64));
}

static void op_case(struct npu_dev *dev, const struct op *op, enum npu_prec type,
		    uint32_t rows, uint32_t cols, bool row)
{
	float *a = malloc(rows * cols * sizeof(*a)), *b = malloc(rows * cols * sizeof(*b));
	float *y = calloc(rows * cols, sizeof(*y));
	struct npu_tensor *ta, *tb, *ty;
	unsigned long bad = 0;
	struct npu_rec *rec;
	int ret;

	fill(a, rows * cols, type);
	fill(b, rows * cols, type);
	npu_tensor_new(dev, type, rows, cols, &ta);
	npu_tensor_new(dev, type, row ? 1 : rows, cols, &tb);
	npu_tensor_new(dev, type, rows, cols, &ty);
	write_tensor(ta, a);
	write_tensor(tb, b);
	npu_rec_new(dev, NULL, &rec);
	ret = op->fn(rec, ta, tb, ty);
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (uint32_t i = 0; i < rows * cols; i++) {
		double bv = b[row ? i % cols : i];

		bad += !close_enough(type, y[i], exact(op->fn, a[i], bv), a[i], bv);
	}
	npu_rec_free(rec);
	npu_tensor_free(ta);
	npu_tensor_free(tb);
	npu_tensor_free(ty);
	tap_ok(!ret && !bad && !sim_bos(), "%s of type %d, %u x %u%s: error %d, %lu wrong", op->name,
	       type, rows, cols, row ? " and a row" : "", ret, bad);
	free(a);
	free(b);
	free(y);
}

static void test_ops(struct npu_dev *dev)
{
	static const enum npu_prec types[] = { NPU_PREC_FP16, NPU_PREC_FP32, NPU_PREC_INT32 };
	static const uint32_t size[][2] = { { 1, 1 }, { 1, 70 }, { 5, 33 }, { 24, 64 } };

	for (size_t o = 0; o < ARRAY_SIZE(ops); o++)
		for (size_t t = 0; t < ARRAY_SIZE(types); t++)
			for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
				if (ops[o].fn == npu_rec_mul && types[t] != NPU_PREC_FP16)
					continue;
				op_case(dev, &ops[o], types[t], size[i][0], size[i][1], false);
				op_case(dev, &ops[o], types[t], size[i][0], size[i][1], true);
			}
	op_case(dev, &ops[0], NPU_PREC_FP16, 4100, 40, false);
	op_case(dev, &ops[1], NPU_PREC_INT32, 3, 5000, true);
}

/* y = (a + b) * c in parts of tensors: rows 4 to 7, columns 32 on. */
static void test_views(struct npu_dev *dev)
{
	enum { R = 12, C = 96, N = R * C };
	float a[N], b[C], y[N] = { 0 };
	struct npu_tensor *ta, *tb, *mid, *ty, *va, *vb, *vm, *vy;
	struct npu_rec *rec;
	unsigned long bad = 0;

	fill(a, N, NPU_PREC_FP16);
	fill(b, C, NPU_PREC_FP16);
	npu_tensor_new(dev, NPU_PREC_FP16, R, C, &ta);
	npu_tensor_new(dev, NPU_PREC_FP16, 1, C, &tb);
	npu_tensor_new(dev, NPU_PREC_FP16, R, C, &mid);
	npu_tensor_new(dev, NPU_PREC_FP16, R, C, &ty);
	npu_tensor_write_f32(ta, a, 0, 1);
	npu_tensor_write_f32(tb, b, 0, 1);
	npu_tensor_view(ta, 4, 4, 32, 64, &va);
	npu_tensor_view(tb, 0, 1, 32, 64, &vb);
	npu_tensor_view(mid, 8, 4, 0, 64, &vm);
	npu_tensor_view(ty, 4, 4, 32, 64, &vy);
	npu_rec_new(dev, NULL, &rec);
	npu_rec_max(rec, va, vb, vm);
	npu_rec_min(rec, vm, va, vy);
	npu_rec_end(rec);
	npu_rec_run(rec);
	npu_rec_wait(rec, -1);
	npu_tensor_read_f32(ty, y, 0, 1);
	for (int r = 0; r < R; r++)
		for (int c = 0; c < C; c++) {
			bool in = r >= 4 && r < 8 && c >= 32;

			/* min(max(a, b), a) = a */
			bad += y[r * C + c] != (in ? a[r * C + c] : 0);
		}
	npu_rec_free(rec);
	npu_tensor_free(va);
	npu_tensor_free(vb);
	npu_tensor_free(vm);
	npu_tensor_free(vy);
	npu_tensor_free(ta);
	npu_tensor_free(tb);
	npu_tensor_free(mid);
	npu_tensor_free(ty);
	tap_ok(!bad && !sim_bos(), "parts of tensors, and nothing beside them: %lu wrong", bad);
}

/* ---- functions ---- */

static const struct act {
	const char *name;
	enum npu_act act;
} acts[] = {
	{ "sigmoid", NPU_ACT_SIGMOID }, { "tanh", NPU_ACT_TANH }, { "exp", NPU_ACT_EXP },
	{ "silu", NPU_ACT_SILU }, { "gelu", NPU_ACT_GELU },
};

#define HALVES	65536u

static bool finite_half(uint32_t h)
{
	return (h & 0x7c00) != 0x7c00;
}

/* Each finite half, so that each step and both sides of each edge are met. */
static void act_case(struct npu_dev *dev, const struct act *a)
{
	uint16_t *x = malloc(HALVES * 2), *y = malloc(HALVES * 2);
	struct npu_tensor *tx, *ty;
	struct npu_rec *rec;
	double worst = 0;
	int ret;

	for (uint32_t i = 0; i < HALVES; i++)
		x[i] = finite_half(i) ? (uint16_t)i : 0;
	npu_tensor_new(dev, NPU_PREC_FP16, 1024, 64, &tx);
	npu_tensor_new(dev, NPU_PREC_FP16, 1024, 64, &ty);
	npu_tensor_write(tx, x, 0);
	npu_rec_new(dev, NULL, &rec);
	ret = npu_rec_act(rec, a->act, tx, ty);
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_tensor_read(ty, y, 0);
	for (uint32_t i = 0; i < HALVES; i++) {
		double xv = npu_f16_to_f32(x[i]), want = act_exact(a->act, xv);
		double off = fabs(npu_f16_to_f32(y[i]) - want);

		/* Not a number is as bad as it gets. */
		worst = !(off / act_bound(a->act, xv, want) <= worst) && off > 0 ?
			off / act_bound(a->act, xv, want) : worst;
	}
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	tap_ok(!ret && worst <= 1 && !sim_bos(), "%s of all finite halves: error %d, %.2f of the bound",
	       a->name, ret, worst);
	free(x);
	free(y);
}

/* A table folded into a product of several tiles, and another one after it. */
static void test_folded(struct npu_dev *dev)
{
	enum { M = 9, K = 32, N = 48 };
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = N, .k = K };
	struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = NPU_ACT_TANH, .max_m = 4, .max_n = 16 };
	float x[M * K], y[M * N], z[M * N];
	struct npu_tensor *tx, *ty, *tz;
	uint16_t w[N * K];
	float wf[N * K];
	struct npu_weights *weights;
	struct npu_rec *rec;
	unsigned long bad = 0;

	fill(x, M * K, NPU_PREC_FP16);
	for (int i = 0; i < M * K; i++)
		x[i] /= 64;
	for (int i = 0; i < N * K; i++) {
		w[i] = npu_f32_to_f16(rnd() / 2000);
		wf[i] = npu_f16_to_f32(w[i]);
	}
	npu_weights_new(dev, &d, w, &weights);
	npu_tensor_new(dev, NPU_PREC_FP16, M, K, &tx);
	npu_tensor_new(dev, NPU_PREC_FP16, M, N, &ty);
	npu_tensor_new(dev, NPU_PREC_FP16, M, N, &tz);
	npu_tensor_write_f32(tx, x, 0, 1);
	npu_tensor_read_f32(tx, x, 0, 1);
	npu_rec_new(dev, NULL, &rec);
	npu_rec_matmul(rec, tx, weights, ty, &o);
	npu_rec_act(rec, NPU_ACT_SIGMOID, ty, tz);
	npu_rec_end(rec);
	npu_rec_run(rec);
	npu_rec_wait(rec, -1);
	npu_tensor_read_f32(ty, y, 0, 1);
	npu_tensor_read_f32(tz, z, 0, 1);
	for (int m = 0; m < M; m++)
		for (int n = 0; n < N; n++) {
			double sum = 0;

			for (int k = 0; k < K; k++)
				sum += x[m * K + k] * wf[n * K + k];
			bad += !(fabs(y[m * N + n] - tanh(sum)) <= 0x1p-10);
			bad += !(fabs(z[m * N + n] - act_exact(NPU_ACT_SIGMOID, y[m * N + n])) <=
				 0x1p-11);
		}
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	npu_tensor_free(tz);
	npu_weights_free(weights);
	tap_ok(!bad && !sim_bos(), "tanh in a product, then sigmoid: %lu wrong", bad);
}

/* A column for rows of @a, and a result, or a part of one, of other rows. */
static void refused_column(struct npu_dev *dev, op_fn fn, uint32_t rows, uint32_t y_rows, bool part)
{
	struct npu_tensor *a, *b, *y, *view = NULL;
	struct npu_rec *rec;
	int ret;

	npu_tensor_new(dev, NPU_PREC_FP16, rows, 32, &a);
	npu_tensor_new(dev, NPU_PREC_FP16, rows, 1, &b);
	npu_tensor_new(dev, NPU_PREC_FP16, part ? y_rows + 8 : y_rows, 32, &y);
	if (part)
		npu_tensor_view(y, 4, y_rows, 0, 32, &view);
	npu_rec_new(dev, NULL, &rec);
	ret = fn(rec, a, b, view ? view : y);
	tap_ok(ret == -EINVAL && strstr(npu_rec_message(rec), "do not fit"), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(view);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(y);
}

static void test_refused_columns(struct npu_dev *dev)
{
	for (size_t o = 0; o < ARRAY_SIZE(ops); o++) {
		refused_column(dev, ops[o].fn, 16, 8, false);
		refused_column(dev, ops[o].fn, 5, 8, false);
		refused_column(dev, ops[o].fn, 16, 8, true);
		refused_column(dev, ops[o].fn, 5, 8, true);
	}
	refused_column(dev, npu_rec_div, 16, 8, false);
	refused_column(dev, npu_rec_div, 5, 8, false);
}

static void test_refused(struct npu_dev *dev)
{
	struct npu_tensor *a, *i, *b, *y;
	struct npu_rec *rec;

	npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &a);
	npu_tensor_new(dev, NPU_PREC_FP16, 2, 32, &b);
	npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &y);
	npu_tensor_new(dev, NPU_PREC_INT8, 4, 32, &i);
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_add(rec, a, b, y) == -EINVAL && strstr(npu_rec_message(rec), "do not fit"),
	       "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_mul(rec, i, i, i) == -EINVAL && strstr(npu_rec_message(rec), "no mode"),
	       "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_sub(rec, y, a, y) == -EINVAL && strstr(npu_rec_message(rec), "shares"),
	       "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(y);
	npu_tensor_free(i);
	tap_ok(!sim_bos(), "nothing is left");
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	test_ops(dev);
	test_views(dev);
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		act_case(dev, &acts[i]);
	test_folded(dev);
	test_refused(dev);
	test_refused_columns(dev);
	npu_close(dev);
	return tap_done();
}
