/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the supplies of a core that its power domain does not switch. */
#ifndef __RKNPU_SUPPLY_H__
#define __RKNPU_SUPPLY_H__

struct rknpu_core;

/* Takes them until the core is unbound, and fills in rknpu_core::supply. */
int rknpu_supply_init(struct rknpu_core *core);

#endif
