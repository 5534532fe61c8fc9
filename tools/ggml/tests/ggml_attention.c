// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attention of grouped queries with a mask: against doubles, what is started for it, rows that see
 * nothing, and what the backend leaves to the CPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml_check.h"

#define D	40
#define HEADS	4
#define KV	2
#define ROWS	37
#define TOKENS	83
/* Sees no token. */
#define BLIND	5
/* What is added to all scores of a row alike. */
static float beside(int row)
{
	return row == 7 ? -65504 : row == 8 ? -20000 : row == 9 ? -1000 : row == 10 ? 2000 : 0;
}

struct attention {
	int rows, tokens;
	int used;	/* of the tokens; others are those of a cache that nobody has used yet */
	struct ggml_context *ctx;
	ggml_backend_buffer_t buf;
	struct ggml_tensor *q, *k, *v, *mask, *sinks, *y;
};

static void make_of(struct attention *a, int rows, int tokens, enum ggml_type type, float bias, float cap, bool sinks)
{
	a->rows = rows;
	a->tokens = tokens;
	a->used = tokens;
	a->ctx = context();
	a->q = ggml_new_tensor_3d(a->ctx, GGML_TYPE_F32, D, a->rows, HEADS);
	a->k = ggml_new_tensor_3d(a->ctx, type, D, a->tokens, KV);
	a->v = ggml_new_tensor_3d(a->ctx, type, D, a->tokens, KV);
	a->mask = ggml_new_tensor_2d(a->ctx, GGML_TYPE_F16, a->tokens, a->rows);
	a->y = ggml_flash_attn_ext(a->ctx, a->q, a->k, a->v, a->mask, 1 / sqrtf(D), bias, cap);
	a->sinks = sinks ? ggml_new_tensor_1d(a->ctx, GGML_TYPE_F32, HEADS) : NULL;
	if (sinks)
		ggml_flash_attn_ext_add_sinks(a->y, a->sinks);
	a->buf = allocate(a->ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
}

static void make(struct attention *a, enum ggml_type type, float bias, float cap)
{
	make_of(a, ROWS, TOKENS, type, bias, cap, false);
}

static bool masked(const struct attention *a, int row, int token)
{
	return token >= a->used || row == BLIND || token > a->tokens - a->rows + row || (row + token) % 11 == 3;
}

static void set(struct attention *a)
{
	ggml_fp16_t *mask = malloc(ggml_nbytes(a->mask));

	fill_fp16(a->q);
	fill_fp16(a->k);
	fill_fp16(a->v);
	for (int i = 0; i < a->rows * a->tokens; i++)
		mask[i] = ggml_fp32_to_fp16(masked(a, i / a->tokens, i % a->tokens) ? -INFINITY : beside(i / a->tokens) + rnd());
	ggml_backend_tensor_set(a->mask, mask, 0, ggml_nbytes(a->mask));
	free(mask);
}

static void drop(struct attention *a)
{
	ggml_backend_buffer_free(a->buf);
	ggml_free(a->ctx);
}

static enum ggml_status go_on(struct attention *a, ggml_backend_t backend)
{
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	enum ggml_status status;

	ggml_build_forward_expand(graph, a->y);
	status = ggml_backend_graph_compute(backend, graph);
	ggml_free(ctx);
	return status;
}

static enum ggml_status go(struct attention *a)
{
	return go_on(a, tested());
}

static double half_at(const struct ggml_tensor *t, int i)
{
	return (double)ggml_fp16_to_fp32(((const ggml_fp16_t *)t->data)[i]);
}

/* Shares of the tokens, without their sum; returns that. */
static double shares(const struct attention *a, int row, int head, double *p)
{
	const float *q = (const float *)a->q->data + (head * a->rows + row) * D;
	double sink = a->sinks ? (double)((const float *)a->sinks->data)[head] : -INFINITY, sum, most = sink;

	for (int t = 0; t < a->tokens; t++) {
		double score = 0;

		for (int i = 0; i < D; i++)
			score += (double)q[i] * half_at(a->k, (head / (HEADS / KV) * a->tokens + t) * D + i);
		p[t] = masked(a, row, t) ? -INFINITY : score / sqrt(D) + half_at(a->mask, row * a->tokens + t);
		most = fmax(most, p[t]);
	}
	sum = isinf(sink) ? 0 : exp(sink - most);
	for (int t = 0; t < a->tokens; t++) {
		p[t] = isinf(p[t]) ? 0 : exp(p[t] - most);
		sum += p[t];
	}
	return sum;
}

/* The largest error of a row; values are up to 1. */
static double off(const struct attention *a, int row)
{
	double *p = malloc((size_t)a->tokens * sizeof(*p)), worst = 0;

	for (int head = 0; head < HEADS; head++) {
		double sum = shares(a, row, head, p);

		for (int i = 0; i < D; i++) {
			float got = ((const float *)a->y->data)[(row * HEADS + head) * D + i];
			double want = 0;

			for (int t = 0; sum > 0 && t < a->tokens; t++)
				want += p[t] / sum * half_at(a->v, (head / (HEADS / KV) * a->tokens + t) * D + i);
			worst = isnan(got) ? INFINITY : fmax(worst, fabs(want - (double)got));
		}
	}
	free(p);
	return worst;
}

/*
 * libnpu's bound of npu_rec_attention(): scores are up to D / sqrt(D), and up to 1 more with the mask;
 * queries that are scaled are rounded once more.
 */
static double bound(const struct attention *a)
{
	double largest = sqrt(D), e = 0x1p-11 * (3 * largest + 1) + D * 0x1p-24 * largest;

	return expm1(2 * e) + (15 + 2 * log(a->tokens)) * 0x1p-11 + 2 * sqrt(a->tokens) * 0x1p-14 +
	       a->tokens * 0x1p-23 + 0x1p-11;
}

/* Normalised mean square error of all rows that see something. */
static double nmse(const struct attention *a)
{
	double *p = malloc((size_t)a->tokens * sizeof(*p)), err = 0, sum = 0;

	for (int at = 0; at < a->rows * HEADS; at++) {
		int row = at / HEADS, head = at % HEADS;
		double all = shares(a, row, head, p);

		for (int i = 0; i < D && all > 0; i++) {
			double got = (double)((const float *)a->y->data)[at * D + i], want = 0;

			for (int t = 0; t < a->tokens; t++)
				want += p[t] / all * half_at(a->v, (head / (HEADS / KV) * a->tokens + t) * D + i);
			err += isfinite(got) ? (want - got) * (want - got) : INFINITY;
			sum += want * want;
		}
	}
	free(p);
	return err / sum;
}

/* Each column of the keys has up to so much in common, as with biases; what nobody sees is NaN. */
static void set_keys(struct attention *a, float offset)
{
	ggml_fp16_t *k = a->k->data;

	for (int i = 0; i < KV * a->tokens * D; i++) {
		bool unused = i / D % a->tokens >= a->used;

		k[i] = ggml_fp32_to_fp16(unused ? NAN : rnd() + offset * (float)(i % D % 5 - 2) / 2);
	}
}

static void offsets(void)
{
	static const float by[] = { 0, 10, 100, 400 };
	struct attention a;
	double worst = 0;

	make(&a, GGML_TYPE_F16, 0, 0);
	set(&a);
	for (int i = 0; i < 2 * (int)(sizeof(by) / sizeof(*by)); i++) {
		double e;

		a.used = i % 2 ? TOKENS - 12 : TOKENS;
		set(&a);
		set_keys(&a, by[i / 2]);
		e = go(&a) == GGML_STATUS_SUCCESS ? nmse(&a) : INFINITY;
		printf("# keys with biases of %g, %d of %d tokens used: %g\n", (double)by[i / 2], a.used, TOKENS, e);
		worst = fmax(worst, e);
	}
	tap(worst <= 1e-6, "keys with biases: normalised mean square error %g", worst);
	drop(&a);
}

static void right(void)
{
	struct rknpu_ggml_stats before = stats(), after;
	struct attention a, b;
	double worst = 0;
	bool ok;

	make(&a, GGML_TYPE_F16, 0, 0);
	make(&b, GGML_TYPE_F16, 0, 0);
	set(&a);
	set(&b);
	ok = go(&a) == GGML_STATUS_SUCCESS && go(&b) == GGML_STATUS_SUCCESS;
	after = stats();
	for (int row = 0; row < ROWS; row++)
		worst = row == BLIND ? worst : fmax(worst, fmax(off(&a, row), off(&b, row)));
	tap(ok && worst <= bound(&a), "attention with a mask: off by %g, and %g may be", worst, bound(&a));
	tap(off(&a, BLIND) == 0, "a row that sees nothing is 0");
	tap(after.runs - before.runs == 2 && after.recorded - before.recorded == 1,
	    "all heads take one ioctl, and layers share a recording");
	drop(&a);
	drop(&b);
}

/* With biases of keys, which a sink knows nothing of; some heads look at little else. */
static void sinks(void)
{
	uint64_t before = stats().to_cpu;
	struct attention a;
	double worst = 0;

	make_of(&a, ROWS, TOKENS, GGML_TYPE_F16, 0, 0, true);
	for (int i = 0; i < 6; i++) {
		double e;

		a.used = i % 2 ? TOKENS - 12 : TOKENS;
		set(&a);
		set_keys(&a, i < 4 ? 10 : 0);
		for (int head = 0; head < HEADS; head++)
			((float *)a.sinks->data)[head] = (float)(head * i) - 2;
		e = go(&a) == GGML_STATUS_SUCCESS ? nmse(&a) : INFINITY;
		printf("# sinks of -2 to %d: normalised mean square error %g\n", (HEADS - 1) * i - 2, e);
		worst = fmax(worst, e);
	}
	tap(worst <= 1e-6 && off(&a, BLIND) == 0, "attention with sinks: normalised mean square error %g", worst);
	((float *)a.sinks->data)[1] = 1e6;
	tap(go(&a) == GGML_STATUS_SUCCESS && off(&a, 0) <= bound(&a) && stats().to_cpu == before + 1,
	    "a sink that fp16 does not hold is the CPU's");
	drop(&a);
}

/* More tokens than the NPU makes weights of at a time, up to the most that it takes; each has a small share. */
static void long_contexts(void)
{
	static const int tokens[] = { 4100, 8200, 32768 };
	uint64_t before = stats().to_cpu;
	double worst = 0;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
		struct attention a;
		double e;

		make_of(&a, BLIND + 1, tokens[i], GGML_TYPE_F16, 0, 0, false);
		set(&a);
		e = go(&a) == GGML_STATUS_SUCCESS ? nmse(&a) : INFINITY;
		printf("# %d tokens: normalised mean square error %g\n", tokens[i], e);
		worst = fmax(worst, e);
		drop(&a);
	}
	tap(worst <= 1e-5 && stats().to_cpu == before, "attention to thousands of tokens: normalised mean square error %g",
	    worst);
}

