// SPDX-License-Identifier: MIT
/*
 * Reads register programs: which values are addresses, where results go, what a program
 * says in words. Whether a value is an address depends on its register alone.
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

static const struct reg regs_rk3576[] = {
#define NPU_REG(b, r, off)	{ #b "." #r, off },
#include "npu/rk3576_regs.h"
};

static const struct field fields_rk3576[] = {
#define NPU_FIELD(b, r, f, lsb, w, k)	{ #f, R76_##b##_##r, lsb, w, NPU_FK_##k },
#include "npu/rk3576_regs.h"
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

struct table {
	const struct reg *regs;
	size_t nregs;
	const struct field *fields;
	size_t nfields;
};

static const struct table rk3588 = { regs, COUNT(regs), fields, COUNT(fields) };
static const struct table rk3576 = {
	regs_rk3576, COUNT(regs_rk3576), fields_rk3576, COUNT(fields_rk3576),
};

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

static int find_reg(uint32_t off)
{
	return find_in(&rk3588, off);
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

uint32_t cap_address_mask(uint64_t entry)
{
	int reg = cap_is_write(entry) ? find_reg(CAP_ENTRY_REG(entry)) : -1;

	for (size_t i = 0; reg >= 0 && i < COUNT(fields); i++) {
		if (fields[i].reg == reg && fields[i].kind == NPU_FK_ADDR)
			return field_mask(&fields[i]);
	}
	return 0;
}

bool cap_is_destination(uint64_t entry)
{
	return cap_is_write(entry) && (CAP_ENTRY_REG(entry) == NPU_OFF_DPU_DST_BASE_ADDR ||
				   CAP_ENTRY_REG(entry) == NPU_OFF_PPU_DST_BASE_ADDR);
}

bool cap_is_enable(uint64_t entry)
{
	return CAP_ENTRY_TARGET(entry) == NPU_TGT_ENABLE;
}

static uint32_t *image_word(struct cap_image *im, uint32_t reg)
{
	switch (reg) {
	case NPU_OFF_DPU_DST_BASE_ADDR:
		return &im->dpu_dst;
	case NPU_OFF_DPU_DST_SURF_STRIDE:
		return &im->dpu_stride;
	case NPU_OFF_DPU_WDMA_SIZE_1:
		return &im->dpu_height;	/* and width */
	case NPU_OFF_DPU_WDMA_SIZE_0:
		return &im->dpu_channels;
	case NPU_OFF_DPU_DATA_CUBE_NOTCH:
		return &im->dpu_notch;
	case NPU_OFF_DPU_DATA_FORMAT:
		return &im->dpu_format;
	case NPU_OFF_DPU_FEATURE_MODE_CFG:
		return &im->feature_mode;
	case NPU_OFF_PPU_DST_BASE_ADDR:
		return &im->ppu_dst;
	case NPU_OFF_PPU_DST_SURF_STRIDE:
		return &im->ppu_stride;
	case NPU_OFF_PPU_DATA_CUBE_OUT_WIDTH:
		return &im->ppu_width;
	case NPU_OFF_PPU_DATA_CUBE_OUT_HEIGHT:
		return &im->ppu_height;
	case NPU_OFF_PPU_DATA_CUBE_OUT_CHANNEL:
		return &im->ppu_channels;
	case NPU_OFF_PPU_OPERATION_MODE_CFG:
		return &im->ppu_mode;
	default:
		return NULL;
	}
}

uint32_t cap_image_run(struct cap_image *im, const uint64_t *entry, uint32_t n)
{
	im->enable = 0;
	im->next = 0;
	im->next_entries = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t reg = CAP_ENTRY_REG(entry[i]), value = CAP_ENTRY_VALUE(entry[i]), *w;

		if (cap_is_enable(entry[i])) {
			im->enable = value;
			return i + 1;
		}
		if (!cap_is_write(entry[i]))
			continue;
		/* The amount counts pairs beyond the first. */
		if (reg == NPU_OFF_PC_BASE_ADDRESS)
			im->next = value & NPU_MASK_PC_BASE_ADDRESS_IOVA;
		else if (reg == NPU_OFF_PC_REGISTER_AMOUNTS)
			im->next_entries = (NPU_GET(value, PC_REGISTER_AMOUNTS_AMOUNT) + 1) * 2;
		w = image_word(im, reg);
		if (w)
			*w = value;
	}
	return n;
}

