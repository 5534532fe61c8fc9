// SPDX-License-Identifier: MIT
/*
 * Example: one product of halves with weights that stay packed, for two inputs.
 *
 *	cc matmul.c $(pkg-config --cflags --libs librknpu) -lm
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "npu.h"

#define M	8
#define N	48
#define K	200

static uint16_t w[N][K];
static float x[M][K], y[M][N];

/* Multiples of 1/64, which halves have. */
static float number(unsigned int i)
{
	return (float)((int)(i * 2654435761u >> 24) - 128) / 64;
}

/* Each sum is off by K * 2^-24 of what is added at most, see npu_rec_matmul(). */
static int wrong(void)
{
	int bad = 0;

	for (int m = 0; m < M; m++)
		for (int n = 0; n < N; n++) {
			double sum = 0, size = 0;

			for (int k = 0; k < K; k++) {
				double p = (double)x[m][k] * (double)npu_f16_to_f32(w[n][k]);

				sum += p;
				size += fabs(p);
			}
			bad += !(fabs((double)y[m][n] - sum) <= K * 0x1p-24 * size);
		}
	return bad;
}

static int run(struct npu_rec *rec, struct npu_tensor *in, struct npu_tensor *out, unsigned int seed)
{
	int ret;

	for (int m = 0; m < M; m++)
		for (int k = 0; k < K; k++)
			x[m][k] = number(seed++);
	ret = npu_tensor_write_f32(in, x[0], 0, 1);
	if (!ret)
		ret = npu_rec_run(rec);
	if (!ret)
		ret = npu_rec_wait(rec, -1);
	if (!ret)
		ret = npu_tensor_read_f32(out, y[0], 0, 1);
	return ret;
}

int main(void)
{
	struct npu_weights_desc desc = { .size = sizeof(desc), .type = NPU_PREC_FP16, .n = N, .k = K };
	struct npu_rec_opts opts = { .size = sizeof(opts), .cores = 3 };
	struct npu_tensor *in = NULL, *out = NULL;
	struct npu_weights *weights = NULL;
	struct npu_rec *rec = NULL;
	struct npu_dev *dev = NULL;
	int ret, bad = 0;

	for (int n = 0; n < N; n++)
		for (int k = 0; k < K; k++)
			w[n][k] = npu_f32_to_f16(number((unsigned int)(n * K + k)));
	ret = npu_open(NULL, &dev);
	ret = ret ? ret : npu_weights_new(dev, &desc, w, &weights);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, M, K, &in);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP32, M, N, &out);
	ret = ret ? ret : npu_rec_new(dev, &opts, &rec);
	ret = ret ? ret : npu_rec_matmul(rec, in, weights, out, NULL);
	ret = ret ? ret : npu_rec_end(rec);
	for (unsigned int i = 0; i < 2 && !ret; i++) {
		ret = run(rec, in, out, i * 1000);
		bad += wrong();
	}
	if (ret)
		printf("matmul: %s\n", strerror(-ret));
	else
		printf("matmul: %d x %d x %d, %u chains, %d wrong\n", M, N, K, npu_rec_info(rec).chains, bad);
	npu_rec_free(rec);
	npu_tensor_free(in);
	npu_tensor_free(out);
	npu_weights_free(weights);
	npu_close(dev);
	return ret || bad;
}
