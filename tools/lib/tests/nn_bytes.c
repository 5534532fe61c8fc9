// SPDX-License-Identifier: MIT
/*
 * Element-wise operations of bytes on an RK3576, an RK3568 and an RK3562 against integers, which they equal, and
 * what is refused.
 */
#include "nn.h"

#define I8	NPU_PREC_INT8
#define ANY	60
/* What no element of a result is known to be. */
#define UNTOUCHED	85

/* Two have tasks of the DPU alone: of any rows and so many columns, and so many that load tables. */
static const struct bytes_chip {
	uint32_t soc, cores;
	bool flies, multiplies;
	uint32_t fly_cols, loads;
} bytes_chips[] = {
	{ 3576, 2, false, true, 0, 0 }, { 3568, 1, true, false, 1024, 2 }, { 3562, 1, true, true, 1280, 1 },
}, *chip;

#define FLY_ROWS	1020

static uint32_t tasks_of(uint32_t rows, uint32_t cols, uint32_t convolutions)
{
	return chip->flies ? (uint32_t)(div_up(rows, FLY_ROWS) * div_up(cols, chip->fly_cols)) : convolutions;
}

static int8_t any_byte(void)
{
	return (int8_t)(nn_rnd() * 128);
}

static int32_t any_of(int32_t least, int32_t most)
{
	nn_seed = nn_seed * 1664525u + 1013904223u;
	return least + (int32_t)((nn_seed >> 8) % (uint32_t)(most - least + 1));
}

static int8_t *bytes(size_t n)
{
	int8_t *v = malloc(n);

	for (size_t i = 0; i < n; i++)
		v[i] = any_byte();
	return v;
}

/* Memory with a hole, of which a tensor is a part. */
struct place {
	struct npu_tensor *all, *t;
};

/* @row and @col more of them are before it, and as many behind. */
static struct place place_new(struct npu_dev *dev, uint32_t rows, uint32_t cols, uint32_t row, uint32_t col)
{
	struct place p = { .all = nn_tensor(dev, I8, rows + 2 * row, cols + 2 * col, NULL) };
	struct npu_shape s = npu_tensor_shape(p.all);
	int8_t *v = malloc((size_t)s.rows * s.cols);

	memset(v, UNTOUCHED, (size_t)s.rows * s.cols);
	npu_tensor_write(p.all, v, 0);
	free(v);
	if (npu_tensor_view(p.all, row, rows, col, cols, &p.t))
		abort();
	return p;
}

static void place_free(struct place *p)
{
	npu_tensor_free(p->t);
	npu_tensor_free(p->all);
}

/* Elements around the tensor that something wrote. */
static unsigned int written_around(const struct place *p, uint32_t row, uint32_t col)
{
	struct npu_shape all = npu_tensor_shape(p->all), s = npu_tensor_shape(p->t);
	int8_t *v = malloc((size_t)all.rows * all.cols);
	unsigned int n = 0;

	npu_tensor_read(p->all, v, 0);
	for (uint32_t r = 0; r < all.rows; r++)
		for (uint32_t c = 0; c < all.cols; c++)
			if (r < row || r >= row + s.rows || c < col || c >= col + s.cols)
				n += v[r * all.cols + c] != UNTOUCHED;
	free(v);
	return n;
}

/* ---- sums ---- */

struct sum_case {
	const char *name;
	uint32_t rows, cols;
	uint32_t row, col;	/* around the tensors */
	struct npu_byte_sum how;
	uint32_t tasks;		/* of an RK3576 */
};

#define HOW(...)	{ .size = sizeof(struct npu_byte_sum), __VA_ARGS__ }

