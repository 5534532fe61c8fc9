/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the workqueue for final releases that must not run where the last reference is dropped. */
#ifndef __RKNPU_RELEASE_H__
#define __RKNPU_RELEASE_H__

struct work_struct;

/*
 * Module wide, not per device: a release may drop the last reference of the
 * device, which must not destroy the workqueue it is running on.
 */
int rknpu_release_init(void);
void rknpu_release_exit(void);

/* Any context. The work must be idle. */
void rknpu_release_queue(struct work_struct *work);

/* Waits for every release queued so far, and for what those queue in turn. */
void rknpu_release_flush(void);

#endif
