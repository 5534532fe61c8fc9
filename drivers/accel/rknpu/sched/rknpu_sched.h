/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the scheduler's outside: how busy cores are, pushing jobs, cancelling them. */
#ifndef __RKNPU_SCHED_H__
#define __RKNPU_SCHED_H__

#include <linux/types.h>

struct list_head;
struct rknpu_client;
struct rknpu_core;
struct rknpu_hw;
struct rknpu_job;
struct rknpu_sched;

/* Bit per core that can be given jobs. */
u32 rknpu_sched_cores_alive(struct rknpu_sched *sched);

/* The version that core @index reports; -ENODEV if it is not bound. */
int rknpu_sched_core_version(struct rknpu_sched *sched, unsigned int index, u32 *version);

/* Of the cores in @mask, which is not empty, the one with the fewest jobs just now. */
unsigned int rknpu_sched_quietest_core(struct rknpu_sched *sched, u32 mask);

/* How busy the core was in the last full second, the running job included: 0 to 100. */
unsigned int rknpu_sched_busy_percent(struct rknpu_core *core);
/* For how long it has run jobs since the device was made, up to now. */
u64 rknpu_sched_busy_ns(struct rknpu_core *core);
/* With rknpu_hw::lock: rknpu_rate::hz, at which all time until now was spent, will change. */
void rknpu_sched_rate_changes(struct rknpu_hw *hw);

/*
 * Hands the caller's reference to the scheduler. Cannot fail: on a device that is gone the
 * fence signals -ENODEV.
 */
void rknpu_sched_push(struct rknpu_job *job);

/*
 * Ends the client's queued jobs with -ECANCELED, or -EPIPE if it is banned; running ones
 * at the end of their kick or, by a reset, after rknpu_params::cancel_grace_ms; waiting
 * ones when they need not wait any longer: others take its fence to mean that what it
 * depends on is over too. New ones may follow. Does not wait itself.
 */
void rknpu_sched_cancel_jobs(struct rknpu_client *client);
/* The file is closed: the same, and drops the file's reference. */
void rknpu_sched_close_client(struct rknpu_client *client);

/*
 * Takes all jobs that are neither on a core, nor about to be, nor wait for one that is not
 * over. The others, and those that are pushed from now on, end when that one is. May sleep.
 */
void rknpu_sched_take_all(struct rknpu_sched *sched, struct list_head *taken);

#endif
