// SPDX-License-Identifier: GPL-2.0-only
/* Owns which job runs next, and where. */
#include <linux/ktime.h>
#include <linux/module.h>

#include "rknpu_device.h"
#include "rknpu_gang.h"
#include "rknpu_job.h"
#include "rknpu_queue.h"
#include "rknpu_sched.h"

/*
 * Two clients on one core pay for every change of turn with an IOMMU attach,
 * which is a hundred microseconds or so of polling (inferred from rk_iommu).
 */
static uint slice_us = 4000;
module_param(slice_us, uint, 0644);
MODULE_PARM_DESC(slice_us, "How long a client may keep a core that others wait for, in us (default 4000)");

/* Jobs of higher priorities that one of a lower priority has to let pass. */
#define RKNPU_QUEUE_PATIENCE	16

/* What is looked at in order to take over work from another core. */
#define RKNPU_QUEUE_STEAL_TRIES	8

u64 rknpu_queue_slice_ns(void)
{
	return (u64)READ_ONCE(slice_us) * NSEC_PER_USEC;
}

void rknpu_queue_init_core(struct rknpu_core *core)
{
	unsigned int p;

	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		INIT_LIST_HEAD(&core->turns[p]);
		INIT_LIST_HEAD(&core->light[p]);
	}
}

void rknpu_queue_init_client(struct rknpu_client *client)
{
	unsigned int i, p;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
			INIT_LIST_HEAD(&client->queues[i][p].jobs);
			INIT_LIST_HEAD(&client->queues[i][p].link);
		}
	}
}

static struct rknpu_queue *rknpu_queue_of(struct rknpu_core *core, struct rknpu_job *job)
{
	return &job->client->queues[core->index][job->priority];
}

static bool rknpu_queue_allows(struct rknpu_core *core, struct rknpu_job *job)
{
	return !job->core_mask || (job->core_mask & BIT(core->index));
}

static bool rknpu_queue_in_service(struct rknpu_core *core)
{
	return core->state != RKNPU_CORE_ABSENT && core->state != RKNPU_CORE_DEAD;
}

/* Less is better: load first, then the cost of attaching the job's VM, then of power. */
static unsigned int rknpu_queue_cost(struct rknpu_core *core, struct rknpu_job *job)
{
	unsigned int load = core->queued + (core->state != RKNPU_CORE_IDLE);
	struct rknpu_vm *vm = rknpu_core_vm(core);
	unsigned int cost = 8 * load + !core->pm_held;

	if (vm == job->vm)
		return cost;
	return cost + (vm ? 4 : 2);
}

struct rknpu_core *rknpu_queue_choose(struct rknpu_device *rdev, struct rknpu_job *job)
{
	struct rknpu_core *best = NULL;
	unsigned int i, cost, best_cost = UINT_MAX;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &rdev->cores[i];

		if (!rknpu_queue_in_service(core) || !rknpu_queue_allows(core, job))
			continue;
		cost = rknpu_queue_cost(core, job);
		if (cost < best_cost) {
			best = core;
			best_cost = cost;
		}
	}
	return best;
}

/*
 * Half a core is a client's to use without it being held to its turns, and what
 * it did not use counts for one slice at most.
 */
static bool rknpu_queue_is_light(struct rknpu_client *client)
{
	s64 slice = rknpu_queue_slice_ns();
	u64 busy = rknpu_client_busy_ns(client);
	u64 now = ktime_get_ns();
	s64 credit = client->credit_ns;

	credit += (now - client->seen_ns) / 2;
	credit -= busy - client->seen_busy_ns;
	client->seen_ns = now;
	client->seen_busy_ns = busy;
	client->credit_ns = clamp(credit, -10 * slice, slice);
	return client->credit_ns > 0;
}

static bool rknpu_queue_slice_over(struct rknpu_core *core, u64 now)
{
	return now - core->turn_start > rknpu_queue_slice_ns();
}

