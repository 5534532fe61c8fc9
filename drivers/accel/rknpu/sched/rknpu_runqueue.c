// SPDX-License-Identifier: GPL-2.0-only
/* Owns which job runs next, and where: run queues, time slices, gangs. The scheduler acts. */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "rknpu_job.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_trace.h"
#include "rknpu_share.h"

/* Jobs of higher priorities that one of a lower priority has to let pass. */
#define RKNPU_RUNQUEUE_PATIENCE		16

/* What is looked at in order to take over work from another core. */
#define RKNPU_RUNQUEUE_STEAL_TRIES	8

/* What is looked at for a job that does not have to wait for a gang. */
#define RKNPU_RUNQUEUE_BACKFILL_TRIES	8

/* For how long boosted ones then let others run, in times what they took themselves. */
#define RKNPU_RUNQUEUE_BOOST_PAUSE	3

/* What took longer had to be tried again, or a virtual machine stood still. */
#define RKNPU_RUNQUEUE_LONGEST_WAKE_NS	(10ULL * NSEC_PER_MSEC)

/* What a job takes of whose client none has ended: too long to wait for while a core sleeps. */
#define RKNPU_RUNQUEUE_UNKNOWN_NS	NSEC_PER_SEC

/* By state: those that may follow; see "states of a core" in rknpu_types.h. */
static const u8 rknpu_core_next_states[RKNPU_CORE_STATE_COUNT] = {
	[RKNPU_CORE_ABSENT] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE),
	[RKNPU_CORE_IDLE] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_STARTING) |
			    BIT(RKNPU_CORE_RUNNING) | BIT(RKNPU_CORE_RECOVERING),
	[RKNPU_CORE_STARTING] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE) |
				BIT(RKNPU_CORE_STARTING) | BIT(RKNPU_CORE_RUNNING) |
				BIT(RKNPU_CORE_RECOVERING) | BIT(RKNPU_CORE_DEAD),
	[RKNPU_CORE_RUNNING] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE) |
			       BIT(RKNPU_CORE_RECOVERING),
	[RKNPU_CORE_RECOVERING] = BIT(RKNPU_CORE_ABSENT) | BIT(RKNPU_CORE_IDLE) |
				  BIT(RKNPU_CORE_RUNNING) | BIT(RKNPU_CORE_RECOVERING) |
				  BIT(RKNPU_CORE_DEAD),
	[RKNPU_CORE_DEAD] = BIT(RKNPU_CORE_ABSENT),
};

void rknpu_runqueue_set_state(struct rknpu_runqueue *rq, enum rknpu_core_state state)
{
	lockdep_assert_held(&rq->sched->hw->lock);
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ONCE(!(rknpu_core_next_states[rq->state] & BIT(state)),
			  "core %u goes from state %d to %d\n", rq->core->index, rq->state, state);
	rq->state = state;
}

void rknpu_runqueue_suspect(struct rknpu_runqueue *rq, enum rknpu_cause cause)
{
	rknpu_runqueue_set_state(rq, RKNPU_CORE_RECOVERING);
	rq->fault.cause = cause;
	queue_work(rq->wq, &rq->work);
}

void rknpu_runqueue_init(struct rknpu_runqueue *rq, struct rknpu_sched *sched,
			 struct rknpu_core *core)
{
	unsigned int p;

	rq->core = core;
	rq->sched = sched;
	rq->state = RKNPU_CORE_ABSENT;
	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++)
		timerqueue_init_head(&rq->groups[p]);
	init_waitqueue_head(&rq->idle_wait);
}

static struct rknpu_entity *rknpu_runqueue_entity(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	return &job->client->entities[rq->core->index][job->priority];
}

static bool rknpu_runqueue_allows(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	return !job->core_mask || (job->core_mask & BIT(rq->core->index));
}

