// SPDX-License-Identifier: MIT
/*
 * Compares libnpu's convolutions for the RK3576 with the programs of Rockchip's compiler in
 * rocket-userspace's table, for the same sizes and steps: make golden GOLDEN=FILE. Prints how many
 * programs differ in which registers, but for addresses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prog/npu_rk3576.h"
#include GOLDEN

#define WORDS		(0x8000 / 4)
#define CORE1_GRANULES	7168u	/* where the window of CBUF of a core 1 begins */
#define MOST		64

struct image {
	uint32_t word[WORDS];
	bool written[WORDS];
};

static const struct {
	const char *name;
	uint16_t off;
	bool address;
} regs[] = {
#define NPU_REG(b, r, off)		{ #b "." #r, off, false },
#define NPU_FIELD(b, r, f, lsb, w, k)	{ NULL, NPU_OFF76_##b##_##r, NPU_FK_##k == NPU_FK_ADDR },
#include "npu/rk3576_regs.h"
};

static bool is_address(uint16_t off)
{
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		if (regs[i].address && regs[i].off == off)
			return true;
	return false;
}

static const char *name_of(uint16_t off)
{
	static char number[8];

	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		if (regs[i].name && regs[i].off == off)
			return regs[i].name;
	snprintf(number, sizeof(number), "%04x", off);
	return number;
}

static void image_write(struct image *im, uint16_t off, uint32_t value)
{
	if (off < 0x1000 || off / 4 >= WORDS)
		return;
	im->word[off / 4] = value;
	im->written[off / 4] = true;
}

static uint32_t word(const struct image *im, uint16_t off)
{
	return im->word[off / 4];
}

/* What the table does not say apart from the program itself. */
static struct npu_conv_task task_of(const struct rk3576_golden_case *c, const struct image *im)
{
	enum npu_prec type = c->is_float ? NPU_PREC_FP16 : NPU_PREC_INT8;

	return (struct npu_conv_task) {
		.in = type, .out = type, .depthwise = c->dw,
		.in_w = c->iw, .in_h = c->ih_task, .in_h_full = c->ih_full, .in_c = c->ic,
		.out_w = c->ow, .out_h = c->oh_task, .out_h_full = c->oh_full, .out_c = c->oc,
		/* Surfaces of depthwise results are whole groups of four positions. */
		.out_pitch = c->dw ? (c->ow * c->oh_full + 3) & ~3u : 0,
		.kw = c->kw, .kh = c->kh, .stride_x = c->sx, .stride_y = c->sy, .dil_x = 1, .dil_y = 1,
		.pad_top = c->pad_top, .pad_left = c->pad_left,
		.pad_value = (int32_t)word(im, NPU_OFF76_CNA_PAD_CON1),
		.has_bias = true, .relu = !(word(im, NPU_OFF76_DPU_BN_CFG) & 1),
		.rq = {
			.scale = (uint16_t)word(im, NPU_OFF76_DPU_OUT_CVT_SCALE),
			.shift = (uint8_t)word(im, NPU_OFF76_DPU_OUT_CVT_SHIFT),
			.zp = (int32_t)word(im, NPU_OFF76_DPU_OUT_CVT_OFFSET),
		},
	};
}

/* They would make a line of each program. */
static void drop_sizes(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++) {
		bool digit = *s >= '0' && *s <= '9';

		if (!digit || to == text || to[-1] != '#')
			*to++ = digit ? '#' : *s;
	}
	*to = '\0';
}

/* "none", or the registers; "not made: why". */
static void compare(const struct rk3576_golden_case *c, char *text, size_t size)
{
	static struct image theirs, ours;
	struct npu_conv_task t;
	struct npu_prog *p;
	size_t n = 0;

	memset(&theirs, 0, sizeof(theirs));
	memset(&ours, 0, sizeof(ours));
	for (unsigned int i = 0; i < c->n_ops; i++)
		image_write(&theirs, c->ops[i].reg, c->ops[i].val);
	if (c->argb) {
		snprintf(text, size, "not made: packed pixels");
		return;
	}
	t = task_of(c, &theirs);
	p = npu_prog_new_for(npu_chip_of_soc(3576),
			     (word(&theirs, NPU_OFF76_CNA_CBUF_START) & 0xffff) >= CORE1_GRANULES);
	if (npu_prog_conv(p, &t)) {
		snprintf(text, size, "not made: %s", npu_prog_message(p));
		drop_sizes(text);
		npu_prog_free(p);
		return;
	}
	for (size_t i = 0; i < npu_prog_count(p); i++)
		image_write(&ours, npu_prog_entries(p)[i] & 0xffff, (uint32_t)(npu_prog_entries(p)[i] >> 16));
	npu_prog_free(p);
	snprintf(text, size, "none");
	for (uint16_t off = 0x1000; off / 4 < WORDS && n < size; off += 4) {
		if (word(&theirs, off) == word(&ours, off) || is_address(off))
			continue;
		n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", name_of(off));
	}
}

int main(int argc, char **argv)
{
	static char kinds[MOST][512];
	unsigned int count[MOST] = { 0 };
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");

	for (size_t i = 0; i < ARRAY_SIZE(rk3576_golden_cases); i++) {
		char text[512];
		unsigned int k = 0;

		compare(&rk3576_golden_cases[i], text, sizeof(text));
		while (k < MOST - 1 && *kinds[k] && strcmp(kinds[k], text))
			k++;
		snprintf(kinds[k], sizeof(kinds[k]), "%s", text);
		count[k]++;
		if (verbose)
			printf("# %s: %s\n", rk3576_golden_cases[i].name, text);
	}
	printf("Programs\tRegisters that differ\n");
	for (unsigned int k = 0; k < MOST && *kinds[k]; k++)
		printf("%u\t%s\n", count[k], kinds[k]);
	return 0;
}
