// SPDX-License-Identifier: MIT
/*
 * The register program of one convolution of any precision, for statements about shapes and
 * types that libnpu's builder does not make.
 */
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define ATOM	16u

static unsigned int kernel_group(enum rp_type type)
{
	return type == RP_INT8 ? 32 : 16;
}

static unsigned int channel_group(const struct rp_conv *c)
{
	unsigned int group = c->in == RP_TF32 ? 16 : 32;

	return c->depthwise ? 2 * kernel_group(c->in) : group;
}

static unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Kernel groups, channel groups, taps, kernels, channels. */
static void put_weights(struct trial *t, const struct rp_conv *c, const double *w)
{
	unsigned int kg = c->depthwise ? 1 : kernel_group(c->in), cg = channel_group(c);
	unsigned int taps = c->kh * c->kw;
	uint32_t at = RP_W;

	for (unsigned int k0 = 0; k0 < c->kernels; k0 += kg) {
		for (unsigned int c0 = 0; c0 < c->stored; c0 += cg) {
			for (unsigned int i = 0; i < taps * min(kg, c->kernels - k0); i++) {
				unsigned int tap = i / min(kg, c->kernels - k0);
				unsigned int k = k0 + i % min(kg, c->kernels - k0);

				for (unsigned int ch = c0; ch < min(c0 + cg, c->stored); ch++) {
					rp_put(t, at, c->in, w[(k * taps + tap) * c->stored + ch]);
					at += rp_bytes(c->in);
				}
			}
		}
	}
}

static void put_cna(struct trial *t, const struct rp_conv *c)
{
	uint32_t kernel = c->kh * c->kw * c->stored * rp_bytes(c->in);
	uint32_t mode = c->depthwise ? 3 : 0;

	rp_set(t, OFF_CNA_CONV_CON1, (uint32_t)c->in << 7 | (uint32_t)c->in << 4 | mode);
	rp_set(t, OFF_CNA_CONV_CON2, (c->h + 1) << 4);
	rp_set(t, OFF_CNA_CONV_CON3, 1 << 3 | 1);
	rp_set(t, OFF_CNA_DATA_SIZE0, c->w << 16 | c->h);
	rp_set(t, OFF_CNA_DATA_SIZE1, (c->ic - 1) << 16 | c->ic);
	rp_set(t, OFF_CNA_DATA_SIZE2, c->ow);
	rp_set(t, OFF_CNA_DATA_SIZE3, c->ow * c->oh);
	rp_set(t, OFF_CNA_WEIGHT_SIZE0, kernel * c->kernels);
	rp_set(t, OFF_CNA_WEIGHT_SIZE1, kernel);
	rp_set(t, OFF_CNA_WEIGHT_SIZE2, c->kw << 24 | c->kh << 16 | c->kernels);
	rp_set(t, OFF_CNA_CBUF_CON0, 6 << 4 | 6);
	rp_set(t, OFF_CNA_CBUF_CON1, (c->w * c->ic * rp_bytes(c->in) + 63) / 64);
	rp_set(t, OFF_CNA_CVT_CON0, 0xb);
	rp_set(t, OFF_CNA_CVT_CON1, 1 << 16);
	rp_set(t, OFF_CNA_CVT_CON2, 1 << 16);
	rp_set(t, OFF_CNA_CVT_CON3, 1 << 16);
	rp_set(t, OFF_CNA_CVT_CON4, 1 << 16);
	rp_set(t, OFF_CNA_FC_CON0, 0);
	rp_set(t, OFF_CNA_FC_CON1, 0);
	rp_set(t, OFF_CNA_PAD_CON0, c->left << 4 | c->top);
	rp_set(t, OFF_CNA_FEATURE_DATA_ADDR, t->npu->in_iova + RP_X);
	rp_set(t, OFF_CNA_FC_CON2, 0);
	rp_set(t, OFF_CNA_DMA_CON0, 15 << 16 | 15);
	rp_set(t, OFF_CNA_DMA_CON1, 4 * c->w);
	rp_set(t, OFF_CNA_DMA_CON2, c->w * (c->h - 4) & 0xfffffff);
	rp_set(t, OFF_CNA_FC_DATA_SIZE0, c->w << 16 | c->h);
	rp_set(t, OFF_CNA_FC_DATA_SIZE1, c->ic);
	rp_set(t, OFF_CNA_DCOMP_CTRL, 0);
	rp_set(t, OFF_CNA_DCOMP_REGNUM, 0);
	rp_set(t, OFF_CNA_DCOMP_ADDR0, t->npu->in_iova + RP_W);
	for (uint32_t i = 0; i < 16; i++)
		rp_set(t, OFF_CNA_DCOMP_AMOUNT0 + 4 * i, 0);
	rp_set(t, OFF_CNA_CVT_CON5, 0);
	rp_set(t, OFF_CNA_PAD_CON1, 0);
}

