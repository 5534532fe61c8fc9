// SPDX-License-Identifier: GPL-2.0-only
/*
 * What Debian's tests of ggml do not look at: weights that stay, what becomes of them when they
 * change or go, ranges, the planner, failures. TAP: ggml_check BACKEND.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include "ggml_check.h"

#define K	96
#define N	48
#define M	20
#define LOG	"/tmp/ggml_check.stderr"

static int results, bad;
static ggml_backend_reg_t reg;
static ggml_backend_rknpu_get_stats_t get_stats;
static ggml_backend_rknpu_read_params_t read_params;
static ggml_backend_dev_t dev;
static ggml_backend_t npu;

void tap(bool ok, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bad += !ok;
	printf("%sok %d - %s\n", ok ? "" : "not ", ++results, text);
	fflush(stdout);
}

struct rknpu_ggml_stats stats(void)
{
	struct rknpu_ggml_stats s;

	get_stats(reg, &s);
	return s;
}

ggml_backend_t tested(void)
{
	return npu;
}

void parameter(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	read_params(reg);
}

static void switch_off_planner(bool off)
{
	static const char * const names[] = {
		"RKNPU_GGML_MIN_ROWS", "RKNPU_GGML_MIN_K", "RKNPU_GGML_MIN_MACS", "RKNPU_GGML_MIN_REUSE",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		parameter(names[i], off ? "0" : NULL);
}

/* ---- a product y = x * w^T in buffers of the backend ---- */

struct product {
	struct ggml_context *wctx, *ctx;
	ggml_backend_buffer_t wbuf, buf;
	struct ggml_tensor *w, *x, *y;
	struct ggml_cgraph *graph;
	float wv[N * K], xv[M * K];
};

struct ggml_context *context(void)
{
	struct ggml_init_params p = { .mem_size = 1 << 20, .no_alloc = true };

	return ggml_init(p);
}

static unsigned int seed = 5;

void seed_rnd(unsigned int by)
{
	seed = by;
}

float rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (float)((int)(seed >> 16) % 1001 - 500) / 500;
}

void fill_fp16(struct ggml_tensor *t)
{
	size_t n = (size_t)ggml_nelements(t);
	float *v = malloc(n * sizeof(*v));
	ggml_fp16_t *half = malloc(n * sizeof(*half));

	for (size_t i = 0; i < n; i++)
		v[i] = rnd();
	ggml_fp32_to_fp16_row(v, half, (int64_t)n);
	ggml_fp16_to_fp32_row(half, v, (int64_t)n);
	ggml_backend_tensor_set(t, t->type == GGML_TYPE_F16 ? (void *)half : (void *)v, 0, ggml_nbytes(t));
	free(v);
	free(half);
}

ggml_backend_buffer_t allocate(struct ggml_context *ctx, enum ggml_backend_buffer_usage usage)
{
	ggml_backend_buffer_t b =
		ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_dev_buffer_type(dev));

	ggml_backend_buffer_set_usage(b, usage);
	return b;
}

static void set_weights(struct product *p, float by)
{
	ggml_fp16_t half[N * K];

	for (size_t i = 0; i < N * K; i++)
		p->wv[i] = rnd() * by;
	ggml_fp32_to_fp16_row(p->wv, half, N * K);
	/* What was rounded is what is expected. */
	ggml_fp16_to_fp32_row(half, p->wv, N * K);
	if (p->w->type == GGML_TYPE_F16)
		ggml_backend_tensor_set(p->w, half, 0, sizeof(half));
	else
		ggml_backend_tensor_set(p->w, p->wv, 0, sizeof(p->wv));
}

static void set_x(struct product *p, float by)
{
	for (size_t i = 0; i < M * K; i++)
		p->xv[i] = rnd() * by;
	ggml_backend_tensor_set(p->x, p->xv, 0, sizeof(p->xv));
}

