/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the aggregate device: all cores of the NPU behind one drm_device. */
#ifndef __RKNPU_DEVICE_H__
#define __RKNPU_DEVICE_H__

#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>

#include <drm/drm_device.h>

#include "rknpu_core.h"
#include "rknpu_rate.h"
#include "rknpu_soc.h"
#include "rknpu_stats.h"

struct rknpu_vendor;

/**
 * struct rknpu_device - freed with the last reference on @accel
 * @accel: the drm_device; its parent is the facade platform device, which has
 *	no IOMMU and is what BO pages are DMA-mapped for
 * @vendor: node of the vendor's uAPI, or NULL
 * @soc: SoC tables
 * @core_mask: cores that are bound, alive or not; does not change while user space
 *	is let in
 * @iommus: each core's own; the first one is the shared one, if there is such
 * @cores: by the hardware's core number
 * @lock: all scheduler state: queues, core states, and starting tasks. One for
 *	all cores, because work moves between them and a task starts in about
 *	ten register writes. Taken inside fence locks: never signal a fence
 *	under it.
 * @clients: all open ones and those with unfinished jobs
 * @gang: jobs that are about to start together, or NULL; compared with those of
 *	jobs, and valid while one of them is queued
 * @sleeping: cores that system sleep has frozen; all are, as long as one is
 * @gone: no job may start or be queued any more
 * @iommus_lock: held for reading by who asks something of an IOMMU and is not the
 *	scheduler; protects @down
 * @down: the machine is being shut down, and IOMMUs with it
 * @job_count: jobs that exist, of all clients
 * @bo_pages: pages of BOs, of all clients
 * @rate: the compute clock
 * @stats: counters
 */
struct rknpu_device {
	struct drm_device accel;
	struct rknpu_vendor *vendor;
	const struct rknpu_soc *soc;
	u32 core_mask;
	struct rknpu_iommu iommus[RKNPU_MAX_CORES];
	struct rknpu_core cores[RKNPU_MAX_CORES];
	spinlock_t lock; /* all scheduler state, see above */
	struct list_head clients;
	struct rknpu_gang *gang;
	unsigned int sleeping;
	bool gone;
	struct rw_semaphore iommus_lock; /* protects down */
	bool down;
	atomic_t job_count;
	atomic_long_t bo_pages;
	struct rknpu_rate rate;
	struct rknpu_device_stats stats;
};

static inline struct rknpu_device *to_rknpu_device(struct drm_device *drm)
{
	return container_of(drm, struct rknpu_device, accel);
}

/* Bit per core that can be given jobs. */
u32 rknpu_device_cores_alive(struct rknpu_device *rdev);

/* Devres of @dev holds the reference that is returned. */
struct rknpu_device *rknpu_device_create(struct device *dev,
					 const struct rknpu_soc *soc);
/* All cores are bound: lets user space in. */
int rknpu_device_publish(struct rknpu_device *rdev);
/* Lets nobody in any more and ends every job; open files stay usable to close. */
void rknpu_device_unpublish(struct rknpu_device *rdev);
/* The same for good, before a reboot or kexec: IOMMUs may go. Once is enough. */
void rknpu_device_shutdown(struct rknpu_device *rdev);

#endif