/* Less is better: load first, then the cost of attaching the job's domain, then of power. */
static unsigned int rknpu_runqueue_cost(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	unsigned int load = rq->queued + (rq->state != RKNPU_CORE_IDLE);
	struct rknpu_domain *domain = rknpu_iommu_domain(rq->core->iommu);
	unsigned int cost = 8 * load + !rq->pm_held;

	if (domain == &job->vm->domain)
		return cost;
	return cost + (domain ? 4 : 2);
}

static void rknpu_runqueue_average(u64 *average, u64 ns)
{
	*average = max(*average ? (3 * *average + ns) / 4 : ns, 1ULL);
}

void rknpu_runqueue_job_took(struct rknpu_job *job, u64 ns)
{
	rknpu_runqueue_average(&job->client->job_ns, ns);
}

void rknpu_runqueue_wakes(struct rknpu_runqueue *rq)
{
	rq->waking_ns = rq->core->powered ? 0 : ktime_get_ns();
}

void rknpu_runqueue_woke(struct rknpu_runqueue *rq)
{
	if (rq->waking_ns)
		rknpu_runqueue_average(&rq->sched->wake_ns,
				       min(ktime_get_ns() - rq->waking_ns,
					   RKNPU_RUNQUEUE_LONGEST_WAKE_NS));
	rq->waking_ns = 0;
}

static bool rknpu_runqueue_sleeps(const struct rknpu_runqueue *rq)
{
	return rq->state == RKNPU_CORE_IDLE && !rq->core->powered;
}

/* Of what comes before another job, if each job takes as long as its client's did lately. */
static u64 rknpu_runqueue_wait_ns(const struct rknpu_runqueue *rq)
{
	return rq->queued_ns + (rq->job ? rq->job->expected_ns : 0);
}

static bool rknpu_runqueue_may_run(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	return rknpu_runqueue_in_service(rq) && rknpu_runqueue_allows(rq, job);
}

/*
 * A core that has the job's domain attached and will be free before one that
 * sleeps would be awake, as long as that took lately; or NULL. So a run of
 * short jobs leaves the other cores asleep. If the client's jobs are not that
 * short any more, rknpu_deadline_doubt() corrects it.
 */
static struct rknpu_runqueue *rknpu_runqueue_sooner(struct rknpu_sched *sched,
						    struct rknpu_job *job)
{
	struct rknpu_runqueue *rq, *best = NULL;
	u64 ns, best_ns = sched->wake_ns;

	rknpu_for_each_rq(rq, sched) {
		if (rq->state != RKNPU_CORE_RUNNING || !rknpu_runqueue_allows(rq, job) ||
		    rknpu_iommu_domain(rq->core->iommu) != &job->vm->domain)
			continue;
		ns = rknpu_runqueue_wait_ns(rq);
		if (ns < best_ns) {
			best = rq;
			best_ns = ns;
		}
	}
	return best;
}

struct rknpu_runqueue *rknpu_runqueue_choose(struct rknpu_sched *sched, struct rknpu_job *job,
					     struct rknpu_runqueue *first)
{
	struct rknpu_runqueue *rq, *best = NULL;
	unsigned int cost, best_cost = UINT_MAX;

	/* None is better than one that costs nothing. */
	if (first && rknpu_runqueue_may_run(first, job) && !rknpu_runqueue_cost(first, job))
		return first;
	rknpu_for_each_rq(rq, sched) {
		if (!rknpu_runqueue_may_run(rq, job))
			continue;
		cost = rknpu_runqueue_cost(rq, job);
		if (cost < best_cost) {
			best = rq;
			best_cost = cost;
		}
	}
	if (best && rknpu_runqueue_sleeps(best))
		return rknpu_runqueue_sooner(sched, job) ?: best;
	return best;
}

/*
 * Half a core is a client's to use without waiting for time slices, and what it
 * did not use counts for one slice at most.
 */
static bool rknpu_client_has_credit(struct rknpu_client *client)
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

static bool rknpu_runqueue_slice_over(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	return rknpu_share_clock(rq, group) - group->slice.start_ns > rknpu_share_slice_ns();
}

