// SPDX-License-Identifier: MIT
/*
 * Functions by the LUT: two tables of 512 steps that meet at index 0, for halves.
 *
 * BN makes an index of the operand, EW looks it up, and OUT_CVT makes a number of the
 * code that it found. The registers are those of rocket-userspace's activations, which
 * were validated on RK3588.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npu_task.h"

#define STEPS		(NPU_SIZE_LUT_ENTRIES - 1)
#define STEP_SHIFT	5
#define EDGE		(STEPS << STEP_SHIFT)	/* indices are -EDGE to EDGE */
#define MUX		2
#define TABLE_WRITE	1
#define LAST_PATTERN	0x7bff
#define MAX_HALF	65504

/*
 * Numbers are index = x * per_one + zero. Zero is not index 0, where both tables end: an
 * operand of exactly 0 there gave spikes on silicon (rocket-userspace).
 */
struct npu_table {
	double (*f)(double x);
	double per_one;		/* a half; but for functions of patterns */
	int32_t zero;
	uint32_t bits;		/* codes are f(x) in units of 2^-bits, from base on */
	int32_t base;
	bool patterns;		/* x and f(x) are taken as the numbers that their bits make */
	uint64_t serial;	/* tells tables apart that lay at the same address; or 0 */
	int16_t *code;		/* of a function of the user */
	double error;
};

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double exp_to_one(double x)
{
	return x < 0 ? exp(x) : 1;
}

static double normal(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

#define STEP		(1 << STEP_SHIFT)
#define HALF_STEP	(STEP / 2)

static double inverse_root(double x)
{
	return 1 / sqrt(x);
}

static double reciprocal(double x)
{
	return 1 / x;
}

#define NUMBERS(f_, per_one_, zero_, bits_, base_) {					\
	.f = (f_), .per_one = (per_one_), .zero = (zero_), .bits = (bits_), .base = (base_),	\
}

static const struct npu_table sigmoid_table = NUMBERS(sigmoid, 1024, HALF_STEP, 15, 0);
static const struct npu_table tanh_table = NUMBERS(tanh, 2048, HALF_STEP, 14, -(1 << 14));
/* The bend at 0 is where a step ends. */
static const struct npu_table exp_table = NUMBERS(exp_to_one, 2048, EDGE - STEP, 15, 0);
static const struct npu_table normal_table = NUMBERS(normal, 2048, HALF_STEP, 15, 0);
static const struct npu_table sin_table = NUMBERS(sin, 1024, HALF_STEP, 14, -(1 << 14));
static const struct npu_table cos_table = NUMBERS(cos, 1024, HALF_STEP, 14, -(1 << 14));
/*
 * The bits of a positive half grow with it, and with its logarithm: 32 steps for each power
 * of 2. An entry is rounded up and what lies between two down: both together are off by a unit
 * of a half, 2^-10 of the result; the line between two by 1/32^2/8 of it times 1/4 for the
 * square root, 3/4 and 2 for the others. Only finite halves are needed.
 */
#define PATTERNS(f_)	{ .f = (f_), .per_one = 1, .zero = STEPS - EDGE, .patterns = true }

static const struct npu_table sqrt_table = PATTERNS(sqrt);
static const struct npu_table rsqrt_table = PATTERNS(inverse_root);
static const struct npu_table reciprocal_table = PATTERNS(reciprocal);

const struct npu_table *npu_table_of(enum npu_act act)
{
	switch (act) {
	case NPU_ACT_SIGMOID:
		return &sigmoid_table;
	case NPU_ACT_TANH:
		return &tanh_table;
	case NPU_ACT_EXP:
		return &exp_table;
	case NPU_ACT_SIN:
		return &sin_table;
	case NPU_ACT_COS:
		return &cos_table;
	case NPU_ACT_SQRT:
		return &sqrt_table;
	case NPU_ACT_RSQRT:
		return &rsqrt_table;
	case NPU_ACT_RECIPROCAL:
		return &reciprocal_table;
	default:
		return NULL;
	}
}

const struct npu_table *npu_table_normal(void)
{
	return &normal_table;
}

bool npu_table_of_patterns(const struct npu_table *t)
{
	return t->patterns;
}

bool npu_table_is(const struct npu_table *t, const struct npu_table_mark *mark)
{
	return t == mark->table && t->serial == mark->serial;
}

struct npu_table_mark npu_table_mark(const struct npu_table *t)
{
	return (struct npu_table_mark){ .table = t, .serial = t->serial };
}

