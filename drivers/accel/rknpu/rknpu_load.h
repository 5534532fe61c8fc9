/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns how busy each core was in the last full second. */
#ifndef __RKNPU_LOAD_H__
#define __RKNPU_LOAD_H__

#include <linux/spinlock.h>
#include <linux/types.h>

/**
 * struct rknpu_load - busy time of one core; seconds are those of ktime_get_ns()
 * @lock: protects the rest
 * @second: the latest one with a job in it
 * @busy: ns in @second
 * @before: ns in the second before that
 */
struct rknpu_load {
	spinlock_t lock; /* protects the rest */
	u64 second;
	u64 busy;
	u64 before;
};

struct rknpu_core;

void rknpu_load_init(struct rknpu_load *load);
/* Any context: a job that ran from @start_ns is over at @end_ns. */
void rknpu_load_add(struct rknpu_load *load, u64 start_ns, u64 end_ns);
/* 0 to 100, the running job included. */
unsigned int rknpu_load_percent(struct rknpu_core *core);

#endif
