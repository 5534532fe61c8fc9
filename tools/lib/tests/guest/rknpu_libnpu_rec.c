// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu promises of recordings, on the driver and over both uAPIs: results, one
 * ioctl and one interrupt for any number of tasks, what the CPU touches, and failures.
 *
 * boot: library
 * boot: noiommulib
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "rknpu_libnpu.h"

/* The core that these recordings run on. */
#define CORE		1

LIBNPU_FIXTURE(rec)

/* ---- a feed-forward block ---- */

#define SIDE	4096u

/* y = W^T * relu(W * x) of @SIDE: the second layer's weights are the first's, transposed. */
struct ffn {
	enum npu_prec type;
	void *src;			/* [SIDE][SIDE] */
	float *x;
	struct npu_tensor *in, *mid, *out;
	struct npu_weights *w1, *w2;
	struct npu_rec *rec;
	double *h, *y, *bound;		/* what is expected, and how far off it may be */
};

static const struct npu_requant ffn_rq = { .scale = 15000, .shift = 27, .zp = 0 };

static double weight(const struct ffn *f, size_t i)
{
	return f->type == NPU_PREC_INT8 ? ((int8_t *)f->src)[i] :
					  npu_f16_to_f32(((uint16_t *)f->src)[i]);
}

static bool ffn_alloc(struct ffn *f)
{
	f->src = malloc((size_t)SIDE * SIDE * (f->type == NPU_PREC_INT8 ? 1 : 2));
	f->x = malloc(SIDE * sizeof(*f->x));
	f->h = malloc(SIDE * sizeof(*f->h));
	f->y = malloc(SIDE * sizeof(*f->y));
	f->bound = malloc(SIDE * sizeof(*f->bound));
	return f->src && f->x && f->h && f->y && f->bound;
}

/* Bytes, or halves of which products sum up to about 1. */
static void ffn_weights(struct ffn *f)
{
	if (f->type == NPU_PREC_INT8) {
		for (size_t i = 0; i < (size_t)SIDE * SIDE; i += 4)
			memcpy((char *)f->src + i, &(uint32_t){ libnpu_rnd() }, 4);
		return;
	}
	for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
		((uint16_t *)f->src)[i] = libnpu_small_half();
}

static void ffn_input(struct ffn *f)
{
	for (uint32_t k = 0; k < SIDE; k++)
		f->x[k] = f->type == NPU_PREC_INT8 ? (int8_t)libnpu_rnd() :
			  npu_f16_to_f32(npu_f32_to_f16((float)(libnpu_rnd() % 4096) / 2048 - 1));
}

static int ffn_make(struct ffn *f, struct npu_dev *dev)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = f->type, .n = SIDE, .k = SIDE };
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = 1 << CORE };
	struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	int ret;

	if (f->type == NPU_PREC_INT8)
		d.rq = ffn_rq;
	ret = npu_weights_new(dev, &d, f->src, &f->w1);
	d.is_kn = true;
	ret = ret ?: npu_weights_new(dev, &d, f->src, &f->w2);
	ret = ret ?: npu_tensor_new(dev, f->type, 1, SIDE, &f->in);
	ret = ret ?: npu_tensor_new(dev, f->type, 1, SIDE, &f->mid);
	ret = ret ?: npu_tensor_new(dev, f->type, 1, SIDE, &f->out);
	ret = ret ?: npu_rec_new(dev, &o, &f->rec);
	ret = ret ?: npu_rec_matmul(f->rec, f->in, f->w1, f->mid, &relu);
	ret = ret ?: npu_rec_matmul(f->rec, f->mid, f->w2, f->out, NULL);
	return ret ?: npu_rec_end(f->rec);
}

static void ffn_free(struct ffn *f)
{
	npu_rec_free(f->rec);
	npu_tensor_free(f->in);
	npu_tensor_free(f->mid);
	npu_tensor_free(f->out);
	npu_weights_free(f->w1);
	npu_weights_free(f->w2);
	free(f->src);
	free(f->x);
	free(f->h);
	free(f->y);
	free(f->bound);
}

