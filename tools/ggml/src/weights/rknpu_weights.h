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
/*
 * Rotates a row, in place, and requantizes it; the result times what is returned is the rotated row. NaN if it has any or
 * infinity.
 */
float rknpu_to_int8(int8_t *dst, float *src, size_t n);
/* May a matrix of that type be packed? */
bool rknpu_can_pack(enum ggml_type type);

/* ---- 4-bit types: rknpu_int4.c ---- */

/* Columns that have a scale. */
#define RKNPU_INT4_GROUP	32u

/* Where a row goes: two numbers in a byte, and of each group the scale and, unless NULL, the offset, so far apart. */
struct rknpu_int4 {
	uint8_t *q;
	_Float16 *scale, *offset;
	size_t pitch;
};

/* Are numbers of that type INT4 times a scale for each group, and has each group an offset beside it? */
bool rknpu_is_int4(enum ggml_type type);
bool rknpu_int4_has_offset(enum ggml_type type);
void rknpu_to_int4(const struct rknpu_int4 *to, const void *row, enum ggml_type type, uint32_t k);

/* ---- layouts of ggml's CPU backend: rknpu_layout.c ---- */

struct rknpu_layout;

/* Is it one of the buffer types in which the CPU backend rearranges weights? */
bool rknpu_is_cpu_extra(ggml_backend_buffer_type_t type);
/* How the weights @w are rearranged, NULL if they are not, or if nobody knows. */
const struct rknpu_layout *rknpu_layout_of(struct rknpu_context *ctx, const struct ggml_tensor *w);
/* Rows of a group. Groups follow each other; their blocks are in the order of a row's. */
uint32_t rknpu_layout_rows(const struct rknpu_layout *l);
/* The rows of a group as ggml's types have them, each of so many blocks. */
void rknpu_layout_undo(const struct rknpu_layout *l, const void *group, size_t blocks, void *plain);
/* Are weights in memory that can be read, as they are or by their layout? */
bool rknpu_is_readable(struct rknpu_context *ctx, const struct ggml_tensor *w);
/* Would the CPU backend rearrange the weights of that product, in a way that can be undone? */
bool rknpu_is_rearranged(struct rknpu_context *ctx, const struct ggml_tensor *op);

/* ---- packed matrices ---- */

/* A matrix in memory: n rows of k elements, so many bytes apart, or rearranged. */
struct rknpu_matrix {
	const void *data;
	enum ggml_type type;
	uint32_t n, k;
	size_t stride;
	const struct rknpu_layout *layout;
};

/*
 * A matrix packed for the NPU: what it stands for is that times @scale, or by rows times @row_scale, or of INT4 by rows
 * and groups of columns times @scales, plus @offsets unless they are NULL. @n are the rows that the NPU has, and @part
 * the columns that it multiplies at a time, or 0: all.
 */
struct rknpu_weights {
	struct rknpu_matrix from;
	enum npu_prec type;
	uint32_t n, part;
	struct npu_weights *npu;
	float scale, *row_scale;
	_Float16 *scales, *offsets;
	/* Packed before anybody used it, from a matrix with this in some places. */
	bool early;
	uint64_t sample;
	/* The cache that keeps it, the next one there with such an address, and the one packed before it of all caches. */
	struct rknpu_cache *cache;
	struct rknpu_weights *next, *older;
};

int rknpu_weights_new(struct rknpu_context *ctx, const struct rknpu_matrix *m, enum npu_prec type, struct rknpu_weights **out);
void rknpu_weights_free(struct rknpu_context *ctx, struct rknpu_weights *w);
size_t rknpu_weights_bytes(const struct rknpu_weights *w);
/* Products that one with all columns is. */
uint32_t rknpu_weights_parts(const struct rknpu_weights *w);
/* So many numbers of @from, packed as @type. */
uint64_t rknpu_packed_bytes(enum npu_prec type, enum ggml_type from, uint64_t numbers);

/* ---- those that are kept ---- */

#define RKNPU_BUCKETS	1024u

/* Weights of one buffer, by their address there: they stay until the matrix changes or the buffer goes. */
struct rknpu_cache {
	struct rknpu_context *ctx;
	struct rknpu_weights *bucket[RKNPU_BUCKETS];
	size_t count;
	struct rknpu_claim *claims[RKNPU_BUCKETS];
	bool mapped;	/* the buffer is pages of a file */
};

