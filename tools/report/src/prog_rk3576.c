// SPDX-License-Identifier: MIT
/*
 * Programs for what sources contradict each other about, or tell of boards, on the RK3576: convolutions as libnpu
 * writes them, one of them with a word changed.
 */
#include "npu_prog.h"
#include "prog/npu_rk3576.h"
#include "report.h"

#define SOC		3576
#define ENABLE		(NPU_EN_CNA | NPU_EN_CORE | NPU_EN_DPU | NPU_EN_DPU_RDMA)
#define TAIL		4u

/* Operands of bytes, by groups of eight channels: words, zero points, factors (row stage.rk3576-record). */
#define GROUP		8u
#define RECORD		64u
#define FACTORS		48u

#define OW_EVEN		0x80011111u	/* of an even number of groups of 16 channels */

#define W		4u
#define H		4u
#define IC		32u
#define OC		32u
#define MOST_OC		48u
#define POSITIONS	(W * H)

/* Kernels of one tap. */
struct conv {
	enum npu_prec in, out;
	unsigned int w, h, ic, oc;
	struct npu_requant rq;
	uint32_t core;
};

static void put_operands(struct trial *t, const struct conv *c, const double *x, const double *w)
{
	unsigned int bytes = rp_bytes((enum rp_type)c->in);

	rp_cube(t, RP_X, (enum rp_type)c->in, c->w * c->h, c->ic, x);
	for (unsigned int n = 0; n < c->oc; n++)
		for (unsigned int k = 0; k < c->ic; k++)
			rp_put(t, RP_W + (uint32_t)npu_weight_offset(bytes, 1, c->ic, n, 0, k), (enum rp_type)c->in,
			       w[n * c->ic + k]);
	for (unsigned int n = 0; n < c->oc && c->in == NPU_PREC_INT8; n++)
		rp_put(t, RP_BS + n / GROUP * RECORD + FACTORS + n % GROUP * 2, RP_INT16, 1);
}

/* Begins a program without its end; false if libnpu makes none. */
static bool begin(struct trial *t, const struct conv *c, const double *x, const double *w)
{
	struct npu_prog *p = npu_prog_new_for(npu_chip_of_soc(SOC), c->core);
	struct npu_conv_task task = {
		.in = c->in, .out = c->out, .in_w = c->w, .in_h = c->h, .in_h_full = c->h, .in_c = c->ic,
		.out_w = c->w, .out_h = c->h, .out_h_full = c->h, .out_c = c->oc, .kw = 1, .kh = 1,
		.stride_x = 1, .stride_y = 1, .dil_x = 1, .dil_y = 1, .rq = c->rq,
		.has_bias = c->out != NPU_PREC_INT32, .in_iova = t->npu->in_iova + RP_X,
		.weight_iova = t->npu->in_iova + RP_W, .bias_iova = t->npu->in_iova + RP_BS,
		.zeros_iova = t->npu->in_iova + RP_BN, .out_iova = t->npu->out_iova,
	};
	const uint64_t *entry;

	rp_clear(t);
	put_operands(t, c, x, w);
	if (!p || npu_prog_conv(p, &task)) {
		rp_not_run(t, p ? npu_prog_message(p) : "out of memory");
		npu_prog_free(p);
		return false;
	}
	entry = npu_prog_entries(p);
	for (size_t i = 0; i < npu_prog_count(p) - TAIL; i++)
		rp_entry(t, (uint32_t)(entry[i] >> 48), (uint32_t)(entry[i] & 0xffff), (uint32_t)(entry[i] >> 16));
	npu_prog_free(p);
	return true;
}

static void finish(struct trial *t, const struct conv *c)
{
	t->core_mask = c->core ? 1u << c->core : 0;
	rp_run(t, ENABLE);
	rp_result(t, (enum rp_type)c->out, c->w * c->h, c->oc, c->w * c->h * 16);
}

static void run(struct trial *t, const struct conv *c, const double *x, const double *w)
{
	if (begin(t, c, x, w))
		finish(t, c);
}

