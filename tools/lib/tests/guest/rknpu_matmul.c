// SPDX-License-Identifier: GPL-2.0-only
/*
 * Matrix products of many shapes through libnpu and the driver, every element
 * compared with products computed here from the matrices alone.
 *
 * Two kinds of data:
 *
 * - Exact: small integers, for fp16 scaled by a power of two per row and
 *   column.  Every partial sum in any order is an integer (times that power)
 *   below 2^24, so fp32 holds it exactly, int32 trivially, and there is one
 *   right answer whatever the order or width of the accumulator.  fp16 results
 *   are that answer rounded to nearest even.
 *
 * - Real (fp16 only): numbers with full mantissas and varied exponents.  How
 *   the accumulator of the silicon orders and rounds is not documented, so the
 *   bound must hold for any order.  A product of two fp16 numbers has at most
 *   22 significant bits and is exact in fp32.  A sum of K terms in fp32, in any
 *   order, then errs by at most (K - 1) u sum|a||b| to first order, with
 *   u = 2^-24 for rounding to nearest and 2^-23 for truncation; each stretch of
 *   K that another program adds is one more addition.  The bound used is
 *   (K + parts) 2^-23 |a||b|, |a||b| being the product of the norms, which is
 *   no less than sum|a||b| (Cauchy-Schwarz).  An fp16 result may in addition be
 *   off by half a unit in its last place for its one rounding.
 *
 * boot: matmul TEST_LIMIT=600
 * boot: noiommulib
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest.h"
#include "npu.h"
#include "one_op.h"
#include "rknpu_util.h"

#define WAIT_NS		(INT64_C(60) * 1000000000)
/* Real data costs a second, slow reference: only up to this many products. */
#define REAL_MACS	10000000.0

/* The reference is most of the test's time in an emulated guest. Clang has no such attribute, and vectorises anyway. */
#ifdef __clang__
#define FAST
#else
#define FAST		__attribute__((optimize("O3")))
#endif

struct shape {
	uint32_t m, n, k;
	uint32_t cores;
	struct npu_rec_matmul_opts how;
	/* What the product must have been split into at least; chains where the driver knows cores. */
	uint32_t min_chains, min_tasks;
	bool b_is_kn;
};

#define TILES(tm, tn)	.how = { .max_m = (tm), .max_n = (tn) }
#define SHARED		.cores = 3, .min_chains = 3
/* Rows are shared in units of 4: of 16 two cores have 8. */
#define SHARED_16	.cores = 3, .min_chains = 2
/* What one program takes. */
#define MOST_K		4096u

static const struct shape shapes[] = {
	/* smallest, and sizes around the hardware's units of 4, 16 and 32 */
	{ 1, 1, 1 }, { 1, 32, 32 }, { 4, 32, 32 }, { 1, 33, 100 }, { 2, 3, 5 },
	{ 3, 33, 100 }, { 4, 31, 33 }, { 5, 17, 31 }, { 7, 48, 96 }, { 8, 100, 257 },
	{ 13, 77, 129 }, { 16, 16, 16 }, { 31, 65, 63 }, { 33, 129, 100 }, { 127, 33, 65 },
	/* even ones */
	{ 4, 64, 32 }, { 32, 128, 128 }, { 64, 64, 64 }, { 100, 100, 100 }, { 128, 96, 160 },
	/* three cores, by rows and by columns */
	{ 12, 96, 64, SHARED, .min_tasks = 3 }, { 30, 32, 64, SHARED, .min_tasks = 3 },
	{ 4, 96, 64, SHARED, .min_tasks = 3 },
	/* tall and wide: more than one task can hold */
	{ 1020, 32, 32 }, { 1021, 33, 33, .min_tasks = 2 }, { 2500, 20, 40, .min_tasks = 3 },
	{ 4, 4096, 64 }, { 2, 5000, 40, .min_tasks = 2 },
	/* K in several stretches, and their sums */
	{ 16, 64, MOST_K }, { 4, 40, 4097, .min_tasks = 3 }, { 3, 33, 8200, .min_tasks = 5 },
	{ 1, 70, 12288, .min_tasks = 5 },
	/* many tasks on several cores */
	{ 40, 200, 300, SHARED, TILES(8, 64), .min_tasks = 20 },
	{ 50, 100, 96, SHARED, TILES(4, 32), .min_tasks = 52 },
	/* B stored the other way around */
	{ 9, 70, 40, .b_is_kn = true }, { 20, 50, 90, .b_is_kn = true },
	/* projections of transformers */
	{ 1, 1536, 1536, SHARED }, { 4, 1536, 1536, SHARED },
	{ 16, 1536, 1536, SHARED_16 }, { 64, 1536, 1536, SHARED },
	{ 128, 1536, 1536, SHARED, .min_tasks = 4 },
	{ 32, 768, 768, SHARED }, { 16, 3072, 768, SHARED_16 },
	{ 16, 768, 3072, SHARED_16 },
};