static void make(struct product *p, enum ggml_type type, enum ggml_backend_buffer_usage usage)
{
	p->wctx = context();
	p->w = ggml_new_tensor_2d(p->wctx, type, K, N);
	ggml_set_name(p->w, "blk.7.ffn_up.weight");
	p->wbuf = allocate(p->wctx, usage);
	p->ctx = context();
	p->x = ggml_new_tensor_2d(p->ctx, GGML_TYPE_F32, K, M);
	p->y = ggml_mul_mat(p->ctx, p->w, p->x);
	ggml_set_name(p->y, "ffn_up-7");
	p->buf = allocate(p->ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
	p->graph = ggml_new_graph(p->ctx);
	ggml_build_forward_expand(p->graph, p->y);
	set_weights(p, 1);
	set_x(p, 1);
}

static void drop(struct product *p)
{
	ggml_backend_buffer_free(p->buf);
	ggml_backend_buffer_free(p->wbuf);
	ggml_free(p->ctx);
	ggml_free(p->wctx);
}

static enum ggml_status go(struct product *p)
{
	return ggml_backend_graph_compute(npu, p->graph);
}

/* Normalised mean square error against the product in double. */
static double nmse(const struct product *p)
{
	float y[M * N];
	double err = 0, sum = 0;

	ggml_backend_tensor_get(p->y, y, 0, sizeof(y));
	for (size_t m = 0; m < M; m++)
		for (size_t n = 0; n < N; n++) {
			double acc = 0;

			for (size_t k = 0; k < K; k++)
				acc += (double)p->xv[m * K + k] * p->wv[n * K + k];
			err += (acc - y[m * N + n]) * (acc - y[m * N + n]);
			sum += acc * acc;
		}
	return isfinite(err) && sum > 0 ? err / sum : INFINITY;
}

/* The largest magnitude of the result, infinity if it has NaN. */
static double most(const struct product *p)
{
	float y[M * N];
	double m = 0;

	ggml_backend_tensor_get(p->y, y, 0, sizeof(y));
	for (size_t i = 0; i < M * N; i++)
		m = isnan(y[i]) ? INFINITY : fmax(m, fabs(y[i]));
	return m;
}

/* Activations are rounded to 11 bits, weights are exact: 2^-24 / 3 on average, and room for sums. */
#define GOOD	1e-7

static bool right(struct product *p)
{
	double e = go(p) == GGML_STATUS_SUCCESS ? nmse(p) : INFINITY;

	if (e > GOOD)
		printf("# normalised mean square error %g\n", e);
	return e <= GOOD;
}

/* ---- cases ---- */

static void resident_weights(void)
{
	struct rknpu_ggml_stats a = stats(), b;
	static struct product p;
	bool ok;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	ok = right(&p);
	set_x(&p, 1);
	ok = right(&p) && ok;
	b = stats();
	tap(ok && b.packed == a.packed + 1 && b.recorded == a.recorded + 1 && b.runs == a.runs + 2,
	    "weights are packed once, and one recording runs twice");
	set_weights(&p, 1);
	ok = right(&p);
	tap(ok && stats().packed == a.packed + 2, "weights that were written are packed again");
	tap(stats().resident == a.resident + N * K * 2, "they are resident");
	drop(&p);
	tap(stats().resident == a.resident, "they go with their buffer");
}

/* Are they right after they were? */
static bool change_in_place(enum ggml_backend_buffer_usage usage, bool trained)
{
	struct rknpu_ggml_stats a = stats();
	static struct product p;
	bool ok;

	make(&p, GGML_TYPE_F16, usage);
	if (trained)
		ggml_set_param(p.w);
	ok = right(&p);
	/* As the CPU backend would: without a word. */
	for (size_t i = 0; i < N * K; i++) {
		p.wv[i] = -p.wv[i];
		((ggml_fp16_t *)p.w->data)[i] ^= 0x8000;
	}
	ok = right(&p) && ok && stats().resident == a.resident;
	drop(&p);
	return ok;
}

static void changing_weights(void)
{
	tap(change_in_place(GGML_BACKEND_BUFFER_USAGE_ANY, false),
	    "what is not said to be weights may change in place");
	tap(change_in_place(GGML_BACKEND_BUFFER_USAGE_WEIGHTS, true), "and so may weights that a program trains");
}

static void ranges(void)
{
	static const float by[] = { 1e-30f, 1e-6f, 3e4f, 1e6f, 1e20f };
	static struct product p;
	bool ok = true;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
		set_x(&p, by[i]);
		if (!right(&p)) {
			printf("# of activations up to %g\n", by[i]);
			ok = false;
		}
	}
	set_x(&p, 1e-42f);
	/* Or 0, but not what 0 by infinity is. */
	ok = go(&p) == GGML_STATUS_SUCCESS && most(&p) < 1e-37 && ok;
	drop(&p);
	tap(ok, "activations from 1e-30 to 1e20, beyond what halves hold");
}

