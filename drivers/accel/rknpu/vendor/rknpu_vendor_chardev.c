// SPDX-License-Identifier: GPL-2.0-only
/* Owns /dev/rknpu, if it is asked for: the vendor's uAPI with dma-buf fds for handles. */
#include <linux/build_bug.h>
#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "mem/rknpu_bo.h"
#include "rknpu_params.h"
#include "sched/rknpu_backlog.h"
#include "sched/rknpu_client.h"
#include "sched/rknpu_client_types.h"
#include "sched/rknpu_debt.h"
#include "rknpu_vendor.h"
#include "rknpu_vendor_iface.h"

/* Vendor driver 0.9.8, built for DMA heaps: the same numbers, from 0 on. */
#define RKNPU_CHARDEV_MAGIC	'r'

union rknpu_chardev_args {
	struct drm_rknpu_action action;
	struct drm_rknpu_submit submit;
	struct drm_rknpu_mem_create create;
	struct drm_rknpu_mem_destroy destroy;
	struct drm_rknpu_mem_sync sync;
};

static void rknpu_chardev_close_bo(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo)
{
	/* Else somebody else did, with the reference. */
	if (rknpu_vobject_close(vfile, vbo))
		rknpu_bo_put(&vbo->base);
}

/*
 * A handle with a reference of its own. The caller's is needed throughout: another
 * thread can give up the handle as soon as it is there.
 */
static int rknpu_chardev_open_bo(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo,
				 struct drm_rknpu_mem_create *args)
{
	int ret;

	drm_gem_object_get(&vbo->base.base);
	ret = rknpu_vobject_open(vfile, vbo);
	if (ret) {
		rknpu_bo_put(&vbo->base);
		/* What the vendor's driver says when addresses run out. */
		return ret == -ENOSPC ? -EFAULT : ret;
	}
	return rknpu_vendor_describe(vfile, vbo, args);
}

static int rknpu_chardev_import(struct rknpu_vfile *vfile, struct drm_rknpu_mem_create *args)
{
	struct drm_device *dev = &vfile->vendor->drm;
	struct drm_gem_object *obj;
	struct dma_buf *dmabuf;
	int ret;

	dmabuf = dma_buf_get(args->handle);
	if (IS_ERR(dmabuf)) {
		drm_dbg_ratelimited(dev, "mem_create: fd %d is no dma-buf\n", (int)args->handle);
		return PTR_ERR(dmabuf);
	}
	obj = rknpu_vbo_import(dev, dmabuf);
	dma_buf_put(dmabuf);
	if (IS_ERR(obj)) {
		drm_dbg_ratelimited(dev, "mem_create: fd %d cannot be imported\n",
				    (int)args->handle);
		return PTR_ERR(obj);
	}
	ret = rknpu_chardev_open_bo(vfile, to_rknpu_vbo(to_rknpu_bo(obj)), args);
	drm_gem_object_put(obj);
	return ret;
}

/*
 * The fd comes last: once it is there, user space may do anything with it. It takes
 * over the reference on @dmabuf, if all goes well.
 */
static int rknpu_chardev_install(struct rknpu_vfile *vfile, struct rknpu_vbo *vbo,
				 struct dma_buf *dmabuf, struct drm_rknpu_mem_create *args)
{
	int fd, ret;

	ret = rknpu_chardev_open_bo(vfile, vbo, args);
	if (ret)
		return ret;
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0) {
		rknpu_chardev_close_bo(vfile, vbo);
		return fd;
	}
	args->handle = fd;
	return 0;
}

/*
 * This is the only export of the BO: drm holds a BO to have one dma-buf at most,
 * and PRIME imports of the DRM node may meet this one.
 */
static int rknpu_chardev_allocate(struct rknpu_vfile *vfile, struct drm_rknpu_mem_create *args)
{
	struct rknpu_vbo *vbo = rknpu_vendor_new_bo(vfile, args);
	struct dma_buf *dmabuf;
	int ret;

	if (IS_ERR(vbo))
		return PTR_ERR(vbo);
	dmabuf = rknpu_bo_export(&vbo->base.base, O_CLOEXEC | O_RDWR);
	if (IS_ERR(dmabuf)) {
		rknpu_bo_put(&vbo->base);
		return PTR_ERR(dmabuf);
	}
	ret = rknpu_chardev_install(vfile, vbo, dmabuf, args);
	if (ret)
		dma_buf_put(dmabuf);
	rknpu_bo_put(&vbo->base);
	return ret;
}

static int rknpu_chardev_create(struct rknpu_vfile *vfile, struct drm_rknpu_mem_create *args)
{
	if (args->handle)
		return rknpu_chardev_import(vfile, args);
	return rknpu_chardev_allocate(vfile, args);
}

/* The fd is the caller's to close. */
static int rknpu_chardev_destroy(struct rknpu_vfile *vfile,
				 const struct drm_rknpu_mem_destroy *args)
{
	struct rknpu_vbo *vbo = rknpu_vobject_lookup(vfile, args->obj_addr);

	if (!vbo) {
		drm_dbg_ratelimited(&vfile->vendor->drm,
				    "mem_destroy: obj_addr %#llx is not of this file\n",
				    args->obj_addr);
		return -EINVAL;
	}
	rknpu_chardev_close_bo(vfile, vbo);
	rknpu_bo_put(&vbo->base);
	return 0;
}

