// SPDX-License-Identifier: MIT
/*
 * Unit tests of layout conversion against closed forms written down apart from
 * the code, and round trips.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prog/npu_task.h"
#include "tap.h"

static void fill(uint8_t *p, size_t n, unsigned int seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345;
		p[i] = (uint8_t)(seed >> 16);
	}
}

/* Published element index of row m, column k in the feature layout. */
static size_t feature_index(size_t bpe, size_t M, size_t m, size_t k)
{
	if (bpe == 1)
		return k / 16 * M * 16 + m * 16 + k % 16;
	if (bpe == 2)
		return k / 8 * M * 8 + m * 8 + k % 8;
	return k / 4 * M * 4 + m * 4 + k % 4;
}

static void test_feature(size_t bpe, size_t pos, size_t c, size_t pos_pad, size_t c_pad,
			 size_t ld)
{
	size_t src_n = pos * ld * bpe, dst_n = pos_pad * c_pad * bpe;
	uint8_t *src = malloc(src_n), *dst = malloc(dst_n), *back = malloc(src_n);
	bool ok = true, pad = true, trip = true;

	fill(src, src_n, (unsigned int)(pos * 31 + c));
	memset(dst, 0x11, dst_n);
	npu_pack_feature(dst, src, ld, bpe, pos, c, pos_pad, c_pad, 0x5a);
	for (size_t p = 0; p < pos_pad; p++)
		for (size_t k = 0; k < c_pad; k++) {
			uint8_t *e = dst + feature_index(bpe, pos_pad, p, k) * bpe;

			ok &= npu_feature_offset(bpe, pos_pad, p, k) == (size_t)(e - dst);
			if (p < pos && k < c)
				ok &= !memcmp(e, src + (p * ld + k) * bpe, bpe);
			else
				pad &= e[0] == 0x5a && e[bpe - 1] == 0x5a;
		}
	memcpy(back, src, src_n);
	for (size_t p = 0; p < pos; p++)
		memset(back + p * ld * bpe, 0, c * bpe);
	npu_unpack_feature(back, ld, dst, bpe, pos, c, pos_pad);
	trip = !memcmp(back, src, src_n);
	tap_ok(ok && pad && trip, "feature layout %zux%zu in %zux%zu, %zu byte(s), ld %zu",
	       pos, c, pos_pad, c_pad, bpe, ld);
	free(src);
	free(dst);
	free(back);
}

/* Published index for 1x1 kernels of K channels. */
static size_t weight_index(size_t bpe, size_t K, size_t n, size_t c)
{
	if (bpe == 1)
		return n / 32 * 32 * K + c / 32 * 1024 + n % 32 * 32 + c % 32;
	return n / 16 * 16 * K + c / 32 * 512 + n % 16 * 32 + c % 32;
}

static void test_weights(size_t bpe, size_t n, size_t taps, size_t c, size_t n_pad, size_t c_pad,
			 bool transposed)
{
	size_t count = n_pad * taps * c_pad, src_n = n * taps * c * bpe;
	size_t sn = transposed ? 1 : taps * c, sc = transposed ? n * taps : 1;
	size_t st = transposed ? n : c;
	uint8_t *src = malloc(src_n), *dst = malloc(count * bpe), *hit = calloc(count, 1);
	bool ok = true, once = true;

	fill(src, src_n, (unsigned int)(n * 7 + c));
	memset(dst, 0x11, count * bpe);
	npu_pack_weights(dst, src, sn, st, sc, bpe, n, taps, c, n_pad, c_pad, 0x5a);
	for (size_t i = 0; i < n_pad; i++)
		for (size_t t = 0; t < taps; t++)
			for (size_t k = 0; k < c_pad; k++) {
				size_t off = npu_weight_offset(bpe, taps, c_pad, i, t, k);

				once &= off / bpe < count && !hit[off / bpe]++;
				if (taps == 1)
					ok &= off == weight_index(bpe, c_pad, i, k) * bpe;
				if (i < n && k < c)
					ok &= !memcmp(dst + off, src + (i * sn + t * st + k * sc) *
						      bpe, bpe);
				else
					ok &= dst[off] == 0x5a && dst[off + bpe - 1] == 0x5a;
			}
	tap_ok(ok && once, "weight layout %zux%zux%zu in %zux%zu, %zu byte(s)%s", n, taps, c,
	       n_pad, c_pad, bpe, transposed ? ", transposed" : "");
	free(src);
	free(dst);
	free(hit);
}

