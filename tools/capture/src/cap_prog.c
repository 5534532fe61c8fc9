// SPDX-License-Identifier: MIT
/*
 * Reads register programs of each encoding: which values are addresses, where results go, what a
 * program says in words. Whether a value is an address depends on its register alone.
 */
#include <string.h>

#include "cap.h"
#include "npu_regs.h"

struct reg {
	const char *name;
	uint16_t off;
};

struct field {
	const char *name;
	uint16_t reg;
	uint8_t lsb, width, kind;
};

static const struct reg regs[] = {
#define NPU_REG(b, r, off)	{ #b "." #r, off },
#include "npu/rk3588_regs.h"
};

static const struct field fields[] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	{ #f, NPU_R_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3588_regs.h"
};

/* The RK3576's that are its own. */
enum {
#define NPU_REG(b, r, off)	R76_##b##_##r,
#include "npu/rk3576_regs.h"
};

enum {
#define NPU_FIELD(b, r, f, lsb, w, k)	F76_##b##_##r##_##f,
#include "npu/rk3576_regs.h"
};

static const struct reg regs_rk3576[] = {
#define NPU_REG(b, r, off)	{ #b "." #r, off },
#include "npu/rk3576_regs.h"
};

static const struct field fields_rk3576[] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	{ #f, R76_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3576_regs.h"
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* One of the fields that say where a result lies. The first field of all is none of them: there is no such. */
struct place {
	uint16_t field;
	uint8_t unit;		/* bytes, of a stride */
};

struct table {
	const struct reg *regs;
	size_t nregs;
	const struct field *fields;
	size_t nfields;
	struct place place[CAP_PLACES];
};

static const struct table rk3588 = {
	regs, COUNT(regs), fields, COUNT(fields), {
		[CAP_DPU_MODE] = { NPU_F_DPU_FEATURE_MODE_CFG_OUTPUT_MODE, 1 },
		[CAP_DPU_TYPE] = { NPU_F_DPU_DATA_FORMAT_OUT_PRECISION, 1 },
		[CAP_DPU_DST] = { NPU_F_DPU_DST_BASE_ADDR_IOVA, 1 },
		[CAP_DPU_STRIDE] = { NPU_F_DPU_DST_SURF_STRIDE_BYTES, 1 },
		[CAP_DPU_WIDTH] = { NPU_F_DPU_WDMA_SIZE_1_WIDTH, 1 },
		[CAP_DPU_HEIGHT] = { NPU_F_DPU_WDMA_SIZE_1_HEIGHT, 1 },
		[CAP_DPU_NOTCH] = { NPU_F_DPU_DATA_CUBE_NOTCH_NOTCH_0, 1 },
		[CAP_DPU_CHANNELS] = { NPU_F_DPU_WDMA_SIZE_0_CHANNEL, 1 },
		[CAP_PPU_DST] = { NPU_F_PPU_DST_BASE_ADDR_IOVA, 1 },
		[CAP_PPU_STRIDE] = { NPU_F_PPU_DST_SURF_STRIDE_BYTES, 1 },
		[CAP_PPU_WIDTH] = { NPU_F_PPU_DATA_CUBE_OUT_WIDTH_WIDTH, 1 },
		[CAP_PPU_HEIGHT] = { NPU_F_PPU_DATA_CUBE_OUT_HEIGHT_HEIGHT, 1 },
		[CAP_PPU_NOTCH] = { NPU_F_PPU_OPERATION_MODE_CFG_NOTCH, 1 },
		[CAP_PPU_CHANNELS] = { NPU_F_PPU_DATA_CUBE_OUT_CHANNEL_CHANNEL, 1 },
	},
};

static const struct table rk3576 = {
	regs_rk3576, COUNT(regs_rk3576), fields_rk3576, COUNT(fields_rk3576), {
		[CAP_DPU_MODE] = { F76_DPU_FEATURE_MODE_OUTPUT_MODE, 1 },
		[CAP_DPU_TYPE] = { F76_DPU_DATA_FORMAT_OUT_PRECISION, 1 },
		[CAP_DPU_DST] = { F76_DPU_DST_ADDR_IOVA, 1 },
		[CAP_DPU_STRIDE] = { F76_DPU_DST_SURF_STRIDE_ATOMS, NPU_WIDE_ATOM },
		[CAP_DPU_WIDTH] = { F76_DPU_WDMA_SIZE1_WIDTH, 1 },
		[CAP_DPU_HEIGHT] = { F76_DPU_WDMA_SIZE1_HEIGHT, 1 },
		[CAP_DPU_NOTCH] = { F76_DPU_CUBE_NOTCH_ATOMS, 1 },
		[CAP_DPU_CHANNELS] = { F76_DPU_WDMA_SIZE0_CHANNEL, 1 },
		[CAP_PPU_DST] = { F76_PPU_DST_ADDR_IOVA, 1 },
		[CAP_PPU_STRIDE] = { F76_PPU_DST_SURF_STRIDE_BYTES, 1 },
		[CAP_PPU_WIDTH] = { F76_PPU_OUT_WIDTH_WIDTH, 1 },
		[CAP_PPU_HEIGHT] = { F76_PPU_OUT_HEIGHT_HEIGHT, 1 },
		[CAP_PPU_CHANNELS] = { F76_PPU_OUT_CHANNEL_CHANNEL, 1 },
	},
};

static const struct table * const tables[NPU_ENCODINGS] = {
	[NPU_ENCODING_RK3588] = &rk3588, [NPU_ENCODING_RK3576] = &rk3576,
};

static const struct table *table_of(const struct npu_chip *chip)
{
	return chip ? tables[chip->encoding] : NULL;
}

bool cap_knows(const struct npu_chip *chip)
{
	return table_of(chip);
}

static const char * const blocks[16] = {
#define NPU_BLOCK(block, base, target)	[(base) >> 12] = #block,
#include "npu/rk3588_regs.h"
};

/* The table is sorted by offset. */
static int find_in(const struct table *t, uint32_t off)
{
	size_t lo = 0, hi = t->nregs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->regs[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->nregs && t->regs[lo].off == off ? (int)lo : -1;
}

/* The PC's registers, and those that blocks begin with, are the RK3588's. */
static bool is_common(uint32_t off)
{
	return off < 0x1000 || off % 0x1000 < 0xc;
}

/* The table that has the register is @t or another one; -1 if none has. */
static int find_reg(const struct table **t, uint32_t off)
{
	int reg = find_in(*t, off);

	if (reg >= 0 || !is_common(off))
		return reg;
	*t = &rk3588;
	return find_in(*t, off);
}

/* Writes end in 0x01; NOP1 does nothing (model, from TRM and public programs). */
bool cap_is_write(uint64_t entry)
{
	return (CAP_ENTRY_TARGET(entry) & 0xff) == 0x01 && CAP_ENTRY_TARGET(entry) != NPU_TGT_NOP1;
}

static uint32_t field_mask(const struct field *f)
{
	return (uint32_t)(((UINT64_C(1) << f->width) - 1) << f->lsb);
}

uint32_t cap_address_mask(const struct npu_chip *chip, uint64_t entry)
{
	const struct table *t = table_of(chip);
	int reg = t && cap_is_write(entry) ? find_reg(&t, CAP_ENTRY_REG(entry)) : -1;

	for (size_t i = 0; reg >= 0 && i < t->nfields; i++) {
		if (t->fields[i].reg == reg && t->fields[i].kind == NPU_FK_ADDR)
			return field_mask(&t->fields[i]);
	}
	return 0;
}

/* The field that a place is, or NULL. */
static const struct field *place_field(const struct table *t, enum cap_place place)
{
	return t->place[place].field ? &t->fields[t->place[place].field] : NULL;
}

static bool is_at(const struct table *t, enum cap_place place, uint32_t off)
{
	const struct field *d = place_field(t, place);

	return d && t->regs[d->reg].off == off;
}

bool cap_is_destination(const struct npu_chip *chip, uint64_t entry)
{
	const struct table *t = table_of(chip);
	uint32_t off = CAP_ENTRY_REG(entry);

	return t && cap_is_write(entry) && (is_at(t, CAP_DPU_DST, off) || is_at(t, CAP_PPU_DST, off));
}

bool cap_is_enable(uint64_t entry)
{
	return CAP_ENTRY_TARGET(entry) == NPU_TGT_ENABLE;
}

static void image_write(struct cap_image *im, uint32_t off, uint32_t value)
{
	const struct table *t = table_of(im->chip);

	for (int p = 0; t && p < CAP_PLACES; p++) {
		if (is_at(t, p, off))
			im->raw[p] = value & field_mask(place_field(t, p));
	}
	/* The amount counts units beyond the first. */
	if (off == NPU_OFF_PC_BASE_ADDRESS)
		im->next = value & NPU_MASK_PC_BASE_ADDRESS_IOVA;
	else if (off == NPU_OFF_PC_REGISTER_AMOUNTS)
		im->next_entries = (NPU_GET(value, PC_REGISTER_AMOUNTS_AMOUNT) + 1) * im->chip->fetch;
}

uint32_t cap_image_run(struct cap_image *im, const uint64_t *entry, uint32_t n)
{
	im->enable = 0;
	im->next = 0;
	im->next_entries = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (cap_is_enable(entry[i])) {
			im->enable = CAP_ENTRY_VALUE(entry[i]);
			return i + 1;
		}
		if (cap_is_write(entry[i]))
			image_write(im, CAP_ENTRY_REG(entry[i]), CAP_ENTRY_VALUE(entry[i]));
	}
	return n;
}

/* As a number: sizes count from 1, strides are in bytes. */
static uint64_t place_value(const struct cap_image *im, enum cap_place place)
{
	const struct table *t = table_of(im->chip);
	const struct field *d = place_field(t, place);
	uint64_t raw = d ? im->raw[place] >> d->lsb : 0;

	if (!d)
		return 0;
	if (d->kind == NPU_FK_ADDR)
		return im->raw[place];
	if (d->kind == NPU_FK_A16)
		raw *= 16;
	return (raw + (d->kind == NPU_FK_M1)) * t->place[place].unit;
}

/* An element's bytes, by its code. */
static uint64_t precision_bytes(uint64_t code)
{
	static const uint8_t bytes[8] = { 1, 2, 2, 2, 4, 4, 1, 4 };

	return bytes[code & 7];
}

/* Places of a writer follow each other. */
static struct cap_output output(const struct cap_image *im, enum cap_place dst, uint64_t type_bytes)
{
	uint64_t width = place_value(im, dst + CAP_DPU_WIDTH - CAP_DPU_DST);
	uint64_t height = place_value(im, dst + CAP_DPU_HEIGHT - CAP_DPU_DST);
	uint64_t notch = place_value(im, dst + CAP_DPU_NOTCH - CAP_DPU_DST);
	uint64_t bytes = place_value(im, dst + CAP_DPU_CHANNELS - CAP_DPU_DST) * type_bytes;
	uint32_t atom = im->chip->atom;

	return (struct cap_output) {
		.base = place_value(im, dst), .stride = place_value(im, dst + CAP_DPU_STRIDE - CAP_DPU_DST),
		.plane = (width + notch) * atom * (height - 1) + width * atom,
		.surfaces = (bytes + atom - 1) / atom,
	};
}

unsigned int cap_image_outputs(const struct cap_image *im, struct cap_output out[2])
{
	unsigned int n = 0;

	if (!cap_knows(im->chip))
		return 0;
	if (im->enable & NPU_EN_DPU && place_value(im, CAP_DPU_MODE) & NPU_CODE_OUTPUT_TO_MEMORY)
		out[n++] = output(im, CAP_DPU_DST, precision_bytes(place_value(im, CAP_DPU_TYPE)));
	/* Two bytes an element, as the PPU's format is not decoded further. */
	if (im->enable & NPU_EN_PPU)
		out[n++] = output(im, CAP_PPU_DST, 2);
	return n;
}

bool cap_output_has(const struct cap_output *out, uint64_t addr)
{
	uint64_t rel = addr - out->base;

	if (addr < out->base)
		return false;
	if (!out->stride)
		return rel < out->plane * out->surfaces;
	return rel / out->stride < out->surfaces && rel % out->stride < out->plane;
}

static void print_fields(FILE *f, const struct table *t, int reg, uint32_t value)
{
	for (size_t i = 0; i < t->nfields; i++) {
		const struct field *d = &t->fields[i];
		uint32_t raw;

		if (d->reg != reg || d->kind == NPU_FK_ADDR)
			continue;
		raw = (value & field_mask(d)) >> d->lsb;
		if (d->kind == NPU_FK_S && d->width < 32 && raw >> (d->width - 1))
			fprintf(f, " %s=%d", d->name, (int32_t)(raw | UINT32_MAX << d->width));
		else if (d->kind == NPU_FK_S)
			fprintf(f, " %s=%d", d->name, (int32_t)raw);
		else
			fprintf(f, " %s=%llu", d->name, (unsigned long long)raw *
				(d->kind == NPU_FK_A16 ? 16 : 1) + (d->kind == NPU_FK_M1));
	}
}

/* Length of the register's name in "BLOCK.REGISTER FIELD" if it is @name, or 0. */
static size_t names(const struct cap_hang *hang, const char *name)
{
	size_t len = strcspn(hang->field, " ");

	return len == strlen(name) && !strncmp(hang->field, name, len) ? len : 0;
}

static void print_marks(FILE *f, const struct cap_hangs *h, const char *name)
{
	for (unsigned int i = 0; h && i < h->count; i++) {
		size_t len = names(&h->hang[i], name);

		if (len)
			fprintf(f, "    <-- hangs:%s: %s", h->hang[i].field + len, h->hang[i].why);
	}
}

static void print_write(FILE *f, const struct table *t, uint64_t entry, const struct cap_hangs *h)
{
	uint32_t target = CAP_ENTRY_TARGET(entry), off = CAP_ENTRY_REG(entry);
	int reg = find_reg(&t, off);

	if (reg >= 0)
		fprintf(f, "%s", t->regs[reg].name);
	else
		fprintf(f, "%s.%04x", blocks[off >> 12] ?: "?", off);
	fprintf(f, " (%04x:%04x) = 0x%08x", target, off, CAP_ENTRY_VALUE(entry));
	if (reg < 0)
		return;
	print_fields(f, t, reg, CAP_ENTRY_VALUE(entry));
	print_marks(f, h, t->regs[reg].name);
}

static void print_program(FILE *f, const struct table *t, const char *indent, const uint64_t *entry, uint32_t n,
			  const struct cap_hangs *h)
{
	for (uint32_t i = 0; i < n; i++) {
		if (cap_is_enable(entry[i])) {
			fprintf(f, "%senable 0x%02x", indent, CAP_ENTRY_VALUE(entry[i]));
			print_marks(f, h, CAP_HANG_ENABLE);
			fputc('\n', f);
			return;
		}
		if (!cap_is_write(entry[i]))
			continue;
		fputs(indent, f);
		print_write(f, t, entry[i], h);
		fputc('\n', f);
	}
}

void cap_print_marked(FILE *f, const char *indent, const uint64_t *entry, uint32_t n,
		      const struct cap_hangs *h)
{
	print_program(f, &rk3588, indent, entry, n, h);
}

/* Of registers that nothing here knows. */
static void print_raw(FILE *f, const char *indent, const uint64_t *entry, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%s(%04x:%04x) = 0x%08x\n", indent, CAP_ENTRY_TARGET(entry[i]), CAP_ENTRY_REG(entry[i]),
			CAP_ENTRY_VALUE(entry[i]));
}

void cap_print_program(FILE *f, const struct npu_chip *chip, const char *indent, const uint64_t *entry, uint32_t n)
{
	const struct table *t = table_of(chip);

	if (t)
		print_program(f, t, indent, entry, n, NULL);
	else
		print_raw(f, indent, entry, n);
}
