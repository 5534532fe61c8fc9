// SPDX-License-Identifier: MIT
/*
 * Pooling in recordings: maxima and minima are exact, averages within their bound of doubles.
 */
#include "nn.h"

#define I8	NPU_PREC_INT8
#define F16	NPU_PREC_FP16
#define SIZES(w, h, x, y, ...)	\
	{ .size = sizeof(struct npu_window), .in_w = (w), .in_h = (h), .kw = (x), .kh = (y), __VA_ARGS__ }
#define PAD1	.pad_left = 1, .pad_right = 1, .pad_top = 1, .pad_bottom = 1

struct pool_case {
	const char *name;
	enum npu_pool pool;
	enum npu_prec type;
	struct npu_window win;
	uint32_t channels, cores, tasks;
};

static const struct pool_case cases[] = {
	{ "2x2", NPU_POOL_MAX, F16, SIZES(8, 6, 2, 2, .stride_x = 2, .stride_y = 2), 32, 1, 1 },
	{ "3x3 with padding", NPU_POOL_MAX, F16, SIZES(9, 7, 3, 3, PAD1, .stride_x = 2, .stride_y = 2), 40, 1, 1 },
	{ "all different", NPU_POOL_MIN, F16, SIZES(11, 9, 2, 5, .stride_x = 3, .pad_top = 4, .pad_right = 1), 8,
	  1, 1 },
	{ "3x3 in a wide image", NPU_POOL_MAX, F16, SIZES(70, 4, 3, 3, PAD1), 16, 1, 3 },
	{ "5x5 in a wide image", NPU_POOL_MAX, I8, SIZES(50, 6, 5, 5, .pad_left = 2, .pad_right = 2), 32, 1, 4 },
	{ "7x6, stride 3", NPU_POOL_MIN, I8, SIZES(45, 9, 7, 6, .stride_x = 3, .stride_y = 2), 20, 1, 3 },
	{ "bytes", NPU_POOL_MAX, I8, SIZES(7, 7, 3, 2, .stride_x = 2, .stride_y = 2), 70, 1, 1 },
	{ "every third", NPU_POOL_MAX, I8, SIZES(9, 9, 1, 1, .stride_x = 3, .stride_y = 3), 33, 1, 1 },
	{ "average", NPU_POOL_AVERAGE, F16, SIZES(8, 6, 2, 2, .stride_x = 2, .stride_y = 2), 32, 1, 1 },
	{ "average with padding", NPU_POOL_AVERAGE, F16, SIZES(9, 8, 3, 3, PAD1), 40, 1, 1 },
	{ "of a line", NPU_POOL_AVERAGE, F16, SIZES(13, 5, 13, 1), 17, 1, 1 },
	{ "of all", NPU_POOL_AVERAGE, F16, SIZES(7, 7, 7, 7), 100, 1, 1 },
	{ "of all 16x16", NPU_POOL_AVERAGE, F16, SIZES(16, 16, 16, 16), 32, 1, 1 },
	{ "average of bytes", NPU_POOL_AVERAGE, I8, SIZES(7, 6, 3, 2), 40, 1, 1 },
	{ "with a zero point", NPU_POOL_AVERAGE, I8, SIZES(7, 6, 3, 3, PAD1, .zp = -100), 32, 1, 1 },
	{ "of all bytes", NPU_POOL_AVERAGE, I8, SIZES(13, 15, 13, 15), 64, 1, 1 },
	{ "2 cores", NPU_POOL_MAX, F16, SIZES(10, 9, 3, 3, PAD1), 32, 2, 2 },
	{ "3 cores", NPU_POOL_AVERAGE, I8, SIZES(12, 12, 2, 2, .stride_x = 2, .stride_y = 2), 32, 3, 3 },
	{ "3 cores by channels", NPU_POOL_AVERAGE, F16, SIZES(5, 5, 5, 5), 96, 3, 3 },
};

static uint32_t one(uint32_t v)
{
	return v ? v : 1;
}

