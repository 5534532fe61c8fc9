// SPDX-License-Identifier: MIT
/*
 * The operation conv: bands of lines and stretches of channels that fit the convolution buffer,
 * read from and written to images in place.
 */
#include <errno.h>

#include "npu_window.h"

#define DW_BYTES	64u
#define MAX_WIDTH	2047u

struct conv {
	const struct npu_tensor *x, *y;
	const struct npu_weights *w;
	const struct npu_window *win;
	struct npu_axis sx, sy;
	uint32_t out_w;
	uint32_t w_col;		/* channel of the weights that the first one of @x or @y has */
	enum npu_act act;
	const struct npu_table *table;	/* of @act */
	uint64_t record;		/* of @table */
	uint32_t max_lines, max_n;
};

/* ---- what there are modes for ---- */

static int check_types(struct npu_rec *rec, const struct conv *c)
{
	if (!c->w->kw)
		return npu_rec_fail(rec, -EINVAL, "conv: the weights are those of a matrix");
	if (!npu_product_types_fit(c->x, c->w, c->y))
		return npu_rec_fail(rec, -EINVAL, "conv: no mode for x of %s, %sweights of %s%s, y of %s",
				    npu_prec_name(c->x->shape.type), c->w->depthwise ? "depthwise " : "",
				    npu_prec_name(c->w->type), c->w->rq.scale ? " requantised" : "",
				    npu_prec_name(c->y->shape.type));
	if (!npu_act_folds(c->act, c->y))
		return npu_rec_fail(rec, -EINVAL, "conv: %s cannot be folded into y of %s",
				    npu_act_name(c->act), npu_prec_name(c->y->shape.type));
	return 0;
}

static bool holds(const struct npu_tensor *t, uint64_t positions, uint32_t channels)
{
	return t->shape.rows == positions && t->shape.cols == channels;
}

static int check(struct npu_rec *rec, const struct conv *c)
{
	const struct npu_window *win = c->win;
	uint32_t out_h = npu_axis_out(&c->sy);
	int ret = check_types(rec, c);

	if (ret)
		return ret;
	if (win->kw != c->w->kw || win->kh != c->w->kh)
		return npu_rec_fail(rec, -EINVAL, "conv: a window of %u x %u, kernels of %u x %u",
				    win->kw, win->kh, c->w->kw, c->w->kh);
	if (!c->out_w || !out_h || win->in_w > MAX_WIDTH || c->out_w > MAX_WIDTH || !npu_axis_convolves(&c->sx) ||
	    !npu_axis_convolves(&c->sy))
		return npu_rec_fail(rec, -EINVAL, "conv: no such window over %u x %u", win->in_w,
				    win->in_h);
	if (!holds(c->x, (uint64_t)win->in_w * win->in_h, c->w->k) ||
	    !holds(c->y, (uint64_t)c->out_w * out_h, c->w->n))
		return npu_rec_fail(rec, -EINVAL,
				    "conv: x %u x %u, y %u x %u are not %u x %u of %u, %u x %u of %u channels",
				    c->x->shape.rows, c->x->shape.cols, c->y->shape.rows,
				    c->y->shape.cols, win->in_w, win->in_h, c->w->k, c->out_w, out_h,
				    c->w->n);
	if (npu_tensor_overlap(c->x, c->y))
		return npu_rec_fail(rec, -EINVAL, "conv: x and y share memory");
	/* Its programs read operands of sums, too, which these weights have not. */
	if (npu_operands_always(c->w) && !c->w->has_bias)
		return npu_rec_fail(rec, -EOPNOTSUPP, "conv: no programs to %s on the %s",
				    npu_prec_name(c->y->shape.type), npu_dev_chip(c->w->dev)->name);
	return 0;
}

/* ---- what fits ---- */

static size_t kernel_bytes(const struct conv *c, uint32_t channels)
{
	return (size_t)c->w->kw * c->w->kh * channels * npu_weight_bytes(c->w);
}

/* Lines of the result whose input fits beside so many banks of weights. */
static uint32_t lines_beside(const struct conv *c, uint32_t channels, uint64_t banks)
{
	const struct npu_chip *chip = npu_dev_chip(c->w->dev);
	uint64_t row = npu_row_bytes(chip, c->w->type, c->win->in_w, channels);

	if (banks >= chip->banks)
		return 0;
	return npu_axis_fit(&c->sy, min_u64((chip->banks - banks) * chip->bank_bytes / row, chip->rows));
}

