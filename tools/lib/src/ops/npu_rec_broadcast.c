// SPDX-License-Identifier: MIT
/*
 * One value per row for all columns of it, inside of operations. The DPU has operands per
 * element and per column only, so that the array multiplies the values with ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "npu_parts.h"

#define SPREAD_COLS	4096u
#define GROUP		16u

static int new_uniform(struct npu_rec *rec, uint32_t n, uint32_t k, float value, struct npu_weights **out)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = n, .k = k };
	size_t count = (size_t)n * k;
	uint16_t *src = malloc(count * sizeof(*src));
	int ret;

	if (!src)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		src[i] = npu_f32_to_f16(value);
	ret = npu_rec_weights(rec, &d, src, out);
	free(src);
	return ret;
}

int npu_rec_fill_weights(struct npu_rec *rec, uint32_t n, uint32_t k, float value,
			 const struct npu_weights **out)
{
	struct npu_weights *w = NULL;
	int ret;

	*out = npu_rec_const(rec, n, k, value);
	if (*out)
		return 0;
	ret = new_uniform(rec, n, k, value, &w);
	if (ret)
		return npu_rec_fail(rec, ret, "no memory for weights of %u x %u", n, k);
	*out = w;
	return npu_rec_keep_const(rec, n, k, value, w);
}

/* Only the first channel of an atom is not 0. Their k, 0, tells them from others. */
static int packed_ones(struct npu_rec *rec, struct npu_dev *dev, uint32_t n,
		       const struct npu_weights **out)
{
	struct npu_weights *w;
	int ret;

	*out = npu_rec_const(rec, n, 0, 1);
	if (*out)
		return npu_rec_reads_weights(rec, *out);
	ret = npu_rec_zero_weights(rec, dev, NPU_PREC_FP16, n, NPU_BROADCAST_CHANNELS, &w);
	if (ret)
		return ret;
	*out = w;
	for (uint32_t i = 0; i < n; i++)
		((uint16_t *)w->mem->bo->map)[i * NPU_BROADCAST_CHANNELS] = npu_f32_to_f16(1);
	ret = npu_rec_keep_const(rec, n, 0, 1, w);
	if (ret)
		return ret;
	ret = npu_bo_fini(w->mem->bo);
	return ret ? npu_rec_fail(rec, ret, "no weights of %u", n) : npu_rec_reads_weights(rec, w);
}

static void broadcast_tasks(struct npu_rec *rec, const struct npu_tensor *v,
			    const struct npu_tensor *y, const struct npu_weights *ones)
{
	uint32_t stored = (uint32_t)round_up(y->shape.rows, NPU_TENSOR_ROWS);

	for (uint32_t row = 0; row < stored; row += NPU_SPREAD_ROWS)
		for (uint32_t col = 0; col < y->shape.cols && npu_rec_room(rec); col += SPREAD_COLS) {
			uint64_t cols = min_u64(y->shape.cols - col, SPREAD_COLS);
			struct npu_broadcast_task t = {
				.in_iova = npu_tensor_iova(v) + row * sizeof(uint16_t),
				.weight_iova = ones->mem->iova,
				.out_iova = npu_tensor_iova(y) +
					    npu_tensor_place(y, row, col),
				.rows = (uint32_t)min_u64(stored - row, NPU_SPREAD_ROWS),
				.cols = (uint32_t)round_up(cols, GROUP), .out_pitch = y->pitch,
			};

			npu_prog_broadcast(npu_rec_prog(rec), &t);
		}
}

/* A single element is a column, too. */
int npu_rec_broadcast_row(struct npu_rec *rec, const struct npu_tensor *v, struct npu_tensor *y)
{
	const struct npu_weights *ones = NULL;
	int ret;

	if (y->shape.rows == 1)
		return npu_rec_broadcast_col(rec, v, y);
	ret = packed_ones(rec, y->dev, (uint32_t)min_u64(y->shape.cols, SPREAD_COLS), &ones);
	if (!ret)
		ret = npu_rec_reads(rec, v);
	if (!ret)
		ret = npu_rec_writes(rec, y);
	if (!ret)
		broadcast_tasks(rec, v, y, ones);
	return ret;
}

int npu_rec_broadcast_col(struct npu_rec *rec, const struct npu_tensor *col, struct npu_tensor *y)
{
	const struct npu_weights *ones = NULL;
	struct npu_tensor first = *col;
	int ret = npu_rec_fill_weights(rec, y->shape.cols, 1, 1, &ones);

	first.shape.cols = 1;
	if (!ret)
		ret = npu_rec_matmul_tasks(rec, &first, ones, y, NULL);
	return ret;
}
