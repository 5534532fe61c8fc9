/* SPDX-License-Identifier: MIT */
/*
 * Floats to the 16 bytes of an atom and back, by NEON on arm64; the results are those of the
 * conversions of npu_fp16.c, bit by bit.
 */
#ifndef NPU_ATOMS_H
#define NPU_ATOMS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "npu.h"

/* rintf() in the default mode rounds ties to even. */
static inline int8_t npu_to_int8(float v)
{
	return isnan(v) ? 0 : v > 127 ? 127 : v < -128 ? -128 : (int8_t)rintf(v);
}

static inline void npu_store(uint8_t *p, enum npu_prec type, float v)
{
	uint16_t h;

	switch (type) {
	case NPU_PREC_INT8:
		*p = (uint8_t)npu_to_int8(v);
		break;
	case NPU_PREC_FP16:
		h = npu_f32_to_f16(v);
		memcpy(p, &h, sizeof(h));
		break;
	case NPU_PREC_BF16:
		h = npu_f32_to_bf16(v);
		memcpy(p, &h, sizeof(h));
		break;
	default:
		memcpy(p, &v, sizeof(v));
	}
}

static inline float npu_load(const uint8_t *p, enum npu_prec type)
{
	int32_t i;
	uint16_t h;
	float v;

	switch (type) {
	case NPU_PREC_INT8:
		return (int8_t)*p;
	case NPU_PREC_FP16:
		memcpy(&h, p, sizeof(h));
		return npu_f16_to_f32(h);
	case NPU_PREC_BF16:
		memcpy(&h, p, sizeof(h));
		return npu_bf16_to_f32(h);
	case NPU_PREC_INT16:
		memcpy(&h, p, sizeof(h));
		return (int16_t)h;
	case NPU_PREC_INT32:
		memcpy(&i, p, sizeof(i));
		return (float)i;
	default:
		memcpy(&v, p, sizeof(v));
		return v;
	}
}

/* The first @n elements of an atom, of @bpe bytes each. */
static inline void npu_store_some(uint8_t *d, enum npu_prec type, uint32_t bpe, const float *s, uint32_t n,
				  float scale)
{
	for (uint32_t i = 0; i < n; i++)
		npu_store(d + i * bpe, type, s[i] / scale);
}

static inline void npu_load_some(float *d, const uint8_t *s, enum npu_prec type, uint32_t bpe, uint32_t n,
				 float scale)
{
	for (uint32_t i = 0; i < n; i++)
		d[i] = npu_load(s + i * bpe, type) * scale;
}

#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(NPU_NO_NEON)
#include <arm_neon.h>

/* What counting rows costs is shared by some of them. */
#ifdef __clang__
#define NPU_SOME
#else
#define NPU_SOME	_Pragma("GCC unroll 4")
#endif

static inline void npu_store_int8(uint8_t *d, const float *s, float scale)
{
	float32x4_t by = vdupq_n_f32(scale);
	int32x4_t a = vcvtnq_s32_f32(vdivq_f32(vld1q_f32(s), by));
	int32x4_t b = vcvtnq_s32_f32(vdivq_f32(vld1q_f32(s + 4), by));
	int32x4_t c = vcvtnq_s32_f32(vdivq_f32(vld1q_f32(s + 8), by));
	int32x4_t e = vcvtnq_s32_f32(vdivq_f32(vld1q_f32(s + 12), by));
	int16x8_t lo = vqmovn_high_s32(vqmovn_s32(a), b), hi = vqmovn_high_s32(vqmovn_s32(c), e);

	vst1q_s8((int8_t *)d, vqmovn_high_s16(vqmovn_s16(lo), hi));
}

static inline void npu_store_f16(uint8_t *d, const float *s, float scale)
{
	float32x4_t by = vdupq_n_f32(scale);
	float16x4_t lo = vcvt_f16_f32(vdivq_f32(vld1q_f32(s), by));

	vst1q_u16((uint16_t *)(void *)d,
		  vreinterpretq_u16_f16(vcvt_high_f16_f32(lo, vdivq_f32(vld1q_f32(s + 4), by))));
}

/* To nearest: 0x7fff and the lowest bit that stays are added before the lower half is cut off. */
static inline uint32x4_t npu_bf16_round(uint32x4_t v)
{
	uint32x4_t odd = vtstq_u32(v, vdupq_n_u32(0x10000));

	return vsubq_u32(vdupq_n_u32(0x7fff), odd);
}

/* The largest of both and of @most; NaN if there is one. */
static inline float32x4_t npu_store_bf16_atom(uint8_t *d, const float *s, float scale, float32x4_t most)
{
	float32x4_t by = vdupq_n_f32(scale);
	float32x4_t a = vdivq_f32(vld1q_f32(s), by), b = vdivq_f32(vld1q_f32(s + 4), by);
	uint32x4_t x = vreinterpretq_u32_f32(a), y = vreinterpretq_u32_f32(b);
	uint16x4_t lo = vaddhn_u32(x, npu_bf16_round(x));

	vst1q_u16((uint16_t *)(void *)d, vaddhn_high_u32(lo, y, npu_bf16_round(y)));
	return vmaxq_f32(vmaxq_f32(most, a), b);
}

