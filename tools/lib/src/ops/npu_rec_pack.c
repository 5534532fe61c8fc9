// SPDX-License-Identifier: MIT
/*
 * Tensors that become weights on the NPU, and transposition, which takes that.
 *
 * A tensor has 16 bytes of each row, then the next ones; weights have 64 bytes of each of 16
 * kernels of halves, or 32 of each of 32 of bytes, then the next ones. So atoms change their
 * places, and one task moves those of a group of 32 columns: the read engine takes the atoms of a
 * row as lines, and rows as surfaces that lie inside of each other; the write engine takes what
 * comes as lines of as many atoms, a group of kernels to a surface.
 */
#include <errno.h>
#include <stdlib.h>

#include "npu_window.h"

#define GROUP_COLS	32u
/* Rows of one task: each makes eight channels. */
#define PACK_ROWS	(NPU_FLY_COLS / 8)
/* Rows and columns of the matrix that transposes. */
#define SIDE		64u

int npu_rec_zero_weights(struct npu_rec *rec, struct npu_dev *dev, enum npu_prec type, uint32_t n,
			 uint32_t k, struct npu_weights **out)
{
	size_t np = round_up(n, npu_kernel_group(npu_dev_chip(dev), type)), kp = round_up(k, GROUP_COLS);
	struct npu_weights *w = calloc(1, sizeof(*w));
	int ret = w ? npu_rec_mem(rec, np * kp * npu_prec_bytes(type), &w->mem) : -ENOMEM;

	if (ret) {
		free(w);
		return npu_rec_fail(rec, ret, "no memory for weights of %u x %u", n, k);
	}
	w->dev = dev;
	w->type = type;
	w->n = n;
	w->k = k;
	w->kp = (uint32_t)kp;
	w->k_step = npu_k_step(k);
	*out = w;
	return 0;
}

/* @rows from @row on, 32 columns from @col on, of which @kp begin at @k0. */
static void pack_task(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		      uint32_t row, uint32_t rows, uint32_t col, uint32_t k0, uint32_t kp)
{
	uint32_t group = npu_kernel_group(npu_dev_chip(w->dev), w->type), bpe = (uint32_t)npu_prec_bytes(w->type);
	uint32_t atoms = GROUP_COLS * bpe / npu_tensor_atom_bytes(x), lines = (uint32_t)min_u64(rows, group);
	uint64_t at = round_up(w->n, group) * k0 + (uint64_t)row * kp;
	struct npu_move_task t = {
		.raw = true,
		.from = {
			.iova = npu_tensor_iova(x) + npu_tensor_place(x, row, col),
			.width = 1, .height = atoms, .surfaces = rows,
			.line = x->pitch, .surf = 1,
		},
		.to = {
			.iova = w->mem->iova + (at + (uint64_t)(col - k0) * group) * bpe,
			.width = atoms, .height = lines, .surfaces = rows / lines,
			.line = atoms, .surf = group * atoms * (kp / GROUP_COLS),
		},
	};

	npu_prog_move(npu_rec_prog(rec), &t);
}

/* Whole groups of rows, and what is left of one. */
static void pack_columns(struct npu_rec *rec, const struct npu_tensor *x,
			 const struct npu_weights *w, uint32_t col, uint32_t k0, uint32_t kp)
{
	uint32_t group = npu_kernel_group(npu_dev_chip(w->dev), w->type), whole = w->n / group * group, row;

	for (row = 0; row < whole && npu_rec_room(rec); row += PACK_ROWS)
		pack_task(rec, x, w, row, (uint32_t)min_u64(whole - row, PACK_ROWS), col, k0, kp);
	if (whole < w->n)
		pack_task(rec, x, w, whole, w->n - whole, col, k0, kp);
}

uint32_t npu_pack_count(const struct npu_chip *chip, enum npu_prec type, uint32_t n, uint32_t k)
{
	uint32_t group = npu_kernel_group(chip, type), rest = n % group;

	return (uint32_t)(div_up(k, GROUP_COLS) * (div_up(n - rest, PACK_ROWS) + !!rest));
}

