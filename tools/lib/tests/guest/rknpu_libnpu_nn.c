// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu promises of layers of neural networks, on the driver and over both uAPIs: one ioctl
 * and one interrupt for a block of them, whose attention is within its bounds.
 *
 * boot: library
 * boot: noiommulib
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_libnpu.h"
#include "rknpu_libnpu_oracle.h"

/* The core that these recordings run on. */
#define CORE		1

LIBNPU_FIXTURE(nn)

/* Halves from -@size to @size. */
static void fill(float *v, size_t n, float size)
{
	static uint32_t state = 0x2545f491;

	for (size_t i = 0; i < n; i++) {
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;
		v[i] = npu_f16_to_f32(npu_f32_to_f16(((float)(state % 4001) / 2000 - 1) * size));
	}
}

static struct npu_tensor *tensor(struct npu_dev *dev, uint32_t rows, uint32_t cols, const float *v)
{
	struct npu_tensor *t = NULL;

	if (npu_tensor_new(dev, NPU_PREC_FP16, rows, cols, &t))
		return NULL;
	if (v && npu_tensor_write_f32(t, v, 0, 1)) {
		npu_tensor_free(t);
		return NULL;
	}
	return t;
}

static struct npu_weights *weights(struct npu_dev *dev, uint32_t n, uint32_t k, const float *v)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = n, .k = k };
	uint16_t *h = malloc((size_t)n * k * sizeof(*h));
	struct npu_weights *w = NULL;

	for (size_t i = 0; h && i < (size_t)n * k; i++)
		h[i] = npu_f32_to_f16(v[i]);
	if (h)
		npu_weights_new(dev, &d, h, &w);
	free(h);
	return w;
}

static struct npu_rec *recording(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .core_mask = 1 << CORE };
	struct npu_rec *rec = NULL;

	npu_rec_new(dev, &o, &rec);
	return rec;
}

/* One ioctl, one start of the hardware and one interrupt, however many tasks. */
static void end_and_run(struct __test_metadata *_metadata, struct npu_rec *rec, int err,
			const char *uapi)
{
	ASSERT_EQ(0, err) TH_LOG("%s", npu_rec_message(rec));
	ASSERT_EQ(0, npu_rec_end(rec));
	EXPECT_TRUE(npu_rec_info(rec).chained);
	EXPECT_EQ(1, npu_rec_info(rec).chains);
	libnpu_run_counted(_metadata, rec, uapi);
	libnpu_run_counted(_metadata, rec, uapi);
}

/* ---- a block: norm, projections, attention with grouped queries, projection, sum ---- */

#define TOKENS	40u
#define DIM	32u
#define HEADS	4u
#define KV	2u
#define WIDTH	(HEADS * DIM)

struct block {
	struct npu_tensor *x, *norm, *q, *k, *v, *mixed, *out, *y;
	struct npu_weights *wq, *wk, *wv, *wo;
};

static struct npu_weights *any_weights(struct npu_dev *dev, uint32_t n)
{
	static float v[WIDTH * WIDTH];

	fill(v, (size_t)n * WIDTH, 0.15f);
	return weights(dev, n, WIDTH, v);
}

static bool make_block(struct block *b, struct npu_dev *dev, const float *x)
{
	b->x = tensor(dev, TOKENS, WIDTH, x);
	b->norm = tensor(dev, TOKENS, WIDTH, NULL);
	b->q = tensor(dev, TOKENS, WIDTH, NULL);
	b->k = tensor(dev, TOKENS, KV * DIM, NULL);
	b->v = tensor(dev, TOKENS, KV * DIM, NULL);
	b->mixed = tensor(dev, TOKENS, WIDTH, NULL);
	b->out = tensor(dev, TOKENS, WIDTH, NULL);
	b->y = tensor(dev, TOKENS, WIDTH, NULL);
	b->wq = any_weights(dev, WIDTH);
	b->wk = any_weights(dev, KV * DIM);
	b->wv = any_weights(dev, KV * DIM);
	b->wo = any_weights(dev, WIDTH);
	return b->x && b->norm && b->q && b->k && b->v && b->mixed && b->out && b->y && b->wq &&
	       b->wk && b->wv && b->wo;
}

