// SPDX-License-Identifier: GPL-2.0-only
/* Owns the devfreq device: how the compute clock follows load, requests and heat. */
#include <linux/cleanup.h>
#include <linux/devfreq.h>
#include <linux/devfreq-governor.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/pm_opp.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

#include "rknpu_hw.h"
#include "rknpu_devfreq.h"
#include "rknpu_rate.h"

/**
 * DOC: the clock follows load
 *
 * Governor rknpu_ondemand, the default one, has the name of the vendor's. Cores that
 * wake up start at the highest rate that limits permit, as do cores that have been
 * awake with nothing to do (rknpu_rate::idle) when a job starts. Every 50 ms it then
 * looks how busy the busiest core was, and lowers the rate or raises it. A rate that
 * was asked for (rknpu_devfreq_request(): the vendor's file "freq") is kept instead,
 * until 0 is asked for, another governor is chosen, or the device is bound anew.
 * Limits, of users and of thermal zones, count in either case.
 *
 * Nothing polls while all cores sleep. The clock is parked then (rknpu_rate_power_down()),
 * devfreq is told the lowest operating point, and rknpu_rate::wanted is what the cores
 * will wake up at.
 *
 * Locks: devfreq's list of devices, rknpu_devfreq_lock, devfreq::lock, rknpu_rate::lock,
 * rknpu_hw::lock. The second and the third are taken on the way to power and back, so nobody
 * waits for power who holds one of the first three.
 */

/* As the vendor's driver; governors that look at the load do it this often. */
#define RKNPU_DEVFREQ_POLL_MS	50

/* Limits can change at any time; a look at the load that short says nothing. */
#define RKNPU_DEVFREQ_MIN_LOOK_NS	(20ULL * NSEC_PER_MSEC)

/* Busy percent: above the first one as fast as possible, below the second one slower. */
#define RKNPU_DEVFREQ_UP		90
#define RKNPU_DEVFREQ_DOWN		85

/*
 * There is one NPU, and devfreq's callbacks know only the device of a core, or of
 * all of them. These do not change while there is a devfreq device.
 */
static struct rknpu_hw *rknpu_devfreq_hw;
static bool rknpu_devfreq_has_governor;

/* Protects the next two. */
static DEFINE_MUTEX(rknpu_devfreq_lock);
static struct devfreq *rknpu_devfreq;
/* Devfreq is not suspended by us. */
static bool rknpu_devfreq_awake;

/* Our governor has the device. */
static bool rknpu_devfreq_governs;
/* Under devfreq::lock: Hz, or 0. */
static unsigned long rknpu_devfreq_requested;
/* Under devfreq::lock: what the load asked for last, before limits. */
static unsigned long rknpu_devfreq_desired;
/* The next update raises the rate. */
static bool rknpu_devfreq_roused;

/* The last look at the load, and how long each core had run jobs then. */
static u64 rknpu_devfreq_seen_ns;
static u64 rknpu_devfreq_seen_busy[RKNPU_MAX_CORES];

static bool rknpu_devfreq_follows(void)
{
	return rknpu_devfreq_governs && !rknpu_devfreq_requested;
}

static void rknpu_devfreq_set_idle(struct rknpu_hw *hw, bool idle)
{
	guard(spinlock_irq)(&hw->lock);
	hw->rate.idle = idle;
}

static int rknpu_devfreq_target(struct device *dev, unsigned long *freq, u32 flags)
{
	struct dev_pm_opp *opp = devfreq_recommended_opp(dev, freq, flags);

	if (IS_ERR(opp))
		return PTR_ERR(opp);
	dev_pm_opp_put(opp);
	if (rknpu_devfreq_follows() && rknpu_rate_set_for_wake(rknpu_devfreq_hw, freq))
		return 0;
	return rknpu_rate_set(rknpu_devfreq_hw, *freq);
}

