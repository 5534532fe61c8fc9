// SPDX-License-Identifier: GPL-2.0-only
/* Owns the devfreq device, by which tools see and choose the rate of the compute clock. */
#include <linux/devfreq.h>
#include <linux/devfreq-governor.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/pm_opp.h>

#include "rknpu_hw.h"
#include "rknpu_devfreq.h"
#include "rknpu_rate.h"

/* As the vendor's driver; governors that look at the load do it this often. */
#define RKNPU_DEVFREQ_POLL_MS	50

/*
 * There is one NPU, and devfreq's callbacks know only the device of a core, or of
 * all of them. These do not change while there is a devfreq device.
 */
static struct rknpu_hw *rknpu_devfreq_hw;
static struct devfreq *rknpu_devfreq;
/* Under devfreq::lock. */
static unsigned long rknpu_devfreq_requested;
static bool rknpu_devfreq_has_governor;

static int rknpu_devfreq_target(struct device *dev, unsigned long *freq, u32 flags)
{
	struct dev_pm_opp *opp = devfreq_recommended_opp(dev, freq, flags);

	/* In no test: devfreq asks only where there are operating points. */
	if (IS_ERR(opp))
		return PTR_ERR(opp);
	dev_pm_opp_put(opp);
	return rknpu_rate_set(rknpu_devfreq_hw, *freq);
}

static int rknpu_devfreq_get_cur_freq(struct device *dev, unsigned long *freq)
{
	*freq = rknpu_rate_get(rknpu_devfreq_hw);
	return 0;
}

/* The clock has to be fast enough for the busiest core. */
static int rknpu_devfreq_get_status(struct device *dev, struct devfreq_dev_status *status)
{
	struct rknpu_hw *hw = rknpu_devfreq_hw;
	unsigned int i;

	status->total_time = 100;
	status->busy_time = 0;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (hw->cores[i].dev)
			status->busy_time = max_t(unsigned long, status->busy_time,
						  hw->ops->busy_percent(&hw->cores[i]));
	}
	status->current_frequency = rknpu_rate_get(hw);
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

/*
 * The vendor's governor, by its name: it keeps the rate that was asked for last.
 * Debian's kernels have none built in that leaves the rate alone.
 */
static int rknpu_devfreq_governor_target(struct devfreq *devfreq, unsigned long *freq)
{
	*freq = devfreq->profile == &rknpu_devfreq_profile ? rknpu_devfreq_requested :
							     devfreq->previous_freq;
	return 0;
}

static int rknpu_devfreq_governor_event(struct devfreq *devfreq, unsigned int event, void *data)
{
	/* What another governor has chosen stays. */
	if (event == DEVFREQ_GOV_START && devfreq->profile == &rknpu_devfreq_profile)
		rknpu_devfreq_requested = devfreq->previous_freq;
	return 0;
}

static struct devfreq_governor rknpu_devfreq_governor = {
	.name = "rknpu_ondemand",
	.get_target_freq = rknpu_devfreq_governor_target,
	.event_handler = rknpu_devfreq_governor_event,
};

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
	/* In no test: without memory, devfreq_add_device() itself crashes (7.3.4). */
	if (IS_ERR(devfreq)) {
		rknpu_devfreq_remove_only_opp(hw);
		return PTR_ERR(devfreq);
	}
	rknpu_devfreq = devfreq;
	return 0;
}

void rknpu_devfreq_start(struct rknpu_hw *hw)
{
	int ret;

	rknpu_devfreq_hw = hw;
	rknpu_devfreq_profile.initial_freq = rknpu_rate_get(hw);
	if (!rknpu_devfreq_profile.initial_freq)
		return;

	ret = devfreq_add_governor(&rknpu_devfreq_governor);
	rknpu_devfreq_has_governor = !ret;
	if (!ret)
		ret = rknpu_devfreq_add(hw);
	/* What an old kernel has no means for is no fault. */
	if (ret && ret != -EOPNOTSUPP)
		dev_warn(hw->rate.dev, "no devfreq device: %d\n", ret);
}

void rknpu_devfreq_stop(struct rknpu_hw *hw)
{
	if (rknpu_devfreq) {
		devfreq_remove_device(rknpu_devfreq);
		rknpu_devfreq_remove_only_opp(hw);
		rknpu_devfreq = NULL;
	}
	if (rknpu_devfreq_has_governor)
		devfreq_remove_governor(&rknpu_devfreq_governor);
	rknpu_devfreq_has_governor = false;
	rknpu_devfreq_hw = NULL;
}

int rknpu_devfreq_request(struct rknpu_hw *hw, unsigned long hz)
{
	int ret;

	if (!rknpu_devfreq || !rknpu_rate_scales(hw))
		return -EFAULT;
	mutex_lock(&rknpu_devfreq->lock);
	rknpu_devfreq_requested = hz;
	ret = update_devfreq(rknpu_devfreq);
	mutex_unlock(&rknpu_devfreq->lock);
	return ret;
}
