// SPDX-License-Identifier: MIT
/*
 * Conversion between row-major tensors and the layouts the NPU reads and
 * writes (mtx512, Mesa rocket and rknpu2_matmul_open agree on them).
 */
#include <string.h>

#include "npu_task.h"

#define ATOM		NPU_WIDE_ATOM	/* bytes of one position of one channel block */
#define CHAN_GROUP	32u	/* channels per weight group */

size_t npu_feature_offset(size_t bpe, size_t pos_pad, size_t pos, size_t c)
{
	size_t c2 = ATOM / bpe;

	return (c / c2 * pos_pad + pos) * ATOM + c % c2 * bpe;
}

void npu_pack_feature(void *dst, const void *src, size_t ld, size_t bpe,
		      size_t pos, size_t c, size_t pos_pad, size_t c_pad, int fill)
{
	size_t c2 = ATOM / bpe, row = ld * bpe;
	uint8_t *d = dst;

	for (size_t c0 = 0; c0 < c_pad; c0 += c2) {
		size_t have = c0 < c ? min_u64(c - c0, c2) * bpe : 0;
		const uint8_t *s = (const uint8_t *)src + c0 * bpe;

		for (size_t p = 0; p < pos_pad; p++, d += ATOM) {
			if (p < pos && have == ATOM) {
				memcpy(d, s + p * row, ATOM);
				continue;
			}
			memset(d, fill, ATOM);
			if (p < pos && have)
				memcpy(d, s + p * row, have);
		}
	}
}

/* A compiler that knows the size of atoms moves them by itself. */
static inline void unpack(size_t atom, void *dst, size_t ld, const void *src, size_t bpe,
			  size_t pos, size_t c, size_t pos_pad)
{
	size_t c2 = atom / bpe, row = ld * bpe;

	for (size_t c0 = 0; c0 < c; c0 += c2) {
		size_t have = min_u64(c - c0, c2) * bpe;
		const uint8_t *s = (const uint8_t *)src + c0 / c2 * pos_pad * atom;
		uint8_t *d = (uint8_t *)dst + c0 * bpe;

		if (have == atom) {
			for (size_t p = 0; p < pos; p++)
				memcpy(d + p * row, s + p * atom, atom);
			continue;
		}
		for (size_t p = 0; p < pos; p++)
			memcpy(d + p * row, s + p * atom, have);
	}
}

void npu_unpack_feature(void *dst, size_t ld, const void *src, size_t bpe,
			size_t pos, size_t c, size_t pos_pad)
{
	unpack(ATOM, dst, ld, src, bpe, pos, c, pos_pad);
}

void npu_unpack_narrow(void *dst, size_t ld, const void *src, size_t bpe,
		       size_t pos, size_t c, size_t pos_pad)
{
	unpack(NPU_NARROW_ATOM, dst, ld, src, bpe, pos, c, pos_pad);
}

static size_t kernel_group(size_t bpe)
{
	return bpe == 1 ? 32 : 16;
}

size_t npu_weight_offset(size_t bpe, size_t taps, size_t c_pad,
			 size_t n, size_t tap, size_t c)
{
	size_t kg = kernel_group(bpe);
	size_t el;

	el = n / kg * kg * taps * c_pad;
	el += c / CHAN_GROUP * kg * taps * CHAN_GROUP;
	el += (tap * kg + n % kg) * CHAN_GROUP + c % CHAN_GROUP;
	return el * bpe;
}

/* One run of CHAN_GROUP channels of one kernel at one tap. */
static void pack_run(uint8_t *d, const uint8_t *s, size_t sc, size_t bpe,
		     size_t have, int fill)
{
	if (have < CHAN_GROUP)
		memset(d, fill, CHAN_GROUP * bpe);
	if (sc == 1)
		memcpy(d, s, have * bpe);
	else if (bpe == 1)
		for (size_t i = 0; i < have; i++)
			d[i] = s[i * sc];
	else
		for (size_t i = 0; i < have; i++)
			memcpy(d + i * bpe, s + i * sc * bpe, bpe);
}

void npu_pack_weights(void *dst, const void *src, size_t sn, size_t st, size_t sc,
		      size_t bpe, size_t n, size_t taps, size_t c,
		      size_t n_pad, size_t c_pad, int fill)
{
	npu_pack_kernels(kernel_group(bpe), dst, src, sn, st, sc, bpe, n, taps, c, n_pad, c_pad, fill);
}

void npu_pack_kernels(size_t kg, void *dst, const void *src, size_t sn, size_t st, size_t sc,
		      size_t bpe, size_t n, size_t taps, size_t c,
		      size_t n_pad, size_t c_pad, int fill)
{
	size_t run = CHAN_GROUP * bpe;
	const uint8_t *s = src;
	uint8_t *d = dst;

	for (size_t n0 = 0; n0 < n_pad; n0 += kg)
		for (size_t c0 = 0; c0 < c_pad; c0 += CHAN_GROUP)
			for (size_t t = 0; t < taps; t++)
				for (size_t i = n0; i < n0 + kg; i++, d += run) {
					size_t have = 0;

					if (i < n && c0 < c)
						have = min_u64(c - c0, CHAN_GROUP);
					pack_run(d, s + (have ? i * sn + t * st + c0 * sc : 0) *
						 bpe, sc, bpe, have, fill);
				}
}
