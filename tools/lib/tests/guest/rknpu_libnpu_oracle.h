/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What attention and convolutions give in doubles, and how far halves may be off: the bounds that
 * libnpu's headers state.
 */
#ifndef RKNPU_LIBNPU_ORACLE_H
#define RKNPU_LIBNPU_ORACLE_H

#include <math.h>
#include <stdint.h>

#include "npu.h"

/* A head of one row: @q of @dim, keys and values of @seen tokens that are @pitch apart. */
struct oracle_head {
	const float *q, *k, *v, *y;
	uint32_t dim, pitch, seen, tokens;
};

/* How many elements are too far off, as npu_rec_attention() says; @p has room for the tokens. */
static inline unsigned int oracle_attention(const struct oracle_head *h, double *p)
{
	double most = -INFINITY, sum = 0, big = 0, sizes = 0, scale = 1 / sqrt(h->dim), off;
	unsigned int bad = 0;

	for (uint32_t t = 0; t < h->seen; t++) {
		double size = 0;

		p[t] = 0;
		for (uint32_t i = 0; i < h->dim; i++) {
			double s = (double)h->q[i] * h->k[t * h->pitch + i];

			p[t] += s;
			size += fabs(s);
		}
		most = fmax(most, p[t]);
		big = fmax(big, fabs(p[t]));
		sizes = fmax(sizes, size);
	}
	for (uint32_t t = 0; t < h->seen; t++) {
		p[t] = exp((p[t] - most) * scale);
		sum += p[t];
	}
	off = expm1(2 * scale * (0x1p-11 * big + h->dim * 0x1p-24 * sizes)) +
	      (15 + 2 * log(h->tokens)) * 0x1p-11 + 2 * sqrt(h->tokens) * 0x1p-14 +
	      h->tokens * 0x1p-23;
	for (uint32_t i = 0; i < h->dim; i++) {
		double want = 0, largest = 0;

		for (uint32_t t = 0; t < h->seen; t++) {
			want += p[t] / sum * h->v[t * h->pitch + i];
			largest = fmax(largest, fabs(h->v[t * h->pitch + i]));
		}
		bad += !(fabs(h->y[i] - want) <= largest * off + fabs(want) * 0x1p-11 + 0x1p-24);
	}
	return bad;
}

/* A convolution whose zero points count as 0. */
struct oracle_conv {
	struct npu_window win;
	const float *x, *w;
	uint32_t in_c;
	double in_zp, weight_zp;
	bool depthwise;
};

static inline uint32_t oracle_one(uint32_t v)
{
	return v ? v : 1;
}

/* Of the image below tap @tap of the window at @pos; NULL outside. */
static inline const float *oracle_below(const struct npu_window *w, const float *x, uint32_t channels,
					uint32_t pos, uint32_t tap)
{
	uint32_t out_w = npu_window_out_w(w);
	int64_t y = (int64_t)(pos / out_w * oracle_one(w->stride_y) +
			      tap / w->kw * oracle_one(w->dil_y)) - w->pad_top;
	int64_t col = (int64_t)(pos % out_w * oracle_one(w->stride_x) +
				tap % w->kw * oracle_one(w->dil_x)) - w->pad_left;

	if (y < 0 || col < 0 || y >= w->in_h || col >= w->in_w)
		return NULL;
	return x + ((size_t)y * w->in_w + (size_t)col) * channels;
}

/* The sum for channel @n at @pos, and that of the magnitudes. */
static inline double oracle_conv(const struct oracle_conv *c, uint32_t pos, uint32_t n, double *size)
{
	uint32_t taps = c->win.kw * c->win.kh, first = c->depthwise ? n : 0;
	uint32_t end = c->depthwise ? n + 1 : c->in_c;
	double sum = 0;

	*size = 0;
	for (uint32_t tap = 0; tap < taps; tap++) {
		const float *x = oracle_below(&c->win, c->x, c->in_c, pos, tap);
		const float *w = c->w + (c->depthwise ? (size_t)tap : (size_t)n * taps + tap) * c->in_c;

		for (uint32_t ch = first; x && ch < end; ch++) {
			double p = (x[ch] - c->in_zp) * (w[ch] - c->weight_zp);

			sum += p;
			*size += fabs(p);
		}
	}
	return sum;
}

#endif /* RKNPU_LIBNPU_ORACLE_H */
