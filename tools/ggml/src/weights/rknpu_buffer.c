// SPDX-License-Identifier: MIT
/* Owns buffers, ordinary memory that the CPU computes in, too, and which weights were packed from them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_weights.h"

/* ggml's CPU backend asks for no less. */
#define ALIGNMENT	64u
/* Places of a matrix that are looked at to see whether it was loaded since. */
#define SAMPLES	64u
#define BUCKETS	1024u

/* Weights of one buffer, by their address there: they stay until the matrix changes or the buffer goes. */
struct rknpu_cache {
	struct rknpu_context *ctx;
	struct rknpu_weights *bucket[BUCKETS];
	size_t count;
};

struct buffer {
	void *base;
	bool own;
	struct rknpu_cache cache;
};

/* ---- weights that are kept ---- */

static struct rknpu_weights **bucket_of(struct rknpu_cache *cache, const void *data)
{
	uint64_t h = (uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);

	return &cache->bucket[(h >> 32) % BUCKETS];
}

static bool same(const struct rknpu_matrix *a, const struct rknpu_matrix *b)
{
	return a->data == b->data && a->type == b->type && a->n == b->n && a->k == b->k &&
	       a->stride == b->stride;
}

static size_t bytes_of(const struct rknpu_matrix *m)
{
	/* A row's own bytes end before the next row begins, or with the matrix. */
	return (m->n - 1) * m->stride + ggml_row_size(m->type, m->k);
}

/* Differs, as good as always, when another matrix has been written over it. */
static uint64_t sample(const struct rknpu_matrix *m)
{
	size_t bytes = bytes_of(m), step = bytes / SAMPLES;
	uint64_t h = 0, v = 0;

	if (step < sizeof(v))
		step = sizeof(v);
	for (size_t at = 0; at + sizeof(v) <= bytes; at += step) {
		memcpy(&v, (const char *)m->data + at, sizeof(v));
		h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h;
}

static struct rknpu_weights *find(struct rknpu_cache *cache, const struct rknpu_matrix *m)
{
	struct rknpu_weights *w = *bucket_of(cache, m->data);

	while (w && !same(&w->from, m))
		w = w->next;
	return w;
}

static void forget(struct rknpu_weights *w)
{
	struct rknpu_weights **at = bucket_of(w->cache, w->from.data), **old = &w->cache->ctx->newest;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	while (*old != w)
		old = &(*old)->older;
	*old = w->older;
	w->cache->count--;
	rknpu_weights_free(w->cache->ctx, w);
}

static int add(struct rknpu_cache *cache, const struct rknpu_matrix *m, struct rknpu_weights **out)
{
	struct rknpu_context *ctx = cache->ctx;
	struct rknpu_weights **head = bucket_of(cache, m->data), *w;
	int ret = rknpu_weights_new(ctx, m, &w);

	if (ret) {
		ctx->full |= ret == -ENOMEM || ret == -ENOSPC;
		return ret;
	}
	w->cache = cache;
	w->next = *head;
	*head = w;
	w->older = ctx->newest;
	ctx->newest = w;
	cache->count++;
	*out = w;
	return 0;
}

int rknpu_cache_get(struct rknpu_cache *cache, const struct rknpu_matrix *m,
		    struct rknpu_weights **out)
{
	struct rknpu_weights *w = find(cache, m);

	/* Programs that load a model behind the making of their graphs write it without a word. */
	if (w && w->early && w->sample != sample(m)) {
		forget(w);
		w = NULL;
	}
	if (!w)
		return add(cache, m, out);
	w->early = false;
	*out = w;
	return 0;
}

int rknpu_cache_prepare(struct rknpu_cache *cache, const struct rknpu_matrix *m)
{
	struct rknpu_weights *w;
	int ret;

	if (find(cache, m))
		return 0;
	ret = add(cache, m, &w);
	if (ret)
		return ret;
	w->early = true;
	w->sample = sample(m);
	return 0;
}

bool rknpu_cache_has(struct rknpu_cache *cache, const struct rknpu_matrix *m)
{
	return find(cache, m);
}

void rknpu_cache_give_back(struct rknpu_context *ctx, size_t bytes)
{
	for (size_t given = 0; ctx->newest && given < bytes;) {
		given += rknpu_weights_bytes(ctx->newest);
		forget(ctx->newest);
	}
}

static bool touches(const struct rknpu_matrix *m, const char *data, size_t size)
{
	const char *first = m->data;

	return first < data + size && data < first + bytes_of(m);
}

static void cache_drop(struct rknpu_cache *cache, const void *data, size_t size)
{
	for (unsigned int i = 0; cache->count && i < BUCKETS; i++) {
		struct rknpu_weights *w = cache->bucket[i], *next;

		for (; w; w = next) {
			next = w->next;
			if (!touches(&w->from, data, size))
				continue;
			forget(w);
			cache->ctx->full = false;
		}
	}
}

/* ---- buffers ---- */

static void drop(struct buffer *b, const void *data, size_t size)
{
	rknpu_lock(b->cache.ctx);
	cache_drop(&b->cache, data, size);
	rknpu_unlock(b->cache.ctx);
}

static void ggml_backend_rknpu_buffer_free_buffer(ggml_backend_buffer_t buffer)
{
	struct buffer *b = buffer->context;

	drop(b, b->base, buffer->size);
	if (b->own)
		free(b->base);
	free(b);
}

static void *ggml_backend_rknpu_buffer_get_base(ggml_backend_buffer_t buffer)
{
	const struct buffer *b = buffer->context;

	return b->base;
}

static void ggml_backend_rknpu_buffer_memset_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *t,
						    uint8_t value, size_t offset, size_t size)
{
	memset((char *)t->data + offset, value, size);
	drop(buffer->context, (char *)t->data + offset, size);
}