static const struct sum_case sums[] = {
	{ "one task", 36, 64, 0, 0, HOW(127, 127, 0, 0, { 258, 16, 0 }), 1 },
	{ "one element", 1, 1, 0, 0, HOW(127, 64, -128, 127, { 20000, 22, -3 }), 1 },
	{ "a row", 1, 4000, 0, 0, HOW(3, -7, 5, 0, { 9000, 17, 100 }), 1 },
	{ "ReLU", 12, 40, 0, 0, HOW(100, -90, 9, -11, { 30000, 22, -128 }, NPU_ACT_RELU), 1 },
	{ "saturation", 8, 32, 0, 0, HOW(127, 127, -128, -128, { 32767, 15, 0 }), 1 },
	{ "two tasks", 64, 500, 0, 0, HOW(-127, 127, 1, 2, { 17000, 21, 7 }), 3 },
	{ "the last positions", 1020, 17, 0, 0, HOW(88, 127, 0, 0, { 17000, 21, 0 }), 2 },
	{ "columns of larger tensors", 20, 96, 0, 32, HOW(99, 101, -4, 4, { 16384, 22, 0 }), 1 },
	{ "rows of larger tensors", 20, 64, 8, 0, HOW(99, 101, -4, 4, { 16384, 22, 0 }), 4 },
	{ "parts of both", 8, 64, 4, 64, HOW(0, 101, 7, -4, { 16384, 21, 9 }), 4 },
	{ "many rows of larger tensors", 2044, 32, 4, 0, HOW(99, 50, -4, 4, { 16384, 22, 0 }), 6 },
};

static unsigned int wrong_sums(const struct sum_case *c, const int8_t *a, const int8_t *b, const int8_t *y)
{
	const struct npu_byte_sum *h = &c->how;
	unsigned int bad = 0;

	for (size_t i = 0; i < (size_t)c->rows * c->cols; i++) {
		int32_t v = (a[i] - h->a_zp) * h->a_weight + (b[i] - h->b_zp) * h->b_weight;

		bad += y[i] != npu_requant_apply(&h->rq, h->act && v < 0 ? 0 : v);
	}
	return bad;
}

/* The second operand is behind the first one in memory, or before it. */
static unsigned int sum_wrong(struct npu_dev *dev, const struct sum_case *c, bool before, int *ret, uint32_t *tasks)
{
	struct place p[3] = { place_new(dev, c->rows, c->cols, c->row, c->col),
			      place_new(dev, c->rows, c->cols, c->row, c->col),
			      place_new(dev, c->rows, c->cols, c->row, c->col) };
	struct npu_tensor *a = p[before].t, *b = p[!before].t;
	size_t n = (size_t)c->rows * c->cols;
	int8_t *va = bytes(n), *vb = bytes(n), *vy = calloc(n, 1);
	struct npu_rec_info info = { .size = sizeof(info) };
	struct npu_rec *rec = nn_rec(dev);
	unsigned int bad;

	npu_tensor_write(a, va, 0);
	npu_tensor_write(b, vb, 0);
	*ret = nn_run(rec, npu_rec_add_bytes(rec, a, b, &c->how, p[2].t));
	npu_rec_get_info(rec, &info);
	*tasks = info.tasks;
	npu_tensor_read(p[2].t, vy, 0);
	bad = wrong_sums(c, va, vb, vy) + written_around(&p[2], c->row, c->col);
	npu_rec_free(rec);
	for (int i = 0; i < 3; i++)
		place_free(&p[i]);
	free(va);
	free(vb);
	free(vy);
	return bad;
}

static void sum_case(struct npu_dev *dev, const struct sum_case *c)
{
	uint32_t tasks;
	int ret;

	for (int before = 0; before < 2; before++) {
		unsigned int bad = sum_wrong(dev, c, before, &ret, &tasks);

		tap_ok(!ret && !bad && tasks == tasks_of(c->rows, c->cols, c->tasks),
		       "sum, %s, %s: error %d, %u wrong, %u tasks", c->name, before ? "b before a" : "a before b", ret,
		       bad, tasks);
	}
}

static void test_any_sum(struct npu_dev *dev)
{
	unsigned int right = 0;
	uint32_t tasks;
	int ret;

	for (int i = 0; i < ANY; i++) {
		struct sum_case c = {
			.rows = (uint32_t)any_of(1, 60), .cols = (uint32_t)any_of(1, 200),
			.how = HOW(any_of(-127, 127), any_of(-127, 127), any_of(-128, 127), any_of(-128, 127),
				   { (uint16_t)any_of(1, 32767), (uint8_t)any_of(14, 24), any_of(-128, 127) },
				   any_of(0, 1) ? NPU_ACT_RELU : NPU_ACT_NONE),
		};

		right += !sum_wrong(dev, &c, i % 2, &ret, &tasks) && !ret;
	}
	tap_ok(right == ANY, "%u of %d sums of any size", right, ANY);
}

