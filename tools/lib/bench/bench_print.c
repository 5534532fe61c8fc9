// SPDX-License-Identifier: MIT
/*
 * What was measured, as text and as JSON. What the model's machine takes says nothing of a board, so
 * there its cycles are shown and no operations per second.
 */
#include <inttypes.h>

#include "bench.h"

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* Two for each multiply-accumulate. */
static double gops(const struct bench_product *p)
{
	return 2 * ratio(bench_macs(p), p->core);
}

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

/* ---- text ---- */

static void text_products(const struct bench_result *r)
{
	printf("\nProducts, m x n x k; times in us; the CPU has %u thread%s\n", r->opts->threads,
	       r->opts->threads == 1 ? "" : "s");
	printf("%-5s %-18s %6s %9s %9s %9s %9s %9s %9s %9s %8s %10s\n", "type", "shape", "right", "pack", "write",
	       "submit", "run", "core", "read", "cpu", "npu:cpu", r->model ? "cycles" : "GOP/s");
	for (uint32_t i = 0; i < r->nproducts; i++) {
		const struct bench_product *p = &r->product[i];
		char shape[40];

		snprintf(shape, sizeof(shape), "%ux%ux%u", p->m, p->n, p->k);
		printf("%-5s %-18s %6s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %8.3f ", bench_type(p->type),
		       shape, p->verified ? "yes" : "NO", us(p->pack), us(p->write), us(p->submit), us(p->run),
		       us(p->core), us(p->read), us(p->cpu), ratio(p->call, p->cpu));
		if (r->model)
			printf("%10" PRIu64 "\n", p->cycles);
		else
			printf("%10.1f\n", gops(p));
	}
}

static void text_packings(const struct bench_result *r)
{
	printf("\nPacking of weights beside memcpy() of as many bytes\n");
	printf("%-5s %-9s %-8s %10s %10s %12s %12s %8s\n", "type", "source", "code", "us", "memcpy", "instructions",
	       "memcpy", "ratio");
	for (uint32_t i = 0; i < BENCH_PACKINGS; i++) {
		const struct bench_packing *p = &r->packing[i];

		printf("%-5s %-9s %-8s %10.1f %10.1f %12" PRIu64 " %12" PRIu64 " %8.2f\n", bench_type(p->type),
		       p->is_kn ? "[k][n]" : "[n][k]", p->plain ? "C" : "library", us(p->ns), us(p->memcpy_ns),
		       p->instructions, p->memcpy_instructions,
		       p->instructions ? ratio(p->instructions, p->memcpy_instructions) :
					 ratio(p->ns, p->memcpy_ns));
	}
}

static void text_setting(const char *name, int64_t v)
{
	if (v < 0)
		printf("# %s: the CPU was faster with all that was measured\n", name);
	else
		printf("export %s=%" PRId64 "\n", name, v);
}

static void text_plan(const struct bench_plan *plan)
{
	printf("\nFor the ggml backend on this machine\n");
	text_setting("RKNPU_GGML_MIN_ROWS", plan->min_rows);
	text_setting("RKNPU_GGML_MIN_K", plan->min_k);
	text_setting("RKNPU_GGML_MIN_MACS", plan->min_macs);
	text_setting("RKNPU_GGML_MIN_REUSE", plan->min_reuse);
}

void bench_print_text(const struct bench_result *r)
{
	struct npu_version v = { .size = sizeof(v) };

	if (!npu_version(r->dev, &v))
		printf("%s: driver %s %d.%d.%d\n", npu_path(r->dev), v.name, v.major, v.minor, v.patch);
	if (r->model)
		printf("This is a model of the NPU: its times say nothing of a board\n");
	text_products(r);
	/* Beside cycles they would say nothing. */
	if (!r->model)
		bench_published_text(stdout);
	text_packings(r);
	if (r->plan)
		text_plan(r->plan);
}

/* ---- JSON ---- */

static void json_number(const char *name, uint64_t v, bool known)
{
	if (known)
		printf(", \"%s\": %" PRIu64, name, v);
	else
		printf(", \"%s\": null", name);
}

static void json_product(const struct bench_product *p, bool model)
{
	printf("{\"type\": \"%s\", \"m\": %u, \"n\": %u, \"k\": %u", bench_type(p->type), p->m, p->n, p->k);
	printf(", \"verified\": %s, \"max_err\": %.6g", p->verified ? "true" : "false", p->max_err);
	json_number("macs", bench_macs(p), true);
	json_number("tasks", p->tasks, true);
	json_number("pack_ns", p->pack, true);
	json_number("write_ns", p->write, true);
	json_number("submit_ns", p->submit, true);
	json_number("run_ns", p->run, true);
	json_number("read_ns", p->read, true);
	json_number("call_ns", p->call, true);
	json_number("core_ns", p->core, p->core);
	json_number("cpu_ns", p->cpu, true);
	json_number("cpu_bytes", p->moved, true);
	json_number("weight_bytes", p->weights, true);
	json_number("npu_bytes", p->npu_bytes, model);
	json_number("cycles", p->cycles, model);
	if (model || !p->core)
		printf(", \"gops\": null");
	else
		printf(", \"gops\": %.3f", gops(p));
	printf(", \"npu_to_cpu\": %.6f}", ratio(p->call, p->cpu));
}

static void json_products(const char *name, const struct bench_product *p, uint32_t n, bool model)
{
	printf(",\n\"%s\": [", name);
	for (uint32_t i = 0; i < n; i++) {
		printf("%s\n", i ? "," : "");
		json_product(&p[i], model);
	}
	printf("]");
}

static void json_packings(const struct bench_result *r)
{
	printf(",\n\"packing\": [");
	for (uint32_t i = 0; i < BENCH_PACKINGS; i++) {
		const struct bench_packing *p = &r->packing[i];

		printf("%s\n{\"type\": \"%s\", \"source\": \"%s\", \"code\": \"%s\"", i ? "," : "",
		       bench_type(p->type), p->is_kn ? "kn" : "nk", p->plain ? "c" : "library");
		json_number("bytes", p->bytes, true);
		json_number("ns", p->ns, true);
		json_number("memcpy_ns", p->memcpy_ns, true);
		json_number("instructions", p->instructions, p->instructions);
		json_number("memcpy_instructions", p->memcpy_instructions, p->instructions);
		printf("}");
	}
	printf("]");
}

static void json_setting(const char *name, int64_t v, bool first)
{
	printf("%s\"%s\": ", first ? "" : ", ", name);
	if (v < 0)
		printf("null");
	else
		printf("%" PRId64, v);
}

static void json_plan(const struct bench_plan *plan, bool model)
{
	json_products("points", plan->point, plan->npoints, model);
	printf(",\n\"ggml\": {");
	json_setting("RKNPU_GGML_MIN_ROWS", plan->min_rows, true);
	json_setting("RKNPU_GGML_MIN_K", plan->min_k, false);
	json_setting("RKNPU_GGML_MIN_MACS", plan->min_macs, false);
	json_setting("RKNPU_GGML_MIN_REUSE", plan->min_reuse, false);
	printf("}");
}

void bench_print_json(const struct bench_result *r)
{
	struct npu_version v = { .size = sizeof(v), .name = "" };

	npu_version(r->dev, &v);
	printf("{\"driver\": \"%s\", \"model\": %s, \"threads\": %u, \"repeat\": %u", v.name,
	       r->model ? "true" : "false", r->opts->threads, r->opts->repeat);
	json_products("products", r->product, r->nproducts, r->model);
	bench_published_json(stdout);
	json_packings(r);
	if (r->plan)
		json_plan(r->plan, r->model);
	printf("}\n");
}