/* Do all weights of a task leave more banks to features than usual? */
static bool are_few(const struct npu_chip *chip, uint64_t weight_bytes)
{
	return weight_bytes <= (uint64_t)chip->few_weight_banks * chip->bank_bytes;
}

/*
 * Of a task of @n kernels. Fewer than npu_weight_banks() wants are enough, too, if there is no room for those.
 */
static uint32_t direct_lines(const struct conv *c, uint32_t n)
{
	const struct npu_chip *chip = npu_dev_chip(c->w->dev);
	uint32_t group = npu_kernel_group(chip, c->w->type);
	size_t bytes = kernel_bytes(c, c->w->kp);
	uint64_t least = max_u64(chip->weight_banks, div_up(bytes * group, chip->bank_bytes));
	uint32_t lines;

	if (are_few(chip, bytes * round_up(min_u64(n, c->w->n), group)))
		return lines_beside(c, c->w->kp, chip->few_weight_banks);
	lines = lines_beside(c, c->w->kp, npu_weight_banks(chip, bytes));
	return lines ? lines : lines_beside(c, c->w->kp, least);
}

static uint32_t depthwise_lines(const struct conv *c, uint32_t channels)
{
	const struct npu_chip *chip = npu_dev_chip(c->w->dev);
	size_t bytes = kernel_bytes(c, channels);

	if (bytes > chip->depthwise_bytes)
		return 0;
	if (are_few(chip, bytes))
		return lines_beside(c, channels, chip->few_weight_banks);
	return lines_beside(c, channels, max_u64(chip->weight_banks, div_up(bytes, chip->bank_bytes)));
}

/* What one task does at most. */
struct step {
	uint32_t lines, channels;
};

static struct step direct_step(const struct conv *c)
{
	uint32_t most = npu_task_kernels(npu_dev_chip(c->w->dev), kernel_bytes(c, c->w->kp));
	uint32_t n = c->max_n ? (uint32_t)min_u64(c->max_n, most) : most;

	n = (uint32_t)round_up(n, NPU_TENSOR_COLS);
	return (struct step){ .lines = direct_lines(c, n), .channels = n };
}

static uint32_t depthwise_group(const struct conv *c)
{
	return npu_depthwise_group(npu_dev_chip(c->w->dev), c->w->type);
}

static uint32_t unit_of(const struct conv *c)
{
	return npu_depthwise_unit(npu_dev_chip(c->w->dev), c->w->type);
}

/* Fewer channels leave room for more lines, which are of no use without all that are below one. */
static struct step depthwise_step(const struct conv *c, uint32_t channels)
{
	uint32_t group = depthwise_group(c);

	channels = (uint32_t)round_up(channels, unit_of(c));
	if (c->max_n)
		channels = (uint32_t)min_u64(channels, round_up(c->max_n, group));
	while (channels > group && !depthwise_lines(c, channels))
		channels = (channels - 1) / group * group;
	return (struct step){ depthwise_lines(c, channels), channels };
}

/* ---- tasks ---- */

static uint64_t at(const struct npu_tensor *t, uint64_t position, uint32_t col)
{
	return npu_tensor_iova(t) + npu_tensor_place(t, position, col);
}

