// SPDX-License-Identifier: GPL-2.0-only
/* Which weights get memory when there is not enough for all: a limit, little memory, files that the CPU reads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ggml-alloc.h>

#include "ggml_check.h"

#define M	3
#define WIDTH	256
#define INNER	768
#define LAYERS	2
/* Of a layer: query and result of attention, gate, up, down. */
#define MATRICES	5
#define WEIGHTS	(LAYERS * MATRICES + 1)
#define VOCABULARY	(WEIGHTS - 1)
#define TOKENS	2048
#define SMALL	(UINT64_C(2) * WIDTH * WIDTH)
#define LARGE	(UINT64_C(2) * WIDTH * INNER)
#define ALL	(LAYERS * (2 * SMALL + 3 * LARGE))
#define MIB	(UINT64_C(1) << 20)
/* Normalised mean square error of the CPU, which has activations as bytes, against fp16 and int8 through two layers. */
#define GOOD_FP16	2e-4
#define GOOD_INT8	0.01

struct model {
	ggml_backend_t backends[2];
	ggml_backend_sched_t sched;
	struct ggml_context *wctx, *ctx;
	ggml_backend_buffer_t wbuf;
	void *file;		/* what the buffer is of, if it is not the backend's own */
	struct ggml_tensor *w[WEIGHTS], *x, *y;
	struct ggml_cgraph *graph;
	float *wanted;
};

/* ---- the model ---- */

static struct ggml_tensor *layer(struct model *m, struct ggml_tensor *const *w, struct ggml_tensor *x)
{
	struct ggml_tensor *y = ggml_mul_mat(m->ctx, w[1], ggml_relu(m->ctx, ggml_mul_mat(m->ctx, w[0], x)));
	struct ggml_tensor *gate = ggml_mul_mat(m->ctx, w[2], y), *up = ggml_mul_mat(m->ctx, w[3], y);

	return ggml_add(m->ctx, x, ggml_mul_mat(m->ctx, w[4], ggml_swiglu_split(m->ctx, gate, up)));
}

static void describe(struct model *m)
{
	static const char * const names[MATRICES] = { "attn_q", "attn_output", "ffn_gate", "ffn_up", "ffn_down" };
	struct ggml_tensor *y;

	for (int i = 0; i < VOCABULARY; i++) {
		int at = i % MATRICES;

		m->w[i] = ggml_new_tensor_2d(m->wctx, GGML_TYPE_Q8_0, at == 4 ? INNER : WIDTH, at == 2 || at == 3 ? INNER : WIDTH);
		ggml_format_name(m->w[i], "blk.%d.%s.weight", i / MATRICES, names[at]);
	}
	m->w[VOCABULARY] = ggml_new_tensor_2d(m->wctx, GGML_TYPE_Q8_0, WIDTH, TOKENS);
	ggml_set_name(m->w[VOCABULARY], "output.weight");
	m->x = y = ggml_new_tensor_2d(m->ctx, GGML_TYPE_F32, WIDTH, M);
	ggml_set_input(m->x);
	for (int i = 0; i < LAYERS; i++)
		y = layer(m, &m->w[i * MATRICES], y);
	/* As models that cap their logits: the product is not the result. */
	m->y = ggml_scale(m->ctx, ggml_mul_mat(m->ctx, m->w[VOCABULARY], y), 0.5f);
	ggml_set_output(m->y);
	ggml_build_forward_expand(m->graph, m->y);
}

static size_t bytes_of(const struct model *m)
{
	size_t bytes = 0;

	for (int i = 0; i < WEIGHTS; i++)
		bytes += ggml_nbytes(m->w[i]) + 64;
	return bytes;
}

static void fill(struct ggml_tensor *w)
{
	size_t n = (size_t)ggml_nelements(w);
	float *v = malloc(n * sizeof(*v));
	void *q = malloc(ggml_nbytes(w));

	for (size_t i = 0; i < n; i++)
		v[i] = rnd() / 16;
	ggml_quantize_chunk(w->type, v, q, 0, w->ne[1], w->ne[0], NULL);
	ggml_backend_tensor_set(w, q, 0, ggml_nbytes(w));
	free(v);
	free(q);
}

