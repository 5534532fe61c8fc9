// SPDX-License-Identifier: GPL-2.0-only
/* Owns time slices and boosts: turns of the clients of one user and priority on a core. */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "rknpu_client_types.h"
#include "rknpu_runqueue_types.h"
#include "rknpu_share.h"
#include "rknpu_slice.h"

/* For how long boosted ones then let others run, in times what they took themselves. */
#define RKNPU_SLICE_BOOST_PAUSE	3

/*
 * The beginning of a slice, in which boosted ones do not come between; half of it may be the
 * switch. And the most of a slice that it is.
 */
#define RKNPU_SLICE_YOUNG_NS	(500 * NSEC_PER_USEC)
#define RKNPU_SLICE_YOUNG	8

/*
 * Half a core is a client's to use without waiting for time slices, and what it
 * did not use counts for one slice at most.
 */
static bool rknpu_slice_has_credit(struct rknpu_client *client)
{
	s64 slice = rknpu_share_slice_ns();
	u64 busy = client->busy_ns;
	u64 now = ktime_get_ns();
	s64 credit = client->credit.ns;

	credit += (now - client->credit.seen_ns) / 2;
	credit -= busy - client->credit.seen_busy_ns;
	client->credit.seen_ns = now;
	client->credit.seen_busy_ns = busy;
	client->credit.ns = clamp(credit, -10 * slice, slice);
	return client->credit.ns > 0;
}

static bool rknpu_slice_is_used_up(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	return rknpu_share_clock(rq, group) - group->slice.start_ns > rknpu_share_slice_ns();
}

/* The boosted entity that has the group's turn has had it for a slice. */
static bool rknpu_slice_boost_over(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	return rknpu_share_clock(rq, group) - group->boost.start_ns > rknpu_share_slice_ns();
}

/* The slice that it came into goes on where it was. */
void rknpu_slice_boost_ends(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	u64 now, ns;

	if (!group->boost.entity)
		return;
	now = rknpu_share_clock(rq, group);
	ns = now - group->boost.start_ns;
	group->boost.entity = NULL;
	group->boost.next_ns = now + RKNPU_SLICE_BOOST_PAUSE * ns;
	group->slice.start_ns += ns;
}

void rknpu_slice_boost_begins(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	struct rknpu_group *group = entity->group;

	if (entity == group->boost.entity)
		return;
	rknpu_slice_boost_ends(rq, group);
	group->boost.entity = entity;
	group->boost.start_ns = rknpu_share_clock(rq, group);
}

/*
 * Has the entity with the slice just got the core, and has it more jobs? To change to another
 * one and back would take longer than to wait for a few short ones.
 */
static bool rknpu_slice_is_young(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	u64 ns = min_t(u64, rknpu_share_slice_ns() / RKNPU_SLICE_YOUNG, RKNPU_SLICE_YOUNG_NS);

	return list_first_entry_or_null(&group->entities, struct rknpu_entity, link) ==
		       group->slice.entity &&
	       rknpu_share_clock(rq, group) - group->slice.start_ns < ns;
}

/* May an entity that is boosted come into the slice of another one? */
static bool rknpu_slice_boost_due(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	return !group->boost.entity && rknpu_share_clock(rq, group) >= group->boost.next_ns &&
	       !rknpu_slice_is_young(rq, group);
}

bool rknpu_slice_boosts(struct rknpu_runqueue *rq, struct rknpu_entity *entity,
			struct rknpu_client *client)
{
	struct rknpu_group *group = entity->group;

	/* If no other client of its user is there, there is no slice to wait for. */
	if (!rknpu_slice_group_waits(group) &&
	    (!rq->job || rq->job->entity == entity || rq->job->entity->group != group))
		return false;
	if (entity == group->boost.entity)
		return !rknpu_slice_boost_over(rq, group);
	return entity != group->slice.entity && rknpu_slice_has_credit(client);
}

void rknpu_slice_join(struct rknpu_runqueue *rq, struct rknpu_entity *entity, bool boosted)
{
	struct rknpu_group *group = entity->group;

	if (!rknpu_slice_group_waits(group))
		rknpu_share_join(rq, group);
	entity->boosted = boosted;
	if (boosted && entity == group->boost.entity)
		list_add(&entity->link, &group->boosted);
	else if (boosted)
		list_add_tail(&entity->link, &group->boosted);
	else if (entity == group->slice.entity && !list_empty(&group->entities) &&
		 !rknpu_slice_is_used_up(rq, group))
		/* It had nothing for a moment, as with jobs that depend on each other. */
		list_add(&entity->link, &group->entities);
	else
		list_add_tail(&entity->link, &group->entities);
}

