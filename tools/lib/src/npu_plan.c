// SPDX-License-Identifier: MIT
/*
 * How a matrix product of any size is cut into tasks and jobs.
 *
 * K is cut into stretches of at most NPU_TASK_MAX_K, M by what the convolution
 * buffer holds next to the weights of 32 kernels, N so that there is work for
 * as many jobs as wanted and no job is longer than its share of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_internal.h"

#define M_ALIGN		4u
#define K_ALIGN		32u

/* Longest piece of @total in equal pieces of at most @max, both in @unit. */
static uint32_t even_piece(uint32_t total, uint64_t max, uint32_t unit)
{
	uint32_t units = (uint32_t)div_up(total, unit);
	uint64_t per = max_u64(max / unit, 1);
	uint64_t pieces = div_up(units, per);

	return (uint32_t)div_up(units, pieces) * unit;
}

uint32_t npu_k_step(uint32_t k)
{
	return even_piece(k, NPU_TASK_MAX_K, K_ALIGN);
}

static uint32_t limit(uint32_t opt, uint32_t hw)
{
	return opt && opt < hw ? opt : hw;
}

uint64_t npu_job_budget(const struct npu_opts *opts)
{
	return opts->max_job_macs ? opts->max_job_macs : NPU_JOB_MACS;
}

uint32_t npu_jobs_wanted(const struct npu_opts *opts, uint64_t macs)
{
	if (opts->jobs)
		return opts->jobs;
	return macs >= NPU_SPREAD_MACS ? NPU_SPREAD_JOBS : 1;
}

static enum npu_prec operand_prec(enum npu_dtype dtype)
{
	return dtype == NPU_INT8_INT32 || dtype == NPU_INT8_INT8 ? NPU_PREC_INT8
								 : NPU_PREC_FP16;
}

/* Partial sums leave the NPU at full width. */
static enum npu_prec result_prec(enum npu_dtype dtype, uint32_t nparts)
{
	switch (dtype) {
	case NPU_INT8_INT8:
		return nparts == 1 ? NPU_PREC_INT8 : NPU_PREC_INT32;
	case NPU_FP16_FP16:
		return nparts == 1 ? NPU_PREC_FP16 : NPU_PREC_FP32;
	case NPU_FP16_FP32:
		return NPU_PREC_FP32;
	default:
		return NPU_PREC_INT32;
	}
}

static int cut_k(struct npu_plan *plan, uint32_t k, const struct npu_opts *opts)
{
	uint32_t step = even_piece(k, limit(opts->max_k, NPU_TASK_MAX_K), K_ALIGN);

	plan->nparts = (uint32_t)div_up(k, step);
	plan->part = calloc(plan->nparts, sizeof(*plan->part));
	if (!plan->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->nparts; i++) {
		struct npu_kpart *p = &plan->part[i];

		p->k0 = i * step;
		p->k = (uint32_t)min_u64(step, k - p->k0);
		p->kp = (uint32_t)round_up(p->k, K_ALIGN);
	}
	return 0;
}

/* Rows whose features fit the banks left by the weights; parts[0] is longest. */
static uint32_t rows_fit(const struct npu_plan *plan)
{
	uint32_t kp = plan->part[0].kp;
	size_t kernel = (size_t)kp * npu_prec_bytes(plan->in);
	uint64_t bytes = (uint64_t)(NPU_CBUF_BANKS - npu_weight_banks(kernel)) *
			 NPU_CBUF_BANK_BYTES;
	uint64_t row = (uint64_t)npu_row_entries(plan->in, 1, kp) * NPU_CBUF_ENTRY_BYTES;

	return (uint32_t)min_u64(bytes / row, NPU_TASK_MAX_ROWS);
}

struct grid {
	uint32_t mstep, nstep;
	uint32_t nm, nn;
	uint32_t jobs;
};

static uint64_t padded_k(const struct npu_plan *plan)
{
	const struct npu_kpart *last = &plan->part[plan->nparts - 1];

	return (uint64_t)last->k0 + last->kp;
}

static void count_grid(struct grid *g, const struct npu_matmul_desc *d)
{
	g->nm = (uint32_t)div_up(d->m, g->mstep);
	g->nn = (uint32_t)div_up(d->n, g->nstep);
}

