// SPDX-License-Identifier: GPL-2.0-only
/* Owns bursts: jobs that one kick runs, and the ends among them that no interrupt tells. */
#include <linux/dma-fence.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>

#include "rknpu_burst.h"
#include "rknpu_job.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched_trace.h"

/**
 * DOC: bursts
 *
 * A quiet job (DRM_ROCKET_JOB_QUIET) and the next one of its submit are of one
 * burst. As within a batched job, the client's programs name each other, the last
 * one of a job the first one of the next job. So one kick runs them all, and the
 * hardware interrupts at its end. Nobody writes to programs but their owner: a
 * driver that chained them would have to find their ends, and two jobs may share
 * one.
 *
 * To the scheduler each is a job like others, which waits for the one before it.
 * What else any of them waits for, the first one waits for. When that starts,
 * rknpu_burst_begin() adds the tasks of those behind it to its kick. While the kick
 * runs, rknpu_runqueue::job is the first job of which the driver does not know that
 * it is over. rknpu_burst_pass() moves that on by the program controller's counter
 * of tasks: WAITING to QUEUED, to ON_CORE, as if it had been started then.
 *
 * That happens at the end of the kick; before recovery and deadlines judge, so that
 * they meet the job which is to blame, and the others go on in another kick; and
 * when somebody waits for a job in between. For that, the core's timer looks at the
 * counter, as it does for polled jobs, from when the fence was asked to signal until
 * the job is over. Jobs of this device that wait for a quiet one do not ask: the
 * core is theirs after the burst.
 *
 * The fences of a burst signal in order. Those of up to RKNPU_END_BATCH jobs that
 * are found to be over at the end of a kick signal in the interrupt handler, others
 * in rknpu_sched::work.
 */

/* How many jobs one kick runs: they leave the core one by one with interrupts off. */
#define RKNPU_BURST_JOBS	256

static struct rknpu_job *rknpu_burst_next(const struct rknpu_job *job)
{
	return job->chained ? job->chained->job : NULL;
}

void rknpu_burst_add(struct rknpu_job *job, struct rknpu_job *next)
{
	if (!job->burst)
		job->burst = job;
	next->burst = job->burst;
	job->chained = rknpu_job_chain(next, job);
}

/* It waits for the job before it, and can only be kept from running by its client's end. */
static bool rknpu_burst_admits(const struct rknpu_job *next, u32 tasks)
{
	return next->state == RKNPU_JOB_WAITING && !next->cancelled &&
	       atomic_read(&next->deps_pending) == 1 &&
	       next->task_count <= RKNPU_PC_TASK_CON_TASK_NUMBER_MAX - tasks;
}

static bool rknpu_burst_is_waited_for(const struct rknpu_job *job)
{
	return test_bit(DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT, &job->fence->flags);
}

struct rknpu_job *rknpu_burst_begin(struct rknpu_runqueue *rq, u32 *tasks)
{
	struct rknpu_job *job = rq->job, *next;

	lockdep_assert_held(&rq->sched->hw->lock);
	rq->burst.id = job->burst;
	rq->burst.jobs = 1;
	rq->burst.before = 0;
	rq->burst.wanted = 0;
	rq->burst.with_work = false;
	job->kick_end = *tasks;
	/* There is another kick of it before the next job's. */
	if (job->result.task + *tasks < job->task_count)
		return job;

	while (rq->burst.jobs < RKNPU_BURST_JOBS) {
		next = rknpu_burst_next(job);
		if (!next || !rknpu_burst_admits(next, *tasks))
			break;
		/* Or rknpu_job_want() comes after this, and finds the kick. */
		if (rknpu_burst_is_waited_for(job))
			rq->burst.wanted = job->kick_end;
		*tasks += next->task_count;
		next->kick_end = *tasks;
		rq->burst.jobs++;
		job = next;
	}
	if (rq->burst.jobs > 1)
		rq->burst.start_ns = ktime_get_ns();
	return job;
}

/* The core goes on with the next job of the kick, and has done so since a moment ago. */
static void rknpu_burst_hand_over(struct rknpu_runqueue *rq, u64 now)
{
	struct rknpu_job *job = rq->job, *next = rknpu_burst_next(job);

	rq->burst.before = job->kick_end;
	job->result.task = job->task_count;
	trace_rknpu_task_done(job, rq->core->index);
	rknpu_job_pause(job, now);
	rknpu_job_leave(job);

	rknpu_job_dep_met(job->chained);
	atomic_set(&next->deps_pending, 0);
	rknpu_runqueue_follow(rq, next);
	rknpu_job_set_state(next, RKNPU_JOB_ON_CORE);
	next->result.core = rq->core->index;
	next->start_ns = now;
	WRITE_ONCE(rq->job, next);
	trace_rknpu_job_start(next, rq->core->index);
}

void rknpu_burst_pass(struct rknpu_runqueue *rq, u32 done, struct list_head *over)
{
	u32 tasks = rq->core->kick.tasks;
	u64 now;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (rq->burst.jobs <= 1 || done < rq->job->kick_end)
		return;
	now = ktime_get_ns();
	while (rq->job->kick_end < tasks && done >= rq->job->kick_end) {
		struct rknpu_job *job = rq->job;

		rknpu_burst_hand_over(rq, now);
		list_add_tail(&job->link, over);
	}
	if (rq->burst.before >= rq->burst.wanted)
		rq->burst.wanted = 0;
}
