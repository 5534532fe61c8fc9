/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns how long tasks and jobs may take: what they ask for, within the administrator's limits. */
#ifndef __RKNPU_LIMITS_H__
#define __RKNPU_LIMITS_H__

#include <linux/types.h>

struct rknpu_job;
struct rknpu_runqueue;

/* For an interrupt that is due, once a task is late. */
#define RKNPU_LIMITS_LATE_MS	30

/* What a task may take if its job does not say. */
u64 rknpu_limits_default_timeout_ns(void);

/* Of rknpu_job::timeout_ns, for who asks; those who may go first may take longer, too. */
u64 rknpu_limits_max_timeout_ns(void);
/* The same, but asks for the capability only if it is needed. */
bool rknpu_limits_allow_timeout(u64 timeout_ns);
/* Whoever asks may go before others, and keep them waiting; or could, which is only told. */
bool rknpu_limits_privileged(void);
bool rknpu_limits_seems_privileged(void);

/* Of all tasks of a job that is not divisible, unless it has one task that may take longer. */
u64 rknpu_limits_max_job_ns(void);

/* Every job of every uAPI comes by here before it is queued, in its creator's context. */
void rknpu_limits_apply(struct rknpu_job *job);

/* What a task of the job may take, in jiffies. */
unsigned long rknpu_limits_timeout(const struct rknpu_job *job);

/* How long what runs of a job may go on when its file is closed, in jiffies. */
unsigned long rknpu_limits_grace(void);

/* Has the job on the core had all the time that its tasks have together? */
bool rknpu_limits_job_over(const struct rknpu_runqueue *rq);

#endif
