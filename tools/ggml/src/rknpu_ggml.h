/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the backend share: the NPU, resident weights, buffers
 * and products.
 *
 * ggml may call from several threads, and a libnpu device belongs to one at a time: whoever
 * calls a function of the NPU, weights or products holds rknpu_lock().
 */
#ifndef RKNPU_GGML_H
#define RKNPU_GGML_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml_iface.h"
#include "npu.h"
#include "npu_nn.h"
#include "rknpu_ggml_stats.h"

#define RKNPU_NAME	"RKNPU"
#define RKNPU_DEVICE	"RKNPU0"

/* One line on stderr, which ggml's own loader does not hide. */
__attribute__((format(printf, 1, 2))) void rknpu_say(const char *fmt, ...);

extern struct rknpu_ggml_stats rknpu_stats;
/* Those, and what libnpu counts. */
void rknpu_get_stats(struct rknpu_ggml_stats *stats);

/* ---- the NPU ---- */

void rknpu_lock(void);
void rknpu_unlock(void);
/* Opens the NPU if it is not open yet; 0 or a negative errno. */
int rknpu_open(void);
/* Name of the node and of its driver, after rknpu_open(). */
const char *rknpu_description(void);
struct npu_dev *rknpu_npu(void);
/* A tensor that every recording may use while it runs: number @which of that shape. */
int rknpu_scratch_get(struct npu_shape shape, uint32_t which, struct npu_tensor **out);
void rknpu_scratch_put(struct npu_tensor *t);

/* ---- recordings ---- */

/* How many cores share a recording: RKNPU_GGML_CORES, by default all. */
uint32_t rknpu_cores(void);
/* An empty recording on them. */
int rknpu_record(struct npu_rec **out);
/* Runs one, waits for it and counts it. */
int rknpu_go(struct npu_rec *rec);
/* Why it failed, in words. */
void rknpu_explain(const struct npu_rec *rec, int err, char *why, size_t size);

/* ---- halves ---- */

/* Numbers by a power of 2, so that they are neither infinite nor lost as halves. */
float rknpu_scale_for(float largest);
/* Converts; returns the largest magnitude of @src, infinity if it has NaN. */
float rknpu_to_half(uint16_t *dst, const float *src, size_t n, float scale);

/* ---- bytes ---- */

/* What weights of that type are for the NPU: RKNPU_GGML_WEIGHTS. */
enum npu_prec rknpu_prec_of(enum ggml_type type);
/* Refits a row; what is left of it times the result is the row, NaN if it has any or infinity. */
float rknpu_to_int8(int8_t *dst, const float *src, size_t n);

/* ---- weights ---- */

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

#define RKNPU_BUCKETS	1024u

/* Weights of one buffer, by their address there. */
struct rknpu_cache {
	struct rknpu_weights *bucket[RKNPU_BUCKETS];
	size_t count;
};

/* May a matrix of that type be packed? */
bool rknpu_can_pack(enum ggml_type type);
int rknpu_weights_new(const struct rknpu_matrix *m, struct rknpu_weights **out);
void rknpu_weights_free(struct rknpu_weights *w);
size_t rknpu_weights_bytes(const struct rknpu_weights *w);
/* From @cache, or packed into it. */
int rknpu_cache_get(struct rknpu_cache *cache, const struct rknpu_matrix *m,
		    struct rknpu_weights **out);
/* Packed before it is used. */
int rknpu_cache_prepare(struct rknpu_cache *cache, const struct rknpu_matrix *m);
bool rknpu_cache_has(struct rknpu_cache *cache, const struct rknpu_matrix *m);
/* Did memory run out, since weights were last dropped? */
bool rknpu_cache_full(void);
/* Forgets the newest of all caches, so many bytes and more. */
void rknpu_cache_give_back(size_t bytes);
/* Forgets what was packed from any of these bytes. */
void rknpu_cache_drop(struct rknpu_cache *cache, const void *data, size_t size);

/* ---- recordings with weights ---- */

/* Weights of one recording, and its tensors. */
#define RKNPU_MOST_SHARED	4u
#define RKNPU_MOST_TENSORS	6u

/* What rows of activations go through, in an order and with tensors that are the recorder's. */
struct rknpu_run {
	int (*recorder)(struct rknpu_run *run);
	uint32_t m, n;
	struct rknpu_weights *w[RKNPU_MOST_SHARED];
	struct npu_rec *rec;
	struct npu_tensor *t[RKNPU_MOST_TENSORS];
	struct rknpu_run *next;
};

/* The one that was made with all that is in @want, or a new one. */
int rknpu_run_get(const struct rknpu_run *want, struct rknpu_run **out);
/* Tensor @i of a run: number @which of that shape. */
int rknpu_run_tensor(struct rknpu_run *run, uint32_t i, struct npu_shape shape, uint32_t which);
/* Frees what was recorded with @w. */
void rknpu_runs_free(const struct rknpu_weights *w);