/* The boosted entity that has the group's turn has had it for a slice. */
static bool rknpu_runqueue_boost_over(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	return rknpu_share_clock(rq, group) - group->boost.start_ns > rknpu_share_slice_ns();
}

/* The slice that it came into goes on where it was. */
static void rknpu_runqueue_boost_ends(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	u64 now, ns;

	if (!group->boost.entity)
		return;
	now = rknpu_share_clock(rq, group);
	ns = now - group->boost.start_ns;
	group->boost.entity = NULL;
	group->boost.next_ns = now + RKNPU_RUNQUEUE_BOOST_PAUSE * ns;
	group->slice.start_ns += ns;
}

static void rknpu_runqueue_boost_begins(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	struct rknpu_group *group = entity->group;

	if (entity == group->boost.entity)
		return;
	rknpu_runqueue_boost_ends(rq, group);
	group->boost.entity = entity;
	group->boost.start_ns = rknpu_share_clock(rq, group);
}

/* May an entity that is boosted come into the slice of another one? */
static bool rknpu_runqueue_boost_due(struct rknpu_runqueue *rq, struct rknpu_group *group)
{
	return !group->boost.entity && rknpu_share_clock(rq, group) >= group->boost.next_ns;
}

static bool rknpu_runqueue_group_waits(const struct rknpu_group *group)
{
	return !list_empty(&group->entities) || !list_empty(&group->boosted);
}

/* Is @entity, which gets its first job, to be boosted? */
static bool rknpu_runqueue_boosts(struct rknpu_runqueue *rq, struct rknpu_entity *entity,
				  struct rknpu_client *client)
{
	struct rknpu_group *group = entity->group;

	/* If no other client of its user is there, there is no slice to wait for. */
	if (!rknpu_runqueue_group_waits(group) &&
	    (!rq->job || rq->job->entity == entity || rq->job->entity->group != group))
		return false;
	if (entity == group->boost.entity)
		return !rknpu_runqueue_boost_over(rq, group);
	return entity != group->slice.entity && rknpu_client_has_credit(client);
}

static void rknpu_runqueue_join(struct rknpu_runqueue *rq, struct rknpu_entity *entity,
				bool boosted)
{
	struct rknpu_group *group = entity->group;

	if (!rknpu_runqueue_group_waits(group))
		rknpu_share_join(rq, group);
	entity->boosted = boosted;
	if (boosted && entity == group->boost.entity)
		list_add(&entity->link, &group->boosted);
	else if (boosted)
		list_add_tail(&entity->link, &group->boosted);
	else if (entity == group->slice.entity && !list_empty(&group->entities) &&
		 !rknpu_runqueue_slice_over(rq, group))
		/* It had nothing for a moment, as with jobs that depend on each other. */
		list_add(&entity->link, &group->entities);
	else
		list_add_tail(&entity->link, &group->entities);
}

bool rknpu_runqueue_lets_sleep(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_runqueue *other;

	rknpu_for_each_rq(other, rq->sched) {
		if (other != rq && rknpu_runqueue_sleeps(other) &&
		    rknpu_runqueue_allows(other, job))
			return true;
	}
	return false;
}

/* Returns the entity that it is of from now on. */
static struct rknpu_entity *rknpu_runqueue_admit(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	rknpu_job_set_state(job, RKNPU_JOB_QUEUED);
	job->rq = rq;
	job->entity = rknpu_runqueue_entity(rq, job);
	job->expected_ns = job->client->job_ns ?: RKNPU_RUNQUEUE_UNKNOWN_NS;
	trace_rknpu_job_queue(job, rq->core->index);
	return job->entity;
}

void rknpu_runqueue_add(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = rknpu_runqueue_admit(rq, job);

	if (list_empty(&entity->jobs))
		rknpu_runqueue_join(rq, entity, rknpu_runqueue_boosts(rq, entity, job->client));
	list_add_tail(&job->link, &entity->jobs);
	rq->queued++;
	rq->queued_ns += job->expected_ns;
}