/* Rows of several users, as a server batches them: what is large or no number in one is nothing to the others. */
static void rows_apart(void)
{
	static const float by[] = { 1, 1e20f, 1e-6f, INFINITY, 1e6f };
	struct product *p = calloc(1, sizeof(*p));
	float y[M * N];
	double worst = 0;
	bool ok;

	make(p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	for (size_t i = 0; i < M * K; i++)
		p->xv[i] = rnd() * by[i / K % 5];
	ggml_backend_tensor_set(p->x, p->xv, 0, sizeof(p->xv));
	ok = go(p) == GGML_STATUS_SUCCESS;
	ggml_backend_tensor_get(p->y, y, 0, sizeof(y));
	for (size_t m = 0; m < M; m++) {
		double err = 0, sum = 0;

		for (size_t n = 0; n < N && m % 5 != 3; n++) {
			double acc = 0;

			for (size_t k = 0; k < K; k++)
				acc += (double)p->xv[m * K + k] * p->wv[n * K + k];
			err += (acc - y[m * N + n]) * (acc - y[m * N + n]);
			sum += acc * acc;
		}
		if (m % 5 == 3)
			ok = ok && !isfinite(y[m * N]);
		else
			worst = fmax(worst, isfinite(err) ? err / sum : INFINITY);
	}
	drop(p);
	free(p);
	tap(ok && worst <= 2 * GOOD, "each row has its own range: normalised mean square error %g", worst);
}

static bool supported(struct product *p)
{
	return ggml_backend_dev_supports_op(dev, p->y);
}

/* Whose weights, if @computed, are the result of another operation. ggml asks before either has memory. */
static bool supported_before(bool computed, int64_t rows)
{
	struct ggml_context *ctx = context();
	struct ggml_tensor *w = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, K, N), *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, K, rows);
	bool yes;

	if (computed)
		w = ggml_view_2d(ctx, ggml_relu(ctx, w), K, N / 2, w->nb[1], 0);
	yes = ggml_backend_dev_supports_op(dev, ggml_mul_mat(ctx, w, x));
	ggml_free(ctx);
	return yes;
}

static void planner_before(void)
{
	bool ok;

	parameter("RKNPU_GGML_MIN_REUSE", NULL);
	ok = supported_before(false, 40) && supported_before(true, 128);
	tap(ok && !supported_before(true, 127), "results that are multiplied as weights want more rows, also before they have memory");
	parameter("RKNPU_GGML_MIN_REUSE", "0");
}

static void planner(void)
{
	static struct product p;
	bool without, with, precise;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	without = supported(&p);
	switch_off_planner(false);
	with = supported(&p);
	switch_off_planner(true);
	tap(without && !with, "a small product stays on the CPU, unless the environment says otherwise");
	precise = ggml_prec_set_src(p.y, GGML_PREC_F32, 1) && !supported(&p);
	tap(precise, "so does one whose activations must not be rounded");
	drop(&p);
}

