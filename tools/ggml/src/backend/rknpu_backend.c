// SPDX-License-Identifier: MIT
/*
 * Owns graphs of ggml: which operations are computed at once, the weights that are packed when a graph is planned, and
 * the operations that this backend is given without being asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_backend.h"

/* The fast cores of the SoC. */
#define THREADS	4
/* Tensors that a recording has at once, each at most as large as the operands and results of the largest product. */
#define SCRATCH	4u
/* Recordings have programs: a part of the weights that they are with, estimated. */
#define WEIGHTS_PER_PROGRAM	8u

/* ---- which operations ---- */

/* Has nothing to compute: another view of what is there. */
static bool is_view(const struct ggml_tensor *t)
{
	return t->op == GGML_OP_NONE || t->op == GGML_OP_RESHAPE || t->op == GGML_OP_VIEW || t->op == GGML_OP_PERMUTE ||
	       t->op == GGML_OP_TRANSPOSE;
}

static bool computes(const struct ggml_tensor *t)
{
	return !is_view(t) && (t->flags & GGML_TENSOR_FLAG_COMPUTE) && !ggml_is_empty(t);
}

bool ggml_backend_rknpu_supports_op(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	switch (op->op) {
	case GGML_OP_MUL_MAT:
		return rknpu_matmul_supported(ctx, op);
	case GGML_OP_MUL_MAT_ID:
		return rknpu_matmul_id_supported(ctx, op);
	case GGML_OP_GLU:
		return rknpu_glu_supported(ctx, op);
	case GGML_OP_FLASH_ATTN_EXT:
		return rknpu_attention_supported(ctx, op);
	default:
		return is_view(op);
	}
}

/* ---- one operation, or some at once ---- */

/* Not locked: it calls a function of the program. */
static void log_operation(enum ggml_log_level level, const struct ggml_tensor *t, const char *what, const char *why)
{
	const struct ggml_tensor *w = t->src[0];

	ggml_log_internal(level, "ggml-rknpu: %s %s with %s (%s, %lld x %lld) %s: %s\n", ggml_op_name(t->op), t->name,
			  w ? w->name : "nothing", w ? ggml_type_name(w->type) : "none",
			  w ? (long long)w->ne[1] : 0, w ? (long long)w->ne[0] : 0, what, why);
}

static int compute_one(struct rknpu_context *ctx, const struct ggml_tensor *t, char *why, size_t size)
{
	switch (t->op) {
	case GGML_OP_MUL_MAT:
		return rknpu_matmul(ctx, &t, 1, why, size);
	case GGML_OP_MUL_MAT_ID:
		return rknpu_matmul_id(ctx, t, why, size);
	case GGML_OP_GLU:
		rknpu_glu(t);
		return 0;
	case GGML_OP_FLASH_ATTN_EXT:
		return rknpu_attention(ctx, t, why, size);
	default:
		snprintf(why, size, "the NPU has no such operation");
		return -EOPNOTSUPP;
	}
}

static int attempt(struct rknpu_context *ctx, const struct ggml_tensor *const *t, uint32_t n, const struct rknpu_ffn *f,
		   char *why, size_t size)
{
	if (f)
		return rknpu_ffn(ctx, f, why, size);
	return n > 1 ? rknpu_matmul(ctx, t, n, why, size) : compute_one(ctx, t[0], why, size);
}

/* Unbound, or the driver takes no jobs after too many failures. */
static bool is_gone(int err)
{
	return err == -ENODEV || err == -EPIPE;
}

/* Numbers beyond fp16, no memory, more tasks than a recording or the driver holds, or no NPU: none is the CPU's trouble. */
static bool cpu_can(int err)
{
	return err == -ERANGE || err == -ENOMEM || err == -ENOSPC || err == -E2BIG || rknpu_is_full(err) || is_gone(err);
}

static bool *said_of(struct rknpu_context *ctx, int err)
{
	if (rknpu_is_full(err))
		return &ctx->said_full;
	return err == -ERANGE ? &ctx->said_range : is_gone(err) ? &ctx->said_gone : &ctx->said_memory;
}

/*
 * Products that share activations, one operation, or with @f a block. 0, or a negative errno that it has logged, if
 * cpu_can() only the first time, and not of a block, whose operations are tried next.
 */
static int compute(struct rknpu_context *ctx, const struct ggml_tensor *const *t, uint32_t n, const struct rknpu_ffn *f)
{
	const struct ggml_tensor *named = f ? f->down : t[0];
	char why[160] = "";
	bool said;
	int ret;

	rknpu_lock(ctx);
	ret = attempt(ctx, t, n, f, why, sizeof(why));
	/* Nothing is wrong with what was cancelled. */
	if (ret == -ECANCELED)
		ret = attempt(ctx, t, n, f, why, sizeof(why));
	if (f && cpu_can(ret)) {
		rknpu_unlock(ctx);
		return ret;
	}
	said = *said_of(ctx, ret);
	if (cpu_can(ret)) {
		ctx->stats.to_cpu += n;
		*said_of(ctx, ret) = true;
	} else {
		ctx->stats.failures += ret != 0;
	}
	rknpu_unlock(ctx);
	if (cpu_can(ret) && !said)
		log_operation(GGML_LOG_LEVEL_WARN, named, "goes to the CPU, said once", why);
	else if (ret && !cpu_can(ret))
		log_operation(GGML_LOG_LEVEL_ERROR, named, "failed", why);
	return ret;
}

