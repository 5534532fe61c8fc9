// SPDX-License-Identifier: GPL-2.0-only
/*
 * What types of quantised weights cost and how far products are off, with two values of
 * RKNPU_GGML_WEIGHTS on the NPU, and on the CPU: ggml_refit BACKEND LARGE SMALL prints a table.
 * Status 1 if small ones take more of large ones than they should, or an error is beyond what
 * ggml's tests allow.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include "rknpu_ggml_stats.h"

#define K	1024
#define N	192
#define M	48
/* Of ggml's test-backend-ops for products. */
#define MOST	5e-4

static ggml_backend_reg_t reg;
static ggml_backend_rknpu_get_stats_t get_stats;
static ggml_backend_rknpu_read_params_t read_params;

/* Sums of uniform numbers are close to normal ones. */
static float normal(void)
{
	static uint32_t seed = 77;
	float sum = 0;

	for (int i = 0; i < 12; i++) {
		seed = seed * 1664525u + 1013904223u;
		sum += (float)(seed >> 8) / (1 << 24);
	}
	return sum - 6;
}

/* Activations of models have columns that are far larger than others. */
static float *activations(bool outliers)
{
	float *x = malloc(M * K * sizeof(*x));

	for (int i = 0; i < M * K; i++)
		x[i] = normal() * (outliers && i % K % 128 == 5 ? 20 : 1);
	return x;
}

/* Quantised by ggml; what they are in floats goes to @floats. */
static void *weights(enum ggml_type type, float *floats)
{
	void *q = malloc(N * ggml_row_size(type, K));

	for (int i = 0; i < N * K; i++)
		floats[i] = normal() / 32;
	ggml_quantize_chunk(type, floats, q, 0, N, K, NULL);
	for (int n = 0; n < N; n++)
		ggml_get_type_traits(type)->to_float((char *)q + n * ggml_row_size(type, K), floats + n * K, K);
	return q;
}

struct result {
	double nmse;
	struct rknpu_ggml_stats cost;
	bool ok;
};

static double nmse(const float *y, const float *w, const float *x)
{
	double err = 0, sum = 0;

	for (int i = 0; i < M * N; i++) {
		double acc = 0;

		for (int k = 0; k < K; k++)
			acc += (double)w[i % N * K + k] * (double)x[i / N * K + k];
		err += (acc - (double)y[i]) * (acc - (double)y[i]);
		sum += acc * acc;
	}
	return err / sum;
}

static struct ggml_context *context(void)
{
	struct ggml_init_params p = { .mem_size = 1 << 20, .no_alloc = true };

	return ggml_init(p);
}

static struct rknpu_ggml_stats less(struct rknpu_ggml_stats a, const struct rknpu_ggml_stats *b)
{
	a.resident -= b->resident;
	a.runs -= b->runs;
	a.moved_in -= b->moved_in;
	a.moved_out -= b->moved_out;
	return a;
}

static struct result product(ggml_backend_t backend, enum ggml_type type, const void *q, const float *w,
			     const float *x)
{
	ggml_backend_buffer_type_t buft = ggml_backend_get_default_buffer_type(backend);
	struct ggml_context *wctx = context(), *ctx = context();
	struct ggml_tensor *wt = ggml_new_tensor_2d(wctx, type, K, N);
	struct ggml_tensor *xt = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, K, M), *yt = ggml_mul_mat(ctx, wt, xt);
	ggml_backend_buffer_t wbuf = ggml_backend_alloc_ctx_tensors_from_buft(wctx, buft);
	ggml_backend_buffer_t buf = ggml_backend_alloc_ctx_tensors_from_buft(ctx, buft);
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct rknpu_ggml_stats before, after;
	struct result r;

	ggml_backend_buffer_set_usage(wbuf, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	ggml_backend_tensor_set(wt, q, 0, ggml_nbytes(wt));
	ggml_backend_tensor_set(xt, x, 0, ggml_nbytes(xt));
	ggml_build_forward_expand(graph, yt);
	get_stats(reg, &before);
	r.ok = ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS;
	get_stats(reg, &after);
	r.nmse = r.ok ? nmse(yt->data, w, x) : INFINITY;
	r.cost = less(after, &before);
	ggml_backend_buffer_free(buf);
	ggml_backend_buffer_free(wbuf);
	ggml_free(ctx);
	ggml_free(wctx);
	return r;
}

