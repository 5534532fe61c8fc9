// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gated feed-forward blocks: what one costs, that it is right wherever its numbers lie, and that
 * what somebody else wants of it is there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml_check.h"

#define K	128
#define N	192
#define M	40

/*
 * SiLU is off by 2^-11 * (abs(gate) + abs(SiLU)), gate, up and their product are rounded by 2^-12 of
 * themselves: together less than 2^-9 of what is summed up, and the mean square is that of a
 * uniform error.
 */
#define GOOD	(0x1p-18 / 3)

struct block {
	struct ggml_context *wctx, *ctx;
	ggml_backend_buffer_t wbuf, buf;
	struct ggml_tensor *w[3], *x, *gate, *up, *glu, *y;
};

static void make_with(struct block *b, enum ggml_glu_op op)
{
	b->wctx = context();
	b->w[0] = ggml_new_tensor_2d(b->wctx, GGML_TYPE_F16, K, N);
	b->w[1] = ggml_new_tensor_2d(b->wctx, GGML_TYPE_F16, K, N);
	b->w[2] = ggml_new_tensor_2d(b->wctx, GGML_TYPE_F32, N, K);
	b->wbuf = allocate(b->wctx, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	b->ctx = context();
	b->x = ggml_new_tensor_2d(b->ctx, GGML_TYPE_F32, K, M);
	b->gate = ggml_mul_mat(b->ctx, b->w[0], b->x);
	b->up = ggml_mul_mat(b->ctx, b->w[1], b->x);
	b->glu = ggml_glu_split(b->ctx, b->gate, b->up, op);
	b->y = ggml_mul_mat(b->ctx, b->w[2], b->glu);
	b->buf = allocate(b->ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
}

static void make(struct block *b)
{
	make_with(b, GGML_GLU_OP_SWIGLU);
}

/* Numbers of up to so much in the activations and in down, which halves hold or not. */
static void set(struct block *b, float x, float down)
{
	float *v = malloc(ggml_nbytes(b->w[2]));

	seed_rnd(3);
	fill_fp16(b->w[0]);
	fill_fp16(b->w[1]);
	for (int i = 0; i < M * K; i++)
		((float *)b->x->data)[i] = rnd() * x;
	for (int i = 0; i < N * K; i++)
		v[i] = rnd() * down;
	ggml_backend_tensor_set(b->w[2], v, 0, ggml_nbytes(b->w[2]));
	free(v);
	memset(b->y->data, 0xff, ggml_nbytes(b->y));
	memset(b->gate->data, 0xff, ggml_nbytes(b->gate));
}

static void drop(struct block *b)
{
	ggml_backend_buffer_free(b->buf);
	ggml_backend_buffer_free(b->wbuf);
	ggml_free(b->ctx);
	ggml_free(b->wctx);
}

static bool go(struct block *b)
{
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	bool ok;

	ggml_build_forward_expand(graph, b->y);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	ggml_free(ctx);
	return ok;
}

static double product(const struct ggml_tensor *w, int n, const float *x)
{
	const ggml_fp16_t *row = (const ggml_fp16_t *)w->data + n * K;
	double sum = 0;

	for (int k = 0; k < K; k++)
		sum += (double)ggml_fp16_to_fp32(row[k]) * (double)x[k];
	return sum;
}

static void hidden(const struct block *b, int m, double *h)
{
	const float *x = (const float *)b->x->data + m * K;

	for (int n = 0; n < N; n++) {
		double gate = product(b->w[0], n, x), up = product(b->w[1], n, x);

		h[n] = (ggml_get_glu_op(b->glu) == GGML_GLU_OP_SWIGLU ? gate / (1 + exp(-gate)) : fmax(gate, 0)) * up;
	}
}

/* Of each so many rows one. */
static double nmse_of(const struct block *b, int first, int step)
{
	double err = 0, sum = 0, h[N];

	for (int m = first; m < M; m += step) {
		hidden(b, m, h);
		for (int k = 0; k < K; k++) {
			float got = ((const float *)b->y->data)[m * K + k];
			double want = 0;

			for (int n = 0; n < N; n++)
				want += h[n] * (double)((const float *)b->w[2]->data)[k * N + n];
			err += isfinite(got) ? (want - (double)got) * (want - (double)got) : INFINITY;
			sum += want * want;
		}
	}
	return err / sum;
}

static double nmse(const struct block *b)
{
	return nmse_of(b, 0, 1);
}

static bool right(struct block *b, const char *what)
{
	double e = go(b) ? nmse(b) : INFINITY;

	printf("# feed-forward block, %s: normalised mean square error %g\n", what, e);
	return e <= GOOD;
}

/* What it took: what ggml is told that somebody wants is computed operation by operation. */
static struct rknpu_ggml_stats cost(bool wanted, bool *ok)
{
	struct rknpu_ggml_stats before, after;
	struct block b;

	make(&b);
	set(&b, 1, 1);
	if (wanted)
		ggml_set_output(b.gate);
	before = stats();
	*ok = right(&b, wanted ? "operation by operation" : "at once");
	if (wanted)
		for (int n = 0; n < N; n++)
			*ok = *ok && fabs(product(b.w[0], n, b.x->data) - (double)((float *)b.gate->data)[n]) < 0.01;
	after = stats();
	after.runs -= before.runs;
	after.moved_in -= before.moved_in;
	after.moved_out -= before.moved_out;
	drop(&b);
	return after;
}

static void costs(void)
{
	bool ok, apart_ok;
	struct rknpu_ggml_stats one = cost(false, &ok), apart = cost(true, &apart_ok);

	tap(ok && one.runs == 1 && one.moved_in == 2ull * M * K && one.moved_out == 4ull * M * K,
	    "a feed-forward block is one ioctl, and moves what goes into it and what comes out: %llu bytes",
	    (unsigned long long)(one.moved_in + one.moved_out));
	tap(apart_ok && apart.runs == 2, "with a number in between that is wanted it is %llu, and %llu bytes",
	    (unsigned long long)apart.runs, (unsigned long long)(apart.moved_in + apart.moved_out));
}

/* Of gate, of up and of their product, in and beyond the range of halves. */
static void ranges(void)
{
	static const struct { float x, down; const char *what; } at[] = {
		{ 1e-3f, 1, "small activations" }, { 10, 1e-3f, "small weights" },
		{ 100, 1, "a product beyond halves" }, { 1e5f, 1e3f, "activations beyond halves" },
	};
	struct block b;
	bool ok = true;

	make(&b);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		set(&b, at[i].x, at[i].down);
		ok = right(&b, at[i].what) && ok;
	}
	tap(ok, "a feed-forward block is right wherever its numbers lie");
	drop(&b);
}

/* Of several users, as a server batches them. */
static void rows_apart(void)
{
	static const float by[] = { 1, 1e-2f, 0, 1e-4f, 1e-6f };
	double worst = 0;
	struct block b;
	bool ok;

	make(&b);
	set(&b, 1, 1);
	for (int i = 0; i < M * K; i++)
		((float *)b.x->data)[i] *= by[i / K % 5];
	ok = go(&b);
	for (int i = 0; i < 5; i++) {
		double e = nmse_of(&b, i, 5);

		/* Of zeros there is none. */
		printf("# feed-forward block, rows up to %g: normalised mean square error %g\n", (double)by[i], e);
		worst = by[i] > 0 && !(e <= worst) ? e : worst;
	}
	tap(ok && worst <= GOOD && ((float *)b.y->data)[2 * K] == 0, "rows that are small beside others are right, too");
	drop(&b);
}

/* As ggml's allocator does if nobody needs the activations any more: the result lies where they were. */
static bool right_in_place(struct block *b)
{
	size_t bytes = ggml_nbytes(b->x);
	void *own = b->y->data, *x = malloc(bytes);
	bool ok;

	memcpy(x, b->x->data, bytes);
	b->y->data = b->x->data;
	ok = go(b);
	b->y->data = own;
	memcpy(own, b->x->data, bytes);
	memcpy(b->x->data, x, bytes);
	free(x);
	return ok && nmse(b) <= GOOD;
}

static void in_place(void)
{
	struct block b;
	bool ok;

	make(&b);
	set(&b, 1, 1);
	ok = right_in_place(&b);
	set(&b, 100, 1);
	tap(right_in_place(&b) && ok, "a block may overwrite its activations, even if its product is beyond halves");
	drop(&b);
}

/* Who computes a graph without asking gets all functions right. */
static void other_function(void)
{
	struct block b;

	make_with(&b, GGML_GLU_OP_REGLU);
	set(&b, 1, 1);
	tap(right(&b, "with ReGLU"), "a block with another function than SwiGLU is none of ours");
	drop(&b);
}

static void supported(void)
{
	struct ggml_context *ctx = context();
	struct ggml_tensor *a = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, N, M);
	struct ggml_tensor *u = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, N, M);
	struct block b;

	make(&b);
	tap(ggml_backend_supports_op(tested(), b.glu) &&
	    !ggml_backend_supports_op(tested(), ggml_swiglu_split(ctx, a, u)) &&
	    !ggml_backend_supports_op(tested(), ggml_geglu_split(b.ctx, b.gate, b.up)),
	    "SwiGLU is ours in such a block only, and no other function is");
	drop(&b);
	ggml_free(ctx);
}

static bool is_right(void *arg)
{
	return right(arg, "beside a hang");
}

static void hang(void)
{
	struct block b;

	make(&b);
	ggml_set_name(b.y, "ffn_out-2");
	ggml_set_name(b.w[2], "blk.2.ffn_down.weight");
	set(&b, 1, 1);
	tap(survives_hang(is_right, &b, "MUL_MAT ffn_out-2", "blk.2.ffn_down.weight"),
	    "a hang fails a feed-forward block with one line that names it, and the next one is right");
	drop(&b);
}

void feed_forward(void)
{
	supported();
	costs();
	ranges();
	rows_apart();
	in_place();
	other_function();
	hang();
}
