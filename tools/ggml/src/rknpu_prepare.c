// SPDX-License-Identifier: MIT
/*
 * Weights before they are used: ggml shows a graph when it is planned, which programs have done once
 * when a model is loaded. What does not fit is told then, and left to the CPU.
 */
#include <string.h>

#include "rknpu_ggml.h"

/* Tensors that a recording has at once, each at most as large as the operands and results of the largest product. */
#define SCRATCH	4u

/* Experts are packed when rows choose them; of what a program reads a plan has all rows, and a prompt one. */
static bool is_for_us(const struct ggml_tensor *t)
{
	return t->op == GGML_OP_MUL_MAT && !(t->flags & GGML_TENSOR_FLAG_OUTPUT) && rknpu_supports(t) &&
	       rknpu_has_data(t->src[0]);
}

static int prepare(const struct ggml_tensor *w)
{
	int64_t slices = w->ne[2] * w->ne[3];
	struct rknpu_cache *cache = rknpu_cache_of(w);
	int ret = 0;

	for (int64_t i = 0; cache && !ret && i < slices; i++) {
		struct rknpu_matrix m = rknpu_slice(w, i % w->ne[2], i / w->ne[2]);

		ret = rknpu_cache_prepare(cache, &m);
	}
	return ret;
}

static size_t scratch_bytes(struct ggml_cgraph *graph)
{
	size_t most = 0;

	for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
		const struct ggml_tensor *t = ggml_graph_node(graph, i);
		size_t bytes;

		if (t->op != GGML_OP_MUL_MAT)
			continue;
		bytes = (size_t)ggml_nelements(t->src[1]) * sizeof(uint16_t) +
			(size_t)ggml_nelements(t) * sizeof(float);
		most = bytes > most ? bytes : most;
	}
	return SCRATCH * most;
}

/* Recordings have programs: a part of the weights that they are with, estimated. */
#define WEIGHTS_PER_PROGRAM	8u

/* Products with the weights that stay need memory, too. */
static void no_place(struct ggml_cgraph *graph, const struct ggml_tensor *w, int err)
{
	bool full = rknpu_cache_full();

	if (full)
		rknpu_cache_give_back(scratch_bytes(graph) + rknpu_stats.resident / WEIGHTS_PER_PROGRAM);
	rknpu_say("weights %s (%s, %lld x %lld) cannot be packed: %s; %s, %llu MiB of weights are packed", w->name,
		  ggml_type_name(w->type), (long long)w->ne[1], (long long)w->ne[0], strerror(-err),
		  full ? "they and those behind them stay on the CPU" : "tried again when they are used",
		  (unsigned long long)rknpu_stats.resident >> 20);
}

void rknpu_prepare(struct ggml_cgraph *graph)
{
	int ret = 0;

	for (int i = 0; !ret && i < ggml_graph_n_nodes(graph); i++) {
		const struct ggml_tensor *t = ggml_graph_node(graph, i);

		if (!is_for_us(t))
			continue;
		rknpu_lock();
		ret = prepare(t->src[0]);
		if (ret)
			no_place(graph, t->src[0], ret);
		rknpu_unlock();
	}
}

bool rknpu_has_place(const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0];
	struct rknpu_cache *cache = rknpu_cache_of(w);
	bool has = true;

	if (!cache)
		return true;
	rknpu_lock();
	for (int64_t i = 0; has && rknpu_cache_full() && i < w->ne[2] * w->ne[3]; i++) {
		struct rknpu_matrix m = rknpu_slice(w, i % w->ne[2], i / w->ne[2]);

		has = rknpu_cache_has(cache, &m);
	}
	rknpu_unlock();
	return has;
}
