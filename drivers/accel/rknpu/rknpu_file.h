/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what an open file is to the driver. */
#ifndef __RKNPU_FILE_H__
#define __RKNPU_FILE_H__

struct rknpu_client;
struct rknpu_device;
struct rknpu_history;
struct rknpu_vm;

struct rknpu_file {
	struct rknpu_device *rdev;
	struct rknpu_vm *vm;
	struct rknpu_client *client;
	struct rknpu_history *history;
};

#endif