void rknpu_runqueue_put_back(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = rknpu_runqueue_admit(rq, job);

	if (list_empty(&entity->jobs))
		rknpu_runqueue_join(rq, entity, false);
	list_add(&job->link, &entity->jobs);
	rq->queued++;
	rq->queued_ns += job->expected_ns;
}

void rknpu_runqueue_remove(struct rknpu_job *job)
{
	struct rknpu_runqueue *rq = job->rq;
	struct rknpu_entity *entity = job->entity;

	lockdep_assert_held(&rq->sched->hw->lock);
	list_del_init(&job->link);
	if (list_empty(&entity->jobs)) {
		list_del_init(&entity->link);
		if (!rknpu_runqueue_group_waits(entity->group))
			rknpu_share_leave(rq, entity->group);
	}
	rq->queued--;
	rq->queued_ns -= job->expected_ns;
}

static bool rknpu_runqueue_waits(struct rknpu_runqueue *rq, unsigned int priority)
{
	return rknpu_share_first(rq, priority);
}

/* Whoever was passed over too often goes first. The core has jobs. */
static unsigned int rknpu_runqueue_priority(struct rknpu_runqueue *rq)
{
	unsigned int p, best = RKNPU_PRIORITY_COUNT - 1;

	while (best && !rknpu_runqueue_waits(rq, best))
		best--;
	for (p = 0; p < best; p++) {
		if (rq->passed_over[p] >= RKNPU_RUNQUEUE_PATIENCE && rknpu_runqueue_waits(rq, p) &&
		    rknpu_share_lets_overtake(rq, p, best))
			return p;
	}
	return best;
}

/* The entity whose slice it is; a slice ends when others wait for too long. */
static struct rknpu_entity *rknpu_runqueue_rotate(struct rknpu_runqueue *rq,
						  struct rknpu_group *group)
{
	struct list_head *entities = &group->entities;
	struct rknpu_entity *entity = list_first_entry(entities, struct rknpu_entity, link);

	if (entity == group->slice.entity && !list_is_singular(entities) &&
	    rknpu_runqueue_slice_over(rq, group))
		list_move_tail(&entity->link, entities);
	return list_first_entry(entities, struct rknpu_entity, link);
}