enum type { INT8_INT32, INT8_INT8, FP16_FP32, FP16_FP16 };

#define TYPES	4

static const char *const type_name[] = { "int8_int32", "int8_int8", "fp16_fp32", "fp16_fp16" };
static const enum npu_prec operands_of[] = { NPU_PREC_INT8, NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_FP16 };
static const enum npu_prec result_of[] = { NPU_PREC_INT32, NPU_PREC_INT8, NPU_PREC_FP32, NPU_PREC_FP16 };

/* One shape with all its operands and what is to come out. */
struct problem {
	const struct shape *s;
	struct npu_requant rq;
	int8_t *a;			/* [m][k] */
	int8_t *b;			/* [n][k] */
	int32_t *bias;			/* [n] */
	uint16_t *ah, *bh;		/* fp16 operands, as above */
	int32_t *ref;			/* [m][n] exact */
	double *real;			/* [m][n] reference of real data */
	double *norm_a, *norm_b;
	void *c;
};

static uint32_t rnd(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		ksft_exit_fail_msg("out of memory\n");
	return p;
}

static int row_scale(uint32_t m)
{
	return 4 + m % 4;
}

static int col_scale(uint32_t n)
{
	return n % 3;
}

static FAST void axpy_i32(int32_t *restrict row, const int32_t *restrict b, int32_t a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		row[i] += a * b[i];
}

static FAST void axpy_f64(double *restrict row, const double *restrict b, double a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		row[i] += a * b[i];
}

static void reference_exact(struct problem *p)
{
	uint32_t m = p->s->m, n = p->s->n, k = p->s->k;
	int32_t *bk = get(n, sizeof(*bk));

	for (uint32_t i = 0; i < k; i++) {
		for (uint32_t j = 0; j < n; j++)
			bk[j] = p->b[(size_t)j * k + i];
		for (uint32_t r = 0; r < m; r++)
			axpy_i32(p->ref + (size_t)r * n, bk, p->a[(size_t)r * k + i], n);
	}
	free(bk);
}

static void reference_real(struct problem *p)
{
	uint32_t m = p->s->m, n = p->s->n, k = p->s->k;
	double *bk = get(n, sizeof(*bk));

	memset(p->real, 0, (size_t)m * n * sizeof(*p->real));
	memset(p->norm_a, 0, m * sizeof(*p->norm_a));
	memset(p->norm_b, 0, n * sizeof(*p->norm_b));
	for (uint32_t i = 0; i < k; i++) {
		for (uint32_t j = 0; j < n; j++) {
			bk[j] = npu_f16_to_f32(p->bh[(size_t)j * k + i]);
			p->norm_b[j] += bk[j] * bk[j];
		}
		for (uint32_t r = 0; r < m; r++) {
			double a = npu_f16_to_f32(p->ah[(size_t)r * k + i]);

			p->norm_a[r] += a * a;
			axpy_f64(p->real + (size_t)r * n, bk, a, n);
		}
	}
	for (uint32_t r = 0; r < m; r++)
		p->norm_a[r] = sqrt(p->norm_a[r]);
	for (uint32_t j = 0; j < n; j++)
		p->norm_b[j] = sqrt(p->norm_b[j]);
	free(bk);
}

