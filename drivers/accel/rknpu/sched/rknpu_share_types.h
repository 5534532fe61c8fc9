/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what a core is shared by: users, their clients, and the jobs of each. */
#ifndef __RKNPU_SHARE_TYPES_H__
#define __RKNPU_SHARE_TYPES_H__

#include <linux/list.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

#include "rknpu_job_types.h"

/**
 * struct rknpu_entity - one client's jobs of one priority on one core, in order of readiness;
 * all of it under rknpu_hw::lock, but that @group does not change
 */
struct rknpu_entity {
	/** @jobs: jobs */
	struct list_head jobs;
	/** @link: in rknpu_group::entities or rknpu_group::boosted while there are jobs */
	struct list_head link;
	/** @boosted: in the latter */
	bool boosted;
	/** @group: of its client's user */
	struct rknpu_group *group;
};

/**
 * struct rknpu_group - one user's entities of one priority on one core; all of it
 * under rknpu_hw::lock, but that @share does not change
 */
struct rknpu_group {
	/**
	 * @node: in rknpu_runqueue::groups while there are entities, by rknpu_share::vtime_ns,
	 * unless the share is held
	 */
	struct timerqueue_node node;
	/** @share: of all its priorities */
	struct rknpu_share *share;
	/** @entities: those with jobs; the first has its time slice */
	struct list_head entities;
	/**
	 * @boosted: those with jobs of clients that use little: their slice may come within
	 * the one of another
	 */
	struct list_head boosted;
	/** @slice: the current time slice; all times are those of rknpu_share_clock() */
	struct {
		/** @slice.entity: whose it is; compared, not followed */
		struct rknpu_entity *entity;
		/** @slice.start_ns: since when, those of @boosted not counted */
		u64 start_ns;
	} slice;
	/** @boost: the slice of one of @boosted within that */
	struct {
		/** @boost.entity: whose it is, or NULL; compared, not followed */
		struct rknpu_entity *entity;
		/** @boost.start_ns: since when */
		u64 start_ns;
		/** @boost.next_ns: when the next one may begin at the earliest */
		u64 next_ns;
	} boost;
	/** @left_ns: when another group's turn began */
	u64 left_ns;
	/** @away_ns: time of others' turns, until its latest one began */
	u64 away_ns;
};

/**
 * struct rknpu_share - what one user has of one core; see rknpu_share.c. All of it under
 * rknpu_hw::lock
 */
struct rknpu_share {
	/** @vtime_ns: virtual time */
	u64 vtime_ns;
	/** @queued: how many of @groups have entities, and are in rknpu_runqueue::groups */
	unsigned int queued;
	/** @jobs: in all entities of @groups */
	unsigned int jobs;
	/** @held: none of @groups is, as its user is held */
	bool held;
	/** @think_ns: how long after a job its next one lately came, while others waited */
	u64 think_ns;
	/** @groups: by priority */
	struct rknpu_group groups[RKNPU_PRIORITY_COUNT];
};

#endif
