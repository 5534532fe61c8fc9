/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the ioctls of libnpu, in programs that are linked with --wrap=drmIoctl.
 */
#ifndef RKNPU_IOCTLS_H
#define RKNPU_IOCTLS_H

static unsigned int ioctls;

int __real_drmIoctl(int fd, unsigned long request, void *arg);
int __wrap_drmIoctl(int fd, unsigned long request, void *arg);
int __wrap_drmIoctl(int fd, unsigned long request, void *arg)
{
	ioctls++;
	return __real_drmIoctl(fd, request, arg);
}

#endif /* RKNPU_IOCTLS_H */
