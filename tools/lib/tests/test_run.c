// SPDX-License-Identifier: MIT
/*
 * Whole products and convolutions on an interpreter of register programs, and
 * how jobs report what happened to them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npu_internal.h"
#include "sim.h"
#include "tap.h"

static unsigned int seed = 1;

static int rnd(int lo, int hi)
{
	seed = seed * 1664525u + 1013904223u;
	return lo + (int)((seed >> 8) % (unsigned int)(hi - lo + 1));
}

/* Operands are small integers, so that sums are exact in every type. */
struct problem {
	struct npu_matmul_desc d;
	struct npu_opts o;
	bool bias;
	int8_t *a, *b;
	int32_t *bias_v;
};

static void problem_init(struct problem *p)
{
	size_t na = (size_t)p->d.m * p->d.k, nb = (size_t)p->d.n * p->d.k;
	int amp = p->d.dtype <= NPU_INT8_INT8 ? 128 : 4;

	p->a = malloc(na);
	p->b = malloc(nb);
	p->bias_v = malloc(p->d.n * sizeof(int32_t));
	for (size_t i = 0; i < na; i++)
		p->a[i] = (int8_t)rnd(-amp, amp - 1);
	for (size_t i = 0; i < nb; i++)
		p->b[i] = (int8_t)rnd(-amp, amp - 1);
	for (uint32_t i = 0; i < p->d.n; i++)
		p->bias_v[i] = rnd(-100000, 100000);
}

static void problem_free(struct problem *p)
{
	free(p->a);
	free(p->b);
	free(p->bias_v);
}

/* The operand as the library wants it: type, leading dimension, transposition. */
static void *operand(const int8_t *v, uint32_t rows, uint32_t cols, size_t ld, bool swap, bool f16)
{
	size_t n = (swap ? cols : rows) * ld;
	uint8_t *x = calloc(n, f16 ? 2 : 1);

	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < cols; c++) {
			size_t i = swap ? c * ld + r : r * ld + c;
			int8_t e = v[(size_t)r * cols + c];

			if (f16)
				((uint16_t *)(void *)x)[i] = npu_f32_to_f16(e);
			else
				x[i] = (uint8_t)e;
		}
	return x;
}

static bool matches(const struct problem *p, const void *c, size_t i, uint32_t m, uint32_t n)
{
	int64_t acc = 0;

	for (uint32_t k = 0; k < p->d.k; k++)
		acc += p->a[(size_t)m * p->d.k + k] * p->b[(size_t)n * p->d.k + k];
	switch (p->d.dtype) {
	case NPU_INT8_INT32:
		return ((const int32_t *)c)[i] == acc;
	case NPU_INT8_INT8: {
		/* nearbyint() in the default mode rounds ties to even. */
		double y = nearbyint(ldexp((double)(acc + (p->bias ? p->bias_v[n] : 0)) *
					   p->d.rq.scale, -p->d.rq.shift)) + p->d.rq.zp;

		return ((const int8_t *)c)[i] == (y > 127 ? 127 : y < -128 ? -128 : (int)y);
	}
	case NPU_FP16_FP32:
		return ((const float *)c)[i] == (float)acc;
	default:
		return ((const uint16_t *)c)[i] == npu_f64_to_f16((double)acc);
	}
}

static void run(struct npu_dev *dev, struct problem p)
{
	bool f16 = p.d.dtype >= NPU_FP16_FP32;
	size_t lda = p.d.lda ? p.d.lda : p.d.k, ldc = p.d.ldc ? p.d.ldc : p.d.n;
	size_t ldb = p.d.ldb ? p.d.ldb : p.d.b_is_kn ? p.d.n : p.d.k;
	size_t cn = p.d.m * ldc;
	uint32_t *c = malloc(cn * 4);
	void *a, *b;
	int ret, bad = 0;

	p.d.rq = (struct npu_requant){ .scale = 20011, .shift = 27, .zp = -3 };
	problem_init(&p);
	a = operand(p.a, p.d.m, p.d.k, lda, false, f16);
	b = operand(p.b, p.d.n, p.d.k, ldb, p.d.b_is_kn, f16);
	memset(c, 0x77, cn * 4);
	ret = npu_matmul_run(dev, &p.d, a, b, p.bias ? p.bias_v : NULL, c, &p.o);
	for (uint32_t m = 0; m < p.d.m && !ret; m++)
		for (uint32_t n = 0; n < p.d.n; n++)
			bad += !matches(&p, c, m * ldc + n, m, n);
	tap_ok(!ret && !bad && !sim_bos(), "type %d M %u N %u K %u%s%s%s%s: error %d, %d wrong",
	       p.d.dtype, p.d.m, p.d.n, p.d.k, p.bias ? ", bias" : "",
	       p.d.b_is_kn ? ", B as [k][n]" : "", p.d.ldc ? ", strided" : "",
	       p.o.no_rdma ? ", short program" : "", ret, bad);
	free(a);
	free(b);
	free(c);
	problem_free(&p);
}

