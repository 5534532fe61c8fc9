/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the counters per core and per device, which only ever count up, and their debugfs file. */
#ifndef __RKNPU_STATS_H__
#define __RKNPU_STATS_H__

#include <linux/atomic.h>
#include <linux/types.h>

struct dentry;
struct drm_printer;

enum rknpu_core_stat {
	RKNPU_CORE_STAT_JOBS,
	RKNPU_CORE_STAT_TASKS,
	RKNPU_CORE_STAT_IRQS,
	RKNPU_CORE_STAT_POLLS,
	RKNPU_CORE_STAT_ATTACHES,
	RKNPU_CORE_STAT_POWER_UPS,
	RKNPU_CORE_STAT_RESETS,
	RKNPU_CORE_STAT_HALTS,
	RKNPU_CORE_STAT_SCRUBS,
	RKNPU_CORE_STAT_SCRUB_NS,
	RKNPU_CORE_STAT_SCRUB_FAILS,
	RKNPU_CORE_STAT_TIMEOUTS,
	RKNPU_CORE_STAT_RETRIES,
	RKNPU_CORE_STAT_RERUNS,
	RKNPU_CORE_STAT_YIELDS,
	RKNPU_CORE_STAT_FAULTS,
	RKNPU_CORE_STAT_RETIRED,
	RKNPU_CORE_STAT_MMIO_READS,
	RKNPU_CORE_STAT_MMIO_WRITES,
	RKNPU_CORE_STAT_COUNT
};

enum rknpu_device_stat {
	RKNPU_DEVICE_STAT_CACHE_BYTES,
	RKNPU_DEVICE_STAT_BOS_CREATED,
	RKNPU_DEVICE_STAT_BOS_FREED,
	RKNPU_DEVICE_STAT_VMS_CREATED,
	RKNPU_DEVICE_STAT_VMS_FREED,
	RKNPU_DEVICE_STAT_SUBMITS,
	RKNPU_DEVICE_STAT_COUNT
};

/* Changed under rknpu_hw::lock by rknpu_core_stat_add(), read without. */
struct rknpu_core_stats {
	u64 v[RKNPU_CORE_STAT_COUNT];
};

struct rknpu_device_stats {
	atomic64_t v[RKNPU_DEVICE_STAT_COUNT];
};

static inline void rknpu_device_stat_add(struct rknpu_device_stats *stats,
					 enum rknpu_device_stat which, u64 n)
{
	atomic64_add(n, &stats->v[which]);
}

void rknpu_core_stats_print(const struct rknpu_core_stats *stats, unsigned int index,
			    struct drm_printer *p);
/* @bo_bytes: what all BOs take now; @table_bytes: what their page tables take. */
void rknpu_device_stats_print(const struct rknpu_device_stats *stats, u64 bo_bytes,
			      u64 table_bytes, struct drm_printer *p);

/* Module init and exit: the directory "rknpu" in debugfs. Returns it for others' files. */
struct dentry *rknpu_debugfs_init(void);
void rknpu_debugfs_exit(void);

/*
 * What prints the counters and the registers from now on, or NULL. Does not return while a
 * reader still uses the previous ones.
 */
void rknpu_debugfs_set_source(void (*show)(void *data, struct drm_printer *p),
			      void (*show_registers)(void *data, struct drm_printer *p),
			      void *data);

#endif
