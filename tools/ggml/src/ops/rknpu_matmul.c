// SPDX-License-Identifier: MIT
/*
 * Owns MUL_MAT and MUL_MAT_ID: which ones the NPU can compute, which ones it is worth, and their products. Those that
 * share activations are computed at once. Of MUL_MAT_ID the rows of a matrix are gathered, multiplied at once, and put
 * where they belong.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ops.h"

/* libnpu's limit for one matrix or tensor, with room for padding. */
#define MAX_BYTES	(UINT64_C(0x7fff0000) - (1u << 20))

/* Places of ggml_prec_set_src() in the parameters of products (read off libggml-base 0.27). */
#define PREC_SRC1	3

/* ---- weights ---- */

static char *at(const struct ggml_tensor *t, int64_t i2, int64_t i3)
{
	return (char *)t->data + i2 * t->nb[2] + i3 * t->nb[3];
}

struct rknpu_matrix rknpu_slice(struct rknpu_context *ctx, const struct ggml_tensor *t, int64_t i)
{
	return (struct rknpu_matrix){
		.data = at(t, i % t->ne[2], i / t->ne[2]), .type = t->type, .n = (uint32_t)t->ne[1],
		.k = (uint32_t)t->ne[0], .stride = t->nb[1], .layout = rknpu_layout_of(ctx, t),
	};
}

static int get_kept(struct rknpu_cache *cache, const struct ggml_tensor *t, const struct rknpu_matrix *m,
		    struct rknpu_weights **out)
{
	enum rknpu_fate fate = rknpu_decide_on(cache, t);

	if (fate == RKNPU_CPU)
		return -ENOMEM;
	return rknpu_cache_get(cache, m, rknpu_prec_of_fate(fate), out);
}

/* For one product: converted, and packed from that. */
static int get_once(struct rknpu_context *ctx, const struct ggml_tensor *t, const struct rknpu_matrix *m,
		    struct rknpu_weights **out)
{
	enum rknpu_fate fate = rknpu_best(ctx, t);

	if (fate == RKNPU_CPU || !rknpu_memory_has(UINT64_C(2) * sizeof(uint16_t) * m->n * m->k))
		return -ENOMEM;
	return rknpu_weights_new(ctx, m, rknpu_prec_of_fate(fate), out);
}

int rknpu_slice_get(struct rknpu_context *ctx, const struct ggml_tensor *t, int64_t i, struct rknpu_weights **out,
		    char *why, size_t size)
{
	struct rknpu_cache *cache = rknpu_cache_of(ctx, t);
	struct rknpu_matrix m = rknpu_slice(ctx, t, i);
	int ret = cache ? get_kept(cache, t, &m, out) : get_once(ctx, t, &m, out);

	if (ret)
		snprintf(why, size, "weights %s cannot be packed: %s", t->name, strerror(-ret));
	return ret;
}

void rknpu_slice_put(struct rknpu_context *ctx, const struct ggml_tensor *t, struct rknpu_weights *w)
{
	if (!rknpu_cache_of(ctx, t))
		rknpu_weights_free(ctx, w);
}

/* May activations of that product be rounded to what weights of @type are multiplied with? */
static bool may_round(const struct ggml_tensor *op, enum npu_prec type)
{
	int32_t prec = op->op_params[PREC_SRC1];

	return !prec || prec >= (int32_t)(type == NPU_PREC_INT8 ? GGML_PREC_Q8 : GGML_PREC_F16);
}

/* Matrix @i of the weights of @op. That may be decided on just now. */
static int slice_for(struct rknpu_context *ctx, const struct ggml_tensor *op, int64_t i, struct rknpu_weights **out,
		     char *why, size_t size)
{
	int ret = rknpu_slice_get(ctx, op->src[0], i, out, why, size);

	if (ret || may_round(op, (*out)->type))
		return ret;
	rknpu_slice_put(ctx, op->src[0], *out);
	snprintf(why, size, "weights %s have room as int8 only, to which nothing may be rounded here", op->src[0]->name);
	return -ENOMEM;
}

/* ---- when the CPU is better ---- */

/* Has every pass the rows of that product? A plan has all, but of what a program reads a prompt has one. */
bool rknpu_is_early(const struct ggml_tensor *op)
{
	const char *name = op->src[0]->name;

	/* Of models whose logits are capped the last product is not the result: names of GGUF. */
	return !(op->flags & GGML_TENSOR_FLAG_OUTPUT) && strcmp(name, "output.weight") && strcmp(name, "token_embd.weight");
}

