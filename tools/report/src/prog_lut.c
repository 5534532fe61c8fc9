// SPDX-License-Identifier: MIT
/*
 * Programs for what evidence.toml says of the DPU's two tables.
 */
#include <math.h>

#include "report.h"

#define STEPS		(NPU_SIZE_LUT_ENTRIES - 1)
#define EW_LUT_AND_OP	(NPU_MASK_DPU_EW_CFG_OP_CVT_BYPASS | NPU_MASK_DPU_EW_CFG_RELU_BYPASS)
#define EW_LUT		(NPU_MASK_DPU_EW_CFG_OP_BYPASS | EW_LUT_AND_OP)
#define ACCESS_WRITE	NPU_MASK_DPU_LUT_ACCESS_CFG_ACCESS_TYPE
#define ACCESS_LO	NPU_MASK_DPU_LUT_ACCESS_CFG_TABLE_ID
/* LUT_CFG: what is beyond both tables on one side, or in both or neither */
#define BELOW_LO	NPU_MASK_DPU_LUT_CFG_UFLOW_PRIORITY
#define ABOVE_LO	NPU_MASK_DPU_LUT_CFG_OFLOW_PRIORITY
#define BOTH_LO		NPU_MASK_DPU_LUT_CFG_HYBRID_PRIORITY
#define LUT_ROAD	NPU_PUT(DPU_LUT_CFG_LO_LE_MUX, 2)

struct table {
	int32_t start;
	unsigned int shift;
	uint16_t slope_under, slope_over;
	unsigned int shift_under, shift_over;
	int16_t y[STEPS + 1];
};

/* LE ends where LO begins, at 0, in steps of 2^@shift. */
static void meet_at_zero(struct table table[2], unsigned int shift)
{
	for (unsigned int k = 0; k < 2; k++) {
		table[k] = (struct table){ .start = k ? 0 : -(STEPS << shift), .shift = shift };
		for (int i = 0; i <= STEPS; i++)
			table[k].y[i] = (int16_t)(k ? 3 * i : 3 * (i - STEPS));
	}
}

static void write_tables(struct trial *t, const struct table table[2], uint32_t type)
{
	for (unsigned int k = 0; k < 2; k++) {
		rp_write(t, OFF_DPU_LUT_ACCESS_CFG, type | k * ACCESS_LO);
		for (int i = 0; i <= STEPS; i++)
			rp_write(t, OFF_DPU_LUT_ACCESS_DATA, (uint16_t)table[k].y[i]);
	}
}

static uint32_t end_of(const struct table *table)
{
	return (uint32_t)table->start + (STEPS << table->shift);
}

static void use_tables(struct trial *t, const struct table table[2], uint32_t cfg)
{
	const struct table *le = &table[0], *lo = &table[1];

	rp_set(t, OFF_DPU_LUT_CFG, cfg | LUT_ROAD);
	rp_set(t, OFF_DPU_LUT_INFO, lo->shift << 16 | le->shift << 8);
	rp_set(t, OFF_DPU_LUT_LE_START, (uint32_t)le->start);
	rp_set(t, OFF_DPU_LUT_LE_END, end_of(le));
	rp_set(t, OFF_DPU_LUT_LO_START, (uint32_t)lo->start);
	rp_set(t, OFF_DPU_LUT_LO_END, end_of(lo));
	rp_set(t, OFF_DPU_LUT_LE_SLOPE_SCALE, (uint32_t)le->slope_over << 16 | le->slope_under);
	rp_set(t, OFF_DPU_LUT_LE_SLOPE_SHIFT, le->shift_over << 5 | le->shift_under);
	rp_set(t, OFF_DPU_LUT_LO_SLOPE_SCALE, (uint32_t)lo->slope_over << 16 | lo->slope_under);
	rp_set(t, OFF_DPU_LUT_LO_SLOPE_SHIFT, lo->shift_over << 5 | lo->shift_under);
}

static void fly_lut(struct trial *t, struct rp_fly *f, const double *v, const struct table table[2],
		    uint32_t cfg)
{
	rp_fly(t, f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_LUT);
	use_tables(t, table, cfg);
	write_tables(t, table, ACCESS_WRITE);
}

/* Eight values by tables that hold three times their index: @want is that. */
static void fly_thrice(struct trial *t, struct rp_fly *f, const double *v, struct table table[2],
		       double *want)
{
	meet_at_zero(table, 0);
	for (unsigned int i = 0; i < 8; i++)
		want[i] = 3 * v[i];
	fly_lut(t, f, v, table, BOTH_LO | ABOVE_LO);
}

/* Steps of 4 between entries that fall by 3, so that the way down differs from the way to 0. */
static void lut_falls(struct trial *t)
{
	const double v[] = { 1, 2, 3, 4, -1, -2, -3, -4 };
	double down[8], step[8];
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	meet_at_zero(table, 2);
	for (unsigned int i = 0; i <= STEPS; i++) {
		table[0].y[i] = (int16_t)-table[0].y[i];
		table[1].y[i] = (int16_t)-table[1].y[i];
	}
	for (unsigned int i = 0; i < 8; i++) {
		double left = floor(v[i] / 4);

		down[i] = floor(-v[i] * 3 / 4);
		step[i] = -3 * left + trunc(-(v[i] - 4 * left) * 3 / 4);
	}
	rp_clear(t);
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "between entries that fall results are rounded down", down);
	rp_other_reading(t, "what entries fall by is rounded towards 0", step);
}

