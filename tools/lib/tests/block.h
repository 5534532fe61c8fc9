/* SPDX-License-Identifier: MIT */
/*
 * A transformer block in doubles, from its input and weights alone, and how far one in halves may be
 * off; for rows of one's choice.
 *
 * The bound is a root mean square over the elements of a row. Of each step it has the roundings that the
 * headers of libnpu state for it, as large as they may get, and what the step makes of the errors before
 * it. It takes errors of different elements to be independent of each other and of the weights, which
 * have random signs: squares of errors add up, and a product passes them on by the squares of its
 * weights (so the worst case is told from what happens: with all signs against it the bound would be
 * some hundred times as large, and say nothing). An error that a whole row has in common, as from the
 * root of a norm, has the same mean square behind such a product. In u = 2^-11, half of the last place:
 *
 * - norm: 10 * u * abs(y) + 2^-18 + 2^-24, and the error of x over its root mean square;
 * - product of K columns: sqrt(K) * 2^-24 * sum of abs(w * x) for sums in fp32 (K times that if all
 *   roundings had one sign), u * abs(y) + 2^-25, and the squares of the row's weights times those of x;
 * - scores: u * abs(s), and the errors of q by the size of k, and of k by that of q;
 * - a share p of the softmax, t below the largest one: p times the error of its score, and
 *   p * ((13 + t + ln(T)) * u + sqrt(T) * 2^-14) + sqrt(p) * 2^-14 + 2^-24, times the size of a value;
 *   what shares of a row have in common is as much of the result, with two more roundings;
 * - GELU: u * (abs(x) + abs(y)) + 2^-25, and the error of x times 1.13, its steepest slope;
 * - a sum: u * abs(y) + 2^-25, and the errors of both.
 *
 * A single element may be off by 8 times as much: with independent errors that has a chance below 1e-13.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "npu.h"

enum { BLOCK_WQ, BLOCK_WK, BLOCK_WV, BLOCK_WO, BLOCK_W1, BLOCK_W2, BLOCK_WEIGHTS };

#define BLOCK_U		0x1p-11
#define BLOCK_SIGMAS	8

/* Attention is causal, and has as many heads of keys as of queries; the norms are RMSNorm. */
struct block_operands {
	uint32_t tokens, heads, dim, inner;	/* a row has heads * dim columns */
	double epsilon;
	const float *x;				/* tokens rows */
	const uint16_t *w[BLOCK_WEIGHTS];	/* [n][k] halves */
};

/* A row with the mean square of its errors. */
struct block_row {
	double *v;
	uint32_t n;
	double off;
};

/* How far a row is off: root mean square and largest, and the bound of the former. */
struct block_error {
	double rms, most, bound;
};

static inline struct block_row block_new(uint32_t n)
{
	return (struct block_row){ .v = calloc(n, sizeof(double)), .n = n };
}

/* Mean square of rel * abs(v) + more. */
static inline double block_square(const double *v, uint32_t n, double rel, double more)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (rel * fabs(v[i]) + more) * (rel * fabs(v[i]) + more);
	return sum / n;
}

static inline void block_norm(const struct block_row *x, double epsilon, struct block_row *y)
{
	double mean = block_square(x->v, x->n, 1, 0) + epsilon;

	for (uint32_t i = 0; i < x->n; i++)
		y->v[i] = x->v[i] / sqrt(mean);
	y->off = x->off / mean + block_square(y->v, y->n, 10 * BLOCK_U, 0x1p-18 + 0x1p-24);
}

static inline double block_weight(const uint16_t *w, size_t i)
{
	return (double)npu_f16_to_f32(w[i]);
}

static inline void block_product(const uint16_t *w, const struct block_row *x, struct block_row *y)
{
	double off = 0;

	for (uint32_t n = 0; n < y->n; n++) {
		double sum = 0, size = 0, squares = 0, own;

		for (uint32_t k = 0; k < x->n; k++) {
			double v = block_weight(w, (size_t)n * x->n + k);

			sum += v * x->v[k];
			size += fabs(v * x->v[k]);
			squares += v * v;
		}
		own = sqrt(x->n) * 0x1p-24 * size + BLOCK_U * fabs(sum) + 0x1p-25;
		off += squares * x->off + own * own;
		y->v[n] = sum;
	}
	y->off = off / y->n;
}