static int rknpu_devfreq_get_cur_freq(struct device *dev, unsigned long *freq)
{
	struct dev_pm_opp *opp;

	*freq = rknpu_rate_get(rknpu_devfreq_hw);
	/* Firmware may have rounded it; devfreq warns of what is no operating point. */
	opp = devfreq_recommended_opp(dev, freq, 0);
	if (!IS_ERR(opp))
		dev_pm_opp_put(opp);
	return 0;
}

/* Returns ns since the last look. The clock has to be fast enough for the busiest core. */
static u64 rknpu_devfreq_sample(struct rknpu_hw *hw, u64 *busiest)
{
	u64 now = ktime_get_ns(), total = now - rknpu_devfreq_seen_ns, busy;
	unsigned int i;

	*busiest = 0;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (!hw->cores[i].dev)
			continue;
		busy = hw->ops->busy_ns(&hw->cores[i]);
		*busiest = max(*busiest, busy - rknpu_devfreq_seen_busy[i]);
		rknpu_devfreq_seen_busy[i] = busy;
	}
	rknpu_devfreq_seen_ns = now;
	return total;
}

static int rknpu_devfreq_get_status(struct device *dev, struct devfreq_dev_status *status)
{
	u64 busy, total = rknpu_devfreq_sample(rknpu_devfreq_hw, &busy);

	status->total_time = div_u64(total, NSEC_PER_USEC);
	status->busy_time = min_t(u64, div_u64(busy, NSEC_PER_USEC), status->total_time);
	status->current_frequency = rknpu_rate_get(rknpu_devfreq_hw);
	return 0;
}

/* Devfreq may look at it as long as somebody holds its device, even if the NPU is gone. */
static struct devfreq_dev_profile rknpu_devfreq_profile = {
	.polling_ms = RKNPU_DEVFREQ_POLL_MS,
	.timer = DEVFREQ_TIMER_DELAYED,
	.target = rknpu_devfreq_target,
	.get_dev_status = rknpu_devfreq_get_status,
	.get_cur_freq = rknpu_devfreq_get_cur_freq,
};

/* The rate at which the load that there was would have been between the two thresholds. */
static unsigned long rknpu_devfreq_fit(const struct devfreq_dev_status *status)
{
	unsigned long percent = status->busy_time * 100 / max(status->total_time, 1ul);

	if (percent > RKNPU_DEVFREQ_UP)
		return ULONG_MAX;
	if (percent > RKNPU_DEVFREQ_DOWN)
		return status->current_frequency;
	return status->current_frequency / RKNPU_DEVFREQ_DOWN * percent;
}

static unsigned long rknpu_devfreq_follow(struct devfreq *devfreq)
{
	struct rknpu_hw *hw = rknpu_devfreq_hw;
	u64 unused;

	if (xchg(&rknpu_devfreq_roused, false) || !rknpu_rate_is_powered(hw)) {
		rknpu_devfreq_sample(hw, &unused);
		rknpu_devfreq_desired = ULONG_MAX;
	} else if (ktime_get_ns() - rknpu_devfreq_seen_ns >= RKNPU_DEVFREQ_MIN_LOOK_NS) {
		devfreq_update_stats(devfreq);
		rknpu_devfreq_desired = rknpu_devfreq_fit(&devfreq->last_status);
		rknpu_devfreq_set_idle(hw, !devfreq->last_status.busy_time);
	}
	return rknpu_devfreq_desired;
}

static int rknpu_devfreq_governor_target(struct devfreq *devfreq, unsigned long *freq)
{
	if (devfreq->profile != &rknpu_devfreq_profile)
		*freq = devfreq->previous_freq;
	else
		*freq = rknpu_devfreq_requested ?: rknpu_devfreq_follow(devfreq);
	return 0;
}

