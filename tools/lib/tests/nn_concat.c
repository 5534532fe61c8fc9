// SPDX-License-Identifier: MIT
/*
 * Concatenation in recordings: what is copied, what is there already, what is refused.
 */
#include "nn.h"

#define I8	NPU_PREC_INT8
#define F16	NPU_PREC_FP16
#define F32	NPU_PREC_FP32
#define I32	NPU_PREC_INT32

static uint8_t *bytes(size_t n)
{
	uint8_t *v = malloc(n);

	for (size_t i = 0; i < n; i++)
		v[i] = (uint8_t)(nn_rnd() * 128);
	return v;
}

#define PARTS	4u

struct concat_case {
	const char *name;
	enum npu_prec type;
	bool rows;
	uint32_t other;			/* columns of rows, rows of columns */
	uint32_t part[PARTS];		/* 0 ends it */
	uint32_t cores, tasks, chains, stages;
};

static const struct concat_case concats[] = {
	{ "halves", F16, false, 5, { 32, 64, 40 }, 1, 3, 1, 1 },
	{ "halves by 8", F16, false, 12, { 8, 24, 16, 3 }, 1, 4, 1, 1 },
	{ "bytes", I8, false, 7, { 16, 48, 33 }, 1, 3, 1, 1 },
	{ "words", I32, false, 9, { 4, 36, 5 }, 1, 3, 1, 1 },
	{ "floats", F32, false, 1, { 64, 2 }, 1, 2, 1, 1 },
	{ "many columns", F16, false, 3, { 4104, 9 }, 1, 3, 1, 1 },
	{ "rows", F16, true, 40, { 5, 1, 7, 2 }, 1, 4, 1, 1 },
	{ "rows of bytes", I8, true, 33, { 3, 4100, 9 }, 1, 4, 1, 1 },
	{ "3 cores", F16, false, 30, { 32, 8, 8 }, 3, 9, 3, 1 },
	{ "rows on 3 cores", F16, true, 64, { 16, 21 }, 3, 5, 3, 1 },
	{ "odd rows on 3 cores", F16, true, 64, { 13, 24 }, 3, 5, 5, 2 },
};

static uint32_t parts_of(const struct concat_case *c)
{
	uint32_t n = 0;

	while (n < PARTS && c->part[n])
		n++;
	return n;
}

static uint32_t sum_of(const struct concat_case *c)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < parts_of(c); i++)
		sum += c->part[i];
	return sum;
}

static void concat_case(struct npu_dev *dev, const struct concat_case *c)
{
	uint32_t n = parts_of(c), all = sum_of(c), at = 0;
	uint32_t rows = c->rows ? all : c->other, cols = c->rows ? c->other : all;
	size_t bpe = npu_prec_bytes(c->type), size = (size_t)rows * cols * bpe;
	uint8_t *want = bytes(size), *got = malloc(size);
	struct npu_rec_opts o = { .size = sizeof(o), .cores = c->cores };
	const struct npu_tensor *const *parts;
	struct npu_tensor *t[PARTS], *y = nn_tensor(dev, c->type, rows, cols, NULL);
	struct npu_rec_info info;
	struct npu_rec *rec = NULL;
	int ret = 0;

	for (uint32_t i = 0; i < n; at += c->part[i++]) {
		t[i] = nn_tensor(dev, c->type, c->rows ? c->part[i] : rows, c->rows ? cols : c->part[i], NULL);
		ret = ret ? ret : npu_tensor_write(t[i], want + (c->rows ? (size_t)at * cols : at) * bpe, cols);
	}
	parts = (const struct npu_tensor *const *)t;
	npu_rec_new(dev, &o, &rec);
	ret = ret ? ret : nn_run(rec, c->rows ? npu_rec_concat_rows(rec, parts, n, y) :
					       npu_rec_concat_cols(rec, parts, n, y));
	ret = ret ? ret : npu_tensor_read(y, got, 0);
	info = npu_rec_info(rec);
	tap_ok(!ret && !memcmp(want, got, size) && info.tasks == c->tasks && info.chains == c->chains &&
	       info.stages == c->stages, "concat %s: %u parts to %u x %u, error %d, %u tasks", c->name, n, rows, cols,
	       ret, info.tasks);
	npu_rec_free(rec);
	for (uint32_t i = 0; i < n; i++)
		npu_tensor_free(t[i]);
	npu_tensor_free(y);
	free(want);
	free(got);
}

