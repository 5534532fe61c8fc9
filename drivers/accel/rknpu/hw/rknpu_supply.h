/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the supplies of mainline's cores that their power domain does not switch. */
#ifndef __RKNPU_SUPPLY_H__
#define __RKNPU_SUPPLY_H__

struct device;

/* Holds them until @facade is unbound; before there is a driver for the cores. */
int rknpu_supply_get(struct device *facade);

#endif
