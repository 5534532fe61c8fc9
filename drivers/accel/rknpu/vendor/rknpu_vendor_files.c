// SPDX-License-Identifier: GPL-2.0-only
/* Owns what the vendor's tools are told of the hardware, and their files in debugfs and procfs. */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/pm_runtime.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>

#include "hw/rknpu_core.h"
#include "hw/rknpu_devfreq.h"
#include "hw/rknpu_rate.h"
#include "rknpu_device.h"
#include "rknpu_params.h"
#include "rknpu_vendor.h"
#include "rknpu_vendor_iface.h"
#include "rknpu_vendor_files.h"
#include "sched/rknpu_sched.h"

/* The vendor's driver asks core 0. */
static struct rknpu_core *rknpu_vendor_info_core(struct rknpu_device *rdev)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->hw.cores[i].dev)
			return &rdev->hw.cores[i];
	}
	return NULL;
}

u32 rknpu_vendor_info_hw_version(struct rknpu_device *rdev)
{
	struct rknpu_core *core;
	u32 version = 0;
	int idx;

	if (!drm_dev_enter(&rdev->accel, &idx))
		return 0;
	core = rknpu_vendor_info_core(rdev);
	if (core)
		version = core->version;
	drm_dev_exit(idx);
	return version;
}

unsigned long rknpu_vendor_info_hz(struct rknpu_device *rdev)
{
	unsigned long hz;
	int idx;

	if (!drm_dev_enter(&rdev->accel, &idx))
		return 0;
	hz = rknpu_rate_ask(&rdev->hw);
	drm_dev_exit(idx);
	return hz;
}

int rknpu_vendor_info_uv(struct rknpu_device *rdev)
{
	int idx, uv;

	if (!drm_dev_enter(&rdev->accel, &idx))
		return -ENODEV;
	uv = rknpu_rate_ask_uv(&rdev->hw);
	drm_dev_exit(idx);
	return uv;
}

#define RKNPU_VFILE_INPUT	32

static DEFINE_MUTEX(rknpu_vfiles_lock);
static struct rknpu_device *rknpu_vfiles_rdev;
/* By "power": each bound core has a reference. */
static bool rknpu_vfiles_powered;
static struct proc_dir_entry *rknpu_vfiles_proc;

/**
 * struct rknpu_vendor_file - one of the files
 */
struct rknpu_vendor_file {
	/** @name: name */
	const char *name;
	/** @show: prints the content; the device is there */
	void (*show)(struct rknpu_device *rdev, struct seq_file *m);
	/** @store: takes what was written, without the newline; NULL: -EACCES by mode */
	int (*store)(struct rknpu_device *rdev, const char *input);
};

static void rknpu_vfile_show_version(struct rknpu_device *rdev, struct seq_file *m)
{
	u32 code = rdev->vendor ? rdev->vendor->version : 0;

	seq_printf(m, "RKNPU driver: v%u.%u.%u\n", code / 10000, code / 100 % 100, code % 100);
}

/* Public monitors look for "CoreN: NN%," and for nothing else in the line. */
static void rknpu_vfile_show_load(struct rknpu_device *rdev, struct seq_file *m)
{
	struct rknpu_core *core;

	seq_puts(m, "NPU load: ");
	rknpu_for_each_core(core, &rdev->hw) {
		if (core->dev)
			seq_printf(m, " Core%u: %2u%%,", core->index,
				   rknpu_sched_busy_percent(core));
	}
	seq_putc(m, '\n');
}

static void rknpu_vfile_show_power(struct rknpu_device *rdev, struct seq_file *m)
{
	bool on = false;
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++)
		on |= READ_ONCE(rdev->hw.cores[i].powered);
	seq_puts(m, on ? "on\n" : "off\n");
}

static void rknpu_vfile_release_power(struct rknpu_device *rdev)
{
	unsigned int i;

	if (!rknpu_vfiles_powered)
		return;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->hw.cores[i].dev)
			pm_runtime_put_autosuspend(rdev->hw.cores[i].dev);
	}
	rknpu_vfiles_powered = false;
}

static int rknpu_vfile_hold_power(struct rknpu_device *rdev)
{
	unsigned int i;

	if (rknpu_vfiles_powered)
		return 0;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		/* One that cannot be powered is the scheduler's to find out. */
		if (rdev->hw.cores[i].dev)
			rknpu_core_keep_on(&rdev->hw.cores[i]);
	}
	rknpu_vfiles_powered = true;
	return 0;
}

static int rknpu_vfile_store_power(struct rknpu_device *rdev, const char *input)
{
	if (!strcmp(input, "on"))
		return rknpu_vfile_hold_power(rdev);
	if (strcmp(input, "off"))
		return -EINVAL;
	rknpu_vfile_release_power(rdev);
	return 0;
}

static void rknpu_vfile_show_freq(struct rknpu_device *rdev, struct seq_file *m)
{
	seq_printf(m, "%lu\n", rknpu_vendor_info_hz(rdev));
}

static int rknpu_vfile_store_freq(struct rknpu_device *rdev, const char *input)
{
	unsigned long hz;
	int ret;

	ret = kstrtoul(input, 10, &hz);
	return ret ?: rknpu_devfreq_request(&rdev->hw, hz);
}

static void rknpu_vfile_show_volt(struct rknpu_device *rdev, struct seq_file *m)
{
	seq_printf(m, "%d\n", max(rknpu_vendor_info_uv(rdev), 0));
}

