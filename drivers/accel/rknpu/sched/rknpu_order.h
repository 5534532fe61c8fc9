/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the order of jobs that use the same BOs: dependencies, and fences in reservations. */
#ifndef __RKNPU_ORDER_H__
#define __RKNPU_ORDER_H__

#include <linux/types.h>

struct rknpu_job;

/*
 * Orders @jobs by the BOs they list, publishes their fences there and queues
 * them. Consumes the references, also on failure, and then nothing was queued.
 */
int rknpu_order_jobs(struct rknpu_job **jobs, u32 count);

#endif
