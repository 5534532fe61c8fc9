// SPDX-License-Identifier: MIT
/*
 * One product, by a recording with resident weights and by the CPU: times, bytes, and whether
 * both are the same.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "demo_counters.h"

#define WAIT_NS	(INT64_C(120) * 1000000000)

struct run {
	struct npu_dev *dev;
	const struct bench_opts *o;
	struct bench_product *p;
	void *x, *w;		/* int8 or float, as the CPU takes them */
	void *half;		/* the weights as the NPU takes them; @w for bytes */
	void *got, *want;
	struct npu_weights *weights;
	struct npu_tensor *in, *out;
	struct npu_rec *rec;
};

static bool is_int(const struct bench_product *p)
{
	return p->type == NPU_PREC_INT8;
}

static uint32_t rnd(void)
{
	static uint32_t state = 0x2545f491;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a && a < b ? a : b;
}

/* Numbers of which a type keeps all: multiples of 1/64 below 1 in BF16, of 1/1024 in FP16. */
static float exact(enum npu_prec type)
{
	float unit = type == NPU_PREC_BF16 ? 64 : 1024;

	return (float)((int32_t)(rnd() % (2 * (uint32_t)unit)) - (int32_t)unit) / unit;
}

static uint16_t to_half(enum npu_prec type, float v)
{
	uint32_t bits;

	if (type == NPU_PREC_FP16)
		return npu_f32_to_f16(v);
	memcpy(&bits, &v, sizeof(bits));
	return (uint16_t)(bits >> 16);
}

static void make_data(struct run *r)
{
	const struct bench_product *p = r->p;
	size_t nx = (size_t)p->m * p->k, nw = (size_t)p->n * p->k, size = is_int(p) ? 1 : sizeof(float);

	r->x = bench_alloc(nx, size);
	r->w = bench_alloc(nw, size);
	r->got = bench_alloc((size_t)p->m * p->n, 4);
	r->want = bench_alloc((size_t)p->m * p->n, 4);
	r->half = is_int(p) ? r->w : bench_alloc(nw, sizeof(uint16_t));
	for (size_t i = 0; i < nx; i++)
		if (is_int(p))
			((int8_t *)r->x)[i] = (int8_t)rnd();
		else
			((float *)r->x)[i] = exact(p->type);
	for (size_t i = 0; i < nw; i++) {
		if (is_int(p)) {
			((int8_t *)r->w)[i] = (int8_t)rnd();
			continue;
		}
		((float *)r->w)[i] = exact(p->type);
		((uint16_t *)r->half)[i] = to_half(p->type, ((float *)r->w)[i]);
	}
}

static void release(struct run *r)
{
	npu_rec_free(r->rec);
	npu_tensor_free(r->in);
	npu_tensor_free(r->out);
	npu_weights_free(r->weights);
	if (r->half != r->w)
		free(r->half);
	free(r->x);
	free(r->w);
	free(r->got);
	free(r->want);
}

static int pack(struct run *r)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = r->p->type, .n = r->p->n, .k = r->p->k };
	struct npu_stats before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	int ret = 0;

	for (uint32_t i = 0; i < r->o->repeat && !ret; i++) {
		uint64_t start;

		npu_weights_free(r->weights);
		r->weights = NULL;
		npu_stats(r->dev, &before);
		start = bench_now();
		ret = npu_weights_new(r->dev, &d, r->half, &r->weights);
		r->p->pack = least(r->p->pack, bench_now() - start);
		npu_stats(r->dev, &after);
	}
	r->p->weights = after.weights - before.weights;
	return ret;
}

static int record(struct run *r, const struct npu_rec_opts *opts, struct npu_rec **rec)
{
	int ret = npu_rec_new(r->dev, opts, rec);

	if (!ret)
		ret = npu_rec_matmul(*rec, r->in, r->weights, r->out, NULL);
	return ret ? ret : npu_rec_end(*rec);
}

static int prepare(struct run *r)
{
	struct bench_product *p = r->p;
	int ret = pack(r);

	if (!ret)
		ret = npu_tensor_new(r->dev, p->type, p->m, p->k, &r->in);
	if (!ret)
		ret = npu_tensor_new(r->dev, is_int(p) ? NPU_PREC_INT32 : NPU_PREC_FP32, p->m, p->n, &r->out);
	if (!ret)
		ret = record(r, NULL, &r->rec);
	if (!ret)
		p->tasks = npu_rec_info(r->rec).tasks;
	return ret;
}

