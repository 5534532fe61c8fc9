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

/* libnpu's limit of tokens, less than that of columns of a head, and what these are a multiple of. */
#define MOST_TOKENS	32768
#define MOST_COLS	2048
#define HEAD_COLS	32u
/* What is masked: far from any score, and so that the sum with one is still fp16. */
#define MASKED_SCORE	(-30000.0f)
/* Beyond half of that what is masked would count, or scores would exceed fp16. */
#define MOST_SCORE	(-MASKED_SCORE / 2)
#define MOST_FP16	65504.0f

/*
 * Sinks are scores that a head has beside those of its tokens: those of one more token, whose value is 0 and whose key is
 * 1 in one more column, where queries have the score.
 */
static bool has_sinks(const struct ggml_tensor *op)
{
	return op->src[4];
}

/* Places in the parameters of the operation (read off libggml-base 0.27). */
enum { SCALE, MAX_BIAS, SOFTCAP };

/* Some rows of the queries, and some heads of the keys with those of the queries that belong to them. */
struct part {
	const struct ggml_tensor *op;
	int64_t i3;
	uint32_t row, rows, kv, kv_heads;
};

/* A part while it is laid out. */
struct staging {
	uint16_t *halves;	/* of one operand */
	bool *seen, *sees;	/* tokens that some row sees, and rows that see some token */
	float *centre;		/* of each head of the keys */
	float most_sink;
	float *largest_q, *largest_k;	/* squares of the longest vectors there */
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

static bool sinks_fit(const struct ggml_tensor *op)
{
	const struct ggml_tensor *sinks = op->src[4];

	return !sinks || (sinks->type == GGML_TYPE_F32 && sinks->nb[0] == sizeof(float) &&
			  ggml_nelements(sinks) == op->src[0]->ne[2]);
}

static bool can_compute(const struct ggml_tensor *op)
{
	const struct ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2];

	/* Linear biases and caps of scores have no place in libnpu's attention. */
	if (parameter(op, MAX_BIAS) != 0 || parameter(op, SOFTCAP) != 0)
		return false;
	if (q->type != GGML_TYPE_F32 || op->type != GGML_TYPE_F32 || !type_fits(k->type) ||
	    !type_fits(v->type) || !mask_fits(op) || !sinks_fit(op))
		return false;
	if (q->nb[0] != sizeof(float) || k->nb[0] != ggml_type_size(k->type) ||
	    v->nb[0] != ggml_type_size(v->type))
		return false;
	return k->ne[0] == v->ne[0] && k->ne[0] <= MOST_COLS && k->ne[1] > 0 && k->ne[1] == v->ne[1] &&
	       k->ne[1] + has_sinks(op) <= MOST_TOKENS && k->ne[2] == v->ne[2] && k->ne[3] == v->ne[3] &&
	       q->ne[2] % k->ne[2] == 0 && q->ne[3] % k->ne[3] == 0 && q->ne[1] < INT32_MAX / 2 &&
	       (uint64_t)q->ne[1] * (uint64_t)(q->ne[2] * (q->ne[0] + HEAD_COLS)) < (1u << 29) &&
	       (uint64_t)q->ne[1] * (uint64_t)k->ne[1] < (1u << 29) &&
	       (uint64_t)k->ne[1] * (uint64_t)(k->ne[2] * (k->ne[0] + HEAD_COLS)) < (1u << 30);
}

/* Keys and values move with the queries, and are made weights on the NPU. */
static bool worthwhile(const struct rknpu_params *p, const struct ggml_tensor *op)
{
	const struct ggml_tensor *q = op->src[0], *k = op->src[1];

	return q->ne[1] >= p->min_rows && k->ne[1] >= p->min_k && 2 * ggml_nelements(q) * k->ne[1] >= p->min_macs;
}

bool rknpu_attention_supported(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	return ctx->can.fp16 && can_compute(op) && worthwhile(&ctx->params, op);
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

static float longest(const float *v, size_t n, float than)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i] * v[i];
	/* NaN, which compares as false, stays whichever it is. */
	return sum <= than || isnan(than) ? than : sum;
}

static void to_halves(uint16_t *to, const float *v, size_t n, size_t dim)
{
	for (size_t i = 0; i < dim; i++)
		to[i] = i < n ? fp16(v[i]) : 0;
}