/* ---- by ggml's CPU backend: what exceeds fp16 or has no NPU, and whole graphs that ggml's RPC server sends without asking ---- */

typedef void (*set_threads_t)(ggml_backend_t backend, int threads);

static ggml_backend_t open_cpu(void)
{
	ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	set_threads_t set;

	if (!cpu)
		return NULL;
	set = (set_threads_t)ggml_backend_reg_get_proc_address(
		ggml_backend_dev_backend_reg(ggml_backend_get_device(cpu)), "ggml_backend_set_n_threads");
	if (set)
		set(cpu, online > 0 && online < THREADS ? (int)online : THREADS);
	return cpu;
}

static ggml_backend_t the_cpu(struct rknpu_context *ctx)
{
	rknpu_lock(ctx);
	if (!ctx->cpu)
		ctx->cpu = open_cpu();
	rknpu_unlock(ctx);
	return ctx->cpu;
}

static enum ggml_status compute_on_cpu(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	struct ggml_init_params params = {
		.mem_size = ggml_graph_overhead_custom(1, false), .no_alloc = true,
	};
	struct ggml_context *meta = ggml_init(params);
	ggml_backend_t cpu = the_cpu(ctx);
	enum ggml_status status = GGML_STATUS_FAILED;
	struct ggml_cgraph *graph;

	/* It ends the program if it is given what it does not support. */
	if (meta && cpu && ggml_backend_supports_op(cpu, op)) {
		graph = ggml_new_graph_custom(meta, 1, false);
		ggml_graph_add_node(graph, (struct ggml_tensor *)op);
		pthread_mutex_lock(&ctx->cpu_lock);
		status = ggml_backend_graph_compute(cpu, graph);
		pthread_mutex_unlock(&ctx->cpu_lock);
	} else {
		GGML_LOG_ERROR("ggml-rknpu: %s %s failed: the CPU cannot compute it, or there is no memory\n",
			       ggml_op_name(op->op), op->name);
	}
	ggml_free(meta);
	return status;
}

/* ---- graphs ---- */

