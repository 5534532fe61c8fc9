// SPDX-License-Identifier: MIT
/*
 * Products of INT4 against integers, exact, those of halves with INT4 weights on an RK3576 against floats, and
 * what there is no mode for.
 */
#include "nn.h"

static int nibble(const uint8_t *p, size_t i)
{
	int v = p[i / 2] >> (i % 2 ? 4 : 0) & 0xf;

	return v < 8 ? v : v - 16;
}

static uint32_t rnd(uint32_t n)
{
	nn_seed = nn_seed * 1664525u + 1013904223u;
	return (nn_seed >> 8) % n;
}

/* Of any value, or of the largest magnitudes, whose sums saturate. */
static uint8_t *nibbles(size_t n, bool large)
{
	uint8_t *p = malloc(n / 2 + 1);

	for (size_t i = 0; i < n / 2 + 1; i++)
		p[i] = large ? 0x88 : (uint8_t)rnd(256);
	return p;
}

struct shape {
	uint32_t m, n, k, cores, max_m, max_n;
	bool is_kn, large;
};

static int16_t want(const struct shape *s, const uint8_t *x, const uint8_t *w, uint32_t m, uint32_t n)
{
	int32_t sum = 0;

	for (uint32_t k = 0; k < s->k; k++)
		sum += nibble(x, (size_t)m * s->k + k) *
		       nibble(w, s->is_kn ? (size_t)k * s->n + n : (size_t)n * s->k + k);
	return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

static int run(struct npu_dev *dev, const struct shape *s, const uint8_t *px, const uint8_t *pw, int16_t *y)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT4, .n = s->n, .k = s->k, .is_kn = s->is_kn };
	struct npu_rec_opts o = { .size = sizeof(o), .cores = s->cores };
	struct npu_rec_matmul_opts mo = { .size = sizeof(mo), .max_m = s->max_m, .max_n = s->max_n };
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_INT4, s->m, s->k, NULL);
	struct npu_tensor *t = nn_tensor(dev, NPU_PREC_INT16, s->m, s->n, NULL);
	uint8_t *back = malloc((size_t)s->m * s->k / 2);
	struct npu_weights *w = NULL;
	struct npu_rec *rec = NULL;
	int ret = npu_weights_new(dev, &d, pw, &w);

	ret = ret ? ret : npu_tensor_write(x, px, 0);
	ret = ret ? ret : npu_tensor_read(x, back, 0);
	ret = ret ? ret : memcmp(px, back, (size_t)s->m * s->k / 2) ? -1 : 0;
	ret = ret ? ret : npu_rec_new(dev, &o, &rec);
	ret = ret ? ret : nn_run(rec, npu_rec_matmul(rec, x, w, t, &mo));
	ret = ret ? ret : npu_tensor_read(t, y, 0);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(t);
	npu_weights_free(w);
	free(back);
	return ret;
}

static void test_product(struct npu_dev *dev, const struct shape *s)
{
	uint8_t *x = nibbles((size_t)s->m * s->k, s->large), *w = nibbles((size_t)s->n * s->k, s->large);
	int16_t *y = calloc((size_t)s->m * s->n, sizeof(*y));
	int ret = run(dev, s, x, w, y);
	uint32_t bad = 0;

	for (uint32_t m = 0; m < s->m; m++)
		for (uint32_t n = 0; n < s->n; n++)
			bad += y[(size_t)m * s->n + n] != want(s, x, w, m, n);
	tap_ok(!ret && !bad, "%u x %u x %u%s%s, %u cores: error %d, %u wrong", s->m, s->n, s->k,
	       s->is_kn ? ", [k][n]" : "", s->large ? ", saturated" : "", s->cores, ret, bad);
	free(x);
	free(w);
	free(y);
}

static void test_random(struct npu_dev *dev)
{
	for (int i = 0; i < 40; i++) {
		struct shape s = {
			.m = 1 + rnd(50), .n = 64 * (1 + rnd(5)), .k = 2 * (1 + rnd(300)), .cores = 1 + rnd(3),
			.max_m = rnd(2) * 8, .is_kn = rnd(2),
		};

		test_product(dev, &s);
	}
}