/* fp16 for v * 2^-scale; a table, because conversion is slow when emulated. */
static uint16_t scaled_half(int v, int scale)
{
	static uint16_t table[8][256];
	static bool filled;

	for (int s = 0; s < 8 && !filled; s++)
		for (int i = 0; i < 256; i++)
			table[s][i] = npu_f64_to_f16(ldexp(i - 128, -s));
	filled = true;
	return table[scale][v + 128];
}

/* For long K, B is kept small enough for sums to stay below 2^24. */
static void fill_exact(struct problem *p)
{
	uint32_t m = p->s->m, n = p->s->n, k = p->s->k;
	int amp = k <= 1024 ? 128 : 16;

	for (size_t i = 0; i < (size_t)m * k; i++) {
		p->a[i] = (int)(rnd() % 256) - 128;
		p->ah[i] = scaled_half(p->a[i], row_scale(i / k));
	}
	for (size_t i = 0; i < (size_t)n * k; i++) {
		p->b[i] = (int)(rnd() % (2 * amp)) - amp;
		p->bh[i] = scaled_half(p->b[i], col_scale(i / k));
	}
	for (uint32_t j = 0; j < n; j++)
		p->bias[j] = (int)(rnd() % 20001) - 10000;
}

/* Standard deviation of results about 50; every third shape a power of two, for ties. */
static void choose_requant(struct problem *p, unsigned int index)
{
	double spread = 74 * (p->s->k <= 1024 ? 74 : 9.2) * sqrt(p->s->k) + 5800;

	if (npu_requant_from_double(50 / spread, (int)(index % 21) - 10, &p->rq))
		ksft_exit_fail_msg("no requantisation for factor %g\n", 50 / spread);
	if (index % 3 == 0)
		p->rq.scale = 0x4000;
}

static uint16_t random_half(void)
{
	double v;

	if (rnd() % 64 == 0)
		return 0;
	v = ldexp(1024 + rnd() % 1024, (int)(rnd() % 7) - 14);
	return npu_f64_to_f16(rnd() & 1 ? -v : v);
}

static void fill_real(struct problem *p)
{
	for (size_t i = 0; i < (size_t)p->s->m * p->s->k; i++)
		p->ah[i] = random_half();
	for (size_t i = 0; i < (size_t)p->s->n * p->s->k; i++)
		p->bh[i] = random_half();
}

static void problem_init(struct problem *p, unsigned int index)
{
	size_t m = shapes[index].m, n = shapes[index].n, k = shapes[index].k;

	p->s = &shapes[index];
	p->a = get(m * k, 1);
	p->b = get(n * k, 1);
	p->bias = get(n, sizeof(*p->bias));
	p->ah = get(m * k, sizeof(*p->ah));
	p->bh = get(n * k, sizeof(*p->bh));
	p->ref = get(m * n, sizeof(*p->ref));
	p->real = get(m * n, sizeof(*p->real));
	p->norm_a = get(m, sizeof(double));
	p->norm_b = get(n, sizeof(double));
	p->c = get(m * n, 4);
	choose_requant(p, index);
	fill_exact(p);
	reference_exact(p);
}

static void problem_free(struct problem *p)
{
	free(p->a);
	free(p->b);
	free(p->bias);
	free(p->ah);
	free(p->bh);
	free(p->ref);
	free(p->real);
	free(p->norm_a);
	free(p->norm_b);
	free(p->c);
}

static void *transposed(const void *src, uint32_t n, uint32_t k, size_t size)
{
	char *dst = get((size_t)n * k, size);

	for (uint32_t j = 0; j < n; j++)
		for (uint32_t i = 0; i < k; i++)
			memcpy(dst + ((size_t)i * n + j) * size,
			       (const char *)src + ((size_t)j * k + i) * size, size);
	return dst;
}

