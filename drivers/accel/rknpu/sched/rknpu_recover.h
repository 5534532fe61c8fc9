/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns a core's work: bringing it up for a job, and bringing it back after a failure. */
#ifndef __RKNPU_RECOVER_H__
#define __RKNPU_RECOVER_H__

#include <linux/types.h>

struct rknpu_runqueue;
struct work_struct;

/* rknpu_runqueue::work, for STARTING and RECOVERING. */
void rknpu_recover_work(struct work_struct *work);

/* Sets rknpu_runqueue::pm_held, which others look at. */
void rknpu_recover_set_held(struct rknpu_runqueue *rq, bool held);

#endif
