// SPDX-License-Identifier: MIT
/*
 * Attention against doubles, within its bound.
 */
#include <errno.h>

#include "nn.h"
#include "rec/npu_recorder.h"

/* Below this a mask leaves nothing of a token. */
#define MASKED	(-1000.0f)

struct att {
	uint32_t rows, tokens, dim;
	struct npu_attention_opts o;
	double size;		/* of queries and keys; below 0 there is one element in each row */
};

struct data {
	float *q, *k, *v, *y, *mask;
};

static uint32_t kv_heads(const struct att *c)
{
	return c->o.kv_heads ? c->o.kv_heads : c->o.heads;
}

static double dot(const float *a, const float *b, uint32_t n, double *size)
{
	double sum = 0;

	*size = 0;
	for (uint32_t i = 0; i < n; i++) {
		sum += (double)a[i] * b[i];
		*size += fabs((double)a[i] * b[i]);
	}
	return sum;
}

/* Shares of the tokens; how far a value of 1 may be off. */
static double shares(const struct att *c, const struct data *d, uint32_t row, uint32_t head, double *p)
{
	uint32_t kv = head / (c->o.heads / kv_heads(c)), kcols = kv_heads(c) * c->dim;
	uint32_t seen = c->o.causal ? c->tokens - c->rows + row + 1 : c->tokens;
	const float *q = d->q + (size_t)row * c->o.heads * c->dim + head * c->dim;
	double scale = c->o.scale ? (double)c->o.scale : 1 / sqrt(c->dim);
	double most = -INFINITY, sum = 0, big = 0, sizes = 0, size, n = c->tokens;

	for (uint32_t t = 0; t < seen; t++) {
		float mask = d->mask ? d->mask[(size_t)row * c->tokens + t] : 0;

		p[t] = dot(q, d->k + (size_t)t * kcols + kv * c->dim, c->dim, &size);
		big = fmax(big, fabs(p[t]) + (mask < MASKED ? 0 : fabs(p[t] + (double)mask)));
		p[t] += (double)mask;
		most = fmax(most, p[t]);
		sizes = fmax(sizes, size);
	}
	for (uint32_t t = 0; t < c->tokens; t++) {
		p[t] = t < seen ? exp(scale * (p[t] - most)) : 0;
		sum += p[t];
	}
	for (uint32_t t = 0; t < c->tokens; t++)
		p[t] /= sum;
	return expm1(2 * scale * (0x1p-11 * big + c->dim * 0x1p-24 * sizes)) +
	       (15 + 2 * log(n)) * 0x1p-11 + 2 * sqrt(n) * 0x1p-14 + n * 0x1p-23;
}

/* The worst of a head's row. */
static double excess(const struct att *c, const struct data *d, uint32_t row, uint32_t head, double *p)
{
	uint32_t kv = head / (c->o.heads / kv_heads(c)), kcols = kv_heads(c) * c->dim;
	double off = shares(c, d, row, head, p), worst = 0;

	for (uint32_t i = 0; i < c->dim; i++) {
		double want = 0, most = 0;
		float got = d->y[(size_t)row * c->o.heads * c->dim + head * c->dim + i];

		for (uint32_t t = 0; t < c->tokens; t++) {
			double v = d->v[(size_t)t * kcols + kv * c->dim + i];

			want += p[t] * v;
			most = fmax(most, fabs(v));
		}
		worst = nn_worse(worst, fabs(got - want) /
					(most * off + fabs(want) * 0x1p-11 + 0x1p-24));
	}
	return worst;
}

static double worst_of(const struct att *c, const struct data *d)
{
	double *p = malloc(c->tokens * sizeof(*p)), worst = 0;

	/* All rows of few tokens, and some of many. */
	for (uint32_t row = 0; row < c->rows; row += c->tokens > 300 && row + 38 < c->rows ? 37 : 1)
		for (uint32_t head = 0; head < c->o.heads; head++)
			worst = nn_worse(worst, excess(c, d, row, head, p));
	free(p);
	return worst;
}

