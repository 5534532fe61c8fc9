// SPDX-License-Identifier: MIT
/* Owns the packing of weights: as fp16 with a scale, as int8 with one for each row, or as INT4 with one for each group. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/rknpu_exec.h"
#include "rknpu_weights.h"

/* ---- fp16 ---- */

/* Exponents that need no scale, and the one that a scale aims at. */
#define LEAST_EXP	(-4)
#define MOST_EXP	14
#define GOOD_EXP	8
/* What is smaller becomes 0: the factor would not be a float. */
#define SMALLEST_EXP	(-100)

float rknpu_scale_for(float largest)
{
	int e;

	if (!(largest > 0) || isinf(largest))
		return 1;
	e = ilogbf(largest);
	e = e < SMALLEST_EXP ? SMALLEST_EXP : e;
	return e >= LEAST_EXP && e <= MOST_EXP ? 1 : scalbnf(1, e - GOOD_EXP);
}

/* The patterns of magnitudes are ordered as their values are, and NaN is above infinity. */
float rknpu_to_fp16(uint16_t *dst, const float *src, size_t n, float scale)
{
	uint32_t most = 0, bits;
	float by = 1 / scale, largest;
	_Float16 h;

	for (size_t i = 0; i < n; i++) {
		memcpy(&bits, &src[i], sizeof(bits));
		bits &= 0x7fffffff;
		most = bits > most ? bits : most;
		h = (_Float16)(src[i] * by);
		memcpy(&dst[i], &h, sizeof(h));
	}
	memcpy(&largest, &most, sizeof(largest));
	return isnan(largest) ? INFINITY : largest;
}

/* ---- int8 ---- */

/* Columns that are rotated together. */
#define MOST_ROTATED	((size_t)256)

static float largest_of(const float *src, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n; i++)
		/* NaN is none of the two, and stays. */
		most = fabsf(src[i]) <= most ? most : fabsf(src[i]);
	return most;
}

/* Sums and differences of halves, of halves of these and so on: a Hadamard matrix. It is its own inverse, but for the scale. */
static void rotate_block(float *x, size_t n)
{
	for (size_t half = n / 2; half; half /= 2)
		for (size_t i = 0; i < n; i += 2 * half)
			for (size_t j = i; j < i + half; j++) {
				float a = x[j], b = x[j + half];

				x[j] = a + b;
				x[j + half] = a - b;
			}
}

/*
 * Models have a few columns of activations that are many times the others, which a scale for the whole row would leave a
 * few steps. Rotated, each column has a share of them, and a product of two rotated rows is that of the rows.
 * Published for a model of 1B: a KL divergence of .003 instead of .074 (rk-llama.cpp).
 */
static void rotate(float *x, size_t k)
{
	size_t n = k & -k;
	float by;

	n = n < MOST_ROTATED ? n : MOST_ROTATED;
	by = 1 / sqrtf((float)n);
	for (size_t i = 0; i < k; i += n)
		rotate_block(x + i, n);
	for (size_t i = 0; i < k; i++)
		x[i] *= by;
}

float rknpu_to_int8(int8_t *dst, float *src, size_t n)
{
	float most, by;

	rotate(src, n);
	most = largest_of(src, n);
	by = 127 / most;
	/* A row of zeros, or of so little that the factor is no float. */
	if (!isfinite(by) || !isfinite(most)) {
		memset(dst, 0, n);
		return isfinite(most) ? 0 : NAN;
	}
	for (size_t i = 0; i < n; i++)
		dst[i] = (int8_t)rintf(src[i] * by);
	return most / 127;
}

/* ---- packed matrices ---- */

/* Rows of weights of which parts are taken: libnpu wants that of INT4, and views of results begin there. */
#define PART_ROWS	64u

bool rknpu_can_pack(enum ggml_type type)
{
	return type == GGML_TYPE_F32 || ggml_get_type_traits(type)->to_float;
}

static const void *row(const struct rknpu_matrix *m, uint32_t n)
{
	return (const char *)m->data + n * m->stride;
}

uint64_t rknpu_packed_bytes(enum npu_prec type, enum ggml_type from, uint64_t numbers)
{
	uint64_t group = sizeof(_Float16) * (rknpu_int4_has_offset(from) ? 2 : 1);

	if (type == NPU_PREC_INT4)
		return numbers / 2 + numbers / RKNPU_INT4_GROUP * group;
	return numbers * (type == NPU_PREC_INT8 ? sizeof(int8_t) : sizeof(uint16_t));
}

size_t rknpu_weights_bytes(const struct rknpu_weights *w)
{
	return (size_t)rknpu_packed_bytes(w->type, w->from.type, (uint64_t)w->from.n * w->from.k);
}

uint32_t rknpu_weights_parts(const struct rknpu_weights *w)
{
	return w->part ? (w->from.k - 1) / w->part + 1 : 1;
}

/* Reads rows one after the other as floats. */
struct reader {
	const struct rknpu_matrix *m;
	float *floats;
	void *group;		/* rows that the CPU backend has rearranged */
};

static bool reader_init(struct reader *r, const struct rknpu_matrix *m)
{
	r->m = m;
	r->floats = malloc(m->k * sizeof(*r->floats));
	r->group = m->layout ? malloc(rknpu_layout_rows(m->layout) * m->stride) : NULL;
	return r->floats && (r->group || !m->layout);
}

static void reader_free(struct reader *r)
{
	free(r->floats);
	free(r->group);
}

