// SPDX-License-Identifier: MIT
/*
 * Builds the register programs of npu-report, and holds their results against readings.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "npu_prog.h"
#include "report.h"

#define ATOM		16u

/* ---- programs ---- */

static uint32_t target_of(uint32_t off)
{
	return UINT32_C(1) << (8 + (off >> 12)) | 1;
}

void rp_entry(struct trial *t, uint32_t target, uint32_t off, uint32_t value)
{
	/* Programs are fixed: one that does not fit is a mistake in it. */
	if (t->n >= RP_ENTRIES)
		abort();
	t->entry[t->n++] = (uint64_t)target << 48 | (uint64_t)value << 16 | off;
}

void rp_write(struct trial *t, uint32_t off, uint32_t value)
{
	rp_entry(t, target_of(off), off, value);
}

static uint64_t *find(struct trial *t, uint32_t off)
{
	for (unsigned int i = t->first; i < t->n; i++) {
		if ((t->entry[i] & 0xffff) == off && t->entry[i] >> 48 == target_of(off))
			return &t->entry[i];
	}
	return NULL;
}

void rp_set(struct trial *t, uint32_t off, uint32_t value)
{
	uint64_t *e = find(t, off);

	if (e)
		*e = (*e & ~(UINT64_C(0xffffffff) << 16)) | (uint64_t)value << 16;
	else
		rp_write(t, off, value);
}

void rp_bits(struct trial *t, uint32_t off, uint32_t mask, uint32_t value)
{
	uint64_t *e = find(t, off);
	uint32_t old = e ? (uint32_t)(*e >> 16) : 0;

	rp_set(t, off, (old & ~mask) | value);
}

/* The end as libnpu has it; chains are made by whoever runs it. */
static void end_program(struct trial *t, uint32_t enable)
{
	struct rp_span *s = &t->task[t->tasks];

	if (t->tasks >= RP_TASKS)
		abort();
	rp_entry(t, 0, 0, 0);
	rp_write(t, OFF_PC_REGISTER_AMOUNTS, 0);
	rp_entry(t, NPU_TGT_MARKER, 0, 0);
	rp_entry(t, NPU_TGT_ENABLE, OFF_PC_OPERATION_ENABLE, enable);
	*s = (struct rp_span){
		.first = t->first, .count = t->n - t->first, .enable = enable,
		.dpu_done = t->dpu_done, .core_mask = t->core_mask, .meet = t->meet,
	};
	t->tasks++;
}

/* Programs begin at 64 bytes. */
static void begin_program(struct trial *t)
{
	while (t->n % 8)
		rp_entry(t, 0, 0, 0);
	t->first = t->n;
}

void rp_close(struct trial *t, uint32_t enable)
{
	if ((t->n - t->first) % 2)
		rp_entry(t, 0, 0, 0);
	end_program(t, enable);
	begin_program(t);
}

void rp_close_odd(struct trial *t, uint32_t enable, uint32_t off, uint32_t value)
{
	end_program(t, enable);
	rp_write(t, off, value);
	begin_program(t);
}

void rp_remove(struct trial *t, uint32_t off)
{
	uint64_t *e = find(t, off);

	if (e)
		*e = 0;
}

void rp_run_closed(struct trial *t)
{
	t->settled = t->settled || t->verdict == RP_DIFFERS;
	memset(t->npu->out, RP_POISON, RP_MEM);
	t->outcome = t->npu->run(t->npu, t->entry, t->task, t->tasks);
	t->ran = true;
}

void rp_run(struct trial *t, uint32_t enable)
{
	rp_close(t, enable);
	rp_run_closed(t);
}

void rp_clear(struct trial *t)
{
	t->n = 0;
	t->tasks = 0;
	t->first = 0;
}

/* ---- numbers ---- */

unsigned int rp_bytes(enum rp_type type)
{
	static const unsigned int bytes[] = { 1, 2, 2, 2, 4, 4, 0, 4 };

	return bytes[type];
}

double rp_half(uint16_t bits)
{
	return npu_f16_to_f32(bits);
}