/* Scores that are exact: @size squared where two rows are alike, else 0. */
static void single_out(float *v, size_t rows, uint32_t dim, double size)
{
	for (size_t i = 0; size < 0 && i < rows * dim; i++)
		v[i] = i % dim == i / dim % dim ? (float)size : 0;
}

/* Numbers, some of them large. */
static float *some_mask(const struct att *c)
{
	float *mask = nn_floats((size_t)c->rows * c->tokens, 3);

	for (uint32_t i = 0; i < c->rows * c->tokens; i++)
		if (i % c->tokens != i / c->tokens && nn_rnd() > 0)
			mask[i] = -32768;
	return mask;
}

/* The tokens of @c, which may be the last of @cache rows; @whole must be freed as well. */
static struct npu_tensor *tokens_of(struct npu_dev *dev, const struct att *c, uint32_t cache, const float *src,
				    uint32_t cols, struct npu_tensor **whole)
{
	struct npu_tensor *view = NULL;

	*whole = NULL;
	if (!cache)
		return nn_tensor(dev, NPU_PREC_FP16, c->tokens, cols, src);
	*whole = nn_result(dev, NPU_PREC_FP16, cache, cols);
	npu_tensor_view(*whole, cache - c->tokens, c->tokens, 0, cols, &view);
	npu_tensor_write_f32(view, src, 0, 1);
	return view;
}

static void att_case(struct npu_dev *dev, const struct att *c, bool masked, uint32_t cores, uint32_t cache)
{
	uint32_t qcols = c->o.heads * c->dim, kcols = kv_heads(c) * c->dim;
	struct data d = {
		nn_floats((size_t)c->rows * qcols, c->size), nn_floats((size_t)c->tokens * kcols, c->size),
		nn_floats((size_t)c->tokens * kcols, 2), calloc((size_t)c->rows * qcols, sizeof(float)),
		masked ? some_mask(c) : NULL,
	};
	struct npu_attention_opts o = c->o;
	struct npu_tensor *q, *k, *v, *all_k, *all_v, *mask = NULL, *y = nn_result(dev, NPU_PREC_FP16, c->rows, qcols);
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = cores };
	unsigned int starts = sim_starts;
	struct npu_rec *rec = NULL;
	struct npu_rec_info info;
	double worst;
	int ret;

	single_out(d.q, (size_t)c->rows * c->o.heads, c->dim, c->size);
	single_out(d.k, (size_t)c->tokens * kv_heads(c), c->dim, c->size);
	q = nn_tensor(dev, NPU_PREC_FP16, c->rows, qcols, d.q);
	k = tokens_of(dev, c, cache, d.k, kcols, &all_k);
	v = tokens_of(dev, c, cache, d.v, kcols, &all_v);
	if (d.mask)
		mask = nn_tensor(dev, NPU_PREC_FP16, c->rows, c->tokens, d.mask);
	o.size = sizeof(o);
	o.mask = mask;
	npu_rec_new(dev, &opts, &rec);
	ret = nn_run(rec, npu_rec_attention(rec, q, k, v, y, &o));
	ret = ret ? ret : npu_tensor_read_f32(y, d.y, 0, 1);
	worst = ret ? INFINITY : worst_of(c, &d);
	info = npu_rec_info(rec);
	tap_ok(!ret && worst <= 1 && sim_starts - starts == 2 * info.chains &&
	       (info.tasks <= NPU_REC_MAX_TASKS ? info.chains == cores : info.chains > cores) &&
	       info.stages == 1,
	       "%u rows, %u tokens, %u and %u heads of %u, size %g%s%s: %u tasks, %u start each, error %d, %.3f of the bound",
	       c->rows, c->tokens, c->o.heads, kv_heads(c), c->dim, c->size, c->o.causal ? ", causal" : "",
	       masked ? ", masked" : "", info.tasks, (sim_starts - starts) / 2, ret, worst);
	npu_rec_free(rec);
	npu_tensor_free(q);
	npu_tensor_free(k);
	npu_tensor_free(v);
	npu_tensor_free(all_k);
	npu_tensor_free(all_v);
	npu_tensor_free(y);
	npu_tensor_free(mask);
	free(d.q);
	free(d.k);
	free(d.v);
	free(d.y);
	free(d.mask);
}