/* Are its weights packed, or may they be? */
static bool has_place(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0];
	struct rknpu_cache *cache = rknpu_cache_of(ctx, w);
	bool has = true;

	if (!cache || !rknpu_has_data(ctx, w))
		return true;
	if (rknpu_claim(cache, w, !rknpu_is_early(op)) == RKNPU_CPU)
		return false;
	rknpu_lock(ctx);
	for (int64_t i = 0; has && ctx->full && i < w->ne[2] * w->ne[3]; i++) {
		struct rknpu_matrix m = rknpu_slice(ctx, w, i);

		has = rknpu_cache_has(cache, &m);
	}
	rknpu_unlock(ctx);
	return has;
}

/* Does the program ask whether weights should have a buffer of ours? It lends them one without memory. */
static bool is_question(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = w->view_src ? w->view_src->buffer : w->buffer;

	return buffer && buffer->type == &ctx->buffer_type && !buffer->size;
}

/*
 * Weights of a model; before it is loaded its tensors have no memory. Nor have results when ggml asks who computes with
 * them.
 */
static bool stays(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	const struct ggml_tensor *of = w->view_src ? w->view_src : w;

	return of->buffer ? is_question(ctx, w) || rknpu_cache_of(ctx, w) : of->op == GGML_OP_NONE;
}

/* For each matrix of weights; if rows choose theirs, as many for each on average. */
static int64_t rows_each(const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	if (op->op == GGML_OP_MUL_MAT_ID)
		return op->ne[1] * op->ne[2] / w->ne[2];
	return x->ne[1] * (x->ne[2] / w->ne[2]);
}

static bool is_large(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	int64_t k = op->src[0]->ne[0];
	const struct rknpu_params *p = &ctx->params;

	return rows_each(op) >= p->min_rows && k >= p->min_k && ggml_nelements(op) * k >= p->min_macs;
}

static bool worthwhile(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0];

	/* Where the CPU has weights as it wants them, the NPU finds them, too. */
	if (!has_place(ctx, op) || (is_question(ctx, w) && rknpu_is_rearranged(ctx, op)))
		return false;
	return stays(ctx, w) || rows_each(op) >= ctx->params.min_reuse;
}

/* ---- what can be computed ---- */

static bool fits(int64_t rows, int64_t cols, size_t bytes)
{
	uint64_t r = ((uint64_t)rows + 31) & ~31ull, c = ((uint64_t)cols + 31) & ~31ull;

	return rows > 0 && cols > 0 && rows < INT32_MAX / 2 && cols < INT32_MAX / 2 &&
	       r <= MAX_BYTES / bytes / c;
}

/* Rows without gaps in them, at any distance that is a multiple of an element. */
static bool rows_ok(const struct ggml_tensor *t)
{
	size_t unit = ggml_type_size(t->type);

	return t->nb[0] == unit && !(t->nb[1] % unit) && t->nb[1] >= ggml_row_size(t->type, t->ne[0]);
}

static bool product_fits(struct rknpu_context *ctx, const struct ggml_tensor *op, int64_t rows)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	return may_round(op, rknpu_prec_of(ctx, w)) && rknpu_best(ctx, w) != RKNPU_CPU && rknpu_can_pack(w->type) &&
	       rows_ok(w) && rows_ok(x) && rows_ok(op) &&
	       fits(w->ne[1], w->ne[0], sizeof(uint16_t)) && fits(rows, w->ne[0], sizeof(float)) &&
	       fits(rows, w->ne[1], sizeof(float)) && rknpu_is_readable(ctx, w);
}

bool rknpu_matmul_supported(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	if ((x->type != GGML_TYPE_F32 && x->type != GGML_TYPE_F16) || op->type != GGML_TYPE_F32 || !is_large(ctx, op))
		return false;
	return x->ne[2] % w->ne[2] == 0 && x->ne[3] % w->ne[3] == 0 &&
	       product_fits(ctx, op, x->ne[1] * (x->ne[2] / w->ne[2])) && worthwhile(ctx, op);
}

/* ---- one product ---- */

/* May rows of @n matrices that lie one after the other be taken as those of one? */
static bool joined(const struct ggml_tensor *t, int64_t n)
{
	return n == 1 || t->nb[2] == t->ne[1] * t->nb[1];
}