/* Of the first rows only. */
static bool right_rows(struct attention *a, int rows)
{
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct ggml_tensor *q = ggml_view_3d(ctx, a->q, D, rows, HEADS, a->q->nb[1], a->q->nb[2], 0);
	struct ggml_tensor *y = ggml_flash_attn_ext(ctx, q, a->k, a->v, a->mask, 1 / sqrtf(D), 0, 0);
	bool ok;

	y->data = a->y->data;
	y->buffer = a->y->buffer;
	ggml_backend_view_init(q);
	memset(y->data, 0, ggml_nbytes(a->y));
	ggml_build_forward_expand(graph, y);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	ggml_free(ctx);
	for (int row = 0; row < ROWS; row++)
		ok = ok && (row < rows ? row == BLIND || off(a, row) <= bound(a) :
			    ((float *)a->y->data)[row * HEADS * D] == 0);
	return ok;
}

static void lengths(void)
{
	uint64_t before;
	struct attention a;
	bool ok;

	make(&a, GGML_TYPE_F16, 0, 0);
	set(&a);
	ok = right_rows(&a, ROWS);
	before = stats().recorded;
	ok = right_rows(&a, ROWS - 1) && right_rows(&a, ROWS - 2) && right_rows(&a, 33) && ok;
	tap(ok && stats().recorded == before, "prompts of other lengths share a recording");
	drop(&a);
}

