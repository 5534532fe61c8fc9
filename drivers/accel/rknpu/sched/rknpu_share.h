/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns fairness between users: what of a core each has had, and whose turn is next. */
#ifndef __RKNPU_SHARE_H__
#define __RKNPU_SHARE_H__

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/timerqueue.h>

#include "rknpu_params.h"
#include "rknpu_runqueue_types.h"
#include "rknpu_share_types.h"

struct rknpu_user;

/* Of a user that has been allocated with zeros. */
void rknpu_share_init(struct rknpu_user *user);
/* Nobody follows a pointer to the user's shares any more. Without rknpu_hw::lock. */
void rknpu_share_forget(struct rknpu_user *user);
/* Has it had more than others that were there meanwhile? Without rknpu_hw::lock. */
bool rknpu_share_in_debt(struct rknpu_user *user);

/* All that follow under rknpu_hw::lock. */

static inline u64 rknpu_share_slice_ns(void)
{
	return (u64)READ_ONCE(rknpu_params.slice_us) * NSEC_PER_USEC;
}

/* Does another user than that of the core's job wait for it, or for the IOMMU that it shares? */
bool rknpu_share_others_wait(struct rknpu_runqueue *rq);

/* How far ahead of others that wait a user may be. */
static inline u64 rknpu_share_lead_ns(void)
{
	return rknpu_share_slice_ns() / 2;
}

static inline unsigned int rknpu_share_priority(const struct rknpu_group *group)
{
	return group - group->share->groups;
}

/*
 * It has cost others @ns of the core, or of core @index, or of all of them behind one
 * IOMMU: its turn comes the later.
 */
void rknpu_share_charge(struct rknpu_runqueue *rq, struct rknpu_share *share, u64 ns);
void rknpu_user_charge(struct rknpu_user *user, unsigned int index, u64 ns);
/* A job of it has run there. Behind one IOMMU, times of its jobs that overlap count once. */
void rknpu_user_charge_run(struct rknpu_user *user, unsigned int index, u64 start_ns, u64 end_ns);

/* Whose it is, on that core. */
struct rknpu_user *rknpu_share_user(const struct rknpu_runqueue *rq, struct rknpu_share *share);

/* The group gets its first entity, and has lost its last one. */
void rknpu_share_join(struct rknpu_runqueue *rq, struct rknpu_group *group);
void rknpu_share_leave(struct rknpu_runqueue *rq, struct rknpu_group *group);

/*
 * Nothing that the user has queued, or queues, is waiting for its turn, on any core;
 * nor does it make others wait. And on one core that is over.
 */
void rknpu_share_hold(struct rknpu_user *user);
void rknpu_share_release(struct rknpu_user *user, struct rknpu_runqueue *rq);

/* Of those of a priority that wait: the one that has had least, and the next one; or NULL. */
static inline struct rknpu_group *rknpu_share_first(struct rknpu_runqueue *rq,
						    unsigned int priority)
{
	struct timerqueue_node *node = timerqueue_getnext(&rq->groups[priority]);

	return node ? container_of(node, struct rknpu_group, node) : NULL;
}

struct rknpu_group *rknpu_share_next(struct rknpu_group *group);
/* The priority of whose turn that is, of those that wait for the core. */
unsigned int rknpu_share_pick_priority(struct rknpu_runqueue *rq);
/* Whose turn it is to have the core, which has no job; NULL if none waits. */
struct rknpu_group *rknpu_share_pick_of_many(struct rknpu_runqueue *rq, unsigned int priority);

static inline struct rknpu_group *rknpu_share_pick(struct rknpu_runqueue *rq,
						   unsigned int priority)
{
	return rq->shares > 1 ? rknpu_share_pick_of_many(rq, priority) :
				rknpu_share_first(rq, priority);
}

/* A job of that priority waits, and has been passed over too often. */
bool rknpu_share_is_overdue(struct rknpu_runqueue *rq, unsigned int priority);
/* May users that wait with priority @low have the core before those with @high? */
bool rknpu_share_lets_overtake(struct rknpu_runqueue *rq, unsigned int low, unsigned int high);

/* Has its user had more of the core than another one, by so much that it goes later? */
bool rknpu_share_is_ahead(const struct rknpu_share *share, const struct rknpu_share *other);

/* It has the core from now on. */
void rknpu_share_change_turn(struct rknpu_runqueue *rq, struct rknpu_group *group);

static inline void rknpu_share_begin_turn(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	rq->vtime_ns = max(rq->vtime_ns, group->share->vtime_ns);
	if (group != rq->turn)
		rknpu_share_change_turn(rq, group);
}

/* ns that it has had turns, idle times of the core included: time slices are counted by it. */
static inline u64 rknpu_share_clock(const struct rknpu_runqueue *rq,
				    const struct rknpu_group *group)
{
	return (group == rq->turn ? ktime_get_ns() : group->left_ns) - group->away_ns;
}

/* Does another user than that of @job, which is or was on the core, wait? */
static inline bool rknpu_share_contended(const struct rknpu_runqueue *rq,
					 const struct rknpu_job *job)
{
	return rq->shares && rq->shares > !!job->entity->group->share->queued;
}

/* The same, of one with its priority whose turn it would be. */
bool rknpu_share_turn_over(struct rknpu_runqueue *rq, const struct rknpu_job *job);

#endif