static const void *read_row(struct reader *r, uint32_t n)
{
	uint32_t rows;

	if (!r->m->layout)
		return row(r->m, n);
	rows = rknpu_layout_rows(r->m->layout);
	if (n % rows == 0)
		rknpu_layout_undo(r->m->layout, row(r->m, n), r->m->stride / ggml_type_size(r->m->type), r->group);
	return (const char *)r->group + n % rows * r->m->stride;
}

/* A copy. */
static float *row_floats(struct reader *r, uint32_t n)
{
	const void *from = read_row(r, n);

	if (r->m->type == GGML_TYPE_F32)
		memcpy(r->floats, from, r->m->k * sizeof(*r->floats));
	else
		ggml_get_type_traits(r->m->type)->to_float(from, r->floats, r->m->k);
	return r->floats;
}

/* Returns the largest magnitude of all. */
static float convert(uint16_t *dst, struct reader *r, float scale)
{
	size_t k = r->m->k;
	float most = 0;

	for (uint32_t n = 0; n < r->m->n; n++) {
		float largest = rknpu_to_fp16(dst + n * k, row_floats(r, n), k, scale);

		most = largest > most ? largest : most;
	}
	return most;
}

static void to_fp16(struct rknpu_weights *w, uint16_t *dst, struct reader *r)
{
	float wanted = rknpu_scale_for(convert(dst, r, 1));

	if (wanted == 1)
		return;
	w->scale = wanted;
	convert(dst, r, wanted);
}

static int to_int8(struct rknpu_weights *w, int8_t *dst, struct reader *r)
{
	const struct rknpu_matrix *m = &w->from;

	w->row_scale = malloc(m->n * sizeof(*w->row_scale));
	if (!w->row_scale)
		return -ENOMEM;
	for (uint32_t n = 0; n < m->n; n++)
		w->row_scale[n] = rknpu_to_int8(dst + (size_t)n * m->k, row_floats(r, n), m->k);
	return 0;
}

static int to_int4(struct rknpu_weights *w, uint8_t *dst, struct reader *r)
{
	const struct rknpu_matrix *m = &w->from;
	size_t groups = (size_t)rknpu_weights_parts(w) * w->n;
	bool has_offset = rknpu_int4_has_offset(m->type);

	w->scales = calloc(groups, sizeof(*w->scales));
	w->offsets = has_offset ? calloc(groups, sizeof(*w->offsets)) : NULL;
	if (!w->scales || (has_offset && !w->offsets))
		return -ENOMEM;
	for (uint32_t n = 0; n < m->n; n++) {
		struct rknpu_int4 to = {
			dst + (size_t)n * m->k / 2, w->scales + n, has_offset ? w->offsets + n : NULL, w->n,
		};

		rknpu_to_int4(&to, read_row(r, n), m->type, m->k);
	}
	return 0;
}

static int pack(struct rknpu_context *ctx, struct rknpu_weights *w, const void *src, size_t ld)
{
	struct npu_weights_desc desc = {
		.size = sizeof(desc),
		.type = w->type, .n = w->n, .k = w->from.k, .ld = ld, .part = w->part,
	};

	return npu_weights_new(ctx->npu, &desc, src, &w->npu);
}

static size_t row_bytes(const struct rknpu_weights *w)
{
	size_t k = w->from.k;

	return w->type == NPU_PREC_INT4 ? k / 2 : w->type == NPU_PREC_INT8 ? k : k * sizeof(uint16_t);
}

static int pack_converted(struct rknpu_context *ctx, struct rknpu_weights *w)
{
	/* Rows that the matrix lacks are 0. */
	void *packed = calloc(w->n, row_bytes(w));
	struct reader r;
	int ret = reader_init(&r, &w->from) && packed ? 0 : -ENOMEM;

	if (!ret && w->type == NPU_PREC_INT8)
		ret = to_int8(w, packed, &r);
	else if (!ret && w->type == NPU_PREC_INT4)
		ret = to_int4(w, packed, &r);
	else if (!ret)
		to_fp16(w, packed, &r);
	reader_free(&r);
	if (!ret)
		ret = pack(ctx, w, packed, 0);
	free(packed);
	return ret;
}

static int pack_any(struct rknpu_context *ctx, struct rknpu_weights *w)
{
	const struct rknpu_matrix *m = &w->from;

	if (m->type == GGML_TYPE_F16 && w->type == NPU_PREC_FP16 && !m->layout && !(m->stride % sizeof(uint16_t)))
		return pack(ctx, w, m->data, m->stride / sizeof(uint16_t));
	return pack_converted(ctx, w);
}

static void scales_free(struct rknpu_weights *w)
{
	free(w->row_scale);
	free(w->scales);
	free(w->offsets);
}

int rknpu_weights_new(struct rknpu_context *ctx, const struct rknpu_matrix *m, enum npu_prec type, struct rknpu_weights **out)
{
	struct rknpu_weights *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	w->from = *m;
	w->type = type;
	w->scale = 1;
	w->part = type == NPU_PREC_INT4 ? RKNPU_INT4_GROUP : m->k > ctx->can.columns ? ctx->can.columns : 0;
	w->n = w->part ? (m->n + PART_ROWS - 1) / PART_ROWS * PART_ROWS : m->n;
	ret = pack_any(ctx, w);
	if (ret) {
		scales_free(w);
		free(w);
		return ret;
	}
	ctx->stats.packed++;
	ctx->stats.resident += rknpu_weights_bytes(w);
	*out = w;
	return 0;
}

void rknpu_weights_free(struct rknpu_context *ctx, struct rknpu_weights *w)
{
	ctx->weights_freed(ctx, w);
	rknpu_runs_free(ctx, w);
	npu_weights_free(w->npu);
	ctx->stats.resident -= rknpu_weights_bytes(w);
	scales_free(w);
	free(w);
}
