// SPDX-License-Identifier: MIT
/*
 * Programs for what sources contradict each other about, or tell of boards, on the RK3576: convolutions as libnpu
 * writes them, one of them with a word changed.
 */
#include "layer.h"
#include "prog/npu_rk3576.h"

#define OW_EVEN		0x80011111u	/* of an even number of groups of 16 channels */

#define W		RP_LAYER_W
#define H		RP_LAYER_H
#define IC		RP_LAYER_IC
#define OC		RP_LAYER_OC
#define MOST_OC		48u
#define POSITIONS	RP_LAYER_N

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

static const struct rp_layer words = {
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
	rp_layer_run(t, &words, x, w);
	rp_model(t, "all channels are written", all);
	rp_other_reading(t, "8 of 32 channels are written", few);
}

static void words_poison(struct trial *t)
{
	struct rp_layer c = words;
	double x[LINE * IC] = { 0 }, w[OC * IC] = { 0 }, sums[LINE * OC], nothing[LINE * OC];

	spread(LINE, OC, x, w);
	rp_layer_run(t, &words, x, w);
	if (t->outcome)
		return rp_not_run(t, "the product before it did not end");
	c.out = NPU_PREC_INT8;
	c.rq = (struct npu_requant) { .scale = 1 << 14, .shift = 15 };
	for (unsigned int i = 0; i < LINE * OC; i++) {
		sums[i] = rp_even(spread_sum(i, OC), 1);
		nothing[i] = POISON_BYTE;
	}
	rp_layer_run(t, &c, x, w);
	rp_model(t, "what follows a product to words is right", sums);
	rp_other_reading(t, "what follows a product to words writes nothing", nothing);
}

#define HALVES_IC	64u

static void halves(struct trial *t)
{
	struct rp_layer c = {
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
	rp_layer_run(t, &c, x, w);
	rp_model(t, "a task sums all channels", all);
	rp_other_reading(t, "a task sums 16 channels", few);
}

static void core_1(struct trial *t)
{
	struct rp_layer c = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = W, .h = H, .ic = IC, .oc = OC,
		.rq = { .scale = 1 << 14, .shift = 17 }, .core = 1,
	};
	double x[POSITIONS * IC] = { 0 }, w[OC * IC] = { 0 }, sums[POSITIONS * OC];

	spread(POSITIONS, OC, x, w);
	for (unsigned int i = 0; i < POSITIONS * OC; i++)
		sums[i] = rp_even(spread_sum(i, OC), 3);
	rp_layer_run(t, &c, x, w);
	rp_model(t, "core 1 computes in its own window of CBUF", sums);
}

/* What counts groups of channels says that they are even. */
static void group_count(struct trial *t)
{
	struct rp_layer c = {
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = W, .h = H, .ic = IC, .oc = MOST_OC,
		.rq = { .scale = 1 << 14, .shift = 17 },
	};
	double x[POSITIONS * IC] = { 0 }, w[MOST_OC * IC] = { 0 }, sums[POSITIONS * MOST_OC], first[POSITIONS * MOST_OC];

	spread(POSITIONS, MOST_OC, x, w);
	for (unsigned int i = 0; i < POSITIONS * MOST_OC; i++) {
		sums[i] = rp_even(spread_sum(i, MOST_OC), 3);
		first[i] = i / MOST_OC < W ? sums[i] : POISON_BYTE;
	}
	if (!rp_layer_begin(t, &c, x, w))
		return;
	rp_set(t, NPU_OFF76_DPU_BS_OW, OW_EVEN);
	rp_layer_finish(t, &c);
	rp_model_hangs(t, "the model refuses BS_OW of another number of groups");
	rp_other_reading(t, "BS_OW of another number of groups changes nothing", sums);
	rp_other_reading(t, "BS_OW of another number of groups leaves the first row alone", first);
}

const struct rp_program rp_rk3576[] = {
	RP_TRY("rk3576-ties", "OUT_CVT of bytes rounds ties to even", rp_try_ties),
	RP_TRY("rk3576-floor", "results of bytes below the zero point", rp_try_zero_point),
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