static void rknpu_queue_join(struct rknpu_core *core, struct rknpu_queue *queue,
			     unsigned int priority, bool light)
{
	struct list_head *turns = &core->turns[priority];

	queue->is_light = light;
	if (light)
		list_add_tail(&queue->link, &core->light[priority]);
	else if (queue == core->turn && !list_empty(turns) &&
		 !rknpu_queue_slice_over(core, ktime_get_ns()))
		/* It had nothing for a moment, as with jobs that depend on each other. */
		list_add(&queue->link, turns);
	else
		list_add_tail(&queue->link, turns);
}

void rknpu_queue_add(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_queue *queue = rknpu_queue_of(core, job);

	/* If nobody else waits there is no turn to wait for. */
	if (list_empty(&queue->jobs))
		rknpu_queue_join(core, queue, job->priority,
				 core->queued && rknpu_queue_is_light(job->client));
	list_add_tail(&job->link, &queue->jobs);
	core->queued++;
	job->state = RKNPU_JOB_QUEUED;
	job->core = core;
}

void rknpu_queue_put_back(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_queue *queue = rknpu_queue_of(core, job);

	if (list_empty(&queue->jobs))
		rknpu_queue_join(core, queue, job->priority, false);
	list_add(&job->link, &queue->jobs);
	core->queued++;
	job->state = RKNPU_JOB_QUEUED;
	job->core = core;
}

void rknpu_queue_remove(struct rknpu_device *rdev, struct rknpu_job *job)
{
	struct rknpu_queue *queue = rknpu_queue_of(job->core, job);

	lockdep_assert_held(&rdev->lock);
	list_del_init(&job->link);
	if (list_empty(&queue->jobs))
		list_del_init(&queue->link);
	job->core->queued--;
}

static bool rknpu_queue_waits(struct rknpu_core *core, unsigned int priority)
{
	return !list_empty(&core->turns[priority]) || !list_empty(&core->light[priority]);
}

/* Whoever was passed over too often goes first. The core has jobs. */
static unsigned int rknpu_queue_priority(struct rknpu_core *core)
{
	unsigned int p, best = 0;

	for (p = 0; p < RKNPU_PRIORITY_COUNT; p++) {
		if (!rknpu_queue_waits(core, p))
			continue;
		if (core->passed_over[p] >= RKNPU_QUEUE_PATIENCE)
			return p;
		best = p;
	}
	return best;
}

/* The jobs of the client whose turn it is; its turn ends when others wait for too long. */
static struct rknpu_queue *rknpu_queue_turn(struct rknpu_core *core, struct list_head *turns)
{
	struct rknpu_queue *queue = list_first_entry(turns, struct rknpu_queue, link);

	if (queue == core->turn && !list_is_singular(turns) &&
	    rknpu_queue_slice_over(core, ktime_get_ns()))
		list_move_tail(&queue->link, turns);
	return list_first_entry(turns, struct rknpu_queue, link);
}

/*
 * Only when it gets the core: powering up and attaching can take longer than a
 * turn, and would use up one after the other without a job of it.
 */
static void rknpu_queue_begin_turn(struct rknpu_core *core, struct rknpu_queue *queue,
				   unsigned int priority)
{
	if (queue == core->turn || queue->is_light ||
	    !list_is_first(&queue->link, &core->turns[priority]))
		return;
	core->turn = queue;
	core->turn_start = ktime_get_ns();
}

/* Clients that use little come in between, but not one after the other. */
static struct rknpu_queue *rknpu_queue_pick(struct rknpu_core *core)
{
	unsigned int p = rknpu_queue_priority(core);

	if (!list_empty(&core->light[p]) && (!core->after_light || list_empty(&core->turns[p])))
		return list_first_entry(&core->light[p], struct rknpu_queue, link);
	return rknpu_queue_turn(core, &core->turns[p]);
}

void rknpu_queue_take(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_queue *queue = rknpu_queue_of(core, job);
	unsigned int p;

	rknpu_queue_begin_turn(core, queue, job->priority);
	rknpu_queue_remove(core->rdev, job);
	core->passed_over[job->priority] = 0;
	core->after_light = queue->is_light;
	if (!core->queued)
		return;

	for (p = 0; p < job->priority; p++) {
		if (rknpu_queue_waits(core, p))
			core->passed_over[p]++;
	}
	/* One job was its due. */
	if (queue->is_light && !list_empty(&queue->jobs)) {
		list_del(&queue->link);
		rknpu_queue_join(core, queue, job->priority, false);
	}
}

