/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns power in the vendor's DT shape: supplies, three power domains, and who needs them. */
#ifndef __RKNPU_DT_VENDOR_POWER_H__
#define __RKNPU_DT_VENDOR_POWER_H__

struct regulator;

/* At module load, before the NPU's driver is there. */
int rknpu_vdt_power_init(void);
void rknpu_vdt_power_exit(void);

/* The compute supply, to tell its voltage, or NULL. */
struct regulator *rknpu_vdt_power_supply(void);

#endif