static int rknpu_chardev_dispatch(struct rknpu_vfile *vfile, unsigned int nr,
				  union rknpu_chardev_args *args)
{
	switch (nr) {
	case DRM_RKNPU_ACTION:
		return rknpu_vendor_do_action(vfile, &args->action);
	case DRM_RKNPU_SUBMIT:
		return rknpu_vendor_do_submit(vfile, &args->submit);
	case DRM_RKNPU_MEM_CREATE:
		return rknpu_chardev_create(vfile, &args->create);
	case DRM_RKNPU_MEM_DESTROY:
		return rknpu_chardev_destroy(vfile, &args->destroy);
	case DRM_RKNPU_MEM_SYNC:
		return rknpu_vendor_do_sync(vfile, &args->sync);
	default:
		/* MEM_MAP: what there is to map is the dma-buf. */
		return -EINVAL;
	}
}

/* As drm does it: what the caller's struct lacks is 0, what it has beyond ours is ignored. */
static long rknpu_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rknpu_vfile *vfile = file->private_data;
	void __user *user = (void __user *)arg;
	union rknpu_chardev_args args;
	size_t size;
	int ret;

	if (_IOC_TYPE(cmd) != RKNPU_CHARDEV_MAGIC || _IOC_NR(cmd) > DRM_RKNPU_MEM_SYNC) {
		drm_dbg_ratelimited(&vfile->vendor->drm, "%#x is no ioctl of /dev/rknpu\n", cmd);
		return -ENOTTY;
	}
	if (drm_dev_is_unplugged(&vfile->vendor->drm))
		return -ENODEV;

	size = min_t(size_t, _IOC_SIZE(cmd), sizeof(args));
	memset(&args, 0, sizeof(args));
	if (copy_from_user(&args, user, size))
		return -EFAULT;
	ret = rknpu_chardev_dispatch(vfile, _IOC_NR(cmd), &args);
	/* Also when it failed: runtimes look how far a job came. */
	if (copy_to_user(user, &args, size))
		return -EFAULT;
	return ret;
}

static int rknpu_chardev_open(struct inode *inode, struct file *file)
{
	struct rknpu_vendor *vendor = container_of(file->private_data, struct rknpu_vendor, misc);
	struct rknpu_vfile *vfile;

	/*
	 * Under the misc core's lock, so the node is still registered. Others want it for other
	 * devices: no second try after what is over has made room.
	 */
	vfile = rknpu_vfile_create(vendor);
	if (IS_ERR(vfile))
		return PTR_ERR(vfile);
	drm_dev_get(&vendor->drm);
	file->private_data = vfile;
	return 0;
}

static int rknpu_chardev_release(struct inode *inode, struct file *file)
{
	struct rknpu_vfile *vfile = file->private_data;
	struct rknpu_vendor *vendor = vfile->vendor;
	struct rknpu_vbo *vbo;

	while ((vbo = rknpu_vobject_first(vfile))) {
		rknpu_chardev_close_bo(vfile, vbo);
		cond_resched();
	}
	rknpu_vfile_destroy(vfile);
	drm_dev_put(&vendor->drm);
	return 0;
}

/* The keys of drm_show_fdinfo(), which is for files of DRM. */
static void rknpu_chardev_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct rknpu_vfile *vfile = file->private_data;
	struct drm_printer p = drm_seq_file_printer(m);
	u64 pages = atomic_long_read(&vfile->client->account.pages);

	drm_printf(&p, "drm-driver:\t%s\n", vfile->vendor->drm.driver->name);
	rknpu_client_show_busy(vfile->client, &p);
	rknpu_debt_show(vfile->client, &p);
	drm_printf(&p, "drm-total-memory:\t%llu KiB\n", pages << (PAGE_SHIFT - 10));
}

static __poll_t rknpu_chardev_poll(struct file *file, poll_table *wait)
{
	struct rknpu_vfile *vfile = file->private_data;

	return rknpu_backlog_poll(vfile->client, file, wait);
}

static const struct file_operations rknpu_chardev_fops = {
	.owner = THIS_MODULE,
	.open = rknpu_chardev_open,
	.release = rknpu_chardev_release,
	.unlocked_ioctl = rknpu_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = rknpu_chardev_poll,
	.show_fdinfo = rknpu_chardev_show_fdinfo,
};

int rknpu_chardev_register(struct rknpu_vendor *vendor)
{
	int ret;

	if (!rknpu_params.vendor_misc)
		return 0;

	vendor->misc.minor = MISC_DYNAMIC_MINOR;
	vendor->misc.name = "rknpu";
	vendor->misc.fops = &rknpu_chardev_fops;
	vendor->misc.parent = vendor->drm.dev;
	ret = misc_register(&vendor->misc);
	if (ret)
		drm_err(&vendor->drm, "no /dev/rknpu: %pe\n", ERR_PTR(ret));
	return ret;
}

void rknpu_chardev_unregister(struct rknpu_vendor *vendor)
{
	if (rknpu_params.vendor_misc)
		misc_deregister(&vendor->misc);
}
