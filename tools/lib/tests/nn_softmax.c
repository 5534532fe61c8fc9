// SPDX-License-Identifier: MIT
/*
 * Softmax and norms against doubles, at and within their bounds.
 */
#include <errno.h>

#include "nn.h"

/* ---- softmax ---- */

enum { ANY, SAME, LARGE, MASKED, ONE_OUT, FLAT };

static float logit(int kind, uint32_t i, uint32_t n)
{
	switch (kind) {
	case SAME:
		return 3.25f;
	case LARGE:
		return nn_half(60000 * nn_rnd());
	case MASKED:
		return i % 3 ? -60000 : nn_half(5 * nn_rnd());
	case ONE_OUT:
		return i % n == n / 2 ? 40 : -nn_half(4 * fabs(nn_rnd()));
	case FLAT:
		/* Just above half of an entry of the table, but for one. */
		return i % n ? -11.0f : 0;
	default:
		return nn_half(6 * nn_rnd());
	}
}

struct soft {
	uint32_t rows, cols;
	int kind;
	struct npu_softmax_opts o;
};

/* The worst of a row by the bound of npu_rec_softmax(). */
static double row_excess(const struct soft *c, const float *x, const float *y, uint32_t row)
{
	uint32_t seen = c->o.causal ? c->cols - c->rows + row + 1 : c->cols;
	double s = c->o.scale ? (double)c->o.scale : 1, most = -INFINITY, sum = 0, worst = 0;

	for (uint32_t i = 0; i < seen; i++)
		most = fmax(most, x[i]);
	for (uint32_t i = 0; i < seen; i++)
		sum += exp(s * (x[i] - most));
	for (uint32_t i = 0; i < c->cols; i++) {
		double t = s * (most - x[i]), want = i < seen ? exp(-t) / sum : 0;
		double off = 0x1p-24;

		if (i < seen)
			off += want * ((13 + fmin(t, 1e4) + log(c->cols)) * 0x1p-11 +
				       sqrt(c->cols) * 0x1p-14) + sqrt(want) * 0x1p-14;
		worst = nn_worse(worst, fabs(y[i] - want) / off);
	}
	return worst;
}

static void soft_case(struct npu_dev *dev, const struct soft *c)
{
	size_t n = (size_t)c->rows * c->cols;
	float *x = malloc(n * sizeof(*x)), *y = calloc(n, sizeof(*y));
	struct npu_rec *rec = nn_rec(dev);
	struct npu_softmax_opts o = c->o;
	struct npu_tensor *tx, *ty;
	double worst = 0;
	int ret;

	o.size = sizeof(o);
	for (size_t i = 0; i < n; i++)
		x[i] = logit(c->kind, (uint32_t)i, c->cols);
	tx = nn_tensor(dev, NPU_PREC_FP16, c->rows, c->cols, x);
	ty = nn_result(dev, NPU_PREC_FP16, c->rows, c->cols);
	ret = nn_run(rec, npu_rec_softmax(rec, tx, ty, &o));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (uint32_t r = 0; r < c->rows; r++)
		worst = nn_worse(worst, row_excess(c, x + (size_t)r * c->cols,
						   y + (size_t)r * c->cols, r));
	tap_ok(!ret && worst <= 1, "softmax of %u x %u, kind %d, scale %g%s: error %d, %.3f of the bound",
	       c->rows, c->cols, c->kind, (double)c->o.scale, c->o.causal ? ", causal" : "", ret,
	       worst);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(y);
}