static bool split_enough(const struct problem *p, enum type t, const struct npu_rec_info *info)
{
	if ((info->chains >= p->s->min_chains || !rk_ours()) && info->tasks >= p->s->min_tasks)
		return true;
	ksft_print_msg("%s: only %u chains and %u tasks\n", type_name[t], info->chains, info->tasks);
	return false;
}

static int make(struct one_op *o, struct npu_dev *dev, const struct problem *p, enum type t)
{
	bool f16 = operands_of[t] == NPU_PREC_FP16;
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = operands_of[t], .n = p->s->n, .k = p->s->k, .is_kn = p->s->b_is_kn,
	};
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = p->s->cores };
	struct npu_rec_matmul_opts how = p->s->how;
	void *b = f16 ? (void *)p->bh : p->b, *bt = NULL;
	int ret;

	if (t == INT8_INT8) {
		d.rq = p->rq;
		d.bias = p->bias;
	}
	how.size = sizeof(how);
	if (d.is_kn)
		b = bt = transposed(b, d.n, d.k, f16 ? 2 : 1);
	ret = one_op_matmul(o, dev, &d, b, p->s->m, result_of[t], &opts, &how);
	free(bt);
	return ret;
}

/* Run on the NPU; the result starts as something no product leaves. */
static bool run(struct npu_dev *dev, struct problem *p, enum type t)
{
	struct npu_rec_info info;
	struct one_op o;
	int ret = make(&o, dev, p, t);

	memset(p->c, 0xa5, (size_t)p->s->m * p->s->n * 4);
	if (!ret)
		ret = one_op_start(&o, operands_of[t] == NPU_PREC_FP16 ? (void *)p->ah : p->a);
	if (!ret)
		ret = one_op_finish(&o, p->c, WAIT_NS);
	if (ret)
		ksft_print_msg("%s: %s %s\n", type_name[t], strerror(-ret), o.rec ? npu_rec_message(o.rec) : "");
	else
		info = npu_rec_info(o.rec);
	one_op_free(&o);
	return !ret && split_enough(p, t, &info);
}

/* The NPU has no mode that sums up several programs to bytes. */
static bool is_refused(struct npu_dev *dev, const struct problem *p, enum type t)
{
	struct one_op o;
	int ret = make(&o, dev, p, t);

	one_op_free(&o);
	return ret == -EINVAL;
}

static double expected_int8(const struct problem *p, size_t i, uint32_t n)
{
	double y = ((double)p->ref[i] + p->bias[n]) * p->rq.scale;
	int odd = p->rq.zp & 1;

	/* Exact up to here; nearbyint() rounds ties to even, with the zero point. */
	y = nearbyint(ldexp(y, -p->rq.shift) + odd) + p->rq.zp - odd;
	return fmin(fmax(y, -128), 127);
}

static void exact_element(const struct problem *p, enum type t, uint32_t m, uint32_t n,
			  double *got, double *want)
{
	size_t i = (size_t)m * p->s->n + n;
	double sum = ldexp(p->ref[i], -row_scale(m) - col_scale(n));

	switch (t) {
	case INT8_INT32:
		*got = ((int32_t *)p->c)[i];
		*want = p->ref[i];
		break;
	case INT8_INT8:
		*got = ((int8_t *)p->c)[i];
		*want = expected_int8(p, i, n);
		break;
	case FP16_FP32:
		*got = ((float *)p->c)[i];
		*want = sum;
		break;
	case FP16_FP16:
		*got = npu_f16_to_f32(((uint16_t *)p->c)[i]);
		*want = npu_f16_to_f32(npu_f64_to_f16(sum));
		break;
	}
}

static bool check_exact(const struct problem *p, enum type t)
{
	unsigned long bad = 0;

	for (uint32_t m = 0; m < p->s->m; m++)
		for (uint32_t n = 0; n < p->s->n; n++) {
			double got, want;

			exact_element(p, t, m, n, &got, &want);
			if (got == want)
				continue;
			if (!bad++)
				ksft_print_msg("%s: C[%u][%u] is %.9g, not %.9g\n",
					       type_name[t], m, n, got, want);
		}
	if (bad)
		ksft_print_msg("%s: %lu of %llu elements are wrong\n", type_name[t], bad,
			       (unsigned long long)p->s->m * p->s->n);
	return !bad;
}