/* Steps of 2: half of the inputs lie between two entries that are 3 apart. */
static void lut_interpolation(struct trial *t)
{
	const double v[] = { 1, 3, 5, 2, -1, -3, -5, 2000 };
	double up[8], even[8], cut[8];
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	meet_at_zero(table, 1);
	table[1].slope_over = 3;
	table[1].shift_over = 2;
	for (unsigned int i = 0; i < 8; i++) {
		up[i] = rp_upwards(v[i] * 3, 1);
		even[i] = rp_even(v[i] * 3, 1);
		cut[i] = floor(v[i] * 3 / 2);
	}
	/* 976 beyond the end, 3/4 each; the slope's ties are those of 975. */
	up[7] = even[7] = cut[7] = 3 * STEPS + floor((2000 - 2 * STEPS) * 3 / 4.0);
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "between entries results are rounded down", cut);
	rp_other_reading(t, "between entries ties go up", up);
	rp_other_reading(t, "between entries ties go to even", even);
	lut_falls(t);
}

static void lut_slope(struct trial *t)
{
	const double v[] = { 513, 514, 515, 516, -513, -514, -515, -516 };
	double down[8], even[8], up[8];
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	meet_at_zero(table, 0);
	table[0].slope_under = table[1].slope_over = 3;
	table[0].shift_under = table[1].shift_over = 2;
	for (unsigned int i = 0; i < 8; i++) {
		double end = v[i] < 0 ? -STEPS : STEPS;

		down[i] = 3 * end + floor((v[i] - end) * 3 / 4);
		even[i] = 3 * end + rp_even((v[i] - end) * 3, 2);
		up[i] = 3 * end + rp_upwards((v[i] - end) * 3, 2);
	}
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "beyond the tables slopes round down", down);
	rp_other_reading(t, "beyond the tables slopes round to even", even);
	rp_other_reading(t, "beyond the tables slopes round up on ties", up);
}

static void lut_index(struct trial *t)
{
	const double v[] = { 0.5, 1.5, 2.5, -0.5, -1.5, 7.25, 7.75, NAN };
	double even[8], away[8], cut[8], nan[8];
	struct table table[2];
	struct rp_fly f = { RP_FP16, RP_FP16, .n = RP_COUNT(v) };

	meet_at_zero(table, 0);
	for (unsigned int i = 0; i < 8; i++) {
		even[i] = isnan(v[i]) ? 0 : 3 * rp_even(v[i], 0);
		away[i] = isnan(v[i]) ? 0 : 3 * rp_away(v[i], 0);
		cut[i] = isnan(v[i]) ? 0 : 3 * trunc(v[i]);
		nan[i] = isnan(v[i]) ? 3 * STEPS : even[i];
	}
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "floats become indices by rounding to nearest even, NaN is 0", even);
	rp_other_reading(t, "floats become indices with ties away from zero", away);
	rp_other_reading(t, "floats become indices by truncation", cut);
	rp_other_reading(t, "NaN is looked up beyond the end", nan);
}

static void lut_integers(struct trial *t)
{
	const double v[] = { 0, 1, 2, 100, 511, -1, -100, -512 };
	double want[8];
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	fly_thrice(t, &f, v, table, want);
	rp_fly_run(t, &f);
	rp_model(t, "integers are looked up as they are", want);
	rp_other_reading(t, "integers are not looked up", v);
}

/* LE has -600 to -88, LO -100 to 412; the values behind tell which table answered. */
static void lut_overlap(struct trial *t)
{
	const double v[] = { -95, -90, -300, 300 };
	double lo[8] = { 0 }, le[8] = { 0 };
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	for (unsigned int k = 0; k < 2; k++) {
		table[k] = (struct table){ .start = k ? -100 : -600 };
		for (int i = 0; i <= STEPS; i++)
			table[k].y[i] = (int16_t)(k ? 1000 : 2000);
	}
	for (unsigned int i = 0; i < 4; i++) {
		lo[i] = v[i] >= -100 ? 1000 : 2000;
		le[i] = v[i] <= -88 ? 2000 : 1000;
	}
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "where tables overlap bit 6 of LUT_CFG gives LO the priority", lo);
	rp_other_reading(t, "where tables overlap LE has the priority", le);
	rp_clear(t);
	fly_lut(t, &f, v, table, ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "where tables overlap bit 6 of LUT_CFG chooses", le);
	rp_other_reading(t, "where tables overlap LO always has the priority", lo);
}

