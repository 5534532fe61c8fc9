/* SPDX-License-Identifier: MIT */
/* Owns matrices that are packed for the NPU, and the buffers of ggml that they are kept for. */
#ifndef RKNPU_WEIGHTS_H
#define RKNPU_WEIGHTS_H

#include "rknpu_context.h"

/* ---- conversion ---- */

/* Numbers by a power of 2, so that they are neither infinite nor lost in fp16. */
float rknpu_scale_for(float largest);
/* Converts; returns the largest magnitude of @src, infinity if it has NaN. */
float rknpu_to_fp16(uint16_t *dst, const float *src, size_t n, float scale);
/* Requantizes a row; the result times what is returned is the row. NaN if it has any or infinity. */
float rknpu_to_int8(int8_t *dst, const float *src, size_t n);
/* What weights of that type are for the NPU. */
enum npu_prec rknpu_prec_of(const struct rknpu_context *ctx, enum ggml_type type);
/* May a matrix of that type be packed? */
bool rknpu_can_pack(enum ggml_type type);

/* ---- packed matrices ---- */

/* A matrix in memory: n rows of k elements, so many bytes apart. */
struct rknpu_matrix {
	const void *data;
	enum ggml_type type;
	uint32_t n, k;
	size_t stride;
};

/* A matrix packed for the NPU: what it stands for is that times @scale, or by rows times @row_scale. */
struct rknpu_weights {
	struct rknpu_matrix from;
	enum npu_prec type;
	struct npu_weights *npu;
	float scale, *row_scale;
	/* Packed before anybody used it, from a matrix with this in some places. */
	bool early;
	uint64_t sample;
	/* The cache that keeps it, the next one there with such an address, and the one packed before it of all caches. */
	struct rknpu_cache *cache;
	struct rknpu_weights *next, *older;
};

int rknpu_weights_new(struct rknpu_context *ctx, const struct rknpu_matrix *m, struct rknpu_weights **out);
void rknpu_weights_free(struct rknpu_context *ctx, struct rknpu_weights *w);
size_t rknpu_weights_bytes(const struct rknpu_weights *w);

/* ---- those that are kept ---- */

/* Where products keep weights like @w, NULL if these may change unnoticed. */
struct rknpu_cache *rknpu_cache_of(struct rknpu_context *ctx, const struct ggml_tensor *w);
/* From @cache, or packed into it. */
int rknpu_cache_get(struct rknpu_cache *cache, const struct rknpu_matrix *m, struct rknpu_weights **out);
/* Packed before it is used. */
int rknpu_cache_prepare(struct rknpu_cache *cache, const struct rknpu_matrix *m);
bool rknpu_cache_has(struct rknpu_cache *cache, const struct rknpu_matrix *m);
/* Forgets the newest of all caches, so many bytes and more. */
void rknpu_cache_give_back(struct rknpu_context *ctx, size_t bytes);

/* ---- buffers ---- */

/* The type of @ctx, as ggml knows it. */
void ggml_backend_rknpu_buffer_type_init(struct rknpu_context *ctx);
ggml_backend_buffer_t ggml_backend_rknpu_buffer_from_ptr(struct rknpu_context *ctx, void *ptr, size_t size);
/* Does it have memory with numbers in it? Programs measure graphs of models that they have not loaded. */
bool rknpu_has_data(struct rknpu_context *ctx, const struct ggml_tensor *t);
/* Forgets what was packed from memory that an operation has written. */
void rknpu_buffer_wrote(struct rknpu_context *ctx, const struct ggml_tensor *t);

#endif /* RKNPU_WEIGHTS_H */
