// SPDX-License-Identifier: MIT
/*
 * Makes programs as libnpu writes them for a chip, and tries statements that several chips have programs for.
 */
#include "layer.h"
#include "prog/npu_task.h"

/* Entries at the end of a task. */
#define TAIL		4u
#define HALFWORD	2u

const double rp_layer_odd[RP_LAYER_N] = { -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, -7 };

/* ---- programs ---- */

static struct npu_prog *new_prog(struct trial *t, uint32_t core)
{
	const struct npu_chip *chip = npu_chip_of_soc(t->npu->soc);

	rp_clear(t);
	t->atom = chip->atom;
	return npu_prog_new_for(chip, core);
}

/*
 * Takes over the tasks, but for the end of the last one, and frees them. Returns what the last one enables; 0: libnpu
 * has made none.
 */
static uint32_t take(struct trial *t, struct npu_prog *p)
{
	uint32_t enable = 0;

	if (!p || npu_prog_error(p))
		rp_not_run(t, p ? npu_prog_message(p) : "out of memory");
	for (size_t task = 0; p && !npu_prog_error(p) && task < npu_prog_ntasks(p); task++) {
		const uint64_t *entry = npu_prog_entries(p);
		size_t first, count;

		if (task)
			rp_close(t, enable);
		npu_prog_task(p, task, &first, &count);
		entry += first;
		for (size_t i = 0; i < count - TAIL; i++)
			rp_entry(t, (uint32_t)(entry[i] >> 48), (uint32_t)(entry[i] & 0xffff),
				 (uint32_t)(entry[i] >> 16));
		enable = (uint32_t)(entry[count - 1] >> 16);
	}
	npu_prog_free(p);
	return enable;
}

/* Of groups of channels: words, zero points, factors. A chip whose operands are words has factors of 1. */
static void put_factors(struct trial *t, const struct npu_chip *chip, unsigned int n)
{
	unsigned int group = chip->operand_channels, first;

	if (!group)
		return;
	first = n / group * group * chip->operand_bytes + group * (chip->operand_bytes - HALFWORD);
	rp_put(t, RP_BS + first + n % group * HALFWORD, RP_INT16, 1 << chip->factor_bits);
}

static void put_operands(struct trial *t, const struct rp_layer *l, const double *x, const double *w)
{
	unsigned int bytes = rp_bytes((enum rp_type)l->in);

	rp_cube(t, RP_X, (enum rp_type)l->in, l->w * l->h, l->ic, x);
	for (unsigned int n = 0; n < l->oc; n++)
		for (unsigned int k = 0; k < l->ic; k++)
			rp_put(t, RP_W + (uint32_t)npu_weight_offset(bytes, 1, l->ic, n, 0, k), (enum rp_type)l->in,
			       w[n * l->ic + k]);
	for (unsigned int n = 0; n < l->oc && l->in == NPU_PREC_INT8; n++)
		put_factors(t, npu_chip_of_soc(t->npu->soc), n);
}

bool rp_layer_begin(struct trial *t, const struct rp_layer *l, const double *x, const double *w)
{
	struct npu_prog *p = new_prog(t, l->core);
	struct npu_conv_task task = {
		.in = l->in, .out = l->out, .in_w = l->w, .in_h = l->h, .in_h_full = l->h, .in_c = l->ic,
		.out_w = l->w, .out_h = l->h, .out_h_full = l->h, .out_c = l->oc, .kw = 1, .kh = 1,
		.stride_x = 1, .stride_y = 1, .dil_x = 1, .dil_y = 1, .rq = l->rq,
		.has_bias = l->out != NPU_PREC_INT32, .in_iova = t->npu->in_iova + RP_X,
		.weight_iova = t->npu->in_iova + RP_W, .bias_iova = t->npu->in_iova + RP_BS,
		.zeros_iova = t->npu->in_iova + RP_BN, .out_iova = t->npu->out_iova,
	};

	put_operands(t, l, x, w);
	if (p)
		npu_prog_conv(p, &task);
	t->enable = take(t, p);
	return t->enable;
}

void rp_layer_finish(struct trial *t, const struct rp_layer *l)
{
	t->core_mask = l->core ? 1u << l->core : 0;
	rp_run(t, t->enable);
	rp_result(t, (enum rp_type)l->out, l->w * l->h, l->oc, l->w * l->h * t->atom);
}

void rp_layer_run(struct trial *t, const struct rp_layer *l, const double *x, const double *w)
{
	if (rp_layer_begin(t, l, x, w))
		rp_layer_finish(t, l);
}

