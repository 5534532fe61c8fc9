// SPDX-License-Identifier: MIT
/*
 * The register program builder: checks every field against its width and
 * appends 64-bit register-write entries.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_rk3562.h"
#include "npu_rk3568.h"
#include "npu_rk3576.h"
#include "npu_task.h"

/* One entry per field: where it lies and what its values mean. */
struct field {
	const char *name;
	uint16_t reg;
	uint8_t lsb;
	uint8_t width;
	uint8_t kind;
};

struct reg {
	const char *name;
	uint16_t target;
	uint16_t off;
};

static const struct reg regs_rk3588[NPU_R_COUNT] = {
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3588_regs.h"
};

static const struct field fields_rk3588[NPU_F_COUNT] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3588_regs.h"
};

/* Targets are those of the RK3588. */
static const struct reg regs_rk3576[NPU_R76_COUNT] = {
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3576_regs.h"
};

static const struct field fields_rk3576[NPU_F76_COUNT] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF76_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3576_regs.h"
};

/* The RK3588's, then those that differ. */
static const struct reg regs_rk3568[NPU_R68_COUNT] = {
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3588_regs.h"
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3568_regs.h"
};

static const struct field fields_rk3568[NPU_F68_COUNT] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3588_regs.h"
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF68_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3568_regs.h"
};

/* The RK3568's, whose pooling it has, then its own. */
static const struct reg regs_rk3562[NPU_R62_COUNT] = {
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3588_regs.h"
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3568_regs.h"
#define NPU_REG(b, r, off)	{ #b "." #r, NPU_TGT_##b, off },
#include "npu/rk3562_regs.h"
};

static const struct field fields_rk3562[NPU_F62_COUNT] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3588_regs.h"
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF68_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3568_regs.h"
#define NPU_FIELD(b, r, f, lsb, w, k)	\
	{ #b "." #r "." #f, NPU_OFF62_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3562_regs.h"
};

/* The registers of an encoding; those from @own_reg and @own_field on lie in an image of their own. */
static const struct {
	const struct reg *reg;
	const struct field *field;
	unsigned int regs, fields, own_reg, own_field;
} sets[NPU_ENCODINGS] = {
	[NPU_ENCODING_RK3588] = { regs_rk3588, fields_rk3588, NPU_R_COUNT, NPU_F_COUNT, UINT_MAX, UINT_MAX },
	[NPU_ENCODING_RK3576] = { regs_rk3576, fields_rk3576, NPU_R76_COUNT, NPU_F76_COUNT, UINT_MAX, UINT_MAX },
	[NPU_ENCODING_RK3568] = { regs_rk3568, fields_rk3568, NPU_R68_COUNT, NPU_F68_COUNT, UINT_MAX, UINT_MAX },
	[NPU_ENCODING_RK3562] = { regs_rk3562, fields_rk3562, NPU_R62_COUNT, NPU_F62_COUNT, NPU_R62_FIRST + 1,
				  NPU_F62_FIRST + 1 },
};

/* Types are written to fields as they are. */
static_assert(NPU_PREC_INT8 == (int)NPU_CODE_PREC_INT8 && NPU_PREC_INT16 == (int)NPU_CODE_PREC_INT16 &&
	      NPU_PREC_FP16 == (int)NPU_CODE_PREC_FP16 && NPU_PREC_BF16 == (int)NPU_CODE_PREC_BF16 &&
	      NPU_PREC_INT32 == (int)NPU_CODE_PREC_INT32 && NPU_PREC_FP32 == (int)NPU_CODE_PREC_FP32 &&
	      NPU_PREC_INT4 == (int)NPU_CODE_PREC_INT4, "codes of types");

struct task_span {
	size_t first;
	size_t count;
};

/* The first KiB of each block that programs write: what is behind has no registers. */
#define BLOCK_WORDS	256
#define IMAGE_WORDS	(8 * BLOCK_WORDS)
#define IMAGE_END	0x8000

struct npu_prog {
	const struct npu_chip *chip;
	uint32_t core;
	uint64_t *entry;
	size_t count;
	size_t cap;
	struct task_span *task;
	size_t ntasks;
	size_t first;		/* first entry of the open task */
	bool open;
	uint32_t image[2][IMAGE_WORDS];
	int err;
	char msg[160];
};

/* Tasks start at multiples of this many entries (64 bytes). */
#define TASK_ALIGN	8

struct npu_prog *npu_prog_new_for(const struct npu_chip *chip, uint32_t core)
{
	struct npu_prog *p = calloc(1, sizeof(*p));

