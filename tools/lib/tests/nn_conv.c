// SPDX-License-Identifier: MIT
/*
 * Convolutions in recordings, against sums in doubles or 64 bits; results go through a product
 * that reads all of their memory.
 */
#include "nn.h"

struct conv_case {
	const char *name;
	struct npu_window win;
	uint32_t in_c, out_c;
	enum npu_prec in, out;
	bool depthwise, bias;
	enum npu_act act;
	int32_t in_zp, weight_zp;
	uint32_t cores, max_lines, max_n;
};

#define I8	NPU_PREC_INT8
#define I32	NPU_PREC_INT32
#define F16	NPU_PREC_FP16
#define F32	NPU_PREC_FP32
#define WIN(...)	.win = { .size = sizeof(struct npu_window), __VA_ARGS__ }
#define SAME3	.kw = 3, .kh = 3, .pad_left = 1, .pad_right = 1, .pad_top = 1, .pad_bottom = 1

static const struct conv_case cases[] = {
	{ "1x1", WIN(.in_w = 5, .in_h = 7, .kw = 1, .kh = 1), 40, 20, F16, F16 },
	{ "3x3", WIN(.in_w = 9, .in_h = 6, SAME3), 32, 48, F16, F16, .bias = true },
	{ "3x3 to fp32", WIN(.in_w = 7, .in_h = 7, SAME3), 70, 33, F16, F32, .bias = true },
	{ "3x3 above 0", WIN(.in_w = 6, .in_h = 5, SAME3), 3, 17, F16, F16, .act = NPU_ACT_RELU },
	{ "3x3 to the tanh", WIN(.in_w = 6, .in_h = 5, SAME3), 8, 16, F16, F16, .bias = true,
	  .act = NPU_ACT_TANH, .max_lines = 2 },
	{ "stride 2", WIN(.in_w = 11, .in_h = 9, SAME3, .stride_x = 2, .stride_y = 2), 32, 32, F16, F16 },
	{ "2x5, stride 3x1", WIN(.in_w = 13, .in_h = 8, .kw = 2, .kh = 5, .stride_x = 3, .pad_top = 4,
				 .pad_right = 1), 33, 16, F16, F16, .bias = true },
	{ "dilated", WIN(.in_w = 12, .in_h = 10, .kw = 3, .kh = 2, .dil_x = 2, .dil_y = 4, .pad_top = 3),
	  16, 40, F16, F16 },
	{ "small tasks", WIN(.in_w = 9, .in_h = 10, SAME3), 32, 70, F16, F16, .bias = true,
	  .max_lines = 3, .max_n = 32 },
	{ "lines that do not fit at once", WIN(.in_w = 64, .in_h = 48, SAME3), 96, 16, F16, F16 },
	{ "kernels of 16 at a time", WIN(.in_w = 4, .in_h = 3, SAME3), 1000, 32, F16, F16 },
	{ "bytes, 3x3", WIN(.in_w = 8, .in_h = 6, SAME3), 32, 40, I8, I8, .bias = true },
	{ "bytes with zero points", WIN(.in_w = 7, .in_h = 5, SAME3, .stride_y = 2), 20, 33, I8, I8,
	  .bias = true, .in_zp = -11, .weight_zp = 5, .act = NPU_ACT_RELU },
	{ "bytes to words", WIN(.in_w = 5, .in_h = 5, SAME3), 64, 32, I8, I32, .act = NPU_ACT_RELU },
	{ "depthwise", WIN(.in_w = 9, .in_h = 7, SAME3), 32, 32, F16, F16, true, .bias = true },
	{ "depthwise of 70", WIN(.in_w = 6, .in_h = 9, SAME3, .stride_x = 2, .stride_y = 2), 70, 70, F16,
	  F16, true, .act = NPU_ACT_RELU, .max_lines = 2 },
	{ "depthwise to fp32", WIN(.in_w = 5, .in_h = 4, .kw = 5, .kh = 4, .pad_left = 2), 40, 40, F16, F32,
	  true, .bias = true },
	{ "depthwise, 32 at a time", WIN(.in_w = 10, .in_h = 4, SAME3), 96, 96, F16, F16, true, .max_n = 32 },
	{ "depthwise bytes, 64", WIN(.in_w = 6, .in_h = 6, SAME3), 64, 64, I8, I8, true, .bias = true },
	{ "depthwise bytes, 32 with zero points", WIN(.in_w = 6, .in_h = 7, SAME3, .stride_y = 2), 32, 32, I8,
	  I8, true, .bias = true, .in_zp = 7, .weight_zp = -3 },
	{ "depthwise bytes, 150", WIN(.in_w = 5, .in_h = 6, .kw = 2, .kh = 3, .pad_top = 2), 150, 150, I8, I8,
	  true, .in_zp = -128, .weight_zp = 9, .act = NPU_ACT_RELU, .max_lines = 2 },
	{ "2 cores", WIN(.in_w = 7, .in_h = 9, SAME3), 32, 32, F16, F16, .bias = true, .cores = 2 },
	{ "3 cores", WIN(.in_w = 6, .in_h = 11, SAME3), 24, 40, I8, I8, .in_zp = 4, .cores = 3 },
	{ "3 cores by channels", WIN(.in_w = 3, .in_h = 2, .kw = 2, .kh = 2), 32, 90, F16, F16, .cores = 3 },
	{ "3 cores, depthwise", WIN(.in_w = 8, .in_h = 8, SAME3), 96, 96, I8, I8, true, .in_zp = 3,
	  .cores = 3 },
	{ "3 cores, depthwise by channels", WIN(.in_w = 3, .in_h = 3, SAME3), 160, 160, I8, I8, true,
	  .cores = 3 },
};

