/* SPDX-License-Identifier: MIT */
/*
 * What the parts of npu-bench share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <time.h>

#include "npu.h"

struct bench_opts {
	uint32_t repeat;	/* of which the shortest time counts */
	uint32_t threads;	/* of the CPU's product */
	bool tiny, json;
};

/* y[m][n] = x[m][k] * w[n][k]^T, on the NPU and on the CPU; times are in ns. */
struct bench_product {
	enum npu_prec type;	/* of x and w; y is INT32 or FP32 */
	uint32_t m, n, k;

	uint32_t tasks;
	bool verified;
	double max_err;		/* absolute; 0 for integers */
	uint64_t pack;		/* weights, once */
	uint64_t write, submit, run, read;	/* of one call; run is from the submit to the end */
	uint64_t call;		/* all four; the shortest one, not the sum of the shortest */
	uint64_t core;		/* on the core, 0 = not known */
	uint64_t cycles, npu_bytes;	/* of one run, counted by the model; 0 = there is none */
	uint64_t moved, weights;	/* bytes that the CPU laid out per call, and once */
	uint64_t cpu;
};

static inline uint64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t bench_macs(const struct bench_product *p)
{
	return (uint64_t)p->m * p->n * p->k;
}

const char *bench_type(enum npu_prec type);
/* Exits if there is no memory. */
void *bench_alloc(size_t n, size_t size);

/* bench_product.c: measures p->type, m, n, k; 0, or a negative errno after a message. */
int bench_product_run(struct npu_dev *dev, const struct bench_opts *o, struct bench_product *p);

/* bench_cpu.c: threads that wait for products */
int bench_cpu_start(uint32_t threads);
void bench_cpu_stop(void);
void bench_cpu_int8(const int8_t *x, const int8_t *w, int32_t *y, uint32_t m, uint32_t n, uint32_t k);
void bench_cpu_float(const float *x, const float *w, float *y, uint32_t m, uint32_t n, uint32_t k);

/* bench_pack.c: packing of weights beside memcpy() of as many bytes */
struct bench_packing {
	enum npu_prec type;
	bool is_kn, plain;	/* plain: in C, where the library has vectors */
	uint64_t bytes;
	uint64_t ns, memcpy_ns;
	uint64_t instructions, memcpy_instructions;	/* 0 = nothing counts them */
};

#define BENCH_PACKINGS	8u
void bench_packings(const struct bench_opts *o, struct bench_packing packing[BENCH_PACKINGS]);

/* bench_plan.c: from where on the NPU is faster, for the planner of the ggml backend */
#define BENCH_POINTS	40u
struct bench_plan {
	struct bench_product point[BENCH_POINTS];
	uint32_t npoints;
	/* Of RKNPU_GGML_*; -1 = nothing that was measured is enough. */
	int64_t min_rows, min_k, min_macs, min_reuse;
};

int bench_plan_make(struct npu_dev *dev, const struct bench_opts *o, struct bench_plan *plan);

/* bench_published.c: figures of other people */
struct bench_published {
	const char *type, *shape;
	uint32_t cores, mhz;	/* 0 = not said */
	double figure;
	const char *unit, *author, *with;
};

const struct bench_published *bench_published(uint32_t *n);
void bench_published_text(FILE *f);
/* A member of an object that has others before it. */
void bench_published_json(FILE *f);

/* bench_print.c */
struct bench_result {
	struct npu_dev *dev;
	const struct bench_opts *opts;
	bool model;
	struct bench_product *product;
	uint32_t nproducts;
	struct bench_packing packing[BENCH_PACKINGS];
	struct bench_plan *plan;	/* or NULL */
};

void bench_print_text(const struct bench_result *r);
void bench_print_json(const struct bench_result *r);

#endif /* BENCH_H */
