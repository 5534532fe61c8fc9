// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of pooling.
 */
#include <math.h>
#include <stdlib.h>

#include "report.h"

#define ATOM		16u
#define ENABLE_POOL	(NPU_EN_PPU | NPU_EN_PPU_RDMA)
#define ENABLE_FED	(NPU_EN_DPU | NPU_EN_DPU_RDMA | NPU_EN_PPU)

/* One atom of channels from RP_X, or from the DPU, through windows without padding. */
struct pool {
	enum rp_type type;
	unsigned int method, h, w, kh, kw, sy, sx;
	uint32_t recip_h, recip_w;
	unsigned int notch;
	bool fed;
	unsigned int oh, ow;		/* filled in */
};

static unsigned int lanes(const struct pool *p)
{
	return ATOM / rp_bytes(p->type);
}

static void put_pool(struct trial *t, struct pool *p)
{
	uint32_t c = lanes(p) - 1;

	p->oh = (p->h - p->kh) / p->sy + 1;
	p->ow = (p->w - p->kw) / p->sx + 1;
	rp_set(t, OFF_PPU_S_POINTER, 0xe);
	rp_set(t, OFF_PPU_DATA_CUBE_IN_WIDTH, p->w - 1);
	rp_set(t, OFF_PPU_DATA_CUBE_IN_HEIGHT, p->h - 1);
	rp_set(t, OFF_PPU_DATA_CUBE_IN_CHANNEL, c);
	rp_set(t, OFF_PPU_DATA_CUBE_OUT_WIDTH, p->ow - 1);
	rp_set(t, OFF_PPU_DATA_CUBE_OUT_HEIGHT, p->oh - 1);
	rp_set(t, OFF_PPU_DATA_CUBE_OUT_CHANNEL, c);
	rp_set(t, OFF_PPU_OPERATION_MODE_CFG, p->notch << 16 | (uint32_t)!p->fed << 4 | p->method);
	rp_set(t, OFF_PPU_POOLING_KERNEL_CFG, (p->sy - 1) << 20 | (p->sx - 1) << 16 |
	       (p->kh - 1) << 8 | (p->kw - 1));
	rp_set(t, OFF_PPU_RECIP_KERNEL_WIDTH, p->recip_w);
	rp_set(t, OFF_PPU_RECIP_KERNEL_HEIGHT, p->recip_h);
	rp_set(t, OFF_PPU_POOLING_PADDING_CFG, 0);
	rp_set(t, OFF_PPU_PADDING_VALUE_1, 0);
	rp_set(t, OFF_PPU_PADDING_VALUE_2, 0);
	rp_set(t, OFF_PPU_DST_BASE_ADDR, t->npu->out_iova);
	rp_set(t, OFF_PPU_DST_SURF_STRIDE, (p->ow + p->notch) * p->oh * ATOM);
	rp_set(t, OFF_PPU_DATA_FORMAT, (uint32_t)p->fed << 3 | p->type);
	rp_set(t, OFF_PPU_MISC_CTRL, 3);
}

static void put_rdma(struct trial *t, const struct pool *p)
{
	rp_set(t, OFF_PPU_RDMA_S_POINTER, 0xe);
	rp_set(t, OFF_PPU_RDMA_CUBE_IN_WIDTH, p->w - 1);
	rp_set(t, OFF_PPU_RDMA_CUBE_IN_HEIGHT, p->h - 1);
	rp_set(t, OFF_PPU_RDMA_CUBE_IN_CHANNEL, lanes(p) - 1);
	rp_set(t, OFF_PPU_RDMA_SRC_BASE_ADDR, t->npu->in_iova + RP_X);
	rp_set(t, OFF_PPU_RDMA_SRC_LINE_STRIDE, p->w * ATOM);
	rp_set(t, OFF_PPU_RDMA_SRC_SURF_STRIDE, p->w * p->h * ATOM);
	rp_set(t, OFF_PPU_RDMA_DATA_FORMAT, rp_bytes(p->type));
}

static void run_pool(struct trial *t, struct pool *p, const double *v)
{
	rp_cube(t, RP_X, p->type, p->h * p->w, lanes(p), v);
	put_pool(t, p);
	put_rdma(t, p);
	rp_run(t, ENABLE_POOL);
	rp_result(t, p->type, p->oh * p->ow, lanes(p), p->oh * p->ow * ATOM);
}