static void query_row(const struct part *p, uint32_t row, uint32_t head, float *to)
{
	const struct ggml_tensor *q = p->op->src[0];
	uint32_t group = (uint32_t)(q->ne[2] / p->op->src[1]->ne[2]);
	const float *from = row_of(q, p->row + row, p->kv * group + head, p->i3);
	float scale = parameter(p->op, SCALE);

	for (int64_t i = 0; i < q->ne[0]; i++)
		to[i] = from[i] * scale;
}

/* Less what the query's scores lost when the keys were moved. */
static void set_sink(const struct part *p, const struct rknpu_run *run, struct staging *s, uint32_t head,
		     const float *q, uint16_t *to)
{
	uint32_t group = run->shape[HEADS] / run->shape[KV_HEADS];
	const float *centre = s->centre + (size_t)(head / group) * run->shape[DIM];
	size_t n = (size_t)p->op->src[0]->ne[0];
	float sink = ((const float *)p->op->src[4]->data)[p->kv * group + head];

	for (size_t i = 0; i < n; i++)
		sink -= q[i] * centre[i];
	s->most_sink = fmaxf(s->most_sink, fabsf(sink));
	to[n] = fp16(sink);
}

static int write_queries(const struct part *p, const struct rknpu_run *run, struct staging *s)
{
	const uint32_t *shape = run->shape;
	uint32_t heads = shape[HEADS], dim = shape[DIM], group = heads / shape[KV_HEADS];
	size_t n = (size_t)p->op->src[0]->ne[0];
	float floats[MOST_COLS];

	for (uint32_t row = 0; row < p->rows; row++)
		for (uint32_t head = 0; head < heads; head++) {
			uint16_t *to = s->halves + ((size_t)row * heads + head) * dim;
			float *most = &s->largest_q[head / group];

			query_row(p, row, head, floats);
			*most = longest(floats, n, *most);
			to_halves(to, floats, n, dim);
			if (has_sinks(p->op))
				set_sink(p, run, s, head, floats, to);
		}
	return rknpu_write_rows(run->t[Q], p->rows, s->halves, 0);
}

static const void *token_at(const struct part *p, const struct ggml_tensor *t, uint32_t token, uint32_t head)
{
	return row_of(t, token, p->kv + head, p->i3 / (p->op->src[0]->ne[3] / t->ne[3]));
}

static void token_row(const struct part *p, const struct ggml_tensor *t, uint32_t token, uint32_t head, float *to)
{
	ggml_get_type_traits(t->type)->to_float(token_at(p, t, token, head), to, t->ne[0]);
}

/*
 * Scores are fp16, and biases of keys are in all of them: as large as they are, what differs would be rounded. Softmax
 * does not see what all scores of a row have in common, so keys may move.
 */
static void find_centre(const struct part *p, const struct rknpu_run *run, struct staging *s, uint32_t head)
{
	const struct ggml_tensor *k = p->op->src[1];
	float *centre = s->centre + (size_t)head * run->shape[DIM], floats[MOST_COLS];
	uint32_t n = 0;

	for (uint32_t token = 0; token < k->ne[1]; token++) {
		if (!s->seen[token])
			continue;
		token_row(p, k, token, head, floats);
		for (int64_t i = 0; i < k->ne[0]; i++)
			centre[i] += floats[i];
		n++;
	}
	/* As a half, so that the difference to one is seldom rounded. */
	for (int64_t i = 0; n && i < k->ne[0]; i++)
		centre[i] = number(fp16(centre[i] / (float)n));
}

static void move_key(const struct rknpu_run *run, struct staging *s, uint32_t head, float *key, size_t n)
{
	const float *centre = s->centre + (size_t)head * run->shape[DIM];

	for (size_t i = 0; i < n; i++)
		key[i] -= centre[i];
	s->largest_k[head] = longest(key, n, s->largest_k[head]);
}