/* Half a unit in the last place of fp16 for numbers up to @x. */
static double half_ulp16(double x)
{
	int exp;

	frexp(x, &exp);
	return ldexp(0.5, (exp - 1 < -14 ? -14 : exp - 1) - 10);
}

static bool check_real(const struct problem *p, enum type t)
{
	uint32_t parts = (p->s->k + MOST_K - 1) / MOST_K;
	double factor = ((double)p->s->k + parts) * 0x1p-23;

	for (uint32_t m = 0; m < p->s->m; m++)
		for (uint32_t n = 0; n < p->s->n; n++) {
			size_t i = (size_t)m * p->s->n + n;
			double bound = factor * p->norm_a[m] * p->norm_b[n], got;

			if (t == FP16_FP32) {
				got = ((float *)p->c)[i];
			} else {
				got = npu_f16_to_f32(((uint16_t *)p->c)[i]);
				bound += half_ulp16(fabs(p->real[i]) + bound);
			}
			if (fabs(got - p->real[i]) <= bound)
				continue;
			ksft_print_msg("%s: C[%u][%u] is %.9g, more than %.3g from %.9g\n",
				       type_name[t], m, n, got, bound, p->real[i]);
			return false;
		}
	return true;
}

static void test_shape(struct npu_dev *dev, unsigned int index)
{
	bool ok[TYPES], real = false;
	struct problem p;

	problem_init(&p, index);
	for (int t = 0; t < TYPES; t++)
		ok[t] = t == INT8_INT8 && p.s->k > MOST_K ? is_refused(dev, &p, t) :
							    run(dev, &p, t) && check_exact(&p, t);
	if ((double)p.s->m * p.s->n * p.s->k <= REAL_MACS) {
		real = true;
		fill_real(&p);
		reference_real(&p);
		for (int t = FP16_FP32; t <= FP16_FP16; t++)
			ok[t] = ok[t] && run(dev, &p, t) && check_real(&p, t);
	}
	for (int t = 0; t < TYPES; t++)
		ksft_test_result(ok[t], "%s M %u N %u K %u%s\n", type_name[t], p.s->m, p.s->n,
				 p.s->k, t < FP16_FP32 ? "" : real ? ", exact and real data"
								   : ", exact data");
	problem_free(&p);
}

static const struct rk_named cases[] = {
	{ "int8_int32 M N K", "each element of a product of int8 matrices is exact" },
	{ "int8_int8 M N K", "each element is exact after bias and requantisation; refused above K 4096" },
	{ "fp16_fp32 M N K", "each element of a product of fp16 matrices is exact, or within the bound" },
	{ "fp16_fp16 M N K", "the same, rounded to fp16" },
};

int main(int argc, char **argv)
{
	struct npu_dev *dev;
	int ret;

	if (rk_listed(argc, argv, cases, ARRAY_SIZE(cases)))
		return 0;
	ksft_print_header();
	/* --uapi rocket|rknpu */
	if (argc == 3 && !strcmp(argv[1], "--uapi"))
		setenv("NPU_UAPI", argv[2], 1);
	else if (argc > 1)
		ksft_exit_fail_msg("usage: %s [--uapi rocket|rknpu]\n", argv[0]);
	ret = npu_open(NULL, &dev);
	if (ret)
		ksft_exit_skip("no NPU: %s\n", strerror(-ret));
	ksft_set_plan(4 * ARRAY_SIZE(shapes));
	/* The model's time is the host's, and these tasks are long. */
	rk_task_timeout_ms(10000);
	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++)
		test_shape(dev, i);
	rk_task_timeout_ms(RK_TASK_TIMEOUT_MS);
	npu_close(dev);
	ksft_finished();
}
