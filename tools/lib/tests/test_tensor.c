// SPDX-License-Identifier: MIT
/*
 * Tensors and weights: where elements lie, what views reach, what is refused.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "floats.h"
#include "tensor/npu_compute.h"
#include "sim.h"
#include "tap.h"

static unsigned int seed = 7;

static uint8_t rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint8_t)(seed >> 13);
}

static uint8_t *random_bytes(size_t n)
{
	uint8_t *p = malloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = rnd();
	return p;
}

static const enum npu_prec types[] = {
	NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_INT32, NPU_PREC_FP32,
};

/* ---- packing against the naive oracle ---- */

static void weights_case(struct npu_dev *dev, size_t bpe, uint32_t n, uint32_t k, bool kn,
			 size_t extra)
{
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = bpe == 1 ? NPU_PREC_INT8 : NPU_PREC_FP16, .n = n, .k = k, .is_kn = kn,
		.ld = extra ? (kn ? n : k) + extra : 0,
	};
	size_t ld = d.ld ? d.ld : kn ? n : k, rows = kn ? k : n;
	uint8_t *src = random_bytes(rows * ld * bpe);
	uint32_t group = npu_kernel_group(npu_dev_chip(dev), d.type);
	uint32_t np = (uint32_t)round_up(n, group), kp = (uint32_t)round_up(k, 32);
	const uint8_t *got;
	struct npu_weights *w;
	struct npu_stats s0 = { .size = sizeof(s0) }, s1 = { .size = sizeof(s1) };
	unsigned long bad = 0;
	int ret;

	npu_stats(dev, &s0);
	ret = npu_weights_new(dev, &d, src, &w);
	npu_stats(dev, &s1);
	if (!tap_ok(!ret, "weights of %zu bytes, %u x %u%s%s", bpe, n, k, kn ? " as [k][n]" : "",
		    extra ? ", strided" : "")) {
		free(src);
		return;
	}
	got = w->mem->bo->map;
	for (size_t i = 0; i < np; i++)
		for (size_t c = 0; c < kp; c++) {
			static const uint8_t zero[2];
			const uint8_t *e = src + (kn ? c * ld + i : i * ld + c) * bpe;
			size_t at = i / group * group * kp + c / 32 * group * 32 + i % group * 32 + c % 32;

			bad += memcmp(got + at * bpe, i < n && c < k ? e : zero, bpe) != 0;
		}
	npu_weights_free(w);
	tap_ok(!bad && s1.weights - s0.weights == (uint64_t)n * k * bpe && !sim_bos(),
	       "each element is in its place, padding is 0: %lu wrong", bad);
	free(src);
}

