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

/* The DPU copies bytes: from the submit to the result in the CPU's hands. */
static int time_copy(struct rp_machine *m, double *t, unsigned int rounds)
{
	static struct trial trial;
	struct rp_fly f = { RP_INT8, RP_INT8, .n = 16 };
	double v[16] = { 1, 2, 3 };

	memset(&trial, 0, sizeof(trial));
	trial.npu = &m->npu;
	for (unsigned int i = 0; i < rounds; i++) {
		double begin;

		rp_clear(&trial);
		rp_fly(&trial, &f, v);
		rp_close(&trial, NPU_EN_DPU | NPU_EN_DPU_RDMA);
		begin = seconds();
		if (m->npu.run(&m->npu, trial.entry, trial.task, 1))
			return -1;
		t[i] = seconds() - begin;
	}
	qsort(t, rounds, sizeof(*t), by_value);
	return 0;
}

static void print_latency(FILE *f, struct rp_machine *m, unsigned int rounds)
{
	double t[ROUNDS];

	if (time_copy(m, t, rounds)) {
		fprintf(f, "%-34s not run: a job failed\n", "job of one task, submit to result");
		return;
	}
	fprintf(f, "%-34s %.1f us (median of %u), %.1f us (shortest)\n",
		"job of one task, submit to result", t[rounds / 2] * 1e6, rounds, t[0] * 1e6);
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
	print_latency(f, m, rounds);
	print_product(f, m, "int8 product", NPU_INT8_INT32, n, rounds);
	print_product(f, m, "fp16 product", NPU_FP16_FP32, n, rounds);
}
