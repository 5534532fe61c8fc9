// SPDX-License-Identifier: GPL-2.0-only
/* Owns what users owe for failures: strikes, when they are forgiven, who may not submit. */
#include <linux/cleanup.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include <drm/drm_print.h>

#include "rknpu_client_types.h"
#include "rknpu_debt.h"
#include "rknpu_params.h"
#include "rknpu_sched_types.h"
#include "rknpu_share.h"

/**
 * DOC: debts
 *
 * A failure keeps a core from others until that is back at work. It is a strike
 * for the user of the client that caused it, and for the client. A strike is
 * forgiven after rknpu_params::hang_ban_ms. A user with rknpu_params::max_hangs
 * strikes is banned until one is forgiven, a client with as many for good. "Clients
 * that hang" in architecture.rst says why, and rknpu_penalty.c acts by it.
 */

/* What doubling makes of a pause, at most. */
#define RKNPU_DEBT_LONGEST_PAUSE_NS	((u64)NSEC_PER_SEC)
#define RKNPU_DEBT_DOUBLINGS		10U

static unsigned int rknpu_debt_limit(void)
{
	return READ_ONCE(rknpu_params.max_hangs) ?: UINT_MAX;
}

bool rknpu_debt_is_on(void)
{
	return READ_ONCE(rknpu_params.max_hangs);
}

/* Returns after how long a strike is forgiven, which can change at any time. */
static u64 rknpu_debt_forgive(struct rknpu_debt *debt, u64 now)
{
	u64 period = mul_u32_u32(max(1U, READ_ONCE(rknpu_params.hang_ban_ms)), NSEC_PER_MSEC);
	u64 n;

	if (!debt->strikes)
		return period;
	n = min_t(u64, div64_u64(now - debt->since_ns, period), debt->strikes);
	debt->since_ns += n * period;
	WRITE_ONCE(debt->strikes, debt->strikes - n);
	return period;
}

void rknpu_debt_strike(struct rknpu_debt *debt, u64 start_ns)
{
	bool another = start_ns > debt->failed_ns;
	u64 now = ktime_get_ns();

	rknpu_debt_forgive(debt, now);
	debt->failed_ns = now;
	if (!another)
		return;
	if (!debt->strikes)
		debt->since_ns = now;
	WRITE_ONCE(debt->strikes, debt->strikes + 1);
}

u64 rknpu_debt_excess_ns(struct rknpu_debt *debt)
{
	unsigned int limit = rknpu_debt_limit();
	u64 now = ktime_get_ns();
	u64 period = rknpu_debt_forgive(debt, now);

	if (debt->strikes < limit)
		return 0;
	return debt->since_ns + (debt->strikes - limit + 1) * period - now;
}

u64 rknpu_debt_pause_ns(const struct rknpu_debt *debt, u64 cost_ns)
{
	unsigned int doublings = clamp(debt->strikes, 1U, RKNPU_DEBT_DOUBLINGS) - 1;
	u64 doubled = min(cost_ns << doublings, RKNPU_DEBT_LONGEST_PAUSE_NS);

	return max3(cost_ns, doubled, rknpu_share_slice_ns());
}

bool rknpu_debt_is_owed(struct rknpu_user *user)
{
	lockdep_assert_held(&user->sched->hw->lock);
	rknpu_debt_forgive(&user->debt, ktime_get_ns());
	return user->debt.strikes;
}

bool rknpu_debt_remains(struct rknpu_user *user)
{
	guard(spinlock_irq)(&user->sched->hw->lock);
	return user->held || rknpu_debt_is_owed(user);
}

u64 rknpu_debt_banned_ns(struct rknpu_client *client)
{
	if (READ_ONCE(client->banned))
		return U64_MAX;
	guard(spinlock_irq)(&client->sched->hw->lock);
	return rknpu_debt_excess_ns(&client->user->debt);
}

int rknpu_debt_check(struct rknpu_client *client)
{
	/* Strikes are forgiven when they are looked at; of most users there are none. */
	if (likely(!READ_ONCE(client->banned) &&
		   READ_ONCE(client->user->debt.strikes) < rknpu_debt_limit()))
		return 0;
	if (!rknpu_debt_banned_ns(client))
		return 0;
	drm_dbg_ratelimited(client->sched->hw->drm,
			    "submit: client %llu or its user %lu is banned, see max_hangs\n",
			    client->id, client->user->uid);
	return -EPIPE;
}

void rknpu_debt_show(struct rknpu_client *client, struct drm_printer *p)
{
	unsigned int failures;
	u64 ns;

	scoped_guard(spinlock_irq, &client->sched->hw->lock) {
		failures = client->failures;
		ns = client->failure_ns;
	}
	drm_printf(p, "rknpu-failures:\t%u\n", failures);
	drm_printf(p, "rknpu-failure-time:\t%llu ns\n", ns);
	drm_printf(p, "rknpu-banned:\t%llu ns\n", rknpu_debt_banned_ns(client));
}