/* Lines of the result, and channels from @col on, as many as are written. */
static int add_task(struct npu_rec *rec, const struct conv *c, const struct npu_area *a)
{
	const struct npu_weights *w = c->w;
	struct npu_band in = npu_axis_band(&c->sy, a->line, a->lines);
	uint32_t channels = w->depthwise ? a->cols : w->kp, first = c->w_col + a->col;
	struct npu_conv_task t = {
		.in = w->type, .out = c->y->shape.type, .depthwise = w->depthwise,
		.in_w = c->win->in_w, .in_h = in.n, .in_h_full = c->win->in_h, .in_c = channels,
		.in_pitch = c->x->pitch,
		.out_w = c->out_w, .out_h = a->lines, .out_h_full = a->line + a->lines,
		.out_c = a->cols, .out_pitch = c->y->pitch,
		.kw = w->kw, .kh = w->kh, .stride_x = c->sx.stride, .stride_y = c->sy.stride,
		.dil_x = c->sx.dil, .dil_y = c->sy.dil,
		.pad_left = c->sx.before, .pad_top = in.before, .pad_value = w->in_zp,
		.weight_zp = w->weight_zp,
		.in_iova = at(c->x, (uint64_t)in.first * c->win->in_w, w->depthwise ? a->col : 0),
		.weight_iova = w->mem->iova + first * kernel_bytes(c, w->depthwise ? 1 : w->kp),
		.out_iova = at(c->y, (uint64_t)a->line * c->out_w, a->col),
		.has_bias = w->has_bias, .rq = w->rq, .relu = c->act == NPU_ACT_RELU, .table_iova = c->record,
	};

	npu_operands_set(w, first, &t);
	if (!w->rq.scale)
		t.rq = (struct npu_requant){ .scale = 1 };
	return npu_prog_conv_table(npu_rec_prog(rec), &t, c->table, c->table && npu_rec_wants_table(rec, c->table));
}

static int add_tasks(struct npu_rec *rec, const struct conv *c, const struct npu_area *a,
		     const struct step *step, uint32_t group)
{
	uint32_t lines = c->max_lines ? (uint32_t)min_u64(step->lines, c->max_lines) : step->lines;

	if (!lines)
		return npu_rec_fail(rec, -E2BIG,
				    "conv: %u lines of %u positions and %u channels do not fit beside the kernels",
				    npu_extent(&c->sy), c->win->in_w, c->w->k);
	for (uint32_t n = 0; n < a->cols; n += step->channels)
		for (uint32_t y = 0; y < a->lines && npu_rec_room(rec); y += lines) {
			struct npu_area part = {
				.line = a->line + y, .lines = (uint32_t)min_u64(lines, a->lines - y),
				.col = a->col + n,
				.cols = (uint32_t)round_up(min_u64(step->channels, a->cols - n), group),
			};

			if (add_task(rec, c, &part))
				return 0;
		}
	return 0;
}

/* What the tasks of an area read and write. */
static int note_area(struct npu_rec *rec, const struct conv *c, const struct npu_area *a)
{
	struct npu_band in = npu_axis_band(&c->sy, a->line, a->lines);
	uint32_t col = c->w->depthwise ? a->col : 0, cols = c->w->depthwise ? a->cols : c->x->shape.cols;
	struct npu_tensor x = npu_part(c->x, in.first * c->win->in_w, in.n * c->win->in_w, col, cols);
	struct npu_tensor y = npu_part(c->y, a->line * c->out_w, a->lines * c->out_w, a->col, a->cols);
	int ret = npu_rec_reads(rec, &x);

	if (!ret)
		ret = npu_rec_reads_weights(rec, c->w);
	return ret ? ret : npu_rec_writes(rec, &y);
}

static int append_direct(struct npu_rec *rec, const struct conv *c, const struct npu_area *a)
{
	struct step step = direct_step(c);
	int ret = note_area(rec, c, a);

	return ret ? ret : add_tasks(rec, c, a, &step, npu_kernel_group(npu_dev_chip(c->w->dev), c->w->type));
}

static int append_depthwise(struct npu_rec *rec, const struct conv *c, const struct npu_area *a)
{
	struct step step = depthwise_step(c, a->cols);
	int ret = note_area(rec, c, a);

	return ret ? ret : add_tasks(rec, c, a, &step, unit_of(c));
}

/* ---- half a group of bytes ---- */

/* Images of a whole group, with the lines of an area and what is below them. */
struct group {
	struct npu_tensor *x, *y;
};

static int copy_half(struct npu_rec *rec, const struct npu_tensor *from, const struct npu_tensor *to)
{
	struct npu_tensor a = *from, b = *to;

	a.shape.cols = NPU_TENSOR_COLS;
	b.shape.cols = NPU_TENSOR_COLS;
	return npu_rec_copy_raw(rec, &a, &b);
}