/* An element's bytes, by its code. */
static uint64_t precision_bytes(uint32_t code)
{
	static const uint8_t bytes[8] = { 1, 2, 2, 2, 4, 4, 1, 4 };

	return bytes[code & 7];
}

#define SURFACE_BYTES	16u	/* of one position in a surface */

static struct cap_output output(uint64_t base, uint64_t stride, uint64_t width, uint64_t height,
				uint64_t notch, uint64_t bytes)
{
	uint64_t pitch = (width + notch) * SURFACE_BYTES;

	return (struct cap_output) {
		.base = base, .stride = stride & ~UINT64_C(15),
		.plane = pitch * (height - 1) + width * SURFACE_BYTES,
		.surfaces = (bytes + SURFACE_BYTES - 1) / SURFACE_BYTES,
	};
}

unsigned int cap_image_outputs(const struct cap_image *im, struct cap_output out[2])
{
	bool to_memory = NPU_GET(im->feature_mode, DPU_FEATURE_MODE_CFG_OUTPUT_MODE) & NPU_CODE_OUTPUT_TO_MEMORY;
	unsigned int n = 0;

	if (im->enable & NPU_EN_DPU && to_memory)
		out[n++] = output(im->dpu_dst, im->dpu_stride, NPU_GET(im->dpu_height, DPU_WDMA_SIZE_1_WIDTH) + 1,
				  NPU_GET(im->dpu_height, DPU_WDMA_SIZE_1_HEIGHT) + 1,
				  NPU_GET(im->dpu_notch, DPU_DATA_CUBE_NOTCH_NOTCH_0),
				  (NPU_GET(im->dpu_channels, DPU_WDMA_SIZE_0_CHANNEL) + UINT64_C(1)) *
				  precision_bytes(NPU_GET(im->dpu_format, DPU_DATA_FORMAT_OUT_PRECISION)));
	/* Two bytes an element, as the PPU's format is not decoded further. */
	if (im->enable & NPU_EN_PPU)
		out[n++] = output(im->ppu_dst, im->ppu_stride, NPU_GET(im->ppu_width, PPU_DATA_CUBE_OUT_WIDTH_WIDTH) + 1,
				  NPU_GET(im->ppu_height, PPU_DATA_CUBE_OUT_HEIGHT_HEIGHT) + 1,
				  NPU_GET(im->ppu_mode, PPU_OPERATION_MODE_CFG_NOTCH),
				  (NPU_GET(im->ppu_channels, PPU_DATA_CUBE_OUT_CHANNEL_CHANNEL) + UINT64_C(1)) * 2);
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

/* The PC's registers, and those that blocks begin with, are the RK3588's. */
static bool is_common(uint32_t off)
{
	return off < 0x1000 || off % 0x1000 < 0xc;
}

static void print_write(FILE *f, const struct table *t, uint64_t entry, const struct cap_hangs *h)
{
	uint32_t target = CAP_ENTRY_TARGET(entry), off = CAP_ENTRY_REG(entry);
	int reg = find_in(t, off);

	if (reg < 0 && is_common(off)) {
		t = &rk3588;
		reg = find_reg(off);
	}
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

void cap_print_rk3576(FILE *f, const char *indent, const uint64_t *entry, uint32_t n)
{
	print_program(f, &rk3576, indent, entry, n, NULL);
}

void cap_print_program(FILE *f, const char *indent, const uint64_t *entry, uint32_t n)
{
	cap_print_marked(f, indent, entry, n, NULL);
}