	if (p) {
		p->chip = chip;
		p->core = core;
	}
	return p;
}

struct npu_prog *npu_prog_new(void)
{
	return npu_prog_new_for(&npu_rk3588, 0);
}

uint32_t npu_prog_core(const struct npu_prog *p)
{
	return p->core;
}

const struct npu_chip *npu_prog_chip(const struct npu_prog *p)
{
	return p->chip;
}

void npu_prog_free(struct npu_prog *p)
{
	if (!p)
		return;
	free(p->entry);
	free(p->task);
	free(p);
}

void npu_prog_reset(struct npu_prog *p)
{
	p->count = 0;
	p->ntasks = 0;
	p->first = 0;
	p->open = false;
	memset(p->image, 0, sizeof(p->image));
	p->err = 0;
	p->msg[0] = '\0';
}

/* Only the first error is kept: it is the one that explains the others. */
int npu_prog_fail(struct npu_prog *p, int err, const char *fmt, ...)
{
	va_list ap;

	if (p->err)
		return p->err;
	p->err = err;
	va_start(ap, fmt);
	vsnprintf(p->msg, sizeof(p->msg), fmt, ap);
	va_end(ap);
	return err;
}

int npu_prog_begin(struct npu_prog *p, const char *what)
{
	if (!p->err && p->chip->encoding != NPU_ENCODING_RK3588)
		npu_prog_fail(p, -EOPNOTSUPP, "no programs for %s on the %s", what, p->chip->name);
	return p->err;
}

static uint32_t word_of(uint16_t off)
{
	return (off >> 12) * BLOCK_WORDS + off % 4096 / 4;
}

/* What a register holds; several rows of a table may be of one. */
static uint32_t *image_of(struct npu_prog *p, enum npu_reg_id r)
{
	return &p->image[(unsigned int)r >= sets[p->chip->encoding].own_reg][word_of(sets[p->chip->encoding].reg[r].off)];
}

static uint32_t *image_of_field(struct npu_prog *p, enum npu_field_id id)
{
	bool own = (unsigned int)id >= sets[p->chip->encoding].own_field;

	return &p->image[own][word_of(sets[p->chip->encoding].field[id].reg)];
}

/* Strides are in bytes, without the bits that are 0 because surfaces consist of atoms. */
static uint32_t stride_unit(const struct npu_prog *p)
{
	return p->chip->atom;
}

static void field_range(const struct npu_prog *p, const struct field *f, int64_t *lo, int64_t *hi)
{
	int64_t span = INT64_C(1) << f->width;

	*lo = 0;
	*hi = span - 1;
	if (f->kind == NPU_FK_S) {
		*lo = -(span / 2);
		*hi = span / 2 - 1;
	} else if (f->kind == NPU_FK_M1) {
		*lo = 1;
		*hi = span;
	} else if (f->kind == NPU_FK_A16) {
		*hi = UINT32_MAX - (stride_unit(p) - 1);
	}
}

int npu_prog_field(struct npu_prog *p, enum npu_field_id id, int64_t value)
{
	const struct field *f;
	int64_t lo, hi, raw = value;
	uint32_t mask, *image;

	if (p->err)
		return p->err;
	if ((unsigned int)id >= sets[p->chip->encoding].fields)
		return npu_prog_fail(p, -EINVAL, "field %d does not exist", (int)id);
	f = &sets[p->chip->encoding].field[id];
	if (f->reg >= IMAGE_END)
		return npu_prog_fail(p, -EINVAL, "%s is not one of programs", f->name);
	field_range(p, f, &lo, &hi);
	if (value > hi)
		return npu_prog_fail(p, -ERANGE, "%s: %" PRId64 " exceeds the limit %" PRId64,
			    f->name, value, hi);
	if (value < lo)
		return npu_prog_fail(p, -ERANGE, "%s: %" PRId64 " is below the limit %" PRId64,
			    f->name, value, lo);
	if (f->kind == NPU_FK_A16 && value % stride_unit(p))
		return npu_prog_fail(p, -ERANGE, "%s: %" PRId64 " is not a multiple of %u",
			    f->name, value, stride_unit(p));

	image = image_of_field(p, id);
	mask = (uint32_t)((UINT64_C(1) << f->width) - 1) << f->lsb;
	if (f->kind == NPU_FK_A16)
		mask = ~(stride_unit(p) - 1);
	else
		raw = (int64_t)((uint64_t)(f->kind == NPU_FK_M1 ? value - 1 : value) << f->lsb);
	*image = (*image & ~mask) | ((uint32_t)raw & mask);
	return 0;
}

