/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns gangs: jobs for several cores that start at the same time. */
#ifndef __RKNPU_GANG_H__
#define __RKNPU_GANG_H__

#include <linux/kref.h>
#include <linux/types.h>

#include "rknpu_soc.h"

struct rknpu_core;
struct rknpu_device;
struct rknpu_job;

/**
 * struct rknpu_gang - jobs that start together
 * @ref: each job holds one
 * @open: not started yet; under rknpu_device::lock, as all that follows
 * @jobs: by core; not references: a job that ends leaves
 * @waiting: cores that have their job ready to start
 *
 * One gang at a time gathers (rknpu_device::gang): its cores take its jobs next,
 * so that two gangs cannot each hold a core that the other one wants. Cores that
 * have theirs are STARTING until the last one does.
 */
struct rknpu_gang {
	struct kref ref;
	bool open;
	struct rknpu_job *jobs[RKNPU_MAX_CORES];
	u32 waiting;
};

/*
 * For jobs that were not pushed yet and whose core_mask is one core, each
 * another: they start together, or, if one of them ends before, on their own.
 */
int rknpu_gang_form(struct rknpu_job **jobs, unsigned int count);
/* The job is freed. */
void rknpu_gang_put(struct rknpu_gang *gang);

/* The rest with rknpu_device::lock held. */

/* What @core has to run next because a gang gathers, or NULL. */
struct rknpu_job *rknpu_gang_next(struct rknpu_core *core);
/* May @job, which would be next, run now? A gang begins to gather by that. */
bool rknpu_gang_admits(struct rknpu_core *core, struct rknpu_job *job);
/*
 * core->job is ready to start: starts it, with the rest of its gang if it has
 * one and all are ready; else the core waits for them.
 */
void rknpu_gang_start(struct rknpu_core *core);
/* The gang of @job, if it has not started, gathers no more. */
void rknpu_gang_dissolve(struct rknpu_device *rdev, struct rknpu_job *job);

#endif
