// SPDX-License-Identifier: MIT
/*
 * Recordings with weights: made once for a number of rows, and kept until the weights go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* That the same weights keep: whole batches, and the last one of a prompt. */
#define KEPT	2

/* The newest first. */
static struct rknpu_run *runs;

static void run_free(struct rknpu_run *run)
{
	npu_rec_free(run->rec);
	for (uint32_t i = 0; i < RKNPU_MOST_TENSORS; i++)
		if (run->t[i])
			rknpu_scratch_put(run->t[i]);
	free(run);
}

static bool has(const struct rknpu_run *run, const struct rknpu_weights *w)
{
	for (uint32_t i = 0; i < run->n; i++)
		if (run->w[i] == w)
			return true;
	return false;
}

void rknpu_runs_free(const struct rknpu_weights *w)
{
	struct rknpu_run **at = &runs;

	while (*at) {
		struct rknpu_run *run = *at;

		if (!has(run, w)) {
			at = &run->next;
			continue;
		}
		*at = run->next;
		run_free(run);
	}
}

static void keep(struct rknpu_run *run)
{
	unsigned int n = 0;

	run->next = runs;
	runs = run;
	for (struct rknpu_run **at = &runs; *at;) {
		struct rknpu_run *old = *at;
		bool alike = old->recorder == run->recorder && old->w[0] == run->w[0];

		n += alike;
		if (!alike || n <= KEPT) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		run_free(old);
	}
}

static bool same(const struct rknpu_run *a, const struct rknpu_run *b)
{
	return a->recorder == b->recorder && a->m == b->m && a->n == b->n &&
	       !memcmp(a->w, b->w, a->n * sizeof(*a->w));
}

int rknpu_run_tensor(struct rknpu_run *run, uint32_t i, struct npu_shape shape, uint32_t which)
{
	return rknpu_scratch_get(shape, which, &run->t[i]);
}

static int record(struct rknpu_run *run)
{
	int ret = rknpu_record(&run->rec);

	if (!ret)
		ret = run->recorder(run);
	return ret ? ret : npu_rec_end(run->rec);
}

int rknpu_run_get(const struct rknpu_run *want, struct rknpu_run **out)
{
	struct rknpu_run *run = runs;
	int ret;

	while (run && !same(run, want))
		run = run->next;
	*out = run;
	if (run)
		return 0;
	run = malloc(sizeof(*run));
	if (!run)
		return -ENOMEM;
	*run = *want;
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
