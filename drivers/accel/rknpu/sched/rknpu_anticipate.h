/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns keeping an idle core for a moment for a user who submits its next job when one is over. */
#ifndef __RKNPU_ANTICIPATE_H__
#define __RKNPU_ANTICIPATE_H__

#include <linux/bits.h>
#include <linux/hrtimer.h>

#include "rknpu_runqueue_types.h"
#include "rknpu_share_types.h"

/* @expired asks rknpu_anticipate_expired(). */
void rknpu_anticipate_init(struct rknpu_runqueue *rq,
			   enum hrtimer_restart (*expired)(struct hrtimer *timer));
/* The core is absent. Without rknpu_hw::lock, which all that follow are under. */
void rknpu_anticipate_stop(struct rknpu_runqueue *rq);

bool rknpu_anticipate_another(struct rknpu_runqueue *rq, const struct rknpu_group *group);

/* Is the idle core to be kept for the user of the latest turn, although @group waits? */
static inline bool rknpu_anticipate(struct rknpu_runqueue *rq, const struct rknpu_group *group)
{
	return rq->turn && rq->turn->share != group->share && rknpu_anticipate_another(rq, group);
}

/* Its timer's time has come: is the core to be kept no longer? */
bool rknpu_anticipate_expired(struct rknpu_runqueue *rq);

void rknpu_anticipate_end(struct rknpu_runqueue *rq);

/* The core gets a job: whom it was kept for pays for the time. */
static inline void rknpu_anticipate_ends(struct rknpu_runqueue *rq)
{
	if (rq->anticipate.since_ns)
		rknpu_anticipate_end(rq);
}

void rknpu_anticipate_learn_from(struct rknpu_runqueue *rq, const struct rknpu_group *group);

/* The group, which has no jobs, gets its first one. */
static inline void rknpu_anticipate_joins(struct rknpu_runqueue *rq,
					  const struct rknpu_group *group)
{
	if ((rq->shares || rq->job || rq->shared) && !group->share->queued && !group->share->held)
		rknpu_anticipate_learn_from(rq, group);
}

/* Is the core kept for the user of @job? */
bool rknpu_anticipate_is_for(const struct rknpu_runqueue *rq, const struct rknpu_job *job);

#endif