/* With weights from real factors a sum is off by what they are, and its rounding. */
static void test_factors(void)
{
	static const double factor[][2] = {
		{ 1, 1 }, { 0.5, -0.5 }, { 0.013, 0.9 }, { -3.7, 0.001 }, { 1e-4, 5e-5 }, { 100, 33.3 }, { 0, 1 },
	};
	struct npu_byte_sum how = HOW(0);
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(factor); i++) {
		double a = factor[i][0], b = factor[i][1], big = fmax(fabs(a), fabs(b)), f;

		bad += npu_byte_sum_from_double(a, b, 5, &how) || how.rq.zp != 5;
		f = how.rq.scale / ldexp(1, how.rq.shift);
		bad += fabs(how.a_weight * f - a) > big * 0x1p-8 || fabs(how.b_weight * f - b) > big * 0x1p-8;
	}
	tap_ok(!bad, "weights of real factors: %d are too far off", bad);
	tap_ok(npu_byte_sum_from_double(0, 0, 0, &how) == -ERANGE && npu_byte_sum_from_double(1, NAN, 0, &how) == -ERANGE &&
	       npu_byte_sum_from_double(1, INFINITY, 0, &how) == -ERANGE &&
	       npu_byte_sum_from_double(1e9, 1, 0, &how) == -ERANGE && npu_byte_sum_from_double(1, 1, 128, &how) == -ERANGE,
	       "factors out of range are refused");
}