/* Cut N, then M, finer until there are tiles for all jobs, if that is possible. */
static void refine(struct grid *g, const struct npu_matmul_desc *d, uint32_t group,
		   uint32_t munit)
{
	uint32_t ngroups = (uint32_t)div_up(d->n, group);
	uint32_t mgroups = (uint32_t)div_up(d->m, munit);
	uint64_t want;

	if ((uint64_t)g->nm * g->nn < g->jobs) {
		want = min_u64(div_up(g->jobs, g->nm), ngroups);
		g->nstep = ngroups / (uint32_t)want * group;
		count_grid(g, d);
	}
	if ((uint64_t)g->nm * g->nn < g->jobs) {
		want = min_u64(div_up(g->jobs, g->nn), mgroups);
		g->mstep = mgroups / (uint32_t)want * munit;
		count_grid(g, d);
	}
}

static void choose_grid(struct grid *g, const struct npu_plan *plan,
			const struct npu_matmul_desc *d, const struct npu_opts *opts)
{
	uint64_t budget = npu_job_budget(opts);
	uint32_t group = npu_kernel_group(plan->in);
	uint32_t munit = d->m == 1 ? 1 : M_ALIGN;
	uint64_t k = padded_k(plan), total, per_job;

	g->mstep = even_piece(d->m, limit(opts->max_m, rows_fit(plan)), munit);
	g->nstep = even_piece(d->n, min_u64(limit(opts->max_n, NPU_TASK_MAX_N),
					    budget / (g->mstep * k)), group);
	total = round_up(d->m, munit) * round_up(d->n, group) * k;
	g->jobs = npu_jobs_wanted(opts, total);
	count_grid(g, d);
	refine(g, d, group, munit);

	per_job = max_u64(budget / (g->mstep * (uint64_t)g->nstep * k), 1);
	g->jobs = (uint32_t)max_u64(g->jobs, div_up((uint64_t)g->nm * g->nn, per_job));
	g->jobs = (uint32_t)min_u64(g->jobs, (uint64_t)g->nm * g->nn);
}

static void place_tile(struct npu_plan *plan, const struct npu_matmul_desc *d,
		       const struct grid *g, uint32_t i)
{
	struct npu_tile *t = &plan->tile[i];

	t->m0 = i / g->nn * g->mstep;
	t->m = (uint32_t)min_u64(g->mstep, d->m - t->m0);
	t->mp = d->m == 1 ? 1 : (uint32_t)round_up(t->m, M_ALIGN);
	t->n0 = i % g->nn * g->nstep;
	t->n = (uint32_t)min_u64(g->nstep, d->n - t->n0);
	t->np = (uint32_t)round_up(t->n, npu_kernel_group(plan->in));
	t->job = (uint32_t)((uint64_t)i * g->jobs / plan->ntiles);
	plan->macs += (uint64_t)t->mp * t->np * padded_k(plan);
}

int npu_plan_make(struct npu_plan *plan, const struct npu_matmul_desc *desc,
		  const struct npu_opts *opts)
{
	static const struct npu_opts defaults;
	struct grid g;
	int ret;

	memset(plan, 0, sizeof(*plan));
	if (!opts)
		opts = &defaults;
	/* The sums of sizes below must not wrap. */
	if (!desc->m || !desc->n || !desc->k || desc->dtype > NPU_FP16_FP16 ||
	    desc->m > INT32_MAX / 2 || desc->n > INT32_MAX / 2 || desc->k > INT32_MAX / 2)
		return -EINVAL;
	plan->in = operand_prec(desc->dtype);
	ret = cut_k(plan, desc->k, opts);
	if (ret)
		return ret;
	plan->hw_out = result_prec(desc->dtype, plan->nparts);

	choose_grid(&g, plan, desc, opts);
	if ((uint64_t)g.nm * g.nn > UINT32_MAX / plan->nparts) {
		npu_plan_free(plan);
		return -EINVAL;
	}
	plan->ntiles = g.nm * g.nn;
	plan->njobs = g.jobs;
	plan->tile = calloc(plan->ntiles, sizeof(*plan->tile));
	if (!plan->tile) {
		npu_plan_free(plan);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < plan->ntiles; i++)
		place_tile(plan, desc, &g, i);
	return 0;
}

void npu_plan_free(struct npu_plan *plan)
{
	free(plan->part);
	free(plan->tile);
	plan->part = NULL;
	plan->tile = NULL;
}
