// SPDX-License-Identifier: MIT
/*
 * The job that other clients wait for, where several cores write memory that they see.
 *
 * Jobs of cores that share memory list it as read, or they would wait for each other: the dma-buf
 * then has no fence that a reader waits for. One more job lists it as written. So it runs when all
 * cores are done, and its fence is the one that others find.
 */
#include <errno.h>
#include <stdlib.h>

#include "drm/rocket_accel.h"
#include "npu_rec_impl.h"

#define SCRATCH_BYTES	4096u
#define APART		64u

static bool needs_join(const struct npu_rec *rec, const struct rec_use *use)
{
	return npu_use_is_shared(use) && use->mem->foreign && npu_mem_bo(use->mem, rec->join.space);
}

/* All tasks are in one address space: elsewhere parts follow each other, and npu_rec_run() waits. */
static bool find_space(const struct npu_rec *rec, uint32_t *space)
{
	bool found = false;

	for (uint32_t i = 0; i < rec->nchains; i++) {
		const struct rec_chain *c = &rec->chain[i];

		if (!npu_prog_ntasks(c->prog))
			continue;
		if (found && c->space != *space)
			return false;
		*space = c->space;
		found = true;
	}
	return found;
}

int npu_rec_make_join(struct npu_rec *rec, struct npu_prog **prog)
{
	uint32_t n = npu_rec_count_shared(rec);
	int ret;

	/* The vendor's interface has no fences in dma-bufs. */
	if (!n || npu_is_vendor(rec->dev) || !find_space(rec, &rec->join.space))
		return 0;
	/* More than a job may list: npu_rec_run() waits. */
	if (n + UINT64_C(2) > rec->limits.job_handles)
		return 0;
	rec->join.most = n + 2;
	rec->join.bo = calloc(rec->join.most, sizeof(struct npu_bo *));
	*prog = npu_prog_new_for(npu_dev_chip(rec->dev), npu_rec_hw_core(rec, 0));
	if (!rec->join.bo || !*prog)
		return -ENOMEM;
	ret = npu_mem_new_at(rec->dev, rec->join.space, SCRATCH_BYTES, &rec->join.scratch);
	return ret ? ret : npu_prog_copy_atom(*prog, rec->join.scratch->iova, rec->join.scratch->iova + APART);
}

bool npu_rec_has_to_join(const struct npu_rec *rec)
{
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (npu_use_is_shared(&rec->use[i]) && rec->use[i].mem->foreign)
			return true;
	return false;
}

void npu_rec_set_join(struct npu_rec *rec)
{
	struct rec_join *j = &rec->join;
	uint32_t n = 0;

	j->bo[n++] = rec->code[j->space]->bo;
	j->bo[n++] = j->scratch->bo;
	for (uint32_t i = 0; i < rec->nuses; i++)
		if (needs_join(rec, &rec->use[i]))
			j->bo[n++] = npu_mem_bo(rec->use[i].mem, j->space);
	/* Its scratch is written by it alone. */
	rec->job[rec->njobs] = (struct npu_hwjob){
		.tasks = &j->task, .ntasks = 1, .in = j->bo, .nin = 1, .out = j->bo + 1, .nout = n - 1,
	};
	rec->job_opts[rec->njobs] = (struct npu_job_opts){
		.flags = rec->chained ? DRM_ROCKET_JOB_BATCHED : 0,
		.core_mask = npu_rec_core_mask(rec, 0), .timeout_ns = rec->opts.timeout_ns,
	};
}
