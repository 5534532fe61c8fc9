// SPDX-License-Identifier: MIT
/*
 * Copies from tensor to tensor, inside of operations.
 */
#include "npu_parts.h"

/* Of one task, as halves. */
#define RAW_SURFACES	(NPU_FLY_COLS / 8)

static struct npu_atoms part(const struct npu_tensor *t, uint32_t row, uint32_t rows,
			     uint32_t col, uint32_t surfaces)
{
	return (struct npu_atoms){
		.iova = npu_tensor_iova(t) + npu_tensor_place(t, row, col),
		.width = rows, .height = 1, .surfaces = surfaces, .line = rows, .surf = t->pitch,
	};
}

/* Surfaces are counted as they are written: two of words make one of halves. */
static void copy_part(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y,
		      bool relu, uint32_t row, uint32_t col)
{
	uint32_t rows = (uint32_t)min_u64(x->shape.rows - row, NPU_FLY_ROWS);
	uint32_t cols = (uint32_t)min_u64(x->shape.cols - col, NPU_FLY_COLS);
	uint32_t surfaces = (uint32_t)div_up(cols, npu_tensor_lanes(y));
	struct npu_move_task t = {
		.in = x->shape.type, .out = y->shape.type, .relu = relu,
		.from = part(x, row, rows, col, surfaces),
		.to = part(y, row, rows, col, surfaces),
	};

	npu_prog_move(npu_rec_prog(rec), &t);
}

int npu_rec_copy(struct npu_rec *rec, const struct npu_tensor *x, struct npu_tensor *y, bool relu)
{
	int ret = npu_rec_reads(rec, x);

	if (!ret)
		ret = npu_rec_writes(rec, y);
	for (uint32_t row = 0; !ret && row < x->shape.rows; row += NPU_FLY_ROWS)
		for (uint32_t col = 0; col < x->shape.cols && npu_rec_room(rec); col += NPU_FLY_COLS)
			copy_part(rec, x, y, relu, row, col);
	return ret;
}

static void copy_raw_part(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y,
			  uint32_t row, uint32_t surface)
{
	uint32_t rows = (uint32_t)min_u64(x->shape.rows - row, NPU_FLY_ROWS);
	uint32_t lanes = npu_tensor_lanes(x);
	uint32_t surfaces = (uint32_t)min_u64(div_up(x->shape.cols, lanes) - surface, RAW_SURFACES);
	struct npu_move_task t = {
		.raw = true,
		.from = part(x, row, rows, surface * lanes, surfaces),
		.to = part(y, row, rows, surface * lanes, surfaces),
	};

	npu_prog_move(npu_rec_prog(rec), &t);
}

int npu_rec_copy_raw(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_tensor *y)
{
	uint32_t surfaces = (uint32_t)div_up(x->shape.cols, npu_tensor_lanes(x));
	int ret = npu_rec_reads(rec, x);

	if (!ret)
		ret = npu_rec_writes(rec, y);
	for (uint32_t row = 0; !ret && row < x->shape.rows; row += NPU_FLY_ROWS)
		for (uint32_t s = 0; s < surfaces && npu_rec_room(rec); s += RAW_SURFACES)
			copy_raw_part(rec, x, y, row, s);
	return ret;
}

int npu_rec_temp(struct npu_rec *rec, enum npu_prec type, uint32_t rows,
		 uint32_t cols, struct npu_tensor **out)
{
	int ret = npu_rec_tensor(rec, type, rows, cols, out);

	return ret ? npu_rec_fail(rec, ret, "no memory for %u x %u in between", rows, cols) : 0;
}
