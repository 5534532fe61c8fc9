/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns cores coming and going: binding, unbinding, system sleep, shutdown. */
#ifndef __RKNPU_LIFECYCLE_H__
#define __RKNPU_LIFECYCLE_H__

struct rknpu_core;
struct rknpu_hw;
struct rknpu_hw_ops;
struct rknpu_mem;
struct rknpu_sched;

/* What the hardware calls; for rknpu_hw_init(). */
extern const struct rknpu_hw_ops rknpu_sched_hw_ops;

/* Of a new device. */
int rknpu_sched_init(struct rknpu_sched *sched, struct rknpu_hw *hw, struct rknpu_mem *mem);

/* Ends every job; no core is touched afterwards. */
void rknpu_sched_stop(struct rknpu_sched *sched);

/*
 * Waits for recoveries and bans that are under way: they hold jobs whose fences have
 * signalled, and with them what those had. Not for dumps, which read programs in a client's
 * address space, so that the client can delay them. May sleep.
 */
void rknpu_sched_let_go(struct rknpu_sched *sched);

/*
 * System sleep: no core starts anything any more until all are thawed. Waits for
 * the running job for a while, then stops it, and it is run again after the
 * sleep. -EBUSY if that does not work either, and then the core is thawed.
 */
int rknpu_sched_core_freeze(struct rknpu_core *core);
void rknpu_sched_core_thaw(struct rknpu_core *core);
/*
 * Around all of it: before the PM core keeps anything awake, and when it does not any more. In
 * between no core is given up because its power cannot be cut.
 */
void rknpu_sched_sleep_begins(struct rknpu_sched *sched);
void rknpu_sched_sleep_ends(struct rknpu_sched *sched);

/* Reboot or kexec, after rknpu_sched_stop(): resets the core, or holds it in reset. */
void rknpu_sched_core_shutdown(struct rknpu_core *core);

#endif