static void put_core(struct trial *t, const struct rp_conv *c)
{
	rp_set(t, OFF_CORE_MISC_CFG, (uint32_t)c->in << 8 | (uint32_t)c->depthwise << 1 | 1);
	rp_set(t, OFF_CORE_DATAOUT_SIZE_0, (c->oh - 1) << 16 | (c->ow - 1));
	rp_set(t, OFF_CORE_DATAOUT_SIZE_1, c->written - 1);
	rp_set(t, OFF_CORE_CLIP_TRUNCATE, 0);
	rp_set(t, OFF_CORE_UNKNOWN_3030, 0);
}

static void put_dpu(struct trial *t, const struct rp_conv *c)
{
	uint32_t surfaces = kernel_group(c->in) * rp_bytes(c->out) / ATOM - 1;
	uint32_t mode = c->depthwise ? 3 : 0, pitch = c->ow * c->oh * ATOM;

	/* Groups of depthwise channels are twice as large, but SIZE_E ends at 8 surfaces. */
	if (c->depthwise && surfaces < 4)
		surfaces = 2 * surfaces + 1;
	rp_put_dpu(t, &(struct rp_dpu){
		.mode = 0x1e4 | mode << 3, .in = c->in == RP_TF32 ? RP_FP32 : c->in, .out = c->out,
		.w = c->ow, .h = c->oh, .channels = c->oc, .written = c->written,
		.ow_cfg = surfaces * 0x124 | 2, .pitch = pitch, .add = pitch * (surfaces + 1),
	});
}

/* Beside a CORE with every client off, the form that is known to complete. */
static void put_rdma(struct trial *t, const struct rp_conv *c)
{
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, c->ow - 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, c->oh - 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, c->written - 1);
	rp_set(t, OFF_RDMA_SRC_BASE_ADDR, 0);
	rp_set(t, OFF_RDMA_BRDMA_CFG, 0);
	rp_set(t, OFF_RDMA_BS_BASE_ADDR, t->npu->in_iova + RP_BS);
	rp_set(t, OFF_RDMA_NRDMA_CFG, 0);
	rp_set(t, OFF_RDMA_ERDMA_CFG, 1);
	rp_set(t, OFF_RDMA_FEATURE_MODE_CFG, (uint32_t)c->depthwise * 6 | 15 << 11 | 1 << 4);
	rp_set(t, OFF_RDMA_SRC_DMA_CFG, 0);
	rp_set(t, OFF_RDMA_SURF_NOTCH, 0);
	rp_set(t, OFF_RDMA_WEIGHT, 0x01010101);
	rp_set(t, OFF_RDMA_EW_SURF_NOTCH, 0);
}

void rp_conv(struct trial *t, struct rp_conv *c, const double *x, const double *w)
{
	c->kh = c->kh ? c->kh : 1;
	c->kw = c->kw ? c->kw : 1;
	c->stored = c->stored ? c->stored : c->ic;
	c->oh = c->oh ? c->oh : c->h;
	c->ow = c->ow ? c->ow : c->w;
	c->written = c->written ? c->written : c->oc;
	c->kernels = c->kernels ? c->kernels : c->depthwise ? 1 : c->oc;
	rp_cube(t, RP_X, c->in, c->h * c->w, c->ic, x);
	put_weights(t, c, w);
	rp_set(t, OFF_DPU_S_POINTER, 0xe);
	rp_set(t, OFF_RDMA_S_POINTER, 0xe);
	put_cna(t, c);
	put_core(t, c);
	put_dpu(t, c);
	put_rdma(t, c);
}

void rp_conv_run(struct trial *t, const struct rp_conv *c)
{
	rp_run(t, NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU | NPU_EN_DPU_RDMA);
	rp_result(t, c->out, c->oh * c->ow, c->oc, c->oh * c->ow * ATOM);
}

double rp_conv_sum(const struct rp_conv *c, const double *x, const double *w, unsigned int i,
		   double pad)
{
	unsigned int pos = i / c->oc, k = i % c->oc, taps = c->kh * c->kw;
	double sum = 0;

	for (unsigned int tap = 0; tap < taps; tap++) {
		int yy = (int)(pos / c->ow + tap / c->kw) - (int)c->top;
		int xx = (int)(pos % c->ow + tap % c->kw) - (int)c->left;
		bool in = yy >= 0 && xx >= 0 && yy < (int)c->h && xx < (int)c->w;
		unsigned int first = c->depthwise ? k : 0, end = c->depthwise ? k + 1 : c->ic;

		for (unsigned int ch = first; ch < end; ch++) {
			double v = in ? x[((unsigned int)yy * c->w + (unsigned int)xx) * c->ic + ch]
				      : pad;

			sum += v * w[((c->depthwise ? 0 : k) * taps + tap) * c->stored + ch];
		}
	}
	return sum;
}