static bool supported(enum ggml_type type, float bias, float cap, bool with_sinks)
{
	struct attention a;
	bool yes;

	make_of(&a, ROWS, TOKENS, type, bias, cap, with_sinks);
	yes = ggml_backend_supports_op(tested(), a.y);
	drop(&a);
	return yes;
}

/* Heads of 128 and one row that looks at so many tokens. */
static bool fits(int64_t heads, int64_t tokens)
{
	struct ggml_context *ctx = context();
	struct ggml_tensor *q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 128, 1, heads);
	struct ggml_tensor *k = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 128, tokens, heads);
	bool yes = ggml_backend_supports_op(tested(), ggml_flash_attn_ext(ctx, q, k, k, NULL, 1, 0, 0));

	ggml_free(ctx);
	return yes;
}

/* Values of so many tokens, which ggml's own function does not look at. */
static bool takes_values_of(int64_t tokens)
{
	struct ggml_context *ctx = context();
	struct ggml_tensor *q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, D, ROWS, HEADS);
	struct ggml_tensor *k = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, D, TOKENS, KV);
	struct ggml_tensor *v = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, D, tokens, KV);
	bool yes = ggml_backend_supports_op(tested(), ggml_flash_attn_ext(ctx, q, k, v, NULL, 1, 0, 0));

	ggml_free(ctx);
	return yes;
}

