// SPDX-License-Identifier: MIT
/*
 * A transformer block from end to end against doubles, and that the bound tells a wrong one.
 */
#include "nn.h"
#include "block.h"

#define TOKENS	48u
#define HEADS	4u
#define DIM	64u
#define WIDTH	(HEADS * DIM)
#define INNER	(4 * WIDTH)

struct net {
	struct block_operands o;
	float *x;
	uint16_t *half[BLOCK_WEIGHTS];
	struct npu_weights *w[BLOCK_WEIGHTS];
};

static uint32_t rows_of(int i)
{
	return i == BLOCK_W1 ? INNER : WIDTH;
}

static uint32_t cols_of(int i)
{
	return i == BLOCK_W2 ? INNER : WIDTH;
}

/* Weights of such a size that products of normed rows are about 1. */
static void make(struct net *n, struct npu_dev *dev)
{
	n->x = nn_floats(TOKENS * WIDTH, 4);
	n->o = (struct block_operands){
		.tokens = TOKENS, .heads = HEADS, .dim = DIM, .inner = INNER, .epsilon = 1e-5, .x = n->x,
	};
	for (int i = 0; i < BLOCK_WEIGHTS; i++) {
		float *v = nn_floats((size_t)rows_of(i) * cols_of(i), 1.5 / sqrt(cols_of(i)));

		n->half[i] = malloc((size_t)rows_of(i) * cols_of(i) * sizeof(uint16_t));
		for (size_t k = 0; k < (size_t)rows_of(i) * cols_of(i); k++)
			n->half[i][k] = npu_f32_to_f16(v[k]);
		n->w[i] = nn_weights(dev, rows_of(i), cols_of(i), v, NULL);
		n->o.w[i] = n->half[i];
		free(v);
	}
}

static void release(struct net *n)
{
	for (int i = 0; i < BLOCK_WEIGHTS; i++) {
		free(n->half[i]);
		npu_weights_free(n->w[i]);
	}
	free(n->x);
}

static struct npu_tensor *temp(struct npu_dev *dev, uint32_t cols)
{
	return nn_result(dev, NPU_PREC_FP16, TOKENS, cols);
}

/* On the NPU, to @y. */
static int run(struct npu_dev *dev, const struct net *n, float *y)
{
	static const struct npu_attention_opts att = { .size = sizeof(att), .heads = HEADS, .causal = true };
	static const struct npu_norm_opts norm = { .size = sizeof(norm), .epsilon = 1e-5f };
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_FP16, TOKENS, WIDTH, n->x);
	enum { A, Q, K, V, MIXED, OUT, MID, B, DOWN, Y, H, G, TENSORS };
	struct npu_tensor *t[TENSORS];
	struct npu_rec *rec = nn_rec(dev);
	int ret;

	for (int i = 0; i < TENSORS; i++)
		t[i] = temp(dev, i >= H ? INNER : WIDTH);
	ret = npu_rec_rms_norm(rec, x, t[A], &norm);
	ret = ret ? ret : npu_rec_matmul(rec, t[A], n->w[BLOCK_WQ], t[Q], NULL);
	ret = ret ? ret : npu_rec_matmul(rec, t[A], n->w[BLOCK_WK], t[K], NULL);
	ret = ret ? ret : npu_rec_matmul(rec, t[A], n->w[BLOCK_WV], t[V], NULL);
	ret = ret ? ret : npu_rec_attention(rec, t[Q], t[K], t[V], t[MIXED], &att);
	ret = ret ? ret : npu_rec_matmul(rec, t[MIXED], n->w[BLOCK_WO], t[OUT], NULL);
	ret = ret ? ret : npu_rec_add(rec, x, t[OUT], t[MID]);
	ret = ret ? ret : npu_rec_rms_norm(rec, t[MID], t[B], &norm);
	ret = ret ? ret : npu_rec_matmul(rec, t[B], n->w[BLOCK_W1], t[H], NULL);
	ret = ret ? ret : npu_rec_act(rec, NPU_ACT_GELU, t[H], t[G]);
	ret = ret ? ret : npu_rec_matmul(rec, t[G], n->w[BLOCK_W2], t[DOWN], NULL);
	ret = ret ? ret : npu_rec_add(rec, t[MID], t[DOWN], t[Y]);
	ret = nn_run(rec, ret);
	ret = ret ? ret : npu_tensor_read_f32(t[Y], y, 0, 1);
	npu_rec_free(rec);
	for (int i = 0; i < TENSORS; i++)
		npu_tensor_free(t[i]);
	npu_tensor_free(x);
	return ret;
}

static void test_rows(const struct net *n, const struct block_row *norm, const float *y)
{
	struct block_error worst = { 0 };
	unsigned int bad = 0;

	for (uint32_t row = 0; row < TOKENS; row++) {
		struct block_row want = block_new(WIDTH);
		struct block_error e;

		block_row_of(&n->o, norm, row, &want);
		e = block_compare(&want, y + (size_t)row * WIDTH);
		bad += !block_ok(&e);
		if (e.rms / e.bound >= worst.rms)
			worst = (struct block_error){ e.rms / e.bound, e.most / e.bound, e.bound };
		free(want.v);
	}
	tap_ok(!bad, "from end to end: %u rows wrong, at most %.3f of the bound, %g; elements %.2f of it", bad,
	       worst.rms, worst.bound, worst.most);
}

/* What the block gives if something of it is wrong must be told from what it gives. */
static void test_tells(const struct net *n, const struct block_row *norm, const float *y, int which,
		       const char *what)
{
	struct net other = *n;
	size_t size = (size_t)rows_of(which) * cols_of(which);
	uint16_t *w = malloc(size * sizeof(*w));
	struct block_row want = block_new(WIDTH);
	struct block_error e;

	/* One element of each row, as where a tile is left out. */
	memcpy(w, n->half[which], size * sizeof(*w));
	for (size_t i = 0; i < size; i += 16)
		w[i] = 0;
	other.o.w[which] = w;
	block_row_of(&other.o, norm, TOKENS - 1, &want);
	e = block_compare(&want, y + (size_t)(TOKENS - 1) * WIDTH);
	tap_ok(!block_ok(&e), "a sixteenth of %s missing: %.1f of the bound, elements %.1f", what, e.rms / e.bound,
	       e.most / e.bound);
	free(want.v);
	free(w);
}

int main(void)
{
	static const char * const name[] = { "Wq", "Wk", "Wv", "Wo", "W1", "W2" };
	static float y[TOKENS * WIDTH];
	struct block_row *norm;
	struct npu_dev *dev = nn_begin(DRM_ROCKET_FEATURE_BATCHED);
	struct net n;
	int ret;

	make(&n, dev);
	ret = run(dev, &n, y);
	tap_ok(!ret, "a block of %u columns, %u heads and %u tokens: error %d", WIDTH, HEADS, TOKENS, ret);
	norm = block_norms(&n.o, TOKENS);
	test_rows(&n, norm, y);
	for (int i = 0; i < BLOCK_WEIGHTS; i++)
		test_tells(&n, norm, y, i, name[i]);
	block_free(norm, TOKENS);
	free(norm);
	release(&n);
	return nn_end(dev);
}
