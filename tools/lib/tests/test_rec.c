// SPDX-License-Identifier: MIT
/*
 * Recordings: what is computed, how often the
 * hardware is started, what runs again, how failures are told.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drm.h"
#include "drm/rocket_accel.h"
#include "tensor/npu_compute.h"
#include "sim.h"
#include "tap.h"

int layer(struct npu_dev *dev, const int8_t w[32][64], const int8_t x[64], int32_t y[32]);
#include "example.c"

#define OURS	(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED | \
		 DRM_ROCKET_FEATURE_SCHED)

static unsigned int seed = 3;

static int rnd(int lo, int hi)
{
	seed = seed * 1664525u + 1013904223u;
	return lo + (int)((seed >> 8) % (unsigned int)(hi - lo + 1));
}

/* ---- one product against its definition ---- */

struct product {
	enum npu_prec in, out;
	uint32_t m, n, k;
	bool bias, relu;
	struct npu_rec_matmul_opts o;
};

/* Operands are small integers, so that sums are exact in every type. */
struct operands {
	int8_t *x, *w;
	int32_t *bias;
};

static void fill(struct operands *v, const struct product *p)
{
	v->x = malloc((size_t)p->m * p->k);
	v->w = malloc((size_t)p->n * p->k);
	v->bias = malloc(p->n * sizeof(int32_t));
	for (uint32_t i = 0; i < p->m * p->k; i++)
		v->x[i] = (int8_t)rnd(-7, 7);
	for (uint32_t i = 0; i < p->n * p->k; i++)
		v->w[i] = (int8_t)rnd(-7, 7);
	for (uint32_t i = 0; i < p->n; i++)
		v->bias[i] = rnd(-100, 100);
}

static void drop(struct operands *v)
{
	free(v->x);
	free(v->w);
	free(v->bias);
}

static const struct npu_requant rq = { .scale = 20011, .shift = 17, .zp = -3 };

static double expected(const struct product *p, const struct operands *v, uint32_t m, uint32_t n)
{
	double acc = p->bias ? v->bias[n] : 0;

	for (uint32_t k = 0; k < p->k; k++)
		acc += v->x[(size_t)m * p->k + k] * v->w[(size_t)n * p->k + k];
	if (p->relu && acc < 0)
		acc = 0;
	if (p->out == NPU_PREC_INT8)
		return npu_requant_apply(&rq, (int64_t)acc);
	return p->out == NPU_PREC_FP16 ? npu_f16_to_f32(npu_f64_to_f16(acc)) : acc;
}

static struct npu_weights *make_weights(struct npu_dev *dev, const struct product *p,
					const struct operands *v)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = p->in, .n = p->n, .k = p->k };
	size_t total = (size_t)p->n * p->k;
	uint16_t *half = malloc(total * 2);
	float *bias = malloc(p->n * sizeof(float));
	struct npu_weights *w = NULL;

	for (size_t i = 0; i < total; i++)
		half[i] = npu_f32_to_f16(v->w[i]);
	for (uint32_t i = 0; i < p->n; i++)
		bias[i] = (float)v->bias[i];
	if (p->out == NPU_PREC_INT8)
		d.rq = rq;
	if (p->bias)
		d.bias = p->in == NPU_PREC_INT8 ? (void *)v->bias : (void *)bias;
	npu_weights_new(dev, &d, p->in == NPU_PREC_INT8 ? (void *)v->w : (void *)half, &w);
	free(half);
	free(bias);
	return w;
}

static void write_x(struct npu_tensor *t, const struct product *p, const struct operands *v)
{
	float *x = malloc((size_t)p->m * p->k * sizeof(float));

	for (uint32_t i = 0; i < p->m * p->k; i++)
		x[i] = v->x[i];
	npu_tensor_write_f32(t, x, 0, 1);
	free(x);
}

static unsigned long wrong(const struct product *p, const struct operands *v, struct npu_tensor *y)
{
	float *got = calloc((size_t)p->m * p->n, sizeof(float));
	unsigned long bad = npu_tensor_read_f32(y, got, 0, 1) != 0;

	for (uint32_t m = 0; m < p->m; m++)
		for (uint32_t n = 0; n < p->n; n++)
			bad += got[(size_t)m * p->n + n] != (float)expected(p, v, m, n);
	free(got);
	return bad;
}

/* Of the recordings of products. */
static struct npu_rec_opts rec_opts = { .size = sizeof(rec_opts) };

