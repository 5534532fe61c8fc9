/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels before 6.0, where operating points are configured in other ways: there the rate stays.
 * Rockchip's 6.1, which has a helper for what its tables have beyond mainline's: rockchip_opp.c.
 */
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

#ifdef RKNPU_HAVE_ROCKCHIP_OPP

#include <linux/pm_opp.h>

bool rknpu_compat_knows_opps(struct device *dev);
int rknpu_compat_opp_set_config(struct device *dev, struct dev_pm_opp_config *config);
void rknpu_compat_opp_clear_config(int token);
int rknpu_compat_opp_of_add_table(struct device *dev);
int rknpu_compat_opp_get_supplies(struct dev_pm_opp *opp, struct dev_pm_opp_supply *supplies);
int rknpu_compat_opp_set_rate(struct device *dev, unsigned long hz);
void rknpu_compat_opp_power_up(struct device *dev);

#define dev_pm_opp_set_config	rknpu_compat_opp_set_config
#define dev_pm_opp_clear_config	rknpu_compat_opp_clear_config
#define dev_pm_opp_of_add_table	rknpu_compat_opp_of_add_table
#define dev_pm_opp_get_supplies	rknpu_compat_opp_get_supplies
#define dev_pm_opp_set_rate	rknpu_compat_opp_set_rate

/* @has: a table has what only Rockchip's helper knows. */
#define RKNPU_COMPAT_OPPS_UNKNOWN(has, dev)	(has(dev) && !rknpu_compat_knows_opps(dev))

/* The first core has come up: what goes with the voltage was lost with the power. */
#define RKNPU_COMPAT_OPP_POWER_UP(dev)	rknpu_compat_opp_power_up(dev)

#else

#define RKNPU_COMPAT_OPPS_UNKNOWN(has, dev)	has(dev)

#define RKNPU_COMPAT_OPP_POWER_UP(dev)	((void)(dev))

#endif

#endif