static void refused_sum(struct npu_dev *dev, int err, const char *words, const struct npu_byte_sum *how,
			const struct npu_tensor *a, const struct npu_tensor *b, struct npu_tensor *y)
{
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_add_bytes(rec, a, b, how, y);

	tap_ok(ret == err && strstr(npu_rec_message(rec), words), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
}

static void test_refused_sums(struct npu_dev *dev)
{
	static const struct npu_byte_sum good = HOW(1, 1, 0, 0, { 1, 0, 0 });
	struct npu_tensor *a = nn_tensor(dev, I8, 8, 64, NULL), *b = nn_tensor(dev, I8, 8, 64, NULL);
	struct npu_tensor *y = nn_tensor(dev, I8, 8, 64, NULL), *half = nn_tensor(dev, NPU_PREC_FP16, 8, 64, NULL);
	struct npu_tensor *other = nn_tensor(dev, I8, 1, 64, NULL), *row, *row_b;
	struct npu_byte_sum how = good;

	npu_tensor_view(a, 3, 1, 0, 64, &row);
	npu_tensor_view(b, 3, 1, 0, 64, &row_b);
	refused_sum(dev, -EINVAL, "share memory", &good, a, a, y);
	refused_sum(dev, -EINVAL, "share memory", &good, a, b, b);
	refused_sum(dev, -EINVAL, "FP16", &good, a, half, y);
	refused_sum(dev, -EINVAL, "1 x 64", &good, a, other, y);
	if (!chip->flies)
		refused_sum(dev, -EOPNOTSUPP, "1 positions and 32 channels", &good, row, row_b, other);
	refused_sum(dev, -ERANGE, "scale 0", NULL, a, b, y);
	how.a_weight = 128;
	refused_sum(dev, -ERANGE, "128", &how, a, b, y);
	how = good;
	how.b_zp = -129;
	refused_sum(dev, -ERANGE, "-129", &how, a, b, y);
	how = good;
	how.act = NPU_ACT_TANH;
	refused_sum(dev, -EINVAL, "tanh", &how, a, b, y);
	how = good;
	how.size = 8;
	refused_sum(dev, -EINVAL, "", &how, a, b, y);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(y);
	npu_tensor_free(half);
	npu_tensor_free(other);
	npu_tensor_free(row);
	npu_tensor_free(row_b);
}

/* ---- products ---- */

#define TIMES(...)	{ .size = sizeof(struct npu_byte_product), __VA_ARGS__ }

struct product_case {
	const char *name;
	uint32_t rows, cols;
	uint32_t row, col;	/* around the tensors */
	struct npu_byte_product how;
	uint32_t tasks;
};

static const struct product_case products[] = {
	{ "one task", 36, 64, 0, 0, TIMES(0, 0, { 20000, 21, 0 }), 1 },
	{ "one element", 1, 1, 0, 0, TIMES(-128, 127, { 32767, 23, -3 }), 1 },
	{ "a row", 1, 4000, 0, 0, TIMES(5, 0, { 9000, 19, 100 }), 1 },
	{ "saturation", 8, 32, 0, 0, TIMES(127, -128, { 32767, 15, 0 }), 1 },
	{ "two tasks", 64, 544, 0, 0, TIMES(1, 2, { 17000, 21, 7 }), 2 },
	{ "the last positions", 1021, 33, 0, 0, TIMES(0, 0, { 17000, 21, 0 }), 3 },
	{ "columns of larger tensors", 20, 96, 0, 32, TIMES(-4, 4, { 16384, 21, 0 }), 1 },
	{ "rows of larger tensors", 20, 64, 8, 0, TIMES(-4, 4, { 16384, 21, 0 }), 4 },
	{ "a row of larger tensors", 1, 64, 3, 32, TIMES(-4, 4, { 16384, 21, 0 }), 4 },
	{ "many rows of larger tensors", 2044, 32, 4, 0, TIMES(-4, 4, { 16384, 22, 0 }), 6 },
};

/* Of the first operand alone it is a square. */
static unsigned int product_wrong(struct npu_dev *dev, const struct product_case *c, bool square, int *ret,
				  uint32_t *tasks)
{
	struct place a = place_new(dev, c->rows, c->cols, c->row, c->col);
	struct place b = place_new(dev, c->rows, c->cols, c->row, c->col);
	struct place y = place_new(dev, c->rows, c->cols, c->row, c->col);
	size_t n = (size_t)c->rows * c->cols;
	int8_t *va = bytes(n), *vb = bytes(n), *vy = calloc(n, 1);
	struct npu_rec_info info = { .size = sizeof(info) };
	struct npu_rec *rec = nn_rec(dev);
	unsigned int bad = 0;

	npu_tensor_write(a.t, va, 0);
	npu_tensor_write(b.t, vb, 0);
	*ret = nn_run(rec, npu_rec_mul_bytes(rec, a.t, square ? a.t : b.t, &c->how, y.t));
	npu_rec_get_info(rec, &info);
	*tasks = info.tasks;
	npu_tensor_read(y.t, vy, 0);
	for (size_t i = 0; i < n; i++)
		bad += vy[i] != npu_requant_apply(&c->how.rq, (va[i] - c->how.a_zp) *
						  ((square ? va : vb)[i] - c->how.b_zp));
	bad += written_around(&y, c->row, c->col);
	npu_rec_free(rec);
	place_free(&a);
	place_free(&b);
	place_free(&y);
	free(va);
	free(vb);
	free(vy);
	return bad;
}

static void test_products(struct npu_dev *dev)
{
	unsigned int right = 0;
	uint32_t tasks;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(products); i++) {
		const struct product_case *c = &products[i];
		unsigned int bad = product_wrong(dev, c, i % 3 == 2, &ret, &tasks);

		tap_ok(!ret && !bad && tasks == tasks_of(c->rows, c->cols, c->tasks), "product, %s: error %d, %u wrong, %u tasks", c->name, ret, bad,
		       tasks);
	}
	for (int i = 0; i < ANY; i++) {
		struct product_case c = {
			.rows = (uint32_t)any_of(1, 60), .cols = (uint32_t)any_of(1, 200),
			.how = TIMES(any_of(-128, 127), any_of(-128, 127),
				     { (uint16_t)any_of(1, 32767), (uint8_t)any_of(14, 24), any_of(-128, 127) }),
		};

		right += !product_wrong(dev, &c, i % 2, &ret, &tasks) && !ret;
	}
	tap_ok(right == ANY, "%u of %d products of any size", right, ANY);
}

