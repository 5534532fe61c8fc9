// SPDX-License-Identifier: MIT
/*
 * The operation pool: tasks for as much of an image as the PPU does without hanging.
 */
#include <errno.h>

#include "npu_window.h"

#define MAX_WIDTH	8192u
#define MAX_CHANNELS	8192u
#define MAX_WINDOW	16u
#define MAX_PAD		7u
/* Of one task: a quarter of a millisecond for a bus of 64 GB/s. */
#define TASK_BYTES	(UINT64_C(16) << 20)

/*
 * Overlapping windows hang in wide images: those of 3 or 4 if they move by one line and make more
 * columns than this, larger ones if they read more (boydjohnson; that it is the result's width
 * that counts for the former is inferred from Rockchip's programs).
 */
#define SMALL_OUT_W	32u
#define LARGE_IN_W	20u

struct pool {
	enum npu_pool pool;
	const struct npu_tensor *x, *y;
	const struct npu_window *win;
	struct npu_axis sx, sy;
	uint32_t out_w;
};

static bool axis_fits(const struct npu_axis *s)
{
	return s->kernel <= MAX_WINDOW && s->stride <= MAX_WINDOW && s->dil == 1 &&
	       s->before <= MAX_PAD && s->after <= MAX_PAD && s->in <= MAX_WIDTH;
}

static bool pads(const struct npu_axis *s)
{
	return s->before || s->after;
}

static int check(struct npu_rec *rec, const struct pool *p)
{
	const struct npu_shape *x = &p->x->shape, *y = &p->y->shape;
	const struct npu_chip *chip = npu_dev_chip(p->x->dev);
	uint64_t in = (uint64_t)p->win->in_w * p->win->in_h, out_h = npu_axis_out(&p->sy);

	if (p->pool > NPU_POOL_MIN)
		return npu_rec_fail(rec, -EINVAL, "pool: no method %d", p->pool);
	if (x->type != y->type || (x->type != NPU_PREC_INT8 && x->type != NPU_PREC_FP16))
		return npu_rec_fail(rec, -EINVAL, "pool: no mode for %s to %s", npu_prec_name(x->type),
				    npu_prec_name(y->type));
	if (!p->out_w || !out_h || !axis_fits(&p->sx) || !axis_fits(&p->sy))
		return npu_rec_fail(rec, -EINVAL, "pool: no such window over %u x %u", p->win->in_w,
				    p->win->in_h);
	if ((p->win->kw == MAX_WINDOW || p->win->kh == MAX_WINDOW) && (pads(&p->sx) || pads(&p->sy)))
		return npu_rec_fail(rec, -EINVAL, "pool: no mode for windows of %u with padding",
				    MAX_WINDOW);
	if (x->type == NPU_PREC_INT8 && (p->win->zp < INT8_MIN || p->win->zp > INT8_MAX))
		return npu_rec_fail(rec, -EINVAL, "pool: %d outside of the image", p->win->zp);
	if (x->rows != in || y->rows != p->out_w * out_h || x->cols != y->cols)
		return npu_rec_fail(rec, -EINVAL,
				    "pool: x %u x %u, y %u x %u are not %u x %u, %u x %u of as many channels",
				    x->rows, x->cols, y->rows, y->cols, p->win->in_w, p->win->in_h,
				    p->out_w, (uint32_t)out_h);
	if (npu_tensor_overlap(p->x, p->y))
		return npu_rec_fail(rec, -EINVAL, "pool: x and y share memory");
	if (chip->silent_pools && !npu_is_vendor(p->x->dev) && !npu_can_batch(p->x->dev))
		return npu_rec_fail(rec, -EOPNOTSUPP, "pool: a driver that starts each task does not learn when one of the %s ends",
				    chip->name);
	return 0;
}

/* Columns of the result that a task makes at most. */
static uint32_t most_columns(const struct pool *p)
{
	uint32_t k = (uint32_t)min_u64(p->sx.kernel, p->sy.kernel);
	bool overlap = p->sx.stride < p->sx.kernel || p->sy.stride < p->sy.kernel;

	if ((k == 3 || k == 4) && p->sy.stride == 1)
		return SMALL_OUT_W;
	if (k > 4 && overlap)
		return (LARGE_IN_W - p->sx.kernel) / p->sx.stride + 1;
	return p->out_w;
}

static uint32_t surfaces(const struct pool *p, const struct npu_area *a)
{
	return (uint32_t)div_up(a->cols, npu_tensor_lanes(p->x));
}

static uint32_t most_lines(const struct pool *p, const struct npu_area *a)
{
	uint64_t line = (uint64_t)p->win->in_w * surfaces(p, a) * npu_tensor_atom_bytes(p->x);

	return (uint32_t)max_u64(min_u64(npu_axis_fit(&p->sy, TASK_BYTES / line), a->lines), 1);
}

static uint64_t at(const struct npu_tensor *t, uint32_t width, uint32_t line, uint32_t x, uint32_t col)
{
	return npu_tensor_iova(t) + npu_tensor_place(t, (uint64_t)line * width + x, col);
}

/* What windows want behind the last position that is there. */
static uint32_t padding_behind(const struct npu_axis *s, const struct npu_band *b, uint32_t n)
{
	uint32_t end = (n - 1) * s->stride + s->kernel;

	return end > b->before + b->n ? end - b->before - b->n : 0;
}

