// SPDX-License-Identifier: MIT
/*
 * Example: causal attention of four heads that share two heads of keys and values.
 *
 *	cc attention.c $(pkg-config --cflags --libs librknpu) -lm
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "npu.h"

#define TOKENS	40
#define HEADS	4
#define KV	2
#define DIM	32

static float q[TOKENS][HEADS][DIM], k[TOKENS][KV][DIM], v[TOKENS][KV][DIM], y[TOKENS][HEADS][DIM];

static void fill(float *to, unsigned int n, unsigned int seed)
{
	for (unsigned int i = 0; i < n; i++)
		to[i] = (float)((int)((seed + i) * 2654435761u >> 24) - 128) / 64;
}

/* A row's bound, see npu_rec_attention(); values are 2 at most. */
static int row_wrong(int row, int head)
{
	double p[TOKENS], most = -INFINITY, sum = 0, big = 0, sizes = 0, off;
	int kv = head / (HEADS / KV), bad = 0;

	for (int t = 0; t <= row; t++) {
		double size = 0;

		p[t] = 0;
		for (int i = 0; i < DIM; i++) {
			p[t] += (double)q[row][head][i] * (double)k[t][kv][i];
			size += fabs((double)q[row][head][i] * (double)k[t][kv][i]);
		}
		most = fmax(most, p[t]);
		big = fmax(big, fabs(p[t]));
		sizes = fmax(sizes, size);
	}
	for (int t = 0; t <= row; t++) {
		p[t] = exp((p[t] - most) / sqrt(DIM));
		sum += p[t];
	}
	off = expm1(2 / sqrt(DIM) * (0x1p-11 * big + DIM * 0x1p-24 * sizes)) +
	      (15 + 2 * log(TOKENS)) * 0x1p-11 + 2 * sqrt(TOKENS) * 0x1p-14 + TOKENS * 0x1p-23;
	for (int i = 0; i < DIM; i++) {
		double want = 0;

		for (int t = 0; t <= row; t++)
			want += p[t] / sum * (double)v[t][kv][i];
		bad += !(fabs((double)y[row][head][i] - want) <= 2 * off + fabs(want) * 0x1p-11);
	}
	return bad;
}

int main(void)
{
	struct npu_attention_opts opts = { .size = sizeof(opts), .heads = HEADS, .kv_heads = KV, .causal = true };
	struct npu_tensor *tq = NULL, *tk = NULL, *tv = NULL, *ty = NULL;
	struct npu_rec_opts cores = { .size = sizeof(cores), .cores = 2 };
	struct npu_rec *rec = NULL;
	struct npu_dev *dev = NULL;
	int ret, bad = 0;

	fill(q[0][0], TOKENS * HEADS * DIM, 1);
	fill(k[0][0], TOKENS * KV * DIM, 10001);
	fill(v[0][0], TOKENS * KV * DIM, 20001);
	ret = npu_open(NULL, &dev);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, HEADS * DIM, &tq);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, KV * DIM, &tk);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, KV * DIM, &tv);
	ret = ret ? ret : npu_tensor_new(dev, NPU_PREC_FP16, TOKENS, HEADS * DIM, &ty);
	ret = ret ? ret : npu_tensor_write_f32(tq, q[0][0], 0, 1);
	ret = ret ? ret : npu_tensor_write_f32(tk, k[0][0], 0, 1);
	ret = ret ? ret : npu_tensor_write_f32(tv, v[0][0], 0, 1);
	ret = ret ? ret : npu_rec_new(dev, &cores, &rec);
	ret = ret ? ret : npu_rec_attention(rec, tq, tk, tv, ty, &opts);
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_tensor_read_f32(ty, y[0][0], 0, 1);
	for (int row = 0; row < TOKENS && !ret; row++)
		for (int head = 0; head < HEADS; head++)
			bad += row_wrong(row, head);
	if (ret)
		printf("attention: %s\n", strerror(-ret));
	else
		printf("attention: %d tokens, %u tasks in %u chains, %d wrong\n", TOKENS,
		       npu_rec_info(rec).tasks, npu_rec_info(rec).chains, bad);
	npu_rec_free(rec);
	npu_tensor_free(tq);
	npu_tensor_free(tk);
	npu_tensor_free(tv);
	npu_tensor_free(ty);
	npu_close(dev);
	return ret || bad;
}
