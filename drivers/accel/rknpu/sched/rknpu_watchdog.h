/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the watchdog of each core: has a kick started, is a task late, has a gang waited enough. */
#ifndef __RKNPU_WATCHDOG_H__
#define __RKNPU_WATCHDOG_H__

#include "rknpu_types.h"

/* rknpu_runqueue::watchdog */
void rknpu_watchdog_work(struct work_struct *work);

/* All of these under rknpu_hw::lock. */

/* The first kick of rq->job has been started; or another one. */
void rknpu_watchdog_job(struct rknpu_runqueue *rq);
void rknpu_watchdog_kick(struct rknpu_runqueue *rq);
/* The core is idle until the rest of rq->job's gang is ready, but not for long. */
void rknpu_watchdog_gang(struct rknpu_runqueue *rq);
/*
 * rq->job is cancelled. What runs of it may go on for a moment: a task that ends by
 * itself costs less than a reset, but a chain may be of 4095 tasks.
 */
void rknpu_watchdog_cancel(struct rknpu_runqueue *rq);
/*
 * @job waits for the core's other jobs because those of their clients were short
 * lately. If the running one is not, somebody has to notice.
 */
void rknpu_watchdog_doubt(struct rknpu_runqueue *rq, struct rknpu_job *job);

#endif