static void test_weights(struct npu_dev *dev, size_t most_bytes)
{
	static const uint32_t size[][2] = {
		{ 1, 1 }, { 32, 32 }, { 16, 64 }, { 33, 31 }, { 70, 100 }, { 64, 256 }, { 100, 48 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (size_t bpe = 1; bpe <= most_bytes; bpe++)
			for (int kn = 0; kn <= 1; kn++) {
				weights_case(dev, bpe, size[i][0], size[i][1], kn, 0);
				weights_case(dev, bpe, size[i][0], size[i][1], kn, 5);
			}
}

static void test_bias(struct npu_dev *dev)
{
	int32_t bias[40];
	int8_t src[40 * 8] = { 0 };
	struct npu_weights_desc d = {
		.size = sizeof(d),
		.type = NPU_PREC_INT8, .n = 40, .k = 8, .bias = bias, .rq = { .scale = 1 },
	};
	struct npu_weights *w;
	const uint8_t *p;

	for (int i = 0; i < 40; i++)
		bias[i] = i * 1000 - 7;
	npu_weights_new(dev, &d, src, &w);
	p = (const uint8_t *)w->mem->bo->map + w->bias_offset;
	tap_ok(w->has_bias && w->bias_offset % 4096 == 0 && !memcmp(p, bias, sizeof(bias)) &&
	       w->bias_offset + 64 * sizeof(int32_t) <= w->mem->bo->size,
	       "the bias is behind the weights, with room for whole fetches");
	npu_weights_free(w);
}

static void test_refused_weights(struct npu_dev *dev)
{
	static const int8_t src[64];
	const struct npu_weights_desc good = { .size = sizeof(good), .type = NPU_PREC_INT8, .n = 2, .k = 8 };
	struct npu_weights_desc d = good;
	struct npu_weights *w;

	d.type = NPU_PREC_INT32;
	tap_ok(npu_weights_new(dev, &d, src, &w) == -EINVAL, "int32 weights");
	d = good;
	d.n = 0;
	tap_ok(npu_weights_new(dev, &d, src, &w) == -EINVAL, "no rows");
	d = good;
	d.ld = 7;
	tap_ok(npu_weights_new(dev, &d, src, &w) == -EINVAL, "ld below K");
	d = good;
	d.n = d.k = 1 << 20;
	tap_ok(npu_weights_new(dev, &d, src, &w) == -E2BIG, "weights of 1 TiB");
	d = (struct npu_weights_desc){ .size = sizeof(d), .type = NPU_PREC_FP16, .n = INT32_MAX / 2, .k = INT32_MAX / 2 };
	tap_ok(npu_weights_new(dev, &d, src, &w) == -E2BIG, "and of 2 EiB");
	d = good;
	d.rq = (struct npu_requant){ .scale = 40000 };
	tap_ok(npu_weights_new(dev, &d, src, &w) == -ERANGE, "scale 40000");
	d = good;
	d.rq.scale = 0;
	d.bias = src;
	tap_ok(npu_weights_new(dev, &d, src, &w) == -EINVAL, "int8 with a bias and no requantisation");
	d.rq.scale = 1;
	tap_ok(!npu_weights_new(dev, &d, src, &w), "and with one");
	npu_weights_free(w);
	d = good;
	d.type = NPU_PREC_FP16;
	d.rq = (struct npu_requant){ .scale = 1 };
	tap_ok(npu_weights_new(dev, &d, src, &w) == -EINVAL && !sim_bos(), "requantised fp16");
}

/* ---- tensors ---- */

/* What lies at an element, by the layout's definition. */
static const uint8_t *element(const struct npu_tensor *t, uint32_t r, uint32_t c)
{
	size_t atom = npu_dev_chip(t->dev)->atom, bpe = npu_prec_bytes(t->shape.type), byte = c * bpe;

	return (const uint8_t *)t->mem->bo->map + t->offset + (byte / atom * t->pitch + r) * atom + byte % atom;
}

static void tensor_case(struct npu_dev *dev, enum npu_prec type, uint32_t rows, uint32_t cols,
			size_t extra)
{
	size_t bpe = npu_prec_bytes(type), ld = cols + extra;
	uint8_t *src = random_bytes(rows * ld * bpe), *dst = calloc(rows * ld, bpe);
	unsigned long bad = 0, changed = 0;
	struct npu_stats s0 = { .size = sizeof(s0) }, s1 = { .size = sizeof(s1) };
	struct npu_tensor *t;

	npu_stats(dev, &s0);
	npu_tensor_new(dev, type, rows, cols, &t);
	npu_tensor_write(t, src, extra ? ld : 0);
	npu_tensor_read(t, dst, extra ? ld : 0);
	npu_stats(dev, &s1);
	for (uint32_t r = 0; r < rows; r++) {
		for (uint32_t c = 0; c < cols; c++) {
			const uint8_t *e = src + (r * ld + c) * bpe;

			bad += memcmp(element(t, r, c), e, bpe) != 0;
			bad += memcmp(dst + (r * ld + c) * bpe, e, bpe) != 0;
		}
		for (size_t i = cols * bpe; i < ld * bpe; i++)
			changed += dst[r * ld * bpe + i];
	}
	npu_tensor_free(t);
	tap_ok(!bad && !changed && !sim_bos() && s1.packed - s0.packed == rows * cols * bpe &&
	       s1.unpacked - s0.unpacked == rows * cols * bpe,
	       "type %d, %u x %u%s: %lu wrong, %lu changed between rows", type, rows, cols,
	       extra ? ", strided" : "", bad, changed);
	free(src);
	free(dst);
}

static void test_tensors(struct npu_dev *dev)
{
	static const uint32_t size[][2] = { { 1, 1 }, { 1, 100 }, { 4, 32 }, { 5, 33 }, { 18, 70 } };

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
			tensor_case(dev, types[t], size[i][0], size[i][1], 0);
			tensor_case(dev, types[t], size[i][0], size[i][1], 3);
		}
}

/* A view of a tensor with known elements, compared with the same part of the source. */
static void view_case(struct npu_dev *dev, enum npu_prec type, const uint32_t v[4])
{
	enum { ROWS = 14, COLS = 135 };
	size_t bpe = npu_prec_bytes(type), ld = COLS * bpe;
	uint8_t *src = random_bytes(ROWS * ld), *got = calloc(ROWS, ld);
	struct npu_tensor *t, *view;
	unsigned long bad = 0;
	int ret;

	npu_tensor_new(dev, type, ROWS, COLS, &t);
	npu_tensor_write(t, src, 0);
	ret = npu_tensor_view(t, v[0], v[1], v[2], v[3], &view);
	if (!tap_ok(!ret, "view of type %d, rows %u+%u, columns %u+%u", type, v[0], v[1], v[2],
		    v[3]))
		goto out;
	npu_tensor_read(view, got, 0);
	for (uint32_t r = 0; r < v[1]; r++)
		bad += memcmp(got + r * v[3] * bpe, src + (v[0] + r) * ld + v[2] * bpe,
			      v[3] * bpe) != 0;
	/* What is written through it changes nothing else. */
	for (size_t i = 0; i < v[1] * v[3] * bpe; i++)
		got[i] ^= 0x5a;
	npu_tensor_write(view, got, 0);
	for (uint32_t r = 0; r < v[1]; r++)
		for (size_t i = 0; i < v[3] * bpe; i++)
			src[(v[0] + r) * ld + v[2] * bpe + i] ^= 0x5a;
	npu_tensor_free(view);
	npu_tensor_read(t, got, 0);
	tap_ok(!bad && !memcmp(got, src, ROWS * ld), "reads and writes its part: %lu rows wrong", bad);
out:
	npu_tensor_free(t);
	free(src);
	free(got);
}

static void test_views(struct npu_dev *dev)
{
	static const uint32_t good[][4] = {
		{ 0, 14, 0, 135 }, { 5, 1, 0, 135 }, { 4, 8, 32, 64 }, { 8, 6, 96, 39 },
		{ 13, 1, 128, 7 }, { 0, 4, 64, 32 }, { 12, 2, 0, 96 },
	};
	static const uint32_t bad[][4] = {
		{ 0, 0, 0, 135 }, { 0, 14, 0, 0 }, { 0, 15, 0, 135 }, { 14, 1, 0, 135 },
		{ 2, 4, 0, 32 }, { 0, 6, 0, 32 }, { 0, 4, 16, 32 }, { 0, 4, 0, 33 },
		{ 0, 4, 128, 8 }, { 4, UINT32_MAX, 0, 32 }, { 0, 4, 32, UINT32_MAX },
	};
	struct npu_tensor *t, *v;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		for (size_t k = 0; k < ARRAY_SIZE(types); k++)
			view_case(dev, types[k], good[i]);
	npu_tensor_new(dev, NPU_PREC_INT8, 14, 135, &t);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		tap_ok(npu_tensor_view(t, bad[i][0], bad[i][1], bad[i][2], bad[i][3], &v) == -EINVAL,
		       "rows %u+%u, columns %u+%u are refused", bad[i][0], bad[i][1], bad[i][2],
		       bad[i][3]);
	npu_tensor_view(t, 4, 4, 32, 32, &v);
	npu_tensor_free(t);
	tap_ok(sim_bos() == 1, "a view keeps the memory");
	npu_tensor_free(v);
	tap_ok(!sim_bos(), "and frees it");
}

static void test_overlap(struct npu_dev *dev)
{
	struct npu_tensor *t, *a, *b, *c, *d;

	npu_tensor_new(dev, NPU_PREC_FP16, 12, 96, &t);
	npu_tensor_view(t, 0, 4, 0, 96, &a);
	npu_tensor_view(t, 4, 8, 0, 32, &b);
	npu_tensor_view(t, 4, 8, 32, 64, &c);
	npu_tensor_view(t, 5, 1, 0, 96, &d);
	tap_ok(npu_tensor_overlap(t, a) && npu_tensor_overlap(b, t) && npu_tensor_overlap(d, b) &&
	       npu_tensor_overlap(d, c), "parts of a tensor overlap it, and a row its columns");
	tap_ok(!npu_tensor_overlap(a, b) && !npu_tensor_overlap(b, c) && !npu_tensor_overlap(a, d),
	       "other rows and other columns do not");
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(c);
	npu_tensor_free(d);
	npu_tensor_free(t);
}

static void test_floats(struct npu_dev *dev)
{
	static const float in[] = { 0, 1, -1, 0.6f, 0.3f, 200, -200, 63.75f, NAN, -0.25f };
	static const float int8[] = { 0, 1, -1, 0.5f, 0.5f, 63.5f, -64, 63.5f, 0, 0 };
	enum { N = ARRAY_SIZE(in) };
	struct npu_tensor *t;
	float out[N];
	bool ok;

	npu_tensor_new(dev, NPU_PREC_INT8, 1, N, &t);
	ok = !npu_tensor_write_f32(t, in, 0, 0.5f) && !npu_tensor_read_f32(t, out, 0, 0.5f);
	for (int i = 0; i < N; i++)
		ok &= out[i] == int8[i];
	npu_tensor_free(t);
	tap_ok(ok, "int8: rounded to even, saturated");
	npu_tensor_new(dev, NPU_PREC_FP16, 1, N, &t);
	ok = !npu_tensor_write_f32(t, in, 0, 1) && !npu_tensor_read_f32(t, out, 0, 1);
	for (int i = 0; i < N; i++)
		ok &= isnan(in[i]) ? isnan(out[i]) :
		      out[i] == npu_f16_to_f32(npu_f32_to_f16(in[i]));
	tap_ok(ok, "fp16: rounded to nearest");
	tap_ok(npu_tensor_write_f32(t, in, 0, 0) == -EINVAL &&
	       npu_tensor_write_f32(t, in, 0, NAN) == -EINVAL &&
	       npu_tensor_read_f32(t, out, 0, INFINITY) == -EINVAL &&
	       npu_tensor_read_f32(t, out, N - 1, 1) == -EINVAL, "bad scales and strides");
	npu_tensor_free(t);
}

/* Of any type, a scale for each column, and sums of two products. */
static void test_scaled(struct npu_dev *dev)
{
	static const enum npu_prec kinds[] = { NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_FP32 };
	enum { ROWS = 5, COLS = 37, LD = 40 };
	float in[ROWS * COLS], scale[COLS], out[ROWS * LD];

	for (int i = 0; i < ROWS * COLS; i++)
		in[i] = (float)(i * 37 % 201 - 100);
	for (int i = 0; i < COLS; i++)
		scale[i] = 0.25f * (float)(i - 9);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct npu_tensor *t;
		int bad = 0;

		npu_tensor_new(dev, kinds[k], ROWS, COLS, &t);
		npu_tensor_write_f32(t, in, 0, 1);
		for (int i = 0; i < ROWS * LD; i++)
			out[i] = 77;
		bad += npu_tensor_read_scaled(t, out, LD, scale, false) ||
		       npu_tensor_read_scaled(t, out, LD, scale, true);
		for (int i = 0; i < ROWS * LD; i++)
			bad += out[i] != (i % LD < COLS ? 2 * in[i / LD * COLS + i % LD] * scale[i % LD] : 77);
		tap_ok(!bad && npu_tensor_read_scaled(t, out, COLS - 1, scale, false) == -EINVAL,
		       "a scale for each column, type %d: %d wrong", kinds[k], bad);
		npu_tensor_free(t);
	}
}

