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

/*
 * In @delay jiffies, for one that waits for locks which a user's threads can hold for long:
 * only that user, unbind and rknpu_release_exit() wait for it. Any context.
 */
void rknpu_release_delay(struct delayed_work *work, unsigned long delay);
/* If it has not begun it need not wait any longer. The caller serialises this with the above. */
void rknpu_release_hurry(struct delayed_work *work);

/* Waits for what rknpu_release_queue() has queued so far. */
void rknpu_release_flush(void);
/* The same for what came by rknpu_release_delay() and need not wait any longer. */
void rknpu_release_flush_users(void);

#endif
