/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns how many jobs may exist, of a client and of a user, and who waits for room. */
#ifndef __RKNPU_BACKLOG_H__
#define __RKNPU_BACKLOG_H__

#include <linux/poll.h>

#include <linux/types.h>

struct rknpu_backlog;
struct rknpu_client;

/* @files: as many files' jobs may there be. */
void rknpu_backlog_init(struct rknpu_backlog *backlog, u32 files);

/* For every job that exists. -EBUSY: the client, or its user, has too many. */
int rknpu_backlog_charge(struct rknpu_client *client, u32 tasks, u32 bos);
void rknpu_backlog_uncharge(struct rknpu_client *client, u32 tasks, u32 bos);

/* For the poll() of the client's file: may it submit as much as one call can? */
__poll_t rknpu_backlog_poll(struct rknpu_client *client, struct file *file, poll_table *wait);
/* The device is gone. */
void rknpu_backlog_hang_up(struct rknpu_backlog *backlog);

#endif