/* The first channel is @v at each position; every kernel takes it alone. */
static void pass(double x[POSITIONS * IC], double w[OC * IC], const double v[POSITIONS])
{
	for (unsigned int i = 0; i < POSITIONS; i++)
		x[i * IC] = v[i];
	for (unsigned int n = 0; n < OC; n++)
		w[n * IC] = 1;
}

static const double odd[POSITIONS] = { -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, -7 };

static void ties(struct trial *t)
{
	struct conv c = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = W, .h = H, .ic = IC, .oc = OC,
		.rq = { .scale = 1 << 14, .shift = 15 },
	};
	double x[POSITIONS * IC] = { 0 }, w[OC * IC] = { 0 };
	double even[POSITIONS * OC], up[POSITIONS * OC], away[POSITIONS * OC];

	pass(x, w, odd);
	for (unsigned int i = 0; i < POSITIONS * OC; i++) {
		even[i] = rp_even(odd[i / OC], 1);
		up[i] = rp_upwards(odd[i / OC], 1);
		away[i] = rp_away(odd[i / OC], 1);
	}
	run(t, &c, x, w);
	rp_model(t, "ties go to even", even);
	rp_other_reading(t, "ties go up", up);
	rp_other_reading(t, "ties go away from zero", away);
}

#define ZERO_POINT	5

static void zero_point(struct trial *t)
{
	struct conv c = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = W, .h = H, .ic = IC, .oc = OC,
		.rq = { .scale = 1 << 14, .shift = 14, .zp = ZERO_POINT },
	};
	double x[POSITIONS * IC] = { 0 }, w[OC * IC] = { 0 };
	double open[POSITIONS * OC], cut[POSITIONS * OC];

	pass(x, w, odd);
	for (unsigned int i = 0; i < POSITIONS * OC; i++) {
		open[i] = odd[i / OC] + ZERO_POINT;
		cut[i] = (odd[i / OC] > 0 ? odd[i / OC] : 0) + ZERO_POINT;
	}
	run(t, &c, x, w);
	rp_model(t, "with open clamps results go below the zero point", open);
	rp_other_reading(t, "results are cut off at the zero point", cut);
}

/* A sum of its own for each position and channel. */
static void spread(unsigned int positions, unsigned int oc, double *x, double *w)
{
	for (unsigned int i = 0; i < positions; i++)
		x[i * IC] = i + 1;
	for (unsigned int n = 0; n < oc; n++)
		w[n * IC] = (double)n - 20;
}

static double spread_sum(unsigned int i, unsigned int oc)
{
	return (i / oc + 1) * ((double)(i % oc) - 20);
}

#define LINE		8u
#define POISON_WORD	((double)(int32_t)0xa5a5a5a5)
#define POISON_BYTE	((double)(int8_t)RP_POISON)

static const struct conv words = {
	.in = NPU_PREC_INT8, .out = NPU_PREC_INT32, .w = LINE, .h = 1, .ic = IC, .oc = OC,
};

static void words_of_bytes(struct trial *t)
{
	double x[LINE * IC] = { 0 }, w[OC * IC] = { 0 }, all[LINE * OC], few[LINE * OC];

	spread(LINE, OC, x, w);
	for (unsigned int i = 0; i < LINE * OC; i++) {
		all[i] = spread_sum(i, OC);
		few[i] = i % OC < 8 ? all[i] : POISON_WORD;
	}
	run(t, &words, x, w);
	rp_model(t, "all channels are written", all);
	rp_other_reading(t, "8 of 32 channels are written", few);
}

static void words_poison(struct trial *t)
{
	struct conv c = words;
	double x[LINE * IC] = { 0 }, w[OC * IC] = { 0 }, sums[LINE * OC], nothing[LINE * OC];

	spread(LINE, OC, x, w);
	run(t, &words, x, w);
	if (t->outcome)
		return rp_not_run(t, "the product before it did not end");
	c.out = NPU_PREC_INT8;
	c.rq = (struct npu_requant) { .scale = 1 << 14, .shift = 15 };
	for (unsigned int i = 0; i < LINE * OC; i++) {
		sums[i] = rp_even(spread_sum(i, OC), 1);
		nothing[i] = POISON_BYTE;
	}
	run(t, &c, x, w);
	rp_model(t, "what follows a product to words is right", sums);
	rp_other_reading(t, "what follows a product to words writes nothing", nothing);
}

