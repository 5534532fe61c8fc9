// SPDX-License-Identifier: MIT
/*
 * Attention: scores, softmax and values of many heads, a block of rows after the other.
 */
#include <errno.h>
#include <math.h>

#include "npu_parts.h"

#define MAX_DIM		4096u
/* Packing reads tensors of so many rows only; tokens of more are made weights one part after the other. */
#define MAX_PARTS	(NPU_SOFTMAX_COLS / NPU_PACK_PITCH)
/* Scores at a time, unless 32 rows have more: 4 MiB in each of four places. */
#define BLOCK_SCORES	(1u << 21)
#define BLOCK_UNIT	32u
/* Tasks of a block but for its products: at most, with masks and sums of sums, for each NPU_SPREAD_ROWS and these. */
#define OTHER_TASKS	32u
#define OTHER_COLS	4096u

struct attention {
	struct npu_rec *rec;
	const struct npu_tensor *q, *k, *v;
	struct npu_tensor *y;
	uint32_t heads, kv_heads, dim;
	uint32_t rows, block;		/* of q, and at a time */
	uint32_t tokens, stored;	/* of k; with what fills the memory */
	bool causal;
	const struct npu_tensor *added;	/* to scores, or NULL */

	struct npu_table *table;
	struct npu_weights *keys[MAX_PARTS], *values;
	struct npu_tensor *near;	/* keys or values of a head, or NULL: see bring_near() */
	struct npu_tensor *turned;	/* values of a head, transposed */
	struct npu_transposer transposer;
	struct npu_tensor *mask;	/* or NULL */
	struct npu_tensor *score[2];
	struct npu_softmax_temps temps;
};

static bool shapes_fit(const struct attention *a)
{
	const struct npu_shape *q = &a->q->shape, *k = &a->k->shape, *v = &a->v->shape;
	const struct npu_shape *y = &a->y->shape;

	return q->rows == y->rows && q->cols == y->cols && k->rows == v->rows &&
	       k->cols == v->cols && q->cols % a->heads == 0 &&
	       (uint64_t)a->dim * a->kv_heads == k->cols;
}

static bool all_fp16(const struct attention *a)
{
	return a->q->shape.type == NPU_PREC_FP16 && a->k->shape.type == NPU_PREC_FP16 &&
	       a->v->shape.type == NPU_PREC_FP16 && a->y->shape.type == NPU_PREC_FP16;
}

static bool mask_fits(const struct attention *a)
{
	const struct npu_shape *m = a->added ? &a->added->shape : NULL;

	return !m || (m->type == NPU_PREC_FP16 && m->rows == a->rows && m->cols == a->tokens);
}

static int check(const struct attention *a)
{
	struct npu_rec *rec = a->rec;

	if (!all_fp16(a))
		return npu_rec_fail(rec, -EINVAL, "attention: no mode for other types than FP16");
	if (a->heads % a->kv_heads || !shapes_fit(a))
		return npu_rec_fail(rec, -EINVAL,
				    "attention: q %u x %u, k %u x %u, v %u x %u, y %u x %u, %u and %u heads do not fit",
				    a->q->shape.rows, a->q->shape.cols, a->k->shape.rows,
				    a->k->shape.cols, a->v->shape.rows, a->v->shape.cols,
				    a->y->shape.rows, a->y->shape.cols, a->heads, a->kv_heads);
	if (a->dim % NPU_TENSOR_COLS)
		return npu_rec_fail(rec, -EINVAL, "attention: heads of %u columns are no multiple of %u",
				    a->dim, NPU_TENSOR_COLS);
	if (!mask_fits(a))
		return npu_rec_fail(rec, -EINVAL, "attention: the mask is not of %u x %u halves", a->rows,
				    a->tokens);
	if (a->causal && a->rows > a->tokens)
		return npu_rec_fail(rec, -EINVAL, "attention: %u rows see only %u tokens", a->rows,
				    a->tokens);
	if (a->tokens > NPU_SOFTMAX_COLS || a->dim > MAX_DIM)
		return npu_rec_fail(rec, -E2BIG, "attention: %u tokens, or heads of %u, exceed the limits %u and %u",
				    a->tokens, a->dim, NPU_SOFTMAX_COLS, MAX_DIM);
	if (npu_tensor_overlap(a->q, a->y) || npu_tensor_overlap(a->k, a->y) ||
	    npu_tensor_overlap(a->v, a->y) || (a->added && npu_tensor_overlap(a->added, a->y)))
		return npu_rec_fail(rec, -EINVAL, "attention: the result shares memory with an operand");
	return 0;
}

static uint32_t last_block(const struct attention *a)
{
	return (a->rows - 1) / a->block * a->block;
}

