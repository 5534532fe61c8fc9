// SPDX-License-Identifier: MIT
/*
 * Owns ggml's types whose groups of 32 columns are 4-bit numbers times a scale, plus a minimum in some: for the NPU they
 * are INT4 without rounding, -8 to 7, with the scale, and with what an activation of 1 adds in all columns of a group.
 */
#include <string.h>

#include "rknpu_weights.h"

#define GROUP		RKNPU_INT4_GROUP
#define GROUP_BYTES	(GROUP / 2)
/* Of q4_K: groups of a block, and 6-bit numbers of each: scales, then minima. */
#define K_GROUPS	8
#define K_SCALES	12

bool rknpu_is_int4(enum ggml_type type)
{
	return type == GGML_TYPE_Q4_0 || rknpu_int4_has_offset(type);
}

bool rknpu_int4_has_offset(enum ggml_type type)
{
	return type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q4_K;
}

static float half(const uint8_t *at)
{
	_Float16 h;

	memcpy(&h, at, sizeof(h));
	return (float)h;
}

/* From 0 to 15, the first half of a group in the lower nibbles, to two's complement around 8, in pairs. */
static void from_halves(uint8_t *dst, const uint8_t *q)
{
	for (int i = 0; i < (int)GROUP_BYTES / 2; i++) {
		dst[i] = ((q[2 * i] & 0xf) | (q[2 * i + 1] & 0xf) << 4) ^ 0x88;
		dst[GROUP_BYTES / 2 + i] = (q[2 * i] >> 4 | (q[2 * i + 1] & 0xf0)) ^ 0x88;
	}
}

static void set(const struct rknpu_int4 *to, uint32_t group, float scale, float least)
{
	to->scale[group * to->pitch] = (_Float16)scale;
	if (to->offset)
		to->offset[group * to->pitch] = (_Float16)(least + 8 * scale);
}

static void q4_0(const struct rknpu_int4 *to, const uint8_t *block, uint32_t group)
{
	set(to, group, half(block), 0);
	from_halves(to->q + group * GROUP_BYTES, block + 2);
}

static void q4_1(const struct rknpu_int4 *to, const uint8_t *block, uint32_t group)
{
	set(to, group, half(block), half(block + 2));
	from_halves(to->q + group * GROUP_BYTES, block + 4);
}

/* Number @i of the scales or, from 4 bytes on, of the minima: the last four have their upper bits elsewhere. */
static int six_bits(const uint8_t *s, int i, int minima)
{
	if (i < K_GROUPS / 2)
		return s[i + minima] & 0x3f;
	return (s[i + 4] >> minima & 0xf) | (s[i - 4 + minima] >> 6) << 4;
}

/* Two groups share 32 bytes: one has the lower nibbles. */
static void q4_k(const struct rknpu_int4 *to, const uint8_t *block, uint32_t group)
{
	const uint8_t *s = block + 4, *q = s + K_SCALES;

	for (int i = 0; i < K_GROUPS; i++) {
		const uint8_t *from = q + i / 2 * GROUP;
		uint8_t *dst = to->q + (group + i) * GROUP_BYTES;
		int shift = i % 2 * 4;

		set(to, group + i, half(block) * six_bits(s, i, 0), -half(block + 2) * six_bits(s, i, 4));
		for (int j = 0; j < (int)GROUP_BYTES; j++)
			dst[j] = ((from[2 * j] >> shift & 0xf) | (from[2 * j + 1] >> shift & 0xf) << 4) ^ 0x88;
	}
}

void rknpu_to_int4(const struct rknpu_int4 *to, const void *row, enum ggml_type type, uint32_t k)
{
	size_t block = ggml_type_size(type);
	uint32_t groups = (uint32_t)ggml_blck_size(type) / GROUP;
	const uint8_t *from = row;

	for (uint32_t g = 0; g < k / GROUP; g += groups, from += block) {
		if (type == GGML_TYPE_Q4_0)
			q4_0(to, from, g);
		else if (type == GGML_TYPE_Q4_1)
			q4_1(to, from, g);
		else
			q4_k(to, from, g);
	}
}