/* What was chosen before stays until the first look, or the first job. */
static void rknpu_devfreq_governor_start(struct devfreq *devfreq)
{
	bool awake;

	guard(mutex)(&rknpu_devfreq_lock);
	awake = rknpu_devfreq_awake;

	rknpu_devfreq_requested = 0;
	rknpu_devfreq_desired = devfreq->previous_freq;
	rknpu_devfreq_governs = true;
	rknpu_devfreq_set_idle(rknpu_devfreq_hw, awake);
	devfreq_monitor_start(devfreq);
	if (!awake)
		devfreq_monitor_suspend(devfreq);
}

static void rknpu_devfreq_governor_stop(struct devfreq *devfreq)
{
	devfreq_monitor_stop(devfreq);
	rknpu_devfreq_governs = false;
	rknpu_devfreq_set_idle(rknpu_devfreq_hw, false);
}

static int rknpu_devfreq_governor_event(struct devfreq *devfreq, unsigned int event, void *data)
{
	/* Where there is nothing to choose nobody looks. */
	if (devfreq->profile != &rknpu_devfreq_profile || !rknpu_rate_scales(rknpu_devfreq_hw))
		return 0;
	switch (event) {
	case DEVFREQ_GOV_START:
		rknpu_devfreq_governor_start(devfreq);
		break;
	case DEVFREQ_GOV_STOP:
		rknpu_devfreq_governor_stop(devfreq);
		break;
	case DEVFREQ_GOV_UPDATE_INTERVAL:
		devfreq_update_interval(devfreq, data);
		break;
	case DEVFREQ_GOV_SUSPEND:
		devfreq_monitor_suspend(devfreq);
		break;
	case DEVFREQ_GOV_RESUME:
		devfreq_monitor_resume(devfreq);
		break;
	}
	return 0;
}

static struct devfreq_governor rknpu_devfreq_governor = {
	.name = "rknpu_ondemand",
	.attrs = DEVFREQ_GOV_ATTR_POLLING_INTERVAL,
	.get_target_freq = rknpu_devfreq_governor_target,
	.event_handler = rknpu_devfreq_governor_event,
};

static int rknpu_devfreq_update(struct devfreq *devfreq)
{
	guard(mutex)(&devfreq->lock);
	return update_devfreq(devfreq);
}

static void rknpu_devfreq_leave_idle_work(struct work_struct *work)
{
	guard(mutex)(&rknpu_devfreq_lock);
	WRITE_ONCE(rknpu_devfreq_roused, true);
	if (rknpu_devfreq)
		rknpu_devfreq_update(rknpu_devfreq);
}

static DECLARE_WORK(rknpu_devfreq_leaving_idle, rknpu_devfreq_leave_idle_work);

void rknpu_devfreq_leave_idle(struct rknpu_hw *hw)
{
	lockdep_assert_held(&hw->lock);
	hw->rate.idle = false;
	queue_work(system_highpri_wq, &rknpu_devfreq_leaving_idle);
}

static void rknpu_devfreq_sleep(struct rknpu_hw *hw)
{
	devfreq_suspend_device(rknpu_devfreq);
	rknpu_devfreq_set_idle(hw, false);
	if (rknpu_devfreq_follows())
		rknpu_devfreq_update(rknpu_devfreq);
}

static void rknpu_devfreq_wake(struct rknpu_hw *hw)
{
	u64 unused;

	scoped_guard(mutex, &rknpu_devfreq->lock) {
		rknpu_devfreq_sample(hw, &unused);
		rknpu_devfreq_desired = ULONG_MAX;
	}
	devfreq_resume_device(rknpu_devfreq);
}

void rknpu_devfreq_power_changed(struct rknpu_hw *hw)
{
	bool awake;

	guard(mutex)(&rknpu_devfreq_lock);
	/* Not what the caller did: another core may have been faster. */
	awake = rknpu_rate_is_powered(hw);
	if (!rknpu_devfreq || awake == rknpu_devfreq_awake)
		return;
	WRITE_ONCE(rknpu_devfreq_awake, awake);
	if (awake)
		rknpu_devfreq_wake(hw);
	else
		rknpu_devfreq_sleep(hw);
}

