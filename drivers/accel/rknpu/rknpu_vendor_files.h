/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the files that tools for the vendor's driver read, in debugfs and procfs. */
#ifndef __RKNPU_VENDOR_FILES_H__
#define __RKNPU_VENDOR_FILES_H__

struct dentry;
struct rknpu_device;

/* Module init and exit. @debugfs_dir stays the caller's, who removes it before exit. */
void rknpu_vendor_files_init(struct dentry *debugfs_dir);
void rknpu_vendor_files_exit(void);

/*
 * The device that the files describe; NULL before it is unpublished, with the
 * cores still bound. Does not return while a file still looks at the previous one.
 */
void rknpu_vendor_files_set_device(struct rknpu_device *rdev);

#endif
