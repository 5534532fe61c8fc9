// SPDX-License-Identifier: MIT
/*
 * Owns gated feed-forward blocks: gate, up, SwiGLU and down as one recording, between which nothing moves. They hold most
 * of what a layer moves.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ops.h"

/* Where numbers of tensors in between begin, of those with the same shape. */
#define BETWEEN	8
/* Largest activations that need no scale of their own: of all, and the least of a row that is not 0. */
#define MOST	32767.0f
#define LEAST	0x1p-4f
#define LEAST_OF_ROW	0x1p-7f
/* How far apart scales of gate and up may be, so that what is in between keeps its bits. */
#define APART	64.0f

enum { GATE, UP, DOWN, WEIGHTS };
/* Activations, what is in between: of gate and up, SiLU of gate, and the product; and the result. */
enum { X, G, U, S, H, Y };

/* ---- which ones ---- */

bool rknpu_glu_supported(struct rknpu_context *ctx, const struct ggml_tensor *op)
{
	const struct ggml_tensor *gate = op->src[0], *up = op->src[1];

	return ggml_get_glu_op(op) == GGML_GLU_OP_SWIGLU && up && op->type == GGML_TYPE_F32 &&
	       gate->op == GGML_OP_MUL_MAT && up->op == GGML_OP_MUL_MAT && gate->src[1] == up->src[1] &&
	       gate->type == GGML_TYPE_F32 && up->type == GGML_TYPE_F32 && ggml_is_contiguous(gate) &&
	       ggml_is_contiguous(up) && ggml_is_contiguous(op) && rknpu_matmul_supported(ctx, gate) &&
	       rknpu_matmul_supported(ctx, up) && rknpu_prec_of(ctx, gate->src[0]) == NPU_PREC_FP16 &&
	       rknpu_prec_of(ctx, up->src[0]) == NPU_PREC_FP16;
}

static bool only_for(const struct ggml_cgraph *graph, const struct ggml_tensor *t)
{
	return ggml_uses(graph, t) == 1 && !(t->flags & GGML_TENSOR_FLAG_OUTPUT);
}

bool rknpu_ffn_supported(struct rknpu_context *ctx, const struct ggml_cgraph *graph, const struct rknpu_ffn *f)
{
	const struct ggml_tensor *gate = f->glu->src[0], *up = f->glu->src[1];

	if (f->glu->op != GGML_OP_GLU || !rknpu_glu_supported(ctx, f->glu) || f->down->op != GGML_OP_MUL_MAT ||
	    f->down->src[1] != f->glu)
		return false;
	if (!((gate == f->a && up == f->b) || (gate == f->b && up == f->a)))
		return false;
	return rknpu_matmul_shares(ctx, gate, up) && rknpu_matmul_shares(ctx, f->down, f->down) &&
	       rknpu_matmul_supported(ctx, f->down) && rknpu_prec_of(ctx, gate->src[0]) == NPU_PREC_FP16 &&
	       rknpu_prec_of(ctx, f->down->src[0]) == NPU_PREC_FP16 && only_for(graph, gate) &&
	       only_for(graph, up) && only_for(graph, f->glu);
}

/* ---- recordings ---- */

static int tensors(struct rknpu_run *run)
{
	struct npu_shape x = { NPU_PREC_FP16, run->m, run->w[GATE]->from.k };
	struct npu_shape between = { NPU_PREC_FP16, run->m, run->w[GATE]->from.n };
	struct npu_shape y = { NPU_PREC_FP32, run->m, run->w[DOWN]->from.n };
	int ret = rknpu_run_tensor(run, X, x, 0);

	for (uint32_t i = G; !ret && i <= H; i++)
		ret = rknpu_run_tensor(run, i, between, BETWEEN + i);
	return ret ? ret : rknpu_run_tensor(run, Y, y, 0);
}

static int record(struct rknpu_run *run)
{
	struct npu_tensor **t = run->t;
	int ret = tensors(run);

	if (!ret)
		ret = npu_rec_matmul(run->rec, t[X], run->w[GATE]->npu, t[G], NULL);
	if (!ret)
		ret = npu_rec_matmul(run->rec, t[X], run->w[UP]->npu, t[U], NULL);
	if (!ret)
		ret = npu_rec_act(run->rec, NPU_ACT_SILU, t[G], t[S]);
	if (!ret)
		ret = npu_rec_mul(run->rec, t[S], t[U], t[H]);
	return ret ? ret : npu_rec_matmul(run->rec, t[H], run->w[DOWN]->npu, t[Y], NULL);
}

static int run_for(struct rknpu_context *ctx, struct rknpu_weights *const *w, uint32_t m, struct rknpu_run **out)
{
	struct rknpu_run want = { .ctx = ctx, .record = record, .m = rknpu_run_rows(m), .n = WEIGHTS };

	memcpy(want.w, w, WEIGHTS * sizeof(*w));
	return rknpu_run_get(&want, out);
}

