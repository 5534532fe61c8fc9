/* SPDX-License-Identifier: MIT */
/*
 * What tests of longer operations share: numbers, tensors of them, and recordings that run.
 */
#ifndef NN_H
#define NN_H

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drm/rocket_accel.h"
#include "tensor/npu_compute.h"
#include "sim.h"
#include "tap.h"

/* What our driver has. */
#define OURS	(DRM_ROCKET_FEATURE_SUBMIT_EXT | DRM_ROCKET_FEATURE_BATCHED | DRM_ROCKET_FEATURE_SCHED)

static inline struct npu_dev *nn_begin(uint64_t features)
{
	struct npu_dev *dev = NULL;

	if (npu_open(NULL, &dev))
		abort();
	sim_features(features);
	return dev;
}

static inline int nn_end(struct npu_dev *dev)
{
	tap_ok(!sim_bos(), "nothing is left");
	npu_close(dev);
	return tap_done();
}

static uint32_t nn_seed = 1;

/* -1 to 1 in steps of 1/2048, which halves have. */
static inline float nn_rnd(void)
{
	nn_seed = nn_seed * 1664525u + 1013904223u;
	return (float)((int)(nn_seed >> 8) % 2049) / 2048 * (nn_seed >> 31 ? -1 : 1);
}

/* The larger one; what is not a number is as bad as it gets. */
static inline double nn_worse(double a, double b)
{
	return isnan(b) ? INFINITY : fmax(a, b);
}

static inline float nn_half(double v)
{
	return npu_f16_to_f32(npu_f64_to_f16(v));
}

static inline float *nn_floats(size_t n, double scale)
{
	float *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = nn_half(nn_rnd() * scale);
	return v;
}

static inline struct npu_tensor *nn_tensor(struct npu_dev *dev, enum npu_prec type, uint32_t rows,
					   uint32_t cols, const float *v)
{
	struct npu_tensor *t = NULL;

	if (npu_tensor_new(dev, type, rows, cols, &t))
		abort();
	if (v)
		npu_tensor_write_f32(t, v, 0, 1);
	return t;
}

/* What nobody wrote holds infinities: it must not get into a result. */
static inline struct npu_tensor *nn_result(struct npu_dev *dev, enum npu_prec type, uint32_t rows,
					   uint32_t cols)
{
	struct npu_tensor *t = nn_tensor(dev, type, rows, cols, NULL);

	if (type == NPU_PREC_FP16)
		for (size_t i = 0; i < npu_tensor_bytes(type, rows, cols) / 2; i++)
			((uint16_t *)t->mem->bo->map)[i] = 0x7c00;
	return t;
}

static inline struct npu_weights *nn_weights(struct npu_dev *dev, uint32_t n, uint32_t k,
					     const float *v, const float *bias)
{
	struct npu_weights_desc d = { .size = sizeof(d), .type = NPU_PREC_FP16, .n = n, .k = k, .bias = bias };
	uint16_t *h = malloc((size_t)n * k * sizeof(*h));
	struct npu_weights *w = NULL;

	for (size_t i = 0; i < (size_t)n * k; i++)
		h[i] = npu_f32_to_f16(v[i]);
	if (npu_weights_new(dev, &d, h, &w))
		abort();
	free(h);
	return w;
}

/* Of nn_rec(). */
static uint32_t nn_cores = 1, nn_core_mask;

static inline struct npu_rec *nn_rec(struct npu_dev *dev)
{
	struct npu_rec_opts o = { .size = sizeof(o), .cores = nn_cores, .core_mask = nn_core_mask };
	struct npu_rec *rec = NULL;

	if (npu_rec_new(dev, &o, &rec))
		abort();
	return rec;
}

/* Runs @rec twice, as one chain. */
static inline int nn_run(struct npu_rec *rec, int ret)
{
	if (ret)
		printf("# %s\n", npu_rec_message(rec));
	ret = ret ? ret : npu_rec_end(rec);
	for (int i = 0; i < 2; i++) {
		ret = ret ? ret : npu_rec_run(rec);
		ret = ret ? ret : npu_rec_wait(rec, -1);
	}
	return ret;
}

#endif /* NN_H */
