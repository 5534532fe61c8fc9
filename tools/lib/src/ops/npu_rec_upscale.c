// SPDX-License-Identifier: MIT
/*
 * The operation enlarge: a task for each 16 bytes of channels.
 */
#include <errno.h>

#include "npu_window.h"

#define MAX_TIMES	8u
/* The DPU's sizes, and what it leaves out between lines, have 13 bits. */
#define MAX_SKIPPED	8191u

struct enlarge {
	const struct npu_tensor *x, *y;
	uint32_t width, height, times_x, times_y;
};

static int check(struct npu_rec *rec, const struct enlarge *e)
{
	const struct npu_shape *x = &e->x->shape, *y = &e->y->shape;
	uint64_t in = (uint64_t)e->width * e->height;

	if (x->type != y->type || (x->type != NPU_PREC_INT8 && x->type != NPU_PREC_FP16))
		return npu_rec_fail(rec, -EINVAL, "enlarge: no mode for %s to %s", npu_prec_name(x->type),
				    npu_prec_name(y->type));
	if (!e->times_x || !e->times_y || e->times_x > MAX_TIMES || e->times_y > MAX_TIMES)
		return npu_rec_fail(rec, -EINVAL, "enlarge: %u x %u times is not 1 to %u", e->times_x,
				    e->times_y, MAX_TIMES);
	if (!in || x->rows != in || y->rows != in * e->times_x * e->times_y || x->cols != y->cols)
		return npu_rec_fail(rec, -EINVAL,
				    "enlarge: x %u x %u, y %u x %u are not %u x %u, %u x %u times as large",
				    x->rows, x->cols, y->rows, y->cols, e->width, e->height,
				    e->times_x, e->times_y);
	if ((uint64_t)e->width * e->times_x * max_u64(e->times_y - 1, 1) > MAX_SKIPPED)
		return npu_rec_fail(rec, -E2BIG, "enlarge: %u columns %u x %u times exceed the limit %u",
				    e->width, e->times_x, e->times_y, MAX_SKIPPED);
	if (npu_tensor_overlap(e->x, e->y))
		return npu_rec_fail(rec, -EINVAL, "enlarge: x and y share memory");
	return 0;
}

static uint64_t at(const struct npu_tensor *t, uint64_t position, uint32_t col)
{
	return npu_tensor_iova(t) + npu_tensor_place(t, position, col);
}

/* Lines of the image, which the area counts. */
static int append_area(struct npu_rec *rec, const void *arg, const struct npu_area *a)
{
	const struct enlarge *e = arg;
	uint32_t times = e->times_x * e->times_y, lanes = npu_tensor_lanes(e->x);
	struct npu_tensor x = npu_part(e->x, a->line * e->width, a->lines * e->width, a->col, a->cols);
	struct npu_tensor y = npu_part(e->y, a->line * e->width * times, a->lines * e->width * times,
				       a->col, a->cols);
	int ret = npu_rec_reads(rec, &x);

	if (!ret)
		ret = npu_rec_writes(rec, &y);
	for (uint32_t line = 0; !ret && line < a->lines; line += NPU_FLY_ROWS)
		for (uint32_t col = 0; col < a->cols && npu_rec_room(rec); col += lanes) {
			struct npu_upscale_task t = {
				.type = e->x->shape.type, .width = e->width,
				.lines = (uint32_t)min_u64(a->lines - line, NPU_FLY_ROWS),
				.times_x = e->times_x, .times_y = e->times_y,
				.in_iova = at(&x, (uint64_t)line * e->width, col),
				.out_iova = at(&y, (uint64_t)line * e->width * times, col),
			};

			npu_prog_upscale(npu_rec_prog(rec), &t);
		}
	return ret;
}

int npu_rec_upscale(struct npu_rec *rec, const struct npu_tensor *x, uint32_t width, uint32_t height,
		    uint32_t times_x, uint32_t times_y, struct npu_tensor *y)
{
	struct enlarge e = {
		.x = x, .y = y, .width = width, .height = height, .times_x = times_x,
		.times_y = times_y,
	};
	/* A share begins at a position of the image and of the result that is a multiple of 4. */
	struct npu_image_split p = {
		.width = width, .height = height, .cols = y->shape.cols, .unit = NPU_TENSOR_COLS,
	};
	int ret = npu_rec_begin(rec, "enlarge");

	if (!ret)
		ret = check(rec, &e);
	if (!ret)
		ret = npu_rec_by_area(rec, &p, &e, append_area);
	return ret ? ret : npu_rec_commit(rec);
}
