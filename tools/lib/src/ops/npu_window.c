// SPDX-License-Identifier: MIT
/*
 * Windows that go over images: sizes of results, what is below a part of them, and how cores
 * share an image.
 */
#include "npu_window.h"

uint32_t npu_extent(const struct npu_axis *s)
{
	return (s->kernel - 1) * s->dil + 1;
}

uint32_t npu_axis_out(const struct npu_axis *s)
{
	uint64_t full = (uint64_t)s->in + s->before + s->after;

	if (!s->in || !s->kernel || !s->stride || !s->dil || full > INT32_MAX)
		return 0;
	if (s->kernel > full || (uint64_t)(s->kernel - 1) * s->dil >= full)
		return 0;
	/* A window must touch the input somewhere. */
	if (s->before >= npu_extent(s) || s->after >= npu_extent(s))
		return 0;
	return ((uint32_t)full - npu_extent(s)) / s->stride + 1;
}

struct npu_band npu_axis_band(const struct npu_axis *s, uint32_t first, uint32_t n)
{
	int64_t top = (int64_t)first * s->stride - s->before;
	int64_t end = top + (int64_t)(n - 1) * s->stride + npu_extent(s);
	struct npu_band b = { .before = top < 0 ? (uint32_t)-top : 0 };

	b.first = top < 0 ? 0 : (uint32_t)top;
	b.n = (uint32_t)min_u64((uint64_t)end, s->in) - b.first;
	return b;
}

uint32_t npu_axis_fit(const struct npu_axis *s, uint64_t in)
{
	if (in >= s->in)
		return UINT32_MAX;
	if (in < npu_extent(s))
		return 0;
	return (uint32_t)(in - npu_extent(s)) / s->stride + 1;
}

bool npu_axis_convolves(const struct npu_axis *s)
{
	return s->kernel <= 31 && s->dil <= 32 && s->stride <= 7 && s->before <= 15 && s->after <= 15;
}

static uint32_t or_one(uint32_t v)
{
	return v ? v : 1;
}

struct npu_axis npu_window_x(const struct npu_window *w)
{
	return (struct npu_axis){
		.in = w->in_w, .kernel = w->kw, .stride = or_one(w->stride_x),
		.dil = or_one(w->dil_x), .before = w->pad_left, .after = w->pad_right,
	};
}

struct npu_axis npu_window_y(const struct npu_window *w)
{
	return (struct npu_axis){
		.in = w->in_h, .kernel = w->kh, .stride = or_one(w->stride_y),
		.dil = or_one(w->dil_y), .before = w->pad_top, .after = w->pad_bottom,
	};
}

uint32_t npu_window_out_w(const struct npu_window *w)
{
	struct npu_window known;
	struct npu_axis s;

	if (NPU_TAKE(&known, zp, w))
		return 0;
	s = npu_window_x(&known);
	return npu_axis_out(&s);
}

uint32_t npu_window_out_h(const struct npu_window *w)
{
	struct npu_window known;
	struct npu_axis s;

	if (NPU_TAKE(&known, zp, w))
		return 0;
	s = npu_window_y(&known);
	return npu_axis_out(&s);
}

/* ---- shared by cores ---- */

/* Lines whose positions are a multiple of 4. */
static uint32_t line_unit(uint32_t width)
{
	return width % 4 == 0 ? 1 : width % 2 == 0 ? 2 : 4;
}

static int by_lines(struct npu_rec *rec, const struct npu_image_split *p, uint32_t shares,
		    const void *arg,
		    int (*append)(struct npu_rec *rec, const void *arg, const struct npu_area *a))
{
	uint32_t step = (uint32_t)round_up(div_up(p->height, shares), line_unit(p->width));
	int ret = 0;

	for (uint32_t i = 0; !ret && i * step < p->height; i++) {
		struct npu_area a = {
			.line = i * step, .lines = (uint32_t)min_u64(step, p->height - i * step),
			.cols = p->cols,
		};

		ret = npu_rec_select_core(rec, i);
		if (!ret)
			ret = append(rec, arg, &a);
	}
	return ret;
}

static int by_channels(struct npu_rec *rec, const struct npu_image_split *p, uint32_t shares,
		       const void *arg,
		       int (*append)(struct npu_rec *rec, const void *arg, const struct npu_area *a))
{
	uint32_t step = (uint32_t)round_up(div_up(p->cols, shares), p->unit);
	int ret = 0;

	for (uint32_t i = 0; !ret && i * step < p->cols; i++) {
		struct npu_area a = {
			.lines = p->height, .col = i * step,
			.cols = (uint32_t)min_u64(step, p->cols - i * step),
		};

		ret = npu_rec_select_core(rec, i);
		if (!ret)
			ret = append(rec, arg, &a);
	}
	return ret;
}

int npu_rec_by_area(struct npu_rec *rec, const struct npu_image_split *p, const void *arg,
		    int (*append)(struct npu_rec *rec, const void *arg, const struct npu_area *a))
{
	uint32_t lines = npu_rec_shares(rec, (uint32_t)div_up(p->height, line_unit(p->width)));
	uint32_t channels = npu_rec_shares(rec, (uint32_t)div_up(p->cols, p->unit));
	struct npu_area all = { .lines = p->height, .cols = p->cols };

	if (lines == 1 && channels == 1)
		return append(rec, arg, &all);
	return channels > lines ? by_channels(rec, p, channels, arg, append) :
				  by_lines(rec, p, lines, arg, append);
}
