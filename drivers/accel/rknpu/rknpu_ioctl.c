// SPDX-License-Identifier: GPL-2.0-only
/* Owns the filter of DRM's own ioctls that our nodes pass on. */
#include <linux/errno.h>
#include <linux/types.h>

#include <drm/drm_ioctl.h>

#include "rknpu_ioctl.h"

/*
 * DRM lets an accel file call what is meant for primary nodes, but gives it no
 * master: drm_getunique() dereferences that (oops seen on 7.3.4). Rockchip's
 * kernels are configured (DRM_IGNORE_IOTCL_PERMIT) to let clients of a render node
 * do so, too: drm_authmagic() dereferences it (oops seen on their 6.1.99).
 */
int rknpu_ioctl_check(unsigned int cmd)
{
	unsigned int flags;

	if (!drm_ioctl_flags(DRM_IOCTL_NR(cmd), &flags) || (flags & DRM_RENDER_ALLOW))
		return 0;
	return -EACCES;
}
