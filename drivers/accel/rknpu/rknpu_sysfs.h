/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the facade's attribute that tells which render node speaks rocket's ABI. */
#ifndef __RKNPU_SYSFS_H__
#define __RKNPU_SYSFS_H__

struct device;
struct rknpu_device;

/*
 * Before the node is registered, because udev's rules read it then. Devres of
 * @dev removes it, waiting for readers, before it drops the reference on @rdev
 * that was taken earlier.
 */
int rknpu_sysfs_add(struct device *dev, struct rknpu_device *rdev);

#endif
