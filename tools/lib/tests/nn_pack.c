// SPDX-License-Identifier: MIT
/*
 * Transposition, and tensors that become weights, byte for byte as npu_weights_new() packs them.
 */
#include <errno.h>

#include "nn.h"
#include "npu_parts.h"

static void transpose_case(struct npu_dev *dev, uint32_t rows, uint32_t cols)
{
	size_t n = (size_t)rows * cols;
	float *x = nn_floats(n, 1000), *y = calloc(n, sizeof(*y));
	struct npu_tensor *tx = nn_tensor(dev, NPU_PREC_FP16, rows, cols, x);
	struct npu_tensor *ty = nn_result(dev, NPU_PREC_FP16, cols, rows);
	struct npu_rec *rec = nn_rec(dev);
	unsigned long bad = 0;
	int ret;

	ret = nn_run(rec, npu_rec_transpose(rec, tx, ty));
	ret = ret ? ret : npu_tensor_read_f32(ty, y, 0, 1);
	for (size_t i = 0; i < n; i++)
		bad += y[i % cols * rows + i / cols] != x[i];
	tap_ok(!ret && !bad, "%u x %u transposed in %u tasks: error %d, %lu wrong", rows, cols,
	       npu_rec_info(rec).tasks, ret, bad);
	npu_rec_free(rec);
	npu_tensor_free(tx);
	npu_tensor_free(ty);
	free(x);
	free(y);
}

/* A part of a tensor, so that strides count. */
static void pack_case(struct npu_dev *dev, uint32_t rows, uint32_t cols)
{
	float *v = nn_floats((size_t)rows * cols, 1);
	struct npu_weights *want = nn_weights(dev, rows, cols, v, NULL), *got = NULL;
	struct npu_tensor *t = nn_tensor(dev, NPU_PREC_FP16, rows + 8, cols + 64, NULL), *part;
	struct npu_rec *rec = nn_rec(dev);
	size_t bytes = round_up(rows, 16) * want->kp * 2;
	int ret = npu_tensor_view(t, 4, (uint32_t)round_up(rows, 4), 32, cols, &part);

	part->shape.rows = rows;
	npu_tensor_write_f32(part, v, 0, 1);
	ret = ret ? ret : npu_rec_begin(rec, "pack");
	ret = ret ? ret : npu_rec_blank(rec, dev, rows, cols, &got);
	ret = ret ? ret : npu_rec_pack(rec, part, got);
	ret = nn_run(rec, ret ? ret : npu_rec_commit(rec));
	tap_ok(!ret && !memcmp(got->mem->bo->map, want->mem->bo->map, bytes),
	       "%u x %u become weights in %u tasks: error %d", rows, cols, npu_rec_info(rec).tasks, ret);
	npu_rec_free(rec);
	npu_weights_free(want);
	npu_weights_free(got);
	npu_tensor_free(part);
	npu_tensor_free(t);
	free(v);
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
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	sim_features(DRM_ROCKET_FEATURE_BATCHED);
	pack_case(dev, 16, 32);
	pack_case(dev, 5, 64);
	pack_case(dev, 1000, 96);
	pack_case(dev, 40, 4160);
	transpose_case(dev, 1, 1);
	transpose_case(dev, 1, 100);
	transpose_case(dev, 70, 1);
	transpose_case(dev, 33, 130);
	transpose_case(dev, 1025, 64);
	refused(dev, 4, 5, NPU_PREC_FP16, -EINVAL);
	refused(dev, 4, 4, NPU_PREC_INT8, -EINVAL);
	refused(dev, 8200, 8200, NPU_PREC_FP16, -E2BIG);
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
	return tap_done();
}
