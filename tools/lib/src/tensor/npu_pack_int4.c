// SPDX-License-Identifier: MIT
/*
 * Packs weights of INT4: groups of kernels, and in them runs of 32 channels, two in a byte.
 */
#include <string.h>

#include "npu_compute.h"

#define RUN		NPU_TENSOR_COLS
#define RUN_BYTES	(RUN / 2)

struct nibbles {
	uint8_t *dst;
	size_t group;		/* kernels */
	size_t k_pad;
};

/* Where the run begins that holds channel @c of kernel @n. */
static uint8_t *run_at(const struct nibbles *w, size_t n, size_t c)
{
	size_t run = n / w->group * w->group * (w->k_pad / RUN) + c / RUN * w->group + n % w->group;

	return w->dst + run * RUN_BYTES;
}

static void pack_rows(const struct nibbles *w, const uint8_t *src, size_t ld, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < k; c += RUN)
			memcpy(run_at(w, i, c), src + (i * ld + c) / 2, min_u64(RUN, k - c) / 2);
}

/* Nibble by nibble: the bytes of the source belong to two kernels. */
static void pack_columns(const struct nibbles *w, const uint8_t *src, size_t ld, size_t n, size_t k)
{
	for (size_t c = 0; c < k; c++)
		for (size_t i = 0; i < n; i++) {
			size_t at = c * ld + i;
			uint8_t v = src[at / 2] >> (at % 2 ? 4 : 0) & 0xf;

			run_at(w, i, c)[c % RUN / 2] |= (uint8_t)(v << (c % 2 ? 4 : 0));
		}
}

void npu_pack_int4(uint8_t *dst, const uint8_t *src, size_t ld, bool is_kn, size_t group, size_t n, size_t k,
		   size_t k_pad)
{
	const struct nibbles w = { dst, group, k_pad };

	memset(dst, 0, n * k_pad / 2);
	(is_kn ? pack_columns : pack_rows)(&w, src, ld, n, k);
}