void rp_layer_pass(double x[RP_LAYER_N * RP_LAYER_IC], double w[RP_LAYER_OC * RP_LAYER_IC], const double v[RP_LAYER_N])
{
	for (unsigned int i = 0; i < RP_LAYER_N; i++)
		x[i * RP_LAYER_IC] = v[i];
	for (unsigned int n = 0; n < RP_LAYER_OC; n++)
		w[n * RP_LAYER_IC] = 1;
}

/* ---- statements ---- */

#define VALUES		(RP_LAYER_N * RP_LAYER_OC)
#define ONE		((struct npu_requant){ .scale = 1 << 14, .shift = 14 })
#define HALF		((struct npu_requant){ .scale = 1 << 14, .shift = 15 })

static struct rp_layer layer_of(struct npu_requant rq)
{
	return (struct rp_layer){
		.in = NPU_PREC_INT8, .out = NPU_PREC_INT8, .w = RP_LAYER_W, .h = RP_LAYER_H,
		.ic = RP_LAYER_IC, .oc = RP_LAYER_OC, .rq = rq,
	};
}

/* What halves of the odd numbers are rounded to. */
struct roundings {
	double even[VALUES], up[VALUES], away[VALUES];
};

static void round_halves(struct roundings *r)
{
	for (unsigned int i = 0; i < VALUES; i++) {
		double v = rp_layer_odd[i / RP_LAYER_OC];

		r->even[i] = rp_even(v, 1);
		r->up[i] = rp_upwards(v, 1);
		r->away[i] = rp_away(v, 1);
	}
}

static void read_roundings(struct trial *t, const struct roundings *r)
{
	rp_model(t, "ties go to even", r->even);
	rp_other_reading(t, "ties go up", r->up);
	rp_other_reading(t, "ties go away from zero", r->away);
}

void rp_try_ties(struct trial *t)
{
	struct rp_layer l = layer_of(HALF);
	double x[RP_LAYER_N * RP_LAYER_IC] = { 0 }, w[RP_LAYER_OC * RP_LAYER_IC] = { 0 };
	struct roundings r;

	rp_layer_pass(x, w, rp_layer_odd);
	round_halves(&r);
	rp_layer_run(t, &l, x, w);
	read_roundings(t, &r);
}

void rp_try_truncate(struct trial *t, uint32_t off, uint32_t value)
{
	struct rp_layer l = layer_of(ONE);
	double x[RP_LAYER_N * RP_LAYER_IC] = { 0 }, w[RP_LAYER_OC * RP_LAYER_IC] = { 0 }, whole[VALUES];
	struct roundings r;

	rp_layer_pass(x, w, rp_layer_odd);
	round_halves(&r);
	for (unsigned int i = 0; i < VALUES; i++)
		whole[i] = rp_layer_odd[i / RP_LAYER_OC];
	if (!rp_layer_begin(t, &l, x, w))
		return;
	rp_set(t, off, value);
	rp_layer_finish(t, &l);
	read_roundings(t, &r);
	rp_other_reading(t, "no bit is rounded off", whole);
}

#define ZERO_POINT	5

void rp_try_zero_point(struct trial *t)
{
	struct rp_layer l = layer_of(ONE);
	double x[RP_LAYER_N * RP_LAYER_IC] = { 0 }, w[RP_LAYER_OC * RP_LAYER_IC] = { 0 }, open[VALUES], cut[VALUES];

	l.rq.zp = ZERO_POINT;
	rp_layer_pass(x, w, rp_layer_odd);
	for (unsigned int i = 0; i < VALUES; i++) {
		double v = rp_layer_odd[i / RP_LAYER_OC];

		open[i] = v + ZERO_POINT;
		cut[i] = (v > 0 ? v : 0) + ZERO_POINT;
	}
	rp_layer_run(t, &l, x, w);
	rp_model(t, "with open clamps results go below the zero point", open);
	rp_other_reading(t, "results are cut off at the zero point", cut);
}

/* ---- the DPU alone ---- */

/* So many positions of two surfaces, at most. */
#define FLY_ROWS	16u
#define FLY_COLS(t)	(2 * (t)->atom)
#define FLY_MOST	(FLY_ROWS * 2 * NPU_WIDE_ATOM)

static struct npu_ew_task flight(const struct trial *t)
{
	return (struct npu_ew_task){
		.type = NPU_PREC_INT8, .rows = FLY_ROWS, .cols = FLY_COLS(t),
		.a = { .iova = t->npu->in_iova + RP_X, .pitch = FLY_ROWS },
		.b = { .iova = t->npu->in_iova + RP_E, .pitch = FLY_ROWS },
		.y = { .iova = t->npu->out_iova, .pitch = FLY_ROWS },
	};
}

