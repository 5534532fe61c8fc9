// SPDX-License-Identifier: MIT
/*
 * Tensors as numbers: from and to floats with a scale, and where the largest is.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "npu_atoms.h"
#include "npu_compute.h"

/* As npu_load(), and words without rounding. */
static double load_exact(const uint8_t *p, enum npu_prec type)
{
	int32_t i;

	if (type != NPU_PREC_INT32)
		return npu_load(p, type);
	memcpy(&i, p, sizeof(i));
	return i;
}

static uint8_t *element(const struct npu_tensor *t, uint32_t row, uint32_t col)
{
	uint32_t lanes = npu_tensor_lanes(t);

	return npu_tensor_atom(t, col / lanes, row) +
	       col % lanes * npu_prec_bytes(t->shape.type);
}

static bool args_ok(const struct npu_tensor *t, size_t *ld, float scale)
{
	*ld = *ld ? *ld : t->shape.cols;
	return *ld >= t->shape.cols && scale > 0 && isfinite(scale) && t->shape.type != NPU_PREC_INT4;
}

static uint64_t payload(const struct npu_tensor *t)
{
	return (uint64_t)t->shape.rows * t->shape.cols * npu_prec_bytes(t->shape.type);
}

/* Of one surface; the type is told apart once. */
static void store_rows(uint8_t *d, const float *s, size_t ld, size_t rows, enum npu_prec type, float scale)
{
	switch (type) {
	case NPU_PREC_INT8:
		NPU_SOME
		for (; rows; rows--, d += NPU_WIDE_ATOM, s += ld)
			npu_store_int8(d, s, scale);
		break;
	case NPU_PREC_FP16:
		NPU_SOME
		for (; rows; rows--, d += NPU_WIDE_ATOM, s += ld)
			npu_store_f16(d, s, scale);
		break;
	case NPU_PREC_BF16:
		npu_store_bf16(d, s, ld, rows, scale);
		break;
	default:
		NPU_SOME
		for (; rows; rows--, d += NPU_WIDE_ATOM, s += ld)
			npu_store_f32(d, s, scale);
		break;
	}
}

static void load_rows(float *d, size_t ld, const uint8_t *s, size_t rows, enum npu_prec type, float scale)
{
	switch (type) {
	case NPU_PREC_INT8:
		NPU_SOME
		for (; rows; rows--, d += ld, s += NPU_WIDE_ATOM)
			npu_load_int8(d, s, scale);
		break;
	case NPU_PREC_FP16:
		NPU_SOME
		for (; rows; rows--, d += ld, s += NPU_WIDE_ATOM)
			npu_load_f16(d, s, scale);
		break;
	case NPU_PREC_BF16:
		NPU_SOME
		for (; rows; rows--, d += ld, s += NPU_WIDE_ATOM)
			npu_load_bf16(d, s, scale);
		break;
	case NPU_PREC_INT16:
		NPU_SOME
		for (; rows; rows--, d += ld, s += NPU_WIDE_ATOM)
			npu_load_int16(d, s, scale);
		break;
	case NPU_PREC_INT32:
		NPU_SOME
		for (; rows; rows--, d += ld, s += NPU_WIDE_ATOM)
			npu_load_int32(d, s, scale);
		break;
	default:
		NPU_SOME
		for (; rows; rows--, d += ld, s += NPU_WIDE_ATOM)
			npu_load_f32(d, s, scale);
		break;
	}
}

/* Surfaces of wide atoms that are full; others are done element by element. */
static uint32_t full_surfaces(const struct npu_tensor *t)
{
	return npu_tensor_atom_bytes(t) == NPU_WIDE_ATOM ? t->shape.cols / npu_tensor_lanes(t) : 0;
}

/* As npu_tensor_write(): no other tensor has the rest of a last surface that is not full. */
static void store_all(const struct npu_tensor *t, const float *src, size_t ld, float scale)
{
	uint32_t lanes = npu_tensor_lanes(t), whole = full_surfaces(t), cols = t->shape.cols;
	uint32_t bpe = (uint32_t)npu_prec_bytes(t->shape.type);

	for (uint32_t i = 0; i < whole; i++)
		store_rows(npu_tensor_atom(t, i, 0), src + (size_t)i * lanes, ld, t->shape.rows, t->shape.type, scale);
	for (uint32_t c = whole * lanes; c < cols; c += lanes)
		for (uint32_t r = 0; r < t->shape.rows; r++) {
			uint8_t *d = npu_tensor_atom(t, c / lanes, r);

			memset(d, 0, npu_tensor_atom_bytes(t));
			npu_store_some(d, t->shape.type, bpe, src + r * ld + c, (uint32_t)min_u64(lanes, cols - c), scale);
		}
}

