/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns time slices and boosts: turns of the clients of one user and priority on a core. */
#ifndef __RKNPU_SLICE_H__
#define __RKNPU_SLICE_H__

#include "rknpu_share_types.h"

struct rknpu_client;
struct rknpu_runqueue;

/* All of these under rknpu_hw::lock. */

static inline bool rknpu_slice_group_waits(const struct rknpu_group *group)
{
	return !list_empty(&group->entities) || !list_empty(&group->boosted);
}

/* Is @entity, which gets its first job, to be boosted? */
bool rknpu_slice_boosts(struct rknpu_runqueue *rq, struct rknpu_entity *entity,
			struct rknpu_client *client);
/* It waits from now on, among those that are boosted or the others. */
void rknpu_slice_join(struct rknpu_runqueue *rq, struct rknpu_entity *entity, bool boosted);

/* Of a group that waits: the entity whose turn it is. */
struct rknpu_entity *rknpu_slice_pick(struct rknpu_runqueue *rq, struct rknpu_group *group);
/*
 * What rknpu_runqueue_first() would choose, or NULL if the jobs that wait are of users that are
 * held. For who walks lists of entities: none of them moves.
 */
struct rknpu_job *rknpu_slice_peek(struct rknpu_runqueue *rq);

/* The boosted entity has the core from now on; and nobody that is boosted has. */
void rknpu_slice_boost_begins(struct rknpu_runqueue *rq, struct rknpu_entity *entity);
void rknpu_slice_boost_ends(struct rknpu_runqueue *rq, struct rknpu_group *group);

/* The entity has its slice from now on. */
void rknpu_slice_begins(struct rknpu_runqueue *rq, struct rknpu_entity *entity);
/* The same if it is first in its group's order and not boosted. */
void rknpu_slice_begins_in_turn(struct rknpu_runqueue *rq, struct rknpu_entity *entity);

/* Has the client of rq->job had its time, and another one of the group waits? */
bool rknpu_slice_over(struct rknpu_runqueue *rq, struct rknpu_job *job);

#endif