/* Devfreq needs operating points, even if there is nothing to choose. */
static int rknpu_devfreq_add_only_opp(struct rknpu_hw *hw)
{
	if (rknpu_rate_scales(hw))
		return 0;
	return dev_pm_opp_add(hw->rate.dev, rknpu_devfreq_profile.initial_freq, 0);
}

static void rknpu_devfreq_remove_only_opp(struct rknpu_hw *hw)
{
	if (!rknpu_rate_scales(hw))
		dev_pm_opp_remove_all_dynamic(hw->rate.dev);
}

static int rknpu_devfreq_add(struct rknpu_hw *hw)
{
	struct devfreq *devfreq;
	int ret;

	ret = rknpu_devfreq_add_only_opp(hw);
	if (ret)
		return ret;
	devfreq = devfreq_add_device(hw->rate.dev, &rknpu_devfreq_profile,
				     rknpu_devfreq_governor.name, NULL);
	if (IS_ERR(devfreq)) {
		rknpu_devfreq_remove_only_opp(hw);
		return PTR_ERR(devfreq);
	}
	scoped_guard(mutex, &rknpu_devfreq_lock)
		rknpu_devfreq = devfreq;
	rknpu_devfreq_power_changed(hw);
	return 0;
}

void rknpu_devfreq_start(struct rknpu_hw *hw)
{
	u64 unused;
	int ret;

	rknpu_devfreq_hw = hw;
	rknpu_devfreq_awake = true;
	rknpu_devfreq_profile.initial_freq = rknpu_rate_get(hw);
	if (!rknpu_devfreq_profile.initial_freq)
		return;
	RKNPU_COMPAT_SET_COOLING(&rknpu_devfreq_profile, rknpu_rate_scales(hw));
	rknpu_devfreq_sample(hw, &unused);

	ret = devfreq_add_governor(&rknpu_devfreq_governor);
	rknpu_devfreq_has_governor = !ret;
	if (!ret)
		ret = rknpu_devfreq_add(hw);
	/* What an old kernel has no means for is no fault. */
	if (ret && ret != -EOPNOTSUPP)
		dev_warn(hw->rate.dev, "no devfreq device: %d\n", ret);
}

static struct devfreq *rknpu_devfreq_take(void)
{
	struct devfreq *devfreq;

	guard(mutex)(&rknpu_devfreq_lock);
	devfreq = rknpu_devfreq;
	rknpu_devfreq = NULL;
	return devfreq;
}

void rknpu_devfreq_stop(struct rknpu_hw *hw)
{
	struct devfreq *devfreq = rknpu_devfreq_take();

	if (devfreq) {
		devfreq_remove_device(devfreq);
		rknpu_devfreq_remove_only_opp(hw);
	}
	if (rknpu_devfreq_has_governor)
		devfreq_remove_governor(&rknpu_devfreq_governor);
	rknpu_devfreq_has_governor = false;
	/* Nobody sets it any more. */
	rknpu_devfreq_set_idle(hw, false);
	cancel_work_sync(&rknpu_devfreq_leaving_idle);
	rknpu_devfreq_hw = NULL;
}

int rknpu_devfreq_request(struct rknpu_hw *hw, unsigned long hz)
{
	guard(mutex)(&rknpu_devfreq_lock);
	if (!rknpu_devfreq || !rknpu_rate_scales(hw))
		return -EFAULT;
	guard(mutex)(&rknpu_devfreq->lock);
	rknpu_devfreq_requested = hz;
	rknpu_devfreq_set_idle(hw, false);
	/* Without a request: up, and down again if there is no load. */
	WRITE_ONCE(rknpu_devfreq_roused, !hz);
	return update_devfreq(rknpu_devfreq);
}