/* Two of three parts are where they belong. */
static void test_in_place(struct npu_dev *dev)
{
	enum { R = 8, C = 128 };
	float *x = nn_floats(R * C, 1), y[R * C];
	struct npu_tensor *tx = nn_tensor(dev, F16, R, C, x), *ty = nn_tensor(dev, F16, R, C, NULL);
	struct npu_tensor *v[3] = { NULL }, *from[3] = { NULL };
	static const uint32_t col[] = { 0, 64, 96 }, cols[] = { 64, 32, 32 };
	struct npu_rec *rec = nn_rec(dev);
	int ret = 0;

	for (int i = 0; i < 3; i++) {
		ret = ret ? ret : npu_tensor_view(tx, 0, R, col[i], cols[i], &from[i]);
		ret = ret ? ret : npu_tensor_view(ty, 0, R, col[i], cols[i], &v[i]);
	}
	ret = ret ? ret : npu_rec_max(rec, from[0], from[0], v[0]);
	ret = ret ? ret : npu_rec_max(rec, from[2], from[2], v[2]);
	ret = nn_run(rec, ret ? ret : npu_rec_concat_cols(rec, (const struct npu_tensor *[]){ v[0], from[1], v[2] },
							 3, ty));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	tap_ok(!ret && !memcmp(x, y, sizeof(y)) && npu_rec_info(rec).tasks == 3,
	       "views are not copied: error %d, %u tasks", ret, npu_rec_info(rec).tasks);
	npu_rec_free(rec);
	rec = nn_rec(dev);
	ret = npu_rec_concat_cols(rec, (const struct npu_tensor *[]){ v[0], v[1], v[2] }, 3, ty);
	tap_ok(!ret && npu_rec_end(rec) == -EINVAL, "a recording of nothing to do is refused");
	npu_rec_free(rec);
	for (int i = 0; i < 3; i++) {
		npu_tensor_free(v[i]);
		npu_tensor_free(from[i]);
	}
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
}

static void refuse_concat(struct npu_dev *dev, const char *word, bool rows, const struct npu_shape *part,
			  const struct npu_shape *y)
{
	struct npu_tensor *a = nn_tensor(dev, part->type, part->rows, part->cols, NULL);
	struct npu_tensor *b = nn_tensor(dev, part->type, part->rows, part->cols, NULL);
	struct npu_tensor *ty = nn_tensor(dev, y->type, y->rows, y->cols, NULL);
	const struct npu_tensor *parts[] = { a, b };
	struct npu_rec *rec = nn_rec(dev);
	int ret = rows ? npu_rec_concat_rows(rec, parts, 2, ty) : npu_rec_concat_cols(rec, parts, 2, ty);

	tap_ok(ret == -EINVAL && strstr(npu_rec_message(rec), word), "%d, %s", ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(a);
	npu_tensor_free(b);
	npu_tensor_free(ty);
}

static void test_refused_concat(struct npu_dev *dev)
{
	const struct npu_shape half = { F16, 4, 12 }, byte = { I8, 4, 12 }, right = { F16, 4, 24 };
	const struct npu_shape long_one = { F16, 4, 25 }, tall = { F16, 8, 12 }, other = { F16, 5, 24 };

	refuse_concat(dev, "no multiple of 8", false, &half, &right);
	refuse_concat(dev, "part 0 is INT8", false, &byte, &right);
	refuse_concat(dev, "does not fit", false, &half, &other);
	refuse_concat(dev, "does not fit", true, &half, &right);
	refuse_concat(dev, "the result has 25", false, &(struct npu_shape){ F16, 4, 8 }, &long_one);
	refuse_concat(dev, "does not fit", true, &tall, &tall);
}

static void test_shared(struct npu_dev *dev)
{
	struct npu_tensor *y = nn_tensor(dev, F16, 4, 64, NULL), *v[2] = { NULL };
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_tensor_view(y, 0, 4, 0, 32, &v[0]);

	ret = ret ? ret : npu_tensor_view(y, 0, 4, 32, 32, &v[1]);
	ret = ret ? ret : npu_rec_concat_cols(rec, (const struct npu_tensor *[]){ v[1], v[0] }, 2, y);
	tap_ok(ret == -EINVAL && strstr(npu_rec_message(rec), "shares"), "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(v[0]);
	npu_tensor_free(v[1]);
	npu_tensor_free(y);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	for (size_t i = 0; i < ARRAY_SIZE(concats); i++)
		concat_case(dev, &concats[i]);
	test_in_place(dev);
	test_refused_concat(dev);
	test_shared(dev);
	return nn_end(dev);
}