static void load_weights(struct model *m, bool file)
{
	ggml_backend_dev_t dev = ggml_backend_get_device(tested());
	struct ggml_tallocr at;

	if (file && !posix_memalign(&m->file, 64, bytes_of(m)))
		m->wbuf = ggml_backend_dev_buffer_from_host_ptr(dev, m->file, bytes_of(m), bytes_of(m));
	else
		m->wbuf = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(dev), bytes_of(m));
	ggml_backend_buffer_set_usage(m->wbuf, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	at = ggml_tallocr_new(m->wbuf);
	for (int i = 0; i < WEIGHTS; i++) {
		ggml_tallocr_alloc(&at, m->w[i]);
		fill(m->w[i]);
	}
}

static bool compute(struct model *m, float *y)
{
	float x[M * WIDTH];
	bool ok = ggml_backend_sched_alloc_graph(m->sched, m->graph);

	seed_rnd(9);
	for (int i = 0; i < M * WIDTH; i++)
		x[i] = rnd();
	ggml_backend_tensor_set(m->x, x, 0, sizeof(x));
	ok = ok && ggml_backend_sched_graph_compute(m->sched, m->graph) == GGML_STATUS_SUCCESS;
	ggml_backend_tensor_get(m->y, y, 0, ggml_nbytes(m->y));
	ggml_backend_sched_reset(m->sched);
	return ok;
}

/* What the CPU makes of it, if no rows are enough for the NPU. */
static void compute_wanted(struct model *m)
{
	m->wanted = malloc(ggml_nbytes(m->y));
	parameter("RKNPU_GGML_MIN_ROWS", "100");
	if (!compute(m, m->wanted))
		m->wanted[0] = NAN;
	parameter("RKNPU_GGML_MIN_ROWS", "0");
}

static void make(struct model *m, bool file)
{
	memset(m, 0, sizeof(*m));
	m->backends[0] = tested();
	m->backends[1] = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
	m->sched = ggml_backend_sched_new(m->backends, NULL, 2, 128, false, false);
	m->wctx = context();
	m->ctx = context();
	m->graph = ggml_new_graph_custom(m->ctx, 128, false);
	describe(m);
	load_weights(m, file);
	compute_wanted(m);
}

static void drop(struct model *m)
{
	ggml_backend_sched_free(m->sched);
	ggml_backend_buffer_free(m->wbuf);
	ggml_backend_free(m->backends[1]);
	ggml_free(m->ctx);
	ggml_free(m->wctx);
	free(m->file);
	free(m->wanted);
}

static bool plan(void *arg)
{
	struct model *m = arg;

	return ggml_backend_sched_reserve(m->sched, m->graph);
}

/* The same as the CPU's, but for so much. */
static bool right(struct model *m, double most)
{
	float *y = malloc(ggml_nbytes(m->y));
	double err = 0, sum = 0;
	bool ok = compute(m, y);

	for (int64_t i = 0; i < ggml_nelements(m->y); i++) {
		err += ((double)y[i] - m->wanted[i]) * ((double)y[i] - m->wanted[i]);
		sum += (double)m->wanted[i] * m->wanted[i];
	}
	free(y);
	if (!(err / sum <= most))
		printf("# off by %g\n", err / sum);
	return ok && err / sum <= most;
}

static void limit(uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	parameter("RKNPU_GGML_MEMORY", bytes ? text : NULL);
}

/* ---- cases ---- */

static uint64_t vocabulary_bytes(void)
{
	return UINT64_C(2) * WIDTH * TOKENS;
}