static void add_task(struct npu_rec *rec, const struct pool *p, const struct npu_area *a, uint32_t x0,
		     uint32_t width)
{
	struct npu_band bx = npu_axis_band(&p->sx, x0, width);
	struct npu_band by = npu_axis_band(&p->sy, a->line, a->lines);
	struct npu_pool_task t = {
		.pool = p->pool, .type = p->x->shape.type,
		.in_w = bx.n, .in_h = by.n, .in_line = p->win->in_w, .in_pitch = p->x->pitch,
		.out_w = width, .out_h = a->lines, .out_line = p->out_w, .out_pitch = p->y->pitch,
		.channels = surfaces(p, a) * npu_tensor_lanes(p->x),
		.kw = p->sx.kernel, .kh = p->sy.kernel,
		.stride_x = p->sx.stride, .stride_y = p->sy.stride,
		.left = bx.before, .right = padding_behind(&p->sx, &bx, width),
		.top = by.before, .bottom = padding_behind(&p->sy, &by, a->lines),
		.in_iova = at(p->x, p->win->in_w, by.first, bx.first, a->col),
		.out_iova = at(p->y, p->out_w, a->line, x0, a->col),
	};

	/* Maxima and minima leave padding out. */
	if (p->pool == NPU_POOL_AVERAGE && t.type == NPU_PREC_INT8)
		t.pad_value = (uint32_t)p->win->zp & 0x7ffff;
	npu_prog_pool(npu_rec_prog(rec), &t);
}

static void add_stretch(struct npu_rec *rec, const struct pool *p, const struct npu_area *a)
{
	uint32_t lines = most_lines(p, a);
	uint32_t columns = npu_dev_chip(p->x->dev)->pools_columns ? most_columns(p) : p->out_w;

	for (uint32_t line = 0; line < a->lines; line += lines)
		for (uint32_t x0 = 0; x0 < p->out_w && npu_rec_room(rec); x0 += columns) {
			struct npu_area part = *a;

			part.line = a->line + line;
			part.lines = (uint32_t)min_u64(lines, a->lines - line);
			add_task(rec, p, &part, x0, (uint32_t)min_u64(columns, p->out_w - x0));
		}
}

static void add_tasks(struct npu_rec *rec, const struct pool *p, const struct npu_area *a)
{
	for (uint32_t col = 0; col < a->cols; col += MAX_CHANNELS) {
		struct npu_area part = *a;

		part.col = a->col + col;
		part.cols = (uint32_t)min_u64(MAX_CHANNELS, a->cols - col);
		add_stretch(rec, p, &part);
	}
}

/*
 * Where no interrupt tells that a pooling is over, others are around it, as in programs of Rockchip's
 * compilers: the one behind reads what was written last.
 */
static int enclose_tasks(struct npu_rec *rec, const struct pool *p, const struct npu_area *a)
{
	uint32_t position = (a->line + a->lines) * p->out_w - 1;
	uint32_t col = a->col + (surfaces(p, a) - 1) * npu_tensor_lanes(p->y);
	struct npu_tensor *scratch = NULL;
	int ret = npu_rec_sums(rec, NPU_PREC_INT8, 1, NPU_TENSOR_COLS, &scratch);

	if (!ret)
		ret = npu_rec_writes(rec, scratch);
	if (!ret && !npu_rec_tasks(rec))
		npu_prog_copy_atom(npu_rec_prog(rec), npu_tensor_iova(p->x), npu_tensor_iova(scratch));
	if (!ret)
		add_tasks(rec, p, a);
	if (!ret && npu_rec_room(rec))
		npu_prog_copy_atom(npu_rec_prog(rec), at(p->y, p->out_w, 0, position, col),
				   npu_tensor_iova(scratch));
	npu_tensor_free(scratch);
	return ret;
}

static int append_area(struct npu_rec *rec, const void *arg, const struct npu_area *a)
{
	const struct pool *p = arg;
	struct npu_band in = npu_axis_band(&p->sy, a->line, a->lines);
	struct npu_tensor x = npu_part(p->x, in.first * p->win->in_w, in.n * p->win->in_w, a->col,
				       a->cols);
	struct npu_tensor y = npu_part(p->y, a->line * p->out_w, a->lines * p->out_w, a->col, a->cols);
	int ret = npu_rec_reads(rec, &x);

	if (!ret)
		ret = npu_rec_writes(rec, &y);
	if (!ret && npu_dev_chip(p->x->dev)->silent_pools)
		return enclose_tasks(rec, p, a);
	if (!ret)
		add_tasks(rec, p, a);
	return ret;
}

int npu_rec_pool(struct npu_rec *rec, enum npu_pool pool, const struct npu_tensor *x,
		 const struct npu_window *win, struct npu_tensor *y)
{
	struct npu_window window = { 0 };
	struct pool p = { .pool = pool, .x = x, .y = y, .win = &window };
	struct npu_image_split pic = { .cols = y->shape.cols, .unit = NPU_TENSOR_COLS };
	int ret = npu_rec_begin(rec, "pool");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &window, zp, win);
	p.sx = npu_window_x(&window);
	p.sy = npu_window_y(&window);
	p.out_w = npu_axis_out(&p.sx);
	pic.width = p.out_w;
	pic.height = npu_axis_out(&p.sy);
	if (!ret)
		ret = check(rec, &p);
	if (!ret)
		ret = npu_rec_by_area(rec, &pic, &p, append_area);
	return ret ? ret : npu_rec_commit(rec);
}
