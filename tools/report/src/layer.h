/* SPDX-License-Identifier: MIT */
/*
 * Programs as libnpu writes them for the chip, and statements that several chips have programs for.
 */
#ifndef LAYER_H
#define LAYER_H

#include "npu_prog.h"
#include "report.h"

/* A convolution with kernels of one tap; its tensors are cubes, and bytes have a factor of 1 for each channel. */
struct rp_layer {
	uint32_t core;
	enum npu_prec in, out;
	unsigned int w, h, ic, oc;
	struct npu_requant rq;
};

/* Begins a task without its end; false if libnpu makes none. */
bool rp_layer_begin(struct trial *t, const struct rp_layer *l, const double *x, const double *w);
/* Ends it and runs it. */
void rp_layer_finish(struct trial *t, const struct rp_layer *l);
void rp_layer_run(struct trial *t, const struct rp_layer *l, const double *x, const double *w);

#define RP_LAYER_W	4u
#define RP_LAYER_H	4u
#define RP_LAYER_IC	32u
#define RP_LAYER_OC	32u
#define RP_LAYER_N	(RP_LAYER_W * RP_LAYER_H)

/* The first channel is @v at each position, and each kernel takes it alone. */
void rp_layer_pass(double x[RP_LAYER_N * RP_LAYER_IC], double w[RP_LAYER_OC * RP_LAYER_IC], const double v[RP_LAYER_N]);
/* Numbers of both signs, most of them odd. */
extern const double rp_layer_odd[RP_LAYER_N];

/* ---- statements about bytes ---- */

/* How OUT_CVT rounds. */
void rp_try_ties(struct trial *t);
/* What becomes of results below their zero point. */
void rp_try_zero_point(struct trial *t);
/* The register at @off has 1 bit of sums rounded off by @value. */
void rp_try_truncate(struct trial *t, uint32_t off, uint32_t value);
/* The DPU alone adds two tensors. */
void rp_try_sum(struct trial *t);
/* It looks bytes up, in tables that tasks before it load. */
void rp_try_map(struct trial *t);
/* A pooling that nothing follows ends. */
void rp_try_pool(struct trial *t);

#endif /* LAYER_H */
