/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of high resolution, which are made by one call since 6.13. */
#ifndef __RKNPU_COMPAT_HRTIMER_H__
#define __RKNPU_COMPAT_HRTIMER_H__

#ifndef RKNPU_HAVE_HRTIMER_SETUP

#include <linux/hrtimer.h>

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

#endif

#endif