/* From 1 on, because an entry of 0 was read as 4.0 on silicon (rocket-userspace). */
static int16_t clamp(double c)
{
	return (int16_t)(c < 1 ? 1 : c > INT16_MAX ? INT16_MAX : c);
}

static double of_pattern(const struct npu_table *t, double pattern)
{
	uint16_t h;
	double y;

	if (pattern < 0 || pattern > LAST_PATTERN)
		pattern = pattern < 0 ? 0 : LAST_PATTERN;
	y = t->f((double)npu_f16_to_f32((uint16_t)pattern));
	if (y > MAX_HALF)
		return LAST_PATTERN;
	h = npu_f64_to_f16(y);
	return h + ((double)npu_f16_to_f32(h) < y);
}

/*
 * Up, because what lies between two entries is rounded down (evidence.toml, row
 * lut.interpolation). What all but is an entry stays: functions that approach 0 get there.
 */
static double entry(double y)
{
	return ceil(y - 0x1p-4);
}

static int16_t code(const struct npu_table *t, int32_t index)
{
	double x = (double)(index - t->zero) / t->per_one;

	if (t->code)
		return t->code[(index + EDGE) >> STEP_SHIFT];
	if (t->patterns)
		return clamp(of_pattern(t, x) + 1);
	return clamp(entry(ldexp(t->f(x), (int)t->bits)) - t->base + 1);
}

int32_t npu_table_code(const struct npu_table *t, int32_t step)
{
	return code(t, step * STEP);
}

int32_t npu_table_offset(const struct npu_table *t)
{
	return t->base - 1;
}

uint32_t npu_table_bits(const struct npu_table *t)
{
	return t->bits;
}

static bool is_zero(const struct npu_table *t, int32_t index)
{
	return code(t, index) + t->base == 1;
}

/* Both entries that 0 lies between; it may be one, or beyond the edges. */
bool npu_table_keeps_zero(const struct npu_table *t)
{
	int32_t index = t->zero < -EDGE ? -EDGE : t->zero > EDGE ? EDGE : t->zero;
	int32_t part = (index + EDGE) & (STEP - 1);

	return is_zero(t, index - part) && (!part || is_zero(t, index - part + STEP));
}

static uint32_t float_bits(float f)
{
	union { float f; uint32_t u; } v = { .f = f };

	return v.u;
}

/* Rockchip's compilers have the addend twice; shifts behind the factor are 0. */
void npu_table_record(const struct npu_table *t, uint8_t record[NPU_TABLE_RECORD])
{
	uint32_t addend = float_bits((float)(t->zero / t->per_one));
	uint16_t factor = npu_f64_to_f16(t->per_one);

	memset(record, 0, NPU_TABLE_RECORD);
	memcpy(record, &addend, sizeof(addend));
	memcpy(record + 16, &addend, sizeof(addend));
	memcpy(record + 32, &factor, sizeof(factor));
}

#define SET(p, f, v)	npu_prog_field(p, NPU_F_##f, v)

/* Integers: no product, and the code goes to memory as it is, less the 1 in it. */
static void set_patterns(struct npu_prog *p, const struct npu_table *t)
{
	SET(p, DPU_BN_CFG_MUL_BYPASS, 1);
	SET(p, DPU_BN_ALU_CFG_OPERAND, (uint32_t)t->zero);
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, -1);
}

static void set_numbers(struct npu_prog *p, const struct npu_table *t)
{
	SET(p, DPU_BN_CFG_MUL_BYPASS, 0);
	SET(p, DPU_BN_ALU_CFG_OPERAND, float_bits((float)t->zero));
	SET(p, DPU_BN_MUL_CFG_MUL_OPERAND, npu_f64_to_f16(t->per_one));
	SET(p, DPU_OUT_CVT_OFFSET_OFFSET, npu_table_offset(t));
	SET(p, DPU_OUT_CVT_SHIFT_CVT_TYPE, 1);
	SET(p, DPU_OUT_CVT_SHIFT_MINUS_EXP, t->bits);
}