/* Of several stretches a chain may have some only. */
static int pack_stretch(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w, uint32_t k0)
{
	uint32_t kp = (uint32_t)min_u64(w->k_step, w->kp - k0);
	int ret = npu_rec_make_room(rec, npu_pack_count(npu_dev_chip(w->dev), w->type, w->n, kp));

	if (!ret)
		ret = npu_rec_reads(rec, x);
	if (!ret)
		ret = npu_rec_writes_weights(rec, w);
	for (uint32_t col = k0; !ret && col < k0 + kp && npu_rec_room(rec); col += GROUP_COLS)
		pack_columns(rec, x, w, col, k0, kp);
	return ret;
}

int npu_rec_pack(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w)
{
	int ret = 0;

	if (x->pitch > NPU_PACK_PITCH)
		return npu_rec_fail(rec, -E2BIG, "weights of a tensor of %u rows exceed the limit %u", x->pitch,
				    NPU_PACK_PITCH);
	for (uint32_t k0 = 0; !ret && k0 < w->k && npu_rec_room(rec); k0 += w->k_step)
		ret = pack_stretch(rec, x, w, k0);
	return ret;
}

/* ---- transposition ---- */

int npu_transposer_new(struct npu_rec *rec, struct npu_transposer *t, struct npu_dev *dev,
		       enum npu_prec type, uint32_t rows)
{
	float one[SIDE * SIDE] = { 0 };
	int ret = npu_rec_temp(rec, type, SIDE, SIDE, &t->identity);

	for (uint32_t i = 0; i < SIDE; i++)
		one[i * SIDE + i] = 1;
	if (!ret) {
		ret = npu_tensor_write_f32(t->identity, one, 0, 1);
		if (ret)
			npu_rec_fail(rec, ret, "no matrix to transpose with");
	}
	if (!ret)
		ret = npu_rec_zero_weights(rec, dev, type, rows, SIDE, &t->wide);
	if (!ret)
		ret = npu_rec_zero_weights(rec, dev, type, rows, GROUP_COLS, &t->narrow);
	if (!ret && type == NPU_PREC_INT8)
		t->wide->rq.scale = t->narrow->rq.scale = 1;
	return ret;
}

void npu_transposer_free(struct npu_transposer *t)
{
	npu_tensor_free(t->identity);
	npu_weights_free(t->wide);
	npu_weights_free(t->narrow);
}

uint32_t npu_transpose_count(const struct npu_chip *chip, enum npu_prec type, uint32_t rows, uint32_t cols)
{
	struct npu_plan product = npu_plan_make(chip, type, SIDE, rows, SIDE, 0, 0);

	return npu_pack_count(chip, type, rows, cols) + (uint32_t)(div_up(cols, SIDE) * product.ntiles);
}

/* A column of @x is the product of its rows with a row that has a single 1. */
int npu_rec_transpose_tasks(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y,
			    const struct npu_transposer *t)
{
	const struct npu_chip *chip = npu_dev_chip(x->dev);
	int ret = 0;

	for (uint32_t col = 0; !ret && col < x->shape.cols && npu_rec_room(rec); col += SIDE) {
		uint32_t n = (uint32_t)min_u64(x->shape.cols - col, SIDE);
		struct npu_tensor from = npu_part(x, 0, x->shape.rows, col, n);
		struct npu_tensor to = npu_part(y, col, n, 0, x->shape.rows);
		struct npu_tensor one = npu_part(t->identity, 0, n, 0, n);
		struct npu_weights w = n > GROUP_COLS ? *t->wide : *t->narrow;

		w.n = x->shape.rows;
		w.k = n;
		ret = npu_rec_make_room(rec, npu_transpose_count(chip, w.type, w.n, n));
		if (!ret)
			ret = npu_rec_pack(rec, &from, &w);
		if (!ret)
			ret = npu_rec_matmul_tasks(rec, &one, &w, &to, NULL);
	}
	return ret;
}