static void test_refused(struct npu_dev *dev)
{
	static const struct npu_weights_desc bad[] = {
		{ .type = NPU_PREC_INT4, .n = 96, .k = 64 }, { .type = NPU_PREC_INT4, .n = 64, .k = 63 },
		{ .type = NPU_PREC_INT4, .n = 64, .k = 64, .ld = 65 }, { .type = NPU_PREC_INT4, .n = 64, .k = 4098 },
		{ .type = NPU_PREC_INT4, .n = 64, .k = 64, .rq = { .scale = 1 } },
		{ .type = NPU_PREC_INT4, .n = 64, .k = 64, .bias = "" }, { .type = NPU_PREC_INT16, .n = 64, .k = 64 },
		{ .type = NPU_PREC_INT4, .n = 64, .k = 64, .part = 48 },
		{ .type = NPU_PREC_INT8, .n = 64, .k = 64, .part = 4128 },
		{ .type = NPU_PREC_INT8, .n = 64, .k = 64, .part = 32, .rq = { .scale = 1 } },
	};
	struct npu_weights_desc parts = { .size = sizeof(parts), .type = NPU_PREC_INT4, .n = 64, .k = 64, .part = 32 };
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT4, .n = 64, .k = 64 };
	struct npu_rec_matmul_opts relu = { .size = sizeof(relu), .act = NPU_ACT_RELU };
	struct npu_tensor *x[3], *y[3], *odd = NULL;
	static uint8_t src[64 * 4100];
	struct npu_weights *w = NULL, *pw = NULL;
	struct npu_rec *rec;
	float f[4 * 64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct npu_weights_desc b = bad[i];

		b.size = sizeof(b);
		tap_ok(npu_weights_new(dev, &b, src, &w) == -EINVAL, "weights of description %zu", i);
	}
	tap_ok(npu_tensor_new(dev, NPU_PREC_INT4, 4, 63, &odd) == -EINVAL, "an odd number of columns");
	npu_weights_new(dev, &d, src, &w);
	x[0] = nn_tensor(dev, NPU_PREC_INT4, 4, 64, NULL);
	x[1] = nn_tensor(dev, NPU_PREC_INT8, 4, 64, NULL);
	x[2] = nn_tensor(dev, NPU_PREC_INT4, 4, 64, NULL);
	y[0] = nn_tensor(dev, NPU_PREC_INT32, 4, 64, NULL);
	y[1] = nn_tensor(dev, NPU_PREC_INT16, 4, 64, NULL);
	y[2] = nn_tensor(dev, NPU_PREC_INT16, 4, 64, NULL);
	for (int i = 0; i < 3; i++) {
		rec = nn_rec(dev);
		tap_ok(npu_rec_matmul(rec, x[i], w, y[i], i == 2 ? &relu : NULL) == -EINVAL, "%s",
		       npu_rec_message(rec));
		npu_rec_free(rec);
	}
	tap_ok(npu_weights_part(w, 0, &pw) == -EINVAL && !npu_weights_new(dev, &parts, src, &pw),
	       "weights without parts");
	rec = nn_rec(dev);
	tap_ok(npu_rec_matmul(rec, x[0], pw, y[1], NULL) == -EINVAL, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_weights_free(pw);
	tap_ok(npu_tensor_read_f32(x[0], f, 0, 1) == -EINVAL && npu_tensor_write_f32(x[0], f, 0, 1) == -EINVAL &&
	       npu_tensor_write_f32(y[1], f, 0, 1) == -EINVAL, "no floats from and to INT4, none to INT16");
	tap_ok(npu_tensor_write(x[0], src, 65) == -EINVAL && npu_tensor_read(x[0], src, 65) == -EINVAL,
	       "rows that begin inside of a byte");
	for (int i = 0; i < 3; i++) {
		npu_tensor_free(x[i]);
		npu_tensor_free(y[i]);
	}
	npu_weights_free(w);
}

/* ---- INT4 weights of halves ---- */

/* Groups of columns have scales of their own; they are parts of the same weights, or weights each. */
struct mixed {
	uint32_t m, n, k, groups, max_m, max_n, row;
	bool is_kn, parts;
};

static int nibble_of(const struct mixed *s, const uint8_t *w, uint32_t group, uint32_t n, uint32_t k)
{
	w += (size_t)group * s->n * s->k / 2;
	return nibble(w, s->is_kn ? (size_t)k * s->n + n : (size_t)n * s->k + k);
}

