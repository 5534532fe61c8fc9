// SPDX-License-Identifier: GPL-2.0-only
/*
 * A transformer block of 1536 columns, 12 heads and 128 tokens by libnpu, over both uAPIs: one
 * submission and one interrupt per core, and the same as operation by operation.
 *
 * boot: block LONG TEST_LIMIT=900
 */
#include <math.h>

#include "block.h"
#include "rknpu_libnpu.h"
#include "rknpu_libnpu_oracle.h"

#define TOKENS	128u
#define HEADS	12u
#define DIM	128u
#define WIDTH	(HEADS * DIM)
#define INNER	(4 * WIDTH)
#define CORES	3u
/* Two norms, six products, attention, GELU and two sums. */
#define STEPS	12

LIBNPU_FIXTURE(block)

struct matrix {
	uint32_t n, k;
	uint16_t *half;
	struct npu_weights *w;
};

/* What a core has of its own. */
struct share {
	struct npu_tensor *norm, *q, *k, *v, *mixed, *out, *mid, *norm2, *h, *gelu, *down;
};

struct block {
	struct matrix m[BLOCK_WEIGHTS];
	struct npu_tensor *x, *y;
};

static struct npu_tensor *tensor(struct npu_dev *dev, uint32_t rows, uint32_t cols)
{
	struct npu_tensor *t = NULL;

	npu_tensor_new(dev, NPU_PREC_FP16, rows, cols, &t);
	return t;
}

/* Elements up to 1/32, so that products of normed rows have a size of about 1. */
static bool make_matrix(struct matrix *m, struct npu_dev *dev, uint32_t n, uint32_t k)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = n, .k = k };

	m->n = n;
	m->k = k;
	m->half = malloc((size_t)n * k * sizeof(*m->half));
	for (size_t i = 0; m->half && i < (size_t)n * k; i++)
		m->half[i] = libnpu_small_half();
	return m->half && !npu_weights_new(dev, &d, m->half, &m->w);
}

static bool make_block(struct block *b, struct npu_dev *dev)
{
	static float x[TOKENS * WIDTH];
	bool ok = true;

	for (size_t i = 0; i < TOKENS * WIDTH; i++)
		x[i] = (float)(int)(libnpu_rnd() % 4001 - 2000) / 500;
	for (int i = BLOCK_WQ; i <= BLOCK_WO; i++)
		ok = ok && make_matrix(&b->m[i], dev, WIDTH, WIDTH);
	ok = ok && make_matrix(&b->m[BLOCK_W1], dev, INNER, WIDTH) &&
	     make_matrix(&b->m[BLOCK_W2], dev, WIDTH, INNER);
	b->x = tensor(dev, TOKENS, WIDTH);
	b->y = tensor(dev, TOKENS, WIDTH);
	return ok && b->x && b->y && !npu_tensor_write_f32(b->x, x, 0, 1);
}

static void free_block(struct block *b)
{
	for (int i = 0; i < BLOCK_WEIGHTS; i++) {
		free(b->m[i].half);
		npu_weights_free(b->m[i].w);
	}
	npu_tensor_free(b->x);
	npu_tensor_free(b->y);
}

/* Rows up to @end are seen, and those from @row on are computed. */
static bool make_share(struct share *s, struct npu_dev *dev, uint32_t row, uint32_t end)
{
	struct npu_tensor **seen[] = { &s->norm, &s->k, &s->v };
	struct npu_tensor **own[] = { &s->q, &s->mixed, &s->out, &s->mid, &s->norm2, &s->down };
	struct npu_tensor **wide[] = { &s->h, &s->gelu };
	bool ok = true;

	for (int i = 0; i < 3; i++)
		ok = ok && (*seen[i] = tensor(dev, end, WIDTH));
	for (int i = 0; i < 6; i++)
		ok = ok && (*own[i] = tensor(dev, end - row, WIDTH));
	for (int i = 0; i < 2; i++)
		ok = ok && (*wide[i] = tensor(dev, end - row, INNER));
	return ok;
}

