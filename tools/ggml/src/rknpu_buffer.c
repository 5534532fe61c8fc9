// SPDX-License-Identifier: MIT
/*
 * Buffers: ordinary memory that the CPU computes in, too, and the weights that were packed
 * from it.
 */
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* ggml's CPU backend asks for no less. */
#define ALIGNMENT	64u

struct buffer {
	void *base;
	bool own;
	struct rknpu_cache cache;
};

static struct buffer *context(ggml_backend_buffer_t b)
{
	return b->context;
}

static void drop(struct buffer *b, const void *data, size_t size)
{
	rknpu_lock();
	rknpu_cache_drop(&b->cache, data, size);
	rknpu_unlock();
}

static void free_buffer(ggml_backend_buffer_t buffer)
{
	struct buffer *b = context(buffer);

	drop(b, b->base, buffer->size);
	if (b->own)
		free(b->base);
	free(b);
}

static void *get_base(ggml_backend_buffer_t buffer)
{
	return context(buffer)->base;
}

static void memset_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *t, uint8_t value,
			  size_t offset, size_t size)
{
	memset((char *)t->data + offset, value, size);
	drop(context(buffer), (char *)t->data + offset, size);
}

static void set_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *t, const void *data,
		       size_t offset, size_t size)
{
	memcpy((char *)t->data + offset, data, size);
	drop(context(buffer), (char *)t->data + offset, size);
}

static void get_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, void *data,
		       size_t offset, size_t size)
{
	memcpy(data, (const char *)t->data + offset, size);
}

static bool cpy_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor *src,
		       struct ggml_tensor *dst)
{
	ggml_backend_buffer_t from = src->view_src ? src->view_src->buffer : src->buffer;

	if (!ggml_backend_buffer_is_host(from))
		return false;
	memcpy(dst->data, src->data, ggml_nbytes(src));
	drop(context(buffer), dst->data, ggml_nbytes(src));
	return true;
}

static void clear(ggml_backend_buffer_t buffer, uint8_t value)
{
	struct buffer *b = context(buffer);

	memset(b->base, value, buffer->size);
	drop(b, b->base, buffer->size);
}

static const struct ggml_buffer_ops buffer_ops = {
	.free_buffer = free_buffer,
	.get_base = get_base,
	.memset_tensor = memset_tensor,
	.set_tensor = set_tensor,
	.get_tensor = get_tensor,
	.cpy_tensor = cpy_tensor,
	.clear = clear,
};

static ggml_backend_buffer_t wrap(void *base, size_t size, bool own)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->base = base;
	b->own = own;
	return ggml_backend_buffer_init(rknpu_buffer_type(), buffer_ops, b, size);
}

ggml_backend_buffer_t rknpu_buffer_of(void *ptr, size_t size)
{
	return wrap(ptr, size, false);
}

static ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size)
{
	ggml_backend_buffer_t buffer;
	void *base;

	if (posix_memalign(&base, ALIGNMENT, size)) {
		rknpu_say("no memory for a buffer of %zu bytes", size);
		return NULL;
	}
	buffer = wrap(base, size, true);
	if (!buffer)
		free(base);
	return buffer;
}

static const char *type_name(ggml_backend_buffer_type_t type)
{
	return RKNPU_NAME;
}

static size_t alignment(ggml_backend_buffer_type_t type)
{
	return ALIGNMENT;
}

static bool is_host(ggml_backend_buffer_type_t type)
{
	return true;
}

ggml_backend_buffer_type_t rknpu_buffer_type(void)
{
	static struct ggml_backend_buffer_type type = {
		.ops = {
			.get_name = type_name,
			.alloc_buffer = alloc_buffer,
			.get_alignment = alignment,
			.is_host = is_host,
		},
	};

	return &type;
}

/* The CPU writes to host memory without a word, but not to what is said to hold weights. */
struct rknpu_cache *rknpu_buffer_cache(ggml_backend_buffer_t buffer)
{
	if (!buffer || buffer->type != rknpu_buffer_type() || !buffer->context ||
	    buffer->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS)
		return NULL;
	return &context(buffer)->cache;
}

/* A server of ggml's does not say what holds weights; leaves that are written by its functions alone may be kept. */
static bool keeps(const struct ggml_tensor *w, ggml_backend_buffer_t buffer)
{
	const char *text = getenv("RKNPU_GGML_KEEP");

	return text && strcmp(text, "0") && w->op == GGML_OP_NONE && !w->view_src && buffer &&
	       buffer->type == rknpu_buffer_type() && buffer->context;
}

static ggml_backend_buffer_t buffer_of(const struct ggml_tensor *t)
{
	return t->view_src ? t->view_src->buffer : t->buffer;
}

struct rknpu_cache *rknpu_cache_of(const struct ggml_tensor *w)
{
	ggml_backend_buffer_t buffer = buffer_of(w);

	return keeps(w, buffer) ? &context(buffer)->cache : rknpu_buffer_cache(buffer);
}

bool rknpu_has_data(const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = buffer_of(t);
	const char *data = t->data, *base;

	if (!data || !buffer || buffer->type != rknpu_buffer_type() || !buffer->context)
		return false;
	base = context(buffer)->base;
	return data >= base && data + ggml_nbytes(t) <= base + buffer->size;
}

void rknpu_buffer_wrote(const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = buffer_of(t);

	if (buffer && buffer->type == rknpu_buffer_type() && buffer->context)
		drop(context(buffer), t->data, ggml_nbytes(t));
}