static void test_any_floats(struct npu_dev *dev)
{
	static const enum npu_prec kinds[] = { NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_BF16 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		long a = floats_wrong(dev, kinds[i], 1), b = floats_wrong(dev, kinds[i], 0.3f);

		tap_ok(!a && !b, "type %d: floats of any kind: %ld and %ld wrong", kinds[i], a, b);
	}
}

/* Memory that held something else: what is behind the last column, where a row ends within an atom. */
static void test_rest(struct npu_dev *dev, enum npu_prec type, bool view)
{
	uint32_t bpe = (uint32_t)npu_prec_bytes(type), bytes = 20 * bpe, end;
	struct npu_tensor *t = NULL, *whole = NULL;
	uint8_t zeros[4 * 20 * 4] = { 0 };
	float v[4 * 20] = { 0 };
	unsigned int bad[2] = { 0 }, beside = 0;

	npu_tensor_new(dev, type, 4, view ? 52 : 20, &whole);
	npu_tensor_view(whole, 0, 4, view ? 32 : 0, 20, &t);
	end = (uint32_t)round_up(bytes, npu_tensor_atom_bytes(t));
	for (int f32 = 0; f32 < 2; f32++) {
		memset(whole->mem->bo->map, 0x7c, npu_tensor_bytes(type, 4, view ? 52 : 20));
		if (f32)
			npu_tensor_write_f32(t, v, 0, 1);
		else
			npu_tensor_write(t, zeros, 0);
		for (uint32_t r = 0; r < 4; r++) {
			for (uint32_t i = 0; i < end; i++)
				bad[f32] += !!npu_tensor_atom(t, i / npu_tensor_atom_bytes(t), r)[i % npu_tensor_atom_bytes(t)];
			beside += view && *npu_tensor_atom(whole, 0, r) != 0x7c;
		}
	}
	tap_ok(!bad[0] && !bad[1] && !beside,
	       "20 columns of type %d%s in memory that was used: %u bytes not cleared, %u of floats; %u beside", type,
	       view ? " in a view" : "", bad[0], bad[1], beside);
	npu_tensor_free(t);
	npu_tensor_free(whole);
}