static void product_case(struct npu_dev *dev, struct product p)
{
	struct npu_tensor *x, *y;
	struct npu_weights *w;
	struct npu_rec_info info;
	struct npu_rec *rec;
	struct operands v;
	unsigned long bad;
	int ret;

	fill(&v, &p);
	p.o.size = sizeof(p.o);
	p.o.act = p.relu ? NPU_ACT_RELU : NPU_ACT_NONE;
	w = make_weights(dev, &p, &v);
	npu_tensor_new(dev, p.in, p.m, p.k, &x);
	npu_tensor_new(dev, p.out, p.m, p.n, &y);
	write_x(x, &p, &v);
	npu_rec_new(dev, &rec_opts, &rec);
	ret = npu_rec_matmul(rec, x, w, y, &p.o);
	if (!ret)
		ret = npu_rec_end(rec);
	if (!ret)
		ret = npu_rec_run(rec);
	if (!ret)
		ret = npu_rec_wait(rec, -1);
	bad = wrong(&p, &v, y);
	info = npu_rec_info(rec);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
	tap_ok(!ret && !bad && !sim_bos(), "type %d to %d, M %u N %u K %u%s%s, %u tasks: error %d, %lu wrong",
	       p.in, p.out, p.m, p.n, p.k, p.bias ? ", bias" : "", p.relu ? ", ReLU" : "",
	       info.tasks, ret, bad);
	drop(&v);
}