static void free_block(struct block *b)
{
	struct npu_tensor *t[] = { b->x, b->norm, b->q, b->k, b->v, b->mixed, b->out, b->y };
	struct npu_weights *w[] = { b->wq, b->wk, b->wv, b->wo };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		npu_tensor_free(t[i]);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		npu_weights_free(w[i]);
}

#define STEPS	7

static int append_step(struct npu_rec *rec, const struct block *b, int step)
{
	static const struct npu_attention_opts att = {
		.size = sizeof(att),
		.heads = HEADS, .kv_heads = KV, .causal = true,
	};
	static const struct npu_norm_opts norm = { .size = sizeof(norm), .epsilon = 1e-5f };

	switch (step) {
	case 0:
		return npu_rec_rms_norm(rec, b->x, b->norm, &norm);
	case 1:
		return npu_rec_matmul(rec, b->norm, b->wq, b->q, NULL);
	case 2:
		return npu_rec_matmul(rec, b->norm, b->wk, b->k, NULL);
	case 3:
		return npu_rec_matmul(rec, b->norm, b->wv, b->v, NULL);
	case 4:
		return npu_rec_attention(rec, b->q, b->k, b->v, b->mixed, &att);
	case 5:
		return npu_rec_matmul(rec, b->mixed, b->wo, b->out, NULL);
	default:
		return npu_rec_add(rec, b->x, b->out, b->y);
	}
}

/* From what the NPU itself made of the projections. */
static unsigned int attention_wrong(const float *q, const float *k, const float *v, const float *y,
				    uint32_t row, uint32_t head)
{
	uint32_t at = row * WIDTH + head * DIM, kv = head / (HEADS / KV) * DIM;
	struct oracle_head h = {
		.q = q + at, .k = k + kv, .v = v + kv, .y = y + at, .dim = DIM, .pitch = KV * DIM,
		.seen = row + 1, .tokens = TOKENS,
	};
	double p[TOKENS];

	return oracle_attention(&h, p);
}

static void check_attention(struct __test_metadata *_metadata, const struct block *b)
{
	static float q[TOKENS * WIDTH], k[TOKENS * KV * DIM], v[TOKENS * KV * DIM];
	static float y[TOKENS * WIDTH];
	unsigned int bad = 0;

	ASSERT_EQ(0, npu_tensor_read_f32(b->q, q, 0, 1));
	ASSERT_EQ(0, npu_tensor_read_f32(b->k, k, 0, 1));
	ASSERT_EQ(0, npu_tensor_read_f32(b->v, v, 0, 1));
	ASSERT_EQ(0, npu_tensor_read_f32(b->mixed, y, 0, 1));
	for (uint32_t row = 0; row < TOKENS; row++)
		for (uint32_t head = 0; head < HEADS; head++)
			bad += attention_wrong(q, k, v, y, row, head);
	EXPECT_EQ(0, bad);
}

RK_TEST_F_TIMEOUT(nn, block, 120,
		  "norm, projections and attention: one ioctl, one interrupt, and as by themselves")
{
	static float x[TOKENS * WIDTH];
	static uint16_t together[TOKENS * WIDTH], apart[TOKENS * WIDTH];
	struct npu_rec *rec = recording(self->dev);
	struct block b = { 0 };
	int ret = 0;

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	fill(x, TOKENS * WIDTH, 20);
	ASSERT_TRUE(rec && make_block(&b, self->dev, x));
	for (int i = 0; !ret && i < STEPS; i++)
		ret = append_step(rec, &b, i);
	end_and_run(_metadata, rec, ret, variant->uapi);
	TH_LOG("%u operations, %u tasks", npu_rec_info(rec).ops, npu_rec_info(rec).tasks);
	ASSERT_EQ(0, npu_tensor_read(b.y, together, 0));
	check_attention(_metadata, &b);
	npu_rec_free(rec);
	for (int i = 0; i < STEPS; i++) {
		rec = recording(self->dev);
		ASSERT_NE(NULL, rec);
		ASSERT_EQ(0, append_step(rec, &b, i));
		ASSERT_EQ(0, npu_rec_end(rec));
		ASSERT_EQ(0, npu_rec_run(rec));
		ASSERT_EQ(0, npu_rec_wait(rec, WAIT_NS));
		npu_rec_free(rec);
	}
	ASSERT_EQ(0, npu_tensor_read(b.y, apart, 0));
	EXPECT_EQ(0, memcmp(together, apart, sizeof(apart)));
	free_block(&b);
}

RK_HARNESS_MAIN
