// SPDX-License-Identifier: MIT
/*
 * Transposition, and tensors that become weights, byte for byte as npu_weights_new() packs them.
 */
#include <errno.h>

#include "nn.h"
#include "ops/npu_parts.h"

/* Bytes behind the last column that are not 0. */
static unsigned int rest(const struct npu_tensor *t)
{
	uint32_t lanes = npu_tensor_lanes(t), bpe = (uint32_t)npu_prec_bytes(t->shape.type);
	uint32_t first = t->shape.cols % lanes;
	unsigned int n = 0;

	for (uint32_t r = 0; first && r < t->shape.rows; r++)
		for (uint32_t i = first * bpe; i < lanes * bpe; i++)
			n += !!npu_tensor_atom(t, t->shape.cols / lanes, r)[i];
	return n;
}

static void transpose_case(struct npu_dev *dev, enum npu_prec type, uint32_t rows, uint32_t cols,
			   uint32_t cores)
{
	size_t n = (size_t)rows * cols;
	float *x = nn_floats(n, 1000), *y = calloc(n, sizeof(*y));
	struct npu_tensor *tx, *ty = nn_result(dev, type, cols, rows);
	struct npu_rec_opts o = { .size = sizeof(o), .cores = cores };
	struct npu_rec *rec = NULL;
	unsigned long bad = 0;
	int ret;

	for (size_t i = 0; type == NPU_PREC_INT8 && i < n; i++)
		x[i] = (float)(int)(x[i] * 0.127f);
	tx = nn_tensor(dev, type, rows, cols, x);
	npu_rec_new(dev, &o, &rec);
	ret = nn_run(rec, npu_rec_transpose(rec, tx, ty));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (size_t i = 0; i < n; i++)
		bad += y[i % cols * rows + i / cols] != x[i];
	tap_ok(!ret && !bad && !rest(ty) && npu_rec_info(rec).chains == cores && npu_rec_info(rec).stages == 1,
	       "%u x %u of type %d transposed in %u tasks on %u cores: error %d, %lu wrong, %u behind them", rows,
	       cols, type, npu_rec_info(rec).tasks, cores, ret, bad, rest(ty));
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(y);
}

/* A part of a tensor, so that strides count. */
static struct npu_weights *packed(struct npu_dev *dev, enum npu_prec type, uint32_t n, uint32_t k,
				  const float *v)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_INT8, .n = n, .k = k };
	int8_t *src = malloc((size_t)n * k);
	struct npu_weights *w = NULL;

	if (type == NPU_PREC_FP16) {
		w = nn_weights(dev, n, k, v, NULL);
	} else {
		for (size_t i = 0; i < (size_t)n * k; i++)
			src[i] = (int8_t)v[i];
		npu_weights_new(dev, &d, src, &w);
	}
	free(src);
	return w;
}

static void pack_case(struct npu_dev *dev, enum npu_prec type, uint32_t rows, uint32_t cols)
{
	float *v = nn_floats((size_t)rows * cols, 1);
	struct npu_tensor *t = nn_tensor(dev, type, rows + 8, cols + 64, NULL), *part;
	struct npu_weights *want, *got = NULL;
	struct npu_rec *rec = nn_rec(dev);
	size_t bytes;
	int ret = npu_tensor_view(t, 4, (uint32_t)round_up(rows, 4), 32, cols, &part);

	for (size_t i = 0; type == NPU_PREC_INT8 && i < (size_t)rows * cols; i++)
		v[i] = (float)(int)(v[i] * 127);
	want = packed(dev, type, rows, cols, v);
	bytes = round_up(rows, npu_kernel_group(&npu_rk3588, type)) * want->kp * npu_prec_bytes(type);
	part->shape.rows = rows;
	npu_tensor_write_f32(part, v, 0, 1);
	ret = ret ? ret : npu_rec_begin(rec, "pack");
	ret = ret ? ret : npu_rec_zero_weights(rec, dev, type, rows, cols, &got);
	ret = ret ? ret : npu_rec_pack(rec, part, got);
	ret = nn_run(rec, ret ? ret : npu_rec_commit(rec));
	tap_ok(!ret && !memcmp(got->mem->bo->map, want->mem->bo->map, bytes),
	       "%u x %u of type %d become weights in %u tasks: error %d", rows, cols, type,
	       npu_rec_info(rec).tasks, ret);
	npu_rec_free(rec);
	npu_weights_free(want);
	npu_weights_free(got);
	npu_tensor_free(part);
	npu_tensor_free(t);
	free(v);
}

/* More than a chain can have. */
static void test_many(struct npu_dev *dev)
{
	struct npu_tensor *x = nn_tensor(dev, NPU_PREC_INT8, 8192, 8192, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_INT8, 8192, 8192, NULL);
	struct npu_rec *rec = nn_rec(dev);
	int ret = npu_rec_transpose(rec, x, y);

	tap_ok(!ret && npu_rec_info(rec).chains == 2, "8192 x 8192 transposed in %u tasks, %u chains: error %d, %s",
	       npu_rec_info(rec).tasks, npu_rec_info(rec).chains, ret, npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

static void refused(struct npu_dev *dev, uint32_t rows, uint32_t cols, enum npu_prec type, int err)
{
	struct npu_tensor *x = nn_tensor(dev, type, rows, 32, NULL);
	struct npu_tensor *y = nn_tensor(dev, NPU_PREC_FP16, 32, cols, NULL);
	struct npu_rec *rec = nn_rec(dev);

	tap_ok(npu_rec_transpose(rec, x, y) == err, "%s", npu_rec_message(rec));
	npu_rec_free(rec);
	npu_tensor_free(x);
	npu_tensor_free(y);
}

int main(void)
{
	struct npu_dev *dev = nn_begin(OURS);

	pack_case(dev, NPU_PREC_FP16, 16, 32);
	pack_case(dev, NPU_PREC_FP16, 5, 64);
	pack_case(dev, NPU_PREC_FP16, 1000, 96);
	pack_case(dev, NPU_PREC_FP16, 40, 4160);
	pack_case(dev, NPU_PREC_INT8, 7, 32);
	pack_case(dev, NPU_PREC_INT8, 600, 160);
	transpose_case(dev, NPU_PREC_FP16, 1, 1, 1);
	transpose_case(dev, NPU_PREC_FP16, 1, 100, 1);
	transpose_case(dev, NPU_PREC_FP16, 70, 1, 1);
	transpose_case(dev, NPU_PREC_FP16, 33, 130, 1);
	transpose_case(dev, NPU_PREC_FP16, 1025, 64, 1);
	transpose_case(dev, NPU_PREC_FP16, 40, 150, 3);
	transpose_case(dev, NPU_PREC_INT8, 1, 1, 1);
	transpose_case(dev, NPU_PREC_INT8, 33, 130, 1);
	transpose_case(dev, NPU_PREC_INT8, 520, 70, 2);
	transpose_case(dev, NPU_PREC_FP16, 8192, 3, 1);
	transpose_case(dev, NPU_PREC_FP16, 8193, 70, 2);
	transpose_case(dev, NPU_PREC_INT8, 16390, 5, 1);
	test_many(dev);
	refused(dev, 4, 5, NPU_PREC_FP16, -EINVAL);
	refused(dev, 4, 4, NPU_PREC_INT8, -EINVAL);
	return nn_end(dev);
}