/* Order of a kernel with taps: group, channel group, tap, kernel, channel. */
static void test_tap_order(void)
{
	size_t next = 0;
	bool ok = true;

	for (size_t kg = 0; kg < 2; kg++)
		for (size_t cg = 0; cg < 2; cg++)
			for (size_t t = 0; t < 9; t++)
				for (size_t k = 0; k < 32; k++)
					for (size_t c = 0; c < 32; c++)
						ok &= npu_weight_offset(1, 9, 64, kg * 32 + k, t,
									cg * 32 + c) == next++;
	tap_ok(ok, "3x3 int8 weights are consumed in order");
}

static void test_requant(void)
{
	static const struct { int64_t acc; uint16_t s; uint8_t sh; int32_t zp; int want; } c[] = {
		{ 0, 1, 0, 0, 0 }, { 127, 1, 0, 0, 127 }, { 128, 1, 0, 0, 127 },
		{ -129, 1, 0, 0, -128 }, { 1, 1, 1, 0, 0 }, { 3, 1, 1, 0, 2 },
		{ 5, 1, 1, 0, 2 }, { -1, 1, 1, 0, 0 }, { -3, 1, 1, 0, -2 },
		{ -5, 1, 1, 0, -2 }, { 7, 1, 2, 0, 2 }, { 6, 1, 2, 0, 2 },
		{ -6, 1, 2, 0, -2 }, { -7, 1, 2, 0, -2 }, { 10, 1, 2, -5, -2 },
		{ 5, 1, 1, 1, 4 }, { 7, 1, 1, 1, 4 }, { -5, 1, 1, -1, -4 }, { 1, 1, 0, -7, -6 },
		{ 1000, 16384, 20, 3, 19 }, { -1000, 16384, 20, 3, -13 },
		{ INT32_MAX, 32767, 47, 0, 0 }, { INT32_MIN, 32767, 39, 0, -128 },
		{ INT32_MIN, 32767, 40, 0, -64 },
	};
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct npu_requant rq = { c[i].s, c[i].sh, c[i].zp };
		int got = npu_requant_apply(&rq, c[i].acc);

		if (got != c[i].want)
			printf("# case %zu: %d, want %d\n", i, got, c[i].want);
		ok &= got == c[i].want;
	}
	tap_ok(ok, "requantisation: ties to even with the zero point, then saturation");
}

static void test_requant_factor(void)
{
	struct npu_requant rq;
	bool ok = true, range = true;

	for (double f = 0x1p-32; f < 16383; f *= 1.00137) {
		double got;

		ok &= !npu_requant_from_double(f, 0, &rq) && !npu_requant_check(&rq) &&
		      rq.scale >= 0x4000;
		got = (double)rq.scale;
		for (int i = 0; i < rq.shift; i++)
			got /= 2;
		ok &= got >= f * (1 - 0x1p-15) && got <= f * (1 + 0x1p-15);
	}
	range &= npu_requant_from_double(0, 0, &rq) == -ERANGE;
	range &= npu_requant_from_double(-1, 0, &rq) == -ERANGE;
	range &= npu_requant_from_double(0.0 / 0.0, 0, &rq) == -ERANGE;
	range &= npu_requant_from_double(20000, 0, &rq) == -ERANGE;
	range &= npu_requant_from_double(1, 128, &rq) == -ERANGE;
	tap_ok(ok, "factors from 2^-32 to 16383 are met to 2^-15");
	tap_ok(range, "other factors are refused");
}

int main(void)
{
	test_feature(1, 4, 64, 4, 64, 64);
	test_feature(1, 3, 33, 4, 64, 33);
	test_feature(1, 1, 1, 1, 32, 1);
	test_feature(2, 5, 100, 8, 128, 111);
	test_feature(2, 16, 96, 16, 96, 96);
	test_feature(4, 7, 33, 8, 48, 40);
	test_feature(4, 12, 64, 12, 64, 64);
	test_weights(1, 32, 1, 64, 32, 64, false);
	test_weights(1, 33, 1, 100, 64, 128, false);
	test_weights(2, 16, 1, 32, 16, 32, false);
	test_weights(2, 33, 1, 100, 48, 128, false);
	test_weights(1, 40, 9, 20, 64, 32, false);
	test_weights(1, 33, 1, 100, 64, 128, true);
	test_weights(2, 33, 1, 100, 48, 128, true);
	test_tap_order();
	test_requant();
	test_requant_factor();
	return tap_done();
}
