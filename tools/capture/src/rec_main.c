// SPDX-License-Identifier: MIT
/*
 * What a client calls instead of the C library: ioctl() and close(). As a preloaded library,
 * or linked into a static program, where these come before the C library's.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "rec.h"

#define PUBLIC	__attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void rec_lock(void)
{
	pthread_mutex_lock(&lock);
}

void rec_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A program that the recorder is linked into records only if it is asked to. */
static bool wanted(unsigned long req, const void *arg)
{
	const char *dir;

	if (!arg || ((req >> 8 & 0xff) != 'd' && (req >> 8 & 0xff) != 'r'))
		return false;
	dir = getenv("NPU_CAPTURE_DIR");
	return dir && *dir;
}

/* Only calls that end soon, or that rec_unlock() is called around, are made under the lock. */
static int recorded_ioctl(int fd, unsigned long req, void *arg)
{
	struct rec_file *f;
	int ret;

	if (!wanted(req, arg))
		return rec_raw_ioctl(fd, req, arg);
	rec_lock();
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
	return recorded_ioctl(fd, req, arg);
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
	return recorded_ioctl(fd, req, arg);
}
#endif

PUBLIC int close(int fd);
PUBLIC int close(int fd)
{
	rec_lock();
	rec_file_close(fd);
	rec_unlock();
	return rec_raw_close(fd);
}

/* ---- processes ---- */

/* The parent's file stays the parent's; between calls nothing of it is buffered here. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	rec_out_forget();
	rec_forget_all();
}

static void __attribute__((constructor)) start(void)
{
	pthread_atfork(rec_lock, rec_unlock, in_child);
}

static void __attribute__((destructor)) end(void)
{
	rec_lock();
	rec_out_end();
	rec_unlock();
}
