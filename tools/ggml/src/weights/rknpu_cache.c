// SPDX-License-Identifier: MIT
/* Owns the weights that are kept packed for a buffer, by their addresses there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_weights.h"

/* Places of a matrix that are looked at to see whether it was loaded since. */
#define SAMPLES	64u

static struct rknpu_weights **bucket_of(struct rknpu_cache *cache, const void *data)
{
	uint64_t h = (uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);

	return &cache->bucket[(h >> 32) % RKNPU_BUCKETS];
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

static int add(struct rknpu_cache *cache, const struct rknpu_matrix *m, enum npu_prec type, struct rknpu_weights **out)
{
	struct rknpu_context *ctx = cache->ctx;
	struct rknpu_weights **head = bucket_of(cache, m->data), *w;
	int ret = rknpu_weights_new(ctx, m, type, &w);

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

int rknpu_cache_get(struct rknpu_cache *cache, const struct rknpu_matrix *m, enum npu_prec type, struct rknpu_weights **out)
{
	struct rknpu_weights *w = find(cache, m);

	/* Programs that load a model behind the making of their graphs write it without a word. */
	if (w && w->early && w->sample != sample(m)) {
		forget(w);
		w = NULL;
	}
	if (!w)
		return add(cache, m, type, out);
	w->early = false;
	*out = w;
	return 0;
}

int rknpu_cache_prepare(struct rknpu_cache *cache, const struct rknpu_matrix *m, enum npu_prec type)
{
	struct rknpu_weights *w;
	int ret;

	if (find(cache, m))
		return 0;
	ret = add(cache, m, type, &w);
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

void rknpu_cache_drop(struct rknpu_cache *cache, const void *data, size_t size)
{
	rknpu_claims_drop(cache, data, size);
	for (unsigned int i = 0; cache->count && i < RKNPU_BUCKETS; i++) {
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
