// SPDX-License-Identifier: GPL-2.0-only
/* Owns the filter of DRM's own ioctls that our nodes pass on. */
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include <drm/drm.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "rknpu_ioctl.h"
#include "sched/rknpu_types.h"

/*
 * DRM lets an accel file call what is meant for primary nodes, but gives it no
 * master: drm_getunique() dereferences that (oops seen on 7.3.4). Rockchip's
 * kernels are configured (DRM_IGNORE_IOTCL_PERMIT) to let clients of a render node
 * do so, too: drm_authmagic() dereferences it (oops seen on their 6.1.99).
 */
static bool rknpu_ioctl_permitted(unsigned int cmd)
{
	unsigned int flags;

	return !drm_ioctl_flags(DRM_IOCTL_NR(cmd), &flags) || (flags & DRM_RENDER_ALLOW);
}

/* Where an ioctl on an array of syncobjs says how many; negative: it is none. */
static int rknpu_ioctl_count_at(unsigned int cmd)
{
	switch (DRM_IOCTL_NR(cmd)) {
	case DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_WAIT):
		return offsetof(struct drm_syncobj_wait, count_handles);
	case DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT):
		return offsetof(struct drm_syncobj_timeline_wait, count_handles);
	case DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_RESET):
	case DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
		return offsetof(struct drm_syncobj_array, count_handles);
	case DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_QUERY):
	case DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
		return offsetof(struct drm_syncobj_timeline_array, count_handles);
	default:
		return -1;
	}
}

/*
 * DRM asks kmalloc() for as many as user space says, and the page allocator WARNs
 * of more than it can ever give (seen on 7.3.4). DRM reads the number again: who
 * changes it in between still gets there, as on any device with syncobjs.
 */
static bool rknpu_ioctl_count_ok(unsigned int cmd, void __user *arg)
{
	int at = rknpu_ioctl_count_at(cmd);
	u32 count;

	/* DRM takes what lies beyond the size for 0, and says EFAULT itself. */
	if (at < 0 || _IOC_SIZE(cmd) < at + sizeof(count) ||
	    get_user(count, (u32 __user *)(arg + at)))
		return true;
	return count <= RKNPU_CLIENT_MAX_JOBS;
}

int rknpu_ioctl_check(struct file *filp, unsigned int cmd, void __user *arg)
{
	struct drm_file *file = filp->private_data;

	if (!rknpu_ioctl_permitted(cmd))
		return -EACCES;
	if (!rknpu_ioctl_count_ok(cmd, arg)) {
		drm_dbg_ratelimited(file->minor->dev, "more than %u syncobjs\n",
				    RKNPU_CLIENT_MAX_JOBS);
		return -EINVAL;
	}
	return 0;
}
