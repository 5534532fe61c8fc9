/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what comes of failures: their users are held, and the jobs of banned clients ended. */
#ifndef __RKNPU_PENALTY_H__
#define __RKNPU_PENALTY_H__

#include <linux/types.h>

struct rknpu_domain;
struct rknpu_job;
struct rknpu_runqueue;
struct rknpu_sched;

void rknpu_penalty_init(struct rknpu_sched *sched);
/* No client is left. */
void rknpu_penalty_fini(struct rknpu_sched *sched);

/*
 * With rknpu_hw::lock: @job, on its core until now, failed, as nobody knows yet. From
 * here on no job of its user starts. To be followed by rknpu_penalty_end(), for which
 * the job is kept.
 */
void rknpu_penalty_begin(struct rknpu_job *job);
/* The core is back at work, or lost. Begins the pause, and the ban if one is due. */
void rknpu_penalty_end(struct rknpu_job *job);
/* With rknpu_hw::lock, in the IOMMU's handler: the core faulted while no job was on it. */
void rknpu_penalty_stray(struct rknpu_runqueue *rq, struct rknpu_domain *domain);

#endif
