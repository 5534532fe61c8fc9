// SPDX-License-Identifier: MIT
/*
 * Products whose sums take more than one program.
 */
#include "nn.h"

struct sum_case {
	const char *name;
	uint32_t m, n, k;
	enum npu_prec out;
	enum npu_act act;
	bool bias, is_kn;
};

static const struct sum_case cases[] = {
	{ "to FP32", 5, 33, 4097, NPU_PREC_FP32, NPU_ACT_NONE, false, false },
	{ "to FP32, three programs", 3, 16, 9000, NPU_PREC_FP32, NPU_ACT_NONE, true, true },
	{ "to FP32 above 0", 4, 40, 8200, NPU_PREC_FP32, NPU_ACT_RELU, true, false },
	{ "to FP16", 7, 70, 5000, NPU_PREC_FP16, NPU_ACT_NONE, true, false },
	{ "to FP16, five programs", 1, 17, 16500, NPU_PREC_FP16, NPU_ACT_NONE, false, true },
	{ "to FP16 above 0", 9, 32, 4128, NPU_PREC_FP16, NPU_ACT_RELU, false, false },
	{ "to the tanh", 6, 48, 4200, NPU_PREC_FP16, NPU_ACT_TANH, true, false },
};

struct data {
	float *x, *w, *bias, *y;
};

/* The bounds of npu_rec_matmul() and enum npu_act. */
static double excess(const struct sum_case *c, const struct data *d, uint32_t m, uint32_t n)
{
	double sum = c->bias ? d->bias[n] : 0, size = fabs(sum), off;

	for (uint32_t k = 0; k < c->k; k++) {
		double p = (double)d->x[(size_t)m * c->k + k] *
			   d->w[c->is_kn ? (size_t)k * c->n + n : (size_t)n * c->k + k];

		sum += p;
		size += fabs(p);
	}
	off = c->k * 0x1p-24 * size;
	if (c->out == NPU_PREC_FP16)
		off += fabs(sum) * 0x1p-11 + 0x1p-25;
	if (c->act == NPU_ACT_RELU)
		sum = fmax(sum, 0);
	if (c->act == NPU_ACT_TANH) {
		sum = tanh(sum);
		off += 0x1p-10;
	}
	return fabs(d->y[(size_t)m * c->n + n] - sum) / off;
}

static struct npu_weights *weights(struct npu_dev *dev, const struct sum_case *c,
				   const struct data *d)
{
	struct npu_weights_desc desc = {
		.size = sizeof(desc),
		.type = NPU_PREC_FP16, .n = c->n, .k = c->k, .is_kn = c->is_kn,
		.bias = c->bias ? d->bias : NULL,
	};
	size_t count = (size_t)c->n * c->k;
	uint16_t *h = malloc(count * sizeof(*h));
	struct npu_weights *w = NULL;

	for (size_t i = 0; i < count; i++)
		h[i] = npu_f32_to_f16(d->w[i]);
	npu_weights_new(dev, &desc, h, &w);
	free(h);
	return w;
}

static void sum_case(struct npu_dev *dev, const struct sum_case *c)
{
	struct data d = {
		nn_floats((size_t)c->m * c->k, 1), nn_floats((size_t)c->n * c->k, 0x1p-5),
		nn_floats(c->n, 1), calloc((size_t)c->m * c->n, sizeof(float)),
	};
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, c->m, c->k, d.x);
	struct npu_tensor *y = nn_result(dev, c->out, c->m, c->n);
	struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = c->act, .max_n = 32 };
	struct npu_weights *w = weights(dev, c, &d);
	struct npu_rec *rec = nn_rec(dev);
	double worst = 0;
	int ret;

	ret = nn_run(rec, npu_rec_matmul(rec, x, w, y, &o));
	ret = ret ? ret : npu_tensor_read_f32(y, d.y, 0, 1);
	for (uint32_t m = 0; m < c->m; m++)
		for (uint32_t n = 0; n < c->n; n++)
			worst = nn_worse(worst, excess(c, &d, m, n));
	tap_ok(!ret && worst <= 1 && npu_rec_info(rec).ops == 1,
	       "%u x %u x %u %s: error %d, %.3f of the bound", c->m, c->n, c->k, c->name, ret, worst);
	npu_rec_free(rec);
	npu_weights_free(w);
	npu_tensor_free(x);
	npu_tensor_free(y);
	free(d.x);
	free(d.w);
	free(d.bias);
	free(d.y);
}