static int group_weights(struct npu_dev *dev, const struct mixed *s, uint32_t group, const uint8_t *w,
			 struct npu_weights **out)
{
	struct npu_weights_desc d = {
		.size = sizeof(d), .type = NPU_PREC_INT4, .n = s->n, .k = s->k, .is_kn = s->is_kn,
	};
	struct npu_weights *all = NULL;
	int ret;

	if (!s->parts)
		return npu_weights_new(dev, &d, w + (size_t)group * s->n * s->k / 2, out);
	d.k *= s->groups;
	d.part = s->k;
	ret = npu_weights_new(dev, &d, w, &all);
	ret = ret ? ret : npu_weights_part(all, group, out);
	/* A part has the memory, too. */
	npu_weights_free(all);
	return ret;
}

/* Rows of larger tensors. */
static int mixed_group(struct npu_dev *dev, const struct mixed *s, struct npu_tensor *all, uint32_t group,
		       const uint8_t *w, const float *scale, float *y)
{
	struct npu_rec_matmul_opts mo = { .size = sizeof(mo), .max_m = s->max_m, .max_n = s->max_n };
	struct npu_tensor *to = nn_tensor(dev, NPU_PREC_FP32, s->m + s->row, s->n, NULL), *x = NULL, *t = NULL;
	struct npu_rec *rec = nn_rec(dev);
	struct npu_weights *tw = NULL;
	int ret = group_weights(dev, s, group, w, &tw);

	ret = ret ? ret : npu_tensor_view(all, s->row, s->m, group * s->k, s->k, &x);
	ret = ret ? ret : npu_tensor_view(to, s->row, s->m, 0, s->n, &t);
	ret = ret ? ret : nn_run(rec, npu_rec_matmul(rec, x, tw, t, &mo));
	ret = ret ? ret : npu_tensor_read_scaled(t, y, 0, scale + (size_t)group * s->n, group);
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(t);
	npu_tensor_free(to);
	npu_weights_free(tw);
	return ret;
}

/* Within what npu_rec_matmul() says, and the rounding of the scales. */
static uint32_t mixed_wrong(const struct mixed *s, const float *x, const uint8_t *w, const float *scale,
			    const float *y)
{
	uint32_t bad = 0, ld = s->groups * s->k;
	double bound = (s->k + 2 * s->groups) * 0x1p-24;

	for (uint32_t m = 0; m < s->m; m++)
		for (uint32_t n = 0; n < s->n; n++) {
			double sum = 0, most = 0;

			for (uint32_t i = 0; i < ld; i++) {
				double v = (double)x[(size_t)(m + s->row) * ld + i] * scale[i / s->k * s->n + n];

				v *= nibble_of(s, w, i / s->k, n, i % s->k);
				sum += v;
				most += fabs(v);
			}
			bad += !(fabs((double)y[(size_t)m * s->n + n] - sum) <= bound * most);
		}
	return bad;
}

static void test_mixed(struct npu_dev *dev, const struct mixed *s)
{
	size_t nx = (size_t)(s->m + s->row) * s->k * s->groups;
	float *x = nn_floats(nx, 30), *y = calloc((size_t)s->m * s->n, sizeof(*y));
	float *scale = nn_floats((size_t)s->groups * s->n, 0.1);
	uint8_t *w = nibbles((size_t)s->n * s->k * s->groups, false);
	struct npu_tensor *t = nn_tensor(dev, NPU_PREC_FP16, s->m + s->row, s->k * s->groups, x);
	uint32_t bad;
	int ret = 0;

	for (uint32_t g = 0; !ret && g < s->groups; g++)
		ret = mixed_group(dev, s, t, g, w, scale, y);
	bad = mixed_wrong(s, x, w, scale, y);
	tap_ok(!ret && !bad, "%u x %u x %u%s of FP16, %u groups: error %d, %u wrong", s->m, s->n, s->k,
	       s->is_kn ? ", [k][n]" : "", s->groups, ret, bad);
	npu_tensor_free(t);
	free(x);
	free(y);
	free(w);
	free(scale);
}

