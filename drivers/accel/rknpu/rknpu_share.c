// SPDX-License-Identifier: GPL-2.0-only
/* Owns whose VM may be on an IOMMU that several cores share. */
#include <linux/ktime.h>

#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_queue.h"
#include "rknpu_share.h"

static bool rknpu_share_with(struct rknpu_core *core, struct rknpu_core *other)
{
	return other != core && other->iommu == core->iommu;
}

/* A core with a job needs the VM, from before it is attached until the job is off the core. */
static bool rknpu_share_taken(struct rknpu_core *core, struct rknpu_vm *vm)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *other = &core->rdev->cores[i];

		if (rknpu_share_with(core, other) && other->job && other->job->vm != vm)
			return true;
	}
	return false;
}

static bool rknpu_share_waits(struct rknpu_core *core, struct rknpu_vm *vm)
{
	if (!core->wants_iommu || core->wanted_vm == vm || !core->queued || core->frozen)
		return false;
	return core->state == RKNPU_CORE_IDLE ||
	       (core->state == RKNPU_CORE_STARTING && !core->job);
}

static bool rknpu_share_turn_over(struct rknpu_core *core, struct rknpu_vm *vm)
{
	struct rknpu_iommu *iommu = core->iommu;
	unsigned int i;

	if (iommu->turn_vm != vm || ktime_get_ns() - iommu->turn_start <= rknpu_queue_slice_ns())
		return false;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *other = &core->rdev->cores[i];

		if (rknpu_share_with(core, other) && rknpu_share_waits(other, vm))
			return true;
	}
	return false;
}

/* Cores that wait for the rest of a gang keep the IOMMU until it is complete. */
static bool rknpu_share_completes_gang(struct rknpu_core *core, struct rknpu_job *job)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES && job->gang; i++) {
		struct rknpu_core *other = &core->rdev->cores[i];

		if (rknpu_share_with(core, other) && other->job && other->job->gang == job->gang)
			return true;
	}
	return false;
}

bool rknpu_share_admits(struct rknpu_core *core, struct rknpu_job *job)
{
	lockdep_assert_held(&core->rdev->lock);

	if (!core->iommu->shared)
		return true;
	/* Also if it is admitted: until it is taken, nobody else may come first. */
	core->wants_iommu = true;
	core->wanted_vm = job->vm;
	if (rknpu_share_taken(core, job->vm))
		return false;
	return rknpu_share_completes_gang(core, job) || !rknpu_share_turn_over(core, job->vm);
}

void rknpu_share_took(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_iommu *iommu = core->iommu;

	lockdep_assert_held(&core->rdev->lock);

	core->wants_iommu = false;
	if (!iommu->shared || iommu->turn_vm == job->vm)
		return;
	iommu->turn_vm = job->vm;
	iommu->turn_start = ktime_get_ns();
}

bool rknpu_share_turn_ends(struct rknpu_core *core, struct rknpu_job *job)
{
	return core->iommu->shared && rknpu_share_turn_over(core, job->vm);
}

bool rknpu_share_last(struct rknpu_core *core)
{
	bool last;
	unsigned int i;

	spin_lock_irq(&core->rdev->lock);
	/* Two that are parked at once each find all others parked. */
	last = !core->iommu->closing;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *other = &core->rdev->cores[i];

		if (rknpu_share_with(core, other) && other->state != RKNPU_CORE_ABSENT &&
		    !READ_ONCE(other->parked))
			last = false;
	}
	core->iommu->closing |= last;
	spin_unlock_irq(&core->rdev->lock);
	return last;
}
