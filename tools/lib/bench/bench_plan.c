// SPDX-License-Identifier: MIT
/*
 * From where on the NPU is faster than the CPU, as the planner of the ggml backend asks: products of
 * halves, floats in and out, weights resident or packed for one product.
 */
#include "bench.h"


static const uint32_t rows[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512 };
static const uint32_t columns[] = { 32, 64, 128, 256, 512, 1024, 2048 };
static const uint32_t sides[] = { 64, 128, 256, 512, 1024 };
static const uint32_t few[] = { 1, 4, 16 };
static const uint32_t narrow[] = { 32, 64, 128 };

#define COUNT(a)	((uint32_t)(sizeof(a) / sizeof((a)[0])))

static bool wins(const struct bench_product *p)
{
	return p->call <= p->cpu;
}

static bool wins_with_packing(const struct bench_product *p)
{
	return p->call + p->pack <= p->cpu;
}

static int measure(struct npu_dev *dev, const struct bench_opts *o, struct bench_plan *plan,
		   uint32_t m, uint32_t n, uint32_t k)
{
	struct bench_product *p = &plan->point[plan->npoints];
	int ret;

	*p = (struct bench_product){ .type = NPU_PREC_FP16, .m = m, .n = n, .k = k };
	ret = bench_product_run(dev, o, p);
	plan->npoints += !ret;
	return ret;
}

/* The least value from which on all win; points of a sweep are in its order. */
static int64_t least(const struct bench_product *p, const uint32_t *value, uint32_t n,
		     bool (*good)(const struct bench_product *p))
{
	int64_t from = -1;

	while (n-- && good(&p[n]))
		from = value[n];
	return from;
}

/* Of the points that the other limits let pass: more than the most that loses, if any is. */
static int64_t least_macs(const struct bench_plan *plan)
{
	uint64_t lost = 0;
	int64_t from = -1;

	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < plan->npoints; i++) {
			const struct bench_product *p = &plan->point[i];
			uint64_t macs = bench_macs(p);

			if (plan->min_rows < 0 || plan->min_k < 0 || p->m < plan->min_rows || p->k < plan->min_k)
				continue;
			if (!pass && !wins(p) && macs > lost)
				lost = macs;
			if (pass && macs > lost && (from < 0 || macs < (uint64_t)from))
				from = (int64_t)macs;
		}
	return from;
}

int bench_plan_make(struct npu_dev *dev, const struct bench_opts *o, struct bench_plan *plan)
{
	const uint32_t *m = o->tiny ? few : rows, *k = o->tiny ? narrow : columns;
	const uint32_t *side = o->tiny ? narrow : sides;
	uint32_t nm = o->tiny ? COUNT(few) : COUNT(rows), nk = o->tiny ? COUNT(narrow) : COUNT(columns);
	uint32_t nsides = o->tiny ? COUNT(narrow) : COUNT(sides);
	uint32_t most = k[nk - 1], many = m[nm - 1] / 2;
	const struct bench_product *by_k;
	int ret = 0;

	plan->npoints = 0;
	for (uint32_t i = 0; i < nm && !ret; i++)
		ret = measure(dev, o, plan, m[i], most, most);
	by_k = plan->point + plan->npoints;
	for (uint32_t i = 0; i < nk && !ret; i++)
		ret = measure(dev, o, plan, many, most, k[i]);
	for (uint32_t i = 0; i < nsides && !ret; i++)
		ret = measure(dev, o, plan, many, side[i], side[i]);
	if (ret)
		return ret;
	plan->min_rows = least(plan->point, m, nm, wins);
	plan->min_reuse = least(plan->point, m, nm, wins_with_packing);
	plan->min_k = least(by_k, k, nk, wins);
	plan->min_macs = least_macs(plan);
	return 0;
}