struct data {
	uint32_t out_w, out_h;
	float *x, *w, *bias, *y;
	struct npu_requant rq;
};

static float any(const struct conv_case *c, int32_t limit)
{
	float v = nn_rnd();

	return c->in == I8 ? (float)(int)(v * (float)limit) : nn_half(v);
}

static float *floats(const struct conv_case *c, size_t n, int32_t limit)
{
	float *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = any(c, limit);
	return v;
}

static size_t per_kernel(const struct conv_case *c)
{
	return (size_t)c->win.kw * c->win.kh * (c->depthwise ? 1 : c->in_c);
}

/* What a kernel sees at a tap, or 0 for what counts as nothing. */
static double tap_of(const struct conv_case *c, const struct data *d, int64_t y, int64_t x, uint32_t ch)
{
	if (y < 0 || x < 0 || y >= c->win.in_h || x >= c->win.in_w)
		return 0;
	return d->x[((size_t)y * c->win.in_w + (size_t)x) * c->in_c + ch] - (double)c->in_zp;
}

static uint32_t one(uint32_t v)
{
	return v ? v : 1;
}

static double product(const struct conv_case *c, const struct data *d, uint32_t pos, uint32_t n,
		      double *size)
{
	const struct npu_window *w = &c->win;
	double sum = c->bias ? d->bias[n] : 0;

	*size = fabs(sum);
	for (uint32_t ky = 0; ky < w->kh; ky++)
		for (uint32_t kx = 0; kx < w->kw; kx++) {
			int64_t y = (int64_t)(pos / d->out_w * one(w->stride_y) + ky * one(w->dil_y)) - w->pad_top;
			int64_t x = (int64_t)(pos % d->out_w * one(w->stride_x) + kx * one(w->dil_x)) - w->pad_left;
			uint32_t first = c->depthwise ? n : 0, end = c->depthwise ? n + 1 : c->in_c;

			for (uint32_t ch = first; ch < end; ch++) {
				size_t tap = ky * w->kw + kx;
				size_t i = c->depthwise ? tap * c->in_c + ch :
					   ((size_t)n * w->kh * w->kw + tap) * c->in_c + ch;
				double p = tap_of(c, d, y, x, ch) * ((double)d->w[i] - c->weight_zp);

				sum += p;
				*size += fabs(p);
			}
		}
	return sum;
}

/* In units of what the header allows. */
static double excess(const struct conv_case *c, const struct data *d, uint32_t pos, uint32_t n)
{
	double size, sum = product(c, d, pos, n, &size), got = d->y[(size_t)pos * c->out_c + n], off;

	if (c->act == NPU_ACT_RELU)
		sum = fmax(sum, 0);
	if (c->out == I8)
		return got == npu_requant_apply(&d->rq, (int64_t)sum) ? 0 : INFINITY;
	if (c->out == I32)
		return got == sum ? 0 : INFINITY;
	off = (double)per_kernel(c) * 0x1p-24 * size;
	if (c->out == F16)
		off += fabs(sum) * 0x1p-11 + 0x1p-25;
	if (c->act == NPU_ACT_TANH) {
		sum = tanh(sum);
		off += 0x1p-10;
	}
	return fabs(got - sum) / (off + 0x1p-149);
}

static void *elements(const struct conv_case *c, const float *v, size_t n)
{
	uint16_t *h = malloc(n * sizeof(*h));

	for (size_t i = 0; i < n; i++) {
		if (c->in == I8)
			((int8_t *)h)[i] = (int8_t)v[i];
		else
			h[i] = npu_f32_to_f16(v[i]);
	}
	return h;
}

static struct npu_weights *weights(struct npu_dev *dev, const struct conv_case *c, const struct data *d)
{
	struct npu_conv_weights_desc desc = {
		.size = sizeof(desc),
		.type = c->in, .in_c = c->in_c, .out_c = c->out_c, .kw = c->win.kw, .kh = c->win.kh,
		.depthwise = c->depthwise, .in_zp = c->in_zp, .weight_zp = c->weight_zp,
	};
	size_t n = per_kernel(c) * c->out_c;
	int32_t *bias = malloc(c->out_c * sizeof(*bias));
	void *src = elements(c, d->w, n);
	struct npu_weights *w = NULL;
	int ret;

	for (uint32_t i = 0; i < c->out_c; i++)
		bias[i] = (int32_t)d->bias[i];
	if (c->bias)
		desc.bias = c->in == I8 ? (void *)bias : d->bias;
	if (c->out == I8)
		desc.rq = d->rq;
	ret = npu_conv_weights_new(dev, &desc, src, &w);
	if (ret)
		printf("# no weights: %d\n", ret);
	free(bias);
	free(src);
	return w;
}

