// SPDX-License-Identifier: MIT
/*
 * Measures what an NPU and its driver need: a small job from submit to result, products of
 * matrices, a copy through the DPU.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run_npu.h"

#define ROUNDS		200u
#define MODEL_ROUNDS	5u
/* What fits the operands' BO. */
#define COPY_POSITIONS	8192u
#define COPY_SURFACES	4u
/* A product of one task, best known to fill the array (happyme531, gregordinary). */
#define PRODUCT_M	352u
#define PRODUCT_N	1024u
#define PRODUCT_K	1024u

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Copies of bytes, sorted: each from the submit to the result in the CPU's hands. */
static int time_copies(struct rp_machine *m, unsigned int positions, unsigned int surfaces,
		       double *t, unsigned int rounds)
{
	static struct trial trial;

	memset(&trial, 0, sizeof(trial));
	trial.npu = &m->npu;
	rp_copy(&trial, positions, surfaces);
	for (unsigned int i = 0; i < rounds; i++) {
		double begin = seconds();

		if (m->npu.run(&m->npu, trial.entry, trial.task, 1))
			return -1;
		t[i] = seconds() - begin;
	}
	qsort(t, rounds, sizeof(*t), by_value);
	return 0;
}

static void print_copies(FILE *f, struct rp_machine *m, unsigned int rounds)
{
	static const char what[] = "job of one task, submit to result";
	const double bytes = 2.0 * COPY_POSITIONS * COPY_SURFACES * 16;
	double small[ROUNDS], large[ROUNDS];

	if (time_copies(m, 1, 1, small, rounds) ||
	    time_copies(m, COPY_POSITIONS, COPY_SURFACES, large, rounds)) {
		fprintf(f, "%-34s not run: a job failed\n", what);
		return;
	}
	fprintf(f, "%-34s %.1f us (median of %u), %.1f us (shortest)\n", what,
		small[rounds / 2] * 1e6, rounds, small[0] * 1e6);
	if (large[0] > small[0])
		fprintf(f, "%-34s %.2f GB/s read and written, one core, a small job's time off\n",
			"DPU copies memory", bytes / (large[0] - small[0]) / 1e9);
}

static void print_product(FILE *f, struct rp_machine *m, const char *name, enum npu_dtype type,
			  unsigned int n, unsigned int rounds)
{
	const size_t bytes = type == NPU_INT8_INT32 ? 1 : 2;
	struct npu_matmul_desc d = { .dtype = type, .m = PRODUCT_M, .n = n, .k = PRODUCT_K };
	struct npu_job *job = NULL;
	double best = 1e9;
	void *a = calloc(PRODUCT_M * PRODUCT_K, bytes), *b = calloc(PRODUCT_K * n, bytes);
	void *c = calloc(PRODUCT_M * n, 4);
	int ret = a && b && c ? npu_matmul_prepare(m->dev, &d, a, b, NULL, c, NULL, &job) : -1;

	for (unsigned int i = 0; i < rounds && !ret; i++) {
		double begin = seconds();

		ret = npu_job_start(job);
		if (!ret)
			ret = npu_sync(job, -1);
		if (!ret && seconds() - begin < best)
			best = seconds() - begin;
	}
	if (ret)
		fprintf(f, "%-34s not run: %s\n", name, strerror(ret < 0 ? -ret : ret));
	else
		fprintf(f, "%-34s %.1f GOP/s (%ux%ux%u, all cores, the CPU's share included)\n",
			name, 2e-9 * PRODUCT_M * n * PRODUCT_K / best, PRODUCT_M, PRODUCT_K, n);
	npu_job_free(job);
	free(a);
	free(b);
	free(c);
}

void rp_times(FILE *f, struct rp_machine *m)
{
	unsigned int rounds = rp_is_model() ? MODEL_ROUNDS : ROUNDS;
	unsigned int n = rp_is_model() ? 64 : PRODUCT_N;

	if (rp_is_model())
		fprintf(f, "Of the model on this host; they cannot be compared with silicon's.\n");
	print_copies(f, m, rounds);
	print_product(f, m, "int8 product", NPU_INT8_INT32, n, rounds);
	print_product(f, m, "fp16 product", NPU_FP16_FP32, n, rounds);
}