static inline void block_sum(const struct block_row *a, const struct block_row *b, struct block_row *y)
{
	for (uint32_t i = 0; i < y->n; i++)
		y->v[i] = a->v[i] + b->v[i];
	y->off = a->off + b->off + block_square(y->v, y->n, BLOCK_U, 0x1p-25);
}

static inline void block_gelu(const struct block_row *x, struct block_row *y)
{
	double own = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		double a = x->v[i], g = a * erfc(-a / sqrt(2)) / 2;
		double e = BLOCK_U * (fabs(a) + fabs(g)) + 0x1p-25;

		y->v[i] = g;
		own += e * e;
	}
	y->off = 1.13 * 1.13 * x->off + own / x->n;
}

/* A head of keys or values: sum of the squares of its weights. */
static inline double block_head_squares(const struct block_operands *o, const uint16_t *w, uint32_t head)
{
	uint32_t width = o->heads * o->dim;
	double sum = 0;

	for (size_t i = (size_t)head * o->dim * width; i < (size_t)(head + 1) * o->dim * width; i++)
		sum += block_weight(w, i) * block_weight(w, i);
	return sum;
}

/* Mean square of the errors of what a head's weights, of so many squares in all, make of a row. */
static inline double block_projected(const struct block_operands *o, double squares, double size, double off)
{
	double row = squares / o->dim, width = (double)o->heads * o->dim;

	/* Sums of magnitudes are at most the product of the lengths. */
	return row * off + row * size * (BLOCK_U * BLOCK_U + width * 0x1p-48 * width);
}

/*
 * Scores and results of one head by another way than the NPU's: q * (Wk * n) is (q * Wk) * n, and
 * the sum of p * (Wv * n) is Wv * (the sum of p * n); no keys or values are needed.
 */
struct block_head {
	double keys, values;	/* squares of weights */
	double *u, *z;		/* a row each */
	double *p, *var;	/* of each token: score and share; variance of the score */
};

static inline void block_scores(const struct block_operands *o, const struct block_row *norm,
				const struct block_row *q, uint32_t head, uint32_t seen, struct block_head *h)
{
	uint32_t width = o->heads * o->dim;
	const double *own = q->v + (size_t)head * o->dim;
	double scale = 1 / sqrt(o->dim), qq = 0;

	for (uint32_t k = 0; k < width; k++)
		h->u[k] = 0;
	for (uint32_t i = 0; i < o->dim; i++) {
		const uint16_t *w = o->w[BLOCK_WK] + ((size_t)head * o->dim + i) * width;

		qq += own[i] * own[i];
		for (uint32_t k = 0; k < width; k++)
			h->u[k] += own[i] * block_weight(w, k);
	}
	for (uint32_t t = 0; t < seen; t++) {
		double size = block_square(norm[t].v, width, 1, 0), s = 0, e;

		for (uint32_t k = 0; k < width; k++)
			s += h->u[k] * norm[t].v[k];
		e = BLOCK_U * fabs(s) + sqrt(o->dim) * 0x1p-24 * sqrt(qq * h->keys * size);
		h->p[t] = s * scale;
		h->var[t] = (q->off * h->keys * size + qq * block_projected(o, h->keys, size, norm[t].off) +
			     e * e) * scale * scale;
	}
}

/* The shares, in place of the scores; returns the mean square of the errors of the head's result. */
static inline double block_shares(const struct block_operands *o, const struct block_row *norm,
				  uint32_t seen, struct block_head *h)
{
	double most = -INFINITY, sum = 0, off = 0, n = o->tokens;
	uint32_t width = o->heads * o->dim;

	for (uint32_t t = 0; t < seen; t++)
		most = fmax(most, h->p[t]);
	for (uint32_t t = 0; t < seen; t++)
		sum += exp(h->p[t] - most);
	for (uint32_t k = 0; k < width; k++)
		h->z[k] = 0;
	for (uint32_t t = 0; t < seen; t++) {
		double below = most - h->p[t], p = exp(-below) / sum;
		double size = block_square(norm[t].v, width, 1, 0), value = h->values / o->dim * size;
		double own = p * ((13 + below + log(n)) * BLOCK_U + sqrt(n) * 0x1p-14) + sqrt(p) * 0x1p-14 +
			     0x1p-24;

		off += (p * p * h->var[t] + own * own) * value +
		       p * p * block_projected(o, h->values, size, norm[t].off);
		for (uint32_t k = 0; k < width; k++)
			h->z[k] += p * norm[t].v[k];
	}
	return off;
}

