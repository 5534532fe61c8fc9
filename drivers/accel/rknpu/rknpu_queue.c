// SPDX-License-Identifier: GPL-2.0-only
/* Owns which job runs next, and where. */
#include <linux/ktime.h>
#include <linux/module.h>

#include "rknpu_device.h"
#include "rknpu_queue.h"
#include "rknpu_sched.h"

/*
 * Two clients on one core pay for every change of turn with an IOMMU attach,
 * which is a hundred microseconds or so of polling (inferred from rk_iommu).
 */
static uint slice_us = 4000;
module_param(slice_us, uint, 0644);
MODULE_PARM_DESC(slice_us, "How long a client may keep a core that others wait for, in us (default 4000)");

static bool rknpu_queue_in_service(struct rknpu_core *core)
{
	return core->state != RKNPU_CORE_ABSENT && core->state != RKNPU_CORE_DEAD;
}

/* Less is better: load first, then the cost of attaching the job's VM. */
static unsigned int rknpu_queue_cost(struct rknpu_core *core, struct rknpu_job *job)
{
	unsigned int load = core->queued + (core->state != RKNPU_CORE_IDLE);
	struct rknpu_vm *vm = READ_ONCE(core->vm);

	if (vm == job->vm)
		return 4 * load;
	return 4 * load + (vm ? 2 : 1);
}

struct rknpu_core *rknpu_queue_choose(struct rknpu_device *rdev, struct rknpu_job *job)
{
	struct rknpu_core *best = NULL;
	unsigned int i, cost, best_cost = UINT_MAX;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &rdev->cores[i];

		if (!rknpu_queue_in_service(core))
			continue;
		cost = rknpu_queue_cost(core, job);
		if (cost < best_cost) {
			best = core;
			best_cost = cost;
		}
	}
	return best;
}

void rknpu_queue_add(struct rknpu_core *core, struct rknpu_job *job)
{
	struct rknpu_queue *queue = &job->client->queues[core->index];

	if (list_empty(&queue->jobs))
		list_add_tail(&queue->link, &core->turns);
	list_add_tail(&job->link, &queue->jobs);
	core->queued++;
	job->state = RKNPU_JOB_QUEUED;
	job->core = core;
}

void rknpu_queue_remove(struct rknpu_device *rdev, struct rknpu_job *job)
{
	struct rknpu_queue *queue = &job->client->queues[job->core->index];

	lockdep_assert_held(&rdev->lock);
	list_del_init(&job->link);
	if (list_empty(&queue->jobs))
		list_del_init(&queue->link);
	job->core->queued--;
}

/* The jobs of the client whose turn it is; its turn ends when others wait for too long. */
static struct rknpu_queue *rknpu_queue_turn(struct rknpu_core *core)
{
	struct rknpu_queue *queue = list_first_entry(&core->turns, struct rknpu_queue, link);
	u64 now = ktime_get_ns();

	if (queue == core->turn && !list_is_singular(&core->turns) &&
	    now - core->turn_start > (u64)READ_ONCE(slice_us) * NSEC_PER_USEC) {
		list_move_tail(&queue->link, &core->turns);
		queue = list_first_entry(&core->turns, struct rknpu_queue, link);
	}
	if (queue != core->turn) {
		core->turn = queue;
		core->turn_start = now;
	}
	return queue;
}

/* A core that is about to start its only job would be left with nothing. */
static unsigned int rknpu_queue_spare(struct rknpu_core *core)
{
	if (core->state == RKNPU_CORE_STARTING && !core->job)
		return core->queued ? core->queued - 1 : 0;
	return core->queued;
}

static struct rknpu_core *rknpu_queue_busiest(struct rknpu_core *idle)
{
	struct rknpu_core *busiest = NULL;
	unsigned int i, most = 0;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct rknpu_core *core = &idle->rdev->cores[i];

		if (core != idle && rknpu_queue_spare(core) > most) {
			busiest = core;
			most = rknpu_queue_spare(core);
		}
	}
	return busiest;
}

/* From the client that waits longest for its turn. */
static void rknpu_queue_steal(struct rknpu_core *core)
{
	struct rknpu_core *from = rknpu_queue_busiest(core);
	struct rknpu_queue *queue;
	struct rknpu_job *job;

	if (!from)
		return;
	queue = list_last_entry(&from->turns, struct rknpu_queue, link);
	job = list_first_entry(&queue->jobs, struct rknpu_job, link);
	rknpu_queue_remove(core->rdev, job);
	rknpu_queue_add(core, job);
}

struct rknpu_job *rknpu_queue_next(struct rknpu_core *core)
{
	lockdep_assert_held(&core->rdev->lock);

	if (list_empty(&core->turns))
		rknpu_queue_steal(core);
	if (list_empty(&core->turns))
		return NULL;
	return list_first_entry(&rknpu_queue_turn(core)->jobs, struct rknpu_job, link);
}

void rknpu_queue_evacuate(struct rknpu_core *core, struct list_head *stranded)
{
	struct rknpu_device *rdev = core->rdev;

	while (!list_empty(&core->turns)) {
		struct rknpu_queue *queue = list_first_entry(&core->turns, struct rknpu_queue,
							     link);
		struct rknpu_job *job = list_first_entry(&queue->jobs, struct rknpu_job, link);
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
