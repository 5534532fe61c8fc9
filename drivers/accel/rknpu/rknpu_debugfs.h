/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the debugfs directory "rknpu". */
#ifndef __RKNPU_DEBUGFS_H__
#define __RKNPU_DEBUGFS_H__

struct rknpu_device;

/* Module init and exit: the directory and its files, empty while no device is published. */
void rknpu_debugfs_init(void);
void rknpu_debugfs_exit(void);

/*
 * The device that the files describe; NULL before it is unpublished. Does not
 * return while a reader still looks at the previous one.
 */
void rknpu_debugfs_set_device(struct rknpu_device *rdev);

#endif
