// SPDX-License-Identifier: GPL-2.0-only
/* Owns the workqueue for final releases that must not run where the last reference is dropped. */
#include <linux/errno.h>
#include <linux/workqueue.h>

#include "rknpu_release.h"

static struct workqueue_struct *rknpu_release_wq;

int rknpu_release_init(void)
{
	/* What is short of memory may wait for the pages of BOs that go here. */
	rknpu_release_wq = alloc_workqueue("rknpu_release", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rknpu_release_wq ? 0 : -ENOMEM;
}

void rknpu_release_exit(void)
{
	destroy_workqueue(rknpu_release_wq);
	rknpu_release_wq = NULL;
}

void rknpu_release_queue(struct work_struct *work)
{
	queue_work(rknpu_release_wq, work);
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
