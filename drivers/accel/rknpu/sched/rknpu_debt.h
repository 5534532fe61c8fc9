/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what users owe for failures: strikes, when they are forgiven, who may not submit. */
#ifndef __RKNPU_DEBT_H__
#define __RKNPU_DEBT_H__

#include <linux/types.h>

struct drm_printer;
struct rknpu_client;
struct rknpu_debt;
struct rknpu_user;

/* -EPIPE: the client may not submit now, see rknpu_debt_banned_ns(). */
int rknpu_debt_check(struct rknpu_client *client);
/* How long that lasts: 0: it may submit; U64_MAX: for good. */
u64 rknpu_debt_banned_ns(struct rknpu_client *client);
/* Is the user held, or has it strikes? */
bool rknpu_debt_remains(struct rknpu_user *user);
/* The lines of fdinfo that say what the client's failures cost. */
void rknpu_debt_show(struct rknpu_client *client, struct drm_printer *p);

/* Those above without rknpu_hw::lock, those that follow with it: */

/* Does anybody count? Else nobody is held or banned. */
bool rknpu_debt_is_on(void);
/* A failure of what began at @start_ns. One that was under way at the last failure is none. */
void rknpu_debt_strike(struct rknpu_debt *debt, u64 start_ns);
/* For how long there are as many strikes as are too many; 0: there are fewer. */
u64 rknpu_debt_excess_ns(struct rknpu_debt *debt);
/* For how long to hold a user after a failure that took @cost_ns. */
u64 rknpu_debt_pause_ns(const struct rknpu_debt *debt, u64 cost_ns);
/* Has it strikes? */
bool rknpu_debt_is_owed(struct rknpu_user *user);

#endif