static void refused_mixed(struct npu_dev *dev, int err, const char *words, enum npu_prec in, enum npu_prec out,
			  uint32_t rows, enum npu_act act)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT4, .n = 64, .k = 64 };
	struct npu_rec_matmul_opts mo = { .size = sizeof(mo), .act = act };
	struct npu_tensor *x = nn_tensor(dev, in, rows, 64, NULL), *y = nn_tensor(dev, out, rows, 64, NULL);
	struct npu_rec *rec = nn_rec(dev);
	static const uint8_t src[64 * 32];
	struct npu_weights *w = NULL;
	int ret = npu_weights_new(dev, &d, src, &w);

	ret = ret ? ret : npu_rec_matmul(rec, x, w, y, &mo);
	ret = ret ? ret : npu_rec_end(rec);
	tap_ok(ret == err && strstr(npu_rec_message(rec), words), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
	npu_weights_free(w);
}

/* ---- parts of bytes ---- */

#define PART_M	6u
#define PART_N	40u

/* Columns @from to @to of @k. */
static uint32_t words_wrong(const int32_t *got, const int8_t *x, const int8_t *w, uint32_t k, uint32_t from, uint32_t to)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < PART_M * PART_N; i++) {
		int32_t sum = 0;

		for (uint32_t c = from; c < to; c++)
			sum += x[i / PART_N * k + c] * w[i % PART_N * k + c];
		bad += got[i] != sum;
	}
	return bad;
}

/* The product of columns @from and those behind with @w. */
static int words(struct npu_dev *dev, struct npu_tensor *x, uint32_t from, const struct npu_weights *w, int32_t *got)
{
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_INT32, PART_M, PART_N, NULL), *view = NULL;
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_tensor_view(x, 0, PART_M, from, npu_tensor_shape(x).cols - from, &view);

	ret = ret ? ret : nn_run(rec, npu_rec_matmul(rec, view, w, y, NULL));
	ret = ret ? ret : npu_tensor_read(y, got, 0);
	npu_rec_free(rec);
	npu_tensor_free(view);
	npu_tensor_free(y);
	return ret;
}

static int8_t *any_bytes(size_t n)
{
	int8_t *p = malloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = (int8_t)(rnd(255) - 127);
	return p;
}

/* The last part, and where the NPU adds them all at once. */
static void test_parts(struct npu_dev *dev, uint32_t k, uint32_t part, bool adds)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = PART_N, .k = k, .part = part };
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_INT8, PART_M, k, NULL);
	int8_t *bw = any_bytes((size_t)PART_N * k), *bx = any_bytes((size_t)PART_M * k);
	struct npu_weights *w = NULL, *last = NULL, *none = NULL;
	uint32_t parts = (k - 1) / part + 1, from = (parts - 1) * part;
	int32_t got[PART_M * PART_N];
	int ret = npu_weights_new(dev, &d, bw, &w);

	ret = ret ? ret : npu_weights_part(w, parts - 1, &last);
	ret = ret ? ret : npu_tensor_write(x, bx, 0);
	ret = ret ? ret : words(dev, x, from, last, got);
	tap_ok(!ret && !words_wrong(got, bx, bw, k, from, k), "the last of %u parts of bytes: error %d", parts, ret);
	tap_ok(npu_weights_part(w, parts, &none) == -EINVAL && npu_weights_part(last, 0, &none) == -EINVAL,
	       "behind it is none, and in it neither");
	if (adds) {
		ret = words(dev, x, 0, w, got);
		tap_ok(!ret && !words_wrong(got, bx, bw, k, 0, k), "all of them: error %d", ret);
	}
	npu_tensor_free(x);
	npu_weights_free(w);
	npu_weights_free(last);
	free(bw);
	free(bx);
}