/* Slopes beyond the edges stay 0: the function goes on as it is there. */
void npu_prog_set_lut(struct npu_prog *p)
{
	SET(p, DPU_EW_CFG_BYPASS, 0);
	SET(p, DPU_EW_CFG_LUT_BYPASS, 0);
	SET(p, DPU_LUT_CFG_LO_LE_MUX, MUX);
	SET(p, DPU_LUT_CFG_OFLOW_PRIORITY, 1);
	SET(p, DPU_LUT_CFG_HYBRID_PRIORITY, 1);
	SET(p, DPU_LUT_INFO_LE_INDEX_SELECT, STEP_SHIFT);
	SET(p, DPU_LUT_INFO_LO_INDEX_SELECT, STEP_SHIFT);
	SET(p, DPU_LUT_LE_START_INDEX, -EDGE);
	SET(p, DPU_LUT_LE_END_INDEX, 0);
	SET(p, DPU_LUT_LO_START_INDEX, 0);
	SET(p, DPU_LUT_LO_END_INDEX, EDGE);
}

void npu_prog_set_table(struct npu_prog *p, const struct npu_table *t)
{
	SET(p, DPU_BN_CFG_BYPASS, 0);
	SET(p, DPU_BN_CFG_ALU_BYPASS, 0);
	SET(p, DPU_BN_CFG_RELU_BYPASS, 1);
	SET(p, DPU_BN_CFG_ALU_ALGO, NPU_CODE_ALU_ADD);
	npu_prog_set_lut(p);
	SET(p, DPU_OUT_CVT_SCALE_SCALE, 1);
	if (t->patterns)
		set_patterns(p, t);
	else
		set_numbers(p, t);
}

void npu_prog_select_table(struct npu_prog *p, uint32_t id)
{
	SET(p, DPU_LUT_ACCESS_CFG_ACCESS_TYPE, TABLE_WRITE);
	SET(p, DPU_LUT_ACCESS_CFG_TABLE_ID, id);
	npu_prog_emit(p, NPU_R_DPU_LUT_ACCESS_CFG);
}

static void upload_half(struct npu_prog *p, const struct npu_table *t, uint32_t id, int32_t start)
{
	npu_prog_select_table(p, id);
	for (int32_t i = 0; i <= STEPS; i++) {
		SET(p, DPU_LUT_ACCESS_DATA_DATA, code(t, start + (i << STEP_SHIFT)));
		npu_prog_emit(p, NPU_R_DPU_LUT_ACCESS_DATA);
	}
}

/* The registers stay behind as the program had them: a read access, which changes nothing. */
void npu_prog_upload_table(struct npu_prog *p, const struct npu_table *t)
{
	upload_half(p, t, 0, -EDGE);
	upload_half(p, t, 1, 0);
	SET(p, DPU_LUT_ACCESS_CFG_ACCESS_TYPE, 0);
	SET(p, DPU_LUT_ACCESS_CFG_TABLE_ID, 0);
	SET(p, DPU_LUT_ACCESS_DATA_DATA, 0);
}

/* ---- functions of the user ---- */

#define KNOTS		(2 * STEPS + 1)
/* What fp32 adds to a code without rounding. */
#define MAX_BASE	(1 << 24)
#define MAX_BITS	24
#define MAX_SPAN	32766

struct function {
	double (*f)(double x, void *arg);
	void *arg;
	double lo, hi;
};

/* A half, so that the range fills the table but for a step. */
static void place(struct npu_table *t, const struct function *fn)
{
	double per_one = fmin((2 * EDGE - STEP) / (fn->hi - fn->lo), EDGE);
	double zero;

	t->per_one = (double)npu_f16_to_f32(npu_f64_to_f16(per_one));
	zero = rint(-EDGE - fn->lo * t->per_one);
	t->zero = zero ? (int32_t)zero : 1;
}

static double place_of(const struct npu_table *t, int32_t i)
{
	return (i * STEP - EDGE - t->zero) / t->per_one;
}

/*
 * At the knot behind the end of the range there is what makes the step before it a line
 * through the function's end.
 */
static double knot(const struct npu_table *t, const struct function *fn, int32_t i)
{
	double step = STEP / t->per_one, x = place_of(t, i);
	double before = x - step, y;

	if (x <= fn->hi)
		return fn->f(x < fn->lo ? fn->lo : x, fn->arg);
	if (before >= fn->hi || before < fn->lo)
		return fn->f(fn->hi, fn->arg);
	y = fn->f(before, fn->arg);
	if (fn->hi - before < step / 8)
		return fn->f(fn->hi, fn->arg);
	return y + (fn->f(fn->hi, fn->arg) - y) * step / (fn->hi - before);
}

struct span {
	double least, most;
};