static void refused_product(struct npu_dev *dev, int err, const char *words, const struct npu_byte_product *how,
			    const struct npu_tensor *a, const struct npu_tensor *b, struct npu_tensor *y)
{
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_mul_bytes(rec, a, b, how, y);

	tap_ok(ret == err && strstr(npu_rec_message(rec), words), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
}

static void test_refused_products(struct npu_dev *dev)
{
	static const struct npu_byte_product good = TIMES(0, 0, { 1, 0, 0 });
	struct npu_tensor *a = nn_tensor(dev, I8, 8, 64, NULL), *b = nn_tensor(dev, I8, 8, 64, NULL);
	struct npu_tensor *half = nn_tensor(dev, NPU_PREC_FP16, 8, 64, NULL), *row = nn_tensor(dev, I8, 1, 64, NULL);
	struct npu_tensor *y = nn_tensor(dev, I8, 8, 64, NULL);
	struct npu_byte_product how = good;

	refused_product(dev, -EINVAL, "shares memory", &good, a, b, b);
	refused_product(dev, -EINVAL, "shares memory", &good, a, b, a);
	refused_product(dev, -EINVAL, "FP16", &good, a, half, y);
	refused_product(dev, -EINVAL, "1 x 64", &good, a, row, y);
	refused_product(dev, -ERANGE, "scale 0", NULL, a, b, y);
	how.a_zp = 128;
	refused_product(dev, -ERANGE, "128", &how, a, b, y);
	how = good;
	how.b_zp = -129;
	refused_product(dev, -ERANGE, "-129", &how, a, b, y);
	how = good;
	how.size = 8;
	refused_product(dev, -EINVAL, "", &how, a, b, y);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(half);
	npu_tensor_free(row);
	npu_tensor_free(y);
}

/* ---- functions ---- */

struct map_case {
	const char *name;
	uint32_t rows, cols;
	uint32_t row, col;	/* around the tensors */
	uint32_t tasks;
};

static const struct map_case maps[] = {
	{ "all bytes", 8, 32, 0, 0, 2 }, { "one element", 1, 1, 0, 0, 2 }, { "a row", 1, 1000, 0, 0, 2 },
	{ "two tasks", 64, 544, 0, 0, 3 }, { "the last positions", 1021, 33, 0, 0, 4 },
	{ "columns of larger tensors", 20, 96, 0, 32, 2 }, { "rows of larger tensors", 20, 64, 8, 0, 3 },
	{ "many rows of larger tensors", 2044, 32, 4, 0, 4 },
};

/* Each byte is there if there is room. */
static int8_t *all_bytes(size_t n)
{
	int8_t *v = bytes(n);

	for (size_t i = 0; i < n && i < 256; i++)
		v[i] = (int8_t)(i * 5);
	return v;
}

/* One function after the other: the LUT is loaded for each. */
static unsigned int map_wrong(struct npu_dev *dev, const struct map_case *c, int *ret, uint32_t *tasks)
{
	struct place x = place_new(dev, c->rows, c->cols, c->row, c->col);
	struct place y = place_new(dev, c->rows, c->cols, c->row, c->col);
	struct place z = place_new(dev, c->rows, c->cols, c->row, c->col);
	size_t n = (size_t)c->rows * c->cols;
	int8_t *f = bytes(256), *g = bytes(256), *vx = all_bytes(n), *vy = calloc(n, 1), *vz = calloc(n, 1);
	struct npu_rec_info info = { .size = sizeof(info) };
	struct npu_rec *rec = nn_rec(dev);
	unsigned int bad = 0;

	npu_tensor_write(x.t, vx, 0);
	*ret = npu_rec_map_bytes(rec, f, x.t, y.t);
	*ret = nn_run(rec, *ret ? *ret : npu_rec_map_bytes(rec, g, y.t, z.t));
	npu_rec_get_info(rec, &info);
	*tasks = info.tasks / 2;
	npu_tensor_read(y.t, vy, 0);
	npu_tensor_read(z.t, vz, 0);
	for (size_t i = 0; i < n; i++)
		bad += (vy[i] != f[vx[i] + 128]) + (vz[i] != g[vy[i] + 128]);
	bad += written_around(&y, c->row, c->col) + written_around(&z, c->row, c->col);
	npu_rec_free(rec);
	place_free(&x);
	place_free(&y);
	place_free(&z);
	free(f);
	free(g);
	free(vx);
	free(vy);
	free(vz);
	return bad;
}

static void map_case(struct npu_dev *dev, const struct map_case *c)
{
	uint32_t tasks;
	int ret;
	unsigned int bad = map_wrong(dev, c, &ret, &tasks);

	tap_ok(!ret && !bad && tasks == chip->loads + tasks_of(c->rows, c->cols, c->tasks),
	       "function, %s: error %d, %u wrong, %u tasks", c->name, ret, bad, tasks);
}

static void test_any_map(struct npu_dev *dev)
{
	unsigned int right = 0;
	uint32_t tasks;
	int ret;

	for (int i = 0; i < ANY; i++) {
		struct map_case c = { .rows = (uint32_t)any_of(1, 60), .cols = (uint32_t)any_of(1, 200) };

		right += !map_wrong(dev, &c, &ret, &tasks) && !ret;
	}
	tap_ok(right == ANY, "%u of %d functions of any size", right, ANY);
}

static double root(double x, void *arg)
{
	*(int *)arg += 1;
	return sqrt(x);
}

static void test_values(void)
{
	static const struct npu_byte_scales s = { .x = 0.25, .y = 0.03125, .x_zp = -100, .y_zp = -7 };
	int8_t v[256];
	int calls = 0;

	npu_byte_map(root, &calls, &s, v);
	/* Below the zero point there is no root; the largest one, 7.53, is 241 steps. */
	tap_ok(calls == 256 && v[0] == -7 && v[28] == -7 && v[32] == 25 && v[36] == 38 && v[255] == 127,
	       "values of a function of real numbers: %d %d %d %d %d", v[0], v[28], v[32], v[36], v[255]);
}

static void refused_map(struct npu_dev *dev, int err, const char *words, const struct npu_tensor *x,
			struct npu_tensor *y)
{
	struct npu_rec *rec = nn_rec(dev);
	static const int8_t value[256];
	int ret = npu_rec_map_bytes(rec, value, x, y);

	if (!ret)
		ret = npu_rec_end(rec);
	tap_ok(ret == err && strstr(npu_rec_message(rec), words), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
}

static void test_refused_maps(struct npu_dev *dev)
{
	struct npu_tensor *x = nn_tensor(dev, I8, 8, 64, NULL), *y = nn_tensor(dev, I8, 8, 32, NULL);
	struct npu_tensor *half = nn_tensor(dev, NPU_PREC_FP16, 8, 64, NULL), *row, *line;

	npu_tensor_view(x, 3, 1, 0, 32, &row);
	npu_tensor_view(y, 3, 1, 0, 32, &line);
	refused_map(dev, -EINVAL, "share memory", x, x);
	refused_map(dev, -EINVAL, "FP16", half, x);
	refused_map(dev, -EINVAL, "8 x 32", x, y);
	if (!chip->flies)
		refused_map(dev, -EOPNOTSUPP, "1 positions and 32 channels", row, line);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_tensor_free(half);
	npu_tensor_free(row);
	npu_tensor_free(line);
}

/* Single rows of larger tensors. */
static void test_rows(struct npu_dev *dev)
{
	static const struct sum_case sum = {
		"a row of larger tensors", 1, 64, 3, 32, HOW(99, -45, 3, 4, { 16384, 21, 0 }), 0,
	};
	static const struct map_case map = { "a row of larger tensors", 1, 64, 3, 32, 0 };

	sum_case(dev, &sum);
	map_case(dev, &map);
}

static void test_rk3588(struct npu_dev *dev)
{
	static const struct npu_byte_sum good = HOW(1, 1, 0, 0, { 1, 0, 0 });
	static const struct npu_byte_product times = TIMES(0, 0, { 1, 0, 0 });
	struct npu_tensor *t[3];

	for (int i = 0; i < 3; i++)
		t[i] = nn_tensor(dev, I8, 8, 64, NULL);
	refused_sum(dev, -EOPNOTSUPP, "RK3588", &good, t[0], t[1], t[2]);
	refused_product(dev, -EOPNOTSUPP, "RK3588", &times, t[0], t[1], t[2]);
	refused_map(dev, -EOPNOTSUPP, "functions of bytes on the RK3588", t[0], t[2]);
	for (int i = 0; i < 3; i++)
		npu_tensor_free(t[i]);
}

static void test_operations(struct npu_dev *dev)
{
	sim_core_masks = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		sum_case(dev, &sums[i]);
	test_any_sum(dev);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_case(dev, &maps[i]);
	test_any_map(dev);
	if (chip->multiplies)
		test_products(dev);
	tap_ok(sim_core_masks == nn_core_mask, "on the core that programs are made for: 0x%x", sim_core_masks);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	test_rk3588(dev);
	test_factors();
	test_values();
	for (size_t c = 0; c < ARRAY_SIZE(bytes_chips); c++) {
		npu_close(dev);
		chip = &bytes_chips[c];
		sim_soc(chip->soc);
		dev = nn_begin(OURS);
		for (nn_core_mask = chip->cores; nn_core_mask; nn_core_mask--)
			test_operations(dev);
		test_refused_sums(dev);
		test_refused_maps(dev);
		if (chip->multiplies)
			test_refused_products(dev);
		if (chip->flies)
			test_rows(dev);
	}
	return nn_end(dev);
}