static uint32_t float_bits(double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static uint32_t bits_of(enum rp_type type, double v)
{
	switch (type) {
	case RP_FP16:
		return npu_f64_to_f16(v);
	case RP_BF16:
		return float_bits(v) >> 16;
	case RP_FP32:
	case RP_TF32:
		return float_bits(v);
	default:
		return (uint32_t)(int64_t)v;
	}
}

static double value_of(enum rp_type type, uint32_t bits)
{
	float f;

	switch (type) {
	case RP_INT8:
		return (int8_t)bits;
	case RP_INT16:
		return (int16_t)bits;
	case RP_INT32:
		return (int32_t)bits;
	case RP_FP16:
		return rp_half((uint16_t)bits);
	case RP_BF16:
		bits <<= 16;
		break;
	default:
		break;
	}
	memcpy(&f, &bits, sizeof(f));
	return f;
}

void rp_put(struct trial *t, uint32_t at, enum rp_type type, double value)
{
	uint32_t bits = bits_of(type, value);

	if (at + rp_bytes(type) > RP_MEM)
		abort();
	memcpy(t->npu->in + at, &bits, rp_bytes(type));
}

static uint32_t atom_of(const struct trial *t)
{
	return t->atom ? t->atom : ATOM;
}

static uint32_t place(const struct trial *t, enum rp_type type, unsigned int pos, unsigned int ch, uint32_t pitch)
{
	unsigned int lanes = atom_of(t) / rp_bytes(type);

	return ch / lanes * pitch + pos * atom_of(t) + ch % lanes * rp_bytes(type);
}

void rp_cube(struct trial *t, uint32_t at, enum rp_type type, unsigned int positions,
	     unsigned int channels, const double *v)
{
	for (unsigned int i = 0; i < positions * channels; i++)
		rp_put(t, at + place(t, type, i / channels, i % channels, positions * atom_of(t)), type,
		       v[i]);
}

void rp_result(struct trial *t, enum rp_type type, unsigned int positions, unsigned int channels,
	       uint32_t pitch)
{
	if (positions * channels > RP_VALUES)
		abort();
	t->type = type;
	t->ngot = positions * channels;
	for (unsigned int i = 0; i < t->ngot; i++) {
		uint32_t at = place(t, type, i / channels, i % channels, pitch), bits = 0;

		memcpy(&bits, t->npu->out + at, rp_bytes(type));
		t->got[i] = value_of(type, bits);
	}
}

void rp_read(struct trial *t, unsigned int i, enum rp_type type, uint32_t at)
{
	uint32_t bits = 0;

	if (i >= RP_VALUES || at + rp_bytes(type) > RP_MEM)
		abort();
	memcpy(&bits, t->npu->out + at, rp_bytes(type));
	t->type = type;
	t->got[i] = value_of(type, bits);
	t->ngot = i + 1;
}

double rp_even(double v, int shift)
{
	return nearbyint(ldexp(v, -shift));
}

double rp_away(double v, int shift)
{
	return round(ldexp(v, -shift));
}

double rp_upwards(double v, int shift)
{
	return floor(ldexp(v, -shift) + 0.5);
}

void rp_put_dpu(struct trial *t, const struct rp_dpu *d)
{
	bool narrow = d->out == RP_FP16 || d->out == RP_BF16;

	rp_set(t, OFF_DPU_FEATURE_MODE_CFG, d->mode);
	rp_set(t, OFF_DPU_DATA_FORMAT, (uint32_t)d->out << 29 | (uint32_t)d->in << 26 | d->in);
	rp_set(t, OFF_DPU_OFFSET_PEND, 0);
	rp_set(t, OFF_DPU_DST_BASE_ADDR, t->npu->out_iova);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, d->pitch);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, d->w - 1);
	rp_set(t, OFF_DPU_DATA_CUBE_HEIGHT, d->h - 1);
	rp_set(t, OFF_DPU_DATA_CUBE_NOTCH, 0);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, (d->channels - 1) << 16 | (d->written - 1));
	rp_set(t, OFF_DPU_BS_CFG, 0x53);
	rp_set(t, OFF_DPU_BS_ALU_CFG, 0);
	rp_set(t, OFF_DPU_BS_MUL_CFG, 0);
	rp_set(t, OFF_DPU_BS_RELUX_CMP, 0);
	rp_set(t, OFF_DPU_BS_OW_CFG, d->ow_cfg);
	rp_set(t, OFF_DPU_BS_OW_OP, 0);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, d->written - 1);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, (d->h - 1) << 16 | (d->w - 1));
	rp_set(t, OFF_DPU_BN_CFG, 0x53);
	rp_set(t, OFF_DPU_BN_ALU_CFG, 0);
	rp_set(t, OFF_DPU_BN_MUL_CFG, 0);
	rp_set(t, OFF_DPU_BN_RELUX_CMP, 0);
	rp_set(t, OFF_DPU_EW_CFG, 0x383);
	rp_set(t, OFF_DPU_EW_CVT_OFFSET, 0);
	rp_set(t, OFF_DPU_EW_CVT_SCALE, 1);
	rp_set(t, OFF_DPU_EW_RELUX_CMP, 0);
	rp_set(t, OFF_DPU_OUT_CVT_OFFSET, 0);
	rp_set(t, OFF_DPU_OUT_CVT_SCALE, (uint32_t)narrow << 16 | 1);
	rp_set(t, OFF_DPU_OUT_CVT_SHIFT, 0);
	rp_set(t, OFF_DPU_SURFACE_ADD, d->add);
	rp_set(t, OFF_DPU_UNKNOWN_40C4, 0);
}