static void enough(void)
{
	struct rknpu_ggml_stats a = stats();
	unsigned int reads;
	struct model m;
	bool ok;

	make(&m, false);
	ok = logs(plan, &m, "ggml-rknpu: weights: 10 tensors, 2 MiB, for the NPU as fp16");
	tap(ok && stats().resident == a.resident + ALL, "with memory for all, weights become fp16, which one line says");
	reads = meminfo_reads();
	tap(plan(&m) && meminfo_reads() == reads, "a plan that has nothing to decide does not ask for memory");
	ok = right(&m, GOOD_FP16);
	tap(ok && stats().resident == a.resident + ALL + vocabulary_bytes(),
	    "those of the vocabulary follow when all rows of its product are wanted");
	drop(&m);
	tap(stats().resident == a.resident, "all go with their buffer");
}

static void limited_fp16(void)
{
	struct rknpu_ggml_stats a = stats();
	uint64_t packed;
	struct model m;
	bool ok;

	parameter("RKNPU_GGML_WEIGHTS", "f16");
	make(&m, false);
	limit(a.resident + 3 * LAYERS * LARGE + SMALL);
	ok = logs(plan, &m, "weights: 7 of 10 tensors, 2 MiB, for the NPU, 0 of them as int8; 3 are the CPU's");
	tap(ok && stats().resident == a.resident + 3 * LAYERS * LARGE + SMALL,
	    "within a limit, those of feed-forward blocks come first");
	packed = stats().packed;
	ok = right(&m, GOOD_FP16) && right(&m, GOOD_FP16);
	tap(ok && stats().packed == packed && stats().runs > a.runs && stats().failures == a.failures,
	    "the CPU computes with the others, and with the vocabulary");
	limit(0);
	for (int i = 0; i < WEIGHTS; i++)
		fill(m.w[i]);
	ok = plan(&m);
	tap(ok && stats().resident == a.resident + ALL, "weights that are written are decided on anew");
	drop(&m);
	parameter("RKNPU_GGML_WEIGHTS", NULL);
}

static void limited_auto(void)
{
	struct rknpu_ggml_stats a = stats();
	struct model m;
	bool ok;

	make(&m, false);
	/* What fp16 take of two more than int8 do. */
	limit(a.resident + ALL / 2 + 2 * LARGE / 2);
	ok = logs(plan, &m, "weights: 10 of 10 tensors, 1 MiB, for the NPU, 8 of them as int8; 0 are the CPU's");
	tap(ok && stats().resident == a.resident + ALL / 2 + LARGE, "as int8 more of a model fits: only so many as have to");
	ok = right(&m, GOOD_INT8);
	tap(ok && stats().failures == a.failures, "the model computes with both");
	drop(&m);
	make(&m, false);
	limit(a.resident + ALL / 4);
	ok = logs(plan, &m, "for the NPU, ") && stats().resident > a.resident && stats().resident <= a.resident + ALL / 4;
	tap(ok && right(&m, GOOD_INT8) && stats().resident <= a.resident + ALL / 4,
	    "a limit for half of that is kept: %llu of %llu bytes", (unsigned long long)(stats().resident - a.resident),
	    (unsigned long long)ALL / 4);
	drop(&m);
	limit(0);
}

/* What the backend leaves to others, in a machine of that memory. */
static uint64_t reserve(void)
{
	uint64_t part = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;

	return part > 256 * MIB ? part : 256 * MIB;
}

static void little_memory(void)
{
	struct rknpu_ggml_stats a = stats();
	struct model m;
	bool ok;

	make(&m, false);
	set_available(reserve() + MIB);
	ok = logs(plan, &m, "are the CPU's: 0 MiB of memory were left");
	tap(ok && stats().resident > a.resident && stats().resident <= a.resident + MIB,
	    "little memory is left: %llu bytes of weights are packed", (unsigned long long)(stats().resident - a.resident));
	tap(right(&m, GOOD_INT8), "and the CPU computes with the others");
	drop(&m);
	make(&m, false);
	set_available(reserve() / 2);
	ok = logs(plan, &m, "weights: 0 of 10 tensors, 0 MiB, for the NPU");
	a = stats();
	tap(ok && right(&m, GOOD_FP16) && stats().runs == a.runs && stats().packed == a.packed,
	    "with less than a reserve, the CPU computes all");
	drop(&m);
	set_available(0);
}