static void test_products(struct npu_dev *dev)
{
	static const uint32_t size[][3] = {
		{ 1, 1, 1 }, { 1, 33, 65 }, { 4, 32, 32 }, { 3, 33, 100 }, { 17, 70, 40 },
		{ 9, 100, 130 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (int t = NPU_INT8_INT32; t <= NPU_FP16_FP16; t++) {
			struct problem p = { .d = { .dtype = (enum npu_dtype)t, .m = size[i][0],
						    .n = size[i][1], .k = size[i][2] } };

			run(dev, p);
			p.o = (struct npu_opts){ .jobs = 3, .max_m = 8, .max_n = 32, .max_k = 64 };
			p.bias = t == NPU_INT8_INT8;
			run(dev, p);
			p.o = (struct npu_opts){ .jobs = 2 };
			p.d.b_is_kn = true;
			p.d.lda = p.d.k + 5;
			p.d.ldb = p.d.n + 3;
			p.d.ldc = p.d.n + 9;
			run(dev, p);
			p.o.no_rdma = true;
			p.bias = false;
			run(dev, p);
		}
}

static void conv_reference(const struct npu_conv_desc *d, const int8_t *in, const int8_t *w,
			   const int32_t *bias, int8_t *out)
{
	uint32_t ow = npu_conv_out_w(d), oh = npu_conv_out_h(d);

	for (uint32_t oy = 0; oy < oh; oy++)
		for (uint32_t ox = 0; ox < ow; ox++)
			for (uint32_t n = 0; n < d->out_c; n++) {
				int64_t acc = bias[n];
				double y;

				for (uint32_t t = 0; t < d->kh * d->kw; t++) {
					int64_t iy = (int64_t)oy * d->stride_y - d->pad_top +
						     t / d->kw * d->dil_y;
					int64_t ix = (int64_t)ox * d->stride_x - d->pad_left +
						     t % d->kw * d->dil_x;

					if (iy < 0 || ix < 0 || iy >= d->in_h || ix >= d->in_w)
						continue;
					for (uint32_t c = 0; c < d->in_c; c++) {
						size_t ii = ((size_t)iy * d->in_w + ix) *
							    d->in_c + c;
						size_t wi = ((size_t)n * d->kh * d->kw + t) *
							    d->in_c + c;

						acc += (in[ii] - d->in_zp) *
						       (w[wi] - d->weight_zp);
					}
				}
				y = nearbyint(ldexp((double)acc * d->rq.scale, -d->rq.shift)) +
				    d->rq.zp;
				out[((size_t)oy * ow + ox) * d->out_c + n] =
					(int8_t)(y > 127 ? 127 : y < -128 ? -128 : y);
			}
}

static void conv(struct npu_dev *dev, struct npu_conv_desc d, struct npu_opts o)
{
	size_t in_n = (size_t)d.in_w * d.in_h * d.in_c;
	size_t w_n = (size_t)d.out_c * d.kw * d.kh * d.in_c;
	size_t out_n = (size_t)npu_conv_out_w(&d) * npu_conv_out_h(&d) * d.out_c;
	int8_t *in = malloc(in_n), *w = malloc(w_n), *got = malloc(out_n), *want = malloc(out_n);
	int32_t *bias = malloc(d.out_c * sizeof(*bias));
	int ret;

	for (size_t i = 0; i < in_n; i++)
		in[i] = (int8_t)rnd(-128, 127);
	for (size_t i = 0; i < w_n; i++)
		w[i] = (int8_t)rnd(-128, 127);
	for (uint32_t i = 0; i < d.out_c; i++)
		bias[i] = rnd(-10000, 10000);
	d.rq = (struct npu_requant){ .scale = 23456, .shift = 25, .zp = 7 };
	conv_reference(&d, in, w, bias, want);
	ret = npu_conv_run(dev, &d, in, w, bias, got, &o);
	tap_ok(!ret && !memcmp(got, want, out_n) && !sim_bos(),
	       "conv %ux%ux%u, %u kernels %ux%u, stride %u,%u, dilation %u,%u: error %d",
	       d.in_w, d.in_h, d.in_c, d.out_c, d.kw, d.kh, d.stride_x, d.stride_y,
	       d.dil_x, d.dil_y, ret);
	free(in);
	free(w);
	free(got);
	free(want);
	free(bias);
}

static void test_convs(struct npu_dev *dev)
{
	struct npu_conv_desc d = {
		.in_w = 7, .in_h = 6, .in_c = 5, .out_c = 9, .kw = 3, .kh = 3,
		.stride_x = 1, .stride_y = 1, .dil_x = 1, .dil_y = 1,
		.pad_left = 1, .pad_right = 1, .pad_top = 1, .pad_bottom = 1,
	};
	struct npu_opts tiny = { .jobs = 3, .max_m = 1, .max_n = 32 }, none = { 0 };

	conv(dev, d, none);
	conv(dev, d, tiny);
	d.in_zp = -17;
	d.weight_zp = 9;
	conv(dev, d, none);
	conv(dev, d, tiny);
	d.stride_x = 2;
	d.stride_y = 3;
	d.out_c = 40;
	d.in_c = 33;
	conv(dev, d, none);
	conv(dev, d, tiny);
	d.dil_y = 2;
	d.pad_top = 3;
	d.pad_left = 2;
	d.pad_right = 0;
	d.kw = 4;
	conv(dev, d, none);
	conv(dev, d, tiny);
	d = (struct npu_conv_desc){
		.in_w = 3, .in_h = 2, .in_c = 40, .out_c = 70, .kw = 1, .kh = 1,
		.stride_x = 1, .stride_y = 1, .dil_x = 1, .dil_y = 1,
	};
	conv(dev, d, none);
}

static struct npu_job *submit(struct npu_dev *dev, int32_t *c)
{
	static const int8_t a[8 * 32], b[96 * 32];
	struct npu_matmul_desc d = { .dtype = NPU_INT8_INT32, .m = 8, .n = 96, .k = 32 };
	struct npu_opts o = { .jobs = 3 };

	return npu_matmul_submit(dev, &d, a, b, NULL, c, &o);
}

static void test_causes(struct npu_dev *dev)
{
	static const struct { int err; enum npu_cause cause; const char *text; } c[] = {
		{ -ETIME, NPU_CAUSE_TIMEOUT, "timeout" },
		{ -EIO, NPU_CAUSE_DMA_ERROR, "DMA error" },
		{ -EFAULT, NPU_CAUSE_IOMMU_FAULT, "IOMMU fault" },
		{ -ECANCELED, NPU_CAUSE_CANCELLED, "cancelled" },
		{ -ENODEV, NPU_CAUSE_DEVICE_GONE, "device gone" },
		{ -EXDEV, NPU_CAUSE_OTHER, "unknown error" },
	};
	int32_t out[8 * 96];

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct npu_job *job;
		bool ok;

		out[0] = 1234;
		sim_fail_job(1, c[i].err);
		job = submit(dev, out);
		ok = npu_job_cause(job) == NPU_CAUSE_NONE && npu_sync(job, -1) == c[i].err &&
		     npu_job_cause(job) == c[i].cause && out[0] == 1234 &&
		     !strcmp(npu_strcause(npu_job_cause(job)), c[i].text) &&
		     npu_sync(job, -1) == c[i].err;
		ok &= !npu_job_start(job) && !npu_sync(job, -1) && !out[0] &&
		      npu_job_cause(job) == NPU_CAUSE_DONE;
		npu_job_free(job);
		tap_ok(ok, "%s is reported, stays, and a second start works", c[i].text);
	}
}

static void test_waiting(struct npu_dev *dev)
{
	struct npu_job_info info;
	struct npu_job *job;
	int32_t out[8 * 96];
	bool ok;

	sim_stay_busy(2);
	job = submit(dev, out);
	ok = npu_job_start(job) == -EBUSY && npu_sync(job, 0) == -EBUSY &&
	     npu_sync(job, 1000) == -ETIMEDOUT && npu_job_cause(job) == NPU_CAUSE_NONE &&
	     !npu_sync(job, 1000) && npu_job_cause(job) == NPU_CAUSE_DONE;
	npu_job_info(job, &info);
	tap_ok(ok, "a wait that expires leaves the job to be waited for again");
	tap_ok(info.jobs == 3 && info.tasks == 3 && info.k_parts == 1 &&
	       info.macs == 8 * 96 * 32, "job info");
	npu_job_free(job);
	tap_ok(!sim_bos() && !sim_shared_outputs, "no buffer is left, no output was shared");
}

static void test_refused(struct npu_dev *dev)
{
	struct npu_matmul_desc d = { .dtype = NPU_INT8_INT32, .m = 4, .n = 4, .k = 4 };
	int32_t bias[4] = { 0 }, c[16];
	int8_t a[16] = { 0 };

	d.m = 0;
	tap_ok(npu_matmul_run(dev, &d, a, a, NULL, c, NULL) == -EINVAL, "M 0");
	d.m = 4;
	d.lda = 3;
	tap_ok(npu_matmul_run(dev, &d, a, a, NULL, c, NULL) == -EINVAL, "lda below K");
	d.lda = 0;
	tap_ok(npu_matmul_run(dev, &d, a, a, bias, c, NULL) == -EINVAL, "bias on int32");
	d.dtype = NPU_INT8_INT8;
	tap_ok(npu_matmul_run(dev, &d, a, a, NULL, c, NULL) == -ERANGE, "scale 0");
	d.dtype = (enum npu_dtype)9;
	tap_ok(npu_matmul_run(dev, &d, a, a, NULL, c, NULL) == -EINVAL, "unknown type");
	d = (struct npu_matmul_desc){ .dtype = NPU_INT8_INT32, .m = UINT32_MAX, .n = 1, .k = 1 };
	tap_ok(npu_matmul_run(dev, &d, a, a, NULL, c, NULL) == -EINVAL, "M 2^32 - 1");
	tap_ok(!sim_bos(), "nothing is left behind");
}

int main(void)
{
	struct npu_dev *dev;

	npu_open(NULL, &dev);
	test_products(dev);
	test_convs(dev);
	test_causes(dev);
	test_waiting(dev);
	test_refused(dev);
	npu_close(dev);
	return tap_done();
}
