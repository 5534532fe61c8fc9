// SPDX-License-Identifier: MIT
/*
 * The backend: graphs of ggml, operation by operation.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rknpu_ggml.h"

static const char *get_name(ggml_backend_t backend)
{
	return RKNPU_NAME;
}

static void free_backend(ggml_backend_t backend)
{
	free(backend);
}

static bool computes(const struct ggml_tensor *t)
{
	switch (t->op) {
	case GGML_OP_NONE:
	case GGML_OP_RESHAPE:
	case GGML_OP_VIEW:
	case GGML_OP_PERMUTE:
	case GGML_OP_TRANSPOSE:
		return false;
	default:
		return (t->flags & GGML_TENSOR_FLAG_COMPUTE) && !ggml_is_empty(t);
	}
}

static void complain(const struct ggml_tensor *t, const char *why)
{
	const struct ggml_tensor *w = t->src[0];

	rknpu_stats.failures++;
	rknpu_say("%s %s with %s (%s, %lld x %lld) failed: %s", ggml_op_name(t->op), t->name,
		  w ? w->name : "nothing", w ? ggml_type_name(w->type) : "none",
		  w ? (long long)w->ne[1] : 0, w ? (long long)w->ne[0] : 0, why);
}

static int compute_one(const struct ggml_tensor *t, char *why, size_t size)
{
	switch (t->op) {
	case GGML_OP_MUL_MAT:
		return rknpu_matmul_shared(&t, 1, why, size);
	case GGML_OP_MUL_MAT_ID:
		return rknpu_experts(t, why, size);
	case GGML_OP_GLU:
		return rknpu_glu(t);
	case GGML_OP_FLASH_ATTN_EXT:
		return rknpu_attention(t, why, size);
	default:
		snprintf(why, size, "the NPU has no such operation");
		return -EOPNOTSUPP;
	}
}

static enum ggml_status finish(int ret, const struct ggml_tensor *t, const char *why)
{
	if (ret)
		complain(t, why);
	rknpu_unlock();
	return !ret ? GGML_STATUS_SUCCESS :
	       ret == -ENOMEM ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

static enum ggml_status compute(const struct ggml_tensor *const *t, uint32_t n)
{
	char why[160] = "";
	int ret;

	rknpu_lock();
	if (n > 1)
		ret = rknpu_matmul_shared(t, n, why, sizeof(why));
	else
		ret = compute_one(t[0], why, sizeof(why));
	return finish(ret, t[0], why);
}

static enum ggml_status compute_ffn(const struct rknpu_ffn *f)
{
	char why[160] = "";

	rknpu_lock();
	return finish(rknpu_ffn(f, why, sizeof(why)), f->down, why);
}

/* Node @i and those behind it that share its activations; returns the first one after them. */
static int gather(struct ggml_cgraph *graph, int i, const struct ggml_tensor **t, uint32_t *n)
{
	int nodes = ggml_graph_n_nodes(graph);

	*n = 0;
	for (; i < nodes && *n < RKNPU_MOST_SHARED; i++) {
		const struct ggml_tensor *next = ggml_graph_node(graph, i);

		if (!computes(next))
			continue;
		if (*n && !(rknpu_supports(next) && rknpu_matmul_shares(t[0], next)))
			break;
		t[(*n)++] = next;
		if (!rknpu_supports(next))
			return i + 1;
	}
	return i;
}

static const struct ggml_tensor *next_op(struct ggml_cgraph *graph, int *i)
{
	while (*i < ggml_graph_n_nodes(graph)) {
		const struct ggml_tensor *t = ggml_graph_node(graph, (*i)++);

		if (computes(t))
			return t;
	}
	return NULL;
}

/* Two products and what comes from node @i on; returns the node behind all, or -1. */
static int find_ffn(struct ggml_cgraph *graph, int i, const struct ggml_tensor **t, struct rknpu_ffn *f)
{
	f->a = t[0];
	f->b = t[1];
	f->glu = next_op(graph, &i);
	f->down = f->glu ? next_op(graph, &i) : NULL;
	return f->down && rknpu_is_ffn(graph, f) ? i : -1;
}

static enum ggml_status graph_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	const struct ggml_tensor *t[RKNPU_MOST_SHARED];
	enum ggml_status status = GGML_STATUS_SUCCESS;
	int n = ggml_graph_n_nodes(graph);
	struct rknpu_ffn ffn;
	uint32_t shared;

	for (int i = 0; i < n && status == GGML_STATUS_SUCCESS;) {
		int at = i, behind;

		i = gather(graph, i, t, &shared);
		behind = shared == 2 ? find_ffn(graph, i, t, &ffn) : -1;
		if (behind >= 0) {
			status = compute_ffn(&ffn);
			i = behind;
		} else if (shared) {
			status = rknpu_supports(t[0]) ? compute(t, shared) : rknpu_on_cpu(t[0]);
		}
		for (; at < i; at++)
			if (computes(ggml_graph_node(graph, at)))
				rknpu_buffer_wrote(ggml_graph_node(graph, at));
	}
	return status;
}

static void graph_optimize(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	rknpu_prepare(graph);
}

ggml_backend_t rknpu_backend_new(ggml_backend_dev_t dev)
{
	static ggml_guid guid = {
		0x7d, 0x1e, 0x52, 0xa9, 0x0c, 0x84, 0x4b, 0x36,
		0x9f, 0x10, 0x72, 0x6b, 0x6e, 0x70, 0x75, 0x30,
	};
	ggml_backend_t backend = calloc(1, sizeof(*backend));

	if (!backend)
		return NULL;
	*backend = (struct ggml_backend){
		.guid = &guid, .device = dev,
		.ops = {
			.get_name = get_name, .free = free_backend, .graph_compute = graph_compute,
			.graph_optimize = graph_optimize,
		},
	};
	return backend;
}