/* What no row sees may be anything, but not here: 0 times NaN is NaN. */
static void stage_token(const struct part *p, const struct rknpu_run *run, struct staging *s, int which, uint32_t token,
			uint32_t head)
{
	const uint32_t *shape = run->shape;
	const struct ggml_tensor *t = p->op->src[which];
	uint16_t *to = s->halves + ((size_t)token * shape[KV_HEADS] + head) * shape[DIM];
	size_t n = s->seen[token] ? (size_t)t->ne[0] : 0;
	float floats[MOST_COLS];

	if (n && which == V && t->type == GGML_TYPE_F16) {
		memcpy(to, token_at(p, t, token, head), n * sizeof(*to));
		memset(to + n, 0, (shape[DIM] - n) * sizeof(*to));
		return;
	}
	if (n)
		token_row(p, t, token, head, floats);
	if (which == K)
		move_key(run, s, head, floats, n);
	to_halves(to, floats, n, shape[DIM]);
}

static void stage_sink(const struct part *p, const struct rknpu_run *run, struct staging *s, int which, uint32_t token,
		       uint32_t head)
{
	const uint32_t *shape = run->shape;
	uint16_t *to = s->halves + ((size_t)token * shape[KV_HEADS] + head) * shape[DIM];

	memset(to, 0, shape[DIM] * sizeof(*to));
	if (which == K)
		to[p->op->src[K]->ne[0]] = fp16(1);
}

static int write_tokens(const struct part *p, const struct rknpu_run *run, struct staging *s, int which)
{
	const uint32_t *shape = run->shape;
	uint32_t tokens = (uint32_t)p->op->src[which]->ne[1];

	for (uint32_t token = 0; token < tokens; token++)
		for (uint32_t head = 0; head < shape[KV_HEADS]; head++)
			stage_token(p, run, s, which, token, head);
	for (uint32_t head = 0; has_sinks(p->op) && head < shape[KV_HEADS]; head++)
		stage_sink(p, run, s, which, tokens, head);
	return npu_tensor_write(run->t[which], s->halves, 0);
}

/* NaN if there is one. */
static float largest(const uint16_t *v, uint32_t n)
{
	float most = -INFINITY;

	for (uint32_t i = 0; i < n && !isnan(most); i++)
		most = number(v[i]) <= most ? most : number(v[i]);
	return most;
}

/*
 * Less the largest of the row, which softmax does not see: scores are added to it as fp16, however large it is. -ERANGE if
 * there is NaN, which the NPU would not have in the result.
 */
static int mask_row(const struct part *p, const struct rknpu_run *run, struct staging *s, uint32_t row)
{
	const struct ggml_tensor *mask = p->op->src[3];
	const uint16_t *from = row_of(mask, p->row + row, 0, p->i3 % mask->ne[3]);
	uint16_t *to = s->halves + (size_t)row * run->shape[TOKENS];
	uint32_t tokens = (uint32_t)mask->ne[0];
	float most = largest(from, tokens);

	if (isnan(most))
		return -ERANGE;
	s->sees[row] = most > -INFINITY;
	if (!isfinite(most))
		most = 0;
	for (uint32_t i = 0; i < tokens; i++) {
		float v = number(from[i]) - most;

		s->seen[i] |= v > MASKED_SCORE;
		to[i] = fp16(fmaxf(v, MASKED_SCORE));
	}
	if (has_sinks(p->op))
		to[tokens] = fp16(fmaxf(fminf(-most, -MASKED_SCORE), MASKED_SCORE));
	return 0;
}

static int write_mask(const struct part *p, const struct rknpu_run *run, struct staging *s)
{
	int ret = 0;

	if (!run->shape[MASKED]) {
		memset(s->seen, true, run->shape[TOKENS]);
		memset(s->sees, true, p->rows);
		return 0;
	}
	for (uint32_t row = 0; !ret && row < p->rows; row++)
		ret = mask_row(p, run, s, row);
	return ret ? ret : rknpu_write_rows(run->t[MASK], p->rows, s->halves, 0);
}

/* No score is more than the lengths of both vectors. */
static bool scores_fit(const struct rknpu_run *run, const struct staging *s)
{
	for (uint32_t head = 0; head < run->shape[KV_HEADS]; head++) {
		float q = sqrtf(s->largest_q[head]), k = sqrtf(s->largest_k[head]);

		if (!(q <= MOST_FP16 && k <= MOST_FP16 && q * k <= MOST_SCORE))
			return false;
	}
	return s->most_sink <= MOST_SCORE;
}

