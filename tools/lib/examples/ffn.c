// SPDX-License-Identifier: MIT
/*
 * Example: a feed-forward block, y = x + W2 * gelu(W1 * norm(x)), in one submission. Each core
 * does all of it for its rows, so that none waits for another one.
 *
 *	cc ffn.c $(pkg-config --cflags --libs librknpu) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"

#define ROWS	24
#define WIDTH	64
#define INNER	128
#define CORES	3

static float x[ROWS][WIDTH], y[ROWS][WIDTH];
static uint16_t w1[INNER][WIDTH], w2[WIDTH][INNER];

static void fill(uint16_t *w, unsigned int n, unsigned int seed)
{
	for (unsigned int i = 0; i < n; i++)
		w[i] = npu_f32_to_f16((float)((int)((seed + i) * 2654435761u >> 24) - 128) / 1024);
}

static double gelu(double v)
{
	return v * erfc(-v / sqrt(2)) / 2;
}

/*
 * The norm is off by 10 * 2^-11 of itself, its products by as much of what they add, in the mean;
 * GELU and the second layer add four roundings. Twice that is allowed.
 */
static int wrong(void)
{
	static double h[INNER], off[INNER];
	int bad = 0;

	for (int r = 0; r < ROWS; r++) {
		double mean = 0, scale;

		for (int k = 0; k < WIDTH; k++)
			mean += (double)x[r][k] * (double)x[r][k] / WIDTH;
		scale = 1 / sqrt(mean);
		for (int n = 0; n < INNER; n++) {
			double sum = 0, size = 0;

			for (int k = 0; k < WIDTH; k++) {
				double p = (double)npu_f16_to_f32(w1[n][k]) * (double)x[r][k] * scale;

				sum += p;
				size += fabs(p);
			}
			h[n] = gelu(sum);
			/* Its slope is 1.13 at most. */
			off[n] = 1.13 * (10 * 0x1p-11 * size + fabs(sum) * 0x1p-11) +
				 (fabs(sum) + fabs(h[n])) * 0x1p-11;
		}
		for (int n = 0; n < WIDTH; n++) {
			double sum = 0, far = 0;

			for (int k = 0; k < INNER; k++) {
				double w = (double)npu_f16_to_f32(w2[n][k]);

				sum += w * h[k];
				far += fabs(w) * off[k];
			}
			far += (fabs(sum) + fabs((double)x[r][n] + sum)) * 0x1p-11 + 0x1p-20;
			bad += !(fabs((double)y[r][n] - (double)x[r][n] - sum) <= far);
		}
	}
	return bad;
}

enum { X, NORM, H, G, DOWN, Y, LAYERS };

struct layers {
	struct npu_tensor *t[LAYERS];
};

/* Views of the rows of one core. */
static int view_rows(const struct layers *all, int row, int rows, struct layers *part)
{
	int ret = 0;

	for (int i = 0; i < LAYERS && !ret; i++) {
		uint32_t cols = npu_tensor_shape(all->t[i]).cols;

		ret = npu_tensor_view(all->t[i], (uint32_t)row, (uint32_t)rows, 0, cols, &part->t[i]);
	}
	return ret;
}

static void free_layers(struct layers *l)
{
	for (int i = 0; i < LAYERS; i++)
		npu_tensor_free(l->t[i]);
}

static int append(struct npu_rec *rec, const struct layers *l, const struct npu_weights *up,
		  const struct npu_weights *down)
{
	int ret = npu_rec_rms_norm(rec, l->t[X], l->t[NORM], NULL);

	ret = ret ? ret : npu_rec_matmul(rec, l->t[NORM], up, l->t[H], NULL);
	ret = ret ? ret : npu_rec_act(rec, NPU_ACT_GELU, l->t[H], l->t[G]);
	ret = ret ? ret : npu_rec_matmul(rec, l->t[G], down, l->t[DOWN], NULL);
	return ret ? ret : npu_rec_add(rec, l->t[X], l->t[DOWN], l->t[Y]);
}

static int alloc_layers(struct npu_dev *dev, struct layers *l)
{
	static const uint32_t cols[] = { WIDTH, WIDTH, INNER, INNER, WIDTH, WIDTH };
	int ret = 0;

	for (int i = 0; i < LAYERS && !ret; i++)
		ret = npu_tensor_new(dev, NPU_PREC_FP16, ROWS, cols[i], &l->t[i]);
	return ret;
}

int main(void)
{
	struct npu_weights_desc d1 = { .size = sizeof(d1), .type = NPU_PREC_FP16, .n = INNER, .k = WIDTH };
	struct npu_weights_desc d2 = { .size = sizeof(d2), .type = NPU_PREC_FP16, .n = WIDTH, .k = INNER };
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = CORES };
	struct npu_weights *up = NULL, *down = NULL;
	struct layers all = { { NULL } };
	struct npu_rec *rec = NULL;
	struct npu_dev *dev = NULL;
	int ret, bad = 0;

	fill(w1[0], INNER * WIDTH, 1);
	fill(w2[0], INNER * WIDTH, 77777);
	for (int i = 0; i < ROWS * WIDTH; i++)
		x[i / WIDTH][i % WIDTH] = (float)((int)((unsigned int)i * 2246822519u >> 24) - 128) / 32;
	ret = npu_open(NULL, &dev);
	ret = ret ? ret : npu_weights_new(dev, &d1, w1, &up);
	ret = ret ? ret : npu_weights_new(dev, &d2, w2, &down);
	ret = ret ? ret : alloc_layers(dev, &all);
	ret = ret ? ret : npu_tensor_write_f32(all.t[X], x[0], 0, 1);
	ret = ret ? ret : npu_rec_new(dev, &opts, &rec);
	for (int i = 0; i < CORES && !ret; i++) {
		struct layers part = { { NULL } };

		ret = npu_rec_on(rec, i);
		ret = ret ? ret : view_rows(&all, ROWS / CORES * i, ROWS / CORES, &part);
		ret = ret ? ret : append(rec, &part, up, down);
		free_layers(&part);
	}
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_tensor_read_f32(all.t[Y], y[0], 0, 1);
	if (ret) {
		printf("ffn: %s\n", strerror(-ret));
	} else {
		bad = wrong();
		printf("ffn: %u tasks in %u chains, %u stage, %d wrong\n", npu_rec_info(rec).tasks,
		       npu_rec_info(rec).chains, npu_rec_info(rec).stages, bad);
	}
	npu_rec_free(rec);
	free_layers(&all);
	npu_weights_free(up);
	npu_weights_free(down);
	npu_close(dev);
	return ret || bad;
}
