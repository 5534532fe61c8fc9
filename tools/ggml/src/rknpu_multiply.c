// SPDX-License-Identifier: MIT
/*
 * Products with packed weights: a recording for each number of rows, activations into it and
 * results out of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* Recordings that a matrix keeps: whole batches, and the last one of a prompt. */
#define KEPT	2

/* Bytes of results that lie in the NPU's memory at once: a vocabulary is wide. */
#define MOST_RESULTS	(64u << 20)

struct rknpu_run {
	uint32_t m;
	struct npu_rec *rec;
	struct npu_tensor *x, *y;
	struct rknpu_run *next;
};

static void run_free(struct rknpu_weights *w, struct rknpu_run *run)
{
	npu_rec_free(run->rec);
	if (run->x)
		rknpu_scratch_put(w->space, run->x);
	if (run->y)
		rknpu_scratch_put(w->space, run->y);
	free(run);
}

void rknpu_runs_free(struct rknpu_weights *w)
{
	while (w->run) {
		struct rknpu_run *run = w->run;

		w->run = run->next;
		run_free(w, run);
	}
}

static int record(struct rknpu_weights *w, struct rknpu_run *run)
{
	struct npu_rec_opts opts = { .block = true };
	int ret;

	ret = rknpu_scratch_get(w->space, NPU_PREC_FP16, run->m, w->from.k, &run->x);
	if (!ret)
		ret = rknpu_scratch_get(w->space, NPU_PREC_FP32, run->m, w->from.n, &run->y);
	if (!ret)
		ret = npu_rec_new(rknpu_space_dev(w->space), &opts, &run->rec);
	if (!ret)
		ret = npu_rec_matmul(run->rec, run->x, w->npu, run->y, NULL);
	if (!ret)
		ret = npu_rec_end(run->rec);
	return ret;
}

static void keep(struct rknpu_weights *w, struct rknpu_run *run)
{
	unsigned int n = 0;

	run->next = w->run;
	w->run = run;
	for (struct rknpu_run **at = &w->run; *at;) {
		struct rknpu_run *old = *at;

		if (++n <= KEPT) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		run_free(w, old);
	}
}

static int find_run(struct rknpu_weights *w, uint32_t m, struct rknpu_run **out)
{
	struct rknpu_run *run;
	int ret;

	for (run = w->run; run; run = run->next)
		if (run->m == m) {
			*out = run;
			return 0;
		}
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	run->m = m;
	ret = record(w, run);
	if (ret) {
		run_free(w, run);
		return ret;
	}
	rknpu_stats.recorded++;
	keep(w, run);
	*out = run;
	return 0;
}

/* ---- activations ---- */

static const void *x_row(const struct rknpu_rows *r, uint32_t m)
{
	return (const char *)r->x + m * r->x_stride;
}

static float *y_row(const struct rknpu_rows *r, uint32_t m)
{
	return (float *)((char *)r->y + m * r->y_stride);
}

static float convert(uint16_t *dst, const struct rknpu_rows *r, uint32_t k, float scale)
{
	float most = 0;

	for (uint32_t m = 0; m < r->m; m++) {
		float largest = rknpu_to_half(dst + (size_t)m * k, x_row(r, m), k, scale);

		most = largest > most ? largest : most;
	}
	return most;
}

static int write_floats(struct npu_tensor *x, const struct rknpu_rows *r, uint32_t k, float *scale)
{
	uint16_t *halves = malloc((size_t)r->m * k * sizeof(*halves));
	float wanted;
	int ret;

	if (!halves)
		return -ENOMEM;
	wanted = rknpu_scale_for(convert(halves, r, k, 1));
	if (wanted != 1)
		convert(halves, r, k, wanted);
	*scale = wanted;
	ret = npu_tensor_write(x, halves, 0);
	free(halves);
	return ret;
}

static int write_x(struct npu_tensor *x, const struct rknpu_rows *r, uint32_t k, float *scale)
{
	if (r->x_type == GGML_TYPE_F32)
		return write_floats(x, r, k, scale);
	*scale = 1;
	return npu_tensor_write(x, r->x, r->x_stride / sizeof(uint16_t));
}

static int read_y(struct npu_tensor *y, const struct rknpu_rows *r, uint32_t n, float scale)
{
	int ret = npu_tensor_read(y, r->y, r->y_stride / sizeof(float));

	for (uint32_t m = 0; !ret && scale != 1 && m < r->m; m++)
		for (uint32_t i = 0; i < n; i++)
			y_row(r, m)[i] *= scale;
	return ret;
}

/* ---- a product ---- */

static int go(struct rknpu_run *run)
{
	int ret = npu_rec_run(run->rec);

	rknpu_stats.runs++;
	return ret ? ret : npu_rec_wait(run->rec, -1);
}

static void explain(const struct rknpu_run *run, int err, char *why, size_t size)
{
	struct npu_rec_failure f;

	if (npu_rec_failure(run->rec, &f))
		snprintf(why, size, "%s", strerror(-err));
	else if (f.task < 0)
		snprintf(why, size, "%s", npu_strcause(f.cause));
	else
		snprintf(why, size, "%s, in task %d on core %d", npu_strcause(f.cause), f.task, f.core);
}

static int multiply_rows(struct rknpu_weights *w, const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_run *run;
	float scale = 1;
	int ret = find_run(w, r->m, &run);

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	ret = write_x(run->x, r, w->from.k, &scale);
	if (!ret)
		ret = go(run);
	if (!ret)
		ret = read_y(run->y, r, w->from.n, scale * w->scale);
	if (!ret)
		return 0;
	explain(run, ret, why, size);
	/* Made anew the next time, and whatever was wrong with it is gone. */
	rknpu_runs_free(w);
	return ret;
}

/* Half the rows at a time, if a recording cannot hold the tasks of all, or for less memory. */
int rknpu_multiply(struct rknpu_weights *w, const struct rknpu_rows *r, char *why, size_t size)
{
	bool large = (uint64_t)r->m * w->from.n * sizeof(float) > MOST_RESULTS;
	struct rknpu_rows a = *r, b = *r;
	int ret = large && r->m > 1 ? -E2BIG : multiply_rows(w, r, why, size);

	if (ret != -E2BIG || r->m == 1)
		return ret;
	a.m = r->m / 2;
	b.m = r->m - a.m;
	b.x = x_row(r, a.m);
	b.y = y_row(r, a.m);
	ret = rknpu_multiply(w, &a, why, size);
	return ret ? ret : rknpu_multiply(w, &b, why, size);
}