/* Where products keep weights like @w, NULL if these may change unnoticed. */
struct rknpu_cache *rknpu_cache_of(struct rknpu_context *ctx, const struct ggml_tensor *w);
/* From @cache, or packed into it. */
int rknpu_cache_get(struct rknpu_cache *cache, const struct rknpu_matrix *m, enum npu_prec type, struct rknpu_weights **out);
/* Packed before it is used. */
int rknpu_cache_prepare(struct rknpu_cache *cache, const struct rknpu_matrix *m, enum npu_prec type);
bool rknpu_cache_has(struct rknpu_cache *cache, const struct rknpu_matrix *m);
/* Forgets what was packed from so many bytes of memory. */
void rknpu_cache_drop(struct rknpu_cache *cache, const void *data, size_t size);
/* Forgets the newest of all caches, so many bytes and more. */
void rknpu_cache_give_back(struct rknpu_context *ctx, size_t bytes);

/* ---- who gets memory: rknpu_budget.c ---- */

/* Products of int8 that 32 bits sum up without saturating. */
#define RKNPU_MOST_INT8_SUMMED	(INT32_MAX / (127 * 127))
/* Numbers of a matrix of INT4: of as many, four rows of results of its groups are 24 MiB. */
#define RKNPU_MOST_INT4		(48 << 20)

enum rknpu_fate { RKNPU_UNDECIDED, RKNPU_FP16, RKNPU_INT8, RKNPU_INT4, RKNPU_CPU };

/* rknpu_fate.c: of one that is not undecided or the CPU's; what weights become if there is room; and if there is not. */
enum npu_prec rknpu_prec_of_fate(enum rknpu_fate fate);
enum rknpu_fate rknpu_best(const struct rknpu_context *ctx, const struct ggml_tensor *w);
enum rknpu_fate rknpu_smallest(const struct rknpu_context *ctx, const struct ggml_tensor *w);

/* Weights that somebody wants to compute with: of @bytes in memory, @slices matrices of @matrix elements. */
struct rknpu_claim {
	const void *data;
	size_t bytes;
	uint64_t matrix, slices;
	enum ggml_type type;
	enum rknpu_fate best, smallest;
	bool late;		/* decided on when they are used, with what is left then */
	enum rknpu_fate fate;
	uint32_t order;
	struct rknpu_cache *cache;
	struct rknpu_claim *next, *newer;
};

/* Bytes that the machine has; that can be had without swapping; and whether so many can be had for a moment. */
uint64_t rknpu_memory_total(void);
uint64_t rknpu_memory_available(void);
bool rknpu_memory_has(uint64_t bytes);
/* Bytes that further weights may take. */
uint64_t rknpu_budget_left(const struct rknpu_context *ctx);

/* Not locked. Takes down that @w, which @cache is for, will be used; what was decided about them so far. */
enum rknpu_fate rknpu_claim(struct rknpu_cache *cache, const struct ggml_tensor *w, bool late);
/* Not locked. The same of weights that were taken down before. */
enum rknpu_fate rknpu_fate_of(struct rknpu_cache *cache, const struct ggml_tensor *w);
/* Decides on all that are not late, beside so many bytes for something else; with a line to log at the level returned. */
enum ggml_log_level rknpu_decide(struct rknpu_context *ctx, uint64_t scratch, char *line, size_t size);
/* Of weights that are used now. */
enum rknpu_fate rknpu_decide_on(struct rknpu_cache *cache, const struct ggml_tensor *w);
/* Forgets claims for so many bytes of memory: they are decided on anew. */
void rknpu_claims_drop(struct rknpu_cache *cache, const char *data, size_t size);

/* ---- buffers ---- */

/* Is it one of ggml's CPU backend, and what is kept of weights in it? NULL if nothing may be. */
bool rknpu_is_cpu_buffer(ggml_backend_buffer_t buffer);
struct rknpu_cache *rknpu_cpu_cache(struct rknpu_context *ctx, ggml_backend_buffer_t buffer);

/* The type of @ctx, as ggml knows it. */
void ggml_backend_rknpu_buffer_type_init(struct rknpu_context *ctx);
ggml_backend_buffer_t ggml_backend_rknpu_buffer_from_ptr(struct rknpu_context *ctx, void *ptr, size_t size);
/* Not locked. What weights are, or will be, for the NPU. */
enum npu_prec rknpu_prec_of(struct rknpu_context *ctx, const struct ggml_tensor *w);
/* Does it have memory with numbers in it? Programs measure graphs of models that they have not loaded. */
bool rknpu_has_data(struct rknpu_context *ctx, const struct ggml_tensor *t);
/* Forgets what was packed from memory that an operation has written. */
void rknpu_buffer_wrote(struct rknpu_context *ctx, const struct ggml_tensor *t);

#endif /* RKNPU_WEIGHTS_H */
