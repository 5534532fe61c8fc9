/* SPDX-License-Identifier: GPL-2.0-only */
/* Files, and what shows them. */
#ifndef __RKNPU_COMPAT_FS_H__
#define __RKNPU_COMPAT_FS_H__

#include <linux/fs.h>
#include <linux/proc_fs.h>

#ifndef RKNPU_HAVE_FOP_FLAGS

/* DRM itself allows offsets beyond loff_t then, and this initializer does nothing. */
#define fop_flags		check_flags
#define FOP_UNSIGNED_OFFSET	NULL

#endif

#ifndef RKNPU_HAVE_PDE_DATA
#define pde_data(inode)		PDE_DATA(inode)
#endif

#endif
