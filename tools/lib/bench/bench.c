// SPDX-License-Identifier: MIT
/*
 * npu-bench: what products cost on this NPU, beside the CPU of the same machine, and what to set for
 * the ggml backend. Debian's manual page npu-bench.1 has the options.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "demo_counters.h"

#define MOST_PRODUCTS	64u

static struct bench_product product[MOST_PRODUCTS];
static uint32_t nproducts;
static struct bench_plan plan;

const char *bench_type(enum npu_prec type)
{
	return type == NPU_PREC_INT8 ? "int8" : type == NPU_PREC_BF16 ? "bf16" : "fp16";
}

void *bench_alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "npu-bench: out of memory\n");
		exit(1);
	}
	return p;
}

static void usage(void)
{
	fprintf(stderr, "usage: npu-bench [--json] [--tiny] [--no-plan] [--repeat N] [--threads N] [--shape MxNxK]...\n");
	exit(2);
}

static void add_shape(uint32_t m, uint32_t n, uint32_t k)
{
	static const enum npu_prec types[] = { NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_BF16 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (nproducts == MOST_PRODUCTS)
			usage();
		product[nproducts++] = (struct bench_product){ .type = types[i], .m = m, .n = n, .k = k };
	}
}

static void parse_shape(const char *text)
{
	unsigned int m, n, k;
	char rest;

	if (sscanf(text, "%ux%ux%u%c", &m, &n, &k, &rest) != 3 || !m || !n || !k || m > 65536 || n > 65536 ||
	    k > 65536)
		usage();
	add_shape(m, n, k);
}

static uint32_t parse_number(const char *text, uint32_t most)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (!*text || *end || !v || v > most)
		usage();
	return (uint32_t)v;
}

static void default_shapes(bool tiny)
{
	if (tiny) {
		add_shape(1, 64, 64);
		add_shape(5, 70, 100);
		return;
	}
	add_shape(1, 4096, 4096);
	add_shape(1, 2048, 2048);
	add_shape(8, 2048, 2048);
	add_shape(32, 2048, 2048);
	add_shape(128, 1024, 1024);
	add_shape(512, 512, 512);
}

static bool parse(int argc, char **argv, struct bench_opts *o)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "tiny", no_argument, NULL, 't' },
		{ "no-plan", no_argument, NULL, 'n' }, { "repeat", required_argument, NULL, 'r' },
		{ "threads", required_argument, NULL, 'c' }, { "shape", required_argument, NULL, 's' }, { 0 },
	};
	bool planned = true;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 'j')
			o->json = true;
		else if (c == 't')
			o->tiny = true;
		else if (c == 'n')
			planned = false;
		else if (c == 'r')
			o->repeat = parse_number(optarg, 1000);
		else if (c == 'c')
			o->threads = parse_number(optarg, 16);
		else if (c == 's')
			parse_shape(optarg);
		else
			usage();
	}
	if (optind < argc)
		usage();
	if (!nproducts)
		default_shapes(o->tiny);
	if (!o->repeat)
		o->repeat = o->tiny ? 2 : 5;
	return planned;
}

static int run_all(struct bench_result *r, bool planned)
{
	int ret = 0;

	for (uint32_t i = 0; i < nproducts && !ret; i++)
		ret = bench_product_run(r->dev, r->opts, &product[i]);
	if (!ret)
		bench_packings(r->opts, r->packing);
	if (!ret && planned) {
		ret = bench_plan_make(r->dev, r->opts, &plan);
		r->plan = &plan;
	}
	return ret;
}

static int all_verified(void)
{
	int wrong = 0;

	for (uint32_t i = 0; i < nproducts; i++)
		wrong += !product[i].verified;
	for (uint32_t i = 0; i < plan.npoints; i++)
		wrong += !plan.point[i].verified;
	if (wrong)
		fprintf(stderr, "npu-bench: %d products are wrong\n", wrong);
	return wrong;
}

int main(int argc, char **argv)
{
	struct bench_opts opts = { .threads = 1 };
	bool planned = parse(argc, argv, &opts);
	struct bench_result r = { .opts = &opts, .product = product, .nproducts = nproducts };
	int ret = npu_open(NULL, &r.dev);

	if (ret) {
		fprintf(stderr, "npu-bench: no NPU: %s\n", strerror(-ret));
		return 1;
	}
	r.model = demo_counters_model();
	if (bench_cpu_start(opts.threads)) {
		fprintf(stderr, "npu-bench: no threads\n");
		return 1;
	}
	ret = run_all(&r, planned);
	bench_cpu_stop();
	if (!ret)
		(opts.json ? bench_print_json : bench_print_text)(&r);
	npu_close(r.dev);
	return ret || all_verified() ? 1 : 0;
}