static void rknpu_runqueue_slice_begins(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
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
static void rknpu_runqueue_begin_slice(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	if (!entity->boosted && list_is_first(&entity->link, &entity->group->entities))
		rknpu_runqueue_slice_begins(rq, entity);
}

/* Is @entity, the first one that is boosted, to come before those that are not? */
static bool rknpu_runqueue_comes_between(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	struct rknpu_group *group = entity->group;

	if (entity == group->boost.entity)
		return !rknpu_runqueue_boost_over(rq, group);
	return rknpu_runqueue_boost_due(rq, group);
}

/* It waits for a slice like the others, of which there are some, from now on. */
static void rknpu_runqueue_unboost(struct rknpu_runqueue *rq, struct rknpu_entity *entity)
{
	list_del(&entity->link);
	rknpu_runqueue_join(rq, entity, false);
}

static struct rknpu_entity *rknpu_runqueue_pick(struct rknpu_runqueue *rq)
{
	struct rknpu_group *group = rknpu_share_pick(rq, rknpu_runqueue_priority(rq));
	struct rknpu_entity *boosted;

	boosted = list_first_entry_or_null(&group->boosted, struct rknpu_entity, link);
	if (boosted) {
		if (list_empty(&group->entities) || rknpu_runqueue_comes_between(rq, boosted))
			return boosted;
		/* The next slice may be its. */
		if (boosted == group->boost.entity || rknpu_runqueue_slice_over(rq, group))
			rknpu_runqueue_unboost(rq, boosted);
	}
	return rknpu_runqueue_rotate(rq, group);
}

/* In the vendor's DT shape one IOMMU serves all cores; so they run jobs of one VM at a time. */
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

/*
 * A VM that others wait for may go on for a slice; then its jobs that run end, no
 * new one starts, and the next VM comes.
 */
static bool rknpu_shared_slice_over(struct rknpu_runqueue *rq, struct rknpu_vm *vm)
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

static bool rknpu_shared_admits(struct rknpu_runqueue *rq, struct rknpu_job *job)
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

static void rknpu_shared_took(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_sched *sched = rq->sched;

	rq->wants_iommu = false;
	if (!rq->core->iommu->shared || sched->shared.vm == job->vm)
		return;
	sched->shared.vm = job->vm;
	sched->shared.start_ns = ktime_get_ns();
}

void rknpu_runqueue_take(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = job->entity;
	struct rknpu_group *group = entity->group;
	bool in_turn = entity->boosted || list_is_first(&entity->link, &group->entities);
	unsigned int p;

	rknpu_shared_took(rq, job);
	rknpu_share_begin_turn(rq, group);
	if (entity->boosted)
		rknpu_runqueue_boost_begins(rq, entity);
	else
		rknpu_runqueue_boost_ends(rq, group);
	rknpu_runqueue_begin_slice(rq, entity);
	rknpu_runqueue_remove(job);
	/* So that all who run beside a gang that waits take turns. */
	if (!in_turn && !list_empty(&entity->jobs))
		list_move_tail(&entity->link, &group->entities);
	rq->passed_over[job->priority] = 0;
	if (!rq->queued)
		return;

	for (p = 0; p < job->priority; p++) {
		if (rknpu_runqueue_waits(rq, p))
			rq->passed_over[p]++;
	}
}

void rknpu_runqueue_pass_through(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_entity *entity = rknpu_runqueue_admit(rq, job);

	entity->boosted = false;
	rknpu_share_begin_turn(rq, entity->group);
	rknpu_runqueue_boost_ends(rq, entity->group);
	rq->passed_over[job->priority] = 0;
	rknpu_runqueue_slice_begins(rq, entity);
}

/* Nobody of the group of @job, which is on the core, waits but its own client, if that. */
static bool rknpu_runqueue_waits_alone(const struct rknpu_job *job)
{
	struct rknpu_group *group = job->entity->group;

	if (list_empty(&job->entity->jobs))
		return !rknpu_runqueue_group_waits(group);
	return job->entity->boosted ?
	       list_empty(&group->entities) && list_is_singular(&group->boosted) :
	       list_empty(&group->boosted) && list_is_singular(&group->entities);
}

static bool rknpu_runqueue_others_wait(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_group *group = job->entity->group;
	unsigned int p;

	if (!rq->queued)
		return false;
	for (p = job->priority + 1; p < RKNPU_PRIORITY_COUNT; p++) {
		if (rknpu_runqueue_waits(rq, p))
			return true;
	}
	if (rknpu_share_turn_over(rq, job))
		return true;
	/* Jobs of its own client can wait. */
	if (rknpu_runqueue_waits_alone(job))
		return false;
	if (job->entity == group->boost.entity)
		return rknpu_runqueue_boost_over(rq, group);
	if (!list_empty(&group->boosted) && rknpu_runqueue_boost_due(rq, group))
		return true;
	return rknpu_runqueue_slice_over(rq, group);
}

bool rknpu_runqueue_wants_core(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job = rq->job;

	return rknpu_runqueue_others_wait(rq, job) ||
	       (rq->core->iommu->shared && rknpu_shared_slice_over(rq, job->vm));
}

/* A core that is about to start its only job would be left with nothing. */
static unsigned int rknpu_runqueue_spare(struct rknpu_runqueue *rq)
{
	if (rq->state == RKNPU_CORE_STARTING && !rq->job)
		return rq->queued ? rq->queued - 1 : 0;
	return rq->queued;
}

/* Behind other jobs of its client, which may have to wait for a gang, it gains nothing. */
static bool rknpu_runqueue_gains(struct rknpu_runqueue *idle, struct rknpu_job *job)
{
	return rknpu_runqueue_allows(idle, job) &&
	       list_empty(&rknpu_runqueue_entity(idle, job)->jobs);
}

/* Among the first few of those that wait longest. */
static struct rknpu_job *rknpu_runqueue_find(struct rknpu_runqueue *from,
					     struct list_head *entities,
					     struct rknpu_runqueue *idle)
{
	unsigned int tries = RKNPU_RUNQUEUE_STEAL_TRIES;
	struct rknpu_entity *entity;
	struct rknpu_job *job;

	list_for_each_entry_reverse(entity, entities, link) {
		list_for_each_entry(job, &entity->jobs, link) {
			if (job != from->early && rknpu_runqueue_gains(idle, job))
				return job;
			if (!--tries)
				return NULL;
		}
	}
	return NULL;
}

/* Of the first few users. */
static struct rknpu_job *rknpu_runqueue_spare_job(struct rknpu_runqueue *from,
						  struct rknpu_runqueue *idle)
{
	unsigned int tries = RKNPU_RUNQUEUE_STEAL_TRIES;
	struct rknpu_group *group;
	struct rknpu_job *job;
	int p;

	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0; p--) {
		for (group = rknpu_share_first(from, p); group && tries;
		     group = rknpu_share_next(group), tries--) {
			job = rknpu_runqueue_find(from, &group->boosted, idle) ?:
			      rknpu_runqueue_find(from, &group->entities, idle);
			if (job)
				return job;
		}
	}
	return NULL;
}

