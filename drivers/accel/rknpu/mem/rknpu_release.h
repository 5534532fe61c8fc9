/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the workqueues for final releases that must not run where the last reference is dropped. */
#ifndef __RKNPU_RELEASE_H__
#define __RKNPU_RELEASE_H__

struct delayed_work;
struct work_struct;

/*
 * Module wide, not per device: a release may drop the last reference of the
 * device, which must not destroy the workqueue it is running on.
 */
int rknpu_release_init(void);
void rknpu_release_exit(void);

/* Any context. The work must be idle. */
void rknpu_release_queue(struct work_struct *work);

/*
 * For one that waits for locks of other drivers, which clients can hold for long: nobody
 * waits for it but rknpu_release_exit().
 */
void rknpu_release_queue_foreign(struct work_struct *work);

/* As rknpu_release_queue(), in @delay jiffies, or when that was asked for before. */
void rknpu_release_delay(struct delayed_work *work, unsigned long delay);
/* The same in @delay jiffies, whatever was asked for before. */
void rknpu_release_delay_less(struct delayed_work *work, unsigned long delay);

/* Waits for every release queued so far that is not foreign. */
void rknpu_release_flush(void);

#endif
