// SPDX-License-Identifier: GPL-2.0-only
/*
 * Weights in buffers of ggml's CPU backend: as they are, and rearranged in the way that it multiplies them. The NPU has to
 * find them there, and to forget them when they change or go.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ggml-alloc.h>

#include "ggml_check.h"

#define K	512
#define M	40
#define EXPERTS	4
#define USED	2
/* Halves round activations only: these are what they hold. */
#define GOOD	1e-7

static const enum ggml_type types[] = {
	GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q2_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL,
	GGML_TYPE_MXFP4,
};

#define TYPES	(sizeof(types) / sizeof(*types))

/* y = x * w^T; with experts each row of x is multiplied by USED of them. */
struct product {
	struct ggml_context *wctx, *ctx;
	ggml_backend_buffer_t wbuf, buf;
	struct ggml_tensor *w, *x, *ids, *y;
	struct ggml_cgraph *graph;
	int64_t n;
	float *wv, *xv;
};

/* What is expected: the numbers that are left of the quantised ones. */
static void set_weights(struct product *p)
{
	int64_t rows = ggml_nrows(p->w);
	size_t bytes = ggml_row_size(p->w->type, K);
	char *q = malloc((size_t)rows * bytes);

	for (int64_t i = 0; i < rows * K; i++)
		p->wv[i] = rnd();
	ggml_quantize_chunk(p->w->type, p->wv, q, 0, rows, K, NULL);
	for (int64_t i = 0; i < rows; i++)
		ggml_get_type_traits(p->w->type)->to_float(q + (size_t)i * bytes, p->wv + i * K, K);
	ggml_backend_tensor_set(p->w, q, 0, ggml_nbytes(p->w));
	free(q);
}

static void set_x(struct product *p)
{
	for (int i = 0; i < M * K; i++)
		p->xv[i] = ggml_fp16_to_fp32(ggml_fp32_to_fp16(rnd()));
	ggml_backend_tensor_set(p->x, p->xv, 0, ggml_nbytes(p->x));
}

static void set_ids(struct product *p)
{
	int32_t ids[M * USED];

	for (int i = 0; i < M * USED; i++)
		ids[i] = (i / USED + i % USED * 3) % EXPERTS;
	ggml_backend_tensor_set(p->ids, ids, 0, sizeof(ids));
}

static struct ggml_tensor *result_of(struct product *p)
{
	if (p->w->ne[2] == 1) {
		p->x = ggml_new_tensor_2d(p->ctx, GGML_TYPE_F32, K, M);
		return ggml_mul_mat(p->ctx, p->w, p->x);
	}
	p->x = ggml_new_tensor_3d(p->ctx, GGML_TYPE_F32, K, 1, M);
	p->ids = ggml_new_tensor_2d(p->ctx, GGML_TYPE_I32, USED, M);
	return ggml_mul_mat_id(p->ctx, p->w, p->x, p->ids);
}