/* All products with one matrix of weights whose third index is the same. */
static int with_weights(struct rknpu_context *ctx, const struct ggml_tensor *op, struct rknpu_weights *w,
			int64_t i02, int64_t i13, char *why, size_t size)
{
	const struct ggml_tensor *x = op->src[1];
	int64_t share = x->ne[2] / op->src[0]->ne[2];
	int64_t step = joined(x, share) && joined(op, share) ? share : 1;
	int ret = 0;

	for (int64_t i12 = i02 * share; !ret && i12 < (i02 + 1) * share; i12 += step) {
		struct rknpu_rows r = {
			.x = at(x, i12, i13), .x_type = x->type, .x_stride = x->nb[1],
			.m = (uint32_t)(x->ne[1] * step), .n = 1,
			.out[0] = { .w = w, .y = (float *)at(op, i12, i13), .y_stride = op->nb[1] },
		};

		ret = rknpu_multiply(ctx, &r, why, size);
	}
	return ret;
}

static int matmul_one(struct rknpu_context *ctx, const struct ggml_tensor *op, char *why, size_t size)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];
	int64_t slices = w->ne[2] * w->ne[3], share = x->ne[3] / w->ne[3];
	int ret = 0;

	for (int64_t i = 0; !ret && i < slices; i++) {
		int64_t i03 = i / w->ne[2];
		struct rknpu_weights *packed;

		ret = slice_for(ctx, op, i, &packed, why, size);
		if (ret)
			return ret;
		for (int64_t i13 = i03 * share; !ret && i13 < (i03 + 1) * share; i13++)
			ret = with_weights(ctx, op, packed, i % w->ne[2], i13, why, size);
		rknpu_slice_put(ctx, w, packed);
	}
	ctx->stats.macs += (uint64_t)ggml_nelements(op) * (uint64_t)w->ne[0];
	return ret;
}

/* ---- several that share activations ---- */

/* One matrix of weights, which stay, and one of activations. */
static bool is_plain(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	return op->op == GGML_OP_MUL_MAT && w->ne[2] * w->ne[3] == 1 && x->ne[2] * x->ne[3] == 1 &&
	       rknpu_cache_of(ctx, w);
}

bool rknpu_matmul_shares(struct rknpu_context *ctx, const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	return is_plain(ctx, a) && is_plain(ctx, b) && a->src[1] == b->src[1] &&
	       rknpu_prec_of(ctx, a->src[0]) == rknpu_prec_of(ctx, b->src[0]);
}

/* Weights that were decided on just now may have become fp16 and int8: those each by itself. */
static int multiply_shared(struct rknpu_context *ctx, const struct rknpu_rows *r, char *why, size_t size)
{
	struct rknpu_rows one = *r;
	bool alike = true;
	int ret = 0;

	for (uint32_t i = 1; i < r->n; i++)
		alike = alike && r->out[i].w->type == r->out[0].w->type;
	if (alike)
		return rknpu_multiply(ctx, r, why, size);
	one.n = 1;
	for (uint32_t i = 0; !ret && i < r->n; i++) {
		one.out[0] = r->out[i];
		ret = rknpu_multiply(ctx, &one, why, size);
	}
	return ret;
}

int rknpu_matmul(struct rknpu_context *ctx, const struct ggml_tensor *const *op, uint32_t n, char *why, size_t size)
{
	const struct ggml_tensor *x = op[0]->src[1];
	struct rknpu_rows r = {
		.x = x->data, .x_type = x->type, .x_stride = x->nb[1], .m = (uint32_t)x->ne[1], .n = n,
	};
	int ret = 0;

	if (n == 1 && !is_plain(ctx, op[0]))
		return matmul_one(ctx, op[0], why, size);
	for (uint32_t i = 0; !ret && i < n; i++) {
		ret = slice_for(ctx, op[i], 0, &r.out[i].w, why, size);
		r.out[i].y = op[i]->data;
		r.out[i].y_stride = op[i]->nb[1];
		ctx->stats.macs += (uint64_t)ggml_nelements(op[i]) * (uint64_t)op[i]->src[0]->ne[0];
	}
	if (ret)
		return ret;
	return n == 1 ? rknpu_multiply_prefetch(ctx, x, &r, why, size) : multiply_shared(ctx, &r, why, size);
}

/* ---- products whose rows choose their weights ---- */

/* For each row, in the order of the result's. */
struct gather {
	uint32_t *row;		/* of one matrix */
	float *x, *y;
};

static int32_t expert(const struct ggml_tensor *ids, int64_t slot, int64_t token)
{
	int32_t id;

	memcpy(&id, (char *)ids->data + slot * ids->nb[0] + token * ids->nb[1], sizeof(id));
	return id;
}

static const void *x_of(const struct ggml_tensor *x, int64_t slot, int64_t token)
{
	/* One row for all slots, or one for each. */
	return (char *)x->data + slot % x->ne[1] * x->nb[1] + token * x->nb[2];
}