bool rknpu_queue_wants_core(struct rknpu_core *core, struct rknpu_job *job)
{
	struct list_head *turns = &core->turns[job->priority];
	unsigned int p;

	if (!core->queued)
		return false;
	for (p = job->priority + 1; p < RKNPU_PRIORITY_COUNT; p++) {
		if (rknpu_queue_waits(core, p))
			return true;
	}
	if (!list_empty(&core->light[job->priority]))
		return true;
	/* Jobs of its own client can wait. */
	if (list_empty(turns) || (list_is_singular(turns) &&
				  !list_empty(&rknpu_queue_of(core, job)->jobs)))
		return false;
	return rknpu_queue_slice_over(core, ktime_get_ns());
}

/* A core that is about to start its only job would be left with nothing. */
static unsigned int rknpu_queue_spare(struct rknpu_core *core)
{
	if (core->state == RKNPU_CORE_STARTING && !core->job)
		return core->queued ? core->queued - 1 : 0;
	return core->queued;
}

/* Among the first few of those that wait longest. */
static struct rknpu_job *rknpu_queue_find(struct list_head *turns, struct rknpu_core *idle)
{
	unsigned int tries = RKNPU_QUEUE_STEAL_TRIES;
	struct rknpu_queue *queue;
	struct rknpu_job *job;

	list_for_each_entry_reverse(queue, turns, link) {
		list_for_each_entry(job, &queue->jobs, link) {
			if (rknpu_queue_allows(idle, job))
				return job;
			if (!--tries)
				return NULL;
		}
	}
	return NULL;
}

static struct rknpu_job *rknpu_queue_spare_job(struct rknpu_core *from, struct rknpu_core *idle)
{
	struct rknpu_job *job = NULL;
	int p;

	for (p = RKNPU_PRIORITY_COUNT - 1; p >= 0 && !job; p--) {
		job = rknpu_queue_find(&from->light[p], idle);
		if (!job)
			job = rknpu_queue_find(&from->turns[p], idle);
	}
	return job;
}

/* From the core that has most, as long as there is one that may run here. */
static void rknpu_queue_steal(struct rknpu_core *core)
{
	struct rknpu_job *best = NULL;
	unsigned int i, most = 0;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *from = &core->rdev->cores[i];
		struct rknpu_job *job;

		if (from == core || rknpu_queue_spare(from) <= most)
			continue;
		job = rknpu_queue_spare_job(from, core);
		if (job) {
			best = job;
			most = rknpu_queue_spare(from);
		}
	}
	if (!best)
		return;
	rknpu_queue_remove(core->rdev, best);
	rknpu_queue_add(core, best);
}

static struct rknpu_job *rknpu_queue_first(struct rknpu_core *core)
{
	return list_first_entry(&rknpu_queue_pick(core)->jobs, struct rknpu_job, link);
}

struct rknpu_job *rknpu_queue_next(struct rknpu_core *core)
{
	struct rknpu_job *job;

	lockdep_assert_held(&core->rdev->lock);

	job = rknpu_gang_next(core);
	if (job)
		return job;
	if (!core->queued)
		rknpu_queue_steal(core);
	if (!core->queued)
		return NULL;
	job = rknpu_queue_first(core);
	return rknpu_gang_admits(core, job) ? job : NULL;
}

void rknpu_queue_evacuate(struct rknpu_core *core, struct list_head *stranded)
{
	struct rknpu_device *rdev = core->rdev;

	while (core->queued) {
		struct rknpu_job *job = rknpu_queue_first(core);
		struct rknpu_core *other = rknpu_queue_choose(rdev, job);

		rknpu_queue_remove(rdev, job);
		if (other) {
			rknpu_queue_add(other, job);
			continue;
		}
		job->state = RKNPU_JOB_ENDING;
		list_del_init(&job->client_link);
		list_add_tail(&job->link, stranded);
	}
}
