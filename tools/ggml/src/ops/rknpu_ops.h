/* SPDX-License-Identifier: MIT */
/*
 * Owns the operations of ggml: which ones the NPU can compute, which ones it is worth, and how. The context is locked
 * unless said otherwise.
 */
#ifndef RKNPU_OPS_H
#define RKNPU_OPS_H

#include "exec/rknpu_exec.h"
#include "weights/rknpu_weights.h"

/* ---- products with packed weights: rknpu_multiply.c ---- */

/* y[m][n] = x[m][k] * w, with rows so many bytes apart. */
struct rknpu_result {
	struct rknpu_weights *w;
	float *y;
	size_t y_stride;
};

/* All weights are of one type for the NPU, and have as many columns as @x. */
struct rknpu_rows {
	const void *x;
	enum ggml_type x_type;
	size_t x_stride;
	uint32_t m;
	uint32_t n;
	struct rknpu_result out[RKNPU_MOST_SHARED];
};

static inline const void *rknpu_x_row(const struct rknpu_rows *r, uint32_t m)
{
	return (const char *)r->x + m * r->x_stride;
}

static inline float *rknpu_y_row(const struct rknpu_result *y, uint32_t m)
{
	return (float *)((char *)y->y + m * y->y_stride);
}

/* 0, or a negative errno with a reason in @why. */
int rknpu_multiply(struct rknpu_context *ctx, const struct rknpu_rows *r, char *why, size_t size);

/*
 * What each row of activations was divided by, or NULL; and for weights with offsets the sums of each part of a row, as the
 * NPU has it. Whoever has it frees both.
 */
struct rknpu_scale {
	float *row, *sums;
};

static inline float rknpu_scale_of(const struct rknpu_scale *s, uint32_t m)
{
	return s->row ? s->row[m] : 1;
}

/* ---- the same in parts of the columns: rknpu_parts.c ---- */

/* @y has the columns of each part. */
int rknpu_parts_record(struct npu_rec *rec, struct npu_tensor *x, const struct rknpu_weights *w, struct npu_tensor *y);
/* The sums that weights of @r want, if there are any. */
int rknpu_parts_sum(const struct rknpu_rows *r, struct rknpu_scale *s);
/* Adds up all parts of @y, of whose rows the first @rows are wanted. */
int rknpu_parts_read(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows, const struct rknpu_scale *s);

/* ---- results that are wanted next: rknpu_prefetch.c ---- */

/* rknpu_multiply() of one product, and perhaps of others that are wanted next; @x is where rows are of. */
int rknpu_multiply_prefetch(struct rknpu_context *ctx, const struct ggml_tensor *x, const struct rknpu_rows *r,
			    char *why, size_t size);
/* Forgets what was learnt of @w. */
void rknpu_prefetch_forget(struct rknpu_context *ctx, const struct rknpu_weights *w);

/* ---- MUL_MAT and MUL_MAT_ID: rknpu_matmul.c ---- */

/* Matrix @i of the weights @t. */
struct rknpu_matrix rknpu_slice(struct rknpu_context *ctx, const struct ggml_tensor *t, int64_t i);
/* The same, packed; to be put back when it was used. */
int rknpu_slice_get(struct rknpu_context *ctx, const struct ggml_tensor *t, int64_t i, struct rknpu_weights **out,
		    char *why, size_t size);
void rknpu_slice_put(struct rknpu_context *ctx, const struct ggml_tensor *t, struct rknpu_weights *w);
/* Does every pass have as many rows as a plan says? */
bool rknpu_is_early(const struct ggml_tensor *op);
/* Not locked: can the NPU compute it, and had it better? */
bool rknpu_matmul_supported(struct rknpu_context *ctx, const struct ggml_tensor *op);
bool rknpu_matmul_id_supported(struct rknpu_context *ctx, const struct ggml_tensor *op);
/* May both be computed at once, because they share activations? */
bool rknpu_matmul_shares(struct rknpu_context *ctx, const struct ggml_tensor *a, const struct ggml_tensor *b);
/* @n products, at most RKNPU_MOST_SHARED: one, or several of which each shares activations with the first. */
int rknpu_matmul(struct rknpu_context *ctx, const struct ggml_tensor *const *op, uint32_t n, char *why, size_t size);
int rknpu_matmul_id(struct rknpu_context *ctx, const struct ggml_tensor *op, char *why, size_t size);

/* ---- feed-forward blocks: rknpu_ffn.c ---- */

/* Products with the same activations, their SwiGLU, and the product with that. */
struct rknpu_ffn {
	const struct ggml_tensor *a, *b, *glu, *down;
};

/* Not locked: can the NPU compute all of it, and does nobody else want the numbers in between? */
bool rknpu_ffn_supported(struct rknpu_context *ctx, const struct ggml_cgraph *graph, const struct rknpu_ffn *f);
/* -ERANGE, -E2BIG, -ENOMEM or -ENOSPC if it takes less at a time; then nothing was written. */
int rknpu_ffn(struct rknpu_context *ctx, const struct rknpu_ffn *f, char *why, size_t size);
/* SwiGLU of two products of ours, if it is part of such a block; and where it is not, on the CPU. */
bool rknpu_glu_supported(struct rknpu_context *ctx, const struct ggml_tensor *op);
void rknpu_glu(const struct ggml_tensor *op);

/* ---- FLASH_ATTN_EXT: rknpu_attention.c ---- */

/* Not locked. */
bool rknpu_attention_supported(struct rknpu_context *ctx, const struct ggml_tensor *op);
int rknpu_attention(struct rknpu_context *ctx, const struct ggml_tensor *op, char *why, size_t size);

#endif /* RKNPU_OPS_H */