static void test_products(struct npu_dev *dev)
{
	static const uint32_t size[][3] = { { 1, 1, 1 }, { 1, 70, 65 }, { 6, 33, 100 }, { 17, 96, 32 } };
	static const enum npu_prec types[][2] = {
		{ NPU_PREC_INT8, NPU_PREC_INT32 }, { NPU_PREC_INT8, NPU_PREC_INT8 },
		{ NPU_PREC_FP16, NPU_PREC_FP32 }, { NPU_PREC_FP16, NPU_PREC_FP16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
			struct product p = {
				.in = types[t][0], .out = types[t][1], .m = size[i][0],
				.n = size[i][1], .k = size[i][2],
			};

			product_case(dev, p);
			p.o = (struct npu_rec_matmul_opts){ .size = sizeof(struct npu_rec_matmul_opts), .max_m = 8, .max_n = 32 };
			p.bias = p.out != NPU_PREC_INT32;
			p.relu = true;
			product_case(dev, p);
		}
}

/* ---- a chain of operations ---- */

/* Two layers, y = W2 * relu(W1 * x), the middle in two views of one tensor. */
struct net {
	struct npu_tensor *x, *mid, *a, *b, *y;
	struct npu_weights *w1a, *w1b, *w2;
	struct npu_rec *rec;
	struct operands va, vb, v2;
};

static const struct product layer1 = {
	.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .m = 5, .n = 64, .k = 40, .bias = true,
	.relu = true, .o = { .size = sizeof(struct npu_rec_matmul_opts), .act = NPU_ACT_RELU, .max_n = 32 },
};
static struct product layer2 = {
	.in = NPU_PREC_INT8, .out = NPU_PREC_INT32, .m = 5, .n = 33, .k = 128,
};

static int net_make(struct net *n, struct npu_dev *dev, const struct npu_rec_opts *opts)
{
	int ret;

	fill(&n->va, &layer1);
	fill(&n->vb, &layer1);
	fill(&n->v2, &layer2);
	memcpy(n->vb.x, n->va.x, layer1.m * layer1.k);
	n->w1a = make_weights(dev, &layer1, &n->va);
	n->w1b = make_weights(dev, &layer1, &n->vb);
	n->w2 = make_weights(dev, &layer2, &n->v2);
	npu_tensor_new(dev, NPU_PREC_INT8, 5, 40, &n->x);
	npu_tensor_new(dev, NPU_PREC_INT8, 5, 128, &n->mid);
	npu_tensor_new(dev, layer2.out, 5, 33, &n->y);
	npu_tensor_view(n->mid, 0, 5, 0, 64, &n->a);
	npu_tensor_view(n->mid, 0, 5, 64, 64, &n->b);
	ret = npu_rec_new(dev, opts, &n->rec);
	if (ret)
		return ret;
	npu_rec_matmul(n->rec, n->x, n->w1a, n->a, &layer1.o);
	npu_rec_matmul(n->rec, n->x, n->w1b, n->b, &layer1.o);
	npu_rec_matmul(n->rec, n->mid, n->w2, n->y, NULL);
	return npu_rec_end(n->rec);
}

static void net_free(struct net *n)
{
	npu_rec_free(n->rec);
	npu_tensor_free(n->x);
	npu_tensor_free(n->a);
	npu_tensor_free(n->b);
	npu_tensor_free(n->mid);
	npu_tensor_free(n->y);
	npu_weights_free(n->w1a);
	npu_weights_free(n->w1b);
	npu_weights_free(n->w2);
	drop(&n->va);
	drop(&n->vb);
	drop(&n->v2);
}

/* New input, one run; how much of the result is wrong. */
static unsigned long net_run(struct net *n)
{
	for (uint32_t i = 0; i < layer1.m * layer1.k; i++)
		n->va.x[i] = n->vb.x[i] = (int8_t)rnd(-7, 7);
	npu_tensor_write(n->x, n->va.x, 0);
	if (npu_rec_run(n->rec) || npu_rec_wait(n->rec, -1))
		return 1;
	for (uint32_t m = 0; m < 5; m++)
		for (uint32_t c = 0; c < 64; c++) {
			n->v2.x[m * 128 + c] = (int8_t)expected(&layer1, &n->va, m, c);
			n->v2.x[m * 128 + 64 + c] = (int8_t)expected(&layer1, &n->vb, m, c);
		}
	return wrong(&layer2, &n->v2, n->y);
}

static void test_chain(struct npu_dev *dev, uint64_t features, bool chained)
{
	struct npu_rec_info info;
	struct npu_stats s0 = { .size = sizeof(s0) }, s1 = { .size = sizeof(s1) };
	struct net n = { 0 };
	unsigned int jobs, tasks, starts;
	unsigned long bad;
	int ret;

	sim_features(features);
	ret = net_make(&n, dev, NULL);
	info = npu_rec_info(n.rec);
	tap_ok(!ret && info.ops == 3 && info.tasks == 5 && info.chained == chained,
	       "three operations of five tasks%s", chained ? ", chained" : "");
	npu_stats(dev, &s0);
	jobs = sim_jobs;
	tasks = sim_tasks;
	starts = sim_starts;
	bad = net_run(&n);
	tap_ok(!bad, "right through views: %lu wrong", bad);
	tap_ok(sim_jobs - jobs == 1 && sim_tasks - tasks == 5 &&
	       sim_starts - starts == (chained ? 1 : 5), "one job, started %u times",
	       sim_starts - starts);
	bad = net_run(&n);
	npu_stats(dev, &s1);
	tap_ok(!bad && s1.runs - s0.runs == 2 && s1.programmed == s0.programmed &&
	       s1.weights == s0.weights && s1.packed - s0.packed == 2 * 5 * 40 &&
	       s1.unpacked - s0.unpacked == 2 * 5 * 33 * 4,
	       "again with another input: no program written, only input and output repacked");
	net_free(&n);
	tap_ok(!sim_bos(), "nothing is left");
}

static void test_kept_memory(struct npu_dev *dev)
{
	struct net n = { 0 };

	net_make(&n, dev, NULL);
	npu_weights_free(n.w2);
	npu_tensor_free(n.a);
	npu_tensor_free(n.mid);
	n.w2 = NULL;
	n.a = n.mid = NULL;
	tap_ok(!net_run(&n), "what a recording uses may be freed");
	net_free(&n);
	tap_ok(!sim_bos(), "and goes with it");
}

/* Row 6 of x to row 9 of y, which nothing else changes. */
static void test_one_row(struct npu_dev *dev)
{
	const struct product p = {
		.in = NPU_PREC_FP16, .out = NPU_PREC_FP32, .m = 12, .n = 40, .k = 70, .bias = true,
	};
	struct npu_tensor *x, *y, *vx, *vy;
	struct npu_weights *w;
	struct npu_rec *rec;
	struct operands v;
	unsigned long bad = 0;
	float got[12][40];
	int ret;

	fill(&v, &p);
	w = make_weights(dev, &p, &v);
	npu_tensor_new(dev, p.in, p.m, p.k, &x);
	npu_tensor_new(dev, p.out, p.m, p.n, &y);
	write_x(x, &p, &v);
	npu_tensor_view(x, 6, 1, 0, p.k, &vx);
	npu_tensor_view(y, 9, 1, 0, p.n, &vy);
	npu_rec_new(dev, NULL, &rec);
	npu_rec_matmul(rec, vx, w, vy, NULL);
	ret = npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	npu_tensor_read(y, got, 0);
	for (uint32_t m = 0; m < p.m; m++)
		for (uint32_t n = 0; n < p.n; n++)
			bad += got[m][n] != (m == 9 ? (float)expected(&p, &v, 6, n) : 0);
	npu_rec_free(rec);
	npu_tensor_free(vx);
	npu_tensor_free(vy);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
	drop(&v);
	tap_ok(!ret && !bad && !sim_bos(), "one row of a tensor to one of another: %lu wrong", bad);
}

/* ---- failures ---- */

static void test_hang(struct npu_dev *dev)
{
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct net n = { 0 };
	bool ok;

	sim_features(OURS);
	net_make(&n, dev, NULL);
	tap_ok(npu_rec_failure(n.rec, &f) == -ENOENT && !npu_rec_wait(n.rec, 0),
	       "nothing failed before the first run");
	sim_hang_task(3);
	ok = !npu_rec_run(n.rec) && npu_rec_wait(n.rec, -1) == -ETIME &&
	     !npu_rec_failure(n.rec, &f);
	tap_ok(ok && f.cause == NPU_CAUSE_TIMEOUT && f.err == -ETIME && f.task == 3 && f.op == 1 &&
	       !strcmp(f.op_name, "matmul") && f.core == 1, "a hang tells operation, task and core");
	tap_ok(npu_rec_wait(n.rec, -1) == -ETIME, "and stays known");
	tap_ok(!net_run(&n) && npu_rec_failure(n.rec, &f) == -ENOENT, "the next run is right");

	sim_features(0);
	net_free(&n);
	net_make(&n, dev, NULL);
	sim_hang_task(3);
	ok = !npu_rec_run(n.rec) && npu_rec_wait(n.rec, -1) == -ETIME &&
	     !npu_rec_failure(n.rec, &f);
	tap_ok(ok && f.cause == NPU_CAUSE_TIMEOUT && f.task == -1 && f.op == -1 && !f.op_name &&
	       f.core == -1, "another driver tells only the cause");
	net_free(&n);
}

static void test_waiting(struct npu_dev *dev, uint64_t features)
{
	struct net n = { 0 };
	bool ok;

	sim_features(features);
	net_make(&n, dev, NULL);
	ok = !npu_rec_run(n.rec);
	sim_stay_busy(2);
	ok &= npu_rec_run(n.rec) == -EBUSY && npu_rec_wait(n.rec, 0) == -EBUSY &&
	      npu_rec_wait(n.rec, 1000) == -ETIMEDOUT && !npu_rec_wait(n.rec, 1000);
	tap_ok(ok && !npu_rec_run(n.rec), "a wait that expires can be repeated");
	net_free(&n);
	tap_ok(!sim_bos(), "freed without a wait");
}

/* In-tree rocket's PREP_BO does not wait for readers. */
static void test_overwrite(struct npu_dev *dev)
{
	static const int8_t other[5 * 40] = { 1, 2, 3 };
	int32_t want[5 * 33], got[5 * 33] = { 0 };
	struct net n = { 0 };
	int ret;

	sim_features(0);
	net_make(&n, dev, NULL);
	ret = net_run(&n) ? -EIO : npu_tensor_read(n.y, want, 0);
	sim_late(true);
	ret = ret ? ret : npu_rec_run(n.rec);
	ret = ret ? ret : npu_tensor_write(n.x, other, 0);
	ret = ret ? ret : npu_rec_wait(n.rec, -1);
	ret = ret ? ret : npu_tensor_read(n.y, got, 0);
	tap_ok(!ret && !memcmp(got, want, sizeof(got)), "an operand is not overwritten before it was read: %d", ret);
	ret = npu_rec_run(n.rec);
	npu_rec_free(n.rec);
	n.rec = NULL;
	tap_ok(!ret && !npu_tensor_write(n.x, other, 0), "and can be when its recording is gone");
	sim_late(false);
	net_free(&n);
	tap_ok(!sim_bos(), "nothing is left");
}

/* After system sleep. */
static void test_rerun(struct npu_dev *dev)
{
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct npu_tensor *x = NULL, *sum = NULL;
	struct npu_rec *rec = NULL;
	struct net n = { 0 };
	unsigned long bad;
	int ret, first, again;

	sim_features(OURS);
	net_make(&n, dev, NULL);
	sim_rerun();
	bad = net_run(&n);
	tap_ok(!bad, "a recording that writes over nothing it has read may run twice");
	net_free(&n);
	ret = npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &x);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &sum);
	ret = ret ? ret : npu_rec_new(dev, NULL, &rec);
	ret = ret ? ret : npu_rec_add(rec, x, x, sum);
	ret = ret ? ret : npu_rec_max(rec, sum, sum, x);
	ret = ret ? ret : npu_rec_end(rec);
	sim_rerun();
	ret = ret ? ret : npu_rec_run(rec);
	first = npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_rec_failure(rec, &f);
	ret = ret ? ret : npu_rec_run(rec);
	again = npu_rec_wait(rec, -1);
	tap_ok(!ret && first == -ENOTRECOVERABLE && f.cause == NPU_CAUSE_RERUN && !again,
	       "one that does says that it did, and runs again: %d, %d, %d", ret, first, again);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(sum);
}