/* What a layer makes of an exact sum. */
static double stored(const struct ffn *f, double sum)
{
	return f->type == NPU_PREC_INT8 ? npu_requant_apply(&ffn_rq, (int64_t)sum) :
					  npu_f16_to_f32(npu_f64_to_f16(sum));
}

/* Half a unit in the last place of fp16, at least of the smallest. */
static double half_ulp(double v)
{
	return ldexp(1, (fabs(v) < 0x1p-14 ? -14 : ilogb(v)) - 11);
}

/*
 * Integers are exact. Each of the SIDE roundings of a sum in fp32 is off by at most 2^-24
 * of what the sum has become, with random signs: together rarely by more than a few times
 * the square root of SIDE. An element of the middle may also be rounded to the other side.
 * Such errors again have random signs in the result: eight standard deviations.
 */
static void ffn_expect(struct ffn *f)
{
	const double eps = f->type == NPU_PREC_INT8 ? 0 : 8 * sqrt(SIDE) * 0x1p-24;
	double *off = f->bound, *mag = calloc(SIDE, sizeof(double));
	double *sum = calloc(SIDE, sizeof(double)), *err = calloc(SIDE, sizeof(double));

	for (uint32_t n = 0; n < SIDE; n++) {
		double s = 0, m = 0;

		for (uint32_t k = 0; k < SIDE; k++) {
			double p = weight(f, (size_t)n * SIDE + k) * f->x[k];

			s += p;
			m += fabs(p);
		}
		f->h[n] = stored(f, s > 0 ? s : 0);
		off[n] = eps ? eps * m + 2 * half_ulp(s) : 0;
	}
	for (uint32_t k = 0; k < SIDE; k++) {
		for (uint32_t n = 0; n < SIDE; n++) {
			double w = weight(f, (size_t)k * SIDE + n);

			sum[n] += w * f->h[k];
			mag[n] += fabs(w * f->h[k]);
			err[n] += w * off[k] * w * off[k];
		}
	}
	for (uint32_t n = 0; n < SIDE; n++) {
		f->y[n] = stored(f, sum[n]);
		f->bound[n] = eps ? 8 * sqrt(err[n]) + eps * mag[n] + 2 * half_ulp(sum[n]) : 0;
	}
	free(mag);
	free(sum);
	free(err);
}

/* Elements that are too far off, and what the largest ones are, so that zeros would not do. */
static unsigned long ffn_wrong(struct ffn *f, const float *got, double *largest)
{
	unsigned long bad = 0;

	*largest = 0;
	for (uint32_t n = 0; n < SIDE; n++) {
		double least = fabs(f->y[n]) - 8 * f->bound[n];

		bad += !(fabs(got[n] - f->y[n]) <= f->bound[n]);
		/* A reduction by fmax() is an internal error of Debian 12's gcc 12.2. */
		if (least > *largest)
			*largest = least;
	}
	return bad;
}

struct counts {
	struct npu_stats lib;
	unsigned int ioctls;
	long long irqs, jobs, tasks;
	uint64_t kicks;
};

static struct counts count(struct npu_dev *dev)
{
	struct counts c = {
		.lib.size = sizeof(c.lib),
		.ioctls = ioctls, .irqs = rk_cores_stat("irqs"), .jobs = rk_cores_stat("jobs"),
		.tasks = rk_cores_stat("tasks"),
		.kicks = rk_count_all_jobs(NPU_CNT_KICK),
	};

	npu_stats(dev, &c.lib);
	return c;
}