static void refused(void)
{
	tap(supported(GGML_TYPE_F16, 0, 0, false) && supported(GGML_TYPE_F16, 0, 0, true),
	    "attention is supported, also with sinks");
	tap(!supported(GGML_TYPE_F16, 8, 0, false) && !supported(GGML_TYPE_F16, 0, 30, false) &&
	    !supported(GGML_TYPE_F32, 0, 0, false), "but not with linear biases, capped scores, or keys of f32");
	tap(fits(1024, 4096) && !fits(2048, 4096), "nor keys beyond 2 GiB, which no tensor holds");
	tap(fits(1, 32768) && !fits(1, 32769), "nor more tokens than libnpu takes");
	tap(takes_values_of(TOKENS) && !takes_values_of(TOKENS + 1) && !takes_values_of(TOKENS - 1),
	    "nor values of other tokens than the keys'");
	tap(!fits(1, 0), "nor no token at all");
}

/* Of all rows but that, and the one that sees nothing. */
static bool others_are_right(struct attention *a, int except)
{
	bool ok = go(a) == GGML_STATUS_SUCCESS;

	for (int row = 0; row < ROWS; row++)
		ok = ok && (row == except || row == BLIND || off(a, row) <= bound(a));
	return ok;
}

/* The last row alone sees the last token. */
static bool all_but_the_last(void *arg)
{
	return others_are_right(arg, ROWS - 1);
}

/* A value of infinity: on the NPU, 0 times it is NaN for those who do not see it. */
static void overflow(void)
{
	struct rknpu_ggml_stats before, after;
	struct attention a;

	make(&a, GGML_TYPE_F16, 0, 0);
	ggml_set_name(a.y, "fattn-5");
	set(&a);
	for (int i = 0; i < D; i++)
		((ggml_fp16_t *)a.v->data)[(TOKENS - 1) * D + i] = ggml_fp32_to_fp16(INFINITY);
	before = stats();
	tap(says(all_but_the_last, &a, "FLASH_ATTN_EXT fattn-5", "goes to the CPU, said once"),
	    "attention that is not finite is the CPU's, which one line says");
	tap(all_but_the_last(&a), "and no other one");
	after = stats();
	tap(after.to_cpu - before.to_cpu == 2 && after.failures == before.failures, "both are counted");
	set(&a);
	tap(others_are_right(&a, BLIND) && stats().to_cpu == after.to_cpu, "the next one is the NPU's again");
	drop(&a);
}

