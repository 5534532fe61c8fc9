// SPDX-License-Identifier: MIT
/* Owns buffers: ordinary memory, in which the CPU computes, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_weights.h"

/* ggml's CPU backend asks for no less. */
#define ALIGNMENT	64u

struct buffer {
	void *base;
	bool own;
	struct rknpu_cache cache;
};

/* ---- buffers ---- */

static void drop(struct buffer *b, const void *data, size_t size)
{
	rknpu_lock(b->cache.ctx);
	rknpu_cache_drop(&b->cache, data, size);
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
	b->cache.mapped = !own;
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

static struct rknpu_cache *cache_in(struct rknpu_context *ctx, ggml_backend_buffer_t buffer)
{
	struct buffer *b = buffer->context;

	return buffer->type == &ctx->buffer_type && b ? &b->cache : rknpu_cpu_cache(ctx, buffer);
}

/*
 * The CPU writes to host memory without a word, but not to what is said to hold weights. A server of ggml's does not say
 * that: there leaves, which its functions alone write, may be kept (RKNPU_GGML_KEEP).
 */
struct rknpu_cache *rknpu_cache_of(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = w->view_src ? w->view_src->buffer : w->buffer;
	bool kept = ctx->params.keep && w->op == GGML_OP_NONE && !w->view_src && buffer_of(ctx, w);

	if (!buffer || is_trained(w) || !(kept || buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS))
		return NULL;
	return cache_in(ctx, buffer);
}

enum npu_prec rknpu_prec_of(struct rknpu_context *ctx, const struct ggml_tensor *w)
{
	struct rknpu_cache *cache = rknpu_cache_of(ctx, w);
	enum rknpu_fate fate = cache ? rknpu_fate_of(cache, w) : RKNPU_UNDECIDED;

	return rknpu_prec_of_fate(fate != RKNPU_UNDECIDED ? fate : rknpu_best(ctx, w));
}

bool rknpu_has_data(struct rknpu_context *ctx, const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = t->view_src ? t->view_src->buffer : t->buffer;
	const char *data = t->data, *base;

	if (!data || !buffer || !buffer->size || !(buffer_of(ctx, t) || rknpu_is_cpu_buffer(buffer)))
		return false;
	base = ggml_backend_buffer_get_base(buffer);
	return data >= base && data + ggml_nbytes(t) <= base + buffer->size;
}

void rknpu_buffer_wrote(struct rknpu_context *ctx, const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = buffer_of(ctx, t);

	if (buffer)
		drop(buffer->context, t->data, ggml_nbytes(t));
}
