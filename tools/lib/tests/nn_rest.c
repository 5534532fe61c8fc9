// SPDX-License-Identifier: MIT
/*
 * What fills the last 16 bytes of a row behind its last column: it is 0, and gets into no result.
 */
#include "nn.h"

#define ROWS	4u
#define MOST	32u

static struct npu_table *table;

/* 0 becomes 32768, whose sum and square are infinite. */
static double cliff(double x, void *arg)
{
	(void)arg;
	return x < 1 ? 32766 : 1;
}

static struct npu_tensor *same(struct npu_dev *dev, uint32_t rows, uint32_t cols, float value)
{
	size_t n = (size_t)rows * cols;
	float *v = malloc(n * sizeof(*v));
	struct npu_tensor *t;

	for (size_t i = 0; i < n; i++)
		v[i] = value;
	t = nn_tensor(dev, NPU_PREC_FP16, rows, cols, v);
	free(v);
	return t;
}

static struct npu_tensor *empty(struct npu_dev *dev, uint32_t rows, uint32_t cols)
{
	return nn_tensor(dev, NPU_PREC_FP16, rows, cols, NULL);
}

static struct npu_weights *ones(struct npu_dev *dev, uint32_t n, uint32_t k)
{
	float *v = malloc((size_t)n * k * sizeof(*v));
	struct npu_weights *w;

	for (size_t i = 0; i < (size_t)n * k; i++)
		v[i] = 1;
	w = nn_weights(dev, n, k, v, NULL);
	free(v);
	return w;
}

/* Elements behind the last column that are not 0, or -0. */
static unsigned int rest(const struct npu_tensor *t)
{
	uint32_t lanes = npu_tensor_lanes(t), first = t->shape.cols % lanes;
	unsigned int n = 0;

	for (uint32_t r = 0; first && r < t->shape.rows; r++)
		for (uint32_t i = first; i < lanes; i++)
			n += !!(((uint16_t *)(void *)npu_tensor_atom(t, t->shape.cols / lanes, r))[i] & 0x7fff);
	return n;
}

/* ---- chains of three operations ---- */

enum last { MATMUL, SUM, NORM, TURN };

static const char * const last_name[] = { "matmul", "sum", "RMSNorm", "transposition" };

struct chain {
	enum npu_act act;	/* or none, which is the table */
	bool mul;
	enum last last;
	uint32_t n;
};

static int append_last(struct npu_rec *rec, enum last last, const struct npu_tensor *b,
		       const struct npu_weights *w, struct npu_tensor *y)
{
	switch (last) {
	case MATMUL:
		return npu_rec_matmul(rec, b, w, y, NULL);
	case SUM:
		return npu_rec_reduce_sum(rec, b, y);
	case NORM:
		return npu_rec_rms_norm(rec, b, y, NULL);
	default:
		return npu_rec_transpose(rec, b, y);
	}
}

/* Of 2 everywhere. */
static double expected(const struct chain *c)
{
	double a = c->act == NPU_ACT_RECIPROCAL ? 0.5 : c->act == NPU_ACT_RSQRT ? M_SQRT1_2 : 1;
	double b = c->mul ? a * a : a + a;

	return c->last == NORM ? 1 : c->last == TURN ? b : c->n * b;
}