/* A row that sees no token has no shares: ggml's CPU backend gives 0 then. */
static int read_row(const struct part *p, const struct rknpu_run *run, const struct staging *s, uint32_t row)
{
	const struct ggml_tensor *op = p->op;
	uint32_t group = run->shape[HEADS] / run->shape[KV_HEADS];
	const uint16_t *from = s->halves + (size_t)row * run->shape[HEADS] * run->shape[DIM];

	for (uint32_t head = 0; head < run->shape[HEADS]; head++, from += run->shape[DIM]) {
		float *to = (float *)((char *)op->data + (p->kv * group + head) * op->nb[1] +
				      (p->row + row) * op->nb[2] + p->i3 * op->nb[3]);

		for (int64_t i = 0; i < op->ne[0]; i++) {
			to[i] = s->sees[row] ? number(from[i]) : 0;
			if (!isfinite(to[i]))
				return -ERANGE;
		}
	}
	return 0;
}

static int read_result(const struct part *p, const struct rknpu_run *run, const struct staging *s)
{
	int ret = rknpu_read_rows(run->t[Y], p->rows, s->halves, 0);

	for (uint32_t row = 0; !ret && row < p->rows; row++)
		ret = read_row(p, run, s, row);
	return ret;
}

/* ---- attention ---- */

static int compute(const struct part *p, struct rknpu_run *run, struct staging *s)
{
	int ret = write_mask(p, run, s);

	for (uint32_t head = 0; !ret && head < run->shape[KV_HEADS]; head++)
		find_centre(p, run, s, head);
	if (!ret)
		ret = write_queries(p, run, s);
	if (!ret)
		ret = write_tokens(p, run, s, K);
	if (!ret && !scores_fit(run, s))
		ret = -ERANGE;
	if (!ret)
		ret = write_tokens(p, run, s, V);
	if (!ret)
		ret = rknpu_run_compute(run);
	return ret ? ret : read_result(p, run, s);
}

static size_t staging_size(const struct rknpu_run *run)
{
	const uint32_t *s = run->shape;
	size_t q = (size_t)run->m * s[HEADS] * s[DIM], k = (size_t)s[TOKENS] * s[KV_HEADS] * s[DIM];
	size_t mask = (size_t)run->m * s[TOKENS], most = q > k ? q : k;

	return (most > mask ? most : mask) * sizeof(uint16_t);
}

static int stage_and_compute(const struct part *p, struct rknpu_run *run)
{
	const uint32_t *shape = run->shape;
	struct staging s = {
		.halves = malloc(staging_size(run)),
		.seen = calloc(shape[TOKENS], sizeof(*s.seen)), .sees = calloc(p->rows, sizeof(*s.sees)),
		.centre = calloc((size_t)shape[KV_HEADS] * shape[DIM], sizeof(*s.centre)),
		.largest_q = calloc(shape[KV_HEADS], sizeof(*s.largest_q)),
		.largest_k = calloc(shape[KV_HEADS], sizeof(*s.largest_k)),
	};
	bool ok = s.halves && s.seen && s.sees && s.centre && s.largest_q && s.largest_k;
	int ret = ok ? compute(p, run, &s) : -ENOMEM;

	free(s.halves);
	free(s.seen);
	free(s.sees);
	free(s.centre);
	free(s.largest_q);
	free(s.largest_k);
	return ret;
}

static int attend_at_once(struct rknpu_context *ctx, const struct part *p, char *why, size_t size)
{
	const struct ggml_tensor *q = p->op->src[0], *k = p->op->src[1];
	struct rknpu_run *run, want = {
		.ctx = ctx, .record = record, .m = rknpu_run_rows(p->rows),
		.shape = {
			[TOKENS] = (uint32_t)k->ne[1] + has_sinks(p->op),
			[DIM] = ((uint32_t)k->ne[0] + has_sinks(p->op) + HEAD_COLS - 1) / HEAD_COLS * HEAD_COLS,
			[HEADS] = p->kv_heads * (uint32_t)(q->ne[2] / k->ne[2]), [KV_HEADS] = p->kv_heads,
			[MASKED] = p->op->src[3] != NULL,
		},
	};
	int ret = rknpu_run_get(&want, &run);

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	ret = stage_and_compute(p, run);
	if (ret && ret != -ERANGE)
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
