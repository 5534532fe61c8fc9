// SPDX-License-Identifier: MIT
/*
 * Operations that this backend does not have: ggml's RPC server gives it whole graphs without
 * asking, and ggml's CPU backend computes the rest of them in the same memory.
 */
#include <unistd.h>

#include "rknpu_ggml.h"

/* The fast cores of the SoC. */
#define THREADS	4

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

static ggml_backend_t the_cpu(void)
{
	static ggml_backend_t cpu;

	rknpu_lock();
	if (!cpu)
		cpu = open_cpu();
	rknpu_unlock();
	return cpu;
}

enum ggml_status rknpu_on_cpu(const struct ggml_tensor *op)
{
	struct ggml_init_params params = {
		.mem_size = ggml_graph_overhead_custom(1, false), .no_alloc = true,
	};
	struct ggml_context *ctx = ggml_init(params);
	ggml_backend_t cpu = the_cpu();
	enum ggml_status status = GGML_STATUS_ALLOC_FAILED;
	struct ggml_cgraph *graph;

	if (ctx && cpu) {
		graph = ggml_new_graph_custom(ctx, 1, false);
		ggml_graph_add_node(graph, (struct ggml_tensor *)op);
		status = ggml_backend_graph_compute(cpu, graph);
	} else {
		rknpu_say("%s %s failed: there is no CPU backend, or no memory", ggml_op_name(op->op), op->name);
	}
	ggml_free(ctx);
	return status;
}