static void free_share(struct share *s)
{
	struct npu_tensor *t[] = {
		s->norm, s->q, s->k, s->v, s->mixed, s->out, s->mid, s->norm2, s->h, s->gelu, s->down,
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		npu_tensor_free(t[i]);
}

/* Views that a step needs of what is shared; freed after it, as recordings keep the memory. */
struct views {
	struct npu_tensor *seen, *own, *norm, *y;
};

static int append_views(struct npu_rec *rec, const struct block *b, const struct share *s,
			const struct views *v, int step)
{
	static const struct npu_attention_opts att = { .size = sizeof(att), .heads = HEADS, .causal = true };
	static const struct npu_norm_opts norm = { .size = sizeof(norm), .epsilon = 1e-5f };

	switch (step) {
	case 0:
		return npu_rec_rms_norm(rec, v->seen, s->norm, &norm);
	case 1:
		return npu_rec_matmul(rec, v->norm, b->m[BLOCK_WQ].w, s->q, NULL);
	case 2:
		return npu_rec_matmul(rec, s->norm, b->m[BLOCK_WK].w, s->k, NULL);
	case 3:
		return npu_rec_matmul(rec, s->norm, b->m[BLOCK_WV].w, s->v, NULL);
	case 4:
		return npu_rec_attention(rec, s->q, s->k, s->v, s->mixed, &att);
	case 5:
		return npu_rec_matmul(rec, s->mixed, b->m[BLOCK_WO].w, s->out, NULL);
	case 6:
		return npu_rec_add(rec, v->own, s->out, s->mid);
	case 7:
		return npu_rec_rms_norm(rec, s->mid, s->norm2, &norm);
	case 8:
		return npu_rec_matmul(rec, s->norm2, b->m[BLOCK_W1].w, s->h, NULL);
	case 9:
		return npu_rec_act(rec, NPU_ACT_GELU, s->h, s->gelu);
	case 10:
		return npu_rec_matmul(rec, s->gelu, b->m[BLOCK_W2].w, s->down, NULL);
	default:
		return npu_rec_add(rec, s->mid, s->down, v->y);
	}
}

static int append_step(struct npu_rec *rec, const struct block *b, const struct share *s,
		       uint32_t row, uint32_t end, int step)
{
	struct views v = { 0 };
	int ret = npu_tensor_view(b->x, 0, end, 0, WIDTH, &v.seen);

	ret = ret ?: npu_tensor_view(b->x, row, end - row, 0, WIDTH, &v.own);
	ret = ret ?: npu_tensor_view(b->y, row, end - row, 0, WIDTH, &v.y);
	ret = ret ?: npu_tensor_view(s->norm, row, end - row, 0, WIDTH, &v.norm);
	ret = ret ?: append_views(rec, b, s, &v, step);
	npu_tensor_free(v.seen);
	npu_tensor_free(v.own);
	npu_tensor_free(v.y);
	npu_tensor_free(v.norm);
	return ret;
}

/* Multiples of 4; the first rows see least, and get most. */
static uint32_t share_end(uint32_t cores, uint32_t core)
{
	static const uint32_t three[] = { 48, 88, TOKENS };

	return cores == CORES ? three[core] : TOKENS;
}

/* Each core computes keys and values of all that its rows see, so that none waits for another. */
static struct npu_rec *record(struct __test_metadata *_metadata, struct npu_dev *dev,
			      const struct block *b, struct share *s, uint32_t cores)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	struct npu_rec *rec = NULL;
	uint32_t row = 0;
	int ret = npu_rec_new(dev, &o, &rec);

	for (uint32_t i = 0; i < cores && !ret; i++) {
		uint32_t end = share_end(cores, i);

		ret = make_share(&s[i], dev, row, end) ? npu_rec_on(rec, i) : -1;
		for (int step = 0; step < STEPS && !ret; step++)
			ret = append_step(rec, b, &s[i], row, end, step);
		row = end;
	}
	EXPECT_EQ(0, ret) TH_LOG("%s", npu_rec_message(rec));
	EXPECT_EQ(0, npu_rec_end(rec));
	return rec;
}

static void run_counted(struct __test_metadata *_metadata, struct npu_rec *rec, uint32_t cores)
{
	struct npu_rec_info info = npu_rec_info(rec);
	long long irqs = rk_cores_stat("irqs");

	EXPECT_EQ(cores, info.chains);
	EXPECT_EQ(1, info.stages);
	ioctls = 0;
	ASSERT_EQ(0, npu_rec_run(rec));
	EXPECT_EQ(1, ioctls);
	ASSERT_EQ(0, npu_rec_wait(rec, 10 * WAIT_NS));
	EXPECT_EQ(cores, rk_cores_stat("irqs") - irqs);
	TH_LOG("%u cores: %u operations, %u tasks, 1 ioctl, %u interrupts", cores, info.ops,
	       info.tasks, cores);
}

/* ---- doubles ---- */

