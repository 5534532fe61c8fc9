// SPDX-License-Identifier: GPL-2.0-only
/* Owns who may use an IOMMU that all cores share. */
#include <linux/ktime.h>

#include "rknpu_sched_types.h"
#include "rknpu_share.h"
#include "rknpu_shared.h"

static bool rknpu_shared_taken(struct rknpu_runqueue *rq, struct rknpu_vm *vm)
{
	struct rknpu_runqueue *other;

	/* A core with a job needs the VM, from before it is attached until the job is off it. */
	rknpu_for_each_rq(other, rq->sched) {
		if (other != rq && other->core->iommu == rq->core->iommu && other->job &&
		    other->job->vm != vm)
			return true;
	}
	return false;
}

static bool rknpu_shared_waits(struct rknpu_runqueue *rq, struct rknpu_vm *vm)
{
	if (!rq->wants_iommu || rq->wanted_vm == vm || !rq->shares || rq->frozen)
		return false;
	return rq->state == RKNPU_CORE_IDLE || (rq->state == RKNPU_CORE_STARTING && !rq->job);
}

bool rknpu_shared_slice_over(struct rknpu_runqueue *rq, struct rknpu_vm *vm)
{
	struct rknpu_sched *sched = rq->sched;
	struct rknpu_runqueue *other;

	if (sched->shared.vm != vm ||
	    ktime_get_ns() - sched->shared.start_ns <= rknpu_share_slice_ns())
		return false;
	rknpu_for_each_rq(other, sched) {
		if (other != rq && other->core->iommu == rq->core->iommu &&
		    rknpu_shared_waits(other, vm))
			return true;
	}
	return false;
}

/* Cores that wait for the rest of a gang keep the IOMMU until it is complete. */
static bool rknpu_shared_completes_gang(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_runqueue *other;

	if (!job->gang)
		return false;
	rknpu_for_each_rq(other, rq->sched) {
		if (other != rq && other->core->iommu == rq->core->iommu && other->job &&
		    other->job->gang == job->gang)
			return true;
	}
	return false;
}

bool rknpu_shared_admits(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	if (!rq->core->iommu->shared)
		return true;
	/* Also if it is admitted: until it is taken, nobody else may come first. */
	rq->wants_iommu = true;
	rq->wanted_vm = job->vm;
	if (rknpu_shared_taken(rq, job->vm))
		return false;
	return rknpu_shared_completes_gang(rq, job) || !rknpu_shared_slice_over(rq, job->vm);
}

void rknpu_shared_took(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_sched *sched = rq->sched;

	rq->wants_iommu = false;
	if (!rq->core->iommu->shared || sched->shared.vm == job->vm)
		return;
	sched->shared.vm = job->vm;
	sched->shared.start_ns = ktime_get_ns();
}
