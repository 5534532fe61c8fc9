// SPDX-License-Identifier: MIT
/*
 * npu-demo: an INT8 and an FP16 matrix product on all cores, checked against
 * the CPU.
 *
 * Exit status 0 and a last line "demo: PASS ..." when every element is right
 * and, where cores are counted, all of them worked; else 1 and "demo: FAIL
 * REASON".
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "demo_counters.h"
#include "npu.h"

/* On simulation this is minutes of patience, on silicon it never matters. */
#define WAIT_NS		(INT64_C(120) * 1000000000)

struct product {
	const char *name;
	uint32_t m, n, k;
	struct npu_rec_info info;
	double max_err;
	double seconds;
};

static int fail(const char *fmt, ...)
{
	va_list ap;

	printf("demo: FAIL ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return -1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint32_t rnd(void)
{
	static uint32_t state = 0x2545f491;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static void *alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		exit(fail("out of memory") ? 1 : 0);
	return p;
}

/* What a product needs: weights that are packed once, tensors, and a recording for all cores. */
struct on_npu {
	struct npu_weights *w;
	struct npu_tensor *x, *y;
	struct npu_rec *rec;
};

static int make(struct on_npu *o, struct npu_dev *dev, const struct product *p, enum npu_prec in,
		enum npu_prec out, const void *b)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = in, .n = p->n, .k = p->k };
	struct npu_rec_opts all = { .size = sizeof(all), .cores = NPU_MAX_CORES };
	int ret = npu_weights_new(dev, &d, b, &o->w);

	ret = ret ? ret : npu_tensor_new(dev, in, p->m, p->k, &o->x);
	ret = ret ? ret : npu_tensor_new(dev, out, p->m, p->n, &o->y);
	ret = ret ? ret : npu_rec_new(dev, &all, &o->rec);
	ret = ret ? ret : npu_rec_matmul(o->rec, o->x, o->w, o->y, NULL);
	return ret ? ret : npu_rec_end(o->rec);
}

static int run(const struct on_npu *o, const struct product *p, const void *a, void *c)
{
	struct npu_rec_failure f = { .size = sizeof(f) };
	int ret = npu_tensor_write(o->x, a, 0);

	ret = ret ? ret : npu_rec_run(o->rec);
	ret = ret ? ret : npu_rec_wait(o->rec, WAIT_NS);
	if (ret && !npu_rec_failure(o->rec, &f))
		printf("%s: %s in task %d\n", p->name, npu_strcause(f.cause), f.task);
	return ret ? ret : npu_tensor_read(o->y, c, 0);
}

static int run_on_npu(struct npu_dev *dev, struct product *p, enum npu_prec in, enum npu_prec out,
		      const void *a, const void *b, void *c)
{
	struct on_npu o = { 0 };
	double start = now();
	int ret = make(&o, dev, p, in, out, b);

	ret = ret ? ret : run(&o, p, a, c);
	p->seconds = now() - start;
	if (ret)
		fail("%s: %s", p->name, strerror(-ret));
	else
		p->info = npu_rec_info(o.rec);
	npu_rec_free(o.rec);
	npu_tensor_free(o.x);
	npu_tensor_free(o.y);
	npu_weights_free(o.w);
	return ret;
}

/* One row of the reference; b is [k][n]. */
static void row_i32(int32_t *restrict row, const int8_t *a, const int32_t *b, uint32_t n,
		    uint32_t k)
{
	memset(row, 0, n * sizeof(*row));
	for (uint32_t i = 0; i < k; i++) {
		const int32_t *restrict bi = b + (size_t)i * n;
		int32_t x = a[i];

		for (uint32_t j = 0; j < n; j++)
			row[j] += x * bi[j];
	}
}

static int check_int8(struct product *p, const int8_t *a, const int32_t *bt, const int32_t *c)
{
	int32_t *row = alloc(p->n, sizeof(*row));
	int ret = 0;

	for (uint32_t m = 0; m < p->m && !ret; m++) {
		row_i32(row, a + (size_t)m * p->k, bt, p->n, p->k);
		for (uint32_t n = 0; n < p->n && !ret; n++)
			if (c[(size_t)m * p->n + n] != row[n])
				ret = fail("int8: C[%u][%u] is %d, not %d", m, n,
					   c[(size_t)m * p->n + n], row[n]);
	}
	free(row);
	return ret;
}

