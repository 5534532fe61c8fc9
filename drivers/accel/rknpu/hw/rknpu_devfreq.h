/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the devfreq device, by which tools see and choose the rate of the compute clock. */
#ifndef __RKNPU_DEVFREQ_H__
#define __RKNPU_DEVFREQ_H__

#include <linux/errno.h>
#include <linux/kconfig.h>

struct rknpu_hw;

#if IS_ENABLED(CONFIG_PM_DEVFREQ)

/* After rknpu_rate_start(), and before rknpu_rate_stop(). Without devfreq all else works. */
void rknpu_devfreq_start(struct rknpu_hw *hw);
void rknpu_devfreq_stop(struct rknpu_hw *hw);
/* What governor rknpu_ondemand runs at from now on. -EFAULT if the rate cannot be changed. */
int rknpu_devfreq_request(struct rknpu_hw *hw, unsigned long hz);

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

#endif

#endif
