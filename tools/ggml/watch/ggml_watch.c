// SPDX-License-Identifier: MIT
/*
 * Preloaded into a program of llama.cpp, writes what each graph of ggml cost and what was chosen
 * from its logits: where the multiply-accumulates are, starts of the NPU, interrupts, bytes.
 *
 * GGML_WATCH names the file. A line for each graph, all numbers decimal:
 *   graph rows=R macs.BACKEND=N... splits=N runs=N npu_macs=N packed=N tasks=N irqs=N bytes=N weights=N
 *   insns=N wire=N
 * rows is the most rows of activations of a product; macs.BACKEND is what ggml's scheduler gave to
 * whom, npu_macs what our backend did. bytes is of the NPU's own reads and writes, which the model
 * counts; weights of the matrices that the CPU multiplies by; insns of all CPUs and of the kernel, too,
 * which QEMU counts with -icount, or 0; wire what went over the loopback interface since the line before, so that it has the
 * answers to the graph before. A line for each token that a program looks at:
 *   logits best=TOKEN second=TOKEN gap=X spread=X
 * gap is between the two, spread the standard deviation of all.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ggml-backend.h>
#include <ggml.h>

#include "demo_counters.h"
#include "rknpu_ggml_stats.h"

#define EXPORT	__attribute__((visibility("default")))
#define MOST_BACKENDS	4
#define MOST_CPUS	8

struct sums {
	int64_t rows;
	unsigned int n;
	const char *name[MOST_BACKENDS];
	uint64_t macs[MOST_BACKENDS];
	uint64_t weights;
};

struct counts {
	struct rknpu_ggml_stats backend;
	struct demo_counters npu;
	uint64_t instructions;
};

/* The scheduler computes a graph through other functions of these. */
static __thread bool inside;

static FILE *out(void)
{
	static FILE *file;
	const char *path = getenv("GGML_WATCH");

	if (!file && path) {
		file = fopen(path, "ae");
		if (file)
			setvbuf(file, NULL, _IOLBF, 0);
	}
	return file;
}

static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f) {
		fprintf(stderr, "ggml_watch: this program has no %s\n", name);
		abort();
	}
	return f;
}

/* ---- what a graph is ---- */

static uint64_t macs_of(const struct ggml_tensor *t)
{
	switch (t->op) {
	case GGML_OP_MUL_MAT:
	case GGML_OP_MUL_MAT_ID:
		return (uint64_t)ggml_nelements(t) * t->src[0]->ne[0];
	case GGML_OP_FLASH_ATTN_EXT:
		return (uint64_t)(ggml_nelements(t->src[0]) + ggml_nelements(t)) * t->src[1]->ne[1];
	default:
		return 0;
	}
}

static void add(struct sums *s, const char *name, uint64_t macs)
{
	unsigned int i;

	for (i = 0; i < s->n && strcmp(s->name[i], name); i++)
		;
	if (i == MOST_BACKENDS)
		return;
	if (i == s->n)
		s->name[s->n++] = name;
	s->macs[i] += macs;
}

/* Of a scheduler, or of one backend. */
static struct sums sums_of(struct ggml_cgraph *graph, ggml_backend_sched_t sched,
			   ggml_backend_t backend)
{
	struct sums s = { 0 };

	for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
		struct ggml_tensor *t = ggml_graph_node(graph, i);
		ggml_backend_t by = sched ? ggml_backend_sched_get_tensor_backend(sched, t) : backend;
		uint64_t macs = macs_of(t);

		if (!macs)
			continue;
		add(&s, by ? ggml_backend_name(by) : "none", macs);
		if (by && !strcmp(ggml_backend_name(by), "CPU") && t->src[0]->op == GGML_OP_NONE)
			s.weights += ggml_nbytes(t->src[0]);
		if (t->op == GGML_OP_MUL_MAT && t->src[0]->ne[2] == 1 && t->ne[1] > s.rows)
			s.rows = t->ne[1];
	}
	return s;
}

/* ---- what it cost ---- */

/* A counter of @cpu, or -1. */
static int open_counter(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = PERF_COUNT_HW_INSTRUCTIONS,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

static uint64_t instructions(void)
{
	static int counter[MOST_CPUS];
	static bool opened;
	uint64_t sum = 0, v;

	for (int i = 0; !opened && i < MOST_CPUS; i++)
		counter[i] = open_counter(i);
	opened = true;
	for (int i = 0; i < MOST_CPUS; i++)
		if (counter[i] >= 0 && read(counter[i], &v, sizeof(v)) == sizeof(v))
			sum += v;
	return sum;
}

static void count(struct counts *c)
{
	ggml_backend_reg_t reg = ggml_backend_reg_by_name("RKNPU");
	ggml_backend_rknpu_get_stats_t get = NULL;

	memset(c, 0, sizeof(*c));
	if (reg)
		get = (ggml_backend_rknpu_get_stats_t)ggml_backend_reg_get_proc_address(reg,
											"ggml_backend_rknpu_get_stats");
	if (get)
		get(reg, &c->backend);
	demo_counters_read(&c->npu);
	c->instructions = instructions();
}

/* Each byte is counted once as sent. */
static uint64_t loopback(void)
{
	unsigned long long sent = 0;
	FILE *f = fopen("/proc/net/dev", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " lo: %*u %*u %*u %*u %*u %*u %*u %*u %llu", &sent) == 1)
			break;
	if (f)
		fclose(f);
	return sent;
}