static inline void block_attention(const struct block_operands *o, const struct block_row *norm,
				   const struct block_row *q, uint32_t row, struct block_row *y)
{
	uint32_t width = o->heads * o->dim;
	struct block_head h = {
		.u = calloc(width, sizeof(double)), .z = calloc(width, sizeof(double)),
		.p = calloc(o->tokens, sizeof(double)), .var = calloc(o->tokens, sizeof(double)),
	};

	y->off = 0;
	for (uint32_t head = 0; head < o->heads; head++) {
		double *own = y->v + (size_t)head * o->dim, off;

		h.keys = block_head_squares(o, o->w[BLOCK_WK], head);
		h.values = block_head_squares(o, o->w[BLOCK_WV], head);
		block_scores(o, norm, q, head, row + 1, &h);
		off = block_shares(o, norm, row + 1, &h);
		for (uint32_t i = 0; i < o->dim; i++) {
			const uint16_t *w = o->w[BLOCK_WV] + ((size_t)head * o->dim + i) * width;

			own[i] = 0;
			for (uint32_t k = 0; k < width; k++)
				own[i] += h.z[k] * block_weight(w, k);
		}
		y->off += (off + block_square(own, o->dim, (14 + log(o->tokens)) * BLOCK_U, 0x1p-24)) / o->heads;
	}
	free(h.u);
	free(h.z);
	free(h.p);
	free(h.var);
}

/* Norms of the first @rows rows, which those share that are checked. */
static inline struct block_row *block_norms(const struct block_operands *o, uint32_t rows)
{
	uint32_t width = o->heads * o->dim;
	struct block_row *norm = calloc(rows, sizeof(*norm)), x = block_new(width);

	for (uint32_t t = 0; t < rows; t++) {
		for (uint32_t k = 0; k < width; k++)
			x.v[k] = (double)o->x[(size_t)t * width + k];
		norm[t] = block_new(width);
		block_norm(&x, o->epsilon, &norm[t]);
	}
	free(x.v);
	return norm;
}

static inline void block_free(struct block_row *row, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(row[i].v);
}

/* One row of the result: x + attention(norm(x)), and that + W2 * gelu(W1 * norm(it)). */
static inline void block_row_of(const struct block_operands *o, const struct block_row *norm, uint32_t row,
				struct block_row *y)
{
	uint32_t width = o->heads * o->dim;
	enum { X, Q, MIXED, OUT, MID, NORM, H, G, DOWN, ROWS };
	struct block_row r[ROWS];

	for (int i = 0; i < ROWS; i++)
		r[i] = block_new(i == H || i == G ? o->inner : width);
	for (uint32_t k = 0; k < width; k++)
		r[X].v[k] = (double)o->x[(size_t)row * width + k];
	block_product(o->w[BLOCK_WQ], &norm[row], &r[Q]);
	block_attention(o, norm, &r[Q], row, &r[MIXED]);
	block_product(o->w[BLOCK_WO], &r[MIXED], &r[OUT]);
	block_sum(&r[X], &r[OUT], &r[MID]);
	block_norm(&r[MID], o->epsilon, &r[NORM]);
	block_product(o->w[BLOCK_W1], &r[NORM], &r[H]);
	block_gelu(&r[H], &r[G]);
	block_product(o->w[BLOCK_W2], &r[G], &r[DOWN]);
	block_sum(&r[MID], &r[DOWN], y);
	block_free(r, ROWS);
}

static inline struct block_error block_compare(const struct block_row *want, const float *got)
{
	struct block_error e = { .bound = sqrt(want->off) };
	double sum = 0;

	for (uint32_t i = 0; i < want->n; i++) {
		double off = fabs(want->v[i] - (double)got[i]);

		e.most = isnan(off) ? INFINITY : fmax(e.most, off);
		sum += off * off;
	}
	e.rms = isnan(sum) ? INFINITY : sqrt(sum / want->n);
	return e;
}

static inline bool block_ok(const struct block_error *e)
{
	return e->rms <= e->bound && e->most <= BLOCK_SIGMAS * e->bound;
}

#endif /* BLOCK_H */