/* ---- a DPU on its own ---- */

void rp_fly(struct trial *t, struct rp_fly *f, const double *v)
{
	unsigned int w, pitch;
	bool half_in = f->in == RP_FP16;

	f->channels = ATOM / rp_bytes(rp_bytes(f->in) < rp_bytes(f->out) ? f->in : f->out);
	f->positions = (f->n + f->channels - 1) / f->channels;
	w = f->positions - 1;
	pitch = f->positions * ATOM;
	for (unsigned int i = 0; i < f->positions * f->channels; i++) {
		double one = i < f->n ? v[i] : 0;

		rp_put(t, RP_X + place(t, f->in, i / f->channels, i % f->channels, pitch), f->in, one);
	}
	rp_set(t, OFF_DPU_S_POINTER, 0xe);
	rp_set(t, OFF_RDMA_S_POINTER, 0xe);
	rp_put_dpu(t, &(struct rp_dpu){
		.mode = 0x1e5, .in = f->in, .out = f->out, .w = f->positions, .h = 1,
		.channels = f->channels, .written = f->channels, .ow_cfg = 2, .pitch = pitch, .add = pitch,
	});
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, w);
	rp_set(t, OFF_RDMA_DATA_CUBE_HEIGHT, 0);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, f->channels - 1);
	rp_set(t, OFF_RDMA_SRC_BASE_ADDR, t->npu->in_iova + RP_X);
	rp_set(t, OFF_RDMA_BRDMA_CFG, 0x1f);
	rp_set(t, OFF_RDMA_BS_BASE_ADDR, t->npu->in_iova + RP_BS);
	rp_set(t, OFF_RDMA_NRDMA_CFG, 0x1f);
	rp_set(t, OFF_RDMA_BN_BASE_ADDR, t->npu->in_iova + RP_BN);
	rp_set(t, OFF_RDMA_ERDMA_CFG, 1);
	rp_set(t, OFF_RDMA_EW_BASE_ADDR, t->npu->in_iova + RP_E);
	rp_set(t, OFF_RDMA_EW_SURF_STRIDE, pitch);
	rp_set(t, OFF_RDMA_FEATURE_MODE_CFG, (uint32_t)f->in << 15 | 15 << 11 |
	       (uint32_t)f->in << 5 | (uint32_t)half_in << 3 | 1);
	rp_set(t, OFF_RDMA_SRC_DMA_CFG, 0);
	rp_set(t, OFF_RDMA_SURF_NOTCH, 0);
	rp_set(t, OFF_RDMA_PAD_CFG, 0);
	rp_set(t, OFF_RDMA_WEIGHT, 0x01010101);
	rp_set(t, OFF_RDMA_EW_SURF_NOTCH, 0);
}

