/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the way of jobs from a user ABI to the scheduler: dependencies and fences. */
#ifndef __RKNPU_SUBMIT_H__
#define __RKNPU_SUBMIT_H__

#include <linux/types.h>

struct rknpu_job;

/*
 * Orders @jobs by the BOs they list, publishes their fences there and queues
 * them. Consumes the references, also on failure, and then nothing was queued.
 */
int rknpu_submit_jobs(struct rknpu_job **jobs, u32 count);

#endif
