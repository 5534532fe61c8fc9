// SPDX-License-Identifier: MIT
/*
 * What the driver takes of a recording: options, what one job may list, and how much one submit hands
 * over. What exceeds a submit follows in another one; jobs list the same memory, so they follow in order.
 */
#include "drm/rocket_accel.h"
#include "npu_rec_impl.h"

/* What a job lists beside the memory of its chain: programs, tokens of the stage before, its own. */
#define OTHER_HANDLES	(2 + NPU_MAX_CORES)

bool npu_rec_takes(struct npu_dev *dev, const struct npu_rec_opts *opts)
{
	uint64_t cores, least, most;

	if (opts->core_mask && !npu_param(dev, DRM_ROCKET_PARAM_CORE_COUNT, 0, &cores) &&
	    (uint64_t)opts->core_mask >> cores)
		return false;
	if (!opts->timeout_ns)
		return true;
	if (npu_param(dev, DRM_ROCKET_PARAM_MIN_TIMEOUT_NS, 0, &least))
		least = 0;
	if (npu_param(dev, DRM_ROCKET_PARAM_MAX_TIMEOUT_NS, 0, &most))
		most = UINT64_MAX;
	return opts->timeout_ns >= least && opts->timeout_ns <= most;
}

static uint64_t ask(const struct npu_rec *rec, uint32_t param)
{
	uint64_t value;

	return npu_param(rec->dev, param, 0, &value) ? UINT32_MAX : value;
}

void npu_rec_find_limits(struct npu_rec *rec)
{
	rec->limits = (struct rec_limits){
		.jobs = ask(rec, DRM_ROCKET_PARAM_MAX_JOBS),
		.tasks = ask(rec, DRM_ROCKET_PARAM_MAX_TASKS),
		.handles = ask(rec, DRM_ROCKET_PARAM_MAX_SUBMIT_HANDLES),
		.job_handles = ask(rec, DRM_ROCKET_PARAM_MAX_JOB_HANDLES),
		.results = ask(rec, DRM_ROCKET_PARAM_RESULT_COUNT),
	};
}

uint32_t npu_rec_most_accesses(const struct npu_rec *rec)
{
	return (uint32_t)(rec->limits.job_handles - OTHER_HANDLES);
}

bool npu_rec_fits(const struct npu_rec *rec, const struct rec_part *p, const struct npu_hwjob *job)
{
	const struct rec_limits *l = &rec->limits;
	bool joins = rec->join.scratch;

	return p->njobs + 1u + joins <= l->jobs && p->ntasks + job->ntasks + joins <= l->tasks &&
	       p->nhandles + job->nin + job->nout + rec->join.most <= l->handles;
}
