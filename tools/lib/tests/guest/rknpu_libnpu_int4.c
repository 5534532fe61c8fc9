// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libnpu computes of language models on an RK3576, on the driver, over both uAPIs: halves
 * times INT4 weights, whose scales the CPU applies, within the bound that npu_rec_matmul() states.
 *
 * boot: rk3576
 * boot: rk3576dt
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "rknpu_libnpu.h"

/* What one product takes. */
#define MOST_COLS	4096u
#define MOST_PARTS	8u

LIBNPU_FIXTURE(int4)

/* Each part of the columns is a product, whose weights have a scale for each of their rows. */
struct shape {
	uint32_t m, n, k, part;
};

struct product {
	struct shape s;
	uint32_t parts;
	uint8_t *w;
	float *x, *scale, *y;
	struct npu_tensor *tx, *view[MOST_PARTS], *ty[MOST_PARTS];
	struct npu_weights *all, *tw[MOST_PARTS];
	struct npu_rec *rec;
};

static uint32_t part_cols(const struct shape *s, uint32_t part)
{
	uint32_t left = s->k - part * s->part;

	return left < s->part ? left : s->part;
}

/* -1 to 1 in steps of 1/1024, which halves have. */
static float any(void)
{
	return (float)((int)(libnpu_rnd() % 2049) - 1024) / 1024;
}

static void fill_x(struct product *p)
{
	for (uint32_t i = 0; i < p->s.m * p->s.k; i++)
		p->x[i] = 32 * any();
}

static void fill(struct product *p)
{
	const struct shape *s = &p->s;

	p->w = malloc(s->n * s->k / 2);
	p->x = malloc(s->m * s->k * sizeof(*p->x));
	p->y = malloc(s->m * s->n * sizeof(*p->y));
	p->scale = malloc(p->parts * s->n * sizeof(*p->scale));
	for (uint32_t i = 0; i < s->n * s->k / 2; i++)
		p->w[i] = libnpu_rnd();
	for (uint32_t i = 0; i < p->parts * s->n; i++)
		p->scale[i] = any() / 10 + 0x1p-13f;
}

static int add_part(struct product *p, struct npu_dev *dev, uint32_t i)
{
	const struct shape *s = &p->s;
	int ret = npu_weights_part(p->all, i, &p->tw[i]);

	ret = ret ?: npu_tensor_view(p->tx, 0, s->m, i * s->part, part_cols(s, i), &p->view[i]);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP32, s->m, s->n, &p->ty[i]);
	return ret ?: npu_rec_matmul(p->rec, p->view[i], p->tw[i], p->ty[i], NULL);
}

static int product_new(struct product *p, const struct shape *s, struct npu_dev *dev)
{
	struct npu_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_INT4, .n = s->n, .k = s->k, .part = s->part,
	};
	int ret;

	*p = (struct product){ .s = *s, .parts = (s->k + s->part - 1) / s->part };
	fill(p);
	ret = npu_weights_new(dev, &d, p->w, &p->all);
	ret = ret ?: npu_tensor_new(dev, NPU_PREC_FP16, s->m, s->k, &p->tx);
	ret = ret ?: npu_rec_new(dev, NULL, &p->rec);
	for (uint32_t i = 0; !ret && i < p->parts; i++)
		ret = add_part(p, dev, i);
	return ret ?: npu_rec_end(p->rec);
}

static void product_free(struct product *p)
{
	npu_rec_free(p->rec);
	for (uint32_t i = 0; i < p->parts; i++) {
		npu_tensor_free(p->view[i]);
		npu_tensor_free(p->ty[i]);
		npu_weights_free(p->tw[i]);
	}
	npu_tensor_free(p->tx);
	npu_weights_free(p->all);
	free(p->w);
	free(p->x);
	free(p->scale);
	free(p->y);
}

static int nibble(const uint8_t *p, uint32_t i)
{
	int v = p[i / 2] >> (i % 2 ? 4 : 0) & 0xf;

	return v < 8 ? v : v - 16;
}

/* Off by more than sums in another order and the rounding of the scales are. */
static bool is_wrong(const struct product *p, uint32_t m, uint32_t n)
{
	const struct shape *s = &p->s;
	double sum = 0, size = 0;

	for (uint32_t k = 0; k < s->k; k++) {
		double v = (double)p->x[m * s->k + k] * p->scale[k / s->part * s->n + n];

		v *= nibble(p->w, n * s->k + k);
		sum += v;
		size += fabs(v);
	}
	return !(fabs(p->y[m * s->n + n] - sum) <= (s->k + 2 * p->parts) * 0x1p-24 * size);
}

static unsigned int wrong(const struct product *p)
{
	unsigned int bad = 0;

	for (uint32_t m = 0; m < p->s.m; m++)
		for (uint32_t n = 0; n < p->s.n; n++)
			bad += is_wrong(p, m, n);
	return bad;
}

static int read_parts(struct product *p)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < p->parts; i++)
		ret = npu_tensor_read_scaled(p->ty[i], p->y, 0, p->scale + i * p->s.n, i);
	return ret;
}

static void multiply(struct __test_metadata *_metadata, struct npu_dev *dev, const char *uapi,
		     const struct shape *s)
{
	struct product p;

	ASSERT_EQ(0, product_new(&p, s, dev))
		TH_LOG("%s", p.rec ? npu_rec_message(p.rec) : "no recording");
	for (int run = 0; run < 2; run++) {
		fill_x(&p);
		ASSERT_EQ(0, npu_tensor_write_f32(p.tx, p.x, 0, 1));
		libnpu_run_counted(_metadata, p.rec, uapi);
		ASSERT_EQ(0, read_parts(&p));
		EXPECT_EQ(0, wrong(&p)) TH_LOG("%u x %u x %u in parts of %u", s->m, s->n, s->k, s->part);
	}
	product_free(&p);
}

RK_TEST_F(int4, weights_with_scales_of_rows,
	  "products of INT4 weights are right, of one row and of several")
{
	static const struct shape s[] = {
		{ 1, 192, 512, 512 }, { 2, 64, 34, 64 }, { 33, 128, 256, 256 },
		{ 1, 64, MOST_COLS, MOST_COLS },
	};

	ASSERT_TRUE(npu_can_multiply(self->dev, NPU_PREC_INT4, NPU_PREC_FP32));
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		multiply(_metadata, self->dev, variant->uapi, &s[i]);
}

RK_TEST_F(int4, weights_with_scales_of_groups,
	  "a scale for each group of columns, which are parts of one chain")
{
	static const struct shape s[] = {
		{ 1, 128, 256, 32 }, { 12, 64, 96, 32 }, { 5, 64, 320, 128 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		multiply(_metadata, self->dev, variant->uapi, &s[i]);
}

RK_TEST_F(int4, more_columns_than_a_product,
	  "columns that one product does not take are several")
{
	struct npu_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_INT4, .n = 64, .k = MOST_COLS + 2,
	};
	static const struct shape s[] = {
		{ 1, 64, MOST_COLS + 800, MOST_COLS }, { 6, 64, 2 * MOST_COLS, MOST_COLS },
	};
	static const uint8_t src[64 * (MOST_COLS / 2 + 1)];
	struct npu_weights *w;

	EXPECT_EQ(-EINVAL, npu_weights_new(self->dev, &d, src, &w));
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		multiply(_metadata, self->dev, variant->uapi, &s[i]);
}

RK_HARNESS_MAIN