#define HALVES_IC	64u

static void halves(struct trial *t)
{
	struct conv c = {
		.in = NPU_PREC_FP16, .out = NPU_PREC_FP16, .w = LINE, .h = 1, .ic = HALVES_IC, .oc = OC,
	};
	double x[LINE * HALVES_IC], w[OC * HALVES_IC], all[LINE * OC], few[LINE * OC];

	for (unsigned int i = 0; i < LINE * HALVES_IC; i++)
		x[i] = i / HALVES_IC + 1;
	for (unsigned int i = 0; i < OC * HALVES_IC; i++)
		w[i] = 1;
	for (unsigned int i = 0; i < LINE * OC; i++) {
		all[i] = HALVES_IC * (i / OC + 1.0);
		few[i] = 16 * (i / OC + 1.0);
	}
	run(t, &c, x, w);
	rp_model(t, "a task sums all channels", all);
	rp_other_reading(t, "a task sums 16 channels", few);
}

static void core_1(struct trial *t)
{
	struct conv c = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = W, .h = H, .ic = IC, .oc = OC,
		.rq = { .scale = 1 << 14, .shift = 17 }, .core = 1,
	};
	double x[POSITIONS * IC] = { 0 }, w[OC * IC] = { 0 }, sums[POSITIONS * OC];

	spread(POSITIONS, OC, x, w);
	for (unsigned int i = 0; i < POSITIONS * OC; i++)
		sums[i] = rp_even(spread_sum(i, OC), 3);
	run(t, &c, x, w);
	rp_model(t, "core 1 computes in its own window of CBUF", sums);
}

/* What counts groups of channels says that they are even. */
static void group_count(struct trial *t)
{
	struct conv c = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = W, .h = H, .ic = IC, .oc = MOST_OC,
		.rq = { .scale = 1 << 14, .shift = 17 },
	};
	double x[POSITIONS * IC] = { 0 }, w[MOST_OC * IC] = { 0 }, sums[POSITIONS * MOST_OC], first[POSITIONS * MOST_OC];

	spread(POSITIONS, MOST_OC, x, w);
	for (unsigned int i = 0; i < POSITIONS * MOST_OC; i++) {
		sums[i] = rp_even(spread_sum(i, MOST_OC), 3);
		first[i] = i / MOST_OC < W ? sums[i] : POISON_BYTE;
	}
	if (!begin(t, &c, x, w))
		return;
	rp_set(t, NPU_OFF76_DPU_BS_OW, OW_EVEN);
	finish(t, &c);
	rp_model_hangs(t, "the model refuses BS_OW of another number of groups");
	rp_other_reading(t, "BS_OW of another number of groups changes nothing", sums);
	rp_other_reading(t, "BS_OW of another number of groups leaves the first row alone", first);
}

const struct rp_program rp_rk3576[] = {
	RP_TRY("rk3576-ties", "OUT_CVT of bytes rounds ties to even", ties),
	RP_TRY("rk3576-floor", "results of bytes below the zero point", zero_point),
	RP_TRY("rk3576-words", "a product of bytes to words writes all channels", words_of_bytes),
	RP_TRY("rk3576-words-next", "a product of bytes to words leaves the DPU as it was", words_poison),
	RP_TRY("rk3576-halves", "a convolution of halves sums all channels in one task", halves),
	RP_TRY("rk3576-core-1", "a program in the window of CBUF of core 1", core_1),
	RP_TRY_KIND("rk3576-groups", "BS_OW that counts another number of groups of channels", group_count, RP_REFUSED),
	RP_WHY("rk3576-both", "both cores side by side, each in its window of CBUF",
	       "it takes two jobs at once: see rknpu_libnpu_bytes of the selftests"),
	RP_WHY("rk3576-pairs", "halves of a layer for both cores", "libnpu has no such programs"),
	RP_WHY("rk3576-pixels", "offsets of the input converter, padding beside packed pixels",
	       "libnpu has no programs for packed pixels"),
	{ 0 }
};
