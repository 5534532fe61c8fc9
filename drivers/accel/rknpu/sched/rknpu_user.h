/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns users: whom clients belong to, whatever number of files they open. */
#ifndef __RKNPU_USER_H__
#define __RKNPU_USER_H__

#include <linux/types.h>

struct rknpu_sched;
struct rknpu_user;

int rknpu_users_init(struct rknpu_sched *sched);
/* The device is gone: tells who waits for room. */
void rknpu_users_hang_up(struct rknpu_sched *sched);

/* Of the calling process; ERR_PTR(-ENOMEM) on failure. Process context, as the put. */
struct rknpu_user *rknpu_user_get_current(struct rknpu_sched *sched);
void rknpu_user_put(struct rknpu_user *user);

#endif