/* The CPU backend computes the same; on arm64 it sums in fp16, and then what is too large is no number in both. */
static bool is_the_cpus(struct attention *a, ggml_backend_t cpu)
{
	size_t n = (size_t)ggml_nelements(a->y);
	float *got = malloc(n * sizeof(*got)), *want = a->y->data;
	bool ok = go(a) == GGML_STATUS_SUCCESS;

	memcpy(got, want, n * sizeof(*got));
	memset(want, 0, n * sizeof(*want));
	ok = ok && go_on(a, cpu) == GGML_STATUS_SUCCESS;
	for (size_t i = 0; i < n; i++)
		ok = ok && (isnan(want[i]) ? isnan(got[i]) : fabsf(got[i] - want[i]) <= 1e-3f);
	free(got);
	return ok;
}

/* Scores up to what is masked with, and beyond fp16. */
static void large_scores(void)
{
	static const float by[] = { 200, 6000, 20000 };
	ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
	uint64_t before = stats().to_cpu;
	struct attention a;
	bool same = true;

	make(&a, GGML_TYPE_F16, 0, 0);
	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
		set(&a);
		for (int j = 0; j < KV * TOKENS * D; j++)
			((ggml_fp16_t *)a.k->data)[j] = ggml_fp32_to_fp16(rnd() * by[i]);
		for (int j = 0; i && j < HEADS * ROWS * D; j++)
			((float *)a.q->data)[j] *= 3;
		if (i) {
			same = is_the_cpus(&a, cpu) && same;
			printf("# keys up to %g: normalised mean square error %g on the CPU\n", (double)by[i], nmse(&a));
		} else {
			double e = go(&a) == GGML_STATUS_SUCCESS ? nmse(&a) : INFINITY;

			tap(e <= 1e-4 && stats().to_cpu == before, "scores of hundreds are the NPU's: error %g", e);
		}
	}
	tap(same && stats().to_cpu == before + 2, "larger ones, which fp16 or the mask do not hold, are the CPU's");
	drop(&a);
	ggml_backend_free(cpu);
}

/* What is no number stays none. */
static void not_a_number(void)
{
	struct attention a;
	bool ok;

	make(&a, GGML_TYPE_F16, 0, 0);
	set(&a);
	((float *)a.q->data)[3 * D] = NAN;
	ok = go(&a) == GGML_STATUS_SUCCESS && isnan(((float *)a.y->data)[3 * HEADS * D]);
	tap(ok && off(&a, 7) <= bound(&a), "a query that is NaN is so in the result, and others are right");
	set(&a);
	((ggml_fp16_t *)a.mask->data)[3 * TOKENS] = ggml_fp32_to_fp16(NAN);
	ok = go(&a) == GGML_STATUS_SUCCESS && isnan(((float *)a.y->data)[3 * HEADS * D]);
	tap(ok && off(&a, 7) <= bound(&a), "and so is a mask that is NaN");
	drop(&a);
}

static bool row_is_right(void *arg)
{
	return go(arg) == GGML_STATUS_SUCCESS && off(arg, 0) <= bound(arg);
}

static void hang(void)
{
	struct attention a;

	make(&a, GGML_TYPE_F16, 0, 0);
	ggml_set_name(a.y, "fattn-3");
	set(&a);
	tap(survives_hang(row_is_right, &a, "FLASH_ATTN_EXT fattn-3", "in task 0 on core"),
	    "a hang fails attention with one line that names it, and the next one is right");
	drop(&a);
}

void attention(void)
{
	right();
	offsets();
	lengths();
	refused();
	overflow();
	large_scores();
	not_a_number();
	hang();
	sinks();
	long_contexts();
}
