// SPDX-License-Identifier: MIT
/*
 * Owns products that are computed before they are asked for: queries, keys and values have the same activations, but
 * between their products ggml has other operations, and calls for each. Groups are learnt the first time; from then on
 * the first product of a group computes the others, too, whose results wait here.
 *
 * A result is given out if its activations are, byte by byte, those that it was computed from.
 */
#include <stdlib.h>
#include <string.h>

#include "rknpu_ops.h"

/* As often in a row a group may be prefetched in vain: batches that are too small for some are few. */
#define MOST_MISSED	3

/* Matrices that were multiplied with the same activations, one after the other. */
struct rknpu_group {
	struct rknpu_weights *w[RKNPU_MOST_SHARED];
	uint32_t n;
	uint32_t missed;	/* times in a row that nobody asked for a result */
	struct rknpu_group *next;
};

static void forget_ready(struct rknpu_prefetch *p)
{
	free(p->copy);
	p->copy = NULL;
	for (uint32_t i = 0; i < RKNPU_MOST_SHARED; i++) {
		free(p->y[i]);
		p->y[i] = NULL;
	}
	p->ready = NULL;
	p->left = 0;
}

static bool has(const struct rknpu_group *g, const struct rknpu_weights *w)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->w[i] == w)
			return true;
	return false;
}

void rknpu_prefetch_forget(struct rknpu_context *ctx, const struct rknpu_weights *w)
{
	struct rknpu_prefetch *p = &ctx->prefetch;

	if (p->leader == w)
		p->leader = NULL;
	for (struct rknpu_group **at = &p->groups; *at;) {
		struct rknpu_group *g = *at;

		if (!has(g, w)) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		if (p->ready == g)
			forget_ready(p);
		free(g);
	}
}

static struct rknpu_group *group_of(const struct rknpu_prefetch *p, const struct rknpu_weights *w)
{
	struct rknpu_group *g = p->groups;

	while (g && g->w[0] != w)
		g = g->next;
	return g;
}

static void add(struct rknpu_prefetch *p, struct rknpu_weights *leader, struct rknpu_weights *w)
{
	struct rknpu_group *g = group_of(p, leader);

	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return;
		g->w[g->n++] = leader;
		g->next = p->groups;
		p->groups = g;
	}
	if (!has(g, w) && g->n < RKNPU_MOST_SHARED && g != p->ready)
		g->w[g->n++] = w;
}

/*
 * What is prefetched in vain costs time, but is never wrong: an address is enough to go by, but for the columns. A
 * program's next graph may have other activations there.
 */
static void learn(struct rknpu_prefetch *p, const struct ggml_tensor *x, struct rknpu_weights *w)
{
	bool follows = p->leader && p->x == x && p->data == x->data && p->leader != w &&
		       p->leader->type == w->type && p->leader->from.k == w->from.k;

	if (follows) {
		add(p, p->leader, w);
		return;
	}
	p->x = x;
	p->data = x->data;
	p->leader = w;
}

/* ---- results that are ready ---- */

static bool same_x(const struct rknpu_prefetch *p, const struct rknpu_rows *r, uint32_t k)
{
	if (p->m != r->m || p->k != k)
		return false;
	for (uint32_t m = 0; m < r->m; m++)
		if (memcmp(p->copy + (size_t)m * k, rknpu_x_row(r, m), k * sizeof(float)))
			return false;
	return true;
}

static bool take(struct rknpu_prefetch *p, const struct rknpu_rows *r)
{
	const struct rknpu_result *out = &r->out[0];
	size_t row = out->w->from.n * sizeof(float);

	for (uint32_t i = 1; p->ready && i < p->ready->n; i++) {
		if (p->ready->w[i] != out->w || !p->y[i] || !same_x(p, r, out->w->from.k))
			continue;
		for (uint32_t m = 0; m < r->m; m++)
			memcpy(rknpu_y_row(out, m), p->y[i] + (size_t)m * out->w->from.n, row);
		free(p->y[i]);
		p->y[i] = NULL;
		if (!--p->left) {
			p->ready->missed = 0;
			forget_ready(p);
		}
		return true;
	}
	return false;
}

/* Memory for what is prefetched; false if there is none. */
static bool prepare(struct rknpu_prefetch *p, struct rknpu_group *g, const struct rknpu_rows *r)
{
	uint32_t k = r->out[0].w->from.k;
	bool ok;

	p->copy = malloc((size_t)r->m * k * sizeof(float));
	ok = p->copy;
	for (uint32_t i = 1; ok && i < g->n; i++) {
		p->y[i] = malloc((size_t)r->m * g->w[i]->from.n * sizeof(float));
		ok = p->y[i];
	}
	if (!ok) {
		forget_ready(p);
		return false;
	}
	for (uint32_t m = 0; m < r->m; m++)
		memcpy(p->copy + (size_t)m * k, rknpu_x_row(r, m), k * sizeof(float));
	p->m = r->m;
	p->k = k;
	p->left = g->n - 1;
	p->ready = g;
	return true;
}

static int multiply_all(struct rknpu_context *ctx, const struct rknpu_group *g, const struct rknpu_rows *r,
			char *why, size_t size)
{
	struct rknpu_rows all = *r;
	int ret;

	for (uint32_t i = 1; i < g->n; i++)
		all.out[all.n++] = (struct rknpu_result){
			g->w[i], ctx->prefetch.y[i], g->w[i]->from.n * sizeof(float),
		};
	ret = rknpu_multiply(ctx, &all, why, size);
	if (ret)
		forget_ready(&ctx->prefetch);
	return ret;
}

int rknpu_multiply_prefetch(struct rknpu_context *ctx, const struct ggml_tensor *x, const struct rknpu_rows *r,
			    char *why, size_t size)
{
	struct rknpu_prefetch *p = &ctx->prefetch;
	struct rknpu_weights *w = r->out[0].w;
	struct rknpu_group *g;

	if (x->type != GGML_TYPE_F32 || !ctx->params.prefetch)
		return rknpu_multiply(ctx, r, why, size);
	if (take(p, r))
		return 0;
	learn(p, x, w);
	g = group_of(p, w);
	if (!g)
		return rknpu_multiply(ctx, r, why, size);
	/* Nobody asked for what is ready. */
	if (p->ready) {
		p->ready->missed++;
		forget_ready(p);
	}
	if (g->missed >= MOST_MISSED || g->n == 1 || !prepare(p, g, r))
		return rknpu_multiply(ctx, r, why, size);
	return multiply_all(ctx, g, r, why, size);
}
