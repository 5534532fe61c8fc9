// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cores that share a product, and products that share activations, as those of a layer do: what
 * is started and moved for them, and that the results are those of one core and of each alone.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ggml-alloc.h>

#include "ggml_check.h"

#define K	128
#define M	40
#define MOST	6

/* A layer's products: queries, keys, values; gate, up; and one of other activations. */
static const int64_t columns[MOST] = { 128, 64, 64, 160, 160, 96 };
static const int which_x[MOST] = { 0, 0, 0, 1, 1, 2 };

/* Halves are exact; a sum of K products of up to 1 is rounded K times at most. */
#define BOUND	(K * K * 0x1p-24)
/* The CPU may sum up halves. */
#define BOUND_OF_CPU	0.5

struct layer {
	struct ggml_context *wctx, *ctx;
	ggml_backend_buffer_t wbuf, buf;
	struct ggml_tensor *w[MOST], *x[3], *y[MOST];
};

static void make(struct layer *l)
{
	l->wctx = context();
	for (int i = 0; i < MOST; i++)
		l->w[i] = ggml_new_tensor_2d(l->wctx, GGML_TYPE_F16, K, columns[i]);
	l->wbuf = allocate(l->wctx, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	l->ctx = context();
	for (int i = 0; i < 3; i++)
		l->x[i] = ggml_new_tensor_2d(l->ctx, GGML_TYPE_F32, K, M);
	for (int i = 0; i < MOST; i++)
		l->y[i] = ggml_mul_mat(l->ctx, l->w[i], l->x[which_x[i]]);
	l->buf = allocate(l->ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
}

static void set(struct layer *l, unsigned int seed)
{
	seed_rnd(seed);
	for (int i = 0; i < MOST; i++)
		fill_fp16(l->w[i]);
	for (int i = 0; i < 3; i++)
		fill_fp16(l->x[i]);
}

static void drop(struct layer *l)
{
	ggml_backend_buffer_free(l->buf);
	ggml_backend_buffer_free(l->wbuf);
	ggml_free(l->ctx);
	ggml_free(l->wctx);
}

static bool compute(struct layer *l, int first, int n)
{
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	bool ok;

	for (int i = 0; i < n; i++)
		ggml_build_forward_expand(graph, l->y[first + i]);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	ggml_free(ctx);
	return ok;
}

/* What a layer cost, and its results one behind the other. */
struct cost {
	uint64_t runs, chains, starts, in;
	float *y;
	bool ok;
};

static size_t results(void)
{
	size_t n = 0;

	for (int i = 0; i < MOST; i++)
		n += (size_t)columns[i] * M;
	return n;
}

static struct cost measure(const char *cores, bool alone)
{
	struct rknpu_ggml_stats a, b;
	struct cost c = { .y = malloc(results() * sizeof(float)), .ok = true };
	uint64_t before = 0, after = 0;
	float *y = c.y;
	struct layer l;

	parameter("RKNPU_GGML_CORES", cores);
	make(&l);
	set(&l, 9);
	a = stats();
	npu_starts(&before);
	for (int i = 0; i < MOST; i += alone ? 1 : MOST)
		c.ok = compute(&l, i, alone ? 1 : MOST) && c.ok;
	npu_starts(&after);
	b = stats();
	for (int i = 0; i < MOST; i++) {
		ggml_backend_tensor_get(l.y[i], y, 0, ggml_nbytes(l.y[i]));
		y += columns[i] * M;
	}
	c.runs = b.runs - a.runs;
	c.chains = b.chains - a.chains;
	c.in = b.moved_in - a.moved_in;
	c.starts = after - before;
	drop(&l);
	parameter("RKNPU_GGML_CORES", NULL);
	return c;
}

static bool same(const struct cost *a, const struct cost *b)
{
	return a->ok && b->ok && !memcmp(a->y, b->y, results() * sizeof(float));
}

static double product_at(const struct layer *l, int i, int64_t at)
{
	const ggml_fp16_t *w = (const ggml_fp16_t *)l->w[i]->data + at % columns[i] * K;
	const float *x = (const float *)l->x[which_x[i]]->data + at / columns[i] * K;
	double sum = 0;

	for (int k = 0; k < K; k++)
		sum += (double)ggml_fp16_to_fp32(w[k]) * (double)x[k];
	return sum;
}

/* Against doubles, so that two wrong ones are not taken for right because they agree. */
static double off_of(const struct layer *l, int i, const float *y)
{
	double most = 0;

	for (int64_t j = 0; j < columns[i] * M; j++)
		most = isnan(y[j]) ? INFINITY : fmax(most, fabs(product_at(l, i, j) - (double)y[j]));
	return most;
}

static double worst(const struct cost *c)
{
	const float *y = c->y;
	struct layer l;
	double most = 0;

	make(&l);
	set(&l, 9);
	for (int i = 0; i < MOST; y += columns[i++] * M)
		most = fmax(most, off_of(&l, i, y));
	drop(&l);
	return most;
}

static void say(const char *what, const struct cost *c)
{
	printf("# %s: %llu ioctls, %llu interrupts, %llu bytes of activations laid out\n", what,
	       (unsigned long long)c->runs, (unsigned long long)c->chains, (unsigned long long)c->in);
}

/* ---- queries, keys and values between which there is something else ---- */

/* Each in a graph of its own: what ggml calls us with when other operations lie between. */
static bool right_apart(struct layer *l, int first, int n)
{
	bool ok = true;

	for (int i = first; i < first + n; i++)
		memset(l->y[i]->data, 0xff, ggml_nbytes(l->y[i]));
	for (int i = first; i < first + n; i++)
		ok = compute(l, i, 1) && ok;
	for (int i = first; i < first + n; i++)
		ok = off_of(l, i, l->y[i]->data) <= BOUND && ok;
	return ok;
}

static void ahead(void)
{
	struct rknpu_ggml_stats a = stats(), b, c;
	struct layer l;
	bool ok;

	make(&l);
	set(&l, 11);
	ok = right_apart(&l, 0, 3);
	b = stats();
	fill_fp16(l.x[0]);
	ok = right_apart(&l, 0, 3) && ok;
	c = stats();
	tap(ok && b.runs - a.runs == 3 && c.runs - b.runs == 1 && c.moved_in - b.moved_in == 2ull * M * K,
	    "products that followed each other once are one ioctl the next time, and move activations once");
	/* Activations of the same place and time, but not the same ones. */
	compute(&l, 0, 1);
	fill_fp16(l.x[0]);
	tap(right_apart(&l, 1, 2), "what was computed ahead of other activations is not taken");
	fill_fp16(l.w[1]);
	tap(right_apart(&l, 0, 3), "nor what was computed with weights that were written since");
	drop(&l);
}

/* Of @l, with the first @rows rows of activations; are those right, and the others as they were? */
static bool right_rows(struct layer *l, int64_t rows)
{
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct ggml_tensor *x = ggml_view_2d(ctx, l->x[0], K, rows, l->x[0]->nb[1], 0);
	struct ggml_tensor *y = ggml_mul_mat(ctx, l->w[0], x);
	float *got = l->y[0]->data;
	bool ok;

	y->data = got;
	y->buffer = l->y[0]->buffer;
	ggml_backend_view_init(x);
	memset(got, 0xff, ggml_nbytes(l->y[0]));
	ggml_build_forward_expand(graph, y);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	for (int64_t i = rows * columns[0]; i < M * columns[0]; i++)
		ok = ok && isnan(got[i]);
	/* What is not computed is right, too, to compare all. */
	for (int64_t i = rows * columns[0]; i < M * columns[0]; i++)
		got[i] = product_at(l, 0, i);
	ggml_free(ctx);
	return ok && off_of(l, 0, got) <= BOUND;
}

/* Prompts of other lengths: 17 lengths, and recordings for 1, 32 and 64 rows. */
static void lengths(void)
{
	static const int64_t rows[] = { 1, 33, 34, 35, 36, 37, 38, 39, 40, 2, 3, 4, 5, 16, 29, 31, 32 };
	struct rknpu_ggml_stats a = stats();
	struct layer l;
	bool ok = true;

	make(&l);
	set(&l, 13);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ok = right_rows(&l, rows[i]) && ok;
	tap(ok && stats().runs - a.runs == 17 && stats().recorded - a.recorded == 3,
	    "prompts of 17 lengths take %llu recordings, and write no rows but theirs",
	    (unsigned long long)(stats().recorded - a.recorded));
	drop(&l);
}

/* Who comes for his results now and then goes on being computed ahead, however long the program runs. */
static void now_and_then(void)
{
	struct rknpu_ggml_stats a;
	struct layer l;
	bool ok;

	make(&l);
	set(&l, 15);
	ok = right_apart(&l, 0, 3);
	for (int i = 0; i < 3; i++)
		ok = right_apart(&l, 0, 1) && right_apart(&l, 0, 1) && right_apart(&l, 0, 3) && ok;
	a = stats();
	ok = right_apart(&l, 0, 3) && ok;
	tap(ok && stats().runs - a.runs == 1, "what is wanted again is computed ahead again");
	drop(&l);
}

/* Who does not come for his results is not computed ahead again. */
static void in_vain(void)
{
	struct rknpu_ggml_stats a, b;
	struct layer l;
	bool ok;

	make(&l);
	set(&l, 12);
	ok = right_apart(&l, 0, 3);
	/* The first one only waits. */
	for (int i = 0; i < 1 + 3; i++)
		ok = right_apart(&l, 0, 1) && ok;
	a = stats();
	ok = right_apart(&l, 0, 1) && ok;
	b = stats();
	tap(ok && b.moved_out - a.moved_out == 4ull * M * (uint64_t)columns[0],
	    "what nobody wanted three times is not computed again");
	drop(&l);
}

/* With the first @k of the activations, which lie where and are described where those before were. */
static bool succeeds(const struct layer *l, char *memory, int64_t k, struct ggml_tensor *w)
{
	struct ggml_init_params params = { .mem_size = 1 << 16, .mem_buffer = memory, .no_alloc = true };
	struct ggml_context *ctx = ggml_init(params);
	struct ggml_tensor *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, k, M), *y = ggml_mul_mat(ctx, w, x);
	struct ggml_cgraph *graph = ggml_new_graph_custom(ctx, 8, false);
	bool ok;

	x->data = l->x[0]->data;
	x->buffer = l->x[0]->buffer;
	y->data = l->y[0]->data;
	y->buffer = l->y[0]->buffer;
	ggml_build_forward_expand(graph, y);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	ggml_free(ctx);
	return ok;
}

/* Programs describe one graph after the other in the same memory. */
static void same_place(void)
{
	char *memory = malloc(1 << 16);
	struct ggml_tensor *short_w;
	struct layer l;
	bool ok = true;

	make(&l);
	set(&l, 14);
	/* Half of a row is one of a matrix with half of the columns. */
	short_w = ggml_view_2d(l.ctx, l.w[1], K / 2, columns[1], l.w[1]->nb[1], 0);
	ggml_backend_view_init(short_w);
	for (int i = 0; i < 2; i++)
		ok = succeeds(&l, memory, K, l.w[0]) && succeeds(&l, memory, K / 2, short_w) && ok;
	tap(ok, "products of other columns follow each other, whose activations are described in one place");
	drop(&l);
	free(memory);
}

void shared_refused(void)
{
	struct rknpu_ggml_stats a;
	struct layer l;
	bool ok;

	make(&l);
	set(&l, 16);
	a = stats();
	if (npu_refuse_next(-EBUSY)) {
		ok = compute(&l, 0, 3);
		for (int i = 0; i < 3; i++)
			ok = ok && off_of(&l, i, l.y[i]->data) <= BOUND_OF_CPU;
		tap(ok && stats().to_cpu == a.to_cpu + 3, "all products that shared activations are the CPU's then, and are counted");
	}
	drop(&l);
}

void shared(void)
{
	struct cost alone = measure("1", true), one = measure("1", false), all = measure("3", false);
	uint64_t once = 3ull * M * K * 2, starts;
	double off = worst(&all);

	say("a layer, each product alone", &alone);
	say("a layer, on one core", &one);
	say("a layer, on three", &all);
	tap(alone.runs == MOST && one.runs == 3 && all.runs == 3,
	    "products that share activations take one ioctl: 3, not %llu", (unsigned long long)alone.runs);
	tap(one.in == once && all.in == once && alone.in == 2 * once,
	    "activations move once: %llu bytes, not %llu", (unsigned long long)once,
	    (unsigned long long)alone.in);
	tap(one.chains == 3 && all.chains == 9, "each ioctl starts every core once, %llu times in all",
	    (unsigned long long)all.chains);
	if (npu_starts(&starts))
		tap(one.starts == one.chains && all.starts == all.chains,
		    "which the NPU confirms: %llu and %llu starts", (unsigned long long)one.starts,
		    (unsigned long long)all.starts);
	tap(same(&alone, &one) && same(&one, &all), "results are the same, bit by bit");
	tap(off <= BOUND, "and right: off by %g at most", off);
	free(alone.y);
	free(one.y);
	free(all.y);
	ahead();
	now_and_then();
	in_vain();
	lengths();
	same_place();
}