static int call(struct run *r)
{
	struct bench_product *p = r->p;
	uint64_t t[5];
	int ret;

	t[0] = bench_now();
	ret = is_int(p) ? npu_tensor_write(r->in, r->x, 0) : npu_tensor_write_f32(r->in, r->x, 0, 1);
	t[1] = bench_now();
	if (!ret)
		ret = npu_rec_run(r->rec);
	t[2] = bench_now();
	if (!ret)
		ret = npu_rec_wait(r->rec, WAIT_NS);
	t[3] = bench_now();
	if (!ret)
		ret = is_int(p) ? npu_tensor_read(r->out, r->got, 0) : npu_tensor_read_f32(r->out, r->got, 0, 1);
	t[4] = bench_now();
	p->write = least(p->write, t[1] - t[0]);
	p->submit = least(p->submit, t[2] - t[1]);
	p->run = least(p->run, t[3] - t[1]);
	p->read = least(p->read, t[4] - t[3]);
	p->call = least(p->call, t[4] - t[0]);
	return ret;
}

static void note_counters(struct bench_product *p, const struct demo_counters *before,
			  const struct demo_counters *after)
{
	p->npu_bytes = after->bytes - before->bytes;
	p->cycles = 0;
	for (unsigned int i = 0; i < DEMO_CORES; i++)
		p->cycles += after->cycles[i] - before->cycles[i];
}

static int run_on_npu(struct run *r)
{
	struct demo_counters before, after;
	struct npu_stats s = { .size = sizeof(s) }, t = { .size = sizeof(t) };
	int ret = 0;

	for (uint32_t i = 0; i < r->o->repeat && !ret; i++) {
		npu_stats(r->dev, &s);
		demo_counters_read(&before);
		ret = call(r);
		demo_counters_read(&after);
		npu_stats(r->dev, &t);
	}
	note_counters(r->p, &before, &after);
	r->p->moved = t.packed + t.unpacked - s.packed - s.unpacked;
	return ret;
}

/* Over the vendor's interface only calls that block are told it. */
static int time_core(struct run *r)
{
	struct npu_rec_opts opts = { .size = sizeof(opts), .block = true };
	struct npu_rec *rec = NULL;
	uint64_t ns;
	int ret = record(r, &opts, &rec);

	for (uint32_t i = 0; i < r->o->repeat && !ret; i++) {
		ret = npu_rec_run(rec);
		if (!ret)
			ret = npu_rec_wait(rec, WAIT_NS);
		if (!ret && !npu_rec_elapsed(rec, &ns))
			r->p->core = least(r->p->core, ns);
	}
	npu_rec_free(rec);
	return ret;
}

static void run_on_cpu(struct run *r)
{
	struct bench_product *p = r->p;

	for (uint32_t i = 0; i < r->o->repeat; i++) {
		uint64_t start = bench_now();

		if (is_int(p))
			bench_cpu_int8(r->x, r->w, r->want, p->m, p->n, p->k);
		else
			bench_cpu_float(r->x, r->w, r->want, p->m, p->n, p->k);
		p->cpu = least(p->cpu, bench_now() - start);
	}
}

/*
 * Integers are the same. Operands of floats are below 1: each of both sums of K products in fp32 is
 * off by at most K * 2^-23 * K, if its additions truncate.
 */
static void verify(struct run *r)
{
	struct bench_product *p = r->p;
	size_t n = (size_t)p->m * p->n;
	double bound = 2.0 * p->k * p->k * 0x1p-23;

	if (is_int(p)) {
		p->verified = !memcmp(r->got, r->want, n * sizeof(int32_t));
		return;
	}
	p->verified = true;
	for (size_t i = 0; i < n; i++) {
		double err = fabs((double)((float *)r->got)[i] - (double)((float *)r->want)[i]);

		p->max_err = err > p->max_err ? err : p->max_err;
		/* Not a number is no error of this size, either. */
		p->verified &= err <= bound;
	}
}

int bench_product_run(struct npu_dev *dev, const struct bench_opts *o, struct bench_product *p)
{
	struct run r = { .dev = dev, .o = o, .p = p };
	int ret;

	make_data(&r);
	ret = prepare(&r);
	if (!ret)
		ret = run_on_npu(&r);
	if (!ret)
		run_on_cpu(&r);
	if (!ret)
		verify(&r);
	if (!ret)
		ret = time_core(&r);
	if (ret)
		fprintf(stderr, "npu-bench: %s %u x %u x %u: %s%s%s\n", bench_type(p->type), p->m, p->n, p->k,
			strerror(-ret), r.rec ? " " : "", r.rec ? npu_rec_message(r.rec) : "");
	release(&r);
	return ret;
}
