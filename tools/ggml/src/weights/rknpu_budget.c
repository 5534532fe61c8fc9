// SPDX-License-Identifier: MIT
/*
 * Owns the memory that packed weights may take, and which ones get it. Weights are taken down when ggml's scheduler asks who
 * computes with them, which it does for a whole graph before it plans parts of it; then all are decided on at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rknpu_weights.h"

/* What others need: programs' buffers for results, which are allocated behind the weights, and the rest of the system. */
#define RESERVE_LEAST	(UINT64_C(256) << 20)
#define RESERVE_PART	8u
/* Recordings have programs: a part of the weights that they are with, estimated. */
#define WEIGHTS_PER_PROGRAM	8u

/* ---- memory ---- */

/* Of a line of /proc/meminfo, bytes; 0 if it is not there. */
static uint64_t meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	size_t n = strlen(name);
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':' && sscanf(line + n + 1, "%llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return (uint64_t)kib << 10;
}

uint64_t rknpu_memory_total(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t rknpu_memory_available(void)
{
	uint64_t bytes = meminfo("MemAvailable");

	return bytes ? bytes : (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t reserve(void)
{
	uint64_t part = rknpu_memory_total() / RESERVE_PART;

	return part > RESERVE_LEAST ? part : RESERVE_LEAST;
}

bool rknpu_memory_has(uint64_t bytes)
{
	return less(rknpu_memory_available(), RESERVE_LEAST / 2) >= bytes;
}

/* ---- what is claimed ---- */

static uint64_t bytes_as(const struct rknpu_claim *c, enum rknpu_fate fate)
{
	if (fate == RKNPU_UNDECIDED || fate == RKNPU_CPU)
		return 0;
	return rknpu_packed_bytes(rknpu_prec_of_fate(fate), c->type, c->matrix * c->slices);
}

static struct rknpu_claim **bucket_of(struct rknpu_cache *cache, const void *data)
{
	uint64_t h = (uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);

	return &cache->claims[(h >> 32) % RKNPU_BUCKETS];
}

static bool is_of(const struct rknpu_claim *c, const struct ggml_tensor *w)
{
	return c->data == w->data && c->bytes == ggml_nbytes(w) && c->matrix == (uint64_t)(w->ne[0] * w->ne[1]);
}

static struct rknpu_claim *find(struct rknpu_cache *cache, const struct ggml_tensor *w)
{
	struct rknpu_claim *c = *bucket_of(cache, w->data);

	while (c && !is_of(c, w))
		c = c->next;
	return c;
}

static struct rknpu_claim *find_or_add(struct rknpu_cache *cache, const struct ggml_tensor *w, bool late)
{
	struct rknpu_claim **head = bucket_of(cache, w->data), **end = &cache->ctx->claims, *c = find(cache, w);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct rknpu_claim){
		.data = w->data, .bytes = ggml_nbytes(w), .matrix = (uint64_t)(w->ne[0] * w->ne[1]),
		.slices = (uint64_t)(w->ne[2] * w->ne[3]), .type = w->type, .late = late, .cache = cache, .next = *head,
		.best = rknpu_best(cache->ctx, w), .smallest = rknpu_smallest(cache->ctx, w),
	};
	*head = c;
	while (*end)
		end = &(*end)->newer;
	*end = c;
	return c;
}

enum rknpu_fate rknpu_claim(struct rknpu_cache *cache, const struct ggml_tensor *w, bool late)
{
	struct rknpu_claim *c;
	enum rknpu_fate fate;

	rknpu_lock(cache->ctx);
	c = find_or_add(cache, w, late);
	fate = c ? c->fate : RKNPU_CPU;
	rknpu_unlock(cache->ctx);
	return fate;
}

enum rknpu_fate rknpu_fate_of(struct rknpu_cache *cache, const struct ggml_tensor *w)
{
	const struct rknpu_claim *c;
	enum rknpu_fate fate;

	rknpu_lock(cache->ctx);
	c = find(cache, w);
	fate = c ? c->fate : RKNPU_UNDECIDED;
	rknpu_unlock(cache->ctx);
	return fate;
}

static void forget(struct rknpu_claim *c)
{
	struct rknpu_claim **at = bucket_of(c->cache, c->data), **all = &c->cache->ctx->claims;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	while (*all != c)
		all = &(*all)->newer;
	*all = c->newer;
	free(c);
}

void rknpu_claims_drop(struct rknpu_cache *cache, const char *data, size_t size)
{
	struct rknpu_claim *c = cache->ctx->claims, *newer;

	for (; c; c = newer) {
		newer = c->newer;
		if (c->cache == cache && (const char *)c->data < data + size && data < (const char *)c->data + c->bytes)
			forget(c);
	}
}

/* ---- what there is for them ---- */

/* Pages of files count as available, but the CPU reads them for each token. */
static uint64_t read_from_files(const struct rknpu_context *ctx)
{
	uint64_t bytes = 0;

	for (const struct rknpu_claim *c = ctx->claims; c; c = c->newer)
		bytes += c->cache->mapped ? c->bytes : 0;
	return bytes;
}

static uint64_t promised(const struct rknpu_context *ctx)
{
	uint64_t bytes = 0;

	for (const struct rknpu_claim *c = ctx->claims; c; c = c->newer)
		bytes += bytes_as(c, c->fate);
	return bytes;
}

/* What weights may take that are not packed yet, promised ones, too. */
static uint64_t free_bytes(const struct rknpu_context *ctx, uint64_t scratch)
{
	uint64_t bytes = less(rknpu_memory_available(), reserve() + read_from_files(ctx) + scratch);
	uint64_t limit = ctx->params.memory ? less(ctx->params.memory, ctx->stats.resident) : UINT64_MAX;

	bytes -= bytes / (WEIGHTS_PER_PROGRAM + 1);
	return bytes < limit ? bytes : limit;
}

uint64_t rknpu_budget_left(const struct rknpu_context *ctx)
{
	return less(free_bytes(ctx, 0), less(promised(ctx), ctx->stats.resident));
}

/* ---- decisions ---- */

struct decision {
	struct rknpu_claim **claim;
	size_t n, of[RKNPU_CPU + 1];	/* of those with each fate */
	bool best;
	uint64_t had, left, taken;
};

static bool is_open(const struct rknpu_claim *c, const struct rknpu_claim *also)
{
	return c->fate == RKNPU_UNDECIDED && (!c->late || c == also);
}

/* The largest matrices first: those of feed-forward blocks. The order of the graph decides between equals. */
static int by_size(const void *a, const void *b)
{
	const struct rknpu_claim *x = *(struct rknpu_claim *const *)a, *y = *(struct rknpu_claim *const *)b;

	if (x->matrix != y->matrix)
		return x->matrix < y->matrix ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool collect(struct rknpu_context *ctx, struct decision *d, const struct rknpu_claim *also)
{
	uint32_t order = 0;

	for (const struct rknpu_claim *c = ctx->claims; c; c = c->newer)
		d->n += is_open(c, also);
	d->claim = malloc((d->n + 1) * sizeof(*d->claim));
	if (!d->claim)
		return false;
	d->n = 0;
	for (struct rknpu_claim *c = ctx->claims; c; c = c->newer) {
		c->order = order++;
		if (is_open(c, also))
			d->claim[d->n++] = c;
	}
	qsort(d->claim, d->n, sizeof(*d->claim), by_size);
	return true;
}

/* As @fate, if there is room for the bytes that it takes beyond what the claim has. */
static void give(struct decision *d, struct rknpu_claim *c, enum rknpu_fate fate)
{
	uint64_t more = bytes_as(c, fate) - bytes_as(c, c->fate);

	if (more > d->left)
		return;
	d->left -= more;
	c->fate = fate;
}

/* All that fit, small; then larger while there is room. */
static void share(struct decision *d)
{
	for (size_t i = 0; i < d->n; i++)
		give(d, d->claim[i], d->claim[i]->smallest);
	for (size_t i = 0; i < d->n; i++)
		if (d->claim[i]->fate != RKNPU_UNDECIDED)
			give(d, d->claim[i], d->claim[i]->best);
	for (size_t i = 0; i < d->n; i++) {
		struct rknpu_claim *c = d->claim[i];

		c->fate = c->fate == RKNPU_UNDECIDED ? RKNPU_CPU : c->fate;
		d->of[c->fate]++;
		d->best = d->best && c->fate == c->best;
		d->taken += bytes_as(c, c->fate);
	}
}

static enum ggml_log_level say(const struct decision *d, char *line, size_t size)
{
	size_t int8 = d->of[RKNPU_INT8], int4 = d->of[RKNPU_INT4], cpu = d->of[RKNPU_CPU];
	unsigned long long mib = d->taken >> 20;
	char small[64] = "";

	if (int4)
		snprintf(small, sizeof(small), " and %zu as int4", int4);
	if (d->best)
		snprintf(line, size, "weights: %zu tensors, %llu MiB, for the NPU as %s", d->n, mib,
			 int8 && int4 ? "int8 and int4" : int4 ? "int4" : int8 ? "int8" : "fp16");
	else
		snprintf(line, size, "weights: %zu of %zu tensors, %llu MiB, for the NPU, %zu of them as int8%s; %zu are the CPU's: "
			 "%llu MiB of memory were left", d->n - cpu, d->n, mib, int8, small, cpu,
			 (unsigned long long)d->had >> 20);
	return d->best ? GGML_LOG_LEVEL_INFO : GGML_LOG_LEVEL_WARN;
}

/* Decides on @also, too, even if it is late; false if there was nothing to decide. */
static bool decide(struct rknpu_context *ctx, const struct rknpu_claim *also, uint64_t scratch, struct decision *d)
{
	*d = (struct decision){ .best = true };
	if (!collect(ctx, d, also))
		return false;
	/* Programs plan each batch, in many parts, and the kernel adds up counters of all CPUs to say what is free. */
	if (d->n) {
		d->had = d->left = less(free_bytes(ctx, scratch), less(promised(ctx), ctx->stats.resident));
		share(d);
	}
	free(d->claim);
	return d->n;
}

enum ggml_log_level rknpu_decide(struct rknpu_context *ctx, uint64_t scratch, char *line, size_t size)
{
	struct decision d;

	return decide(ctx, NULL, scratch, &d) ? say(&d, line, size) : GGML_LOG_LEVEL_NONE;
}

enum rknpu_fate rknpu_decide_on(struct rknpu_cache *cache, const struct ggml_tensor *w)
{
	struct rknpu_claim *c = find_or_add(cache, w, false);
	struct decision d;

	if (c && c->fate == RKNPU_UNDECIDED)
		decide(cache->ctx, c, 0, &d);
	return c ? c->fate : RKNPU_CPU;
}
