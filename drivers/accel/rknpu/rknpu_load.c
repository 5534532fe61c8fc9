// SPDX-License-Identifier: GPL-2.0-only
/* Owns how busy each core was in the last full second. */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "rknpu_core.h"
#include "rknpu_device.h"
#include "rknpu_load.h"

void rknpu_load_init(struct rknpu_load *load)
{
	spin_lock_init(&load->lock);
}

/* What of [start, end) is in the given second. */
static u64 rknpu_load_overlap(u64 start, u64 end, u64 second)
{
	u64 from = max(start, second * NSEC_PER_SEC);
	u64 to = min(end, (second + 1) * NSEC_PER_SEC);

	return from < to ? to - from : 0;
}

void rknpu_load_add(struct rknpu_load *load, u64 start_ns, u64 end_ns)
{
	u64 second = div_u64(end_ns, NSEC_PER_SEC);
	unsigned long flags;

	spin_lock_irqsave(&load->lock, flags);
	if (second > load->second) {
		load->before = second == load->second + 1 ? load->busy : 0;
		load->busy = 0;
		load->second = second;
	}
	/* Ends can be reported a little out of order. */
	load->busy += rknpu_load_overlap(start_ns, end_ns, load->second);
	if (load->second)
		load->before += rknpu_load_overlap(start_ns, end_ns, load->second - 1);
	spin_unlock_irqrestore(&load->lock, flags);
}

static u64 rknpu_load_finished(struct rknpu_load *load, u64 second)
{
	unsigned long flags;
	u64 busy = 0;

	spin_lock_irqsave(&load->lock, flags);
	if (load->second == second)
		busy = load->busy;
	else if (load->second == second + 1)
		busy = load->before;
	spin_unlock_irqrestore(&load->lock, flags);
	return busy;
}

static u64 rknpu_load_running(struct rknpu_core *core, u64 second)
{
	unsigned long flags;
	u64 busy = 0;

	spin_lock_irqsave(&core->rdev->lock, flags);
	if (core->job && core->job->start_ns)
		busy = rknpu_load_overlap(core->job->start_ns, U64_MAX, second);
	spin_unlock_irqrestore(&core->rdev->lock, flags);
	return busy;
}

unsigned int rknpu_load_percent(struct rknpu_core *core)
{
	u64 now = div_u64(ktime_get_ns(), NSEC_PER_SEC);
	u64 busy;

	if (!now)
		return 0;
	busy = rknpu_load_finished(&core->load, now - 1) + rknpu_load_running(core, now - 1);
	return min_t(u64, div_u64(busy, NSEC_PER_SEC / 100), 100);
}
