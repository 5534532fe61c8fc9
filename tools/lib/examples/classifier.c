// SPDX-License-Identifier: MIT
/*
 * Example: a small network of bytes that tells four kinds of images apart, in one submission on
 * three cores, for one image after the other. Its weights are random but those of the last layer,
 * which is taught with one image of each kind. The CPU gets exactly the same scores.
 *
 *	cc classifier.c $(pkg-config --cflags --libs librknpu) -lm
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "npu.h"

#define SIDE	16
#define WIDE	64
#define CLASSES	4
#define CORES	3
/* Pixels are bytes from 0; the NPU's are from -128. */
#define BLACK	(-128)

#define MOST_WEIGHTS	(9 * WIDE * WIDE)
#define MOST_ELEMENTS	(SIDE * SIDE * WIDE)

enum kind { CONV, DEPTHWISE, MAX, AVERAGE };

struct layer {
	enum kind kind;
	struct npu_window win;
	uint32_t in_c;
	int in_zp;
};

#define LAYERS	6u
#define WINDOW	.size = sizeof(struct npu_window)

static const struct layer net[LAYERS] = {
	{ CONV, { WINDOW, .in_w = 16, .in_h = 16, .kw = 3, .kh = 3, .pad_left = 1, .pad_right = 1,
		  .pad_top = 1, .pad_bottom = 1, }, 3, BLACK },
	{ DEPTHWISE, { WINDOW, .in_w = 16, .in_h = 16, .kw = 3, .kh = 3, .stride_x = 2, .stride_y = 2,
		       .pad_right = 1, .pad_bottom = 1, }, WIDE, 0 },
	{ CONV, { WINDOW, .in_w = 8, .in_h = 8, .kw = 1, .kh = 1 }, WIDE, 0 },
	{ MAX, { WINDOW, .in_w = 8, .in_h = 8, .kw = 2, .kh = 2, .stride_x = 2, .stride_y = 2 }, WIDE, 0 },
	{ CONV, { WINDOW, .in_w = 4, .in_h = 4, .kw = 3, .kh = 3, .pad_left = 1, .pad_right = 1,
		  .pad_top = 1, .pad_bottom = 1, }, WIDE, 0 },
	{ AVERAGE, { WINDOW, .in_w = 4, .in_h = 4, .kw = 4, .kh = 4 }, WIDE, 0 },
};

static int8_t weight[LAYERS][MOST_WEIGHTS], last[CLASSES * WIDE];
static int32_t bias[LAYERS][WIDE];
static struct npu_requant rq[LAYERS];

static unsigned int seed = 2024;

static int any(int limit)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)(seed >> 8) % (2 * limit + 1) - limit;
}

static uint32_t products(const struct layer *l)
{
	return l->win.kw * l->win.kh * (l->kind == DEPTHWISE ? 1 : l->in_c);
}

/* Red lines, green columns, blue squares, or none of these. */
static int8_t pattern(uint32_t i, uint32_t row, uint32_t col, uint32_t colour)
{
	const uint32_t light[CLASSES] = { row / 2, col, row / 4 + col / 4, (uint32_t)any(100) };

	return (int8_t)((i == colour || i > 2) && light[i] % 2 ? 127 : BLACK);
}

/* Of so many pixels one is anything. */
static void draw(uint32_t class, int spoilt, int8_t *image)
{
	for (uint32_t k = 0; k < SIDE * SIDE * 3; k++) {
		image[k] = pattern(class, k / 3 / SIDE, k / 3 % SIDE, k % 3);
		if (spoilt && any(spoilt / 2) == 0)
			image[k] = (int8_t)any(127);
	}
}

static void make_weights(void)
{
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t n = products(&net[i]) * WIDE;

		for (uint32_t k = 0; net[i].kind <= DEPTHWISE && k < n; k++)
			weight[i][k] = (int8_t)any(100);
		for (uint32_t c = 0; c < WIDE; c++)
			bias[i][c] = any(500);
		npu_requant_from_double(1 / (80 * sqrt(products(&net[i]))), 0, &rq[i]);
	}
}

/* ---- on the CPU ---- */

static uint32_t stride(uint32_t s)
{
	return s ? s : 1;
}