/* The tables hold 3x - 30, so that it matters where the maximum with 0 is taken. */
static void lut_ew_op(struct trial *t)
{
	const double v[] = { 0, 1, 2, 30, -1, -2, -3, 100 };
	double behind[8], before[8], none[8];
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	meet_at_zero(table, 0);
	for (unsigned int i = 0; i <= STEPS; i++) {
		table[0].y[i] -= 30;
		table[1].y[i] -= 30;
	}
	for (unsigned int i = 0; i < 8; i++) {
		none[i] = 3 * v[i] - 30;
		behind[i] = fmax(none[i], 0);
		before[i] = 3 * fmax(v[i], 0) - 30;
	}
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_set(t, OFF_DPU_EW_CFG, EW_LUT_AND_OP);
	for (unsigned int i = 0; i < 8; i++)
		rp_set(t, OFF_DPU_EW_OP_VALUE_0 + 4 * i, 0);
	rp_fly_run(t, &f);
	rp_model(t, "a maximum with a register that holds 0 comes behind the LUT", behind);
	rp_other_reading(t, "a maximum with a register does nothing beside the LUT", none);
	rp_other_reading(t, "a maximum with a register comes before the LUT", before);
}

/* Tables by the first of two jobs, used by the second. */
static void lut_survives(struct trial *t)
{
	const double v[] = { 0, 1, 2, 3, -1, -2, -3, 100 };
	double want[8], zero[8] = { 0 };
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	fly_thrice(t, &f, v, table, want);
	rp_fly_run(t, &f);
	rp_clear(t);
	rp_fly(t, &f, v);
	rp_set(t, OFF_DPU_EW_CFG, EW_LUT);
	use_tables(t, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "the next job finds the tables as they were", want);
	rp_other_reading(t, "the next job finds tables of 0", zero);
}

static void lut_access_0(struct trial *t)
{
	const double v[] = { 0, 1, 2, 3, -1, -2, -3, 100 };
	double want[8];
	struct table table[2];
	struct rp_fly f = { RP_INT16, RP_INT16, .n = RP_COUNT(v) };

	fly_thrice(t, &f, v, table, want);
	rp_write(t, OFF_DPU_LUT_ACCESS_CFG, 0);
	rp_write(t, OFF_DPU_LUT_ACCESS_CFG, ACCESS_LO);
	rp_fly_run(t, &f);
	rp_model(t, "a write of the configuration with access type 0 leaves the tables alone",
		 want);
}

/* Codes 3x of halves: times 2, plus 5, over 4. */
static void lut_cvt_type_0(struct trial *t)
{
	const double v[] = { 0, 1, 2, 3, -1, -2, -3, 100 };
	double last[8], first[8];
	struct table table[2];
	struct rp_fly f = { RP_FP16, RP_FP16, .n = RP_COUNT(v) };

	meet_at_zero(table, 0);
	for (unsigned int i = 0; i < 8; i++) {
		last[i] = (3 * v[i] * 2 + 5) / 4;
		first[i] = (3 * v[i] + 5) * 2 / 4;
	}
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_set(t, OFF_DPU_OUT_CVT_OFFSET, 5);
	rp_bits(t, OFF_DPU_OUT_CVT_SCALE, 0xffff, 2);
	rp_set(t, OFF_DPU_OUT_CVT_SHIFT, 2 << 12);
	rp_fly_run(t, &f);
	rp_model(t, "codes of the LUT are multiplied, then the offset is added", last);
	rp_other_reading(t, "the offset is added to codes of the LUT before they are multiplied",
			 first);
}

static void lut_zero(struct trial *t)
{
	const double v[] = { 0, 0x1p-14, -0x1p-14, 1, -1, 2, -2, 0.25 };
	double want[8], four[8];
	struct table table[2];
	struct rp_fly f = { RP_FP16, RP_FP16, .n = RP_COUNT(v) };

	meet_at_zero(table, 0);
	for (unsigned int i = 0; i < 8; i++) {
		want[i] = 3 * rp_even(v[i], 0);
		four[i] = want[i] == 0 ? 4 : want[i];
	}
	fly_lut(t, &f, v, table, BOTH_LO | ABOVE_LO);
	rp_fly_run(t, &f);
	rp_model(t, "where the tables meet there is nothing special, and an entry of 0 is 0", want);
	rp_other_reading(t, "an entry of 0 is read as 4", four);
}

const struct rp_program rp_lut[] = {
	RP_TRY("lut-zero", "entries of 0, and the edge of both tables", lut_zero),

	RP_TRY("lut-overlap", "tables that overlap", lut_overlap),
	RP_TRY("lut-ew-op", "EW operations on registers beside the LUT", lut_ew_op),
	RP_TRY("lut-interpolation", "rounding between two entries of a table", lut_interpolation),
	RP_TRY("lut-slope", "rounding beyond the ends of a table", lut_slope),
	RP_TRY("lut-index", "how floats become table inputs", lut_index),
	RP_TRY("lut-integers", "integers as table inputs", lut_integers),
	RP_TRY("lut-survives", "tables of the job before", lut_survives),
	RP_TRY("lut-access-0", "an access of type 0", lut_access_0),
	RP_TRY("lut-cvt-type-0", "OUT_CVT of codes of the LUT with CVT_TYPE 0", lut_cvt_type_0),
	{ 0 }
};