/* As llama.cpp asks where weights may go: they lie in a buffer of @type without memory. Of experts, 64 rows each. */
static bool asked_with_dummy(ggml_backend_buffer_type_t type)
{
	struct ggml_context *ctx = context();
	struct ggml_tensor *w = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 256, 512, 8);
	struct ggml_tensor *x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 256, 2, 256);
	struct ggml_tensor *ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 2, 256);
	ggml_backend_buffer_t dummy = ggml_backend_buft_alloc_buffer(type, 0);
	bool yes;

	w->buffer = dummy;
	yes = ggml_backend_dev_supports_op(dev, ggml_mul_mat_id(ctx, w, x, ids));
	ggml_backend_buffer_free(dummy);
	ggml_free(ctx);
	return yes;
}

static void before_loading(void)
{
	bool ours, cpus;

	switch_off_planner(false);
	ours = asked_with_dummy(ggml_backend_dev_buffer_type(dev));
	cpus = asked_with_dummy(ggml_backend_cpu_buffer_type());
	switch_off_planner(true);
	tap(ours && !cpus, "experts of a model that is not loaded yet are ours, in our buffers only");
}

#define MEMORY	"ggml-rknpu: weights: "

/* What was written to stderr since, and whether it is one line with these words; the one about memory is another matter. */
static bool one_line(FILE *log, bool memory, const char *a, const char *b)
{
	bool found = false, others = false;
	char line[1024];

	fseek(log, 0, SEEK_SET);
	while (fgets(line, sizeof(line), log)) {
		printf("# stderr: %s%s", line, strchr(line, '\n') ? "" : "\n");
		if (!strncmp(line, MEMORY, strlen(MEMORY)) != memory)
			continue;
		others |= found || !strstr(line, a) || !strstr(line, b);
		found = true;
	}
	return found && !others;
}

static bool captured(bool (*compute)(void *arg), void *arg, FILE *log)
{
	int saved = dup(2);
	bool ok;

	dup2(fileno(log), 2);
	ok = compute(arg);
	dup2(saved, 2);
	close(saved);
	return ok;
}

bool survives_hang(bool (*compute)(void *arg), void *arg, const char *a, const char *b)
{
	FILE *log = fopen(LOG, "w+");
	bool ok, said;

	if (!log || !npu_hang_next()) {
		printf("# no model to make a hang\n");
		if (log)
			fclose(log);
		return true;
	}
	ok = captured(compute, arg, log);
	said = one_line(log, false, a, b);
	fclose(log);
	npu_calm();
	return !ok && said && compute(arg);
}

bool says(bool (*compute)(void *arg), void *arg, const char *a, const char *b)
{
	FILE *log = fopen(LOG, "w+");
	bool ok = log && captured(compute, arg, log) && one_line(log, false, a, b);

	if (log)
		fclose(log);
	return ok;
}

bool logs(bool (*compute)(void *arg), void *arg, const char *words)
{
	FILE *log = fopen(LOG, "w+");
	bool ok = log && captured(compute, arg, log) && one_line(log, true, words, "");

	if (log)
		fclose(log);
	return ok;
}

static bool is_right(void *arg)
{
	return right(arg);
}

static void hang(void)
{
	static struct product p;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	tap(survives_hang(is_right, &p, "MUL_MAT ffn_up-7", "blk.7.ffn_up.weight"),
	    "a hang fails a product with one line that names it and its weights, and the next one is right");
	drop(&p);
}

static void cancelled(void)
{
	struct rknpu_ggml_stats a = stats();
	static struct product p;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	if (npu_cancel_next())
		tap(right(&p) && stats().runs == a.runs + 2 && stats().failures == a.failures,
		    "what was cancelled is started once more");
	drop(&p);
}

