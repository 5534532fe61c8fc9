// SPDX-License-Identifier: MIT
/*
 * Products of bf16, within their bound of doubles.
 */
#include "nn.h"

#define BF16	NPU_PREC_BF16
#define F32	NPU_PREC_FP32

struct product {
	uint32_t m, n, k;
	enum npu_prec out;
	bool bias, relu;
	uint32_t cores;
};

static const struct product products[] = {
	{ 5, 33, 70, BF16, false, false, 1 }, { 1, 64, 4096, BF16, true, false, 1 },
	{ 9, 16, 200, F32, true, true, 1 }, { 4, 40, 5000, F32, true, false, 1 },
	{ 24, 48, 96, BF16, false, true, 3 },
};

static float *numbers(size_t n, float size)
{
	float *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = npu_bf16_to_f32(npu_f32_to_bf16(nn_rnd() * size));
	return v;
}

static struct npu_weights *weights(struct npu_dev *dev, const struct product *p, const float *w,
				   const float *bias)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = BF16, .n = p->n, .k = p->k, .bias = p->bias ? bias : NULL };
	uint16_t *src = malloc((size_t)p->n * p->k * sizeof(*src));
	struct npu_weights *out = NULL;

	for (size_t i = 0; i < (size_t)p->n * p->k; i++)
		src[i] = npu_f32_to_bf16(w[i]);
	npu_weights_new(dev, &d, src, &out);
	free(src);
	return out;
}

static double excess(const struct product *p, const float *x, const float *w, double bias, double y)
{
	double sum = p->bias ? bias : 0, size = fabs(sum);

	for (uint32_t k = 0; k < p->k; k++) {
		sum += (double)x[k] * w[k];
		size += fabs((double)x[k] * w[k]);
	}
	sum = p->relu ? fmax(sum, 0) : sum;
	return fabs(y - sum) / (p->k * 0x1p-24 * size + (p->out == BF16 ? fabs(sum) * 0x1p-8 : 0) + 0x1p-133);
}

/* Numbers to 2^100, which halves have not. */
static void product(struct npu_dev *dev, const struct product *p)
{
	float *x = numbers((size_t)p->m * p->k, 0x1p60f), *w = numbers((size_t)p->n * p->k, 0x1p40f);
	float *bias = numbers(p->n, 0x1p100f), *y = calloc((size_t)p->m * p->n, sizeof(*y));
	struct npu_tensor *tx = nn_tensor(dev, BF16, p->m, p->k, x), *ty = nn_tensor(dev, p->out, p->m, p->n, NULL);
	struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = p->relu ? NPU_ACT_RELU : NPU_ACT_NONE };
	struct npu_weights *tw = weights(dev, p, w, bias);
	struct npu_rec_opts ro = { .size = sizeof(ro), .cores = p->cores };
	struct npu_rec *rec = NULL;
	double worst = 0;
	int ret;

	npu_rec_new(dev, &ro, &rec);
	ret = nn_run(rec, npu_rec_matmul(rec, tx, tw, ty, &o));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (uint32_t i = 0; i < p->m * p->n; i++)
		worst = nn_worse(worst, excess(p, x + (size_t)(i / p->n) * p->k, w + (size_t)(i % p->n) * p->k,
					       bias[i % p->n], y[i]));
	tap_ok(!ret && worst <= 1 && npu_rec_info(rec).chains == p->cores,
	       "%u x %u x %u to type %d%s%s: error %d, %.3f of the bound", p->m, p->n, p->k, p->out,
	       p->bias ? " with bias" : "", p->relu ? " above 0" : "", ret, worst);
	npu_rec_free(rec);
	npu_weights_free(tw);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(w);
	free(bias);
	free(y);
}

static void refuse(struct npu_dev *dev, const char *word, uint32_t k, enum npu_prec in, enum npu_prec out,
		   enum npu_act act)
{
	struct product p = { .m = 4, .n = 32, .k = k };
	float *w = numbers((size_t)p.n * k, 1);
	struct npu_tensor *x = nn_tensor(dev, in, p.m, k, NULL), *y = nn_tensor(dev, out, p.m, p.n, NULL);
	struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = act };
	struct npu_weights *tw = weights(dev, &p, w, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_matmul(rec, x, tw, y, &o);

	tap_ok(ret == -EINVAL && strstr(npu_rec_message(rec), word), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_weights_free(tw);
	npu_tensor_free(x);
	npu_tensor_free(y);
	free(w);
}

static void test_elements(struct npu_dev *dev)
{
	struct npu_tensor *x = nn_tensor(dev, BF16, 4, 32, NULL), *y = nn_tensor(dev, BF16, 4, 32, NULL);
	struct npu_rec *rec = nn_rec(dev);

	tap_ok(npu_rec_add(rec, x, x, y) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	rec = nn_rec(dev);
	tap_ok(npu_rec_softmax(rec, x, y, NULL) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	for (size_t i = 0; i < ARRAY_SIZE(products); i++)
		product(dev, &products[i]);
	refuse(dev, "more than 4096", 4097, BF16, BF16, NPU_ACT_NONE);
	refuse(dev, "no mode", 64, NPU_PREC_FP16, BF16, NPU_ACT_NONE);
	refuse(dev, "no mode", 64, BF16, NPU_PREC_FP16, NPU_ACT_NONE);
	refuse(dev, "folded", 64, BF16, BF16, NPU_ACT_TANH);
	test_elements(dev);
	return nn_end(dev);
}
