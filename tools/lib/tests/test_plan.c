// SPDX-License-Identifier: MIT
/*
 * Unit tests of tiling: every element once, and every task within limits.
 */
#include <stdlib.h>
#include <string.h>

#include "npu_internal.h"
#include "tap.h"

static bool covers_k(const struct npu_plan *p, uint32_t k)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < p->nparts; i++) {
		const struct npu_kpart *part = &p->part[i];

		if (part->k0 != next || !part->k || part->kp < part->k ||
		    part->kp - part->k >= 32 || part->kp % 32 || part->kp > 4096)
			return false;
		next += part->k;
	}
	return next == k;
}

static bool covers_c(const struct npu_plan *p, uint32_t m, uint32_t n)
{
	uint8_t *hit = calloc((size_t)m * n, 1);
	bool ok = true;

	for (uint32_t i = 0; i < p->ntiles; i++) {
		const struct npu_tile *t = &p->tile[i];

		for (uint32_t y = 0; y < t->m; y++)
			for (uint32_t x = 0; x < t->n; x++) {
				if (t->m0 + y >= m || t->n0 + x >= n)
					ok = false;
				else
					hit[(size_t)(t->m0 + y) * n + t->n0 + x]++;
			}
	}
	for (size_t i = 0; i < (size_t)m * n; i++)
		ok &= hit[i] == 1;
	free(hit);
	return ok;
}

/* The program generator knows the limits of the hardware: ask it. */
static bool tasks_fit(const struct npu_plan *p)
{
	struct npu_prog *prog = npu_prog_new();
	struct npu_conv_task task;
	bool ok = true;

	for (uint32_t i = 0; i < p->ntiles && ok; i++)
		for (uint32_t k = 0; k < p->nparts && ok; k++) {
			const struct npu_tile *t = &p->tile[i];

			npu_matmul_task(&task, p->in, p->hw_out, t->mp, t->np, p->part[k].kp);
			npu_prog_reset(prog);
			ok = !npu_prog_conv(prog, &task) && (t->mp == 1 || t->mp % 4 == 0) &&
			     t->mp - t->m < 4 && t->n0 % npu_kernel_group(p->in) == 0;
			if (!ok)
				printf("# tile %u part %u: %s\n", i, k, npu_prog_message(prog));
		}
	npu_prog_free(prog);
	return ok;
}

static bool jobs_fit(const struct npu_plan *p, const struct npu_opts *o)
{
	uint64_t budget = o->max_job_macs ? o->max_job_macs : UINT64_C(16) << 20;
	uint64_t *macs = calloc(p->njobs, sizeof(*macs)), total = 0, k = 0;
	uint32_t *tiles = calloc(p->njobs, sizeof(*tiles)), last = 0;
	bool ok = true;

	for (uint32_t i = 0; i < p->nparts; i++)
		k += p->part[i].kp;
	for (uint32_t i = 0; i < p->ntiles; i++) {
		const struct npu_tile *t = &p->tile[i];

		ok &= t->job >= last && t->job < p->njobs;
		last = t->job;
		macs[t->job] += t->mp * (uint64_t)t->np * k;
		tiles[t->job]++;
	}
	for (uint32_t i = 0; i < p->njobs; i++) {
		total += macs[i];
		/* A single tile may be over budget when it can't be cut. */
		ok &= tiles[i] && (macs[i] <= budget || tiles[i] == 1);
	}
	ok &= total == p->macs;
	free(macs);
	free(tiles);
	return ok;
}

static void check(enum npu_dtype dtype, uint32_t m, uint32_t n, uint32_t k,
		  const struct npu_opts *o)
{
	struct npu_matmul_desc d = { .dtype = dtype, .m = m, .n = n, .k = k };
	struct npu_plan p;

	if (npu_plan_make(&p, &d, o)) {
		tap_ok(false, "no plan for type %d %ux%ux%u", dtype, m, n, k);
		return;
	}
	tap_ok(covers_k(&p, k) && covers_c(&p, m, n) && tasks_fit(&p) && jobs_fit(&p, o) &&
	       (!o->jobs || p.njobs >= o->jobs || p.ntiles == p.njobs),
	       "type %d M %u N %u K %u: %u part(s), %u tile(s), %u job(s)", dtype, m, n, k,
	       p.nparts, p.ntiles, p.njobs);
	npu_plan_free(&p);
}

static uint32_t pick(unsigned int *seed, uint32_t max)
{
	*seed = *seed * 1664525u + 1013904223u;
	return 1 + (*seed >> 8) % max;
}

static void test_jobs(void)
{
	struct npu_matmul_desc d = { .dtype = NPU_INT8_INT32, .m = 4, .n = 96, .k = 32 };
	struct npu_opts o = { .jobs = 3 };
	struct npu_plan p;

	npu_plan_make(&p, &d, &o);
	tap_ok(p.njobs == 3 && p.ntiles == 3, "three kernel groups make three jobs");
	npu_plan_free(&p);
	d.n = 32;
	d.m = 12;
	npu_plan_make(&p, &d, &o);
	tap_ok(p.njobs == 3 && p.tile[0].mp == 4, "three row groups make three jobs");
	npu_plan_free(&p);
	d.m = 1;
	npu_plan_make(&p, &d, &o);
	tap_ok(p.njobs == 1, "what can't be cut is one job");
	npu_plan_free(&p);
	d = (struct npu_matmul_desc){ .dtype = NPU_INT8_INT32, .m = 128, .n = 1536, .k = 1536 };
	npu_plan_make(&p, &d, NULL);
	tap_ok(p.njobs >= 3, "a large product is spread over three cores by default");
	npu_plan_free(&p);
}

int main(void)
{
	static const uint32_t size[][3] = {
		{ 1, 1, 1 }, { 1, 32, 32 }, { 2, 3, 5 }, { 3, 33, 100 }, { 4, 32, 64 },
		{ 1, 1536, 1536 }, { 16, 1536, 1536 }, { 128, 1536, 1536 }, { 64, 768, 3072 },
		{ 64, 3072, 768 }, { 1020, 32, 32 }, { 1021, 32, 32 }, { 2047, 33, 65 },
		{ 5000, 17, 31 }, { 7, 4097, 64 }, { 1, 9000, 33 }, { 4, 32, 4096 },
		{ 4, 32, 4097 }, { 5, 70, 10000 }, { 130, 50, 8192 }, { 513, 513, 513 },
	};
	static const struct npu_opts opts[] = {
		{ 0 }, { .jobs = 3 }, { .jobs = 7, .max_m = 8 }, { .max_k = 32 },
		{ .max_m = 4, .max_n = 32, .max_k = 64 }, { .max_job_macs = 1 },
	};
	unsigned int seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(size); i++)
		for (int t = NPU_INT8_INT32; t <= NPU_FP16_FP16; t++)
			check((enum npu_dtype)t, size[i][0], size[i][1], size[i][2], &opts[0]);
	for (size_t o = 1; o < ARRAY_SIZE(opts); o++)
		for (int i = 0; i < 12; i++)
			check((enum npu_dtype)(i % 4), pick(&seed, 300), pick(&seed, 500),
			      pick(&seed, 700), &opts[o]);
	test_jobs();
	return tap_done();
}