static void ggml_backend_rknpu_buffer_set_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *t,
						 const void *data, size_t offset, size_t size)
{
	memcpy((char *)t->data + offset, data, size);
	drop(buffer->context, (char *)t->data + offset, size);
}

static void ggml_backend_rknpu_buffer_get_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor *t,
						 void *data, size_t offset, size_t size)
{
	memcpy(data, (const char *)t->data + offset, size);
}

static bool ggml_backend_rknpu_buffer_cpy_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor *src,
						 struct ggml_tensor *dst)
{
	ggml_backend_buffer_t from = src->view_src ? src->view_src->buffer : src->buffer;

	if (!ggml_backend_buffer_is_host(from))
		return false;
	memcpy(dst->data, src->data, ggml_nbytes(src));
	drop(buffer->context, dst->data, ggml_nbytes(src));
	return true;
}

static void ggml_backend_rknpu_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value)
{
	struct buffer *b = buffer->context;

	memset(b->base, value, buffer->size);
	drop(b, b->base, buffer->size);
}

static const struct ggml_buffer_ops buffer_ops = {
	.free_buffer = ggml_backend_rknpu_buffer_free_buffer,
	.get_base = ggml_backend_rknpu_buffer_get_base,
	.memset_tensor = ggml_backend_rknpu_buffer_memset_tensor,
	.set_tensor = ggml_backend_rknpu_buffer_set_tensor,
	.get_tensor = ggml_backend_rknpu_buffer_get_tensor,
	.cpy_tensor = ggml_backend_rknpu_buffer_cpy_tensor,
	.clear = ggml_backend_rknpu_buffer_clear,
};

static ggml_backend_buffer_t wrap(struct rknpu_context *ctx, void *base, size_t size, bool own)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->base = base;
	b->own = own;
	b->cache.ctx = ctx;
	return ggml_backend_buffer_init(&ctx->buffer_type, buffer_ops, b, size);
}

ggml_backend_buffer_t ggml_backend_rknpu_buffer_from_ptr(struct rknpu_context *ctx, void *ptr, size_t size)
{
	return wrap(ctx, ptr, size, false);
}

static ggml_backend_buffer_t ggml_backend_rknpu_buffer_type_alloc_buffer(ggml_backend_buffer_type_t type, size_t size)
{
	ggml_backend_buffer_t buffer;
	void *base;

	if (posix_memalign(&base, ALIGNMENT, size)) {
		GGML_LOG_ERROR("ggml-rknpu: no memory for a buffer of %zu bytes\n", size);
		return NULL;
	}
	buffer = wrap(type->context, base, size, true);
	if (!buffer)
		free(base);
	return buffer;
}

static const char *ggml_backend_rknpu_buffer_type_get_name(ggml_backend_buffer_type_t type)
{
	return RKNPU_NAME;
}

static size_t ggml_backend_rknpu_buffer_type_get_alignment(ggml_backend_buffer_type_t type)
{
	return ALIGNMENT;
}

static bool ggml_backend_rknpu_buffer_type_is_host(ggml_backend_buffer_type_t type)
{
	return true;
}

void ggml_backend_rknpu_buffer_type_init(struct rknpu_context *ctx)
{
	ctx->buffer_type = (struct ggml_backend_buffer_type){
		.ops = {
			.get_name = ggml_backend_rknpu_buffer_type_get_name,
			.alloc_buffer = ggml_backend_rknpu_buffer_type_alloc_buffer,
			.get_alignment = ggml_backend_rknpu_buffer_type_get_alignment,
			.is_host = ggml_backend_rknpu_buffer_type_is_host,
		},
		.device = &ctx->device, .context = ctx,
	};
}

/* The buffer that a tensor lies in, NULL if it is none of ours. */
static ggml_backend_buffer_t buffer_of(struct rknpu_context *ctx, const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = t->view_src ? t->view_src->buffer : t->buffer;

	return buffer && buffer->type == &ctx->buffer_type && buffer->context ? buffer : NULL;
}

/* What a program trains the CPU writes without a word, in a buffer that is said to hold weights. */
static bool is_trained(const struct ggml_tensor *t)
{
	return (t->view_src ? t->view_src : t)->flags & GGML_TENSOR_FLAG_PARAM;
}

/*
 * The CPU writes to host memory without a word, but not to what is said to hold weights. A server of ggml's does not say
 * that: there leaves, which its functions alone write, may be kept (RKNPU_GGML_KEEP).
 */
struct rknpu_cache *rknpu_cache_of(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = buffer_of(ctx, w);
	bool kept = ctx->params.keep && w->op == GGML_OP_NONE && !w->view_src;
	struct buffer *b = buffer ? buffer->context : NULL;

	return b && !is_trained(w) && (kept || buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS) ? &b->cache : NULL;
}

bool rknpu_has_data(struct rknpu_context *ctx, const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = buffer_of(ctx, t);
	const struct buffer *b = buffer ? buffer->context : NULL;
	const char *data = t->data, *base = b ? b->base : NULL;

	return data && b && data >= base && data + ggml_nbytes(t) <= base + buffer->size;
}

void rknpu_buffer_wrote(struct rknpu_context *ctx, const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = buffer_of(ctx, t);

	if (buffer)
		drop(buffer->context, t->data, ggml_nbytes(t));
}