static void make(const struct conv_case *c, struct data *d)
{
	const struct npu_window *w = &c->win;

	nn_seed = 7;
	*d = (struct data){ .out_w = npu_window_out_w(w), .out_h = npu_window_out_h(w) };
	d->x = floats(c, (size_t)w->in_w * w->in_h * c->in_c, 127);
	d->w = floats(c, per_kernel(c) * c->out_c, 100);
	d->bias = floats(c, c->out_c, 3000);
	d->y = calloc((size_t)d->out_w * d->out_h * c->out_c, sizeof(float));
	/* Most results are no end of the range. */
	npu_requant_from_double(60 / (128 * 50 * sqrt((double)per_kernel(c))), 3, &d->rq);
}

static void drop(struct data *d)
{
	free(d->x);
	free(d->w);
	free(d->bias);
	free(d->y);
}

/* What lies behind the last column must not spoil a product that takes whole groups. */
static bool is_clean(const struct npu_tensor *t)
{
	uint32_t lanes = npu_tensor_lanes(t), cols = (uint32_t)round_up(t->shape.cols, NPU_TENSOR_COLS);
	uint32_t bad = 0;

	for (uint32_t s = t->shape.cols / lanes; t->shape.type == F16 && s < cols / lanes; s++)
		for (uint32_t row = 0; row < t->shape.rows; row++) {
			const uint16_t *h = (const uint16_t *)npu_tensor_atom(t, s, row);

			for (uint32_t i = 0; i < lanes; i++)
				bad += s * lanes + i >= t->shape.cols && (h[i] & 0x7c00) == 0x7c00;
		}
	return !bad;
}

static int run(struct npu_dev *dev, const struct conv_case *c, struct data *d, struct npu_rec *rec)
{
	const struct npu_window *w = &c->win;
	struct npu_rec_conv_opts o = { .size = sizeof(o), .act = c->act, .max_lines = c->max_lines, .max_n = c->max_n };
	struct npu_tensor *x = nn_tensor(dev, c->in, w->in_w * w->in_h, c->in_c, d->x), *y;
	struct npu_weights *weight = weights(dev, c, d);
	int ret;

	y = nn_tensor(dev, c->out, d->out_w * d->out_h, c->out_c, NULL);
	ret = weight ? nn_run(rec, npu_rec_conv(rec, x, weight, w, y, &o)) : -EINVAL;
	ret = ret ? ret : npu_tensor_read_f32(y, d->y, 0, 1);
	if (!ret && !is_clean(y))
		ret = -EILSEQ;
	npu_weights_free(weight);
	npu_tensor_free(x);
	npu_tensor_free(y);
	return ret;
}

static double worst_of(struct npu_dev *dev, const struct conv_case *c, struct data *d,
		       struct npu_rec_info *info, int *ret)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = c->cores };
	struct npu_rec *rec = NULL;
	double worst = 0;

	make(c, d);
	npu_rec_new(dev, &o, &rec);
	*ret = run(dev, c, d, rec);
	*info = npu_rec_info(rec);
	for (uint32_t pos = 0; pos < d->out_w * d->out_h; pos++)
		for (uint32_t n = 0; n < c->out_c; n++)
			worst = nn_worse(worst, excess(c, d, pos, n));
	npu_rec_free(rec);
	return worst;
}

static void conv_case(struct npu_dev *dev, const struct conv_case *c, uint32_t chains)
{
	struct npu_rec_info info;
	struct data d;
	int ret;
	double worst = worst_of(dev, c, &d, &info, &ret);

	tap_ok(!ret && worst <= 1 && info.ops == 1 && info.stages == 1 &&
	       info.chains == chains,
	       "%s: %u x %u of %u to %u x %u of %u, %u tasks, %u chains: error %d, %.3f of the bound",
	       c->name, c->win.in_w, c->win.in_h, c->in_c, d.out_w, d.out_h, c->out_c, info.tasks,
	       info.chains, ret, worst);
	drop(&d);
}

/* ---- any sizes ---- */

#define ANY	150

static uint32_t rnd_seed = 99;

static uint32_t any_of(uint32_t least, uint32_t most)
{
	rnd_seed = rnd_seed * 1664525u + 1013904223u;
	return least + (rnd_seed >> 8) % (most - least + 1);
}

static void any_axis(uint32_t *in, uint32_t *k, uint32_t *stride, uint32_t *dil, uint32_t *before,
		     uint32_t *after)
{
	do {
		*in = any_of(1, 14);
		*k = any_of(1, 5);
		*dil = any_of(0, 3);
		*stride = any_of(0, 4);
		*before = any_of(0, (*k - 1) * one(*dil));
		*after = any_of(0, (*k - 1) * one(*dil));
	} while ((*k - 1) * one(*dil) + 1 > *in + *before + *after);
}

static void any_types(struct conv_case *c)
{
	c->in = any_of(0, 1) ? I8 : F16;
	c->depthwise = any_of(0, 1);
	c->bias = any_of(0, 1);
	c->act = any_of(0, 1) ? NPU_ACT_RELU : NPU_ACT_NONE;
	c->in_c = any_of(1, 100);
	c->out_c = c->depthwise ? c->in_c : any_of(1, 80);
	c->out = c->in == F16 ? (any_of(0, 1) ? F16 : F32) : I8;
	if (c->in == I8 && !c->depthwise && any_of(0, 3) == 0) {
		c->out = I32;
		c->bias = false;
	} else if (c->in == I8) {
		c->in_zp = (int32_t)any_of(0, 255) - 128;
		c->weight_zp = (int32_t)any_of(0, 60) - 30;
	}
}

