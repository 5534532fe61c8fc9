// SPDX-License-Identifier: MIT
/*
 * Owns FLASH_ATTN_EXT: queries, keys, values and mask as fp16, and libnpu's attention in between: one recording for all
 * heads, and for all layers of a batch.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ops.h"

/* libnpu's limit, and the columns that a head of it is a multiple of. */
#define MOST_TOKENS	4096
#define HEAD_COLS	32u
/* What is masked: far from any score, and so that the sum with one is still fp16. */
#define MASKED_SCORE	(-30000.0f)

/* Places in the parameters of the operation (read off libggml-base 0.27). */
enum { SCALE, MAX_BIAS, SOFTCAP };

/* Some rows of the queries, and some heads of the keys with those of the queries that belong to them. */
struct part {
	const struct ggml_tensor *op;
	int64_t i3;
	uint32_t row, rows, kv, kv_heads;
};

/* Of a recording, beside its rows of queries; and its tensors. */
enum { TOKENS, DIM, HEADS, KV_HEADS, MASKED };
enum { Q, K, V, MASK, Y };

static float parameter(const struct ggml_tensor *op, int i)
{
	float v;

	memcpy(&v, &op->op_params[i], sizeof(v));
	return v;
}

/* ---- what can be computed ---- */

/* Keys and values whose numbers are fp16, or made of them. */
static bool type_fits(enum ggml_type type)
{
	return type == GGML_TYPE_F16 || (ggml_is_quantized(type) && rknpu_can_pack(type));
}

static bool mask_fits(const struct ggml_tensor *op)
{
	const struct ggml_tensor *q = op->src[0], *mask = op->src[3];

	return !mask || (mask->type == GGML_TYPE_F16 && mask->nb[0] == sizeof(uint16_t) &&
			 mask->ne[2] == 1 && mask->ne[0] == op->src[1]->ne[1] &&
			 mask->ne[1] >= q->ne[1] && q->ne[3] % mask->ne[3] == 0);
}

static bool can_compute(const struct ggml_tensor *op)
{
	const struct ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2];

	/* Sinks, linear biases and caps of scores have no place in libnpu's attention. */
	if (op->src[4] || parameter(op, MAX_BIAS) != 0 || parameter(op, SOFTCAP) != 0)
		return false;
	if (q->type != GGML_TYPE_F32 || op->type != GGML_TYPE_F32 || !type_fits(k->type) ||
	    !type_fits(v->type) || !mask_fits(op))
		return false;
	if (q->nb[0] != sizeof(float) || k->nb[0] != ggml_type_size(k->type) ||
	    v->nb[0] != ggml_type_size(v->type))
		return false;
	return k->ne[0] == v->ne[0] && k->ne[0] <= MOST_TOKENS / 2 && k->ne[1] <= MOST_TOKENS &&
	       k->ne[2] == v->ne[2] && k->ne[3] == v->ne[3] && q->ne[2] % k->ne[2] == 0 &&
	       q->ne[3] % k->ne[3] == 0 && q->ne[1] < INT32_MAX / 2 &&
	       (uint64_t)q->ne[1] * (uint64_t)(q->ne[2] * (q->ne[0] + HEAD_COLS)) < (1u << 29);
}

/* Keys and values move with the queries, and are made weights on the NPU. */
static bool worthwhile(const struct rknpu_params *p, const struct ggml_tensor *op)
{
	const struct ggml_tensor *q = op->src[0], *k = op->src[1];

	return q->ne[1] >= p->min_rows && k->ne[1] >= p->min_k && 2 * ggml_nelements(q) * k->ne[1] >= p->min_macs;
}

bool rknpu_attention_supported(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	return can_compute(op) && worthwhile(&ctx->params, op);
}

/* ---- recordings ---- */

/* Each has a number, as some may have the same shape. */
static int tensors(struct rknpu_run *run)
{
	const uint32_t *s = run->shape;
	struct npu_shape q = { NPU_PREC_FP16, run->m, s[HEADS] * s[DIM] };
	struct npu_shape k = { NPU_PREC_FP16, s[TOKENS], s[KV_HEADS] * s[DIM] };
	struct npu_shape mask = { NPU_PREC_FP16, run->m, s[TOKENS] };
	int ret = rknpu_run_tensor(run, Q, q, Q);

	if (!ret)
		ret = rknpu_run_tensor(run, K, k, K);
	if (!ret)
		ret = rknpu_run_tensor(run, V, k, V);
	if (!ret && s[MASKED])
		ret = rknpu_run_tensor(run, MASK, mask, MASK);
	return ret ? ret : rknpu_run_tensor(run, Y, q, Y);
}