static void ffn_case(struct __test_metadata *_metadata, struct npu_dev *dev, enum npu_prec type)
{
	struct ffn f = { .type = type };
	size_t bytes = SIDE * (type == NPU_PREC_INT8 ? 1 : 2);
	struct counts c0, c1;
	double largest;
	float *y = malloc(SIDE * sizeof(*y));

	RK_REQUIRE_MODEL();
	/* Interrupts of scrubbing a core, which a new client may cause, are not the recording's. */
	rk_scrub(false);
	/* The model takes a second for one of them, and has taken ten on a busy host. */
	rk_task_timeout_ms(60000);
	ASSERT_TRUE(y && ffn_alloc(&f));
	ffn_weights(&f);
	ASSERT_EQ(0, ffn_make(&f, dev));
	EXPECT_EQ(2, npu_rec_info(f.rec).tasks);
	EXPECT_TRUE(npu_rec_info(f.rec).chained);
	for (int i = 0; i < 2; i++) {
		ffn_input(&f);
		c0 = count(dev);
		ASSERT_EQ(0, npu_tensor_write_f32(f.in, f.x, 0, 1));
		ioctls = 0;
		ASSERT_EQ(0, npu_rec_run(f.rec));
		EXPECT_EQ(1, ioctls);
		ASSERT_EQ(0, npu_rec_wait(f.rec, WAIT_NS));
		ASSERT_EQ(0, npu_tensor_read_f32(f.out, y, 0, 1));
		c1 = count(dev);
		EXPECT_EQ(1, c1.irqs - c0.irqs);
		EXPECT_EQ(1, c1.kicks - c0.kicks);
		EXPECT_EQ(1, c1.jobs - c0.jobs);
		EXPECT_EQ(2, c1.tasks - c0.tasks);
		EXPECT_EQ(bytes, c1.lib.packed - c0.lib.packed);
		EXPECT_EQ(bytes, c1.lib.unpacked - c0.lib.unpacked);
		EXPECT_EQ(0, c1.lib.weights - c0.lib.weights);
		EXPECT_EQ(0, c1.lib.programmed - c0.lib.programmed);
		ffn_expect(&f);
		EXPECT_EQ(0, ffn_wrong(&f, y, &largest));
		EXPECT_LT(0, largest);
	}
	ffn_free(&f);
	free(y);
}

RK_TEST_F_TIMEOUT(rec, ffn_int8, 300,
		  "two int8 layers of 4096x4096 are exact, one ioctl and one interrupt, twice")
{
	ffn_case(_metadata, self->dev, NPU_PREC_INT8);
}

RK_TEST_F_TIMEOUT(rec, ffn_fp16, 300,
		  "two fp16 layers of 4096x4096 are right, one ioctl and one interrupt, twice")
{
	ffn_case(_metadata, self->dev, NPU_PREC_FP16);
}

/* ---- small networks ---- */

#define M	20u
#define K	64u
#define N	96u
#define OPS	3

/* Three products with the same weights, in tasks of 8 rows and 32 columns. */
struct net {
	int8_t x[M * K], w[N * K];
	struct npu_tensor *in, *wide, *part[OPS];
	struct npu_weights *weights;
	struct npu_rec *rec;
};

/* Each result is a part of the columns of one tensor. */
static int net_make(struct net *n, struct npu_dev *dev, const struct npu_rec_opts *o)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = N, .k = K };
	struct npu_rec_matmul_opts small = { .size = sizeof(small), .max_m = 8, .max_n = 32 };
	int ret;

	for (size_t i = 0; i < sizeof(n->w); i++)
		n->w[i] = (int8_t)libnpu_rnd();
	ret = npu_weights_new(dev, &d, n->w, &n->weights);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT8, M, K, &n->in);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_INT32, M, OPS * N, &n->wide);
	ret = ret ?: npu_rec_new(dev, o, &n->rec);
	for (int i = 0; i < OPS && !ret; i++) {
		ret = npu_tensor_view(n->wide, 0, M, i * N, N, &n->part[i]);
		ret = ret ?: npu_rec_matmul(n->rec, n->in, n->weights, n->part[i], &small);
	}
	return ret ?: npu_rec_end(n->rec);
}

static void net_free(struct net *n)
{
	npu_rec_free(n->rec);
	for (int i = 0; i < OPS; i++)
		npu_tensor_free(n->part[i]);
	npu_tensor_free(n->wide);
	npu_tensor_free(n->in);
	npu_weights_free(n->weights);
}

static int net_start(struct net *n)
{
	int ret;

	for (size_t i = 0; i < sizeof(n->x); i++)
		n->x[i] = (int8_t)libnpu_rnd();
	ret = npu_tensor_write(n->in, n->x, 0);
	return ret ?: npu_rec_run(n->rec);
}

