// SPDX-License-Identifier: GPL-2.0-only
/* Owns how many jobs may exist, of a client and of a user, and who waits for room. */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/wait.h>

#include "mem/rknpu_vm.h"
#include "rknpu_backlog.h"
#include "rknpu_client_types.h"
#include "rknpu_sched_types.h"

/* In rknpu_backlog::counts, as wide as what eight files may have. */
#define RKNPU_BACKLOG_JOBS	GENMASK_ULL(16, 0)
#define RKNPU_BACKLOG_TASKS	GENMASK_ULL(40, 17)
#define RKNPU_BACKLOG_BOS	GENMASK_ULL(63, 41)

static_assert(RKNPU_CLIENT_MAX_JOBS * RKNPU_USER_FILES <=
	      RKNPU_BACKLOG_JOBS >> __bf_shf(RKNPU_BACKLOG_JOBS));
static_assert(RKNPU_CLIENT_MAX_TASKS * RKNPU_USER_FILES <=
	      RKNPU_BACKLOG_TASKS >> __bf_shf(RKNPU_BACKLOG_TASKS));
static_assert(RKNPU_CLIENT_MAX_BOS * RKNPU_USER_FILES <=
	      RKNPU_BACKLOG_BOS >> __bf_shf(RKNPU_BACKLOG_BOS));

static u64 rknpu_backlog_pack(u32 jobs, u32 tasks, u32 bos)
{
	return FIELD_PREP(RKNPU_BACKLOG_JOBS, jobs) | FIELD_PREP(RKNPU_BACKLOG_TASKS, tasks) |
	       FIELD_PREP(RKNPU_BACKLOG_BOS, bos);
}

/* What the largest calls of both uAPIs have: the vendor's is one job for each of three cores. */
#define RKNPU_BACKLOG_CALL	rknpu_backlog_pack(1024, 3 * 65536, 65536)

void rknpu_backlog_init(struct rknpu_backlog *backlog, u32 files)
{
	backlog->files = files;
	init_waitqueue_head(&backlog->room);
}

/* May there be @n more than @counts? */
static bool rknpu_backlog_fits(const struct rknpu_backlog *backlog, u64 counts, u64 n)
{
	return FIELD_GET(RKNPU_BACKLOG_JOBS, counts) + FIELD_GET(RKNPU_BACKLOG_JOBS, n) <=
	       backlog->files * RKNPU_CLIENT_MAX_JOBS &&
	       FIELD_GET(RKNPU_BACKLOG_TASKS, counts) + FIELD_GET(RKNPU_BACKLOG_TASKS, n) <=
	       backlog->files * RKNPU_CLIENT_MAX_TASKS &&
	       FIELD_GET(RKNPU_BACKLOG_BOS, counts) + FIELD_GET(RKNPU_BACKLOG_BOS, n) <=
	       backlog->files * RKNPU_CLIENT_MAX_BOS;
}

static bool rknpu_backlog_has_room(const struct rknpu_backlog *backlog)
{
	return rknpu_backlog_fits(backlog, atomic64_read(&backlog->counts), RKNPU_BACKLOG_CALL);
}

/* What does not fit is not counted for a moment either: others would be refused for it. */
static bool rknpu_backlog_add(struct rknpu_backlog *backlog, u64 n)
{
	s64 old = atomic64_read(&backlog->counts);

	do {
		if (!rknpu_backlog_fits(backlog, old, n))
			return false;
	} while (!atomic64_try_cmpxchg(&backlog->counts, &old, old + n));
	return true;
}

/* Whoever makes it one that has room wakes those who wait. */
static void rknpu_backlog_sub(struct rknpu_backlog *backlog, u64 n)
{
	u64 left = atomic64_sub_return(n, &backlog->counts);

	if (!rknpu_backlog_fits(backlog, left + n, RKNPU_BACKLOG_CALL) &&
	    rknpu_backlog_fits(backlog, left, RKNPU_BACKLOG_CALL))
		wake_up_poll(&backlog->room, EPOLLOUT | EPOLLWRNORM);
}

int rknpu_backlog_charge(struct rknpu_client *client, u32 tasks, u32 bos)
{
	u64 n = rknpu_backlog_pack(1, tasks, bos);

	if (!rknpu_backlog_add(&client->backlog, n))
		return -EBUSY;
	if (rknpu_backlog_add(&client->user->backlog, n))
		return 0;
	rknpu_backlog_sub(&client->backlog, n);
	return -EBUSY;
}

void rknpu_backlog_uncharge(struct rknpu_client *client, u32 tasks, u32 bos)
{
	u64 n = rknpu_backlog_pack(1, tasks, bos);

	rknpu_backlog_sub(&client->user->backlog, n);
	rknpu_backlog_sub(&client->backlog, n);
}

__poll_t rknpu_backlog_poll(struct rknpu_client *client, struct file *file, poll_table *wait)
{
	struct rknpu_backlog *all = &client->user->backlog;

	/* Both at once: later calls for the same wait add none. */
	poll_wait(file, &client->backlog.room, wait);
	poll_wait(file, &all->room, wait);
	/* Pairs with atomic64_sub_return(); not all kernels have it in poll_wait(). */
	smp_mb();
	if (READ_ONCE(client->sched->gone))
		return EPOLLERR | EPOLLHUP;
	if (rknpu_backlog_has_room(&client->backlog) && rknpu_backlog_has_room(all))
		return EPOLLOUT | EPOLLWRNORM;
	/* Jobs that are over count until they are freed. */
	rknpu_vm_reap_soon(&client->user->quota);
	return 0;
}

void rknpu_backlog_hang_up(struct rknpu_backlog *backlog)
{
	wake_up_poll(&backlog->room, EPOLLERR | EPOLLHUP);
}
