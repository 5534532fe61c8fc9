/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns how much memory BOs may take: those of one client, and all of them. */
#ifndef __RKNPU_QUOTA_H__
#define __RKNPU_QUOTA_H__

#include <linux/types.h>

struct rknpu_client;

/* -ENOMEM: the client, or all together, would have too much. */
int rknpu_quota_charge(struct rknpu_client *client, unsigned long pages);
void rknpu_quota_uncharge(struct rknpu_client *client, unsigned long pages);

/* The limits, in bytes. They follow the memory that there is, and module parameters. */
u64 rknpu_quota_file_bytes(void);
u64 rknpu_quota_device_bytes(void);

#endif