static inline void npu_store_bf16(uint8_t *d, const float *s, size_t ld, size_t rows, float scale)
{
	float32x4_t most = vdupq_n_f32(0);
	const float *from = s;
	uint8_t *to = d;

	NPU_SOME
	for (size_t n = rows; n; n--, to += 16, from += ld)
		most = npu_store_bf16_atom(to, from, scale, most);
	if (!isnan(vmaxvq_f32(most)))
		return;
	/* Rounding has made some NaN infinite, or a number. */
	for (; rows; rows--, d += 16, s += ld)
		npu_store_some(d, NPU_PREC_BF16, 2, s, 8, scale);
}

static inline void npu_store_f32(uint8_t *d, const float *s, float scale)
{
	vst1q_f32((float *)(void *)d, vdivq_f32(vld1q_f32(s), vdupq_n_f32(scale)));
}

static inline float32x4_t npu_scaled(int32x4_t v, float scale)
{
	return vmulq_n_f32(vcvtq_f32_s32(v), scale);
}

static inline void npu_load_int8(float *d, const uint8_t *s, float scale)
{
	int8x16_t v = vld1q_s8((const int8_t *)s);
	int16x8_t lo = vmovl_s8(vget_low_s8(v)), hi = vmovl_high_s8(v);

	vst1q_f32(d, npu_scaled(vmovl_s16(vget_low_s16(lo)), scale));
	vst1q_f32(d + 4, npu_scaled(vmovl_high_s16(lo), scale));
	vst1q_f32(d + 8, npu_scaled(vmovl_s16(vget_low_s16(hi)), scale));
	vst1q_f32(d + 12, npu_scaled(vmovl_high_s16(hi), scale));
}

static inline void npu_load_f16(float *d, const uint8_t *s, float scale)
{
	float16x8_t v = vreinterpretq_f16_u16(vld1q_u16((const uint16_t *)(const void *)s));

	vst1q_f32(d, vmulq_n_f32(vcvt_f32_f16(vget_low_f16(v)), scale));
	vst1q_f32(d + 4, vmulq_n_f32(vcvt_high_f32_f16(v), scale));
}

static inline void npu_load_bf16(float *d, const uint8_t *s, float scale)
{
	uint16x8_t v = vld1q_u16((const uint16_t *)(const void *)s);

	vst1q_f32(d, vmulq_n_f32(vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)), scale));
	vst1q_f32(d + 4, vmulq_n_f32(vreinterpretq_f32_u32(vshll_high_n_u16(v, 16)), scale));
}

static inline void npu_load_int16(float *d, const uint8_t *s, float scale)
{
	int16x8_t v = vld1q_s16((const int16_t *)(const void *)s);

	vst1q_f32(d, npu_scaled(vmovl_s16(vget_low_s16(v)), scale));
	vst1q_f32(d + 4, npu_scaled(vmovl_high_s16(v), scale));
}

static inline void npu_load_int32(float *d, const uint8_t *s, float scale)
{
	vst1q_f32(d, npu_scaled(vld1q_s32((const int32_t *)(const void *)s), scale));
}

static inline void npu_load_f32(float *d, const uint8_t *s, float scale)
{
	vst1q_f32(d, vmulq_n_f32(vld1q_f32((const float *)(const void *)s), scale));
}

#else

#define NPU_SOME

#define NPU_ATOM_STORE(name, type, bpe) \
static inline void npu_store_##name(uint8_t *d, const float *s, float scale) \
{ \
	npu_store_some(d, type, bpe, s, 16 / bpe, scale); \
}
#define NPU_ATOM_LOAD(name, type, bpe) \
static inline void npu_load_##name(float *d, const uint8_t *s, float scale) \
{ \
	npu_load_some(d, s, type, bpe, 16 / bpe, scale); \
}

NPU_ATOM_STORE(int8, NPU_PREC_INT8, 1)
NPU_ATOM_STORE(f16, NPU_PREC_FP16, 2)
NPU_ATOM_STORE(f32, NPU_PREC_FP32, 4)
NPU_ATOM_LOAD(int8, NPU_PREC_INT8, 1)
NPU_ATOM_LOAD(f16, NPU_PREC_FP16, 2)
NPU_ATOM_LOAD(bf16, NPU_PREC_BF16, 2)
NPU_ATOM_LOAD(int16, NPU_PREC_INT16, 2)
NPU_ATOM_LOAD(int32, NPU_PREC_INT32, 4)
NPU_ATOM_LOAD(f32, NPU_PREC_FP32, 4)

static inline void npu_store_bf16(uint8_t *d, const float *s, size_t ld, size_t rows, float scale)
{
	for (; rows; rows--, d += 16, s += ld)
		npu_store_some(d, NPU_PREC_BF16, 2, s, 8, scale);
}

#endif

#endif /* NPU_ATOMS_H */