static void rknpu_vfile_show_delayms(struct rknpu_device *rdev, struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		struct device *dev = rdev->hw.cores[i].dev;

		if (dev) {
			seq_printf(m, "%d\n", READ_ONCE(dev->power.autosuspend_delay));
			return;
		}
	}
}

static int rknpu_vfile_store_delayms(struct rknpu_device *rdev, const char *input)
{
	unsigned int i;
	int ms, ret;

	ret = kstrtoint(input, 10, &ms);
	if (ret)
		return ret;
	/* Negative would mean never. */
	if (ms < 0)
		return -EINVAL;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (rdev->hw.cores[i].dev)
			pm_runtime_set_autosuspend_delay(rdev->hw.cores[i].dev, ms);
	}
	return 0;
}

static void rknpu_vfile_show_reset(struct rknpu_device *rdev, struct seq_file *m)
{
	seq_puts(m, "on\n");
}

/* Cores that hang are reset as soon as that is known, so there is nothing left to ask for. */
static int rknpu_vfile_store_reset(struct rknpu_device *rdev, const char *input)
{
	return strcmp(input, "1") && strcmp(input, "on") ? -EINVAL : 0;
}

static const struct rknpu_vendor_file rknpu_vendor_files[] = {
	{ "version", rknpu_vfile_show_version, NULL },
	{ "load", rknpu_vfile_show_load, NULL },
	{ "power", rknpu_vfile_show_power, rknpu_vfile_store_power },
	{ "freq", rknpu_vfile_show_freq, rknpu_vfile_store_freq },
	{ "volt", rknpu_vfile_show_volt, NULL },
	{ "delayms", rknpu_vfile_show_delayms, rknpu_vfile_store_delayms },
	{ "reset", rknpu_vfile_show_reset, rknpu_vfile_store_reset },
};

static int rknpu_vfile_show(struct seq_file *m, void *unused)
{
	const struct rknpu_vendor_file *f = m->private;

	mutex_lock(&rknpu_vfiles_lock);
	if (rknpu_vfiles_rdev)
		f->show(rknpu_vfiles_rdev, m);
	mutex_unlock(&rknpu_vfiles_lock);
	return 0;
}

static ssize_t rknpu_vfile_write(struct file *file, const char __user *buf, size_t len,
				 loff_t *pos)
{
	const struct rknpu_vendor_file *f = ((struct seq_file *)file->private_data)->private;
	char input[RKNPU_VFILE_INPUT];
	int ret = -ENODEV;

	if (!f->store)
		return -EACCES;
	/* Root of a container may see procfs, and has the uid. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (len >= sizeof(input))
		return -EINVAL;
	if (copy_from_user(input, buf, len))
		return -EFAULT;
	input[len] = '\0';

	mutex_lock(&rknpu_vfiles_lock);
	if (rknpu_vfiles_rdev)
		ret = f->store(rknpu_vfiles_rdev, strim(input));
	mutex_unlock(&rknpu_vfiles_lock);
	return ret ?: len;
}

static int rknpu_vfile_debugfs_open(struct inode *inode, struct file *file)
{
	return single_open(file, rknpu_vfile_show, inode->i_private);
}

static const struct file_operations rknpu_vfile_debugfs_fops = {
	.owner = THIS_MODULE,
	.open = rknpu_vfile_debugfs_open,
	.read = seq_read,
	.write = rknpu_vfile_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int rknpu_vfile_proc_open(struct inode *inode, struct file *file)
{
	return single_open(file, rknpu_vfile_show, pde_data(inode));
}

static const struct proc_ops rknpu_vfile_proc_ops = {
	.proc_open = rknpu_vfile_proc_open,
	.proc_read = seq_read,
	.proc_write = rknpu_vfile_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static umode_t rknpu_vfile_mode(const struct rknpu_vendor_file *f)
{
	return f->store ? 0644 : 0444;
}

/*
 * The vendor's driver, if it is there too, has made the same directory, and
 * procfs warns about a second one.
 */
static struct proc_dir_entry *rknpu_vfiles_proc_mkdir(void)
{
	struct path path;

	if (kern_path("/proc/rknpu", 0, &path))
		return proc_mkdir("rknpu", NULL);
	path_put(&path);
	pr_notice("rknpu: /proc/rknpu is another driver's\n");
	return NULL;
}

void rknpu_vendor_files_init(struct dentry *debugfs_dir)
{
	unsigned int i;

	if (rknpu_params.vendor_procfs)
		rknpu_vfiles_proc = rknpu_vfiles_proc_mkdir();

	for (i = 0; i < ARRAY_SIZE(rknpu_vendor_files); i++) {
		const struct rknpu_vendor_file *f = &rknpu_vendor_files[i];

		debugfs_create_file(f->name, rknpu_vfile_mode(f), debugfs_dir, (void *)f,
				    &rknpu_vfile_debugfs_fops);
		if (rknpu_vfiles_proc)
			proc_create_data(f->name, rknpu_vfile_mode(f), rknpu_vfiles_proc,
					 &rknpu_vfile_proc_ops, (void *)f);
	}
}

void rknpu_vendor_files_exit(void)
{
	proc_remove(rknpu_vfiles_proc);
	rknpu_vfiles_proc = NULL;
}

void rknpu_vendor_files_set_device(struct rknpu_device *rdev)
{
	mutex_lock(&rknpu_vfiles_lock);
	if (rknpu_vfiles_rdev)
		rknpu_vfile_release_power(rknpu_vfiles_rdev);
	rknpu_vfiles_rdev = rdev;
	mutex_unlock(&rknpu_vfiles_lock);
}