/*
 * A row that leaves out what is behind the last token; or rows that do, too, what comes later
 * than they: those of other blocks are in the same mask, further to the left.
 */
static int make_mask(struct attention *a)
{
	uint32_t before = a->tokens - a->rows;

	if (a->causal)
		return npu_rec_causal_mask(a->rec, a->block, a->stored + last_block(a),
					   before + last_block(a) + 1, &a->mask);
	if (a->tokens < a->stored)
		return npu_rec_mask_row(a->rec, a->tokens, &a->mask);
	return 0;
}

static bool is_near(const struct npu_tensor *t)
{
	return t->pitch <= NPU_PACK_PITCH;
}

static uint32_t part_tokens(const struct attention *a, uint32_t part)
{
	return (uint32_t)min_u64(a->tokens - part * NPU_PACK_PITCH, NPU_PACK_PITCH);
}

static uint32_t parts(const struct attention *a)
{
	return div_up(a->tokens, NPU_PACK_PITCH);
}

static int prepare_keys(struct attention *a)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < parts(a); i++)
		ret = npu_rec_zero_weights(a->rec, a->y->dev, NPU_PREC_FP16,
					   (uint32_t)round_up(part_tokens(a, i), NPU_TENSOR_COLS), a->dim, &a->keys[i]);
	return ret;
}

static int prepare(struct attention *a, float scale)
{
	struct npu_dev *dev = a->y->dev;
	int ret = npu_rec_exp_table(a->rec, scale, &a->table);

	if (!ret && !(is_near(a->k) && is_near(a->v)))
		ret = npu_rec_temp(a->rec, NPU_PREC_FP16, part_tokens(a, 0), a->dim, &a->near);
	if (!ret)
		ret = prepare_keys(a);
	if (!ret)
		ret = npu_rec_zero_weights(a->rec, dev, NPU_PREC_FP16, a->dim, a->stored,
						   &a->values);
	if (!ret)
		a->values->k_step = npu_sum_step(a->block, a->values);
	if (!ret)
		ret = npu_rec_temp(a->rec, NPU_PREC_FP16, a->dim, a->stored, &a->turned);
	if (!ret)
		ret = npu_transposer_new(a->rec, &a->transposer, dev, NPU_PREC_FP16, part_tokens(a, 0));
	if (!ret)
		ret = make_mask(a);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(a->score); i++)
		ret = npu_rec_temp(a->rec, NPU_PREC_FP16, a->block, a->stored, &a->score[i]);
	if (!ret)
		ret = npu_softmax_temps_new(a->rec, &a->temps, a->score[0]);
	return ret;
}

static void release(struct attention *a)
{
	npu_table_free(a->table);
	for (size_t i = 0; i < ARRAY_SIZE(a->keys); i++)
		npu_weights_free(a->keys[i]);
	npu_weights_free(a->values);
	npu_tensor_free(a->near);
	npu_tensor_free(a->turned);
	npu_transposer_free(&a->transposer);
	npu_tensor_free(a->mask);
	npu_tensor_free(a->score[0]);
	npu_tensor_free(a->score[1]);
	npu_softmax_temps_free(&a->temps);
}

/* Packing reads a view of a larger tensor only after it was copied. */
static int bring_near(struct attention *a, struct npu_tensor *t)
{
	struct npu_tensor near;
	int ret;

	if (is_near(t))
		return 0;
	near = npu_part(a->near, 0, t->shape.rows, 0, a->dim);
	ret = npu_rec_copy_raw(a->rec, t, &near);
	*t = near;
	return ret;
}

static int make_room(struct attention *a, uint64_t tasks)
{
	return npu_rec_make_room(a->rec, (uint32_t)min_u64(tasks, NPU_REC_MAX_TASKS));
}

static uint64_t copy_count(const struct attention *a, const struct npu_tensor *t, uint32_t part)
{
	return is_near(t) ? 0 : div_up(part_tokens(a, part), NPU_FLY_ROWS) * div_up(a->dim, NPU_FLY_COLS);
}

static uint64_t key_count(const struct attention *a, uint32_t part)
{
	return npu_pack_count(npu_dev_chip(a->y->dev), NPU_PREC_FP16, part_tokens(a, part), a->dim) +
	       copy_count(a, a->k, part);
}

static uint64_t value_count(const struct attention *a, uint32_t part)
{
	return npu_transpose_count(npu_dev_chip(a->y->dev), NPU_PREC_FP16, part_tokens(a, part), a->dim) +
	       copy_count(a, a->v, part);
}