static void test_softmax(struct npu_dev *dev)
{
	static const struct soft cases[] = {
		{ 1, 1, ANY, { .scale = 0 } },
		{ 6, 1, LARGE, { .scale = 0 } },
		{ 5, 33, ANY, { .scale = 0 } },
		{ 9, 64, SAME, { .scale = 0 } },
		{ 3, 70, LARGE, { .scale = 0 } },
		{ 7, 48, MASKED, { .scale = 0 } },
		{ 4, 100, ONE_OUT, { .scale = 0 } },
		{ 2, 4096, FLAT, { .scale = 0 } },
		{ 2, 4096, ANY, { .scale = 0 } },
		{ 1, 5000, ANY, { .scale = 0 } },
		{ 70, 2500, ANY, { .scale = 0 } },
		/* Maxima of more rows than one task spreads. */
		{ 4100, 24, ANY, { .scale = 1 } },
		{ 8, 64, ANY, { .scale = 0.125f } },
		{ 8, 64, ANY, { .scale = 0.088388f } },
		{ 8, 80, ANY, { .scale = 8 } },
		{ 3, 50, LARGE, { .scale = 0x1p-11f } },
		{ 16, 16, ANY, { .causal = true } },
		{ 5, 37, LARGE, { .causal = true } },
		{ 1, 9, SAME, { .causal = true } },
		{ 33, 33, MASKED, { .scale = 0.5f, .causal = true } },
		/* Whose mask is written in parts. */
		{ 597, 600, ANY, { .causal = true } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		soft_case(dev, &cases[i]);
}

static void test_refused(struct npu_dev *dev)
{
	static const struct npu_softmax_opts causal = { .size = sizeof(causal), .causal = true };
	static const struct npu_softmax_opts hot = { .size = sizeof(hot), .scale = 9 };
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, 8, 4, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, 8, 4, NULL);
	struct npu_tensor *z = nn_tensor(dev, NPU_PREC_FP32, 8, 4, NULL);
	struct npu_tensor *big = nn_tensor(dev, NPU_PREC_FP16, 1, 32800, NULL);
	const struct npu_softmax_opts *opts[] = { &causal, &hot, NULL, NULL, NULL };
	const struct npu_tensor *in[] = { x, x, z, x, big };
	struct npu_tensor *out[] = { y, y, y, x, big };

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		struct npu_rec *rec = nn_rec(dev);
		int ret = npu_rec_softmax(rec, in[i], out[i], opts[i]);

		tap_ok(ret == (in[i] == big ? -E2BIG : -EINVAL), "%s", npu_rec_message(rec));
		npu_rec_free(rec);
	}
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_tensor_free(z);
	npu_tensor_free(big);
}

/* A mask that is written in parts. */
#define MANY	1024u

static void test_mask_is_handed_once(struct npu_dev *dev)
{
	struct npu_softmax_opts o = { .size = sizeof(o), .causal = true };
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, MANY, MANY, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, MANY, MANY, NULL);
	struct npu_rec *rec = nn_rec(dev);
	uint64_t bytes = sim_handed();
	int ret = npu_rec_softmax(rec, x, y, &o);

	bytes = sim_handed() - bytes;
	tap_ok(!ret && bytes <= 4 * (uint64_t)MANY * MANY, "a causal mask is handed to the NPU once: %llu bytes",
	       (unsigned long long)bytes);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* ---- norms ---- */

struct norm {
	uint32_t rows, cols;
	double mean, spread, eps;
	bool layer, gamma, beta;
};

/* The worst of a row by the bounds of npu_nn.h. */
static double norm_excess(const struct norm *c, const float *x, const float *g, const float *b,
			  const float *y)
{
	double mean = 0, sq = 0, root, worst = 0, eps = fmax(c->eps, 0x1p-26);

	for (uint32_t i = 0; c->layer && i < c->cols; i++)
		mean += x[i] / (double)c->cols;
	for (uint32_t i = 0; i < c->cols; i++)
		sq += (x[i] - mean) * (x[i] - mean) / c->cols;
	root = sqrt(sq + eps);
	for (uint32_t i = 0; i < c->cols; i++) {
		double gamma = c->gamma ? g[i] : 1, beta = c->beta ? b[i] : 0;
		double norm = (x[i] - mean) / root, want = norm * gamma + beta, off;

		off = c->layer ? (21 * fabs(norm) + 2) * 0x1p-11 + 0x1p-18 * fabs(mean) / root :
				 11 * 0x1p-11 * fabs(norm) + 0x1p-18;
		off = off * fabs(gamma) + 0x1p-24;
		if (c->gamma && c->layer)
			off += fabs(norm * gamma) * 0x1p-11 + 0x1p-24;
		if (c->beta)
			off += fabs(want) * 0x1p-11 + 0x1p-24;
		worst = nn_worse(worst, fabs(y[i] - want) / off);
	}
	return worst;
}

