// SPDX-License-Identifier: MIT
/*
 * MUL_MAT: which ones the NPU can compute, and their products: those that share activations at
 * once, others one after the other.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "rknpu_ggml.h"

/* libnpu's limit for one matrix or tensor, with room for padding. */
#define MAX_BYTES	(UINT64_C(0x7fff0000) - (1u << 20))

/* Places of ggml_prec_set_src() in the parameters of products (read off libggml-base 0.27). */
#define PREC_SRC1	3

/* Products of bytes that 32 bits sum up without saturating. */
#define MOST_BYTES_SUMMED	(INT32_MAX / (127 * 127))

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

bool rknpu_product_fits(const struct ggml_tensor *op, int64_t rows)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	bool bytes = rknpu_prec_of(w->type) == NPU_PREC_INT8;

	if (op->op_params[PREC_SRC1] &&
	    op->op_params[PREC_SRC1] < (int32_t)(bytes ? GGML_PREC_Q8 : GGML_PREC_F16))
		return false;
	if (bytes && w->ne[0] > MOST_BYTES_SUMMED)
		return false;
	return rknpu_can_pack(w->type) && rows_ok(w) && rows_ok(x) && rows_ok(op) &&
	       fits(w->ne[1], w->ne[0], sizeof(uint16_t)) && fits(rows, w->ne[0], sizeof(float)) &&
	       fits(rows, w->ne[1], sizeof(float));
}

bool rknpu_matmul_possible(const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	if ((x->type != GGML_TYPE_F32 && x->type != GGML_TYPE_F16) || op->type != GGML_TYPE_F32)
		return false;
	return x->ne[2] % w->ne[2] == 0 && x->ne[3] % w->ne[3] == 0 &&
	       rknpu_product_fits(op, x->ne[1] * (x->ne[2] / w->ne[2]));
}

static char *at(const struct ggml_tensor *t, int64_t i2, int64_t i3)
{
	return (char *)t->data + i2 * t->nb[2] + i3 * t->nb[3];
}

/* May rows of @n matrices that lie one after the other be taken as those of one? */
static bool joined(const struct ggml_tensor *t, int64_t n)
{
	return n == 1 || t->nb[2] == t->ne[1] * t->nb[1];
}

/* All products with one matrix of weights whose third index is the same. */
static int with_weights(const struct ggml_tensor *op, struct rknpu_weights *w, int64_t i02,
			int64_t i13, char *why, size_t size)
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

		ret = rknpu_multiply(&r, why, size);
	}
	return ret;
}

struct rknpu_matrix rknpu_slice(const struct ggml_tensor *t, int64_t i2, int64_t i3)
{
	return (struct rknpu_matrix){
		.data = at(t, i2, i3), .type = t->type, .n = (uint32_t)t->ne[1],
		.k = (uint32_t)t->ne[0], .stride = t->nb[1],
	};
}

int rknpu_slice_get(const struct ggml_tensor *t, int64_t i2, int64_t i3, struct rknpu_weights **out,
		    char *why, size_t size)
{
	struct rknpu_cache *cache = rknpu_cache_of(t);
	struct rknpu_matrix m = rknpu_slice(t, i2, i3);
	int ret = cache ? rknpu_cache_get(cache, &m, out) : rknpu_weights_new(&m, out);

	if (ret)
		snprintf(why, size, "weights %s cannot be packed: %s", t->name, strerror(-ret));
	return ret;
}

void rknpu_slice_put(const struct ggml_tensor *t, struct rknpu_weights *w)
{
	if (!rknpu_cache_of(t))
		rknpu_weights_free(w);
}

int rknpu_matmul(const struct ggml_tensor *op, char *why, size_t size)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];
	int64_t slices = w->ne[2] * w->ne[3], share = x->ne[3] / w->ne[3];
	int ret = 0;

	for (int64_t i = 0; !ret && i < slices; i++) {
		int64_t i02 = i % w->ne[2], i03 = i / w->ne[2];
		struct rknpu_weights *packed;

		ret = rknpu_slice_get(w, i02, i03, &packed, why, size);
		if (ret)
			return ret;
		for (int64_t i13 = i03 * share; !ret && i13 < (i03 + 1) * share; i13++)
			ret = with_weights(op, packed, i02, i13, why, size);
		rknpu_slice_put(w, packed);
	}
	rknpu_stats.macs += (uint64_t)ggml_nelements(op) * (uint64_t)w->ne[0];
	return ret;
}

/* ---- several that share activations ---- */

/* One matrix of weights, which stay, and one of activations. */
static bool is_plain(const struct ggml_tensor *op)
{
	const struct ggml_tensor *w = op->src[0], *x = op->src[1];

	return op->op == GGML_OP_MUL_MAT && w->ne[2] * w->ne[3] == 1 && x->ne[2] * x->ne[3] == 1 &&
	       rknpu_cache_of(w);
}

bool rknpu_matmul_shares(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	return is_plain(a) && is_plain(b) && a->src[1] == b->src[1] &&
	       rknpu_prec_of(a->src[0]->type) == rknpu_prec_of(b->src[0]->type);
}

int rknpu_matmul_shared(const struct ggml_tensor *const *op, uint32_t n, char *why, size_t size)
{
	const struct ggml_tensor *x = op[0]->src[1];
	struct rknpu_rows r = {
		.x = x->data, .x_type = x->type, .x_stride = x->nb[1], .m = (uint32_t)x->ne[1], .n = n,
	};
	int ret = 0;

	if (n == 1 && !is_plain(op[0]))
		return rknpu_matmul(op[0], why, size);
	for (uint32_t i = 0; !ret && i < n; i++) {
		ret = rknpu_slice_get(op[i]->src[0], 0, 0, &r.out[i].w, why, size);
		r.out[i].y = op[i]->data;
		r.out[i].y_stride = op[i]->nb[1];
		rknpu_stats.macs += (uint64_t)ggml_nelements(op[i]) * (uint64_t)op[i]->src[0]->ne[0];
	}
	if (ret)
		return ret;
	return n == 1 ? rknpu_multiply_ahead(x, &r, why, size) : rknpu_multiply(&r, why, size);
}