/* The same, and a product with ones: 40 everywhere. */
static void test_used(struct npu_dev *dev, bool f32)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = 32, .k = 20 };
	struct npu_tensor *x = NULL, *y = NULL;
	struct npu_weights *w = NULL;
	struct npu_rec *rec = NULL;
	uint16_t ones[32 * 20], h[4 * 20];
	float v[4 * 20], out[4 * 32] = { 0 };
	unsigned int bad = 0;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(ones); i++)
		ones[i] = npu_f32_to_f16(1);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		v[i] = 2;
		h[i] = npu_f32_to_f16(2);
	}
	npu_tensor_new(dev, NPU_PREC_FP16, 4, 20, &x);
	npu_tensor_new(dev, NPU_PREC_FP16, 4, 32, &y);
	npu_weights_new(dev, &d, ones, &w);
	npu_rec_new(dev, NULL, &rec);
	for (uint32_t s = 0; s < 3; s++)
		for (uint32_t i = 0; i < 4 * 8; i++)
			((uint16_t *)(void *)npu_tensor_atom(x, s, 0))[i] = 0x7c00;
	ret = f32 ? npu_tensor_write_f32(x, v, 0, 1) : npu_tensor_write(x, h, 0);
	ret = ret ? ret : npu_rec_matmul(rec, x, w, y, NULL);
	ret = ret ? ret : npu_rec_end(rec);
	ret = ret ? ret : npu_rec_run(rec);
	ret = ret ? ret : npu_rec_wait(rec, -1);
	ret = ret ? ret : npu_tensor_read_f32(y, out, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		bad += out[i] != 40;
	tap_ok(!ret && !bad, "a product of %s where infinities were: error %d, %u wrong, the first is %g",
	       f32 ? "floats" : "halves", ret, bad, (double)out[0]);
	npu_rec_free(rec);
	npu_weights_free(w);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

static void test_rests(struct npu_dev *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		for (int view = 0; view < 2; view++)
			if (types[i] != NPU_PREC_INT32)
				test_rest(dev, types[i], view);
}

static void test_refused(struct npu_dev *dev)
{
	static const uint32_t size[][2] = {
		{ 0, 1 }, { 1, 0 }, { 65536, 65536 }, { UINT32_MAX, 1 }, { 1, UINT32_MAX },
	};
	struct npu_tensor *t;
	int8_t e[32];

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		tap_ok(npu_tensor_new(dev, NPU_PREC_INT8, size[i][0], size[i][1], &t) == -EINVAL,
		       "%u x %u", size[i][0], size[i][1]);
	tap_ok(npu_tensor_new(dev, (enum npu_prec)7, 4, 4, &t) == -EINVAL &&
	       !npu_tensor_bytes((enum npu_prec)9, 4, 4), "unknown types");
	tap_ok(npu_tensor_bytes(NPU_PREC_FP16, 5, 33) == 8 * 64 * 2 &&
	       npu_tensor_bytes(NPU_PREC_INT8, 1, 4096) == 4096, "bytes in the NPU's layout");
	npu_tensor_new(dev, NPU_PREC_INT8, 4, 8, &t);
	tap_ok(npu_tensor_write(t, e, 7) == -EINVAL && npu_tensor_read(t, e, 7) == -EINVAL,
	       "strides below the columns");
	npu_tensor_free(t);
	tap_ok(npu_tensor_import(dev, 0, 8, NPU_PREC_INT8, 1, 32, &t) == -EINVAL &&
	       npu_tensor_import(dev, 0, 0, NPU_PREC_INT8, 1, 32, &t) == -EOPNOTSUPP && !sim_bos(),
	       "imports at odd offsets, or on a driver without");
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	test_weights(dev, 2);
	test_bias(dev);
	test_refused_weights(dev);
	test_tensors(dev);
	test_views(dev);
	test_overlap(dev);
	test_floats(dev);
	test_scaled(dev);
	test_any_floats(dev);
	test_rests(dev);
	test_used(dev, false);
	test_used(dev, true);
	test_refused(dev);
	npu_close(dev);
	/* Atoms of 8 bytes, and other groups of kernels. */
	sim_soc(3568);
	npu_open(NULL, &dev);
	test_weights(dev, 1);
	test_tensors(dev);
	test_views(dev);
	test_overlap(dev);
	test_floats(dev);
	test_scaled(dev);
	test_any_floats(dev);
	test_rests(dev);
	npu_close(dev);
	return tap_done();
}
