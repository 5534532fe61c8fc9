// SPDX-License-Identifier: GPL-2.0-only
/* Owns the counters per core and per device, which only ever count up. */
#include <linux/mm.h>

#include <drm/drm_print.h>

#include "rknpu_core.h"
#include "rknpu_device.h"
#include "rknpu_stats.h"

static const char * const rknpu_core_stat_names[RKNPU_CORE_STAT_COUNT] = {
	[RKNPU_CORE_STAT_JOBS] = "jobs",
	[RKNPU_CORE_STAT_TASKS] = "tasks",
	[RKNPU_CORE_STAT_IRQS] = "irqs",
	[RKNPU_CORE_STAT_ATTACHES] = "attaches",
	[RKNPU_CORE_STAT_POWER_UPS] = "power_ups",
	[RKNPU_CORE_STAT_RESETS] = "resets",
	[RKNPU_CORE_STAT_HALTS] = "halts",
	[RKNPU_CORE_STAT_TIMEOUTS] = "timeouts",
	[RKNPU_CORE_STAT_RETRIES] = "retries",
	[RKNPU_CORE_STAT_RERUNS] = "reruns",
	[RKNPU_CORE_STAT_YIELDS] = "yields",
	[RKNPU_CORE_STAT_FAULTS] = "faults",
	[RKNPU_CORE_STAT_RETIRED] = "retired",
	[RKNPU_CORE_STAT_MMIO_READS] = "mmio_reads",
	[RKNPU_CORE_STAT_MMIO_WRITES] = "mmio_writes",
};

static const char * const rknpu_device_stat_names[RKNPU_DEVICE_STAT_COUNT] = {
	[RKNPU_DEVICE_STAT_CACHE_BYTES] = "cache_bytes",
	[RKNPU_DEVICE_STAT_BOS_CREATED] = "bos_created",
	[RKNPU_DEVICE_STAT_BOS_FREED] = "bos_freed",
	[RKNPU_DEVICE_STAT_VMS_CREATED] = "vms_created",
	[RKNPU_DEVICE_STAT_VMS_FREED] = "vms_freed",
	[RKNPU_DEVICE_STAT_SUBMITS] = "submits",
};

static u64 rknpu_device_stat(struct rknpu_device *rdev, enum rknpu_device_stat which)
{
	return atomic64_read(&rdev->stats.v[which]);
}

static void rknpu_stats_print_core(struct rknpu_core *core, struct drm_printer *p)
{
	int i;

	for (i = 0; i < RKNPU_CORE_STAT_COUNT; i++)
		drm_printf(p, "core%u.%s %llu\n", core->index, rknpu_core_stat_names[i],
			   (u64)atomic64_read(&core->stats.v[i]));
}

void rknpu_stats_print(struct rknpu_device *rdev, struct drm_printer *p)
{
	int i;

	for (i = 0; i < RKNPU_DEVICE_STAT_COUNT; i++)
		drm_printf(p, "%s %llu\n", rknpu_device_stat_names[i],
			   rknpu_device_stat(rdev, i));

	drm_printf(p, "bo_bytes %llu\n", (u64)atomic_long_read(&rdev->bo_pages) << PAGE_SHIFT);

	/* "Freed" first: an object made and freed in between must not count below 0. */
	drm_printf(p, "bos %lld\n",
		   (s64)(rknpu_device_stat(rdev, RKNPU_DEVICE_STAT_BOS_CREATED) -
			 rknpu_device_stat(rdev, RKNPU_DEVICE_STAT_BOS_FREED)));
	drm_printf(p, "vms %lld\n",
		   (s64)(rknpu_device_stat(rdev, RKNPU_DEVICE_STAT_VMS_CREATED) -
			 rknpu_device_stat(rdev, RKNPU_DEVICE_STAT_VMS_FREED)));

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->cores[i].dev)
			rknpu_stats_print_core(&rdev->cores[i], p);
	}
}
