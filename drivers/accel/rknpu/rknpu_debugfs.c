// SPDX-License-Identifier: GPL-2.0-only
/* Owns the debugfs directory "rknpu". */
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include <drm/drm_print.h>

#include "rknpu_debugfs.h"
#include "rknpu_stats.h"
#include "rknpu_vendor_files.h"

static DEFINE_MUTEX(rknpu_debugfs_lock);
static struct rknpu_device *rknpu_debugfs_rdev;
static struct dentry *rknpu_debugfs_dir;

static int rknpu_debugfs_stats_show(struct seq_file *m, void *unused)
{
	struct drm_printer p = drm_seq_file_printer(m);

	mutex_lock(&rknpu_debugfs_lock);
	if (rknpu_debugfs_rdev)
		rknpu_stats_print(rknpu_debugfs_rdev, &p);
	mutex_unlock(&rknpu_debugfs_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rknpu_debugfs_stats);

void rknpu_debugfs_init(void)
{
	rknpu_debugfs_dir = debugfs_create_dir("rknpu", NULL);
	debugfs_create_file("stats", 0444, rknpu_debugfs_dir, NULL, &rknpu_debugfs_stats_fops);
	rknpu_vendor_files_init(rknpu_debugfs_dir);
}

void rknpu_debugfs_exit(void)
{
	debugfs_remove(rknpu_debugfs_dir);
	rknpu_vendor_files_exit();
}

void rknpu_debugfs_set_device(struct rknpu_device *rdev)
{
	mutex_lock(&rknpu_debugfs_lock);
	rknpu_debugfs_rdev = rdev;
	mutex_unlock(&rknpu_debugfs_lock);
	rknpu_vendor_files_set_device(rdev);
}
