/* SPDX-License-Identifier: MIT */
/*
 * Transposes a block of 16x16 bytes or 8x8 halfwords.
 */
#ifndef NPU_TRANSPOSE_H
#define NPU_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(NPU_NO_NEON)
#include <arm_neon.h>

/* gcc keeps the arrays in registers only if no loop is left; clang does that by itself. */
#ifdef __clang__
#define NPU_UNROLL
#else
#define NPU_UNROLL	_Pragma("GCC unroll 16")
#endif

/*
 * One round interleaves each row of the upper half with its partner in the lower half;
 * as many rounds as the side has bits make the transposed block.
 */
static inline void npu_transpose_8(uint8_t *d, size_t dp, const uint8_t *s, size_t sp)
{
	uint8x16_t a[16], b[16];

	NPU_UNROLL
	for (int i = 0; i < 16; i++)
		a[i] = vld1q_u8(s + (size_t)i * sp);
	NPU_UNROLL
	for (int round = 0; round < 4; round++) {
		NPU_UNROLL
		for (int i = 0; i < 8; i++) {
			b[2 * i] = vzip1q_u8(a[i], a[i + 8]);
			b[2 * i + 1] = vzip2q_u8(a[i], a[i + 8]);
		}
		NPU_UNROLL
		for (int i = 0; i < 16; i++)
			a[i] = b[i];
	}
	NPU_UNROLL
	for (int i = 0; i < 16; i++)
		vst1q_u8(d + (size_t)i * dp, a[i]);
}

static inline void npu_transpose_16(uint8_t *d, size_t dp, const uint8_t *s, size_t sp)
{
	uint16x8_t a[8], b[8];

	NPU_UNROLL
	for (int i = 0; i < 8; i++)
		a[i] = vreinterpretq_u16_u8(vld1q_u8(s + (size_t)i * sp));
	NPU_UNROLL
	for (int round = 0; round < 3; round++) {
		NPU_UNROLL
		for (int i = 0; i < 4; i++) {
			b[2 * i] = vzip1q_u16(a[i], a[i + 4]);
			b[2 * i + 1] = vzip2q_u16(a[i], a[i + 4]);
		}
		NPU_UNROLL
		for (int i = 0; i < 8; i++)
			a[i] = b[i];
	}
	NPU_UNROLL
	for (int i = 0; i < 8; i++)
		vst1q_u8(d + (size_t)i * dp, vreinterpretq_u8_u16(a[i]));
}

#else

static inline void npu_transpose_8(uint8_t *d, size_t dp, const uint8_t *s, size_t sp)
{
	for (size_t r = 0; r < 16; r++)
		for (size_t c = 0; c < 16; c++)
			d[c * dp + r] = s[r * sp + c];
}

static inline void npu_transpose_16(uint8_t *d, size_t dp, const uint8_t *s, size_t sp)
{
	for (size_t r = 0; r < 8; r++)
		for (size_t c = 0; c < 8; c++)
			memcpy(d + c * dp + r * 2, s + r * sp + c * 2, 2);
}

#endif

/* Rows of @sp bytes to rows of @dp bytes; elements of 1 or 2 bytes, 16 bytes a row. */
static inline void npu_transpose(uint8_t *d, size_t dp, const uint8_t *s, size_t sp, size_t bpe)
{
	if (bpe == 1)
		npu_transpose_8(d, dp, s, sp);
	else
		npu_transpose_16(d, dp, s, sp);
}

#endif /* NPU_TRANSPOSE_H */