static int append_group(struct npu_rec *rec, const struct conv *c, const struct npu_area *a,
			const struct npu_band *in, const struct group *g)
{
	struct npu_tensor x = npu_part(c->x, in->first * c->win->in_w, in->n * c->win->in_w, a->col,
				       a->cols);
	struct npu_tensor y = npu_part(c->y, a->line * c->out_w, a->lines * c->out_w, a->col, a->cols);
	struct npu_window win = *c->win;
	struct npu_area whole = { .lines = a->lines, .cols = DW_BYTES };
	struct conv part = *c;
	int ret = copy_half(rec, &x, g->x);

	win.in_h = in->n;
	part.win = &win;
	part.sy.in = in->n;
	part.sy.before = in->before;
	part.x = g->x;
	part.y = g->y;
	part.w_col = c->w_col + a->col;
	if (!ret)
		ret = append_depthwise(rec, &part, &whole);
	return ret ? ret : copy_half(rec, g->y, &y);
}

static int append_half(struct npu_rec *rec, const struct conv *c, const struct npu_area *a)
{
	struct npu_band in = npu_axis_band(&c->sy, a->line, a->lines);
	struct group g = { 0 };
	int ret = npu_rec_temp(rec, NPU_PREC_INT8, in.n * c->win->in_w, DW_BYTES, &g.x);

	if (!ret)
		ret = npu_rec_temp(rec, NPU_PREC_INT8, a->lines * c->out_w, DW_BYTES, &g.y);
	if (!ret)
		ret = append_group(rec, c, a, &in, &g);
	npu_tensor_free(g.x);
	npu_tensor_free(g.y);
	return ret;
}

/* ---- the operation ---- */

static int append_channels(struct npu_rec *rec, const struct conv *c, const struct npu_area *area)
{
	uint32_t group = depthwise_group(c);
	uint32_t stored = (uint32_t)round_up(area->cols, NPU_TENSOR_COLS);
	struct npu_area whole = *area, rest = *area;
	int ret = 0;

	if (!c->w->depthwise)
		return append_direct(rec, c, area);
	if (stored % unit_of(c) == 0)
		return append_depthwise(rec, c, area);
	whole.cols = stored / group * group;
	rest.col = area->col + whole.cols;
	rest.cols = area->cols - whole.cols;
	if (whole.cols)
		ret = append_depthwise(rec, c, &whole);
	return ret ? ret : append_half(rec, c, &rest);
}

static int append_area(struct npu_rec *rec, const void *arg, const struct npu_area *a)
{
	struct conv c = *(const struct conv *)arg;
	struct npu_tensor y = npu_part(c.y, a->line * c.out_w, a->lines * c.out_w, a->col, a->cols);
	int ret = npu_rec_table_record(rec, c.w->dev, c.table, &c.record);

	if (!ret)
		ret = append_channels(rec, &c, a);
	return ret ? ret : npu_rec_clear_rest(rec, c.table, &y);
}

int npu_rec_conv(struct npu_rec *rec, const struct npu_tensor *x, const struct npu_weights *w,
		 const struct npu_window *win, struct npu_tensor *y,
		 const struct npu_rec_conv_opts *opts)
{
	struct npu_window window = { 0 };
	struct npu_rec_conv_opts o = { 0 };
	struct conv c = { .x = x, .y = y, .w = w, .win = &window };
	struct npu_image_split p = {
		.cols = y->shape.cols,
		.unit = w->depthwise ? depthwise_group(&c) : NPU_TENSOR_COLS,
	};
	int ret = npu_rec_begin(rec, "conv");

	if (!ret)
		ret = NPU_REC_TAKE(rec, &window, zp, win);
	if (!ret)
		ret = NPU_REC_TAKE(rec, &o, max_n, opts);
	c.sx = npu_window_x(&window);
	c.sy = npu_window_y(&window);
	c.act = o.act;
	c.table = npu_table_of(o.act);
	c.max_lines = o.max_lines;
	c.max_n = o.max_n;
	c.out_w = npu_axis_out(&c.sx);
	p.width = c.out_w;
	p.height = npu_axis_out(&c.sy);
	if (!ret)
		ret = check(rec, &c);
	if (!ret)
		ret = npu_rec_bind_weights(rec, w);
	if (!ret)
		ret = npu_rec_by_area(rec, &p, &c, append_area);
	return ret ? ret : npu_rec_commit(rec);
}
