// SPDX-License-Identifier: MIT
/*
 * Packs weight matrices: what npu_pack_kernels() does for one tap, in blocks that suit
 * the caches, and for sources of [k][n] with transposed blocks by NEON on arm64.
 */
#include <string.h>

#include "npu_compute.h"
#include "npu_transpose.h"

#define RUN	NPU_TENSOR_COLS	/* channels of one kernel that lie together */
#define BLOCK	16u		/* bytes of a side of what is transposed at once */

struct matrix {
	uint8_t *dst;
	const uint8_t *src;
	size_t ld;		/* bytes from row to row of the source */
	size_t bpe;
	size_t n, k, kp;
	size_t group;		/* kernels */
};

/* Where the run begins that holds channel @c of kernel @n. */
static uint8_t *run_at(const struct matrix *m, size_t n, size_t c)
{
	size_t run = n / m->group * m->group * (m->kp / RUN) + c / RUN * m->group + n % m->group;

	return m->dst + run * RUN * m->bpe;
}

/* Reads the source in its order; a group's runs fit the L2 cache. */
static void pack_rows(const struct matrix *m)
{
	const size_t bytes = RUN * m->bpe, whole = m->k / RUN * RUN;

	for (size_t n = 0; n < m->n; n++) {
		const uint8_t *s = m->src + n * m->ld;
		uint8_t *d = run_at(m, n, 0);

		/* Sizes that the compiler knows become vector moves. */
		if (m->bpe == 1)
			for (size_t c = 0; c < whole; c += RUN, d += m->group * RUN)
				memcpy(d, s + c, RUN);
		else
			for (size_t c = 0; c < whole; c += RUN, d += m->group * RUN * 2)
				memcpy(d, s + c * 2, RUN * 2);
		if (whole < m->k) {
			memset(d, 0, bytes);
			memcpy(d, s + whole * m->bpe, (m->k - whole) * m->bpe);
		}
	}
}

/* Channels [c0, c1) of kernels [n0, n1), element by element. */
static void pack_elements(const struct matrix *m, size_t n0, size_t n1, size_t c0, size_t c1)
{
	for (size_t c = c0; c < c1; c++)
		for (size_t n = n0; n < n1; n++)
			memcpy(run_at(m, n, c) + c % RUN * m->bpe,
			       m->src + c * m->ld + n * m->bpe, m->bpe);
}

/* Square blocks of 16 bytes a side; what is left over at both edges goes by elements. */
static void pack_columns(const struct matrix *m)
{
	const size_t side = BLOCK / m->bpe;
	const size_t n_whole = m->n / side * side, k_whole = m->k / side * side;

	for (size_t c = 0; c < k_whole; c += side)
		for (size_t n = 0; n < n_whole; n += side)
			npu_transpose(run_at(m, n, c) + c % RUN * m->bpe, RUN * m->bpe,
				      m->src + c * m->ld + n * m->bpe, m->ld, m->bpe);
	pack_elements(m, n_whole, m->n, 0, k_whole);
	pack_elements(m, 0, m->n, k_whole, m->k);
}

void npu_pack_matrix(void *dst, const void *src, size_t ld, bool is_kn, size_t bpe, size_t group,
		     size_t n, size_t k, size_t n_pad, size_t k_pad)
{
	struct matrix m = {
		.dst = dst, .src = src, .ld = ld * bpe, .bpe = bpe, .n = n, .k = k,
		.kp = k_pad, .group = group,
	};

	/* Padding is less than a group of kernels and a run of channels. */
	if (n < n_pad || (is_kn && k < k_pad))
		memset(dst, 0, n_pad * k_pad * bpe);
	if (is_kn)
		pack_columns(&m);
	else
		pack_rows(&m);
}
