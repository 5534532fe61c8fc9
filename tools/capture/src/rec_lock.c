// SPDX-License-Identifier: MIT
/*
 * The recorder's lock, and which descriptors the client has closed. Closing one takes no lock: the
 * client may do it in a signal handler, in the middle of a call that is being recorded.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#include "rec.h"

#define FDS	65536u
#define BITS	(CHAR_BIT * sizeof(unsigned long))

static _Atomic pid_t owner;
static _Atomic int holder, waiters;	/* a thread's number */
static int cancel_state;		/* the holder's, before it took the lock */

static _Atomic unsigned long closed[FDS / BITS];
static atomic_bool any_closed, high_closed;
static atomic_uint marks;

/* ---- whose memory this is ---- */

/* Not a child's that shares it until it runs another program, nor one's that fork() has not announced. */
bool rec_is_ours(void)
{
	pid_t me = getpid(), was = 0;

	return atomic_compare_exchange_strong(&owner, &was, me) || was == me;
}

void rec_is_child(void)
{
	atomic_store(&owner, getpid());
	pthread_setcancelstate(cancel_state, NULL);
	atomic_store(&waiters, 0);
	atomic_store(&holder, 0);
}

/* ---- the lock ---- */

static int thread(void)
{
	return (int)syscall(SYS_gettid);
}

/* False if this thread has it, and was interrupted by a signal. */
static bool take(bool wait)
{
	int me = thread(), saved = errno, now = 0;

	while (!atomic_compare_exchange_strong(&holder, &now, me)) {
		if (now == me || !wait)
			return false;
		atomic_fetch_add(&waiters, 1);
		syscall(SYS_futex, &holder, FUTEX_WAIT_PRIVATE, now, NULL);
		atomic_fetch_sub(&waiters, 1);
		now = 0;
	}
	errno = saved;
	return true;
}

static void give(void)
{
	atomic_store(&holder, 0);
	if (atomic_load(&waiters))
		syscall(SYS_futex, &holder, FUTEX_WAKE_PRIVATE, 1);
}

/*
 * A thread that is cancelled in a write() of the recorder's would keep the lock: where it calls ioctl(), it
 * expects no such point.
 */
bool rec_lock(void)
{
	int state;

	if (!take(true))
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	cancel_state = state;
	return true;
}

/*
 * Whoever closed something meanwhile has left what follows from it to this thread. Nothing stays buffered: a child
 * that does not know that it is one would write it, too.
 */
void rec_unlock(void)
{
	int saved = errno, state = cancel_state;

	rec_out_flush();
	give();
	while (atomic_load(&any_closed) && take(false)) {
		rec_take_closed();
		rec_out_flush();
		give();
	}
	pthread_setcancelstate(state, NULL);
	errno = saved;
}

/* ---- descriptors ---- */

/* Before the number is free again: who gets it next must not be taken for the one before. */
void rec_mark_closed(unsigned int first, unsigned int last)
{
	for (unsigned int fd = first; fd <= last && fd < FDS;) {
		unsigned int at = fd % BITS, n = BITS - at;
		unsigned long mask;

		if (last - fd < n)
			n = last - fd + 1;
		mask = n == BITS ? ~0UL : ((1UL << n) - 1) << at;
		atomic_fetch_or(&closed[fd / BITS], mask);
		fd += n;
	}
	if (last >= FDS)
		atomic_store(&high_closed, true);
	atomic_store(&any_closed, true);
	atomic_fetch_add(&marks, 1);
}

bool rec_is_marked(int fd)
{
	if ((unsigned int)fd >= FDS)
		return atomic_load(&high_closed);
	return atomic_load(&closed[fd / BITS]) >> fd % BITS & 1;
}

/*
 * A mapping keeps the file open. Nothing else may be done here: memory is not freed, nor anything written, in a
 * signal handler. Who has the lock does this when it gives it back.
 */
void rec_let_go(void)
{
	int saved = errno;
	unsigned int seen;

	do {
		seen = atomic_load(&marks);
		if (!take(false))
			break;
		rec_files_unmap();
		give();
	} while (seen != atomic_load(&marks));
	errno = saved;
}

void rec_take_closed(void)
{
	if (!atomic_exchange(&any_closed, false))
		return;
	for (unsigned int i = 0; i < FDS / BITS; i++) {
		unsigned long bits = atomic_load(&closed[i]) ? atomic_exchange(&closed[i], 0) : 0;

		for (; bits; bits &= bits - 1)
			rec_file_close((int)(i * BITS) + __builtin_ctzl(bits));
	}
	/* There is no telling which. */
	if (atomic_exchange(&high_closed, false))
		rec_file_close_from(FDS);
}
