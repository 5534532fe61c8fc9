/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the power of the vendor's node: supplies, three power domains, and who needs them. */
#ifndef __RKNPU_NODE_POWER_H__
#define __RKNPU_NODE_POWER_H__

struct regulator;

/* At module load, before the node's driver is there. */
int rknpu_node_power_init(void);
void rknpu_node_power_exit(void);

/* The compute supply, to tell its voltage, or NULL. */
struct regulator *rknpu_node_power_supply(void);

#endif