static int check(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y)
{
	const struct npu_shape *a = &x->shape, *b = &y->shape;

	if (a->type != b->type || (a->type != NPU_PREC_FP16 && a->type != NPU_PREC_INT8))
		return npu_rec_fail(rec, -EINVAL, "transpose: no mode for %s to %s", npu_prec_name(a->type),
				    npu_prec_name(b->type));
	if (a->rows != b->cols || a->cols != b->rows)
		return npu_rec_fail(rec, -EINVAL, "transpose: %u x %u to %u x %u do not fit", a->rows,
				    a->cols, b->rows, b->cols);
	if (npu_tensor_overlap(x, y))
		return npu_rec_fail(rec, -EINVAL, "transpose: x and y share memory");
	return 0;
}

struct turn {
	const struct npu_tensor *x, *y;
};

/* So many rows at a time; packing reads those of a larger tensor only after they were copied. */
static int append_rows(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y, uint32_t row,
		       const struct npu_transposer *t, const struct npu_tensor *near)
{
	uint32_t rows = (uint32_t)min_u64(x->shape.rows - row, NPU_PACK_PITCH), cols = x->shape.cols;
	struct npu_tensor from = npu_part(x, row, rows, 0, cols), to = npu_part(y, 0, cols, row, rows), copy;
	int ret;

	if (!near)
		return npu_rec_transpose_tasks(rec, &from, &to, t);
	copy = npu_part(near, 0, rows, 0, cols);
	ret = npu_rec_make_room(rec, (uint32_t)(div_up(rows, NPU_FLY_ROWS) * div_up(cols, NPU_FLY_COLS)));
	if (!ret)
		ret = npu_rec_copy_raw(rec, &from, &copy);
	return ret ? ret : npu_rec_transpose_tasks(rec, &copy, &to, t);
}

/* What is behind the last row has weights of 0, which others would not leave: so it has its own. */
static int append_all_rows(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y,
			   const struct npu_tensor *near)
{
	struct npu_transposer t = { 0 };
	uint32_t made = 0;
	int ret = 0;

	for (uint32_t row = 0; !ret && row < x->shape.rows && npu_rec_room(rec); row += NPU_PACK_PITCH) {
		uint32_t rows = (uint32_t)min_u64(x->shape.rows - row, NPU_PACK_PITCH);

		if (rows != made) {
			npu_transposer_free(&t);
			t = (struct npu_transposer){ 0 };
			ret = npu_transposer_new(rec, &t, x->dev, x->shape.type, rows);
			made = rows;
		}
		if (!ret)
			ret = append_rows(rec, x, y, row, &t, near);
	}
	npu_transposer_free(&t);
	return ret;
}

/* Columns that become rows; each share makes weights of its own. */
static int append_columns(struct npu_rec *rec, const void *arg, const struct npu_area *a)
{
	const struct turn *turn = arg;
	uint32_t rows = turn->x->shape.rows;
	struct npu_tensor x = npu_part(turn->x, 0, rows, a->col, a->cols);
	struct npu_tensor y = npu_part(turn->y, a->col, a->cols, 0, rows), *near = NULL;
	int ret = 0;

	if (x.pitch > NPU_PACK_PITCH)
		ret = npu_rec_temp(rec, x.shape.type, (uint32_t)min_u64(rows, NPU_PACK_PITCH), a->cols, &near);
	if (!ret)
		ret = append_all_rows(rec, &x, &y, near);
	npu_tensor_free(near);
	return ret;
}

int npu_rec_transpose(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y)
{
	struct npu_image_split p = { .width = 1, .height = 1, .cols = x->shape.cols, .unit = SIDE };
	const struct turn turn = { x, y };
	int ret = npu_rec_begin(rec, "transpose");

	if (!ret)
		ret = check(rec, x, y);
	if (!ret)
		ret = npu_rec_by_area(rec, &p, &turn, append_columns);
	return ret ? ret : npu_rec_commit(rec);
}