/* Node @i and those behind it that share its activations; returns the first one after them. */
static int gather(struct rknpu_context *ctx, struct ggml_cgraph *graph, int i, const struct ggml_tensor **t,
		  uint32_t *n)
{
	int nodes = ggml_graph_n_nodes(graph);

	*n = 0;
	for (; i < nodes && *n < RKNPU_MOST_SHARED; i++) {
		const struct ggml_tensor *next = ggml_graph_node(graph, i);

		if (!computes(next))
			continue;
		if (*n && !(ggml_backend_rknpu_supports_op(ctx, next) && rknpu_matmul_shares(ctx, t[0], next)))
			break;
		t[(*n)++] = next;
		if (!ggml_backend_rknpu_supports_op(ctx, next))
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
static int find_ffn(struct rknpu_context *ctx, struct ggml_cgraph *graph, int i, const struct ggml_tensor **t,
		    struct rknpu_ffn *f)
{
	f->a = t[0];
	f->b = t[1];
	f->glu = next_op(graph, &i);
	f->down = f->glu ? next_op(graph, &i) : NULL;
	return f->down && rknpu_ffn_supported(ctx, graph, f) ? i : -1;
}

/* Of nodes @i to @behind, those that compute something. */
static enum ggml_status nodes_on_cpu(struct rknpu_context *ctx, struct ggml_cgraph *graph, int i, int behind)
{
	enum ggml_status status = GGML_STATUS_SUCCESS;

	for (; i < behind && status == GGML_STATUS_SUCCESS; i++)
		if (computes(ggml_graph_node(graph, i)))
			status = compute_on_cpu(ctx, ggml_graph_node(graph, i));
	return status;
}

/* Node @i, and those behind it that are computed with it; @i is then the first one after them. */
static enum ggml_status compute_nodes(struct rknpu_context *ctx, struct ggml_cgraph *graph, int *i)
{
	const struct ggml_tensor *t[RKNPU_MOST_SHARED];
	int at = *i, behind, ret = 0;
	struct rknpu_ffn ffn;
	uint32_t shared;

	*i = gather(ctx, graph, at, t, &shared);
	if (!shared)
		return GGML_STATUS_SUCCESS;
	if (!ggml_backend_rknpu_supports_op(ctx, t[0]))
		return nodes_on_cpu(ctx, graph, at, *i);
	behind = shared == 2 ? find_ffn(ctx, graph, *i, t, &ffn) : -1;
	if (behind >= 0)
		ret = compute(ctx, t, shared, &ffn);
	if (behind >= 0 && !cpu_can(ret))
		*i = behind;
	else
		ret = compute(ctx, t, shared, NULL);
	if (!ret)
		return GGML_STATUS_SUCCESS;
	return cpu_can(ret) ? nodes_on_cpu(ctx, graph, at, *i) : GGML_STATUS_FAILED;
}

static enum ggml_status ggml_backend_rknpu_graph_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	struct rknpu_context *ctx = backend->context;
	enum ggml_status status = GGML_STATUS_SUCCESS;
	int n = ggml_graph_n_nodes(graph);

	for (int i = 0; i < n && status == GGML_STATUS_SUCCESS;) {
		int at = i;

		status = compute_nodes(ctx, graph, &i);
		for (; at < i; at++)
			if (computes(ggml_graph_node(graph, at)))
				rknpu_buffer_wrote(ctx, ggml_graph_node(graph, at));
	}
	return status;
}

/* ---- weights before they are used, when ggml plans a graph; programs do that when they load a model ---- */

/* Experts are packed when rows choose them. */
static bool is_for_us(struct rknpu_context *ctx, const struct ggml_tensor *t)
{
	return t->op == GGML_OP_MUL_MAT && rknpu_is_early(t) &&
	       ggml_backend_rknpu_supports_op(ctx, t) && rknpu_has_data(ctx, t->src[0]);
}

static int prepare(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	int64_t slices = w->ne[2] * w->ne[3];
	struct rknpu_cache *cache = rknpu_cache_of(ctx, w);
	int ret = 0;

	enum rknpu_fate fate = cache ? rknpu_decide_on(cache, w) : RKNPU_CPU;

	for (int64_t i = 0; fate != RKNPU_CPU && !ret && i < slices; i++) {
		struct rknpu_matrix m = rknpu_slice(ctx, w, i);

		ret = rknpu_cache_prepare(cache, &m, rknpu_prec_of_fate(fate));
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

/* Products with the weights that stay need memory, too. */
static void no_place(struct rknpu_context *ctx, struct ggml_cgraph *graph, const struct ggml_tensor *w, int err)
{
	uint64_t resident;
	bool full;

	rknpu_lock(ctx);
	full = ctx->full;
	if (full)
		rknpu_cache_give_back(ctx, scratch_bytes(graph) + ctx->stats.resident / WEIGHTS_PER_PROGRAM);
	resident = ctx->stats.resident;
	rknpu_unlock(ctx);
	GGML_LOG_WARN("ggml-rknpu: weights %s (%s, %lld x %lld) cannot be packed: %s; %s, %llu MiB of weights are packed\n",
		      w->name, ggml_type_name(w->type), (long long)w->ne[1], (long long)w->ne[0], strerror(-err),
		      full ? "they and those behind them stay on the CPU" : "tried again when they are used",
		      (unsigned long long)resident >> 20);
}

/* ggml has asked about all of a graph before it plans the first part of it. */
static void decide(struct rknpu_context *ctx, struct ggml_cgraph *graph)
{
	enum ggml_log_level level;
	char line[256];

	rknpu_lock(ctx);
	level = rknpu_decide(ctx, scratch_bytes(graph), line, sizeof(line));
	rknpu_unlock(ctx);
	if (level != GGML_LOG_LEVEL_NONE)
		ggml_log_internal(level, "ggml-rknpu: %s\n", line);
}

static void ggml_backend_rknpu_graph_optimize(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	struct rknpu_context *ctx = backend->context;
	int ret = 0;

	decide(ctx, graph);
	for (int i = 0; !ret && i < ggml_graph_n_nodes(graph); i++) {
		const struct ggml_tensor *t = ggml_graph_node(graph, i);

		if (!is_for_us(ctx, t))
			continue;
		rknpu_lock(ctx);
		ret = prepare(ctx, t->src[0]);
		rknpu_unlock(ctx);
		if (ret)
			no_place(ctx, graph, t->src[0], ret);
	}
}

/* ---- the backend ---- */

static const char *ggml_backend_rknpu_get_name(ggml_backend_t backend)
{
	return RKNPU_NAME;
}

static void ggml_backend_rknpu_free(ggml_backend_t backend)
{
	free(backend);
}

ggml_backend_t ggml_backend_rknpu_init(struct rknpu_context *ctx)
{
	ggml_backend_t backend = calloc(1, sizeof(*backend));

	if (!backend)
		return NULL;
	*backend = (struct ggml_backend){
		.guid = &ctx->guid, .device = &ctx->device, .context = ctx,
		.ops = {
			.get_name = ggml_backend_rknpu_get_name, .free = ggml_backend_rknpu_free,
			.graph_compute = ggml_backend_rknpu_graph_compute,
			.graph_optimize = ggml_backend_rknpu_graph_optimize,
		},
	};
	return backend;
}
