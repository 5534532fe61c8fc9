/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the aggregate device: all cores of the NPU behind two drm_devices, one for each uAPI. */
#ifndef __RKNPU_DEVICE_H__
#define __RKNPU_DEVICE_H__

#include <linux/notifier.h>

#include <drm/drm_device.h>

#include "hw/rknpu_hw.h"
#include "mem/rknpu_account.h"
#include "sched/rknpu_sched_types.h"

struct rknpu_vendor;

/**
 * struct rknpu_device - freed with the last reference on @accel
 */
struct rknpu_device {
	/**
	 * @accel: the drm_device of the rocket uAPI; its parent is the facade platform
	 * device, which has no IOMMU and is what BO pages are DMA-mapped for
	 */
	struct drm_device accel;
	/** @vendor: the vendor's uAPI, with the other drm_device, or NULL */
	struct rknpu_vendor *vendor;
	/** @hw: cores, IOMMUs, the lock */
	struct rknpu_hw hw;
	/** @mem: memory of BOs */
	struct rknpu_mem mem;
	/** @sched: clients and run queues */
	struct rknpu_sched sched;
	/** @sleep_nb: while published, is told of system sleep */
	struct notifier_block sleep_nb;
};

static inline struct rknpu_device *to_rknpu_device(struct drm_device *drm)
{
	return container_of(drm, struct rknpu_device, accel);
}

static inline struct rknpu_device *hw_to_rknpu_device(struct rknpu_hw *hw)
{
	return container_of(hw, struct rknpu_device, hw);
}

/* Devres of @dev holds the reference that is returned. */
struct rknpu_device *rknpu_device_create(struct device *dev, const struct rknpu_soc *soc);
/* All cores are bound: lets user space in. */
int rknpu_device_publish(struct rknpu_device *rdev);
/* Lets nobody in any more and ends every job; open files stay usable to close. */
void rknpu_device_unpublish(struct rknpu_device *rdev);
/* The same for good, before a reboot or kexec: IOMMUs may go. Once is enough. */
void rknpu_device_shutdown(struct rknpu_device *rdev);

#endif
