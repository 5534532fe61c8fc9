// SPDX-License-Identifier: MIT
/*
 * With CLIENT_OLD in the environment a client is one of a driver before 0.9.6: its SUBMIT names the object
 * that holds its programs where the domain is since. With CLIENT_INT its requests are of type int, as those
 * of Python's ctypes are, and thus negative.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

#include "drm/rknpu_drm.h"

int ioctl(int fd, unsigned long request, ...);

/* The program's own is found before the recorder's, which comes next. */
int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int fd, unsigned long request, ...);
	struct drm_rknpu_submit *s;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!next)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	if (request == DRM_IOCTL_RKNPU_SUBMIT && getenv("CLIENT_OLD")) {
		s = arg;
		s->iommu_domain_id = (__u32)s->task_obj_addr;
		s->reserved = s->task_obj_addr >> 32;
	}
	return next(fd, getenv("CLIENT_INT") ? (unsigned long)(int)request : request, arg);
}