/* From the core that has most, as long as there is one that may run here; or NULL. */
static struct rknpu_job *rknpu_runqueue_steal(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job, *best = NULL;
	struct rknpu_runqueue *from;
	unsigned int most = 0;

	rknpu_for_each_rq(from, rq->sched) {
		if (from == rq || rknpu_runqueue_spare(from) <= most)
			continue;
		job = rknpu_runqueue_spare_job(from, rq);
		if (job) {
			best = job;
			most = rknpu_runqueue_spare(from);
		}
	}
	if (!best)
		return NULL;
	rknpu_runqueue_remove(best);
	rknpu_runqueue_add(rq, best);
	return best;
}

static struct rknpu_job *rknpu_runqueue_first(struct rknpu_runqueue *rq)
{
	return list_first_entry(&rknpu_runqueue_pick(rq)->jobs, struct rknpu_job, link);
}

/* What the core, which has no job, has to run next because a gang gathers, or NULL. */
static struct rknpu_job *rknpu_gang_next(struct rknpu_runqueue *rq)
{
	struct rknpu_gang *gang = rq->sched->gang;
	struct rknpu_job *job;

	if (!gang)
		return NULL;
	gang->before &= ~BIT(rq->core->index);
	if (gang->before)
		return NULL;
	job = gang->jobs[rq->core->index];
	/* Before that it waits for its dependencies, as the others do. */
	return job && job->state == RKNPU_JOB_QUEUED && job->rq == rq &&
	       !job->client->user->held ? job : NULL;
}

static void rknpu_gang_gather(struct rknpu_sched *sched, struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;

	sched->gang = gang;
	rknpu_for_each_rq(rq, sched) {
		if (rq->job && gang->jobs[rq->core->index])
			gang->before |= BIT(rq->core->index);
	}
}

static bool rknpu_gang_waits(const struct rknpu_job *job)
{
	return job->gang && job->gang->open;
}

/* May @job, which would be next, run now? A gang begins to gather by that. */
static bool rknpu_gang_admits(struct rknpu_runqueue *rq, struct rknpu_job *job)
{
	struct rknpu_sched *sched = rq->sched;

	if (!rknpu_gang_waits(job))
		return true;
	if (!sched->gang)
		rknpu_gang_gather(sched, job->gang);
	return sched->gang == job->gang && !job->gang->before;
}

/* Within one entity, jobs keep their order. */
static struct rknpu_job *rknpu_runqueue_pass(struct list_head *entities, unsigned int *tries)
{
	struct rknpu_entity *entity;
	struct rknpu_job *job;

	list_for_each_entry(entity, entities, link) {
		if (!*tries)
			return NULL;
		(*tries)--;
		job = list_first_entry(&entity->jobs, struct rknpu_job, link);
		if (!rknpu_gang_waits(job))
			return job;
	}
	return NULL;
}

