// SPDX-License-Identifier: MIT
/*
 * MUL_MAT_ID: rows that belong to one of many matrices each. Those of a matrix are gathered,
 * multiplied at once, and put where they belong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rknpu_ggml.h"

/* Recordings are for a number of rows: few numbers, so that they are used again. */
#define ROWS_STEP	16u

/* For each row, in the order of the result's. */
struct gather {
	uint32_t *row;		/* of one matrix */
	float *x, *y;
};

static int32_t expert(const struct ggml_tensor *ids, int64_t slot, int64_t token)
{
	int32_t id;

	memcpy(&id, (char *)ids->data + slot * ids->nb[0] + token * ids->nb[1], sizeof(id));
	return id;
}

static const void *x_of(const struct ggml_tensor *x, int64_t slot, int64_t token)
{
	/* One row for all slots, or one for each. */
	return (char *)x->data + slot % x->ne[1] * x->nb[1] + token * x->nb[2];
}

static uint32_t rows_of(const struct ggml_tensor *op, int32_t which, uint32_t *row)
{
	const struct ggml_tensor *ids = op->src[2];
	uint32_t n = 0;

	for (int64_t token = 0; token < ids->ne[1]; token++)
		for (int64_t slot = 0; slot < ids->ne[0]; slot++)
			if (expert(ids, slot, token) == which)
				row[n++] = (uint32_t)(token * ids->ne[0] + slot);
	return n;
}

static int with_expert(const struct ggml_tensor *op, struct rknpu_weights *w, struct gather *g,
		       uint32_t n, char *why, size_t size)
{
	const struct ggml_tensor *x = op->src[1];
	uint32_t m = (n + ROWS_STEP - 1) / ROWS_STEP * ROWS_STEP, slots = (uint32_t)op->ne[1];
	size_t k = (size_t)x->ne[0], columns = (size_t)op->ne[0];
	struct rknpu_rows r = {
		.x = g->x, .x_type = GGML_TYPE_F32, .x_stride = k * sizeof(float), .m = m, .n = 1,
		.out[0] = { .w = w, .y = g->y, .y_stride = columns * sizeof(float) },
	};
	int ret;

	for (uint32_t i = 0; i < n; i++)
		memcpy(g->x + i * k, x_of(x, g->row[i] % slots, g->row[i] / slots), k * sizeof(float));
	memset(g->x + n * k, 0, (m - n) * k * sizeof(float));
	ret = rknpu_multiply(&r, why, size);
	for (uint32_t i = 0; !ret && i < n; i++)
		memcpy((char *)op->data + g->row[i] % slots * op->nb[1] +
		       g->row[i] / slots * op->nb[2], g->y + i * columns, columns * sizeof(float));
	return ret;
}

bool rknpu_experts_possible(const struct ggml_tensor *op)
{
	const struct ggml_tensor *x = op->src[1], *ids = op->src[2];

	return x->type == GGML_TYPE_F32 && op->type == GGML_TYPE_F32 && ids->type == GGML_TYPE_I32 &&
	       ids->ne[2] == 1 && ids->ne[3] == 1 && x->ne[3] == 1 && op->src[0]->ne[3] == 1 &&
	       rknpu_product_fits(op, x->ne[1] * x->ne[2] + ids->ne[0] * ids->ne[1] + ROWS_STEP);
}

static int all_experts(const struct ggml_tensor *op, struct gather *g, char *why, size_t size)
{
	int ret = 0;

	for (int64_t i = 0; !ret && i < op->src[0]->ne[2]; i++) {
		uint32_t n = rows_of(op, (int32_t)i, g->row);
		struct rknpu_weights *w;

		/* Nobody's rows may not cost packing. */
		if (!n)
			continue;
		ret = rknpu_slice_get(op->src[0], i, 0, &w, why, size);
		if (ret)
			return ret;
		ret = with_expert(op, w, g, n, why, size);
		rknpu_slice_put(op->src[0], w);
		rknpu_stats.macs += (uint64_t)n * (uint64_t)(op->ne[0] * op->src[1]->ne[0]);
	}
	return ret;
}

int rknpu_experts(const struct ggml_tensor *op, char *why, size_t size)
{
	size_t rows = (size_t)(op->ne[1] * op->ne[2]) + ROWS_STEP;
	struct gather g = {
		.row = malloc(rows * sizeof(*g.row)),
		.x = malloc(rows * (size_t)op->src[1]->ne[0] * sizeof(float)),
		.y = malloc(rows * (size_t)op->ne[0] * sizeof(float)),
	};
	int ret = -ENOMEM;

	if (g.row && g.x && g.y)
		ret = all_experts(op, &g, why, size);
	else
		snprintf(why, size, "%s", strerror(ENOMEM));
	free(g.row);
	free(g.x);
	free(g.y);
	return ret;
}
