/* SPDX-License-Identifier: MIT */
/*
 * What unit tests ask of programs for a chip: the words that registers are written with.
 */
#ifndef WORDS_H
#define WORDS_H

#include <errno.h>
#include <string.h>

#include "prog/npu_task.h"
#include "tap.h"

struct word {
	uint16_t reg;
	uint32_t value;
};

static struct npu_prog *prog;

/* Entries that write it, of which the last one wrote @value. */
static inline unsigned int writes(uint16_t reg, uint32_t *value)
{
	uint16_t target = (uint16_t)(1u << (8 + (reg >> 12)) | 1);
	const uint64_t *e = npu_prog_entries(prog);
	unsigned int n = 0;

	for (size_t i = 0; i < npu_prog_count(prog); i++)
		if (e[i] >> 48 == target && (uint16_t)e[i] == reg) {
			*value = (uint32_t)(e[i] >> 16);
			n++;
		}
	return n;
}

/* Each is written once. */
static inline unsigned int wrong_words(const struct word *w, size_t n)
{
	unsigned int bad = 0;
	uint32_t got = 0;

	for (size_t i = 0; i < n; i++) {
		if (writes(w[i].reg, &got) == 1 && got == w[i].value)
			continue;
		printf("# 0x%04x: 0x%08x, want 0x%08x\n", w[i].reg, got, w[i].value);
		bad++;
	}
	return bad;
}

/* The blocks that the last task starts. */
static inline uint32_t started(void)
{
	return (uint32_t)(npu_prog_entries(prog)[npu_prog_count(prog) - 1] >> 16);
}

static inline int make(const struct npu_conv_task *t)
{
	npu_prog_reset(prog);
	return npu_prog_conv(prog, t);
}

static inline uint32_t value_of(uint16_t reg, const struct npu_conv_task *t)
{
	uint32_t got = 0;

	return make(t) || writes(reg, &got) != 1 ? 0xdeadbeef : got;
}

/* A program of a convolution is refused with this error and in these words, and nothing is left of it. */
static inline void refuses(const struct npu_conv_task *t, int err, const char *word, const char *what)
{
	int ret = make(t);

	tap_ok(ret == err && strstr(npu_prog_message(prog), word) && !npu_prog_ntasks(prog), "%s: %s", what,
	       npu_prog_message(prog));
}

static inline int make_pool(const struct npu_pool_task *t)
{
	npu_prog_reset(prog);
	return npu_prog_pool(prog, t);
}

static inline void refuses_pool(const struct npu_pool_task *t, const char *word)
{
	tap_ok(make_pool(t) == -EOPNOTSUPP && strstr(npu_prog_message(prog), word) && !npu_prog_ntasks(prog), "%s",
	       npu_prog_message(prog));
}

/* A function that has no order. */
static inline void any_map(int8_t map[256])
{
	for (int i = 0; i < 256; i++)
		map[i] = (int8_t)(i * 77 % 256 - 128);
	map[0] = -30;
	map[255] = 78;
}

/* Entries of the LUT's tables that are not those of @map. They follow the word that selects their table. */
static inline unsigned int wrong_entries(const int8_t *map)
{
	const uint64_t *e = npu_prog_entries(prog);
	unsigned int n = 0, bad = 0;
	uint32_t cfg = 0;

	for (size_t i = 0; i < npu_prog_count(prog); i++) {
		uint32_t value = (uint32_t)(e[i] >> 16);
		int32_t at = (int32_t)(n % 513) - (cfg == 0x20000 ? 512 : 0);

		if ((uint16_t)e[i] == 0x4100 && e[i] >> 48 == 0x1001)
			cfg = value;
		if ((uint16_t)e[i] != 0x4104 || e[i] >> 48 != 0x1001 || !cfg)
			continue;
		at = at < -128 ? -128 : at > 127 ? 127 : at;
		bad += value != (uint32_t)(map[at + 128] + 129) || cfg != (n < 513 ? 0x20000u : 0x30000u);
		n++;
	}
	return n == 1026 ? bad : 1026;
}

#endif /* WORDS_H */