/* The entity whose slice it is; a slice ends when others wait for too long. */
static struct rknpu_entity *rknpu_slice_rotate(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	struct list_head *entities = &group->entities;
	struct rknpu_entity *entity = list_first_entry(entities, struct rknpu_entity, link);

	if (entity == group->slice.entity && !list_is_singular(entities) &&
	    rknpu_slice_is_used_up(rq, group))
		list_move_tail(&entity->link, entities);
	return list_first_entry(entities, struct rknpu_entity, link);
}

void rknpu_slice_begins(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	struct rknpu_group *group = entity->group;

	if (entity == group->slice.entity)
		return;
	group->slice.entity = entity;
	group->slice.start_ns = rknpu_share_clock(rq, group);
}

/*
 * Only when it gets the core: powering up and attaching can take longer than a
 * slice, and would use up one after the other without a job of it.
 */
void rknpu_slice_begins_in_turn(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	if (!entity->boosted && list_is_first(&entity->link, &entity->group->entities))
		rknpu_slice_begins(rq, entity);
}

/* Is @entity, the first one that is boosted, to come before those that are not? */
static bool rknpu_slice_comes_between(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	struct rknpu_group *group = entity->group;

	if (entity == group->boost.entity)
		return !rknpu_slice_boost_over(rq, group);
	return rknpu_slice_boost_due(rq, group);
}

/* It waits for a slice like the others, of which there are some, from now on. */
static void rknpu_slice_unboost(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	list_del(&entity->link);
	rknpu_slice_join(rq, entity, false);
}

/* One entity waits, and is boosted. Several of those have to wait for slices, too. */
static bool rknpu_slice_is_alone(const struct rknpu_group *group)
{
	return list_empty(&group->entities) && list_is_singular(&group->boosted);
}

struct rknpu_entity *rknpu_slice_pick(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	struct rknpu_entity *boosted;

	boosted = list_first_entry_or_null(&group->boosted, struct rknpu_entity, link);
	if (boosted) {
		if (rknpu_slice_is_alone(group) || rknpu_slice_comes_between(rq, boosted))
			return boosted;
		/* The next slice may be its. */
		if (boosted == group->boost.entity || rknpu_slice_is_used_up(rq, group) ||
		    list_empty(&group->entities))
			rknpu_slice_unboost(rq, boosted);
	}
	return rknpu_slice_rotate(rq, group);
}

/* As rknpu_slice_pick(). */
static struct rknpu_entity *rknpu_slice_peek_entity(struct rknpu_runqueue *rq,
						    struct rknpu_group *group)
{
	struct rknpu_entity *boosted, *entity;

	boosted = list_first_entry_or_null(&group->boosted, struct rknpu_entity, link);
	entity = list_first_entry_or_null(&group->entities, struct rknpu_entity, link);
	if (!entity || (boosted && rknpu_slice_comes_between(rq, boosted)))
		return boosted;
	if (entity != group->slice.entity || !rknpu_slice_is_used_up(rq, group))
		return entity;
	if (!list_is_last(&entity->link, &group->entities))
		return list_next_entry(entity, link);
	return boosted ?: entity;
}

struct rknpu_job *rknpu_slice_peek(struct rknpu_runqueue *rq)
{
	struct rknpu_group *group;

	if (!rq->shares)
		return NULL;
	group = rknpu_share_pick(rq, rknpu_share_pick_priority(rq));
	return list_first_entry(&rknpu_slice_peek_entity(rq, group)->jobs, struct rknpu_job, link);
}

/* Nobody of the group of @job, which is on the core, waits but its own client, if that. */
static bool rknpu_slice_waits_alone(const struct rknpu_job *job)
{
	struct rknpu_group *group = job->entity->group;

	if (list_empty(&job->entity->jobs))
		return !rknpu_slice_group_waits(group);
	return job->entity->boosted ?
	       list_empty(&group->entities) && list_is_singular(&group->boosted) :
	       list_empty(&group->boosted) && list_is_singular(&group->entities);
}

bool rknpu_slice_over(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_group *group = job->entity->group;

	/* Jobs of its own client can wait. */
	if (rknpu_slice_waits_alone(job))
		return false;
	if (job->entity == group->boost.entity)
		return rknpu_slice_boost_over(rq, group);
	if (!list_empty(&group->boosted) && rknpu_slice_boost_due(rq, group))
		return true;
	return rknpu_slice_is_used_up(rq, group);
}
