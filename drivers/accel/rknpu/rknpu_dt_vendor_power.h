/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns power in the vendor's DT shape: supplies, three power domains, and who needs them. */
#ifndef __RKNPU_DT_VENDOR_POWER_H__
#define __RKNPU_DT_VENDOR_POWER_H__

struct device;
struct regulator;
struct rknpu_core;

/*
 * In the facade's probe, before the NPU's driver is there. Devres of @facade gives
 * it all back, which must be after that driver has gone. -EPROBE_DEFER: a supply
 * or a domain is not there yet.
 */
int rknpu_vdt_power_get(struct device *facade);

/* The compute supply, to tell its voltage, or NULL. */
struct regulator *rknpu_vdt_power_supply(struct device *facade);

/* Tells each of @count cores its power domains. */
void rknpu_vdt_power_tell(struct device *facade, struct rknpu_core *cores, unsigned int count);

#endif