/* What it costs goes to @cost; the error with outliers may be @most_far. */
static bool row(enum ggml_type type, const char *how, ggml_backend_t backend, const void *q, const float *w,
		float *const x[2], double most_far, struct rknpu_ggml_stats *cost)
{
	struct result even = product(backend, type, q, w, x[0]), far = product(backend, type, q, w, x[1]);

	printf("%-5s  %-9s  %-9.2g  %-9.2g  %-9.3g  %-8llu  %-8llu\n", ggml_type_name(type), how, even.nmse,
	       far.nmse, (double)even.cost.resident / (N * K), (unsigned long long)even.cost.moved_in / M,
	       (unsigned long long)even.cost.moved_out / M);
	fflush(stdout);
	*cost = even.cost;
	return even.ok && far.ok && even.nmse <= MOST && far.nmse <= most_far;
}

/* As int4 there are scales beside the numbers, and types without stay int8. */
static bool is_smaller(enum ggml_type type, const char *as, const struct rknpu_ggml_stats *small,
		       const struct rknpu_ggml_stats *large)
{
	if (strcmp(as, "int4"))
		return small->resident * 2 == large->resident && small->moved_in * 2 == large->moved_in;
	if (type == GGML_TYPE_Q4_0)
		return small->resident * 16 == large->resident * 9;
	return small->resident * 8 == large->resident * (type == GGML_TYPE_Q4_K ? 5 : 8);
}

static bool rows(enum ggml_type type, ggml_backend_t npu, ggml_backend_t cpu, char **as, float *const x[2])
{
	float *w = malloc(N * K * sizeof(*w));
	void *q = weights(type, w);
	struct rknpu_ggml_stats cost[2], none;
	bool ok = true;

	for (int i = 0; i < 2; i++) {
		char how[16];

		setenv("RKNPU_GGML_WEIGHTS", as[i], 1);
		read_params(reg);
		snprintf(how, sizeof(how), "NPU %s", as[i]);
		ok = row(type, how, npu, q, w, x, MOST, &cost[i]) && ok;
	}
	ok = row(type, "CPU", cpu, q, w, x, INFINITY, &none) && ok;
	free(q);
	free(w);
	return ok && is_smaller(type, as[1], &cost[1], &cost[0]);
}

int main(int argc, char **argv)
{
	static const enum ggml_type types[] = {
		GGML_TYPE_Q8_0, GGML_TYPE_Q6_K, GGML_TYPE_Q5_K, GGML_TYPE_Q4_K, GGML_TYPE_Q4_0,
	};
	float *x[2] = { activations(false), activations(true) };
	ggml_backend_t npu, cpu;
	bool ok = true;

	ggml_backend_load_all();
	reg = argc > 3 ? ggml_backend_load(argv[1]) : NULL;
	npu = ggml_backend_init_by_name("RKNPU0", NULL);
	cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
	if (!reg || !npu || !cpu) {
		fprintf(stderr, "no device RKNPU0\n");
		return 2;
	}
	get_stats = (ggml_backend_rknpu_get_stats_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_rknpu_get_stats");
	read_params = (ggml_backend_rknpu_read_params_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_rknpu_read_params");
	printf("%d x %d weights, %d rows of activations; normalised mean square errors against doubles;\n"
	       "bytes: resident for each weight, and in and out for each row\n", N, K, M);
	printf("%-5s  %-9s  %-9s  %-9s  %-9s  %-8s  %-8s\n", "Type", "Where", "Error", "Outliers", "Resident",
	       "In", "Out");
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		ok = rows(types[i], npu, cpu, argv + 2, x) && ok;
	return ok ? 0 : 1;
}