/* Queries are scaled before they are fp16, so that scores are small ones. */
static int record(struct rknpu_run *run)
{
	struct npu_attention_opts opts = {
		.size = sizeof(opts), .heads = run->shape[HEADS], .kv_heads = run->shape[KV_HEADS], .scale = 1,
	};
	int ret = tensors(run);

	opts.mask = run->t[MASK];
	return ret ? ret : npu_rec_attention(run->rec, run->t[Q], run->t[K], run->t[V], run->t[Y], &opts);
}

/* ---- operands ---- */

static uint16_t fp16(float v)
{
	_Float16 h = (_Float16)v;
	uint16_t bits;

	memcpy(&bits, &h, sizeof(bits));
	return bits;
}

static float number(uint16_t bits)
{
	_Float16 h;

	memcpy(&h, &bits, sizeof(h));
	return (float)h;
}

static const void *row_of(const struct ggml_tensor *t, int64_t i1, int64_t i2, int64_t i3)
{
	return (const char *)t->data + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
}

static void query_row(const struct part *p, uint32_t row, uint32_t head, uint32_t dim, uint16_t *to)
{
	const struct ggml_tensor *q = p->op->src[0];
	uint32_t group = (uint32_t)(q->ne[2] / p->op->src[1]->ne[2]);
	const float *from = row_of(q, p->row + row, p->kv * group + head, p->i3);
	float scale = parameter(p->op, SCALE);

	for (uint32_t i = 0; i < dim; i++)
		to[i] = i < q->ne[0] ? fp16(from[i] * scale) : 0;
}