static void test_rk3576(struct npu_dev *dev)
{
	static const struct mixed some[] = {
		{ .m = 1, .n = 64, .k = 2, .groups = 1 }, { .m = 1, .n = 1024, .k = 2048, .groups = 1 },
		{ .m = 2, .n = 64, .k = 32, .groups = 1 }, { .m = 3, .n = 128, .k = 98, .groups = 1, .is_kn = true },
		{ .m = 80, .n = 192, .k = 512, .groups = 1 }, { .m = 33, .n = 64, .k = 4096, .groups = 1 },
		{ .m = 64, .n = 128, .k = 64, .groups = 1, .max_m = 12, .max_n = 64 },
		{ .m = 1, .n = 256, .k = 128, .groups = 4 }, { .m = 9, .n = 64, .k = 32, .groups = 9 },
		{ .m = 12, .n = 128, .k = 96, .groups = 2, .row = 8 },
		{ .m = 1, .n = 64, .k = 96, .groups = 1, .row = 7 },
		{ .m = 1100, .n = 64, .k = 32, .groups = 1 }, { .m = 1, .n = 3008, .k = 32, .groups = 1 },
		{ .m = 10, .n = 192, .k = 32, .groups = 5, .is_kn = true, .parts = true },
		{ .m = 1, .n = 64, .k = 4096, .groups = 2, .is_kn = true, .parts = true },
	};

	for (nn_cores = 2; nn_cores; nn_cores--) {
		sim_core_masks = 0;
		for (size_t i = 0; i < ARRAY_SIZE(some); i++)
			test_mixed(dev, &some[i]);
		tap_ok(sim_core_masks == (1u << nn_cores) - 1, "on %u cores", nn_cores);
	}
	nn_cores = 1;
	test_parts(dev, 4200, 4096, false);
	for (int i = 0; i < 25; i++) {
		struct mixed s = {
			.m = 1 + rnd(50), .n = 64 * (1 + rnd(4)), .k = 2 * (1 + rnd(200)), .groups = 1,
			.max_m = rnd(2) * 8, .is_kn = rnd(2),
		};

		test_mixed(dev, &s);
	}
	refused_mixed(dev, -EOPNOTSUPP, "from INT4 to FP16 on the RK3576", NPU_PREC_FP16, NPU_PREC_FP16,
		      4, NPU_ACT_NONE);
	refused_mixed(dev, -EOPNOTSUPP, "from INT4 to INT16 on the RK3576", NPU_PREC_INT4, NPU_PREC_INT16,
		      4, NPU_ACT_NONE);
	refused_mixed(dev, -EOPNOTSUPP, "without bias and ReLU on the RK3576", NPU_PREC_FP16, NPU_PREC_FP32,
		      4, NPU_ACT_RELU);
	refused_mixed(dev, -EINVAL, "no mode for x of INT8, weights of INT4", NPU_PREC_INT8, NPU_PREC_FP32,
		      4, NPU_ACT_NONE);
	refused_mixed(dev, -EOPNOTSUPP, "of 9300 rows", NPU_PREC_FP16, NPU_PREC_FP32, 9300, NPU_ACT_NONE);
}

int main(void)
{
	static const struct shape some[] = {
		{ .m = 1, .n = 64, .k = 2, .cores = 1 }, { .m = 1, .n = 64, .k = 32, .cores = 1 },
		{ .m = 4, .n = 128, .k = 96, .cores = 1 }, { .m = 3, .n = 64, .k = 4096, .cores = 1 },
		{ .m = 700, .n = 64, .k = 500, .cores = 1 }, { .m = 1, .n = 4224, .k = 34, .cores = 3 },
		{ .m = 5, .n = 64, .k = 511 * 2, .cores = 1, .large = true },
		/* Odd numbers of groups that are cut: by the caller, by the work of a task, by its columns. */
		{ .m = 4, .n = 192, .k = 64, .cores = 1, .max_n = 128 }, { .m = 128, .n = 320, .k = 512, .cores = 1 },
		{ .m = 16, .n = 4160, .k = 64, .cores = 1 },
	};
	struct npu_dev *dev = nn_begin(OURS);

	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		test_product(dev, &some[i]);
	test_random(dev);
	test_parts(dev, 200, 64, true);
	test_refused(dev);
	refused_mixed(dev, -EINVAL, "no mode for x of FP16, weights of INT4", NPU_PREC_FP16, NPU_PREC_FP32,
		      4, NPU_ACT_NONE);
	npu_close(dev);
	sim_soc(3576);
	dev = nn_begin(OURS);
	test_rk3576(dev);
	npu_close(dev);
	sim_soc(3568);
	dev = nn_begin(OURS);
	refused_mixed(dev, -EINVAL, "no mode for x of FP16, weights of INT4", NPU_PREC_FP16, NPU_PREC_FP32,
		      4, NPU_ACT_NONE);
	return nn_end(dev);
}