static bool net_right(struct net *n)
{
	static int32_t y[M][OPS * N];

	if (npu_tensor_read(n->wide, y, 0))
		return false;
	for (uint32_t m = 0; m < M; m++)
		for (uint32_t c = 0; c < OPS * N; c++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < K; k++)
				sum += n->x[m * K + k] * n->w[c % N * K + k];
			if (y[m][c] != sum)
				return false;
		}
	return true;
}

RK_TEST_F(rec, concatenated, "operations write the columns of one tensor, any number of times")
{
	static struct net n;

	ASSERT_EQ(0, net_make(&n, self->dev, NULL));
	EXPECT_EQ(OPS, npu_rec_info(n.rec).ops);
	EXPECT_EQ(OPS * 9, npu_rec_info(n.rec).tasks);
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, net_start(&n));
		ASSERT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
		EXPECT_TRUE(net_right(&n));
	}
	net_free(&n);
}

RK_TEST_F(rec, two_in_turns, "recordings wait for each other where they share memory")
{
	static const int8_t one[32 * 32] = { [0] = 1 };
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = 32, .k = 32,
				      .rq = { .scale = 1 } };
	struct npu_rec *rec[2];
	struct npu_tensor *t[3];
	struct npu_weights *w;
	int8_t x[32] = { 0 }, y[32];

	ASSERT_EQ(0, npu_weights_new(self->dev, &d, one, &w));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, 1, 32, &t[i]));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec[i]));
		ASSERT_EQ(0, npu_rec_matmul(rec[i], t[i], w, t[i + 1], NULL));
		ASSERT_EQ(0, npu_rec_end(rec[i]));
	}
	for (int i = 1; i < 30; i++) {
		x[0] = i;
		ASSERT_EQ(0, npu_tensor_write(t[0], x, 0));
		ASSERT_EQ(0, npu_rec_run(rec[0]));
		ASSERT_EQ(0, npu_rec_run(rec[1]));
		EXPECT_EQ(-EBUSY, npu_rec_run(rec[1]));
		ASSERT_EQ(0, npu_rec_wait(rec[1], WAIT_NS));
		ASSERT_EQ(0, npu_rec_wait(rec[0], WAIT_NS));
		ASSERT_EQ(0, npu_tensor_read(t[2], y, 0));
		EXPECT_EQ(i, y[0]);
	}
	for (int i = 0; i < 2; i++)
		npu_rec_free(rec[i]);
	for (int i = 0; i < 3; i++)
		npu_tensor_free(t[i]);
	npu_weights_free(w);
}

RK_TEST_F(rec, wait_that_expires, "a wait that expires can be repeated")
{
	static struct net n;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, net_make(&n, self->dev, NULL));
	rk_latency_us(10000);
	ASSERT_EQ(0, net_start(&n));
	EXPECT_EQ(-EBUSY, npu_rec_wait(n.rec, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_rec_wait(n.rec, 50 * RK_MS));
	EXPECT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
	EXPECT_TRUE(net_right(&n));
	net_free(&n);
}

/* A hang in task 13 of 27, which is in the second operation. */
RK_TEST_F(rec, hang_in_the_middle,
	  "a hang tells operation, task and core, and the next run is right")
{
	struct npu_rec_opts o = {
		.size = sizeof(o),
		.core_mask = 1 << CORE, .timeout_ns = 100 * RK_MS, .block = true,
	};
	struct npu_rec_failure f = { .size = sizeof(f) };
	static struct net n;

	RK_REQUIRE_MODEL();
	ASSERT_EQ(0, net_make(&n, self->dev, &o));
	rk_fault_arm(CORE, NPU_FAULT_HANG, 13, 1);
	ASSERT_EQ(0, net_start(&n));
	EXPECT_EQ(-ETIME, npu_rec_wait(n.rec, WAIT_NS));
	ASSERT_EQ(0, npu_rec_failure(n.rec, &f));
	EXPECT_EQ(NPU_CAUSE_TIMEOUT, f.cause);
	EXPECT_EQ(-ETIME, f.err);
	EXPECT_EQ(13, f.task);
	EXPECT_EQ(1, f.op);
	EXPECT_STREQ("matmul", f.op_name);
	EXPECT_EQ(CORE, f.core);
	rk_model_calm();
	ASSERT_EQ(0, net_start(&n));
	EXPECT_EQ(0, npu_rec_wait(n.rec, WAIT_NS));
	EXPECT_EQ(-ENOENT, npu_rec_failure(n.rec, &f));
	EXPECT_TRUE(net_right(&n));
	net_free(&n);
}