/* Cores may find less to do than there are of them, and lines of others in their way. */
static void test_any(struct npu_dev *dev)
{
	for (int i = 0; i < ANY; i++) {
		struct conv_case c = { .cores = any_of(1, 3), .max_lines = any_of(0, 4),
				       .max_n = any_of(0, 2) * 32, WIN() };
		struct npu_rec_info info;
		double worst;
		struct data d;
		int ret;

		any_axis(&c.win.in_w, &c.win.kw, &c.win.stride_x, &c.win.dil_x, &c.win.pad_left,
			 &c.win.pad_right);
		any_axis(&c.win.in_h, &c.win.kh, &c.win.stride_y, &c.win.dil_y, &c.win.pad_top,
			 &c.win.pad_bottom);
		any_types(&c);
		worst = worst_of(dev, &c, &d, &info, &ret);
		drop(&d);
		if (ret || worst > 1) {
			tap_ok(false, "%d: %u x %u of %u by %u x %u to %u, %sdepthwise, type %d, %u cores: error %d, %.3f of the bound",
			       i, c.win.in_w, c.win.in_h, c.in_c, c.win.kw, c.win.kh, c.out_c,
			       c.depthwise ? "" : "not ", c.in, c.cores, ret, worst);
			return;
		}
	}
	tap_ok(true, "%d convolutions of any size", ANY);
}

/* 3 x 3 twice on three cores: windows reach into lines of others, so that these are waited for. */
static void test_stages(struct npu_dev *dev)
{
	enum { W = 4, H = 12, C = 32, N = W * H * C };
	struct npu_window win = { .size = sizeof(win), .in_w = W, .in_h = H, SAME3 };
	struct npu_conv_weights_desc desc = { .size = sizeof(desc), .type = F16, .in_c = C, .out_c = C, .kw = 3, .kh = 3 };
	float *x = nn_floats(N, 1), y[2][N];
	uint16_t *src = malloc(9 * C * C * sizeof(*src));
	struct npu_tensor *tx = nn_tensor(dev, F16, W * H, C, x), *mid, *ty;
	struct npu_weights *w = NULL;
	uint32_t stages = 0;
	int ret;

	for (uint32_t i = 0; i < 9 * C * C; i++)
		src[i] = npu_f32_to_f16(nn_rnd() / 16);
	ret = npu_conv_weights_new(dev, &desc, src, &w);
	for (uint32_t cores = 1; cores <= 3; cores += 2) {
		struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
		struct npu_rec *rec = NULL;

		mid = nn_tensor(dev, F16, W * H, C, NULL);
		ty = nn_tensor(dev, F16, W * H, C, NULL);
		npu_rec_new(dev, &o, &rec);
		ret = ret ? ret : npu_rec_conv(rec, tx, w, &win, mid, NULL);
		ret = ret ? ret : nn_run(rec, npu_rec_conv(rec, mid, w, &win, ty, NULL));
		ret = ret ? ret : npu_tensor_read_f32(ty, y[cores / 3], 0, 1);
		stages = npu_rec_info(rec).stages;
		npu_rec_free(rec);
		npu_tensor_free(mid);
		npu_tensor_free(ty);
	}
	tap_ok(!ret && !memcmp(y[0], y[1], sizeof(y[0])) && stages > 1,
	       "two on three cores: error %d, %u stages", ret, stages);
	npu_tensor_free(tx);
	npu_weights_free(w);
	free(x);
	free(src);
}

/* From columns of one tensor to columns of another, and nothing beside them. */
static void test_views(struct npu_dev *dev)
{
	enum { W = 5, H = 5, C = 96, N = W * H * C };
	struct npu_window win = { .size = sizeof(win), .in_w = W, .in_h = H, .kw = 1, .kh = 1 };
	struct npu_conv_weights_desc desc = { .size = sizeof(desc), .type = F16, .in_c = 32, .out_c = 32, .kw = 1, .kh = 1,
					      .depthwise = true };
	float *x = nn_floats(N, 1), y[N];
	uint16_t twos[32];
	struct npu_tensor *tx = nn_tensor(dev, F16, W * H, C, x), *ty = nn_tensor(dev, F16, W * H, C, x);
	struct npu_tensor *vx = NULL, *vy = NULL;
	struct npu_rec *rec = nn_rec(dev);
	struct npu_weights *w = NULL;
	unsigned int bad = 0;
	int ret;

	for (int i = 0; i < 32; i++)
		twos[i] = npu_f32_to_f16(2);
	ret = npu_conv_weights_new(dev, &desc, twos, &w);
	ret = ret ? ret : npu_tensor_view(tx, 0, W * H, 32, 32, &vx);
	ret = ret ? ret : npu_tensor_view(ty, 0, W * H, 64, 32, &vy);
	ret = ret ? ret : nn_run(rec, npu_rec_conv(rec, vx, w, &win, vy, NULL));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (int i = 0; i < N; i++)
		bad += y[i] != (i % C < 64 ? x[i] : 2 * x[i - 32]);
	tap_ok(!ret && !bad, "parts of tensors: error %d, %u wrong", ret, bad);
	npu_rec_free(rec);
	npu_weights_free(w);
	npu_tensor_free(vx);
	npu_tensor_free(vy);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
}

/* ---- refused ---- */

struct refusal {
	const char *what, *word;
	struct npu_window win;
	struct npu_conv_weights_desc w;
	uint32_t x_rows, x_cols, y_rows, y_cols;
	enum npu_prec in, out;
	int err;
	enum npu_act act;
};