static bool fly(struct trial *t, struct npu_prog *p)
{
	uint32_t enable = take(t, p);

	if (!enable)
		return false;
	rp_run(t, enable);
	rp_result(t, RP_INT8, FLY_ROWS, FLY_COLS(t), FLY_ROWS * t->atom);
	return true;
}

void rp_try_sum(struct trial *t)
{
	const struct npu_byte_sum how = {
		.size = sizeof(how), .a_weight = 2, .b_weight = -3, .a_zp = 1, .b_zp = -2, .rq = ONE,
	};
	struct npu_prog *p = new_prog(t, 0);
	struct npu_ew_task task = flight(t);
	double a[FLY_MOST], b[FLY_MOST], sum[FLY_MOST], large[FLY_MOST], behind[FLY_MOST];

	for (unsigned int i = 0; i < FLY_ROWS * FLY_COLS(t); i++) {
		a[i] = (double)(i % 37) - 18;
		b[i] = (double)(i % 19) - 9;
		sum[i] = (a[i] - how.a_zp) * how.a_weight + (b[i] - how.b_zp) * how.b_weight;
		large[i] = b[i] > how.b_zp ? INT8_MAX : b[i] < how.b_zp ? INT8_MIN : sum[i];
		behind[i] = (a[i] - how.a_zp) * how.a_weight + b[i] * how.b_weight - how.b_zp;
	}
	rp_cube(t, RP_X, RP_INT8, FLY_ROWS, FLY_COLS(t), a);
	rp_cube(t, RP_E, RP_INT8, FLY_ROWS, FLY_COLS(t), b);
	if (p)
		npu_prog_add_bytes(p, &task, &how);
	if (!fly(t, p))
		return;
	rp_model(t, "the sum of two products", sum);
	rp_other_reading(t, "a factor has no sign", large);
	rp_other_reading(t, "a zero point is taken off behind the factor", behind);
}

void rp_try_map(struct trial *t)
{
	struct npu_prog *p = new_prog(t, 0);
	struct npu_ew_task task = flight(t);
	double x[FLY_MOST], y[FLY_MOST];
	int8_t map[256];

	for (unsigned int i = 0; i < 256; i++)
		map[i] = (int8_t)(i * 37 + 11);
	for (unsigned int i = 0; i < FLY_ROWS * FLY_COLS(t); i++) {
		x[i] = (int8_t)i;
		y[i] = map[(int)x[i] - INT8_MIN];
	}
	rp_cube(t, RP_X, RP_INT8, FLY_ROWS, FLY_COLS(t), x);
	if (p) {
		npu_prog_load_map(p, map, t->npu->in_iova + RP_E, t->npu->out_iova + RP_MEM / 2);
		npu_prog_map_bytes(p, &task);
	}
	if (fly(t, p))
		rp_model(t, "each byte is looked up", y);
}

/* ---- the PPU alone ---- */

#define POOLED		4u	/* positions */

void rp_try_pool(struct trial *t)
{
	struct npu_prog *p = new_prog(t, 0);
	struct npu_pool_task task = {
		.pool = NPU_POOL_MAX, .type = NPU_PREC_INT8, .in_w = 4, .in_h = 4, .in_line = 4, .in_pitch = 16,
		.out_w = 2, .out_h = 2, .out_line = 2, .out_pitch = POOLED, .channels = FLY_COLS(t), .kw = 2, .kh = 2,
		.stride_x = 2, .stride_y = 2, .in_iova = t->npu->in_iova + RP_X, .out_iova = t->npu->out_iova,
	};
	double x[FLY_MOST], most[FLY_MOST];
	uint32_t enable;

	for (unsigned int i = 0; i < 4 * POOLED * task.channels; i++)
		x[i] = (int8_t)(i * 37);
	for (unsigned int i = 0; i < POOLED * task.channels; i++) {
		unsigned int c = task.channels, at = (i / c / 2 * 8 + i / c % 2 * 2) * c + i % c;
		double upper = x[at] > x[at + c] ? x[at] : x[at + c], *lower = x + at + 4 * c;

		most[i] = lower[0] > lower[c] ? lower[0] : lower[c];
		most[i] = upper > most[i] ? upper : most[i];
	}
	rp_cube(t, RP_X, RP_INT8, 4 * POOLED, task.channels, x);
	if (p)
		npu_prog_pool(p, &task);
	enable = take(t, p);
	if (!enable)
		return;
	rp_run(t, enable);
	rp_result(t, RP_INT8, POOLED, task.channels, POOLED * t->atom);
	rp_model(t, "it ends, with the maxima", most);
	rp_other_hangs(t, "it does not end");
}
