/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what the scheduler of one device knows. */
#ifndef __RKNPU_SCHED_TYPES_H__
#define __RKNPU_SCHED_TYPES_H__

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "debug/rknpu_dump.h"
#include "hw/rknpu_hw.h"
#include "rknpu_runqueue_types.h"

struct rknpu_gang;
struct rknpu_mem;
struct rknpu_vm;

/**
 * struct rknpu_sched - the scheduler of one device
 *
 * Under rknpu_hw::lock, but for what says otherwise.
 */
struct rknpu_sched {
	/** @hw: hardware; does not change */
	struct rknpu_hw *hw;
	/** @mem: memory, for accounts of clients; does not change */
	struct rknpu_mem *mem;
	/** @rqs: by core */
	struct rknpu_runqueue rqs[RKNPU_MAX_CORES];
	/** @clients: all open ones and those with unfinished jobs */
	struct list_head clients;
	/** @users: by uid, those with clients, and those in debt; under @users_lock */
	struct xarray users;
	/** @users_lock: protects @users; taken when files are opened and clients freed */
	struct mutex users_lock;
	/** @held: users none of whose jobs may start */
	struct list_head held;
	/** @hold_work: ends that */
	struct delayed_work hold_work;
	/** @banned: clients whose queued jobs are to be ended */
	struct list_head banned;
	/** @ban_work: does that */
	struct work_struct ban_work;
	/**
	 * @gang: jobs that are about to start together, or NULL; compared with those of
	 * jobs, and valid while one of them is queued
	 */
	struct rknpu_gang *gang;
	/** @put_off: one that gathers again after @gang, which goes first, or NULL; as @gang */
	struct rknpu_gang *put_off;
	/** @anticipating: bit per core that is kept for a user, see rknpu_anticipate.c */
	u32 anticipating;
	/** @wake_ns: what powering up a core and attaching took lately; 0: not known */
	u64 wake_ns;
	/** @shared: of an IOMMU that serves all cores */
	struct {
		/** @shared.vm: whose time slice it is; compared, not followed */
		struct rknpu_vm *vm;
		/** @shared.start_ns: since when */
		u64 start_ns;
		/** @shared.last: the core that got the latest job, or NULL */
		struct rknpu_runqueue *last;
		/** @shared.charged_ns: until when their user is charged for what jobs run */
		u64 charged_ns;
		/**
		 * @shared.lost: out of service: a core that cannot be reset is behind it; read
		 * without the lock, too
		 */
		bool lost;
	} shared;
	/** @met: users with jobs that are over, for which others still wait; for @work */
	struct list_head met;
	/** @ready: users with jobs that wait for nothing any more, by turns; for @work */
	struct list_head ready;
	/** @ending: jobs that end without having run, with their cause; for @work */
	struct list_head ending;
	/**
	 * @wq: for @work, @hold_work and @ban_work; jobs end by it: it does not wait for memory.
	 * Does not change
	 */
	struct workqueue_struct *wq;
	/** @work: what is too much for an interrupt, or where fence locks may be held */
	struct work_struct work;
	/** @core_lost: a core is out of service for good; may sleep. Does not change */
	void (*core_lost)(struct rknpu_sched *sched);
	/** @losing: calls that, outside of all that fences wait for */
	struct work_struct losing;
	/**
	 * @sleeping: cores that system sleep has frozen, and those postponed; all are frozen, as
	 * long as there is one
	 */
	unsigned int sleeping;
	/** @suspending: system sleep has begun, and is not quite over */
	bool suspending;
	/** @gone: no job may start or be queued any more */
	bool gone;
	/** @rounds: calls of rknpu_sched_take_all() */
	u64 rounds;
	/** @dumps: of failures; see there */
	struct rknpu_dumps dumps;
};

/* What the scheduler knows of the core. */
static inline struct rknpu_runqueue *to_rknpu_runqueue(const struct rknpu_core *core)
{
	return core->priv;
}

#define rknpu_for_each_rq(rq, sched)							\
	for ((rq) = (sched)->rqs; (rq) < (sched)->rqs + RKNPU_MAX_CORES; (rq)++)

#endif