/* Keys are weights of the scores. */
static int load_keys(struct attention *a, uint32_t head, uint32_t part)
{
	uint32_t tokens = part_tokens(a, part);
	struct npu_tensor k = npu_part(a->k, part * NPU_PACK_PITCH, tokens, head * a->dim, a->dim);
	struct npu_weights keys = *a->keys[part];
	int ret = make_room(a, copy_count(a, a->k, part));

	keys.n = tokens;
	if (!ret)
		ret = bring_near(a, &k);
	return ret ? ret : npu_rec_pack(a->rec, &k, &keys);
}

/* Values transposed are those of the result. */
static int load_values(struct attention *a, uint32_t head, uint32_t part)
{
	uint32_t token = part * NPU_PACK_PITCH, tokens = part_tokens(a, part);
	struct npu_tensor v = npu_part(a->v, token, tokens, head * a->dim, a->dim);
	struct npu_tensor turned = npu_part(a->turned, 0, a->dim, token, tokens);
	int ret = make_room(a, copy_count(a, a->v, part));

	if (!ret)
		ret = bring_near(a, &v);
	return ret ? ret : npu_rec_transpose_tasks(a->rec, &v, &turned, &a->transposer);
}

static int load_head(struct attention *a, uint32_t head)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < parts(a); i++) {
		ret = load_keys(a, head, i);
		if (!ret)
			ret = load_values(a, head, i);
	}
	return ret ? ret : npu_rec_pack(a->rec, a->turned, a->values);
}

static struct npu_tensor mask_part(const struct attention *a, uint32_t row, uint32_t rows)
{
	return a->causal ? npu_part(a->mask, 0, rows, last_block(a) - row, a->stored) : *a->mask;
}

static void swap(struct npu_tensor **a, struct npu_tensor **b)
{
	struct npu_tensor *t = *a;

	*a = *b;
	*b = t;
}

/* The caller's mask, then our own: behind the last token there may be anything before that. */
static int mask_scores(struct attention *a, uint32_t row, struct npu_tensor **score, struct npu_tensor **other)
{
	uint32_t rows = (*score)->shape.rows;
	int ret = 0;

	if (a->added) {
		struct npu_tensor mask = npu_part(a->added, row, rows, 0, a->tokens);
		struct npu_tensor from = npu_part(*score, 0, rows, 0, a->tokens);
		struct npu_tensor to = npu_part(*other, 0, rows, 0, a->tokens);

		ret = npu_rec_ew(a->rec, NPU_EW_ADD, &from, &mask, &to);
		swap(score, other);
	}
	if (!ret && a->mask) {
		struct npu_tensor mask = mask_part(a, row, rows);

		ret = npu_rec_ew(a->rec, NPU_EW_MIN, *score, &mask, *other);
		swap(score, other);
	}
	return ret;
}

static int append_scores(struct attention *a, const struct npu_tensor *q, const struct npu_tensor *score)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < parts(a); i++) {
		struct npu_tensor part = npu_part(score, 0, score->shape.rows, i * NPU_PACK_PITCH, a->keys[i]->n);

		ret = npu_rec_matmul_tasks(a->rec, q, a->keys[i], &part, NULL);
	}
	return ret;
}

static int append_block(struct attention *a, uint32_t head, uint32_t row)
{
	uint32_t rows = (uint32_t)min_u64(a->rows - row, a->block);
	struct npu_tensor q = npu_part(a->q, row, rows, head * a->dim, a->dim);
	struct npu_tensor y = npu_part(a->y, row, rows, head * a->dim, a->dim);
	struct npu_tensor s0 = npu_part(a->score[0], 0, rows, 0, a->stored);
	struct npu_tensor s1 = npu_part(a->score[1], 0, rows, 0, a->stored);
	struct npu_tensor *score = &s0, *share = &s1;
	int ret = append_scores(a, &q, score);

	if (!ret)
		ret = mask_scores(a, row, &score, &share);
	if (!ret)
		ret = npu_rec_softmax_tasks(a->rec, score, share, a->table, &a->temps);
	if (!ret)
		ret = npu_rec_matmul_tasks(a->rec, share, a->values, &y, NULL);
	return ret;
}

/* ---- steps that are in one chain if they fit; long sequences fill several ---- */

static uint64_t product_count(const struct attention *a, uint32_t n, uint32_t k, uint32_t k_step)
{
	uint32_t step = (uint32_t)min_u64(k, k_step);

	return div_up(k, step) * npu_plan_make(npu_dev_chip(a->y->dev), NPU_PREC_FP16, a->block, n, step, 0, 0).ntiles;
}

static uint64_t load_count(const struct attention *a)
{
	uint64_t n = npu_pack_count(npu_dev_chip(a->y->dev), NPU_PREC_FP16, a->dim, a->stored);

	for (uint32_t i = 0; i < parts(a); i++)
		n += key_count(a, i) + value_count(a, i);
	return n;
}

