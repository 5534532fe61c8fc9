// SPDX-License-Identifier: GPL-2.0-only
/* Owns the workqueues for final releases that must not run where the last reference is dropped. */
#include <linux/errno.h>
#include <linux/workqueue.h>

#include "rknpu_release.h"

static struct workqueue_struct *rknpu_release_wq;
static struct workqueue_struct *rknpu_release_foreign_wq;

int rknpu_release_init(void)
{
	/* What is short of memory may wait for the pages of BOs that go here. */
	rknpu_release_wq = alloc_workqueue("rknpu_release", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rknpu_release_wq)
		return -ENOMEM;
	rknpu_release_foreign_wq = alloc_workqueue("rknpu_release_foreign", WQ_UNBOUND, 0);
	if (rknpu_release_foreign_wq)
		return 0;
	destroy_workqueue(rknpu_release_wq);
	return -ENOMEM;
}

void rknpu_release_exit(void)
{
	/* What is left in the first may queue to the second. */
	destroy_workqueue(rknpu_release_wq);
	destroy_workqueue(rknpu_release_foreign_wq);
	rknpu_release_wq = NULL;
	rknpu_release_foreign_wq = NULL;
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
	queue_delayed_work(rknpu_release_wq, work, delay);
}

void rknpu_release_delay_less(struct delayed_work *work, unsigned long delay)
{
	mod_delayed_work(rknpu_release_wq, work, delay);
}

void rknpu_release_flush(void)
{
	flush_workqueue(rknpu_release_wq);
}