/* What runs while a gang that would be next has to wait. */
static struct rknpu_job *rknpu_runqueue_backfill(struct rknpu_runqueue *rq)
{
	unsigned int tries = RKNPU_RUNQUEUE_BACKFILL_TRIES;
	struct rknpu_group *group;
	struct rknpu_job *job;
	int p;

	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0; p--) {
		for (group = rknpu_share_first(rq, p); group && tries;
		     group = rknpu_share_next(group)) {
			job = rknpu_runqueue_pass(&group->boosted, &tries) ?:
			      rknpu_runqueue_pass(&group->entities, &tries);
			if (job)
				return job;
		}
	}
	return NULL;
}

struct rknpu_job *rknpu_runqueue_next(struct rknpu_runqueue *rq)
{
	struct rknpu_job *job;

	lockdep_assert_held(&rq->sched->hw->lock);

	job = rknpu_gang_next(rq);
	if (!job) {
		if (!rq->shares)
			rknpu_runqueue_steal(rq);
		if (!rq->shares) {
			if (rq->turn)
				rknpu_runqueue_boost_ends(rq, rq->turn);
			return NULL;
		}
		job = rknpu_runqueue_first(rq);
		if (!rknpu_gang_admits(rq, job))
			job = rknpu_runqueue_backfill(rq) ?: rknpu_runqueue_steal(rq);
	}
	return job && rknpu_shared_admits(rq, job) ? job : NULL;
}

bool rknpu_runqueue_evacuate(struct rknpu_runqueue *rq, struct list_head *stranded)
{
	struct rknpu_runqueue *other;
	struct rknpu_user *user;
	struct rknpu_job *job;

	/* Their jobs wait on the cores where they come to. */
	list_for_each_entry(user, &rq->sched->held, hold_link)
		rknpu_share_let_go(user, rq);

	if (!rq->queued)
		return false;
	job = rknpu_runqueue_first(rq);
	other = rknpu_runqueue_choose(rq->sched, job, NULL);
	rknpu_runqueue_remove(job);
	if (other) {
		rknpu_runqueue_add(other, job);
	} else {
		rknpu_job_leave(job);
		list_add_tail(&job->link, stranded);
	}
	return true;
}

/* Its job may have ended meanwhile, and a core that is being stopped may still have it. */
static bool rknpu_gang_has(const struct rknpu_gang *gang, const struct rknpu_runqueue *rq)
{
	return (gang->waiting & BIT(rq->core->index)) && rq->state == RKNPU_CORE_STARTING &&
	       rq->job == gang->jobs[rq->core->index];
}

bool rknpu_gang_keeps(const struct rknpu_runqueue *rq)
{
	return rq->job && rknpu_gang_waits(rq->job) && rknpu_gang_has(rq->job->gang, rq);
}

static u32 rknpu_gang_close(struct rknpu_sched *sched, struct rknpu_gang *gang)
{
	struct rknpu_runqueue *rq;
	u32 ready = 0;

	gang->open = false;
	if (sched->gang == gang)
		sched->gang = NULL;
	rknpu_for_each_rq(rq, sched) {
		if (rknpu_gang_has(gang, rq))
			ready |= BIT(rq->core->index);
	}
	gang->waiting = 0;
	return ready;
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

bool rknpu_gang_ready(struct rknpu_runqueue *rq, u32 *ready)
{
	struct rknpu_gang *gang = rq->job->gang;

	gang->waiting |= BIT(rq->core->index);
	if (!rknpu_gang_complete(gang))
		return false;
	*ready = rknpu_gang_close(rq->sched, gang);
	return true;
}

bool rknpu_gang_dissolve(struct rknpu_job *job, u32 *ready)
{
	struct rknpu_gang *gang = job->gang;

	if (!gang || !gang->open)
		return false;
	*ready = rknpu_gang_close(job->client->sched, gang);
	return true;
}