/* What the NPU computed before, and computes again afterwards. */
static void gone(void)
{
	struct rknpu_ggml_stats a, b;
	static struct product p;
	bool ok;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	ok = right(&p);
	a = stats();
	if (npu_refuse_next(-EPIPE)) {
		tap(ok && says(is_right, &p, "banned after too many failures", "goes to the CPU, said once"),
		    "a product after a ban is the CPU's, which one line says");
		npu_gone(true);
		ok = right(&p);
		npu_gone(false);
		b = stats();
		tap(ok && b.to_cpu == a.to_cpu + 2 && b.failures == a.failures, "and one without an NPU, too");
		ok = right(&p);
		tap(ok && stats().to_cpu == b.to_cpu && stats().runs > b.runs, "the next one is the NPU's");
	}
	drop(&p);
}

/* Of other programs, whose jobs take all the room of their user. */
static void full(void)
{
	struct rknpu_ggml_stats a, b;
	static struct product p;
	bool ok;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	ok = right(&p);
	a = stats();
	if (npu_refuse_next(-EBUSY)) {
		tap(ok && says(is_right, &p, "no room for more jobs", "goes to the CPU, said once"),
		    "a product that the driver has no room for is the CPU's, which one line says");
		b = stats();
		tap(b.to_cpu == a.to_cpu + 1 && b.failures == a.failures, "and no failure");
		ok = right(&p);
		tap(ok && stats().to_cpu == b.to_cpu && stats().recorded == a.recorded,
		    "the next one is the NPU's, and not recorded again");
	}
	drop(&p);
}

/* An operation of the CPU after ours, and ours after that, in the same memory. */
static void with_cpu(void)
{
	ggml_backend_t backends[2] = { npu, ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL) };
	struct rknpu_ggml_stats a = stats();
	static struct product p;
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct ggml_tensor *x, *y;
	ggml_backend_sched_t sched;
	float got[M * N];
	double err = 0;
	bool ok;

	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, K, M);
	ggml_set_input(x);
	y = ggml_relu(ctx, ggml_mul_mat(ctx, p.w, ggml_scale(ctx, x, 2)));
	ggml_set_output(y);
	ggml_build_forward_expand(graph, y);
	sched = ggml_backend_sched_new(backends, NULL, 2, 64, false, false);
	ok = ggml_backend_sched_alloc_graph(sched, graph);
	ggml_backend_tensor_set(x, p.xv, 0, sizeof(p.xv));
	ok = ok && ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS;
	ggml_backend_tensor_get(y, got, 0, sizeof(got));
	for (size_t i = 0; i < M * N; i++) {
		double acc = 0;

		for (size_t k = 0; k < K; k++)
			acc += 2.0 * p.xv[i / N * K + k] * p.wv[i % N * K + k];
		err = fmax(err, fabs((acc > 0 ? acc : 0) - got[i]));
	}
	tap(ok && err < 0.05 && stats().runs == a.runs + 1,
	    "ggml's scheduler gives us products and the CPU the rest: off by %g", err);
	ggml_backend_sched_free(sched);
	ggml_backend_free(backends[1]);
	ggml_free(ctx);
	drop(&p);
}

static bool fails(void *arg)
{
	return ggml_backend_graph_compute(npu, arg) == GGML_STATUS_FAILED;
}

/* The CPU would write over memory that is not the product's. */
static void unknown_expert(void)
{
	static const int32_t bad[] = { 4, -1 };
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct ggml_tensor *w = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, K, N, 4);
	struct ggml_tensor *x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, K, 1, M), *ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 2, M);
	ggml_backend_buffer_t buf;
	int32_t v[2 * M];
	bool ok = true;

	ggml_build_forward_expand(graph, ggml_set_name(ggml_mul_mat_id(ctx, w, x, ids), "ffn_moe_up-2"));
	buf = allocate(ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
	ggml_backend_buffer_clear(buf, 0);
	for (int i = 0; i < 2 * M; i++)
		v[i] = i % 4;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		v[5] = bad[i];
		ggml_backend_tensor_set(ids, v, 0, sizeof(v));
		ok = says(fails, graph, "MUL_MAT_ID ffn_moe_up-2", "failed") && ok;
	}
	v[5] = 1;
	ggml_backend_tensor_set(ids, v, 0, sizeof(v));
	ok = ggml_backend_graph_compute(npu, graph) == GGML_STATUS_SUCCESS && ok;
	tap(ok, "rows that choose a matrix that is not there fail their graph, which one line says");
	ggml_backend_buffer_free(buf);
	ggml_free(ctx);
}