/* Two views of one tensor, and one as wide as each. */
struct views {
	struct npu_tensor *both, *a, *b, *x;
	struct npu_rec *rec;
};

static int views_new(struct npu_dev *dev, struct views *v)
{
	int ret;

	*v = (struct views){ 0 };
	ret = npu_tensor_new(dev, NPU_PREC_FP16, 4, 64, &v->both);
	ret = ret ? ret : npu_tensor_view(v->both, 0, 4, 0, 32, &v->a);
	ret = ret ? ret : npu_tensor_view(v->both, 0, 4, 32, 32, &v->b);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &v->x);
	return ret ? ret : npu_rec_new(dev, NULL, &v->rec);
}

/* Runs it, as if twice. */
static int views_rerun(struct views *v, int ret)
{
	ret = ret ? ret : npu_rec_end(v->rec);
	sim_rerun();
	ret = ret ? ret : npu_rec_run(v->rec);
	ret = ret ? ret : npu_rec_wait(v->rec, -1);
	npu_rec_free(v->rec);
	npu_tensor_free(v->a);
	npu_tensor_free(v->b);
	npu_tensor_free(v->both);
	npu_tensor_free(v->x);
	return ret;
}

/* The same through views: @first of which is written before the other one is read, or the last one. */
static int rerun_views(struct npu_dev *dev, bool first)
{
	struct npu_tensor *sum = NULL;
	struct views v;
	int ret = views_new(dev, &v);

	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &sum);
	if (first)
		ret = ret ? ret : npu_rec_add(v.rec, v.x, v.x, v.a);
	ret = ret ? ret : npu_rec_add(v.rec, v.b, v.x, sum);
	ret = ret ? ret : npu_rec_max(v.rec, sum, sum, v.b);
	if (!first)
		ret = ret ? ret : npu_rec_add(v.rec, v.x, v.x, v.a);
	ret = views_rerun(&v, ret);
	npu_tensor_free(sum);
	return ret;
}