/* Of the end of the range and the knots up to @last. */
static struct span span_of(const double *v, double end, double last, const struct npu_table *t)
{
	struct span s = { end, end };

	for (int i = 0; i < KNOTS && place_of(t, i) <= last; i++) {
		s.least = fmin(s.least, v[i]);
		s.most = fmax(s.most, v[i]);
	}
	return s;
}

static double largest(const struct span *s)
{
	return fmax(fabs(s->least), fabs(s->most));
}

static bool fits(const struct span *s)
{
	return s->most - s->least <= MAX_SPAN && largest(s) <= MAX_HALF;
}

static int scale(struct npu_table *t, const struct span *s)
{
	double least = s->least, most = s->most, big = largest(s);

	if (!fits(s))
		return -ERANGE;
	for (t->bits = MAX_BITS; t->bits; t->bits--)
		if (ldexp(most - least, (int)t->bits) <= MAX_SPAN &&
		    ldexp(big, (int)t->bits) < MAX_BASE)
			break;
	t->base = (int32_t)floor(ldexp(least, (int)t->bits));
	return 0;
}

static double look_up(const struct npu_table *t, float at)
{
	double c, index = fmin(fmax(rint((double)at), -EDGE), EDGE);
	int32_t i = ((int32_t)index + EDGE) >> STEP_SHIFT;
	int32_t part = ((int32_t)index + EDGE) & (STEP - 1);

	c = t->code[i] + (part ? (double)(t->code[i + 1] - t->code[i]) * part / STEP : 0);
	c = ldexp(floor(c) + t->base - 1, -(int)t->bits);
	return (double)npu_f16_to_f32(npu_f64_to_f16(c));
}

/*
 * The same as on the NPU, where the place in the table is rounded to an index: multiplied first, or on an RK3576
 * added.
 */
static double error_at(const struct npu_table *t, double x, double y)
{
	float multiplied = (float)((float)(x * t->per_one) + (float)t->zero);
	float added = (float)((double)((float)x + (float)(t->zero / t->per_one)) * t->per_one);

	return fmax(fabs(look_up(t, multiplied) - y), fabs(look_up(t, added) - y));
}

/* Of all halves; and one code, should silicon round in between in another way. */
static double error(const struct npu_table *t, const struct function *fn)
{
	double worst = 0;

	for (uint32_t h = 0; h < 1u << 16; h++) {
		double x = (double)npu_f16_to_f32((uint16_t)h);

		if (x >= fn->lo && x <= fn->hi)
			worst = fmax(worst, error_at(t, x, fn->f(x, fn->arg)));
	}
	return worst + ldexp(1, -(int)t->bits);
}

static int fill(struct npu_table *t, const struct function *fn)
{
	double v[KNOTS], end = fn->f(fn->hi, fn->arg);
	struct span s;
	int ret;

	for (int i = 0; i < KNOTS; i++) {
		v[i] = knot(t, fn, i);
		if (!isfinite(v[i]) || !isfinite(end))
			return -EINVAL;
	}
	/* The knot behind the end is no value of the function: if it does not fit, it comes nearer. */
	s = span_of(v, end, INFINITY, t);
	if (!fits(&s))
		s = span_of(v, end, fn->hi, t);
	ret = scale(t, &s);
	for (int i = 0; !ret && i < KNOTS; i++) {
		double y = fmin(fmax(v[i], -MAX_HALF), MAX_HALF);

		t->code[i] = clamp(entry(ldexp(y, (int)t->bits)) - t->base + 1);
	}
	return ret;
}

int npu_table_new(double (*f)(double x, void *arg), void *arg, double lo, double hi,
		  struct npu_table **out)
{
	static _Atomic uint64_t serial;	/* threads may use different devices */
	struct function fn = { f, arg, lo, hi };
	struct npu_table *t;
	int ret;

	if (!(lo < hi) || !(lo >= -MAX_HALF) || !(hi <= MAX_HALF))
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->code = calloc(KNOTS, sizeof(*t->code));
	t->serial = ++serial;
	place(t, &fn);
	ret = t->code ? fill(t, &fn) : -ENOMEM;
	if (ret) {
		npu_table_free(t);
		return ret;
	}
	t->error = error(t, &fn);
	*out = t;
	return 0;
}

double npu_table_error(const struct npu_table *table)
{
	return table->error;
}

void npu_table_free(struct npu_table *t)
{
	if (!t)
		return;
	free(t->code);
	free(t);
}