struct window {
	double sum, size, most, least;
	uint32_t n;
};

static struct window look(const struct pool_case *c, const float *x, uint32_t pos, uint32_t ch)
{
	const struct npu_window *w = &c->win;
	uint32_t out_w = npu_window_out_w(w);
	struct window s = { .most = -INFINITY, .least = INFINITY, .n = w->kw * w->kh };

	for (uint32_t ky = 0; ky < w->kh; ky++)
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			int64_t iy = (int64_t)(pos / out_w * one(w->stride_y) + ky) - w->pad_top;
			int64_t ix = (int64_t)(pos % out_w * one(w->stride_x) + kx) - w->pad_left;
			bool in = iy >= 0 && ix >= 0 && iy < w->in_h && ix < w->in_w;
			double v = in ? x[((size_t)iy * w->in_w + (size_t)ix) * c->channels + ch] : w->zp;

			s.sum += v;
			s.size += fabs(v);
			s.most = in ? fmax(s.most, v) : s.most;
			s.least = in ? fmin(s.least, v) : s.least;
		}
	return s;
}

/* In units of what the header allows. */
static double excess(const struct pool_case *c, const struct window *s, double y)
{
	double mean = s->sum / s->n, off;

	if (c->pool == NPU_POOL_MAX)
		return y == s->most ? 0 : INFINITY;
	if (c->pool == NPU_POOL_MIN)
		return y == s->least ? 0 : INFINITY;
	off = c->type == I8 ? 0.57 : fabs(mean) * 0x1p-9 + s->size * 0x1p-24 + 0x1p-25;
	return fabs(y - mean) / off;
}

static double worst_of(struct npu_dev *dev, const struct pool_case *c, struct npu_rec_info *info, int *ret)
{
	const struct npu_window *w = &c->win;
	uint32_t in = w->in_w * w->in_h, out = npu_window_out_w(w) * npu_window_out_h(w);
	float *x = nn_floats((size_t)in * c->channels, 1), *y = calloc((size_t)out * c->channels, sizeof(*y));
	struct npu_tensor *tx, *ty = nn_tensor(dev, c->type, out, c->channels, NULL);
	struct npu_rec_opts o = { .size = sizeof(o), .cores = c->cores };
	struct npu_rec *rec = NULL;
	double worst = 0;

	for (size_t i = 0; c->type == I8 && i < (size_t)in * c->channels; i++)
		x[i] = (float)(int)(x[i] * 127);
	tx = nn_tensor(dev, c->type, in, c->channels, x);
	npu_rec_new(dev, &o, &rec);
	*ret = nn_run(rec, npu_rec_pool(rec, c->pool, tx, w, ty));
	*ret = *ret ? *ret : npu_tensor_read_f32(ty, y, 0, 1);
	*info = npu_rec_info(rec);
	for (uint32_t pos = 0; pos < out; pos++)
		for (uint32_t ch = 0; ch < c->channels; ch++) {
			struct window s = look(c, x, pos, ch);

			worst = nn_worse(worst, excess(c, &s, y[(size_t)pos * c->channels + ch]));
		}
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(y);
	return worst;
}

static void pool_case(struct npu_dev *dev, const struct pool_case *c)
{
	const struct npu_window *w = &c->win;
	struct npu_rec_info info;
	int ret;
	double worst = worst_of(dev, c, &info, &ret);

	tap_ok(!ret && worst <= 1 && info.ops == 1 && info.stages == 1 && info.tasks == c->tasks &&
	       info.chains == c->cores,
	       "%s: %u x %u of %u, %u tasks, %u chains: error %d, %.3f of the bound", c->name, w->in_w,
	       w->in_h, c->channels, info.tasks, info.chains, ret, worst);
}

/* ---- any sizes ---- */

#define ANY	150

static uint32_t rnd_seed = 77;

static uint32_t any_of(uint32_t least, uint32_t most)
{
	rnd_seed = rnd_seed * 1664525u + 1013904223u;
	return least + (rnd_seed >> 8) % (most - least + 1);
}