static void test_attention(struct npu_dev *dev)
{
	static const struct att cases[] = {
		{ 1, 1, 32, { .heads = 1 }, 1 },
		{ 1, 100, 64, { .heads = 4, .kv_heads = 2 }, 2 },
		{ 9, 9, 32, { .heads = 1, .causal = true }, 3 },
		{ 5, 70, 32, { .heads = 3, .causal = true }, 2 },
		{ 64, 64, 64, { .heads = 2, .scale = 0.25f }, 1 },
		{ 70, 70, 64, { .heads = 6, .kv_heads = 2, .causal = true }, 2 },
		/* Blocks of rows. */
		{ 70, 75, 32, { .heads = 2, .max_rows = 32, .causal = true }, 2 },
		{ 100, 50, 32, { .heads = 2, .max_rows = 32 }, 1 },
		/* Shares of 0 and 1, and all the same. */
		{ 40, 48, 128, { .heads = 1 }, 60 },
		{ 40, 48, 64, { .heads = 1, .causal = true }, 0 },
		{ 48, 96, 32, { .heads = 3, .kv_heads = 1 }, -12 },
		{ 128, 128, 64, { .heads = 3, .causal = true }, 2 },
		{ 512, 512, 64, { .heads = 1, .causal = true }, 2 },
		{ 2, 4096, 128, { .heads = 2, .kv_heads = 1 }, 1 },
		/* Weights of several parts, the last of which may be smaller. */
		{ 3, 8192, 64, { .heads = 2, .causal = true }, 1 },
		{ 5, 8200, 64, { .heads = 2, .kv_heads = 1, .causal = true }, 1 },
		{ 33, 32768, 32, { .heads = 1, .max_rows = 32, .causal = true }, 1 },
		{ 2, 32767, 64, { .heads = 1 }, 2 },
		/* A head that begins with more tasks than a chain can have. */
		{ 2, 32768, 576, { .heads = 1, .scale = 1 }, -4 },
		/* Sums of several programs. */
		{ 96, 1500, 32, { .heads = 2, .causal = true }, 2 },
		/* More tasks than a chain can have. */
		{ 1500, 64, 32, { .heads = 9, .kv_heads = 3, .max_rows = 32 }, 1 },
	};
	static const struct att cached[] = {
		{ 1, 128, 64, { .heads = 4, .kv_heads = 2 }, 2 }, { 5, 70, 96, { .heads = 3, .causal = true }, 2 },
		{ 4, 100, 64, { .heads = 6 }, 1 },
	};
	static const struct att shared = { 1500, 64, 32, { .heads = 27, .kv_heads = 9, .max_rows = 32 }, 1 };

	/* Blocks of rows, and tokens that fill no group of columns. */
	static const struct att masked[] = {
		{ 40, 64, 64, { .heads = 4, .kv_heads = 2 }, 1 },
		{ 70, 70, 32, { .heads = 2, .max_rows = 32, .scale = 0.5f }, 1 },
		{ 70, 83, 32, { .heads = 2, .causal = true }, 1 },
		{ 3, 9001, 32, { .heads = 1, .causal = true }, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		att_case(dev, &cases[i], false, 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
		att_case(dev, &masked[i], true, 1, 0);
	att_case(dev, &shared, false, 3, 0);
	att_case(dev, &cached[0], false, 1, 8192);
	att_case(dev, &cached[0], false, 1, 8196);
	att_case(dev, &cached[1], false, 1, 20002);
	att_case(dev, &cached[2], false, 3, 9000);
}

/* What one core is started for: as often per head, or less, as three submits would be. */
static void count_case(struct npu_dev *dev, uint32_t rows, uint32_t tokens, const struct npu_attention_opts *o,
		       uint32_t dim, uint32_t most)
{
	struct npu_tensor *q = nn_tensor(dev, NPU_PREC_FP16, rows, o->heads * dim, NULL);
	struct npu_tensor *k = nn_tensor(dev, NPU_PREC_FP16, tokens, o->kv_heads * dim, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, rows, o->heads * dim, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_attention(rec, q, k, k, y, o);
	struct npu_rec_info info = npu_rec_info(rec);

	tap_ok(!ret && info.ops == 1 && info.chains <= most,
	       "%u rows, %u heads of %u and %u tokens: %u tasks, %u starts of one core: error %d", rows, o->heads, dim,
	       tokens, info.tasks, info.chains, ret);
	npu_rec_free(rec);
	npu_tensor_free(q);
	npu_tensor_free(k);
	npu_tensor_free(y);
}

/* The heads that each of three cores has, and all of them on one. */
static void test_counts(struct npu_dev *dev)
{
	static const struct npu_attention_opts share = { .size = sizeof(share), .heads = 4, .kv_heads = 4, .causal = true };
	static const struct npu_attention_opts all = { .size = sizeof(all), .heads = 12, .kv_heads = 12, .causal = true };
	static const struct npu_attention_opts grouped = {
		.size = sizeof(grouped), .heads = 32, .kv_heads = 8, .causal = true,
	};

	for (uint32_t tokens = 128; tokens <= 4096; tokens *= 2)
		count_case(dev, tokens, tokens, &share, 64, 1);
	count_case(dev, 4096, 4096, &all, 64, 2);
	count_case(dev, 1024, 1024, &grouped, 128, 1);
	count_case(dev, 4096, 4096, &grouped, 128, 6);
	count_case(dev, 512, 32768, &grouped, 128, 16);
}

/* Behind tasks of another operation, which leave no room for what a large head begins with, or for its rows. */
static void behind_case(struct npu_dev *dev, uint32_t before, uint32_t rows, uint32_t tokens, uint32_t dim,
			uint32_t max_rows, uint32_t chains)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 32, .k = 32 };
	struct npu_rec_matmul_opts four = { .size = sizeof(four), .max_m = 4 };
	struct npu_attention_opts o = { .size = sizeof(o), .max_rows = max_rows };
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_INT8, before * 4, 32, NULL);
	struct npu_tensor *t = nn_tensor(dev, NPU_PREC_INT32, before * 4, 32, NULL);
	struct npu_tensor *q = nn_tensor(dev, NPU_PREC_FP16, rows, dim, NULL);
	struct npu_tensor *k = nn_tensor(dev, NPU_PREC_FP16, tokens, dim, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, rows, dim, NULL);
	static const int8_t src[32 * 32];
	struct npu_rec *rec = nn_rec(dev);
	struct npu_weights *w = NULL;
	struct npu_rec_info info;
	int ret = npu_weights_new(dev, &d, src, &w);

	ret = ret ? ret : npu_rec_matmul(rec, x, w, t, &four);
	info = npu_rec_info(rec);
	ret = ret ? ret : npu_rec_attention(rec, q, k, k, y, &o);
	tap_ok(!ret && info.tasks == before && npu_rec_info(rec).chains == chains,
	       "%u rows and a head of %u x %u behind %u tasks: %u tasks, %u chains: error %d, %s", rows, tokens, dim,
	       before, npu_rec_info(rec).tasks, npu_rec_info(rec).chains, ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(t);
	npu_tensor_free(q);
	npu_tensor_free(k);
	npu_tensor_free(y);
	npu_weights_free(w);
}

static void test_behind(struct npu_dev *dev)
{
	behind_case(dev, 1, 4, 4096, 2048, 0, 1);
	behind_case(dev, 3000, 4, 4096, 1024, 0, 1);
	behind_case(dev, 3000, 4, 4096, 2048, 0, 2);
	behind_case(dev, 3071, 4, 4096, 1536, 0, 2);
	behind_case(dev, 600, 4, 4096, 4096, 0, 1);
	behind_case(dev, 2000, 4096, 4096, 1024, 4096, 2);
	/* Scores are of whole groups of tokens. */
	behind_case(dev, 3610, 2040, 140, 2304, 0, 2);
	/* Copies of 8192 rows are two tasks. */
	behind_case(dev, 3795, 4, 8200, 32, 0, 2);
	behind_case(dev, 3797, 4, 8200, 32, 0, 2);
}

static void refused(struct npu_dev *dev, const struct att *c, uint32_t kcols, int err)
{
	struct npu_tensor *q = nn_tensor(dev, NPU_PREC_FP16, c->rows, c->o.heads * c->dim, NULL);
	struct npu_tensor *k = nn_tensor(dev, NPU_PREC_FP16, c->tokens, kcols, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, c->rows, c->o.heads * c->dim, NULL);
	struct npu_attention_opts o = c->o;
	struct npu_rec *rec = nn_rec(dev);

	o.size = sizeof(o);
	tap_ok(npu_rec_attention(rec, q, k, k, y, &o) == err && npu_rec_end(rec) == err, "%s",
	       npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(q);
	npu_tensor_free(k);
	npu_tensor_free(y);
}

static void refused_mask(struct npu_dev *dev)
{
	struct npu_tensor *q = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, 4, 32, NULL);
	struct npu_tensor *mask = nn_tensor(dev, NPU_PREC_FP16, 4, 8, NULL);
	struct npu_attention_opts o = { .size = sizeof(o), .mask = mask };
	struct npu_rec *rec = nn_rec(dev);

	tap_ok(npu_rec_attention(rec, q, q, q, y, &o) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(q);
	npu_tensor_free(y);
	npu_tensor_free(mask);
}

/* Memory is used again all the time, but nothing is read that was not made before. */
static void test_rerun(struct npu_dev *dev)
{
	struct npu_attention_opts o = { .size = sizeof(o), .heads = 2, .max_rows = 32, .causal = true };
	struct npu_tensor *t[3], *y = nn_result(dev, NPU_PREC_FP16, 70, 64);
	struct npu_rec *rec = nn_rec(dev);
	float *v = nn_floats(70 * 64, 1);
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = nn_tensor(dev, NPU_PREC_FP16, 70, 64, v);
	ret = npu_rec_attention(rec, t[0], t[1], t[2], y, &o);
	ret = ret ? ret : npu_rec_end(rec);
	sim_rerun();
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	tap_ok(!ret, "may run twice: error %d", ret);
	npu_rec_free(rec);
	npu_tensor_free(y);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
	free(v);
}

static void test_refused(struct npu_dev *dev)
{
	static const struct att cases[] = {
		{ 4, 4, 40, { .heads = 2 }, 0 },
		{ 4, 4, 32, { .heads = 3, .kv_heads = 2 }, 0 },
		{ 8, 4, 32, { .heads = 2, .causal = true }, 0 },
		{ 4, 4, 32, { .heads = 2, .scale = 10 }, 0 },
		{ 4, 32800, 32, { .heads = 2 }, 0 },
	};

	refused(dev, &cases[0], 80, -EINVAL);
	refused(dev, &cases[1], 64, -EINVAL);
	refused(dev, &cases[2], 64, -EINVAL);
	refused(dev, &cases[3], 64, -EINVAL);
	refused(dev, &cases[3], 32, -EINVAL);
	refused(dev, &cases[4], 64, -E2BIG);
	refused_mask(dev);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED);

	test_attention(dev);
	test_counts(dev);
	test_behind(dev);
	test_rerun(dev);
	test_refused(dev);
	return nn_end(dev);
}