/* An element, or what counts outside. */
static int pixel(const struct layer *l, const int8_t *x, int row, int col, uint32_t c)
{
	if (row < 0 || col < 0 || row >= (int)l->win.in_h || col >= (int)l->win.in_w)
		return l->in_zp;
	return x[((uint32_t)row * l->win.in_w + (uint32_t)col) * l->in_c + c];
}

static int convolve(uint32_t i, const int8_t *x, int top, int left, uint32_t n)
{
	const struct layer *l = &net[i];
	uint32_t first = l->kind == DEPTHWISE ? n : 0, end = l->kind == DEPTHWISE ? n + 1 : l->in_c;
	int sum = bias[i][n];

	for (uint32_t t = 0; t < l->win.kw * l->win.kh; t++)
		for (uint32_t c = first; c < end; c++) {
			uint32_t at = l->kind == DEPTHWISE ? t * l->in_c + c :
				      (n * l->win.kw * l->win.kh + t) * l->in_c + c;

			sum += (pixel(l, x, top + (int)(t / l->win.kw), left + (int)(t % l->win.kw), c) -
				l->in_zp) * weight[i][at];
		}
	return npu_requant_apply(&rq[i], sum > 0 ? sum : 0);
}

static int pool(uint32_t i, const int8_t *x, int top, int left, uint32_t c)
{
	const struct layer *l = &net[i];
	int sum = 0, most = -128, n = (int)(l->win.kw * l->win.kh);

	for (int t = 0; t < n; t++) {
		int v = pixel(l, x, top + t / (int)l->win.kw, left + t % (int)l->win.kw, c);

		sum += v;
		most = v > most ? v : most;
	}
	return l->kind == MAX ? most : (int)lrint((double)sum / n);
}

static void layer_on_cpu(uint32_t i, const int8_t *x, int8_t *y)
{
	const struct npu_window *w = &net[i].win;
	uint32_t out_w = npu_window_out_w(w), n = out_w * npu_window_out_h(w);

	for (uint32_t pos = 0; pos < n; pos++)
		for (uint32_t c = 0; c < WIDE; c++) {
			int top = (int)(pos / out_w * stride(w->stride_y)) - (int)w->pad_top;
			int left = (int)(pos % out_w * stride(w->stride_x)) - (int)w->pad_left;

			y[pos * WIDE + c] = (int8_t)(net[i].kind <= DEPTHWISE ? convolve(i, x, top, left, c) :
										pool(i, x, top, left, c));
		}
}

static const int8_t *features(const int8_t *x)
{
	static int8_t a[2][MOST_ELEMENTS];

	for (uint32_t i = 0; i < LAYERS; i++)
		layer_on_cpu(i, i ? a[(i - 1) % 2] : x, a[i % 2]);
	return a[(LAYERS - 1) % 2];
}

static void scores_on_cpu(const int8_t *x, int32_t *y)
{
	const int8_t *f = features(x);

	for (uint32_t n = 0; n < CLASSES; n++) {
		y[n] = 0;
		for (uint32_t k = 0; k < WIDE; k++)
			y[n] += f[k] * last[n * WIDE + k];
	}
}

static double dot(const double *a, const double *b)
{
	double sum = 0;

	for (uint32_t k = 0; k < WIDE; k++)
		sum += a[k] * b[k];
	return sum;
}

/* Features of an image less what all have in common, and all of the same length. */
static void teach(void)
{
	static int8_t image[SIDE * SIDE * 3];
	double f[CLASSES][WIDE], mean[WIDE] = { 0 };

	for (uint32_t i = 0; i < CLASSES; i++) {
		const int8_t *v;

		draw(i, 0, image);
		v = features(image);
		for (uint32_t k = 0; k < WIDE; k++) {
			f[i][k] = v[k];
			mean[k] += f[i][k] / CLASSES;
		}
	}
	for (uint32_t i = 0; i < CLASSES; i++) {
		double common = dot(f[i], mean) / dot(mean, mean), length;

		for (uint32_t k = 0; k < WIDE; k++)
			f[i][k] -= common * mean[k];
		length = sqrt(dot(f[i], f[i]));
		for (uint32_t k = 0; k < WIDE; k++)
			last[i * WIDE + k] = (int8_t)lrint(127 * f[i][k] / length);
	}
}