static void make(struct product *p, ggml_backend_buffer_type_t buft, enum ggml_type type, int64_t n, int64_t experts)
{
	memset(p, 0, sizeof(*p));
	p->n = n;
	p->wv = malloc((size_t)(n * experts) * K * sizeof(float));
	p->xv = malloc(M * K * sizeof(float));
	p->wctx = context();
	p->w = ggml_new_tensor_3d(p->wctx, type, K, n, experts);
	ggml_set_name(p->w, "blk.3.ffn_up.weight");
	p->wbuf = ggml_backend_alloc_ctx_tensors_from_buft(p->wctx, buft);
	ggml_backend_buffer_set_usage(p->wbuf, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	p->ctx = context();
	p->y = result_of(p);
	p->buf = allocate(p->ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
	p->graph = ggml_new_graph(p->ctx);
	ggml_build_forward_expand(p->graph, p->y);
	set_weights(p);
	set_x(p);
	if (p->ids)
		set_ids(p);
}

static void drop(struct product *p)
{
	ggml_backend_buffer_free(p->buf);
	ggml_backend_buffer_free(p->wbuf);
	ggml_free(p->ctx);
	ggml_free(p->wctx);
	free(p->wv);
	free(p->xv);
}

static double expected(const struct product *p, int64_t row, int64_t n)
{
	int64_t token = p->ids ? row / USED : row;
	int64_t expert = p->ids ? (token + row % USED * 3) % EXPERTS : 0;
	double sum = 0;

	for (int64_t k = 0; k < K; k++)
		sum += (double)p->xv[token * K + k] * p->wv[(expert * p->n + n) * K + k];
	return sum;
}

/* Normalised mean square error. */
static double nmse(const struct product *p)
{
	float *y = malloc(ggml_nbytes(p->y));
	int64_t rows = ggml_nrows(p->y);
	double err = 0, sum = 0;

	ggml_backend_tensor_get(p->y, y, 0, ggml_nbytes(p->y));
	for (int64_t i = 0; i < rows * p->n; i++) {
		double want = expected(p, i / p->n, i % p->n);

		err += (want - y[i]) * (want - y[i]);
		sum += want * want;
	}
	free(y);
	return isfinite(err) && sum > 0 ? err / sum : INFINITY;
}

/* By the NPU, with so many matrices packed for it. */
static bool right(struct product *p, uint64_t packed)
{
	struct rknpu_ggml_stats a = stats(), b;
	bool ok = ggml_backend_supports_op(tested(), p->y) &&
		  ggml_backend_graph_compute(tested(), p->graph) == GGML_STATUS_SUCCESS;
	double e = ok ? nmse(p) : INFINITY;

	b = stats();
	ok = e <= GOOD && b.runs > a.runs && b.packed == a.packed + packed;
	if (!ok)
		printf("# error %g, %llu runs, %llu packed\n", e, (unsigned long long)(b.runs - a.runs),
		       (unsigned long long)(b.packed - a.packed));
	return ok;
}

/* They are packed once, again when they were written, and go with their buffer. */
static bool are_kept(ggml_backend_buffer_type_t buft, enum ggml_type type, int64_t n, int64_t experts)
{
	struct rknpu_ggml_stats a = stats();
	struct product p;
	bool ok;

	make(&p, buft, type, n, experts);
	ok = right(&p, (uint64_t)experts);
	set_x(&p);
	ok = right(&p, 0) && ok;
	set_weights(&p);
	ok = right(&p, (uint64_t)experts) && ok;
	drop(&p);
	return ok && stats().resident == a.resident;
}

/* ---- buffers in which the CPU backend rearranges ---- */

static ggml_backend_dev_t cpu_dev(void)
{
	return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

/* Does @dev compute a product whose weights lie in a buffer of @buft, as programs ask before they load a model? */
static bool takes(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft, enum ggml_type type, int64_t n, int64_t experts)
{
	struct product p = { .wctx = context(), .ctx = context() };
	bool yes;

	p.w = ggml_new_tensor_3d(p.wctx, type, K, n, experts);
	p.w->buffer = ggml_backend_buft_alloc_buffer(buft, 0);
	yes = ggml_backend_dev_supports_op(dev, result_of(&p));
	ggml_backend_buffer_free(p.w->buffer);
	ggml_free(p.ctx);
	ggml_free(p.wctx);
	return yes;
}

/* The type of buffer in which the CPU backend rearranges such weights, or NULL. */
static ggml_backend_buffer_type_t extra_for(enum ggml_type type, int64_t n, int64_t experts)
{
	ggml_backend_dev_get_extra_bufts_t get =
		(ggml_backend_dev_get_extra_bufts_t)ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu_dev()),
										     "ggml_backend_dev_get_extra_bufts");
	ggml_backend_buffer_type_t *extra = get ? get(cpu_dev()) : NULL;

	while (extra && *extra && !takes(cpu_dev(), *extra, type, n, experts))
		extra++;
	return extra ? *extra : NULL;
}

static void rearranged_as(enum ggml_type type, int64_t n, int64_t experts, int *tried)
{
	ggml_backend_buffer_type_t extra = extra_for(type, n, experts);
	ggml_backend_dev_t dev = ggml_backend_get_device(tested());

	if (!extra)
		return;
	++*tried;
	tap(are_kept(extra, type, n, experts), "%s, %lld x %d of %lld, in %s: the NPU finds what the CPU rearranged",
	    ggml_type_name(type), (long long)n, K, (long long)experts, ggml_backend_buft_name(extra));
	tap(!takes(dev, ggml_backend_dev_buffer_type(dev), type, n, experts),
	    "%s: programs are told to leave them to the CPU's buffers", ggml_type_name(type));
}

static void rearranged(void)
{
	int tried = 0;

	for (size_t i = 0; i < TYPES; i++) {
		rearranged_as(types[i], 48, 1, &tried);
		rearranged_as(types[i], 40, 1, &tried);
		rearranged_as(types[i], 32, EXPERTS, &tried);
	}
	tap(tried, "the CPU backend of this machine rearranges some types: %d cases", tried);
}

static void unchanged(void)
{
	ggml_backend_dev_t dev = ggml_backend_get_device(tested());

	tap(are_kept(ggml_backend_dev_buffer_type(cpu_dev()), GGML_TYPE_Q8_0, 48, 1),
	    "weights in the CPU's ordinary buffers are kept until they are written or freed");
	tap(takes(dev, ggml_backend_dev_buffer_type(dev), GGML_TYPE_F16, 48, 1),
	    "what the CPU would not rearrange may have our buffers");
}

void cpu_buffers(void)
{
	rearranged();
	unchanged();
}

void outlives(void (*unload)(void))
{
	struct rknpu_ggml_stats a = stats();
	struct product p;
	bool ok;

	make(&p, ggml_backend_dev_buffer_type(cpu_dev()), GGML_TYPE_Q8_0, 48, 1);
	ok = right(&p, 1);
	unload();
	drop(&p);
	tap(ok && stats().resident == a.resident, "a buffer of the CPU backend can be freed after this backend was unloaded");
}
