// SPDX-License-Identifier: GPL-2.0-only
/* Owns waiting without sleeping: a caller looks at cores that are polled itself. */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>

#include "hw/rknpu_hw.h"
#include "hw/rknpu_poll.h"
#include "rknpu_params.h"
#include "rknpu_sched_types.h"
#include "rknpu_spin.h"

/* False: there is nothing to look at. */
static bool rknpu_spin_poll_all(struct rknpu_sched *sched)
{
	struct rknpu_core *core;
	bool running = false;

	rknpu_for_each_core(core, sched->hw) {
		if (READ_ONCE(core->polled))
			running |= rknpu_poll_once(core);
	}
	return running;
}

bool rknpu_spin_until(struct rknpu_sched *sched, s64 deadline_ns, bool (*over)(void *data),
		      void *data)
{
	unsigned int us = READ_ONCE(rknpu_params.spin_us);
	s64 until;

	/*
	 * Looking takes spinlocks with preemption off, see rknpu_poll_once(). With PREEMPT_RT
	 * these sleep, and the timer looks alone.
	 */
	if (!us || IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	until = min_t(s64, deadline_ns, ktime_get_ns() + (s64)us * NSEC_PER_USEC);
	while (!over(data)) {
		if (need_resched() || signal_pending(current) || (s64)ktime_get_ns() >= until ||
		    !rknpu_spin_poll_all(sched))
			return over(data);
		cpu_relax();
	}
	return true;
}