#define SIZES(w, h, x, y, ...)	\
	{ .size = sizeof(struct npu_window), .in_w = (w), .in_h = (h), .kw = (x), .kh = (y), __VA_ARGS__ }
#define WEIGHTS	.size = sizeof(struct npu_conv_weights_desc)
#define W11	{ WEIGHTS, .type = F16, .in_c = 32, .out_c = 32, .kw = 1, .kh = 1 }

static const struct refusal refused[] = {
	{ "another window", "window", SIZES(4, 4, 3, 3), W11, 16, 32, 4, 32, F16, F16, -EINVAL, 0 },
	{ "other rows", "not 4 x 4", SIZES(4, 4, 1, 1), W11, 15, 32, 16, 32, F16, F16, -EINVAL, 0 },
	{ "other columns", "of 32", SIZES(4, 4, 1, 1), W11, 16, 32, 16, 40, F16, F16, -EINVAL, 0 },
	{ "padding alone", "no such", SIZES(4, 4, 1, 1, .pad_left = 1), W11, 16, 32, 20, 32, F16, F16, -EINVAL, 0 },
	{ "a stride of 8", "no such", SIZES(4, 4, 1, 1, .stride_x = 8), W11, 16, 32, 1, 32, F16, F16, -EINVAL, 0 },
	{ "a line of 2048", "no such", SIZES(2048, 1, 1, 1), W11, 2048, 32, 2048, 32, F16, F16, -EINVAL, 0 },
	{ "a result of 2048", "no such", SIZES(2047, 1, 2, 1, .pad_left = 1, .pad_right = 1),
	  { WEIGHTS, .type = I8, .in_c = 32, .out_c = 32, .kw = 2, .kh = 1 }, 2047, 32, 2048, 32, I8, I32, -EINVAL, 0 },
	{ "a type", "no mode", SIZES(4, 4, 1, 1), W11, 16, 32, 16, 32, F16, I8, -EINVAL, 0 },
	{ "sine of fp32", "folded", SIZES(4, 4, 1, 1), W11, 16, 32, 16, 32, F16, F32, -EINVAL, NPU_ACT_SIN },
	{ "depthwise words", "no mode", SIZES(4, 4, 1, 1),
	  { WEIGHTS, .type = I8, .in_c = 64, .out_c = 64, .kw = 1, .kh = 1, .depthwise = true }, 16, 64, 16, 64, I8,
	  I32, -EINVAL, 0 },
	{ "kernels that hang", "hangs", SIZES(7, 7, 7, 7),
	  { WEIGHTS, .type = F16, .in_c = 96, .out_c = 16, .kw = 7, .kh = 7 }, 49, 96, 1, 16, F16, F16, -EINVAL, 0 },
	{ "a long row", "too long", SIZES(1030, 1, 1, 1),
	  { WEIGHTS, .type = F16, .in_c = 96, .out_c = 16, .kw = 1, .kh = 1 }, 1030, 96, 1030, 16, F16, F16,
	  -E2BIG, 0 },
	{ "lines that do not fit", "do not fit beside", SIZES(512, 9, 1, 9),
	  { WEIGHTS, .type = F16, .in_c = 64, .out_c = 16, .kw = 1, .kh = 9 }, 512 * 9, 64, 512, 16, F16, F16,
	  -E2BIG, 0 },
};

static void refusal(struct npu_dev *dev, const struct refusal *r)
{
	struct npu_rec_conv_opts o = { .size = sizeof(o), .act = r->act };
	void *src = calloc((size_t)r->w.out_c * r->w.in_c * r->w.kw * r->w.kh, 2);
	struct npu_tensor *x = nn_tensor(dev, r->in, r->x_rows, r->x_cols, NULL);
	struct npu_tensor *y = nn_tensor(dev, r->out, r->y_rows, r->y_cols, NULL);
	struct npu_weights *w = NULL;
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_conv_weights_new(dev, &r->w, src, &w);

	ret = ret ? ret : npu_rec_conv(rec, x, w, &r->win, y, &o);
	tap_ok(ret == r->err && strstr(npu_rec_message(rec), r->word), "%s: %d, %s", r->what, ret,
	       npu_rec_message(rec));
	npu_rec_free(rec);
	npu_weights_free(w);
	npu_tensor_free(x);
	npu_tensor_free(y);
	free(src);
}