static void load_all(const struct npu_tensor *t, float *dst, size_t ld, float scale)
{
	uint32_t lanes = npu_tensor_lanes(t), whole = full_surfaces(t), cols = t->shape.cols;
	uint32_t bpe = (uint32_t)npu_prec_bytes(t->shape.type);

	for (uint32_t i = 0; i < whole; i++)
		load_rows(dst + (size_t)i * lanes, ld, npu_tensor_atom(t, i, 0), t->shape.rows, t->shape.type, scale);
	for (uint32_t c = whole * lanes; c < cols; c += lanes)
		for (uint32_t r = 0; r < t->shape.rows; r++)
			npu_load_some(dst + r * ld + c, npu_tensor_atom(t, c / lanes, r), t->shape.type, bpe,
				      (uint32_t)min_u64(lanes, cols - c), scale);
}

void npu_tensor_store_f32(struct npu_tensor *t, const float *src, size_t ld, float scale)
{
	store_all(t, src, ld, scale);
	npu_dev_stats(t->dev)->packed += payload(t);
}

int npu_tensor_write_f32(struct npu_tensor *t, const float *src, size_t ld, float scale)
{
	int ret;

	if (!args_ok(t, &ld, scale) || t->shape.type == NPU_PREC_INT32 || t->shape.type == NPU_PREC_INT16)
		return -EINVAL;
	ret = npu_tensor_begin(t, true);
	if (ret)
		return ret;
	npu_tensor_store_f32(t, src, ld, scale);
	return npu_tensor_end(t);
}

int npu_tensor_read_f32(struct npu_tensor *t, float *dst, size_t ld, float scale)
{
	int ret;

	if (!args_ok(t, &ld, scale))
		return -EINVAL;
	ret = npu_tensor_begin(t, false);
	if (ret)
		return ret;
	load_all(t, dst, ld, scale);
	npu_dev_stats(t->dev)->unpacked += payload(t);
	return 0;
}

/* Elements of an atom; bytes are the most. */
#define LANES	16u
/* Those of FP32 where one has 16 bytes. */
#define FLOATS	4u

/* Whole atoms of FP32, which compilers make vectors of: of groups there are many. */
static void load_atoms(const struct npu_tensor *t, uint32_t c, float *dst, size_t ld, const float *scale, bool add)
{
	const float *s = scale + c;

	for (uint32_t r = 0; r < t->shape.rows; r++) {
		const float *v = (const float *)npu_tensor_atom(t, c / FLOATS, r);
		float *d = dst + r * ld + c;

		if (add)
			for (uint32_t i = 0; i < FLOATS; i++)
				d[i] += v[i] * s[i];
		else
			for (uint32_t i = 0; i < FLOATS; i++)
				d[i] = v[i] * s[i];
	}
}

static void load_scaled(const struct npu_tensor *t, float *dst, size_t ld, const float *scale, bool add)
{
	uint32_t lanes = npu_tensor_lanes(t), cols = t->shape.cols;
	uint32_t bpe = (uint32_t)npu_prec_bytes(t->shape.type);
	float v[LANES];

	for (uint32_t c = 0; c < cols; c += lanes) {
		uint32_t n = (uint32_t)min_u64(lanes, cols - c);

		if (t->shape.type == NPU_PREC_FP32 && n == FLOATS) {
			load_atoms(t, c, dst, ld, scale, add);
			continue;
		}
		for (uint32_t r = 0; r < t->shape.rows; r++) {
			float *d = dst + r * ld + c;

			npu_load_some(v, npu_tensor_atom(t, c / lanes, r), t->shape.type, bpe, n, 1);
			for (uint32_t i = 0; i < n; i++) {
				v[i] *= scale[c + i];
				d[i] = add ? d[i] + v[i] : v[i];
			}
		}
	}
}

int npu_tensor_read_scaled(struct npu_tensor *t, float *dst, size_t ld, const float *scale, bool add)
{
	int ret;

	if (!args_ok(t, &ld, 1))
		return -EINVAL;
	ret = npu_tensor_begin(t, false);
	if (ret)
		return ret;
	load_scaled(t, dst, ld, scale, add);
	npu_dev_stats(t->dev)->unpacked += payload(t);
	return 0;
}

static uint32_t largest(const struct npu_tensor *t, uint32_t row)
{
	double most = -INFINITY;
	uint32_t at = UINT32_MAX;

	for (uint32_t c = 0; c < t->shape.cols; c++) {
		double v = load_exact(element(t, row, c), t->shape.type);

		if (v > most || (at == UINT32_MAX && v == most)) {
			most = v;
			at = c;
		}
	}
	return at == UINT32_MAX ? 0 : at;
}

int npu_tensor_argmax(struct npu_tensor *t, uint32_t *col)
{
	int ret = t->shape.type == NPU_PREC_INT4 ? -EINVAL : npu_tensor_begin(t, false);

	for (uint32_t r = 0; !ret && r < t->shape.rows; r++)
		col[r] = largest(t, r);
	return ret;
}