/* The cell of a recurrent network: what is beside its input is read with it, and written over. @anew: it is made before. */
static int rerun_cell(struct npu_dev *dev, bool anew)
{
	struct npu_tensor *sum = NULL, *part = NULL;
	struct views v;
	int ret = views_new(dev, &v);

	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, 4, 64, &sum);
	ret = ret ? ret : npu_tensor_view(sum, 0, 4, 0, 32, &part);
	ret = ret ? ret : npu_rec_add(v.rec, v.x, v.x, v.a);
	if (anew)
		ret = ret ? ret : npu_rec_add(v.rec, v.x, v.x, v.b);
	ret = ret ? ret : npu_rec_add(v.rec, v.both, v.both, sum);
	ret = ret ? ret : npu_rec_max(v.rec, part, part, v.b);
	ret = views_rerun(&v, ret);
	npu_tensor_free(part);
	npu_tensor_free(sum);
	return ret;
}

static void test_rerun_views(struct npu_dev *dev)
{
	tap_ok(rerun_cell(dev, false) == -ENOTRECOVERABLE, "a tensor of which one view is written before it is read, and one after");
	tap_ok(!rerun_cell(dev, true), "but not if all of it was");
	tap_ok(rerun_views(dev, false) == -ENOTRECOVERABLE, "a view that is written over");
	tap_ok(rerun_views(dev, true) == -ENOTRECOVERABLE, "and after another one was written");
}

static void test_block(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .block = true };
	struct npu_rec_failure f = { .size = sizeof(f) };
	struct net n = { 0 };

	sim_features(OURS);
	net_make(&n, dev, &o);
	sim_hang_task(0);
	tap_ok(!npu_rec_run(n.rec) && !npu_rec_failure(n.rec, &f) && f.task == 0 && f.op == 0 &&
	       !net_run(&n), "a blocking run knows how it ended");
	net_free(&n);
}

/* ---- what is refused ---- */

static int try_matmul(struct npu_dev *dev, struct npu_tensor *x, struct npu_weights *w,
		      struct npu_tensor *y, const char *word)
{
	struct npu_rec *rec;
	int ret;

	npu_rec_new(dev, NULL, &rec);
	ret = npu_rec_matmul(rec, x, w, y, NULL);
	if (!strstr(npu_rec_message(rec), word) || npu_rec_end(rec) != ret || npu_rec_run(rec) != ret)
		ret = 1;
	npu_rec_free(rec);
	return ret;
}

static int try_act(struct npu_dev *dev, enum npu_act act, struct npu_tensor *x, const char *word)
{
	struct npu_rec *rec;
	int ret;

	npu_rec_new(dev, NULL, &rec);
	ret = npu_rec_act(rec, act, x, x);
	if (!strstr(npu_rec_message(rec), word))
		ret = 1;
	npu_rec_free(rec);
	return ret;
}