static void chain_case(struct npu_dev *dev, const struct chain *c)
{
	uint32_t rows = c->last == TURN ? c->n : ROWS;
	uint32_t cols = c->last == MATMUL ? MOST : c->last == SUM ? 1 : c->last == NORM ? c->n : ROWS;
	struct npu_tensor *x = same(dev, ROWS, c->n, 2), *a = empty(dev, ROWS, c->n);
	struct npu_tensor *b = empty(dev, ROWS, c->n), *y = empty(dev, rows, cols);
	struct npu_weights *w = ones(dev, MOST, c->n);
	struct npu_rec *rec = nn_rec(dev);
	float out[MOST * MOST] = { 0 };
	double worst = 0;
	int ret = c->act ? npu_rec_act(rec, c->act, x, a) : npu_rec_table(rec, table, x, a);

	ret = ret ? ret : c->mul ? npu_rec_mul(rec, a, a, b) : npu_rec_add(rec, a, a, b);
	ret = nn_run(rec, ret ? ret : append_last(rec, c->last, b, w, y));
	ret = ret ? ret : npu_tensor_read_f32(y, out, 0, 1);
	for (uint32_t i = 0; i < rows * cols; i++)
		worst = nn_worse(worst, fabs(out[i] / expected(c) - 1));
	tap_ok(!ret && worst < 0.01, "%s, %s, %s of %u columns: error %d, off by %g, the first is %g, not %g",
	       c->act == NPU_ACT_RECIPROCAL ? "reciprocal" : c->act == NPU_ACT_RSQRT ? "rsqrt" : "table",
	       c->mul ? "mul" : "add", last_name[c->last], c->n, ret, worst, (double)out[0], expected(c));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(y);
	npu_weights_free(w);
}

static void test_chains(struct npu_dev *dev)
{
	static const enum npu_act act[] = { NPU_ACT_RECIPROCAL, NPU_ACT_RSQRT, NPU_ACT_NONE };

	for (size_t i = 0; i < ARRAY_SIZE(act); i++)
		for (int mul = 0; mul < 2; mul++)
			for (int last = MATMUL; last <= TURN; last++)
				for (uint32_t n = 20; n <= 24; n += 4)
					chain_case(dev, &(struct chain){ act[i], mul, (enum last)last, n });
}

/* The mean lies far from what its differences are divided by. */
static void test_level(struct npu_dev *dev, uint32_t n)
{
	struct npu_norm_opts o = { .size = sizeof(o), .epsilon = 1e-6f };
	float v[ROWS * MOST], out[ROWS * MOST] = { 0 };
	struct npu_tensor *x, *y = empty(dev, ROWS, n);
	struct npu_rec *rec = nn_rec(dev);
	double worst = 0;
	int ret;

	for (uint32_t i = 0; i < ROWS * n; i++)
		v[i] = i % 2 ? 1000.5f : 1000;
	x = nn_tensor(dev, NPU_PREC_FP16, ROWS, n, v);
	ret = nn_run(rec, npu_rec_layer_norm(rec, x, y, &o));
	ret = ret ? ret : npu_tensor_read_f32(y, out, 0, 1);
	for (uint32_t i = 0; i < ROWS * n; i++)
		worst = nn_worse(worst, fabs(out[i] - (i % 2 ? 1 : -1)));
	tap_ok(!ret && worst <= 0.03, "LayerNorm of %u columns of 1000 and 1000.5: error %d, off by %g", n, ret,
	       worst);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* ---- each operation ---- */

static uint32_t cores = 1;

static struct npu_rec *spread(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	struct npu_rec *rec = NULL;

	if (npu_rec_new(dev, &o, &rec))
		abort();
	return rec;
}

static void ends(const char *name, struct npu_rec *rec, int ret, struct npu_tensor *y)
{
	unsigned int n;

	ret = nn_run(rec, ret);
	n = rest(y);
	tap_ok(!ret && !n, "%s to %u x %u, %u cores: error %d, %u tasks, %u behind the last column", name,
	       y->shape.rows, y->shape.cols, cores, ret, npu_rec_info(rec).tasks, n);
	npu_rec_free(rec);
	npu_tensor_free(y);
}

static void test_functions(struct npu_dev *dev, const struct npu_tensor *x)
{
	uint32_t m = x->shape.rows, n = x->shape.cols;

	for (int act = NPU_ACT_SIGMOID; act <= NPU_ACT_RECIPROCAL; act++) {
		struct npu_tensor *y = nn_result(dev, NPU_PREC_FP16, m, n);
		struct npu_rec *rec = spread(dev);
		char name[40];

		snprintf(name, sizeof(name), "activation %d", act);
		ends(name, rec, npu_rec_act(rec, (enum npu_act)act, x, y), y);
	}
}

static void test_products(struct npu_dev *dev, const struct npu_tensor *x)
{
	uint32_t n = x->shape.cols;
	struct npu_rec_matmul_opts o = { .size = sizeof(o), .act = NPU_ACT_COS };
	struct npu_rec_conv_opts co = { .size = sizeof(co), .act = NPU_ACT_EXP };
	struct npu_conv_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_FP16, .in_c = n, .out_c = n, .kw = 1, .kh = 1,
	};
	struct npu_window win = { .size = sizeof(win), .in_w = x->shape.rows, .in_h = 1, .kw = 1, .kh = 1 };
	struct npu_tensor *y = nn_result(dev, NPU_PREC_FP16, x->shape.rows, n);
	struct npu_weights *w = ones(dev, n, n), *cw = NULL;
	uint16_t *zero = calloc((size_t)n * n, sizeof(*zero));
	struct npu_rec *rec = spread(dev);

	ends("matmul with cos", rec, npu_rec_matmul(rec, x, w, y, &o), y);
	y = nn_result(dev, NPU_PREC_FP16, x->shape.rows, n);
	rec = spread(dev);
	if (npu_conv_weights_new(dev, &d, zero, &cw))
		abort();
	ends("conv with exp", rec, npu_rec_conv(rec, x, cw, &win, y, &co), y);
	npu_weights_free(w);
	npu_weights_free(cw);
	free(zero);
}

