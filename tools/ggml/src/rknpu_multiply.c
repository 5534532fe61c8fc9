// SPDX-License-Identifier: MIT
/*
 * Products with packed weights: a recording for each number of rows, and as many at once as it holds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* Bytes of results that lie in the NPU's memory at once: a vocabulary is wide. */
#define MOST_RESULTS	(64u << 20)

/* The tensors of a run: activations, and the results of each. */
enum { X, Y };

/* Of those before it, how many have as many rows of weights: results want memory of their own. */
static uint32_t alike(const struct rknpu_run *run, uint32_t i)
{
	uint32_t which = 0;

	for (uint32_t j = 0; j < i; j++)
		which += run->w[j]->from.n == run->w[i]->from.n;
	return which;
}

static int add_product(struct rknpu_run *run, uint32_t i)
{
	bool exact = run->w[i]->type == NPU_PREC_INT8;
	struct npu_shape y = { exact ? NPU_PREC_INT32 : NPU_PREC_FP32, run->m, run->w[i]->from.n };
	int ret = rknpu_run_tensor(run, Y + i, y, alike(run, i));

	return ret ? ret : npu_rec_matmul(run->rec, run->t[X], run->w[i]->npu, run->t[Y + i], NULL);
}

static int record(struct rknpu_run *run)
{
	struct npu_shape x = { run->w[0]->type, run->m, run->w[0]->from.k };
	int ret = rknpu_run_tensor(run, X, x, 0);

	for (uint32_t i = 0; !ret && i < run->n; i++)
		ret = add_product(run, i);
	return ret;
}

static int run_for(const struct rknpu_rows *r, struct rknpu_run **out)
{
	struct rknpu_run want = { .recorder = record, .m = r->m, .n = r->n };

	for (uint32_t i = 0; i < r->n; i++)
		want.w[i] = r->out[i].w;
	return rknpu_run_get(&want, out);
}

/* ---- products ---- */

static int multiply_rows(const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_scale scale = { 0 };
	struct rknpu_run *run;
	int ret = run_for(r, &run);

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	ret = rknpu_write_x(run->t[X], r, &scale);
	if (!ret)
		ret = rknpu_go(run->rec);
	for (uint32_t i = 0; !ret && i < r->n; i++)
		ret = rknpu_read_y(run->t[Y + i], &r->out[i], r->m, &scale);
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