static void test_refused(struct npu_dev *dev)
{
	static const int8_t src[64 * 64];
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 64, .k = 64 };
	struct npu_tensor *x, *half, *y, *y8, *part, *small;
	struct npu_weights *w;
	struct npu_rec *rec;

	npu_weights_new(dev, &d, src, &w);
	npu_tensor_new(dev, NPU_PREC_INT8, 8, 64, &x);
	npu_tensor_new(dev, NPU_PREC_FP16, 8, 64, &half);
	npu_tensor_new(dev, NPU_PREC_INT32, 8, 64, &y);
	npu_tensor_new(dev, NPU_PREC_INT8, 8, 64, &y8);
	npu_tensor_new(dev, NPU_PREC_INT32, 4, 64, &small);
	npu_tensor_view(y, 0, 8, 0, 32, &part);
	tap_ok(try_matmul(dev, half, w, y, "no mode for x of FP16, weights of INT8, y of INT32") == -EINVAL,
	       "fp16 by int8");
	tap_ok(try_matmul(dev, x, w, y8, "x of INT8, weights of INT8, y of INT8") == -EINVAL,
	       "int8 result, no requantisation");
	tap_ok(try_act(dev, NPU_ACT_RELU, half, "no table for relu") == -EINVAL &&
	       try_act(dev, (enum npu_act)99, half, "no table for an unknown activation") == -EINVAL,
	       "activations without a table");
	tap_ok(try_matmul(dev, x, w, part, "do not fit") == -EINVAL, "too few columns");
	tap_ok(try_matmul(dev, x, w, small, "do not fit") == -EINVAL, "too few rows");
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_run(rec) == -EINVAL && npu_rec_end(rec) == -EINVAL, "nothing to run");
	npu_rec_matmul(rec, x, w, y, NULL);
	tap_ok(!npu_rec_end(rec) && npu_rec_end(rec) == -EBUSY &&
	       npu_rec_matmul(rec, x, w, y, NULL) == -EBUSY &&
	       npu_rec_act(rec, NPU_ACT_NONE, half, half) == -EBUSY && !npu_rec_run(rec),
	       "nothing can be appended to what has ended");
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(half);
	npu_tensor_free(y);
	npu_tensor_free(y8);
	npu_tensor_free(small);
	npu_tensor_free(part);
	npu_weights_free(w);
	tap_ok(!sim_bos(), "nothing is left");
}

static void test_overlap(struct npu_dev *dev)
{
	static const int8_t src[32 * 32];
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 32, .k = 32,
				      .rq = { .scale = 1 } };
	struct npu_tensor *t, *a, *b;
	struct npu_weights *w;
	struct npu_rec *rec;

	npu_weights_new(dev, &d, src, &w);
	npu_tensor_new(dev, NPU_PREC_INT8, 4, 64, &t);
	npu_tensor_view(t, 0, 4, 0, 32, &a);
	npu_tensor_view(t, 0, 4, 32, 32, &b);
	tap_ok(try_matmul(dev, a, w, a, "share memory") == -EINVAL, "a result over its operand");
	npu_rec_new(dev, NULL, &rec);
	tap_ok(!npu_rec_matmul(rec, a, w, b, NULL), "but beside it in the same tensor");
	npu_rec_free(rec);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(t);
	npu_weights_free(w);
}

static void test_limits(struct npu_dev *dev)
{
	static int8_t src[32 * 32];
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 32, .k = 32 };
	struct npu_rec_matmul_opts tiny = { .size = sizeof(tiny), .max_m = 4 };
	unsigned int starts, tasks;
	struct npu_tensor *x, *y;
	struct npu_weights *w;
	struct npu_rec *rec;
	int ret;

	src[0] = 1;
	sim_features(OURS);
	npu_weights_new(dev, &d, src, &w);
	npu_tensor_new(dev, NPU_PREC_INT8, 4 * 4095, 32, &x);
	npu_tensor_new(dev, NPU_PREC_INT32, 4 * 4095, 32, &y);
	npu_rec_new(dev, NULL, &rec);
	npu_rec_matmul(rec, x, w, y, &tiny);
	ret = npu_rec_end(rec);
	starts = sim_starts;
	tasks = sim_tasks;
	tap_ok(!ret && npu_rec_info(rec).tasks == 4095 && !npu_rec_run(rec) &&
	       !npu_rec_wait(rec, -1) && sim_starts - starts == 1 && sim_tasks - tasks == 4095,
	       "4095 tasks, started once");
	npu_rec_free(rec);
	npu_rec_new(dev, NULL, &rec);
	npu_rec_matmul(rec, x, w, y, &tiny);
	tap_ok(npu_rec_matmul(rec, x, w, y, NULL) == -E2BIG && strstr(npu_rec_message(rec), "4095"),
	       "4096 are refused: %s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
	sim_features(0);
	tap_ok(!sim_bos(), "nothing is left");
}

