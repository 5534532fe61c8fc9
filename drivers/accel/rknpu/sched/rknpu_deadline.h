/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns when the watchdog of a core looks at it next: deadlines, and reasons to look earlier. */
#ifndef __RKNPU_DEADLINE_H__
#define __RKNPU_DEADLINE_H__

#include <linux/types.h>

struct rknpu_job;
struct rknpu_runqueue;

/* All of these under rknpu_hw::lock. */

/* In so many jiffies, unless it is about to look anyway. */
void rknpu_deadline_check_in(struct rknpu_runqueue *rq, unsigned long delay);

/* rq->job has come to the core: each of its kicks has @timeout jiffies from its beginning. */
void rknpu_deadline_set(struct rknpu_runqueue *rq, unsigned long timeout);
/* A kick of rq->job begins. */
void rknpu_deadline_begin_kick(struct rknpu_runqueue *rq);
/* The core is idle until the rest of the gang is ready, but not for long. */
void rknpu_deadline_gang(struct rknpu_runqueue *rq);
/* Has it been long enough? Otherwise the watchdog looks again. */
bool rknpu_deadline_gang_over(struct rknpu_runqueue *rq);
/*
 * rq->job is cancelled. What runs of it may go on for a moment: a task that ends by
 * itself costs less than a reset, but a chain may be of 4095 tasks.
 */
void rknpu_deadline_expedite(struct rknpu_runqueue *rq);
/*
 * @job waits for the core's other jobs because those of their clients were short
 * lately. If the running one is not, somebody has to notice.
 */
void rknpu_deadline_recheck(struct rknpu_runqueue *rq, struct rknpu_job *job);

#endif
