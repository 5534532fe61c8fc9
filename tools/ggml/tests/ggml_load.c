// SPDX-License-Identifier: MIT
/*
 * Weights that are packed when a graph is planned, which is when a program has loaded a model, and
 * those that have no room then.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ggml-alloc.h>

#include "ggml_check.h"

#define K	96
#define M	2
#define MATRICES	4
#define SMALL	192
#define LARGE	1536
/* Of an address space: three small matrices have room in it, the large one has none in any. */
#define LIMIT	(256u << 10)

/* Products of the same activations, by ggml's scheduler. */
struct model {
	ggml_backend_t backends[2];
	ggml_backend_sched_t sched;
	struct ggml_context *wctx, *ctx;
	ggml_backend_buffer_t wbuf;
	struct ggml_tensor *w[MATRICES], *x, *y[MATRICES];
	struct ggml_cgraph *graph;
	float xv[M * K];
};

static void make(struct model *m, bool outputs)
{
	m->backends[0] = tested();
	m->backends[1] = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
	m->sched = ggml_backend_sched_new(m->backends, NULL, 2, 64, false, false);
	m->wctx = context();
	m->ctx = context();
	m->graph = ggml_new_graph(m->ctx);
	m->x = ggml_new_tensor_2d(m->ctx, GGML_TYPE_F32, K, M);
	ggml_set_input(m->x);
	for (int i = 0; i < MATRICES; i++) {
		struct ggml_tensor *y;

		m->w[i] = ggml_new_tensor_2d(m->wctx, GGML_TYPE_F16, K, i == MATRICES - 1 ? LARGE : SMALL);
		ggml_format_name(m->w[i], "blk.%d.weight", i);
		y = ggml_mul_mat(m->ctx, m->w[i], m->x);
		if (outputs)
			ggml_set_output(y);
		m->y[i] = ggml_relu(m->ctx, y);
		ggml_set_output(m->y[i]);
		ggml_build_forward_expand(m->graph, m->y[i]);
	}
	m->wbuf = allocate(m->wctx, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	for (int i = 0; i < MATRICES; i++)
		fill_fp16(m->w[i]);
	for (int i = 0; i < M * K; i++)
		m->xv[i] = ggml_fp16_to_fp32(ggml_fp32_to_fp16(rnd()));
}

static void drop(struct model *m)
{
	ggml_backend_sched_free(m->sched);
	ggml_backend_buffer_free(m->wbuf);
	ggml_backend_free(m->backends[1]);
	ggml_free(m->ctx);
	ggml_free(m->wctx);
}

/* Of the largest results. */
static double off(const struct model *m, int which)
{
	static float y[M * LARGE];
	const ggml_fp16_t *w = m->w[which]->data;
	int64_t n = m->w[which]->ne[1];
	double worst = 0;

	ggml_backend_tensor_get(m->y[which], y, 0, ggml_nbytes(m->y[which]));
	for (int64_t i = 0; i < M * n; i++) {
		double sum = 0;

		for (int64_t k = 0; k < K; k++)
			sum += (double)m->xv[i / n * K + k] * ggml_fp16_to_fp32(w[i % n * K + k]);
		worst = fmax(worst, fabs((sum > 0 ? sum : 0) - y[i]));
	}
	return worst;
}

static bool plan(void *arg)
{
	struct model *m = arg;

	return ggml_backend_sched_reserve(m->sched, m->graph);
}

static bool right(struct model *m)
{
	bool ok = ggml_backend_sched_alloc_graph(m->sched, m->graph);

	ggml_backend_tensor_set(m->x, m->xv, 0, sizeof(m->xv));
	ok = ok && ggml_backend_sched_graph_compute(m->sched, m->graph) == GGML_STATUS_SUCCESS;
	for (int i = 0; ok && i < MATRICES; i++) {
		double err = off(m, i);

		if (!(err < 1e-3)) {
			printf("# product %d is off by %g\n", i, err);
			ok = false;
		}
	}
	ggml_backend_sched_reset(m->sched);
	return ok;
}

static void early(void)
{
	struct rknpu_ggml_stats a = stats();
	static struct model m;
	bool ok;

	make(&m, false);
	ok = plan(&m);
	tap(ok && stats().packed == a.packed + MATRICES && stats().runs == a.runs,
	    "weights are packed when a graph is planned");
	ok = right(&m) && stats().packed == a.packed + MATRICES && stats().runs > a.runs;
	tap(ok, "and not again when it is computed");
	drop(&m);
	tap(stats().resident == a.resident, "they go with their buffer");
}

/* As programs do that read a file into the memory of a buffer, here after they planned a graph. */
static void late(void)
{
	struct rknpu_ggml_stats a = stats();
	static struct model m;
	ggml_fp16_t *w;
	bool ok;

	make(&m, false);
	ok = plan(&m);
	w = m.w[1]->data;
	for (int i = 0; i < SMALL * K; i++)
		w[i] ^= 0x8000;
	ok = right(&m) && ok;
	tap(ok && stats().packed == a.packed + MATRICES + 1, "weights that are loaded behind that are packed again");
	drop(&m);
}

/* A plan is made for as many rows as there may be, and a program wants the vocabulary for one. */
static void read_by_program(void)
{
	struct rknpu_ggml_stats a = stats();
	static struct model m;
	bool ok;

	make(&m, true);
	ok = plan(&m) && stats().packed == a.packed;
	tap(ok && right(&m) && stats().packed == a.packed + MATRICES,
	    "products that a program reads have their weights packed when they are computed");
	drop(&m);
}

static void no_room(void)
{
	struct rknpu_ggml_stats a = stats();
	static struct model m;
	size_t small = SMALL * K * sizeof(ggml_fp16_t);
	bool said, ok;

	if (!npu_limit(LIMIT))
		return;
	make(&m, false);
	said = says(plan, &m, "blk.3.weight (f16, 1536 x 96)", "they and those behind them stay on the CPU");
	tap(said && stats().packed == a.packed + MATRICES - 1, "one line names the weights that have no room");
	tap(stats().resident == a.resident + small, "some of those before them make room for activations and programs");
	ok = right(&m) && right(&m);
	tap(ok && stats().runs > a.runs && stats().failures == a.failures && stats().packed == a.packed + MATRICES - 1,
	    "the CPU computes with them and the NPU with the others");
	npu_limit(0);
	fill_fp16(m.w[0]);
	ok = right(&m);
	tap(ok && stats().resident == a.resident + 3 * small + LARGE * K * sizeof(ggml_fp16_t),
	    "all are packed when the buffer was written and there is room");
	drop(&m);
}

static bool is_right(void *arg)
{
	return right(arg);
}

/* Weights that a plan does not pack, and no room for some when they are used. */
static void no_room_later(void)
{
	struct rknpu_ggml_stats a = stats();
	static struct model m;
	bool ok;

	if (!npu_limit(LIMIT))
		return;
	make(&m, true);
	ok = plan(&m) && says(is_right, &m, "blk.3.weight (f16, 1536 x 96)", "goes to the CPU, said once");
	tap(ok && stats().to_cpu > a.to_cpu && stats().failures == a.failures,
	    "a product whose weights have no room when it is computed is the CPU's, which one line says");
	npu_limit(0);
	drop(&m);
}

static bool fails(void *arg)
{
	return ggml_backend_graph_compute(tested(), arg) == GGML_STATUS_FAILED;
}

/* Too small for the NPU, and activations that the CPU does not take beside such weights. */
static void nobody(void)
{
	struct ggml_context *ctx = context();
	struct ggml_tensor *w = ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, K, SMALL), *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, K, M);
	struct ggml_tensor *y = ggml_set_name(ggml_mul_mat(ctx, w, x), "kq-4");
	ggml_backend_buffer_t buf = allocate(ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
	struct ggml_cgraph *graph = ggml_new_graph(ctx);

	ggml_backend_buffer_clear(buf, 0);
	ggml_build_forward_expand(graph, y);
	parameter("RKNPU_GGML_MIN_ROWS", "100");
	tap(says(fails, graph, "MUL_MAT kq-4", "failed"),
	    "what neither the NPU nor the CPU computes fails its graph, not the program");
	parameter("RKNPU_GGML_MIN_ROWS", "0");
	ggml_backend_buffer_free(buf);
	ggml_free(ctx);
}

void load(void)
{
	early();
	late();
	read_by_program();
	no_room();
	no_room_later();
	nobody();
}