/* ---- functions by table ---- */

#define HALVES	65536u
#define ACTS	(NPU_ACT_GELU - NPU_ACT_SIGMOID + 1)

/* One recording has all tables one after the other. */
RK_TEST_F(rec, functions, "functions of every finite half are within their bounds")
{
	static uint16_t x[HALVES], y[HALVES];
	struct npu_tensor *tx, *ty[ACTS];
	struct npu_rec *rec;

	for (uint32_t i = 0; i < HALVES; i++)
		x[i] = (i & 0x7c00) == 0x7c00 ? 0 : i;
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, 1024, HALVES / 1024, &tx));
	ASSERT_EQ(0, npu_tensor_write(tx, x, 0));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	for (int a = 0; a < ACTS; a++) {
		ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_FP16, 1024, HALVES / 1024, &ty[a]));
		ASSERT_EQ(0, npu_rec_act(rec, NPU_ACT_SIGMOID + a, tx, ty[a]));
	}
	ASSERT_EQ(0, npu_rec_end(rec));
	ASSERT_EQ(0, npu_rec_run(rec));
	ASSERT_EQ(0, npu_rec_wait(rec, WAIT_NS));
	for (int a = 0; a < ACTS; a++) {
		unsigned long wrong = 0;

		ASSERT_EQ(0, npu_tensor_read(ty[a], y, 0));
		for (uint32_t i = 0; i < HALVES; i++) {
			double v = npu_f16_to_f32(x[i]);
			double want = act_exact(NPU_ACT_SIGMOID + a, v);

			wrong += !(fabs(npu_f16_to_f32(y[i]) - want) <=
				   act_bound(NPU_ACT_SIGMOID + a, v, want));
		}
		EXPECT_EQ(0, wrong)
			TH_LOG("function %d", NPU_ACT_SIGMOID + a);
		npu_tensor_free(ty[a]);
	}
	npu_rec_free(rec);
	npu_tensor_free(tx);
}

/* ---- packing, which is different code on arm64 ---- */

/* [k][n] weights of odd sizes times unit vectors give back the weights. */
RK_TEST_F(rec, transposed_weights, "weights stored as [k][n] are packed right")
{
	enum { ROWS = 37, COLS = 53 };
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = COLS, .k = ROWS, .is_kn = true };
	static int8_t src[ROWS][COLS], unit[ROWS][ROWS];
	static int32_t y[ROWS][COLS];
	struct npu_tensor *x, *out;
	struct npu_weights *w;
	struct npu_rec *rec;

	for (int k = 0; k < ROWS; k++) {
		unit[k][k] = 1;
		for (int n = 0; n < COLS; n++)
			src[k][n] = (int8_t)libnpu_rnd();
	}
	ASSERT_EQ(0, npu_weights_new(self->dev, &d, src, &w));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT8, ROWS, ROWS, &x));
	ASSERT_EQ(0, npu_tensor_new(self->dev, NPU_PREC_INT32, ROWS, COLS, &out));
	ASSERT_EQ(0, npu_rec_new(self->dev, NULL, &rec));
	ASSERT_EQ(0, npu_rec_matmul(rec, x, w, out, NULL));
	ASSERT_EQ(0, npu_rec_end(rec));
	ASSERT_EQ(0, npu_tensor_write(x, unit, 0));
	ASSERT_EQ(0, npu_rec_run(rec));
	ASSERT_EQ(0, npu_rec_wait(rec, WAIT_NS));
	ASSERT_EQ(0, npu_tensor_read(out, y, 0));
	for (int k = 0; k < ROWS; k++)
		for (int n = 0; n < COLS; n++)
			EXPECT_EQ(src[k][n], y[k][n]);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(out);
	npu_weights_free(w);
}

RK_HARNESS_MAIN