static void test_weights(struct npu_dev *dev)
{
	static const struct npu_conv_weights_desc bad[] = {
		{ WEIGHTS, .type = I32, .in_c = 1, .out_c = 1, .kw = 1, .kh = 1 },
		{ WEIGHTS, .type = F16, .in_c = 1, .out_c = 1, .kw = 32, .kh = 1 },
		{ WEIGHTS, .type = F16, .in_c = 2, .out_c = 1, .kw = 1, .kh = 1, .depthwise = true },
		{ WEIGHTS, .type = F16, .in_c = 1, .out_c = 1, .kw = 1, .kh = 1, .in_zp = 1 },
		{ WEIGHTS, .type = I8, .in_c = 1, .out_c = 1, .kw = 1, .kh = 1, .weight_zp = 1 },
		{ WEIGHTS, .type = I8, .in_c = 1, .out_c = 1, .kw = 1, .kh = 1, .rq = { .scale = 1 }, .in_zp = 128 },
	};
	struct npu_conv_weights_desc big = { .size = sizeof(big), .type = F16, .in_c = 8192, .out_c = 1, .kw = 3, .kh = 3 };
	struct npu_weights *w = NULL, *m = NULL;
	struct npu_weights_desc md = { .size = sizeof(md), .type = F16, .n = 32, .k = 32 };
	struct npu_conv_weights_desc cd = W11;
	struct npu_window win = SIZES(4, 4, 1, 1);
	static uint16_t src[32 * 32];
	struct npu_tensor *x = nn_tensor(dev, F16, 16, 32, NULL), *y = nn_tensor(dev, F16, 16, 32, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		wrong += npu_conv_weights_new(dev, &bad[i], src, &w) != -EINVAL;
	tap_ok(!wrong, "bad descriptions are refused: %d are not", wrong);
	tap_ok(npu_conv_weights_new(dev, &big, src, &w) == -E2BIG, "a kernel above 32 KiB");
	npu_weights_new(dev, &md, src, &m);
	npu_conv_weights_new(dev, &cd, src, &w);
	tap_ok(npu_rec_conv(rec, x, m, &win, y, NULL) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	rec = nn_rec(dev);
	tap_ok(npu_rec_matmul(rec, x, w, y, NULL) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_weights_free(w);
	npu_weights_free(m);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

/* ---- chips that have programs of bytes, one of halves as well ---- */

/* An RK3576 has each line of a part of an image begin with a granule of CBUF. */
static const struct bytes_chip {
	uint32_t soc;
	const char *name;
	bool granules, halves, pairs;
	uint32_t cores;
} bytes_chips[] = {
	{ 3576, "RK3576", true, true, true, 2 }, { 3568, "RK3568", false, false, false, 1 },
	{ 3562, "RK3562", false, false, true, 1 },
}, *chip;

/* Beside those of the RK3588 that they have programs for. */
static const struct conv_case bytes_cases[] = {
	{ "bytes, 1x1", WIN(.in_w = 6, .in_h = 5, .kw = 1, .kh = 1), 40, 20, I8, I8 },
	{ "bytes with zero points", WIN(.in_w = 8, .in_h = 5, SAME3, .stride_y = 2), 20, 33, I8, I8, .bias = true,
	  .in_zp = -11, .weight_zp = 5, .act = NPU_ACT_RELU },
	{ "the largest zero points", WIN(.in_w = 7, .in_h = 4, SAME3), 32, 32, I8, I8, .in_zp = -128,
	  .weight_zp = -128 },
	{ "a line that fills no granule", WIN(.in_w = 1, .in_h = 4, .kw = 1, .kh = 2), 32, 32, I8, I8 },
	{ "a column that windows would leave", WIN(.in_w = 1, .in_h = 8, .kw = 1, .kh = 1, .stride_x = 3), 32, 32, I8, I8 },
	{ "2x5, stride 3x1", WIN(.in_w = 14, .in_h = 8, .kw = 2, .kh = 5, .stride_x = 3, .pad_top = 4,
				 .pad_right = 1), 33, 16, I8, I8, .bias = true },
	{ "small tasks", WIN(.in_w = 10, .in_h = 10, SAME3), 32, 70, I8, I8, .bias = true, .max_lines = 3,
	  .max_n = 32 },
	{ "lines that do not fit at once", WIN(.in_w = 80, .in_h = 48, SAME3), 96, 16, I8, I8 },
	{ "lines in five banks", WIN(.in_w = 80, .in_h = 66, SAME3), 64, 32, I8, I8, .bias = true },
	{ "lines beside too many kernels", WIN(.in_w = 80, .in_h = 66, SAME3), 64, 256, I8, I8, .bias = true },
	{ "the largest kernels", WIN(.in_w = 4, .in_h = 4, SAME3), 512, 33, I8, I8, .bias = true },
	{ "depthwise, a whole group", WIN(.in_w = 6, .in_h = 6, SAME3), 64, 64, I8, I8, true, .bias = true },
	{ "depthwise, half a group", WIN(.in_w = 6, .in_h = 8, SAME3, .stride_y = 2), 32, 32, I8, I8, true,
	  .bias = true, .in_zp = 7, .weight_zp = -3, .act = NPU_ACT_RELU },
	{ "depthwise of 160", WIN(.in_w = 8, .in_h = 7, .kw = 2, .kh = 3, .pad_top = 2), 150, 150, I8, I8, true,
	  .in_zp = -128, .weight_zp = 27, .max_lines = 2 },
	{ "depthwise, 64 at a time", WIN(.in_w = 4, .in_h = 6, SAME3), 160, 160, I8, I8, true, .bias = true,
	  .max_n = 64 },
	{ "depthwise, large windows", WIN(.in_w = 8, .in_h = 8, .kw = 15, .kh = 15, .pad_left = 7, .pad_right = 7,
					  .pad_top = 7, .pad_bottom = 7), 352, 352, I8, I8, true },
	{ "more kernels than a task has", WIN(.in_w = 2, .in_h = 2, .kw = 1, .kh = 1), 32, 3000, I8, I8 },
};

static const struct conv_case half_cases[] = {
	{ "2x5 of halves, stride 3x1", WIN(.in_w = 14, .in_h = 8, .kw = 2, .kh = 5, .stride_x = 3, .pad_top = 4,
					   .pad_right = 1), 33, 16, F16, F16, .bias = true },
	{ "a line of halves", WIN(.in_w = 1, .in_h = 4, .kw = 1, .kh = 2), 32, 32, F16, F16 },
	{ "the largest kernels of halves", WIN(.in_w = 4, .in_h = 4, SAME3), 256, 33, F16, F16, .bias = true },
	{ "more kernels of halves than a task has", WIN(.in_w = 2, .in_h = 2, .kw = 1, .kh = 1), 32, 3000, F16, F16 },
	{ "depthwise halves", WIN(.in_w = 6, .in_h = 8, SAME3, .stride_y = 2), 32, 32, F16, F16, true, .bias = true,
	  .act = NPU_ACT_RELU },
	{ "depthwise halves of 150", WIN(.in_w = 8, .in_h = 7, .kw = 2, .kh = 3, .pad_top = 2), 150, 150, F16, F16, true,
	  .max_lines = 2 },
	{ "depthwise halves, large windows", WIN(.in_w = 8, .in_h = 8, .kw = 15, .kh = 15, .pad_left = 7,
						 .pad_right = 7, .pad_top = 7, .pad_bottom = 7), 352, 352, F16, F16, true },
};

/* As large as products of words, and no such. */
static const struct conv_case word_cases[] = {
	{ "words of a line", WIN(.in_w = 8, .in_h = 1, .kw = 1, .kh = 1), 32, 32, I8, I32 },
	{ "words of a column", WIN(.in_w = 1, .in_h = 8, .kw = 1, .kh = 1), 32, 32, I8, I32 },
	{ "words of a position", WIN(.in_w = 1, .in_h = 1, .kw = 1, .kh = 1), 64, 32, I8, I32 },
};

static bool bytes_has(const struct conv_case *c)
{
	/* Functions by table are of sums over channels. */
	bool halves = chip->halves && c->in == F16 && c->out == F16 && (!c->depthwise || c->act <= NPU_ACT_RELU);

	return (halves || (c->in == I8 && c->out == I8)) && one(c->win.dil_x) == 1 && one(c->win.dil_y) == 1;
}

/* Lines whose bytes are no multiple of 64 must be all of their image. */
static bool has_odd_lines(const struct conv_case *c)
{
	return chip->granules && c->in == I8 && c->win.in_w % 2 && round_up(c->in_c, 32) % 64;
}

/* Depthwise surfaces are multiples of 4 positions apart, and those of a single one are not. */
static bool has_odd_result(const struct conv_case *c)
{
	return chip->granules && c->depthwise && npu_window_out_w(&c->win) * npu_window_out_h(&c->win) == 1;
}

static void refused_case(struct npu_dev *dev, const struct conv_case *c)
{
	struct npu_rec *rec = nn_rec(dev);
	struct data d;
	int ret;

	make(c, &d);
	ret = run(dev, c, &d, rec);
	tap_ok(ret == -EOPNOTSUPP && strstr(npu_rec_message(rec), chip->name), "%s: %d, %s", c->name, ret,
	       npu_rec_message(rec));
	npu_rec_free(rec);
	drop(&d);
}

static void test_odd_lines(struct npu_dev *dev)
{
	static const struct conv_case c = { "lines", WIN(.in_w = 7, .in_h = 5, SAME3), 20, 33, I8, I8 };
	struct npu_rec *rec = nn_rec(dev);
	struct data d;
	int ret;

	make(&c, &d);
	ret = run(dev, &c, &d, rec);
	tap_ok(ret == -EOPNOTSUPP && strstr(npu_rec_message(rec), "7 positions and 32 channels"), "%d, %s", ret,
	       npu_rec_message(rec));
	npu_rec_free(rec);
	drop(&d);
}

/* 127 less -128, the largest one that two bytes have to make. */
static void test_largest_weight(struct npu_dev *dev)
{
	static const struct conv_case c = { "", WIN(.in_w = 4, .in_h = 2, .kw = 1, .kh = 1), 32, 32, I8, I8, true,
					    .weight_zp = -128 };
	struct npu_rec *rec = nn_rec(dev);
	unsigned int bad = 0;
	struct data d;
	int ret;

	make(&c, &d);
	for (uint32_t i = 0; i < 32; i++)
		d.w[i] = 127;
	for (uint32_t i = 0; i < 4 * 2 * 32; i++)
		d.x[i] = 1;
	d.rq = (struct npu_requant){ .scale = 1 << 14, .shift = 14, .zp = -128 };
	ret = run(dev, &c, &d, rec);
	for (uint32_t i = 0; i < 4 * 2 * 32 && !ret; i++)
		bad += d.y[i] != 255 - 128;
	tap_ok(!ret && !bad, "a weight of 255: %d, %u are wrong", ret, bad);
	npu_rec_free(rec);
	drop(&d);
}

/* What is refused is refused for its lines, or for a single position. */
static void test_any_bytes(struct npu_dev *dev)
{
	unsigned int right = 0, refused_lines = 0;

	for (int i = 0; i < ANY; i++) {
		struct conv_case c = { .in = I8, .out = I8, .bias = any_of(0, 1), .act = any_of(0, 1) ?
				       NPU_ACT_RELU : NPU_ACT_NONE, .in_c = any_of(1, 200), .out_c = any_of(1, 100),
				       .in_zp = (int32_t)any_of(0, 255) - 128,
				       .weight_zp = (int32_t)any_of(0, 255) - 128,
				       .max_lines = any_of(0, 4), .max_n = any_of(0, 2) * 32,
				       .depthwise = any_of(0, 1), WIN() };
		uint32_t dil = 1;
		struct npu_rec_info info;
		struct data d;
		double worst;
		int ret;

		if (c.depthwise)
			c.out_c = c.in_c;
		any_axis(&c.win.in_w, &c.win.kw, &c.win.stride_x, &dil, &c.win.pad_left, &c.win.pad_right);
		any_axis(&c.win.in_h, &c.win.kh, &c.win.stride_y, &dil, &c.win.pad_top, &c.win.pad_bottom);
		if (npu_window_out_w(&c.win) && npu_window_out_h(&c.win)) {
			worst = worst_of(dev, &c, &d, &info, &ret);
			right += !ret && worst <= 1;
			refused_lines += ret == -EOPNOTSUPP && (has_odd_lines(&c) || has_odd_result(&c));
			drop(&d);
		} else {
			i--;
		}
	}
	tap_ok(right + refused_lines == ANY && right > ANY / 2, "%u of %d convolutions of any size, %u refused",
	       right, ANY, refused_lines);
}

/* Of such halves sums are exact in any order, so that each result has its one pattern. */
static void make_exact(const struct conv_case *c, struct data *d)
{
	make(c, d);
	for (size_t i = 0; i < (size_t)c->win.in_w * c->win.in_h * c->in_c; i++)
		d->x[i] = (float)any_of(0, 16) - 8;
	for (size_t i = 0; i < per_kernel(c) * c->out_c; i++)
		d->w[i] = ((float)any_of(0, 16) - 8) / 4;
	for (uint32_t n = 0; n < c->out_c; n++)
		d->bias[n] = ((float)any_of(0, 2000) - 1000) / 8;
}

static unsigned int other_patterns(const struct conv_case *c, const struct data *d)
{
	unsigned int bad = 0;
	double size;

	for (uint32_t pos = 0; pos < d->out_w * d->out_h; pos++)
		for (uint32_t n = 0; n < c->out_c; n++) {
			double sum = product(c, d, pos, n, &size);

			if (c->act == NPU_ACT_RELU)
				sum = fmax(sum, 0);
			bad += npu_f32_to_f16(d->y[(size_t)pos * c->out_c + n]) != npu_f64_to_f16(sum);
		}
	return bad;
}

static void test_any_halves(struct npu_dev *dev)
{
	unsigned int right = 0;

	for (int i = 0; i < ANY; i++) {
		struct conv_case c = { .in = F16, .out = F16, .bias = any_of(0, 1), .act = any_of(0, 1) ?
				       NPU_ACT_RELU : NPU_ACT_NONE, .in_c = any_of(1, 64), .out_c = any_of(1, 100),
				       .max_lines = any_of(0, 4), .max_n = any_of(0, 2) * 32,
				       .depthwise = any_of(0, 3) == 3, WIN() };
		struct npu_rec *rec = nn_rec(dev);
		uint32_t dil = 1;
		struct data d;

		if (c.depthwise)
			c.out_c = c.in_c;
		do {
			any_axis(&c.win.in_w, &c.win.kw, &c.win.stride_x, &dil, &c.win.pad_left, &c.win.pad_right);
			any_axis(&c.win.in_h, &c.win.kh, &c.win.stride_y, &dil, &c.win.pad_top, &c.win.pad_bottom);
		} while (!npu_window_out_w(&c.win) || !npu_window_out_h(&c.win) || has_odd_result(&c));
		make_exact(&c, &d);
		right += !run(dev, &c, &d, rec) && !other_patterns(&c, &d);
		npu_rec_free(rec);
		drop(&d);
	}
	tap_ok(right == ANY, "%u of %d convolutions of halves have all bits right", right, ANY);
}

static void test_bytes(struct npu_dev *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* There are no weights of kernels that are too large for either. */
		if (cases[i].in_c > 500 || (bytes_has(&cases[i]) && has_odd_lines(&cases[i])))
			continue;
		if (bytes_has(&cases[i]))
			conv_case(dev, &cases[i], (uint32_t)min_u64(one(cases[i].cores), chip->cores));
		else
			refused_case(dev, &cases[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bytes_cases); i++)
		conv_case(dev, &bytes_cases[i], 1);
	for (size_t i = 0; i < ARRAY_SIZE(half_cases) && chip->halves; i++)
		conv_case(dev, &half_cases[i], 1);
	for (size_t i = 0; i < ARRAY_SIZE(word_cases); i++)
		refused_case(dev, &word_cases[i]);
	tap_ok(sim_core_masks == (1u << chip->cores) - 1, "on the cores that programs are made for");
	if (chip->granules)
		test_odd_lines(dev);
	if (chip->pairs)
		test_largest_weight(dev);
	if (chip->halves)
		test_any_halves(dev);
	test_any_bytes(dev);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		conv_case(dev, &cases[i], one(cases[i].cores));
	test_any(dev);
	test_stages(dev);
	test_views(dev);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		refusal(dev, &refused[i]);
	test_weights(dev);
	for (size_t i = 0; i < ARRAY_SIZE(bytes_chips); i++) {
		npu_close(dev);
		chip = &bytes_chips[i];
		sim_soc(chip->soc);
		sim_core_masks = 0;
		dev = nn_begin(OURS);
		test_bytes(dev);
	}
	return nn_end(dev);
}