/* Pages of a file are available memory, until the CPU has to read them again and again. */
static void file(void)
{
	struct rknpu_ggml_stats a = stats();
	struct model m;
	bool ok;

	make(&m, true);
	set_available(reserve() + bytes_of(&m) + MIB / 8);
	ok = logs(plan, &m, "weights: ") && stats().resident <= a.resident + MIB / 8;
	drop(&m);
	make(&m, false);
	ok = plan(&m) && stats().resident > a.resident + MIB / 2 && ok;
	tap(ok, "weights that the CPU reads from a file keep the memory for that");
	drop(&m);
	set_available(0);
}

/* Without a plan, as ggml's RPC server computes: what products share a graph shows when it is computed. */
static bool right_unplanned(void)
{
	struct ggml_context *wctx = context(), *ctx = context();
	struct ggml_tensor *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, M), *w[3], *y[2], *down;
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	ggml_backend_buffer_t wbuf, buf;
	bool ok;

	for (int i = 0; i < 3; i++)
		w[i] = ggml_new_tensor_2d(wctx, GGML_TYPE_Q8_0, i == 2 ? INNER : WIDTH, i == 2 ? WIDTH : INNER);
	wbuf = allocate(wctx, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	for (int i = 0; i < 2; i++)
		y[i] = ggml_mul_mat(ctx, w[i], x);
	down = ggml_mul_mat(ctx, w[2], ggml_swiglu_split(ctx, y[0], y[1]));
	buf = allocate(ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
	for (int i = 0; i < 3; i++)
		fill(w[i]);
	for (int i = 0; i < M * WIDTH; i++)
		((float *)x->data)[i] = 1;
	ggml_build_forward_expand(graph, down);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	for (int i = 0; ok && i < 2 * M * INNER; i++) {
		const char *row = (const char *)w[i / (M * INNER)]->data + i % INNER * w[0]->nb[1];
		float v[WIDTH], got = ((float *)y[i / (M * INNER)]->data)[i % (M * INNER)], sum = 0;

		ggml_get_type_traits(GGML_TYPE_Q8_0)->to_float(row, v, WIDTH);
		for (int k = 0; k < WIDTH; k++)
			sum += v[k];
		/* Of int8: half a step of 127 for each weight of up to 1/16. */
		ok = fabsf(got - sum) <= WIDTH / 16.f / 127 / 2;
	}
	ggml_backend_buffer_free(buf);
	ggml_backend_buffer_free(wbuf);
	ggml_free(ctx);
	ggml_free(wctx);
	return ok;
}

static void unplanned(void)
{
	struct rknpu_ggml_stats a = stats();
	bool ok;

	/* One as fp16, the others as int8. */
	limit(a.resident + 4 * LARGE / 2);
	ok = right_unplanned();
	tap(ok && stats().failures == a.failures && stats().runs > a.runs,
	    "products that share activations compute if their weights become fp16 and int8");
	limit(0);
}

/* What is decided on when it is computed, and has no room as fp16, to which activations may be rounded but no further. */
static void not_int8(void)
{
	struct ggml_context *wctx = context(), *ctx = context();
	struct ggml_tensor *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, M), *w, *y;
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct rknpu_ggml_stats a = stats();
	ggml_backend_buffer_t wbuf, buf;
	bool ok;

	w = ggml_new_tensor_2d(wctx, GGML_TYPE_Q8_0, WIDTH, INNER);
	wbuf = allocate(wctx, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	y = ggml_mul_mat(ctx, w, x);
	ok = ggml_prec_set_src(y, GGML_PREC_F16, 1);
	buf = allocate(ctx, GGML_BACKEND_BUFFER_USAGE_ANY);
	fill(w);
	ggml_backend_buffer_clear(buf, 0);
	ggml_build_forward_expand(graph, y);
	limit(a.resident + LARGE / 2);
	ok = ok && ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	tap(ok && stats().runs == a.runs && stats().to_cpu == a.to_cpu + 1,
	    "activations that may become fp16 do not become int8 if there is room for that only");
	limit(0);
	fill(w);
	ok = ggml_backend_graph_compute(tested(), graph) == GGML_STATUS_SUCCESS;
	tap(ok && stats().runs == a.runs + 1, "with room, they become fp16");
	ggml_backend_buffer_free(buf);
	ggml_backend_buffer_free(wbuf);
	ggml_free(ctx);
	ggml_free(wctx);
}

static void garbage(void)
{
	static const struct { const char *value; uint64_t bytes; } good[] = {
		{ "3M", 3 * MIB }, { "3m", 3 * MIB }, { "3MiB", 3 * MIB }, { "0x300000", 3 * MIB }, { "3072k", 3 * MIB },
	};
	static const char * const bad[] = { "1.5G", "much", "-1", "3T", "3 M", "99999999999G", "M" };
	ggml_backend_dev_t dev = ggml_backend_get_device(tested());
	size_t left, machine, total;
	bool ok = true;

	ggml_backend_dev_memory(dev, &left, &machine);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		parameter("RKNPU_GGML_MEMORY", good[i].value);
		ggml_backend_dev_memory(dev, &left, &total);
		ok = ok && total == good[i].bytes;
	}
	tap(ok, "a limit may have a unit, large or small");
	ok = true;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char option[64];

		parameter("RKNPU_GGML_MEMORY", bad[i]);
		ggml_backend_dev_memory(dev, &left, &total);
		snprintf(option, sizeof(option), "memory=%s", bad[i]);
		if (total != machine || ggml_backend_dev_init(dev, option)) {
			printf("# %s is taken for %zu bytes\n", bad[i], total);
			ok = false;
		}
	}
	limit(0);
	tap(ok, "one that is none is not taken for another");
	tap(!ggml_backend_dev_init(dev, "memory=3M,speed=3"), "nor is an option behind a comma that is unknown");
	limit(0);
}