static void test_opts(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = 2 };
	struct npu_rec *rec;

	sim_features(0);
	tap_ok(npu_rec_new(dev, &o, &rec) == -EOPNOTSUPP, "a core, on a driver that has no choice");
	o = (struct npu_rec_opts){ .size = sizeof(struct npu_rec_opts), .timeout_ns = 1000 };
	tap_ok(npu_rec_new(dev, &o, &rec) == -EOPNOTSUPP, "a timeout, the same");
	o.timeout_ns = UINT64_MAX;
	tap_ok(npu_rec_new(dev, &o, &rec) == -EINVAL, "a timeout of centuries");
	tap_ok(npu_can_multiply(dev, NPU_PREC_FP16, NPU_PREC_FP32) &&
	       npu_can_multiply(dev, NPU_PREC_INT4, NPU_PREC_INT16) &&
	       !npu_can_multiply(dev, NPU_PREC_INT4, NPU_PREC_FP32) &&
	       !npu_can_multiply(dev, NPU_PREC_INT8, NPU_PREC_FP16), "types that there are programs for");
}

static void test_example(struct npu_dev *dev)
{
	static int8_t w[32][64], x[64];
	int32_t y[32];
	bool ok;

	for (int k = 0; k < 64; k++) {
		x[k] = (int8_t)(k - 20);
		for (int n = 0; n < 32; n++)
			w[n][k] = (int8_t)((n * k) % 19 - 9);
	}
	ok = !layer(dev, w, x, y);
	for (int n = 0; n < 32; n++) {
		int32_t sum = 0;

		for (int k = 0; k < 64; k++)
			sum += x[k] * w[n][k];
		ok &= y[n] == (sum > 0 ? sum : 0);
	}
	tap_ok(ok && !sim_bos(), "the example of the documentation");
}

/* ---- chips that have programs of bytes ---- */

/* Columns of halves whose kernel is as large as one may be. */
#define MOST_HALVES	2304

static void test_bytes_products(struct npu_dev *dev, bool words, uint32_t core_mask)
{
	static const struct product some[] = {
		{ .m = 1, .n = 1, .k = 1 }, { .m = 1, .n = 70, .k = 65, .bias = true }, { .m = 6, .n = 33, .k = 100 },
		{ .m = 17, .n = 96, .k = 32, .bias = true, .relu = true }, { .m = 3, .n = 40, .k = 4096 },
		{ .m = 1, .n = 3000, .k = 32, .bias = true }, { .m = 1100, .n = 5, .k = 20 },
		{ .m = 300, .n = 70, .k = 700, .relu = true },
		{ .m = 9, .n = 70, .k = 64, .bias = true, .o = { .max_m = 4, .max_n = 32 } },
	};

	sim_core_masks = 0;
	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		struct product p = some[i];

		p.in = NPU_PREC_INT8;
		p.out = NPU_PREC_INT8;
		product_case(dev, p);
		if (!words)
			continue;
		p.out = NPU_PREC_INT32;
		p.bias = false;
		p.relu = false;
		product_case(dev, p);
		p = some[i];
		p.in = NPU_PREC_FP16;
		p.out = NPU_PREC_FP16;
		p.k = (uint32_t)min_u64(p.k, MOST_HALVES);
		product_case(dev, p);
	}
	tap_ok(sim_core_masks == core_mask, "on the cores that programs are made for: 0x%x", sim_core_masks);
}

/* Of both cores, of as many as one asks for, and of the other one. */
static void test_both_cores(struct npu_dev *dev)
{
	static const struct {
		uint32_t cores, mask, used;
	} on[] = { { 2, 0, 3 }, { 3, 0, 3 }, { 2, 3, 3 }, { 2, 2, 2 }, { 1, 2, 2 }, { 1, 3, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(on); i++) {
		rec_opts.cores = on[i].cores;
		rec_opts.core_mask = on[i].mask;
		test_bytes_products(dev, true, on[i].used);
	}
	rec_opts = (struct npu_rec_opts){ .size = sizeof(rec_opts) };
}

static void test_bytes_chain(struct npu_dev *dev)
{
	struct net n = { 0 };
	unsigned int starts = sim_starts;

	layer2.out = NPU_PREC_INT8;
	tap_ok(!net_make(&n, dev, NULL) && !net_run(&n) && !net_run(&n) && sim_starts - starts == 2,
	       "three products through views, started at once");
	net_free(&n);
	tap_ok(!sim_bos(), "nothing is left");
}

static void test_wide_halves(struct npu_dev *dev, uint32_t k)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = 32, .k = k };
	static const uint16_t src[32 * 8192];
	struct npu_weights *w = NULL;
	struct npu_tensor *x, *y;
	int ret;

	npu_tensor_new(dev, NPU_PREC_FP16, 4, k, &x);
	npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &y);
	ret = npu_weights_new(dev, &d, src, &w);
	ret = ret ? ret : try_matmul(dev, x, w, y, "on the RK3576");
	tap_ok(ret == -EOPNOTSUPP, "halves of %u columns: %d", k, ret);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
}

