// SPDX-License-Identifier: MIT
/*
 * What a client calls instead of the C library: ioctl(), and what closes descriptors. As a preloaded
 * library, or linked into a static program, where these come before the C library's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "rec.h"

#define PUBLIC	__attribute__((visibility("default")))

/* Of what callers give as an int the kernel sees no more, either. */
#define REQUEST(req)	((unsigned long)(unsigned int)(req))

/* A program that the recorder is linked into records only if it is asked to. */
static bool wanted(unsigned long req, const void *arg)
{
	const char *dir;

	if (!arg || ((req >> 8 & 0xff) != 'd' && (req >> 8 & 0xff) != 'r'))
		return false;
	/* The others need no lock: one may be what a thread that has it waits for. */
	if (!rec_rocket_wants(req) && !rec_vendor_wants(req))
		return false;
	dir = getenv("NPU_CAPTURE_DIR");
	return dir && *dir;
}

/* Only calls that end soon, or that rec_unlock() is called around, are made under the lock. */
static int recorded_ioctl(int fd, unsigned long req, void *arg)
{
	struct rec_file *f;
	int ret;

	if (!wanted(req, arg) || !rec_is_ours() || !rec_lock())
		return rec_raw_ioctl(fd, req, arg);
	rec_take_closed();
	f = rec_file_of(fd, req);
	if (f && f->uapi == CAP_ROCKET && rec_rocket_wants(req)) {
		ret = rec_rocket_ioctl(f, fd, req, arg);
	} else if (f && f->uapi != CAP_ROCKET && rec_vendor_wants(req)) {
		ret = rec_vendor_ioctl(f, fd, req, arg);
	} else {
		rec_unlock();
		return rec_raw_ioctl(fd, req, arg);
	}
	rec_unlock();
	return ret;
}

PUBLIC int ioctl(int fd, unsigned long req, ...);
PUBLIC int ioctl(int fd, unsigned long req, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, req);
	arg = va_arg(ap, void *);
	va_end(ap);
	return recorded_ioctl(fd, REQUEST(req), arg);
}

#if __SIZEOF_POINTER__ == 4
/* What programs with a 64-bit time_t call. */
PUBLIC int __ioctl_time64(int fd, unsigned long req, ...);
PUBLIC int __ioctl_time64(int fd, unsigned long req, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, req);
	arg = va_arg(ap, void *);
	va_end(ap);
	return recorded_ioctl(fd, REQUEST(req), arg);
}
#endif

/* ---- closing ---- */

PUBLIC int close(int fd);
PUBLIC int close(int fd)
{
	int ret;

	if (!rec_is_ours())
		return rec_raw_close(fd);
	/* Programs close what they do not know. */
	if (fd >= 0 && fd == rec_out_fd()) {
		errno = EBADF;
		return -1;
	}
	if (fd >= 0)
		rec_mark_closed((unsigned int)fd, (unsigned int)fd);
	ret = rec_raw_close(fd);
	rec_let_go();
	return ret;
}

PUBLIC int dup3(int from, int to, int flags);
PUBLIC int dup3(int from, int to, int flags)
{
	int ret;

	if (!rec_is_ours())
		return rec_raw_dup3(from, to, flags);
	if (to >= 0 && to == rec_out_fd()) {
		errno = EBUSY;
		return -1;
	}
	ret = rec_raw_dup3(from, to, flags);
	/* If it fails nothing is closed; and the number is not free meanwhile. */
	if (ret >= 0) {
		rec_mark_closed((unsigned int)to, (unsigned int)to);
		rec_let_go();
	}
	return ret;
}

PUBLIC int dup2(int from, int to);
PUBLIC int dup2(int from, int to)
{
	if (from == to)
		return fcntl(from, F_GETFD) < 0 ? -1 : to;
	return dup3(from, to, 0);
}

PUBLIC int close_range(unsigned int first, unsigned int last, int flags);
PUBLIC int close_range(unsigned int first, unsigned int last, int flags)
{
	int ret = 0, own = rec_out_fd();
	bool keep = own >= 0 && first <= (unsigned int)own && (unsigned int)own <= last;

	if (first > last || flags & ~(int)CLOSE_RANGE_UNSHARE || !rec_is_ours())
		return rec_raw_close_range(first, last, flags);
	rec_mark_closed(first, last);
	if (!keep)
		ret = rec_raw_close_range(first, last, flags);
	if (keep && first < (unsigned int)own)
		ret = rec_raw_close_range(first, (unsigned int)own - 1, flags);
	if (!ret && keep && (unsigned int)own < last)
		ret = rec_raw_close_range((unsigned int)own + 1, last, flags);
	rec_let_go();
	return ret;
}

PUBLIC void closefrom(int first);
PUBLIC void closefrom(int first)
{
	long end = sysconf(_SC_OPEN_MAX);

	first = first < 0 ? 0 : first;
	if (!close_range((unsigned int)first, UINT_MAX, 0))
		return;
	/* Before Linux 5.9. */
	for (; first < end; first++)
		close(first);
}

/* ---- processes ---- */

/* Not in a signal handler that interrupted a call, nor in a process whose memory is another's. */
static bool fork_is_seen;

static void before_fork(void)
{
	fork_is_seen = rec_is_ours() && rec_lock();
}

static void in_parent(void)
{
	if (fork_is_seen)
		rec_unlock();
}

/* The parent's file stays the parent's, of which nothing is buffered here. */
static void in_child(void)
{
	if (!fork_is_seen)
		return;
	rec_is_child();
	rec_out_forget();
	rec_forget_all();
}

/* Before a child of vfork() can take the memory for its own by its first call. */
static void __attribute__((constructor)) start(void)
{
	rec_is_ours();
	pthread_atfork(before_fork, in_parent, in_child);
}

static void __attribute__((destructor)) end(void)
{
	if (!rec_is_ours() || !rec_lock())
		return;
	rec_take_closed();
	rec_out_end();
	/* Other threads, or what ends after this, may submit more: to another file. */
	rec_forget_all();
	rec_unlock();
}
