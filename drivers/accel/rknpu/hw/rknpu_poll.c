// SPDX-License-Identifier: GPL-2.0-only
/* Owns polling: a timer per core that looks whether a kick is over, where no interrupt tells. */
#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

#include "rknpu_hw.h"
#include "rknpu_poll.h"

/*
 * The pauses grow with the time that the kick has taken: what takes 1 ms is seen to
 * be over 1/8 ms after it is at the latest, for about 25 looks in all. The shortest
 * one is less than what a submit costs its client (27 to 51 us, measured by others
 * on boards).
 */
#define RKNPU_POLL_PART		8
#define RKNPU_POLL_MIN_NS	(20 * NSEC_PER_USEC)
#define RKNPU_POLL_MAX_NS	NSEC_PER_MSEC

static u64 rknpu_poll_pause(const struct rknpu_core *core)
{
	u64 elapsed = ktime_get_ns() - core->poll.since;

	return clamp_t(u64, elapsed / RKNPU_POLL_PART, RKNPU_POLL_MIN_NS, RKNPU_POLL_MAX_NS);
}

/* What ended may have been followed by another kick, which has started the timer itself. */
static enum hrtimer_restart rknpu_poll_timer(struct hrtimer *timer)
{
	struct rknpu_core *core = container_of(timer, struct rknpu_core, poll.timer);
	enum hrtimer_restart again = HRTIMER_NORESTART;
	unsigned long flags;

	if (!core->hw->ops->poll(core))
		return HRTIMER_NORESTART;

	spin_lock_irqsave(&core->hw->lock, flags);
	if (!hrtimer_is_queued(timer)) {
		hrtimer_set_expires(timer, ktime_add_ns(ktime_get(), rknpu_poll_pause(core)));
		again = HRTIMER_RESTART;
	}
	spin_unlock_irqrestore(&core->hw->lock, flags);
	return again;
}

void rknpu_poll_start(struct rknpu_core *core)
{
	lockdep_assert_held(&core->hw->lock);
	core->poll.since = ktime_get_ns();
	hrtimer_start(&core->poll.timer, ns_to_ktime(RKNPU_POLL_MIN_NS), HRTIMER_MODE_REL);
}

/* Not preempted, because rknpu_poll_sync() waits for it as for an interrupt handler. */
bool rknpu_poll_once(struct rknpu_core *core)
{
	bool running;

	preempt_disable();
	atomic_inc(&core->poll.looking);
	/* Before poll() looks: rknpu_poll_sync() sees that, or poll() sees what changed before. */
	smp_mb__after_atomic();
	running = core->hw->ops->poll(core);
	/* What poll() did comes first. */
	smp_mb__before_atomic();
	atomic_dec(&core->poll.looking);
	preempt_enable();
	return running;
}

void rknpu_poll_sync(struct rknpu_core *core)
{
	hrtimer_cancel(&core->poll.timer);
	/* See rknpu_poll_once(). */
	smp_mb();
	while (atomic_read(&core->poll.looking))
		cpu_relax();
}

void rknpu_poll_init(struct rknpu_core *core)
{
	hrtimer_setup(&core->poll.timer, rknpu_poll_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
