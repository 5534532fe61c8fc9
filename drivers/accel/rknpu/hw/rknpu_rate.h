/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the rate of the compute clock, which is that of all cores. */
#ifndef __RKNPU_RATE_H__
#define __RKNPU_RATE_H__

#include <linux/types.h>

struct rknpu_hw;

void rknpu_rate_init_static(struct rknpu_hw *hw);

/*
 * All cores are bound, and before the first one is unbound. -EPROBE_DEFER: a supply is not there
 * yet.
 */
int rknpu_rate_start(struct rknpu_hw *hw);
void rknpu_rate_stop(struct rknpu_hw *hw);

/* A core has come up, and is about to go down; its clocks are on. */
void rknpu_rate_power_up(struct rknpu_hw *hw);
void rknpu_rate_power_down(struct rknpu_hw *hw);

bool rknpu_rate_scales(struct rknpu_hw *hw);
bool rknpu_rate_is_powered(struct rknpu_hw *hw);
/*
 * Hz: what it is, or will be when a core is powered (but see below), as far as is known; 0 before
 * start. Nobody else changes it where there are operating points.
 */
unsigned long rknpu_rate_get(struct rknpu_hw *hw);
/*
 * For user space: the same, and microvolts, of a moment ago; others may have changed them. They
 * wait for a worker. -ENODEV: there is no supply.
 */
unsigned long rknpu_rate_ask(struct rknpu_hw *hw);
int rknpu_rate_ask_uv(struct rknpu_hw *hw);
/* Hz: the highest one that it may have. 0: not known. */
unsigned long rknpu_rate_max(struct rknpu_hw *hw);
/*
 * An operating point. At once, or when a core is powered; then errors are only
 * logged. Does nothing if there is nothing to choose: governors ask regularly.
 */
int rknpu_rate_set(struct rknpu_hw *hw, unsigned long hz);
/*
 * While no core is powered: cores will wake up at @hz, and until then the lowest
 * operating point is told, to which @hz changes. False: one is powered.
 */
bool rknpu_rate_set_for_wake(struct rknpu_hw *hw, unsigned long *hz);

#endif
