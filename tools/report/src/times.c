// SPDX-License-Identifier: MIT
/*
 * Measures what an NPU and its driver need: a small job from submit to result, products of
 * matrices, a copy through the DPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run_npu.h"

#define RK3588		3588u
#define RK3576		3576u
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

struct product {
	struct npu_weights *w;
	struct npu_tensor *x, *y;
	struct npu_rec *rec;
};

/* Of zeros, on so many cores. */
static int make_product(struct product *p, struct npu_dev *dev, enum npu_prec in, enum npu_prec out,
			unsigned int m, unsigned int n, unsigned int k, unsigned int cores)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = in, .n = n, .k = k };
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = cores };
	void *b = calloc((size_t)k * n, in == NPU_PREC_INT8 ? 1 : 2);
	int ret = !b ? -ENOMEM : out == NPU_PREC_INT8 ? npu_requant_from_double(1, 0, &d.rq) : 0;

	ret = ret ? ret : npu_weights_new(dev, &d, b, &p->w);
	free(b);
	ret = ret ? ret : npu_tensor_new(dev, in, m, k, &p->x);
	ret = ret ? ret : npu_tensor_new(dev, out, m, n, &p->y);
	ret = ret ? ret : npu_rec_new(dev, &opts, &p->rec);
	ret = ret ? ret : npu_rec_matmul(p->rec, p->x, p->w, p->y, NULL);
	return ret ? ret : npu_rec_end(p->rec);
}

static void free_product(struct product *p)
{
	npu_rec_free(p->rec);
	npu_tensor_free(p->x);
	npu_tensor_free(p->y);
	npu_weights_free(p->w);
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

#define SMALL_ROWS	1u
#define SMALL_COLS	32u

/* A row of bytes, where nothing writes programs that copy. */
static int time_small(struct rp_machine *m, double *t, unsigned int rounds)
{
	struct product p = { 0 };
	int8_t y[SMALL_COLS];
	int ret = make_product(&p, m->dev, NPU_PREC_INT8, NPU_PREC_INT8, SMALL_ROWS, SMALL_COLS, SMALL_COLS, 1);

	for (unsigned int i = 0; i < rounds && !ret; i++) {
		double begin = seconds();

		ret = npu_rec_run(p.rec);
		ret = ret ? ret : npu_rec_wait(p.rec, -1);
		ret = ret ? ret : npu_tensor_read(p.y, y, 0);
		t[i] = seconds() - begin;
	}
	free_product(&p);
	qsort(t, rounds, sizeof(*t), by_value);
	return ret;
}

static void print_small(FILE *f, struct rp_machine *m, unsigned int rounds)
{
	static const char what[] = "product of one row, submit to result";
	double t[ROUNDS] = { 0 };
	int ret = time_small(m, t, rounds);

	if (ret)
		fprintf(f, "%-36s not run: %s\n", what, strerror(-ret));
	else
		fprintf(f, "%-36s %.1f us (median of %u), %.1f us (shortest)\n", what, t[rounds / 2] * 1e6, rounds,
			t[0] * 1e6);
	fprintf(f, "%-36s left out: the program is for the RK3588\n", "DPU copies memory");
}

/* From the submit to the result in the CPU's layout. */
static int time_product(struct product *p, unsigned int n, unsigned int rounds, double *best)
{
	void *c = calloc((size_t)PRODUCT_M * n, 4);
	int ret = c ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < rounds && !ret; i++) {
		double begin = seconds();

		ret = npu_rec_run(p->rec);
		ret = ret ? ret : npu_rec_wait(p->rec, -1);
		ret = ret ? ret : npu_tensor_read(p->y, c, 0);
		if (!ret && seconds() - begin < *best)
			*best = seconds() - begin;
	}
	free(c);
	return ret;
}

static void print_product(FILE *f, struct rp_machine *m, const char *name, enum npu_prec in,
			  enum npu_prec out, unsigned int n, unsigned int rounds)
{
	struct product p = { 0 };
	double best = 1e9;
	int ret = make_product(&p, m->dev, in, out, PRODUCT_M, n, PRODUCT_K, NPU_MAX_CORES);

	ret = ret ? ret : time_product(&p, n, rounds, &best);
	if (ret)
		fprintf(f, "%-34s not run: %s\n", name, strerror(-ret));
	else
		fprintf(f, "%-34s %.1f GOP/s (%ux%ux%u, all cores, the CPU's share included)\n",
			name, 2e-9 * PRODUCT_M * n * PRODUCT_K / best, PRODUCT_M, PRODUCT_K, n);
	free_product(&p);
}

void rp_times(FILE *f, struct rp_machine *m)
{
	unsigned int rounds = rp_is_model() ? MODEL_ROUNDS : ROUNDS;
	unsigned int n = rp_is_model() ? 64 : PRODUCT_N;
	bool is_rk3588 = npu_soc(m->dev) == RK3588;
	/* Those of the other chips have bytes as results. */
	bool has_words = is_rk3588 || npu_soc(m->dev) == RK3576;

	if (rp_is_model())
		fprintf(f, "Of the model on this host; they cannot be compared with silicon's.\n");
	if (is_rk3588)
		print_copies(f, m, rounds);
	else
		print_small(f, m, rounds);
	print_product(f, m, "int8 product", NPU_PREC_INT8, has_words ? NPU_PREC_INT32 : NPU_PREC_INT8, n, rounds);
	/* Sums in floats are the RK3588's alone. */
	print_product(f, m, "fp16 product", NPU_PREC_FP16, is_rk3588 ? NPU_PREC_FP32 : NPU_PREC_FP16, n, rounds);
}