static void test_layers(struct npu_dev *dev, const struct npu_tensor *x)
{
	uint32_t m = x->shape.rows, n = x->shape.cols;
	struct npu_tensor *y = nn_result(dev, NPU_PREC_FP16, m, n), *col = same(dev, m, 1, 3);
	struct npu_rec *rec = spread(dev);

	ends("softmax", rec, npu_rec_softmax(rec, x, y, NULL), y);
	y = nn_result(dev, NPU_PREC_FP16, m, n);
	rec = spread(dev);
	ends("RMSNorm", rec, npu_rec_rms_norm(rec, x, y, NULL), y);
	y = nn_result(dev, NPU_PREC_FP16, m, n);
	rec = spread(dev);
	ends("LayerNorm", rec, npu_rec_layer_norm(rec, x, y, NULL), y);
	y = nn_result(dev, NPU_PREC_FP16, m, n);
	rec = spread(dev);
	ends("sum with a column", rec, npu_rec_add(rec, x, col, y), y);
	y = nn_result(dev, NPU_PREC_FP16, m, 1);
	rec = spread(dev);
	ends("maximum", rec, npu_rec_reduce_max(rec, x, y), y);
	y = nn_result(dev, NPU_PREC_FP16, m, 1);
	rec = spread(dev);
	ends("mean", rec, npu_rec_reduce_mean(rec, x, y), y);
	y = nn_result(dev, NPU_PREC_FP16, n, m);
	rec = spread(dev);
	ends("transposition", rec, npu_rec_transpose(rec, x, y), y);
	npu_tensor_free(col);
}

static void test_operations(struct npu_dev *dev, uint32_t m, uint32_t n)
{
	struct npu_tensor *x = same(dev, m, n, -20);

	test_functions(dev, x);
	test_products(dev, x);
	test_layers(dev, x);
	npu_tensor_free(x);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	if (npu_table_new(cliff, NULL, -4, 4, &table))
		abort();
	test_chains(dev);
	test_level(dev, 20);
	test_level(dev, 24);
	test_operations(dev, 4, 20);
	test_operations(dev, 1, 5);
	test_operations(dev, 6, 24);
	cores = 3;
	test_operations(dev, 30, 20);
	test_operations(dev, 4, 77);
	npu_table_free(table);
	return nn_end(dev);
}