static uint64_t sum(const uint64_t *per_core)
{
	return per_core[0] + per_core[1] + per_core[2];
}

static void tell(const struct sums *s, int splits, const struct counts *a, const struct counts *b)
{
	static uint64_t before;
	uint64_t now = loopback();
	FILE *f = out();

	fprintf(f, "graph rows=%lld", (long long)s->rows);
	for (unsigned int i = 0; i < s->n; i++)
		fprintf(f, " macs.%s=%llu", s->name[i], (unsigned long long)s->macs[i]);
	fprintf(f, " splits=%d runs=%llu npu_macs=%llu packed=%llu tasks=%llu irqs=%llu bytes=%llu",
		splits,
		(unsigned long long)(b->backend.runs - a->backend.runs),
		(unsigned long long)(b->backend.macs - a->backend.macs),
		(unsigned long long)(b->backend.packed - a->backend.packed),
		(unsigned long long)(sum(b->npu.tasks) - sum(a->npu.tasks)),
		(unsigned long long)(sum(b->npu.irqs) - sum(a->npu.irqs)),
		(unsigned long long)(b->npu.bytes - a->npu.bytes));
	fprintf(f, " weights=%llu insns=%llu wire=%llu\n", (unsigned long long)s->weights,
		(unsigned long long)(b->instructions - a->instructions), (unsigned long long)(now - before));
	before = now;
}

typedef enum ggml_status (*sched_compute_t)(ggml_backend_sched_t sched, struct ggml_cgraph *graph);
typedef enum ggml_status (*compute_t)(ggml_backend_t backend, struct ggml_cgraph *graph);

EXPORT enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched,
							       struct ggml_cgraph *graph)
{
	static sched_compute_t real;
	enum ggml_status status;
	struct counts a, b;
	struct sums s;

	if (!real)
		real = (sched_compute_t)next("ggml_backend_sched_graph_compute_async");
	if (inside || !out())
		return real(sched, graph);
	s = sums_of(graph, sched, NULL);
	count(&a);
	inside = true;
	status = real(sched, graph);
	ggml_backend_sched_synchronize(sched);
	inside = false;
	count(&b);
	tell(&s, ggml_backend_sched_get_n_splits(sched), &a, &b);
	return status;
}

/* Of one backend, as ggml's server computes what another machine sends. */
static enum ggml_status compute(compute_t real, ggml_backend_t backend, struct ggml_cgraph *graph)
{
	enum ggml_status status;
	struct counts a, b;
	struct sums s;

	if (inside || !out())
		return real(backend, graph);
	s = sums_of(graph, NULL, backend);
	count(&a);
	inside = true;
	status = real(backend, graph);
	inside = false;
	count(&b);
	tell(&s, 1, &a, &b);
	return status;
}

EXPORT enum ggml_status ggml_backend_graph_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	static compute_t real;

	if (!real)
		real = (compute_t)next("ggml_backend_graph_compute");
	return compute(real, backend, graph);
}

EXPORT enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend,
							 struct ggml_cgraph *graph)
{
	static compute_t real;

	if (!real)
		real = (compute_t)next("ggml_backend_graph_compute_async");
	return compute(real, backend, graph);
}

/* ---- what was computed ---- */

static double spread_of(const float *x, int n)
{
	double mean = 0, squares = 0;

	for (int i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (int i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return sqrt(squares / n);
}

static void tell_logits(const float *x, int n)
{
	int best = 0, second = -1;

	for (int i = 1; i < n; i++)
		if (x[i] > x[best]) {
			second = best;
			best = i;
		} else if (second < 0 || x[i] > x[second]) {
			second = i;
		}
	fprintf(out(), "logits best=%d second=%d gap=%.6g spread=%.6g\n", best, second,
		second < 0 ? 0 : x[best] - x[second], spread_of(x, n));
}

/* llama.h's, of which nothing but addresses is needed here. */
EXPORT float *llama_get_logits_ith(void *ctx, int32_t i);

EXPORT float *llama_get_logits_ith(void *ctx, int32_t i)
{
	static float *(*real)(void *ctx, int32_t i);
	static const void *(*model_of)(const void *ctx);
	static const void *(*vocab_of)(const void *model);
	static int32_t (*tokens_of)(const void *vocab);
	float *x;

	if (!real) {
		real = (float *(*)(void *, int32_t))next("llama_get_logits_ith");
		model_of = (const void *(*)(const void *))next("llama_get_model");
		vocab_of = (const void *(*)(const void *))next("llama_model_get_vocab");
		tokens_of = (int32_t (*)(const void *))next("llama_vocab_n_tokens");
	}
	x = real(ctx, i);
	if (x && out())
		tell_logits(x, tokens_of(vocab_of(model_of(ctx))));
	return x;
}