int64_t npu_prog_value(struct npu_prog *p, enum npu_field_id id)
{
	const struct field *f = &sets[p->chip->encoding].field[id];
	uint32_t mask = (uint32_t)((UINT64_C(1) << f->width) - 1), raw = *image_of_field(p, id);

	if (f->kind == NPU_FK_A16)
		return raw & ~(stride_unit(p) - 1);
	raw = raw >> f->lsb & mask;
	if (f->kind == NPU_FK_S && raw >> (f->width - 1))
		return (int64_t)raw - (INT64_C(1) << f->width);
	return f->kind == NPU_FK_M1 ? (int64_t)raw + 1 : raw;
}

static int reserve(struct npu_prog *p, size_t more)
{
	size_t cap = p->cap ? p->cap : 256;
	uint64_t *e;

	while (cap < p->count + more)
		cap *= 2;
	if (cap == p->cap)
		return 0;
	e = realloc(p->entry, cap * sizeof(*e));
	if (!e)
		return npu_prog_fail(p, -ENOMEM, "out of memory for %zu entries", cap);
	p->entry = e;
	p->cap = cap;
	return 0;
}

/* The gap between two tasks holds no-ops that belong to neither. */
static int open_task(struct npu_prog *p)
{
	if (p->open)
		return 0;
	if (reserve(p, TASK_ALIGN))
		return p->err;
	while (p->count % TASK_ALIGN)
		p->entry[p->count++] = 0;
	p->first = p->count;
	p->open = true;
	return 0;
}

int npu_prog_raw(struct npu_prog *p, uint16_t target, uint16_t reg, uint32_t value)
{
	if (p->err)
		return p->err;
	if (open_task(p) || reserve(p, 1))
		return p->err;
	p->entry[p->count++] = (uint64_t)target << 48 | (uint64_t)value << 16 | reg;
	return 0;
}

int npu_prog_emit(struct npu_prog *p, enum npu_reg_id r)
{
	const struct reg *reg = sets[p->chip->encoding].reg;

	if (p->err)
		return p->err;
	if ((unsigned int)r >= sets[p->chip->encoding].regs || !reg[r].target)
		return npu_prog_fail(p, -EINVAL, "register %d is not one of programs", (int)r);
	return npu_prog_raw(p, reg[r].target, reg[r].off, *image_of(p, r));
}

void npu_prog_clear_register(struct npu_prog *p, enum npu_reg_id r)
{
	*image_of(p, r) = 0;
}

void npu_prog_clear_image(struct npu_prog *p)
{
	memset(p->image, 0, sizeof(p->image));
}

int npu_prog_finish(struct npu_prog *p, uint32_t enable)
{
	struct task_span *t;

	if (p->err)
		return p->err;
	if (!p->open)
		return npu_prog_fail(p, -EINVAL, "no entries to finish");
	if ((p->count - p->first) % 2)
		npu_prog_raw(p, 0, 0, 0);
	npu_prog_raw(p, 0, 0, 0);
	npu_prog_raw(p, NPU_TGT_PC, NPU_OFF_PC_REGISTER_AMOUNTS, 0);
	npu_prog_raw(p, NPU_TGT_MARKER, 0, 0);
	npu_prog_raw(p, NPU_TGT_ENABLE, NPU_OFF_PC_OPERATION_ENABLE, enable);
	if (p->err)
		return p->err;

	t = realloc(p->task, (p->ntasks + 1) * sizeof(*t));
	if (!t)
		return npu_prog_fail(p, -ENOMEM, "out of memory for task %zu", p->ntasks);
	p->task = t;
	t[p->ntasks].first = p->first;
	t[p->ntasks].count = p->count - p->first;
	p->ntasks++;
	p->open = false;
	return 0;
}

const uint64_t *npu_prog_entries(const struct npu_prog *p)
{
	return p->entry;
}

size_t npu_prog_count(const struct npu_prog *p)
{
	return p->count;
}

size_t npu_prog_ntasks(const struct npu_prog *p)
{
	return p->ntasks;
}

void npu_prog_task(const struct npu_prog *p, size_t i, size_t *first, size_t *count)
{
	*first = p->task[i].first;
	*count = p->task[i].count;
}

int npu_prog_error(const struct npu_prog *p)
{
	return p->err;
}

const char *npu_prog_message(const struct npu_prog *p)
{
	return p->msg;
}
