/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels before 6.0, where operating points are configured in other ways: there the rate stays. */
#ifndef __RKNPU_COMPAT_OPP_H__
#define __RKNPU_COMPAT_OPP_H__

#ifndef RKNPU_HAVE_OPP_CONFIG

#include <linux/errno.h>
#include <linux/pm_opp.h>

struct regulator;

struct dev_pm_opp_config {
	const char * const *clk_names;
	const char * const *regulator_names;
	int (*config_regulators)(struct device *dev, struct dev_pm_opp *old_opp,
				 struct dev_pm_opp *new_opp, struct regulator **regulators,
				 unsigned int count);
};

/* As if there were no operating points. */
static inline int dev_pm_opp_set_config(struct device *dev, struct dev_pm_opp_config *config)
{
	return -ENODEV;
}

static inline void dev_pm_opp_clear_config(int token)
{
}

static inline int dev_pm_opp_get_supplies(struct dev_pm_opp *opp,
					  struct dev_pm_opp_supply *supplies)
{
	return -ENODEV;
}

#endif

#endif