/* A few rows of what the NPU made, from operands that it made itself. */
static float *rows_of(struct npu_tensor *t)
{
	struct npu_shape shape = npu_tensor_shape(t);
	float *v = malloc((size_t)shape.rows * shape.cols * sizeof(*v));

	if (npu_tensor_read_f32(t, v, 0, 1))
		memset(v, 0xff, (size_t)shape.rows * shape.cols * sizeof(*v));
	return v;
}

static const uint32_t checked[] = { 0, 77, TOKENS - 1 };

static unsigned int product_wrong(const struct matrix *m, struct npu_tensor *tx, struct npu_tensor *ty)
{
	float *x = rows_of(tx), *y = rows_of(ty), *w = malloc(m->k * sizeof(*w));
	unsigned int bad = 0;

	for (uint32_t n = 0; n < m->n; n++) {
		for (uint32_t k = 0; k < m->k; k++)
			w[k] = npu_f16_to_f32(m->half[(size_t)n * m->k + k]);
		for (int i = 0; i < 3; i++)
			bad += !oracle_product(x + (size_t)checked[i] * m->k, w, m->k,
					       y[(size_t)checked[i] * m->n + n]);
	}
	free(x);
	free(y);
	free(w);
	return bad;
}

static unsigned int norm_wrong(struct npu_tensor *tx, struct npu_tensor *ty)
{
	float *x = rows_of(tx), *y = rows_of(ty);
	unsigned int bad = 0;

	for (int i = 0; i < 3; i++) {
		const float *row = x + (size_t)checked[i] * WIDTH;
		double mean = 1e-5;

		for (uint32_t k = 0; k < WIDTH; k++)
			mean += (double)row[k] * row[k] / WIDTH;
		for (uint32_t k = 0; k < WIDTH; k++) {
			double want = row[k] / sqrt(mean), got = y[(size_t)checked[i] * WIDTH + k];

			bad += !(fabs(got - want) <= 10 * 0x1p-11 * fabs(want) + 0x1p-18 + 0x1p-24);
		}
	}
	free(x);
	free(y);
	return bad;
}

static unsigned int heads_wrong(const struct share *s)
{
	float *q = rows_of(s->q), *k = rows_of(s->k), *v = rows_of(s->v), *y = rows_of(s->mixed);
	unsigned int bad = 0;
	double p[TOKENS];

	for (int i = 0; i < 3; i++)
		for (uint32_t head = 0; head < HEADS; head++) {
			size_t at = (size_t)checked[i] * WIDTH + head * DIM;
			struct oracle_head h = {
				.q = q + at, .y = y + at, .k = k + head * DIM, .v = v + head * DIM,
				.dim = DIM, .pitch = WIDTH, .seen = checked[i] + 1, .tokens = TOKENS,
			};

			bad += oracle_attention(&h, p);
		}
	free(q);
	free(k);
	free(v);
	free(y);
	return bad;
}

static unsigned int gelu_wrong(struct npu_tensor *tx, struct npu_tensor *ty)
{
	float *x = rows_of(tx), *y = rows_of(ty);
	unsigned int bad = 0;

	for (int i = 0; i < 3; i++)
		for (uint32_t n = 0; n < INNER; n++) {
			double a = x[(size_t)checked[i] * INNER + n];
			double want = a * erfc(-a / sqrt(2)) / 2, got = y[(size_t)checked[i] * INNER + n];

			bad += !(fabs(got - want) <= 0x1p-11 * (fabs(a) + fabs(want)) + 0x1p-25);
		}
	free(x);
	free(y);
	return bad;
}

static unsigned int sum_wrong(struct npu_tensor *ta, struct npu_tensor *tb, struct npu_tensor *ty)
{
	float *a = rows_of(ta), *b = rows_of(tb), *y = rows_of(ty);
	unsigned int bad = 0;

	for (int i = 0; i < 3; i++)
		for (uint32_t n = 0; n < WIDTH; n++) {
			size_t at = (size_t)checked[i] * WIDTH + n;
			double want = (double)a[at] + b[at];

			bad += !(fabs(y[at] - want) <= fabs(want) * 0x1p-11 + 0x1p-25 +
				 fmax(fabs(a[at]), fabs(b[at])) * 0x1p-23);
		}
	free(a);
	free(b);
	free(y);
	return bad;
}