/* ---- on the NPU ---- */

struct model {
	struct npu_tensor *t[LAYERS + 1], *scores;
	struct npu_weights *w[LAYERS], *last;
	struct npu_rec *rec;
};

static int add_layer(struct npu_dev *dev, struct model *m, uint32_t i)
{
	const struct layer *l = &net[i];
	struct npu_conv_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .in_c = l->in_c, .out_c = WIDE, .kw = l->win.kw, .kh = l->win.kh,
		.depthwise = l->kind == DEPTHWISE, .bias = bias[i], .rq = rq[i], .in_zp = l->in_zp,
	};
	struct npu_rec_conv_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	int ret = npu_tensor_new(dev, NPU_PREC_INT8, npu_window_out_w(&l->win) *
				 npu_window_out_h(&l->win), WIDE, &m->t[i + 1]);

	if (!ret && l->kind > DEPTHWISE)
		return npu_rec_pool(m->rec, l->kind == MAX ? NPU_POOL_MAX : NPU_POOL_AVERAGE, m->t[i],
				    &l->win, m->t[i + 1]);
	ret = ret ? ret : npu_conv_weights_new(dev, &d, weight[i], &m->w[i]);
	return ret ? ret : npu_rec_conv(m->rec, m->t[i], m->w[i], &l->win, m->t[i + 1], &relu);
}

static int record(struct npu_dev *dev, struct model *m)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = CLASSES, .k = WIDE };
	struct npu_rec_opts cores = { .size = sizeof(cores), .cores = CORES };
	int ret = npu_rec_new(dev, &cores, &m->rec);

	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT8, SIDE * SIDE, 3, &m->t[0]);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_INT32, 1, CLASSES, &m->scores);
	for (uint32_t i = 0; i < LAYERS && !ret; i++)
		ret = add_layer(dev, m, i);
	ret = ret ? ret : npu_weights_new(dev, &d, last, &m->last);
	ret = ret ? ret : npu_rec_matmul(m->rec, m->t[LAYERS], m->last, m->scores, NULL);
	return ret ? ret : npu_rec_end(m->rec);
}

static int classify(struct model *m, const int8_t *x, int32_t *y, uint32_t *class)
{
	int ret = npu_tensor_write(m->t[0], x, 0);

	ret = ret ? ret : npu_rec_run(m->rec);
	ret = ret ? ret : npu_rec_wait(m->rec, -1);
	ret = ret ? ret : npu_tensor_read(m->scores, y, 0);
	return ret ? ret : npu_tensor_argmax(m->scores, class);
}

static void free_model(struct model *m)
{
	npu_rec_free(m->rec);
	for (uint32_t i = 0; i <= LAYERS; i++)
		npu_tensor_free(m->t[i]);
	for (uint32_t i = 0; i < LAYERS; i++)
		npu_weights_free(m->w[i]);
	npu_tensor_free(m->scores);
	npu_weights_free(m->last);
}

int main(void)
{
	struct npu_dev *dev = NULL;
	struct model m = { 0 };
	int ret, bad = 0;

	make_weights();
	teach();
	ret = npu_open(NULL, &dev);
	ret = ret ? ret : record(dev, &m);
	for (uint32_t i = 0; i < 2 * CLASSES && !ret; i++) {
		static int8_t image[SIDE * SIDE * 3];
		int32_t y[CLASSES], want[CLASSES];
		uint32_t class = 0;

		draw(i % CLASSES, 20, image);
		scores_on_cpu(image, want);
		ret = classify(&m, image, y, &class);
		if (ret)
			break;
		bad += class != i % CLASSES || memcmp(y, want, sizeof(y));
		printf("classifier: an image of class %u is of class %u\n", i % CLASSES, class);
	}
	if (ret)
		printf("classifier: %s: %s\n", strerror(-ret), m.rec ? npu_rec_message(m.rec) : "");
	else
		printf("classifier: %u tasks in %u stages, %d images wrong\n", npu_rec_info(m.rec).tasks,
		       npu_rec_info(m.rec).stages, bad);
	free_model(&m);
	npu_close(dev);
	return ret || bad;
}
