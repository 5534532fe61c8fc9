// SPDX-License-Identifier: GPL-2.0-only
/* Owns gangs: jobs for several cores that start at the same time. */
#include <linux/bitops.h>
#include <linux/slab.h>

#include "rknpu_device.h"
#include "rknpu_gang.h"
#include "rknpu_job.h"
#include "rknpu_sched.h"

int rknpu_gang_form(struct rknpu_job **jobs, unsigned int count)
{
	struct rknpu_gang *gang;
	unsigned int i;

	gang = kzalloc_obj(*gang, GFP_KERNEL_ACCOUNT);
	if (!gang)
		return -ENOMEM;
	kref_init(&gang->ref);
	gang->open = true;
	for (i = 0; i < count; i++) {
		gang->jobs[ffs(jobs[i]->core_mask) - 1] = jobs[i];
		jobs[i]->gang = gang;
		if (i)
			kref_get(&gang->ref);
	}
	return 0;
}

static void rknpu_gang_release(struct kref *ref)
{
	kfree(container_of(ref, struct rknpu_gang, ref));
}

void rknpu_gang_put(struct rknpu_gang *gang)
{
	kref_put(&gang->ref, rknpu_gang_release);
}

struct rknpu_job *rknpu_gang_next(struct rknpu_core *core)
{
	struct rknpu_gang *gang = core->rdev->gang;
	struct rknpu_job *job = gang ? gang->jobs[core->index] : NULL;

	/* Before that it waits for its dependencies, as the others do. */
	return job && job->state == RKNPU_JOB_QUEUED && job->core == core ? job : NULL;
}

bool rknpu_gang_admits(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_device *rdev = core->rdev;

	if (!job->gang || !job->gang->open)
		return true;
	if (!rdev->gang)
		rdev->gang = job->gang;
	return rdev->gang == job->gang;
}

/*
 * A fault of what ran before has to be cleaned up first, and a job that was
 * cancelled meanwhile has to be ended, by the core's work.
 */
static void rknpu_gang_start_core(struct rknpu_core *core)
{
	if (core->irq_off || core->job->cancelled)
		rknpu_sched_start_over(core);
	else
		rknpu_sched_start_job(core);
}

/* Its job may have ended meanwhile, and a core that is being stopped may still have it. */
static bool rknpu_gang_ready(const struct rknpu_gang *gang, const struct rknpu_core *core)
{
	return (gang->waiting & BIT(core->index)) && core->state == RKNPU_CORE_STARTING &&
	       core->job == gang->jobs[core->index];
}

static void rknpu_gang_go(struct rknpu_device *rdev, struct rknpu_gang *gang)
{
	unsigned int i;

	gang->open = false;
	if (rdev->gang == gang)
		rdev->gang = NULL;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rknpu_gang_ready(gang, &rdev->cores[i]))
			rknpu_gang_start_core(&rdev->cores[i]);
	}
	gang->waiting = 0;
	/* Another gang may have been kept waiting. */
	for (i = 0; i < RKNPU_MAX_CORES; i++)
		rknpu_sched_dispatch(&rdev->cores[i]);
}

static bool rknpu_gang_complete(const struct rknpu_gang *gang)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i] && !(gang->waiting & BIT(i)))
			return false;
	}
	return true;
}

void rknpu_gang_start(struct rknpu_core *core)
{
	struct rknpu_gang *gang = core->job->gang;

	if (!gang || !gang->open) {
		rknpu_sched_start_job(core);
		return;
	}
	core->state = RKNPU_CORE_STARTING;
	gang->waiting |= BIT(core->index);
	if (rknpu_gang_complete(gang))
		rknpu_gang_go(core->rdev, gang);
}

void rknpu_gang_dissolve(struct rknpu_device *rdev, struct rknpu_job *job)
{
	struct rknpu_gang *gang = job->gang;

	lockdep_assert_held(&rdev->lock);
	if (gang && gang->open)
		rknpu_gang_go(rdev, gang);
}
