// SPDX-License-Identifier: GPL-2.0-only
/* Counts the jobs that any library of this process submits: stands in front of libc's ioctl(), or a preloaded one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include <drm/rocket_accel.h>

#include "teflon_check.h"

static uint64_t all_jobs, all_tasks;

void submit_count(uint64_t *jobs, uint64_t *tasks)
{
	*jobs = __atomic_load_n(&all_jobs, __ATOMIC_RELAXED);
	*tasks = __atomic_load_n(&all_tasks, __ATOMIC_RELAXED);
}

static void count(const struct drm_rocket_submit *s)
{
	const char *jobs = (const char *)(uintptr_t)s->jobs;

	for (uint32_t i = 0; i < s->job_count; i++) {
		struct drm_rocket_job job = { 0 };

		memcpy(&job, jobs + (size_t)i * s->job_struct_size,
		       s->job_struct_size < sizeof(job) ? s->job_struct_size : sizeof(job));
		__atomic_fetch_add(&all_jobs, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&all_tasks, job.task_count, __ATOMIC_RELAXED);
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int fd, unsigned long request, ...);
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!next)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	ret = next(fd, request, arg);
	if (!ret && request == DRM_IOCTL_ROCKET_SUBMIT)
		count(arg);
	return ret;
}