static void overlap(struct trial *t, unsigned int k, unsigned int columns, const char *hangs,
		    const char *completes)
{
	static double v[2048], want[2048];
	struct pool p = {
		.type = RP_FP16, .method = NPU_CODE_POOL_MAX, .h = k, .w = columns + k - 1, .kh = k, .kw = k,
		.sy = 1, .sx = 1,
	};
	unsigned int ch;

	for (unsigned int i = 0; i < p.h * p.w * 8; i++)
		v[i] = i / 8 % p.w + i % 8 * 100;
	for (unsigned int i = 0; i < columns * 8; i++) {
		ch = i % 8;
		want[i] = i / 8 + k - 1 + ch * 100;
	}
	rp_clear(t);
	run_pool(t, &p, v);
	if (hangs) {
		rp_model_hangs(t, hangs);
		rp_other_reading(t, completes, want);
	} else {
		rp_model(t, completes, want);
	}
}

static void overlap_hangs(struct trial *t)
{
	overlap(t, 3, 32, NULL, "3x3 windows that overlap complete with an output of 32 columns");
	rp_other_hangs(t, "3x3 windows that overlap hang with an output of 32 columns");
	overlap(t, 5, 17, "5x5 windows that overlap hang with an input of 21 columns",
		"5x5 windows that overlap complete with an input of 21 columns");
}

/* One window of a whole surface, whose last position is the largest. */
static void windows_of_16(struct trial *t)
{
	static double v[16 * 16 * 8];
	double last[8], first[8];
	struct pool p = {
		.type = RP_INT16, .method = NPU_CODE_POOL_MAX, .h = 16, .w = 16, .kh = 16, .kw = 16, .sy = 1,
		.sx = 1,
	};

	for (unsigned int i = 0; i < RP_COUNT(v); i++)
		v[i] = i;
	for (unsigned int i = 0; i < 8; i++) {
		last[i] = v[255 * 8 + i];
		first[i] = v[i];
	}
	run_pool(t, &p, v);
	rp_model(t, "a window of 16x16 without padding gives its largest value", last);
	rp_other_reading(t, "a window of 16x16 without padding gives its first value", first);
}

/* 127 + 127 with reciprocals of 1. */
static void average_wraps(struct trial *t)
{
	double v[32], wraps[16], saturates[16];
	struct pool p = {
		.type = RP_INT8, .method = NPU_CODE_POOL_AVERAGE, .h = 1, .w = 2, .kh = 1, .kw = 2, .sy = 1,
		.sx = 1,
		.recip_h = 0x10000, .recip_w = 0x10000,
	};

	for (unsigned int i = 0; i < 32; i++)
		v[i] = 127;
	for (unsigned int i = 0; i < 16; i++) {
		wraps[i] = -2;
		saturates[i] = 127;
	}
	run_pool(t, &p, v);
	rp_model(t, "an average beyond 8 bits wraps", wraps);
	rp_other_reading(t, "an average beyond 8 bits saturates", saturates);
}

/* 2048 swallows 1 in sums of halves. The reciprocal is the half 21840 / 65536. */
static void average_floats(struct trial *t)
{
	static const double in[9] = { 2048, 1, 1, 1, 1, 1, 1, 1, 1 };
	double v[72], wide[8], narrow[8];
	const float third = 21840 / 65536.0f;
	struct pool p = {
		.type = RP_FP16, .method = NPU_CODE_POOL_AVERAGE, .h = 3, .w = 3, .kh = 3, .kw = 3, .sy = 1,
		.sx = 1,
		.recip_h = 0x7555, .recip_w = 0x7555,
	};

	for (unsigned int i = 0; i < 72; i++)
		v[i] = in[i / 8];
	for (unsigned int i = 0; i < 8; i++) {
		volatile float sum = 2056 * third;

		wide[i] = (float)(_Float16)(sum * third);
		sum = 2048 * third;
		narrow[i] = (float)(_Float16)(sum * third);
	}
	run_pool(t, &p, v);
	rp_model(t, "averages of halves are summed in fp32 and rounded once", wide);
	rp_other_reading(t, "averages of halves are summed in halves", narrow);
}

