// SPDX-License-Identifier: GPL-2.0-only
/* Owns jobs that are over and nobody refers to, until they are freed. */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "rknpu_job.h"
#include "rknpu_reap.h"
#include "rknpu_release.h"
#include "rknpu_sched.h"

/* Long enough for hundreds of short jobs, short enough that nobody misses the memory. */
#define RKNPU_REAP_DELAY_MS	10

static void rknpu_reap_work_fn(struct work_struct *work);

/* Clients by rknpu_client::reap_link, whose rknpu_client::over is not empty. */
static LIST_HEAD(rknpu_reap_clients);
static DEFINE_SPINLOCK(rknpu_reap_lock);
static DECLARE_DELAYED_WORK(rknpu_reap_work, rknpu_reap_work_fn);

void rknpu_reap_add(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&rknpu_reap_lock, flags);
	first = list_empty(&client->over);
	list_add_tail(&job->link, &client->over);
	if (first)
		list_add_tail(&client->reap_link, &rknpu_reap_clients);
	spin_unlock_irqrestore(&rknpu_reap_lock, flags);

	if (first)
		rknpu_release_delay(&rknpu_reap_work, msecs_to_jiffies(RKNPU_REAP_DELAY_MS));
}

/* Lock held. The jobs' references keep the client alive, so it may go with the last one. */
static void rknpu_reap_take(struct rknpu_client *client, struct list_head *over)
{
	list_splice_init(&client->over, over);
	list_del_init(&client->reap_link);
}

static void rknpu_reap_list(struct list_head *over)
{
	struct rknpu_job *job, *next;

	list_for_each_entry_safe(job, next, over, link)
		rknpu_job_free(job);
}

void rknpu_reap_client(struct rknpu_client *client)
{
	LIST_HEAD(over);

	spin_lock_irq(&rknpu_reap_lock);
	rknpu_reap_take(client, &over);
	spin_unlock_irq(&rknpu_reap_lock);
	rknpu_reap_list(&over);
}

static bool rknpu_reap_first(void)
{
	struct rknpu_client *client;
	LIST_HEAD(over);

	spin_lock_irq(&rknpu_reap_lock);
	client = list_first_entry_or_null(&rknpu_reap_clients, struct rknpu_client, reap_link);
	if (client)
		rknpu_reap_take(client, &over);
	spin_unlock_irq(&rknpu_reap_lock);
	rknpu_reap_list(&over);
	return client;
}

static void rknpu_reap_work_fn(struct work_struct *work)
{
	while (rknpu_reap_first())
		cond_resched();
}

void rknpu_reap_soon(void)
{
	rknpu_release_delay_less(&rknpu_reap_work, 0);
}

void rknpu_reap_flush(void)
{
	flush_delayed_work(&rknpu_reap_work);
}