static int demo_int8(struct npu_dev *dev, struct product *p)
{
	size_t na = (size_t)p->m * p->k, nb = (size_t)p->n * p->k;
	int32_t *bt = alloc(nb, sizeof(*bt)), *c = alloc((size_t)p->m * p->n, sizeof(*c));
	int8_t *a = alloc(na, 1), *b = alloc(nb, 1);
	int ret;

	for (size_t i = 0; i < na; i++)
		a[i] = (int8_t)rnd();
	for (uint32_t n = 0; n < p->n; n++)
		for (uint32_t k = 0; k < p->k; k++) {
			b[(size_t)n * p->k + k] = (int8_t)rnd();
			bt[(size_t)k * p->n + n] = b[(size_t)n * p->k + k];
		}
	ret = run_on_npu(dev, p, NPU_PREC_INT8, NPU_PREC_INT32, a, b, c);
	if (!ret)
		ret = check_int8(p, a, bt, c);
	free(a);
	free(b);
	free(bt);
	free(c);
	return ret;
}

static void row_f64(double *restrict row, const float *a, const double *b, uint32_t n, uint32_t k)
{
	for (uint32_t j = 0; j < n; j++)
		row[j] = 0;
	for (uint32_t i = 0; i < k; i++) {
		const double *restrict bi = b + (size_t)i * n;
		double x = a[i];

		for (uint32_t j = 0; j < n; j++)
			row[j] += x * bi[j];
	}
}

/*
 * Products of two fp16 numbers are exact in fp32.  Summing K of them in fp32
 * in any order errs by at most K * u * sum |a||b|, u = 2^-24 when each
 * addition rounds to nearest and 2^-23 when it truncates; the latter is
 * allowed, because the NPU's accumulator is not documented.  sum |a||b| is
 * bounded by |a||b| (Cauchy-Schwarz).
 */
static double error_bound(const struct product *p, double norm_a, double norm_b)
{
	return p->k * 0x1p-23 * norm_a * norm_b;
}

static int check_fp16(struct product *p, const float *a, const double *bt, const double *norm_b,
		      const float *c)
{
	double *row = alloc(p->n, sizeof(*row));
	int ret = 0;

	for (uint32_t m = 0; m < p->m && !ret; m++) {
		double norm_a = 0;

		for (uint32_t k = 0; k < p->k; k++)
			norm_a += (double)a[(size_t)m * p->k + k] * a[(size_t)m * p->k + k];
		norm_a = sqrt(norm_a);
		row_f64(row, a + (size_t)m * p->k, bt, p->n, p->k);
		for (uint32_t n = 0; n < p->n && !ret; n++) {
			double err = fabs((double)c[(size_t)m * p->n + n] - row[n]);

			if (!(err <= error_bound(p, norm_a, norm_b[n])))
				ret = fail("fp16: C[%u][%u] is %.9g, not %.9g", m, n,
					   (double)c[(size_t)m * p->n + n], row[n]);
			if (err > p->max_err)
				p->max_err = err;
		}
	}
	free(row);
	return ret;
}

static float random_half(uint16_t *h)
{
	*h = npu_f32_to_f16((float)(int32_t)rnd() * 0x1p-31f);
	return npu_f16_to_f32(*h);
}