/* ---- one block ---- */

/*
 * -ERANGE if fp16 would not hold them: SiLU has to see what gate really is, so no scale helps. Of small rows the product of
 * gate and up is less than fp16 has, and would be 0, whatever other rows are.
 */
static int write_x(struct npu_tensor *x, const struct ggml_tensor *from, float scale)
{
	size_t k = (size_t)from->ne[0], m = (size_t)from->ne[1];
	uint16_t *fp16 = malloc(m * k * sizeof(*fp16));
	float most = 0;
	int ret = 0;

	if (!fp16)
		return -ENOMEM;
	for (size_t i = 0; i < m; i++) {
		const float *row = (const float *)((const char *)from->data + i * from->nb[1]);
		float largest = rknpu_to_fp16(fp16 + i * k, row, k, 1 / scale) * scale;

		if (largest > 0 && largest < LEAST_OF_ROW)
			ret = -ERANGE;
		most = fmaxf(most, largest);
	}
	if (!(most <= MOST && most >= LEAST))
		ret = -ERANGE;
	if (!ret)
		ret = rknpu_write_rows(x, (uint32_t)m, fp16, 0);
	free(fp16);
	return ret;
}

static bool all_finite(const float *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return false;
	return true;
}

/*
 * -ERANGE if something in between was more than fp16 hold. Nothing is written then: the activations, which may lie in the
 * same memory, are needed again.
 */
static int read_y(struct npu_tensor *y, const struct ggml_tensor *to, float scale)
{
	size_t n = (size_t)to->ne[0], m = (size_t)to->ne[1];
	float *floats = malloc(m * n * sizeof(*floats));
	int ret = floats ? rknpu_read_rows(y, (uint32_t)m, floats, 0) : -ENOMEM;

	if (!ret && !all_finite(floats, m * n))
		ret = -ERANGE;
	for (size_t i = 0; !ret && i < m; i++) {
		float *row = (float *)((char *)to->data + i * to->nb[1]);

		for (size_t j = 0; j < n; j++)
			row[j] = floats[i * n + j] * scale;
	}
	free(floats);
	return ret;
}

/* Weights that were decided on just now may be int8. */
static bool go_together(struct rknpu_weights *const *w)
{
	float apart = w[GATE]->scale / w[UP]->scale;

	for (int i = 0; i < WEIGHTS; i++)
		if (w[i]->type != NPU_PREC_FP16)
			return false;
	return apart <= APART && apart >= 1 / APART;
}

/* Activations times gate's scale, so that gate is right; up and down get theirs in the end. */
static int at_once(struct rknpu_context *ctx, const struct rknpu_ffn *f, struct rknpu_weights *const *w, char *why,
		   size_t size)
{
	const struct ggml_tensor *x = f->glu->src[0]->src[1];
	struct rknpu_run *run;
	int ret = go_together(w) && x->type == GGML_TYPE_F32 ? run_for(ctx, w, (uint32_t)x->ne[1], &run) : -ERANGE;

	if (ret) {
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	ret = write_x(run->t[X], x, w[GATE]->scale);
	if (!ret)
		ret = rknpu_run_compute(run);
	if (!ret)
		ret = read_y(run->t[Y], f->down, w[UP]->scale / w[GATE]->scale * w[DOWN]->scale);
	if (ret && ret != -ERANGE)
		rknpu_run_failed(run, ret, why, size);
	return ret;
}

/* ---- without the product behind it ---- */

void rknpu_glu(const struct ggml_tensor *op)
{
	const float *gate = op->src[0]->data, *up = op->src[1]->data;
	float *y = op->data;

	for (int64_t i = 0; i < ggml_nelements(op); i++)
		y[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

static uint64_t macs(const struct ggml_tensor *op)
{
	return (uint64_t)ggml_nelements(op) * (uint64_t)op->src[0]->ne[0];
}

int rknpu_ffn(struct rknpu_context *ctx, const struct rknpu_ffn *f, char *why, size_t size)
{
	const struct ggml_tensor *op[WEIGHTS] = { f->glu->src[0], f->glu->src[1], f->down };
	struct rknpu_weights *w[WEIGHTS];
	int ret = 0;

	for (int i = 0; !ret && i < WEIGHTS; i++)
		ret = rknpu_slice_get(ctx, op[i]->src[0], 0, &w[i], why, size);
	if (!ret)
		ret = at_once(ctx, f, w, why, size);
	if (!ret)
		ctx->stats.macs += macs(op[GATE]) + macs(op[UP]) + macs(op[DOWN]);
	return ret;
}
