// SPDX-License-Identifier: MIT
/*
 * Unit tests of tiling: every element once, and every task within limits.
 */
#include <stdlib.h>
#include <string.h>

#include "prog/npu_task.h"
#include "tap.h"

struct shape {
	const struct npu_chip *chip;
	enum npu_prec in;
	uint32_t m, n, k, max_m, max_n;
};

/* At full width where there are programs for that. */
static enum npu_prec sum_of(const struct shape *s)
{
	if (s->chip != &npu_rk3588)
		return s->in == NPU_PREC_INT4 ? NPU_PREC_FP32 : NPU_PREC_INT8;
	return s->in == NPU_PREC_INT8 ? NPU_PREC_INT32 : s->in == NPU_PREC_INT4 ? NPU_PREC_INT16 : NPU_PREC_FP32;
}

static bool covers(const struct npu_plan *p, const struct shape *s)
{
	uint8_t *hit = calloc((size_t)s->m * s->n, 1);
	bool ok = true;

	for (uint64_t i = 0; i < p->ntiles; i++) {
		struct npu_tile t = npu_plan_tile(p, i);

		for (uint32_t y = 0; y < t.m; y++)
			for (uint32_t x = 0; x < t.n; x++) {
				if (t.m0 + y >= s->m || t.n0 + x >= s->n)
					ok = false;
				else
					hit[(size_t)(t.m0 + y) * s->n + t.n0 + x]++;
			}
	}
	for (size_t i = 0; i < (size_t)s->m * s->n; i++)
		ok &= hit[i] == 1;
	free(hit);
	return ok;
}

/* The program generator knows the limits of the hardware: ask it. */
static bool tile_fits(struct npu_prog *prog, const struct npu_tile *t, const struct shape *s)
{
	uint32_t group = npu_kernel_group(s->chip, s->in), kp = (uint32_t)round_up(s->k, 32);
	struct npu_conv_task task;

	npu_matmul_task(&task, s->in, sum_of(s), t->mp, t->np, kp);
	task.has_bias = task.out == NPU_PREC_INT8;
	npu_prog_reset(prog);
	if (npu_prog_conv(prog, &task)) {
		printf("# %s\n", npu_prog_message(prog));
		return false;
	}
	return (t->mp == 1 || t->mp % 4 == 0) && t->mp - t->m < 4 && t->np - t->n < group &&
	       t->n0 % group == 0 && (!s->max_m || t->mp <= round_up(s->max_m, 4)) &&
	       (!s->max_n || t->np <= round_up(s->max_n, group)) &&
	       /* What cannot be cut any more may take longer. */
	       ((uint64_t)t->mp * t->np * kp <= NPU_TASK_MACS || t->np == group);
}

static bool tiles_fit(const struct npu_plan *p, const struct shape *s)
{
	struct npu_prog *prog = npu_prog_new_for(s->chip, 0);
	bool ok = true;

	for (uint64_t i = 0; i < p->ntiles && ok; i++) {
		struct npu_tile t = npu_plan_tile(p, i);

		ok = tile_fits(prog, &t, s);
	}
	npu_prog_free(prog);
	return ok;
}

static void check(const struct shape *s)
{
	struct npu_plan p = npu_plan_make(s->chip, s->in, s->m, s->n, s->k, s->max_m, s->max_n);

	tap_ok(covers(&p, s) && tiles_fit(&p, s), "%s, type %d M %u N %u K %u: %u tile(s)", s->chip->name,
	       s->in, s->m, s->n, s->k, (unsigned int)p.ntiles);
}

static void check_step(uint32_t k)
{
	uint32_t step = npu_k_step(k), last = k % step ? k % step : step;

	tap_ok(step % 32 == 0 && step <= 4096 && round_up(k, step) - k < step && step - last < step &&
	       div_up(k, step) == div_up(k, 4096), "K %u in steps of %u", k, step);
}

/* Of the limits that one task has, each alone is what cuts some of these. */
static void check_bytes(uint32_t soc)
{
	static const uint32_t size[][3] = {
		{ 1, 1, 1 }, { 3, 33, 100 }, { 1, 1536, 1536 }, { 128, 1536, 1536 }, { 1021, 32, 32 }, { 2047, 33, 65 },
		{ 1, 9000, 33 }, { 1, 4000, 2900 }, { 70, 32, 4096 }, { 1000, 60, 288 }, { 513, 513, 513 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		check(&(struct shape){ npu_chip_of_soc(soc), NPU_PREC_INT8, size[i][0], size[i][1], size[i][2],
				       0, 0 });
}

/* INT4 weights of halves. */
static void check_int4(void)
{
	static const uint32_t size[][3] = {
		{ 1, 64, 2 }, { 3, 64, 100 }, { 1, 1536, 1536 }, { 128, 1536, 1536 }, { 1021, 64, 32 },
		{ 2047, 128, 66 }, { 1, 9024, 34 }, { 1, 4032, 2900 }, { 70, 64, 4096 }, { 1000, 64, 288 },
		{ 80, 1024, 2048 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		check(&(struct shape){ npu_chip_of_soc(3576), NPU_PREC_INT4, size[i][0], size[i][1], size[i][2],
				       0, 0 });
}

static uint32_t pick(unsigned int *seed, uint32_t max)
{
	*seed = *seed * 1664525u + 1013904223u;
	return 1 + (*seed >> 8) % max;
}

int main(void)
{
	static const uint32_t size[][3] = {
		{ 1, 1, 1 }, { 1, 32, 32 }, { 2, 3, 5 }, { 3, 33, 100 }, { 4, 32, 64 },
		{ 1, 1536, 1536 }, { 16, 1536, 1536 }, { 128, 1536, 1536 }, { 64, 768, 3072 },
		{ 64, 3072, 768 }, { 1020, 32, 32 }, { 1021, 32, 32 }, { 2047, 33, 65 },
		{ 5000, 17, 31 }, { 7, 4097, 64 }, { 1, 9000, 33 }, { 4, 32, 4096 },
		{ 5, 70, 4096 }, { 130, 50, 4064 }, { 513, 513, 513 },
	};
	static const uint32_t limits[][2] = { { 8, 0 }, { 0, 32 }, { 4, 32 }, { 30, 100 } };
	static const enum npu_prec types[] = { NPU_PREC_INT8, NPU_PREC_FP16, NPU_PREC_INT4 };
	static const uint32_t k[] = { 1, 32, 4095, 4096, 4097, 8192, 8200, 12288, 10000000 };
	unsigned int seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (size_t t = 0; t < ARRAY_SIZE(types); t++)
			check(&(struct shape){ &npu_rk3588, types[t], size[i][0], size[i][1], size[i][2], 0, 0 });
	for (size_t l = 0; l < ARRAY_SIZE(limits); l++)
		for (int i = 0; i < 12; i++)
			check(&(struct shape){ &npu_rk3588, types[i % ARRAY_SIZE(types)], pick(&seed, 300), pick(&seed, 500),
					       pick(&seed, 700), limits[l][0], limits[l][1] });
	for (size_t i = 0; i < ARRAY_SIZE(k); i++)
		check_step(k[i]);
	check_bytes(3576);
	check_bytes(3568);
	check_bytes(3562);
	check_int4();
	return tap_done();
}
