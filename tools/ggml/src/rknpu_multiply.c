// SPDX-License-Identifier: MIT
/*
 * Products with packed weights: a recording for each number of rows, and as many at once as it holds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* Recordings that the same weights keep: whole batches, and the last one of a prompt. */
#define KEPT	2

/* Bytes of results that lie in the NPU's memory at once: a vocabulary is wide. */
#define MOST_RESULTS	(64u << 20)

struct run {
	uint32_t m, n;
	const struct rknpu_weights *w[RKNPU_MOST_SHARED];
	struct npu_rec *rec;
	struct npu_tensor *x, *y[RKNPU_MOST_SHARED];
	struct run *next;
};

/* The newest first. */
static struct run *runs;

static void run_free(struct run *run)
{
	npu_rec_free(run->rec);
	if (run->x)
		rknpu_scratch_put(run->x);
	for (uint32_t i = 0; i < run->n; i++)
		if (run->y[i])
			rknpu_scratch_put(run->y[i]);
	free(run);
}

static bool has(const struct run *run, const struct rknpu_weights *w)
{
	for (uint32_t i = 0; i < run->n; i++)
		if (run->w[i] == w)
			return true;
	return false;
}

void rknpu_runs_free(const struct rknpu_weights *w)
{
	struct run **at = &runs;

	while (*at) {
		struct run *run = *at;

		if (!has(run, w)) {
			at = &run->next;
			continue;
		}
		*at = run->next;
		run_free(run);
	}
}

/* Of those before it, how many have as many rows of weights: results want memory of their own. */
static uint32_t alike(const struct run *run, uint32_t i)
{
	uint32_t which = 0;

	for (uint32_t j = 0; j < i; j++)
		which += run->w[j]->from.n == run->w[i]->from.n;
	return which;
}

static int add_product(struct run *run, uint32_t i)
{
	bool exact = run->w[i]->type == NPU_PREC_INT8;
	struct npu_shape y = { exact ? NPU_PREC_INT32 : NPU_PREC_FP32, run->m, run->w[i]->from.n };
	int ret = rknpu_scratch_get(y, alike(run, i), &run->y[i]);

	return ret ? ret : npu_rec_matmul(run->rec, run->x, run->w[i]->npu, run->y[i], NULL);
}

static int record(struct run *run)
{
	struct npu_shape x = { run->w[0]->type, run->m, run->w[0]->from.k };
	int ret = rknpu_scratch_get(x, 0, &run->x);

	if (!ret)
		ret = rknpu_record(&run->rec);
	for (uint32_t i = 0; !ret && i < run->n; i++)
		ret = add_product(run, i);
	return ret ? ret : npu_rec_end(run->rec);
}

static void keep(struct run *run)
{
	unsigned int n = 0;

	run->next = runs;
	runs = run;
	for (struct run **at = &runs; *at;) {
		struct run *old = *at;

		n += old->w[0] == run->w[0];
		if (old->w[0] != run->w[0] || n <= KEPT) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		run_free(old);
	}
}

static bool is_for(const struct run *run, const struct rknpu_rows *r)
{
	if (run->m != r->m || run->n != r->n)
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		if (run->w[i] != r->out[i].w)
			return false;
	return true;
}

static int find_run(const struct rknpu_rows *r, struct run **out)
{
	struct run *run;
	int ret;

	for (run = runs; run; run = run->next)
		if (is_for(run, r)) {
			*out = run;
			return 0;
		}
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	run->m = r->m;
	run->n = r->n;
	for (uint32_t i = 0; i < r->n; i++)
		run->w[i] = r->out[i].w;
	ret = record(run);
	if (ret) {
		run_free(run);
		return ret;
	}
	rknpu_stats.recorded++;
	keep(run);
	*out = run;
	return 0;
}

/* ---- products ---- */

static int multiply_rows(const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_scale scale = { 0 };
	struct run *run;
	int ret = find_run(r, &run);

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	ret = rknpu_write_x(run->x, r, &scale);
	if (!ret)
		ret = rknpu_go(run->rec);
	for (uint32_t i = 0; !ret && i < r->n; i++)
		ret = rknpu_read_y(run->y[i], &r->out[i], r->m, &scale);
	free(scale.row);
	if (!ret)
		return 0;
	rknpu_explain(run->rec, ret, why, size);
	/* Made anew the next time, and whatever was wrong with it is gone. */
	rknpu_runs_free(r->out[0].w);
	return ret;
}

static uint64_t result_bytes(const struct rknpu_rows *r)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; i < r->n; i++)
		columns += r->out[i].w->from.n;
	return r->m * columns * sizeof(float);
}

static int in_halves(const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_rows a = *r, b = *r;
	int ret;

	a.m = r->m / 2;
	b.m = r->m - a.m;
	b.x = rknpu_x_row(r, a.m);
	for (uint32_t i = 0; i < r->n; i++)
		b.out[i].y = rknpu_y_row(&r->out[i], a.m);
	ret = rknpu_multiply(&a, why, size);
	return ret ? ret : rknpu_multiply(&b, why, size);
}

static int one_by_one(const struct rknpu_rows *r, char *why, size_t size)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < r->n; i++) {
		struct rknpu_rows one = *r;

		one.n = 1;
		one.out[0] = r->out[i];
		ret = rknpu_multiply(&one, why, size);
	}
	return ret;
}

/* Less at a time, if a recording cannot hold the tasks of all, or for less memory. */
int rknpu_multiply(const struct rknpu_rows *r, char *why, size_t size)
{
	bool small = r->m == 1 && r->n == 1;
	int ret = -E2BIG;

	if (small || result_bytes(r) <= MOST_RESULTS)
		ret = multiply_rows(r, why, size);
	if (ret != -E2BIG || small)
		return ret;
	return r->n > 1 ? one_by_one(r, why, size) : in_halves(r, why, size);
}
