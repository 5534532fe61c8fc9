/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What products and attention give in doubles, and how far halves may be off: the bounds that
 * libnpu's headers state.
 */
#ifndef RKNPU_LIBNPU_ORACLE_H
#define RKNPU_LIBNPU_ORACLE_H

#include <math.h>
#include <stdint.h>

/* Is @y the sum of @k products, as far as npu_rec_matmul() says? */
static inline bool oracle_product(const float *x, const float *w, uint32_t k, double y)
{
	double sum = 0, size = 0;

	for (uint32_t i = 0; i < k; i++) {
		sum += (double)x[i] * w[i];
		size += fabs((double)x[i] * w[i]);
	}
	return fabs(y - sum) <= k * 0x1p-24 * size + fabs(sum) * 0x1p-11 + 0x1p-25;
}

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
	      (14 + 2 * log(h->tokens)) * 0x1p-11 + 2 * sqrt(h->tokens) * 0x1p-14 +
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

#endif /* RKNPU_LIBNPU_ORACLE_H */
