// SPDX-License-Identifier: GPL-2.0-only
/* Owns the counters per core and per device, which only ever count up, and their debugfs file. */
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include <drm/drm_print.h>

#include "rknpu_stats.h"

static const char * const rknpu_core_stat_names[RKNPU_CORE_STAT_COUNT] = {
	[RKNPU_CORE_STAT_JOBS] = "jobs",
	[RKNPU_CORE_STAT_TASKS] = "tasks",
	[RKNPU_CORE_STAT_IRQS] = "irqs",
	[RKNPU_CORE_STAT_POLLS] = "polls",
	[RKNPU_CORE_STAT_ATTACHES] = "attaches",
	[RKNPU_CORE_STAT_POWER_UPS] = "power_ups",
	[RKNPU_CORE_STAT_RESETS] = "resets",
	[RKNPU_CORE_STAT_HALTS] = "halts",
	[RKNPU_CORE_STAT_SCRUBS] = "scrubs",
	[RKNPU_CORE_STAT_SCRUB_NS] = "scrub_ns",
	[RKNPU_CORE_STAT_SCRUB_FAILS] = "scrub_fails",
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

static struct {
	/** @lock: protects the rest */
	struct mutex lock;
	/** @show: prints the counters, or NULL */
	void (*show)(void *data, struct drm_printer *p);
	/** @show_registers: the same of registers */
	void (*show_registers)(void *data, struct drm_printer *p);
	/** @data: for both */
	void *data;
	/** @dir: the directory; set once */
	struct dentry *dir;
} rknpu_debugfs = {
	.lock = __MUTEX_INITIALIZER(rknpu_debugfs.lock),
};

static u64 rknpu_device_stat(const struct rknpu_device_stats *stats, enum rknpu_device_stat which)
{
	return atomic64_read(&stats->v[which]);
}

void rknpu_core_stats_print(const struct rknpu_core_stats *stats, unsigned int index,
			    struct drm_printer *p)
{
	int i;

	for (i = 0; i < RKNPU_CORE_STAT_COUNT; i++)
		drm_printf(p, "core%u.%s %llu\n", index, rknpu_core_stat_names[i],
			   READ_ONCE(stats->v[i]));
}

void rknpu_device_stats_print(const struct rknpu_device_stats *stats, u64 bo_bytes,
			      u64 table_bytes, struct drm_printer *p)
{
	int i;

	for (i = 0; i < RKNPU_DEVICE_STAT_COUNT; i++)
		drm_printf(p, "%s %llu\n", rknpu_device_stat_names[i],
			   rknpu_device_stat(stats, i));

	drm_printf(p, "bo_bytes %llu\n", bo_bytes);
	drm_printf(p, "table_bytes %llu\n", table_bytes);

	/* "Freed" first: an object made and freed in between must not count below 0. */
	drm_printf(p, "bos %lld\n",
		   (s64)(rknpu_device_stat(stats, RKNPU_DEVICE_STAT_BOS_CREATED) -
			 rknpu_device_stat(stats, RKNPU_DEVICE_STAT_BOS_FREED)));
	drm_printf(p, "vms %lld\n",
		   (s64)(rknpu_device_stat(stats, RKNPU_DEVICE_STAT_VMS_CREATED) -
			 rknpu_device_stat(stats, RKNPU_DEVICE_STAT_VMS_FREED)));
}

static int rknpu_debugfs_stats_show(struct seq_file *m, void *unused)
{
	struct drm_printer p = drm_seq_file_printer(m);

	mutex_lock(&rknpu_debugfs.lock);
	if (rknpu_debugfs.show)
		rknpu_debugfs.show(rknpu_debugfs.data, &p);
	mutex_unlock(&rknpu_debugfs.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rknpu_debugfs_stats);

static int rknpu_debugfs_registers_show(struct seq_file *m, void *unused)
{
	struct drm_printer p = drm_seq_file_printer(m);

	mutex_lock(&rknpu_debugfs.lock);
	if (rknpu_debugfs.show_registers)
		rknpu_debugfs.show_registers(rknpu_debugfs.data, &p);
	mutex_unlock(&rknpu_debugfs.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rknpu_debugfs_registers);

struct dentry *rknpu_debugfs_init(void)
{
	rknpu_debugfs.dir = debugfs_create_dir("rknpu", NULL);
	debugfs_create_file("stats", 0444, rknpu_debugfs.dir, NULL, &rknpu_debugfs_stats_fops);
	debugfs_create_file("registers", 0400, rknpu_debugfs.dir, NULL,
			    &rknpu_debugfs_registers_fops);
	return rknpu_debugfs.dir;
}

void rknpu_debugfs_exit(void)
{
	debugfs_remove(rknpu_debugfs.dir);
}

void rknpu_debugfs_set_source(void (*show)(void *data, struct drm_printer *p),
			      void (*show_registers)(void *data, struct drm_printer *p),
			      void *data)
{
	mutex_lock(&rknpu_debugfs.lock);
	rknpu_debugfs.show = show;
	rknpu_debugfs.show_registers = show_registers;
	rknpu_debugfs.data = data;
	mutex_unlock(&rknpu_debugfs.lock);
}
