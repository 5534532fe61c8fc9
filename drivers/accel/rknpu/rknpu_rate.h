/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the rate of the compute clock, which all cores share. */
#ifndef __RKNPU_RATE_H__
#define __RKNPU_RATE_H__

#include <linux/mutex.h>
#include <linux/types.h>

struct clk;
struct device;
struct rknpu_device;

/**
 * struct rknpu_rate - the compute clock
 * @lock: protects the rest
 * @dev: whose operating points count: the first core's or the node's; NULL while
 *	the rate is nobody's business
 * @clk: the clock
 * @powered: cores that are
 * @scales: the device tree has operating points, so the rate may be changed
 * @opp_config: of the OPP core, to undo
 * @hz: rate as last read
 * @wanted: the operating point to run at, if @scales
 * @parked: rate to leave the clock at when the power goes off
 *
 * Rates above 200 MHz come from an oscillator inside the power domain. Firmware
 * that is asked for one while the domain is off hangs, and so it may, on some
 * boards, when it is only asked what the rate is. So the clock is not touched
 * unless a core is powered: then the domain, which is the first core's and the
 * parent of the others', is on.
 */
struct rknpu_rate {
	struct mutex lock; /* protects the rest */
	struct device *dev;
	struct clk *clk;
	unsigned int powered;
	bool scales;
	int opp_config;
	unsigned long hz;
	unsigned long wanted;
	unsigned long parked;
};

void rknpu_rate_init_static(struct rknpu_device *rdev);

/* All cores are bound, and before the first one is unbound. */
void rknpu_rate_start(struct rknpu_device *rdev);
void rknpu_rate_stop(struct rknpu_device *rdev);

/* A core has come up, and is about to go down; its clocks are on. */
void rknpu_rate_power_up(struct rknpu_device *rdev);
void rknpu_rate_power_down(struct rknpu_device *rdev);

bool rknpu_rate_scales(struct rknpu_device *rdev);
/* Hz: what it is, or will be when a core is powered. 0 before start. */
unsigned long rknpu_rate_get(struct rknpu_device *rdev);
/*
 * An operating point. At once, or when a core is powered; then errors are only
 * logged. Does nothing if there is nothing to choose: governors ask regularly.
 */
int rknpu_rate_set(struct rknpu_device *rdev, unsigned long hz);

#endif
