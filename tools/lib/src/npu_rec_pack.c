// SPDX-License-Identifier: MIT
/*
 * Tensors that become weights on the NPU, and transposition, which takes that.
 *
 * A tensor has 16 bytes of each row, then the next ones; weights have 64 bytes of each of 16
 * kernels, then the next ones. So atoms change their places, and one task moves those of a group
 * of 32 columns: the read engine takes the four atoms of a row as lines, and rows as surfaces that
 * lie inside of each other; the write engine takes what comes as lines of four, 16 to a surface.
 */
#include <errno.h>
#include <stdlib.h>

#include "npu_parts.h"

#define GROUP_COLS	32u
#define GROUP_ATOMS	4u
#define GROUP_ROWS	16u
/* Rows of one task: each makes eight channels. */
#define PACK_ROWS	(NPU_FLY_COLS / 8)
/* What a line of the read engine may leave out has 13 bits. */
#define MAX_PITCH	8192u
/* Rows and columns of the matrix that transposes. */
#define SIDE		64u

int npu_rec_blank(struct npu_rec *rec, struct npu_dev *dev, uint32_t n, uint32_t k,
		  struct npu_weights **out)
{
	uint32_t np = (uint32_t)round_up(n, GROUP_ROWS), kp = (uint32_t)round_up(k, GROUP_COLS);
	struct npu_weights *w = calloc(1, sizeof(*w));
	int ret = w ? npu_mem_new(dev, (size_t)np * kp * sizeof(uint16_t), &w->mem) : -ENOMEM;

	if (ret) {
		free(w);
		return npu_rec_fail(rec, ret, "no memory for weights of %u x %u", n, k);
	}
	w->dev = dev;
	w->type = NPU_PREC_FP16;
	w->n = n;
	w->k = k;
	w->kp = kp;
	w->k_step = npu_k_step(k);
	*out = w;
	return 0;
}

/* @rows from @row on, 32 columns from @col on, of which @kp begin at @k0. */
static void pack_task(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		      uint32_t row, uint32_t rows, uint32_t col, uint32_t k0, uint32_t kp)
{
	uint64_t np = round_up(w->n, GROUP_ROWS), at = np * k0 + (uint64_t)row * kp;
	uint32_t lines = (uint32_t)min_u64(rows, GROUP_ROWS);
	struct npu_move_task t = {
		.raw = true,
		.from = {
			.iova = npu_tensor_iova(x) + npu_feature_offset(2, x->pitch, row, col),
			.width = 1, .height = GROUP_ATOMS, .surfaces = rows,
			.line = x->pitch, .surf = 1,
		},
		.to = {
			.iova = w->mem->bo->iova + (at + (uint64_t)(col - k0) * GROUP_ROWS) * 2,
			.width = GROUP_ATOMS, .height = lines, .surfaces = rows / lines,
			.line = GROUP_ATOMS, .surf = GROUP_ROWS * GROUP_ATOMS * (kp / GROUP_COLS),
		},
	};

	npu_prog_move(npu_rec_prog(rec), &t);
}

/* Whole groups of rows, and what is left of one. */
static void pack_columns(struct npu_rec *rec, const struct npu_tensor *x,
			 const struct npu_weights *w, uint32_t col, uint32_t k0, uint32_t kp)
{
	uint32_t whole = w->n / GROUP_ROWS * GROUP_ROWS, row;

	for (row = 0; row < whole && npu_rec_room(rec); row += PACK_ROWS)
		pack_task(rec, x, w, row, (uint32_t)min_u64(whole - row, PACK_ROWS), col, k0, kp);
	if (whole < w->n)
		pack_task(rec, x, w, whole, w->n - whole, col, k0, kp);
}

int npu_rec_pack(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w)
{
	int ret = npu_rec_reads(rec, x);

	if (!ret && x->pitch > MAX_PITCH)
		ret = npu_rec_fail(rec, -E2BIG, "weights of a tensor of %u rows exceed the limit %u",
				   x->pitch, MAX_PITCH);
	if (!ret)
		ret = npu_rec_writes_weights(rec, w);
	for (uint32_t k0 = 0; !ret && k0 < w->k; k0 += w->k_step) {
		uint32_t kp = (uint32_t)min_u64(w->k_step, w->kp - k0);

		for (uint32_t col = k0; col < k0 + kp && npu_rec_room(rec); col += GROUP_COLS)
			pack_columns(rec, x, w, col, k0, kp);
	}
	return ret;
}

/* ---- transposition ---- */

int npu_transposer_new(struct npu_rec *rec, struct npu_transposer *t, struct npu_dev *dev,
		       uint32_t rows)
{
	float one[SIDE * SIDE] = { 0 };
	int ret = npu_rec_temp(rec, dev, NPU_PREC_FP16, SIDE, SIDE, &t->identity);

	for (uint32_t i = 0; i < SIDE; i++)
		one[i * SIDE + i] = 1;
	if (!ret) {
		ret = npu_tensor_write_f32(t->identity, one, 0, 1);
		if (ret)
			npu_rec_fail(rec, ret, "no matrix to transpose with");
	}
	if (!ret)
		ret = npu_rec_blank(rec, dev, rows, SIDE, &t->weights);
	return ret;
}

void npu_transposer_free(struct npu_transposer *t)
{
	npu_tensor_free(t->identity);
	npu_weights_free(t->weights);
}

/* A column of @x is the product of its rows with a row that has a single 1. */
int npu_rec_transpose_tasks(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			    const struct npu_transposer *t)
{
	int ret = 0;

	for (uint32_t col = 0; !ret && col < x->shape.cols && npu_rec_room(rec); col += SIDE) {
		uint32_t n = (uint32_t)min_u64(x->shape.cols - col, SIDE);
		struct npu_tensor from = npu_part(x, 0, x->shape.rows, col, n);
		struct npu_tensor to = npu_part(y, col, n, 0, x->shape.rows);
		struct npu_tensor one = npu_part(t->identity, 0, n, 0, n);
		struct npu_weights w = *t->weights;

		w.k = n;
		w.kp = (uint32_t)round_up(n, GROUP_COLS);
		w.k_step = w.kp;
		ret = npu_rec_pack(rec, &from, &w);
		if (!ret)
			ret = npu_rec_matmul_tasks(rec, &one, &w, &to, NULL);
	}
	return ret;
}

static int check(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y)
{
	const struct npu_shape *a = &x->shape, *b = &y->shape;

	if (a->type != NPU_PREC_FP16 || b->type != NPU_PREC_FP16)
		return npu_rec_fail(rec, -EINVAL, "transpose: no mode for type %d to %d", a->type,
				    b->type);
	if (a->rows != b->cols || a->cols != b->rows)
		return npu_rec_fail(rec, -EINVAL, "transpose: %u x %u to %u x %u do not fit", a->rows,
				    a->cols, b->rows, b->cols);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "transpose: x and y share memory");
	return 0;
}

int npu_rec_transpose(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y)
{
	struct npu_transposer t = { 0 };
	int ret = npu_rec_begin(rec, "transpose");

	if (!ret)
		ret = check(rec, x, y);
	if (!ret)
		ret = npu_transposer_new(rec, &t, x->dev, x->shape.rows);
	if (!ret)
		ret = npu_rec_transpose_tasks(rec, x, y, &t);
	npu_transposer_free(&t);
	return ret ? ret : npu_rec_commit(rec);
}
