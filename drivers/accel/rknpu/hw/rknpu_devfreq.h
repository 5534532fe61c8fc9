/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the devfreq device: how the compute clock follows load, requests and heat. */
#ifndef __RKNPU_DEVFREQ_H__
#define __RKNPU_DEVFREQ_H__

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kconfig.h>

#include "rknpu_hw.h"

#if IS_ENABLED(CONFIG_PM_DEVFREQ)

/* After rknpu_rate_start(), and before rknpu_rate_stop(). Without devfreq all else works. */
void rknpu_devfreq_start(struct rknpu_hw *hw);
void rknpu_devfreq_stop(struct rknpu_hw *hw);
/*
 * What governor rknpu_ondemand runs at from now on; 0: what the load asks for, again.
 * -EFAULT if the rate cannot be changed.
 */
int rknpu_devfreq_request(struct rknpu_hw *hw, unsigned long hz);
/* After rknpu_rate_power_up() and rknpu_rate_power_down(): nothing polls a NPU that sleeps. */
void rknpu_devfreq_power_changed(struct rknpu_hw *hw);
/* With rknpu_hw::lock: rknpu_rate::idle is over. */
void rknpu_devfreq_leave_idle(struct rknpu_hw *hw);

#else

static inline void rknpu_devfreq_start(struct rknpu_hw *hw)
{
}

static inline void rknpu_devfreq_stop(struct rknpu_hw *hw)
{
}

static inline int rknpu_devfreq_request(struct rknpu_hw *hw, unsigned long hz)
{
	return -EFAULT;
}

static inline void rknpu_devfreq_power_changed(struct rknpu_hw *hw)
{
}

static inline void rknpu_devfreq_leave_idle(struct rknpu_hw *hw)
{
}

#endif

/* With rknpu_hw::lock, for each job that starts. */
static inline void rknpu_devfreq_job_starts(struct rknpu_hw *hw)
{
	if (unlikely(hw->rate.idle))
		rknpu_devfreq_leave_idle(hw);
}

#endif
