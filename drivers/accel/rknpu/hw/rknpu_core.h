/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns one core: registers, clocks, resets, interrupt line, runtime PM. */
#ifndef __RKNPU_CORE_H__
#define __RKNPU_CORE_H__

#include <linux/types.h>

struct device;
struct drm_device;
struct rknpu_core;
struct rknpu_hw;
struct rknpu_hw_ops;

/* Of a new device: everything but the SoC and what binding a core brings. */
void rknpu_hw_init(struct rknpu_hw *hw, struct drm_device *drm, const struct rknpu_hw_ops *ops);

/* Component bind and unbind. The core is out of the scheduler's hands in unbind. */
int rknpu_core_bind(struct rknpu_core *core, struct device *dev);
void rknpu_core_unbind(struct rknpu_core *core);
/* The last step, also of a bind that failed. */
void rknpu_core_forget_dev(struct rknpu_core *core);

/* What these consist of, for a device that is all cores. */
/* @suffix: follows the names that the chip's resets have in mainline's DT shape. */
int rknpu_core_get_resets(struct rknpu_core *core, const char *suffix);
/* The device of a power domain that @dev needs, until rknpu_core_forget_dev(). */
void rknpu_core_add_domain(struct rknpu_core *core, struct device *domain);
/* @irq: as platform_get_irq_optional() returns it. Without one the core is polled. */
int rknpu_core_set_irq(struct rknpu_core *core, int irq);
int rknpu_core_deassert(struct rknpu_core *core);
int rknpu_core_prepare(struct rknpu_core *core);
void rknpu_core_unprepare(struct rknpu_core *core);
/* Powers up for a moment, and lets the scheduler use the core. */
int rknpu_core_bring_up(struct rknpu_core *core);
/* Nothing can fault any more. */
void rknpu_core_free_irq(struct rknpu_core *core);
/* Powers @dev off and sets what its runtime PM callbacks work on. */
void rknpu_core_set_owner(struct device *dev, void *owner);
/* In between the device has no owner, and stays off; any of its cores. */
void rknpu_core_begin_unbind(struct rknpu_core *core);
void rknpu_core_end_unbind(struct device *dev);

/* Takes a runtime PM reference. Tries harder than runtime PM alone. */
int rknpu_core_power_on(struct rknpu_core *core);
/* The same for who does not need the core: also if it does not come up, or is out of service. */
void rknpu_core_keep_on(struct rknpu_core *core);

/* rknpu_hw::lock held: the line, which is the IOMMU's too, off. The handler may still run. */
void rknpu_core_mask_irq(struct rknpu_core *core);
/* Process context: the same, and nobody is handling it any more; and on again. */
void rknpu_core_disable_irq(struct rknpu_core *core);
void rknpu_core_enable_irq(struct rknpu_core *core);
/* Process context: whoever handled the line, or polled, is done. */
void rknpu_core_sync_irq(struct rknpu_core *core);
/*
 * After rknpu_core_disable_irq(), while the core asks for its interrupt: has that come as far as
 * the interrupt controller, and no CPU has taken it yet? False where that cannot tell.
 */
bool rknpu_core_irq_waits(const struct rknpu_core *core);

/*
 * Powered, and with the attach_lock held if a domain may be attached. Returns 0
 * only if the registers show that the reset took.
 */
int rknpu_core_reset(struct rknpu_core *core);
/* The same, taking the lock; not while its IOMMU is being programmed. */
int rknpu_core_reset_locked(struct rknpu_core *core);
/*
 * The same without the lock, while a job is on the core and the line is off; then
 * the core is parked. Fails for a core behind a shared IOMMU.
 */
int rknpu_core_stop(struct rknpu_core *core);
/* It accesses nothing from then on: it was reset, or if that does not help is held in reset. */
void rknpu_core_park(struct rknpu_core *core);
/*
 * The power of a parked core goes off for good, with that of all behind a shared
 * IOMMU, which must be parked too. Nobody needs to stay in reset then. Detached.
 */
void rknpu_core_retire(struct rknpu_core *core);
/*
 * With a power reference of the caller's, who keeps it: off and on again, as far
 * as other cores allow. Detached meanwhile, without asking anything of an IOMMU
 * that may not answer. One that is parked may be asleep before.
 */
int rknpu_core_power_cycle(struct rknpu_core *core);

/* For the driver's dev_pm_ops. */
int rknpu_core_runtime_suspend(struct rknpu_core *core);
int rknpu_core_runtime_resume(struct rknpu_core *core);

#endif