/* Sums at the ends of what 32 bits hold: K of 139264 and 127 * 127 exceed them. */
static void int_case(struct npu_dev *dev, uint32_t k, int8_t xv, int8_t wv, enum npu_act act)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 2, .k = k };
	int64_t want = (int64_t)k * xv * wv;
	int8_t *x = malloc(k), *w = malloc(2 * (size_t)k);
	struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = act };
	struct npu_rec *rec = nn_rec(dev);
	struct npu_weights *weights = NULL;
	struct npu_tensor *tx, *ty;
	int32_t y[2] = { 0 };
	int ret;

	want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
	want = act == NPU_ACT_RELU && want < 0 ? 0 : want;
	memset(x, xv, k);
	memset(w, wv, 2 * (size_t)k);
	w[k] = 0;
	npu_weights_new(dev, &d, w, &weights);
	npu_tensor_new(dev, NPU_PREC_INT8, 1, k, &tx);
	npu_tensor_new(dev, NPU_PREC_INT32, 1, 2, &ty);
	npu_tensor_write(tx, x, 0);
	ret = nn_run(rec, npu_rec_matmul(rec, tx, weights, ty, &o));
	ret = ret ? ret : npu_tensor_read(ty, y, 0);
	tap_ok(!ret && y[0] == want, "%u products of %d and %d%s: %d, error %d", k, xv, wv,
	       act ? ", above 0" : "", y[0], ret);
	npu_rec_free(rec);
	npu_weights_free(weights);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(w);
}

/*
 * Sums that are too large for halves, then others in the same memory, with fewer columns; what
 * is behind these must not spoil the product that takes them.
 */
static void test_leftovers(struct npu_dev *dev)
{
	enum { M = 4, K = 4200, WIDE = 64, N = 33 };
	float *x = malloc(M * K * sizeof(*x)), *w = malloc(WIDE * K * sizeof(*w)), last[N], y[M] = { 0 };
	struct npu_tensor *tx, *big, *ty, *tz;
	const struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	struct npu_weights *w1, *w2, *w3;
	struct npu_rec *rec = nn_rec(dev);
	unsigned int bad = 0;
	int ret;

	for (int i = 0; i < M * K; i++)
		x[i] = 1;
	for (int i = 0; i < WIDE * K; i++)
		w[i] = i < N * K ? 0x1p-10f : 100;
	for (int i = 0; i < N; i++)
		last[i] = 1;
	tx = nn_tensor(dev, NPU_PREC_FP16, M, K, x);
	big = nn_tensor(dev, NPU_PREC_FP32, M, WIDE, NULL);
	ty = nn_tensor(dev, NPU_PREC_FP16, M, N, NULL);
	tz = nn_tensor(dev, NPU_PREC_FP32, M, 1, NULL);
	w1 = nn_weights(dev, WIDE, K, w, NULL);
	w2 = nn_weights(dev, N, K, w, NULL);
	w3 = nn_weights(dev, 1, N, last, NULL);
	ret = npu_rec_matmul(rec, tx, w1, big, &relu);
	ret = ret ? ret : npu_rec_matmul(rec, tx, w2, ty, NULL);
	ret = nn_run(rec, ret ? ret : npu_rec_matmul(rec, ty, w3, tz, NULL));
	ret = ret ? ret : npu_tensor_read_f32(tz, y, 0, 1);
	for (int m = 0; m < M; m++)
		bad += !(fabs(y[m] - N * K * 0x1p-10) <= N * K * 0x1p-20);
	tap_ok(!ret && !bad, "large sums before, then %g for %g: error %d", (double)y[0],
	       N * K * 0x1p-10, ret);
	npu_rec_free(rec);
	npu_weights_free(w1);
	npu_weights_free(w2);
	npu_weights_free(w3);
	npu_tensor_free(tx);
	npu_tensor_free(big);
	npu_tensor_free(ty);
	npu_tensor_free(tz);
	free(x);
	free(w);
}

static void test_refused(struct npu_dev *dev)
{
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .n = 32, .k = 4097, .rq = { .scale = 1 },
	};
	struct npu_weights *w = NULL;
	struct npu_tensor *x, *y;
	struct npu_rec *rec = nn_rec(dev);
	int8_t *src = calloc(32, 4097);

	npu_weights_new(dev, &d, src, &w);
	npu_tensor_new(dev, NPU_PREC_INT8, 1, 4097, &x);
	npu_tensor_new(dev, NPU_PREC_INT8, 1, 32, &y);
	tap_ok(npu_rec_matmul(rec, x, w, y, NULL) == -EINVAL && strstr(npu_rec_message(rec), "4096"),
	       "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_weights_free(w);
	npu_tensor_free(x);
	npu_tensor_free(y);
	free(src);
	tap_ok(!sim_bos(), "nothing is left");
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	sim_features(DRM_ROCKET_FEATURE_BATCHED);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		sum_case(dev, &cases[i]);
	int_case(dev, 5000, 127, -128, NPU_ACT_NONE);
	int_case(dev, 5000, 127, -128, NPU_ACT_RELU);
	int_case(dev, 139264, 127, 127, NPU_ACT_NONE);
	int_case(dev, 139264, -128, 127, NPU_ACT_NONE);
	test_leftovers(dev);
	test_refused(dev);
	npu_close(dev);
	return tap_done();
}