/* Of @z, the product of @p without what is below 0. */
static bool cut_right(struct product *p, const struct ggml_tensor *z)
{
	float y[M * N], got[M * N];
	bool ok = true;

	ggml_backend_tensor_get(p->y, y, 0, sizeof(y));
	ggml_backend_tensor_get(z, got, 0, sizeof(got));
	for (size_t i = 0; i < M * N; i++)
		ok = ok && got[i] == (y[i] > 0 ? y[i] : 0);
	return ok && nmse(p) <= GOOD;
}

/* As ggml's RPC server does: nobody asks what we support, or says what holds weights. */
static void whole_graphs(void)
{
	struct ggml_context *ctx = context();
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	static struct product p;
	struct rknpu_ggml_stats a;
	ggml_backend_buffer_t buf;
	struct ggml_tensor *z;
	bool ok = true;

	parameter("RKNPU_GGML_KEEP", "1");
	make(&p, GGML_TYPE_F16, GGML_BACKEND_BUFFER_USAGE_ANY);
	z = ggml_relu(ctx, p.y);
	buf = ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_dev_buffer_type(dev));
	ggml_build_forward_expand(graph, z);
	a = stats();
	for (int i = 0; i < 2; i++) {
		set_x(&p, 1);
		ok = ggml_backend_graph_compute(npu, graph) == GGML_STATUS_SUCCESS && cut_right(&p, z) && ok;
	}
	tap(ok && stats().runs == a.runs + 2, "of a whole graph the CPU computes what we do not");
	tap(stats().packed == a.packed + 1, "with RKNPU_GGML_KEEP its weights are packed once");
	set_weights(&p, 1);
	ok = ggml_backend_graph_compute(npu, graph) == GGML_STATUS_SUCCESS && cut_right(&p, z);
	tap(ok && stats().packed == a.packed + 2, "and again if they are written");
	parameter("RKNPU_GGML_KEEP", NULL);
	ggml_backend_buffer_free(buf);
	ggml_free(ctx);
	drop(&p);
}

static void floats(void)
{
	static struct product p;

	make(&p, GGML_TYPE_F32, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	set_weights(&p, 1e-3f);
	tap(right(&p), "weights of f32");
	drop(&p);
}

/* As often as it was loaded: by name, and by GGML_BACKEND_PATH. */
static void unload(void)
{
	char name[32];

	snprintf(name, sizeof(name), "%s", ggml_backend_reg_name(reg));
	ggml_backend_free(npu);
	while (ggml_backend_reg_by_name(name))
		ggml_backend_unload(ggml_backend_reg_by_name(name));
}

int main(int argc, char **argv)
{
	layout();
	ggml_backend_load_all();
	reg = argc > 1 ? ggml_backend_load(argv[1]) : NULL;
	dev = ggml_backend_dev_by_name("RKNPU0");
	if (!reg || !dev) {
		printf("Bail out! no device RKNPU0\n");
		return 2;
	}
	get_stats = (ggml_backend_rknpu_get_stats_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_rknpu_get_stats");
	read_params = (ggml_backend_rknpu_read_params_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_rknpu_read_params");
	npu = ggml_backend_dev_init(dev, NULL);
	switch_off_planner(true);
	resident_weights();
	changing_weights();
	floats();
	shared();
	attention();
	feed_forward();
	load();
	cpu_buffers();
	budget();
	ranges();
	rows_apart();
	planner();
	planner_before();
	before_loading();
	with_cpu();
	whole_graphs();
	unknown_expert();
	hang();
	cancelled();
	gone();
	full();
	shared_refused();
	outlives(unload);
	printf("1..%d\n", results);
	return bad ? 1 : 0;
}