static void check_steps(struct __test_metadata *_metadata, const struct block *b,
			const struct share *s)
{
	EXPECT_EQ(0, norm_wrong(b->x, s->norm));
	EXPECT_EQ(0, product_wrong(&b->m[BLOCK_WQ], s->norm, s->q));
	EXPECT_EQ(0, product_wrong(&b->m[BLOCK_WK], s->norm, s->k));
	EXPECT_EQ(0, product_wrong(&b->m[BLOCK_WV], s->norm, s->v));
	EXPECT_EQ(0, heads_wrong(s));
	EXPECT_EQ(0, product_wrong(&b->m[BLOCK_WO], s->mixed, s->out));
	EXPECT_EQ(0, sum_wrong(b->x, s->out, s->mid));
	EXPECT_EQ(0, norm_wrong(s->mid, s->norm2));
	EXPECT_EQ(0, product_wrong(&b->m[BLOCK_W1], s->norm2, s->h));
	EXPECT_EQ(0, gelu_wrong(s->h, s->gelu));
	EXPECT_EQ(0, product_wrong(&b->m[BLOCK_W2], s->gelu, s->down));
	EXPECT_EQ(0, sum_wrong(s->mid, s->down, b->y));
}

/* The whole block against doubles that know its input and weights alone; see block.h for the bound. */
static void check_end(struct __test_metadata *_metadata, const struct block *b)
{
	struct block_operands o = {
		.tokens = TOKENS, .heads = HEADS, .dim = DIM, .inner = INNER, .epsilon = 1e-5,
		.x = rows_of(b->x),
	};
	struct block_row *norm, want = block_new(WIDTH);
	float *y = rows_of(b->y);

	for (int i = 0; i < BLOCK_WEIGHTS; i++)
		o.w[i] = b->m[i].half;
	norm = block_norms(&o, TOKENS);
	for (int i = 0; i < 3; i++) {
		struct block_error e;

		block_row_of(&o, norm, checked[i], &want);
		e = block_compare(&want, y + (size_t)checked[i] * WIDTH);
		EXPECT_TRUE(block_ok(&e));
		TH_LOG("row %u: off by %.2g, %.2g at most; bound %.2g", checked[i], e.rms, e.most, e.bound);
	}
	block_free(norm, TOKENS);
	free(norm);
	free(want.v);
	free(y);
	free((void *)o.x);
}

/* Each operation is a recording: an ioctl and an interrupt each. */
static void run_apart(struct __test_metadata *_metadata, struct npu_dev *dev, const struct block *b,
		      const struct share *s)
{
	long long irqs = rk_cores_stat("irqs");
	unsigned int calls = 0;

	for (int step = 0; step < STEPS; step++) {
		struct npu_rec *rec = NULL;

		ASSERT_EQ(0, npu_rec_new(dev, NULL, &rec));
		ASSERT_EQ(0, append_step(rec, b, s, 0, TOKENS, step));
		ASSERT_EQ(0, npu_rec_end(rec));
		ioctls = 0;
		ASSERT_EQ(0, npu_rec_run(rec));
		calls += ioctls;
		ASSERT_EQ(0, npu_rec_wait(rec, 10 * WAIT_NS));
		npu_rec_free(rec);
	}
	EXPECT_EQ(STEPS, calls);
	EXPECT_EQ(STEPS, rk_cores_stat("irqs") - irqs);
	TH_LOG("apart: %u ioctls, %lld interrupts", calls, rk_cores_stat("irqs") - irqs);
}

RK_TEST_F_TIMEOUT(block, transformer, 600,
		  "a block of 1536 columns: one submission, one interrupt per core, and right")
{
	static uint16_t one[TOKENS * WIDTH], other[TOKENS * WIDTH];
	struct share s[CORES] = { 0 };
	struct block b = { 0 };
	struct npu_rec *rec;

	RK_REQUIRE_MODEL();
	rk_scrub(false);
	ASSERT_TRUE(make_block(&b, self->dev));
	rec = record(_metadata, self->dev, &b, s, 1);
	run_counted(_metadata, rec, 1);
	ASSERT_EQ(0, npu_tensor_read(b.y, one, 0));
	check_steps(_metadata, &b, &s[0]);
	check_end(_metadata, &b);
	npu_rec_free(rec);
	run_apart(_metadata, self->dev, &b, &s[0]);
	ASSERT_EQ(0, npu_tensor_read(b.y, other, 0));
	EXPECT_EQ(0, memcmp(one, other, sizeof(one)));
	free_share(&s[0]);

	memset(s, 0, sizeof(s));
	rec = record(_metadata, self->dev, &b, s, CORES);
	run_counted(_metadata, rec, CORES);
	ASSERT_EQ(0, npu_tensor_read(b.y, other, 0));
	EXPECT_EQ(0, memcmp(one, other, sizeof(one)));
	npu_rec_free(rec);
	for (uint32_t i = 0; i < CORES; i++)
		free_share(&s[i]);
	free_block(&b);
}

RK_HARNESS_MAIN
