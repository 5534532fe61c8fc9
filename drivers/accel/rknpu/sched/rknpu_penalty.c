// SPDX-License-Identifier: GPL-2.0-only
/* Owns what comes of failures: their users are held, and the jobs of banned clients ended. */
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include <drm/drm_device.h>

#include "rknpu_client_types.h"
#include "rknpu_debt.h"
#include "rknpu_dispatch.h"
#include "rknpu_gang.h"
#include "rknpu_job.h"
#include "rknpu_penalty.h"
#include "rknpu_runqueue.h"
#include "rknpu_sched.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

/**
 * DOC: penalties
 *
 * rknpu_penalty_begin() adds the strikes, before anybody learns of the failure. From
 * then until the pause is over, which rknpu_penalty_end() begins, the user is held:
 * its groups are in no run queue. rknpu_sched::hold_work puts them back. What the
 * recovery took counts as core time that the user has had. The queued jobs of a
 * client that is banned are ended by rknpu_sched::ban_work.
 *
 * All of this is done in recovery, and nothing of it for jobs that end by themselves.
 */

/* Lock held. One that gathers, or will again, would keep those of others waiting. */
static void rknpu_penalty_break_gang(struct rknpu_user *user, const struct rknpu_gang *gang)
{
	unsigned int i;

	for (i = 0; gang && i < RKNPU_MAX_CORES; i++) {
		if (gang->jobs[i] && gang->jobs[i]->client->user == user) {
			rknpu_dispatch_dissolve_gang(gang->jobs[i]);
			return;
		}
	}
}

/* Lock held. */
static void rknpu_penalty_hold(struct rknpu_user *user)
{
	if (user->held)
		return;
	user->held = true;
	list_add_tail(&user->hold_link, &user->sched->held);
	rknpu_share_hold(user);
	rknpu_penalty_break_gang(user, user->sched->put_off);
	rknpu_penalty_break_gang(user, user->sched->gang);
}

void rknpu_penalty_begin(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;

	lockdep_assert_held(&client->sched->hw->lock);
	rknpu_job_get(job);
	/* Not start_ns: that is when its time was counted last, for whoever asked. */
	job->failed_start_ns = job->try_ns - job->lost_ns;
	job->failed_ns = ktime_get_ns();
	client->user->recovering++;
	client->failures++;
	if (!rknpu_debt_is_on())
		return;
	rknpu_debt_strike(&client->user->debt, job->try_ns);
	rknpu_debt_strike(&client->debt, job->try_ns);
	if (rknpu_debt_excess_ns(&client->debt))
		WRITE_ONCE(client->banned, true);
	rknpu_penalty_hold(client->user);
}

/*
 * Lock held. What was lost on its core after the job had left it. Those behind the same
 * IOMMU, where no other user's job could start, lost all of it; their time is charged with
 * the core's.
 */
static void rknpu_penalty_charge(const struct rknpu_job *job, u64 now)
{
	struct rknpu_client *client = job->client;
	u64 cost = now - job->failed_start_ns;
	struct rknpu_runqueue *rq;

	client->failure_ns += cost;
	rknpu_user_charge(client->user, job->result.core, now - job->failed_ns);
	rknpu_for_each_rq(rq, client->sched) {
		if (rq->core->index != job->result.core && rq->shared &&
		    rknpu_runqueue_in_service(rq))
			client->failure_ns += cost;
	}
}

/* Lock held. Returns how long the ban that begins now lasts, or 0. */
static u64 rknpu_penalty_pause(struct rknpu_user *user, u64 now, u64 cost)
{
	u64 pause = rknpu_debt_pause_ns(&user->debt, cost);
	bool banned = user->banned;
	u64 ban;

	user->until_ns = max(user->until_ns, now + pause);
	ban = rknpu_debt_excess_ns(&user->debt);
	user->banned = ban;
	if (user->held)
		mod_delayed_work(user->sched->wq, &user->sched->hold_work, 0);
	return banned ? 0 : ban;
}

/* Lock held. True: the client is banned by this, which takes over the job. */
static bool rknpu_penalty_ban(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;

	if (!client->banned || client->ban_job)
		return false;
	client->ban_job = job;
	list_add_tail(&client->ban_link, &client->sched->banned);
	queue_work(client->sched->wq, &client->sched->ban_work);
	return true;
}

static void rknpu_penalty_report_user(const struct rknpu_client *client, u64 ns)
{
	dev_notice_ratelimited(client->sched->hw->drm->dev, "user %lu is banned for %llu ms: jobs of its programs, the last one %s[%d], failed too often; see max_hangs and hang_ban_ms\n",
			       client->user->uid, div_u64(ns, NSEC_PER_MSEC) + 1, client->comm,
			       client->pid);
}

static void rknpu_penalty_report_client(const struct rknpu_client *client)
{
	dev_notice_ratelimited(client->sched->hw->drm->dev, "client %llu, of %s[%d] and user %lu, is banned for good: %u of its jobs failed; the program can open the device again\n",
			       client->id, client->comm, client->pid, client->user->uid,
			       client->failures);
}

