/* SPDX-License-Identifier: GPL-2.0-only */
/* Runtime PM, and the freezer of system sleep. */
#ifndef __RKNPU_COMPAT_PM_H__
#define __RKNPU_COMPAT_PM_H__

#include <linux/pm.h>
#include <linux/pm_runtime.h>

#ifndef RKNPU_HAVE_PM_GET_IF_ACTIVE_1

/* Before 6.9: also if nobody else uses it. */
#define pm_runtime_get_if_active(dev)	pm_runtime_get_if_active(dev, true)

#endif

#ifndef RKNPU_HAVE_PM_RUNTIME_ACQUIRE

/* Since 6.17 by itself, which is not to be seen; macros of 6.19 are. Twice does no harm. */
static inline int rknpu_compat_put_autosuspend(struct device *dev)
{
	pm_runtime_mark_last_busy(dev);
	return pm_runtime_put_autosuspend(dev);
}

#define pm_runtime_put_autosuspend	rknpu_compat_put_autosuspend

#endif

/* Power domains of the RK3588 switch the supply that their node names since 6.17, likewise. */
#ifdef RKNPU_HAVE_PM_RUNTIME_ACQUIRE
#define RKNPU_COMPAT_DOMAIN_SUPPLY	"domain-supply"
#else
#define RKNPU_COMPAT_DOMAIN_SUPPLY	""
#endif

#ifndef RKNPU_HAVE_RUNTIME_PM_OPS

#define SYSTEM_SLEEP_PM_OPS	SET_SYSTEM_SLEEP_PM_OPS
#define RUNTIME_PM_OPS		SET_RUNTIME_PM_OPS

#endif

#ifndef RKNPU_HAVE_TASK_FREEZABLE

/* Before 6.1 the freezer is told to do without a task, which freezes itself when it goes on. */
#include <linux/completion.h>
#include <linux/freezer.h>

#define TASK_FREEZABLE		0

#define wait_for_completion_state	rknpu_compat_wait_for_completion
static inline int rknpu_compat_wait_for_completion(struct completion *done, unsigned int state)
{
	int ret;

	freezer_do_not_count();
	ret = wait_for_completion_killable(done);
	freezer_count();
	return ret;
}

#endif

#endif
