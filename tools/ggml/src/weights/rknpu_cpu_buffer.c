// SPDX-License-Identifier: MIT
/*
 * Owns what is kept packed of weights in buffers of ggml's CPU backend. Programs write to such a buffer and free it without
 * telling anybody else, so its functions are replaced by those here, which call them: as ggml's own types for rearranged
 * weights do with a buffer that they have from another type.
 */
#include <stdlib.h>
#include <string.h>

#include "rknpu_weights.h"

/* Name of the CPU backend's buffers that are pages of a file. */
#define MAPPED	"CPU_Mapped"

/* A buffer whose functions were replaced. */
struct watched {
	ggml_backend_buffer_t buffer;
	struct ggml_buffer_ops ops;	/* its own */
	struct rknpu_cache cache;
	struct watched *next;
};

/* Beside the context, because ggml calls the functions with the buffer alone. */
static struct watched *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static struct watched *find(ggml_backend_buffer_t buffer)
{
	struct watched *w;

	pthread_mutex_lock(&all_lock);
	for (w = all; w && w->buffer != buffer; w = w->next)
		;
	pthread_mutex_unlock(&all_lock);
	return w;
}

static void drop(struct watched *w, const void *data, size_t size)
{
	rknpu_lock(w->cache.ctx);
	rknpu_cache_drop(&w->cache, data, size);
	rknpu_unlock(w->cache.ctx);
}

/* ---- functions of such a buffer ---- */

static void free_buffer(ggml_backend_buffer_t buffer)
{
	struct watched *w = find(buffer), **at = &all;

	drop(w, ggml_backend_buffer_get_base(buffer), buffer->size);
	pthread_mutex_lock(&all_lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&all_lock);
	buffer->ops = w->ops;
	free(w);
	if (buffer->ops.free_buffer)
		buffer->ops.free_buffer(buffer);
}

static void set_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *t, const void *data, size_t offset, size_t size)
{
	struct watched *w = find(buffer);

	w->ops.set_tensor(buffer, t, data, offset, size);
	drop(w, (char *)t->data + offset, size);
}

static void memset_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor *t, uint8_t value, size_t offset, size_t size)
{
	struct watched *w = find(buffer);

	w->ops.memset_tensor(buffer, t, value, offset, size);
	drop(w, (char *)t->data + offset, size);
}

static bool cpy_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor *src, struct ggml_tensor *dst)
{
	struct watched *w = find(buffer);
	bool done = w->ops.cpy_tensor(buffer, src, dst);

	drop(w, dst->data, ggml_nbytes(dst));
	return done;
}

static void clear(ggml_backend_buffer_t buffer, uint8_t value)
{
	struct watched *w = find(buffer);

	w->ops.clear(buffer, value);
	drop(w, ggml_backend_buffer_get_base(buffer), buffer->size);
}

/* ---- which ones ---- */

static void replace(ggml_backend_buffer_t buffer)
{
	struct ggml_buffer_ops *ops = &buffer->ops;

	/* Without one, ggml reports a buffer that is only said to be there as freed. */
	ops->free_buffer = free_buffer;
	ops->set_tensor = ops->set_tensor ? set_tensor : NULL;
	ops->memset_tensor = ops->memset_tensor ? memset_tensor : NULL;
	ops->cpy_tensor = ops->cpy_tensor ? cpy_tensor : NULL;
	ops->clear = ops->clear ? clear : NULL;
}

static bool is_mapped(ggml_backend_buffer_t buffer)
{
	return !strcmp(ggml_backend_buffer_name(buffer), MAPPED);
}

bool rknpu_is_cpu_buffer(ggml_backend_buffer_t buffer)
{
	/* The CPU backend's ordinary types name no device. */
	return buffer->type == ggml_backend_cpu_buffer_type() || is_mapped(buffer) || rknpu_is_cpu_extra(buffer->type);
}

struct rknpu_cache *rknpu_cpu_cache(struct rknpu_context *ctx, ggml_backend_buffer_t buffer)
{
	struct watched *w;

	if (!rknpu_is_cpu_buffer(buffer) || !buffer->size || buffer->ops.set_tensor_2d)
		return NULL;
	pthread_mutex_lock(&all_lock);
	for (w = all; w && w->buffer != buffer; w = w->next)
		;
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (w) {
			*w = (struct watched){ .buffer = buffer, .ops = buffer->ops, .cache.ctx = ctx, .next = all };
			w->cache.mapped = is_mapped(buffer);
			all = w;
			replace(buffer);
		}
	}
	pthread_mutex_unlock(&all_lock);
	return w ? &w->cache : NULL;
}
