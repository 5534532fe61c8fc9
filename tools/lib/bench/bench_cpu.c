// SPDX-License-Identifier: MIT
/*
 * The CPU's own products, on threads that wait for the next one: four rows at a time, in the
 * vectors that the compiler finds.
 */
#include <pthread.h>
#include <stdlib.h>

#include "bench.h"

#define MOST_THREADS	16u
#define BLOCK		4u

struct work {
	const void *x, *w;
	void *y;
	uint32_t m, n, k;
	bool floats;
};

static pthread_t thread[MOST_THREADS];
static pthread_barrier_t begin, end;
static uint32_t nthreads = 1;
static struct work work;
static bool over;

/* @rows rows against one of the weights; dot products, so that weights are read once. */
#define DEFINE_BLOCK(name, type, sum_type)							\
static void name(const type *restrict x, const type *restrict w, sum_type *y, uint32_t rows,	\
		 uint32_t n, uint32_t k)							\
{												\
	sum_type s[BLOCK] = { 0 };								\
												\
	if (rows == BLOCK) {									\
		const type *x1 = x + k, *x2 = x1 + k, *x3 = x2 + k;				\
												\
		for (uint32_t i = 0; i < k; i++) {						\
			s[0] += x[i] * w[i];							\
			s[1] += x1[i] * w[i];							\
			s[2] += x2[i] * w[i];							\
			s[3] += x3[i] * w[i];							\
		}										\
	} else {										\
		for (uint32_t r = 0; r < rows; r++)						\
			for (uint32_t i = 0; i < k; i++)					\
				s[r] += x[(size_t)r * k + i] * w[i];				\
	}											\
	for (uint32_t r = 0; r < rows; r++)							\
		y[(size_t)r * n] = s[r];							\
}

DEFINE_BLOCK(int8_block, int8_t, int32_t)
DEFINE_BLOCK(float_block, float, float)

static void share(uint32_t t)
{
	const struct work *j = &work;
	uint32_t from = (uint32_t)((uint64_t)j->n * t / nthreads);
	uint32_t to = (uint32_t)((uint64_t)j->n * (t + 1) / nthreads);

	for (uint32_t m = 0; m < j->m; m += BLOCK) {
		uint32_t rows = j->m - m < BLOCK ? j->m - m : BLOCK;
		size_t x = (size_t)m * j->k, y = (size_t)m * j->n;

		for (uint32_t n = from; n < to; n++) {
			size_t w = (size_t)n * j->k;

			if (j->floats)
				float_block((const float *)j->x + x, (const float *)j->w + w,
					    (float *)j->y + y + n, rows, j->n, j->k);
			else
				int8_block((const int8_t *)j->x + x, (const int8_t *)j->w + w,
					   (int32_t *)j->y + y + n, rows, j->n, j->k);
		}
	}
}

static void *worker(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		if (over)
			return NULL;
		share((uint32_t)(uintptr_t)arg);
		pthread_barrier_wait(&end);
	}
}

int bench_cpu_start(uint32_t threads)
{
	if (!threads || threads > MOST_THREADS)
		return -1;
	nthreads = threads;
	pthread_barrier_init(&begin, NULL, threads);
	pthread_barrier_init(&end, NULL, threads);
	for (uint32_t i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)i))
			return -1;
	return 0;
}

void bench_cpu_stop(void)
{
	over = true;
	pthread_barrier_wait(&begin);
	for (uint32_t i = 1; i < nthreads; i++)
		pthread_join(thread[i], NULL);
}

static void multiply(struct work w)
{
	work = w;
	pthread_barrier_wait(&begin);
	share(0);
	pthread_barrier_wait(&end);
}

void bench_cpu_int8(const int8_t *x, const int8_t *w, int32_t *y, uint32_t m, uint32_t n, uint32_t k)
{
	multiply((struct work){ x, w, y, m, n, k, false });
}

void bench_cpu_float(const float *x, const float *w, float *y, uint32_t m, uint32_t n, uint32_t k)
{
	multiply((struct work){ x, w, y, m, n, k, true });
}
