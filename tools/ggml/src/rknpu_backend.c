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

static enum ggml_status compute(const struct ggml_tensor *t)
{
	char why[160] = "";
	int ret;

	rknpu_lock();
	switch (t->op) {
	case GGML_OP_MUL_MAT:
		ret = rknpu_matmul(t, why, sizeof(why));
		break;
	case GGML_OP_MUL_MAT_ID:
		ret = rknpu_experts(t, why, sizeof(why));
		break;
	default:
		snprintf(why, sizeof(why), "the NPU has no such operation");
		ret = -EOPNOTSUPP;
	}
	if (ret)
		complain(t, why);
	rknpu_unlock();
	return !ret ? GGML_STATUS_SUCCESS :
	       ret == -ENOMEM ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

static enum ggml_status graph_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	enum ggml_status status = GGML_STATUS_SUCCESS;
	int n = ggml_graph_n_nodes(graph);

	for (int i = 0; i < n && status == GGML_STATUS_SUCCESS; i++) {
		const struct ggml_tensor *t = ggml_graph_node(graph, i);

		if (computes(t))
			status = compute(t);
	}
	return status;
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
		},
	};
	return backend;
}