static void any_axis(uint32_t limit, uint32_t *in, uint32_t *k, uint32_t *stride, uint32_t *before,
		     uint32_t *after)
{
	do {
		*in = any_of(1, limit);
		*k = any_of(1, 8);
		*stride = any_of(0, 5);
		*before = any_of(0, *k - 1);
		*after = any_of(0, *k - 1);
	} while (*k > *in + *before + *after);
}

static void test_any(struct npu_dev *dev)
{
	for (int i = 0; i < ANY; i++) {
		struct pool_case c = {
			.pool = (enum npu_pool)any_of(0, 2), .type = any_of(0, 1) ? I8 : F16,
			.channels = any_of(1, 70), .cores = any_of(1, 3),
			.win.size = sizeof(c.win),
		};
		struct npu_rec_info info;
		double worst;
		int ret;

		any_axis(60, &c.win.in_w, &c.win.kw, &c.win.stride_x, &c.win.pad_left, &c.win.pad_right);
		any_axis(12, &c.win.in_h, &c.win.kh, &c.win.stride_y, &c.win.pad_top, &c.win.pad_bottom);
		c.win.zp = c.type == I8 ? (int32_t)any_of(0, 255) - 128 : 0;
		worst = worst_of(dev, &c, &info, &ret);
		if (ret || worst > 1) {
			tap_ok(false, "%d: %u x %u of %u by %u x %u, method %d, type %d, %u cores: error %d, %.3f of the bound",
			       i, c.win.in_w, c.win.in_h, c.channels, c.win.kw, c.win.kh, c.pool,
			       c.type, c.cores, ret, worst);
			return;
		}
	}
	tap_ok(true, "pooling of %d images of any size", ANY);
}