/* ---- buffers ---- */

ggml_backend_buffer_type_t rknpu_buffer_type(void);
ggml_backend_buffer_t rknpu_buffer_of(void *ptr, size_t size);
/* Where products keep weights that lie in the buffer, NULL if they may change unnoticed. */
struct rknpu_cache *rknpu_buffer_cache(ggml_backend_buffer_t buffer);
/* The same for a matrix of weights, which RKNPU_GGML_KEEP may have kept elsewhere. */
struct rknpu_cache *rknpu_cache_of(const struct ggml_tensor *w);
/* Has it memory with numbers in it? Programs measure graphs of models that they have not loaded. */
bool rknpu_has_data(const struct ggml_tensor *t);
/* Forgets what was packed from memory that an operation has written. */
void rknpu_buffer_wrote(const struct ggml_tensor *t);

/* ---- products ---- */

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

const void *rknpu_x_row(const struct rknpu_rows *r, uint32_t m);
float *rknpu_y_row(const struct rknpu_result *y, uint32_t m);

/* What activations were divided by: all, or each row. Whoever has it frees @row. */
struct rknpu_scale {
	float all, *row;
};

int rknpu_write_x(struct npu_tensor *x, const struct rknpu_rows *r, struct rknpu_scale *s);
int rknpu_read_y(struct npu_tensor *y, const struct rknpu_result *out, uint32_t rows,
		 const struct rknpu_scale *s);

/* 0, or a negative errno with a reason in @why. */
int rknpu_multiply(const struct rknpu_rows *r, char *why, size_t size);
/* The same of one product, and perhaps of others that are wanted next; @x is where rows are of. */
int rknpu_multiply_ahead(const struct ggml_tensor *x, const struct rknpu_rows *r, char *why, size_t size);
/* Forgets what was learnt of @w. */
void rknpu_ahead_forget(const struct rknpu_weights *w);
/* ---- operations of ggml ---- */

/* Can products of so many rows be computed with the types and rows of that operation? */
bool rknpu_product_fits(const struct ggml_tensor *op, int64_t rows);
/* One of the matrices of @t, packed; to be put back when it was used. */
int rknpu_slice_get(const struct ggml_tensor *t, int64_t i2, int64_t i3, struct rknpu_weights **out,
		    char *why, size_t size);
void rknpu_slice_put(const struct ggml_tensor *t, struct rknpu_weights *w);
struct rknpu_matrix rknpu_slice(const struct ggml_tensor *t, int64_t i2, int64_t i3);

/* Packs weights of a graph that is going to be computed. */
void rknpu_prepare(struct ggml_cgraph *graph);
/* Are its weights packed, or may they be? */
bool rknpu_has_place(const struct ggml_tensor *op);

bool rknpu_matmul_possible(const struct ggml_tensor *op);
int rknpu_matmul(const struct ggml_tensor *op, char *why, size_t size);
/* May both be computed at once, because they share activations? */
bool rknpu_matmul_shares(const struct ggml_tensor *a, const struct ggml_tensor *b);
/* All of them at once: at most RKNPU_MOST_SHARED, each of which shares activations with the first. */
int rknpu_matmul_shared(const struct ggml_tensor *const *op, uint32_t n, char *why, size_t size);
bool rknpu_experts_possible(const struct ggml_tensor *op);
int rknpu_experts(const struct ggml_tensor *op, char *why, size_t size);
/* Products with the same activations, their SwiGLU, and the product with that. */
struct rknpu_ffn {
	const struct ggml_tensor *a, *b, *glu, *down;
};

/* Is it one of ours, whose numbers in between nobody else wants? */
bool rknpu_is_ffn(const struct ggml_cgraph *graph, const struct rknpu_ffn *f);
int rknpu_ffn(const struct rknpu_ffn *f, char *why, size_t size);
/* SwiGLU of two products of ours, if it is part of such a block; and where it is not, on the CPU. */
bool rknpu_glu_possible(const struct ggml_tensor *op);
int rknpu_glu(const struct ggml_tensor *op);

bool rknpu_attention_possible(const struct ggml_tensor *op);
int rknpu_attention(const struct ggml_tensor *op, char *why, size_t size);

/* A number of the environment. */
int64_t rknpu_setting(const char *name, int64_t otherwise);
/* Is it worth it? See rknpu_plan.c */
bool rknpu_worthwhile(const struct ggml_tensor *op);
bool rknpu_attention_worthwhile(const struct ggml_tensor *op);

/* By ggml's CPU backend: operations that this one is given without being asked. */
enum ggml_status rknpu_on_cpu(const struct ggml_tensor *op);

/* ---- device ---- */

bool rknpu_supports(const struct ggml_tensor *op);

ggml_backend_t rknpu_backend_new(ggml_backend_dev_t dev);

#endif /* RKNPU_GGML_H */