static void token_row(const struct part *p, const struct ggml_tensor *t, uint32_t token, uint32_t head,
		      uint32_t dim, uint16_t *to)
{
	int64_t i3 = p->i3 / (p->op->src[0]->ne[3] / t->ne[3]);
	const void *from = row_of(t, token, p->kv + head, i3);
	size_t n = (size_t)t->ne[0];
	float floats[MOST_TOKENS / 2];

	memset(to + n, 0, (dim - n) * sizeof(*to));
	if (t->type == GGML_TYPE_F16) {
		memcpy(to, from, n * sizeof(*to));
		return;
	}
	ggml_get_type_traits(t->type)->to_float(from, floats, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		to[i] = fp16(floats[i]);
}

static int write_queries(const struct part *p, const struct rknpu_run *run, uint16_t *staging)
{
	const uint32_t *s = run->shape;

	for (uint32_t row = 0; row < run->m; row++)
		for (uint32_t head = 0; head < s[HEADS]; head++)
			query_row(p, row, head, s[DIM], staging + ((size_t)row * s[HEADS] + head) * s[DIM]);
	return npu_tensor_write(run->t[Q], staging, 0);
}

static int write_tokens(const struct part *p, const struct rknpu_run *run, const struct ggml_tensor *t,
			struct npu_tensor *to, uint16_t *staging)
{
	const uint32_t *s = run->shape;

	for (uint32_t token = 0; token < s[TOKENS]; token++)
		for (uint32_t head = 0; head < s[KV_HEADS]; head++)
			token_row(p, t, token, head, s[DIM],
				  staging + ((size_t)token * s[KV_HEADS] + head) * s[DIM]);
	return npu_tensor_write(to, staging, 0);
}

static const uint16_t *mask_row(const struct part *p, uint32_t row)
{
	const struct ggml_tensor *mask = p->op->src[3];

	return row_of(mask, p->row + row, 0, p->i3 % mask->ne[3]);
}

static int write_mask(const struct part *p, const struct rknpu_run *run, uint16_t *staging)
{
	const uint32_t *s = run->shape;

	if (!s[MASKED])
		return 0;
	for (uint32_t row = 0; row < run->m; row++) {
		const uint16_t *from = mask_row(p, row);

		for (uint32_t i = 0; i < s[TOKENS]; i++)
			staging[(size_t)row * s[TOKENS] + i] = fp16(fmaxf(number(from[i]), MASKED_SCORE));
	}
	return npu_tensor_write(run->t[MASK], staging, 0);
}

/* A row that sees no token has no shares: ggml's CPU backend gives 0 then. */
static bool blind(const struct part *p, const struct rknpu_run *run, uint32_t row)
{
	const uint16_t *mask = run->shape[MASKED] ? mask_row(p, row) : NULL;
	uint32_t i = 0;

	while (mask && i < run->shape[TOKENS] && number(mask[i]) <= MASKED_SCORE)
		i++;
	return mask && i == run->shape[TOKENS];
}

static int read_row(const struct part *p, const struct rknpu_run *run, uint32_t row, const uint16_t *from)
{
	const struct ggml_tensor *op = p->op;
	uint32_t group = run->shape[HEADS] / run->shape[KV_HEADS];
	bool none = blind(p, run, row);

	for (uint32_t head = 0; head < run->shape[HEADS]; head++, from += run->shape[DIM]) {
		float *to = (float *)((char *)op->data + (p->kv * group + head) * op->nb[1] +
				      (p->row + row) * op->nb[2] + p->i3 * op->nb[3]);

		for (int64_t i = 0; i < op->ne[0]; i++) {
			to[i] = none ? 0 : number(from[i]);
			if (!isfinite(to[i]))
				return -ERANGE;
		}
	}
	return 0;
}

static int read_result(const struct part *p, const struct rknpu_run *run, uint16_t *staging)
{
	size_t columns = (size_t)run->shape[HEADS] * run->shape[DIM];
	int ret = npu_tensor_read(run->t[Y], staging, 0);

	for (uint32_t row = 0; !ret && row < run->m; row++)
		ret = read_row(p, run, row, staging + row * columns);
	return ret;
}

/* ---- attention ---- */

static int compute(const struct part *p, struct rknpu_run *run, uint16_t *staging)
{
	int ret = write_queries(p, run, staging);

	if (!ret)
		ret = write_tokens(p, run, p->op->src[1], run->t[K], staging);
	if (!ret)
		ret = write_tokens(p, run, p->op->src[2], run->t[V], staging);
	if (!ret)
		ret = write_mask(p, run, staging);
	if (!ret)
		ret = rknpu_run_compute(run);
	return ret ? ret : read_result(p, run, staging);
}

static size_t staging_size(const struct rknpu_run *run)
{
	const uint32_t *s = run->shape;
	size_t q = (size_t)run->m * s[HEADS] * s[DIM], k = (size_t)s[TOKENS] * s[KV_HEADS] * s[DIM];
	size_t mask = (size_t)run->m * s[TOKENS], most = q > k ? q : k;

	return (most > mask ? most : mask) * sizeof(uint16_t);
}

static int attend_at_once(struct rknpu_context *ctx, const struct part *p, char *why, size_t size)
{
	const struct ggml_tensor *q = p->op->src[0], *k = p->op->src[1];
	struct rknpu_run *run, want = {
		.ctx = ctx, .record = record, .m = p->rows,
		.shape = {
			[TOKENS] = (uint32_t)k->ne[1],
			[DIM] = ((uint32_t)k->ne[0] + HEAD_COLS - 1) / HEAD_COLS * HEAD_COLS,
			[HEADS] = p->kv_heads * (uint32_t)(q->ne[2] / k->ne[2]), [KV_HEADS] = p->kv_heads,
			[MASKED] = p->op->src[3] != NULL,
		},
	};
	int ret = rknpu_run_get(&want, &run);
	uint16_t *staging;

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	staging = malloc(staging_size(run));
	ret = staging ? compute(p, run, staging) : -ENOMEM;
	free(staging);
	if (ret)
		rknpu_run_failed(run, ret, why, size);
	if (ret == -ERANGE)
		snprintf(why, size, "scores or values exceed what fp16 holds");
	return ret;
}

/* Fewer heads at a time, then fewer rows, if a recording cannot hold the tasks of all. */
static int attend(struct rknpu_context *ctx, const struct part *p, char *why, size_t size)
{
	struct part a = *p, b = *p;
	int ret = attend_at_once(ctx, p, why, size);

	if (ret != -E2BIG || (p->kv_heads == 1 && p->rows == 1))
		return ret;
	if (p->kv_heads > 1) {
		a.kv_heads = p->kv_heads / 2;
		b.kv += a.kv_heads;
		b.kv_heads -= a.kv_heads;
	} else {
		a.rows = p->rows / 2;
		b.row += a.rows;
		b.rows -= a.rows;
	}
	ret = attend(ctx, &a, why, size);
	return ret ? ret : attend(ctx, &b, why, size);
}

int rknpu_attention(struct rknpu_context *ctx, const struct ggml_tensor *op, char *why, size_t size)
{
	const struct ggml_tensor *q = op->src[0], *k = op->src[1];
	int ret = 0;

	for (int64_t i = 0; !ret && i < q->ne[3]; i++) {
		struct part all = { op, i, 0, (uint32_t)q->ne[1], 0, (uint32_t)k->ne[2] };

		ret = attend(ctx, &all, why, size);
	}
	ctx->stats.macs += 2 * (uint64_t)ggml_nelements(q) * (uint64_t)k->ne[1];
	return ret;
}