/* A task may hold no more than 16 MiB: lines are shared out over several. */
static void test_large(struct npu_dev *dev)
{
	enum { W = 1024, H = 1100, C = 8 };
	struct npu_window win = SIZES(W, H, 2, 2, .stride_x = 2, .stride_y = 2);
	struct npu_tensor *x = nn_tensor(dev, F16, W * H, C, NULL), *y;
	struct npu_rec *rec = nn_rec(dev);
	uint32_t bad = 0;
	int ret;

	for (uint32_t i = 0; i < W * H; i++)
		((uint16_t *)npu_tensor_atom(x, 0, i))[0] = npu_f32_to_f16((float)(i % 2000));
	y = nn_tensor(dev, F16, W / 2 * (H / 2), C, NULL);
	ret = nn_run(rec, npu_rec_pool(rec, NPU_POOL_MAX, x, &win, y));
	for (uint32_t i = 0; i < W / 2 * (H / 2); i++) {
		uint32_t top = i / (W / 2) * 2 * W + i % (W / 2) * 2;
		uint32_t a = (top + 1) % 2000, b = (top + W + 1) % 2000, c = top % 2000, d = (top + W) % 2000;
		uint32_t most = a > b ? a : b;

		most = c > most ? c : most;
		most = d > most ? d : most;
		bad += npu_f16_to_f32(*(uint16_t *)npu_tensor_atom(y, 0, i)) != (float)most;
	}
	tap_ok(!ret && !bad && npu_rec_info(rec).tasks == 2, "a large image: error %d, %u tasks, %u wrong", ret,
	       npu_rec_info(rec).tasks, bad);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* More channels than a task has: 16 more of the next one. */
static void test_many_channels(struct npu_dev *dev, enum npu_prec type, uint32_t copies)
{
	struct pool_case c = { "many channels", NPU_POOL_MAX, type, SIZES(4, 4, 2, 2, .stride_x = 2, .stride_y = 2),
			       8192, 1, 1 + copies };

	pool_case(dev, &c);
	c.channels = 8208;
	c.tasks = 2 + copies;
	pool_case(dev, &c);
}

struct refusal {
	const char *what, *word;
	struct npu_window win;
	uint32_t x_rows, y_rows, y_cols;
	enum npu_prec in, out;
	enum npu_pool pool;
};

static const struct refusal refused[] = {
	{ "8193 columns", "no such", SIZES(8193, 1, 1, 1), 8193, 8193, 32, I8, I8, NPU_POOL_MAX },
	{ "8193 lines", "no such", SIZES(1, 8193, 1, 1), 8193, 8193, 32, I8, I8, NPU_POOL_MAX },
	{ "17 columns", "no such", SIZES(20, 1, 17, 1), 20, 4, 32, F16, F16, NPU_POOL_MAX },
	{ "dilation", "no such", SIZES(20, 1, 2, 1, .dil_x = 2), 20, 18, 32, F16, F16, NPU_POOL_MAX },
	{ "padding alone", "no such", SIZES(4, 1, 2, 1, .pad_left = 2), 4, 5, 32, F16, F16, NPU_POOL_MAX },
	{ "16 with padding", "of 16", SIZES(20, 1, 16, 1, .pad_left = 1), 20, 6, 32, F16, F16, NPU_POOL_MAX },
	{ "words", "no mode", SIZES(4, 1, 2, 1), 4, 3, 32, NPU_PREC_FP32, NPU_PREC_FP32, NPU_POOL_MAX },
	{ "another type", "no mode", SIZES(4, 1, 2, 1), 4, 3, 32, F16, I8, NPU_POOL_MAX },
	{ "another size", "are not", SIZES(4, 1, 2, 1), 4, 4, 32, F16, F16, NPU_POOL_MAX },
	{ "other channels", "are not", SIZES(4, 1, 2, 1), 4, 3, 33, F16, F16, NPU_POOL_MAX },
	{ "a zero point", "outside", SIZES(4, 1, 2, 1, .zp = 128), 4, 3, 32, I8, I8, NPU_POOL_AVERAGE },
	{ "a method", "no method", SIZES(4, 1, 2, 1), 4, 3, 32, I8, I8, (enum npu_pool)3 },
};

static void refusal(struct npu_dev *dev, const struct refusal *r)
{
	struct npu_tensor *x = nn_tensor(dev, r->in, r->x_rows, 32, NULL);
	struct npu_tensor *y = nn_tensor(dev, r->out, r->y_rows, r->y_cols, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_pool(rec, r->pool, x, &r->win, y);

	tap_ok(ret == -EINVAL && strstr(npu_rec_message(rec), r->word), "%s: %d, %s", r->what, ret,
	       npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* ---- chips that have programs of bytes ---- */

/* Two pool parts of lines, and have a copy before and behind the tasks of a chain. */
static const struct bytes_chip {
	uint32_t soc, cores, copies;
	bool parts;
} bytes_chips[] = { { 3576, 2, 0, false }, { 3562, 1, 2, true }, { 3568, 1, 2, true } }, *chip;

/* Beside those of the RK3588 that they have programs for. */
static const struct pool_case bytes_cases[] = {
	{ "3x3 in a wide image", NPU_POOL_MAX, I8, SIZES(32, 5, 3, 3, PAD1), 40, 1, 1 },
	{ "2x2 in a wider one", NPU_POOL_MAX, I8, SIZES(256, 4, 2, 2, .stride_x = 2, .stride_y = 2), 20, 1, 1 },
	{ "with a zero point below", NPU_POOL_AVERAGE, I8,
	  SIZES(9, 6, 3, 3, .pad_left = 1, .pad_bottom = 2, .zp = -128), 32, 1, 1 },
	{ "of 16 lines", NPU_POOL_AVERAGE, I8, SIZES(12, 16, 12, 16), 96, 1, 1 },
};

/* Without parts of them lines of a result are written as a whole: as long as they come out right. */
static bool bytes_has(const struct pool_case *c)
{
	uint32_t stride = one(c->win.stride_y), overlaps = (c->win.kh + stride - 1) / stride - 1;

	if (npu_window_out_h(&c->win) == 1)
		overlaps = 0;
	if (c->type != I8 || c->pool == NPU_POOL_MIN)
		return false;
	return chip->parts || (c->win.kw * c->win.kh > 1 && npu_window_out_w(&c->win) <= 128u >> overlaps);
}

static void bytes_case(struct npu_dev *dev, struct pool_case c)
{
	struct npu_rec_info info;
	double worst;
	int ret;

	c.tasks = (chip->parts && c.cores == 1 ? c.tasks : 1) + chip->copies;
	c.cores = (uint32_t)min_u64(c.cores, chip->cores);
	c.tasks = (uint32_t)max_u64(c.tasks, c.cores);
	if (bytes_has(&c)) {
		pool_case(dev, &c);
		return;
	}
	worst = worst_of(dev, &c, &info, &ret);
	tap_ok(ret == -EOPNOTSUPP, "%s is refused: %d, %.0f", c.name, ret, worst);
}

static void test_any_bytes(struct npu_dev *dev)
{
	unsigned int right = 0, refusals = 0;

	for (int i = 0; i < ANY; i++) {
		struct pool_case c = {
			.pool = any_of(0, 1) ? NPU_POOL_MAX : NPU_POOL_AVERAGE, .type = I8,
			.channels = any_of(1, 70), .cores = 1, .win.size = sizeof(c.win),
		};
		struct npu_rec_info info;
		double worst;
		int ret;

		any_axis(60, &c.win.in_w, &c.win.kw, &c.win.stride_x, &c.win.pad_left, &c.win.pad_right);
		any_axis(12, &c.win.in_h, &c.win.kh, &c.win.stride_y, &c.win.pad_top, &c.win.pad_bottom);
		c.win.zp = (int32_t)any_of(0, 255) - 128;
		worst = worst_of(dev, &c, &info, &ret);
		right += !ret && worst <= 1 && bytes_has(&c);
		refusals += ret == -EOPNOTSUPP && !bytes_has(&c);
	}
	tap_ok(right + refusals == ANY && right > ANY / 2, "%u of %d images of any size, %u refused", right, ANY,
	       refusals);
}

static void test_bytes(struct npu_dev *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		bytes_case(dev, cases[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bytes_cases); i++)
		bytes_case(dev, bytes_cases[i]);
	test_many_channels(dev, I8, chip->copies);
	test_any_bytes(dev);
}

/* Two poolings of one chain: a copy follows each. On a driver that starts each task none would end. */
static void test_single_tasks(struct npu_dev *dev)
{
	const struct npu_window win = SIZES(6, 6, 2, 2);
	struct npu_tensor *x = nn_tensor(dev, I8, 36, 40, NULL), *y = nn_tensor(dev, I8, 25, 40, NULL);
	struct npu_tensor *z = nn_tensor(dev, I8, 25, 40, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_pool(rec, NPU_POOL_MAX, x, &win, y);

	ret = nn_run(rec, ret ? ret : npu_rec_pool(rec, NPU_POOL_MAX, x, &win, z));
	tap_ok(!ret && npu_rec_info(rec).tasks == 5, "two in a chain: error %d, %u tasks", ret, npu_rec_info(rec).tasks);
	npu_rec_free(rec);
	sim_features(DRM_ROCKET_FEATURE_SUBMIT_EXT);
	rec = nn_rec(dev);
	ret = npu_rec_pool(rec, NPU_POOL_MAX, x, &win, y);
	tap_ok(ret == -EOPNOTSUPP && strstr(npu_rec_message(rec), "RK3568"), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	sim_features(OURS);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_tensor_free(z);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		pool_case(dev, &cases[i]);
	test_large(dev);
	test_many_channels(dev, I8, 0);
	test_many_channels(dev, F16, 0);
	test_any(dev);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		refusal(dev, &refused[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bytes_chips); i++) {
		npu_close(dev);
		chip = &bytes_chips[i];
		sim_soc(chip->soc);
		dev = nn_begin(OURS);
		test_bytes(dev);
	}
	test_single_tasks(dev);
	return nn_end(dev);
}
