// SPDX-License-Identifier: MIT
/*
 * Products ahead of time: queries, keys and values have the same activations, but between their
 * products ggml has other operations, and calls for each. Who follows whom is learnt the first
 * time; from then on the first product takes the others along, whose results wait here.
 *
 * A result is given out if its activations are, byte by byte, those that it was computed from.
 */
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* As often a group may be computed in vain: batches that are too small for some are few. */
#define MOST_MISSED	3

/* Matrices that were multiplied with the same activations, one after the other. */
struct group {
	struct rknpu_weights *w[RKNPU_MOST_SHARED];
	uint32_t n;
	uint32_t missed;	/* times that nobody came for a result */
	struct group *next;
};

static struct group *groups;

/* Of the product before. */
static struct {
	const struct ggml_tensor *x;
	const void *data;
	struct rknpu_weights *leader;
} last;

/* Results that wait, and a copy of the activations that they are of. */
static struct {
	struct group *group;
	float *x, *y[RKNPU_MOST_SHARED];
	uint32_t m, k, left;
} ready;

static void forget_ready(void)
{
	free(ready.x);
	for (uint32_t i = 0; i < RKNPU_MOST_SHARED; i++)
		free(ready.y[i]);
	memset(&ready, 0, sizeof(ready));
}

static bool has(const struct group *g, const struct rknpu_weights *w)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->w[i] == w)
			return true;
	return false;
}

void rknpu_ahead_forget(const struct rknpu_weights *w)
{
	if (last.leader == w)
		memset(&last, 0, sizeof(last));
	for (struct group **at = &groups; *at;) {
		struct group *g = *at;

		if (!has(g, w)) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		if (ready.group == g)
			forget_ready();
		free(g);
	}
}

static struct group *led_by(const struct rknpu_weights *w)
{
	struct group *g = groups;

	while (g && g->w[0] != w)
		g = g->next;
	return g;
}

static void add(struct rknpu_weights *leader, struct rknpu_weights *w)
{
	struct group *g = led_by(leader);

	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return;
		g->w[g->n++] = leader;
		g->next = groups;
		groups = g;
	}
	if (!has(g, w) && g->n < RKNPU_MOST_SHARED && g != ready.group)
		g->w[g->n++] = w;
}

/* What is computed ahead in vain costs time, but is never wrong: an address is enough to go by. */
static void learn(const struct ggml_tensor *x, struct rknpu_weights *w)
{
	bool follows = last.leader && last.x == x && last.data == x->data && last.leader != w &&
		       last.leader->type == w->type;

	if (follows) {
		add(last.leader, w);
		return;
	}
	last.x = x;
	last.data = x->data;
	last.leader = w;
}

/* ---- results that wait ---- */

static bool same_x(const struct rknpu_rows *r, uint32_t k)
{
	if (ready.m != r->m || ready.k != k)
		return false;
	for (uint32_t m = 0; m < r->m; m++)
		if (memcmp(ready.x + (size_t)m * k, rknpu_x_row(r, m), k * sizeof(float)))
			return false;
	return true;
}

static bool take(const struct rknpu_rows *r)
{
	const struct rknpu_result *out = &r->out[0];
	size_t row = out->w->from.n * sizeof(float);

	for (uint32_t i = 1; ready.group && i < ready.group->n; i++) {
		if (ready.group->w[i] != out->w || !ready.y[i] || !same_x(r, out->w->from.k))
			continue;
		for (uint32_t m = 0; m < r->m; m++)
			memcpy(rknpu_y_row(out, m), ready.y[i] + (size_t)m * out->w->from.n, row);
		free(ready.y[i]);
		ready.y[i] = NULL;
		if (!--ready.left)
			forget_ready();
		return true;
	}
	return false;
}

/* Memory for what is computed ahead; false if there is none. */
static bool prepare(struct group *g, const struct rknpu_rows *r)
{
	uint32_t k = r->out[0].w->from.k;
	bool ok;

	ready.x = malloc((size_t)r->m * k * sizeof(float));
	ok = ready.x;
	for (uint32_t i = 1; ok && i < g->n; i++) {
		ready.y[i] = malloc((size_t)r->m * g->w[i]->from.n * sizeof(float));
		ok = ready.y[i];
	}
	if (!ok) {
		forget_ready();
		return false;
	}
	for (uint32_t m = 0; m < r->m; m++)
		memcpy(ready.x + (size_t)m * k, rknpu_x_row(r, m), k * sizeof(float));
	ready.m = r->m;
	ready.k = k;
	ready.left = g->n - 1;
	ready.group = g;
	return true;
}

static int multiply_all(struct group *g, const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_rows all = *r;
	int ret;

	for (uint32_t i = 1; i < g->n; i++)
		all.out[all.n++] = (struct rknpu_result){
			g->w[i], ready.y[i], g->w[i]->from.n * sizeof(float),
		};
	ret = rknpu_multiply(&all, why, size);
	if (ret)
		forget_ready();
	return ret;
}

int rknpu_multiply_ahead(const struct ggml_tensor *x, const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_weights *w = r->out[0].w;
	struct group *g;

	if (x->type != GGML_TYPE_F32 || !rknpu_setting("RKNPU_GGML_AHEAD", 1))
		return rknpu_multiply(r, why, size);
	if (take(r))
		return 0;
	learn(x, w);
	g = led_by(w);
	if (!g)
		return rknpu_multiply(r, why, size);
	/* Nobody came for what waits. */
	if (ready.group) {
		ready.group->missed++;
		forget_ready();
	}
	if (g->missed >= MOST_MISSED || g->n == 1 || !prepare(g, r))
		return rknpu_multiply(r, why, size);
	return multiply_all(g, r, why, size);
}
