// SPDX-License-Identifier: MIT
/*
 * What npu-bench tells the planner of the ggml backend, from times that are given here.
 */
#include <string.h>

#include "tap.h"
#include "../bench/bench_plan.c"

/* The CPU takes 1 ns for each 10 operations; the NPU what is said here. */
static uint64_t base, per_row, pack;
static int runs, fail_at;

int bench_product_run(struct npu_dev *dev, const struct bench_opts *o, struct bench_product *p)
{
	(void)dev;
	(void)o;
	if (++runs == fail_at)
		return -5;
	p->cpu = bench_macs(p) / 10;
	p->call = base + per_row * p->m;
	p->pack = pack;
	return 0;
}

static bool plan_is(int64_t rows_from, int64_t k_from, int64_t macs_from, int64_t reuse_from)
{
	static const struct bench_opts o;
	static struct bench_plan plan;
	int ret;

	memset(&plan, 0, sizeof(plan));
	runs = 0;
	ret = bench_plan_make(NULL, &o, &plan);
	printf("# %d: %d points, rows %lld, K %lld, MACs %lld, reuse %lld\n", ret, (int)plan.npoints,
	       (long long)plan.min_rows, (long long)plan.min_k, (long long)plan.min_macs,
	       (long long)plan.min_reuse);
	return !ret && plan.npoints == COUNT(rows) + COUNT(columns) + COUNT(sides) && plan.min_rows == rows_from &&
	       plan.min_k == k_from && plan.min_macs == macs_from && plan.min_reuse == reuse_from;
}

int main(void)
{
	static const struct bench_opts o;
	static struct bench_plan plan;

	tap_ok(COUNT(rows) + COUNT(columns) + COUNT(sides) <= BENCH_POINTS, "there is room for all points");
	/* Rows of 2048 x 2048 take the CPU 419430 ns each; the least K, 32, of 256 x 2048 1677721. */
	base = 1;
	per_row = 0;
	pack = 0;
	tap_ok(plan_is(1, 32, 256 * 64 * 64, 1), "an NPU that is always faster");
	base = 1000000;
	tap_ok(plan_is(4, 32, 256 * 256 * 256, 4), "one that takes a millisecond for a call");
	pack = 10000000;
	tap_ok(plan_is(4, 32, 256 * 256 * 256, 32), "and ten more for packing");
	base = 0;
	per_row = 500000;
	pack = 0;
	tap_ok(plan_is(-1, -1, -1, -1), "one that is never faster");
	base = 200000000;
	per_row = 0;
	tap_ok(plan_is(512, -1, -1, 512), "one that is faster with the most rows only");
	runs = 0;
	fail_at = 3;
	tap_ok(bench_plan_make(NULL, &o, &plan) == -5 && plan.npoints == 2, "a run that fails ends it");
	return tap_done();
}
