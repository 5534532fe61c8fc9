// SPDX-License-Identifier: GPL-2.0-only
/* Owns how long tasks and jobs may take: what they ask for, within the administrator's limits. */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include <drm/drm_print.h>

#include "rknpu_client_types.h"
#include "rknpu_limits.h"
#include "rknpu_params.h"
#include "rknpu_sched_types.h"

/* Of a task, whatever the administrator says. */
#define RKNPU_LIMITS_SHORTEST_NS	(1ULL * NSEC_PER_MSEC)
#define RKNPU_LIMITS_LONGEST_MS		60000U
#define RKNPU_LIMITS_LONGEST_NS		((u64)RKNPU_LIMITS_LONGEST_MS * NSEC_PER_MSEC)

static unsigned int rknpu_limits_default_timeout_ms(void)
{
	return max(1U, READ_ONCE(rknpu_params.default_timeout_ms));
}

u64 rknpu_limits_default_timeout_ns(void)
{
	return mul_u32_u32(rknpu_limits_default_timeout_ms(), NSEC_PER_MSEC);
}

static u64 rknpu_limits_timeout_of_all_ns(void)
{
	unsigned int ms = READ_ONCE(rknpu_params.max_timeout_ms);

	return mul_u32_u32(clamp(ms, 1U, RKNPU_LIMITS_LONGEST_MS), NSEC_PER_MSEC);
}

/*
 * Not the DRM master, as with GPUs: where there is a primary node, anybody who may
 * open it and is the first becomes that, and nothing is displayed.
 */
bool rknpu_limits_privileged(void)
{
	return capable(CAP_SYS_NICE);
}

bool rknpu_limits_seems_privileged(void)
{
	return capable_noaudit(CAP_SYS_NICE);
}

u64 rknpu_limits_max_timeout_ns(void)
{
	if (rknpu_limits_seems_privileged())
		return RKNPU_LIMITS_LONGEST_NS;
	return rknpu_limits_timeout_of_all_ns();
}

bool rknpu_limits_allow_timeout(u64 timeout_ns)
{
	return timeout_ns <= rknpu_limits_timeout_of_all_ns() ||
	       (timeout_ns <= RKNPU_LIMITS_LONGEST_NS && rknpu_limits_privileged());
}

u64 rknpu_limits_max_job_ns(void)
{
	return mul_u32_u32(max(1U, READ_ONCE(rknpu_params.max_job_ms)), NSEC_PER_MSEC);
}

static u64 rknpu_limits_cut(const struct rknpu_job *job, const char *what, u64 ns, u64 max)
{
	if (ns <= max)
		return ns;
	drm_dbg_ratelimited(job->client->sched->hw->drm,
			    "submit: %s may take %llu ns, not %llu\n", what, max, ns);
	return max;
}

void rknpu_limits_apply(struct rknpu_job *job)
{
	u64 max = rknpu_limits_timeout_of_all_ns();

	if (job->budget_ns) {
		job->budget_ns = rknpu_limits_cut(job, "a job", job->budget_ns,
						  rknpu_limits_max_job_ns());
		/* One task may not take more: rknpu_limits_job_over() would allow that. */
		job->timeout_ns = min(job->timeout_ns, job->budget_ns);
	} else if (rknpu_limits_allow_timeout(job->timeout_ns)) {
		return;
	}
	job->timeout_ns = rknpu_limits_cut(job, "a task", job->timeout_ns, max);
}

unsigned long rknpu_limits_timeout(const struct rknpu_job *job)
{
	if (!job->timeout_ns)
		return msecs_to_jiffies(rknpu_limits_default_timeout_ms()) + 1;
	return nsecs_to_jiffies(max(job->timeout_ns, RKNPU_LIMITS_SHORTEST_NS)) + 1;
}

unsigned long rknpu_limits_grace(void)
{
	return msecs_to_jiffies(READ_ONCE(rknpu_params.cancel_grace_ms));
}

/* What the job asked for: its own limit, or all of its tasks'. */
static u64 rknpu_limits_asked_ns(const struct rknpu_job *job, u64 task)
{
	if (job->budget_ns)
		return job->budget_ns;
	/* Of others, each task has a deadline that begins when it starts. */
	if (!job->batched)
		return U64_MAX;
	return job->task_count * task + RKNPU_LIMITS_LATE_MS * NSEC_PER_MSEC;
}

bool rknpu_limits_job_over(const struct rknpu_runqueue *rq)
{
	const struct rknpu_job *job = rq->job;
	u64 task = jiffies_to_nsecs(rq->watch.timeout);
	u64 limit = min(rknpu_limits_asked_ns(job, task), rknpu_limits_max_job_ns());

	/* A job of one task may take as long as that. */
	return !job->divisible &&
	       job->before_ns - job->void_ns + ktime_get_ns() - job->start_ns > max(limit, task);
}