static uint32_t rows_of(const struct ggml_tensor *op, int32_t which, uint32_t *row)
{
	const struct ggml_tensor *ids = op->src[2];
	uint32_t n = 0;

	for (int64_t token = 0; token < ids->ne[1]; token++)
		for (int64_t slot = 0; slot < ids->ne[0]; slot++)
			if (expert(ids, slot, token) == which)
				row[n++] = (uint32_t)(token * ids->ne[0] + slot);
	return n;
}

static int with_expert(struct rknpu_context *ctx, const struct ggml_tensor *op, struct rknpu_weights *w,
		       struct gather *g, uint32_t n, char *why, size_t size)
{
	const struct ggml_tensor *x = op->src[1];
	uint32_t slots = (uint32_t)op->ne[1];
	size_t k = (size_t)x->ne[0], columns = (size_t)op->ne[0];
	struct rknpu_rows r = {
		.x = g->x, .x_type = GGML_TYPE_F32, .x_stride = k * sizeof(float), .m = n, .n = 1,
		.out[0] = { .w = w, .y = g->y, .y_stride = columns * sizeof(float) },
	};
	int ret;

	for (uint32_t i = 0; i < n; i++)
		memcpy(g->x + i * k, x_of(x, g->row[i] % slots, g->row[i] / slots), k * sizeof(float));
	ret = rknpu_multiply(ctx, &r, why, size);
	for (uint32_t i = 0; !ret && i < n; i++)
		memcpy((char *)op->data + g->row[i] % slots * op->nb[1] +
		       g->row[i] / slots * op->nb[2], g->y + i * columns, columns * sizeof(float));
	return ret;
}

bool rknpu_matmul_id_supported(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const struct ggml_tensor *x = op->src[1], *ids = op->src[2];

	return x->type == GGML_TYPE_F32 && op->type == GGML_TYPE_F32 && ids->type == GGML_TYPE_I32 &&
	       ids->ne[2] == 1 && ids->ne[3] == 1 && x->ne[3] == 1 && op->src[0]->ne[3] == 1 && is_large(ctx, op) &&
	       product_fits(ctx, op, x->ne[1] * x->ne[2] + ids->ne[0] * ids->ne[1]) && worthwhile(ctx, op);
}

static int all_experts(struct rknpu_context *ctx, const struct ggml_tensor *op, struct gather *g, char *why, size_t size)
{
	int ret = 0;

	for (int64_t i = 0; !ret && i < op->src[0]->ne[2]; i++) {
		uint32_t n = rows_of(op, (int32_t)i, g->row);
		struct rknpu_weights *w;

		/* Nobody's rows may not cost packing. */
		if (!n)
			continue;
		ret = slice_for(ctx, op, i, &w, why, size);
		if (ret)
			return ret;
		ret = with_expert(ctx, op, w, g, n, why, size);
		rknpu_slice_put(ctx, op->src[0], w);
		ctx->stats.macs += (uint64_t)n * (uint64_t)(op->ne[0] * op->src[1]->ne[0]);
	}
	return ret;
}

/* A row that chose another one would keep what was in its memory before. */
static bool all_there(const struct ggml_tensor *op, char *why, size_t size)
{
	const struct ggml_tensor *ids = op->src[2];

	for (int64_t token = 0; token < ids->ne[1]; token++)
		for (int64_t slot = 0; slot < ids->ne[0]; slot++) {
			int32_t which = expert(ids, slot, token);

			if (which < 0 || which >= op->src[0]->ne[2]) {
				snprintf(why, size, "matrix %d of %lld is wanted", which, (long long)op->src[0]->ne[2]);
				return false;
			}
		}
	return true;
}

int rknpu_matmul_id(struct rknpu_context *ctx, const struct ggml_tensor *op, char *why, size_t size)
{
	size_t rows = (size_t)(op->ne[1] * op->ne[2]);
	struct gather g = {
		.row = malloc(rows * sizeof(*g.row)),
		.x = malloc(rows * (size_t)op->src[1]->ne[0] * sizeof(float)),
		.y = malloc(rows * (size_t)op->ne[0] * sizeof(float)),
	};
	int ret = -ENOMEM;

	if (!all_there(op, why, size))
		ret = -EINVAL;
	else if (g.row && g.x && g.y)
		ret = all_experts(ctx, op, &g, why, size);
	else
		snprintf(why, size, "%s", strerror(ENOMEM));
	free(g.row);
	free(g.x);
	free(g.y);
	return ret;
}