static void test_rk3576_refused(struct npu_dev *dev)
{
	static const int8_t src[64 * 64];
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 64, .k = 32 };
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = 4 };
	struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	struct npu_tensor *x, *y, *row, *y8, *half, *y16;
	struct npu_weights *w, *q;
	struct npu_rec *rec;

	npu_weights_new(dev, &d, src, &w);
	d.rq = rq;
	npu_weights_new(dev, &d, src, &q);
	npu_tensor_new(dev, NPU_PREC_INT8, 8, 32, &x);
	npu_tensor_new(dev, NPU_PREC_INT32, 8, 64, &y);
	npu_tensor_new(dev, NPU_PREC_INT8, 1, 64, &y8);
	npu_tensor_new(dev, NPU_PREC_FP16, 1, 64, &half);
	npu_tensor_new(dev, NPU_PREC_FP16, 1, 64, &y16);
	npu_tensor_view(x, 3, 1, 0, 32, &row);
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_matmul(rec, x, w, y, &relu) == -EOPNOTSUPP &&
	       strstr(npu_rec_message(rec), "without ReLU on the RK3576"), "words above 0");
	npu_rec_free(rec);
	tap_ok(try_matmul(dev, row, q, y8, "1 positions and 32 channels") == -EOPNOTSUPP,
	       "half a granule of a larger tensor");
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_act(rec, NPU_ACT_SQRT, half, y16) == -EOPNOTSUPP &&
	       strstr(npu_rec_message(rec), "tables on the RK3576 but of halves as numbers"), "functions of bits");
	npu_rec_free(rec);
	npu_rec_new(dev, NULL, &rec);
	tap_ok(npu_rec_mul(rec, half, half, y16) == -EOPNOTSUPP &&
	       strstr(npu_rec_message(rec), "no programs for element-wise operations on the RK3576"), "products of elements");
	npu_rec_free(rec);
	tap_ok(npu_rec_new(dev, &o, &rec) == -EOPNOTSUPP, "a core that there is not");
	tap_ok(npu_can_multiply(dev, NPU_PREC_INT8, NPU_PREC_INT8) &&
	       npu_can_multiply(dev, NPU_PREC_INT8, NPU_PREC_INT32) &&
	       npu_can_multiply(dev, NPU_PREC_FP16, NPU_PREC_FP16) &&
	       !npu_can_multiply(dev, NPU_PREC_FP16, NPU_PREC_FP32) &&
	       !npu_can_multiply(dev, NPU_PREC_BF16, NPU_PREC_BF16) &&
	       npu_can_multiply(dev, NPU_PREC_INT4, NPU_PREC_FP32) &&
	       !npu_can_multiply(dev, NPU_PREC_INT4, NPU_PREC_FP16) &&
	       !npu_can_multiply(dev, NPU_PREC_INT4, NPU_PREC_INT16), "types that there are programs for");
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_tensor_free(row);
	npu_tensor_free(y8);
	npu_tensor_free(y16);
	npu_tensor_free(half);
	npu_weights_free(w);
	npu_weights_free(q);
	tap_ok(!sim_bos(), "nothing is left");
}

static void test_one_core_refused(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = 2 };
	struct npu_rec *rec;

	tap_ok(npu_rec_new(dev, &o, &rec) == -EOPNOTSUPP, "another core");
	tap_ok(npu_can_multiply(dev, NPU_PREC_INT8, NPU_PREC_INT8) &&
	       !npu_can_multiply(dev, NPU_PREC_INT8, NPU_PREC_INT32) &&
	       !npu_can_multiply(dev, NPU_PREC_FP16, NPU_PREC_FP16), "types that there are programs for");
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	test_example(dev);
	test_products(dev);
	test_chain(dev, OURS, true);
	test_chain(dev, 0, false);
	test_kept_memory(dev);
	test_one_row(dev);
	test_hang(dev);
	test_waiting(dev, OURS);
	test_waiting(dev, 0);
	test_overwrite(dev);
	test_rerun(dev);
	test_rerun_views(dev);
	test_block(dev);
	test_refused(dev);
	test_overlap(dev);
	test_limits(dev);
	test_opts(dev);
	npu_close(dev);
	sim_soc(3576);
	sim_features(OURS);
	npu_open(NULL, &dev);
	test_bytes_products(dev, true, 1);
	test_both_cores(dev);
	test_bytes_chain(dev);
	test_rk3576_refused(dev);
	test_wide_halves(dev, MOST_HALVES + 1);
	test_wide_halves(dev, 4096);
	test_wide_halves(dev, 8192);
	npu_close(dev);
	sim_soc(3568);
	npu_open(NULL, &dev);
	test_bytes_products(dev, false, 1);
	test_bytes_chain(dev);
	test_one_core_refused(dev);
	npu_close(dev);
	sim_soc(3562);
	npu_open(NULL, &dev);
	test_bytes_products(dev, false, 1);
	test_bytes_chain(dev);
	test_one_core_refused(dev);
	npu_close(dev);
	return tap_done();
}