static void norm_case(struct npu_dev *dev, const struct norm *c)
{
	size_t n = (size_t)c->rows * c->cols;
	float *x = nn_floats(n, c->spread), *y = calloc(n, sizeof(*y));
	float *g = nn_floats(c->cols, 2), *b = nn_floats(c->cols, 1);
	struct npu_tensor *tg = nn_tensor(dev, NPU_PREC_FP16, 1, c->cols, g);
	struct npu_tensor *tb = nn_tensor(dev, NPU_PREC_FP16, 1, c->cols, b);
	struct npu_norm_opts o = {
		.size = sizeof(o),
		.gamma = c->gamma ? tg : NULL, .beta = c->beta ? tb : NULL, .epsilon = (float)c->eps,
	};
	struct npu_rec *rec = nn_rec(dev);
	struct npu_tensor *tx, *ty;
	double worst = 0;
	int ret;

	for (size_t i = 0; i < n; i++)
		x[i] = nn_half(x[i] + c->mean);
	tx = nn_tensor(dev, NPU_PREC_FP16, c->rows, c->cols, x);
	ty = nn_result(dev, NPU_PREC_FP16, c->rows, c->cols);
	ret = nn_run(rec, c->layer ? npu_rec_layer_norm(rec, tx, ty, &o) :
				     npu_rec_rms_norm(rec, tx, ty, &o));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (uint32_t r = 0; r < c->rows; r++)
		worst = nn_worse(worst, norm_excess(c, x + (size_t)r * c->cols, g, b,
						    y + (size_t)r * c->cols));
	tap_ok(!ret && worst <= 1,
	       "%s norm of %u x %u, %g +- %g, epsilon %g%s%s: error %d, %.3f of the bound",
	       c->layer ? "layer" : "rms", c->rows, c->cols, c->mean, c->spread, c->eps,
	       c->gamma ? ", gamma" : "", c->beta ? ", beta" : "", ret, worst);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	npu_tensor_free(tg);
	npu_tensor_free(tb);
	free(x);
	free(y);
	free(g);
	free(b);
}

static void test_norms(struct npu_dev *dev)
{
	static const struct norm cases[] = {
		{ 1, 1, 0, 5, 1e-5, false, false, false },
		{ 5, 33, 0, 1, 1e-5, false, true, false },
		{ 8, 64, 0, 60000, 1e-6, false, true, true },
		{ 4, 96, 0, 1e-5, 1e-5, false, false, false },
		{ 3, 70, 0, 0, 1e-5, false, false, true },
		{ 3, 70, 0, 0, 0, false, false, false },
		{ 2, 4096, 0.5, 3, 1e-6, false, true, false },
		{ 1, 8192, 0, 0.01, 0, false, false, false },
		{ 1, 1, 0, 5, 1e-5, true, false, false },
		{ 5, 33, 0, 1, 1e-5, true, true, true },
		{ 8, 64, 100, 1, 1e-5, true, true, true },
		{ 6, 77, -3000, 20, 1e-5, true, true, false },
		{ 4, 48, 7, 0, 1e-3, true, false, true },
		{ 3, 768, 0.1, 1e-3, 1e-5, true, true, true },
		{ 2, 4096, 1, 2, 1e-6, true, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		norm_case(dev, &cases[i]);
}

static void test_refused_norms(struct npu_dev *dev)
{
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_tensor *big = nn_tensor(dev, NPU_PREC_FP16, 1, 8200, NULL);
	struct npu_norm_opts bad_row = { .size = sizeof(bad_row), .gamma = x };
	struct npu_norm_opts bad_eps = { .size = sizeof(bad_eps), .epsilon = 2 };
	struct npu_rec *rec = nn_rec(dev);

	tap_ok(npu_rec_rms_norm(rec, x, y, &bad_row) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	rec = nn_rec(dev);
	tap_ok(npu_rec_layer_norm(rec, x, y, &bad_eps) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	rec = nn_rec(dev);
	tap_ok(npu_rec_layer_norm(rec, big, big, NULL) == -E2BIG, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_tensor_free(big);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(DRM_ROCKET_FEATURE_BATCHED);

	test_softmax(dev);
	test_refused(dev);
	test_mask_is_handed_once(dev);
	test_norms(dev);
	test_refused_norms(dev);
	return nn_end(dev);
}