void rp_copy(struct trial *t, unsigned int positions, unsigned int surfaces)
{
	static const double none[ATOM];
	struct rp_fly f = { RP_INT8, RP_INT8, .n = ATOM };
	uint32_t last = surfaces * ATOM - 1;

	rp_fly(t, &f, none);
	rp_set(t, OFF_DPU_DST_SURF_STRIDE, positions * ATOM);
	rp_set(t, OFF_DPU_SURFACE_ADD, positions * ATOM);
	rp_set(t, OFF_DPU_DATA_CUBE_WIDTH, positions - 1);
	rp_set(t, OFF_DPU_DATA_CUBE_CHANNEL, last << 16 | last);
	rp_set(t, OFF_DPU_WDMA_SIZE_0, last);
	rp_set(t, OFF_DPU_WDMA_SIZE_1, positions - 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_WIDTH, positions - 1);
	rp_set(t, OFF_RDMA_DATA_CUBE_CHANNEL, last);
	rp_close(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
}

#define EW_ELEMENT	NPU_PUT(DPU_EW_CFG_DATA_MODE, 1)
#define EW_OPERAND	NPU_MASK_DPU_EW_CFG_OP_SRC

void rp_fly_operand(struct trial *t, const struct rp_fly *f, const double *v)
{
	uint32_t size = rp_bytes(f->in) == 1 ? 1 : rp_bytes(f->in) == 2 ? 2 : 3;

	for (unsigned int i = 0; i < f->n; i++)
		rp_put(t, RP_E + place(t, f->in, i / f->channels, i % f->channels,
				       f->positions * ATOM), f->in, v[i]);
	rp_bits(t, OFF_DPU_EW_CFG, EW_ELEMENT | NPU_MASK_DPU_EW_CFG_EDATA_SIZE | EW_OPERAND | NPU_MASK_DPU_EW_CFG_BYPASS,
		EW_ELEMENT | NPU_PUT(DPU_EW_CFG_EDATA_SIZE, size) | EW_OPERAND);
	rp_set(t, OFF_RDMA_ERDMA_CFG, NPU_PUT(RDMA_ERDMA_CFG_DATA_MODE, 1) | NPU_PUT(RDMA_ERDMA_CFG_DATA_SIZE, size));
}

void rp_fly_run(struct trial *t, const struct rp_fly *f)
{
	rp_run(t, NPU_EN_DPU | NPU_EN_DPU_RDMA);
	rp_result(t, f->out, f->positions, f->channels, f->positions * ATOM);
	t->ngot = f->n;
}

/* ---- judging ---- */

static void say(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
}

void rp_not_run(struct trial *t, const char *why)
{
	t->verdict = RP_NOT_RUN;
	t->settled = true;
	say(t, "%s", why);
}

/* A failure that says nothing about the statement: the driver did not take the job. */
static bool no_outcome(struct trial *t)
{
	if (t->settled)
		return true;
	if (!t->ran) {
		rp_not_run(t, "the program could not be made");
		return true;
	}
	if (t->outcome && t->outcome != -ETIMEDOUT) {
		rp_not_run(t, t->outcome == -EOPNOTSUPP ? "this driver does not take such a job"
							 : strerror(-t->outcome));
		return true;
	}
	return false;
}

bool rp_register(struct trial *t, const char *name, uint32_t mask)
{
	uint32_t value;

	if (no_outcome(t))
		return false;
	if (!t->npu->reg || t->npu->reg(t->npu, name, &value)) {
		rp_not_run(t, "only our driver shows registers, and only to root");
		return false;
	}
	t->got[0] = value & mask;
	t->ngot = 1;
	return true;
}

static bool equal(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* Index of the first value that is another, or the number of them. */
static unsigned int first_other(const struct trial *t, const double *v)
{
	unsigned int i;

	for (i = 0; i < t->ngot && equal(t->got[i], v[i]); i++)
		;
	return i;
}

static void say_values(struct trial *t, const char *reading, const double *v, unsigned int at)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < t->ngot; i++)
		wrong += !equal(t->got[i], v[i]);
	say(t,
	    "%u of %u values are other than in the model (\"%s\"); value %u is %.9g, modelled %.9g",
	    wrong, t->ngot, reading, at, t->got[at], v[at]);
}

/* A program may have several readings that have to fit. */
static void fits(struct trial *t, const char *reading)
{
	size_t n = strlen(t->agreed);

	snprintf(t->agreed + n, sizeof(t->agreed) - n, "%s%s", n ? "; " : "", reading);
	t->verdict = RP_AS_MODELLED;
	say(t, "%s", t->agreed);
}

void rp_model(struct trial *t, const char *reading, const double *v)
{
	unsigned int at;

	if (no_outcome(t))
		return;
	t->modelled = true;
	t->known = false;
	t->verdict = RP_DIFFERS;
	if (t->outcome) {
		const char *why = t->npu->refusal ? t->npu->refusal(t->npu) : NULL;

		say(t, "the task does not complete, modelled \"%s\"%s%s", reading,
		    why ? "; the model refuses it: " : "", why ? why : "");
		return;
	}
	at = first_other(t, v);
	if (at < t->ngot) {
		say_values(t, reading, v, at);
		return;
	}
	fits(t, reading);
}

void rp_other_reading(struct trial *t, const char *reading, const double *v)
{
	bool same = !t->outcome && first_other(t, v) == t->ngot;

	if (t->settled || !same)
		return;
	t->ambiguous = t->ambiguous || t->verdict == RP_AS_MODELLED;
	if (t->verdict != RP_DIFFERS || t->known)
		return;
	t->known = true;
	say(t, "%s", reading);
}

void rp_model_hangs(struct trial *t, const char *reading)
{
	if (no_outcome(t))
		return;
	t->modelled = true;
	t->known = false;
	if (t->outcome) {
		fits(t, reading);
		return;
	}
	t->verdict = RP_DIFFERS;
	say(t, "the task completes, modelled \"%s\"; first values %.9g %.9g %.9g %.9g",
		    reading,
		    t->got[0], t->got[1], t->got[2], t->got[3]);
}

void rp_other_hangs(struct trial *t, const char *reading)
{
	if (t->settled || t->verdict != RP_DIFFERS || t->known || !t->outcome)
		return;
	t->known = true;
	say(t, "%s", reading);
}

void rp_try(struct trial *t, struct rp_npu *npu, const struct rp_program *p)
{
	memset(t, 0, sizeof(*t));
	t->npu = npu;
	memset(npu->in, 0, RP_MEM);
	if (!p->run) {
		rp_not_run(t, p->why_not);
		return;
	}
	p->run(t);
	if (!t->modelled && !t->settled)
		abort();
}
