// SPDX-License-Identifier: GPL-2.0-only
/* Owns the workqueues for final releases that must not run where the last reference is dropped. */
#include <linux/errno.h>
#include <linux/workqueue.h>

#include "rknpu_release.h"

static struct workqueue_struct *rknpu_release_wq;
static struct workqueue_struct *rknpu_release_users_wq;
static struct workqueue_struct *rknpu_release_foreign_wq;

static void rknpu_release_destroy(struct workqueue_struct **wq)
{
	if (*wq)
		destroy_workqueue(*wq);
	*wq = NULL;
}

int rknpu_release_init(void)
{
	/* What is short of memory may wait for the pages of BOs that go in these two. */
	rknpu_release_wq = alloc_workqueue("rknpu_release", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	rknpu_release_users_wq = alloc_workqueue("rknpu_release_users",
						 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	rknpu_release_foreign_wq = alloc_workqueue("rknpu_release_foreign", WQ_UNBOUND, 0);
	if (rknpu_release_wq && rknpu_release_users_wq && rknpu_release_foreign_wq)
		return 0;
	rknpu_release_exit();
	return -ENOMEM;
}

void rknpu_release_exit(void)
{
	/* What is left in the first may queue to the others. */
	rknpu_release_destroy(&rknpu_release_users_wq);
	rknpu_release_destroy(&rknpu_release_wq);
	rknpu_release_destroy(&rknpu_release_foreign_wq);
}

void rknpu_release_queue(struct work_struct *work)
{
	queue_work(rknpu_release_wq, work);
}

void rknpu_release_queue_foreign(struct work_struct *work)
{
	queue_work(rknpu_release_foreign_wq, work);
}

void rknpu_release_delay(struct delayed_work *work, unsigned long delay)
{
	queue_delayed_work(rknpu_release_users_wq, work, delay);
}

void rknpu_release_hurry(struct delayed_work *work)
{
	/* Not mod_delayed_work(), which queues what has just begun to run, too. */
	if (cancel_delayed_work(work))
		queue_delayed_work(rknpu_release_users_wq, work, 0);
}

void rknpu_release_flush(void)
{
	flush_workqueue(rknpu_release_wq);
}

void rknpu_release_flush_users(void)
{
	flush_workqueue(rknpu_release_users_wq);
}