static int demo_fp16(struct npu_dev *dev, struct product *p)
{
	size_t na = (size_t)p->m * p->k, nb = (size_t)p->n * p->k;
	double *bt = alloc(nb, sizeof(*bt)), *norm_b = alloc(p->n, sizeof(*norm_b));
	float *af = alloc(na, sizeof(*af)), *c = alloc((size_t)p->m * p->n, sizeof(*c));
	uint16_t *a = alloc(na, sizeof(*a)), *b = alloc(nb, sizeof(*b));
	int ret;

	for (size_t i = 0; i < na; i++)
		af[i] = random_half(&a[i]);
	for (uint32_t n = 0; n < p->n; n++) {
		for (uint32_t k = 0; k < p->k; k++) {
			double v = random_half(&b[(size_t)n * p->k + k]);

			bt[(size_t)k * p->n + n] = v;
			norm_b[n] += v * v;
		}
		norm_b[n] = sqrt(norm_b[n]);
	}
	ret = run_on_npu(dev, p, NPU_PREC_FP16, NPU_PREC_FP32, a, b, c);
	if (!ret)
		ret = check_fp16(p, af, bt, norm_b, c);
	free(a);
	free(b);
	free(af);
	free(bt);
	free(norm_b);
	free(c);
	return ret;
}

static void describe(const struct product *p)
{
	printf("%s: %u x %u x %u: every element right, largest error %g, %u jobs, %u tasks, %.2f s\n",
	       p->name, p->m, p->k, p->n, p->max_err, p->info.chains, p->info.tasks, p->seconds);
}

struct work {
	unsigned int cores;
	uint64_t tasks, irqs;
};

static void difference(struct work *w, const struct demo_counters *before,
		       const struct demo_counters *after)
{
	memset(w, 0, sizeof(*w));
	for (unsigned int i = 0; i < DEMO_CORES; i++) {
		uint64_t tasks = after->tasks[i] - before->tasks[i];
		uint64_t irqs = after->irqs[i] - before->irqs[i];

		printf("core %u: %llu tasks, %llu interrupts (counted by the %s)\n", i,
		       (unsigned long long)tasks, (unsigned long long)irqs, after->source);
		w->cores += tasks > 0;
		w->tasks += tasks;
		w->irqs += irqs;
	}
}

static int summary(const struct product *i8, const struct product *f16,
		   const struct demo_counters *before, const struct demo_counters *after)
{
	unsigned int jobs = i8->info.chains + f16->info.chains;
	unsigned int tasks = i8->info.tasks + f16->info.tasks;
	double err = fmax(i8->max_err, f16->max_err);
	char counted[96] = "tasks=n/a irqs=n/a", cores[16] = "n/a";
	struct work w;

	if (after->source) {
		difference(&w, before, after);
		if (w.cores < DEMO_CORES)
			return fail("%u of %u cores worked", w.cores, DEMO_CORES);
		if (w.tasks < tasks)
			return fail("%llu tasks were counted, %u submitted",
				    (unsigned long long)w.tasks, tasks);
		snprintf(cores, sizeof(cores), "%u", w.cores);
		snprintf(counted, sizeof(counted), "tasks=%llu irqs=%llu",
			 (unsigned long long)w.tasks, (unsigned long long)w.irqs);
	} else {
		printf("nothing counts what the cores do: neither the model nor debugfs is there\n");
	}
	printf("demo: PASS int8 %ux%ux%u fp16 %ux%ux%u cores=%s max_err=%.3g jobs=%u %s\n",
	       i8->m, i8->k, i8->n, f16->m, f16->k, f16->n, cores, err, jobs, counted);
	return 0;
}

int main(void)
{
	struct product i8 = { .name = "int8", .m = 64, .n = 1536, .k = 1536 };
	struct product f16 = { .name = "fp16", .m = 64, .n = 768, .k = 768 };
	struct demo_counters before, after;
	struct npu_version v = { .size = sizeof(v) };
	struct npu_dev *dev;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = npu_open(NULL, &dev);
	if (ret)
		return fail("no NPU: %s", strerror(-ret)) ? 1 : 0;
	if (!npu_version(dev, &v))
		printf("%s: driver %s %d.%d.%d (%s)\n", npu_path(dev), v.name, v.major, v.minor,
		       v.patch, v.desc);
	demo_counters_read(&before);
	ret = demo_int8(dev, &i8);
	if (!ret) {
		describe(&i8);
		ret = demo_fp16(dev, &f16);
	}
	if (!ret) {
		describe(&f16);
		demo_counters_read(&after);
		ret = summary(&i8, &f16, &before, &after);
	}
	npu_close(dev);
	return ret ? 1 : 0;
}