void rknpu_penalty_end(struct rknpu_job *job)
{
	struct rknpu_client *client = job->client;
	u64 now, user_ban = 0;
	bool banned = false;

	scoped_guard(spinlock_irq, &client->sched->hw->lock) {
		now = ktime_get_ns();
		rknpu_penalty_charge(job, now);
		client->user->recovering--;
		user_ban = rknpu_penalty_pause(client->user, now, now - job->failed_start_ns);
		/* The other one is ban_work's then, which may be done with it at any time. */
		rknpu_job_get(job);
		banned = rknpu_penalty_ban(job);
	}
	if (user_ban)
		rknpu_penalty_report_user(client, user_ban);
	if (banned)
		rknpu_penalty_report_client(client);
	else
		rknpu_job_put(job);
	rknpu_job_put(job);
}

/* No job ends for such a fault, and what it costs is not known yet. */
void rknpu_penalty_stray(struct rknpu_runqueue *rq, struct rknpu_domain *domain)
{
	struct rknpu_client *client;
	u64 now = ktime_get_ns(), ban;

	lockdep_assert_held(&rq->sched->hw->lock);
	if (domain == &rq->core->hw->scrub.domain)
		return;
	/* The handler that called keeps the VM, which keeps the client. */
	client = container_of(container_of(domain, struct rknpu_vm, domain)->account,
			      struct rknpu_client, account);
	client->failures++;
	if (!rknpu_debt_is_on())
		return;
	rknpu_debt_strike(&client->user->debt, now);
	rknpu_penalty_hold(client->user);
	ban = rknpu_penalty_pause(client->user, now, 0);
	if (ban)
		rknpu_penalty_report_user(client, ban);
}

/* Lock held. For how long the user is held from now on; 0: not any longer. */
static u64 rknpu_penalty_held_ns(struct rknpu_user *user, u64 now)
{
	u64 ban = rknpu_debt_excess_ns(&user->debt);

	user->banned = ban;
	if (!rknpu_debt_is_on())
		return 0;
	/* rknpu_penalty_end() looks again. */
	if (user->recovering)
		return NSEC_PER_SEC;
	return max(ban, user->until_ns > now ? user->until_ns - now : 0);
}

/* When to look again, in ns; 0: nobody is held. */
static u64 rknpu_penalty_release_users(struct rknpu_sched *sched)
{
	struct rknpu_user *user, *next;
	struct rknpu_runqueue *rq;
	/* At least once a second, so that parameters which change meanwhile count. */
	u64 ns, least = NSEC_PER_SEC, now = ktime_get_ns();

	guard(spinlock_irq)(&sched->hw->lock);
	list_for_each_entry_safe(user, next, &sched->held, hold_link) {
		ns = rknpu_penalty_held_ns(user, now);
		if (ns) {
			least = min(least, ns);
			continue;
		}
		user->held = false;
		list_del_init(&user->hold_link);
		rknpu_for_each_rq(rq, sched)
			rknpu_share_release(user, rq);
	}
	rknpu_dispatch_all(sched);
	return list_empty(&sched->held) ? 0 : least;
}

static void rknpu_penalty_hold_work(struct work_struct *work)
{
	struct rknpu_sched *sched = container_of(to_delayed_work(work), struct rknpu_sched,
						 hold_work);
	bool cookie = dma_fence_begin_signalling();
	u64 ns = rknpu_penalty_release_users(sched);

	/* Unless a failure since then has queued it. */
	if (ns)
		queue_delayed_work(sched->wq, &sched->hold_work, nsecs_to_jiffies(ns) + 1);
	dma_fence_end_signalling(cookie);
}

static struct rknpu_client *rknpu_penalty_next_banned(struct rknpu_sched *sched)
{
	struct rknpu_client *client;

	guard(spinlock_irq)(&sched->hw->lock);
	client = list_first_entry_or_null(&sched->banned, struct rknpu_client, ban_link);
	if (client)
		list_del(&client->ban_link);
	return client;
}

static void rknpu_penalty_ban_work(struct work_struct *work)
{
	struct rknpu_sched *sched = container_of(work, struct rknpu_sched, ban_work);
	struct rknpu_client *client;

	while ((client = rknpu_penalty_next_banned(sched))) {
		rknpu_sched_cancel_jobs(client);
		/* And with it the reference that it has on the client. */
		rknpu_job_put(client->ban_job);
	}
}

void rknpu_penalty_init(struct rknpu_sched *sched)
{
	INIT_LIST_HEAD(&sched->held);
	INIT_LIST_HEAD(&sched->banned);
	INIT_DELAYED_WORK(&sched->hold_work, rknpu_penalty_hold_work);
	INIT_WORK(&sched->ban_work, rknpu_penalty_ban_work);
}

void rknpu_penalty_fini(struct rknpu_sched *sched)
{
	cancel_delayed_work_sync(&sched->hold_work);
}