/* Scores, sums of shares, these for all columns, values. */
static uint64_t block_count(const struct attention *a)
{
	uint32_t k_step = a->values->k_step;
	uint64_t n = product_count(a, 1, a->stored, k_step) + product_count(a, a->stored, 1, 1) +
		     product_count(a, a->dim, a->stored, k_step) +
		     div_up(a->block, NPU_SPREAD_ROWS) * div_up(a->stored, OTHER_COLS) * OTHER_TASKS;

	for (uint32_t i = 0; i < parts(a); i++)
		n += product_count(a, a->keys[i]->n, a->dim, a->dim);
	return n;
}

static int append_head(struct attention *a, uint32_t head)
{
	int ret = make_room(a, load_count(a));

	return ret ? ret : load_head(a, head);
}

static int append_rows(struct attention *a, uint32_t head, uint32_t row)
{
	int ret = make_room(a, block_count(a));

	return ret ? ret : append_block(a, head, row);
}

static int append(struct attention *a)
{
	uint32_t group = a->heads / a->kv_heads;
	int ret = 0;

	for (uint32_t head = 0; !ret && head < a->heads && npu_rec_room(a->rec); head++) {
		if (head % group == 0)
			ret = append_head(a, head / group);
		for (uint32_t row = 0; !ret && row < a->rows && npu_rec_room(a->rec); row += a->block)
			ret = append_rows(a, head, row);
	}
	return ret;
}

static struct npu_tensor heads_of(const struct attention *a, const struct npu_tensor *t, uint32_t head,
				  uint32_t heads)
{
	return npu_part(t, 0, t->shape.rows, head * a->dim, heads * a->dim);
}

/* Heads from @head on, and those of keys and values that belong to them. */
static int append_heads(const struct attention *all, uint32_t head, uint32_t heads, float scale)
{
	uint32_t group = all->heads / all->kv_heads, kv = head / group;
	uint32_t kv_heads = heads < group ? 1 : heads / group;
	struct npu_tensor q = heads_of(all, all->q, head, heads), y = heads_of(all, all->y, head, heads);
	struct npu_tensor k = heads_of(all, all->k, kv, kv_heads);
	struct npu_tensor v = heads_of(all, all->v, kv, kv_heads);
	struct attention a = *all;
	int ret;

	a.q = &q;
	a.k = &k;
	a.v = &v;
	a.y = &y;
	a.heads = heads;
	a.kv_heads = kv_heads;
	ret = prepare(&a, scale);
	if (!ret)
		ret = append(&a);
	release(&a);
	return ret;
}

/* By heads of keys, or where there is only one of them by those of queries. */
static int append_shared(const struct attention *a, float scale)
{
	uint32_t unit = a->kv_heads == 1 ? 1 : a->heads / a->kv_heads, units = a->heads / unit;
	uint32_t shares = npu_rec_shares(a->rec, units), head = 0;
	int ret = 0;

	if (shares == 1)
		return append_heads(a, 0, a->heads, scale);
	for (uint32_t i = 0; !ret && i < shares; i++) {
		uint32_t heads = (units / shares + (i < units % shares)) * unit;

		ret = npu_rec_select_core(a->rec, i);
		if (!ret)
			ret = append_heads(a, head, heads, scale);
		head += heads;
	}
	return ret;
}

static uint32_t block_rows(const struct attention *a, uint32_t most)
{
	uint64_t rows = most ? most : BLOCK_SCORES / a->stored;

	rows = max_u64(rows / BLOCK_UNIT, 1) * BLOCK_UNIT;
	return (uint32_t)min_u64(rows, a->rows);
}

int npu_rec_attention(struct npu_rec *rec, const struct npu_tensor *q, const struct npu_tensor *k,
		      const struct npu_tensor *v, struct npu_tensor *y,
		      const struct npu_attention_opts *opts)
{
	struct npu_attention_opts o = { 0 };
	struct attention a = {
		.rec = rec, .q = q, .k = k, .v = v, .y = y, .rows = q->shape.rows, .tokens = k->shape.rows,
		.stored = (uint32_t)round_up(k->shape.rows, NPU_TENSOR_COLS),
	};
	int ret = npu_rec_begin(rec, "attention");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &o, mask, opts);
	a.heads = o.heads ? o.heads : 1;
	a.kv_heads = o.kv_heads ? o.kv_heads : a.heads;
	a.dim = q->shape.cols / a.heads;
	a.causal = o.causal;
	a.added = o.mask;
	if (!ret)
		ret = check(&a);
	if (!ret) {
		a.block = block_rows(&a, o.max_rows);
		ret = append_shared(&a, o.scale ? o.scale : 1 / sqrtf((float)a.dim));
	}
	return ret ? ret : npu_rec_commit(rec);
}