struct variable {
	const char *name, *value;
};

static bool read_again(void *arg)
{
	const struct variable *v = arg;

	parameter(v->name, v->value);
	return true;
}

static void said(void)
{
	static struct variable bad[] = {
		{ "RKNPU_GGML_MIN_MACS", "4e6" }, { "RKNPU_GGML_KEEP", "no" }, { "RKNPU_GGML_CORES", "0" },
		{ "RKNPU_GGML_CORES", "9" },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!says(read_again, &bad[i], bad[i].name, bad[i].value)) {
			printf("# nothing is said of %s=%s\n", bad[i].name, bad[i].value);
			ok = false;
		}
		parameter(bad[i].name, NULL);
	}
	tap(ok, "a line names a variable that is not understood");
	parameter("RKNPU_GGML_MIN_MACS", "0");
}

static void options(void)
{
	ggml_backend_dev_t dev = ggml_backend_get_device(tested());
	ggml_backend_t other = ggml_backend_dev_init(dev, "memory=3M");
	size_t left = 0, total = 0;

	ggml_backend_dev_memory(dev, &left, &total);
	tap(other && total == 3 * MIB && left == 3 * MIB - stats().resident,
	    "an option limits memory, and programs are told: %zu of %zu bytes are left", left, total);
	ggml_backend_free(other);
	tap(!ggml_backend_dev_init(dev, "speed=3"), "an option that is unknown is refused");
	limit(0);
	ggml_backend_dev_memory(dev, &left, &total);
	tap(total > 3 * MIB && left <= total, "without a limit it is what the machine has");
}

void budget(void)
{
	enough();
	limited_fp16();
	limited_auto();
	little_memory();
	file();
	options();
	unplanned();
	not_int8();
	garbage();
	said();
}