/* Lines of two positions that are one apart. */
static void pool_notch(struct trial *t)
{
	double v[128], want[40], none[40];
	struct pool p = {
		.type = RP_INT16, .method = NPU_CODE_POOL_MAX, .h = 4, .w = 4, .kh = 2, .kw = 2, .sy = 2,
		.sx = 2,
		.notch = 1,
	};

	for (unsigned int i = 0; i < 128; i++)
		v[i] = i;
	run_pool(t, &p, v);
	for (unsigned int i = 0; i < 40; i++) {
		want[i] = none[i] = (int16_t)(RP_POISON * 0x101);
		rp_read(t, i, RP_INT16, 2 * i);
	}
	for (unsigned int i = 0; i < 32; i++) {
		unsigned int pos = i / 8, last = (2 * (pos / 2) + 1) * 4 + 2 * (pos % 2) + 1;

		want[pos / 2 * 24 + pos % 2 * 8 + i % 8] = v[last * 8 + i % 8];
		none[i] = v[last * 8 + i % 8];
	}
	rp_model(t, "NOTCH leaves positions out behind each line", want);
	rp_other_reading(t, "NOTCH changes nothing", none);
}

/* The DPU hands four positions over, of which the PPU takes the larger of each two. */
static void feed(struct trial *t, double want[32])
{
	struct pool p = {
		.type = RP_INT8, .method = NPU_CODE_POOL_MAX, .h = 1, .w = 4, .kh = 1, .kw = 2, .sy = 1,
		.sx = 2,
		.fed = true,
	};
	struct rp_fly f = { RP_INT8, RP_INT8, .n = 64 };
	double v[64];

	for (unsigned int i = 0; i < 64; i++)
		v[i] = (int)i - 32;
	for (unsigned int i = 0; i < 32; i++)
		want[i] = v[(i / 16 * 2 + 1) * 16 + i % 16];
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_FEATURE_MODE_CFG, 0x1e3);
	put_pool(t, &p);
}

static void dpu_feeds(struct trial *t)
{
	double want[32];

	feed(t, want);
	rp_run(t, ENABLE_FED);
	rp_result(t, RP_INT8, 2, 16, 32);
	rp_model(t, "the DPU hands its results over to the PPU", want);
	rp_other_hangs(t, "a task in which the DPU feeds the PPU hangs");
}

static void idle_rdma(struct trial *t)
{
	struct pool p = { .type = RP_INT8, .h = 1, .w = 4 };
	double want[32];

	feed(t, want);
	put_rdma(t, &p);
	rp_run(t, ENABLE_FED | NPU_EN_PPU_RDMA);
	rp_result(t, RP_INT8, 2, 16, 32);
	rp_model_hangs(t, "PPU_RDMA enabled beside a DPU that feeds the PPU hangs");
	rp_other_reading(t, "PPU_RDMA enabled beside a DPU that feeds the PPU does no harm", want);
}

static void pool_done(struct trial *t)
{
	double v[32], want[16];
	struct pool p = {
		.type = RP_INT8, .method = NPU_CODE_POOL_MAX, .h = 1, .w = 2, .kh = 1, .kw = 2, .sy = 1,
		.sx = 1,
	};

	for (unsigned int i = 0; i < 32; i++)
		v[i] = i;
	for (unsigned int i = 0; i < 16; i++)
		want[i] = v[16 + i];
	t->dpu_done = true;
	run_pool(t, &p, v);
	rp_model_hangs(t, "pooling does not set the DPU's interrupt bits");
	rp_other_reading(t, "pooling sets the DPU's interrupt bits, too", want);
}

const struct rp_program rp_ppu[] = {
	RP_TRY_KIND("ppu-dpu-done", "interrupt bits of a task that pools", pool_done, RP_NEEDS_CORE),
	RP_TRY("ppu-overlap", "overlapping windows in wide lines", overlap_hangs),
	RP_TRY("ppu-16", "pooling windows of 16x16", windows_of_16),
	RP_TRY("ppu-notch", "a notch behind each line of the output", pool_notch),
	RP_TRY("ppu-average-wraps", "integer averages beyond their type", average_wraps),
	RP_TRY("ppu-average-floats", "sums of averages of halves", average_floats),
	RP_TRY("ppu-fed", "a DPU that feeds the PPU", dpu_feeds),
	RP_TRY("ppu-idle-rdma", "PPU_RDMA enabled with nothing to do", idle_rdma),
	{ 0 }
};
